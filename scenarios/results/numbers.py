"""Numbers as people read them; results hold "inf" and "nan" as text."""

import math
from collections.abc import Mapping
from typing import Any, cast

from jinja2 import UndefinedError

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MISSING = "–"


def number(value: Any) -> float:
    """A result as a float: "inf" and "nan" are numbers; None, words and what is not there are nan."""
    try:
        return float(value)
    except (TypeError, ValueError, UndefinedError):
        return math.nan


def numbers(values: Any) -> list[float]:
    """A list of results as floats; nothing is an empty list."""
    return [number(value) for value in cast("list[Any]", values or [])]


def part(results: Mapping[str, Any], key: str) -> dict[str, Any]:
    """A nested mapping of results; empty where there is none."""
    return dict(results.get(key) or {})


def flow(value: Any) -> str:
    """A value of a scenario as its file says it: {name: mnist, records: 100}, [1, 2], true, null."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(one)}" for key, one in cast("Mapping[str, Any]", value).items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, cast("list[Any]", value))) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


def items(results: Mapping[str, Any], key: str) -> list[Any]:
    """A list in results, or the keys of a mapping; empty where there is none."""
    return list(results.get(key) or [])


def show(value: Any, digits: int = 3) -> str:
    """`digits` significant digits, ∞, powers of ten with superscripts, or a dash where there is no number."""
    x = number(value)
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


def exact(epsilon: Mapping[str, Any], digits: int = 3) -> str:
    """ε exact in a word: its estimate, or the end that is known where the other one is not."""
    lower, upper = number(epsilon.get("lower")), number(epsilon.get("upper"))
    if math.isinf(upper) and math.isfinite(lower):
        return f"≥ {show(lower, digits)}"
    return ("≤ " if epsilon.get("upper_bound_only") else "") + show(epsilon.get("estimate"), digits)


def ten_to(exponent: int) -> str:
    """10 to the exponent, in text."""
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def count(value: Any) -> str:
    """An integer with thin spaces between thousands; a fraction as `show` gives it."""
    x = number(value)
    if not math.isfinite(x) or x != int(x):
        return show(value)
    return f"{int(x):,}".replace(",", "\u202f")


def fixed(value: Any, places: int = 3) -> str:
    """A fixed number of decimals for shares and skills; one just short of 1 is not rounded up to it.

    Beyond ±10 it is shown as `show` does.
    """
    x = number(value)
    if not abs(x) < 10:
        return show(value)
    rounded = f"{x:.{places}f}"
    if x < 1 and float(rounded) >= 1:
        rounded = "> 0." + "9" * places
    if float(rounded.removeprefix("> ")) == 0:
        rounded = rounded.removeprefix("-")
    return rounded.replace("-", "−")


def percent(value: Any) -> str:
    """A share as a percentage."""
    return f"{show(100 * number(value))}\u202f%" if math.isfinite(number(value)) else MISSING
