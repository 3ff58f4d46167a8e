"""Outcome of a scenario against a paper's item, and the figures that it draws."""

from typing import Literal

from scenarios.results.base import Numbers, Setting, result

Outcome = Literal["agrees", "agrees in shape", "differs", "cannot be reproduced", "not finished"]
Answered = Literal["holds", "fails", "cannot be checked"]


@result
class CheckAnswer:
    """One check in one variant, or over a group of variants."""

    variant: str
    """Empty where there are no variants."""
    result: Answered
    found: str
    reason: str


@result
class CheckResult:
    """One check."""

    statement: str
    """Of the paper."""
    criterion: str
    """The check in words."""
    answers: tuple[CheckAnswer, ...]


@result
class Reproduction:
    """A paper's item and whether it was reproduced."""

    paper: str
    item: str
    shows: str
    missing: tuple[str, ...]
    """Parameters that the paper does not print."""
    outcome: Outcome
    sentence: str
    reasons: tuple[str, ...]
    checks: tuple[CheckResult, ...]


@result
class FigureCurve:
    """One line of a figure."""

    label: str
    algorithm: str
    variant: str
    x: tuple[Setting, ...]
    """Numbers, or values of a field."""
    y: Numbers
    low: Numbers
    high: Numbers
    vacuous_from: int | None = None
    """Of claimed ε alone."""


@result
class FigureResult:
    """One figure with its axes in words."""

    title: str
    x: str
    y: str
    log: bool
    log_x: bool
    points: bool
    """Whether curves are drawn with marks."""
    level: float | None
    """ε above which a claim is vacuous; of claimed ε alone."""
    curves: tuple[FigureCurve, ...]
    absent: tuple[str, ...]
    """What could not be drawn, and why."""
