"""Figures of a page as files for papers: SVG, PNG and PDF at print size, a caption each."""

import html
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from netsim.errors import ScenarioError
from scenarios.build.duration import Progress, Silent
from scenarios.files.folders import RESULTS, whole
from scenarios.render.page.drawing import Chart, Drawing, Entry, glyphs_missing
from scenarios.results.base import write_text

_FORMATS = ("svg", "png", "pdf")
_UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27, "": 1.0}
"""Inches of each."""
_POINTS, _SMALLEST = 11.0, 8.0
"""The size of the letters on the page in pixels, and in a paper in points."""
_WIDE = 8.5
"""Inches on the page from which on a figure with a wide and a narrow drawing is wide."""
_SWATCH, _LETTER, _LINE = 42, 6.0, 18
"""Of a key in pixels: the room of a swatch, of a letter, and of a line."""
_SETTINGS = {"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "netsim", "text.parse_math": False}
_METADATA = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}
_SCALED = (
    (Text, "fontsize"), (Line2D, "linewidth"), (Line2D, "markersize"), (Line2D, "markeredgewidth"),
    (Patch, "linewidth"), (Collection, "linewidths"),
)  # fmt: skip


@dataclass(frozen=True)
class _Exported:
    """A figure that was written: its `name` (of its files too), `title`, `caption`, what it says in words, which
    curves it has (`key`), where its numbers are from, and its `files`."""

    name: str
    title: str
    caption: str
    words: str
    key: list[str]
    source: str
    files: list[str]


def export_figures(
    charts: Sequence[Chart],
    folder: Path,
    *,
    formats: Sequence[str] = _FORMATS[:2],
    dpi: int = 300,
    width: str | float = "3.5in",
    source: str = RESULTS,
    progress: Progress | None = None,
) -> list[_Exported]:
    """Figures of a page (`report.figures` of a run, `sweep.figures`) as files in `folder`.

    `width` is in inches, or a text with its unit (in, cm, mm, pt); heights keep the page's proportions. `dpi` is of
    PNG. Beside the figures, `figures.json` has of each its title, caption, what it says in words, and its source.

    You get a `ScenarioError` for a format, a width or a resolution that cannot be.
    """
    wanted = list(dict.fromkeys(one for kind in formats if (one := kind.strip().lower()))) or list(_FORMATS[:2])
    for one in wanted:
        if one not in _FORMATS:
            raise ScenarioError("--format", one, "no format of a figure", ", ".join(_FORMATS))
    given = re.fullmatch(rf"\s*(\d+\.?\d*|\.\d+)\s*({'|'.join(_UNITS)})\s*", str(width))
    inches = float(given[1]) * _UNITS[given[2]] if given else 0.0
    if not 1 <= inches <= 40:
        raise ScenarioError("--width", width, "no width of a figure", "such as 3.5in, 89mm, 252pt: 1 to 40 inches")
    if not 30 <= dpi <= 2400:
        raise ScenarioError("--dpi", dpi, "no resolution of a figure", "30 … 2400")
    shown = progress or Silent()
    folder.mkdir(parents=True, exist_ok=True)
    shown.begin("figures", len(charts))
    exported: list[_Exported] = []
    missing = set[str]()
    for number, one in enumerate(charts, start=1):
        plain = re.sub(r"[^a-z0-9]+", "-", one.title.lower()).strip("-")
        name = f"{number:02d}-{plain[:60].rstrip('-') or one.drawing.name}"
        files = [folder / f"{name}.{kind}" for kind in wanted]
        drawing = one.narrow if one.narrow and inches * _POINTS / _SMALLEST < _WIDE else one.drawing
        missing |= save(one, drawing, files, dpi, inches)
        caption = " ".join(one.caption)
        write_text(folder / f"{name}.txt", f"{one.title}. {caption}\n\nNumbers: {source}.")
        shown.advance(1)
        labels = [entry.label for entry in one.key]
        exported.append(
            _Exported(name, one.title, caption, drawing.words, labels, source, [file.name for file in files])
        )
    if missing:
        shown.say(f"The font of PDF and PNG figures has no {''.join(sorted(missing))}; SVG figures show it.")
    text = json.dumps([asdict(one) for one in exported], indent=1, ensure_ascii=False)
    write_text(folder / "figures.json", text)
    return exported


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────
def save(one: Chart, drawing: Drawing, files: Sequence[Path], dpi: int, inches: float) -> set[str]:
    """Write a figure that wide, its letters of about `_SMALLEST` points, everything to scale, on white, with its key
    below. Returns the letters that the font of PDF and PNG files does not have."""
    figure = drawing.figure
    across, high = figure.get_size_inches().tolist()
    # The words of a figure with two drawings stand at places that were computed for its own width.
    scale = inches / across if one.narrow else _SMALLEST / _POINTS
    height = high * (1 if one.narrow else max(0.72, min(1.0, inches / scale / across)))
    with cast("Any", mpl).rc_context(_SETTINGS):
        rows = _legend(figure, one.key, inches / scale)
    for artist in cast("list[Artist]", cast("Any", figure).findobj()):
        for kind, name in _SCALED:
            if isinstance(artist, kind):
                value = getattr(artist, f"get_{name}")()
                getattr(artist, f"set_{name}")([scale * v for v in value] if name == "linewidths" else scale * value)
    figure.set_size_inches(inches, (height + rows * _LINE / 72) * scale)
    figure.patch.set_alpha(1.0)
    figure.patch.set_facecolor("white")
    lacking = set[str]()
    for file in files:
        kind = file.suffix[1:]
        with whole(file) as draft:
            with cast("Any", mpl).rc_context(_SETTINGS), glyphs_missing() as missing:
                cast("Any", figure).savefig(draft, format=kind, dpi=dpi, metadata=_METADATA[kind])
            if kind == "svg":  # fonts that everybody has, and its meaning in words
                text = draft.read_text(encoding="utf-8")
                text = text.replace("'DejaVu Sans'", "'DejaVu Sans', Helvetica, Arial, sans-serif")
                head, svg, rest = re.split(r"(<svg[^>]*>)", text, maxsplit=1)
                text = f"{head}{svg}<title>{html.escape(drawing.words)}</title>{rest}"
                draft.write_text(text, encoding="utf-8")
            else:
                lacking |= set(missing)
    return lacking


def _legend(figure: Figure, key: Sequence[Entry], inches: float) -> int:
    """Put the key below the figure, in as many columns as there is room for; its lines. One series needs none."""
    if not key or (len(key) == 1 and key[0].index is not None):
        return 0
    longest = max(len(entry.label) for entry in key)
    columns = max(1, min(len(key), int(72 * inches // (_SWATCH + _LETTER * longest + 14))))
    handles = [tuple(cast("Any", Line2D)([], [], **({"linewidth": 1.8} | line)) for line in one.lines) for one in key]
    cast("Any", figure).legend(
        [one[0] if len(one) == 1 else one for one in handles], [entry.label for entry in key],
        loc="outside lower center", ncols=columns, frameon=False, fontsize=10.5, handlelength=2.6,
    )  # fmt: skip
    return -(-len(key) // columns)
