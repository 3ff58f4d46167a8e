"""DPP² inverted: gradients from y and z where η_k is known, and with all η fitted to the transcript where it is not.

With d⁰ = 0 the y that were sent give d^{k+1} = η_k d^k + y^k, and q^{k+1} = ρ(P d^{k+1})_i. Then each gradient is on
the wire twice, in z and in how x moves, for d^{k+1} − d^k = x^k + w^k:

    z^k − q^{k+1}                                                  = ∇f(x^k) + e^k,
    (β(Pz^k)_i − d^{k+2} + 2d^{k+1} − d^k)/α − q^{k+1}             = ∇f(x^k) − w^{k+1}/α,

two noises that nothing else holds. The estimate weighs them by their variances, 2u_e² and 2u_w²/α² at rounds k and k
+ 1: the errors of different rounds are independent, and this is the best linear estimate. The last gradient is on the
wire once. It needs every y and z of the agent and its neighbors, and their neighbors' y, from the first round on: (P
d)_i is built up of (P y)_i. Who may run it: an outsider on all links around the agent, or at its door.

*η unknown* (`fit_relay`). An outsider that taps all links knows, at every agent and coordinate,

    d^{k+2} − 2d^{k+1} + d^k + αz^k − βPz^k = w^{k+1} + αe^k,        k = 0 … K − 2,

agents × coordinates equations a round for one unknown number. Given η everything else follows: this is a nonlinear
regression, solved by Gauss–Newton on whitened residuals, on prefixes of 4, 8, 16, … rounds so that it starts near.
One round at a time (`round_by_round`) each η_{k+1} is fitted given those before; their errors add up in d, and it
drifts.

Identifiable: η_k counts only through η_k d^k. So η_0 is not (d⁰ = 0), without noise η_1 is not either where x⁰ = 0
(d¹ = x⁰), and they hide nothing; every d is. To first order the estimate of a gradient at given η and the residuals
are uncorrelated, so that

    Var ĝ = Var(ĝ | η) + G C Gᵀ,    C = (JᵀJ)⁻¹ of the whitened residuals, G = ∂ĝ/∂η.

Source: this project.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from attacks.closed_form.exchanges import Exchanges
from attacks.estimates import GradientEstimate, check_lossless, root_mean_square
from netsim.adversary import AdversaryView
from netsim.algorithms.dpp2 import Dpp2
from netsim.arrays import Array, Mask
from netsim.errors import AttackError


class _DPP2Round(NamedTuple):
    """Values that one agent sent in rounds 0, 1, …: `y`, `z`, and its (Py), (Pz); (rounds, replicas, dimension)."""

    agent: int
    y: Array
    z: Array
    apart_y: Array
    apart_z: Array


def through_relay(view: AdversaryView) -> list[GradientEstimate]:
    """One estimate per agent and round, up to the first round of which something was missed.

    You get an `AttackError` where the algorithm is not DPP², its exchanges may end without some messages, or a codec
    changes what is sent.
    """
    algorithm = _checked(view)
    eta = np.array([algorithm.eta(k) for k in range(algorithm.rounds)])[:, None, None]
    found: list[GradientEstimate] = []
    for sent in _relayed(view):
        e, w = _variances(algorithm, sent.agent, len(sent.y))
        share = weigh(e, w)
        for k, (point, gradient) in enumerate(_read(sent, algorithm, eta, share)):
            variance = float(share[k] ** 2 * e[k] + ((1 - share[k]) ** 2 * w[k] if share[k] < 1 else 0.0))
            found.append(GradientEstimate(sent.agent, k, point, gradient, math.sqrt(variance)))
    return found


def _checked(view: AdversaryView) -> Dpp2:
    """The algorithm, if this inversion is its own."""
    algorithm = view.public.algorithm
    if not isinstance(algorithm, Dpp2):
        raise AttackError(f"{type(algorithm).__name__} is not DPP²: this inversion is its own")
    if not view.public.exchange_policy.endless:
        raise AttackError("exchanges may end without some messages: probe the agent at its door")
    check_lossless(view)
    return algorithm


def _relayed(view: AdversaryView) -> Iterator[_DPP2Round]:
    """Every agent of which round 0 was observed, up to the first round that was not."""
    exchanges, public = Exchanges(view), view.public
    times_p = _times_laplacian if _checked(view).matrix == "laplacian" else _times_gap
    for agent in exchanges.agents:
        taken = exchanges.taken(agent)
        rounds = 0
        while all((agent, n) in exchanges.sent and n in taken for n in (2 * rounds, 2 * rounds + 1)):
            rounds += 1
        if rounds:
            sent = [[exchanges.sent[agent, 2 * k + j]["yz"[j]] for k in range(rounds)] for j in (0, 1)]
            others = [[[v["yz"[j]] for v in taken[2 * k + j]] for k in range(rounds)] for j in (0, 1)]
            own = np.array(sent)
            yield _DPP2Round(agent, *own, *times_p(own, np.array(others), public.weights[agent]))


def _times_laplacian(own: Array, around: Array, weights: Array) -> Array:  # noqa: ARG001
    """(Pv)_i of the graph's Laplacian; `own` (2, rounds, replicas, dimension), `around` (2, rounds, neighbors,
    replicas, dimension)."""
    return around.shape[2] * own - around.sum(axis=2)


def _times_gap(own: Array, around: Array, weights: Array) -> Array:
    """(Pv)_i of P = I − W; `weights`: of the agent itself, then of its neighbors."""
    return own - weights[0] * own - np.array([np.einsum("n,knrd->krd", weights[1:], v) for v in around])


def _relay(sent: Array, eta: Array) -> Array:
    """d^{k+1} = η_k d^k + y^k from d^0 = 0, (rounds + 1, replicas, dimension); of values times P, P d."""
    d = [np.zeros_like(sent[0])]
    for k, y in enumerate(sent):
        d.append(eta[k] * d[-1] + y)
    return np.array(d)


def _variances(algorithm: Dpp2, agent: int, rounds: int) -> tuple[Array, Array]:
    """Variances of e^k, and of w^{k+1}/α, k = 0 … rounds − 1; the last of these is not on the wire: ∞."""
    e = np.array([2 * algorithm.noise_e(agent, k) ** 2 for k in range(rounds)])
    moved = [2 * algorithm.noise_w(agent, k + 1) ** 2 / algorithm.step**2 for k in range(rounds - 1)]
    w = np.array([*moved, math.inf])
    return e, w


def weigh(e: Array, w: Array) -> Array:
    """The share of the first of two readings of variances e and w: w/(e + w), where both are 0 one half."""
    with np.errstate(invalid="ignore"):
        share = np.where(np.isinf(w), 1.0, w / (e + w))
    return np.where((e == 0) & (w == 0), 0.5, share)


def _read(sent: _DPP2Round, algorithm: Dpp2, eta: Array, share: Array) -> Iterator[tuple[Array, Array]]:
    """Point and gradient of each round, (replicas, dimension); `share` (rounds,) is the weight of z's reading."""
    d, hidden = _relay(sent.y, eta), algorithm.rho * _relay(sent.apart_y, eta)[1:]
    z = sent.z * share[:, None, None]
    moved = (algorithm.beta * sent.apart_z[:-1] - d[2:] + 2 * d[1:-1] - d[:-2]) / algorithm.step  # z^k − w^{k+1}/α
    z[:-1] += (1 - share[:-1, None, None]) * moved
    point = sent.y[0] if algorithm.start else np.zeros_like(sent.y[0])  # x⁰ + w⁰, or 0, which is public
    for k in range(len(sent.y)):
        yield point, z[k] - hidden[k]
        point = d[k + 1] - d[k] - algorithm.step * z[k] + algorithm.beta * sent.apart_z[k]


SWEEPS = 30
ENOUGH = 1e-14
"""Relative: a step of this size or less ends the fit."""
BLIND = 1e-9
"""A column of the Jacobian below this share of the largest determines nothing."""


class _RelayFit(NamedTuple):
    """η and the gradients as the transcript determines them.

    `eta` (replicas, rounds), 0 where not `identifiable` (replicas, rounds); `stddev` (replicas, rounds) of its errors
    by the noise's law, 0 without noise, ∞ where not identifiable; `misfit` (replicas,): the mean square of the
    whitened residuals, about 1 where the model is right and there is noise. `estimates`: the gradients, all agents',
    each with the root mean square of the stated deviations over replicas and coordinates; `deviations` (agents,
    rounds, replicas, dimension): one by one.
    """

    eta: Array
    stddev: Array
    identifiable: Mask
    misfit: Array
    estimates: list[GradientEstimate]
    deviations: Array


class _Received:
    """Everything that all agents sent, replica by replica; arrays (rounds, agents × dimension)."""

    def __init__(self, view: AdversaryView) -> None:
        self.algorithm: Dpp2 = _checked(view)
        self.sent = list(_relayed(view))
        if len(self.sent) < view.public.agents:
            raise AttackError("η is fitted to what all agents send: it needs all links, and no insider among them")
        self.rounds = min(len(sent.y) for sent in self.sent)
        if self.rounds < 3:
            raise AttackError(f"{self.rounds} whole rounds were observed: a second difference needs 3")
        cut = slice(0, self.rounds)
        self.y = np.array([t.y[cut] for t in self.sent])  # (agents, rounds, replicas, dimension)
        a, b = self.algorithm.step, self.algorithm.beta
        self.pull = np.array([a * t.z[cut] - b * t.apart_z[cut] for t in self.sent])
        both = [_variances(self.algorithm, t.agent, self.rounds) for t in self.sent]
        self.noisy = bool(any(np.any(e > 0) or np.any(w[:-1] > 0) for e, w in both))
        own = np.array([a * np.sqrt(e[:-1] + w[:-1]) for e, w in both]).T  # of w^{k+1} + αe^k, (rounds − 1, agents)
        scale = np.repeat(own, self.y.shape[3], axis=1)  # 1 where there is no noise at all
        self.scale = np.maximum(scale, 1e-12 * float(np.max(scale))) if self.noisy else np.ones_like(scale)

    def of(self, replica: int) -> tuple[Array, Array]:
        return _flat(self.y[:, :, replica]), _flat(self.pull[:, :, replica])


def _flat(values: Array) -> Array:
    return np.moveaxis(values, 0, 1).reshape(values.shape[1], -1)


def round_by_round(view: AdversaryView) -> Array:
    """η (replicas, rounds), each fitted to its own round alone given those before: it drifts under noise."""
    received = _Received(view)
    return np.array([_extended(np.zeros(2), *received.of(r)) for r in range(view.replicas)])


def fit_relay(view: AdversaryView) -> _RelayFit:
    """All η_k jointly, and every gradient.

    You get an `AttackError` where the algorithm is not DPP², or not all of at least three rounds was observed.
    """
    received = _Received(view)
    fits = [_fitted(*received.of(r), received.scale, received.noisy) for r in range(view.replicas)]
    eta = np.array([fit.eta for fit in fits])
    known = np.array([fit.identifiable for fit in fits])
    spread = np.array([np.where(fit.identifiable, np.sqrt(np.diag(fit.covariance)), np.inf) for fit in fits])
    algorithm, rounds = received.algorithm, received.rounds
    both = [_variances(algorithm, t.agent, rounds) for t in received.sent]
    shares = np.array([weigh(e, w) for e, w in both])  # (agents, rounds)
    own: Array = np.array([e for e, _ in both]) * shares  # of the two readings together: ew/(e + w)
    moved = _spread(received, eta, [fit.covariance for fit in fits], shares)
    deviations = np.asarray(np.sqrt(own[:, :, None, None] + moved), dtype=np.float64)
    estimates: list[GradientEstimate] = []
    for i, whole in enumerate(received.sent):
        sent = whole._replace(**{name: getattr(whole, name)[:rounds] for name in ("y", "z", "apart_y", "apart_z")})
        for k, (point, gradient) in enumerate(_read(sent, algorithm, eta.T[:, :, None], shares[i])):
            deviation = root_mean_square(deviations[i, k])
            estimates.append(GradientEstimate(sent.agent, k, point, gradient, deviation))
    return _RelayFit(eta, spread, known, np.array([fit.misfit for fit in fits]), estimates, deviations)


def through_fitted_relay(view: AdversaryView) -> list[GradientEstimate]:
    """One estimate per agent and round, of an outsider on all links that does not know η_k; errors as `fit_relay`."""
    return fit_relay(view).estimates


def _spread(received: _Received, eta: Array, covariances: list[Array], shares: Array) -> Array:
    """G C Gᵀ of every gradient, (agents, rounds, replicas, dimension); `shares` are (agents, rounds)."""
    algorithm, rounds = received.algorithm, received.rounds
    agents, _, replicas, dimension = received.y.shape
    spread = np.zeros((agents, rounds, replicas, dimension))
    weight = np.repeat((1 - shares[:, :-1].T) / algorithm.step, dimension, axis=1)  # (rounds − 1, agents × dimension)
    apart = np.array([t.apart_y[:rounds] for t in received.sent])
    for r in range(replicas):
        values, vectors = np.linalg.eigh(covariances[r])
        factor = vectors * np.sqrt(np.maximum(values, 0.0))
        moved = _moves(eta[r], _flat(received.y[:, :, r])) @ factor
        gradient = -algorithm.rho * (_moves(eta[r], _flat(apart[:, :, r])) @ factor)[1:]
        gradient[:-1] -= weight[:, :, None] * (moved[2:] - 2 * moved[1:-1] + moved[:-2])
        squares = np.sum(gradient**2, axis=-1).reshape(rounds, agents, dimension)
        spread[:, :, r] = np.moveaxis(squares, 0, 1)
    return spread


class _Fit(NamedTuple):
    eta: Array
    covariance: Array
    identifiable: Mask
    misfit: float


def _fitted(y: Array, pull: Array, scale: Array, noisy: bool) -> _Fit:
    rounds, eta = len(y), np.zeros(2)
    while True:
        length = min(rounds, 2 * len(eta))
        eta = _extended(eta, y[:length], pull[:length])
        eta = _refined(eta, y[:length], pull[:length], scale[: length - 1])
        if length == rounds:
            break
    residual, jacobian = _linearized(eta, y, pull, scale)
    size = np.linalg.norm(jacobian, axis=0)
    seen = size > BLIND * np.max(size)
    inverse: Array = np.asarray(np.linalg.pinv(jacobian[:, seen] / size[seen]), dtype=np.float64)
    factor: Array = inverse / size[seen][:, None]
    covariance = np.zeros((rounds, rounds))
    if noisy:
        covariance[np.ix_(seen, seen)] = factor @ factor.T
    return _Fit(np.where(seen, eta, 0.0), covariance, seen, float(np.mean(residual**2)))


def _extended(eta: Array, y: Array, pull: Array) -> Array:
    """One round at a time: η_{k+1} by least squares on its own round."""
    grown = eta.tolist()
    d = _relay(y[: len(eta)], eta)
    before, now = d[len(grown) - 1], d[len(grown)]
    for k in range(len(grown) - 1, len(y) - 1):
        wanted = 2 * now - before - pull[k] - y[k + 1]  # η_{k+1} d^{k+1}
        size = float(now @ now)
        grown.append(float(now @ wanted) / size if size > 0 else 0.0)
        before, now = now, grown[-1] * now + y[k + 1]
    return np.array(grown)


def _refined(eta: Array, y: Array, pull: Array, scale: Array) -> Array:
    """Gauss–Newton with step halving."""
    residual, jacobian = _linearized(eta, y, pull, scale)
    cost = float(residual @ residual)
    for _ in range(SWEEPS):
        size = np.linalg.norm(jacobian, axis=0)
        seen = size > BLIND * np.max(size)
        step = np.zeros(len(size))
        step[seen] = np.linalg.lstsq(jacobian[:, seen] / size[seen], residual, rcond=1e-13)[0] / size[seen]
        for halving in range(12):
            trial = eta - step / 2**halving
            there = _linearized(trial, y, pull, scale)
            if float(there[0] @ there[0]) < cost:
                break
        else:
            return eta
        eta, (residual, jacobian), cost = trial, there, float(there[0] @ there[0])
        if np.max(np.abs(step)) <= ENOUGH * max(1.0, float(np.max(np.abs(eta)))):
            return eta
    return eta


def _linearized(eta: Array, y: Array, pull: Array, scale: Array) -> tuple[Array, Array]:
    """Whitened residuals (rounds − 1 times width,), and how they move with η (…, rounds)."""
    d, moves = _relay(y[: len(eta)], eta), _moves(eta, y)
    residual = (d[2:] - 2 * d[1:-1] + d[:-2] + pull[:-1]) / scale
    jacobian = (moves[2:] - 2 * moves[1:-1] + moves[:-2]) / scale[:, :, None]
    return residual.ravel(), jacobian.reshape(residual.size, -1)


def _moves(eta: Array, y: Array) -> Array:
    """∂d^k/∂η, (rounds + 1, width, rounds)."""
    rounds, width = y.shape
    d = _relay(y[: len(eta)], eta)
    moves = np.zeros((rounds + 1, width, rounds))
    for k in range(rounds):
        moves[k + 1] = eta[k] * moves[k]
        moves[k + 1, :, k] += d[k]
    return moves
