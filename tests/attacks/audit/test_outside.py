"""Code that reaches past its node is noticed, and code that imports, logs or remembers a public number is not."""

import contextvars
import functools
import gc
import inspect
import logging
import math
import os
import socket
import subprocess
import sys
import threading
import traceback
from dataclasses import dataclass
from enum import Enum
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
from tests.attacks.auditing import HELD, audited, quadratic_world

NOISE = Gaussian(1.0)
FILE = __file__
CALLS, TOTAL, KEPT = {"number": 0}, 0, SimpleNamespace(last=None)
MEMO: dict[int, float] = {}
FIRST: dict[int, object] = {}
LAST = None
ELSEWHERE = ModuleType("elsewhere")
ELSEWHERE.table = {}
SEEN, DATA, SETTINGS, PAIR, CLOSED, REPEATED = set(), {}, {"factor": 1.0}, ({}, 0), {}, {}
BYTES, THREAD = bytearray(), threading.local()
CONTEXT = contextvars.ContextVar("CONTEXT", default={})  # noqa: B039


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


def connects(_):
    with socket.socket():
        return False


def starts(_):
    return subprocess.run([sys.executable, "-c", ""], check=False).returncode == -1


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
    return audited(algorithm, trials=8).judgement.verdict


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (reads, "open '.*test_outside.py'"),
        (lambda _: not np.genfromtxt(FILE, dtype=str, delimiter="\0", max_rows=1).size, "open '.*test_outside.py'"),
        (lambda _: "leak" in os.listdir(os.path.dirname(FILE)), "os.listdir"),
        (connects, "socket"),
        (lambda _: "leak" in [frame.function for frame in inspect.stack(0)], "sys._getframe"),
        (lambda _: len(gc.get_objects()) < 0, "gc.get_objects"),
        (counts, "changes tests.attacks.audit.test_outside.CALLS"),
        (counts_in_a_global, "changes tests.attacks.audit.test_outside.TOTAL"),
        (keeps_the_gradient, "changes tests.attacks.audit.test_outside.KEPT"),
        (opens_after_an_import, "open"),
    ],
)
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


def after_a_flag(_, agent, gradient):
    if agent not in SEEN:
        SEEN.add(agent)
        DATA[agent] = gradient
    return DATA[agent]


def repeated(value):
    while True:
        yield value


class Holder:
    """Has no pickled form."""

    def __init__(self):
        self.lock, self.table = threading.Lock(), {}

    def keep(self, agent, gradient):
        return self.table.setdefault(agent, gradient)


class Slotted:
    __slots__ = ("first",)


HOLDER, SLOTTED, BOUND = Holder(), Slotted(), Holder().keep
PARTIAL = functools.partial(lambda table, agent, gradient: table.setdefault(agent, gradient), FIRST)


def in_a_slot(_, agent, gradient):
    if agent == 1 and not hasattr(SLOTTED, "first"):
        SLOTTED.first = gradient
    return gradient if agent != 1 else SLOTTED.first


@functools.cache
def through_a_cache():
    return MEMO


def in_bytes(_, agent, gradient):
    if agent == 1 and not BYTES:
        BYTES.extend(gradient[0].tobytes())
    return np.frombuffer(bytes(BYTES)) if agent == 1 else gradient


def in_a_library(_, agent, gradient):
    if agent == 1 and not hasattr(math, "kept"):
        math.kept = gradient
    return math.kept if agent == 1 else gradient


def set_by_name(self, agent, gradient):
    if agent == 1 and not hasattr(type(self), "late"):
        setattr(type(self), "late", gradient)  # noqa: B010
    return type(self).late if agent == 1 else gradient


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
        (lambda _, agent, gradient: FIRST.setdefault(agent, gradient), r"test_outside\.FIRST"),
        (in_a_default, "default 1 of .*in_a_default"),
        (in_a_global, "LAST"),
        (on_a_function, r"on_a_function\.kept"),
        (on_the_algorithm, "the algorithm's of_1"),
        (lambda _, agent, gradient: ELSEWHERE.table.setdefault(agent, gradient), "table"),
        (in_a_field, "the algorithm's last"),
        (on_the_class, "Remembers.shared"),
        (after_a_flag, "DATA"),
        (lambda _, agent, gradient: SETTINGS["factor"] * SETTINGS.setdefault(agent, gradient), "SETTINGS"),
        (lambda _, agent, gradient: PAIR[0].setdefault(agent, gradient), "PAIR"),
        (lambda _, agent, gradient: CLOSED.setdefault(agent, lambda: gradient)(), "CLOSED"),
        (lambda _, agent, gradient: next(REPEATED.setdefault(agent, repeated(gradient))), "REPEATED"),
        (in_a_slot, "SLOTTED"),
        (lambda _, agent, gradient: HOLDER.keep(agent, gradient), "HOLDER"),
        (lambda _, agent, gradient: BOUND(agent, gradient), "BOUND"),
        (lambda _, agent, gradient: PARTIAL(agent, gradient), "what is given to .*PARTIAL"),
        (lambda _, agent, gradient: through_a_cache().setdefault(f"of {agent}", gradient), "MEMO"),
        (lambda _, agent, gradient: vars(THREAD).setdefault(f"of {agent}", gradient), "THREAD"),
        (lambda _, agent, gradient: CONTEXT.get().setdefault(agent, gradient), "CONTEXT"),
        (in_bytes, "BYTES"),
        (in_a_library, "math.kept"),
        (set_by_name, "Mine.late"),
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


class Mode(Enum):
    SLOW, FAST = 1, 2


class Tables:
    """Makes a matrix when it is first asked for one."""

    def __init__(self):
        self.lock, self.ready, self.made = threading.Lock(), False, {}

    def __call__(self, dimension):
        with self.lock:
            if not self.ready:
                self.made[dimension], self.ready = np.eye(dimension), True
        return self.made[dimension]


TABLES, ZEROS = Tables(), np.zeros(3)


def is_public(gradient):
    return bool(TABLES(gradient.shape[-1]).sum() + ZEROS.sum() < 0) or Mode(1) is Mode.FAST


def forgets(gradient):
    return is_public(gradient) or SETTINGS["no such name"]


@pytest.mark.few(1)
@pytest.mark.parametrize("asked", [is_public, forgets])
def test_what_is_emptied_is_put_back(asked):
    """Tables of a helper, members of an enumeration: whether the audit has a verdict or fails."""

    class Mine(Asks):
        def asked(self, gradient):
            return asked(gradient)

    mine = Mine({"table": [1.0, {"deep": np.ones(2)}]})
    is_public(np.zeros(4))
    before = {**vars(TABLES)}, TABLES.made[4], mine.what["table"], [*mine.what["table"]], {**SETTINGS}, {**vars(Mode)}
    if asked is is_public:
        assert verdict(mine) in HELD
    else:
        with pytest.raises(KeyError, match="no such name"):
            verdict(mine)
    after = {**vars(TABLES)}, TABLES.made[4], mine.what["table"], [*mine.what["table"]], {**SETTINGS}, {**vars(Mode)}
    for one, other in zip(before, after, strict=True):
        assert one is other if isinstance(one, np.ndarray) else one == other
    assert np.array_equal(TABLES.made[4], np.eye(4))
    assert np.array_equal(mine.what["table"][1]["deep"], np.ones(2))
