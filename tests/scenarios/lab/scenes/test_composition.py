"""Lesson 5's numbers: budgets that add up, by audits of real runs, against sums that are written down here."""

import math
import sys

import numpy as np
import pytest

from attacks.audit.verdict import Verdict
from scenarios.lab.scenes import budgets as scene


@pytest.mark.slow
@pytest.mark.parametrize(("ratio", "scale"), [(1.0, 1.0), (0.8, 0.5), (0.5, 2.0)])
def test_every_release_of_the_descent_costs_what_its_noise_says(ratio: float, scale: float) -> None:
    """The first release is the public start; the k-th gradient goes out under b·q^k."""
    course = scene.descent(ratio, scale, 6)
    each = [0.0] + [0.2 / (scale * ratio**k) for k in range(1, 6)]
    np.testing.assert_allclose(course.cost, each, rtol=1e-9)
    np.testing.assert_allclose(course.exact, np.cumsum(each), rtol=1e-9)
    np.testing.assert_allclose(course.claimed, np.cumsum(each), rtol=1e-9)
    assert course.broken_in is None


@pytest.mark.slow
def test_noise_that_is_counted_as_if_it_stayed_is_found_out() -> None:
    course = scene.descent(0.8, 1.0, 6, counted="as if it stayed")
    np.testing.assert_allclose(course.claimed, 0.2 * np.arange(6), rtol=1e-9)
    assert course.broken_in == 2
    assert course.found.judgement.verdict is Verdict.REFUTED
    honest = scene.descent(1.0, 1.0, 6, counted="as if it stayed")
    assert honest.broken_in is None


def differences(step: float, rounds: int) -> tuple[list[float], list[float]]:
    """|Δx^k| and |Δy^k| of two worlds of DiaDSP, L = 1: their signs alternate, so that sizes add."""
    x, y = [0.0], [1.0]
    for _ in range(rounds - 1):
        x.append(step * y[-1])
        y.append(x[-1] + x[-2])
    return x, y


@pytest.mark.slow
@pytest.mark.parametrize(("ratio", "step", "scale_x", "scale_y"), [(0.9, 0.05, 0.5, 4.0), (0.5, 0.1, 1.0, 1.0)])
def test_the_budget_of_tracking_is_that_of_its_recursion(
    ratio: float, step: float, scale_x: float, scale_y: float
) -> None:
    course = scene.tracking(ratio, step, scale_x, scale_y, 8)
    x, y = differences(step, 8)
    each = [a / (scale_x * ratio**k) + b / (scale_y * ratio**k) for k, (a, b) in enumerate(zip(x, y, strict=True))]
    np.testing.assert_allclose(course.exact, np.cumsum(each), rtol=1e-7)
    limit = (1 / scale_y + step / (ratio * scale_x)) * ratio**2 / (ratio**2 - step - ratio * step)
    assert course.exact[-1] < limit
    claimed = (1 / scale_y + step / scale_x) * ratio**2 / (ratio**2 - step - ratio * step)
    assert course.found.claim.epsilon == pytest.approx(claimed)
    assert limit < claimed / ratio


@pytest.mark.slow
def test_the_sum_converges_exactly_where_the_noise_falls_slower() -> None:
    z = scene.decay(0.05)
    assert z**2 == pytest.approx(0.05 * z + 0.05)
    finite, endless = (scene.tracking(q, 0.05, 1.0, 1.0, 14) for q in (z + 0.1, z - 0.1))
    assert finite.cost[-1] < 0.1 * finite.cost[2]
    assert endless.cost[endless.judged - 1] > 5 * endless.cost[2]
    assert np.isnan(endless.claimed).all()
    assert endless.found.judgement.verdict is Verdict.UNDEFINED
    assert finite.cost[-1] / finite.cost[-2] == pytest.approx(z / (z + 0.1), rel=0.15)


@pytest.mark.slow
def test_noise_that_drowns_in_rounding_is_not_judged() -> None:
    course = scene.tracking(0.1, 0.05, 1.0, 1.0, 14)
    assert 5 < course.judged < 12
    assert np.isfinite(course.exact[: course.judged]).all()
    assert np.isnan(course.exact[course.judged :]).all()
    assert np.isnan(course.cost[course.judged :]).all()
    assert course.final == course.exact[course.judged - 1]
    assert course.found.exact[0].unreliable_from == course.judged + 1


def test_how_many_releases_a_budget_lasts() -> None:
    for first, ratio, budget in [(0.1, 0.9, 1.0), (0.25, 0.8, 3.0), (0.5, 1.0, 4.0)]:
        sums = scene.spent(first, ratio, budget)
        np.testing.assert_allclose(sums, np.cumsum(first * ratio ** -np.arange(len(sums))))
        assert sums[-2] <= budget * (1 + 1e-9) < sums[-1]


@pytest.mark.slow
def test_both_paths_cost_the_same_and_noise_that_stays_grows_with_the_rounds() -> None:
    short, long = (scene.same_budget(1.0, 0.9, rounds, replicas=20) for rounds in (10, 40))
    assert np.median(long.steady[0][-5:]) > 1.5 * np.median(short.steady[0][-5:])
    assert np.median(long.fading[0][-5:]) < np.median(short.fading[0][-5:])
    for median, low, high in (short.steady, short.fading):
        assert np.all(low <= median)
        assert np.all(median <= high)
    loose = scene.same_budget(8.0, 0.9, 40, replicas=20)
    assert long.fading[0][-1] > 2 * loose.fading[0][-1]
    assert long.steady[0][-1] > 2 * loose.steady[0][-1]


def test_accounts_are_in_order_and_agree_with_dp_accounting() -> None:
    found = scene.accounts(0.1, 1e-6, (1, 10, 100, 300))
    np.testing.assert_allclose(found.basic, [0.1, 1.0, 10.0, 30.0])
    assert np.all(found.exact <= found.advanced + 1e-12)
    assert np.all(found.advanced <= found.basic)
    assert found.advanced[-1] == pytest.approx(0.1 * math.sqrt(600 * math.log(1e6)) + 30 * math.expm1(0.1))
    pytest.importorskip("dp_accounting")
    assert found.pld is not None
    np.testing.assert_allclose(found.pld, found.exact, rtol=1e-4)
    assert np.all(found.pld >= found.exact - 1e-9)


def test_without_dp_accounting_its_curve_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    scene.accounts.cache_clear()
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    assert scene.accounts(0.1, 1e-6, (1, 10)).pld is None
    scene.accounts.cache_clear()
