"""Membership and property inference in sentences: success rates, and what a claim allows."""

from collections.abc import Sequence
from typing import TypeVar

from scenarios.results.attacked import KeptLevel, KeptMembership, KeptProperty
from scenarios.results.attacks import (
    AtLevel,
    Bounded,
    Membership,
    MembershipRefused,
    MembershipResult,
    Property,
    PropertyRefused,
)
from scenarios.results.base import Rate
from scenarios.results.numbers import fixed, show
from scenarios.results.tree import AlgorithmResult

Level = TypeVar("Level", AtLevel, KeptLevel)
ABSENT = {"remove": "it is removed", "zero_out": "it is zeroed out", "replace": "another one is in its place"}
VACUOUS = 0.9995
"""An allowance nearer to 1 than this says nothing."""


def lines(entry: AlgorithmResult) -> list[str]:
    """All sentences of an algorithm."""
    return [one.sentence for one in (entry.membership, entry.property) if one is not None and one.sentence]


def membership(found: Membership) -> str:
    """The outcome of the membership game, in a sentence or two."""
    if isinstance(found, MembershipRefused):
        return f"No membership attack: {_as_sentence(found.refused)}"
    about = f"Membership of a record of agent {found.agent} (in the other world {ABSENT[found.adjacency]})"
    if not found.noise and found.informed:
        sure = "certain" if found.advantage.estimate == 1 else "not recognized"
        return f"{about}: {sure}; without noise each world has one transcript, and no chance is in it."
    return f"{about}: {_rates(found)}{_against(found)}"


def _rates(found: MembershipResult) -> str:
    level = headline(found.levels)
    if found.advantage.low <= 0:
        power = f"found {rate(level.found)} of the time at {percent(level.level)} false alarms"
        return f"{power}; not distinguishable from chance"
    if found.auc.estimate == 1:
        return f"recognized without an error in {found.trials} transcripts of each world"
    power = f"found {rate(level.found)} of the time at {percent(level.level)} false alarms"
    return f"{power}, advantage {interval(found.advantage)}"


def _against(found: MembershipResult) -> str:
    claim, level = found.claim, headline(found.levels)
    if claim.epsilon is None:
        return "."
    most = percent(level.allowed) if level.allowed is not None and level.allowed < VACUOUS else "everything"
    allowed = f"at {percent(level.level)} the claimed ε = {show(claim.epsilon)} allows {most}"
    return f"; {allowed}. The claim does not hold." if claim.broken else f"; {allowed}."


def properties(found: Property) -> str:
    """The outcome of the property game, in a sentence."""
    if isinstance(found, PropertyRefused):
        return f"No property inference: {_as_sentence(found.refused)}"
    names = " or ".join(one.name for one in found.hypotheses)
    right = found.right
    about = f"Property of agent {found.agent}'s records ({names}): right {rate(right)} of the time"
    chance = ", not distinguishable from chance" if right.low <= found.guess else ""
    allowed = ""
    if right.allowed is not None and right.allowed < VACUOUS:
        allowed = f"; the claimed ε allows {percent(right.allowed)}"
    return f"{about} (a guess: {percent(found.guess)}){chance}{allowed}."


def membership_of_recording(found: KeptMembership) -> str:
    """The outcome of the membership test on a kept transcript."""
    if found.refused:
        return f"No membership attack: {_as_sentence(found.refused)}"
    level = headline(found.levels)
    at = f"at {percent(level.level)} false alarms by the law"
    if not found.scored or level.found is None:
        accepted, of = level.accepted
        return f"Membership: {accepted} of {of} records are decided to be the agent's, {at}; not scored."
    counted = "; false alarms take a run without the record"
    if level.alarms is not None:
        counted = f", {rate(level.alarms)} of those that are not"
    return f"Membership: {rate(level.found)} of the agents' own records are decided to be theirs, {at}{counted}."


def property_of_recording(found: KeptProperty) -> str:
    """The outcome of property inference on a kept transcript."""
    if found.refused:
        return f"No property inference: {_as_sentence(found.refused)}"
    names = [one.named for one in found.agents]
    named = ", ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names))
    if found.right is None or found.guess is None:
        why = "no agent's own labels single one out" if found.scored else "not scored"
        return f"Property: named {named}; {why}."
    return (
        f"Property: named {named}; it is the one that the agent's own labels say {rate(found.right)} of the time "
        f"(a guess: {percent(found.guess)})."
    )


def headline(levels: Sequence[Level]) -> Level:
    """The level that a sentence is about: the one nearest to 5 %."""
    return min(levels, key=lambda one: abs(one.level - 0.05))


def rate(one: Rate) -> str:
    """A share with its interval, in percent."""
    if one.of == 1:
        return f"{percent(one.rate)} of one"
    return f"{percent(one.rate)} [{_share(one.low)}, {_share(one.high)}]"


def interval(one: Bounded) -> str:
    """A number with its interval."""
    return f"{fixed(one.estimate)} [{fixed(one.low)}, {fixed(one.high)}]"


def percent(value: float) -> str:
    """A share in percent, to a tenth."""
    return f"{_share(value)} %"


def _share(value: float) -> str:
    return f"{100 * value:.1f}".removesuffix(".0")


def _as_sentence(reason: str) -> str:
    return reason.rstrip(".") + "."
