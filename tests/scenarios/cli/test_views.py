"""`netsim views`: the table, the document and the files have the same numbers, and refusals say why."""

import csv
import json
import math
from types import SimpleNamespace

import pytest
from pyarrow import parquet

from attacks.probe.mapping import Mapper
from netsim.shown import show_epsilon
from scenarios.cli import attack
from scenarios.render.page.plan import heat_map
from scenarios.results.views import ViewPrices
from scenarios.stages import audit
from tests.scenarios.command import cli

SMALL = ["price-of-a-view", "-o", "topology.agents=5", "-o", "problem.data.records=20"]
LOGISTIC = ["-o", "problem.kind=logistic", "-o", "problem.data.kind=classification"]
REFUTED = [
    *SMALL, "-o", "topology.kind=path", "-o",
    "algorithms=[{kind: muffliato, name: gossip, rounds: 4, stddev: 1.0}]", "--coalition", "0",
]  # fmt: skip


def test_the_document_and_the_files_have_every_ordered_pair(tmp_path):
    done = cli("views", *SMALL, "--json", "--listener", "2", "--out", tmp_path, ends=0)
    found = json.loads(done.stdout)
    upper = found["pairs"]["upper"]
    assert [one["name"] for one in found["views"]] == ["coalition 1+4"]
    with (tmp_path / "pairs.csv").open() as file:
        rows = list(csv.DictReader(file))
    table = parquet.read_table(tmp_path / "pairs.parquet").to_pylist()
    assert len(rows) == len(table) == 20
    for row, other in zip(rows, table, strict=True):
        u, v = int(row["victim"]), int(row["listener"])
        assert float(row["epsilon_upper"]) == other["epsilon_upper"] == upper[u][v] > 0
        assert other["hops"] == found["pairs"]["hops"][u][v]
    assert {file.name for file in tmp_path.glob("*.svg")} == {"pairs.svg", "distance.svg", "listener.svg"}


def test_a_narrow_terminal_has_the_whole_table_in_parts():
    done = cli("views", *SMALL, "--coalition", "0", ends=0, env={"COLUMNS": "40"})
    assert "…" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 40
    heads = [line.split() for line in done.stdout.splitlines() if set(line.split()) & set("01234")]
    assert [one for line in heads if all(len(word) == 1 for word in line) for one in line][:5] == list("01234")


def test_the_first_algorithm_with_noise_is_taken_and_an_option_that_was_not_given_is_not_named():
    plain = "algorithms=[{kind: private_gradient_descent, name: plain, rounds: 2}]"
    found = cli("views", *SMALL, "-o", plain, ends=2).stderr
    assert found.startswith("ScenarioError: algorithms = 'plain': has no price of its views: nothing has noise;")
    noisy = "{kind: muffliato, name: gossip, rounds: 2, stddev: 1.0}"
    both = f"{plain.removesuffix(']')}, {noisy}]"
    cli("views", *SMALL, "-o", both, "--coalition", "0", ends=0, stdout="gossip: ε at δ")
    cli("views", *SMALL, "-o", both, "--algorithm", "plain", ends=2, stderr="--algorithm = 'plain': has no price")


@pytest.mark.filterwarnings("error")
def test_the_map_of_pairs_is_drawn_without_a_warning(tmp_path):
    known = ((math.nan, 1.5, 0.2), (0.3, math.nan, math.inf), (2.0, 0.0, math.nan))
    pairs = ViewPrices.PairPrices(
        lower=known, upper=known, hops=((0, 1, 1),) * 3, claimed=None, verdict=None, refuted=(), witness=None
    )
    file = heat_map(pairs, "pairs").save(tmp_path / "pairs.svg")
    assert file.read_text(encoding="utf-8").count("<image") == 1


def test_the_table_is_printed_for_one_listener_too():
    cli(
        "views", *SMALL, "--listener", "2", ends=0,
        output=("Coalition 1+4 is the costliest of all 6 coalitions of 2", "What agent 2 learns, by distance"),
    )  # fmt: skip


def test_a_claim_of_pairs_that_does_not_hold_ends_with_1_and_a_witness():
    done = cli("views", *REFUTED, "--json")
    pairs = json.loads(done.stdout)["pairs"]
    assert done.exit_code == 1
    assert pairs["verdict"] == "refuted"
    u, v = pairs["refuted"][0]
    assert pairs["lower"][u][v] > pairs["claimed"][u][v]
    assert pairs["witness"]["shift"] > 0


def test_which_delta_is_taken_is_said_where_the_algorithm_claims_at_0():
    laplace = "algorithms=[{kind: private_gradient_descent, rounds: 3, clip: {bound: 1.0}, scale: {epsilon: 2.0}}]"
    done = cli("views", *SMALL, "-o", laplace, "--coalition", "0", ends=0, stdout="claims at δ = 0")
    assert "taken is 0.001" in " ".join(done.stdout.split())
    assert "claims at δ = 0" not in cli("views", *SMALL).stdout


def test_other_losses_are_bounded_by_the_door():
    done = cli("views", *SMALL, *LOGISTIC, "--json", ends=0)
    found = json.loads(done.stdout)
    assert found["conditions"][0].startswith("no listener has an ε of its own, only the bound for who sees all")
    assert len({found["pairs"]["upper"][u][v] for u in range(5) for v in range(5) if u != v}) == 1
    assert found["coalition"] is None
    said = " ".join(cli("views", *SMALL, *LOGISTIC, "--coalition", "0", ends=0).stdout.split())
    bound = show_epsilon(found["pairs"]["upper"][0][1])
    assert (
        f"A bound holds even for someone who sees everything that an agent sends: ε ≤ {bound} for every agent's data."
        in said
    )
    assert "no listener has an exact ε of its own, at δ = 0.001: agent 0's objective is not quadratic" in said
    assert "exact ε of each pair: quadratic objectives (-o problem.kind=ridge); or gossip after noise. An" in said
    assert "…" not in said  # no matrix that repeats it


def test_bounds_of_agents_that_differ_are_told_apart(capsys):
    ends = {"lower": ((0, 0), (0, 0)), "upper": ((0, 2.0), (3.0, 0)), "hops": ((0, 1), (1, 0))}
    pairs = SimpleNamespace(**ends)
    assert attack._by_victim(pairs) == [2.0, 3.0]
    attack._print_bounds(SimpleNamespace(conditions=("bounded: it is not quadratic", "routes")), [2.0, 3.0], [])
    assert "ε ≤ 2 for agent 0's data; ε ≤ 3 for agent 1's data." in " ".join(capsys.readouterr().out.split())
    priced = SimpleNamespace(**ends | {"lower": ((0, 2.0), (3.0, 0))})
    assert attack._by_victim(priced) is None


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--listener", "9"], "no such agent"),
        ([*LOGISTIC, "-o", "algorithms[0].state=exact"], "'Gaussian descent': has no price of its views: agent 0's"),
        ([*LOGISTIC, "-o", "algorithms[0].scale=0"], "nothing has noise; allowed: an algorithm with noise, on"),
        (["--algorithm", "nobody"], "--algorithm = 'nobody': not in the scenario"),
    ],
)
def test_what_cannot_be_priced_is_refused(options, why, monkeypatch):
    """Without a probe of an agent's door where the algorithm has no noise."""
    if "algorithms[0].scale=0" in options:
        monkeypatch.delattr(audit, "_door")
        monkeypatch.delattr(Mapper, "map")
    done = cli("views", *SMALL, *options, "--json", ends=2)
    assert why in json.loads(done.stdout)["error"]["message"]


def test_a_ctrl_c_has_a_word(monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(audit, "price_views", stopped)
    done = cli("views", "price-of-a-view", ends=130)
    assert done.stderr.endswith("Interrupted.\n")


def test_what_a_listener_learns_beyond_a_claim_of_pairs_is_marked():
    fewer = ("-o", "topology.agents=10", "-o", "problem.data.records=20")
    said = cli("views", "gossip-pairs", *fewer, "--algorithm", "averaging", "--listener", "2", ends=1).output
    assert "agent: ε (> what is claimed)" in said
    (far,) = (line for line in said.splitlines() if line.split()[:1] == ["4"] and "(>" in line)
    assert far.count(" (> ") == 2, "one at each side of the ring"
