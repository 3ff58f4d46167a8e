"""ε and its loss in parts: the claim's formula and the three epsilons by activation; the loss of an audit by release,
activation and link, and average against worst case."""

from typing import Literal

from attacks.audit.loss.wire_fields import Released
from scenarios.results.base import Counts, Edge, Ends, Numbers, Result, Table, Unit


class Budget(Table):
    """The claimed ε as a formula of the length of the run."""

    COLUMNS = ("count", "epsilon")

    class ClaimedLevel(Result):
        """Count after which the claimed ε is first above a level."""

        epsilon: float
        """The level."""
        count: int | None
        """The count; null where it is never above, or nothing is defined."""

    unit: Literal["rounds", "plf"]
    """"plf": activations of one agent."""
    last: int
    """Count at the end of the run."""
    count: Counts
    """Rounds or activations of one agent, from 1."""
    epsilon: tuple[float | None, ...]
    """ε claimed had the run ended there; null where the formula's conditions fail."""
    delta: float
    """δ of the claim."""
    source: str
    """Source of the formula."""
    failed_conditions: tuple[str, ...]
    """Conditions of the formula that fail."""
    vacuous_from: tuple[ClaimedLevel, ...]
    """From where on the claim says nothing, by level."""
    waived_conditions: tuple[str, ...] = ()
    """Stated conditions that fail, but that the theorem's proof does not need."""


class OverTime(Result):
    """The three epsilons by activation, and from where on they mean nothing."""

    class ClaimedCurve(Table):
        """ε claimed had the run ended there."""

        count: Counts
        """Rounds, or activations of one agent (PLF), from 1."""
        epsilon: tuple[float | None, ...]
        """ε claimed of a run that ends there; null where undefined."""

    class ExactCurve(Table):
        """ε exact by the end of each activation."""

        count: Counts
        """The activation; a later one than the last is what is sent after it."""
        lower: Numbers
        """Proven lower end of what was released until then."""
        estimate: Numbers
        """Its estimate."""

    class AuditedCurve(Table):
        """ε audited by the end of some activations."""

        count: Counts
        """The activation."""
        epsilon: Numbers
        """What the game proves of what was released until then."""
        ceiling: Numbers
        """Largest ε that the game could prove there."""

    class Excess(Result):
        """Exact ε proven above the claim of its activation."""

        exact: float
        """The exact ε, proven lower end."""
        claimed: float
        """The claimed ε."""

    unit: Unit
    """What `count` counts: rounds, or activations of one agent (PLF)."""
    rounds: int | None
    """Number of rounds; null in a walk."""
    delta: float
    """δ of all ε here."""
    confidence: float
    """Of each point by itself."""
    vacuous_above: float
    """ε above which a claim promises nothing."""
    claimed: ClaimedCurve
    """ε claimed."""
    exact: ExactCurve
    """ε exact."""
    audited: AuditedCurve
    """ε audited."""
    claimed_vacuous_from: int | None
    """First activation at which the claim is above `vacuous_above`, or null."""
    exact_vacuous_from: int | None
    """The same of the estimate."""
    proven_vacuous_from: int | None
    """The same of the proven end."""
    undefined_from: int | None
    """First activation at which a condition of the formula fails, or null."""
    condition: str | None
    """That condition, or null."""
    exceeds_from: int | None
    """First activation at which the exact ε is proven above what is claimed of a run that ends there, or null."""
    exceeds: Excess | None
    """Both there, or null."""


# ── loss ─────────────────────────────────────────────────────────────────────────────────────────────────
class AverageCase(Result):
    """Average loss against the worst case of a release, in nats."""

    transcripts: int
    """Transcripts that were averaged, with noise as drawn: the worst case bounds no exact ε."""
    lost: Ends
    """Mean loss: lower end, estimate, upper end."""
    computed: float
    """Mean loss computed from the law."""
    supremum: Ends
    """Largest loss over pairs that differ by no more, averaged over transcripts."""
    worst: float
    """Mean worst case; infinite for Gaussian noise, which has none."""
    gap: Ends
    """lost − computed of the same transcripts: 0 is in its interval if the law is right."""
    share_measured: Ends | None
    """`lost` over `worst`, of the audited pair; null without a worst case."""
    share_computed: float | None
    """`computed` over `worst`; null without a worst case."""
    gamma: Ends | None
    """`supremum` over `worst`: γ of Xiao 2019, Definition 2; null without a worst case."""


class LossPart(Result):
    """Release cost and loss of some releases over all transcripts."""

    count: int
    """Number of releases."""
    cost: Ends
    """‖Δ‖₁/b under Laplace noise, ‖Δ‖₂²/σ² under Gaussian noise: smallest, mean, largest over transcripts."""
    cost_unknown: float
    """Share of transcripts without a known cost."""
    step: Ends
    """Its signed part of the loss: smallest, mean, largest over transcripts."""
    step_size: float
    """Mean |step|."""
    share: Ends | None
    """E|loss| over the mean worst case; null without a bound."""


class LossBreakdown(Result):
    """The exact loss by release, activation and link; at most 120 of each, the costliest."""

    class LinkLoss(LossPart):
        """Loss on one directed link."""

        link: Edge
        """Sender and receiver. A broadcast is on every link in full."""

    class PartCounts(Result):
        """Numbers of parts before the cheapest are left out."""

        releases: int
        """Releases."""
        activations: int
        """Activations."""
        links: int
        """Links."""

    class ReleaseLoss(LossPart):
        """Loss of one release."""

        release: int
        """Number of the release, from 0."""
        where: Released | None
        """Where it went, and its noise; null where transcripts disagree."""
        average: AverageCase | None = None
        """Its average against its worst case; null where its law has none."""

    class ActivationLoss(LossPart):
        """Loss of one activation."""

        activation: int
        """The activation, from 1."""

    agent: int
    """The audited agent."""
    transcripts: int
    """Transcripts of both worlds."""
    counts: PartCounts
    """Numbers of parts before the cheapest are left out."""
    releases: tuple[ReleaseLoss, ...]
    """By release."""
    activations: tuple[ActivationLoss, ...]
    """By activation."""
    links: tuple[LinkLoss, ...]
    """By directed link."""
    hidden: LossPart | None
    """Sum over releases that are on no link as they were made; null where there are none."""
    total: LossPart
    """Sum over all releases."""
