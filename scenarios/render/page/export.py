"""A page for papers: its figures as SVG, PNG and PDF at print size, a caption each; the three epsilons as LaTeX and
CSV tables."""

import csv
import html
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

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
from scenarios.render.sentences import word
from scenarios.results.audit import AuditResult
from scenarios.results.base import write_text
from scenarios.results.tree import AlgorithmResult, Results

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


def checked(formats: Sequence[str], width: str | float) -> tuple[list[str], float]:
    """Formats and inches of figures. You get a `ScenarioError` for a format or a width that cannot be."""
    wanted = list(dict.fromkeys(one for kind in formats if (one := kind.strip().lower()))) or list(_FORMATS[:2])
    for one in wanted:
        if one not in _FORMATS:
            raise ScenarioError("--format", one, "no format of a figure", ", ".join(_FORMATS))
    given = re.fullmatch(rf"\s*(\d+\.?\d*|\.\d+)\s*({'|'.join(_UNITS)})\s*", str(width))
    inches = float(given[1]) * _UNITS[given[2]] if given else 0.0
    if not 1 <= inches <= 40:
        raise ScenarioError("--width", width, "no width of a figure", "such as 3.5in, 89mm, 252pt: 1 to 40 inches")
    return wanted, inches


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
    wanted, inches = checked(formats, width)
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


# ── tables ──────────────────────────────────────────────────────────────────────────────────────────────
_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "ε": r"$\varepsilon$", "δ": r"$\delta$", "×": r"$\times$",
    "∞": r"$\infty$", "⁺": r"$^{+}$", "ℓ": r"$\ell$", "²": r"$^{2}$", "₂": r"$_{2}$", "₁": r"$_{1}$",
})  # fmt: skip


class _TableRow(NamedTuple):
    """One algorithm of one run; the fields are the columns of the CSV."""

    run: str
    algorithm: str
    verdict: str
    epsilon_claimed: float | None = None
    epsilon_exact_lower: float | None = None
    epsilon_exact_estimate: float | None = None
    epsilon_exact_upper: float | None = None
    epsilon_audited: float | None = None
    delta: float | None = None
    confidence: float | None = None
    trials: int | None = None
    adjacency: str | None = None
    source: str | None = None


def export_tables(runs: Mapping[str, Results], folder: Path, source: str = RESULTS) -> list[str]:
    """Write `epsilons.csv` and `epsilons.tex` of runs, by name, to `folder`; their names are returned.

    The CSV has the numbers in full, "inf" for infinity, empty where there is none. The LaTeX table has three digits
    and needs booktabs.
    """
    rows = [_table_row(run, entry) for run, results in runs.items() for entry in results.algorithms]
    folder.mkdir(parents=True, exist_ok=True)
    with whole(folder / "epsilons.csv") as draft, draft.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([_TableRow._fields, *rows])
    several = len({row.run for row in rows}) > 1
    head = ["Run"] * several + [
        "Algorithm",
        *(rf"$\varepsilon$ {lane}" for lane in ("claimed", "exact", "audited")),
        r"$\delta$",
        "Verdict",
    ]
    lines = [
        f"% The three epsilons; numbers: {source}. Exact: estimate [lower, upper]. Needs booktabs.",
        r"\begin{tabular}{" + "l" * (1 + several) + "rrrrl}",
        r"\toprule",
        " & ".join(head) + r" \\",
        r"\midrule",
        *(" & ".join(_cells(row)[not several :]) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    write_text(folder / "epsilons.tex", "\n".join(lines))
    return ["epsilons.csv", "epsilons.tex"]


def _table_row(run: str, entry: AlgorithmResult) -> _TableRow:
    audit = entry.audit
    if not isinstance(audit, AuditResult):
        return _TableRow(run, entry.name, word(entry))
    interval, claim = audit.epsilon_exact, audit.claim
    estimate = interval.estimate if interval.known else None
    return _TableRow(
        run, entry.name, word(entry), audit.epsilon_claimed, interval.lower, estimate, interval.upper,
        audit.epsilon_audited, claim.delta, audit.confidence, audit.trials, claim.adjacency, claim.source,
    )  # fmt: skip


def _cells(row: _TableRow) -> list[str]:
    """The cells in LaTeX, the run first."""
    ends = row.epsilon_exact_lower, row.epsilon_exact_estimate, row.epsilon_exact_upper
    low, middle, high = map(_number, ends)
    interval = middle if low == high else f"{middle} [{low}, {high}]"
    if low != high and row.epsilon_exact_upper == math.inf:
        interval = f"$\\ge$ {low}"
    audited = _number(row.epsilon_audited)
    proven = audited if row.epsilon_audited is None else f"$\\ge$ {audited}"
    names = [text.translate(_LATEX) for text in (row.run, row.algorithm, row.verdict)]
    return [*names[:2], _number(row.epsilon_claimed), interval, proven, _number(row.delta), names[2]]


def _number(value: float | None) -> str:
    """Three digits in LaTeX."""
    if value is None or math.isnan(value):
        return "--"
    if math.isinf(value):
        return r"$\infty$"
    mantissa, _, exponent = f"{value:.3g}".partition("e")
    return rf"${mantissa} \times 10^{{{int(exponent)}}}$" if exponent else mantissa
