"""The DPP² paper's items: parameters as printed, and what each finds at a smaller size."""

import pytest

from netsim.algorithms import DiaDSP, Dpp2, Ppdc
from scenarios.build.experiment import Experiment
from scenarios.files.library import library
from scenarios.schema.load import load_scenario, parse
from scenarios.stages.study import planned, run_study

FIFTY = "topology: {kind: random_geometric, agents: 50, radius: 0.3, seed: 69}"
SMALL = (FIFTY, "topology: {kind: complete, agents: 3}"), ("records: 10000", "records: 150")
ITEMS = [name for name in library() if name.startswith("dpp2-") and load_scenario(name).scenario.reproduces]


def found(name, folder, *changes):
    text = library()[name]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return run_study(parse(text, name), folder, page=False).reproduction


def algorithms(name):
    return {one.spec.name: one.simulation.algorithm for one in Experiment.of(load_scenario(name).scenario).subjects}


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


def test_figs_1_and_2_agree_in_shape_on_three_agents(tmp_path):
    """Fewer rounds, and weaker ends; the order of the curves is the same."""
    for name in ("dpp2-fig-1", "dpp2-fig-2"):
        outcome = found(name, tmp_path / name, *SMALL, ("rounds: 500", "rounds: 80"))
        ordered = [check for check in outcome.checks if "better" in check.statement]
        assert len(ordered) == 6
        assert all(answer.result == "holds" for check in ordered for answer in check.answers)


def test_the_conditions_of_theorems_1_and_2_fail_in_the_experiment(tmp_path):
    outcome = found("dpp2-theorems-1-2", tmp_path, ("rounds: 200", "rounds: 2"))
    assert outcome.outcome == "differs"
    met, printed = (check.answers[0] for check in outcome.checks)
    assert (met.result, printed.result) == ("holds", "fails")
    assert "(27): α = 0.1 is not below ξ₆/ξ₇ = 0.000923568" in printed.found


def test_corollary_1_is_refuted_at_its_own_r(tmp_path):
    outcome = found("dpp2-corollary-1", tmp_path, ("trials: 400, chunk: 200", "trials: 50, chunk: 50"))
    assert outcome.outcome == "differs"
    assert all(answer.result == "fails" for check in outcome.checks for answer in check.answers)


def test_gradients_come_from_what_is_sent_with_eta_known_and_unknown(tmp_path):
    outcome = found("dpp2-zero-leakage", tmp_path, *SMALL, ("rounds: 100", "rounds: 60"))
    assert outcome.outcome == "differs"
    answers = [answer for check in outcome.checks for answer in check.answers]
    assert {answer.variant for answer in answers} == {"eta-known", "eta-unknown"}
    assert all(answer.result == "fails" for answer in answers)
