"""Results that are still dictionaries, with "inf" and "nan" as text: goes with the last of them."""

import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

from jinja2 import UndefinedError

from scenarios.render import numbers as formatted
from scenarios.render.numbers import MISSING, ten_to
from scenarios.render.numbers import setting as flow

__all__ = ["MISSING", "flow", "ten_to"]


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


def items(results: Mapping[str, Any], key: str) -> list[Any]:
    """A list in results, or the keys of a mapping; empty where there is none."""
    return list(results.get(key) or [])


def show(value: Any, digits: int = 3) -> str:
    return formatted.show(number(value), digits)


def exact(epsilon: Mapping[str, Any], digits: int = 3) -> str:
    ends = {name: number(epsilon.get(name)) for name in ("lower", "estimate", "upper")}
    found: Any = SimpleNamespace(**ends, upper_bound_only=epsilon.get("upper_bound_only"))
    return formatted.exact(found, digits)


def count(value: Any) -> str:
    return formatted.count(number(value))


def fixed(value: Any, places: int = 3) -> str:
    return formatted.fixed(number(value), places)


def percent(value: Any) -> str:
    return formatted.percent(number(value))
