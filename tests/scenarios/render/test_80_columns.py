"""Tables at 40 and 80 columns: verdicts and names are whole, and what was never reached is a sentence."""

import io
import math
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from rich.cells import cell_len
from rich.console import Console

from netsim.errors import ScenarioError
from scenarios import load
from scenarios.certificate.ledger import Row
from scenarios.cli import app, catalogue, ledger
from scenarios.cli import run as command
from scenarios.render import sentences, terminal, verdicts
from scenarios.render.progress import Bars
from scenarios.render.tables import Column, print_tables, stacked
from scenarios.render.terminal import leaves
from scenarios.results.attacks import ImageResult
from scenarios.results.audit import EpsilonExact
from scenarios.results.tree import AlgorithmSummary, VariantResult
from scenarios.sweep.folder import PointResult
from scenarios.sweep.run import SweepReport
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
    row = {"point": 0, "final_error": 1.23e-7, "epsilon_claimed": 12.3, "gradient_error": 3.21, "learned": 0.0}
    names = ("private gradient descent", "another algorithm")
    rows = [row | {"algorithm": one, "verdict": "underpowered"} for one in names]
    points = [
        SimpleNamespace(
            point=k,
            fields=dict.fromkeys(fields, 0.25 * k) | {"audit": None},
            rows=[one | {"final_error": 1.23e-7 * k} for one in rows],
        )
        for k in (1, 2)
    ]
    command._print(SimpleNamespace(results=points, complete=2, points=2), [*fields, "audit"], names)
    text = narrow.getvalue()
    assert "audit" not in text  # the same everywhere
    assert max(map(len, text.splitlines())) <= width
    assert text.count("underpowered") == 4
    assert [line.strip() for line in text.splitlines() if line.startswith(names)] == list(names)
    assert [text.count(head) for head in ("final error", "ε claimed", "gradient error")] == [3, 3, 3]
    assert text.count("3.21*") == 4
    assert "* no better than guessing" in " ".join(text.split())
    assert [len(re.findall(rf"field_{k}\b", text)) for k in range(count)] == [2] * count
    assert "links" not in text


def test_rows_of_a_sweep_that_are_alike_are_one(narrow):
    """What no value of a field changes is one row, of each algorithm by itself; the other field stays."""
    points = [
        SimpleNamespace(
            point=3 * k + j,
            fields={"rounds": 10 * (k + 1), "links.loss": 0.1 * j},
            rows=[
                {"point": 3 * k + j, "algorithm": "one", "final_error": 2.0 + k},
                {"point": 3 * k + j, "algorithm": "two", "final_error": 7.0},
            ],
        )
        for k in range(2)
        for j in range(3)
    ]
    command._print(SimpleNamespace(results=points, complete=6, points=6), ["rounds", "links.loss"], ("one", "two"))
    lines = [" ".join(line.split()) for line in narrow.getvalue().splitlines()]
    assert [line for line in lines if re.match(r"\d", line)] == ["0 10 2", "3 20 3", "0 7", "6 of 6 points done"]
    assert "The same at every value of loss; the first point is named." in lines
    assert "The same at every value of rounds and of loss; the first point is named." in lines


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
    assert len(lines) <= (1 + (width == 40)) * (24 + 7)
    assert sum("final error" in line for line in lines) == 2
    assert "first" in narrow.getvalue()
    assert "above 1: farther" in " ".join(narrow.getvalue().split())


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
    assert "2 of 4 audited privacy claims do not hold: 2 unprotected. The others: 2" in " ".join(text.split())
    assert text.count("unprotected") == text.count("consistent") == 3  # there, and in the table
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
    columns = [Column(head, ["1.23456789"], whole=True) for head in ("act.", "law", "sum", "")]
    tables = list(stacked(columns, verdicts.console))
    assert [[str(column.header) for column in table.columns] for table in tables] == [
        ["act.", "law"], ["act.", "sum", ""],
    ]  # fmt: skip


@pytest.mark.parametrize("width", [40, 80])
def test_a_stack_of_tables_has_every_column(narrow, width):
    verdicts.console.width = width
    heads = ("ε claimed", "ε exact", "ε audited", "δ", "verdict")
    columns = [Column(head, ["1.2345678"], whole=True) for head in ("algorithm", *heads)]
    tables = list(stacked(columns, verdicts.console))
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


def test_every_sentence_has_80_letters_a_line_for_a_file(narrow, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    for lead in ("", "  "):
        terminal.line(lead + "word " * 30)
    terminal.print_steps("word " * 30, [("word " * 30, "")])
    assert [len(line) for line in narrow.getvalue().splitlines() if len(line) > 72] == [79, 76, 76, 79, 76, 76]


def test_a_point_of_a_list_hangs(narrow):
    verdicts.console.width = 20
    terminal.line("  • one word after the other")
    assert narrow.getvalue().splitlines() == ["  • one word after", "    the other"]


@pytest.mark.parametrize("width", [40, 46, 60, 80])
def test_a_word_is_whole_or_broken_where_a_part_of_it_ends(narrow, width):
    verdicts.console.width = width
    cells = ["x and y of it → 1, 2, 3", "Laplace(0.8)", "algorithm.claim.epsilon", "from here to there and back"]
    columns = [Column(f"head {k}", [cell]) for k, cell in enumerate(cells)]
    for table in stacked(columns, verdicts.console):
        verdicts.console.print(table)
    words = narrow.getvalue().split()
    assert {"Laplace(0.8)", "algorithm.claim.epsilon"} <= {*words}
    assert max(map(len, narrow.getvalue().splitlines())) <= width


def test_a_word_with_no_room_is_broken_at_its_dots(narrow):
    verdicts.console.width = 26
    verdicts.console.print(*stacked([Column("a", ["algorithm.claim.epsilon"] * 2)] * 2, verdicts.console))
    assert {*narrow.getvalue().split()} == {"a", "algorithm.", "claim.", "epsilon", "─" * 24}


def test_a_word_with_no_room_is_broken_where_a_name_in_it_begins(narrow):
    verdicts.console.width = 30
    fields = [r"algorithms\[private gradient descent]", "private_gradient_descent"]
    verdicts.console.print(*stacked([Column("a", fields)] * 2, verdicts.console))
    assert {"algorithms[", "private", "descent]", "private_"} <= {*narrow.getvalue().split()}


def test_a_documentation_is_as_wide_as_the_terminal(narrow):
    verdicts.console.width = 40
    formula = "    x⁺ = x − y_i, which is a formula that is wider            than the terminal"
    text = (
        "One word after the other until\nthe line is full and more.\n\n"
        + formula
        + """\n
- a point that takes more than a line of
  forty letters
- another

    a_term   a text that is said of it, in
             two lines of its own
    another  another text"""
    )
    found = terminal.reflowed(text)
    assert max(map(len, found)) <= 40
    assert found[3:5] == ["    x⁺ = x − y_i, which is a formula", "        that is wider  than the terminal"]
    verdicts.console.width = 90
    assert formula in terminal.reflowed(text)
    assert " ".join(" ".join(found).split()) == " ".join(text.split())
    assert found[:2] == ["One word after the other until the line", "is full and more."]
    assert found[6:9] == ["- a point that takes more than a line of", "  forty letters", "- another"]
    assert found[10:12] == ["    a_term   a text that is said of it,", "             in two lines of its own"]
    assert found[12:] == ["    another  another text"]


@pytest.mark.parametrize("width", [40, 80])
def test_a_list_keeps_names_and_titles(narrow, monkeypatch, width):
    monkeypatch.setattr(catalogue, "console", verdicts.console)
    verdicts.console.width = width
    catalogue._print_group("Comparisons", [("secret-shares-of-everybody", "Less noise by √n")], 27)
    lines = [line.rstrip() for line in narrow.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    assert "secret-shares-of-everybody" in " ".join(lines)
    assert "Less noise by √n" in " ".join(lines)


LISTS = [["data", "list"], ["lab", "--list"], ["challenge"], *(["list", kind] for kind in catalogue.Kind)]


@pytest.mark.parametrize("command", LISTS, ids=" ".join)
def test_a_list_of_a_command_is_whole_in_40_columns(command):
    text = cli(*command, ends=0, env={"COLUMNS": "40", "NETSIM_DATA": "/nowhere"}).stdout
    assert "…" not in text.replace("--answer …", "")
    assert max(len(line) for line in text.splitlines() if not line.startswith("  netsim ")) <= 40
    assert command != ["data", "list"] or "    description: images of handwritten" in text.splitlines()
    assert command != ["challenge"] or "    level 1: Agents without noise" in text.splitlines()
    assert command != ["list", "faults"] or "    is drawn in: one scalar leaves d − 1" in text.splitlines()


def test_an_outcome_is_whole_in_40_columns():
    lines = cli("papers", ends=0, env={"COLUMNS": "40"}).stdout.splitlines()
    assert {"  dp-recal-problem", "    agrees", "    agrees in shape", "    cannot be run", "    differs"} <= {*lines}
    assert max(map(cell_len, lines)) <= 40


HELPED = {
    "": ["  --install-completion", "  certificate"], "run": ["  SCENARIO", "  -o, --option FIELD=VALUE"],
    "new": ["  --algorithm KIND", "    private_gradient_descent."],
}  # fmt: skip


@pytest.mark.parametrize("name", HELPED)
def test_help_is_whole_in_40_columns(name):
    lines = cli(*name.split(), "--help", ends=0, env={"COLUMNS": "40"}).stdout.splitlines()
    assert max(map(len, lines)) <= 40
    assert not [line for line in lines if re.search(r"\w…|╭", line)]
    assert set(HELPED[name]) <= set(lines)


@pytest.mark.parametrize("width", [40, 80])
def test_help_names_no_kind_of_a_flag_and_breaks_no_word(width):
    text = cli("audit", "--help", ends=0, env={"COLUMNS": str(width)}).stdout
    assert "--games" in text
    for words in ("<bool>", "<list[", "anytime|"):
        assert words not in text


MISUSED = [
    ("new x --kind foo", "UsageError: No such option: --kind", "new"),
    ("list algoritms", "UsageError: Invalid value for KIND: 'algoritms' is not one of 'scenarios', ", "list"),
    ("list algoritms", "Did you mean 'algorithms'?", "list"),
    ("run", "UsageError: Missing argument", "run"),
    ("run x --out", "UsageError: Option '--out' requires an argument.", "run"),
    ("run x --jobs 1 -o", "UsageError: Option '-o' requires an argument.", "run"),
    ("challenge first-flag --answer", "UsageError: Option '--answer' requires an argument.", "challenge"),
    ("check x --out y", "UsageError: No such option: --out\n", "check"),
    (
        "report x --dpi 1e9",
        "UsageError: Invalid value for '--dpi': '1e9' is no whole number. Allowed: 30 … 24",
        "report",
    ),
    ("rnu", "Did you mean 'run'?", ""),
    ("--fo", "UsageError: No such option: --fo", ""),
]


@pytest.mark.parametrize(("words", "said", "read_on"), MISUSED)
def test_a_mistake_of_usage_is_shown_as_every_other(words, said, read_on):
    done = cli(*words.split(), ends=2, stderr=said)
    first, last = done.stderr.splitlines()
    assert first.startswith("UsageError: ")
    assert re.fullmatch(rf"Its options and an example: \w+{f' {read_on}'.rstrip()} --help", last)


@pytest.mark.parametrize(
    ("width", "first"),
    [
        (40, ["point", "loss", "scale", "verdict"]),
        (28, ["point", "verdict", "loss"]),
        (120, ["point", "loss", "scale", "final error", "ε claimed", "verdict"]),
    ],
)
def test_a_verdict_of_a_sweep_stands_beside_its_fields(monkeypatch, width, first):
    """Where one table has not room for all columns, its first one has it."""
    results = [
        PointResult({"links.loss": k / 10, "codec.scale": k}, k, 0, "complete", None,
                    ({"algorithm": "mine", "final_error": 0.1, "epsilon_claimed": 1.0, "verdict": "refuted"},))
        for k in range(3)
    ]  # fmt: skip
    out = io.StringIO()
    monkeypatch.setattr(command, "console", type(terminal.console)(file=out, width=width))
    command._print(SweepReport("complete", 3, 3, (), 3, 3, tuple(results)), ["links.loss", "codec.scale"], ["mine"])
    head = next(line for line in out.getvalue().splitlines() if "point" in line)
    assert re.split(r"\s{2,}", head.strip()) == first


@pytest.mark.parametrize("width", [40, 60])
def test_an_algorithm_is_described_in_lines_as_wide_as_the_terminal(width):
    lines = cli("show", "dp_recal", ends=0, env={"COLUMNS": str(width)}).stdout.splitlines()
    assert not [line for line in lines if " " in line.strip() and len(line) > width]
    assert ("Start with:" in lines) is ("  netsim new mine --algorithm dp_recal" in lines) is (width == 40)
    assert "Code: netsim.algorithms.recal.DPRecal" in lines


@pytest.mark.parametrize("width", [40, 80])
def test_what_is_to_be_copied_is_whole(narrow, width):
    """Beside its head where there is room, else below it."""
    terminal.console.width = width
    for head, what in [
        ("Report:", "results/a"), ("Report:", "results/a-long-name/and/another/report.html"),
        ("  1,002 rows captured (first replica):", "results/a.parquet"),
        ("The others come with the other shares; whatever is missing then, with:", "netsim sweep own.yaml"),
    ]:  # fmt: skip
        terminal.print_place(head, what)
    first, *lines = narrow.getvalue().splitlines()
    assert first == "Report: results/a"
    assert lines == {
        80: [
            "Report: results/a-long-name/and/another/report.html",
            "  1,002 rows captured (first replica): results/a.parquet",
            "The others come with the other shares; whatever is missing then, with:",
            "  netsim sweep own.yaml",
        ],
        40: [
            "Report:", "  results/a-long-name/and/another/report.html",
            "  1,002 rows captured (first replica):", "    results/a.parquet",
            "The others come with the other shares;", "whatever is missing then, with:",
            "  netsim sweep own.yaml",
        ],
    }[width]  # fmt: skip


@pytest.mark.parametrize(("text", "second"), [
    ("this pair uses 100 %", "100 %"), ("a rate of packets is 0 s", "0 s"),
    ("with so many bytes 12 kB", "12 kB"), ("an error of the 3.12 × 10⁻¹⁶", "3.12 × 10⁻¹⁶"),
    ("and that is an ε of ≥ 0.04", "≥ 0.04"), ("what it learns is ε = 3.36", "ε = 3.36"),
    ("what is of agent 3 sent", "sent"), ("with the noise r = 0", "r = 0"),
    ("as many as replicas = 50", "replicas = 50"), ("what it says of (1 − δ)^5 = 0.00499", "δ)^5 = 0.00499"),
    ("it allows the odds 1 to 2", "1 to 2"), ("as deployable · r2", "deployable · r2"),
    ("it is that of Corollary 1", "Corollary 1"), ("this pair uses 72\u202f%", "72\u202f%"),
])  # fmt: skip
@pytest.mark.parametrize("lead", ["", "  "])
def test_a_number_stands_beside_its_unit(narrow, text, second, lead):
    last = re.split("[ \u202f]", text)[-1]
    terminal.console.width = len(lead) + (22 if second == "sent" else len(text) - len(last) - 1)
    terminal.line(lead + text)
    terminal.console.print(lead + text, highlight=False, markup=False)
    assert [one.strip() for one in narrow.getvalue().splitlines()].count(second) == 2


@pytest.mark.parametrize("violation", [None, 7])
def test_the_ledger_has_no_empty_column_and_explains_what_is_shown(narrow, violation):
    ledger._print([Row("one", "mine", "python", "consistent", "1", violation=violation, seconds=8.5)])
    text = narrow.getvalue()
    assert "δ" not in text
    assert ("from" in text) is (violation is not None)
    assert "8.5" in text
    assert "seconds" in text


@pytest.mark.parametrize(("width", "listed"), [(40, True), (59, True), (60, False)])
def test_a_row_that_has_no_room_is_a_list_of_its_fields(narrow, width, listed):
    """Numbers alone have their head before them; what is broken is broken where a part of it ends."""
    terminal.console.width = width
    columns = [
        Column("round", ["1", "another"], whole=True),
        Column("of a long name", ["private_gradient_descent_of_mine_alone", ""]),
        Column("sum", ["∞", "3"], whole=True), Column("", ["< above", ""], whole=True),
    ]  # fmt: skip
    print_tables(columns[0], [columns[1:]], terminal.console)
    lines = [line.rstrip() for line in narrow.getvalue().splitlines()]
    assert ("  round 1" in lines) is ("    sum: ∞ < above" in lines) is listed
    assert lines.count("    of a long name:") == (width == 40)
    assert max(map(len, lines)) <= width


SENTENCES = {
    "an error": lambda: terminal.print_error(
        ScenarioError("links.loss", 7, "no probability", "0 … 1", "own.yaml", 3)
    ),
    "code of one's own": lambda: app._announce(
        "other.py", "scenarios of somebody else/with a long name/other.py:Own"
    ),
    "a finished run": lambda: terminal.remark(terminal.FINISHED),
    "an address": lambda: terminal.remark(
        "It cannot be downloaded: https://somewhere.org/cvdf-datasets/mnist/train-images-idx3-ubyte.gz"
    ),
    "what check says": lambda: terminal.remark(
        str(command._Undefined("plain descent", 0.0, ("no noise is added to what is sent",), "-o x=1"))
    ),
}


@pytest.mark.parametrize("reader", ["a terminal", "COLUMNS", None])
@pytest.mark.parametrize("name", SENTENCES)
def test_a_sentence_is_in_lines_of_the_terminal_and_in_one_for_a_program(monkeypatch, name, reader):
    out, on_terminal = io.StringIO(), reader == "a terminal"
    monkeypatch.setattr(terminal, "problems", type(terminal.problems)(file=out, width=40, force_terminal=on_terminal))
    if reader == "COLUMNS":
        monkeypatch.setenv("COLUMNS", "40")
    SENTENCES[name]()
    lines = re.sub(r"\x1b\[[\d;]*m", "", out.getvalue()).splitlines()
    assert (len(lines) > 1) == (reader is not None)
    assert (max(map(len, lines)) <= 40) == (reader is not None)
    assert re.search(r"\b(probability|somebody|finished|datasets|undefined)\b", " ".join(lines))  # no word is broken


def test_times_are_whole_at_40_columns():
    out = io.StringIO()
    with Bars(Console(file=out, width=40, force_terminal=True, color_system=None)) as bars:
        bars.begin("an algorithm of a long name: auditing", 10)
        bars.advance(5)
    times = [re.findall(r"\d:\d\d:\d\d", one) for one in out.getvalue().splitlines()]
    assert {len(found) for found in times} == {0, 1}  # of two, none says which it is
    assert "…" not in out.getvalue()


@pytest.mark.parametrize(("reads_out", "reads_err", "as_json", "on"), [
    (True, True, False, "out"), (False, True, False, "err"), (False, False, False, "out"),
    (True, False, True, "err"), (False, False, True, "err"),
])  # fmt: skip
def test_how_far_it_is_goes_to_the_terminal_there_is(monkeypatch, reads_out, reads_err, as_json, on):
    there = {
        "out": type(terminal.console)(file=io.StringIO(), force_terminal=reads_out),
        "err": type(terminal.console)(file=io.StringIO(), force_terminal=reads_err),
    }
    monkeypatch.setattr(terminal, "console", there["out"])
    monkeypatch.setattr(terminal, "problems", there["err"])
    assert terminal.of_progress(as_json) is there[on]


@pytest.mark.parametrize(("agents", "said"), [
    (6, " (4 more agents left no gradients to rebuild one from)"),
    (3, " (1 more agent left no gradient to rebuild one from)"),
    (2, ""),
])  # fmt: skip
def test_of_which_agents_nothing_is_rebuilt_is_said(agents, said):
    found = SimpleNamespace(agents=[SimpleNamespace(skill=1.0)] * 2)
    assert sentences.images(found, agents) == [f"2 of 2 training images rebuilt{said}."]


@pytest.mark.parametrize(
    ("labels", "transcripts", "said"),
    [
        ([0.1, 0.9, 0.1, 0.75, 0.95], 20, "are right 56 % of the time, 60 % for who always says the same one; of 5"),
        # three zeros and four ones: the guess is "0" in 19 of 60 transcripts of zeros and in 8 of 80 of ones
        ([0.8, 0.2, 0.95, 0.35, 0.9, 0.4, 0.95], 20, "of 7 agents that may be chance (p = 0.0571)."),
        ([0.85, 0.2, 0.95, 0.35, 0.9, 0.4, 0.95], 20, "depend on the true ones (p = 0.0286): they are right 65.7 %"),
        ([1.0, 1.0, 1.0, 1.0, 1.0], 1, "of 5 agents that may be chance (p = 0.1)."),
        (
            [1.0] * 7,
            1,
            "But guessed labels depend on the true ones (p = 0.0286): they are right 100 % of the time, 57",
        ),
        ([1.0, 0.0] * 3 + [1.0], 20, "of 7 agents that may be chance (p = 1)."),  # says always the same one
        ([0.3, 0.8] * 3 + [0.3], 20, "(p = 0.0286): they are right 51.4 % of the time, 57.1 %"),  # and yet
        ([0.0] * 7, 20, "of 7 agents that may be chance (p = 1)."),
        ([math.nan] * 5, 20, "none is better than the prior's guess."),
    ],
)
def test_labels_and_images_have_one_verdict(labels, transcripts, said):
    """Of an agent alone a share says nothing: who always says the label of most agents is right for all of these."""
    agents = [
        {"agent": k, "skill": -0.5, "label_correct": share, "guess": [float(k % 2)]} for k, share in enumerate(labels)
    ]
    found = filled(ImageResult, {"agents": agents, "transcripts": transcripts})
    (sentence,) = sentences.images(found, len(labels))
    assert said in sentence.replace("\u202f", " ")
    assert sentence.startswith("No training image rebuilt")


@pytest.mark.parametrize("width", [40, 80])
def test_nowhere_are_three_blank_lines_in_a_row(narrow, width):
    terminal.console.width = width
    results = tree(sample())
    bare = [replace(one, audit=None, audit_status="not requested") for one in results.algorithms]
    verdicts._print_run(replace(results, algorithms=tuple(bare)), False, False)
    text = re.sub(" +\n", "\n", narrow.getvalue())
    assert "\n\n\n" not in text[text.index("verdict") :]
