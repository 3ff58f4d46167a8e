"""Scenarios of the thesis' algorithms: each is built before time 0, and an average loss is what theory says it is."""

import numpy as np
import pytest

from attacks.audit.accounting.intervals import normal_mean
from netsim.errors import ScenarioError
from netsim.mechanisms import average_ratio
from scenarios.files.library import library
from scenarios.papers.measures import measured
from scenarios.results.curves import NotMeasuredError
from scenarios.results.tree import AlgorithmResult
from scenarios.schema.checks import AtEnd
from scenarios.schema.load import load_scenario, parse
from scenarios.stages.study import planned, run_study
from tests.scenarios.filled import filled

OWN = ("private-admm-or-descent", "private-descent-noise-floor", "secret-shares", "uniform-mean-loss")
ABOUT = "\nreproduces:\n  paper: P\n  item: a share\n  shows: A share of the worst case.\n  missing: [all]\n"
RATIO = AtEnd(says="-", measure="loss_ratio", of="one release", above=0.0)
AUDIT = {"epsilon_claimed": 2.0, "average_loss": {"lower": 0.9, "estimate": 1.0, "upper": 1.1}}


def audited(**changed):
    return filled(AlgorithmResult, {"name": "A", "audit": AUDIT | changed})


@pytest.mark.parametrize("name", OWN)
def test_every_variant_is_built_before_time_0(name):
    absent = planned(load_scenario(name)).absent
    if absent:
        pytest.skip(f"data set not present: {next(iter(absent.values()))}")


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


def test_a_limit_that_is_no_upper_bound_is_found_out(tmp_path):
    results = run_study(
        small(wide="below: 0.3672"), tmp_path / "out", page=False
    )  # the limit for small shifts at βω = 5
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
