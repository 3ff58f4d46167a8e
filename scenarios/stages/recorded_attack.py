"""Attacks on a recorded transcript: its listener and public knowledge alone, without simulating again."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

import numpy as np

from attacks.audit.accounting.intervals import clopper_pearson
from attacks.inference import Evidence, GradientEstimate
from attacks.inference import inferred as inferred_gradients
from attacks.reconstruction.attack import Case, Known
from attacks.reconstruction.membership import Decision, Membership, Records
from attacks.reconstruction.property_inference import PropertyInference
from attacks.reconstruction.verdict import seen
from attacks.score import score_gradients
from netsim import settings
from netsim.adversary import AdversaryView, InsiderState, Query
from netsim.errors import AttackError, ScenarioError, TranscriptError
from netsim.randomness import Streams
from netsim.simulation import Run, Simulation
from netsim.transcript.packet_log import PacketLog
from netsim.transcript.record import Record
from netsim.transcript.stored import StreamedTranscript
from netsim.transcript.transcript import Transcript
from netsim.truth import Truth
from scenarios.build.experiment import Experiment, Subject
from scenarios.build.inference import Staging, check_shares_of
from scenarios.build.problem import Ownership, parts_of_agents, prior_of
from scenarios.build.progress import Progress, simulated
from scenarios.render import sentences as words
from scenarios.results import inference as sentences
from scenarios.results.attacked import (
    AttackReport,
    KeptGradients,
    KeptLevel,
    KeptMember,
    KeptMembership,
    KeptProperty,
    KeptRecords,
    NamedHypothesis,
    TruthStatus,
)
from scenarios.results.attacks import RecordAttack
from scenarios.results.base import LeftOut, Rate, Refused, taken
from scenarios.results.tables import write_estimates, write_records
from scenarios.results.traffic import Traffic
from scenarios.schema import Scenario
from scenarios.schema.attacks import DecidingModel, MembershipSpec, PropertySpec, RebuildModel
from scenarios.stages.gradients import gradient_scores
from scenarios.stages.inference import attempted, inferred, rate_of
from scenarios.stages.reconstruction import Rebuilding, chosen
from scenarios.stages.traffic import analyse_traffic

T = TypeVar("T")

BATCH = 32
"""Records of an agent, at most: unknowns grow with their square."""
_NOT_OF_THIS = "the transcript is not one of this algorithm in this scenario"


@dataclass(frozen=True)
class Recording:
    """One kept transcript of an algorithm.

    `simulation` is its run, and `holding` tells who holds which records there. `score`: make the truth again from the
    seed.
    """

    experiment: Experiment
    subject: Subject
    simulation: Simulation
    holding: Ownership
    file: Path
    score: bool
    progress: Progress
    log: PacketLog = field(default_factory=PacketLog)

    @classmethod
    def of_all(
        cls, experiment: Experiment, subject: Subject, file: Path, score: bool, progress: Progress
    ) -> "Recording":
        """Transcript of the run in which all records are shared out."""
        return cls(experiment, subject, subject.simulation, _sharing(experiment), file, score, progress)

    @classmethod
    def of_few(
        cls, experiment: Experiment, subject: Subject, file: Path, score: bool, progress: Progress
    ) -> "Recording":
        """Transcript of the second run, in which agents hold the records that are to be rebuilt."""
        assert subject.attacked is not None
        assert experiment.holding is not None
        return cls(experiment, subject, subject.attacked, experiment.holding, file, score, progress)

    # ── the adversary's side ───────────────────────────────────────────────────────────────────────────────────
    @cached_property
    def transcript(self) -> Transcript:
        """You get a `ScenarioError` for agents that the scenario has not."""
        found = Transcript.stored(StreamedTranscript.open(self.file))
        most = max((max(row.sender, row.receiver) for row in found), default=-1)
        if most >= (agents := self.simulation.topology.agents):
            raise ScenarioError(str(self.file), most, "no such agent in the scenario", f"0 … {agents - 1}")
        return found

    @cached_property
    def view(self) -> AdversaryView:
        """Knowledge of the eavesdropper."""
        adversary, public = self.simulation.adversaries[0], self.simulation.public()
        if not adversary.insiders:
            return AdversaryView(adversary, self.transcript, public)
        if (truth := self.remade) is not None:
            inside = {i: _of(one, self.transcript.replicas) for i, one in truth.views[0].inside.items()}
            return AdversaryView(adversary, self.transcript, public, inside)
        links = () if adversary.links is None else adversary.links
        outside = replace(adversary, links=links, nodes=adversary.doors, insiders=())
        return AdversaryView(outside, self.transcript, public)

    # ── the truth ────────────────────────────────────────────────────────────────────────────────────
    @cached_property
    def _again(self) -> tuple[Run | None, TruthStatus]:
        if not self.score:
            return None, TruthStatus(remade=False, seconds=None, why_not="not asked for")
        begun = time.monotonic()
        stage = f"{self.subject.spec.name}: making the truth again from the seed"
        run = simulated(
            replace(self.simulation, recording=settings.Recording(measure=False)), stage, self.progress, self.log
        )
        seconds = time.monotonic() - begun
        other = _first_difference(self.transcript, run.views[0].transcript)
        if other is not None:
            why = f"the seed makes another transcript here, from row {other} on"
            return None, TruthStatus(remade=False, seconds=seconds, why_not=why)
        assert run.truth is not None
        truth = TruthStatus(remade=True, seconds=seconds, why_not=None)
        return replace(run, truth=_cut(run.truth, self.transcript.replicas)), truth

    @property
    def remade(self) -> Run | None:
        """The run again, from the seed, with as many replicas of its truth as the transcript has.

        None where scores are not requested, or the transcript is not of this run; `truth` says which.
        """
        return self._again[0]

    @property
    def truth(self) -> TruthStatus:
        """Whether the truth was made again, and how long that took."""
        return self._again[1]

    # ── attacks ─────────────────────────────────────────────────────────────────────────────────────────
    def gradients(self, path: Path) -> KeptGradients:
        """Infer gradients, write them to `path`, and score them where the truth is known."""
        self.progress.begin(f"{self.subject.spec.name}: inferring gradients", 1)
        run = self.remade
        try:
            jointly = self.experiment.scenario.attacks.victims == "jointly"
            inversion, found = guarded(lambda: inferred_gradients(self.view, jointly=jointly))
        except AttackError as error:
            path.unlink(missing_ok=True)
            return KeptGradients(refused=str(error), estimates=None)
        truth = None if run is None else run.truth
        write_estimates(path, found, truth)
        self.progress.advance(1)
        kept = KeptGradients(
            refused=None,
            attack=f"{inversion.__module__}.{inversion.__name__}",
            estimates=str(path),
            estimated=len(found),
            inferred=self._counted(found),
            exact=sum(one.stddev == 0 for one in found),
        )
        if truth is None:
            return kept
        scores = gradient_scores(score_gradients(found, truth, self.view.inside))
        return taken(
            KeptGradients, scores, refused=None, attack=kept.attack, estimates=kept.estimates, exact=kept.exact
        )

    def records(self, specs: Sequence[RebuildModel], path: Path) -> KeptRecords:
        """Rebuild records by these attacks, write them to `path`, and score them where the truth is known."""
        run = self.remade
        if (most := max(part.records for part in self.holding.parts)) > BATCH:
            return self._too_many(specs, most)
        attacks = self.experiment.scenario.attacks.model_copy(update={"reconstruct": list(specs)})
        scenario = self.experiment.scenario.model_copy(update={"attacks": attacks})
        experiment = replace(self.experiment, scenario=scenario, holding=self.holding)
        rebuilding = Rebuilding(experiment, self.progress, lambda _: None)
        found = rebuilding.rebuild(self.subject, self._as_run(run))
        write_records(path, rebuilding.found)
        own = {
            one.attack: Counter(
                name for case in rebuilding.found if case.attack == one.attack
                for name in seen(case.case, case.found).names
            )
            for one in found.attacks
        }  # fmt: skip
        return taken(
            KeptRecords,
            found,
            attacks=tuple(replace(one, seen=dict(own[one.attack])) for one in found.attacks),
            originals=None if run is None else found.originals,
            records=str(path) if rebuilding.found else None,
            transcript=str(self.file),
            truth=self.truth,
        )

    def traffic(self) -> Traffic:
        """Analyse times and sizes alone; where the truth is known, score that."""
        self.progress.begin(f"{self.subject.spec.name}: analysing the traffic", 1)
        run = self.remade
        try:
            found = guarded(lambda: analyse_traffic(self.view, run, self.log))
        except AttackError as error:
            found = Refused(refused=str(error))
        self.progress.advance(1)
        return found

    def _too_many(self, specs: Sequence[RebuildModel], most: int) -> KeptRecords:
        why = (
            f"agents hold up to {most} records here, and attacks on batches are for {BATCH} at most: a scenario with "
            "`attacks: {reconstruct: …, holding: …}` has a second run, in which they hold few"
        )
        refused = tuple(RecordAttack(attack=spec.label, kind=spec.kind, refused=why) for spec in specs)
        return KeptRecords(attacks=refused, sentence="", records=None, transcript=str(self.file), truth=self.truth)

    def _as_run(self, run: Run | None) -> Run:
        """The view as a run's only one; without a truth where there is none."""
        if run is not None:
            return replace(run, views=(self.view,))
        nobody = (0,) * self.simulation.topology.agents
        return Run(self.simulation, (self.view,), None, None, nobody, 0.0, {})

    def _counted(self, found: Sequence[GradientEstimate]) -> tuple[int, ...]:
        agents = [one.agent for one in found]
        return tuple(agents.count(i) for i in range(self.simulation.topology.agents))


def _first_difference(kept: Transcript, made: Transcript) -> int | None:
    """The first row in which two transcripts differ, to the last bit, in as many replicas as the first has."""
    for k, (one, other) in enumerate(zip_longest(kept, made)):
        if one is None or other is None or not _same(one, other, kept.replicas):
            return k
    return None


def _same(one: Record, other: Record, replicas: int) -> bool:
    if one[:-1] != other[:-1] or one.values.keys() != other.values.keys():
        return False
    return all(np.array_equal(one.values[name], other.values[name][:replicas]) for name in one.values)


def guarded(infer: Callable[[], T]) -> T:
    """An attack on a transcript of something else fails in its own ways: each is an `AttackError` here."""
    try:
        return infer()
    except (KeyError, IndexError, ValueError, TranscriptError) as error:
        raise AttackError(f"{_NOT_OF_THIS}, or is no whole one ({type(error).__name__}: {error})") from error


def _cut(truth: Truth, replicas: int) -> Truth:
    queries = [[_first(query, replicas) for query in own] for own in truth.queries]
    return Truth(truth.problem, queries, [[release[:replicas] for release in own] for own in truth.releases])


def _of(inside: InsiderState, replicas: int) -> InsiderState:
    queries = [_first(query, replicas) for query in inside.queries]
    return InsiderState(inside.objective, queries, [release[:replicas] for release in inside.releases])


def _first(query: Query, replicas: int) -> Query:
    return Query(query.time, query.point[:replicas], query.gradient[:replicas])


def _sharing(experiment: Experiment) -> Ownership:
    """Records of each agent where all are shared out; the prior comes from the records held out, if any."""
    parts = parts_of_agents(experiment.scenario, experiment.dataset, experiment.topology.agents)
    held_out = experiment.held_out
    prior = None if held_out is None else prior_of(held_out, experiment.problem)
    return Ownership(parts, experiment.problem, prior, held_out)


@dataclass(frozen=True)
class _RecordedInference:
    """Membership and property inference from one kept transcript."""

    kept: Recording

    @property
    def staging(self) -> Staging:
        """You get an `AttackError` where every record is held: nothing is public."""
        if self.kept.holding.unheld is None:
            raise AttackError("agents hold all records here, and none is public: problem.held_out reserves some")
        return Staging(self.kept.experiment.scenario, self.kept.holding)

    # ── membership ──────────────────────────────────────────────────────────────────────────────────────
    def membership(self, spec: MembershipSpec) -> KeptMembership:
        """Decide membership of each agent's record; with the truth, count how often that is right."""
        setting = KeptMembership(
            refused=None,
            inversion=spec.inversion,
            rounds=spec.rounds,
            source=Membership().source,
            confidence=spec.confidence,
            sentence="",
            transcript=str(self.kept.file),
            adjacency=spec.adjacency,
            informed=spec.informed,
        )
        found = attempted("membership", lambda: self._membership(spec, setting))
        if isinstance(found, str):
            found = replace(setting, refused=found)
        return replace(found, sentence=sentences.membership_of_recording(found))

    def _membership(self, spec: MembershipSpec, setting: KeptMembership) -> KeptMembership:
        decided: list[tuple[Decision, Decision | None]] = []
        left_out: list[LeftOut] = []
        for evidence in self._evidence(spec):
            try:
                decided.append(self._decided(spec, evidence))
            except AttackError as error:
                left_out.append(LeftOut(agent=evidence.agent, why=str(error)))
        if not decided:
            raise AttackError(left_out[0].why)
        known = self.kept.remade is not None
        return replace(
            setting,
            levels=tuple(self._level(spec, level, decided, known) for level in spec.levels),
            agents=tuple(_member(spec, inside) for inside, _ in decided),
            left_out=tuple(left_out),
            scored=known,
        )

    def _decided(self, spec: MembershipSpec, evidence: Evidence) -> tuple[Decision, Decision | None]:
        """About the agent's own record, and about one that is not in; None where the transcript has none such."""
        agent, part = evidence.agent, self.kept.holding.parts[evidence.agent]
        if spec.record >= part.records or (spec.adjacency == "remove" and part.records == 1):
            raise AttackError(f"agent {agent} holds {part.records} record(s): there is no such world without one")
        own = spec.model_copy(update={"agent": agent})
        rng = Streams(self.kept.experiment.scenario.seed).generator("kept", "membership", agent)
        if not spec.informed:
            return self._uninformed(own, evidence, rng)
        staging = self.staging if spec.adjacency == "replace" else Staging(self._scenario, self.kept.holding)
        both = staging.fixed(own)
        case = self._case(evidence, both.others)
        inside = Membership(spec.adjacent, both.instead).decide([case], [both.candidate], rng)[0]
        if both.instead is None:
            return inside, None
        turned = Membership(spec.adjacent, both.candidate).decide([case], [both.instead], rng)[0]
        return inside, turned

    def _uninformed(
        self, spec: MembershipSpec, evidence: Evidence, rng: np.random.Generator
    ) -> tuple[Decision, Decision]:
        """One record that is in, and one that nobody holds and nobody knows."""
        staging = self.staging
        own, pool = self.kept.holding.parts[evidence.agent].take([spec.record]), staging.unknown
        other = pool.take([int(rng.integers(pool.records))])
        case = self._case(evidence)
        case = Case(case.evidence, replace(case.known, prior=staging.prior))
        attack = Membership(spec.adjacent, None, spec.draws)
        inside, out = (
            attack.decide([case], [staging.in_model((one.features, one.labels))], rng)[0] for one in (own, other)
        )
        return inside, out

    def _level(
        self, spec: MembershipSpec, level: float, decided: Sequence[tuple[Decision, Decision | None]], known: bool
    ) -> KeptLevel:
        accepted = _accepted([inside for inside, _ in decided], level)
        others = [out for _, out in decided if out is not None]
        return KeptLevel(
            level=level,
            power=float(np.mean(np.concatenate([inside.power(level)[:, 0] for inside, _ in decided]))),
            accepted=(int(np.sum(accepted)), accepted.size),
            found=_rate(accepted, spec.confidence) if known else None,
            alarms=_rate(_accepted(others, level), spec.confidence) if known and others else None,
        )

    # ── properties ──────────────────────────────────────────────────────────────────────────────────────
    def properties(self, spec: PropertySpec) -> KeptProperty:
        """Name a hypothesis of each agent; with the truth, count how often it is the likeliest by the labels."""
        setting = KeptProperty(
            refused=None,
            inversion=spec.inversion,
            rounds=spec.rounds,
            source=PropertyInference({}).source,
            confidence=spec.confidence,
            sentence="",
            transcript=str(self.kept.file),
            hypotheses=tuple(spec.hypotheses),
        )
        found = attempted("property inference", lambda: self._properties(spec, setting))
        if isinstance(found, str):
            found = replace(setting, refused=found)
        return replace(found, sentence=sentences.property_of_recording(found))

    def _properties(self, spec: PropertySpec, setting: KeptProperty) -> KeptProperty:
        staging = self.staging
        check_shares_of(spec, staging.unheld)
        attack, prior = PropertyInference(staging.hypotheses(spec), spec.draws), staging.prior
        agents: list[NamedHypothesis] = []
        right: list[bool] = []
        known = self.kept.remade is not None
        for evidence in self._evidence(spec):
            case = self._case(evidence)
            case = Case(case.evidence, replace(case.known, prior=prior))
            rng = Streams(self._scenario.seed).generator("kept", "property", evidence.agent)
            choice = attack.decide([case], rng)[0]
            true = self._likeliest(spec, evidence.agent) if known else None
            right += [] if true is None else [name == true for name in choice.chosen]
            agents.append(
                NamedHypothesis(
                    agent=evidence.agent,
                    named=choice.chosen[0],
                    posterior=tuple(choice.posterior[0].tolist()),
                    likeliest=true,
                )
            )
        return replace(
            setting,
            agents=tuple(agents),
            right=_rate(np.array(right), spec.confidence) if right else None,
            guess=1 / len(spec.hypotheses),
            scored=known,
        )

    def _likeliest(self, spec: PropertySpec, agent: int) -> str | None:
        """Under which hypothesis the agent's own labels are likeliest; None where two are."""
        part = self.kept.holding.parts[agent]
        labels = np.unique(self.staging.unheld.labels)
        counts = np.array([np.sum(part.labels == label) for label in labels])
        shares = np.array([one.shares for one in spec.hypotheses])
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(counts > 0, counts * np.log(shares), 0.0).sum(axis=1)
        best = np.flatnonzero(each >= np.max(each) - 1e-9)
        return spec.hypotheses[int(best[0])].name if best.size == 1 else None

    # ── parts ───────────────────────────────────────────────────────────────────────────────────────────
    @property
    def _scenario(self) -> Scenario:
        return self.kept.experiment.scenario

    def _evidence(self, spec: DecidingModel) -> list[Evidence]:
        """Of every agent that is not the adversary's."""
        insiders = self.kept.simulation.adversaries[0].insiders
        found = guarded(lambda: inferred(self.kept.view, spec.inversion))
        found = [chosen(one, spec.rounds) for one in found if one.agent not in insiders]
        if not found:
            raise AttackError("nothing was inferred of any agent's gradients")
        return found

    def _case(self, evidence: Evidence, others: Records | None = None) -> Case:
        shape = self.kept.experiment.dataset.image_shape
        known = Known.of(self.kept.view.public, evidence.agent, None, shape)
        return Case(evidence, replace(known, others=others))


def _accepted(found: Sequence[Decision], level: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.concatenate([one.accepted(level)[:, 0] for one in found])


def _rate(accepted: np.ndarray[tuple[int], np.dtype[np.bool_]], confidence: float) -> Rate:
    count = int(np.sum(accepted))
    return rate_of(clopper_pearson(count, accepted.size, confidence), count, accepted.size)


def _member(spec: MembershipSpec, decision: Decision) -> KeptMember:
    """Of one agent: how many of its replicas are decided to have the record, at each level."""
    return KeptMember(
        agent=decision.agent,
        estimates=len(decision.queries),
        score=float(np.median(decision.scores[:, 0])),
        accepted=tuple(int(np.sum(decision.accepted(level)[:, 0])) for level in spec.levels),
    )


def attack_recording(
    whole: Recording,
    few: Recording | None,
    specs: Sequence[RebuildModel],
    names: Sequence[str],
    folder: Path,
    slug: str,
) -> AttackReport:
    """All attacks on one algorithm's transcripts; estimates and records are written to `folder`.

    `few` is the transcript of the second run, if there is one: records, membership and properties are inferred from
    that. `names` has those of "traffic", "membership" and "property" that are requested; without a specification in
    the scenario membership is that of an informed attacker, of a record replaced, or, where none is public, removed.
    """
    one, scenario = few or whole, whole.experiment.scenario
    gradients = whole.gradients(folder / f"estimates-{slug}.parquet")
    traffic = whole.traffic() if "traffic" in names else None
    records = one.records(specs, folder / f"records-{slug}.parquet") if specs else None
    inference = _RecordedInference(one)
    membership = scenario.attacks.membership or MembershipSpec(
        adjacency="remove" if one.holding.unheld is None else "replace"
    )
    wanted = scenario.attacks.property if "property" in names else None
    return AttackReport(
        folder=str(whole.file.parent),
        algorithm=whole.subject.spec.name,
        slug=slug,
        transcript=str(whole.file),
        rows=len(whole.transcript),
        replicas=whole.transcript.replicas,
        gradients=gradients,
        truth=whole.truth,
        reconstructions=records,
        traffic_analysis=traffic,
        sentences=tuple(words.traffic(traffic)),
        membership=inference.membership(membership) if "membership" in names else None,
        property=None if wanted is None else inference.properties(wanted),
    )
