"""Python → YAML → Python is the identity: on every shipped file, and on all that a file can say, drawn."""

import math
from types import NoneType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

import scenarios.schema
from netsim.errors import ScenarioError
from scenarios import Scenario, dump, load
from scenarios.loader import library, parse
from scenarios.reference import places
from scenarios.reproduction.variants import expanded
from scenarios.saying import same
from scenarios.schema import DpRecal, Extra, Links, Problem, Ring, Synthetic
from scenarios.schema.base import public_name

MODELS = [model for _, model in places(Scenario)]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize("name", sorted(library()))
def test_every_shipped_file_and_its_variants(name):
    located = parse(library()[name], f"{name}.yaml")
    variants = expanded(located)
    for scenario in [located.scenario, *(one.located.scenario for one in variants[:: max(1, len(variants) // 4)])]:
        assert same(load(dump(scenario)), scenario)
    assert same(load(dump(located.scenario, full=True)), located.scenario)


def test_what_is_said_is_what_differs():
    scenario = Scenario(
        name="first",
        topology=Ring(agents=8),
        links=Links(loss=0.1),
        algorithms=[DpRecal(per_agent=10), Extra(rounds=3, name="E")],
    )
    assert dump(scenario) == (
        "name: first\n"
        "topology: {kind: ring, agents: 8}\n"
        "links: {loss: 0.1}\n"
        "algorithms:\n"
        "  - {kind: dp_recal, per_agent: 10}\n"
        "  - {kind: extra, name: E, rounds: 3}\n"
    )
    said = dump(scenario, full=True)
    assert all(f"\n{name}:" in f"\n{said}" for name in Scenario.model_fields)


def test_a_default_that_depends_on_other_fields_is_said():
    """An mlp's ridge is 0 unless it is said, so 1 has to be, although it is the default elsewhere."""
    one, none = Problem(kind="mlp", ridge=1.0), Problem(kind="mlp")
    scenario = Scenario(name="a", topology=Ring(agents=3), algorithms=[Extra(rounds=1)])
    assert "ridge: 1.0" in dump(scenario.replace(problem=one))
    assert "ridge" not in dump(scenario.replace(problem=none))
    for problem in (one, none, Problem(kind="sensors"), Problem(kind="sensors", data=Synthetic())):
        again = load(dump(scenario.replace(problem=problem)))
        assert same(again.problem, problem)


def test_python_words_are_the_files_words():
    for model in MODELS:
        assert getattr(scenarios.schema, public_name(model)) is model
    for name in ("eavesdropper-on-dp-recal", "radio-corner", "man-in-the-middle"):
        scenario = load(name)
        assert same(eval(repr(scenario), vars(scenarios.schema)), scenario)


def test_options_and_replacements():
    scenario = load("private-descent", "links.loss=0.25")
    assert scenario.links.loss == 0.25
    again = scenario.with_options("links.loss=1e-5", "algorithms[0].rounds=7")
    assert (again.links.loss, again.algorithms[0].rounds, scenario.links.loss) == (1e-5, 7, 0.25)
    assert scenario.replace(seed=9).with_options("seed=3") == scenario
    with pytest.raises(ScenarioError) as caught:
        scenario.with_options("links.los=1", "seed=x")
    assert str(caught.value).splitlines() == [
        "-o links.los = 1: unknown field; did you mean 'loss'?; allowed: delay, loss, bandwidth, buffer, reliable, "
        "timeout, reordering, duplication, outages, encrypted, authenticated",
        "-o seed = 'x': wrong type: text; allowed: a whole number",
    ]


def test_what_python_gets_wrong_is_told_in_the_same_words():
    with pytest.raises(ScenarioError) as caught:
        Ring(agents=2)
    assert str(caught.value) == "agents = 2: out of range; allowed: >= 3"
    with pytest.raises(ScenarioError) as caught:
        Scenario(name="A b", topology=Ring(agents=3), algorithms=[], links={"loss": "0.2"})
    assert str(caught.value).splitlines() == [
        "name = 'A b': not of the form of a name; did you mean 'a-b'?; allowed: small letters, digits and hyphens: "
        "^[a-z0-9][a-z0-9-]*$",
        "links.loss = '0.2': not one of the allowed values: it stands in quotes; did you mean 0.2?; allowed: a number, "
        "{kind: gilbert_elliott, …} or {kind: trace, …}",
        "algorithms = []: out of range; allowed: at least one entry",
    ]


@given(value=st.floats(allow_nan=False, allow_infinity=False, min_value=0))
@settings(max_examples=200, deadline=None)
def test_numbers_survive_to_the_last_bit(value):
    scenario = Scenario(name="a", topology=Ring(agents=3), algorithms=[Extra(rounds=1)])
    said = scenario.replace(problem=Problem(ridge=value))
    assert same(load(dump(said)), said)
    assert math.copysign(1, load(dump(said)).problem.ridge) == math.copysign(1, value)


def test_minus_zero_is_not_zero():
    scenario = Scenario(name="a", topology=Ring(agents=3), algorithms=[Extra(rounds=1)], links=Links(loss=-0.0))
    assert math.copysign(1, load(dump(scenario)).links.loss) == -1


@given(text=st.text(st.characters(exclude_categories=("Cs",)), max_size=40), values=st.lists(ANYTHING, min_size=1))
@settings(max_examples=150, deadline=None)
def test_texts_and_values_of_any_kind_survive(text, values):
    scenario = Scenario(
        name="a", title=text, topology=Ring(agents=3), algorithms=[Extra(rounds=1)], grid={text: values}
    )
    assert same(load(dump(scenario)), scenario)


# ── scenarios over every form of every field ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("model", MODELS, ids=public_name)
@given(data=st.data())
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_form_survives(model, data):
    """A drawn instance of every model that a file can hold, said and read again through the mapping of its YAML."""
    from scenarios.tree import plain
    from scenarios.yamlfile import read_yaml

    one = data.draw(_instance(model))
    assume(one is not None)
    for full in (False, True):
        assert same(model.model_validate(plain(read_yaml(dump(one, full) or "{}", "drawn"))), one)


def _instance(model: type[BaseModel], depth: int = 0) -> st.SearchStrategy[Any]:
    @st.composite
    def drawn(draw):
        fields = {}
        for name, field in model.model_fields.items():
            if field.is_required() or draw(st.integers(0, 2 + depth)) == 0:
                fields[name] = draw(_value(field.annotation, field.metadata, depth))
        for _ in range(len(fields) + 1):
            try:
                return model.model_validate(fields)
            except (ValidationError, ScenarioError) as error:  # what depends on other fields: say less
                optional = [n for n in fields if not model.model_fields[n].is_required()]
                if not optional or not isinstance(error, ValidationError):
                    return None
                fields.pop(optional[-1])
        return None

    return drawn()


def _value(annotation: Any, bounds: Any, depth: int) -> st.SearchStrategy[Any]:
    origin, inner = get_origin(annotation), get_args(annotation)
    bounds = [b for one in bounds for b in (one.metadata if isinstance(one, FieldInfo) else [one])]
    limits = {
        key: getattr(b, key) for b in bounds for key in ("gt", "ge", "lt", "le") if getattr(b, key, None) is not None
    }
    if origin is Annotated:
        return _value(inner[0], [*inner[1:], *bounds], depth)
    if origin is Literal:
        return st.sampled_from(inner)
    if annotation is NoneType:
        return st.none()
    if annotation is float:
        low, high = limits.get("gt", limits.get("ge", -1e6)), limits.get("lt", limits.get("le", 1e6))
        return st.floats(low, high, exclude_min="gt" in limits, exclude_max="lt" in limits)
    if annotation is int:
        low = limits.get("ge", limits.get("gt", -1) + 1)
        return st.integers(low, max(low, min(limits.get("le", 50), low + 50)))
    if annotation is bool:
        return st.booleans()
    if annotation is str:
        pattern = next((b.pattern for b in bounds if getattr(b, "pattern", None)), None)
        return st.from_regex(pattern, fullmatch=True) if pattern else st.text(min_size=1, max_size=6)
    if annotation is Any:
        return ANYTHING
    size = {k: getattr(b, k) for b in bounds for k in ("min_length", "max_length") if getattr(b, k, None) is not None}
    least = size.get("min_length", 0)
    if origin is list:
        return st.lists(_value(inner[0], (), depth + 1), min_size=least, max_size=size.get("max_length", least + 2))
    if origin is dict:
        return st.dictionaries(
            st.text(min_size=1, max_size=5), _value(inner[1], (), depth), min_size=least, max_size=2
        )
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _instance(annotation, depth + 2).filter(lambda one: one is not None)
    assert origin is Union or inner, annotation
    return st.one_of([_value(one, bounds, depth) for one in inner])
