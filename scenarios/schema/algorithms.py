"""Algorithms of a scenario: the core's, with noise as given or calibrated to a claim."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import numpy as np

from netsim import algorithms, schedules
from netsim.algorithms import Algorithm, Setting, planted_faults
from netsim.algorithms.composition import balanced
from netsim.bounds import Count
from netsim.claims import Adjacency, Clip
from netsim.codecs import Codec
from netsim.errors import PrivacyError, ScenarioError
from netsim.models.model import Ball, Box
from netsim.problems import Problem
from netsim.schedules import Constant, Schedule
from netsim.simulation import setting_of
from netsim.topology import Topology
from scenarios.schema.spec import (
    OF_TYPE,
    OF_VALUE,
    Model,
    Name,
    NonNegative,
    Positive,
    Probability,
    Spec,
    automatic,
    built,
    core,
    derived,
    parameters,
    union,
)
from scenarios.schema.world import CodecSpec

MONITOR_DELTA = 1e-3
"""δ at which a claim is evaluated where the scenario names none."""
REMEDY = "noise given outright, or conditions that hold (of a constant change: audit: {adjacency: {change: …}})"


@dataclass(frozen=True)
class Ground:
    """Problem, graph and adjacency that an algorithm of a scenario is built for."""

    problem: Problem
    topology: Topology
    adjacency: Adjacency

    def setting(self, releases: int) -> Setting:
        """The public facts that conditions and claims depend on."""
        return setting_of(self.problem, self.topology, releases).loosened(self.adjacency.bending)


# ── schedules, domains, clipping ────────────────────────────────────────────────────────────────────────


GeometricSpec = derived("GeometricSpec", Spec, schedules.Geometric, "geometric")
PolynomialSpec = derived("PolynomialSpec", Spec, schedules.Polynomial, "polynomial")
UniformDrawsSpec = derived("UniformDrawsSpec", Spec, schedules.UniformDraws, "uniform_draws")


BallSpec = derived("BallSpec", Spec, Ball, "ball")
BoxSpec = derived("BoxSpec", Spec, Box, "box")

if TYPE_CHECKING:
    ScheduleSpec = NonNegative | Spec
else:
    ScheduleSpec = NonNegative | union([GeometricSpec, PolynomialSpec, UniformDrawsSpec])


def schedule(spec: ScheduleSpec, field: str = "algorithm") -> Schedule:
    """A number is a constant schedule; an error is one of `field`."""
    return Constant(spec) if isinstance(spec, float | int) else built(field, spec)


class ClipSpec(Spec, of=Clip): ...


OF_TYPE.update({Schedule: ScheduleSpec, Clip: ClipSpec, Ball | Box: union([BallSpec, BoxSpec]), Codec: CodecSpec})
OF_VALUE[Constant] = attrgetter("value")

# ── algorithms ──────────────────────────────────────────────────────────────────────────────────────────


class Target(Model):
    """Noise calibrated to a claim: the scale at which the paper's formula gives this (ε, δ)."""

    epsilon: Positive
    """The claimed ε that the noise is made for."""
    delta: Probability = 1e-3
    """δ of the claim."""


class PureTarget(Model):
    """Noise calibrated to a claim: the scale at which the paper's formula gives this pure ε."""

    epsilon: Positive
    """The claimed ε that the noise is made for."""


class Stddev(Model):
    """Noise given outright: σ of the first activation."""

    stddev: NonNegative
    """The standard deviation σ of Gaussian noise."""


class AlgorithmModel(Spec, ABC):
    """One algorithm of a scenario."""

    name: Name
    """How results name it."""
    baseline: bool = False
    """A baseline: shown and audited, but its verdict decides no exit status."""

    @abstractmethod
    def build(self, ground: Ground) -> Algorithm:
        """The algorithm on this problem and graph. A `ScenarioError` has fields under "algorithm"."""

    @property
    def delta(self) -> float | None:
        """The δ of the claim that is looked at, if the scenario names one."""
        return None

    @property
    def delta_handed(self) -> float:
        """The δ that `claim` is handed."""
        return MONITOR_DELTA if self.delta is None else self.delta

    @property
    def code(self) -> str | None:
        """SHA-256 of an algorithm's source that is not netsim's own; None for those that come with it."""
        return None


class Derived(AlgorithmModel):
    """One of the core's algorithms, whose noise may come from a target: in the field `target`, or in the place of a
    noise scale. With a `target` the scales give the shape of the noise over the rounds, flat where they are 0."""

    def build(self, ground: Ground) -> Algorithm:
        field, target = self._target()
        algorithm = type(self).of(**self._values(ground, shaped=target is not None))
        if target is None:
            return algorithm
        releases: int | None = self.per_agent if "per_agent" in type(self).model_fields else self.rounds
        if releases is None:
            why = "how often an agent releases something is not bounded"
            raise ScenarioError(f"algorithm.{field}", target.model_dump(), why, "per_agent, or a scale")
        try:
            return algorithm.calibrated(target.epsilon, self.delta or 0.0, ground.adjacency, ground.setting(releases))
        except PrivacyError as error:
            raise ScenarioError(f"algorithm.{field}", target.model_dump(), str(error), REMEDY) from None

    @property
    def delta(self) -> float | None:
        target = self._target()[1]
        return target.delta if isinstance(target, Target) else None

    def _target(self) -> tuple[str, Target | PureTarget | None]:
        """The field that holds the budget that noise is made for, and the budget."""
        values = ((name, getattr(self, name)) for name in ("target", "scale") if name in type(self).model_fields)
        return next(((name, one) for name, one in values if isinstance(one, Target | PureTarget)), ("", None))

    def _given(self, name: str, ground: Ground) -> Any:  # noqa: ARG002
        """A field as the scenario has it."""
        return getattr(self, name)

    def _values(self, ground: Ground, shaped: bool) -> dict[str, object]:
        """The parameters of the algorithm; "auto" is what the core makes of the others, in their order."""
        declared = parameters(type(self).of)
        at = {name: self._given(name, ground) for name in declared if name in type(self).model_fields}
        automatics = [name for name, one in at.items() if one == "auto"]
        for name in at.keys() - set(automatics):
            flat = isinstance(at[name], Target | PureTarget) or (shaped and at[name] == 0 and name.startswith(NOISE))
            at[name] = core(f"algorithm.{name}", 1.0 if flat else at[name])
            kind = declared[name][0]
            base = get_args(kind)[0] if get_origin(kind) is Annotated else kind
            if isinstance(at[name], float | int) and Schedule in (base, *get_args(base)):
                at[name] = Constant(at[name])
        facts = SimpleNamespace(
            smoothness=ground.problem.smoothness,
            smoothnesses=[objective.smoothness for objective in ground.problem.objectives],
            topology=ground.topology,
            **at,
        )
        for name in automatics:
            at[name] = automatic(type(self).of, name).value(facts)
            setattr(facts, name, at[name])
        return at


NOISE = ("scale", "stddev")
"""First words of the fields whose size a target gives."""


# ── one by one ──────────────────────────────────────────────────────────────────────────────────────────


def _named(base: type[Derived], of: type[Algorithm], kind: str, name: str) -> type[Derived]:
    """The model of an algorithm that has no fields but the core's and those of `base`."""
    return derived(f"{of.__name__}Spec", base, of, kind, name=name)


RecalSpec = _named(Derived, algorithms.Recal, "recal", "RECAL")


class DPRecalSpec(
    Derived, of=algorithms.DPRecal, kind="dp_recal", name="DP-RECAL", without=("activations", "stddev")
):
    per_agent: Count
    noise: Target | Stddev = Target(epsilon=1.0)
    """The budget that the noise is made for, or its σ."""

    def build(self, ground: Ground) -> Algorithm:
        algorithm = type(self).of(**self._values(ground, shaped=False))
        if isinstance(self.noise, Stddev):
            return replace(algorithm, stddev=self.noise.stddev)
        if self.sensitivity == "bound" and not np.isfinite(ground.adjacency.gradient_change):
            why = "noise cannot be calibrated: no bound on one record's gradient"
            remedy = "problem.kind: logistic or softmax with problem.data.norm_bound, or noise: {stddev: …}"
            raise ScenarioError("algorithm.noise", self.noise.model_dump(), why, remedy)
        setting = ground.setting(self.per_agent)
        try:
            return algorithm.calibrated(self.noise.epsilon, self.noise.delta, ground.adjacency, setting)
        except PrivacyError as error:
            raise ScenarioError("algorithm.noise", self.noise.model_dump(), str(error), REMEDY) from None

    @property
    def delta(self) -> float | None:
        return self.noise.delta if isinstance(self.noise, Target) else None


class PrivateGradientDescentSpec(
    Derived, of=algorithms.PrivateGradientDescent, kind="private_gradient_descent", name="private gradient descent"
):
    scale: ScheduleSpec | PureTarget | Target = 0.0

    def build(self, ground: Ground) -> Algorithm:
        if isinstance(self.scale, PureTarget) and self.clip is None and self.state == "exact":
            why = "noise cannot be calibrated without clipping"
            raise ScenarioError("algorithm.scale", self.scale.model_dump(), why, "clip: {bound: …}, or a scale")
        return super().build(ground)


class _NoisyModel(Derived):
    """Laplace or Gaussian noise of a scale that may be made for a target."""

    scale: ScheduleSpec | Target = 0.0
    """Laplace's b or Gaussian's σ per coordinate: a number, a schedule, or a target."""
    target: Target | None = None
    """The claimed budget that the noise is scaled to, keeping the shape of `scale` over the releases; none: noise as
    given."""


ExtraSpec = _named(_NoisyModel, algorithms.Extra, "extra", "EXTRA")
PgExtraSpec = _named(_NoisyModel, algorithms.PgExtra, "pg_extra", "PG-EXTRA")
NidsSpec = _named(_NoisyModel, algorithms.Nids, "nids", "NIDS")
ExactDiffusionSpec = _named(_NoisyModel, algorithms.ExactDiffusion, "exact_diffusion", "Exact diffusion")
GradientTrackingSpec = _named(Derived, algorithms.GradientTracking, "gradient_tracking", "gradient tracking")


class _DecayingNoise(Derived):
    """Noise that falls by the round, from scales that may be made for a target."""

    scale_x: NonNegative = 1.0
    scale_y: NonNegative = 1.0
    target: PureTarget | None = None
    """The claimed budget that the noise is scaled to; none: noise as given."""


DiaDSPSpec = _named(_DecayingNoise, algorithms.DiaDSP, "diadsp", "DiaDSP")
CpgtSpec = _named(_DecayingNoise, algorithms.Cpgt, "cpgt", "CPGT")
PpdcSpec = _named(Derived, algorithms.Ppdc, "ppdc", "PPDC")


class _Targeted(Derived):
    """Noise whose scales may be made for a target."""

    target: PureTarget | None = None
    """The claimed budget that the noise is scaled to; none: noise as given."""


Dpp2Spec = _named(_Targeted, algorithms.Dpp2, "dpp2", "DPP²")
DmspSpec = _named(_Targeted, algorithms.Dmsp, "dmsp", "DMSP")


class RandomPenaltyAdmmSpec(
    _Targeted, of=algorithms.RandomPenaltyAdmm, kind="random_penalty_admm", name="random-penalty ADMM"
):
    scale: ScheduleSpec | None = None
    """1/β_k, the Laplace scale per coordinate, by round; 0: only the penalties are random; none: 1.02^−k."""

    def _given(self, name: str, ground: Ground) -> Any:
        given = super()._given(name, ground)
        return parameters(type(self).of)["scale"][1] if name == "scale" and given is None else given


GroupedDescentSpec = _named(_Targeted, algorithms.GroupedDescent, "grouped_descent", "grouped descent")
NeighborRangeSpec = _named(_Targeted, algorithms.NeighborRange, "neighbor_range", "neighbor range")


class _GaussianTarget(Derived):
    """Gaussian noise that may be made for a target."""

    target: Target | None = None
    """The claimed budget that the noise is scaled to; none: noise as given."""


SecretSharingSpec = _named(_GaussianTarget, algorithms.SecretSharing, "secret_sharing", "secret sharing")
MuffliatoSpec = _named(_GaussianTarget, algorithms.Muffliato, "muffliato", "Muffliato")
MuffliatoDescentSpec = _named(_GaussianTarget, algorithms.MuffliatoDescent, "muffliato_descent", "Muffliato descent")
LaplacianConsensusSpec = _named(_Targeted, algorithms.LaplacianConsensus, "laplacian_consensus", "noisy consensus")
StateDecompositionSpec = _named(Derived, algorithms.StateDecomposition, "state_decomposition", "state decomposition")
ZeroSumNoiseSpec = _named(Derived, algorithms.ZeroSumNoise, "zero_sum_noise", "zero-sum noise")
EdgePerturbationSpec = _named(Derived, algorithms.EdgePerturbation, "edge_perturbation", "edge perturbation")
SubspacePerturbationSpec = _named(
    Derived, algorithms.SubspacePerturbation, "subspace_perturbation", "subspace perturbation"
)
DecorSpec = _named(_GaussianTarget, algorithms.Decor, "decor", "DECOR")
ZipDLSpec = _named(Derived, algorithms.ZipDL, "zip_dl", "Zip-DL")
IcAdmmSpec = _named(_NoisyModel, algorithms.IcAdmm, "ic_admm", "IC-ADMM")
DAdmmSpec = _named(_NoisyModel, algorithms.DAdmm, "d_admm", "D-ADMM")
DpAdmmSpec = _named(_NoisyModel, algorithms.DpAdmm, "dp_admm", "DP-ADMM")
RAdmmSpec = _named(_NoisyModel, algorithms.RAdmm, "r_admm", "R-ADMM")


class MrAdmmSpec(_NoisyModel, of=algorithms.MrAdmm, kind="mr_admm", name="MR-ADMM"):
    most: Positive | None = None
    """What the penalty grows to at most; none: without end, or 4 L/(2·mean degree) if `penalty` is "auto"."""

    def _given(self, name: str, ground: Ground) -> Any:
        if name == "most" and self.most is None and self.penalty == "auto":
            return 4 * balanced(SimpleNamespace(smoothness=ground.problem.smoothness, topology=ground.topology))
        return super()._given(name, ground)


RwAdmmSpec = _named(_NoisyModel, algorithms.RwAdmm, "rw_admm", "RW-ADMM")
WalkmanSpec = _named(_NoisyModel, algorithms.Walkman, "walkman", "Walkman")


FaultName = Literal[
    "l1_l2_mix_up", "one_scalar", "sent_before", "composition_forgotten", "reused_seed", "averaged", "fading_noise",
    "second_message", "wrong_clip", "half_noise",
]  # fmt: skip
_FAULTS = dict(zip(get_args(FaultName), planted_faults.FAULTS, strict=True))


class PlantedFaultSpec(AlgorithmModel, of=planted_faults.Fault, kind="planted_fault", name="planted fault"):
    """Private gradient descent with a planted `fault`, for teaching and for examining auditors; or its `sound` twin,
    which claims the same."""

    fault: FaultName
    """Which fault."""
    rounds: Count = 4
    scale: Positive = 0.8
    bound: Positive = 0.5

    def build(self, ground: Ground) -> Algorithm:
        del ground
        return _FAULTS[self.fault](**{name: getattr(self, name) for name in parameters(type(self).of)})
