"""Audit stage of a run: claim, search for the worst pair, plan, audit, witness and views."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from attacks import inference as gradients
from attacks.audit.archive import MARK, Archive
from attacks.audit.pair import Pair
from attacks.audit.pair_search import FIRST_CHUNK, Searched, observed, search
from netsim.arrays import Array
from netsim.claims import Claim
from netsim.errors import PrivacyError
from netsim.problems import Objective, Problem
from netsim.randomness import Streams
from scenarios.build.adjacency import curvature_of
from scenarios.build.experiment import Experiment, Subject
from scenarios.build.problem import AnyLogistic
from scenarios.build.progress import Progress as progress_Progress
from scenarios.build.search_spaces import Data, Moved, Records, Spaces
from scenarios.results import entries as describe
from scenarios.results import loss_breakdown as anatomy
from scenarios.results import views as views_described
from scenarios.results.entries import Results
from scenarios.results.files import write_json
from scenarios.results.former_findings import DONE, NO_CLAIM, REFUSED
from scenarios.schema import Scenario
from scenarios.schema.scenario import GradientChange
from scenarios.stages import witness as witnessing
from scenarios.stages.worlds import AuditOptions, audited, look, worlds


class Progress(Protocol):
    """Who is told how far the search is."""

    def begin(self, stage: str, total: int) -> None: ...

    def advance(self, steps: int) -> None: ...


def pair_for(
    experiment: Experiment, subject: Subject, delta: float, progress: Progress
) -> tuple[Pair, dict[str, Any]]:
    """The pair that is to be audited, and what is to be added to the audit's results: {"search": …}.

    Without `audit.search` it is the experiment's, and nothing is added. `delta` is the claim's. Errors as
    `attacks.audit.pair_search.search`'s.
    """
    spec = experiment.scenario.audit
    assert spec is not None
    assert experiment.pair is not None
    if spec.search is None:
        return experiment.pair, {}
    progress.begin(f"{subject.spec.name}: searching the worst pair", spec.search.candidates)
    found = searched(experiment, subject, delta, progress)
    own = experiment.pair.hypotheses[0]
    candidate = found.winner.candidate
    description = f"{candidate.description} (the worst of {found.tried:,} searched)"
    return Pair(spec.agent, (own, candidate.hypothesis), description), {
        "search": search_results(found) | {"seed": experiment.scenario.seed}
    }


def searched(experiment: Experiment, subject: Subject, delta: float, progress: Progress) -> Searched:
    """Simulate some transcripts of the true world, and rank candidates on them."""
    spec = experiment.scenario.audit
    assert spec is not None
    assert spec.search is not None
    problem, agent = subject.simulation.problem, spec.agent
    own = problem.objectives[agent]
    sample = worlds(subject.simulation, agent, own, spec.search.transcripts)(0, FIRST_CHUNK)
    space = space_of(experiment, subject.spec.name, problem, observed(sample, agent, own))
    budget = spec.search.candidates
    return search(sample, agent, own, space, delta=delta, budget=budget, progress=progress.advance)


def space_of(experiment: Experiment, name: str, problem: Problem, points: Array) -> Spaces:
    """All that the scenario's adjacency allows of the audited agent, as far as it is searched."""
    spec = experiment.scenario.audit
    assert spec is not None
    assert spec.search is not None
    own = problem.objectives[spec.agent]
    rng = Streams(experiment.scenario.seed).generator("search", name)
    moved = spec.adjacency
    if isinstance(moved, GradientChange):
        return Moved(spec.agent, own, moved.change, moved.norm, curvature_of(moved, problem), points, rng)
    assert isinstance(own, AnyLogistic)
    kind = Records if moved == "record" else Data
    return kind(spec.agent, own, problem, points, rng, spec.search.candidates)


def search_results(found: Searched) -> dict[str, Any]:
    """For results.json: `audit.search` of an algorithm."""
    return {
        "sentence": found.sentence,
        "candidates": found.tried,
        "budget": found.budget,
        "transcripts": found.transcripts,
        "chunk": found.chunk,
        "delta": found.delta,
        "winner": {
            "family": found.winner.candidate.family,
            "description": found.winner.candidate.description,
            "epsilon": found.winner.epsilon,
        },
        "families": [
            {"name": one.name, "candidates": one.tried, "best": one.best, "epsilon": one.epsilon}
            for one in found.families
        ],
    }


@dataclass(frozen=True)
class Judge:
    """Audits the algorithms of an experiment, and writes what comes of it to entries and to files in `folder`.

    `draft` is added to the name of the witness's file where the audit is not yet the one that the folder shows.
    """

    experiment: Experiment
    folder: Path
    progress: progress_Progress
    jobs: int
    save: Callable[[], None]
    draft: str = ""

    def judge(self, entry: Results, subject: Subject, activations: int) -> None:
        """Fill an entry's `plan`, `audit`, `audit_status` and `views`; `activations` is Θ, the run's largest."""
        asked = self.decide(entry, subject, activations)
        if asked is None:
            return
        write_json(self.folder / f"audit-{entry['slug']}.json", entry["audit"])
        self.save()
        entry["views"] = self.views(asked)

    def decide(self, entry: Results, subject: Subject, activations: int) -> AuditOptions | None:
        """Fill an entry's `plan`, `audit` and `audit_status`, and write the witness; what the views are to look at,
        None where there is no verdict."""
        claim = self._claim(subject, activations)
        if claim is None:
            entry["audit_status"] = NO_CLAIM
            return None
        try:
            asked, search = self._asked(subject, claim)
            entry["audit"] = self._audit(entry, subject, activations, asked) | search
        except PrivacyError as error:
            entry["audit"], entry["audit_status"] = {"refused": str(error)}, REFUSED
            return None
        entry["audit_status"] = DONE
        return asked

    def asked(self, subject: Subject, activations: int) -> AuditOptions:
        """What an audit that has a verdict was asked."""
        claim = self._claim(subject, activations)
        assert claim is not None
        return self._asked(subject, claim)[0]

    def _claim(self, subject: Subject, activations: int) -> Claim | None:
        return subject.simulation.claim(self.experiment.adjacency, activations, subject.delta)

    def _asked(self, subject: Subject, claim: Claim) -> tuple[AuditOptions, Results]:
        pair, search = pair_for(self.experiment, subject, claim.delta, self.progress)
        return AuditOptions(self._scenario, subject, pair, claim), search

    @property
    def _scenario(self) -> Scenario:
        return self.experiment.scenario

    def _audit(self, entry: Results, subject: Subject, activations: int, asked: AuditOptions) -> Results:
        spec = self._scenario.audit
        assert spec is not None
        plan = asked.plan
        entry["plan"] = None if plan is None else describe.plan(plan)
        self.save()
        self.progress.begin(f"{subject.spec.name}: auditing", 2 * spec.trials)
        if plan is not None:
            self.progress.say(plan.summary)
        folder = self.folder / f"audit-{entry['slug']}"
        self._resumes(folder, asked)
        found = audited(asked, folder, self.progress.advance, self.jobs)
        entry["over_time"] = anatomy.over_time(subject.simulation, self.experiment.adjacency, subject.delta, found)
        proof = witnessing.Audited(asked.pair, asked.claim, activations, found.witness)
        path = witnessing.file_of(self.folder, entry["slug"] + self.draft)
        saved = witnessing.save(path, self.experiment, subject, proof)
        return describe.audit(found) | {"witness": None if saved is None else saved.name}

    def _resumes(self, folder: Path, asked: AuditOptions) -> None:
        """Say how many chunks an interrupted audit of the same left, if there was one."""
        spec, mark = self._scenario.audit, folder / MARK
        assert spec is not None
        if not (mark.is_file() and mark.read_text(encoding="utf-8") == asked.fingerprint):
            return
        kept, chunks = Archive(folder), -(-spec.trials // spec.chunk)
        there = sum((world, chunk) in kept for world in (0, 1) for chunk in range(chunks))
        self.progress.say(f"Going on with an interrupted audit: {there} of {2 * chunks} chunks are there.")

    def views(self, asked: AuditOptions) -> Results | None:
        """What each point of view sees of the pair; None where none is asked for."""
        subject, pair, claim = asked.subject, asked.pair, asked.claim
        spec = self._scenario.audit
        assert spec is not None
        if spec.views == "none":
            return None
        self.progress.begin(f"{subject.spec.name}: looking from every view", 2 * spec.trials)
        try:
            found = look(
                subject.simulation,
                spec.views,
                pair,
                cast(Objective, pair.hypotheses[1]),
                claim,
                trials=spec.trials,
                chunk=spec.together,
                confidence=spec.confidence,
                name=subject.spec.name,
                infer=gradients.infer,
                progress=self.progress.advance,
                jobs=self.jobs,
                draw=spec.draw,
            )
        except PrivacyError as error:
            return {"refused": str(error)}
        return views_described.view_results(found)
