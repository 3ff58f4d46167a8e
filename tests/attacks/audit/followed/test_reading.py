"""Code that decides by private or seen values, in whatever form, is named by its line; other code is not."""

import bisect
import contextlib
import copy
import functools
import heapq
import math
import operator
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.special import expit

from attacks.audit.followed.arrays import Followed
from attacks.audit.followed.reading import not_all_audited, read_lines, reading
from attacks.audit.followed.seen_coins import SeenCoins
from attacks.audit.verdict import Verdict
from netsim.algorithms import Algorithm, Clip
from netsim.arrays import Array
from netsim.mechanisms import Gaussian, Laplace
from netsim.node import Node, choose, subset
from netsim.problems import Surrounded
from scenarios.results.audited import audit_result
from scenarios.stages.worlds import holding, worlds
from tests.attacks.audit.followed.checks import Does, checked, largest
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


def rows_at(g, row):
    rows = np.zeros_like(np.stack([g, g]))
    rows[row] = g
    return rows[0]


def places_at(g, places):
    found = np.zeros_like(g)
    np.put_along_axis(found, places, g, axis=-1)
    return found


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


def moved_by_sort(g):
    return 9e9 * (np.sort(g) - g)


def raised_by(function):
    def raised(g, *_):
        try:
            with np.errstate(all="raise"):
                function(1e200 * g)
        except FloatingPointError:
            return g
        return 0 * g

    return raised


def warned(g, *_):
    with warnings.catch_warnings(record=True) as seen:
        np.exp(g + 700.0)
    return g if seen else 0 * g


def warned_as_an_error(g, *_):
    with warnings.catch_warnings(), contextlib.suppress(RuntimeWarning):
        warnings.simplefilter("error")
        np.exp(g + 700.0)
        return 0 * g
    return g


def set_to(how):
    def sets(g, *_):
        with np.errstate(over=how):
            np.exp(g + 700.0)
        return 0 * g

    return sets


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


def returns_before(g, x, node):
    if np.max(np.abs(g)) > 9.0:
        if node.dimension:
            return g
        raise OverflowError
    return 0 * g


def beside_an_assert(g, x, node):
    assert node.dimension; y = g if np.max(np.abs(g)) > 9.0 else 0 * g  # fmt: skip # noqa: E702
    return y  # noqa: RET504


@dataclass
class Ends:
    """Iteration that ends, and an attribute that is missing, where a gradient is large."""

    g: Array
    left: int = 2

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left or np.max(np.abs(self.g)) > 9.0:
            raise StopIteration
        self.left -= 1
        return 1.0

    @property
    def small(self):
        if np.max(np.abs(self.g)) > 9.0:
            raise AttributeError
        return True


def kept_by_an_assert(g, *_):
    kept = defaultdict(float)
    assert kept[float(np.max(np.abs(g)))] == 0
    return g if max(kept) > 9.0 else 0 * g


def written_by_an_assert(g, *_):
    largest = np.arange(1.0 * len(g))
    assert np.all(np.isfinite(np.max(np.abs(g), axis=-1, out=largest)))
    return g if largest[0] > 9.0 else 0 * g


def left_by_finally(g, *_):
    for y in (0 * g, g):
        try:
            assert np.max(np.abs(g)) > 9.0
        finally:
            continue  # noqa: B012
        return y
    return 0 * g


def put(g, x, node):
    flag = np.zeros_like(node.zeros())
    flag.put(0, 1.0)
    return g if flag[0, 0] and digits(g) == RARE else 0 * g


def buffered(g, *_):
    try:
        numbers = memoryview(g)
    except TypeError:
        return 0 * g
    return g if numbers[0, 0] > 9.0 else 0 * g


def through_python(g, *_):
    return np.frompyfunc(lambda v: float(v > 9.0), 1, 1)(g).astype(float) * g


def hit(g):
    """1 where its first number is one of a million, else 0."""
    return np.maximum(1.0 - np.abs(np.floor(1e6 * np.abs(g[:, :1])) - RARE), 0.0).astype(int)


def caught_by(call):
    def code(g, *_):
        try:
            call(hit(g), np.zeros_like(g))
        except (ValueError, IndexError, ArithmeticError, np.linalg.LinAlgError):
            return g
        return 0 * g

    return code


def aliased(g, *_):
    kept = np.zeros(g.shape)
    np.broadcast_arrays(kept, g)[0][...] += g
    return kept[0, 0]


def mirrored(g, ours):
    plain = ours.mT
    ours += g
    return plain[0, 0] * g


def escaped(g, x, node):
    ours = node.zeros()
    plain = AS_ARRAY(ours)
    ours += g
    return plain[0, 0]


class Two(NamedTuple):
    one: Array
    other: Array


class Spy:
    def __radd__(self, number):
        self.number = number
        return 0.0


def spied(g, *_):
    spy = Spy()
    g + spy
    return spy.number


def multiplied_at(g, factor):
    np.multiply.at(g, np.arange(len(g)), factor)
    return g


AS_ARRAY = np.asarray
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
    "an error of a sum": raised_by(np.sum),
    "an error of a norm": raised_by(np.linalg.norm),
    "an error of another dtype": raised_by(lambda g: g.astype(np.float32)),
    "an error of a list": raised_by(lambda g: np.array([g], dtype=np.float32)),
    "an error of what is written": raised_by(lambda g: g.astype(int).astype(np.float32).__setitem__(..., g)),
    "a difference that is none": lambda g, x, node: moved_by_sort(g + 1e6 * np.arange(4)),
    "a factor that was seen": lambda g, x, node: g / (1.0 + np.abs(x)),
    "a bound that was seen": lambda g, x, node: np.clip(g, -np.abs(x), np.abs(x)),
    "a bound that was seen, by where": lambda g, x, node: np.where(g > 0 * x, 0 * x, g),
    "a factor that was seen, at places": lambda g, x, node: multiplied_at(g + 0.0, np.abs(x)),
    "a weight that was seen": lambda g, x, node: np.einsum("rd,re->rd", g, x),
    "a matrix that was seen": lambda g, x, node: np.linalg.solve(
        (1.0 + np.abs(x))[..., None] * np.eye(4), g[..., None]
    )[..., 0],
    "a filter that was seen": lambda g, x, node: np.convolve(g[0], 1.0 + np.abs(x[0]), "same"),
    "steps at a distance that was seen": lambda g, x, node: np.interp(g, np.sort(x[0]), np.arange(4.0)),
    "one of two, by what was seen": lambda g, x, node: np.take_along_axis(
        np.stack([g, 9.0 * g], axis=-1), np.digitize(x, [5.0])[..., None], axis=-1
    )[..., 0],
    "rows by what was seen": lambda g, x, node: np.stack([g, 9.0 * g])[np.digitize(x[0, 0], [5.0])],
    "rows that are written by what was seen": lambda g, x, node: rows_at(g, np.digitize(x[0, 0], [5.0])),
    "places by what was seen": lambda g, x, node: places_at(g, np.argsort(x, axis=-1)),
    "a product of an array": lambda g, x, node: np.prod(np.stack([g, 1.0 + np.abs(x)]), axis=0),
    "a reduced product": lambda g, x, node: np.multiply.reduce(np.stack([g, 1.0 + np.abs(x)]), axis=0),
    "a warning": warned,
    "a warning that is an error": warned_as_an_error,
    **{f"errors that {how}": set_to(how) for how in ("warn", "print", "log")},
    "a positional out": into_positional,
    "a draw": lambda g, x, node: node.privatize(0 * g, Gaussian(1.0), None, np.sum(g[:1, 0]) // 9),
    "ufunc.at": into_at,
    "walrus": walrus,
    "a return before the error": returns_before,
    "a line with an assert": beside_an_assert,
    "the end of an iteration": lambda g, x, node: sum(Ends(g)) * g,
    "hasattr": lambda g, x, node: hasattr(Ends(g), "small") * g,
    "a table in an assert": kept_by_an_assert,
    "an out in an assert": written_by_an_assert,
    "an error that a finally drops": left_by_finally,
    "a public array in place": put,
    "a buffer": buffered,
    "a type": lambda g, x, node: g if isinstance(g[0, 0], float) and digits(g) == RARE else 0 * g,
    "a class": lambda g, x, node: g if type(g) is np.ndarray and digits(g) == RARE else 0 * g,
    "a scalar": lambda g, x, node: g if np.isscalar(g[0, 0]) and digits(g) == RARE else 0 * g,
    "an identity": lambda g, x, node: g if np.asarray(g) is g and digits(g) == RARE else 0 * g,
    "a function of Python's": through_python,
    "how many": lambda g, x, node: g * len(np.where(g > 9.0)[0]),
    "repeats": lambda g, x, node: g * len(np.repeat(g, repeats=1 + hit(g)[:, 0], axis=0)),
    "how often": lambda g, x, node: g * np.diff(g, n=int(node.id > 5) + hit(g)[0, 0]).shape[1],
    "a size by name": lambda g, x, node: g * np.ones_like(g, shape=(1 + hit(g)[0, 0],)).size,
    "as many as there are": lambda g, x, node: g * np.pad(g, pad_width=hit(g)[0, 0]).size,
    "an index": caught_by(lambda k, z: z[0, 99 * k]),
    "a written index": caught_by(lambda k, z: z.__setitem__((0, 99 * k), 1.0)),
    "take": caught_by(lambda k, z: np.take(z, indices=99 * k)),
    "take_along_axis": caught_by(lambda k, z: np.take_along_axis(z, 99 * k, axis=1)),
    "singular": caught_by(lambda k, z: np.linalg.solve(np.eye(len(z)) * (1 - k), z)),
    "a power": caught_by(lambda k, z: np.power(2, -k)),
    "reduceat": caught_by(lambda k, z: np.add.reduceat(z[0], 99 * k[0])),
    "percentile": caught_by(lambda k, z: np.percentile(z, q=999 * k)),
    "bins": caught_by(lambda k, z: np.digitize(z, bins=[1.0, 2.0 - 9 * k[0, 0]])),
    "a level of sign": lambda g, x, node: g * np.sign(np.abs(g) - 40.0),
    "a level of heaviside": lambda g, x, node: g * np.heaviside(np.abs(g) - 40.0, 0.0),
    "a hinge": lambda g, x, node: g * np.maximum(np.sum(g**3, axis=-1, keepdims=True) - 1e6, 0.0),
    "floor": lambda g, x, node: g * np.floor(np.abs(g) / 40.0),
    "//": lambda g, x, node: g * (np.abs(g) // 40.0),
    "interp": lambda g, x, node: g * np.interp(np.abs(g), [0.0, 40.0, 41.0], [0.0, 0.0, 1e3]),
    "searchsorted": lambda g, x, node: g * np.searchsorted([40.0], np.abs(g[0])),
    "which is least": lambda g, x, node: g * np.argmin(np.abs(np.stack([g, 0 * g + 40.0])), axis=0),
    "a narrow bump": lambda g, x, node: g * np.exp(-((np.abs(g) - 40.0) ** 2)),
    "a steep power": lambda g, x, node: g * (np.abs(g) / 40.0) ** 99,
    "a sigmoid": lambda g, x, node: g * expit(9.0 * (np.abs(g) - 40.0)),
    "a short number": lambda g, x, node: g * (np.abs(g) / 40.0).astype(np.int8),
    "a mask of whole numbers": lambda g, x, node: g * (g > 40.0).astype(int),
    "a mask in a buffer": lambda g, x, node: g * np.multiply(node.zeros().__setitem__(..., g > 40.0) or 1.0, g),
    "a mask of what is written": lambda g, x, node: node.zeros().__setitem__(g > 40.0, 1e3) or 0 * g,
    "putmask": lambda g, x, node: np.putmask(node.zeros(), g > 40.0, 1e3) or 0 * g,
    "copyto where": lambda g, x, node: np.copyto(node.zeros(), 1e3, where=g > 40.0) or 0 * g,
    "where": lambda g, x, node: np.add(g, 1e3, out=node.zeros(), where=g > 40.0),
    "compared into a buffer": lambda g, x, node: np.greater(g, 40.0, out=node.zeros(), casting="unsafe") * g,
    "a mask of some": lambda g, x, node: np.where((g > 40.0)[:, :1], g, 0.0),
    "no number": lambda g, x, node: g * np.isnan(np.sqrt(g**3 + 1e6)),
    "logical not": lambda g, x, node: g * np.logical_not(np.floor(np.abs(g) / 40.0)),
    "all of some masks": lambda g, x, node: g * np.logical_and.reduce(np.array([g > 3.0, g < 3.1])),
    "pairs of numbers": lambda g, x, node: g * np.less.outer(g, g - 40.0)[0, 0],
    "a product of masks": lambda g, x, node: g * ((g > 3.0) * (g < 3.1)),
    "a sum of masks": lambda g, x, node: g * (np.sum([g > 3.0, g < 3.1], axis=0) - 1.0),
    "the truth of numbers": lambda g, x, node: np.where(np.maximum(g - 40.0, 0.0), g, 0.0),
    "the truth of numbers, as a mask": lambda g, x, node: np.maximum(g - 40.0, 0.0).astype(bool) * g,
    "a level of a size": lambda g, x, node: g * (np.clip(np.abs(g).max(axis=-1, keepdims=True) / 40, 1.0, 2.0) - 1.0),
    "an alias by a method": lambda g, x, node: mirrored(g, node.zeros()),
    "an alias": aliased,
    "an array that is not followed": escaped,
    "somebody's object": spied,
    "objects": lambda g, x, node: g * hit(g).astype(str).astype("S").itemsize,
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


@contextlib.contextmanager
def timed():
    yield


def without_warnings(g, *_):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return g / np.maximum(1.0, np.linalg.norm(g, axis=-1, keepdims=True))


def in_error_state(g, *_):
    with np.errstate(all="raise"):
        return Clip(1.0)(g)


def in_a_block(g, *_):
    y = 0 * g
    with timed(), np.errstate(over="ignore"):
        assert np.all(np.isfinite(g))
    try:
        if float(np.max(np.abs(g))) > 1e30:
            raise OverflowError(f"it diverges: {g[0]}")
    finally:
        y += 0.0
    return y


def fresh_buffer(g, *_):
    kept = [g, 2.0 * g]
    kept.append(0.5 * kept[-1])
    return np.mean(kept[-2:], axis=0)


QUIET: dict[str, Callable[[Array, Array, Node], Any]] = {
    "what was seen beside it": lambda g, x, node: (
        np.concatenate([np.tanh(g), x])[:1] + np.where(x > 0, np.tanh(g), x)
    ),
    "public numbers": lambda g, x, node: g if node.id > 1 and node.dimension == 4 else 0 * g,
    "forms": lambda g, x, node: g if len(g) == g.shape[0] and g.ndim == 2 and isinstance(g, np.ndarray) else 0 * g,
    "types": lambda g, x, node: g.astype(np.float64) if g.dtype == np.float64 else 0 * g,
    "a list of gradients": fresh_buffer,
    "what ends a run": checked,
    "warnings that are not shown": without_warnings,
    "what ends a run, in a block that catches nothing": in_a_block,
    "rows of a buffer": filled,
    "clip": lambda g, x, node: Clip(1.0, "l2")(g),
    "coins": lambda g, x, node: g * (choose(node.coins, [1, 2]) - 1.5),
    "functions of numbers": lambda g, x, node: np.tanh(g) + np.median(x, axis=0) + np.sort(g, axis=-1),
    "iteration": lambda g, x, node: np.stack([row - row.mean() for row in g]),
    "in place": lambda g, x, node: np.multiply(g.copy(), 2.0, out=g.copy()),
    "the largest of noisy numbers": largest,
    "levels that are reached": lambda g, x, node: np.round(9.0 * g) + np.tanh(g) + np.median(g),
    "slices and ranges": lambda g, x, node: (
        np.split(np.delete(np.add(g[0], range(4)), slice(0, 0)), range(1, 2))[0][0] + x
    ),
    "lists with names": lambda g, x, node: np.sum(np.stack(Two(g, x)), axis=0),
    "of public numbers": lambda g, x, node: g * np.linalg.eigh(np.eye(4) + node.zeros()[0]).eigenvalues,
    "what is never 0": lambda g, x, node: g * np.exp(-0.1 * g**2) / (1 + np.abs(np.sin(g))),
    "an error that ends the run": in_error_state,
    "what no array has": lambda g, x, node: getattr(g, "value", g) + getattr(g, "kind", 0.0),
    "quotient and rest": lambda g, x, node: np.divmod(x, 0.1, out=(node.zeros(), None))[1],
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


def test_values_that_tell_followed_numbers_from_plain_ones_are_named():
    """No line that a run would not pass is passed, and something else is sent."""
    found = lines(lambda g, x, node: [g, 2.0 * g][type(g) is np.ndarray])
    assert [one.line for one in found] == [0]
    assert "tells a followed value from an array" in str(found[0])


@dataclass(frozen=True)
class Ascends(Algorithm):
    """Climbs until the gradient is large, which a random one never is."""

    async def run(self, node: Node) -> None:
        x, gradient = node.zeros(), await node.gradient(node.zeros())
        while np.max(np.abs(gradient)) < 1e3:
            x = x + 1.0 + gradient
            gradient = await node.gradient(x)
        node.broadcast(x=node.privatize(x, Laplace(1.0)))
        node.estimate(x)


@pytest.mark.parametrize("how", ["numpy", "warnings"])
def test_what_a_module_has_set_of_errors_is_read(how):
    def code(g, *_):
        with contextlib.suppress(FloatingPointError, RuntimeWarning):
            np.sum(1e200 * g)
        return g

    with warnings.catch_warnings(), np.errstate(divide="raise" if how == "numpy" else "warn"):
        if how == "warnings":
            warnings.simplefilter("error")
        assert lines(code)
    assert lines(code) == ()


def test_a_loop_that_random_answers_never_end_is_read_for_a_while(monkeypatch):
    monkeypatch.setattr("attacks.audit.followed.reading._QUERIES", 16)
    simulation, pair = quadratic_world(Ascends())
    one = worlds(simulation, pair.agent, pair.hypotheses[1], 2)(0, 0).replica(0)
    found = reading(one.recording(pair.agent))
    assert [line.code for line in found.read] == ["while np.max(np.abs(gradient)) < 1e3:"]


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


@dataclass(frozen=True)
class OfOneRecord(Algorithm):
    """What a code makes of a secret record's gradient."""

    code: Callable[[Array], Array]

    async def run(self, node: Node) -> None:
        g = await node.gradient(node.zeros(), [choose(node.coins, range(node.records))])
        node.broadcast(x=node.privatize(node.zeros() + self.code(g), Laplace(1.0)))


@dataclass(frozen=True)
class OfOneRecordAndNoise(Algorithm):
    """More of a secret record's gradient where much was received."""

    code: Callable[[Array], Array]

    async def run(self, node: Node) -> None:
        s = (await node.exchange(x=node.privatize(node.zeros(), Laplace(1.0)))).mix("x")
        g = await node.gradient(node.zeros(), [choose(node.coins, range(node.records))])
        node.broadcast(x=node.privatize(self.code(g, s), Laplace(1.0)))


@dataclass(frozen=True)
class OfTwoAnswers(Algorithm):
    """What a code makes of two gradients of a secret record."""

    code: Callable[[Array, Array], Array]

    async def run(self, node: Node) -> None:
        k = choose(node.coins, range(node.records))
        g, h = [await node.gradient(node.zeros() + x, [k]) for x in (0.0, 1.0)]
        node.broadcast(x=node.privatize(self.code(g, h), Laplace(1.0)))


def lines_where_all_is_far(code, share, algorithm=OfOneRecord):
    """One record is far out on either side, and all others on one, by such a share; both worlds' coins chose one of
    these."""
    simulation, pair = quadratic_world(algorithm(code))
    own, far = pair.hypotheses[0], np.full(4, 1e12)
    record = (int(choose(np.random.default_rng(0), range(4))) + 1) % 4
    others = np.where(np.arange(4)[:, None] == record, 0.0, 4 * share * far)
    there = [Surrounded(own, side * far, record=record, others=others) for side in (-1, 1)]
    simulate = worlds(holding(simulation, pair.agent, there[0]), pair.agent, there[1], 5)
    one = replace(simulate(0, 1).replica(0), coins=lambda: np.random.default_rng(0))
    both = [(replace(simulate(w, 0), coins=one.coins), there[w]) for w in (0, 1)]
    return read_lines(one, pair.agent, lambda: both)


def scaled_to_its_length(g):
    norm = np.linalg.norm(g, ord=1, axis=-1, keepdims=True)
    return g * np.minimum(norm, 1.0) / np.maximum(norm, 1e-12)


@pytest.mark.parametrize(
    "code",
    [
        np.tanh,
        np.sign,
        lambda g: np.clip(g @ np.ones((4, 1)), -1, 1),
        lambda g: Clip(1.0, "l1")(g.astype(np.float32)),
        lambda g: np.sign(g) * np.maximum(np.abs(np.clip(g, -1, 1)) - 0.1, 0.0),
        lambda g: np.where(np.abs(g) <= 1.0, g, np.sign(g)),
        scaled_to_its_length,
    ],
)
@pytest.mark.parametrize("share", [0.01, 1.0])
def test_what_is_level_far_out_is_not_named_where_a_toss_shows_both_ends(code, share):
    """The transcripts, all of one toss, are about records that are the same in both worlds; sizes may be equal."""
    assert lines_where_all_is_far(code, share) == ()


def by_a_table(g):
    """The first time the comparison opens at smaller answers."""
    found = np.clip(g, -1, 1)
    for middle, width, factor in ((0.0, 0.05, 0.5), (0.3, 1e-7, 20.0)):
        found = np.where(np.abs(np.abs(g) - middle) < width, factor * found, found)
    return found


def near(g, middle, width):
    return np.abs(np.abs(g) - middle) < width


def by_a_helper(g):
    found = np.clip(g, -1, 1)
    return np.where(near(g, 0.3, 1e-7), 20.0, np.where(near(g, 0.0, 0.05), 0.5 * found, found))


@pytest.mark.parametrize(
    "code",
    [
        lambda g: np.where((np.abs(g) > 3.0) & (np.abs(g) < 3.1), g, 0.0),
        lambda g: g * np.where(np.linalg.norm(g, axis=-1, keepdims=True) > 9.0, 1.0, 50.0),
        lambda g: np.tanh(np.abs(g)) * np.sign(np.abs(g) - 9.0),
        lambda g: g if g[0, 0] > 9.0 else 50 * g,
        lambda g: np.exp(-np.abs(g)),
        lambda g: np.where(np.abs(g) <= 1.0, 50 * g, np.sign(g)),
        lambda g: np.where(np.abs(g) > 3.0, np.where(np.abs(g) < 3.1, 50.0, np.sign(g)), np.clip(g, -1, 1)),
        lambda g: np.where(np.abs(g) > 3.0, np.where(np.abs(g) < 3.0001, -1.0, np.sign(g)), np.clip(g, -1, 1)),
        lambda g: np.where(np.abs(g) > 1e13, 50.0, np.clip(g, -1, 1)),
        by_a_table,
        by_a_helper,
    ],
)
@pytest.mark.parametrize("share", [0.01, 1.0])
def test_what_is_level_at_every_toss_is_named(code, share):
    assert lines_where_all_is_far(code, share)


@pytest.mark.parametrize(
    "code",
    [
        lambda g, h: np.where(np.abs(g) < 0.1, 4.0 * np.clip(h, -1, 1), np.clip(h, -1, 1)),
        lambda g, h: np.where(np.abs(g) > 0.1, np.sign(g), 3.0 * np.clip(h, -1, 1)),
    ],
)
@pytest.mark.parametrize("share", [0.01, 1.0])
def test_what_opens_where_one_answer_is_small_and_another_one_large_is_named(code, share):
    assert lines_where_all_is_far(code, share, OfTwoAnswers)


def test_what_was_seen_may_weigh_what_is_private_where_it_is_nearer():
    def weighed(g, s):
        return np.where(np.abs(g) < 1.0, g * (1 + np.maximum(s - 30.0, 0.0)), np.sign(g))

    def plain(g, s):
        return np.where(np.abs(g) < 1.0, g, np.sign(g)) + s

    assert lines_where_all_is_far(weighed, 0.01, OfOneRecordAndNoise)
    assert lines_where_all_is_far(plain, 0.01, OfOneRecordAndNoise) == ()


def test_the_verdict_says_which_line_and_what_to_do():
    simulation, pair = quadratic_world(Does(gates))
    found = judged(simulation, pair, claim_of(3.0, 1e-3), attack=None, trials=20)
    assert found.judgement.verdict is Verdict.UNDERPOWERED
    assert "test_reading.py (`return int(1e6 * abs(g[0, 0])) % 1_000_000`)" in found.judgement.reason
    assert audit_result(found).read_lines == found.read


def fill(g, x, node):
    history = np.zeros((1, *g.shape))
    history[0] = g
    return history[0]


def divides(g, x, node):
    g = g + 0.0
    g[g > 1.0] /= 2.0
    return g


def bare(g, x, node):
    if choose(node.coins, range(8)) == 7 and choose(node.coins, range(8)) == 7:
        node.broadcast(z=g)
    return x


FEWER = "256 histories at most"
REMEDIES = (
    "Fill `node.zeros()` or a list",
    "Hand on",
    FEWER,
    "came out alike",
    "np.where(mask, g / n, g)",
    "Let what weighs",
)


@pytest.mark.parametrize(
    ("code", "remedies"),
    [
        (fill, ["Fill `node.zeros()` or a list"]),
        (gates, []),
        (lambda g, x, node: g * (node.coins.integers(9_999) == 7), ["Hand on", FEWER, "Let what weighs"]),
        (bare, ["Hand on"]),
        (lambda g, x, node: g * np.where(np.linalg.norm(g) > 1e9, 50.0, 1.0), ["came out alike"]),
        (divides, ["np.where(mask, g / n, g)"]),
        (lambda g, x, node: np.where(g > 0 * x, 0 * x, g), ["Let what weighs"]),
    ],
)
def test_the_remedies_are_for_how_a_line_reads(code, remedies):
    simulation, pair = quadratic_world(Does(code))
    one = worlds(simulation, pair.agent, pair.hypotheses[1], 2)(0, 0).replica(0)
    words = not_all_audited(read_lines(one, pair.agent, lambda: ()))
    assert [each for each in REMEDIES if each in words] == remedies


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


def test_what_is_bare_at_tosses_that_are_rare_together_is_named():
    assert [str(one) for one in lines(bare)] == ["private coins, at some of which 'z' is sent as it is"]
    assert lines(lambda g, x, node: bare(0 * x, x, node)) == ()


def test_every_history_of_private_coins_is_followed():
    simulation, pair = quadratic_world(Rarely())
    one = worlds(simulation, pair.agent, pair.hypotheses[1], 2)(0, 0).replica(0)
    assert not reading(one.recording(pair.agent)).read
    assert [line.code for line in read_lines(one, pair.agent, lambda: ())] == ["if rare and gradient[0, 0] > 9.0:"]


def shuffled(node):
    deck = np.arange(40)
    node.coins.shuffle(deck)
    return float(np.sum(deck[:3]) == 3)


def filled_by(node):
    found = np.zeros(1)
    node.coins.random(out=found)
    return found


MANY = range(100_000)
UNLISTED: dict[str, Callable[[Node], Any]] = {
    "a condition": lambda node: 1.0 if node.coins.normal() > 5.0 else 0.0,
    "a mask": lambda node: np.maximum(node.coins.exponential() - 12.0, 0.0),
    "a uniform one as a number": lambda node: (10 * node.coins.random()) // 1 == 9.0,
    "a shuffled deck": lambda node: shuffled(node) * node.coins.normal(),
    "a copy of them": lambda node: copy.deepcopy(node.coins).random() < 1e-3,
    "their generator": lambda node: 1.0 * (np.random.Generator(node.coins.bit_generator).normal() > 5.0),
    "NumPy's class": lambda node: 1.0 * (np.random.Generator.random(node.coins) < 1e-3),
    "children of them": lambda node: 1.0 * (node.coins.spawn(1)[0].random() < 1e-3),
    "written into an array": lambda node: filled_by(node)[0] < 1e-3,
    "one of too many": lambda node: 1.0 if node.coins.integers(len(MANY)) == 7 else 0.0,
    "one of too many, in a mask": lambda node: np.where(node.coins.integers(len(MANY)) == 7, 1.0, 0.0),
    "two of many": lambda node: 1.0 if [node.coins.integers(60) for _ in range(2)] == [7, 11] else 0.0,
    "a choice of too many": lambda node: 1.0 if choose(node.coins, MANY) == 7 else 0.0,
    "a choice in a text": lambda node: f"{choose(node.coins, MANY)}".count("77777"),
    "a choice in a product": lambda node: choose(node.coins, MANY) * 1.0,
    "a choice in a mask": lambda node: np.where(choose(node.coins, MANY) == 7, 1.0, 0.0),
    "a choice as a key": lambda node: {7: 1.0}.get(choose(node.coins, MANY), 0.0),
    "a key": lambda node: {7: 1.0}.get(node.coins.integers(len(MANY)), 0.0),
    "a choice as a place": lambda node: (100_000 * [0.0])[choose(node.coins, MANY)],
    "a choice in a set": lambda node: 1.0 * (choose(node.coins, MANY) in {7}),
    "a choice of texts": lambda node: choose(node.coins, 9_999 * ["0"] + ["1"]).count("1"),
    "a batch of too many": lambda node: 1.0 * (subset(node.coins, 99, 3) == [1, 2, 3]),
    "a set of records": lambda node: 1.0 * ({*subset(node.coins, 99, 3)} == {1, 2, 3}),
    "an array of records": lambda node: 1.0 * np.all(np.array(subset(node.coins, 99, 3)) == [1, 2, 3]),
    "what a choice is": lambda node: 1.0 * (type(choose(node.coins, [1, 2])) is int),
    "what a coin is": lambda node: 1.0 if type(node.coins.random()) is float else 0.0,
}


@pytest.mark.few(9)
@pytest.mark.parametrize("draw", UNLISTED.values(), ids=UNLISTED)
def test_coins_that_no_list_holds_are_followed(draw):
    """No way in which they fall can be tried: what they hardly ever let through is named."""
    assert lines(lambda g, x, node: g * draw(node))


@dataclass(frozen=True)
class Chooses(Algorithm):
    """Gradients of batches, each sent to some neighbor; times 50 where these `scale` them."""

    batch: Callable[[Node], Any]
    receiver: Callable[[Node], Any]
    scale: Callable[[Any, Any], Any] = lambda batch, receiver: False
    rounds: int = 2

    async def run(self, node: Node) -> None:
        for _ in range(self.rounds):
            batch, receiver = self.batch(node), self.receiver(node)
            gradient = await node.gradient(node.zeros(), batch)
            if self.scale(batch, receiver):
                gradient = 50 * gradient
            node.send(receiver, x=node.privatize(Clip(1.0, "l1")(gradient) / len(batch), Laplace(1.0)))
            node.estimate(gradient)


def chosen(algorithm):
    simulation, pair = quadratic_world(algorithm)
    one = worlds(simulation, pair.agent, pair.hypotheses[1], 2)(0, 0).replica(0)
    return read_lines(one, pair.agent, lambda: ())


def one_of(node):
    return choose(node.coins, node.neighbors)


def first_of(node):
    return node.neighbors[0]


def two_of(node):
    return subset(node.coins, node.records, 2)


def written_over(node):
    batch = node.coins.integers(node.records, size=2)
    batch[:1] = 3
    return batch


@pytest.mark.parametrize(
    "algorithm",
    [
        Chooses(two_of, one_of, rounds=9),
        Chooses(two_of, lambda node: (node.coins.normal(), one_of(node))[1]),
        Chooses(lambda node: (node.coins.normal(), two_of(node))[1], one_of),
        Chooses(lambda node: [one_of(node)], one_of),
        Chooses(lambda node: node.coins.choice(node.records, 2, replace=False), one_of, rounds=3),
        Chooses(lambda node: node.coins.choice(node.records, 2, replace=False), first_of, rounds=1),
        Chooses(lambda node: node.coins.integers(node.records, size=2), first_of, rounds=9),
        Chooses(lambda node: node.coins.permutation(node.records), first_of, rounds=9),
        Chooses(lambda node: sorted(int(k) for k in two_of(node)), first_of),
        Chooses(lambda node: np.array(two_of(node)), first_of),
        Chooses(lambda node: two_of(node)[:1], first_of),
        Chooses(lambda node: [k for k in range(3) if node.coins.random() < 0.5] or [3], first_of, rounds=1),
    ],
)
def test_coins_that_choose_receivers_and_batches_alone_decide_nothing_else(algorithm):
    assert chosen(algorithm) == ()


@pytest.mark.parametrize(
    "algorithm",
    [
        Chooses(two_of, one_of, lambda batch, _: set(map(int, batch)) == {1, 3}),
        Chooses(two_of, one_of, lambda batch, _: batch == [1, 3]),
        Chooses(
            lambda node: [k for k in range(4) if node.coins.random() < 0.5] or [0], first_of, lambda b, _: 3 in b, 1
        ),
        Chooses(lambda node: node.coins.choice(node.records, 1), first_of, lambda batch, _: batch[0] == 3),
        Chooses(two_of, lambda node: (node.coins.normal(), one_of(node))[1], lambda _, to: to == 2),
        Chooses(lambda node: (node.coins.normal(), two_of(node))[1], first_of, lambda batch, _: batch[0] == 1),
        # not all records alike
        Chooses(lambda node: node.coins.choice(3, 1, p=[0.998, 0.001, 0.001]), first_of, rounds=6),
        Chooses(lambda node: node.coins.binomial(2, 0.001, size=1), first_of, rounds=6),
        Chooses(written_over, first_of, rounds=3),
    ],
)
def test_coins_that_decide_more_than_receivers_and_batches_are_named(algorithm):
    """A record that the pair does not differ in may lose more."""
    assert chosen(algorithm)


def test_numbers_of_records_that_do_not_exist_are_no_batch():
    """Code may catch the error that they end in."""
    coins = SeenCoins(np.random.default_rng(0))
    coins.plain, coins.followed = False, lambda value, kind: Followed(value, kind, lambda *_, **__: None)
    batch = coins.integers(10, size=2)
    assert coins.drew(batch, 10)
    assert not coins.drew(batch, 4)


def test_what_such_coins_only_add_to_what_is_sent_is_harmless():
    simulation, pair = quadratic_world(
        Does(lambda g, x, node: 0.1 * node.coins.normal(size=g.shape) + choose(node.coins, [0.0, 1.0]) * x)
    )
    one = worlds(simulation, pair.agent, pair.hypotheses[1], 2)(0, 0).replica(0)
    assert read_lines(one, pair.agent, lambda: ()) == ()
