"""Proof of a witness in ball arithmetic, by one file that runs alone: python check_witness.py FILE

A witness is one transcript at an agent's door. The agent's own coroutine is run on it, once for both worlds: on
arrays of pairs of balls (intervals that hold the exact real number: python-flint's `arb`, else mpmath's `iv`), a ball
a world. Proven is one of two, and as soon as it is the reading ends:

- *refuted*, at δ = 0: L = Σ_t ln p(release_t | D)/p(release_t | D') is in [a, b], a > ε;
- *unprotected*: the enclosures of one value that no noise protects are disjoint in the two worlds (at δ > 0: in this
  transcript; in how many of them, one cannot say).

A set of transcripts refutes a claim at δ > 0. If it is true, E[w (1 − e^{ε−L})₊] ≤ δ, w = p/(density drawn from)
where noise was tilted, so that W = Π_i (1 + c (w_i (1 − e^{ε−L_i})₊/δ − 1)), in the mean over `STAKES` c, is ever
above 1/α with probability α at most (Ville). Proven is W, at the file's lower end of ε. Statistical is α, a part of
the audit's: one of `LAWS` chunks is shown, cut after one of the first messages, of which the claim counts so many.
Trusted is the draw: the transcripts are the first of their chunk, none is left out, they follow the laws that code
and file declare, and nobody chose the seed or the pair by what came of it. The file names the seed, of which `netsim
witness FILE --prove` draws them again; from the file alone one cannot know. Routes and delays are given.

Recorded numbers are boxes of relative width 2⁻⁹⁹, so it holds of an open set of transcripts. Public parameters are
exact, the code is real arithmetic; a value without noise may differ from the recorded one by `SLACK`, as floats do.
The claim is computed from bounds on curvature that hold in both worlds; these and the adjacency's are taken as much
larger (ε itself, where the algorithm has no formula). Where balls that overlap are compared, or the worlds differ in
what comes out, a ball is made a float, the record ends, or something is not read here, the reading ends too, even if
the code catches the exception; what was sent before counts.

Trusted: this file; the ball library; Python and NumPy, which move balls; LAPACK's eigenvalues, for the claim's L; the
algorithm's file and what it imports: that it does not look at where it is run, nor goes on after a `TypeError` of
NumPy's (`np.isnan` knows no balls). Of netsim that is `algorithms.algorithm`, `node` (`Exchange`: sums over
neighbors), `mechanisms` (names of laws), `claims`, `schedules`, `codecs`, `transcript.message` and their imports;
gradients, densities and laws of codes are written again below.

Not proven: that samplers, which make floats, follow the declared laws; that other agents send such messages; that the
algorithm's file is the paper's; what the file says of other agents' objectives, and of W but for its row, so that a
step may be one that the graph does not bear; that the adjacency's words allow what differs, which is printed; that
the data are the named data set's (`netsim witness FILE --prove` builds them anew). The seal is not looked at: what
is proven is of the file as it is. Exit status: 0 proven, 1 not proven, 2 no witness.
"""
# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# (no type says that an array holds balls)

import base64
import importlib.util
import json
import math
import os
import signal
import sys
from collections import deque
from dataclasses import is_dataclass, replace
from functools import partialmethod
from operator import is_
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

import numpy as np

try:
    import flint
except ImportError:  # mpmath's intervals, with the names of python-flint
    from mpmath import iv, mp

    flint: Any = SimpleNamespace(arb=iv.mpf, ctx=iv)
    for _name in ("exp", "log", "sqrt"):
        setattr(iv.mpf, _name, lambda self, _name=_name: getattr(iv, _name)(self))
    iv.mpf.lower, iv.mpf.upper = (lambda x: mp.make_mpf(x._mpi_[0])), (lambda x: mp.make_mpf(x._mpi_[1]))
    iv.mpf.union = lambda x, y: iv.mpf([min(x.lower(), y.lower()), max(x.upper(), y.upper())])

if __name__ == "__main__":  # the algorithm's file, without the others of its package
    sys.modules["netsim.algorithms"] = _package = ModuleType("netsim.algorithms")
    _package.__path__ = [str(Path(p, "algorithms")) for p in importlib.import_module("netsim").__path__]

from netsim.claims import Adjacency
from netsim.codecs import Quantizer, TopK, common_measure
from netsim.mechanisms import Gaussian, Laplace, UniformLaplace
from netsim.node import Exchange, FollowedCoins
from netsim.transcript.message import Message

PRECISIONS = 128, 512, 2048  # bits, one after the other where balls are too wide to decide
SLACK = 2.0**-30  # relative, for floats: of the largest recorded number so far, or of a bound
MOST, SECONDS = 10**6, 100
LAWS, TILTED, STAKES = 4, 2**42, (15 / 16, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64)
ROUNDED = 2.0**-31  # what floats may do to a loss and a weight
CODE = "netsim.algorithms.", "netsim.schedules", "netsim.codecs", "netsim.claims", "netsim.models.model"


class Unproven(Exception):  # noqa: N818
    """Why a file proves nothing."""


class Stopped(BaseException):  # code that catches exceptions does not catch it
    """A reading ends."""


_ended: list[Any] = []  # why the reading ended: code that catches `Stopped` and goes on is not read
_undecided: list[str] = []  # what balls that are too wide left open, with so many bits


def _end(why: Any = "") -> NoReturn:
    _ended.append(why)
    raise Stopped


def _undecide(why: str) -> NoReturn:
    _undecided.append(why)
    _end(why)


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"


COMPARED = "balls that overlap were compared, or balls of which the worlds have another order"


# ── balls ───────────────────────────────────────────────────────────────────────────────────────────────
class Ball:
    """A real number, somewhere in ball x in world D, in ball y in world D'.

    It is ordered only where balls do not overlap and both worlds agree, and is no float.
    """

    __slots__ = ("x", "y")

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def computed(self, *other: Any, name: str) -> Any:
        if other and not isinstance(other[0], Ball | int | float | np.integer | np.floating):
            return NotImplemented  # an array does it for each of its elements
        if "pow" in name and type(other[0]) is int:
            return Ball(self.x ** other[0], self.y ** other[0])
        balls = [_ball(one) for one in other]
        return Ball(getattr(self.x, name)(*(b.x for b in balls)), getattr(self.y, name)(*(b.y for b in balls)))

    def compared(self, other: Any, swap: bool, no: bool) -> bool:
        less = _less(other, self) if swap else _less(self, other)
        return _undecide(COMPARED) if less is None else less is not no

    def __eq__(self, other: object) -> bool:
        less, more = _less(self, other), _less(other, self)
        return less is more is False or (not (less or more) and _undecide(COMPARED))

    def __bool__(self) -> bool:
        return self != 0

    def conjugate(self) -> "Ball":
        return self

    def __getattr__(
        self, name: str
    ) -> Any:  # np.tanh asks for `tanh`: code that catches its error is read no further
        raise AttributeError(name) if name.startswith("__") else _end(f"{name} of a ball is not read here")

    @property
    def text(self) -> str:
        low, high = float(self.x.lower()), float(self.x.upper())
        return f"[{math.nextafter(low, -math.inf):.17g}, {math.nextafter(high, math.inf):.17g}]"


for _name in ("add", "sub", "mul", "truediv", "radd", "rsub", "rmul", "rtruediv", "pow", "neg", "abs"):
    setattr(Ball, f"__{_name}__", partialmethod(Ball.computed, name=f"__{_name}__"))
for _name in ("add", "sub", "mul"):  # most of all there is to do

    def _quick(self: Ball, other: Any, _name: str = f"__{_name}__") -> Any:
        if type(other) is Ball:
            return Ball(getattr(self.x, _name)(other.x), getattr(self.y, _name)(other.y))
        return self.computed(other, name=_name)

    setattr(Ball, f"__{_name}__", _quick)
for _name in ("exp", "log", "sqrt"):  # NumPy calls them
    setattr(Ball, _name, partialmethod(Ball.computed, name=_name))
for _name, _swap, _no in (("lt", False, False), ("ge", False, True), ("gt", True, False), ("le", True, True)):
    setattr(Ball, f"__{_name}__", partialmethod(Ball.compared, swap=_swap, no=_no))
for _name in ("float", "int", "index", "complex", "round", "floor", "format", "str", "repr", "reduce_ex", "hash"):
    setattr(Ball, f"__{_name}__", lambda *_: _undecide("a ball was used as a float, an index or a text"))
for _name in ("rpow", "mod", "rmod", "floordiv", "rfloordiv", "divmod", "ceil", "trunc"):
    setattr(Ball, f"__{_name}__", lambda *_: _end("arithmetic that has no balls"))


def _ball(x: Any) -> Any:
    """The number itself."""
    if isinstance(x, Ball):
        return x
    if not isinstance(x, int | float | np.integer | np.floating) or not abs(x) < math.inf:
        raise TypeError(f"{type(x).__name__} beside a ball")
    ball = flint.arb(int(x) if isinstance(x, int | np.integer) else float(x))
    return Ball(ball, ball)


def _hull(x: Any, y: Any) -> Any:
    x, y = _ball(x), _ball(y)
    return Ball(x.x.union(y.x), x.y.union(y.y))


def _box(x: float) -> Any:
    """A recorded number, and what is near it."""
    wide = max(abs(float(x)), 1e-30) * 2.0**-100
    return _hull(-wide, wide) + float(x)


def _below(x: Any, y: Any) -> bool | None:
    return True if bool(x.upper() < y.lower()) else False if bool(x.lower() >= y.upper()) else None


def _less(x: Any, y: Any) -> bool | None:
    """Whether x < y; None where the balls do not say, or say something else in the other world."""
    x, y = _ball(x), _ball(y)
    return less if (less := _below(x.x, y.x)) is _below(x.y, y.y) else None


def _cut(x: Ball) -> Ball:
    """max(x, 0)."""
    zero = _ball(0).x
    return Ball(*({True: zero, False: b, None: b.union(zero)}[_below(b, zero)] for b in (x.x, x.y)))


_balls: Any = np.frompyfunc(_ball, 1, 1)
_boxes: Any = np.frompyfunc(_box, 1, 1)
_positive: Any = np.frompyfunc(_cut, 1, 1)
_hulls: Any = np.frompyfunc(_hull, 2, 1)
_pairs: Any = np.frompyfunc(lambda x, y: Ball(_ball(x).x, _ball(y).y), 2, 1)
_heres: Any = np.frompyfunc(lambda x: Ball(x.x, x.x), 1, 1)
_theres: Any = np.frompyfunc(lambda x: Ball(x.y, x.y), 1, 1)


# ── what the file has ───────────────────────────────────────────────────────────────────────────────────
def _numbers(tree: Any, length: int, path: str) -> Any:
    if type(tree) is not list or len(tree) != length or any(type(v) not in (int, float) for v in tree):
        raise Unproven(f"{path}: not {length} numbers")
    if not (np.abs(found := np.array(tree, dtype=np.float64)) < 1e300).all():
        raise Unproven(f"{path}: numbers that are not finite, or too large")
    return found


def _built(tree: Any, source: ModuleType | None = None) -> Any:
    """An algorithm, or a schedule, a codec, … of it: {"class": MODULE:NAME, and its fields}."""
    if isinstance(tree, list):
        return tuple(map(_built, tree))
    if not isinstance(tree, dict):
        if isinstance(tree, int | float) and not abs(tree) <= (MOST if type(tree) is int else 1e300):
            raise Unproven(f"proof: a parameter {tree!r:.40}, out of range")
        return tree
    module, _, name = str(tree["class"]).partition(":")
    if source is None and not module.startswith(CODE):
        raise Unproven(f"proof: {module!r:.60} is no file of netsim.algorithms (yours: --algorithm FILE.py)")
    kind = getattr(source or importlib.import_module(module), name)
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise Unproven(f"proof: {name!r:.60} is no algorithm, schedule or codec")
    return kind(**{key: _built(value) for key, value in tree.items() if key != "class"})


class _Objectives:
    """Σ_s ℓ(a_s·x, b_s)/mass + ridge/2 ‖x‖² + Σ_t λω x_t²/(1 + ω x_t²) + ⟨slope, x⟩, λ = weight, ω = shape.

    Records and slope are those of the worlds D and D'.
    """

    def __init__(self, tree: Any, changes: Any, d: int) -> None:
        self.logistic, self.floats = tree["loss"] == "logistic", list[Any]()
        for change in [one or {} for one in changes]:
            if tree["loss"] not in ("least squares", "logistic") or change.get("moved", "Tilted") != "Tilted":
                raise Unproven(f"no gradient in balls: {tree['loss']!r:.40}, moved {change.get('moved')!r:.40}")
            rows, answers = [*tree["features"]], [*tree["answers"]]
            for name, one in change.get("records", {}).items():
                for k, value in zip(one["rows"], one["values"], strict=True):
                    (rows if name == "features" else answers)[k] = value
            rows = np.array([_numbers(row, d, "features of a record") for row in rows])
            answers = _numbers(answers, len(rows), "answers of records")
            if self.logistic and (abs(answers) != 1).any():
                raise Unproven("proof.objective: a label is neither −1 nor 1")
            self.floats.append((rows, answers, _numbers(change.get("slope", [0.0] * d), d, "pair.change.slope")))
        self.public = _numbers([tree[name] for name in ("mass", "ridge", "weight", "shape")], 4, "proof.objective")
        if self.public[0] <= 0 or min(self.public) < 0:
            raise Unproven("proof.objective: a parameter is negative")
        self.balls = [*map(_pairs, *self.floats), _balls(self.public)]

    def gradient(self, x: Any) -> Any:
        """∇f(x)."""
        A, b, slope, (mass, ridge, weight, w) = self.balls
        z = A @ x[0]
        z = -b / (1 + np.exp(b * z)) if self.logistic else z - b
        bent = 2 * weight * w * x / (1 + w * x * x) ** 2 if self.public[2] else 0
        return z @ A / mass + ridge * x + bent + slope

    def curvature(self) -> tuple[float, float]:
        """Bounds on the eigenvalues of ∇²f, everywhere and in both worlds."""
        (mass, ridge, weight, w), ends = self.public, list[float]()
        for rows, *_ in self.floats:
            unit = float(np.abs(rows).max()) or 1.0  # no square is lost by being too small
            squares = np.linalg.eigvalsh((rows / unit).T @ (rows / unit)) * (unit / mass * unit)
            low = 0.0 if self.logistic else squares[0] - SLACK * squares[-1]  # eigenvalues are rounded, too
            ends += low, squares[-1] * (1 + SLACK) / (4 if self.logistic else 1)
        rounded = SLACK * (ridge + weight * w)
        if not np.isfinite([*ends, rounded]).all():
            raise Unproven("proof.objective: a curvature that no float holds")
        return min(ends) + ridge - weight * w / 2 - rounded, max(ends) + ridge + 2 * weight * w + rounded

    def differ(self) -> str:
        """In what, for a reader who holds it against the adjacency's words."""
        (rows, answers, slope), (other_rows, other_answers, other_slope) = self.floats
        changed = int(((rows != other_rows).any(axis=1) | (answers != other_answers)).sum())
        found = [f"{changed} record{'s' * (changed > 1)}"] * bool(changed)
        found += ["a constant vector in the gradient"] * bool((slope != other_slope).any())
        return " and ".join(found) or "nothing"

    def apart(self) -> tuple[list[Any], list[Any]]:
        """Vectors whose convex hull holds ∇f' − ∇f at every x, and bounds on the eigenvalues of ∇²f' − ∇²f."""
        (rows, answers, _), (other_rows, other_answers, _) = self.floats
        changed = (rows != other_rows).any(axis=1) | (answers != other_answers)
        A, b, slope, (mass, *_) = self.balls
        tilt = _theres(slope) - _heres(slope)
        if not self.logistic and (rows == other_rows).all():
            return [(_heres(b) - _theres(b)) @ A / mass + tilt], []
        if not changed.any():
            return [tilt], []
        if changed.sum() > self.logistic:
            raise Unproven("pair.change: no bound on how far the worlds' gradients are apart")
        push, squares = b[changed] @ A[changed] / mass, (A[changed] ** 2).sum(axis=1) / (4 * mass)
        one, two = _heres(push), _theres(push)
        return [tilt, tilt + one, tilt - two, tilt + one - two], [*_heres(squares), *_theres(squares)]


# ── what the code does ──────────────────────────────────────────────────────────────────────────────────
class _Release(SimpleNamespace):
    """One release: law, scale, value, and what was seen of it, a number a coordinate."""

    def losses(self, x: Any, on: Any) -> Any:
        """ln p(x | D)/p(x | D') of the coordinates `on`."""
        t = (_boxes(x)[on] - self.value[on]) / _balls(self.scale[on])
        logs = -(t**2) / 2 if self.law is Gaussian else -np.abs(t)
        return _heres(logs) - _theres(logs)

    def log_weight(self, theta: float, shift: Any) -> Ball:
        """ln of p/(density ∝ p·e^{θl} it was drawn from), l the loss over `shift`, in scales of the noise."""
        on, s = self.scale > 0, _balls(np.abs(shift))
        u = _heres((_boxes(self.seen) - self.value)[on] / _balls(self.scale[on]) * np.where(shift < 0, -1, 1)[on])
        if (shift[~on] != 0).any():
            raise Unproven("sample.tilting: a shift where there is no noise")
        if self.law is Gaussian:
            return ((theta * s[on]) ** 2 / 2 - theta * s[on] * u).sum()
        rate, s = 1 + 2 * _ball(theta), s[on]
        gone = 1 - np.exp(-rate * s)
        return (theta * (s - np.abs(u + s) + np.abs(u)) + np.log((2 - gone + gone / rate) / 2)).sum()

    def loss(self, seen: Any, codec: Any) -> Ball:
        """ln p(seen | D)/p(seen | D') of the release, or of the code of it that receivers have."""
        if codec is None:
            return self.losses(seen, self.scale > 0).sum()
        if self.law is not Laplace or not self.scale.all() or not seen.any() or type(codec) not in (TopK, Quantizer):
            raise Unproven(f"a code by {type(codec).__name__}, of {self.law.__name__} noise, is not read here")
        if type(codec) is TopK:  # the others are no larger than the least that is sent
            if np.count_nonzero(seen) != codec.kept(len(seen)):
                raise Unproven("a message that its codec does not make")
            out, least = seen == 0, _box(np.abs(seen[seen != 0]).min())
            low, high = (_up_to((end - self.value[out]) / self.scale[out]) for end in (-least, least))
            logs = np.log(high - low)
            return self.losses(seen, ~out).sum() + (_heres(logs) - _theres(logs)).sum()
        levels, found = np.abs(np.rint(seen / (unit := common_measure(seen)))), list[Ball]()
        for factor in range(1, codec.levels // int(levels.max()) + 1):  # common factors of all levels are in the unit
            size, s, bits = unit / factor, codec.levels, 53 - codec.bits
            least, most = ((np.clip(levels * factor + way, 0, s) ** 2).sum() for way in (-1, 1))
            norm = least < s * s < most if codec.norm == "l2" else levels.max() * factor == s
            if not norm or math.frexp(size)[0] * 2.0**bits % 1:  # a unit is rounded up to so many bits
                continue
            step = np.copysign(size * codec.shrinkage(len(seen)), seen)
            low, high = levels * factor - 1, np.minimum(levels * factor + 1, codec.levels) * (1 + SLACK)
            low = np.where(low < 0, -high, low * (1 - SLACK))
            found.append(_hulls(*(self.losses(step * end, levels >= 0) for end in (low, high))).sum())  # monotone
        if not found:
            raise Unproven("a message that its codec does not make")
        return _hulls.reduce(found)


def _up_to(u: Any) -> Any:
    """P(Laplace(1) ≤ u)."""
    return (np.exp(-_positive(-u)) + 1 - np.exp(-_positive(u))) / 2


class _Chosen:
    """One of some options by coins: whom a message goes to, which is seen, and nothing else."""

    def __init__(self, option: int) -> None:
        self.option = option


for _name in ("eq", "hash", "bool", "float", "int", "index", "str", "repr", "format"):
    setattr(_Chosen, f"__{_name}__", lambda *_: _end("what coins choose is more than a receiver"))


class _Coins(FollowedCoins):
    """The agent's coins; `routes` has tossed those alone that chose receivers, which are seen."""

    def __init__(self, state: Any) -> None:
        bits, self.routes = np.random.PCG64(), np.random.Generator(np.random.PCG64())
        bits.state = self.routes.bit_generator.state = state
        super().__init__(bits)

    def choose(self, options: Any) -> Any:
        self.routes.integers(len(options))
        return _Chosen(options[int(self.integers(len(options)))])

    def subset(self, total: int, size: int) -> Any:
        _end(f"batches ({size} of {total} records) are not read here")


class _Node(SimpleNamespace):
    """The port of `netsim.node`, fed from the file; what is `proven` by what the code sends, or `why` it ended."""

    def __init__(self, file: Any, bound: float | None) -> None:
        super().__init__(**file.port, proven="", total=_ball(0), best=None, activation=1, weight=_ball(0))
        self.regularizer, self._file, self._bound = SimpleNamespace(proximal=self._threshold), file, bound
        self._made, self._carried = list[Any](), set[int]()
        self._counts, self._room = {"exchange": 0, "direct": 0}, 0.0
        self._direct = deque(row for row in file.received if row["kind"] == "direct")
        self.coins = _Coins(file.coins)
        _ended.clear()
        coroutine = file.algorithm.run(self)
        try:
            coroutine.send(None)
            _ended.append("the code awaits something that is not the node's")
        except (StopIteration, Stopped):
            pass
        except Exception as error:
            _ended.append(_line(error))
        finally:
            coroutine.close()
        self.why = _ended[0] if _ended else ""
        if isinstance(self.why, Unproven):
            raise self.why

    def __getattr__(self, name: str) -> Any:
        _end(f"node.{name} is not read here")

    def _vector(self, x: Any) -> Any:
        if _ended:  # and the code went on
            raise Stopped
        if np.shape(x) != self.shape:
            _end(f"the code has a vector of shape {np.shape(x)}, not {self.shape}")
        return _balls(x)

    def zeros(self) -> Any:
        return _balls(np.zeros(self.shape))

    def estimate(self, x: Any) -> None:  # noqa: ARG002
        self.activation += 1

    async def gradient(self, x: Any, batch: Any = None) -> Any:
        return self._file.objectives.gradient(self._vector(x)) if batch is None else _end("batches are not read here")

    def _threshold(self, v: Any, step: float) -> Any:
        """The proximal map of l1 ‖x‖₁ + square ‖x‖²."""
        l1, square = (step * weight for weight in self._file.regularizer)
        return v if l1 == square == 0 else (_positive(v - l1) - _positive(-v - l1)) / (1 + 2 * square)

    def privatize(self, value: Any, mechanism: Any, shared: Any = None, draw: Any = None) -> Any:  # noqa: ARG002
        law, t, file = type(mechanism), len(self._made), self._file
        if law not in (Laplace, Gaussian, UniformLaplace) or shared is not None:
            _end(f"noise that is {law.__name__}, or shared, is not read here")
        if mechanism.noiseless:
            return value
        if t == len(file.releases):
            _end()
        scale = np.asarray(mechanism.stddev if law is Gaussian else mechanism.scale, dtype=np.float64)
        scale, value = np.broadcast_to(scale, self.shape)[0], self._vector(value)
        if law is UniformLaplace and any(width != 0 for width in self._vector(mechanism.width)[0]):
            _end("noise that is in part uniform is not read here")
        said, release = file.laws[t], _Release(law=law, scale=scale, value=value[0], seen=file.releases[t])
        if said["law"] != law.__name__ or not np.allclose(said["scale"], scale, rtol=1e-12, atol=0):
            _end(Unproven(f"release {t}: the code draws {law.__name__}({scale[0]}), not {said['law']!r}"))
        # with a codec, no reader knows the release itself: it may be any number
        made = np.where(scale > 0, _boxes(release.seen) if file.codec is None else 1 / _hull(-1, 1), value)
        self._made.append((made, [*made[0]], release))
        return made

    def _put(self, kind: str, to: int, values: dict[str, Any]) -> Message:
        number, file = self._counts[kind], self._file
        row, what = file.sent.get((kind, number)), f"{kind} message {number}"
        vectors = {name: self._vector(v)[0] for name, v in values.items()}
        if row is None or self.activation > file.activations:
            _end()
        self._counts[kind] += 1
        self._taken(row)
        try:
            receiver = to.option if type(to) is _Chosen else int(to)
            if receiver != row["receiver"] or values.keys() != row["values"].keys():
                raise Unproven("the code sends other fields, or to others, than the file has")
            self._judge(what, row["values"], values, vectors)
        except Exception as error:
            why = str(error) if isinstance(error, Unproven) else _line(error)
            _end(Unproven(f"{what}: {why}"))
        if self.proven or file.codec is not None:  # receivers have codes: what follows is no function of these
            _end()
        return Message(self.id, kind, number, values)

    def _judge(self, what: str, seen_values: Any, values: Any, vectors: Any) -> None:
        """What is proven by one more message."""
        file, ts = self._file, dict[str, int]()
        for t, (made, own, _) in enumerate(self._made):  # as it was made, and not altered since
            ts |= {name: t for name, v in values.items() if v is made and all(map(is_, made[0], own))}
        if set(range(len(self._made))) - self._carried - {*ts.values()}:
            _end("there is a release that is not on the wire as it was made")
        for name, value in vectors.items():
            seen = seen_values[name]
            if name in ts:
                release = self._made[ts[name]][2]
                if file.codec is None and (seen != release.seen).any():
                    raise Unproven(f"{name!r} is not the release that the code sends there")
                if ts[name] not in self._carried:
                    self.total = self.total + release.loss(seen, file.codec)
                    if ts[name] in file.shifts:
                        self.weight = self.weight + release.log_weight(file.theta, file.shifts[ts[name]])
                elif file.codec is not None:
                    raise Unproven("two codes of one release are not read here")
                self._carried.add(ts[name])
                value, seen = value[release.scale == 0], seen[release.scale == 0]
            elif file.codec is not None:
                raise Unproven(f"{name!r} has a codec and no noise, which is not read here")
            for x, y, z in zip(_heres(value), _theres(value), seen, strict=True):
                if not (_less(abs(x - z), self._room) or x == z):
                    raise Unproven(f"the code does not send the file's {name!r}: {x.text}, not {z!r}")
                if _less(x, y) or _less(y, x):
                    if not _less(self._room, abs(y - z)):
                        raise Unproven(f"{name!r} differs by no more than floats round")
                    differs = f"unprotected: {name!r} of {what}: {x.text} in one world, {y.text} in the other"
                    self.proven = self.proven or differs
        if self.proven:
            return
        self.best = self.total if self.best is None or _less(self.best, self.total) else self.best
        if self._bound is not None and _less(self._bound, self.total):
            self.proven = f"refuted: L ∈ {self.total.text} > ε = {file.claim['epsilon']!r}"

    def _taken(self, row: Any) -> Message:
        self._room = max([self._room, *(SLACK * np.abs(v).max() for v in row["values"].values())])
        arrays = {name: _boxes(v[None]) for name, v in row["values"].items()}
        return Message(row["sender"], row["kind"], row["number"], arrays)

    async def exchange(self, **values: Any) -> Exchange:
        own = self._put("exchange", -1, values)
        rows = {r["sender"]: r for r in self._file.received if (r["kind"], r["number"]) == ("exchange", own.number)}
        if set(rows) != set(self.neighbors):
            _end()
        return Exchange(self, own, {j: self._taken(rows[j]) for j in self.neighbors})

    def send(self, to: int, **values: Any) -> None:
        self._put("direct", to, values)

    broadcast = partialmethod(send, -1)

    async def receive(self) -> Message:
        return self._taken(self._direct.popleft()) if self._direct else _end()


# ── what is proven ──────────────────────────────────────────────────────────────────────────────────────
class _File(SimpleNamespace):
    """A witness, as far as it is read."""

    def __init__(self, tree: Any, source: ModuleType | None) -> None:
        proof, record, change, claim = tree["proof"], tree["transcript"], tree["pair"]["change"], tree["claim"]
        if tree["format"] != "netsim witness" or tree["scenario"].get("active_adversaries") or "missing" in proof:
            raise Unproven(proof.get("missing", "no witness, or one with an active adversary, of which no claim is"))
        self.setting, self.algorithm = _built(proof["setting"]), _built(proof["algorithm"], source)
        # readings of a paper, and versions, are texts
        self.named = ", ".join(f"{key} {v!r:.60}" for key, v in proof["algorithm"].items() if isinstance(v, str))
        self.codec, own = _built(proof["codec"]), self.algorithm.codec
        if own is not None and self.codec != (None if own.lossless else own):
            raise Unproven("proof.codec: not the one of the algorithm")
        self.activations, agent, neighbors = tree["activations"], tree["agent"], tuple(proof["neighbors"])
        d, agents = self.setting.dimension, self.setting.agents
        if {*map(type, (self.activations, agent, *neighbors))} != {int} or self.activations < 1:
            raise Unproven("agent, activations, proof.neighbors: no whole numbers")
        if self.algorithm.horizon not in (None, self.activations):
            raise Unproven(f"activations: {self.activations}, and an agent has {self.algorithm.horizon} of them")
        if len({agent, *neighbors} & {*range(agents)}) != 1 + len(neighbors):
            raise Unproven("agent, proof.neighbors: no agents, or one of them twice")
        weights = _numbers(proof["weights"], 1 + len(neighbors), "proof.weights")
        l1_and_square = _numbers(proof["regularizer"], 2, "proof.regularizer")
        if abs(weights.sum() - 1) > SLACK or min([*weights, *l1_and_square]) < 0:
            raise Unproven("proof.weights, regularizer: no row of a mixing matrix, or a weight below 0")
        self.regularizer = _balls(l1_and_square)
        self.setting = replace(self.setting, regularized=self.setting.regularized or bool(l1_and_square.any()))
        if (near := proof.get("graph")) is not None:  # all neighbors of all agents
            links = {(i, j) for i, row in enumerate(near) for j in row if type(j) is int and i != j}
            if len(near) != agents or links != {(j, i) for i, j in links} or (*near[agent],) != neighbors:
                raise Unproven("proof.graph: not the neighbors of all agents, or others than proof.neighbors")
            near = SimpleNamespace(agents=agents, neighbors=near.__getitem__, degrees=[*map(len, near)])
            self.setting = replace(self.setting, topology=near)
        self.port = {"id": agent, "agents": agents, "neighbors": neighbors, "weights": _balls(weights), "replicas": 1}
        self.port |= {"shape": (1, d), "dimension": d, "records": self.setting.records[agent]}
        rows, once, self.rows = {"sent": list[Any](), "received": list[Any]()}, dict[Any, Any](), list[Any]()
        for row in record["rows"]:
            if row["event"] not in rows or row["kind"] not in ("exchange", "direct"):
                raise Unproven("transcript.rows: neither sent nor received, as an exchange that a deadline closed")
            here, there = (row["sender"], row["receiver"])[:: 1 if row["event"] == "sent" else -1]
            whole = {type(row["number"]), type(here), type(there)} == {int}
            if not whole or here != agent or there not in (-1, *neighbors):
                raise Unproven(f"transcript.rows: not between agent {agent} and a neighbor")
            if once.setdefault((row["sender"], row["kind"], row["number"]), row["values"]) != row["values"]:
                raise Unproven(
                    f"transcript.rows: two messages are {row['kind']} {row['number']} of agent {row['sender']}"
                )
            values = {name: _numbers(v, d, "values") for name, v in row["values"].items()}
            rows[row["event"]].append(row | {"values": values})
            self.rows.append(rows[row["event"]][-1])
        sent, self.received = rows.values()
        self.sent = {(row["kind"], row["number"]): row for row in sent}
        self.releases = [
            _numbers(v, d, "releases") if isinstance(v, list) else sent[v["message"]]["values"][v["field"]]
            for v in record["releases"]
        ]
        self.sample, self.theta, self.shifts = tree.get("sample"), 0.0, dict[int, Any]()
        if self.sample is not None:
            self._read_sample(tree, d)
        worlds = change.get("worlds", [None, change])[:: (1, -1)[tree["world"]]]
        self.objectives, self.laws = _Objectives(proof["objective"], worlds, d), tree["account"]["releases"]
        coins, halves = record["coins"], ("has_uint32", "uinteger")
        if any(type(coins[k]) is not int or not 0 <= coins[k] < 2**32 for k in halves):
            raise Unproven("transcript.coins: no state of PCG64")
        self.coins = {**coins, "bit_generator": "PCG64", "state": {k: int(coins[k], 16) for k in ("state", "inc")}}
        self.claim, adjacency = claim, claim["adjacency"]
        self.stated = adjacency | {"curvature_change": (bend := float(adjacency["curvature_change"]))}
        sizes = [one for one in (adjacency["change"], claim["epsilon"]) if one is not None]
        sizes += [adjacency["gradient_change"], adjacency["bending"], claim["delta"]]
        least = min(_numbers(sizes, len(sizes), "claim"))
        if least < 0 or not bend >= 0 or claim["delta"] >= 1 or claim.get("standpoint") is not None:
            raise Unproven("claim: a number below 0, δ ≥ 1, or of what some listeners alone see")

    def _read_sample(self, tree: Any, d: int) -> None:
        """A set: numbers of all transcripts but the first, in the order of its rows, and the law they have."""
        sample, count, named = self.sample, self.sample["transcripts"], tree["transcript"]["releases"]
        if type(count) is not int or not 1 <= count <= MOST or self.codec is not None:
            raise Unproven("sample.transcripts: no number of transcripts, or a codec, which is not read here")
        if any(not isinstance(v, dict) for v in named) or len(self.sent) > self.activations:
            raise Unproven("sample: a release that is not on the wire, or more messages than the claim is of")
        found = np.frombuffer(base64.b64decode(sample["numbers"], validate=True), dtype="<f8")
        if not (np.abs(found) < 1e300).all():
            raise Unproven("sample.numbers: numbers that are not finite, or too large")
        self.wire = [(row["values"], name) for row in self.rows for name in row["values"]]
        self.others = found.astype(np.float64).reshape(count - 1, len(self.wire), d)
        self.places = [(v["message"], v["field"]) for v in named]
        if (tilting := sample["tilting"]) is not None:
            self.theta = float(_numbers([tilting["theta"]], 1, "sample.tilting.theta")[0])
            self.shifts = {int(t): _numbers(v, d, "sample.tilting.shifts") for t, v in tilting["shifts"].items()}
        if tree["world"] not in (0, 1) or tree["chunk"] != (TILTED if tilting else 0) or tree["replica"] != 0:
            raise Unproven("chunk, replica: a set is of the first chunk of its world, or of that of tilted noise")
        if self.theta < 0 or not {*self.shifts} <= {*range(len(self.releases))}:
            raise Unproven("sample.tilting: θ < 0, or a shift of no release")
        audit, seed = tree["scenario"]["audit"], tree["scenario"]["seed"]
        self.confidence, draw = audit["confidence"], audit.get("draw", 0)
        self.drawn = f"world {tree['world']}, chunk {tree['chunk']} of seed {seed!r:.40}, draw {draw!r:.40}"

    def claimed(self, slack: float) -> Any:
        """The claim by the algorithm's own formula; of bounds that are as much larger, and hold in both worlds."""
        more, setting, i = 1 + slack, self.setting, self.port["id"]
        larger = ("gradient_change", "change", "curvature_change") if slack else ()
        stated = {k: v * more if k in larger and v is not None else v for k, v in self.stated.items()}
        high, low, bend = ([*v] for v in (setting.smoothness, setting.strong_convexity, setting.weak_convexity))
        if slack:
            least, largest = self.objectives.curvature()
            high[i], low[i] = max(high[i], largest), min(low[i], max(0.0, least))
            bend[i] = max(bend[i], 0.0, -least)
        curvatures = {"smoothness": tuple(L * more for L in high), "strong_convexity": tuple(mu / more for mu in low)}
        setting = replace(setting, releases=self.activations, **curvatures, weak_convexity=tuple(bend))
        self.algorithm.check(setting)
        return self.algorithm.claim(Adjacency(**stated), setting.loosened(stated["bending"]), self.claim["delta"])

    def check_pair(self) -> None:
        """The worlds are adjacent as the claim has it."""
        stated, (moves, bends) = self.stated, self.objectives.apart()
        if stated["constant"] and len(moves) > 1:
            raise Unproven("pair.change: not adjacent: the gradients differ by more than a constant vector")
        sizes = [("curvature", stated["curvature_change"], bend) for bend in bends]
        for v in map(np.abs, moves):
            norms = {"l1": [v.sum()], "l2": [np.sqrt((v * v).sum())], "linf": v}
            sizes += [("l2", stated["gradient_change"], size) for size in norms["l2"]]
            sizes += [(stated["norm"], stated["change"], size) for size in norms[stated["norm"]]]
        for what, bound, size in sizes:
            if bound not in (None, math.inf) and not _less(size, bound * (1 + SLACK)):
                raise Unproven(f"pair.change: not adjacent: the gradients differ by more than {bound} in {what}")

    def reading(self, bound: float | None, known: bool) -> Any:
        """What the code does, twice; `known`: the claim holds for who knows the agent's coins."""
        node, again = _Node(self, bound), _Node(self, bound)
        if (node.proven, node.total.text, node.weight.text) != (again.proven, again.total.text, again.weight.text):
            raise RuntimeError("the code does something else when it is run again: it keeps state")
        if node.coins.bit_generator.state != node.coins.routes.bit_generator.state and not known:
            raise Unproven("the claim counts on the agent's coins, which are known here")
        return node

    def refuted_by_set(self, bound: float | None, known: bool) -> str:
        """What a set proves of a claim at δ > 0."""
        sample, delta, count = self.sample, self.claim["delta"], 1 + len(self.others)
        lower, confidence = map(float, _numbers([sample["lower"], self.confidence], 2, "sample.lower, confidence"))
        if bound is None or not delta > 0 or not 0.9 <= confidence < 1:
            raise Unproven(f"a set refutes no claim of δ = 0 or without ε, and none at a confidence of {confidence}")
        if not lower > bound:
            raise Unproven(f"sample.lower = {lower!r} is not above ε = {bound!r}")
        stored = [[1e299 if v == "inf" else v for v in sample[name]] for name in ("losses", "log_weights")]
        losses, weights = (_numbers(one, count, "sample.losses, log_weights") for one in stored)
        wealths, seen = [_ball(1) for _ in STAKES], set[bytes]()
        for k in range(count):
            if k:
                for (values, name), numbers in zip(self.wire, self.others[k - 1], strict=True):
                    values[name] = numbers
            once = dict[Any, Any]()
            for row in self.rows:
                same = once.setdefault((row["sender"], row["kind"], row["number"]), row["values"])
                if any((same[name] != value).any() for name, value in row["values"].items()):
                    raise Unproven(f"transcript {k}: two messages are {row['kind']} {row['number']}")
            sent = [row["values"] for row in self.rows if row["event"] == "sent"]
            self.releases = [sent[message][name] for message, name in self.places]
            if seen & (new := {one.tobytes() for one in self.releases}):
                raise Unproven(f"transcript {k} has a release of another one: no two draws are the same")
            seen |= new
            node = self.reading(None, known)
            bare = bool(node.proven)
            if not bare and (sum(node._counts.values()), len(node._made)) != (len(sent), len(self.releases)):
                raise Unproven(f"transcript {k} is not read to its end: {node.why}")
            off = [abs(node.weight - weights[k]), *([] if bare else [abs(node.total - losses[k])])]
            if bare != bool(losses[k] == 1e299) or False in (near := [_less(one, ROUNDED) for one in off]):
                found = f"{node.total.text} with ln w in {node.weight.text}"
                raise Unproven(f"transcript {k} has another loss or weight than the file has: {found}")
            if None in near:
                _undecide(f"the loss of transcript {k} is in {node.total.text}")
            gain = np.exp(node.weight) * (_ball(1) if bare else _cut(1 - np.exp(lower - node.total))) / delta - 1
            wealths = [wealth * (1 + stake * gain) for wealth, stake in zip(wealths, STAKES, strict=True)]
        wealth, asked = sum(wealths[1:], wealths[0]) / len(STAKES), LAWS * self.activations / (1 - _ball(confidence))
        if not _less(asked, wealth):
            raise Unproven(f"no proof of ε ≥ {lower!r}: the wealth is in {wealth.text}, and {asked.text} is asked")
        return (
            f"refuted at confidence {confidence!r}: ε ≥ {lower!r} > ε = {bound!r} at δ = {delta:g}, given routes and "
            f"delays; proven: {count} transcripts multiply a bet on it by {wealth.text}, {asked.text} is asked; "
            f"statistical: where it is false they do with probability {1 - confidence:.3g} at most; trusted, for no "
            f"file shows it: they are the first of {self.drawn}, their noise has the laws that code and file have, "
            "and nobody chose pair, tilt, seed or draw by what came of it"
        )

    def proof(self) -> str:
        """What is proven."""
        self.check_pair()
        epsilon, delta = self.claim["epsilon"], self.claim["delta"]
        exact, loose = self.claimed(0.0), self.claimed(SLACK)
        bound, source = None, exact.source if exact else "as the file states it"
        what = f"{self.named}; the worlds differ in {self.objectives.differ()}"
        if (delta == 0 or self.sample is not None) and epsilon is not None:
            if exact and not (
                exact.epsilon and abs(exact.epsilon / epsilon - 1) <= 1e-12 and {exact.delta, loose.delta} == {delta}
            ):
                raise Unproven(f"claim.epsilon: {epsilon!r}, and the algorithm's formula has {exact.epsilon!r}")
            if exact and not (loose.epsilon is not None and loose.epsilon >= 0):  # NaN is not
                raise Unproven(f"claim: not in both worlds: {loose.failed_conditions}")
            if exact and exact.waived_conditions:
                source += f"; stated by the theorem, and not so here: {'; '.join(exact.waived_conditions)}"
            bound = max(epsilon, loose.epsilon) if exact else epsilon * (1 + SLACK)
        known = bool(exact) and exact.coins == "known"
        if self.sample is not None:
            return f"{self.refuted_by_set(bound, known)} ({source}; {what})"
        node = self.reading(bound, known)
        if node.proven.startswith("unprotected"):
            alone = f"in this transcript: no claim of δ = {delta:g} is refuted by one; " * (delta > 0)
            return f"{node.proven} ({alone}{what})"
        if node.proven:
            return f"{node.proven} ({source}; {what})"
        ends = f" (read until: {node.why})" * bool(node.why)
        if node.best is None:
            raise Unproven(f"no message can be read. {node.why}")
        if bound is None:
            raise Unproven(f"one loss, {node.best.text}, refutes no claim of {'δ > 0' if delta else 'no ε'}{ends}")
        if _less(bound, node.best) is None:
            _undecide(f"L = {node.best.text} and ε = {epsilon!r}")
        raise Unproven(f"L = {node.best.text} is not above ε = {epsilon!r}{ends}")


def prove(tree: Any, source: ModuleType | None = None) -> str:
    """What a witness proves, in one line. `Unproven` where it proves nothing."""
    why = Unproven()
    for bits in PRECISIONS:
        flint.ctx.prec = bits
        _undecided.clear()
        try:
            with np.errstate(all="ignore"):
                return _File(tree, source).proof()
        except Stopped:
            why = Unproven(f"undecided with {bits} bits: {_undecided[-1]}")
        except Unproven as error:
            why = error
        except Exception as error:
            raise Unproven(f"a malformed file, or code that cannot be read ({_line(error)})") from None
        if not _undecided:
            break
    raise why


def main(arguments: list[str]) -> int:
    """Read FILE [--algorithm FILE.py], print one line."""

    def late(*_: Any) -> Any:  # nothing catches it
        print(f"Not proven: more than {SECONDS} s.", flush=True)
        os._exit(1)

    try:
        tree, source = json.loads(Path(arguments[0]).read_text(encoding="utf-8")), None
        if arguments[1:2] == ["--algorithm"]:
            spec = importlib.util.spec_from_file_location("algorithm", arguments[2])
            source = importlib.util.module_from_spec(spec)
            sys.modules["algorithm"] = source
            spec.loader.exec_module(source)
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, late)
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
        print("Proven.", prove(tree, source))
        return 0
    except Unproven as error:
        print(f"Not proven: {error}.")
        return 1
    except (OSError, ValueError, RecursionError, IndexError) as error:
        print(f"No witness: {type(error).__name__}: {error}.")
        return 2
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
