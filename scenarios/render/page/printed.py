"""A figure on paper: so wide, its letters as large as a paper's, on white, with its key below, as SVG, PNG or PDF."""

import html
import re
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from netsim.errors import ScenarioError
from netsim.own import kept_back
from scenarios.files.folders import whole

FORMATS = ("svg", "png", "pdf")
_POINTS, _SMALLEST = 11.0, 8.0
"""The size of the letters on the page in pixels, and in a paper in points."""
_WIDE = 8.5
"""Inches on the page from which on a figure with a wide and a narrow drawing is wide."""
_SWATCH, _LETTER, _LINE = 42, 6.0, 18
"""Of a key in pixels: the room of a swatch, of a letter, and of a line."""
_GLYPH, _CRAMPED = r"Glyph (\d+) .*missing from", "layout not applied"
"""Beginnings, or parts, of the drawing library's warnings."""
_SETTINGS = {"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "netsim", "text.parse_math": False}
_METADATA = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}
_SCALED = (
    (Text, "fontsize"), (Line2D, "linewidth"), (Line2D, "markersize"), (Line2D, "markeredgewidth"),
    (Patch, "linewidth"), (Collection, "linewidths"),
)  # fmt: skip


def too_narrow(inches: float) -> bool:
    """Whether a figure that wide has the narrow drawing, where it has two."""
    return inches * _POINTS / _SMALLEST < _WIDE


class _Entry(Protocol):
    """An entry of a key: its lines, one over the other; `index` of a series."""

    @property
    def label(self) -> str: ...
    @property
    def lines(self) -> tuple[dict[str, object], ...]: ...
    @property
    def index(self) -> int | None: ...


def printed(
    figure: Figure, key: Sequence[_Entry], words: str, files: Sequence[Path], dpi: int, inches: float, placed: bool
) -> set[str]:
    """Write a figure that wide, its letters of about `_SMALLEST` points, everything to scale, on white, with its key
    below. Returns the letters that the font of PDF and PNG files does not have.

    You get a `ScenarioError` of `width` where there is no room for its axes beside its words.
    """
    across, high = figure.get_size_inches().tolist()
    # The words of a figure with two drawings stand at places that were computed for its own width.
    scale = inches / across if placed else _SMALLEST / _POINTS
    height = high * (1 if placed else max(0.72, min(1.0, inches / scale / across)))
    with cast("Any", mpl).rc_context(_SETTINGS):
        rows = _legend(figure, key, inches / scale)
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
        kind = file.suffix[1:].lower()
        with whole(file) as draft:
            with cast("Any", mpl).rc_context(_SETTINGS), plainly_drawn() as found:
                cast("Any", figure).savefig(draft, format=kind, dpi=dpi, metadata=_METADATA[kind])
            if found.cramped:
                why = "too narrow for the figure's axes and words"
                raise ScenarioError("width", inches, why, "wider, such as 3.5")
            if kind == "svg":  # fonts that everybody has, and its meaning in words
                text = draft.read_text(encoding="utf-8")
                text = text.replace("'DejaVu Sans'", "'DejaVu Sans', Helvetica, Arial, sans-serif")
                head, svg, rest = re.split(r"(<svg[^>]*>)", text, maxsplit=1)
                text = f"{head}{svg}<title>{html.escape(words)}</title>{rest}"
                draft.write_text(text, encoding="utf-8")
            else:
                lacking |= set(found.missing)
    return lacking


def _legend(figure: Figure, key: Sequence[_Entry], inches: float) -> int:
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


@dataclass
class Drawn:
    """Letters that the font lacks, of what was drawn; whether there was no room for axes beside the words.

    Where text stays text, as in a page, the reader's own fonts show them: only the room they take is a guess.
    """

    missing: list[str] = field(default_factory=list[str])
    cramped: bool = False


@contextmanager
def plainly_drawn() -> Generator[Drawn]:
    """What the drawing library warns of what is drawn within the block, in place of its own words."""
    found = Drawn()
    with warnings.catch_warnings(), kept_back(rf"{_GLYPH}|{_CRAMPED}") as kept:
        for one in (_GLYPH, f".*{_CRAMPED}"):
            warnings.filterwarnings("always", one)
        yield found
    texts = [str(message) for message, *_ in kept]
    codes = [match[1] for one in texts if (match := re.match(_GLYPH, one))]
    found.missing.extend(dict.fromkeys(chr(int(code)) for code in codes))
    found.cramped = len(codes) < len(texts)
