"""The price of a view against dense linear algebra, exact rationals, and gossip whose answer is known."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.view_price import GaussianView, exposing, worst_change
from attacks.probe import message_map
from benchmarks.views import STDDEV, dense, listeners, run_of
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, Muffliato
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.mechanisms import Gaussian, Laplace, Mechanism
from netsim.node import Node
from netsim.problems import LeastSquares, Problem
from netsim.simulation import Simulation


# ── gossip after noise ──────────────────────────────────────────────────────────────────────────────
@pytest.mark.few("graph0-gossip0")
@pytest.mark.parametrize(
    ("graph", "gossip"),
    [
        (topology.ring(30), Muffliato(10, stddev=STDDEV)),
        (topology.ring(30), Muffliato(30, stddev=STDDEV, momentum=0.9)),
        (topology.random_regular(40, 4, seed=1), Muffliato(30, stddev=STDDEV, momentum=0.5)),
    ],
)
def test_all_pairs_cost_what_dense_linear_algebra_says(graph: topology.Topology, gossip: Muffliato) -> None:
    run = run_of(graph, gossip, listeners(graph))
    messages = message_map(run.views[-1])
    assert np.all(messages.public)
    for listener, view in enumerate(run.views[:-1]):
        design, noise, scale = messages.seen_by(view)
        prices = GaussianView.of(noise, scale).prices(design)
        others = np.arange(graph.agents) != listener
        assert np.all(prices.decided[others])
        expected = gaussian_epsilon(dense(graph, gossip, listener)[others], 1e-5)
        np.testing.assert_allclose(gaussian_epsilon(prices.most[others], 1e-5), expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(gaussian_epsilon(prices.least[others], 1e-5), expected, rtol=1e-9, atol=1e-9)


def test_on_a_ring_whoever_is_within_reach_is_not_hidden_at_all() -> None:
    """Each round brings one agent more on either side, and the sums before it take away all other noise."""
    graph, gossip = topology.ring(50), Muffliato(7, stddev=STDDEV)
    run = run_of(graph, gossip, listeners(graph))
    design, noise, scale = message_map(run.views[-1]).seen_by(run.views[0])
    prices, hops = GaussianView.of(noise, scale).prices(design), graph.hops(0)
    reached = (hops > 0) & (hops <= gossip.rounds)
    np.testing.assert_allclose(prices.most[reached], 1 / STDDEV, rtol=1e-9)
    np.testing.assert_allclose(prices.most[hops > gossip.rounds], 0.0, atol=1e-12)


@pytest.mark.parametrize("smallest", [1.0, 1e-3, 1e-7, 1e-10, 1e-14, 0.0])
def test_the_stretch_is_a_bound_of_the_inverse_or_none(smallest: float) -> None:
    """The least singular value is never said to be larger than it is; of what may be 0 nothing is said."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        left = np.linalg.qr(rng.standard_normal((30, 30)))[0][:, :12]
        right = np.linalg.qr(rng.standard_normal((12, 12)))[0]
        noise = (left * np.append(np.ones(11), smallest)) @ right
        view = GaussianView.of(noise)
        true = float(np.linalg.svd(view.noise, compute_uv=False)[-1])
        if smallest < 1e-12:
            assert view.stretch == np.inf
        else:
            assert 1 / true * (1 - 1e-3) <= view.stretch <= 100 / true


def test_noise_of_any_deviation_is_told_from_what_enters_with_it() -> None:
    """A column of C that is 1/σ of one of B is so for any σ, though no float is 1/σ; next to it is not the same."""
    rng = np.random.default_rng(0)
    for stddev in (1.7, 1e-3 / 3, np.pi):
        map_ = rng.standard_normal((40, 12))
        map_[:, 11] = map_[:, 10] * (1 + 1e-6 * rng.standard_normal(40))  # the view is all but unable to tell these
        view = GaussianView.of(map_ * stddev)
        prices = view.prices(map_)
        assert np.all(prices.decided)
        np.testing.assert_allclose(prices.most, 1 / stddev, rtol=1e-12)
        near = view.prices(map_ * (1 + 1e-11 * rng.standard_normal(map_.shape)))
        assert not np.any(near.most[10:] < near.least[10:])
        assert not np.any(near.decided & np.isfinite(near.most) & (np.abs(near.most * stddev - 1) < 1e-12))


@pytest.mark.slow
def test_what_digits_cannot_decide_is_an_interval_around_the_truth() -> None:
    """After 50 plain rounds 200 messages determine all 99 noises, by combinations with 13 digits of cancellation."""
    graph, gossip = topology.random_regular(100, 4, seed=1), Muffliato(50, stddev=STDDEV)
    run = run_of(graph, gossip, listeners(graph)[:1])
    design, noise, scale = message_map(run.views[-1]).seen_by(run.views[0])
    prices = GaussianView.of(noise, scale).prices(design)
    assert np.count_nonzero(~prices.decided) > 50
    assert np.all(prices.least[1:] <= 1 / STDDEV * (1 + 1e-9))
    np.testing.assert_allclose(prices.most[1:], 1 / STDDEV, rtol=1e-9)


def test_missed_messages_are_missing_rows_and_never_cost_more() -> None:
    graph = topology.ring(8)
    taps = (
        Adversary("door", insiders=(0,)),
        Adversary("one link", links=((0, 1),)),
        Adversary("half of it", links=((0, 1),), capture_loss=0.5),
    )
    run = run_of(graph, Muffliato(5, stddev=STDDEV), taps)
    messages = message_map(run.views[-1])
    whole, link, half = (GaussianView.of(B, s).prices(C) for C, B, s in map(messages.seen_by, run.views[:-1]))
    others = np.arange(8) > 1
    assert np.all(half.most[others] <= link.most[others] * (1 + 1e-9))
    assert np.all(link.most[others] <= whole.most[others] * (1 + 1e-9))
    assert np.any(half.most < link.most)


# ── exact rationals ─────────────────────────────────────────────────────────────────────────────────
Row = list[Fraction]


def exactly(design: Row, noise: list[Row]) -> Fraction | None:
    """min ‖a‖² with Ba = c in exact arithmetic, by Gram–Schmidt on the rows; None where there is no a."""
    basis: list[tuple[Row, Fraction]] = []
    for row, value in zip(noise, design, strict=True):
        left, rest = list(row), value
        for other, known in basis:
            weight = Fraction(sum(x * y for x, y in zip(row, other, strict=True))) / sum(x * x for x in other)
            left, rest = [x - weight * y for x, y in zip(left, other, strict=True)], rest - weight * known
        if any(left):
            basis.append((left, rest))
        elif rest:
            return None
    return sum((known * known / sum(x * x for x in row) for row, known in basis), Fraction(0))


entries = st.integers(-3, 3)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_small_cases_agree_with_exact_rationals(data: st.DataObject) -> None:
    rows, noises = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    noise = [[data.draw(entries) for _ in range(noises)] for _ in range(rows)]
    change = [data.draw(entries) for _ in range(rows)]
    if data.draw(st.booleans()):  # within the range of the noise
        change = [sum(row) for row in noise]
    exact = exactly([Fraction(c) for c in change], [[Fraction(b) for b in row] for row in noise])
    design, B = np.array(change, dtype=float)[:, None], np.array(noise, dtype=float)
    (most,) = GaussianView.of(B).prices(design).most
    weights = exposing(design, B, np.ones(1))
    if exact is None:
        assert most == np.inf
        assert weights is not None
        assert np.max(np.abs(weights @ B)) < 1e-9 < np.abs(weights @ design[:, 0])
    else:
        assert weights is None
        np.testing.assert_allclose(most**2, float(exact), rtol=1e-9, atol=1e-12)


SMALL: list[tuple[list[list[float]], list[float]]] = [
    ([[], []], [0, 1]), ([[], []], [0, 0]), ([[1e-16, 1]], [1]), ([[1e-12, 1]], [1]), ([[1e-15, 1]], [1]),
    ([[1e-9, 1], [1, 1]], [1, 1]), ([[1e9], [0]], [1e9, 0.9]), ([[1], [1]], [1, 1 + 1e-10]),
    ([[1, 0], [0, 1], [0, 1]], [1e9, 1, 1 + 1e-5]), ([[1, 0], [1, 9e-13]], [1, 1 + 9e-10]),
    ([[1, 0], [1, 2**-41]], [1, 1 + 2**-41]), ([[1, 0], [1, 1e-12]], [0, 1]), ([[1e200, 0], [0, 1]], [1e200, 1]),
    ([[1e-200]], [1e-200]), ([[10, 1e17], [1, 1]], [1e17 + 10, 2]), ([[1e-9, 1], [1e-9, 1]], [1e-9, 1e-9]),
]  # fmt: skip


def check_enclosed(noise: Array, change: Array) -> None:
    """In exact arithmetic the price lies between its ends, which are good to 10⁻⁹."""
    prices = GaussianView.of(noise).prices(change[:, None])
    exact = exactly([Fraction(c) for c in change.tolist()], [[Fraction(b) for b in row] for row in noise.tolist()])
    assert prices.least[0] <= prices.most[0]
    if exact is None:
        assert prices.most[0] == np.inf
    else:
        assert Fraction(min(prices.least[0], 1e300)) ** 2 * (1 - Fraction(2, 10**9)) <= exact
        assert prices.most[0] == np.inf or exact <= Fraction(prices.most[0]) ** 2 * (1 + Fraction(2, 10**9))


@pytest.mark.parametrize(("noise", "change"), SMALL)
def test_the_truth_lies_between_the_ends(noise: list[list[float]], change: list[float]) -> None:
    check_enclosed(np.array(noise, dtype=float), np.array(change, dtype=float))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_near_coincidence_is_decided_wrongly(data: st.DataObject) -> None:
    """Rows that follow from others but for 2⁻⁸ to 2⁻³⁶, changes that leave the range by as little, in any units."""
    rows, noises = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    little = st.integers(-36, -8).map(lambda digits: 2.0**digits)
    first = np.array([[data.draw(entries) for _ in range(noises)] for _ in range(rows)], dtype=float)
    last = np.sum(first, axis=0) + data.draw(little) * np.array([data.draw(entries) for _ in range(noises)])
    noise = np.vstack([first, last])
    change = noise @ np.array([data.draw(entries) for _ in range(noises)], dtype=float)
    change[-1] += data.draw(little) * data.draw(entries)
    units = 2.0 ** np.array([data.draw(st.integers(-40, 40)) for _ in range(rows + 1)])
    check_enclosed(noise * units[:, None], change * units)


def test_what_is_only_rounding_is_no_message_and_what_is_bare_is_seen() -> None:
    """A difference of two equal messages, and g sent bare beside a sum in other units."""
    design, noise = np.array([[1.0], [1e-17]]), np.array([[2.0, 0.0], [0.0, 3e-17]])
    prices = GaussianView.of(noise, np.array([2.0, 2.0])).prices(design)
    assert not prices.decided[0]
    assert prices.least[0] == pytest.approx(0.5, rel=1e-9)
    bare = GaussianView.of(np.array([[1e6], [0.0]]), np.array([1e6, 0.0])).prices(np.array([[1e6], [1e-4]]))
    assert bare.least[0] == np.inf


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(bad: float) -> None:
    one, two = np.ones((2, 1)), np.array([[1.0], [bad]])
    for noise, design in ((one, two), (two, one)):
        with pytest.raises(AttackError, match="finite"):
            GaussianView.of(noise).prices(design)
    for limit in (bad, -1.0):
        with pytest.raises(AttackError, match="limits"):
            GaussianView.of(one).prices(one).worst(slice(0, 1), np.array([limit]))


@dataclass(frozen=True)
class Differences(Algorithm):
    """Gossip that sends x and by how much it has changed."""

    noises: tuple[Mechanism, ...]

    async def run(self, node: Node) -> None:
        before = x = node.privatize(-await node.gradient(node.zeros()), self.noises[node.id % len(self.noises)])
        for _ in range(6):
            heard = await node.exchange(x=x, change=x - before)
            before, x = x, heard.mix("x")


def test_a_redundant_difference_changes_no_price() -> None:
    graph = topology.star(6)
    problem = Problem(tuple(LeastSquares(np.eye(1), np.ones(1)) for _ in range(6)))
    taps = Adversary("link", links=((0, 1),)), Adversary("everything", links=(), nodes=tuple(range(6)))
    for last, law in ((Gaussian(2.0), "gaussian"), (Laplace(1.0), "laplace")):
        run = Simulation(problem, graph, Differences((Gaussian(2.0), last)), adversaries=taps).run()
        if law == "laplace":
            with pytest.raises(AttackError, match="laplace"):
                message_map(run.views[-1]).seen_by(run.views[0])
            continue
        design, noise, scale = message_map(run.views[-1]).seen_by(run.views[0])
        prices = GaussianView.of(noise, scale).prices(design)
        np.testing.assert_array_less(prices.least[2:], 0.25 * (1 + 1e-9))
        np.testing.assert_array_less(0.25 * (1 - 1e-9), prices.most[2:])


def test_a_map_that_lacks_messages_of_a_view_is_refused() -> None:
    graph = topology.ring(8)
    taps = (Adversary("link", links=((4, 5),)), Adversary("insider", insiders=(0,)))
    run, longer = run_of(graph, Muffliato(3, stddev=STDDEV), taps), run_of(graph, Muffliato(5, stddev=STDDEV), taps)
    for view, other in ((run.views[0], run.views[1]), (run.views[-1], longer.views[1])):
        with pytest.raises(AttackError, match="the map lacks 'x'"):
            message_map(view).seen_by(other)
    with pytest.raises(AttackError, match="without insiders"):
        message_map(run.views[1])
    design, _, _ = message_map(run.views[-1]).seen_by(run.views[1])
    assert not np.any(design[:, 0])
    assert np.any(design[:, 1])


# ── the worst change ────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_the_worst_change_lies_between_its_ends(order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors, limits = rng.standard_normal((3, 6)), rng.uniform(0, 2, 6)
    lower, upper = worst_change(vectors, limits, 1 if order == 1 else 2)
    signs = np.array(list(product((-1.0, 1.0), repeat=6))).T
    in_one = np.max(np.linalg.norm(vectors @ (limits[:, None] * signs), order, axis=0))
    assert lower <= in_one * (1 + 1e-12)
    assert in_one <= upper * (1 + 1e-12)
    changes = rng.standard_normal((200, 6, 4))  # many dimensions: nothing is above the upper end
    changes *= (limits / np.linalg.norm(changes, order, axis=-1))[..., None]
    moved = np.einsum("rt,ntd->nrd", vectors, changes).reshape(200, -1)
    assert np.max(np.linalg.norm(moved, order, axis=-1)) <= upper
    same_sign = worst_change(np.abs(vectors), limits, 1 if order == 1 else 2)
    np.testing.assert_allclose(*same_sign, rtol=1e-12)


def test_changes_that_are_not_allowed_loosen_no_price() -> None:
    noise, design = np.eye(3)[:, :2], np.eye(3)
    ends = GaussianView.of(noise).prices(design).worst(slice(0, 3), np.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(ends, np.sqrt(2))


def test_the_attack_is_named_as_a_combination_of_messages() -> None:
    """y₁ = g + z, y₂ = 3z: y₁ − y₂/3 shows g."""
    noise, design = np.array([[1.0], [3.0]]), np.array([[1.0], [0.0]])
    weights = exposing(design, noise, np.ones(1))
    assert weights is not None
    np.testing.assert_allclose(weights, np.array([1.0, -1 / 3]))
    assert GaussianView.of(noise).prices(design).most[0] == np.inf
