"""Data sets by name, and how their records are dealt out to agents."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.arrays import Array
from netsim.checks import frozen, nonnegative, same_length, unknown, whole
from netsim.errors import ScenarioError


@dataclass(frozen=True, eq=False)
class Dataset:
    """m records: features (m, d) and labels (m,), which are ±1 or, in a regression, real targets.

    `image_shape` says how a row of features is drawn; `value_range` is the interval its values lie in, a
    public fact that an attack may use. Both are None where there is no such thing.
    """

    name: str
    features: Array = field(repr=False)
    labels: Array = field(repr=False)
    image_shape: tuple[int, int] | None = None
    value_range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", frozen(self.features, "features", 2))
        object.__setattr__(self, "labels", frozen(self.labels, "labels", 1))
        same_length(self.features, self.labels, "labels")

    @property
    def records(self) -> int:
        return len(self.features)

    @property
    def dimension(self) -> int:
        return self.features.shape[1]

    @property
    def classes(self) -> bool:
        """Whether every label is −1 or +1."""
        return bool((np.abs(self.labels) == 1).all())

    def take(self, indices: ArrayLike) -> "Dataset":
        """The records at these indices, in this order."""
        chosen = np.asarray(indices)
        if chosen.dtype.kind not in "iu" or chosen.ndim != 1 or not chosen.size:
            raise ScenarioError("indices", indices, "not a list of positions", "one integer or more")
        if chosen.min() < 0 or chosen.max() >= self.records:
            raise ScenarioError("indices", indices, "out of range", f"0 to {self.records - 1}")
        return replace(self, features=self.features[chosen], labels=self.labels[chosen])

    def split(self, agents: int, seed: int = 0) -> tuple["Dataset", ...]:
        """Deal the shuffled records out, class after class: a partition, sizes within 1 of each other.

        Every agent's share of each class is within 1 of the others' too, so that all agents see both
        classes if each class has a record for every agent. A part keeps the order of the whole.
        """
        whole(agents, "agents", 1, self.records)
        order = np.random.default_rng(seed).permutation(self.records)
        if self.classes:
            order = order[np.argsort(self.labels[order], kind="stable")]
        return tuple(self.take(np.sort(order[agent::agents])) for agent in range(agents))

    def reserve(self, share: float, seed: int = 0) -> tuple["Dataset", "Dataset"]:
        """The records that are left, and a share of them that is held out, drawn at random; both in their order.

        You get a `ScenarioError` where either part would be empty.
        """
        held = round(share * self.records)
        if not 0 < held < self.records:
            raise ScenarioError(
                "share", share, f"holds out {held} of {self.records} records", "at least one, not all"
            )
        order = np.random.default_rng(seed).permutation(self.records)
        return self.take(np.sort(order[held:])), self.take(np.sort(order[:held]))

    def clipped(self, norm_bound: float) -> "Dataset":
        """Rows of Euclidean norm above the bound shortened to it: ‖∇ of a logistic record‖ <= norm_bound."""
        if not 0 < norm_bound < np.inf:
            raise ScenarioError("norm_bound", norm_bound, "not positive and finite", "a number > 0")
        norms = np.linalg.norm(self.features, axis=1, keepdims=True)
        scale = norm_bound * (1 - 2**-50)  # rounding must not carry a row back above the bound
        shorter = self.features * (scale / np.maximum(norms, scale))
        return replace(self, features=np.where(norms > norm_bound, shorter, self.features))


def load(name: str, *, norm_bound: float | None = None, **options: Any) -> Dataset:
    """The data set of this name; with `norm_bound`, its rows are clipped.

    - ``digits``: 8×8 images in [0, 1] of two digits; ``classes`` = (the −1, the +1), by default (0, 1).
    - ``breast_cancer``: 569 tumours, 30 standardized features; −1 malignant, +1 benign.
    - ``synthetic``: ``records``, ``dimension``, ``seed``, ``noise``,
      ``kind`` = "classification" or "regression".

    An unknown name or option is a `ScenarioError` that lists the known ones, the nearest first.
    """
    if name not in _LOADERS:
        raise unknown("name", name, _LOADERS)
    known = list(inspect.signature(_LOADERS[name]).parameters)
    for option in options:
        if option not in known:
            raise unknown("option", option, [*known, "norm_bound"])
    dataset = _LOADERS[name](**options)
    return dataset if norm_bound is None else dataset.clipped(norm_bound)


def _digits(classes: tuple[int, int] = (0, 1)) -> Dataset:
    from sklearn import datasets  # slow to import

    if len(classes) != 2 or classes[0] == classes[1]:
        raise ScenarioError("classes", classes, "not two different digits", "two of 0 to 9")
    negative, positive = (whole(digit, "classes", 0, 9) for digit in classes)
    images, digits = _fetched(datasets.load_digits)
    chosen = (digits == negative) | (digits == positive)
    labels = np.where(digits[chosen] == positive, 1.0, -1.0)
    return Dataset("digits", images[chosen] / 16, labels, image_shape=(8, 8), value_range=(0.0, 1.0))


def _breast_cancer() -> Dataset:
    from sklearn import datasets

    features, benign = _fetched(datasets.load_breast_cancer)
    standardized = (features - features.mean(axis=0)) / features.std(axis=0)
    return Dataset("breast_cancer", standardized, np.where(benign == 1, 1.0, -1.0))


def _synthetic(
    records: int = 200,
    dimension: int = 10,
    seed: int = 0,
    noise: float = 0.1,
    kind: Literal["classification", "regression"] = "classification",
) -> Dataset:
    """Rows a ~ N(0, I/d), a true x ~ N(0, I); answers aᵀx + noise · N(0, 1), or their signs."""
    if kind not in ("classification", "regression"):
        raise unknown("kind", kind, ["classification", "regression"])
    rng = np.random.default_rng(whole(seed, "seed", 0))
    truth = rng.standard_normal(whole(dimension, "dimension"))
    features = rng.standard_normal((whole(records, "records"), dimension)) / np.sqrt(dimension)
    answers = features @ truth + nonnegative(noise, "noise") * rng.standard_normal(records)
    labels = np.where(answers < 0, -1.0, 1.0) if kind == "classification" else answers
    return Dataset("synthetic", features, labels)


def _fetched(loader: Callable[..., object]) -> tuple[Array, NDArray[np.int64]]:
    """What scikit-learn, which carries no types, returns."""
    return cast(tuple[Array, NDArray[np.int64]], loader(return_X_y=True))


_LOADERS: dict[str, Callable[..., Dataset]] = {
    "digits": _digits,
    "breast_cancer": _breast_cancer,
    "synthetic": _synthetic,
}
