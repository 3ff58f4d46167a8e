"""The table of the three epsilons for a paper: LaTeX and CSV."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scenarios.places import RESULTS
from scenarios.report.formats import items, number, part
from scenarios.report.words import word

Result = Mapping[str, Any]
COLUMNS = (
    "run", "algorithm", "verdict", "epsilon_claimed", "epsilon_exact_lower", "epsilon_exact_estimate",
    "epsilon_exact_upper", "epsilon_audited", "delta", "confidence", "trials", "adjacency", "source",
)  # fmt: skip
_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "ε": r"$\varepsilon$", "δ": r"$\delta$", "×": r"$\times$",
    "∞": r"$\infty$", "⁺": r"$^{+}$", "ℓ": r"$\ell$", "²": r"$^{2}$", "₂": r"$_{2}$", "₁": r"$_{1}$",
})  # fmt: skip


def export_tables(runs: Mapping[str, Result], folder: Path, source: str = RESULTS) -> list[str]:
    """Write `epsilons.csv` and `epsilons.tex` of runs (by name; results as results.json has them) to `folder`.

    The CSV has the numbers in full, "inf" for infinity, empty where there is none. The LaTeX table has three digits
    and needs booktabs. Their names are returned.
    """
    rows = epsilon_rows(runs)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "epsilons.csv").write_text(as_csv(rows), encoding="utf-8")
    (folder / "epsilons.tex").write_text(as_latex(rows, source), encoding="utf-8")
    return ["epsilons.csv", "epsilons.tex"]


def epsilon_rows(runs: Mapping[str, Result]) -> list[dict[str, Any]]:
    """A row for each algorithm of each run, with a value or None for each of `COLUMNS`."""
    return [_row(run, entry) for run, results in runs.items() for entry in items(results, "algorithms")]


def _row(run: str, entry: Result) -> dict[str, Any]:
    audit = part(entry, "audit")
    claim, measured = part(audit, "claim"), part(audit, "epsilon_exact")
    values = (
        run, entry.get("name"), word(entry), audit.get("epsilon_claimed"), measured.get("lower"),
        measured.get("estimate"), measured.get("upper"), audit.get("epsilon_audited"), claim.get("delta"),
        audit.get("confidence"), audit.get("trials"), claim.get("adjacency"), claim.get("source"),
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as CSV with a header."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list[str](COLUMNS), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: "" if value is None else value for key, value in row.items()} for row in rows)
    return stream.getvalue()


def as_latex(rows: Sequence[Mapping[str, Any]], source: str) -> str:
    """The rows as a LaTeX tabular (booktabs), with the run where there are several."""
    several = len({row["run"] for row in rows}) > 1
    head = (["Run"] if several else []) + ["Algorithm", r"$\varepsilon$ claimed", r"$\varepsilon$ exact"]
    head += [r"$\varepsilon$ audited", r"$\delta$", "Verdict"]
    lines = [
        f"% The three epsilons; numbers: {source}. Exact: estimate [lower, upper]. Needs booktabs.",
        r"\begin{tabular}{" + "l" * (1 + several) + "rrrrl}",
        r"\toprule",
        " & ".join(head) + r" \\",
        r"\midrule",
        *(" & ".join(_cells(row, several)) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _cells(row: Mapping[str, Any], several: bool) -> list[str]:
    audited = _number(row["epsilon_audited"])
    return [
        *([_text(row["run"])] if several else []),
        _text(row["algorithm"]),
        _number(row["epsilon_claimed"]),
        _interval(*(row[f"epsilon_exact_{end}"] for end in ("lower", "estimate", "upper"))),
        audited if audited == "--" else f"$\\ge$ {audited}",
        _number(row["delta"]),
        _text(row["verdict"]),
    ]


def _interval(lower: Any, estimate: Any, upper: Any) -> str:
    low, middle, high = (_number(value) for value in (lower, estimate, upper))
    if low == high:
        return middle
    return f"$\\ge$ {low}" if math.isinf(number(upper)) else f"{middle} [{low}, {high}]"


def _number(value: Any) -> str:
    """Three digits in LaTeX."""
    x = number(value)
    if math.isnan(x):
        return "--"
    if math.isinf(x):
        return r"$\infty$"
    digits = f"{x:.3g}"
    if "e" not in digits:
        return digits
    mantissa, exponent = digits.split("e")
    return rf"${mantissa} \times 10^{{{int(exponent)}}}$"


def _text(value: Any) -> str:
    return str(value or "").translate(_LATEX)
