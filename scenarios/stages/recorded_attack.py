"""Attacks on a recorded transcript: its listener and public knowledge alone, without simulating again."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import zip_longest
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

import numpy as np

from attacks import inference
from attacks.audit.accounting.intervals import clopper_pearson
from attacks.audit.loss.comparison import Sample, compare_worlds
from attacks.inference import Evidence
from attacks.reconstruction.attack import Case, Known, Prior
from attacks.reconstruction.informed import PropertyInference
from attacks.reconstruction.membership import Decision, Membership, Records
from attacks.reconstruction.verdict import seen
from attacks.replay import replay
from attacks.score import score_gradients
from netsim import settings
from netsim.adversary import Adversary, AdversaryView, Query
from netsim.errors import AttackError, PrivacyError, ScenarioError, TranscriptError
from netsim.randomness import Streams, coins_of
from netsim.readers.deployed.capture import at_door
from netsim.simulation import Run, Simulation
from netsim.transcript import Transcript
from netsim.transcript.packet_log import PacketLog
from netsim.transcript.stored import StreamedTranscript
from netsim.truth import Truth
from scenarios.build.duration import Progress, simulated
from scenarios.build.experiment import Experiment, Subject
from scenarios.build.inference import Staging, check_shares_of
from scenarios.build.problem import Ownership, parts_of_agents, prior_of
from scenarios.render import sentences as words
from scenarios.results.attacked import (
    AttackReport,
    KeptGradients,
    KeptLevel,
    KeptLoss,
    KeptMembership,
    KeptProperty,
    KeptRecords,
    TruthStatus,
    headline,
    rate,
)
from scenarios.results.attacks import RecordAttack
from scenarios.results.base import LeftOut, Rate, Refused, taken
from scenarios.results.numbers import percent, plural, show
from scenarios.results.tables import write_estimates, write_records
from scenarios.results.traffic import Traffic
from scenarios.schema.attacks import DecidingModel, MembershipSpec, PropertySpec, RebuildModel
from scenarios.stages.inference import attempted
from scenarios.stages.listening import analyse_traffic, gradient_scores
from scenarios.stages.reconstruction import Rebuilding, chosen, inferred

T = TypeVar("T")

BATCH = 32
"""Records of an agent, at most: unknowns grow with their square."""


def attack_recording(
    experiment: Experiment,
    subject: Subject,
    file: Path,
    second: Path | None,
    specs: Sequence[RebuildModel],
    names: Sequence[str],
    folder: Path,
    slug: str,
    score: bool,
    progress: Progress,
) -> AttackReport:
    """All attacks on one algorithm's transcripts; estimates and records are written to `folder`.

    `second` is the transcript of the run with few records an agent, if there is one: records, membership and
    properties are inferred from that. `names` has those of "traffic", "membership" and "property" that are requested;
    without a specification in the scenario membership is that of an informed attacker, of a record replaced, or,
    where none is public, removed. `score`: make the truth again from the seed.
    """
    parts = parts_of_agents(experiment.scenario, experiment.dataset, experiment.topology.agents)
    held_out = experiment.held_out
    prior = None if held_out is None else prior_of(held_out, experiment.problem)
    all_records = Ownership(parts, experiment.problem, prior, held_out)
    few = whole = _Recording(experiment, subject, subject.simulation, all_records, file, score, progress)
    if second is not None:
        assert subject.attacked is not None
        assert experiment.holding is not None
        few = _Recording(experiment, subject, subject.attacked, experiment.holding, second, score, progress)
    whole.load()
    if few is not whole:
        few.load(" of the second run")
    attacks = experiment.scenario.attacks
    gradients = whole.gradients(folder / f"estimates-{slug}.parquet")
    traffic = whole.traffic() if "traffic" in names else None
    records = few.records(specs, folder / f"records-{slug}.parquet") if specs else None
    membership = attacks.membership or MembershipSpec(adjacency="remove" if few.holding.unheld is None else "replace")
    return AttackReport(
        folder=str(file.parent),
        algorithm=subject.spec.name,
        slug=slug,
        transcript=str(file),
        rows=len(whole.transcript),
        replicas=whole.transcript.replicas,
        gradients=gradients,
        truth=whole.again[1],
        reconstructions=records,
        traffic_analysis=traffic,
        sentences=tuple(words.traffic(traffic)),
        membership=few.membership(membership) if "membership" in names else None,
        property=few.properties(attacks.property) if "property" in names and attacks.property else None,
        loss=whole.loss() if "loss" in names else None,
    )


@dataclass(frozen=True)
class _Recording:
    """One kept transcript of an algorithm: `simulation` is its run, in which agents hold the records of `holding`."""

    experiment: Experiment
    subject: Subject
    simulation: Simulation
    holding: Ownership
    file: Path
    score: bool
    progress: Progress
    log: PacketLog = field(default_factory=PacketLog)

    def load(self, which: str = "") -> None:
        """Read the transcript, so that a damaged file is said before anything is computed."""
        self.progress.begin(f"{self.subject.spec.name}: reading {plural(len(self.transcript), 'row')}{which}", 1)

    # ── the adversary's side ────────────────────────────────────────────────────────────────────────────
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
        """Knowledge of the eavesdropper; of insiders their doors alone, where the truth is not known."""
        adversary, public = self.simulation.adversaries[0], self.simulation.public()
        inside = {}
        if adversary.insiders and (run := self.again[0]) is not None:
            replicas = self.transcript.replicas
            inside = {
                i: replace(
                    one,
                    queries=[_first(query, replicas) for query in one.queries],
                    releases=[release[:replicas] for release in one.releases],
                )
                for i, one in run.views[0].inside.items()
            }
        elif adversary.insiders:
            links = () if adversary.links is None else adversary.links
            adversary = replace(adversary, links=links, nodes=adversary.doors, insiders=())
        return AdversaryView(adversary, self.transcript, public, inside)

    # ── the truth ───────────────────────────────────────────────────────────────────────────────────────
    @cached_property
    def again(self) -> tuple[Run | None, TruthStatus]:
        """The run again, from the seed, with as many replicas of its truth as the transcript has; None where scores
        are not requested, or the transcript is not of this run."""
        if not self.score:
            return None, TruthStatus(remade=False, seconds=None, why_not="not asked for")
        begun = time.monotonic()
        stage = f"{self.subject.spec.name}: making the truth again from the seed"
        simulation = replace(self.simulation, recording=settings.Recording(measure=False))
        run = simulated(simulation, stage, self.progress, self.log)
        seconds, replicas = time.monotonic() - begun, self.transcript.replicas
        # Two transcripts are the same to the last bit, in as many replicas as the kept one has.
        for k, (one, other) in enumerate(zip_longest(self.transcript, run.views[0].transcript)):
            if (
                one is None
                or other is None
                or one[:-1] != other[:-1]
                or one.values.keys() != other.values.keys()
                or any(not np.array_equal(value, other.values[name][:replicas]) for name, value in one.values.items())
            ):
                why = f"the seed makes another transcript here, from row {k} on"
                return None, TruthStatus(remade=False, seconds=seconds, why_not=why)
        assert run.truth is not None
        queries = [[_first(query, replicas) for query in own] for own in run.truth.queries]
        releases = [[release[:replicas] for release in own] for own in run.truth.releases]
        truth = Truth(run.truth.problem, queries, releases)
        return replace(run, truth=truth), TruthStatus(remade=True, seconds=seconds, why_not=None)

    # ── attacks ─────────────────────────────────────────────────────────────────────────────────────────
    def gradients(self, path: Path) -> KeptGradients:
        """Infer gradients, write them to `path`, and score them where the truth is known."""
        self.progress.begin(f"{self.subject.spec.name}: inferring gradients", 1)
        run, jointly = self.again[0], self.experiment.scenario.attacks.victims == "jointly"
        try:
            inversion, found = _guarded(lambda: inference.inferred(self.view, jointly=jointly))
        except AttackError as error:
            path.unlink(missing_ok=True)
            return KeptGradients(refused=str(error), estimates=None)
        truth = None if run is None else run.truth
        write_estimates(path, found, truth)
        self.progress.advance(1)
        agents = Counter(one.agent for one in found)
        scores = None if truth is None else gradient_scores(score_gradients(found, truth, self.view.inside))
        return KeptGradients(
            refused=None,
            attack=f"{inversion.__module__}.{inversion.__name__}",
            estimates=str(path),
            inferred=tuple(agents[i] for i in range(self.simulation.topology.agents)),
            exact=sum(one.stddev == 0 for one in found),
            scores=scores,
        )

    def loss(self) -> KeptLoss:
        """The exact loss at the door of the agent that the scenario audits, of its declared pair of worlds. Where no
        tap was at the door, what was captured on all its links says what passed it."""
        pair, rows = self.experiment.pair, list(self.transcript.records)
        if pair is None:
            return KeptLoss(agent=0, pair="", refused="the scenario has no audit, which names two worlds")
        agent, simulation = pair.agent, self.simulation
        if not any(row.place == "node" and agent in (row.sender, row.receiver) for row in rows):
            rows += at_door([row for row in rows if row.kind != "ack"], agent)
        transcript = Transcript(sorted(rows, key=attrgetter("time")), self.transcript.replicas)
        adversary = Adversary("door", simulation.adversaries[0].links, nodes=(agent,))
        view = AdversaryView(adversary, transcript, simulation.public(), {})
        coins = partial(coins_of, Streams(simulation.seed), agent, simulation.tosses)
        kept = KeptLoss(agent=agent, pair=pair.description, refused=None)
        why = ""
        for world, (true, other) in zip((0, 1), (pair.hypotheses, pair.hypotheses[::-1]), strict=True):
            try:
                released = [one.observed for one in replay(view, agent, true, coins()).releases]
                found = compare_worlds(Sample(view, coins, released), agent, true, other)
            except (PrivacyError, TranscriptError) as error:
                why = why or str(error)
                continue
            losses = found.losses_on_wire(found.granted_from)
            words = f"median {show(float(np.median(losses)))}, largest {show(float(losses.max()))}"
            said = (
                f"Exact loss at agent {agent}'s door, of {pair.description}: {words} nats in favour of world {world}."
            )
            return replace(kept, world=world, releases=len(found.steps), losses=tuple(losses.tolist()), sentence=said)
        return replace(kept, refused=why)

    def records(self, specs: Sequence[RebuildModel], path: Path) -> KeptRecords:
        """Rebuild records by these attacks, write them to `path`, and score them where the truth is known."""
        run, truth = self.again
        if (most := max(part.records for part in self.holding.parts)) > BATCH:
            why = (
                f"agents hold up to {most} records here, and attacks on batches are for {BATCH} at most: a scenario "
                "with `attacks: {reconstruct: …, holding: …}` has a second run, in which they hold few"
            )
            refused = tuple(RecordAttack(attack=spec.label, kind=spec.kind, refused=why) for spec in specs)
            return KeptRecords(attacks=refused, sentence="", records=None, transcript=str(self.file), truth=truth)
        attacks = self.experiment.scenario.attacks.model_copy(update={"reconstruct": list(specs)})
        scenario = self.experiment.scenario.model_copy(update={"attacks": attacks})
        experiment = replace(self.experiment, scenario=scenario, holding=self.holding)
        rebuilding = Rebuilding(experiment, self.progress, lambda _: None)
        nobody = (0,) * self.simulation.topology.agents
        # Without a truth, a run that is nothing but what was seen of it.
        again = run or Run(self.simulation, (), None, None, nobody, 0.0, {})
        found = rebuilding.rebuild(self.subject, replace(again, views=(self.view,)))
        write_records(path, rebuilding.found)
        own = {one.attack: Counter[str]() for one in found.attacks}
        for one in rebuilding.found:
            own[one.attack].update(seen(one.case, one.found).names)
        return taken(
            KeptRecords,
            found,
            attacks=tuple(replace(one, seen=dict(own[one.attack])) for one in found.attacks),
            originals=None if run is None else found.originals,
            records=str(path) if rebuilding.found else None,
            transcript=str(self.file),
            truth=truth,
        )

    def traffic(self) -> Traffic:
        """Analyse times and sizes alone; where the truth is known, score that."""
        self.progress.begin(f"{self.subject.spec.name}: analysing the traffic", 1)
        run = self.again[0]
        try:
            found = _guarded(lambda: analyse_traffic(self.view, run, self.log))
        except AttackError as error:
            found = Refused(refused=str(error))
        self.progress.advance(1)
        return found

    def membership(self, spec: MembershipSpec) -> KeptMembership:
        """Decide membership of each agent's record; with the truth, count how often that is right."""
        setting = taken(
            KeptMembership,
            spec,
            refused=None,
            source=Membership().source,
            sentence="",
            transcript=str(self.file),
            levels=(),
        )
        found = attempted("membership", lambda: self._membership(spec, setting))
        if isinstance(found, str):
            found = replace(setting, refused=found)
        return replace(found, sentence=_sentence_of_membership(found))

    def properties(self, spec: PropertySpec) -> KeptProperty:
        """Name a hypothesis of each agent; with the truth, count how often it is the likeliest by the labels."""
        setting = taken(
            KeptProperty,
            spec,
            refused=None,
            source=PropertyInference({}).source,
            sentence="",
            transcript=str(self.file),
            hypotheses=tuple(spec.hypotheses),
        )
        found = attempted("property inference", lambda: self._properties(spec, setting))
        if isinstance(found, str):
            found = replace(setting, refused=found)
        return replace(found, sentence=_sentence_of_property(found))

    # ── decisions ───────────────────────────────────────────────────────────────────────────────────────
    @property
    def _staging(self) -> Staging:
        """You get an `AttackError` where every record is held: nothing is public."""
        if self.holding.unheld is None:
            raise AttackError("agents hold all records here, and none is public: problem.held_out reserves some")
        return Staging(self.experiment.scenario, self.holding)

    def _evidence(self, spec: DecidingModel) -> list[Evidence]:
        """Of every agent that is not the adversary's."""
        insiders = self.simulation.adversaries[0].insiders
        every = _guarded(lambda: inferred(self.view, spec.inversion))
        found = [chosen(one, spec.rounds) for one in every if one.agent not in insiders]
        if not found:
            raise AttackError("nothing was inferred of any agent's gradients")
        return found

    def _case(self, evidence: Evidence, *, prior: Prior | None = None, others: Records | None = None) -> Case:
        known = Known.of(self.view.public, evidence.agent, prior, self.experiment.dataset.image_shape)
        return Case(evidence, replace(known, others=others))

    def _membership(self, spec: MembershipSpec, setting: KeptMembership) -> KeptMembership:
        decided: list[Decision] = []
        others: list[Decision] = []
        left_out: list[LeftOut] = []
        for evidence in self._evidence(spec):
            try:
                inside, *out = self._decided(spec, evidence)
            except AttackError as error:
                left_out.append(LeftOut(agent=evidence.agent, why=str(error)))
            else:
                decided.append(inside)
                others += out
        if not decided:
            raise AttackError(left_out[0].why)
        known = self.again[0] is not None
        levels: list[KeptLevel] = []
        for level in spec.levels:
            own, alarms = (
                np.array([bool(yes) for one in found for yes in one.accepted(level)[:, 0]])
                for found in (decided, others)
            )
            levels.append(
                KeptLevel(
                    level=level,
                    power=float(np.mean(np.concatenate([one.power(level)[:, 0] for one in decided]))),
                    accepted=(int(np.sum(own)), own.size),
                    found=_rate(own, spec.confidence) if known else None,
                    alarms=_rate(alarms, spec.confidence) if known and others else None,
                )
            )
        return replace(
            setting,
            levels=tuple(levels),
            agents=tuple(
                KeptMembership.KeptMember(
                    agent=one.agent,
                    estimates=len(one.queries),
                    score=float(np.median(one.scores[:, 0])),
                    accepted=tuple(int(np.sum(one.accepted(level)[:, 0])) for level in spec.levels),
                )
                for one in decided
            ),
            left_out=tuple(left_out),
            scored=known,
        )

    def _decided(self, spec: MembershipSpec, evidence: Evidence) -> list[Decision]:
        """About the agent's own record, and about one that is not in, where the transcript has such."""
        agent, part = evidence.agent, self.holding.parts[evidence.agent]
        if spec.record >= part.records or (spec.adjacency == "remove" and part.records == 1):
            raise AttackError(f"agent {agent} holds {part.records} record(s): there is no such world without one")
        rng = Streams(self.experiment.scenario.seed).generator("kept", "membership", agent)
        if not spec.informed:  # one record that is in, and one that nobody holds and nobody knows
            staging, attack = self._staging, Membership(spec.adjacent, None, spec.draws)
            pool = staging.unknown
            records = part.take([spec.record]), pool.take([int(rng.integers(pool.records))])
            case = self._case(evidence, prior=staging.prior)
            candidates = [staging.in_model((one.features, one.labels)) for one in records]
            return attack.decide([case] * 2, candidates, rng)
        replaced = spec.adjacency == "replace"
        staging = self._staging if replaced else Staging(self.experiment.scenario, self.holding)
        both = staging.fixed(spec.model_copy(update={"agent": agent}))
        case = self._case(evidence, others=both.others)
        inside = Membership(spec.adjacent, both.instead).decide([case], [both.candidate], rng)[0]
        if both.instead is None:
            return [inside]
        return [inside, Membership(spec.adjacent, both.candidate).decide([case], [both.instead], rng)[0]]

    def _properties(self, spec: PropertySpec, setting: KeptProperty) -> KeptProperty:
        staging, known = self._staging, self.again[0] is not None
        check_shares_of(spec, staging.unheld)
        attack, prior = PropertyInference(staging.hypotheses(spec), spec.draws), staging.prior
        agents: list[KeptProperty.NamedHypothesis] = []
        right: list[bool] = []
        for evidence in self._evidence(spec):
            rng = Streams(self.experiment.scenario.seed).generator("kept", "property", evidence.agent)
            choice = attack.decide([self._case(evidence, prior=prior)], rng)[0]
            true = self._likeliest(spec, evidence.agent) if known else None
            right += [] if true is None else [name == true for name in choice.chosen]
            posterior = tuple(choice.posterior[0].tolist())
            agents.append(
                KeptProperty.NamedHypothesis(
                    agent=evidence.agent, named=choice.chosen[0], posterior=posterior, likeliest=true
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
        part = self.holding.parts[agent]
        labels = np.unique(self._staging.unheld.labels)
        counts = np.array([np.sum(part.labels == label) for label in labels])
        shares = np.array([one.shares for one in spec.hypotheses])
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(counts > 0, counts * np.log(shares), 0.0).sum(axis=1)
        best = np.flatnonzero(each >= np.max(each) - 1e-9)
        return spec.hypotheses[int(best[0])].name if best.size == 1 else None


def _guarded(infer: Callable[[], T]) -> T:
    """An attack on a transcript of something else fails in its own ways: each is an `AttackError` here."""
    try:
        return infer()
    except (KeyError, IndexError, ValueError, TranscriptError) as error:
        raise AttackError(
            "the transcript is not one of this algorithm in this scenario, or is no whole one "
            f"({type(error).__name__}: {error})"
        ) from error


def _first(query: Query, replicas: int) -> Query:
    return Query(query.time, query.point[:replicas], query.gradient[:replicas])


def _rate(accepted: np.ndarray[tuple[int], np.dtype[np.bool_]], confidence: float) -> Rate:
    count, of = int(np.sum(accepted)), accepted.size
    found = clopper_pearson(count, of, confidence)
    return Rate(count=count, of=of, rate=found.estimate, low=found.lower, high=found.upper)


# ── in words ────────────────────────────────────────────────────────────────────────────────────────────
def _sentence_of_membership(found: KeptMembership) -> str:
    """The outcome of the membership test."""
    if found.refused:
        return f"No membership attack: {found.refused.rstrip('.')}."
    level = headline(found.levels)
    at = f"at {percent(level.level)} false alarms by the law"
    if not found.scored or level.found is None:
        accepted, of = level.accepted
        return f"Membership: {accepted} of {of} records are decided to be the agent's, {at}; not scored."
    counted = "; false alarms take a run without the record"
    if level.alarms is not None:
        counted = f", {rate(level.alarms)} of those that are not"
    return f"Membership: {rate(level.found)} of the agents' own records are decided to be theirs, {at}{counted}."


def _sentence_of_property(found: KeptProperty) -> str:
    """The outcome of property inference."""
    if found.refused:
        return f"No property inference: {found.refused.rstrip('.')}."
    names = Counter(one.named for one in found.agents)
    named = ", ".join(f"{count} × {name}" for name, count in names.items())
    if found.right is None or found.guess is None:
        why = "no agent's own labels single one out" if found.scored else "not scored"
        return f"Property: named {named}; {why}."
    return (
        f"Property: named {named}; it is the one that the agent's own labels say {rate(found.right)} of the time "
        f"(a guess: {percent(found.guess)})."
    )
