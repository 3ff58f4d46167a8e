"""The whole problem, min_x Σ_i f_i(x) + n r(x), and its making from records by the kind of loss.

Only the experimenter sees it.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any, Literal, TypeAlias, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from netsim.arguments import check_types, checked
from netsim.arrays import Array, nonnegative, unknown, whole
from netsim.errors import ScenarioError
from netsim.models import MLP, ActivationName, Model, Penalty, Softmax
from netsim.models.model import L1, Regularizer, Zero
from netsim.problems.data import Dataset, load
from netsim.problems.losses import LeastSquares, LogisticLoss, NonconvexLogistic, PoissonLoss
from netsim.problems.minimizers import (
    DENSE,
    TOLERANCE,
    Optimum,
    minimizer,
    newton_cg,
    stationary_point,
    uncertainty,
)
from netsim.problems.modelled import Modelled
from netsim.problems.objective import Objective, weak_convexity
from netsim.shown import Shown

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Problem(Shown):
    """n private objectives f_i and one public regularizer r: F(x) + n r(x) with F = Σ_i f_i.

    `ridge` says, in public, which quadratic ridge/2 ‖x‖² every f_i contains; `name` the kind of its loss.
    """

    objectives: tuple[Objective, ...] = field(repr=False)
    regularizer: Regularizer = field(default_factory=Zero)
    name: str = "problem"
    ridge: float = 0.0

    __repr__ = Shown.__repr__

    def facts(self) -> dict[str, object]:
        least, most = min(self.records), max(self.records)
        return {
            "loss": self.name,
            "agents": self.agents,
            "dimension": self.dimension,
            "records of an agent": most if least == most else f"{least:,} to {most:,}",
            "ridge": self.ridge or None,
            "regularizer": self.regularizer if self.regularized else None,
        }

    def __post_init__(self) -> None:
        if isinstance(cast("object", self.objectives), Iterable) and not isinstance(self.objectives, str):
            object.__setattr__(self, "objectives", tuple(self.objectives))
        check_types(self)
        nonnegative(self.ridge, "ridge")
        if not self.objectives:
            raise ScenarioError("objectives", (), "no agent", "one objective or more")
        if len({objective.dimension for objective in self.distinct}) > 1:
            dimensions = [objective.dimension for objective in self.objectives]
            raise ScenarioError("objectives", dimensions, "dimensions differ", "one dimension for all agents")

    @property
    def agents(self) -> int:
        """n."""
        return len(self.objectives)

    @property
    def dimension(self) -> int:
        """d."""
        return self.objectives[0].dimension

    @cached_property
    def distinct(self) -> tuple[Objective, ...]:
        """The objectives without those that are one object with an earlier one."""
        return _distinct(self.objectives)

    def of_each(self, fact: Callable[[Objective], T]) -> tuple[T, ...]:
        """A fact of every objective, by agent; computed once for agents who share an object."""
        known = {id(objective): fact(objective) for objective in self.distinct}
        return tuple(map(known.__getitem__, map(id, self.objectives)))

    def _of_all(self, found: Callable[[Objective], Array]) -> Iterable[Array]:
        """An array of every objective, one after the other; or those of few objects that many agents share."""
        return map(found, self.objectives) if len(self.distinct) == self.agents else self.of_each(found)

    @cached_property
    def records(self) -> tuple[int, ...]:
        """How many records each agent has, public; 1 for an objective that is no mean over records."""
        return self.of_each(lambda objective: int(getattr(objective, "records", 1)))

    @cached_property
    def model(self) -> Model | None:
        """The loss of a record, public; None where agents have several, or one that is no mean over records."""
        models = {getattr(objective, "model", None) for objective in self.distinct}
        return models.pop() if len(models) == 1 else None

    @cached_property
    def penalty(self) -> Penalty:
        """What every f_i adds to its mean loss, public."""
        return getattr(self.objectives[0], "penalty", Penalty(self.ridge))

    @property
    def regularized(self) -> bool:
        """Whether r ≠ 0."""
        return not isinstance(self.regularizer, Zero)

    @property
    def smoothness(self) -> float:
        """max_i L_i."""
        return max(objective.smoothness for objective in self.distinct)

    @property
    def strong_convexity(self) -> float:
        """min_i μ_i."""
        return min(objective.strong_convexity for objective in self.distinct)

    def value(self, x: Array) -> Array:
        """F(x) + n r(x), shape (replicas,)."""
        return sum(self._of_all(lambda f: f.value(x)), start=self.agents * self.regularizer.value(x))

    def mean_gradient(self, x: Array) -> Array:
        """∇F(x) / n, shape (replicas, dimension)."""
        return sum(self._of_all(lambda f: f.gradient(x)), start=np.zeros_like(x)) / self.agents

    def residual(self, x: Array) -> Array:
        """‖x − prox_r(x − ∇F(x)/n)‖∞ at step 1, shape (replicas,): 0 at a minimizer, and nowhere else."""
        ahead = self.regularizer.proximal(x - self.mean_gradient(x), 1.0)
        return np.abs(x - ahead).max(axis=1)

    def replace(self, agent: int, objective: Objective) -> "Problem":
        """The world in which this agent holds another objective: adjacent, if the two objectives are."""
        agent = whole(agent, "agent", 0, self.agents - 1)
        return dataclasses.replace(
            self, objectives=(*self.objectives[:agent], objective, *self.objectives[agent + 1 :])
        )

    @property
    def convex(self) -> bool:
        """Whether every f_i is known to be convex."""
        return not any(weak_convexity(objective) for objective in self.distinct)

    def optimum(self) -> Optimum:
        """The minimizer, its residual at most 1e-12, found once.

        Where some f_i is not convex it is a stationary point to which descent from x = 0 leads, and it says so
        (`Optimum.stationary_only`): nobody can promise that it is the global minimizer. For networks it need not even
        be stationary, but is where 200 iterations of L-BFGS lead: its `residual` says how near.
        `ScenarioError` if there is none (separable classes and no ridge), or none to this precision.
        """
        return self._optimum

    @cached_property
    def _optimum(self) -> Optimum:
        with np.errstate(over="ignore", invalid="ignore"):  # it is an error, if it is one, of its own words
            return self._found()

    def _found(self) -> Optimum:
        start, remedy = np.zeros((1, self.dimension)), "a ridge > 0, or features of moderate scale"
        if max(map(weak_convexity, self.distinct)) == inf:
            if self.regularized:
                allowed = "r = 0, or a ridge"
                raise ScenarioError("regularizer", self.regularizer, "losses without a bound on curvature", allowed)
            return self._noted(self._descended(start), stationary_only=True)
        if self.dimension > DENSE and all(isinstance(f, Modelled) for f in self.objectives):
            return self._large_optimum(start)
        facts = (self.mean_gradient, self._mean_hessian, self.smoothness, self.regularizer, start)
        x = minimizer(*facts) if self.convex else stationary_point(self.value, *facts)
        reached = uncertainty(self.mean_gradient, self.regularizer, x)
        if not reached <= TOLERANCE:
            raise ScenarioError("problem", self.name, f"its optimum is known to {reached:.1e} only", remedy)
        if not self.regularized:  # on separable classes every further Newton step goes on outwards
            inverse = np.linalg.pinv(self._mean_hessian(x), rcond=1e-10, hermitian=True)
            if not np.linalg.norm(inverse @ self.mean_gradient(x)[0]) <= 1e-3 * (1 + np.linalg.norm(x)):
                raise ScenarioError("problem", self.name, "its infimum is not attained at any finite x", remedy)
        return self._noted(x, stationary_only=not self.convex)

    def _descended(self, start: Array) -> Array:
        """Where 200 iterations of L-BFGS lead, for losses that need be neither convex nor bounded in curvature:
        nothing is promised of the point but that the value is lower there."""
        from scipy.optimize import minimize  # takes its time to load

        def both(x: Array) -> tuple[float, Array]:
            return float(self.value(x[None])[0]), self.mean_gradient(x[None])[0]

        options = {"maxiter": 200, "ftol": 0.0, "gtol": 1e-12, "maxcor": 20}
        found = cast(Any, minimize)(both, start[0], jac=True, method="L-BFGS-B", options=options)
        return np.asarray(found.x, dtype=np.float64)[None]

    def _large_optimum(self, start: Array) -> Optimum:
        """Without a Hessian, from its products: for a strongly convex F, and r = 0."""
        products = [f.product for f in self.objectives if isinstance(f, Modelled)]
        if self.regularized or not self.strong_convexity:
            allowed = f"a ridge > 0 and no l1, or at most {DENSE} coordinates"
            raise ScenarioError(
                "problem", self.name, f"no optimum is sought in {self.dimension} coordinates", allowed
            )

        def product(x: Array, v: Array) -> Array:
            return sum((f(x, v) for f in products), start=np.zeros_like(x)) / self.agents

        x = newton_cg(self.mean_gradient, product, start, TOLERANCE / 10)
        if not (reached := uncertainty(self.mean_gradient, self.regularizer, x)) <= TOLERANCE:
            allowed = "a larger ridge"
            raise ScenarioError("problem", self.name, f"its optimum is known to {reached:.1e} only", allowed)
        return self._noted(x, stationary_only=False)

    def _noted(self, x: Array, *, stationary_only: bool) -> Optimum:
        x.setflags(write=False)
        return Optimum(x[0], float(self.value(x)[0]), float(self.residual(x)[0]), stationary_only)

    def _mean_hessian(self, x: Array) -> Array:
        """∇²F / n at x of shape (1, dimension)."""
        start = np.zeros((self.dimension, self.dimension))
        return sum(self._of_all(lambda f: f.hessian(x[0])), start=start) / self.agents


# ── all gradients at once ───────────────────────────────────────────────────────────────────────────────
MANY = 1024
"""Of so many numbers an objective calls are one after the other: they stay in the processor's cache."""
Gradients: TypeAlias = Callable[[Array], Array]
"""x (agents, replicas, dimension) ↦ ∇f_i(x_i), the same shape."""


def _distinct(objectives: Sequence[Objective]) -> tuple[Objective, ...]:
    """Without those that are one object with an earlier one."""
    return tuple({id(objective): objective for objective in objectives}.values())


def stacked_gradients(objectives: Sequence[Objective]) -> Gradients:
    """Every objective's own gradient at its own x, bit for bit as in a call of its own. PRIVATE, as they are.

    Least squares and logistic losses of equally many records are one batched expression, whose inner sums run as in
    a call of its own. Others are called one after the other.
    """
    distinct = _distinct(objectives)
    number = {id(f): k for k, f in enumerate(distinct)}
    which = np.fromiter(map(number.__getitem__, map(id, objectives)), np.int64, len(objectives))
    alike, others = dict[tuple[type[LeastSquares | LogisticLoss], int], list[int]](), list[int]()
    for i, f in enumerate(distinct):
        if type(f) is LeastSquares or type(f) is LogisticLoss:
            alike.setdefault((type(f), f.records), []).append(i)
        else:
            others.append(i)

    def owners(of: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        agents = np.flatnonzero(np.isin(which, of))
        return agents, np.searchsorted(of, which[agents])

    places: list[tuple[NDArray[np.int64], Gradients]] = []
    for (kind, _), of in alike.items():
        who, place = owners(of)
        losses: Any = [distinct[i] for i in of]
        places.append((who, kind.stacked(losses, place)))
    if others:
        who, place = owners(others)
        own: list[Objective] = [distinct[others[k]] for k in place.tolist()]
        places.append((who, lambda x: np.array([f.gradient(x[k]) for k, f in enumerate(own)])))

    def each(x: Array) -> Array:
        if x[0].size >= MANY:
            return np.array([f.gradient(own) for f, own in zip(objectives, x, strict=True)])
        if len(places) == 1:
            return places[0][1](x)
        found = np.empty_like(x)
        for who, gradients in places:
            found[who] = gradients(x[who])
        return found

    return each


# ── from records ────────────────────────────────────────────────────────────────────────────────────────
Kind = Literal["logistic", "ridge", "lasso", "nonconvex_logistic", "poisson", "sensors", "softmax", "mlp"]
_DIVISOR = 36.0
"""Chosen. [C] prints f(x) = (1/6) Σ ‖A_i x − b_i‖², and says nothing of a further divisor in f_i."""


@checked
def logistic(
    parts: Sequence[Dataset], ridge: float = 0.0, regularizer: Regularizer | None = None, scale: float = 1.0
) -> Problem:
    """Logistic regression: each part, with labels ±1, is one agent's private data; `scale` times the mean loss."""
    losses = tuple(LogisticLoss(part.features, part.labels, ridge, scale) for part in parts)
    return Problem(losses, regularizer or Zero(), "logistic", ridge)


@checked
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


@checked
def poisson(
    parts: Sequence[Dataset], largest_rate: float, ridge: float = 0.0, regularizer: Regularizer | None = None
) -> Problem:
    """Poisson regression of counts; L is meant where no mean exceeds the rate (`PoissonLoss`)."""
    losses = tuple(PoissonLoss(part.features, part.labels, ridge, largest_rate) for part in parts)
    return Problem(losses, regularizer or Zero(), "poisson", ridge)


@checked
def softmax(parts: Sequence[Dataset], ridge: float = 0.0, regularizer: Regularizer | None = None) -> Problem:
    """Softmax regression with an intercept, x = (W row by row, b): each part is one agent's private data.

    The ridge is on W and b. Labels are as `Dataset.class_numbers` counts them.
    """
    model = Softmax(*_width_and_classes(parts))
    return Problem(_modelled(parts, model, ridge), regularizer or Zero(), "softmax", ridge)


@checked
def mlp(
    parts: Sequence[Dataset],
    hidden: Sequence[int] = (32,),
    activation: ActivationName = "sigmoid",
    ridge: float = 0.0,
    start: int = 0,
) -> Problem:
    """A dense network with a softmax output: each part is one agent's private data.

    Parameters are counted from a public random start, drawn by the seed `start` (`netsim.models.MLP.origin`): where
    an algorithm starts from x = 0, the network starts there. The ridge draws towards the start too. Not convex; its
    `smoothness` is a measured one (`Modelled.smoothness`), it has no proximal map, and no r.
    """
    width, classes = _width_and_classes(parts)
    try:
        model = MLP((width, *hidden, classes), activation, start)
    except ScenarioError as error:
        raise _named(error) from None
    return Problem(_modelled(parts, model, ridge), Zero(), "mlp", ridge)


def _width_and_classes(parts: Sequence[Dataset]) -> tuple[int, int]:
    counts = {part.class_count for part in parts}
    if len(counts) != 1 or not (count := parts[0].class_count):
        raise ScenarioError("data", parts[0].name, "real targets, or unlike classes", "data of two classes or more")
    return parts[0].dimension, count


def _modelled(parts: Sequence[Dataset], model: Softmax | MLP, ridge: float) -> tuple[Modelled, ...]:
    penalty = Penalty(nonnegative(ridge, "ridge"))
    return tuple(Modelled(part.features, part.class_numbers, model, penalty) for part in parts)


@checked
def least_squares(
    parts: Sequence[Dataset], ridge: float = 0.0, regularizer: Regularizer | None = None, scale: float = 1.0
) -> Problem:
    """Ridge regression or, with an `L1`, the lasso: each part is one agent's private data; `scale` times half the
    mean square."""
    divisors = [None if scale == 1 else 2 * part.records / scale for part in parts]
    losses = tuple(
        LeastSquares(part.features, part.labels, ridge, divisor)
        for part, divisor in zip(parts, divisors, strict=True)
    )
    name = "lasso" if isinstance(regularizer, L1) else "ridge"
    return Problem(losses, regularizer or Zero(), name, ridge)


@checked
def sensors(
    agents: int = 6,
    rows: int = 6,
    dimension: int = 10,
    divisor: float = _DIVISOR,
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


@checked
def build(
    kind: str,
    parts: Sequence[Dataset],
    ridge: float = 0.0,
    l1: float = 0.0,
    *,
    nonconvex_weight: float = 0.001,
    nonconvex_shape: float = 1.0,
    divisor: float = _DIVISOR,
    largest_rate: float | None = None,
    hidden: Sequence[int] = (32,),
    activation: ActivationName = "sigmoid",
    start: int = 0,
    regularizer: Regularizer | None = None,
    scale: float = 1.0,
) -> Problem:
    """What a scenario file names; r = l1 ‖x‖₁ or the regularizer, and the ridge is a part of every f_i. All f_i and r
    are multiplied by the `scale`, in "logistic", "ridge" and "lasso".

    "logistic" and "nonconvex_logistic" (λ and ω as named) with any r, "ridge" (no l1), "lasso" (l1 > 0), "poisson"
    (a `largest_rate`, any r), "sensors" (the sum of squares over the divisor, any r), "softmax" (any r) and "mlp" (no
    r; `hidden` units, `activation` and `start` as named). Anything else is a `ScenarioError`.
    """
    if kind not in get_args(Kind):
        raise unknown("kind", kind, get_args(Kind))
    if not parts:
        raise ScenarioError("parts", (), "no agent has data", "data.split(5), one part for each agent")
    if not 0 < scale < np.inf:
        raise ScenarioError("scale", scale, "not positive and finite", "a number > 0")
    if scale != 1 and (regularizer is not None or kind not in ("logistic", "ridge", "lasso")):
        what = f"kind = {kind!r}" if regularizer is None else "another regularizer than l1"
        raise ScenarioError("scale", scale, f"not for {what}", "1")
    ridge, l1 = scale * ridge, scale * l1
    if nonnegative(l1, "l1"):
        if regularizer is not None:
            raise ScenarioError("regularizer", regularizer, "beside an l1 > 0", "one of the two")
        regularizer = L1(l1)
    if kind == "mlp":
        if regularizer is not None:
            field, value = ("l1", l1) if l1 else ("regularizer", regularizer)
            raise ScenarioError(field, value, "a network has no proximal map to go with it", "none, and a ridge")
        return mlp(parts, hidden, activation, ridge, start)
    if kind == "poisson":
        if largest_rate is None:
            why = "the gradient of a Poisson loss has no Lipschitz constant"
            raise ScenarioError("largest_rate", None, why, "the largest mean count at which conditions are to hold")
        return poisson(parts, largest_rate, ridge, regularizer)
    if kind == "softmax":
        return softmax(parts, ridge, regularizer)
    if kind.endswith("logistic") and parts[0].class_count != 2:
        why = f"a logistic loss is of two classes, and {parts[0].name} has {parts[0].class_count or 'real targets'}"
        raise ScenarioError("kind", kind, why, "softmax, mlp, or data of two classes")
    if kind == "logistic":
        return logistic(parts, ridge, regularizer, scale)
    if kind == "nonconvex_logistic":
        try:
            return nonconvex_logistic(parts, nonconvex_weight, nonconvex_shape, ridge, regularizer)
        except ScenarioError as error:
            raise _named(error) from None
    if kind == "sensors":
        losses = tuple(LeastSquares(part.features, part.labels, ridge, divisor) for part in parts)
        return Problem(losses, regularizer or Zero(), "sensors", ridge)
    if (kind == "lasso") != isinstance(regularizer, L1):
        raise ScenarioError("l1", l1, f"not for kind = {kind!r}", "lasso with l1 > 0, ridge with l1 = 0")
    return least_squares(parts, ridge, regularizer, scale)


def _named(error: ScenarioError) -> ScenarioError:
    """The loss's field by the name it has here."""
    names = {"weight": "nonconvex_weight", "shape": "nonconvex_shape", "seed": "start"}
    field = names.get(error.field, error.field)
    if field.startswith("widths["):
        field = f"hidden[{int(field[7:-1]) - 1}]"
    return ScenarioError("hidden" if field == "widths" else field, error.value, error.problem, error.allowed)


def scale_for(problem: Problem, smoothness: float) -> float:
    """c > 0 such that features c·a in place of a give max_i L_i = `smoothness`.

    The data's part of every L_i grows as c², that of the ridge and the nonconvex regularizer not at all. You get a
    `ScenarioError` for a smoothness that the public parts alone exceed, and for features that are all 0. The
    intercept of a softmax is not scaled, so that c is sought; a network has no L to ask for.
    """
    if any(isinstance(f, Modelled) and not f.convex for f in problem.objectives):
        raise ScenarioError("smoothness", smoothness, "a network's gradient has no Lipschitz constant", "none")
    if modelled := [f for f in problem.objectives if isinstance(f, Modelled)]:
        return _scale_found(modelled, smoothness)
    bent = [f for f in problem.objectives if isinstance(f, NonconvexLogistic)]
    public = problem.ridge + max((2 * f.weight * f.shape for f in bent), default=0.0)
    if not public < smoothness < np.inf:
        raise ScenarioError("smoothness", smoothness, "the public parts have as much", f"a number > {public:.6g}")
    if not problem.smoothness > public:
        raise ScenarioError("smoothness", smoothness, "the features are 0", "data with a feature that is not 0")
    return float(np.sqrt((smoothness - public) / (problem.smoothness - public)))


def _scale_found(modelled: list[Modelled], smoothness: float) -> float:
    """The factor c for models with an intercept, where L_i grows with c but not as c²."""

    def excess(factor: float) -> float:
        return max(f.with_records(factor * f.features, f.labels).smoothness for f in modelled) - smoothness

    if not excess(0.0) < 0 or smoothness == np.inf:
        least = excess(0.0) + smoothness
        raise ScenarioError("smoothness", smoothness, "the public parts have as much", f"a number > {least:.6g}")
    if not any(f.features.any() for f in modelled):
        raise ScenarioError("smoothness", smoothness, "the features are 0", "data with a feature that is not 0")
    above = 1.0
    while excess(above) < 0:
        above *= 2
    from scipy.optimize import brentq  # takes its time to load

    return float(brentq(excess, 0.0, above, xtol=1e-15, rtol=1e-14))
