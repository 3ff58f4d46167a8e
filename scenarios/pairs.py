"""Adjacent objectives of papers that bound how far a gradient may move: their bounds, and the pair by default."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from attacks.audit.audit import Pair
from netsim.arrays import Array
from netsim.claims import Adjacency
from netsim.errors import ScenarioError
from netsim.norms import SYMBOLS, Norm, length
from netsim.problems import Bent, Objective, Problem, Tilted
from netsim.problems.tilted import direction
from netsim.simulation import Simulation
from scenarios.schema.scenario import GradientChange

SHARE = 0.1
"""Of the largest L_i: the curvature that an adjacent objective may have more, where none is named."""
OFFSET = 2.0
"""The default pair's gradient moves by tanh 2, that is by 96 %, of what it may at the public x = 0."""


def adjacency_of(moved: GradientChange, problem: Problem) -> Adjacency:
    """Which pairs are adjacent. You get a `ScenarioError` for a curvature where the change is constant."""
    curvature = curvature_of(moved, problem)
    return Adjacency.within(moved.change, moved.norm, problem.dimension, _relation(moved), curvature=curvature)


def curvature_of(moved: GradientChange, problem: Problem) -> float | None:
    """By how much the Hessian of an adjacent objective may differ; None for a constant change."""
    if not moved.constant:
        return SHARE * problem.smoothness if moved.curvature is None else moved.curvature
    if moved.curvature is not None:
        why = "a constant change of the gradient leaves the Hessian as it is"
        raise ScenarioError("audit.adjacency.curvature", moved.curvature, why, "constant: false, or no curvature")
    return None


def _relation(moved: GradientChange) -> str:
    symbol = SYMBOLS[moved.norm]
    if moved.norm == "l2" and moved.constant:
        return "the gradient of one agent moved by a constant vector of at most this ℓ2 norm"
    how = "a constant vector" if moved.constant else "a vector that varies with x"
    return f"the gradient of one agent moved by {how} of at most {moved.change:.4g} in {symbol}"


def moved(agent: int, spec: GradientChange, problem: Problem, seed: int) -> Pair:
    """The agent's own objective, and the one whose gradient is moved in the direction that is asked for."""
    own = problem.objectives[agent]
    slope = spec.change * direction(spec.direction, own.dimension, seed, spec.norm)
    curvature = curvature_of(spec, problem)
    other: Objective = Tilted(own, slope) if curvature is None else Bent(own, slope, curvature, OFFSET)
    how = in_words(spec.direction, slope, other, spec.norm)
    return Pair(agent, (own, other), f"the gradient of agent {agent} {how}")


def in_words(words: str, slope: Array, other: Objective, norm: Norm) -> str:
    """How a gradient is moved, and its norms: "moved by a constant vector (even), ‖Δ∇f‖₂ = 1, ‖Δ∇f‖₁ = 3"."""
    bent = isinstance(other, Bent)
    how = f"a vector that varies with x ({words})" if bent else f"a constant vector ({words})"
    relation = "<" if bent else "="
    sizes = {"l2": ("‖Δ∇f‖₂", float(np.linalg.norm(slope))), "l1": ("‖Δ∇f‖₁", float(np.sum(np.abs(slope))))}
    if norm == "linf":
        sizes["linf"] = ("‖Δ∇f‖∞", float(length(slope, "linf")))
    return f"moved by {how}, " + ", ".join(f"{symbol} {relation} {size:.4g}" for symbol, size in sizes.values())


def check_both_worlds(pair: Pair | None, simulations: Iterable[tuple[str, Simulation]]) -> None:
    """A `ScenarioError` where an algorithm's conditions fail once the agent holds the bent objective."""
    if pair is None or not isinstance(pair.hypotheses[1], Bent):
        return
    other = pair.hypotheses[1]
    for name, simulation in simulations:
        try:
            replace(simulation, problem=simulation.problem.replace(pair.agent, other), spool=None)
        except ScenarioError as error:
            why = (
                f"with an adjacent objective that is bent as much, {name} is outside its conditions ({error.problem})"
            )
            raise ScenarioError(
                "audit.adjacency.curvature", other.curvature, why, f"less; or {error.field}: {error.allowed}"
            ) from None
