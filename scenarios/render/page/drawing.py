"""Drawings inside a page: matplotlib figures as SVG text, axes with 0 and ∞, looks of algorithms, PNG images."""

import base64
import io
import math
import re
import struct
import warnings
import zlib
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

import matplotlib as mpl
import numpy as np
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from scenarios.results.numbers import number, numbers, show, ten_to

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
    "text.parse_math": False,  # a name with $ in it is that name; the ticks write their powers of ten themselves
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
    with glyphs_missing():
        cast("Any", FigureCanvasSVG(figure)).print_svg(stream, metadata=metadata)
    return Markup(_adapt(stream.getvalue(), prefix, label))


@contextmanager
def glyphs_missing() -> Generator[list[str]]:
    """The letters that are drawn within the block and that the font does not have, in place of a warning for each.

    Where text stays text, as in a page, the reader's own fonts show them: only the room they take is a guess.
    """
    missing: list[str] = []
    with warnings.catch_warnings():
        warnings.filterwarnings("always", r"Glyph \d+ ")
        show = warnings.showwarning

        def keep(message: Warning | str, *where: Any, **more: Any) -> None:
            if found := re.match(r"Glyph (\d+) .*missing from", str(message)):
                missing.extend({chr(int(found[1]))} - set(missing))
            else:
                show(message, *where, **more)

        warnings.showwarning = keep
        yield missing


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
    style = f"font-family: {_FONT}; stroke-linejoin: round; stroke-linecap: butt"
    head = f'<svg {box} role="img" data-figure="{escape(prefix)}" aria-label="{escape(label)}" style="{style}">'
    text = re.sub(r"<svg[^>]*>", lambda _: head, text, count=1)
    text = text.replace("xlink:href", "href")
    text = re.sub(r" ?font-family: 'DejaVu Sans'[^;\"]*;?", "", text)
    text = re.sub(r' transform="rotate\(-?0 [^)]*\)"', "", text)
    for colour, name in _IN_PAGE.items():
        text = text.replace(colour, name)
    text = re.sub(r' id="series-(\d+)"', r' class="s s\1"', text)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    text = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}-{m[1]}"' if m[1] in used else "", text)
    text = re.sub(r'(href="#|url\(#)', lambda m: f"{m[1]}{prefix}-", text)
    text = re.sub(r'<path d="[^"]*" style="fill: none; opacity: 0"/>', "", text)
    return _grouped(_flat(re.sub(r">\s+<", "><", text)))


def _flat(text: str) -> str:
    """Without groups that say nothing, and without what a used mark says itself (its own style goes first)."""
    own = {
        name: set(style.split("; ")) for name, style in re.findall(r'<path id="([^"]+)"[^>]* style="([^"]*)"/>', text)
    }

    def use(tag: re.Match[str]) -> str:
        rest = [one for one in tag[3].split("; ") if one not in own.get(tag[1], ())]
        return f'<use href="#{tag[1]}"{tag[2]}' + (f' style="{"; ".join(rest)}"/>' if rest else "/>")

    text = re.sub(r'<use href="#([^"]+)"([^>]*?) style="([^"]*)"/>', use, text)
    kept: list[bool] = []

    def group(tag: re.Match[str]) -> str:
        if tag[0] != "</g>":
            kept.append(tag[0] != "<g>")
            return tag[0] if kept[-1] else ""
        return tag[0] if kept.pop() else ""

    return re.sub(r"<g(?: [^>]*)?>|</g>", group, text)


_PATH = re.compile(r'<path d="[^"]*"((?: clip-path="[^"]*")?) style="([^"]*)"/>')
ALIKE = 3
"""So many paths in a row that look alike share a group."""


def _grouped(text: str) -> str:
    """Paths in a row that look alike say so once, in a group; opacity stays with each, which a group would apply to
    all of them together."""

    def shared(run: re.Match[str]) -> str:
        found: list[str] = []
        for (clip, style), alike in groupby(_PATH.finditer(run[0]), key=lambda path: (path[1], path[2])):
            paths = [path[0] for path in alike]
            told = style.split("; ")
            own = "".join(f' style="{one}"' for one in told if one.startswith("opacity"))
            rest = "; ".join(one for one in told if not one.startswith("opacity"))
            if len(paths) < ALIKE or not rest:
                found += paths
                continue
            steps = [re.findall(r' d="([^"]*)"', path)[0] for path in paths]
            found += [f'<g{clip} style="{rest}">', *(f'<path d="{d}"{own}/>' for d in steps), "</g>"]
        return "".join(found)

    return re.sub(rf"(?:{_PATH.pattern}){{{ALIKE},}}", shared, text)


def _shorten(tag: re.Match[str]) -> str:
    """A tag with its coordinates to a hundredth of a pixel, its path to a tenth; text between tags stays as it is."""
    text = re.sub(r' d="([^"]*)"', lambda path: f' d="{_steps(path[1])}"', tag[0])
    return re.sub(r"(-?\d+\.\d{2})\d+", r"\1", text)


def _steps(path: str) -> str:
    """A path of straight lines as steps of tenths of a pixel, which are short; rounding does not add up along it.

    Other paths stay as they are.
    """
    tokens = path.split()
    if not re.fullmatch(r"(?:M|L|z|-?[\d.]+(?:e-?\d+)?|\s)*", path) or "z" in tokens[:-1]:
        return path
    found: list[str | tuple[int, int]] = []
    numbers = iter(tokens)
    here = (0, 0)
    for token in numbers:
        if token == "z":
            found.append("z")
            continue
        x, y = (round(10 * float(next(numbers))) for _ in range(2))
        if token == "M":
            found.append(f"M{_tenths(x)} {_tenths(y)}")
        elif (x, y) != here or len(tokens) <= 6:
            _add(found, (x - here[0], y - here[1]))
        here = (x, y)
    text = "".join(one if isinstance(one, str) else _step(*one) for one in found)
    return re.sub(r"(?<![\d.])0\.", ".", text.replace(" -", "-"))


def _step(x: int, y: int) -> str:
    if x and y:
        return f"l{_tenths(x)} {_tenths(y)}"
    return f"h{_tenths(x)}" if x else f"v{_tenths(y)}" if y else "l0 0"


def _add(found: list[str | tuple[int, int]], step: tuple[int, int]) -> None:
    """One more step of a path; two that go the same way along an axis are one."""
    last = found[-1] if found else ""
    if not isinstance(last, str):
        for along, across in ((0, 1), (1, 0)):
            if last[across] == step[across] == 0 and last[along] * step[along] > 0:
                found[-1] = (last[0] + step[0], last[1] + step[1])
                return
    found.append(step)


def _tenths(count: int) -> str:
    return f"{count / 10:g}" if abs(count) < 100_000 else f"{count / 10:.1f}"


HIGHEST = 290.0
"""The last decade that ends of an axis reach: with its margins it stays among the numbers there are."""


@dataclass(frozen=True)
class Scale:
    """Where a value ≥ 0 goes: log₁₀ between `low` and `high`, 0 at `zero`, ∞ at `infinity`."""

    low: float
    high: float
    has_zero: bool
    has_infinity: bool

    @classmethod
    def over(cls, values: Iterable[float], share: float = 0.05) -> "Scale":
        """A scale that shows all the values; nan is not shown."""
        given = [v for v in values if not math.isnan(v)]
        logs = [math.log10(v) for v in given if 0 < v < math.inf] or [-1.0, 1.0]
        low, high = min(logs), max(logs)
        middle, half = (low + high) / 2, max(high - low, 0.6) / 2
        pad = 2 * half * share
        return cls(middle - half - pad, middle + half + pad, 0.0 in given, math.inf in given)

    @classmethod
    def around(cls, middle: float, half: float) -> "Scale":
        """A scale of errors, `half` decades to both sides of the middle, where there are such numbers."""
        high = min(middle + half, HIGHEST)
        return cls(min(middle - half, high - 1), high, False, False)

    @property
    def gap(self) -> float:
        """The width of the places for 0 and for ∞."""
        return 0.13 * (self.high - self.low)

    @property
    def zero(self) -> float:
        return self.low - self.gap

    @property
    def infinity(self) -> float:
        return self.high + self.gap

    @property
    def limits(self) -> tuple[float, float]:
        """From end to end."""
        return self.zero if self.has_zero else self.low, self.infinity if self.has_infinity else self.high

    def at(self, value: float) -> float:
        """The place of a value; nan stays nan."""
        if value == 0:
            return self.zero
        return self.infinity if math.isinf(value) else math.log10(value)

    def ticks(self) -> list[tuple[float, str]]:
        """Places and labels: decades, or 1, 2, 5 of each where there are few."""
        span = self.high - self.low
        decades = range(math.floor(self.low), math.ceil(self.high) + 1)
        if span < 2.3:
            marks = [(d + math.log10(m), show(m * 10.0**d)) for d in decades for m in (1, 2, 5)]
        else:
            stride = max(1, round(span / 6))
            plain = span < 5 and self.low > -3
            marks = [(float(d), show(10.0**d) if plain else ten_to(d)) for d in decades if d % stride == 0]
        ends = [(self.zero, "0")] * self.has_zero + [(self.infinity, "∞")] * self.has_infinity
        return [(place, label) for place, label in marks if self.low <= place <= self.high] + ends

    def dress(self, axis: Any) -> None:
        """Put the ticks on a matplotlib axis."""
        ticks = self.ticks()
        axis.set_ticks([place for place, _ in ticks], [label for _, label in ticks])


_COLOURS = (BLUE, ORANGE, PURPLE, GREEN, INK, SKY, VERMILLION)
_DASHES: tuple[tuple[float, ...], ...] = ((), (5, 1.6), (1.4, 1.4), (6, 1.6, 1.4, 1.6))
_MARKERS = ("o", "s", "^", "D", "v")
_SHAPES = {
    "o": '<circle cx="17" cy="6" r="3.4"/>',
    "s": '<path d="M13.8 2.8h6.4v6.4h-6.4z"/>',
    "^": '<path d="M17 2l4 7.4h-8z"/>',
    "D": '<path d="M17 1.8l4.2 4.2-4.2 4.2-4.2-4.2z"/>',
    "v": '<path d="M17 10l4-7.4h-8z"/>',
}


@dataclass(frozen=True)
class Series:
    """The look of algorithm number `index`."""

    index: int

    @property
    def colour(self) -> str:
        return _COLOURS[self.index % len(_COLOURS)]

    @property
    def dashes(self) -> tuple[float, ...]:
        """On and off lengths in line widths; empty is a solid line."""
        return _DASHES[self.index % len(_DASHES)]

    @property
    def marker(self) -> str:
        return _MARKERS[self.index % len(_MARKERS)]

    @property
    def line(self) -> dict[str, Any]:
        """Keywords of a matplotlib line."""
        return {"color": self.colour, "linestyle": (0, self.dashes) if self.dashes else "solid"}

    @property
    def marked(self) -> dict[str, Any]:
        """Keywords of a line with about five markers, out of step with other series."""
        return self.line | {
            "marker": self.marker,
            "markersize": 5.5,
            "markevery": (0.04 * (self.index % 5), 0.21),
            "markeredgewidth": 0,
        }

    @property
    def swatch(self) -> Markup:
        """The line and its marker, for a legend in the page."""
        dashes = " ".join(f"{1.8 * length:g}" for length in self.dashes)
        return Markup(
            '<svg class="swatch" viewBox="0 0 34 12" width="34" height="12" aria-hidden="true" '
            f'style="color: {in_page(self.colour)}"><path d="M0 6h34" stroke="currentColor" stroke-width="2" '
            f'stroke-dasharray="{dashes}" fill="none"/><g fill="currentColor">{_SHAPES[self.marker]}</g></svg>'
        )


def looks(algorithms: Sequence[object]) -> list[Series]:
    """One look for each algorithm, in the order given."""
    return [Series(index) for index in range(len(algorithms))]


def picture(values: Any, shape: Sequence[int], value_range: Sequence[Any]) -> str:
    """A data URI of a PNG: `shape` is (height, width) in grey or (height, width, 3) in colour.

    Values beyond `value_range` are clipped; one that is not a number is mid-grey.
    """
    low, high = (number(end) for end in value_range)
    pixels = (np.array(numbers(values)).reshape(shape) - low) / ((high - low) or 1.0)
    pixels = np.clip(np.nan_to_num(pixels, nan=0.5), 0, 1)
    return "data:image/png;base64," + base64.b64encode(_png(np.round(255 * pixels).astype(np.uint8))).decode()


def _png(pixels: "np.ndarray[Any, np.dtype[np.uint8]]") -> bytes:
    height, width = pixels.shape[:2]
    kind = 2 if pixels.ndim == 3 and pixels.shape[2] == 3 else 0
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
