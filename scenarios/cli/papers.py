"""Command `netsim papers`: what the papers state, item by item, and what came of it."""

import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer
from rich.markup import escape
from rich.padding import Padding

from netsim.errors import ScenarioError
from scenarios.cli.options import AsJson, Jobs, command, given, taken
from scenarios.files.folders import written as file_written
from scenarios.render import terminal

if TYPE_CHECKING:
    from scenarios.cli.progress import Bars
    from scenarios.papers.items import Item, Paper

COLOURS = {"agrees": "green", "agrees in shape": "green", "differs": "bold red", "cannot be run": "yellow"}
FOLDER = Path("results/papers")


class _Ran(NamedTuple):
    """An item that was run: `expected` is the outcome that its paper's file has at this scale."""

    id: str
    scale: str
    outcome: str
    expected: str
    sentence: str
    seconds: float
    folder: str

    @property
    def surprising(self) -> bool:
        return self.outcome != self.expected


@command("papers", "netsim papers", "netsim papers cpgt-fig-3", "netsim papers dpp2 --run")
def _papers(
    names: Annotated[list[str] | None, taken(help="Items or papers. Default: all.")] = None,
    run: Annotated[bool, typer.Option("--run", help="Run all that are chosen, and compare the outcomes.")] = False,
    scale: Annotated[
        Literal["small", "paper"], typer.Option(help="Seconds and no network, or as the paper prints it.")
    ] = "small",
    folder: Annotated[Path, given(help="Folder of the items' results.")] = FOLDER,
    pages: Annotated[Path | None, given(help="Folder to write papers.md and claims.md to.")] = None,
    jobs: Jobs = -1,
    as_json: AsJson = False,
) -> None:
    """List what five papers state, item by item, with the outcome: agrees, agrees in shape, differs, cannot be run.

    An item that is named is shown whole and run: the scenario that repeats it, whose outcome is computed and compared
    with the one that is listed, the audits of the ledger, or in a clone the test that holds it.

    Exit status: 0 done, 1 an outcome is not the listed one, 2 wrong input, 70 a run failed, 130 interrupted.
    """
    from scenarios.papers.items import chosen
    from scenarios.papers.items import pages as written

    said, status = terminal.apart(as_json), terminal.DONE
    try:
        found = chosen(names or [])
        items = [item for paper in found for item in paper.items]
        named = [item for item in items if run or item.id in (names or ())]
        ran: list[_Ran] = []
        if runnable := [item for item in named if item.scenario is not None]:
            status = _run(runnable, scale, folder, jobs, ran, as_json)
    except ScenarioError as error:
        terminal.fail(error, options={"folder": "--folder"}, as_json=as_json)
    by_id = {one.id: one for one in ran}
    if as_json:
        pairs = [(paper, item) for paper in found for item in paper.items]
        terminal.write_document([_document(paper, item, by_id.get(item.id)) for paper, item in pairs])
    elif names and all(name in {item.id for item in items} for name in names):
        for item in items:
            _print_item(item, by_id.get(item.id))
            status = status or _evidence(item, folder)
    else:
        for paper in found:
            _print_paper(paper, by_id)
    if pages is not None:
        for name, text in written().items():
            try:
                with file_written(pages / name, "--pages", "a folder that can be written") as draft:
                    draft.write_text(text, encoding="utf-8")
            except ScenarioError as error:
                terminal.fail(error)
            said.print(f"Page: [bold]{escape(str(pages / name))}[/]", soft_wrap=True)
    for one in ran:
        if one.surprising:
            status = status or terminal.REFUTED
            other = f"{one.outcome} at scale {one.scale}, where {one.expected} is listed"
            terminal.remark(f"{one.id}: {other}: {one.sentence}")
    raise typer.Exit(status)


# ── running ─────────────────────────────────────────────────────────────────────────────────────────────
def _run(items: Sequence["Item"], scale: str, folder: Path, jobs: int, ran: list[_Ran], as_json: bool) -> int:
    """Run items into `ran`, as they end; the exit status. A single one spreads its variants over processes."""
    from scenarios.cli.progress import Bars

    said, status = terminal.apart(as_json), terminal.DONE
    with Bars(said) as bars:
        try:
            if len(items) == 1:
                ran.append(_one(items[0], scale, folder, jobs, bars))
                return status
            bars.begin(f"running {len(items)} items", len(items))
            for one in _each(items, scale, folder, jobs):
                if isinstance(one, _Ran):
                    ran.append(one)
                else:
                    terminal.remark(one)
                    status = terminal.FAILED
                bars.advance(1)
        except KeyboardInterrupt:
            terminal.remark("Interrupted: the folders hold what was done until then.")
            return terminal.INTERRUPTED
    return status


def _each(items: Sequence["Item"], scale: str, folder: Path, jobs: int) -> Iterator["_Ran | str"]:
    """Outcomes as they come, items spread over processes."""
    from joblib import Parallel, delayed  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)  # another takes its place
        yield from parallel(delayed(_guarded)(item, scale, folder) for item in items)  # pyright: ignore


def _guarded(item: "Item", scale: str, folder: Path) -> "_Ran | str":
    """An item's run, or why it failed: not every error can be passed between processes."""
    try:
        return _one(item, scale, folder, 1, None)
    except Exception as error:  # whatever it is: the other items go on
        return f"{item.id}: {type(error).__name__}: {error}"


def _one(item: "Item", scale: str, folder: Path, jobs: int, bars: "Bars | None") -> _Ran:
    from scenarios.schema.load import load_scenario, small
    from scenarios.stages.study import run_study

    assert item.scenario is not None
    located, place, start = load_scenario(item.scenario), folder / scale / item.id, time.monotonic()
    located = small(located) if scale == "small" else located
    again, page = f"netsim papers {item.id} --scale {scale}", bars is not None
    results = run_study(located, place, command=again, progress=bars, jobs=jobs, page=page)
    found, expected = results.reproduction, item.small if scale == "small" else item.outcome
    if results.status == "interrupted":
        raise KeyboardInterrupt
    outcome, why = ("not finished", "it reproduces nothing") if found is None else (found.outcome, found.sentence)
    return _Ran(item.id, scale, outcome, str(expected), why, time.monotonic() - start, str(place))


# ── showing ─────────────────────────────────────────────────────────────────────────────────────────────
def _document(paper: "Paper", item: "Item", ran: _Ran | None) -> dict[str, object]:
    """An item as `--json` has it: the fields of its file, its paper, the command that shows it, and the run."""
    known: dict[str, object] = {"paper": paper.key, **item.model_dump(mode="json"), "command": item.command}
    return known | {"ran": None if ran is None else ran._asdict()}


def _print_paper(paper: "Paper", ran: "dict[str, _Ran]") -> None:
    terminal.console.print(f"[bold cyan]{escape(paper.paper)}[/]", highlight=False)
    width = max(len(item.id) for item in paper.items)
    for item in paper.items:
        one = ran.get(item.id)
        outcome = item.outcome if one is None else one.outcome
        head = f"  [bold]{item.id:{width}}[/]  [{COLOURS.get(outcome, 'dim')}]{outcome}[/]"
        terminal.console.print(head + (f" [dim]({one.seconds:.0f} s)[/]" if one else ""), highlight=False)
        terminal.console.print(Padding(escape(item.in_short), (0, 0, 0, 6)), highlight=False)
    terminal.console.print()


def _print_item(item: "Item", ran: _Ran | None) -> None:
    console = terminal.console
    console.print(f"[bold]{escape(item.item)}[/] [dim]{escape(item.place)}[/]", highlight=False)
    console.print(Padding(escape(item.states), (0, 0, 1, 2)), highlight=False)
    if (claim := item.claim) is not None:
        console.print(f"  Formula: {escape(claim.formula)}", highlight=False)
        for one in claim.conditions:
            met = {True: "met", False: "[bold red]not met[/]", None: "cannot be told"}[one.met]
            console.print(f"  Condition {escape(one.condition)}: {met}. {escape(one.found)}", highlight=False)
        console.print()
    console.print(f"Outcome: [{COLOURS[item.outcome]}]{item.outcome}[/]. {escape(item.found)}", highlight=False)
    for what in item.missing:
        console.print(f"  Missing in the text: {escape(what)}", highlight=False)
    if ran is not None:
        console.print(
            f"Run at scale {ran.scale} ({ran.seconds:.0f} s): [{COLOURS.get(ran.outcome, 'dim')}]{ran.outcome}[/]. "
            f"{escape(ran.sentence)}",
            highlight=False,
        )
        terminal.print_page(Path(ran.folder))
    elif item.command is not None:
        console.print(f"See it: [bold]{escape(item.command)}[/]", highlight=False)


def _evidence(item: "Item", folder: Path) -> int:
    """Run what an item without a scenario rests on, in a process whose output is shown; the exit status."""
    root = Path(__file__).parents[2]
    if item.ledger is not None:
        words = ["scenarios.entry", "ledger", item.ledger, "--folder", str(folder.absolute() / "ledger")]
    elif item.test is not None and (root / item.test.partition("::")[0]).exists() and find_spec("pytest"):
        words = ["pytest", item.test]
    else:
        return terminal.DONE
    sys.stdout.flush()
    status = subprocess.run([sys.executable, "-m", *words], cwd=root, check=False).returncode
    return terminal.REFUTED if status and item.test is not None else status
