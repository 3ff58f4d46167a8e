"""Descents inverted: private gradient descent, and by gradient tracking DiaDSP and CPGT.

*Private gradient descent.*

    x_i^{k+1} = Σ_j w_ij x̃_j^k − η_k g_i^k,

and everything but g is on the wire, up to the noise of one release:

    ĝ_i^k = (Σ_j w_ij x̃_j^k − x̃_i^{k+1})/η_k,   standard deviation √2·b_{k+1}/η_k per coordinate,

with Gaussian noise σ_{k+1}/η_k.

The estimate is of the gradient that was used: the clipped one, where the algorithm clips (a probe refuses a clip that
acts; this does not); its point is the noisy x̃_i^k. It needs what the agent sent in both rounds and what it took from
its neighbors in the first; the gradient of the last round is never sent. Who may run it: an eavesdropper on all links
around the agent, or at its door; where exchanges may end without some messages, only at its door. Of an agent that
may begin anew, its round starting over unseen, nothing is estimated.

*DiaDSP and CPGT*: gradients and their differences from the tracker y, and the Hessian of a quadratic. With the copies
x^c, y^c that everybody knows and A = Σ_j w_ij (·_j − ·_i) of them, both algorithms read (DiaDSP: γ = 1, and the
copies are what was sent)

    x^{k+1} = x^a + γA_x − αy^k,    y^{k+1} = y^a + γA_y + ∇f(x^{k+1}) − ∇f(x^k),    x^a = x + w,  y^a = y + e.

*Nothing compressed.* Each y is on the wire twice, as y^a − e^k and as (x^a + γA_x − (x^a)⁺ + w^{k+1})/α; weighed by
their variances these give ŷ^k with independent errors of variance v_k, and from y⁰ = ∇f(x⁰)

    ∇f(x^k) − ∇f(x^{k−1}) = ŷ^k − (y^a + γA_y)^{k−1}  with variance v_k,   ∇f(x^k): their sum, with Σ_{t≤k} v_t.

So *differences* become ever better as noise decays, the gradients themselves stay as good as the first. After a gap
DiaDSP's differences go on (`tracking_differences`); CPGT's copies are lost.

*Compressed.* The wire holds m = C(x^a − x^c) and all that is unknown of the message is within bounds (`preimage`):

    ∇f(x^k) = y^a − Σ_{t≤k} e^t − γ Σ_{t<k} A_y,    y^a in y^c + C⁻¹(m'),

so that a compressor's errors do not add up over rounds (`compressed_bounds`). Without noise the motion of x bounds y
once more. The last gradient is never sent. Who may run it: an outsider on all links around the agent, or at its door.

*Hessian* (`hessian_of`, `hessian_from`). ∇f(x^t) = Hx^t + c at points x^0, …, x^T: with the errors whitened and c
projected out (or from differences, which hold no c), rows s_t of S and g_t of G with white errors,

    minimize ‖S H − G‖²  over symmetric H.

With S = U Σ Vᵀ of rank r and V completed to a basis of the space, H = V M Vᵀ, and with B = GᵀUΣ in that basis,

    M_ij = (B_ij + B_ji)/(σ_i² + σ_j²)    both i, j ≤ r,      variance 1/(σ_i² + σ_j²), 1/σ_i² where i = j,
    M_ij = B_ij/σ_j²                      one of them beyond, variance 1/σ_j²,
    M_ij                                  not identifiable where both are beyond r: 0 here.

So r directions determine r(2d − r + 1)/2 of the d(d + 1)/2 numbers. Of an f that is no quadratic the differences are
the Hessian averaged between two points, times their difference. The points are taken at their word: where they hold
noise themselves the estimate is biased by about the square of that noise over the square of the steps. Who may run
it: whoever has gradients or differences.

Source: this project.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from attacks.closed_form.dpp2 import weigh
from attacks.closed_form.exchanges import Exchanges
from attacks.closed_form.token_system import Difference
from attacks.estimates import (
    Evidence,
    GradientBounds,
    GradientEstimate,
    Interval,
    check_lossless,
    preimage,
    root_mean_square,
)
from netsim.adversary import AdversaryView, PublicKnowledge
from netsim.algorithms import PrivateGradientDescent
from netsim.algorithms.cpgt import Cpgt
from netsim.algorithms.diadsp import DecayingNoise, DiaDSP
from netsim.arrays import Array
from netsim.claims import ORDERS
from netsim.codecs import Codec
from netsim.errors import AttackError
from netsim.models.model import Zero

FAR = 5.0
"""So many deviations of every coordinate a gradient must lie within the clip to be called unclipped."""
ULPS = 16
"""Units in the last place of the largest coordinate of x that a difference of two may be off by."""


def through_differences(view: AdversaryView) -> list[GradientEstimate]:
    """One estimate per agent and round for which nothing was missed.

    You get an `AttackError` where the algorithm is no private gradient descent, r ≠ 0 (a prox that is no bijection),
    or a codec changes what is sent.
    """
    algorithm = view.public.algorithm
    if not isinstance(algorithm, PrivateGradientDescent):
        raise AttackError(f"{type(algorithm).__name__} is not private gradient descent: this inversion is its own")
    if not isinstance(view.public.regularizer, Zero):
        raise AttackError("r ≠ 0: x gives the gradient only where the proximal map can be inverted; use r = 0")
    check_lossless(view)
    exchanges = Exchanges(view)
    sent = exchanges.sent
    estimates: list[GradientEstimate] = []
    for agent in exchanges.agents:
        for k, taken in sorted(exchanges.taken(agent).items()):
            if (agent, k) not in sent or (agent, k + 1) not in sent:
                continue
            mixing = np.array([sent[agent, k]["x"], *(values["x"] for values in taken)])
            mixed = np.tensordot(view.public.weights[agent], mixing, axes=1)
            step, scale = algorithm.step(k), algorithm.scale(k + 1)
            gradient = (mixed - sent[agent, k + 1]["x"]) / step
            stddev = scale if algorithm.noise == "gaussian" else math.sqrt(2) * scale
            estimates.append(GradientEstimate(agent, k, mixing[0], gradient, stddev / step))
    return estimates


def unclipped(view: AdversaryView, estimates: Sequence[GradientEstimate]) -> list[GradientEstimate]:
    """Those on which the algorithm's clip cannot have acted: they estimate the gradient itself.

    The estimate's norm, every coordinate `FAR` standard deviations and what rounding may add further out, is below
    the bound in every replica. All of them where nothing clips.
    """
    algorithm = view.public.algorithm
    if not isinstance(algorithm, PrivateGradientDescent) or algorithm.clip is None:
        return list(estimates)
    clip = algorithm.clip
    kept: list[GradientEstimate] = []
    for e in estimates:
        largest = max(1.0, float(np.max(np.abs(e.point))))
        rounding = ULPS * float(np.finfo(np.float64).eps) * largest / algorithm.step(e.query)
        farthest = np.abs(e.gradient) + FAR * e.stddev + rounding
        if np.all(np.linalg.norm(farthest, ord=ORDERS[clip.norm], axis=-1) < clip.bound):
            kept.append(e)
    return kept


class _Round(NamedTuple):
    """Round of one agent: intervals of x^a and y^a, and what mixing makes of them: `mixed_x` = x^a + γA_x, likewise
    y."""

    x: Interval
    y: Interval
    apart_x: Array
    apart_y: Array


def through_tracking(view: AdversaryView) -> list[GradientEstimate]:
    """One estimate per agent and round before the first that was missed; with a compressor, the middles of bounds.

    `stddev` is exact where nothing is compressed. Of bounds it is the root mean square, over coordinates and
    replicas, of what it would be if all within them were equally likely; estimates with an open bound are left out.
    You get an `AttackError` where the algorithm is neither DiaDSP nor CPGT, its exchanges may end without some
    messages, or no bounds are known of the codec.
    """
    _, codec = _checked(view)
    if not codec.lossless:
        middles: list[GradientEstimate] = []
        for b in compressed_bounds(view):
            if np.all(np.isfinite(b.middle)):
                ends = b.points[0] + b.points[1]
                point = np.where(np.isfinite(ends), ends / 2, 0.0)
                middles.append(GradientEstimate(b.agent, b.query, point, b.middle, root_mean_square(b.uniform)))
        return middles
    return [estimate for found in tracking_evidence(view) for estimate in found.estimates()]


def tracking_evidence(view: AdversaryView) -> list[Evidence]:
    """The same with the covariance of an agent's errors: Σ_{t ≤ min} v_t. Of what is not compressed."""
    algorithm, codec = _checked(view)
    _refuse_lossy(codec)
    found: list[Evidence] = []
    for agent, rounds in _all_rounds(view, codec):
        trackers, variances = _trackers(algorithm, agent, rounds)
        mixed = np.array([r.y.low + _gamma(algorithm) * r.apart_y for r in rounds])
        gradients = np.cumsum(trackers, axis=0)
        gradients[1:] -= np.cumsum(mixed[:-1], axis=0)
        total = np.cumsum(variances)
        order = np.arange(len(rounds))
        covariance = total[np.minimum.outer(order, order)]
        points = np.array(list(_points(algorithm, rounds, trackers)))
        wide = np.repeat(covariance[..., None], points.shape[-1], axis=-1)
        found.append(Evidence(agent, tuple(range(len(rounds))), points, gradients, wide, None, 1))
    return found


def tracking_differences(view: AdversaryView) -> list[Difference]:
    """∇f(x^k) − ∇f(x^{k−1}) wherever rounds k − 1 and k were observed whole; errors independent. DiaDSP's only.

    The points are those of the queries as far as they are known: from the motion of x, or (the first after a gap) x^a
    itself, with noise w.
    """
    algorithm, codec = _checked(view)
    _refuse_lossy(codec)
    if not isinstance(algorithm, DiaDSP):
        raise AttackError("CPGT's copies are sums of all that was sent: after a gap they are lost")
    found: list[Difference] = []
    exchanges = Exchanges(view)
    for agent in exchanges.agents:
        observed = _observed_rounds(view, agent, exchanges)
        for _, run in groupby(enumerate(sorted(observed)), key=lambda place: place[1] - place[0]):
            numbers = [k for _, k in run]  # rounds that follow each other
            first, rounds = numbers[0], [observed[k] for k in numbers]
            trackers, variances = _trackers(algorithm, agent, rounds, first)
            points = list(_points(algorithm, rounds, trackers))
            if first > 0:
                points[0] = rounds[0].x.low
            for k in range(1, len(rounds)):
                change = trackers[k] - (rounds[k - 1].y.low + rounds[k - 1].apart_y)
                queries = first + k - 1, first + k
                stddev = math.sqrt(float(variances[k]))
                found.append(Difference(agent, queries, (points[k - 1], points[k]), change, stddev))
    return found


def compressed_bounds(view: AdversaryView) -> list[GradientBounds]:
    """Bounds of every gradient but each agent's last; `stddev` that of the sum of the noise on y so far.

    The points lie within theirs up to the noise on x of that round. Without noise both are certain.
    """
    algorithm, codec = _checked(view)
    return [b for agent, rounds in _all_rounds(view, codec) for b in _bounded(algorithm, agent, rounds)]


def _checked(view: AdversaryView) -> tuple[DecayingNoise, Codec]:
    algorithm = view.public.algorithm
    if not isinstance(algorithm, DiaDSP | Cpgt):
        raise AttackError(f"{type(algorithm).__name__} is neither DiaDSP nor CPGT: this inversion is theirs")
    if algorithm.start:
        raise AttackError("x(0) is drawn, and not known: this inversion is for x(0) = 0")
    if not view.public.exchange_policy.endless:
        raise AttackError("exchanges may end without some messages: probe the agent at its door")
    codec = view.public.codec if algorithm.codec is None else algorithm.codec
    if isinstance(algorithm, DiaDSP):
        _refuse_lossy(codec)  # it goes on with what it meant, and the others with what they got
    return algorithm, codec


def _refuse_lossy(codec: Codec) -> None:
    if not codec.lossless:
        raise AttackError(f"{codec} changes what is sent: only bounds follow, and only of CPGT")


def _gamma(algorithm: DecayingNoise) -> float:
    return algorithm.gamma if isinstance(algorithm, Cpgt) else 1.0


def _observed_rounds(view: AdversaryView, agent: int, exchanges: Exchanges) -> dict[int, _Round]:
    """Rounds of DiaDSP that were observed whole: what is sent is x^a and y^a."""
    taken = exchanges.taken(agent)
    return {
        k: _Round(
            Interval.at(own["x"]),
            Interval.at(own["y"]),
            *(_apart(view.public, agent, own[n], [v[n] for v in taken[k]]) for n in ("x", "y")),
        )
        for k in sorted(taken)
        if (own := exchanges.sent.get((agent, k))) is not None
    }


def _apart(public: PublicKnowledge, agent: int, own: Array, others: list[Array]) -> Array:
    """Σ_j w_ij (v_j − v_i), as the algorithm adds it up."""
    return np.tensordot(public.weights[agent], np.array([own, *others]), axes=1) - own


def _all_rounds(view: AdversaryView, codec: Codec) -> Iterator[tuple[int, list[_Round]]]:
    """Each agent with its rounds from 0 to the first that was missed, if there are any."""
    exchanges = Exchanges(view)
    for agent in exchanges.agents:
        if isinstance(view.public.algorithm, Cpgt):
            taken, rounds = exchanges.taken(agent), list[_Round]()
            copies = {n: np.zeros((view.replicas, view.public.dimension)) for n in ("x", "y")}
            apart = dict(copies)
            while (k := len(rounds)) in taken and (agent, k) in exchanges.sent:
                own, places = exchanges.sent[agent, k], dict[str, Interval]()
                for n in ("x", "y"):
                    low, high = preimage(codec, own[n])
                    places[n] = Interval(copies[n] + low, copies[n] + high)
                    copies[n] = copies[n] + own[n]
                    apart[n] = apart[n] + _apart(view.public, agent, own[n], [v[n] for v in taken[k]])
                rounds.append(_Round(places["x"], places["y"], apart["x"], apart["y"]))
        else:
            observed = _observed_rounds(view, agent, exchanges)
            rounds = [observed[k] for k in range(next(k for k in range(len(observed) + 1) if k not in observed))]
        if rounds:
            yield agent, rounds


def _trackers(algorithm: DecayingNoise, agent: int, rounds: list[_Round], first: int = 0) -> tuple[Array, Array]:
    """ŷ^k, (rounds, replicas, dimension), and the variances of their errors."""
    sent = np.array([r.y.low for r in rounds])
    scale_x, scale_y = algorithm.noise_x(agent), algorithm.noise_y(agent)
    e = np.array([2 * scale_y(first + k) ** 2 for k in range(len(rounds))])
    moved = np.array([r.x.low + _gamma(algorithm) * r.apart_x for r in rounds])
    moved = (moved[:-1] - np.array([r.x.low for r in rounds])[1:]) / algorithm.step
    w = [2 * scale_x(first + k + 1) ** 2 / algorithm.step**2 for k in range(len(rounds) - 1)]
    share = weigh(e, np.array([*w, math.inf]))
    trackers = sent * share[:, None, None]
    trackers[:-1] += (1 - share[:-1, None, None]) * moved
    return trackers, e * share


def _points(algorithm: DecayingNoise, rounds: list[_Round], trackers: Array) -> Iterator[Array]:
    yield np.zeros_like(trackers[0])
    for r, y in zip(rounds[:-1], trackers, strict=False):
        yield r.x.low + _gamma(algorithm) * r.apart_x - algorithm.step * y


def _bounded(algorithm: DecayingNoise, agent: int, rounds: list[_Round]) -> Iterator[GradientBounds]:
    gamma, variance, scale = _gamma(algorithm), 0.0, algorithm.noise_y(agent)
    mixed = np.zeros_like(rounds[0].apart_y)  # γ Σ_{t<k} A_y
    size = np.zeros_like(mixed)
    for k, r in enumerate(rounds):
        y = r.y
        if not algorithm.noisy and k + 1 < len(rounds):
            now, after = gamma * r.apart_x, rounds[k + 1].x  # y by the motion of x too
            low, high = (r.x.low + now - after.high) / algorithm.step, (r.x.high + now - after.low) / algorithm.step
            slack = 1e-11 * np.maximum(1.0, np.abs(np.where(np.isfinite(low), low, 0.0))) / algorithm.step
            low, high, wide = np.maximum(y.low, low - slack), np.minimum(y.high, high + slack), y.high - y.low > 0
            y = Interval(np.where(wide, low, y.low), np.where(wide, high, y.high))
        size = np.maximum(size, np.maximum(np.abs(mixed), np.abs(np.where(np.isfinite(y.low), y.low, 0.0))))
        variance += 2 * scale(k) ** 2
        slack = 1e-11 * np.maximum(1.0, size)
        zero = np.zeros_like(r.x.low)  # x⁰
        points = (zero, zero) if k == 0 and not algorithm.noisy else (r.x.low - slack, r.x.high + slack)
        yield GradientBounds(agent, k, points, y.low - mixed - slack, y.high - mixed + slack, math.sqrt(variance))
        mixed = mixed + gamma * r.apart_y


RANK = 1e-6
"""A singular value of the steps below this share of the largest counts as zero: rounding would show."""
EXACT = 1e-7
"""Beside noisy ones, what is exact counts as having this share of the largest deviation: a covariance holds no more.
Where noise dies out fast, use differences."""

ROUNDING = 1e-14
"""Share of the largest gradient: no error of a difference counts as less."""
DROWNED = 1e-11
"""In place of `RANK` where there is noise: the stated deviations show how little is known of the last directions."""


class _Curvature(NamedTuple):
    """`hessian` (replicas, dimension, dimension), its part that is not identifiable set to 0.

    `directions` (replicas, dimension, dimension): in the first `rank` (replicas,) columns the directions v of which
    Hv is known, an orthonormal basis, the best known first; in the others the rest. `spread`: standard deviations in
    that basis, M_ij; 0 where exact, ∞ where not identifiable; the M_ij with i ≤ j have independent errors.
    """

    agent: int
    hessian: Array
    directions: Array
    rank: Array
    spread: Array

    def identified(self, replica: int = 0) -> Array:
        """The orthogonal projection on the directions v of which Hv is known, (dimension, dimension)."""
        basis = self.directions[replica][:, : int(self.rank[replica])]
        return basis @ basis.T

    def stddev(self, replica: int = 0) -> Array:
        """Deviation of every entry of one replica's Hessian, (dimension, dimension); ∞ where it is not
        identifiable."""
        v, spread = self.directions[replica], self.spread[replica]
        hidden = np.isinf(spread)
        variances = np.where(hidden, 0.0, spread) ** 2
        return np.where(_entries(v, hidden * 1.0) > 1e-12, np.inf, np.sqrt(_entries(v, variances)))


def _entries(v: Array, variances: Array) -> Array:
    """Var (V M Vᵀ)_ab where M is symmetric and the M_ij, i ≤ j, are independent with these variances."""
    squares = v**2 @ variances @ (v**2).T
    product = v[:, None, :] * v[None, :, :]  # V_ai V_bi
    mixed = np.einsum("abi,ij,abj->ab", product, variances, product)
    twice = np.einsum("abi,i->ab", product**2, np.diag(variances))
    return np.maximum(squares + mixed - twice, 0.0)


def hessian_of(evidence: Evidence) -> _Curvature:
    """Hessian from the gradients of one agent, their covariance taken into account.

    You get an `AttackError` for fewer than two, or where coordinates have covariances of their own.
    """
    if evidence.rounds < 2:
        raise AttackError(f"{evidence.rounds} gradients of agent {evidence.agent}: a difference needs 2")
    covariance = evidence.covariance[..., 0]
    if not np.allclose(evidence.covariance, covariance[..., None], rtol=1e-9, atol=0.0):
        raise AttackError("coordinates have covariances of their own: one weight for all rounds is not best")
    largest, factor = float(np.max(np.diag(covariance))), np.eye(evidence.rounds)
    if largest > 0:  # F with F Σ Fᵀ = I
        values, vectors = np.linalg.eigh(covariance)
        factor = vectors.T / np.sqrt(np.maximum(values, EXACT**2 * largest))[:, None]
    offset = factor.sum(axis=1)
    offset /= np.linalg.norm(offset)

    def rows(values: Array) -> Array:
        white = np.einsum("ts,srd->rtd", factor, values)
        return white - np.einsum("t,s,rsd->rtd", offset, offset, white)

    return _solved(evidence.agent, rows(evidence.points), rows(evidence.gradients), evidence.exact)


def hessian_from(differences: Sequence[Difference]) -> _Curvature:
    """Hessian from differences of gradients of one agent, their errors independent."""
    if not differences:
        raise AttackError("no differences of gradients: nothing to fit")
    stddev = np.array([difference.stddev for difference in differences])
    floor = ROUNDING * max(float(np.max(np.abs(d.gradient))) for d in differences)
    weights = 1 / np.maximum(stddev, floor) if stddev.any() else np.ones(len(stddev))
    steps = np.array([w * (d.points[1] - d.points[0]) for w, d in zip(weights, differences, strict=True)])
    changes = np.array([w * d.gradient for w, d in zip(weights, differences, strict=True)])
    exact = not bool(np.any(stddev))
    return _solved(differences[0].agent, np.moveaxis(steps, 0, 1), np.moveaxis(changes, 0, 1), exact)


def _solved(agent: int, steps: Array, changes: Array, exact: bool) -> _Curvature:
    """`steps` and `changes` (replicas, rows, dimension)."""
    found = [_one(s, g, exact) for s, g in zip(steps, changes, strict=True)]
    return _Curvature(agent, *(np.array(part) for part in zip(*found, strict=True)))


def _one(steps: Array, changes: Array, exact: bool) -> tuple[Array, Array, int, Array]:
    dimension = steps.shape[1]
    left, sizes, right = np.linalg.svd(steps, full_matrices=True)
    rank = int(np.count_nonzero(sizes > (RANK if exact else DROWNED) * sizes[0])) if sizes[0] > 0 else 0
    v, size = right.T, np.zeros(dimension)
    size[:rank] = sizes[:rank]
    seen = v.T @ (changes.T @ left[:, :rank])  # B without its factor Σ
    b = np.zeros((dimension, dimension))
    b[:, :rank] = seen * sizes[:rank]
    power = size[:, None] ** 2 + size[None, :] ** 2
    known = power > 0
    m = np.where(known, (b + b.T) / np.where(known, power, 1.0), 0.0)
    weight = power - np.diag(size**2)  # on the diagonal σ_i²
    spread = np.where(known, 0.0 if exact else 1 / np.sqrt(np.where(known, weight, 1.0)), np.inf)
    return v @ m @ v.T, v, rank, spread
