"""Laws of somebody's own at δ = 0: any number of positive density is possible, however far out."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import special

import netsim
from attacks.audit.loss.far_out import farthest_out
from attacks.replay import Release
from netsim.algorithms import Algorithm
from netsim.node import choose


class Own:
    """A law of additive noise; `width` may depend on the value."""

    noiseless = False

    def width(self, value):
        return np.ones_like(value)

    def release(self, value, rng):
        return value + self.width(value) * self.draw(rng, value.shape)

    def log_density(self, observed, value):
        width = self.width(value)
        return (self.log((observed - value) / width) - np.log(width)).sum(axis=-1)

    def quantiles(self, observed, value):
        return self.below((observed - value) / self.width(value))


class Normal(Own):
    def draw(self, rng, shape):
        return rng.standard_normal(shape)

    def log(self, z):
        return -(z**2) / 2 - np.log(2 * np.pi) / 2

    def below(self, z):
        return special.ndtr(z)

    def variance(self):
        return 1.0


class TwoSided(Own):
    """Laplace noise."""

    def draw(self, rng, shape):
        return rng.laplace(size=shape)

    def log(self, z):
        return -np.abs(z) - np.log(2)

    def below(self, z):
        return 0.5 + np.sign(z) * -np.expm1(-np.abs(z)) / 2

    def variance(self):
        return 2.0


class Blurred(TwoSided):
    """Laplace noise and one of [−½, ½], whose density is a difference of probabilities: rounding far up."""

    def draw(self, rng, shape):
        return rng.laplace(size=shape) + rng.random(shape) - 0.5

    def log(self, z):
        with np.errstate(divide="ignore"):
            return np.log(super().below(z + 0.5) - super().below(z - 0.5))

    def below(self, z):
        def integral(x):
            return np.maximum(x, 0.0) + np.exp(-np.abs(x)) / 2

        return integral(z + 0.5) - integral(z - 0.5)

    def variance(self):
        return 2.0 + 1 / 12


class Cut(TwoSided):
    """Laplace noise cut at 12: no draw shows it."""

    def draw(self, rng, shape):
        return np.clip(rng.laplace(size=shape), -12.0, 12.0)

    def log(self, z):
        return np.where(np.abs(z) <= 12, super().log(z), -np.inf)


@dataclass(frozen=True)
class Stairs(TwoSided):
    """Density e^(−⌊|z|/2 + ½⌋)·a: steps of 2, the first of which is half as wide."""

    def log(self, z):
        return -np.floor(np.abs(z) / 2 + 0.5) + self._top

    def draw(self, rng, shape):
        inner = rng.random(shape) < 1 / (1 + 2 * np.exp(-1) / (1 - np.exp(-1)))
        out = 1 + 2 * (rng.geometric(1 - np.exp(-1), shape) - 1) + 2 * rng.random(shape)
        return np.where(inner, rng.random(shape), out) * rng.choice((-1.0, 1.0), shape)

    def below(self, z):
        size = np.abs(z)
        steps = np.maximum(np.floor(size / 2 + 0.5), 0)
        inner = np.minimum(size, 1.0)
        whole = 2 * (np.exp(-1) - np.exp(-np.maximum(steps, 1))) / (1 - np.exp(-1))
        part = np.where(steps > 0, np.exp(-steps) * (size - (2 * steps - 1)), 0.0)
        return 0.5 + np.sign(z) * np.exp(self._top) * (inner + whole + part)

    @property
    def _top(self):
        return -np.log(2 * (1 + 2 * np.exp(-1) / (1 - np.exp(-1))))

    def variance(self):
        return 6.0


@dataclass(frozen=True)
class Wide(TwoSided):
    """Laplace noise that is wider the larger the value is."""

    least: float = 1.0
    more: float = 0.5

    def width(self, value):
        return self.least + self.more * np.abs(value)

    def variance(self):
        return 2 * (self.least + self.more) ** 2


@dataclass(frozen=True)
class Law(Algorithm):
    """One release of a gradient between −1 and 1."""

    law: Own

    async def run(self, node):
        gradient = np.clip(await node.gradient(node.zeros()), -1, 1)
        await node.exchange(x=node.privatize(gradient, self.law))
        node.estimate(gradient)


@dataclass(frozen=True)
class Masked(Law):
    """The same, or 0, by a secret coin."""

    async def run(self, node):
        gradient = np.clip(await node.gradient(node.zeros()), -1, 1)
        node.broadcast(x=node.privatize(choose(node.coins, range(2)) * gradient, self.law))
        node.estimate(gradient)


class Guarded(Law):
    """Code that fails where what it receives is far out."""

    async def run(self, node):
        gradient = np.clip(await node.gradient(node.zeros()), -1, 1)
        received = await node.exchange(x=node.privatize(gradient, self.law))
        if np.max(np.abs(received.mix("x"))) > 30:
            raise ValueError("too far")
        node.estimate(gradient)


SMALL = "data.dimension=1", "data.records=6", "agents=3"


def audited(algorithm, claim, *options):
    return netsim.audit(algorithm, claim, *SMALL, *options, trials=400, progress=False)


@pytest.mark.parametrize(
    ("algorithm", "claim", "options"),
    [
        (Law(Normal()), 10.0, ()), (Law(Normal()), 300.0, ()), (Guarded(Normal()), 9.5, ()), (Law(Wide()), 2.0, ()),
        (Law(Wide()), 2.0, ("audit.adjacency={change: 1}",)), (Masked(Wide(0.2, 1.0)), 4.0, ()),
        (Masked(Wide(0.2, 1.0)), (2.0, 0.05), ()),
    ],
)  # fmt: skip
def test_a_claim_above_what_draws_show_is_refuted(algorithm, claim, options):
    assert audited(algorithm, claim, *options).verdict == "refuted"


def test_a_law_that_is_cut_where_no_draw_is_is_not_consistent():
    assert audited(Law(Cut()), 3.0).verdict == "underpowered"


@pytest.mark.parametrize(
    ("algorithm", "claim"),
    [(Law(TwoSided()), 2.0), (Law(Blurred()), 2.0), (Law(Stairs()), 1.0), (Masked(TwoSided()), 1.491)],
)
def test_a_true_claim_of_a_sound_law_is_consistent(algorithm, claim):
    assert audited(algorithm, claim).verdict == "consistent"


def released(law, value, observed):
    return Release(0, law, observed, np.full_like(observed, value), np.ones(len(observed), dtype=bool))


def test_a_release_goes_no_farther_than_its_loss_grows_and_one_alone_goes_far():
    observed = np.array([[-2.0], [0.5], [4.0]])
    (moved,) = farthest_out([(released(TwoSided(), 1.0, observed), released(TwoSided(), -1.0, observed))], [])
    assert moved[2] == 0
    assert np.all(observed + moved >= 1)
    assert np.all(moved <= 6)
    pair = released(Normal(), 1.0, observed), released(Normal(), -1.0, observed)
    one, other = farthest_out([pair, pair], [])
    assert np.all(one >= 300)
    assert np.all(other <= 6)


def test_what_was_moved_is_moved_from_where_it_was_drawn():
    observed = np.array([[-2.0], [0.5], [4.0]])
    pair = released(Normal(), 1.0, observed), released(Normal(), -1.0, observed)
    found = farthest_out([pair], [])
    there = tuple(released(Normal(), one.value[0, 0], observed + found[0]) for one in pair)
    np.testing.assert_array_equal(farthest_out([there], found), found)


def test_no_place_counts_where_a_density_is_rounding():
    law, observed = Blurred(), np.array([[0.0]])
    (moved,) = farthest_out([(released(law, 1.0, observed), released(law, -1.0, observed))], [])
    here, there = (law.log_density(observed + moved, np.full((1, 1), value)) for value in (1.0, -1.0))
    assert 1.9 < (here - there)[0] <= 2 * (1 + 1e-9)
