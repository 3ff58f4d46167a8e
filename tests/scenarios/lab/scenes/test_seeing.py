"""Who sees what: exact ε of views, against formulas and against each other."""

import math
from itertools import pairwise

import pytest

from attacks.audit.accounting.formulas import gaussian_epsilon
from scenarios.lab.scenes import seeing as scene


def test_a_door_of_one_that_nobody_mixes_with_is_the_gaussian_mechanism_of_its_rounds() -> None:
    """With its own noise alone every round is one release of the moved gradient: μ = √K·1/σ."""
    for own in (0.5, 4.0):
        found = scene.Seen("ring", own, 0.0)
        assert found.door == pytest.approx(gaussian_epsilon(math.sqrt(scene.ROUNDS) / own, found.delta), rel=1e-6)


@pytest.mark.parametrize("topology", ["ring", "path", "star", "complete"])
def test_more_listeners_learn_more_and_no_noise_is_hidden_from_all_others_together(topology: str) -> None:
    alone, hidden = scene.Seen(topology, 0.5, 0.0), scene.Seen(topology, 0.5, 8.0)
    for found in (alone, hidden):
        assert all(one <= more * (1 + 1e-9) for one, more in pairwise(found.by_size))
        assert found.by_size[0] == pytest.approx(max(found.alone.values()), rel=1e-6)
    assert hidden.by_size[-1] == pytest.approx(alone.by_size[-1], rel=1e-6)
    assert hidden.by_size[0] <= alone.by_size[0] * (1 + 1e-9)


@pytest.mark.parametrize(("topology", "holders"), [("path", 1), ("ring", 2), ("star", 5), ("complete", 5)])
def test_who_holds_all_seeds_subtracts_all_noise_that_is_shared(topology: str, holders: int) -> None:
    found = scene.Seen(topology, 0.5, 16.0)
    assert found.holders == holders == len(found.neighbors)
    assert set(found.together(holders)[0]) >= set(found.neighbors)
    if holders > 1:
        assert found.together(holders - 1)[1] < 0.9 * found.by_size[-1]


def test_a_tap_holds_no_seed_and_a_neighbor_hears_no_less_than_the_tap_on_its_link() -> None:
    found = scene.Seen("ring", 0.5, 8.0)
    links = {str(name): float(str(epsilon)) for name, who, epsilon in found.rows() if who == "a tap on a link"}
    assert found.alone[1] > found.door > links["link 0-1"]
    assert scene.Seen("path", 0.5, 8.0).alone[1] > 10 * scene.Seen("path", 0.5, 8.0).door


def test_less_arrives_with_every_hop_and_little_enough_is_covered_by_delta() -> None:
    found = scene.Seen("path", 0.5, 0.0)
    by_hops = [found.alone[agent] for agent in range(1, scene.AGENTS)]
    assert by_hops == sorted(by_hops, reverse=True)
    assert found.nearest == by_hops[0] > 100 * by_hops[-1] == 100 * found.farthest > 0
    assert scene.Seen("path", 0.5, 8.0).farthest == 0.0
