"""The document of `--json`: every verdict with its three epsilons, the exit status and its reason."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from scenarios.cli.json_output import document
from scenarios.render.verdicts import print_results
from scenarios.results.attacks import MembershipAllowed
from scenarios.results.audit import EpsilonExact
from scenarios.results.base import as_json
from scenarios.results.budgets import Budget
from scenarios.results.folder import read_results
from scenarios.results.reproduction import Reproduction
from scenarios.results.run import OutsideProgram
from scenarios.results.tree import AlgorithmSummary, AuditSummary, MembershipSummary, RunError, VariantResult, plain
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from tests.scenarios.command import cli
from tests.scenarios.own_algorithm import MINE
from tests.scenarios.small import TINY

NO_AUDIT = {
    "name": "x", "baseline": False, "unit": "rounds", "last": 3, "final": None, "gradient_error": None,
    "epsilon_claimed": None, "verdict": None, "witness": None, "outside_model": None, "reconstructions": None,
    "audit_status": "not requested", "audit": None, "membership": None,
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("machine") / "out"
    run_scenario(parse(TINY), place, page=False)
    return place


@pytest.fixture(scope="module")
def results(folder):
    return read_results(folder)


@pytest.fixture(scope="module")
def refuted(results):
    """The run, had its audit found a larger ε than the claimed one."""
    (entry,) = results.algorithms
    exact = EpsilonExact(lower=9.0, estimate=9.0, upper=math.inf, by_formula=False, upper_bound_only=False)
    audit = replace(entry.audit, verdict="refuted", epsilon_exact=exact, witness="witness-x.json")
    return replace(results, algorithms=(replace(entry, audit=audit),))


def with_program(results, follows):
    """The run, had a program taken agent 2's place."""
    program = OutsideProgram(
        agent=2, program="./mine", follows=follows, reason="", messages=3, noise_numbers=0, p_value=None
    )
    (entry,) = results.algorithms
    return replace(results, algorithms=(replace(entry, outside_programs=(program,)),))


def study(results, *summaries, **changed):
    variant = VariantResult(
        name="v", fields={"seed": 1}, status="complete", error=None, report=None, problem=None, algorithms=summaries
    )
    return replace(results, algorithms=(), variants=(replace(variant, **changed),))


def test_a_row_has_the_three_epsilons_and_their_terms(refuted, tmp_path):
    found = json.loads(as_json(plain(document(refuted, tmp_path))))
    (row,) = found["algorithms"]
    assert (row["verdict"], row["claim_broken"], row["variant"]) == ("refuted", True, None)
    assert row["epsilon_claimed"] == pytest.approx(4.0)
    assert row["epsilon_exact"] == {"lower": 9.0, "estimate": 9.0, "upper": "inf"}
    assert (row["epsilon_audited"]["upper"], row["epsilon_audited"]["confidence"]) == ("inf", 0.95)
    assert (row["delta"], row["norm"]) == (0.0, "ℓ1")
    assert row["theorem"]
    assert row["witness"] == str(tmp_path / "witness-x.json")
    assert (found["exit_status"], found["exit_reason"]) == (1, "a claim does not hold: mine is refuted")


@pytest.mark.parametrize(("broken", "baseline", "status"), [(True, False, 1), (True, True, 0), (False, False, 0)])
def test_a_claim_that_membership_breaks_decides_without_an_audit(results, broken, baseline, status, tmp_path):
    allowed = MembershipAllowed(
        epsilon=1.0, delta=0.0, source=None, adjacency=None, steps=1, why_not=None, broken=broken
    )
    one = AlgorithmSummary(**NO_AUDIT | {"membership": MembershipSummary(claim=allowed), "baseline": baseline})
    end = document(study(results, one), tmp_path)
    assert end.exit_status == status
    assert ("membership is inferred better than the claim of x allows" in end.exit_reason) == (status == 1)


@pytest.mark.parametrize(("baseline", "status"), [(False, 1), (True, 0)])
def test_an_unprotected_variant_decides_unless_it_is_a_baseline(results, baseline, status, tmp_path):
    nothing = AuditSummary.ClaimSummary(delta=None, adjacency=None)
    audit = AuditSummary(
        verdict="unprotected", reason="", refused=None, epsilon_claimed=None, epsilon_exact=None,
        epsilon_audited=None, confidence=None, claim=nothing,
    )  # fmt: skip
    one = AlgorithmSummary(**NO_AUDIT | {"audit": audit, "audit_status": "done", "baseline": baseline})
    assert document(study(results, one), tmp_path).exit_status == status


def test_variants_are_rows_of_the_same_list_read_from_their_folders(results, folder, tmp_path):
    (tmp_path / "v").symlink_to(folder)
    lost = VariantResult(
        name="w", fields={}, status="data not present", error="not here", report=None, problem=None, algorithms=()
    )
    whole = study(results, AlgorithmSummary(**NO_AUDIT), report="v/report.html")
    found = document(replace(whole, variants=(*whole.variants, lost)), tmp_path)
    assert [(row.variant, row.name, row.verdict) for row in found.algorithms] == [
        ("v", "mine", results.algorithms[0].audit.verdict)
    ]
    assert [one.folder for one in found.variants] == [str(tmp_path / "v"), None]


def test_the_first_that_holds_decides_the_exit_status(results, refuted, tmp_path):
    error = RunError(type="DeadlockError", message="waits", hint="")
    (entry,) = refuted.algorithms
    differs = Reproduction(
        paper="P", item="Fig. 1", shows="", missing=(), outcome="differs", sentence="", reasons=(), checks=()
    )
    for changed, status, reason in (
        (replace(refuted, status="interrupted"), 130, "interrupted"),
        (replace(refuted, status="failed", error=error), 70, "DeadlockError: waits"),
        (replace(refuted, algorithms=()), 0, "done"),
        (replace(refuted, algorithms=(replace(entry, outside_model="an active adversary"),)), 0, "done"),
        (replace(results, reproduction=differs), 1, "Fig. 1 of P"),
        (with_program(results, True), 0, "done"),
        (with_program(results, None), 3, "follows the algorithm is not known: agent 2 of mine"),
        (with_program(results, False), 1, "does not follow the algorithm: agent 2 of mine"),
        (with_program(refuted, None), 1, "a claim does not hold"),
    ):
        found = document(changed, tmp_path)
        assert found.exit_status == status
        assert reason in found.exit_reason


def test_without_an_audit_the_claim_is_that_of_the_budget(results, tmp_path):
    budget = Budget(
        unit="rounds", last=2, count=(1, 2), epsilon=(1.0, 3.0), delta=0.0, source="Theorem 2", failed_conditions=(),
        vacuous_from=(),
    )  # fmt: skip
    entry = replace(results.algorithms[0], audit=None, audit_status="not requested", budget=budget)
    (row,) = document(replace(results, algorithms=(entry,)), tmp_path).algorithms
    assert (row.epsilon_claimed, row.theorem, row.verdict) == (3.0, "Theorem 2", None)
    assert row.epsilon_exact is row.epsilon_audited is row.witness is None


@pytest.mark.parametrize(
    ("claimed", "words"), [(1.0, "See how the claim breaks"), (math.inf, "See it"), (None, "See it")]
)
def test_a_witness_shows_whether_a_number_was_claimed(results, claimed, words, tmp_path, capsys):
    one = AlgorithmSummary(**NO_AUDIT | {"witness": "witness-x.json", "epsilon_claimed": claimed})
    print_results(study(results, one), tmp_path)
    said = " ".join(capsys.readouterr().out.split())
    assert f"v, x: {words} in one run, message by message: netsim witness {tmp_path}/v/witness-x.json" in said


def test_a_document_names_files_whose_names_are_not_utf8():
    """The operating system's bytes come as lone surrogates; what is printed is JSON in UTF-8 all the same."""
    text = as_json({"file": "x\udcff.yaml", "ε": [math.inf, 1e-5]})
    assert json.loads(text.encode()) == {"file": "x?.yaml", "ε": ["inf", 1e-5]}


LOUD = MINE.replace("z = heard", "print('heard', flush=True)\n            z = heard").replace(
    "rounds: int", "rounds: int = 1"
)


@pytest.mark.few(1)
@pytest.mark.parametrize("as_json", [["--json"], []])
def test_what_own_code_prints_is_on_the_standard_error(as_json, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("loud.py").write_text(LOUD)
    words = ["audit", "loud.py", "--trials", "50", "--out", "out", *as_json]
    command = [sys.executable, "-m", "netsim", *words, "--jobs", "2", "--replace"]
    one, other = cli(*words, ends=1), subprocess.run(command, capture_output=True, text=True)
    assert other.returncode == 1
    for done in (one, other):
        assert done.stderr.count("heard\n") > 50
        assert "heard\n" not in done.stdout
        assert json.loads(done.stdout)["exit_status"] == 1 if as_json else "unprotected" in done.stdout
