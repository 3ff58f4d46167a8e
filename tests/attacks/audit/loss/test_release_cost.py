"""Costs of releases with every mechanism: formulas where they are exact, bounds that stay bounds, and averages."""

import math

import numpy as np
import pytest

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.accounting.intervals import Interval
from attacks.audit.loss.release_cost import Ratio
from attacks.audit.verdict import Verdict
from attacks.replay import Release, replay
from netsim.algorithms import PrivateGradientDescent, RandomPenaltyAdmm
from netsim.errors import PrivacyError
from netsim.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    UniformLaplace,
    UniformModulo,
    average_ratio,
    average_supremum_ratio,
)
from netsim.schedules import Constant, Geometric
from scenarios.stages.worlds import worlds
from tests.attacks.audit.test_loss_breakdown import dpp2, samples
from tests.attacks.auditing import HELD, Releases, audited, explained, quadratic_world

SHIFT = 1 / 8
"""Between the gradients of the two worlds at 0, in each of four coordinates: −1/4 and −3/8, or −1/4 and −1/8."""


def found(*mechanisms, epsilon=2.0, delta=0.0, factor=1.0, trials=400):
    return audited(Releases(mechanisms, factor), epsilon, delta, trials=trials)


def costs(*mechanisms, factor=1.0):
    """(releases,), the same in every transcript."""
    cost = explained(Releases(mechanisms, factor)).cost
    np.testing.assert_array_equal(cost, np.broadcast_to(cost[:, :1], cost.shape))
    return cost[:, 0]


class TestPrices:
    def test_by_hand(self):
        """On a grid of 0.1 the gradients are −0.2 and −0.4 in three coordinates, −0.2 and −0.1 in one."""
        mechanisms = (Laplace(0.5), Gaussian(0.5), UniformLaplace(-3.0, 0.5), DiscreteLaplace(0.5, 0.1))
        np.testing.assert_allclose(costs(*mechanisms), [1.0, 4 * SHIFT**2 * 4, 1.0, (3 * 0.2 + 0.1) / 0.5])
        np.testing.assert_allclose(costs(DiscreteGaussian(0.5, 0.1)), [3 * 0.4**2 + 0.2**2])
        np.testing.assert_array_equal(costs(UniformModulo(2**53), factor=1000.0), [0.0])

    def test_rounding_may_hide_a_difference_or_make_it_longer(self):
        """−1/4 and −3/8 (−1/8) on a grid of 1, and on one that rounds them to −2/7 and −3/7 (−1/7)."""
        np.testing.assert_array_equal(costs(DiscreteLaplace(0.1), DiscreteGaussian(0.1)), [0.0, 0.0])
        assert costs(DiscreteLaplace(0.1, 1 / 7))[0] == pytest.approx(4 / 7 / 0.1)

    def test_widths_that_are_data_are_shifts_of_the_other_end(self):
        """ω = 3·gradient: the near ends differ by 1/8, the far ones by 4/8."""
        assert costs(lambda g: UniformLaplace(3 * g, 0.5))[0] == pytest.approx(4 * 4 * SHIFT / 0.5)
        assert costs(lambda g: UniformLaplace(-0.5 * g, 0.5))[0] == pytest.approx(4 * SHIFT / 0.5)

    def test_mechanisms_that_the_worlds_do_not_share_have_no_price(self):
        def own(law):
            return lambda g: law(1.0 + abs(float(g[0, 0])))

        def modulus(g):
            return UniformModulo(1000 + int(abs(g[0, 0]) * 8))

        laws = (Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian, lambda s: UniformLaplace(1.0, s))
        assert np.isinf(costs(*(own(law) for law in laws))).all()
        assert np.isinf(costs(modulus, factor=100.0)).all()
        assert np.isinf(costs(lambda g: DiscreteLaplace(1.0, 0.1 + abs(float(g[0, 0]))))).all()


class TestMixture:
    @pytest.mark.few("-4.0-0.0")
    @pytest.mark.parametrize(("width", "delta"), [(0.0, 0.0), (0.5, 1e-2), (-4.0, 0.0), (-4.0, 1e-2)])
    def test_a_bound_is_neither_a_formula_nor_a_lower_end(self, width, delta):
        """The loss is at most ‖Δ‖₁/b = 2: a claim of that holds, and what is seen stays below it."""
        audit = found(UniformLaplace(width, 0.25), epsilon=2.0, delta=delta, trials=2_000)
        assert audit.judgement.verdict in HELD
        for exact in audit.exact:
            assert not exact.by_formula
            assert exact.passed
            assert np.max(exact.losses) <= 2 + 1e-9
            assert 0.2 < exact.epsilon.lower <= (2 + 1e-9 if exact.aimed else np.max(exact.losses))
        if width == -4.0 and delta > 0:
            assert max(exact.epsilon.estimate for exact in audit.exact) < 1.9, "the bound itself is not seen"

    def test_a_width_that_is_data_needs_no_grant(self):
        """The pass that looks for releases on the wire has no data: there the width is not a number."""
        simulation, pair = quadratic_world(Releases((lambda g: UniformLaplace(3 * g, 0.5),) * 2))
        sample = worlds(simulation, pair.agent, pair.hypotheses[1], 20)(0, 0)
        replayed = replay(sample.view, pair.agent, pair.hypotheses[0], sample.coins())
        assert [release.sent_in for release in replayed.releases] == [0, 1]
        assert replayed.identical

    def test_laplace_noise_below_rounding_is_not_judged_however_wide_the_rest(self):
        assert explained(Releases((UniformLaplace(10.0, 1e-13),))).unreliable_from == 1

    def test_half_the_claim_is_refuted_by_what_was_seen(self):
        assert found(UniformLaplace(1.0, 0.25), epsilon=1.0, trials=2_000).judgement.verdict is Verdict.REFUTED

    def test_equal_values_cost_nothing(self):
        audit = found(lambda g: UniformLaplace(np.full_like(g, 2.0), 0.5), factor=1e-9)
        assert all(exact.by_formula and exact.epsilon.estimate == 0 for exact in audit.exact)

    def test_without_laplace_noise_what_the_other_world_cannot_release_tells(self):
        """Uniform on intervals of length ½, shifted by ⅛ in each of four coordinates: 1 − ¾⁴ of the transcripts."""
        audit = found(UniformLaplace(0.5, 0.0), trials=2_000)
        assert audit.judgement.verdict is Verdict.UNPROTECTED
        assert "never releases" in str(audit.uncovered)
        for exact in audit.exact:
            error = 6 * math.sqrt(0.25 / exact.losses.size)
            assert exact.leaks == pytest.approx(1 - 0.75**4, abs=error)
            np.testing.assert_allclose(exact.losses[np.isfinite(exact.losses)], 0.0, atol=1e-12)


class TestModulo:
    @pytest.mark.few(1)
    @pytest.mark.parametrize("delta", [0.0, 1e-2])
    def test_a_share_costs_nothing_by_formula(self, delta):
        audit = found(UniformModulo(2**40 + 1), epsilon=0.1, delta=delta, factor=1e6)
        assert audit.judgement.verdict in HELD
        for exact in audit.exact:
            assert exact.by_formula
            assert exact.epsilon.estimate == 0
            assert exact.uncovered is None
            assert exact.passed

    def test_beside_laplace_noise_the_formula_is_that_of_the_noise(self):
        audit = found(UniformModulo(10_007), Laplace(100.0), epsilon=6.0, factor=1000.0)
        for exact in audit.exact:
            assert exact.by_formula
            assert exact.epsilon.estimate == pytest.approx(4 * 125 / 100)

    def test_another_modulus_tells_where_it_has_other_residues(self):
        """Residues 0 … 9 of one world, 0 … 4 of the other: half of four coordinates' draws are above 4."""
        audit = found(lambda g: UniformModulo(10 if g[0, 0] > -0.3 else 5), factor=1000.0)
        zero = next(e for e in audit.exact if e.leaks > 0)
        assert audit.judgement.verdict is Verdict.UNPROTECTED
        assert zero.leaks == pytest.approx(1 - 0.5**4, abs=6 * math.sqrt(0.06 / zero.losses.size))

    def test_a_mask_used_twice_is_noticed(self):
        with pytest.raises(PrivacyError, match="noise law"):
            found(Stuck(10_007), Stuck(10_007), factor=1000.0)
        assert all(e.noise.passed for e in found(UniformModulo(10_007), UniformModulo(10_007), factor=1000.0).exact)


class Stuck(UniformModulo):
    """A pad that is used more than once."""

    def release(self, value, rng):
        return super().release(value, np.random.default_rng(5))


class TestDiscrete:
    def test_laplace_on_a_grid_is_priced_by_formula(self):
        audit = found(DiscreteLaplace(0.5, 1 / 8), epsilon=1.0)
        assert audit.judgement.verdict in HELD
        for exact in audit.exact:
            assert exact.by_formula
            assert exact.epsilon.estimate == pytest.approx(4 * SHIFT / 0.5)
            assert exact.passed

    @pytest.mark.slow
    def test_gaussian_on_a_grid_is_priced_by_its_losses(self):
        """ε(δ) of N(0, σ²) at a step that is small against σ; at δ = 0 it is ∞."""
        audit = found(DiscreteGaussian(0.25, 1 / 8), delta=0.05, trials=4_000)
        for exact in audit.exact:
            assert not exact.by_formula
            assert exact.passed
            assert exact.epsilon.lower < gaussian_epsilon(math.sqrt(4) * SHIFT / 0.25, 0.05) + 0.3
            assert exact.epsilon.upper > gaussian_epsilon(math.sqrt(4) * SHIFT / 0.25, 0.05) - 0.3
        assert all(math.isinf(e.epsilon.lower) for e in found(DiscreteGaussian(0.25, 1 / 8)).exact)

    def test_a_bounded_loss_of_two_normal_laws_is_not_called_infinite(self):
        """The same mean but another σ, the smaller one being true: the loss is at most d·ln(σ'/σ)."""
        audit = found(lambda g: Gaussian(1.0 if g[0, 0] > -0.3 else 2.0), factor=1e-9)
        lowers = [exact.epsilon.lower for exact in audit.exact]
        assert min(lowers) <= 4 * math.log(2) + 1e-9

    @pytest.mark.few("DiscreteLaplace")
    @pytest.mark.parametrize("law", [DiscreteLaplace, DiscreteGaussian])
    def test_a_scale_far_below_the_step_covers_nothing(self, law):
        """What rounds to the same is the same; what does not is bare."""
        assert found(law(1e-4, 1.0), epsilon=0.1).judgement.verdict in HELD
        assert found(law(1e-4, 1 / 8)).judgement.verdict is Verdict.UNPROTECTED

    def test_other_noise_than_declared_is_noticed(self):
        with pytest.raises(PrivacyError, match="noise law"):
            found(Heavier(0.5, 1 / 8), trials=2_000)


class Heavier(DiscreteLaplace):
    """Draws twice the noise that it declares."""

    def release(self, value, rng):
        return DiscreteLaplace(2 * self.scale, self.step).release(value, rng)


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
    found = Ratio.of([Ratio.averages([tuple(drawn(law, shift))], 4000)], 0, SURE)
    assert found.computed_share == pytest.approx(average_ratio(shift, width, 0.8), rel=1e-7)
    assert 0.0 in found.gap
    assert average_ratio(shift, width, 0.8) in found.measured_share
    assert average_supremum_ratio(shift, width, 0.8) in found.gamma
    assert found.worst == pytest.approx(3 * shift / 0.8, rel=1e-12)


def test_the_supremum_is_the_largest_loss_over_all_smaller_shifts():
    """Of Laplace noise it is the worst case, to rounding; of others, the maximum of (2.5) over a grid of t."""
    for law in (Laplace(0.8), UniformLaplace(0.7, 0.8), UniformLaplace(-5.0, 0.8)):
        here, there = drawn(law, 1.3, replicas=60, dimension=1)
        found = Ratio.averages([(here, there)], 60)[2, 0]
        moved = [law.log_density(here.observed, here.value + t) for t in np.linspace(-1.3, 1.3, 2001)]
        largest = np.abs(np.array(moved) - law.log_density(here.observed, here.value)).max(axis=0)
        np.testing.assert_allclose(found, largest, rtol=1e-12)
    plain = Ratio.of([Ratio.averages([tuple(drawn(Laplace(0.8), 1.3))], 4000)], 0, SURE)
    assert plain.gamma.lower == pytest.approx(1.0, rel=1e-9)
    assert plain.gamma.upper == pytest.approx(1.0, rel=1e-9)
    assert plain.measured_share.upper < 0.9


@pytest.mark.parametrize("law", [Laplace(0.5), Gaussian(0.5), UniformLaplace(1.0, 0.5)])
def test_noise_of_another_scale_than_declared_shows_as_a_gap(law):
    wrong = {Laplace: Laplace(0.25), Gaussian: Gaussian(0.25), UniformLaplace: UniformLaplace(1.0, 0.1)}[type(law)]
    true, false = (Ratio.of([Ratio.averages([tuple(drawn(law, 0.6, truth=t))], 4000)], 0, SURE) for t in (law, wrong))
    assert 0.0 in true.gap
    assert 0.0 not in false.gap


def test_gaussian_noise_has_an_average_and_no_worst_case():
    found = Ratio.of([Ratio.averages([tuple(drawn(Gaussian(0.5), 0.6))], 4000)], 0, SURE)
    assert found.computed in found.lost
    assert np.isinf(found.worst)
    assert found.measured_share is found.computed_share is found.gamma is None


def test_laws_that_are_none_of_the_three_or_differ_have_no_value():
    assert Ratio.of([Ratio.averages([tuple(drawn(DiscreteLaplace(1.0, 1.0), 1.0))], 4000)], 0, SURE) is None
    here, there = drawn(Laplace(0.5), 0.6)
    there.mechanism = Laplace(0.6)
    assert Ratio.of([Ratio.averages([(here, there)], 4000)], None, SURE) is None


def test_coordinates_that_are_silent_or_not_judged_count_nothing():
    scale = np.array([0.5, 0.0, 0.5])
    here, there = drawn(Laplace(scale), np.array([0.6, 0.0, 0.0]))
    alone = Ratio.of([Ratio.averages([(here, there)], 4000)], 0, SURE)
    assert alone.worst == pytest.approx(1.2, rel=1e-12)
    here.judged[:] = False
    assert Ratio.of([Ratio.averages([(here, there)], 4000)], 0, SURE).worst == 0.0


@pytest.mark.few("PrivateGradientDescent")
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
    total = Ratio.of(parts, None, SURE)
    assert 0.0 in total.gap
    assert total.computed_share in total.measured_share
    assert 0 < total.computed_share < 1
    each = [Ratio.of(parts, t, SURE) for t in range(parts[0].shape[1])]
    assert all(0.0 in one.gap for one in each)
    for key in ("computed", "worst"):
        assert sum(getattr(one, key) for one in each) == pytest.approx(getattr(total, key), rel=1e-9)
    assert sum(one.supremum.estimate for one in each) == pytest.approx(total.supremum.estimate, rel=1e-9)
    assert total.computed_share < total.gamma.estimate < 1 + 1e-9
    assert isinstance(total.lost, Interval)


def test_a_wide_mixture_loses_less_than_laplace_noise():
    """What random penalties add: at consensus nothing, before it a share of the worst case."""
    mixed, plain = (
        Ratio.of([part.details.averages for part in samples(a, chunks=2)], None, SURE)
        for a in (RandomPenaltyAdmm(6, scale=Constant(0.05)), PrivateGradientDescent(6, Constant(0.2), Constant(0.3)))
    )
    assert mixed.measured_share.upper < plain.measured_share.lower
    assert mixed.gamma.upper < 0.9 < plain.gamma.lower == pytest.approx(1.0, rel=1e-9)


def test_few_transcripts_of_each_sample_are_looked_at():
    """So that the cost of a sample does not grow with it; the others are left as they are."""
    (one, *_) = samples(dpp2(rounds=20), chunks=1)
    assert one.details.averages.shape == (4, 40, 40)
    wide = tuple(drawn(Laplace(1.0), 0.1, replicas=3000, dimension=20))
    assert Ratio.averages([wide], 3000).shape == (4, 1, 1000)
