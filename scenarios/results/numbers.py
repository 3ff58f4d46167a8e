"""Numbers as people read them: significant digits, thin spaces, ∞, powers of ten, and a dash where there is none."""

import math
from collections.abc import Iterable, Mapping
from typing import Protocol, cast

MISSING = "–"
NARROW_SPACE = "\u202f"
"""Between thousands and before %: no line ends there."""
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def known(value: float | None) -> float:
    """The number, or nan where there is none."""
    return math.nan if value is None else value


def all_known(values: Iterable[float | None]) -> list[float]:
    """The numbers of a curve, nan in its holes."""
    return [known(value) for value in values]


def show(value: float | None, digits: int = 3) -> str:
    """So many significant digits, ∞, or a power of ten with superscripts."""
    x = known(value)
    if math.isnan(x):
        return MISSING
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    if x == 0:
        return "0"
    if 1e-3 <= abs(x) < 1e5:
        text = f"{x:.{max(0, digits - 1 - math.floor(math.log10(abs(x))))}f}"
        return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")
    mantissa, exponent = f"{x:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".").replace("-", "−")
    power = ten_to(int(exponent))
    return power if mantissa == "1" else f"{mantissa} × {power}"


def ten_to(exponent: int) -> str:
    """10 to the exponent."""
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def e_to(exponent: float) -> str:
    """e to the exponent, also where that is no float any more."""
    if not 10 <= exponent < math.inf:
        return show(math.exp(min(exponent, 10.0)) if exponent < 10 else exponent)
    decades = exponent / math.log(10)
    return f"{show(10 ** (decades % 1), 2)} × {ten_to(int(decades))}"


def at_least(value: float | None, digits: int = 3) -> str:
    """A lower bound."""
    return MISSING if math.isnan(known(value)) else f"≥ {show(value, digits)}"


def between(ends: tuple[float, float] | None, digits: int = 3) -> str:
    """Its two ends, or one number where so many digits do not tell them apart."""
    if ends is None:
        return MISSING
    lower, upper = (show(end, digits) for end in ends)
    return upper if lower == upper else f"{lower} … {upper}"


class _Interval(Protocol):
    """ε between two proven ends, or not known."""

    @property
    def known(self) -> bool: ...
    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...


def exact(epsilon: _Interval | None, digits: int = 3) -> str:
    """ε exact between its proven ends, everywhere in these words; an estimate within them is no end."""
    if epsilon is not None and not epsilon.known:
        return "not known"
    return between(None if epsilon is None else (epsilon.lower, epsilon.upper), digits)


def count(value: float | None) -> str:
    """An integer with narrow spaces between thousands; a fraction as `show` gives it."""
    x = known(value)
    return f"{int(x):,}".replace(",", NARROW_SPACE) if math.isfinite(x) and x == int(x) else show(x)


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


def setting(value: object) -> str:
    """A value of a scenario as its file has it: {name: mnist, records: 100}, [1, 2], true, null."""
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, object]", value).items()
        return "{" + ", ".join(f"{key}: {setting(one)}" for key, one in pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(setting, cast("list[object]", value))) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)
