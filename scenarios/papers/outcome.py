"""Outcome of a paper's item: its checks, what prevents them, one verdict; names are checked before time 0."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from netsim.errors import ScenarioError
from scenarios.papers import measures
from scenarios.papers.measures import (
    FAILS,
    FEWEST,
    HOLDS,
    OPEN,
    Fields,
    Place,
    compare,
    exponent,
    groups,
    other_of,
    quantity,
    relation,
)
from scenarios.results import former_curves as rebuilt
from scenarios.results.former_curves import NotMeasuredError, conditions, entry_of
from scenarios.results.numbers import part, show
from scenarios.schema import Scenario
from scenarios.schema.checks import (
    AXES,
    CURVES,
    LEAK_AXES,
    LEAKS,
    REBUILT,
    AtEnd,
    AttackVerdict,
    CheckSpec,
    ClaimedAfter,
    CostTo,
    ErrorAfter,
    Fact,
    FigureSpec,
    Final,
    Growth,
    Number,
    OptimumIsZero,
    Quantity,
    Rebuilt,
    ReproducesSpec,
    Slope,
    VacuousFrom,
    Verdict,
)

Result = Mapping[str, Any]
AGREES, SHAPE, DIFFERS, CANNOT, UNFINISHED = (
    "agrees", "agrees in shape", "differs", "cannot be reproduced", "not finished",
)  # fmt: skip
BLOCKED = "cannot be checked"
ZERO = "the optimum is x* = 0, where every agent starts: the experiment is degenerate"


@dataclass(frozen=True)
class Ran:
    """A variant's results (its name is "" where there are no variants). `error` says what became of one that did not
    end well, as the end of a sentence: "failed: DeadlockError"."""

    variant: str
    results: Result
    error: str | None = None

    @property
    def why(self) -> str:
        return f"{f'variant {self.variant}' if self.variant else 'the run'} {self.error}"


@dataclass(frozen=True)
class _Answer:
    """A check in one variant, or over several that differ in one field (their other fields are named)."""

    variant: str
    result: str
    found: str = ""
    reason: str = ""

    def as_json(self) -> dict[str, str]:
        return {"variant": self.variant, "result": self.result, "found": self.found, "reason": self.reason}


@dataclass
class _Judge:
    spec: ReproducesSpec
    runs: dict[str, Ran]
    fields: Fields
    expected: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])

    # ── what is in the way ──────────────────────────────────────────────────────────────────────────
    def expect(self) -> None:
        """Note what checks themselves expect to go wrong."""
        for check in self.spec.checks:
            for variant in self.variants(check):
                if isinstance(check, Fact) and check.equals:
                    self.expected.add((check.measure, variant, check.of))
                if isinstance(check, OptimumIsZero) and check.equals:
                    self.expected.add((check.measure, variant, ""))
                if isinstance(check, VacuousFrom):
                    self.expected.add(("vacuous", variant, check.of))

    def variants(self, check: CheckSpec) -> list[str]:
        return list(self.runs) if check.variant is None else [check.variant]

    def entry(self, place: Place) -> Result:
        ran = self.runs[place.variant]
        if ran.error is not None:
            raise NotMeasuredError(ran.why)
        return entry_of(ran.results, place.of)

    def sound(self, check: Quantity, place: Place) -> Result:
        """The entry that a number is taken from; a `NotMeasuredError` where the number would mean nothing."""
        entry = self.entry(place)
        if isinstance(check, Final | ErrorAfter | CostTo | Growth | Slope):
            self.not_degenerate(place.variant)
            if self.unexpected("diverged", place) and measures.diverged(entry):
                raise NotMeasuredError(f"{place} diverges at these parameters")
        if isinstance(check, ClaimedAfter | VacuousFrom) and measures.claim_undefined(entry):
            raise NotMeasuredError(f"the claim of {place} is undefined: {conditions(entry)}")
        return entry

    def not_degenerate(self, variant: str) -> None:
        zero = part(self.runs[variant].results, "problem").get("optimum_is_zero")
        if zero and self.unexpected("optimum_is_zero", Place(variant, "")):
            raise NotMeasuredError(ZERO + (f" ({variant})" if variant else ""))

    def unexpected(self, what: str, place: Place) -> bool:
        return (what, place.variant, place.of) not in self.expected

    # ── checks ──────────────────────────────────────────────────────────────────────────────────────
    def answers(self, check: CheckSpec) -> list[_Answer]:
        """One for each variant, or group of them, that the check is about."""
        places = groups(self.fields, check.over) if isinstance(check, Growth) else self.variants(check)
        return [self.answer(check, place) for place in places]

    def answer(self, check: CheckSpec, variant: str) -> _Answer:
        try:
            match check:
                case Verdict():
                    return self.verdict(check, variant)
                case AttackVerdict():
                    return self.attacked(check, variant)
                case Fact():
                    return self.fact(check, Place(variant, check.of))
                case OptimumIsZero():
                    return self.zero(check, variant)
                case _:
                    return self.number(check, variant)
        except NotMeasuredError as why:
            return _Answer(variant, BLOCKED, reason=str(why))

    def number(self, check: Quantity, variant: str) -> _Answer:
        found = self.found(check, Place(variant, check.of))
        whose = other_of(check, variant)
        other = None if whose is None else self.found(check, whose)
        result = compare(check, found, other)
        text = str(found) + ("" if other is None else f", against {other}")
        if result == OPEN:
            why = f"{quantity(check)} of {Place(variant, check.of)} is {text}: undecided"
            return _Answer(variant, BLOCKED, text, why)
        return _Answer(variant, result, text)

    def found(self, check: Quantity, place: Place) -> measures.Found:
        """What a check asks for of one algorithm."""
        if not isinstance(check, Growth):
            return measures.measured(check, self.sound(check, place))
        variants = groups(self.fields, check.over)[place.variant]
        what = check.quantity.removesuffix("_to")
        entries = [self.sound(check, Place(variant, place.of)) for variant in variants]
        costs = [measures.cost(entry, check.accuracy, what, check.curve) for entry in entries]
        for variant, one in zip(variants, costs, strict=True):
            if not one.bounded:
                raise NotMeasuredError(f"{Place(variant, place.of)} ended above an error of {check.accuracy:g}")
        return exponent(list(variants.values()), costs)

    def verdict(self, check: Verdict, variant: str) -> _Answer:
        audit = part(self.entry(Place(variant, check.of)), "audit")
        found = audit.get("verdict")
        if found is None:
            why = audit.get("refused") or "there is no verdict"
            raise NotMeasuredError(f"{Place(variant, check.of)} was not audited: {why}")
        allowed = check.equals if isinstance(check.equals, list) else [check.equals]
        return _Answer(variant, HOLDS if found in allowed else FAILS, str(found))

    def attacked(self, check: AttackVerdict, variant: str) -> _Answer:
        found = rebuilt.verdict_of(self.entry(Place(variant, check.of)), check.attack)
        allowed = check.equals if isinstance(check.equals, list) else [check.equals]
        return _Answer(variant, HOLDS if found in allowed else FAILS, found)

    def fact(self, check: Fact, place: Place) -> _Answer:
        entry = self.entry(place)
        if check.measure == "diverged":
            found, why = measures.diverged(entry), f"{place} diverges at these parameters"
            text = "diverges" if found else "does not diverge"
        else:
            found, why = measures.claim_undefined(entry), f"the claim of {place} is undefined: {conditions(entry)}"
            text = "undefined" if found else "defined"
        if found and not check.equals:
            return _Answer(place.variant, BLOCKED, text, why)
        return _Answer(place.variant, HOLDS if found == check.equals else FAILS, text)

    def zero(self, check: OptimumIsZero, variant: str) -> _Answer:
        ran = self.runs[variant]
        if ran.error is not None or "problem" not in ran.results:
            raise NotMeasuredError(ran.why if ran.error is not None else "the problem was not solved")
        found = bool(part(ran.results, "problem").get("optimum_is_zero"))
        if found and not check.equals:
            return _Answer(variant, BLOCKED, "x* = 0", ZERO)
        return _Answer(variant, HOLDS if found == check.equals else FAILS, "x* = 0" if found else "x* ≠ 0")

    # ── the budget ──────────────────────────────────────────────────────────────────────────────────
    def vacuous(self) -> list[str]:
        """Algorithms of the checks whose claimed ε is above the stated bound at the end."""
        level = self.spec.vacuous_above
        if level is None:
            return []
        checks = (check for check in self.spec.checks if not isinstance(check, OptimumIsZero))
        places = dict.fromkeys(Place(variant, check.of) for check in checks for variant in self.variants(check))
        found = (self._vacuous(place, level) for place in places if self.unexpected("vacuous", place))
        return [line for line in found if line]

    def _vacuous(self, place: Place, level: float) -> str:
        try:
            entry = self.entry(place)
            epsilon, start = measures.claimed(entry), measures.vacuous_from(entry, level)
        except NotMeasuredError:  # claims no number
            return ""
        if epsilon <= level:
            return ""
        counted = "round" if part(entry, "budget")["unit"] == "rounds" else "activation of one agent"
        return (
            f"the budget of {place} is vacuous: the claimed ε is {show(epsilon)}, above {show(level)} from "
            f"{counted} {start} on"
        )


def judge(spec: ReproducesSpec, runs: Sequence[Ran], finished: bool, fields: Fields | None = None) -> dict[str, Any]:
    """The outcome as plain data: `outcome`, a `sentence`, `reasons`, and every check with what was found.

    `fields` is what each variant sets: a growth is over one of them.
    """
    judge = _Judge(spec, {ran.variant: ran for ran in runs}, fields or {})
    judge.expect()
    checks = [(check, judge.answers(check)) for check in spec.checks]
    reasons = [*judge.vacuous(), *(a.reason for _, answers in checks for a in answers if a.result == BLOCKED)]
    failed = [(check, a) for check, answers in checks for a in answers if a.result == FAILS]
    outcome = DIFFERS if failed else CANNOT if reasons else SHAPE if spec.missing else AGREES
    outcome = outcome if finished else UNFINISHED
    reasons = list(dict.fromkeys(reasons))
    return {
        "paper": spec.paper,
        "item": spec.item,
        "shows": spec.shows,
        "missing": list(spec.missing),
        "outcome": outcome,
        "sentence": _sentence(outcome, spec, failed, reasons),
        "reasons": reasons,
        "checks": [
            {"says": check.says, "asks": _asks(check), "answers": [a.as_json() for a in answers]}
            for check, answers in checks
        ],
    }


def _asks(check: CheckSpec) -> str:
    """A check in words."""
    where = f" in {check.variant}" if check.variant else ""
    match check:
        case OptimumIsZero():
            return f"optimum{where} {'is' if check.equals else 'is not'} zero"
        case Fact(measure="diverged"):
            return f"{check.of}{where} {'diverges' if check.equals else 'does not diverge'}"
        case Fact():
            return f"claim of {check.of}{where} is {'undefined' if check.equals else 'defined'}"
        case AttackVerdict():
            words = check.equals if isinstance(check.equals, list) else [check.equals]
            return f"{check.attack} on {check.of}{where}: {' or '.join(words)}"
        case Verdict():
            words = check.equals if isinstance(check.equals, list) else [check.equals]
            return f"verdict on {check.of}{where}: {' or '.join(words)}"
        case _:
            return f"{quantity(check)} of {check.of}{where} {relation(check)}"


def _sentence(
    outcome: str, spec: ReproducesSpec, failed: Sequence[tuple[CheckSpec, _Answer]], reasons: list[str]
) -> str:
    unprinted = f"Not printed, or other than printed: {'; '.join(spec.missing)}." if spec.missing else ""
    if outcome == UNFINISHED:
        return "The run was not finished."
    if outcome == DIFFERS:
        check, answer = failed[0]
        where = f" ({answer.variant})" if answer.variant and not check.variant else ""
        others = len(failed) - 1
        more = f" {others} more {'answers do' if others > 1 else 'does'} not hold." if others else ""
        caution = f" {unprinted} The values chosen here may be why." if unprinted else ""
        return f"Asked: {_asks(check)}{where}; found: {answer.found}.{more}{caution}"
    if outcome == CANNOT:
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        return f"{reasons[0][0].upper()}{reasons[0][1:]}{more}."
    count = len(spec.checks)
    return f"{'All ' if count > 1 else ''}{count} check{'s hold' if count > 1 else ' holds'}. {unprinted}".strip()


COSTS = tuple(name for name in get_args(Number) if name.endswith("_to"))


def check_names(scenario: Scenario, variants: Mapping[str, Scenario], fields: Sequence[Mapping[str, object]]) -> None:
    """A `ScenarioError` for an algorithm or a variant that does not exist, for a measure that the runs do not take,
    and for a figure whose axes do not go together. `variants` are the scenarios that run ("": the scenario itself);
    `fields` is what each of the variants sets."""
    if scenario.reproduces is not None:
        for index, check in enumerate(scenario.reproduces.checks):
            where = f"reproduces.checks[{index}]"
            if isinstance(check, Growth):
                _growth(check, where, variants, fields)
            else:
                _check(check, where, variants)
    for index, figure in enumerate(scenario.figures):
        _figure(figure, f"figures[{index}]", variants, fields)


def check_alone(scenario: Scenario) -> None:
    """The same for a scenario that runs by itself; one with variants is several runs, and refused."""
    for name in ("variants", "grid"):
        if getattr(scenario, name):
            why = "several runs: `scenarios.stages.study.run_study` runs them"
            raise ScenarioError(name, getattr(scenario, name), why, "no variants and no grid")
    check_names(scenario, {"": scenario}, ())


def _check(check: CheckSpec, where: str, variants: Mapping[str, Scenario]) -> None:
    if check.variant is not None:
        _variant(check.variant, f"{where}.variant", variants)
    for variant in variants if check.variant is None else [check.variant]:
        if isinstance(check, OptimumIsZero):
            continue
        _algorithm(check.of, f"{where}.of", variants[variant])
        _check_measured(check, f"{where}.measure", variants[variant])
        if isinstance(check, Quantity) and (other := other_of(check, variant)) is not None:
            relation = "below_of" if check.below_of is not None else "above_of"
            _other(check, other, variant, f"{where}.{relation}", variants)


def _growth(
    check: Growth, where: str, variants: Mapping[str, Scenario], fields: Sequence[Mapping[str, object]]
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
        if any(not 0 < value < math.inf for value in values) or len(set(values)) < FEWEST:
            given = ", ".join(f"{value:g}" for value in values)
            raise ScenarioError(f"{where}.over", given, "no power law goes through these", f">= {FEWEST} numbers > 0")
    for variant in (name for group in found.values() for name in group):
        _algorithm(check.of, f"{where}.of", variants[variant])
        if (other := other_of(check, variant)) is not None:
            relation = "below_of" if check.below_of is not None else "above_of"
            _algorithm(other.of, f"{where}.{relation}", variants[variant])
            if other.of == check.of:
                raise ScenarioError(f"{where}.{relation}", other.of, "compared with itself", "another algorithm")


def _other(check: Quantity, other: Place, variant: str, where: str, variants: Mapping[str, Scenario]) -> None:
    _variant(other.variant, where, variants)
    _algorithm(other.of, where, variants[other.variant])
    if check.variant is not None and other == Place(variant, check.of):
        raise ScenarioError(where, str(other), "compared with itself", "another algorithm, or another variant")


def _check_measured(check: CheckSpec, where: str, scenario: Scenario) -> None:
    """Whether the runs measure what a check is about."""
    if isinstance(check, Rebuilt | AttackVerdict):
        _attack(check.attack, f"{where.removesuffix('.measure')}.attack", scenario)
    audited = isinstance(check, AtEnd) and check.measure not in LEAKS
    if (audited or isinstance(check, Verdict)) and scenario.audit is None:
        raise ScenarioError(where, check.measure, "the scenario asks for no audit", "audit: {…}")
    if isinstance(check, AtEnd) and check.measure in LEAKS:
        _attacked(check.measure, where, scenario)


def _attacked(measure: str, where: str, scenario: Scenario) -> None:
    """Whether there is an attack that measures this."""
    if measure == "image_skill" and not scenario.attacks.images:
        raise ScenarioError(where, measure, "no images are rebuilt", "attacks: {images: true}")
    if measure != "image_skill" and not scenario.attacks.gradients:
        raise ScenarioError(where, measure, "no gradients are inferred", "attacks: {gradients: true}")


def _figure(
    figure: FigureSpec, where: str, variants: Mapping[str, Scenario], fields: Sequence[Mapping[str, object]]
) -> None:
    for index, name in enumerate(figure.variants):
        _variant(name, f"{where}.variants[{index}]", variants)
    for index, name in enumerate(figure.algorithms):
        for variant in figure.variants or variants:
            _algorithm(name, f"{where}.algorithms[{index}]", variants[variant])
    if (figure.y in REBUILT) != (figure.attack is not None):
        problem = "needed for what an attack gets" if figure.y in REBUILT else "goes with what an attack gets"
        raise ScenarioError(f"{where}.attack", figure.attack, problem, ", ".join(REBUILT))
    if figure.attack is not None:
        for variant in figure.variants or variants:
            _attack(figure.attack, f"{where}.attack", variants[variant])
    if figure.y in LEAKS:
        for variant in figure.variants or variants:
            _attacked(figure.y, f"{where}.y", variants[variant])
    if figure.x in LEAK_AXES:
        known = [name for name in LEAKS if figure.x != "query" or name != "image_skill"]
        if figure.y not in known:
            raise ScenarioError(f"{where}.y", figure.y, f"not measured by {figure.x}", ", ".join(known))
        return
    if figure.x in AXES:
        if figure.y not in CURVES:
            raise ScenarioError(f"{where}.y", figure.y, f"no curve over {figure.x}", ", ".join(CURVES))
        return
    if not any(figure.x in one for one in fields):
        allowed = ", ".join(dict.fromkeys([*AXES, *LEAK_AXES, *(path for one in fields for path in one)]))
        raise ScenarioError(f"{where}.x", figure.x, "neither an axis nor a field that a variant sets", allowed)
    if (figure.y in COSTS) != (figure.accuracy is not None):
        problem = "needed for what it takes to get there" if figure.y in COSTS else "goes with what it takes to it"
        raise ScenarioError(f"{where}.accuracy", figure.accuracy, problem, ", ".join(COSTS))


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
