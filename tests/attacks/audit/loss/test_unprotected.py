"""Unprotected messages: hidden noise explains what it can and accuses nothing that it may explain, in any units."""

from dataclasses import dataclass

import numpy as np
import pytest

from attacks.audit.loss.comparison import compare_worlds
from attacks.audit.loss.unprotected import Explained, combined
from attacks.replay import replay
from netsim.algorithms import Algorithm
from netsim.codecs import FixedPoint
from netsim.mechanisms import Laplace
from scenarios.stages.worlds import worlds
from tests.attacks.auditing import explained, quadratic_world
from tests.worlds import changed


def test_what_noise_and_rounding_make_together_is_explained():
    """In 40 numbers a rest of 0.9 units of rounding each, beside effects of noise of a few deviations; one number
    that is 1,000 units away, where noise has no effect, is not."""
    rng = np.random.default_rng(0)
    effects, rounding = rng.standard_normal((10, 2, 4, 3)), np.full((10, 2, 4), 1e-6)
    noise = rng.standard_normal((2, 3))
    effects[9, :, 0] = 0.0
    missing = np.einsum("mrdk,rk->mrd", effects, noise) + 0.9 * rounding * rng.choice((-1.0, 1.0), rounding.shape)
    assert not np.any(Explained(missing, effects, rounding).left(10))
    missing[9, 1, 0] += 1e-3
    assert Explained(missing, effects, rounding).left(10).tolist() == [False, True]
    assert not np.any(Explained(missing, effects, rounding).left(9))


@dataclass(frozen=True)
class Wave(Algorithm):
    """Noise that goes in by a wave: a whole step of it changes nothing, and less than that does."""

    unit: float

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        hidden = node.privatize(node.zeros(), Laplace(1.0))
        node.broadcast(x=self.unit * (gradient + np.sin(2 * np.pi * hidden)))
        node.estimate(gradient)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_message_that_is_not_affine_in_its_noise_is_not_accused_in_any_units(unit):
    found = explained(Wave(unit), 5)
    assert found.granted_from == 0
    assert found.inexplicable is None
    assert np.all(np.isinf(found.bare))


@dataclass(frozen=True)
class Seldom(Algorithm):
    """A bit of the data that hidden noise flips where it is small, one time in 50: ε = ln 49.5. With `beside` there
    is one number of other noise for all four numbers of it; `bare` is never flipped."""

    beside: bool = False
    bare: bool = False

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        hidden = node.privatize(node.zeros(), Laplace(1.0))[:, :1]
        bit = (gradient[:, :1] > -0.3) != ((np.abs(hidden) < 0.02) & (not self.bare))
        other = node.privatize(node.zeros(), Laplace(1.0))[:, :1] if self.beside else 0.0
        node.broadcast(y=bit * np.array([1.0, 0.0, 0.0, 0.0]) + other)
        node.estimate(gradient)


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("replicas", [1, 60])
def test_hidden_noise_that_seldom_has_an_effect_is_not_taken_for_none(beside, replicas):
    """Of 60 transcripts 4 have no effect in 128 draws, and half of all in 32."""
    simulation, pair = quadratic_world(Seldom(beside))
    simulate = worlds(simulation, 1, pair.hypotheses[1], replicas)
    for chunk in range(6 if replicas == 1 else 1):
        found = compare_worlds(simulate(0, chunk), 1, *pair.hypotheses, claimed=np.log(49.5))
        assert found.uncovered is not None
        assert found.inexplicable is None


@pytest.mark.parametrize("beside", [False, True])
def test_what_hidden_noise_has_no_effect_on_is_unprotected_against_a_claim_that_the_draws_reach(beside):
    simulation, pair = quadratic_world(Seldom(beside, bare=True))
    sample = worlds(simulation, 1, pair.hypotheses[1], 60)(0, 0)
    for claimed, known in ((None, True), (1.0, True), (np.log(49.5), True), (15.0, False)):
        found = compare_worlds(sample, 1, *pair.hypotheses, claimed=claimed)
        assert (found.inexplicable is not None) == known


@dataclass(frozen=True)
class Chained(Algorithm):
    """A second hidden release of the first: they are near each other one time in 10, wherever they are."""

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        first = node.privatize(node.zeros(), Laplace(1e6))
        near = np.abs(node.privatize(first, Laplace(1.0)) - first)[:, :1] < 0.1
        node.broadcast(y=node.zeros() + ((gradient[:, :1] > -0.3) != near))
        node.estimate(gradient)


def test_noise_that_is_drawn_anew_goes_on_from_what_was_drawn_before():
    simulation, pair = quadratic_world(Chained())
    sample = worlds(simulation, 1, pair.hypotheses[1], 60)(0, 0)
    assert compare_worlds(sample, 1, *pair.hypotheses, claimed=2.3).inexplicable is None
    rng = np.random.default_rng(0)
    made = replay(sample.view, 1, pair.hypotheses[0], sample.coins(), [rng, rng]).releases
    assert np.max(np.abs(made[1].observed - made[0].observed)) < 100


class Coarse(Algorithm):
    """Sends its gradient, −1/4 in one world and −3/8 or −1/8 in the other."""

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        node.broadcast(x=gradient)
        node.estimate(gradient)


def test_values_that_a_codec_made_equal_are_a_faint_difference():
    """On a grid of 4 all are 0; on one of 1/8 they differ."""
    simulation, pair = quadratic_world(Coarse())
    for codec, seen in ((FixedPoint(2, 4.0), False), (FixedPoint(8, 127 / 8), True)):
        found = explained((changed(simulation, codec=codec), pair), 3)
        assert np.isfinite(found.leaked).tolist() == [seen] * 3
        assert (found.uncovered is not None) == seen
        if not seen:
            assert (found.faint.message, found.faint.name) == (0, "x")


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_multiples_of_two_answers_are_recognized_in_any_units(size):
    rng = np.random.default_rng(0)
    here, there, other = size * rng.standard_normal((3, 6, 5))
    factors = rng.standard_normal((2, 6, 1))
    assert combined(factors[0] * here - factors[1] * there, here, there)
    assert combined(factors[0] * here, here, here)
    assert not combined(other, here, there)
