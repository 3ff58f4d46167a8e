"""One audit: simulate both worlds, explain every transcript, play the game, judge the claim.

The caller brings the two hypotheses and the way to simulate each world; an audit opens no truth of its own.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

import numpy as np

from attacks.audit.anatomy import Anatomy, anatomy
from attacks.audit.archive import Archive, Seen, archive_in
from attacks.audit.exact import ExactLoss, combine, granted_from
from attacks.audit.explain import Sample, Uncovered, explain
from attacks.audit.game import GameResult, play
from attacks.audit.intervals import Interval, error_rate, normal_mean
from attacks.audit.parallel import spread
from attacks.audit.verdict import ROUNDING, Judgement, decide
from attacks.gradients.baton import GradientEstimate
from attacks.replay import Hypothesis
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.claims import Claim
from netsim.errors import AttackError, PrivacyError

Simulate = Callable[[int, int], Sample]
"""(world 0 or 1, chunk) ↦ independent transcripts of that world."""
Infer = Callable[[AdversaryView], list[GradientEstimate]]
INFERRED = "inferred gradients"
"""What the attack's scores are called in an archive."""
EXACT = 1e-9
"""The deviation that an exact gradient estimate is credited with in a score."""


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
    was brought and did not refuse (`refused`). All intervals and both games hold together at `confidence`.
    `trials` transcripts of each world were simulated. `anatomy` says what the loss is made of, and how ε grew.
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
    anatomy: Anatomy

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
        """The better game's lower bound."""
        return _best(self.white_box, self.black_box).epsilon_audited

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
) -> Audit:
    """Audit `claim` on one pair with at least `trials` transcripts of each world, `chunk` at a time.

    The error rate 1 − confidence is shared in equal parts by the exact loss (its two directions) and the games,
    so that all that is said holds together. `jobs` processes share the chunks (−1: as many as there are cores);
    the result is the same. What an `archive` holds already is not simulated again, and the rest is added to it: an
    audit that was stopped goes on, with the same result. It has to be of the same simulation, pair and chunk. You get
    a `PrivacyError` if a self-check fails: then there is no verdict; and without a claim, which is what
    `Algorithm.claim` gives where nothing is claimed.
    """
    if claim is None:
        raise PrivacyError(
            "nothing is claimed, so there is nothing to audit: hand in a claim of your own, "
            "netsim.claims.Claim(epsilon, delta, source, adjacency, norm)"
        )
    for name, value in (("trials", trials), ("chunk", chunk)):
        if value < 1:
            raise PrivacyError(f"{name} = {value!r}: must be at least 1")
    chunks = -(-trials // chunk)
    with archive_in(archive) as kept:
        _gather(_Look(simulate, pair, infer), kept, chunks, jobs, progress)
        return _judged(kept, chunks, pair, claim, confidence, rng, infer is not None)


def _gather(look: "_Look", kept: Archive, chunks: int, jobs: int, progress: Callable[[int], None] | None) -> None:
    """Every chunk of both worlds is in the archive after this, whoever put it there."""
    tasks = [(world, index) for index in range(chunks) for world in (0, 1)]
    missing = [task for task in tasks if not kept.sound(*task)]
    told = progress or (lambda _: None)
    for task in tasks:
        if task not in missing:
            told(kept.get(*task).explained.replicas)
    for task, seen in zip(missing, spread(look, missing, jobs), strict=True):
        kept.put(*task, seen)
        told(seen.explained.replicas)


def _judged(
    kept: Archive,
    chunks: int,
    pair: Pair,
    claim: Claim,
    confidence: float,
    rng: np.random.Generator,
    attacked: bool,
) -> Audit:
    refused = _refused(kept, chunks) if attacked else None
    attacked = attacked and refused is None
    share = error_rate(confidence) / (3 if attacked else 2)
    parts = kept.explained(0, chunks), kept.explained(1, chunks)
    granted = granted_from(chain(*parts))
    first, second = (combine(part, claim.delta, 1 - share / 2, granted) for part in parts)
    exact = (first, second)
    if not all(direction.passed for direction in exact):
        raise PrivacyError(_failed_check(exact))
    white = play(-first.losses, second.losses, delta=claim.delta, confidence=1 - share, rng=rng)
    black = None
    if attacked:
        zero, one = (kept.noted(INFERRED, world, chunks) for world in (0, 1))
        black = play(zero, one, delta=claim.delta, confidence=1 - share, rng=rng)
    _check_agreement(exact, white, black)
    uncovered = _first_uncovered(exact)
    judgement = decide(
        epsilon_claimed=claim.epsilon,
        delta=claim.delta,
        failed_conditions=claim.failed_conditions,
        exact_lower=max(e.epsilon.lower for e in exact),
        exact_upper=max(e.epsilon.upper for e in exact),
        uncovered=None if uncovered is None else str(uncovered),
        audited=_best(white, black),
        not_judged=_not_judged(exact, claim.epsilon),
    )
    inside = anatomy(pair.agent, chain(*parts), exact, claim.delta, confidence, rng)
    return Audit(claim, pair, exact, white, black, refused, judgement, first.losses.size, confidence, inside)


@dataclass(frozen=True)
class _Look:
    """Simulates one sample and says what is seen in it; may run in another process."""

    simulate: Simulate
    pair: Pair
    infer: Infer | None

    def __call__(self, world: int, index: int) -> Seen:
        sample = self.simulate(world, index)
        true, other = self.pair.hypotheses[world], self.pair.hypotheses[1 - world]
        explained = explain(sample, self.pair.agent, true, other)
        noted, refused = dict[str, Array](), dict[str, str]()
        if self.infer is not None:
            try:
                noted[INFERRED] = _resemblance(self.infer(sample.view), self.pair, sample.view.replicas)
            except AttackError as error:
                refused[INFERRED] = str(error)
        return Seen(explained, noted, refused)


def _refused(kept: Archive, chunks: int) -> str | None:
    """Why the attack refused, if it did in any chunk; the last reason."""
    reasons = [kept.get(world, index).refused.get(INFERRED) for index in range(chunks) for world in (0, 1)]
    return next(filter(None, reversed(reasons)), None)


def _check_agreement(exact: tuple[ExactLoss, ExactLoss], white: GameResult, black: GameResult | None) -> None:
    upper = max(e.epsilon.upper for e in exact)
    game = _best(white, black)
    if game.epsilon_audited > upper * (1 + ROUNDING):
        raise PrivacyError(
            f"no verdict: the game proves ε ≥ {game.epsilon_audited:.4g}, the exact loss ε ≤ {upper:.4g}; one of "
            "them is wrong, or a rare event of the stated error rate happened"
        )


def _first_uncovered(exact: tuple[ExactLoss, ExactLoss]) -> Uncovered | None:
    found = [e.uncovered for e in exact if e.unprotected and e.uncovered is not None]
    return min(found, key=lambda u: u.message, default=None)


def _best(white: GameResult, black: GameResult | None) -> GameResult:
    return white if black is None or white.epsilon_audited >= black.epsilon_audited else black


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
