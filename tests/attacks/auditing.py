"""Audits of small worlds, for several tests."""

from dataclasses import dataclass

import numpy as np

from attacks.audit.audit import audit
from attacks.audit.loss.comparison import WorldComparison, compare_worlds
from attacks.audit.pair import Pair
from attacks.audit.result import AuditResult
from attacks.audit.verdict import Verdict
from attacks.inference import infer
from attacks.replay import Replayed, replay
from netsim.algorithms import Algorithm
from netsim.claims import Adjacency, Claim
from netsim.problems import LeastSquares, Problem, Tilted
from netsim.problems.objective import direction
from netsim.simulation import Simulation
from netsim.topology import ring
from scenarios.stages.worlds import worlds
from tests.worlds import coins

HELD = (Verdict.PROVEN, Verdict.CONSISTENT, Verdict.UNDERPOWERED)
"""Verdicts on a claim that nothing speaks against."""
RECORD = Adjacency(2 * 4.0 / 45, "one record of one agent replaced")
"""Of the digits split among eight agents, ‖a‖₂ ≤ 4."""


def judged(simulation, pair, claim, trials=400, attack=infer, seed=0, chunk=None, **options) -> AuditResult:
    """Audited at 95 % confidence, in two chunks if not said; `simulation` may be what an audit calls for a chunk."""
    chunk = chunk or trials // 2
    if isinstance(simulation, Simulation):
        simulation = worlds(simulation, pair.agent, pair.hypotheses[1], chunk, 0, claim.delta)
    options = {"confidence": 0.95, "rng": np.random.default_rng(seed), "infer": attack} | options
    return audit(simulation, pair, claim, trials=trials, chunk=chunk, **options)


def quadratic_world(algorithm, agents=3):
    """Every agent pulls towards its own point; the adjacent agent 1 pulls elsewhere: Δ∇f is constant."""
    eye = np.eye(4)
    objectives = [LeastSquares(eye, np.full(4, float(i)), 0.5) for i in range(agents)]
    other = LeastSquares(eye, np.full(4, 1.0) + np.array([0.5, -0.5, 0.5, 0.5]), 0.5)
    simulation = Simulation(Problem(tuple(objectives)), ring(agents), algorithm)
    return simulation, Pair(1, (objectives[1], other), "another target")


def audited(of, epsilon=2.0, delta=1e-3, trials=400, attack=None, **options) -> AuditResult:
    """An audit of a claim of so much, of a simulation and its pair, or of an algorithm in the quadratic world."""
    simulation, pair = quadratic_world(of) if isinstance(of, Algorithm) else of
    return judged(simulation, pair, claim_of(epsilon, delta), trials, attack, **options)


def explained(of, count=20, world=0, chunk=0, reference=None, **options) -> WorldComparison:
    """What a chunk of transcripts shows of a simulation and its pair, or of an algorithm in the quadratic world."""
    simulation, pair = quadratic_world(of) if isinstance(of, Algorithm) else of
    sample = worlds(simulation, pair.agent, pair.hypotheses[1], count, **options)(world, chunk)
    true, other = pair.hypotheses[world], pair.hypotheses[1 - world]
    return compare_worlds(sample, pair.agent, true, other, reference)


def replayed(run, objective=None, granted=False, known=1) -> Replayed:
    """Agent 1's replay under its own objective, if under no other; with its releases granted, or with the coins of
    another agent."""
    releases = run.truth.releases[1] if granted else None
    own = objective or run.simulation.problem.objectives[1]
    return replay(run.views[0], 1, own, coins(run, known), releases)


def record_pair(problem, agent=1):
    own = problem.objectives[agent]
    return Pair(agent, (own, own.with_record(0, own.features[0], -float(own.labels[0]))), "a label flipped")


def turned_world(algorithm, dimension, shows="even"):
    """Agent 1's gradient is clipped in both worlds, in opposite directions: no pair costs a release more."""
    parts = [LeastSquares(np.eye(dimension), np.full(dimension, float(i)), 0.5) for i in range(3)]
    one, two = (Tilted(parts[1], sign * 1e3 * direction(shows, dimension)) for sign in (1, -1))
    simulation = Simulation(Problem((parts[0], one, parts[2])), ring(3), algorithm)
    return simulation, Pair(1, (one, two), "the gradient of agent 1 turned round")


def claim_of(epsilon, delta):
    return Claim(epsilon, delta, "by hand", Adjacency(0.25, "another target"), "ℓ1 = ℓ2")


@dataclass(frozen=True)
class Releases(Algorithm):
    """Sends its gradient at 0, times `factor` and rounded if that is not 1, once with each mechanism."""

    mechanisms: tuple
    factor: float = 1.0

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        value = gradient if self.factor == 1 else np.rint(gradient * self.factor)
        for mechanism in self.mechanisms:
            made = mechanism(gradient) if isinstance(mechanism, type(lambda: 0)) else mechanism
            node.broadcast(x=node.privatize(value, made))
        node.estimate(gradient)
