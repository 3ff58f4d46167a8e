"""Verdicts of attacks on records in words: shares, sentences, and attacks that a defence stops."""

from collections.abc import Sequence
from typing import NamedTuple

from attacks.audit.accounting.intervals import clopper_pearson
from attacks.reconstruction.attack import Case, Reconstruction
from attacks.reconstruction.verdict import STANDARD
from scenarios.results.attacks import ReconstructionResult, RecordAttack
from scenarios.results.numbers import fixed

RECOVERED, PARTLY, DEFENDED = "recovered", "recovered in part", "defended"
FAILED, OPEN = "failed to optimize", "not identifiable"
WEAK = "this defence holds only against weak attacks"
CLOSE, WIDE = STANDARD.close, STANDARD.wide


class Rebuilt(NamedTuple):
    """Records of one agent, rebuilt by one attack."""

    attack: str
    case: Case
    found: Reconstruction


def sentence(attacks: Sequence[RecordAttack]) -> str:
    """The verdicts together, with the numbers; empty where no attack has one.

    An attack that failed to optimize, or whose records nothing determines, says nothing for a defence.
    """
    known = [one for one in attacks if one.verdict]
    if not known:
        return ""
    aside = _missing(known)
    pairs = [(weak, strong) for weak in known for strong in known if _falls_to(weak, strong)]
    if pairs:
        weak = [one for one in known if any(one is pair[0] for pair in pairs)]
        strong = [one for one in known if any(one is pair[1] for pair in pairs)]
        left = [one for one in known if one not in weak and one not in strong]
        others = f" Beside them {_each(left)}." if left else ""
        return f"Not recovered by {_listed(weak)}; recovered by {_listed(strong)}: {WEAK}.{others}{aside}"
    if all(clearly(one, DEFENDED) for one in known) and not _better_than_a_guess(known):
        return f"Defended against all that was tried: {_listed(known)}.{aside}"
    broken = [one for one in known if clearly(one, RECOVERED)]
    if broken:
        left = [one for one in known if one not in broken]
        others = f" Beside {_plural(broken, 'it', 'them')} {_each(left)}." if left else ""
        return f"Not defended: {_listed(broken)} {_plural(broken, 'recovers', 'recover')} the records.{others}{aside}"
    return f"What came of it, by attack: {_each(known)}.{aside}"


def clearly(one: RecordAttack, word: str) -> bool:
    """Whether a word is that of more than half of agents and replicas, by the interval of its share at 95 %."""
    counts = one.verdicts or {}
    total = sum(counts.values())
    return total > 0 and clopper_pearson(counts.get(word, 0), total, 0.95).lower > 0.5


def _falls_to(weak: RecordAttack, strong: RecordAttack) -> bool:
    """Whether noise holds against one attack and not against the other, beyond chance."""
    if weak.success is None or strong.success is None or not weak.noise:
        return False
    if weak.skill is None or strong.skill is None:
        return False
    return strong.success.low > weak.success.high and strong.skill >= CLOSE and weak.skill <= WIDE


def _better_than_a_guess(attacks: Sequence[RecordAttack]) -> bool:
    """Whether the attack that succeeds most often is above the best blind guess."""
    known = [one.success for one in attacks if one.success is not None]
    best = max(known, key=lambda success: success.rate, default=None)
    return best is not None and best.guess is not None and best.low > best.guess


def only_against_weak(attacks: Sequence[RecordAttack]) -> bool:
    """Whether one attack is held off and another one recovers the records."""
    known = [one for one in attacks if one.verdict]
    return any(_falls_to(weak, strong) for weak in known for strong in known)


def _listed(attacks: Sequence[RecordAttack]) -> str:
    return ", ".join(f"{one.attack} ({numbers(one)})" for one in attacks)


def _each(attacks: Sequence[RecordAttack]) -> str:
    return "; ".join(f"{one.attack}: {shares(one)} ({numbers(one)})" for one in attacks)


def shares(one: RecordAttack) -> str:
    """Its words, the most frequent first, with how often where there are several."""
    counts = sorted((one.verdicts or {}).items(), key=lambda pair: -pair[1])
    total = sum(count for _, count in counts)
    if len(counts) < 2:
        return str(one.verdict)
    return ", ".join(f"{word} in {count} of {total}" for word, count in counts)


def _missing(attacks: Sequence[RecordAttack]) -> str:
    known = list(dict.fromkeys(text for one in attacks if (text := missing(one))))
    return "".join(f" {text[0].upper()}{text[1:]}." for text in known)


def missing(one: RecordAttack) -> str:
    """Of how many agents nothing was rebuilt, which count as not rebuilt; empty where there is none."""
    of, left_out = one.agents_in_all or 0, len(one.left_out)
    silent = of - (one.agents_reached or 0) - left_out
    known = [f"{silent} of {of} agents: nothing inferred"] if silent > 0 else []
    known += (
        [f"{left_out} of {of} agents: not attacked, they do not grant what {one.attack} needs"] if left_out else []
    )
    return "; ".join(known)


def numbers(one: RecordAttack) -> str:
    """An attack's numbers in a few words: how often it rebuilt a record, and how well."""
    rate = f"{one.success.count} of {one.success.of} rebuilt, " if one.success is not None else ""
    quality = f"skill {fixed(one.skill)}" if one.psnr is None else f"PSNR {fixed(one.psnr, 1)} dB"
    return f"{rate}{quality}"


def _plural(found: Sequence[RecordAttack], one: str, several: str) -> str:
    return one if len(found) == 1 else several


def lines(found: ReconstructionResult | None) -> list[str]:
    """A line for each attack, and the sentence, for the terminal."""
    if found is None:
        return []
    each = [f"{one.attack}: {_line(one)}" for one in found.attacks]
    return [*each, found.sentence] if found.sentence else each


def _line(one: RecordAttack) -> str:
    if one.refused:
        return f"no record rebuilt: {one.refused.rstrip('.')}."
    success = one.success
    assert success is not None
    rate = f"success {fixed(success.rate)} [{fixed(success.low)}, {fixed(success.high)}]"
    psnr = "" if one.psnr is None else f"PSNR {fixed(one.psnr, 1)} dB, "
    guess = "" if success.guess is None else f" (a blind guess {fixed(success.guess)})"
    silent = f"; {missing(one)}" if missing(one) else ""
    return f"{shares(one)}; {psnr}skill {fixed(one.skill)}, {rate}{guess}{silent}."
