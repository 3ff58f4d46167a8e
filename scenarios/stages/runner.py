"""One scenario run stage by stage into a folder; an interrupted run keeps what it had."""

import json
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from attacks.inference import infer, inferred
from attacks.reconstruction import Case, Evidence, Known
from attacks.reconstruction.one_record import OneRecord
from attacks.score import GradientScore, score_gradients, score_image
from netsim.errors import AttackError, DeadlockError, ScenarioError, TranscriptError
from netsim.running import Running
from netsim.settings import Recording
from netsim.simulation import Run, Simulation
from netsim.transcript.packet_log import PacketKey, PacketLog
from scenarios.build.experiment import Experiment, Subject
from scenarios.build.progress import EVERY, Progress, Silent, estimates, simulated
from scenarios.papers import outcome as names
from scenarios.papers.figures import reproduced, requested_numbers
from scenarios.papers.outcome import Ran
from scenarios.render.page.report import render
from scenarios.results import entries as describe
from scenarios.results import former as former_results
from scenarios.results import former_measures as progress
from scenarios.results import former_measures as traffic
from scenarios.results.entries import Results
from scenarios.results.files import MANIFEST, RESULTS, write_json
from scenarios.results.former_measures import leakage, nearest
from scenarios.results.loss_breakdown import budget
from scenarios.results.tree import AlgorithmResult
from scenarios.schema import LinkSpec, Scenario
from scenarios.schema import own_code as awaits
from scenarios.schema.load import Located
from scenarios.stages import outputs as former
from scenarios.stages.audit import Judge
from scenarios.stages.inference import inference_stage
from scenarios.stages.outputs import TranscriptFiles, write_outputs
from scenarios.stages.reconstruction import Rebuilding
from scenarios.stages.timeline import Chronicle

FLUSH = 1.0
"""Seconds of real time after which what was heard is on disk, however little it is."""


def run_scenario(
    source: Scenario | Located,
    folder: Path,
    *,
    command: str = "",
    progress: Progress | None = None,
    watch: Callable[[Running], None] | None = None,
    jobs: int = 1,
    part: bool = False,
    page: bool = True,
) -> Results:
    """Run all of a scenario; returns the results, which are in `folder` too (results.json, report.html, …).

    You get a `ScenarioError` before time 0 for a scenario whose parts do not fit, and for a folder that cannot be
    written, holds something else or the results of a scenario of another name; nothing is written then. A Ctrl-C
    ends the run early: what was done is in the folder, marked "interrupted", and is returned. An error ends it
    too: the folder has what was done, marked "failed", and the error is raised. `watch` is called some times a
    second with the simulation that runs, those of audits excepted. `jobs` processes share an audit's simulations
    (−1: as many as there are cores); the numbers are the same. `part`: this is one of several variants, so that
    nothing is said of what they reproduce together (`scenarios.stages.study` runs a scenario with variants). Without
    `page` there is no report.html.
    """
    if jobs == 0 or jobs < -1:
        raise ScenarioError("jobs", jobs, "not a number of processes", "-1 (one per core), or >= 1")
    experiment = checked(source, part)
    prepare(folder, None if part else experiment.scenario.name)
    return _Session(experiment, folder, command, progress or Silent(), watch, jobs, part, page).run()


def checked(source: Scenario | Located, part: bool = False, progress: Progress | None = None) -> Experiment:
    """Everything that can be known to be wrong before time 0 is a `ScenarioError` here; nothing runs.

    `progress` advances by the parts of the experiment (`scenarios.build.experiment.parts_of`).
    """
    scenario = source.scenario if isinstance(source, Located) else source
    try:
        if not part:
            names.check_alone(scenario)
        return Experiment.of(scenario, progress)
    except ScenarioError as error:
        raise source.locate(error) if isinstance(source, Located) else error from None


def prepare(folder: Path, name: str | None) -> None:
    """Make a results folder. You get a `ScenarioError` where none can be, or where files of others would be mixed in,
    and where it holds the results of a scenario that is not of this `name` (None: of any name).

    A former results folder, one with a manifest, is written over: what its run left is removed.
    """
    former_name = None if name is None else holder(folder)
    if former_name is not None and former_name != name:
        raise ScenarioError(
            "folder", str(folder), f"holds the results of another scenario, {former_name!r}",
            "a new or empty folder, or remove that one first",
        )  # fmt: skip
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()) and not (folder / MANIFEST).is_file():
            raise ScenarioError(
                "folder", str(folder), "holds files that are no results of netsim",
                "a new or empty folder, or a former results folder",
            )  # fmt: skip
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        why = error.strerror or str(error)
        raise ScenarioError("folder", str(folder), f"cannot be written ({why})", "a folder to write to") from None


def holder(folder: Path) -> str | None:
    """The name of the scenario whose results a folder holds; None where it holds none, or nobody can read whose."""
    try:
        manifest: Results = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        name = manifest["scenario"]["name"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return name if isinstance(name, str) else None


class _Session:
    """One scenario while it runs."""

    def __init__(
        self,
        experiment: Experiment,
        folder: Path,
        command: str,
        progress: Progress,
        watch: Callable[[Running], None] | None,
        jobs: int,
        part: bool = False,
        page: bool = True,
    ) -> None:
        self.experiment, self.folder, self.progress, self.jobs = experiment, folder, progress, jobs
        self.part, self.page = part, page
        self.watch = watch
        self.results = describe.header(experiment, command)

    def run(self) -> Results:
        write_json(self.folder / MANIFEST, describe.manifest(self.experiment, self.results))
        former.clear(self.folder, describe.slugs(self.experiment))
        self._save("running")
        try:
            for subject in self.experiment.subjects:
                self._subject(subject)
        except KeyboardInterrupt:
            self._finish("interrupted")
        except Exception as error:
            hint = awaits.await_hint(error) or _hint(error, self.experiment.scenario)
            if hint:
                error.add_note(hint)
            self.results["error"] = {"type": type(error).__name__, "message": str(error), "hint": hint}
            self._finish("failed")
            raise
        else:
            self._finish("complete")
        return self.results

    def _finish(self, status: str) -> None:
        if not self.part:
            error = self.results["error"]
            ran = Ran("", self.results, f"failed: {error['type']}" if error else None)
            self.results |= reproduced(self.experiment.scenario, [ran], {"": {}}, status != "interrupted")
        self._save(status)
        if not self.page:
            return
        outputs = self.experiment.scenario.outputs
        write_outputs(self.results, {None: self.results}, self.folder, outputs, render, self.progress)

    def _save_so_far(self) -> None:
        self._save("running")

    def _save(self, status: str) -> None:
        self.results["status"] = status
        write_json(self.folder / RESULTS, self.results)

    def _subject(self, subject: Subject) -> None:
        entry = describe.subject(
            subject, self.experiment.pair is not None, [one["slug"] for one in self.results["algorithms"]]
        )
        experiment = self.experiment
        claimed = budget(subject.simulation, experiment.adjacency, subject.delta, experiment.scenario)
        entry["budget"] = claimed and former_results.plain(claimed)
        self.results["algorithms"].append(entry)
        keeper = self._keeper(entry, subject.simulation)
        try:
            self._stages(subject, entry, keeper)
        finally:
            keeper.end()

    def _stages(self, subject: Subject, entry: Results, keeper: TranscriptFiles) -> None:
        run, diary = self._run(subject, entry, keeper)
        chronicle = self._keep(entry, run, diary, keeper)
        if run.interrupted:
            raise KeyboardInterrupt
        if self.experiment.scenario.attacks.gradients:
            entry |= self._gradients(subject, run)
        if self.experiment.scenario.attacks.traffic:
            entry["traffic_analysis"] = traffic.analysis(run, diary)
        self._save("running")
        if subject.attacked is not None:
            self._rebuilt(entry, subject, subject.attacked, keeper)
        if self.experiment.pair is not None:

            def keep(found: AlgorithmResult) -> None:
                entry.update(former_results.judged(found))
                self._save("running")

            judge = Judge(self.experiment, self.folder, self.progress, self.jobs, keep)
            judged = judge.judge(former_results.algorithm_of(entry), subject, run.largest_activations)
            entry |= former_results.judged(judged)
            if (sought := chronicle.sought(entry)) is not None:
                chronicle.look(self._again(subject, sought))
            entry |= chronicle.results(entry)
            self._save("running")

    # ── one run ─────────────────────────────────────────────────────────────────────────────────────
    def _run(self, subject: Subject, entry: Results, keeper: TranscriptFiles) -> tuple[Run, PacketLog]:
        """The run, and what became of its packets; of one that fails, what there is of it is kept in `entry`."""
        diary, left = PacketLog(), list[Run]()
        try:
            simulation, stage = keeper.begin(subject.simulation), f"{subject.spec.name}: running"
            return self._watched(simulation, stage, diary, left.append), diary
        except Exception as error:
            with suppress(OSError, TranscriptError):
                for run in left:
                    self._keep(entry, run, diary, keeper, "failed")
            if not left:
                keeper.rescue()
            for words in keeper.last_words(error) if isinstance(error, DeadlockError) else ():
                error.add_note(words)
            raise

    def _again(self, subject: Subject, sought: PacketKey) -> PacketLog:
        """The same packets once more, for those around a message that the first diary let go."""
        simulation, diary = (
            replace(subject.simulation, recording=Recording(measure=False, private="nothing"), adversaries=()),
            PacketLog(0, 0, sought),
        )
        simulated(simulation, f"{subject.spec.name}: the packets around the break", self.progress, diary)
        return diary

    def _watched(
        self,
        simulation: Simulation,
        stage: str,
        diary: PacketLog | None = None,
        rescue: Callable[[Run], None] | None = None,
    ) -> Run:
        self.progress.begin(stage, estimates(simulation))
        done, written = 0, time.monotonic()

        def look(running: Running) -> None:
            nonlocal done, written
            if (real := time.monotonic()) - written >= FLUSH:
                running.flush()
                written = real
            now = running.estimates
            self.progress.advance(now - done)
            done = now
            if self.watch is not None:
                self.watch(running)

        return simulation.run(look, every=EVERY, packet_log=diary, rescue=rescue)

    def _keeper(self, entry: Results, simulation: Simulation) -> TranscriptFiles:
        names = tuple(adversary.name for adversary in simulation.adversaries)
        return TranscriptFiles(self.folder, entry["slug"], self.experiment.scenario.transcript, names)

    def _keep(
        self, entry: Results, run: Run, diary: PacketLog, keeper: TranscriptFiles, stopped: str | None = None
    ) -> Chronicle:
        """What there is of a run, which was `stopped` by an error, if not by a Ctrl-C."""
        entry |= describe.run(run, stopped)
        chronicle = Chronicle(run, diary, len(self.experiment.subjects))
        entry |= chronicle.results(entry)
        keeper.keep(run.views)
        if run.measures is not None:
            found = run.measures.on(self.experiment.held_out)
            entry["measures"] = progress.measures(found, self.experiment.scenario.measures)
            if noted := requested_numbers(found, self.experiment.scenario):
                entry["measures"]["asked"] = noted
            if self.experiment.scenario.outputs.metrics:
                found.write(self.folder / f"metrics-{entry['slug']}.parquet")
        return chronicle

    # ── attacks ─────────────────────────────────────────────────────────────────────────────────────
    def _gradients(self, subject: Subject, run: Run) -> Results:
        assert run.truth is not None
        self.progress.begin(f"{subject.spec.name}: inferring gradients", 1)
        try:
            inversion, estimates = inferred(
                run.views[0], jointly=self.experiment.scenario.attacks.victims == "jointly"
            )
            score = score_gradients(estimates, run.truth, run.views[0].inside)
        except AttackError as error:
            return {"gradients": {"refused": str(error)}}
        self.progress.advance(1)
        described = {"attack": f"{inversion.__module__}.{inversion.__name__}"} | describe.gradients(score)
        return {"gradients": described, "leakage": self._leakage(score)}

    def _leakage(self, score: GradientScore) -> Results:
        experiment = self.experiment
        adversary, on_radio = experiment.scenario.adversary.build(), experiment.scenario.medium != "links"
        return leakage(score, experiment.topology, nearest(adversary, experiment.topology, on_radio))

    def _rebuilt(self, entry: Results, subject: Subject, simulation: Simulation, keeper: TranscriptFiles) -> None:
        """The second run, in which records are to be rebuilt, and what is made of it."""
        attacks = self.experiment.scenario.attacks
        what = "one image per agent" if attacks.images else f"the second run, {attacks.holding} record(s) per agent"
        run = self._watched(simulation, f"{subject.spec.name}: {what}")
        if run.interrupted:
            raise KeyboardInterrupt
        keeper.keep_second(run.views[0])
        if attacks.images:
            entry["images"] = self._images(run)
            self._save("running")
        if attacks.reconstruct:
            Rebuilding(self.experiment, self.progress, self._save_so_far).rebuild(entry, subject, run)
        inference_stage(self.experiment, subject, entry, self.progress, self._save_so_far)

    def _images(self, run: Run) -> Results:
        experiment = self.experiment
        assert experiment.holding is not None
        assert run.truth is not None
        prior, view = experiment.holding.prior, run.views[0]
        assert prior is not None
        try:
            estimates = infer(view)
            inferred = sorted({e.agent for e in estimates})
            if not inferred:
                raise AttackError("no gradient could be inferred: nothing to rebuild an image from")
            cases = [
                Case(Evidence.of([e for e in estimates if e.agent == i]), Known.of(view.public, i, prior))
                for i in inferred
            ]
            rebuilt = OneRecord().reconstruct(cases, np.random.default_rng(self.experiment.scenario.seed))
        except AttackError as error:
            return {"refused": str(error)}
        scores = [score_image(one, run.truth, prior) for one in rebuilt]
        return describe.images(scores, experiment.dataset, all(e.stddev == 0 for e in estimates))


def _hint(error: Exception, scenario: Scenario) -> str:
    """What in the scenario may be behind an error, and the remedy."""
    laws = {"links": scenario.links} | {
        f"link_overrides[{k}].law": o.law for k, o in enumerate(scenario.link_overrides)
    }
    loose = [where for where, law in laws.items() if not law.reliable and _loses(law, scenario)]
    if not isinstance(error, DeadlockError) or not loose:
        return ""
    where = loose[0]
    return (
        f"{where}.reliable is false: a packet that is lost or rejected is not sent again, and who waits for it waits "
        f"forever. Set {where}.reliable: true, or {where}.loss: 0. (Exchanges go on without it at exchange.deadline.)"
    )


def _loses(law: LinkSpec, scenario: Scenario) -> bool:
    """Whether a packet on such a link may never get there."""
    return (
        law.loss != 0
        or law.outages is not None
        or law.buffer is not None
        or bool(scenario.downtimes or scenario.active_adversaries)
    )
