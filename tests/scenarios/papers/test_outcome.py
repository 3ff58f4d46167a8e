"""The outcome is computed: each of the four words, and each thing that can stand in a check's way."""

from dataclasses import replace

import pytest

from netsim.errors import ScenarioError
from scenarios.papers.outcome import Ran, judge
from scenarios.schema.checks import ReproducesSpec
from scenarios.schema.load import parse
from scenarios.stages.runner import checked
from scenarios.stages.study import planned
from tests.scenarios.filled import tree


def entry(name, errors, **more):
    curve = {"unit": "rounds", "count": list(range(1, len(errors) + 1)), "median": list(errors)}
    return {"name": name, "convergence": curve} | more


def claims(*epsilons, failed=(), **vacuous):
    rows = [{"epsilon": float(level.removeprefix("above_")), "count": count} for level, count in vacuous.items()]
    return {
        "unit": "rounds", "last": len(epsilons), "count": list(range(1, len(epsilons) + 1)),
        "epsilon": list(epsilons), "failed_conditions": list(failed), "vacuous_from": rows,
    }  # fmt: skip


def ran(*entries, variant="", zero=False, error=None):
    return Ran(variant, tree({"problem": {"optimum_is_zero": zero}, "algorithms": list(entries)}), error)


def outcome(checks, *runs, finished=True, **more):
    block = {"paper": "P", "item": "Fig. 1", "shows": "It converges."} | more
    spec = ReproducesSpec.model_validate(block | {"checks": [{"says": "so"} | check for check in checks]})
    return judge(spec, runs or (ran(entry("A", GOOD), entry("B", BAD)),), finished)


GOOD, BAD, WILD = [0.1**k for k in range(1, 9)], [0.5**k for k in range(1, 9)], [10.0**k for k in range(1, 9)]
LOW = {"measure": "final_error", "of": "A", "below": 1e-6}


@pytest.mark.parametrize(
    ("check", "holds"),
    [
        ({"measure": "final_error", "of": "A", "below": 1e-6}, True),
        ({"measure": "final_error", "of": "B", "below": 1e-6}, False),
        ({"measure": "final_error", "of": "A", "above": 1e-6}, False),
        ({"measure": "final_error", "of": "A", "above": 1e-9, "below": 1e-7}, True),
        ({"measure": "final_error", "of": "A", "above": 1e-9, "below": 1e-8}, False),
        ({"measure": "final_error", "of": "A", "below_of": "B", "by": 1e5}, True),
        ({"measure": "final_error", "of": "A", "below_of": "B", "by": 1e6}, False),
        ({"measure": "final_error", "of": "B", "above_of": "A", "by": 1e5}, True),
        ({"measure": "final_error", "of": "B", "above_of": "A", "by": 1e6}, False),
        ({"measure": "final_error", "of": "A", "equals": 1.04e-8}, True),
        ({"measure": "final_error", "of": "A", "equals": 1.04e-8, "within": 0.01}, False),
        ({"measure": "error_after", "of": "A", "after": 3, "equals": 1e-3}, True),
        ({"measure": "rounds_to", "of": "A", "accuracy": 1.5e-4, "equals": 4}, True),
        ({"measure": "plf_to", "of": "B", "accuracy": 0.1, "above_of": "A", "by": 3}, True),
        ({"measure": "slope", "of": "A", "equals": -1.0}, True),
        ({"measure": "slope", "of": "A", "below_of": "B", "by": 3.3}, True),
        ({"measure": "slope", "of": "A", "below_of": "B", "by": 3.4}, False),
        ({"measure": "slope", "of": "B", "above_of": "A", "by": 3.3}, True),
        ({"measure": "slope", "of": "B", "above_of": "A", "by": 3.4}, False),
        ({"measure": "diverged", "of": "A", "equals": False}, True),
        ({"measure": "diverged", "of": "A", "equals": True}, False),
        ({"measure": "optimum_is_zero", "equals": False}, True),
        ({"measure": "optimum_is_zero"}, False),
    ],
)
def test_a_check_holds_or_the_outcome_differs(check, holds):
    found = outcome([check])
    assert found.outcome == ("agrees" if holds else "differs")
    assert found.checks[0].answers[0].result == ("holds" if holds else "fails")


def test_what_differs_is_named_with_the_number_found():
    found = outcome([LOW, {"measure": "final_error", "of": "B", "below": 1e-6}])
    assert found.outcome == "differs"
    assert found.sentence == "Criterion: final relative error of B below 10⁻⁶; found: 0.00391."


def test_what_is_missing_caps_an_agreement_and_excuses_nothing():
    assert outcome([LOW], missing=["the step"]).outcome == "agrees in shape"
    found = outcome([LOW | {"of": "B"}], missing=["the step"])
    assert found.outcome == "differs"
    assert "Not printed, or other than printed: the step. The values chosen here may be why." in found.sentence


def test_an_optimum_at_the_start_makes_convergence_mean_nothing():
    found = outcome([LOW], ran(entry("A", GOOD), zero=True))
    assert found.outcome == "cannot be run"
    assert "x* = 0" in found.sentence
    assert outcome([{"measure": "optimum_is_zero", "equals": False}], ran(zero=True)).outcome == found.outcome
    assert outcome([{"measure": "optimum_is_zero"}, LOW], ran(entry("A", GOOD), zero=True)).outcome == "agrees"
    verdict = {"measure": "verdict", "of": "A", "equals": "refuted"}
    judged = entry("A", GOOD, audit={"verdict": "refuted"})
    assert outcome([verdict], ran(judged, zero=True)).outcome == "agrees"  # it is not about convergence


def test_a_run_that_diverges_cannot_be_reproduced():
    for check in (LOW, {"measure": "diverged", "of": "A", "equals": False}):
        found = outcome([check], ran(entry("A", WILD)))
        assert found.outcome == "cannot be run"
        assert found.sentence == "A diverges at these parameters."
    expected = [{"measure": "diverged", "of": "A"}, {"measure": "final_error", "of": "A", "above": 1e3}]
    assert outcome(expected, ran(entry("A", WILD))).outcome == "agrees"
    against = {"measure": "final_error", "of": "B", "below_of": "A"}
    assert outcome([against], ran(entry("A", WILD), entry("B", GOOD))).outcome == "cannot be run"


def test_a_claim_outside_its_conditions_cannot_be_reproduced():
    check = {"measure": "epsilon_claimed", "of": "A", "below": 10}
    undefined = entry("A", GOOD, budget=claims(None, None, failed=["q is too small"]))
    found = outcome([check], ran(undefined))
    assert (found.outcome, found.sentence) == (
        "cannot be run", "The claim of A is undefined: q is too small.",
    )  # fmt: skip
    assert outcome([{"measure": "claim_undefined", "of": "A"}], ran(undefined)).outcome == "agrees"
    other = outcome([{"measure": "claim_undefined", "of": "A", "equals": False}], ran(undefined))
    assert replace(other, checks=()) == replace(found, checks=())
    assert "claims nothing" in outcome([check], ran(entry("A", GOOD))).sentence


def test_a_convergence_theorem_outside_its_conditions_differs():
    """What is found is the conditions that fail; where none is computed, nothing is decided."""
    wanted = {"measure": "convergence_unproven", "of": "A", "equals": False}
    found = outcome([wanted], ran(entry("A", GOOD, unproven=("α is too long", "ρ is too small"))))
    assert found.outcome == "differs"
    assert "found: α is too long; ρ is too small" in found.sentence
    assert outcome([wanted], ran(entry("A", GOOD, unproven=()))).outcome == "agrees"
    expected = wanted | {"equals": True}
    assert outcome([expected], ran(entry("A", GOOD, unproven=("α is too long",)))).outcome == "agrees"
    unknown = outcome([wanted], ran(entry("A", GOOD)))
    assert unknown.outcome == "cannot be run"
    assert "not computed" in unknown.sentence


def test_a_vacuous_budget_says_from_which_round_on():
    spent = entry("A", GOOD, budget=claims(*(20.0 * k for k in range(1, 9)), above_50=3))
    assert outcome([LOW], ran(spent)).outcome == "agrees"  # the author states no bound
    found = outcome([LOW], ran(spent), vacuous_above=50.0)
    assert found.outcome == "cannot be run"
    assert found.sentence == ("The budget of A is vacuous: the claimed ε is 160, above 50 from round 3 on.")
    expected = {"measure": "vacuous_from", "of": "A", "epsilon": 50.0, "equals": 3.0}
    assert outcome([LOW, expected], ran(spent), vacuous_above=50.0).outcome == "agrees"


def test_what_results_do_not_have_or_leave_open_is_not_decided():
    for check, why in (
        ({"measure": "final", "of": "A", "curve": "objective_gap", "below": 1}, "no objective gap"),
        ({"measure": "epsilon_exact", "of": "A", "below": 1}, "no exact ε"),
        ({"measure": "bytes_to", "of": "A", "accuracy": 0.1, "below": 1}, "not by bytes"),
        ({"measure": "rounds_to", "of": "B", "accuracy": 1e-9, "below": 100}, "more than 8: undecided"),
        ({"measure": "error_after", "of": "A", "after": 80, "below": 1}, "has 8 rounds, not 80"),
        ({"measure": "verdict", "of": "A", "equals": "consistent"}, "not audited"),
    ):
        found = outcome([check])
        assert found.outcome == "cannot be run"
        assert why in found.sentence
    reached = {"measure": "rounds_to", "of": "B", "accuracy": 1e-9}
    assert outcome([reached | {"above": 5}]).outcome == "agrees"
    assert outcome([reached | {"below": 5}]).outcome == "differs"
    between = entry("A", GOOD, audit={"epsilon_exact": {"lower": 0.5, "upper": "inf"}})
    exact = {"measure": "epsilon_exact", "of": "A"}
    assert outcome([exact | {"above": 0.4}], ran(between)).outcome == "agrees"
    assert outcome([exact | {"below": 0.4}], ran(between)).outcome == "differs"
    assert outcome([exact | {"below": 1.0}], ran(between)).outcome == "cannot be run"


def test_a_finding_goes_before_an_obstacle_and_an_end_before_both():
    checks = [LOW, LOW | {"of": "B"}, {"measure": "final", "of": "A", "curve": "objective_gap", "below": 1}]
    assert outcome(checks).outcome == "differs"
    assert outcome(checks, finished=False).outcome == "not finished"
    assert outcome([LOW], finished=False).outcome == "not finished"


def test_without_a_variant_a_check_is_about_all():
    runs = ran(entry("A", GOOD), variant="one"), ran(entry("A", BAD), variant="two")
    found = outcome([LOW], *runs)
    assert [a.result for a in found.checks[0].answers] == ["holds", "fails"]
    assert "(two); found: 0.00391" in found.sentence
    assert outcome([LOW | {"variant": "one"}], *runs).outcome == "agrees"
    across = {"measure": "final_error", "of": "A", "variant": "one", "below_of": {"variant": "two"}, "by": 1000}
    assert outcome([across], *runs).outcome == "agrees"


def test_a_variant_that_failed_stands_in_the_way_of_its_own_checks_only():
    runs = ran(entry("A", GOOD), variant="one"), ran(variant="two", error="failed: DeadlockError")
    assert outcome([LOW | {"variant": "one"}], *runs).outcome == "agrees"
    found = outcome([LOW], *runs)
    assert (found.outcome, found.sentence) == ("cannot be run", "Variant two failed: DeadlockError.")


# ── before time 0 ───────────────────────────────────────────────────────────────────────────────────────
FILE = """\
name: f
topology: {kind: ring, agents: 4}
algorithms: [{kind: recal, activations: 4}]
grid: {seed: [1, 2]}
figures:
  - {x: rounds}
reproduces:
  paper: P
  item: Fig. 1
  shows: So.
  checks:
    - {says: So., measure: final_error, of: RECAL, below: 1.0}
"""


@pytest.mark.parametrize(
    ("old", "new", "field", "line", "says"),
    [
        ("of: RECAL", "of: REGAL", "reproduces.checks[0].of", 12, "no such algorithm; allowed: RECAL"),
        ("of: RECAL", "of: RECAL, variant: seed-3", "reproduces.checks[0].variant", 12, "seed-1, seed-2"),
        ("below: 1.0", "below_of: NIDS", "reproduces.checks[0].below_of", 12, "no such algorithm"),
        ("below: 1.0", "below_of: {variant: x}", "reproduces.checks[0].below_of", 12, "no such variant"),
        ("below: 1.0", "variant: seed-1, below_of: RECAL", "reproduces.checks[0].below_of", 12, "with itself"),
        ("below: 1.0", "below: 1.0, by: 2.0", "reproduces.checks[0]", 12, "by goes with above_of or below_of"),
        (", below: 1.0", "", "reproduces.checks[0]", 12, "needs one of above"),
        ("final_error", "final_eror", "reproduces.checks[0].measure", 12, "unknown measure"),
        ("final_error", "epsilon_exact", "reproduces.checks[0].measure", 12, "asks for no audit"),
        ("final_error", "rounds_to", "reproduces.checks[0].accuracy", 12, "missing"),
        ("x: rounds", "x: seeds", "figures[0].x", 6, "neither an axis nor a field"),
        ("x: rounds", "x: rounds, y: slope", "figures[0].y", 6, "no curve over rounds"),
        ("x: rounds", "x: seed, y: plf_to", "figures[0].accuracy", 6, "needed"),
        ("x: rounds", "x: rounds, algorithms: [REGAL]", "figures[0].algorithms[0]", 6, "no such algorithm"),
        ("x: rounds", "x: rounds, variants: [one]", "figures[0].variants[0]", 6, "no such variant"),
    ],
)
def test_names_that_nobody_has_are_errors_before_time_0(old, new, field, line, says):
    assert old in FILE
    with pytest.raises(ScenarioError) as found:
        planned(parse(FILE.replace(old, new), "f.yaml"))
    assert (found.value.field, found.value.file, found.value.line) == (field, "f.yaml", line)
    assert says in str(found.value)


def test_one_run_is_refused_where_several_are_asked_for():
    with pytest.raises(ScenarioError, match="run_study"):
        checked(parse(FILE, "f.yaml"))
