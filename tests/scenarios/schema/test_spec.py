"""Specs: what a scenario says of a core dataclass is what the dataclass declares."""

from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

import pytest
from annotated_types import Ge, Le
from pydantic import TypeAdapter

from attacks.audit.verdict import Verdict
from netsim import algorithms, topology
from netsim.algorithms import Algorithm
from netsim.bounds import MOST, Count, Positive
from netsim.claims import Adjacency
from netsim.errors import ScenarioError
from netsim.network import laws
from netsim.problems import build, load
from netsim.schedules import Constant
from scenarios.schema import AlgorithmSpec, Ground, Links, LognormalDelay, Ring
from scenarios.schema.checks import VERDICTS
from scenarios.schema.load import load_scenario
from scenarios.schema.spec import KINDS, Spec, meaning, parameters
from tests.worlds import refusal


@dataclass(frozen=True)
class Core:
    """A part of the core.

    With more to say of it than a scenario does.
    """

    hops: Count
    """How many hops."""
    seconds: Positive
    share: Annotated[float, Ge(0), Le(1)] = 0.5
    places: tuple[float, ...] = ()
    pair: tuple[int, int] = (0, 1)
    delay: laws.DelayLaw = field(default_factory=lambda: laws.ConstantDelay(0.0))
    derived: int = field(default=0, init=False)


class CoreSpec(Spec, of=Core, kind="core"):
    seconds: Literal["long"] | Positive = "long"


def test_fields_bounds_and_defaults_are_the_cores():
    schema = CoreSpec.model_json_schema()["properties"]
    assert list(schema) == ["kind", "hops", "seconds", "share", "places", "pair", "delay"]
    assert schema["hops"] == {"minimum": 1, "maximum": MOST, "title": "Hops", "type": "integer"}
    assert (schema["share"]["maximum"], schema["share"]["default"]) == (1, 0.5)
    assert (schema["pair"]["minItems"], schema["pair"]["maxItems"], schema["pair"]["default"]) == (2, 2, [0, 1])
    assert CoreSpec.__doc__ == "A part of the core."
    assert set(CoreSpec.model_fields) == set(parameters(Core)) | {"kind"}


def test_it_builds_the_core():
    spec = CoreSpec(hops=2, seconds=3.0, places=[1.0, 2.0], delay=LognormalDelay(median=1.0, sigma=0.0))
    assert spec.build() == Core(2, 3.0, 0.5, (1.0, 2.0), (0, 1), laws.LognormalDelay(1.0, 0.0))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hops": 0}, "hops = 0: out of range; allowed: 1 … 10000000"),
        ({"hops": 1, "hop": 2}, "hop = 2: unknown field; did you mean 'hops'?"),
        ({"hops": 1, "places": [float("inf")]}, "places[0] = inf: out of range; allowed: a finite number"),
        ({"hops": 1, "derived": 2}, "derived = 2: unknown field"),
    ],
)
def test_what_is_wrong_is_told_as_of_a_file(given, message):
    assert message in str(refusal(CoreSpec, **given))


def test_an_error_of_the_core_has_the_path_from_the_whole():
    assert refusal(Links(delay={"kind": "uniform", "low": 2.0, "high": 1.0}).build).field == "delay.high"


def test_documentation_is_read_where_the_field_is_declared():
    assert meaning(LognormalDelay, "median") == "The median delay, in seconds."
    assert meaning(Ring, "agents") == "How many agents."
    assert meaning(Ring, "kind") == "Which of the possible kinds this is."


def test_every_algorithm_of_the_core_can_be_named_in_a_scenario():
    ours = {one for one in vars(algorithms).values() if isinstance(one, type) and issubclass(one, Algorithm)}
    assert ours - {Algorithm} <= {getattr(one, "of", None) for one in KINDS}


def test_auto_is_what_the_core_makes_of_the_problem_and_the_graph(ground):
    kinds: TypeAdapter = TypeAdapter(AlgorithmSpec)
    smoothness, least = ground.problem.smoothness, ground.topology.least_eigenvalue
    nids = kinds.validate_python({"kind": "nids", "rounds": 2}).build(ground)
    assert nids == algorithms.Nids(2, 1 / smoothness, scale=Constant(0.0))
    cpgt = kinds.validate_python({"kind": "cpgt", "rounds": 2, "ratio": 0.9, "gamma": 0.5}).build(ground)
    assert cpgt.step == 0.5 * (1 + least) ** 2 / (4 * smoothness)


@pytest.fixture
def ground():
    parts = load("digits", norm_bound=4.0).split(5, 0)
    return Ground(build("logistic", parts, 1.0), topology.ring(5), Adjacency(0.5, "a record"))


def test_checks_know_every_verdict():
    assert get_args(VERDICTS) == tuple(Verdict)


@pytest.mark.parametrize("made", [Ring(agents=5), load_scenario("private-descent").scenario])
def test_what_is_not_changed_says_how_another_is_made(made):
    field = next(iter(type(made).model_fields))
    what = type(made).__name__.removesuffix("Spec")
    with pytest.raises(ScenarioError, match=rf"a {what} is not changed: .*; allowed: .* = .*\.replace\({field}=…\)"):
        setattr(made, field, getattr(made, field))
