"""Attacks and audits over radio: as strong as over links where all is heard, and blind beyond the range."""

import math

import numpy as np
import pytest

from attacks.closed_form.descent import through_differences
from attacks.closed_form.recal import through_duals, through_iterates
from attacks.score import score_gradients
from netsim.adversary import Adversary, Around, Within
from netsim.algorithms import PrivateGradientDescent, Recal
from netsim.network.laws import ConstantDelay, UniformDelay
from netsim.network.links import LinkLaw
from netsim.network.radio import Radio
from netsim.schedules import Constant
from netsim.settings import NetworkSettings
from netsim.simulation import Simulation
from netsim.topology import grid, random_geometric, ring
from tests.attacks.auditing import claim_of, judged, quadratic_world
from tests.worlds import ROUGH, changed, digits_problem, dp_recal, synthetic_problem

LAWS = [LinkLaw(), ROUGH, LinkLaw(UniformDelay(0.01, 0.03), loss=0.3, bandwidth=1e6, duplication=0.2, reliable=True)]


@pytest.mark.parametrize("law", LAWS, ids=["perfect", "rough", "copies"])
def test_recal_over_radio_tells_every_gradient_exactly_as_over_links(law):
    problem = digits_problem()
    on_links = Simulation(
        problem, ring(8), Recal(step=0.2, activations=240), NetworkSettings(law), adversaries=(Adversary(),), seed=3
    )
    on_radio = changed(on_links, medium=Radio(1 if law.bandwidth else 0))
    runs = on_links.run(), on_radio.run()
    told = [through_duals(run.views[0]) for run in runs]
    for estimates, run in zip(told, runs, strict=True):
        score = score_gradients(estimates, run.truth)
        assert score.estimated == score.asked == 240
        assert score.worst < 1e-10
    for a, b in zip(*(sorted(each, key=lambda e: e[:2]) for each in told), strict=True):
        assert np.array_equal(a.gradient, b.gradient)


@pytest.mark.parametrize("law", LAWS, ids=["perfect", "rough", "copies"])
@pytest.mark.parametrize(
    ("algorithm", "attack", "tolerance"),
    [
        (dp_recal(synthetic_problem(), "as_deployable", 30), through_iterates, 1e-8),
        (PrivateGradientDescent(12, Constant(0.3)), through_differences, 1e-12),
    ],
)
def test_dp_recal_and_descent_over_radio_hide_each_agents_last_gradient_alone(algorithm, attack, tolerance, law):
    settings, adversary = NetworkSettings(law, medium=Radio()), Adversary("ears", Around(tuple(range(5))))
    run = Simulation(synthetic_problem(), ring(5), algorithm, settings, adversaries=(adversary,)).run()
    score = score_gradients(attack(run.views[0]), run.truth)
    assert score.worst < tolerance
    assert score.hidden == (1,) * 5


def test_who_misses_a_broadcast_may_still_hear_its_repetition():
    """Half of all frames are missed, but what a neighbor lost is on the air again."""
    problem, algorithm = synthetic_problem(), PrivateGradientDescent(60, Constant(0.3))
    deaf, law = Adversary(capture_loss=0.5), LinkLaw(ConstantDelay(0.01), loss=0.5, reliable=True)
    heard = []
    for links in (LinkLaw(), law):
        run = Simulation(
            problem, ring(5), algorithm, NetworkSettings(links, medium=Radio()), adversaries=(deaf,)
        ).run()
        estimates = through_differences(run.views[0])
        assert score_gradients(estimates, run.truth).worst < 1e-12
        heard.append(len(estimates))
    assert heard[1] > 2 * heard[0]


@pytest.mark.parametrize("reach", [0.0, 1.0, 1.5, 2.0, 2.9, 5.0])
@pytest.mark.parametrize("topology", [grid(4, 4), random_geometric(16, 0.4, seed=1)], ids=["grid", "field"])
def test_in_a_corner_it_infers_exactly_the_agents_all_of_whose_neighbors_it_hears(topology, reach):
    """The rule, from distances alone: an agent is known if it and all its neighbors are within range."""
    reach = reach if topology.name.startswith("grid") else reach / 4
    near = {i for i in range(16) if math.hypot(*topology.positions[i]) <= reach}
    known = {i for i in near if near.issuperset(np.flatnonzero(topology.adjacency.toarray()[i]))}
    rounds = 6
    run = Simulation(
        synthetic_problem(16), topology, PrivateGradientDescent(rounds, Constant(0.3)),
        NetworkSettings(ROUGH, medium=Radio(1)), adversaries=(Adversary(links=Within((0.0, 0.0), reach)),),
    ).run()  # fmt: skip
    estimates = through_differences(run.views[0])
    assert {r.sender for r in run.views[0].transcript} == near
    assert sorted((e.agent, e.query) for e in estimates) == [(i, k) for i in sorted(known) for k in range(rounds - 1)]
    if estimates:
        assert score_gradients(estimates, run.truth).worst < 1e-12


def test_in_a_corner_it_follows_a_baton_as_long_as_it_hears_every_hop():
    """A visit is known if its agent's former visits are and both its batons were heard: counted from the truth."""
    topology, reach = grid(3, 3), 1.0
    near = {0, 1, 3}
    algorithm = Recal(step=0.4, activations=120)
    everything, corner = Adversary("everything"), Adversary("corner", links=Within((0.0, 0.0), reach))
    run = Simulation(
        synthetic_problem(9), topology, algorithm, NetworkSettings(ROUGH, medium=Radio()),
        adversaries=(everything, corner),
    ).run()  # fmt: skip
    holder, broken, expected, visits = 0, set(), [], {}
    start = True
    for row in run.views[0].transcript.on_links():  # the walk, hop by hop
        agent, number = row.sender, visits.get(row.sender, 0)
        visits[agent] = number + 1
        came_heard = start or holder in near
        if agent in near and came_heard and agent not in broken:
            expected.append((agent, number))
        elif not came_heard:
            broken.add(agent)
        holder, start = agent, False
    estimates = through_duals(run.views[1])
    assert len(expected) > 1
    assert sorted((e.agent, e.query) for e in estimates) == sorted(expected)
    assert score_gradients(estimates, run.truth).worst < 1e-10


# ── audits ──────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_an_audit_over_radio_finds_what_it_finds_over_links():
    """Same seed, same noise: the same exact losses and the same games, white box and black box."""
    on_links, pair = quadratic_world(PrivateGradientDescent(6, Constant(0.1), Constant(0.5)))
    found = [judged(changed(on_links, medium=m), pair, claim_of(8.0, 0.0)) for m in ("links", Radio())]
    assert found[0].judgement == found[1].judgement
    assert [e.epsilon for e in found[0].exact] == [e.epsilon for e in found[1].exact]
    assert found[0].white_box == found[1].white_box
    assert found[0].black_box == found[1].black_box
    assert found[0].black_box is not None


@pytest.mark.slow
def test_an_audit_over_lossy_radio_names_the_message_that_leaks():
    problem = digits_problem()
    simulation, pair = quadratic_world(dp_recal(problem, "as_analysed", 8))
    simulation = changed(simulation, links=ROUGH, medium=Radio(1))
    found = judged(simulation, pair, claim_of(1.0, 1e-3))
    assert found.epsilon_exact == math.inf
    assert found.uncovered.name == "u"
