"""The document of `--json`: every verdict with its three epsilons, the exit status and its reason."""

import json
import math

import pytest

from scenarios.cli.json_output import ending, verdicts_as_plain
from scenarios.results.files import as_json

AUDIT = {
    "verdict": "refuted",
    "reason": "above",
    "confidence": 0.95,
    "epsilon_claimed": 1.0,
    "epsilon_exact": {"lower": 2.0, "estimate": 2.0, "upper": math.inf, "by_formula": False},
    "epsilon_audited": 1.5,
    "claim": {
        "delta": 0.01,
        "source": "Theorem 1",
        "adjacency": "one record",
        "norm": "ℓ2",
        "gradient_change": 0.2,
        "failed_conditions": [],
    },
    "witness": "witness-x.json",
}
ENTRY = {"name": "x", "kind": "cpgt", "audit_status": "done", "audit": AUDIT}


def results(**changed):
    return {"name": "r", "status": "complete", "algorithms": [ENTRY], "error": None} | changed


def test_a_row_has_the_three_epsilons_and_what_they_are_about(tmp_path):
    told = json.loads(as_json(verdicts_as_plain(results(), tmp_path)))
    (row,) = told["algorithms"]
    assert (row["verdict"], row["claim_broken"], row["variant"]) == ("refuted", True, None)
    assert row["epsilon_claimed"] == 1.0
    assert row["epsilon_exact"] == {"lower": 2.0, "estimate": 2.0, "upper": "inf"}
    assert row["epsilon_audited"] == {"lower": 1.5, "upper": "inf", "confidence": 0.95}
    assert (row["delta"], row["theorem"], row["adjacency"], row["norm"]) == (0.01, "Theorem 1", "one record", "ℓ2")
    assert row["witness"] == str(tmp_path / "witness-x.json")
    assert (told["exit_status"], told["exit_reason"]) == (1, "a claim does not hold: x is refuted")


@pytest.mark.parametrize(("baseline", "status"), [(False, 1), (True, 0)])
def test_a_claim_that_membership_breaks_decides_too_where_no_audit_was_asked_for(baseline, status):
    told = {
        "membership": {"claim": {"broken": True}},
        "audit": None,
        "audit_status": "not asked",
        "baseline": baseline,
    }
    end = ending(results(algorithms=[ENTRY | told]))
    assert end.status == status
    assert ("membership is told better than the claim of x allows" in end.reason) == (status == 1)
    holds = ENTRY | told | {"membership": {"claim": {"broken": False}}}
    assert ending(results(algorithms=[holds])).status == 0
    one = {
        "name": "v",
        "fields": {},
        "status": "complete",
        "error": None,
        "report": None,
        "algorithms": [ENTRY | told],
    }
    assert ending({"name": "r", "status": "complete", "variants": [one]}).status == status


def test_variants_are_rows_of_the_same_list_read_from_their_folders(tmp_path):
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "results.json").write_text(as_json(results()))
    summary = {"name": "x", "audit": {"verdict": "refuted", "epsilon_claimed": 1.0}}
    variant = {"name": "v", "fields": {"seed": 1}, "status": "complete", "error": None, "report": "v/report.html"}
    lost = {"name": "w", "fields": {}, "status": "data not present", "error": "not here", "report": None}
    both = [variant | {"algorithms": [summary]}, lost | {"algorithms": []}]
    told = verdicts_as_plain({"name": "r", "status": "complete", "variants": both}, tmp_path)
    assert [(row["variant"], row["theorem"]) for row in told["algorithms"]] == [("v", "Theorem 1")]
    assert [one["folder"] for one in told["variants"]] == [str(tmp_path / "v"), None]
    assert (told["exit_status"], told["exit_reason"]) == (1, "a claim does not hold: v: x is refuted")


@pytest.mark.parametrize(
    ("changed", "status", "reason"),
    [
        ({"status": "interrupted"}, 130, "interrupted"),
        ({"status": "failed", "error": {"type": "DeadlockError", "message": "waits"}}, 70, "DeadlockError: waits"),
        ({"algorithms": []}, 0, "done"),
        ({"algorithms": [ENTRY | {"outside_model": "an active adversary meddled"}]}, 0, "done"),
        (
            {"algorithms": [], "reproduction": {"outcome": "differs", "item": "Fig. 1", "paper": "P"}},
            1,
            "Fig. 1 of P",
        ),
    ],
)
def test_the_first_that_holds_decides_the_exit_status(changed, status, reason):
    found = ending(results(**changed))
    assert found.status == status
    assert reason in found.reason


def test_without_an_audit_the_claim_is_that_of_the_budget(tmp_path):
    budget = {"epsilon": [1.0, 3.0], "delta": 0.0, "source": "Theorem 2", "failed_conditions": []}
    entry = {"name": "x", "audit_status": "not asked", "audit": None, "budget": budget}
    (row,) = verdicts_as_plain(results(algorithms=[entry]), tmp_path)["algorithms"]
    assert (row["epsilon_claimed"], row["theorem"], row["verdict"]) == (3.0, "Theorem 2", None)
    assert row["epsilon_exact"] is row["epsilon_audited"] is row["witness"] is None
