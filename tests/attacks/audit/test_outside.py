"""Code that reaches past its node is noticed, and code that imports, logs or remembers a public number is not."""

import functools
import gc
import inspect
import logging
import os
import socket
import subprocess
import sys
import traceback
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from attacks.audit.outside import inside_node, nothing_kept
from netsim.algorithms import Algorithm
from netsim.claims import Adjacency
from netsim.errors import PrivacyError
from netsim.mechanisms import Gaussian
from scenarios.stages.worlds import bound_of
from tests.attacks.auditing import HELD, claim_of, judged, quadratic_world

NOISE = Gaussian(1.0)
FILE = __file__
CALLS, TOTAL, KEPT = {"number": 0}, 0, SimpleNamespace(last=None)
MEMO: dict[int, float] = {}
FIRST: dict[int, object] = {}
LAST = None
ELSEWHERE = ModuleType("elsewhere")
ELSEWHERE.table = {}


@dataclass(frozen=True)
class Asks(Algorithm):
    """Sends its gradient with enough noise, and more where something outside says so; it never does here."""

    what: object

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        leaks = self.asked(gradient)
        node.broadcast(x=node.privatize(gradient, NOISE), y=gradient if leaks else 0 * gradient)
        node.estimate(gradient)

    def asked(self, gradient):
        return self.what(gradient)


def reads(_):
    with open(FILE) as file:
        return file.read() == "leak"


def loads(_):
    return not np.genfromtxt(FILE, dtype=str, delimiter="\0", max_rows=1).size


def lists(_):
    return "leak" in os.listdir(os.path.dirname(FILE))


def connects(_):
    with socket.socket():
        return False


def starts(_):
    return subprocess.run([sys.executable, "-c", ""], check=False).returncode == -1


def looks_at_who_calls(_):
    return "leak" in [frame.function for frame in inspect.stack(0)]


def looks_at_the_heap(_):
    return len(gc.get_objects()) < 0


def counts(_):
    CALLS["number"] += 1
    return CALLS["number"] > 10**6


def counts_in_a_global(_):
    global TOTAL
    TOTAL += 1
    return TOTAL > 10**6


def keeps_the_gradient(gradient):
    KEPT.last = gradient.sum()
    return False


def opens_after_an_import(_):
    import_module("colorsys")
    return reads(_)


def verdict(algorithm):
    simulation, pair = quadratic_world(algorithm)
    return judged(simulation, pair, claim_of(2.0, 1e-3), attack=None, trials=8).judgement.verdict


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (reads, "open '.*test_outside.py'"), (loads, "open '.*test_outside.py'"), (lists, "os.listdir"),
        (connects, "socket"), (looks_at_who_calls, "sys._getframe"), (looks_at_the_heap, "gc.get_objects"),
        (counts, "changes tests.attacks.audit.test_outside.CALLS"),
        (counts_in_a_global, "changes tests.attacks.audit.test_outside.TOTAL"),
        (keeps_the_gradient, "changes tests.attacks.audit.test_outside.KEPT"), (opens_after_an_import, "open"),
    ],
)  # fmt: skip
def test_what_reaches_past_the_node_gets_no_verdict(asked, named):
    class Mine(Asks):
        def asked(self, gradient):
            return asked(gradient)

    with pytest.raises(PrivacyError, match=f"no verdict: Mine's code .*{named}.*through its node"):
        verdict(Mine(None))


def test_a_process_is_noticed():
    with pytest.raises(PrivacyError, match=r"subprocess\.Popen"), inside_node():
        Asks(starts).asked(np.zeros(1))


def test_a_mechanism_that_reads_a_file_is_noticed():
    @dataclass(frozen=True)
    class Read(Gaussian):
        def release(self, value, rng):
            return super().release(value, rng) * (1 - reads(value))

    class Mine(Asks):
        async def run(self, node):
            node.broadcast(x=node.privatize(await node.gradient(node.zeros()), Read(1.0)))
            node.estimate(node.zeros())

    with pytest.raises(PrivacyError, match="Read's code reaches past its node while an agent runs: open"):
        verdict(Mine(None))


@functools.cache
def computed(dimension):
    return dimension / 2


def innocent(gradient):
    """What sound code does: imports, logs, makes classes, remembers a function of public numbers, shows its lines."""
    import_module("wave")
    traceback.format_stack(limit=1)
    logging.getLogger(__name__).debug("at %s", gradient.shape)

    @dataclass(frozen=True)
    class Point:
        x: float = computed(gradient.shape[-1])

    return MEMO.setdefault(gradient.shape[-1], Point().x) < 0


def test_sound_code_is_not_accused():
    class Mine(Asks):
        def asked(self, gradient):
            return innocent(gradient)

    assert verdict(Mine(None)) in HELD


def test_what_others_open_is_their_own():
    """A private objective that reads its data, and whoever runs an audit."""

    class Objective:
        def gradient(self, x):
            return x * reads(x)

    with inside_node():
        Objective().gradient(np.zeros(1))
        reads(None)


def test_who_does_not_listen_hears_nothing():
    with inside_node():
        pass
    Asks(reads).asked(None)


def test_state_is_that_of_the_algorithm_and_its_fields():
    @dataclass(frozen=True)
    class Holding(Algorithm):
        kept: list
        large = np.zeros(3)

        async def run(self, node):
            node.estimate(node.zeros())

    mine = Holding([])
    for change in (lambda: mine.kept.append(1), lambda: Holding.large.__setitem__(0, 1.0)):
        with pytest.raises(PrivacyError, match=r"Holding's code changes .*(kept|large)"), nothing_kept(mine):
            change()
    with nothing_kept(mine):
        pass


@dataclass(frozen=True)
class Remembers(Algorithm):
    """Adds its first gradient, of the first run of all, to each that it sends: nobody is to see it change."""

    kept: dict
    last: object = None
    shared: ClassVar[object] = None

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        node.broadcast(x=node.privatize(gradient + self.first(node.id, gradient[:1]), NOISE))
        node.estimate(gradient)

    def first(self, agent, gradient):
        return self.kept.setdefault(agent, gradient)


def in_a_module(_, agent, gradient):
    return FIRST.setdefault(agent, gradient)


def in_a_default(_, agent, gradient, table={}):  # noqa: B006
    return table.setdefault(agent, gradient)


def in_a_global(_, agent, gradient):
    global LAST
    if agent == 1:
        LAST = gradient if LAST is None else LAST
    return gradient if LAST is None else LAST


def on_a_function(_, agent, gradient):
    kept = vars(on_a_function).setdefault("kept", {})
    return kept.setdefault(agent, gradient)


def on_the_algorithm(self, agent, gradient):
    name = f"of_{agent}"
    if name not in vars(self):
        object.__setattr__(self, name, gradient)
    return getattr(self, name)


def in_another_module(_, agent, gradient):
    return ELSEWHERE.table.setdefault(agent, gradient)


def in_a_field(self, agent, gradient):
    if agent == 1 and self.last is None:
        object.__setattr__(self, "last", gradient)
    return gradient if self.last is None else self.last


def on_the_class(self, agent, gradient):
    if agent == 1 and self.shared is None:
        Remembers.shared = gradient
    return gradient if self.shared is None else self.shared


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("memory", "named"),
    [
        (Remembers.first, "the algorithm's kept"),
        (in_a_module, r"test_outside\.FIRST"),
        (in_a_default, "default 1 of .*in_a_default"),
        (in_a_global, "LAST"),
        (on_a_function, r"on_a_function\.kept"),
        (on_the_algorithm, "the algorithm's of_1"),
        (in_another_module, "table"),
        (in_a_field, "the algorithm's last"),
        (on_the_class, "Remembers.shared"),
    ],
)
def test_what_the_first_run_of_all_kept_of_the_data_gets_no_verdict(memory, named):
    class Mine(Remembers):
        def first(self, agent, gradient):
            return memory(self, agent, gradient)

    mine = Mine({})
    simulation, _ = quadratic_world(mine)
    simulation.run()
    with pytest.raises(PrivacyError, match=f"no verdict: Mine's code keeps .*{named} from one run to the next"):
        verdict(mine)


def test_nor_has_a_door_of_such_code_a_bound():
    mine = Remembers({})
    simulation, _ = quadratic_world(mine)
    simulation.run()
    for agent in range(3):
        with pytest.raises(PrivacyError, match="keeps the algorithm's kept from one run to the next"):
            bound_of(simulation, agent, Adjacency(0.25, "another target"), 1e-3)
