"""What a followed value is of private answers, noise, and all that was seen: the rules of NumPy's operations.

`PUBLIC` values are of none of these, `SEEN` ones are made of what was seen alone, in any way. `AFFINE` ones are
affine in private answers, with factors that are public. A clip is no affine map, but made of few steps: ‖g‖ is a
`SIZE` of g, 1/max(‖g‖, c) a `FACTOR`, and g times a factor of g is one more value that others may be affine in. The
factors that these rules make are monotone in the size, with at most one threshold, so that no small interval of sizes
has a factor of its own. All else is `BENT`.

`source` is the value that a size or a factor is of, and, of an affine value, what it is a multiple of.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from typing import NamedTuple, cast


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
    """What a value is, and of which source. `clips` are those in an affine value, each with the answer that it is of:
    two of one answer may make a window of it."""

    what: What
    source: object = None
    clips: frozenset[tuple[object, object]] = frozenset()
    span: float = 0.0
    """Decimal orders by which it was scaled, up and down together: what overflows has a threshold of its own."""

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
    number: float = math.nan
    """Of one public number, that."""
    span: float = 0.0
    """Of public numbers: decimal orders of the largest or the smallest, not 0, from 1; ∞ where one is not finite."""
    negative: bool = False
    """Of public numbers: whether all are ≤ 0."""
    large: float = 0.0
    """Of public numbers: decimal orders of the largest, where it is above 1."""

    @property
    def what(self) -> What:
        return self.kind.what


@dataclass(frozen=True, eq=False)
class _Scaled:
    """Source of what a factor `of` another source scales."""

    of: object


@dataclass(frozen=True, eq=False)
class _Side:
    """Source of whether each coordinate `of` another source is above a number, or below it."""

    of: object
    at: float
    above: bool


PUBLIC, SEEN, BENT = Kind(What.PUBLIC), Kind(What.SEEN), Kind(What.BENT)
SPAN = 100.0
"""Orders by which a number may be scaled: squares of a size of 10⁻¹⁰⁰ to 10¹⁰⁰ are still numbers."""
STEADY, ROUNDED = 0.5, 12.0
"""Orders of a factor of which many may follow each other, and orders between a sum and a part of it from which on
rounding of that part may be seen."""
_KNOWN, _LINEAR = {What.PUBLIC, What.SEEN}, {What.PUBLIC, What.SEEN, What.AFFINE}


@dataclass(frozen=True, eq=False)
class _Stack:
    """Source of a stack of several answers."""

    of: frozenset[object]


def answer() -> Kind:
    """A private answer. What is made of its size alone may be a clip; of a sum, x − g, it may be a ball around x."""
    return Kind(What.AFFINE, object())


def linear(kinds: Iterable[Kind]) -> Kind:
    """Of sums and public multiples of these values."""
    some = list(kinds)
    if (known := of_known(some)) is not None:
        return known
    clips = frozenset[tuple[object, object]]().union(*(kind.clips for kind in some))
    span = max(kind.span for kind in some)
    twice = len({answer for answer, _ in clips}) < len(clips)
    return BENT if twice or any(kind.what not in _LINEAR for kind in some) else Kind(What.AFFINE, None, clips, span)


def _clipped(kind: Kind, source: object = None) -> Kind:
    """A clip of an answer, or of its clip; of a stack of answers one of each."""
    root, token = kind.source, object()
    while isinstance(root, _Scaled | _Side):
        root = root.of
    roots = root.of if isinstance(root, _Stack) else [root]
    return Kind(What.AFFINE, source, frozenset((one, token) for one in roots), kind.span)


def stacked(kinds: Sequence[Kind]) -> Kind:
    """Of an array that has these values beside each other; of several answers each may be clipped there."""
    answers = {kind.source for kind in kinds if kind.what is What.AFFINE and not kind.clips}
    answers -= {one for one in answers if one is None or isinstance(one, _Scaled | _Side | _Stack)}
    if len(answers) == len(kinds) > 0:
        return Kind(What.AFFINE, _Stack(frozenset(answers)))
    return joined([*kinds, PUBLIC])


def of_known(kinds: Iterable[Kind]) -> Kind | None:
    """Of anything that is made of these values alone, where all are public or were seen."""
    found = {kind.what for kind in kinds}
    return None if found - _KNOWN else SEEN if What.SEEN in found else PUBLIC


MASKS = What.GATE, What.SIDE, What.ZERO


def bent(kinds: Iterable[Kind]) -> Kind:
    """Of what is made of these values in a way that no rule is about."""
    return of_known(kinds) or BENT


def joined(kinds: Sequence[Kind]) -> Kind:
    """Of an array that has these values in it, or of their sum."""
    some = [kind for kind in kinds if kind.followed]
    if (known := of_known(kinds)) is not None:
        return known
    if all(kind.what in _LINEAR for kind in some):
        return some[0] if len(some) == len(kinds) == 1 else linear(some)
    return some[0] if len(set(some)) == 1 and len(some) == len(kinds) else BENT


def _one_answer(a: Operand) -> bool:
    """Whether it is a multiple of one answer, or its clip."""
    return a.what is What.AFFINE and a.kind.source is not None


_MONOTONE = What.SIZE, What.FACTOR
_ELEMENTWISE = What.ABSOLUTE, What.SQUARE


def times(a: Operand, b: Operand) -> Kind:
    if (known := of_known((a.kind, b.kind))) is not None:
        return known
    if not b.kind.followed:
        a, b = b, a
    if not a.kind.followed:
        scaled = b.kind._replace(span=b.kind.span + (a.span if a.span > STEADY else 0.0))
        if b.what is What.AFFINE and scaled.span < SPAN:
            return scaled if a.single else linear([scaled])
        scales = b.what in (*_MONOTONE, *_ELEMENTWISE) and a.positive and scaled.span < SPAN
        return scaled if scales else BENT
    both = {a.what, b.what}
    if a.kind.source is not b.kind.source or a.kind.source is None:
        return BENT
    if both == {What.AFFINE}:
        return Kind(What.SQUARE, a.kind.source, span=2 * a.kind.span)
    if both == {What.AFFINE, What.FACTOR}:
        return _clipped(_spanned(a.kind, b.kind.span), _Scaled(a.kind.source))
    return _clipped(_spanned(a.kind, b.kind.span)) if both == {What.AFFINE, What.GATED} else BENT


def over(a: Operand, b: Operand) -> Kind:
    if not b.kind.followed or of_known((a.kind, b.kind)) is not None:
        return times(a, b)
    if b.what is What.SIZE and not a.kind.followed:
        return Kind(What.FACTOR, b.kind.source, span=b.kind.span + a.span) if a.positive else BENT
    if b.what is What.SIZE and a.what is What.AFFINE and a.kind.source is b.kind.source is not None:
        return _clipped(_spanned(a.kind, b.kind.span), _Scaled(a.kind.source))
    return BENT


def _spanned(kind: Kind, span: float) -> Kind:
    return kind._replace(span=kind.span + span)


def plus(a: Operand, b: Operand) -> Kind:
    for one, other in ((a, b), (b, a)):
        if one.what in (What.SIZE, What.SQUARE) and not other.kind.followed:
            return one.kind if other.positive else BENT
    return minus(a, b)


def minus(a: Operand, b: Operand) -> Kind:
    for one, other in ((a, b), (b, a)):
        rounds = one.what is What.AFFINE and not other.kind.followed and not other.zero
        if rounds and one.kind.span + other.large >= ROUNDED:  # what is small is rounded to steps
            return BENT
    return linear((a.kind, b.kind))


def larger(a: Operand, b: Operand) -> Kind:
    """The larger of each pair."""
    return _bounded(a, b, a.negative or b.negative)


def smaller(a: Operand, b: Operand) -> Kind:
    return _bounded(a, b, a.positive or b.positive)


def _bounded(a: Operand, b: Operand, towards: bool) -> Kind:
    """One of each pair, as it is larger or smaller: a clip where that is `towards` 0. Cuts away from 0 leave narrow
    cones in which all coordinates are as they were."""
    if (known := of_known((a.kind, b.kind))) is not None:
        return known
    for one, other in ((a, b), (b, a)):
        if not other.kind.followed:
            if one.what in _MONOTONE:
                return one.kind
            return _clipped(one.kind, _Scaled(one.kind.source)) if towards and _one_answer(one) else BENT
    return BENT


def above(a: Operand, b: Operand) -> Kind:
    """Whether the first of each pair is the larger one."""
    if (known := of_known((a.kind, b.kind))) is not None:
        return known
    for one, other in ((a, b), (b, a)):
        if not other.kind.followed and one.kind.followed:
            if one.what is What.SIZE:
                large = other.span >= SPAN and not abs(other.number) < 1  # no answer is tried that is so large
                if large or isinstance(one.kind.source, _Scaled):  # a clip's need not grow with the answer's
                    return BENT
                return Kind(What.ZERO if other.zero else What.GATE, one.kind.source)
            return Kind(What.SIDE, _Side(one.kind.source, other.number, one is a)) if _one_answer(one) else BENT
    return BENT


def below(a: Operand, b: Operand) -> Kind:
    return above(b, a)


def equal(a: Operand, b: Operand) -> Kind:
    """Whether the numbers of each pair are equal."""
    for one, other in ((a, b), (b, a)):
        if one.what is What.SIZE and not other.kind.followed and other.zero:
            return Kind(What.ZERO, one.kind.source)
    return bent((a.kind, b.kind))


def _is_gated(gate: Kind, kind: Kind) -> bool:
    """Whether a mask is of the very numbers, or of the size of what they are a multiple of."""
    if isinstance(gate.source, _Side):
        return kind.source is gate.source.of
    affine = kind.what is What.AFFINE and isinstance(kind.source, _Scaled)
    return (cast("_Scaled", kind.source).of if affine else kind.source) is gate.source


def chosen(gate: Kind, a: Operand, b: Operand) -> Kind:
    """One of each pair, as a mask has it."""
    some = [one for one in (a, b) if one.kind.followed]
    if gate.what is What.PUBLIC:
        return joined([a.kind, b.kind])
    if (known := of_known((gate, a.kind, b.kind))) is not None:
        return known
    kinds = {one.what for one in some}
    if gate.what not in MASKS or not all(_is_gated(gate, one.kind) for one in some):
        return BENT
    if gate.what is What.ZERO and (kinds == {What.SIZE} or (kinds == {What.AFFINE} and (a.zero or b.zero))):
        return some[0].kind
    if kinds == {What.AFFINE} and gate.what is What.GATE and len(some) == 2:
        return _clipped(max((one.kind for one in some), key=attrgetter("span")))
    if kinds == {What.AFFINE} and isinstance(gate.source, _Side):  # one side is cut, to where it begins, towards 0
        at, number = gate.source.at, a if b.kind.followed else b
        towards = number.negative if gate.source.above is (number is b) else number.positive
        return _clipped(some[0].kind, _Scaled(gate.source.of)) if at == number.number and towards else BENT
    span = max((one.kind.span for one in some), default=0.0)
    return Kind(What.GATED, gate.source, span=span) if kinds == {What.FACTOR} else BENT


def absolute(a: Operand) -> Kind:
    if _one_answer(a):
        return Kind(What.ABSOLUTE, a.kind.source, span=a.kind.span)
    return a.kind if a.what in _MONOTONE else bent([a.kind])


def square(a: Operand) -> Kind:
    return Kind(What.SQUARE, a.kind.source, span=2 * a.kind.span) if _one_answer(a) else bent([a.kind])


def inverse(a: Operand) -> Kind:
    return Kind(What.FACTOR, a.kind.source, span=a.kind.span) if a.what is What.SIZE else bent([a.kind])


def root(a: Operand) -> Kind:
    return a.kind if a.what in _MONOTONE else bent([a.kind])


def size_of(a: Operand) -> Kind:
    """A norm, or a sum or maximum of absolute values or squares."""
    if _one_answer(a) or a.what in _ELEMENTWISE:
        return Kind(What.SIZE, a.kind.source, span=a.kind.span)
    return a.kind if a.what is What.SIZE else bent([a.kind])
