"""Code that does at answers, views or coins of some kind what it does at no other: no bound is given for it."""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from netsim.algorithms import Algorithm
from netsim.arrays import Array
from netsim.claims import Adjacency, Clip
from netsim.errors import AttackError
from netsim.mechanisms import Laplace
from netsim.node import Node, choose
from tests.attacks.audit.test_proof import ADJACENT, PROVEN, bound_of, simulated

SCALE, BOUND = 0.5, 0.7
ANY = Adjacency(math.inf, "any data")
Run = Callable[[Node], Awaitable[None]]


@dataclass(frozen=True)
class Coded(Algorithm):
    code: Run

    async def run(self, node: Node) -> None:
        await self.code(node)


def bound(code: Run, adjacency: Adjacency) -> float:
    simulation, _ = simulated(PROVEN["descent, released"])
    return bound_of(replace(simulation, algorithm=Coded(code)), adjacency).epsilon


def clip(g: Array) -> Array:
    return Clip(BOUND)(g)


def noisy(node: Node, value: Array) -> Array:
    return node.privatize(value, Laplace(SCALE))


def far(g: Array) -> bool:
    return bool(np.max(np.abs(g)) > 5)


def length(g: Array) -> Array:
    return np.linalg.norm(g, axis=-1, keepdims=True)


async def raw_in_its_place(node: Node) -> None:
    g = await node.gradient(node.zeros())
    z = noisy(node, g)
    await node.exchange(x=g if far(g) else z)


async def raw_after_it(node: Node) -> None:
    g = await node.gradient(node.zeros())
    z = noisy(node, g)
    await node.exchange(x=z)
    await node.exchange(y=g if far(g) else z)


async def changed_in_place(node: Node) -> None:
    g = await node.gradient(node.zeros())
    z = noisy(node, g)
    z.setflags(write=True)
    z += 5 * g
    await node.exchange(x=z)


async def jumps(node: Node) -> None:
    g = await node.gradient(node.zeros())
    sent = (await node.exchange(x=noisy(node, g))).sent("x")
    there = await node.gradient(sent + np.where(np.abs(g) > 5, g, 0.0))
    await node.exchange(x=noisy(node, there))


async def one_record(node: Node) -> None:
    g = await node.gradient(node.zeros())
    sent = (await node.exchange(x=noisy(node, g))).sent("x")
    await node.exchange(x=noisy(node, await node.gradient(sent, [0] if far(g) else None)))


async def hidden_point(node: Node) -> None:
    z = noisy(node, node.zeros())
    await node.exchange(x=z + clip(await node.gradient(z)))


async def faint(node: Node) -> None:
    g = await node.gradient(node.zeros())
    await node.exchange(x=noisy(node, clip(g)), y=1e4 + 1e-4 * (np.abs(g) > 5))


async def all_at_once(node: Node) -> None:
    one, other = await node.gradient(node.zeros()), await node.gradient(node.zeros())
    every = min(np.min(length(g)) for g in (one, other)) > 50
    await node.exchange(x=noisy(node, one + other if every else clip(one) + clip(other)))


async def twice_alike(node: Node) -> None:
    one, other = await node.gradient(node.zeros()), await node.gradient(node.zeros())
    same = length(one - other) <= 1e-6 * length(one)
    await node.exchange(x=noisy(node, np.where(same, one, clip(one)) + clip(other)))


async def turned_back(node: Node) -> None:
    one, other = await node.gradient(node.zeros()), await node.gradient(node.zeros())
    back = length(one + other) <= 1e-6 * length(one)
    await node.exchange(x=noisy(node, np.where(back, one, clip(one)) + clip(other)))


async def coordinates_cancel(node: Node) -> None:
    g = await node.gradient(node.zeros())
    zero = np.abs(np.sum(g, axis=-1, keepdims=True)) <= 1e-6 * length(g)
    await node.exchange(x=noisy(node, np.where(zero, g, clip(g))))


async def far_from_others(node: Node) -> None:
    heard = await node.exchange(x=noisy(node, node.zeros()))
    g, sent = await node.gradient(node.zeros()), heard.sent("x")
    far_off = length(heard.mix("x") - sent) > 100 * length(sent)
    await node.exchange(x=noisy(node, np.where(far_off, g, clip(g))))


async def same_receiver(node: Node) -> None:
    """Whether two messages go to one neighbor tells the answer."""
    g = clip(await node.gradient(node.zeros()))
    first, other = choose(node.coins, node.neighbors), choose(node.coins, node.neighbors)
    node.send(first, x=noisy(node, g))
    node.send(other if np.max(np.abs(g)) > BOUND / 2 else first, x=noisy(node, g))


async def not_just_beyond(node: Node) -> None:
    """Clipped from a thousandth beyond the bound on."""
    g = await node.gradient(node.zeros())
    size = np.sum(np.abs(g), axis=-1, keepdims=True)
    await node.exchange(x=noisy(node, np.where(size > 1.001 * BOUND, clip(g), g)))


class Quiet(Laplace):
    """Noise of its own law, as somebody may write it."""


async def own_noise(node: Node) -> None:
    await node.exchange(x=node.privatize(clip(await node.gradient(node.zeros())), Quiet(SCALE)))


@pytest.mark.parametrize(
    ("code", "adjacency"),
    [
        (not_just_beyond, ANY),
        (own_noise, ANY),
        (raw_in_its_place, ADJACENT),
        (raw_after_it, ADJACENT),
        (changed_in_place, ADJACENT),
        (jumps, ADJACENT),
        (one_record, ADJACENT),
        (hidden_point, ANY),
        (faint, ANY),
        (all_at_once, ANY),
        (twice_alike, ANY),
        (turned_back, ANY),
        (coordinates_cancel, ANY),
        (far_from_others, ANY),
        (same_receiver, ANY),
    ],
)
def test_code_that_is_bounded_elsewhere(code: Run, adjacency: Adjacency) -> None:
    with pytest.raises(AttackError):
        bound(code, adjacency)


async def resent(node: Node) -> None:
    z = noisy(node, clip(await node.gradient(node.zeros())))
    await node.exchange(x=z)
    await node.exchange(y=z)


async def any_receiver(node: Node) -> None:
    g = clip(await node.gradient(node.zeros()))
    first = choose(node.coins, node.neighbors)
    node.send(first, x=noisy(node, g))
    node.send(first, x=noisy(node, g))


async def at_own_noise(node: Node) -> None:
    """The point is noise that is in no message, and the same in both worlds."""
    g = await node.gradient(noisy(node, node.zeros()))
    await node.exchange(x=noisy(node, g))


@pytest.mark.parametrize(
    ("code", "adjacency", "epsilon"),
    [
        (resent, ANY, 2 * BOUND / SCALE),
        (any_receiver, ANY, 4 * BOUND / SCALE),
        (at_own_noise, ADJACENT, 0.25 * 2 / SCALE),
    ],
)
def test_sound_twins_have_a_bound(code: Run, adjacency: Adjacency, epsilon: float) -> None:
    assert bound(code, adjacency) == pytest.approx(epsilon, rel=1e-9)
