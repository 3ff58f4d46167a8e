"""Membership and property inference as results: success rates, what a claim allows, and both in sentences."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attacks.score.inference import of_group
from netsim.claims import Claim
from scenarios.build.experiment import Experiment, Subject, adjacency_of
from scenarios.results.entries import Results
from scenarios.results.numbers import fixed, number, show
from scenarios.schema.scenario import GradientChange

Result = Mapping[str, Any]
ABSENT = {"remove": "it is removed", "zero_out": "it is zeroed out", "replace": "another one is in its place"}

VACUOUS = 0.9995
"""An allowance nearer to 1 than this says nothing."""


def lines(entry: Result) -> list[str]:
    """All sentences of an algorithm."""
    found = [entry.get(key) for key in ("membership", "property")]
    return [str(one["sentence"]) for one in found if one and one.get("sentence")]


def membership(found: Result) -> str:
    """What the membership game says, in a sentence or two."""
    if found.get("refused"):
        return f"No membership attack: {_as_sentence(found['refused'])}"
    about = f"Membership of a record of agent {found['agent']} (in the other world {ABSENT[found['adjacency']]})"
    if not found["noise"] and found["informed"]:
        sure = "told" if number(found["advantage"]["estimate"]) == 1 else "not told"
        return f"{about}: {sure}; without noise each world has one transcript, and no chance is in it."
    return f"{about}: {_rates(found)}{_against(found)}"


def _rates(found: Result) -> str:
    level = headline(found["levels"])
    power = f"found {rate(level['found'])} of the time at {percent(level['level'])} false alarms"
    if number(found["advantage"]["low"]) <= 0:
        return f"{power}; not told from chance"
    if number(found["auc"]["estimate"]) == 1:
        return f"told without an error in {found['trials']} transcripts of each world"
    return f"{power}, advantage {interval(found['advantage'])}"


def _against(found: Result) -> str:
    claim, level = found["claim"], headline(found["levels"])
    if claim["epsilon"] is None:
        return "."
    most = percent(level["allowed"]) if number(level["allowed"]) < VACUOUS else "everything"
    allowed = f"at {percent(level['level'])} the claimed ε = {show(claim['epsilon'])} allows {most}"
    return f"; {allowed}. The claim does not hold." if claim["broken"] else f"; {allowed}."


def properties(found: Result) -> str:
    """What the property game says, in a sentence."""
    if found.get("refused"):
        return f"No property inference: {_as_sentence(found['refused'])}"
    names = " or ".join(str(one["name"]) for one in found["hypotheses"])
    right, guess = found["right"], percent(found["guess"])
    told = f"What agent {found['agent']}'s records are like ({names}): right {rate(right)} of the time"
    chance = ", not told from chance" if number(right["low"]) <= number(found["guess"]) else ""
    most = right.get("allowed")
    allowed = ""
    if most is not None and number(most) < VACUOUS:
        allowed = f"; the claimed ε allows {percent(most)}"
    return f"{told} (a guess: {guess}){chance}{allowed}."


def membership_of_recording(found: Result) -> str:
    """What is said of a kept transcript."""
    if found.get("refused"):
        return f"No membership attack: {_as_sentence(found['refused'])}"
    level = headline(found["levels"])
    at = f"at {percent(level['level'])} false alarms by the law"
    if not found["scored"]:
        said, of = level["said"]
        return f"Membership: said of {said} of {of} records that they are the agent's, {at}; not scored."
    alarms = level["alarms"]
    counted = f", {rate(alarms)} of those that are not" if alarms else "; false alarms take a run without the record"
    told = f"Membership: {rate(level['found'])} of the agents' own records are said to be theirs, {at}"
    return f"{told}{counted}."


def property_of_recording(found: Result) -> str:
    """What is said of a kept transcript."""
    if found.get("refused"):
        return f"No property inference: {_as_sentence(found['refused'])}"
    named = [str(one["named"]) for one in found["agents"]]
    told = ", ".join(f"{named.count(name)} × {name}" for name in dict.fromkeys(named))
    if (right := found["right"]) is None:
        why = "no agent's own labels single one out" if found["scored"] else "not scored"
        return f"Property: named {told}; {why}."
    return (
        f"Property: named {told}; it is the one that the agent's own labels say {rate(right)} of the time "
        f"(a guess: {percent(found['guess'])})."
    )


def headline(levels: Sequence[Result]) -> Result:
    """The level that is told in a sentence: the one nearest to 5 %."""
    return min(levels, key=lambda one: abs(number(one["level"]) - 0.05))


def rate(one: Result) -> str:
    """A share with its interval, in percent."""
    if one["of"] == 1:
        return f"{percent(one['rate'])} of one"
    return f"{percent(one['rate'])} [{_share(one['low'])}, {_share(one['high'])}]"


def interval(one: Result) -> str:
    """A number with its interval."""
    return f"{fixed(one['estimate'])} [{fixed(one['low'])}, {fixed(one['high'])}]"


def percent(value: Any) -> str:
    """A share in percent, to a tenth."""
    return f"{_share(value)} %"


def _share(value: Any) -> str:
    return f"{100 * number(value):.1f}".removesuffix(".0")


def _as_sentence(reason: object) -> str:
    return str(reason).rstrip(".") + "."


@dataclass(frozen=True)
class Allowance:
    """ε and δ for the pair of worlds that is played, or `why_not`; `claim` is what they are computed from."""

    epsilon: float | None
    delta: float
    claim: Claim | None
    steps: int = 1
    why_not: str = ""

    def described(self) -> Results:
        """As results have it. `steps`: how many adjacent data sets lie between the worlds."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta if self.epsilon is not None else None,
            "source": None if self.claim is None else self.claim.source,
            "adjacency": None if self.claim is None else self.claim.adjacency.relation,
            "steps": self.steps,
            "why_not": self.why_not or None,
        }


def allowance(experiment: Experiment, subject: Subject, activations: int, records: int = 1) -> Allowance:
    """Of worlds that differ in so many records of one agent, after so many activations (Θ) of the attacked run."""
    scenario, holding = experiment.scenario, experiment.holding
    if scenario.active_adversaries:
        return _none("no claim is about a run with an active adversary")
    if scenario.audit is not None and isinstance(scenario.audit.adjacency, GradientChange):
        return _none("the claim is about a change of the gradient here, and not about a record")
    if holding is None or subject.attacked is None:
        return _none("agents hold other records than in a run that is attacked")
    claim = subject.attacked.claim(
        adjacency_of(scenario, experiment.dataset, holding.problem), activations, subject.delta
    )
    if claim is None:
        return _none("no privacy is claimed")
    if claim.epsilon is None:
        return _none(f"the claim's own conditions fail: {'; '.join(claim.failed_conditions)}", claim)
    if not math.isfinite(claim.epsilon):
        return _none("the claimed ε is infinite", claim)
    steps = 1 if scenario.audit is not None and scenario.audit.adjacency == "agent" else records
    epsilon, delta = of_group(steps, claim.epsilon, claim.delta)
    return Allowance(epsilon, delta, claim, steps)


def _none(why: str, claim: Claim | None = None) -> Allowance:
    return Allowance(None, 0.0, claim, 1, why)
