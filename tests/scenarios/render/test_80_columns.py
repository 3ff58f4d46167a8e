"""Tables at 80 columns: verdicts and names are whole, and what was never reached is a sentence."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from scenarios import load
from scenarios.cli import sweep as command
from scenarios.render import terminal, verdicts
from scenarios.render.terminal import leaves

FIELDS = ["algorithms[0].scale.epsilon", "links.reordering.probability", "links.outages.probability"]


@pytest.fixture
def narrow(monkeypatch):
    out = io.StringIO()
    console = Console(file=out, width=80)
    monkeypatch.setattr(command, "console", console)
    monkeypatch.setattr(verdicts, "console", console)
    monkeypatch.setattr(terminal, "console", console)
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
    point = SimpleNamespace(point=0, fields={}, rows=rows)
    command._print(SimpleNamespace(results=[point], complete=1, points=1), fields)
    text = narrow.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert text.count("underpowered") == 2
    assert ("gradient error" in text) is (width == 100)
    assert "links" not in text


def costs(*rows):
    """Rows as `measures.rows` gives them: name, accuracy, whether it was reached."""
    spent = [12.0, 3400.0, 123456.0, 1.0, 98765432.0, 4321.0, 12.34]
    return [(name, 10.0**-k, spent if there else [None] * len(spent)) for name, k, there in rows]


def test_costs_have_rows_of_what_was_reached_alone(narrow, monkeypatch):
    fresh, deployable = "DP-RECAL, fresh noise", "DP-RECAL, as deployable [0]"
    found = costs(("RECAL", 1, True), ("RECAL", 2, True), (fresh, 1, True), (fresh, 2, False), (deployable, 1, False))
    monkeypatch.setattr(verdicts.curves, "rows", lambda _: found)
    verdicts._print_costs(SimpleNamespace(algorithms=(), scenario=load("private-descent")))
    table, _, missed = narrow.getvalue().partition("Accuracies not reached: ")
    assert "–" not in table
    assert "…" not in table
    assert "as deployable" not in table
    assert "RECAL" in table
    assert " ".join(missed.split()).startswith("DP-RECAL, fresh noise (0.01); DP-RECAL, as deployable [0] (none).")
    assert max(map(len, narrow.getvalue().splitlines())) <= 80
