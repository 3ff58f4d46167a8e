"""The threat gallery and the planted faults among the shipped scenarios show what their descriptions say."""

from typing import get_args

import pytest

from netsim.algorithms.planted_faults import FAULTS
from scenarios import load, run
from scenarios.files.library import library
from scenarios.schema.algorithms import FaultName

GROUPS = {
    "comparisons", "first steps", "threat gallery", "planted faults", "papers: DP-RECAL", "papers: CPGT",
    "papers: DPP²", "papers: thesis",
}  # fmt: skip


def inferred(name, folder, *options):
    """By algorithm: how many gradients of each agent were inferred, how many were not, and the worst error."""
    results = run(name, folder, options=options, page=False)
    found = [entry.gradients for entry in results.algorithms]
    return [(one.inferred, one.hidden, one.worst) for one in found]


@pytest.mark.slow
def test_every_shipped_scenario_has_a_group():
    assert {load(name).group for name in library()} == GROUPS


@pytest.mark.few("one-tapped-link-0-0-7-40")
@pytest.mark.parametrize(
    ("name", "victim", "least", "others", "hidden"),
    [("one-tapped-link", 0, 0, 7, 40), ("curious-neighbor", 0, 0, 0, 0), ("colluding-neighbors", 3, 200, 0, 0)],
)
def test_who_is_tapped_is_known_to_a_walk_and_hidden_by_descent(name, victim, least, others, hidden, tmp_path):
    (recal, missed, worst), (descent, left, _) = inferred(name, tmp_path)
    assert recal[victim] > least
    assert worst < 1e-12
    assert sum(descent) == 0
    assert min(left) >= hidden
    assert others == 0 or recal[1:] == (0,) * others
    assert least == 0 or missed[victim] <= 1


@pytest.mark.slow
def test_encrypted_but_for_one(tmp_path):
    (recal, hidden, _), (descent, missed, worst) = inferred(
        "encrypted-but-one", tmp_path, "algorithms[0].activations=200"
    )
    assert recal[4] > 0
    assert hidden[4] == 0
    assert (descent[4], missed[4]) == (39, 1)
    assert worst < 1e-12
    behind = [i for i in range(1, 8) if i != 4]  # 0 is the centre, at the open link too
    assert all(recal[i] == 0 for i in behind)
    assert sum(descent) == 39


def test_encrypted_all(tmp_path):
    closed = inferred("encrypted-but-one", tmp_path, "link_overrides[0].law.encrypted=true")
    assert all(sum(found) == 0 for found, _, _ in closed)


@pytest.mark.slow
def test_a_late_tap_misses_what_was_before(tmp_path):
    (recal, hidden, _), (descent, missed, worst) = inferred("late-tap", tmp_path / "late")
    assert sum(hidden) > sum(recal)
    assert worst < 1e-12
    assert all(0 < one < 40 and one + other == 40 for one, other in zip(descent, missed, strict=True))
    _, (all_of_it, _, _) = inferred("late-tap", tmp_path / "early", "adversary.start=0")
    assert min(all_of_it) == 39


def test_traffic_alone_gives_no_gradient(tmp_path):
    for found, _, _ in inferred("traffic-only", tmp_path):
        assert sum(found) == 0


@pytest.mark.few("half_noise-HalfNoise")
@pytest.mark.parametrize(("name", "planted"), list(zip(get_args(FaultName), FAULTS, strict=True)))
def test_planted_faults_are_found_and_their_twins_are_not(name, planted, tmp_path):
    scenario = f"fault-{name.replace('_', '-')}"
    results = run(scenario, tmp_path, options=["audit.trials=200"] if name != "wrong_clip" else [], page=False)
    fault, twin = (entry.audit.verdict for entry in results.algorithms)
    expected = {"one_scalar", "sent_before", "reused_seed", "second_message"}
    assert fault == ("unprotected" if name in expected else "refuted")
    assert twin in ("proven", "consistent", "underpowered")
    assert planted.lesson in load(scenario).description
