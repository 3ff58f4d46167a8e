"""Numbers with their bounds, as the types of fields: declared once, in the core.

A dataclass's fields name these types and have their documentation below them; scenarios derive validation, JSON
Schema and the reference page from that. Constructors `check` the same bounds.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, get_args, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

from netsim.errors import ScenarioError

Positive = Annotated[float, Gt(0)]
NonNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Ge(0), Lt(1)]
Probability = Annotated[float, Ge(0), Le(1)]
Count = Annotated[int, Ge(1)]
Index = Annotated[int, Ge(0)]


@dataclass(frozen=True)
class Auto:
    """A parameter that a scenario may call "auto": the theory gives it from the problem and the graph.

    `formula` says so in words; `value` computes it from an object that has the largest `smoothness`, the `topology`
    and the parameters that come before this one.
    """

    formula: str
    value: Callable[[Any], Any]


class Checked:
    """A dataclass whose constructor checks all bounds, and nothing else."""

    def __post_init__(self) -> None:
        check(self)


def check(made: object) -> None:
    """Raise a `ScenarioError` for the first number that is out of its field's bounds, or not finite."""
    for name, bounds in _bounds(type(made)):
        value = getattr(made, name)
        if not (math.isfinite(value) and all(_SIGNS[type(one)][1](value, _end(one)) for one in bounds)):
            allowed = " and ".join(f"{_SIGNS[type(one)][0]} {_end(one):g}" for one in bounds)
            raise ScenarioError(name, value, "out of range", allowed)


_SIGNS: dict[type, tuple[str, Callable[[float, float], bool]]] = {
    Gt: (">", operator.gt), Ge: (">=", operator.ge), Lt: ("<", operator.lt), Le: ("<=", operator.le)
}  # fmt: skip


@cache
def _bounds(kind: type) -> list[tuple[str, list[Any]]]:
    """The fields of a dataclass that are numbers with bounds, and these."""
    hints = get_type_hints(kind, include_extras=True)
    found = [(name, [one for one in get_args(hint)[1:] if type(one) in _SIGNS]) for name, hint in hints.items()]
    return [(name, bounds) for name, bounds in found if bounds]


def _end(bound: Any) -> float:
    """The number that a bound names: `Gt(0).gt`."""
    return getattr(bound, type(bound).__name__.lower())
