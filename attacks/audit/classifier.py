# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (scikit-learn ships no types)
"""Classifiers of transcripts of two worlds: black boxes, which know the recorded numbers and nothing of the
algorithm.

Every value of every captured message, and what an insider knows of itself, is a column, named by the place where it
was recorded; all columns are put on one scale. When a row was captured and how many bytes it had is the same in all
transcripts of a sample: these are its facts.

Several kinds are tried: logistic regression on the numbers as they are; on directions of equal variance (`whitened`),
where an exact linear relation among many noisy values shows; with the parts near the middle as columns of their own
(`_ramped`), which is where Laplace noise differs from Gaussian; a sparse discriminant, where few of many numbers
distinguish; and boosted trees for few numbers. The kind and its regularization are chosen by cross-validation.

A score proves nothing by itself: the game that is played with it (`attacks.audit.games.game.play`) does, and holds
for any score, a badly trained one too. So give `play` the scores of transcripts that the classifier has not seen, and
no others:

    learned = Classifier.fit(features_0, features_1, rng)         # of the first trials of each world
    play(learned.score(rest_0), learned.score(rest_1), …)         # of the others
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias
from warnings import catch_warnings, simplefilter

import numpy as np
import numpy.typing as npt
from scipy import special
from threadpoolctl import threadpool_limits

from netsim.adversary import AdversaryView
from netsim.arrays import Array, evenly
from netsim.errors import AttackError
from netsim.transcript.message import EVERYBODY

MOST = 2000
"""Columns used, at most: of more, so many are taken at even distances, in order."""
_WILD = 1e3
"""Columns with values so many deviations from their median are replaced by ranks."""
_RUNGS = 65
"""Number of quantiles that ranks are read from."""
_LEVELS = (np.arange(_RUNGS) + 0.5) / _RUNGS
_SCORES = special.ndtri(_LEVELS)
_HUGE = 1e150
"""Largest size of a number: larger ones are clipped before anything is computed with them."""


@dataclass(frozen=True)
class _Columns:
    """Numbers that are used, and their common scale; learned without labels.

    Column k is (value − center)/spread; or, if `ladders` has quantiles of it, which it does where values are of all
    sizes, the normal score of the value's rank among them. A missing value is 0, and an indicator column for each of
    `gaps` is 1 there.
    """

    names: tuple[str, ...]
    center: Array
    spread: Array
    ladders: Mapping[int, Array]
    gaps: tuple[int, ...]

    @classmethod
    def of(cls, names: Sequence[str], values: Array) -> "_Columns":
        """Learn from values (rows, names); constant columns and exact copies of another one are dropped."""
        kept: dict[bytes, int] = {}
        for k in range(values.shape[1]):
            column = values[:, k]
            if not np.array_equal(column, np.broadcast_to(column[:1], column.shape), equal_nan=True):
                kept.setdefault(np.ascontiguousarray(column).tobytes(), k)
        distinct = list(kept.values())
        chosen = [distinct[k] for k in evenly(len(distinct), MOST)]
        part = values[:, chosen]
        gaps = tuple(k for k in range(len(chosen)) if bool(np.isnan(part[:, k]).any()))
        center, spread = _scale(part)
        clipped = np.clip(part, -_HUGE, _HUGE)
        ladders = {
            k: np.asarray(np.nanquantile(clipped[:, k], _LEVELS), dtype=np.float64)
            for k in range(len(chosen))
            if np.nanmax(np.abs(clipped[:, k] - center[k])) > _WILD * spread[k]
        }
        return cls(
            tuple(names[k] for k in chosen),
            center,
            spread,
            ladders,
            gaps,
        )

    @property
    def count(self) -> int:
        """Columns of what `__call__` returns."""
        return len(self.names) + len(self.gaps)

    def __call__(self, values: Array) -> Array:
        """(rows, names) ↦ (rows, count)."""
        scaled = (np.clip(values, -_HUGE, _HUGE) - self.center) / self.spread
        for k, ladder in self.ladders.items():
            scaled[:, k] = np.interp(np.clip(values[:, k], -_HUGE, _HUGE), ladder, _SCORES)
        missing = np.isnan(values)
        scaled = np.clip(np.where(missing, 0.0, scaled), -10 * _WILD, 10 * _WILD)
        return np.concatenate([scaled, missing[:, list(self.gaps)].astype(np.float64)], axis=1)


def _scale(values: Array) -> tuple[Array, Array]:
    """Median and spread of each column: by quartiles, or the standard deviation where half the values agree."""
    known = np.clip(values, -_HUGE, _HUGE)
    if not values.shape[1]:
        return np.empty(0), np.empty(0)
    low, center, high = (np.asarray(np.nanquantile(known, q, axis=0), dtype=np.float64) for q in (0.25, 0.5, 0.75))
    spread = (high - low) / 1.349
    with np.errstate(over="ignore"):
        deviation = np.nanstd(known, axis=0)
    spread = np.where(spread > 1e-12 * np.abs(center), spread, deviation)
    return center, np.where((spread > 0) & np.isfinite(spread), spread, 1.0)


@dataclass(frozen=True)
class Features:
    """Numbers of one sample's transcripts: `values` (replicas, columns) under `names`, and `facts` common to all.

    Whoever had the view may see them. NaN and ±∞ are as they were recorded.
    """

    names: tuple[str, ...]
    values: Array
    facts: Mapping[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.names):
            shape, names = self.values.shape, len(self.names)
            raise AttackError(f"features of shape {shape} under {names} names: (replicas, {names}) is wanted")

    @classmethod
    def of(cls, values: Array) -> "Features":
        """Features of a bare table, (replicas, columns); a column's name is its number."""
        return cls(tuple(map(str, range(values.shape[1]))), values)

    @classmethod
    def of_view(cls, view: AdversaryView, most: int | None = None) -> "Features":
        """Features of a view: every number recorded, in order of rows, of a row's fields by name, and of coordinates.

        A value that was recorded more than once, being one broadcast, is one set of columns, named by the place that
        comes first in the alphabet. An insider adds its private queries, with the answers, and its releases. Where
        that makes more than `most` columns, only some coordinates are kept, the same ones of every vector and at
        least one: relations among vectors mostly hold coordinate by coordinate.
        """
        facts: dict[str, float] = {}
        places: dict[int, str] = {}
        columns: dict[int, Array] = {}
        for where, value in _recorded(view, facts):
            columns[id(value)] = value
            places[id(value)] = min(where, places.get(id(value), where))
        dimensions = [value.shape[-1] for value in columns.values()]
        largest = max(dimensions, default=0)
        kept: list[int] = list(range(largest))
        if most is not None and sum(dimensions) > most:  # evenly spaced
            wanted = min(max(1, most // len(dimensions)), largest)
            kept = np.linspace(0, largest - 1, wanted).astype(int).tolist()
        names = tuple(f"{places[k]}[{c}]" for k, value in columns.items() for c in kept if c < value.shape[-1])
        values = [value[:, [c for c in kept if c < value.shape[-1]]] for value in columns.values()]
        return cls(names, np.concatenate(values, axis=1) if values else np.empty((view.replicas, 0)), facts)

    @property
    def replicas(self) -> int:
        return len(self.values)

    def aligned(self, names: Sequence[str]) -> Array:
        """Columns of these names (replicas, names); NaN where it has none."""
        if names == self.names:
            return self.values
        place = {name: k for k, name in enumerate(self.names)}
        found = np.full((self.replicas, len(names)), np.nan)
        here = [(k, place[name]) for k, name in enumerate(names) if name in place]
        if here:
            to, source = (list(side) for side in zip(*here, strict=True))
            found[:, to] = self.values[:, source]
        for k, name in enumerate(names):
            if name in self.facts:
                found[:, k] = self.facts[name]
        return found


def recorded_ids(view: AdversaryView) -> frozenset[int]:
    """Identities of the arrays of a view: comparable among views of one run, while these are kept."""
    return frozenset(id(value) for _, value in _recorded(view, {}))


def _recorded(view: AdversaryView, facts: dict[str, float]) -> Iterator[tuple[str, Array]]:
    """(place, values (replicas, dimension)) of all that was recorded; fills in the facts."""
    seen = Counter[str]()
    for row in view.transcript:
        receiver = "*" if row.receiver == EVERYBODY else row.receiver
        where = f"{row.event} {row.sender}→{receiver} {row.kind} {row.number} {row.sequence} {row.attempt}"
        seen[where] += 1
        if seen[where] > 1:
            where = f"{where} again {seen[where] - 1}"
        facts[f"{where} time"], facts[f"{where} size"] = row.time, float(row.size)
        for name in sorted(row.values):
            yield f"{where} {name}", row.values[name]
    for agent in sorted(view.inside):
        inside = view.inside[agent]
        for k, query in enumerate(inside.queries):
            yield f"inside {agent} query {k} point", query.point
            yield f"inside {agent} query {k} gradient", query.gradient
        for k, release in enumerate(inside.releases):
            yield f"inside {agent} release {k}", release


_MOST_BOOSTED, _FEWEST_BOOSTED = 64, 500
"""Columns up to which boosted trees are tried, and transcripts from which on."""
_FOLDS = 3
_MOST_WHITENED = 0.9
"""Components per transcript up to which all are whitened together."""
_BLOCK = 0.15
"""Columns per transcript that are whitened together where there are many."""
_STRENGTHS = (1e-4, 3e-3, 1e-1, 3.0)
"""C of the logistic regression: the inverse of its regularization."""
_THRESHOLDS = (1.0, 2.0, 3.0, 4.0)
"""Thresholds of the sparse discriminant, in standard errors of the difference of two means."""
_RAMPS = (0.25, 1.0)
"""Ends of a ramp, in standard deviations from the median."""
_FAINT = 1e-9
"""Components of so much less deviation than the largest one are rounding."""

_Folds: TypeAlias = Sequence[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]
"""(rows to learn from, rows to test on), for each fold."""


class _Model(Protocol):
    """Model that scores rows of the standardized columns."""

    def score(self, columns: Array) -> Array:
        """(rows, columns) ↦ (rows,): larger, more like world 1. Each row's score depends on that row alone."""
        ...


@dataclass(frozen=True)
class _Linear:
    """Linear score: weights · columns + offset; with `ramps`, of each column's clipped parts too."""

    weights: Array
    offset: float
    ramps: bool = False

    def score(self, columns: Array) -> Array:
        wide = _ramped(columns) if self.ramps else columns
        return np.einsum("rc,c->r", wide, self.weights) + self.offset


@dataclass(frozen=True)
class _Boosted:
    """Boosted trees of scikit-learn."""

    trees: Any

    def score(self, columns: Array) -> Array:
        return np.asarray(self.trees.decision_function(columns), dtype=np.float64)


class _Tried(NamedTuple):
    """Kind of classifier, its log odds of each row by the others, (rows,), their loss, and the fit to all rows."""

    kind: str
    odds: Array
    loss: float
    final: Callable[[], _Model]


def _ramped(columns: Array) -> Array:
    """Columns, and the columns clipped to ±r for each of `_RAMPS`, in units of r."""
    return np.concatenate([columns, *(np.clip(columns, -r, r) / r for r in _RAMPS)], axis=1)


def _tried(rows: Array, labels: Array, seed: int) -> list[_Tried]:
    """Kinds that are worth their time for so many rows and columns, cross-validated."""
    from sklearn.model_selection import StratifiedKFold

    size, count = rows.shape
    splitter: Any = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    folds: _Folds = list(splitter.split(rows, labels))
    within = _Turned.of(rows)
    regressions = [(f"C = {c:g}", partial(_regression, c)) for c in _STRENGTHS]
    discriminants = [(f"threshold {t:g}", partial(_SparseDiscriminant, t)) for t in _THRESHOLDS]
    found = [_best("logistic regression", within, regressions, labels, folds)]
    if 1 < within.rank <= _MOST_WHITENED * size:
        white = within.whitened
        found.append(_best("logistic regression, whitened", white, regressions, labels, folds))
        found.append(_best("sparse discriminant", white.turned_back, discriminants, labels, folds))
    if within.rank > size / 2:
        blocks = _in_blocks(rows)
        found.append(_best("logistic regression, whitened in parts", blocks, regressions, labels, folds))
        found.append(_best("sparse discriminant, in parts", blocks, discriminants, labels, folds))
    if (1 + len(_RAMPS)) * count <= size / 2:
        wide = _Turned.of(_ramped(rows))
        found.append(_best("logistic regression with ramps", wide, regressions, labels, folds, ramps=True))
    if count <= _MOST_BOOSTED and size >= _FEWEST_BOOSTED:
        found.append(_boosted(rows, labels, folds, seed))
    return found


class _Turned(NamedTuple):
    """Rows in other coordinates: `inner` = (rows − middle) · turn, without labels, so the same in all folds."""

    inner: Array
    turn: Array
    middle: Array

    @classmethod
    def of(cls, rows: Array) -> "_Turned":
        """Principal components, largest first, without those that are rounding."""
        middle = rows.mean(axis=0)
        inner, sizes, turn = np.linalg.svd(rows - middle, full_matrices=False)
        kept = sizes > _FAINT * sizes[0]
        return cls(inner[:, kept] * sizes[kept], turn[kept].T, middle)

    @property
    def rank(self) -> int:
        return self.inner.shape[1]

    @property
    def whitened(self) -> "_Turned":
        """Every component at variance 1."""
        deviations = np.sqrt(np.mean(self.inner**2, axis=0))
        return self._replace(inner=self.inner / deviations, turn=self.turn / deviations)

    @property
    def turned_back(self) -> "_Turned":
        """Turned as near to the columns as lengths allow: each coordinate is mostly one column's own."""
        directions = self.turn / np.linalg.norm(self.turn, axis=0)
        back = np.ascontiguousarray(directions.T)
        return self._replace(inner=self.inner @ back, turn=self.turn @ back)


def _in_blocks(rows: Array) -> _Turned:
    """Blocks of consecutive columns, as wide as the rows allow, each whitened by itself."""
    size, count = rows.shape
    width = max(int(size * _BLOCK), 1)
    parts = [_Turned.of(rows[:, k : k + width]).whitened.turned_back for k in range(0, count, width)]
    turn = np.zeros((count, sum(part.rank for part in parts)))
    place = 0
    for k, part in enumerate(parts):
        turn[k * width : (k + 1) * width, place : place + part.rank] = part.turn
        place += part.rank
    inner = np.concatenate([part.inner for part in parts], axis=1)
    return _Turned(inner, turn, np.concatenate([part.middle for part in parts]))


def _best(
    kind: str,
    within: _Turned,
    builds: Sequence[tuple[str, Callable[[], Any]]],
    labels: Array,
    folds: _Folds,
    *,
    ramps: bool = False,
) -> _Tried:
    """Best of some linear classifiers, in given coordinates, on the rows left out."""
    held_out = [_held_out(build, within.inner, labels, folds) for _, build in builds]
    losses = [_log_loss(odds, labels) for odds in held_out]
    k = int(np.argmin(losses))
    name, build = builds[k]

    def final() -> _Model:
        fitted = build().fit(within.inner, labels)
        weights = within.turn @ np.asarray(fitted.coef_[0], dtype=np.float64)
        return _Linear(weights, float(fitted.intercept_[0]) - float(within.middle @ weights), ramps)

    return _Tried(f"{kind} ({name})", held_out[k], losses[k], final)


def _regression(strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression  # slow to import

    return LogisticRegression(C=strength, max_iter=100, tol=1e-3)


class _SparseDiscriminant:
    """Discriminant along the difference of the two means, in coordinates of variance 1, less chance differences.

    Coordinates whose means differ by less than `threshold` standard errors have no weight, the others lose as much:
    the shrunken centroids of Tibshirani et al. 2002. A regression on this one number makes odds of it.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.coef_ = np.zeros((1, 0))
        self.intercept_ = np.zeros(1)

    def fit(self, rows: Array, labels: Array) -> "_SparseDiscriminant":
        """Learn from rows (rows, columns) and their labels, 0 or 1."""
        zero, one = rows[labels == 0], rows[labels == 1]
        difference = one.mean(axis=0) - zero.mean(axis=0)
        room = self.threshold * np.sqrt(1 / len(zero) + 1 / len(one))
        weights = np.sign(difference) * np.maximum(np.abs(difference) - room, 0.0)
        on_it = _regression(1.0).fit((rows @ weights)[:, None], labels)
        self.coef_ = float(on_it.coef_[0, 0]) * weights[None, :]
        self.intercept_ = np.asarray(on_it.intercept_, dtype=np.float64)
        return self

    def decision_function(self, rows: Array) -> Array:
        """Log odds of 1, (rows,)."""
        return rows @ self.coef_[0] + self.intercept_[0]


def _boosted(rows: Array, labels: Array, folds: _Folds, seed: int) -> _Tried:
    from sklearn.ensemble import HistGradientBoostingClassifier  # slow to import

    def trees() -> Any:
        boosted: Any = HistGradientBoostingClassifier  # its stub takes no boolean for `early_stopping`
        return boosted(max_iter=60, max_leaf_nodes=8, min_samples_leaf=20, early_stopping=False, random_state=seed)

    odds = _held_out(trees, rows, labels, folds)
    return _Tried("boosted trees", odds, _log_loss(odds, labels), lambda: _Boosted(trees().fit(rows, labels)))


def _held_out(build: Callable[[], Any], rows: Array, labels: Array, folds: _Folds) -> Array:
    """Log odds of each row by what was learned from the other folds, (rows,)."""
    odds = np.empty(len(rows))
    for learn, test in folds:
        odds[test] = build().fit(rows[learn], labels[learn]).decision_function(rows[test])
    return odds


def _log_loss(odds: Array, labels: Array) -> float:
    """Mean log loss, in nats."""
    return float(np.mean(-special.log_expit(np.where(labels == 1, odds, -odds))))


FEWEST = 12
"""Fewest transcripts of each world to learn from."""


@dataclass(frozen=True)
class Classifier:
    """Trained classifier: scores are larger the more a transcript looks like one of world 1.

    `kind` names the one chosen, `loss` is its cross-validated log loss in nats (ln 2: no better than a coin), and
    `held_out` are the scores of what taught it, of world 0 and of world 1, each by what the other folds taught.
    """

    columns: _Columns
    model: _Model
    kind: str
    loss: float
    held_out: tuple[Array, Array]

    @classmethod
    def fit(
        cls, features_0: Features | Sequence[Features], features_1: Features | Sequence[Features],
        rng: np.random.Generator,
    ) -> "Classifier":  # fmt: skip
        """Learn from samples of both worlds. Raises `AttackError` for fewer than `FEWEST` transcripts of a world."""
        zero, one = ([w] if isinstance(w, Features) else list(w) for w in (features_0, features_1))
        samples = [*zero, *one]
        facts = dict.fromkeys(name for sample in samples for name in sample.facts)
        differing = [name for name in facts if len({sample.facts.get(name) for sample in samples}) > 1]
        # in order of first appearance; facts that are not the same in all samples are columns too
        names = (*dict.fromkeys(name for sample in samples for name in sample.names), *differing)
        values = np.concatenate([sample.aligned(names) for sample in samples])
        labels = np.repeat([0, 1], [sum(s.replicas for s in zero), sum(s.replicas for s in one)])
        if min(np.bincount(labels, minlength=2)) < FEWEST:
            raise AttackError(
                f"{np.bincount(labels, minlength=2).min()} transcripts of a world: learning needs {FEWEST}"
            )
        with _quiet():
            columns = _Columns.of(names, values)
            place = {name: k for k, name in enumerate(names)}
            rows = columns(values[:, [place[name] for name in columns.names]])
            if not columns.count:
                no_odds = np.zeros(labels.size)
                nothing = no_odds[labels == 0], no_odds[labels == 1]
                return cls(columns, _Linear(np.zeros(0), 0.0), "nothing varies", float(np.log(2)), nothing)
            seed = int(rng.integers(2**31))
            best = min(_tried(rows, labels, seed), key=lambda one: one.loss)
            held_out = best.odds[labels == 0], best.odds[labels == 1]
            return cls(columns, best.final(), best.kind, best.loss, held_out)

    def score(self, sample: Features) -> Array:
        """(replicas,): log odds, as learned, of world 1. Row r depends on transcript r alone."""
        return self.model.score(self.columns(sample.aligned(self.columns.names)))


@contextmanager
def _quiet() -> Generator[None]:
    """Context for scikit-learn: one thread, so that sums have one order; no warnings of regressions that stop early,
    which are scores like others; no checks of arrays that were made here."""
    from sklearn import config_context  # slow to import

    config: Any = config_context
    with threadpool_limits(1), catch_warnings(), config(assume_finite=True, skip_parameter_validation=True):
        simplefilter("ignore")
        yield
