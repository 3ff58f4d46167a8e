"""Lessons 1 and 2: a tap on lossy links, and images reconstructed from recorded messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from attacks.inference import GradientEstimate, infer, inferred, through_probe
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.transcript.message import Record
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
    return [f"{i}–{j}" for i, j in planned(_eavesdropper_scenario(topology)).topology.edges]


def _eavesdropper_scenario(
    topology: str, loss: float = 0.2, taps: Sequence[Link] = (), encrypted: Sequence[Link] = (), miss: float = 0.0
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
    open: frozenset[Link]
    """Tapped links that are not encrypted."""

    @cached_property
    def rows(self) -> tuple[Record, ...]:
        return self.played.view.transcript.records

    @property
    def data(self) -> list[Record]:
        """Packets in the clear that carry values."""
        return [row for row in self.rows if row.values]

    def of_kind(self, kind: Literal["sealed", "ack"]) -> int:
        """How many packets are of encrypted links ("sealed"), or in the clear and only say that another arrived."""
        return sum(row.kind == kind for row in self.rows)

    @property
    def messages(self) -> int:
        """Different messages that were captured in the clear, at least once each."""
        return len({(row.sender, row.receiver, row.number) for row in self.data})

    @property
    def sent(self) -> int:
        """Messages that agents sent on the tapped links in the clear, both ways."""
        return 2 * ROUNDS * len(self.open)

    @property
    def attempts(self) -> float:
        """Packets captured for one message; of a tap that misses nothing, transmissions."""
        return len(self.data) / self.messages if self.messages else float("nan")

    @property
    def inferred(self) -> list[int]:
        score = self.played.inferred
        if score is None:
            return [0] * AGENTS
        return [queries - hidden for queries, hidden in zip(self.played.run.queries, score.hidden, strict=True)]

    @property
    def dimension(self) -> int:
        return self.played.experiment.problem.dimension

    def links_of_target(self) -> tuple[int, list[str]]:
        """How many links the target has, over which pass all messages that it sends and receives; and those of them
        on which nothing was captured in the clear."""
        own = [link for link in self.played.experiment.topology.edges if TARGET in link]
        return len(own), [f"{i}–{j}" for i, j in own if (i, j) not in self.open]

    def listed(self) -> list[dict[str, object]]:
        kinds = {"exchange": "message", "ack": "acknowledgement", "sealed": "encrypted"}
        found: list[dict[str, object]] = []
        for row in self.rows:
            x = row.values.get("x")
            line: dict[str, object] = {"second": round(row.time, 4), "from": row.sender, "to": row.receiver}
            line |= {"what": kinds.get(row.kind, row.kind), "message": "" if row.number < 0 else row.number}
            line |= {"attempt": "" if row.sequence < 0 else row.attempt + 1, "bytes": row.size}
            line["readable"] = "" if x is None else f"x = ({', '.join(f'{v:+.3f}' for v in x[0, 26:29])}, …)"
            found.append(line)
        return found


def seen(
    topology: str, loss: float = 0.2, taps: Sequence[str] = (), encrypted: Sequence[str] = (), miss: float = 0.0
) -> _Seen:
    """Run it and listen; links by their names."""

    def numbers(names: Sequence[str]) -> list[Link]:
        return [(int(i), int(j)) for i, _, j in (name.partition("–") for name in names)]

    tapped, closed = numbers(taps), numbers(encrypted)
    played = play(_eavesdropper_scenario(topology, loss, tapped, closed, miss))
    return _Seen(played, frozenset(tapped) - frozenset(closed))


def captured_by_loss(topology: str, taps: Sequence[str], miss: float, losses: Sequence[float]) -> list[float]:
    """The share of messages that the tap captures at least once, for links that lose ever more; one run each."""
    found = [seen(topology, loss, taps, (), miss) for loss in losses]
    return [one.messages / one.sent for one in found]


def expected_share(loss: float, miss: float) -> float:
    """1 − m s/(1 − m(1 − s)): a tap that misses a share m, and a geometric number of attempts, s = (1 − p)²."""
    success = (1 - loss) ** 2
    return 1 - miss * success / (1 - miss * (1 - success))


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
    """What came of one run: gradients from the messages, images from the gradients of its second run, in which agents
    hold a few images each.

    `estimates` are the gradients that follow from the recording of the second run, `played`; `inversion` says how.
    """

    first: Played
    played: Played
    inversion: str
    estimates: list[GradientEstimate]

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
        low, high = self.first.reconstructions.range
        pairs = zip(self.first.originals, self.pictured(what), strict=True)
        return [
            float("nan") if made is None else float(np.sqrt(np.mean(np.subtract(made, own) ** 2))) / (high - low)
            for own, made in pairs
        ]

    def _gradients(self, agent: int) -> list[Array]:
        """An agent's gradients that follow, without the public term ρx: (pixels,) each."""
        ridge = self.played.view.public.ridge
        return [(one.gradient - ridge * one.point)[0] for one in self.estimates if one.agent == agent]

    @cached_property
    def first_gradients(self) -> list[Array | None]:
        """Of each agent the first of these: (pixels,)."""
        return [next(iter(self._gradients(agent)), None) for agent in range(AGENTS)]

    @cached_property
    def singular_values(self) -> list[float]:
        """Of agent 0's inferred gradients, below each other, without ρx: relative to the largest."""
        if not (own := self._gradients(0)):
            return []
        values = np.linalg.svd(np.array(own), compute_uv=False)
        return [float(v) for v in values / values[0]]

    @property
    def rank(self) -> int:
        """How many of them are not rounding: the number of images that agent 0 holds, if enough gradients follow."""
        return sum(value > RANK for value in self.singular_values)

    def along_image(self) -> tuple[float, float]:
        """|⟨∇f, a⟩|/⟨a, a⟩ of agent 0's first gradient that follows and its first image a; and the share of that
        gradient that is orthogonal to a, in ℓ2."""
        gradient = next(one for one in self.estimates if one.agent == 0).gradient[0]
        image = np.array(self.first.originals[0])
        part = np.dot(gradient, image) / np.dot(image, image)
        return float(abs(part)), float(np.linalg.norm(gradient - part * image) / np.linalg.norm(gradient))


def attacked(algorithm: str, images: int = 1, miss: float = 0.0) -> _Attacked:
    """Run it, infer the gradients, rebuild the images."""
    first = play(_pictures_scenario(algorithm, images, miss))
    try:
        inversion, _ = inferred(first.second.view)
        by = "a probe of its public code" if inversion is through_probe else "the algebra of its own update"
        return _Attacked(first, first.second, by, infer(first.second.view))
    except AttackError:
        return _Attacked(first, first.second, "every inversion refuses", [])
