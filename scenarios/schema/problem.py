"""What a scenario can say of its problem."""

from typing import Annotated, Any, Literal, cast

from pydantic import Field, model_validator

from netsim.problems import Dataset, Problem, build
from scenarios.schema.base import Count, Index, Model, NonNegative, Positive, Share
from scenarios.schema.data import Data, Digits


class EqualSplit(Model):
    """Every agent has as many records, and as many of each class, as any other, give or take one."""

    kind: Literal["equal"] = "equal"

    def deal(self, dataset: Dataset, agents: int, seed: int) -> tuple[Dataset, ...]:
        return dataset.split(agents, seed)


class DirichletSplit(Model):
    """Each class is cut at shares drawn from Dir(concentration, …): the smaller, the more agents differ."""

    kind: Literal["dirichlet"] = "dirichlet"
    concentration: Positive

    def deal(self, dataset: Dataset, agents: int, seed: int) -> tuple[Dataset, ...]:
        return dataset.split(agents, seed, by="dirichlet", concentration=self.concentration)


class LabelSplit(Model):
    """Every agent has records of one class only."""

    kind: Literal["label"] = "label"

    def deal(self, dataset: Dataset, agents: int, seed: int) -> tuple[Dataset, ...]:
        return dataset.split(agents, seed, by="label")


Split = Annotated[EqualSplit | DirichletSplit | LabelSplit, Field(discriminator="kind")]

WITHOUT_RIDGE = ("nonconvex_logistic", "sensors", "mlp")
Hidden = Annotated[list[Count], Field(min_length=1)]


class ProblemSpec(Model):
    """min Σ_i f_i(x) + n·l1·‖x‖₁, where f_i is the mean loss of agent i's records plus ridge/2·‖x‖². No agent gets
    the records that are `held_out`: drawn by the scenario's seed, they measure how well x classifies new ones.

    `nonconvex_logistic` adds Σ_t λω x_t²/(1+ω x_t²) to every f_i, λ = `nonconvex_weight`, ω = `nonconvex_shape`.
    `sensors` has f_i = ‖A_i x − b_i‖²/`divisor`, and the data set `sensors` if no other is named. `softmax` has two
    classes or more, and x = (W, b). `mlp` is a dense network with so many `hidden` units a layer, an `activation` and
    a softmax output; its x is counted from a random start that everybody knows, drawn by `start`, and so is its
    ridge. In `nonconvex_logistic`, `sensors` and `mlp` the ridge is 0 if it is not given. With `smoothness` all
    features are multiplied by one number, chosen such that the largest smoothness L_i of an f_i is this.
    """

    kind: Literal["logistic", "ridge", "lasso", "nonconvex_logistic", "sensors", "softmax", "mlp"] = "logistic"
    data: Data = Digits(name="digits")
    split: Split = EqualSplit(kind="equal")
    ridge: NonNegative = 1.0
    l1: NonNegative = 0.0
    held_out: Share = 0.0
    nonconvex_weight: NonNegative = 0.001
    nonconvex_shape: Positive = 1.0
    divisor: Positive = 36.0
    hidden: Hidden = [32]
    activation: Literal["sigmoid", "tanh", "softplus", "relu"] = "sigmoid"
    start: Index = 0
    smoothness: Positive | None = None

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_a_kind(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        fields = cast(dict[str, Any], given)
        if fields.get("kind") in WITHOUT_RIDGE:
            fields = {"ridge": 0.0, **fields}
        if fields.get("kind") == "sensors":
            fields = {"data": {"name": "sensors"}, **fields}
        return fields

    def build(self, parts: "tuple[Dataset, ...] | list[Dataset]") -> Problem:
        """The problem of these parts, one an agent."""
        return build(
            self.kind,
            parts,
            self.ridge,
            self.l1,
            nonconvex_weight=self.nonconvex_weight,
            nonconvex_shape=self.nonconvex_shape,
            divisor=self.divisor,
            hidden=self.hidden,
            activation=self.activation,
            start=self.start,
        )
