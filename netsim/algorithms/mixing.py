"""Conditions that algorithms which mix by W share, random W, and noise on the one vector that they send."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from netsim.algorithms.algorithm import InRounds, Setting
from netsim.algorithms.composition import Noisy
from netsim.arrays import Array
from netsim.bounds import Positive
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.node import Node

if TYPE_CHECKING:
    from netsim.topology import Topology

Matrix = Literal["mixing", "laplacian"]
"""A coupling of neighbors: I − W, or the graph's Laplacian."""


def largest_eigenvalue(matrix: Matrix, topology: "Topology") -> float:
    """λ_max of a coupling."""
    return topology.largest_laplacian_eigenvalue if matrix == "laplacian" else 1 - topology.least_eigenvalue


def tracking_step(smoothness: float, topology: "Topology | None") -> float:
    """(1 + λ_min(W))²/(2L): from this step on gradient tracking swings ever wider where every f_i is L/2 ‖x‖².

    On the eigenvector of λ_min the step of DIGing has the characteristic polynomial z² − (2λ − αL)z + λ² − αL, and
    both its roots lie inside the unit circle where 2αL < (1 + λ)². Agents whose curvatures differ may need less, or
    stand more. Without a topology: 2/L, one agent alone.
    """
    return 2 / smoothness if topology is None else (1 + topology.least_eigenvalue) ** 2 / (2 * smoothness)


def drawn_start(node: Node, largest: float) -> Array:
    """x_i⁰, the same in all replicas: each coordinate uniform on [0, largest] by the agent's private coins, or 0."""
    return node.zeros() + (largest * node.coins.random(node.dimension) if largest else 0.0)


def check_smooth(setting: Setting, name: str) -> None:
    """r = 0: the algorithm has no proximal step."""
    if setting.regularized:
        takes = "pg_extra, nids, d_admm, ic_admm, walkman, recal, …"
        allowed = f"r = 0 (neither problem.l1 nor problem.regularizer), or one that takes an r: {takes}"
        raise ScenarioError("", name, "has no proximal step, and the problem has r ≠ 0", allowed)


def check_below(field: str, value: float, bound: float, condition: str) -> None:
    """0 < value < bound; `condition` says so in the paper's letters."""
    if not 0 < value < bound:
        problem = "outside the convergence condition" if math.isfinite(bound) else "not a step"
        raise ScenarioError(field, value, problem, condition + (f" = {bound:.6g}" if math.isfinite(bound) else ""))


@dataclass(frozen=True)
class LaplaceInRounds(InRounds):
    """An algorithm in rounds whose summary says whether there is Laplace noise on what is sent."""

    @property
    def summary(self) -> str:
        return f"{super().summary.removesuffix('.')}, {'Laplace' if self.noisy else 'no'} noise on what is sent."


@dataclass(frozen=True)
class OneRelease(Noisy, InRounds):
    """An algorithm whose agents send one vector a round, with noise, in which a new gradient counts `step` times.

    With noise its claim is `Noisy.claim_by_frequency`; without, it claims nothing.
    """

    step: Positive
    """α, the step size."""

    @property
    def summary(self) -> str:
        return f"{super().summary.removesuffix('.')}, {self.noise_in_words} on what is sent."

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim | None:
        return self.claim_by_frequency(adjacency, setting, delta, self.step)
