"""Operands of NumPy's functions: plain numbers, arrays that are followed, and lists and mappings of both."""

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np

from attacks.audit.followed import kinds
from attacks.audit.followed.kinds import PUBLIC, Kind, Operand, What

_LISTS = list, tuple, deque
asarray = np.asarray
"""Not followed, even while NumPy's makers of arrays are."""


class Held:
    """What is followed: its plain numbers, and of what kind they are; by names that no code asks an array for."""

    __slots__ = ("_numbers",)
    _numbers: Any

    @property
    def _kind(self) -> Kind:
        raise NotImplementedError


def is_followed(value: object) -> bool:
    return issubclass(type(value), Held)  # `isinstance` asks its `__class__`


def value_of(value: Any) -> Any:
    """Its plain numbers, if it is followed."""
    return value._numbers if is_followed(value) else value


def kind_of(value: Any) -> Kind:
    """Of what kind a value is, or those of a list."""
    if is_followed(value):
        return value._kind
    if isinstance(value, _LISTS):
        return kinds.joined([kind_of(one) for one in cast("Sequence[Any]", value)])
    return PUBLIC


def is_private(value: Any) -> bool:
    """Whether it is made of private answers."""
    return kind_of(value).what not in (What.PUBLIC, What.SEEN)


def plain_of(value: Any) -> Any:
    """The same with the numbers of what is followed, within lists and mappings too."""
    if is_followed(value):
        return value._numbers
    if isinstance(value, _LISTS):
        plain = list(map(plain_of, cast("Sequence[Any]", value)))
        return tuple(plain) if isinstance(value, tuple) else plain
    if type(value) is dict:
        return {name: plain_of(one) for name, one in cast("Mapping[str, object]", value).items()}
    return value


def parts_of(at: Any) -> Sequence[Any]:
    return cast("tuple[Any, ...]", at) if isinstance(at, tuple) else (at,)


def plain_index(at: Any) -> tuple[Any, Kind | None]:
    """An index in plain numbers, and of what kind these are, if they are followed."""
    kind = kinds.bent([kind_of(one) for one in parts_of(at)])
    return plain_of(at), kind if kind.followed else None


def operand(value: Any) -> Operand:
    kind = kind_of(value)
    if kind.followed:
        return Operand(kind)
    one = type(value) is float or (type(value) is int and abs(value) < _WHOLE)
    return _public(float(value)) if one else _of_numbers(asarray(plain_of(value)))


_WHOLE = 2**53
"""Below this whole numbers are floats."""


@lru_cache(256)
def _public(number: float) -> Operand:
    return _of_numbers(asarray(number))


def _of_numbers(plain: Any) -> Operand:
    """Of what is public; by methods, for NumPy's functions look for what is followed in what they are given."""
    numbers = plain.dtype.kind in "biuf"
    number = float(plain.flat[0]) if numbers and plain.size == 1 else math.nan
    sizes = np.abs(plain[plain != 0].astype(np.float64)) if numbers else np.ones(0)
    orders = np.log10(sizes) if np.isfinite(sizes).all() else np.array([math.inf])
    span, large = float(np.abs(orders).max(initial=0.0)), float(orders.max(initial=0.0))
    positive, negative = (numbers and bool((plain * sign >= 0).all()) for sign in (1.0, -1.0))
    return Operand(PUBLIC, positive, numbers and not plain.any(), plain.size == 1, number, span, negative, large)


def has_numbers(value: Any) -> bool:
    """Whether it is a number, or an array or lists of such: no object that is handed them."""
    if is_followed(value) or isinstance(value, np.ndarray):
        return asarray(value_of(value)).dtype != object
    if isinstance(value, _LISTS):
        return all(map(has_numbers, cast("Sequence[Any]", value)))
    plain = slice | range | bool | int | float | complex | str | np.generic | type | np.dtype
    return value is None or value is Ellipsis or isinstance(value, plain)


def are_bools(found: Any) -> bool:
    return all(asarray(value_of(one)).dtype == bool for one in leaves(found))


def are_fractions(given: Sequence[Any]) -> bool:
    """Whether any has fractions: no power of a whole number is one."""
    return any(asarray(value_of(one)).dtype.kind not in "bui" for one in given)


def of_masks(given: Iterable[Any]) -> bool:
    """Whether numbers are made of masks, such as how many of them hold."""
    return any(is_followed(one) and one.dtype == bool and kind_of(one).followed for one in leaves(list(given)))


def leaves(value: Any) -> list[Any]:
    """What is in lists and mappings, within one another too."""
    if isinstance(value, _LISTS):
        return [leaf for one in cast("Sequence[Any]", value) for leaf in leaves(one)]
    if isinstance(value, dict):
        return leaves(list(cast("Mapping[str, object]", value).values()))
    return [value]
