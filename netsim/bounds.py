"""Numbers with their bounds, as the types of fields: declared once, in the core.

A dataclass's fields name these types and have their documentation below them; scenarios derive validation, JSON
Schema and the reference page from that. Constructors check what pydantic does not see: relations between fields.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le, Lt

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
