"""Python → YAML → Python is the identity: on every shipped file, and on all that a file can say, drawn."""

import math
import random
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

import scenarios.schema
from netsim.errors import ScenarioError, written
from scenarios import Scenario, dump, load
from scenarios.files.document import plain, read_yaml
from scenarios.files.library import library
from scenarios.files.models import as_mappings, places
from scenarios.schema import (
    DpRecal,
    Extra,
    Links,
    PrivateGradientDescent,
    Problem,
    PureTarget,
    Ring,
    Synthetic,
    Target,
)
from scenarios.schema.load import expanded, parse
from scenarios.schema.spec import public_name

LIMITS = ("gt", "ge", "lt", "le", "min_length", "max_length", "pattern")
TEXTS = ["yes", "0.2", "a # b", "- x", "DPP², ε ≤ 1: so", " led", "null", "~", "two\nlines", "'", '"', "[", "x" * 130]
TEXTS += ["é\x07"]
MODELS = [model for _, model in places(Scenario)]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


def same(one, other):
    """To the type and the last bit: −0.0 is not 0.0, nor 1 1.0."""
    return type(one) is type(other) and repr(as_mappings(one, True)) == repr(as_mappings(other, True))


@pytest.mark.few(5)
@pytest.mark.parametrize("name", sorted(library()))
def test_every_shipped_file_and_its_variants(name):
    located = parse(library()[name], f"{name}.yaml")
    variants = expanded(located)
    for scenario in [located.scenario, *(one.located.scenario for one in variants[-1:])]:
        assert same(load(dump(scenario)), scenario)
    assert same(load(dump(located.scenario, full=True)), located.scenario)


def test_what_is_said_is_what_differs():
    scenario = Scenario(
        name="first", topology=Ring(agents=8), links=Links(loss=0.1),
        algorithms=[DpRecal(per_agent=10), Extra(rounds=3, name="E")],
    )  # fmt: skip
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
    assert "ridge: 0.0" in dump(scenario.replace(problem=none))
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
    assert sorted(str(caught.value).splitlines()) == [
        "links.los = 1: unknown field; did you mean 'loss'?; allowed: delay, loss, bandwidth, buffer, reliable, "
        "timeout, reordering, duplication, outages, encrypted, authenticated",
        "seed = 'x': wrong type: text; allowed: a whole number",
    ]


def test_what_python_gets_wrong_is_told_in_the_same_words():
    with pytest.raises(ScenarioError) as caught:
        Ring(agents=2)
    assert str(caught.value) == "agents = 2: out of range; allowed: 3 … 1000000"
    with pytest.raises(ScenarioError) as caught:
        Scenario(name="A b", topology=Ring(agents=3), algorithms=[], links={"loss": "0.2"})
    assert sorted(str(caught.value).splitlines()) == [
        "algorithms = []: out of range; allowed: at least one entry",
        "links.loss = '0.2': not one of the allowed values: it stands in quotes; did you mean 0.2?; allowed: "
        "a number, {kind: gilbert_elliott, …} or {kind: trace, …}",
        "name = 'A b': not of the form of a name; did you mean 'a-b'?; allowed: small letters, digits and hyphens: "
        "^[a-z0-9][a-z0-9-]*$",
    ]


@pytest.mark.slow
@example(value=-0.0)  # it is not 0.0
@given(value=st.floats(min_value=0, max_value=1e150))
@settings(max_examples=60, deadline=None)
def test_numbers_survive_to_the_last_bit(value):
    scenario = Scenario(name="a", topology=Ring(agents=3), algorithms=[Extra(rounds=1)])
    said = scenario.replace(problem=Problem(ridge=value))
    assert same(load(dump(said)), said)
    assert math.copysign(1, load(dump(said)).problem.ridge) == math.copysign(1, value)


def test_a_default_that_alone_tells_two_models_apart_is_written():
    for target in (Target(epsilon=1.0), PureTarget(epsilon=1.0)):
        algorithm = PrivateGradientDescent(rounds=1, scale=target)
        scenario = Scenario(name="a", topology=Ring(agents=3), algorithms=[algorithm])
        assert same(load(dump(scenario)), scenario)


@pytest.mark.slow
@given(
    text=st.text(st.characters(exclude_categories=("Cs",)).filter(str.isprintable), max_size=40),
    values=st.lists(ANYTHING, min_size=1, unique_by=written),
)
@settings(max_examples=60, deadline=None)
def test_texts_and_values_of_any_kind_survive(text, values):
    scenario = Scenario(
        name="a", title=text, topology=Ring(agents=3), algorithms=[Extra(rounds=1)], grid={text: values}
    )
    assert same(load(dump(scenario)), scenario)


# ── scenarios over every form of every field ────────────────────────────────────────────────────────────
@pytest.mark.few(34)
@pytest.mark.parametrize("model", MODELS, ids=public_name)
def test_every_form_survives(model):
    """Drawn instances of every model that a file can hold, said and read again."""
    kept = [one for seed in range(3) if (one := _instance(model, random.Random(seed))) is not None]
    assert kept, model
    for one in kept:
        for full in (False, True):
            assert same(model.model_validate(plain(read_yaml(dump(one, full) or "{}", "drawn"))), one)


@given(seed=st.integers(0, 2**64))
@settings(max_examples=20, deadline=None)
def test_whole_scenarios_survive(seed):
    scenario = _instance(Scenario, random.Random(seed))
    assume(scenario is not None)
    assert same(load(dump(scenario)), scenario)
    assert same(load(dump(scenario, full=True)), scenario)


def _instance(model: type[BaseModel], rng: random.Random, depth: int = 0) -> Any:
    """A drawn instance; None where what was drawn does not fit together."""
    fields = {}
    for name, field in model.model_fields.items():
        if field.is_required() or rng.randrange(2 + 2 * depth) == 0:
            fields[name] = _value(field.annotation, field.metadata, rng, depth)
    while True:
        try:
            return model.model_validate(fields)
        except ValidationError:  # what depends on other fields: say less
            optional = [name for name in fields if not model.model_fields[name].is_required()]
            if not optional:
                return None
            fields.pop(rng.choice(optional))


def _value(annotation: Any, bounds: Any, rng: random.Random, depth: int) -> Any:
    origin, inner = get_origin(annotation), get_args(annotation)
    bounds = [b for one in bounds for b in (one.metadata if isinstance(one, FieldInfo) else [one])]
    limits = {name: value for b in bounds for name in LIMITS if (value := getattr(b, name, None)) is not None}
    if origin is Annotated:
        return _value(inner[0], [*inner[1:], *bounds], rng, depth)
    if origin is Literal:
        return rng.choice(inner)
    if annotation in (NoneType, bool, float, int, str):
        return _scalar(annotation, limits, rng)
    if annotation is Any:
        return rng.choice([None, True, 3, 0.1, "no", "1e-5", [1, 2.0], {"kind": "ring"}, -0.0, "a: b"])
    many = limits.get("min_length", 0) + rng.randrange(2) if limits.get("max_length", 9) > 2 else 2
    if origin is list:
        return [_value(inner[0], (), rng, depth + 1) for _ in range(many)]
    if origin is dict:
        return {f"links.loss{k}": _value(inner[1], (), rng, depth) for k in range(many)}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        one = next((one for _ in range(20) if (one := _instance(annotation, rng, depth + 1)) is not None), None)
        return None if one is None else one.model_dump()
    return _value(rng.choice(inner), bounds, rng, depth)


def _scalar(kind: Any, limits: dict[str, Any], rng: random.Random) -> Any:
    if kind is NoneType:
        return None
    if kind is bool:
        return rng.random() < 0.5
    if kind is str:
        return rng.choice(["a-1", "a", "b-2"] if "pattern" in limits else TEXTS)
    low, high = limits.get("ge", limits.get("gt", -1000)), limits.get("le", limits.get("lt", 1000))
    if kind is int:
        return rng.randint(low + ("gt" in limits), min(high - ("lt" in limits), low + 40))
    drawn = low + (high - low) * rng.choice([rng.random(), rng.random() * 1e-9])
    return drawn if low < drawn < high else (low + high) / 2
