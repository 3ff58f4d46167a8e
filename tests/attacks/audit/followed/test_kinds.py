"""What the rules call affine is affine, and what they call a clip is one: held against the numbers themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.audit.followed import kinds
from attacks.audit.followed.arrays import Followed, arrays_followed
from attacks.audit.followed.kinds import PUBLIC, SEEN, What
from attacks.audit.followed.operands import kind_of
from netsim.algorithms import Clip

MATRIX, ROW = np.arange(9.0).reshape(3, 3) / 4 - 1, np.array([1.0, -2.0, 0.5])

ONE = {  # of one array, (2, 3)
    "negative": lambda a: -a,
    "twice": lambda a: 2.0 * a,
    "halved": lambda a: a / 2,
    "by row": lambda a: a * ROW,
    "shifted": lambda a: a + ROW,
    "from": lambda a: ROW - a,
    "turned": lambda a: a @ MATRIX,
    "rolled": lambda a: np.roll(a, 1, axis=-1),
    "flipped": lambda a: a[:, ::-1],
    "mean": lambda a: a - np.mean(a, axis=-1, keepdims=True),
    "sum": lambda a: np.broadcast_to(a.sum(axis=-1, keepdims=True), (2, 3)),
    "cumulated": lambda a: np.cumsum(a, axis=-1),
    "einsum": lambda a: np.einsum("rd,de->re", a, MATRIX),
    "solved": lambda a: np.linalg.solve(MATRIX + 3 * np.eye(3), a.T).T,
    "copied": lambda a: np.array(a),
    "in place": lambda a: written(a),
    "squared": lambda a: a**2,
    "absolute": lambda a: np.abs(a),
    "clipped": lambda a: np.where(a > 1, a, 0.0) * a,
    "rounded": lambda a: np.rint(a),
    "exp": lambda a: np.exp(-np.abs(a)),
    "sorted": lambda a: np.sort(a, axis=-1),
    "sign": lambda a: np.sign(a) * ROW,
    "largest": lambda a: np.broadcast_to(a.max(axis=-1, keepdims=True), (2, 3)),
    "whole": lambda a: a.astype(int).astype(float),
}
TWO = {
    "plus": lambda a, b: a + b,
    "minus": lambda a, b: a - 0.5 * b,
    "stacked": lambda a, b: np.stack([a, b]).sum(axis=0),
    "listed": lambda a, b: np.mean([a, b], axis=0),
    "averaged": lambda a, b: np.average([a, b], axis=0),
    "beside": lambda a, b: np.concatenate([a[:, :1], b[:, 1:]], axis=-1),
    "put in": lambda a, b: put(a, b),
    "times": lambda a, b: a * b,
    "over": lambda a, b: a / (1 + b * b),
    "chosen": lambda a, b: np.where(a > b, a, b),
    "larger": lambda a, b: np.maximum(a, b),
}


def never(how, answers=None, *, fails=False):
    assert fails or answers is not None, how


def ignored(how, answers=None, *, fails=False):
    pass


def written(a):
    a = a.copy()
    a += ROW
    a[:, 0] *= 3.0
    return a


def put(a, b):
    a = a.copy()
    a[:, 1] = b[:, 2]
    return a


def of(steps, first, second):
    """The program of these steps: (name, which of all values before, and another one)."""
    values = [first, second]
    for name, i, j in steps:
        a, b = values[i % len(values)], values[j % len(values)]
        values.append(ONE[name](a) if name in ONE else TWO[name](a, b))
    return values[-1]


STEPS = st.lists(
    st.tuples(st.sampled_from([*ONE, *TWO]), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6
)
FEW = settings(max_examples=400, deadline=None)


@FEW
@given(STEPS)
def test_what_is_called_affine_is(steps):
    """f(u) + f(v) = f(u + v) + f(0), for numbers of all sizes; and nothing is read on the way."""
    read = list[str]()
    rng = np.random.default_rng(0)

    def noted(how, answers=None, *, fails=False):
        if answers is None:
            read.append(how)

    with arrays_followed(), np.errstate(all="ignore"):
        arguments = (Followed(rng.standard_normal((2, 3)), kinds.answer(), noted) for _ in range(2))
        found = of(steps, *arguments)
    assert read == []
    assert type(found) is Followed
    if kind_of(found).what is not What.AFFINE:
        return
    for size in (1e-3, 1.0, 1e3):
        one, two = (size * rng.standard_normal((2, 2, 3)) for _ in range(2))
        together, apart = of(steps, *(one + two)) + of(steps, *np.zeros((2, 2, 3))), of(steps, *one) + of(steps, *two)
        scale = np.max(np.abs(together)) + np.max(np.abs(apart)) + 1
        np.testing.assert_allclose(together, apart, rtol=0, atol=1e-9 * scale)


@FEW
@given(st.lists(st.tuples(st.sampled_from(["negative", "twice", "turned", "shifted", "flipped", "plus", "averaged"]),
                          st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6))  # fmt: skip
def test_what_is_made_by_sums_and_multiples_is_called_affine(steps):
    with arrays_followed():
        arguments = (Followed(np.ones((2, 3)), kinds.answer(), ignored) for _ in range(2))
        assert kind_of(of(steps, *arguments)).what is What.AFFINE


C = 1.5
CLIPS = {
    "class": Clip(C, "l2"),
    "factor": lambda g: g * np.minimum(1.0, C / np.linalg.norm(g, axis=-1, keepdims=True)),
    "over the larger": lambda g: g / np.maximum(1.0, np.linalg.norm(g, axis=-1, keepdims=True) / C),
    "padded": lambda g: g * np.minimum(1.0, C / (np.linalg.norm(g, axis=-1, keepdims=True) + 1e-6)),
    "root of squares": lambda g: g * (C / np.maximum(np.sqrt((g**2).sum(axis=-1, keepdims=True)), C)),
    "squares by einsum": lambda g: g / np.maximum(1, np.sqrt(np.einsum("rd,rd->r", g, g))[:, None] / C),
    "sum of absolutes": lambda g: g / np.maximum(1, np.sum(np.abs(g), axis=-1, keepdims=True) / C),
    "largest": lambda g: g / np.maximum(1, np.abs(g).max(axis=-1, keepdims=True) / C),
    "where": lambda g: where(g),
    "no division by zero": lambda g: g * np.minimum(1.0, C / safe(np.linalg.norm(g, axis=-1, keepdims=True))),
    "each number": lambda g: np.clip(g, -C, C),
    "by both ends": lambda g: np.maximum(np.minimum(g, C), -C),
    "of a half": lambda g: 0.5 * Clip(C, "l1")(0.5 * g),
    "one end at a time": lambda g: g.clip(min=-C).clip(max=C),
    "divided where it is long": lambda g: divided(g, np.linalg.norm(g, axis=-1, keepdims=True)),
    "of many ones": lambda g: g / np.maximum(np.ones_like(g), np.linalg.norm(g, axis=-1, keepdims=True) / C),
    "copyto where it is long": lambda g: copied(g, np.linalg.norm(g, axis=-1, keepdims=True)),
    "0 is 1": lambda g: g * np.minimum(1.0, C / one_for_0(np.linalg.norm(g, axis=-1, keepdims=True))),
    "one side at a time, in place": lambda g: sided(g.copy()),
    "0 stays 0": lambda g: guarded(g, np.linalg.norm(g, axis=-1, keepdims=True)),
    "0 stays 0, twice": lambda g: guarded_twice(g, np.sum(np.abs(g), axis=-1, keepdims=True)),
    "a mean of absolutes": lambda g: g / np.maximum(1, np.average(np.abs(g), axis=-1)[:, None]),
    "nan_to_num": lambda g: g * np.minimum(1.0, np.nan_to_num(C / np.linalg.norm(g, axis=-1, keepdims=True))),
}


def copied(g, norm):
    clipped = g.copy()
    np.copyto(clipped, g * (C / norm), where=norm > C)
    return clipped


def sided(g):
    g[g > C] = C
    g[g < -C] = -C
    return g


def one_for_0(norm):
    norm[norm == 0] = 1.0
    return norm


def divided(g, norm):
    return g * np.divide(C, norm, out=np.ones_like(norm), where=norm > C)


def where(g):
    norm = np.linalg.norm(g, axis=-1, keepdims=True)
    return np.where(norm > C, g * (C / norm), g)


def guarded(g, norm):
    return np.divide(g, norm, out=np.zeros_like(g), where=norm > 0)


def guarded_twice(g, norm):
    return np.where(norm > 0, g / np.where(norm > 0, norm, 1), 0)


def safe(norm):
    return np.where(norm == 0, 1.0, norm)


@pytest.mark.parametrize("how", CLIPS)
def test_a_clip_is_followed_however_it_is_written(how):
    with arrays_followed():
        g = Followed(np.ones((2, 3)), kinds.answer(), never)
        x = Followed(np.ones((2, 3)), kinds.answer(), never)
        assert kind_of(x - 0.1 * CLIPS[how](g)).what is What.AFFINE


def squeezed(g, low, high):
    return np.clip(g, low, high)


@pytest.mark.parametrize("make", [np.stack, lambda parts: np.array(parts)])  # it is another one there
def test_each_answer_of_a_stack_may_be_clipped_once(make):
    with arrays_followed():
        g, h = (Followed(np.ones((2, 3)), kinds.answer(), never) for _ in range(2))
        clipped = Clip(C, "l2")(make([g, h])).mean(axis=0)
        assert kind_of(clipped).what is What.AFFINE
        assert kind_of(clipped + Clip(C, "l2")(g)).what is What.BENT
        assert kind_of(Clip(C, "l2")(make([g, g]))).what is What.BENT


SIZE = {"axis": -1, "keepdims": True}
BUMPS = {
    "a window of sizes": lambda g, n: np.where((n > 3.1) & (n < 3.2), g, 0.0),
    "two thresholds": lambda g, n: np.where(n > 3.1, np.where(n > 3.2, 1 / n, 1e6), 1 / n) * g,
    "a factor of two thresholds": lambda g, n: g * (np.where(n > 3.1, 1.0, 0.0) * np.where(n > 3.2, 0.0, 1.0)),
    "clipped twice by the first": lambda g, n: g / np.maximum(n, 1) * np.maximum(n, 1),
    "a bump": lambda g, n: g * np.exp(-((n - 3) ** 2)),
    "a difference of sizes": lambda g, n: g * np.maximum(0, 1 - np.abs(n - 3.0)),
    "a mask": lambda g, n: g * ((n > 3.1) & (n < 3.2)),
    "of another value": lambda g, n: (g + 1.0) / np.maximum(n, 1),
    "a power": lambda g, n: g * n**-3.0,
    "a cosine": lambda g, n: g * np.cos(n),
    "a window of two clips": lambda g, n: 1e6 * (squeezed(g, -1.0, 0.31) - squeezed(g, -1.0, 0.3)),
    "a ball around a point": lambda g, n: np.where(np.linalg.norm(g - 0.3, **SIZE) > 0.1, g - 0.3, 1e6 * (g - 0.3)),
    "a jump": lambda g, n: np.where(n > 3.1, g, 1e6),
    "a side that is cut elsewhere": lambda g, n: np.where(g > 3.1, 1e6, g),
    "another number of them": lambda g, n: np.repeat(g, np.array([1, 1, 1]) + 0 * g[0].astype(int), axis=-1)[:, :3],
    "whole numbers": lambda g, n: np.sum(g, axis=-1, keepdims=True, dtype=int) + 0.0,
    "the largest, as padding": lambda g, n: np.pad(g, ((0, 0), (0, 1)), mode="maximum"),
    "by what is drawn from it": lambda g, n: np.take(g, (g[0] > 0).astype(int), axis=-1),
    "many thresholds of a size": lambda g, n: (g[:, :, None] / np.maximum(n, [1.0, 2.0, 3.0])[:, None, :]) @ W,
    "many factors": lambda g, n: (g[:, :, None] * np.minimum(1.0, np.array([1.0, 2.0, 3.0]) / n)[:, None, :]) @ W,
    "many ends": lambda g, n: np.clip(g[:, :, None], -1.0, [0.3, 0.31, 1.0]) @ W,
    "many copies": lambda g, n: np.clip(np.broadcast_to(g[None], (3, 2, 3)), -1.0, [[[0.3]], [[0.31]], [[1.0]]]).sum(
        0
    ),
    "a negative square": lambda g, n: g / np.maximum(1.0, np.sum(g * -g, **SIZE) + 9.0),
    "a negative square by einsum": lambda g, n: g / np.maximum(1.0, np.einsum("rd,rd->r", g, -g)[:, None] + 9.0),
    "a sum that begins below 0": lambda g, n: g / np.maximum(1.0, np.sum(np.abs(g), initial=-9.0, **SIZE)),
    "a sum that begins below 0, by place": lambda g, n: (
        g / np.maximum(1.0, np.sum(np.abs(g), -1, None, None, True, -9.0))
    ),
    "another value at 0": lambda g, n: np.where(n > 0, 1e6, g),
    "a difference": lambda g, n: g / np.maximum(1.0, np.diff(np.abs(g), axis=-1).sum(**SIZE)),
    "a mean of negative weights": lambda g, n: (
        g / np.maximum(1.0, np.average(np.abs(g), axis=-1, weights=[-1.0, 1.0, 1.0])[:, None])
    ),
    "products of pairs": lambda g, n: (
        g / np.maximum(1.0, np.sum(g[:, :, None] * g[:, None, :], axis=(1, 2))[:, None])
    ),
    "what overflows": lambda g, n: np.nan_to_num(g * 1e308, posinf=0.0, neginf=0.0),
    "the least number": lambda g, n: g / np.maximum(1.0, np.linalg.norm(g, ord=-np.inf, **SIZE)),
    "of a part": lambda g, n: g / np.maximum(1.0, np.abs(g)[:, :1]),
    "an empty array": lambda g, n: np.empty_like(g),
    "a gate on what was scaled": lambda g, n: np.where(
        np.linalg.norm(g / np.maximum(n**2, 1), **SIZE) > 0.99, 9 * g, 0
    ),
    "a stack of one answer": lambda g, n: np.clip(np.stack([g, 2 * g])[[0, 0]], -1.0, [[[0.3]], [[0.31]]]).sum(
        axis=0
    ),
    "one answer seen often": lambda g, n: np.clip(np.broadcast_to(g[:1], (2, 3)), -1.0, [[0.3], [0.31]]).sum(axis=0),
    "one answer filled in": lambda g, n: np.clip(np.full_like(np.stack([g, g]), g), -1.0, [[[0.3]], [[0.31]]]),
    "one answer written often": lambda g, n: np.clip(
        filled(np.zeros_like(np.stack([g, g])), g), -1.0, [[[0.3]], [[0.31]]]
    ),
    "what underflows": lambda g, n: g / np.where(n * 1e-200 * 1e-200 == 0, 1e-6, np.maximum(n, 1.0)),
    "what is not a number": lambda g, n: g / np.fmax(n * 1e308 * 0.0 + 1.0, 1e-9),
    "a cut away from 0": lambda g, n: np.clip(g, 0.5, 0.6),
    "a cut away from 0, by an array": lambda g, n: np.minimum(g, [1.0, -0.5, 1.0]),
    "a side that is cut away from 0": lambda g, n: np.where(g > 0.5, g, 0.5),
    "a norm that is a step": lambda g, n: g / np.maximum(np.linalg.norm(g, ord=1e9, **SIZE), 1.0),
    "a clip of what was scaled": lambda g, n: np.square(np.clip(np.clip(g * 1e76, -1e300, 1e300) * 1e76, -1e300, 1)),
    "a factor of a clip": lambda g, n: (
        g * np.where(n > 0.1, 1 / np.maximum(np.linalg.norm(Clip(1.0)(g), **SIZE), 1), 1)
    ),
    "a gate beyond all that is tried": lambda g, n: np.where(n > 1e200, 9.0 * g, g),
    "a sum that has nothing left of it": lambda g, n: (g + 1e170) - 1e170,
    "another dtype": lambda g, n: g * np.multiply(1 / n, 1, out=np.zeros_like(n), dtype=int, casting="unsafe"),
}


def filled(to, g):
    to[...] = g
    return to


W = np.array([1.0, -2.0, 1.0])


@pytest.mark.parametrize("how", BUMPS)
def test_what_may_scale_few_sizes_otherwise_is_not(how):
    with arrays_followed():
        g = Followed(np.full((2, 3), 0.3), kinds.answer(), ignored)
        assert kind_of(BUMPS[how](g, np.linalg.norm(g, **SIZE))).what is What.BENT


WRITES = {
    "put_along_axis": lambda to, g: np.put_along_axis(to, np.zeros((2, 1), int), g[:, :1] ** 3, axis=-1),
    "copyto": lambda to, g: np.copyto(to, np.exp(g)),
    "a view": lambda to, g: to[:, :2].__imul__(np.exp(g[:, :2])),
    "a reshaped view": lambda to, g: to.reshape(-1)[:3].__iadd__(np.exp(g[0])),
    "an element": lambda to, g: to.__setitem__((0, 0), np.exp(g[0, 0])),
    "by a private index": lambda to, g: to.__setitem__((0, np.argmax(g[0])), 1.0),
    "sorted": lambda to, g: (to.__iadd__(g), to.sort()),
    "sorted by a median": lambda to, g: (to.__iadd__(g), np.median(to, axis=-1, overwrite_input=True)),
    "out": lambda to, g: np.exp(g, out=to),
    "out, some of it": lambda to, g: (np.exp(g, out=to), np.add(1.0, 0.0, out=to, where=np.arange(3) > 1)),
    "an element that is covered by others": lambda to, g: (
        np.exp(g, out=to),
        to.__setitem__((slice(None), [0, 0, 0]), 0.0),
    ),
    "at": lambda to, g: np.add.at(to, 0, np.exp(g[0])),
    "copyto, by name": lambda to, g: np.copyto(src=np.exp(g), dst=to),
    "some of a broadcast view": lambda to, g: (
        np.exp(g, out=to),
        np.broadcast_arrays(to[:, :1], g)[0].__setitem__(..., 0.0),
    ),
    "astype without a copy": lambda to, g: to.astype(float, copy=False).__iadd__(np.exp(g)),
    "broadcast": lambda to, g: np.broadcast_arrays(to, np.exp(g))[0].__iadd__(np.exp(g)),
}


@pytest.mark.parametrize("how", WRITES)
def test_what_is_written_into_an_array_is_in_it(how):
    with arrays_followed():
        g = Followed(np.ones((2, 3)), kinds.answer(), never)
        to = Followed(np.ones((2, 3)), PUBLIC, never)
        WRITES[how](to, g)
        assert kind_of(to).what is What.BENT


def test_what_was_seen_may_become_anything_and_weighs_no_answer():
    with arrays_followed():
        g = Followed(np.ones((2, 3)), kinds.answer(), ignored)
        seen = Followed(np.ones((2, 3)), SEEN, ignored)
        of_seen = np.median([np.exp(seen), np.sort(seen), np.where(seen > 1, seen, 0.0)], axis=0)
        assert kind_of(of_seen).what is What.SEEN
        assert kind_of(of_seen - g).what is What.AFFINE
        for bent in (
            of_seen * g,
            g / seen,
            np.where(seen > 1, g, 0.0),
            np.maximum(seen, g),
            g[:, np.argsort(seen[0])],
        ):
            assert kind_of(bent).what is What.BENT
