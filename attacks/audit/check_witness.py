"""Proof of a witness in ball arithmetic, by one file that runs alone: python check_witness.py FILE

A witness is one transcript at an agent's door. The agent's own coroutine is run on it in both worlds, on arrays of
balls (intervals that hold the exact real number: python-flint's `arb`, else mpmath's `iv`). Proven is one of two:

- *refuted*, at δ = 0: L = Σ_t ln p(release_t | D)/p(release_t | D') is in [a, b], a > ε;
- *unprotected*: the enclosures of one value that no noise protects are disjoint in the two worlds (at δ > 0: in this
  transcript; in how many of them, one cannot say).

Recorded numbers are boxes of relative width 2⁻⁹⁹, so it holds of an open set of transcripts. Public parameters are
exact, the code is real arithmetic. A value without noise may differ from the recorded one by `SLACK`: floats made
that. The claim is computed from bounds on curvature that hold in both worlds; these and the adjacency's are taken as
much larger, or ε itself where the algorithm has no formula. Where balls that overlap are compared, a ball is made a
float, the record ends, or something is asked for that is not read here, the reading ends, even if the code catches
the exception; what was sent before counts. Worlds are read in the order D, D', D', D, and must be the same again.

Trusted: this file; the ball library; Python and NumPy, which move balls; LAPACK's eigenvalues, for the claim's L; the
algorithm's file and what it imports: that it does not look at where, or how often, it is run. Of netsim that is
`algorithms.algorithm`, `node` (`Exchange`: sums over neighbors), `mechanisms` (names of laws), `claims`, `schedules`,
`codecs`, `transcript.message` and their imports; no simulation, objective, replay or audit: gradients, densities and
laws of codes are written again below.

Not proven: that samplers, which make floats, follow the declared laws; that other agents send such messages (what was
received is taken as recorded); that the algorithm's file is the paper's; what the file says of other agents'
objectives, and of W but for its row; that the data are the named data set's (`netsim witness FILE --prove` builds
them anew). The seal is not looked at: what is proven is of the file as it is. Exit status: 0 proven, 1 not proven, 2
no witness.
"""
# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# (no type says that an array holds balls)

import importlib.util
import json
import math
import os
import signal
import sys
from collections import deque, namedtuple
from dataclasses import is_dataclass, replace
from functools import partialmethod
from operator import is_
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

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
MESSAGES = 2, 10**6  # read up to so many; the first are enough for most messages that nothing protects
SLACK = 2.0**-30  # relative, for floats: of the largest recorded number so far, or of a bound
MOST, SECONDS = 10**6, 100
CODE = "netsim.algorithms.", "netsim.schedules", "netsim.codecs", "netsim.claims", "netsim.models.model"


class Unproven(Exception):  # noqa: N818
    """Why a file proves nothing."""


class _Unseen(Unproven):
    """Nothing is proven by the messages that were read."""


class Stopped(BaseException):  # code that catches exceptions does not catch it
    """A reading ends."""


_ended: list[str] = []  # why the reading of one world ended: code that catches `Stopped` and goes on is not read
_undecided: list[str] = []  # what balls that are too wide left open, with so many bits


def _end(why: str = "") -> Any:
    _ended.append(why)
    raise Stopped


def _undecide(why: str) -> Any:
    _undecided.append(why)
    _end(why)


# ── balls ───────────────────────────────────────────────────────────────────────────────────────────────
class Ball:
    """A real number somewhere in a ball. It is ordered only where balls do not overlap, and is no float."""

    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x

    def computed(self, *other: Any, name: str) -> Any:
        if other and not isinstance(other[0], Ball | int | float | np.integer | np.floating):
            return NotImplemented  # an array does it for each of its elements
        power = "pow" in name and type(other[0]) is int
        return Ball(getattr(self.x, name)(*(one if power else _ball(one).x for one in other)))

    def compared(self, other: Any, swap: bool, no: bool) -> bool:
        less = _less(other, self) if swap else _less(self, other)
        return _undecide("balls that overlap were compared") if less is None else less is not no

    def __eq__(self, other: object) -> bool:
        less, more = _less(self, other), _less(other, self)
        return less is more is False or (not (less or more) and _undecide("balls that overlap were compared"))

    def __bool__(self) -> bool:
        return self != 0

    def conjugate(self) -> "Ball":
        return self

    @property
    def text(self) -> str:
        low, high = float(self.x.lower()), float(self.x.upper())
        return f"[{math.nextafter(low, -math.inf):.17g}, {math.nextafter(high, math.inf):.17g}]"


for _name in ("add", "sub", "mul", "truediv", "radd", "rsub", "rmul", "rtruediv", "pow", "neg", "abs"):
    setattr(Ball, f"__{_name}__", partialmethod(Ball.computed, name=f"__{_name}__"))
for _name in ("exp", "log", "sqrt"):  # NumPy calls them
    setattr(Ball, _name, partialmethod(Ball.computed, name=_name))
for _name, _swap, _no in (("lt", False, False), ("ge", False, True), ("gt", True, False), ("le", True, True)):
    setattr(Ball, f"__{_name}__", partialmethod(Ball.compared, swap=_swap, no=_no))
for _name in ("float", "int", "index", "complex", "round", "floor", "format", "str", "repr", "reduce_ex"):
    setattr(Ball, f"__{_name}__", lambda *_: _undecide("a ball was used as a float, an index or a text"))


def _ball(x: Any) -> Any:
    """The number itself."""
    if isinstance(x, Ball):
        return x
    if not isinstance(x, int | float | np.integer | np.floating) or not abs(x) < math.inf:
        raise TypeError(f"{type(x).__name__} beside a ball")
    return Ball(flint.arb(int(x) if isinstance(x, int | np.integer) else float(x)))


def _hull(x: Any, y: Any) -> Ball:
    return Ball(_ball(x).x.union(_ball(y).x))


def _box(x: float) -> Ball:
    """A recorded number, and what is near it."""
    wide = max(abs(float(x)), 1e-30) * 2.0**-100
    return _hull(-wide, wide) + float(x)


def _less(x: Any, y: Any) -> bool | None:
    """Whether x < y; None where the balls do not say."""
    x, y = _ball(x).x, _ball(y).x
    return True if bool(x.upper() < y.lower()) else False if bool(x.lower() >= y.upper()) else None


def _cut(x: Ball) -> Ball:
    """max(x, 0)."""
    return {True: x, False: _ball(0), None: _hull(x, 0)}[_less(0, x)]


_balls: Any = np.frompyfunc(_ball, 1, 1)
_boxes: Any = np.frompyfunc(_box, 1, 1)
_positive: Any = np.frompyfunc(_cut, 1, 1)
_hulls: Any = np.frompyfunc(_hull, 2, 1)


# ── what the file has ───────────────────────────────────────────────────────────────────────────────────
def _numbers(tree: Any, length: int, path: str) -> Any:
    if type(tree) is not list or len(tree) != length or any(type(v) not in (int, float) for v in tree):
        raise Unproven(f"{path}: not {length} numbers")
    if not (np.abs(found := np.array(tree, dtype=np.float64)) < 1e300).all():
        raise Unproven(f"{path}: numbers that are not finite, or too large")
    return found


def _whole(tree: Any, least: int, most: int, path: str) -> int:
    if type(tree) is not int or not least <= tree <= most:
        raise Unproven(f"{path}: {tree!r:.40} is no whole number from {least} to {most}")
    return tree


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


class _Objective:
    """Σ_s ℓ(a_s·x, b_s)/mass + ridge/2 ‖x‖² + Σ_t λω x_t²/(1 + ω x_t²) + ⟨slope, x⟩, λ = weight, ω = shape."""

    def __init__(self, tree: Any, change: Any, d: int) -> None:
        rows, answers, change = [*tree["features"]], [*tree["answers"]], change or {}
        if tree["loss"] not in ("least squares", "logistic") or change.get("moved", "Tilted") != "Tilted":
            raise Unproven(f"no gradient in balls: {tree['loss']!r:.40}, moved {change.get('moved')!r:.40}")
        for name, one in change.get("records", {}).items():
            for k, value in zip(one["rows"], one["values"], strict=True):
                (rows if name == "features" else answers)[k] = value
        self.rows = np.array([_numbers(row, d, "features of a record") for row in rows])
        self.answers, self.logistic = _numbers(answers, len(rows), "answers of records"), tree["loss"] == "logistic"
        self.slope = _numbers(change.get("slope", [0.0] * d), d, "pair.change.slope")
        self.public = _numbers([tree[name] for name in ("mass", "ridge", "weight", "shape")], 4, "proof.objective")
        if self.public[0] <= 0 or min(self.public) < 0 or (self.logistic and (abs(self.answers) != 1).any()):
            raise Unproven("proof.objective: a parameter is negative, or a label neither −1 nor 1")
        self.balls = [_balls(v) for v in (self.rows, self.answers, self.slope, self.public)]

    def gradient(self, x: Any) -> Any:
        """∇f(x)."""
        A, b, slope, (mass, ridge, weight, w) = self.balls
        z = A @ x[0]
        z = -b / (1 + np.exp(b * z)) if self.logistic else z - b
        bent = 2 * weight * w * x / (1 + w * x * x) ** 2 if self.public[2] else 0
        return z @ A / mass + ridge * x + bent + slope

    def curvature(self) -> tuple[float, float]:
        """Bounds on the eigenvalues of ∇²f, everywhere."""
        mass, ridge, weight, w = self.public
        squares = np.linalg.eigvalsh(self.rows.T @ self.rows) / mass
        rounded = SLACK * squares[-1]
        low, high = (0.0, squares[-1] / 4) if self.logistic else (squares[0] - rounded, squares[-1])
        return low + ridge - weight * w / 2, high + rounded + ridge + 2 * weight * w

    def apart(self, other: "_Objective") -> tuple[list[Any], Any]:
        """Vectors whose convex hull holds ∇f' − ∇f at every x, and bounds on the eigenvalue that ∇²f may lose."""
        changed = (self.rows != other.rows).any(axis=1) | (self.answers != other.answers)
        (A, b, slope, (mass, *_)), (C, c, tilt, _) = self.balls, other.balls
        tilt = tilt - slope
        if not self.logistic and (self.rows == other.rows).all():
            return [(b - c) @ A / mass + tilt], []
        if not changed.any():
            return [tilt], []
        if changed.sum() > self.logistic:
            raise Unproven("pair.change: no bound on how far the worlds' gradients are apart")
        one, two = b[changed] @ A[changed] / mass, c[changed] @ C[changed] / mass
        squares = ((np.concatenate((A[changed], C[changed])) ** 2).sum(axis=1)) / (4 * mass)
        return [tilt, tilt + one, tilt - two, tilt + one - two], squares


# ── what the code does ──────────────────────────────────────────────────────────────────────────────────
class _Release(SimpleNamespace):
    """One release: law, scale, value, and what was seen of it, a number a coordinate."""

    def log_density(self, x: Any, on: Any) -> Any:
        """ln p(x) of the coordinates `on`, but for what is the same for all of this law."""
        s, t = _balls(self.scale[on]), _boxes(x)[on] - self.value[on]
        return -((t / s) ** 2) / 2 - np.log(s) if self.law is Gaussian else -np.abs(t / s) - np.log(2 * s)

    def loss(self, other: "_Release", seen: Any, codec: Any) -> Ball:
        """ln p(seen | D)/p(seen | D') of a release, or of the code of it that receivers have."""

        def at(x: Any, on: Any) -> Any:
            return self.log_density(x, on) - other.log_density(x, on)

        if codec is None:
            return at(seen, self.scale > 0).sum()
        alike = self.law is other.law is Laplace and (self.scale == other.scale).all() and self.scale.all()
        if not alike or not seen.any() or type(codec) not in (TopK, Quantizer):
            raise Unproven(f"a code by {type(codec).__name__}, of {self.law.__name__} noise, is not read here")
        if type(codec) is TopK:  # the others are no larger than the least that is sent
            if np.count_nonzero(seen) != codec.kept(len(seen)):
                raise Unproven("a message that its codec does not make")
            out, least = seen == 0, _box(np.abs(seen[seen != 0]).min())
            inside = [(s - r.value[out]) / r.scale[out] for r in (self, other) for s in (-least, least)]
            low, high, less, more = map(_up_to, inside)
            return at(seen, ~out).sum() + np.log((high - low) / (more - less)).sum()
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
            found.append(_hulls(at(step * low, levels >= 0), at(step * high, levels >= 0)).sum())  # monotone
        if not found:
            raise Unproven("a message that its codec does not make")
        return _hulls.reduce(found)


def _up_to(u: Any) -> Any:
    """P(Laplace(1) ≤ u)."""
    return (np.exp(-_positive(-u)) + 1 - np.exp(-_positive(u))) / 2


_Sent = namedtuple("_Sent", "place values made activation row room")  # a value that is a number: of that release


class _Coins(FollowedCoins):
    """The agent's coins; `routes` has tossed those alone that chose receivers, which are seen, of so many options."""

    def __init__(self, state: Any) -> None:
        bits, self.routes, self.options = np.random.PCG64(), np.random.Generator(np.random.PCG64()), list[int]()
        bits.state = self.routes.bit_generator.state = state
        super().__init__(bits)

    def choose(self, options: Any) -> Any:
        self.routes.integers(len(options))
        self.options.append(len(options))
        return options[int(self.integers(len(options)))]

    def subset(self, total: int, size: int) -> Any:
        _end(f"batches ({size} of {total} records) are not read here")


class _Node(SimpleNamespace):
    """The port of `netsim.node`, fed from the file; `events` are its releases and messages, `why` it was stopped."""

    def __init__(self, file: Any, objective: _Objective, most: int) -> None:
        super().__init__(**file.port, events=[], activation=1)
        self.regularizer, self._file, self._objective = SimpleNamespace(proximal=self._threshold), file, objective
        self._made, self._counts, self._most, self._room = list[Any](), {"exchange": 0, "direct": 0}, most, 0.0
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
            _ended.append(f"{type(error).__name__}: {' '.join(str(error).split())[:160]}")
        finally:
            coroutine.close()
        self.why = "".join(_ended[:1])

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
        return self._objective.gradient(self._vector(x)) if batch is None else _end("batches are not read here")

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
        self.events.append(_Release(law=law, scale=scale, value=value[0], seen=file.releases[t]))
        # with a codec, no reader knows the release itself: it may be any number
        seen = _boxes(file.releases[t]) if file.codec is None else 1 / _hull(-1, 1)
        made = np.where(scale > 0, seen, value)
        self._made.append((made, [*made[0]]))
        return made

    def _put(self, kind: str, to: int, values: dict[str, Any]) -> Message:
        number = self._counts[kind]
        row = self._file.sent.get((kind, number))
        if row is None or sum(self._counts.values()) == self._most:
            _end()
        found = {name: self._vector(v)[0] for name, v in values.items()}
        self._counts[kind] += 1
        self._taken(row)
        for t, (made, own) in enumerate(self._made):  # as it was made, and not altered since
            found |= {name: t for name, v in values.items() if v is made and all(map(is_, made[0], own))}
        place = kind, number, int(to), *self.coins.options
        self.events.append(_Sent(place, found, len(self._made), self.activation, row, self._room))
        if self._file.codec is not None:  # receivers have codes: what follows is no function of these
            _end()
        return Message(self.id, kind, number, values)

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
    """A witness, as far as it is read; `worlds` in the order D, D'."""

    def __init__(self, tree: Any, source: ModuleType | None) -> None:
        proof, record, change, claim = tree["proof"], tree["transcript"], tree["pair"]["change"], tree["claim"]
        if tree["format"] != "netsim witness" or tree["scenario"].get("active_adversaries") or "missing" in proof:
            raise Unproven(proof.get("missing", "no witness, or one with an active adversary, of which no claim is"))
        self.setting, self.algorithm = _built(proof["setting"]), _built(proof["algorithm"], source)
        self.codec, own, d, agents = (
            _built(proof["codec"]),
            self.algorithm.codec,
            self.setting.dimension,
            self.setting.agents,
        )
        if own is not None and self.codec != (None if own.lossless else own):
            raise Unproven("proof.codec: not the one of the algorithm")
        agent = _whole(tree["agent"], 0, agents - 1, "agent")
        self.activations = _whole(tree["activations"], 1, MOST, "activations")
        neighbors = tuple(_whole(j, 0, agents - 1, "proof.neighbors") for j in proof["neighbors"])
        weights = _numbers(proof["weights"], 1 + len(neighbors), "proof.weights")
        l1_and_square = _numbers(proof["regularizer"], 2, "proof.regularizer")
        if abs(weights.sum() - 1) > SLACK or max(abs(weights)) > 1 or min(l1_and_square) < 0:
            raise Unproven("proof.weights, regularizer: no row of a mixing matrix, or a weight below 0")
        if len({agent, *neighbors}) != len(weights):
            raise Unproven("proof.neighbors: an agent twice, or the agent itself")
        self.regularizer = _balls(l1_and_square)
        self.port = {"id": agent, "agents": agents, "neighbors": neighbors, "weights": _balls(weights), "replicas": 1}
        self.port |= {"shape": (1, d), "dimension": d, "records": self.setting.records[agent]}
        ends, rows = {"sent": ("sender", "receiver"), "received": ("receiver", "sender")}, list[Any]()
        for row in record["rows"]:
            if (
                row["event"] not in ends
                or row["kind"] not in ("exchange", "direct")
                or type(row["number"]) is not int
            ):
                raise Unproven("transcript.rows: neither sent nor received, as an exchange that a deadline closed")
            here, there = (row[end] for end in ends[row["event"]])
            if here != agent or there not in (-1, *neighbors) or {type(here), type(there)} != {int}:
                raise Unproven(f"transcript.rows: not between agent {agent} and a neighbor")
            rows.append(row | {"values": {k: _numbers(v, d, "values") for k, v in row["values"].items()}})
        sent, self.received = ([row for row in rows if row["event"] == event] for event in ends)
        self.sent = {(row["kind"], row["number"]): row for row in sent}
        self.releases = [
            _numbers(v, d, "releases") if isinstance(v, list) else sent[v["message"]]["values"][v["field"]]
            for v in record["releases"]
        ]
        worlds = [_Objective(proof["objective"], one, d) for one in change.get("worlds", [None, change])]
        self.worlds, self.laws = worlds[:: (1, -1)[tree["world"]]], tree["account"]["releases"]
        state = {k: int(record["coins"][k], 16) for k in ("state", "inc")}
        self.coins = {**record["coins"], "bit_generator": "PCG64", "state": state}
        self.claim = claim
        self.stated = claim["adjacency"] | {"curvature_change": float(claim["adjacency"]["curvature_change"])}
        sizes = [one for one in (self.stated["change"], claim["epsilon"]) if one is not None]
        sizes += [self.stated["gradient_change"], self.stated["bending"], claim["delta"]]
        if min(_numbers(sizes, len(sizes), "claim")) < 0 or claim["delta"] >= 1 or claim.get("standpoint"):
            raise Unproven("claim: a number below 0, δ ≥ 1, or of what some listeners alone see")

    def claimed(self, slack: float) -> Any:
        """The claim by the algorithm's own formula; of bounds that are as much larger, and hold in both worlds."""
        more, setting, i = 1 + slack, self.setting, self.port["id"]
        larger = ("gradient_change", "change", "curvature_change") if slack else ()
        stated = {k: v * more if k in larger and v is not None else v for k, v in self.stated.items()}
        high, low, bend = ([*v] for v in (setting.smoothness, setting.strong_convexity, setting.weak_convexity))
        if slack:
            least, largest = zip(*(world.curvature() for world in self.worlds), strict=True)
            high[i], low[i] = max(high[i], *largest), min(low[i], max(0.0, min(least)))
            bend[i] = max(bend[i], -min(least))
        curvatures = {"smoothness": tuple(L * more for L in high), "strong_convexity": tuple(mu / more for mu in low)}
        setting = replace(setting, releases=self.activations, **curvatures, weak_convexity=tuple(bend))
        self.algorithm.check(setting)
        return self.algorithm.claim(Adjacency(**stated), setting.loosened(stated["bending"]), self.claim["delta"])

    def check_pair(self) -> None:
        """The worlds are adjacent as the claim has it."""
        stated, (moves, bends) = self.stated, self.worlds[0].apart(self.worlds[1])
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

    def judged(self, here: _Node, there: _Node) -> tuple[str, Any]:
        """("unprotected", where), or ("refuted", L up to the message at which it is largest)."""
        total, best, carried, pairs, bare_at = _ball(0), None, set[int](), list[Any](), ""
        for a, b in zip(here.events, there.events, strict=False):
            if type(a) is not type(b):
                break
            if isinstance(a, _Release):
                if a.law is not b.law or ((a.scale > 0) != (b.scale > 0)).any():
                    break
                t, said = len(pairs), self.laws[len(pairs)]
                if said["law"] != a.law.__name__ or not np.allclose(said["scale"], a.scale, rtol=1e-12, atol=0):
                    raise Unproven(f"release {t}: the code draws {a.law.__name__}({a.scale[0]}), not {said['law']!r}")
                pairs.append((a, b))
                continue
            what, names = f"{a.place[0]} message {a.place[1]}", a.row["values"].keys()
            if a.place[2] != a.row["receiver"] or a.values.keys() != names:
                raise Unproven(f"{what}: the code sends other fields, or to others, than the file has")
            hidden = set(range(a.made)) - carried - {t for t in a.values.values() if isinstance(t, int)}
            if hidden:
                here.why = here.why or f"before {what} there is a release that is not on the wire as it was made"
            same = (a.place, a.made) == (b.place, b.made) and b.values.keys() == names
            if hidden or not same or a.activation > self.activations:
                break
            for name, one in a.values.items():
                two, seen = b.values[name], a.row["values"][name]
                if isinstance(one, int):
                    r, other = pairs[one]
                    if type(two) is not int or two != one or (self.codec is None and (seen != r.seen).any()):
                        raise Unproven(f"{what}: {name!r} is not the release that the code sends there")
                    if one not in carried:
                        total = total + r.loss(other, seen, self.codec)
                    elif self.codec is not None:
                        raise Unproven(f"{what}: two codes of one release are not read here")
                    carried.add(one)
                    bare = r.scale == 0
                    one, two, seen = r.value[bare], other.value[bare], seen[bare]
                elif self.codec is not None:
                    raise Unproven(f"{what}: {name!r} has a codec and no noise, which is not read here")
                for x, y, z in zip(one, two, seen, strict=True):
                    if not (_less(abs(x - z), a.room) or x == z):
                        raise Unproven(f"{what}: the code does not send the file's {name!r}: {x.text}, not {z!r}")
                    if _less(x, y) or _less(y, x):
                        if not _less(a.room, abs(y - z)):
                            raise Unproven(f"{what}: {name!r} differs by no more than floats round")
                        bare_at = bare_at or f"{name!r} of {what}: {x.text} in one world, {y.text} in the other"
            if bare_at:
                return "unprotected", bare_at
            best = total if best is None or _less(best, total) else best
        if best is None:
            raise _Unseen(f"no message can be read. {here.why or there.why}")
        return "refuted", best

    def proof(self, most: int) -> str:
        """What is proven by so many messages."""
        one, two = self.worlds
        here, there, again, first = nodes = [_Node(self, world, most) for world in (one, two, two, one)]
        (verdict, found), other = self.judged(here, there), self.judged(first, again)
        if (verdict, getattr(found, "text", found)) != (other[0], getattr(other[1], "text", other[1])):
            raise RuntimeError("the code does something else when it is run again: it keeps state")
        self.check_pair()
        epsilon, delta, exact, loose = (
            self.claim["epsilon"],
            self.claim["delta"],
            self.claimed(0.0),
            self.claimed(SLACK),
        )
        tossed = any(node.coins.bit_generator.state != node.coins.routes.bit_generator.state for node in nodes)
        if tossed and getattr(exact, "coins", "") != "known":
            raise Unproven("the claim counts on the agent's coins, which are known here")
        if verdict == "unprotected":
            return f"unprotected: {found}" + f" (in this transcript; δ = {delta:g})" * (delta > 0)
        why = here.why or there.why
        ends = f" (read until: {why})" * bool(why)
        if delta or epsilon is None:
            raise _Unseen(f"one loss, {found.text}, refutes no claim of {'δ > 0' if delta else 'no ε'}{ends}")
        bound, source = epsilon * (1 + SLACK), "as the file states it"
        if exact is not None:
            formula, source = exact.epsilon, exact.source
            if not (formula and abs(formula / epsilon - 1) <= 1e-12 and exact.delta == 0):
                raise Unproven(f"claim.epsilon: {epsilon!r}, and the algorithm's formula has {formula!r}")
            if loose.epsilon is None:
                raise Unproven(f"claim: not in both worlds: {loose.failed_conditions}")
            bound = max(epsilon, loose.epsilon)
        if (above := _less(bound, found)) is None:
            _undecide(f"L = {found.text} and ε = {epsilon!r}")
        if not above:
            raise _Unseen(f"L = {found.text} is not above ε = {epsilon!r}{ends}")
        return f"refuted: L ∈ {found.text} > ε = {epsilon!r} ({source})"


def prove(tree: Any, source: ModuleType | None = None) -> str:
    """What a witness proves, in one line. `Unproven` where it proves nothing."""
    why = Unproven()
    for bits in PRECISIONS:
        flint.ctx.prec = bits
        _undecided.clear()
        for most in MESSAGES:
            try:
                return _File(tree, source).proof(most)
            except _Unseen as error:
                why = error
            except Unproven:
                raise
            except Stopped:
                why = Unproven(f"undecided with {bits} bits: {_undecided[-1]}")
            except Exception as error:
                line = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
                raise Unproven(f"a malformed file, or code that cannot be read ({line})") from None
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
