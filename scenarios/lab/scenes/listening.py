"""Lessons 1 and 2: a tap on lossy links, and images reconstructed from recorded messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from attacks.inference import GradientEstimate, infer, inferred, through_probe
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.transcript.record import Record
from scenarios.lab.live import AGENTS, Pixels, Played, digits, planned, play
from scenarios.schema import (
    Adversary,
    AlgorithmSpec,
    Attacks,
    Complete,
    Extra,
    GradientTracking,
    LinkOverride,
    Links,
    Nids,
    Own,
    Path,
    PrivateGradientDescent,
    Recal,
    Ring,
    RowSpace,
    Scenario,
    Star,
    UniformDelay,
)  # fmt: skip

ROUNDS = 40
TARGET = 4
"""The agent that the last question is about."""
Link = tuple[int, int]
_GRAPHS = {"ring": Ring, "star": Star, "complete": Complete, "path": Path}


def links(topology: str) -> list[str]:
    """The links of such a graph, as the widgets name them: "0–1"."""
    return [f"{i}–{j}" for i, j in planned(eavesdropper_scenario(topology)).topology.edges]


def _link(name: str) -> Link:
    """What `links` calls "0–1", as numbers."""
    i, j = name.split("–")
    return int(i), int(j)


def eavesdropper_scenario(
    topology: str = "ring",
    loss: float = 0.2,
    taps: Sequence[Link] = (),
    encrypted: Sequence[Link] = (),
    miss: float = 0.0,
) -> Scenario:
    """The scenario: `loss` is the links' share of lost packets, `miss` the tap's own."""
    law = Links(delay=UniformDelay(low=0.01, high=0.03), loss=loss)
    return digits(
        "what-an-eavesdropper-sees",
        PrivateGradientDescent(name="descent", rounds=ROUNDS, step=0.05),
        seed=1,
        topology=_GRAPHS[topology](agents=AGENTS),
        links=law,
        link_overrides=[LinkOverride(between=[[*one]], law=law.replace(encrypted=True)) for one in encrypted],
        adversary=Adversary(links=[[*one] for one in taps], capture_loss=miss),
    )


@dataclass(frozen=True)
class _Seen:
    """What the tap recorded of one run. A packet is a row of it; a message is what an agent wanted to say."""

    played: Played
    taps: tuple[Link, ...]
    encrypted: tuple[Link, ...]

    @cached_property
    def rows(self) -> tuple[Record, ...]:
        """All packets, in order of time."""
        return self.played.view.transcript.records

    @property
    def data(self) -> list[Record]:
        """Packets in the clear that carry values."""
        return [row for row in self.rows if row.values]

    @property
    def sealed(self) -> list[Record]:
        """Packets of encrypted links."""
        return [row for row in self.rows if row.kind == "sealed"]

    @property
    def acknowledgements(self) -> list[Record]:
        """Packets in the clear that only say that another one arrived."""
        return [row for row in self.rows if row.kind == "ack"]

    @property
    def messages(self) -> int:
        """Different messages that were captured in the clear, at least once each."""
        return len({(row.sender, row.receiver, row.number) for row in self.data})

    @property
    def sent(self) -> int:
        """Messages that agents sent on the tapped links in the clear, both ways."""
        return 2 * ROUNDS * len(set(self.taps) - set(self.encrypted))

    @property
    def attempts(self) -> float:
        """Packets captured for one message; of a tap that misses nothing, transmissions."""
        return len(self.data) / self.messages if self.messages else float("nan")

    @property
    def inferred(self) -> list[int]:
        """How many of each agent's gradients follow from the recording."""
        score = self.played.inferred
        if score is None:
            return [0] * AGENTS
        return [asked - hidden for asked, hidden in zip(self.played.run.queries, score.hidden, strict=True)]

    @property
    def worst(self) -> float:
        """The largest relative error of an inferred gradient; nan where none is."""
        return self.played.worst

    @property
    def dimension(self) -> int:
        """How many numbers a message carries."""
        return self.played.experiment.problem.dimension

    def listed(self) -> list[dict[str, object]]:
        """The recording as a table."""
        return [_listed(row) for row in self.rows]


def seen(
    topology: str = "ring",
    loss: float = 0.2,
    taps: Sequence[str] = (),
    encrypted: Sequence[str] = (),
    miss: float = 0.0,
) -> _Seen:
    """Run it and listen; links by their names."""
    tapped, closed = tuple(map(_link, taps)), tuple(map(_link, encrypted))
    return _Seen(play(eavesdropper_scenario(topology, loss, tapped, closed, miss)), tapped, closed)


def captured_by_loss(topology: str, taps: Sequence[str], miss: float, losses: Sequence[float]) -> list[float]:
    """The share of messages that the tap captures at least once, for links that lose ever more; one run each."""
    shares: list[float] = []
    for loss in losses:
        one = seen(topology, loss, taps, (), miss)
        shares.append(one.messages / one.sent if one.sent else float("nan"))
    return shares


def expected_share(loss: float, miss: float) -> float:
    """1 − m s/(1 − m(1 − s)): a tap that misses a share m, and a geometric number of attempts, s = (1 − p)²."""
    success = (1 - loss) ** 2
    return 1 - miss * success / (1 - miss * (1 - success))


def needed(seen: _Seen) -> int:
    """How many links the target has: over these pass all messages that it sends and receives."""
    return len(seen.played.experiment.topology.neighbors(TARGET))


def unreadable(seen: _Seen) -> list[str]:
    """The target's links on which nothing was captured in the clear."""
    open_taps = set(seen.taps) - set(seen.encrypted)
    edges = seen.played.experiment.topology.edges
    return [f"{i}–{j}" for i, j in edges if TARGET in (i, j) and (i, j) not in open_taps]


def _listed(row: Record) -> dict[str, object]:
    x = row.values.get("x")
    said = "" if x is None else f"x = ({', '.join(f'{v:+.3f}' for v in x[0, 26:29])}, …)"
    return {
        "second": round(row.time, 4),
        "from": row.sender,
        "to": row.receiver,
        "what": {"exchange": "message", "ack": "acknowledgement", "sealed": "encrypted"}.get(row.kind, row.kind),
        "message": "" if row.number < 0 else row.number,
        "attempt": "" if row.sequence < 0 else row.attempt + 1,
        "bytes": row.size,
        "readable": said,
    }


PICTURE_ROUNDS = 12
SECRET = 3
"""Images per agent in the run of the first question."""
ALGORITHMS: Mapping[str, AlgorithmSpec] = {
    "gradient descent": PrivateGradientDescent(rounds=PICTURE_ROUNDS, step=0.1),
    "EXTRA": Extra(rounds=PICTURE_ROUNDS),
    "gradient tracking": GradientTracking(rounds=PICTURE_ROUNDS),
    "NIDS": Nids(rounds=PICTURE_ROUNDS),
    "RECAL, a walking baton": Recal(activations=AGENTS * PICTURE_ROUNDS),
}
RANK = 1e-9
"""Singular values below this share of the largest are rounding."""
REBUILT = "rebuilt"
"""Name of the attack."""


def _pictures_scenario(algorithm: str, images: int = 1, miss: float = 0.0) -> Scenario:
    """Every agent holds so many `images`, and the tap on every link misses a share of the packets."""
    how = {"name": REBUILT, "rounds": "all"}
    attack = Own(kind="one_record", **how) if images == 1 else RowSpace(**how)
    return digits(
        "from-messages-to-pictures",
        ALGORITHMS[algorithm],
        adversary=Adversary(links="all", capture_loss=miss),
        attacks=Attacks(holding=images, success=0.05, reconstruct=[attack]),
    )


@dataclass(frozen=True)
class _Attacked:
    """What came of one run: gradients from the messages, images from the gradients of its second run."""

    first: Played

    @property
    def played(self) -> Played:
        """The run in which agents hold a few images each."""
        return self.first.second

    @cached_property
    def estimates(self) -> list[GradientEstimate]:
        """The gradients that follow from the recording; none where every inversion refuses."""
        try:
            return infer(self.played.view)
        except AttackError:
            return []

    @property
    def inversion(self) -> str:
        """How the gradients were inferred."""
        try:
            used, _ = inferred(self.played.view)
        except AttackError:
            return "every inversion refuses"
        return "a probe of its public code" if used is through_probe else "the algebra of its own update"

    @property
    def rebuilt(self) -> int:
        """How many agents' images were rebuilt, all of an agent's to a root mean square error of 0.05 of 1."""
        success = self.first.attack(REBUILT).success
        return 0 if success is None else success.count

    def pictured(self, what: Literal["rebuilt", "guess"]) -> list[Pixels | None]:
        """In the places of the originals; None where nothing could be."""
        return self.first.pictured(REBUILT, what)

    def errors(self, what: Literal["rebuilt", "guess"]) -> list[float]:
        """Root mean square error of each picture, in units of a pixel's range; nan where there is none."""
        low, high = self.first.value_range
        pairs = zip(self.first.originals, self.pictured(what), strict=True)
        return [
            float("nan") if made is None else float(np.sqrt(np.mean(np.subtract(made, own) ** 2))) / (high - low)
            for own, made in pairs
        ]

    @cached_property
    def first_gradients(self) -> list[Array | None]:
        """Of each agent the first gradient that follows, without the public term ρx: (pixels,)."""
        ridge = self.played.view.public.ridge
        first: dict[int, Array] = {}
        for one in self.estimates:
            first.setdefault(one.agent, (one.gradient - ridge * one.point)[0])
        return [first.get(agent) for agent in range(AGENTS)]

    @cached_property
    def singular_values(self) -> list[float]:
        """Of agent 0's inferred gradients, below each other, without ρx: relative to the largest."""
        ridge = self.played.view.public.ridge
        own = [(one.gradient - ridge * one.point)[0] for one in self.estimates if one.agent == 0]
        if not own:
            return []
        values = np.linalg.svd(np.array(own), compute_uv=False)
        return [float(v) for v in values / values[0]]

    @property
    def rank(self) -> int:
        """How many of them are not rounding: the number of images that agent 0 holds, if enough gradients follow."""
        return sum(value > RANK for value in self.singular_values)

    @property
    def half(self) -> float:
        """|⟨∇f, a⟩|/⟨a, a⟩ of agent 0's first gradient that follows, and its first image a."""
        gradient, image = self._first()
        return float(abs(np.dot(gradient, image)) / np.dot(image, image))

    @property
    def beside(self) -> float:
        """The share of that gradient that is orthogonal to a, in ℓ2."""
        gradient, image = self._first()
        along = np.dot(gradient, image) / np.dot(image, image) * image
        return float(np.linalg.norm(gradient - along) / np.linalg.norm(gradient))

    def _first(self) -> tuple[Array, Array]:
        first = next(one for one in self.estimates if one.agent == 0)
        return first.gradient[0], np.array(self.first.originals[0])


def attacked(algorithm: str, images: int = 1, miss: float = 0.0) -> _Attacked:
    """Run it, infer the gradients, rebuild the images."""
    return _Attacked(play(_pictures_scenario(algorithm, images, miss)))
