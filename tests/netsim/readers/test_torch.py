"""With `backend="torch"` values are NumPy's to the stated tolerance, and orders, times and counts are the same."""

from dataclasses import replace
from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest

from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, PrivateGradientDescent, Setting, stable_step
from netsim.codecs import Float16
from netsim.errors import ScenarioError, install
from netsim.models import MLP, LeNet, Linear, Model, Penalty, Softmax
from netsim.network.laws import ConstantDelay, UniformDelay
from netsim.network.links import LinkLaw
from netsim.node import Computed, Node
from netsim.problems import Modelled, Problem, Tilted
from netsim.problems.problem import stacked_gradients
from netsim.readers import torch_gradients
from netsim.readers.torch_gradients import TOLERANCE, TorchGradients
from netsim.schedules import Constant
from netsim.settings import NetworkSettings
from netsim.simulation import Run, Simulation
from scenarios.stages.worlds import worlds
from tests.netsim.algorithms.every import AGENTS, EXAMPLES, GRAPHS
from tests.worlds import changed

MODELS: dict[str, Model] = {
    "softmax": Softmax(6, 3), "softmax without intercept": Softmax(6, 3, intercept=False),
    **{f"mlp, {name}": MLP((6, 5, 4, 3), name, 2) for name in ("sigmoid", "tanh", "softplus", "relu")},
    "mlp from 0": MLP((6, 5, 3)), "lenet": LeNet((5, 6), 3, 1), "lenet in colour": LeNet((4, 5, 3), 3),
}  # fmt: skip
LAWS = {
    "ideal": {},
    "random delays, computing": {"links": LinkLaw(UniformDelay(0.1, 2.0)), "compute": UniformDelay(0.5, 1.5)},
    "one delay, single precision": {"links": LinkLaw(ConstantDelay(1.0)), "codec": Float16()},
}
NAMES = [
    name for name, example in EXAMPLES.items()
    if vars(type(example.algorithm())).get("stackable") and "batch" not in name
]  # fmt: skip
DESCENT = PrivateGradientDescent(3, Constant(0.1))
there = pytest.mark.skipif(find_spec("torch") is None, reason=f"PyTorch is not installed: {install('torch')}")


@cache
def network(model: str, records: tuple[int, ...] = (4,) * AGENTS) -> Problem:
    """Agents with so many records each."""
    law, rng = MODELS[model], np.random.default_rng(7)
    parts = ((rng.normal(size=(m, law.width)), rng.integers(0, 3, m).astype(float)) for m in records)
    return Problem(tuple(Modelled(features, labels, law, Penalty(0.1)) for features, labels in parts))


def near(one: np.ndarray, other: np.ndarray, tolerance: float = TOLERANCE) -> None:
    assert one.shape == other.shape
    assert np.abs(one - other).max(initial=0.0) <= tolerance * np.abs(other).max(initial=0.0)


def alike(one: Run, other: Run) -> None:
    """Of two runs values are near, and all else is equal."""
    for fact in ("activations", "time", "traffic", "queries", "interrupted", "tossed", "rejected", "unstacked"):
        assert getattr(one, fact) == getattr(other, fact), fact
    for mine, its in zip(one.views, other.views, strict=True):
        assert [r[:-1] for r in mine.transcript] == [r[:-1] for r in its.transcript]
        for row, its_row in zip(mine.transcript, its.transcript, strict=True):
            assert row.values.keys() == its_row.values.keys()
        for name in {name for row in mine.transcript for name in row.values}:
            near(*(np.stack([r.values[name] for r in v.transcript if name in r.values]) for v in (mine, its)))
    assert one.metrics is not None
    assert other.metrics is not None
    assert (one.metrics.times, one.metrics.agents) == (other.metrics.times, other.metrics.agents)
    assert one.metrics.ledger == other.metrics.ledger
    near(one.metrics.relative_errors(), other.metrics.relative_errors())


def world(algorithm: Algorithm, here: Problem, graph=GRAPHS["ring"], **fields) -> Simulation:
    ears = Adversary(), Adversary("inside", ((0, 1),), insiders=(4,))
    return changed(Simulation(here, graph, algorithm, adversaries=ears, replicas=2, seed=5), **fields)


def both(simulation: Simulation) -> tuple[Run, Run]:
    return replace(simulation, backend="torch").run(), replace(simulation, reader="stacked").run()


# ── values ──────────────────────────────────────────────────────────────────────────────────────────────
@there
@pytest.mark.parametrize("model", sorted(MODELS))
@pytest.mark.parametrize("room", [1, 10**6])
def test_gradients_are_numpy_s_to_some_digits(model, room, monkeypatch):
    monkeypatch.setitem(torch_gradients.ROOM, "cpu", room)
    for records in ((4,) * 5, (3, 1, 4, 1, 3)):
        objectives = network(model, records).objectives
        for replicas in (1, 3):
            x = np.random.default_rng(3).normal(scale=2.0, size=(5, replicas, MODELS[model].dimension))
            near(TorchGradients(objectives, "cpu")(x), stacked_gradients(objectives)(x), 1e-13)


@there
def test_far_away_a_softplus_is_no_straight_line():
    objectives = network("mlp, softplus").objectives
    for scale in (20.0, 300.0):
        x = np.random.default_rng(3).normal(scale=scale, size=(AGENTS, 2, objectives[0].dimension))
        near(TorchGradients(objectives, "cpu")(x), stacked_gradients(objectives)(x), 1e-13)


@there
@pytest.mark.parametrize("name", NAMES)
def test_every_stackable_algorithm_is_numpy_s_to_the_tolerance(name):
    example = EXAMPLES[name]
    alike(*both(world(example.algorithm(), network("softmax"), GRAPHS[example.graph])))


@there
@pytest.mark.parametrize("model", sorted(MODELS))
@pytest.mark.parametrize("law", sorted(LAWS))
def test_every_network_and_model_is_numpy_s_to_the_tolerance(model, law):
    here = network(model)
    step = stable_step(here.smoothness, GRAPHS["ring"]) / 2
    for algorithm in (PrivateGradientDescent(12, Constant(step)), EXAMPLES["nids"].algorithm(step=step)):
        run, numpy = both(world(algorithm, here, **LAWS[law]))
        alike(run, numpy)
        assert run.computed == Computed("stacked", None, "torch", torch_gradients.device())
        assert numpy.computed == Computed("stacked", None)


@there
def test_audits_have_numpy_s_bits():
    here = network("softmax")
    made = Simulation(here, topology.ring(AGENTS), replace(DESCENT, scale=Constant(0.5)), backend="torch")
    assert made.run().computed.backend == "torch"
    sample = worlds(made, 1, here.objectives[2], 2)(0, 0)
    assert sample.computed == Computed("stacked", None, "numpy")


class Leaps(PrivateGradientDescent):
    """Takes steps of any length."""

    stackable = True

    def check(self, setting: Setting) -> None:
        """Nothing."""


@there
def test_a_run_that_diverges_is_a_result():
    run, numpy = both(world(Leaps(5, Constant(1e200)), network("mlp, relu"), measure=False))
    for each in (run, numpy):
        *_, last = each.views[0].transcript
        assert not np.isfinite(last.values["x"]).all()
    assert run.time == numpy.time


# ── refused by name ─────────────────────────────────────────────────────────────────────────────────────
class Batches(PrivateGradientDescent):
    """Asks for gradients of public batches."""

    stackable = True

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for k in range(self.rounds):
            received = await node.exchange(x=x)
            x = received.mix("x") - 0.1 * await node.gradient(x, [k % 2])
            node.estimate(x)


class Numbered(PrivateGradientDescent):
    """Looks at its number."""

    stackable = True

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            received = await node.exchange(x=x)
            x = received.mix("x") - (0.1 if node.id == 2 else 0.2) * await node.gradient(x)
            node.estimate(x)


LINEAR = Modelled(np.eye(2, 3), np.zeros(2), Linear(3))
TILTED = Tilted(network("softmax").objectives[0], np.ones(MODELS["softmax"].dimension))


@there
@pytest.mark.parametrize(
    ("why", "fields"),
    [
        ("not of a LeastSquares", {"problem": EXAMPLES["nids"].simulation().problem}),
        ("not of a loss of the model 'linear'", {"problem": Problem((LINEAR,) * AGENTS)}),
        ("not of a Tilted", {"problem": Problem((TILTED, *network("softmax").objectives[1:]))}),
        ("links lose packets", {"network": NetworkSettings(LinkLaw(loss=0.1, reliable=True))}),
        ("live reader was asked for", {"reader": "live"}),
        ("a walk is one agent", {"algorithm": EXAMPLES["walkman"].algorithm(penalty=9.0)}),
    ],
)
def test_what_torch_does_not_carry_is_refused_before_time_0(why, fields):
    simulation = Simulation(network("softmax"), topology.ring(AGENTS), DESCENT)
    with pytest.raises(ScenarioError, match=why) as refused:
        replace(simulation, backend="torch", **fields)
    assert refused.value.field == "backend"


@there
@pytest.mark.parametrize(("algorithm", "why"), [(Batches, "gradients of batches"), (Numbered, "agent's number")])
def test_what_only_a_run_shows_ends_it(algorithm, why):
    made = algorithm(3, Constant(0.1))
    with pytest.raises(ScenarioError, match=why):
        Simulation(network("softmax"), topology.ring(AGENTS), made, backend="torch").run()
    assert Simulation(network("softmax"), topology.ring(AGENTS), made).run().computed.backend == "numpy"


def test_without_pytorch_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(torch_gradients, "find_spec", lambda name: None)
    with pytest.raises(ScenarioError, match=r"backend.*PyTorch is not installed.*\[torch\]"):
        Simulation(network("softmax"), topology.ring(AGENTS), DESCENT, backend="torch")


def test_a_backend_that_there_is_not():
    with pytest.raises(ScenarioError, match="backend"):
        Simulation(network("softmax"), topology.ring(AGENTS), DESCENT, backend="jax")  # type: ignore[arg-type]
