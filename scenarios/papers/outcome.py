"""Outcome of a paper's item: its checks, what prevents them, and one verdict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from scenarios.papers import measures
from scenarios.papers.measures import COSTS, GRAPH, NAMES, REBUILT, Fields, Place, exponent, groups, other_of
from scenarios.results import curves
from scenarios.results.audit import AuditRefused
from scenarios.results.curves import NotMeasuredError, conditions, entry_of
from scenarios.results.numbers import show, show_epsilon
from scenarios.results.reproduction import Answered, CheckAnswer, Outcome, Reproduction
from scenarios.results.tree import AlgorithmResult, Results
from scenarios.schema import checks

HOLDS: Answered = "holds"
FAILS: Answered = "fails"
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


@dataclass
class _Judge:
    spec: checks.ReproducesSpec
    runs: dict[str, Ran]
    fields: Fields
    expected: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    """What checks themselves expect to go wrong: what, in which variant, of which algorithm."""

    def __post_init__(self) -> None:
        for check in self.spec.checks:
            for variant in self.variants(check):
                if isinstance(check, checks.Fact) and check.equals:
                    self.expected.add((check.measure, variant, check.of))
                if isinstance(check, checks.OptimumIsZero) and check.equals:
                    self.expected.add((check.measure, variant, ""))
                if isinstance(check, checks.VacuousFrom):
                    self.expected.add(("vacuous", variant, check.of))

    def variants(self, check: checks.CheckSpec) -> list[str]:
        return list(self.runs) if check.variant is None else [check.variant]

    def entry(self, place: Place) -> AlgorithmResult:
        return entry_of(self.runs[place.variant].complete, place.of)

    def sound(self, check: checks.Quantity, place: Place) -> AlgorithmResult:
        """The entry that a number is taken from; a `NotMeasuredError` where the number would mean nothing."""
        entry = self.entry(place)
        if isinstance(check, checks.Final | checks.ErrorAfter | checks.CostTo | checks.Growth | checks.Slope):
            problem = self.runs[place.variant].complete.problem
            zero = problem is not None and problem.optimum_is_zero
            if zero and ("optimum_is_zero", place.variant, "") not in self.expected:
                raise NotMeasuredError(ZERO + (f" ({place.variant})" if place.variant else ""))
            if ("diverged", place.variant, place.of) not in self.expected and measures.diverged(entry):
                raise NotMeasuredError(f"{place} diverges at these parameters")
        if isinstance(check, checks.ClaimedAfter | checks.VacuousFrom) and _claim_undefined(entry):
            raise NotMeasuredError(f"the claim of {place} is undefined: {conditions(entry)}")
        return entry

    # ── checks ──────────────────────────────────────────────────────────────────────────────────────
    def answers(self, check: checks.CheckSpec) -> list[CheckAnswer]:
        """One for each variant, or group of them that differ in one field, that the check is about."""
        answers: list[CheckAnswer] = []
        for name in groups(self.fields, check.over) if isinstance(check, checks.Growth) else self.variants(check):
            try:
                result, found, reason = self.answer(check, name)
            except NotMeasuredError as why:
                result, found, reason = BLOCKED, "", str(why)
            answers.append(CheckAnswer(variant=name, result=result, found=found, reason=reason))
        return answers

    def answer(self, check: checks.CheckSpec, variant: str) -> tuple[Answered, str, str]:
        """Result, what was found, and why a check cannot be answered."""
        if isinstance(check, checks.OptimumIsZero):
            problem = self.runs[variant].complete.problem
            if problem is None:
                raise NotMeasuredError("the problem was not solved")
            found, text, why = problem.optimum_is_zero, ("x* = 0", "x* ≠ 0"), ZERO
            return _stated(check.equals, found, text, why)
        place = Place(variant, check.of)
        match check:
            case checks.Verdict():
                audit = self.entry(place).audit
                if audit is None or isinstance(audit, AuditRefused):
                    why = "there is no verdict" if audit is None else audit.refused
                    raise NotMeasuredError(f"{place} was not audited: {why}")
                return HOLDS if audit.verdict in _allowed(check) else FAILS, audit.verdict, ""
            case checks.AttackVerdict():
                verdict = curves.record_attack(self.entry(place), check.attack).verdict
                return HOLDS if verdict in _allowed(check) else FAILS, str(verdict), ""
            case checks.Fact(measure="diverged"):
                found, why = measures.diverged(self.entry(place)), f"{place} diverges at these parameters"
                return _stated(check.equals, found, ("diverges", "does not diverge"), why)
            case checks.Fact(measure="convergence_unproven"):
                failed = self.entry(place).unproven
                if failed is None:
                    raise NotMeasuredError(f"conditions of a convergence theorem of {place} are not computed")
                answer: Answered = HOLDS if bool(failed) == check.equals else FAILS
                return answer, "; ".join(failed) or "all conditions hold", ""
            case checks.Fact():
                entry = self.entry(place)
                found, words = _claim_undefined(entry), ("undefined", "defined")
                return _stated(check.equals, found, words, f"the claim of {place} is undefined: {conditions(entry)}")
            case _:
                number, whose = self.found(check, place), other_of(check, variant)
                other = None if whose is None else self.found(check, whose)
                text = str(number) + ("" if other is None else f", against {other}")
                result = _compare(check, number, other)
                why = f"{_quantity(check)} of {place} is {text}: undecided" if result == BLOCKED else ""
                return result, text, why

    def found(self, check: checks.Quantity, place: Place) -> measures.Found:
        """The number that a check is about, of one algorithm."""
        if not isinstance(check, checks.Growth):
            return measures.measured(check, self.sound(check, place))
        variants = groups(self.fields, check.over)[place.variant]
        if check.over in GRAPH:
            for variant in variants:
                if (network := self.runs[variant].complete.network) is not None:
                    size = measures.graph_size(check.over, len(network.positions), network.edges)
                    variants[variant] = size
        what = check.quantity.removesuffix("_to")
        entries = [self.sound(check, Place(variant, place.of)) for variant in variants]
        costs = [measures.cost(entry, check.accuracy, what, check.curve) for entry in entries]
        for variant, one in zip(variants, costs, strict=True):
            if math.isinf(one.high):
                raise NotMeasuredError(f"{Place(variant, place.of)} ended above an error of {check.accuracy:g}")
        return exponent(list(variants.values()), costs)

    # ── the budget ──────────────────────────────────────────────────────────────────────────────────
    def vacuous(self) -> list[str]:
        """Algorithms of the checks whose claimed ε is above the stated bound at the end."""
        level = self.spec.vacuous_above
        if level is None:
            return []
        others = (check for check in self.spec.checks if not isinstance(check, checks.OptimumIsZero))
        places = dict.fromkeys(Place(variant, check.of) for check in others for variant in self.variants(check))
        lines: list[str] = []
        for place in places:
            try:
                entry = self.entry(place)
                epsilon, start = measures.claimed(entry), measures.vacuous_from(entry, level)
            except NotMeasuredError:  # claims no number
                continue
            expected = ("vacuous", place.variant, place.of) in self.expected
            if not expected and epsilon > level and entry.budget is not None:
                counted = "round" if entry.budget.unit == "rounds" else "activation of one agent"
                above = f"the claimed ε is {show_epsilon(epsilon)}, above {show(level)} from {counted} {start} on"
                lines.append(f"the budget of {place} is vacuous: {above}")
        return lines


def _claim_undefined(entry: AlgorithmResult) -> bool:
    """Whether a condition of the claim's formula fails for this run."""
    if entry.budget is None:
        raise NotMeasuredError(f"{entry.name} claims nothing")
    return bool(entry.budget.failed_conditions)


def _stated(wanted: bool, found: bool, words: tuple[str, str], why: str) -> tuple[Answered, str, str]:
    """The answer of a check on what stands in the way of others: where it is not `wanted`, it does so itself."""
    text = words[not found]
    if found and not wanted:
        return BLOCKED, text, why
    return HOLDS if found == wanted else FAILS, text, ""


def _allowed(check: checks.Verdict | checks.AttackVerdict) -> Sequence[str]:
    return check.equals if isinstance(check.equals, list) else [check.equals]


def judge(
    spec: checks.ReproducesSpec, runs: Sequence[Ran], finished: bool, fields: Fields | None = None
) -> Reproduction:
    """The outcome, with every check and what was found. `fields` are those of each variant: a growth is over one."""
    judge = _Judge(spec, {ran.variant: ran for ran in runs}, fields or {})
    answered = [(check, judge.answers(check)) for check in spec.checks]
    blocked = (a.reason for _, answers in answered for a in answers if a.result == BLOCKED)
    reasons = list(dict.fromkeys([*judge.vacuous(), *blocked]))
    failed = [(check, a) for check, answers in answered for a in answers if a.result == FAILS]
    outcome: Outcome = "not finished"
    if finished and failed:
        outcome = "differs"
    elif finished and reasons:
        outcome = "cannot be run"
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
            Reproduction.CheckResult(statement=check.says, criterion=_criterion(check), answers=tuple(answers))
            for check, answers in answered
        ),
    )


def _compare(check: checks.Quantity, found: measures.Found, other: measures.Found | None) -> Answered:
    """Whether a relation holds for every number between the two ends, for none of them, or cannot be decided."""
    sides: list[tuple[bool, bool]] = []  # holds, fails
    if other is not None:
        down = check.below_of is not None
        # moved by the factor `by`: down for `below_of`, up for `above_of`, negative ones too
        low, high = (v / check.by if down == (v >= 0) else v * check.by for v in (other.low, other.high))
        sides.append((found.high < low, found.low >= high) if down else (found.low > high, found.high <= low))
    elif check.equals is not None:
        room = check.within * abs(check.equals) if check.equals else check.within
        low, high = check.equals - room, check.equals + room
        sides.append((low <= found.low and found.high <= high, found.high < low or found.low > high))
    else:
        if check.below is not None:
            sides.append((found.high < check.below, found.low >= check.below))
        if check.above is not None:
            sides.append((found.low > check.above, found.high <= check.above))
    if any(fails and not holds for holds, fails in sides):
        return FAILS
    return HOLDS if all(holds for holds, _ in sides) else BLOCKED


# ── in words ────────────────────────────────────────────────────────────────────────────────────────────
def _quantity(check: checks.Quantity) -> str:
    """A measure in words, without whose it is."""
    curve = str(getattr(check, "curve", "")).replace("_", " ")
    match check:
        case checks.Final():
            return f"final {curve}"
        case checks.AtEnd():
            return NAMES[check.measure]
        case checks.Rebuilt():
            return f"{REBUILT[check.measure]} of {check.attack}"
        case checks.ErrorAfter():
            return f"{curve} after {check.after:,}"
        case checks.CostTo() | checks.Growth():
            measure = check.quantity if isinstance(check, checks.Growth) else check.measure
            what = measure.removesuffix("_to")
            whose = "an error" if check.curve == "relative_error" else f"a {curve}"
            cost = f"{COSTS.get(what, what)} to {whose} of {show(check.accuracy)}"
            return f"growth exponent over {check.over} of {cost}" if isinstance(check, checks.Growth) else cost
        case checks.Slope():
            return f"slope of the {curve} {'over the stated one' if check.over_rate else 'in decades'}"
        case checks.ClaimedAfter():
            return "claimed ε" if check.after is None else f"claimed ε after {check.after:,}"
        case checks.VacuousFrom():
            return f"round from which the claimed ε is above {show_epsilon(check.epsilon)}"
        case _:
            raise TypeError(f"no such measure: {check!r}")


def _relation(check: checks.Quantity) -> str:
    """The relation to other numbers, in words."""
    if check.equals is not None:
        near = f"{show(100 * check.within)} %" if check.equals else show(check.within)
        return f"equal to {show(check.equals)} within {near}"
    if (other := other_of(check, "")) is not None:
        whose = str(other) if other.of != check.of else f"that in {other.variant}"
        less = check.below_of is not None
        if check.by != 1:
            return f"at least {show(check.by)} times {'smaller' if less else 'larger'} than {whose}"
        return f"{'below' if less else 'above'} {whose}"
    ends = [f"above {show(check.above)}"] if check.above is not None else []
    return " and ".join(ends + ([f"below {show(check.below)}"] if check.below is not None else []))


def _criterion(check: checks.CheckSpec) -> str:
    """A check in words."""
    where = f" in {check.variant}" if check.variant else ""
    match check:
        case checks.OptimumIsZero():
            return f"optimum{where} {'is' if check.equals else 'is not'} zero"
        case checks.Fact(measure="diverged"):
            return f"{check.of}{where} {'diverges' if check.equals else 'does not diverge'}"
        case checks.Fact(measure="convergence_unproven"):
            state = "some condition fails" if check.equals else "all conditions hold"
            return f"convergence theorem of {check.of}{where}: {state}"
        case checks.Fact():
            return f"claim of {check.of}{where} is {'undefined' if check.equals else 'defined'}"
        case checks.AttackVerdict():
            return f"{check.attack} on {check.of}{where}: {' or '.join(_allowed(check))}"
        case checks.Verdict():
            return f"verdict on {check.of}{where}: {' or '.join(_allowed(check))}"
        case _:
            return f"{_quantity(check)} of {check.of}{where} {_relation(check)}"


def _sentence(
    outcome: Outcome,
    spec: checks.ReproducesSpec,
    failed: Sequence[tuple[checks.CheckSpec, CheckAnswer]],
    reasons: list[str],
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
    if outcome == "cannot be run":
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        return f"{reasons[0][0].upper()}{reasons[0][1:]}{more}."
    count = len(spec.checks)
    return f"{'All ' if count > 1 else ''}{count} check{'s hold' if count > 1 else ' holds'}. {unprinted}".strip()
