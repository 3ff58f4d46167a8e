"""Inference stage of a run: the membership game and the property game."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from attacks.audit.accounting.intervals import Interval
from attacks.estimates import Evidence
from attacks.reconstruction.attack import Case, Known
from attacks.reconstruction.informed import Choice, PropertyInference
from attacks.reconstruction.membership import Decision, Membership, Records
from attacks.score.inference import (
    allowed_advantage,
    allowed_right,
    breaks,
    of_group,
    score_membership,
    score_property,
)
from attacks.score.robustness import approximate_bound
from netsim.adversary import AdversaryView
from netsim.errors import AttackError, ScenarioError
from netsim.problems import Dataset
from netsim.randomness import Streams
from netsim.simulation import Run
from scenarios.build.duration import Progress
from scenarios.build.experiment import Experiment, Subject, adjacency_of
from scenarios.build.inference import FIRST, Staging
from scenarios.results import attacks as results
from scenarios.results.attacked import ABSENT, VACUOUS, headline, interval, rate
from scenarios.results.attacks import Allowed, AtLevel, Bounded, MembershipAllowed, MembershipResult, PropertyResult
from scenarios.results.base import Rate, taken
from scenarios.results.numbers import percent, show_epsilon
from scenarios.schema.attacks import DecidingModel, MembershipSpec, PropertySpec
from scenarios.schema.scenario import GradientChange
from scenarios.stages.reconstruction import chosen, inferred

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


def _rate(found: Interval, count: int, of: int) -> Rate:
    """A rate with its interval."""
    return Rate(count=count, of=of, rate=found.estimate, low=found.lower, high=found.upper)


@dataclass(frozen=True)
class Games:
    """Membership and property games on one algorithm."""

    experiment: Experiment
    subject: Subject
    progress: Progress

    def play_membership(self, spec: MembershipSpec) -> results.Membership:
        """Rates of the attack over transcripts of both worlds; or why it was refused."""
        setting = taken(
            results.MembershipSetting,
            spec,
            holding=self._staging.holding.records,
            source=Membership().source,
            sentence="",
            record=spec.record if spec.informed else None,
        )
        # Without noise all transcripts of the same records are one.
        trials = spec.trials if self.subject.simulation.algorithm.noisy or not spec.informed else 1
        own = 0 if spec.informed else 2 * (spec.draws // 2) + spec.draws
        self.progress.begin(f"{self.subject.spec.name}: membership", 2 * trials + own)
        found = attempted("membership", lambda: self._membership(setting, spec, trials))
        if isinstance(found, str):
            found = taken(results.MembershipRefused, setting, refused=found)
        return replace(found, sentence=_sentence_of_membership(found))

    def play_property(self, spec: PropertySpec) -> results.Property:
        """How often the attack names the true hypothesis; or why it was refused."""
        setting = taken(
            results.PropertySetting,
            spec,
            holding=self._staging.holding.records,
            source=PropertyInference({}).source,
            sentence="",
            hypotheses=tuple(spec.hypotheses),
        )
        self.progress.begin(f"{self.subject.spec.name}: property", spec.trials)
        found = attempted("property inference", lambda: self._property(setting, spec))
        if isinstance(found, str):
            found = taken(results.PropertyRefused, setting, refused=found)
        return replace(found, sentence=_sentence_of_property(found))

    # ── parts of both ───────────────────────────────────────────────────────────────────────────────────
    @property
    def _streams(self) -> Streams:
        return Streams(self.experiment.scenario.seed)

    @cached_property
    def _staging(self) -> Staging:
        assert self.experiment.holding is not None
        return Staging(self.experiment.scenario, self.experiment.holding)

    def _run(self, game: str, agent: int, part: Dataset, number: int, replicas: int) -> Run:
        """The attacked run with these records in the agent's hands; `game` and `number` name its noise."""
        assert self.subject.attacked is not None
        objective = self._staging.objective(agent, part)
        run = Staging.staged(self.subject.attacked, agent, objective, FIRST[game] + number, replicas).run()
        if run.interrupted:
            raise KeyboardInterrupt
        return run

    def _case(self, view: AdversaryView, spec: DecidingModel) -> Case:
        """What is inferred of the agent, and what is public of it. You get an `AttackError` where nothing is."""
        own = [one for one in inferred(view, spec.inversion, only=spec.agent) if one.agent == spec.agent]
        if not own:
            raise AttackError(f"nothing was inferred of the gradients of agent {spec.agent}")
        public = Known.of(view.public, spec.agent, None, self.experiment.dataset.image_shape)
        return Case(chosen(own[0], spec.rounds), replace(public, records=self._staging.holding.records))

    # ── the games ───────────────────────────────────────────────────────────────────────────────────────
    def _membership(
        self, setting: results.MembershipSetting, spec: MembershipSpec, trials: int
    ) -> results.MembershipResult:
        rng = self._streams.generator("membership", self.subject.spec.name)
        fixed = self._staging.fixed(spec).instead if spec.informed else None
        attack = Membership(spec.adjacent, fixed, spec.draws, None if spec.informed else self._own_runs(spec))
        decisions: list[Decision] = []
        blind: list[tuple[Case, Records]] = []
        activations, exact = 0, True
        for case, candidate, active in self._transcripts(spec, trials):
            activations, exact = max(activations, active), exact and case.evidence.exact
            if spec.informed:
                decisions += attack.decide([case], [candidate], rng)
            else:  # one score is trained for all
                blind.append((case, candidate))
        if blind:
            decisions = attack.decide([case for case, _ in blind], [candidate for _, candidate in blind], rng)
        inside, outside = decisions[0::2], decisions[1::2]
        score = score_membership(inside, outside, spec.levels, spec.confidence)
        claim = self._allowance(activations)
        epsilon, delta = claim.epsilon, claim.delta or 0.0
        return taken(
            results.MembershipResult,
            setting,
            trials=trials,
            noise=self.subject.simulation.algorithm.noisy,
            exact=exact,
            estimates=len(inside[0].queries),
            levels=tuple(
                AtLevel(
                    level=one.level,
                    power=one.power,
                    found=_rate(one.found, one.count[0], score.trials[0]),
                    alarms=_rate(one.alarms, one.count[1], score.trials[1]),
                    allowed=None if epsilon is None else approximate_bound(one.level, epsilon, delta),
                )
                for one in score.levels
            ),
            advantage=taken(
                MembershipResult.Advantage,
                _bounded(score.advantage),
                allowed=None if epsilon is None else allowed_advantage(epsilon, delta),
            ),
            auc=_bounded(score.auc),
            roc=MembershipResult.Roc(alarms=tuple(score.roc[0].tolist()), found=tuple(score.roc[1].tolist())),
            claim=taken(
                MembershipAllowed,
                claim,
                broken=None if epsilon is None else breaks(score, epsilon, delta, spec.confidence),
            ),
        )

    def _transcripts(self, spec: MembershipSpec, trials: int) -> Iterator[tuple[Case, Records, int]]:
        """Transcripts with the record in and with it out, in turn; the candidate; and Θ of the run."""
        fixed = self._staging.fixed(spec) if spec.informed else None
        chunk = spec.chunk if spec.informed else 1
        for index, done in enumerate(range(0, trials, chunk)):
            replicas = min(chunk, trials - done)
            both = fixed or self._staging.drawn(spec, index)
            more = {"others": both.others} if spec.informed else {"prior": self._staging.prior}
            for world, part in enumerate((both.inside, both.out)):
                run = self._run("membership", spec.agent, part, 2 * index + world, replicas)
                evidence, known = self._case(run.views[0], spec)
                yield Case(evidence, replace(known, **more)), both.candidate, run.largest_activations
                self.progress.advance(replicas)

    def _own_runs(self, spec: MembershipSpec) -> Callable[[Records], Evidence]:
        """Runs of an attacker who has public records alone."""
        assert self.subject.attacked is not None
        numbers, simulation = itertools.count(), self.subject.attacked
        rng = self._streams.generator("membership", "own runs")

        def made(records: Records) -> Evidence:
            run = self._staging.own_run(simulation, spec.agent, records, next(numbers), rng).run()
            if run.interrupted:
                raise KeyboardInterrupt
            self.progress.advance(1)
            return self._case(run.views[0], spec).evidence

        return made

    def _property(self, setting: results.PropertySetting, spec: PropertySpec) -> results.PropertyResult:
        attack = PropertyInference(self._staging.hypotheses(spec), spec.draws)
        prior, hypotheses, activations = self._staging.prior, len(spec.hypotheses), 0
        choices: list[Choice] = []
        true = [trial % hypotheses for trial in range(spec.trials)]
        for trial, hypothesis in enumerate(true):
            run = self._run("property", spec.agent, self._staging.like(spec, hypothesis, trial), trial, 1)
            evidence, known = self._case(run.views[0], spec)
            rng = self._streams.generator("property", self.subject.spec.name, trial)
            choices += attack.decide([Case(evidence, replace(known, prior=prior))], rng)
            activations = max(activations, run.largest_activations)
            self.progress.advance(1)
        score = score_property(choices, true, spec.confidence)
        claim = self._allowance(activations, self._staging.holding.records)
        most = None if claim.epsilon is None else allowed_right(hypotheses, claim.epsilon, claim.delta or 0.0)
        return taken(
            results.PropertyResult,
            setting,
            trials=spec.trials,
            estimates=len(choices[0].queries),
            right=taken(PropertyResult.RightRate, _rate(score.right, score.count, score.trials), allowed=most),
            guess=1 / hypotheses,
            mean_posterior=score.stated,
            bits=score.bits,
            confusion=tuple(tuple(int(count) for count in row) for row in score.confusion),
            claim=claim,
        )

    def _allowance(self, activations: int, records: int = 1) -> Allowed:
        """(ε, δ) for worlds that differ in so many records of the agent, after `activations` (Θ) of the run."""
        scenario, holding, attacked = self.experiment.scenario, self._staging.holding, self.subject.attacked
        assert attacked is not None
        relation = None if scenario.audit is None else scenario.audit.adjacency
        none = Allowed(epsilon=None, delta=None, source=None, adjacency=None, steps=1, why_not=None)
        if scenario.active_adversaries:
            return replace(none, why_not="no claim is about a run with an active adversary")
        if isinstance(relation, GradientChange):
            return replace(none, why_not="the claim is about a change of the gradient here, and not about a record")
        adjacency = adjacency_of(scenario, self.experiment.dataset, holding.problem)
        claim = attacked.claim(adjacency, activations, self.subject.delta)
        if claim is None:
            return replace(none, why_not="no privacy is claimed")
        none = replace(none, source=claim.source, adjacency=claim.adjacency.relation)
        if claim.epsilon is None:
            why = f"the claim's own conditions fail: {'; '.join(claim.failed_conditions)}"
            return replace(none, why_not=why)
        if not math.isfinite(claim.epsilon):
            return replace(none, why_not="the claimed ε is infinite")
        steps = 1 if relation == "agent" else records
        epsilon, delta = of_group(steps, claim.epsilon, claim.delta)
        return replace(none, epsilon=epsilon, delta=delta, steps=steps)


def _bounded(found: Interval) -> Bounded:
    return Bounded(estimate=found.estimate, low=found.lower, high=found.upper)


# ── in words ────────────────────────────────────────────────────────────────────────────────────────────
def _sentence_of_membership(found: results.Membership) -> str:
    """The outcome of the membership game, in a sentence or two."""
    if isinstance(found, results.MembershipRefused):
        return f"No membership attack: {found.refused.rstrip('.')}."
    about = f"Membership of a record of agent {found.agent} (in the other world {ABSENT[found.adjacency]})"
    if not found.noise and found.informed:
        sure = "certain" if found.advantage.estimate == 1 else "not recognized"
        return f"{about}: {sure}; without noise each world has one transcript, and no chance is in it."
    claim, level = found.claim, headline(found.levels)
    power = f"found {rate(level.found)} of the time at {percent(level.level)} false alarms"
    power += f" ({percent(found.confidence)} interval)" * (level.found.of > 1)
    if found.advantage.low <= 0:
        power += "; not distinguishable from chance"
    elif found.auc.estimate == 1:
        power = f"recognized without an error in {found.trials} transcripts of each world"
    else:
        power += f", advantage {interval(found.advantage)}"
    if claim.epsilon is None:
        return f"{about}: {power}."
    most = percent(level.allowed) if level.allowed is not None and level.allowed < VACUOUS else "everything"
    allowed = f"at {percent(level.level)} the claimed ε = {show_epsilon(claim.epsilon)} allows {most}"
    return f"{about}: {power}; {allowed}.{' The claim does not hold.' if claim.broken else ''}"


def _sentence_of_property(found: results.Property) -> str:
    """The outcome of the property game, in a sentence."""
    if isinstance(found, results.PropertyRefused):
        return f"No property inference: {found.refused.rstrip('.')}."
    names, right = " or ".join(one.name for one in found.hypotheses), found.right
    chance = ", not distinguishable from chance" if right.low <= found.guess else ""
    limited = right.allowed is not None and right.allowed < VACUOUS
    allowed = f"; the claimed ε allows {percent(right.allowed)}" if right.allowed is not None and limited else ""
    return (
        f"Property of agent {found.agent}'s records ({names}): right {rate(right)} of the time "
        f"({percent(found.confidence)} interval; a guess: {percent(found.guess)}){chance}{allowed}."
    )
