"""What became of rebuilt records, in one word, and how often any attack at all can succeed.

*Robustness.* κ is the success rate of the best guess without the transcript: the largest probability, over the prior
of the record, that one fixed guess is near it. With f the trade-off function of the release against one reference
law, the same for all records of the prior, P(success) ≤ 1 − f(κ): success is a test of "this record" against "the
reference", where record and transcript are independent, and there nobody does better than κ. Hence

    P(success) ≤ min(e^ε κ + δ, 1 − e^{−ε}(1 − δ − κ), 1).

The reference is any law whatever: an adjacent data set without the record, one fixed record instead, or the middle of
what the prior's records release. ε and δ are those of the pairs (record, reference): with the middle as reference ε
is half as large as between records that are furthest apart.

Source: Balle, Cherubin, Hayes 2022; Hayes, Mahloujifar, Balle 2023; Kaissis et al. 2023 for f-DP. The second term is
the other side of the same trade-off function, and for δ = 0 smaller where κ > 1/(1 + e^ε).
"""

import math
from dataclasses import dataclass

import numpy as np

from attacks.audit.accounting.intervals import Interval, clopper_pearson
from attacks.reconstruction.attack import Case, Reconstruction, misfit
from attacks.reconstruction.verdict import (
    CLOSE,
    DEFENDED,
    FAILED,
    FALSE_ALARM,
    OPEN,
    PARTLY,
    RECOVERED,
    RELATIVE,
    WIDE,
    Name,
    explains,
    used,
)
from attacks.score.records import RecordScore, records_of
from netsim.arrays import Array, Mask
from netsim.errors import PrivacyError
from netsim.truth import Truth

TWIN = 1e-6
"""Relative distance of gradients up to which two records have the same ones."""


def approximate_bound(kappa: float, epsilon: float, delta: float) -> float:
    """min(e^ε κ + δ, 1 − e^{−ε}(1 − δ − κ), 1); δ = 0 is pure ε. Also the largest power of a test at level κ."""
    if not 0 <= kappa <= 1:
        raise PrivacyError(f"kappa = {kappa!r}: the success rate of a guess, must lie in [0, 1]")
    if not epsilon >= 0:
        raise PrivacyError(f"epsilon = {epsilon!r}: must be at least 0")
    if not 0 <= delta <= 1:
        raise PrivacyError(f"delta = {delta!r}: must lie in [0, 1]")
    first = math.exp(min(epsilon, 700.0)) * kappa + delta
    second = 1 - math.exp(-epsilon) * max(1 - delta - kappa, 0.0)
    return min(first, second, 1.0)


@dataclass(frozen=True)
class _Baseline:
    """κ from public records: the rate of the best guess that was tried, and an upper bound for every guess there is.

    `tried` is the interval of one guess, chosen on half of the records and judged on the others; `upper` holds for
    all guesses at once, with probability `confidence`.
    """

    tried: Interval
    upper: float
    confidence: float


def simulated_kappa(records: Array, distance: float, confidence: float = 0.95) -> _Baseline:
    """κ of "within `distance`", root mean square over coordinates, for the law of which `records` (n, width) are.

    Guesses that are tried: their mean, and every record of the first half. The upper bound: a guess with rate κ has
    no record near it with probability (1 − κ)^n; and where one is near, the ball of twice the distance around that
    record holds all that is near the guess. So κ is at most the larger of 1 − (α/2)^{1/n} and the largest upper
    bound, over the records, of the share of the others within twice the distance, each at α/(2n). Records are
    independent draws. You get a `PrivacyError` for fewer than four.
    """
    n = len(records)
    if n < 4:
        raise PrivacyError(f"{n} public records: at least four are needed to choose a guess and to judge it")
    first, second = records[: n // 2], records[n // 2 :]
    guesses = np.concatenate([first.mean(axis=0, keepdims=True), first])
    rates = np.mean(_distances(guesses, first) <= distance, axis=1)
    rates[1:] -= 1 / len(first)  # it is near itself
    best = guesses[int(np.argmax(rates))][None]
    hits = int(np.sum(_distances(best, second) <= distance))
    around = np.sum(_distances(records, records) <= 2 * distance, axis=1) - 1
    alpha = 1 - confidence
    missed = 1 - (alpha / 2) ** (1 / n)
    most = clopper_pearson(int(np.max(around)), n - 1, 1 - alpha / (2 * n), "upper").upper
    return _Baseline(clopper_pearson(hits, len(second), confidence), max(missed, most), confidence)


def _distances(rows: Array, others: Array) -> Array:
    """Root mean square over coordinates, (rows, others), one row at a time."""
    return np.array([np.sqrt(np.mean((others - row) ** 2, axis=-1)) for row in rows])


def outcomes(
    case: Case,
    found: Reconstruction,
    score: RecordScore,
    truth: Truth,
    distance: float,
) -> tuple[Name, ...]:
    """A word for each replica where many attacks meet many agents: without the Jacobian, whose cost is cubic in the
    unknowns, and so without what an attacker may expect. The first that applies:

    - *recovered*: every record was rebuilt to the `distance` (`RecordScore.within`), and the skill is at least
      `CLOSE`: a guess may be as near where the prior is narrow;
    - *not identifiable*: another record with the agent's very gradients;
    - *recovered in part*: the skill is at least `CLOSE`, and some record is further off than the distance;
    - *failed to optimize*: it leaves more of its evidence unexplained than noise does (`explains`), or the optimizer
      did not converge;
    - *not identifiable*: the attack states what is `open`, or there are fewer numbers in the evidence than unknowns;
    - *recovered in part*: the skill is more than `WIDE`;
    - *failed to optimize*: the truth explains the evidence significantly better;
    - *not identifiable*: the evidence is exact, so that no noise hides what it leaves open;
    - *defended*: it explains its evidence as the truth does, and is another record with other gradients: noise hides
      the difference.
    """
    case = used(case, found)
    near, twin = np.all(score.within(distance), axis=-1), _same_gradients(case, found, score, truth)
    fits = explains(case, found) & found.converged
    worse, skills = _worse_than_truth(case, found, score), score.skills
    known, points = case.known, case.evidence.points
    unknowns = known.records * (known.model.width + (0 if known.model.classes else known.model.outputs))
    undetermined = bool(found.open) or points.shape[0] * points.shape[-1] < unknowns

    def word(r: int) -> Name:
        close = skills[r] >= CLOSE
        if twin[r] or not fits[r]:
            return RECOVERED if close and near[r] else OPEN if twin[r] else PARTLY if close else FAILED
        if close:
            return RECOVERED if near[r] else PARTLY
        if undetermined:
            return OPEN
        if skills[r] > WIDE:
            return PARTLY
        return FAILED if worse[r] else OPEN if case.evidence.exact else DEFENDED

    return tuple(word(r) for r in range(len(skills)))


def _worse_than_truth(case: Case, found: Reconstruction, score: RecordScore) -> Array:
    """Whether χ² exceeds that of the truth by more than the quantile of χ² exceeds its mean, (replicas,)."""
    features, labels, replicas = score.truth, score.labels, case.evidence.replicas
    exact = misfit(
        case,
        np.broadcast_to(features, (replicas, *features.shape)),
        np.broadcast_to(case.known.model.targets(labels), (replicas, len(labels), case.known.model.outputs)),
    )
    if not np.all(np.isfinite(found.features)):
        return np.ones(replicas)
    own = misfit(case, found.features, found.targets)
    if case.evidence.exact:
        return (own.relative > exact.relative + RELATIVE).astype(np.float64)
    return (own.squared > exact.squared + own.quantile(FALSE_ALARM) - own.degrees).astype(np.float64)


def _same_gradients(case: Case, found: Reconstruction, score: RecordScore, truth: Truth) -> Mask:
    """Whether the candidate has the gradients that the agent got, relative to `TWIN`, (replicas,).

    Nobody's where it is one of several records.
    """
    if len(score.truth) != len(records_of(truth, found.agent)[1]):
        return np.zeros(case.evidence.replicas, dtype=np.bool_)
    queries = [truth.queries[found.agent][query] for query in found.queries]
    penalty, model = case.known.penalty, case.known.model
    points = np.array([query.point for query in queries])
    true = np.array([query.gradient for query in queries]) - penalty.gradient(points)
    with np.errstate(over="ignore", invalid="ignore"):
        away = model.gradient(points, found.features, found.targets) - true
        square, scale = np.einsum("trd->r", away**2), np.einsum("trd->r", true**2)
    return np.nan_to_num(square, nan=np.inf) <= TWIN**2 * scale
