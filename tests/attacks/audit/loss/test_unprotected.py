"""Unprotected messages: hidden noise explains what it can and accuses nothing that it may explain, in any units."""

from dataclasses import dataclass

import numpy as np
import pytest

from attacks.audit.loss.unprotected import Explained, combined
from netsim.algorithms import Algorithm
from netsim.codecs import FixedPoint
from netsim.mechanisms import Laplace
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
