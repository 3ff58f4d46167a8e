"""The joint probe on every algorithm there is: all agents from all links, and what a few taps tell."""

from dataclasses import replace

import numpy as np
import pytest

from attacks.inference import probed
from attacks.probe import probe_network
from netsim.adversary import Adversary
from netsim.errors import AttackError
from tests.attacks.probe.scripted import given, within_bounds, worst
from tests.netsim.algorithms.every import DOOR, EXAMPLES
from tests.worlds import ROUGH

RANDOM_ITSELF = ("random_penalty_admm", "grouped_descent", "neighbor_range")
"""Their noise is part of the method."""
INVERTED = [name for name, example in EXAMPLES.items() if not example.refused]
HALF = Adversary("half", links=((0, 1), (2, 3)), insiders=(5,))
ON_THE_WAY = ("rw_admm", "walkman", "walkman, version: prox", "recal", *(n for n in EXAMPLES if "dp_recal" in n))
"""Tokens, whose way a few taps do not see; but for `rw_admm` with everybody active."""


@pytest.mark.few(3)
@pytest.mark.parametrize("noisy", [False, True], ids=["plain", "noisy"])
@pytest.mark.parametrize("name", INVERTED)
def test_all_agents_from_all_links_and_each_as_a_probe_of_it_alone_sees_it(name, noisy):
    run = EXAMPLES[name].simulation(noisy, links=ROUGH, seed=3).run()
    found, alone = probe_network(run.views[0]), probed(run.views[0], DOOR)
    kept, ours = np.flatnonzero(alone.identifiable), found.agents[DOOR]
    assert np.array_equal(np.flatnonzero(ours.identifiable[: len(alone.identifiable)]), kept)
    np.testing.assert_allclose(ours.gradients[kept], alone.gradients[kept], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ours.stddev[kept], alone.stddev[kept], rtol=1e-6, atol=1e-12)
    assert len(found.seen) == run.simulation.topology.agents
    if not noisy and name not in RANDOM_ITSELF:
        assert worst(found, run) < 1e-8
        assert within_bounds(found, run)
    truth = given(run)
    for i, queries in found.seen.items():
        error = np.abs(found.agents[i].gradients[list(queries)] - truth[i][list(queries)])
        bound = (
            6 * found.agents[i].stddev[list(queries)][:, None]
            + found.agents[i].rounding[list(queries)][:, None, None]
        )
        assert np.all(error <= bound)


@pytest.mark.few(8)
@pytest.mark.parametrize("name", [n for n in INVERTED if EXAMPLES[n].graph == "ring" and n not in RANDOM_ITSELF])
def test_what_a_few_taps_and_an_insider_tell(name):
    run = replace(EXAMPLES[name].simulation(noisy=False), adversaries=(HALF,)).run()
    if name in ON_THE_WAY:
        with pytest.raises(AttackError, match="its coins are private"):
            probe_network(run.views[0])
        return
    found = probe_network(run.views[0])
    assert sorted(found.agents) == [0, 1, 2, 3, 4]
    assert worst(found, run) < 1e-8
    assert within_bounds(found, run)
    truth = given(run)
    for each in found.functionals():
        assert np.abs(each.of(truth) - each.estimate).max() <= each.rounding
