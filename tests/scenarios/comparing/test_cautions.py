"""What cannot be compared is said shortly: a run stands for all of its algorithms that say the same."""

from scenarios.render.comparison import _several


def test_a_run_is_named_in_place_of_all_its_algorithms():
    told = [("a · one", "0"), ("b · one", "0"), ("a · two", "1"), ("b · two", "1")]
    assert _several("δ", "so", told) == "Not the same δ (0: one; 1: two): so."
    told[1] = ("b · one", "1")
    assert _several("δ", "so", told) == "Not the same δ (0: a · one; 1: b · one, two): so."
    assert _several("δ", "so", [("a · one", "0"), ("a · two", "1")]) == "Not the same δ (0: a · one; 1: a · two): so."
    assert _several("δ", "so", told[2:]) == ""


def test_algorithms_of_one_run_have_their_own_names():
    assert _several("unit", "so", [("a", "0"), ("b", "1"), ("c", "1")]) == "Not the same unit (0: a; 1: b, c): so."
