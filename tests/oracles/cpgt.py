"""CPGT, compressed private gradient tracking, in stacked NumPy, and its compressors.

State of agent i: x_i, y_i with y_i⁰ = ∇f_i(x_i⁰), and the copies x_i^c = y_i^c = 0 which the agent and all its
neighbors hold. Round k:

    x_i^a = x_i + η_x,i         y_i^a = y_i + η_y,i              Laplace, scales d_x q^k and d_y q^k
    send m_i = C(x_i^a − x_i^c) and m'_i = C(y_i^a − y_i^c)      one message
    x_i^c += m_i                y_i^c += m'_i                    sender and receivers, before they are used
    x_i⁺ = x_i^a + γ Σ_j w_ij (x_j^c − x_i^c) − α y_i
    y_i⁺ = y_i^a + γ Σ_j w_ij (y_j^c − y_i^c) + ∇f_i(x_i⁺) − ∇f_i(x_i)

The agent's own noise enters x_i⁺ in full, not through the compressed copy. With C the identity and γ = 1 the
copies equal x^a, y^a and the recursion is DiaDSP's. Law: Σ_i y_i^k = Σ_i ∇f_i(x_i^k) + Σ_{t<k} Σ_i η_y,i^t for
every compressor, since the γ-terms sum to zero over i.

Compressors, C(v, u) with v (d,) and the dither u (d,) in [0, 1), of which only b-bit makes use:

    top-k   the k entries largest in |v|, the lower index first among equals; zero elsewhere
    b-bit   (‖v‖₂/ξ)·sign(v)·2^{−(b−1)}⌊2^{b−1}|v|/‖v‖₂ + u⌋,  ξ = 1 + min(d/2^{2(b−1)}, √d/2^{b−1});  C(0) = 0
"""

from collections.abc import Callable

import numpy as np

from tests.oracles.shapes import Array, Gradients, History, Noise, drawn, square, stacked

Compressor = Callable[[Array, Array], Array]


def identity(v: Array, u: Array) -> Array:
    return v.copy()


def top(k: int) -> Compressor:
    def compress(v: Array, u: Array) -> Array:
        ranked = sorted(range(len(v)), key=lambda c: (-abs(v[c]), c))
        kept = np.zeros_like(v)
        for c in ranked[:k]:
            kept[c] = v[c]
        return kept

    return compress


def b_bit(bits: int) -> Compressor:
    levels = 2.0 ** (bits - 1)

    def compress(v: Array, u: Array) -> Array:
        norm = np.sqrt((v * v).sum())
        if norm == 0:
            return np.zeros_like(v)
        xi = 1 + min(len(v) / levels**2, np.sqrt(len(v)) / levels)
        return norm / xi * np.sign(v) * np.floor(levels * np.abs(v) / norm + u) / levels

    return compress


def cpgt(
    gradients: Gradients, weights: Array, step: float, gamma: float, compress: Compressor, start: Array, rounds: int,
    noise_x: Noise = None, noise_y: Noise = None, dither_x: Noise = None, dither_y: Noise = None,
) -> History:  # fmt: skip
    """Run `rounds` rounds from `start` (n, d); noises and dithers are (rounds, n, d), None: zero.

    Keys: x and y (rounds + 1, n, d), index 0 the start; noisy_x = x^a, noisy_y = y^a, sent_x = m, sent_y = m',
    copy_x = x^c and copy_y = y^c after the message, all (rounds, n, d).
    """
    n, d = start.shape
    shape = (rounds, n, d)
    W = square(weights, n)
    eta_x, eta_y, u_x, u_y = (drawn(values, shape) for values in (noise_x, noise_y, dither_x, dither_y))
    history = {key: np.empty((rounds + 1, n, d)) for key in ("x", "y")}
    keys = ("noisy_x", "noisy_y", "sent_x", "sent_y", "copy_x", "copy_y")
    history |= {key: np.empty(shape) for key in keys}
    x, y = history["x"], history["y"]
    x[0] = start
    y[0] = stacked(gradients, start)
    copy_x = np.zeros((n, d))
    copy_y = np.zeros((n, d))
    for k in range(rounds):
        noisy_x = x[k] + eta_x[k]
        noisy_y = y[k] + eta_y[k]
        m_x = np.array([compress(noisy_x[i] - copy_x[i], u_x[k, i]) for i in range(n)])
        m_y = np.array([compress(noisy_y[i] - copy_y[i], u_y[k, i]) for i in range(n)])
        copy_x = copy_x + m_x
        copy_y = copy_y + m_y
        x[k + 1] = noisy_x + gamma * _gossip(W, copy_x) - step * y[k]
        change = stacked(gradients, x[k + 1]) - stacked(gradients, x[k])
        y[k + 1] = noisy_y + gamma * _gossip(W, copy_y) + change
        for key, value in zip(keys, (noisy_x, noisy_y, m_x, m_y, copy_x, copy_y), strict=True):
            history[key][k] = value
    return history


def _gossip(W: Array, copies: Array) -> Array:
    """Row i is Σ_j w_ij (copies_j − copies_i)."""
    return (W[:, :, None] * (copies[None, :, :] - copies[:, None, :])).sum(axis=1)


def lemma_1(
    W: Array, step: float, gamma: float, phi: float, mu: float, L: float, ratio: float
) -> tuple[Array, Array]:
    """G (5, 5) and ϑ (5,) of Lemma 1, E[Θ(k+1)] ⪯ G E[Θ(k)] + ϑ q̄^k d̄_η: the coefficients of (A.1), (A.3), (A.7),
    (A.9) and (A.12), whose second L²-term is that of Ω_x̄ (printed: Ω_x twice), and (A.13) with its n²."""
    n, root = len(W), np.sqrt(phi)
    spread = np.abs(np.linalg.eigvalsh(W - np.eye(n))).max()
    hat = 1 - gamma * (1 - np.abs(np.linalg.eigvalsh(W - np.ones((n, n)) / n)).max())
    g, a = gamma * spread, step * L
    G = np.array([
        [hat, 0, step, g, 0], [a, 1 - step * mu, 0, 0, 0], [L * (g + a), a * L, a + hat, L * g, g],
        [root * (g + a), root * a, root * step, root * (g + 1), 0],
        [root * L * (g + a), root * a * L, root * (a + g), root * L * g, root * (g + 1)],
    ])  # fmt: skip
    tail = step / (1 - ratio)
    theta = [hat, 1 + tail, (L + 1) * hat + L * tail, root * (hat + 1 + tail), root * (L * hat + 1 + L * tail + hat)]
    return G, np.array(theta) * n**2


def distances(history: dict[str, Array], limit: Array) -> Array:
    """Θ(k) of Lemma 1 by round, (rounds, 5): Ω_x, Ω_x̄, Ω_y, Ω_σx, Ω_σy, where x^∞ is 1 · `limit`."""
    rounds = len(history["noisy_x"])
    x, y = history["x"][:rounds], history["y"][:rounds]
    x_mean, y_mean = x.mean(axis=1, keepdims=True), y.mean(axis=1, keepdims=True)
    apart = (
        x - x_mean, np.broadcast_to(x_mean - limit, x.shape), y - y_mean,
        history["copy_x"] - history["noisy_x"], history["copy_y"] - history["noisy_y"],
    )  # fmt: skip
    return np.array([np.sqrt((one**2).sum(axis=(1, 2))) for one in apart]).T
