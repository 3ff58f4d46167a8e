"""Figures that a scenario requests, as plain data, and what the run found of the paper's item."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from attacks.audit.verdict import VACUOUS_ABOVE
from netsim.metrics import Curve as MeasuredCurve
from netsim.metrics import Measures
from scenarios.files.document import setting
from scenarios.papers import measures
from scenarios.papers.measures import COSTS, GRAPH, NAMES, REBUILT, Fields, beside_graph, graph_size
from scenarios.papers.outcome import Ran, judge
from scenarios.results import curves as points
from scenarios.results.base import Setting
from scenarios.results.curves import Curve, NotMeasuredError, curve, entry_of, leakage_curve
from scenarios.results.reproduction import FigureCurve, FigureResult
from scenarios.results.run import ExactNumbers
from scenarios.results.tree import AlgorithmResult, Results
from scenarios.schema import Scenario, checks

RELATIVE = "relative_error"
OVER = (*checks.AXES, *checks.LEAK_AXES, checks.SEARCH)
"""Axes of curves."""
Noted = checks.CostTo | checks.Growth | checks.ErrorAfter | checks.Slope
"""Checks whose numbers a run notes exactly."""
WORDS = (
    NAMES
    | REBUILT
    | {name: name.replace("_", " ") for name in checks.CURVES}
    | {
        "epsilon_claimed": "claimed ε",
        "vacuous_from": "claimed ε is vacuous from",
        "slope": "decades of the error",
        "plf": "PLF: activations of one agent",
        "message_bytes": "bytes of messages",
        "time": "virtual seconds",
        "iterations": "iterations of the attack's search",
        "query": "queries of an agent, from 1",
        "degree": "neighbors of the agent",
        "hops": "hops from the agent to the nearest tap",
    }
)


def _figures(
    specs: Sequence[checks.FigureSpec], runs: Sequence[Ran], fields: Fields, level: float
) -> list[FigureResult]:
    """Every figure with its curves, its axes in words, and what is absent.

    A claimed ε above `level` is vacuous: curves of it say from where on (None where it never is).
    """
    found: list[FigureResult] = []
    for spec in specs:
        chosen = [ran for ran in runs if not spec.variants or ran.variant in spec.variants]
        absent = [ran.why for ran in chosen if ran.error is not None]
        over_axis = spec.x in OVER
        budgets = over_axis and spec.y == "epsilon_claimed"
        curves = _curves(spec, chosen, absent) if over_axis else _points(spec, chosen, fields, absent)
        if budgets:
            complete = {ran.variant: ran.complete for ran in chosen if ran.error is None and ran.results is not None}
            starts = (measures.vacuous_from(entry_of(complete[c.variant], c.algorithm), level) for c in curves)
            known = [int(start.low) if start.known else None for start in starts]
            curves = [replace(one, vacuous_from=start) for one, start in zip(curves, known, strict=True)]
        found.append(
            FigureResult(
                title=spec.title,
                x=spec.x_label or (WORDS.get(spec.x, spec.x) if over_axis else spec.x),
                y=_words(spec, over_axis),
                log=spec.log,
                log_x=spec.log_x,
                points=not over_axis or spec.x in checks.LEAK_AXES[1:],
                level=level if budgets else None,
                curves=tuple(curves),
                absent=tuple(dict.fromkeys(absent)),
            )
        )
    return found


def _words(spec: checks.FigureSpec, over_axis: bool) -> str:
    if spec.accuracy is not None:
        what = spec.y.removesuffix("_to")
        return f"{COSTS.get(what, what)} to an error of {spec.accuracy:g}"
    if spec.attack is not None:
        return f"{REBUILT[spec.y]} of {spec.attack}"
    if spec.y in checks.LEAKS and over_axis:
        return points.WORDS[spec.y]
    return WORDS[spec.y] if over_axis or spec.y not in checks.CURVES else f"final {WORDS[spec.y]}"


def _entries(spec: checks.FigureSpec, ran: Ran) -> list[AlgorithmResult]:
    entries = () if ran.error is not None or ran.results is None else ran.results.algorithms
    return [entry for entry in entries if not spec.algorithms or entry.name in spec.algorithms]


def _curves(spec: checks.FigureSpec, runs: Sequence[Ran], absent: list[str]) -> list[FigureCurve]:
    """One curve for variants that make no difference to an algorithm; without a variant's name if none does."""
    groups: dict[object, list[tuple[str, str, Curve]]] = {}
    for ran in runs:
        for entry in _entries(spec, ran):
            try:
                if spec.x == checks.SEARCH:
                    found = points.search_curve(entry, spec.attack or "")
                else:
                    found = (leakage_curve if spec.x in checks.LEAK_AXES else curve)(entry, spec.y, spec.x)
            except NotMeasuredError as why:
                absent.append(str(why))
                continue
            key = repr([entry.name, found.x, found.y, found.low, found.high])
            groups.setdefault(key if len(runs) > 1 else len(groups), []).append((entry.name, ran.variant, found))
    curves: list[FigureCurve] = []
    for group in groups.values():
        name, variant, found = group[0]
        names = [one for _, one, _ in group if one]
        everywhere = len(runs) == 1 or (len(group) == len(runs) and len(names) > 1)
        label = ", ".join([name, *([] if everywhere else names)])
        ends = {key: getattr(found, key) for key in ("x", "y", "low", "high")}
        curves.append(FigureCurve(label=label, algorithm=name, variant=variant, **ends))
    return curves


def _order(point: tuple[Setting, float, float]) -> tuple[float, str]:
    """Numbers by size, words by letters."""
    x = point[0]
    try:
        return float(cast("float", x)), str(x)
    except (TypeError, ValueError):
        return math.nan, str(x)


def _points(spec: checks.FigureSpec, runs: Sequence[Ran], fields: Fields, absent: list[str]) -> list[FigureCurve]:
    """A curve for each algorithm and each setting of the other fields; its points are variants in order of x."""
    lines: dict[tuple[str, str], list[tuple[Setting, float, float]]] = {}
    if spec.x in GRAPH:
        sizes = {ran.variant: _size(spec.x, ran) for ran in runs}
        fields = {v: beside_graph(own) | {spec.x: sizes.get(v)} for v, own in fields.items() if sizes.get(v)}
        runs = [ran for ran in runs if ran.variant in fields]
    settings = _settings(spec.x, [fields[ran.variant] for ran in runs if spec.x in fields[ran.variant]])
    for ran in runs:
        own = fields[ran.variant]
        if spec.x not in own:
            continue
        rest = ", ".join(f"{path.split('.')[-1]} {_short(value)}" for path, value in own.items() if path in settings)
        for entry in _entries(spec, ran):
            try:
                value = measures.measured(_as_check(spec), entry)
            except NotMeasuredError as why:
                absent.append(f"{ran.variant}: {why}")
                continue
            label = f"{entry.name}, {rest}" if rest else entry.name
            lines.setdefault((label, entry.name), []).append((_short(own[spec.x]), value.low, value.high))
    curves: list[FigureCurve] = []
    for (label, name), line in lines.items():
        x, low, high = zip(*sorted(line, key=_order), strict=True)
        curves.append(FigureCurve(label=label, algorithm=name, variant="", x=x, y=high, low=low, high=high))
    return curves


def _size(x: str, ran: Ran) -> float | None:
    network = None if ran.error is not None or ran.results is None else ran.results.network
    return None if network is None else graph_size(x, len(network.positions), network.edges)


def _short(value: Setting) -> Setting:
    """A field's value on an axis: of a mapping its kind or name."""
    if isinstance(value, dict):
        return value.get("kind") or value.get("name") or setting(value)
    return value


def _settings(x: str, owns: Sequence[Mapping[str, Setting]]) -> set[str]:
    """The fields that tell lines apart: neither the same in all of these variants nor one-to-one with x."""

    def several(*paths: str) -> int:
        return len({repr([own.get(path) for path in paths]) for own in owns})

    found = {path for own in owns for path in own}
    return {path for path in found if several(path) > 1 and not several(path) == several(x) == several(path, x)}


def _as_check(spec: checks.FigureSpec) -> checks.Quantity:
    """The measure of a figure as a check's; its relation to other numbers plays no part."""
    stated: dict[str, object] = {"says": "-", "of": "-", "above": 0.0, "measure": spec.y}
    if spec.accuracy is not None:
        return checks.CostTo.model_validate(stated | {"accuracy": spec.accuracy})
    if spec.attack is not None:
        return checks.Rebuilt.model_validate(stated | {"attack": spec.attack})
    models: dict[str, type[checks.Quantity]] = {
        "epsilon_claimed": checks.ClaimedAfter,
        "vacuous_from": checks.VacuousFrom,
        "slope": checks.Slope,
    }
    if spec.y in checks.CURVES and spec.y not in models:
        return checks.Final.model_validate(stated | {"measure": "final", "curve": spec.y})
    return models.get(spec.y, checks.AtEnd).model_validate(stated)


def exact_numbers(found: Measures, scenario: Scenario) -> ExactNumbers | None:
    """The numbers of one run that the scenario's checks and figures need; None where they need none.

    A value or a slope that is not known exactly has no entry. Quantiles of a curve are taken once.
    """
    quantities: list[checks.Check] = [] if scenario.reproduces is None else [*scenario.reproduces.checks]
    quantities += [_as_check(figure) for figure in scenario.figures if figure.x not in OVER]
    length = len(found.counts(RELATIVE))
    if not quantities or not length:
        return None
    curves = {RELATIVE: found.curve(RELATIVE)}
    rows: list[ExactNumbers.ExactToAccuracy | ExactNumbers.ValueAfter | ExactNumbers.SlopeOf] = []
    for check in quantities:
        if not isinstance(check, Noted) or check.curve not in found.names:
            continue
        if check.curve not in curves:
            curves[check.curve] = found.curve(check.curve)
        try:
            row = _number(check, found, curves[check.curve], length)
        except NotMeasuredError:  # the check finds nothing, and says why
            continue
        rows += [] if row in rows else [row]
    return ExactNumbers(
        diverged=points.grew(curves[RELATIVE].median),
        to_accuracy=tuple(row for row in rows if isinstance(row, ExactNumbers.ExactToAccuracy)),
        after=tuple(row for row in rows if isinstance(row, ExactNumbers.ValueAfter)),
        slopes=tuple(row for row in rows if isinstance(row, ExactNumbers.SlopeOf)),
    )


def _number(
    check: Noted, found: Measures, curve: MeasuredCurve, length: int
) -> ExactNumbers.ExactToAccuracy | ExactNumbers.ValueAfter | ExactNumbers.SlopeOf:
    at, error, name = curve.count, curve.median, check.curve
    match check:
        case checks.ErrorAfter(after=after):
            return ExactNumbers.ValueAfter(curve=name, after=after, median=points.value(at, error, after))
        case checks.Slope(start=start, end=end, floor=floor):
            slope = points.slope(at, error, start, end, floor)
            return ExactNumbers.SlopeOf(curve=name, start=start, end=end, floor=floor, slope=slope)
        case _:
            low, high = points.ends(at, error, check.accuracy, length)
            ends = found.reached(low), None if high is None else found.reached(high)
            return ExactNumbers.ExactToAccuracy(curve=name, accuracy=check.accuracy, low=ends[0], high=ends[1])


def reproduced(results: Results, runs: Sequence[Ran], fields: Fields, finished: bool) -> Results:
    """Results with the reproduction and the figures of what ran, where the scenario has any."""
    scenario = results.scenario
    if (item := scenario.reproduces) is not None:
        results = replace(results, reproduction=judge(item, runs, finished, fields))
    if scenario.figures:
        level = (None if item is None else item.vacuous_above) or VACUOUS_ABOVE
        results = replace(results, figures=tuple(_figures(scenario.figures, runs, fields, level)))
    return results
