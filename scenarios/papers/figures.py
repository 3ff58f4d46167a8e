"""Figures that a scenario requests, as plain data, and what the run found of the paper's item."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from netsim.metrics.measures import Curve, Measures
from scenarios.papers import measures
from scenarios.papers.measures import COSTS, NAMES, REBUILT
from scenarios.papers.outcome import Ran, judge
from scenarios.results import former_curves as leaks
from scenarios.results import former_curves as points
from scenarios.results.former_curves import NotMeasuredError, curve, entry_of
from scenarios.results.loss_breakdown import VACUOUS
from scenarios.results.numbers import flow, number
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


def figures(
    specs: Sequence[FigureSpec], runs: Sequence[Ran], fields: Mapping[str, Mapping[str, Any]], level: float
) -> list[dict[str, Any]]:
    """Every figure's `curves` with `label`, `x`, `y`, `low`, `high`, its axes in words, and what is `absent`.

    A claimed ε above `level` is vacuous: curves of it say from where on (`vacuous_from`, None where it never is).
    """
    return [_figure(spec, runs, fields, level) for spec in specs]


def _figure(
    spec: FigureSpec, runs: Sequence[Ran], fields: Mapping[str, Mapping[str, Any]], level: float
) -> dict[str, Any]:
    chosen = [ran for ran in runs if not spec.variants or ran.variant in spec.variants]
    over_axis = spec.x in AXES or spec.x in LEAK_AXES
    curves, absent = _curves(spec, chosen) if over_axis else _points(spec, chosen, fields)
    curves = _merged(curves, len(chosen)) if over_axis else curves
    budgets = over_axis and spec.y == "epsilon_claimed"
    for one in curves if budgets else ():
        entry = next(ran.results for ran in chosen if ran.variant == one["variant"])
        start = measures.vacuous_from(entry_of(entry, one["algorithm"]), level)
        one["vacuous_from"] = start.low if start.known else None
    return {
        "title": spec.title,
        "x": spec.x_label or (WORDS.get(spec.x, spec.x) if over_axis else spec.x),
        "y": _words(spec, over_axis),
        "log": spec.log,
        "log_x": spec.log_x,
        "points": not over_axis or spec.x in LEAK_AXES[1:],
        "level": level if budgets else None,
        "curves": curves,
        "absent": list(dict.fromkeys(absent)),
    }


def _words(spec: FigureSpec, over_axis: bool) -> str:
    if spec.accuracy is not None:
        what = spec.y.removesuffix("_to")
        return f"{COSTS.get(what, what)} to an error of {spec.accuracy:g}"
    if spec.attack is not None:
        return f"{REBUILT[spec.y]} of {spec.attack}"
    if spec.y in LEAKS and over_axis:
        return leaks.WORDS[spec.y]
    return WORDS[spec.y] if over_axis or spec.y not in CURVES else f"final {WORDS[spec.y]}"


def _names(spec: FigureSpec, ran: Ran) -> list[str]:
    names = [] if ran.error is not None else [entry["name"] for entry in ran.results.get("algorithms", [])]
    return [name for name in names if not spec.algorithms or name in spec.algorithms]


def _curves(spec: FigureSpec, runs: Sequence[Ran]) -> tuple[list[dict[str, Any]], list[str]]:
    curves: list[dict[str, Any]] = []
    absent = [ran.why for ran in runs if ran.error is not None]
    read = leaks.leakage_curve if spec.x in LEAK_AXES else curve
    for ran in runs:
        for name in _names(spec, ran):
            try:
                points = read(entry_of(ran.results, name), spec.y, spec.x)
            except NotMeasuredError as why:
                absent.append(str(why))
                continue
            label = ", ".join([name] if len(runs) == 1 else filter(None, [name, ran.variant]))
            shown = {"label": label, "algorithm": name, "variant": ran.variant}
            curves.append(shown | {key: list(getattr(points, key)) for key in ("x", "y", "low", "high")})
    return curves, absent


def _merged(curves: Sequence[dict[str, Any]], variants: int) -> list[dict[str, Any]]:
    """One curve for variants that make no difference to an algorithm; without a variant's name if none does."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in curves:
        groups.setdefault(repr([one[key] for key in ("algorithm", "x", "y", "low", "high")]), []).append(one)
    return [_joined(group, len(group) == variants) for group in groups.values()] if variants > 1 else list(curves)


def _joined(group: Sequence[dict[str, Any]], everywhere: bool) -> dict[str, Any]:
    names = [one["variant"] for one in group if one["variant"]]
    return group[0] | {"label": ", ".join([group[0]["algorithm"], *([] if everywhere and len(names) > 1 else names)])}


def _points(
    spec: FigureSpec, runs: Sequence[Ran], fields: Mapping[str, Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[str]]:
    """A curve for each algorithm and each setting of the other fields; its points are variants in order of x."""
    found: dict[str, dict[str, Any]] = {}
    absent = [ran.why for ran in runs if ran.error is not None]
    settings = _settings(spec.x, [fields[ran.variant] for ran in runs if spec.x in fields[ran.variant]])
    for ran in runs:
        own = fields[ran.variant]
        if spec.x not in own:
            continue
        rest = ", ".join(f"{path.split('.')[-1]} {_short(value)}" for path, value in own.items() if path in settings)
        for name in _names(spec, ran):
            label = f"{name}, {rest}" if rest else name
            try:
                value = _number(spec, entry_of(ran.results, name))
            except NotMeasuredError as why:
                absent.append(f"{ran.variant}: {why}")
                continue
            one = found.setdefault(
                label, {"label": label, "algorithm": name, "variant": "", "x": [], "y": [], "low": [], "high": []}
            )
            for key, entry in (
                ("x", _short(own[spec.x])),
                ("y", value.high),
                ("low", value.low),
                ("high", value.high),
            ):
                one[key].append(entry)
    return [_sorted(one) for one in found.values()], absent


def _short(value: Any) -> Any:
    """What a field is set to, on an axis: of a mapping its kind or name."""
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, Any]", value)
        return mapping.get("kind") or mapping.get("name") or flow(mapping)
    return value


def _settings(x: str, owns: Sequence[Mapping[str, Any]]) -> set[str]:
    """The fields that tell lines apart: neither the same in all of these variants nor one-to-one with x."""

    def kinds(*paths: str) -> int:
        return len({repr([own.get(path) for path in paths]) for own in owns})

    found = {path for own in owns for path in own}
    return {path for path in found if kinds(path) > 1 and not kinds(path) == kinds(x) == kinds(path, x)}


def _sorted(one: dict[str, Any]) -> dict[str, Any]:
    order = sorted(range(len(one["x"])), key=lambda k: (number(one["x"][k]), str(one["x"][k])))
    return one | {key: [one[key][k] for k in order] for key in ("x", "y", "low", "high")}


def _number(spec: FigureSpec, entry: Mapping[str, Any]) -> measures.Found:
    return measures.measured(_as_check(spec), entry)


def _as_check(spec: FigureSpec) -> Quantity:
    """The measure of a figure as a check's; what it is compared with plays no part."""
    said: dict[str, Any] = {"says": "-", "of": "-", "above": 0.0, "measure": spec.y}
    if spec.accuracy is not None:
        return CostTo.model_validate(said | {"accuracy": spec.accuracy})
    if spec.attack is not None:
        return Rebuilt.model_validate(said | {"attack": spec.attack})
    models: dict[str, type[Quantity]] = {"epsilon_claimed": ClaimedAfter, "vacuous_from": VacuousFrom, "slope": Slope}
    if spec.y in CURVES and spec.y not in models:
        return Final.model_validate(said | {"measure": "final", "curve": spec.y})
    return models.get(spec.y, AtEnd).model_validate(said)


Results = dict[str, Any]
RELATIVE = "relative_error"


def requested_numbers(found: Measures, scenario: Scenario) -> Results:
    """`diverged`; and `to_accuracy`, `after` and `slopes`, each with an entry for each `curve` and bound asked for.

    What it takes to an accuracy lies from `low` to `high`, both with their `count` and costs, and the same where the
    curve is known at every round (or activation); `high` is null where the run ended above. A value or a slope that
    is not known exactly has no entry. Nothing at all where nothing is asked for.
    """
    checks = list(_checks(scenario))
    if not checks or not len(found.counts(RELATIVE)):
        return {}
    return _Requested(found).answers(checks)


class _Requested:
    """One run's numbers; quantiles of a curve are taken once."""

    def __init__(self, found: Measures) -> None:
        self.found, self.curves = found, {RELATIVE: found.curve(RELATIVE)}
        self.length = len(found.counts(RELATIVE))

    def answers(self, checks: list[Check]) -> Results:
        rows: dict[str, list[Results]] = {"to_accuracy": [], "after": [], "slopes": []}
        for check in checks:
            if not isinstance(check, CostTo | Growth | ErrorAfter | Slope) or check.curve not in self.found.names:
                continue
            try:
                kind, row = self.answer(check)
            except NotMeasuredError:  # whoever asks finds nothing, and says why
                continue
            rows[kind] += [] if row in rows[kind] else [row]
        return {"diverged": points.grew(self.curves[RELATIVE].median)} | rows

    def answer(self, check: CostTo | Growth | ErrorAfter | Slope) -> tuple[str, Results]:
        curve, row = self.curve(check.curve), {"curve": check.curve}
        at, error = curve.count, curve.median
        match check:
            case ErrorAfter():
                return "after", row | {"after": check.after, "median": points.value(at, error, check.after)}
            case Slope():
                window = {"start": check.start, "end": check.end, "floor": check.floor}
                found = points.slope(at, error, check.start, check.end, check.floor)
                return "slopes", row | window | {"slope": found}
            case _:
                low, high = points.ends(at, error, check.accuracy, self.length)
                return "to_accuracy", row | {
                    "accuracy": check.accuracy,
                    "low": asdict(self.found.reached(low)),
                    "high": None if high is None else asdict(self.found.reached(high)),
                }

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


Result = Mapping[str, Any]


def reproduced(
    scenario: Scenario, runs: Sequence[Ran], fields: Mapping[str, Mapping[str, Any]], finished: bool
) -> dict[str, Any]:
    """`reproduction` and `figures` of what ran; a key only where the scenario asks for it."""
    found: dict[str, Any] = {}
    if scenario.reproduces is not None:
        found["reproduction"] = judge(scenario.reproduces, runs, finished, fields)
    if scenario.figures:
        stated = scenario.reproduces.vacuous_above if scenario.reproduces is not None else None
        found["figures"] = figures(scenario.figures, runs, fields, stated or VACUOUS)
    return found
