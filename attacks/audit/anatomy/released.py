"""Where each release went: which message of the agent carries it, in which field, to whom, and under what law."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from attacks.replay import Perturbed, Release, Replayed, Sending
from netsim.arrays import Array
from netsim.errors import NetsimError
from netsim.transcript import EVERYBODY

FOLLOWED = 8
"""Releases that are not on the wire as they were made, and are followed to where they come out."""

Link = tuple[int, int]
"""From one agent to another."""


@dataclass(frozen=True)
class Carrier:
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
    carriers: tuple[Carrier, ...]
    mechanism: str
    scale: tuple[float, float]
    inside: Carrier | None = None

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


def plain(found: Iterable[Released]) -> list[dict[str, Any]]:
    """As JSON has it."""
    return [asdict(one) for one in found]


def _of(
    agent: int, neighbors: Sequence[int], release: Release, sendings: Sequence[Sending], inside: Place | None
) -> Released:
    def carrier(message: int, name: str) -> Carrier:
        sending = sendings[message]
        return Carrier(message, sending.kind, sending.number, name, receivers(sending, neighbors))

    at = release.carriers[0][0] if release.carriers else release.made_before
    activation = sendings[min(at, len(sendings) - 1)].activation if sendings else 1
    carriers = tuple(carrier(*place) for place in release.carriers)
    return Released(agent, activation, carriers, *_law(release), None if inside is None else carrier(*inside))


def _carrier_of(found: dict[str, Any]) -> Carrier:
    return Carrier(found["message"], found["kind"], found["number"], found["name"], tuple(found["receivers"]))


def _law(release: Release) -> tuple[str, tuple[float, float]]:
    law = release.mechanism
    name, law = ("perturbed objective: ", law.noise) if isinstance(law, Perturbed) else ("", law)
    named = (getattr(law, key, None) for key in ("scale", "stddev", "modulus"))
    scale = next((value for value in named if value is not None), np.sqrt(law.variance()))
    return name + type(law).__name__, (float(np.min(scale)), float(np.max(scale)))
