"""What `outputs` asks for is in the folder, what it does not is not, and what a former run wrote is gone."""

import json

import pytest

from netsim.errors import ScenarioError
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from scenarios.stages.study import run_study

SCENARIO = """\
name: small
problem: {data: {name: synthetic, records: 40, dimension: 3}, ridge: 0.5}
topology: {kind: ring, agents: 4}
algorithms: [{kind: recal, name: walk, activations: 24}]
outputs: {figures: [svg, png], width: 4.0, dpi: 60}
"""
BARE = SCENARIO.replace("figures: [svg, png], width: 4.0, dpi: 60", "metrics: false, tables: false")


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_figures_are_written_at_their_width(tmp_path):
    run_scenario(parse(SCENARIO), tmp_path)
    listed = json.loads((tmp_path / "figures" / "figures.json").read_text())
    assert {"Does it converge?", "Network"} <= {one["title"] for one in listed}
    for one in listed:
        assert sorted(one["files"]) == [f"{one['name']}.png", f"{one['name']}.svg"]
        png = (tmp_path / "figures" / f"{one['name']}.png").read_bytes()
        assert int.from_bytes(png[16:20]) == pytest.approx(4.0 * 60, abs=1.5)


def test_what_is_not_asked_for_is_not_written_and_what_is_of_a_former_run_goes(tmp_path):
    run_scenario(parse(SCENARIO), tmp_path)
    assert {"metrics-walk.parquet", "algorithms.parquet", "figures"} <= names(tmp_path)
    own = tmp_path / "figures" / "mine.txt"
    own.write_text("not netsim's")
    run_scenario(parse(BARE), tmp_path)
    assert not {"metrics-walk.parquet", "algorithms.parquet"} & names(tmp_path)
    assert names(tmp_path / "figures") == {"mine.txt"}
    assert {"report.html", "results.json", "manifest.json", "transcript-walk.parquet"} <= names(tmp_path)


def test_variants_and_what_is_over_them(tmp_path):
    varied = SCENARIO.replace("[svg, png]", "[svg]") + "grid: {links.loss: [0.0, 0.1]}\nlinks: {reliable: true}\n"
    results = run_study(parse(varied), tmp_path)
    for variant in results.variants:
        assert (tmp_path / variant.name / "figures" / "figures.json").is_file()
    assert "algorithms.parquet" in names(tmp_path)


def test_what_cannot_be_is_told_before_anything_runs():
    with pytest.raises(ScenarioError, match=r"outputs\.figures\[0\]"):
        parse(SCENARIO.replace("svg, png", "gif"))
