"""Clips are found in what the code sends, whoever wrote them; what clips no answer by itself has no bound."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from attacks.audit.clips import Cut, Padded, stretch
from netsim.algorithms import Algorithm
from netsim.arrays import Array
from netsim.claims import Adjacency, Clip
from netsim.errors import AttackError
from netsim.mechanisms import Gaussian, Laplace
from netsim.node import Node
from tests.attacks.audit.test_proof import PROVEN, bound_of, simulated

ROUNDS, STEP, BOUND, DIMENSION = 4, 0.2, 0.7, 4
SCALE = 0.5
ANY = Adjacency(math.inf, "any data")


def by_norm(order: float) -> "type[Algorithm]":
    """Descent that releases its state, with a clip in this norm as one writes it."""

    def clip(g: Array, _: int) -> Array:
        return g * np.minimum(1.0, BOUND / np.linalg.norm(g, ord=order, axis=-1, keepdims=True).clip(1e-300))

    return descent(clip)


def descent(clip, law=Laplace) -> "type[Algorithm]":
    """x ← W x̃ − η·clip(∇f(x), k), x̃ = x with noise."""

    class Descent(Algorithm):
        async def run(self, node: Node) -> None:
            x = node.zeros()
            for k in range(ROUNDS):
                heard = await node.exchange(x=node.privatize(x, law(SCALE)))
                x = heard.mix("x") - STEP * clip(await node.gradient(x), k)
                node.estimate(x)

    return Descent


def bound(algorithm: "type[Algorithm]", adjacency: Adjacency = ANY) -> float:
    simulation, _ = simulated(PROVEN["descent, released"])
    return bound_of(replace(simulation, algorithm=algorithm()), adjacency).epsilon


ONE = 2 * STEP * BOUND / SCALE
"""What a round costs with a clip in ℓ1."""


@pytest.mark.parametrize(
    ("algorithm", "cost"),
    [
        pytest.param(by_norm(1), (ROUNDS - 1) * ONE, id="l1"),
        pytest.param(by_norm(2), (ROUNDS - 1) * ONE * math.sqrt(DIMENSION), id="l2"),
        pytest.param(by_norm(np.inf), (ROUNDS - 1) * ONE * DIMENSION, id="linf, the vector scaled"),
        pytest.param(
            descent(lambda g, _: np.clip(g, -BOUND, BOUND)), (ROUNDS - 1) * ONE * DIMENSION, id="each coordinate"
        ),
        pytest.param(descent(lambda g, _: Clip(BOUND, "l1")(g)), (ROUNDS - 1) * ONE, id="netsim's own, within"),
        pytest.param(
            descent(lambda g, k: Clip(BOUND * 0.5**k, "l1")(g)), ONE * (1 + 0.5 + 0.25), id="another each round"
        ),
        pytest.param(
            descent(lambda g, k: Clip(1e-4 * BOUND, "l1")(g)), (ROUNDS - 1) * 1e-4 * ONE, id="far below the rest"
        ),
    ],
)
def test_the_bound_is_that_of_the_clip(algorithm, cost):
    """The first release is of the public start; the last gradient is in none."""
    assert bound(algorithm) == pytest.approx(cost, rel=1e-9)


def test_with_gaussian_noise_it_is_the_clip_in_l2():
    costs = [bound(descent(lambda g, _, n=n: Clip(BOUND, n)(g), Gaussian)) for n in ("l1", "l2", "linf")]
    assert costs[0] == pytest.approx(costs[1], rel=1e-9)
    assert costs[2] > 1.5 * costs[1]


def test_where_the_query_is_at_a_public_point_a_looser_clip_costs_what_it_stretches():
    """In the released state a gradient differs by no more than two adjacent ones do; clipped in ℓ1, by twice that:
    from (C, 0) to (C, h) it goes to (C − h, h)."""

    @dataclass(frozen=True)
    class Released(Algorithm):
        bound: float

        async def run(self, node: Node) -> None:
            x = node.zeros()
            for _ in range(ROUNDS):
                heard = await node.exchange(x=node.privatize(x, Laplace(SCALE)))
                x = heard.mix("x") - STEP * Clip(self.bound, "l1")(await node.gradient(heard.sent("x")))

    change = Adjacency(0.25, "any two")
    tight, loose = (bound(lambda b=b: Released(b), change) for b in (0.05, 1e3))
    assert tight == pytest.approx((ROUNDS - 1) * STEP * 2 * 0.05 / SCALE, rel=1e-9)
    assert loose == pytest.approx((ROUNDS - 1) * STEP * 2 * 0.25 * math.sqrt(DIMENSION) / SCALE, rel=1e-9)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "clip",
    [
        *(Clip(1.0, norm) for norm in ("l1", "l2", "linf")),
        *(Padded(1.0, norm, 1e-3) for norm in ("l1", "l2", "linf")),
        Cut(1.0, "linf"),
    ],
    ids=repr,
)
def test_a_clip_stretches_differences_by_so_much_and_no_more(clip, order):
    """Vectors on the clip's bound, many of them with one coordinate that is far above others, or equal to the rest;
    moved along a coordinate, or so that the norm grows most."""
    rng, count = np.random.default_rng(order), 40_000
    base = np.exp(rng.uniform(0, 6, (count, 1)) * rng.standard_normal((count, DIMENSION)))
    base[::4, 1:] = base[::4, 1:2]
    base /= np.linalg.norm(base, ord={"l1": 1, "l2": 2, "linf": np.inf}[clip.norm], axis=1, keepdims=True)
    turn = np.abs(rng.standard_normal(base.shape))
    turn[::3], turn[1::3, 0] = np.eye(DIMENSION)[rng.integers(DIMENSION, size=len(turn[::3]))], 0.0
    turn[1::6, 1:], turn[2::3] = 1.0, rng.standard_normal(turn[2::3].shape)
    turn[5::6] = np.eye(DIMENSION)[np.argmax(base[5::6], axis=1)]
    step = 1e-6 * turn / np.linalg.norm(turn, ord=order, axis=1, keepdims=True)
    moved = np.linalg.norm(clip(base + step) - clip(base), ord=order, axis=1) / 1e-6
    most = stretch(clip, order, DIMENSION)
    assert 0.95 * most < np.max(moved) <= most * (1 + 1e-5)


def seldom(g: Array, _: int) -> Array:
    """Unclipped where one coordinate is between 0.1 and 0.12."""
    rare = np.any((np.abs(g) > 0.1) & (np.abs(g) < 0.12), axis=-1, keepdims=True)
    return np.where(rare, g, Clip(BOUND, "l1")(g))


def half(g: Array, _: int) -> Array:
    """Half of the coordinates are forgotten."""
    cut = np.clip(g, -BOUND, BOUND)
    cut[..., DIMENSION // 2 :] = g[..., DIMENSION // 2 :]
    return cut


def scaled_up(g: Array, _: int) -> Array:
    """Small answers are scaled up to the bound."""
    return BOUND * g / np.maximum(np.abs(g).sum(axis=-1, keepdims=True), 1e-300)


@pytest.mark.parametrize(
    "clip",
    [
        pytest.param(lambda g, _: g, id="none"),
        pytest.param(lambda g, _: np.where(np.abs(g) < 1e9, np.clip(g, -BOUND, BOUND), g), id="not beyond 10⁹"),
        pytest.param(lambda g, _: BOUND * np.tanh(g), id="squashed"),
        pytest.param(lambda g, _: BOUND * np.sign(g), id="signs"),
        pytest.param(lambda g, _: np.minimum(g, BOUND), id="from above alone"),
        pytest.param(lambda g, _: np.clip(g, -2 * BOUND, BOUND), id="lopsided"),
        pytest.param(lambda g, _: Clip(BOUND, "l1")(g) + 1e-3 * g, id="leaky"),
        pytest.param(lambda g, _: Clip(BOUND, "l1")(g - 1.0), id="off center"),
        pytest.param(lambda g, _: g * BOUND / np.maximum(BOUND, np.abs(g[..., :1])), id="by one coordinate"),
        pytest.param(seldom, id="seldom forgotten"),
        pytest.param(half, id="half forgotten"),
        pytest.param(scaled_up, id="scaled up"),
    ],
)
def test_what_is_no_clip_of_each_answer_has_no_bound(clip):
    with pytest.raises(AttackError):
        bound(descent(clip))


def test_a_clip_of_more_than_the_answer_has_no_bound():
    """Of the regularized gradient, and one whose bound depends on what was seen."""

    @dataclass(frozen=True)
    class Other(Algorithm):
        adaptive: bool

        async def run(self, node: Node) -> None:
            x = node.zeros()
            for _ in range(ROUNDS):
                sent = (await node.exchange(x=node.privatize(x, Laplace(SCALE)))).sent("x")
                g = await node.gradient(x)
                if self.adaptive:
                    size = BOUND * (1 + np.abs(sent).sum(axis=-1, keepdims=True))
                    x = sent - STEP * g * size / np.maximum(size, np.abs(g).sum(axis=-1, keepdims=True))
                else:
                    x = sent - STEP * Clip(BOUND, "l1")(g + 0.5 * x)

    for adaptive in (False, True):
        with pytest.raises(AttackError):
            bound(lambda a=adaptive: Other(a))
