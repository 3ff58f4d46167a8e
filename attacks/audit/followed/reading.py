"""What an algorithm's code decides by private or seen values, read in one pass over a transcript.

The pass is a replay in which private answers, noise, and all that was seen are followed
(`attacks.audit.followed.arrays`). Where Python does not ask what they are, the code does the same whatever they are:
which lines run, and which messages are sent, is the same in every run with the same private coins.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from inspect import currentframe
from traceback import walk_tb
from types import FrameType
from typing import Any, cast

import numpy as np

from attacks.audit.followed import kinds
from attacks.audit.followed.answers import SAME, Answers, Place, Reading
from attacks.audit.followed.arrays import AS_A_FACTOR, AS_A_MASK, LEVEL, SIZE, Followed, arrays_followed
from attacks.audit.followed.kinds import PUBLIC, SEEN, Kind, What
from attacks.audit.followed.lines import (
    ReadLine,
    asking,
    line_of,
    may_be_caught,
    only_ends_the_run,
    places_of,
)
from attacks.audit.followed.nearer import answers_nearer
from attacks.audit.followed.operands import kind_of, value_of
from attacks.audit.followed.path import Step, parts_at, walked
from attacks.audit.followed.seen_coins import SeenCoins
from attacks.audit.loss.comparison import Sample
from attacks.audit.verdict import Judgement, Verdict
from attacks.replay import Altered, Hypothesis
from attacks.replay.coins import (
    Coins,
    CopiedCoinsError,
    Unseen,
    every,
    from_start,
)
from attacks.replay.recorded import RecordedNode, Recording
from netsim.adversary import AdversaryView
from netsim.arrays import Array, evenly
from netsim.errors import AttackError, NetsimError
from netsim.mechanisms import Gaussian, Mechanism
from netsim.node import own_share
from netsim.transcript.message import Kind as Channel
from netsim.transcript.message import Message, Record, Values

AGENTS = 128
"""Doors at which code is read, at most."""
HISTORIES, DRAWN = 256, 64
"""Histories of private coins that are read at most; else the code is read at so many draws of them."""
NOTHING = 1e-9
"""What a function gives that is less counts as 0: where all of it is, it is a gate that no transcript opened."""
_NEVER_EXCUSED = "into", "by an error"
"""How it is noted that an array that cannot be followed is written into, and that an error of NumPy's may be seen."""
_SIZES = 1e-6, 1.0
"""Of random answers, that tell whether records are alike."""
_NEARBY = 1e-3
"""Relative: how far data are moved that are nearly the same."""
ANSWERED = 1024
"""Histories at which it is seen whether what came out alike does so at all of them; at so many draws of more."""
_FAR = 1e6
"""How many times as large what was seen is, or as small, where it weighs what is private."""
TOSSES = 64
"""Histories at which smaller answers are asked, at most."""
_WORK, _LEAST = 2**14, 4
"""Messages that are followed at most at other coins, but for so many draws."""
_QUERIES = 1024
"""Queries for each message at most: a loop until random answers are small has no end."""
_MORE = 4
"""Times as many messages as were recorded: where coins fall otherwise, no more are followed."""


def reading(recording: Recording, hypothesis: Hypothesis | None = None, releases: Sequence[Array] = ()) -> Reading:
    """What an agent's code does on a transcript; its answers are random ones, or those of a hypothesis, and so are
    its releases, but for those that are given. With random ones it has to do the same to plain arrays.

    You get an `AttackError` from coins that toss otherwise than before.
    """
    if hypothesis is not None:
        return _read(_FollowedNode(recording, Reading(), hypothesis, releases), nullcontext([]))[0]
    found, path = _read(_FollowedNode(recording, Reading(), None, releases))
    for again in (False, True):
        if again:  # what it made in its first run, and kept
            found, path = _read(_FollowedNode(recording, Reading(), None, releases))
        if found.read:
            break
        plain, other = _read(_PlainNode(recording, Reading(), None, releases))
        apart = parts_at(other, path) or found.apart(plain)
        if apart is None:
            break
        if again:
            found.read.append(found.failed or apart)
    found.path = path
    return found


def _read(node: "_FollowedNode", way: AbstractContextManager[list[Step]] | None = None) -> tuple[Reading, list[Step]]:
    """What the code does, and the path of it; `way`: another one that there is no need of."""
    found = node.found
    errors: Any = {name: "ignore" if how == "warn" else how for name, how in np.geterr().items()}
    with np.errstate(**errors):  # what else a module may have set is a way to see them
        path = list[Step]()
        try:
            with node.arrays(), way or walked() as path:
                node.read()
            if isinstance(node.coins, Coins):
                node.coins.end()
        except AttackError:
            raise
        except Exception as error:
            *_, (frame, _) = walk_tb(error.__traceback__)
            frame, how = asking(frame), f"{type(error).__name__}: {error}"
            found.failed = ReadLine("?", 0, how) if frame is None else _line(frame, how)
    return found, path


Worlds = Callable[[], Iterable[tuple[Sample, Hypothesis]]]
"""Transcripts, and the hypothesis that they were simulated under."""


def read_lines(one: Sample, agent: int, worlds: Worlds) -> tuple[ReadLine, ...]:
    """Lines that read in any history of the agent's private coins, as far as they are listed or drawn; and lines that
    ask something of each number, and get one answer from all transcripts of both worlds.

    All of these have one toss of the coins, and may be about nothing that the worlds differ in; and numbers may be
    equal by chance. So where a line gets one answer from them, it is asked at other tosses and nearby data, too.
    """

    def at(coins: Callable[[], np.random.Generator]) -> Reading:
        return reading(replace(one, coins=coins).recording(agent))

    lines = set[ReadLine]()
    own = reading(one.recording(agent))  # at other coins code may fail on messages that others sent at these
    try:
        found = [each for _, each in every(lambda coins: at(coins.again), HISTORIES)]
        lines |= {*_unlike_all(own, found), *_bare_at_some(own, found)}
        if len(found) > 1 and any(each.batches for each in found):
            lines |= set(_by_batches(one, agent))
    except CopiedCoinsError as error:
        found = []
        lines.add(_coins_that(error))
    except NetsimError:
        draws = range(_most(one, agent, DRAWN))
        found = [at(partial(SeenCoins, np.random.default_rng(seed))) for seed in draws]
    lines |= {line for each in (own, *found) for line in each.read}
    if own.failed is not None:
        lines.add(own.failed)
    asked = {place: set[float]() for each in (own, *found) for place in each.asked}
    first = list[tuple[Sample, Hypothesis]]()
    for sample, hypothesis in worlds() if asked else ():
        _add_answers(asked, reading(sample.recording(agent), hypothesis, sample.releases).asked)
        first.append((sample, hypothesis))
    for sample, hypothesis in first:
        for answers in _elsewhere(sample.replica(0), agent, hypothesis) if _alike(asked) else ():
            _add_answers(asked, answers)
            if not _alike(asked):
                break
    if first and _alike(asked):
        (some, zero), (_, other) = first
        for answers in _nearer(some, agent, (zero, other), asked):
            _add_answers(asked, answers)
    return tuple(sorted(lines | _alike(asked)))


def _add_answers(asked: dict[Place, set[float]], found: Answers) -> None:
    for place, answers in found.items():
        asked.setdefault(place, set()).update(answers)


def _alike(asked: Answers) -> set[ReadLine]:
    """Lines that ask something of each number and got one answer, or none."""
    return {line for (line, *_), answers in asked.items() if len(answers) < 2}


def _elsewhere(one: Sample, agent: int, hypothesis: Hypothesis) -> Iterator[Answers]:
    """What lines get from a transcript where its private coins fall in any way, or in some that are drawn; and there,
    of numbers, what they get where its data are nearly the same: what is another number then is on no level."""

    def at(coins: Callable[[], np.random.Generator]) -> Answers:
        recording = replace(one, coins=coins).recording(agent)
        both = hypothesis, Altered(hypothesis, _nearby)
        there, near = (reading(recording, each, one.releases).asked for each in both)
        found = {place: set(answers) for place, answers in there.items()}
        _add_answers(found, {place: answers for place, answers in near.items() if place[-1] in (LEVEL, SIZE)})
        return found

    most = _most(one, agent, ANSWERED, 4)  # with what is nearby, in both worlds
    try:
        for _, found in every(lambda coins: at(coins.again), most):
            yield found
    except NetsimError:
        for seed in range(most):
            yield at(partial(np.random.default_rng, seed))


def _nearer(one: Sample, agent: int, ends: tuple[Hypothesis, Hypothesis], asked: Answers) -> list[Answers]:
    """What lines get at smaller answers than those of the two worlds, at any toss; nothing where tosses are many."""

    def at(coins: Callable[[], np.random.Generator]) -> list[Answers] | None:
        recording = replace(one, coins=coins).recording(agent)
        rows = (row._replace(values={name: _far(v) for name, v in row.values.items()}) for row in recording.rows)
        far, releases = recording._replace(rows=tuple(rows)), [*map(_far, one.releases)]
        if answers_nearer(lambda each: reading(far, each, releases), ends, asked) is None:
            return None
        return answers_nearer(lambda each: reading(recording, each, one.releases), ends, asked)

    try:
        found = [each for _, each in every(lambda coins: at(coins.again), min(TOSSES, _most(one, agent, TOSSES, 64)))]
    except NetsimError:
        return []
    return [] if None in found else [answers for each in found if each for answers in each]


def _far(value: Array) -> Array:
    """In each replica so many times as large, and of another sign in every second one."""
    factors = np.geomspace(1 / _FAR, _FAR, len(value)) * np.where(np.arange(len(value)) % 2, -1.0, 1.0)
    return value * factors.reshape(-1, *[1] * (value.ndim - 1))


def _nearby(answer: Array) -> Array:
    """Each of its numbers another one, by at most a thousandth."""
    return answer * (1 + _NEARBY * np.random.default_rng(0).uniform(-1.0, 1.0, answer.shape))


def _most(one: Sample, agent: int, wanted: int, times: int = 1) -> int:
    """At how many histories a transcript is read, so many times each, of those that are wanted: fewer where it is
    long."""
    return max(_LEAST, min(wanted, _WORK // (times * (1 + len(one.view.at_node(agent))))))


def _unlike_all(own: Reading, listed: Sequence[Reading]) -> Iterator[ReadLine]:
    """What tells coins of a list from those of a run, whose history is one of them."""
    if not any(own.same(each) for each in listed):
        yield ReadLine("", 0, "something that tells private coins that are followed from those of a run")


def _bare_at_some(own: Reading, listed: Sequence[Reading]) -> Iterator[ReadLine]:
    """What is private in a message at coins that need not have fallen so in any transcript, and not in this run."""
    known = own.private
    for name in sorted({name for each in listed for _, name, _ in each.private - known}):
        yield ReadLine("", 0, f"private coins, at some of which {name!r} is sent as it is")


BY_RECORD = ReadLine("", 0, "private coins, by which records are in a batch")
"""What is done with some record is not done with another."""


def _by_batches(one: Sample, agent: int) -> Iterator[ReadLine]:
    """Whether which records are in its batches decides anything else: then records are not all alike, and a pair
    that differs in one of them says nothing of another. Answers are of two sizes: a clip may hide a factor of one."""

    def at(coins: Coins) -> list[Reading]:
        made = [_PlainNode(replace(one, coins=coins.again).recording(agent), Reading(), None, ()) for _ in _SIZES]
        for node, node.size in zip(made, _SIZES, strict=True):
            _read(node, nullcontext([]))
        return [node.found for node in made]

    laws = defaultdict[object, dict[object, dict[object, float]]](dict)
    for log_chance, found in every(at, HISTORIES):
        batches = [Counter(map(_record, batch)) for batch in found[0].batches]
        alike = Counter(tuple(batch[k] for batch in batches) for k in {k for batch in batches for k in batch})
        which = tuple(frozenset(batch.items()) for batch in batches)
        given = [value for each in found for value in each.given]
        handed = tuple((value.shape, tuple(f"{x:.6g}" for x in value.ravel())) for value in given)
        law = laws[frozenset(alike.items())].setdefault(which, {})
        law[handed] = law.get(handed, 0.0) + math.exp(log_chance)
    for some in laws.values():
        first, *others = [{k: p / math.fsum(law.values()) for k, p in law.items()} for law in some.values()]
        if any(abs(law.get(k, 0.0) - first.get(k, 0.0)) > SAME for law in others for k in law.keys() | first.keys()):
            yield BY_RECORD
            return


def _record(one: object) -> object:
    """Which record it is, or its place in a draw, where nobody has looked at what coins choose."""
    return one.drawn if isinstance(one, Unseen) and not one.opened else int(cast(int, one))


def read_by(view: AdversaryView, agents: Sequence[int]) -> tuple[ReadLine, ...]:
    """Lines that read at the doors of these agents, all of which the view has; and private coins that decide what is
    sent, or that have too many ways to fall for that to be known."""
    found = set[ReadLine]()
    for k in evenly(len(agents), AGENTS):
        door = Recording(view.public, agents[k], view.at_node(agents[k]), view.replicas, np.random.default_rng(0))
        try:
            some = [each for _, each in every(partial(_at, door), HISTORIES)]
        except AttackError as error:
            found |= {_coins_that(error), *reading(door).read}
            continue
        found |= {line for each in some for line in each.read}
        if any(each.messages != some[0].messages for each in some):
            found.add(ReadLine("", 0, "private coins, by which other messages are sent"))
    return tuple(sorted(found))


def _coins_that(error: AttackError) -> ReadLine:
    return ReadLine("", 0, f"private coins ({error})")


def _at(door: Recording, coins: Coins) -> Reading:
    return reading(door._replace(coins=coins))


def in_words(found: Sequence[ReadLine], most: int = 3) -> str:
    """The first few, and how many more there are."""
    more = f" ({len(found) - most} more)" if len(found) > most else ""
    return "; ".join(map(str, found[:most])) + more


def not_all_audited(found: Sequence[ReadLine]) -> str:
    """Which lines read, and what to do about it, in two sentences."""
    remedies = " Fill `node.zeros()` or a list, no array of NumPy's." if any(map(_fills, found)) else ""
    remedies += "".join(words for how, words in _REMEDIES.items() if any(one.how == how for one in found))
    coins = any("coins" in one.code for one in found)
    if coins:
        remedies += " Hand on what coins draw as it is, as a receiver or a whole batch"
        unlisted = any("coins" in one.code and not one.code.startswith(_LISTED) for one in found)
        remedies += f"; or {_FEWER}." if unlisted else "."
    return (
        "Its code decides by what is private or was seen, and what it does at other values is not audited: "
        f"{in_words(found)}. Decide by public numbers, or for each number by NumPy (`np.where`, `np.maximum`), or "
        f"read the code.{remedies}"
    )


_LISTED = "private coins, "
"""How a line begins that was found where all their histories were read."""
_FEWER = f"audit so few rounds or records that coins have {HISTORIES} histories at most, all of which are read"
_ALIKE = "alike in all transcripts"
"""How a comparison by NumPy reads, or a function of its with levels."""
_REMEDIES = {
    AS_A_MASK: " For `g[mask] /= n` write `np.where(mask, g / n, g)`.",
    AS_A_FACTOR: " Let what weighs, bounds or is compared with private numbers be public, or made of these.",
    _ALIKE: " One by NumPy is named where it came out alike in all transcripts: audit where it does not.",
}
"""What to do about a line, by how it reads."""


def _fills(one: ReadLine) -> bool:
    """Whether the line writes into an array that is not followed, as far as it looks."""
    plain = one.how in ("as an array", "into an array that cannot be followed")
    return plain and re.match(r"[\w.]+\[[^=]*\]\s*[-+*/]?=(?!=)|np\.copyto", one.code) is not None


def judged_of_what_is_read(found: Judgement, lines: Sequence[ReadLine]) -> Judgement:
    """The judgement, where some lines read: a claim that nothing speaks against is underpowered then."""
    if not lines or found.verdict not in (Verdict.PROVEN, Verdict.CONSISTENT, Verdict.UNDERPOWERED):
        return found
    return replace(found, verdict=Verdict.UNDERPOWERED, reason=f"{not_all_audited(lines)} {found.reason}")


class _FollowedNode(RecordedNode):
    """The port: whatever is private or seen is followed."""

    blind_to_receivers = True
    size = 1.0
    """Of random answers."""
    sent: int

    def __init__(
        self, recording: Recording, found: Reading, hypothesis: Hypothesis | None, releases: Sequence[Array]
    ) -> None:
        self.found, self._hypothesis, self._releases, self._made, self._queries = found, hypothesis, releases, 0, 0
        rows = tuple(row._replace(values=self._seen_values(row.values)) for row in recording.rows)
        super().__init__(recording._replace(rows=rows, coins=from_start(recording.coins)))
        if isinstance(self.coins, SeenCoins):
            self.coins.noted, self.coins.followed = self.noted, self._followed
            self.coins.plain = isinstance(self, _PlainNode)

    def arrays(self) -> AbstractContextManager[None]:
        """Within which its arrays are followed."""
        return arrays_followed()

    def _seen_values(self, values: Mapping[str, Array]) -> Values:
        return {name: self._followed(value, SEEN) if value.size else value for name, value in values.items()}

    def _followed(self, value: Array, kind: Kind) -> Array:
        return Followed(np.array(value), kind, self.noted)  # type: ignore[return-value]

    def noted(self, how: str, answers: Any = None, *, fails: bool = False) -> None:
        if not fails or may_be_caught(asking(currentframe())):
            _note(self.found, how, currentframe(), answers)

    def zeros(self) -> Array:
        return self._followed(super().zeros(), PUBLIC)

    async def gradient(self, x: Array, batch: Sequence[int] | None = None) -> Array:
        if not (isinstance(self.coins, SeenCoins) and self.coins.drew(batch, self.records)):
            self._public(batch)
        if batch is not None:
            self.found.batches.append(tuple(cast(Sequence[int], value_of(batch))))
        known = self._hypothesis if self._hypothesis is None or batch is None else self._hypothesis.batch(batch)
        return self._answer(x, None if known is None else known.gradient)

    async def proximal(self, v: Array, step: float, *, regularized: bool = False) -> Array:
        self._public(step, regularized)
        known = self._hypothesis
        return self._answer(v, None if known is None else lambda at: known.proximal(at, step))

    async def perturbed_proximal(self, v: Array, step: float, mechanism: Mechanism) -> Array:
        self._public(step)
        if not self._unsent:
            raise self._end()
        self._law(mechanism)
        if self._made in self._inside:
            self._bent("a perturbed minimizer is sent inside something else")
        return self._released(self._answer(v, None))

    def _answer(self, at: Array, known: Callable[[Array], Array] | None) -> Array:
        self._affine(at, "a point that it asks about")
        self._asked()
        self.found.answers += 1
        self._queries += 1
        if self._queries > _QUERIES * (1 + len(self._outgoing)):
            if not self.found.read:
                self.noted("more queries than are followed")
            raise self._end()
        if known is not None:
            return self._followed(known(value_of(at)), kinds.answer())
        rng = np.random.default_rng(self.pace % 2**32)
        return self._followed(self.size * rng.standard_normal((self.replicas, self.dimension)), kinds.answer())

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
        self._public(draw)
        if mechanism.noiseless and (shared is None or shared.noiseless):
            return value
        self._affine(value, "what it releases")
        self._law(mechanism)
        return self._released(value)

    def _law(self, mechanism: Mechanism) -> None:
        for name, parameter in vars(mechanism).items():
            if isinstance(plain := value_of(parameter), float | np.ndarray):
                self.found.given.append(np.array(plain, np.float64))
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
        self.found.given.append(np.array(value_of(value), np.float64))
        if kind_of(value).what not in (What.PUBLIC, What.SEEN, What.AFFINE):
            self._bent(f"{what}, in its message {self.sent}, is made by more than sums, multiples and clips")

    def _bent(self, why: str) -> None:
        if isinstance(self.coins, SeenCoins):  # such as a multiple by a coin that hardly ever is not 0
            self.noted("private coins")
        self.found.bent = self.found.bent or why

    def _put(self, kind: Channel, values: Values, to: int) -> Message:
        """Other coins may send other messages than were recorded: they are followed too."""
        self._public(to)
        row = self._outgoing.get((kind, self._counts[kind]))
        if row is not None and row.values.keys() == values.keys():
            return super()._put(kind, values, to)
        self._sends(kind, values)
        if row is not None or not self._unsent:  # the first message that is another one, or after the record, ends it
            return super()._put(kind, values, to)
        self._counts[kind] += 1
        self.sent += 1
        if self.sent > _MORE * len(self._outgoing):
            raise self._end()
        sent = {name: self._followed(value_of(value), SEEN) for name, value in values.items()}
        return Message(self.id, kind, self._counts[kind] - 1, sent)

    def _sent(self, row: Record, values: Values) -> None:
        self._sends(row.kind, values)

    def _sends(self, kind: Channel, values: Values) -> None:
        for name, value in values.items():
            self._affine(value, f"{name!r}")
        self.found.messages.append((kind, tuple((name, kind_of(value).what) for name, value in values.items())))

    def _seen(self, row: Record) -> None:
        pass

    def _goes(self, to: int, receiver: int) -> bool:  # noqa: ARG002
        return True

    def _stand_in(self, sender: int, kind: Channel, number: int, name: str) -> Array:  # noqa: ARG002
        return self._followed(super().zeros(), SEEN)


class _PlainNode(_FollowedNode):
    """The same port, with the same numbers in plain arrays."""

    def arrays(self) -> AbstractContextManager[None]:
        return nullcontext()

    def _followed(self, value: Array, kind: Kind) -> Array:  # noqa: ARG002
        return np.array(value)

    def noted(self, how: str, answers: Any = None, *, fails: bool = False) -> None:
        pass


# ── lines ───────────────────────────────────────────────────────────────────────────────────────────────
def _note(found: Reading, how: str, frame: FrameType | None, answers: Any = None) -> None:
    """Add the line that reads, or the answers that it got."""
    frame = asking(frame)
    if frame is not None and not how.startswith(_NEVER_EXCUSED) and only_ends_the_run(frame):
        return
    said = how if answers is None else _ALIKE
    one = ReadLine("?", 0, how, said) if frame is None else _line(frame, said)
    if answers is not None:
        some = np.asarray(answers, dtype=np.float64)
        levels = np.where(np.abs(some) < NOTHING, 0.0, some)
        ends = [float(np.min(levels)), float(np.max(levels))] if levels.size else []
        found.answered((one, tuple(places_of(frame)), how), ends)
    elif one not in found.read:
        found.read.append(one)


def _line(frame: FrameType, how: str) -> ReadLine:
    return line_of(frame.f_code, frame.f_lineno, how)
