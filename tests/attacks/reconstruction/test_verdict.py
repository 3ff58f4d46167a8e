"""True records are said not to fit as often as is stated, whatever the law of the errors."""

import numpy as np
import pytest
from scipy import stats

from attacks.reconstruction.verdict import _gaussian_tail, _laplace_tail, _unknown_tail

LEVEL, DRAWS = 1e-3, 200_000


def test_one_squared_laplace_error_in_closed_form():
    assert _laplace_tail(LEVEL, 1) == pytest.approx(0.5 * np.log(LEVEL) ** 2, abs=0.02)


@pytest.mark.parametrize("terms", [2, 6, 30])
def test_the_stated_level_is_kept(terms):
    rng = np.random.default_rng(terms)
    sums = 0.5 * np.sum(rng.standard_exponential((DRAWS, terms)) ** 2, axis=1)
    exceeded = int(np.sum(sums > _laplace_tail(LEVEL, terms)))
    assert stats.binom.cdf(exceeded, DRAWS, LEVEL) > 1e-4
    assert stats.binom.sf(exceeded - 1, DRAWS, LEVEL) > 1e-4
    assert _laplace_tail(LEVEL, terms) > _gaussian_tail(LEVEL, terms)


def test_the_two_ways_to_compute_it_agree():
    below, above = _laplace_tail(LEVEL, 4096), _laplace_tail(LEVEL, 4097)
    assert above - below == pytest.approx(1.0, abs=0.02 * (5 * 4096) ** 0.5)


@pytest.mark.parametrize("mixing", [0.0, 0.5, 1.0])
def test_an_unknown_law_is_taken_for_the_worst_one(mixing):
    """Laplace errors that all rounds share, in part or wholly."""
    rng = np.random.default_rng(0)
    rounds, dimension = 5, 6
    draws = rng.laplace(scale=0.5**0.5, size=(20_000, rounds, dimension))
    shared = rng.random((20_000, 1, dimension)) < mixing
    draws = np.where(shared, draws[:, :1], draws)
    exceeded = int(np.sum(np.sum(draws**2, axis=(1, 2)) > _unknown_tail(LEVEL, rounds, dimension)))
    assert stats.binom.sf(exceeded - 1, 20_000, LEVEL) > 1e-4
