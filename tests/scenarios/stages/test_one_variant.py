"""`--variant` runs one of a scenario's variants alone."""

import pytest

from netsim.errors import ScenarioError
from scenarios.results.folder import read_results
from scenarios.schema.load import alone, parse
from tests.scenarios.command import cli

TEXT = """\
name: two
topology: {kind: ring, agents: 3}
problem: {data: {name: synthetic, records: 30, dimension: 2}}
algorithms: [{kind: nids, name: NIDS, rounds: 3}]
variants:
  - {name: few, set: {"algorithms[0].rounds": 2}}
  - {name: many, set: {"algorithms[0].rounds": 5}}
figures: [{x: "algorithms[0].rounds", y: relative_error}]
"""


def test_a_variant_alone_is_its_scenario_without_what_belongs_to_all():
    found = alone(parse(TEXT), "many").scenario
    assert found.algorithms[0].rounds == 5
    assert (found.variants, found.figures, found.reproduces) == ([], [], None)


def test_a_name_that_none_has_is_an_error_that_lists_them():
    with pytest.raises(ScenarioError, match="few, many"):
        alone(parse(TEXT), "most")
    with pytest.raises(ScenarioError, match="there are no variants"):
        alone(parse(TEXT[: TEXT.index("variants")]), "most")


def test_the_command_runs_it_and_says_how_to_repeat_it(tmp_path):
    (tmp_path / "two.yaml").write_text(TEXT)
    command = ["run", str(tmp_path / "two.yaml"), "--out", str(tmp_path / "out"), "--variant", "few"]
    cli(*command, ends=0)
    results = read_results(tmp_path / "out")
    assert results.command.endswith("--variant few")
    assert results.algorithms[0].convergence.count[-1] == 2
