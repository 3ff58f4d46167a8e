"""Lessons 5 to 8 with their sliders elsewhere, their settings found, and their answers changed with them."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("marimo")

from scenarios.lab.page import Number, Question, Until
from scenarios.lab.scenes.own_code import PLANTED, SOUND, Mistake
from tests.scenarios.lab.lessons import questions, run

COMPOSITION: dict[str, Any] = {
    "ratio": 0.8, "scale": 1.0, "counted": "as if it stayed", "step": 0.05, "falls": 0.9, "noise_x": 0.5,
    "noise_y": 4.0, "budget": 2.0, "long": 10, "each": 0.1, "tiny": 1e-6,
}  # fmt: skip
NORMS: dict[str, Any] = {"dimension": 9, "epsilon": 1.0, "way": "coordinate"}
SURE: dict[str, Any] = {
    "epsilon": 2.0, "threshold": 0.0, "trials": 200, "claim": 1.0, "factor": 1.5, "looks": 10, "tries": 10,
    "repetitions": 10,
}  # fmt: skip


def asked(defined: dict[str, Any], name: str) -> Question:
    found = questions(defined)
    check(found)
    return found[name]


def check(found: dict[str, Question]) -> None:
    """What the lesson itself calls right is right, and the rest is wrong, whatever the setting."""
    for question in found.values():
        for answer in question.right_answers():
            said = question.check(answer)
            assert said is not None
            assert said.right
        for answer in question.wrong_answers():
            said = question.check(answer)
            assert said is not None
            assert not said.right
            assert said.says


def truth(defined: dict[str, Any], name: str) -> float:
    question = asked(defined, name)
    assert isinstance(question, Number)
    return question.truth


def test_composition_at_the_setting_that_it_asks_for() -> None:
    found = run("composition", **COMPOSITION | {"falls": 0.5, "noise_x": 0.1, "noise_y": 20.0})
    until = asked(found, "question_4")
    assert isinstance(until, Until)
    assert until.reached
    assert found["tracked"].final / found["claim"] == pytest.approx(1 / 0.5, rel=0.1)


@pytest.mark.parametrize(
    "setting",
    [
        {"ratio": 1.0, "scale": 0.2, "counted": "by release", "step": 0.3, "falls": 0.1, "each": 0.5, "tiny": 1e-2},
    ],
)
def test_composition_elsewhere(setting: dict[str, Any]) -> None:
    here = COMPOSITION | setting
    found = run("composition", **here)
    z = truth(found, "question_2")
    assert z**2 == pytest.approx(here["step"] * (z + 1))
    most = truth(found, "question_1")
    costs = 0.2 / here["scale"] / here["ratio"] ** np.arange(1, most + 2)
    assert costs[: int(most)].sum() <= 3 < costs.sum()
    assert (found["claim"] is None) == (here["falls"] <= z)


@pytest.mark.parametrize(
    ("setting", "reached"),
    [
        ({"dimension": 25, "way": "even"}, True),
        ({"dimension": 1, "way": "even"}, False),
    ],
)
def test_norms_elsewhere(setting: dict[str, Any], reached: bool) -> None:
    here = NORMS | setting
    found = run("norms", **here)
    until = asked(found, "question_4")
    assert isinstance(until, Until)
    assert until.reached is reached
    assert truth(found, "question_1") == pytest.approx(8 * here["epsilon"])


def test_the_other_remedy_holds_too() -> None:
    found = run("norms", remedy="Gaussian noise for ℓ2, at δ = 0.01")
    assert {str(one.found.judgement.verdict) for one in found["mended"]} == {"consistent"}
    assert not found["laplace_now"]


@pytest.mark.parametrize(
    ("setting", "reached"),
    [
        ({"threshold": 0.5, "trials": 10_000}, True),
        ({"threshold": 3.0, "trials": 20, "factor": 4.0, "tries": 40, "claim": 4.0}, False),
    ],
)
def test_how_sure_elsewhere(setting: dict[str, Any], reached: bool) -> None:
    found = run("how-sure", **SURE | setting)
    until = asked(found, "question_4")
    assert isinstance(until, Until)
    assert until.reached is reached
    assert truth(found, "question_1") == 62
    assert truth(found, "question_2") == pytest.approx(100 * (1 - 0.95**20))


@pytest.mark.parametrize("exercise", [PLANTED[0], PLANTED[2]], ids=lambda one: one.name)
def test_an_exercise_can_be_found_and_repaired(exercise: Any) -> None:
    start = f"algorithm {exercise.name}"
    faulty = run("your-own", start=start)
    assert faulty["text"] == exercise.source
    assert faulty["broken"]
    until = asked(faulty, "question_3")
    assert isinstance(until, Until)
    assert not until.reached
    repaired = run("your-own", start=start, code=exercise.sound, changes=exercise.changes)
    until = asked(repaired, "question_3")
    assert isinstance(until, Until)
    assert until.reached, until.now
    assert not repaired["broken"]


def test_a_mistake_in_the_text_breaks_no_page() -> None:
    found = run("your-own", start="algorithm A", code=SOUND.replace("received.mix", "<herd>"), changes="moved")
    assert isinstance(found["found"], Mistake)
    assert "herd" in found["told"].text
    assert "<herd>" not in found["told"].text
    until = asked(found, "question_3")
    assert isinstance(until, Until)
    assert until.now.startswith("The code does not run yet")
