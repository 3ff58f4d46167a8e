"""Named data sets: scikit-learn's, drawn ones, MNIST, Fashion-MNIST, CIFAR-10, ijcnn1, covtype and Adult."""

import bz2
import csv
import gzip
import io
import lzma
import math
import re
import tarfile
import zipfile
import zlib
from bisect import bisect_left
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Annotated, Literal, cast

import numpy as np
from annotated_types import Ge, Le, Len
from numpy.typing import NDArray

from netsim.arrays import Array, nonnegative, unknown, whole
from netsim.bounds import LARGEST, Count, Index, NonNegative
from netsim.errors import ScenarioError
from netsim.memory import check_memory
from netsim.problems.data.cache import Cache, Remote
from netsim.problems.data.dataset import Dataset, Part, some

# Types of options, with their bounds and meaning: scenarios, their JSON Schema and the reference derive from them.
_Classes = Annotated[
    Sequence[Annotated[int, Ge(0), Le(9)]], Len(2, 10),
    "The classes that are used; of two the first is −1 and the second +1, more are numbered from 0.",
]  # fmt: skip
_Positive = Annotated[
    Annotated[int, Ge(0), Le(9)] | None, "The class that is +1, where all the others are −1; none: as `classes` says."
]
Dimension = Annotated[Count, "How many features."]
Seed = Annotated[Index, "The seed of what is drawn here."]
Chosen = Annotated[Count | None, "How many records; none: all."]
_PartOf = Annotated[Part, "The training or the test part."]
Task = Annotated[Literal["classification", "regression"], "Labels or targets."]
_Deviation = Annotated[NonNegative, Le(LARGEST)]
Drawn = Annotated[Literal["classification", "regression", "counts"], "Labels, targets, or counts."]


def digits(classes: _Classes = (0, 1)) -> Dataset:
    """The 8×8 images of two digits or more that scikit-learn has, in [0, 1]."""
    wanted = _some_of_ten(classes)
    images, labels = _carried("digits.csv.gz")
    chosen = np.isin(labels, wanted)
    return Dataset(
        "digits",
        images[chosen] / 16,
        _numbered(labels[chosen], wanted),
        image_shape=(8, 8),
        value_range=(0.0, 1.0),
        class_count=len(wanted),
    )


def breast_cancer() -> Dataset:
    """The 569 tumours that scikit-learn has, 30 standardized features; −1 malignant, +1 benign."""
    features, benign = _carried("breast_cancer.csv.gz", 1)
    standardized = (features - features.mean(axis=0)) / features.std(axis=0)
    return Dataset("breast_cancer", standardized, _signs(benign, 1))


def synthetic(
    records: Annotated[Count, "How many records are drawn."] = 200,
    dimension: Dimension = 10,
    seed: Seed = 0,
    noise: Annotated[
        _Deviation, "The standard deviation of the noise on targets, or the share of its like on labels."
    ] = 0.1,
    kind: Drawn = "classification",
) -> Dataset:
    """Rows a ~ N(0, I/d), a true x ~ N(0, I); answers aᵀx + noise · N(0, 1), their signs, or counts of mean exp(aᵀx).

    Counts are drawn from the Poisson law and have no other noise.
    """
    if kind not in ("classification", "regression", "counts"):
        raise unknown("kind", kind, ["classification", "regression", "counts"])
    rng = np.random.default_rng(whole(seed, "seed", 0))
    truth = rng.standard_normal(whole(dimension, "dimension"))
    features = rng.standard_normal((whole(records, "records"), dimension)) / np.sqrt(dimension)
    if kind == "counts":
        counts = cast(Array, rng.poisson(np.exp(features @ truth))).astype(np.float64)
        return Dataset("synthetic", features, counts, class_count=0)
    answers = features @ truth + nonnegative(noise, "noise", LARGEST) * rng.standard_normal(records)
    labels = np.where(answers < 0, -1.0, 1.0) if kind == "classification" else answers
    return Dataset("synthetic", features, labels)


def sensors(
    records: Annotated[Count, "How many sensors measure."] = 36,
    dimension: Dimension = 10,
    seed: Seed = 0,
    noise: Annotated[_Deviation, "The standard deviation of a measurement's noise."] = 0.1,
    signal: Annotated[
        _Deviation, "The standard deviation of each coordinate of the true x; 0: b is noise alone."
    ] = 1.0,
) -> Dataset:
    """Measurements b = aᵀx + noise · N(0, 1) of one true x ~ N(0, signal²I) by sensors a ~ N(0, I)."""
    rng = np.random.default_rng(whole(seed, "seed", 0))
    truth = rng.standard_normal(whole(dimension, "dimension")) * nonnegative(signal, "signal", LARGEST)
    features = rng.standard_normal((whole(records, "records"), dimension))
    targets = features @ truth + nonnegative(noise, "noise", LARGEST) * rng.standard_normal(records)
    return Dataset("sensors", features, targets)


def _carried(name: str, skipped: int = 0) -> tuple[Array, NDArray[np.int64]]:
    """Features and labels of a file beside this one, a row a record, the label last."""
    with gzip.open(Path(__file__).parent / name, "rt", encoding="ascii") as stream:
        rows = np.loadtxt(stream, delimiter=",", skiprows=skipped)
    return rows[:, :-1], rows[:, -1].astype(np.int64)


Bytes = NDArray[np.uint8]
_PREFIX: dict[Part, str] = {"train": "train", "test": "t10k"}
DIGESTS = {
    "mnist/train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "mnist/train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "mnist/t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "mnist/t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    "fashion_mnist/train-images-idx3-ubyte.gz": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "fashion_mnist/train-labels-idx1-ubyte.gz": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "fashion_mnist/t10k-images-idx3-ubyte.gz": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "fashion_mnist/t10k-labels-idx1-ubyte.gz": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
}
"""SHA-256 of the published archives."""
HOSTS = {
    "mnist": (
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
    ),
    "fashion_mnist": (
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    ),
}
_CIFAR = Remote(
    "cifar10/cifar-10-binary.tar.gz",
    ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)
_CIFAR_JPEGS = Remote("cifar10/cifar10_cat_dog_jpegs.tar.gz")
CAT, DOG = 3, 5
"""CIFAR-10's numbers of the two classes."""


def mnist(
    cache: Cache,
    classes: _Classes = (0, 1),
    part: _PartOf = "train",
    records: Chosen = None,
    seed: Seed = 0,
    positive: _Positive = None,
) -> Dataset:
    """28×28 images of two handwritten digits or more, in [0, 1]."""
    return _idx_set("mnist", cache, classes, part, records, seed, positive)


def fashion_mnist(
    cache: Cache,
    classes: _Classes = (0, 1),
    part: _PartOf = "train",
    records: Chosen = None,
    seed: Seed = 0,
    positive: _Positive = None,
) -> Dataset:
    """28×28 images of two kinds of clothes or more, in [0, 1]; 0 is a T-shirt or top, 1 trousers."""
    return _idx_set("fashion_mnist", cache, classes, part, records, seed, positive)


def cifar10_cat_dog(cache: Cache, part: _PartOf = "train", records: Chosen = None, seed: Seed = 0) -> Dataset:
    """32×32 images of cats (−1) and dogs (+1) in colour, from CIFAR-10, in [0, 1].

    A row is height × width × (red, green, blue).
    """
    layout, (path,) = cache.files("cifar10_cat_dog", [_CIFAR], [_CIFAR_JPEGS])
    try:
        images, animals = (_cifar_binary if layout == 0 else _cifar_jpegs)(path, part)
    except (OSError, EOFError, ValueError, KeyError, tarfile.TarError, zlib.error) as error:
        raise _broken("cifar10_cat_dog", path, f"cannot be read ({error})") from error
    chosen = some(np.arange(len(animals)), records, seed)
    return Dataset(
        "cifar10_cat_dog",
        images[chosen].reshape(len(chosen), -1) / 255,
        _signs(animals[chosen], DOG),
        image_shape=(32, 32, 3),
        value_range=(0.0, 1.0),
        part=part,
        note="" if layout == 0 else "the images were recompressed as JPEG: no pixel is exact",
    )


def _idx_set(
    name: str,
    cache: Cache,
    classes: Sequence[int],
    part: Part,
    records: int | None,
    seed: int,
    positive: int | None,
) -> Dataset:
    wanted = _some_of_ten(classes)
    if positive is not None and positive not in wanted:
        raise ScenarioError("positive", positive, "not one of the classes", ", ".join(map(str, wanted)))
    files = [f"{_PREFIX[part]}-{which}-ubyte.gz" for which in ("images-idx3", "labels-idx1")]
    remotes = [
        Remote(f"{name}/{file}", tuple(host + file for host in HOSTS[name]), DIGESTS[f"{name}/{file}"])
        for file in files
    ]
    _, (image_file, label_file) = cache.files(name, remotes)
    images, labels = _idx(name, image_file, 3), _idx(name, label_file, 1)
    if len(images) != len(labels):
        raise _broken(name, label_file, f"has {len(labels)} labels for {len(images)} images")
    found = np.flatnonzero(np.isin(labels, wanted))
    if not found.size:
        raise _broken(name, label_file, f"has no record of the classes {' and '.join(map(str, wanted))}")
    chosen = some(found, records, seed)
    return Dataset(
        name,
        images[chosen].reshape(len(chosen), -1) / 255,
        _numbered(labels[chosen], wanted) if positive is None else _signs(labels[chosen], positive),
        image_shape=(images.shape[1], images.shape[2]),
        value_range=(0.0, 1.0),
        part=part,
        class_count=len(wanted) if positive is None else 2,
    )


def _idx(name: str, path: Path, axes: int) -> Bytes:
    """An IDX file of bytes: 0, 0, 8 (unsigned bytes), the number of axes, their lengths, the values."""
    try:
        with gzip.open(path) as stream:
            content = stream.read()
    except (OSError, EOFError, zlib.error) as error:
        raise _broken(name, path, f"cannot be read ({error})") from error
    start = 4 + 4 * axes
    if content[:4] != bytes((0, 0, 8, axes)) or len(content) < start:
        raise _broken(name, path, f"is no IDX file of bytes with {axes} axes")
    lengths = np.frombuffer(content, ">u4", axes, 4).astype(int)
    if len(content) - start != lengths.prod():
        raise _broken(name, path, f"holds {len(content) - start} values, not {lengths.prod()}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(lengths)


def _cifar_binary(path: Path, part: Part) -> tuple[Bytes, Bytes]:
    """Cats and dogs of the batches, in their order: a label, then 32×32 reds, greens and blues."""
    names = [f"data_batch_{k}.bin" for k in range(1, 6)] if part == "train" else ["test_batch.bin"]
    content: dict[str, bytes] = {}
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            if (short := PurePosixPath(member.name).name) in names and (stream := archive.extractfile(member)):
                content[short] = stream.read()
    rows = np.frombuffer(b"".join(content[name] for name in names), np.uint8).reshape(-1, 1 + 3 * 32 * 32)
    rows = rows[(rows[:, 0] == CAT) | (rows[:, 0] == DOG)]
    return rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, 0]


def _cifar_jpegs(path: Path, part: Part) -> tuple[Bytes, Bytes]:
    """Cats and dogs by the names of their files."""
    from PIL import Image

    found: list[tuple[str, int, Bytes]] = []
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            place = PurePosixPath(member.name)
            if place.suffix != ".jpg" or place.parts[-3] != part:
                continue
            stream = archive.extractfile(member)
            assert stream is not None  # a file
            image = np.asarray(Image.open(io.BytesIO(stream.read())).convert("RGB"))
            found.append((member.name, {"cat": CAT, "dog": DOG}[place.parts[-2]], image))
    found.sort(key=lambda entry: entry[0])
    return np.stack([image for *_, image in found]), np.array([animal for _, animal, _ in found], np.uint8)


_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
_IJCNN1: dict[Part, Remote] = {
    "train": Remote("ijcnn1/ijcnn1.bz2", (_LIBSVM + "ijcnn1.bz2",)),
    "test": Remote("ijcnn1/ijcnn1.t.bz2", (_LIBSVM + "ijcnn1.t.bz2",)),
}
_IJCNN1_REBUILT = Remote("ijcnn1/ijcnn1_22_onehot_RECONSTRUCTED.npz")
_IJCNN1_FEATURES = 22
_COVTYPE = Remote(
    "covtype/covtype.data.gz",
    (
        "https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/covtype.data.gz",
        "https://ndownloader.figshare.com/files/5976039",
    ),
    "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
)
_COVTYPE_SUBSET = Remote("covtype/covtype_ramp_test.csv.gz")
COVTYPE_RECORDS, COVTYPE_FEATURES, LODGEPOLE = 581_012, 54, 2


def ijcnn1(cache: Cache, part: _PartOf = "train", records: Chosen = None, seed: Seed = 0) -> Dataset:
    """The IJCNN 2001 competition's table as LIBSVM has it: 22 features, labels ±1."""
    layouts = [[_IJCNN1[part]], [_IJCNN1_REBUILT]] if part == "train" else [[_IJCNN1[part]]]
    layout, (path,) = cache.files("ijcnn1", *layouts)
    try:
        if layout == 0:
            features, labels = svmlight(path, _IJCNN1_FEATURES)
        else:
            with np.load(path, allow_pickle=False) as arrays:
                features, labels = arrays["X"], arrays["y"].astype(np.float64)
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise _broken("ijcnn1", path, f"cannot be read ({error})") from error
    chosen = some(np.arange(len(labels)), records, seed)
    note = "the ten one-hot columns were rebuilt: they are right up to a permutation of those columns"
    return Dataset("ijcnn1", features[chosen], labels[chosen], part=part, note="" if layout == 0 else note)


def covtype(cache: Cache, records: Chosen = None, seed: Seed = 0) -> Dataset:
    """Forest cover: 54 features, each scaled to [0, 1]; +1 is lodgepole pine (type 2), −1 the other six."""
    layout, (path,) = cache.files("covtype", [_COVTYPE], [_COVTYPE_SUBSET])
    try:
        with gzip.open(path, "rt", encoding="ascii") as stream:
            table = np.loadtxt(stream, delimiter=",", skiprows=layout, ndmin=2)
        features, types = table[:, :COVTYPE_FEATURES], table[:, COVTYPE_FEATURES]
    except (OSError, EOFError, ValueError, IndexError, zlib.error) as error:
        raise _broken("covtype", path, f"cannot be read ({error})") from error
    if layout == 0:
        features = _to_unit(features, features.min(axis=0), features.max(axis=0))
    chosen = some(np.arange(len(types)), records, seed)
    note = f"a subset: the file has {len(types):,} of {COVTYPE_RECORDS:,} records, scaled to [0, 1] by its author"
    return Dataset(
        "covtype",
        features[chosen],
        _signs(types[chosen], LODGEPOLE),
        value_range=(0.0, 1.0),
        note="" if layout == 0 else note,
    )


def svmlight(path: Path, dimension: int | None) -> tuple[Array, Array]:
    """A LIBSVM file, plain or compressed, in full: features (records, dimension) and labels (records,).

    What follows a # is a comment, and `qid:` is ignored. You get an `OSError`, an `EOFError` or a `ValueError` for
    what is none; of a line it has the number.
    """
    labels, rows, columns, values = list[float](), list[int](), list[int](), list[float]()
    width, widest = 0, 0
    with _OPEN.get(path.suffix, open)(path, "rt", encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            labels.append(finite(words[0], f"line {number}: the label"))
            last = 0
            for index, colon, value in (word.partition(":") for word in words[1:]):
                if index == "qid":
                    continue
                if not colon or not index.isdecimal():
                    raise ValueError(f"line {number}: {index + colon + value!r} is no index:value")
                if int(index) <= last:
                    why = f"indices rise, and {last} is before it" if last else "indices start at 1"
                    raise ValueError(f"line {number}: {index}:{value}: {why}")
                last = int(index)
                rows.append(len(labels) - 1)
                columns.append(last - 1)
                values.append(finite(value, f"line {number}, index {index}"))
            if last > width:
                width, widest = last, number
    if not labels or not width:
        raise ValueError("has no record with a feature")
    if dimension is not None and dimension < width:
        raise ValueError(f"line {widest} has index {width}, and `dimension` is {dimension}")
    size = 4 * 8 * len(labels) * (dimension or width)
    if dimension is None:
        few = f"smaller indices than {width}, that of line {widest}; or fewer records"
        check_memory(size, "path", str(path), few)
    else:
        check_memory(size, "dimension", dimension, "fewer features or records")
    width = dimension or width
    features = np.zeros((len(labels), width))
    features[rows, columns] = values
    return features, np.array(labels)


_OPEN: dict[str, Callable[..., IO[str]]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""Of compressed files, by the end of their names."""


def finite(text: str, what: str) -> float:
    """The number in a text. You get a `ValueError` that begins with `what` for one that is missing (empty, NaN), or
    no finite number."""
    try:
        value = float(text)
    except ValueError:
        value = None
    if text.strip().lower() in _MISSING or (value is not None and math.isnan(value)):
        raise ValueError(f"{what} is missing ({text!r})")
    if value is None or math.isinf(value):
        raise ValueError(f"{what}: {text!r} is no {'' if value is None else 'finite '}number{decimal_comma(text)}")
    return value


def decimal_comma(text: str) -> str:
    """A question that offers the number with a point of a text with a comma before its decimals; else ""."""
    written = text.strip()
    grouped = re.fullmatch(r"[-+]?[1-9]\d{0,2},\d{3}", written)  # 1,000 may be a thousand
    comma = not grouped and re.fullmatch(r"[-+]?\d+,\d+([eE][-+]?\d+)?", written)
    return f"; did you mean {written.replace(',', '.')}, with a decimal point?" if comma else ""


_MISSING = ("", "?", "na", "n/a", "null", "none")
"""What files have in place of a number that is not known."""


HOST = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
FILES: dict[Part, Remote] = {
    "train": Remote(
        "adult/adult.data",
        (HOST + "adult.data",),
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    "test": Remote(
        "adult/adult.test",
        (HOST + "adult.test",),
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
}
_NUMERIC = (0, 2, 4, 10, 11, 12)
"""age, fnlwgt, education-num, capital-gain, capital-loss, hours-per-week"""
_CATEGORICAL = (1, 3, 5, 6, 7, 8, 9, 13)
COLUMNS, ANSWER = 15, 14
RICH, POOR = ">50K", "<=50K"

Rows = list[list[str]]
_Scaling = Annotated[
    Literal["unit", "standardized"],
    "How the six numeric columns are scaled, by the training part: to [0, 1], or to mean 0 and deviation 1.",
]
_Encoding = Annotated[
    Literal["one_hot", "codes"],
    "What the eight categories become: a column for each value, or one of numbers, scaled as the numeric ones "
    "(14 columns in all).",
]
_Answers = Annotated[
    Literal["signs", "zero_one"],
    "Labels −1 and +1, or 0 above 50,000 dollars and 1 below, as they are multiplied in a logistic loss.",
]


def adult(
    cache: Cache,
    part: _PartOf = "train",
    numeric: _Scaling = "unit",
    records: Chosen = None,
    seed: Seed = 0,
    encoding: _Encoding = "one_hot",
    answers: _Answers = "signs",
) -> Dataset:
    """UCI Adult, rows with unknown values dropped; +1 earns more than 50,000 dollars.

    With answers "zero_one" a logistic loss is log(1 + exp(−L xᵀz)), L = 0 above 50,000 dollars and 1 below. Where
    L = 0 it is log 2 whatever x: such a record has no features here, and every label is +1.
    """
    for name, value, allowed in (
        ("numeric", numeric, ["unit", "standardized"]),
        ("encoding", encoding, ["one_hot", "codes"]),
        ("answers", answers, ["signs", "zero_one"]),
    ):
        if value not in allowed:
            raise unknown(name, value, allowed)
    parts: tuple[Part, ...] = ("train",) if part == "train" else ("train", "test")
    _, paths = cache.files("adult", [FILES[one] for one in parts])
    known, rows = _rows(paths[0]), _rows(paths[-1])
    categories = {column: sorted({row[column] for row in known}) for column in _CATEGORICAL}

    def number(row: list[str], column: int) -> float:
        return float(row[column]) if column in _NUMERIC else bisect_left(categories[column], row[column])

    scaled = sorted(_NUMERIC + _CATEGORICAL) if encoding == "codes" else _NUMERIC
    values, base = (np.array([[number(row, c) for c in scaled] for row in table]) for table in (rows, known))
    if numeric == "unit":
        columns = [_to_unit(values, base.min(axis=0), base.max(axis=0))]
    else:
        spread = base.std(axis=0)
        columns = [(values - base.mean(axis=0)) / np.where(spread > 0, spread, 1.0)]
    for column in _CATEGORICAL if encoding == "one_hot" else ():
        columns.append(np.array([[float(row[column] == one) for one in categories[column]] for row in rows]))
    features = np.hstack(columns)
    rich = np.array([row[ANSWER] == RICH for row in rows])
    labels, note = np.where(rich, 1.0, -1.0), "rows with unknown values were dropped"
    if answers == "zero_one":
        features, labels = np.where(rich[:, None], 0.0, features), np.ones(len(rows))
        note += "; those above 50,000 dollars have label 0, and so no features"
    chosen = some(np.arange(len(rows)), records, seed)
    return Dataset(
        "adult",
        features[chosen],
        labels[chosen],
        value_range=(0.0, 1.0) if numeric == "unit" else None,
        part=part,
        note=note,
    )


def _rows(path: Path) -> Rows:
    """Whole rows, their fields stripped; blank lines, the test part's head and its full stops left out."""
    rows: Rows = []
    try:
        with path.open(encoding="ascii", newline="") as stream:
            for number, row in enumerate(csv.reader(stream, skipinitialspace=True), start=1):
                if not row or row[0].startswith("|"):
                    continue
                row[-1] = row[-1].removesuffix(".")
                if len(row) != COLUMNS or row[ANSWER] not in (RICH, POOR):
                    raise _broken("adult", path, f"line {number} is no row of {COLUMNS} fields that ends in {RICH}")
                if "?" not in row:
                    rows.append(row)
        for column in _NUMERIC:
            [float(row[column]) for row in rows]
    except (OSError, ValueError, csv.Error) as error:
        raise _broken("adult", path, f"cannot be read ({error})") from error
    if not rows:
        raise _broken("adult", path, "has no whole row")
    return rows


def _some_of_ten(classes: Sequence[int]) -> tuple[int, ...]:
    """Two different numbers of 0 to 9, (the −1, the +1), or more: (the 0, the 1, the 2, …)."""
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise ScenarioError("classes", classes, "not two different classes or more", "two of 0 to 9, or more")
    return tuple(whole(number, "classes", 0, 9) for number in classes)


def _numbered(chosen: Array | NDArray[np.integer], classes: Sequence[int]) -> Array:
    """−1 and +1 for two classes; for more of them 0, 1, 2, … in their order."""
    if len(classes) == 2:
        return _signs(chosen, classes[1])
    return np.argmax(np.asarray(chosen)[:, None] == np.asarray(classes), axis=1).astype(np.float64)


def _signs(chosen: Array | NDArray[np.integer], positive: int) -> Array:
    """+1 where the class is the positive one, else −1."""
    return np.where(chosen == positive, 1.0, -1.0)


def _to_unit(features: Array, low: Array, high: Array) -> Array:
    """Columns from [low, high] to [0, 1], a constant one to 0; values beyond the ends go to the nearest end."""
    width = np.where(high > low, high - low, 1.0)
    return np.clip((features - low) / width, 0.0, 1.0)


def _broken(name: str, path: Path, problem: str) -> ScenarioError:
    """A file of the cache that cannot be read as what it is kept as."""
    return ScenarioError("name", name, f"{path} {problem}", "the file as published, or none, to download it again")
