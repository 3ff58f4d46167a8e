"""A matplotlib figure as SVG that lives inside a page: its text is text, its colours are the page's."""

import io
import re
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

import matplotlib as mpl
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

INK = "#010203"  # stands for the colour of the surrounding text
BLUE, ORANGE, GREEN, VERMILLION = "#0072b2", "#e69f00", "#009e73", "#d55e00"
PURPLE, SKY = "#cc79a7", "#56b4e9"
PAPER = "#fdfcfb"  # stands for the page's background
_IN_PAGE = {
    INK: "currentColor",
    PAPER: "var(--panel)",
    BLUE: "var(--blue)",
    ORANGE: "var(--orange)",
    GREEN: "var(--green)",
    VERMILLION: "var(--vermillion)",
    PURPLE: "var(--purple)",
    SKY: "var(--sky)",
}
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "netsim",
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.labelsize": 11,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 10.5,
    "ytick.labelsize": 10.5,
    "grid.color": INK,
    "grid.alpha": 0.14,
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.8,
    "path.simplify": True,
}
_FONT = "var(--sans)"
_SHORT = 6  # numbers of a path that stay as they are: marks, ticks


@dataclass(frozen=True)
class Drawn:
    """A figure as it was drawn for the page: its name there, what it says in words, and the matplotlib figure."""

    name: str
    label: str
    figure: Figure


_DRAWN: ContextVar[list[Drawn] | None] = ContextVar("drawn", default=None)


@contextmanager
def collected() -> Generator[list[Drawn]]:
    """All that is drawn for a page within the block, in the order in which it is drawn."""
    drawn: list[Drawn] = []
    token = _DRAWN.set(drawn)
    try:
        yield drawn
    finally:
        _DRAWN.reset(token)


@contextmanager
def canvas(width: float, height: float) -> Generator[tuple[Figure, Axes]]:
    """A figure of that many page pixels with one axes, in the page's style."""
    with cast("Any", mpl).rc_context(_STYLE):
        figure = Figure(figsize=(width / 72, height / 72), layout="constrained")
        figure.patch.set_alpha(0)
        axes: Any = cast("Any", figure).add_subplot()
        axes.patch.set_alpha(0)
        yield figure, axes


def inline(figure: Figure, prefix: str, label: str) -> Markup:
    """The figure as an `<svg>` element: ids begin with `prefix`, `label` is what a screen reader says.

    `data-figure` is `prefix`. What was drawn with `series(index)` has the classes `s` and `s{index}`.
    """
    if (drawn := _DRAWN.get()) is not None:
        drawn.append(Drawn(prefix, label, figure))
    stream = io.StringIO()
    metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    cast("Any", FigureCanvasSVG(figure)).print_svg(stream, metadata=metadata)
    return Markup(_adapt(stream.getvalue(), prefix, label))


def in_page(colour: str) -> str:
    """What a colour of the figures is called in the page's style sheet."""
    return _IN_PAGE[colour]


def series(index: int) -> dict[str, str]:
    """Keywords of an artist that belongs to series `index`: a reader can have it brought out."""
    return {"gid": f"series-{index}"}


def _adapt(text: str, prefix: str, label: str) -> str:
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.S)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.S)
    text = re.sub(r'<style type="text/css">.*?</style>', "", text, flags=re.S)
    text = re.sub(r"<[^>]*>", _shorten, text)
    box = cast("re.Match[str]", re.search(r'viewBox="[^"]*"', text)).group()
    head = (
        f'<svg {box} role="img" data-figure="{escape(prefix)}" aria-label="{escape(label)}" '
        f'style="stroke-linejoin: round; stroke-linecap: butt; font-family: {_FONT}">'
    )
    text = re.sub(r"<svg[^>]*>", lambda _: head, text, count=1)
    text = text.replace("xlink:href", "href").replace("font-family: 'DejaVu Sans'; ", "")
    text = re.sub(r"'DejaVu Sans'(, [^;\"]*)?", lambda _: _FONT, text)
    text = re.sub(r' transform="rotate\(-0 [^"]*"', "", text)
    text = re.sub(r'<path [^>]*style="fill: none; opacity: 0"/>', "", text)
    for colour, name in _IN_PAGE.items():
        text = text.replace(colour, name)
    text = re.sub(r' id="series-(\d+)"', r' class="s s\1"', text)
    text = re.sub(r'( d=")([^"]*)"', lambda m: f'{m[1]}{_path(m[2])}"', text)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    text = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}-{m[1]}"' if m[1] in used else "", text)
    text = re.sub(r'(href="#|url\(#)', lambda m: f"{m[1]}{prefix}-", text)
    text = re.sub(r">\s+<", "><", text)
    text = re.sub(r"<g>(<(?:path|use)[^>]*/>)</g>", r"\1", text)
    return re.sub(r"<g>(<text[^>]*>[^<]*</text>)</g>", r"\1", text).replace("<g></g>", "")


def _shorten(tag: re.Match[str]) -> str:
    """A tag with its coordinates to a hundredth of a pixel; the text between tags stays as it is."""
    return re.sub(r"(-?\d+\.\d{2})\d+", r"\1", tag[0])


def _path(drawing: str) -> str:
    """The same path in fewer letters: a polygon's points to a tenth of a pixel, each as its way from the last."""
    parts = re.findall(r"([A-Za-z])([^A-Za-z]*)", drawing)
    if len(parts) <= _SHORT or any(letter not in "MLz" for letter, _ in parts):
        return " ".join(drawing.split())
    told: list[str] = []
    last, before = (0, 0), ""
    for letter, numbers in parts:
        if letter == "z":
            told.append("z")
        else:
            x, y = (round(10 * float(number)) for number in numbers.split())
            if letter == "M":
                told.append(f"M{_tenths(x)} {_tenths(y)}")
            else:
                step = _tenths(x - last[0]), _tenths(y - last[1])
                told.append((" " if before == "L" else "l") + step[0] + ("" if step[1][0] == "-" else " ") + step[1])
            last = x, y
        before = letter
    return "".join(told)


def _tenths(number: int) -> str:
    """So many tenths as a decimal, as short as can be."""
    return f"{number / 10:g}".replace("0.", ".", 1) if abs(number) < 10 else f"{number / 10:g}"
