"""ε over time: rounds are whole numbers, however few they are."""

import re

import pytest

from scenarios.render.page.epsilons import _over_time, loss_charts
from scenarios.render.sentences import Finding
from scenarios.results.audit import AuditResult
from scenarios.results.budgets import OverTime
from scenarios.results.tree import AlgorithmResult
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
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", _over_time(filled(OverTime, time), "x").drawing.svg)
    ticks = texts[: texts.index("rounds")]
    assert len(ticks) >= 2
    assert all(tick.isdigit() for tick in ticks)


@pytest.mark.parametrize(("bare", "shown"), [((), 0), ((2,), 1), ((2, 3), 2)])
@pytest.mark.parametrize("noisy", [True, False])
def test_bars_have_the_infinity_of_an_unprotected_field(bare, shown, noisy):
    """At the activation that first sends it, also where nothing else was released; else there is no figure."""
    costs = [{"activation": k, "cost": [0.1, 0.2, 0.3]} for k in (1, 2, 3, 4)] if noisy else []
    fields = [{"name": "u", "activation": k, "path": "3→4", "reason": "none"} for k in bare]
    audit = {"loss_breakdown": {"activations": costs}, "unprotected_fields": fields}
    made = filled(AlgorithmResult, {"name": "one", "audit": filled(AuditResult, audit)})
    figures = [one for one in loss_charts(Finding(made), "x") if one.title == "Where it is spent"]
    assert len(figures) == (noisy or shown > 0)
    for one in figures:
        assert len(re.findall(r">∞</text>", one.drawing.svg)) == shown
        assert ("no noise protects" in " ".join(one.caption)) is (shown > 0)
