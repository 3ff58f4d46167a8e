# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (distributed ships no types that are complete)
"""The points of a sweep on the workers of a Dask cluster, which come and go.

Points are given to the scheduler one by one, not through joblib's backend for Dask: that one ends when no worker
comes within ten seconds (a job may queue for hours) and when four workers were killed at a point, and it keeps a
point's scenario on one worker alone.
"""

import contextlib
import os
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from threadpoolctl import threadpool_info

from netsim.errors import NetsimError
from scenarios import describe
from scenarios.sweep import table
from scenarios.sweep.folder import Points, packed
from scenarios.sweep.local import RunPoint
from scenarios.sweep.points import Point
from scenarios.telling import Progress

LOOK = 10.0
"""Seconds without an answer after which the workers are counted."""
KILLED = "each worker that ran it was killed: out of memory, perhaps, or over the time limit"
Found = tuple[int, list[table.Row]]
Answer = tuple[list[table.Row], bytes | None, str]
"""A point's rows, its results folder where it is to be kept, and the `kernels` that computed it."""
_ONE_AT_A_TIME = threading.Lock()


class ClusterGoneError(NetsimError):
    """The Dask scheduler is gone, and with it the points that nobody has done yet."""


@dataclass(frozen=True)
class Order:
    """What a worker needs to know: the point, whether its folder is kept, and where it was asked for."""

    point: Point
    keep: bool
    versions: Mapping[str, str]
    directory: str


def at_worker(run_point: RunPoint, order: Order) -> Answer:
    """Run a point in a worker. In a process with several threads it waits for its turn: libraries' threads are
    limited for the process as a whole, and the order of their sums is part of the result."""
    if (words := _differ(order.versions, describe.versions())) is not None:
        return table.rows(order.point, {}, "failed", words), None, kernels()
    with _ONE_AT_A_TIME, TemporaryDirectory() as place, _inside(order.directory):
        folder = Path(place) / "run" if order.keep else None
        _, rows = run_point(order.point, folder)
        return rows, packed(folder) if folder is not None and folder.is_dir() else None, kernels()


def kernels() -> str:
    """Which processor's code OpenBLAS took, such as "Haswell": the last digits of a sum are the same where it is."""
    found: Sequence[Mapping[str, Any]] = threadpool_info()
    return ", ".join(sorted({str(one["architecture"]) for one in found if "architecture" in one}))


def _differ(here: Mapping[str, str], there: Mapping[str, str]) -> str | None:
    apart = [
        f"{name} is {there.get(name)} there, {here[name]} here" for name in here if there.get(name) != here[name]
    ]
    return f"its worker has other versions: {', '.join(apart)}" if apart else None


@contextlib.contextmanager
def _inside(directory: str) -> Generator[None]:
    """Relative paths of a scenario mean on the worker what they mean here, if it has the folder."""
    with contextlib.chdir(directory) if os.path.isdir(directory) else contextlib.nullcontext():
        yield


class Cluster:
    """Runs points on the workers of a Dask `client`. A worker that is killed takes no other point with it."""

    def __init__(self, run_point: RunPoint, client: Any, points: Points, keep: bool, progress: Progress) -> None:
        self.run_point, self.client, self.points, self.keep = run_point, client, points, keep
        self.progress = progress
        self.versions, self.directory = describe.versions(), os.getcwd()
        self.kernels = kernels()
        self.told: set[str] = set()
        self.seen = False

    def each(self, left: Sequence[Point]) -> Iterator[Found]:
        """As they are done. You get a `ClusterGoneError` when the scheduler is gone."""
        suspects = yield from self._together(left)
        for point in suspects:
            self.progress.say(f"workers were killed at point {point.index}: it is tried again, alone")
            if (yield from self._together([point])):
                yield point.index, table.rows(point, {}, "failed", KILLED)

    def _together(self, left: Sequence[Point]) -> Generator[Found, None, list[Point]]:
        """Returns the points during which workers were killed: Dask blames all that were at the worker, also those
        that only waited there, so that they are to be tried one by one."""
        from distributed import KilledWorker

        suspects: list[Point] = []
        done: SimpleQueue[Any] = SimpleQueue()
        open_ = {self._submitted(point, done): point for point in left}
        try:
            while open_:
                future = self._next(done, len(open_))
                if future is None:
                    continue
                point = open_.pop(future)
                error = None if future.status == "finished" else self._error(future)
                if isinstance(error, KilledWorker):
                    suspects.append(point)
                elif error is not None:
                    words = f"on a Dask worker: {type(error).__name__}: {error}"
                    yield point.index, table.rows(point, {}, "failed", words)
                else:
                    yield point.index, self._taken(point, future)
        finally:
            with contextlib.suppress(Exception):  # of a scheduler that is gone
                self.client.cancel(list(open_))
        return suspects

    def _submitted(self, point: Point, done: SimpleQueue[Any]) -> Any:
        order = Order(point, self.keep, self.versions, self.directory)
        key = f"netsim-point-{point.index}-{uuid4().hex}"
        future = self.client.submit(at_worker, self.run_point, order, key=key, pure=False)
        future.add_done_callback(done.put)
        return future

    def _next(self, done: SimpleQueue[Any], waiting: int) -> Any:
        """The next future that is done; None where there was none for a while."""
        try:
            return done.get(timeout=LOOK)
        except Empty:
            self._look_at_workers(waiting)
            return None

    def _taken(self, point: Point, future: Any) -> list[table.Row]:
        rows, archive, there = future.result()
        if there != self.kernels:
            self._tell(
                f"a worker's OpenBLAS computes as for {there}, this one's as for {self.kernels}: last digits may "
                "differ. For the same bits set OPENBLAS_CORETYPE to one value everywhere"
            )
        if archive is not None:
            self.points.keep(point, archive)
        return rows

    def _error(self, future: Any) -> BaseException:
        if future.status != "error":  # cancelled, or lost
            raise ClusterGoneError("the Dask scheduler is gone")
        error = future.exception()
        assert error is not None
        return error

    def _look_at_workers(self, waiting: int) -> None:
        """Say when there are none, and when they are set up so that they wait for each other."""
        try:
            threads: Mapping[str, int] = self.client.nthreads()
        except Exception as error:  # whatever a connection that is gone raises
            raise ClusterGoneError(f"the Dask scheduler does not answer ({type(error).__name__})") from error
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
        if words not in self.told:
            self.told.add(words)
            self.progress.say(words)
