# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (scikit-learn ships no types)
"""Classifiers of transcripts of two worlds, validated on what was left out, with no knowledge of the algorithm.

Logistic regression on the numbers as they are; on directions of equal variance (`whitened`), where an exact
linear
relation among many noisy values shows; with the parts near the middle as columns of their own (`_ramped`),
which is
what Laplace noise leaves; a sparse discriminant, where few of many numbers tell; and boosted trees for few
numbers.

It is trained on transcripts that are not played. A score proves nothing by itself: the game that is played
with it on
other transcripts (`attacks.audit.games.game.play`) does, and holds for any score, a badly trained one too.
So hand
`play` the scores of transcripts that the classifier has not seen, and of no others:

    learned = Classifier.fit(features_0, features_1, rng)         # of the first trials of each world
    play(learned.score(rest_0), learned.score(rest_1), …)         # of the others

What is tried is in `attacks.audit.blackbox.classifier`; the kind and its regularization are chosen by
cross-validation on
the transcripts that it is trained with.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias
from warnings import catch_warnings, simplefilter

import numpy as np
import numpy.typing as npt
from scipy import special
from threadpoolctl import threadpool_limits

from attacks.audit.blackbox.features import Columns, Features, aligned, table
from netsim.arrays import Array
from netsim.errors import AttackError

MOST_BOOSTED, FEWEST_BOOSTED = 64, 500
"""Columns up to which boosted trees are tried, and transcripts from which on."""
FOLDS = 3
MOST_WHITENED = 0.9
"""Components per transcript up to which all are whitened together."""
BLOCK = 0.15
"""Columns per transcript that are whitened together where there are many."""
STRENGTHS = (1e-4, 3e-3, 1e-1, 3.0)
"""C of the logistic regression: the inverse of its regularization."""
THRESHOLDS = (1.0, 2.0, 3.0, 4.0)
"""Of the sparse discriminant, in standard errors of the difference of two means."""
RAMPS = (0.25, 1.0)
"""Where a ramp ends, in standard deviations from the median."""
FAINT = 1e-9
"""Components of so much less deviation than the largest one are rounding."""

Folds: TypeAlias = Sequence[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]
"""(what to learn from, what to test on), as numbers of rows."""


class _Model(Protocol):
    """Scores rows of the standardized columns."""

    def score(self, columns: Array) -> Array:
        """(rows, columns) ↦ (rows,): larger, more like world 1. Each row's score depends on that row alone."""
        ...


@dataclass(frozen=True)
class _Linear:
    """weights · columns + offset; with `ramps`, of each column's clipped parts too."""

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
    """A kind of classifier, its cross-validated loss, and how to fit it to all that there is."""

    kind: str
    loss: float
    final: Callable[[], _Model]


def _ramped(columns: Array) -> Array:
    """Each column, and what is left of it clipped to ±r for each of `RAMPS`, in units of r."""
    return np.concatenate([columns, *(np.clip(columns, -r, r) / r for r in RAMPS)], axis=1)


def _tried(rows: Array, labels: Array, seed: int) -> list[_Tried]:
    """All kinds that are worth their time for so many rows and columns."""
    from sklearn.model_selection import StratifiedKFold

    size, count = rows.shape
    splitter: Any = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    folds: Folds = list(splitter.split(rows, labels))
    within = _Turned.of(rows)
    found = [_best("logistic regression", within, _regressions(), labels, folds)]
    if 1 < within.rank <= MOST_WHITENED * size:
        white = within.whitened
        found.append(_best("logistic regression, whitened", white, _regressions(), labels, folds))
        found.append(_best("sparse discriminant", white.turned_back, _discriminants(), labels, folds))
    if within.rank > size / 2:
        blocks = _in_blocks(rows)
        found.append(_best("logistic regression, whitened in parts", blocks, _regressions(), labels, folds))
        found.append(_best("sparse discriminant, in parts", blocks, _discriminants(), labels, folds))
    if (1 + len(RAMPS)) * count <= size / 2:
        wide = _Turned.of(_ramped(rows))
        found.append(_best("logistic regression with ramps", wide, _regressions(), labels, folds, ramps=True))
    if count <= MOST_BOOSTED and size >= FEWEST_BOOSTED:
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
        kept = sizes > FAINT * sizes[0]
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
        """As near to the columns as coordinates of the same lengths can be: each is mostly one column's own part."""
        directions = self.turn / np.linalg.norm(self.turn, axis=0)
        back = np.ascontiguousarray(directions.T)
        return self._replace(inner=self.inner @ back, turn=self.turn @ back)


def _in_blocks(rows: Array) -> _Turned:
    """Consecutive columns, as many at once as the rows bear, whitened by themselves."""
    size, count = rows.shape
    width = max(int(size * BLOCK), 1)
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
    folds: Folds,
    *,
    ramps: bool = False,
) -> _Tried:
    """The one of some linear classifiers, in given coordinates, that does best on what was left out."""
    losses = [_validated(build, within.inner, labels, folds) for _, build in builds]
    k = int(np.argmin(losses))
    name, build = builds[k]

    def final() -> _Model:
        fitted = build().fit(within.inner, labels)
        weights = within.turn @ np.asarray(fitted.coef_[0], dtype=np.float64)
        return _Linear(weights, float(fitted.intercept_[0]) - float(within.middle @ weights), ramps)

    return _Tried(f"{kind} ({name})", losses[k], final)


def _regressions() -> list[tuple[str, Callable[[], Any]]]:
    return [(f"C = {c:g}", partial(_regression, c)) for c in STRENGTHS]


def _discriminants() -> list[tuple[str, Callable[[], Any]]]:
    return [(f"threshold {t:g}", partial(_SparseDiscriminant, t)) for t in THRESHOLDS]


def _regression(strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression  # slow to import

    return LogisticRegression(C=strength, max_iter=100, tol=1e-3)


class _SparseDiscriminant:
    """The difference of the two means in coordinates of variance 1, without what may be chance.

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


def _boosted(rows: Array, labels: Array, folds: Folds, seed: int) -> _Tried:
    from sklearn.ensemble import HistGradientBoostingClassifier  # slow to import

    options: dict[str, Any] = {"max_iter": 60, "max_leaf_nodes": 8, "min_samples_leaf": 20, "early_stopping": False}

    def trees() -> Any:
        return HistGradientBoostingClassifier(**options, random_state=seed)

    return _Tried(
        "boosted trees", _validated(trees, rows, labels, folds), lambda: _Boosted(trees().fit(rows, labels))
    )


def _validated(build: Callable[[], Any], rows: Array, labels: Array, folds: Folds) -> float:
    """The mean log loss on what was left out, in nats."""
    losses: list[Array] = []
    for learn, test in folds:
        odds: Array = build().fit(rows[learn], labels[learn]).decision_function(rows[test])
        losses.append(-special.log_expit(np.where(labels[test] == 1, odds, -odds)))
    return float(np.mean(np.concatenate(losses)))


FEWEST = 12
"""Transcripts of each world that are needed to learn."""


@dataclass(frozen=True)
class Classifier:
    """What was learned: scores larger the more a transcript looks like one of world 1.

    `kind` says what was chosen, `loss` is its cross-validated log loss in nats (ln 2: it tells nothing).
    """

    columns: Columns
    model: _Model
    kind: str
    loss: float

    @classmethod
    def fit(
        cls, features_0: Features | Sequence[Features], features_1: Features | Sequence[Features],
        rng: np.random.Generator,
    ) -> "Classifier":  # fmt: skip
        """Learn from samples of both worlds. All that is random is drawn from `rng`.

        You get an `AttackError` for fewer than `FEWEST` transcripts of a world.
        """
        zero, one = ([w] if isinstance(w, Features) else list(w) for w in (features_0, features_1))
        names, values = table([*zero, *one])
        labels = np.repeat([0, 1], [sum(s.replicas for s in zero), sum(s.replicas for s in one)])
        if min(np.bincount(labels, minlength=2)) < FEWEST:
            raise AttackError(
                f"{np.bincount(labels, minlength=2).min()} transcripts of a world: learning needs {FEWEST}"
            )
        with _at_peace():
            columns = Columns.of(names, values)
            place = {name: k for k, name in enumerate(names)}
            rows = columns(values[:, [place[name] for name in columns.names]])
            if not columns.count:
                return cls(columns, _Linear(np.zeros(0), 0.0), "nothing varies", float(np.log(2)))
            seed = int(rng.integers(2**31))
            best = min(_tried(rows, labels, seed), key=lambda one: one.loss)
            return cls(columns, best.final(), best.kind, best.loss)

    def score(self, sample: Features) -> Array:
        """(replicas,): log odds, as learned, of world 1. Row r depends on transcript r alone."""
        return self.model.score(self.columns(aligned(sample, self.columns.names)))


@contextmanager
def _at_peace() -> Generator[None]:
    """One thread, so that sums are the same whoever else is at work; no word of regressions that stop early, which
    are scores like others; and no checks of what was made here."""
    from sklearn import config_context  # slow to import

    config: Any = config_context
    with threadpool_limits(1), catch_warnings(), config(assume_finite=True, skip_parameter_validation=True):
        simplefilter("ignore")
        yield
