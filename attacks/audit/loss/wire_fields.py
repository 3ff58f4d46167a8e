"""Fields on the wire: which message carries each release, and every field that no noise protects.

`explain` names the first uncovered message of a sample; here all of them are kept, field by field. Why is
said only
where it is seen: where the difference of the two worlds is a multiple of that of the answers that the agent's
objective gave last, the same for all transcripts and coordinates, or, of clipped ones, a sum of multiples of
both.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from attacks.replay import Answer, Comparison, Perturbed, Release, Replayed, Sending
from netsim.arrays import Array, Mask
from netsim.errors import NetsimError
from netsim.transcript.record import EVERYBODY

FOLLOWED = 8
"""Releases that are not on the wire as they were made, and are followed to where they come out."""

Link = tuple[int, int]
"""From one agent to another."""


@dataclass(frozen=True)
class _Carrier:
    """One message that holds a release as it was made: the agent's `message`-th, from 0, which is number `number` of
    its kind ("exchange" or "direct"); `name` is the field, `receivers` whom it was for."""

    message: int
    kind: str
    number: int
    name: str
    receivers: tuple[int, ...]


@dataclass(frozen=True)
class Released:
    """What is known of one `privatize` besides what it tells.

    `activation` is that of the first message that carries it, from 1; of the next message where none does, for the
    value goes on inside others then: `inside` is the first field that changes with it, None if nothing does, or if it
    is not known (it is of the first `FOLLOWED` such releases). `mechanism` is the law's name, with "perturbed
    objective: " where the noise is in the objective, and `scale` its smallest and largest parameter: Laplace b,
    Gaussian σ, a modulus.
    """

    agent: int
    activation: int
    carriers: tuple[_Carrier, ...]
    mechanism: str
    scale: tuple[float, float]
    inside: _Carrier | None = None

    @property
    def links(self) -> tuple[Link, ...]:
        """The links on which it travels as it was made, in order; none if it is only inside other values."""
        return tuple(sorted({(self.agent, j) for carrier in self.carriers for j in carrier.receivers}))

    def __str__(self) -> str:
        first = self.carriers[0] if self.carriers else self.inside
        if first is None:
            return f"not on the wire (activation {self.activation})"
        within = "" if self.carriers else "inside "
        return f"{within}{first.name!r} of {first.kind} {first.number} (activation {self.activation})"

    @classmethod
    def plain(cls, found: dict[str, Any]) -> "Released":
        """From what `asdict` made of one, and JSON of that."""
        carriers = tuple(map(_carrier_of, found["carriers"]))
        low, high = found["scale"]
        inside = None if found["inside"] is None else _carrier_of(found["inside"])
        return cls(found["agent"], found["activation"], carriers, found["mechanism"], (low, high), inside)


Place = tuple[int, str]
"""A message of the agent, from 0, and a field of it."""


def released(
    agent: int,
    neighbors: Sequence[int],
    releases: Iterable[Release],
    sendings: Sequence[Sending],
    inside: Mapping[int, Place],
) -> tuple[Released, ...]:
    """Of each release of a replay under the true hypothesis; `inside` where those come out that are on no wire."""
    return tuple(_of(agent, neighbors, release, sendings, inside.get(t)) for t, release in enumerate(releases))


def followed(told: Replayed, releases: Sequence[Array], again: Callable[[list[Array]], Replayed]) -> dict[int, Place]:
    """Where releases that no message carries come out, by moving each and running the agent's code `again`.

    Of the first transcript, under the hypothesis that was simulated: what is not sent as it was then has the release
    in it, or in the value that another release covers.
    """
    hidden = [t for t, release in enumerate(told.releases) if not release.carriers and t < len(releases)]
    found: dict[int, Place] = {}
    for t in hidden[:FOLLOWED]:
        try:
            other = again([r + 1.0 if k == t else r for k, r in enumerate(releases)])
        except NetsimError:
            continue
        changed = [(c.message, c.name) for c in other.comparisons if not c.identical]
        pairs = zip(told.releases, other.releases, strict=False)
        covered = [a.carriers[0] for a, b in pairs if a.carriers and not np.array_equal(a.value[:1], b.value)]
        if changed or covered:
            found[t] = min([*changed, *covered])
    return found


def receivers(sending: Sending, neighbors: Sequence[int]) -> tuple[int, ...]:
    """Whom a message is for."""
    return tuple(neighbors) if sending.receiver == EVERYBODY else (sending.receiver,)


def releases_as_plain(found: Iterable[Released]) -> list[dict[str, Any]]:
    """As JSON has it."""
    return [asdict(one) for one in found]


def _of(
    agent: int, neighbors: Sequence[int], release: Release, sendings: Sequence[Sending], inside: Place | None
) -> Released:
    def carrier(message: int, name: str) -> _Carrier:
        sending = sendings[message]
        return _Carrier(message, sending.kind, sending.number, name, receivers(sending, neighbors))

    at = release.carriers[0][0] if release.carriers else release.made_before
    activation = sendings[min(at, len(sendings) - 1)].activation if sendings else 1
    carriers = tuple(carrier(*place) for place in release.carriers)
    return Released(agent, activation, carriers, *_law(release), None if inside is None else carrier(*inside))


def _carrier_of(found: dict[str, Any]) -> _Carrier:
    return _Carrier(found["message"], found["kind"], found["number"], found["name"], tuple(found["receivers"]))


def _law(release: Release) -> tuple[str, tuple[float, float]]:
    law = release.mechanism
    name, law = ("perturbed objective: ", law.noise) if isinstance(law, Perturbed) else ("", law)
    named = (getattr(law, key, None) for key in ("scale", "stddev", "modulus"))
    scale = next((value for value in named if value is not None), np.sqrt(law.variance()))
    return name + type(law).__name__, (float(np.min(scale)), float(np.max(scale)))


ALIKE = 1e-6
"""Relative: a difference so near to a multiple of the answer's is that multiple."""

Cause = Literal["value", "bare release", "other support", "other message", "too little noise"]
"""Why no noise covers it: it is no release; a release has none in some coordinate; the other world's law cannot make
it; the other world sends another message, or at another time; noise that is not on the wire cannot explain it."""


@dataclass(frozen=True)
class UnprotectedField:
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
    def plain(cls, found: dict[str, Any]) -> "UnprotectedField":
        """From what `asdict` made of one, and JSON of that."""
        links: tuple[Link, ...] = tuple((i, j) for i, j in found["links"])
        return replace(cls(**found), links=links)


def _fields_as_plain(found: Iterable[UnprotectedField]) -> list[dict[str, Any]]:
    """As JSON has it."""
    return [asdict(one) for one in found]


class Fields:
    """Collects the uncovered fields of one sample."""

    def __init__(self, agent: int, neighbors: Sequence[int], told: Replayed, replicas: int) -> None:
        self._agent, self._neighbors, self._replicas = agent, neighbors, replicas
        self._sendings = told.sendings
        self._answers = {(c.message, c.name): c.answer for c in told.comparisons}
        self._found: dict[tuple[str, Cause], UnprotectedField] = {}
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
    ) -> UnprotectedField:
        links = () if sending is None else tuple((self._agent, j) for j in receivers(sending, self._neighbors))
        return UnprotectedField(
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

    def finish(self, granted_from: float) -> tuple[UnprotectedField, ...]:
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


def pooled(samples: Iterable[tuple[tuple[UnprotectedField, ...], int]]) -> tuple[UnprotectedField, ...]:
    """The fields of several samples (fields, transcripts) together; shares are of all transcripts."""
    found: dict[tuple[str, Cause, bool], UnprotectedField] = {}
    total = 0
    for fields, transcripts in samples:
        total += transcripts
        for one in fields:
            key = one.name, one.cause, one.granted
            before = found.get(key)
            found[key] = one if before is None else _pooled(before, one)
    return tuple(sorted((replace(one, transcripts=total) for one in found.values()), key=_order))


def _pooled(a: UnprotectedField, b: UnprotectedField) -> UnprotectedField:
    return replace(_joined(a, b), messages=max(a.messages, b.messages), told=a.told + b.told)


def _joined(a: UnprotectedField, b: UnprotectedField) -> UnprotectedField:
    first = min(a, b, key=lambda one: one.message)
    sizes = [size for size in (a.difference, b.difference) if size is not None]
    return replace(
        first,
        messages=a.messages + b.messages,
        links=tuple(sorted({*a.links, *b.links})),
        difference=max(sizes, default=None),
    )


def _order(one: UnprotectedField) -> tuple[int, str]:
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


def _none() -> Array:
    return np.empty((4, 0, 0))


@dataclass(frozen=True)
class Details:
    """Of one sample: `released[t]` goes with step t of the loss; `uncovered` are all fields that no noise covers;
    `averages` is (4, releases, some replicas), as `attacks.audit.loss.release_cost` makes it."""

    released: tuple[Released, ...] = ()
    uncovered: tuple[UnprotectedField, ...] = ()
    averages: Array = field(default_factory=_none)

    def words(self) -> dict[str, Any]:
        """All but the arrays, for JSON."""
        return {"released": releases_as_plain(self.released), "uncovered": _fields_as_plain(self.uncovered)}

    @classmethod
    def of(cls, words: dict[str, Any], averages: Array) -> "Details":
        """What `words` and the array were made of."""
        return cls(
            tuple(map(Released.plain, words["released"])),
            tuple(map(UnprotectedField.plain, words["uncovered"])),
            averages,
        )
