"""Attacks of a scenario: reconstruction of records from gradients, and games of membership and property inference."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, field_validator

from attacks.reconstruction import membership
from attacks.reconstruction.attack import Attack
from attacks.reconstruction.gradient_inversion import DLG, IDLG, GradInversion, InvertingGradients
from attacks.reconstruction.informed import FinitePrior, Informed
from attacks.reconstruction.one_record import (
    DenseLayerRecord,
    LeastSquaresRecord,
    LogisticRecord,
    MeanOfRatios,
    OneRecord,
    SoftmaxRecord,
)
from attacks.reconstruction.posterior import PosteriorBatch, PosteriorMean, PosteriorMode, PureMatching
from attacks.reconstruction.row_space import LeastSquaresGram, RowSpace
from netsim.bounds import MOST, Count
from scenarios.files.models import literals
from scenarios.schema.spec import Index, Model, Spec, Words

Rounds = Literal["first", "last", "clearest", "all"]
Inversion = Literal["strongest", "published"]
Labels = Literal["private", "public"]
Own = Literal[
    "one_record", "posterior", "pure_matching", "least_squares_record", "logistic_record", "softmax_record",
    "dense_layer", "mean_of_ratios", "least_squares_gram", "finite_prior", "posterior_mean",
]  # fmt: skip
_MADE: tuple[Callable[[], Attack], ...] = (
    LeastSquaresRecord, LogisticRecord, SoftmaxRecord, DenseLayerRecord, MeanOfRatios, RowSpace, LeastSquaresGram,
    OneRecord, PosteriorMode, PosteriorMean, PosteriorBatch, PureMatching, DLG, IDLG, InvertingGradients,
    GradInversion, FinitePrior, Informed,
)  # fmt: skip
KINDS = {made().name.replace("-", "_"): made for made in _MADE}
"""Every attack with its default parameters, by its name in the words of a scenario."""
PARAMETERS = {"matched": "rounds"}
"""Parameters that have another name in a scenario, where `rounds` says which gradients an attack gets."""


class RebuildModel(Spec):
    """What all attacks share; every other field is a parameter of the attack, as published where it is not given."""

    kind: Any
    name: Words | None = None
    """How results name it; none: by its kind."""
    inversion: Inversion = "strongest"
    """From which gradients: as well as is known here ("strongest"), or as the algorithm's own paper infers them
    ("published": of DP-RECAL, RECAL's inversion with the noisy ũ in the place of u; of all others the same as
    "strongest")."""
    rounds: Rounds | None = None
    """Which of an agent's gradients the attack gets; none: as `attacks.rounds` says."""
    labels: Labels | None = None
    """Whether the attack gets the labels; none: as `attacks.labels` says."""

    @property
    def label(self) -> str:
        """How results name it."""
        return self.name or str(self.kind)

    def build(self) -> Attack:
        """The attack with its parameters; a `ScenarioError` names one that it refuses."""
        own = [name for name in type(self).model_fields if name not in RebuildModel.model_fields]
        given = {PARAMETERS.get(name, name): value for name in own if (value := getattr(self, name)) is not None}
        attack: Any = KINDS[self.kind]()
        if "iterations" in given and hasattr(attack, "optimizer"):
            given["optimizer"] = replace(attack.optimizer, iterations=given.pop("iterations"))
        return replace(attack, **given) if given else attack


_OWN = ("rounds", "spread", "optimizer")
"""Parameters that a scenario gives in another way, or not at all."""


class _MatchingModel(RebuildModel):
    """Attacks that match gradients by an optimizer."""

    matched: Count | None = None
    """How many gradients are matched at once; none: 1, as published."""
    iterations: Count | None = None
    """How many iterations of the optimizer at most; none: as published."""


class DlgSpec(_MatchingModel, of=DLG, kind="dlg", without=_OWN, optional=True):
    """DLG (Zhu, Liu, Han 2019): features and soft labels whose gradient is nearest, by L-BFGS from random starts."""


class IdlgSpec(_MatchingModel, of=IDLG, kind="idlg", without=_OWN, optional=True):
    """iDLG (Zhao, Mopuri, Bilen 2020): the label of one record from the sign of the last layer, then as DLG."""


class InvertingGradientsSpec(
    _MatchingModel, of=InvertingGradients, kind="inverting_gradients", without=_OWN, optional=True
):
    """Inverting Gradients (Geiping et al. 2020): images by the direction of the gradient alone and their total
    variation, by Adam on signs."""


class GradInversionSpec(_MatchingModel, of=GradInversion, kind="grad_inversion", without=_OWN, optional=True):
    """GradInversion (Yin et al. 2021) without batch norm: images by the gradient, total variation, ℓ2 norm and
    agreement of several seeds, with Langevin noise; it gets the labels, or finds them by a rule."""


class RowSpaceSpec(RebuildModel, of=RowSpace, kind="row_space", optional=True):
    """A batch of a logistic loss from many rounds, in the row space of its gradients (this project): m² unknowns."""


class PosteriorBatchSpec(RebuildModel, of=PosteriorBatch, kind="posterior_batch", optional=True):
    """The mode of the posterior of a small batch."""


class InformedSpec(RebuildModel):
    """The informed adversary (Balle, Cherubin, Hayes 2022): it knows all records of an agent but one, and subtracts
    their gradients."""

    kind: Literal["informed"]
    then: Own = "finite_prior"
    """The attack on the one record that is left."""

    def build(self) -> Attack:
        return Informed(KINDS[self.then]())


class OwnSpec(RebuildModel):
    """Attacks without parameters. `posterior`: the mode under the known law of the noise, with the prior, of one
    record. `pure_matching`: the best match in units of the noise, without a prior: a straw man. `one_record`: a
    closed form from exact gradients, else the posterior's mode. The closed forms alone: `least_squares_record`,
    `logistic_record`, `softmax_record`; `dense_layer` for any model whose first layer has an intercept, and
    `mean_of_ratios`, its unweighted twin. `least_squares_gram`: what a batch of least squares gives away, AᵀA.
    `posterior_mean`: the modes of all labels, averaged. `finite_prior`: the likeliest of the public records."""

    kind: Own


_Matching = DlgSpec | IdlgSpec | InvertingGradientsSpec | GradInversionSpec
RebuildSpec = Annotated[
    _Matching | RowSpaceSpec | PosteriorBatchSpec | InformedSpec | OwnSpec, Field(discriminator="kind")
]
REBUILDING = [kind for model in get_args(get_args(RebuildSpec)[0]) for kind in literals(model, "kind")]
"""Every attack on records that a scenario can name."""


ADJACENT: dict[str, membership.Adjacency] = {"remove": "remove", "zero_out": "zero out", "replace": "replace"}
"""The words of a scenario, and of the attack."""
Level = Annotated[float, Field(gt=0, le=0.5)]
Portion = Annotated[float, Field(ge=0, le=1)]


class DecidingModel(Model):
    """What both games share."""

    agent: Index = 0
    """The agent whose data the game is about, from 0."""
    inversion: Inversion = "strongest"
    """From which gradients: as well as is known, or as the algorithm's own paper infers them."""
    rounds: Rounds = "all"
    """Which of the agent's gradients the attack gets."""
    confidence: Annotated[float, Field(ge=0.5, lt=1)] = 0.95
    """The confidence of each interval (Clopper–Pearson)."""


class MembershipSpec(DecidingModel):
    """Is a record one of the agent's? Played in two worlds: the agent holds `attacks.holding` records, the `record`
    among them; and it is not there. The score is the likelihood ratio of the two worlds; of an attacker who is not
    informed, a trained one."""

    adjacency: Literal["remove", "zero_out", "replace"] = "remove"
    """How the record is not there: the agent has one less ("remove"); a record of zeros is in its place, so that
    the others weigh as before ("zero_out"); or another one is, which no agent holds ("replace")."""
    informed: bool = True
    """Whether the attacker knows all other records of the agent, and the one that is there `instead`; else the
    others are drawn anew for every transcript, from records that it does not know."""
    record: Index = 0
    """Which of the agent's records, from 0."""
    instead: Index = 0
    """Which of the records that no agent holds is in its place, from 0."""
    levels: Annotated[list[Level], Field(min_length=1, max_length=20)] = [0.01, 0.05, 0.1]
    """Shares of false alarms, for each of which the law of the score gives a threshold."""
    draws: Annotated[int, Field(ge=20)] = 200
    """Runs that an attacker who is not informed makes itself, with public records: so many to train its score, and
    as many to state its power."""
    trials: Annotated[int, Field(ge=20, le=MOST)] = 200
    """How many transcripts of each world are played."""
    chunk: Count = 200
    """How many transcripts are simulated at once; all of them where this is more than `trials`."""

    @field_validator("levels")
    @classmethod
    def _once(cls, levels: list[float]) -> list[float]:
        if len(set(levels)) < len(levels):
            raise ValueError("a level stands there twice")
        return sorted(levels)

    @property
    def adjacent(self) -> membership.Adjacency:
        """The adjacency in the attack's words."""
        return ADJACENT[self.adjacency]


class HypothesisSpec(Model):
    """What an agent's records may be like."""

    name: Words
    """How results name it."""
    shares: Annotated[list[Portion], Field(min_length=2)]
    """The share of each class, in the order of the labels (of two classes −1 first, then +1); they come to 1."""


class PropertySpec(DecidingModel):
    """Which of several populations are the agent's records from? In each run the next hypothesis in turn is true, and
    the agent's `attacks.holding` records are drawn under it, from records that the attacker does not know. It says
    how likely each hypothesis is, from public records of the same kind."""

    hypotheses: Annotated[list[HypothesisSpec], Field(min_length=2, max_length=20)]
    """What the records may be like."""
    draws: Annotated[int, Field(ge=50)] = 400
    """Simulated batches under each hypothesis, which calibrate what the attack says."""
    trials: Annotated[int, Field(ge=10, le=MOST)] = 100
    """How many runs are played, each with records of its own."""

    @field_validator("hypotheses")
    @classmethod
    def _differ(cls, hypotheses: list[HypothesisSpec]) -> list[HypothesisSpec]:
        for key, what in (("name", "of the name"), ("shares", "with the shares")):
            said = [getattr(one, key) for one in hypotheses]
            for one in said:
                if said.count(one) > 1:
                    raise ValueError(f"two hypotheses {what} {one!r}: there is nothing to choose between them")
        return hypotheses
