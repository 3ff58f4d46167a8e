"""The audit's stage of a run: the claim, the pair, the plan, the audit, its witness, and the views."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from attacks import gradients
from attacks.audit.archive import MARK, Archive
from netsim.claims import Claim
from netsim.errors import PrivacyError
from netsim.problems import Objective
from scenarios import anatomy, describe, views_described, witnessing
from scenarios.auditing import Asked, audited
from scenarios.describe import Results
from scenarios.experiment import Experiment, Subject
from scenarios.findings import DONE, NO_CLAIM, REFUSED
from scenarios.jsonfile import write_json
from scenarios.schema import Scenario
from scenarios.searching import pair_for
from scenarios.telling import Progress
from scenarios.views import look


@dataclass(frozen=True)
class Judge:
    """Audits the algorithms of an experiment, and writes what comes of it to entries and to files in `folder`.

    `draft` is added to the name of the witness's file where the audit is not yet the one that the folder shows.
    """

    experiment: Experiment
    folder: Path
    progress: Progress
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

    def decide(self, entry: Results, subject: Subject, activations: int) -> Asked | None:
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

    def asked(self, subject: Subject, activations: int) -> Asked:
        """What an audit that has a verdict was asked."""
        claim = self._claim(subject, activations)
        assert claim is not None
        return self._asked(subject, claim)[0]

    def _claim(self, subject: Subject, activations: int) -> Claim | None:
        return subject.simulation.claim(self.experiment.adjacency, activations, subject.delta)

    def _asked(self, subject: Subject, claim: Claim) -> tuple[Asked, Results]:
        pair, search = pair_for(self.experiment, subject, claim.delta, self.progress)
        return Asked(self._scenario, subject, pair, claim), search

    @property
    def _scenario(self) -> Scenario:
        return self.experiment.scenario

    def _audit(self, entry: Results, subject: Subject, activations: int, asked: Asked) -> Results:
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

    def _resumes(self, folder: Path, asked: Asked) -> None:
        """Say how many chunks an interrupted audit of the same left, if there was one."""
        spec, mark = self._scenario.audit, folder / MARK
        assert spec is not None
        if not (mark.is_file() and mark.read_text(encoding="utf-8") == asked.fingerprint):
            return
        kept, chunks = Archive(folder), -(-spec.trials // spec.chunk)
        there = sum((world, chunk) in kept for world in (0, 1) for chunk in range(chunks))
        self.progress.say(f"Going on with an interrupted audit: {there} of {2 * chunks} chunks are there.")

    def views(self, asked: Asked) -> Results | None:
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
        return views_described.describe(found)
