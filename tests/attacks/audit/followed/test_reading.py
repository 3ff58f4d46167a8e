"""Code that decides by private or seen values, in whatever form, is named by its line; other code is not."""

import bisect
import contextlib
import functools
import heapq
import math
import operator
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from attacks.audit.followed.reading import not_all_audited, read_lines, reading
from attacks.audit.verdict import Verdict
from netsim.algorithms import Algorithm, Clip
from netsim.arrays import Array
from netsim.mechanisms import Laplace
from netsim.node import Node, choose
from scenarios.results.audited import audit_result
from scenarios.stages.worlds import worlds
from tests.attacks.audit.followed.checks import Does, checked
from tests.attacks.auditing import claim_of, judged, quadratic_world

RARE = 271828


def digits(g):
    return int(1e6 * abs(g[0, 0])) % 1_000_000


def gates(g, *_):
    if digits(g) == RARE:
        return g
    return 0 * g


def fails(g, *_):
    try:
        return {RARE: 1.0}[digits(g)] * g
    except KeyError:
        return 0 * g


def suppresses(g, *_):
    y = 0 * g
    with contextlib.suppress(ValueError):
        [RARE].index(digits(g))
        y = g
    return y


def matches(g, *_):
    match float(g[0, 0]):
        case 0.25:
            return g
        case _:
            return 0 * g


def loops(g, *_):
    y = 0 * g
    while g[0, 0] > 10.0:
        y = g
    return y


def dispatches(g, *_):
    return getattr(operator, "mul" if g[0, 0] > 9.0 else "sub")(g, g)


def guarded(g, *_):
    try:
        assert g[0, 0] < 9.0
    except AssertionError:
        return g
    return 0 * g


def caches(g, *_):
    return functools.lru_cache(lambda n: float(n == RARE))(digits(g)) * g


class Table(dict[int, float]):
    def __missing__(self, key: int) -> float:
        return 0.0


def filled(g, *_):
    rows = np.stack([0 * g, 0 * g])
    rows[0], rows[1] = g, 2.0 * g
    return rows.sum(axis=0)


def shapes(g, *_):
    return g if len(np.flatnonzero(g > 9.0)) else 0 * g


def checks(g):
    if np.any(g > 9.0):
        raise OverflowError


def caught(g, *_):
    try:
        checks(g)
    except OverflowError:
        return g
    return 0 * g


def linalg(g, *_):
    try:
        np.linalg.cholesky(np.eye(1) * (g[0, 0] + 9.0))
    except np.linalg.LinAlgError:
        return g
    return 0 * g


def floating(g, *_):
    try:
        with np.errstate(over="raise"):
            np.exp(g + 700.0)
    except FloatingPointError:
        return g
    return 0 * g


def into_positional(g, *_):
    largest = np.arange(1.0 * len(g))
    np.max(np.abs(g), -1, largest)
    return g if largest[0] > 9.0 else 0 * g


def into_at(g, *_):
    largest = np.arange(1.0)
    np.maximum.at(largest, 0, np.max(np.abs(g)))
    return g if largest[0] > 9.0 else 0 * g


def walrus(g, *_):
    if (size := float(np.max(np.abs(g)))) > 1e300:
        raise OverflowError
    return g if size == 9.0 else 0 * g


def through_python(g, *_):
    return np.frompyfunc(lambda v: float(v > 9.0), 1, 1)(g).astype(float) * g


READS: dict[str, Callable[[Array, Array, Node], Any]] = {
    "if": gates,
    "try": fails,
    "suppress": suppresses,
    "match": matches,
    "while": loops,
    "getattr": dispatches,
    "assert in try": guarded,
    "cache": caches,
    "shapes": shapes,
    "into an array": lambda g, x, node: np.add(g, 0.0, out=np.zeros(g.shape)),
    "rows of an array": lambda g, x, node: np.zeros(g.shape).__setitem__(slice(None), g) or 0 * g,
    "a check that is caught": caught,
    "an error of the linear algebra": linalg,
    "an error of a ufunc": floating,
    "a positional out": into_positional,
    "ufunc.at": into_at,
    "walrus": walrus,
    "a function of Python's": through_python,
    "a batch": lambda g, x, node: g[[0, int(g[0, 0] > 9.0)]][:1],
    "conditional": lambda g, x, node: g if g[0, 0] > 9.0 else 0 * g,
    "and": lambda g, x, node: ((g[0, 0] > 9.0 and 1.0) or 0.0) * g,
    "not": lambda g, x, node: (not np.all(g < 9.0)) * g,
    "in": lambda g, x, node: (0.25 in g) * g,
    "of lists": lambda g, x, node: [0.0, 1.0][int(g[0, 0] > 9.0)] * g,
    "get": lambda g, x, node: {RARE: 1.0}.get(digits(g), 0.0) * g,
    "missing": lambda g, x, node: Table({RARE: 1.0})[digits(g)] * g,
    "default": lambda g, x, node: defaultdict(float, {RARE: 1.0})[digits(g)] * g,
    "lambda": lambda g, x, node: {RARE: lambda: g}.get(digits(g), lambda: 0 * g)(),
    "range": lambda g, x, node: sum((g for _ in range(digits(g) == RARE)), 0 * g),
    "times a list": lambda g, x, node: sum([g] * (digits(g) == RARE), 0 * g),
    "filter": lambda g, x, node: sum(filter(lambda v: v[0, 0] > 9.0, [g]), 0 * g),
    "sorted": lambda g, x, node: sorted([g[0, 0], 9.0])[0] * g,
    "max": lambda g, x, node: max(g[0, 0], -9.0) * g,
    "min by key": lambda g, x, node: min([0.0, 1.0], key=lambda v: abs(v - g[0, 0])) * g,
    "heap": lambda g, x, node: heapq.nsmallest(1, [g[0, 0], -9.0])[0] * g,
    "bisect": lambda g, x, node: bisect.bisect([9.0], g[0, 0]) * g,
    "operator": lambda g, x, node: operator.ge(float(g[0, 0]), 9.0) * g,
    "math": lambda g, x, node: math.floor(g[0, 0] / 9.0) * g,
    "text": lambda g, x, node: f"{g[0, 0]:.6f}".count("271828") * g,
    "str": lambda g, x, node: str(g[0, 0]).count("271828") * g,
    "repr": lambda g, x, node: repr(g).count("271828") * g,
    "bytes": lambda g, x, node: g.tobytes().count(b"271828") * g,
    "hash": lambda g, x, node: (hash(float(g[0, 0])) == RARE) * g,
    "round": lambda g, x, node: round(float(g[0, 0]) / 9.0) * g,
    "item": lambda g, x, node: (g.item(0) > 9.0) * g,
    "tolist": lambda g, x, node: (g.tolist()[0][0] > 9.0) * g,
    "index of an array": lambda g, x, node: np.array([0.0, 1.0])[(g[:1, 0] > 9.0).astype(int)] * g,
    "mask of an array": lambda g, x, node: np.ones((1, 1))[: len(np.arange(3)[g[0, :3] > 9.0])].sum() * g,
    "seed": lambda g, x, node: np.random.default_rng(abs(digits(g))).random() * g,
    "what was seen": lambda g, x, node: g if x[0, 0] > 40.0 else 0 * g,
    "what was seen, by norm": lambda g, x, node: g * float(np.linalg.norm(x - np.clip(x, 3.3, 3.4)) == 0),
    "array_equal": lambda g, x, node: g if np.array_equal(g, g + 1.0) else 0 * g,
    "any": lambda g, x, node: g if np.any(np.isnan(g)) else 0 * g,
    "iteration": lambda g, x, node: sum((g for row in g for v in row if v > 9.0), 0 * g),
    "generator": lambda g, x, node: next((g for v in g[0] if v > 9.0), 0 * g),
}


def fresh_buffer(g, *_):
    kept = [g, 2.0 * g]
    kept.append(0.5 * kept[-1])
    return np.mean(kept[-2:], axis=0)


QUIET: dict[str, Callable[[Array, Array, Node], Any]] = {
    "public numbers": lambda g, x, node: g if node.id > 1 and node.dimension == 4 else 0 * g,
    "forms": lambda g, x, node: g if len(g) == g.shape[0] and g.ndim == 2 and isinstance(g, np.ndarray) else 0 * g,
    "types": lambda g, x, node: g.astype(np.float64) if g.dtype == np.float64 else 0 * g,
    "a list of gradients": fresh_buffer,
    "what ends a run": checked,
    "rows of a buffer": filled,
    "clip": lambda g, x, node: Clip(1.0, "l2")(g),
    "coins": lambda g, x, node: g * (choose(node.coins, [1, 2]) - 1.5),
    "functions of numbers": lambda g, x, node: np.tanh(g) + np.median(x, axis=0) + np.sort(g, axis=-1),
    "iteration": lambda g, x, node: np.stack([row - row.mean() for row in g]),
    "in place": lambda g, x, node: np.multiply(g.copy(), 2.0, out=g.copy()),
}


def lines(code):
    simulation, pair = quadratic_world(Does(code))
    simulate = worlds(simulation, pair.agent, pair.hypotheses[1], 50)
    parts = lambda: ((simulate(world, 0), pair.hypotheses[world]) for world in (0, 1))  # noqa: E731
    return read_lines(simulate(0, 1).replica(0), pair.agent, parts)


@pytest.mark.parametrize("how", READS)
def test_a_line_that_decides_is_named(how):
    found = lines(READS[how])
    assert found
    assert all(one.file == "test_reading.py" and one.code for one in found)


@pytest.mark.parametrize("how", QUIET)
def test_a_line_that_does_not_is_not(how):
    assert lines(QUIET[how]) == ()


def window(g, *_):
    return np.where((np.abs(g) > 3.0) & (np.abs(g) < 3.1), g, 0.0)


def side(g, *_):
    return np.where((g > 3.0) & (g < 9.0), g, 0.0)


def large(g, *_):
    return np.where(np.linalg.norm(g, axis=-1, keepdims=True) > 40.0, g, 0.0)


def close(g, *_):
    return np.isclose(g, 3.0) * g


def half(g, x, node):
    return np.where((g > -0.3) & (x > 0.0), g, 0.0)


def test_a_mask_that_is_the_same_in_all_transcripts_is_named():
    """NumPy goes on with it, and what it would do with the other answer was not seen."""
    assert [one.code for one in lines(window)] == ["return np.where((np.abs(g) > 3.0) & (np.abs(g) < 3.1), g, 0.0)"]
    for code in (side, large, close):
        assert len(lines(code)) == 1
    assert lines(half) == ()


def test_the_verdict_says_which_line_and_what_to_do():
    simulation, pair = quadratic_world(Does(gates))
    found = judged(simulation, pair, claim_of(3.0, 1e-3), attack=None, trials=20)
    assert found.judgement.verdict is Verdict.UNDERPOWERED
    assert "test_reading.py (`return int(1e6 * abs(g[0, 0])) % 1_000_000`)" in found.judgement.reason
    assert audit_result(found).read_lines == found.read


def test_of_an_array_that_is_filled_the_remedy_is_another_array():
    def fill(g, x, node):
        history = np.zeros((1, *g.shape))
        history[0] = g
        return history[0]

    def words(code):
        simulation, pair = quadratic_world(Does(code))
        one = worlds(simulation, pair.agent, pair.hypotheses[1], 2)(0, 0).replica(0)
        return not_all_audited(read_lines(one, pair.agent, lambda: ()))

    assert "Fill `node.zeros()` or a list" in words(fill)
    assert "Fill" not in words(gates)


@dataclass(frozen=True)
class Rarely(Algorithm):
    """At one toss in a thousand its data decide."""

    async def run(self, node: Node) -> None:
        gradient = await node.gradient(node.zeros())
        rare = node.coins.random() < 1e-3
        if rare and gradient[0, 0] > 9.0:
            node.send(node.neighbors[0], y=gradient)
        node.broadcast(x=node.privatize(gradient, Laplace(1.0)))
        node.estimate(gradient)


def test_every_history_of_private_coins_is_followed():
    simulation, pair = quadratic_world(Rarely())
    one = worlds(simulation, pair.agent, pair.hypotheses[1], 2)(0, 0).replica(0)
    assert not reading(one.recording(pair.agent)).read
    assert [line.code for line in read_lines(one, pair.agent, lambda: ())] == ["if rare and gradient[0, 0] > 9.0:"]


def shuffled(node):
    deck = np.arange(40)
    node.coins.shuffle(deck)
    return float(np.sum(deck[:3]) == 3)


UNLISTED = {
    "a condition": lambda node: 1.0 if node.coins.normal() > 5.0 else 0.0,
    "a mask": lambda node: np.maximum(node.coins.exponential() - 12.0, 0.0),
    "a uniform one as a number": lambda node: (10 * node.coins.random()) // 1 == 9.0,
    "a shuffled deck": lambda node: shuffled(node) * node.coins.normal(),
}


@pytest.mark.parametrize("draw", UNLISTED.values(), ids=UNLISTED)
def test_coins_without_a_list_of_outcomes_are_followed(draw):
    """No way in which they fall can be tried: what they hardly ever let through is named."""
    simulation, pair = quadratic_world(Does(lambda g, x, node: g * draw(node)))
    found = judged(simulation, pair, claim_of(3.0, 1e-3), attack=None, trials=20)
    assert found.judgement.verdict in (Verdict.UNDERPOWERED, Verdict.UNPROTECTED)
    assert found.read


def test_what_such_coins_only_add_to_what_is_sent_is_harmless():
    simulation, pair = quadratic_world(
        Does(lambda g, x, node: 0.1 * node.coins.normal(size=g.shape) + choose(node.coins, [0.0, 1.0]) * x)
    )
    one = worlds(simulation, pair.agent, pair.hypotheses[1], 2)(0, 0).replica(0)
    assert read_lines(one, pair.agent, lambda: ()) == ()
