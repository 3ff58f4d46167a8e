"""What is known of every data set by its name, without loading it; whether it is on this machine; how to fetch it."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

from netsim.checks import unknown
from netsim.errors import ScenarioError
from netsim.problems.data import LOADERS, load
from netsim.problems.data.cache import Cache, Remote, fetched
from netsim.problems.data.dataset import Dataset, Part

UCI = "https://archive.ics.uci.edu/dataset/"
CC_BY = "CC BY 4.0"
UNSTATED = "none stated"
DRAWN = "drawn by netsim from a seed"
OWN = "a file of your own"


@dataclass(frozen=True)
class Facts:
    """`records` and `dimension` are None where the user says how many; of a set of images they are those of the two
    classes that are the default. `task` is what its labels are; `source` whose it is, `url` its page."""

    task: str
    records: int | None
    dimension: int | None
    source: str
    licence: str
    url: str | None = None


FACTS: dict[str, Facts] = {
    "digits": Facts(
        "images of handwritten digits, 8×8", 360, 64, "Alpaydin, Kaynak 1998; comes with scikit-learn",
        CC_BY, f"{UCI}80/optical+recognition+of+handwritten+digits",
    ),
    "breast_cancer": Facts(
        "tumours, malignant or benign", 569, 30, "Wolberg, Mangasarian, Street 1995; comes with scikit-learn",
        CC_BY, f"{UCI}17/breast+cancer+wisconsin+diagnostic",
    ),
    "synthetic": Facts("two classes, or real targets", None, None, DRAWN, "does not apply"),
    "sensors": Facts("real targets: measurements of one point", None, None, DRAWN, "does not apply"),
    "mnist": Facts(
        "images of handwritten digits, 28×28", 12_665, 784, "LeCun, Cortes, Burges 1998", "CC BY-SA 3.0",
        "https://yann.lecun.com/exdb/mnist/",
    ),
    "fashion_mnist": Facts(
        "images of clothes, 28×28", 12_000, 784, "Xiao, Rasul, Vollgraf 2017", "MIT",
        "https://github.com/zalandoresearch/fashion-mnist",
    ),
    "cifar10_cat_dog": Facts(
        "images of cats and dogs, 32×32, colour", 10_000, 3_072, "Krizhevsky 2009", UNSTATED,
        "https://www.cs.toronto.edu/~kriz/cifar.html",
    ),
    "ijcnn1": Facts(
        "two classes, of an engine's signals", 49_990, 22, "Prokhorov 2001; LIBSVM", UNSTATED,
        "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html",
    ),
    "covtype": Facts(
        "forest cover, lodgepole pine or another", 581_012, 54, "Blackard 1998", CC_BY, f"{UCI}31/covertype"
    ),
    "adult": Facts(
        "persons who earn more than $50,000, or not", 30_162, 104, "Becker, Kohavi 1996", CC_BY, f"{UCI}2/adult"
    ),
    "libsvm": Facts("two classes, or real targets", None, None, OWN, "its own"),
    "csv": Facts("two classes, or real targets", None, None, OWN, "its own"),
}  # fmt: skip


@dataclass(frozen=True)
class Stored:
    """One part of a set in the data folder. `files` of the form in which it is there, or, where it is not, of the one
    that a download fetches; `present`; `original`: it is, or would be, as published."""

    part: Part
    files: tuple[Path, ...]
    present: bool
    original: bool
    fetchable: bool


def facts(name: str) -> Facts:
    """You get a `ScenarioError` for a name that no set has, which says the nearest one."""
    if name not in FACTS:
        raise unknown("name", name, FACTS)
    return FACTS[name]


def is_kept(name: str) -> bool:
    """Whether a set needs files of the data folder."""
    facts(name)
    return "cache" in inspect.signature(LOADERS[name]).parameters


def stored(name: str, cache: Cache | None = None) -> tuple[Stored, ...]:
    """The parts of a set that is kept in the data folder; none of one that needs no file from there."""
    place = cache or Cache()
    return tuple(_stored(part, place, layouts) for part, layouts in _asked(name)) if is_kept(name) else ()


def fetch(name: str, part: Part, cache: Cache, told: Callable[[int, int | None], None] | None = None) -> Dataset:
    """A part of a set, downloaded into the folder where it is not there, checked against the published SHA-256, and
    read once. `told` is called as bytes arrive, with how many are new and how many the file has.

    You get a `ScenarioError` where no address answers, and for a file that is not what was published.
    """
    getting = cache if told is None else replace(cache, fetch=partial(fetched, told=told))
    options: dict[str, Any] = {"part": part} if "part" in inspect.signature(LOADERS[name]).parameters else {}
    return load(name, cache=getting, download=True, **options)


@dataclass(frozen=True)
class _Asking(Cache):
    """A cache that loads nothing, and notes which files a loader asks for."""

    noted: list[tuple[Sequence[Remote], ...]] = field(default_factory=list[tuple[Sequence[Remote], ...]])

    def files(self, name: str, *layouts: Sequence[Remote]) -> tuple[int, list[Path]]:
        self.noted.append(layouts)
        raise ScenarioError("name", name, "was only asked about")


def _asked(name: str) -> Iterator[tuple[Part, tuple[Sequence[Remote], ...]]]:
    """Every part of a set, and the forms in which its loader takes it."""
    loader = LOADERS[name]
    parts: tuple[Part, ...] = get_args(Part) if "part" in inspect.signature(loader).parameters else ("train",)
    for part in parts:
        asking = _Asking()
        try:
            loader(asking, **({"part": part} if len(parts) > 1 else {}))
        except ScenarioError:
            if not asking.noted:
                raise
        yield part, asking.noted[0]


def _stored(part: Part, cache: Cache, layouts: Sequence[Sequence[Remote]]) -> Stored:
    there = [all((cache.folder / one.path).is_file() for one in layout) for layout in layouts]
    at = there.index(True) if True in there else 0
    files = tuple(cache.folder / one.path for one in layouts[at])
    return Stored(part, files, True in there, at == 0, all(one.urls for one in layouts[0]))
