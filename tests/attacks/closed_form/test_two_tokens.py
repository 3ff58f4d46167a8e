"""A first holder that begins anew sends out a second token: what an agent took is then known at its door alone."""

import numpy as np
import pytest

from attacks.inference import probed
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import DPRecal, Recal, Walkman
from netsim.errors import AttackError
from netsim.network.laws import Scheduled, UniformDelay
from netsim.network.links import LinkLaw
from netsim.problems import load, logistic
from netsim.readers.live import Downtime
from netsim.settings import NetworkSettings, Recording, Timing
from netsim.simulation import Simulation

PROBLEM = logistic(load("synthetic", records=30, dimension=2, seed=3, norm_bound=1.0).split(5), ridge=0.5)
ANEW = {2: Downtime(Scheduled(((2.0, 2.5),)), "restart_without_state")}


def ran(algorithm, seed, adversary, graph=None):
    return Simulation(
        PROBLEM,
        topology.star(5) if graph is None else graph,
        algorithm,
        NetworkSettings(links=LinkLaw(UniformDelay(0.01, 0.02), reliable=True)),
        adversaries=(adversary,),
        seed=seed,
        timing=Timing(compute=UniformDelay(0.0, 0.5), downtimes=ANEW),
        recording=Recording(measure=False),
    ).run()


@pytest.mark.parametrize(
    ("algorithm", "adversary", "graph"),
    [
        (Recal(0.3, per_agent=12, first=2), Adversary(), topology.star(5)),
        (DPRecal(0.3, per_agent=12, first=2, stddev=1e-3, reading="sent_state"), Adversary(), topology.star(5)),
        (Recal(0.3, per_agent=8, first=2), Adversary(links="all", insiders=(2,)), topology.star(5)),
        (Walkman(2.0, per_agent=8, first=2), Adversary(links="all", insiders=(2,)), topology.ring(5)),
    ],
)
def test_links_tell_no_gradient_that_is_wrong(algorithm, adversary, graph):
    for seed in range(5):
        run = ran(algorithm, seed, adversary, graph)
        for agent in (0, 1, 3, 4):
            try:
                found = probed(run.views[0], agent)
            except AttackError as refusal:
                assert "nothing was observed" in str(refusal)  # noqa: PT017
                continue
            for t in np.flatnonzero(found.identifiable):
                error = np.abs(found.gradients[t] - run.truth.queries[agent][t].gradient)
                assert np.all(error <= 10 * found.stddev[t] + found.rounding[t] + 1e-9)


def test_a_door_still_tells_them():
    run = ran(Recal(0.3, per_agent=12, first=2), 0, Adversary(links=(), nodes=(0,)))
    found = probed(run.views[0], 0)
    assert found.exact.sum() >= 5
    for t in np.flatnonzero(found.exact):
        error = np.abs(found.gradients[t] - run.truth.queries[0][t].gradient)
        np.testing.assert_array_less(error, 1e-9)


@pytest.mark.parametrize("nodes", [(2,), ()])
def test_an_agent_that_may_begin_anew_is_refused(nodes):
    view = ran(Recal(0.3, per_agent=12, first=2), 0, Adversary(nodes=nodes)).views[0]
    with pytest.raises(AttackError, match="agent 2 may begin anew"):
        probed(view, 2)
