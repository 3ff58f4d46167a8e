"""What is handed in by mistake in Python: one error names the argument, what came, and what is expected."""

import math
import pathlib
from dataclasses import dataclass
from functools import partial
from importlib import import_module

import networkx
import numpy as np
import pytest

import netsim
import netsim.arguments
from netsim import Adjacency, Adversary, Claim, Gaussian, Laplace, Problem, Simulation, Topology, objective
from netsim.adversary import Wiretaps
from netsim.algorithms import Algorithm, Clip
from netsim.errors import NetsimError, PrivacyError, ScenarioError
from netsim.mechanisms import Mechanism
from netsim.models.model import Regularizer
from netsim.network.laws import ConstantDelay, DelayLaw
from netsim.network.links import LinkLaw
from netsim.problems import L1, Dataset, build, load, logistic
from netsim.schedules import Constant, Geometric, Schedule
from netsim.settings import NetworkSettings, Recording, Timing
from netsim.topology import complete, erdos_renyi, from_edges, from_graph, ring
from tests.worlds import refusal

DATA = load("synthetic", records=40, dimension=3, seed=3)
PROBLEM, RING = logistic(DATA.split(5), ridge=0.5), ring(5)
FIRST = PROBLEM.objectives[0]


@dataclass(frozen=True)
class Fine(Algorithm):
    """A round of averaging."""

    rounds: int = 2
    scale: float = 1.0

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            x = (await node.exchange(x=node.privatize(x, Laplace(self.scale)))).mix("x")
            node.estimate(x)


class Partial:
    """A law of noise that is not finished."""

    def release(self, value, rng):
        return value


class Undecorated(Algorithm):
    """No dataclass."""

    rounds: int = 2

    async def run(self, node):
        """Nothing."""


simulation = partial(Simulation, PROBLEM, RING, Fine())
network = lambda **fields: simulation(network=NetworkSettings(**fields))  # noqa: E731
stated = partial(Claim, delta=0.0, source="T", adjacency=Adjacency(1.0, "r"), norm="l1")
square = partial(objective, lambda x: float(x @ x), lambda x: 2 * x)
MISTAKES = {
    "a mechanism that lacks methods": (
        lambda: netsim.arguments.expect(Partial(), "mechanism", Mechanism),
        "is a Partial; it has no log_density, noiseless, quantiles, variance; allowed: a Mechanism, such as",
    ),
    "numbers": (lambda: Simulation(1, 2, 3), "problem = 1: is an int; allowed: a Problem, such as logistic(data."),
    "an argument of another number": (
        lambda: simulation(adversary=Adversary()),
        "no argument of Simulation; did you mean 'adversaries'?; allowed: p",
    ),
    "links of a simulation": (
        lambda: simulation(links=LinkLaw()),
        "of Simulation; did you mean network=NetworkSettings(links=…)?; allowed",
    ),
    "a loss of a simulation": (
        lambda: simulation(loss=0.1),
        "of Simulation; did you mean network=NetworkSettings(links=LinkLaw(loss=…))?; allowed",
    ),
    "a loss of a network": (
        lambda: network(loss=0.1),
        "loss = 0.1: no argument of NetworkSettings; did you mean links=LinkLaw(loss=…)?;",
    ),
    "agents of an adversary": (
        lambda: Adversary("eve", agents=[0]),
        "agents = [0]: no argument of Adversary; allowed: name, links, nodes, ",
    ),
    "data that nobody has": (
        lambda: logistic(DATA),
        'is a Dataset; allowed: a tuple (Dataset(…), …), such as load("digits").split(5)',
    ),
    "a file without a path": (
        lambda: load("csv"),
        "path: missing: csv has no default for it; allowed: path, label, features, header, ",
    ),
    "another number of agents": (
        lambda: Simulation(PROBLEM, ring(4), Fine()),
        "problem = 5: not an objective for each agent; allowed: 4 objectives, or a topology of 5",
    ),
    "an adjacency in words": (
        lambda: simulation().claim("record", 3, 0.0),
        "adjacency = 'record': is a text; allowed: an Adjacency, such",
    ),
    "swapped": (lambda: Simulation(RING, PROBLEM, Fine()), "topology = Problem(loss: logistic, agents: 5, dim"),
    "a class for an object": (lambda: Simulation(PROBLEM, RING, Fine), "is the class Fine, and no object of it"),
    "a name for an algorithm": (lambda: Simulation(PROBLEM, RING, "recal"), "algorithm = 'recal': is a text; allow"),
    "a name for a graph": (lambda: Simulation(PROBLEM, "ring", Fine()), "a Topology, such as ring(5) of netsim.top"),
    "a function for a graph": (
        lambda: Simulation(PROBLEM, ring, Fine()),
        "is the function ring; allowed: a Topology",
    ),
    "a graph of networkx": (lambda: Simulation(PROBLEM, networkx.cycle_graph(5), Fine()), "is a Graph; allowed: a T"),
    "no problem": (lambda: Simulation(None, RING, Fine()), "problem = None: there is no value; allowed: a Problem"),
    "data for a problem": (lambda: Simulation(DATA, RING, Fine()), "is a Dataset; allowed: a Problem, such as"),
    "objectives for a problem": (lambda: Simulation([FIRST] * 5, RING, Fine()), "is a list; allowed: a Problem"),
    "an adversary alone": (
        lambda: simulation(adversaries=Adversary()),
        "a tuple (Adversary(…), …), such as (netsim.",
    ),
    "a text of adversaries": (
        lambda: simulation(adversaries="all"),
        "adversaries = 'all': is a text; allowed: a tup",
    ),
    "texts of adversaries": (
        lambda: simulation(adversaries=["eve"]),
        "adversaries[0] = 'eve': is a text; allowed: an",
    ),
    "the class of adversaries": (
        lambda: simulation(adversaries=(Adversary,)),
        "is the class Adversary, and no object",
    ),
    "no adversaries": (
        lambda: simulation(adversaries=None),
        "adversaries = None: there is no value; allowed: a tuple",
    ),
    "a law for the network": (lambda: simulation(network=LinkLaw(loss=0.1)), "is a LinkLaw; allowed: a NetworkSetti"),
    "a dict for the network": (
        lambda: simulation(network={"loss": 0.1}),
        "network = {'loss': 0.1}: is a dict; allow",
    ),
    "a number for links": (
        lambda: network(links=0.1),
        "links = 0.1: is a float; allowed: a LinkLaw, such as LinkLaw(",
    ),
    "a text for a codec": (
        lambda: network(codec="float32"),
        "codec = 'float32': is a text; allowed: a Codec, such as",
    ),
    "a text for a policy": (lambda: network(exchange_policy="wait"), "such as WAIT_FOR_ALL of netsim.network.links"),
    "a number for timing": (lambda: simulation(timing=1.0), "timing = 1.0: is a float; allowed: a Timing, such as"),
    "seconds for a law": (
        lambda: simulation(timing=Timing(compute=1.0)),
        "compute = 1.0: is a float; allowed: a Del",
    ),
    "what is kept": (
        lambda: simulation(recording=Recording(private="all")),
        "allowed: 'everything', 'releases', 'no",
    ),
    "a text for a folder": (lambda: simulation(recording=Recording(spool="there")), "such as pathlib.Path("),
    "a half replica": (lambda: simulation(replicas=0.5), "replicas = 0.5: not an integer; allowed: an integer"),
    "no seed": (lambda: simulation(seed=None), "seed = None: not an integer; allowed: an integer"),
    "a number for a range": (
        lambda: simulation(value_range=3),
        "value_range = 3: is an int; allowed: a tuple (a num",
    ),
    "a reader": (lambda: simulation(reader="fast"), "reader = 'fast': is a text; allowed: 'auto', 'live', 'stacked'"),
    "a number to watch": (lambda: simulation().run(watch=3), "watch = 3: is an int; allowed: a function, or None"),
    "no objectives": (lambda: Problem(()), "objectives = (): no agent; allowed: one objective or more"),
    "None for objectives": (lambda: Problem(None), "objectives = None: there is no value; allowed: a tuple (Objecti"),
    "numbers for objectives": (lambda: Problem([1, 2]), "objectives[0] = 1: is an int; allowed: an Objective, such"),
    "data for objectives": (
        lambda: Problem(DATA.split(5)),
        "is a Dataset; allowed: an Objective, such as netsim.obj",
    ),
    "functions for objectives": (
        lambda: Problem([max]),
        "is the function max; allowed: an Objective, such as netsim",
    ),
    "a number for r": (
        lambda: Problem([FIRST], regularizer=0.1),
        "regularizer = 0.1: is a float; allowed: a Regulari",
    ),
    "the class of an r": (lambda: Problem([FIRST], regularizer=L1), "is the class L1, and no object of it; allowed"),
    "a ridge that is none": (lambda: Problem([FIRST], ridge=math.nan), "ridge = nan: negative or not finite"),
    "no replacement": (
        lambda: PROBLEM.replace(1, None),
        "objectives[1] = None: there is no value; allowed: an Objec",
    ),
    "data that are not split": (lambda: logistic(DATA), "parts = Dataset(name: synthetic, records: 40"),
    "arrays for data": (lambda: logistic([np.zeros((3, 2))]), "is a ndarray; allowed: a Dataset, such as load("),
    "a text for a ridge": (lambda: logistic(DATA.split(5), "much"), "ridge = 'much': is a text; allowed: a number"),
    "no data": (lambda: build("logistic", []), "parts = (): no agent has data; allowed: data.split(5)"),
    "a name of no data": (lambda: load(None), "name = None: unknown; allowed: "),
    "one axis of features": (lambda: Dataset("x", [1, 2], [1, -1]), "features = (2,): wrong shape; allowed: 2 axes"),
    "half a dimension": (lambda: square(2.5, smoothness=2.0), "dimension = 2.5: not an integer; allowed: an integer"),
    "a number for a function": (lambda: objective(1, 2, 3, smoothness=1.0), "value = 1: is an int; allowed: a func"),
    "a number for a graph": (lambda: Topology(5), "graph = 5: is an int; allowed: a networkx.Graph, or ring(5)"),
    "pairs for a graph": (lambda: Topology([(0, 1)]), "is a list; allowed: a networkx.Graph, or ring(5) and others"),
    "a text for agents": (lambda: ring("5"), "agents = '5': not an integer; allowed: an integer"),
    "half an agent": (lambda: complete(5.5), "agents = 5.5: not an integer; allowed: an integer"),
    "a text for a probability": (
        lambda: erdos_renyi(5, "often"),
        "probability = 'often': is a text; allowed: a numb",
    ),
    "a number for edges": (lambda: from_edges(3, 1), "edges = 1: is an int; allowed: "),
    "a text for networkx": (lambda: from_graph("ring"), "graph = 'ring': is a text; allowed: a networkx.Graph"),
    "links that are a number": (
        lambda: Adversary(links=3),
        "links = 3: is an int; allowed: 'all', or a tuple ((an in",
    ),
    "a link that is a number": (
        lambda: Adversary(links=(0, 1)),
        "links[0] = 0: is an int; allowed: a tuple (an inte",
    ),
    "nodes that are a number": (
        lambda: Adversary(nodes=3),
        "nodes = 3: is an int; did you mean [3]?; allowed: a tuple (",
    ),
    "half an insider": (lambda: Adversary(insiders=(1.5,)), "insiders[0] = 1.5: not an integer; allowed: an integer"),
    "a text for a loss": (
        lambda: Adversary(capture_loss="half"),
        "capture_loss = 'half': is a text; allowed: a numb",
    ),
    "a text for seconds": (lambda: ConstantDelay("long"), "seconds = 'long': is a text; allowed: a number"),
    "a text for noise": (lambda: Laplace("much"), "Laplace scale = 'much' is a text; allowed: a number >= 0, or one"),
    "the class for noise": (lambda: Gaussian(Gaussian), "is the class Gaussian, and no object of it; allowed: a num"),
    "a schedule for noise": (
        lambda: Gaussian(Constant(1.0)),
        "Gaussian stddev = Constant(value=1.0) is a Constant; a",
    ),
    "a text for an ε": (lambda: stated("1"), "epsilon = '1': not an ε; allowed: a number >= 0, or None where a"),
    "no ε and no reason": (lambda: stated(None), "epsilon = None: no ε, and no condition that fails; allowed: a nu"),
    "a condition that is a text": (
        lambda: stated(None, failed_conditions="no"),
        "failed_conditions = 'no': is a text",
    ),
    "coins of no kind": (lambda: stated(1.0, coins="none"), "coins = 'none': is a text; allowed: 'known', 'secret'"),
    "a swapped adjacency": (
        lambda: Adjacency("record", 1.0),
        "gradient_change = 'record': is a text; allowed: a num",
    ),
    "a change that is no number": (lambda: Adjacency(math.nan, "r"), "gradient_change = nan: not a bound on a norm"),
    "a norm that is none": (
        lambda: Adjacency.within(1.0, "l7", 3, "r"),
        "norm = 'l7': is a text; allowed: 'l1', 'l2'",
    ),
    "a text for a bound": (lambda: Clip("1"), "bound = '1': is a text; allowed: a number"),
    "a text for a schedule": (lambda: Geometric("1", 0.9), "first = '1': is a text; allowed: a number"),
    "parameters of no dataclass": (
        lambda: Undecorated(3),
        "Undecorated takes no parameters: it is no dataclass; all",
    ),
    "a text for rounds": (
        lambda: Simulation(PROBLEM, RING, Fine(rounds="3")),
        "algorithm.rounds = '3': not an integ",
    ),
    "a text for a scale": (
        lambda: Simulation(PROBLEM, RING, Fine(scale="x")),
        "algorithm.scale = 'x': is a text; all",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_error_that_names_the_argument(mistake):
    make, says = MISTAKES[mistake]
    with pytest.raises((ScenarioError, PrivacyError)) as caught:
        make()
    assert says in str(caught.value)


def test_all_of_them_are_said_at_once():
    assert [one.field for one in refusal(Simulation, 1, 2, 3).each()] == ["problem", "topology", "algorithm"]


def test_what_python_takes_for_the_same_is_the_same():
    taps = simulation(adversaries=[Adversary(links=[(0, 1)], nodes=[2])], replicas=np.int64(2), seed=np.uint8(3))
    assert taps.adversaries[0] == Adversary(links=((0, 1),), nodes=(2,))
    assert (type(taps.replicas), taps.replicas, taps.seed) == (int, 2, 3)
    assert Problem(one for one in PROBLEM.objectives).agents == 5  # of any iterable
    assert Simulation(PROBLEM, RING, Fine(scale=np.float32(1), rounds=np.int64(2))).run().largest_activations == 2
    per_coordinate = Fine(scale=np.array([1.0, 2.0, 3.0]))
    assert Simulation(PROBLEM, RING, per_coordinate).run().largest_activations == 2


def test_what_is_missing_is_said_as_python_says_it():
    with pytest.raises(TypeError, match=r"ring\(\) missing 1 required positional argument: 'agents'"):
        ring()


SKETCHED = {"ActiveAdversary", "Adjacency", "Algorithm", "Objective", "Truth"}
"""What has an example with names of the reader's own, or words."""


PROTOCOLS = {
    "DelayLaw": DelayLaw,
    "Mechanism": Mechanism,
    "Regularizer": Regularizer,
    "Schedule": Schedule,
    "Wiretaps": Wiretaps,
}


@pytest.mark.parametrize("name", sorted({*netsim.arguments.EXAMPLES} - SKETCHED))
def test_an_example_makes_what_it_is_an_example_of(name):
    """Evaluated with the names of the module that it says, and nothing else."""
    code, _, module = netsim.arguments.EXAMPLES[name].partition(", or ")[0].partition(" of ")
    names = (vars(import_module(module)) if module else {}) | {"netsim": netsim, "pathlib": pathlib, "data": DATA}
    made = eval(code, names)  # a text of ours
    if name in PROTOCOLS:
        netsim.arguments.expect(made, name, PROTOCOLS[name])
        with pytest.raises(ScenarioError):
            netsim.arguments.expect(object(), name, PROTOCOLS[name])
    else:
        assert name in {one.__name__ for one in type(made).__mro__}


def test_an_example_in_words_names_what_there_is():
    assert hasattr(netsim, "objective")
    assert hasattr(import_module("netsim.network.active_adversaries"), "ActiveAdversary")
    assert {*netsim.arguments.EXAMPLES} > SKETCHED


def test_a_name_that_there_is_not_offers_the_nearest():
    with pytest.raises(AttributeError, match="no attribute 'simulation_'") as caught:
        _ = netsim.simulation_
    assert (caught.value.name, caught.value.obj) == ("simulation_", netsim)  # by which Python finds the nearest
    assert issubclass(ScenarioError, NetsimError)
