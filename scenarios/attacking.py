"""A kept transcript attacked: what its listener and the public knowledge give, without simulating again.

An attack gets a view: the transcript and what everybody knows, which the scenario says. Its private side is nobody's:
insiders' own states are not in a transcript, so that without the truth an insider counts as a tap at its door.

Scores need the truth. A scenario's seed makes it again: the same run, from the same data. It counts only where that
run puts the very rows of the transcript on the wire, to the last bit; of any other transcript there are estimates
and no scores.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from attacks import gradients
from attacks.gradients import GradientEstimate
from attacks.reconstruction.verdict import seen
from attacks.score import score_gradients
from netsim.adversary import AdversaryView
from netsim.diary import Diary
from netsim.errors import AttackError, ScenarioError, TranscriptError
from netsim.inside import Inside, Query
from netsim.run import Run
from netsim.simulation import Simulation
from netsim.spool import SpooledTranscript
from netsim.transcript import Record, Transcript
from netsim.truth import Truth
from scenarios import describe, traffic, traffic_told
from scenarios.describe import Results
from scenarios.estimates import write_estimates, write_records
from scenarios.experiment import Experiment, Subject
from scenarios.holding import Holding, prior_of
from scenarios.problem import parts_of_agents
from scenarios.reconstructing import Rebuilding
from scenarios.schema.attacks import RebuildModel
from scenarios.simulating import simulated
from scenarios.telling import Progress

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
    holding: Holding
    file: Path
    score: bool
    progress: Progress
    told: Results = field(default_factory=dict[str, Any])
    diary: Diary = field(default_factory=Diary)

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
        found = Transcript.stored(SpooledTranscript.open(self.file))
        most = max((max(row.sender, row.receiver) for row in found), default=-1)
        if most >= (agents := self.simulation.topology.agents):
            raise ScenarioError(str(self.file), most, "no such agent in the scenario", f"0 … {agents - 1}")
        return found

    @cached_property
    def view(self) -> AdversaryView:
        """What the listener has."""
        adversary, public = self.simulation.adversaries[0], replace(self.simulation, spool=None).public()
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
        run = simulated(replace(self.simulation, spool=None, measure=False), stage, self.progress, self.diary)
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
            inversion, found = guarded(lambda: gradients.inferred(self.view))
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
        return found | {"sentences": traffic_told.sentences(found)}

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


def _of(inside: Inside, replicas: int) -> Inside:
    queries = [_first(query, replicas) for query in inside.queries]
    return Inside(inside.objective, queries, [release[:replicas] for release in inside.releases])


def _first(query: Query, replicas: int) -> Query:
    return Query(query.time, query.point[:replicas], query.gradient[:replicas])


def _sharing(experiment: Experiment) -> Holding:
    """Who holds what where all records are shared out; what is believed of them comes from the records held out, if
    there are any."""
    parts = parts_of_agents(experiment.scenario, experiment.dataset, experiment.topology.agents)
    held_out = experiment.held_out
    prior = None if held_out is None else prior_of(held_out, experiment.problem)
    return Holding(parts, experiment.problem, prior, held_out)
