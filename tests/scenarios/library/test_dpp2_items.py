"""Scenarios of the DPP² paper's items have the printed parameters."""

import pytest

from netsim.algorithms import DiaDSP, Dpp2, Ppdc
from scenarios.build.experiment import Experiment
from scenarios.files.library import library
from scenarios.schema.load import load_scenario
from scenarios.stages.study import planned

ITEMS = [name for name in library() if name.startswith("dpp2-") and load_scenario(name).scenario.reproduces]


def algorithms(name):
    return {one.spec.name: one.simulation.algorithm for one in Experiment.of(load_scenario(name).scenario).subjects}


def test_the_experiment_is_that_of_section_vi():
    """N = 50, d = 10, m = 200, M̄ = 5.03 and 255 edges."""
    simulation = Experiment.of(load_scenario("dpp2-fig-1").scenario).subjects[0].simulation
    problem, graph = simulation.problem, simulation.topology
    assert (graph.agents, len(graph.edges), problem.dimension) == (50, 255, 10)
    assert problem.smoothness == pytest.approx(5.03, rel=1e-9)
    assert {objective.records for objective in problem.objectives} == {200}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ITEMS)
def test_eta_is_random_in_every_item(name):
    scenario = planned(load_scenario(name)).scenario
    etas = [spec.eta for spec in scenario.algorithms if spec.kind == "dpp2"]
    assert etas
    assert all((eta.kind, eta.low, eta.high) == ("uniform_draws", 0, 1) for eta in etas)


def test_figs_1_and_2_have_all_printed_values():
    """Section VI: r̄ at ū = 1, and ū at r̄ = 0.95; α = 0.1, β = 0.05, ρ = 10."""
    first, second = algorithms("dpp2-fig-1"), algorithms("dpp2-fig-2")
    for one in (*first.values(), *second.values()):
        assert (one.step, one.beta, one.rho, one.rounds) == (0.1, 0.05, 10, 500)
        assert one.scale_w == one.scale_e
    decays = [(one.scale_w(0), one.scale_w(1)) for one in first.values()]
    assert decays == [(0, 0), *((1, r) for r in (0.5, 0.9, 0.95, 0.97, 0.98, 0.99))]
    for one, u in zip(second.values(), (0, 0.1, 0.3, 0.6, 1, 3, 5), strict=True):
        assert (one.scale_w(0), one.scale_w(1)) == (u, pytest.approx(0.95 * u))


@pytest.mark.slow
def test_fig_3_has_the_printed_parameters():
    dpp2, diadsp, ppdc = algorithms("dpp2-fig-3").values()
    assert isinstance(dpp2, Dpp2)
    assert isinstance(diadsp, DiaDSP)
    assert isinstance(ppdc, Ppdc)
    assert {one.rounds for one in (dpp2, diadsp, ppdc)} == {500}
    assert (dpp2.rho, dpp2.step, dpp2.beta, dpp2.scale_w(0), dpp2.scale_e(0)) == (10, 0.0994, 0.05, 0.994, 1)
    assert (diadsp.step, diadsp.scale_x, diadsp.scale_y) == (0.01, 2, 5)
    assert (ppdc.gamma, ppdc.omega, ppdc.step, ppdc.scale_x(0), ppdc.scale_v(0)) == (65, 5, 0.01, 1, 1)
    for number, variant in enumerate(planned(load_scenario("dpp2-fig-3")).variants, 1):
        dpp2, diadsp, ppdc = variant.located.scenario.algorithms
        schedules = (dpp2.scale_w, dpp2.scale_e, ppdc.scale_x, ppdc.scale_v)
        assert {diadsp.ratio, *(one.ratio for one in schedules)} == {number / 10}
