# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (scikit-learn ships no types)
"""A black-box score: a classifier that is shown transcripts of both worlds, and told nothing of the algorithm.

It is trained on transcripts that are not played. A score proves nothing by itself: the game that is played with it on
other transcripts (`attacks.audit.game.play`) does, and holds for any score, a badly trained one too. So hand `play`
the scores of transcripts that the classifier has not seen, and of no others:

    learned = Classifier.fit(features_0, features_1, rng)         # of the first trials of each world
    play(learned.score(rest_0), learned.score(rest_1), …)         # of the others

What is tried is logistic regression on the numbers as they are, standardized (an exact linear relation among many
noisy values shows once directions of small variance are looked at on their own scale: `whitened`), with their parts
near the middle as columns of their own (what Laplace noise leaves: `ramps`), and for few numbers boosted trees. The
kind and its regularization are chosen by cross-validation on the transcripts it is trained with.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import special
from threadpoolctl import threadpool_limits

from attacks.audit.columns import MOST, Columns
from attacks.audit.features import Features, aligned, features, table
from netsim.arrays import Array
from netsim.errors import AttackError

MOST_BOOSTED = 64
"""Columns up to which boosted trees are tried."""
FEWEST = 12
"""Transcripts of each world that are needed to learn."""
FOLDS = 3
MOST_WHITENED = 0.9
"""Components per transcript up to which all are whitened together."""
BLOCK = 0.15
"""Columns per transcript that are whitened together where there are many."""
STRENGTHS = (1e-4, 1e-2, 1.0, 1e2)
"""C of the logistic regression: the inverse of its regularization."""
RAMPS = (0.25, 1.0)
"""Where a ramp ends, in standard deviations from the median."""
FAINT = 1e-9
"""Components of so much less deviation than the largest one are rounding."""


class Model(Protocol):
    """Scores rows of the standardized columns."""

    def score(self, columns: Array) -> Array:
        """(rows, columns) ↦ (rows,): larger, more like world 1. Each row's score depends on that row alone."""
        ...


@dataclass(frozen=True)
class Classifier:
    """What was learned: scores larger the more a transcript looks like one of world 1.

    `kind` says what was chosen, `loss` is its cross-validated log loss in nats (ln 2: it tells nothing).
    """

    columns: Columns
    model: Model
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
        with threadpool_limits(1):  # the same sums, whoever else is at work
            columns = Columns.of(names, values)
            place = {name: k for k, name in enumerate(names)}
            rows = columns(values[:, [place[name] for name in columns.names]])
            if not columns.count:
                return cls(columns, Linear(np.zeros(0), 0.0), "nothing varies", float(np.log(2)))
            seed = int(rng.integers(2**31))
            best = min(_tried(rows, labels, seed), key=lambda tried: tried.loss)
            return cls(columns, best.final(), best.kind, best.loss)

    def score(self, sample: Features) -> Array:
        """(replicas,): log odds, as learned, of world 1. Row r depends on transcript r alone."""
        with threadpool_limits(1):
            return self.model.score(self.columns(aligned(sample, self.columns.names)))


# ── models ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Linear:
    """weights · columns + offset; with `ramps`, of each column's clipped parts too."""

    weights: Array
    offset: float
    ramps: bool = False

    def score(self, columns: Array) -> Array:
        wide = ramped(columns) if self.ramps else columns
        return np.einsum("rc,c->r", wide, self.weights) + self.offset


@dataclass(frozen=True)
class Boosted:
    """Boosted trees of scikit-learn."""

    trees: Any

    def score(self, columns: Array) -> Array:
        return np.asarray(self.trees.decision_function(columns), dtype=np.float64)


class Tried(NamedTuple):
    """A kind of classifier, its cross-validated loss, and how to fit it to all that there is."""

    kind: str
    loss: float
    final: Callable[[], Model]


def ramped(columns: Array) -> Array:
    """Each column, and what is left of it clipped to ±r for each of `RAMPS`, in units of r."""
    return np.concatenate([columns, *(np.clip(columns, -r, r) / r for r in RAMPS)], axis=1)


def _tried(rows: Array, labels: Array, seed: int) -> list[Tried]:
    """All kinds that are worth their time for so many rows and columns."""
    size, count = rows.shape
    within = _Turned.of(rows)
    tried = [_logistic("logistic regression", within, labels, seed)]
    if within.rank <= MOST_WHITENED * size:
        tried.append(_logistic("logistic regression, whitened", within.whitened, labels, seed))
    if count > size * BLOCK:
        tried.append(_logistic("logistic regression, whitened in parts", _in_blocks(rows), labels, seed))
    if (1 + len(RAMPS)) * count <= MOST:
        wide = _Turned.of(ramped(rows))
        tried.append(_logistic("logistic regression with ramps", wide, labels, seed, ramps=True))
    return [*tried, _boosted(rows, labels, seed)] if count <= MOST_BOOSTED else tried


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


def _in_blocks(rows: Array) -> _Turned:
    """Consecutive columns, as many at once as the rows bear, whitened by themselves."""
    size, count = rows.shape
    width = max(int(size * BLOCK), 1)
    parts = [_Turned.of(rows[:, k : k + width]).whitened for k in range(0, count, width)]
    turn = np.zeros((count, sum(part.rank for part in parts)))
    place = 0
    for k, part in enumerate(parts):
        turn[k * width : (k + 1) * width, place : place + part.rank] = part.turn
        place += part.rank
    inner = np.concatenate([part.inner for part in parts], axis=1)
    return _Turned(inner, turn, np.concatenate([part.middle for part in parts]))


def _logistic(kind: str, within: _Turned, labels: Array, seed: int, *, ramps: bool = False) -> Tried:
    """With the strength of regularization that does best, in the coordinates given: the penalty depends on them."""
    losses = {c: _validated(lambda c=c: _regression(c), within.inner, labels, seed) for c in STRENGTHS}
    strength = min(losses, key=lambda c: losses[c])

    def final() -> Model:
        fitted = _regression(strength).fit(within.inner, labels)
        weights = within.turn @ np.asarray(fitted.coef_[0], dtype=np.float64)
        return Linear(weights, float(fitted.intercept_[0]) - float(within.middle @ weights), ramps)

    return Tried(f"{kind} (C = {strength:g})", losses[strength], final)


def _regression(strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression  # slow to import

    return LogisticRegression(C=strength, max_iter=500)


def _boosted(rows: Array, labels: Array, seed: int) -> Tried:
    from sklearn.ensemble import HistGradientBoostingClassifier  # slow to import

    def trees() -> Any:
        options: dict[str, Any] = {"max_iter": 60, "max_leaf_nodes": 8, "min_samples_leaf": 20}
        return HistGradientBoostingClassifier(**options, early_stopping=False, random_state=seed)

    return Tried("boosted trees", _validated(trees, rows, labels, seed), lambda: Boosted(trees().fit(rows, labels)))


def _validated(build: Callable[[], Any], rows: Array, labels: Array, seed: int) -> float:
    """The mean log loss on what was left out, in nats."""
    from sklearn.model_selection import StratifiedKFold

    folds: Any = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    losses: list[Array] = []
    for learn, test in folds.split(rows, labels):
        odds = build().fit(rows[learn], labels[learn]).decision_function(rows[test])
        losses.append(-special.log_expit(np.where(labels[test] == 1, odds, -odds)))
    return float(np.mean(np.concatenate(losses)))


__all__ = ["Classifier", "Features", "features"]
