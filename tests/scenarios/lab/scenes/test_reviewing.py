"""A reviewer's hour: Theorem 3 of DPP² by both counts, against its formula written out here, and exact losses."""

import math

import pytest

from scenarios.lab.scenes import reviewing as scene


def theorem_3(terms: int, step: float) -> float:
    """Σ_{k=1}^K √d(1/(αu_e) + 1/u_w)αδ/(r^k(1 − αM̄)) with u_e = u_w = 1."""
    first = math.sqrt(scene.DIMENSION) * (1 + step) * scene.CHANGE / (1 - step * scene.SMOOTHNESS)
    return first * sum(scene.RATIO**-k for k in range(1, terms + 1))


@pytest.mark.parametrize("terms", [1, 4])
@pytest.mark.parametrize("step", scene.STEPS)
def test_the_claim_is_the_formula_of_the_paper(terms: int, step: float) -> None:
    assert scene.theorem(terms, step) == pytest.approx(theorem_3(terms, step))


@pytest.mark.few(1)
@pytest.mark.parametrize("rounds", [2, 5])
def test_it_holds_where_k_counts_iterations_and_not_by_the_loop(rounds: int) -> None:
    found = scene.Reviewed(rounds, 0.01, "even")
    assert found.by_loop == pytest.approx(theorem_3(rounds - 1, 0.01))
    assert found.by_loop < found.exact <= found.by_table == pytest.approx(theorem_3(rounds, 0.01))
    assert found.audit.verdict == "refuted"


def test_every_release_but_the_first_costs_and_the_first_gradient_costs_its_length_in_l1() -> None:
    found = scene.Reviewed(2, 0.1, "even")
    assert found.costly == ["z of k = 0", "y of k = 1", "z of k = 1"]
    assert found.releases[1][1] == pytest.approx(scene.lengths("even")[0])
    assert sum(cost for _, cost, _ in found.releases) == pytest.approx(found.exact)
    assert found.audit.verdict != "refuted"
    assert found.exact < found.by_loop


def test_lengths_of_the_three_changes_and_of_one_record() -> None:
    root = math.sqrt(scene.DIMENSION)
    found = {one: scene.lengths(one) for one in scene.DIRECTIONS}
    assert all(l2 == pytest.approx(scene.CHANGE) for _, l2 in found.values())
    assert found["even"][0] == pytest.approx(root * scene.CHANGE)
    assert found["coordinate"][0] == pytest.approx(scene.CHANGE)
    assert scene.CHANGE < found["random"][0] < found["even"][0]
    bounded, records = scene.by_record(norm_bound=True)
    assert bounded.gradient_change == pytest.approx(2 * scene.NORM / records)
    assert math.isinf(scene.by_record(norm_bound=False)[0].gradient_change)


def test_the_words_are_those_of_the_papers_item() -> None:
    item = scene.item()
    assert item.id == scene.ITEM
    assert "Given a time horizon K > 0" in item.states
    assert item.claim is not None
    assert "Double Privacy Protection" in scene.paper()
