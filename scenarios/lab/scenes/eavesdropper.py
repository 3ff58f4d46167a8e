"""Lesson 1: gradient descent over lossy links, a tap on some of them, and what is in the recording."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from netsim.transcript import Record
from scenarios.lab.live import Played, Words, planned, play

AGENTS, ROUNDS = 6, 40
TARGET = 4
"""The agent that the last question is about."""
Link = tuple[int, int]


def links(topology: str) -> list[str]:
    """The links of such a graph, as the widgets name them: "0–1"."""
    return [f"{i}–{j}" for i, j in planned(words(topology)).topology.edges]


def link(name: str) -> Link:
    """What `links` calls "0–1", as numbers."""
    i, j = name.split("–")
    return int(i), int(j)


def words(
    topology: str = "ring",
    loss: float = 0.2,
    taps: Sequence[Link] = (),
    encrypted: Sequence[Link] = (),
    miss: float = 0.0,
) -> Words:
    """The scenario: `loss` is the links' share of lost packets, `miss` the tap's own."""
    law: dict[str, Any] = {
        "delay": {"kind": "uniform", "low": 0.01, "high": 0.03},
        "loss": loss,
        "reliable": True,
    }
    return {
        "name": "what-an-eavesdropper-sees",
        "seed": 1,
        "problem": {
            "kind": "logistic",
            "data": {"name": "digits", "classes": [0, 1], "norm_bound": 4.0},
            "ridge": 1.0,
        },
        "topology": {"kind": topology, "agents": AGENTS},
        "links": law,
        "link_overrides": [{"between": [list(one)], "law": law | {"encrypted": True}} for one in encrypted],
        "adversary": {"links": [list(one) for one in taps], "capture_loss": miss},
        "algorithms": [{"kind": "private_gradient_descent", "name": "descent", "rounds": ROUNDS, "step": 0.05}],
    }


@dataclass(frozen=True)
class Seen:
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
        """Different messages that were heard in the clear, at least once each."""
        return len({(row.sender, row.receiver, row.number) for row in self.data})

    @property
    def sent(self) -> int:
        """Messages that agents sent on the tapped links in the clear, both ways."""
        return 2 * ROUNDS * len(set(self.taps) - set(self.encrypted))

    @property
    def attempts(self) -> float:
        """Packets heard for one message; of a tap that misses nothing, transmissions."""
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
        score = self.played.inferred
        return score.worst if score is not None and score.estimated else float("nan")

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
) -> Seen:
    """Run it and listen; links by their names."""
    tapped, closed = tuple(map(link, taps)), tuple(map(link, encrypted))
    return Seen(play(words(topology, loss, tapped, closed, miss)), tapped, closed)


def heard_by_loss(topology: str, taps: Sequence[str], miss: float, losses: Sequence[float]) -> list[float]:
    """The share of messages that the tap hears at least once, for links that lose ever more; one run each."""
    shares: list[float] = []
    for loss in losses:
        one = seen(topology, loss, taps, (), miss)
        shares.append(one.messages / one.sent if one.sent else float("nan"))
    return shares


def expected_share(loss: float, miss: float) -> float:
    """1 − m s/(1 − m(1 − s)): who misses a share m hears one of a geometric number of attempts, s = (1 − p)²."""
    success = (1 - loss) ** 2
    return 1 - miss * success / (1 - miss * (1 - success))


def needed(seen: Seen) -> int:
    """How many links the target has: over these passes all that it tells and all that it hears."""
    return len(seen.played.experiment.topology.neighbors(TARGET))


def deaf(seen: Seen) -> list[str]:
    """The target's links on which nothing was heard in the clear."""
    heard = set(seen.taps) - set(seen.encrypted)
    edges = seen.played.experiment.topology.edges
    return [f"{i}–{j}" for i, j in edges if TARGET in (i, j) and (i, j) not in heard]


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
