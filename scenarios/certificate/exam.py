"""Exam for auditors: samples of known mechanisms in, a lower bound of ε out; who accuses the sound, who finds faults.

The mechanisms are the certificate's: its games, its sound mechanisms, its planted faults. An auditor is any callable
that takes the `Auditor` arguments, netsim's games among them; it gets samples and nothing else, so that auditors that
know nothing of netsim can sit the same exam.
"""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from attacks.audit.classifier import Classifier, Features
from attacks.audit.games.game import play
from attacks.audit.games.sequential_test import SequentialTestResult
from attacks.audit.trained import captured
from netsim.algorithms.planted_faults import FAULTS, Fault
from netsim.arrays import Array, whole
from netsim.errors import PrivacyError
from netsim.randomness import Streams
from scenarios.certificate import rows as kinds
from scenarios.certificate import worlds as laws
from scenarios.certificate.rows import Rate

SAMPLES = 1000
"""Of each world."""
NOMINAL = 1 - laws.CONFIDENCE
"""Rate of bounds above the true ε that an auditor may have."""
GAMES, SOUND, PLANTED = "games", "sound", "planted"
SHARES = {GAMES: 1, SOUND: 100, PLANTED: 100}
"""Questions of a part are asked repetitions / share times."""
OUTRIGHT = 9.0
"""Score, of either sign, in place of ±∞ of a trial that tells its world outright; the others are 4 at most."""
TAUGHT = 0.3
"""Share of the samples that teach the scores of more than one column."""
FIRST = 4
"""Bounds of each mark that are kept: who repeats them must find the same."""


class Auditor(Protocol):
    """Lower bound of ε ≥ 0, from independent outputs of one mechanism in two adjacent worlds.

    `zero` and `one` are the outputs under world 0 and world 1, (samples, columns). With probability at least
    `confidence` the bound is at most the ε that the mechanism has at `delta` for this pair. All randomness comes from
    `rng`. Who cannot say anything (of δ > 0, of so few samples) raises `PrivacyError`.
    """

    def __call__(
        self, zero: Array, one: Array, *, delta: float, confidence: float, rng: np.random.Generator
    ) -> float: ...


class Samples(NamedTuple):
    """Outputs under either world, (samples, columns), and the largest ε that a bound may name without being false:
    the true one of a sound mechanism, the claimed one of a planted fault.

    Outputs are rounded to single precision: sums of doubles keep traces of their summands in the last bits, and an
    auditor that finds these there is right, of the sampler.
    """

    zero: Array
    one: Array
    delta: float
    epsilon: float

    def scored(self, rng: np.random.Generator) -> "Samples":
        """Samples of one column: a score, larger the more an output looks like world 1's.

        Of more columns the audit's own classifier makes the score; the samples that taught it are left out.
        """
        if self.zero.shape[1] == 1:
            return self
        cut = round(TAUGHT * len(self.zero))
        learned = Classifier.fit(Features.of(self.zero[:cut]), Features.of(self.one[:cut]), rng)
        zero, one = (learned.score(Features.of(rest[cut:]))[:, None] for rest in (self.zero, self.one))
        return self._replace(zero=zero, one=one)


@dataclass(frozen=True)
class Question:
    """One mechanism; `draw` gives so many samples of each world, of the repetition's own ε where it has several."""

    part: str
    name: str
    draw: Callable[[int, int, Streams], Samples]
    """(repetition, samples, streams) ↦ samples."""


def questions() -> list[Question]:
    """All, in the order of the page. One column is a score: the exact loss ln p₁/p₀. Several are all numbers sent."""
    games = [Question(GAMES, name, partial(_of_game, draw, delta)) for name, (draw, delta) in kinds.GAMES.items()]
    sound = [Question(SOUND, name, partial(_of_sound, build)) for name, build in laws.SOUND.items()]
    planted = [Question(PLANTED, fault.__name__, partial(_of_fault, fault)) for fault in FAULTS]
    planted += [
        Question(PLANTED, f"{law}, {how}", partial(_of_small, law, declared, drawn))
        for law in kinds.LAWS
        for how, declared, drawn in (("declared 0.5", 0.5, 1.0), ("drawn 0.8", 1.0, 0.8))
    ]
    return [*games, *sound, *planted]


def _of_game(draw: kinds.Draw, delta: float, repetition: int, samples: int, streams: Streams) -> Samples:
    truth = _truth(repetition)
    scores = draw(truth, samples, streams.generator("scores"))
    zero, one = (_single(np.clip(score, -OUTRIGHT, OUTRIGHT)[:, None]) for score in scores)
    return Samples(zero, one, delta, truth)


def _single(outputs: Array) -> Array:
    return outputs.astype(np.float32).astype(np.float64)


def _truth(repetition: int) -> float:
    return kinds.CLAIMS[repetition % len(kinds.CLAIMS)]


def _of_sound(build: Callable[[float], laws.World], repetition: int, samples: int, streams: Streams) -> Samples:
    world = build(_truth(repetition))
    return _outputs(world, world.truth, samples, streams)


def _of_fault(fault: type[Fault], repetition: int, samples: int, streams: Streams) -> Samples:  # noqa: ARG001
    world = laws.of_gallery(fault, kinds.SCALE, sound=False)
    return _outputs(world, _claimed(world), samples, streams)


def _of_small(
    law: kinds.Law,
    declared: float,
    drawn: float,
    repetition: int,  # noqa: ARG001
    samples: int,
    streams: Streams,
) -> Samples:
    world = kinds.SubtleCase(law, declared, drawn, samples).world()
    return _outputs(world, _claimed(world), samples, streams)


def _claimed(world: laws.World) -> float:
    assert world.claim.epsilon is not None
    return world.claim.epsilon


def _outputs(world: laws.World, epsilon: float, samples: int, streams: Streams) -> Samples:
    """All numbers that either agent sends; what is the same in all samples of both worlds is left out."""
    simulate = world.simulated(samples, streams)
    zero, one = (_single(captured(simulate(which, 0).view).values) for which in (0, 1))
    both = np.concatenate([zero, one])
    varying = np.ptp(both, axis=0) > 0
    return Samples(zero[:, varying], one[:, varying], world.claim.delta, epsilon)


@dataclass(frozen=True)
class Candidate:
    """An auditor by its `name`. Where it `scores` itself it gets outputs as they are, else one column of scores.

    One that is slow is asked repetitions / `share` times only.
    """

    name: str
    auditor: Auditor
    scores: bool = False
    share: int = 1

    def repetitions(self, question: Question, repetitions: int) -> int:
        return -(-repetitions // max(self.share, SHARES[question.part]))


@dataclass(frozen=True)
class Mark:
    """Answers of one auditor to one question: how many bounds were `above` the ε of `Samples`, how many above `half`
    of it, how often there was no answer, the median of bound/ε, the mean CPU `seconds` of an answer, the `first`
    bounds (None: no answer).

    Of a sound mechanism `above` are false alarms; of a fault they are what was caught.
    """

    auditor: str
    part: str
    question: str
    repetitions: int
    above: int
    half: int
    unanswered: int
    tightness: float
    seconds: float
    first: tuple[float | None, ...]

    @property
    def answered(self) -> int:
        return self.repetitions - self.unanswered


def examine(
    candidates: Sequence[Candidate],
    repetitions: int = 1000,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    asked: Sequence[Question] | None = None,
    progress: Callable[[list[Mark]], None] | None = None,
) -> list[Mark]:
    """Ask every candidate every question, or those `asked`: all get the same samples, whoever sits beside them.

    `repetitions` are those of the games; see `SHARES` and `Candidate.share`. CPU time of making samples and scores is
    nobody's. `progress` gets the marks so far, question by question. You get a `ScenarioError` for repetitions below
    1 or samples below 100.
    """
    whole(repetitions, "repetitions", 1)
    whole(samples, "samples", 100)
    marks: list[Mark] = []
    for question in questions() if asked is None else asked:
        answers: dict[str, list[_Answer]] = {one.name: [] for one in candidates}
        for k in range(max(one.repetitions(question, repetitions) for one in candidates)):
            streams = Streams(seed).child("exam", question.part, question.name, k)
            sitting = [one for one in candidates if k < one.repetitions(question, repetitions)]
            drawn = question.draw(k, samples, streams)
            scored = None if all(one.scores for one in sitting) else drawn.scored(streams.generator("classifier"))
            for one in sitting:
                given = drawn if one.scores or scored is None else scored
                answers[one.name].append(_answer(one, given, streams.generator(f"auditor {one.name}")))
        marks += [_mark(name, question, some) for name, some in answers.items()]
        if progress is not None:
            progress(marks)
    return marks


class _Answer(NamedTuple):
    bound: float | None
    epsilon: float
    seconds: float


def _answer(candidate: Candidate, samples: Samples, rng: np.random.Generator) -> _Answer:
    begun = time.process_time()
    try:
        bound = float(
            candidate.auditor(
                samples.zero.copy(),
                samples.one.copy(),
                delta=samples.delta,
                confidence=laws.CONFIDENCE,
                rng=rng,
            )
        )
    except PrivacyError:
        return _Answer(None, samples.epsilon, time.process_time() - begun)
    if math.isnan(bound):
        raise PrivacyError(f"{candidate.name} answers NaN: a bound of ε is a number, or ∞")
    return _Answer(max(bound, 0.0), samples.epsilon, time.process_time() - begun)


def _mark(name: str, question: Question, answers: Sequence[_Answer]) -> Mark:
    bounds = [(one.bound, one.epsilon) for one in answers if one.bound is not None]
    return Mark(
        auditor=name,
        part=question.part,
        question=question.name,
        repetitions=len(answers),
        above=sum(bound > epsilon for bound, epsilon in bounds),
        half=sum(bound > epsilon / 2 for bound, epsilon in bounds),
        unanswered=len(answers) - len(bounds),
        tightness=round(statistics.median(b / e for b, e in bounds), 4) if bounds else 0.0,
        seconds=round(statistics.fmean(one.seconds for one in answers), 5),
        first=tuple(None if one.bound is None else round(one.bound, 4) for one in answers[:FIRST]),
    )


def alarms(marks: Sequence[Mark]) -> Rate:
    """Rate of false alarms over marks of sound mechanisms, of answers; 0 of 1 where there is none."""
    answered = sum(one.answered for one in marks)
    return Rate(sum(one.above for one in marks), answered) if answered else Rate(0, 1)


def failed(marks: Sequence[Mark]) -> list[Mark]:
    """Marks of sound mechanisms whose rate of false alarms is proven to be above the nominal one."""
    return [one for one in marks if one.part != PLANTED and one.answered and alarms([one]).exceeds(NOMINAL)]


# ── netsim's own ────────────────────────────────────────────────────────────────────────────────────────
def _by_game(zero: Array, one: Array, *, delta: float, confidence: float, rng: np.random.Generator) -> float:
    """Distinguishing game of an audit, of one column of scores."""
    return play(zero, one, delta=delta, confidence=confidence, rng=rng).epsilon_audited


def _by_anytime_game(zero: Array, one: Array, *, delta: float, confidence: float, rng: np.random.Generator) -> float:
    """Anytime game of an audit, of one column of scores, played to the end."""
    found = SequentialTestResult.play(zero, one, 0.0, delta, 1 - confidence, rng, to_the_end=True)
    return found.epsilon_audited


OWN = (Candidate("netsim, game", _by_game), Candidate("netsim, anytime game", _by_anytime_game, share=10))
"""Auditors of netsim that take samples alone. Whole audits, which replay an algorithm, are the certificate's."""
