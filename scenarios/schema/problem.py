"""Problem of a scenario: the data set, its split among the agents, and the loss."""

from typing import Annotated, Any, Literal, cast

from pydantic import Field, model_validator

from netsim.problems import Dataset, Problem, build, load
from netsim.problems.data import files, named
from scenarios.files.document import Tree
from scenarios.schema.base import Count, Index, Model, NonNegative, Positive, Share
from scenarios.schema.spec import Spec


class DataSpec(Spec):
    """A data set; every field but the name is an option of `netsim.problems.load`."""

    norm_bound: Positive | None = None
    """Records are scaled down to this ℓ2 norm at most; none: as they are."""

    def load(self) -> Dataset:
        """The records; a `ScenarioError` names the option that does not fit."""
        options = self.model_dump()
        return load(options.pop("name"), **options)


class Digits(DataSpec, of=named.digits):
    name: Literal["digits"] = "digits"


class BreastCancer(DataSpec, of=named.breast_cancer):
    name: Literal["breast_cancer"] = "breast_cancer"


class Synthetic(DataSpec, of=named.synthetic):
    name: Literal["synthetic"] = "synthetic"
    records: Count = 400


class Sensors(DataSpec, of=named.sensors):
    name: Literal["sensors"] = "sensors"


class Kept(DataSpec):
    """A set of the data folder."""

    download: bool = False
    """Whether the set is fetched where it is not there."""


class Mnist(Kept, of=named.mnist, without=("cache",)):
    name: Literal["mnist"] = "mnist"


class FashionMnist(Kept, of=named.fashion_mnist, without=("cache",)):
    name: Literal["fashion_mnist"] = "fashion_mnist"


class CifarCatDog(Kept, of=named.cifar10_cat_dog, without=("cache",)):
    name: Literal["cifar10_cat_dog"] = "cifar10_cat_dog"


class Ijcnn1(Kept, of=named.ijcnn1, without=("cache",)):
    name: Literal["ijcnn1"] = "ijcnn1"


class Covtype(Kept, of=named.covtype, without=("cache",)):
    name: Literal["covtype"] = "covtype"


class Adult(Kept, of=named.adult, without=("cache",)):
    name: Literal["adult"] = "adult"


class LibsvmFile(DataSpec, of=files.libsvm):
    name: Literal["libsvm"] = "libsvm"


class CsvFile(DataSpec, of=files.csv_file):
    name: Literal["csv"] = "csv"


Data = Annotated[
    Digits
    | BreastCancer
    | Synthetic
    | Sensors
    | Mnist
    | FashionMnist
    | CifarCatDog
    | Ijcnn1
    | Covtype
    | Adult
    | LibsvmFile
    | CsvFile,
    Field(discriminator="name"),
]


class EqualSplit(Model):
    """Every agent has as many records, and as many of each class, as any other, give or take one."""

    kind: Literal["equal"] = "equal"

    def deal(self, dataset: Dataset, agents: int, seed: int) -> tuple[Dataset, ...]:
        return dataset.split(agents, seed)


class DirichletSplit(Model):
    """Each class is cut at shares drawn from Dir(concentration, …): the smaller, the more agents differ."""

    kind: Literal["dirichlet"] = "dirichlet"
    concentration: Positive
    """The smaller, the more agents differ: each class is cut at shares drawn from Dir(concentration, …)."""

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
    """min Σ_i f_i(x) + n·l1·‖x‖₁, where f_i is the mean loss of agent i's records plus ridge/2·‖x‖².

    `nonconvex_logistic` adds Σ_t λω x_t²/(1+ω x_t²) to every f_i. `sensors` has f_i = ‖A_i x − b_i‖²/divisor, and the
    data set `sensors` if no other is named. `softmax` has two classes or more, and x = (W, b). `mlp` is a dense
    network with a softmax output; its x is counted from a random start that everybody knows, and so is its ridge.
    """

    kind: Literal["logistic", "ridge", "lasso", "nonconvex_logistic", "sensors", "softmax", "mlp"] = "logistic"
    """The loss of a record."""
    data: Data = Digits(name="digits")
    """The data set."""
    split: Split = EqualSplit(kind="equal")
    """How the records are split among the agents."""
    ridge: NonNegative = 1.0
    """The weight of ridge/2·‖x‖² in every agent's objective; if not given 0 in nonconvex_logistic, sensors and
    mlp."""
    l1: NonNegative = 0.0
    """The weight of the public term n·l1·‖x‖₁."""
    held_out: Share = 0.0
    """The share of the records that no agent gets, drawn by the scenario's seed: they measure how well x
    classifies."""
    nonconvex_weight: NonNegative = 0.001
    """λ of the nonconvex term."""
    nonconvex_shape: Positive = 1.0
    """ω of the nonconvex term."""
    divisor: Positive = 36.0
    """By what the squares of the sensors' residuals are divided."""
    hidden: Hidden = [32]
    """The hidden units of each layer of an mlp."""
    activation: Literal["sigmoid", "tanh", "softplus", "relu"] = "sigmoid"
    """The activation function of an mlp."""
    start: Index = 0
    """The seed of an mlp's random starting point, which everybody knows."""
    smoothness: Positive | None = None
    """The largest L_i: all features are multiplied by one number that gives it; none: they stay as they are."""

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_a_kind(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        fields = cast(Tree, given)
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
