"""Items of the papers: each rests on something that is there, and the pages of docs are what the files say."""

import ast
from pathlib import Path

import pytest

from netsim.errors import ScenarioError
from scenarios.certificate.ledger import ENTRIES
from scenarios.files.library import library
from scenarios.papers.items import Item, chosen, pages, papers
from scenarios.schema.load import load_scenario, parse, small

ROOT = Path(__file__).parents[3]
ITEMS = [item for paper in papers() for item in paper.items]
TEXT = """
name: it
topology: {kind: ring, agents: 5}
problem: {kind: ridge, data: {name: synthetic, kind: regression, records: 60, dimension: 3}}
algorithms:
  - {kind: recal, name: walk, activations: 5000}
reproduces:
  paper: P
  item: T
  shows: something
  checks: [{says: so, measure: slope, of: walk, below: 0}]
  small: {"algorithms[0].activations": 20, topology.agents: 3}
"""
STATED = {"id": "cpgt-x", "item": "X", "place": "here", "states": "so", "found": "so"}


def test_scenarios_and_items_name_each_other():
    repeated = {item.scenario: item for item in ITEMS if item.scenario is not None}
    reproducing = {name for name in library() if load_scenario(name).scenario.reproduces is not None}
    assert set(repeated) == reproducing
    for name, item in repeated.items():
        assert load_scenario(name).scenario.reproduces.item == item.item


def test_small_scales_are_scenarios():
    for item in ITEMS:
        if item.scenario is not None:
            assert small(load_scenario(item.scenario)).scenario.reproduces is not None


@pytest.mark.slow
def test_what_an_outcome_rests_on_is_there():
    entries = {entry.name for entry in ENTRIES}
    for item in ITEMS:
        assert item.ledger is None or item.ledger in entries, item.id
        if item.test is not None:
            file, *names = item.test.partition("[")[0].split("::")
            nodes = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
            for name in names:
                found = [one for one in nodes if isinstance(one, ast.ClassDef | ast.FunctionDef) and one.name == name]
                assert found, f"{item.id}: no {name} in {file}"
                nodes = found[0].body


@pytest.mark.parametrize("name", sorted(pages()))
def test_the_pages_of_docs_are_the_files(name):
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert written == pages()[name], "run: netsim papers --pages docs"


def test_the_small_scale_is_what_is_other_than_printed():
    shrunk = small(parse(TEXT)).scenario
    assert (shrunk.algorithms[0].activations, shrunk.topology.agents) == (20, 3)
    assert shrunk.reproduces.missing == ["small scale: algorithms[0].activations = 20, topology.agents = 3"]
    assert shrunk.reproduces.small is None
    fewer = TEXT.replace("topology.agents: 3", "variants: [{name: tiny, set: {seed: 5}}]")
    assert small(parse(fewer)).scenario.reproduces.missing == [
        "small scale: algorithms[0].activations = 20, variants = [tiny]"
    ]


@pytest.mark.parametrize(
    ("path", "line"), [("reproduces.item: U", 12), ("name: other", 12), ("algorithms[1].activations: 3", 12)]
)
def test_a_small_scale_changes_nothing_of_the_item_and_nothing_that_is_not_there(path, line):
    field, value = path.split(": ")
    text = TEXT.replace('{"algorithms[0].activations": 20, topology.agents: 3}', f'{{"{field}": {value}}}')
    with pytest.raises(ScenarioError, match=r"reproduces\.small") as caught:
        small(parse(text, "it.yaml"))
    assert (caught.value.file, caught.value.line) == ("it.yaml", line)


@pytest.mark.parametrize(
    "wrong",
    [
        {"outcome": "agrees"}, {"outcome": "agrees", "test": "t", "ledger": "cpgt"},
        {"outcome": "agrees", "missing": ["the graph"]}, {"outcome": "agrees", "test": "t", "small": "agrees"},
        {"outcome": "differs", "scenario": "s"},
    ],
)  # fmt: skip
def test_an_item_rests_on_one_thing(wrong):
    with pytest.raises(ScenarioError):
        Item(**STATED, **wrong)


def test_a_name_that_is_no_item_has_neighbours():
    item = ITEMS[0].id
    assert [one.id for paper in chosen([item]) for one in paper.items] == [item]
    with pytest.raises(ScenarioError, match=f"did you mean.* {item}"):
        chosen([item + "x"])
