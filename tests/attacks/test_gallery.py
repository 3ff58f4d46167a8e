"""The auditor's exam: ten planted faults are caught and named, their ten sound twins are not accused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attacks.audit.audit import Pair
from attacks.audit.verdict import Verdict
from netsim import topology
from netsim.claims import Adjacency
from netsim.gallery import (
    FAULTS,
    Averaged,
    FadingNoise,
    HalfNoise,
    L1L2MixUp,
    OneScalar,
    ReusedSeed,
    SecondMessage,
    SentBefore,
    WrongClip,
)
from netsim.problems import LeastSquares, Problem, Tilted
from netsim.problems.tilted import direction
from netsim.simulation import Simulation
from tests.attacks.auditing import judged

DIMENSION, DELTA = 9, 1e-3
ANYTHING = Adjacency(float("inf"), "all data of one agent replaced")
BARE = {OneScalar: "sends 'x'", SentBefore: "sends 'monitored'", ReusedSeed: "sends 'x'", SecondMessage: "sends 'z'"}
"""Faults that leave a message which no noise covers, and its name."""


def audited(fault, sound, trials=400):
    """Agent 1's gradient is clipped in both worlds, in opposite directions: no pair costs a release more."""
    algorithm = fault(rounds=4, step=0.2, scale=0.8, bound=0.5, sound=sound)
    eye = np.eye(DIMENSION)
    parts = [LeastSquares(eye, np.full(DIMENSION, float(i)), 0.5) for i in range(3)]
    slope = 1e3 * direction(fault.shows, DIMENSION)
    one, two = Tilted(parts[1], slope), Tilted(parts[1], -slope)
    simulation = Simulation(Problem((parts[0], one, parts[2])), topology.ring(3), algorithm)
    pair = Pair(1, (one, two), "the gradient of agent 1 turned round")
    claim = simulation.claim(ANYTHING, 4, DELTA)
    return judged(simulation, pair, claim, trials=trials, attack=None)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught_and_named(fault):
    found = audited(fault, sound=False)
    if fault in BARE:
        assert found.judgement.verdict is Verdict.UNPROTECTED
        assert BARE[fault] in str(found.uncovered)
    else:
        assert found.judgement.verdict is Verdict.REFUTED
        assert found.uncovered is None
        assert found.epsilon_exact > 1.4 * found.claim.epsilon
    assert fault.lesson.endswith(".")


@pytest.mark.parametrize("fault", FAULTS)
def test_its_sound_twin_is_not(fault):
    found = audited(fault, sound=True)
    assert found.judgement.verdict in (Verdict.CONSISTENT, Verdict.UNDERPOWERED)
    assert found.uncovered is None
    assert found.epsilon_exact <= found.claim.epsilon * (1 + 1e-9)


@pytest.mark.parametrize("fault", [f for f in FAULTS if f not in (WrongClip, L1L2MixUp)])
def test_the_twin_spends_all_it_claims(fault):
    """The pair attains the claim, so that it is no looser than it must be: what is measured is the fault alone."""
    found = audited(fault, sound=True)
    assert found.epsilon_exact == pytest.approx(found.claim.epsilon, rel=0.02)


@pytest.mark.parametrize(
    ("fault", "times"), [(Averaged, 3.0), (HalfNoise, 2.0), (FadingNoise, (2 + 4 + 8) / 3)], ids=str
)
def test_what_a_fault_of_size_costs(fault, times):
    """By hand: three copies cost three times one, half the noise twice, noise that halves 2 + 4 + 8 for 1 + 1 + 1."""
    found = audited(fault, sound=False)
    assert found.epsilon_exact / found.claim.epsilon == pytest.approx(times, rel=0.03)


def test_a_fault_and_its_twin_claim_the_same():
    for fault in FAULTS:
        one = fault(rounds=5)
        assert one.claim(ANYTHING, None, DELTA) == replace(one, sound=True).claim(ANYTHING, None, DELTA)


def test_the_page_has_every_lesson():
    page = (Path(__file__).parents[2] / "docs" / "gallery.md").read_text(encoding="utf-8")
    for fault in FAULTS:
        found = "unprotected" if fault in BARE else "refuted"
        assert f"| `{fault.__name__}` | {found} | {fault.lesson} |" in page
