"""Objects of one line in a terminal and a table in a notebook, and what the distribution offers above `netsim`."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import netsim
import scenarios
from netsim.algorithms import PrivateGradientDescent
from netsim.arrays import PerAgent
from netsim.errors import ScenarioError, TranscriptError
from netsim.problems import build
from netsim.problems.data import Dataset, load
from netsim.schedules import Constant
from netsim.shown import Shown, above, show, show_epsilon
from netsim.topology import ring

DATA = load("synthetic", records=30, dimension=3)
RUN = netsim.Simulation(
    build("logistic", DATA.split(4), ridge=0.1),
    ring(4),
    PrivateGradientDescent(rounds=3, step=Constant(0.1), scale=Constant(0.1)),
    adversaries=(netsim.Adversary(links="all"),),
).run()


@pytest.fixture
def installed(monkeypatch):
    """The entry points of pyproject.toml, whatever an older installation has."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    offered = project["entry-points"]["netsim"].items()

    def entry_points(group="", name=""):  # which matplotlib asks, too
        return [metadata.EntryPoint(n, value, group) for n, value in offered if (group, n) == ("netsim", name)]

    monkeypatch.setattr(metadata, "entry_points", entry_points)


@pytest.mark.parametrize(
    ("shown", "facts"),
    [
        (DATA, ["records: 30", "dimension: 3", "2 classes"]),
        (RUN.simulation.problem, ["agents: 4", "records of an agent: 7 to 8", "ridge: 0.1"]),
        (RUN.views[0].transcript, ["rows: 24", "replicas: 1", "x (1, 3)", "0 → 1"]),
        (RUN.metrics, ["estimates: 12", "of: rounds", "agents: 4", "error of the last estimate: "]),
        (RUN.measures, ["rounds: 3", "final relative error: ", "names: relative_error, "]),
        (RUN.measures.costs, ["entries: 3", "messages at the end: 24", "plf at the end: 3"]),
        (
            RUN.views[0],
            ["adversary: eavesdropper", "messages recorded: 24", "PrivateGradientDescent", "has: transcript"],
        ),
        (RUN.views[0].public, ["algorithm: PrivateGradientDescent", "agents: 4", "dimension: 3"]),
        (RUN, ["PrivateGradientDescent", "ring of 4", "activations of one agent: 3", "eavesdropper: 24"]),
    ],
)
def test_a_line_and_a_table_have_the_same_facts(shown, facts):
    line, table = repr(shown), shown._repr_html_()
    assert len(line) < 400
    assert "\n" not in line
    for fact in facts:
        assert fact in line
        assert fact.rpartition(": ")[2] in table


def test_a_line_and_a_plot_have_one_final_error(installed):
    end = RUN.measures.curve("relative_error").median[-1]
    assert float(np.median(RUN.metrics.errors[-1])) != end  # that of one agent alone
    for shown in (RUN, RUN.measures):
        assert f"final relative error: {show(end, 4)}" in repr(shown)
    assert repr(RUN.plot()).startswith("Chart('Does it converge?'")
    assert len(repr(RUN.plot())) < 100


def test_what_agents_have_is_counted():
    assert repr(PerAgent(3, str)) == "PerAgent(3 agents)"


def test_a_view_that_is_not_there_says_which_are():
    for which in (3, "eavesdropper"):
        with pytest.raises(TranscriptError, match=r"there is none; the run has .*views\[0\] of 'eavesdropper'"):
            RUN.views[which]
    assert RUN.views[-1] is RUN.views[0]


def test_a_table_is_escaped():
    assert "<b>" not in Dataset("<b>", [[1.0]], [1.0])._repr_html_()


def test_audit_and_plot_are_those_of_scenarios(installed):
    assert netsim.audit is scenarios.audit
    assert above("plot") is scenarios.plot
    with pytest.raises(AttributeError, match="netsim-lab"):
        above("nothing")


def test_a_run_is_drawn_as_on_the_page(installed):
    drawn = RUN.plot()
    assert drawn.title == "Does it converge?"
    assert "PrivateGradientDescent" in drawn._repr_html_()
    (line, *_) = drawn.drawing.figure.axes[0].lines
    errors = RUN.metrics.worst_by_round(4)[:, 0]
    assert list(line.get_ydata()) == pytest.approx(list(errors))


@pytest.mark.parametrize(
    ("name", "begins", "holds"),
    [
        ("error.svg", b"<?xml", b"PrivateGradientDescent"),
        ("error.html", b"<!doctype html>", b"Does it converge?"),
        ("error.png", b"\x89PNG", b"IEND"),
        ("error.PDF", b"%PDF", b"%%EOF"),
    ],
)
def test_what_is_drawn_can_be_saved_and_is_shown_as_before(installed, tmp_path, name, begins, holds):
    drawn = RUN.plot()
    shown = drawn._repr_html_()
    assert drawn.save(tmp_path / name) == tmp_path / name
    text = (tmp_path / name).read_bytes()
    assert text.startswith(begins)
    assert holds in text
    assert RUN.plot()._repr_html_() == drawn._repr_html_() == shown


@pytest.mark.parametrize(
    ("name", "size", "says"),
    [
        ("error.jpg", {}, "path = 'error.jpg': no format of a figure; allowed: .svg, .png, .pdf, .html"),
        ("error", {}, "path = 'error': no format of a figure"),
        ("nowhere/error.svg", {}, "path = 'nowhere/error.svg': its folder is not there"),
        ("error.svg", {"width": 0}, "width, dpi = [0, 300]: no size of a figure; allowed: 1 … 40 inches"),
    ],
)
def test_a_file_that_no_figure_has(installed, name, size, says):
    with pytest.raises(ScenarioError) as caught:
        RUN.plot().save(name, **size)
    assert says in str(caught.value)


def test_a_number_has_one_form_for_people():
    assert [show(one) for one in (1e-5, 2.5e-4, 0.0012, 0.5, 12345.6, 1e5)] == [
        "10⁻⁵", "2.5 × 10⁻⁴", "0.0012", "0.5", "12346", "10⁵"
    ]  # fmt: skip

    class Small(Shown):
        def facts(self):
            return {"δ": 1e-5}

    assert repr(Small()) == "Small(δ: 10⁻⁵)"


def test_no_message_writes_delta_in_a_form_of_its_own():
    """`δ = {delta:g}` would be 1e-05 beside the 10⁻⁵ of tables; what is not between 0 and 1 is as it was given."""
    root = Path(__file__).parents[2]
    sources = [file for package in ("netsim", "attacks", "scenarios") for file in (root / package).rglob("*.py")]
    assert len(sources) > 100
    own = re.compile(r"δ = \{[^}]*:[^}]*g\}(?! is not in)")
    assert [str(file) for file in sources if own.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("value", "beside", "reads"),
    [
        (69.4724, None, "69.47"),
        (1.23456, None, "1.235"),
        (2.0, None, "2"),
        (None, None, "–"),
        (float("inf"), 1.0, "∞"),
        (2.92135, 1.0, "2.921"),
        (2.0000312, 2.0, "2.00003"),
        (2.0, 2.0, "2"),
    ],
)
def test_an_epsilon_has_four_digits_everywhere_and_more_to_tell_two_apart(value, beside, reads):
    assert show_epsilon(value, beside) == reads
