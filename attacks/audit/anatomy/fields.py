"""Every field on the wire that no noise covers, with its path, its size, how often it tells, and why.

`explain` names the first uncovered message of a sample; here all of them are kept, field by field. Why is said only
where it is seen: where the difference of the two worlds is a multiple of that of the answers that the agent's
objective gave last, the same for all transcripts and coordinates, or, of clipped ones, a sum of multiples of both.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from attacks.audit.anatomy.released import Link, receivers
from attacks.replay import Answer, Comparison, Replayed, Sending
from netsim.arrays import Array, Mask

ALIKE = 1e-6
"""Relative: a difference so near to a multiple of the answer's is that multiple."""

Cause = Literal["value", "bare release", "other support", "other message", "too little noise"]
"""Why no noise covers it: it is no release; a release has none in some coordinate; the other world's law cannot make
it; the other world sends another message, or at another time; noise that is not on the wire cannot explain it."""


@dataclass(frozen=True)
class UncoveredField:
    """One field of the agent's messages, or ("" in `name`) of what is no field, that tells the two worlds apart.

    `message` and `activation` are the first at which it tells, `kind` and `number` which message that is; `messages`
    in how many it does, `links` over which these go. `difference` is the largest |observed − predicted| of a number
    (∞ where one is not finite, None where there is none to compare) and `told` in how many of the sample's
    `transcripts` it tells. `reason` says why, of the first one. `granted`: so it is for an adversary who knows
    releases that are not on the wire.
    """

    agent: int
    name: str
    cause: Cause
    message: int
    activation: int
    kind: str
    number: int
    messages: int
    links: tuple[Link, ...]
    difference: float | None
    told: int
    transcripts: int
    reason: str
    granted: bool = False

    @property
    def share(self) -> float:
        """Of the transcripts in which it tells."""
        return self.told / self.transcripts

    @property
    def path(self) -> str:
        """From whom to whom, in which message."""
        ends = ", ".join(f"{i}→{j}" for i, j in self.links) or "no link"
        field = f"field {self.name!r} of " if self.name else ""
        return f"{ends}: {field}{self.kind} {self.number}" if self.kind else ends

    @classmethod
    def plain(cls, found: dict[str, Any]) -> "UncoveredField":
        """From what `asdict` made of one, and JSON of that."""
        links: tuple[Link, ...] = tuple((i, j) for i, j in found["links"])
        return replace(cls(**found), links=links)


def plain(found: Iterable[UncoveredField]) -> list[dict[str, Any]]:
    """As JSON has it."""
    return [asdict(one) for one in found]


class Fields:
    """Collects the uncovered fields of one sample."""

    def __init__(self, agent: int, neighbors: Sequence[int], told: Replayed, replicas: int) -> None:
        self._agent, self._neighbors, self._replicas = agent, neighbors, replicas
        self._sendings = told.sendings
        self._answers = {(c.message, c.name): c.answer for c in told.comparisons}
        self._found: dict[tuple[str, Cause], UncoveredField] = {}
        self._told: dict[tuple[str, Cause], Mask] = {}

    def compared(self, comparison: Comparison) -> None:
        """A value that is no release."""
        if np.any(visible := comparison.visible):
            known = (comparison.name, "value") in self._found  # comparisons come in order: the first one says why
            own = self._answers.get((comparison.message, comparison.name))
            reason = "" if known else _why(comparison, own)
            self.add(comparison.message, comparison.name, "value", visible, comparison.difference, reason)

    def add(self, message: int, name: str, cause: Cause, where: Mask, difference: float | None, reason: str) -> None:
        """Something tells, in the replicas of `where`."""
        if not np.any(where):
            return
        key = name, cause
        sending = self._sendings[min(message, len(self._sendings) - 1)] if self._sendings else None
        one = self._one(message, name, cause, sending, difference, reason)
        before = self._found.get(key)
        self._found[key] = one if before is None else _joined(before, one)
        self._told[key] = np.logical_or(self._told.get(key, False), where)

    def _one(
        self, message: int, name: str, cause: Cause, sending: Sending | None, difference: float | None, reason: str
    ) -> UncoveredField:
        links = () if sending is None else tuple((self._agent, j) for j in receivers(sending, self._neighbors))
        return UncoveredField(
            agent=self._agent,
            name=name,
            cause=cause,
            message=message,
            activation=1 if sending is None else sending.activation,
            kind="" if sending is None else sending.kind,
            number=-1 if sending is None else sending.number,
            messages=1,
            links=links,
            difference=difference,
            told=0,
            transcripts=self._replicas,
            reason=reason,
        )

    def finish(self, granted_from: float) -> tuple[UncoveredField, ...]:
        """All, the first first; from message `granted_from` on they are for who knows what is not on the wire."""
        all_of = (
            replace(
                one,
                told=int(np.sum(self._told[key])),
                granted=one.message >= granted_from and one.cause != "too little noise",
            )
            for key, one in self._found.items()
        )
        return tuple(sorted(all_of, key=_order))


def pooled(samples: Iterable[tuple[tuple[UncoveredField, ...], int]]) -> tuple[UncoveredField, ...]:
    """The fields of several samples (fields, transcripts) together; shares are of all transcripts."""
    found: dict[tuple[str, Cause, bool], UncoveredField] = {}
    total = 0
    for fields, transcripts in samples:
        total += transcripts
        for one in fields:
            key = one.name, one.cause, one.granted
            before = found.get(key)
            found[key] = one if before is None else _pooled(before, one)
    return tuple(sorted((replace(one, transcripts=total) for one in found.values()), key=_order))


def _pooled(a: UncoveredField, b: UncoveredField) -> UncoveredField:
    return replace(_joined(a, b), messages=max(a.messages, b.messages), told=a.told + b.told)


def _joined(a: UncoveredField, b: UncoveredField) -> UncoveredField:
    first = min(a, b, key=lambda one: one.message)
    sizes = [size for size in (a.difference, b.difference) if size is not None]
    return replace(
        first,
        messages=a.messages + b.messages,
        links=tuple(sorted({*a.links, *b.links})),
        difference=max(sizes, default=None),
    )


def _order(one: UncoveredField) -> tuple[int, str]:
    return one.message, one.name


def _why(comparison: Comparison, own: Answer | None) -> str:
    """In a line; the multiple of the last answer, where the difference is one."""
    other = comparison.answer
    size = f"the two worlds differ by up to {comparison.difference:.2g}"
    if own is None or other is None or own.kind != other.kind or own.value.shape != comparison.observed.shape:
        return f"no noise covers it: {size}"
    difference = (comparison.observed - comparison.predicted)[comparison.judged]
    here, there = own.value[comparison.judged], other.value[comparison.judged]
    answer = _ANSWERS[own.kind]
    carries = f"no noise covers it: it carries the agent's own {answer}; {size}"
    if (factor := _multiple(difference, here - there)) is not None:
        return f"{carries}, {factor:.4g} times the difference of the {answer}s"
    if _combined(difference, here, there):
        return f"{carries}, by multiples of the {answer}s that change with the transcript, as clipping makes them"
    return f"no noise covers it: {size}, and by more than a multiple of the agent's last {answer}"


def _multiple(difference: Array, answer: Array) -> float | None:
    """c with difference = c·answer everywhere, but for rounding."""
    with np.errstate(over="ignore", invalid="ignore"):
        length = float(np.sum(answer * answer))
        if not 0 < length < np.inf or not np.all(np.isfinite(difference)):
            return None
        factor = float(np.sum(difference * answer)) / length
        rest = float(np.max(np.abs(difference - factor * answer)))
        return factor if rest <= ALIKE * float(np.max(np.abs(difference))) else None


def _combined(difference: Array, here: Array, there: Array) -> bool:
    """Whether difference = a·here − b·there in every transcript; three coordinates or more say so."""
    with np.errstate(all="ignore"):
        if difference.shape[-1] < 3 or not all(np.all(np.isfinite(x)) for x in (difference, here, there)):
            return False
        basis, sizes, _ = np.linalg.svd(np.stack([here, there], axis=-1), full_matrices=False)
        basis = basis * (sizes > ALIKE * sizes[:, :1])[:, None, :]
        within = np.einsum("rdk,rk->rd", basis, np.einsum("rdk,rd->rk", basis, difference))
        return bool(np.max(np.abs(difference - within)) <= ALIKE * np.max(np.abs(difference)))


_ANSWERS = {"gradient": "gradient", "proximal": "proximal point"}
