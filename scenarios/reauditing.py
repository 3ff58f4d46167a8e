"""The audit of a results folder gone on with, or made anew, without running anything else again.

What may be added. An audit that was stopped has been read by nobody: it goes on with the transcripts that it has, and
may be given more of them than were asked for, since nothing that was seen decided it. An audit that is done has been
read, and its intervals are those of a fixed number of transcripts: to add some because of what it said would break
their confidence. More is then a new audit with noise of its own (`audit.draw`), which takes nothing from those
before. `scenarios.several` says what all of them together may spend of error, and which of them decides: the folder
shows the last one that refuted the claim, or else the last one. The others are summed up beside it, and their files
have names with their draw (audit-SLUG.draw1.json).
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from attacks.audit.archive import MARK
from netsim.diary import Diary
from scenarios import several
from scenarios.auditing import Asked
from scenarios.describe import Results
from scenarios.experiment import Subject
from scenarios.findings import DONE, NO_CLAIM, REFUSED
from scenarios.jsonfile import write_json
from scenarios.judging import Judge
from scenarios.kept import Kept, read_results, subject_of
from scenarios.loader import validated
from scenarios.places import RESULTS
from scenarios.report import render
from scenarios.report.formats import part
from scenarios.report.study import render_study
from scenarios.report.words import missing
from scenarios.reproduction.findings import reproduced
from scenarios.reproduction.outcome import Ran
from scenarios.schema import Scenario
from scenarios.schema.scenario import AuditSpec
from scenarios.simulating import simulated
from scenarios.study import COMPLETE, FAILED, INTERRUPTED, PENDING, ran_of, summary
from scenarios.telling import Progress, Silent
from scenarios.timeline import Chronicle
from scenarios.undisturbed import undisturbed
from scenarios.witnessing import file_of
from scenarios.written import write_outputs

Say = Callable[[str], None]
ASKED = ("trials", "confidence", "chunk", "stop", "classifier", "views")
"""What may be asked of an audit anew: the pair and the claim stay the folder's."""


@dataclass(frozen=True)
class Reaudit:
    """Audits of a folder's algorithms. `settings` are fields of `audit` that are to be others than they were;
    `again`: one more audit also where nothing else is asked. `say` is told, in sentences, what is done and why."""

    kept: Kept
    settings: Mapping[str, Any]
    progress: Progress
    say: Say
    again: bool = False
    jobs: int = 1

    def run(self, algorithm: str | None = None) -> bool:
        """Audit one algorithm of the folder (a slug or a name), or all; returns whether anything was done.

        Results and page are written after each. A Ctrl-C is a `KeyboardInterrupt`: what an audit has seen is kept,
        and the same call goes on with it. You get a `ScenarioError` for an algorithm that was never run.
        """
        done = False
        for entry in self.kept.entries(algorithm):
            if entry.get("run") is None or entry["run"].get("stopped"):
                self.say(f"{entry['name']} was never run to its end: netsim run, with this folder, does that.")
                continue
            if (spec := self._due(entry)) is not None:
                self.kept.check_code(entry["name"])
                self._audit(entry, spec)
                done = True
            elif self._unfinished(entry):
                self.say(f"{entry['name']}: what was to be seen from single views follows.")
                self.kept.check_code(entry["name"])
                self._rest(entry)
                done = True
        return done

    # ── what is to be done ──────────────────────────────────────────────────────────────────────────────
    def _due(self, entry: Results) -> AuditSpec | None:
        """The audit that is to be made of this algorithm; None where it is there already."""
        scenario, status, name = self.kept.scenario, entry.get("audit_status"), entry["name"]
        if status == NO_CLAIM:
            self.say(f"{name} claims no privacy: there is nothing to audit.")
            return None
        before = _before(entry, scenario)
        wanted = AuditSpec.model_validate(before.model_dump() | dict(self.settings))
        if status not in (DONE, REFUSED):
            return wanted
        made = several.audits(entry["audit"])
        if wanted == before and not self.again:
            trials: int | None = made[-1].get("trials")
            of = f" ({trials:,} transcripts of each world)" if trials else ""
            self.say(f"{name}: the audit is there{of}; --trials N or --again makes another one.")
            return None
        several.check(wanted.confidence, made)
        share = several.share(wanted.confidence, len(made))
        self.say(
            f"{name}: its audit has been read, so nothing may be added to it: what follows is a new one, with noise "
            f"of its own (draw {before.draw + 1}), number {len(made) + 1} of this folder, at confidence {share:.6g}: "
            f"all audits of the folder share the error probability that was asked for."
        )
        if (mark := self.kept.folder / f"audit-{entry['slug']}" / MARK).is_file():
            self.say(f"What an audit that was stopped has seen is in {mark.parent.name}.")
        return wanted.model_copy(update={"draw": before.draw + 1})

    def _unfinished(self, entry: Results) -> bool:
        """Whether the audit that is shown was stopped when its verdict was there, and its views were not."""
        audit: Results = entry.get("audit") or {}
        shown = not audit.get("later")
        wanted = _before(entry, self.kept.scenario).views != "none"
        return entry.get("audit_status") == DONE and shown and wanted and entry.get("views") is None

    # ── doing it ────────────────────────────────────────────────────────────────────────────────────────
    def _audit(self, entry: Results, spec: AuditSpec) -> None:
        read = entry.get("audit_status") in (DONE, REFUSED)
        made = several.audits(entry["audit"]) if read else []
        own = spec.model_copy(update={"confidence": several.share(spec.confidence, len(made))})
        asked = self.kept.scenario.model_copy(update={"audit": own})
        draft = copy.deepcopy(entry)
        judge = self._judge(asked, _draw(own.draw) if made else "")
        subject, activations = subject_of(judge.experiment, entry), int(entry["run"]["largest_activations"])
        found = judge.decide(draft, subject, activations)
        if draft["audit_status"] == NO_CLAIM:
            entry.update(draft)
            self._finish(asked)
            return
        draft["audit"] = {"confidence": own.confidence} | draft["audit"] | {"asked": spec.model_dump()}
        shown = self._commit(entry, draft, made, asked)
        if shown and found is not None:
            self._look(entry, judge, found)
        elif found is not None and own.views != "none":
            self.say(
                f"{entry['name']}: the folder shows the audit that refuted the claim, and the views of that one."
            )
        self._finish(asked)

    def _commit(self, entry: Results, draft: Results, made: list[Results], asked: Scenario) -> bool:
        """Write that the audit is done: it is read from here on, whatever is stopped after it. Returns whether it is
        the one to show."""
        with undisturbed():
            return self._committed(entry, draft, made, asked)

    def _committed(self, entry: Results, draft: Results, made: list[Results], asked: Scenario) -> bool:
        new: Results = draft["audit"]
        if not made:
            entry.update(draft | _unseen(entry))
            self._save(asked)
            self._write(entry)
            return True
        old: Results = entry["audit"]
        new["together"] = max(0.0, 1 - several.spent([*made, new]))
        old.setdefault("together", several.confidence_of(old))
        shown = several.decides(new, old)
        slug, draw = entry["slug"], _draw(new["asked"]["draw"])
        former = _draw(several.draw_of(old))
        if shown:
            new["earlier"] = [several.brief(one, former) if one is old else one for one in made]
            if new.get("witness"):
                new["witness"] = file_of(self.kept.folder, slug).name
            entry.update(draft | _unseen(entry))
        else:
            old["later"] = [*old.get("later", []), several.brief(new, "")]
        entry["audit"]["besides"] = several.besides(entry["audit"])
        self._save(asked)
        folder = self.kept.folder
        if shown:
            _move(folder / f"audit-{slug}.json", folder / f"audit-{slug}{former}.json")
            _move(file_of(folder, slug), file_of(folder, slug + former))
            _move(file_of(folder, slug + draw), file_of(folder, slug))
        else:
            write_json(folder / f"audit-{slug}{draw}.json", new)
        self._write(entry)
        return shown

    def _look(self, entry: Results, judge: Judge, asked: Asked) -> None:
        """What is told of the audit that is shown besides its verdict: the timeline, and what views see."""
        if entry.get("timeline") is not None:
            entry["timeline"] = self._timeline(entry, asked.subject, len(judge.experiment.subjects))
            self.kept.save()
        entry["views"] = judge.views(asked)

    def _timeline(self, entry: Results, subject: Subject, algorithms: int) -> Results:
        """The run's packets around what this audit found: the run is simulated again, to the same packets."""
        stage, diary = f"{subject.spec.name}: the run's packets again, for the timeline", Diary()
        simulation = replace(subject.simulation, measure=False)
        chronicle = Chronicle(simulated(simulation, stage, self.progress, diary), diary, algorithms)
        if (sought := chronicle.sought(entry)) is not None:
            again = Diary(0, 0, sought)
            simulated(replace(simulation, record="nothing", adversaries=()), stage, self.progress, again)
            chronicle.look(again)
        return chronicle.results(entry)["timeline"]

    def _rest(self, entry: Results) -> None:
        """What an audit that is done was stopped before."""
        spec = _before(entry, self.kept.scenario)
        own = spec.model_copy(update={"confidence": several.confidence_of(entry["audit"])})
        asked = self.kept.scenario.model_copy(update={"audit": own})
        judge = self._judge(asked)
        found = judge.asked(subject_of(judge.experiment, entry), int(entry["run"]["largest_activations"]))
        self._look(entry, judge, found)
        self._finish(asked)

    def _judge(self, asked: Scenario, draft: str = "") -> Judge:
        experiment = self.kept.experiment(asked)
        return Judge(experiment, self.kept.folder, self.progress, self.jobs, lambda: None, draft)

    def _write(self, entry: Results) -> None:
        """The file of the audit that is shown."""
        if entry["audit"] is not None:
            write_json(self.kept.folder / f"audit-{entry['slug']}.json", entry["audit"])

    def _save(self, asked: Scenario) -> None:
        results = self.kept.results
        if results["scenario"].get("audit") is None:
            results["scenario"]["audit"] = asked.model_dump()["audit"]
        if results["status"] in (INTERRUPTED, "running") and not missing(results):
            results["status"] = COMPLETE
        if "reproduction" in results or "figures" in results:  # not of one of several variants
            ran = Ran("", results, f"failed: {results['error']['type']}" if results.get("error") else None)
            results |= reproduced(self.kept.scenario, [ran], {"": {}}, results["status"] in (COMPLETE, FAILED))
        self.kept.save()

    def _finish(self, asked: Scenario) -> None:
        self._save(asked)
        results, folder = self.kept.results, self.kept.folder
        write_outputs(results, {None: results}, folder, self.kept.scenario.outputs, render, self.progress)


def refresh(folder: Path) -> None:
    """Bring the results and the page over all variants up to date with those of each."""
    results, runs = read_results(folder), dict[str, Results]()
    for variant in results.get("variants", []):
        if variant["name"] and (folder / variant["name"] / RESULTS).is_file():
            own = runs[variant["name"]] = read_results(folder / variant["name"])
            variant["algorithms"] = [summary(entry) for entry in own["algorithms"]]
            if own["status"] == COMPLETE and variant["status"] in (INTERRUPTED, PENDING):
                variant |= {
                    "status": COMPLETE,
                    "problem": own.get("problem"),
                    "report": f"{variant['name']}/report.html",
                }
    results["status"] = _status(results)
    scenario = validated(part(results, "scenario"), str(folder / RESULTS)).scenario
    ran = [ran_of(one["name"], one["status"], runs.get(one["name"], {}), one["error"]) for one in results["variants"]]
    fields = {one["name"]: one["fields"] for one in results["variants"]}
    results |= reproduced(scenario, ran, fields, results["status"] in (COMPLETE, FAILED))
    write_json(folder / RESULTS, results)
    write_outputs(results, runs, folder, scenario.outputs, render_study, Silent())


def _status(results: Results) -> str:
    """How far a study is that was interrupted or killed: done where each of its variants is."""
    each = {one["status"] for one in results["variants"]}
    if results["status"] not in (INTERRUPTED, "running") or each & {INTERRUPTED, PENDING, "running"}:
        return results["status"]
    return FAILED if FAILED in each else COMPLETE


def _before(entry: Results, scenario: Scenario) -> AuditSpec:
    """What was asked of the last audit that is there; the scenario's where there is none, the default without one."""
    made = several.audits(entry.get("audit"))
    if made and made[-1].get("asked"):
        return AuditSpec.model_validate(made[-1]["asked"])
    return scenario.audit or AuditSpec()


def _unseen(entry: Results) -> Results:
    """What another audit was shown with: it is made anew, or is not there."""
    timeline = entry.get("timeline")
    told: Results = {"views": None}
    return told if timeline is None else told | {"timeline": timeline | {"break": None, "budget": None}}


def _draw(draw: int) -> str:
    """What the names of the files of an audit that is not shown have."""
    return f".draw{draw}"


def _move(file: Path, to: Path) -> None:
    if file.is_file():
        file.replace(to)
