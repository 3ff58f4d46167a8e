"""Proof of a witness in ball arithmetic, by one file that runs alone: python check_witness.py FILE

A witness is a transcript at one agent's door. The agent's own coroutine runs on it once, for both worlds at the same
time, on pairs of balls: intervals that hold the exact real number, one for each world (python-flint's `arb`, else
mpmath's `iv`). One of two things is proven, and the reading ends there:

- *refuted*, at δ = 0: L = Σ_t ln p(release_t | D)/p(release_t | D') lies in [a, b], and a > ε;
- *unprotected*: a value that no noise protects lies in disjoint intervals in the two worlds (at δ > 0: in this
  transcript; in how many of them, nobody can say from one).

A set of transcripts, which refutes a claim at δ > 0, is read by check_set.py, which needs this file beside it.

Recorded numbers are boxes of relative width 2⁻⁹⁹, so it holds of an open set of transcripts, which has a probability.
Public parameters are exact and the code is real arithmetic: a value without noise may differ from the recorded one by
`SLACK`, as floats do. The claim is the algorithm's own formula (where it has none, the file's ε), of bounds on
curvature that hold in both worlds; these and the adjacency's are taken as larger by `SLACK`. The reading ends where
balls that overlap are compared, the worlds take different branches, a ball becomes a float, something is not read
here, or the record ends, also if the code catches the exception. What was sent before counts. The code has to do the
same on floats, in both worlds, up to `SLACK` again, at the same numbers near the recorded ones, drawn anew: what it
does at these alone has no probability. L is above ε also of what floats have before noise, and of all in between. So
it is tried at one transcript, and not proven, that code which finds out that it has balls does nothing else then.

Trusted: this file; the ball library; Python and NumPy, which move balls; LAPACK's eigenvalues, for the claim's L; the
algorithm's file (your own: --algorithm FILE.py) and what it imports, from beside it and, by names of
`netsim.algorithms`, from the files that have them: that it does not look at where it runs (an identity, the type of a
node, names that other nodes do not have, the number of replicas, how often it has run), to do something else there,
and tosses its coins by their own methods alone. Of netsim that is `algorithms.algorithm`, `node` (`Exchange`: sums
over neighbors), `mechanisms` (names of laws), `claims`, `schedules`, `codecs` and their imports. Gradients, densities
and laws of codes are written again below.

Not proven: that samplers, which make floats, follow the declared laws; that other agents send such messages; that the
algorithm's file is the paper's; what the file says of other agents' objectives, and of W but for its row, so that a
step may be one that the graph does not bear; that the adjacency's words allow what differs, which is printed; that
the data are the named data set's (`netsim witness FILE --prove` builds them anew). The seal is not looked at: what is
proven is of the file as it is. Exit status: 0 proven, 1 not proven, 2 no witness.
"""
# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# (no type says that an array holds balls)

import ast
import importlib.util
import json
import math
import operator
import os
import sys
import threading
from collections import deque
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

import numpy as np

try:
    from flint import arb, ctx
except ImportError:  # mpmath's intervals, with the names of python-flint
    from mpmath import iv, mp

    arb, ctx = iv.mpf, iv
    arb.exp, arb.log, arb.sqrt = (lambda x: iv.exp(x)), (lambda x: iv.log(x)), (lambda x: iv.sqrt(x))
    arb.lower, arb.upper = (lambda x: mp.make_mpf(x._mpi_[0])), (lambda x: mp.make_mpf(x._mpi_[1]))
    arb.union = lambda x, y: iv.mpf([min(x.lower(), y.lower()), max(x.upper(), y.upper())])


if not __package__:  # alone: a file of the package is imported without the others
    sys.modules["netsim.algorithms"] = _package = ModuleType("netsim.algorithms")
    _package.__path__ = [str(Path(p, "algorithms")) for p in importlib.import_module("netsim").__path__]
    _package.__getattr__ = lambda name: _exported(_package, name)

from netsim.claims import Adjacency
from netsim.codecs import Quantizer, TopK, common_measure
from netsim.mechanisms import Gaussian, Laplace, UniformLaplace
from netsim.node import Exchange, FollowedCoins
from netsim.shown import show

BITS = 128  # of a ball: recorded numbers are boxes by far wider than what so many bits round
SLACK = 2.0**-30  # relative, for floats: of the largest recorded number so far, or of a bound
MOST, SECONDS = 10**6, 100  # largest whole number among the parameters; time for a file
NUMBER = int | float | np.integer | np.float32 | np.bool_  # no long double: a float is less
CODE = "netsim.algorithms.", "netsim.schedules", "netsim.codecs", "netsim.claims", "netsim.models.model"


class Unproven(Exception):  # noqa: N818
    """Why a file proves nothing, on one line: texts of a file do not look like a verdict."""

    def __str__(self) -> str:
        said = " ".join(super().__str__().split())
        return said if said.isprintable() else ascii(said)


class Ended(BaseException):  # no `except Exception` of the code catches it
    """A reading ends."""


ended: list[Any] = []
"""Why the reading ended, the first reason first: code that catches `Ended` is read no further."""


def _end(why: Any = "") -> NoReturn:
    ended.append(why)
    raise Ended


def require(holds: Any, why: str) -> None:
    if not holds:
        raise Unproven(why)


def _in_words(error: BaseException) -> str:
    return str(error) if isinstance(error, Unproven) else f"{type(error).__name__}: {error!s:.160}"


# ── balls ───────────────────────────────────────────────────────────────────────────────────────────────
def _both(operate: Any) -> Any:
    """A method of balls: what an operation makes of their intervals in either world."""

    def method(self: Any, other: Any = None) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # it does it for each of its elements
        try:
            if other is None:
                return Ball(operate(self.here), operate(self.there))
            other = other if type(other) is Ball else to_ball(other)
            return Ball(operate(self.here, other.here), operate(self.there, other.there))
        except Exception as error:  # of mpmath, where python-flint has NaN: no code may catch it
            _end(_in_words(error))

    return method


def _power(x: Any, y: Any) -> Any:
    found = x**y
    return found if isinstance(found, arb) else _end("a power that is no real number")


def _never(why: str) -> Any:
    return lambda *_, **__: _end(why)


@dataclass(eq=False, repr=False, slots=True)
class Ball:
    """A real number: somewhere in the interval `here` in world D, in `there` in world D'.

    Balls are ordered where they do not overlap, and in the same way in both worlds; else the reading ends.
    """

    here: Any
    there: Any

    __add__ = __radd__ = _both(operator.add)
    __mul__ = __rmul__ = _both(operator.mul)
    __sub__, __rsub__ = _both(operator.sub), _both(lambda x, y: y - x)
    __truediv__, __rtruediv__ = _both(operator.truediv), _both(lambda x, y: y / x)
    __pow__, __rpow__ = _both(_power), _both(lambda x, y: _power(y, x))
    __neg__, __pos__, __abs__ = _both(operator.neg), _both(operator.pos), _both(abs)
    exp, log, sqrt = (_both(operator.methodcaller(name)) for name in ("exp", "log", "sqrt"))  # NumPy calls them
    conjugate = __pos__
    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __divmod__ = __rdivmod__ = _never("arithmetic without balls")
    __float__ = __int__ = __index__ = __complex__ = _never("a ball was used as a float, an index, a truth or a text")
    __bool__ = __round__ = __floor__ = __ceil__ = __trunc__ = __hash__ = __reduce_ex__ = __int__
    __format__ = __str__ = __repr__ = __int__
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = __int__
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __int__

    def __lt__(self, other: Any) -> Any:
        return _decided(less(self, other))

    def __gt__(self, other: Any) -> Any:
        return _decided(less(other, self))

    def __ge__(self, other: Any) -> Any:
        return _decided(less(self, other), False)

    def __le__(self, other: Any) -> Any:
        return _decided(less(other, self), False)

    def __eq__(self, other: object) -> Any:
        return _decided(_apart(self, other), False)

    def __ne__(self, other: object) -> Any:
        return _decided(_apart(self, other))

    def __getattr__(self, name: str) -> Any:  # np.tanh asks for `tanh`
        raise AttributeError(name) if name.startswith("__") else _end(f"{name} of a ball is not read here")

    @property
    def text(self) -> str:
        """The interval in D, rounded outwards."""
        low, high = float(self.here.lower()), float(self.here.upper())
        return f"[{math.nextafter(low, -math.inf):.17g}, {math.nextafter(high, math.inf):.17g}]"


def to_ball(x: Any) -> Any:
    """The number itself."""
    if isinstance(x, Ball):
        return x
    if not isinstance(x, NUMBER) or not abs(x) < math.inf:
        _end(f"{type(x).__name__} {x!r:.20} beside a ball is not read here")
    exact = arb(int(x) if isinstance(x, int | np.integer) else float(x))
    return Ball(exact, exact)


def to_hull(x: Any, y: Any) -> Any:
    """Whatever lies between two numbers."""
    x, y = to_ball(x), to_ball(y)
    return Ball(x.here.union(y.here), x.there.union(y.there))


def _to_box(x: float) -> Any:
    """A recorded number, and what is near it."""
    wide = max(abs(float(x)), 1e-30) * 2.0**-100
    return to_hull(-wide, wide) + float(x)


def less(x: Any, y: Any) -> bool | None:
    """Whether x < y; None where the balls do not say, or say something else in the other world."""
    x, y = to_ball(x), to_ball(y)
    worlds = (x.here, y.here), (x.there, y.there)
    if all(a.upper() < b.lower() for a, b in worlds):
        return True
    return False if all(a.lower() >= b.upper() for a, b in worlds) else None


def _apart(x: Any, y: Any) -> bool | None:
    """Whether x ≠ y; None as of `less`."""
    smaller, larger = less(x, y), less(y, x)
    return True if smaller or larger else None if None in (smaller, larger) else False


def _decided(found: bool | None, wanted: bool = True) -> Any:
    if found is None:
        _end("balls that overlap, or that the worlds order otherwise, were compared")
    return np.bool_(found is wanted)  # as of NumPy's floats


def positive(x: Any) -> Any:
    """max(x, 0)."""
    return (x + np.abs(x)) / 2


ANY: Any = 1 / to_hull(-1, 1)
"""Any number."""
balls: Any = np.frompyfunc(to_ball, 1, 1)
boxes: Any = np.frompyfunc(_to_box, 1, 1)
hulls: Any = np.frompyfunc(to_hull, 2, 1)
pairs: Any = np.frompyfunc(lambda x, y: Ball(to_ball(x).here, to_ball(y).there), 2, 1)
here: Any = np.frompyfunc(lambda x: Ball(x.here, x.here), 1, 1)
there: Any = np.frompyfunc(lambda x: Ball(x.there, x.there), 1, 1)
middles: Any = np.frompyfunc(lambda x: float((x.here.lower() + x.here.upper()) / 2), 1, 1)


# ── what the file has ───────────────────────────────────────────────────────────────────────────────────
def numbers(tree: Any, length: int, path: str) -> Any:
    sound = type(tree) is list and len(tree) == length and all(type(v) in (int, float) for v in tree)
    require(sound and all(abs(v) < 1e300 for v in tree), f"{path}: not {length} finite numbers")
    return np.array(tree, dtype=np.float64)


def built(tree: Any, source: ModuleType | None = None) -> Any:
    """An algorithm, or a schedule, a codec, … of it: {"class": MODULE:NAME, and its fields}."""
    if isinstance(tree, list):
        return tuple(built(one, source) for one in tree)
    if not isinstance(tree, dict):
        large = isinstance(tree, int | float) and not abs(tree) <= (MOST if type(tree) is int else 1e300)
        require(not large, f"proof: a parameter {tree!r:.40}, out of range")
        return tree
    module, _, name = str(tree["class"]).partition(":")
    known = module.startswith(CODE)
    require(known or source, f"proof: {module!r:.60} is no file of netsim.algorithms (yours: --algorithm FILE.py)")
    kind = getattr(importlib.import_module(module) if known else source, name)
    require(isinstance(kind, type) and is_dataclass(kind), f"proof: {name!r:.60} is no algorithm, schedule or codec")
    return kind(**{key: built(value, source) for key, value in tree.items() if key != "class"})


def _exported(package: ModuleType, name: str) -> Any:
    """A name of a package, from the file that its `__init__.py` has it from."""
    for one in ast.parse(Path(package.__path__[0], "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(one, ast.ImportFrom) and name in [other.name for other in one.names]:
            return getattr(importlib.import_module(one.module), name)
    raise AttributeError(name)


class Objectives:
    """Σ_s ℓ(a_s·x, b_s)/mass + ridge/2 ‖x‖² + Σ_t λω x_t²/(1 + ω x_t²) + ⟨slope, x⟩, λ = weight, ω = shape.

    Records (a_s, b_s) and slope are those of the worlds D and D'; all else is of both.
    """

    def __init__(self, tree: Any, changes: Any, d: int) -> None:
        self.logistic, self.worlds = tree["loss"] == "logistic", list[Any]()
        for change in [one or {} for one in changes]:
            sound = tree["loss"] in ("least squares", "logistic") and change.get("moved", "Tilted") == "Tilted"
            require(sound, f"no gradient in balls: {tree['loss']!r:.40}, moved {change.get('moved')!r:.40}")
            rows, answers = [*tree["features"]], [*tree["answers"]]
            for name, one in change.get("records", {}).items():
                for k, value in zip(one["rows"], one["values"], strict=True):
                    (rows if name == "features" else answers)[k] = value
            rows = np.array([numbers(row, d, "features of a record") for row in rows])
            answers = numbers(answers, len(rows), "answers of records")
            require(not self.logistic or (abs(answers) == 1).all(), "proof.objective: a label is neither −1 nor 1")
            self.worlds.append((rows, answers, numbers(change.get("slope", [0.0] * d), d, "pair.change.slope")))
        self.public = numbers([tree[name] for name in ("mass", "ridge", "weight", "shape")], 4, "proof.objective")
        require(self.public[0] > 0 and min(self.public) >= 0, "proof.objective: a parameter is negative")
        self.balls = [*map(pairs, *self.worlds), balls(self.public)]

    def gradient(self, x: Any) -> Any:
        """∇f(x)."""
        A, b, slope, (mass, ridge, weight, shape) = self.balls
        z = A @ x[0]
        z = -b / (1 + np.exp(b * z)) if self.logistic else z - b
        bent = 2 * weight * shape * x / (1 + shape * x * x) ** 2 if self.public[2] else 0
        return z @ A / mass + ridge * x + bent + slope

    def curvature(self) -> tuple[float, float]:
        """Bounds on the eigenvalues of ∇²f, everywhere and in both worlds, as the claim's L and μ have to hold."""
        (mass, ridge, weight, shape), ends = self.public, list[float]()
        for rows, *_ in self.worlds:
            unit = float(np.abs(rows).max()) or 1.0  # no square is lost by being too small
            squares = np.linalg.eigvalsh((rows / unit).T @ (rows / unit)) * (unit / mass * unit)
            low = 0.0 if self.logistic else squares[0] - SLACK * squares[-1]  # eigenvalues are rounded, too
            ends += low, squares[-1] * (1 + SLACK) / (4 if self.logistic else 1)
        rounded = SLACK * (ridge + weight * shape)
        require(np.isfinite([*ends, rounded]).all(), "proof.objective: a curvature that no float holds")
        return min(ends) + ridge - weight * shape / 2 - rounded, max(ends) + ridge + 2 * weight * shape + rounded

    def check_adjacent(self, stated: Any) -> str:
        """Refuse worlds farther apart than is stated. In what they differ, to hold it against the adjacency's words.

        At every x, ∇f' − ∇f lies in the convex hull of `moves`, and so is no longer than the longest of them.
        """
        (rows, answers, slope), (other_rows, other_answers, other_slope) = self.worlds
        replaced = (rows != other_rows).any(axis=1) | (answers != other_answers)
        count, (A, b, c, (mass, *_)) = int(replaced.sum()), self.balls
        tilt, bends = there(c) - here(c), list[Any]()
        if not count:
            moves = [tilt]
        elif not self.logistic and (rows == other_rows).all():  # other answers add a constant
            moves = [(here(b) - there(b)) @ A / mass + tilt]
        else:  # a record's gradient is −s b a/mass with s in (0, 1), of curvature ‖a‖²/(4 mass) at most
            require(self.logistic and count == 1, "pair.change: no bound on how far the worlds' gradients are apart")
            push, bend = b[replaced] @ A[replaced] / mass, (A[replaced] ** 2).sum() / (4 * mass)
            moves = [tilt, tilt + here(push), tilt - there(push), tilt + here(push) - there(push)]
            bends = [here(bend), there(bend)]
        apart = "pair.change: not adjacent: the gradients differ by more than"
        require(not stated["constant"] or len(moves) == 1, f"{apart} a constant vector")
        fewest = stated.get("fewest") or len(rows)  # the bounds are those of so few records: of more one counts less
        share = min(1.0, fewest / len(rows))
        sizes = [("curvature", share * stated["curvature_change"], bend) for bend in bends]
        for v in map(np.abs, moves):
            norms = {"l1": [v.sum()], "l2": [np.sqrt((v * v).sum())], "linf": v}
            sizes += [("l2", share * stated["gradient_change"], size) for size in norms["l2"]]
            sizes += [(stated["norm"], stated["change"], size) for size in norms[stated["norm"]]]
        for what, bound, size in sizes:
            require(bound in (None, math.inf) or less(size, bound * (1 + SLACK)), f"{apart} {bound} in {what}")
        found = [f"{count} record" if count == 1 else f"{count} records"] if count else []
        if (slope != other_slope).any():
            found.append("a constant vector in the gradient")
        return " and ".join(found) or "nothing"


# ── losses ──────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(eq=False)
class Release:
    """One release: by coordinate the scale of its noise, its value before it, and what was seen of it.

    `made` is the array that the code was given, `held` what was in it, `carried` whether a message had it, and `code`
    what receivers have of it.
    """

    law: type
    scale: Any
    value: Any
    seen: Any
    made: Any = None
    held: Any = None
    carried: bool = False
    code: Any = None

    def losses(self, x: Any, on: Any) -> Any:
        """ln p(x | D)/p(x | D') of the coordinates `on`."""
        noise = (boxes(x)[on] - self.value[on]) / balls(self.scale[on])
        logs = -(noise**2) / 2 if self.law is Gaussian else -np.abs(noise)
        return here(logs) - there(logs)

    def loss(self, seen: Any, codec: Any) -> Ball:
        """ln p(seen | D)/p(seen | D') of the release, or of the code of it that receivers have."""
        if codec is None:
            return self.losses(seen, self.scale > 0).sum()
        whole = self.law is Laplace and self.scale.all() and seen.any() and type(codec) in (TopK, Quantizer)
        require(whole, f"a code by {type(codec).__name__}, of {self.law.__name__} noise, is not read here")
        return self.of_largest(seen, codec) if type(codec) is TopK else self.of_levels(seen, codec)

    def of_largest(self, seen: Any, codec: TopK) -> Ball:
        """Of the k largest coordinates: the density of these, and P(|x| ≤ the least of them) for each other one."""
        require(np.count_nonzero(seen) == codec.kept(len(seen)), "a message that its codec does not make")
        hidden, least = seen == 0, _to_box(np.abs(seen[seen != 0]).min())
        ends = ((end - self.value[hidden]) / self.scale[hidden] for end in (-least, least))
        low, high = (np.exp(-positive(-u)) - np.exp(-positive(u)) for u in ends)  # 2 P(Laplace(1) ≤ u) − 1
        logs = np.log(high - low)
        return self.losses(seen, ~hidden).sum() + (here(logs) - there(logs)).sum()

    def of_levels(self, seen: Any, codec: Quantizer) -> Ball:
        """Of unit·level: each coordinate lay less than a level away, where its loss, which is monotone, lies between
        that of both ends. Common factors of all levels are in the unit, so several units may have made the code."""
        unit, found = common_measure(seen), list[Any]()
        levels, most = np.abs(np.rint(seen / unit)), codec.levels
        for factor in range(1, most // int(levels.max()) + 1):
            size = unit / factor
            small, large = ((np.clip(levels * factor + way, 0, most) ** 2).sum() for way in (-1, 1))
            norm = small <= most**2 <= large if codec.norm == "l2" else levels.max() * factor >= most - 1
            if not norm or math.frexp(size)[0] * 2.0 ** (53 - codec.bits) % 1:  # a unit is rounded up to so many bits
                continue
            step = np.copysign(size * codec.shrinkage(len(seen)), seen)
            low, high = levels * factor - 1, np.minimum(levels * factor + 1, most) * (1 + SLACK)
            low = np.where(low < 0, -high, low * (1 - SLACK))
            found.append(hulls(*(self.losses(step * end, levels >= 0) for end in (low, high))).sum())
        require(found, "a message that its codec does not make")
        return hulls.reduce(found)


# ── what the code does ──────────────────────────────────────────────────────────────────────────────────
@dataclass(eq=False, repr=False, slots=True)
class _Chosen(Ball):
    """Whom a message goes to by coins, the `option`, which is seen; in anything else it may be any number."""

    option: Any


class _Coins(FollowedCoins):
    """The agent's coins. `routes_alone`: they have chosen receivers, which are seen, and nothing else."""

    def __init__(self, state: Any) -> None:
        self._bits = np.random.PCG64()
        self._bits.state = state
        self._left = self._bits.state  # by the last choice of a receiver
        super().__init__(self._bits)

    @property
    def routes_alone(self) -> bool:
        return self._bits.state == self._left

    def choose(self, options: Any) -> Any:
        if type(options) not in (tuple, list) or {*map(type, options)} != {int}:
            _end("coins that choose among others than whole numbers are not read here")
        before = self.routes_alone
        chosen = _Chosen(ANY.here, ANY.there, options[self.integers(len(options))])
        self._left = self._bits.state if before else None
        return chosen

    subset = _never("a batch of records is not read here")
    spawn = __reduce__ = __reduce_ex__ = __getstate__ = _never("coins that are copied are not read here")
    bit_generator = _bit_generator = property(_never("coins that are looked at, or put back, are not read here"))


def _read_only(array: Any) -> Any:
    """As what was released, sent or received is."""
    array.setflags(write=False)
    return array


class _Port(SimpleNamespace):
    """What code asks of it and it has not ends the reading: no code may catch an `AttributeError`."""

    __eq__ = __ne__ = __hash__ = __repr__ = _never("what a node has was compared, or used as a text")

    def __getattr__(self, name: str) -> Any:
        _end(f"node.{name} is not read here")


class Node(_Port):
    """The port of `netsim.node`, fed from the file; what is `proven` by what the code sends, or `why` it ended.

    `loss` is that of all releases so far, `largest` the largest after any message; floats may be off by `room`; what
    has been sent is `said`, message by message, and `noisy` the number of the release in a field of it.
    """

    _types: Any = np.dtype(object), np.dtype(np.float64)

    def __init__(self, file: "File", bound: float | None) -> None:
        super().__init__(**file.port, proven="", rounded="", loss=to_ball(0), largest=None, activation=1)
        self.coins = _Coins(file.coins)
        self.weights = self._given(self.weights.copy())  # the code may write into its own
        self.regularizer, self._file, self._bound = _Port(proximal=self._threshold), file, bound
        self.releases, self.counts, self.room = list[Release](), {"exchange": 0, "direct": 0}, 0.0
        self._direct = deque(row for row in file.received if row["kind"] == "direct")
        self.said, self.noisy = list[Any](), list[dict[str, int]]()
        ended.clear()
        coroutine = file.algorithm.run(self)
        try:
            coroutine.send(None)
            ended.append("the code awaits something that is not the node's")
        except (StopIteration, Ended):
            pass
        except (Exception, SystemExit) as error:
            ended.append(_in_words(error))
        finally:
            coroutine.close()
        self.why = ended[0] if ended else ""
        if isinstance(self.why, Unproven):
            raise self.why

    def _given(self, x: Any) -> Any:
        """Balls, as the code is given them."""
        return x

    def _near(self, seen: Any, where: Any, codec: Any = None) -> Any:  # noqa: ARG002
        """Recorded numbers, as the code is given them; any number where all that is known of it is its code."""
        return boxes(seen) if codec is None else ANY

    def _vector(self, x: Any) -> Any:
        sound = type(x) is np.ndarray and any(x.dtype is one for one in self._types)
        if not sound or x.shape != self.shape:
            found = f"{type(x).__name__} of shape {getattr(x, 'shape', ())}"
            _end(f"the code has {found}, not floats of shape {self.shape}")
        return balls(x)

    def zeros(self) -> Any:
        return self._given(balls(np.zeros(self.shape)))

    def estimate(self, x: Any) -> None:
        self._vector(x)
        self.activation += 1

    async def gradient(self, x: Any, batch: Any = None) -> Any:
        found = self._file.objectives.gradient(self._vector(x)) if batch is None else _end("a batch is not read here")
        return self._given(found)

    def _threshold(self, v: Any, step: float) -> Any:
        """The proximal map of l1 ‖x‖₁ + square ‖x‖²."""
        l1, square = self._file.regularizer
        if l1 == square == 0:
            return v
        if not step > 0:
            _end("a step that is not above 0")
        return self._given((positive(v - step * l1) - positive(-v - step * l1)) / (1 + 2 * step * square))

    def privatize(self, value: Any, mechanism: Any, shared: Any = None, draw: Any = None) -> Any:  # noqa: ARG002
        law, t, file = type(mechanism), len(self.releases), self._file
        if law not in (Laplace, Gaussian, UniformLaplace) or shared is not None:
            _end(f"noise that is {law.__name__}, or shared, is not read here")
        if mechanism.noiseless:
            return value
        if t >= min(len(file.releases), len(file.laws)):
            _end()
        if law is UniformLaplace and any(width != 0 for width in self._vector(mechanism.width)[0]):
            _end("noise that is in part uniform is not read here")
        scale = np.zeros(self.shape) + (mechanism.stddev if law is Gaussian else mechanism.scale)  # as it is now
        value, _ = self._vector(value), self._vector(scale)
        scale, (said, size), seen = scale[0].astype(np.float64), file.laws[t], file.releases[t]
        if said != law.__name__ or not np.allclose(size, scale, rtol=1e-12, atol=0) or min(scale) < 0:
            _end(Unproven(f"release {t}: the code draws {law.__name__}({scale[0]}), not {said!r:.20}"))
        made = _read_only(self._given(np.where(scale > 0, self._near(seen, t, file.codec), value)))
        self.releases.append(Release(law, scale, value[0], seen, made, made.copy()))
        return made

    def _put(self, kind: str, to: Any, values: dict[str, Any]) -> _Port:
        """Hold a message against the file's, and judge by it."""
        file, number = self._file, self.counts[kind]
        row, vectors = file.sent.get((kind, number)), {name: self._vector(v)[0] for name, v in values.items()}
        if ended:  # and the code went on
            raise Ended
        if row is None or self.activation > file.activations:
            _end()
        self.counts[kind] += 1
        self._taken(row)  # its numbers, too, say how much floats round
        self.said.append(vectors)
        try:
            same = to == row["receiver"] and values.keys() == row["values"].keys()
            require(same, "the code sends other fields, or to others, than the file has")
            self._judge(f"{kind} message {number}", row["values"], values, vectors)
        except Exception as error:
            _end(Unproven(f"{kind} message {number}: {_in_words(error)}"))
        if self.proven or file.codec is not None:  # receivers have codes: what follows is no function of these
            _end()
        sent = {name: _read_only(self._given(v[None].copy())) for name, v in vectors.items()}  # as it was sent
        return _Port(sender=self.id, kind=kind, number=number, values=sent)

    def _judge(self, what: str, seen_values: Any, values: Any, vectors: Any) -> None:
        """What is proven by one more message: by its releases, as they were made, and by all else in it."""
        found, coded = self._released(values), self._file.codec is not None
        if any(not release.carried and t not in found.values() for t, release in enumerate(self.releases)):
            _end("there is a release that is not on the wire as it was made")
        for name, value in vectors.items():
            seen = seen_values[name]
            require(name in found or not coded, f"{name!r} has a codec and no noise, which is not read here")
            if name in found:
                release = self.releases[found[name]]
                same = coded or (seen == release.seen).all()
                require(same, f"{name!r} is not the release that the code sends there")
                require(not (coded and release.carried), "two codes of one release are not read here")
                if not release.carried:  # the second time receivers learn nothing
                    self.loss = self.loss + release.loss(seen, self._file.codec)
                release.carried, release.code = True, seen
                value, seen = value[release.scale == 0], seen[release.scale == 0]
            self._compare(name, what, value, seen)
        self.largest = self.loss if self.largest is None or less(self.largest, self.loss) else self.largest
        if not self.proven and self._bound is not None and less(self._bound, self.loss):
            self.proven = "refuted"

    def _released(self, values: Any) -> dict[str, int]:
        """By field, the number of the release that it is: the array that was made, and what was in it."""
        found = [(name, t) for name in values for t, one in enumerate(self.releases) if values[name] is one.made]
        self.noisy.append({name: t for name, t in found if values[name].tobytes() == self.releases[t].held.tobytes()})
        return self.noisy[-1]

    def _compare(self, name: str, what: str, value: Any, seen: Any) -> None:
        """Numbers without noise: in D they are the file's; where they are others in D', they are unprotected."""
        for x, y, z in zip(here(value), there(value), seen, strict=True):
            require(abs(x - z) <= self.room, f"the code does not send the file's {name!r}: {x.text}, not {z!r}")
            if less(2 * self.room, abs(x - y)):
                differs = f"unprotected: {name!r} of {what}: {x.text} in one world, {y.text} in the other"
                self.proven = self.proven or differs
            elif _apart(x, y):
                self.rounded = f"; {name!r} differs by no more than floats round"

    def _taken(self, row: Any) -> _Port:
        """A message of the file."""
        self.room = max([self.room, *(SLACK * np.abs(v).max() for v in row["values"].values())])
        named = {name: row[name] for name in ("sender", "kind", "number")}
        near = {name: self._near(v[None], (*named.values(), name)) for name, v in row["values"].items()}
        return _Port(**named, values={name: _read_only(self._given(v)) for name, v in near.items()})

    async def exchange(self, **values: Any) -> Exchange:
        own = self._put("exchange", -1, values)
        rows = {r["sender"]: r for r in self._file.received if (r["kind"], r["number"]) == ("exchange", own.number)}
        if set(rows) != set(self.neighbors):
            _end()
        return Exchange(self, own, [self._taken(rows[j]) for j in self.neighbors])

    def send(self, to: Any, **values: Any) -> None:
        receiver = to.option if type(to) is _Chosen else to
        self._put("direct", receiver if receiver in {*self.neighbors} else _end("sent to no neighbor"), values)

    def broadcast(self, **values: Any) -> None:
        self._put("direct", -1, values)

    async def receive(self) -> _Port:
        return self._taken(self._direct.popleft()) if self._direct else _end()


class Floats(Node):
    """The same code on floats, near the recorded numbers, in the world of `view`, as far as `node` has sent.

    Both worlds have one `seed`, and so one transcript. NumPy does not do the same to floats and to balls: of these it
    sorts those that are equal, as a public zero's are, in another order.
    """

    _types = (np.dtype(np.float64),)

    def __init__(self, file: "File", view: Any, node: Node, seed: int) -> None:
        self._view, self._messages, self._seed = view, len(node.said), seed
        super().__init__(file, None)

    def _given(self, x: Any) -> Any:
        return middles(self._view(balls(x))).astype(np.float64)

    def _near(self, seen: Any, where: Any, codec: Any = None) -> Any:
        draws = np.random.default_rng((self._seed, abs(hash(where))))  # in whatever order they are read
        wide = np.maximum(np.abs(seen), 1e-30) * self._file.near
        if isinstance(codec, Quantizer):  # less than a level away
            wide, seen = (v * codec.shrinkage(len(seen)) for v in (common_measure(seen), seen))
        elif codec is not None:  # what is hidden is no larger than what is seen
            wide = np.where(seen == 0, np.abs(seen).min(where=seen != 0, initial=MOST), wide)
        return seen + wide * draws.choice((-1, 1), seen.shape) * draws.uniform(0.5, 1, seen.shape)

    def _judge(self, what: str, seen_values: Any, values: Any, vectors: Any) -> None:  # noqa: ARG002
        self._released(values)
        if len(self.noisy) == self._messages:
            _end()

    def follows(self, node: Node) -> bool:
        """Whether it has sent the same releases, and in these and beside them the same numbers, as floats round."""
        sent, made = zip(node.said, self.said, strict=False), zip(node.releases, self.releases, strict=False)
        found = [(v, other[name]) for one, other in sent for name, v in one.items()]
        found += [(one.value, other.value) for one, other in made]
        apart = (abs(x - y) for one, other in found for x, y in zip(self._view(one), other, strict=True))
        return self.noisy == node.noisy and not any(less(node.room, one) for one in apart)


# ── what is proven ──────────────────────────────────────────────────────────────────────────────────────
class File:
    """A witness, as far as it is read."""

    near = 2.0**-44  # relative, for what floats are given: numbers that a file has equal are hardly so any more

    def __init__(self, tree: Any, source: ModuleType | None) -> None:
        proof, change, claim = tree["proof"], tree["pair"]["change"], tree["claim"]
        alone = tree["format"] == "netsim witness" and not tree["scenario"].get("active_adversaries")
        require(alone, "no witness, or one with an active adversary, of which no claim is")
        require("missing" not in proof, proof.get("missing"))
        self.setting, self.algorithm = built(proof["setting"]), built(proof["algorithm"], source)
        # readings of a paper, and versions, are texts
        self.named = ", ".join(f"{key} {v!r:.60}" for key, v in proof["algorithm"].items() if isinstance(v, str))
        self.codec, own, d = built(proof["codec"]), self.algorithm.codec, self.setting.dimension
        if own is not None:
            require(self.codec == (None if own.lossless else own), "proof.codec: not the one of the algorithm")
        self._read_agent(tree["agent"], tree["activations"], proof, d)
        require(self.port["records"] == len(proof["objective"]["features"]), "proof.setting: not the agent's records")
        self._read_transcript(tree["transcript"], d)
        require(type(tree["world"]) is int and tree["world"] in (0, 1), "world: neither 0 nor 1")
        changes = change.get("worlds", [None, change])  # of world 0 and of world 1: D is that of the transcript
        self.objectives = Objectives(proof["objective"], changes[::-1] if tree["world"] else changes, d)
        laws = [(one["law"], np.asarray(one["scale"], dtype=np.float64)) for one in tree["account"]["releases"]]
        self.laws = [(law, np.broadcast_to(scale, d)) for law, scale in laws]
        self.claim, adjacency = claim, claim["adjacency"]
        unbounded = {name: float(adjacency[name]) for name in ("gradient_change", "curvature_change")}  # may be "inf"
        self.stated = adjacency | unbounded
        sizes = [one for one in (adjacency["change"], claim["epsilon"]) if one is not None]
        sizes += [adjacency["bending"], claim["delta"]]
        least = [*numbers(sizes, len(sizes), "claim"), *unbounded.values()]
        sound = all(size >= 0 for size in least) and claim["delta"] < 1
        sound = sound and claim.get("standpoint") is None
        require(sound, "claim: a number below 0, δ ≥ 1, or of what some listeners alone see")

    def _read_agent(self, agent: Any, activations: Any, proof: Any, d: int) -> None:
        """The agent's place in the graph, and what is public of it."""
        neighbors, agents, horizon = tuple(proof["neighbors"]), self.setting.agents, self.algorithm.horizon
        whole = {*map(type, (activations, agent, *neighbors))} == {int} and activations >= 1
        require(whole, "agent, activations, proof.neighbors: no whole numbers")
        require(horizon in (None, activations), f"activations: {activations}, and an agent has {horizon} of them")
        several = len({agent, *neighbors} & {*range(agents)}) == 1 + len(neighbors) and [*neighbors] == sorted(
            neighbors
        )
        require(several, "agent, proof.neighbors: not ascending, no agents, or one of them twice")
        weights = numbers(proof["weights"], 1 + len(neighbors), "proof.weights")
        l1_and_square = numbers(proof["regularizer"], 2, "proof.regularizer")
        mixing = abs(weights.sum() - 1) <= SLACK and min([*weights, *l1_and_square]) >= 0
        require(mixing, "proof.weights, regularizer: no row of a mixing matrix, or a weight below 0")
        self.activations, self.regularizer = activations, balls(l1_and_square)
        self.setting = replace(self.setting, regularized=self.setting.regularized or bool(l1_and_square.any()))
        if proof.get("graph") is not None:  # all neighbors of all agents
            near = [*map(tuple, proof["graph"])]
            links = [(i, j) for i, row in enumerate(near) for j in row]
            back = {(j, i) for i, j in links if type(j) is int and i != j}
            sound = {*links} == back and len(links) == len(back) and len(near) == agents and near[agent] == neighbors
            require(sound, "proof.graph: not the neighbors of all agents, or others than proof.neighbors")
            graph = SimpleNamespace(agents=agents, neighbors=near.__getitem__, degrees=[*map(len, near)])
            self.setting = replace(self.setting, topology=graph)
        self.port = {"id": agent, "agents": agents, "neighbors": neighbors, "weights": balls(weights), "replicas": 1}
        self.port |= {"shape": (1, d), "dimension": d, "records": self.setting.records[agent]}

    def _read_transcript(self, record: Any, d: int) -> None:
        agent, neighbors, once, self.rows = self.port["id"], self.port["neighbors"], dict[Any, Any](), list[Any]()
        for row in record["rows"]:
            known = row["event"] in ("sent", "received") and row["kind"] in ("exchange", "direct")
            require(known, "transcript.rows: neither sent nor received, as an exchange that a deadline closed")
            ends = row["sender"], row["receiver"]
            own, other = ends if row["event"] == "sent" else ends[::-1]
            whole = {type(row["number"]), type(own), type(other)} == {int}
            between = whole and own == agent and (other in neighbors or (other, row["event"]) == (-1, "sent"))
            require(between, f"transcript.rows: not between agent {agent} and a neighbor")
            name = f"{row['kind']} {row['number']} of agent {row['sender']}"
            same = once.setdefault(name, row["values"]) == row["values"]
            require(same, f"transcript.rows: two messages are {name}")
            self.rows.append(row | {"values": {name: numbers(v, d, "values") for name, v in row["values"].items()}})
        sent, self.received = ([row for row in self.rows if row["event"] == event] for event in ("sent", "received"))
        self.sent = {(row["kind"], row["number"]): row for row in sent}
        self.releases = [
            numbers(v, d, "releases") if isinstance(v, list) else sent[v["message"]]["values"][v["field"]]
            for v in record["releases"]
        ]
        coins = record["coins"]
        halves = all(type(coins[k]) is int and 0 <= coins[k] < 2**32 for k in ("has_uint32", "uinteger"))
        require(halves, "transcript.coins: no state of PCG64")
        self.coins = {**coins, "bit_generator": "PCG64", "state": {k: int(coins[k], 16) for k in ("state", "inc")}}

    def claimed(self, slack: float) -> Any:
        """The claim by the algorithm's own formula; of bounds that are as much larger, and hold in both worlds."""
        setting, i, stated = self.setting, self.port["id"], dict(self.stated)
        high, low, bend = ([*v] for v in (setting.smoothness, setting.strong_convexity, setting.weak_convexity))
        if slack:
            for name in ("gradient_change", "change", "curvature_change"):
                stated[name] = None if stated[name] is None else stated[name] * (1 + slack)
            least, largest = self.objectives.curvature()
            high[i], low[i] = max(high[i], largest), min(low[i], max(0.0, least))
            bend[i] = max(bend[i], 0.0, -least)
        high, low = [L * (1 + slack) for L in high], [mu / (1 + slack) for mu in low]
        curvatures = {"smoothness": tuple(high), "strong_convexity": tuple(low), "weak_convexity": tuple(bend)}
        setting = replace(setting, releases=self.activations, **curvatures)
        self.algorithm.check(setting)
        return self.algorithm.claim(Adjacency(**stated), setting.loosened(stated["bending"]), self.claim["delta"])

    def bound(self, exact: Any, loose: Any) -> float | None:
        """ε that a loss has to exceed: the file's, which is the formula's, and that of the larger bounds."""
        epsilon, delta = self.claim["epsilon"], self.claim["delta"]
        if epsilon is None or exact is None:
            return None if epsilon is None else epsilon * (1 + SLACK)
        same = exact.epsilon and abs(exact.epsilon / epsilon - 1) <= 1e-12 and {exact.delta, loose.delta} == {delta}
        require(exact.standpoint is None, "claim: of what some listeners alone see")
        require(same, f"claim.epsilon: {epsilon!r}, and the algorithm's formula has {exact.epsilon!r}")
        holds = loose.epsilon is not None and loose.epsilon >= 0  # NaN is not
        require(holds, f"claim: not in both worlds: {loose.failed_conditions}")
        return max(epsilon, exact.epsilon, loose.epsilon)

    def reading(self, bound: float | None, exact: Any) -> Node:
        """What the code does. It is run again, on floats: it may do something else there, or the second time."""
        node, floats = Node(self, bound), list[Any]()
        if node.said:
            seed = np.random.SeedSequence().entropy
            floats = [Floats(self, view, node, seed) for view in (here, there)]
            same = all(one.follows(node) for one in floats)
            require(same, "the code does something else when it is run again, on floats: or it keeps state")
            for release, *values in zip(node.releases, *(one.releases for one in floats), strict=False):
                release.value = hulls(release.value, pairs(*(one.value for one in values)))
            real, node.loss = node.loss, to_ball(0)
            for release in [one for one in node.releases if one.carried]:
                node.loss = node.loss + release.loss(release.code, self.codec)
            if node.proven == "refuted":
                why = f"as floats round, which is too much for such noise, L is in {node.loss.text}"
                require(less(bound, node.loss), why)
                found = real if less(abs(node.loss - real), 1e-6) else node.loss  # no digits of numbers drawn anew
                node.proven = f"refuted: L ∈ {found.text} > ε = {self.claim['epsilon']!r}"
        known = exact is not None and exact.coins == "known"  # the claim holds for who knows the agent's coins
        routes = all(one.coins.routes_alone for one in (node, *floats))
        require(routes or known, "the claim counts on the agent's coins, which are known here")
        return node

    def proof(self) -> str:
        """What is proven."""
        differ = self.objectives.check_adjacent(self.stated)
        exact, loose = self.claimed(0.0), self.claimed(SLACK)
        source = exact.source if exact else "as the file states it"
        if exact and exact.waived_conditions:
            source += f"; stated by the theorem, and not so here: {'; '.join(exact.waived_conditions)}"
        return self.judged(exact, loose, source, f"{self.named}; the worlds differ in {differ}")

    def judged(self, exact: Any, loose: Any, source: str, what: str) -> str:
        """By this transcript."""
        delta = self.claim["delta"]
        bound = self.bound(exact, loose) if delta == 0 else None
        node = self.reading(bound, exact)
        if node.proven.startswith("unprotected"):
            alone = f"in this transcript: no claim of δ = {show(delta)} is refuted by one; " if delta > 0 else ""
            return f"{node.proven} ({alone}{what})"
        if node.proven:
            return f"{node.proven} ({source}; {what})"
        require(node.largest is not None, f"no message can be read. {node.why}")
        short = f"is not all above ε = {bound!r}" if bound is not None else "refutes no claim of δ > 0 or without ε"
        until = f" (read until: {node.why})" if node.why else ""
        raise Unproven(f"L = {node.largest.text} {short}{node.rounded}{until}")


def prove(tree: Any, source: ModuleType | None = None, kind: type = File) -> str:
    """What a witness proves, in one line. `Unproven` where it proves nothing."""
    ctx.prec = BITS
    try:
        alone = kind is not File or tree.get("sample") is None
        require(alone, "a set of transcripts: run check_set.py, which lies beside this file")
        with np.errstate(all="ignore"):
            return kind(tree, source).proof()
    except Unproven:
        raise
    except Ended:
        raise Unproven(ended[-1]) from None
    except (Exception, SystemExit) as error:
        raise Unproven(f"a malformed file, or code that cannot be read ({_in_words(error)})") from None


def main(arguments: list[str], prove: Any = prove) -> int:
    """Read FILE [--algorithm FILE.py], print one line."""
    if not arguments or {"-h", "--help"} & {*arguments}:
        print("Usage: FILE [--algorithm FILE.py]. Exit status: 0 proven, 1 not proven, 2 no witness.")
        return 0 if arguments else 2

    def late() -> None:  # nothing catches it
        print(f"Not proven: more than {SECONDS} s.", flush=True)
        os._exit(1)

    timer = threading.Timer(SECONDS, late)
    timer.daemon = True
    timer.start()
    try:
        path, *more = arguments
        tree, source = json.loads(Path(path).read_text(encoding="utf-8")), None
        if more:
            option, code = more
            require(option == "--algorithm", f"{option!r} is no option")
            sys.path.insert(0, str(Path(code).absolute().parent))  # what lies beside it
            spec = importlib.util.spec_from_file_location("algorithm", code)
            source = sys.modules["algorithm"] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(source)
        print("Proven.", prove(tree, source))
        return 0
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        print(f"No witness: {Unproven(_in_words(error))}.")
        return 2
    except BaseException as error:  # also what the algorithm's file raises
        print(f"Not proven: {Unproven(_in_words(error))}.")
        return 1
    finally:
        timer.cancel()


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # a terminal without Greek letters
    sys.exit(main(sys.argv[1:]))
