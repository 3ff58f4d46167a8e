"""The tree of results: real runs go into it and back, and its schema accepts what it writes."""

import importlib.util
import json
import math
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from netsim.errors import ScenarioError
from scenarios.files.document import dotted
from scenarios.results.audit import AuditResult
from scenarios.results.base import Refused, Table
from scenarios.results.tree import SCHEMA_VERSION, Results, dumps, loads, schema
from scenarios.schema.load import parse
from scenarios.stages.study import run_study

RICH = """\
name: rich
seed: 5
replicas: 2
problem:
  kind: logistic
  data: {name: synthetic, records: 160, dimension: 4, seed: 3, norm_bound: 1.0}
  ridge: 0.5
  held_out: 0.4
topology: {kind: ring, agents: 5}
links: {delay: {kind: constant, seconds: 0.01}, reliable: true, loss: 0.1}
adversary: {links: all}
algorithms:
  - {kind: recal, name: plain, activations: 30, baseline: true}
  - {kind: dp_recal, name: leaky, per_agent: 5, ratio: 1.05}
attacks:
  traffic: true
  reconstruct: [{kind: posterior}, {kind: one_record}]
  membership: {trials: 20, adjacency: replace}
  property:
    trials: 10
    draws: 50
    hypotheses: [{name: even, shares: [0.5, 0.5]}, {name: odd, shares: [0.1, 0.9]}]
measures: {accuracies: [0.5, 1.0e-9]}
audit: {agent: 1, trials: 60, chunk: 30, views: links, classifier: true}
"""
STUDY = """\
name: study
problem:
  kind: logistic
  data: {name: synthetic, records: 40, dimension: 3, seed: 3}
topology: {kind: ring, agents: 4}
algorithms: [{kind: extra, name: descent, rounds: 8, step: 0.001}]
attacks: {gradients: false}
grid: {"algorithms[0].step": [0.001, 0.002]}
figures: [{title: errors, x: rounds, y: relative_error}]
reproduces:
  paper: none
  item: none
  shows: a decreasing error
  checks: [{says: it falls, measure: final, of: descent, below: 1.0e9}]
"""


def ran(text: str, folder: Path) -> dict[str, Any]:
    tree = run_study(parse(text, "file.yaml"), folder)
    written = (folder / "results.json").read_text()
    assert loads(written) == tree
    assert dumps(loads(written)).strip() == written.strip()  # to the byte: 4 is not written as 4.0 the next time
    return json.loads(written)


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    return ran(RICH, tmp_path_factory.mktemp("rich") / "rich")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return ran(STUDY, tmp_path_factory.mktemp("study") / "study")


@pytest.fixture(params=["rich", "study"])
def written(request):
    return request.getfixturevalue(request.param)


class TestRealResults:
    @pytest.mark.few(2)
    def test_agree_with_the_schema(self, written):
        validator = jsonschema.Draft202012Validator(schema())
        assert not list(validator.iter_errors(json.loads(dumps(loads(json.dumps(written))))))

    def test_are_typed_to_the_leaves(self, rich):
        audit = loads(json.dumps(rich)).algorithms[1].audit
        assert isinstance(audit, AuditResult)
        assert isinstance(audit.epsilon_exact.lower, float)
        assert audit.growth[0].activation >= 1


ODD = (math.inf, -math.inf, math.nan)


class TestNumbersThatJsonLacks:
    @pytest.fixture
    def odd(self, rich):
        tree = loads(json.dumps(rich))
        entry = tree.algorithms[0]
        assert entry.convergence is not None
        curve = replace(entry.convergence, median=(*ODD, *entry.convergence.median[3:]), final=math.inf)
        return replace(tree, algorithms=(replace(entry, convergence=curve),))

    def test_are_texts_in_the_file_and_numbers_in_the_tree(self, odd):
        text = dumps(odd)
        assert json.loads(text)["algorithms"][0]["convergence"]["median"][:3] == ["inf", "-inf", "nan"]
        back = loads(text).algorithms[0].convergence
        assert back is not None
        assert back.median[:2] == (math.inf, -math.inf)
        assert math.isnan(back.median[2])
        assert back.final == math.inf
        assert dumps(loads(text)) == text

    def test_are_in_the_schema(self, odd):
        jsonschema.Draft202012Validator(schema()).validate(json.loads(dumps(odd)))

    def test_a_name_stays_a_text(self, rich):
        tree = replace(loads(json.dumps(rich)), title="inf", description="nan")
        assert loads(dumps(tree)) == tree


class TestOtherFiles:
    def test_a_newer_version_is_refused(self, study):
        with pytest.raises(ScenarioError, match="newer netsim"):
            loads(json.dumps(study | {"schema_version": SCHEMA_VERSION + 1}))

    def test_a_file_without_a_version_is_an_older_one(self, study):
        old = {key: value for key, value in study.items() if key != "schema_version"}
        with pytest.raises(ScenarioError, match="older netsim"):
            loads(json.dumps(old))

    def test_a_key_of_nobody_is_named(self, study):
        with pytest.raises(ScenarioError, match="anatomy"):
            loads(json.dumps(study | {"anatomy": 1}))

    @pytest.mark.parametrize(
        ("path", "value", "says"),
        [
            (("algorithms", 1, "audit", "verdict"), "splendid", "verdict = 'splendid': none of 'refuted', "),
            (("algorithms", 1, "audit", "trials"), "many", "trials = 'many': is not a whole number"),
            (("algorithms", 0, "convergence", "median"), 3, "median = 3: is not a list"),
            (("algorithms", 0, "slug"), "A B", "slug = 'A B': out of range: it is small letters"),
            (("problem",), 3, "problem = 3: is not a mapping of fields"),
        ],
    )
    def test_a_value_that_was_changed_is_named_as_the_file_has_it(self, rich, path, value, says):
        tree = json.loads(json.dumps(rich))
        reduce(lambda node, key: node[key], path[:-1], tree)[path[-1]] = value
        with pytest.raises(ScenarioError) as caught:
            loads(json.dumps(tree))
        assert str(caught.value).startswith(f"results.json: {dotted(path[:-1])}.{says}".replace(": .", ": "))
        remedy = "the results.json that this version of netsim wrote, or netsim run again"
        assert str(caught.value).endswith(f"; allowed: {remedy}")

    def test_windows_that_hold_another_number_of_packets_are_refused(self, rich):
        tree = json.loads(json.dumps(rich))
        tree["algorithms"][0]["timeline"]["windows"][0]["packets"] += 1
        with pytest.raises(ScenarioError, match="the windows"):
            loads(json.dumps(tree))

    def test_a_column_that_lacks_an_entry_is_refused_in_every_table(self, rich):
        found = list(columns(loads(json.dumps(rich)), ()))
        assert {kind for kind, _ in found} >= {"Timeline", "Budget", "GradientResult", "Convergence", "ExactCurve"}
        for _, path in found:
            tree = json.loads(json.dumps(rich))
            reduce(lambda node, key: node[key], path, tree).pop()
            with pytest.raises(ScenarioError, match="columns of one table"):
                loads(json.dumps(tree))

    @pytest.mark.parametrize("text", ["", "[]", "{", "3"])
    def test_what_is_no_results_is_refused(self, text):
        with pytest.raises(ScenarioError):
            loads(text)


def columns(tree, path):
    """Every list that is a column of a table, but those that stand alone: the table's name and the list's path."""
    if isinstance(tree, tuple):
        for k, one in enumerate(tree):
            yield from columns(one, (*path, k))
    elif is_dataclass(tree):
        of = {one.name: getattr(tree, one.name) for one in fields(tree)}
        if isinstance(tree, Table):
            names = [name for name in tree.COLUMNS or of if isinstance(of[name], tuple) and of[name]]
            yield from ((type(tree).__name__, (*path, name)) for name in names if len(names) > 1)
        for name, one in of.items():
            yield from columns(one, (*path, name.rstrip("_")))


class TestTheTree:
    def test_is_frozen(self):
        with pytest.raises(FrozenInstanceError):
            Refused(refused="no").refused = "yes"

    def test_no_field_is_of_any_type(self):
        assert not [
            (kind.__name__, one.name)
            for kind in kinds(Results, set())
            for one in fields(kind)
            if Any in parts(one.type)
        ]

    def test_every_class_is_documented(self):
        assert all(
            kind.__doc__ and not kind.__doc__.startswith(kind.__name__ + "(") for kind in kinds(Results, set())
        )

    def test_attribute_docstrings_are_in_the_schema_those_of_bases_too(self):
        parts = {"Results": schema()} | schema()["$defs"]
        assert "Θ" in parts["RunSummary"]["properties"]["largest_activations"]["description"]
        assert parts["GradientResult"]["properties"]["worst"]["description"] == "Largest error."
        own = {kind.__name__ for kind in kinds(Results, set())} & set(parts)
        assert len(own) > 60
        assert not [
            (name, key)
            for name in own
            for key, value in parts[name]["properties"].items()
            if not value.get("description")
        ]


def parts(kind: Any) -> list[Any]:
    return [kind, *(inner for one in get_args(kind) for inner in parts(one))]


def kinds(kind: Any, found: set[type]) -> set[type]:
    """The dataclasses that a type is made of."""
    for one in parts(kind):
        if isinstance(one, type) and is_dataclass(one) and one not in found:
            found.add(one)
            for each in fields(one):
                kinds(each.type, found)
    return found


def test_nothing_of_the_tree_imports_a_stage_or_a_page():
    spec = importlib.util.find_spec("scenarios.results")
    assert spec is not None
    assert spec.origin is not None
    below = (
        "scenarios.results",
        "scenarios.schema",
        "scenarios.files",
    )
    tree = ["base", "run", "attacks", "traffic", "budgets", "audit", "views", "reproduction"]
    tree += ["tree", "attacked", "findings"]
    for file in (Path(spec.origin).with_name(f"{name}.py") for name in tree):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith("from scenarios"):
                assert line.split()[1].startswith(below), (file.name, line)
