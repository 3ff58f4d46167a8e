"""What is kept of a run: which points, and how many, whatever the agents do."""

from types import SimpleNamespace

import numpy as np
import pytest

from netsim.metrics import course
from netsim.metrics.course import Course
from netsim.network.wires import Air
from netsim.problems import load, logistic

AGENTS, DIMENSION = 4, 3
PROBLEM = logistic(load("synthetic", records=20, dimension=DIMENSION).split(AGENTS), 0.5)
NODES = [SimpleNamespace(queries=0, messages=0, message_bytes=0) for _ in range(AGENTS)]


def made(walk: bool, **options) -> Course:
    return Course(PROBLEM, 2, walk=walk, air=Air(), nodes=NODES, **options)


def x(agent: int, count: int) -> np.ndarray:
    return np.random.default_rng([agent, count]).standard_normal((2, DIMENSION))


def rounds(found: Course, order: list[int]) -> Course:
    closed = [0] * AGENTS
    for agent in order:
        closed[agent] += 1
        found.closed(agent, x(agent, closed[agent]))
    found.finish()
    return found


@pytest.mark.parametrize("walk", [False, True])
@pytest.mark.parametrize("length", [1, 7, 199, 200, 201, 1000, 5003])
def test_points_are_a_thinned_set_with_both_ends(walk, length):
    found = made(walk, last=None if walk else length)
    for count in range(1, length + 1):
        for agent in range(1 if walk else AGENTS):
            found.closed(agent, x(agent, count % 50))
    found.finish()
    counts = [point.count for point in found.points()]
    powers = {2**k for k in range(20)}
    wanted = {k for k in range(1, length + 1) if k % found.stride == 0 or k in powers or k == length}
    assert counts == sorted(wanted)
    assert len(counts) <= course.MOST + length.bit_length() + 1
    assert len(counts) >= min(length, course.MOST // 2)


def test_a_round_is_of_the_same_round_of_all_agents_however_far_they_are_apart():
    """One agent closes all its rounds before the others begin, and they take turns in their own order."""
    order = [2] * 6 + [1, 0, 0, 1, 3, 1, 0] + [3, 0, 1] * 5
    found = rounds(made(False), order)
    assert [point.count for point in found.points()] == [1, 2, 3, 4, 5, 6]
    for point in found.points():
        estimates = [x(i, point.count) for i in range(AGENTS)]
        mean = sum(estimates) / AGENTS
        np.testing.assert_allclose(point.answer, mean, rtol=1e-13)
        np.testing.assert_allclose(
            point.consensus, sum(((e - mean) ** 2).sum(axis=1) for e in estimates) / AGENTS, rtol=1e-12
        )
        best = PROBLEM.optimum().point
        error = np.linalg.norm(mean - best, axis=1) / np.linalg.norm(best)
        np.testing.assert_allclose(point.mean_error, error, rtol=1e-12)
        last = max([k for k, a in enumerate(order) if a == i][point.count - 1] for i in range(AGENTS))
        assert point.at == last


def test_an_agent_that_never_closes_takes_no_memory():
    found = made(False)
    for count in range(1, 20_000):
        for agent in range(AGENTS - 1):
            found.closed(agent, np.zeros((2, DIMENSION)))
        held = len(found._points) + len(found._rounds)
        assert held <= course.MOST + count.bit_length() + 1
    found.finish()
    assert found.points() == []


def test_a_walk_is_of_the_latest_estimates_of_who_has_closed():
    order = [0, 1, 0, 3, 1, 1, 0, 2, 3]
    found = rounds(made(True), order)
    latest, closed = {}, [0] * AGENTS
    for point, agent in zip(found.points(), order, strict=True):
        closed[agent] += 1
        latest[agent] = x(agent, closed[agent])
        mean = sum(latest.values()) / len(latest)
        np.testing.assert_array_equal(point.answer, latest[agent])
        wanted = sum(((e - mean) ** 2).sum(axis=1) for e in latest.values()) / len(latest)
        np.testing.assert_allclose(point.consensus, wanted, rtol=1e-12, atol=1e-30)


def test_every_is_obeyed_and_never_thinned():
    found = made(True, every=3)
    for count in range(1, 2001):
        found.closed(0, x(0, count % 9))
    found.finish()
    assert {3 * k for k in range(1, 667)} <= {point.count for point in found.points()}


def test_answers_of_many_replicas_are_fewer(monkeypatch):
    assert course.limit(PROBLEM, 2) == course.MOST
    assert course.limit(PROBLEM, 10**6) == course.FEWEST
    monkeypatch.setattr(course, "MEMORY", 8 * 2 * DIMENSION * 50)
    assert course.limit(PROBLEM, 2) == 50
