"""How a number grows over a field that variants set: the exponent p of a power law, number ≈ C·field^p."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import t as student

from scenarios.report.formats import number
from scenarios.reproduction.measures import Found
from scenarios.reproduction.series import NotMeasuredError

Fields = Mapping[str, Mapping[str, Any]]
"""What each variant sets, by dotted path."""
FEWEST = 3
"""With two values any two numbers lie on a power law."""
CONFIDENCE = 0.95


def groups(fields: Fields, over: str) -> dict[str, dict[str, float]]:
    """Variants between which only the field `over` differs, and its value in each; one group for each setting of the
    other fields, which names it ("" where there is no other). A value that is not a number is nan."""
    found: dict[str, dict[str, float]] = {}
    for variant, own in fields.items():
        if over in own:
            rest = ", ".join(f"{path.split('.')[-1]} {value}" for path, value in own.items() if path != over)
            value = own[over]
            found.setdefault(rest, {})[variant] = math.nan if isinstance(value, bool) else number(value)
    return found


def exponent(values: Sequence[float], found: Sequence[Found]) -> Found:
    """The two ends of p, from the least-squares line through the points (ln value, ln number).

    They enclose the 95 % confidence interval of its slope (Student's t; the residuals of a power law taken as
    independent and normal) and, where numbers are themselves known between two ends, all lines through these. You get
    a `NotMeasuredError` where a number is not known from both sides, or not positive.
    """
    for value, one in zip(values, found, strict=True):
        if not 0 < one.low <= one.high < math.inf:
            raise NotMeasuredError(f"a power law goes through positive numbers, not {one} at {value:g}")
    x = np.log(np.array(values))
    x = x - x.mean()
    share = x / np.sum(x * x)
    low, high = np.log([one.low for one in found]), np.log([one.high for one in found])
    middle = (low + high) / 2
    slope = float(np.sum(share * middle))
    rest = middle - middle.mean() - slope * x
    freedom = len(x) - 2
    error = math.sqrt(float(np.sum(rest * rest)) / freedom / float(np.sum(x * x)))
    room = float(student.ppf((1 + CONFIDENCE) / 2, freedom)) * error
    room += float(np.sum(np.abs(share) * (high - low) / 2))
    return Found(slope - room, slope + room)
