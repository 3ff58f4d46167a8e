"""Scores of traffic analysis: events are an agent's activations, each once and at its time."""

from dataclasses import replace

import pytest

from attacks.score import score_traffic
from tests.attacks.traffic.worlds import ROUNDS, SEALED, listened


@pytest.fixture(scope="module")
def world():
    return listened(ROUNDS, SEALED)


def scored(world, events):
    found, _, run, log = world
    score = score_traffic(replace(found, activity=replace(found.activity, events=tuple(events))), run, log)
    return score.events - score.events_found, score.events_wrong


def test_an_event_left_out_is_missed_and_one_at_another_time_of_another_agent_or_twice_is_nobodys(world):
    events = world[0].activity.events
    for left_out in (0, len(events) // 2, len(events) - 1):
        assert scored(world, [one for k, one in enumerate(events) if k != left_out]) == (1, 0)
    first = events[0]
    assert scored(world, [first, *events]) == (0, 1)
    assert scored(world, [first._replace(agent=99), *events[1:]]) == (1, 1)
    assert scored(world, [*events, events[-1]._replace(time=events[-1].time + 1.0)]) == (0, 1)
