"""Command `netsim data`: data sets, their place on disk, and how to fetch one."""

import os
from dataclasses import dataclass
from typing import Annotated, Literal

import typer
from rich.markup import escape

from netsim.errors import ScenarioError
from scenarios.cli.options import AsJson, DataSet, app, given
from scenarios.render.tables import Column, print_tables
from scenarios.render.terminal import (
    DONE,
    FAILED,
    apart,
    console,
    fail,
    print_place,
    problems,
    write,
    write_document,
)

_data = typer.Typer(help="Data sets by name: list them, fetch one, print their folder.", no_args_is_help=True)
app.add_typer(_data, name="data", rich_help_panel="Experiments")


@_data.command("list", epilog="Example: netsim data list")
def _list(as_json: AsJson = False) -> None:
    """List the data sets: records, dimension, source, and whether they are on this machine.

    Exit status: 0 done.
    """
    from netsim.problems.data.cache import folder

    if as_json:
        from scenarios.results.tree import plain

        write_document({"data": [plain(one) for one in sets()], "folder": str(folder())})
        return
    print_sets()
    console.print()
    print_place("The data folder:", folder())
    console.print("[bold]netsim data fetch NAME[/] downloads one that is absent.", highlight=False)


@_data.command("where", epilog="Example: netsim data where")
def _where(as_json: AsJson = False) -> None:
    """Print the folder of downloaded data sets: NETSIM_DATA, or netsim's among the user's caches.

    Exit status: 0 done.
    """
    from netsim.problems.data.cache import VARIABLE, folder

    place, chosen = folder(), bool(os.environ.get(VARIABLE))
    if as_json:
        write_document({"folder": str(place), "exists": place.is_dir(), "variable": VARIABLE, "given": chosen})
        return
    write(str(place))
    why = f"as {VARIABLE} says" if chosen else f"set {VARIABLE} for another"
    there = "" if place.is_dir() else "; it is not there yet, a download makes it"
    problems.say(f"({why}{there})")


@_data.command("fetch", epilog="Example: netsim data fetch adult")
def _fetch(
    name: DataSet,
    part: Annotated[
        Literal["train", "test"] | None, given(help="Only this part of the published split. Default: all parts.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Download a data set into the data folder, check it against the published SHA-256, and read it once.

    Exit status: 0 it is there, 2 no such set, 70 it cannot be had (no network, or another file than published).
    """
    from netsim.problems.data import facts, fetch, stored
    from netsim.problems.data.cache import Cache
    from scenarios.render.progress import Bars

    to_people = apart(as_json)
    facts(name)
    if name in ("libsvm", "csv"):
        raise ScenarioError("name", name, "a file of your own: there is nothing to fetch", "problem.data.path")
    parts = {one.part: one for one in stored(name)}
    if part is not None and parts and part not in parts:
        raise ScenarioError("--part", part, f"{name} has no such part", ", ".join(parts))
    if not parts:
        to_people.print(f"{name}: needs no file, there is nothing to fetch", highlight=False)
    for one in [parts[part]] if part in parts else parts.values():
        verb = "is there" if one.present else "fetched and checked"
        try:
            with Bars(to_people, in_bytes=True) as bars:

                def progress(new: int, size: int | None, part: str = one.part, bars: Bars = bars) -> None:
                    if new == 0:
                        bars.begin(f"{name}, {part}: downloading", size)
                    bars.advance(new)

                dataset = fetch(name, one.part, Cache(), progress)
        except ScenarioError as error:
            fail(error, status=FAILED, as_json=as_json)
        note = f" ({escape(dataset.note)})" if dataset.note else ""
        sentence = f"{name}, {one.part}: {verb}: {dataset.records:,} records × {dataset.dimension:,}{note}"
        to_people.say(sentence)
    if as_json:
        from scenarios.results.tree import plain

        write_document({"exit_status": DONE, **plain(_data_set(name))})


@dataclass(frozen=True, kw_only=True)
class _Part:
    part: str
    present: bool
    original: bool
    """Whether it is as published."""
    files: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _DataSet:
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
    parts: tuple[_Part, ...]

    @property
    def altered(self) -> bool:
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


def sets() -> list[_DataSet]:
    """All data sets."""
    from netsim.problems.data import LOADERS

    return [_data_set(name) for name in LOADERS]


def _data_set(name: str) -> _DataSet:
    from netsim.problems.data import OWN, facts, stored
    from scenarios.results.base import taken

    known = facts(name)
    parts = tuple(taken(_Part, one, files=tuple(map(str, one.files))) for one in stored(name))
    present = None if known.source == OWN else any(one.present for one in parts) if parts else True
    return taken(_DataSet, known, name=name, kept=bool(parts), present=present, parts=parts)


def print_sets() -> None:
    """Data sets as a table."""
    from scenarios.results.numbers import MISSING

    found = sets()
    counts = [
        [MISSING if number is None else f"{number:,}" for number in (one.records, one.dimension)] for one in found
    ]
    columns = [
        Column("data set", [f"[bold]{escape(one.name)}[/]" for one in found], whole=True),
        Column("records", [records for records, _ in counts], right=True, whole=True),
        Column("features", [features for _, features in counts], right=True, whole=True),
        Column("description", [escape(one.task) for one in found], at_least=12),
        Column("licence", [escape(one.licence) for one in found], at_least=11),
        Column("here", [one.here for one in found], whole=True),
    ]
    print_tables(columns[0], [columns[1:]], console)
    console.print(
        "Records are those of the training part, and of images those of the first two classes.", style="dim"
    )
    if any(one.altered for one in found):
        console.print("* in another form than published; results and reports say in which way", style="dim")
