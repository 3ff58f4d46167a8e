"""One audit: simulate both worlds, explain every transcript, play the game, judge the claim.

The caller brings the two hypotheses and the way to simulate each world; an audit opens no truth of its own.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from attacks.audit.anatomy.anatomy import Anatomy, anatomy
from attacks.audit.archive import Archive, Seen, archive_in
from attacks.audit.blackbox.trained import Trained, noted, trained
from attacks.audit.games.anytime import MOST_EPSILON, Stopping, Wager, tossed
from attacks.audit.games.game import GameResult, play
from attacks.audit.loss.aimed import AIMED
from attacks.audit.loss.exact import NOISE, ExactLoss, combine, granted_from, losses_on_wire, with_aimed
from attacks.audit.loss.explain import Sample, Uncovered, explain
from attacks.audit.loss.measured import Measured
from attacks.audit.loss.noise import NOTHING
from attacks.audit.parallel import spread
from attacks.audit.statistics.intervals import Interval, error_rate, normal_mean
from attacks.audit.verdict import ROUNDING, Judgement, Verdict, decide
from attacks.audit.witnesses.witness import Place, best, candidate
from attacks.gradients.baton import GradientEstimate
from attacks.replay import Hypothesis
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.claims import Claim
from netsim.errors import AttackError, PrivacyError

Simulate = Callable[[int, int], Sample]
"""(world 0 or 1, chunk) ↦ independent transcripts of that world."""
Infer = Callable[[AdversaryView], list[GradientEstimate]]
Task = tuple[int, int]
"""World and chunk."""
INFERRED = "inferred gradients"
"""What the attack's scores are called in an archive."""
EXACT = 1e-9
"""The deviation that an exact gradient estimate is credited with in a score."""


NOT_BOTH = (
    "a trained classifier needs chunks to learn from and others to play, and an audit that may stop says what it "
    "says of the first one alone: ask for a classifier, or to stop"
)


@dataclass(frozen=True)
class Pair:
    """Two adjacent worlds: `hypotheses[w]` is what `agent` holds in world w."""

    agent: int
    hypotheses: tuple[Hypothesis, Hypothesis]
    description: str


@dataclass(frozen=True)
class Audit:
    """The three epsilons of one claim, the evidence and the verdict.

    `exact` has one entry per direction (transcripts of world 0 against 1, and back); `white_box` plays the game
    with the exact loss as its score, `black_box` with gradients inferred from the tapped links, if an attack
    was brought and did not refuse (`refused`), and `classifier` with the scores of one that was trained, as `trained`
    says, on what was heard on links, if that was asked for and did not refuse (`untrained`); it plays the transcripts
    that did not teach it. All intervals and games hold together at `confidence`.
    `trials` transcripts of each world were simulated. `anytime` is the game that may end at any coin; with `stop` it
    counts, and where it ended the audit (`stopped`), what is said of a fixed number of transcripts is said of the
    first chunk. `witness` is the transcript that shows best that the claim does not hold, None where it may.
    `anatomy` says what the loss is made of, and how ε grew.
    """

    claim: Claim
    pair: Pair
    exact: tuple[ExactLoss, ExactLoss]
    white_box: GameResult
    black_box: GameResult | None
    refused: str | None
    judgement: Judgement
    trials: int
    confidence: float
    anytime: Stopping
    stop: bool
    stopped: bool
    witness: Place | None
    anatomy: Anatomy
    classifier: GameResult | None = None
    trained: Trained | None = None
    untrained: str | None = None

    @property
    def epsilon_exact(self) -> float:
        """The larger direction's estimate of ε(δ) for this pair."""
        return max(direction.epsilon.estimate for direction in self.exact)

    @property
    def average_loss(self) -> Interval | None:
        """E|loss| in nats of all that the agent sent, over transcripts of both worlds in equal parts.

        The interval is by itself at `confidence`, in the normal approximation. A share of infinite losses makes it
        infinite. None where something had to be granted, or noise drowned in rounding: losses are then of a part.
        """
        if any(math.isfinite(e.granted_from) or e.unreliable_from is not None or e.silent for e in self.exact):
            return None
        return normal_mean(np.abs(np.concatenate([e.losses for e in self.exact])), self.confidence)

    @property
    def epsilon_audited(self) -> float:
        """The best game's lower bound, of those that count."""
        best = _best(self.white_box, self.black_box, self.classifier).epsilon_audited
        return max(best, self.anytime.epsilon_audited) if self.stop else best

    @property
    def activations(self) -> int:
        """How often the agent released something in the transcripts that were examined."""
        return max((level.activation for e in self.exact for level in e.growth), default=0)

    @property
    def uncovered(self) -> Uncovered | None:
        """The first uncovered message that tells in more than δ of the transcripts, in either direction."""
        return _first_uncovered(self.exact)

    @property
    def first_violation(self) -> int | None:
        """The activation by which ε is proven to exceed the claim, or that of the first uncovered message."""
        if self.uncovered is not None:
            return self.uncovered.activation
        claimed = self.claim.epsilon
        over = [
            level.activation
            for e in self.exact
            for level in e.growth
            if claimed is not None and level.lower > claimed * (1 + ROUNDING)
        ]
        return min(over, default=None)


def audit(
    simulate: Simulate,
    pair: Pair,
    claim: Claim | None,
    *,
    trials: int,
    chunk: int,
    confidence: float,
    rng: np.random.Generator,
    infer: Infer | None = None,
    progress: Callable[[int], None] | None = None,
    jobs: int = 1,
    archive: Archive | None = None,
    stop: bool = False,
    train: bool = False,
) -> Audit:
    """Audit `claim` on one pair with at least `trials` transcripts of each world, `chunk` at a time.

    The error rate 1 − confidence is shared in equal parts by the exact loss (its two directions) and the games,
    so that all that is said holds together. `jobs` processes share the chunks (−1: as many as there are cores);
    the result is the same. What an `archive` holds already is not simulated again, and the rest is added to it: an
    audit that was stopped goes on, with the same result. It has to be of the same simulation, pair and chunk, and
    made with the same `infer` and `train`.

    With `train` a classifier plays too (`attacks.audit.blackbox.trained`): it is shown what was heard on links, knows
    nothing of the algorithm, and has a share of the error rate, whether it refuses or not.

    With `stop` the audit ends as soon as the anytime game, with the exact loss as its score, has refuted the claim:
    after some chunk, and at most after `trials`. The game has a share of the error rate of its own then, and what is
    said of a sample of fixed size (exact ε, the other games) is said of the first chunk if it ended early, and of all
    if it did not; both have half of their share, so that it is true whenever it ends. Without `stop` the anytime game
    is played to the end for display, at the whole error rate by itself. You get
    a `PrivacyError` if a self-check fails: then there is no verdict; for `train` with `stop`, for what is said of the
    first chunk alone leaves none to play; and without a claim, which is what `Algorithm.claim` gives where nothing is
    claimed.
    """
    if claim is None:
        raise PrivacyError(
            "nothing is claimed, so there is nothing to audit: hand in a claim of your own, "
            "netsim.claims.Claim(epsilon, delta, source, adjacency, norm)"
        )
    for name, value in (("trials", trials), ("chunk", chunk)):
        if value < 1:
            raise PrivacyError(f"{name} = {value!r}: must be at least 1")
    if train and stop:
        raise PrivacyError(NOT_BOTH)
    chunks = -(-trials // chunk)
    stop = stop and claim.epsilon is not None and not claim.failed_conditions
    shared = error_rate(confidence) / ((3 if infer is None else 4) if stop else 1)
    wager = Wager(_tested(claim), claim.delta, shared, to_the_end=not stop)
    with archive_in(archive) as kept:
        bench = _Bench(kept, pair, claim, infer is not None, train, rng)
        look = _Look(simulate, pair, infer, train)
        bench.gather(look, wager, chunks, jobs, progress)
        bench.aim(look)
        return bench.judged(wager.result(), confidence, stop, bench.chunks < chunks)


def _tested(claim: Claim) -> float:
    """The ε that the anytime game is about: the claim, or the largest that a game can tell where it is larger."""
    return 0.0 if claim.epsilon is None else min(claim.epsilon, MOST_EPSILON)


class _Bench:
    """An audit while it is gathered, chunk by chunk, and when it is judged."""

    def __init__(
        self, kept: Archive, pair: Pair, claim: Claim, attacked: bool, train: bool, rng: np.random.Generator
    ) -> None:
        self.kept, self.pair, self.claim, self.attacked, self.rng = kept, pair, claim, attacked, rng
        self.train = train
        self.chunks = 0
        self._coins = rng.spawn(1)[0]
        self._cut = math.inf
        self._left: tuple[Array, Array] = (np.empty(0), np.empty(0))

    def gather(
        self, look: "_Look", wager: Wager, chunks: int, jobs: int, progress: Callable[[int], None] | None
    ) -> None:
        """Every chunk of both worlds is in the archive after this, whoever put it there; or until the wager is
        decided, if it ends then."""
        tasks = [(world, index) for index in range(chunks) for world in (0, 1)]
        missing = [task for task in tasks if not self.kept.sound(*task)]
        asked = set(missing)
        found = self._found(look, missing, jobs)
        for world, index in tasks:
            if (world, index) in asked:
                task, seen = next(found)
                self.kept.put(*task, seen)
            if progress is not None:
                progress(self.kept.transcripts(world, index).replicas)
            if world == 1:
                self.chunks = index + 1
                self._play(wager, index)
                if wager.over:
                    return

    def _found(self, look: "_Look", missing: list[Task], jobs: int) -> Iterator[tuple[Task, Seen]]:
        """What is missing, in order; by the first chunk of its world all others are measured."""
        first = [task for task in missing if task[1] == 0]
        yield from zip(first, spread(look, first, jobs), strict=True)
        rest = missing[len(first) :]
        if rest:
            zero, one = (self.kept.get(world, 0).explained.measured for world in (0, 1))
            yield from zip(rest, spread(replace(look, references=(zero, one)), rest, jobs), strict=True)

    def _play(self, wager: Wager, index: int) -> None:
        """Both worlds' transcripts of a chunk, with their exact losses as scores, until one world is empty."""
        parts = [self.kept.transcripts(world, index) for world in (0, 1)]
        self._cut = min(self._cut, granted_from(parts))
        zero, one = (losses_on_wire(part, self._cut) for part in parts)
        queues = np.concatenate([self._left[0], -zero]), np.concatenate([self._left[1], one])
        coins = tossed(queues[0].size, queues[1].size, self._coins)
        scores = np.empty(coins.size)
        for world, queue in enumerate(queues):
            scores[coins == world] = queue[: np.count_nonzero(coins == world)]
        ones = np.count_nonzero(coins)
        self._left = queues[0][coins.size - ones :], queues[1][ones:]
        wager.update(coins, scores)

    def aim(self, look: "_Look") -> None:
        """At δ = 0, where one possible transcript refutes: some whose noise points where it costs most."""
        for world in (0, 1) if self.claim.delta == 0 else ():
            if not self.kept.sound(world, AIMED):
                self.kept.put(world, AIMED, look(world, AIMED))

    def _aimed(self, exact: tuple[ExactLoss, ExactLoss], cut: float) -> tuple[ExactLoss, ExactLoss]:
        if self.claim.delta > 0:
            return exact
        first, second = (with_aimed(one, self.kept.get(w, AIMED).explained, cut) for w, one in enumerate(exact))
        return first, second

    def judged(self, anytime: Stopping, confidence: float, stop: bool, early: bool) -> Audit:
        """What is said of a sample of fixed size is said of the first chunk, if the audit stopped `early`."""
        kept, claim = self.kept, self.claim
        refused = _refused(kept, self.chunks) if self.attacked else None
        attacked = self.attacked and refused is None
        share = error_rate(confidence) / (2 + attacked + self.train)
        if stop:
            share = error_rate(confidence) / (4 if self.attacked else 3) / 2
        chunks = 1 if early else self.chunks
        parts = kept.explained(0, chunks), kept.explained(1, chunks)
        granted = granted_from(chain(*parts))
        first, second = (combine(part, claim.delta, 1 - share / 2, granted) for part in parts)
        exact = self._aimed((first, second), granted)
        if not all(direction.passed for direction in exact):
            raise PrivacyError(_failed_check(exact))
        white = play(-first.losses, second.losses, delta=claim.delta, confidence=1 - share, rng=self.rng)
        black = None
        if attacked:
            zero, one = (kept.noted(INFERRED, world, chunks) for world in (0, 1))
            black = play(zero, one, delta=claim.delta, confidence=1 - share, rng=self.rng)
        lesson = self._lesson(1 - share) if self.train else _Lesson()
        best_game = _best(white, black, lesson.game)
        _check_agreement(exact, best_game)
        uncovered = _first_uncovered(exact)
        judgement = decide(
            epsilon_claimed=claim.epsilon,
            delta=claim.delta,
            failed_conditions=claim.failed_conditions,
            exact_lower=max(e.epsilon.lower for e in exact),
            exact_upper=max(e.epsilon.upper for e in exact),
            uncovered=None if uncovered is None else str(uncovered),
            audited=best_game,
            anytime=anytime if stop else None,
            not_judged=_not_judged(exact, claim.epsilon),
        )
        broken = judgement.verdict in (Verdict.REFUTED, Verdict.UNPROTECTED)
        found = [best(parts)] if broken else []
        if broken and claim.delta == 0:
            found += [candidate(self.kept.get(world, AIMED).explained, world, AIMED) for world in (0, 1)]
        witness = min(filter(None, found), key=lambda one: one.rank, default=None)
        return Audit(
            claim=claim,
            pair=self.pair,
            exact=exact,
            white_box=white,
            black_box=black,
            refused=refused,
            judgement=judgement,
            trials=self.chunks * first.losses.size // chunks,
            confidence=confidence,
            anytime=anytime,
            stop=stop,
            stopped=early,
            witness=None if witness is None else witness.place,
            anatomy=anatomy(self.pair.agent, chain(*parts), exact, claim.delta, confidence, self.rng),
            classifier=lesson.game,
            trained=lesson.trained,
            untrained=lesson.refused,
        )

    def _lesson(self, confidence: float) -> "_Lesson":
        """The classifier's game, or why there is none."""
        rng = self.rng.spawn(1)[0]
        try:
            learned, scores = trained(self.kept, self.chunks, rng)
        except AttackError as error:
            return _Lesson(refused=str(error))
        game = play(*scores, delta=self.claim.delta, confidence=confidence, rng=rng)
        return _Lesson(game, learned)


class _Lesson(NamedTuple):
    """What came of the classifier."""

    game: GameResult | None = None
    trained: Trained | None = None
    refused: str | None = None


@dataclass(frozen=True)
class _Look:
    """Simulates one sample and says what is seen in it; may run in another process."""

    simulate: Simulate
    pair: Pair
    infer: Infer | None
    train: bool
    references: tuple[Measured | None, Measured | None] = (None, None)

    def __call__(self, world: int, index: int) -> Seen:
        sample = self.simulate(world, index)
        true, other = self.pair.hypotheses[world], self.pair.hypotheses[1 - world]
        explained = explain(sample, self.pair.agent, true, other, self.references[world])
        if index * max(map(len, explained.noise)) >= NOISE:
            explained = replace(explained, noise=NOTHING)
        notes = noted(sample.view, index) if self.train else {}
        refused = dict[str, str]()
        if self.infer is not None:
            try:
                notes[INFERRED] = _resemblance(self.infer(sample.view), self.pair, sample.view.replicas)
            except AttackError as error:
                refused[INFERRED] = str(error)
        return Seen(explained, notes, refused)


def _refused(kept: Archive, chunks: int) -> str | None:
    """Why the attack refused, if it did in any chunk; the last reason."""
    reasons = [kept.get(world, index).refused.get(INFERRED) for index in range(chunks) for world in (0, 1)]
    return next(filter(None, reversed(reasons)), None)


def _check_agreement(exact: tuple[ExactLoss, ExactLoss], game: GameResult) -> None:
    upper = max(e.epsilon.upper for e in exact)
    if game.epsilon_audited > upper * (1 + ROUNDING):
        raise PrivacyError(
            f"no verdict: the game proves ε ≥ {game.epsilon_audited:.4g}, the exact loss ε ≤ {upper:.4g}; one of "
            "them is wrong, or a rare event of the stated error rate happened"
        )


def _first_uncovered(exact: tuple[ExactLoss, ExactLoss]) -> Uncovered | None:
    found = [e.uncovered for e in exact if e.unprotected and e.uncovered is not None]
    return min(found, key=lambda u: u.message, default=None)


def _best(white: GameResult, *others: GameResult | None) -> GameResult:
    """The game that proves most; of equals the first."""
    return max([white, *(game for game in others if game is not None)], key=lambda game: game.epsilon_audited)


def _not_judged(exact: tuple[ExactLoss, ExactLoss], claimed: float | None) -> str | None:
    """Why nothing may be called consistent, if something was not looked at, or only as an upper bound."""
    for e in exact:
        if e.silent:
            return "the agent sent nothing"
        if e.unreliable_from is not None:
            return f"from activation {e.unreliable_from} on some noise is below the rounding of the values it covers"
        if e.faint is not None:
            return f"{e.faint}; that may be rounding or chance, and no noise covers it"
        if math.isfinite(e.granted_from) and not (claimed is not None and e.epsilon.upper <= claimed):
            return (
                f"from activation {e.granted_from:.0f} on releases are not on the wire as they were released, and "
                "only the upper end of the exact ε speaks of these (send the very array that `privatize` returns, by "
                "a codec that keeps it or rounds each coordinate by itself)"
            )
    return None


def _resemblance(estimates: list[GradientEstimate], pair: Pair, replicas: int) -> Array:
    """How much more the inferred gradients look like world 1's than world 0's, per replica."""
    score = np.zeros(replicas)
    for e in estimates:
        if e.agent != pair.agent:
            continue
        zero, one = (hypothesis.gradient(e.point) for hypothesis in pair.hypotheses)
        far_0 = np.sum((e.gradient - zero) ** 2, axis=-1)
        far_1 = np.sum((e.gradient - one) ** 2, axis=-1)
        score = score + (far_0 - far_1) / max(e.stddev, EXACT) ** 2
    return score


def _failed_check(exact: tuple[ExactLoss, ...]) -> str:
    checks = ", ".join(
        f"E[e^−L] = {e.self_check.mean:.4g} (at least {e.self_check.lower:.4g}), noise law p = {e.noise.p:.2g}"
        for e in exact
    )
    return f"no verdict: a self-check failed ({checks}); the replay or the declared noise law is wrong"
