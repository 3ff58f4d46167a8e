# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (scikit-learn ships no types)
"""A black-box score: a classifier that is shown transcripts of both worlds, and told nothing of the algorithm.

It is trained on transcripts that are not played. A score proves nothing by itself: the game that is played with it on
other transcripts (`attacks.audit.games.game.play`) does, and holds for any score, a badly trained one too. So hand
`play` the scores of transcripts that the classifier has not seen, and of no others:

    learned = Classifier.fit(features_0, features_1, rng)         # of the first trials of each world
    play(learned.score(rest_0), learned.score(rest_1), …)         # of the others

What is tried is in `attacks.audit.blackbox.models`; the kind and its regularization are chosen by cross-validation on
the transcripts that it is trained with.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from threadpoolctl import threadpool_limits

from attacks.audit.blackbox.columns import Columns
from attacks.audit.blackbox.features import Features, aligned, features, table
from attacks.audit.blackbox.models import Linear, Model, tried
from netsim.arrays import Array
from netsim.errors import AttackError

FEWEST = 12
"""Transcripts of each world that are needed to learn."""


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
        with _at_peace():
            columns = Columns.of(names, values)
            place = {name: k for k, name in enumerate(names)}
            rows = columns(values[:, [place[name] for name in columns.names]])
            if not columns.count:
                return cls(columns, Linear(np.zeros(0), 0.0), "nothing varies", float(np.log(2)))
            seed = int(rng.integers(2**31))
            best = min(tried(rows, labels, seed), key=lambda one: one.loss)
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


__all__ = ["Classifier", "Features", "features"]
