"""Attacks in words: rates, verdicts of attacks on records, and attacks that a defence stops."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from attacks.audit.accounting.intervals import clopper_pearson
from attacks.reconstruction.attack import Case, Reconstruction
from attacks.reconstruction.verdict import CLOSE, WIDE
from scenarios.results.attacked import KeptLevel
from scenarios.results.attacks import AtLevel, Bounded, RecordAttack
from scenarios.results.base import Rate
from scenarios.results.numbers import fixed
from scenarios.results.tree import AlgorithmResult

Level = TypeVar("Level", AtLevel, KeptLevel)
RECOVERED, PARTLY, DEFENDED = "recovered", "recovered in part", "defended"
FAILED, OPEN = "failed to optimize", "not identifiable"
WEAK = "this defence holds only against weak attacks"
ABSENT = {"remove": "it is removed", "zero_out": "it is zeroed out", "replace": "another one is in its place"}
VACUOUS = 0.9995
"""An allowance nearer to 1 than this says nothing."""


class Rebuilt(NamedTuple):
    """Records of one agent, rebuilt by one attack."""

    attack: str
    case: Case
    found: Reconstruction


def lines(entry: AlgorithmResult) -> list[str]:
    """All sentences of an algorithm for the terminal, with a line for each attack on records."""
    found: list[str] = []
    records = entry.reconstructions
    for one in () if records is None else records.attacks:
        if one.refused:
            found.append(f"{one.attack}: no record rebuilt: {one.refused.rstrip('.')}.")
            continue
        success = one.success
        assert success is not None
        psnr = "" if one.psnr is None else f"PSNR {fixed(one.psnr, 1)} dB, "
        guess = "" if success.guess is None else f" (a blind guess {fixed(success.guess)})"
        silent = f"; {missing(one)}" if missing(one) else ""
        ends = f"success {fixed(success.rate)} [{fixed(success.low)}, {fixed(success.high)}]"
        found.append(f"{one.attack}: {shares(one)}; {psnr}skill {fixed(one.skill)}, {ends}{guess}{silent}.")
    return [*found, *(one.sentence for one in (records, entry.membership, entry.property) if one and one.sentence)]


# ── rates ───────────────────────────────────────────────────────────────────────────────────────────────
def headline(levels: Sequence[Level]) -> Level:
    """The level that a sentence is about: the one nearest to 5 %."""
    return min(levels, key=lambda one: abs(one.level - 0.05))


def rate(one: Rate) -> str:
    """A share with its interval, in percent."""
    ends = ", ".join(percent(end).removesuffix(" %") for end in (one.low, one.high))
    return f"{percent(one.rate)} of one" if one.of == 1 else f"{percent(one.rate)} [{ends}]"


def interval(one: Bounded) -> str:
    """A number with its interval."""
    return f"{fixed(one.estimate)} [{fixed(one.low)}, {fixed(one.high)}]"


def percent(value: float) -> str:
    """A share in percent, to a tenth."""
    return f"{100 * value:.1f}".removesuffix(".0") + " %"


# ── verdicts ────────────────────────────────────────────────────────────────────────────────────────────
def sentence(attacks: Sequence[RecordAttack]) -> str:
    """The verdicts together, with the numbers; empty where no attack has one.

    An attack that failed to optimize, or whose records nothing determines, says nothing for a defence.
    """
    known = [one for one in attacks if one.verdict]
    if not known:
        return ""
    texts = dict.fromkeys(text for one in known if (text := missing(one)))
    aside = "".join(f" {text[0].upper()}{text[1:]}." for text in texts)
    pairs = _falls(known)
    if pairs:
        weak = [one for one in known if any(one is pair[0] for pair in pairs)]
        strong = [one for one in known if any(one is pair[1] for pair in pairs)]
        left = [one for one in known if one not in weak and one not in strong]
        others = f" Beside them {_each(left)}." if left else ""
        return f"Not recovered by {_listed(weak)}; recovered by {_listed(strong)}: {WEAK}.{others}{aside}"
    rates = [one.success for one in known if one.success is not None]
    best = max(rates, key=lambda success: success.rate, default=None)
    guessed = best is None or best.guess is None or best.low <= best.guess
    if guessed and all(clearly(one, DEFENDED) for one in known):
        return f"Defended against all that was tried: {_listed(known)}.{aside}"
    if broken := [one for one in known if clearly(one, RECOVERED)]:
        left = [one for one in known if one not in broken]
        them, recover = ("it", "recovers") if len(broken) == 1 else ("them", "recover")
        others = f" Beside {them} {_each(left)}." if left else ""
        return f"Not defended: {_listed(broken)} {recover} the records.{others}{aside}"
    return f"What came of it, by attack: {_each(known)}.{aside}"


def clearly(one: RecordAttack, word: str) -> bool:
    """Whether a word is that of more than half of agents and replicas, by the interval of its share at 95 %."""
    counts = one.verdicts or {}
    total = sum(counts.values())
    return total > 0 and clopper_pearson(counts.get(word, 0), total, 0.95).lower > 0.5


def only_against_weak(attacks: Sequence[RecordAttack]) -> bool:
    """Whether one attack is held off and another one recovers the records."""
    return bool(_falls([one for one in attacks if one.verdict]))


def _falls(known: Sequence[RecordAttack]) -> list[tuple[RecordAttack, RecordAttack]]:
    """Pairs of attacks of which noise holds against the first and not against the second, beyond chance."""
    return [
        (weak, strong)
        for weak in known
        for strong in known
        if weak.noise and weak.success and strong.success and weak.skill is not None and strong.skill is not None
        if strong.success.low > weak.success.high
        if strong.skill >= CLOSE and weak.skill <= WIDE
    ]


def _listed(attacks: Sequence[RecordAttack]) -> str:
    return ", ".join(f"{one.attack} ({_numbers(one)})" for one in attacks)


def _each(attacks: Sequence[RecordAttack]) -> str:
    return "; ".join(f"{one.attack}: {shares(one)} ({_numbers(one)})" for one in attacks)


def _numbers(one: RecordAttack) -> str:
    """How often an attack rebuilt a record, and how well."""
    hits = f"{one.success.count} of {one.success.of} rebuilt, " if one.success is not None else ""
    return hits + (f"skill {fixed(one.skill)}" if one.psnr is None else f"PSNR {fixed(one.psnr, 1)} dB")


def shares(one: RecordAttack) -> str:
    """Its words, the most frequent first, with how often where there are several."""
    counts = sorted((one.verdicts or {}).items(), key=lambda pair: -pair[1])
    if len(counts) < 2:
        return str(one.verdict)
    total = sum(count for _, count in counts)
    return ", ".join(f"{word} in {count} of {total}" for word, count in counts)


def missing(one: RecordAttack) -> str:
    """Of how many agents nothing was rebuilt, which count as not rebuilt; empty where there is none."""
    of, left_out = one.agents_in_all or 0, len(one.left_out)
    silent = of - (one.agents_reached or 0) - left_out
    known = [f"{silent} of {of} agents: nothing inferred"] if silent > 0 else []
    if left_out:
        known.append(f"{left_out} of {of} agents: not attacked, they do not grant what {one.attack} needs")
    return "; ".join(known)
