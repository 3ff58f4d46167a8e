"""The membership game: transcripts of two worlds, and how well an attacker tells which one each is of.

An informed attacker's worlds are the agent's own records with and without the candidate: each is one run with many
draws of the noise. Who is not informed knows the records of neither world: they are drawn anew for every transcript,
which is then a run of its own.
"""

from dataclasses import dataclass, replace

from attacks.reconstruction.attack import Known
from attacks.reconstruction.decision import Decision
from attacks.reconstruction.membership import Membership
from attacks.score.decisions import (
    AtLevel,
    MembershipScore,
    allowed_advantage,
    allowed_power,
    breaks,
    score_membership,
)
from netsim.randomness import Streams
from scenarios.deciding.allowed import Allowance, allowance
from scenarios.deciding.play import Game, begun, bounded, counted, guarded, parts_of
from scenarios.deciding.worlds import Both
from scenarios.describe import Results
from scenarios.report import decisions
from scenarios.schema.deciding import MembershipSpec

IN, OUT = 0, 1


@dataclass(frozen=True)
class MembershipGame(Game):
    """Plays it for one algorithm."""

    def play(self, spec: MembershipSpec) -> Results:
        """The entry's `membership`."""
        said = begun(spec, Membership().source, self.records) | {
            "adjacency": spec.adjacency,
            "informed": spec.informed,
            "record": spec.record if spec.informed else None,
        }
        trials = spec.trials if self.noisy or not spec.informed else 1
        self.progress.begin(f"{self.subject.spec.name}: membership", 2 * trials)
        found = said | guarded("membership", lambda: self._played(spec, trials))
        return found | {"sentence": decisions.membership(found)}

    def _played(self, spec: MembershipSpec, trials: int) -> Results:
        worlds = [self._world(spec, world, trials) for world in (IN, OUT)]
        inside, out = ([decision for decision, _, _ in world] for world in worlds)
        exact = all(exact for world in worlds for _, _, exact in world)
        activations = max(largest for world in worlds for _, largest, _ in world)
        score = score_membership(inside, out, spec.levels, spec.confidence)
        allowed = allowance(self.experiment, self.subject, activations)
        return {
            "trials": trials,
            "noise": self.noisy,
            "exact": exact,
            "estimates": len(inside[0].queries),
        } | scored(score, allowed, spec.confidence)

    def _world(self, spec: MembershipSpec, world: int, trials: int) -> list[tuple[Decision, int, bool]]:
        """Decisions about the transcripts of a world, with Θ of each run, and whether its estimates are exact."""
        found: list[tuple[Decision, int, bool]] = []
        fixed = self.staging.fixed(spec) if spec.informed else None
        for index, replicas in enumerate(parts_of(trials, spec.chunk if spec.informed else 1)):
            both = fixed or self.staging.drawn(spec, index)
            found.append(self._transcripts(spec, both, world, index, replicas))
            self.progress.advance(replicas)
        return found

    def _transcripts(
        self, spec: MembershipSpec, both: Both, world: int, index: int, replicas: int
    ) -> tuple[Decision, int, bool]:
        run = self.run(spec.agent, both.inside if world == IN else both.out, 2 * index + world, replicas)
        case = self.case(run.views[0], spec, lambda known: self._known(spec, both, known))
        rng = Streams(self.experiment.scenario.seed).generator("membership", self.subject.spec.name, world, index)
        decision = attack_of(spec, both).decide([case], [both.candidate], rng)[0]
        return decision, run.largest_activations, case.evidence.exact

    def _known(self, spec: MembershipSpec, both: Both, known: Known) -> Known:
        """All other records, or the public ones."""
        return replace(known, others=both.others) if spec.informed else replace(known, prior=self.staging.prior)


def attack_of(spec: MembershipSpec, both: Both) -> Membership:
    """The attack with its parameters."""
    return Membership(spec.adjacent, both.instead if spec.informed else None, spec.draws)


def scored(score: MembershipScore, allowed: Allowance, confidence: float) -> Results:
    """The rates, and beside them what the claim allows."""
    epsilon, delta = allowed.epsilon, allowed.delta
    above = None if epsilon is None else breaks(score, epsilon, delta, confidence)
    return {
        "levels": [_level(one, score, allowed) for one in score.levels],
        "advantage": bounded(score.advantage)
        | {"allowed": None if epsilon is None else allowed_advantage(epsilon, delta)},
        "auc": bounded(score.auc),
        "roc": {"alarms": score.roc[0].tolist(), "found": score.roc[1].tolist()},
        "claim": allowed.described() | {"broken": above},
    }


def _level(one: AtLevel, score: MembershipScore, allowed: Allowance) -> Results:
    most = None if allowed.epsilon is None else allowed_power(one.level, allowed.epsilon, allowed.delta)
    return {
        "level": one.level,
        "power": one.power,
        "found": counted(one.found, one.count[0], score.trials[0]),
        "alarms": counted(one.alarms, one.count[1], score.trials[1]),
        "allowed": most,
    }
