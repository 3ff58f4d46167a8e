"""Drawings of the page and for papers: matplotlib figures, as SVG inside a page; axes with 0 and ∞; keys."""

import base64
import io
import math
import pickle
import re
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, cast

import matplotlib as mpl
import numpy as np
from markupsafe import Markup, escape
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from PIL import Image

from netsim.errors import ScenarioError
from scenarios.render.page.printed import FORMATS, plainly_drawn, printed, too_narrow
from scenarios.results.base import write_text
from scenarios.results.numbers import alone, ten_to

Style: TypeAlias = dict[str, object]
"""Keywords of a matplotlib artist."""
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
_VARIABLES = {
    "panel": ("#fffefc", "#1a1d22"), "line": ("#e0dcd4", "#32363d"), "muted": ("#5b5f66", "#a4a7ae"),
    "blue": ("#0072b2", "#4fb0ea"), "orange": ("#d98f00", "#f0b13c"), "green": ("#009e73", "#2fc79b"),
    "vermillion": ("#d55e00", "#ff8033"), "purple": ("#b8618f", "#e09bc0"), "sky": ("#3a9fd8", "#8fd0f5"),
}  # fmt: skip
LOOK = "; ".join(f"--{name}: light-dark({light}, {dark})" for name, (light, dark) in _VARIABLES.items())
"""The page's colours as a style, for a figure that stands by itself."""
ROOM = "100vw - 40px"
"""The most that a notebook on a phone has room for: where its parts are side by side it asks how wide they are."""
_LEAST = 9 / 10.5
"""How much smaller than drawn a figure may be: the numbers at its ticks then have 9 pixels."""
_STYLE: Style = {
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


# ── figures ─────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Drawing:
    """A matplotlib figure that templates write as SVG: ids begin with its name, `words` are for screen readers."""

    name: str
    words: str
    figure: Figure

    @cached_property
    def svg(self) -> Markup:
        """The figure as an `<svg>` element in the page's colours, which follow light and dark."""
        stream = io.StringIO()
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        with cast("Any", mpl).rc_context(_STYLE), plainly_drawn():
            cast("Any", FigureCanvasSVG(self.figure)).print_svg(stream, metadata=metadata)
        return Markup(_adapt(stream.getvalue(), self.name, self.words))

    def __html__(self) -> str:
        return self.svg


@dataclass(frozen=True)
class Entry:
    """An entry of a key: lines as matplotlib draws them, one over the other; `index` of a series."""

    label: str
    lines: tuple[Style, ...]
    index: int | None = None

    @property
    def swatch(self) -> Markup:
        """The lines as a small picture in the page."""
        return Markup(
            '<svg class="swatch" viewBox="0 0 34 12" width="34" height="12" aria-hidden="true">'
            f"{''.join(map(_stroke, self.lines))}</svg>"
        )


@dataclass(frozen=True)
class Chart:
    """A figure of the page and for papers: drawing, title, key and caption."""

    title: str
    drawing: Drawing
    key: tuple[Entry, ...] = ()
    caption: tuple[str, ...] = ()
    narrow: Drawing | None = None
    """The same for a phone, and for the column of a paper."""
    panels: tuple[tuple[str, Drawing], ...] = ()
    """Its curves one by one, by label."""

    def __repr__(self) -> str:
        return f"Chart({self.title!r}; a notebook shows it, .save('figure.svg') writes it)"

    def _repr_html_(self) -> str:
        """The figure with its key and caption, for notebooks."""
        key = [f'<span style="white-space: nowrap">{one.swatch} {escape(one.label)}</span>' for one in self.key]
        caption = "".join(f'<p style="font-size: .88rem; max-width: 46rem">{escape(one)}</p>' for one in self.caption)
        width = round(72 * float(self.drawing.figure.get_figwidth()))
        return f"<h4>{escape(self.title)}</h4>{framed(self.drawing, width, key)}{caption}"

    def at(self, inches: float) -> Drawing:
        """The drawing for a figure that wide."""
        return self.narrow if self.narrow is not None and too_narrow(inches) else self.drawing

    def save(self, path: str | Path, width: float = 7.0, dpi: int = 300) -> Path:
        """Write the figure to a file: .svg, .pdf or .png (`dpi` dots an inch), `width` inches wide, with its
        key; or .html, a page with its caption. Returns where it is.

        You get a `ScenarioError` for another ending, or a width or resolution that no figure has, or this one has no
        room in.
        """
        file, title = Path(path), escape(self.title)
        kind = file.suffix.lower()[1:]
        if kind not in (*FORMATS, "html"):
            raise ScenarioError("path", str(path), "no format of a figure", f".{', .'.join((*FORMATS, 'html'))}")
        if not file.parent.is_dir():
            raise ScenarioError("path", str(path), "its folder is not there", "a folder that is")
        if not (1 <= width <= 40 and 30 <= dpi <= 2400):
            raise ScenarioError("width, dpi", [width, dpi], "no size of a figure", "1 … 40 inches, 30 … 2400 dots")
        if kind == "html":
            page = f'<!doctype html><meta charset="utf-8"><title>{title}</title>{self._repr_html_()}'
            write_text(file, page)
            return file
        drawing = self.at(width)
        copied: Figure = pickle.loads(pickle.dumps(drawing.figure))  # what is shown stays as it is
        printed(copied, self.key, drawing.words, [file], dpi, width, self.narrow is not None)
        return file


@contextmanager
def canvas(width: float, height: float) -> Generator[tuple[Figure, Any]]:
    """A figure of that many page pixels with one axes, in the page's style."""
    with cast("Any", mpl).rc_context(_STYLE):
        figure = Figure(figsize=(width / 72, height / 72), layout="constrained")
        figure.patch.set_alpha(0)
        axes: Any = cast("Any", figure).add_subplot()
        axes.patch.set_alpha(0)
        yield figure, axes


def framed(drawing: Drawing, width: int, key: Sequence[str]) -> str:
    """A drawing so many pixels wide and its key, with the page's colours, for a page of somebody else's.

    Where there is less room it scrolls by itself as soon as its letters would be smaller than can be read.
    """
    least = min(width, math.ceil(_LEAST * 72 * float(drawing.figure.get_figwidth())))
    inside = f'<div style="overflow-x: auto"><div style="min-width: {least}px">{drawing.svg}</div></div>'
    below = f'<figcaption style="font-size: .88rem">{"&emsp;".join(key)}</figcaption>'
    return f'<figure style="{LOOK}; max-width: min({width}px, {ROOM}); margin: .5rem 0">{inside}{below}</figure>'


def series(index: int) -> Style:
    """Keywords of an artist that belongs to series `index`: its classes in the page are `s` and `s{index}`."""
    return {"gid": f"series-{index}"}


def _adapt(text: str, prefix: str, label: str) -> str:
    """Matplotlib's SVG without what a page has already, its ids apart from those of other figures."""

    def shorten(tag: re.Match[str]) -> str:
        """A tag with all coordinates to a tenth of a pixel, its path in steps; text between tags stays as it is."""
        steps = re.sub(r' d="([^"]*)"', lambda path: f' d="{_steps(path[1])}"', tag[0])
        number = r"opacity: [\d.]+|(?<=[\s\"(MLCQ,-])(\d+\.\d)\d+(?![\de])"  # how opaque it is stays as it is
        return re.sub(number, lambda one: one[1] or one[0], steps)

    box = cast("re.Match[str]", re.search(r'viewBox="[^"]*"', text)).group()
    head = (
        f'<svg {box} role="img" data-figure="{escape(prefix)}" aria-label="{escape(label)}" '
        'style="font-family: var(--sans); stroke-linejoin: round; stroke-linecap: butt">'
    )
    text = re.sub(
        r"<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>", "", text[text.index("<svg") :], flags=re.S
    )
    text = re.sub(r"<[^>]*>", shorten, text)
    text = re.sub(r"<svg[^>]*>", lambda _: head, text, count=1)
    text = re.sub(
        r"xlink:(?=href)| ?font-family: 'DejaVu Sans'[^;\"]*;?| transform=\"rotate\(-?0 [^)]*\)\"", "", text
    )
    for colour, name in _IN_PAGE.items():
        text = text.replace(colour, name)
    text = re.sub(r' id="series-(\d+)"', r' class="s s\1"', text)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    text = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}-{m[1]}"' if m[1] in used else "", text)
    text = re.sub(r'(href="#|url\(#)', lambda m: f"{m[1]}{prefix}-", text)
    text = re.sub(r'<path d="[^"]*" style="fill: none; opacity: 0"/>|>\s+(?=<)', lambda m: m[0][:1].strip("<"), text)
    kept: list[bool] = []

    def group(tag: re.Match[str]) -> str:
        """A group's tag, but none of one without attributes."""
        if tag[0] == "</g>":
            return tag[0] if kept.pop() else ""
        kept.append(tag[0] != "<g>")
        return tag[0] if kept[-1] else ""

    return _alike(re.sub(r"<g(?: [^>]*)?>|</g>", group, text))


def _steps(path: str) -> str:
    """A path of straight lines as steps of tenths of a pixel; rounding does not add up along it.

    One with curves keeps its coordinates, on one line.
    """
    if not re.fullmatch(r"(?:\s*[ML] \S+ \S+)+\s*z?\s*", path):
        return re.sub(r"\s*\b([MLCQz])\s", r"\1", path)
    found, here = list[str](), (0, 0)

    def tenths(count: int) -> str:
        return re.sub(r"^(-?)0(?=\.)", r"\1", f"{count / 10:.1f}".removesuffix(".0"))

    points = cast("list[tuple[str, str, str]]", re.findall(r"([ML]) (\S+) (\S+)", path))
    for letter, *point in points:
        x, y = (round(10 * float(one)) for one in point)
        step = (x - here[0], y - here[1])
        if letter == "M":
            found.append(f"M{tenths(x)} {tenths(y)}")
        elif all(step) or (not any(step) and len(points) == 2):
            found.append(f"l{tenths(step[0])} {tenths(step[1])}")
        elif any(step):
            found.append(f"h{tenths(step[0])}" if step[0] else f"v{tenths(step[1])}")
        here = (x, y)
    return "".join(found).replace(" -", "-") + "z" * path.rstrip().endswith("z")


def _alike(text: str) -> str:
    """Three or more paths in a row that look alike say so once, in a group; opacity, which a group applies to all of
    them together, stays with each."""
    opacity = r"(?<!-)opacity: [^;\"]*"

    def group(run: re.Match[str]) -> str:
        own = "".join(f' style="{one}"' for one in re.findall(opacity, run[1]))
        return f"<g{re.sub(rf'(?:; )?{opacity}', '', run[1])}>{run[0].replace(run[1], own)}</g>"

    path = r'<path d="[^"]*"'
    return re.sub(rf'{path}((?: clip-path="[^"]*")? style="[^"]*")/>(?:{path}\1/>){{2,}}', group, text)


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

    @property
    def kind(self) -> str:
        """The kind of scale, in words for its axis; no logarithm has a place for 0."""
        return "logarithmic; 0 is beneath" if self.has_zero else "logarithmic"

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
            marks = [(d + math.log10(m), alone(m * 10.0**d)) for d in decades for m in (1, 2, 5)]
        else:
            stride = max(1, round(span / 6))
            plain = span < 5 and self.low > -3
            marks = [(float(d), alone(10.0**d) if plain else ten_to(d)) for d in decades if d % stride == 0]
        ends = [(self.zero, "0")] * self.has_zero + [(self.infinity, "∞")] * self.has_infinity
        return [(place, label) for place, label in marks if self.low <= place <= self.high] + ends

    def dress(self, axis: Any) -> None:
        """Put the ticks on a matplotlib axis."""
        ticks = self.ticks()
        axis.set_ticks([place for place, _ in ticks], [label for _, label in ticks])

    def set_up(self, plot: Any) -> None:
        """Make it the vertical axis of a plot whose heights are places."""
        if self.has_infinity:
            plot.axhline(self.high, color=INK, alpha=0.35, linestyle=(0, (1, 3)), linewidth=1)
        (bottom, top), pad = self.limits, 0.04 * (self.high - self.low)
        plot.set_ylim(bottom - pad, top + pad)
        self.dress(plot.yaxis)
        plot.grid(axis="y")

    def logarithmic(self, plot: Any) -> None:
        """Make it the vertical axis of a plot whose heights are values."""
        plot.set_yscale("log")
        plot.set_ylim(10**self.low, 10**self.high)
        plot.set_yticks([10**place for place, _ in self.ticks()], [label for _, label in self.ticks()])
        plot.set_yticks([], minor=True)


def write_ticks(axis: Any, text: Callable[[float], str] = alone) -> None:
    """Write the numbers of a matplotlib axis as the page does."""

    def written(value: float, _: object) -> str:
        return text(value)

    axis.set_major_formatter(written)


# ── looks ───────────────────────────────────────────────────────────────────────────────────────────────
_COLOURS = (BLUE, ORANGE, PURPLE, GREEN, INK, SKY, VERMILLION)
_DASHES: tuple[tuple[float, ...], ...] = ((), (5, 1.6), (1.4, 1.4), (6, 1.6, 1.4, 1.6))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", ">")
_SHAPES = {
    "o": "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0z", "s": "M-1-1h2v2h-2z", "D": "M0-1.3l1.3 1.3-1.3 1.3-1.3-1.3z",
    "^": "M0-1.1l1.1 2h-2.2z", "v": "M0 1.1l1.1-2h-2.2z", ">": "M-1-1l2 1-2 1z", "x": "M-1-1l2 2M1-1l-2 2",
    "X": "M-1-1l2 2M1-1l-2 2", "P": "M-.4-1.2h.8v.8h.8v.8h-.8v.8h-.8v-.8h-.8v-.8h.8z", "|": "M0-1.8v3.6",
    "_": "M-1 0h2",
}  # fmt: skip
"""Markers of unit radius."""


@dataclass(frozen=True)
class Series:
    """The look of algorithm number `index`; of one of several curves of an algorithm with the algorithm's `hue` and a
    `shape` of its own."""

    index: int
    hue: int | None = None
    """Number of its colour; None: `index`."""
    shape: int | None = None
    """Number of its marker and dashes; None: `index`."""

    @property
    def colour(self) -> str:
        return _COLOURS[(self.index if self.hue is None else self.hue) % len(_COLOURS)]

    @property
    def marker(self) -> str:
        return _MARKERS[self._shape % len(_MARKERS)]

    @property
    def line(self) -> Style:
        """Keywords of a matplotlib line."""
        dashes = _DASHES[self._shape % len(_DASHES)]
        return {"color": self.colour, "linestyle": (0, dashes) if dashes else "solid"}

    @property
    def _shape(self) -> int:
        return self.index if self.shape is None else self.shape

    @property
    def marked(self) -> Style:
        """Keywords of a line with about five markers, out of step with other series."""
        return self.line | self.point | {"markevery": (0.04 * (self.index % 5), 0.21)}

    @property
    def point(self) -> Style:
        """Keywords of its marker."""
        return {"marker": self.marker, "markersize": 5.5, "markeredgewidth": 0}

    def entry(self, label: str) -> Entry:
        """Its entry in a key."""
        return Entry(label, (self.line | self.point,), self.index)


def _stroke(line: Style) -> str:
    """A line of a key as SVG, and the marker in its middle."""
    colour, alpha = _IN_PAGE[str(line.get("color", INK))], line.get("alpha", 1)
    parts: list[str] = []
    if (kind := line.get("linestyle", "solid")) != "none":
        dashes = (
            " ".join(f"{1.8 * one:g}" for one in cast("tuple[int, Sequence[float]]", kind)[1])
            if kind != "solid"
            else ""
        )
        width = cast("float", line.get("linewidth", 2))
        parts.append(f'<path d="M0 6h34" stroke="{colour}" stroke-width="{width:g}" stroke-dasharray="{dashes}"/>')
    if marker := str(line.get("marker", "")):
        radius = cast("float", line.get("markersize", 5.5)) / 1.8
        edge = _IN_PAGE[str(line.get("markeredgecolor", line.get("color", INK)))]
        face = str(line.get("markerfacecolor", line.get("color", INK)))
        width = cast("float", line.get("markeredgewidth", 1.4))
        parts.append(
            f'<path transform="translate(17 6) scale({min(radius, 6.0):.2g})" d="{_SHAPES[marker]}" '
            f'fill="{"none" if marker in "xX|_" else _IN_PAGE.get(face, "none")}" stroke="{edge}" '
            f'stroke-width="{width if marker not in "X|_" else 2.4:g}" vector-effect="non-scaling-stroke"/>'
        )
    return f'<g fill="none" opacity="{alpha}">{"".join(parts)}</g>'


def picture(values: Sequence[float], shape: Sequence[int], value_range: Sequence[float]) -> str:
    """A data URI of a PNG: `shape` is (height, width) in grey or (height, width, 3) in colour.

    Values beyond `value_range` are clipped; one that is not a number is mid-grey.
    """
    low, high = value_range
    pixels = (np.array(values, dtype=np.float64).reshape(shape) - low) / ((high - low) or 1.0)
    stream = io.BytesIO()
    Image.fromarray(np.round(255 * np.clip(np.nan_to_num(pixels, nan=0.5), 0, 1)).astype(np.uint8)).save(
        stream, "PNG"
    )
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()
