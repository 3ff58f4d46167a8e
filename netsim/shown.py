"""Objects that show themselves, one line in a terminal and a table in a notebook of the same facts, and the one way
in which a number is written for people."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from html import escape
from typing import Any

MISSING = "–"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def known(value: float | None) -> float:
    """The number, or nan where there is none."""
    return math.nan if value is None else value


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


def show_epsilon(value: float | None, beside: float | None = None) -> str:
    """An ε or a loss, to four digits in sentences, tables and drawings alike; to more only where these do not tell it
    from the one `beside` it."""
    digits = 4
    while beside is not None and value != beside and digits < 17 and show(value, digits) == show(beside, digits):
        digits += 1
    return show(value, digits)


def ten_to(exponent: int) -> str:
    """10 to the exponent."""
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


class Shown(ABC):
    """An object with `facts`. A dataclass keeps its own `repr` unless its body says ``__repr__ = Shown.__repr__``."""

    __slots__ = ()

    @abstractmethod
    def facts(self) -> Mapping[str, object]:
        """What there is to say, each by its name; what is None or empty is left out."""

    def _said(self) -> list[tuple[str, str]]:
        return [(name, _text(value)) for name, value in self.facts().items() if value not in (None, "", ())]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}: {text}' for name, text in self._said())})"

    def _repr_html_(self) -> str:
        return self.table()

    def table(self) -> str:
        """The facts as HTML."""
        head = '<tr><th style="text-align: left">'
        rows = "".join(f"{head}{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in self._said())
        return f"<table><caption>{escape(type(self).__name__)}</caption>{rows}</table>"


def _text(value: object) -> str:
    if isinstance(value, float):
        return show(value, 4)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def above(name: str) -> Any:
    """A function that the distribution offers under this name (`project.entry-points.netsim`).

    Audits and figures are made above this package, which imports none of them. You get an `AttributeError` where
    netsim is not installed with them.
    """
    from importlib.metadata import entry_points  # which takes its time to load

    for one in entry_points(group="netsim", name=name):
        return one.load()
    raise AttributeError(f"{name} comes with the installed distribution: pip install netsim-lab")
