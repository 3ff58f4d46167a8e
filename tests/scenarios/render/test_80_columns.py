"""Tables at 40 and 80 columns: verdicts and names are whole, and what was never reached is a sentence."""

import io
from dataclasses import replace
from types import SimpleNamespace

import pytest

from scenarios import load
from scenarios.cli import catalogue
from scenarios.cli import run as command
from scenarios.render import terminal, verdicts
from scenarios.render.terminal import leaves
from scenarios.results.audit import EpsilonExact
from scenarios.results.tree import AlgorithmSummary, VariantResult
from tests.scenarios.command import cli
from tests.scenarios.filled import filled, tree
from tests.scenarios.render.page.test_report import sample

FIELDS = ["algorithms[0].scale.epsilon", "links.reordering.probability", "links.outages.probability"]


@pytest.fixture
def narrow(monkeypatch):
    out = io.StringIO()
    console = type(terminal.console)(file=out, width=80)
    monkeypatch.setattr(command, "console", console)
    monkeypatch.setattr(verdicts, "console", console)
    monkeypatch.setattr(terminal, "console", console)
    monkeypatch.setenv("COLUMNS", "80")  # there is a reader
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
    rows = [row | {"algorithm": one, "verdict": "underpowered"} for one in names]
    points = [
        SimpleNamespace(point=k, fields=dict.fromkeys(fields, 0.25 * k) | {"audit": None}, rows=rows) for k in (1, 2)
    ]
    command._print(SimpleNamespace(results=points, complete=2, points=2), [*fields, "audit"], names)
    text = narrow.getvalue()
    assert "audit" not in text  # the same everywhere
    assert max(map(len, text.splitlines())) <= width
    assert text.count("underpowered") == 4
    assert [line.strip() for line in text.splitlines() if line.startswith(names)] == list(names)
    table, _, left = text.partition("No room for: ")
    assert ("gradient error" in table) is (count == 1)
    assert "gradient error" in (table if count == 1 else left)
    assert "links" not in text


@pytest.mark.parametrize("width", [40, 80])
def test_a_point_of_a_sweep_is_a_line(narrow, width):
    command.console.width = width
    points = [
        SimpleNamespace(
            point=k,
            fields={"algorithms[0].scale": {"kind": "geometric", "first": 1.0 + k, "ratio": 0.9}, "seed": k},
            rows=[{"point": k, "algorithm": "private descent", "verdict": "consistent", "final_error": 1e-5}],
        )
        for k in range(24)
    ]
    command._print(SimpleNamespace(results=points, complete=24, points=24), ["algorithms[0].scale", "seed"], ["one"])
    lines = narrow.getvalue().splitlines()
    assert sum("consistent" in line for line in lines) == 24
    assert len(lines) <= 24 + 7
    assert "first" in narrow.getvalue()


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


def readable(text, width):
    """Nothing is wider than the terminal, and no cell is cut."""
    assert max(map(len, text.splitlines())) <= width
    table = text.partition("verdict")[2].partition("\n\n")[0]
    assert not any(line.rstrip().endswith("…") for line in table.splitlines())


@pytest.mark.parametrize("width", [40, 80])
def test_a_run_keeps_algorithm_and_verdict(narrow, width):
    verdicts.console.width = width
    results = tree(sample())
    verdicts._print_run(results)
    text, _, _ = narrow.getvalue().partition("RECAL: no claim")
    readable(text, width)
    assert text.count("unprotected") == text.count("consistent") == 2
    for name in {word for one in results.algorithms for word in one.name.split()}:
        assert name in text
    assert width == 40 or all(f"ε {one}" in text for one in ("claimed", "exact", "audited"))


@pytest.mark.parametrize("width", [40, 80])
def test_variants_keep_algorithm_and_verdict_and_have_three_epsilons(narrow, width):
    verdicts.console.width = width
    interval = {"lower": 0.118, "estimate": 0.13, "upper": 0.271}
    audit = {"epsilon_exact": filled(EpsilonExact, interval), "epsilon_audited": 0.04, "epsilon_claimed": 1.0}
    one = filled(AlgorithmSummary, {"name": "CPGT, 4 bits", "verdict": "underpowered", "epsilon_claimed": 1.0})
    one = replace(one, audit=SimpleNamespace(verdict="underpowered", refuted_from=(), outside_model=None, **audit))
    verdicts._print_variants([filled(VariantResult, {"name": "top-3-of-10", "algorithms": (one,)})])
    text = narrow.getvalue()
    readable(text, width)
    assert "underpowered" in text
    assert "top-3-of-10" in text
    assert ("0.118 … 0.271" in text) is ("≥ 0.04" in text) is (width == 80)


def test_a_column_without_a_head_stays_with_the_one_before_it(narrow):
    verdicts.console.width = 40
    columns = [terminal.Column(head, ["1.23456789"], whole=True) for head in ("act.", "law", "sum", "")]
    tables = list(terminal.stacked(columns, verdicts.console))
    assert [[str(column.header) for column in table.columns] for table in tables] == [
        ["act.", "law"], ["act.", "sum", ""],
    ]  # fmt: skip


@pytest.mark.parametrize("width", [40, 80])
def test_a_stack_of_tables_has_every_column(narrow, width):
    verdicts.console.width = width
    heads = ("ε claimed", "ε exact", "ε audited", "δ", "verdict")
    columns = [terminal.Column(head, ["1.2345678"], whole=True) for head in ("algorithm", *heads)]
    tables = list(terminal.stacked(columns, verdicts.console))
    for table in tables:
        verdicts.console.print(table)
    text = narrow.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert [text.count(head) for head in heads] == [1] * 5
    assert text.count("algorithm") == len(tables) > (width == 40)
    assert "…" not in text


def test_a_sentence_is_broken_between_words_and_keeps_its_indentation(narrow):
    verdicts.console.width = 40
    terminal.line("  one word after the other until the line is full and then some more of them")
    terminal.line("netsim run a-folder/and/another/one/with/a/name --option this=that", whole=True)
    *broken, command = (line.rstrip() for line in narrow.getvalue().splitlines())
    assert broken == ["  one word after the other until the", "  line is full and then some more of", "  them"]
    assert command.endswith("this=that")


def test_a_sentence_is_one_line_for_a_program(narrow, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    terminal.line("  word" * 30)
    assert len(narrow.getvalue().splitlines()) == 1


@pytest.mark.parametrize("width", [40, 80])
def test_a_list_keeps_names_and_titles(narrow, monkeypatch, width):
    monkeypatch.setattr(catalogue, "console", verdicts.console)
    verdicts.console.width = width
    catalogue._print_group("Comparisons", [("secret-shares-of-everybody", "Less noise by √n")], width=27)
    lines = [line.rstrip() for line in narrow.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    assert "secret-shares-of-everybody" in " ".join(lines)
    assert "Less noise by √n" in " ".join(lines)


@pytest.mark.parametrize("command", [["data", "list"], ["lab", "--list"], ["challenge"]])
def test_a_list_of_a_command_is_whole_in_40_columns(command):
    text = cli(*command, ends=0, env={"COLUMNS": "40", "NETSIM_DATA": "/nowhere"}).stdout
    assert "…" not in text.replace("--answer …", "")
    assert max(len(line) for line in text.splitlines() if line.startswith(" ")) <= 40
