"""What a paper claims: a number, its theorem, and the adjacency it speaks of."""

import math
from dataclasses import dataclass
from typing import Self

from netsim.norms import Norm, factor


@dataclass(frozen=True)
class Adjacency:
    """Which pairs of private objectives count as adjacent.

    `gradient_change` bounds sup_x ‖∇f(x) − ∇f'(x)‖₂ over adjacent pairs f, f' of one agent; `relation` says in
    words what was changed ("one record of one agent replaced", "all data of one agent replaced"). `curvature_change`
    bounds sup_x of the sum of the positive eigenvalues of ∇²f(x) − ∇²f'(x), and of ∇²f'(x) − ∇²f(x): only objective
    perturbation asks for it. `constant`: the difference of the gradients is the same at every x. `norm` and `change`:
    the norm that the adjacency itself is stated in and its bound there (None: `gradient_change`, in ℓ2). `bending`:
    by how much the smoothness of f' may lie above that of f; claims are computed from an L that holds for both.
    """

    gradient_change: float
    relation: str
    curvature_change: float = math.inf
    constant: bool = False
    norm: Norm = "l2"
    change: float | None = None
    bending: float = 0.0

    @classmethod
    def within(
        cls, change: float, norm: Norm, dimension: int, relation: str, *, curvature: float | None = None
    ) -> Self:
        """‖∇f(x) − ∇f'(x)‖ ≤ `change` in `norm`, for all x.

        `curvature` bounds the one eigenvalue by which ∇²f' lies above ∇²f (`netsim.problems.Bent`); None: the
        difference of the gradients is constant. The ℓ2 bound is `change` for ℓ1 and ℓ2, √d·`change` for ℓ∞.
        """
        moved = factor(norm, "l2", dimension) * change
        return cls(moved, relation, curvature or 0.0, curvature is None, norm, change, curvature or 0.0)

    def in_norm(self, norm: Norm, dimension: int) -> float:
        """The least bound on sup_x ‖∇f − ∇f'‖ in `norm` that follows from the ℓ2 bound and from the stated one."""
        known = factor("l2", norm, dimension) * self.gradient_change
        if self.change is None:
            return known
        return min(known, factor(self.norm, norm, dimension) * self.change)


@dataclass(frozen=True)
class Claim:
    """epsilon_claimed as the formula gives it, or the conditions of the formula that fail.

    `epsilon` is None exactly where `failed_conditions` is not empty: a formula outside its own conditions has
    no value. `norm` is the one in which the theorem, or its noise, measures what is released; that of the gradients'
    change is `adjacency`'s.
    """

    epsilon: float | None
    delta: float
    source: str
    adjacency: Adjacency
    norm: str
    failed_conditions: tuple[str, ...] = ()
