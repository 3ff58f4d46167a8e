"""Numbers as people read them: significant digits, commas between thousands, ∞, powers of ten, a dash for none."""

import math
from collections.abc import Iterable
from typing import Protocol

from netsim.shown import MISSING, known, show, show_epsilon, ten_to

_WHOLE = 1e7
"""Whole numbers below are written out."""
NARROW_SPACE = "\u202f"
"""Before %: no line ends there."""


def all_known(values: Iterable[float | None]) -> list[float]:
    """The numbers of a curve, nan in its holes."""
    return [known(value) for value in values]


def e_to(exponent: float) -> str:
    """e to the exponent, also where that is no float any more."""
    if not 10 <= exponent < math.inf:
        return show(math.exp(min(exponent, 10.0)) if exponent < 10 else exponent)
    decades = exponent / math.log(10)
    return f"{show(10 ** (decades % 1), 2)} × {ten_to(int(decades))}"


def at_least(value: float | None) -> str:
    """A lower bound."""
    return MISSING if math.isnan(known(value)) else f"≥ {show_epsilon(value)}"


def between(ends: tuple[float, float] | None) -> str:
    """Its two ends, or one number where so many digits do not tell them apart."""
    if ends is None:
        return MISSING
    lower, upper = map(show_epsilon, ends)
    return upper if lower == upper else f"{lower} … {upper}"


class _Interval(Protocol):
    """ε between two proven ends, or not known."""

    @property
    def known(self) -> bool: ...
    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...


def exact(epsilon: _Interval | None) -> str:
    """ε exact between its proven ends, everywhere in these words; an estimate within them is no end."""
    if epsilon is not None and not epsilon.known:
        return "not known"
    return between(None if epsilon is None else (epsilon.lower, epsilon.upper))


def count(value: float | None) -> str:
    """An integer with commas between thousands; a fraction as `show` gives it."""
    x = known(value)
    return f"{int(x):,}" if math.isfinite(x) and x == int(x) else show(x)


def alone(value: float) -> str:
    """A number by itself, in a cell or at a tick: a whole one below ten million with all its digits."""
    return count(value) if abs(value) < _WHOLE else show(value)


def plural(number: int, noun: str) -> str:
    """A count and what is counted."""
    return f"{count(number)} {noun}{'s' * (number != 1)}"


def fixed(value: float | None, places: int = 3) -> str:
    """Shares and skills with so many decimals; one just short of 1 is not rounded up to it.

    Beyond ±10 it is shown as `show` does.
    """
    x = known(value)
    if not abs(x) < 10:
        return show(x)
    rounded = f"{x:.{places}f}"
    if x < 1 and float(rounded) >= 1:
        rounded = "> 0." + "9" * places
    if float(rounded.removeprefix("> ")) == 0:
        rounded = rounded.removeprefix("-")
    return rounded.replace("-", "−")


def percent(share: float | None) -> str:
    """A share as a percentage, to three digits."""
    x = known(share)
    return f"{show(100 * x)}{NARROW_SPACE}%" if math.isfinite(x) else MISSING
