"""Attacks in words: rates, verdicts of attacks on records, and attacks that a defence stops; and the findings of
`netsim attack` on kept transcripts, attack-ALGORITHM.json."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeVar

from attacks.audit.accounting.intervals import clopper_pearson
from attacks.reconstruction.attack import Case, Reconstruction
from attacks.reconstruction.verdict import CLOSE, WIDE
from scenarios.results.attacks import AtLevel, Bounded, Original, RecordAttack, Traffic
from scenarios.results.base import Counts, LeftOut, Numbers, Rate, Result
from scenarios.results.numbers import fixed
from scenarios.results.tree import AlgorithmResult
from scenarios.schema.attacks import HypothesisSpec, Inversion, Rounds


class TruthStatus(Result):
    """Whether the truth was simulated again from the seed."""

    remade: bool
    seconds: float | None
    why_not: str | None


class KeptGradients(Result):
    """Gradients inferred from a transcript; scores are null without the truth."""

    refused: str | None
    estimates: str | None
    """File."""
    attack: str | None = None
    estimated: int | None = None
    inferred: Counts | None = None
    exact: int | None = None
    """Estimates without noise."""
    queries: int | None = None
    hidden: Counts | None = None
    worst: float | None = None
    median: float | None = None
    baseline: float | None = None
    curve: Numbers | None = None
    by_replica: Numbers | None = None


class KeptRecords(Result):
    """Records rebuilt from a transcript."""

    attacks: tuple[RecordAttack, ...]
    sentence: str
    records: str | None
    """File."""
    transcript: str
    truth: TruthStatus | None
    holding: int | None = None
    distance: float | None = None
    replicas: int | None = None
    shape: tuple[int, ...] | None = None
    range: tuple[float, float] | None = None
    image: bool | None = None
    originals: tuple[Original, ...] | None = None
    """With the truth alone."""


class _KeptGame(Result):
    """Setting of membership and property inference from a kept transcript; lists are empty where refused."""

    refused: str | None
    inversion: Inversion
    rounds: Rounds
    source: str
    confidence: float
    sentence: str
    transcript: str
    scored: bool | None = None
    """Whether the truth is known."""


class KeptLevel(Result):
    """The membership test at one level, over agents and replicas."""

    level: float
    power: float
    accepted: tuple[int, int]
    """Decisions "in", of how many."""
    found: Rate | None
    alarms: Rate | None


class KeptMembership(_KeptGame):
    """Membership of each agent's record."""

    class KeptMember(Result):
        """Decisions about one agent's record."""

        agent: int
        estimates: int
        score: float
        accepted: Counts
        """Replicas at each level."""

    adjacency: Literal["remove", "zero_out", "replace"]
    informed: bool
    levels: tuple[KeptLevel, ...] = ()
    agents: tuple[KeptMember, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


class KeptProperty(_KeptGame):
    """The property of each agent's records."""

    class NamedHypothesis(Result):
        """The hypothesis named of one agent."""

        agent: int
        named: str
        posterior: Numbers
        likeliest: str | None
        """By its own labels; null without the truth, or where two are."""

    hypotheses: tuple[HypothesisSpec, ...]
    agents: tuple[NamedHypothesis, ...] = ()
    right: Rate | None = None
    guess: float | None = None


class KeptLoss(Result):
    """The exact privacy loss of what was recorded, between the scenario's two worlds; null where refused."""

    agent: int
    pair: str
    refused: str | None
    world: Literal[0, 1] | None = None
    """Whose messages these are, to the last bit."""
    releases: int | None = None
    losses: Numbers = ()
    """Nats in favour of that world, by replica; infinite where a message is unprotected."""
    sentence: str = ""


class AttackReport(Result):
    """All attacks on one algorithm's transcripts; null where not requested."""

    folder: str
    algorithm: str
    slug: str
    refused: str | None = None
    """No transcript is there; all else is then null."""
    transcript: str | None = None
    rows: int | None = None
    replicas: int | None = None
    gradients: KeptGradients | None = None
    truth: TruthStatus | None = None
    reconstructions: KeptRecords | None = None
    traffic_analysis: Traffic | None = None
    sentences: tuple[str, ...] = ()
    """On the traffic."""
    membership: KeptMembership | None = None
    property: KeptProperty | None = None
    loss: KeptLoss | None = None


class AttackReports(Result):
    """The document of `netsim attack --json`."""

    folder: str | None
    """Of the run that was simulated first; null of transcripts that were there."""
    algorithms: tuple[AttackReport, ...]


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
