"""A page for papers: its figures as SVG, PNG and PDF at print size, a caption each; the three epsilons as LaTeX and
CSV tables."""

import csv
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from netsim.errors import ScenarioError, did_you_mean, meant
from scenarios.build.duration import Progress, Silent
from scenarios.files.folders import RESULTS, whole
from scenarios.render.page.drawing import Chart
from scenarios.render.page.printed import FORMATS, printed
from scenarios.render.sentences import word
from scenarios.results.audit import AuditResult
from scenarios.results.base import write_text
from scenarios.results.tree import AlgorithmResult, Results

_UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27, "": 1.0}
"""Inches of each."""


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
    wanted = list(dict.fromkeys(one for kind in formats if (one := kind.strip().lower()))) or list(FORMATS[:2])
    for one in wanted:
        if one not in FORMATS:
            raise ScenarioError("--format", one, f"no format of a figure{meant(one, FORMATS)}", ", ".join(FORMATS))
    given = re.fullmatch(rf"\s*(\d+\.?\d*|\.\d+)\s*({'|'.join(_UNITS)})\s*", str(width))
    inches = float(given[1]) * _UNITS[given[2]] if given else 0.0
    if not 1 <= inches <= 40:
        alone = float(given[1]) if given and not given[2] else 0.0
        units = [f"{width}{unit}" for unit, of in _UNITS.items() if 1 <= alone * of <= 12]
        why = f"no width of a figure{did_you_mean(units[:2])}"
        raise ScenarioError("--width", width, why, "such as 3.5in, 89mm, 252pt, or 3.5 for inches: 1 to 40 inches")
    return wanted, inches


def export_figures(
    charts: Sequence[Chart],
    folder: Path,
    *,
    formats: Sequence[str] = FORMATS[:2],
    dpi: int = 300,
    width: str | float = "3.5in",
    source: str = RESULTS,
    progress: Progress | None = None,
) -> list[_Exported]:
    """Figures of a page (`report.figures` of a run, `sweep.figures`) as files in `folder`.

    `width` is in inches, or a text with its unit (in, cm, mm, pt); heights keep the page's proportions. `dpi` is of
    PNG. Beside the figures, `figures.json` has of each its title, caption, what it says in words, and its source.

    You get a `ScenarioError` for a format, a width or a resolution that cannot be; and for a width that there are
    figures which have no room in, after all others are written.
    """
    wanted, inches = checked(formats, width)
    if not 30 <= dpi <= 2400:
        raise ScenarioError("--dpi", dpi, "no resolution of a figure", "30 … 2400")
    shown = progress or Silent()
    folder.mkdir(parents=True, exist_ok=True)
    shown.begin("figures", len(charts))
    exported: list[_Exported] = []
    missing, cramped = set[str](), list[str]()
    for number, one in enumerate(charts, start=1):
        plain = re.sub(r"[^a-z0-9]+", "-", one.title.lower()).strip("-")
        name = f"{number:02d}-{plain[:60].rstrip('-') or one.drawing.name}"
        files = [folder / f"{name}.{kind}" for kind in wanted]
        drawing = one.at(inches)
        shown.advance(1)
        try:
            missing |= printed(drawing.figure, one.key, drawing.words, files, dpi, inches, one.narrow is not None)
        except ScenarioError:
            cramped.append(f"“{one.title}”")
            continue
        caption = " ".join(one.caption)
        write_text(folder / f"{name}.txt", f"{one.title}. {caption}\n\nNumbers: {source}.")
        labels = [entry.label for entry in one.key]
        exported.append(
            _Exported(name, one.title, caption, drawing.words, labels, source, [file.name for file in files])
        )
    if missing:
        shown.say(f"The font of PDF and PNG figures has no {''.join(sorted(missing))}; SVG figures show it.")
    text = json.dumps([asdict(one) for one in exported], indent=1, ensure_ascii=False)
    write_text(folder / "figures.json", text)
    if cramped:
        why = f"too narrow for the axes and words of {', '.join(cramped)}; all other figures are written"
        raise ScenarioError("--width", width, why, "wider, such as 3.5in")
    return exported


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

    The CSV has the numbers in full, "inf" for infinity, empty where there is none. The LaTeX table has four digits
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
    """Four digits in LaTeX."""
    if value is None or math.isnan(value):
        return "--"
    if math.isinf(value):
        return r"$\infty$"
    mantissa, _, exponent = f"{value:.4g}".partition("e")
    return rf"${mantissa} \times 10^{{{int(exponent)}}}$" if exponent else mantissa
