"""Inference stage of a run: the membership game and the property game."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attacks.audit.accounting.intervals import Interval
from attacks.closed_form.recal import published_evidence
from attacks.inference import Evidence, evidence
from attacks.reconstruction.attack import Case, Known
from attacks.reconstruction.membership import Decision, Membership
from attacks.reconstruction.property_inference import Choice, PropertyInference
from attacks.score.inference import (
    AtLevel,
    MembershipScore,
    PropertyScore,
    allowed_advantage,
    allowed_power,
    allowed_right,
    breaks,
    score_membership,
    score_property,
)
from netsim.adversary import AdversaryView
from netsim.errors import AttackError, ScenarioError
from netsim.problems import Dataset
from netsim.randomness import Streams
from netsim.simulation import Run
from scenarios.build.experiment import Experiment, Subject
from scenarios.build.inference import FIRST, Both, Staging, staged
from scenarios.build.progress import Progress
from scenarios.results import former_inference as decisions
from scenarios.results.entries import Results
from scenarios.results.former_inference import Allowance, allowance
from scenarios.schema.attacks import DecidingModel, Inversion, MembershipSpec, PropertySpec
from scenarios.stages.reconstruction import chosen


@dataclass(frozen=True)
class Game:
    """One game on one algorithm. `name` is the scenario's word for it, and names its noise."""

    experiment: Experiment
    subject: Subject
    progress: Progress
    name: str

    @property
    def staging(self) -> Staging:
        assert self.experiment.holding is not None
        return Staging(self.experiment.scenario, self.experiment.holding)

    @property
    def noisy(self) -> bool:
        """Whether transcripts of the same records differ."""
        return self.subject.simulation.algorithm.noisy

    @property
    def records(self) -> int:
        """How many records the agent holds, the candidate among them."""
        assert self.experiment.holding is not None
        return self.experiment.holding.records

    def run(self, agent: int, part: Dataset, number: int, replicas: int) -> Run:
        """The attacked run with these records in the agent's hands; `number` names its noise."""
        assert self.subject.attacked is not None
        chunk = FIRST[self.name] + number
        simulation = staged(self.subject.attacked, agent, self.staging.objective(agent, part), chunk, replicas)
        run = simulation.run()
        if run.interrupted:
            raise KeyboardInterrupt
        return run

    def case(self, view: AdversaryView, spec: DecidingModel, known: Callable[[Known], Known]) -> Case:
        """What is inferred of the agent, and what is known of it."""
        own = evidence_of(view, spec)
        public = Known.of(view.public, spec.agent, None, self.experiment.dataset.image_shape)
        return Case(own, known(replace(public, records=self.records)))


def evidence_of(view: AdversaryView, spec: DecidingModel) -> Evidence:
    """What is inferred of the agent's gradients. You get an `AttackError` where nothing is."""
    found = [one for one in inferred(view, spec.inversion, spec.agent) if one.agent == spec.agent]
    if not found:
        raise AttackError(f"nothing was inferred of the gradients of agent {spec.agent}")
    return chosen(found[0], spec.rounds)


def inferred(view: AdversaryView, inversion: Inversion, only: int | None = None) -> list[Evidence]:
    """What is inferred of every agent's gradients, or at least of one's."""
    return evidence(view, only) if inversion == "strongest" else published_evidence(view)


def begun(spec: DecidingModel, source: str, records: int) -> Results:
    """What results say of a game before it is played."""
    return {
        "refused": None,
        "agent": spec.agent,
        "holding": records,
        "inversion": spec.inversion,
        "rounds": spec.rounds,
        "source": source,
        "confidence": spec.confidence,
    }


def guarded(name: str, play: Callable[[], Results]) -> Results:
    """What a game found, or why it was refused."""
    try:
        return play()
    except AttackError as error:
        return {"refused": str(error)}
    except ScenarioError as error:
        return {"refused": f"a world of the game cannot be run: {error}"}
    except (np.linalg.LinAlgError, FloatingPointError) as error:
        return {"refused": f"{name} failed in its arithmetic: {error}"}


def counted(rate: Interval, count: int, of: int) -> Results:
    """A rate with its interval."""
    return {"count": count, "of": of, "rate": rate.estimate, "low": rate.lower, "high": rate.upper}


def bounded(found: Interval) -> Results:
    """A number with its interval."""
    return {"estimate": found.estimate, "low": found.lower, "high": found.upper}


def parts_of(total: int, chunk: int) -> Sequence[int]:
    """How many transcripts are simulated at once, one after the other."""
    return [min(chunk, total - done) for done in range(0, total, chunk)]


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
        } | membership_scored(score, allowed, spec.confidence)

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


def membership_scored(score: MembershipScore, allowed: Allowance, confidence: float) -> Results:
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


@dataclass(frozen=True)
class PropertyGame(Game):
    """Plays it for one algorithm."""

    def play(self, spec: PropertySpec) -> Results:
        """The entry's `property`."""
        said = begun(spec, PropertyInference({}).source, self.records)
        said["hypotheses"] = [one.model_dump() for one in spec.hypotheses]
        self.progress.begin(f"{self.subject.spec.name}: property", spec.trials)
        found = said | guarded("property inference", lambda: self._played(spec))
        return found | {"sentence": decisions.properties(found)}

    def _played(self, spec: PropertySpec) -> Results:
        attack = PropertyInference(self.staging.hypotheses(spec), spec.draws)
        prior, activations = self.staging.prior, 0
        choices: list[Choice] = []
        true: list[int] = []
        for trial in range(spec.trials):
            true.append(trial % len(spec.hypotheses))
            run = self.run(spec.agent, self.staging.like(spec, true[-1], trial), trial, 1)
            case = self.case(run.views[0], spec, lambda known: replace(known, prior=prior))
            rng = Streams(self.experiment.scenario.seed).generator("property", self.subject.spec.name, trial)
            choices += attack.decide([case], rng)
            activations = max(activations, run.largest_activations)
            self.progress.advance(1)
        score = score_property(choices, true, spec.confidence)
        allowed = allowance(self.experiment, self.subject, activations, self.records)
        return {"trials": spec.trials, "estimates": len(choices[0].queries)} | property_scored(score, allowed)


def property_scored(score: PropertyScore, allowed: Allowance) -> Results:
    """How often it was right, beside a guess, and beside what the claim allows."""
    hypotheses = len(score.confusion)
    most = None if allowed.epsilon is None else allowed_right(hypotheses, allowed.epsilon, allowed.delta)
    return {
        "right": counted(score.right, score.count, score.trials) | {"allowed": most},
        "guess": 1 / hypotheses,
        "said": score.stated,
        "bits": score.bits,
        "confusion": score.confusion.astype(int).tolist(),
        "claim": allowed.described(),
    }


def inference_stage(
    experiment: Experiment, subject: Subject, entry: Results, progress: Progress, save: Callable[[], None]
) -> None:
    """Fill an entry's `membership` and `property`, as far as the scenario asks for them; `save` after each."""
    asked = experiment.scenario.attacks
    if asked.membership is not None:
        entry["membership"] = MembershipGame(experiment, subject, progress, "membership").play(asked.membership)
        save()
    if asked.property is not None:
        entry["property"] = PropertyGame(experiment, subject, progress, "property").play(asked.property)
        save()
