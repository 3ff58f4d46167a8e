"""One run of one algorithm: convergence, measures and costs, traffic, links, and the packets to be played."""

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from netsim.metrics import Reached
from netsim.node import Computed
from scenarios.results.base import Counts, Edge, Numbers, Result, Table, Unit


class Convergence(Table):
    """Relative error by activation or round, over replicas; empty where a run made no estimate."""

    COLUMNS = ("count", "median", "low", "high")

    unit: Unit
    count: Counts
    """Activations or rounds, from 1; at most 400 points."""
    median: Numbers
    low: Numbers
    """5 % quantile over replicas."""
    high: Numbers
    """95 % quantile over replicas."""
    final: float | None
    """Last median; null where there was no estimate."""
    finals: Numbers
    """Last error of each replica, of the first 1000."""
    replicas: int


class RunSummary(Result):
    """Activations, virtual time, traffic and queries of a run."""

    activations: Counts
    """Of each agent."""
    largest_activations: int
    """Θ, at which claims of walks are evaluated."""
    time: float
    """Virtual seconds; of agents that were processes, seconds of the scenario's clock."""
    traffic: dict[str, int]
    """Packets and bytes by what became of them; on radio also `transmissions` and `transmitted_bytes`."""
    queries: Counts
    """Gradients and proximal steps of each agent."""
    stopped: Literal["interrupted", "failed"] | None
    """Null of a run that went to its end."""
    longest_gap: int | None = None
    """ℓ of a walk: any ℓ activations in a row hold one of every agent; null of rounds."""
    deployed: bool = False
    """Whether agents were processes whose packets were captured (`netsim deploy`)."""
    computed: Computed | None = None
    """Null in results of earlier versions."""


class OutsideProgram(Result):
    """A program that took an agent's place, and whether what it sent is what the algorithm sends."""

    agent: int
    program: str
    """Its command line."""
    follows: bool | None
    """Null where nothing can be said, for the `reason`: its code tosses private coins, or cannot be replayed."""
    reason: str
    messages: int
    """How many are the algorithm's, noise apart."""
    noise_numbers: int
    """Numbers of noise that were tested."""
    p_value: float | None
    """Of all tests of the noise; null without noise."""


# ── measures and costs ──────────────────────────────────────────────────────────────────────────────────
class ExactNumbers(Result):
    """Numbers of the full curves that checks and figures need, since stored curves are thinned."""

    class ExactToAccuracy(Result):
        """Cost to an accuracy as known from all rounds: it lies from `low` to `high`."""

        curve: str
        accuracy: float
        low: Reached
        high: Reached | None
        """Null where the run ended above the accuracy."""

    class ValueAfter(Result):
        """Median of a curve at one count."""

        curve: str
        after: int
        median: float

    class SlopeOf(Result):
        """Decades per count of a curve's least-squares line in log₁₀."""

        curve: str
        start: int
        end: int | None
        floor: float
        slope: float

    diverged: bool
    to_accuracy: tuple[ExactToAccuracy, ...]
    after: tuple[ValueAfter, ...]
    slopes: tuple[SlopeOf, ...]


class ToAccuracy(Result):
    """Cost of reaching an accuracy and staying there until the end."""

    accuracy: float
    reached: Reached | None
    """Null where it was never reached."""


class MeasureResults(Result):
    """Curves of all measures but the relative error, and costs."""

    class CostCurves(Table):
        """Cost of the run by the end of each `count`, at most 200 points."""

        count: Counts
        plf: Counts
        """Θ: largest number of activations of one agent."""
        packets: Counts
        bytes: Counts
        messages: Counts
        message_bytes: Counts
        queries: Counts
        queries_of_one: Counts
        time: Numbers
        """Virtual seconds."""

    class MeasureCurve(Table):
        """One measure over the run: median and 5 %, 95 % quantiles over replicas."""

        count: Counts
        low: Numbers
        median: Numbers
        high: Numbers

    unit: Unit
    stride: int
    """Rounds or activations between two points."""
    curves: dict[str, MeasureCurve]
    costs: CostCurves
    measure: str
    """The measure whose accuracies `to_accuracy` is about."""
    to_accuracy: tuple[ToAccuracy, ...]
    exact: ExactNumbers | None = None
    """Null where no check or figure needs any."""


# ── links and packets ───────────────────────────────────────────────────────────────────────────────────
class LinkLoads(Table):
    """Traffic of each link, both ways together, or of each sender in a network of more than 200 links."""

    by: Literal["link", "sender"]
    between: tuple[Edge, ...] | None = None
    sender: Counts | None = None
    packets: Counts = ()
    bytes: Counts = ()
    lost: Counts = ()
    repeated: Counts = ()
    acknowledgements: Counts = ()
    delay: tuple[float | None, ...] = ()
    """Mean seconds until arrival; null where nothing arrived."""


Fate: TypeAlias = Literal["arrived", "lost", "dropped", "on the way"]
Captured: TypeAlias = Literal["yes", "sealed", "missed", "no"]


class Timeline(Table):
    """A bounded choice of packets, one entry in each list a packet."""

    COLUMNS = (
        "sent", "arrived", "sender", "receiver", "kind", "number", "attempt", "bytes", "activation", "fate",
        "captured",
    )  # fmt: skip

    class Window(Result):
        """Consecutive packets of the timeline."""

        why: str
        """"everything", or which of "the beginning", "around the break" and "the end", with commas."""
        packets: int
        left_out_before: int

    class Downtime(Result):
        """A time in which an agent was down, in virtual seconds."""

        agent: int
        start: Annotated[float, Field(alias="from")]
        until: float | None
        """Null where it lasted until the end."""

    class ClaimBreak(Result):
        """The message that breaks the claim, as this run sent it."""

        agent: int
        activation: int
        claimed: float | None
        release: int | None
        """Index from 0 of the release that exceeds the claim; null for an unprotected message."""
        field: str | None
        epsilon: float
        why: Literal["unprotected", "loss"]
        kind: str
        number: int
        to: Counts
        time: float | None
        """Virtual seconds; null where this run did not send it."""

    class BudgetInTime(Table):
        """Exact ε of all that the audited agent had released, from the first message of each activation on."""

        agent: int
        claimed: float | None
        time: Numbers
        activation: Counts
        epsilon: Numbers

    packets: int
    """Of the whole run."""
    ended: float
    """Virtual seconds."""
    windows: tuple[Window, ...]
    sent: Numbers
    arrived: tuple[float | None, ...]
    sender: Counts
    receiver: Counts
    kind: tuple[str, ...]
    number: Counts
    attempt: Counts
    copy: Counts
    """Indices of packets that a link or an active adversary duplicated."""
    bytes: Counts
    activation: tuple[int | None, ...]
    """The sender's, from 1."""
    fate: tuple[Fate, ...]
    captured: tuple[Captured, ...]
    """What the adversary recorded; "sealed": size and time only."""
    down: tuple[Downtime, ...]
    break_: Annotated[ClaimBreak | None, Field(alias="break")]
    budget: BudgetInTime | None

    @model_validator(mode="after")
    def _windows_hold_all(self) -> Self:
        if sum(window.packets for window in self.windows) != len(self.sent):
            raise ValueError("the windows hold another number of packets than are listed")
        return self
