"""A paper's item: whether it was reproduced, and its figures."""

from typing import Literal

from scenarios.results.base import Numbers, Result, Setting

Outcome = Literal["agrees", "agrees in shape", "differs", "cannot be run", "not finished"]

Answered = Literal["holds", "fails", "cannot be checked"]


class CheckAnswer(Result):
    """One check in one variant, or over a group of variants."""

    variant: str
    """Empty where there are no variants."""
    result: Answered
    """Whether the check holds."""
    found: str
    """What was found, in words."""
    reason: str
    """Why it cannot be checked; else empty."""


class Reproduction(Result):
    """A paper's item and whether it was reproduced."""

    class CheckResult(Result):
        """One check."""

        statement: str
        """The paper's statement."""
        criterion: str
        """The check in words."""
        answers: tuple[CheckAnswer, ...]
        """One answer a variant, or a group of variants."""

    paper: str
    """The paper."""
    item: str
    """Its theorem, figure or table."""
    shows: str
    """What the item shows."""
    missing: tuple[str, ...]
    """Parameters that the paper does not print."""
    outcome: Outcome
    """Whether it was reproduced."""
    sentence: str
    """The outcome in a sentence."""
    reasons: tuple[str, ...]
    """What stands in the way of checks, and which budget is vacuous."""
    checks: tuple[CheckResult, ...]
    """The checks, with their answers."""


class FigureCurve(Result):
    """One line of a figure."""

    label: str
    """Its label in the legend."""
    algorithm: str
    """Name of the algorithm."""
    variant: str
    """Name of the variant; empty where there are none."""
    x: tuple[Setting, ...]
    """Numbers, or values of a field."""
    y: Numbers
    """Values; medians where there are replicas."""
    low: Numbers
    """5 % quantile over replicas; empty where there is no band."""
    high: Numbers
    """95 % quantile over replicas; empty where there is no band."""
    vacuous_from: int | None = None
    """Of claimed ε: first x at which the claim is vacuous; else null."""


class FigureResult(Result):
    """One figure with its axes in words."""

    title: str
    """Title."""
    x: str
    """The x axis in words."""
    y: str
    """The y axis in words."""
    log: bool
    """Whether y is logarithmic."""
    log_x: bool
    """Whether x is logarithmic."""
    points: bool
    """Whether curves are drawn with marks."""
    level: float | None
    """ε above which a claim is vacuous; of claimed ε alone."""
    curves: tuple[FigureCurve, ...]
    """Its lines."""
    absent: tuple[str, ...]
    """What could not be drawn, and why."""
