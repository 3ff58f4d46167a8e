"""Every shipped lesson runs as a program in seconds, at its start and with its sliders elsewhere.

Its questions know right from wrong, what it asks for can be reached, and what it says is so there too.
"""

import shlex
import time
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

pytest.importorskip("marimo")
from scenarios.lab import course
from scenarios.lab.page import Choice, Number, Question, Until
from scenarios.lab.scenes import listening, noise, tapping
from scenarios.lab.scenes.own import PLANTED, SOUND, Mistake
from scenarios.schema.load import load_scenario
from scenarios.stages.study import planned
from tests.scenarios.lab.lessons import NAMES, questions, run

# ── at its start ────────────────────────────────────────────────────────────────────────────────────────
CPU_SECONDS = 40.0
LONG = {"second-message", "noise", "composition", "how-sure", "norms", "tap-your-own", "a-reviewers-hour"}
"""Lessons that compute for about ten seconds or more; what their scenes find is tested beside this, too."""


def slow_where(condition: bool, *values: Any) -> Any:
    return pytest.param(*values, marks=[pytest.mark.slow] * condition)


@pytest.fixture(scope="module", params=[slow_where(name in LONG, name) for name in NAMES])
def lesson(request: Any) -> tuple[str, dict[str, Any], float]:
    begun = time.process_time()
    with threadpool_limits(1):
        defined = run(request.param)
    return request.param, defined, time.process_time() - begun


@pytest.mark.slow
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


@pytest.mark.few("your-own")
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
    shipped = course.lessons()
    assert [one.name for one in shipped] == [name for name in course.ORDER if name in NAMES]
    assert all(one.title and len(one.sentence) > 30 for one in shipped)


# ── elsewhere ───────────────────────────────────────────────────────────────────────────────────────────
PUBLISHED, FRESH, REPAIRED = noise.READINGS
REMEDIES = ("Laplace noise for ℓ1: b = √d/ε", "Gaussian noise for ℓ2, at δ = 0.01")
START: dict[str, dict[str, Any]] = {
    "eavesdropper": {"topology": "ring", "loss": 0.2, "taps": ["0–1"], "encrypted": [], "miss": 0.3},
    "pictures": {"algorithm": "gradient descent", "images": 1, "miss": 0.0},
    "noise": {"scale": 0.01},
    "second-message": {"reading": PUBLISHED, "claimed": 1.0},
    "composition": {
        "ratio": 0.8, "scale": 1.0, "counted": "as if it stayed", "step": 0.05, "falls": 0.9, "noise_x": 0.5,
        "noise_y": 4.0, "budget": 2.0, "long": 10, "each": 0.1, "tiny": 1e-6,
    },
    "norms": {"dimension": 9, "epsilon": 1.0, "way": "coordinate", "remedy": REMEDIES[0]},
    "how-sure": {
        "epsilon": 2.0, "threshold": 0.0, "trials": 200, "claim": 1.0, "factor": 1.5, "looks": 10, "tries": 10,
        "repetitions": 10,
    },
    "your-own": {"start": "algorithm A"},
    "tap-your-own": {"change": tapping.FAITHFUL, "scale": 0.3},
    "every-view": {"topology": "ring", "own": 0.5, "shared": 4.0, "victim": 0},
    "a-reviewers-hour": {"step": 0.1, "rounds": 2, "direction": "even"},
}  # fmt: skip
NOT_REACHED: list[tuple[str, dict[str, Any], str]] = [
    ("eavesdropper", {"taps": ["3–4", "4–5"], "encrypted": ["4–5"]}, "4–5"),
    ("eavesdropper", {"taps": ["3–4", "4–5", "0–5"]}, "2 are enough"),
    ("eavesdropper", {"topology": "star", "loss": 0.0, "taps": []}, "None of its gradients"),
    ("eavesdropper", {"topology": "complete", "loss": 0.4, "miss": 0.0, "encrypted": ["0–1"]}, "None of its"),
    ("pictures", {"miss": 0.4, "images": 2}, "not heard often enough"),
    ("pictures", {"algorithm": "RECAL, a walking baton", "miss": 0.4}, "not heard often enough"),
    ("pictures", {"algorithm": "NIDS", "images": 2}, "miss more"),
    ("noise", {"scale": 0.0}, "better than a guess"),
    ("second-message", {"reading": FRESH, "claimed": 100.0}, "more noise"),
    (
        "composition",
        {"ratio": 1.0, "scale": 0.2, "counted": "by release", "step": 0.3, "falls": 0.1, "each": 0.5, "tiny": 1e-2},
        "nothing is claimed",
    ),
    ("norms", {"dimension": 1, "way": "even", "remedy": REMEDIES[1]}, "1 times the claim"),
    ("how-sure", {"threshold": 3.0, "trials": 20, "factor": 4.0, "tries": 40, "claim": 4.0}, "are they enough?"),
    ("tap-your-own", {"change": tapping.STEPS}, "hides in the noise"),
    ("tap-your-own", {"code": "import nowhere"}, "Choose the program"),
    ("every-view", {"topology": "path", "shared": 16.0, "victim": 3}, "learn ε = 23.1 of agent 3"),
    ("every-view", {"topology": "star", "shared": 8.0, "own": 8.0}, "Own noise is σ = 8"),
    ("every-view", {"topology": "complete", "shared": 8.0}, "who do not hear each other"),
    ("every-view", {"topology": "path", "shared": 0.0}, "learn ε = 23.1 of agent 0"),
    ("a-reviewers-hour", {"step": 0.001, "direction": "coordinate", "rounds": 3}, "loose"),
]
"""Settings of a lesson that are not what it asks for, and what it says of them to who has to change them."""
SETTINGS = [slow_where(one[0] in LONG or one in NOT_REACHED[1:], *one) for one in NOT_REACHED]


def at(name: str, **settings: Any) -> dict[str, Any]:
    """A lesson at these settings. What it calls right is right, and the rest is wrong, whatever they are."""
    found = run(name, **START[name] | settings)
    for question in questions(found).values():
        assert all(question.check(answer).right for answer in question.right_answers())
        replies = [question.check(answer) for answer in question.wrong_answers()]
        assert all(reply.says and not reply.right for reply in replies)
    return found


def asked(defined: dict[str, Any]) -> Until:
    """Its question about the settings."""
    (until,) = (one for one in questions(defined).values() if isinstance(one, Until))
    return until


def truth(defined: dict[str, Any], name: str) -> float:
    question: Question = questions(defined)[name]
    assert isinstance(question, Number)
    return question.truth


def test_what_it_asks_for_is_reached_by_the_settings_of_its_key(lesson: Any) -> None:
    name, opened, _ = lesson
    by = asked(opened).by
    assert by
    found = at(name, **by)
    assert asked(found).reached, asked(found).now
    consistent(name, found, START[name] | by)
    if name == "composition":
        assert found["tracked"].final / found["claim"] == pytest.approx(1 / by["falls"], rel=0.1)


@pytest.mark.few("eavesdropper-settings0-4\\u20135")
@pytest.mark.parametrize(("name", "settings", "said"), SETTINGS)
def test_what_is_not_enough_is_told_why(name: str, settings: dict[str, Any], said: str) -> None:
    found = at(name, **settings)
    assert not asked(found).reached
    assert said in asked(found).check().says
    consistent(name, found, START[name] | settings)


def consistent(name: str, found: dict[str, Any], here: dict[str, Any]) -> None:
    """What some lessons compute, against formulas."""
    match name:
        case "composition":
            z, most = truth(found, "question_2"), truth(found, "question_1")
            assert z**2 == pytest.approx(here["step"] * (z + 1))
            costs = 0.2 / here["scale"] / here["ratio"] ** np.arange(1, most + 2)
            assert costs[: int(most)].sum() <= 3 < costs.sum()
            assert (found["claim"] is None) == (here["falls"] <= z)
        case "norms":
            assert truth(found, "question_1") == pytest.approx(8 * here["epsilon"])
            assert {one.verdict for one in found["mended"]} <= {"proven", "consistent"}
            assert found["laplace_now"] == (here["remedy"] == REMEDIES[0])
        case "how-sure":
            assert truth(found, "question_1") == 62
            assert truth(found, "question_2") == pytest.approx(100 * (1 - 0.95**20))


def test_an_exercise_can_be_found_and_repaired() -> None:
    exercise = PLANTED[0]
    start = f"algorithm {exercise.name}"
    faulty = at("your-own", start=start)
    assert faulty["text"] == exercise.source
    assert faulty["broken"]
    assert not asked(faulty).reached
    repaired = at("your-own", start=start, code=exercise.sound, changes=exercise.changes)
    assert asked(repaired).reached, asked(repaired).now
    assert not repaired["broken"]


def test_a_mistake_in_the_text_breaks_no_page() -> None:
    found = at("your-own", code=SOUND.replace("received.mix", "<herd>"), changes="moved")
    assert isinstance(found["found"], Mistake)
    assert "herd" in found["shown"].text
    assert "<herd>" not in found["shown"].text
    assert asked(found).now.startswith("The code does not run yet")


@pytest.mark.slow
def test_a_capture_is_shown_to_who_has_predicted_and_a_program_that_fails_breaks_no_page() -> None:
    assert at("tap-your-own", answer_1=None)["found"].finding.follows
    found = at("tap-your-own", code="import nowhere\n")
    assert found["broken"]
    assert "nowhere" in found["shown"].text


# ── what the lessons say, from elsewhere ────────────────────────────────────────────────────────────────
def test_the_same_scenario_is_run_once_and_others_anew() -> None:
    one, again, other = (listening.seen("ring", loss).played for loss in (0.1, 0.1, 0.2))
    assert one is again
    assert one is not other


def test_counts_of_the_recording_add_up() -> None:
    seen = listening.seen("ring", 0.2, ["0–1", "2–3"], ["2–3"])
    others = seen.of_kind("ack") + seen.of_kind("sealed")
    assert len(seen.data) + others == len(seen.rows) == len(seen.listed())
    assert seen.messages == seen.sent == 2 * listening.ROUNDS
    assert {row["readable"] == "" for row in seen.listed() if row["what"] == "encrypted"} == {True}


def test_gradients_follow_from_all_links_of_an_agent_and_not_from_one() -> None:
    own = [one for one in listening.links("ring") if "2" in one]
    assert listening.seen("ring", 0.2, own).inferred[2] == listening.ROUNDS - 1
    assert listening.seen("ring", 0.2, own[:1]).inferred[2] == 0


def test_repeats_are_as_many_as_the_formula_says() -> None:
    everywhere = listening.seen("complete", 0.2, listening.links("complete"))
    assert everywhere.attempts == pytest.approx(1 / 0.8**2, rel=0.08)
    assert listening.expected_share(0.0, 0.3) == pytest.approx(0.7)
    heard = listening.captured_by_loss("complete", listening.links("complete"), 0.3, [0.0, 0.4])
    assert heard[0] == pytest.approx(0.7, abs=0.05)
    assert heard[1] == pytest.approx(listening.expected_share(0.4, 0.3), abs=0.05)


@pytest.mark.few(1)
@pytest.mark.parametrize("images", [1, 2, 3])
def test_singular_values_count_the_images(images: int) -> None:
    attacked = listening.attacked("gradient descent", images)
    assert attacked.rank == images
    assert attacked.rebuilt == listening.AGENTS
    assert max(attacked.errors("rebuilt")) < 1e-4
    assert min(attacked.errors("guess")) > 0.05


def test_a_tap_that_misses_shows_fewer_pictures_than_it_should() -> None:
    attacked = listening.attacked("RECAL, a walking baton", 1, 0.4)
    assert None in attacked.pictured("rebuilt")
    assert attacked.rebuilt == sum(one is not None for one in attacked.pictured("rebuilt"))


def test_noise_on_a_gradient_is_that_of_its_message_over_the_step() -> None:
    for scale in (0.01, 0.3):
        expected = (2 * 64) ** 0.5 * scale / noise.STEP
        assert noise.noisy(scale).distance == pytest.approx(expected, rel=0.03)


def test_the_claim_of_lesson_3_is_its_formula() -> None:
    one = noise.noisy(0.1)
    assert one.change == pytest.approx(64**0.5 * 2 * noise.NORM / min(one.played.experiment.problem.records))
    assert one.epsilon == pytest.approx((noise.ROUNDS - 1) * noise.STEP * one.change / 0.1)
    assert one.epsilon_alone == pytest.approx(min(one.played.experiment.problem.records) * one.epsilon)
    assert noise.noisy(0.0).epsilon == float("inf")


@pytest.mark.slow
def test_the_second_message_is_exact_at_any_epsilon_and_the_repair_is_not() -> None:
    for epsilon in (0.1, 100.0):
        one = noise.leakage(PUBLISHED, epsilon)
        assert one.played.worst < 1e-8
        assert one.played.queries - one.inferred == noise.AGENTS
        assert one.played.skill("strongest") > 0.99
    assert one.audit.epsilon_exact.estimate == float("inf")
    assert one.audit.growth[0].estimate < 100
    safe = noise.leakage(REPAIRED, 1.0)
    assert safe.best_error > 1
    assert safe.audit.verdict in ("proven", "consistent")
