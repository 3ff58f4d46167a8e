"""Attacks on a recorded transcript: its listener and public knowledge alone, without simulating again."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from attacks.audit.accounting.intervals import clopper_pearson
from attacks.inference import Evidence, GradientEstimate
from attacks.inference import inferred as inferred_gradients
from attacks.reconstruction.attack import Case, Known
from attacks.reconstruction.membership import Decision, Membership, Records
from attacks.reconstruction.property_inference import PropertyInference
from attacks.reconstruction.verdict import seen
from attacks.score import score_gradients
from netsim.adversary import AdversaryView, InsiderState, Query
from netsim.errors import AttackError, ScenarioError, TranscriptError
from netsim.randomness import Streams
from netsim.settings import Recording
from netsim.simulation import Run, Simulation
from netsim.transcript.packet_log import PacketLog
from netsim.transcript.record import Record, Transcript
from netsim.transcript.stored import StreamedTranscript
from netsim.truth import Truth
from scenarios.build.experiment import Experiment, Subject
from scenarios.build.inference import Staging, check_shares_of
from scenarios.build.problem import Ownership, parts_of_agents, prior_of
from scenarios.build.progress import Progress, simulated
from scenarios.render import former_sentences as traffic_told
from scenarios.results import entries as describe
from scenarios.results import former_inference as decisions
from scenarios.results import former_measures as traffic
from scenarios.results.entries import Results
from scenarios.results.former_reconstructions import write_estimates, write_records
from scenarios.schema import Scenario
from scenarios.schema.attacks import DecidingModel, MembershipSpec, PropertySpec, RebuildModel
from scenarios.stages import inference as play
from scenarios.stages.inference import begun, counted, inferred
from scenarios.stages.reconstruction import Rebuilding, chosen

BATCH = 32
"""Records of an agent, at most: unknowns grow with their square."""
NOT_OF_THIS = "the transcript is not one of this algorithm in this scenario"


@dataclass(frozen=True)
class Attacked:
    """One transcript of an algorithm: `simulation` is the run that it is of, and `holding` who holds which records
    there. `score`: make the truth again from the seed."""

    experiment: Experiment
    subject: Subject
    simulation: Simulation
    holding: Ownership
    file: Path
    score: bool
    progress: Progress
    told: Results = field(default_factory=dict[str, Any])
    diary: PacketLog = field(default_factory=PacketLog)

    @classmethod
    def of_all(
        cls, experiment: Experiment, subject: Subject, file: Path, score: bool, progress: Progress
    ) -> "Attacked":
        """The run in which all records are shared out."""
        return cls(experiment, subject, subject.simulation, _sharing(experiment), file, score, progress)

    @classmethod
    def of_few(
        cls, experiment: Experiment, subject: Subject, file: Path, score: bool, progress: Progress
    ) -> "Attacked":
        """The second run, in which agents hold the records that are to be rebuilt."""
        assert subject.attacked is not None
        assert experiment.holding is not None
        return cls(experiment, subject, subject.attacked, experiment.holding, file, score, progress)

    # ── what is heard ───────────────────────────────────────────────────────────────────────────────────
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
        """What the listener has."""
        adversary, public = self.simulation.adversaries[0], self.simulation.public()
        if not adversary.insiders:
            return AdversaryView(adversary, self.transcript, public)
        if (truth := self.remade) is not None:
            inside = {i: _of(one, self.transcript.replicas) for i, one in truth.views[0].inside.items()}
            return AdversaryView(adversary, self.transcript, public, inside)
        links = () if adversary.links is None else adversary.links
        outside = replace(adversary, links=links, nodes=adversary.doors, insiders=())
        return AdversaryView(outside, self.transcript, public)

    # ── what is true ────────────────────────────────────────────────────────────────────────────────────
    @cached_property
    def remade(self) -> Run | None:
        """The run again, from the seed, with as many replicas of its truth as the transcript has; None where it is
        not asked for, or the transcript is not of it. `told` says which, and how long it took."""
        if not self.score:
            self.told["truth"] = {"remade": False, "seconds": None, "why_not": "not asked for"}
            return None
        begun = time.monotonic()
        stage = f"{self.subject.spec.name}: making the truth again from the seed"
        run = simulated(
            replace(self.simulation, recording=Recording(measure=False)), stage, self.progress, self.diary
        )
        seconds = time.monotonic() - begun
        other = first_difference(self.transcript, run.views[0].transcript)
        why = None if other is None else f"the seed makes another transcript here, from row {other} on"
        self.told["truth"] = {"remade": why is None, "seconds": seconds, "why_not": why}
        if why is not None:
            return None
        assert run.truth is not None
        return replace(run, truth=_cut(run.truth, self.transcript.replicas))

    # ── attacks ─────────────────────────────────────────────────────────────────────────────────────────
    def gradients(self, path: Path) -> Results:
        """Infer gradients, write them to `path`, and score them where the truth is known."""
        self.progress.begin(f"{self.subject.spec.name}: inferring gradients", 1)
        run = self.remade
        try:
            jointly = self.experiment.scenario.attacks.victims == "jointly"
            inversion, found = guarded(lambda: inferred_gradients(self.view, jointly=jointly))
        except AttackError as error:
            path.unlink(missing_ok=True)
            return {"refused": str(error), "estimates": None}
        truth = None if run is None else run.truth
        write_estimates(path, found, truth)
        self.progress.advance(1)
        told: Results = {
            "refused": None,
            "attack": f"{inversion.__module__}.{inversion.__name__}",
            "estimates": str(path),
            "estimated": len(found),
            "inferred": self._counted(found),
            "exact": sum(one.stddev == 0 for one in found),
        }
        if truth is not None:
            told |= describe.gradients(score_gradients(found, truth, self.view.inside))
        return told

    def records(self, specs: Sequence[RebuildModel], path: Path) -> Results:
        """Rebuild records by these attacks, write them to `path`, and score them where the truth is known."""
        run, entry = self.remade, dict[str, Any]()
        asked = self.experiment.scenario.attacks.model_copy(update={"reconstruct": list(specs)})
        if (most := max(part.records for part in self.holding.parts)) > BATCH:
            return self._too_many(specs, most)
        scenario = self.experiment.scenario.model_copy(update={"attacks": asked})
        experiment = replace(self.experiment, scenario=scenario, holding=self.holding)
        heard = self._as_run(run)
        rebuilding = Rebuilding(experiment, self.progress, lambda: None)
        rebuilding.rebuild(entry, self.subject, heard)
        found: Results = entry["reconstructions"]
        write_records(path, rebuilding.found)
        for one in found["attacks"]:
            own = [found for found in rebuilding.found if found.attack == one["attack"]]
            one["seen"] = dict(Counter(name for case in own for name in seen(case.case, case.found).names))
        if run is None:
            found.pop("originals", None)
        return found | {"records": str(path) if rebuilding.found else None}

    def traffic(self) -> Results:
        """What times and sizes alone give away, and where the truth is known against that."""
        self.progress.begin(f"{self.subject.spec.name}: analysing the traffic", 1)
        run = self.remade
        try:
            found = guarded(lambda: traffic.analysis_of(self.view, run, self.diary))
        except AttackError as error:
            found = {"refused": str(error)}
        self.progress.advance(1)
        return found | {"sentences": traffic_told.traffic_sentences(found)}

    def _too_many(self, specs: Sequence[RebuildModel], most: int) -> Results:
        why = (
            f"agents hold up to {most} records here, and attacks on batches are for {BATCH} at most: a scenario with "
            "`attacks: {reconstruct: …, holding: …}` has a second run, in which they hold few"
        )
        refused = [{"attack": spec.label, "kind": spec.kind, "refused": why} for spec in specs]
        return {"attacks": refused, "sentence": "", "records": None}

    def _as_run(self, run: Run | None) -> Run:
        """The view as a run's only one; without a truth where there is none."""
        if run is not None:
            return replace(run, views=(self.view,))
        nobody = (0,) * self.simulation.topology.agents
        return Run(self.simulation, (self.view,), None, None, nobody, 0.0, {})

    def _counted(self, found: Sequence[GradientEstimate]) -> list[int]:
        agents = [one.agent for one in found]
        return [agents.count(i) for i in range(self.simulation.topology.agents)]


def first_difference(kept: Transcript, made: Transcript) -> int | None:
    """The first row in which two transcripts differ, to the last bit, in as many replicas as the first has."""
    for k, (one, other) in enumerate(zip_longest(kept, made)):
        if one is None or other is None or not _same(one, other, kept.replicas):
            return k
    return None


def _same(one: Record, other: Record, replicas: int) -> bool:
    if one[:-1] != other[:-1] or one.values.keys() != other.values.keys():
        return False
    return all(np.array_equal(one.values[name], other.values[name][:replicas]) for name in one.values)


def guarded(infer: Callable[[], Any]) -> Any:
    """A transcript of something else fails an attack in its own ways: that is a refusal."""
    try:
        return infer()
    except (KeyError, IndexError, ValueError, TranscriptError) as error:
        raise AttackError(f"{NOT_OF_THIS}, or is no whole one ({type(error).__name__}: {error})") from error


def _cut(truth: Truth, replicas: int) -> Truth:
    queries = [[_first(query, replicas) for query in own] for own in truth.queries]
    return Truth(truth.problem, queries, [[release[:replicas] for release in own] for own in truth.releases])


def _of(inside: InsiderState, replicas: int) -> InsiderState:
    queries = [_first(query, replicas) for query in inside.queries]
    return InsiderState(inside.objective, queries, [release[:replicas] for release in inside.releases])


def _first(query: Query, replicas: int) -> Query:
    return Query(query.time, query.point[:replicas], query.gradient[:replicas])


def _sharing(experiment: Experiment) -> Ownership:
    """Who holds what where all records are shared out; what is believed of them comes from the records held out, if
    there are any."""
    parts = parts_of_agents(experiment.scenario, experiment.dataset, experiment.topology.agents)
    held_out = experiment.held_out
    prior = None if held_out is None else prior_of(held_out, experiment.problem)
    return Ownership(parts, experiment.problem, prior, held_out)


@dataclass(frozen=True)
class RecordedInference:
    """What the attacks that decide say of one kept transcript."""

    kept: Attacked

    @property
    def staging(self) -> Staging:
        """You get an `AttackError` where every record is held: nothing is public."""
        if self.kept.holding.unheld is None:
            raise AttackError("agents hold all records here, and none is public: problem.held_out reserves some")
        return Staging(self.kept.experiment.scenario, self.kept.holding)

    # ── membership ──────────────────────────────────────────────────────────────────────────────────────
    def membership(self, spec: MembershipSpec) -> Results:
        """Whether each agent's record is said to be in; with the truth how often that is right."""
        said = begun(spec, Membership().source, 0) | {"adjacency": spec.adjacency, "informed": spec.informed}
        said = {key: value for key, value in said.items() if key not in ("agent", "holding")}
        found = said | play.guarded("membership", lambda: self._membership(spec))
        return found | {"sentence": decisions.membership_of_recording(found)}

    def _membership(self, spec: MembershipSpec) -> Results:
        decided: list[tuple[Decision, Decision | None]] = []
        left_out: list[Results] = []
        for evidence in self._evidence(spec):
            try:
                decided.append(self._decided(spec, evidence))
            except AttackError as error:
                left_out.append({"agent": evidence.agent, "why": str(error)})
        if not decided:
            raise AttackError(left_out[0]["why"])
        known = self.kept.remade is not None
        return {
            "levels": [self._level(spec, level, decided, known) for level in spec.levels],
            "agents": [_member(spec, inside) for inside, _ in decided],
            "left_out": left_out,
            "scored": known,
        }

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
    ) -> Results:
        said = _accepted([inside for inside, _ in decided], level)
        others = [out for _, out in decided if out is not None]
        power = float(np.mean(np.concatenate([inside.power(level)[:, 0] for inside, _ in decided])))
        told: Results = {"level": level, "power": power, "said": [int(np.sum(said)), said.size]}
        if not known:
            return told | {"found": None, "alarms": None}
        wrong = _accepted(others, level) if others else None
        return told | {
            "found": _rate(said, spec.confidence),
            "alarms": None if wrong is None else _rate(wrong, spec.confidence),
        }

    # ── properties ──────────────────────────────────────────────────────────────────────────────────────
    def properties(self, spec: PropertySpec) -> Results:
        """Which hypothesis is named of each agent; with the truth how often it is the one that its labels say."""
        said = begun(spec, PropertyInference({}).source, 0) | {
            "hypotheses": [one.model_dump() for one in spec.hypotheses]
        }
        said = {key: value for key, value in said.items() if key not in ("agent", "holding")}
        found = said | play.guarded("property inference", lambda: self._properties(spec))
        return found | {"sentence": decisions.property_of_recording(found)}

    def _properties(self, spec: PropertySpec) -> Results:
        staging = self.staging
        check_shares_of(spec, staging.unheld)
        attack, prior = PropertyInference(staging.hypotheses(spec), spec.draws), staging.prior
        agents: list[Results] = []
        right: list[bool] = []
        known = self.kept.remade is not None
        for evidence in self._evidence(spec):
            case = self._case(evidence)
            case = Case(case.evidence, replace(case.known, prior=prior))
            rng = Streams(self._scenario.seed).generator("kept", "property", evidence.agent)
            choice = attack.decide([case], rng)[0]
            true = self._likeliest(spec, evidence.agent) if known else None
            right += [] if true is None else [name == true for name in choice.chosen]
            told = {"agent": evidence.agent, "named": choice.chosen[0], "posterior": choice.posterior[0].tolist()}
            agents.append(told | {"likeliest": true})
        rate = _rate(np.array(right), spec.confidence) if right else None
        return {"agents": agents, "right": rate, "guess": 1 / len(spec.hypotheses), "scored": known}

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


def _rate(said: np.ndarray[tuple[int], np.dtype[np.bool_]], confidence: float) -> Results:
    count = int(np.sum(said))
    return counted(clopper_pearson(count, said.size, confidence), count, said.size)


def _member(spec: MembershipSpec, decision: Decision) -> Results:
    """Of one agent: how many of its replicas say that the record is in, at each level."""
    return {
        "agent": decision.agent,
        "estimates": len(decision.queries),
        "score": float(np.median(decision.scores[:, 0])),
        "said": [int(np.sum(decision.accepted(level)[:, 0])) for level in spec.levels],
    }


def inferred_from_recording(kept: Attacked, names: Sequence[str]) -> Results:
    """`membership` and `property` of a kept transcript, null where they are not among the `names`. Without a word in
    the scenario, membership is that of an informed attacker: a record replaced, or where none is public removed."""
    asked, found = kept.experiment.scenario.attacks, RecordedInference(kept)
    told: Results = {"membership": None, "property": None}
    where = {"transcript": str(kept.file)}
    if "membership" in names:
        usual = MembershipSpec(adjacency="remove" if kept.holding.unheld is None else "replace")
        told["membership"] = found.membership(asked.membership or usual) | where
    if "property" in names and asked.property is not None:
        told["property"] = found.properties(asked.property) | where
    return told
