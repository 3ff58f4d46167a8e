"""What a scenario can say of its data: a set by name, or a file."""

from typing import Annotated, Any, Literal

from pydantic import Field

from netsim.problems import Dataset, load
from scenarios.schema.base import Count, Index, Model, NonNegative, Positive

Digit = Annotated[int, Field(ge=0, le=9)]
SomeClasses = Annotated[list[Digit], Field(min_length=2, max_length=10)]
Path = Annotated[str, Field(min_length=1)]
Column = Path | int
TwoLabels = Annotated[list[str | float], Field(min_length=2, max_length=2)]


class DataSpec(Model):
    """What all data sets share: every field but the name is an option of `netsim.problems.load`."""

    norm_bound: Positive | None = None

    def load(self) -> Dataset:
        """The records; a `ScenarioError` names the option that does not fit."""
        options: dict[str, Any] = self.model_dump()
        return load(options.pop("name"), **options)


class Digits(DataSpec):
    """Scikit-learn's 8×8 digits, two classes; the first is −1, the second +1. More are 0, 1, 2, …; pixels in
    [0, 1]."""

    name: Literal["digits"] = "digits"
    classes: SomeClasses = [0, 1]


class BreastCancer(DataSpec):
    """Scikit-learn's breast cancer data, 569 × 30, standardized."""

    name: Literal["breast_cancer"] = "breast_cancer"


class Synthetic(DataSpec):
    """Gaussian features, a drawn true x, and labels or noisy targets from it."""

    name: Literal["synthetic"] = "synthetic"
    kind: Literal["classification", "regression"] = "classification"
    records: Count = 400
    dimension: Count = 10
    noise: NonNegative = 0.1
    seed: Index = 0


class Sensors(DataSpec):
    """Measurements b = aᵀx + noise of one drawn x by sensors a ~ N(0, I): targets, not classes."""

    name: Literal["sensors"] = "sensors"
    records: Count = 36
    dimension: Count = 10
    noise: NonNegative = 0.1
    seed: Index = 0


class Drawn(DataSpec):
    """A set of which `records` are drawn by `seed`, or all are used."""

    records: Count | None = None
    seed: Index = 0


class Kept(Drawn):
    """A set of the data folder; `download: true` fetches it where it is not there."""

    download: bool = False


class Mnist(Kept):
    """28×28 images of handwritten digits, two classes; the first is −1, the second +1. More are 0, 1, 2, …; pixels in
    [0, 1]."""

    name: Literal["mnist"] = "mnist"
    classes: SomeClasses = [0, 1]
    part: Literal["train", "test"] = "train"


class FashionMnist(Kept):
    """28×28 images of ten kinds of clothes, two of them; the first is −1, the second +1. More are 0, 1, 2, …; pixels
    in [0, 1]."""

    name: Literal["fashion_mnist"] = "fashion_mnist"
    classes: SomeClasses = [0, 1]
    part: Literal["train", "test"] = "train"


class CifarCatDog(Kept):
    """32×32 colour images of cats (−1) and dogs (+1) from CIFAR-10. Pixels in [0, 1]."""

    name: Literal["cifar10_cat_dog"] = "cifar10_cat_dog"
    part: Literal["train", "test"] = "train"


class Ijcnn1(Kept):
    """LIBSVM's ijcnn1, 22 features."""

    name: Literal["ijcnn1"] = "ijcnn1"
    part: Literal["train", "test"] = "train"


class Covtype(Kept):
    """Forest cover, 54 features scaled to [0, 1]; +1 is lodgepole pine, −1 the other six types."""

    name: Literal["covtype"] = "covtype"


class Adult(Kept):
    """UCI Adult, rows with unknown values dropped, categories one-hot; +1 earns more than 50,000 dollars.

    `numeric` says how the six numeric columns are scaled, by the training part: `unit` to [0, 1], `standardized` to
    mean 0 and deviation 1.
    """

    name: Literal["adult"] = "adult"
    numeric: Literal["unit", "standardized"] = "unit"
    part: Literal["train", "test"] = "train"


class OwnFile(Drawn):
    """What LIBSVM and CSV files share."""

    path: Path
    kind: Literal["classification", "regression"] = "classification"
    classes: TwoLabels | None = None


class LibsvmFile(OwnFile):
    """A LIBSVM file, plain or compressed; a relative `path` starts at the working directory.

    Of more than two labels `classes` names the one that is −1 and the one that is +1; without it the smaller is −1.
    """

    name: Literal["libsvm"] = "libsvm"
    dimension: Count | None = None


class CsvFile(OwnFile):
    """A CSV file, plain or .gz; a relative `path` starts at the working directory.

    `label` and `features` are names of the header, or positions from 0 (−1 is the last); without `features` all
    others are. Of more than two labels `classes` names the one that is −1 and the one that is +1.
    """

    name: Literal["csv"] = "csv"
    label: Column = -1
    features: Annotated[list[Column], Field(min_length=1)] | None = None
    header: bool = True
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","


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
