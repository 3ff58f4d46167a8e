"""Audits of an existing results folder, continued or made anew, and the confidence that several of them share."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from attacks.audit.archive import MARK
from attacks.audit.verdict import BROKEN
from netsim.errors import ScenarioError
from netsim.interrupts import undisturbed
from netsim.settings import Recording
from netsim.transcript.packet_log import PacketLog
from scenarios.build.duration import Progress, simulated
from scenarios.build.experiment import Subject
from scenarios.papers.figures import reproduced
from scenarios.papers.outcome import Ran
from scenarios.render.sentences import missing
from scenarios.results.audit import Audit, AuditRefused, AuditResult, EpsilonInterval, OtherAudit
from scenarios.results.base import Setting, taken, write_text
from scenarios.results.findings import DONE, NO_CLAIM, REFUSED
from scenarios.results.folder import RunFolder, read_results
from scenarios.results.tree import AlgorithmResult, dumps
from scenarios.schema import Scenario
from scenarios.schema.scenario import AuditSpec, ViewsSpec
from scenarios.stages.audit import Judge, audit_file
from scenarios.stages.outputs import complete, is_behind, write_outputs
from scenarios.stages.timeline import Chronicle
from scenarios.stages.witness import file_of
from scenarios.stages.worlds import AuditOptions

LEAST = 0.5
"""Least confidence of all audits of a folder together, and of one."""
Made = Audit | OtherAudit
"""An audit that was read: the one that the folder shows, or another."""


def _audits(audit: Audit | None) -> list[Made]:
    """All audits of a claim that were read, in the order in which they were made; `audit` is the one shown."""
    return [] if audit is None else [*audit.earlier, audit, *audit.later]


def _confidence_of(one: Made) -> float:
    """Confidence at which an audit was made, also one that could not judge."""
    if one.confidence is not None:
        return one.confidence
    return 0.95 if one.options is None else one.options.confidence


def error_spent(made: Sequence[Made]) -> float:
    """Error probability that audits have spent."""
    return sum(1 - _confidence_of(one) for one in made)


def confidence_share(confidence: float, before: int) -> float:
    """Confidence of an audit requested at this confidence, where `before` audits were read."""
    return confidence if not before else 1 - (1 - confidence) / (before * (before + 1))


def _check(confidence: float, made: Sequence[Made]) -> None:
    """A `ScenarioError` where another audit at this confidence could not decide anything: all together would hold
    with a probability below `LEAST`."""
    together = 1 - error_spent(made) - (1 - confidence_share(confidence, len(made)))
    if made and together < LEAST:
        why = (
            f"the audits of this folder have spent {error_spent(made):.4g} of error probability: with one more they "
            f"would hold together at {max(0.0, together):.4g} only"
        )
        raise ScenarioError(
            "--confidence", confidence, why, "a higher confidence, or another folder with another seed"
        )


def _brief(audit: Audit, draft: str) -> OtherAudit:
    """An audit that another one is shown in place of; `draft` is in the names of its files."""
    witness = audit.witness if isinstance(audit, AuditResult) else None
    return taken(
        OtherAudit,
        audit,
        draw=_draw_of(audit),
        confidence=_confidence_of(audit),
        epsilon_exact=taken(EpsilonInterval, audit.epsilon_exact) if isinstance(audit, AuditResult) else None,
        witness=witness.replace(".json", f"{draft}.json") if witness else None,
    )


def _besides(audit: Audit) -> str:
    """Sentences on the other audits, to be read together with the one shown."""
    parts: list[str] = []
    for made, when in ((audit.earlier, "before"), (audit.later, "since")):
        if made:
            count = "once" if len(made) == 1 else f"{len(made)} times"
            verdicts = ", ".join(one.verdict or "refused" for one in made)
            parts.append(f"The claim was audited {count} {when}, with other noise: {verdicts}.")
    if audit.later and _verdict(audit) in BROKEN:
        parts.append("No later audit takes a refutation back.")
    elif audit.later:
        parts.append("Shown is the one with the most transcripts, whatever they found, so its confidence is its own.")
    sure = f"This audit and all before it hold at once with probability {audit.joint_confidence:.4g} at least."
    return " ".join([*parts, sure]) if parts else ""


def _stays(old: Audit | None, new: Audit) -> bool:
    """Whether a folder goes on showing an audit, not the `new` one: it refuted the claim, or it has more transcripts.

    Neither looks at the numbers: the larger of two lower bounds would hold at their joint confidence only.
    """
    if not isinstance(old, AuditResult) or _verdict(new) in BROKEN:
        return False
    more = not isinstance(new, AuditResult) or new.trials < old.trials
    return old.verdict in BROKEN or (more and (_verdict(new) != "proven" or old.verdict == "proven"))


def _verdict(audit: Audit) -> str | None:
    return audit.verdict if isinstance(audit, AuditResult) else None


def _draw_of(audit: Audit) -> int:
    return 0 if audit.options is None else audit.options.draw


def remark(folder: Path, scenario: Scenario) -> str:
    """A caution where `folder` holds a finished audit of a scenario of this name; empty where it holds none.

    An audit that was interrupted goes on, and is not meant.
    """
    try:
        found = read_results(folder)
    except ScenarioError:
        return ""
    entries = [*found.algorithms, *(entry for variant in found.variants or () for entry in variant.algorithms)]
    done = found.status in ("complete", "failed") and any(entry.audit_status == DONE for entry in entries)
    if found.name != scenario.name or not done:
        return ""
    seed = "the same seed" if found.seed == scenario.seed else "another seed"
    return (
        f"{folder} holds an audit of {scenario.name} that is done: it is replaced, and this one has {seed}. Choosing "
        f"among such audits proves less than each says. `netsim audit {shlex.quote(str(folder))} --again`, with "
        f"--trials, --confidence or --games, makes one more that counts."
    )


@dataclass(frozen=True)
class Reaudit:
    """Audits of a folder's algorithms.

    `settings` are fields of `audit` that are to be others than they were; `again`: one more audit also where all are
    the same. `say` gets sentences on what is done and why.
    """

    kept: RunFolder
    settings: Mapping[str, Setting]
    progress: Progress
    say: Callable[[str], None]
    again: bool = False
    jobs: int = 1

    def run(self, algorithm: str | None = None) -> bool:
        """Audit one algorithm of the folder (a slug or a name), or all; returns whether anything was done.

        Results and page are written after each. A Ctrl-C is a `KeyboardInterrupt`: transcripts of the audit are kept,
        and the same call continues it. You get a `ScenarioError` for an algorithm that was never run.
        """
        done, killed = False, is_behind(self.kept.folder)
        for entry in self.kept.entries(algorithm):
            if entry.run is None or entry.run.stopped:
                self.say(f"{entry.name} was never run to its end: netsim run, with this folder, does that.")
            elif (spec := self._due(entry)) is not None:
                self.kept.check_code(entry.name)
                self._audit(entry, entry.run.largest_activations, spec)
                done = True
            elif entry.audit_status == DONE and entry.audit is not None and not entry.audit.later:
                spec = _before(entry, self.kept.scenario)
                seen = spec.seen_from
                looked = (seen.game == "none" or entry.views) and (not seen.prices or entry.prices)
                if looked and not (killed and entry.timeline):
                    continue
                # The audit that is shown was stopped when its verdict was there, and what is seen of it was not.
                self.say(f"{entry.name}: what is seen of its audit from elsewhere follows.")
                self.kept.check_code(entry.name)
                own = spec.model_copy(update={"confidence": _confidence_of(entry.audit)})
                scenario = self.kept.scenario.model_copy(update={"audit": own})
                judge, subject = self._judge(scenario, entry)
                self._look(entry, judge, judge.options(subject, entry.run.largest_activations))
                self._finish(scenario)
                done = True
        self._mend()
        return done

    def _mend(self) -> None:
        """Write what comes after results.json where it is not there: a command was killed between the two."""
        folder, results = self.kept.folder, self.kept.results
        for entry in results.algorithms:
            text = None if entry.audit is None else dumps(entry.audit)
            path = audit_file(folder, entry.slug)
            if text is not None and (not path.is_file() or path.read_text(encoding="utf-8").strip() != text):
                write_text(path, text)
        complete(results, folder, self.progress)

    # ── what is to be done ──────────────────────────────────────────────────────────────────────────────
    def _due(self, entry: AlgorithmResult) -> AuditSpec | None:
        """Options of the audit to be made of this algorithm; None where it is there already."""
        status, name = entry.audit_status, entry.name
        if status == NO_CLAIM:
            self.say(f"{name} claims no privacy: there is nothing to audit.")
            return None
        before = _before(entry, self.kept.scenario)
        wanted = AuditSpec.model_validate(before.model_dump() | dict(self.settings))
        if status not in (DONE, REFUSED):
            return wanted
        made = _audits(entry.audit)
        if wanted == before and not self.again:
            last = made[-1]
            trials = None if isinstance(last, AuditRefused) else last.trials
            of = f" ({trials:,} transcripts of each world)" if trials else ""
            self.say(f"{name}: the audit is there{of}; --trials N or --again makes another one.")
            return None
        _check(wanted.confidence, made)
        part = confidence_share(wanted.confidence, len(made))
        self.say(
            f"{name}: its audit has been read, so nothing may be added to it: what follows is a new one, with noise "
            f"of its own (draw {before.draw + 1}), number {len(made) + 1} of this folder, at confidence {part:.6g}: "
            f"all audits of the folder share the error probability that was asked for."
        )
        if (mark := self.kept.folder / f"audit-{entry.slug}" / MARK).is_file():
            self.say(f"What an audit that was stopped has seen is in {mark.parent.name}.")
        return wanted.model_copy(update={"draw": before.draw + 1})

    # ── doing it ────────────────────────────────────────────────────────────────────────────────────────
    def _audit(self, entry: AlgorithmResult, activations: int, spec: AuditSpec) -> None:
        made = _audits(entry.audit) if entry.audit_status in (DONE, REFUSED) else []
        own = spec.model_copy(update={"confidence": confidence_share(spec.confidence, len(made))})
        scenario = self.kept.scenario.model_copy(update={"audit": own})
        judge, subject = self._judge(scenario, entry, f".draw{own.draw}" if made else "")
        found, options = judge.decide(entry, subject, activations)
        if found.audit is None or found.audit_status == NO_CLAIM:
            self.kept.put(found)
            self._finish(scenario)
            return
        found = replace(found, audit=replace(found.audit, confidence=own.confidence, options=spec))
        # The audit has been read from here on, whatever is stopped after it.
        with undisturbed():
            found, shown = self._committed(entry, found, made, scenario)
        if shown and options is not None:
            self._look(found, judge, options)
        elif options is not None and own.seen_from != ViewsSpec():
            self.say(f"{entry.name}: the folder goes on showing the audit that it showed, and the views of that one.")
        self._finish(scenario)

    def _committed(
        self, before: AlgorithmResult, found: AlgorithmResult, made: list[Made], scenario: Scenario
    ) -> tuple[AlgorithmResult, bool]:
        """Write that the audit is done; the algorithm's results, and whether the new audit is the one shown."""
        old, new, folder, slug = before.audit, found.audit, self.kept.folder, found.slug
        assert new is not None
        shown = not made or not _stays(old, new)
        draft = former_draft = ""
        if made and old is not None:
            draft, former_draft = f".draw{_draw_of(new)}", f".draw{_draw_of(old)}"
            new = replace(new, joint_confidence=max(0.0, 1 - error_spent([*made, new])))
            if old.joint_confidence is None:
                old = replace(old, joint_confidence=_confidence_of(old))
            if shown:
                earlier = tuple(one if isinstance(one, OtherAudit) else _brief(one, former_draft) for one in made)
                new = replace(new, earlier=earlier)
                if isinstance(new, AuditResult) and new.witness:
                    new = replace(new, witness=file_of(folder, slug).name)
                found = replace(found, audit=replace(new, besides=_besides(new)))
            else:
                old = replace(old, later=(*old.later, _brief(new, "")))
                found = replace(before, audit=replace(old, besides=_besides(old)))
        if shown:  # without the views and the timeline's marks of another audit
            timeline = found.timeline and replace(found.timeline, break_=None, budget=None)
            found = replace(found, views=None, prices=None, timeline=timeline)
        self.kept.put(found)
        self._save(scenario)
        if shown and former_draft:
            _move(audit_file(folder, slug), audit_file(folder, slug + former_draft))
            _move(file_of(folder, slug), file_of(folder, slug + former_draft))
            _move(file_of(folder, slug + draft), file_of(folder, slug))
        elif not shown:
            write_text(audit_file(folder, slug + draft), dumps(new))
        write_text(audit_file(folder, slug), dumps(found.audit))
        return found, shown

    def _look(self, entry: AlgorithmResult, judge: Judge, options: AuditOptions) -> None:
        """Timeline and views of the audit that is shown: the run is simulated again, to the same packets."""
        if entry.timeline is not None:
            stage, log = f"{options.subject.spec.name}: the run's packets again, for the timeline", PacketLog()
            simulation = replace(options.subject.simulation, recording=Recording(measure=False))
            run = simulated(simulation, stage, self.progress, log)
            chronicle = Chronicle(run, log, len(judge.experiment.subjects))
            entry = replace(entry, timeline=chronicle.audited(entry, simulation, stage, self.progress))
            self.kept.put(entry)
            self.kept.save()
        self.kept.put(judge.looked(entry, options))

    def _judge(self, scenario: Scenario, entry: AlgorithmResult, draft: str = "") -> tuple[Judge, Subject]:
        experiment = self.kept.experiment(scenario)
        judge = Judge(experiment, self.kept.folder, self.progress, self.jobs, lambda _: None, draft)
        return judge, experiment.subject(entry.name)

    def _save(self, scenario: Scenario) -> None:
        results = self.kept.results
        if results.scenario.audit is None:
            results = replace(results, scenario=results.scenario.model_copy(update={"audit": scenario.audit}))
        if results.status in ("interrupted", "running") and not missing(results):
            results = replace(results, status="complete")
        if results.reproduction is not None or results.figures is not None:  # not of one of several variants
            ran = Ran("", results, f"failed: {results.error.type}" if results.error else None)
            results = reproduced(results, [ran], {"": {}}, results.status in ("complete", "failed"))
        self.kept.results = results
        self.kept.save()

    def _finish(self, scenario: Scenario) -> None:
        self._save(scenario)
        results = self.kept.results
        write_outputs(results, {None: results}, self.kept.folder, self.progress)


def _before(entry: AlgorithmResult, scenario: Scenario) -> AuditSpec:
    """Options of the last audit that is there; the scenario's where there is none, the default without one."""
    made = _audits(entry.audit)
    return (made[-1].options if made else None) or scenario.audit or AuditSpec()


def _move(file: Path, to: Path) -> None:
    if file.is_file():
        file.replace(to)
