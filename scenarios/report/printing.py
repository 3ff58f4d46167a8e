"""A figure of the page laid out for print: its size in inches, its letters readable at it, its key below it."""

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from matplotlib.artist import Artist
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from scenarios.report.drawings import Entry
from scenarios.report.series import Series
from scenarios.report.svg import BLUE, INK, ORANGE, PAPER, VERMILLION, Drawn, glyphs_missing

POINTS, SMALLEST = 11.0, 8.0
"""The size of the letters on the page in pixels, and in a paper in points."""
SWATCH, LETTER, LINE = 42, 6.0, 18
"""Of a key in pixels: the room of a swatch, of a letter, and of a line."""
TIME_KEY: list[tuple[str, dict[str, Any]]] = [
    ("claimed", {"color": INK, "linestyle": (0, (7, 3))}),
    ("exact, of this pair", {"color": BLUE, "marker": "o", "markersize": 4.5}),
    ("audited: at least", {"color": ORANGE, "marker": "s", "linestyle": "none", "markerfacecolor": PAPER}),
    ("the claim is first exceeded", {"color": VERMILLION, "marker": "X", "markersize": 9, "linestyle": "none"}),
]
"""The key of ε over time, which is no key of series."""


def save(drawn: Drawn, file: Path, dpi: int, inches: float, key: Sequence[Entry]) -> str:
    """The figure laid out anew at that width, its letters of about `SMALLEST` points, everything to scale, with the
    key of its series below. Returns the letters that the font of PDF and PNG files does not have."""
    import matplotlib as mpl

    figure, before = drawn.figure, drawn.figure.get_size_inches().tolist()
    placed = drawn.name in ("wide", "narrow")  # its words stand at places that were reckoned for its own width
    scale = inches / before[0] if placed else SMALLEST / POINTS
    height = before[1] * (1 if placed else max(0.72, min(1.0, inches / scale / before[0])))
    legend, rows = _legend(drawn, key, inches / scale)
    changed = _scaled(figure, scale)
    try:
        figure.set_size_inches(inches, (height + rows * LINE / 72) * scale)
        figure.patch.set_alpha(1.0)
        figure.patch.set_facecolor("white")
        settings: Any = {
            "pdf.fonttype": 42,
            "svg.fonttype": "none",
            "svg.hashsalt": "netsim",
            "text.parse_math": False,
        }
        metadata: Any = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}
        with cast("Any", mpl).rc_context(settings), glyphs_missing() as missing:
            cast("Any", figure).savefig(file, dpi=dpi, metadata=metadata[file.suffix[1:]])
        if file.suffix != ".svg":
            return "".join(missing)
        _generic(file, drawn.label)
        return ""
    finally:
        for undo, value in changed:
            undo(value)
        if legend is not None:
            legend.remove()
        figure.set_size_inches(*before)


def _generic(file: Path, label: str) -> None:
    """An SVG file with fonts that everybody has, and what it says in words."""
    text = file.read_text(encoding="utf-8").replace("'DejaVu Sans'", "'DejaVu Sans', Helvetica, Arial, sans-serif")
    text = re.sub(r"(<svg[^>]*>)", lambda m: f"{m[1]}<title>{html.escape(label)}</title>", text, count=1)
    file.write_text(text, encoding="utf-8")


def _legend(drawn: Drawn, key: Sequence[Entry], inches: float) -> tuple[Any, int]:
    """The key of the series below the figure, and its lines; None where the figure names them itself."""
    import matplotlib as mpl

    looks = [(entry.label, Series(entry.index)) for entry in key if entry.index is not None]
    entries = [(label, (look.line | _mark(look),)) for label, look in looks]
    marks = [(entry.label, tuple(map(dict, entry.lines))) for entry in key if entry.lines]
    if drawn.name.endswith("-time"):
        entries = [(label, (style,)) for label, style in TIME_KEY]
    entries = marks or entries
    if len(entries) < (1 if marks else 2):
        return None, 0
    handles = [_handle(lines) for _, lines in entries]
    longest = max(len(label) for label, _ in entries)
    columns = max(1, min(len(entries), int(72 * inches // (SWATCH + LETTER * longest + 14))))
    style: Any = {
        "loc": "outside lower center", "ncols": columns, "frameon": False, "fontsize": 10.5, "handlelength": 2.6
    }  # fmt: skip
    with cast("Any", mpl).rc_context({"text.parse_math": False}):
        legend = cast("Any", drawn.figure).legend(handles, [label for label, _ in entries], **style)
    return legend, -(-len(entries) // columns)


def _handle(lines: Sequence[dict[str, Any]]) -> Any:
    """What stands before the words: lines, one over the other."""
    made = tuple(cast("Any", Line2D)([], [], **({"linewidth": 1.8} | line)) for line in lines)
    return made[0] if len(made) == 1 else made


def _mark(look: Series) -> dict[str, Any]:
    return {"marker": look.marker, "markersize": 5.5, "markeredgewidth": 0, "linewidth": 1.8}


def _scaled(figure: Figure, scale: float) -> list[tuple[Any, Any]]:
    """Letters, lines and marks made so many times as large; what puts each back as it was."""
    changed: list[tuple[Any, Any]] = []

    def change(setter: Any, value: float) -> None:
        changed.append((setter, value))
        setter(value * scale)

    for artist in cast("list[Artist]", cast("Any", figure).findobj()):
        one: Any = artist
        if isinstance(artist, Text):
            change(one.set_fontsize, one.get_fontsize())
        elif isinstance(artist, Line2D):
            marks = one.get_markersize(), one.get_markeredgewidth()
            change(one.set_linewidth, one.get_linewidth())
            change(one.set_markersize, marks[0])
            change(one.set_markeredgewidth, marks[1])
        elif isinstance(artist, Patch):
            change(one.set_linewidth, one.get_linewidth())
        elif isinstance(artist, Collection):
            widths = list(one.get_linewidths())
            changed.append((one.set_linewidths, widths))
            one.set_linewidths([width * scale for width in widths])
    return changed
