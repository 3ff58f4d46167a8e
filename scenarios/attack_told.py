"""What attacks on kept transcripts found, in the terminal."""

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from scenarios import sentences
from scenarios.terminal import console

Results = dict[str, Any]


def print_told(told: Sequence[Results]) -> None:
    """A block for each algorithm: its gradients, and its records."""
    for one in told:
        console.print(f"\n[bold]{escape(one['algorithm'])}[/]", highlight=False)
        if one.get("refused"):
            _line(one["refused"])
            continue
        several = "first replica" if one["replicas"] == 1 else f"{one['replicas']} replicas"
        _line(f"{one['rows']:,} rows heard ({several}): {one['transcript']}")
        _gradients(one["gradients"])
        _truth(one["truth"])
        if one["reconstructions"] is not None:
            _records(one["reconstructions"])
        _others(one)


def _gradients(found: Results) -> None:
    if found["refused"]:
        _line(f"No gradient was inferred: {found['refused']}")
        return
    if "asked" not in found:
        silent = found["inferred"].count(0)
        of = f", of {silent} agents none" if silent else ""
        _line(f"{found['estimated']:,} gradients estimated, {found['exact']:,} of them exactly{of}.")
    else:
        of = f"{found['estimated']:,} of {found['asked']:,} private gradients estimated"
        error = f"relative error: median {_number(found['median'])}, worst {_number(found['worst'])}"
        _line(f"{of}; {error} ({_number(found['baseline'])} for who knows only the public quadratic term).")
    _line(f"Estimates: {found['estimates']}")


def _truth(truth: Results | None) -> None:
    if truth is None:
        return
    if truth["remade"]:
        _line(f"Scored: the truth was made again from the seed, in {truth['seconds']:.1f} s, with the same messages.")
    elif truth["why_not"] != "not asked for":
        _line(f"Not scored: {truth['why_not']}.")
    else:
        _line("Not scored: the truth is not in a transcript (--score makes it again from the seed).")


def _records(found: Results) -> None:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("attack on records")
    table.add_column("verdict")
    for name in ("skill", "MSE", "rebuilt"):
        table.add_column(name, justify="right", no_wrap=True)
    refused: list[str] = []
    for one in found["attacks"]:
        if one["refused"]:
            refused.append(f"{one['attack']}: refused: {one['refused']}")
            continue
        hits: Results = one.get("success") or {}
        table.add_row(
            escape(one["attack"]), one["verdict"] or _seen(one), _number(one.get("skill")), _number(one.get("mse")),
            f"{hits['count']} of {hits['of']}" if hits else "–",
        )  # fmt: skip
    if table.row_count:
        console.print(table)
    for line in refused:
        _line(line)
    if found["sentence"]:
        _line(found["sentence"])
    if found["records"]:
        _line(f"Records: {found['records']}")


def _others(one: Results) -> None:
    """What rebuilds nothing: traffic, membership, a property."""
    traffic: Results = one["traffic_analysis"] or {}
    for line in traffic.get("sentences", []):
        _line(line)
    for name in ("membership", "property"):
        if one[name] is not None:
            _line(one[name]["sentence"])


def _seen(one: Results) -> str:
    """What the attacker says itself, without the truth: of agents and replicas."""
    counted: dict[str, int] = one.get("seen") or {}
    said = ", ".join(f"{count} × {word}" for word, count in counted.items())
    return f"by itself: {said}" if said else "not scored"


def _number(value: Any) -> str:
    return "–" if value is None else sentences.number(value)


def _line(text: str) -> None:
    console.print(f"  {text}", highlight=False, markup=False, soft_wrap=True)
