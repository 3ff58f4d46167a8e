"""Variants: the base with fields replaced, named, validated whole; errors name variant, field, file and line."""

import itertools

import pytest

from netsim.errors import ScenarioError
from scenarios.schema import Scenario
from scenarios.schema.load import expanded, parse
from scenarios.stages.study import planned
from tests.worlds import refusal

BASE = """\
name: base
title: A base
topology: {kind: ring, agents: 5}
algorithms:
  - {kind: recal, activations: 6}
variants:
  - {name: small, set: {topology.agents: 4, links.loss: 0.1}}
  - name: star
    set:
      algorithms[0].activations: 7
      topology: {kind: star, agents: 3}
grid:
  seed: [1, 2]
  algorithms[0].step: [auto, 0.25]
"""


def refused(text: str) -> ScenarioError:
    return refusal(lambda: planned(parse(text, "base.yaml")))


def test_each_of_the_list_at_each_point_of_the_grid():
    names = [one.name for one in expanded(parse(BASE))]
    points = itertools.product(("small", "star"), ("seed-1", "seed-2"), ("step-auto", "step-0.25"))
    assert names == ["-".join(point) for point in points]


def test_a_variant_is_the_base_with_these_fields_replaced_and_nothing_else():
    base = parse(BASE).scenario
    for one in expanded(parse(BASE)):
        scenario = one.located.scenario
        changed = {name for name in Scenario.model_fields if getattr(scenario, name) != getattr(base, name)}
        assert changed <= {"title", "variants", "grid", "seed", "topology", "links", "algorithms"}
        assert scenario.name == base.name
        assert scenario.seed == one.fields["seed"]
        assert scenario.algorithms[0].step == one.fields["algorithms[0].step"]
        if one.name.startswith("small"):
            assert (scenario.topology.agents, scenario.links.loss, scenario.algorithms[0].activations) == (4, 0.1, 6)
        else:
            assert (scenario.topology.kind, scenario.links.loss, scenario.algorithms[0].activations) == ("star", 0, 7)


def test_a_star_in_brackets_is_every_entry_of_a_list():
    two = BASE.replace("activations: 6}", "activations: 6}\n  - {kind: recal, name: b, activations: 6}")
    text = two.replace("algorithms[0].step: [auto, 0.25]", '"algorithms[*].step": [0.125, 0.25]')
    one = expanded(parse(text))[1]
    assert one.name == "small-seed-1-step-0.25"
    assert one.fields["algorithms[*].step"] == 0.25
    assert [entry.step for entry in one.located.scenario.algorithms] == [0.25, 0.25]


def test_python_makes_the_same_variants_as_a_file_and_the_base_is_left_as_it_was():
    located = parse(BASE)
    before = located.scenario.model_dump()
    first, second, said = expanded(located), expanded(located), expanded(located.scenario)
    for others in (second, said):
        assert [(v.name, v.fields, v.located.scenario) for v in first] == [
            (v.name, v.fields, v.located.scenario) for v in others
        ]
    assert located.scenario.model_dump() == before


def test_no_variants_of_a_scenario_without():
    text = BASE[: BASE.index("variants:")]
    assert expanded(parse(text)) == ()
    assert planned(parse(text)).variants == ()


@pytest.mark.parametrize(
    ("old", "new", "field", "line", "says"),
    [
        ("agents: 4", "agents: 1", "topology.agents", 7, "out of range"),
        ("links.loss", "links.los", "links.los", 7, "did you mean 'loss'"),
        ("activations: 7", "activations: few", "algorithms[0].activations", 10, "whole number"),
        ("{kind: star, agents: 3}", "{kind: star, agents: -3}", "topology.agents", 11, "out of range"),
        ("algorithms[0].activations", "algorithms[3].activations", "algorithms[3].activations", 10, "no entry"),
        ("algorithms[0].activations", "title.first", "title.first", 10, "title is no mapping"),
        ("links.loss", "reproduces.paper", "reproduces.paper", 7, "all variants together"),
        ("0.25]", "-1.0]", "algorithms[0].step", 14, "out of range"),
        ("agents: 4", "agents: 4000", "topology.agents", 7, "record of its own"),
    ],
)
def test_an_error_names_the_variant_the_field_and_the_line(old, new, field, line, says):
    assert old in BASE
    error = refused(BASE.replace(old, new))
    assert error.file == "base.yaml"
    assert error.line == line
    name, _, path = error.field.partition(": ")
    assert path == field
    assert name.startswith(("variant small", "variant star"))
    assert says in str(error)


def test_an_error_of_the_base_names_no_variant():
    error = refused(BASE.replace("activations: 6", "activations: 0"))
    assert (error.field, error.line) == ("algorithms[0].activations", 5)


def test_two_variants_of_one_name():
    error = refused(BASE.replace("name: star", "name: small"))
    assert "two variants of this name" in str(error)
    assert error.line == 8


def test_values_that_are_mappings_have_names_too():
    text = BASE[: BASE.index("variants:")] + "grid: {topology: [{kind: ring, agents: 4}, {kind: star, agents: 4}]}\n"
    assert [one.name for one in expanded(parse(text))] == ["topology-ring", "topology-star"]
