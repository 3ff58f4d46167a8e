"""The command `netsim papers`."""

import json

import pytest

from scenarios.papers import items
from scenarios.papers.items import Paper
from tests.scenarios.command import cli

TEXT = """
name: two-walks
topology: {kind: ring, agents: 4}
problem: {kind: ridge, data: {name: synthetic, kind: regression, records: 40, dimension: 3}}
algorithms:
  - {kind: recal, name: walk, activations: 400000}
attacks: {gradients: false}
reproduces:
  paper: P
  item: T
  shows: a walk gets closer
  checks: [{says: so, measure: slope, of: walk, below: 0}]
  small: {"algorithms[0].activations": 400}
"""


@pytest.fixture
def one_item(tmp_path, monkeypatch):
    """A paper with an item that is run, whose small outcome is listed as given, and one that cannot be."""

    def listed(small):
        file = tmp_path / "two-walks.yaml"
        file.write_text(TEXT, encoding="utf-8")
        stated = {"place": "here", "states": "so", "found": "so it is"}
        walk = {"id": "p-t", "item": "T", "scenario": str(file), "outcome": "agrees", "small": small, **stated}
        figure = {"id": "p-f", "item": "F", "missing": ["the graph"], "outcome": "cannot be run", **stated}
        held = [
            {
                "id": f"p-{word}", "item": word, "test": f"{tmp_path}/test_held.py::test_{word}", "outcome": "agrees",
                **stated,
            }
            for word in ("right", "wrong")
        ]  # fmt: skip
        file.with_name("test_held.py").write_text("def test_right(): pass\ndef test_wrong(): assert False\n")
        paper = Paper(key="p", paper="P", items=[walk, figure, *held])
        monkeypatch.setattr(items, "papers", lambda: (paper,))
        monkeypatch.chdir(tmp_path)

    return listed


@pytest.mark.slow
def test_an_item_is_run_at_its_small_scale(one_item):
    one_item("agrees in shape")
    done = cli("papers", "p-t", "--json")
    (found,) = json.loads(done.stdout)
    assert done.exit_code == 0
    assert found["ran"]["outcome"] == "agrees in shape"
    assert "small scale: algorithms[0].activations = 400" in found["ran"]["sentence"]


@pytest.mark.slow
def test_another_outcome_than_the_listed_one_ends_with_1(one_item):
    one_item("differs")
    done = cli("papers", "--run", "--jobs", "1", ends=1)
    assert "p-t: agrees in shape at scale small, where differs is listed" in " ".join(done.stderr.split())


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_item_that_fails_is_named_and_the_others_are_run(one_item, tmp_path, jobs):
    one_item("agrees in shape")
    (paper,) = items.papers()
    bad = paper.items[0].replace(id="p-bad", scenario=str(tmp_path / "bad.yaml"))
    (tmp_path / "bad.yaml").write_text(TEXT.replace("ridge", "rigde"), encoding="utf-8")
    items.papers = lambda: (paper.replace(items=[bad, *paper.items]),)
    done = cli("papers", "--run", "--jobs", jobs, ends=70, stderr="p-bad: ScenarioError: ")
    assert "p-t agrees in shape" in " ".join(done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize(("word", "status"), [("right", 0), ("wrong", 1)])
def test_an_item_that_a_test_holds_runs_the_test(one_item, word, status):
    one_item("agrees in shape")
    cli("papers", f"p-{word}", ends=status)


def test_without_a_name_all_are_listed_and_none_is_run(one_item):
    one_item("agrees in shape")
    done = cli("papers", "--json")
    assert [(one["id"], one["outcome"], one["ran"]) for one in json.loads(done.stdout)] == [
        ("p-t", "agrees", None), ("p-f", "cannot be run", None), ("p-right", "agrees", None),
        ("p-wrong", "agrees", None),
    ]  # fmt: skip


def test_an_unknown_item_is_wrong_input():
    cli("papers", "dp-recal-fig-99", ends=2, stderr="dp-recal-fig-99")
