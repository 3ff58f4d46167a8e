"""The audit of a results folder gone on with, or made anew, without running anything else again.

What may be added. An audit that was stopped has been read by nobody: it goes on with the transcripts that it has, and
may be given more of them than were asked for, since nothing that was seen decided it. An audit that is done has been
read, and its intervals are those of a fixed number of transcripts: to add some because of what it said would break
their confidence. More is then a new audit with noise of its own (`audit.draw`), which takes nothing from those
before. Each holds with its own confidence; that all of k hold at once has probability 1 − Σ(1 − confidence) at least.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attacks.audit.archive import MARK
from scenarios.describe import Results
from scenarios.experiment import Experiment
from scenarios.findings import DONE, NO_CLAIM, REFUSED
from scenarios.jsonfile import write_json
from scenarios.judging import Judge
from scenarios.kept import RESULTS, Kept, read_results, subject_of
from scenarios.report import render
from scenarios.report.formats import part
from scenarios.report.study import render_study
from scenarios.report.words import missing
from scenarios.schema import Scenario
from scenarios.schema.outputs import OutputsSpec
from scenarios.schema.scenario import AuditSpec
from scenarios.study import summary
from scenarios.telling import Progress, Silent
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
            if entry.get("run") is None:
                self.say(f"{entry['name']} was never run to its end: netsim run, with this folder, does that.")
                continue
            if (spec := self._due(entry)) is not None:
                self._audit(entry, spec)
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
        if wanted == before and not self.again:
            audit: Results = entry["audit"] or {}
            trials: int | None = audit.get("trials")
            of = f" ({trials:,} transcripts of each world)" if trials else ""
            self.say(f"{name}: the audit is there{of}; --trials N or --again makes another one.")
            return None
        number = len(entry["audit"].get("earlier", [])) + 1
        self.say(
            f"{name}: its audit has been read, so nothing may be added to it: what follows is a new one, with noise "
            f"of its own (draw {before.draw + 1}), number {number + 1} of this folder."
        )
        if (mark := self.kept.folder / f"audit-{entry['slug']}" / MARK).is_file():
            self.say(f"What an audit that was stopped has seen is in {mark.parent.name}.")
        return wanted.model_copy(update={"draw": before.draw + 1})

    # ── doing it ────────────────────────────────────────────────────────────────────────────────────────
    def _audit(self, entry: Results, spec: AuditSpec) -> None:
        asked = self.kept.scenario.model_copy(update={"audit": spec})
        experiment = self._experiment(asked)
        draft = copy.deepcopy(entry)
        subject = subject_of(experiment, entry)
        judge = Judge(experiment, self.kept.folder, self.progress, self.jobs, lambda: None)
        judge.judge(draft, subject, int(entry["run"]["largest_activations"]))
        if draft["audit"] is not None:
            draft["audit"] |= _told(entry, spec)
            if "together" in draft["audit"] and "reason" in draft["audit"]:
                draft["audit"]["reason"] += _besides(draft["audit"])
            write_json(self.kept.folder / f"audit-{entry['slug']}.json", draft["audit"])
        entry.update(draft)
        self._finish(asked)

    def _experiment(self, asked: Scenario) -> Experiment:
        return self.kept.experiment(asked)

    def _finish(self, asked: Scenario) -> None:
        results, folder = self.kept.results, self.kept.folder
        if results["scenario"].get("audit") is None:
            results["scenario"]["audit"] = asked.model_dump()["audit"]
        if results["status"] in ("interrupted", "running") and not missing(results):
            results["status"] = "complete"
        self.kept.save()
        write_outputs(results, {None: results}, folder, self.kept.scenario.outputs, render, self.progress)


def refresh(folder: Path) -> None:
    """Bring the results and the page over all variants up to date with those of each."""
    results, runs = read_results(folder), dict[str, Results]()
    for variant in results.get("variants", []):
        if (folder / variant["name"] / RESULTS).is_file():
            own = runs[variant["name"]] = read_results(folder / variant["name"])
            variant["algorithms"] = [summary(entry) for entry in own["algorithms"]]
    write_json(folder / RESULTS, results)
    outputs = OutputsSpec.model_validate(part(results, "scenario").get("outputs") or {})
    write_outputs(results, runs, folder, outputs, render_study, Silent())


def _before(entry: Results, scenario: Scenario) -> AuditSpec:
    """What was asked of the audit that is there; the scenario's where there is none, and the default without one."""
    audit: Results = entry.get("audit") or {}
    if "asked" in audit:
        return AuditSpec.model_validate(audit["asked"])
    return scenario.audit or AuditSpec()


def _told(entry: Results, spec: AuditSpec) -> Results:
    """What is added to an audit that was made of a folder: what was asked of it, and what came before."""
    audit: Results = entry.get("audit") or {}
    earlier: list[Results] = list(audit.get("earlier", []))
    if entry.get("audit_status") in (DONE, REFUSED):
        earlier.append(_summary(audit))
    told: Results = {"asked": spec.model_dump()}
    if not earlier:
        return told
    wrong = sum(1 - float(one["confidence"]) for one in earlier) + 1 - spec.confidence
    return told | {"earlier": earlier, "together": max(0.0, 1 - wrong)}


def _besides(audit: Results) -> str:
    """What is to be read together with what the last of several audits says."""
    count, sure = len(audit["earlier"]), float(audit["together"])
    before = "once" if count == 1 else f"{count} times"
    said = ", ".join(one["verdict"] or "refused" for one in audit["earlier"])
    return (
        f" (The claim was audited {before} before, with other noise: {said}. Each audit holds at its own confidence, "
        f"all at once with probability {sure:.4g} at least.)"
    )


def _summary(audit: Results) -> Results:
    """An audit that was read before."""
    exact: Results = audit.get("epsilon_exact") or {}
    asked: Results = audit.get("asked") or {}
    return {
        "draw": asked.get("draw", 0),
        "trials": audit.get("trials"),
        "confidence": audit.get("confidence", asked.get("confidence", 0.95)),
        "verdict": audit.get("verdict"),
        "refused": audit.get("refused"),
        "epsilon_exact": {key: exact.get(key) for key in ("lower", "estimate", "upper")} if exact else None,
        "epsilon_audited": audit.get("epsilon_audited"),
    }
