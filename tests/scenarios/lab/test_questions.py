"""Answers are checked against numbers that were computed, and a wrong one is told why."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.lab.page import Choice, Number, Option, Until

REAL = st.floats(-1e6, 1e6, allow_nan=False)


@given(REAL, st.floats(0, 0.5))
def test_a_number_is_right_within_its_margin_and_wrong_outside(truth: float, tolerance: float) -> None:
    question = Number(truth, "so it is", tolerance)
    assert all(question.check(answer).right for answer in question.right_answers())
    assert not any(question.check(answer).right for answer in question.wrong_answers())


@given(REAL)
def test_what_is_shown_of_a_number_is_a_right_answer(truth: float) -> None:
    assert Number(truth, "so it is", tolerance=0.0).check(f"{truth:.4g}").right


def test_a_tempting_answer_gets_its_own_hint_and_others_their_side() -> None:
    question = Number(64, "right", 0, traps=((68.5, "that counts the header"),), hint=lambda x: f"not {x:g}")
    assert question.check(68.5) == (False, "that counts the header")
    assert question.check("70").says == "70 is too large. not 70"
    assert question.check(3).says == "3 is too small. not 3"
    assert question.check("") is None
    assert Number(1.0, "right").check(math.inf).says == "∞ is too large."


def test_a_trap_that_is_true_by_chance_is_no_trap() -> None:
    question = Number(1.0, "no loss, no repeats", 0.1, traps=((1.0, "forgets the acknowledgement"),))
    assert question.check(1.0).right
    assert 1.0 not in question.wrong_answers()


def test_a_question_needs_a_number() -> None:
    with pytest.raises(ValueError, match="nan"):
        Number(math.nan, "")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,360", 1360), ("2.5e-3", 0.0025), ("−4", -4), (" 7 ", 7), ("0,5", 0.5), ("−0,125", -0.125),
        ("1,5e-3", 0.0015), ("12,34", 12.34), ("0,360", 0.36), ("01,360", 1.36), ("1,360,000", 1_360_000),
        ("-12,345.5", -12345.5), ("1 360", 1360), ("1\u202f360", 1360), ("x", None), ("nan", None),
        ("1,36,000", None), ("1,360 000", None), ("1,2.5", None), ("1.5,2", None), ("1,,2", None), ("1 2", None),
    ],
)  # fmt: skip
def test_numbers_are_read_as_people_write_them_and_a_comma_is_never_just_left_out(text: str, number: float | None):
    if number is None:
        said = Number(1.0, "so it is").check(text).says
        how = ": a comma stands between groups of three digits, as in 1,360, or once before decimals, as in 0,5."
        assert said == f"“{text}” is no number{how if ',' in text else '.'}"
    else:
        assert Number(number, "so it is", tolerance=0.0).check(text) == (True, "so it is")


def test_a_choice_needs_an_option_that_holds_and_one_that_does_not() -> None:
    yes, no = Option(True, "because"), Option(False, "because not")
    question = Choice({"a": yes, "b": no, "c": no})
    assert question.check("a") == (True, "because")
    assert question.check("b") == (False, "because not")
    assert question.check(None) is None
    assert list(question.wrong_answers()) == ["b", "c"]
    for options in ({"a": no}, {"a": yes, "b": yes}):
        with pytest.raises(ValueError, match="options hold"):
            Choice(options)


def test_settings_are_an_answer() -> None:
    assert Until(False, "it is 3, and has to be 4", "it is 4").check() == (False, "it is 3, and has to be 4")
    assert Until(True, "it is 3, and has to be 4", "it is 4").check() == (True, "it is 4")
