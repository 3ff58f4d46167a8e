"""DGD over additive secret shares on a complete graph, in plain Python integers and NumPy.

p is an odd prime (any odd modulus works), `scale` the number of fixed-point steps in one. Every ordered pair
of agents has a private link. In round k agent i

    encodes   v_i = x_i + noise_i,  e_i = round(scale · v_i) mod p, half to even, coordinate by coordinate
    shares    s_ij for j ≠ i, drawn uniformly in {0, …, p − 1};  s_ii = e_i − Σ_{j≠i} s_ij  mod p
    sends     s_ij to j on the private link, keeps s_ii
    adds      S_i = Σ_j s_ji  mod p, the shares it holds, and broadcasts S_i to all
    decodes   T = Σ_j S_j  mod p;  T − p if T > (p − 1)/2;  mean = T/(scale · n)
    descends  x_i⁺ = mean − α_k ∇f_i(x_i), the gradient at its own exact x_i; with noise in the state at v_i.

T is Σ_i round(scale · v_i) exactly if p > 2·(scale · max|Σ_i v_i| + n/2). The mean is the same float at every
agent. Up to rounding (n/2 steps of 1/scale in the sum) this is DGD with W = 11ᵀ/n and noise on what is sent.
"""

from collections.abc import Sequence

import numpy as np

from tests.oracles.shapes import Array, Gradients, Noise, drawn, stacked


def encoded(values: Array, scale: float, modulus: int) -> list[int]:
    return [int(step) % modulus for step in np.rint(scale * values)]


def decoded(total: Sequence[int], scale: float, modulus: int) -> Array:
    """Signed value of each residue, in units of one."""
    signed = [t - modulus if t > (modulus - 1) // 2 else t for t in total]
    return np.array([t / scale for t in signed])


def shared_descent(
    gradients: Gradients, steps: Sequence[float], start: Array, draws: Sequence[Sequence[Sequence[Sequence[int]]]],
    scale: float = 2.0**20, modulus: int = 2**61 - 1, noise: Noise = None, in_the_state: bool = False,
) -> dict[str, object]:  # fmt: skip
    """Run len(steps) rounds from `start` (n, d); `draws[k][i][j]` is s_ij, d integers in [0, p) (ignored for j = i).

    Keys: x (rounds + 1, n, d), x[0] the start; mean (rounds, d); shares and broadcasts, nested lists of ints,
    shares[k][i][j] = s_ij with s_ii filled in, broadcasts[k][i] = S_i, each d long.
    """
    rounds = len(steps)
    n, d = start.shape
    added = drawn(noise, (rounds, n, d))
    x = np.empty((rounds + 1, n, d))
    mean = np.empty((rounds, d))
    shares, broadcasts = [], []
    x[0] = start
    for k in range(rounds):
        dealt = [_deal(encoded(x[k, i] + added[k, i], scale, modulus), draws[k][i], i, modulus) for i in range(n)]
        held = [[sum(dealt[j][i][c] for j in range(n)) % modulus for c in range(d)] for i in range(n)]
        total = [sum(held[i][c] for i in range(n)) % modulus for c in range(d)]
        mean[k] = decoded(total, scale * n, modulus)
        x[k + 1] = mean[k] - steps[k] * stacked(gradients, x[k] + added[k] if in_the_state else x[k])
        shares.append(dealt)
        broadcasts.append(held)
    return {"x": x, "mean": mean, "shares": shares, "broadcasts": broadcasts}


def _deal(secret: Sequence[int], draws: Sequence[Sequence[int]], owner: int, modulus: int) -> list[list[int]]:
    dealt = [[int(value) for value in row] for row in draws]
    others = [row for j, row in enumerate(dealt) if j != owner]
    if any(not 0 <= value < modulus for row in others for value in row):
        raise ValueError(f"a share lies outside [0, {modulus})")
    dealt[owner] = [(e - sum(row[c] for row in others)) % modulus for c, e in enumerate(secret)]
    return dealt
