"""Fields on the wire: the message that carries each release, and every field that no noise protects.

A comparison names the first unprotected message of a sample; here all of them are kept, field by field. A reason is
given only where it is seen: where the difference of the two worlds is a multiple of that of the answers that the
agent's objective gave last, the same for all transcripts and coordinates, or, of clipped ones, a sum of multiples of
both.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from attacks.audit.loss.release_cost import noise_of, scale_of
from attacks.replay import Answer, Comparison, Perturbed, Release, Replayed, Sending
from netsim.arrays import Array, Mask
from netsim.errors import NetsimError
from netsim.transcript.record import EVERYBODY

_FOLLOWED = 8
"""Releases not on the wire verbatim that are followed to where they come out, at most."""

Link = tuple[int, int]
"""Link (from, to) of two agents."""


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
    """Place and law of one `privatize` call.

    `activation` is that of the first message that carries it, from 1; of the next message where none does, for the
    value travels inside others then: `inside` is the first field that changes with it, None if nothing does or if
    it is not known (beyond the first `_FOLLOWED` such releases). `mechanism` is the law's name, with "perturbed
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
        """Links on which it travels verbatim, in order; none if it is only inside other values."""
        return tuple(sorted({(self.agent, j) for carrier in self.carriers for j in carrier.receivers}))

    def __str__(self) -> str:
        first = self.carriers[0] if self.carriers else self.inside
        if first is None:
            return f"not on the wire (activation {self.activation})"
        within = "" if self.carriers else "inside "
        return f"{within}{first.name!r} of {first.kind} {first.number} (activation {self.activation})"


Place = tuple[int, str]
"""Place on the wire: a message of the agent, from 0, and a field of it."""


def released(
    agent: int,
    neighbors: Sequence[int],
    releases: Iterable[Release],
    sendings: Sequence[Sending],
    inside: Mapping[int, Place],
) -> tuple[Released, ...]:
    """Place of each release of a replay under the true hypothesis; `inside`: where hidden ones come out."""

    def carrier(message: int, name: str) -> _Carrier:
        sending = sendings[message]
        return _Carrier(message, sending.kind, sending.number, name, _receivers(sending, neighbors))

    found: list[Released] = []
    for t, release in enumerate(releases):
        at = release.carriers[0][0] if release.carriers else release.made_before
        within = "perturbed objective: " if isinstance(release.mechanism, Perturbed) else ""
        scale = scale_of(release)
        found.append(
            Released(
                agent,
                activation_of(sendings, at),
                tuple(carrier(*place) for place in release.carriers),
                f"{within}{type(noise_of(release)).__name__}",
                (float(np.min(scale)), float(np.max(scale))),
                carrier(*inside[t]) if t in inside else None,
            )
        )
    return tuple(found)


def followed(true: Replayed, releases: Sequence[Array], again: Callable[[list[Array]], Replayed]) -> dict[int, Place]:
    """Places where releases that no message carries come out: each is moved by 1, and the agent's code replayed
    (`again`).

    Of the first transcript, under the true hypothesis: a field that changes has the release in it, or in the value
    that another release covers.
    """
    hidden = [t for t, release in enumerate(true.releases) if not release.carriers and t < len(releases)]
    found: dict[int, Place] = {}
    for t in hidden[:_FOLLOWED]:
        try:
            other = again([r + 1.0 if k == t else r for k, r in enumerate(releases)])
        except NetsimError:
            continue
        changed = [(c.message, c.name) for c in other.comparisons if not c.identical]
        pairs = zip(true.releases, other.releases, strict=False)
        covered = [a.carriers[0] for a, b in pairs if a.carriers and not np.array_equal(a.value[:1], b.value)]
        if changed or covered:
            found[t] = min([*changed, *covered])
    return found


def _receivers(sending: Sending, neighbors: Sequence[int]) -> tuple[int, ...]:
    """Agents that a message is for."""
    return tuple(neighbors) if sending.receiver == EVERYBODY else (sending.receiver,)


def activation_of(sendings: Sequence[Sending], message: int) -> int:
    """Activation of the agent's `message`-th message, from 0; of the last one for later messages; 1 without any."""
    return sendings[min(message, len(sendings) - 1)].activation if sendings else 1


ALIKE = 1e-6
"""Relative: a difference so near to a multiple of the answer's counts as that multiple."""

Cause = Literal["value", "bare release", "other support", "other message", "too little noise"]
"""Why no noise covers it: it is no release; a release has none in some coordinate; the other world's law cannot make
it; the other world sends another message, or at another time; noise that is not on the wire cannot explain it."""


@dataclass(frozen=True)
class UnprotectedField:
    """Field of the agent's messages in which the two worlds differ unprotected; `name` "" where it is no field.

    `message` and `activation` are the first at which it distinguishes the worlds, `kind` and `number` identify that
    message; `messages` is how many do, `links` where these go. `difference` is the largest |observed − predicted| of
    a number (∞ where one is not finite, None where there is none to compare), `told` the number of the sample's
    `transcripts` in which it distinguishes, `reason` that of the first one. `granted`: only for an adversary who
    knows releases that are not on the wire.
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
        """Share of transcripts in which it distinguishes the worlds."""
        return self.told / self.transcripts

    @property
    def path(self) -> str:
        """Sender and receivers, field and message."""
        ends = ", ".join(f"{i}→{j}" for i, j in self.links) or "no link"
        field = f"field {self.name!r} of " if self.name else ""
        return f"{ends}: {field}{self.kind} {self.number}" if self.kind else ends


class Fields:
    """Collector of the unprotected fields of one sample."""

    def __init__(self, agent: int, neighbors: Sequence[int], true: Replayed, replicas: int) -> None:
        self._agent, self._neighbors, self._replicas = agent, neighbors, replicas
        self._sendings = true.sendings
        self._answers = {(c.message, c.name): c.answer for c in true.comparisons}
        self._found: dict[tuple[str, Cause], UnprotectedField] = {}
        self._where: dict[tuple[str, Cause], Mask] = {}

    def compared(self, comparison: Comparison) -> None:
        """Add a value that is no release."""
        if np.any(visible := comparison.visible):
            known = (comparison.name, "value") in self._found  # comparisons come in order: the first one says why
            own = self._answers.get((comparison.message, comparison.name))
            reason = "" if known else _why(comparison, own)
            self.add(comparison.message, comparison.name, "value", visible, comparison.difference, reason)

    def add(self, message: int, name: str, cause: Cause, where: Mask, difference: float | None, reason: str) -> None:
        """Add a field that distinguishes the worlds in the replicas of `where`."""
        if not np.any(where):
            return
        key = name, cause
        sending = self._sendings[min(message, len(self._sendings) - 1)] if self._sendings else None
        one = UnprotectedField(
            agent=self._agent,
            name=name,
            cause=cause,
            message=message,
            activation=activation_of(self._sendings, message),
            kind="" if sending is None else sending.kind,
            number=-1 if sending is None else sending.number,
            messages=1,
            links=() if sending is None else tuple((self._agent, j) for j in _receivers(sending, self._neighbors)),
            difference=difference,
            told=0,
            transcripts=self._replicas,
            reason=reason,
        )
        before = self._found.get(key)
        self._found[key] = one if before is None else _joined(before, one)
        self._where[key] = np.logical_or(self._where.get(key, False), where)

    def finish(self, granted_from: float) -> tuple[UnprotectedField, ...]:
        """Fields in order; from message `granted_from` on they are marked `granted`."""
        all_of = (
            replace(
                one,
                told=int(np.sum(self._where[key])),
                granted=one.message >= granted_from and one.cause != "too little noise",
            )
            for key, one in self._found.items()
        )
        return tuple(sorted(all_of, key=lambda one: (one.message, one.name)))


def pooled(samples: Iterable[tuple[tuple[UnprotectedField, ...], int]]) -> tuple[UnprotectedField, ...]:
    """Pool the fields of several samples (fields, transcripts); shares are of all transcripts."""
    found: dict[tuple[str, Cause, bool], UnprotectedField] = {}
    total = 0
    for fields, transcripts in samples:
        total += transcripts
        for one in fields:
            key = one.name, one.cause, one.granted
            before = found.get(key)
            if before is not None:
                messages, seen_in = max(before.messages, one.messages), before.told + one.told
                one = replace(_joined(before, one), messages=messages, told=seen_in)
            found[key] = one
    all_of = (replace(one, transcripts=total) for one in found.values())
    return tuple(sorted(all_of, key=lambda one: (one.message, one.name)))


def _joined(a: UnprotectedField, b: UnprotectedField) -> UnprotectedField:
    first = min(a, b, key=lambda one: one.message)
    sizes = [size for size in (a.difference, b.difference) if size is not None]
    return replace(
        first,
        messages=a.messages + b.messages,
        links=tuple(sorted({*a.links, *b.links})),
        difference=max(sizes, default=None),
    )


def _why(comparison: Comparison, own: Answer | None) -> str:
    """Reason in a line, with the multiple of the last answer where the difference is one."""
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
    """Factor c with difference = c·answer everywhere, but for rounding; None if there is none."""
    with np.errstate(over="ignore", invalid="ignore"):
        length = float(np.sum(answer * answer))
        if not 0 < length < np.inf or not np.all(np.isfinite(difference)):
            return None
        factor = float(np.sum(difference * answer)) / length
        rest = float(np.max(np.abs(difference - factor * answer)))
        return factor if rest <= ALIKE * float(np.max(np.abs(difference))) else None


def _combined(difference: Array, here: Array, there: Array) -> bool:
    """Whether difference = a·here − b·there in every transcript; with fewer than three coordinates any vector is."""
    with np.errstate(all="ignore"):
        if difference.shape[-1] < 3 or not all(np.all(np.isfinite(x)) for x in (difference, here, there)):
            return False
        basis, sizes, _ = np.linalg.svd(np.stack([here, there], axis=-1), full_matrices=False)
        basis = basis * (sizes > ALIKE * sizes[:, :1])[:, None, :]
        within = np.einsum("rdk,rk->rd", basis, np.einsum("rdk,rd->rk", basis, difference))
        return bool(np.max(np.abs(difference - within)) <= ALIKE * np.max(np.abs(difference)))


_ANSWERS = {"gradient": "gradient", "proximal": "proximal point"}


@dataclass(frozen=True)
class Details:
    """Details of one sample: `released[t]` goes with step t of the loss, `uncovered` are all unprotected fields, and
    `averages` (4, releases, some replicas) those of `attacks.audit.loss.release_cost.averages`."""

    released: tuple[Released, ...] = ()
    uncovered: tuple[UnprotectedField, ...] = ()
    averages: Array = field(default_factory=lambda: np.empty((4, 0, 0)))
