"""Command `netsim witness`."""

import json
import math
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.markup import escape

from netsim.errors import ScenarioError, brief, install
from netsim.shown import show, show_epsilon
from scenarios.cli.options import command, given, taken
from scenarios.files.folders import written
from scenarios.render.tables import Column, print_tables
from scenarios.render.terminal import (
    DONE,
    REFUTED,
    WRONG_INPUT,
    console,
    fail,
    line,
    problems,
    remark,
    visible,
    write_document,
)

if TYPE_CHECKING:
    from attacks.audit.witness import Account
    from scenarios.stages.witness import Confirmation
    from scenarios.stages.witness_file import WitnessFile

ROWS, AROUND = 24, 4
"""So many releases are all shown; of more, so many at either end and on either side of what matters."""
TINY = 1e-9
"""Smaller numbers are shown as ~0."""
NAMED = 4
"""Receivers that are named one by one."""


@command("witness", "netsim witness results/eq-23/even/witness-diadsp.json")
def _witness(
    file: Annotated[Path, taken(help="A witness-….json of a results folder.")],
    every: Annotated[bool, typer.Option("--all", help="Show every release of a long transcript.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with all releases.")] = False,
    prove: Annotated[
        bool, typer.Option("--prove", help="Prove it in ball arithmetic, with the checker that also runs alone.")
    ] = False,
    trust_code: Annotated[
        bool,
        typer.Option(
            "--trust-code", help="Run the code that the witness carries, where it is not here: it is printed first."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        given(
            help="Write what the checker read here, for others: it holds the agent's records. Code of one's own goes "
            "to a folder beside it."
        ),
    ] = None,
) -> None:
    """Replay a transcript that refutes a claim (at δ > 0: a set), and compute its loss again. Nothing is simulated.

    A witness of an algorithm of one's own carries its source, so that it replays anywhere. Where that source is not
    here as it was, it is printed, and run with --trust-code only.

    Exit status: 0 it does not refute the claim here, 1 it does, 2 no witness, an altered one, or of other data, 70 an
    error. With --prove: 0 nothing is proven, 1 it is; a set of transcripts is drawn from its seed again.
    """
    from scenarios.render.progress import Bars

    if prove or out is not None:
        _prove(file, out, as_json, trust_code)
    from scenarios.stages.witness import confirm

    try:
        with _read(file, trust_code) as read, Bars(problems, lines=False) as bars:
            found = confirm(read, bars)
        if as_json:
            write_document(found.as_plain())
        else:
            _print(found, every)
    except Exception as error:  # wrong input; or a defect, or the algorithm's own: no finding about a claim
        fail(error, as_json=as_json)
    if not found.file.intact:
        raise typer.Exit(WRONG_INPUT)
    raise typer.Exit(REFUTED if found.verdict is not None else DONE)


@contextmanager
def _read(file: Path, trusted: bool) -> "Generator[WitnessFile]":
    """A witness. Code that it carries and that is not here is printed and, if trusted, there until the end."""
    from scenarios.stages.witness_file import WitnessFile

    found = WitnessFile.read(file)
    if not found.needs_trust:
        yield found
        return
    for name, text in (found.code or {}).items():
        remark(visible(f"── {name}, which {file.name} carries ──\n{text}"))
    with TemporaryDirectory() as folder:
        yield found.unpacked(Path(folder)) if trusted else found


def _prove(file: Path, out: Path | None, as_json: bool, trusted: bool) -> NoReturn:
    from scenarios.render.progress import Bars

    try:
        from attacks.audit.check_set import prove
        from attacks.audit.check_witness import Unproven
    except ImportError as error:
        why = f"needs python-flint or mpmath ({error})"
        fail(ScenarioError("--prove", str(file), why, install("proof")), as_json=as_json)
    from scenarios.stages.witness import completed

    try:
        with _read(file, trusted) as read:
            with Bars(problems, lines=False) as bars:
                whole = completed(read, bars)
            if out is not None:
                with written(out) as draft:
                    draft.write_text(whole.text(), encoding="utf-8")
                if (code := whole.code_beside(out)) is not None:
                    remark(f"Its code, for the checker alone: {visible(f'--algorithm {code}', '')}")
            says, proven = prove(json.loads(whole.text()), whole.module), True
    except Unproven as error:
        says, proven = str(error), False
    except Exception as error:  # wrong input, or a defect: no finding about a claim
        fail(error, as_json=as_json)
    if as_json:
        write_document({"proven": proven, "says": says})
    else:
        line(f"{'Proven' if proven else 'Not proven'}: {says}")
    raise typer.Exit(REFUTED if proven else DONE)


def _print(found: "Confirmation", every: bool) -> None:
    def say(text: str) -> None:
        console.print(brief(text), highlight=False)

    file = found.file
    if not file.intact:
        say(f"[bold yellow]{escape(found.remarks[0])}[/] What follows is of the file as it is, and no finding.")
    say(f"[bold]{escape(file.algorithm)}[/] of {escape(str(file.scenario['name']))}")
    say(f"Agent {file.agent}: {file.place}.")
    say(f"Pair: {escape(file.pair.description)}.")
    if (claim := found.claim) is not None:
        value = (
            "undefined" if claim.epsilon is None else f"ε = {show_epsilon(claim.epsilon)} at δ = {show(claim.delta)}"
        )
        say(f"Claim: {value} ({escape(claim.source)}).")
    if (account := found.account) is not None:
        if rows := _columns(found, account, every):
            print_tables(rows[0], [rows[1:]], console)
        if found.first_above is not None and claim is not None:
            claimed = f"ε = {show_epsilon(claim.epsilon)}, the claim for the whole run"
            say(f"Above: up to the marked message the losses add up to more than {claimed}.")
            say("The report may name an earlier one: it asks what would be claimed of a run that ended there.")
        hidden = len(account.items) - len(list(_shown(account, found.first_above, every)))
        if hidden:
            say(f"… stands for {hidden:,} of {len(account.items):,} releases: --all shows them, --json has them too.")
        sums = sorted(account.by_link().items(), key=lambda pair: -pair[1])
        named = ", ".join(f"{i} to {j}: {_number(loss)}" for (i, j), loss in sums[:NAMED])
        more = f", and {len(sums) - NAMED} more" if len(sums) > NAMED else ""
        say(f"Loss of what went over each link: {named}{more}." if named else "Nothing that counts is on a link.")
        if account.identical:
            say("The agent's code sends every message of the transcript, to the last bit.")
    for sentence in found.remarks[not file.intact :]:
        say(f"[yellow]{escape(sentence)}[/]")
    word, style = (found.verdict, "bold red") if found.verdict is not None else ("not confirmed", "bold yellow")
    say(f"[{style}]{word.capitalize()}[/]: {escape(found.reason)}")


def _columns(found: "Confirmation", account: "Account", every: bool) -> list[Column]:
    """A row for each release, by round, or by activation (act.) of a walk: in which field of a message and to whom it
    went, what it adds, and the sum, which is held against what is claimed of the whole run. None where there is no
    release.

    ‖Δ‖ is in the norm that the noise protects: in the head of the column where it is the same in all rows.
    """
    norms = ["₂" if "Gaussian" in item.law else "₁" for item in account.items]
    norm = norms[0] if len(set(norms)) == 1 else ""
    rows: list[tuple[str, ...]] = []
    running, above, bare, at = account.running(), found.first_above, account.uncovered, account.before_uncovered
    last = -1
    for t in [*_shown(account, above, every), len(account.items)]:
        if bare is not None and at is not None and last < at <= t:
            mark = "< uncovered" if found.file.intact else ""
            rows.append(
                (str(bare.activation), _sent(bare.name, account.uncovered_to), "no noise", "", "∞", "∞", mark)
            )
        if t == len(account.items):
            break
        if t > last + 1:
            rows.append(("…", *[""] * 6))
        item, last = account.items[t], t
        distance = _number(item.l2 if norms[t] == "₂" else item.l1, 3)
        scale = _number(item.scale, 3) if isinstance(item.scale, float) else "…"
        mark = "< above" if t == above else "" if item.counts else "granted"
        rows.append((
            str(item.activation), _sent(item.name, item.receivers), f"{item.law}({scale})",
            distance if norm else f"ℓ{norms[t]} {distance}", _number(item.loss, 3), _number(running[t]), mark,
        ))  # fmt: skip
    heads = ("act." if found.step == "activation" else found.step, "sent", "law", f"‖Δ‖{norm}", "loss", "sum", "")
    return [
        Column(head, cells, right=head not in ("sent", ""), whole=head not in ("sent", "law"))
        for head, cells in zip(heads, zip(*rows, strict=True), strict=bool(rows))
        if any(cells)
    ]


def _shown(account: "Account", above: int | None, every: bool) -> Iterator[int]:
    """Which of the releases: all, or both ends and what is around the first above the claim and the uncovered one."""
    count = len(account.items)
    near = [0, count - 1, *(t for t in (above, account.before_uncovered) if t is not None)]
    return (t for t in range(count) if every or count <= ROWS or any(abs(t - mark) <= AROUND for mark in near))


def _sent(field: str, receivers: tuple[int, ...]) -> str:
    several = f"{len(receivers)} neighbors" if len(receivers) > NAMED else ", ".join(map(str, receivers)) or "–"
    return f"{escape(field)} → {several}" if field else several


def _number(value: float, digits: int = 4) -> str:
    """A sum of losses to as many digits as sentences have; no power of ten, for columns are narrow."""
    if 0 < abs(value) < TINY:
        return "~0"
    return f"{value:.{digits}g}" if math.isfinite(value) else show(value)
