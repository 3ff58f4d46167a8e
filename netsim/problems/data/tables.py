"""ijcnn1 and covtype: tables of numbers with two classes."""

import gzip
import zipfile
import zlib
from pathlib import Path
from typing import cast

import numpy as np

from netsim.arrays import Array
from netsim.problems.data.cache import Cache, Remote
from netsim.problems.data.choices import broken, signs, some, to_unit
from netsim.problems.data.dataset import Dataset, Part

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
IJCNN1: dict[Part, Remote] = {
    "train": Remote("ijcnn1/ijcnn1.bz2", (LIBSVM + "ijcnn1.bz2",)),
    "test": Remote("ijcnn1/ijcnn1.t.bz2", (LIBSVM + "ijcnn1.t.bz2",)),
}
IJCNN1_REBUILT = Remote("ijcnn1/ijcnn1_22_onehot_RECONSTRUCTED.npz")
IJCNN1_FEATURES = 22
COVTYPE = Remote(
    "covtype/covtype.data.gz",
    (
        "https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/covtype.data.gz",
        "https://ndownloader.figshare.com/files/5976039",
    ),
    "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
)
COVTYPE_SUBSET = Remote("covtype/covtype_ramp_test.csv.gz")
COVTYPE_RECORDS, COVTYPE_FEATURES, LODGEPOLE = 581_012, 54, 2


def ijcnn1(cache: Cache, part: Part = "train", records: int | None = None, seed: int = 0) -> Dataset:
    """The IJCNN 2001 competition's table as LIBSVM has it: 22 features, labels ±1."""
    layouts = [[IJCNN1[part]], [IJCNN1_REBUILT]] if part == "train" else [[IJCNN1[part]]]
    layout, (path,) = cache.files("ijcnn1", *layouts)
    try:
        features, labels = svmlight(path, IJCNN1_FEATURES) if layout == 0 else _arrays(path)
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise broken("ijcnn1", path, f"cannot be read ({error})") from error
    chosen = some(np.arange(len(labels)), records, seed)
    note = "the ten one-hot columns were rebuilt: they are right up to a permutation of those columns"
    return Dataset("ijcnn1", features[chosen], labels[chosen], part=part, note="" if layout == 0 else note)


def covtype(cache: Cache, records: int | None = None, seed: int = 0) -> Dataset:
    """Forest cover: 54 features, each scaled to [0, 1]; +1 is lodgepole pine (type 2), −1 the other six."""
    layout, (path,) = cache.files("covtype", [COVTYPE], [COVTYPE_SUBSET])
    try:
        with gzip.open(path, "rt", encoding="ascii") as stream:
            table = np.loadtxt(stream, delimiter=",", skiprows=layout, ndmin=2)
        features, types = table[:, :COVTYPE_FEATURES], table[:, COVTYPE_FEATURES]
    except (OSError, EOFError, ValueError, IndexError, zlib.error) as error:
        raise broken("covtype", path, f"cannot be read ({error})") from error
    if layout == 0:
        features = to_unit(features, features.min(axis=0), features.max(axis=0))
    chosen = some(np.arange(len(types)), records, seed)
    note = f"a subset: the file has {len(types):,} of {COVTYPE_RECORDS:,} records, scaled to [0, 1] by its author"
    return Dataset(
        "covtype",
        features[chosen],
        signs(types[chosen], LODGEPOLE),
        value_range=(0.0, 1.0),
        note="" if layout == 0 else note,
    )


def svmlight(path: Path, dimension: int | None) -> tuple[Array, Array]:
    """A LIBSVM file, plain or compressed, in full. You get an `OSError` or a `ValueError` for what is none."""
    from sklearn.datasets import load_svmlight_file  # pyright: ignore[reportUnknownVariableType]

    features, labels = cast(
        "tuple[object, Array]", load_svmlight_file(str(path), n_features=dimension, zero_based="auto")
    )
    return cast(Array, features.toarray()), labels  # type: ignore[attr-defined]


def _arrays(path: Path) -> tuple[Array, Array]:
    with np.load(path, allow_pickle=False) as arrays:
        return arrays["X"], arrays["y"].astype(np.float64)
