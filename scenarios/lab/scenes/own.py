"""Lesson on a reader's own algorithm: read from its text, run, probed, replayed and audited; and planted faults."""

import ast
import difflib
import math
import time
import traceback
import types
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from inspect import isabstract
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar, cast

import numpy as np

from attacks.audit.audit import audit
from attacks.audit.pair import Pair, Simulate
from attacks.audit.result import AuditResult
from attacks.audit.verdict import BROKEN, Verdict
from attacks.audit.witness import find
from attacks.inference import through_probe
from attacks.replay import replay
from attacks.score import score_gradients
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm
from netsim.arrays import Array
from netsim.claims import Adjacency, Claim
from netsim.errors import AttackError
from netsim.problems import Problem, Tilted
from netsim.problems.objective import direction
from netsim.randomness import Streams, coins_of
from netsim.simulation import Run, Simulation
from scenarios.files.document import plain, read_yaml
from scenarios.lab.scenes.budgets import APART, pulling
from scenarios.results.numbers import show, show_epsilon
from scenarios.stages.worlds import worlds

AGENTS, AGENT, DIMENSION, REPLICAS, TRIALS = 4, 1, 4, 50, 200
STEEP = 1e6
"""A gradient moved by so much is clipped whatever the point."""
SEED = 0
WAYS = {"even": "in all coordinates alike", "coordinate": "in one coordinate"}
EXACT = 1e-6
"""A relative error below which a gradient counts as known."""
_ORDER = (
    Verdict.UNPROTECTED,
    Verdict.REFUTED,
    Verdict.UNDEFINED,
    Verdict.NO_CLAIM,
    Verdict.VACUOUS,
    Verdict.UNDERPOWERED,
    Verdict.CONSISTENT,
    Verdict.PROVEN,
)
"""The worst first."""
Changes = Literal["moved", "anything"]
"""What of agent 1 may be another in the other world: its gradient moved by a constant vector of ℓ2 norm 1 at most, or
all of its data."""


# ── a text, and what is wrong with it ──────────────────────────────────────────────────────────────────────
FILENAME = "<your algorithm>"
MODULE = "your_algorithm"
SECONDS = 60.0
"""So long a loop of the text may go on, in all, before it is stopped."""
_TICK = "_netsim_lab_tick"
_DONE = {
    "read": "read",
    "build": "built",
    "run": "run",
    "claim": "asked for its claim",
    "probe": "probed",
    "replay": "replayed",
    "audit": "audited",
}
T = TypeVar("T")


@dataclass(eq=False)
class Mistake(Exception):  # noqa: N818
    """What is wrong with the text: in which `line` (from 1; None where it is in none of them), and that line.

    `stage` is what was being done: "read", "build", "claim", "run", "probe", "replay", "audit".
    """

    stage: str
    line: int | None
    excerpt: str
    says: str

    @property
    def doing(self) -> str:
        """What could not be done, as in "it could not be …"."""
        return _DONE[self.stage]

    def __str__(self) -> str:
        where = "" if self.line is None else f"line {self.line}: "
        return f"{where}{self.says}"


class _Stopped(Exception):  # noqa: N818
    """A loop of the text went on for too long."""


def _read(source: str) -> Algorithm:
    """Run the text and build the last algorithm that it defines, or the one that it calls `algorithm`. What of it is
    called later goes through `_doing`.

    Every field of the class needs a default. You get a `Mistake` where the text is no Python, fails, or defines no
    algorithm.
    """
    try:
        tree = ast.parse(source, FILENAME)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise Mistake("read", line, _line(source, line), f"no Python: {getattr(error, 'msg', error)}") from None
    lines = {node.name: node.lineno for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    module = types.ModuleType(MODULE)
    setattr(module, _TICK, _clock(SECONDS))
    for node in ast.walk(tree):  # every loop looks at the clock: one without an end does not hold up the page
        if isinstance(node, ast.While | ast.For | ast.AsyncFor):
            tick = ast.Expr(ast.Call(ast.Name(_TICK, ast.Load()), [], []))
            node.body.insert(0, ast.copy_location(tick, node))
    code = ast.fix_missing_locations(tree)
    _doing(source, "read", lambda: exec(compile(code, FILENAME, "exec"), vars(module)))
    return _doing(source, "build", lambda: _algorithm(source, vars(module), lines))


def _algorithm(source: str, defined: dict[str, object], lines: dict[str, int]) -> Algorithm:
    """`lines`: of the classes."""
    named = defined.get("algorithm")
    if isinstance(named, Algorithm):
        return named
    kinds = [one for one in defined.values() if isinstance(one, type) and issubclass(one, Algorithm)]
    own = [one for one in kinds if one.__module__ == MODULE]
    if not own:
        says = "there is no algorithm in it: define a class that derives from netsim.algorithms.Algorithm"
        raise Mistake("build", None, "", says)
    name, line = own[-1].__name__, lines.get(own[-1].__name__)
    if isabstract(own[-1]):
        raise Mistake("build", line, f"class {name}", f"{name} has no `async def run(self, node)`")
    try:
        return own[-1]()
    except TypeError as error:
        says = f"{error}: give every field a default, or name an instance `algorithm`"
        raise Mistake("build", line, _line(source, line), says) from None


def _doing(source: str, stage: str, task: Callable[[], T]) -> T:
    """Do a task with a text. An error of any kind in it is a `Mistake` with the line of the text it came from."""
    try:
        return task()
    except Mistake:
        raise
    except (Exception, SystemExit) as error:  # not our text: what it raises is told, and ends nothing
        frames = (frame for one in _chain(error) for frame in [*traceback.walk_tb(one.__traceback__)][::-1])
        line = next((line for frame, line in frames if frame.f_code.co_filename == FILENAME), None)
        kind = "" if isinstance(error, _Stopped) else f"{type(error).__name__}: "
        hint = " (`await` is missing)" if "'coroutine'" in str(error) else ""
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()) if not note.startswith("besides"))
        raise Mistake(stage, line, _line(source, line), f"{kind}{error}{hint}{notes}") from error


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, what is in it if it is a group, and what it came from."""
    if error is None:
        return
    yield error
    if isinstance(error, BaseExceptionGroup):
        for one in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _chain(one)
    yield from _chain(error.__cause__ or error.__context__)


def _line(source: str, line: int | None) -> str:
    lines = source.splitlines()
    return lines[line - 1].strip() if line is not None and 0 < line <= len(lines) else ""


def _clock(seconds: float) -> Callable[[], None]:
    until = time.monotonic() + seconds

    def tick() -> None:
        if time.monotonic() > until:
            raise _Stopped(f"this loop was still going on after {seconds:g} seconds: does it end?")

    return tick


# ── all that is found of a text ─────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class _Probe:
    """Result of a tap of all links: the median relative error of agent 1's gradients, in all draws of the noise.

    `exact` of `asked` queries are known to six digits. `refused`: why a probe cannot be made of this code.
    """

    error: float
    exact: int
    asked: int
    refused: str = ""


class _Step(NamedTuple):
    """One line of a witness: a release that adds `loss` nats, or (∞) a message that no noise protects."""

    round: int
    what: str
    receivers: tuple[int, ...]
    loss: float
    sum: float


@dataclass(frozen=True)
class _Examined:
    """All that was found of one text. `audits` has one audit for each direction; `worst` is the one that counts.

    `errors` are of one run with `REPLICAS` draws of the noise: ‖x − x*‖/‖x*‖ of the worst agent by round, (rounds,):
    the median. `fields` are the names of what agent 1 sent, with how many messages had them. `witness` is the
    transcript that breaks the claim, message by message; empty where none does.
    """

    changes: Changes
    claim: Claim
    errors: Array
    fields: dict[str, int]
    probe: _Probe
    identical: bool
    audits: tuple[tuple[str, AuditResult], ...]
    witness: tuple[_Step, ...]

    @property
    def worst(self) -> AuditResult:
        """Of the direction with the worst verdict, and of these the one with the largest exact ε."""
        return min((found for _, found in self.audits), key=_rank)

    @property
    def verdict(self) -> Verdict:
        return self.worst.judgement.verdict

    @property
    def error(self) -> float:
        return float(self.errors[-1])

    @property
    def rounds(self) -> list[int]:
        return list(range(1, len(self.errors) + 1))

    def readers(self) -> list[list[str]]:
        """Findings of each reader, a row each."""
        sent = ", ".join(f"{name!r} {count} times" for name, count in self.fields.items())
        probe, same = self.probe, "under the true data every message came again, to the last bit"
        known = f"of agent 1's {probe.asked} gradients a tap of all links knows {probe.exact} exactly; the median "
        known = f"refuses: {probe.refused}" if probe.refused else f"{known}relative error is {show(probe.error)}"
        rows = [
            ["run", f"after {self.rounds[-1]} rounds the error is {show(self.error)}; agent 1 sent {sent}"],
            ["probe", known],
            ["replay", same if self.identical else "messages did not come again: not all came through the node"],
        ]
        for way, one in self.audits:
            numbers = f"ε claimed {show_epsilon(one.claim.epsilon)}, exact {show_epsilon(one.epsilon_exact)}"
            game = f"audited ≥ {show_epsilon(one.epsilon_audited)}"
            rows.append([f"audit, {WAYS[way]}", f"{one.judgement.verdict}: {numbers}, {game}"])
        return rows

    def missing(self, exercise: "_Planted") -> str:
        """The reason why this is no repair of the exercise; empty if it is one.

        A repair: nothing is found against its claim, for the changes that the exercise is about, and claim and error
        are at most twice those of the sound twin.
        """
        _, twin = exercise.examined()
        claimed, bound = self.claim.epsilon, 2 * (twin.claim.epsilon or 0.0)
        if self.changes != exercise.changes:
            return "It is judged for another change of the data than its author speaks of: set that back."
        if self.verdict not in (Verdict.PROVEN, Verdict.CONSISTENT) or claimed is None:
            return f"It is {self.verdict}: {self.worst.judgement.reason}"
        if not 0 < claimed <= bound:
            return f"It claims ε = {show_epsilon(claimed)}; more than 0 and at most {show(bound)} is asked for."
        if not self.error <= 2 * twin.error:
            return f"Its error is {show(self.error)}; at most {show(2 * twin.error)} is asked for."
        return ""


@lru_cache(32)
def examine(source: str, changes: Changes = "moved", wish: float = 1.0) -> _Examined | Mistake:
    """Do everything with the algorithm of a text, or say what is wrong with it.

    `wish` is what is claimed where the text claims nothing; `TRIALS` transcripts of each world are audited, for each
    direction of the change.
    """
    try:
        return _examined(source, changes, wish)
    except Mistake as mistake:
        return mistake


def _examined(source: str, changes: Changes, wish: float) -> _Examined:
    algorithm, taps = _read(source), Adversary("ears", "all", nodes=(AGENT,))
    problem = Problem(tuple(pulling(APART * i, DIMENSION) for i in range(AGENTS)))
    build = partial(Simulation, problem, topology.ring(AGENTS), algorithm, adversaries=(taps,), seed=SEED)
    simulation = _doing(source, "build", build)
    run = _doing(source, "run", replace(simulation, replicas=REPLICAS).run)
    assert run.metrics is not None
    assert run.truth is not None
    errors = np.median(run.metrics.worst_by_round(AGENTS), axis=1)
    rows = run.views[0].at_node(AGENT)
    fields = dict(Counter(name for row in rows if row.event == "sent" for name in row.values))
    relation = "the gradient of one agent moved by a constant vector of at most 1 in ℓ2"
    adjacency = Adjacency.within(1.0, "l2", DIMENSION, relation)
    if changes == "anything":
        adjacency = Adjacency(math.inf, "all data of one agent replaced")
    claim = _doing(source, "claim", lambda: simulation.claim(adjacency, len(errors), 0.0))
    claim = Claim(wish, 0.0, "what you wished", adjacency, "ℓ1") if claim is None else claim
    probe = _doing(source, "probe", lambda: _probed(run))
    true, granted, coins = run.simulation.problem.objectives[AGENT], run.truth.releases[AGENT], Streams(SEED)
    replayed = partial(replay, run.views[0], AGENT, true, coins_of(coins, AGENT), granted)
    identical = _doing(source, "replay", replayed).identical  # under its true data agent 1 sends the same bits again
    audits = [_doing(source, "audit", partial(_audited, simulation, changes, claim, way)) for way in WAYS]
    worst = min(audits, key=lambda one: _rank(one[0]))
    witness = _doing(source, "audit", lambda: _witness(*worst))
    by_way = tuple((way, found) for way, (found, *_) in zip(WAYS, audits, strict=True))
    return _Examined(changes, claim, errors, fields, probe, identical, by_way, witness)


def _rank(found: AuditResult) -> tuple[int, float]:
    return _ORDER.index(found.judgement.verdict), -found.epsilon_exact


def _probed(run: Run) -> _Probe:
    assert run.truth is not None
    queries = len(run.truth.queries[AGENT])
    try:
        found = [one for one in through_probe(run.views[0]) if one.agent == AGENT]
    except AttackError as error:
        return _Probe(math.inf, 0, queries, str(error))
    errors = score_gradients(found, run.truth).errors if found else np.full((1, 1), math.inf)
    return _Probe(float(np.median(errors)), int((np.median(errors, axis=1) < EXACT).sum()), queries)


def _audited(simulation: Simulation, changes: Changes, claim: Claim, way: str) -> tuple[AuditResult, Pair, Simulate]:
    """The audit on two worlds of agent 1 that differ in the direction `way`, with what makes its transcripts."""
    own, unit = simulation.problem.objectives[AGENT], direction(way, DIMENSION)
    one, two = (STEEP * unit, -STEEP * unit) if changes == "anything" else (0 * unit, unit)
    mine, other = Tilted(own, one), Tilted(own, two)
    world = replace(simulation, problem=simulation.problem.replace(AGENT, mine))
    pair = Pair(AGENT, (mine, other), f"the gradient of agent {AGENT} moved, {WAYS[way]}")
    simulate, rng = worlds(world, AGENT, other, TRIALS // 2, delta=claim.delta), np.random.default_rng(SEED)
    found = audit(simulate, pair, claim, trials=TRIALS, chunk=TRIALS // 2, confidence=0.95, rng=rng)
    return found, pair, simulate


def _witness(found: AuditResult, pair: Pair, simulate: Simulate) -> tuple[_Step, ...]:
    """The transcript that breaks the claim, up to the message that no noise protects if there is one."""
    if found.judgement.verdict not in BROKEN or found.witness is None:
        return ()
    _, account = find(simulate, pair, found.witness)
    steps: list[_Step] = []
    for item, total in zip(account.items[: account.before_uncovered], account.running(), strict=False):
        if item.counts:  # else not on the wire as it was released
            what = f"a release under {item.law} noise, ‖Δ‖₁ = {item.l1:.3g}"
            steps.append(_Step(item.activation, what, item.receivers, item.loss, total))
    if (bare := account.uncovered) is not None:
        what = f"{bare.name!r}: the worlds differ, and no noise protects it" if bare.name else bare.sentence
        steps.append(_Step(bare.activation, what, account.uncovered_to, math.inf, math.inf))
    return tuple(steps)


# ── planted faults ──────────────────────────────────────────────────────────────────────────────────────────
SOUND = '''\
from dataclasses import dataclass

from netsim.algorithms import Algorithm
from netsim.claims import Claim
from netsim.mechanisms import Laplace


@dataclass(frozen=True)
class Mine(Algorithm):
    """x_i ← Σ_j w_ij x̃_j − η∇f_i(x̃_i), x̃ = x + Lap(b)."""

    rounds: int = 4
    step: float = 0.5
    scale: float = 2.0

    async def run(self, node):
        x = node.zeros()
        for k in range(self.rounds):
            sent = node.privatize(x, Laplace(self.scale))
            received = await node.exchange(x=sent)
            gradient = await node.gradient(sent)
            x = received.mix("x") - self.step * gradient
            node.estimate(x)

    def claim(self, adjacency, setting, delta):
        change = adjacency.in_norm("l1", setting.dimension)
        epsilon = (self.rounds - 1) * self.step * change / self.scale
        return Claim(epsilon, 0.0, "composition over the rounds", adjacency, "ℓ1")
'''

_CLIPPED = (
    SOUND.replace("∇f_i(x̃_i), x̃", "clip(∇f_i(x̃_i), C), x̃")
    .replace("from netsim.claims import Claim\n", "from netsim.claims import Claim\nfrom netsim.claims import Clip\n")
    .replace("    scale: float = 2.0\n", '    scale: float = 6.0\n    clip: Clip = Clip(3.0, "l1")\n')
    .replace("await node.gradient(sent)", "self.clip(await node.gradient(sent))")
    .replace('adjacency.in_norm("l1", setting.dimension)', "2 * self.clip.bound")
)
_TWICE = (
    SOUND.replace("w_ij x̃_j − η∇f_i(x̃_i)", "w_ij z̃_j, z_i = Σ_j w_ij x̃_j − η∇f_i(x̃_i)")
    .replace(
        '            x = received.mix("x") - self.step * gradient\n',
        '            z = received.mix("x") - self.step * gradient\n'
        "            again = await node.exchange(z=node.privatize(z, Laplace(self.scale)))\n"
        '            x = again.mix("z")\n',
    )
    .replace("(self.rounds - 1) * self.step", "self.rounds * self.step")
)


@dataclass(frozen=True)
class _Planted:
    """One exercise: what its author says, a sound text, the fault (`new` in place of `old`), what may change of the
    data, and a lesson."""

    name: str
    author: str
    sound: str
    old: str
    new: str
    changes: Changes
    lesson: str

    @property
    def source(self) -> str:
        return self.sound.replace(self.old, self.new)

    @property
    def body(self) -> list[tuple[str, int]]:
        """The lines of the class after its docstring, with their numbers before them, and the numbers."""
        lines = self.source.splitlines()
        start = next(k for k, line in enumerate(lines) if '"""' in line) + 1
        return [(f"{k}: {lines[k - 1].strip()}", k) for k in range(start + 1, len(lines) + 1) if lines[k - 1].strip()]

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines of `source`, from 1, that are not as in the sound twin; where a line is missing, those beside."""
        faulty, twin = self.source.splitlines(), self.sound.splitlines()
        found: set[int] = set()
        for kind, start, end, *_ in difflib.SequenceMatcher(None, faulty, twin, autojunk=False).get_opcodes():
            if kind != "equal":
                found |= set(range(start + 1, end + 1)) or {start, start + 1}
        return tuple(sorted(found))

    def examined(self) -> tuple[_Examined, _Examined]:
        fault, twin = (examine(source, self.changes) for source in (self.source, self.sound))
        assert isinstance(fault, _Examined)
        assert isinstance(twin, _Examined)
        return fault, twin

    def compared(self) -> str:
        fault, twin = self.examined()
        return (
            f"As written it is {fault.verdict}: ε claimed {show_epsilon(fault.claim.epsilon)}, exact "
            f"{show_epsilon(fault.worst.epsilon_exact)}. The sound twin is {twin.verdict}: "
            f"{show_epsilon(twin.claim.epsilon)} and {show_epsilon(twin.worst.epsilon_exact)}."
        )


_SOUND = {"sound": SOUND, "clipped": _CLIPPED, "twice": _TWICE}
_FILE = Path(__file__).with_name("planted.yaml")
PLANTED = tuple(
    _Planted(**one | {"sound": _SOUND[one["sound"]]})
    for one in plain(read_yaml(_FILE.read_text(encoding="utf-8"), str(_FILE)))
)
"""In the order of the lesson."""
