"""Every shipped lesson runs as a program, in seconds, and its questions know right from wrong."""

import shlex
import time
from typing import Any

import pytest
from threadpoolctl import threadpool_limits

pytest.importorskip("marimo")

from scenarios.lab import server as catalogue
from scenarios.lab.page import Choice, Number, Until
from scenarios.schema.load import load_scenario
from scenarios.stages.study import planned
from tests.scenarios.lab.lessons import NAMES, questions, run

CPU_SECONDS = 40.0


@pytest.fixture(scope="module", params=NAMES)
def lesson(request: Any) -> tuple[str, dict[str, Any], float]:
    begun = time.process_time()
    with threadpool_limits(1):
        defined = run(request.param)
    return request.param, defined, time.process_time() - begun


def test_it_runs_in_seconds(lesson: Any) -> None:
    assert lesson[2] < CPU_SECONDS


def test_its_questions_know_right_from_wrong_and_say_why(lesson: Any) -> None:
    """It asks something to compute and something to set, and a setting that is asked for is not there already."""
    asked = questions(lesson[1])
    assert len(asked) >= 2
    assert any(isinstance(one, Number | Choice) for one in asked.values())
    for name, question in asked.items():
        assert question.ask.startswith(name.removeprefix("question_") + ". ")
        right, wrong = question.right_answers(), question.wrong_answers()
        for answer in right:
            said = question.check(answer)
            assert said.right, (name, answer)
            assert said.says, name
        for answer in wrong:
            said = question.check(answer)
            assert not said.right, (name, answer)
            assert len(said.says) > 20, (name, said.says)
        if isinstance(question, Until):
            assert not question.reached
        else:
            assert question.check(None) is None
            assert right
            assert wrong


def test_its_further_commands_can_be_run(lesson: Any) -> None:
    from scenarios.cli.app import app

    defined = lesson[1]
    commands = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    assert defined["further"]
    for line, what in defined["further"].items():
        assert what
        program, verb, *rest = shlex.split(line)
        assert program == "netsim"
        assert verb in commands
        if verb == "run":
            settings = [rest[k + 1] for k, word in enumerate(rest) if word == "-o"]
            assert planned(load_scenario(rest[0], settings)).first is not None


def test_each_lesson_says_what_it_is_about() -> None:
    shipped = catalogue.lessons()
    assert [one.name for one in shipped] == [name for name in catalogue.ORDER if name in NAMES]
    assert all(one.title and len(one.sentence) > 30 for one in shipped)
