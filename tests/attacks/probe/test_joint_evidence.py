"""What a joint probe hands on: no estimate is called more exact than rounding leaves it."""

import numpy as np

from attacks.estimates import Evidence
from attacks.probe import EXACT, Constant, probe_network
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import PrivateGradientDescent
from netsim.schedules import Constant as Step
from netsim.schedules import Geometric
from tests.attacks.probe.joint_worlds import estimates_in, evidence_in
from tests.attacks.probe.scripted import drawn, given, run_script


def from_the_end():
    """A path of 20 from an insider at its end: what is farther away is less exact."""
    end = Adversary(insiders=(0,))
    return run_script(drawn(20, 40, constant=True), topology.path(20), PrivateGradientDescent(40, Step(0.05)), end)


def test_rounding_goes_with_the_evidence():
    run = from_the_end()
    found, truth = probe_network(run.views[0], gradients=Constant()), given(run)
    evidence = {e.agent: e for e in evidence_in(found)}
    for i, one in evidence.items():
        known = list(one.queries)
        assert one.rounding is not None
        np.testing.assert_array_equal(one.rounding, found.agents[i].rounding[known])
        assert np.all(np.abs(one.gradients - truth[i][known]).max(axis=(1, 2)) <= one.rounding)
    assert evidence[1].exact
    assert not evidence[19].exact


def test_rounding_counts_in_the_deviation_of_estimates():
    run = from_the_end()
    found = probe_network(run.views[0], gradients=Constant())
    estimates = estimates_in(found)
    for each in estimates:
        rounding = found.agents[each.agent].rounding[each.query]
        exact = rounding <= EXACT * np.max(np.abs(each.gradient))
        assert each.stddev == (0.0 if exact else rounding)
    assert {each.stddev > 0 for each in estimates} == {True, False}
    far = [each for each in estimates if each.agent == 19]
    assert not Evidence.of(far).exact


def test_noise_above_rounding_is_stated_as_it_is():
    noisy = PrivateGradientDescent(6, Step(0.5), Geometric(0.2, 0.5))
    found = probe_network(run_script(drawn(5, 6), topology.ring(5), noisy, Adversary()).views[0])
    assert found.seen
    for each in estimates_in(found):
        victim = found.agents[each.agent]
        assert each.stddev == np.sqrt(np.mean(victim.stddev[each.query] ** 2)) > victim.rounding[each.query]
    assert not any(e.exact for e in evidence_in(found))
