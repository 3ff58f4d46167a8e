"""Unprotected messages: values that distinguish the worlds and that no noise protects, hidden releases included.

The first of a sample is named, and all of them are kept, field by field. A reason is given only where it is seen:
where the difference of the two worlds is a multiple of that of the answers that the agent's objective gave last, the
same for all transcripts and coordinates, or, of clipped ones, a sum of multiples of both.

An adversary who is granted releases that are not on the wire may distinguish the worlds by these messages; one who
sees the wire alone asks whether *some* noise explains the messages. Let them be y = a + B n under the other
hypothesis, where n is the noise of the unseen releases: if no n within `_FAR` standard deviations makes y − a, each
number of it to its own rounding, that world cannot have sent them, and no density is needed to say so. This happens
where one number of noise covers a vector, or one draw two messages. No rank is decided: noises of very different size
stand side by side, and each covers what is of its own size. a and B are found by replaying the agent's code; where y
is no affine function of n nothing is claimed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import linalg

from attacks.audit.loss.hidden_releases import Again
from attacks.audit.loss.wire_fields import Cause, UnprotectedField
from attacks.replay import ULPS, Answer, Comparison, Departure, Release, Replayed, bits
from netsim.arrays import Array, Mask
from netsim.errors import NetsimError
from netsim.mechanisms import DiscreteMechanism
from netsim.shown import show
from netsim.transcript.message import EVERYBODY

_MOST = 128
"""Unseen numbers of noise, at most: with more, nothing is claimed."""
_MOVES = tuple(sign * size for size in (1.0, 32.0, 1024.0) * 4 for sign in (1.0, -1.0))
"""Deviations by which hidden releases are moved, along other directions each time, to see which messages they have no
effect on: forth and back, and far, for a sign, a rounding or an arg max changes in steps."""
_REACHES = (1.0, -1.0, 1024.0, -1024.0) * 2
"""Multiples of a move of all noises, another one in each transcript, at which a message has to be affine in them: the
parity of a number, say, is the same after many that are the same for all."""
_REDRAWN, _SAMPLED = 128, 32
"""Times, at least, that hidden releases get other noise of their own law before a message is said not to depend on
it, and before it is said to be affine in it."""
_MESSAGES, _DRAWS = 2**14, 2**18
"""Messages that are replayed, at most, to see so, and draws in all transcripts together."""
_SURE = 16
_AFFINE = 1e-9
"""Share of what noise changes in a number by which it may miss being affine."""
_FAR = 1e4
"""Noise changed by so many standard deviations counts as impossible: Laplace noise would cost as much in ε."""
_STEPS = 64
"""Units in the last place of its largest number by which rounding may move what a replay computes."""
_ALIKE = 1e-6
"""Relative: a difference so near to a multiple of the answer's counts as that multiple."""


def draws_for(claimed: float | None) -> float:
    """Draws of noise, in all transcripts together, that have to show no effect before none counts as proven.

    An effect of probability p may have made the message in the other world, and ε may be no more than ln 1/p. Under
    a claim of ε, half of the transcripts have p of at least e^−ε/2, for no more than half have lost less than −ln 2
    before: that so many draws show none has probability e^(−`_SURE`/4), and e^−`_SURE` where all are alike.
    None: nothing is claimed.
    """
    return 0.0 if claimed is None else _SURE * math.exp(min(claimed, 700.0))


class _Inexplicable(NamedTuple):
    """First `message` that no noise of the other world explains, its field, and the replicas where that is so."""

    message: int
    name: str
    receiver: int
    where: Mask


def _times(other: Replayed) -> int:
    """Times, at most, that hidden releases are drawn anew."""
    replicas = len(other.comparisons[0].observed)
    return max(_REDRAWN, min(_MESSAGES // len(other.comparisons), _DRAWS // replicas))


def _inexplicable(other: Replayed, releases: Sequence[Array], again: Again, draws: float) -> _Inexplicable | None:
    """First message that no noise in the releases that are not on the wire explains in the other world, if any is
    known.

    `other` is the replay of the other hypothesis on the granted `releases`, `again` repeats it on changed ones, and
    `draws` are wanted of it (`draws_for`).
    """
    if (bare := _untouched(other, releases, again, draws)) is not None:
        return bare
    unseen: list[tuple[int, int]] = []
    for t, release in enumerate(other.releases):
        if release.sent_in is None:
            noisy = np.flatnonzero(np.all(release.stddev > 0, axis=0))
            unseen += [(t, int(c)) for c in noisy]
    if (
        not unseen
        or len(unseen) > _MOST
        or other.departure is not None
        or all(c.identical for c in other.comparisons)
    ):
        return None
    try:
        effects = _effects(other, releases, unseen, again, draws)
    except NetsimError:
        return None
    if effects is None:
        return None
    shape = effects[1].shape
    possible = np.array([np.full(shape[1:], True) if c.possible is None else c.possible for c in other.comparisons])
    with np.errstate(invalid="ignore"):
        missing = np.array([c.observed - c.predicted for c in other.comparisons])
    missing[possible & ~np.isfinite(missing)] = 0.0
    # what may be rounding may be noise too: twice the noise, in another field, may be more than rounding
    rounding = np.where(possible, np.fmax(effects[1], np.abs(missing)), effects[1])
    explained = Explained(missing, effects[0], rounding)

    def left(messages: int) -> Mask:
        return explained.left(messages) & other.comparisons[messages - 1].judged

    last = sum(bool(np.any(c.judged)) for c in other.comparisons)  # once a replay is not judged, it stays so
    if not last or not np.any(left(last)):
        return None
    low, high = 0, last  # the fewest messages that cannot be explained together
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if np.any(left(middle)) else (middle, high)
    first = other.comparisons[high - 1]
    return _Inexplicable(first.message, first.name, first.receiver, left(high))


def _untouched(other: Replayed, releases: Sequence[Array], again: Again, draws: float) -> _Inexplicable | None:
    """First message that the other world would have sent otherwise and that no hidden release has any effect on.

    Where some draws show none, as many others as the claim asks for may show none in the same transcripts.
    """
    hidden = [t for t, release in enumerate(other.releases) if release.sent_in is None]
    same = [c.visible for c in other.comparisons]
    if not hidden or other.departure is not None or not any(np.any(rows) for rows in same):
        return None

    def still(rows: list[Mask], k: int, far: float | None) -> list[Mask] | None:
        """Those of these transcripts in which messages are as they were, at other noise."""
        rng = np.random.default_rng(k if far is None else k // 2)  # forth and back along one direction
        try:
            moved = again(
                [_elsewhere(other.releases[t], r, far, rng) if t in hidden else r for t, r in enumerate(releases)]
            )
        except NetsimError:
            return None
        if moved.departure is not None or len(moved.comparisons) != len(rows):
            return None
        pairs = zip(rows, moved.comparisons, other.comparisons, strict=True)
        return [old & np.all(bits(a.predicted) == bits(b.predicted), axis=-1) for old, a, b in pairs]

    ways = (*_MOVES, *[None] * _REDRAWN)
    for k, far in enumerate(ways):
        if (found := still(same, k, far)) is None or not any(np.any(rows) for rows in found):
            return None
        same = found
    most = _times(other)
    same = [rows & (np.sum(rows) * most >= draws) for rows in same]  # of the others it would not be seen
    left = same
    for k in range(most + 1):
        intact = [one for one in zip(other.comparisons, same, left, strict=True) if np.array_equal(*one[1:])]
        some = [(c, rows) for c, rows, _ in intact if np.any(rows)]
        if (first := next((one for one in some if np.sum(one[1]) * k >= draws), None)) is not None:
            return _Inexplicable(first[0].message, first[0].name, first[0].receiver, first[1])
        if not some or (found := still(left, len(ways) + k, None)) is None:
            return None
        left = found
    return None


def _elsewhere(
    release: Release, made: Array, far: float | None, rng: np.random.Generator
) -> Array | np.random.Generator:
    """A hidden release moved by so many deviations; None: to be drawn anew, by its law."""
    return rng if far is None else made + far * release.stddev * rng.standard_normal(made.shape)


def _effects(
    other: Replayed, releases: Sequence[Array], unseen: list[tuple[int, int]], again: Again, draws: float
) -> tuple[Array, Array] | None:
    """B: the effect of a standard deviation of each unseen number of noise on each message, (messages, replicas,
    dimension, noises), and how far rounding may move what `_FAR` of them explain, (messages, replicas, dimension).
    """
    base = np.array([c.predicted for c in other.comparisons])
    carried = np.array([np.abs(c.predicted) if c.carried is None else c.carried for c in other.comparisons])
    ulp = _STEPS * np.finfo(float).eps

    def moved(change: dict[int, Array], drawn: Sequence[int] = ()) -> Array | None:
        """What changes with releases; those that are drawn anew are added to the changes."""
        new = again([rng if t in drawn else r + change[t] if t in change else r for t, r in enumerate(releases)])
        if new.departure is not None or len(new.comparisons) != len(other.comparisons):
            return None
        if len(new.releases) < len(other.releases):  # whether to release decides what is released
            return None
        change |= {t: new.releases[t].observed - releases[t] for t in drawn}
        return np.array([c.predicted for c in new.comparisons]) - base

    columns: list[Array] = []
    rounding = ulp * (carried + np.abs(base))
    steps = list[Array]()
    for t, c in unseen:
        stddev, step = other.releases[t].stddev[:, c], np.zeros_like(releases[t])
        if not np.all(np.isfinite(stddev)):
            return None
        # a step as large as the numbers it is added to, so that what it changes is not lost in them
        step[:, c] = np.exp2(np.ceil(np.log2(np.maximum(stddev, np.max(np.abs(releases[t][:, c]))))))
        column = moved({t: step})
        if column is None:
            return None
        share = (stddev / step[:, c])[:, None]
        rounding = rounding + np.where(column != 0, _FAR * ulp * (np.abs(base) + np.abs(column)) * share, 0.0)
        columns.append(column)
        steps.append(step)
    rng, hidden = np.random.default_rng(0), sorted({t for t, _ in unseen})
    sampled = max(_SAMPLED, math.ceil(draws / base.shape[1]))
    if sampled > _times(other):
        return None
    for far in (*_REACHES, *[None] * sampled):
        change = dict[int, Array]()
        if far is not None:
            change = {t: np.zeros_like(releases[t]) for t in hidden}
            for (t, _), step in zip(unseen, steps, strict=True):
                change[t] += far * rng.standard_normal((base.shape[1], 1)) * step
        all_moved = moved(change, hidden if far is None else ())
        if all_moved is None:
            return None
        total, spread = np.zeros_like(base), np.zeros_like(base)
        for (t, c), step, column in zip(unseen, steps, columns, strict=True):
            part = (change[t][:, c] / step[:, c])[:, None] * column
            total, spread = total + part, spread + np.abs(part)
        room = _AFFINE * spread + 2 * ulp * (np.abs(base) + spread)
        if np.any(np.abs(all_moved - total) > room):
            return None
    shares = (other.releases[t].stddev[:, c] / step[:, c] for (t, c), step in zip(unseen, steps, strict=True))
    return np.stack([v * share[:, None] for v, share in zip(columns, shares, strict=True)], axis=-1), rounding


class Explained(NamedTuple):
    """What of the `missing` numbers noise explains: `effects` of one standard deviation each, and `rounding`.

    A sum of squares: each number's rest in units of its rounding, and the noise in units of `_FAR`. Were all rests
    within rounding, and the noise within `_FAR`, no more than numbers + 1 would be the least.
    """

    missing: Array
    effects: Array
    rounding: Array

    def left(self, messages: int) -> Mask:
        """Replicas, (replicas,), in which the first so many messages are not explained."""
        return np.array([self._left(messages, r) for r in range(self.missing.shape[1])], dtype=np.bool_)

    def _left(self, messages: int, replica: int) -> bool:
        weights = 1 / np.maximum(self.rounding[:messages, replica].ravel(), np.finfo(float).tiny)
        noises = self.effects.shape[-1]
        wanted = self.missing[:messages, replica].ravel() * weights
        if np.max(np.abs(wanted), initial=0.0) <= 1:
            return False
        rows = self.effects[:messages, replica].reshape(-1, noises) * weights[:, None]
        rows, wanted = np.concatenate([rows, np.eye(noises) / _FAR]), np.pad(wanted, (0, noises))
        # sorted rows and pivoted columns: rows of very different size keep their own precision (Cox & Higham 1998)
        order = np.argsort(-np.max(np.abs(rows), axis=1), kind="stable")
        rows, wanted = rows[order], wanted[order]
        q, r, columns = linalg.qr(rows, mode="economic", pivoting=True)
        found = linalg.solve_triangular(r, q.T @ wanted)
        rest = wanted - rows[:, columns] @ found
        return bool(np.sum(np.square(rest)) > 4 * (len(wanted) + 1))


@dataclass(frozen=True)
class UnprotectedMessage:
    """First message in which the two worlds differ and that no noise protects: the agent's `message`-th, from 0.

    `name` is the field, or "" where the worlds send different messages; `activation` that of the message, from 1.
    """

    agent: int
    message: int
    activation: int
    name: str
    sentence: str

    def __str__(self) -> str:
        return self.sentence


class Leaks:
    """Collector of unprotected messages, the earliest first.

    `first` (replicas,) is the first one of each transcript, ∞ if none; `uncovered` the first of all; `faint` a
    difference that may be rounding or chance.
    """

    def __init__(self, agent: int, replicas: int, true: Replayed, neighbors: Sequence[int], step: str) -> None:
        """`step`: "round" or "activation"."""
        self.agent, self._true, self._neighbors, self._step = agent, true, neighbors, step
        self.first = np.full(replicas, math.inf)
        self.uncovered: UnprotectedMessage | None = None
        self.faint: UnprotectedMessage | None = None
        self._answers = {(c.message, c.name): c.answer for c in true.comparisons}
        self._fields: dict[tuple[str, Cause], UnprotectedField] = {}
        self._where: dict[tuple[str, Cause], Mask] = {}

    def comparison(self, c: Comparison) -> None:
        """Add a value that is no release, if the other world would have sent another."""
        if c.identical:
            return
        receiver = "its neighbors" if c.receiver < 0 else f"agent {c.receiver}"
        found = self._message(
            c.message,
            c.name,
            f"sends {c.name!r} to {receiver} {self._when(c.message)}, a "
            f"deterministic function of its private gradients (the two worlds differ by {show(c.difference, 2)})",
        )
        self._note(found, visible := c.visible, c.differs)
        if np.any(visible):
            known = (c.name, "value") in self._fields  # comparisons come in order: the first one says why
            reason = "" if known else _why(c, self._answers.get((c.message, c.name)))
            self._add(c.message, c.name, "value", visible, c.difference, reason)

    def unexplained(
        self, other: Replayed, releases: Sequence[Array], again: Again, claimed: float | None
    ) -> tuple[Array, UnprotectedMessage | None]:
        """First message that hidden noise cannot explain, (replicas,), ∞ if none, and that message, which is added.

        Only for an adversary who sees the wire alone. `other` is the replay of the other hypothesis on the granted
        `releases`, `again` repeats it on changed ones. `claimed`: the ε that it speaks against.
        """
        if (found := _inexplicable(other, releases, again, draws_for(claimed))) is None:
            return np.full(len(self.first), math.inf), None
        why = "only releases that are not on the wire hide it, and no draw of these explains it in the other world"
        self._add(found.message, found.name, "too little noise", found.where, None, why)
        receiver = "its neighbors" if found.receiver < 0 else f"agent {found.receiver}"
        message = self._message(
            found.message,
            found.name,
            f"sends {found.name!r} to {receiver} {self._when(found.message)}, "
            "and has then sent more numbers than there is noise to hide them (in the other world no noise can "
            "explain what was sent)",
        )
        return np.where(found.where, found.message, math.inf), message

    def dithered(self, one: Comparison, two: Comparison) -> None:
        """Add values that the codec made equal: another dither, or other data, might distinguish the worlds."""
        assert one.value is not None
        assert two.value is not None
        sentence = (
            f"encodes another {one.name!r} {self._when(one.message)} in the other world, and the codec made the same "
            "of both"
        )
        differs = np.any(bits(one.value) != bits(two.value), axis=-1)
        self._note(self._message(one.message, one.name, sentence), np.zeros(len(self.first), dtype=bool), differs)

    def release(self, a: Release, b: Release) -> None:
        """Add a release without noise in some coordinate where the worlds differ."""
        silent = np.equal(a.stddev, 0)
        difference = np.where(silent, np.abs(a.covered - b.covered), 0.0)
        rounding = ULPS * np.finfo(float).eps * np.abs(a.observed)
        seen = np.logical_and(np.any(difference > rounding, axis=-1), a.judged)
        differs = np.logical_and(np.any(difference > 0, axis=-1), a.judged)
        size = float(np.max(difference[a.judged], initial=0.0))
        sentence = (
            f"without noise in a coordinate where the two worlds differ (by up to {show(np.max(difference), 2)})"
        )
        why = "the release has no noise in a coordinate in which the two worlds differ"
        self._note_release(a, sentence, "bare release", seen, differs, size, why)

    def impossible(self, a: Release, b: Release, missing: Mask) -> None:
        """Add a release that the other world's law never makes, though noise covers it: another support, or no noise.

        `missing` (replicas,): where its density there is 0. Differences that neither world covers are `release`'s.
        """
        silent, silent_there = np.equal(a.stddev, 0), np.equal(b.stddev, 0)
        bare = np.any(silent & silent_there & (a.covered != b.covered), axis=-1)
        unequal = np.any(silent & ~silent_there, axis=-1) & (not isinstance(a.mechanism, DiscreteMechanism))
        seen = (missing & ~bare | unequal) & a.judged
        why = "the law of the release has another support in the other world: it never makes what was seen"
        self._note_release(a, "that the other world never releases", "other support", seen, seen, None, why)

    def _note_release(
        self, a: Release, how: str, cause: Cause, seen: Mask, differs: Mask, size: float | None, why: str
    ) -> None:
        message = a.made_before if a.sent_in is None else a.sent_in  # the next one where none carries it
        sentence = f"releases a value {self._when(message)} {how}"
        self._note(self._message(message, "", sentence), seen, differs)
        self._add(message, a.carriers[0][1] if a.carriers else "", cause, seen, size, why)

    def _when(self, message: int) -> str:
        k = self._true.activation_of(message)
        return f"in round {k}" if self._step == "round" else f"at its activation {k}"

    def departure(self, departure: Departure) -> None:
        """Add a message that the other world does not send, or sends at another time or to another agent."""
        message, what, _ = departure
        when = self._true.activation_of(message)
        sentence = (
            f"which messages agent {self.agent} sends, or when, depends on its private data: at its message "
            f"{message} ({self._step} {when}) the other world {what}"
        )
        everywhere = np.ones(len(self.first), dtype=bool)
        self._note(UnprotectedMessage(self.agent, message, when, "", sentence), everywhere, everywhere)
        self._add(message, "", "other message", everywhere, None, f"the other world {what}")

    def undecided(self, message: int) -> None:
        """Add that the worlds differ in steps of random duration before a message."""
        when = self._true.activation_of(message)
        sentence = (
            f"the order in which agent {self.agent} asks and waits before its message {message} "
            f"({self._step} {when}) depends on its private data, and queries take a random time"
        )
        if self.faint is None:
            self.faint = UnprotectedMessage(self.agent, message, when, "", sentence)

    def fields(self, granted_from: float) -> tuple[UnprotectedField, ...]:
        """All unprotected fields, in order; from message `granted_from` on they are marked `granted`."""
        all_of = (
            replace(
                one,
                distinguishing=int(np.sum(self._where[key])),
                granted=one.message >= granted_from and one.cause != "too little noise",
            )
            for key, one in self._fields.items()
        )
        return tuple(sorted(all_of, key=lambda one: (one.message, one.name)))

    def _message(self, message: int, name: str, predicate: str) -> UnprotectedMessage:
        sentence = f"agent {self.agent} {predicate}"
        return UnprotectedMessage(self.agent, message, self._true.activation_of(message), name, sentence)

    def _note(self, found: UnprotectedMessage, visible: Mask, differs: Mask) -> None:
        self.first = np.where(visible, np.minimum(self.first, found.message), self.first)
        if np.any(visible) and (self.uncovered is None or found.message < self.uncovered.message):
            self.uncovered = found
        if self.faint is None and np.any(differs & ~visible):
            self.faint = found

    def _add(self, message: int, name: str, cause: Cause, where: Mask, difference: float | None, reason: str) -> None:
        """Add a field that distinguishes the worlds in the replicas of `where`."""
        if not np.any(where):
            return
        key: tuple[str, Cause] = name, cause
        sendings = self._true.sendings
        sending = sendings[min(message, len(sendings) - 1)] if sendings else None
        receivers: Sequence[int] = ()
        if sending is not None:
            receivers = self._neighbors if sending.receiver == EVERYBODY else (sending.receiver,)
        one = UnprotectedField(
            agent=self.agent,
            name=name,
            cause=cause,
            message=message,
            activation=self._true.activation_of(message),
            kind="" if sending is None else sending.kind,
            number=-1 if sending is None else sending.number,
            messages=1,
            links=tuple((self.agent, j) for j in receivers),
            difference=difference,
            distinguishing=0,
            transcripts=len(self.first),
            reason=reason,
        )
        before = self._fields.get(key)
        self._fields[key] = one if before is None else before.joined(one)
        self._where[key] = np.logical_or(self._where.get(key, False), where)


def _why(comparison: Comparison, own: Answer | None) -> str:
    """Reason in a line, with the multiple of the last answer where the difference is one. By how much the worlds
    differ is not in it: that is of all messages of the field, and the reason of one."""
    other, bare = comparison.answer, "no noise protects it"
    if own is None or other is None or own.kind != other.kind or own.value.shape != comparison.observed.shape:
        return bare
    difference, here, there = comparison.observed - comparison.predicted, own.value, other.value
    answer = "proximal point" if own.kind == "proximal" else own.kind
    carries = f"{bare}: it carries the agent's own {answer}"
    if (factor := _multiple(difference, here - there)) is not None:
        return f"{carries}; the two worlds differ by {show(factor, 4)} times the difference of the {answer}s"
    if combined(difference, here, there):
        return f"{carries}, by multiples that change with the transcript, as clipping makes them"
    return f"{bare}: the two worlds differ by more than a multiple of the agent's last {answer}"


def _multiple(difference: Array, answer: Array) -> float | None:
    """Factor c with difference = c·answer everywhere, but for rounding; None if there is none."""
    with np.errstate(over="ignore", invalid="ignore"):
        length = float(np.sum(answer * answer))
        if not 0 < length < np.inf or not np.all(np.isfinite(difference)):
            return None
        factor = float(np.sum(difference * answer)) / length
        rest = float(np.max(np.abs(difference - factor * answer)))
        return factor if rest <= _ALIKE * float(np.max(np.abs(difference))) else None


def combined(difference: Array, here: Array, there: Array) -> bool:
    """Whether difference = a·here − b·there in every transcript; with fewer than three coordinates any vector is."""
    with np.errstate(all="ignore"):
        if difference.shape[-1] < 3 or not all(np.all(np.isfinite(x)) for x in (difference, here, there)):
            return False
        basis, sizes, _ = np.linalg.svd(np.stack([here, there], axis=-1), full_matrices=False)
        basis = basis * (sizes > _ALIKE * sizes[:, :1])[:, None, :]
        within = np.einsum("rdk,rk->rd", basis, np.einsum("rdk,rd->rk", basis, difference))
        return bool(np.max(np.abs(difference - within)) <= _ALIKE * np.max(np.abs(difference)))
