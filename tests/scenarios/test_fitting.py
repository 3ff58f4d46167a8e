"""Tables at 80 columns: verdicts and names are whole, and what was never reached is a sentence."""

import io

import pytest
from rich.console import Console

from scenarios.cli import sweep as command
from scenarios.render import verdicts
from scenarios.render.terminal import leaves

FIELDS = ["algorithms[0].scale.epsilon", "links.reordering.probability", "links.outages.probability"]


@pytest.fixture
def narrow(monkeypatch):
    out = io.StringIO()
    console = Console(file=out, width=80)
    monkeypatch.setattr(command, "console", console)
    monkeypatch.setattr(verdicts, "console", console)
    return out


def test_fields_are_named_by_as_much_as_tells_them_apart():
    assert leaves(FIELDS) == ["epsilon", "reordering.probability", "outages.probability"]
    assert leaves(["seed", "seed"]) == ["seed", "seed"]


@pytest.mark.parametrize(("count", "width"), [(1, 100), (1, 80), (3, 80), (12, 80)])
def test_a_sweep_never_cuts_a_verdict(narrow, count, width):
    command.console.width = width
    fields = [f"links.field_{k}" for k in range(count)]
    row = {"point": 0, "final_error": 1.23e-7, "epsilon_claimed": 12.3, "gradient_error": 3.21e-11}
    names = ("private gradient descent", "another algorithm")
    rows = [row | dict.fromkeys(fields, 0.25) | {"algorithm": one, "verdict": "underpowered"} for one in names]
    command._print({"rows": rows, "complete": 1, "points": 1}, fields)
    text = narrow.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert text.count("underpowered") == 2
    assert ("gradient error" in text) is (width == 100)
    assert "links" not in text


def entry(name, *reached):
    spent = {"plf": 12.0, "count": 3400.0, "messages": 123456.0, "packets": 1.0, "bytes": 98765432.0}
    spent |= {"queries": 4321.0, "time": 12.34}
    asked = [{"accuracy": 10.0**-k, "reached": spent if there else None} for k, there in enumerate(reached, 1)]
    return {"name": name, "measures": {"to_accuracy": asked}}


def test_costs_have_rows_of_what_was_reached_alone(narrow):
    entries = [
        entry("RECAL", True, True),
        entry("DP-RECAL, fresh noise", True, False),
        entry("DP-RECAL, as deployable [0]", False, False),
    ]
    scenario = {"measures": {"measure": "relative_error"}}
    verdicts._print_costs({"algorithms": entries, "scenario": scenario})
    text = narrow.getvalue()
    table, _, said = text.partition("Accuracies not reached: ")
    assert "–" not in table
    assert "…" not in table
    assert "as deployable" not in table
    assert "RECAL" in table
    assert " ".join(said.split()).startswith("DP-RECAL, fresh noise (0.01); DP-RECAL, as deployable [0] (none).")
    assert max(map(len, text.splitlines())) <= 80
