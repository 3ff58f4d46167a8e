"""Noise that does not follow its declared law is noticed; noise that does is not."""

import numpy as np
import pytest
from scipy import stats

from attacks.audit.loss.noise_check import NoiseCheck, NoiseScores

NONE = np.empty(0)


def checked(law, factor, count, seed):
    """Noise of this law, `factor` times as large as declared."""
    drawn = law.rvs(size=count, random_state=np.random.default_rng(seed)) * factor
    return NoiseCheck.of([NoiseScores(law.cdf(drawn), NONE, NONE, NONE, NONE)])


@pytest.mark.parametrize(("law", "count"), [(stats.norm, 12_000), (stats.laplace, 24_000)], ids=["normal", "laplace"])
@pytest.mark.parametrize("factor", [0.95, 1.05])
def test_a_scale_that_is_five_per_cent_wrong_shows(law, count, factor):
    assert not any(checked(law, factor, count, seed).passed for seed in range(10))


@pytest.mark.parametrize("law", [stats.norm, stats.laplace], ids=["normal", "laplace"])
def test_the_p_value_is_one_of_noise_that_follows_its_law(law):
    """Two tests share Bonferroni's p: below 0.1 in at most a tenth. 38 of 200 or more have probability below 1e-4."""
    low = sum(checked(law, 1.0, 2000, seed).p < 0.1 for seed in range(200))
    assert low < 38
