"""Releases of any law that come out of the messages they are inside cost what they cost by themselves."""

from dataclasses import dataclass

import numpy as np
import pytest

import netsim
from attacks.audit.loss.comparison import Reproduced
from attacks.audit.loss.hidden_releases import priced
from attacks.audit.loss.recovered import factors, recovered
from attacks.audit.verdict import Verdict
from netsim.algorithms import Algorithm, Clip
from netsim.arrays import Array
from netsim.mechanisms import Gaussian, Laplace, Mechanism
from netsim.node import Node
from scenarios.stages.worlds import worlds
from tests.attacks.auditing import audited, explained, quadratic_world

LAW, STEP, ROUNDS = Laplace(0.8), 0.25, 3


@dataclass(frozen=True)
class Inside(Algorithm):
    """Descent by noisy gradients at a point that all know; sends what `how` makes of them, or (`bare`) the noisy
    gradients themselves."""

    how: str
    law: Mechanism = LAW
    bare: bool = False

    async def run(self, node: Node) -> None:
        x, kept, before = node.zeros(), node.zeros(), node.zeros()
        for k in range(ROUNDS):
            gradient = await node.gradient(np.full_like(x, float(k)))
            apart = self.how.startswith("noise apart")
            release = node.zeros() if apart else node.privatize(gradient, self.law)
            if self.bare:
                await node.exchange(x=release)
                continue
            match self.how:
                case "step":
                    x = x - STEP * release
                    await node.exchange(x=x)
                case "mixed":
                    x = (await node.exchange(x=x - STEP * release)).mix("x")
                case "momentum":
                    kept = 0.9 * kept + release
                    x = x - STEP * kept
                    await node.exchange(x=x)
                case "tracked":
                    kept, before = kept + release - before, release
                    await node.exchange(y=kept, x=x - STEP * kept)
                case "by coordinate":
                    await node.exchange(x=release * np.linspace(-2.0, 3.0, node.dimension) + k)
                case "late":  # the second of two messages says what is in the first
                    other = node.privatize(node.zeros(), self.law)
                    await node.exchange(x=release + other)
                    await node.exchange(x=other)
                case "two in one":
                    await node.exchange(x=release + node.privatize(gradient, self.law))
                case "turned":
                    await node.exchange(x=release @ _TURN)
                case "half":
                    await node.exchange(x=release * (np.arange(node.dimension) % 2))
                case "clipped":
                    await node.exchange(x=np.clip(release, -6.0, 6.0))
                case "folded":
                    await node.exchange(x=np.abs(release))
                case "beside a gate":
                    gate = np.where(release > 40.0, gradient, 0.0)
                    await node.exchange(x=x - STEP * release + gate)
                case "noise apart":
                    x = x - STEP * (gradient + node.privatize(node.zeros(), self.law))
                    await node.exchange(x=x)
                case "noise apart and bare":
                    noise = node.privatize(node.zeros(), self.law)
                    await node.exchange(x=gradient + noise, y=2 * (gradient + noise) + gradient)
                case _:
                    raise AssertionError(self.how)
            node.estimate(x)


_TURN = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
OUT = ("step", "mixed", "momentum", "tracked", "by coordinate", "late")
IN = ("two in one", "turned", "half", "clipped", "folded", "beside a gate")


def cost(law=LAW):
    """Of all rounds, by hand: the gradient differs by the same everywhere."""
    _, pair = quadratic_world(Inside("step"))
    zero, one = (hypothesis.gradient(np.zeros((1, 4))) for hypothesis in pair.hypotheses)
    each = np.abs(zero - one)
    if isinstance(law, Laplace):
        return ROUNDS * float(np.sum(each)) / law.scale
    return ROUNDS * float(np.sum(each**2)) / law.stddev**2


@pytest.mark.parametrize("law", [LAW, Gaussian(0.7)])
@pytest.mark.parametrize("how", OUT)
def test_it_costs_what_the_releases_cost(how, law):
    """And each transcript loses what one that sends the releases themselves loses: they are of the same noise."""
    found = explained(Inside(how, law))
    assert found.granted_from == np.inf
    assert found.uncovered is found.faint is None
    np.testing.assert_allclose(found.cost.sum(axis=0), cost(law), rtol=1e-9)
    assert all(sent < np.inf for sent in found.sent_in)
    if how != "late":  # which draws other noise between
        bare = explained(Inside(how, law, bare=True))
        np.testing.assert_allclose(found.losses(), bare.losses(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("how", ["late", "noise apart"])
def test_noise_of_another_place_is_the_same_to_who_sees_the_sum(how):
    """Where the noise is Gaussian, the loss is that by projection on all that was sent, which is another computation:
    also with the noise drawn apart, where it moves from one world to the other."""
    simulation, pair = quadratic_world(Inside(how, Gaussian(0.7)))
    sample = worlds(simulation, pair.agent, pair.hypotheses[1], 20)(0, 0)
    true, other = pair.hypotheses
    known = Reproduced.of(sample, pair.agent, true)
    theirs = sample.replayed(pair.agent, other, "the other")
    again = known._again(true, sample), known._again(other, sample)
    projected = priced(known.mine, theirs, sample.releases, again)
    own = factors(known.mine, sample.releases, again[0])
    out = recovered(known.mine, theirs, sample.releases, own, again[1])
    assert projected is not None
    assert out is not None
    assert len(out.sent_in) == sum(release.sent_in is None for release in known.mine.releases) == ROUNDS
    pairs = zip(known.mine.releases, out.theirs.releases, strict=True)
    losses = sum(a.log_density() - b.log_density() for a, b in pairs)
    np.testing.assert_allclose(losses, projected.steps.sum(axis=0), rtol=1e-8, atol=1e-9)


def test_noise_drawn_apart_costs_what_noise_on_the_gradient_costs():
    found = explained(Inside("noise apart"))
    assert found.granted_from == np.inf
    assert found.uncovered is found.faint is None
    np.testing.assert_allclose(found.cost.sum(axis=0), cost(), rtol=1e-9)


@pytest.mark.parametrize("how", IN)
def test_what_does_not_come_out_is_granted(how):
    found = explained(Inside(how))
    assert found.granted_from == 0


def test_noise_that_is_not_in_every_message_hides_nothing():
    """y has the gradient once more than its noise."""
    found = audited(Inside("noise apart and bare"), 1.0, 0.0, trials=100)
    assert found.judgement.verdict is not Verdict.CONSISTENT
    assert found.exact[0].uncovered is not None


@dataclass(frozen=True)
class PrivateDescent(Algorithm):
    """As in a textbook: clipped gradients, noise, a step; x is sent."""

    scale: float

    async def run(self, node: Node) -> None:
        x: Array = node.zeros()
        for _ in range(ROUNDS):
            noisy = node.privatize(Clip(1.0, "l1")(await node.gradient(x)), Laplace(self.scale))
            x = (await node.exchange(x=x - STEP * noisy)).mix("x")
            node.estimate(x)


def test_a_textbook_descent_is_refuted_or_proven():
    """Three releases, each moved by up to 2 in ℓ1 against noise of 1.5: ε = 4."""
    assert netsim.audit(PrivateDescent(1.5), 3.9, "audit.agent=0", trials=50, progress=False).verdict == "refuted"
    held = netsim.audit(PrivateDescent(1.5), 4.0, "audit.agent=0", trials=50, progress=False)
    assert held.verdict == "proven"
    assert held.audit.bound is not None
    assert held.audit.bound.epsilon == pytest.approx(4.0, rel=1e-9)
