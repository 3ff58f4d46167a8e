"""Findings of attacks: gradients, leakage, images and records, membership and property games, traffic."""

from typing import Literal, TypeAlias

from scenarios.results.base import Counts, Edge, LeftOut, Numbers, Rate, Refused, Result, Rows, Table
from scenarios.schema.attacks import HypothesisSpec, Inversion, Labels, Rounds
from scenarios.schema.checks import Outcome


# ── gradients ───────────────────────────────────────────────────────────────────────────────────────────
class GradientScores(Table):
    """Inferred gradients against the true ones, as relative errors; null where nothing was estimated."""

    COLUMNS = ("inferred", "hidden")

    estimated: int
    queries: int
    """Gradient queries of all agents."""
    inferred: Counts
    """Of each agent."""
    hidden: Counts
    """Queries of each agent that are not identifiable."""
    worst: float | None
    median: float | None
    baseline: float | None
    """Error of an attacker that knows the public quadratic term alone."""
    curve: Numbers
    """Median over replicas, in order of time."""
    by_replica: Numbers
    """Median over estimates, of the first 1000 replicas."""


class GradientResult(GradientScores):
    """Scores of the inversion that applies."""

    attack: str
    """Dotted name of the inversion."""


class Leakage(Result):
    """Inferred gradients by query and by agent, insiders left out."""

    class LeakageByQuery(Table):
        """Over agents, for each query number from 1."""

        query: Counts
        identifiable: Numbers
        """Share of the agents that made the query."""
        low: tuple[float | None, ...]
        median: tuple[float | None, ...]
        high: tuple[float | None, ...]

    class LeakageOfAgent(Result):
        """One agent's leak and its place in the network."""

        agent: int
        degree: int
        hops: int | None
        """To the nearest tap; null where there is no way."""
        queries: int
        identifiable: float
        """Share of its queries."""
        error: float | None
        """Median; null where nothing is estimated."""

    by_query: LeakageByQuery
    by_agent: tuple[LeakageOfAgent, ...]


# ── images and records ──────────────────────────────────────────────────────────────────────────────────
class ImageResult(Result):
    """Images rebuilt in a second run in which each agent holds one."""

    class ImageOfAgent(Result):
        """One agent's image and its reconstruction, flat; errors are means over replicas."""

        agent: int
        original: Numbers
        rebuilt: Numbers
        guess: Numbers
        """Mean of the public images of its class."""
        mse: float
        mse_prior: float
        skill: float
        """1 − mse/mse_prior."""
        largest_error: float
        label_correct: float
        """Share of replicas."""

    shape: tuple[int, ...]
    range: tuple[float, float]
    exact: bool
    """Whether all gradient estimates were exact."""
    note: str
    agents: tuple[ImageOfAgent, ...]


class Success(Result):
    """How often all records of an agent came within `distance` (root mean square)."""

    class SuccessBound(Result):
        """Largest rate of success of any attack if the claim holds (reconstruction robustness)."""

        bound: float
        kappa: float
        """Rate of the best guess without a transcript, upper end."""
        epsilon: float
        delta: float
        above: bool
        """Whether the rate found is above the bound, with confidence."""

    distance: float
    count: int
    of: int
    rate: float
    low: float
    high: float
    confidence: float
    guess: float | None
    """Rate of the best guess without a transcript."""
    bound: SuccessBound | None = None
    """Null where nothing finite is claimed, or without the truth."""


class Way(Result):
    """Error of the records as the search of an attack went on; median, 5 and 95 % quantiles over agents and
    replicas."""

    iterations: Counts
    mse: Numbers
    low: Numbers
    high: Numbers


class RecordAttack(Result):
    """One attack on records and its scores; without the truth, or where refused, the scores are null."""

    class RecordsOfAgent(Result):
        """One attack on one agent; medians over replicas."""

        agent: int
        verdict: Outcome
        queries: int
        first_query: int
        last_query: int
        gradient_norm: tuple[float, float]
        skill: float | None
        mse: float | None
        psnr: float | None
        """dB of the declared range."""
        ssim: float | None
        """Null of records that are no images."""
        label_accuracy: float | None
        prior: str
        """The guess that skill is measured against."""
        rebuilt: Rows | None = None
        guess: Rows | None = None
        before: tuple[Rows, ...] = ()
        """The records at the start of the search and half way to its end, where its iterates were kept."""

    attack: str
    """Its name in the scenario."""
    kind: str
    source: str = ""
    inversion: Inversion | None = None
    rounds: Rounds | None = None
    labels: Labels | None = None
    refused: str | None = None
    verdict: Outcome | None = None
    """The most frequent one."""
    verdicts: dict[str, int] | None = None
    skill: float | None = None
    mse: float | None = None
    psnr: float | None = None
    ssim: float | None = None
    label_accuracy: float | None = None
    success: Success | None = None
    way: Way | None = None
    noise: bool | None = None
    """Whether all of the evidence is noisy."""
    agents_reached: int | None = None
    agents_in_all: int | None = None
    agents: tuple[RecordsOfAgent, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    seen: dict[str, int] | None = None
    """The attacker's own verdicts by frequency; of kept transcripts only."""


class Original(Result):
    """Records of one agent, the first few agents only."""

    agent: int
    records: Rows
    labels: Numbers


class ReconstructionResult(Result):
    """All attacks on records of the second run."""

    holding: int
    """Records of each agent."""
    distance: float
    replicas: int
    shape: tuple[int, ...]
    range: tuple[float, float]
    image: bool
    originals: tuple[Original, ...]
    attacks: tuple[RecordAttack, ...]
    sentence: str


# ── membership and property ─────────────────────────────────────────────────────────────────────────────
class _GameSetting(Result):
    """What membership and property games have in common."""

    agent: int
    holding: int
    inversion: Inversion
    rounds: Rounds
    source: str
    confidence: float
    """Of each interval."""
    sentence: str


class Allowed(Result):
    """(ε, δ) of the claim for the pair of worlds played, or the reason why there is none."""

    epsilon: float | None
    delta: float | None
    source: str | None
    adjacency: str | None
    steps: int
    """Adjacent data sets between the worlds."""
    why_not: str | None


class MembershipAllowed(Allowed):
    """The same, and whether the rates found contradict it."""

    broken: bool | None
    """Null where nothing is claimed."""


class AtLevel(Result):
    """The membership test at one level of false alarms."""

    level: float
    power: float
    """Predicted by the score's law."""
    found: Rate
    alarms: Rate
    allowed: float | None
    """Largest power under the claim."""


class Bounded(Result):
    """A number with its interval."""

    estimate: float
    low: float
    high: float


class MembershipSetting(_GameSetting):
    """A membership game before it is played."""

    adjacency: Literal["remove", "zero_out", "replace"]
    informed: bool
    record: int | None
    """Null where records are drawn for each transcript."""


class MembershipRefused(MembershipSetting):
    """A membership game that could not be played."""

    refused: str


class MembershipResult(MembershipSetting):
    """A membership game that was played."""

    class Advantage(Bounded):
        """True less false positive rate at score 0."""

        allowed: float | None

    class Roc(Result):
        """Rates at every threshold, at most 100 points."""

        alarms: Numbers
        found: Numbers

    refused: None = None
    trials: int
    """Transcripts of each world."""
    noise: bool
    exact: bool
    estimates: int
    """Gradients used of each transcript."""
    levels: tuple[AtLevel, ...]
    advantage: Advantage
    auc: Bounded
    roc: Roc
    claim: MembershipAllowed


class PropertySetting(_GameSetting):
    """A property game before it is played."""

    hypotheses: tuple[HypothesisSpec, ...]


class PropertyRefused(PropertySetting):
    """A property game that could not be played."""

    refused: str


class PropertyResult(PropertySetting):
    """A property game that was played."""

    class RightRate(Rate):
        """How often the true hypothesis was named."""

        allowed: float | None

    refused: None = None
    trials: int
    estimates: int
    right: RightRate
    guess: float
    """Rate of a guess."""
    mean_posterior: float
    """Mean of the largest posterior probability: equals the rate where it is calibrated."""
    bits: float
    confusion: tuple[Counts, ...]
    """Rows: true hypothesis; columns: named one."""
    claim: Allowed


Gradients = GradientResult | Refused
Images = ImageResult | Refused
Membership = MembershipResult | MembershipRefused
Property = PropertyResult | PropertyRefused


# ── traffic ─────────────────────────────────────────────────────────────────────────────────────────────
Amount: TypeAlias = tuple[float, float | None, float]
"""Low, guess, high; the guess is null where nothing between is likelier."""


class IntervalScore(Result):
    """How well intervals hold the truth."""

    numbers: int
    """Numbers to be estimated."""
    estimated: int
    """With two finite ends."""
    held: int
    exact: int
    error: float | None
    """Mean distance of the guesses from the truth."""
    baseline: float | None
    """The same without a tap."""


class TrafficResult(Result):
    """A traffic analysis."""

    class ActivityResult(Result):
        """Who acted when; scores are null without the truth."""

        refused: str | None
        complete: bool
        events: tuple[tuple[float, int], ...]
        """Time and agent of the first 2000."""
        activations: int | None
        """Of the run."""
        found: int
        wrong: int | None
        guessed: float | None
        """Share of activations that naming the best connected agent always gets right; null in rounds."""
        counts: tuple[Amount, ...]
        truth: Counts | None
        score: IntervalScore | None

    class ComputingResult(Result):
        """Mean seconds of a query of each agent, and who is slower."""

        refused: str | None
        kind: str
        means: tuple[Amount | None, ...]
        samples: Counts
        slower: tuple[Edge, ...]
        """Pairs of which the first is slower."""
        slowest: int | None
        ranked: int
        pairs: int
        truth: tuple[float | None, ...] | None
        slowest_truth: int | None
        rightly: int | None
        score: IntervalScore | None

    class LinkPackets(Result):
        """Repeated or lost packets of directed links."""

        refused: str | None
        links: tuple[Edge, ...]
        packets: tuple[Amount, ...]
        total: Amount | None
        truth: Counts | None
        total_truth: int | None
        score: IntervalScore | None

    class DimensionResult(Result):
        """Dimensions that make packets of these sizes."""

        refused: str | None
        low: int | None
        high: float | None
        truth: int | None

    refused: None = None
    packets: int
    """Rows of link taps that were read."""
    activity: ActivityResult
    computing: ComputingResult
    repeated: LinkPackets
    lost: LinkPackets
    dimension: DimensionResult


Traffic = TrafficResult | Refused
