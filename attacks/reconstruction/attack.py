"""The interface of every reconstruction: evidence, prior and knowledge in, candidate records out.

An attack declares what it `needs`; where a view does not grant it, `reconstruct` refuses with an `AttackError` that
names what is missing. An attack is handed no truth, no label that is not public, and chooses among its own candidates
by its own objective.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np

from attacks.estimates import Evidence
from netsim.adversary import PublicKnowledge
from netsim.arrays import Array, Mask
from netsim.claims import ORDERS, Clip
from netsim.errors import AttackError
from netsim.models import NOTHING, Model, Penalty

FLOOR = 1e-4
"""Variance that every coordinate keeps."""


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
        """Prior from public records, one group for each label among them."""
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
        """Public knowledge of this agent. You get an `AttackError` where there is no one loss of a record."""
        if public.model is None:
            raise AttackError(f"the objectives ({public.loss}) are no mean of one public loss over records")
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
    """Every case grants what the attack needs, or an `AttackError`."""
    for case in cases:
        attack.needs.check(attack.name, case)
