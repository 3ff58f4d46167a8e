"""Outcome of a paper's item: its checks, what prevents them, and one verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from scenarios.papers import measures
from scenarios.papers.measures import (
    FAILS,
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
from scenarios.results import curves
from scenarios.results.audit import AuditRefused
from scenarios.results.curves import NotMeasuredError, conditions, entry_of
from scenarios.results.numbers import show
from scenarios.results.tree import AlgorithmResult, Answered, CheckAnswer, CheckResult, Outcome, Reproduction, Results
from scenarios.schema.checks import (
    AttackVerdict,
    CheckSpec,
    ClaimedAfter,
    CostTo,
    ErrorAfter,
    Fact,
    Final,
    Growth,
    OptimumIsZero,
    Quantity,
    ReproducesSpec,
    Slope,
    VacuousFrom,
    Verdict,
)

BLOCKED: Answered = "cannot be checked"
ZERO = "the optimum is x* = 0, where every agent starts: the experiment is degenerate"


@dataclass(frozen=True)
class Ran:
    """A variant's results (its name is "" where there are no variants); None of one that never began.

    `error` is the ending of one that did not end well, as the end of a sentence: "failed: DeadlockError".
    """

    variant: str
    results: Results | None
    error: str | None = None

    @property
    def why(self) -> str:
        return f"{f'variant {self.variant}' if self.variant else 'the run'} {self.error}"

    @property
    def complete(self) -> Results:
        """You get a `NotMeasuredError` of one that did not end well."""
        if self.error is not None or self.results is None:
            raise NotMeasuredError(self.why)
        return self.results


def _answer(variant: str, result: Answered, found: str = "", reason: str = "") -> CheckAnswer:
    """A check in one variant, or over several that differ in one field (their other fields are named)."""
    return CheckAnswer(variant=variant, result=result, found=found, reason=reason)


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

    def entry(self, place: Place) -> AlgorithmResult:
        return entry_of(self.runs[place.variant].complete, place.of)

    def sound(self, check: Quantity, place: Place) -> AlgorithmResult:
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
        problem = self.runs[variant].complete.problem
        if problem is not None and problem.optimum_is_zero and self.unexpected("optimum_is_zero", Place(variant, "")):
            raise NotMeasuredError(ZERO + (f" ({variant})" if variant else ""))

    def unexpected(self, what: str, place: Place) -> bool:
        return (what, place.variant, place.of) not in self.expected

    # ── checks ──────────────────────────────────────────────────────────────────────────────────────
    def answers(self, check: CheckSpec) -> list[CheckAnswer]:
        """One for each variant, or group of them, that the check is about."""
        places = groups(self.fields, check.over) if isinstance(check, Growth) else self.variants(check)
        return [self.answer(check, place) for place in places]

    def answer(self, check: CheckSpec, variant: str) -> CheckAnswer:
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
            return _answer(variant, BLOCKED, reason=str(why))

    def number(self, check: Quantity, variant: str) -> CheckAnswer:
        found = self.found(check, Place(variant, check.of))
        whose = other_of(check, variant)
        other = None if whose is None else self.found(check, whose)
        result = compare(check, found, other)
        text = str(found) + ("" if other is None else f", against {other}")
        if result == OPEN:
            why = f"{quantity(check)} of {Place(variant, check.of)} is {text}: undecided"
            return _answer(variant, BLOCKED, text, why)
        return _answer(variant, result, text)

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

    def verdict(self, check: Verdict, variant: str) -> CheckAnswer:
        audit = self.entry(Place(variant, check.of)).audit
        if audit is None or isinstance(audit, AuditRefused):
            why = "there is no verdict" if audit is None else audit.refused
            raise NotMeasuredError(f"{Place(variant, check.of)} was not audited: {why}")
        allowed = check.equals if isinstance(check.equals, list) else [check.equals]
        return _answer(variant, HOLDS if audit.verdict in allowed else FAILS, audit.verdict)

    def attacked(self, check: AttackVerdict, variant: str) -> CheckAnswer:
        found = curves.record_attack(self.entry(Place(variant, check.of)), check.attack).verdict
        allowed = check.equals if isinstance(check.equals, list) else [check.equals]
        return _answer(variant, HOLDS if found in allowed else FAILS, str(found))

    def fact(self, check: Fact, place: Place) -> CheckAnswer:
        entry = self.entry(place)
        if check.measure == "diverged":
            found, why = measures.diverged(entry), f"{place} diverges at these parameters"
            text = "diverges" if found else "does not diverge"
        else:
            found, why = measures.claim_undefined(entry), f"the claim of {place} is undefined: {conditions(entry)}"
            text = "undefined" if found else "defined"
        if found and not check.equals:
            return _answer(place.variant, BLOCKED, text, why)
        return _answer(place.variant, HOLDS if found == check.equals else FAILS, text)

    def zero(self, check: OptimumIsZero, variant: str) -> CheckAnswer:
        problem = self.runs[variant].complete.problem
        if problem is None:
            raise NotMeasuredError("the problem was not solved")
        found = problem.optimum_is_zero
        if found and not check.equals:
            return _answer(variant, BLOCKED, "x* = 0", ZERO)
        return _answer(variant, HOLDS if found == check.equals else FAILS, "x* = 0" if found else "x* ≠ 0")

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
        if epsilon <= level or entry.budget is None:
            return ""
        counted = "round" if entry.budget.unit == "rounds" else "activation of one agent"
        return (
            f"the budget of {place} is vacuous: the claimed ε is {show(epsilon)}, above {show(level)} from "
            f"{counted} {start} on"
        )


def judge(spec: ReproducesSpec, runs: Sequence[Ran], finished: bool, fields: Fields | None = None) -> Reproduction:
    """The outcome, with every check and what was found. `fields` are those of each variant: a growth is over one."""
    judge = _Judge(spec, {ran.variant: ran for ran in runs}, fields or {})
    judge.expect()
    checks = [(check, judge.answers(check)) for check in spec.checks]
    blocked = (a.reason for _, answers in checks for a in answers if a.result == BLOCKED)
    reasons = list(dict.fromkeys([*judge.vacuous(), *blocked]))
    failed = [(check, a) for check, answers in checks for a in answers if a.result == FAILS]
    outcome: Outcome = "not finished"
    if finished and failed:
        outcome = "differs"
    elif finished and reasons:
        outcome = "cannot be reproduced"
    elif finished:
        outcome = "agrees in shape" if spec.missing else "agrees"
    return Reproduction(
        paper=spec.paper,
        item=spec.item,
        shows=spec.shows,
        missing=tuple(spec.missing),
        outcome=outcome,
        sentence=_sentence(outcome, spec, failed, reasons),
        reasons=tuple(reasons),
        checks=tuple(
            CheckResult(statement=check.says, criterion=_criterion(check), answers=tuple(answers))
            for check, answers in checks
        ),
    )


def _criterion(check: CheckSpec) -> str:
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
    outcome: Outcome, spec: ReproducesSpec, failed: Sequence[tuple[CheckSpec, CheckAnswer]], reasons: list[str]
) -> str:
    unprinted = f"Not printed, or other than printed: {'; '.join(spec.missing)}." if spec.missing else ""
    if outcome == "not finished":
        return "The run was not finished."
    if outcome == "differs":
        check, answer = failed[0]
        where = f" ({answer.variant})" if answer.variant and not check.variant else ""
        others = len(failed) - 1
        more = f" {others} more {'answers do' if others > 1 else 'does'} not hold." if others else ""
        caution = f" {unprinted} The values chosen here may be why." if unprinted else ""
        return f"Criterion: {_criterion(check)}{where}; found: {answer.found}.{more}{caution}"
    if outcome == "cannot be reproduced":
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        return f"{reasons[0][0].upper()}{reasons[0][1:]}{more}."
    count = len(spec.checks)
    return f"{'All ' if count > 1 else ''}{count} check{'s hold' if count > 1 else ' holds'}. {unprinted}".strip()
