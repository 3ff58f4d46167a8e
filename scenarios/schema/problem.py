"""Problem of a scenario: the data set, its split among the agents, and the loss."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import Field, model_validator

from netsim.bounds import Count
from netsim.problems import ElasticNet, FusedLasso, LInf
from netsim.problems.data import files, named
from netsim.problems.problem import Kind
from scenarios.files.document import Tree
from scenarios.schema.spec import Index, Model, NonNegative, Positive, Share, Spec, derived, union


class _DataSpec(Spec):
    """A data set; every field but the name is an option of `netsim.problems.load`."""

    norm_bound: Positive | None = None
    """Records are scaled down to this ℓ2 norm at most; none: as they are."""
    unit: bool = False
    """Whether each feature is brought to [0, 1] first, by its least and largest value."""


class Synthetic(_DataSpec, of=named.synthetic):
    name: Literal["synthetic"] = "synthetic"
    records: Count = 400


class _Kept(_DataSpec):
    """A set of the data folder."""

    download: bool = False
    """Whether the set is fetched where it is not there."""


_CACHE = ("cache",)
Digits = derived("Digits", _DataSpec, named.digits, "digits", "name")
BreastCancer = derived("BreastCancer", _DataSpec, named.breast_cancer, "breast_cancer", "name")
Sensors = derived("Sensors", _DataSpec, named.sensors, "sensors", "name")
Mnist = derived("Mnist", _Kept, named.mnist, "mnist", "name", without=_CACHE)
FashionMnist = derived("FashionMnist", _Kept, named.fashion_mnist, "fashion_mnist", "name", without=_CACHE)
CifarCatDog = derived("CifarCatDog", _Kept, named.cifar10_cat_dog, "cifar10_cat_dog", "name", without=_CACHE)
Ijcnn1 = derived("Ijcnn1", _Kept, named.ijcnn1, "ijcnn1", "name", without=_CACHE)
Covtype = derived("Covtype", _Kept, named.covtype, "covtype", "name", without=_CACHE)
Adult = derived("Adult", _Kept, named.adult, "adult", "name", without=_CACHE)
LibsvmFile = derived("LibsvmFile", _DataSpec, files.libsvm, "libsvm", "name")
CsvFile = derived("CsvFile", _DataSpec, files.csv_file, "csv", "name")

if TYPE_CHECKING:
    Data = _DataSpec
else:
    _ONLINE = [Mnist, FashionMnist, CifarCatDog, Ijcnn1, Covtype, Adult]
    Data = union([Digits, BreastCancer, Synthetic, Sensors, *_ONLINE, LibsvmFile, CsvFile], "name")


class EqualSplit(Model):
    """Every agent has as many records, and as many of each class, as any other, give or take one."""

    kind: Literal["equal"] = "equal"


class DirichletSplit(Model):
    """Each class is cut at shares drawn from Dir(concentration, …): the smaller, the more agents differ."""

    kind: Literal["dirichlet"] = "dirichlet"
    concentration: Positive
    """The smaller, the more agents differ: each class is cut at shares drawn from Dir(concentration, …)."""


class LabelSplit(Model):
    """Every agent has records of one class only."""

    kind: Literal["label"] = "label"


Split = Annotated[EqualSplit | DirichletSplit | LabelSplit, Field(discriminator="kind")]

ElasticNetSpec = derived("ElasticNetSpec", Spec, ElasticNet, "elastic_net")
LInfSpec = derived("LInfSpec", Spec, LInf, "linf")
FusedLassoSpec = derived("FusedLassoSpec", Spec, FusedLasso, "fused_lasso")

if TYPE_CHECKING:
    RegularizerSpec = Spec
else:
    RegularizerSpec = union([ElasticNetSpec, LInfSpec, FusedLassoSpec])

WITHOUT_RIDGE = ("nonconvex_logistic", "sensors", "mlp")
Hidden = Annotated[list[Count], Field(min_length=1)]


class ProblemSpec(Model):
    """min Σ_i f_i(x) + n·r(x), where f_i is the mean loss of agent i's records plus ridge/2·‖x‖², and r is l1·‖x‖₁ or
    the `regularizer`.

    `nonconvex_logistic` adds Σ_t λω x_t²/(1+ω x_t²) to every f_i. `poisson` has exp(aᵀx) − b·aᵀx for counts b.
    `sensors` has f_i = ‖A_i x − b_i‖²/divisor, and the data set `sensors` if no other is named. `softmax` has two
    classes or more, and x = (W, b). `mlp` is a dense network with a softmax output; its x is counted from a public
    random start, and so is its ridge.
    """

    kind: Kind = "logistic"
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
    regularizer: RegularizerSpec | None = None
    """r of the public term n·r(x), in place of an l1; none: l1·‖x‖₁."""
    held_out: Share = 0.0
    """The share of the records that no agent gets, drawn by the scenario's seed: they measure how well x
    classifies."""
    scale: Positive = 1.0
    """All f_i and r are multiplied by this number, of logistic, ridge and lasso: 1/n where a text prints a mean over
    the agents and its algorithm has a step that does not follow L. The optimum stays."""
    nonconvex_weight: NonNegative = 0.001
    """λ of the nonconvex term."""
    nonconvex_shape: Positive = 1.0
    """ω of the nonconvex term."""
    divisor: Positive = 36.0
    """By what the squares of the sensors' residuals are divided."""
    largest_rate: Positive | None = None
    """The largest mean count exp(aᵀx) of poisson, which needs one: its L holds where no record's mean exceeds it, and
    nowhere else."""
    hidden: Hidden = [32]
    """The hidden units of each layer of an mlp."""
    activation: Literal["sigmoid", "tanh", "softplus", "relu"] = "sigmoid"
    """The activation function of an mlp."""
    start: Index = 0
    """The seed of an mlp's random starting point, which is public."""
    smoothness: Positive | None = None
    """The largest L_i: all features are multiplied by one number that gives it; none: they stay as they are."""
    gradient_bound: Positive | None = None
    """c, a bound on ‖∇ℓ(x)‖₂ of a record's loss that is assumed where the loss has none, as least squares: the
    adjacency is by it, and claims say nothing of iterates that leave it. None: nothing is assumed."""

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_a_kind(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        fields = cast("Tree", given)
        if fields.get("kind") in WITHOUT_RIDGE:
            fields = {"ridge": 0.0, **fields}
        if fields.get("kind") == "sensors":
            fields = {"data": {"name": "sensors"}, **fields}
        return fields
