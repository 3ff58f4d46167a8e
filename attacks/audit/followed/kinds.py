"""What a followed value is of private answers, noise, and all that was seen: the rules of NumPy's operations.

`PUBLIC` values are of none of these, `SEEN` ones are made of what was seen alone, in any way. `AFFINE` ones are
affine in private answers, with factors that are public. A clip is no affine map, but made of few steps: ‖g‖ is a
`SIZE` of g, 1/max(‖g‖, c) a `FACTOR`, and g times a factor of g is one more value that others may be affine in. The
factors that these rules make are monotone in the size, with at most one threshold, so that no small interval of sizes
has a factor of its own. All else is `BENT`.

`source` is the value that a size or a factor is of, and, of an affine value, what it is a multiple of.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class What(Enum):
    """How a value depends on what is private or seen."""

    PUBLIC = "public"
    SEEN = "seen"
    AFFINE = "affine"
    ABSOLUTE = "absolute"
    """|v| of each coordinate of an affine v."""
    SQUARE = "square"
    """v² of each coordinate."""
    SIZE = "size"
    """A norm of v, or what grows with it."""
    FACTOR = "factor"
    """What shrinks as a norm of v grows."""
    GATED = "gated"
    """A factor with a threshold: it may scale v, and no more."""
    GATE = "gate"
    """Whether a norm of v is above a public number."""
    ZERO = "zero"
    """Whether a norm of v is 0, or above 0."""
    SIDE = "side"
    """Whether each coordinate of v is above a public number."""
    BENT = "bent"


class Kind(NamedTuple):
    """What a value is, and of which source."""

    what: What
    source: object = None

    @property
    def followed(self) -> bool:
        """Whether it depends on anything that is private or was seen."""
        return self.what is not What.PUBLIC


class Operand(NamedTuple):
    """An argument of an operation: its kind; of public numbers whether all are ≥ 0, or 0, and whether it is one."""

    kind: Kind
    positive: bool = False
    zero: bool = False
    single: bool = False

    @property
    def what(self) -> What:
        return self.kind.what


@dataclass(frozen=True, eq=False)
class _Scaled:
    """Source of what a factor `of` another source scales."""

    of: object


PUBLIC, SEEN, BENT = Kind(What.PUBLIC), Kind(What.SEEN), Kind(What.BENT)
_KNOWN, _LINEAR = {What.PUBLIC, What.SEEN}, {What.PUBLIC, What.SEEN, What.AFFINE}


def fresh() -> Kind:
    """An affine value that is a multiple of no other."""
    return Kind(What.AFFINE, object())


def of_known(kinds: Iterable[Kind]) -> Kind | None:
    """Of anything that is made of these values alone, where all are public or were seen."""
    found = {kind.what for kind in kinds}
    return None if found - _KNOWN else SEEN if What.SEEN in found else PUBLIC


def bent(kinds: Iterable[Kind]) -> Kind:
    """Of what is made of these values in a way that no rule is about."""
    return of_known(kinds) or BENT


def joined(kinds: Sequence[Kind]) -> Kind:
    """Of an array that has these values in it, or of their sum."""
    some = [kind for kind in kinds if kind.followed]
    if (known := of_known(kinds)) is not None:
        return known
    if all(kind.what in _LINEAR for kind in some):
        return some[0] if len(some) == len(kinds) == 1 else fresh()
    return some[0] if len(set(some)) == 1 and len(some) == len(kinds) else BENT


_MONOTONE = What.SIZE, What.FACTOR
_ELEMENTWISE = What.ABSOLUTE, What.SQUARE


def times(a: Operand, b: Operand) -> Kind:
    if (known := of_known((a.kind, b.kind))) is not None:
        return known
    if not b.kind.followed:
        a, b = b, a
    if not a.kind.followed:
        if b.what is What.AFFINE:
            return b.kind if a.single else fresh()
        scales = b.what in (*_MONOTONE, *_ELEMENTWISE) and a.positive
        return b.kind if scales else BENT
    both = {a.what, b.what}
    if a.kind.source is not b.kind.source or a.kind.source is None:
        return BENT
    if both == {What.AFFINE}:
        return Kind(What.SQUARE, a.kind.source)
    if both == {What.AFFINE, What.FACTOR}:
        return Kind(What.AFFINE, _Scaled(a.kind.source))
    return fresh() if both == {What.AFFINE, What.GATED} else BENT


def over(a: Operand, b: Operand) -> Kind:
    if not b.kind.followed or of_known((a.kind, b.kind)) is not None:
        return times(a, b)
    if b.what is What.SIZE and not a.kind.followed:
        return Kind(What.FACTOR, b.kind.source) if a.positive else BENT
    if b.what is What.SIZE and a.what is What.AFFINE and a.kind.source is b.kind.source:
        return Kind(What.AFFINE, _Scaled(a.kind.source))
    return BENT


def plus(a: Operand, b: Operand) -> Kind:
    for one, other in ((a, b), (b, a)):
        if one.what in (What.SIZE, What.SQUARE) and not other.kind.followed:
            return one.kind if other.positive else BENT
    return minus(a, b)


def minus(a: Operand, b: Operand) -> Kind:
    return of_known((a.kind, b.kind)) or (fresh() if {a.what, b.what} <= _LINEAR else BENT)


def bounded(a: Operand, b: Operand) -> Kind:
    """The larger or the smaller of each pair."""
    if (known := of_known((a.kind, b.kind))) is not None:
        return known
    for one, other in ((a, b), (b, a)):
        if not other.kind.followed:
            return one.kind if one.what in _MONOTONE else fresh() if one.what is What.AFFINE else BENT
    return BENT


def compared(a: Operand, b: Operand) -> Kind:
    if (known := of_known((a.kind, b.kind))) is not None:
        return known
    for one, other in ((a, b), (b, a)):
        if not other.kind.followed and one.kind.followed:
            if one.what is What.SIZE:
                return Kind(What.ZERO if other.zero else What.GATE, one.kind.source)
            return Kind(What.SIDE, one.kind.source) if one.what is What.AFFINE else BENT
    return BENT


def equal(a: Operand, b: Operand) -> Kind:
    """Whether the numbers of each pair are equal."""
    for one, other in ((a, b), (b, a)):
        if one.what is What.SIZE and not other.kind.followed and other.zero:
            return Kind(What.ZERO, one.kind.source)
    return bent((a.kind, b.kind))


def _of(kind: Kind) -> object:
    return kind.source.of if isinstance(kind.source, _Scaled) else kind.source


def chosen(gate: Kind, a: Operand, b: Operand) -> Kind:
    """One of each pair, as a mask has it."""
    some = [one for one in (a, b) if one.kind.followed]
    if gate.what is What.PUBLIC:
        return joined([a.kind, b.kind])
    if (known := of_known((gate, a.kind, b.kind))) is not None:
        return known
    if gate.what not in (What.GATE, What.SIDE, What.ZERO) or any(_of(one.kind) is not gate.source for one in some):
        return BENT
    kinds = {one.what for one in some}
    if gate.what is What.ZERO and kinds == {What.SIZE}:
        return some[0].kind
    if gate.what is What.SIDE:  # one side is cut to a constant
        return fresh() if kinds == {What.AFFINE} and len(some) == 1 else BENT
    if kinds == {What.AFFINE}:
        return fresh()
    return Kind(What.GATED, gate.source) if kinds <= {What.FACTOR} else BENT


def absolute(a: Operand) -> Kind:
    if a.what is What.AFFINE:
        return Kind(What.ABSOLUTE, a.kind.source)
    return a.kind if a.what in _MONOTONE else bent([a.kind])


def square(a: Operand) -> Kind:
    return Kind(What.SQUARE, a.kind.source) if a.what is What.AFFINE else bent([a.kind])


def root(a: Operand) -> Kind:
    return a.kind if a.what in _MONOTONE else bent([a.kind])


def size_of(a: Operand) -> Kind:
    """A norm, or a sum or maximum of absolute values or squares."""
    some = a.what in (What.AFFINE, *_ELEMENTWISE)
    return Kind(What.SIZE, a.kind.source) if some else a.kind if a.what is What.SIZE else bent([a.kind])
