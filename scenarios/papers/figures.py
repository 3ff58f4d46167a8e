"""Figures that a scenario requests, as plain data, and what the run found of the paper's item."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from netsim.metrics import Curve, Measures
from scenarios.papers import measures
from scenarios.papers.measures import COSTS, NAMES, REBUILT, Fields
from scenarios.papers.outcome import Ran, judge
from scenarios.results import curves as points
from scenarios.results.base import Setting
from scenarios.results.curves import NotMeasuredError, curve, entry_of, leakage_curve
from scenarios.results.numbers import setting
from scenarios.results.over_time import VACUOUS
from scenarios.results.run import ExactNumbers, ExactToAccuracy, SlopeOf, ValueAfter
from scenarios.results.tree import AlgorithmResult, FigureCurve, FigureResult, Results
from scenarios.schema import Scenario
from scenarios.schema.checks import (
    AXES,
    CURVES,
    LEAK_AXES,
    LEAKS,
    AtEnd,
    Check,
    ClaimedAfter,
    CostTo,
    ErrorAfter,
    FigureSpec,
    Final,
    Growth,
    Quantity,
    Rebuilt,
    Slope,
    VacuousFrom,
)

WORDS = (
    NAMES
    | REBUILT
    | {name: name.replace("_", " ") for name in CURVES}
    | {
        "epsilon_claimed": "claimed ε",
        "vacuous_from": "claimed ε is vacuous from",
        "slope": "decades of the error",
        "plf": "PLF: activations of one agent",
        "message_bytes": "bytes of messages",
        "time": "virtual seconds",
        "query": "queries of an agent, from 1",
        "degree": "neighbors of the agent",
        "hops": "hops from the agent to the nearest tap",
    }
)


def figures(specs: Sequence[FigureSpec], runs: Sequence[Ran], fields: Fields, level: float) -> list[FigureResult]:
    """Every figure with its curves, its axes in words, and what is absent.

    A claimed ε above `level` is vacuous: curves of it say from where on (None where it never is).
    """
    return [_figure(spec, runs, fields, level) for spec in specs]


def _figure(spec: FigureSpec, runs: Sequence[Ran], fields: Fields, level: float) -> FigureResult:
    chosen = [ran for ran in runs if not spec.variants or ran.variant in spec.variants]
    over_axis = spec.x in AXES or spec.x in LEAK_AXES
    curves, absent = _curves(spec, chosen) if over_axis else _points(spec, chosen, fields)
    curves = _merged(curves, len(chosen)) if over_axis else curves
    budgets = over_axis and spec.y == "epsilon_claimed"
    if budgets:
        curves = [replace(one, vacuous_from=_vacuous_from(one, chosen, level)) for one in curves]
    return FigureResult(
        title=spec.title,
        x=spec.x_label or (WORDS.get(spec.x, spec.x) if over_axis else spec.x),
        y=_words(spec, over_axis),
        log=spec.log,
        log_x=spec.log_x,
        points=not over_axis or spec.x in LEAK_AXES[1:],
        level=level if budgets else None,
        curves=tuple(curves),
        absent=tuple(dict.fromkeys(absent)),
    )


def _vacuous_from(one: FigureCurve, runs: Sequence[Ran], level: float) -> int | None:
    ran = next(ran for ran in runs if ran.variant == one.variant)
    start = measures.vacuous_from(entry_of(ran.complete, one.algorithm), level)
    return int(start.low) if start.known else None


def _words(spec: FigureSpec, over_axis: bool) -> str:
    if spec.accuracy is not None:
        what = spec.y.removesuffix("_to")
        return f"{COSTS.get(what, what)} to an error of {spec.accuracy:g}"
    if spec.attack is not None:
        return f"{REBUILT[spec.y]} of {spec.attack}"
    if spec.y in LEAKS and over_axis:
        return points.WORDS[spec.y]
    return WORDS[spec.y] if over_axis or spec.y not in CURVES else f"final {WORDS[spec.y]}"


def _entries(spec: FigureSpec, ran: Ran) -> list[AlgorithmResult]:
    entries = () if ran.error is not None or ran.results is None else ran.results.algorithms
    return [entry for entry in entries if not spec.algorithms or entry.name in spec.algorithms]


def _curves(spec: FigureSpec, runs: Sequence[Ran]) -> tuple[list[FigureCurve], list[str]]:
    curves: list[FigureCurve] = []
    absent = [ran.why for ran in runs if ran.error is not None]
    read = leakage_curve if spec.x in LEAK_AXES else curve
    for ran in runs:
        for entry in _entries(spec, ran):
            try:
                found = read(entry, spec.y, spec.x)
            except NotMeasuredError as why:
                absent.append(str(why))
                continue
            label = ", ".join([entry.name] if len(runs) == 1 else filter(None, [entry.name, ran.variant]))
            curves.append(
                FigureCurve(
                    label=label,
                    algorithm=entry.name,
                    variant=ran.variant,
                    x=found.x,
                    y=found.y,
                    low=found.low,
                    high=found.high,
                )
            )
    return curves, absent


def _merged(curves: Sequence[FigureCurve], variants: int) -> list[FigureCurve]:
    """One curve for variants that make no difference to an algorithm; without a variant's name if none does."""
    if variants < 2:
        return list(curves)
    groups: dict[object, list[FigureCurve]] = {}
    for one in curves:
        groups.setdefault(repr([one.algorithm, one.x, one.y, one.low, one.high]), []).append(one)
    return [_joined(group, len(group) == variants) for group in groups.values()]


def _joined(group: Sequence[FigureCurve], everywhere: bool) -> FigureCurve:
    names = [one.variant for one in group if one.variant]
    label = ", ".join([group[0].algorithm, *([] if everywhere and len(names) > 1 else names)])
    return replace(group[0], label=label)


@dataclass
class _Line:
    """Points of an algorithm in variants, in any order: x, and the low and the high end of y."""

    algorithm: str
    points: list[tuple[Setting, float, float]] = field(default_factory=list[tuple[Setting, float, float]])

    def curve(self, label: str) -> FigureCurve:
        ordered = sorted(self.points, key=lambda point: _order(point[0]))
        high = tuple(high for _, _, high in ordered)
        return FigureCurve(
            label=label,
            algorithm=self.algorithm,
            variant="",
            x=tuple(x for x, _, _ in ordered),
            y=high,
            low=tuple(low for _, low, _ in ordered),
            high=high,
        )


def _order(x: Setting) -> tuple[float, str]:
    try:
        return float(cast("float", x)), str(x)
    except (TypeError, ValueError):
        return math.nan, str(x)


def _points(spec: FigureSpec, runs: Sequence[Ran], fields: Fields) -> tuple[list[FigureCurve], list[str]]:
    """A curve for each algorithm and each setting of the other fields; its points are variants in order of x."""
    found: dict[str, _Line] = {}
    absent = [ran.why for ran in runs if ran.error is not None]
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
            line = found.setdefault(f"{entry.name}, {rest}" if rest else entry.name, _Line(entry.name))
            line.points.append((_short(own[spec.x]), value.low, value.high))
    return [line.curve(label) for label, line in found.items()], absent


def _short(value: Setting) -> Setting:
    """A field's value on an axis: of a mapping its kind or name."""
    if isinstance(value, dict):
        return value.get("kind") or value.get("name") or setting(value)
    return value


def _settings(x: str, owns: Sequence[Mapping[str, Setting]]) -> set[str]:
    """The fields that tell lines apart: neither the same in all of these variants nor one-to-one with x."""

    def kinds(*paths: str) -> int:
        return len({repr([own.get(path) for path in paths]) for own in owns})

    found = {path for own in owns for path in own}
    return {path for path in found if kinds(path) > 1 and not kinds(path) == kinds(x) == kinds(path, x)}


def _as_check(spec: FigureSpec) -> Quantity:
    """The measure of a figure as a check's; its relation to other numbers plays no part."""
    stated: dict[str, object] = {"says": "-", "of": "-", "above": 0.0, "measure": spec.y}
    if spec.accuracy is not None:
        return CostTo.model_validate(stated | {"accuracy": spec.accuracy})
    if spec.attack is not None:
        return Rebuilt.model_validate(stated | {"attack": spec.attack})
    models: dict[str, type[Quantity]] = {"epsilon_claimed": ClaimedAfter, "vacuous_from": VacuousFrom, "slope": Slope}
    if spec.y in CURVES and spec.y not in models:
        return Final.model_validate(stated | {"measure": "final", "curve": spec.y})
    return models.get(spec.y, AtEnd).model_validate(stated)


RELATIVE = "relative_error"


def exact_numbers(found: Measures, scenario: Scenario) -> ExactNumbers | None:
    """The numbers of one run that the scenario's checks and figures need; None where they need none.

    A value or a slope that is not known exactly has no entry.
    """
    checks = list(_checks(scenario))
    if not checks or not len(found.counts(RELATIVE)):
        return None
    return _Exact(found).numbers(checks)


class _Exact:
    """One run's numbers; quantiles of a curve are taken once."""

    def __init__(self, found: Measures) -> None:
        self.found, self.curves = found, {RELATIVE: found.curve(RELATIVE)}
        self.length = len(found.counts(RELATIVE))

    def numbers(self, checks: list[Check]) -> ExactNumbers:
        rows: list[ExactToAccuracy | ValueAfter | SlopeOf] = []
        for check in checks:
            if not isinstance(check, CostTo | Growth | ErrorAfter | Slope) or check.curve not in self.found.names:
                continue
            try:
                row = self.number(check)
            except NotMeasuredError:  # the check finds nothing, and says why
                continue
            rows += [] if row in rows else [row]
        return ExactNumbers(
            diverged=points.grew(self.curves[RELATIVE].median),
            to_accuracy=tuple(row for row in rows if isinstance(row, ExactToAccuracy)),
            after=tuple(row for row in rows if isinstance(row, ValueAfter)),
            slopes=tuple(row for row in rows if isinstance(row, SlopeOf)),
        )

    def number(self, check: CostTo | Growth | ErrorAfter | Slope) -> ExactToAccuracy | ValueAfter | SlopeOf:
        curve = self.curve(check.curve)
        at, error = curve.count, curve.median
        match check:
            case ErrorAfter(after=after):
                return ValueAfter(curve=check.curve, after=after, median=points.value(at, error, after))
            case Slope(start=start, end=end, floor=floor):
                slope = points.slope(at, error, start, end, floor)
                return SlopeOf(curve=check.curve, start=start, end=end, floor=floor, slope=slope)
            case _:
                low, high = points.ends(at, error, check.accuracy, self.length)
                return ExactToAccuracy(
                    curve=check.curve,
                    accuracy=check.accuracy,
                    low=self.found.reached(low),
                    high=None if high is None else self.found.reached(high),
                )

    def curve(self, name: str) -> Curve:
        if name not in self.curves:
            self.curves[name] = self.found.curve(name)
        return self.curves[name]


def _checks(scenario: Scenario) -> Iterator[Check]:
    """All checks, and the numbers of figures as though they were checked."""
    if scenario.reproduces is not None:
        yield from scenario.reproduces.checks
    for figure in scenario.figures:
        if figure.x not in (*AXES, *LEAK_AXES):
            yield _as_check(figure)


def reproduced(results: Results, runs: Sequence[Ran], fields: Fields, finished: bool) -> Results:
    """Results with the reproduction and the figures of what ran, where the scenario has any."""
    scenario = results.scenario
    if (item := scenario.reproduces) is not None:
        results = replace(results, reproduction=judge(item, runs, finished, fields))
    if scenario.figures:
        level = (None if item is None else item.vacuous_above) or VACUOUS
        results = replace(results, figures=tuple(figures(scenario.figures, runs, fields, level)))
    return results
