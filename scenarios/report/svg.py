"""A matplotlib figure as SVG that lives inside a page: its text is text, its colours are the page's."""

import io
import re
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import groupby
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
