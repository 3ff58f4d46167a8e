"""Command `netsim data`: data sets, their place on disk, and how to fetch one."""

import os
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table

from netsim.errors import ScenarioError
from scenarios.cli import options
from scenarios.cli.options import AsJson
from scenarios.render.terminal import DONE, FAILED, WRONG_INPUT, apart, console, fail, problems, write, write_document
from scenarios.results.base import result

data = typer.Typer(help="Data sets by name: list them, fetch one, print their folder.", no_args_is_help=True)
PARTS = ("train", "test")
NAME = typer.Argument(
    help="A data set of `netsim data list`.", show_default=False, autocompletion=options.complete_data_set
)
PART = typer.Option(help="Only this part of the published split. Default: all parts.", show_default=False)


@data.command("list", epilog="Example: netsim data list")
def list_sets(as_json: AsJson = False) -> None:
    """List the data sets: records, dimension, source, and whether they are on this machine.

    Exit status: 0 done.
    """
    found = sets()
    if as_json:
        from scenarios.results.serialize import plain

        write_document({"data": [plain(one) for one in found], "folder": str(_folder())})
        return
    print_sets(found)
    console.print(f"\nThe data folder is [bold]{escape(str(_folder()))}[/].", highlight=False, soft_wrap=True)
    console.print("[bold]netsim data fetch NAME[/] downloads one that is absent.", highlight=False)


@data.command(epilog="Example: netsim data where")
def where(as_json: AsJson = False) -> None:
    """Print the folder of downloaded data sets: NETSIM_DATA, or netsim's among the user's caches.

    Exit status: 0 done.
    """
    from netsim.problems.data.cache import VARIABLE

    folder, given = _folder(), bool(os.environ.get(VARIABLE))
    if as_json:
        write_document({"folder": str(folder), "exists": folder.is_dir(), "variable": VARIABLE, "given": given})
        return
    write(str(folder))
    why = f"as {VARIABLE} says" if given else f"set {VARIABLE} for another"
    there = "" if folder.is_dir() else "; it is not there yet, a download makes it"
    problems.print(f"({why}{there})", highlight=False, soft_wrap=True)


@data.command(epilog="Example: netsim data fetch adult")
def fetch(
    name: Annotated[str, NAME],
    part: Annotated[Literal["train", "test"] | None, PART] = None,
    as_json: AsJson = False,
) -> None:
    """Download a data set into the data folder, check it against the published SHA-256, and read it once.

    Exit status: 0 it is there, 2 no such set, 70 it cannot be had (no network, or another file than published).
    """
    from netsim.problems.data import facts, is_kept

    try:
        facts(name)
        if name in ("libsvm", "csv"):
            raise ScenarioError("name", name, "a file of your own: there is nothing to fetch", "problem.data.path")
        if part is not None and is_kept(name):
            _has(name, part)
    except ScenarioError as error:
        fail(error, status=WRONG_INPUT, as_json=as_json)
    if not is_kept(name):
        apart(as_json).print(f"{name}: needs no file, there is nothing to fetch", highlight=False)
    else:
        _fetch(name, part, as_json)
    if as_json:
        from scenarios.results.serialize import plain

        write_document({"exit_status": DONE, **plain(_data_set(name))})


def _has(name: str, part: str) -> None:
    from netsim.problems.data import stored

    parts = [one.part for one in stored(name)]
    if part not in parts:
        raise ScenarioError("--part", part, f"{name} has no such part", ", ".join(parts))


def _fetch(name: str, part: str | None, as_json: bool) -> None:
    from netsim.problems.data import fetch as fetched
    from netsim.problems.data import stored
    from netsim.problems.data.cache import Cache
    from scenarios.cli.progress import Bars

    said = apart(as_json)
    for one in stored(name):
        if part not in (None, one.part):
            continue
        there = one.present
        try:
            with Bars(said, in_bytes=True) as bars:

                def told(new: int, size: int | None, which: str = one.part, bars: Bars = bars) -> None:
                    if new == 0:
                        bars.begin(f"{name}, {which}: downloading", size)
                    bars.advance(new)

                dataset = fetched(name, one.part, Cache(), told)
        except ScenarioError as error:
            fail(error, status=FAILED, as_json=as_json)
        verb = "is there" if there else "fetched and checked"
        said.print(
            f"{name}, {one.part}: {verb}: {dataset.records:,} records × {dataset.dimension:,}"
            + (f" ({escape(dataset.note)})" if dataset.note else ""),
            highlight=False, soft_wrap=True,
        )  # fmt: skip


@result
class Part:
    """A part of the published split."""

    part: str
    present: bool
    original: bool
    """Whether it is as published."""
    files: tuple[str, ...]


@result
class DataSet:
    """A data set and its parts on this machine."""

    name: str
    task: str
    records: int | None
    dimension: int | None
    source: str
    licence: str
    url: str | None
    kept: bool
    """Whether it has files."""
    present: bool | None
    """Whether it can be loaded here; null of a file of the user's own."""
    parts: tuple[Part, ...]

    @property
    def altered(self) -> bool:
        """Whether what is here is not as published."""
        return any(part.present and not part.original for part in self.parts)

    @property
    def here(self) -> str:
        """The parts that are here, in rich's markup."""
        if self.present is None:
            return "by path"
        if not self.present:
            return "[yellow]no[/]"
        there = [one.part for one in self.parts if one.present]
        names = "yes" if len(there) == len(self.parts) else f"{', '.join(there)} only"
        return f"[green]{names}[/]" + ("*" if self.altered else "")


def sets() -> list[DataSet]:
    """All data sets."""
    from netsim.problems.data import LOADERS

    return [_data_set(name) for name in LOADERS]


def _data_set(name: str) -> DataSet:
    from netsim.problems.data import OWN, facts, is_kept, stored

    known = facts(name)
    parts = [
        Part(part=one.part, present=one.present, original=one.original, files=tuple(map(str, one.files)))
        for one in stored(name)
    ]
    present = None if known.source == OWN else any(one.present for one in parts) if parts else True
    return DataSet(
        name=name,
        task=known.task,
        records=known.records,
        dimension=known.dimension,
        source=known.source,
        licence=known.licence,
        url=known.url,
        kept=is_kept(name),
        present=present,
        parts=tuple(parts),
    )


def print_sets(found: list[DataSet]) -> None:
    """Data sets as a table."""
    from scenarios.results.numbers import MISSING

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("data set", no_wrap=True, style="bold")
    table.add_column("records", justify="right", no_wrap=True)
    table.add_column("features", justify="right", no_wrap=True)
    table.add_column("description")
    table.add_column("licence", no_wrap=True)
    table.add_column("here", no_wrap=True)
    for one in found:
        counts = [MISSING if number is None else f"{number:,}" for number in (one.records, one.dimension)]
        table.add_row(one.name, *counts, escape(one.task), one.licence, one.here)
    console.print(table, highlight=False)
    console.print(
        "\nRecords are those of the training part, and of images those of the first two classes.", style="dim"
    )
    if any(one.altered for one in found):
        console.print("* in another form than published; results and reports say in which way", style="dim")


def _folder() -> Path:
    from netsim.problems.data.cache import folder

    return folder()
