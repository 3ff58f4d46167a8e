"""Outages against their schedules and laws, and a `Switch` against counting the flips."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from netsim.errors import SimulationError
from netsim.network.laws import RandomOutages, Scheduled, Switch, TraceOutages
from tests.netsim.network.intercepted import FALSE_ALARM
from tests.worlds import refusal

INTERVALS = ((1.0, 2.5), (4.0, 4.5), (10.0, 11.0))


def flips(outages, count=None, seed=0):
    return list(itertools.islice(outages.changes(random.Random(seed)), count))


# ── schedules ───────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        ((), []), (INTERVALS, [1.0, 2.5, 4.0, 4.5, 10.0, 11.0]), (((0.0, 1.0),), [0.0, 1.0]),
        (((1.0, 2.0), (3.0, math.inf)), [1.0, 2.0, 3.0]),
    ],
    ids=["none", "three", "from the start", "for good"],
)  # fmt: skip
def test_a_schedule_flips_at_the_ends_of_its_intervals(intervals, expected):
    assert flips(Scheduled(intervals)) == expected


def test_a_schedule_draws_nothing_and_can_be_read_again():
    outages, rng = Scheduled(INTERVALS), random.Random(1)
    state = rng.getstate()
    assert list(outages.changes(rng)) == list(outages.changes(rng))
    assert rng.getstate() == state


@pytest.mark.parametrize(
    ("intervals", "index", "problem"),
    [
        (((-1.0, 2.0),), 0, "before 0"), (((math.nan, 2.0),), 0, "before 0"),
        (((math.inf, math.inf),), 0, "no finite time"), (((1.0, 1.0),), 0, "does not end"),
        (((2.0, 1.0),), 0, "does not end"), (((2.0, math.nan),), 0, "does not end"),
        (((1.0, 3.0), (2.0, 4.0)), 1, "before the one before"),
        (((1.0, 3.0), (3.0, 4.0)), 1, "before the one before"),
        (((5.0, 6.0), (1.0, 2.0)), 1, "before the one before"),
        (((1.0, 2.0), (3.0, math.inf), (9.0, 10.0)), 2, "before the one before"),
    ],
)  # fmt: skip
def test_a_schedule_that_cannot_be_is_refused_at_its_first_wrong_interval(intervals, index, problem):
    error = refusal(lambda: Scheduled(intervals))
    assert error.field == f"intervals[{index}]"
    assert error.value == intervals[index]
    assert problem in error.problem
    assert error.allowed


# ── random outages ──────────────────────────────────────────────────────────────────────────────────────
def test_random_outages_alternate_between_two_exponential_times():
    """Kolmogorov–Smirnov on 20,000 times up and as many down; the first time is one up."""
    lengths = np.diff(flips(RandomOutages(3.0, 0.5), 40_000, seed=2), prepend=0.0)
    up, down = stats.expon(scale=3.0), stats.expon(scale=0.5)
    assert stats.kstest(lengths[::2], up.cdf).pvalue > FALSE_ALARM
    assert stats.kstest(lengths[1::2], down.cdf).pvalue > FALSE_ALARM
    assert stats.kstest(1.1 * lengths[::2], up.cdf).pvalue < FALSE_ALARM  # the test can tell


def test_flips_increase_even_where_an_outage_is_shorter_than_a_float_can_tell():
    times = flips(RandomOutages(1e9, 1e-9), 1_000, seed=6)
    assert all(earlier < later for earlier, later in itertools.pairwise(times))


@pytest.mark.parametrize("field", ["mean_up", "mean_down"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_random_outages_have_positive_finite_means(field, value):
    assert refusal(lambda: RandomOutages(**{"mean_up": 1.0, "mean_down": 1.0, field: value})).field == field


# ── traces ──────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("header", ["", "down,up\n", "down, up\n"])
def test_a_trace_is_the_schedule_that_it_holds(trace, header):
    path = trace(header + "".join(f"{down},{up}\n" for down, up in INTERVALS))
    outages = TraceOutages(path)
    assert outages.intervals == INTERVALS
    assert flips(outages) == flips(Scheduled(INTERVALS))


# ── the switch ──────────────────────────────────────────────────────────────────────────────────────────
moments = st.lists(st.floats(0, 100) | st.integers(0, 10).map(float), max_size=30)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(changes=moments, asked=moments, questions=st.randoms(use_true_random=False))
def test_a_switch_agrees_with_counting_the_flips(changes, asked, questions):
    """Small whole numbers among both make a question at the very moment of a flip common."""
    changes = sorted(set(changes))
    switch = Switch(iter(changes))
    for now in sorted(asked):
        down = sum(flip <= now for flip in changes) % 2 == 1
        after = min((flip for flip in changes if flip > now), default=math.inf)
        if questions.random() < 0.7:
            assert switch.is_down(now) is down
        if questions.random() < 0.7:
            assert switch.next_change(now) == after


def test_a_switch_takes_each_flip_once_and_one_ahead():
    taken = []

    def endless():
        for flip in itertools.count(1):
            taken.append(flip)
            yield float(flip)

    switch = Switch(endless())
    assert taken == [1]
    assert [switch.is_down(0.5), switch.next_change(0.5), len(taken)] == [False, 1.0, 1]
    assert [switch.is_down(7.5), switch.next_change(7.5), len(taken)] == [True, 8.0, 8]
    for _ in range(100):
        switch.is_down(7.75)
    assert taken == list(range(1, 9))


def test_a_switch_without_flips_is_up_for_ever():
    switch = Switch(())
    assert not switch.is_down(1e300)
    assert switch.next_change(1e300) == math.inf


def test_a_switch_may_be_asked_again_about_the_time_since_the_last_flip():
    switch = Switch([1.0, 2.0])
    assert switch.is_down(1.75)
    assert switch.is_down(1.25)


@pytest.mark.parametrize("now", [0.5, math.nan, math.inf])
@pytest.mark.parametrize("ask", [Switch.is_down, Switch.next_change])
def test_a_switch_refuses_times_that_it_cannot_answer_for(now, ask):
    switch = Switch([1.0, 2.0])
    switch.is_down(1.5)
    with pytest.raises(SimulationError, match="forward"):
        ask(switch, now)


def test_a_switch_is_gone_once_it_is_down_for_good():
    switch = Switch(iter([1.0, 2.0, 3.0]))
    assert [(switch.is_down(t), switch.gone) for t in (0.0, 1.5, 2.5, 3.0)] == [
        (False, False), (True, False), (False, False), (True, True),
    ]  # fmt: skip
