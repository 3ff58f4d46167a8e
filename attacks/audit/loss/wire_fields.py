"""Fields on the wire: the message that carries each release, and every field that no noise protects."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from attacks.replay import Perturbed, Replayed
from netsim.arrays import Array
from netsim.transcript.message import EVERYBODY

FOLLOWED = 8
"""Releases not on the wire verbatim that are followed to where they come out, at most."""
Link = tuple[int, int]
"""Link (from, to) of two agents."""


@dataclass(frozen=True)
class _Carrier:
    """One message that holds a release as it was made."""

    message: int
    """Number of the agent's message, from 0."""
    kind: str
    """"exchange" or "direct"."""
    number: int
    """The agent's count of messages of that kind."""
    name: str
    """The field."""
    receivers: tuple[int, ...]
    """Agents it was for."""


@dataclass(frozen=True)
class Released:
    """Place and law of one `privatize` call."""

    agent: int
    """The agent."""
    activation: int
    """Activation of the first message that carries it, from 1; of the next message where none does, for the value
    travels inside others then."""
    carriers: tuple[_Carrier, ...]
    """Messages that hold it as it was made."""
    mechanism: str
    """Name of the law, after "perturbed objective: " where the noise is in the objective."""
    scale: tuple[float, float]
    """Smallest and largest parameter of the law: Laplace b, Gaussian σ, a modulus."""
    inside: _Carrier | None = None
    """Where no message carries it: the first field that changes with it; null if nothing does, or it is not known
    (beyond the first `FOLLOWED` such releases)."""

    @classmethod
    def of(
        cls, agent: int, neighbors: Sequence[int], true: Replayed, count: int, inside: Mapping[int, tuple[int, str]]
    ) -> "tuple[Released, ...]":
        """Place of each of the first `count` releases of a replay under the true hypothesis.

        `inside`: message and field where a hidden one comes out.
        """

        def carrier(message: int, name: str) -> _Carrier:
            sending = true.sendings[message]
            receivers = tuple(neighbors) if sending.receiver == EVERYBODY else (sending.receiver,)
            return _Carrier(message, sending.kind, sending.number, name, receivers)

        found: list[Released] = []
        for t, release in enumerate(true.releases[:count]):
            at = release.carriers[0][0] if release.carriers else release.made_before
            within = "perturbed objective: " if isinstance(release.mechanism, Perturbed) else ""
            found.append(
                cls(
                    agent,
                    true.activation_of(at),
                    tuple(carrier(*place) for place in release.carriers),
                    f"{within}{type(release.noise).__name__}",
                    (float(np.min(release.scale)), float(np.max(release.scale))),
                    carrier(*inside[t]) if t in inside else None,
                )
            )
        return tuple(found)

    @property
    def links(self) -> tuple[Link, ...]:
        """Links on which it travels verbatim, in order; none if it is only inside other values."""
        return tuple(sorted({(self.agent, j) for carrier in self.carriers for j in carrier.receivers}))

    def place(self, step: str) -> str:
        """Where it is on the wire, in which `step`: a "round", or an "activation" of a walk."""
        first = self.carriers[0] if self.carriers else self.inside
        if first is None:
            return f"not on the wire ({step} {self.activation})"
        within = "" if self.carriers else "inside "
        return f"{within}{first.name!r} of {first.kind} {first.number} ({step} {self.activation})"


Cause = Literal["value", "bare release", "other support", "other message", "too little noise"]
"""Why no noise protects it: it is no release; a release has none in some coordinate; the other world's law cannot
make it; the other world sends another message, or at another time; noise that is not on the wire cannot explain
it."""


@dataclass(frozen=True)
class UnprotectedField:
    """Field of the agent's messages in which the two worlds differ unprotected; `name` "" where it is no field.

    `message` and `activation` are the first at which it distinguishes the worlds, `kind` and `number` identify that
    message; `messages` is how many do, `links` where these go. `difference` is the largest |observed − predicted| of
    a number (∞ where one is not finite, None where there is none to compare), `distinguishing` the number of the
    sample's `transcripts` in which it distinguishes, `reason` that of the first one. `granted`: only for an adversary
    who knows releases that are not on the wire.
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
    distinguishing: int
    transcripts: int
    reason: str
    granted: bool = False

    @property
    def share(self) -> float:
        """Share of transcripts in which it distinguishes the worlds."""
        return self.distinguishing / self.transcripts

    @property
    def path(self) -> str:
        """Sender and receivers, field and message."""
        ends = ", ".join(f"{i}→{j}" for i, j in self.links) or "no link"
        field = f"field {self.name!r} of " if self.name else ""
        return f"{ends}: {field}{self.kind} {self.number}" if self.kind else ends

    def joined(self, other: "UnprotectedField") -> "UnprotectedField":
        """The same field of other messages taken in."""
        first = min(self, other, key=lambda one: one.message)
        sizes = [size for size in (self.difference, other.difference) if size is not None]
        return replace(
            first,
            messages=self.messages + other.messages,
            links=tuple(sorted({*self.links, *other.links})),
            difference=max(sizes, default=None),
        )

    @staticmethod
    def pooled(samples: "Iterable[tuple[tuple[UnprotectedField, ...], int]]") -> "tuple[UnprotectedField, ...]":
        """Pool the fields of several samples (fields, transcripts); shares are of all transcripts."""
        found: dict[tuple[str, Cause, bool], UnprotectedField] = {}
        total = 0
        for fields, transcripts in samples:
            total += transcripts
            for one in fields:
                key = one.name, one.cause, one.granted
                if (before := found.get(key)) is not None:
                    one = replace(
                        before.joined(one),
                        messages=max(before.messages, one.messages),
                        distinguishing=before.distinguishing + one.distinguishing,
                    )
                found[key] = one
        all_of = (replace(one, transcripts=total) for one in found.values())
        return tuple(sorted(all_of, key=lambda one: (one.message, one.name)))


@dataclass(frozen=True)
class Details:
    """Details of one sample: `released[t]` goes with step t of the loss, `uncovered` are all unprotected fields, and
    `averages` (4, releases, some replicas) those of `attacks.audit.loss.release_cost.Ratio.averages`."""

    released: tuple[Released, ...] = ()
    uncovered: tuple[UnprotectedField, ...] = ()
    averages: Array = field(default_factory=lambda: np.empty((4, 0, 0)))
