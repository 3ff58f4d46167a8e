"""What a scenario says of its problem: the data set, who gets which records, and the loss."""

from typing import Annotated, Any, Literal, cast

from pydantic import Field, model_validator

from netsim.problems import Dataset, Problem, build, load
from scenarios.schema.base import Count, Index, Model, NonNegative, Positive, Share

Digit = Annotated[int, Field(ge=0, le=9)]
SomeClasses = Annotated[list[Digit], Field(min_length=2, max_length=10)]
Path = Annotated[str, Field(min_length=1)]
Column = Path | int
TwoLabels = Annotated[list[str | float], Field(min_length=2, max_length=2)]


class DataSpec(Model):
    """What all data sets share: every field but the name is an option of `netsim.problems.load`."""

    norm_bound: Positive | None = None
    """Records are scaled down to this ℓ2 norm at most; none: as they are."""

    def load(self) -> Dataset:
        """The records; a `ScenarioError` names the option that does not fit."""
        options: dict[str, Any] = self.model_dump()
        return load(options.pop("name"), **options)


class Digits(DataSpec):
    """Scikit-learn's 8×8 digits, two classes; the first is −1, the second +1. More are 0, 1, 2, …; pixels in
    [0, 1]."""

    name: Literal["digits"] = "digits"
    classes: SomeClasses = [0, 1]
    """The classes that are used; of two the first is −1 and the second +1."""


class BreastCancer(DataSpec):
    """Scikit-learn's breast cancer data, 569 × 30, standardized."""

    name: Literal["breast_cancer"] = "breast_cancer"


class Synthetic(DataSpec):
    """Gaussian features, a drawn true x, and labels or noisy targets from it."""

    name: Literal["synthetic"] = "synthetic"
    kind: Literal["classification", "regression"] = "classification"
    """Labels or targets."""
    records: Count = 400
    """How many records are drawn."""
    dimension: Count = 10
    """How many features."""
    noise: NonNegative = 0.1
    """The standard deviation of the noise on targets, or the share of its like on labels."""
    seed: Index = 0
    """The seed of what is drawn here."""


class Sensors(DataSpec):
    """Measurements b = aᵀx + noise of one drawn x by sensors a ~ N(0, I): targets, not classes."""

    name: Literal["sensors"] = "sensors"
    records: Count = 36
    """How many sensors measure."""
    dimension: Count = 10
    """How many features."""
    noise: NonNegative = 0.1
    """The standard deviation of a measurement's noise."""
    seed: Index = 0
    """The seed of what is drawn here."""


class Drawn(DataSpec):
    """A set of which some records are drawn, or all are used."""

    records: Count | None = None
    """How many records; none: all."""
    seed: Index = 0
    """The seed of what is drawn here."""


class Kept(Drawn):
    """A set of the data folder."""

    download: bool = False
    """Whether the set is fetched where it is not there."""


class Mnist(Kept):
    """28×28 images of handwritten digits, two classes; the first is −1, the second +1. More are 0, 1, 2, …; pixels in
    [0, 1]."""

    name: Literal["mnist"] = "mnist"
    classes: SomeClasses = [0, 1]
    """The classes that are used; of two the first is −1 and the second +1."""
    part: Literal["train", "test"] = "train"
    """The training or the test part."""


class FashionMnist(Kept):
    """28×28 images of ten kinds of clothes, two of them; the first is −1, the second +1. More are 0, 1, 2, …; pixels
    in [0, 1]."""

    name: Literal["fashion_mnist"] = "fashion_mnist"
    classes: SomeClasses = [0, 1]
    """The classes that are used; of two the first is −1 and the second +1."""
    part: Literal["train", "test"] = "train"
    """The training or the test part."""


class CifarCatDog(Kept):
    """32×32 colour images of cats (−1) and dogs (+1) from CIFAR-10. Pixels in [0, 1]."""

    name: Literal["cifar10_cat_dog"] = "cifar10_cat_dog"
    part: Literal["train", "test"] = "train"
    """The training or the test part."""


class Ijcnn1(Kept):
    """LIBSVM's ijcnn1, 22 features."""

    name: Literal["ijcnn1"] = "ijcnn1"
    part: Literal["train", "test"] = "train"
    """The training or the test part."""


class Covtype(Kept):
    """Forest cover, 54 features scaled to [0, 1]; +1 is lodgepole pine, −1 the other six types."""

    name: Literal["covtype"] = "covtype"


class Adult(Kept):
    """UCI Adult, rows with unknown values dropped, categories one-hot; +1 earns more than 50,000 dollars."""

    name: Literal["adult"] = "adult"
    numeric: Literal["unit", "standardized"] = "unit"
    """How the six numeric columns are scaled, by the training part: to [0, 1], or to mean 0 and deviation 1."""
    part: Literal["train", "test"] = "train"
    """The training or the test part."""


class OwnFile(Drawn):
    """What LIBSVM and CSV files share."""

    path: Path
    """The file; a relative path starts at the working directory."""
    kind: Literal["classification", "regression"] = "classification"
    """Labels or targets."""
    classes: TwoLabels | None = None
    """Of more than two labels, the one that is −1 and the one that is +1; none: the smaller of two is −1."""


class LibsvmFile(OwnFile):
    """A LIBSVM file, plain or compressed."""

    name: Literal["libsvm"] = "libsvm"
    dimension: Count | None = None
    """How many features."""


class CsvFile(OwnFile):
    """A CSV file, plain or .gz."""

    name: Literal["csv"] = "csv"
    label: Column = -1
    """The column of the label: a name, or a position from 0 (−1 is the last)."""
    features: Annotated[list[Column], Field(min_length=1)] | None = None
    """The columns of the features; none: all others."""
    header: bool = True
    """Whether the first line has the columns' names."""
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    """What stands between two values."""


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
    """Who gets which records."""
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
