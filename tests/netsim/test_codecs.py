"""Codecs: values and bytes agree, and the laws that compressors are used for."""

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from netsim.codecs import FixedPoint, Float16, Float32, Float64, Quantizer, RandomK, ScaledSign, TopK
from tests.worlds import refusal

CODECS = [
    Float64(), Float32(), Float16(), FixedPoint(2, 1.0), FixedPoint(16, 3.0), FixedPoint(32, 1e6),
    FixedPoint(9, 0.7, "stochastic"), TopK(1), TopK(3), TopK(fraction=0.25), RandomK(2),
    RandomK(fraction=0.5, unbiased=False), Quantizer(1), Quantizer(4), Quantizer(3, unbiased=True),
    Quantizer(2, "linf"), Quantizer(16, "linf"), ScaledSign(),
]  # fmt: skip
SPECIAL = [0.0, -0.0, 5e-324, -5e-324, 2.3e-308, 1e-40, -1e-7, 65504.0, 65520.0, 1e38, -3.5e38, 1.7e308, -1.7e308]
WILD = [*SPECIAL, math.inf, -math.inf, math.nan, -math.nan]
VECTORS = st.lists(st.one_of(st.floats(), st.sampled_from(WILD), st.floats(-2, 2)), min_size=1, max_size=40)
TAME = st.lists(st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, -0.5])), min_size=1, max_size=20)


def encoded(codec, vectors, seed=0):
    values = np.atleast_2d(np.array(vectors, dtype=float))
    return codec.encode(values, np.random.default_rng(seed).random(values.shape))


def bits(array):
    return np.ascontiguousarray(array).view(np.uint64)


@pytest.mark.parametrize("codec", CODECS, ids=repr)
class TestEveryCodec:
    @pytest.mark.few(3)
    @settings(max_examples=60, deadline=None)
    @given(vector=VECTORS, seed=st.integers(0, 9))
    @example(vector=[1.7976931348623157e308], seed=0)  # rounded up it is no number any more
    def test_bytes_say_the_value_and_nothing_else(self, codec, vector, seed):
        (decoded,) = encoded(codec, vector, seed)
        data = codec.pack(decoded)
        assert len(data) == codec.size(len(vector))
        np.testing.assert_array_equal(bits(codec.unpack(data, len(vector))), bits(decoded))

    @pytest.mark.few(4)
    @settings(max_examples=60, deadline=None)
    @given(vector=VECTORS)
    def test_zeros_have_no_sign(self, codec, vector):
        decoded = encoded(codec, vector)
        assert not np.signbit(decoded[decoded == 0]).any()

    @pytest.mark.few(6)
    @settings(max_examples=40, deadline=None)
    @given(vector=VECTORS, seed=st.integers(0, 9))
    def test_what_it_made_is_what_it_could_make(self, codec, vector, seed):
        value = np.array([vector])
        assert codec.could_be(encoded(codec, vector, seed), value, value).all()

    @pytest.mark.few(5)
    @settings(max_examples=40, deadline=None)
    @given(vector=TAME, shift=st.floats(-1e-3, 1e-3), seed=st.integers(0, 9))
    def test_and_so_it_is_of_a_value_nearby(self, codec, vector, shift, seed):
        value = np.array([vector])
        low, high = value - abs(shift), value + abs(shift)
        assert codec.could_be(encoded(codec, value + shift, seed), low, high).all()

    @pytest.mark.few(6)
    @settings(max_examples=30, deadline=None)
    @given(vector=VECTORS, seed=st.integers(0, 9))
    def test_the_cell_of_what_it_made_holds_the_value(self, codec, vector, seed):
        value = np.array([[v for v in vector if not math.isnan(v)] or [0.0]])
        cells = codec.cells(encoded(codec, value, seed))
        if cells is not None:
            assert ((cells[0] <= value) & (value <= cells[1])).all()

    def test_replicas_do_not_touch_each_other(self, codec):
        rng = np.random.default_rng(1)
        values, dither = rng.standard_cauchy((50, 37)), rng.random((50, 37))
        together = codec.encode(values, dither)
        fortran = codec.encode(np.asfortranarray(values), dither)
        for r in range(50):
            alone = codec.encode(values[r : r + 1], dither[r : r + 1])
            np.testing.assert_array_equal(bits(alone[0]), bits(together[r]))
            np.testing.assert_array_equal(bits(fortran[r]), bits(together[r]))

    def test_it_draws_and_loses_if_it_says_so(self, codec):
        values = np.random.default_rng(1).normal(size=(50, 9))
        one, two = (codec.encode(values, np.random.default_rng(seed).random(values.shape)) for seed in (2, 3))
        assert (one != two).any() == codec.random
        assert np.array_equal(one, values) == codec.lossless

    def test_the_value_itself_is_left_alone(self, codec):
        values = np.random.default_rng(1).normal(size=(3, 8))
        before = values.copy()
        decoded = encoded(codec, values)
        decoded[:] = 7.0
        np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize(
    ("codec", "dimension", "size"),
    [
        (Float64(), 10, 80),
        (Float32(), 10, 40),
        (Float16(), 10, 20),
        (FixedPoint(12), 10, 15),
        (FixedPoint(11), 3, 5),
        (TopK(3), 256, 3 * (1 + 8)),
        (TopK(3), 257, 3 * (2 + 8)),
        (TopK(3), 70_000, 3 * (3 + 8)),
        (TopK(9), 10, 80),  # nine of ten with their indices would be 81
        (TopK(99), 10, 80),
        (RandomK(fraction=0.1), 64, 7 * 9),
        (Quantizer(4), 10, 8 + 7),
        (Quantizer(1), 10, 8 + 3),
        (ScaledSign(), 17, 8 + 3),
    ],
    ids=repr,
)
def test_sizes(codec, dimension, size):
    assert codec.size(dimension) == size


# ── floats ──────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("codec", "letter"), [(Float32(), "f"), (Float16(), "e")])
@given(value=st.floats(-60000, 60000))
def test_floats_round_as_struct_does(codec, letter, value):
    (decoded,) = encoded(codec, [value])
    assert decoded[0] == struct.unpack(letter, struct.pack(letter, value))[0]


def test_beyond_the_range_a_float_is_infinite():
    np.testing.assert_array_equal(encoded(Float16(), [65519.99, 65520.0, -1e9]), [[65504.0, np.inf, -np.inf]])
    np.testing.assert_array_equal(encoded(Float32(), [3.4e38, 3.5e38]), [[np.float64(np.float32(3.4e38)), np.inf]])


@pytest.mark.parametrize("codec", [Float32(), Float16(), FixedPoint(6, 1.5), FixedPoint(20, 100.0)], ids=repr)
@given(value=st.one_of(st.floats(-3, 3), st.floats(allow_nan=False), st.sampled_from(SPECIAL)))
def test_cells_are_all_that_becomes_the_same(codec, value):
    """Just inside a cell's ends the code is the same, just outside it is another one."""
    decoded = encoded(codec, [value])
    low, high = (end[0, 0] for end in codec.cells(decoded))
    room = max(1e-9 * abs(value), 1e-3 * (high - low)) if math.isfinite(high - low) else 1e-9 * abs(value)
    for end, inwards in ((low, room), (high, -room)):
        if math.isfinite(end):
            assert encoded(codec, [end + inwards])[0, 0] == decoded[0, 0]
            assert encoded(codec, [end - inwards])[0, 0] != decoded[0, 0]


# ── fixed point ─────────────────────────────────────────────────────────────────────────────────────────
@given(vector=st.lists(st.floats(-5, 5), min_size=1, max_size=9), bits_=st.integers(2, 24))
def test_fixed_point_is_off_by_half_a_step_and_saturates(vector, bits_):
    nearest, stochastic = FixedPoint(bits_, 2.0), FixedPoint(bits_, 2.0, "stochastic")
    inside = np.clip(vector, -2.0, 2.0)
    assert np.all(np.abs(encoded(nearest, vector) - inside) <= nearest.step / 2 * (1 + 1e-9))
    assert np.all(np.abs(encoded(stochastic, vector) - inside) < stochastic.step * (1 + 1e-9))
    np.testing.assert_array_equal(encoded(nearest, [1e300, -np.inf]), [[2.0, -2.0]])
    np.testing.assert_array_equal(encoded(nearest, [np.nan]), [[np.nan]])


@given(bits_=st.integers(2, 32), code=st.integers(-(2**31), 2**31))
def test_a_point_of_the_grid_stays_where_it_is(bits_, code):
    codec = FixedPoint(bits_, 0.3, "stochastic")
    most = 2 ** (bits_ - 1) - 1
    on_grid = np.full((1, 200), (code % (2 * most + 1) - most) * codec.step)
    nearest = FixedPoint(bits_, 0.3)
    np.testing.assert_array_equal(encoded(nearest, on_grid), on_grid)
    assert np.max(np.abs(encoded(codec, on_grid) - on_grid)) <= codec.step
    assert np.mean(encoded(codec, on_grid) != on_grid) < 0.1  # k·step/step may round to beside k


# ── unbiased, and how far off ───────────────────────────────────────────────────────────────────────────
DRAWS = 40_000


def many(codec, vector, seed=5):
    """`DRAWS` encodings of one vector."""
    return encoded(codec, np.broadcast_to(vector, (DRAWS, len(vector))), seed)


VECTOR = np.random.default_rng(7).normal(size=12) * np.geomspace(1, 20, 12)


@pytest.mark.parametrize(
    ("codec", "factor"),
    [
        (FixedPoint(4, 60.0, "stochastic"), 1.0), (RandomK(5), 1.0), (RandomK(5, unbiased=False), 5 / 12),
        (Quantizer(1, unbiased=True), 1.0), (Quantizer(3, unbiased=True), 1.0),
        (Quantizer(2, "linf", unbiased=True), 1.0), (Quantizer(3), 1 / (1 + min(12 / 16, 12**0.5 / 4))),
        (Quantizer(2, "linf"), 1 / (1 + 12 / 16)),
    ],
    ids=repr,
)  # fmt: skip
def test_means(codec, factor):
    """Each of 12 means within 4.5 standard errors: a false alarm once in 12,000."""
    decoded = many(codec, VECTOR)
    error = np.std(decoded, axis=0) / math.sqrt(DRAWS)
    assert np.all(np.abs(decoded.mean(axis=0) - factor * VECTOR) <= 4.5 * error + 1e-9 * np.abs(VECTOR))


@pytest.mark.few(10)
@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("bits_", [1, 2, 3, 6])
@pytest.mark.parametrize("vector", [VECTOR, np.ones(50), np.eye(1, 30)[0], 1e-310 * np.ones(3), 1e200 * VECTOR])
def test_the_quantizer_contracts_as_its_constant_says(norm, bits_, vector):
    codec = Quantizer(bits_, norm)
    scale = np.max(np.abs(vector))
    decoded, exact = many(codec, vector)[:5000] / scale, vector / scale
    loss = np.sum((decoded - exact) ** 2, axis=1) / np.sum(exact**2)
    xi = codec.shrinkage(len(vector))
    assert np.mean(loss) <= (1 - 1 / xi) + 4.5 * np.std(loss) / math.sqrt(5000) + 1e-9
    if norm == "l2":
        s = 2 ** (bits_ - 1)
        assert xi == 1 + min(len(vector) / s**2, math.sqrt(len(vector)) / s)  # the paper's ξ


def test_the_quantizer_is_the_papers_formula():
    codec, dither = Quantizer(3), np.random.default_rng(3).random((1, 12))
    norm, xi = np.linalg.norm(VECTOR), codec.shrinkage(12)
    paper = norm / xi * np.sign(VECTOR) * 2.0**-2 * np.floor(2**2 * np.abs(VECTOR) / norm + (1 - dither))
    np.testing.assert_allclose(codec.encode(VECTOR[None], dither), paper, rtol=1e-12)


def test_a_level_can_reach_the_last_one():
    """So b bits are one value short, and b + 1 are taken."""
    for codec in (Quantizer(3), Quantizer(3, "linf")):
        decoded = encoded(codec, [[0.0, -2.0, 0.0]])
        assert -decoded[0, 1] * codec.shrinkage(3) == pytest.approx(2.0)
        assert struct.unpack("<d", codec.pack(decoded[0])[:8])[0] > 0


def test_top_k_keeps_the_largest_and_ties_go_to_the_first():
    np.testing.assert_array_equal(encoded(TopK(2), [1.0, -3.0, 3.0, 3.0, 2.0]), [[0, -3.0, 3.0, 0, 0]])
    np.testing.assert_array_equal(encoded(TopK(2), [5.0, np.nan, 1.0, np.inf]), [[0, np.nan, 0, np.inf]])


def test_random_k_draws_every_pair_equally_often():
    """χ² with 9 degrees of freedom stays below its 1 − 1e-4 quantile."""
    decoded = many(RandomK(2), np.arange(1.0, 6.0))
    pairs, counts = np.unique(decoded != 0, axis=0, return_counts=True)
    assert (pairs.sum(axis=1) == 2).all()
    assert len(pairs) == 10
    assert np.sum((counts - DRAWS / 10) ** 2) / (DRAWS / 10) < 33.8


def test_random_k_is_off_by_as_much_as_it_says():
    loss = np.sum((many(RandomK(5), VECTOR) - VECTOR) ** 2, axis=1)
    exact = (12 / 5 - 1) * np.sum(VECTOR**2)
    assert abs(np.mean(loss) - exact) < 4.5 * np.std(loss) / math.sqrt(DRAWS)


@given(vector=TAME)
def test_scaled_sign_is_off_by_what_the_identity_says(vector):
    value = np.array(vector)
    lost = np.sum((encoded(ScaledSign(), vector)[0] - value) ** 2)
    square = np.sum(value**2)
    assert lost == pytest.approx(square - np.sum(np.abs(value)) ** 2 / len(value), abs=1e-9 * square + 1e-300)


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: FixedPoint(1), "bits"), (lambda: FixedPoint(33), "bits"), (lambda: FixedPoint(True), "bits"),
        (lambda: FixedPoint(8, 0.0), "limit"), (lambda: FixedPoint(8, math.inf), "limit"),
        (lambda: FixedPoint(8, 1.0, "up"), "rounding"), (lambda: TopK(), "k"), (lambda: TopK(3, 0.5), "k"),
        (lambda: TopK(0), "k"), (lambda: RandomK(fraction=1.5), "fraction"), (lambda: Quantizer(0), "bits"),
        (lambda: Quantizer(17), "bits"), (lambda: Quantizer(4, "l1"), "norm"),
    ],
)  # fmt: skip
def test_parameters_are_checked(build, field):
    assert refusal(build).field == field
