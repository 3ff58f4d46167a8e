"""Where each release went: which message of the agent carries it, in which field, to whom, and under what law."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from attacks.replay import Perturbed, Release, Sending
from netsim.transcript import EVERYBODY

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
    value goes on inside others then. `mechanism` is the law's name, with "perturbed objective: " where the noise is
    in the objective, and `scale` its smallest and largest parameter: Laplace b, Gaussian σ, a modulus.
    """

    agent: int
    activation: int
    carriers: tuple[Carrier, ...]
    mechanism: str
    scale: tuple[float, float]

    @property
    def links(self) -> tuple[Link, ...]:
        """The links on which it travels as it was made, in order; none if it is only inside other values."""
        return tuple(sorted({(self.agent, j) for carrier in self.carriers for j in carrier.receivers}))

    def __str__(self) -> str:
        if not self.carriers:
            return f"a release before activation {self.activation} ends, not on the wire as it was made"
        first = self.carriers[0]
        return f"{first.name!r} of {first.kind} {first.number} (activation {self.activation})"

    @classmethod
    def plain(cls, found: dict[str, Any]) -> "Released":
        """From what `asdict` made of one, and JSON of that."""
        carriers = tuple(Carrier(**one | {"receivers": tuple(one["receivers"])}) for one in found["carriers"])
        low, high = found["scale"]
        return cls(found["agent"], found["activation"], carriers, found["mechanism"], (low, high))


def released(
    agent: int, neighbors: Sequence[int], releases: Iterable[Release], sendings: Sequence[Sending]
) -> tuple[Released, ...]:
    """Of each release of a replay under the true hypothesis."""
    return tuple(_of(agent, neighbors, release, sendings) for release in releases)


def receivers(sending: Sending, neighbors: Sequence[int]) -> tuple[int, ...]:
    """Whom a message is for."""
    return tuple(neighbors) if sending.receiver == EVERYBODY else (sending.receiver,)


def plain(found: Iterable[Released]) -> list[dict[str, Any]]:
    """As JSON has it."""
    return [asdict(one) for one in found]


def _of(agent: int, neighbors: Sequence[int], release: Release, sendings: Sequence[Sending]) -> Released:
    at = release.carriers[0][0] if release.carriers else release.made_before
    carriers = tuple(
        Carrier(
            message,
            sendings[message].kind,
            sendings[message].number,
            name,
            receivers(sendings[message], neighbors),
        )
        for message, name in release.carriers
    )
    activation = sendings[min(at, len(sendings) - 1)].activation if sendings else 1
    return Released(agent, activation, carriers, *_law(release))


def _law(release: Release) -> tuple[str, tuple[float, float]]:
    law = release.mechanism
    name, law = ("perturbed objective: ", law.noise) if isinstance(law, Perturbed) else ("", law)
    named = (getattr(law, key, None) for key in ("scale", "stddev", "modulus"))
    scale = next((value for value in named if value is not None), np.sqrt(law.variance()))
    return name + type(law).__name__, (float(np.min(scale)), float(np.max(scale)))
