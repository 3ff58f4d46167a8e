"""Conditions that only end a run are no readings, unless they keep something of what they ask, or are caught."""

import builtins
import collections
import contextlib
import functools
import io
import math
import os
import sys
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from attacks.audit.followed.reading import reading
from netsim.arrays import Array
from scenarios.stages.worlds import worlds
from tests.attacks.audit.followed.checks import Does
from tests.attacks.auditing import quadratic_world

Code = Callable[[Array, Array], Any]
"""What is done with the sizes of a gradient, of shape (replicas, 1), and a public array of one number."""
KEPT: list[Any] = [0.0]


def keep(*given, **named):
    KEPT[:] = [*given, *named.values()]
    return 1.0


class Spy:
    """Keeps what its operators are handed."""

    __add__ = __radd__ = __mul__ = __rmul__ = __getitem__ = __call__ = __ge__ = __contains__ = __format__ = (
        lambda self, one: keep(one) and str(one)
    )


SPY = Spy()


class Number(np.float64):
    def __ge__(self, other):
        return keep(other)


class Rows(np.ndarray):
    def __ge__(self, other):
        return keep(other)


class Table(dict[float, float]):
    def __missing__(self, key):
        return keep(key)


class Instances(type):
    def __instancecheck__(cls, one):
        return bool(keep(one))


class Odd(metaclass=Instances):
    pass


class Hidden:
    def __getattribute__(self, name):
        return SPY


class Given:
    def __get__(self, of, kind=None):
        return SPY

    def __set__(self, of, value):
        pass


class Holds:
    limit = Given()


class Slotted:
    __slots__ = ("limit",)


def walrus(n, box):
    assert (size := float(n[0, 0])) >= 0  # noqa: RUF018
    return size


def into_out(n, box):
    assert np.all(np.add(float(n[0, 0]), 0.0, out=box) >= 0)


def into_third(n, box):
    assert isinstance(np.maximum(float(n[0, 0]), 0.0, box), np.ndarray)


def into_unpacked(n, box):
    assert np.all(np.add(*[float(n[0, 0]), 0.0, box]) >= 0)


def into_unpacked_names(n, box):
    assert np.all(np.add(float(n[0, 0]), 0.0, **{"out": box}) >= 0)  # noqa: PIE804


def copied(n, box):
    assert np.copyto(box, float(n[0, 0])) is None


def summed(n, box):
    assert np.zeros((1, 1)).sum(axis=0, initial=float(n[0, 0]), out=box) >= 0


def summed_by_place(n, box):
    assert np.zeros((1, 1)).sum(0, float, box, initial=float(n[0, 0])) >= 0


def reduced(n, box):
    assert np.add.reduce([[float(n[0, 0])]], 0, None, box) >= 0


def no_number(n, box):
    box[:] = np.nan
    assert np.all(np.nan_to_num(box, False, float(n[0, 0])) >= 0)


def filled(n, box):
    assert box.fill(float(n[0, 0])) is None


def scattered(n, box):
    assert np.add.at(box, 0, float(n[0, 0])) is None


def by_key(n, box):
    assert max([float(n[0, 0])], key=KEPT.append) >= 0


def by_start(n, box):
    assert sum([float(n[0, 0])], SPY)


def appended(n, box):
    assert KEPT.append(float(n[0, 0])) is None


def part_way(n, box):
    levels = iter([3.0, 4.0, np.inf])
    assert any(float(n[0, 0]) <= level for level in levels)
    return len(list(levels))


def part_way_by_in(n, box):
    levels = iter([False, True])
    if (3.0 < float(n[0, 0]) < 4.0) not in levels:
        raise ValueError
    return len(list(levels))


def part_way_by_zip(n, box):
    numbers = iter(range(3))
    assert len(list(zip(range(1 + int(float(n[0, 0]) > 40.0)), numbers))) > 0  # noqa: B905
    return next(numbers)


def into_an_item(n, box):
    assert any(True for KEPT[0] in [float(n[0, 0])])


def into_a_slice(n, box):
    if not [KEPT for KEPT[:] in [[float(n[0, 0])]]]:
        raise ValueError


def into_an_attribute(n, box):
    assert all(True for SPY.limit in [float(n[0, 0])])


def looked_up(n, box):
    counts = collections.defaultdict(bool)
    assert not [counts[k] for k in range(int(float(n[0, 0]) > 40.0))]
    return len(counts)


def missing(n, box):
    table = Table()
    assert table[float(n[0, 0])]


def added(n, box):
    assert float(n[0, 0]) + SPY


def contained(n, box):
    assert float(n[0, 0]) in SPY


def in_a_chain(n, box):
    assert 0 <= float(n[0, 0]) <= SPY


def in_a_list(n, box):
    spies = {"a": [(1, SPY)]}
    assert spies["a"][0][1] >= float(n[0, 0])


def formatted(n, box):
    assert f"{SPY:{float(n[0, 0])!r}}"


def of_objects(n, box):
    spies = np.array([SPY], dtype=object)
    assert np.all(spies * float(n[0, 0]))


def of_a_number(n, box):
    limit = Number(1.0)
    assert limit >= float(n[0, 0])


def of_an_array(n, box):
    limit = np.zeros(1).view(Rows)
    assert limit >= float(n[0, 0])


def of_a_class(n, box):
    assert isinstance(float(n[0, 0]), Odd)


def hidden(n, box):
    limits = Hidden()
    object.__getattribute__(limits, "__dict__")["limit"] = 1.0
    assert float(n[0, 0]) <= limits.limit


def described(n, box):
    limits = Holds()
    vars(limits)["limit"] = 1.0
    assert float(n[0, 0]) <= limits.limit


def slotted(n, box):
    limits = Slotted()
    limits.limit = SPY
    assert float(n[0, 0]) <= limits.limit


def of_a_module(n, box):
    limits = types.ModuleType("limits")
    limits.limit = SPY
    assert float(n[0, 0]) <= limits.limit


def shadowed(n, box):
    assert all(max(float(n[0, 0])) is None for max in [box.fill])  # noqa: A001


def own_function(n, box):
    assert keep(float(n[0, 0]))


def wrapped(n, box):
    mine = functools.wraps(np.sum)(lambda size: keep(size))
    assert mine(float(n[0, 0])) >= 0


def cached(n, box):
    mine = functools.lru_cache(np.sum)
    assert mine(float(n[0, 0])) >= 0


def named_as_another(n, box):
    mine = lambda size: keep(size)  # noqa: E731
    mine.__module__ = math.__name__
    assert mine(float(n[0, 0]))


def of_python(n, box):
    mine = np.frompyfunc(keep, 1, 1)
    assert mine(float(n[0, 0]))


def replaced(n, box):
    known, builtins.round = round, keep
    try:
        assert round(float(n[0, 0]))
    finally:
        builtins.round = known


def from_a_call(n, box):
    if float(n[0, 0]) < 0:
        raise ValueError from keep(1)


def set_before(n, box):
    if float(n[0, 0]) < 0:
        text = keep(1)
        raise ValueError(text)


def another_error(n, box):
    error = ValueError
    if float(n[0, 0]) < 0:
        error = 1.0
        raise error


def by_a_test(n, box):
    np.testing.assert_array_less(-1.0, n, SPY(float(n[0, 0])))


def by_an_own_test(n, box):
    assert_small = keep
    assert_small(float(n[0, 0]))


def by_a_caught_test(n, box):
    with contextlib.suppress(AssertionError):
        np.testing.assert_array_less(n, 1e30)


class Goes:
    pass


def dropped(check: Callable[[Array], None]) -> Code:
    """A callback of an object that goes: Python drops its errors."""

    def code(n, box):
        shown, goes = sys.unraisablehook, [Goes()]
        one = weakref.ref(goes[0], lambda _: check(n))
        sys.unraisablehook = lambda _: None
        goes.clear()
        sys.unraisablehook = shown
        return one

    return code


def small(n):
    assert n.max() < 1e30


def dropped_at_once(n, box):
    def check(_):
        assert all(float(size) < 1e30 for size in n[:, 0])

    goes = Goes()
    one = weakref.ref(goes, check)
    del goes
    return one


def dropped_with_an_argument(n, box):
    kept, calls = [], []

    def check(_):
        assert len(calls) < 1 or n.max() < 1e30
        calls.append(1)

    def made():
        goes = Goes()
        kept.append(weakref.ref(goes, check))
        return goes

    check(made())


def finalized(n, box):
    goes = Goes()
    weakref.finalize(goes, small, n)
    del goes


def closed(n, box):
    def rows():
        try:
            yield 1
        finally:
            assert n.max() < 1e30

    kept = [rows()]
    next(kept[0])
    kept.clear()


class Same:
    """Equal to all, and called to catch errors."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other):
        return True

    def __call__(self):
        return contextlib.suppress(ValueError)


def caught_by_an_equal(n, box):
    equal = Same()
    with equal():
        if n.max() > 1e30:
            raise ValueError


def caught_by_another(n, box):
    quiet = contextlib.suppress
    with quiet(ValueError):
        quiet = contextlib.nullcontext
        if n.max() > 1e30:
            raise ValueError
    return quiet


@contextlib.contextmanager
def catching():
    with contextlib.suppress(ValueError):
        yield


catching.__wrapped__ = np.sum


def caught_by_a_wrapper(n, box):
    with catching():
        if n.max() > 1e30:
            raise ValueError


class Missing:
    def __init__(self, n):
        self.n = n

    @property
    def small(self):
        assert [1.0, "a"][int(self.n.max() > 1e30)].real
        return True


def missing_by_a_property(n, box):
    return getattr(Missing(n), "small", False)


def kept_by_an_answer(n, box):
    assert keeps_it(n)


def keeps_it(n):
    return keep(float(n[0, 0])) > 0


def spied_on_in_an_answer(n, box):
    assert is_above(n)


def is_above(n, spy=SPY):
    return spy >= n.max()


def by_an_answer_of_two_lines(n, box):
    assert in_two_lines(n)


def in_two_lines(n):
    KEPT[0] = float(n[0, 0])
    return True


def by_a_rare_answer(n, box):
    box[:] = 1.0 if is_small(n, 3.0) else 0.0


def by_a_caught_answer(n, box):
    try:
        assert is_small(n, 3.0)
    except AssertionError:
        box[:] = 1.0


def printed_to_a_buffer(n, box):
    print(n[0, 0], file=io.StringIO())


def printed_elsewhere(n, box):
    with contextlib.redirect_stdout(io.StringIO()):
        print(n[0, 0])


def printed_to_an_own_stream(n, box):
    before, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO())
    print(n[0, 0])
    sys.stdout = before


def printed_by_an_own_method(n, box):
    stream = io.TextIOWrapper(io.FileIO(os.dup(1), "w"))
    stream.write = keep
    before, sys.stdout = sys.stdout, stream
    print(n[0, 0])
    sys.stdout = before


def printed_of_an_own_class(n, box):
    print(f"{SPY:{n[0, 0]}}")


def printed_in_a_try(n, box):
    try:
        print(int(n[0, 0]))
    except ValueError:
        box[:] = 1.0


KEEPS = (
    kept_by_an_answer, spied_on_in_an_answer, by_an_answer_of_two_lines, by_a_rare_answer, by_a_caught_answer,
    walrus, into_out, into_third, into_unpacked, into_unpacked_names, copied, summed, summed_by_place, reduced,
    no_number, filled, scattered, by_key, by_start, appended, part_way, part_way_by_in, part_way_by_zip,
    into_an_item, into_a_slice, into_an_attribute, looked_up, missing, added, contained, in_a_chain, in_a_list,
    formatted, of_objects, of_a_number, of_an_array, of_a_class, hidden, described, slotted, of_a_module, shadowed,
    own_function, wrapped,
    cached, named_as_another, of_python, replaced, from_a_call, set_before, another_error, by_a_test, by_an_own_test,
    by_a_caught_test, dropped(small), dropped_at_once, dropped_with_an_argument, finalized,
    closed, caught_by_an_equal, caught_by_another,
    caught_by_a_wrapper, missing_by_a_property,
    printed_to_a_buffer, printed_elsewhere, printed_to_an_own_stream, printed_by_an_own_method,
    printed_of_an_own_class, printed_in_a_try,
)  # fmt: skip
"""Code that keeps a size, or does something else where one is large, in what looks like the end of a run."""


class DivergedError(RuntimeError):
    pass


@dataclass(frozen=True)
class Guard:
    limit: float = 1e30

    def check(self, n):
        assert n.max() < self.limit, f"over {self.limit}: {n.max():.3g}"

    def __call__(self, n):
        if (n > self.limit).any():
            raise DivergedError(f"{n}")

    @staticmethod
    def finite(n):
        assert np.isfinite(n).all()


class Stricter(Guard):
    def check(self, n):
        super().check(n)


class Row(NamedTuple):
    n: Any


def of_masks(n, box):
    assert (n >= 0).all()
    assert (np.abs(n) < 1e300).all(), "huge"
    assert 0 <= n[0, 0] < np.inf and not (n < 0).any()  # noqa: PT018
    if (n < 0).any():
        raise ValueError(f"{n}")


def of_views(n, box):
    assert n.ravel()[0] >= 0 and n.flatten()[0] >= 0 and n.T.min() >= 0 and n.tolist()  # noqa: PT018
    assert n.item(0) >= 0
    assert np.maximum.reduce(n, axis=None) >= 0
    assert isinstance(float(n[0, 0]), float)


def of_rows(n, box):
    assert all(float(size) >= 0 for size in n[:, 0])
    assert not any(math.isnan(a) or b < 0 for a, b in zip(n[:, 0], n[:, 0], strict=True))
    assert max([float(size) - k for k, row in enumerate(n) for size in row]) < 1e30


def by_tests(n, box):
    np.testing.assert_array_less(-1, n)
    np.testing.assert_allclose(n, 1.0 * n, rtol=1e-6, err_msg="other numbers")


def by_methods(n, box):
    guard = Guard()
    guard.check(n)
    guard(n)
    Guard()(n)
    Guard().check(n)
    Guard.finite(n)
    Stricter().check(n)
    check = functools.partial(guard.check, n)
    check()


def of_names(n, box):
    guard, row, table, past = Guard(), Row(n), {"limit": 1e30}, collections.deque([n])
    assert row.n.max() < guard.limit
    assert past[-1].max() < table["limit"] * np.float64(1.0)


def with_a_text(n, box):
    if n.max() > 1e30:
        text = f"{n.max()} of {len(n)}"
        print(text)
        raise DivergedError(text) from None


def in_a_generator(n, box):
    def rows():
        for row in n:
            assert row.min() >= 0
            yield row

    return [len(row) for row in rows()], list(rows())


def is_small(x, most=1e30):
    """Whether all numbers are."""
    return bool(np.all(np.abs(x) < most))


def sizes_are(ok):
    return ok is not None and len(ok) > 0


def by_answers(n, box):
    assert is_small(n), "a large number"
    assert not is_small(n, -1.0)
    if not is_small(n):
        raise DivergedError("it diverges")
    assert sizes_are(n.tolist())


def by_print(n, box):
    print(f"a size of {n[0, 0]:.3f}", np.max(n), float(n[0, 0]), end=".\n")


ENDS = (
    by_answers,
    of_masks,
    of_views,
    of_rows,
    by_tests,
    by_methods,
    of_names,
    with_a_text,
    in_a_generator,
    by_print,
)
"""Code that only ends the run, or says something."""


def read(code):
    box = np.zeros(1)

    def asks(g, *_):
        code(np.linalg.norm(g, axis=-1, keepdims=True), box)
        return 0 * g

    simulation, pair = quadratic_world(Does(asks))
    one = worlds(simulation, pair.agent, pair.hypotheses[1], 2)(0, 0).replica(0)
    return reading(one.recording(pair.agent)).read


@pytest.mark.parametrize("code", KEEPS)
def test_a_condition_that_keeps_what_it_asks_is_named(code):
    assert read(code)


@pytest.mark.parametrize("code", ENDS)
def test_a_condition_that_only_ends_the_run_is_not(code):
    assert not read(code)
