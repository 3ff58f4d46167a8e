"""What tells the two worlds apart and no noise covers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attacks.audit.anatomy.fields import Fields
from attacks.audit.loss.prices import covered
from attacks.audit.loss.unseen import Inexplicable
from attacks.replay import ULPS, Comparison, Departure, Release, Replayed, bits
from netsim.arrays import Array, Mask
from netsim.mechanisms import DiscreteMechanism


@dataclass(frozen=True)
class Uncovered:
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
        self.uncovered: Uncovered | None = None
        self.faint: Uncovered | None = None

    def comparison(self, c: Comparison) -> None:
        if c.identical:
            return
        to = "its neighbors" if c.receiver < 0 else f"agent {c.receiver}"
        when = self._date(c.message)
        found = Uncovered(
            self.agent,
            c.message,
            when,
            c.name,
            f"agent {self.agent} sends {c.name!r} to {to} at its activation {when}, a deterministic "
            f"function of its private gradients (the two worlds differ by {c.difference:.1e})",
        )
        self._note(found, c.visible, c.differs)
        self.fields.compared(c)

    def unexplained(self, found: Inexplicable) -> Uncovered:
        """In words; for who sees the wire alone."""
        to = "its neighbors" if found.receiver < 0 else f"agent {found.receiver}"
        when = self._date(found.message)
        sentence = (
            f"agent {self.agent} sends {found.name!r} to {to} at its activation {when}, which, with what it sent "
            "before, no noise can explain in the other world: there is less noise than there are numbers to hide"
        )
        why = "only releases that are not on the wire hide it, and no draw of these explains it in the other world"
        self.fields.add(found.message, found.name, "too little noise", found.where, None, why)
        return Uncovered(self.agent, found.message, when, found.name, sentence)

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
        found = Uncovered(self.agent, one.message, when, one.name, sentence)
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
        found = Uncovered(
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
        self._note(Uncovered(self.agent, message, when, "", sentence), told, told)
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
        self._note(Uncovered(self.agent, message, when, "", sentence), everywhere, everywhere)
        self.fields.add(message, "", "other message", everywhere, None, f"the other world {what}")

    def _date(self, message: int) -> int:
        return self._sendings[min(message, len(self._sendings) - 1)].activation if self._sendings else 1

    def _note(self, found: Uncovered, visible: Mask, differs: Mask) -> None:
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
            self.faint = Uncovered(self.agent, message, when, "", sentence)


def _field(release: Release) -> str:
    """The name under which a release is first sent, "" if it is not."""
    return release.carriers[0][1] if release.carriers else ""
