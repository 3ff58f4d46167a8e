"""What a paper claims: a number, its theorem, and the adjacency it speaks of."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Adjacency:
    """Which pairs of private objectives count as adjacent.

    `gradient_change` bounds sup_x ‖∇f(x) − ∇f'(x)‖₂ over adjacent pairs f, f' of one agent; `relation` says in
    words what was changed ("one record of one agent replaced", "all data of one agent replaced"). `curvature_change`
    bounds sup_x of the sum of the positive eigenvalues of ∇²f(x) − ∇²f'(x), and of ∇²f'(x) − ∇²f(x): only objective
    perturbation asks for it. `constant`: the difference of the gradients is the same at every x.
    """

    gradient_change: float
    relation: str
    curvature_change: float = math.inf
    constant: bool = False


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
