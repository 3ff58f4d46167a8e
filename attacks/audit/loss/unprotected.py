"""Unprotected messages: what distinguishes the worlds and no noise covers, hidden releases included.

An adversary who is granted such releases may tell the worlds apart by them; one who sees the wire alone has
to ask
whether the messages can be explained by *some* noise. Let them be y = a + B n under the other hypothesis,
where n is
the noise of the unseen releases: if y − a is not in the range of B, that world cannot have sent them,
whatever it
drew, and no density is needed to say so. So it is where one number of noise covers a vector, or one draw two
messages. a and B are found by replaying the agent's code; where y is no affine function of n nothing is said.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attacks.audit.loss.release_cost import covered
from attacks.audit.loss.wire_fields import Fields
from attacks.replay import ULPS, Comparison, Departure, Release, Replayed, bits
from netsim.arrays import Array, Mask
from netsim.errors import NetsimError
from netsim.mechanisms import DiscreteMechanism

MOST = 128
"""Unseen numbers of noise that are looked at; with more, nothing is said."""
AFFINE = 1e-7
RANK = 1e-9
SHARE = 1e-6
"""What is left unexplained counts from this share of the difference on."""
ROUNDING = 1e-10
"""And from this share of the largest number observed on."""

Again = Callable[[list[Array]], Replayed]
"""Replay the other hypothesis on these releases."""


class _Inexplicable(NamedTuple):
    """The first `message` that no noise of the other world explains, its field, and in which replicas."""

    message: int
    name: str
    receiver: int
    where: Mask


def inexplicable(foil: Replayed, releases: list[Array], again: Again) -> _Inexplicable | None:
    """What of the messages that `foil`, the other hypothesis on the granted `releases`, would have sent otherwise
    cannot be put right by other noise in the releases that are not on the wire. None where nothing is known of."""
    unseen = [(t, c) for t, r in enumerate(foil.releases) if r.sent_in is None for c in _noisy(r)]
    if not unseen or len(unseen) > MOST or foil.departure is not None or all(c.identical for c in foil.comparisons):
        return None
    try:
        effects = _effects(foil, releases, unseen, again)
    except NetsimError:
        return None
    if effects is None:
        return None
    missing = np.array([_missing(c) for c in foil.comparisons])
    observed = float(np.max(np.abs(np.array([c.observed for c in foil.comparisons])), initial=0.0))

    def left(messages: int) -> Mask:
        return _left(missing, effects, messages, observed) & foil.comparisons[messages - 1].judged

    last = sum(bool(np.any(c.judged)) for c in foil.comparisons)  # what is not judged any more stays so
    if not last or not np.any(left(last)):
        return None
    low, high = 0, last  # the fewest messages that cannot be explained together
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if np.any(left(middle)) else (middle, high)
    first = foil.comparisons[high - 1]
    return _Inexplicable(first.message, first.name, first.receiver, left(high))


def _missing(c: Comparison) -> Array:
    """What was observed beyond what was predicted; nothing where that may be rounding."""
    if c.possible is None:
        return np.zeros_like(c.observed)
    with np.errstate(invalid="ignore"):
        return np.where(c.possible, 0.0, c.observed - c.predicted)


def _noisy(release: Release) -> list[int]:
    """The coordinates that have noise."""
    spread = np.broadcast_to(release.mechanism.variance(), release.value.shape)
    return [int(c) for c in np.flatnonzero(np.all(spread > 0, axis=0))]


def _effects(foil: Replayed, releases: list[Array], unseen: list[tuple[int, int]], again: Again) -> Array | None:
    """B: how each unseen number of noise moves what is sent, (messages, replicas, dimension, noises)."""
    base = np.array([c.predicted for c in foil.comparisons])

    def moved(change: dict[int, Array]) -> Array | None:
        other = again([r + change[t] if t in change else r for t, r in enumerate(releases)])
        if other.departure is not None or len(other.comparisons) != len(foil.comparisons):
            return None
        return np.array([c.predicted for c in other.comparisons]) - base

    columns: list[Array] = []
    drawn = np.random.default_rng(0).standard_normal(len(unseen))
    together: dict[int, Array] = {}
    for (t, c), size in zip(unseen, drawn, strict=True):
        step = np.zeros_like(releases[t])
        step[:, c] = 1.0
        column = moved({t: step})
        if column is None:
            return None
        columns.append(column)
        together[t] = together.get(t, 0.0) + size * step
    effects = np.stack(columns, axis=-1)
    all_moved = moved(together)
    predicted = np.einsum("mrdn,n->mrd", effects, drawn)
    scale = 1 + np.max(np.abs(base)) + np.max(np.abs(predicted))
    if all_moved is None or not np.max(np.abs(all_moved - predicted)) <= AFFINE * scale:
        return None
    return effects


def _left(missing: Array, effects: Array, messages: int, observed: float) -> Mask:
    """In which replicas the first so many differences are not explained, (replicas,)."""
    replicas = missing.shape[1]
    wanted = missing[:messages].transpose(1, 0, 2).reshape(replicas, -1)
    matrix = effects[:messages].transpose(1, 0, 2, 3).reshape(replicas, wanted.shape[1], -1)
    if np.all(np.abs(matrix - matrix[:1]) <= AFFINE * (1 + np.abs(matrix[:1]))):
        matrix = matrix[:1]
    basis, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    basis = basis * (sizes > RANK * np.maximum(sizes[:, :1], np.finfo(float).tiny))[:, None, :]
    basis = np.broadcast_to(basis, (replicas, *basis.shape[1:]))
    within = np.einsum("rmk,rk->rm", basis, np.einsum("rmk,rm->rk", basis, wanted))
    left = np.max(np.abs(wanted - within), axis=-1, initial=0.0)
    least = np.maximum(SHARE * np.max(np.abs(wanted), axis=-1, initial=0.0), ROUNDING * observed)
    return np.asarray(left > least)


@dataclass(frozen=True)
class UnprotectedMessage:
    """What tells the two worlds apart in an agent's `message`-th message, from 0, and no noise covers.

    `name` is the field, or "" where the worlds send different messages; `activation` when that is, from 1.
    """

    agent: int
    message: int
    activation: int
    name: str
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def variance_of(release: Release) -> Array:
    """Of the noise on each coordinate, (replicas, dimension)."""
    return np.broadcast_to(release.mechanism.variance(), release.value.shape)


class Leaks:
    """Collects what no noise covers, the earliest message first."""

    def __init__(self, agent: int, replicas: int, told: Replayed, neighbors: Sequence[int]) -> None:
        self.agent, self._sendings = agent, told.sendings
        self.fields = Fields(agent, neighbors, told, replicas)
        self.first = np.full(replicas, math.inf)
        self.uncovered: UnprotectedMessage | None = None
        self.faint: UnprotectedMessage | None = None

    def comparison(self, c: Comparison) -> None:
        if c.identical:
            return
        to = "its neighbors" if c.receiver < 0 else f"agent {c.receiver}"
        when = self._date(c.message)
        found = UnprotectedMessage(
            self.agent,
            c.message,
            when,
            c.name,
            f"agent {self.agent} sends {c.name!r} to {to} at its activation {when}, a deterministic "
            f"function of its private gradients (the two worlds differ by {c.difference:.1e})",
        )
        self._note(found, c.visible, c.differs)
        self.fields.compared(c)

    def unexplained(self, found: _Inexplicable) -> UnprotectedMessage:
        """In words; for who sees the wire alone."""
        to = "its neighbors" if found.receiver < 0 else f"agent {found.receiver}"
        when = self._date(found.message)
        sentence = (
            f"agent {self.agent} sends {found.name!r} to {to} at its activation {when}, which, with what it sent "
            "before, no noise can explain in the other world: there is less noise than there are numbers to hide"
        )
        why = "only releases that are not on the wire hide it, and no draw of these explains it in the other world"
        self.fields.add(found.message, found.name, "too little noise", found.where, None, why)
        return UnprotectedMessage(self.agent, found.message, when, found.name, sentence)

    def dithered(self, one: Comparison, two: Comparison) -> None:
        """The same by chance: another dither might have told the worlds apart."""
        assert one.value is not None
        assert two.value is not None
        when = self._date(one.message)
        sentence = (
            f"agent {self.agent} encodes another {one.name!r} at its activation {when} in the other world, "
            "and the codec drew the same of both"
        )
        differs = np.logical_and(np.any(bits(one.value) != bits(two.value), axis=-1), one.judged)
        found = UnprotectedMessage(self.agent, one.message, when, one.name, sentence)
        self._note(found, np.zeros(len(self.first), dtype=bool), differs)

    def release(self, a: Release, b: Release) -> None:
        """A release without noise in some coordinate, where the worlds differ."""
        silent = np.equal(variance_of(a), 0)
        difference = np.where(silent, np.abs(covered(a) - covered(b)), 0.0)
        rounding = ULPS * np.finfo(float).eps * np.abs(a.observed)
        if a.cells is not None:
            rounding = rounding + np.where(silent, a.cells[1] - a.cells[0], 0.0)
        message = a.made_before if a.sent_in is None else a.sent_in
        when = self._date(message)
        found = UnprotectedMessage(
            self.agent,
            message,
            when,
            "",
            f"agent {self.agent} releases a value at its activation {when} without noise in a coordinate where the "
            f"two worlds differ (by up to {np.max(difference):.1e})",
        )
        told = np.logical_and(np.any(difference > rounding, axis=-1), a.judged)
        self._note(found, told, np.logical_and(np.any(difference > 0, axis=-1), a.judged))
        size = float(np.max(difference[a.judged], initial=0.0))
        why = f"the release has no noise in a coordinate, and the two worlds differ there by up to {size:.2g}"
        self.fields.add(message, _field(a), "bare release", told, size, why)

    def impossible(self, a: Release, b: Release, missing: Mask) -> None:
        """A release that the other world's law does not make, though noise covers it: another support, or no noise.

        `missing` (replicas,): where its density there is 0. Differences that neither world covers are `release`'s.
        """
        silent, silent_there = np.equal(variance_of(a), 0), np.equal(variance_of(b), 0)
        bare = np.any(silent & silent_there & (covered(a) != covered(b)), axis=-1)
        unequal = np.any(silent & ~silent_there, axis=-1) & (not isinstance(a.mechanism, DiscreteMechanism))
        message = a.made_before if a.sent_in is None else a.sent_in
        when = self._date(message)
        sentence = f"agent {self.agent} releases a value at its activation {when} that the other world never releases"
        told = (missing & ~bare | unequal) & a.judged
        self._note(UnprotectedMessage(self.agent, message, when, "", sentence), told, told)
        why = "the law of the release has another support in the other world: it never makes what was seen"
        self.fields.add(message, _field(a), "other support", told, None, why)

    def departure(self, departure: Departure) -> None:
        message, what = departure
        when = self._date(message)
        sentence = (
            f"which messages agent {self.agent} sends, or when, depends on its private data: at its message "
            f"{message} (activation {when}) the other world {what}"
        )
        everywhere = np.ones(len(self.first), dtype=bool)
        self._note(UnprotectedMessage(self.agent, message, when, "", sentence), everywhere, everywhere)
        self.fields.add(message, "", "other message", everywhere, None, f"the other world {what}")

    def _date(self, message: int) -> int:
        return self._sendings[min(message, len(self._sendings) - 1)].activation if self._sendings else 1

    def _note(self, found: UnprotectedMessage, visible: Mask, differs: Mask) -> None:
        self.first = np.where(visible, np.minimum(self.first, found.message), self.first)
        if np.any(visible) and (self.uncovered is None or found.message < self.uncovered.message):
            self.uncovered = found
        if self.faint is None and np.any(differs & ~visible):
            self.faint = found

    def undecided(self, message: int) -> None:
        """The worlds differ in what takes a random time before a message."""
        when = self._date(message)
        sentence = (
            f"the order in which agent {self.agent} asks and waits before its message {message} (activation {when}) "
            "depends on its private data, and queries take a random time"
        )
        if self.faint is None:
            self.faint = UnprotectedMessage(self.agent, message, when, "", sentence)


def _field(release: Release) -> str:
    """The name under which a release is first sent, "" if it is not."""
    return release.carriers[0][1] if release.carriers else ""
