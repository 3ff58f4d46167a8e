# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (joblib ships no types)
# (distributed ships no types that are complete)
"""Sweep execution: in local processes, on a Dask cluster, or in shares by independent jobs."""

import contextlib
import math
import os
import tempfile
import threading
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any, Literal, Protocol
from uuid import uuid4

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import ProcessPoolExecutor, TerminatedWorkerError
from threadpoolctl import threadpool_info, threadpool_limits

from netsim.errors import AbsentDataError, NetsimError, ScenarioError, together
from netsim.interrupts import stopped_once
from netsim.memory import check_jobs
from scenarios.build.duration import LONG, Progress, Silent, duration
from scenarios.files.document import setting
from scenarios.files.folders import held
from scenarios.render.terminal import leaves
from scenarios.results.header import versions
from scenarios.schema.load import Located, validated
from scenarios.stages.beside import Noted, at_once, followed
from scenarios.stages.runner import checked, run_scenario
from scenarios.sweep.folder import DONE, PointResult, Points, check_folder, packed, prepare
from scenarios.sweep.points import MOST, Point, Shard, Sweep, located, points

_DEATHS = 2
"""So often a pool whose worker was killed begins anew before the points that are left run one by one."""
_LETTERS = 24
"""Letters of a setting that stand in a line of progress."""
KILLED = "its process was killed: out of memory, perhaps"


class _RunPoint(Protocol):
    """Runs a point, into a folder to keep or none."""

    def __call__(self, point: Point, keep: Path | None, progress: Progress | None = None, /) -> PointResult: ...


def _noted(run_point: _RunPoint, point: Point, keep: Path | None, note: Noted) -> PointResult:
    """Run a point in a process of its own, and say so in a file."""
    try:
        return run_point(point, keep, note)
    finally:
        note.over()


@dataclass(frozen=True)
class _Processes:
    """Runs points in `jobs` processes (−1: one per core). A worker that is killed takes no other point with it."""

    run_point: _RunPoint
    jobs: int
    points: Points
    keep: bool
    progress: Progress

    def each(self, left: Sequence[Point]) -> Iterator[PointResult]:
        """As they are done."""
        open_ = {point.index: point for point in left}
        for _ in range(_DEATHS):
            try:
                for found in self._together(list(open_.values())):
                    del open_[found.point]
                    yield found
                return
            except TerminatedWorkerError:
                self.progress.say("a worker was killed: the points that are left are tried again")
        for point in open_.values():  # in a process of its own, so that whoever kills it is known
            executor: Any = ProcessPoolExecutor(max_workers=1)
            try:
                yield executor.submit(self.run_point, point, self._folder(point)).result()
            except TerminatedWorkerError:
                yield PointResult.failed(point, KILLED)
            finally:
                executor.shutdown(wait=False, kill_workers=True)

    def _together(self, left: Sequence[Point]) -> Iterator[PointResult]:
        with warnings.catch_warnings(), followed(self.progress) as notes:
            warnings.filterwarnings("ignore", message="A worker stopped")
            seeds = len({point.seed for point in left}) > 1
            work = (
                delayed(_noted)(
                    self.run_point, point, self._folder(point), Noted(notes / f"{k:09}", _named(point, seeds))
                )
                for k, point in enumerate(left)
            )
            parallel: Any = Parallel  # its stubs take no number for batch_size
            pool = parallel(n_jobs=self.jobs, return_as="generator_unordered", batch_size=1)
            with stopped_once():
                yield from pool(work)

    def _folder(self, point: Point) -> Path | None:
        return self.points.kept(point) if self.keep else None


def _named(point: Point, seeds: bool) -> str:
    """The point by its number, and what it sets: fields by their last parts, and its seed where there are several."""
    fields = {**point.fields, "seed": point.seed} if seeds else point.fields
    values = [setting(value) for value in fields.values()]
    values = [f"{value[:_LETTERS]}…" if len(value) > _LETTERS else value for value in values]
    named = ", ".join(f"{head}={value}" for head, value in zip(leaves([*fields]), values, strict=True))
    return f"point {point.index} ({named})" if named else f"point {point.index}"


LOOK = 10.0
"""Seconds without an answer after which the workers are counted."""
_CLUSTER_KILLED = "each worker that ran it was killed: out of memory, perhaps, or over the time limit"
Answer = tuple[PointResult, bytes | None, str]
"""A point, its results folder where it is to be kept, and the `_kernels` that computed it."""
_ONE_AT_A_TIME = threading.Lock()


class _ClusterGoneError(NetsimError):
    """The Dask scheduler is gone, and with it the points that nobody has done yet."""


@dataclass(frozen=True)
class Order:
    """The order to a worker: the point, whether its folder is kept, and the directory of the command."""

    point: Point
    keep: bool
    versions: Mapping[str, str]
    directory: str


def at_worker(run_point: _RunPoint, order: Order) -> Answer:
    """Run a point in a worker. In a process with several threads it waits for its turn: libraries' threads are
    limited for the process as a whole, and the order of their sums is part of the result."""
    here, there = order.versions, versions()
    apart = [
        f"{name} is {there.get(name)} there, {here[name]} here" for name in here if there.get(name) != here[name]
    ]
    if apart:
        return PointResult.failed(order.point, f"its worker has other versions: {', '.join(apart)}"), None, _kernels()
    # relative paths of a scenario mean here what they mean to the command, if the worker has its folder
    inside = contextlib.chdir(order.directory) if os.path.isdir(order.directory) else contextlib.nullcontext()
    with _ONE_AT_A_TIME, TemporaryDirectory() as place, inside:
        folder = Path(place) / "run" if order.keep else None
        found = run_point(order.point, folder)
        return found, packed(folder) if folder is not None and folder.is_dir() else None, _kernels()


def _kernels() -> str:
    """Which processor's code OpenBLAS took, such as "Haswell": the last digits of a sum are the same where it is."""
    found: Sequence[Mapping[str, object]] = threadpool_info()
    return ", ".join(sorted({str(one["architecture"]) for one in found if "architecture" in one}))


class Cluster:
    """Runs points on the workers of a Dask `client`. A worker that is killed takes no other point with it."""

    def __init__(self, run_point: _RunPoint, client: Any, points: Points, keep: bool, progress: Progress) -> None:
        self.run_point, self.client, self.points, self.keep = run_point, client, points, keep
        self.progress = progress
        self.versions, self.directory = versions(), os.getcwd()
        self.kernels = _kernels()
        self.reported: set[str] = set()
        self.seen = False

    def each(self, left: Sequence[Point]) -> Iterator[PointResult]:
        """As they are done. You get a `_ClusterGoneError` when the scheduler is gone."""
        suspects = yield from self._together(left)
        for point in suspects:
            self.progress.say(f"workers were killed at point {point.index}: it is tried again, alone")
            if (yield from self._together([point])):
                yield PointResult.failed(point, _CLUSTER_KILLED)

    def _together(self, left: Sequence[Point]) -> Generator[PointResult, None, list[Point]]:
        """Returns the points during which workers were killed: Dask blames all that were at the worker, also those
        that only waited there, so that they are to be tried one by one."""
        from distributed import KilledWorker

        suspects: list[Point] = []
        done: SimpleQueue[Any] = SimpleQueue()
        open_: dict[Any, Point] = {}
        for point in left:
            order = Order(point, self.keep, self.versions, self.directory)
            key = f"netsim-point-{point.index}-{uuid4().hex}"
            future = self.client.submit(at_worker, self.run_point, order, key=key, pure=False)
            future.add_done_callback(done.put)
            open_[future] = point
        try:
            while open_:
                try:
                    future = done.get(timeout=LOOK)
                except Empty:
                    self._look_at_workers(len(open_))
                    continue
                point = open_.pop(future)
                if future.status == "finished":
                    yield self._taken(point, future)
                elif future.status != "error":  # cancelled, or lost
                    raise _ClusterGoneError("the Dask scheduler is gone")
                elif isinstance(error := future.exception(), KilledWorker):
                    suspects.append(point)
                else:
                    yield PointResult.failed(point, f"on a Dask worker: {type(error).__name__}: {error}")
        finally:
            with contextlib.suppress(Exception):  # of a scheduler that is gone
                self.client.cancel(list(open_))
        return suspects

    def _taken(self, point: Point, future: Any) -> PointResult:
        found, archive, there = future.result()
        if there != self.kernels:
            self._tell(
                f"a worker's OpenBLAS computes as for {there}, this one's as for {self.kernels}: last digits may "
                "differ. For the same bits set OPENBLAS_CORETYPE to one value everywhere"
            )
        if archive is not None:
            self.points.keep(point, archive)
        return found

    def _look_at_workers(self, waiting: int) -> None:
        """Say when there are none, and when they are set up so that they wait for each other."""
        try:
            threads: Mapping[str, int] = self.client.nthreads()
        except Exception as error:  # whatever a connection that is gone raises
            raise _ClusterGoneError(f"the Dask scheduler does not answer ({type(error).__name__})") from error
        if not threads:
            words = (
                "no worker is left: {} point(s) wait for another. Start some, or interrupt and repeat the command"
                if self.seen
                else "no worker is there yet: {} point(s) wait. Jobs may be queued; the log of one says if it failed"
            )
            self._tell(words.format(waiting))
        self.seen = self.seen or bool(threads)
        if max(threads.values(), default=1) > 1:
            self._tell("workers have several threads, of which one computes: start them with one (--nthreads 1)")

    def _tell(self, words: str) -> None:
        if words not in self.reported:
            self.reported.add(words)
            self.progress.say(words)


@dataclass(frozen=True)
class SweepReport:
    """The points that one call ran, or found done: `results` of `points` in all, which are those of its share."""

    status: Literal["complete", "interrupted"]
    points: int
    complete: int
    failed: tuple[int, ...]
    all: int
    """Points of the sweep."""
    there: int
    """Points that the table has."""
    results: tuple[PointResult, ...]


def run_sweep(
    sweep: Sweep,
    base: Located,
    folder: Path,
    *,
    jobs: int = -1,
    client: Any = None,
    shard: Shard | None = None,
    command: str = "",
    progress: Progress | None = None,
) -> SweepReport:
    """Run all points into `folder`/sweep.parquet.

    `jobs` processes (−1: one per core), or the workers of a Dask `client`. With a `shard` it runs that share of the
    points alone, and checks no others. Shares may run at the same time in the same folder, and nothing else; when the
    last of them ends the table has all. You get a `ScenarioError` before anything runs or is written for all points
    that `netsim check` would refuse, and for a folder that holds another sweep, or that another command writes to. A
    Ctrl-C ends it: "interrupted", and the table has what was done; the same call goes on. It ends so too when a
    cluster's scheduler is gone.
    """
    check_jobs(jobs)
    with contextlib.suppress(OSError):  # `prepare` says why
        check_folder(folder, sweep, base)  # before all points are built
    found = points(sweep, base)
    share = found if shard is None else shard.share(found)
    kept = Points(folder, found, [*sweep.grid, *sweep.random])
    progress, whose = progress or Silent(), "" if shard is None else f"share {shard}: "
    done = (kept.result(point) for point in share)
    seconds = _check([p for p, one in zip(share, done, strict=True) if one is None], sweep, jobs, progress)
    with contextlib.suppress(OSError):  # `prepare` says why
        folder.mkdir(parents=True, exist_ok=True)
    with held(folder, command, shared=shard is not None, drafts=(folder, folder / DONE)):
        prepare(folder, sweep, base, command)
        workers = (
            _Processes(one_point, jobs, kept, sweep.keep, progress)
            if client is None
            else Cluster(one_point, client, kept, sweep.keep, progress)
        )
        known = {point.index: kept.result(point) for point in share}
        results = {k: one for k, one in known.items() if one is not None and one.status == "complete"}
        left = [point for point in share if point.index not in results]
        for point in left:
            kept.forget(point)
        already = f", {len(results)} of them known" if results else ""
        seconds = seconds / at_once(jobs, len(left)) if client is None else math.nan
        progress.begin(f"{whose}{len(share)} point{'s' * (len(share) > 1)}{already}", len(left), seconds)
        status: Literal["complete", "interrupted"] = "complete"
        try:
            for one in workers.each(left):
                kept.add(one)
                results[one.point] = one
                progress.advance(1)
        except KeyboardInterrupt:
            status = "interrupted"
        except _ClusterGoneError as error:
            progress.say(str(error))
            status = "interrupted"
        there = kept.write_table()
        wrong = tuple(sorted(k for k, one in results.items() if one.status != "complete"))
        done = len(results) - len(wrong)
        return SweepReport(status, len(share), done, wrong, len(found), there, tuple(results.values()))


def _check(left: Sequence[Point], sweep: Sweep, jobs: int, progress: Progress) -> float:
    """Build every point, and run none: a `ScenarioError` has all that can be known to be wrong before time 0. Returns
    about how many seconds the points take on one core, and says it where they are many."""
    progress.begin("checking all points before the first runs", len(left))
    wrong, seconds = list[ScenarioError](), 0.0
    parallel: Any = Parallel
    looks = parallel(n_jobs=jobs, return_as="generator")(delayed(_looked_at)(one) for one in left)
    for point, (mistakes, takes) in zip(left, looks, strict=True):
        progress.advance(1)
        wrong += [located(ScenarioError(*one), sweep, point.fields, point.index) for one in mistakes]
        seconds += takes
    if wrong:
        raise together(wrong[:MOST])
    if seconds > LONG:
        progress.say(f"About {duration(seconds)} on one core, {duration(seconds / len(left))} a point.")
    return seconds


def _looked_at(point: Point) -> tuple[list[tuple[str, object, str, str]], float]:
    """Field, value, problem and what is allowed of each mistake of a point, and about how many seconds it takes. Data
    that are not on this machine may be where it is run, and say so there."""
    with threadpool_limits(1), parallel_config("sequential"):
        try:
            costs = checked(validated(dict(point.tree), ""), part=True).costs()
        except AbsentDataError:
            return [], 0.0
        except ScenarioError as error:
            return [(one.field, one.value, one.problem, one.allowed) for one in error.each()], 0.0
    return [], sum(one.seconds for one in costs.values() if not math.isnan(one.seconds))


def one_point(point: Point, keep: Path | None, progress: Progress | None = None) -> PointResult:
    """Run one point, in one thread; its error in words in place of raising it.

    Its own loops stay in this process: in a worker of Dask, joblib would hand them to the cluster again.
    """
    with tempfile.TemporaryDirectory() as nowhere, threadpool_limits(1), parallel_config("sequential"):
        folder = keep or Path(nowhere) / "run"
        try:
            scenario = validated(dict(point.tree), "")
            results = run_scenario(scenario, folder, progress=progress, part=True, page=keep is not None)
        except Exception as error:  # whatever it is: the others go on
            words = str(error) if isinstance(error, NetsimError) else f"{type(error).__name__}: {error}"
            return PointResult.failed(point, words)
        if results.status != "complete":
            raise KeyboardInterrupt
        return PointResult.of(point, results)
