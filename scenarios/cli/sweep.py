"""Command `netsim sweep`."""

import shlex
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from netsim.errors import ScenarioError, install
from scenarios.cli.options import Settings, command, dated_folder, given, processes, repeated
from scenarios.files.folders import SWEPT
from scenarios.render.terminal import DONE, FAILED, INTERRUPTED, console, fail, interrupted, problems

if TYPE_CHECKING:
    from scenarios.sweep.run import SweepReport

SHOWN = {"final_error": 2, "epsilon_claimed": 3, "verdict": 0, "gradient_error": 1}
"""Columns, and in which order they go where there is no room; 0: never."""
HEADS = {"final_error": "final error", "epsilon_claimed": "ε claimed", "gradient_error": "gradient error"}
_WAIT = 15.0
"""Seconds to wait for a scheduler's file."""
MOST = 24
"""Rows on the terminal; the table has all."""


@command("sweep", "netsim sweep sweep.yaml --out results/sweep")
def _sweep(
    file: Annotated[str, typer.Argument(help="A YAML file of the fields to vary; see docs/sweeps.md.")],
    out: Annotated[Path | None, given(help="The results folder. Default: results/NAME/sweep-DATE-TIME.")] = None,
    jobs: Annotated[int, processes(help="Processes; -1: one per core.")] = -1,
    cluster: Annotated[
        str | None, given(help="Address or scheduler file (.json) of a Dask scheduler whose workers run the points.")
    ] = None,
    shard: Annotated[
        str | None,
        given(metavar="I/N", help="Run only share I of N, as 3/8: for N jobs that share the folder --out."),
    ] = None,
    option: Settings = None,
) -> None:
    """Run a scenario at many points, into one Parquet table.

    The same command with the same folder continues an interrupted sweep. Exit status: 0 done, 2 wrong input,
    70 some points failed (the table has their errors), 130 interrupted.
    """
    from scenarios.cli.progress import Bars
    from scenarios.files.library import library, read_text, setting_of
    from scenarios.schema.load import load_scenario
    from scenarios.sweep.points import Shard, load_sweep
    from scenarios.sweep.run import run_sweep

    try:
        share = None if shard is None else Shard.read(shard)
        if share is not None and out is None:
            raise ScenarioError("--shard", shard, "needs the folder that all shares have in common", "--out FOLDER")
        text = library()[file] if file in library() and not Path(file).exists() else read_text(Path(file))
        spec = load_sweep(text, file)
        shipped = spec.scenario in library()  # a path starts at the sweep's file
        for path, value in map(setting_of, option or []):
            if path in spec.grid or path in spec.random:
                raise ScenarioError(f"-o {path}", value, "the sweep varies it", "a field that it does not vary")
        base = load_scenario(spec.scenario if shipped else str(Path(file).parent / spec.scenario), option or [])
        folder = out or dated_folder(base.scenario.name, "sweep-")
        chosen = {"--jobs": None if jobs == -1 else str(jobs), "--cluster": cluster, "--shard": shard}
        again = f"{repeated('netsim sweep', file, option or [])} --out {shlex.quote(str(folder))}"
        client = None if cluster is None else _client(cluster)
        with Bars(console) as bars, client or nullcontext():
            found = run_sweep(spec, base, folder, jobs=jobs, client=client, shard=share, command=again, progress=bars)
    except ScenarioError as error:
        fail(error, options={"shard": "--shard", "folder": "--out"})
    _print(found, [*spec.grid, *spec.random], [one.name for one in base.scenario.algorithms])
    for one in [one for one in found.results if one.point in found.failed][:MOST]:
        problems.print(f"[bold red]point {one.point} failed[/]: {escape(str(one.error))}", highlight=False)
    if found.there:
        console.print(f"\nTable: [bold]{escape(str(folder / SWEPT))}[/]", soft_wrap=True)
        console.print(f"Page:  netsim report {escape(shlex.quote(str(folder)))}", highlight=False, soft_wrap=True)
    if share is not None:
        console.print(f"It has {found.there} of the sweep's {found.all} points", highlight=False)
        if found.there < found.all:
            words = "The others come with the other shares; whatever is missing then, with:"
            console.print(f"{words} [bold]{escape(again)}[/]", highlight=False, soft_wrap=True)
    if found.status == "interrupted":
        on = "".join(f" {name} {shlex.quote(value)}" for name, value in chosen.items() if value is not None)
        interrupted("the folder has the points that were done", again + on)
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(FAILED if found.failed else DONE)


def _client(address: str) -> Any:
    """You get a `ScenarioError` without the extra, and where nobody answers."""
    try:
        from distributed import Client
    except ImportError:
        why = "needs Dask, which is not installed"
        raise ScenarioError("--cluster", address, why, install("cluster")) from None
    make: Any = Client
    file = Path(address) if address.endswith(".json") else None
    end = time.monotonic() + _WAIT
    while file is not None and not file.exists():  # a scheduler that was just started writes it soon
        if time.monotonic() > end:
            why = f"no such file, also after {_WAIT:g} s"
            raise ScenarioError("--cluster", str(file), why, "what `dask scheduler --scheduler-file` wrote")
        time.sleep(0.2)
    try:
        return make(**{"address" if file is None else "scheduler_file": address}, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise ScenarioError("--cluster", address, f"no Dask scheduler answers ({error})", "tcp://HOST:8786") from None


def _print(found: "SweepReport", varied: Sequence[str], algorithms: Sequence[str]) -> None:
    from scenarios.render.terminal import Column, fitted, leaves
    from scenarios.results.numbers import MISSING, show

    ordered = sorted(found.results, key=lambda one: one.point)
    rows: list[dict[str, object]] = [{**one.fields, **row} for one in ordered for row in one.rows]

    def cell(value: object) -> str:
        return show(value) if isinstance(value, float) else MISSING if value is None else escape(str(value))

    def column(name: str, head: str, **how: Any) -> Column:
        return Column(head, [cell(row.get(name)) for row in rows[:MOST]], **how)

    several = len({row.get("algorithm") for row in rows}) > 1
    shown = [(name, rank) for name, rank in SHOWN.items() if any(row.get(name) is not None for row in rows)]
    columns = [
        column("point", "point", right=True, whole=True),
        *(
            column(name, head, spared=99 - k)
            for k, (name, head) in enumerate(zip(varied, leaves(varied, algorithms), strict=True))
        ),
        *([column("algorithm", "algorithm", at_least=10)] if several else []),
        *(column(name, HEADS.get(name, name), whole=True, spared=rank) for name, rank in shown),
    ]
    if rows:
        console.print(fitted(columns, console))
    if len(rows) > MOST:
        console.print(f"{len(rows) - MOST} more rows are in the table.")
    console.print(f"{found.complete} of {found.points} points done", highlight=False)
