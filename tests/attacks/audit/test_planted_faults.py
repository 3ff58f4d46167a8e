"""The auditor's exam: ten planted faults are caught and named, their ten sound twins are not accused."""

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.verdict import Verdict
from netsim.algorithms.planted_faults import (
    FAULTS,
    Averaged,
    CompositionForgotten,
    FadingNoise,
    HalfNoise,
    L1L2MixUp,
    OneScalar,
    ReusedSeed,
    SecondMessage,
    SentBefore,
    WrongClip,
)
from netsim.claims import Adjacency
from tests.attacks.auditing import HELD, judged, turned_world

DIMENSION, DELTA = 9, 1e-3
ANYTHING = Adjacency(float("inf"), "all data of one agent replaced")
BARE = {OneScalar: "sends 'x'", SentBefore: "sends 'monitored'", ReusedSeed: "sends 'x'", SecondMessage: "sends 'z'"}
"""Faults that leave a message which no noise protects, and its name."""


@cache
def audited(fault, sound, trials=400):
    algorithm = fault(rounds=4, step=0.2, scale=0.8, bound=0.5, sound=sound)
    simulation, pair = turned_world(algorithm, DIMENSION, fault.shows)
    claim = simulation.claim(ANYTHING, 4, DELTA)
    return judged(simulation, pair, claim, trials=trials, attack=None)


@pytest.mark.few(4)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught_and_named(fault):
    """By its message, or by its size, and by the activation: the gradient is in what is sent from the second on, and
    one such release never spends more than is claimed for three, two always do; one clipped in another norm does."""
    found = audited(fault, sound=False)
    if fault in BARE:
        assert found.judgement.verdict is Verdict.UNPROTECTED
        assert BARE[fault] in str(found.uncovered)
    else:
        assert found.judgement.verdict is Verdict.REFUTED
        assert found.uncovered is None
        assert found.epsilon_exact > 1.4 * found.claim.epsilon
    assert found.first_violation == (1 if fault is SecondMessage else 2 if fault in {*BARE, WrongClip} else 3)
    assert found.witness is not None
    assert fault.lesson.endswith(".")


@pytest.mark.few(3)
@pytest.mark.parametrize("fault", FAULTS)
def test_its_sound_twin_is_not(fault):
    found = audited(fault, sound=True)
    assert found.judgement.verdict in HELD
    assert found.uncovered is None
    assert found.epsilon_exact <= found.claim.epsilon * (1 + 1e-9)


@pytest.mark.parametrize("fault", [f for f in FAULTS if f not in (WrongClip, L1L2MixUp)])
def test_the_twin_spends_all_it_claims(fault):
    """The pair attains the claim, so that it is no looser than it must be: what is measured is the fault alone."""
    found = audited(fault, sound=True)
    assert found.epsilon_exact == pytest.approx(found.claim.epsilon, rel=0.02)


@pytest.mark.parametrize(
    ("fault", "times"),
    [
        (Averaged, 3.0), (HalfNoise, 2.0), (FadingNoise, (2 + 4 + 8) / 3), (L1L2MixUp, math.sqrt(DIMENSION)),
        (CompositionForgotten, 3.0),
    ],
    ids=str,
)  # fmt: skip
def test_what_a_fault_of_size_costs(fault, times):
    """By hand: three copies cost three times one, half the noise twice, noise that halves 2 + 4 + 8 for 1 + 1 + 1;
    an even change of nine coordinates √9 times its ℓ2 norm, three releases three times the budget of one."""
    found = audited(fault, sound=False)
    assert found.epsilon_exact / found.claim.epsilon == pytest.approx(times, rel=0.03)


@pytest.mark.slow
def test_what_the_wrong_norm_costs():
    """Three releases moved by 2Cη in each of nine coordinates: μ = √3 · √9 · 2Cη/σ in place of √3 · 2Cη/σ."""
    for sound, times in ((True, 1.0), (False, math.sqrt(DIMENSION))):
        mu = math.sqrt(3) * times * 2 * 0.5 * 0.2 / 0.8
        truth, found = gaussian_epsilon(mu, DELTA), audited(WrongClip, sound)
        assert all(e.epsilon.lower <= truth <= e.epsilon.upper for e in found.exact)
        assert found.epsilon_exact == pytest.approx(truth, rel=0.1)  # of 400 losses


def test_a_fault_and_its_twin_claim_the_same():
    for fault in FAULTS:
        one = fault(rounds=5)
        assert one.claim(ANYTHING, None, DELTA) == replace(one, sound=True).claim(ANYTHING, None, DELTA)


def test_the_page_has_every_lesson():
    page = (Path(__file__).parents[3] / "docs" / "gallery.md").read_text(encoding="utf-8")
    for fault in FAULTS:
        found = "unprotected" if fault in BARE else "refuted"
        assert f"| `{fault.__name__}` | {found} | {fault.lesson} |" in page
