"""What an algorithm's code decides by private or seen values, read in one pass over a transcript.

The pass is a replay in which private answers, noise, and all that was seen are followed
(`attacks.audit.followed.arrays`). Where Python does not ask what they are, the code does the same whatever they are:
which lines run, and which messages are sent, is the same in every run with the same private coins.
"""

import ast
import linecache
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, partial
from inspect import currentframe
from pathlib import Path
from traceback import walk_tb
from types import CodeType, FrameType
from typing import Any

import numpy as np

from attacks.audit.followed import kinds
from attacks.audit.followed.arrays import Followed, Noted, arrays_followed, kind_of, value_of
from attacks.audit.followed.kinds import PUBLIC, SEEN, Kind, What
from attacks.audit.loss.comparison import Sample
from attacks.audit.verdict import Judgement, Verdict
from attacks.replay import Hypothesis
from attacks.replay.coins import Coins, DrawnCoins, UnlistedCoinsError, every
from attacks.replay.recorded import EndOfRecord, RecordedNode, Recording
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.errors import AttackError, NetsimError
from netsim.mechanisms import Gaussian, Mechanism
from netsim.node import own_share
from netsim.own import PACKAGE, is_own
from netsim.transcript.message import Kind as Channel
from netsim.transcript.message import Message, Record, Values

AGENTS = 128
"""Doors at which code is read, at most."""
HISTORIES, DRAWN = 256, 64
"""Histories of private coins that are read at most; else the code is read at so many draws of them."""
_PORT = RecordedNode.read.__code__.co_filename
_MORE = 4
"""Times as many messages as were recorded: where coins fall otherwise, no more are followed."""


@dataclass(frozen=True, order=True)
class ReadLine:
    """A line of an algorithm's code that decides by values that are private or were seen, or may."""

    file: str
    """Name of the file."""
    line: int
    """The line, from 1; 0 where it is no single one."""
    code: str
    """What stands there, or what decides."""

    def __str__(self) -> str:
        if not self.line:
            return self.code
        return f"line {self.line} of {self.file} (`{self.code}`)"


@dataclass
class Reading:
    """The lines that `read`, in order; the `messages`, each with its kind and those of its fields; the answers, yes
    and no, to what lines `asked` for each number, where NumPy goes on with them, by line and place in its code; and
    why what is sent is no affine function, if it is none."""

    read: list[ReadLine] = field(default_factory=list[ReadLine])
    messages: list[tuple[Channel, tuple[tuple[str, What], ...]]] = field(default_factory=list[Any])
    asked: dict[tuple[ReadLine, int], set[bool]] = field(default_factory=dict[tuple[ReadLine, int], set[bool]])
    bent: str | None = None
    departed: bool = False
    """Whether it sends other messages than were sent."""
    failed: ReadLine | None = None
    """Where the code failed on followed values."""


def reading(recording: Recording, hypothesis: Hypothesis | None = None, releases: Sequence[Array] = ()) -> Reading:
    """What an agent's code does on a transcript; its answers are random ones, or those of a hypothesis, and so are
    its releases, but for those that are given.

    You get an `AttackError` from coins that toss otherwise than before.
    """
    found = Reading()
    with np.errstate(all="ignore"):
        node = _FollowedNode(recording, found, hypothesis, releases)
        try:
            with arrays_followed():
                node.read()
            found.departed = node.departure is not None
            if isinstance(node.coins, Coins):
                node.coins.end()
        except AttackError:
            raise
        except Exception as error:
            *_, (frame, _) = walk_tb(error.__traceback__)
            found.failed = _line(frame, f"{type(error).__name__}: {error}")[0]
    return found


Worlds = Callable[[], Iterable[tuple[Sample, Hypothesis]]]
"""Transcripts, and the hypothesis that they were simulated under."""


def read_lines(one: Sample, agent: int, worlds: Worlds) -> tuple[ReadLine, ...]:
    """Lines that read in any history of the agent's private coins, as far as they are listed or drawn; and lines that
    ask something of each number, and get one answer from all transcripts of both worlds."""

    def at(coins: Callable[[], np.random.Generator]) -> Reading:
        return reading(replace(one, coins=coins).recording(agent))

    try:
        found = [each for _, each in every(lambda coins: at(coins.again), HISTORIES)]
    except NetsimError as error:  # rare tosses are tried apart (`rare_tosses`), if they can be listed
        made = _SeenCoins if isinstance(error, UnlistedCoinsError) else DrawnCoins
        found = [at(partial(made, np.random.default_rng(seed))) for seed in range(DRAWN)]
    own = reading(one.recording(agent))  # at other coins code may fail on messages that others sent at these
    lines = {line for each in (own, *found) for line in each.read}
    if own.failed is not None:
        lines.add(own.failed)
    if own.departed and not lines:
        lines.add(ReadLine("", 0, "something that tells a followed value from an array"))
    asked = {place: set[bool]() for each in (own, *found) for place in each.asked}
    for sample, hypothesis in worlds() if asked else ():
        for place, answers in reading(sample.recording(agent), hypothesis, sample.releases).asked.items():
            asked.setdefault(place, set()).update(answers)
    return tuple(sorted(lines | {line for (line, _), answers in asked.items() if len(answers) < 2}))


def read_by(view: AdversaryView, agents: Sequence[int]) -> tuple[ReadLine, ...]:
    """Lines that read at the doors of these agents, all of which the view has; and private coins that decide what is
    sent, or that have too many ways to fall for that to be known."""
    found = set[ReadLine]()
    for k in sorted({int(k) for k in np.linspace(0, len(agents) - 1, AGENTS)}):
        door = Recording(view.public, agents[k], view.at_node(agents[k]), view.replicas, np.random.default_rng(0))
        try:
            some = [each for _, each in every(partial(_at, door), HISTORIES)]
        except AttackError as error:
            found |= {ReadLine("", 0, f"private coins ({error})"), *reading(door).read}
            continue
        found |= {line for each in some for line in each.read}
        if any(each.messages != some[0].messages for each in some):
            found.add(ReadLine("", 0, "private coins, by which other messages are sent"))
    return tuple(sorted(found))


def _at(door: Recording, coins: Coins) -> Reading:
    return reading(door._replace(coins=coins))


def in_words(found: Sequence[ReadLine], most: int = 3) -> str:
    """The first few, and how many more there are."""
    more = f" ({len(found) - most} more)" if len(found) > most else ""
    return "; ".join(map(str, found[:most])) + more


def not_all_audited(found: Sequence[ReadLine]) -> str:
    """Which lines read, and what to do about it, in two sentences."""
    filled = " Fill `node.zeros()` or a list, no array of NumPy's." if any(map(_fills, found)) else ""
    return (
        "Its code decides by what is private or was seen, and what it does at other values is not audited: "
        f"{in_words(found)}. Decide by public numbers, or for each number by NumPy (`np.where`, `np.maximum`), or "
        f"read the code.{filled}"
    )


def _fills(one: ReadLine) -> bool:
    """Whether the line writes into an array, as far as it looks."""
    return re.match(r"[\w.]+\[[^=]*\]\s*[-+*/]?=(?!=)|np\.copyto", one.code) is not None


def judged_of_what_is_read(found: Judgement, lines: Sequence[ReadLine]) -> Judgement:
    """The judgement, where some lines read: a claim that nothing speaks against is underpowered then."""
    if not lines or found.verdict not in (Verdict.CONSISTENT, Verdict.UNDERPOWERED):
        return found
    return replace(found, verdict=Verdict.UNDERPOWERED, reason=f"{not_all_audited(lines)} {found.reason}")


class _FollowedNode(RecordedNode):
    """The port: whatever is private or seen is followed."""

    blind_to_receivers = True
    sent: int

    def __init__(
        self, recording: Recording, found: Reading, hypothesis: Hypothesis | None, releases: Sequence[Array]
    ) -> None:
        self._found, self._hypothesis, self._releases, self._made = found, hypothesis, releases, 0
        rows = tuple(row._replace(values=self._seen_values(row.values)) for row in recording.rows)
        super().__init__(recording._replace(rows=rows, coins=deepcopy(recording.coins)))
        if isinstance(self.coins, _SeenCoins):
            self.coins.noted = self.noted

    def _seen_values(self, values: Mapping[str, Array]) -> Values:
        return {name: self._followed(value, SEEN) if value.size else value for name, value in values.items()}

    def _followed(self, value: Array, kind: Kind) -> Array:
        return Followed(np.array(value), kind, self.noted)  # type: ignore[return-value]

    def noted(self, how: str, answers: Any = None) -> None:
        _note(self._found, how, currentframe(), answers)

    def zeros(self) -> Array:
        return self._followed(super().zeros(), PUBLIC)

    async def gradient(self, x: Array, batch: Sequence[int] | None = None) -> Array:
        self._public(batch)
        known = self._hypothesis if self._hypothesis is None or batch is None else self._hypothesis.batch(batch)
        return self._answer(x, None if known is None else known.gradient)

    async def proximal(self, v: Array, step: float, *, regularized: bool = False) -> Array:
        del regularized
        self._public(step)
        known = self._hypothesis
        return self._answer(v, None if known is None else lambda at: known.proximal(at, step))

    async def perturbed_proximal(self, v: Array, step: float, mechanism: Mechanism) -> Array:
        self._public(step)
        if not self._unsent:
            raise EndOfRecord
        self._law(mechanism)
        if self._made in self._inside:
            self._bent("a perturbed minimizer is sent inside something else")
        return self._released(self._answer(v, None))

    def _answer(self, at: Array, known: Callable[[Array], Array] | None) -> Array:
        self._affine(at, "a point that it asks about")
        self._asked()
        if known is not None:
            return self._followed(known(value_of(at)), kinds.answer())
        rng = np.random.default_rng(self.pace % 2**32)
        return self._followed(rng.standard_normal((self.replicas, self.dimension)), kinds.answer())

    def _released(self, value: Array) -> Array:
        self._made += 1
        known = self._made <= len(self._releases)
        kind = Kind(What.AFFINE) if self._made - 1 in self._inside else SEEN
        released = self._followed(self._releases[self._made - 1] if known else value_of(value), kind)
        released.setflags(write=False)
        return released

    def privatize(
        self, value: Array, mechanism: Mechanism, shared: Gaussian | None = None, draw: int | None = None
    ) -> Array:
        del draw
        if mechanism.noiseless and (shared is None or shared.noiseless):
            return value
        self._affine(value, "what it releases")
        self._law(mechanism)
        return self._released(value)

    def _law(self, mechanism: Mechanism) -> None:
        for name, parameter in vars(mechanism).items():
            known = (What.PUBLIC, What.SEEN) if name == "width" else (What.PUBLIC,)
            if kind_of(parameter).what not in known:
                self._bent("how much noise there is depends on what is private or was seen")

    def _public(self, *values: object) -> None:
        """Note a value that is handed to the port and decides more than what is computed."""
        if any(kind_of(value).what is not What.PUBLIC for value in values):
            self.noted("as what it asks for")

    def split(self, value: Array, mechanism: Gaussian) -> dict[int, Array]:
        if mechanism.noiseless:
            return dict.fromkeys((self.id, *self.neighbors), value)
        self._affine(value, "what it shares")
        self._law(mechanism)
        shares = [self._released(value) for _ in self.neighbors]
        return {self.id: own_share(value, shares, self.weights), **dict(zip(self.neighbors, shares, strict=True))}

    def _affine(self, value: object, what: str) -> None:
        if kind_of(value).what not in (What.PUBLIC, What.SEEN, What.AFFINE):
            self._bent(f"{what}, in its message {self.sent}, is made by more than sums, multiples and clips")

    def _bent(self, why: str) -> None:
        if isinstance(self.coins, _SeenCoins):  # such as a multiple by a coin that hardly ever is not 0
            self.noted("private coins")
        self._found.bent = self._found.bent or why

    def _put(self, kind: Channel, values: Values, to: int) -> Message:
        """Other coins may send other messages than were recorded: they are followed too."""
        self._public(to)
        if (kind, self._counts[kind]) in self._outgoing or not self._unsent:
            return super()._put(kind, values, to)
        self._sends(kind, values)
        self._counts[kind] += 1
        self.sent += 1
        if self.sent > _MORE * len(self._outgoing):
            raise EndOfRecord
        sent = {name: self._followed(value_of(value), SEEN) for name, value in values.items()}
        return Message(self.id, kind, self._counts[kind] - 1, sent)

    def _sent(self, row: Record, values: Values) -> None:
        self._sends(row.kind, values)

    def _sends(self, kind: Channel, values: Values) -> None:
        for name, value in values.items():
            self._affine(value, f"{name!r}")
        self._found.messages.append((kind, tuple((name, kind_of(value).what) for name, value in values.items())))

    def _seen(self, row: Record) -> None:
        pass

    def _goes(self, to: int, receiver: int) -> bool:  # noqa: ARG002
        return True

    def _stand_in(self, sender: int, kind: Channel, number: int, name: str) -> Array:  # noqa: ARG002
        return self._followed(super().zeros(), SEEN)


class _SeenCoins(DrawnCoins):
    """Private coins of which no list says how they fall: what is drawn is followed, but for `choose` and `subset`."""

    noted: Noted

    def choose(self, options: Sequence[int]) -> int:
        return DrawnCoins(self).choose(options)

    def subset(self, total: int, size: int) -> Sequence[int]:
        return DrawnCoins(self).subset(total, size)


def _drawn(name: str) -> Any:
    def followed(self: _SeenCoins, *where: Any, **options: Any) -> Any:
        value = getattr(super(_SeenCoins, self), name)(*where, **options)
        if isinstance(value, float | int | np.ndarray):
            return Followed(np.array(value), SEEN, self.noted)
        self.noted(f"private coins ({name})")
        return value

    return followed


for _name in dir(np.random.Generator):
    if not _name.startswith("_") and _name not in ("bit_generator", "spawn"):
        setattr(_SeenCoins, _name, _drawn(_name))


# ── lines ───────────────────────────────────────────────────────────────────────────────────────────────
def _note(found: Reading, how: str, frame: FrameType | None, answers: Any = None) -> None:
    """Add the line that reads, or the answers that it got."""
    one, place = _line(frame, how)
    if one is None:
        return
    if answers is not None:
        some = np.asarray(answers)
        found.asked.setdefault((one, place), set()).update([True] * bool(np.any(some)) + [False] * (not np.all(some)))
    elif one not in found.read:
        found.read.append(one)


def _line(frame: FrameType | None, how: str) -> tuple[ReadLine | None, int]:
    """The line of the innermost frame that is an algorithm's, and the place in its code; None for a harmless one."""
    while frame is not None and not _of_algorithm(frame.f_code):
        frame = frame.f_back
    if frame is None:
        return ReadLine("?", 0, how), 0
    file, line = frame.f_code.co_filename, frame.f_lineno
    if line in _harmless_lines(file) and not _may_be_caught(frame):
        return None, 0
    return ReadLine(Path(file).name, line, linecache.getline(file, line).strip() or how), frame.f_lasti


def _of_algorithm(code: CodeType) -> bool:
    file = code.co_filename
    made = file == "<string>" and code.co_name == "__init__"  # by `dataclass`
    return not made and (is_own(file) or file.startswith(str(PACKAGE / "algorithms")))


def _may_be_caught(frame: FrameType | None) -> bool:
    """Whether an error that is raised here may be caught in a file of an algorithm's."""
    while frame is not None and frame.f_code.co_filename != _PORT:
        if is_own(frame.f_code.co_filename) and _catches(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False


@cache
def _catches(file: str) -> bool:
    """Whether a file has a `try`, or a `with` of anything but NumPy's `errstate`."""
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.Try | ast.TryStar | ast.AsyncWith):
            return True
        if isinstance(node, ast.With) and not all(
            isinstance(one.context_expr, ast.Call) and ast.unparse(one.context_expr.func).endswith("errstate")
            for one in node.items
        ):
            return True
    return False


@cache
def _harmless_lines(file: str) -> frozenset[int]:
    """Lines of conditions that only end the run: of `assert`, and of `if` whose last statement is a `raise`."""
    found, own = set[int](), is_own(file)
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.Assert):
            test: ast.expr = node.test
        elif isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], ast.Raise):
            test = node.test
        else:
            continue
        if not own or all(map(_asks_only, ast.walk(test))):
            found.update(range(test.lineno, (test.end_lineno or test.lineno) + 1))
    return frozenset(found)


def _asks_only(node: ast.AST) -> bool:
    """Whether part of a condition keeps nothing of what it asks: no name is bound, and only NumPy is called."""
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        return name in ("abs", "all", "any", "bool", "float", "max", "min", "sum") or name.startswith(
            ("np.", "math.")
        )
    return not isinstance(node, ast.NamedExpr | ast.Lambda | ast.Await | ast.Yield | ast.YieldFrom)


@cache
def _tree(file: str) -> ast.Module:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ast.Module([], [])
