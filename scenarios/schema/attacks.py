"""What a scenario can say of the attacks that rebuild records from gradients: one model for each."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from attacks.reconstruction.attack import Attack
from attacks.reconstruction.catalogue import ATTACKS
from attacks.reconstruction.informed import Informed
from scenarios.schema.base import Count, Model, NonNegative, Positive, Words

Rounds = Literal["first", "last", "clearest", "all"]
Inversion = Literal["strongest", "published"]
Labels = Literal["private", "public"]
Own = Literal[
    "one_record", "posterior", "pure_matching", "least_squares_record", "logistic_record", "softmax_record",
    "dense_layer", "mean_of_ratios", "least_squares_gram", "finite_prior", "posterior_mean",
]  # fmt: skip
KINDS: dict[str, Callable[[], Attack]] = {name.replace("-", "_"): made for name, made in ATTACKS.items()}
"""The catalogue's attacks by the words of a scenario."""
PARAMETERS = {"matched": "rounds"}
"""Parameters that have another name in a scenario, where `rounds` says which gradients an attack gets."""


class RebuildModel(Model):
    """What all attacks share. `name`: in results, if not the `kind`. `inversion`: from which gradients. "strongest":
    as well as is known here; "published": as the algorithm's own paper infers them (of DP-RECAL: RECAL's inversion,
    with the noisy ũ in the place of u; of all others the same as "strongest"). `rounds`: which of an agent's
    gradients, in place of `attacks.rounds`; `labels` likewise. All else are parameters of the attack, as published
    where not given."""

    kind: Any
    name: Words | None = None
    inversion: Inversion = "strongest"
    rounds: Rounds | None = None
    labels: Labels | None = None

    @property
    def label(self) -> str:
        """How results name it."""
        return self.name or str(self.kind)

    def build(self) -> Attack:
        """The attack with its parameters; a `ScenarioError` names one that it refuses."""
        own = [name for name in type(self).model_fields if name not in RebuildModel.model_fields]
        given = {PARAMETERS.get(name, name): value for name in own if (value := getattr(self, name)) is not None}
        attack: Any = KINDS[self.kind]()
        if (iterations := given.pop("iterations", None)) is not None:
            nested = hasattr(attack, "optimizer")
            given |= {"optimizer": replace(attack.optimizer, iterations=iterations)} if nested else {}
            given |= {} if nested else {"iterations": iterations}
        return replace(attack, **given) if given else attack


class MatchingModel(RebuildModel):
    """`matched`: gradients that are matched at once, 1 as published; `iterations` of the optimizer at most."""

    matched: Count | None = None
    iterations: Count | None = None


class DlgSpec(MatchingModel):
    """DLG (Zhu, Liu, Han 2019): features and soft labels whose gradient is nearest, by L-BFGS from random starts."""

    kind: Literal["dlg"]
    restarts: Count | None = None


class IdlgSpec(MatchingModel):
    """iDLG (Zhao, Mopuri, Bilen 2020): the label of one record from the sign of the last layer, then as DLG."""

    kind: Literal["idlg"]
    restarts: Count | None = None


class InvertingGradientsSpec(MatchingModel):
    """Inverting Gradients (Geiping et al. 2020): images by the direction of the gradient alone and their total
    `variation`, by Adam on signs, of so large a `step`."""

    kind: Literal["inverting_gradients"]
    restarts: Count | None = None
    step: Positive | None = None
    variation: NonNegative | None = None


class GradInversionSpec(MatchingModel):
    """GradInversion (Yin et al. 2021) without batch norm: images by the gradient, total `variation`, `size` (ℓ2) and
    agreement (`group`) of several `seeds`, with Langevin `noise`; it is told the labels, or finds them by a rule."""

    kind: Literal["grad_inversion"]
    seeds: Count | None = None
    step: Positive | None = None
    variation: NonNegative | None = None
    size: NonNegative | None = None
    group: NonNegative | None = None
    noise: NonNegative | None = None


class RowSpaceSpec(RebuildModel):
    """A batch of a logistic loss from many rounds, in the row space of its gradients (this project): m² unknowns.
    `restarts` at most, `at_once` so many, until one explains the gradients."""

    kind: Literal["row_space"]
    restarts: Count | None = None
    at_once: Count | None = None


class PosteriorBatchSpec(RebuildModel):
    """The mode of the posterior of a small batch, from `restarts` draws of the prior for each assignment of
    labels."""

    kind: Literal["posterior_batch"]
    restarts: Count | None = None


class InformedSpec(RebuildModel):
    """The informed adversary (Balle, Cherubin, Hayes 2022): it knows all records of an agent but the first, subtracts
    their gradients, and attacks the one that is left by `then`."""

    kind: Literal["informed"]
    then: Own = "finite_prior"

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


RebuildSpec = Annotated[
    DlgSpec
    | IdlgSpec
    | InvertingGradientsSpec
    | GradInversionSpec
    | RowSpaceSpec
    | PosteriorBatchSpec
    | InformedSpec
    | OwnSpec,
    Field(discriminator="kind"),
]


def kinds() -> list[str]:
    """Every attack on records that a scenario can name."""
    (union, *_) = get_args(RebuildSpec)
    return [kind for model in get_args(union) for kind in get_args(model.model_fields["kind"].annotation)]
