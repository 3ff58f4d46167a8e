"""Mean |loss| over worst case, by the limit for small shifts, by quadrature and by audited transcripts; and where the
limit is none."""

import math

import pytest

from netsim.mechanisms import average_ratio, small_shift_ratio
from scenarios.files.library import library
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario

SCALE = 0.1
"""Of the Laplace noise in `uniform-mean-loss`; shifts and widths below are in this unit."""


def simulated(shift, width, folder):
    """(That share, half its 99 % interval), from 2 × 4,000 transcripts of `uniform-mean-loss` at this point."""
    text = library()["uniform-mean-loss"].split("grid:")[0]
    changes = {
        "step: 0.005": f"step: {shift * SCALE!r}",
        "high: 0.0": f"high: {width * SCALE!r}",
        "trials: 8000, chunk: 8000": "trials: 4000, chunk: 4000",
    }
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    found = run_scenario(parse(text), folder, page=False).algorithms[0].audit
    assert found.epsilon_claimed == pytest.approx(shift, rel=1e-6)
    assert found.epsilon_exact.lower <= shift * (1 + 1e-9)  # the worst case is one
    loss = found.average_loss
    return loss.estimate / shift, (loss.upper - loss.lower) / 2 / shift


@pytest.mark.parametrize("width", [0.0, 1.0, 5.0, 20.0])
def test_three_ways_agree_for_a_small_shift(width, tmp_path):
    """A shift of 0.05 scales. Formula and quadrature to 0.0005 (0.013 at ω = 0, whose density has a corner), the
    simulation to twice its 99 % half-width, 5.2 standard errors: a miss has probability below 1e-6."""
    shift = 0.05
    formula, quadrature = small_shift_ratio(width, 1.0), average_ratio(shift, width, 1.0)
    found, half = simulated(shift, width, tmp_path)
    assert formula == pytest.approx(1.0 if width == 0 else 2 * (1 - math.exp(-width / 2)) / width, rel=1e-12)
    assert abs(formula - quadrature) < (0.013 if width == 0 else 0.0005)
    assert half < 0.015
    assert abs(found - quadrature) < 2 * half


@pytest.mark.parametrize(("shift", "width", "ratio"), [(5.0, 5.0, 1.5), (5.0, 0.0, 0.9), (5.0, 20.0, 1.5)])
def test_for_a_large_shift_the_formula_fails_and_the_other_two_agree(shift, width, ratio, tmp_path):
    """γ is 0.61 in place of 0.37 at βω = 5, and 0.83 in place of 1 at ω = 0: neither an upper nor a lower bound."""
    formula, quadrature = small_shift_ratio(width, 1.0), average_ratio(shift, width, 1.0)
    found, half = simulated(shift, width, tmp_path)
    assert abs(found - quadrature) < 2 * half
    if ratio > 1:
        assert min(found - 2 * half, quadrature) > ratio * formula
    else:
        assert max(found + 2 * half, quadrature) < ratio * formula


def test_how_small_a_shift_has_to_be():
    """At βω = 5 the error of the formula is of second order in the shift: 1 % at half a scale, 17 % at two."""
    small_shift = small_shift_ratio(5.0, 1.0)
    errors = {shift: average_ratio(shift, 5.0, 1.0) / small_shift - 1 for shift in (0.05, 0.1, 0.5, 2.0)}
    assert errors[0.1] / errors[0.05] == pytest.approx(4.0, rel=0.02)
    assert errors[0.5] == pytest.approx(0.0126, abs=5e-4)
    assert errors[2.0] == pytest.approx(0.168, abs=2e-3)
