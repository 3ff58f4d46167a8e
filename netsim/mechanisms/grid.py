"""What noise on a grid shares: values are rounded to the grid step·Z, and the noise is a whole number of steps."""

from dataclasses import dataclass

import numpy as np

from netsim.arrays import Array
from netsim.errors import PrivacyError
from netsim.mechanisms.protocol import Scale

FINEST = 2.0**46
"""The largest scale in steps: up to it whole numbers of steps are exact."""


def check_grid(what: str, scale: Scale, step: float) -> None:
    """You get a `PrivacyError` for a step that is not positive and finite, or too fine for the scale."""
    if not 0 < step < np.inf:
        raise PrivacyError(f"{what} step = {step!r}: must be positive and finite")
    if not np.all(np.asarray(scale) <= FINEST * step):
        raise PrivacyError(f"{what} step = {step!r}: too fine for {scale!r}; at most 2**46 steps make a scale")


def rounded(value: Array, scale: Scale, step: float) -> Array:
    """The value on the grid, halves to even; where the scale is 0, as it is."""
    return np.where(np.equal(scale, 0), value, step * np.rint(value / step))


@dataclass(frozen=True)
class Steps:
    """What explains an observation: `noise` in steps, possible only where `on_grid`; both in its shape."""

    noise: Array
    on_grid: Array

    @classmethod
    def of(cls, observed: Array, value: Array, step: float) -> "Steps":
        there = np.rint(observed / step)
        on_grid = np.logical_not(np.abs(observed - step * there) > np.spacing(np.abs(observed)))  # NaN stays NaN
        return cls(there - np.rint(value / step), on_grid)


def released(value: Array, noise: Array, scale: Scale, step: float) -> Array:
    """The value on the grid and so many steps further; where the scale is 0, as it is."""
    return np.where(np.equal(scale, 0), value, step * (np.rint(value / step) + noise))


def summed_probability(observed: Array, value: Array, scale: Array, steps: Steps, logs: Array) -> Array:
    """Σ of log-probabilities over coordinates; where the scale is 0 the noise is 0, or the release is impossible."""
    noisy = np.where(steps.on_grid, logs, -np.inf)
    return np.sum(np.where(scale == 0, np.where(observed == value, 0.0, -np.inf), noisy), axis=-1)
