"""Average against worst case: what transcripts lost agrees with their law, and a wrong law does not."""

import numpy as np
import pytest

from attacks.audit.accounting.intervals import Interval
from attacks.audit.loss.release_cost import averages, ratio
from attacks.replay import Release
from netsim.algorithms import PrivateGradientDescent, RandomPenaltyAdmm
from netsim.mechanisms import (
    DiscreteLaplace,
    Gaussian,
    Laplace,
    UniformLaplace,
    average_ratio,
    small_shift_ratio,
)
from netsim.schedules import Constant, Geometric
from scenarios.results.audited import average_case
from tests.attacks.audit.test_loss_breakdown import dpp2, samples

SURE = 1 - 1e-6
"""Of an interval that a true number leaves once in a million runs; the seeds are fixed."""


def drawn(law, shift, replicas=4000, dimension=3, truth=None, seed=0):
    """One release with noise of `truth`, declared as `law`, and the other world's."""
    rng = np.random.default_rng(seed)
    value = rng.normal(size=(replicas, dimension))
    observed = (truth or law).release(value, rng)
    judged = np.ones(replicas, dtype=bool)
    return [Release(0, law, observed, v, judged) for v in (value, value - shift)]


@pytest.mark.parametrize("shift", [0.05, 1.0, 4.0])
@pytest.mark.parametrize("width", [0.0, 0.7, 5.0])
def test_measured_by_the_law_and_by_quadrature_agree(shift, width):
    law = UniformLaplace(width, 0.8)
    found = ratio([averages([tuple(drawn(law, shift))], 4000)], 0, SURE)
    assert found.computed_gamma == pytest.approx(average_ratio(shift, width, 0.8), rel=1e-7)
    assert 0.0 in found.gap
    assert average_ratio(shift, width, 0.8) in found.measured_gamma
    assert found.formula_gamma == pytest.approx(small_shift_ratio(width, 0.8), rel=1e-12)
    assert found.worst == pytest.approx(3 * shift / 0.8, rel=1e-12)


def test_the_formula_is_no_bound_of_what_is_measured():
    """At width 5 and shift 5 transcripts lose 0.61 of the worst case, and the formula says 0.37."""
    found = ratio([averages([tuple(drawn(UniformLaplace(5.0, 1.0), 5.0))], 4000)], 0, SURE)
    assert found.measured_gamma.lower > 1.3 * found.formula_gamma


@pytest.mark.parametrize("law", [Laplace(0.5), Gaussian(0.5), UniformLaplace(1.0, 0.5)])
def test_noise_of_another_scale_than_declared_shows_as_a_gap(law):
    wrong = {Laplace: Laplace(0.25), Gaussian: Gaussian(0.25), UniformLaplace: UniformLaplace(1.0, 0.1)}[type(law)]
    true, false = (ratio([averages([tuple(drawn(law, 0.6, truth=t))], 4000)], 0, SURE) for t in (law, wrong))
    assert 0.0 in true.gap
    assert 0.0 not in false.gap


def test_gaussian_noise_has_an_average_and_no_worst_case():
    found = ratio([averages([tuple(drawn(Gaussian(0.5), 0.6))], 4000)], 0, SURE)
    assert found.computed in found.lost
    assert np.isinf(found.worst)
    assert found.measured_gamma is found.computed_gamma is found.formula_gamma is None
    assert average_case(found).gamma_measured is None


def test_laws_that_are_none_of_the_three_or_differ_have_no_value():
    assert ratio([averages([tuple(drawn(DiscreteLaplace(1.0, 1.0), 1.0))], 4000)], 0, SURE) is None
    here, there = drawn(Laplace(0.5), 0.6)
    there.mechanism = Laplace(0.6)
    assert ratio([averages([(here, there)], 4000)], None, SURE) is None


def test_coordinates_that_are_silent_or_not_judged_count_nothing():
    scale = np.array([0.5, 0.0, 0.5])
    here, there = drawn(Laplace(scale), np.array([0.6, 0.0, 0.0]))
    alone = ratio([averages([(here, there)], 4000)], 0, SURE)
    assert alone.worst == pytest.approx(1.2, rel=1e-12)
    here.judged[:] = False
    assert ratio([averages([(here, there)], 4000)], 0, SURE).worst == 0.0


@pytest.mark.parametrize(
    "algorithm",
    [
        RandomPenaltyAdmm(8, scale=Geometric(0.05, 1 / 1.02)),
        dpp2(),
        PrivateGradientDescent(6, Constant(0.2), Constant(0.3)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_they_agree_in_what_algorithms_release(algorithm):
    parts = [part.details.averages for part in samples(algorithm, chunks=3)]
    total = ratio(parts, None, SURE)
    assert 0.0 in total.gap
    assert total.computed_gamma in total.measured_gamma
    assert 0 < total.computed_gamma < 1
    each = [ratio(parts, t, SURE) for t in range(parts[0].shape[1])]
    assert all(0.0 in one.gap for one in each)
    for key in ("computed", "worst", "formula"):
        assert sum(getattr(one, key) for one in each) == pytest.approx(getattr(total, key), rel=1e-9)
    assert isinstance(total.lost, Interval)


def test_a_wide_mixture_loses_less_than_laplace_noise():
    """What random penalties add: at consensus nothing, before it a share of the worst case."""
    mixed, plain = (
        ratio([part.details.averages for part in samples(a, chunks=2)], None, SURE)
        for a in (RandomPenaltyAdmm(6, scale=Constant(0.05)), PrivateGradientDescent(6, Constant(0.2), Constant(0.3)))
    )
    assert mixed.measured_gamma.upper < plain.measured_gamma.lower


def test_few_transcripts_of_each_sample_are_looked_at():
    """So that the cost of a sample does not grow with it; the others are left as they are."""
    (one, *_) = samples(dpp2(rounds=20), chunks=1)
    assert one.details.averages.shape == (4, 40, 40)
    wide = tuple(drawn(Laplace(1.0), 0.1, replicas=3000, dimension=20))
    assert averages([wide], 3000).shape == (4, 1, 1000)
