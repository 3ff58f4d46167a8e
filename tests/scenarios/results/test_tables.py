"""Tables of results and transcripts, as pandas, polars and duckdb read them."""

import json
import math
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pandas as pd
import polars
import pytest
from pyarrow import parquet

from scenarios.results import tables
from scenarios.results.folder import read_results
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from scenarios.stages.study import run_study
from scenarios.sweep.points import Sweep
from scenarios.sweep.run import run_sweep
from tests.scenarios.filled import tree

SCENARIO = """\
name: small
problem: {data: {name: digits, norm_bound: 4.0}, ridge: 1.0}
topology: {kind: ring, agents: 4}
links: {loss: 0.2, reliable: true}
algorithms:
  - {kind: recal, name: walk, activations: 24}
  - {kind: dp_recal, name: leaky, per_agent: 6, ratio: 1.05}
attacks:
  gradients: true
  holding: 1
  reconstruct:
    - {kind: one_record}
audit: {trials: 200}
"""
MANY = SCENARIO.replace(
    "attacks:", "variants:\n  - {name: a, set: {links.loss: 0.0}}\n  - {name: b, set: {links.loss: 0.3}}\nattacks:"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("run")
    run_scenario(parse(SCENARIO), place)
    return place


def read(path, with_):
    """Columns as lists, by one of the three libraries."""
    if with_ == "pandas":
        return {name: list(column) for name, column in pd.read_parquet(path).items()}
    if with_ == "polars":
        return polars.read_parquet(path).to_dict(as_series=False)
    found = duckdb.sql(f"select * from '{path}'")
    return dict(zip(found.columns, map(list, zip(*found.fetchall(), strict=True)), strict=True))


def absent(value):
    return value is None or (isinstance(value, float) and math.isnan(value))


@pytest.mark.parametrize("library", ["pandas", "polars", "duckdb"])
class TestEveryLibrary:
    @pytest.mark.few(3)
    def test_algorithms_are_what_results_say(self, folder, library):
        table = read(folder / tables.ALGORITHMS, library)
        results = read_results(folder)
        assert list(table) == ["variant", *tables.COLUMNS]
        assert table["algorithm"] == ["walk", "leaky"]
        for k, entry in enumerate(results.algorithms):
            assert table["bytes"][k] == entry.run.traffic["bytes_sent"]
            assert table["final_error"][k] == entry.convergence.final
        audit = results.algorithms[1].audit
        assert absent(table["verdict"][0])  # RECAL claims nothing
        assert table["verdict"][1] == audit.verdict == "unprotected"
        assert table["epsilon_audited"][1] == audit.epsilon_audited
        written = json.loads((folder / "results.json").read_text())["algorithms"][1]["audit"]
        assert written["epsilon_exact"]["lower"] == "inf"  # JSON has no infinity; the tree and tables have
        assert table["epsilon_exact_lower"][1] == audit.epsilon_exact.lower == math.inf
        assert absent(table["variant"][0])

    def test_attacks_are_what_results_say(self, folder, library):
        table = read(folder / tables.ATTACKS, library)
        results = read_results(folder)
        said = [one for entry in results.algorithms for one in entry.reconstructions.attacks]
        assert list(table) == ["variant", *tables.ATTACK_COLUMNS]
        assert table["kind"] == ["one_record"] * 2
        for k, one in enumerate(said):
            assert one.skill is not None
            assert table["skill"][k] == one.skill
            assert table["success_rate"][k] == one.success.rate
        best = read(folder / tables.ALGORITHMS, library)
        assert best["best_skill"] == table["skill"]
        assert best["best_attack"] == table["attack"]

    def test_transcripts_and_metrics_open(self, folder, library):
        heard = read(folder / "transcript-walk.parquet", library)
        acknowledged = [k for k, kind in enumerate(heard["kind"]) if kind == "ack"]
        assert acknowledged
        assert all(absent(heard["value.x"][k]) for k in acknowledged)
        told = [value for value in heard["value.x"] if not absent(value)]
        assert {len(value) for value in told} == {64}
        measured = read(folder / "metrics-walk.parquet", library)
        assert measured["count"] == list(range(1, 25))

    @pytest.mark.few("duckdb")
    def test_a_sweep_and_its_attacks_open(self, tmp_path, library):
        sweep = Sweep.model_validate({"scenario": "small", "grid": {"topology.agents": [3, 4]}})
        run_sweep(sweep, parse(SCENARIO.replace("audit: {trials: 200}\n", "")), tmp_path / "out", jobs=1)
        table = read(tmp_path / "out" / "sweep.parquet", library)
        attacks = read(tmp_path / "out" / tables.ATTACKS, library)
        assert table["topology.agents"] == attacks["topology.agents"] == [3, 3, 4, 4]
        assert table["best_skill"] == attacks["skill"]
        assert list(attacks) == ["topology.agents", "point", "seed", *tables.ATTACK_COLUMNS]


@pytest.mark.slow
def test_variants_are_in_one_table(tmp_path):
    run_study(parse(MANY.replace("audit: {trials: 200}\n", "")), tmp_path)
    table = pd.read_parquet(tmp_path / tables.ALGORITHMS)
    assert list(table.variant) == ["a", "a", "b", "b"]
    alone = pd.read_parquet(tmp_path / "b" / tables.ALGORITHMS)
    assert alone.bytes.tolist() == table.bytes.tolist()[2:]


@pytest.mark.slow
def test_a_table_of_a_former_run_is_not_left(folder, tmp_path):
    run_scenario(parse(SCENARIO), tmp_path)
    run_scenario(parse(SCENARIO.replace("reconstruct:\n    - {kind: one_record}", "reconstruct: []")), tmp_path)
    assert not (tmp_path / tables.ATTACKS).exists()


@pytest.mark.parametrize("columns", [tables.COLUMNS, tables.ATTACK_COLUMNS])
def test_every_column_carries_its_meaning(columns, folder):
    schema = parquet.read_schema(folder / (tables.ALGORITHMS if columns is tables.COLUMNS else tables.ATTACKS))
    for name, (_, meaning) in columns.items():
        assert schema.field(name).metadata[b"meaning"].decode() == meaning


def test_a_claim_whose_conditions_fail_later_is_no_number_at_the_end():
    budget = {"unit": "rounds", "count": [1, 2, 3], "epsilon": [0.0, 0.5, None], "failed_conditions": ["b_2 = 0"]}
    rows = tables.algorithm_rows(tree({"algorithms": [{"name": "a", "budget": budget}]}))
    assert rows[0]["epsilon_claimed"] is None
    whole = budget | {"epsilon": [0.0, 0.5, math.inf]}
    rows = tables.algorithm_rows(tree({"algorithms": [{"name": "a", "budget": whole}]}))
    assert rows[0]["epsilon_claimed"] == math.inf


@pytest.mark.slow
def test_a_table_that_several_write_at_once_is_whole_and_nobody_stumbles(tmp_path):
    path = tmp_path / "table.parquet"

    def often(_):
        for _ in range(40):
            tables.write([{"algorithm": "a"}] * 50, tables.COLUMNS, path)
            assert parquet.read_table(path).num_rows == 50

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(often, range(4)))
    assert [one.name for one in tmp_path.iterdir()] == ["table.parquet"]
