"""Power laws over a field that variants set: known exponents, intervals that cover, names that fit."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import linregress
from scipy.stats import t as student

from netsim import topology
from netsim.errors import ScenarioError
from scenarios.papers.measures import GRAPH, Found, exponent, graph_size, groups
from scenarios.papers.outcome import Ran, judge
from scenarios.results.curves import NotMeasuredError
from scenarios.results.tree import NetworkResult
from scenarios.schema.checks import ReproducesSpec
from scenarios.schema.load import parse
from scenarios.stages.study import planned
from tests.scenarios.filled import filled, tree

SIZES = (4, 8, 16, 32)
FIELDS = {f"agents-{n}": {"topology.agents": n} for n in SIZES}


def known(values):
    return [Found.of(value) for value in values]


@pytest.mark.parametrize("power", [-1.0, 0.0, 0.5, 2.0, 3.0])
def test_an_exact_power_law_has_its_exponent_at_both_ends(power):
    found = exponent(SIZES, known(7.0 * n**power for n in SIZES))
    assert (found.low, found.high) == pytest.approx((power, power), abs=1e-12)


def test_the_interval_is_the_one_of_a_linear_regression():
    numbers = [3.1, 9.2, 41.0, 150.0]
    line = linregress(np.log(SIZES), np.log(numbers))
    room = student.ppf(0.975, 2) * line.stderr
    found = exponent(SIZES, known(numbers))
    assert (found.low, found.high) == pytest.approx((line.slope - room, line.slope + room), rel=1e-12)


def test_the_interval_covers_the_exponent_as_often_as_it_says():
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(600):
        found = exponent(SIZES, known(np.exp(rng.normal(0, 0.3, 4)) * np.array(SIZES) ** 1.5))
        inside += found.low <= 1.5 <= found.high
    assert 0.92 < inside / 600 < 0.98  # 0.95 within three standard errors


def test_numbers_between_two_ends_give_all_lines_through_them():
    found = exponent(SIZES, [Found(0.9 * n, 1.1 * n) for n in SIZES])
    steepest = linregress(np.log(SIZES), np.log([0.9 * 4, 0.9 * 8, 1.1 * 16, 1.1 * 32])).slope
    assert found.high - 1 == pytest.approx(steepest - 1, rel=0.05)
    assert found.low < 1 < found.high


@pytest.mark.parametrize("bad", [Found(3.0, math.inf), Found(0.0, 2.0), Found.of(math.nan)])
def test_a_number_without_a_place_on_a_logarithmic_axis_has_no_power(bad):
    with pytest.raises(NotMeasuredError, match="positive numbers"):
        exponent(SIZES, [bad, *known((2.0, 3.0, 4.0))])


def test_variants_are_grouped_by_what_else_they_set():
    fields = {
        f"{kind}-{n}": {"topology.kind": kind, "topology.agents": n} for kind in ("ring", "star") for n in (4, 8)
    }
    assert groups(fields, "topology.agents") == {
        "kind ring": {"ring-4": 4.0, "ring-8": 8.0}, "kind star": {"star-4": 4.0, "star-8": 8.0},
    }  # fmt: skip
    assert groups(fields, "seed") == {}


@pytest.mark.parametrize(
    ("graph", "edges", "gap"),
    [
        (topology.ring(7), 7, 1 - math.cos(2 * math.pi / 7)), (topology.ring(8), 8, 1 - math.cos(2 * math.pi / 8)),
        (topology.path(5), 4, 1 - math.cos(math.pi / 4)), (topology.complete(6), 15, 6 / 5),
        (topology.star(9), 8, 1.0),
    ],
    ids=str,
)  # fmt: skip
def test_sizes_of_a_graph_are_powers_of_n_m_and_the_gap_of_its_walk(graph, edges, gap):
    n = graph.agents
    found = {over: graph_size(over, n, graph.edges) for over in GRAPH}
    assert found == pytest.approx(
        {
            "n": n, "m": edges, "1/χ": 1 / gap, "m/χ": edges / gap,
            "m²/(n²χ)": edges**2 / (n**2 * gap), "m²/(nχ)": edges**2 / (n * gap),
        }, rel=1e-12,
    )  # fmt: skip


def test_a_gap_of_a_graph_that_no_memory_holds_is_refused_and_its_agents_are_counted(monkeypatch):
    monkeypatch.setenv("NETSIM_MEMORY", "1000000")
    graph = topology.ring(1000)
    assert graph_size("n", 1000, graph.edges) == 1000
    with pytest.raises(ScenarioError, match="agents = 1000: asks for about 24 MB"):
        graph_size("1/χ", 1000, graph.edges)


def test_variants_that_differ_in_the_graph_and_in_lengths_are_one_group():
    fields = {
        "small": {"topology.agents": 4, "problem.data.records": 40},
        "large": {"topology": {"kind": "star", "agents": 9}, "algorithms[0].per_agent": 10},
        "other": {"topology.agents": 4, "problem.ridge": 1.0},
    }
    assert {rest: {*group} for rest, group in groups(fields, "1/χ").items()} == {
        "": {"small", "large"}, "ridge 1.0": {"other"},
    }  # fmt: skip


# ── checks ──────────────────────────────────────────────────────────────────────────────────────────────
def ran(n, spent, error=None):
    """A run in which A needs `spent(n)` rounds to 1e-6, and B five."""

    def entry(name, rounds):
        errors = [1.0] * (rounds - 1) + [1e-7]
        return {"name": name, "convergence": {"unit": "rounds", "count": [*range(1, rounds + 1)], "median": errors}}

    results = {"problem": {"optimum_is_zero": False}, "algorithms": [entry("A", spent(n)), entry("B", 5)]}
    return Ran(f"agents-{n}", tree(results), error)


def outcome(check, spent=lambda n: n * n, failed=()):
    asked = {"says": "so", "measure": "growth", "quantity": "rounds_to", "accuracy": 1e-6, "over": "topology.agents"}
    spec = ReproducesSpec.model_validate(
        {"paper": "P", "item": "Table I", "shows": "Growth.", "checks": [asked | {"of": "A"} | check]}
    )
    runs = [ran(n, spent, "failed: DeadlockError" if n in failed else None) for n in SIZES]
    return judge(spec, runs, True, FIELDS)


@pytest.mark.parametrize(
    ("check", "word"),
    [
        ({"above": 1.9, "below": 2.1}, "agrees"), ({"equals": 2.0}, "agrees"), ({"below": 1.9}, "differs"),
        ({"of": "B", "equals": 0.0}, "agrees"), ({"above_of": "B"}, "agrees"), ({"below_of": "B"}, "differs"),
        ({"above": 1.9, "accuracy": 1e-8}, "cannot be run"),
    ],
)  # fmt: skip
def test_a_check_of_growth_is_decided_by_its_interval(check, word):
    assert outcome(check).outcome == word


def test_a_growth_over_a_size_of_the_graph_reads_the_networks_that_ran():
    """Rounds of n² on rings: 1/χ is about n²/20."""
    rings = {f"agents-{n}": topology.ring(n) for n in SIZES}
    runs = [ran(n, lambda n: n * n) for n in SIZES]
    networks = [{"positions": [(0.0, 0.0)] * g.agents, "edges": g.edges} for g in rings.values()]
    runs = [replace(one, results=replace(one.results, network=filled(NetworkResult, given)))
            for one, given in zip(runs, networks, strict=True)]  # fmt: skip
    asked = {"says": "so", "measure": "growth", "quantity": "rounds_to", "accuracy": 1e-6, "over": "1/χ", "of": "A"}
    checks = [asked | {"above": 0.8, "below": 1.3}]
    spec = ReproducesSpec.model_validate({"paper": "P", "item": "T", "shows": "Growth.", "checks": checks})
    assert judge(spec, runs, True, FIELDS).outcome == "agrees"


def test_what_is_found_and_asked_is_said():
    found = outcome({"below": 1.0}, spent=lambda n: n * n + n % 5).checks[0]
    assert found.criterion == "growth exponent over topology.agents of rounds to an error of 10⁻⁶ of A below 1"
    [answer] = found.answers
    low, high = map(float, answer.found.split(" … "))
    assert low < high
    assert 1.5 < low < 2.5


def test_an_interval_around_the_bound_decides_nothing():
    found = outcome({"above": 2.0}, spent=lambda n: {4: 20, 8: 50, 16: 300, 32: 900}[n])
    assert found.outcome == "cannot be run"
    assert "undecided" in found.sentence


def test_a_variant_that_failed_or_fell_short_is_in_the_way():
    assert "DeadlockError" in outcome({"above": 1.0}, failed=(8,)).sentence
    assert "A in agents-4 ended above an error of 1e-08" in outcome({"above": 1, "accuracy": 1e-8}).sentence


# ── names ───────────────────────────────────────────────────────────────────────────────────────────────
TEXT = """
name: sizes
topology: {{kind: ring, agents: 4}}
problem: {{kind: ridge, data: {{name: synthetic, kind: regression, records: 40, dimension: 3}}}}
algorithms: [{{kind: recal, name: A, activations: 20}}]
grid: {{{grid}}}
reproduces:
  paper: P
  item: Table I
  shows: Growth.
  checks:
    - {{says: so, measure: growth, quantity: plf_to, over: {over}, of: {of}, accuracy: 1e-3, {relation}}}
"""


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"over": "seed"}, "over"), ({"grid": "topology.agents: [4, 6]"}, "over"),
        ({"grid": "topology.kind: [ring, star, complete]", "over": "topology.kind"}, "over"),
        ({"grid": "seed: [0, 1, 2]", "over": "seed"}, "over"), ({"of": "B"}, "of"),
        ({"relation": "below_of: B"}, "below_of"), ({"relation": "below_of: A"}, "below_of"),
    ],
)  # fmt: skip
def test_a_growth_that_cannot_be_fitted_is_an_error_before_anything_runs(given, field):
    words = {"grid": "topology.agents: [4, 6, 8]", "over": "topology.agents", "of": "A", "relation": "above: 0"}
    planned(parse(TEXT.format(**words)))
    with pytest.raises(ScenarioError) as error:
        planned(parse(TEXT.format(**(words | given))))
    assert error.value.field in (f"reproduces.checks[0].{field}", "variants")


@pytest.mark.parametrize("extra", ["variant: agents-4, above: 0", "above_of: {of: A, variant: agents-4}"])
def test_a_growth_is_in_no_single_variant(extra):
    words = {"grid": "topology.agents: [4, 6, 8]", "over": "topology.agents", "of": "A", "relation": extra}
    with pytest.raises(ScenarioError, match="over variants, not in one"):
        parse(TEXT.format(**words))
