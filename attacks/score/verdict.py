"""The verdict that knows the truth, beside the attacker's own.

What the truth adds to `attacks.reconstruction.verdict`, in this order:

- *recovered*: the skill is at least `CLOSE`, whatever the attacker could prove;
- *not identifiable*: it is another record with the agent's very gradients at the points of the queries;
- *failed to optimize*: by the attacker's own test (its false-alarm probability is stated there), or it is no nearer
  than a guess and the truth explains the evidence significantly better;
- *not identifiable*: by the attacker's own test; or no nearer than a guess though expected to be recovered, and the
  truth fits no better, so that two explanations do;
- *defended*: it explains the evidence as the truth does, and is better than the guess by no more than `WIDE`; beside
  it stands the bound, where there is one: what no other attack would exceed either. Where the posterior is as wide as
  the prior, one replica's luck is no success: there the mean over replicas counts;
- *recovered in part*: between.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from attacks.reconstruction.attack import Case, Reconstruction
from attacks.reconstruction.residuals import misfit
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
    Seen,
    explains,
    used,
)
from attacks.score.records import RecordScore, records_of
from attacks.score.robustness import Robustness
from netsim.arrays import Array, Mask
from netsim.truth import Truth

TWIN = 1e-6
"""Relative distance of gradients up to which two records have the same ones."""


@dataclass(frozen=True)
class _Verdict:
    """`names` for each replica, from the truth; `seen`: the attacker's own, from the evidence alone."""

    names: tuple[Name, ...]
    seen: Seen
    skill: float
    robustness: Robustness | None = None

    @property
    def name(self) -> Name:
        """The most frequent."""
        return Counter(self.names).most_common(1)[0][0]

    @property
    def sentence(self) -> str:
        """Verdict in words, with the bound beside the rate."""
        text = f"{self.name}: skill {self.skill:.3f} against the best guess without the transcript"
        if self.robustness is None:
            return text + "; no bound was requested"
        rate, bound = self.robustness.rate, self.robustness.bound
        shown = (
            f"success {rate.estimate:.3g} in [{rate.lower:.3g}, {rate.upper:.3g}], and no attack above {bound:.3g}"
        )
        return f"{text}; {shown}" + ("; above the bound, a reason to audit" if self.robustness.above else "")


def verdict(
    case: Case,
    found: Reconstruction,
    own: Seen,
    score: RecordScore,
    truth: Truth,
    robustness: Robustness | None = None,
) -> _Verdict:
    """Verdict on one agent. `own` is `attacks.reconstruction.verdict.seen` of the same reconstruction."""
    case, skills = used(case, found), score.skills
    worse, twin = _worse_than_truth(case, found, score), _same_gradients(case, found, score, truth)

    def name(r: int) -> Name:
        skill, guessed = float(skills[r]), own.names[r]
        if skill >= CLOSE:
            return RECOVERED
        if twin[r] or guessed in (FAILED, OPEN):
            return OPEN if twin[r] else guessed
        if guessed == DEFENDED and min(skill, score.skill) <= WIDE:
            return DEFENDED
        if skill > WIDE:
            return PARTLY
        if worse[r]:
            return FAILED
        return OPEN if own.expected_skill[r] >= CLOSE else DEFENDED

    return _Verdict(tuple(name(r) for r in range(len(skills))), own, score.skill, robustness)


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
