"""Privacy claims of papers: the number, its theorem, adjacency and norm, and clipping to a norm bound."""

import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import Literal, Self, cast

import numpy as np

from netsim.arguments import check_types, expect
from netsim.arrays import Array
from netsim.bounds import Positive
from netsim.errors import ScenarioError

Norm = Literal["l1", "l2", "linf"]
ORDERS: dict[Norm, float] = {"l1": 1.0, "l2": 2.0, "linf": float("inf")}
UNCLAIMED = "no ε is claimed of it"
"""The failed condition of what stands in place of a claim where none is made."""
SYMBOLS: dict[Norm, str] = {"l1": "ℓ1", "l2": "ℓ2", "linf": "ℓ∞"}
BY_HAND = "no norm of its own"
"""Of a number that is claimed by hand: it is of the pairs that are adjacent, whatever the noise."""
STATED = (*ORDERS, *SYMBOLS.values(), "ℓ1 = ℓ2", BY_HAND)
"""Norms of claims, in either spelling; the two are the same for one number."""
_NAMES = {symbol: name for name, symbol in SYMBOLS.items()}


def length(v: Array, norm: Norm) -> Array:
    """‖v‖ of each row of v, (…, dimension); shape (…)."""
    return np.asarray(np.linalg.norm(v, ord=ORDERS[norm], axis=-1))


def _factor(known: Norm, wanted: Norm, dimension: int) -> float:
    """The least c with ‖v‖_wanted ≤ c‖v‖_known for all v of this dimension d.

    It is d^{1/q − 1/p} for ‖·‖_q wanted and ‖·‖_p known with q < p, else 1.
    """
    power = 1 / ORDERS[wanted] - 1 / ORDERS[known]
    return float(np.sqrt(dimension)) if power == 0.5 else float(dimension) if power == 1 else 1.0


@dataclass(frozen=True)
class Adjacency:
    """Which pairs of private objectives count as adjacent.

    `gradient_change` bounds sup_x ‖∇f(x) − ∇f'(x)‖₂ over adjacent pairs f, f' of one agent; `relation` says in
    words what was changed ("one record of one agent replaced", "all data of one agent replaced"). `curvature_change`
    bounds sup_x of the sum of the positive eigenvalues of ∇²f(x) − ∇²f'(x), and of ∇²f'(x) − ∇²f(x): only objective
    perturbation asks for it. `constant`: the difference of the gradients is the same at every x. `norm` and `change`:
    the norm that the adjacency itself is stated in and its bound there (None: `gradient_change`, in ℓ2). `bending`:
    by how much the smoothness of f' may lie above that of f; claims are computed from an L that holds for both.
    `record`: one record of the agent differs, so that the gradient of a batch without it is the same in both worlds.
    `fewest`: the bounds are those of an agent whose mean is over so few records, and of one with more a record moves
    less, in proportion (`at`); None: they are the same of every agent.
    """

    gradient_change: float
    relation: str
    curvature_change: float = math.inf
    constant: bool = False
    norm: Norm = "l2"
    change: float | None = None
    bending: float = 0.0
    record: bool = False
    fewest: int | None = None

    def __post_init__(self) -> None:
        check_types(self)
        if not self.gradient_change >= 0:
            raise ScenarioError("gradient_change", self.gradient_change, "not a bound on a norm", "a number >= 0")
        if self.fewest is not None and (self.fewest < 1 or self.change is not None):
            allowed = ">= 1, or None where a change is stated"
            raise ScenarioError("fewest", self.fewest, "no number of records that bounds are of", allowed)

    @classmethod
    def within(
        cls, change: float, norm: Norm, dimension: int, relation: str, *, curvature: float | None = None
    ) -> Self:
        """‖∇f(x) − ∇f'(x)‖ ≤ `change` in `norm`, for all x.

        `curvature` bounds the one eigenvalue by which ∇²f' lies above ∇²f (`netsim.problems.Bent`); None: the
        difference of the gradients is constant. The ℓ2 bound is `change` for ℓ1 and ℓ2, √d·`change` for ℓ∞.
        """
        expect(norm, "norm", Norm)
        expect(change, "change", float)
        moved = _factor(norm, "l2", dimension) * change
        return cls(moved, relation, curvature or 0.0, curvature is None, norm, change, curvature or 0.0)

    def in_norm(self, norm: Norm, dimension: int) -> float:
        """The least bound on sup_x ‖∇f − ∇f'‖ in `norm` that follows from the ℓ2 bound and from the stated one."""
        known = _factor("l2", norm, dimension) * self.gradient_change
        if self.change is None:
            return known
        return min(known, _factor(self.norm, norm, dimension) * self.change)

    def at(self, records: int) -> Self:
        """The pairs of one agent, which has so many records."""
        if self.fewest is None or records <= self.fewest:
            return self
        share = self.fewest / records
        bounds = {"gradient_change": share * self.gradient_change, "curvature_change": share * self.curvature_change}
        return replace(self, **bounds, fewest=None)

    def allows(self, other: "Adjacency", dimension: int) -> bool:
        """Whether no bound of this one is below that of the other, but for rounding, at any agent, and it is not of a
        record where the other is of all of them."""
        ours, theirs = (
            (one.curvature_change, one.bending, *(one.in_norm(norm, dimension) for norm in ORDERS))
            for one in (self, other)
        )
        as_few = self.fewest is None or (other.fewest is not None and self.fewest >= other.fewest)
        as_few = as_few and self.record <= other.record
        return as_few and all(a >= b * (1 - 1e-9) for a, b in zip(ours, theirs, strict=True))


@dataclass(frozen=True)
class Standpoint:
    """From where the data of agent `victim` are looked at: by the agents `listeners` together, honest but curious,
    who know their own data and noise and all that they receive. `listeners` is sorted and does not hold `victim`."""

    victim: int
    listeners: tuple[int, ...]


@dataclass(frozen=True)
class Claim:
    """epsilon_claimed as the formula gives it, or the conditions of the formula that fail.

    `epsilon` is None exactly where `failed_conditions` is not empty: a formula outside its own conditions has no
    value. `waived_conditions` are stated by the theorem too and fail, but its proof does not need them, as each says:
    the formula keeps its value. `norm`, one of `STATED`, is the one in which the theorem, or its noise, measures what
    is released, and is kept as a symbol, "ℓ1" for "l1"; that of the gradients' change is `adjacency`'s. `coins`:
    whether it holds for who knows the agents' private coins, or may count on their being secret (a batch that nobody
    knows): an audit prices both, and judges by that one. `standpoint`: the only listeners that it is about
    (`Algorithm.claim_from`); None: any, also at the agent's door. Numbers may be NumPy's: they are kept as Python's.
    You get a `ScenarioError` for what an author may have written in place of a number, a text or the adjacency.
    """

    epsilon: float | None
    delta: float
    source: str
    adjacency: Adjacency
    norm: str
    failed_conditions: tuple[str, ...] = ()
    waived_conditions: tuple[str, ...] = ()
    coins: Literal["known", "secret"] = "secret"
    standpoint: Standpoint | None = None

    def __post_init__(self) -> None:
        if not isinstance(cast(object, self.adjacency), Adjacency):
            raise ScenarioError("adjacency", self.adjacency, "not an adjacency", "the one that `claim` is handed")
        if self.epsilon is not None and not (isinstance(self.epsilon, Real) and self.epsilon >= 0):
            raise ScenarioError("epsilon", self.epsilon, "not an ε", "a number >= 0, or None where a condition fails")
        if self.epsilon is None and not self.failed_conditions:
            allowed = "a number >= 0, or failed_conditions=('which one fails',)"
            raise ScenarioError("epsilon", None, "no ε, and no condition that fails", allowed)
        if not (isinstance(self.delta, Real) and 0 <= self.delta <= 1):
            raise ScenarioError("delta", self.delta, "not a probability", "from 0 to 1")
        if not isinstance(cast(object, self.source), str):
            raise ScenarioError("source", self.source, "no text", "a text, such as 'Theorem 1'")
        if self.norm not in STATED:
            raise ScenarioError("norm", self.norm, "no norm of a claim", f"l1, l2, linf, or {', '.join(STATED[3:])}")
        check_types(self)
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", float(self.epsilon))  # verdicts are compared with it, and written
        object.__setattr__(self, "delta", float(self.delta))
        object.__setattr__(self, "source", str(self.source))
        object.__setattr__(self, "norm", SYMBOLS.get(cast("Norm", self.norm), self.norm))  # two are compared by it


@dataclass(frozen=True)
class Clip:
    """v ↦ v·min(1, bound/‖v‖) per replica, in ℓ1, ℓ2 or ℓ∞.

    In ℓ∞ too the whole vector is scaled and keeps its direction; cutting each coordinate to [−bound, bound] by itself
    has the same bounds, but turns the vector. The norm of what comes out is at most `bound` up to rounding. You get a
    `ScenarioError` for a bound that is not positive and finite, or another norm.
    """

    bound: Positive
    """The largest norm that is left."""
    norm: Norm = "l1"
    """The norm."""

    def __post_init__(self) -> None:
        expect(self.bound, "bound", float)
        if not 0 < self.bound < math.inf:
            why = "no number" if math.isnan(self.bound) else "clips nothing" if self.bound > 0 else "leaves nothing"
            raise ScenarioError("bound", self.bound, f"{why}: no bound on a norm", "> 0 and finite")
        if cast("object", self.norm) in tuple(_NAMES):  # as claims spell it
            object.__setattr__(self, "norm", _NAMES[self.norm])
        if cast("object", self.norm) not in tuple(ORDERS):
            raise ScenarioError("norm", self.norm, "no norm to clip in", ", ".join(ORDERS))

    def __call__(self, v: Array) -> Array:
        norm = np.linalg.norm(v, ord=ORDERS[self.norm], axis=-1, keepdims=True)
        return v * (self.bound / np.maximum(norm, self.bound))

    def l1_bound(self, dimension: int) -> float:
        """The largest ℓ1 norm of a clipped vector: C, √d·C or d·C."""
        return {"l1": 1.0, "l2": math.sqrt(dimension), "linf": float(dimension)}[self.norm] * self.bound

    def l2_bound(self, dimension: int) -> float:
        """The largest ℓ2 norm of a clipped vector: C, C or √d·C."""
        return math.sqrt(dimension) * self.bound if self.norm == "linf" else self.bound
