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
    """What `count` counts."""
    count: Counts
    """Activations or rounds, from 1; at most 400 points."""
    median: Numbers
    """Median over replicas of ‖x − x*‖/‖x*‖."""
    low: Numbers
    """5 % quantile over replicas."""
    high: Numbers
    """95 % quantile over replicas."""
    final: float | None
    """Last median; null where there was no estimate."""
    finals: Numbers
    """Last error of each replica, of the first 1000."""
    replicas: int
    """Number of replicas."""


class RunSummary(Result):
    """Activations, virtual time, traffic and queries of a run."""

    activations: Counts
    """Activations of each agent."""
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
    """The agent whose place it took."""
    program: str
    """Its command line."""
    follows: bool | None
    """Whether it follows the algorithm; null where nothing can be said, for the `reason`: its code tosses private
    coins, or cannot be replayed."""
    reason: str
    """In what it differs, or why nothing can be said."""
    messages: int
    """How many are the algorithm's, noise apart."""
    noise_numbers: int
    """Numbers of noise that were tested."""
    p_value: float | None
    """Of all tests of the noise; null without noise."""
    detects: float | None = None
    """How many times as large what its data add to noisy messages would have to be, to be found with probability 0.9;
    null where no size would be found, nothing has noise, or it does not follow."""


# ── measures and costs ──────────────────────────────────────────────────────────────────────────────────
class ExactNumbers(Result):
    """Numbers of the full curves that checks and figures need, since stored curves are thinned."""

    class ExactToAccuracy(Result):
        """Cost to an accuracy as known from all rounds: it lies from `low` to `high`."""

        curve: str
        """Name of the curve."""
        accuracy: float
        """The accuracy."""
        low: Reached
        """Least cost."""
        high: Reached | None
        """Null where the run ended above the accuracy."""

    class ValueAfter(Result):
        """Median of a curve at one count."""

        curve: str
        """Name of the curve."""
        after: int
        """The count."""
        median: float
        """Median over replicas there."""

    class SlopeOf(Result):
        """Decades per count of a curve's least-squares line in log₁₀."""

        curve: str
        """Name of the curve."""
        start: int
        """First count of the line."""
        end: int | None
        """Last count; null: to the end of the run."""
        floor: float
        """The line ends where the curve is below this."""
        slope: float
        """Decades per count."""

    diverged: bool
    """Whether the error is not finite, or ended more than 1,000 times above its first value."""
    to_accuracy: tuple[ExactToAccuracy, ...]
    """Costs to accuracies."""
    after: tuple[ValueAfter, ...]
    """Values at single counts."""
    slopes: tuple[SlopeOf, ...]
    """Slopes of curves."""


class ToAccuracy(Result):
    """Cost of reaching an accuracy and staying there until the end."""

    accuracy: float
    """The requested accuracy."""
    reached: Reached | None
    """Count and costs when the median of the `measure` came down to it for good; null where it never did."""


class MeasureResults(Result):
    """Curves of all measures but the relative error, and costs."""

    class CostCurves(Table):
        """Cost of the run by the end of each `count`, at most 200 points."""

        count: Counts
        """Rounds or activations, from 1."""
        plf: Counts
        """Θ, the largest number of activations of one agent so far (PLF; LCI): in rounds the number of the round."""
        packets: Counts
        """All on the air by then, acknowledgements and repeats too; on radio a transmission counts once."""
        bytes: Counts
        """Bytes of these packets."""
        messages: Counts
        """What agents sent, one for each receiver, before a link repeats, tags or loses it."""
        message_bytes: Counts
        """Bytes of these messages."""
        queries: Counts
        """Gradients and proximal steps of all agents; one for a batch too."""
        queries_of_one: Counts
        """Those of the agent with most."""
        time: Numbers
        """Virtual seconds, in a round when its last agent closed it."""

    class MeasureCurve(Table):
        """One measure over the run: median and 5 %, 95 % quantiles over replicas."""

        count: Counts
        """Rounds or activations, from 1."""
        low: Numbers
        """5 % quantile over replicas."""
        median: Numbers
        """Median over replicas."""
        high: Numbers
        """95 % quantile over replicas."""

    unit: Unit
    """What `count` counts."""
    stride: int
    """Rounds or activations between two points; powers of two and the last are points too."""
    curves: dict[str, MeasureCurve]
    """Curves by [measure](results.md#measures), the relative error apart: that is `convergence`."""
    costs: CostCurves
    """Costs by the end of each `count`."""
    measure: str
    """The measure whose accuracies `to_accuracy` is about."""
    to_accuracy: tuple[ToAccuracy, ...]
    """Costs to each requested accuracy."""
    exact: ExactNumbers | None = None
    """Numbers of every round or activation; null where no check or figure asks for any."""


# ── links and packets ───────────────────────────────────────────────────────────────────────────────────
class LinkLoads(Table):
    """Traffic of each link, both ways together, or of each sender in a network of more than 200 links."""

    by: Literal["link", "sender"]
    """Whether rows are links or, above 200 links, senders."""
    between: tuple[Edge, ...] | None = None
    """The two agents of each link; null by sender."""
    sender: Counts | None = None
    """The sender; null by link."""
    packets: Counts = ()
    """Packets sent, acknowledgements and repeats too."""
    bytes: Counts = ()
    """Their bytes."""
    lost: Counts = ()
    """Packets lost, or dropped before a full line."""
    repeated: Counts = ()
    """Retransmissions."""
    acknowledgements: Counts = ()
    """Acknowledgements."""
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
        """Packets in it."""
        left_out_before: int
        """Packets of the run between the window before and this one."""

    class Downtime(Result):
        """A time in which an agent was down, in virtual seconds."""

        agent: int
        """The agent."""
        start: Annotated[float, Field(alias="from")]
        """When it began."""
        until: float | None
        """When it ended; null: for good, or to the end."""

    class ClaimBreak(Result):
        """The message that breaks the claim, as this run sent it."""

        agent: int
        """The audited agent."""
        activation: int
        """Its activation, from 1."""
        claimed: float | None
        """The claimed ε; null where no number is claimed."""
        release: int | None
        """Index from 0 of the release that exceeds the claim; null for an unprotected message."""
        field: str | None
        """Name of the field of the message; null where it is none."""
        epsilon: float
        """Proven lower end of the exact ε released by the end of its activation; infinite for an unprotected one."""
        why: Literal["unprotected", "loss"]
        """"unprotected"; or "loss", where the exact ε is proven above the claim."""
        kind: str
        """"exchange" or "direct"."""
        number: int
        """The sender's count of messages of that kind, from 0."""
        to: Counts
        """Receivers."""
        time: float | None
        """Virtual seconds; null where this run did not send it."""

    class BudgetInTime(Table):
        """Proven ε of all that the audited agent had released, from the first message of each activation on."""

        agent: int
        """The audited agent."""
        claimed: float | None
        """ε claimed of the whole run; null where no number is claimed."""
        time: Numbers
        """Virtual seconds of the first message of the activation."""
        activation: Counts
        """Activation, from 1."""
        epsilon: Numbers
        """Proven lower end of the exact ε released by its end."""

    packets: int
    """Packets of the whole run."""
    ended: float
    """Virtual seconds at the end of the run."""
    windows: tuple[Window, ...]
    """The packets listed, as windows of the run: about 1,200 packets in a scenario."""
    sent: Numbers
    """When it was sent, in virtual seconds."""
    arrived: tuple[float | None, ...]
    """When it arrived, in virtual seconds; null: never."""
    sender: Counts
    """Agent that sent it."""
    receiver: Counts
    """Agent it is for; -1: every neighbor."""
    kind: tuple[str, ...]
    """"exchange", "direct" or "ack"."""
    number: Counts
    """The sender's count of messages of that kind, from 0."""
    attempt: Counts
    """0 for the first transmission."""
    copy: Counts
    """Indices of packets that a link or an active adversary duplicated."""
    bytes: Counts
    """Bytes on the wire."""
    activation: tuple[int | None, ...]
    """The sender's activation, from 1; null where it has none."""
    fate: tuple[Fate, ...]
    """"arrived"; "lost"; "dropped" before a full line; "on the way" at the end."""
    captured: tuple[Captured, ...]
    """What the adversary recorded: "yes"; "sealed", size and time only; "missed" by a tap that sat there; "no"."""
    down: tuple[Downtime, ...]
    """When agents were down."""
    break_: Annotated[ClaimBreak | None, Field(alias="break")]
    """The audited agent's first message that breaks the claim; null where none does."""
    budget: BudgetInTime | None
    """Exact ε by activation; null without an audit."""

    @model_validator(mode="after")
    def _windows_hold_all(self) -> Self:
        if sum(window.packets for window in self.windows) != len(self.sent):
            raise ValueError("the windows hold another number of packets than are listed")
        return self
