"""How long work takes: memory and time that a scenario asks for, estimated before anything of that size is allocated;
and the progress of what is running."""

import math
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol, cast

import numpy as np

from attacks.audit.loss.exact import TOSSES
from netsim.algorithms import Algorithm
from netsim.clock import VirtualLoop
from netsim.errors import ScenarioError
from netsim.memory import check_memory, shown
from netsim.problems import Problem
from netsim.problems.minimizers import DENSE
from netsim.readers.live import LiveNode
from netsim.running import Running
from netsim.simulation import Run, Simulation
from netsim.transcript.packet_log import PacketLog
from scenarios.schema import Scenario
from scenarios.schema.own_code import at_work
from scenarios.schema.scenario import AuditSpec

NUMBER = 8
"""Bytes."""
PACKET = 3e-5
"""Seconds that a packet takes from its sender to its receiver, beside its numbers."""
ACTIVATION = 2e-4
"""Seconds that an activation of a walk takes, beside its gradient: waits, acknowledgements, what is recorded."""
MADE = 2.5e-8
"""Seconds that a number of a gradient takes with what is done with it: noise, sums over neighbors, an estimate."""
COMPARED = 3.5e-3
"""Seconds that a sample of an audit takes for each round of the agent, beside its simulation and its replays."""
INFERRED, INFERRED_EACH = 5e-4, 6e-6
"""Seconds that an attack takes for each gradient that it may infer, and for each transcript of it."""
BOUND, BOUND_MOST = 0.14, 60.0
"""Seconds that the bound over all pairs takes for the square root of an agent's rounds times the dimension."""
SEARCHED, FEWER = 5, 8
"""Agents of which a pair is searched, and by how many times fewer candidates those after the first have."""
VIEW_CHUNKS, COALITIONS = 10, 13
"""Chunks of the game from single points of view, and coalitions whose game it is."""
PRICED = 0.015
"""Seconds that exact prices take for each gradient and agent."""
AROUND = 3.0
"""Seconds that a run takes beside what is simulated: files, and a page with its figures."""
LONG = 10.0
"""Seconds of work before which its duration is said."""
FLOPS = 5e9
"""Operations a second of dense linear algebra, on one core; on the low side."""
_ROUNDED = 1e-6
"""Of a percent: what rounding may add to a sum of shares, or take."""
_AGAIN = 20
"""Gradients that one agent takes without a message before it is asked whether that ends."""
_GLANCES, _GLANCE = 100, 2e-3
"""Looks for the node that is at work, and seconds between them."""
KEPT = "Ctrl-C ends it, and what there is is kept."
LONGEST = 3600.0
"""Seconds of linear algebra before time 0 that are waited for."""
_RESIDUALS = 3
"""Numbers that a gradient takes of each record and replica."""
_READINGS, _MEASURED = 5, 0.1
"""Times that a gradient is measured at most, and seconds in which."""
_PROBED = 10**7
"""Residuals of the gradient that is measured, at most."""
_COPIES = 4
"""Times that a run holds a number of each gradient: where it was taken, what came of it, its release, and in part."""
_SPECTRAL = ("ridge", "lasso", "sensors")
"""Problems whose agents keep the eigenvectors of their own Hessians."""


@dataclass(frozen=True)
class Cost:
    """About how many bytes and seconds a run takes; `seconds` is nan where only chance ends it."""

    memory: float
    seconds: float

    def __str__(self) -> str:
        seconds = "" if math.isnan(self.seconds) else f"{duration(self.seconds)} and "
        return f"about {seconds}{shown(self.memory)}"


def check_data(scenario: Scenario) -> None:
    """Raise a `ScenarioError` for drawn data that do not fit into the memory: records, and their features."""
    data: Any = scenario.problem.data
    if data.name in ("synthetic", "sensors"):
        records, dimension = int(data.records), int(data.dimension)
        # Drawn, scaled and dealt to the agents, each beside what it was made from (measured: 35 numbers for 5).
        count = 6 * NUMBER * records * (dimension + 1)
        check_memory(count, "problem.data.records", records, "fewer records, or a smaller dimension")


def check_problem(scenario: Scenario, agents: int, records: int, dimension: int) -> None:
    """Raise a `ScenarioError` for Hessians and spectra of this problem that do not fit into the memory, or that take
    more than an hour."""
    spec = scenario.problem
    if spec.kind == "mlp" or (spec.kind == "softmax" and dimension > DENSE):
        return  # products with the Hessian alone
    kept = agents if spec.kind in _SPECTRAL else 0
    count = NUMBER * dimension**2 * (4 + kept)
    names = ("dimension", "path", "name")  # the field that has most to do with it
    part, value = next((name, one) for name in names if (one := getattr(spec.data, name, None)) is not None)
    field, fewer = f"problem.data.{part}", f"fewer coordinates than {dimension:,}"
    check_memory(count, field, value, fewer)
    seconds = (25 * dimension**3 * (1 + kept) + 10 * min(records, dimension) ** 2 * max(records, dimension)) / FLOPS
    if seconds > LONGEST:
        why = f"its Hessians take about {duration(seconds)} before anything runs"
        raise ScenarioError(field, value, why, f"at most {duration(LONGEST)}: {fewer}")


def audit_cost(simulation: Simulation, spec: AuditSpec, kept: int = 0) -> Cost:
    """Cost of an audit: its transcripts of either world, each run, replayed under both, and read by the attack that
    infers gradients, `kept` chunks of them excepted; those with aimed noise, and by themselves (of a walk, whose
    agents toss coins, several); the search for the pair; the bound over all pairs; and games and prices of single
    points of view."""
    agents, links = simulation.topology.agents, simulation.topology.links
    one, gradients = cost(simulation, spec.together), _gradients(simulation)
    rounds = gradients / agents

    def taken(replicas: int) -> float:
        """Seconds until so many transcripts are simulated and compared."""
        return 2 * cost(simulation, replicas).seconds + COMPARED * rounds

    def inferred(replicas: int) -> float:
        return gradients * (INFERRED + INFERRED_EACH * replicas)

    seconds = 2 * (spec.chunks - kept) * (taken(spec.together) + inferred(spec.together))
    seconds += 4 * (taken(spec.together) + one.seconds)
    seconds += 2 * (TOSSES if _walks(simulation) else 1) * taken(1)
    seconds += min(BOUND_MOST, BOUND * math.sqrt(rounds * simulation.problem.dimension))
    if (search := spec.search) is not None:
        others = 0 if spec.agent is not None else min(agents, SEARCHED) - 1
        seconds += search.candidates * (1 + others / FEWER) * taken(search.transcripts)
    if (game := spec.seen_from.game) != "none":
        views = {"links": links, "nodes": agents, "coalitions": COALITIONS}
        small, count = math.ceil(spec.trials / VIEW_CHUNKS), views.get(game, sum(views.values()))
        seconds += 2 * VIEW_CHUNKS * (cost(simulation, small).seconds + count * inferred(small))
    if spec.seen_from.exact:
        seconds += PRICED * gradients * agents
    return Cost(one.memory, seconds)


def cost(simulation: Simulation, replicas: int | None = None) -> Cost:
    """Cost of one run, with its own replicas or so many."""
    problem, topology, gradients = simulation.problem, simulation.topology, _gradients(simulation)
    each = simulation.algorithm.horizon
    packets = gradients if each is None else each * 2 * topology.links
    replicas = replicas or simulation.replicas
    numbers = replicas * problem.dimension
    memory = NUMBER * numbers * (_COPIES * gradients + 10 * topology.agents)
    memory += NUMBER * replicas * _RESIDUALS * max(problem.records)  # of one gradient, while it is computed
    turn = ACTIVATION if _walks(simulation) else 0.0
    each_gradient = _gradient_seconds(problem, replicas) + MADE * numbers + turn
    return Cost(memory, gradients * each_gradient + PACKET * packets if gradients else float("nan"))


def _gradients(simulation: Simulation) -> int:
    """How many gradients all agents take; 0 where only chance ends it."""
    each, stops, agents = simulation.algorithm.horizon, simulation.algorithm.stopping(), simulation.topology.agents
    if each is not None:
        return each * agents
    return stops.activations if stops.activations is not None else (stops.per_agent or 0) * agents


def _walks(simulation: Simulation) -> bool:
    stops = simulation.algorithm.stopping()
    return bool(stops.activations or stops.per_agent)


def _gradient_seconds(problem: Problem, replicas: int) -> float:
    """Time of one gradient of one agent: measured, in time of this thread, for others may be at work here."""
    together = min(replicas, max(1, _PROBED // max(problem.records)))
    objective, x = problem.objectives[0], np.zeros((together, problem.dimension))
    taken, ends = list[float](), time.thread_time() + _MEASURED
    while len(taken) < _READINGS and not (taken and time.thread_time() > ends):
        begun = time.thread_time()
        objective.gradient(x)
        taken.append(time.thread_time() - begun)
    some = taken[1:] or taken  # the first one may load what it needs
    return sum(some) / len(some) * replicas / together


def duration(seconds: float) -> str:
    """In words: 3 s, 5 min, 2 h."""
    for most, unit, name in ((90, 1, "s"), (5400, 60, "min"), (172_800, 3600, "h"), (float("inf"), 86_400, "days")):
        if seconds < most:
            return f"{max(1, round(seconds / unit)):,} {name}"
    return "for ever"


def how_far(done: float, total: float | None) -> str:
    """Steps done of a stage, in words: of all, that they are evaluated now; nothing of a stage of one step."""
    if total is None or total <= 1 or done > total:
        return ""
    return f"{done:,.0f} of {total:,.0f}{', evaluating' * (done == total)}"


class Progress(Protocol):
    """Receiver of how far the run is: `begin` a stage of `total` steps, which takes about so many `seconds` (nan:
    nobody knows), `advance` by some, that it was `broken` off, what else to `say`, and what is being done within the
    stage at this moment, a line each (`doing`)."""

    def begin(self, stage: str, total: int, seconds: float = math.nan, /) -> None: ...

    def advance(self, steps: int) -> None: ...

    def broken(self) -> None: ...

    def say(self, sentence: str) -> None: ...

    def doing(self, lines: list[str]) -> None: ...


class Silent:
    """Tells nobody."""

    def begin(self, stage: str, total: int, seconds: float = math.nan, /) -> None:
        pass

    def advance(self, steps: int) -> None:
        pass

    def broken(self) -> None:
        pass

    def say(self, sentence: str) -> None:
        pass

    def doing(self, lines: list[str]) -> None:
        pass


@dataclass
class PassedOn:
    """Passes everything on to another receiver."""

    progress: Progress

    def begin(self, stage: str, total: int, seconds: float = math.nan, /) -> None:
        self.progress.begin(stage, total, seconds)

    def advance(self, steps: int) -> None:
        self.progress.advance(steps)

    def broken(self) -> None:
        self.progress.broken()

    def say(self, sentence: str) -> None:
        self.progress.say(sentence)

    def doing(self, lines: list[str]) -> None:
        self.progress.doing(lines)


EVERY = 0.1
"""Seconds of real time between two looks at a simulation."""
QUIET = 8.0
"""Seconds in which no agent closes a round after which it is said what the run does."""


@dataclass
class InPercent:
    """Receiver of shares of some work: a `stage` of a hundred steps, which begins where that takes longer than
    `QUIET`."""

    progress: Progress
    stage: str
    _done: float = 0.0
    _shown: int | None = None
    _since: float | None = None

    def __call__(self, share: float) -> None:
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        self._done = min(1.0, self._done + share)
        if self._shown is None and now >= self._since + QUIET:
            self._shown = 0
            self.progress.begin(self.stage, 100)
        if self._shown is not None and (more := math.floor(100 * self._done + _ROUNDED) - self._shown) > 0:
            self._shown += more
            self.progress.advance(more)


@dataclass
class OfEachWorld:
    """Receiver of counts of transcripts, of one world and of the other in turn: a stage counts those of each."""

    progress: Progress
    _of_both: int = 0

    def __call__(self, transcripts: int) -> None:
        before = self._of_both // 2
        self._of_both += transcripts
        if more := self._of_both // 2 - before:
            self.progress.advance(more)


@contextmanager
def attended(progress: Progress, algorithm: Algorithm) -> Generator[Callable[[Running], None]]:
    """Within, it is said of a run in which no agent ever closes a round what it has sent, of one that goes on beyond
    every end that its algorithm states how far it is, and of code of the user's that waits for nothing where it is;
    less often the longer it takes. What this gives is called at each look."""
    over, thread, found = threading.Event(), threading.get_ident(), deque[Running](maxlen=1)

    def watch() -> None:
        since, wait, closed, sent, asked, advised = time.monotonic(), QUIET, 0, 0, _Asked(algorithm), False
        while not over.wait(wait):
            running = found[-1] if found else None
            before, closed = closed, 0 if running is None else running.estimates
            then, sent = sent, 0 if running is None else running.traffic()["packets_sent"]
            if sent != then:
                asked = _Asked(algorithm)
            place = "" if sent != then else at_work(_frame(thread), algorithm) or asked.place(thread)
            if place:
                _ask(progress, place, since)
            elif running is not None and closed == 0 and sent > then:
                progress.say(
                    f"no estimate yet after {sent:,} packets, at t={running.now:g} s: a run ends when each agent's "
                    f"run() returns, and node.estimate(x) closes a round; a walk ends at its `stopping()`. {KEPT}"
                )
            elif running is not None and (beyond := _beyond(running, algorithm)):
                progress.say(f"{sent:,} packets, {beyond}{'' if advised else f': {_ENDS} {KEPT}'}")
                advised = True
            else:
                wait = QUIET if closed > before else 2 * wait
                continue
            wait *= 2

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield found.append
    finally:
        over.set()


@contextmanager
def unending_named(progress: Progress, algorithm: Algorithm) -> Generator[None]:
    """Within, where many runs are simulated, it is said of code of the user's that waits for nothing where it is."""
    over, thread = threading.Event(), threading.get_ident()

    def watch() -> None:
        since, wait, before, asked = time.monotonic(), QUIET, None, _Asked(algorithm)
        while not over.wait(wait):
            frame = _frame(thread)
            place, now = at_work(frame, algorithm), _standing(frame)
            del frame
            if now is not None and now == before:
                place = place or asked.place(thread)
            if place and now is not None and now == before:
                _ask(progress, place, since)
                wait *= 2
            elif now is None or now != before:
                since, wait, before, asked = time.monotonic(), QUIET, now, _Asked(algorithm)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        over.set()


class _Asked:
    """Where code of the user's asks its own node again and again, since this was made."""

    def __init__(self, algorithm: Algorithm) -> None:
        self._algorithm, self._before = algorithm, -1

    def place(self, thread: int) -> str:
        """FILE:LINE where a node has given many gradients since it was first seen here; else ""."""
        for _ in range(_GLANCES):
            frame = _frame(thread)
            count, place = _queries(frame), at_work(frame, self._algorithm, through_node=True)
            del frame
            if count and self._before < 0:
                self._before = count
            if place and count >= self._before + _AGAIN > _AGAIN:
                return place
            time.sleep(_GLANCE)
        return ""


def _queries(frame: FrameType | None) -> int:
    """How many gradients the node has given that is at work in this frame or one that called it; 0 where none is."""
    while frame is not None and frame.f_code not in _ANSWERS:
        frame = frame.f_back
    return 0 if frame is None else cast(LiveNode, frame.f_locals["self"]).queries


_ANSWERS = [one.__code__ for one in (LiveNode.gradient, LiveNode.proximal, LiveNode.perturbed_proximal)]


def _standing(frame: FrameType | None) -> tuple[object, ...] | None:
    """Which environment a virtual loop below this frame has, and what came last there: the same while an agent waits
    for nothing. None where no loop runs."""
    turn = VirtualLoop._run_once.__code__  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code is not turn:
        frame = frame.f_back
    if frame is None:
        return None
    environment = cast(VirtualLoop, frame.f_locals["self"]).environment
    return weakref.ref(environment), environment.now, environment.horizon


def _frame(thread: int) -> FrameType | None:
    return sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage]


def _ask(progress: Progress, place: str, since: float) -> None:
    progress.say(f"{place}: {time.monotonic() - since:.0f} s without a message: does this loop end? {KEPT}")


def _beyond(running: Running, algorithm: Algorithm) -> str:
    """The agent that has gone on beyond every end that its algorithm states, and how far; "" for none."""
    activations = running.activations
    most, horizon = max(activations), algorithm.horizon
    if algorithm.stopping().walks or (horizon is not None and most <= horizon):
        return ""
    return f"agent {activations.index(most)} at activation {most:,}"


_ENDS = "does this end? Rounds need a bound; a walk ends where its `stopping()` says, such as Stopping(per_agent=6)."


def simulated(simulation: Simulation, stage: str, progress: Progress, packet_log: PacketLog | None = None) -> Run:
    """The run, to its end. You get a `KeyboardInterrupt` where it was interrupted."""
    progress.begin(stage, estimates(simulation))
    done = 0

    def look(running: Running) -> None:
        nonlocal done
        progress.advance(running.estimates - done)
        done = running.estimates

    run = simulation.run(look, every=EVERY, packet_log=packet_log)
    if run.interrupted:
        raise KeyboardInterrupt
    return run


def estimates(simulation: Simulation) -> int:
    """How many estimates a run makes, at most."""
    algorithm = simulation.algorithm
    return algorithm.stopping().activations or simulation.topology.agents * (algorithm.horizon or 1)
