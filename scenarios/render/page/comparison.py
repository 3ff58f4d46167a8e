"""HTML page of a comparison of several runs, and its rows, which the terminal prints too."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scenarios.render.compared_runs import ABSENT, Subject
from scenarios.render.comparison import CONFIDENCE, QUANTITIES, Against, Comparison
from scenarios.render.page.drawing import looks
from scenarios.render.page.epsilons import epsilons
from scenarios.render.page.report import environment, progress
from scenarios.render.sentences import Finding, headline, meanings, terms
from scenarios.results.attacks import GradientResult
from scenarios.results.audit import AuditResult, EpsilonExact
from scenarios.results.compare import Ratio
from scenarios.results.numbers import MISSING, at_least, count, exact, setting, show, with_ends
from scenarios.results.tree import AlgorithmResult

_LETTERS = 300
"""Of a value in the table of differences."""
_COSTS = {"plf": "Θ", "messages": "Messages", "bytes": "Bytes on the air", "queries": "Queries"}
_HEADS = ("Algorithm", "Final relative error [5 %, 95 %]", "Replicas", "Gradients inferred", "Median error")


def render_comparison(comparison: Comparison, path: Path) -> None:
    """Write the page of a comparison to `path`: one file, which loads nothing."""
    path.write_text(page(comparison), encoding="utf-8")


def page(comparison: Comparison) -> str:
    """The page as text; the same results give the same page."""
    ordered = [Finding(replace(typed(one), name=one.label)) for one in comparison.subjects]
    shown = list(zip(ordered, looks(ordered), strict=True))
    again, commands = _commands(comparison)
    name = _title(comparison)
    return environment().get_template("compare.html.j2").render(
        title=name,
        first="verdicts",
        series=len(shown),
        runs=comparison.runs,
        again=again,
        commands=commands,
        headline=headline(ordered),
        epsilons=epsilons([(one.entry.name, one.entry) for one in ordered], terms(ordered)),
        meanings=meanings(ordered),
        cautions=comparison.cautions,
        verdicts=[(verdict_row(one), found) for one, found in zip(comparison.subjects, ordered, strict=True)],
        differences=[(d.field, [_value(v) for v in d.values]) for d in comparison.differences],
        unrecorded=comparison.unrecorded,
        quantities=list(QUANTITIES.values()),
        against=[_row_against(one) for one in comparison.against],
        confidence=show(100 * CONFIDENCE),
        curves_title="The runs and the attacks",
        run_title="How they end, and what they cost",
        run_rows=[(*_HEADS, *_COSTS.values(), "Virtual time, s"),
                  *((one.label, *run_cells(one)) for one in comparison.subjects)],
        summaries={},
        **progress(shown, "eavesdropper"),
    )  # fmt: skip


def _title(comparison: Comparison) -> str:
    algorithms, runs = len(comparison.subjects), len(comparison.runs)
    if runs == 1:
        return f"{algorithms} algorithms of {comparison.runs[0].label}"
    return f"{runs} runs compared" if runs == algorithms else f"{runs} runs compared: {algorithms} algorithms"


def typed(one: Subject) -> AlgorithmResult:
    """An algorithm of a comparison as the tree has it."""
    return one.entry


# ── rows, for the page and for the terminal ─────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class _VerdictRow:
    """The three epsilons of an algorithm."""

    label: str
    claimed: str = MISSING
    exact: str = MISSING
    audited: str = MISSING
    delta: str = MISSING
    first: str = MISSING


def verdict_row(one: Subject) -> _VerdictRow:
    """The three epsilons of an algorithm; dashes without an audit."""
    audit = typed(one).audit
    if not isinstance(audit, AuditResult):
        return _VerdictRow(one.label)
    return _VerdictRow(
        one.label, show(audit.epsilon_claimed, 4), _interval(audit.epsilon_exact), at_least(audit.epsilon_audited, 4),
        show(audit.claim.delta), count(audit.first_violation),
    )  # fmt: skip


def _interval(epsilon: EpsilonExact) -> str:
    low, high, middle = show(epsilon.lower), show(epsilon.upper), exact(epsilon)
    return middle if low == high or middle.startswith("≥") else f"{middle} [{low}, {high}]"


def run_cells(one: Subject) -> list[str]:
    """The end of a run, the gradients inferred, and the costs."""
    entry = typed(one)
    curve, inferred = entry.convergence, entry.gradients
    final = show(curve and curve.final)
    if curve and curve.final is not None and curve.replicas > 1 and curve.low and curve.high:
        final = with_ends(curve.final, curve.low[-1], curve.high[-1])
    got, median = MISSING, MISSING
    if isinstance(inferred, GradientResult):
        got, median = f"{count(inferred.estimated)} of {count(inferred.queries)}", show(inferred.median)
    spent: list[Sequence[int]] = [getattr(entry.measures.costs, key) if entry.measures else () for key in _COSTS]
    costs = [count(one[-1] if one else None) for one in spent]
    return [final, count(curve and curve.replicas), got, median, *costs, show(entry.run and entry.run.time, 4)]


def times(found: Ratio | None, why: str = "") -> str:
    """A ratio with its interval, or why there is none."""
    if found is None:
        return f"{MISSING} ({why})" if why else MISSING
    ends = f" [{show(found.low)}, {show(found.high)}]"
    return f"{show(found.estimate)} ×{ends if found.low == found.low else ' (too few replicas for an interval)'}"


def exact_words(one: Against) -> str:
    """Whether the exact ε is proven to be another one, and how sure that is; or why the two are not compared."""
    if one.exact is None:
        why = one.why.get("epsilon_exact", "")
        return f"{MISSING} ({why})" if why else MISSING
    if one.exact.side == 0:
        return "no proven difference"
    which = "smaller" if one.exact.side < 0 else "larger"
    return f"{which}, proven at {show(100 * one.exact.confidence)} %"


@dataclass(frozen=True)
class _AgainstRow:
    """One algorithm against its base: cells, each with whether it differs with confidence."""

    other: str
    base: str
    cells: tuple[tuple[str, bool], ...]
    replicas: str
    exact: str


def _row_against(one: Against) -> _AgainstRow:
    ratios = [r for r in one.ratios.values() if r is not None]
    paired = "paired, replica by replica" if any(r.paired for r in ratios) else "not paired" if ratios else MISSING
    cells = tuple((times(r, one.why.get(name, "")), r is not None and r.told_apart) for name, r in one.ratios.items())
    return _AgainstRow(one.other.label, one.base.label, cells, paired, exact_words(one))


def _value(value: object) -> str:
    if value is ABSENT:
        return "absent"
    text = setting(value)
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"


def _commands(comparison: Comparison) -> tuple[str, list[tuple[str, str]]]:
    """The command that makes this page again, and those that made each run."""
    places = [
        str(run.folder) if run.slugs is None else f"{run.folder}:{slug}"
        for run in comparison.runs for slug in (run.slugs or ("",))
    ]  # fmt: skip
    made = [(run.label, run.results.command) for run in comparison.runs]
    return " ".join(["netsim compare", *map(shlex.quote, places)]), made
