"""The interface of every reconstruction: evidence, prior and knowledge in, candidate records out.

An attack declares what it `needs`; where a view does not grant it, `reconstruct` refuses with an `AttackError` that
names what is missing. An attack is handed no truth, no label that is not public, and chooses among its own candidates
by its own objective.

Candidates are judged in units of the noise. With candidates (A, t), model gradients ∇ℓ and estimates g̃_k at the
points θ_k, the residual of coordinate c is r_kc = g̃_kc − ∇ℓ(θ_k; A, t)_c, and χ² = Σ_c r_cᵀ Σ_c⁻¹ r_c with the full
covariance Σ_c between rounds. At the true records χ² has mean `degrees`: all rounds times all coordinates. An attack
that fitted p unknowns leaves about `degrees` − p. A much larger χ² means that the candidate is not what caused the
gradients: the optimizer failed, or the model is another one. A small one means that the candidate explains them, not
that it is the only one that does.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from attacks.estimates import Evidence, check_number, check_shape
from attacks.probe import Law
from netsim.adversary import PublicKnowledge
from netsim.arguments import expect
from netsim.arrays import Array, Mask
from netsim.claims import ORDERS, Clip
from netsim.errors import AttackError, ScenarioError
from netsim.models import NOTHING, Model, Penalty

FLOOR = 1e-4
"""Variance that every coordinate keeps."""
ROUNDING = 1e-9
"""Deviation that every estimate keeps, as a share of the largest gradient: what is called exact is exact up to it."""
ALIKE = 1e-9
"""Relative: covariances of two coordinates that differ by less are the same."""


@dataclass(frozen=True)
class Prior:
    """Law of a record's features, per label: mean and variance of each coordinate (width,); `share` of each label.

    It is made of public records of the same kind, never of the agents'; `records` are these, per label, (m, width).
    `target`: mean and variance of the targets of a regression; None where the labels are classes.
    """

    mean: Mapping[float, Array]
    variance: Mapping[float, Array]
    share: Mapping[float, float] = field(default_factory=dict[float, float])
    records: Mapping[float, Array] = field(default_factory=dict[float, Array], repr=False)
    target: tuple[float, float] | None = None

    @classmethod
    def of(cls, features: Array, labels: Array) -> "Prior":
        """Prior from public records, `features` (m, width), one group for each label (m,) among them.

        You get a `ScenarioError` for other shapes, and without a record.
        """
        check_shape("features", features, "(records, width)", (None, None))
        check_shape("labels", labels, "one for each record", (len(features),))
        if not len(features):
            raise ScenarioError("features", features.shape, "there is no record", "one public record or more")
        groups = {float(label): features[labels == label] for label in np.unique(labels)}
        return cls(
            {label: rows.mean(axis=0) for label, rows in groups.items()},
            {label: rows.var(axis=0) + FLOOR for label, rows in groups.items()},
            {label: len(rows) / len(features) for label, rows in groups.items()},
            groups,
        )

    @classmethod
    def of_numbers(cls, features: Array, targets: Array) -> "Prior":
        """Prior from public records of a regression: one group, under the mean target, and the targets' own
        moments."""
        check_shape("targets", targets, "one for each record", (len(features),))
        mean, variance = float(np.mean(targets)), float(np.var(targets)) + FLOOR
        return replace(cls.of(features, np.full(len(features), mean)), target=(mean, variance))

    @property
    def labels(self) -> tuple[float, ...]:
        return tuple(self.mean)

    @property
    def overall(self) -> Array:
        """The mean of a record of any label, (width,): the guess of an attacker who knows nothing else."""
        return np.sum([self.share[label] * mean for label, mean in self.mean.items()], axis=0)

    @property
    def pooled(self) -> tuple[Array, Array]:
        """Mean and variance (width,) over records of any label, all alike where there are no shares."""
        shares = {label: self.share.get(label, 1 / len(self.mean)) for label in self.mean}
        mean = np.sum([shares[label] * self.mean[label] for label in shares], axis=0)
        around = [shares[label] * (self.variance[label] + (self.mean[label] - mean) ** 2) for label in shares]
        return mean, np.sum(around, axis=0)

    def law(self, label: float) -> tuple[Array, Array, float]:
        """Mean and variance (width,) of the features of a label, and its share.

        A label that it has no record of gets the law of all together, and the share of one record in ten thousand.
        """
        if label in self.mean:
            return self.mean[label], self.variance[label], max(self.share.get(label, 1.0), 1e-4)
        return *self.pooled, 1e-4


Shape = tuple[int, int] | tuple[int, int, int]


SEVERAL, MORE = 6.0, 12.0
"""Deviations by which a Gaussian error, or one of heavier tails, is hardly ever off."""
NEAR = 1e-6
"""Relative: a norm this near to a bound may be at it."""


@dataclass(frozen=True)
class Known:
    """Knowledge of an agent's data beside the evidence.

    `records`: how many the agent holds, m. `labels` (m,): only where they are public, in the order of the records to
    be found. `others`: features (m − 1, width) and labels (m − 1,) of all records but one (an informed adversary).
    `image_shape`: (height, width) or (height, width, channels). `clip`: what the algorithm scales its gradients with.
    """

    model: Model
    records: int
    penalty: Penalty = NOTHING
    prior: Prior | None = None
    labels: Array | None = None
    value_range: tuple[float, float] | None = None
    image_shape: Shape | None = None
    others: tuple[Array, Array] | None = None
    clip: Clip | None = None

    @classmethod
    def of(
        cls, public: PublicKnowledge, agent: int, prior: Prior | None = None, image_shape: Shape | None = None
    ) -> "Known":
        """Public knowledge of this agent. You get an `AttackError` where there is no one loss of a record, and a
        `ScenarioError` for an agent that is not there, and a prior of records of another width."""
        expect(public, "public", PublicKnowledge)
        check_number("agent", agent, public.agents, "agents")
        expect(prior, "prior", Prior | None)
        if public.model is None:
            raise AttackError(f"the objectives ({public.loss}) are no mean of one public loss over records")
        for label, mean in prior.mean.items() if prior else ():
            check_shape(f"prior.mean[{label!r}]", mean, "one number for each feature", (public.model.width,))
        records = public.records[agent] if public.records else 1
        clip = getattr(public.algorithm, "clip", None)
        known = cls(public.model, records, public.penalty, prior, None, public.value_range, image_shape)
        return replace(known, clip=clip if isinstance(clip, Clip) else None)

    def others_gradients(self, points: Array) -> Array:
        """Σ of the gradients of all records but one, the shape of `points`; 0 where there are no others."""
        assert self.others is not None
        features, labels = self.others
        if not len(labels):
            return np.zeros_like(points)
        return len(labels) * self.model.gradient(points, features, self.model.targets(labels))


class Case(NamedTuple):
    """One agent to attack."""

    evidence: Evidence
    known: Known


@dataclass(frozen=True)
class Needs:
    """Requirements of an attack on a case. `models`: names of the models it is for, empty for all; `one_record`: m =
    1; `rounds`: estimates at least; `law`: the errors' law; `labels`, `prior`, `image`, `others`: as in `Known`.
    `lengths`: it uses how long gradients are, which clipping hides; else their directions alone."""

    models: tuple[str, ...] = ()
    one_record: bool = False
    rounds: int = 1
    law: bool = False
    labels: bool = False
    prior: bool = False
    image: bool = False
    others: bool = False
    lengths: bool = True

    def check(self, attack: str, case: Case) -> None:
        """You get an `AttackError` that names the first thing that is missing."""
        evidence, known = case
        missing = [
            (bool(self.models) and known.model.name not in self.models,
             f"a {' or '.join(self.models)} model, and this is {known.model.name}"),
            (self.one_record and known.records != 1, f"one record, and agent {evidence.agent} has {known.records}"),
            (evidence.rounds < self.rounds, f"{self.rounds} estimates, and there are {evidence.rounds}"),
            (self.law and evidence.law is None, "the law of the noise"),
            (self.labels and known.labels is None, "labels that are public"),
            (self.prior and known.prior is None, "a prior from public records"),
            (self.image and known.image_shape is None, "records that are images"),
            (self.others and known.others is None, "all records but one"),
            (_hidden_by_clip(case, self.lengths),
             "gradients as they are, and the algorithm clips them"
             + ("" if known.clip is None else f" to a norm ({known.clip.norm}) of {known.clip.bound:g}")),
        ]  # fmt: skip
        for absent, what in missing:
            if absent:
                raise AttackError(f"{attack} needs {what}")


def _hidden_by_clip(case: Case, lengths: bool = True) -> bool:
    """Whether clipping may have changed what an attack reads of the gradients.

    Of one that reads directions (not `lengths`) only where a public penalty was added before. A gradient that was
    clipped has the norm of the bound; along it the error has deviation s, so that the estimate's norm is hardly ever
    below the bound by several s. Where all are, no gradient was clipped.
    """
    evidence, known = case
    if known.clip is None or (not lengths and known.penalty == NOTHING):
        return False
    deviation = evidence.stddev
    s = np.linalg.norm(deviation, axis=-1) if known.clip.norm == "l1" else np.max(deviation, axis=-1)
    rounding = 0.0 if evidence.rounding is None else evidence.rounding
    every = np.broadcast_to(np.asarray(rounding)[..., None], deviation.shape)
    margin = (SEVERAL if evidence.law == "gaussian" else MORE) * s + np.linalg.norm(
        every, ORDERS[known.clip.norm], -1
    )
    norms = np.linalg.norm(evidence.gradients, ORDERS[known.clip.norm], axis=-1)
    return not bool(np.all(norms + margin[:, None] < known.clip.bound * (1 - NEAR)))


class Way(NamedTuple):
    """Records as they were after some `iterations` of the search: features (replicas, iterations, m, width)."""

    iterations: tuple[int, ...]
    features: Array


@dataclass(frozen=True)
class Reconstruction:
    """One agent's records as an attack rebuilds them, for every replica.

    `features` (replicas, m, width), in no order that means anything; `targets` (replicas, m, outputs); `objective`
    (replicas,): the attacker's own, by which it chose among its candidates, lower is better; `converged` (replicas,):
    whether its optimizer did. `queries`: the estimates that were used. `spread` (replicas, m, width): posterior
    standard deviations, where the attack has them. `open`: what the evidence cannot determine whatever the attack,
    as a sentence; empty where it determines the records. `way`: the answer's iterates, where they were kept.
    """

    attack: str
    agent: int
    features: Array
    targets: Array
    objective: Array
    converged: Mask
    queries: tuple[int, ...]
    spread: Array | None = None
    open: str = ""
    way: Way | None = None

    @classmethod
    def of(
        cls,
        attack: str,
        evidence: Evidence,
        features: Array,
        targets: Array,
        objective: Array,
        converged: Mask | None = None,
        spread: Array | None = None,
        left_open: str = "",
    ) -> "Reconstruction":
        """Reconstruction from all of the evidence; `converged` where no optimizer ran."""
        done = np.ones(evidence.replicas, np.bool_) if converged is None else converged
        return cls(attack, evidence.agent, features, targets, objective, done, evidence.queries, spread, left_open)

    def labels(self, model: Model) -> Array:
        """The likeliest label of each record, (replicas, m)."""
        return model.labels(self.targets)


class Attack(Protocol):
    """A published or own attack: frozen, its parameters are fields."""

    @property
    def name(self) -> str: ...

    @property
    def source(self) -> str:
        """Authors of the attack, and where it was published."""
        ...

    @property
    def needs(self) -> Needs: ...

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:
        """One for each case, in order; all cases at once. You get an `AttackError` for what a case does not grant."""
        ...


def check_all(attack: Attack, cases: Sequence[Case]) -> None:
    """Every case grants what the attack needs, or an `AttackError`; a `ScenarioError` for what is no case."""
    expect(cases, "cases", Sequence[Case])
    for number, case in enumerate(cases):
        expect(case.evidence, f"cases[{number}].evidence", Evidence)
        expect(case.known, f"cases[{number}].known", Known)
        attack.needs.check(attack.name, case)


@dataclass(frozen=True)
class Whitener:
    """R, in the smallest form that is exact, and the unit of each replica.

    `factor` is (rounds, rounds) where every coordinate has the same covariance, else (dimension, rounds, rounds).
    `unit` (replicas,): 1, or, where every estimate is exact, what rounding is taken to be; R is then the identity.
    """

    factor: Array
    unit: Array

    @classmethod
    def of(cls, evidence: Evidence) -> "Whitener":
        """Whitener of the errors that the evidence declares. Directions with less than rounding get rounding in its
        place."""
        sizes = np.max(np.abs(evidence.gradients), axis=(0, 2), initial=0.0)
        rounding = ROUNDING * np.where(sizes > 0, sizes, 1.0)
        if evidence.exact:
            return cls(np.eye(evidence.rounds), rounding)
        covariance = evidence.covariance
        first = covariance[..., 0]
        spread = ALIKE * float(np.max(np.abs(first), initial=0.0))
        common = evidence.alike or bool(np.all(np.abs(covariance - first[..., None]) <= spread))
        blocks = first[None] if common else np.moveaxis(covariance, -1, 0)
        floor = 2.0 ** math.ceil(math.log2(float(np.max(rounding))))
        factor = _inverse_root(blocks, floor**2)
        return cls(factor[0] if common else factor, np.ones(evidence.replicas))

    @property
    def common(self) -> bool:
        """Whether one matrix serves every coordinate."""
        return self.factor.ndim == 2

    @cached_property
    def between(self) -> Array:
        """R of the coordinates' mean covariance, (rounds, rounds): `factor` where they have the same."""
        if self.common:
            return self.factor
        roots = np.linalg.inv(self.factor)
        return _inverse_root(np.mean(roots @ np.swapaxes(roots, -1, -2), axis=0), 0.0)

    def __call__(self, values: Array) -> Array:
        """R v over the unit, for values (rounds, replicas, dimension); each replica's bits are its own."""
        spec = "st,trd->srd" if self.common else "dst,trd->srd"
        return np.einsum(spec, self.factor, values) / self.unit[:, None]


def _inverse_root(covariance: Array, least: float) -> Array:
    """R with R Σ Rᵀ = I of symmetric positive semidefinite matrices (…, n, n); no row has a variance below `least`.

    Deviations may span many orders of magnitude: rows are scaled to 1 before the decomposition.
    """
    variance = np.einsum("...tt->...t", covariance)
    lifted = np.maximum(variance, least)
    scale = 1 / np.sqrt(lifted)
    correlation = covariance * scale[..., :, None] * scale[..., None, :]
    np.einsum("...tt->...t", correlation)[...] = 1.0
    sizes, axes = np.linalg.eigh(correlation)
    roots = 1 / np.sqrt(np.maximum(sizes, np.finfo(np.float64).eps * covariance.shape[-1]))
    return roots[..., :, None] * np.swapaxes(axes, -1, -2) * scale[..., None, :]


MANY = 4096
"""Terms above which three moments are enough."""
CELL, LONGEST = 0.01, 400.0
"""Cell and length of the grid; one square is above the longest with probability e⁻²⁸."""
SKEWNESS = 592 / 20**1.5
"""Skewness of a squared Laplace variable: E[X^2k] is proportional to (2k)!."""


@lru_cache(maxsize=256)
def _laplace_tail(false_alarm: float, terms: int) -> float:
    """Quantile for independent Laplace errors, P(z² > y) = exp(−√(2y)): by convolution on a grid, squares rounded to
    the middle of their cell; with more than `MANY` terms by the gamma distribution of equal mean, variance and
    skewness."""
    if terms > MANY:
        skewness = SKEWNESS / np.sqrt(terms)
        from scipy import stats  # takes its time to load

        return float(stats.pearson3.isf(false_alarm, skewness, loc=terms, scale=np.sqrt(5 * terms)))
    from scipy import fft  # takes its time to load

    size = fft.next_fast_len(int((LONGEST + terms + 12 * np.sqrt(5 * terms)) / CELL), real=True)
    edges = CELL * np.arange(size + 1)
    cells = -np.diff(np.exp(-np.sqrt(2 * edges)))
    law = fft.irfft(fft.rfft(cells) ** terms, size)
    above = np.cumsum(law[::-1])[::-1]
    return CELL * (int(np.argmax(above <= false_alarm)) + terms / 2)


@dataclass(frozen=True)
class _Misfit:
    """`squared` (replicas,): χ² over `degrees` residuals, of which each has mean square 1 at the true records;
    `relative` (replicas,): ‖residual‖/‖gradients‖ over all rounds, without any weights."""

    squared: Array
    degrees: int
    relative: Array
    rounds: int
    law: Law | None

    def quantile(self, false_alarm: float) -> float:
        """Value that χ² of the true records exceeds with this probability, by the law of the errors.

        Where that is not known, errors may depend on each other between rounds, and their tails are taken for no
        heavier than Laplace's: the largest of such sums, in convex order, has equal squares in all rounds.
        """
        if self.law is None:
            return self.rounds * _laplace_tail(false_alarm, self.degrees // self.rounds)
        if self.law == "laplace":
            return _laplace_tail(false_alarm, self.degrees)
        from scipy import stats  # takes its time to load

        return float(stats.chi2.isf(false_alarm, self.degrees))


def misfit(case: Case, features: Array, targets: Array) -> _Misfit:
    """Misfit of candidates: features (replicas, m, width), targets (replicas, m, outputs).

    Candidates' gradients are clipped as the agent's are. Estimates without noise count as exact up to rounding
    (`ROUNDING`). You get an `AttackError` where the shapes are not those of the case.
    """
    evidence, known = case
    shape = (evidence.replicas, known.records)
    if features.shape != (*shape, known.model.width) or targets.shape != (*shape, known.model.outputs):
        raise AttackError(f"candidates of shapes {features.shape} and {targets.shape} for {shape} records")
    given, expected = evidence.without(known.penalty), known.model.gradient(evidence.points, features, targets)
    if known.clip is not None:
        public = known.penalty.gradient(evidence.points)
        expected = known.clip(expected + public) - public
    residual = given - expected
    white = Whitener.of(evidence)(residual)
    degrees = evidence.rounds * evidence.points.shape[-1]
    norm = np.sqrt(np.einsum("trd->r", given**2))
    return _Misfit(
        np.einsum("trd->r", white**2),
        degrees,
        np.sqrt(np.einsum("trd->r", residual**2)) / np.where(norm > 0, norm, 1.0),
        evidence.rounds,
        evidence.law,
    )
