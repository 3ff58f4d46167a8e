"""Scenarios that come along: everything is built before time 0, and, made smaller, they find what they say."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from attacks.audit.accounting.intervals import normal_mean
from netsim.errors import ScenarioError
from netsim.mechanisms import average_ratio
from scenarios import load, run
from scenarios.build.experiment import Experiment
from scenarios.files.library import library
from scenarios.papers.measures import measured
from scenarios.results import attacked as defences
from scenarios.results.curves import NotMeasuredError
from scenarios.results.tree import AlgorithmResult
from scenarios.schema.checks import AtEnd, CostTo, Growth
from scenarios.schema.load import load_scenario, parse
from scenarios.stages.runner import run_scenario
from scenarios.stages.study import planned, run_study
from tests.oracles.zcdp import zcdp_rho
from tests.scenarios.filled import filled

COMPARED = ("one-budget", "walks-against-rounds", "images-from-dp-recal")
"""These carry no item of a paper."""
TABLES = tuple(f"dp-recal-table-{k}" for k in (1, 2, 3)) + tuple(f"dp-recal-v1-table-{k}" for k in (2, 3, 4))
WHOLE = (
    "cpgt-eq-23", "cpgt-fig-2", "cpgt-fig-3", "cpgt-theorem-1", "cpgt-theorem-2", "dpp2-growing-budget",
    "dpp2-theorem-3", *TABLES,
)  # fmt: skip
"""All of their data come along."""
THESIS = ("private-admm-or-descent", "private-descent-noise-floor", "secret-shares", "uniform-mean-loss")
EXACT = {"recal", "rw_admm", "extra"}


def changed(name, *changes):
    """A shipped scenario with some of its text replaced."""
    text = library()[name]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse(text, name)


def reproduced(name, folder, *changes):
    """What is found by it, and the results of each check."""
    found = run_study(changed(name, *changes), folder, page=False).reproduction
    return found, {(c.statement, a.variant): a.result for c in found.checks for a in c.answers}


@pytest.fixture
def nothing_from_elsewhere(monkeypatch, tmp_path):
    """No data set but those that come along."""
    monkeypatch.setenv("NETSIM_DATA", str(tmp_path / "none"))


# ── before time 0 ───────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.few(2)
@pytest.mark.parametrize("name", [*COMPARED, *WHOLE, *THESIS])
def test_it_is_built_from_what_is_here(name, nothing_from_elsewhere):
    plan = planned(load_scenario(name))
    here = {variant.name for variant in plan.variants} - set(plan.absent)
    assert here or not plan.variants
    assert not (name in WHOLE and plan.absent)
    assert name not in COMPARED or plan.scenario.reproduces is None
    assert name != COMPARED[-1] or here == {"digits"}
    if name in TABLES:
        assert len(plan.variants) == (6 if "whatever" in plan.scenario.reproduces.shows else 5)
        other = "exact_diffusion" if "v1" in name else "nids"
        assert {spec.kind for spec in plan.scenario.algorithms} == EXACT | {
            other,
            "d_admm" if "v1" in name else "ic_admm",
        }


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_about_an_accuracy_that_its_results_have_in_a_table(name):
    scenario = parse(library()[name]).scenario
    checks = [check for check in scenario.reproduces.checks if isinstance(check, CostTo | Growth)]
    assert len(checks) == len(scenario.reproduces.checks)
    assert {check.accuracy for check in checks} <= set(scenario.measures.accuracies)
    assert {figure.y for figure in scenario.figures} == {"messages_to", "plf_to"}


@pytest.mark.parametrize(("weight", "zero"), [("0.5", True), ("0.05", False)])
def test_with_weight_one_half_nobody_has_to_move(weight, zero):
    loaded = changed("walks-against-rounds", ("l1: 0.05\n", f"l1: {weight}\n"))
    assert Experiment.of(loaded.scenario).subjects[0].simulation.problem.optimum().is_zero is zero


FIFTY = "topology: {kind: random_geometric, agents: 50, radius: 0.3, seed: 69}"
THREE = "topology: {kind: complete, agents: 3}"


def test_with_the_laplacian_in_its_place_the_steps_of_dpp2_are_refused():
    laplacian = ("    rho: 10\n", "    rho: 10\n    matrix: laplacian\n")
    with pytest.raises(ScenarioError, match="λ_max") as caught:
        Experiment.of(changed("dpp2-growing-budget", (THREE, FIFTY), laplacian).scenario)
    assert caught.value.field.endswith("beta")


# ── what they find ──────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_the_claim_holds_for_a_change_in_one_coordinate_alone(tmp_path):
    changes = [("rounds: 30", "rounds: 6"), ("trials: 1000, chunk: 500", "trials: 200, chunk: 200")]
    found, answers = reproduced("cpgt-eq-23", tmp_path, *changes)
    assert found.outcome == "differs"
    assert {key for key, result in answers.items() if result == "fails"} == {
        ("An even change is within it,", "even"),
        ("by CPGT as well.", "even"),
    }
    assert set(answers.values()) == {"holds", "fails"}


def test_section_4_of_cpgt_is_drawn_as_printed():
    """A_i 6×10 and b_i from N(0, 1), f_i = ‖A_i x − b_i‖²/6: no f_i is strongly convex, their sum is."""
    here = Experiment.of(planned(load_scenario("cpgt-fig-2")).variants[0].located.scenario).problem
    assert [f.features.shape for f in here.objectives] == [(6, 10)] * 6
    x = np.linspace(-1, 1, 10)
    for f in here.objectives:
        assert f.value(x[None])[0] == pytest.approx(np.sum((f.features @ x - f.targets) ** 2) / 6, rel=1e-12)
        assert np.linalg.eigvalsh(f.hessian(x))[3] == pytest.approx(0, abs=1e-12)
    assert np.linalg.eigvalsh(sum(f.hessian(x) for f in here.objectives))[0] > 0.1
    drawn = np.concatenate([np.append(f.features.ravel(), f.targets) for f in here.objectives])
    assert abs(drawn.mean()) < 3 / math.sqrt(drawn.size)
    assert drawn.std() == pytest.approx(1, abs=3 / math.sqrt(2 * drawn.size))


@pytest.mark.slow
def test_no_error_is_too_large_to_be_drawn(tmp_path):
    """With the divisor 6 the step of error-against-bytes is too long for what sends everything."""
    changes = [("rounds: 400", "rounds: 130"), ("replicas: 10", "replicas: 2")]
    longer = ("  kind: sensors\n", "  kind: sensors\n  divisor: 6\n")
    results = run_study(changed("error-against-bytes", *changes, longer), tmp_path)
    assert results.algorithms[0].convergence.median[-1] > 1e30
    assert (tmp_path / "report.html").exists()


@pytest.mark.slow
def test_the_defence_holds_only_against_weak_attacks(tmp_path, nothing_from_elsewhere):
    """The digits variant by itself, with one draw of the noise and few iterations."""
    text = (
        library()[COMPARED[-1]].replace("replicas: 2", "replicas: 1").replace("iterations: 1000", "iterations: 300")
    )
    results = run_scenario(parse(text[: text.index("variants:\n")]), tmp_path, page=False)
    plain, noisy, repaired = (entry.reconstructions for entry in results.algorithms)
    found = [{one.attack: one for one in entry.attacks} for entry in (plain, noisy, repaired)]
    papers = [one for one in found[0] if found[0][one].inversion == "published"]
    for attack in papers:
        assert found[0][attack].verdict == "recovered", attack
        assert not {"recovered", "recovered in part"} & {*found[1][attack].verdicts, *found[2][attack].verdicts}
        assert found[1][attack].success.count == 0
        assert found[1][attack].psnr < 15
        assert found[1][f"{attack}, through x⁺"].verdict == "recovered", attack
    ours = "Closed form or posterior"
    assert found[0][ours].skill > 1 - 1e-9
    assert found[1][ours].skill > 1 - 1e-9
    success = found[1][ours].success
    assert success.count == success.of == 6
    assert success.rate > success.bound.bound  # more often than any attack if the claim held
    assert found[2][ours].verdict == "defended"
    assert defences.WEAK in noisy.sentence
    assert defences.WEAK not in plain.sentence + repaired.sentence


@pytest.mark.slow
def test_data_that_are_not_here_stand_in_the_way_of_no_other_variant(tmp_path, nothing_from_elsewhere):
    few = ("replicas: 2", "replicas: 1"), ("iterations: 1000", "iterations: 50")
    results = run_study(changed(COMPARED[-1], *few), tmp_path, page=False)
    assert [v.status for v in results.variants] == ["complete", "data not present"]


# ── average losses ──────────────────────────────────────────────────────────────────────────────────────
ABOUT = "\nreproduces:\n  paper: P\n  item: a share\n  shows: A share of the worst case.\n  missing: [all]\n"
RATIO = AtEnd(says="-", measure="loss_ratio", of="one release", above=0.0)
AUDIT = {"epsilon_claimed": 2.0, "average_loss": {"lower": 0.9, "estimate": 1.0, "upper": 1.1}}


def audited(**changed):
    return filled(AlgorithmResult, {"name": "A", "audit": AUDIT | changed})


def small(wide):
    """uniform-mean-loss at two of its widths, with fewer transcripts, and checks of its average loss."""
    text = library()["uniform-mean-loss"]
    text = text.replace("trials: 8000, chunk: 8000", "trials: 1500, chunk: 1500")
    text = text.replace("[0.005, 0.5]", "[0.5]").replace("[0, 0.1, 0.2, 0.5, 1, 2]", "[0, 0.5]")
    checks = (
        f"{{says: at ω = 5/β, measure: loss_ratio, of: one release, variant: step-0.5-high-0.5, {wide}}}",
        "{says: without, measure: loss_ratio, of: one release, variant: step-0.5-high-0, above: 0.75}",
    )
    return parse(text + ABOUT + "  checks:\n" + "".join(f"    - {check}\n" for check in checks), "small.yaml")


@pytest.mark.slow
def test_the_average_loss_of_replayed_releases_is_that_of_the_mechanism(tmp_path):
    results = run_study(
        small(wide=f"equals: {average_ratio(5.0, 5.0, 1.0):.4f}, within: 0.1"), tmp_path / "out", page=False
    )
    assert results.reproduction.outcome == "agrees in shape"
    curve = results.figures[0].curves[0]
    assert curve.x == (0, 0.5)
    for width, low, high in zip(curve.x, curve.low, curve.high, strict=True):
        truth, room = average_ratio(5.0, 10 * width, 1.0), 0.02
        assert low - room < truth < high + room
        assert 0 < high - low < 0.06


@pytest.mark.slow
def test_a_limit_that_is_no_upper_bound_is_found_out(tmp_path):
    # the limit for small shifts at βω = 5
    results = run_study(small(wide="below: 0.3672"), tmp_path / "out", page=False)
    assert results.reproduction.outcome == "differs"


def test_the_loss_ratio_is_enclosed_and_needs_a_claim_and_an_average():
    found = measured(RATIO, audited())
    assert (found.low, found.high) == (0.45, 0.55)
    with pytest.raises(NotMeasuredError, match="no claimed ε"):
        measured(RATIO, audited(epsilon_claimed=None))
    with pytest.raises(NotMeasuredError, match="no average loss"):
        measured(RATIO, audited(average_loss=None))


def test_the_loss_ratio_asks_for_an_audit():
    text = "\n".join(line for line in library()["uniform-mean-loss"].splitlines() if not line.startswith("audit:"))
    text += ABOUT + "  checks: [{says: '-', measure: loss_ratio, of: one release, above: 0.5}]\n"
    with pytest.raises(ScenarioError, match="no audit"):
        planned(parse(text, "f.yaml"))


def test_a_mean_and_its_normal_interval():
    draws = np.random.default_rng(3).exponential(2.0, size=(400, 900))
    covered = [2.0 in normal_mean(row, 0.95) for row in draws]
    assert 0.91 < np.mean(covered) < 0.985
    assert normal_mean(np.array([1.0, np.inf]), 0.9).upper == np.inf


# ── membership and properties, over several seeds ─────────────────────────────────────────────────────────
GALLERY = Path(__file__).parents[3] / "docs" / "gallery.md"


def decided(name, folder, what, *options):
    return [getattr(entry, what) for entry in run(name, folder, options=list(options), page=False).algorithms]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [5])
def test_as_deployable_tells_membership_without_an_error_and_repaired_no_more_than_its_budget(seed, tmp_path):
    small = ("attacks.membership.trials=40", "attacks.membership.chunk=40")
    leaky, repaired = decided("membership-on-dp-recal", tmp_path, "membership", f"seed={seed}", *small)
    assert leaky.exact
    assert leaky.advantage.estimate == leaky.auc.estimate == 1
    assert leaky.claim.broken
    assert repaired.claim.epsilon <= 1 + 1e-9
    assert not repaired.claim.broken
    mu = (2 * zcdp_rho(1.0, 1e-3)) ** 0.5
    for one in repaired.levels:
        most = special.ndtr(special.ndtri(one.level) + mu)
        assert one.level < one.power <= most + 1e-12
        assert one.found.low <= most


@pytest.mark.slow
@pytest.mark.parametrize("seed", [9])
def test_a_property_is_told_where_a_record_is_hard_to_find(seed, tmp_path):
    small = ("attacks.membership.trials=40", "attacks.property.trials=40", "attacks.property.draws=150")
    results = run("property-of-an-agent", tmp_path, options=[f"seed={seed}", *small], page=False)
    (little, much) = results.algorithms
    assert little.property.right.low > 0.5
    assert little.property.right.rate > much.property.right.rate
    assert little.membership.levels[0].power < 0.3
    assert much.membership.levels[0].power < 0.1


@pytest.mark.parametrize("name", ["membership-on-dp-recal", "property-of-an-agent"])
def test_the_gallery_says_what_the_scenario_says(name):
    page = " ".join(GALLERY.read_text(encoding="utf-8").split())
    assert f"`{name}`" in page
    assert load(name).description.strip() in page
