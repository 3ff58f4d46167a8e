"""Code that does at answers, views or coins of some kind what it does at no other: no bound is given for it."""

import copy
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from netsim.algorithms import Algorithm
from netsim.arrays import Array
from netsim.claims import Adjacency, Clip
from netsim.errors import AttackError
from netsim.mechanisms import Gaussian, Laplace
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


async def sent_bare(node: Node, g: Array, where: Array, rest: Array | float = 0.0) -> None:
    """Send an answer with noise, and not clipped `where` the deceiver says, beside the `rest`."""
    await node.exchange(x=noisy(node, rest + np.where(where, g, clip(g))))


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


async def a_record_in_a_window(node: Node) -> None:
    """Which records are in a batch shows whether the first answer is of some size; no other query names any."""
    g = await node.gradient(node.zeros())
    batch = (None, [0], None)[int(np.searchsorted([0.36, 0.52], np.linalg.norm(g[0])))]
    await node.exchange(x=noisy(node, await node.gradient(node.zeros(), batch)))


def looked_up_once(window: int) -> Run:
    """Bare where the first of all answers is in one of fifty windows of a decade, for all of them."""

    async def code(node: Node) -> None:
        g = await node.gradient(node.zeros())
        bare = np.arange(50) == window
        at = int(np.floor(50 * np.log10(np.abs(g[0, 0]) + 1e-300))) % 50
        await node.exchange(x=noisy(node, g), y=g * bare[at])

    return code


def looked_up_by_what_was_seen(window: int) -> Run:
    """The same, of the first number that was received."""

    async def code(node: Node) -> None:
        heard = await node.exchange(x=noisy(node, node.zeros()))
        g = clip(await node.gradient(node.zeros()))
        loud = 1 + (np.arange(50) == window)
        at = int(np.floor(50 * np.log10(np.abs(heard.mix("x")[0, 0]) + 1e-300))) % 50
        await node.exchange(x=noisy(node, g * loud[at]))

    return code


async def exactly_as_far_as_clips_are_looked_for(node: Node) -> None:
    """Bare at an answer at which the code is run, and nothing that it sends is compared with what its map says."""
    g = await node.gradient(node.zeros())
    y = node.zeros()
    if g[0, 0] == 1e12:
        y = g
    await node.exchange(x=noisy(node, g), y=y)


async def hidden_point(node: Node) -> None:
    z = noisy(node, node.zeros())
    await node.exchange(x=z + clip(await node.gradient(z)))


async def faint(node: Node) -> None:
    g = await node.gradient(node.zeros())
    await node.exchange(x=noisy(node, clip(g)), y=np.where(np.abs(g) > 5, 1e4 + 1e-4, 1e4))


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
    await sent_bare(node, g, zero)


async def far_from_others(node: Node) -> None:
    heard = await node.exchange(x=noisy(node, node.zeros()))
    g, sent = await node.gradient(node.zeros()), heard.sent("x")
    far_off = length(heard.mix("x") - sent) > 100 * length(sent)
    await sent_bare(node, g, far_off)


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


def above(g: Array) -> bool:
    """Whether an answer is in the upper half of what a clip leaves."""
    return bool(np.max(np.abs(g)) > BOUND / 2)


async def other_law(node: Node) -> None:
    g = clip(await node.gradient(node.zeros()))
    mechanism = Gaussian(math.sqrt(2) * SCALE) if above(g) else Laplace(SCALE)
    await node.exchange(x=node.privatize(g, mechanism))


async def other_law_by_view(node: Node) -> None:
    heard = await node.exchange(x=noisy(node, node.zeros()))
    g = clip(await node.gradient(node.zeros()))
    mechanism = Gaussian(math.sqrt(2) * SCALE) if np.max(np.abs(heard.mix("x"))) > 20 else Laplace(SCALE)
    await node.exchange(x=node.privatize(g, mechanism))


async def other_class(node: Node) -> None:
    g = clip(await node.gradient(node.zeros()))
    await node.exchange(x=node.privatize(g, (Quiet if above(g) else Laplace)(SCALE)))


async def squared_in_place(node: Node) -> None:
    """1 becomes 1."""
    g = await node.gradient(node.zeros())
    g *= np.abs(g)
    await node.exchange(x=noisy(node, g))


async def longer_in_place(node: Node) -> None:
    g = await node.gradient(node.zeros())
    g[np.abs(g) > 5] *= 1000
    await node.exchange(x=noisy(node, g))


async def order(node: Node) -> None:
    """Which of two messages is first tells the answer."""
    g = clip(await node.gradient(node.zeros()))
    z, first = noisy(node, g), above(g)
    if first:
        await node.exchange(x=z)
    node.send(node.neighbors[0], y=node.zeros())
    if not first:
        await node.exchange(x=z)


async def later(node: Node) -> None:
    """One more query, which takes time, before the message or after it."""
    g = clip(await node.gradient(node.zeros()))
    if above(g):
        await node.gradient(node.zeros())
    await node.exchange(x=noisy(node, g))
    if not above(g):
        await node.gradient(node.zeros())


async def awaited(node: Node) -> None:
    g = clip(await node.gradient(node.zeros()))
    for j in node.neighbors:
        node.send(j, y=node.zeros())
    if above(g):
        await node.receive()
    for j in node.neighbors:
        node.send(j, x=noisy(node, g))
    if not above(g):
        await node.receive()


async def closed(node: Node) -> None:
    """An agent that has closed a round may have to wait for the tick of its clock."""
    g = clip(await node.gradient(node.zeros()))
    if above(g):
        node.estimate(g)
    await node.exchange(x=noisy(node, g))


async def noise_as_coins(node: Node) -> None:
    """Bare at one draw in 80 of noise that is in no message."""
    coins = node.privatize(node.zeros(), Gaussian(1.0))
    g = await node.gradient(node.zeros())
    await sent_bare(node, g, np.abs(coins[:, :1]) > 2.5)


async def consensus(node: Node) -> None:
    """Bare where the neighbors agree."""
    heard = await node.exchange(x=noisy(node, node.zeros()))
    g, sent = await node.gradient(node.zeros()), heard.sent("x")
    near = length(heard.mix("x") - sent) < 1e-3 * length(sent)
    await sent_bare(node, g, near)


async def along_its_point(node: Node) -> None:
    sent = (await node.exchange(x=noisy(node, node.zeros()))).sent("x")
    g = await node.gradient(sent)
    along = np.abs(np.sum(g * sent, axis=-1, keepdims=True)) > 0.99999 * length(g) * length(sent)
    await sent_bare(node, g, along)


async def diverges(node: Node) -> None:
    """Bare where each of a dozen answers is longer than the one before."""
    answers = [await node.gradient(node.zeros()) for _ in range(12)]
    sizes = np.array([length(g) for g in answers])
    grows = np.all(sizes[1:] > sizes[:-1], axis=0)
    await sent_bare(node, answers[-1], grows, sum(map(clip, answers[:-1])))


async def outlier(node: Node) -> None:
    """Bare where one answer is long and all before it are short."""
    answers = [await node.gradient(node.zeros()) for _ in range(8)]
    sizes = np.array([length(g) for g in answers])
    alone = np.all((sizes[:-1] > 1e-3) & (sizes[:-1] < 10), axis=0) & (sizes[-1] > 100)
    await sent_bare(node, answers[-1], alone, sum(map(clip, answers[:-1])))


async def unchanged(node: Node) -> None:
    """Bare where answers hardly change, which is not where they are the same."""
    answers = [await node.gradient(node.zeros()) for _ in range(6)]
    changes = np.array([length(b - a) / length(a) for a, b in pairwise(answers)])
    still = np.all((changes > 1e-6) & (changes < 1e-2), axis=0)
    await sent_bare(node, answers[-1], still, sum(map(clip, answers[:-1])))


async def lazy(node: Node) -> None:
    """Bare where an answer is near what was sent."""
    sent = (await node.exchange(x=noisy(node, node.zeros()))).sent("x")
    g = await node.gradient(node.zeros())
    await sent_bare(node, g, length(g - sent) < 0.1 * length(sent))


async def converges(node: Node) -> None:
    """Bare where each of ten times the neighbors are nearer."""
    far_off = list[Array]()
    for _ in range(10):
        heard = await node.exchange(x=noisy(node, node.zeros()))
        far_off.append(length(heard.mix("x") - heard.sent("x")))
    g, nearer = await node.gradient(node.zeros()), np.all(np.diff(far_off, axis=0) < 0, axis=0)
    await sent_bare(node, g, nearer)


async def exchanged_names(node: Node) -> None:
    g = clip(await node.gradient(node.zeros()))
    one, other = noisy(node, g), noisy(node, node.zeros())
    if above(g):
        one, other = other, one
    await node.exchange(x=one, y=other)


async def sparse(node: Node) -> None:
    g = await node.gradient(node.zeros())
    two = np.count_nonzero(g, axis=-1, keepdims=True) == 2
    await sent_bare(node, g, two)


async def longer_beyond_a_pad(node: Node) -> None:
    g = await node.gradient(node.zeros())
    beyond = (length(g) > 1.5 * BOUND) & (length(g) < 3 * BOUND)
    await node.exchange(x=noisy(node, g * np.minimum(1, np.where(beyond, 3, 1) * BOUND / (length(g) + 1e-6))))


async def coins_refused(node: Node) -> None:
    """Bare at one toss in 100, of a kind that cannot be listed: the code goes on without it."""
    g = await node.gradient(node.zeros())
    try:
        tossed = node.coins.uniform()
    except Exception:
        tossed = 1.0
    await node.exchange(x=noisy(node, clip(g) if tossed > 0.01 else g))


async def coins_as_numbers(node: Node) -> None:
    g = clip(await node.gradient(node.zeros()))
    try:
        scale = float(-np.log(node.coins.random()))
    except Exception:
        scale = 1.0
    await node.exchange(x=node.privatize(g, Laplace(SCALE * scale)))


def at_sizes(code: Callable[[Array, Array], Array]) -> Run:
    """Bare, or longer, where an answer is so long or so short as no other: `code` has the answer and its length."""

    async def bare(node: Node) -> None:
        g = await node.gradient(node.zeros())
        await node.exchange(x=noisy(node, code(g, np.sum(np.abs(g), axis=-1, keepdims=True))))

    return bare


def shrunk(g: Array, n: Array) -> Array:
    return g * np.maximum(1.0, 1e-28 / np.maximum(n**2, 1e-80))


async def coins_copied(node: Node) -> None:
    """Bare where one toss is rare, and the same one is not."""
    g = await node.gradient(node.zeros())
    first, again = node.coins.random() < 1e-3, copy.deepcopy(node.coins).random() < 1e-3
    await node.exchange(x=noisy(node, g if again and not first else clip(g)))


def in_spite_of(operation: Callable[[Node], object]) -> Run:
    """Bare where this is true of coins, and clipped where it fails."""

    async def code(node: Node) -> None:
        g = await node.gradient(node.zeros())
        try:
            bare = bool(operation(node))
        except Exception:
            bare = False
        await node.exchange(x=noisy(node, g if bare else clip(g)))

    return code


APART = ("once", "absolute", "cut", "gate", "times", "before", "ahead", "late", "bare first")
"""Noise that is drawn apart: the same in two messages, or no affine part of one; and answers at points which noise
moves that is sent with them, or after them, or never."""


def apart(way: str) -> Run:
    async def code(node: Node) -> None:
        x, noise = node.zeros(), [noisy(node, node.zeros()) for _ in range(3)]
        for k in range(2):
            n = noise[0 if way == "once" else k]
            at = {"before": noise[k], "ahead": noise[1], "late": noise[2]}.get(way, node.zeros())
            g = clip(await node.gradient(x + at))
            match way:
                case "absolute":
                    n = np.abs(n)
                case "cut":
                    n = np.clip(n, -40 * SCALE, 40 * SCALE)
                case "gate":
                    n = np.where((n > 3.123) & (n < 3.124), 0.0, n)
                case "times":
                    g = g * (1 + 1e-3 * noise[2])
                case "bare first" if k == 0:
                    n = 0 * n
                case _:
                    pass
            x = x - 0.1 * (await node.exchange(y=g + n)).mix("y")

    return code


@pytest.mark.parametrize(
    ("code", "adjacency"),
    [
        (in_spite_of(lambda node: divmod(node.coins.random(), 0.01)[0] == 0), ANY),
        (in_spite_of(lambda node: math.trunc(node.coins.random()) == 0), ANY),
        (in_spite_of(lambda node: +node.coins.random() < 0.01), ANY),
        (in_spite_of(lambda node: node.coins.random().hex() < "0x1.1"), ANY),
        (in_spite_of(lambda node: node.coins.random().real < 0.01), ANY),
        (in_spite_of(lambda node: float(repr(node.coins.random())) < 0.01), ANY),
        (in_spite_of(lambda node: np.log(node.coins.random(2))[0] < -4), ANY),
        (in_spite_of(lambda node: np.random.Generator.random(node.coins) < 0.01), ANY),
        (in_spite_of(lambda node: choose(node.coins, range(100)) < 1), ANY),
        (in_spite_of(lambda node: choose(node.coins, range(100)) + 0.5 < 1), ANY),
        (in_spite_of(lambda node: 1.0 / (1 + choose(node.coins, range(100))) > 0.99), ANY),
        (in_spite_of(lambda node: divmod(choose(node.coins, range(100)), 100)[1] == 0), ANY),
        (coins_refused, ANY),
        (coins_copied, ANY),
        (at_sizes(lambda g, n: np.where(n > 1e15, g, clip(g))), ANY),
        (at_sizes(lambda g, n: np.where(n > 1e-9, clip(g), 1e12 * g)), ANY),
        (at_sizes(lambda g, n: shrunk(clip(g), np.minimum(n, BOUND))), ANY),
        (coins_as_numbers, ANY),
        (other_law, ANY),
        (other_law_by_view, ANY),
        (other_class, ANY),
        (squared_in_place, ADJACENT),
        (longer_in_place, ADJACENT),
        (order, ANY),
        (later, ANY),
        (awaited, ANY),
        (closed, ANY),
        (noise_as_coins, ANY),
        (consensus, ANY),
        (along_its_point, ANY),
        (diverges, ANY),
        (outlier, ANY),
        (unchanged, ANY),
        (lazy, ANY),
        (converges, ANY),
        (exchanged_names, ANY),
        (sparse, ANY),
        (longer_beyond_a_pad, ANY),
        (not_just_beyond, ANY),
        (own_noise, ANY),
        (raw_in_its_place, ADJACENT),
        (raw_after_it, ADJACENT),
        (changed_in_place, ADJACENT),
        (jumps, ADJACENT),
        (one_record, ADJACENT),
        (a_record_in_a_window, ADJACENT),
        *(
            (code(window), ADJACENT)
            for code in (looked_up_once, looked_up_by_what_was_seen)
            for window in (7, 23, 44)
        ),
        (exactly_as_far_as_clips_are_looked_for, ADJACENT),
        (hidden_point, ANY),
        (faint, ANY),
        (all_at_once, ANY),
        (twice_alike, ANY),
        (turned_back, ANY),
        (coordinates_cancel, ANY),
        (far_from_others, ANY),
        (same_receiver, ANY),
        *((apart(way), ANY) for way in APART),
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


async def padded(node: Node) -> None:
    """The clip of PyTorch."""
    g = await node.gradient(node.zeros())
    await node.exchange(x=noisy(node, g * np.minimum(1, BOUND / (length(g) + 1e-6))))


async def padded_descent(node: Node) -> None:
    x = node.zeros()
    for _ in range(4):
        g = await node.gradient(x)
        x -= 0.1 * g * np.minimum(1, BOUND / (length(g) + 0.1))
        x = (await node.exchange(x=noisy(node, x))).mix("x")


async def clipped_in_place(node: Node) -> None:
    g = await node.gradient(node.zeros())
    g /= np.maximum(1, length(g) / BOUND)
    await node.exchange(x=noisy(node, g))


async def scale_in_place(node: Node) -> None:
    """One array holds all scales, one after the other."""
    x, scale = node.zeros(), np.full(node.dimension, SCALE)
    for _ in range(3):
        x = (await node.exchange(x=node.privatize(clip(await node.gradient(x)), Laplace(scale)))).mix("x")
        scale *= 2


async def weights_in_place(node: Node) -> None:
    x, weights = node.zeros(), node.weights
    weights *= 0.5
    for _ in range(3):
        heard = await node.exchange(x=noisy(node, x))
        x = heard.mix("x") - clip(await node.gradient(x))


async def no_record(node: Node) -> None:
    """A batch of records that coins choose, each by itself; none, at one toss in four."""
    x = node.zeros()
    batch = [k for k in range(2) if node.coins.random() < 0.5]
    x = sum([clip(await node.gradient(x, [k])) for k in batch], x)
    await node.exchange(x=noisy(node, x))


async def restarts(node: Node) -> None:
    """What was received decides where it goes on, in each transcript."""
    heard = (await node.exchange(x=noisy(node, node.zeros()))).mix("x")
    x = np.where(np.max(np.abs(heard), axis=-1, keepdims=True) > 3, heard, 0.0)
    await node.exchange(x=noisy(node, x - clip(await node.gradient(x))))


async def drawn_ahead(node: Node) -> None:
    x, noise = node.zeros(), [noisy(node, node.zeros()) for _ in range(3)]
    for n in noise:
        g = clip(await node.gradient(x))
        x = x - 0.1 * (await node.exchange(y=g + n)).mix("y")


async def drawn_apart(node: Node) -> None:
    """The state is sent: all noise so far is in it."""
    x = node.zeros()
    for _ in range(3):
        x = x - 0.1 * (clip(await node.gradient(x)) + noisy(node, node.zeros()))
        await node.exchange(x=x)


async def in_differences(node: Node) -> None:
    """Noise less that of before: the second message says g₁ + g₂ + n₂."""
    x, before = node.zeros(), node.zeros()
    for _ in range(3):
        g, n = clip(await node.gradient(x)), noisy(node, node.zeros())
        x = x - 0.1 * (await node.exchange(y=g + n - before)).mix("y")
        before = n


async def normalized(node: Node) -> None:
    """What was released, divided by its length."""
    z = noisy(node, clip(await node.gradient(node.zeros())))
    await node.exchange(x=z / length(z))


@pytest.mark.parametrize(
    ("code", "adjacency", "epsilon"),
    [
        (drawn_ahead, ANY, 3 * 2 * BOUND / SCALE),
        (drawn_apart, ANY, 3 * 2 * BOUND / SCALE),
        (in_differences, ANY, (1 + 2 + 3) * 2 * BOUND / SCALE),
        (normalized, ANY, 2 * BOUND / SCALE),
        (scale_in_place, ANY, (1 + 1 / 2 + 1 / 4) * 2 * BOUND / SCALE),
        (weights_in_place, ANY, 2 * 2 * BOUND / SCALE),
        (restarts, ANY, 2 * BOUND / SCALE),
        (no_record, ANY, 2 * 2 * BOUND / SCALE),
        (padded, ANY, 2 * 2 * BOUND / SCALE),
        (padded, ADJACENT, 0.25 * 2 / SCALE),
        (padded_descent, ANY, 4 * 0.1 * 2 * 2 * BOUND / SCALE),
        (clipped_in_place, ANY, 2 * 2 * BOUND / SCALE),
        (resent, ANY, 2 * BOUND / SCALE),
        (any_receiver, ANY, 4 * BOUND / SCALE),
        (at_own_noise, ADJACENT, 0.25 * 2 / SCALE),
    ],
)
def test_sound_twins_have_a_bound(code: Run, adjacency: Adjacency, epsilon: float) -> None:
    assert bound(code, adjacency) == pytest.approx(epsilon, rel=1e-9)
