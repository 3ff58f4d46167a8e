"""Lesson 8: planted faults are found and twins are not, and mistakes are told with their line."""

import time
from dataclasses import replace
from typing import Any

import pytest

from attacks.audit.verdict import Verdict
from scenarios.lab.scenes import own as scene
from scenarios.lab.scenes.own import PLANTED, SOUND, Mistake

NAMES = [one.name for one in PLANTED]
NAKED = {"A", "B", "E"}
"""Exercises in which a message has no noise at all."""


@pytest.fixture(params=PLANTED, ids=NAMES)
def exercise(request: Any) -> Any:
    return request.param


@pytest.mark.slow
def test_a_planted_fault_is_found_and_its_twin_is_not(exercise: Any) -> None:
    fault, twin = exercise.examined()
    assert fault.verdict is (Verdict.UNPROTECTED if exercise.name in NAKED else Verdict.REFUTED)
    assert twin.verdict in (Verdict.PROVEN, Verdict.CONSISTENT)
    assert twin.worst.epsilon_exact == pytest.approx(twin.claim.epsilon), "the twin's claim is tight"
    assert fault.identical
    assert twin.identical
    assert fault.missing(exercise)
    assert twin.missing(exercise) == ""


def test_the_witness_shows_it(exercise: Any) -> None:
    fault, twin = exercise.examined()
    last = fault.witness[-1]
    assert fault.claim.epsilon is not None
    assert last.sum > fault.claim.epsilon
    assert (last.sum == float("inf")) == (exercise.name in NAKED)
    finite = [one.loss for one in fault.witness if one.loss < float("inf")]
    if exercise.name not in NAKED:
        assert sum(finite) == pytest.approx(last.sum)
    assert not twin.witness


def test_the_lines_at_fault_are_in_the_text_and_repair_it(exercise: Any) -> None:
    assert exercise.lines
    assert set(exercise.lines) <= {number for _, number in exercise.body}
    assert len(exercise.lines) <= 4
    assert len({label for label, _ in exercise.body}) == len(exercise.body)
    told = exercise.source.splitlines()
    assert all(told[k - 1].strip() in label for label, k in exercise.body)
    assert exercise.compared()


def test_naked_messages_give_gradients_to_the_probe() -> None:
    naked = next(one for one in PLANTED if one.name == "E")
    known, hidden = (found.probe for found in naked.examined())
    assert known.exact == known.asked == 4
    assert hidden.exact == 0
    assert hidden.error > 0.1
    clipped = next(one for one in PLANTED if one.name == "C")
    refused = clipped.examined()[1].probe
    assert refused.refused
    assert refused.exact == 0


@pytest.mark.slow
def test_what_is_no_repair_is_told_so() -> None:
    exercise = next(one for one in PLANTED if one.name == "D")
    _, twin = exercise.examined()
    cheats = {
        "rounds: int = 1": "claims ε = 0", "scale: float = 200.0": "Its error is",
        "scale: float = 0.5": "claims ε = 6", "rounds: int = 12": "claims",
    }  # fmt: skip
    for setting, said in cheats.items():
        name = setting.split(":")[0]
        old = next(line.strip() for line in SOUND.splitlines() if line.strip().startswith(f"{name}:"))
        missing = scene.examine(exercise.sound.replace(old, setting)).missing(exercise)
        assert any(one in missing for one in said.split("|")), (setting, missing)
    assert "set that back" in replace(twin, changes="anything").missing(exercise)


@pytest.mark.slow
def test_who_claims_nothing_is_taken_to_claim_the_wish() -> None:
    silent = SOUND[: SOUND.index("    def claim")]
    high, low = (scene.examine(silent, "moved", wish) for wish in (2.0, 1.0))
    assert high.verdict is Verdict.PROVEN
    assert low.verdict is Verdict.REFUTED


MISTAKES = {
    "no Python": ("x = node.zeros()", "x = node.zeros(", "read", "was never closed"),
    "a name": ("received.mix", "herd.mix", "run", "name 'herd' is not defined"),
    "an import": ("from netsim.claims import Claim", "import nothing_like_it", "read", "No module named"),
    "no await": ("await node.gradient", "node.gradient", "run", "`await` is missing"),
    "a shape": ("exchange(x=sent)", "exchange(x=sent[:, :2])", "run", "shape"),
    "the claim": ("change = ", "change = 1 / 0 + ", "claim", "division by zero"),
    "an end": ("x = node.zeros()", "exit(3)", "run", "SystemExit"),
    "no default": ("scale: float = 2.0", "scale: float", "read", "non-default argument"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_its_line(name: str) -> None:
    old, new, stage, says = MISTAKES[name]
    text = SOUND.replace(old, new)
    found = scene.examine(text)
    assert isinstance(found, Mistake)
    assert found.stage == stage
    assert found.doing
    assert says in found.says
    assert "besides" not in found.says
    assert found.line is not None
    if name == "no default":
        assert "dataclass" in found.excerpt
    elif name == "no await":
        assert found.excerpt.startswith("x = received.mix")
    else:
        assert new.strip() in found.excerpt or found.excerpt in new


def test_a_text_without_an_algorithm_is_told_so() -> None:
    for text in ("", "x = 1", "from netsim.algorithms import Algorithm"):
        found = scene.examine(text)
        assert isinstance(found, Mistake)
        assert found.stage == "build"
        assert "define a class" in found.says
    bare = scene.examine(SOUND[: SOUND.index("    async def run")])
    assert isinstance(bare, Mistake)
    assert "no `async def run" in bare.says
    required = scene.examine(SOUND.replace("    scale: float = 2.0\n", "").replace("int = 4", "int"))
    assert isinstance(required, Mistake)


def test_randomness_of_ones_own_has_no_verdict() -> None:
    own = "x + __import__('numpy').random.default_rng().laplace(0, self.scale, x.shape)"
    found = scene.examine(SOUND.replace("node.privatize(x, Laplace(self.scale))", own))
    assert isinstance(found, Mistake)
    assert "randomness that is not its node's" in found.says


def test_an_agent_that_waits_for_ever_is_named() -> None:
    early = SOUND.replace(
        "            node.estimate(x)", "            node.estimate(x)\n            if node.id == 0: return"
    )
    found = scene.examine(early)
    assert isinstance(found, Mistake)
    assert "DeadlockError" in found.says
    assert "agent 1 waits for exchange 1 from agent 0" in found.says


def test_a_loop_without_an_end_is_stopped_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    text = SOUND.replace("x = node.zeros()", "x = node.zeros()\n        while True: pass")
    monkeypatch.setattr(scene, "SECONDS", 0.3)
    begun = time.monotonic()
    found = scene.examine(text)
    assert isinstance(found, Mistake)
    assert "still going on after 0.3 seconds" in found.says
    assert time.monotonic() - begun < 3
    assert found.line == text.splitlines().index("        while True: pass") + 1


@pytest.mark.slow
def test_an_instance_named_algorithm_is_taken_before_the_class() -> None:
    assert scene.examine(SOUND + "\nalgorithm = Mine(rounds=7)\n").rounds[-1] == 7
