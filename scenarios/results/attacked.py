"""Findings of `netsim attack` on kept transcripts: attack-ALGORITHM.json."""

from typing import Literal

from scenarios.results.attacks import Original, RecordAttack, Traffic
from scenarios.results.base import Counts, LeftOut, Numbers, Rate, Result
from scenarios.schema.attacks import HypothesisSpec, Inversion, Rounds


class TruthStatus(Result):
    """Whether the truth was simulated again from the seed."""

    remade: bool
    seconds: float | None
    why_not: str | None


class KeptGradients(Result):
    """Gradients inferred from a transcript; scores are null without the truth."""

    refused: str | None
    estimates: str | None
    """File."""
    attack: str | None = None
    estimated: int | None = None
    inferred: Counts | None = None
    exact: int | None = None
    """Estimates without noise."""
    queries: int | None = None
    hidden: Counts | None = None
    worst: float | None = None
    median: float | None = None
    baseline: float | None = None
    curve: Numbers | None = None
    by_replica: Numbers | None = None


class KeptRecords(Result):
    """Records rebuilt from a transcript."""

    attacks: tuple[RecordAttack, ...]
    sentence: str
    records: str | None
    """File."""
    transcript: str
    truth: TruthStatus | None
    holding: int | None = None
    distance: float | None = None
    replicas: int | None = None
    shape: tuple[int, ...] | None = None
    range: tuple[float, float] | None = None
    image: bool | None = None
    originals: tuple[Original, ...] | None = None
    """With the truth alone."""


class _KeptGame(Result):
    """Setting of membership and property inference from a kept transcript; lists are empty where refused."""

    refused: str | None
    inversion: Inversion
    rounds: Rounds
    source: str
    confidence: float
    sentence: str
    transcript: str
    scored: bool | None = None
    """Whether the truth is known."""


class KeptLevel(Result):
    """The membership test at one level, over agents and replicas."""

    level: float
    power: float
    accepted: tuple[int, int]
    """Decisions "in", of how many."""
    found: Rate | None
    alarms: Rate | None


class KeptMembership(_KeptGame):
    """Membership of each agent's record."""

    class KeptMember(Result):
        """Decisions about one agent's record."""

        agent: int
        estimates: int
        score: float
        accepted: Counts
        """Replicas at each level."""

    adjacency: Literal["remove", "zero_out", "replace"]
    informed: bool
    levels: tuple[KeptLevel, ...] = ()
    agents: tuple[KeptMember, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


class KeptProperty(_KeptGame):
    """The property of each agent's records."""

    class NamedHypothesis(Result):
        """The hypothesis named of one agent."""

        agent: int
        named: str
        posterior: Numbers
        likeliest: str | None
        """By its own labels; null without the truth, or where two are."""

    hypotheses: tuple[HypothesisSpec, ...]
    agents: tuple[NamedHypothesis, ...] = ()
    right: Rate | None = None
    guess: float | None = None


class KeptLoss(Result):
    """The exact privacy loss of what was recorded, between the scenario's two worlds; null where refused."""

    agent: int
    pair: str
    refused: str | None
    world: Literal[0, 1] | None = None
    """Whose messages these are, to the last bit."""
    releases: int | None = None
    losses: Numbers = ()
    """Nats in favour of that world, by replica; infinite where a message is unprotected."""
    sentence: str = ""


class AttackReport(Result):
    """All attacks on one algorithm's transcripts; null where not requested."""

    folder: str
    algorithm: str
    slug: str
    refused: str | None = None
    """No transcript is there; all else is then null."""
    transcript: str | None = None
    rows: int | None = None
    replicas: int | None = None
    gradients: KeptGradients | None = None
    truth: TruthStatus | None = None
    reconstructions: KeptRecords | None = None
    traffic_analysis: Traffic | None = None
    sentences: tuple[str, ...] = ()
    """On the traffic."""
    membership: KeptMembership | None = None
    property: KeptProperty | None = None
    loss: KeptLoss | None = None


class AttackReports(Result):
    """The document of `netsim attack --json`."""

    folder: str | None
    """Of the run that was simulated first; null of transcripts that were there."""
    algorithms: tuple[AttackReport, ...]
