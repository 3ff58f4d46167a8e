"""Numbers that papers' items compare: measures of one algorithm, growth exponents, and their names in checks and
figures, which are checked before time 0."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast, get_args

import numpy as np
from scipy.stats import t as student

from netsim.errors import ScenarioError
from netsim.memory import check_memory
from netsim.metrics import Reached
from scenarios.results import curves
from scenarios.results.audit import AuditResult
from scenarios.results.base import Setting
from scenarios.results.curves import NotMeasuredError, bounds, conditions, curve, record_attack, unit
from scenarios.results.findings import judged
from scenarios.results.numbers import show
from scenarios.results.tree import AlgorithmResult
from scenarios.schema import Scenario, checks


@dataclass(frozen=True)
class Found:
    """A number that is at least `low` and at most `high`; both are the same where it is known."""

    low: float
    high: float

    @classmethod
    def of(cls, value: float) -> "Found":
        return cls(value, value)

    @property
    def known(self) -> bool:
        return self.low == self.high

    @property
    def bounded(self) -> bool:
        """Whether there is a number at most."""
        return math.isfinite(self.high)

    def __str__(self) -> str:
        if self.known:
            return show(self.low)
        if math.isinf(self.high):
            return f"more than {show(self.low)}"
        return f"{show(self.low)} … {show(self.high)}"


def measured(check: checks.Quantity, entry: AlgorithmResult) -> Found:
    """The number that a check is about; a `NotMeasuredError` where its results do not have it."""
    match check:
        case checks.Final():
            return Found.of(_of_curve(entry, check.curve, lambda x, y: curves.value(x, y, _length(entry))))
        case checks.AtEnd():
            return _at_end(check.measure, entry)
        case checks.Rebuilt():
            return Found.of(_rebuilt(entry, check.attack, check.measure))
        case checks.ErrorAfter():
            return Found.of(_error_after(entry, check.after, check.curve))
        case checks.CostTo():
            return cost(entry, check.accuracy, check.measure.removesuffix("_to"), check.curve)
        case checks.Slope():
            found = _slope(entry, check.start, check.end, check.floor, check.curve)
            return Found.of(found / _stated_slope(entry) if check.over_rate else found)
        case checks.ClaimedAfter():
            return Found.of(claimed(entry, check.after))
        case checks.VacuousFrom():
            return vacuous_from(entry, check.epsilon)
        case _:
            raise TypeError(f"no such measure: {check!r}")


def _rebuilt(entry: AlgorithmResult, attack: str, measure: str) -> float:
    """A measure of an attack on records."""
    found = record_attack(entry, attack)
    if measure == "success":
        value = None if found.success is None else found.success.rate
    else:
        value = cast("float | None", getattr(found, measure))
    if value is None or math.isnan(value):
        raise NotMeasuredError(f"{attack} on {entry.name} has no {measure.replace('_', ' ')}")
    return value


def diverged(entry: AlgorithmResult) -> bool:
    """Whether the error is not finite somewhere, or grew a thousandfold."""
    noted = entry.measures and entry.measures.exact
    return noted.diverged if noted is not None else curves.grew(curve(entry, "relative_error", unit(entry)).y)


def claimed(entry: AlgorithmResult, after: int | None = None) -> float:
    """The claimed ε after so many rounds or activations, or at the end."""
    points = curve(entry, "epsilon_claimed", "plf")
    assert entry.budget is not None
    wanted = entry.budget.last if after is None else after
    if wanted not in points.x:
        raise NotMeasuredError(f"the claim of {entry.name} is undefined after {wanted:g}: {conditions(entry)}")
    return points.y[points.x.index(wanted)]


def vacuous_from(entry: AlgorithmResult, epsilon: float) -> Found:
    """From where on the claimed ε is above a level; more than the run's length where it never is."""
    claimed(entry)
    assert entry.budget is not None
    count = next(row.count for row in entry.budget.vacuous_from if row.epsilon == epsilon)
    return Found(entry.budget.last, math.inf) if count is None else Found.of(count)


def cost(entry: AlgorithmResult, accuracy: float, x: str, name: str = "relative_error") -> Found:
    """How much of an axis is spent until the median error is at most `accuracy` and stays so.

    Known exactly where the run noted it for this accuracy, or where all points of the curve are known; else between
    two ends. A run that ends above the accuracy gives what it had spent in all as a lower bound.
    """

    def spent(reached: Reached | None) -> float:
        if reached is None:
            return math.inf
        value = reached.count if x == unit(entry) else getattr(reached, x, None)
        if value is None:
            raise NotMeasuredError(f"results of {entry.name} are by {unit(entry)}, not by {x.replace('_', ' ')}")
        return float(cast("float", value))

    noted = entry.measures and entry.measures.exact
    for row in () if noted is None else noted.to_accuracy:
        if (row.curve, row.accuracy) == (name, accuracy):
            return Found(spent(row.low), spent(row.high))
    known = curve(entry, name, unit(entry))
    first, last = curves.ends(known.x, known.y, accuracy, _length(entry))
    return Found(*bounds(entry, x, first, math.inf if last is None else last))


def _error_after(entry: AlgorithmResult, after: int, name: str) -> float:
    """The median error after so many rounds or activations."""
    if not 1 <= after <= _length(entry):
        raise NotMeasuredError(f"the run of {entry.name} has {_length(entry):,} {unit(entry)}, not {after:,}")
    noted = entry.measures and entry.measures.exact
    for row in () if noted is None else noted.after:
        if (row.curve, row.after) == (name, after):
            return row.median
    return _of_curve(entry, name, lambda x, y: curves.value(x, y, after))


def _slope(entry: AlgorithmResult, start: int, end: int | None, floor: float, name: str = "relative_error") -> float:
    """Decades per round or activation of the least-squares line through log₁₀ of the median error at all of them."""
    noted = entry.measures and entry.measures.exact
    for row in () if noted is None else noted.slopes:
        if (row.curve, row.start, row.end, row.floor) == (name, start, end, floor):
            return row.slope
    return _of_curve(entry, name, lambda x, y: curves.slope(x, y, start, end, floor))


def _stated_slope(entry: AlgorithmResult) -> float:
    """Decades per round that the paper's theorem states; negative."""
    if entry.rate is None:
        raise NotMeasuredError(f"no rate is stated for {entry.name}: {'; '.join(entry.unproven or ())}")
    return math.log10(entry.rate)


def _length(entry: AlgorithmResult) -> int:
    """How many rounds or activations there were."""
    if entry.convergence is None or not entry.convergence.count:
        raise NotMeasuredError(f"{entry.name} closed no {unit(entry)}")
    return entry.convergence.count[-1]


def _of_curve(entry: AlgorithmResult, name: str, find: Callable[[Sequence[float], Sequence[float]], float]) -> float:
    """A number of a curve; in the way of one that is not known, whose it is."""
    known = curve(entry, name, unit(entry))
    try:
        return find(known.x, known.y)
    except NotMeasuredError as why:
        raise NotMeasuredError(f"{entry.name}: {why}") from None


def _at_end(measure: str, entry: AlgorithmResult) -> Found:
    audit, claim = judged(entry), 1.0
    low: float | None
    if measure == "epsilon_audited":
        low = high = audit and audit.epsilon_audited
        what = "audited ε"
    elif measure == "epsilon_exact":
        ends, what = audit and audit.epsilon_exact, "exact ε"
        low, high = ends and ends.lower, ends and ends.upper
    elif measure == "loss_ratio":  # average loss of the pair's transcripts over the claimed worst case
        full = entry.audit if isinstance(entry.audit, AuditResult) else None
        if full is None or full.epsilon_claimed is None or not full.epsilon_claimed > 0:
            raise NotMeasuredError(f"{entry.name} has no claimed ε above 0 to compare its loss with")
        claim, ends, what = full.epsilon_claimed, full.average_loss, "average loss"
        low, high = ends and ends.lower, ends and ends.upper
    elif measure == "gamma":
        full = entry.audit if isinstance(entry.audit, AuditResult) else None
        share, what = full and full.average_case and full.average_case.gamma, "γ"
        low, _, high = share or (None, None, None)
    else:
        return Found.of(curves.leakage_at_end(entry, measure))
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        raise NotMeasuredError(f"results of {entry.name} have no {what}")
    return Found(low / claim, high / claim)


Fields = Mapping[str, Mapping[str, Setting]]
"""Fields that each variant sets, by dotted path."""
FEWEST = 3
"""With two values any two numbers lie on a power law."""
CONFIDENCE = 0.95


GRAPH = {
    "n": (1, 0, 0),
    "m": (0, 1, 0),
    "1/χ": (0, 0, -1),
    "m/χ": (0, 1, -1),
    "m²/(n²χ)": (-2, 2, -1),
    "m²/(nχ)": (-1, 2, -1),
}
"""Sizes of a graph over which costs grow, as powers of its n agents, its m edges and χ = 1 − λ₂(P), the spectral gap
of the walk that goes to a neighbor drawn uniformly, P = D⁻¹A."""
SCALED = ("rounds", "activations", "per_agent", "records")


def graph_size(over: str, agents: int, edges: Sequence[tuple[int, int]]) -> float:
    """One of `GRAPH`, of a connected graph."""
    sizes = [agents, len(edges), *([_spectral_gap(agents, edges)] if GRAPH[over][-1] else [])]
    return math.prod(size**power for size, power in zip(sizes, GRAPH[over], strict=False))


def _spectral_gap(agents: int, edges: Sequence[tuple[int, int]]) -> float:
    """1 − λ₂(D⁻¹A)."""
    check_memory(3 * 8 * agents**2, "topology.agents", agents, "fewer agents")
    adjacency = np.zeros((agents, agents))
    ends = np.array(edges).T
    adjacency[ends[0], ends[1]] = adjacency[ends[1], ends[0]] = 1
    root = np.sqrt(adjacency.sum(axis=0))
    return 1 - float(np.linalg.eigvalsh(adjacency / np.outer(root, root))[-2])


def beside_graph(own: Mapping[str, Setting]) -> dict[str, Setting]:
    """What a variant sets beside its topology, the number of records and how long algorithms run."""
    return {k: v for k, v in own.items() if k.partition(".")[0] != "topology" and not k.endswith(SCALED)}


def groups(fields: Fields, over: str) -> dict[str, dict[str, float]]:
    """Variants between which only the field `over` differs, and its value in each; one group for each setting of the
    other fields, which names it ("" where there is no other). A value that is not a number is nan.

    Over a size of the graph (`GRAPH`) the topology differs, and with it how many records there are and how long
    algorithms run; the value is nan here, where no graph is built.
    """
    found: dict[str, dict[str, float]] = {}
    for variant, own in fields.items():
        if over not in own and over not in GRAPH:
            continue
        path, value = over, own.get(over)
        if over in GRAPH:
            own = beside_graph(own)
        rest = ", ".join(f"{key.split('.')[-1]} {setting}" for key, setting in own.items() if key != path)
        if isinstance(value, bool) or not isinstance(value, int | float):
            value = math.nan
        found.setdefault(rest, {})[variant] = float(value)
    return found


def exponent(values: Sequence[float], found: Sequence[Found]) -> Found:
    """The two ends of p, from the least-squares line through the points (ln value, ln number).

    They enclose the 95 % confidence interval of its slope (Student's t; the residuals of a power law taken as
    independent and normal) and, where numbers are themselves known between two ends, all lines through these. You get
    a `NotMeasuredError` where a number is not known from both sides, or not positive.
    """
    for value, one in zip(values, found, strict=True):
        if not 0 < one.low <= one.high < math.inf:
            raise NotMeasuredError(f"a power law goes through positive numbers, not {one} at {value:g}")
    x = np.log(np.array(values))
    x = x - x.mean()
    share = x / np.sum(x * x)
    low, high = np.log([one.low for one in found]), np.log([one.high for one in found])
    middle = (low + high) / 2
    slope = float(np.sum(share * middle))
    rest = middle - middle.mean() - slope * x
    freedom = len(x) - 2
    error = math.sqrt(float(np.sum(rest * rest)) / freedom / float(np.sum(x * x)))
    room = float(student.ppf((1 + CONFIDENCE) / 2, freedom)) * error
    room += float(np.sum(np.abs(share) * (high - low) / 2))
    return Found(slope - room, slope + room)


NAMES = {
    "gradient_error": "median error of inferred gradients",
    "identifiable": "share of queries with an estimate",
    "image_skill": "mean skill of rebuilt images",
    "epsilon_exact": "exact ε",
    "epsilon_audited": "audited ε",
    "loss_ratio": "mean |loss| over the claimed ε",
    "gamma": "γ, the mean of the largest |loss| over the worst case",
}
"""Numbers at the end of a run, in words."""
REBUILT = {
    "skill": "skill",
    "mse": "mean squared error",
    "psnr": "PSNR in dB",
    "ssim": "SSIM",
    "success": "rate of success",
    "label_accuracy": "share of right labels",
}
"""What an attack gets of records, in words."""
COSTS = {"plf": "PLF", "message_bytes": "bytes of messages", "time": "virtual seconds"}


@dataclass(frozen=True)
class Place:
    """An algorithm in a variant; the variant is "" where there are none."""

    variant: str
    of: str

    def __str__(self) -> str:
        return f"{self.of} in {self.variant}" if self.variant else self.of


def other_of(check: checks.Quantity, variant: str) -> Place | None:
    """Which algorithm, and where, a check compares its own with."""
    other = check.below_of if check.below_of is not None else check.above_of
    if other is None:
        return None
    if isinstance(other, checks.Other):
        return Place(other.variant or variant, other.of or check.of)
    return Place(variant, other)


# ── names, checked before time 0 ────────────────────────────────────────────────────────────────────────
_TO_ACCURACY = tuple(name for name in get_args(checks.Number) if name.endswith("_to"))


def check_names(
    scenario: Scenario, variants: Mapping[str, Scenario] | None = None, fields: Sequence[Mapping[str, Setting]] = ()
) -> None:
    """A `ScenarioError` for an algorithm or a variant that does not exist, for a measure that the runs do not take,
    and for a figure whose axes do not go together. `variants` are the scenarios that run, `fields` is what each of
    them sets. Without these the scenario runs by itself; one with variants is several runs, and refused."""
    if variants is None:
        for name in ("variants", "grid"):
            if getattr(scenario, name):
                why = "several runs: `scenarios.stages.study.run_study` runs them"
                raise ScenarioError(name, getattr(scenario, name), why, "no variants and no grid")
        variants = {"": scenario}
    for index, check in enumerate(scenario.reproduces.checks if scenario.reproduces is not None else ()):
        where = f"reproduces.checks[{index}]"
        if isinstance(check, checks.Growth):
            _growth(check, where, variants, fields)
        else:
            _check(check, where, variants)
    for index, figure in enumerate(scenario.figures):
        _figure(figure, f"figures[{index}]", variants, fields)


def _check(check: checks.CheckSpec, where: str, variants: Mapping[str, Scenario]) -> None:
    if check.variant is not None:
        _variant(check.variant, f"{where}.variant", variants)
    for variant in variants if check.variant is None else [check.variant]:
        if isinstance(check, checks.OptimumIsZero):
            continue
        scenario = variants[variant]
        _algorithm(check.of, f"{where}.of", scenario)
        if isinstance(check, checks.Rebuilt | checks.AttackVerdict):
            _attack(check.attack, f"{where}.attack", scenario)
        audited = isinstance(check, checks.AtEnd) and check.measure not in checks.LEAKS
        if (audited or isinstance(check, checks.Verdict)) and scenario.audit is None:
            raise ScenarioError(f"{where}.measure", check.measure, "the scenario asks for no audit", "audit: {…}")
        if isinstance(check, checks.AtEnd) and check.measure in checks.LEAKS:
            _attacked(check.measure, f"{where}.measure", scenario)
        if isinstance(check, checks.Quantity) and (other := other_of(check, variant)) is not None:
            place = f"{where}.{_relation(check)}"
            _variant(other.variant, place, variants)
            _algorithm(other.of, place, variants[other.variant])
            if check.variant is not None and other == Place(variant, check.of):
                raise ScenarioError(
                    place, str(other), "compared with itself", "another algorithm, or another variant"
                )


def _relation(check: checks.Quantity) -> str:
    return "below_of" if check.below_of is not None else "above_of"


def _growth(
    check: checks.Growth, where: str, variants: Mapping[str, Scenario], fields: Sequence[Mapping[str, Setting]]
) -> None:
    """A power law needs three positive numbers; all of its variants need the algorithms."""
    found = groups(dict(zip(variants, fields, strict=False)), check.over)
    if not found:
        allowed = (
            ", ".join(dict.fromkeys(path for one in fields for path in one)) or "none: the scenario has no variants"
        )
        raise ScenarioError(f"{where}.over", check.over, "no field that a variant sets", allowed)
    for group in found.values():
        values = list(group.values())
        if check.over in GRAPH:
            graphs = [variants[variant].topology.build() for variant in group]
            values = [graph_size(check.over, one.agents, one.edges) for one in graphs]
        if any(not 0 < value < math.inf for value in values) or len(set(values)) < FEWEST:
            given = ", ".join(f"{value:g}" for value in values)
            raise ScenarioError(f"{where}.over", given, "no power law goes through these", f">= {FEWEST} numbers > 0")
    for variant in (name for group in found.values() for name in group):
        _algorithm(check.of, f"{where}.of", variants[variant])
        if (other := other_of(check, variant)) is not None:
            place = f"{where}.{_relation(check)}"
            _algorithm(other.of, place, variants[variant])
            if other.of == check.of:
                raise ScenarioError(place, other.of, "compared with itself", "another algorithm")


def _attacked(measure: str, where: str, scenario: Scenario) -> None:
    """Whether there is an attack that measures this."""
    if measure == "image_skill" and not scenario.attacks.images:
        raise ScenarioError(where, measure, "no images are rebuilt", "attacks: {images: true}")
    if measure != "image_skill" and not scenario.attacks.gradients:
        raise ScenarioError(where, measure, "no gradients are inferred", "attacks: {gradients: true}")


def _figure(
    figure: checks.FigureSpec, where: str, variants: Mapping[str, Scenario], fields: Sequence[Mapping[str, Setting]]
) -> None:
    for index, name in enumerate(figure.variants):
        _variant(name, f"{where}.variants[{index}]", variants)
    for index, name in enumerate(figure.algorithms):
        for variant in figure.variants or variants:
            _algorithm(name, f"{where}.algorithms[{index}]", variants[variant])
    if (figure.y in checks.REBUILT) != (figure.attack is not None):
        problem = "needed for what an attack gets" if figure.y in checks.REBUILT else "goes with what an attack gets"
        raise ScenarioError(f"{where}.attack", figure.attack, problem, ", ".join(checks.REBUILT))
    if figure.attack is not None:
        for variant in figure.variants or variants:
            _attack(figure.attack, f"{where}.attack", variants[variant])
    if figure.y in checks.LEAKS:
        for variant in figure.variants or variants:
            _attacked(figure.y, f"{where}.y", variants[variant])
    if figure.x == checks.SEARCH:
        if figure.y != "mse":
            raise ScenarioError(f"{where}.y", figure.y, "not known as the search goes on", "mse")
        return
    if figure.x in checks.LEAK_AXES:
        known = [name for name in checks.LEAKS if figure.x != "query" or name != "image_skill"]
        if figure.y not in known:
            raise ScenarioError(f"{where}.y", figure.y, f"not measured by {figure.x}", ", ".join(known))
        return
    if figure.x in checks.AXES:
        if figure.y not in checks.CURVES:
            raise ScenarioError(f"{where}.y", figure.y, f"no curve over {figure.x}", ", ".join(checks.CURVES))
        return
    if figure.x not in GRAPH and not any(figure.x in one for one in fields):
        set_by_variants = (path for one in fields for path in one)
        axes = *checks.AXES, *checks.LEAK_AXES, checks.SEARCH, *GRAPH
        allowed = ", ".join(dict.fromkeys([*axes, *set_by_variants]))
        raise ScenarioError(f"{where}.x", figure.x, "neither an axis nor a field that a variant sets", allowed)
    if (figure.y in _TO_ACCURACY) != (figure.accuracy is not None):
        problem = (
            "needed for what it takes to get there" if figure.y in _TO_ACCURACY else "goes with what it takes to it"
        )
        raise ScenarioError(f"{where}.accuracy", figure.accuracy, problem, ", ".join(_TO_ACCURACY))


def _variant(name: str, where: str, variants: Mapping[str, Scenario]) -> None:
    if name not in variants:
        names = ", ".join(variant for variant in variants if variant) or "none: the scenario has no variants"
        raise ScenarioError(where, name, "no such variant", names)


def _attack(name: str, where: str, scenario: Scenario) -> None:
    names = [spec.label for spec in scenario.attacks.reconstruct]
    if name not in names:
        raise ScenarioError(where, name, "no such attack", ", ".join(names) or "none: attacks.reconstruct is empty")


def _algorithm(name: str, where: str, scenario: Scenario) -> None:
    names = [spec.name for spec in scenario.algorithms]
    if name not in names:
        raise ScenarioError(where, name, "no such algorithm", ", ".join(names))
