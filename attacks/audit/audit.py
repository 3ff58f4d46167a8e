"""One audit: simulate both worlds, explain every transcript, play the game, judge the claim.

The caller brings the two hypotheses and the way to simulate each world; an audit opens no truth of its own.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from attacks.audit.anatomy.anatomy import anatomy
from attacks.audit.archive import Archive, Chunks, archive_in
from attacks.audit.blackbox.inferred import INFERRED, Infer
from attacks.audit.blackbox.trained import Trained, trained
from attacks.audit.finding import Audit, best_of, first_uncovered
from attacks.audit.games.anytime import MOST_EPSILON, Stopping, Wager
from attacks.audit.games.game import GameResult, play
from attacks.audit.gathering import Gathering, Look
from attacks.audit.loss.aimed import AIMED
from attacks.audit.loss.exact import ExactLoss, combine, granted_from, with_aimed
from attacks.audit.pair import Pair, Simulate
from attacks.audit.statistics.intervals import error_rate
from attacks.audit.verdict import BROKEN, ROUNDING, Judgement, decide
from attacks.audit.witnesses.witness import Place, best, candidate
from netsim.arrays import Array
from netsim.claims import Claim
from netsim.errors import AttackError, PrivacyError

__all__ = ["Audit", "Infer", "Pair", "Simulate", "audit"]

NOT_BOTH = (
    "a trained classifier needs chunks to learn from and others to play, and an audit that may stop says what it "
    "says of the first one alone: ask for a classifier, or to stop"
)


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
        look = Look(simulate, pair, infer, train)
        gathering = Gathering(kept, claim.delta, rng)
        gathering.gather(look, wager, chunks, jobs, progress)
        gathering.aim(look)
        bench = _Bench(kept, pair, claim, confidence, rng, gathering.chunks, stop, gathering.chunks < chunks)
        return bench.judged(wager.result(), infer is not None, train)


def _tested(claim: Claim) -> float:
    """The ε that the anytime game is about: the claim, or the largest that a game can tell where it is larger."""
    return 0.0 if claim.epsilon is None else min(claim.epsilon, MOST_EPSILON)


@dataclass(frozen=True)
class _Bench:
    """Where what was gathered is judged. Did the audit stop `early`, then what is said of a sample of fixed size is
    said of the first chunk."""

    kept: Archive
    pair: Pair
    claim: Claim
    confidence: float
    rng: np.random.Generator
    chunks: int
    stop: bool
    early: bool

    def judged(self, anytime: Stopping, attacked: bool, train: bool) -> Audit:
        refused = _refused(self.kept, self.chunks) if attacked else None
        sure = 1 - self._share(attacked, train)
        parts = self.kept.explained(0, self._fixed), self.kept.explained(1, self._fixed)
        exact = self._exact(parts, sure)
        white = self._played(-exact[0].losses, exact[1].losses, sure)
        black = None
        if attacked and refused is None:
            zero, one = (self.kept.noted(INFERRED, world, self._fixed) for world in (0, 1))
            black = self._played(zero, one, sure)
        lesson = self._lesson(sure) if train else _Lesson()
        game = best_of(white, black, lesson.game)
        _check_agreement(exact, game)
        judgement = self._judgement(exact, game, anytime)
        return Audit(
            claim=self.claim,
            pair=self.pair,
            exact=exact,
            white_box=white,
            black_box=black,
            refused=refused,
            judgement=judgement,
            trials=self.chunks * exact[0].losses.size // self._fixed,
            confidence=self.confidence,
            anytime=anytime,
            stop=self.stop,
            stopped=self.early,
            witness=self._witness(parts) if judgement.verdict in BROKEN else None,
            anatomy=anatomy(self.pair.agent, chain(*parts), exact, self.claim.delta, self.confidence, self.rng),
            classifier=lesson.game,
            trained=lesson.trained,
            untrained=lesson.refused,
        )

    @property
    def _fixed(self) -> int:
        """The chunks of which something is said that holds for a number fixed beforehand."""
        return 1 if self.early else self.chunks

    def _share(self, attacked: bool, train: bool) -> float:
        """The part of the error rate of the exact loss, and of each game that was asked for, be it refused."""
        alpha = error_rate(self.confidence)
        return alpha / (3 + attacked) / 2 if self.stop else alpha / (2 + attacked + train)

    def _exact(self, parts: tuple[Chunks, Chunks], sure: float) -> tuple[ExactLoss, ExactLoss]:
        granted = granted_from(chain(*parts))
        first, second = (combine(part, self.claim.delta, 1 - (1 - sure) / 2, granted) for part in parts)
        if self.claim.delta == 0:
            first, second = (
                with_aimed(one, self.kept.get(world, AIMED).explained, granted)
                for world, one in enumerate((first, second))
            )
        if not (first.passed and second.passed):
            raise PrivacyError(_failed_check((first, second)))
        return first, second

    def _played(self, zero: Array, one: Array, sure: float) -> GameResult:
        return play(zero, one, delta=self.claim.delta, confidence=sure, rng=self.rng)

    def _judgement(self, exact: tuple[ExactLoss, ExactLoss], game: GameResult, anytime: Stopping) -> Judgement:
        uncovered = first_uncovered(exact)
        return decide(
            epsilon_claimed=self.claim.epsilon,
            delta=self.claim.delta,
            failed_conditions=self.claim.failed_conditions,
            exact_lower=max(e.epsilon.lower for e in exact),
            exact_upper=max(e.epsilon.upper for e in exact),
            uncovered=None if uncovered is None else str(uncovered),
            audited=game,
            anytime=anytime if self.stop else None,
            not_judged=_not_judged(exact, self.claim.epsilon),
        )

    def _witness(self, parts: tuple[Chunks, Chunks]) -> Place | None:
        """Of what was sampled; or of what was aimed, if its loss is larger and no message in it is uncovered."""
        found = [best(parts)]
        if self.claim.delta == 0:
            aimed = (candidate(self.kept.get(world, AIMED).explained, world, AIMED) for world in (0, 1))
            found += [one for one in aimed if math.isinf(one.message)]
        chosen = min(filter(None, found), key=lambda one: one.rank, default=None)
        return None if chosen is None else chosen.place

    def _lesson(self, sure: float) -> "_Lesson":
        """The classifier's game, or why there is none."""
        rng = self.rng.spawn(1)[0]
        try:
            learned, scores = trained(self.kept, self.chunks, rng)
        except AttackError as error:
            return _Lesson(refused=str(error))
        return _Lesson(play(*scores, delta=self.claim.delta, confidence=sure, rng=rng), learned)


class _Lesson(NamedTuple):
    """What came of the classifier."""

    game: GameResult | None = None
    trained: Trained | None = None
    refused: str | None = None


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


def _failed_check(exact: tuple[ExactLoss, ...]) -> str:
    checks = ", ".join(
        f"E[e^−L] = {e.self_check.mean:.4g} (at least {e.self_check.lower:.4g}), noise law p = {e.noise.p:.2g}"
        for e in exact
    )
    return f"no verdict: a self-check failed ({checks}); the replay or the declared noise law is wrong"
