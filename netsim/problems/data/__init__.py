"""Data sets by name: what comes with scikit-learn, what is drawn, what is kept in a folder, and files by path."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

from netsim.checks import unknown
from netsim.problems.data import adult, builtin, files, images, tables
from netsim.problems.data.cache import Cache
from netsim.problems.data.dataset import Dataset, Part

__all__ = ["Cache", "Dataset", "Part", "load"]

LOADERS: dict[str, Callable[..., Dataset]] = {
    "digits": builtin.digits,
    "breast_cancer": builtin.breast_cancer,
    "synthetic": builtin.synthetic,
    "sensors": builtin.sensors,
    "mnist": images.mnist,
    "fashion_mnist": images.fashion_mnist,
    "cifar10_cat_dog": images.cifar10_cat_dog,
    "ijcnn1": tables.ijcnn1,
    "covtype": tables.covtype,
    "adult": adult.adult,
    "libsvm": files.libsvm,
    "csv": files.csv_file,
}


def load(
    name: str, *, norm_bound: float | None = None, cache: Cache | None = None, download: bool = False, **options: Any
) -> Dataset:
    """The data set of this name; with `norm_bound`, its rows are clipped.

    - ``digits``: 8×8 images in [0, 1] of two digits; ``classes`` = (the −1, the +1), by default (0, 1). With more
      than two classes the labels are 0, 1, 2, … in their order.
    - ``breast_cancer``: 569 tumours, 30 standardized features; −1 malignant, +1 benign.
    - ``synthetic``: ``records``, ``dimension``, ``seed``, ``noise``,
      ``kind`` = "classification" or "regression".
    - ``sensors``: Gaussian measurements of one point; ``records``, ``dimension``, ``seed``, ``noise``.
    - ``mnist``, ``fashion_mnist`` (``classes``), ``cifar10_cat_dog``, ``ijcnn1``, ``covtype``, ``adult``
      (``numeric`` = "unit" or "standardized"): from the data folder, see `netsim.problems.data.cache`.
      ``download=True`` fetches what is not there, and nothing else does. ``part`` = "train" or "test", except
      for covtype, which has no test part. ``records``: so many, drawn by ``seed``; None is all.
    - ``libsvm`` and ``csv``: a file by its ``path``, see `netsim.problems.data.files`.

    An unknown name or option is a `ScenarioError` that lists the known ones, the nearest first; so is a set that
    is not in the folder, which says where it was looked for, and a file that is not what was downloaded.
    """
    if name not in LOADERS:
        raise unknown("name", name, LOADERS)
    loader = LOADERS[name]
    known = [option for option in inspect.signature(loader).parameters if option != "cache"]
    kept = len(known) < len(inspect.signature(loader).parameters)
    given = {**options, **({"download": download} if download and not kept else {})}
    for option in given:
        if option not in known:
            raise unknown("option", option, [*known, *(["download"] if kept else []), "norm_bound"])
    if options.get("part", "train") not in get_args(Part):
        raise unknown("part", str(options["part"]), get_args(Part))
    if kept:
        place = cache or Cache()
        dataset = loader(replace(place, download=download or place.download), **options)
    else:
        dataset = loader(**options)
    return dataset if norm_bound is None else dataset.clipped(norm_bound)
