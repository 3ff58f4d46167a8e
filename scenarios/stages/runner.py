"""One scenario run stage by stage into a folder; an interrupted run keeps what it had."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar, cast

from attacks.audit.conformance import conformance
from netsim.adversary import Adversary
from netsim.arrays import diverging
from netsim.errors import DeadlockError, NetsimError, ScenarioError, TranscriptError
from netsim.files import read_json
from netsim.memory import check_jobs
from netsim.own import await_hint
from netsim.readers.deployed.deploy import Deployment, deploy
from netsim.readers.deployed.deploy import checked as checked_deployment
from netsim.running import Running
from netsim.simulation import Run, Simulation
from netsim.transcript.packet_log import PacketLog
from scenarios.build.duration import EVERY, Progress, Silent, attended, estimates
from scenarios.build.experiment import Experiment, Subject
from scenarios.files.folders import LOCK, MANIFEST, SWEEP, check_writable, held, is_draft, whole
from scenarios.papers.figures import exact_numbers, reproduced
from scenarios.papers.measures import check_names
from scenarios.papers.outcome import Ran
from scenarios.results.base import Status, taken, write_text
from scenarios.results.findings import NO_CLAIM
from scenarios.results.header import header, manifest, slug
from scenarios.results.over_time import budget, convergence, measures_of
from scenarios.results.run import MeasureResults, OutsideProgram, RunSummary
from scenarios.results.tree import AlgorithmResult, Results, RunError, dumps, save
from scenarios.schema import Scenario
from scenarios.schema.load import Located
from scenarios.schema.own_code import add_place
from scenarios.stages.audit import Judge
from scenarios.stages.inference import Games
from scenarios.stages.listening import analyse_traffic, infer_gradients, rebuild_images
from scenarios.stages.outputs import AT_DOORS, DEPLOYED, TranscriptFiles, clear, clear_evidence, write_outputs
from scenarios.stages.reconstruction import Rebuilding
from scenarios.stages.timeline import Chronicle

T = TypeVar("T")
FLUSH = 1.0
"""Seconds of real time after which a transcript is on disk, however little it is."""


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
    built: Experiment | None = None,
    deployed: Deployment | None = None,
) -> Results:
    """Run all of a scenario; returns the results, which are in `folder` too (results.json, report.html, …).

    You get a `ScenarioError` before time 0 for a scenario whose parts do not fit, and for a folder that cannot be
    written, that another command writes to, or that holds something else or the results of a scenario of another
    name; nothing is written then. A Ctrl-C ends the run early: what was done is in the folder, marked "interrupted",
    and is returned. An error ends it too: the folder has what was done, marked "failed", and the error is raised.
    `watch` is called some times a second with the simulation that runs, those of audits excepted. `jobs` processes
    share an audit's simulations (−1: as many as there are cores); the numbers are the same. `part`: this is one of
    several variants, so that nothing is said of what they reproduce together (`scenarios.stages.study` runs a
    scenario with variants). Without `page` there is no report.html. `built`: the experiment of this source, where
    that was checked before. `deployed`: agents are processes that talk over TCP (`netsim.readers.deployed`), into
    FOLDER/deployed-ALGORITHM; audits, and what attacks need more runs for, are simulated all the same.
    """
    experiment = built or checked(source, part)
    if deployed is not None:
        if (backend := experiment.scenario.backend) != "numpy":
            raise ScenarioError("backend", backend, "agents are processes, one by one", "numpy")
        for subject in experiment.subjects:
            checked_deployment(subject.simulation, deployed)
    prepare(folder, None if part else experiment.scenario.name, jobs)
    with held(folder, command):
        results = header(experiment, command)
        return _Session(experiment, folder, progress or Silent(), watch, jobs, part, page, results, deployed).run()


def checked(source: Scenario | Located, part: bool = False, progress: Progress | None = None) -> Experiment:
    """Everything that can be known to be wrong before time 0 is a `ScenarioError` here; nothing runs.

    `progress` advances by the parts of the experiment (`Experiment.parts`).
    """
    scenario = source.scenario if isinstance(source, Located) else source
    try:
        if not part:
            check_names(scenario)
        return Experiment.of(scenario, progress)
    except ScenarioError as error:
        raise source.locate(error) if isinstance(source, Located) else error from None


def prepare(folder: Path, name: str | None, jobs: int) -> None:
    """Make a results folder. You get a `ScenarioError` where none can be, as of `check_folder`, and for a number of
    `jobs` that is none.

    A former results folder, one with a manifest, is written over: what its run left is removed.
    """
    check_jobs(jobs)
    check_folder(folder, name)
    check_writable(folder, "folder")


def check_folder(folder: Path, name: str | None) -> None:
    """Raise a `ScenarioError` where files of others would be mixed in, and for a folder that holds the results of a
    scenario that is not of this `name` (None: of any name); nothing is written."""
    try:
        manifest = read_json(folder / MANIFEST)
        before = cast("dict[str, dict[str, object]]", manifest)["scenario"]["name"]
    except (OSError, ValueError, LookupError, TypeError):
        before = None
    if name is not None and isinstance(before, str) and before != name:
        raise ScenarioError(
            "folder", str(folder), f"holds the results of another scenario, {before!r}",
            "a new or empty folder, or remove that one first",
        )  # fmt: skip
    try:
        others = [one for one in folder.iterdir() if one.name != LOCK and not is_draft(one)]
    except OSError:  # it is not there, or none to read
        others = []
    if (folder / SWEEP).is_file():
        why = "is a sweep's (`netsim report` shows it)"
        raise ScenarioError("folder", str(folder), why, "a new or empty folder, or a former one of a run")
    if others and not (folder / MANIFEST).is_file():
        raise ScenarioError(
            "folder", str(folder), "holds files that are no results of netsim",
            "a new or empty folder, or a former results folder",
        )  # fmt: skip


@dataclass
class _Session:
    """One scenario while it runs. `results` is the tree so far: stages return parts, which `_put` alone takes in."""

    experiment: Experiment
    folder: Path
    progress: Progress
    watch: Callable[[Running], None] | None
    jobs: int
    part: bool
    page: bool
    results: Results
    deployed: Deployment | None

    @cached_property
    def _judge(self) -> Judge:
        """Of all its algorithms."""
        return Judge(self.experiment, self.folder, self.progress, self.jobs, self._put, within_a_run=True)

    def run(self) -> Results:
        write_text(self.folder / MANIFEST, dumps(manifest(self.results, self.experiment)))
        names: list[str] = []
        for subject in self.experiment.subjects:
            names.append(slug(subject.spec.name, names))
        clear(self.folder, names)
        save(self.folder, self.results)
        try:
            for subject, name in zip(self.experiment.subjects, names, strict=True):
                self._subject(subject, name)
        except KeyboardInterrupt:
            self._finish("interrupted")
        except Exception as error:
            place = add_place(error) if isinstance(error, NetsimError) else ""
            waits = self.experiment.scenario.waits_forever if isinstance(error, DeadlockError) else ""
            hint = await_hint(error) or waits
            if hint and hint not in getattr(error, "__notes__", []):
                error.add_note(hint)
            failure = RunError(type=type(error).__name__, message=str(error), hint=hint or place)
            self.results = replace(self.results, error=failure)
            self._finish("failed")
            raise
        else:
            self._finish("complete")
        return self.results

    def _finish(self, status: Status) -> None:
        results = self.results = replace(self.results, status=status)
        if not self.part:
            ran = Ran("", results, f"failed: {results.error.type}" if results.error else None)
            self.results = reproduced(results, [ran], {"": {}}, status != "interrupted")
        save(self.folder, self.results)
        if status == "complete":
            clear_evidence(self.folder)
        elif status == "failed" and self.part:  # a point of a sweep that failed is not gone on with
            clear_evidence(self.folder, {one.slug for one in results.algorithms[-1:]})
        if self.page:
            progress = Silent() if status == "failed" else self.progress  # the error is what is said then
            write_outputs(self.results, {None: self.results}, self.folder, progress)

    # ── one algorithm ───────────────────────────────────────────────────────────────────────────────────
    @property
    def _entry(self) -> AlgorithmResult:
        """The algorithm at work."""
        return self.results.algorithms[-1]

    def _put(self, entry: AlgorithmResult | None = None, **parts: object) -> None:
        """Take more of the algorithm at work into the results, and write them."""
        entry = replace(entry or self._entry, **parts)
        self.results = replace(self.results, algorithms=(*self.results.algorithms[:-1], entry))
        save(self.folder, self.results)

    @diverging()
    def _subject(self, subject: Subject, slug: str) -> None:
        experiment, simulation, name = self.experiment, subject.simulation, subject.spec.name
        claimed = budget(simulation, experiment.adjacency, subject.delta, experiment.scenario)
        judged = experiment.pair is not None
        entry = AlgorithmResult(
            name=name,
            slug=slug,
            kind=subject.spec.kind,
            baseline=subject.spec.baseline,
            summary=simulation.algorithm.summary,
            noise=simulation.algorithm.noisy,
            audit_status=("not reached" if experiment.claims(subject) else NO_CLAIM) if judged else "not requested",
            budget=claimed,
            unproven=simulation.algorithm.unproven(simulation.setting(0)),
            rate=simulation.algorithm.rate(simulation.setting(0)),
        )
        self.results = replace(self.results, algorithms=(*self.results.algorithms, entry))
        adversaries = tuple(adversary.name for adversary in simulation.adversaries)
        keeper = TranscriptFiles(self.folder, slug, experiment.scenario.transcript, adversaries)
        try:
            run, log = self._run(subject, keeper)
            chronicle = self._keep(run, log, keeper)
            if run.interrupted:
                raise KeyboardInterrupt
            if experiment.scenario.attacks.gradients:
                self.progress.begin(f"{name}: inferring gradients", 1)
                gradients, leakage = infer_gradients(experiment, run)
                self.progress.advance(1)
                self._put(gradients=gradients, leakage=leakage)
            if experiment.scenario.attacks.traffic:
                self._put(traffic_analysis=analyse_traffic(run.views[0], run, log))
            if subject.attacked is not None:
                self._second_run(subject, subject.attacked, keeper)
            if experiment.pair is not None:
                self._put(self._judge.judge(self._entry, subject, run.largest_activations))
                if chronicle is not None:
                    stage = f"{name}: the packets around the break"
                    self._put(timeline=chronicle.audited(self._entry, simulation, stage, self.progress))
        finally:
            keeper.end()

    def _run(self, subject: Subject, keeper: TranscriptFiles) -> tuple[Run, PacketLog]:
        """The run and its packet log; of a run that fails, what there is of it is kept."""
        log, left = PacketLog(), list[Run]()
        try:
            simulation, stage = keeper.begin(subject.simulation), f"{subject.spec.name}: running"
            return self._watched(simulation, stage, log, left.append), log
        except Exception as error:
            with suppress(OSError, TranscriptError):
                for run in left:
                    self._keep(run, log, keeper, failed=True)
            if not left:
                keeper.rescue()
            for words in keeper.last_words(error) if isinstance(error, DeadlockError) else ():
                error.add_note(words)
            raise

    def _watched(
        self,
        simulation: Simulation,
        stage: str,
        log: PacketLog | None = None,
        rescue: Callable[[Run], None] | None = None,
    ) -> Run:
        self.progress.begin(stage, estimates(simulation))
        if (backend := self.experiment.scenario.backend) != "numpy":  # one run for all, which nobody watches
            recording = replace(simulation.recording, spool=None)
            return replace(simulation, recording=recording, backend=backend).run()
        done, written = 0, time.monotonic()

        def look(running: Running) -> None:
            nonlocal done, written
            if (real := time.monotonic()) - written >= FLUSH:
                running.flush()
                written = real
            now = running.estimates
            self.progress.advance(now - done)
            done = now
            seen(running)
            if self.watch is not None:
                self.watch(running)

        with attended(self.progress, simulation.algorithm) as seen:
            if self.deployed is not None and log is not None:
                return self._as_processes(simulation, self.deployed, look, log)
            return simulation.run(look, every=EVERY, packet_log=log, rescue=rescue)

    def _as_processes(
        self, simulation: Simulation, settings: Deployment, look: Callable[[Running], None], log: PacketLog
    ) -> Run:
        """The deployed run; a tap at the door of every outside program says whether it follows the algorithm."""
        folder, programs = self.folder / f"{DEPLOYED}{self._entry.slug}", settings.outside
        if not programs:
            return deploy(simulation, folder, settings, look, log)
        door = Adversary(AT_DOORS, links=(), nodes=tuple(sorted(programs)))
        run = deploy(replace(simulation, adversaries=(*simulation.adversaries, door)), folder, settings, look, log)
        *views, own = run.views
        if not run.interrupted:
            found = [conformance(own, i, simulation.problem.objectives[i]) for i in door.nodes]
            self._put(
                outside_programs=tuple(taken(OutsideProgram, one, program=programs[one.agent]) for one in found)
            )
        return replace(run, simulation=simulation, views=tuple(views))

    def _keep(self, run: Run, log: PacketLog, keeper: TranscriptFiles, *, failed: bool = False) -> Chronicle | None:
        """What there is of a run, in results and in files; `failed`: an error ended it. None where no packet log was
        written."""
        if run.interrupted:
            self.progress.broken()
            self.progress.begin(f"{'failed' if failed else 'interrupted'}: keeping what there is", 1)
        chronicle = None if run.device else Chronicle(run, log, len(self.experiment.subjects))
        ending = "failed" if failed else "interrupted" if run.interrupted else None
        entry = replace(
            self._entry,
            convergence=convergence(run),
            run=taken(RunSummary, run, traffic=dict(run.traffic), stopped=ending),
            active_adversaries=run.interceptions,
            rejected=run.rejected if run.rejected or run.outside_model else None,
            outside_model=run.outside_model,
            links=None if chronicle is None else chronicle.links(),
            timeline=None if chronicle is None else chronicle.timeline(self._entry),
        )
        self.results = replace(self.results, algorithms=(*self.results.algorithms[:-1], entry))
        for view in run.views:
            if run.interrupted and (left := keeper.leave(view)):
                self.progress.say(f"{len(view.transcript):,} rows of a transcript are left in {left}")
            else:
                keeper.keep(view)
        measures: MeasureResults | None = None
        if run.measures is not None:
            scenario, found = self.experiment.scenario, run.measures.on(self.experiment.held_out)
            if scenario.outputs.metrics:
                with whole(self.folder / f"metrics-{self._entry.slug}.parquet") as draft:
                    found.write(draft)
            measures = measures_of(found, scenario.measures, exact_numbers(found, scenario))
        self._put(measures=measures)
        return chronicle

    def _second_run(self, subject: Subject, simulation: Simulation, keeper: TranscriptFiles) -> None:
        """The run in which agents hold few records, and the attacks on it."""
        experiment, attacks = self.experiment, self.experiment.scenario.attacks
        what = "one image per agent" if attacks.images else f"the second run, {attacks.holding} record(s) per agent"
        run = self._watched(simulation, f"{subject.spec.name}: {what}")
        if run.interrupted:
            raise KeyboardInterrupt
        keeper.keep(run.views[0], second=True)
        if attacks.images:
            self._put(images=rebuild_images(experiment, run))
        if attacks.reconstruct:
            Rebuilding(experiment, self.progress, lambda one: self._put(reconstructions=one)).rebuild(subject, run)
        games = Games(experiment, subject, self.progress)
        if attacks.membership is not None:
            self._put(membership=games.play_membership(attacks.membership))
        if attacks.property is not None:
            self._put(property=games.play_property(attacks.property))
