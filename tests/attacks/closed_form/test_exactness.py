"""What is called exact is exact, also where networks repeat, reorder, forget, or are heard in different places."""

import pytest

from attacks.inference import infer
from attacks.score import score_gradients
from netsim.adversary import Adversary, Around
from netsim.algorithms import PrivateGradientDescent, Recal
from netsim.network.active_adversaries import ActiveAdversary, Alter, FlipSign
from netsim.network.laws import ConstantDelay, Scheduled, UniformDelay
from netsim.network.links import LinkLaw
from netsim.problems import load, logistic
from netsim.readers.live import Downtime
from netsim.schedules import Constant
from netsim.settings import NetworkSettings
from netsim.simulation import Simulation
from netsim.topology import complete, ring
from tests.worlds import simulated

WALK = Recal(step=0.2, activations=30)
DESCENT = PrivateGradientDescent(6, Constant(0.1))
TENTH = LinkLaw(ConstantDelay(0.01))
RELIABLE = LinkLaw(ConstantDelay(0.01), reliable=True)
DUPLICATED = LinkLaw(UniformDelay(0.01, 0.03), duplication=0.2)
TO_TWO = {(i, 2): LinkLaw(ConstantDelay(0.01), encrypted=True) for i in (0, 1, 3, 4)}
ANEW = {0: Downtime(Scheduled(((0.05, 0.06),)), "restart_without_state")}


def worst(algorithm, graph, links, adversary, seed, **options) -> tuple[float, int]:
    """The largest error of an estimate that is called exact, and how many there are."""
    problem = logistic(load("synthetic", records=20, dimension=4, seed=3, norm_bound=1.0).split(5), ridge=0.5)
    run = simulated(problem, graph, algorithm, links, adversaries=(adversary,), seed=seed, **options).run()
    exact = [e for e in infer(run.views[0]) if e.stddev == 0]
    return score_gradients(exact, run.truth, run.views[0].inside).worst if exact else 0.0, len(exact)


@pytest.mark.few(29)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    ("links", "graph", "adversary", "options"),
    [
        (DUPLICATED, ring(5), Adversary(), {}),
        (DUPLICATED, ring(5), Adversary(nodes=(0, 2)), {}),
        (RELIABLE, ring(5), Adversary(), {"downtimes": ANEW}),
        (RELIABLE, ring(5), Adversary(nodes=(0, 1)), {"downtimes": ANEW}),
        (RELIABLE, ring(5), Adversary(insiders=(0,)), {"downtimes": ANEW}),
        (TENTH, complete(5), Adversary(links="all", insiders=(2,)), {"link_laws": TO_TWO}),
        (LinkLaw(), complete(5), Adversary(links=((0, 1),), insiders=(2,)), {}),
        (LinkLaw(), complete(5), Adversary(links=Around((0,)), insiders=(3, 4)), {}),
        (TENTH, complete(5), Adversary(links=Around((0,)), insiders=(3, 4)), {}),
    ],
)
def test_a_walk_that_is_misread_is_not_called_exact(links, graph, adversary, options, seed):
    error, _ = worst(WALK, graph, links, adversary, seed, **options)
    assert error < 1e-9


def test_a_walk_is_still_read_where_it_can_be():
    assert worst(WALK, ring(5), DUPLICATED, Adversary(nodes=(0, 2)), 0)[1] > 5
    assert worst(WALK, ring(5), DUPLICATED, Adversary(), 0)[1] == 30  # whatever was repeated, it is one baton
    assert worst(WALK, ring(5), TENTH, Adversary(), 0)[1] == 30
    mixed = worst(WALK, complete(5), TENTH, Adversary(links="all", insiders=(2,)), 1, link_laws=TO_TWO)
    assert mixed[1] > 15


@pytest.mark.parametrize("nodes", [(1,), (0, 1), (0, 1, 2, 3, 4)])
@pytest.mark.parametrize("links", [None, ()])
def test_at_the_receivers_door_what_a_meddler_made_of_it_counts(nodes, links):
    mallory = ActiveAdversary("mallory", ((0, 1),), (Alter(FlipSign()),))
    problem = logistic(load("synthetic", records=20, dimension=4, seed=3, norm_bound=1.0).split(5), ridge=0.5)
    adversary = Adversary(links=links, nodes=nodes)
    run = Simulation(
        problem, ring(5), DESCENT, NetworkSettings(RELIABLE, active_adversaries=(mallory,)), adversaries=(adversary,)
    ).run()
    at_doors = [e for e in infer(run.views[0]) if e.agent in nodes]
    assert {e.agent for e in at_doors} == set(nodes)
    assert score_gradients(at_doors, run.truth).worst < 1e-9
