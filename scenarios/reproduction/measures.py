"""One number of one algorithm, from its results; or the two ends between which it is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scenarios.report.formats import number, part, show
from scenarios.reproduction.series import NotMeasuredError, Result, bounds, conditions, curve, tabled, unit
from scenarios.schema.checks import AtEnd, ClaimedAfter, CostTo, ErrorAfter, Final, Quantity, Slope, VacuousFrom

GREW = 1e3
"""An error so many times its first value has diverged."""


@dataclass(frozen=True)
class Found:
    """A number that is at least `low` and at most `high`; both are the same where it is known."""

    low: float
    high: float

    @classmethod
    def of(cls, value: float) -> "Found":
        return cls(value, value)

    @property
    def known(self) -> bool:
        return self.low == self.high

    @property
    def bounded(self) -> bool:
        """Whether there is a number at most."""
        return math.isfinite(self.high)

    def __str__(self) -> str:
        if self.known:
            return show(self.low)
        if math.isinf(self.high):
            return f"more than {show(self.low)}"
        return f"{show(self.low)} … {show(self.high)}"


def measured(check: Quantity, entry: Result) -> Found:
    """What a check asks of an algorithm; a `NotMeasuredError` where its results do not have it."""
    match check:
        case Final():
            return Found.of(_real(curve(entry, check.curve, unit(entry)).y[-1]))
        case AtEnd():
            return _at_end(check.measure, entry)
        case ErrorAfter():
            return Found.of(_after(check.after, entry, check.curve))
        case CostTo():
            return cost(entry, check.accuracy, check.measure.removesuffix("_to"), check.curve)
        case Slope():
            return Found.of(slope(entry, check.start, check.end, check.floor, check.curve))
        case ClaimedAfter():
            return Found.of(claimed(entry, check.after))
        case VacuousFrom():
            return vacuous_from(entry, check.epsilon)
        case _:
            raise TypeError(f"no such measure: {check!r}")


def diverged(entry: Result) -> bool:
    """Whether the error is not finite somewhere, or grew a thousandfold."""
    errors = curve(entry, "relative_error", unit(entry)).y
    return not all(map(math.isfinite, errors)) or errors[-1] > GREW * errors[0]


def claim_undefined(entry: Result) -> bool:
    """Whether a condition of the claim's formula fails for this run."""
    budget = part(entry, "budget")
    if not budget:
        raise NotMeasuredError(f"{entry.get('name')} claims nothing")
    return bool(budget.get("failed_conditions"))


def claimed(entry: Result, after: int | None = None) -> float:
    """The claimed ε after so many rounds or activations, or at the end."""
    points = curve(entry, "epsilon_claimed", "plf")
    wanted = number(part(entry, "budget")["last"]) if after is None else after
    if wanted not in points.x:
        raise NotMeasuredError(f"the claim of {entry.get('name')} is undefined after {wanted:g}: {conditions(entry)}")
    return points.y[points.x.index(wanted)]


def vacuous_from(entry: Result, epsilon: float) -> Found:
    """From where on the claimed ε is above a level; more than the run's length where it never is."""
    claimed(entry)
    budget = part(entry, "budget")
    row = next(r for r in budget["vacuous_from"] if number(r["epsilon"]) == epsilon)
    return Found(number(budget["last"]), math.inf) if row["count"] is None else Found.of(number(row["count"]))


def cost(entry: Result, accuracy: float, x: str, name: str = "relative_error") -> Found:
    """How much of an axis is spent until the median error is at most `accuracy` and stays so.

    Curves are thinned: the number is between two of their points. A run that ends above the accuracy gives what it
    had spent in all as a lower bound.
    """
    known = tabled(entry, name, accuracy, x)
    if known is not None:
        return Found.of(known)
    points = curve(entry, name, unit(entry))
    above = [k for k, error in enumerate(points.y) if not error <= accuracy]
    if len(above) and above[-1] == len(points.y) - 1:
        return Found(bounds(entry, x, points.x[-1], math.inf)[0], math.inf)
    last = points.x[above[-1]] if above else 0.0
    until = points.x[above[-1] + 1] if above else points.x[0]
    low, high = bounds(entry, x, last, until)
    return Found.of(high) if until - last <= 1 and x in (unit(entry), "plf") and high - low <= 1 else Found(low, high)


def slope(entry: Result, start: int, end: int | None, floor: float, name: str = "relative_error") -> float:
    """Decades per round or activation of the least-squares line through log₁₀ of the median error."""
    points = curve(entry, name, unit(entry))
    chosen: list[tuple[float, float]] = []
    for at, error in zip(points.x, points.y, strict=True):
        if error < floor or not math.isfinite(error) or (end is not None and at > end):
            break
        if at >= start:
            chosen.append((at, math.log10(error)))
    if len(chosen) < 3:
        raise NotMeasuredError(f"fewer than three points of {entry.get('name')} for a slope")
    return _line(chosen)


def _line(points: Sequence[tuple[float, float]]) -> float:
    x, y = np.array(points).T
    x = x - x.mean()
    return float(np.sum(x * (y - y.mean())) / np.sum(x * x))


def _at_end(measure: str, entry: Result) -> Found:
    audit = part(entry, "audit")
    if measure == "epsilon_exact":
        ends = part(audit, "epsilon_exact")
        return Found(_known(ends.get("lower"), entry, "exact ε"), _known(ends.get("upper"), entry, "exact ε"))
    if measure == "epsilon_audited":
        return Found.of(_known(audit.get("epsilon_audited"), entry, "audited ε"))
    if measure == "loss_ratio":
        return _loss_ratio(entry)
    return Found.of(_known(part(entry, "gradients").get("median"), entry, "inferred gradients"))


def _loss_ratio(entry: Result) -> Found:
    """γ: what transcripts lose on average, as a share of the worst case that is claimed."""
    audit = part(entry, "audit")
    claim, ends = number(audit.get("epsilon_claimed")), part(audit, "average_loss")
    if not claim > 0:
        raise NotMeasuredError(f"{entry.get('name')} has no claimed ε above 0 to compare its loss with")
    low, high = (_known(ends.get(end), entry, "average loss") for end in ("lower", "upper"))
    return Found(low / claim, high / claim)


def _after(k: int, entry: Result, name: str) -> float:
    points = curve(entry, name, unit(entry))
    if not points.x[0] <= k <= points.x[-1]:
        raise NotMeasuredError(f"the run of {entry.get('name')} has {points.x[-1]:g} {unit(entry)}, not {k}")
    return _real(points.y[max(i for i, at in enumerate(points.x) if at <= k)])


def _known(value: object, entry: Result, what: str) -> float:
    if math.isnan(number(value)):
        raise NotMeasuredError(f"results of {entry.get('name')} have no {what}")
    return number(value)


def _real(error: float) -> float:
    """An error that is not a number is one that grew beyond numbers."""
    return math.inf if math.isnan(error) else error
