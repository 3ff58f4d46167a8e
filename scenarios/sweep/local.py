# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (joblib ships no types)
"""The points of a sweep in processes of this machine."""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import ProcessPoolExecutor, TerminatedWorkerError

from scenarios.sweep import table
from scenarios.sweep.folder import Points
from scenarios.sweep.points import Point
from scenarios.telling import Progress

DEATHS = 2
"""So often a pool whose worker was killed begins anew before the points that are left run one by one."""
KILLED = "its process was killed: out of memory, perhaps"
ONE_BY_ONE: dict[str, Any] = {"batch_size": 1}


class RunPoint(Protocol):
    """Runs a point, into a folder to keep or none: its number and its rows."""

    def __call__(self, point: Point, keep: Path | None) -> tuple[int, list[table.Row]]: ...


class Processes:
    """Runs points in `jobs` processes (−1: one per core). A worker that is killed takes no other point with it."""

    def __init__(self, run_point: RunPoint, jobs: int, points: Points, keep: bool, progress: Progress) -> None:
        self.run_point, self.jobs, self.points, self.progress = run_point, jobs, points, progress
        self.keep = keep

    def each(self, left: Sequence[Point]) -> Iterator[tuple[int, list[table.Row]]]:
        """As they are done."""
        open_ = {point.index: point for point in left}
        for _ in range(DEATHS):
            try:
                for index, rows in self._together(list(open_.values())):
                    del open_[index]
                    yield index, rows
                return
            except TerminatedWorkerError:
                self.progress.say("a worker was killed: the points that are left are tried again")
        for point in open_.values():
            yield point.index, self._alone(point)

    def _together(self, left: Sequence[Point]) -> Iterator[tuple[int, list[table.Row]]]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="A worker stopped")
            work = (delayed(self.run_point)(point, self._kept(point)) for point in left)
            pool: Any = Parallel(n_jobs=self.jobs, return_as="generator_unordered", **ONE_BY_ONE)
            yield from pool(work)

    def _alone(self, point: Point) -> list[table.Row]:
        """In a process of its own, so that whoever kills it is known."""
        executor: Any = ProcessPoolExecutor(max_workers=1)
        try:
            return executor.submit(self.run_point, point, self._kept(point)).result()[1]
        except TerminatedWorkerError:
            return table.rows(point, {}, "failed", KILLED)
        finally:
            executor.shutdown(wait=False, kill_workers=True)

    def _kept(self, point: Point) -> Path | None:
        return self.points.kept(point) if self.keep else None
