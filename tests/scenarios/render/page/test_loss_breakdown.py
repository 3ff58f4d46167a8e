"""ε over time: rounds are whole numbers, however few they are."""

import re

import pytest

from scenarios.render.page.loss_breakdown import over_time
from scenarios.results.audit import OverTime
from tests.scenarios.filled import filled


@pytest.mark.parametrize("rounds", [2, 3, 4, 6, 13, 200])
def test_ticks_stand_at_whole_rounds(rounds):
    at = list(range(1, rounds + 1))
    time = {
        "unit": "rounds",
        "vacuous_above": 20,
        "claimed": {"count": at, "epsilon": [0.1 * k for k in at]},
        "exact": {"count": at, "estimate": [0.1 * k for k in at], "lower": [0.09 * k for k in at]},
    }
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", over_time(filled(OverTime, time), "x").drawing.svg)
    ticks = texts[: texts.index("rounds")]
    assert len(ticks) >= 2
    assert all(tick.isdigit() for tick in ticks)
