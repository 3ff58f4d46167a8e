"""Errors in code of somebody's own, in Python: their line, the call of the port, a forgotten `await`, a claim."""

import gc
import re
import warnings
from dataclasses import make_dataclass
from pathlib import Path
from textwrap import indent
from types import FunctionType, ModuleType

import pytest

from netsim.adversary import Adversary
from netsim.algorithms import Algorithm
from netsim.claims import Adjacency
from netsim.errors import DeadlockError, NetsimError, ProtocolError, ScenarioError
from netsim.problems import load, logistic
from netsim.simulation import Simulation
from netsim.topology import ring
from tests.worlds import refusal

PROBLEM = logistic(load("synthetic", records=20, dimension=3, seed=3).split(4), ridge=0.5)
HEAD = """\
import numpy as np
from dataclasses import dataclass
from netsim.algorithms import Algorithm, Stopping
from netsim.claims import Claim
from netsim.mechanisms import Laplace; from netsim.node import choose

@dataclass(frozen=True)
class Sound(Algorithm):
    scale: float = 1.0
"""
FINE = "async def run(self, node):\n    node.estimate((await node.exchange(x=node.zeros())).mix('x'))\n"
RUN = "async def run(self, node):\n    x = node.zeros()\n    {}\n    node.estimate(x)\n"


def made(tmp_path, methods):
    """An object of a class in a file of its own; `methods` begin in line 10."""
    file = tmp_path / "sound.py"
    file.write_text(HEAD + indent(methods, "    "))
    module = ModuleType("sound_of_a_test")
    exec(compile(file.read_text(), str(file), "exec"), vars(module))
    return module.Sound()


def run(tmp_path, line):
    return Simulation(PROBLEM, ring(4), made(tmp_path, RUN.format(line))).run()


def claimed(tmp_path, body, head="def claim(self, adjacency, setting, delta):"):
    simulation = Simulation(PROBLEM, ring(4), made(tmp_path, f"{FINE}{head}\n    {body}\n"))
    return simulation.claim(Adjacency(1.0, "one record"), 1, 0.0)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "return Claim(2 / 'x', 0.0, 'T', adjacency, 'l1')",
            "sound.py:13: claim() = 'Sound': TypeError: unsupported",
        ),
        (
            "return self.nothing",
            "sound.py:13: claim() = 'Sound': AttributeError: 'Sound' object has no attribute 'not",
        ),
        (
            "return Claim(1 / delta, delta, 'T', adjacency, 'l2')",
            "sound.py:13: claim() = 'Sound': ZeroDivisionError: float division by zero with delta = 0: return None",
        ),
        (
            "return Claim(1 / 0, delta, 'T', adjacency, 'l2')",
            "by zero with delta = 0: return None there, or hand it a delta > 0; allowed: a netsim.claims.Claim (its",
        ),
        ("return {}['a']", "sound.py:13: claim() = 'Sound': KeyError: 'a'; allowed: def claim(self, adjacency, sett"),
        ("import sys; sys.exit(3)", "sound.py:13: claim() = 'Sound': SystemExit: 3; allowed: def claim("),
        ("return Claim(1.0, 0.0, 'T', adjacency, 'l9')", "sound.py:13: claim.norm = 'l9': no norm of a claim"),
        ("return Claim(1.0, 0.0, 'T', 'record', 'l1')", "sound.py:13: claim.adjacency = 'record': not an adjacency"),
        (
            "return Claim(None, 0.0, 'T', adjacency, 'l1')",
            "sound.py:13: claim.epsilon = None: no ε, and no condition",
        ),
        ("return 1.0", "sound.py:12: claim = 1.0: Sound.claim returned no Claim; allowed: a netsim.claims.Claim"),
        (
            "self.scale = 9.0",
            "FrozenInstanceError: cannot assign to field 'scale'; allowed: a variable of its own",
        ),
        (
            "object.__setattr__(self, 'scale', 900.0)",
            "sound.py:12: claim() = 'Sound': changes the parameter scale from 1.0 to 900.0: it is public and fixed",
        ),
    ],
)
def test_an_error_in_a_claim_has_its_class_method_and_line(tmp_path, body, says):
    error = refusal(claimed, tmp_path, body)
    assert str(error).startswith(says.replace("'not", "'nothing'")) or says in str(error)


@pytest.mark.parametrize(
    ("head", "says"),
    [
        (
            "def claim(self):",
            "sound.py:12: claim() = 'Sound': TypeError: Sound.claim() takes 1 positional argument but",
        ),
        (
            "async def claim(self, adjacency, setting, delta):",
            "sound.py:12: claim() = 'Sound': is a coroutine: `def`",
        ),
        (
            "@property\ndef claim(self):",
            "sound.py:13: Sound.claim = '@property claim': hides Algorithm.claim(); allowed: def claim(…), wit",
        ),
    ],
)
def test_a_claim_of_another_form_is_one_too(tmp_path, head, says):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ScenarioError, match=re.escape(says)):
            claimed(tmp_path, "return None", head)
        gc.collect()


@pytest.mark.parametrize(
    ("methods", "says"),
    [
        (
            "def run(self, node):\n    pass\n",
            "sound.py:10: algorithm.run = 'Sound': it returned None, and is no corou",
        ),
        ("async def run(self, node):\n    yield 1\n", "sound.py:10: algorithm.run = 'Sound': it has a `yield`"),
        (
            "async def run(self):\n    pass\n",
            "sound.py:10: algorithm.run = 'Sound': too many positional arguments: it",
        ),
        (FINE + "def stopping(self):\n    return 3\n", "algorithm.stopping() = 3: is an int; allowed: a Stopping"),
        (
            FINE + "def check(self, setting):\n    setting.no\n",
            "sound.py:13: algorithm.check() = 'Sound': AttributeErr",
        ),
        (
            FINE + "def check(self, setting):\n    raise ValueError('no')\n",
            "sound.py:13: algorithm.check() = 'Sound': ValueError: no; allowed: raise netsim.errors.ScenarioError(",
        ),
        (
            FINE + "def check(self, setting):\n    return False\n",
            "algorithm.check() = False: what it returns says nothing: it raises where a parameter is wrong; allowed:",
        ),
        (
            FINE + "def stopping(self):\n    return Stopping(per_agent='3')\n",
            "sound.py:13: algorithm.stopping.per_agent = '3': is a text; allowed: an integer, or None",
        ),
        (
            "async def run(self, node):\n    node._objective.gradient(node.zeros())\n",
            "sound.py:11: algorithm.run = 'Sound': node._objective is no part of a node, but of how one is made; all",
        ),
        (FINE + "rate: float = 0.8", "sound.py:12: Sound.rate = 0.8: hides Algorithm.rate(); allowed: another name"),
        ("stopping: int = 4\n" + FINE, "sound.py:10: Sound.stopping = 4: hides Algorithm.stopping(); allowed: anoth"),
        (FINE + "claim = 1.0", "sound.py:12: Sound.claim = 1.0: hides Algorithm.claim(); allowed: another name"),
        (
            FINE + "noisy: float = 0.5",
            "sound.py:12: Sound.noisy = 0.5: hides Algorithm.noisy, a property that is True or False; allowed: True "
            "or False, or another name",
        ),
        (
            FINE + "horizon: int",
            "sound.py:12: Sound.horizon = 'int': hides Algorithm.horizon, a property, and has no",
        ),
        (FINE + "def horizon(self):\n    return 3\n", "an integer, or None; allowed: @property above it"),
    ],
)
def test_a_class_that_cannot_be_run_is_told_with_its_line(tmp_path, methods, says):
    with pytest.raises(ScenarioError, match=re.escape(says)):
        Simulation(PROBLEM, ring(4), made(tmp_path, methods)).run()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "node.gradiant(x)",
            "sound.py:12: a node has no 'gradiant'; did you mean 'gradient'?; it has agents, broadcas",
        ),
        (
            "await node.exchange(x)",
            "sound.py:12: node.exchange() takes 1 positional argument but 2 were given; values",
        ),
        (
            "await node.proximal(x)",
            "sound.py:12: node.proximal() missing 1 required positional argument: 'step'; it is",
        ),
        (
            "await node.gradient(np.zeros(7))",
            "sound.py:12: node.gradient was given x of type float64 and shape (7,): expected is shape (replicas, "
            "dimension) = (1, 3)",
        ),
        (
            "node.privatize(x, 1.0)",
            "mechanism = 1.0: mechanism is a float; allowed: a Mechanism, such as Laplace(0.5) ",
        ),
        ("node.privatize(x, Laplace(1.0), 2.0)", "shared = 2.0: shared is a float; allowed: a Gaussian, such as Ga"),
        ("node.privatize(1.0, Laplace(1.0))", "value = 1.0, mechanism = Laplace(scale=1.0): value is a float; allow"),
        (
            "node.privatize(x, 'laplace')",
            "mechanism is a text; allowed: a Mechanism, such as Laplace(0.5) of netsim.",
        ),
        ("node.objective(x)", "sound.py:12: a node has no 'objective'; it has agents, broadcast, coins, dim"),
        ("(await node.exchange(x=x)).messages", "what node.exchange gave has no 'messages'; it has values, apart,"),
        ("(await node.exchange(x=x)).mixx('x')", "what node.exchange gave has no 'mixx'; did you mean 'mix'?; it"),
        ("await node.exchange(x=x, n=3.0)", "'n' = 3.0, which is a float; every value has type float64 and shape ("),
        ("await node.exchange(x=x, n=3)", "(1, 3); a number goes as one such: node.zeros() + number"),
        ("await node.exchange(x=x, n=np.float64(3))", "(1, 3); a number goes as one such: node.zeros() + number"),
        ("await node.exchange(x=None)", "agent 0 sends 'x' = None; every value has type float64"),
        ("await node.exchange(x='hello')", "agent 0 sends 'x' = 'hello', which is a text; every value has"),
        ("node.send('1', x=x)", "agent 0 sends to '1', which is a text; allowed: the number of one neighbor, an"),
        ("node.send(1.0, x=x)", "agent 0 sends to 1.0, which is a float; allowed: the number of one neighbor, an"),
        ("node.send(True, x=x)", "agent 0 sends to True, which is a truth value; allowed: the number of one neigh"),
        ("node.send(node.neighbors, x=x)", "agent 0 sends to (1, 3), which is a tuple; allowed: the number of o"),
        ("node.send(node.id, x=x)", "agent 0 sends to itself, which is not its neighbor; neighbors: 1, 3"),
        ("(await node.exchange(x=x))[0]", "agent 1 wants 0 of exchange 0, in which agent 0 sent 'x'"),
        ("choose(node.coins, [])", "choose(coins, []): there is nothing to choose from"),
        (
            "node.privatize(None, Laplace(1.0))",
            "sound.py:12: node.privatize was given value = None, mech",
        ),
        ("node.privatize(x, Laplace)", "agent 0 privatizes with the class Laplace: with Laplace(scale)"),
        ("node.send([1], x=x)", "agent 0 sends to [1], which is a list; allowed: the number of one neighbor, an"),
        ("node.broadcast(x=x); (await node.receive())['x']", "sound.py:12: 'Message' object is not subscriptable. I"),
        ("node.broadcast(x=x); j, y = await node.receive()", "sound.py:12: cannot unpack non-iterable Message obj"),
        ("node.broadcast(x=x); (await node.receive()).x", "gave: message.values['x'] is the array that was sent"),
        (
            "node.privatize(node.gradient(x), Laplace(1.0))",
            "value (is a coroutine: is an `await` missing?), mechanism",
        ),
    ],
)
def test_a_port_that_is_used_wrongly_says_how_it_is_used(tmp_path, line, says):
    with pytest.raises(ProtocolError) as caught:
        run(tmp_path, line)
    assert says in str(caught.value)
    assert "began anew" not in str(caught.value)
    assert "sound.py:12" in "".join([str(caught.value), *caught.value.__notes__])


def test_a_mechanism_that_only_releases_runs(tmp_path):
    half = "type('Half', (), {'noiseless': False, 'release': lambda self, v, rng: v + 1})()"
    assert run(tmp_path, f"node.privatize(x, {half})").truth is not None


def test_a_receiver_may_be_a_number_of_numpys_as_coins_give_it(tmp_path):
    """A record of it is written as JSON, and read by a replay."""
    door = Adversary("door", nodes=(0,))
    line = "node.send(np.int64(node.neighbors[0]), x=x)"
    view = Simulation(PROBLEM, ring(4), made(tmp_path, RUN.format(line)), adversaries=(door,)).run().views[0]
    assert [type(one.receiver) for one in view.transcript.records if one.event == "sent"] == [int]


def test_a_walk_without_an_end_for_all_says_where_it_waits_and_how_it_ends(tmp_path):
    with pytest.raises(DeadlockError) as caught:
        run(tmp_path, "await node.receive()")
    assert ";\nagent 0 is at sound.py:12, in run: await node.receive();\na walk ends for all" in str(caught.value)
    assert str(caught.value).endswith("at its `stopping()`, such as netsim.algorithms.Stopping(per_agent=6)")
    with pytest.raises(DeadlockError) as caught:
        run(tmp_path, "if node.id: await node.exchange(x=x)")
    assert str(caught.value).endswith(";\nagent 1 is at sound.py:12, in run: if node.id: await node.exchange(x=x)")


@pytest.mark.parametrize("field", ["horizon: int = 3", "noisy: bool = True", "stackable: bool = False"])
def test_a_field_may_stand_for_a_property(tmp_path, field):
    algorithm = made(tmp_path, f"{FINE}{field}\n")
    Simulation(PROBLEM, ring(4), algorithm).run()
    name, _, value = re.split("[:=] ?", field)
    assert str(getattr(algorithm, name)) == value


def test_the_names_that_are_taken_are_those_of_the_documentation():
    text = (Path(__file__).parents[2] / "docs" / "audit-your-own.md").read_text()
    (said,) = re.findall(r"Fields of the class may have any name but(.*?)\n\n", text, re.DOTALL)
    kinds = FunctionType, property
    taken = {name for name, one in vars(Algorithm).items() if isinstance(one, kinds) and not name.startswith("_")}
    assert taken - {"run"} == {one for one in re.findall(r"`(\w+)`", said) if one != "Algorithm"}


def test_an_error_of_the_code_itself_is_as_it_was(tmp_path):
    with pytest.raises(ValueError, match="mine") as caught:
        run(tmp_path, "raise ValueError('mine')")
    assert not isinstance(caught.value, NetsimError)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("x = x - 0.1 * node.gradient(x)", "sound.py:12: is an `await` missing? node.gradient(...) is a coroutine"),
        ("x = node.exchange(x=x).mix('x')", "sound.py:12: is an `await` missing? node.exchange(...) is a coroutine"),
        ("m = node.receive(); m.values", "sound.py:12: is an `await` missing? node.receive(...) is a coroutine"),
        ("node.estimate(node.gradient(x))", "sound.py:12: is an `await` missing? node.gradient(...) is a coroutine"),
        ("await node.zeros()", "sound.py:12: an `await` too many? Only exchange, gradient, "),
        ("x = node.privatize(x, Laplace(1.0)); x += 1", "sound.py:12: what was sent, received or privatized stays"),
    ],
)
def test_a_hint_is_said_once_and_python_adds_nothing(tmp_path, line, says):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises((TypeError, AttributeError, ValueError, ProtocolError)) as caught:
            run(tmp_path, line)
        assert sum(says in note for note in caught.value.__notes__) == 1
        del caught
        gc.collect()
    assert [str(one.message) for one in warned] == []


@pytest.mark.parametrize("line", ["node.exchange(x=x)", "for _ in range(2): node.gradient(x); x = x"])
def test_a_call_whose_answer_is_not_used_is_told_before_the_run(tmp_path, line):
    """Without `await` the run would end, and nothing would have been sent."""
    with pytest.raises(
        ScenarioError, match=r"sound.py:12: algorithm.run = 'Sound': is an `await` missing\? node.*\("
    ):
        run(tmp_path, line)


def test_what_no_error_says_python_says(tmp_path):
    with pytest.warns(RuntimeWarning, match="coroutine 'LiveNode.exchange' was never awaited"):
        run(tmp_path, "_ = node.exchange(x=x)")


def test_shipped_code_is_nobodys_own():
    class Broken(Algorithm):
        async def run(self, node):
            """Nothing."""

    Broken.claim = make_dataclass  # called from netsim: no line of anybody's own
    with pytest.raises(TypeError):
        Simulation(PROBLEM, ring(4), Broken()).claim(Adjacency(1.0, "one record"), 1, 0.0)
