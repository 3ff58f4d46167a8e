"""Array types of the package, sequences by agent, and the checks that constructors make of their arguments.

Arrays are float64 of shape (replicas, dimension) unless a docstring says otherwise. Refusals are `ScenarioError`s.
"""

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import SequenceMatcher
from typing import Any, Literal, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import ProtocolError, ScenarioError, did_you_mean, near

Array: TypeAlias = NDArray[np.float64]
"""Float64 values; the leading axis is the replica, the last one the coordinate."""
Mask: TypeAlias = NDArray[np.bool_]
"""Which replicas, or which coordinates."""

Kept = TypeVar("Kept", covariant=True)


_UNTOLD: ContextVar[bool] = ContextVar("numbers that are none pass in silence", default=True)


def diverging() -> np.errstate:
    """Within, NumPy says nothing of ∞ and NaN: a run that diverges is a result. Unless it is within `strictly`."""
    of_none: Literal["ignore", "raise"] = "ignore" if _UNTOLD.get() else "raise"
    return np.errstate(over="ignore", divide=of_none, invalid=of_none)


@contextmanager
def strictly() -> Generator[None]:
    """Within, a division by zero in a run, and what makes NaN, is a `FloatingPointError` at its line."""
    token = _UNTOLD.set(False)
    try:
        yield
    finally:
        _UNTOLD.reset(token)


class PerAgent(Sequence[Kept]):
    """Something of every agent, by number, made when it is first read."""

    def __init__(self, agents: int, make: Callable[[int], Kept]) -> None:
        self._agents, self._make = range(agents), make
        self._made: dict[int, Kept] = {}

    def __len__(self) -> int:
        return len(self._agents)

    @overload
    def __getitem__(self, agent: int) -> Kept: ...
    @overload
    def __getitem__(self, agent: "slice[Any, Any, Any]") -> list[Kept]: ...
    def __getitem__(self, agent: "int | slice[Any, Any, Any]") -> "Kept | list[Kept]":
        if isinstance(agent, slice):
            return [self[i] for i in self._agents[agent]]
        which = self._agents[agent]
        if which not in self._made:
            self._made[which] = self._make(which)
        return self._made[which]

    def __repr__(self) -> str:
        return f"PerAgent({len(self)} agents)"

    def __reduce__(self) -> tuple[Any, ...]:
        """What is to be pickled: what there is of the agents, and not how it is made."""
        return tuple, (tuple(self),)


def evenly(count: int, most: int) -> list[int]:
    """At most so many of range(count), evenly, the first and the last among them."""
    return [int(k) for k in np.linspace(0, count - 1, min(count, most)).astype(int)]


ONE_THREAD = {True: 1 << 13, False: 1 << 18}
"""Multiplications that OpenBLAS does in one thread: with a vector, and of two matrices."""


def product(left: Array, right: Array) -> Array:
    """left @ right, (…, m, k) and (…, k, n) give (…, m, n): a product of its own at each place of the leading axes.

    So no replica's bits depend on the others, and none on the threads that BLAS has: it does larger ones in parts. In
    memory both are contiguous, or their transposes are.
    """
    (m, k), n = left.shape[-2:], right.shape[-1]
    most = ONE_THREAD[m == 1 or n == 1] // max(k, 1)
    if m * n <= most:
        return np.matmul(left, right)
    if not most:
        half = k // 2
        return product(left[..., :half], right[..., :half, :]) + product(left[..., half:], right[..., half:, :])
    if n < m:
        height = max(1, most // n)
        return np.concatenate([product(left[..., i : i + height, :], right) for i in range(0, m, height)], axis=-2)
    width = max(1, most // m)
    return np.concatenate([product(left, right[..., j : j + width]) for j in range(0, n, width)], axis=-1)


def frozen(values: ArrayLike, field: str, ndim: int) -> Array:
    """A read-only, contiguous float64 copy with `ndim` axes, none of them empty, all values finite."""
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ScenarioError(field, values, "not an array of numbers", "real numbers") from error
    if array.ndim != ndim or array.size == 0:
        raise ScenarioError(field, array.shape, "wrong shape", f"{ndim} axes, none of them empty")
    if not np.isfinite(array).all():
        raise ScenarioError(field, array[~np.isfinite(array)][0], "not finite", "finite numbers")
    array.setflags(write=False)
    return array


def same_length(features: Array, labels: Array, field: str) -> None:
    if len(features) != len(labels):
        raise ScenarioError(field, len(labels), "not one for each record", f"{len(features)} values")


def nonnegative(value: float, field: str, most: float = math.inf) -> float:
    if not (math.isfinite(value) and value >= 0):
        raise ScenarioError(field, value, "negative or not finite", "a number >= 0")
    if value > most:
        raise ScenarioError(field, value, "out of range", f"a number >= 0 and <= {most:g}")
    return float(value)


def whole(value: object, field: str, least: int = 1, most: int | None = None) -> int:
    """`value` if it is an int in [least, most]; a bool is none."""
    allowed = f"an integer >= {least}" + ("" if most is None else f" and <= {most}")
    if not isinstance(value, int) or isinstance(value, bool):
        raise ScenarioError(field, value, "not an integer", allowed)
    if value < least or (most is not None and value > most):
        raise ScenarioError(field, value, "out of range", allowed)
    return value


def unknown(field: str, name: str, names: Iterable[str]) -> ScenarioError:
    """The error for a name that is none of `names`, which it lists with the nearest first."""
    ranked = sorted(names, key=lambda known: -SequenceMatcher(None, str(name).lower(), known).ratio())
    return ScenarioError(
        field, name, f"unknown{did_you_mean(near(str(name), ranked, 1))}", ", ".join(ranked) or "none"
    )


def positive_step(step: float) -> float:
    if not (math.isfinite(step) and step > 0):
        raise ProtocolError(f"proximal: step = {step!r}, but the step is a finite number > 0")
    return step
