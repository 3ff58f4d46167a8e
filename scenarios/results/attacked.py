"""Attacks in words: rates, verdicts of attacks on records, and attacks that a defence stops; and the findings of
`netsim attack` on kept transcripts, attack-ALGORITHM.json."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeVar

from attacks.audit.accounting.intervals import clopper_pearson
from attacks.reconstruction.attack import Case, Reconstruction
from attacks.reconstruction.verdict import CLOSE, DEFENDED, RECOVERED, WIDE
from scenarios.results.attacks import AtLevel, Bounded, GradientScores, Original, RecordAttack
from scenarios.results.base import Counts, LeftOut, Numbers, Rate, Result
from scenarios.results.numbers import fixed, percent, show
from scenarios.results.traffic import Traffic
from scenarios.results.tree import AlgorithmResult
from scenarios.schema.attacks import HypothesisSpec, Inversion, Rounds


class TruthStatus(Result):
    """Whether the truth was simulated again from the seed."""

    remade: bool
    """Whether the seed sent the same rows to the last bit."""
    seconds: float | None
    """How long that took; null where it was not tried."""
    why_not: str | None
    """Why the truth is not known; else null."""


class KeptGradients(Result):
    """Gradients inferred from a transcript."""

    refused: str | None
    """Why nothing could be inferred; else null."""
    estimates: str | None
    """File of the estimates."""
    attack: str | None = None
    """Dotted name of the inversion."""
    inferred: Counts = ()
    """Queries of each agent with an estimate."""
    exact: int | None = None
    """Estimates without noise."""
    scores: GradientScores | None = None
    """As in results.json; null without the truth."""

    @property
    def estimated(self) -> int:
        """Queries with an estimate."""
        return sum(self.inferred)


class KeptRecords(Result):
    """Records rebuilt from a transcript."""

    attacks: tuple[RecordAttack, ...]
    """As in results.json, scores only with the truth; of each its own verdicts (`seen`)."""
    sentence: str
    """The finding in words."""
    records: str | None
    """File of the rebuilt records; null where there are none."""
    transcript: str
    """File that was attacked."""
    truth: TruthStatus | None
    """Whether the truth of that run is known; null where that was not looked at."""
    holding: int | None = None
    """Records of each agent."""
    distance: float | None = None
    """Root mean square error up to which a record counts as rebuilt."""
    replicas: int | None = None
    """Number of replicas."""
    shape: tuple[int, ...] | None = None
    """How a record is drawn."""
    range: tuple[float, float] | None = None
    """Declared range of a feature."""
    image: bool | None = None
    """Whether records are images."""
    originals: tuple[Original, ...] | None = None
    """Records of the first few agents; null without the truth."""


class _KeptGame(Result):
    """Setting of membership and property inference from a kept transcript; lists are empty where refused."""

    refused: str | None
    """Why it could not be played; else null."""
    inversion: Inversion
    """Gradients as inferred here ("strongest"), or by the algorithm's own paper ("published")."""
    rounds: Rounds
    """Which gradients are used."""
    source: str
    """Author of the attack."""
    confidence: float
    """Confidence of each interval."""
    sentence: str
    """The finding in words."""
    transcript: str
    """File that was attacked."""
    scored: bool | None = None
    """Whether the truth is known."""


class KeptLevel(Result):
    """The membership test at one level, over agents and replicas."""

    level: float
    """Level of false alarms."""
    power: float
    """Power by the law of the score."""
    accepted: tuple[int, int]
    """Decisions "in", of how many."""
    found: Rate | None
    """With the truth how many members are found; null unless a record is replaced or the attacker is not informed."""
    alarms: Rate | None
    """With the truth how many alarms are false; null in the same cases."""


class KeptMembership(_KeptGame):
    """Membership of each agent's record."""

    class KeptMember(Result):
        """Decisions about one agent's record."""

        agent: int
        """The agent."""
        estimates: int
        """Gradients used."""
        score: float
        """Median score over replicas."""
        accepted: Counts
        """Replicas at each level."""

    adjacency: Literal["remove", "zero_out", "replace"]
    """How the other world lacks the record."""
    informed: bool
    """Whether the attacker knows all other records."""
    levels: tuple[KeptLevel, ...] = ()
    """The test at each level."""
    agents: tuple[KeptMember, ...] = ()
    """Decisions of each agent."""
    left_out: tuple[LeftOut, ...] = ()
    """Agents left out, and why."""


class KeptProperty(_KeptGame):
    """The property of each agent's records."""

    class NamedHypothesis(Result):
        """The hypothesis named of one agent."""

        agent: int
        """The agent."""
        named: str
        """The hypothesis named in the first replica."""
        posterior: Numbers
        """Posterior probability of each hypothesis there."""
        likeliest: str | None
        """The likeliest by its own labels; null without the truth, or where two are."""

    hypotheses: tuple[HypothesisSpec, ...]
    """Of each its `name` and `shares` of the classes."""
    agents: tuple[NamedHypothesis, ...] = ()
    """The hypothesis named of each agent."""
    right: Rate | None = None
    """With the truth how often the likeliest was named."""
    guess: float | None = None
    """Rate of a guess."""


class KeptLoss(Result):
    """The exact privacy loss of what was recorded, between the scenario's two worlds; null where refused."""

    agent: int
    """The agent."""
    pair: str
    """The two worlds in words."""
    refused: str | None
    """Why it could not be computed; else null."""
    world: Literal[0, 1] | None = None
    """Whose messages these are, to the last bit."""
    releases: int | None = None
    """Releases recorded."""
    losses: Numbers = ()
    """Nats in favour of that world, by replica; infinite where a message is unprotected."""
    sentence: str = ""
    """The finding in words."""


class AttackReport(Result):
    """All attacks on one algorithm's transcripts; null where not requested."""

    folder: str
    """Folder of the transcripts."""
    algorithm: str
    """Name of the algorithm."""
    slug: str
    """ALGORITHM in the names of its files."""
    refused: str | None = None
    """Why nothing was attacked: no transcript is there, and all below is null. Else null."""
    transcript: str | None = None
    """File that was attacked."""
    rows: int | None = None
    """Its rows."""
    replicas: int | None = None
    """Its replicas."""
    gradients: KeptGradients | None = None
    """Inferred gradients."""
    truth: TruthStatus | None = None
    """Whether the truth was made again from the seed."""
    reconstructions: KeptRecords | None = None
    """Rebuilt records."""
    traffic_analysis: Traffic | None = None
    """As in results.json; null where it needs the truth."""
    sentences: tuple[str, ...] = ()
    """Sentences on the traffic."""
    membership: KeptMembership | None = None
    """Membership of each agent's record."""
    property: KeptProperty | None = None
    """The property of each agent's records."""
    loss: KeptLoss | None = None
    """The exact privacy loss of what was recorded."""


class AttackReports(Result):
    """The document of `netsim attack --json`."""

    folder: str | None
    """Folder of the run that was simulated first; null of transcripts that were there."""
    algorithms: tuple[AttackReport, ...]
    """One entry for each algorithm."""


Level = TypeVar("Level", AtLevel, KeptLevel)
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
    ends = "of one" if one.of == 1 else f"[{show(100 * one.low)}, {show(100 * one.high)}]"
    return f"{percent(one.rate)} {ends}"


def interval(one: Bounded) -> str:
    """A number with its interval."""
    return f"{fixed(one.estimate)} [{fixed(one.low)}, {fixed(one.high)}]"


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
