"""Verdicts of a run, and findings of attacks on a recorded transcript, in the terminal."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from scenarios.render import sentences
from scenarios.render import sentences as traffic_told
from scenarios.render.terminal import Column, console, fitted, problems
from scenarios.results import former_findings as findings
from scenarios.results import former_inference as decisions
from scenarios.results import former_measures as progress
from scenarios.results import former_reconstructions as defences
from scenarios.results import loss_breakdown as anatomy
from scenarios.results import views as views_described

Results = dict[str, Any]


def print_recorded_attack(told: Sequence[Results]) -> None:
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


COLOURS = {
    "refuted": "bold red",
    "unprotected": "bold red",
    "consistent": "green",
    "underpowered": "yellow",
    "vacuous": "yellow",
    "undefined": "yellow",
}


COSTS = {
    "plf": ("Θ", 0),
    "count": ("closed", 1),
    "messages": ("messages", 0),
    "bytes": ("bytes", 3),
    "queries": ("queries", 2),
    "time": ("seconds", 4),
}
"""What is shown of costs: its heading, and in which order they go where there is no room; 0: never."""


def print_verdicts(results: Results) -> None:
    _print_network(results)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("algorithm", overflow="fold")
    for column in ("ε claimed", "ε exact", "ε audited"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for entry in results["algorithms"]:
        audit: Results = entry["audit"] or {}
        verdict, style = _verdict(entry)
        table.add_row(
            escape(entry["name"]),
            sentences.number(audit.get("epsilon_claimed")),
            _exact(audit.get("epsilon_exact")),
            f"≥ {sentences.number(audit['epsilon_audited'])}" if "epsilon_audited" in audit else "–",
            f"[{style}]{verdict}[/]" + ("*" if findings.outside_model(entry) else ""),
        )
    console.print(table)
    if any(map(findings.outside_model, results["algorithms"])):
        console.print("* outside the paper's threat model: an active adversary meddled\n", highlight=False)
    if (audited := findings.auditor(results)) is not None:
        console.print(f"{audited}\n", highlight=False)
    for entry in results["algorithms"]:
        _print_findings(results, entry)
    _print_costs(results)


def print_witnesses(results: Results, folder: Path) -> None:
    """Where the transcripts are that break a claim, or show that nothing is protected where no number is claimed."""
    found: list[tuple[Path, Results, Results]] = [
        (folder, entry, entry.get("audit") or {}) for entry in results.get("algorithms", [])
    ]
    for variant in results.get("variants", []):
        found += [(folder / variant["name"], entry, entry) for entry in variant["algorithms"]]
    for place, entry, audit in found:
        if name := audit.get("witness"):
            named, claimed = escape(entry["name"]), audit.get("epsilon_claimed")
            number = claimed is not None and math.isfinite(float(claimed))
            shows = f"breaks the claim of {named}" if number else f"shows it ({named})"
            console.print(
                f"A transcript that {shows}: [bold]netsim witness {escape(str(place / name))}[/]",
                highlight=False, soft_wrap=True,
            )  # fmt: skip


def print_variants(results: Results) -> None:
    """A row for each variant and algorithm, and what failed."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("variant", "algorithm"):
        table.add_column(column, overflow="fold")
    for column in ("final error", "ε claimed", "gradient error"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for variant in results["variants"]:
        for entry in variant["algorithms"]:
            table.add_row(
                escape(variant["name"]), escape(entry["name"]), sentences.number(entry["final"]),
                sentences.number(entry["epsilon_claimed"]), sentences.number(entry["gradient_error"]),
                entry["verdict"] or "–",
            )  # fmt: skip
    console.print(table)
    for variant in results["variants"]:
        if variant["status"] not in ("complete", "interrupted", "not reached"):
            words = f"{variant['name']}: {variant['status']}: {variant['error']}".removeprefix(": ")
            problems.print(f"[bold red]{escape(words)}[/]", highlight=False, soft_wrap=True)


def _print_network(results: Results) -> None:
    """What is not by default in the network, a row each."""
    net: Results = results["network"]
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for term, text in [("network", net["name"]), *net["settings"]]:
        table.add_row(escape(term), escape(text))
    console.print(table, highlight=False)


def _print_findings(results: Results, entry: Results) -> None:
    verdict, style = _verdict(entry)
    console.print(f"[bold]{escape(entry['name'])}[/]: [{style}]{verdict}[/]", highlight=False)
    if (caution := findings.caution(entry)) is not None:
        console.print(Padding(f"[bold yellow]{escape(caution)}[/]", (0, 0, 0, 2)), highlight=False)
    said = [
        findings.sentence(entry),
        sentences.searched(entry),
        sentences.stopped(entry, results),
        sentences.games(entry),
        anatomy.loss_sentence(entry.get("over_time")),
        sentences.ending(entry),
        sentences.traffic(entry),
        sentences.gradients(entry["gradients"], findings.listener(results)),
        *traffic_told.traffic_sentences(entry.get("traffic_analysis")),
        findings.deadline_note(results, entry),
        sentences.images(entry["images"]),
        *defences.lines(entry.get("reconstructions")),
        *decisions.lines(entry),
        *views_described.lines(entry.get("views"), findings.exact_loss_refutes(entry)),
    ]
    for sentence in filter(None, said):
        console.print(Padding(escape(str(sentence)), (0, 0, 0, 2)), highlight=False)


def _print_costs(results: Results) -> None:
    """What it cost to reach each accuracy that was reached, and a sentence about those that were not."""
    rows = progress.rows(results["algorithms"])
    if all(accuracy is None for _, accuracy, _ in rows):
        return
    reached = [row for row in rows if any(value is not None for value in row[2])]
    measure = results["scenario"]["measures"]["measure"].replace("_", " ")
    if reached:
        _print_reached(reached, measure)
    missed: dict[str, str | None] = dict.fromkeys((name for name, _, _ in rows), None)
    for name in missed:
        some = [
            sentences.number(one) for who, one, values in rows if who == name and values.count(None) == len(values)
        ]
        none = not any(who == name for who, _, _ in reached)
        missed[name] = f"{name} (none)" if none else f"{name} ({', '.join(some)})" if some else None
    if told := list(filter(None, missed.values())):
        console.print(f"Accuracies not reached: {'; '.join(told)}.", highlight=False, markup=False)


def _print_reached(rows: list[progress.Row], measure: str) -> None:
    keys = [key for key, _, _ in progress.COLUMNS]
    names = [escape(row[0]) if k == 0 or rows[k - 1][0] != row[0] else "" for k, row in enumerate(rows)]
    columns = [
        Column("algorithm", names, at_least=24),
        Column("accuracy", [sentences.number(accuracy) for _, accuracy, _ in rows], right=True, whole=True),
    ]
    for key, (head, spared) in COSTS.items():
        cells = [sentences.amount(values[keys.index(key)]) for _, _, values in rows]
        columns.append(Column(head, cells, right=True, whole=True, spared=spared))
    console.print(fitted(columns, console))
    console.print(
        f"What it cost until the {measure} stayed at an accuracy. Θ: PLF, LCI, the most activations or rounds of one "
        "agent; closed: rounds, or activations in all; bytes: all on the air; queries: of all agents.",
        highlight=False,
    )


def _verdict(entry: Results) -> tuple[str, str]:
    from scenarios.render.sentences import word

    return word(entry), COLOURS.get(word(entry), "dim")


def _exact(interval: Results | None) -> str:
    if interval is None:
        return "–"
    if interval["lower"] == interval["upper"]:
        return sentences.number(interval["estimate"])
    return f"{sentences.number(interval['lower'])} … {sentences.number(interval['upper'])}"
