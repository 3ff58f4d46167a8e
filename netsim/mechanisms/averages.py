"""What one coordinate of a release loses on average, E|ln p(T | v)/p(T | v')|, beside the most that it can lose.

Closed forms for Laplace and Gaussian noise, in the shift over the scale; for uniform plus Laplace noise, where there
is none, quadrature of many shifts at once, which `mixture.average_loss` does one by one to more digits. Losses are in
nats, and taken without their sign: with it the average is a divergence, which is of second order in a small shift.
"""

from itertools import pairwise

import numpy as np
from scipy import special

from netsim.arrays import Array
from netsim.mechanisms.mixture import UniformLaplace
from netsim.mechanisms.protocol import Scale

_LAYER = 20.0  # scales; farther from an end of a density it is flat, or nothing, to 2e-9
_CUTS = np.array([-_LAYER, -8.0, -3.0, -1.0, 0.0, 1.0, 3.0, 8.0, _LAYER])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def laplace_average_loss(shift: Scale, scale: Scale) -> Array:
    """s − (1 − e^{−s/2})², s = |shift|/scale: E||T − s| − |T|| for T ~ Lap(1). The worst case is s.

    Where the scale is 0 it is 0: a shift that no noise covers has no loss that is a number.
    """
    s = _in_scales(shift, scale)
    return s - np.expm1(-s / 2) ** 2


def gaussian_average_loss(shift: Scale, stddev: Scale) -> Array:
    """The mean of |N(μ²/2, μ²)|, μ = |shift|/stddev: μ√(2/π) e^{−μ²/8} + μ²/2·erf(μ/√8). There is no worst case.

    Where the deviation is 0 it is 0.
    """
    mu = _in_scales(shift, stddev)
    far: Array = np.asarray(special.erf(mu / np.sqrt(8)), dtype=np.float64)
    return mu * np.sqrt(2 / np.pi) * np.exp(-(mu**2) / 8) + mu**2 / 2 * far


def mixture_average_loss(shift: Scale, width: Scale, scale: Scale) -> Array:
    """The same of width·U + Laplace(scale), of the same width in both worlds; they broadcast. The worst case is
    |shift|/scale.

    Beyond both ends the loss is the worst case, with a probability that is known; between them the integral is
    Gauss–Legendre's, cut at the ends, at the layers around them and in the middle, where the loss changes its sign:
    1e-8 of it and better. Where the scale is 0 it is 0.
    """
    s, r = np.broadcast_arrays(_in_scales(shift, scale), _in_scales(width, scale))
    ends = np.stack([np.zeros_like(s), s, r, r + s])
    last = r + s
    cuts = np.concatenate([ends + cut for cut in _CUTS] + [last[None] / 2])
    cuts = np.sort(np.clip(cuts, 0.0, last), axis=0)
    flat = r.reshape(-1, 1)
    found = np.zeros(s.size)
    for low, high in pairwise(cuts):
        half = ((high - low) / 2).reshape(-1, 1)
        if not np.any(half > 0):
            continue
        t = half * _NODES + ((high + low) / 2).reshape(-1, 1)
        here = _log_density(t, flat)
        found += np.sum(
            half * _WEIGHTS * np.exp(here) * np.abs(here - _log_density(t - s.reshape(-1, 1), flat)), axis=1
        )
    below = UniformLaplace(flat, 1.0).quantiles(np.zeros_like(flat), np.zeros_like(flat))[:, 0]
    above = 1 - UniformLaplace(flat, 1.0).quantiles(last.reshape(-1, 1), np.zeros_like(flat))[:, 0]
    return (found + s.ravel() * (below + above)).reshape(s.shape)


def _log_density(t: Array, width: Array) -> Array:
    """log of the density of width·U + Lap(1) at each number, without summing over coordinates."""
    flat = t.reshape(-1, 1)
    wide = np.broadcast_to(width, t.shape).reshape(-1, 1)
    return UniformLaplace(wide, 1.0).log_density(flat, np.zeros_like(flat)).reshape(t.shape)


def _in_scales(value: Scale, scale: Scale) -> Array:
    """|value|/scale, 0 where the scale is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.equal(scale, 0), 0.0, np.abs(value) / np.asarray(scale, dtype=np.float64))
