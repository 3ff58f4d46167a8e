"""Uniform noise modulo p, of which additive secret shares are made, and exact arithmetic modulo p in float64."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from netsim.arrays import Array
from netsim.errors import PrivacyError

LARGEST = 2**53
"""The largest modulus: up to it float64 holds every whole number."""


@dataclass(frozen=True)
class UniformModulo:
    """(value + U) mod p, U uniform on {0, …, p − 1} per coordinate: tells nothing of the value, privacy loss 0.

    `modulus` is p, a whole number from 2 to 2^53. Values are whole numbers held in float64, of either sign, at most
    2^53; releases lie in {0, …, p − 1}. A release together with its U tells everything: what this protects depends on
    who sees both. You get a `PrivacyError` for another modulus, and for a value that is not whole.
    """

    modulus: int

    def __post_init__(self) -> None:
        _check_modulus(self.modulus)

    @property
    def noiseless(self) -> bool:
        return False

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        share = rng.integers(self.modulus, size=value.shape).astype(np.float64)
        return _added(unwrap(value, self.modulus), share, self.modulus)

    def log_density(self, observed: Array, value: Array) -> Array:
        """−d ln p, a probability; −∞ for what is no residue."""
        _check_whole(value)
        possible = np.all((observed >= 0) & (observed < self.modulus) & (np.floor(observed) == observed), axis=-1)
        return np.where(possible, -observed.shape[-1] * np.log(float(self.modulus)), -np.inf)

    def quantiles(self, observed: Array, value: Array) -> Array:
        """(U + 1)/p of the U that explains what was observed."""
        return (self._share(observed, value) + 1) / self.modulus

    def quantiles_below(self, observed: Array, value: Array) -> Array:
        """U/p of the U that explains what was observed."""
        return self._share(observed, value) / self.modulus

    def variance(self) -> float:
        """Of U: (p² − 1)/12."""
        return (float(self.modulus) ** 2 - 1) / 12

    def _share(self, observed: Array, value: Array) -> Array:
        return _added(unwrap(observed, self.modulus), unwrap(-value, self.modulus), self.modulus)


def unwrap(value: Array, modulus: int) -> Array:
    """Whole numbers of either sign → their residues in {0, …, p − 1}, exactly.

    You get a `PrivacyError` for a number that is not whole or beyond 2^53.
    """
    _check_modulus(modulus)
    _check_whole(value)
    return np.remainder(value, float(modulus)) + 0.0  # never −0


def wrap(value: Array, modulus: int) -> Array:
    """Whole numbers → the signed representative of their residue in (−p/2, p/2], exactly.

    Undoes `unwrap` for signed numbers there: a sum of numbers that lies in (−p/2, p/2] is `wrap` of the sum of their
    residues.
    """
    residue = unwrap(value, modulus)
    return np.where(2 * residue > modulus, residue - modulus, residue)


def sum_modulo(values: Iterable[Array], modulus: int) -> Array:
    """The sum of arrays of whole numbers, modulo p, in {0, …, p − 1}: exact, however many they are."""
    total: Array | None = None
    for value in values:
        residue = unwrap(value, modulus)
        total = residue if total is None else _added(total, residue, modulus)
    if total is None:
        raise PrivacyError("a sum modulo p needs at least one array")
    return total


def _added(a: Array, b: Array, modulus: int) -> Array:
    """Residues: a + b may exceed 2^53, but a − (p − b) does not."""
    difference = a - (modulus - b)
    return np.where(difference < 0, difference + modulus, difference)


def _check_modulus(modulus: int) -> None:
    if isinstance(modulus, bool) or not isinstance(modulus, int) or not 2 <= modulus <= LARGEST:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PrivacyError(f"modulus = {modulus!r}: must be a whole number from 2 to 2**53")


def _check_whole(value: Array) -> None:
    whole = (np.abs(value) <= LARGEST) & (np.floor(value) == value)
    if not np.all(whole):
        worst = value[~whole].flat[0]
        raise PrivacyError(f"{worst!r} modulo p: must be a whole number, at most 2**53; round to fixed point first")
