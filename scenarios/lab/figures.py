"""Figures of lessons as HTML for any notebook: network, curves, rows of images, tables."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count
from typing import Any

from matplotlib.ticker import MaxNLocator

from scenarios.build.experiment import Experiment
from scenarios.render.page import charts as drawn
from scenarios.render.page import plan
from scenarios.render.page.drawing import (
    BLUE,
    GREEN,
    INK,
    LOOK,
    ORANGE,
    PURPLE,
    ROOM,
    VERMILLION,
    Chart,
    Drawing,
    canvas,
    framed,
    picture,
)
from scenarios.results.header import network as surroundings
from scenarios.results.numbers import show

COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE)
NAMES = ("blue", "vermillion", "green", "orange", "purple")
MARKERS, MARKS = ("o", "s", "^", "D", "v"), "●■▲◆▼"
SIDES = ((6, 84), (12, 52), (18, 38))
"""How many images in a row are drawn how large, in pixels of the page."""
_names = count()


@dataclass(frozen=True)
class Html:
    """A piece of a page; notebooks show it as it is."""

    text: str

    def _repr_html_(self) -> str:
        return self.text


@dataclass(frozen=True)
class Curve:
    """One line of a figure, with a band from `low` to `high` where both are given."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    dashed: bool = False


def network(experiment: Experiment) -> Html:
    """The agents, their links and who listens where, as in the report."""
    scenario = experiment.scenario
    key = ['<span><span style="color: var(--vermillion)">▼━</span> tapped</span>', "<span>╌╌ not tapped</span>"]
    if scenario.links.encrypted or any(one.law.encrypted for one in scenario.link_overrides):
        key.insert(1, '<span><span style="color: var(--vermillion)">▽━</span> tapped, encrypted</span>')
    if scenario.adversary.insiders:
        key.append('<span><span style="color: var(--vermillion)">■</span> honest but curious</span>')
    return Html(framed(plan.network(surroundings(experiment), _name()), 470, key))


def chart(draw: Callable[[str], Chart]) -> Html:
    """A figure of the report, with its key; `draw` makes it from a prefix for the ids inside."""
    found = draw(_name())
    swatches = [one.swatch.replace("<svg ", '<svg style="display: inline" ', 1) for one in found.key]
    labels = [escape(one.label) for one in found.key]
    key = [
        f'<span style="white-space: nowrap">{swatch} {label}</span>'
        for swatch, label in zip(swatches, labels, strict=True)
    ]
    caption = "".join(f'<p style="font-size: .88rem; margin: 0">{escape(one)}</p>' for one in found.caption)
    return Html(
        f'<div style="width: 400px; max-width: calc({ROOM})">{framed(found.drawing, 400, key)}{caption}</div>'
    )


def curves(
    lines: Sequence[Curve],
    x: str,
    y: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
    level: tuple[float, str] | None = None,
    at: float | None = None,
) -> Html:
    """Curves with a key below. `level` is a dashed line across and its words in the key, `at` one upright: a slider's
    place."""
    with canvas(560, 320) as (figure, axes):
        plot: Any = axes
        for index, line in enumerate(lines):
            _line(plot, line, index)
        if level is not None:
            plot.axhline(level[0], color=INK, linewidth=1.2, linestyle=(0, (7, 3)))
        if at is not None:
            plot.axvline(at, color=INK, alpha=0.5, linewidth=1.2, linestyle=(0, (2, 2)))
        plot.set_xlabel(x)
        plot.set_ylabel(y)
        if log_y:
            drawn.errors(plot, [value for line in lines for value in line.y])
        if log_x:
            _decades(plot, [value for line in lines for value in line.x])
        elif all(isinstance(value, int) for line in lines for value in line.x):
            plot.xaxis.set_major_locator(MaxNLocator(integer=True))
        plot.grid(axis="y")
        ends = "; ".join(f"{line.label}: {show(line.y[-1])}" for line in lines if line.y)
        drawing = Drawing(_name(), f"{y} by {x}. At the end, {ends}.", figure)
    key = [
        f'<span style="white-space: nowrap"><span style="color: var(--{NAMES[index % len(NAMES)]})">'
        f"{'╌╌' if line.dashed else MARKS[index % len(MARKS)]}</span> {escape(line.label)}</span>"
        for index, line in enumerate(lines)
    ]
    if level is not None:
        key.append(f'<span style="white-space: nowrap">╌╌ {escape(level[1])}</span>')
    return Html(framed(drawing, 620, key))


def pictures(
    rows: Mapping[str, Sequence[Any]],
    shape: Sequence[int],
    value_range: Sequence[float],
    *,
    captions: Mapping[str, Sequence[str]] | None = None,
) -> Html:
    """Rows of images, by name; an image is its pixels (pixels,), None where there is none. A caption below each."""
    side = next((side for most, side in SIDES if all(len(row) <= most for row in rows.values())), SIDES[-1][1])
    body = ""
    for name, images in rows.items():
        below = (captions or {}).get(name, ())
        cells = "".join(
            f'<td style="text-align: center; font-size: .8rem; color: var(--muted)">'
            f"{_picture(image, f'{name} {index}', shape, value_range, side)}"
            f"<br>{escape(below[index]) if index < len(below) else ''}</td>"
            for index, image in enumerate(images)
        )
        head = '<th style="text-align: left; font-size: .9rem; padding-right: .8rem">'
        body += f"<tr>{head}{escape(name)}</th>{cells}</tr>"
    return Html(
        f'<div style="{LOOK}; overflow-x: auto"><table style="border-spacing: .5rem .3rem">{body}</table></div>'
    )


def table(head: Sequence[object], rows: Sequence[Sequence[object]], *, marked: Sequence[int] = ()) -> Html:
    """A table with numbers as the report shows them; the rows `marked` stand out."""
    cell = "text-align: left; padding: .25rem .9rem .25rem 0; border-top: 1px solid var(--line); vertical-align: top"
    heads = "".join(f'<th style="{cell}; border: 0">{escape(_text(one))}</th>' for one in head)
    lines = "".join(
        f'<tr style="{"font-weight: 700" if index in marked else ""}">'
        + "".join(f'<td style="{cell}">{escape(_text(one))}</td>' for one in row)
        + "</tr>"
        for index, row in enumerate(rows)
    )
    whole = '<table style="border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums">'
    return Html(f'<div style="{LOOK}; overflow-x: auto">{whole}<thead><tr>{heads}</tr></thead>{lines}</table></div>')


# ── parts ───────────────────────────────────────────────────────────────────────────────────────────────
def _name() -> str:
    """Prefix of the ids inside an SVG: a page may show many."""
    return f"lab{next(_names)}"


def _line(plot: Any, line: Curve, index: int) -> None:
    colour, marker = COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]
    if line.low and line.high:
        plot.fill_between(line.x, line.low, line.high, color=colour, alpha=0.18, linewidth=0)
    style: Any = {"color": colour, "linestyle": (0, (5, 2)) if line.dashed else "-"}
    if not line.dashed:
        every = max(1, len(line.x) // 6)
        style |= {"marker": marker, "markersize": 5.5, "markevery": (index * every // 3 % every, every)}
    plot.plot(line.x, [value if math.isfinite(value) else math.nan for value in line.y], **style)


def _decades(plot: Any, values: Sequence[float]) -> None:
    """A logarithmic axis across, with a tick at every decade, or at 1, 2 and 5 of each where there are few."""
    plot.set_xscale("log")
    low, high = min(values), max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high < 200 * low else (1,)
    ticks = [one for power in powers for step in steps if low <= (one := step * 10.0**power) <= high]
    plot.set_xticks(ticks, [show(one) for one in ticks])
    plot.set_xticks([], minor=True)


def _picture(image: Any, label: str, shape: Sequence[int], value_range: Sequence[float], side: int) -> str:
    if image is None or not len(image):
        return '<span style="font-size: 1.4rem">—</span>'
    look = f"width: {side}px; height: {side}px; max-width: none; image-rendering: pixelated; margin: 0"
    look += "; border: 1px solid var(--line); display: inline"
    return f'<img src="{picture(list(image), shape, value_range)}" alt="{escape(label)}" style="{look}">'


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return show(value, 4) if isinstance(value, float) else str(value)
