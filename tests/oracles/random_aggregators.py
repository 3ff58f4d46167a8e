"""Xiao's private ADMM with random penalties (thesis, Algorithm 1) and Algorithms 2 and 2*, in stacked NumPy.

Algorithm 1. All agents know the common start x⁰; λ⁰ = 0. In round k, θ_i ~ U(0, 1) fresh for every agent and
coordinate (the random penalty is Γ = θD):

    x_i⁺ = θ_i∘x_i + (1 − θ_i)∘mean_{j∈N_i} x_j − (∇f_i(x_i) − λ_i)/D_i + noise_i,   noise ~ Lap(1/β_k), β_k = 1.02^k
    send x_i⁺ to the neighbors; after the exchange λ_i⁺ = λ_i + ζ Σ_{j∈N_i} (x_j⁺ − x_i⁺)

x_i is itself the last noisy release: state and message are one. The mean excludes i. The sign of the dual is
the one that converges (the printed one diverges). Law: Σ_i λ_i = 0 under noise.

Algorithm 2. Given: 2K groups used once each, which needs N ≥ 2K. Inferred: all the rest. Everybody hears
everybody. Agent order[m] is in group m mod 2K. The references a, b start at a public (2, d) pair. In round
k = 0, …, K − 1 only the groups 2k and 2k + 1 act, every agent once in its life:

    m = (a + b)/2                                                         public
    x_i = θ_i∘a + (1 − θ_i)∘b − α_k ∇f_i(m) + noise_i                     broadcast
    a⁺ = mean of x_i over group 2k,  b⁺ = mean of x_i over group 2k + 1

and the output is (a + b)/2 after round K − 1. The gradient is at the public m, not at the random mean, so that
the release is exactly a uniform point of the box between a and b, shifted, plus Laplace noise.

Algorithm 2*. Given: each coordinate uniform between the smallest and the largest neighbor value. Inferred: all
agents act in all rounds, on any graph, and the agent itself counts among its neighbors:

    lo_i, hi_i = least and greatest x_j, per coordinate, over j ∈ N_i ∪ {i}
    x_i⁺ = lo_i + θ_i∘(hi_i − lo_i) − α_k ∇f_i(x_i) + noise_i;  send x_i⁺

with a common public start. With pairs (j, l) of N_i ∪ {i}, as in Appendix C and Fig. 3-2, x_i⁺ = W_i x −
α_k ∇f_i(m_i) + noise_i, m_i the mean over N_i ∪ {i}; W_i has 2θ/(d_i + 1) at j, 2(1 − θ)/(d_i + 1) at l, and
1/(d_i + 1) at the others.
In all of them the arrays of θ are passed in.
"""

from collections.abc import Sequence

import numpy as np

from netsim.topology import Topology
from tests.oracles.shapes import Array, Gradients, History, Noise, differences, drawn, edges_of, stacked


def random_penalty_admm(
    gradients: Gradients, adjacency: Array, thetas: Array, penalty: float | Sequence[float], dual_step: float,
    start: Array, noise: Noise = None,
) -> History:  # fmt: skip
    """Algorithm 1 for len(thetas) rounds from the common `start` (d,).

    `thetas` is (rounds, n, d), `penalty` is D, or D_i of each agent, `dual_step` is ζ, `noise` (rounds, n, d).

    Keys: x and dual (rounds + 1, n, d), index 0 the start; x[k + 1] is what round k sends.
    """
    A = edges_of(adjacency)
    rounds, n, d = thetas.shape
    added = drawn(noise, (rounds, n, d))
    own = np.broadcast_to(penalty, n)[:, None]
    x = np.empty((rounds + 1, n, d))
    lam = np.zeros((rounds + 1, n, d))
    x[0] = start
    for k in range(rounds):
        mean = (A @ x[k]) / A.sum(axis=1)[:, None]
        blend = thetas[k] * x[k] + (1 - thetas[k]) * mean
        x[k + 1] = blend - (stacked(gradients, x[k]) - lam[k]) / own + added[k]
        lam[k + 1] = lam[k] - dual_step * differences(A, x[k + 1])
    return {"x": x, "dual": lam}


def grouped_descent(
    gradients: Gradients, order: Sequence[int], steps: Sequence[float], start: Array, thetas: Array,
    noise: Noise = None,
) -> History:  # fmt: skip
    """Algorithm 2 with K = len(steps) rounds; `order` is a permutation of the n agents, `start` the pair (2, d).

    `thetas` and `noise` are (n, d): an agent acts once.

    Keys: released (n, d), x_i by agent; references (K + 1, 2, d), a and b; output (d,).
    """
    rounds, n, d = len(steps), len(gradients), start.shape[1]
    if sorted(order) != list(range(n)) or n < 2 * rounds:
        raise ValueError(f"{n} agents in the order {list(order)} cannot fill {2 * rounds} groups")
    added = drawn(noise, (n, d))
    groups = [[order[m] for m in range(n) if m % (2 * rounds) == g] for g in range(2 * rounds)]
    released = np.full((n, d), np.nan)
    references = np.empty((rounds + 1, 2, d))
    references[0] = start
    for k in range(rounds):
        a, b = references[k]
        middle = (a + b) / 2
        for side in (0, 1):
            for i in groups[2 * k + side]:
                blend = thetas[i] * a + (1 - thetas[i]) * b
                released[i] = blend - steps[k] * gradients[i](middle.copy()) + added[i]
            references[k + 1, side] = released[groups[2 * k + side]].mean(axis=0)
    return {"released": released, "references": references, "output": references[rounds].mean(axis=0)}


def extreme_descent(
    gradients: Gradients, adjacency: Array, steps: Sequence[float], start: Array, thetas: Array, noise: Noise = None,
    pairs: Array | None = None,
) -> History:  # fmt: skip
    """Algorithm 2* for len(steps) rounds from `start`, (d,) or (n, d); `thetas` and `noise` (rounds, n, d).

    `pairs` (rounds, n, 2) are agents; None: the extremes.

    Keys: x (rounds + 1, n, d), x[k + 1] is what round k sends; low and high (rounds, n, d).
    """
    A = edges_of(adjacency)
    rounds, n, d = len(steps), len(A), start.shape[-1]
    added = drawn(noise, (rounds, n, d))
    x = np.empty((rounds + 1, n, d))
    low = np.empty((rounds, n, d))
    high = np.empty((rounds, n, d))
    x[0] = start
    for k in range(rounds):
        for i in range(n):
            near = x[k, (A[i] == 1) | (np.arange(n) == i)]
            low[k, i], high[k, i] = near.min(axis=0), near.max(axis=0)
        blend, at = low[k] + thetas[k] * (high[k] - low[k]), x[k]
        if pairs is not None:
            closed = (A + np.eye(n)) / (1 + A.sum(axis=1))[:, None]
            at = closed @ x[k]
            for i, (j, other) in enumerate(pairs[k]):
                weights = np.repeat(closed[i][:, None], d, axis=1)
                weights[j] *= 2 * thetas[k, i]
                weights[other] *= 2 * (1 - thetas[k, i])
                blend[i] = (weights * x[k]).sum(axis=0)
        x[k + 1] = blend - steps[k] * stacked(gradients, at) + added[k]
    return {"x": x, "low": low, "high": high}


def row_of_weights(near: Sequence[int], n: int, between: str, rng: np.random.Generator) -> Array:
    """Row i of W in Figs. 3-1 ("own") and 3-2 ("pair"); `near` are the neighbors, and i itself last. Fig. 3-2's two
    weights are doubled, as in Appendix C, so that the row sums to 1."""
    row = np.zeros(n)
    if between == "own":
        r = rng.random()
        for j in near[:-1]:
            row[j] = (1 - r) / (len(near) - 1)
        row[near[-1]] = r
        return row
    for j in near:
        row[j] = 1 / len(near)
    first, second = rng.choice(sorted(near), 2, replace=False)
    r = rng.random()
    row[first], row[second] = 2 * r / len(near), 2 * (1 - r) / len(near)
    return row


def room(
    agents: int, total: float, zeta: float, low: float, high: float, sigma: float, smooth: float = 0.0
) -> list[float]:
    """Left sides of (3.3) less their right sides, which Theorem 3.1.1 needs to be >= 0, for agents that are alike:
    D = `total`, penalties from `low` to `high`, ‖A_i‖ = `sigma`. With M = `smooth`: (3.6) of Theorem 3.1.3."""
    first = (total - smooth) / agents**2 * (low - zeta / 2) - sigma**2 * high**2
    return [first, ((low - zeta / 2) / (agents - 1)) ** 2 - (high - low) ** 2]


def least_total(agents: int, convexity: float, smooth: float, high: float, sigma: float) -> float:
    """What D has to exceed at least by (J.22), at the largest α: Nσ²/α + M, α = m/(Nρ²σ² + ρ̌²σ²) with ρ̌ = 0."""
    return agents * sigma**2 * agents * high**2 * sigma**2 / convexity + smooth


def bound(steps: int, c: float, start: float, gradients: float, noise: float) -> float:
    """(3.7) of Theorem 3.2.1: K = `steps`, ‖y_1⁰ − x*‖² + ‖y_2⁰ − x*‖² = `start`, G² and V²."""
    grown = 2 / c * (np.log(steps) + 2) * np.sqrt(steps + 1) * (gradients + noise)
    return float((c * np.sqrt(steps) * start + grown) / (4 * steps))


def random_weights(graph: Topology, between: str, rng: np.random.Generator | None = None) -> Array:
    """W of one round of random aggregation, (n, n), each row by itself; its expectation where there is no `rng`."""
    n = graph.agents
    near = [[*graph.neighbors(i), i] for i in range(n)]
    if rng is not None:
        return np.array([row_of_weights(one, n, between, rng) for one in near])
    W = np.zeros((n, n))
    for i, one in enumerate(near):
        W[i, one] = 1 / len(one) if between == "pair" else 0.5 / (len(one) - 1)
        W[i, i] = 1 / len(one) if between == "pair" else 0.5
    return W


def spread(matrix: Array) -> float:
    """φ of each column, the largest difference of two of its entries, averaged over the columns (Xiao 2019, Section
    3.3): 0 where all rows are equal."""
    return float((matrix.max(axis=0) - matrix.min(axis=0)).mean())


def small_shift_ratio(width: Array | float, scale: Array | float) -> Array | float:
    """The limit of `average_ratio` and `average_supremum_ratio` for shifts to 0: 2(1 − e^{−βω/2})/(βω), β = 1/scale.

    ω = |width| is the whole length of the interval. Width and scale broadcast. Of larger shifts it is no bound: their
    ratio may be above it (ω = 5, shift 5, scale 1: 0.61, not 0.37) and below it (ω = 0, shift 1: 0.85, not 1). Why:
    the density f rises to the middle of its interval and falls after it, so
    E|f'/f| = ∫|f'| = 2 max f = 2(1 − e^{−βω/2})/ω.
    """
    half = np.abs(np.asarray(width, dtype=np.float64)) / (2 * np.asarray(scale, dtype=np.float64))
    ratio = np.where(half > 0, -np.expm1(-half) / np.where(half > 0, half, 1.0), 1.0)
    return ratio if ratio.ndim else float(ratio)
