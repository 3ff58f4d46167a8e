"""Run a sweep: in processes of this machine, on a Dask cluster, or in shares by jobs of their own.

A point that is done is in `points/`, and not done again by the same command; one that fails is a row that says so.
The table does not depend on how many worked on it: every point's run depends on its scenario alone.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from joblib import parallel_config
from threadpoolctl import threadpool_limits

from netsim.errors import NetsimError, ScenarioError
from scenarios.loader import Located, validated
from scenarios.runner import run_scenario
from scenarios.sweep import table
from scenarios.sweep.cluster import Cluster, ClusterGoneError
from scenarios.sweep.folder import DONE, MANIFEST, TABLE, Points, prepare
from scenarios.sweep.local import Processes
from scenarios.sweep.points import Point, points
from scenarios.sweep.shards import Shard
from scenarios.sweep.spec import Sweep
from scenarios.telling import Progress, Silent

__all__ = ["DONE", "MANIFEST", "TABLE", "Report", "one_point", "run_sweep"]
Report = dict[str, Any]


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
) -> Report:
    """Run all points into `folder`/sweep.parquet; returns how many are `complete` and `failed`, and the `status`.

    `jobs` processes (−1: one per core), or the workers of a Dask `client`. With a `shard` it runs that share of the
    points alone: `points`, `complete`, `failed` and `rows` are of the share, `all` is how many the sweep has, and
    `there` how many of these the table has by now. Shares may run at the same time in the same folder; when the last
    of them ends the table has all. You get a `ScenarioError` before anything runs for a point that does not fit the
    schema, and for a folder that holds another sweep. A Ctrl-C ends it: "interrupted", and the table has what was
    done; the same call goes on. It ends so too when a cluster's scheduler is gone.
    """
    if jobs == 0 or jobs < -1:
        raise ScenarioError("jobs", jobs, "not a number of processes", "-1 (one per core), or >= 1")
    found = points(sweep, base)
    prepare(folder, sweep, base, command)
    kept = Points(folder, found, [*sweep.grid, *sweep.random])
    share = found if shard is None else shard.share(found)
    telling = progress or Silent()
    workers = (
        Processes(one_point, jobs, kept, sweep.keep, telling)
        if client is None
        else Cluster(one_point, client, kept, sweep.keep, telling)
    )
    return _run(share, kept, workers, telling, "" if shard is None else f"share {shard}: ")


def _run(
    share: Sequence[Point], kept: Points, workers: Processes | Cluster, progress: Progress, whose: str
) -> Report:
    known = {point.index: rows for point in share if (rows := kept.rows(point)) is not None}
    rows = {index: found for index, found in known.items() if found[0]["status"] == "complete"}
    left = [point for point in share if point.index not in rows]
    for point in left:
        kept.forget(point)
    by_index = {point.index: point for point in left}
    already = f", {len(rows)} of them known" if rows else ""
    progress.begin(f"{whose}{len(share)} points{already}", len(left))
    status = "complete"
    try:
        for index, found in workers.each(left):
            kept.add(by_index[index], found)
            rows[index] = found
            progress.advance(1)
    except KeyboardInterrupt:
        status = "interrupted"
    except ClusterGoneError as error:
        progress.say(str(error))
        status = "interrupted"
    there = kept.write_table()
    failed = sorted(index for index, found in rows.items() if found[0]["status"] != "complete")
    counts = {"points": len(share), "complete": len(rows) - len(failed), "failed": failed}
    counts |= {"all": len(kept.points), "there": there}
    return {"status": status, **counts, "rows": [row for found in rows.values() for row in found]}


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
