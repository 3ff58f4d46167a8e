"""CPGT's budget, and its errors by bytes, made smaller: what they find."""

from scenarios.files.library import library
from scenarios.schema.load import load_scenario, parse
from scenarios.stages.study import planned, run_study


def reproduced(name, folder, *changes):
    """What is found by a shipped scenario with some of its text replaced, and the results of each check."""
    text = library()[name]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    found = run_study(parse(text, name).scenario, folder, page=False).reproduction
    return found, {(c.statement, a.variant): a.result for c in found.checks for a in c.answers}


def test_every_variant_can_be_built_from_what_is_here():
    plan = planned(load_scenario("cpgt-eq-23"))
    assert not plan.absent
    assert plan.scenario.reproduces is not None


def test_no_error_is_too_large_to_be_drawn(tmp_path):
    """With the divisor 6 the step of error-against-bytes is too long for what sends everything."""
    text = (
        library()["error-against-bytes"].replace("rounds: 400", "rounds: 130").replace("replicas: 10", "replicas: 2")
    )
    results = run_study(parse(text.replace("  kind: sensors\n", "  kind: sensors\n  divisor: 6\n")), tmp_path)
    assert results.algorithms[0].convergence.median[-1] > 1e30
    assert (tmp_path / "report.html").exists()


def test_the_claim_holds_for_a_change_in_one_coordinate_alone(tmp_path):
    changes = [("rounds: 30", "rounds: 6"), ("trials: 1000, chunk: 500", "trials: 400, chunk: 200")]
    found, answers = reproduced("cpgt-eq-23", tmp_path, *changes)
    assert found.outcome == "differs"
    fail = {key for key, result in answers.items() if result == "fails"}
    assert fail == {
        ("An even change is within it,", "even"),
        ("by CPGT as well.", "even"),
        ("So it is where f_i is strongly convex.", "strongly-convex"),
    }
    assert set(answers.values()) == {"holds", "fails"}
