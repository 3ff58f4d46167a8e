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

from netsim.arguments import check_types
from netsim.errors import ScenarioError

Positive = Annotated[float, Gt(0)]
NonNegative = Annotated[float, Ge(0)]
LARGEST = 1e150
"""Numbers up to it have a square that is a number, also summed over coordinates."""
Share = Annotated[float, Ge(0), Lt(1)]
Probability = Annotated[float, Ge(0), Le(1)]
MOST = 10_000_000
"""Of what there is a number of: activations, transcripts, records. Each is done one by one, or takes memory."""
Count = Annotated[int, Ge(1), Le(MOST)]
Rounds = Annotated[int, Ge(1), Le(1_000_000)]
"""Of every agent: a million take hours."""
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
    """Raise a `ScenarioError` for fields of another type than annotated, and for the first number that is out of its
    field's bounds, or not finite."""
    check_types(made, arrays=True)
    for name, bounds in _bounds(type(made)):
        value = getattr(made, name)
        if not (math.isfinite(value) and all(holds(value, end) for _, holds, end in bounds)):
            allowed = " and ".join(f"{sign} {end:g}" for sign, _, end in bounds)
            allowed += " and finite" if value == math.inf else ""
            raise ScenarioError(name, value, "out of range", allowed)


_Holds = Callable[[float, float], bool]
_SIGNS: dict[type, tuple[str, _Holds]] = {
    Gt: (">", operator.gt), Ge: (">=", operator.ge), Lt: ("<", operator.lt), Le: ("<=", operator.le)
}  # fmt: skip


@cache
def _bounds(kind: type) -> list[tuple[str, list[tuple[str, _Holds, float]]]]:
    """The fields of a dataclass that are numbers with bounds, and these: `Gt(0)` is (">", operator.gt, 0)."""
    found: list[tuple[str, list[tuple[str, _Holds, float]]]] = []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        marks = [one for one in get_args(hint)[1:] if type(one) in _SIGNS]
        if marks:
            found.append((name, [(*_SIGNS[type(one)], getattr(one, type(one).__name__.lower())) for one in marks]))
    return found
