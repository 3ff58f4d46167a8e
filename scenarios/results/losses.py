"""Loss of an audit in parts: by release, activation and link, and average against worst case."""

from attacks.audit.loss.wire_fields import Released
from scenarios.results.base import Edge, Ends, Result


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
