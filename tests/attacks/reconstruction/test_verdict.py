"""True records are said not to fit as often as is stated, whatever the law of the errors."""

import numpy as np
import pytest
from scipy import stats

from attacks.estimates import Evidence
from attacks.reconstruction import Case, Known
from attacks.reconstruction.attack import misfit
from netsim.models import Linear

LEVEL, DRAWS = 1e-3, 200_000


def exceeded(law, rounds, dimension):
    """Value that χ² exceeds with the probability `LEVEL`."""
    values = np.zeros((rounds, 1, dimension))
    evidence = Evidence(0, tuple(range(rounds)), values, values, np.ones((rounds, rounds, dimension)), law)
    case = Case(evidence, Known(Linear(dimension), 1))
    return misfit(case, np.zeros((1, 1, dimension)), np.zeros((1, 1, 1))).quantile(LEVEL)


def test_one_squared_laplace_error_in_closed_form():
    assert exceeded("laplace", 1, 1) == pytest.approx(0.5 * np.log(LEVEL) ** 2, abs=0.02)


@pytest.mark.parametrize("terms", [2, 6, 30])
def test_the_stated_level_is_kept(terms):
    sums = 0.5 * np.sum(np.random.default_rng(terms).standard_exponential((DRAWS, terms)) ** 2, axis=1)
    count = int(np.sum(sums > exceeded("laplace", 1, terms)))
    assert stats.binom.cdf(count, DRAWS, LEVEL) > 1e-4
    assert stats.binom.sf(count - 1, DRAWS, LEVEL) > 1e-4
    assert exceeded("laplace", terms, 1) > exceeded("gaussian", terms, 1) == stats.chi2.isf(LEVEL, terms)


def test_the_two_ways_to_compute_it_agree():
    below, above = exceeded("laplace", 1, 4096), exceeded("laplace", 1, 4097)
    assert above - below == pytest.approx(1.0, abs=0.02 * (5 * 4096) ** 0.5)


@pytest.mark.parametrize("mixing", [0.0, 0.5, 1.0])
def test_an_unknown_law_is_taken_for_the_worst_one(mixing):
    """Laplace errors that all rounds share, in part or wholly."""
    rng = np.random.default_rng(0)
    draws = rng.laplace(scale=0.5**0.5, size=(20_000, 5, 6))
    shared = rng.random((20_000, 1, 6)) < mixing
    draws = np.where(shared, draws[:, :1], draws)
    count = int(np.sum(np.sum(draws**2, axis=(1, 2)) > exceeded(None, 5, 6)))
    assert stats.binom.sf(count - 1, 20_000, LEVEL) > 1e-4
