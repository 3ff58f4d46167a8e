"""Data set: features and labels, what is publicly known of them, and their partition among agents.

Records 0 … m−1 are dealt out so that nobody goes empty-handed.
"""

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.arrays import Array, frozen, same_length, unknown, whole
from netsim.errors import ScenarioError
from netsim.problems.objective import sampled
from netsim.shown import Shown

_By = Literal["equal", "dirichlet", "label"]
_Indices = NDArray[np.int64]


def _deal(
    labels: Array, classes: bool, agents: int, seed: int, by: _By, concentration: float | None
) -> list[_Indices]:
    """Each agent's records, rising. `classes`: whether the labels are classes; else they are real targets.

    You get a `ScenarioError` for more agents than records, a concentration where none belongs or that is not
    positive, and for `by` = "label" with real targets.
    """
    if by not in get_args(_By):
        raise unknown("by", by, get_args(_By))
    if (by == "dirichlet") != (concentration is not None):
        raise ScenarioError("concentration", concentration, f"with by = {by!r}", "a number > 0 for dirichlet alone")
    if by == "label" and not classes:
        raise ScenarioError("by", by, "real targets have no classes", "equal, dirichlet")
    whole(agents, "agents", 1, len(labels))
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(labels))
    if classes:
        order = order[np.argsort(labels[order], kind="stable")]
    pools = [order[labels[order] == label] for label in np.unique(labels)] if classes else [order]
    if concentration is not None:
        parts = _dirichlet(pools, agents, concentration, rng)
    elif by == "label":
        parts = _label(pools, agents, rng)
    else:
        parts = [order[agent::agents] for agent in range(agents)]
    return [np.sort(part) for part in parts]


def _dirichlet(pools: list[_Indices], agents: int, concentration: float, rng: np.random.Generator) -> list[_Indices]:
    """Each pool cut at the cumulated shares p ~ Dir(concentration, …, concentration).

    An agent without a record gets the last one of whoever has the most, the first such agent.
    """
    if not 0 < concentration < np.inf:
        raise ScenarioError("concentration", concentration, "not positive and finite", "a number > 0")
    pieces: list[list[_Indices]] = [[] for _ in range(agents)]
    for pool in pools:
        ends = np.cumsum(rng.dirichlet(np.full(agents, concentration)))[:-1]
        cuts = np.rint(np.clip(ends, 0.0, 1.0) * len(pool)).astype(int)
        for agent, piece in enumerate(np.split(pool, cuts)):
            pieces[agent].append(piece)
    parts = [np.concatenate(piece) for piece in pieces]
    for agent, part in enumerate(parts):
        if not part.size:
            richest = max(range(agents), key=lambda i: (len(parts[i]), -i))
            parts[agent], parts[richest] = parts[richest][-1:], parts[richest][:-1]
    return parts


def _label(pools: list[_Indices], agents: int, rng: np.random.Generator) -> list[_Indices]:
    """Agents shared among the classes in proportion, one or more each; within a class equal shares.

    Fewer agents than classes have every `agents`-th class. Of more than two classes each has one agent at first, and
    the others go one by one where an agent has most records, of equals to the first.
    """
    if len(pools) == 1 or agents == 1:
        order = np.concatenate(pools)
        return [order[agent::agents] for agent in range(agents)]
    sizes = list(map(len, pools))
    if agents < len(pools):
        parts = [np.concatenate(pools[agent::agents]) for agent in range(agents)]
    else:
        holders = [1] * len(pools)
        if len(pools) == 2:
            least, most = max(1, agents - sizes[1]), min(agents - 1, sizes[0])
            holders[0] = int(np.clip(round(agents * sizes[0] / sum(sizes)), least, most))
            holders[1] = agents - holders[0]
        for _ in range(agents - sum(holders)):
            holders[max(range(len(sizes)), key=lambda c: (sizes[c] / holders[c], -c))] += 1
        parts = [pool[place::n] for pool, n in zip(pools, holders, strict=True) for place in range(n)]
    return [parts[place] for place in rng.permutation(agents)]


Part = Literal["train", "test"]
Shape = tuple[int, int] | tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Dataset(Shown):
    """m records: features (m, d) and labels (m,): ±1 of two classes, 0 … k − 1 of k > 2, or real targets.

    `class_count` is k, 0 in a regression; where it is not given labels that are all ±1 are of two classes, and others
    of none.

    `image_shape` says how a row of features is drawn: (height, width) in grey, (height, width, 3) in colour.
    `value_range` is the interval its values lie in, a public fact that an attack may use. Both are None where
    there is no such thing. `note` says in one sentence where these records are not the published ones, or
    what was left out; it is empty where there is nothing to say.
    """

    name: str
    features: Array = field(repr=False)
    labels: Array = field(repr=False)
    image_shape: Shape | None = None
    value_range: tuple[float, float] | None = None
    part: Part = "train"
    note: str = ""
    class_count: int | None = None
    class_names: tuple[str, str] | None = None
    """What a file calls the classes −1 and +1; None where they have no other names."""

    __repr__ = Shown.__repr__

    def facts(self) -> dict[str, object]:
        return {
            "name": self.name,
            "records": self.records,
            "dimension": self.dimension,
            "labels": f"{self.class_count} classes" if self.class_count else "real targets",
            "−1 and +1 are": "" if self.class_names is None else " and ".join(self.class_names),
            "part": self.part,
            "images": "" if self.image_shape is None else " × ".join(map(str, self.image_shape)),
            "values": "" if self.value_range is None else "{:g} to {:g}".format(*self.value_range),
            "note": self.note,
        }

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", frozen(self.features, "features", 2))
        object.__setattr__(self, "labels", frozen(self.labels, "labels", 1))
        same_length(self.features, self.labels, "labels")
        signs = bool((np.abs(self.labels) == 1).all())
        if self.class_count is None:
            object.__setattr__(self, "class_count", 2 if signs else 0)
        elif self.class_count == 1 or (self.class_count == 2 and not signs):
            raise ScenarioError("class_count", self.class_count, "labels of two classes are -1 and +1", "0, 2, 3, …")
        elif self.class_count > 2 and not np.isin(self.labels, np.arange(self.class_count)).all():
            allowed = f"0 to {self.class_count - 1}"
            raise ScenarioError("labels", self.labels, f"not the numbers of {self.class_count} classes", allowed)

    @property
    def records(self) -> int:
        return len(self.features)

    @property
    def dimension(self) -> int:
        return self.features.shape[1]

    @property
    def classes(self) -> bool:
        """Whether the labels are classes, and not real targets."""
        return bool(self.class_count)

    @property
    def class_numbers(self) -> Array:
        """The labels as models of several outputs count classes: 0 … k − 1, of two classes 0 for −1 and 1 for +1.

        You get a `ScenarioError` for real targets.
        """
        if not self.class_count:
            raise ScenarioError("labels", self.name, "real targets have no classes", "data of two classes or more")
        return (self.labels + 1) / 2 if self.class_count == 2 else self.labels

    def take(self, indices: ArrayLike) -> "Dataset":
        """The records at these indices, in this order."""
        chosen = sampled(indices, self.records)
        return replace(self, features=self.features[chosen], labels=self.labels[chosen])

    def split(
        self, agents: int, seed: int = 0, *, by: _By = "equal", concentration: float | None = None
    ) -> tuple["Dataset", ...]:
        """Deal the records out: a partition, one record or more for every agent, drawn by the seed.

        - ``equal``: class after class, so that sizes, and each class's shares, are within 1 of each other.
        - ``dirichlet``: each class is cut at shares drawn from Dir(concentration, …): a small concentration is
          skewed in size and class, and ∞ is equal. Real targets count as one class.
        - ``label``: every agent holds one class where there are as many agents as classes or more, as many
          agents a class as its size asks for; which agents is drawn by the seed. Fewer agents hold whole classes.

        A part keeps the order of the whole. The sizes are the `records` of the parts.
        """
        dealt = _deal(self.labels, self.classes, agents, seed, by, concentration)
        return tuple(self.take(indices) for indices in dealt)

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
        largest: Array = np.max(np.abs(self.features), axis=1, keepdims=True, initial=0.0)
        exponents = np.frexp(largest)[1]
        near = np.ldexp(self.features, -exponents)  # the same digits, and squares that are numbers
        norms = np.linalg.norm(near, axis=1, keepdims=True)
        scale = norm_bound * (1 - 2**-50)  # rounding must not carry a row back above the bound
        shorter = near * (scale / np.where(norms > 0, norms, 1.0))
        return replace(self, features=np.where(norms > np.ldexp(norm_bound, -exponents), shorter, self.features))

    def in_unit_range(self) -> "Dataset":
        """Each feature v as (v − min)/(max − min) over all records, in [0, 1]; 0 where all have the same."""
        low, high = self.features.min(axis=0), self.features.max(axis=0)
        features = (self.features - low) / np.where(high > low, high - low, 1.0)
        return replace(self, features=features, value_range=(0.0, 1.0))

    def scaled(self, factor: float) -> "Dataset":
        """Every feature, and the range they lie in, times one positive number."""
        if not 0 < factor < np.inf:
            raise ScenarioError("factor", factor, "not positive and finite", "a number > 0")
        ends = None if self.value_range is None else (self.value_range[0] * factor, self.value_range[1] * factor)
        return replace(self, features=self.features * factor, value_range=ends)


def some(indices: _Indices, records: int | None, seed: int) -> _Indices:
    """The first `records` of a shuffle of these, in their own order; None is all of them."""
    if records is None:
        return indices
    whole(records, "records", 1, len(indices))
    order = np.random.default_rng(whole(seed, "seed", 0)).permutation(len(indices))
    return indices[np.sort(order[:records])]
