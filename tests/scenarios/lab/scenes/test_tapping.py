"""Lesson 9: the page's own program on sockets, what the capture has, and what a replay finds of its changes."""

import re
from pathlib import Path

import pytest

from scenarios.lab.scenes import tapping as scene

PAGE = Path(__file__).parents[4] / "docs" / "tap-your-own.md"


def test_the_program_is_that_of_the_page() -> None:
    block = re.search(r"^```python\n# mine\.py\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None
    assert block[1] == scene.PROGRAM
    for change in scene.CHANGES:
        assert (scene.source(change, 0.3) == scene.source(scene.FAITHFUL, 0.3)) == (change == scene.FAITHFUL)


def test_a_faithful_program_passes_and_what_it_sends_is_in_the_capture() -> None:
    """So are the gradients of all agents alike, behind the noise."""
    found = scene.published(scene.FAITHFUL, 0.3)
    assert found.finding.follows
    assert found.finding.noise_numbers == scene.ROUNDS * scene.DIMENSION == len(found.noise[0])
    messages = [line for line in found.listed() if line["frame"] == "exchange"]
    assert len(messages) == len(found.view.messages()) == scene.AGENTS * 2 * scene.ROUNDS
    assert {line["bytes"] for line in messages} == {44}
    assert [one.gradients for one in found.inferred] == [scene.ROUNDS - 1] * scene.AGENTS
    assert all(one.error > 1 for one in found.inferred)


@pytest.mark.slow
def test_what_replay_finds_is_what_noise_does_not_hide() -> None:
    told = {
        scene.FORGETS: "there is no noise",
        "adds half the noise": "another law",
        "adds the same noise in every round": "another law",
    }
    for change, words in told.items():
        found = scene.published(change, 0.3)
        assert found.finding.follows is False
        assert words in found.finding.reason
    assert scene.published(scene.FORGETS, 0.3).inferred[scene.AGENT].error < 1e-12
    assert scene.published(scene.STEPS, 0.3).finding.follows
    assert scene.published(scene.STEPS, 0.0003).finding.follows is False


def test_a_program_that_cannot_be_run_is_a_sentence() -> None:
    found = scene.tapped("import nowhere_to_be_found", 0.3)
    assert isinstance(found, str)
    assert "nowhere_to_be_found" in found
    assert scene.tapped(" ", 0.3) == "There is no program."
