"""Audits of an existing results folder, continued or made anew, and the confidence that several of them share."""

import copy
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from attacks.audit.archive import MARK
from netsim.errors import ScenarioError
from netsim.transcript.packet_log import PacketLog
from scenarios.build.experiment import Subject
from scenarios.build.progress import Progress, Silent, simulated, undisturbed
from scenarios.papers.figures import reproduced
from scenarios.papers.outcome import Ran
from scenarios.render.page.report import render, render_study
from scenarios.render.sentences import missing
from scenarios.results.entries import Results as entries_Results
from scenarios.results.files import RESULTS, write_json
from scenarios.results.folder import RunFolder, read_results, subject_of
from scenarios.results.former_findings import BROKEN, DONE, NO_CLAIM, REFUSED
from scenarios.results.numbers import part
from scenarios.schema import Scenario
from scenarios.schema.load import validated
from scenarios.schema.scenario import AuditSpec
from scenarios.stages.audit import Judge
from scenarios.stages.outputs import write_outputs
from scenarios.stages.study import COMPLETE, FAILED, INTERRUPTED, PENDING, ran_of, summary
from scenarios.stages.timeline import Chronicle
from scenarios.stages.witness import file_of
from scenarios.stages.worlds import AuditOptions

Results = dict[str, Any]
LEAST = 0.5
"""The least confidence of all audits of a folder together; that of one cannot be less either."""


def audits(audit: Results | None) -> list[Results]:
    """All audits of a claim that were read, in the order in which they were made; `audit` is the one that decides."""
    if not audit:
        return []
    return [*audit.get("earlier", []), audit, *audit.get("later", [])]


def confidence_of(one: Results) -> float:
    """At which an audit was made, also one that could not judge."""
    asked: Results = one.get("asked") or {}
    found = one.get("confidence")
    return float(asked.get("confidence", 0.95) if found is None else found)


def draw_of(audit: Mapping[str, Any]) -> int:
    """Which noise an audit had."""
    asked: Results = audit.get("asked") or {}
    return int(asked.get("draw", 0))


def spent(made: Sequence[Results]) -> float:
    """The error probability that audits have spent."""
    return sum(1 - confidence_of(one) for one in made)


def share(confidence: float, before: int) -> float:
    """The confidence of an audit that was asked for at this confidence, where `before` audits were read."""
    return confidence if not before else 1 - (1 - confidence) / (before * (before + 1))


def check(confidence: float, made: Sequence[Results]) -> None:
    """A `ScenarioError` where another audit, asked for at this confidence, could not decide anything: all together
    would hold with a probability below `LEAST`."""
    together = 1 - spent(made) - (1 - share(confidence, len(made)))
    if made and together < LEAST:
        why = (
            f"the audits of this folder have spent {spent(made):.4g} of error probability: with one more they would "
            f"hold together at {max(0.0, together):.4g} only"
        )
        raise ScenarioError(
            "--confidence", confidence, why, "a higher confidence, or another folder with another seed"
        )


def decides(new: Results, old: Results | None) -> bool:
    """Whether a new audit is the one that the folder shows: unless the one that it shows broke the claim, and the new
    one does not."""
    return old is None or old.get("verdict") not in BROKEN or new.get("verdict") in BROKEN


def brief(audit: Mapping[str, Any], draft: str) -> Results:
    """An audit that another one is shown in place of. `draft` is what the names of its files have."""
    exact: Results = audit.get("epsilon_exact") or {}
    own = {"draw": draw_of(audit), "confidence": confidence_of(dict(audit))}
    told = ("trials", "verdict", "reason", "refused", "epsilon_audited", "first_violation", "together", "asked")
    ends = {key: exact.get(key) for key in ("lower", "estimate", "upper")} if exact else None
    witness = None if not audit.get("witness") else str(audit["witness"]).replace(".json", f"{draft}.json")
    return own | {key: audit.get(key) for key in told} | {"epsilon_exact": ends, "witness": witness}


def besides(audit: Results) -> str:
    """What is to be read together with what the audit that decides says."""
    parts: list[str] = []
    for key, when in (("earlier", "before"), ("later", "since")):
        if made := audit.get(key, []):
            count = "once" if len(made) == 1 else f"{len(made)} times"
            said = ", ".join(one["verdict"] or "refused" for one in made)
            parts.append(f"The claim was audited {count} {when}, with other noise: {said}.")
    if audit.get("later"):
        parts.append("No later audit takes a refutation back.")
    sure = f"This audit and all before it hold at once with probability {audit['together']:.4g} at least."
    return " ".join([*parts, sure]) if parts else ""


def remark(folder: Path, scenario: Scenario) -> str:
    """What to know where `folder` holds a finished audit of a scenario of this name; nothing where it holds none.

    An audit that was interrupted goes on, and is not meant.
    """
    try:
        found = read_results(folder)
    except (ScenarioError, OSError, ValueError):
        return ""
    if found.get("name") != scenario.name or found.get("status") not in (COMPLETE, FAILED) or not _audited(found):
        return ""
    seed = "the same seed" if found.get("seed") == scenario.seed else "another seed"
    return (
        f"{folder} holds an audit of {scenario.name} that is done: it is replaced, and this one has {seed}. Choosing "
        f"among such audits proves less than each says. `netsim audit {shlex.quote(str(folder))} --again`, with "
        f"--trials, --confidence or --games, makes one more that counts."
    )


def _audited(found: Mapping[str, Any]) -> bool:
    """Whether an algorithm, of whatever variant, has an audit that is done."""
    return any(
        entry.get("audit_status") == DONE
        for part in (found, *found.get("variants", []))
        for entry in part.get("algorithms", [])
    )


Say = Callable[[str], None]
ASKED = ("trials", "confidence", "chunk", "stop", "classifier", "views")
"""What may be asked of an audit anew: the pair and the claim stay the folder's."""


@dataclass(frozen=True)
class Reaudit:
    """Audits of a folder's algorithms. `settings` are fields of `audit` that are to be others than they were;
    `again`: one more audit also where nothing else is asked. `say` is told, in sentences, what is done and why."""

    kept: RunFolder
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
    def _due(self, entry: entries_Results) -> AuditSpec | None:
        """The audit that is to be made of this algorithm; None where it is there already."""
        scenario, status, name = self.kept.scenario, entry.get("audit_status"), entry["name"]
        if status == NO_CLAIM:
            self.say(f"{name} claims no privacy: there is nothing to audit.")
            return None
        before = _before(entry, scenario)
        wanted = AuditSpec.model_validate(before.model_dump() | dict(self.settings))
        if status not in (DONE, REFUSED):
            return wanted
        made = audits(entry["audit"])
        if wanted == before and not self.again:
            trials: int | None = made[-1].get("trials")
            of = f" ({trials:,} transcripts of each world)" if trials else ""
            self.say(f"{name}: the audit is there{of}; --trials N or --again makes another one.")
            return None
        check(wanted.confidence, made)
        part = share(wanted.confidence, len(made))
        self.say(
            f"{name}: its audit has been read, so nothing may be added to it: what follows is a new one, with noise "
            f"of its own (draw {before.draw + 1}), number {len(made) + 1} of this folder, at confidence {part:.6g}: "
            f"all audits of the folder share the error probability that was asked for."
        )
        if (mark := self.kept.folder / f"audit-{entry['slug']}" / MARK).is_file():
            self.say(f"What an audit that was stopped has seen is in {mark.parent.name}.")
        return wanted.model_copy(update={"draw": before.draw + 1})

    def _unfinished(self, entry: entries_Results) -> bool:
        """Whether the audit that is shown was stopped when its verdict was there, and its views were not."""
        audit: entries_Results = entry.get("audit") or {}
        shown = not audit.get("later")
        wanted = _before(entry, self.kept.scenario).views != "none"
        return entry.get("audit_status") == DONE and shown and wanted and entry.get("views") is None

    # ── doing it ────────────────────────────────────────────────────────────────────────────────────────
    def _audit(self, entry: entries_Results, spec: AuditSpec) -> None:
        read = entry.get("audit_status") in (DONE, REFUSED)
        made = audits(entry["audit"]) if read else []
        own = spec.model_copy(update={"confidence": share(spec.confidence, len(made))})
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

    def _commit(
        self, entry: entries_Results, draft: entries_Results, made: list[entries_Results], asked: Scenario
    ) -> bool:
        """Write that the audit is done: it is read from here on, whatever is stopped after it. Returns whether it is
        the one to show."""
        with undisturbed():
            return self._committed(entry, draft, made, asked)

    def _committed(
        self, entry: entries_Results, draft: entries_Results, made: list[entries_Results], asked: Scenario
    ) -> bool:
        new: entries_Results = draft["audit"]
        if not made:
            entry.update(draft | _without_old_views(entry))
            self._save(asked)
            self._write(entry)
            return True
        old: entries_Results = entry["audit"]
        new["together"] = max(0.0, 1 - spent([*made, new]))
        old.setdefault("together", confidence_of(old))
        shown = decides(new, old)
        slug, draw = entry["slug"], _draw(new["asked"]["draw"])
        former = _draw(draw_of(old))
        if shown:
            new["earlier"] = [brief(one, former) if one is old else one for one in made]
            if new.get("witness"):
                new["witness"] = file_of(self.kept.folder, slug).name
            entry.update(draft | _without_old_views(entry))
        else:
            old["later"] = [*old.get("later", []), brief(new, "")]
        entry["audit"]["besides"] = besides(entry["audit"])
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

    def _look(self, entry: entries_Results, judge: Judge, asked: AuditOptions) -> None:
        """What is told of the audit that is shown besides its verdict: the timeline, and what views see."""
        if entry.get("timeline") is not None:
            entry["timeline"] = self._timeline(entry, asked.subject, len(judge.experiment.subjects))
            self.kept.save()
        entry["views"] = judge.views(asked)

    def _timeline(self, entry: entries_Results, subject: Subject, algorithms: int) -> entries_Results:
        """The run's packets around what this audit found: the run is simulated again, to the same packets."""
        stage, diary = f"{subject.spec.name}: the run's packets again, for the timeline", PacketLog()
        simulation = replace(subject.simulation, measure=False)
        chronicle = Chronicle(simulated(simulation, stage, self.progress, diary), diary, algorithms)
        if (sought := chronicle.sought(entry)) is not None:
            again = PacketLog(0, 0, sought)
            simulated(replace(simulation, record="nothing", adversaries=()), stage, self.progress, again)
            chronicle.look(again)
        return chronicle.results(entry)["timeline"]

    def _rest(self, entry: entries_Results) -> None:
        """What an audit that is done was stopped before."""
        spec = _before(entry, self.kept.scenario)
        own = spec.model_copy(update={"confidence": confidence_of(entry["audit"])})
        asked = self.kept.scenario.model_copy(update={"audit": own})
        judge = self._judge(asked)
        found = judge.asked(subject_of(judge.experiment, entry), int(entry["run"]["largest_activations"]))
        self._look(entry, judge, found)
        self._finish(asked)

    def _judge(self, asked: Scenario, draft: str = "") -> Judge:
        experiment = self.kept.experiment(asked)
        return Judge(experiment, self.kept.folder, self.progress, self.jobs, lambda: None, draft)

    def _write(self, entry: entries_Results) -> None:
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
    results, runs = read_results(folder), dict[str, entries_Results]()
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


def _status(results: entries_Results) -> str:
    """How far a study is that was interrupted or killed: done where each of its variants is."""
    each = {one["status"] for one in results["variants"]}
    if results["status"] not in (INTERRUPTED, "running") or each & {INTERRUPTED, PENDING, "running"}:
        return results["status"]
    return FAILED if FAILED in each else COMPLETE


def _before(entry: entries_Results, scenario: Scenario) -> AuditSpec:
    """What was asked of the last audit that is there; the scenario's where there is none, the default without one."""
    made = audits(entry.get("audit"))
    if made and made[-1].get("asked"):
        return AuditSpec.model_validate(made[-1]["asked"])
    return scenario.audit or AuditSpec()


def _without_old_views(entry: entries_Results) -> entries_Results:
    """What another audit was shown with: it is made anew, or is not there."""
    timeline = entry.get("timeline")
    told: entries_Results = {"views": None}
    return told if timeline is None else told | {"timeline": timeline | {"break": None, "budget": None}}


def _draw(draw: int) -> str:
    """What the names of the files of an audit that is not shown have."""
    return f".draw{draw}"


def _move(file: Path, to: Path) -> None:
    if file.is_file():
        file.replace(to)
