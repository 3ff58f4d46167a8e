"""Problems by the kind of their loss, from each agent's records."""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from netsim.checks import nonnegative, unknown, whole
from netsim.errors import ScenarioError
from netsim.problems.data import Dataset, load
from netsim.problems.logistic_loss import LogisticLoss
from netsim.problems.nonconvex_logistic import NonconvexLogistic
from netsim.problems.problem import Problem
from netsim.problems.squared_loss import LeastSquares
from netsim.regularizers import L1, Regularizer, Zero

Kind = Literal["logistic", "ridge", "lasso", "nonconvex_logistic", "sensors"]
DIVISOR = 36.0
"""[C]: only ‖A_i x − b_i‖² / 36 makes all four rows of its Table 1 stable."""


def logistic(parts: Sequence[Dataset], ridge: float = 0.0, regularizer: Regularizer | None = None) -> Problem:
    """Logistic regression: each part, with labels ±1, is one agent's private data."""
    losses = tuple(LogisticLoss(part.features, part.labels, ridge) for part in parts)
    return Problem(losses, regularizer or Zero(), "logistic", ridge)


def nonconvex_logistic(
    parts: Sequence[Dataset],
    weight: float = 0.001,
    shape: float = 1.0,
    ridge: float = 0.0,
    regularizer: Regularizer | None = None,
) -> Problem:
    """Logistic regression with Σ_t λω x_t² / (1 + ω x_t²) in every f_i; λ = weight, ω = shape."""
    losses = tuple(NonconvexLogistic(part.features, part.labels, weight, shape, ridge) for part in parts)
    return Problem(losses, regularizer or Zero(), "nonconvex_logistic", ridge)


def least_squares(parts: Sequence[Dataset], ridge: float = 0.0, regularizer: Regularizer | None = None) -> Problem:
    """Ridge regression or, with an `L1`, the lasso: each part is one agent's private data."""
    losses = tuple(LeastSquares(part.features, part.labels, ridge) for part in parts)
    name = "lasso" if isinstance(regularizer, L1) else "ridge"
    return Problem(losses, regularizer or Zero(), name, ridge)


def sensors(
    agents: int = 6,
    rows: int = 6,
    dimension: int = 10,
    divisor: float = DIVISOR,
    noise: float = 0.1,
    seed: int = 0,
) -> Problem:
    """[C]'s estimation: f_i(x) = ‖A_i x − b_i‖² / divisor, A_i (rows, dimension) of N(0, 1) entries.

    b_i = A_i x° + noise · N(0, 1) for one x° ~ N(0, I). Agent i has the rows from i · rows on of
    `load("sensors")`. With rows < dimension no single f_i is strongly convex.
    """
    count = whole(agents, "agents") * whole(rows, "rows")
    data = load("sensors", records=count, dimension=dimension, seed=seed, noise=noise)
    parts = [data.take(np.arange(i * rows, (i + 1) * rows)) for i in range(agents)]
    return build("sensors", parts, divisor=divisor)


def build(
    kind: str,
    parts: Sequence[Dataset],
    ridge: float = 0.0,
    l1: float = 0.0,
    *,
    nonconvex_weight: float = 0.001,
    nonconvex_shape: float = 1.0,
    divisor: float = DIVISOR,
) -> Problem:
    """What a scenario file names; r = l1 ‖x‖₁, and the ridge is a part of every f_i.

    "logistic" and "nonconvex_logistic" (λ and ω as named) with any l1, "ridge" (no l1), "lasso" (l1 > 0) and
    "sensors" (the sum of squares over the divisor, any l1). Anything else is a `ScenarioError`.
    """
    if kind not in get_args(Kind):
        raise unknown("kind", kind, get_args(Kind))
    regularizer = L1(l1) if nonnegative(l1, "l1") else None
    if kind == "logistic":
        return logistic(parts, ridge, regularizer)
    if kind == "nonconvex_logistic":
        try:
            return nonconvex_logistic(parts, nonconvex_weight, nonconvex_shape, ridge, regularizer)
        except ScenarioError as error:
            raise _named(error) from None
    if kind == "sensors":
        losses = tuple(LeastSquares(part.features, part.labels, ridge, divisor) for part in parts)
        return Problem(losses, regularizer or Zero(), "sensors", ridge)
    if (kind == "lasso") != (regularizer is not None):
        raise ScenarioError("l1", l1, f"not for kind = {kind!r}", "lasso with l1 > 0, ridge with l1 = 0")
    return least_squares(parts, ridge, regularizer)


def _named(error: ScenarioError) -> ScenarioError:
    """The loss's field by the name it has here."""
    field = {"weight": "nonconvex_weight", "shape": "nonconvex_shape"}.get(error.field, error.field)
    return ScenarioError(field, error.value, error.problem, error.allowed)


def scale_for(problem: Problem, smoothness: float) -> float:
    """c > 0 such that features c·a in place of a give max_i L_i = `smoothness`.

    The data's part of every L_i grows as c², that of the ridge and the nonconvex regularizer not at all. You get a
    `ScenarioError` for a smoothness that the public parts alone exceed, and for features that are all 0.
    """
    public = max(_public_smoothness(problem, index) for index in range(problem.agents))
    if not public < smoothness < np.inf:
        raise ScenarioError("smoothness", smoothness, "the public parts have as much", f"a number > {public:.6g}")
    if not problem.smoothness > public:
        raise ScenarioError("smoothness", smoothness, "the features are 0", "data with a feature that is not 0")
    return float(np.sqrt((smoothness - public) / (problem.smoothness - public)))


def _public_smoothness(problem: Problem, index: int) -> float:
    objective = problem.objectives[index]
    bending = 2 * objective.weight * objective.shape if isinstance(objective, NonconvexLogistic) else 0.0
    return problem.ridge + bending
