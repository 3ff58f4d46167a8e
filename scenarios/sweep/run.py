# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (joblib ships no types)
"""Run a sweep: in processes of this machine, or on a Dask cluster, by the same call.

A point that is done is in `points/`, and not done again by the same command; one that fails is a row that says so.
The table does not depend on how many worked on it: every point's run depends on its scenario alone.
"""

import json
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import ProcessPoolExecutor, TerminatedWorkerError
from threadpoolctl import threadpool_limits

from netsim.errors import NetsimError, ScenarioError
from scenarios import describe
from scenarios.jsonfile import write_json
from scenarios.kept import as_numbers
from scenarios.loader import Located, validated
from scenarios.runner import run_scenario
from scenarios.sweep import table
from scenarios.sweep.points import Point, points
from scenarios.sweep.spec import Sweep
from scenarios.telling import Progress, Silent

MANIFEST, TABLE, DONE = "sweep.json", "sweep.parquet", "points"
DEATHS = 2
"""So often a pool whose worker was killed begins anew before the points that are left run one by one."""
ONE_BY_ONE: dict[str, Any] = {"batch_size": 1}
Report = dict[str, Any]


def run_sweep(
    sweep: Sweep,
    base: Located,
    folder: Path,
    *,
    jobs: int = -1,
    client: Any = None,
    command: str = "",
    progress: Progress | None = None,
) -> Report:
    """Run all points into `folder`/sweep.parquet; returns how many are `complete` and `failed`, and the `status`.

    `jobs` processes (−1: one per core), or the workers of a Dask `client`. You get a `ScenarioError` before anything
    runs for a point that does not fit the schema, and for a folder that holds another sweep. A Ctrl-C ends it:
    "interrupted", and the table has what was done; the same call goes on.
    """
    if jobs == 0 or jobs < -1:
        raise ScenarioError("jobs", jobs, "not a number of processes", "-1 (one per core), or >= 1")
    found = points(sweep, base)
    _prepare(folder, sweep, base, command)
    return _Run(sweep, found, folder, jobs, client, progress or Silent()).run()


def _prepare(folder: Path, sweep: Sweep, base: Located, command: str) -> None:
    """The folder with its manifest; one of the same sweep is gone on with."""
    own = {"sweep": sweep.model_dump(mode="json"), "scenario": base.scenario.model_dump(mode="json")}
    own |= {"versions": describe.versions()}
    path = folder / MANIFEST
    try:
        (folder / DONE).mkdir(parents=True, exist_ok=True)
        if path.exists():
            before = json.loads(path.read_text(encoding="utf-8"))
            if any(before.get(key) != value for key, value in own.items()):
                why = "holds the results of another sweep, scenario or version"
                raise ScenarioError("folder", str(folder), why, "a new or empty folder, or the one of this sweep")
        elif [one for one in folder.iterdir() if one.name != DONE]:
            raise ScenarioError("folder", str(folder), "holds files that are no sweep's", "a new or empty folder")
        write_json(path, own | {"command": command})
    except OSError as error:
        why = f"cannot be written ({error.strerror or error})"
        raise ScenarioError("folder", str(folder), why, "a folder to write to") from None


class _Run:
    def __init__(
        self, sweep: Sweep, found: Sequence[Point], folder: Path, jobs: int, client: Any, progress: Progress
    ) -> None:
        self.sweep, self.points, self.folder, self.jobs, self.client = sweep, found, folder, jobs, client
        self.progress = progress
        self.rows: dict[int, list[table.Row]] = {}

    def run(self) -> Report:
        self.rows = {k: rows for k in range(len(self.points)) if (rows := self._known(k)) is not None}
        left = [point for point in self.points if point.index not in self.rows]
        known = f", {len(self.rows)} of them known" if self.rows else ""
        self.progress.begin(f"{len(self.points)} points{known}", len(left))
        status = "complete"
        try:
            for index, rows in self._all(left):
                write_json(self._place(index), {"rows": rows})
                self.rows[index] = rows
                self.progress.advance(1)
        except KeyboardInterrupt:
            status = "interrupted"
        found = [row for rows in self.rows.values() for row in rows]
        if found:
            table.write(found, [*self.sweep.grid, *self.sweep.random], self.folder / TABLE)
        failed = [k for k, rows in self.rows.items() if rows[0]["status"] != "complete"]
        counts = {"points": len(self.points), "complete": len(self.rows) - len(failed), "failed": sorted(failed)}
        return {"status": status, **counts, "rows": found}

    def _place(self, index: int) -> Path:
        return self.folder / DONE / f"{index:06d}.json"

    def _known(self, index: int) -> list[table.Row] | None:
        """What a former call found, if it did not fail: a failed point is tried again."""
        try:
            read = json.loads(self._place(index).read_text(encoding="utf-8"))["rows"]
            rows = cast("list[table.Row]", as_numbers(read))
        except (OSError, ValueError, KeyError):
            return None
        return rows if rows[0]["status"] == "complete" else None

    def _all(self, left: list[Point]) -> Iterator[tuple[int, list[table.Row]]]:
        """As they are done. A worker that is killed takes no other point with it."""
        open_ = {point.index: point for point in left}
        for _ in range(DEATHS):
            try:
                for index, rows in self._spread(list(open_.values())):
                    del open_[index]
                    yield index, rows
                return
            except TerminatedWorkerError:
                self.progress.say("a worker was killed: the points that are left are tried again")
        for point in open_.values():
            yield point.index, self._alone(point)

    def _spread(self, left: Sequence[Point]) -> Iterator[tuple[int, list[table.Row]]]:
        with ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("ignore", message="A worker stopped")
            jobs = self.jobs
            if self.client is not None:
                stack.enter_context(parallel_config(backend="dask", client=self.client))
                jobs = -1
            work = (delayed(one_point)(point, self._keep(point)) for point in left)
            pool: Any = Parallel(n_jobs=jobs, return_as="generator_unordered", **ONE_BY_ONE)
            yield from pool(work)

    def _alone(self, point: Point) -> list[table.Row]:
        """In a process of its own, so that whoever kills it is known."""
        executor: Any = ProcessPoolExecutor(max_workers=1)
        try:
            return executor.submit(one_point, point, self._keep(point)).result()[1]
        except TerminatedWorkerError:
            return table.rows(point, {}, "failed", "its process was killed: out of memory, perhaps")
        finally:
            executor.shutdown(wait=False, kill_workers=True)

    def _keep(self, point: Point) -> Path | None:
        return self.folder / f"{point.index:06d}" if self.sweep.keep else None


def one_point(point: Point, keep: Path | None) -> tuple[int, list[table.Row]]:
    """Run one point, in one thread; its error in words in place of raising it.

    Its own loops stay in this process: in a worker of Dask, joblib would hand them to the cluster again.
    """
    with tempfile.TemporaryDirectory() as nowhere, threadpool_limits(1), parallel_config("sequential"):
        folder = keep or Path(nowhere) / "run"
        try:
            results = run_scenario(validated(dict(point.tree), ""), folder, part=True, page=keep is not None)
        except Exception as error:  # whatever it is: the others go on
            words = str(error) if isinstance(error, NetsimError) else f"{type(error).__name__}: {error}"
            return point.index, table.rows(point, {}, "failed", words)
        if results["status"] != "complete":
            raise KeyboardInterrupt
        return point.index, table.rows(point, results, "complete", None)
