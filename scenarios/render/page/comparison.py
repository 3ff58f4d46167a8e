"""HTML page of a comparison of several runs."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scenarios.render.compared_runs import ABSENT, Ratio, Subject
from scenarios.render.comparison import CONFIDENCE, QUANTITIES, Against, Comparison, costs
from scenarios.render.former_sentences import headline, meanings, subject, terms
from scenarios.render.page.drawing import looks
from scenarios.render.page.epsilons import epsilons
from scenarios.render.page.report import NARROW, WIDE, charts, environment, progress
from scenarios.results.numbers import MISSING, count, exact, flow, number, numbers, part, show

LETTERS = 300
"""Of a value in the table of differences."""
COSTS = {
    "plf": "Θ",
    "messages": "Messages",
    "bytes": "Bytes on the air",
    "queries": "Queries",
    "time": "Virtual time, s",
}


def render_comparison(comparison: Comparison, path: Path) -> None:
    """Write the page of a comparison to `path`: one file, which loads nothing."""
    path.write_text(page(comparison), encoding="utf-8")


def page(comparison: Comparison) -> str:
    """The page as text; the same results give the same page."""
    ordered = [subject(dict(one.entry) | {"name": one.label}) for one in comparison.subjects]
    shown = list(zip(ordered, looks(ordered), strict=True))
    judged = [a for a in ordered if a["audit"].get("verdict")]
    drawn = charts(ordered, shown) | progress(ordered, shown)
    drawn["epsilons_wide"] = epsilons(judged, "wide", WIDE) if judged else None
    drawn["epsilons_narrow"] = epsilons(judged, "narrow", NARROW) if judged else None
    return (
        environment()
        .get_template("compare.html.j2")
        .render(
            title=title(comparison),
            runs=comparison.runs,
            commands=_commands(comparison),
            subjects=shown,
            headline=headline(ordered),
            terms=terms(ordered),
            meanings=meanings(ordered),
            listener="eavesdropper",
            cautions=comparison.cautions,
            verdicts=[verdict_row(one, a) for one, a in zip(comparison.subjects, ordered, strict=True)],
            run_rows=[(one.label, *run_cells(one)) for one in comparison.subjects],
            cost_names=list(COSTS.values()),
            differences=[(d.field, [_value(v) for v in d.values]) for d in comparison.differences],
            unrecorded=comparison.unrecorded,
            quantities=list(QUANTITIES.values()),
            against=[_row_against(one) for one in comparison.against],
            confidence=show(100 * CONFIDENCE),
            **drawn,
        )
    )


def title(comparison: Comparison) -> str:
    """What is compared, in a few words."""
    algorithms, runs = len(comparison.subjects), len(comparison.runs)
    if runs == 1:
        return f"{algorithms} algorithms of {comparison.runs[0].label}"
    return f"{runs} runs compared" if runs == algorithms else f"{runs} runs compared: {algorithms} algorithms"


# ── rows, for the page and for the terminal ─────────────────────────────────────────────────────────────
def verdict_row(one: Subject, told: Any) -> dict[str, str]:
    """The verdict of an algorithm and its three epsilons, in words."""
    audit = part(one.entry, "audit")
    audited = number(audit.get("epsilon_audited"))
    return {
        "label": one.label,
        "word": told["word"],
        "mark": told["mark"],
        "symbol": told["symbol"],
        "claimed": show(audit.get("epsilon_claimed"), 4),
        "exact": interval(audit.get("epsilon_exact")),
        "audited": MISSING if audited != audited else f"≥ {show(audited, 4)}",
        "delta": show(part(audit, "claim").get("delta")),
        "first": MISSING if audit.get("first_violation") is None else count(audit["first_violation"]),
    }


def interval(epsilon: Any) -> str:
    """ε exact with its ends."""
    if not epsilon:
        return MISSING
    low, high = show(epsilon.get("lower")), show(epsilon.get("upper"))
    told = exact(epsilon)
    return told if low == high or told.startswith("≥") else f"{told} [{low}, {high}]"


def run_cells(one: Subject) -> list[str]:
    """How far a run got, what the attack on gradients made of it, and what it cost."""
    convergence, inferred, spent = part(one.entry, "convergence"), part(one.entry, "gradients"), costs(one.entry)
    ends = [numbers(convergence.get(key))[-1:] for key in ("low", "high")]
    band = f" [{show(ends[0][0])}, {show(ends[1][0])}]" if all(ends) and convergence.get("replicas", 0) > 1 else ""
    got = f"{count(inferred.get('estimated'))} of {count(inferred.get('asked'))}" if "asked" in inferred else MISSING
    return [
        show(convergence.get("final")) + band,
        count(convergence.get("replicas")),
        got,
        show(inferred.get("median")),
        *(show(spent.get(key), 4) if key == "time" else count(spent.get(key)) for key in COSTS),
    ]


def times(found: Ratio | None, why: str = "") -> str:
    """A ratio with its interval, or why there is none."""
    if found is None:
        return f"{MISSING} ({why})" if why else MISSING
    low, high = show(found.low), show(found.high)
    ends = f" [{low}, {high}]" if found.low == found.low else " (too few replicas for an interval)"
    return f"{show(found.estimate)} ×{ends}"


def exact_words(one: Against) -> str:
    """Whether the exact ε is proven to be another one, and how sure that is; or why the two are not compared."""
    if one.exact is None:
        why = one.why.get("epsilon_exact", "")
        return f"{MISSING} ({why})" if why else MISSING
    if one.exact.side == 0:
        return "not told apart"
    which = "smaller" if one.exact.side < 0 else "larger"
    return f"{which}, proven at {show(100 * one.exact.confidence)} %"


def _row_against(one: Against) -> dict[str, Any]:
    ratios = [r for r in one.ratios.values() if r is not None]
    return {
        "other": one.other.label,
        "base": one.base.label,
        "exact": exact_words(one),
        "cells": [
            (times(r, one.why.get(name, "")), r is not None and r.told_apart) for name, r in one.ratios.items()
        ],
        "paired": "paired, replica by replica" if any(r.paired for r in ratios) else "not paired" if ratios else "–",
    }


def _value(value: Any) -> str:
    if value is ABSENT:
        return "not there"
    text = flow(value)
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"


def _commands(comparison: Comparison) -> tuple[str, list[tuple[str, str]]]:
    """What makes this page again, and what made each run."""
    places: Sequence[str] = [
        str(run.folder) if run.slugs is None else f"{run.folder}:{slug}"
        for run in comparison.runs
        for slug in (run.slugs or ("",))
    ]
    again = " ".join(["netsim compare", *map(shlex.quote, places)])
    return again, [(run.label, str(run.results.get("command") or "")) for run in comparison.runs]
