"""Lesson on a reader's own algorithm: run, probed, replayed and audited from its text."""

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from attacks.audit.audit import AuditResult, audit
from attacks.audit.pair import Pair, Simulate
from attacks.audit.verdict import Verdict
from attacks.audit.witness import find
from attacks.inference import through_probe
from attacks.replay import replay
from attacks.score import score_gradients
from netsim import topology
from netsim.adversary import Adversary
from netsim.arrays import Array
from netsim.claims import Adjacency, Claim
from netsim.errors import AttackError
from netsim.problems import Problem, Tilted
from netsim.problems.objective import direction
from netsim.randomness import Streams, coins_of
from netsim.simulation import Run, Simulation
from scenarios.lab.scenes.budgets import APART, pulling
from scenarios.lab.scenes.own_code import Changes, Mistake, Planted, doing, read
from scenarios.results.numbers import show
from scenarios.stages.worlds import worlds

AGENTS, AGENT, DIMENSION, REPLICAS = 4, 1, 4, 50
STEEP = 1e6
"""A gradient moved by so much is clipped whatever the point."""
SEED = 0
BROKEN = (Verdict.UNPROTECTED, Verdict.REFUTED)
WAYS = {"even": "in all coordinates alike", "coordinate": "in one coordinate"}
EXACT = 1e-6
"""A relative error below which a gradient counts as known."""
_ORDER = (*BROKEN, Verdict.UNDEFINED, Verdict.VACUOUS, Verdict.UNDERPOWERED, Verdict.CONSISTENT)
"""The worst first."""


@dataclass(frozen=True)
class _Ran:
    """One run with `REPLICAS` draws of the noise: ‖x − x*‖/‖x*‖ of the worst agent by round, (rounds,): the median.

    `fields` are the names of what agent 1 sent, with how many messages had them.
    """

    errors: Array
    fields: dict[str, int]


@dataclass(frozen=True)
class _Probe:
    """Result of a tap of all links: the median relative error of agent 1's gradients, in all draws of the noise.

    `exact` of `asked` queries are known to six digits. `refused`: why a probe cannot be made of this code.
    """

    error: float
    exact: int
    asked: int
    refused: str = ""


@dataclass(frozen=True)
class _Step:
    """One line of a witness: a release that adds `loss` nats, or (∞) a message that no noise covers."""

    round: int
    what: str
    to: str
    loss: float
    sum: float


@dataclass(frozen=True)
class _Examined:
    """All that was found of one text. `audits` has one audit for each direction; `worst` is the one that counts.

    `witness` is the transcript that breaks the claim, message by message; empty where none does.
    """

    changes: Changes
    claim: Claim
    ran: _Ran
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
        """After the last round."""
        return float(self.ran.errors[-1])

    @property
    def rounds(self) -> list[int]:
        """1, 2, …"""
        return list(range(1, len(self.ran.errors) + 1))

    def readers(self) -> list[list[str]]:
        """Findings of each reader, a row each."""
        sent = ", ".join(f"{name!r} {count} times" for name, count in self.ran.fields.items())
        probe, same = self.probe, "under the true data every message came again, to the last bit"
        known = f"of agent 1's {probe.asked} gradients a tap of all links knows {probe.exact} exactly; the median "
        known = f"refuses: {probe.refused}" if probe.refused else f"{known}relative error is {show(probe.error)}"
        rows = [
            ["run", f"after {self.rounds[-1]} rounds the error is {show(self.error)}; agent 1 sent {sent}"],
            ["probe", known],
            ["replay", same if self.identical else "messages did not come again: not all came through the node"],
        ]
        for way, one in self.audits:
            numbers = f"ε claimed {show(one.claim.epsilon)}, exact {show(one.epsilon_exact)}"
            game = f"audited ≥ {show(one.epsilon_audited)}"
            rows.append([f"audit, {WAYS[way]}", f"{one.judgement.verdict}: {numbers}, {game}"])
        return rows

    def missing(self, exercise: Planted) -> str:
        """The reason why this is no repair of the exercise; empty if it is one.

        A repair: nothing is found against its claim, for the changes that the exercise is about, and claim and error
        are at most twice those of the sound twin.
        """
        twin = examined(exercise.sound, exercise.changes)
        claimed, bound = self.claim.epsilon, 2 * (twin.claim.epsilon or 0.0)
        if self.changes != exercise.changes:
            return "It is judged for another change of the data than its author speaks of: set that back."
        if self.verdict is not Verdict.CONSISTENT or claimed is None:
            return f"It is {self.verdict}: {self.worst.judgement.reason}"
        if not 0 < claimed <= bound:
            return f"It claims ε = {show(claimed)}; more than 0 and at most {show(bound)} is asked for."
        if not self.error <= 2 * twin.error:
            return f"Its error is {show(self.error)}; at most {show(2 * twin.error)} is asked for."
        return ""


@lru_cache(32)
def examine(source: str, changes: Changes = "moved", wish: float = 1.0, trials: int = 200) -> _Examined | Mistake:
    """Do everything with the algorithm of a text, or say what is wrong with it.

    `wish` is what is claimed where the text claims nothing; `trials` transcripts of each world are audited, for each
    direction of the change.
    """
    try:
        return _examined(source, changes, wish, trials)
    except Mistake as mistake:
        return mistake


def examined(source: str, changes: Changes = "moved") -> _Examined:
    """The same of a text that has no mistake. You get the `Mistake` as an exception if it has."""
    found = examine(source, changes)
    if isinstance(found, Mistake):
        raise found
    return found


def compared(exercise: Planted) -> str:
    """The exercise and its sound twin, audited, in a sentence."""
    fault, twin = (examined(source, exercise.changes) for source in (exercise.source, exercise.sound))
    return (
        f"As written it is {fault.verdict}: ε claimed {show(fault.claim.epsilon)}, exact "
        f"{show(fault.worst.epsilon_exact)}. The sound twin is {twin.verdict}: {show(twin.claim.epsilon)} and "
        f"{show(twin.worst.epsilon_exact)}."
    )


def _examined(source: str, changes: Changes, wish: float, trials: int) -> _Examined:
    algorithm, taps = read(source), Adversary("ears", "all", nodes=(AGENT,))
    problem = Problem(tuple(pulling(APART * i, DIMENSION) for i in range(AGENTS)))
    build = partial(Simulation, problem, topology.ring(AGENTS), algorithm, adversaries=(taps,), seed=SEED)
    simulation = doing(source, "build", build)
    run = doing(source, "run", replace(simulation, replicas=REPLICAS).run)
    ran = doing(source, "run", lambda: _ran(run))
    relation = "the gradient of one agent moved by a constant vector of at most 1 in ℓ2"
    adjacency = Adjacency.within(1.0, "l2", DIMENSION, relation)
    if changes == "anything":
        adjacency = Adjacency(math.inf, "all data of one agent replaced")
    claim = doing(source, "claim", lambda: simulation.claim(adjacency, len(ran.errors), 0.0))
    claim = Claim(wish, 0.0, "what you wished", adjacency, "ℓ1") if claim is None else claim
    probe = doing(source, "probe", lambda: _probed(run))
    identical = doing(source, "replay", lambda: _replayed(run))
    games = [_Game.of(simulation, way, changes, trials) for way in WAYS]
    audits = [doing(source, "audit", partial(game.audited, claim)) for game in games]
    game, worst = min(zip(games, audits, strict=True), key=lambda both: _rank(both[1]))
    witness = doing(source, "audit", lambda: game.witness(worst))
    by_way = tuple((game.way, found) for game, found in zip(games, audits, strict=True))
    return _Examined(changes, claim, ran, probe, identical, by_way, witness)


def _rank(found: AuditResult) -> tuple[int, float]:
    return _ORDER.index(found.judgement.verdict), -found.epsilon_exact


def _ran(run: Run) -> _Ran:
    assert run.metrics is not None
    errors = np.median(run.metrics.worst_by_round(AGENTS), axis=1)
    rows = run.views[0].at_node(AGENT)
    return _Ran(errors, dict(Counter(name for row in rows if row.event == "sent" for name in row.values)))


def _probed(run: Run) -> _Probe:
    assert run.truth is not None
    queries = len(run.truth.queries[AGENT])
    try:
        found = [one for one in through_probe(run.views[0]) if one.agent == AGENT]
    except AttackError as error:
        return _Probe(math.inf, 0, queries, str(error))
    errors = score_gradients(found, run.truth).errors if found else np.full((1, 1), math.inf)
    return _Probe(float(np.median(errors)), int((np.median(errors, axis=1) < EXACT).sum()), queries)


def _replayed(run: Run) -> bool:
    """Whether agent 1, rerun on what was observed under its true data, sends every message again to the last bit."""
    assert run.truth is not None
    true, granted = run.simulation.problem.objectives[AGENT], run.truth.releases[AGENT]
    return replay(run.views[0], AGENT, true, coins_of(Streams(SEED), AGENT), granted).identical


@dataclass(frozen=True)
class _Game:
    """Two worlds of agent 1 that differ in the direction `way`, and how transcripts of them come about."""

    way: str
    pair: Pair
    simulate: Simulate
    trials: int

    @classmethod
    def of(cls, simulation: Simulation, way: str, changes: Changes, trials: int) -> "_Game":
        own, unit = simulation.problem.objectives[AGENT], direction(way, DIMENSION)
        one, two = (STEEP * unit, -STEEP * unit) if changes == "anything" else (0 * unit, unit)
        mine, other = Tilted(own, one), Tilted(own, two)
        world = replace(simulation, problem=simulation.problem.replace(AGENT, mine))
        words = f"the gradient of agent {AGENT} moved, {WAYS[way]}"
        return cls(way, Pair(AGENT, (mine, other), words), worlds(world, AGENT, other, trials // 2), trials)

    def audited(self, claim: Claim) -> AuditResult:
        rng, n = np.random.default_rng(SEED), self.trials
        return audit(self.simulate, self.pair, claim, trials=n, chunk=n // 2, confidence=0.95, rng=rng)

    def witness(self, found: AuditResult) -> tuple[_Step, ...]:
        """The transcript that breaks the claim, up to the message that no noise covers if there is one."""
        if found.judgement.verdict not in BROKEN or found.witness is None:
            return ()
        _, account = find(self.simulate, self.pair, found.witness)
        steps: list[_Step] = []

        def add(activation: int, what: str, agents: tuple[int, ...], loss: float, total: float) -> None:
            steps.append(_Step(activation, what, ", ".join(map(str, agents)) or "nobody", loss, total))

        for item, total in zip(account.items[: account.before_uncovered], account.running(), strict=False):
            if item.counts:  # else not on the wire as it was released
                what = f"a release under {item.law} noise, ‖Δ‖₁ = {item.l1:.3g}"
                add(item.activation, what, item.receivers, item.loss, total)
        if (bare := account.uncovered) is not None:
            what = f"{bare.name!r}: the worlds differ, and no noise covers it" if bare.name else bare.sentence
            add(bare.activation, what, account.uncovered_to, math.inf, math.inf)
        return tuple(steps)
