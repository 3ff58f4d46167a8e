"""Data sets by name: loading them, what is known of each without loading it, and fetching it."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

from netsim.arrays import unknown
from netsim.errors import ScenarioError
from netsim.problems.data import files, named
from netsim.problems.data.cache import Cache, Remote, fetched
from netsim.problems.data.dataset import Dataset, Part

__all__ = ["Cache", "Dataset", "Part", "load"]

_OF_NAME: tuple[Callable[..., Dataset], ...] = (
    *(named.digits, named.breast_cancer, named.synthetic, named.sensors, named.mnist, named.fashion_mnist),
    *(named.cifar10_cat_dog, named.ijcnn1, named.covtype, named.adult),
)
_OF_PATH = {"libsvm": files.libsvm, "csv": files.csv_file}
LOADERS: dict[str, Callable[..., Dataset]] = {**{loader.__name__: loader for loader in _OF_NAME}, **_OF_PATH}


def load(
    name: str,
    *,
    norm_bound: float | None = None,
    unit: bool = False,
    cache: Cache | None = None,
    download: bool = False,
    **options: Any,
) -> Dataset:
    """The data set of this name; `unit` brings each feature to [0, 1], and `norm_bound` clips rows.

    - ``digits``: 8×8 images in [0, 1] of two digits; ``classes`` = (the −1, the +1), by default (0, 1). With more
      than two classes the labels are 0, 1, 2, … in their order.
    - ``breast_cancer``: 569 tumours, 30 standardized features; −1 malignant, +1 benign.
    - ``synthetic``: ``records``, ``dimension``, ``seed``, ``noise``,
      ``kind`` = "classification" or "regression".
    - ``sensors``: Gaussian measurements of one point; ``records``, ``dimension``, ``seed``, ``noise``.
    - ``mnist``, ``fashion_mnist`` (``classes``), ``cifar10_cat_dog``, ``ijcnn1``, ``covtype``, ``adult``
      (``numeric`` = "unit" or "standardized"): from the data folder, see `netsim.problems.data.cache`.
      ``download=True`` fetches what is not there, and nothing else does. ``part`` = "train" or "test", except
      for covtype, which has no test part. ``records``: so many, drawn by ``seed``; None is all. ``positive``: of
      images, the class that is +1 where all the others are −1.
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
            raise unknown("option", option, [*known, *(["download"] if kept else []), "norm_bound", "unit"])
    for option, of in inspect.signature(loader).parameters.items():
        if of.default is of.empty and option in known and option not in options:
            why = f"missing: {name} has no default for it"
            raise ScenarioError(option, None, why, ", ".join(known))
    if options.get("part", "train") not in get_args(Part):
        raise unknown("part", str(options["part"]), get_args(Part))
    if kept:
        place = cache or Cache()
        dataset = loader(replace(place, download=download or place.download), **options)
    else:
        dataset = loader(**options)
    if unit:
        dataset = dataset.in_unit_range()
    return dataset if norm_bound is None else dataset.clipped(norm_bound)


UCI = "https://archive.ics.uci.edu/dataset/"
CC_BY = "CC BY 4.0"
UNSTATED = "none stated"
DRAWN = "drawn by netsim from a seed"
OWN = "a file of your own"


@dataclass(frozen=True)
class _Facts:
    """`records` and `dimension` are None where the user says how many; of a set of images they are those of the two
    classes that are the default. `task` is what its labels are; `source` whose it is, `url` its page."""

    task: str
    records: int | None
    dimension: int | None
    source: str
    licence: str
    url: str | None = None


FACTS: dict[str, _Facts] = {
    "digits": _Facts(
        "images of handwritten digits, 8×8", 360, 64, "Alpaydin, Kaynak 1998; comes with netsim",
        CC_BY, f"{UCI}80/optical+recognition+of+handwritten+digits",
    ),
    "breast_cancer": _Facts(
        "tumours, malignant or benign", 569, 30, "Wolberg, Mangasarian, Street 1995; comes with netsim",
        CC_BY, f"{UCI}17/breast+cancer+wisconsin+diagnostic",
    ),
    "synthetic": _Facts("two classes, or real targets", None, None, DRAWN, "does not apply"),
    "sensors": _Facts("real targets: measurements of one point", None, None, DRAWN, "does not apply"),
    "mnist": _Facts(
        "images of handwritten digits, 28×28", 12_665, 784, "LeCun, Cortes, Burges 1998", "CC BY-SA 3.0",
        "https://yann.lecun.com/exdb/mnist/",
    ),
    "fashion_mnist": _Facts(
        "images of clothes, 28×28", 12_000, 784, "Xiao, Rasul, Vollgraf 2017", "MIT",
        "https://github.com/zalandoresearch/fashion-mnist",
    ),
    "cifar10_cat_dog": _Facts(
        "images of cats and dogs, 32×32, colour", 10_000, 3_072, "Krizhevsky 2009", UNSTATED,
        "https://www.cs.toronto.edu/~kriz/cifar.html",
    ),
    "ijcnn1": _Facts(
        "two classes, of an engine's signals", 49_990, 22, "Prokhorov 2001; LIBSVM", UNSTATED,
        "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html",
    ),
    "covtype": _Facts(
        "forest cover, lodgepole pine or another", 581_012, 54, "Blackard 1998", CC_BY, f"{UCI}31/covertype"
    ),
    "adult": _Facts(
        "persons who earn more than $50,000, or not", 30_162, 104, "Becker, Kohavi 1996", CC_BY, f"{UCI}2/adult"
    ),
    "libsvm": _Facts("two classes, or real targets", None, None, OWN, "its own"),
    "csv": _Facts("two classes, or real targets", None, None, OWN, "its own"),
}  # fmt: skip


@dataclass(frozen=True)
class _Stored:
    """One part of a set in the data folder. `files` of the form in which it is there, or, where it is not, of the one
    that a download fetches; `present`; `original`: it is, or would be, as published."""

    part: Part
    files: tuple[Path, ...]
    present: bool
    original: bool


def facts(name: str) -> _Facts:
    """You get a `ScenarioError` for a name that no set has, which says the nearest one."""
    if name not in FACTS:
        raise unknown("name", name, FACTS)
    return FACTS[name]


def stored(name: str, cache: Cache | None = None) -> tuple[_Stored, ...]:
    """The parts of a set that is kept in the data folder; none of one that needs no file from there."""
    facts(name)
    place, loader, found = cache or Cache(), LOADERS[name], list[_Stored]()
    options = inspect.signature(loader).parameters
    parts: tuple[Part, ...] = get_args(Part) if "part" in options else ("train",)
    for part in parts if "cache" in options else ():
        asking = _RecordingCache()
        try:
            loader(asking, **({"part": part} if "part" in options else {}))
        except ScenarioError:
            if not asking.noted:
                raise
        layouts = asking.noted[0]
        there = [all((place.folder / one.path).is_file() for one in layout) for layout in layouts]
        at = there.index(True) if True in there else 0
        files = tuple(place.folder / one.path for one in layouts[at])
        found.append(_Stored(part, files, True in there, at == 0))
    return tuple(found)


def fetch(name: str, part: Part, cache: Cache, progress: Callable[[int, int | None], None] | None = None) -> Dataset:
    """A part of a set, downloaded into the folder where it is not there, checked against the published SHA-256, and
    read once. `progress` is called as bytes arrive, with how many are new and how many the file has.

    You get a `ScenarioError` where no address answers, and for a file that is not what was published.
    """
    getting = cache if progress is None else replace(cache, fetch=partial(fetched, progress=progress))
    if "part" in inspect.signature(LOADERS[name]).parameters:
        return load(name, cache=getting, download=True, part=part)
    return load(name, cache=getting, download=True)


@dataclass(frozen=True)
class _RecordingCache(Cache):
    """A cache that loads nothing, and notes which files a loader asks for."""

    noted: list[tuple[Sequence[Remote], ...]] = field(default_factory=list[tuple[Sequence[Remote], ...]])

    def files(self, name: str, *layouts: Sequence[Remote]) -> tuple[int, list[Path]]:
        self.noted.append(layouts)
        raise ScenarioError("name", name, "was only asked about")
