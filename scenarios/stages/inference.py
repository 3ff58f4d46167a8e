"""Inference stage of a run: the membership game and the property game."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from attacks.audit.accounting.intervals import Interval
from attacks.closed_form.recal import published_evidence
from attacks.inference import Evidence, evidence
from attacks.reconstruction.attack import Case, Known
from attacks.reconstruction.membership import Decision, Membership
from attacks.reconstruction.property_inference import Choice, PropertyInference
from attacks.score.inference import (
    MembershipScore,
    allowed_advantage,
    allowed_power,
    allowed_right,
    breaks,
    of_group,
    score_membership,
    score_property,
)
from netsim.adversary import AdversaryView
from netsim.claims import Claim
from netsim.errors import AttackError, ScenarioError
from netsim.problems import Dataset
from netsim.randomness import Streams
from netsim.simulation import Run
from scenarios.build.experiment import Experiment, Subject, adjacency_of
from scenarios.build.inference import FIRST, Both, Staging, staged
from scenarios.build.progress import Progress
from scenarios.results import attacks as results
from scenarios.results import inference as sentences
from scenarios.results.attacks import Advantage, Allowed, AtLevel, Bounded, MembershipAllowed, RightRate, Roc
from scenarios.results.base import Rate, taken
from scenarios.schema.attacks import DecidingModel, Inversion, MembershipSpec, PropertySpec
from scenarios.schema.scenario import GradientChange
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


T = TypeVar("T")


def attempted(name: str, play: Callable[[], T]) -> T | str:
    """The findings of a game, or the reason why it was refused."""
    try:
        return play()
    except AttackError as error:
        return str(error)
    except ScenarioError as error:
        return f"a world of the game cannot be run: {error}"
    except (np.linalg.LinAlgError, FloatingPointError) as error:
        return f"{name} failed in its arithmetic: {error}"


def rate_of(found: Interval, count: int, of: int) -> Rate:
    """A rate with its interval."""
    return Rate(count=count, of=of, rate=found.estimate, low=found.lower, high=found.upper)


def _bounded(found: Interval) -> Bounded:
    return Bounded(estimate=found.estimate, low=found.lower, high=found.upper)


def parts_of(total: int, chunk: int) -> Sequence[int]:
    """How many transcripts are simulated at once, one after the other."""
    return [min(chunk, total - done) for done in range(0, total, chunk)]


IN, OUT = 0, 1


@dataclass(frozen=True)
class MembershipGame(Game):
    """The membership game on one algorithm."""

    def play(self, spec: MembershipSpec) -> results.Membership:
        """Rates of the attack over transcripts of both worlds; or why it was refused."""
        setting = results.MembershipSetting(
            agent=spec.agent,
            holding=self.records,
            inversion=spec.inversion,
            rounds=spec.rounds,
            source=Membership().source,
            confidence=spec.confidence,
            sentence="",
            adjacency=spec.adjacency,
            informed=spec.informed,
            record=spec.record if spec.informed else None,
        )
        trials = spec.trials if self.noisy or not spec.informed else 1
        self.progress.begin(f"{self.subject.spec.name}: membership", 2 * trials)
        found = attempted("membership", lambda: self._played(setting, spec, trials))
        if isinstance(found, str):
            found = taken(results.MembershipRefused, setting, refused=found)
        return replace(found, sentence=sentences.membership(found))

    def _played(
        self, setting: results.MembershipSetting, spec: MembershipSpec, trials: int
    ) -> results.MembershipResult:
        worlds = [self._world(spec, world, trials) for world in (IN, OUT)]
        inside, out = ([decision for decision, _, _ in world] for world in worlds)
        activations = max(largest for world in worlds for _, largest, _ in world)
        score = score_membership(inside, out, spec.levels, spec.confidence)
        allowed = allowance(self.experiment, self.subject, activations)
        power = None if allowed.epsilon is None else allowed_advantage(allowed.epsilon, allowed.delta or 0.0)
        return taken(
            results.MembershipResult,
            setting,
            trials=trials,
            noise=self.noisy,
            exact=all(exact for world in worlds for _, _, exact in world),
            estimates=len(inside[0].queries),
            levels=tuple(_levels(score, allowed)),
            advantage=taken(Advantage, _bounded(score.advantage), allowed=power),
            auc=_bounded(score.auc),
            roc=Roc(alarms=tuple(score.roc[0].tolist()), found=tuple(score.roc[1].tolist())),
            claim=membership_allowed(score, allowed, spec.confidence),
        )

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


def membership_allowed(score: MembershipScore, allowed: Allowed, confidence: float) -> MembershipAllowed:
    """The claim beside the rates, and whether they contradict it."""
    broken = None if allowed.epsilon is None else breaks(score, allowed.epsilon, allowed.delta or 0.0, confidence)
    return taken(MembershipAllowed, allowed, broken=broken)


def _levels(score: MembershipScore, allowed: Allowed) -> Iterator[AtLevel]:
    for one in score.levels:
        most = None if allowed.epsilon is None else allowed_power(one.level, allowed.epsilon, allowed.delta or 0.0)
        yield AtLevel(
            level=one.level,
            power=one.power,
            found=rate_of(one.found, one.count[0], score.trials[0]),
            alarms=rate_of(one.alarms, one.count[1], score.trials[1]),
            allowed=most,
        )


@dataclass(frozen=True)
class PropertyGame(Game):
    """The property game on one algorithm."""

    def play(self, spec: PropertySpec) -> results.Property:
        """How often the attack names the true hypothesis; or why it was refused."""
        setting = results.PropertySetting(
            agent=spec.agent,
            holding=self.records,
            inversion=spec.inversion,
            rounds=spec.rounds,
            source=PropertyInference({}).source,
            confidence=spec.confidence,
            sentence="",
            hypotheses=tuple(spec.hypotheses),
        )
        self.progress.begin(f"{self.subject.spec.name}: property", spec.trials)
        found = attempted("property inference", lambda: self._played(setting, spec))
        if isinstance(found, str):
            found = taken(results.PropertyRefused, setting, refused=found)
        return replace(found, sentence=sentences.properties(found))

    def _played(self, setting: results.PropertySetting, spec: PropertySpec) -> results.PropertyResult:
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
        hypotheses = len(score.confusion)
        most = None if allowed.epsilon is None else allowed_right(hypotheses, allowed.epsilon, allowed.delta or 0.0)
        return taken(
            results.PropertyResult,
            setting,
            trials=spec.trials,
            estimates=len(choices[0].queries),
            right=taken(RightRate, rate_of(score.right, score.count, score.trials), allowed=most),
            guess=1 / hypotheses,
            mean_posterior=score.stated,
            bits=score.bits,
            confusion=tuple(tuple(int(count) for count in row) for row in score.confusion),
            claim=allowed,
        )


def allowance(experiment: Experiment, subject: Subject, activations: int, records: int = 1) -> Allowed:
    """(ε, δ) for worlds that differ in so many records of one agent, after `activations` (Θ) of the attacked run."""
    scenario, holding = experiment.scenario, experiment.holding
    if scenario.active_adversaries:
        return _no_claim("no claim is about a run with an active adversary")
    if scenario.audit is not None and isinstance(scenario.audit.adjacency, GradientChange):
        return _no_claim("the claim is about a change of the gradient here, and not about a record")
    if holding is None or subject.attacked is None:
        return _no_claim("agents hold other records than in a run that is attacked")
    adjacency = adjacency_of(scenario, experiment.dataset, holding.problem)
    claim = subject.attacked.claim(adjacency, activations, subject.delta)
    if claim is None:
        return _no_claim("no privacy is claimed")
    if claim.epsilon is None:
        return _no_claim(f"the claim's own conditions fail: {'; '.join(claim.failed_conditions)}", claim)
    if not math.isfinite(claim.epsilon):
        return _no_claim("the claimed ε is infinite", claim)
    steps = 1 if scenario.audit is not None and scenario.audit.adjacency == "agent" else records
    epsilon, delta = of_group(steps, claim.epsilon, claim.delta)
    return replace(_no_claim(None, claim), epsilon=epsilon, delta=delta, steps=steps)


def _no_claim(why: str | None, claim: Claim | None = None) -> Allowed:
    return Allowed(
        epsilon=None,
        delta=None,
        source=None if claim is None else claim.source,
        adjacency=None if claim is None else claim.adjacency.relation,
        steps=1,
        why_not=why,
    )
