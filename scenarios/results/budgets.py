"""ε over the time of a run: the claim's formula, and the three epsilons by activation."""

from typing import Literal

from scenarios.results.base import Counts, Numbers, Result, Table, Unit


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
    """First activation at which the exact ε is proven above the claim, or null."""
    exceeds: Excess | None
    """Both there, or null."""
