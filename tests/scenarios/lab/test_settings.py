"""Lessons with their sliders elsewhere: what is asked for can be reached, and what is said there is so."""

from typing import Any

import pytest

pytest.importorskip("marimo")

from scenarios.lab.live import play
from scenarios.lab.scenes import listening as eavesdropper
from scenarios.lab.scenes import listening as pictures
from scenarios.lab.scenes import noise
from scenarios.lab.scenes import noise as second_message
from tests.scenarios.lab.lessons import questions, run

REACHED: list[tuple[str, str, dict[str, Any]]] = [
    ("eavesdropper", "question_4", {"taps": ["3–4", "4–5"], "encrypted": []}),
    ("pictures", "question_3", {"miss": 0.4}),
    ("noise", "question_3", {"scale": 1.0}),
    ("second-message", "question_3", {"reading": "repair: sent state", "claimed": 1.0}),
]
NOT_YET: list[tuple[str, str, dict[str, Any], str]] = [
    ("eavesdropper", "question_4", {"taps": ["3–4", "4–5", "0–5"], "encrypted": []}, "2 are enough"),
    ("eavesdropper", "question_4", {"taps": ["3–4", "4–5"], "encrypted": ["4–5"]}, "4–5"),
    ("pictures", "question_3", {"miss": 0.4, "images": 2}, "not heard often enough"),
    ("second-message", "question_3", {"claimed": 0.1}, "change what is sent"),
]


@pytest.mark.parametrize(("name", "question", "settings"), REACHED, ids=lambda v: v if isinstance(v, str) else "")
def test_what_a_lesson_asks_for_can_be_reached(name: str, question: str, settings: dict[str, Any]) -> None:
    asked = run(name, **settings)[question]
    assert asked.reached
    assert asked.check().right
    assert asked.right_answers() == [None]


@pytest.mark.parametrize(("name", "question", "settings", "said"), NOT_YET)
def test_a_setting_that_is_not_enough_is_told_why(
    name: str, question: str, settings: dict[str, Any], said: str
) -> None:
    reply = run(name, **settings)[question].check()
    assert not reply.right
    assert said in reply.says


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("eavesdropper", {"topology": "star", "loss": 0.0, "taps": [], "encrypted": []}),
        ("eavesdropper", {"topology": "complete", "loss": 0.4, "miss": 0.0, "taps": ["0–1"], "encrypted": ["0–1"]}),
        ("pictures", {"algorithm": "RECAL, a walking baton", "miss": 0.4}),
        ("pictures", {"algorithm": "NIDS", "images": 2}),
        ("noise", {"scale": 0.0}),
        ("second-message", {"reading": "attempt: fresh noise in x⁺ too", "claimed": 100.0}),
    ],
)
def test_lessons_run_at_the_ends_of_their_sliders(name: str, settings: dict[str, Any]) -> None:
    for question in questions(run(name, **settings)).values():
        assert all(question.check(answer).right for answer in question.right_answers())
        assert not any(question.check(answer).right for answer in question.wrong_answers())


# ── what the lessons say, from elsewhere ────────────────────────────────────────────────────────────────
def test_the_same_scenario_is_run_once_and_others_anew() -> None:
    one, again, other = (play(eavesdropper.eavesdropper_scenario(loss=loss)) for loss in (0.1, 0.1, 0.2))
    assert one is again
    assert one is not other


def test_counts_of_the_recording_add_up() -> None:
    seen = eavesdropper.seen("ring", 0.2, ["0–1", "2–3"], ["2–3"])
    assert len(seen.data) + len(seen.acknowledgements) + len(seen.sealed) == len(seen.rows) == len(seen.listed())
    assert seen.messages == seen.sent == 2 * eavesdropper.ROUNDS
    assert {row["readable"] == "" for row in seen.listed() if row["what"] == "encrypted"} == {True}


def test_gradients_follow_from_all_links_of_an_agent_and_not_from_one() -> None:
    for target in range(1, 4):
        own = [one for one in eavesdropper.links("ring") if str(target) in one]
        assert eavesdropper.seen("ring", 0.2, own).inferred[target] == eavesdropper.ROUNDS - 1
        assert eavesdropper.seen("ring", 0.2, own[:1]).inferred[target] == 0


def test_repeats_are_as_many_as_the_formula_says() -> None:
    everywhere = eavesdropper.seen("complete", 0.2, eavesdropper.links("complete"))
    assert everywhere.attempts == pytest.approx(1 / 0.8**2, rel=0.08)
    assert eavesdropper.expected_share(0.0, 0.3) == pytest.approx(0.7)
    heard = eavesdropper.captured_by_loss("complete", eavesdropper.links("complete"), 0.3, [0.0, 0.4])
    assert heard[0] == pytest.approx(0.7, abs=0.05)
    assert heard[1] == pytest.approx(eavesdropper.expected_share(0.4, 0.3), abs=0.05)


@pytest.mark.parametrize("images", [1, 2, 3])
def test_singular_values_count_the_images(images: int) -> None:
    attacked = pictures.attacked("gradient descent", images)
    assert attacked.rank == images
    assert attacked.rebuilt == pictures.AGENTS
    assert max(attacked.errors("rebuilt")) < 1e-4
    assert min(attacked.errors("guess")) > 0.05


def test_a_tap_that_misses_shows_fewer_pictures_than_it_should() -> None:
    attacked = pictures.attacked("RECAL, a walking baton", 1, 0.4)
    assert None in attacked.pictured("rebuilt")
    assert attacked.rebuilt == sum(one is not None for one in attacked.pictured("rebuilt"))


def test_noise_on_a_gradient_is_that_of_its_message_over_the_step() -> None:
    for scale in (0.01, 0.3):
        expected = (2 * 64) ** 0.5 * scale / noise.STEP
        assert noise.noisy(scale).distance == pytest.approx(expected, rel=0.03)


def test_the_claim_of_lesson_3_is_its_formula() -> None:
    one = noise.noisy(0.1)
    records = noise.records(one)
    assert one.change == pytest.approx(64**0.5 * 2 * noise.NORM / records)
    assert one.epsilon == pytest.approx((noise.ROUNDS - 1) * noise.STEP * one.change / 0.1)
    assert one.epsilon_alone == pytest.approx(records * one.epsilon)
    assert noise.noisy(0.0).epsilon == float("inf")


def test_the_second_message_is_exact_at_any_epsilon_and_the_repair_is_not() -> None:
    published, *_, repaired = second_message.READINGS
    for epsilon in (0.1, 100.0):
        one = second_message.leakage(published, epsilon)
        assert one.worst_error < 1e-8
        assert one.asked - one.inferred == second_message.AGENTS
        assert one.skill("strongest") > 0.99
        assert one.exact == float("inf")
        assert one.by_activation[0][1] < epsilon
    safe = second_message.leakage(repaired, 1.0)
    assert safe.best_error > 1
    assert safe.audit.verdict == "consistent"
