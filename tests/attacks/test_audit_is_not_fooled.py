"""Unsound algorithms that an audit has to catch, and sound ones it must not accuse."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from attacks.audit.audit import Pair
from attacks.audit.verdict import Verdict
from netsim.algorithms import Algorithm
from netsim.errors import PrivacyError
from netsim.mechanisms import Gaussian
from netsim.problems import L1, Problem
from netsim.simulation import Simulation
from netsim.topology import ring
from tests.attacks.auditing import RECORD, claim_of, judged, quadratic_world
from tests.worlds import DELTA, digits_problem, dp_recal

NOISE = Gaussian(1.0)


def found(algorithm, epsilon=2.0, delta=1e-3, trials=400):
    simulation, pair = quadratic_world(algorithm)
    return judged(simulation, pair, claim_of(epsilon, delta), attack=None, trials=trials)


async def private(node):
    """The agent's gradient at 0, and whether its first coordinate is that of agent 1 in world 0."""
    gradient = await node.gradient(node.zeros())
    return gradient, bool(gradient[0, 0] > -0.3)  # agent 1: −1/4 in world 0, −3/8 in world 1


@dataclass(frozen=True)
class Toy(Algorithm):
    """Releases the gradient with enough noise, and does something besides."""

    async def run(self, node):
        gradient, first = await private(node)
        told = node.privatize(gradient, NOISE)
        await self.besides(node, gradient, told, first)
        node.estimate(gradient)

    async def besides(self, node, gradient, told, first):
        node.broadcast(x=told)


class OneMessageMore(Toy):
    async def besides(self, node, gradient, told, first):
        node.broadcast(x=told)
        if first:
            node.broadcast(ping=node.zeros())


class OneFieldMore(Toy):
    async def besides(self, node, gradient, told, first):
        node.broadcast(x=told, **({"flag": node.zeros()} if first else {}))


class AnotherReceiver(Toy):
    async def besides(self, node, gradient, told, first):
        node.send(node.neighbors[int(first)], x=told)


class AnotherWay(Toy):
    async def besides(self, node, gradient, told, first):
        if first:
            node.broadcast(x=told)
        else:
            node.send(node.neighbors[0], x=told)


class AnotherOrder(Toy):
    """The same messages; in one world the second waits for an incoming one."""

    async def besides(self, node, gradient, told, first):
        node.broadcast(x=told)
        if first:
            await node.receive()
            node.broadcast(y=node.zeros())
        else:
            node.broadcast(y=node.zeros())
            await node.receive()


class OneReleaseMore(Toy):
    async def besides(self, node, gradient, told, first):
        node.broadcast(x=told)
        for _ in range(3 if first else 1):
            node.broadcast(x=node.privatize(node.zeros(), NOISE))


@pytest.mark.parametrize(
    "algorithm", [OneMessageMore, OneFieldMore, AnotherReceiver, AnotherWay, AnotherOrder, OneReleaseMore]
)
def test_which_messages_are_sent_may_not_depend_on_private_data(algorithm):
    audit = found(algorithm())
    assert audit.judgement.verdict is Verdict.UNPROTECTED
    assert "which messages agent 1 sends depends on its private data" in audit.judgement.reason
    assert audit.white_box.correct == audit.white_box.guesses > 0


def test_the_same_algorithm_without_the_leak_is_consistent():
    audit = found(Toy())
    assert audit.judgement.verdict is Verdict.CONSISTENT
    assert audit.exact[0].by_formula


class BesideAGiant(Toy):
    """The gradient in the clear, next to a coordinate a billion times as large."""

    async def besides(self, node, gradient, told, first):
        plain = gradient.copy()
        plain[:, 0] = 1e9
        node.broadcast(x=told, y=plain)


class InPlaceOfARelease(Toy):
    """The gradient where a blind reading of the code expects the release."""

    async def besides(self, node, gradient, told, first):
        node.broadcast(x=told)
        again = node.privatize(gradient, NOISE)
        node.broadcast(x=again, y=again if np.isnan(gradient).any() else gradient)


class NoiseFromCoins(Toy):
    """Noise drawn from the coins, which are not secret."""

    async def besides(self, node, gradient, told, first):
        node.broadcast(x=gradient + node.coins.standard_normal(gradient.shape))


class NoiseTwice(Toy):
    """The same noise on two values: their difference is in the clear."""

    async def besides(self, node, gradient, told, first):
        node.broadcast(x=told, y=2 * gradient + (told - gradient))


class NoiseHere(Toy):
    """No noise in the first coordinate."""

    async def besides(self, node, gradient, told, first):
        stddev = np.ones(gradient.shape)
        stddev[:, 0] = 0
        node.broadcast(x=told, y=node.privatize(gradient, Gaussian(stddev)))


@pytest.mark.parametrize("algorithm", [BesideAGiant, InPlaceOfARelease, NoiseTwice, NoiseHere])
def test_a_value_in_the_clear_is_found(algorithm):
    audit = found(algorithm())
    assert audit.judgement.verdict is Verdict.UNPROTECTED
    assert audit.uncovered.activation == 1


def test_noise_that_the_adversary_knows_covers_nothing():
    @dataclass(frozen=True)
    class Alone(NoiseFromCoins):
        async def run(self, node):
            gradient, _ = await private(node)
            await self.besides(node, gradient, None, None)
            node.estimate(gradient)

    assert found(Alone()).judgement.verdict is Verdict.UNPROTECTED


@dataclass(frozen=True)
class Rarely(Toy):
    """The gradient in the clear whenever the noise exceeds a threshold."""

    above: float = 3.5

    async def besides(self, node, gradient, told, first):
        node.broadcast(x=told, y=np.where((told - gradient)[:, :1] > self.above, gradient, 0.0))


class TestRareLeaks:
    """P(noise > 3.5) = 2.3e-4 and P(noise > 2) = 0.023, against δ = 0.01."""

    def test_less_often_than_delta_is_within_the_claim(self):
        audit = found(Rarely(above=3.5), delta=0.01, trials=10_000)
        assert any(e.uncovered is not None for e in audit.exact)
        assert all(0 < e.leaks < 0.01 for e in audit.exact)
        assert not any(e.unprotected for e in audit.exact)
        assert audit.judgement.verdict is Verdict.CONSISTENT
        assert audit.uncovered is None

    def test_more_often_than_delta_is_unprotected(self):
        audit = found(Rarely(above=2.0), delta=0.01, trials=10_000)
        assert audit.judgement.verdict is Verdict.UNPROTECTED

    def test_a_pure_claim_allows_none(self):
        audit = found(Rarely(above=2.0), delta=0.0, trials=2_000)
        assert audit.judgement.verdict is Verdict.UNPROTECTED


class Drowned(Toy):
    """A release whose noise is lost in the rounding of its value, then the gradient in the clear."""

    async def besides(self, node, gradient, told, first):
        node.broadcast(x=node.privatize(node.zeros() + 1e12, Gaussian(1e-3)))
        node.broadcast(x=gradient)


class Cancelling(Toy):
    """The gradient enters and leaves again: what remains is rounding."""

    async def besides(self, node, gradient, told, first):
        node.broadcast(x=told, y=(0.1 + gradient) - gradient)


class TestWhatCannotBeJudged:
    def test_noise_below_rounding_is_never_called_consistent(self):
        audit = found(Drowned())
        assert audit.judgement.verdict is Verdict.UNDERPOWERED
        assert "below the rounding" in audit.judgement.reason
        assert all(e.epsilon.upper == math.inf and e.unreliable_from == 1 for e in audit.exact)

    def test_a_difference_that_may_be_rounding_is_never_called_consistent(self):
        audit = found(Cancelling())
        assert audit.judgement.verdict is Verdict.UNDERPOWERED
        assert "may be rounding" in audit.judgement.reason


class NeverSent(Toy):
    """A release that goes nowhere tells nothing, however little noise it has."""

    async def besides(self, node, gradient, told, first):
        node.privatize(100 * gradient, NOISE)
        node.broadcast(x=told)


class SumOfReleases(Toy):
    """Two releases, one of them almost noiseless, that go out as their sum only."""

    async def besides(self, node, gradient, told, first):
        node.broadcast(x=told + node.privatize(node.zeros(), Gaussian(10.0)))


@pytest.mark.parametrize("algorithm", [NeverSent, SumOfReleases])
def test_what_was_granted_is_not_held_against_a_claim(algorithm):
    """ε of the granted releases is far above the claim; the wire shows none of it."""
    audit = found(algorithm(), epsilon=0.3)
    assert max(e.epsilon.upper for e in audit.exact) > 0.3
    assert all(e.epsilon.lower == 0 for e in audit.exact)
    assert audit.judgement.verdict is Verdict.UNDERPOWERED
    assert "not on the wire as they were released" in audit.judgement.reason


def test_the_upper_end_of_granted_releases_still_counts():
    audit = found(SumOfReleases(), epsilon=2.0)
    assert audit.judgement.verdict is Verdict.CONSISTENT


# ── noise that is not what it is declared to be ─────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Mirrored(Gaussian):
    """The second half of the coordinates has minus the noise of the first."""

    def release(self, value, rng):
        half = rng.standard_normal((value.shape[0], value.shape[1] // 2)) * self.stddev
        return value + np.concatenate([half, -half], axis=1)


@dataclass(frozen=True)
class OneOfThree(Gaussian):
    """Only three noises exist."""

    def release(self, value, rng):
        return value + np.random.default_rng(rng.integers(3)).standard_normal(value.shape) * self.stddev


@dataclass(frozen=True)
class OneForAll(Gaussian):
    """All transcripts share one noise."""

    def release(self, value, rng):
        return value + rng.standard_normal((1, value.shape[1])) * self.stddev


@dataclass(frozen=True)
class Thrice(Toy):
    law: type = Gaussian

    async def run(self, node):
        gradient, _ = await private(node)
        for _ in range(3):
            node.broadcast(x=node.privatize(gradient, self.law(1.0)))
        node.estimate(gradient)


@pytest.mark.parametrize("law", [Mirrored, OneOfThree, OneForAll])
def test_noise_whose_coordinates_look_right_and_is_wrong_gives_no_verdict(law):
    with pytest.raises(PrivacyError, match="noise law"):
        found(Thrice(law=law), trials=1000)


def test_the_same_noise_twice_gives_no_verdict():
    @dataclass(frozen=True)
    class Again(Toy):
        async def run(self, node):
            gradient, _ = await private(node)
            kept = {}

            class Kept(Gaussian):
                def release(self, value, rng):
                    kept.setdefault("noise", rng.standard_normal(value.shape))
                    return value + kept["noise"]

            node.broadcast(x=node.privatize(gradient, Kept(1.0)))
            node.broadcast(x=node.privatize(gradient, Kept(1.0)))
            node.estimate(gradient)

    with pytest.raises(PrivacyError, match="noise law"):
        found(Again())


def test_honest_noise_passes():
    """p-values of 20 honest audits: the smallest of 40 Bonferroni bounds is below 1e-4 once in 250 such tests."""
    checks = [e.noise for _ in range(20) for e in found(Thrice(), trials=40).exact]
    assert all(check.passed for check in checks)


# ── the regularizer, and what is said together ──────────────────────────────────────────────────────────


class TestWithSparsity:
    """ℓ1: the prox is no bijection, so nobody inverts it; the leak is there wherever x⁺ ≠ 0."""

    def audited(self, reading, l1):
        plain = digits_problem()
        problem = Problem(plain.objectives, L1(l1), plain.name, plain.ridge)
        algorithm = dp_recal(plain, reading, 10)
        own = problem.objectives[1]
        pair = Pair(1, (own, own.with_record(0, own.features[0], -float(own.labels[0]))), "a label flipped")
        simulation = Simulation(problem, ring(8), algorithm)
        return judged(simulation, pair, algorithm.claim(RECORD, simulation.setting(10), DELTA))

    def test_the_leak_is_found_without_the_attack(self):
        audit = self.audited("as_deployable", 0.01)
        assert audit.judgement.verdict is Verdict.UNPROTECTED
        assert audit.black_box is None
        assert "proximal map" in audit.refused

    def test_the_repair_stays_sound(self):
        assert self.audited("told_state", 0.01).judgement.verdict is Verdict.CONSISTENT

    def test_a_release_inside_the_prox_is_an_upper_bound_only(self):
        audit = self.audited("fresh_noise", 0.01)
        assert all(e.granted_from == 1 and e.epsilon.lower == 0 for e in audit.exact)


def test_the_error_rate_is_shared_by_all_that_is_said():
    audit = found(Toy())
    assert audit.white_box.confidence == pytest.approx(1 - 0.05 / 2)
    assert all(e.epsilon.confidence == pytest.approx(1 - 0.05 / 4) for e in audit.exact)
    simulation, pair = quadratic_world(Toy())
    both = judged(simulation, pair, claim_of(2.0, 1e-3), attack=lambda view: [])
    assert both.white_box.confidence == both.black_box.confidence == pytest.approx(1 - 0.05 / 3)
    assert both.black_box.epsilon_audited == 0


def test_trials_are_those_that_were_simulated():
    simulation, pair = quadratic_world(Toy())
    audit = judged(simulation, pair, claim_of(2.0, 1e-3), trials=401, attack=None)
    assert audit.trials == audit.exact[0].losses.size == 600
