"""The answer key and the check of kept answers are what a lesson computes; nobody's code is run for them."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netsim.errors import ScenarioError
from scenarios.build.duration import Silent
from scenarios.challenge.folder import PUBLIC_KEY, SHEET
from scenarios.challenge.sheet import Sheet
from scenarios.lab import course
from scenarios.lab.course import Lesson, chosen, lessons
from scenarios.lab.key import OWN_CODE, examined, key_of
from tests.scenarios.command import cli

pytest.importorskip("marimo")
LESSON = '''"""Squares.

How large is a square, and who is inside?
"""

import marimo

app = marimo.App()


with app.setup:
    import marimo as mo

    from scenarios.lab import page
    from scenarios.lab.page import Choice, Number, Option, Until


@app.cell
def _():
    side = mo.ui.slider(1, 9, value=3)
    unit = mo.ui.dropdown({"m": 1, "km": 1000}, value="m")
    return side, unit


@app.cell
def _(side):
    inside = mo.ui.multiselect([str(k) for k in range(side.value)])
    code = mo.ui.code_editor(value=f"area = {side.value} ** 2")
    return code, inside


@app.cell
def _(code):
    known = {}
    exec(code.value, known)
    return (known,)


@app.cell
def _():
    answer_1 = page.number()
    answer_2 = page.choice("yes", "no")
    return answer_1, answer_2


@app.cell
def _(answer_1, answer_2, inside, side, unit):
    question_1 = Number(float((side.value * unit.value) ** 2), "It is squared.", tolerance=0.1, ask="1. Area?")
    even = side.value % 2 == 0
    question_2 = Choice.of(
        answer_2, Option(even, f"{side.value} is even."), Option(not even, f"{side.value} is odd."), ask="2. Even?"
    )
    question_3 = Until(len(inside.value) > 1, "Too few.", "Enough.", ask="3. Choose two.", by={"inside": ["0", "2"]})
    question_4 = Until(side.value == 4, "Not four.", "Four.", ask="4. Make it four.")
    page.ask(question_1, answer_1)
    return even, question_1, question_2, question_3, question_4


if __name__ == "__main__":
    app.run()
'''
START: dict[str, Any] = {"side": 3, "unit": 1, "inside": [], "code": "area = 3 ** 2"}


@pytest.fixture(scope="module")
def lesson(tmp_path_factory) -> Lesson:
    folder = tmp_path_factory.mktemp("course")
    (folder / "squares.py").write_text(LESSON)
    return chosen("squares", lessons(folder))


def sheet(*entries: tuple[str, str | None, dict[str, Any]]) -> Sheet:
    """A sheet with answers that are all called right."""
    found = Sheet.of("ada", PUBLIC_KEY)
    for question, answer, settings in entries:
        found = found.with_answer("squares", question, answer, True, START | settings)
    return found


def command(*words: str, **said: Any) -> Any:
    return cli(*words, **said, env={"COLUMNS": "200"})


class _Counted(Silent):
    """Stages with the steps that were made."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self._done = 0

    def begin(self, stage: str, total: int, _seconds: float = math.nan, /) -> None:
        self.stages.append(f"{stage}: 0")
        self._done = 0

    def advance(self, steps: int) -> None:
        self._done += steps
        self.stages[-1] = f"{self.stages[-1].rpartition(':')[0]}: {self._done}"


def test_a_key_has_the_answers_that_the_lesson_computes_and_settings_that_were_tried(lesson: Lesson) -> None:
    progress = _Counted()
    area, even, two, four = key_of(lesson, progress)
    assert progress.stages == ["running squares: 0", "squares: answering its questions: 4"]
    assert (list(area.answers), area.why, area.settings) == (["9, within 0.9"], "It is squared.", None)
    assert (list(even.answers), even.why) == (["no"], "3 is odd.")
    assert (list(two.answers), two.why, two.settings) == ([], "Enough.", {"inside": ["0", "2"]})
    assert (four.settings, four.why) == (None, "The lesson names no settings that reach it. Not four.")


def test_a_lesson_may_name_the_settings_of_its_key(lesson: Lesson, tmp_path: Path) -> None:
    cell = '@app.cell\ndef _():\n    key_at = [{"side": 4}, {"unit": 1000}]\n    return (key_at,)\n\n\nif __name__'
    (tmp_path / "squares.py").write_text(LESSON.replace("if __name__", cell))
    (altered,) = lessons(tmp_path)
    found = list(key_of(altered))
    assert [(one.question, one.at) for one in found[::4]] == [
        ("question_1", {"side": 4}),
        ("question_1", {"unit": 1000}),
    ]
    assert [list(one.answers) for one in found[::4]] == [["16, within 1.6"], ["9 × 10⁶, within 9 × 10⁵"]]
    assert [found[1].answers, found[5].answers] == [["yes"], ["no"]]
    assert [found[2].why, found[3].why[-5:]] == ["Enough.", "Four."]
    shown = command("lab", str(altered.path), "--key").stdout
    assert shown.index("## side: 4\n\n1. Area?") < shown.index("## unit: 1000\n\n1. Area?")


def test_settings_that_do_not_reach_what_is_asked_for_are_no_answer(lesson: Lesson, tmp_path: Path) -> None:
    (tmp_path / "squares.py").write_text(LESSON.replace('["0", "2"]', '["0"]'))
    (altered,) = lessons(tmp_path)
    two = list(key_of(altered))[2]
    assert (two.settings, two.why) == (None, "The lesson names no settings that reach it. Too few.")


@pytest.mark.parametrize(
    ("question", "answer", "settings", "why"),
    [
        ("question_1", "9", {}, None), ("question_1", "9.5", {}, None),
        ("question_1", "16", {}, "'16' is not right there"),
        ("question_1", "16", {"side": 4, "code": "area = 4 ** 2"}, None), ("question_1", "9e6", {"unit": 1000}, None),
        ("question_1", None, {}, "'its settings' is not right there"), ("question_2", "no", {}, None),
        ("question_2", "yes", {}, "'yes' is not right there"),
        ("question_2", "maybe", {}, "'maybe' is not right there"), ("question_3", None, {"inside": ["0", "1"]}, None),
        ("question_3", None, {}, "is not right there"),
        ("question_3", None, {"inside": ["0", "8"]}, "cannot be chosen"),
        ("question_3", None, {"side": 9, "inside": ["0", "8"], "code": "area = 9 ** 2"}, None),
        ("question_4", None, {"side": 4, "code": "area = 4 ** 2"}, None),
        ("question_1", "100", {"side": 10, "code": "area = 10 ** 2"}, "cannot be chosen"),
        ("question_1", "1", {"side": True, "code": "area = True ** 2"}, "cannot be chosen"),
        ("question_1", "4", {"unit": 2}, "cannot be chosen"),
        ("question_1", "9", {"other": 1}, "are not those of the lesson"), ("question_9", "9", {}, "no such question"),
    ],
)  # fmt: skip
def test_an_answer_is_graded_again_at_its_settings(lesson: Lesson, question, answer, settings, why) -> None:
    wrong, unread = examined(sheet((question, answer, settings)), [lesson])
    assert not unread
    assert len(wrong) == (why is not None)
    assert all(why in one and one.startswith(f"entry 1: squares {question}: ") for one in wrong)


def test_what_was_called_wrong_and_other_lessons(lesson: Lesson) -> None:
    found = Sheet.of("ada", PUBLIC_KEY).with_answer("squares", "question_1", "16", False, START)
    assert examined(found, [lesson]) == ([], [])
    other = found.with_answer("circles", "question_1", "3", True, {})
    assert examined(other, [lesson]) == (["entry 2: circles question_1: there is no such lesson"], [])


def test_code_of_a_student_is_not_run_and_has_to_be_looked_at(lesson: Lesson, tmp_path: Path) -> None:
    own = f"open({str(tmp_path / 'run')!r}, 'w')"
    assert examined(sheet(("question_1", "9", {"code": own})), [lesson]) == (
        [], [f"entry 1: squares question_1: {OWN_CODE}"]
    )  # fmt: skip
    assert not (tmp_path / "run").exists()
    lesson.run(START | {"code": own})
    assert (tmp_path / "run").exists(), "the lesson itself does run it"


def test_a_question_is_done_once_it_is_right_and_one_wrong_answer_is_not_two() -> None:
    given = [("16", False), ("16", False), ("17", False), ("16", False), ("9", True), ("9", True), ("1", False)]
    found = Sheet.of("ada", PUBLIC_KEY)
    for answer, right in given:
        found = found.with_answer("squares", "question_1", answer, right, START)
    assert [one.answer for one in found.answers] == ["16", "17", "16", "9"]
    assert not list(found.faults(PUBLIC_KEY))


def test_answers_are_kept_beside_challenges_on_one_sheet(
    lesson: Lesson, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(course, "keeper", None)  # after this test nobody keeps answers
    defined = {**lesson.run(), "__file__": str(lesson.path)}
    for student, right in (("ada", False), (None, True)):
        kept = course.keep(tmp_path / "new", student)
        kept.add(defined["question_1"], "9" if right else "8", right, defined)
    assert kept.student == "ada"
    kept.add(object(), "7", True, defined)  # no question of the lesson
    command("challenge", "first-flag", "--out", str(tmp_path / "new"), ends=0)
    found = Sheet.read(tmp_path / "new" / SHEET)
    assert [one.answer for one in found.answers] == ["8", "9"]
    assert found.answers[0].settings == START
    assert found.has("first-flag")
    assert examined(found, [lesson]) == ([], [])
    with pytest.raises(ScenarioError, match="is of student 'ada'"):
        course.keep(tmp_path / "new", "emmy")
    with pytest.raises(ScenarioError, match="missing"):
        course.keep(tmp_path / "other", None)


def test_answers_are_checked_with_the_challenges_command(lesson: Lesson, tmp_path: Path) -> None:
    good = sheet(("question_1", "9", {}), ("question_1", "9", {"code": "area = 0"}))
    good = good.with_answer("squares", "question_2", "no", True, START | {"code": "x = 1"})
    forged = sheet(("question_1", "10", {}))
    words = ["challenge", "--check", "--lessons", str(lesson.path.parent)]
    for name, one in (("good", good), ("forged", forged)):
        one.write(tmp_path / f"{name}.json")
    shown = command(
        *words,
        str(tmp_path / "good.json"),
        ends=0,
        output=(
            "holds. ada: 0 of 30 solved, 0 points; 2 of 2 questions of lessons right",
            f"entry 2: squares question_2: {OWN_CODE}",
        ),
    )
    shown = command(*words, str(tmp_path / "forged.json"), "--json", ends=1)
    (row,) = json.loads(shown.stdout)["sheets"]
    assert row["faults"] == ["entry 1: squares question_1: '10' is not right there"]
    assert [(one["lesson"], one["answer"], one["right"]) for one in row["answers"]] == [("squares", "10", True)]
    edited = json.loads((tmp_path / "good.json").read_text())
    edited["entries"][0]["right"] = False
    (tmp_path / "good.json").write_text(json.dumps(edited))
    command(
        *words, str(tmp_path / "good.json"), ends=1,
        output="entry 1 (squares, question_1) or the one before it was altered",
    )  # fmt: skip


def test_the_key_is_printed_for_people_and_for_programs(lesson: Lesson) -> None:
    shown = command("lab", str(lesson.path), "--key", ends=0)
    assert f"# Squares\n\nnetsim lab {lesson.path}\n\n1. Area?\n\n- 9, within 0.9\n\nIt is squared.\n" in shown.stdout
    assert "3. Choose two.\n\n- inside: 0, 2\n\nEnough.\n" in shown.stdout
    (found,) = json.loads(command("lab", str(lesson.path.parent), "--key", "--json").stdout)["lessons"]
    assert [one["question"] for one in found["questions"]] == [f"question_{k}" for k in range(1, 5)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--json"], "is for lists"),
        (["--key", "--student", "ada"], "no answers are given here"),
        (["--list", "--out", "somewhere"], "no answers are given here"),
    ],
)
def test_what_does_not_go_together_is_told(words: list[str], said: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    command("lab", *words, ends=2, output=said)
    assert not list(tmp_path.iterdir())


def test_a_sheet_that_was_edited_is_not_added_to(
    lesson: Lesson, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(course, "keeper", None)  # after this test nobody keeps answers
    sheet(("question_2", "no", {})).write(tmp_path / SHEET)
    kept = course.keep(tmp_path, None)
    replace(sheet(), seal="0" * 32).write(tmp_path / SHEET)
    defined = {**lesson.run(), "__file__": str(lesson.path)}
    with pytest.raises(ScenarioError, match="altered or removed"):
        kept.add(defined["question_1"], "9", True, defined)
