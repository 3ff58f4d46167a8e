"""Verdicts of a run, and findings of attacks on a recorded transcript, in the terminal."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from scenarios.render import plain_words
from scenarios.render.sentences import (
    ATTACKED,
    ELSEWHERE,
    Finding,
    about,
    final_errors,
    games,
    gradients,
    headline,
    missing,
    ran,
    rests_on,
    seen,
    word,
)
from scenarios.render.tables import Column, fitted
from scenarios.render.terminal import (
    NARROW,
    console,
    line,
    print_place,
    print_steps,
    problems,
)
from scenarios.results import curves, findings
from scenarios.results.attacked import AttackReport, KeptGradients, KeptRecords
from scenarios.results.audit import AuditResult
from scenarios.results.findings import Entry
from scenarios.results.numbers import MISSING, at_least, exact, plural, show, show_epsilon
from scenarios.results.tree import AlgorithmResult, Results, VariantResult

COLOURS = {
    "refuted": "bold red",
    "unprotected": "bold red",
    ELSEWHERE: "bold red",
    ATTACKED: "bold red",
    "proven": "bold green",
    "consistent": "blue",
    "underpowered": "yellow",
    "vacuous": "yellow",
    "undefined": "yellow",
}
_NAME = 11
"""Letters of a name that stand on one line, where it is that long."""
_TERM = 12
"""Columns of a term, what is said of it beside it."""
_COSTS = {
    "plf": ("Θ", 0),
    "count": ("closed", 1),
    "messages": ("messages", 0),
    "bytes": ("bytes", 3),
    "queries": ("queries", 2),
    "time": ("seconds", 4),
}
"""Columns of the costs: heading, and in which order they go where there is no room; 0: never."""


def coloured(entry: Entry) -> str:
    """The verdict in rich's markup."""
    return f"[{COLOURS.get(word(entry), 'dim')}]{word(entry)}[/]"


def epsilon_columns(entries: Sequence[Entry]) -> list[Column]:
    """Of the three epsilons those that some algorithm has; what is claimed is left out last for want of room."""
    audits = [one.audit for one in entries]
    claimed = [show_epsilon(findings.claimed(one)) for one in entries]
    found = [exact(getattr(audit, "epsilon_exact", None)) for audit in audits]
    proven = [at_least(getattr(audit, "epsilon_audited", None)) for audit in audits]
    heads = (("ε claimed", claimed, 5), ("ε exact", found, 4), ("ε audited", proven, 3))
    columns = [Column(head, cells, right=True, whole=True, spared=rank) for head, cells, rank in heads]
    return [one for one in columns if {*one.cells} != {MISSING}]


def print_meanings(columns: Sequence[Column]) -> None:
    """A line for each of the epsilons among these columns."""
    for one in columns:
        if one.head in plain_words.EPSILONS:
            line(f"{one.head} is {plain_words.EPSILONS[one.head]}.", style="dim")


# ── a run ───────────────────────────────────────────────────────────────────────────────────────────────
def print_results(results: Results, folder: Path, *, verbose: bool = False, alone: bool = False) -> None:
    """Verdicts and findings of a run or a study, and what to try next. `verbose`: all that was checked, too; `alone`:
    of an audit, for which all else was left out."""
    with console.naming(() if results.network is None else results.network.names):
        if results.variants is not None:
            _print_variants(results.variants)
        else:
            _print_run(results, verbose, alone)
        if left := missing(results):
            console.print("\n[bold]Not done[/]")
            for text in left:
                line(f"  {text}")
        if (paper := results.reproduction) is not None:
            line(f"{paper.paper}, {paper.item}: {paper.outcome}. {paper.sentence}")
        _print_steps(results, folder)


def _print_run(results: Results, verbose: bool = False, alone: bool = False) -> None:
    """The network, the three epsilons, what was found of each algorithm, and other audits of the same claims."""
    if results.network is not None:
        grid = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column()
        between = "; " if any("," in name for name in console.agents) else ", "
        agents = between.join(f"{i} {name}" for i, name in enumerate(console.agents))
        named = [("agents", agents)] if agents else []
        for term, text in [("network", results.network.name), *named, *results.network.settings]:
            grid.add_row(escape(term), escape(text))
        console.print(grid, highlight=False)
    unjudged = not any(map(findings.verdict, results.algorithms))
    if not alone and (len(results.algorithms) > 1 or (results.algorithms and unjudged)):
        console.print()
        line(headline(Finding.ranked(results)), style="bold")
    marked = [coloured(one) + "*" * bool(one.outside_model) for one in results.algorithms]
    columns = [Column("algorithm", [escape(one.name) for one in results.algorithms], at_least=_NAME)]
    tabled = console.width >= NARROW and len(results.algorithms) > 1
    if len(results.algorithms) > 1:
        columns += epsilon_columns(results.algorithms) if tabled else []  # else each stands with its algorithm
        console.print(fitted([*columns, Column("verdict", marked, whole=True)], console))
    spaced = len(results.algorithms) > 1  # a table ends with a blank line
    if tabled and any(isinstance(one.audit, AuditResult) for one in results.algorithms):
        spaced = False
        print_meanings(columns)
    if not alone and (ends := final_errors(Finding.ranked(results))):
        line(ends)
        spaced = False
    outside = "* outside the paper's threat model: an active adversary interfered"
    interfered = any(entry.outside_model for entry in results.algorithms)
    notes = [*[outside] * interfered, *filter(None, [findings.auditor(results)])]
    if notes and not spaced:
        console.print()
    for note in notes:
        line(note)
    for k, entry in enumerate(results.algorithms):
        if k or notes or not spaced:
            console.print()
        says = escape(plain_words.says(entry))
        console.print(f"[bold]{escape(entry.name)}[/]: {coloured(entry)}. {says}", highlight=False)
        if (caution := findings.caution(entry)) is not None:
            line(f"  {caution}", style="bold yellow")
        _print_plain(results, entry, numbers=not tabled, counted=not verbose)
        found = [] if alone else ran(results, entry)
        if verbose:
            found = about(results, entry)
            found += _extent(entry.audit, stated=not tabled) if isinstance(entry.audit, AuditResult) else []
        elif isinstance(entry.audit, AuditResult):
            found = [*games(entry.audit), *found, *seen(entry)]
        for text in found:
            line(f"  {text}")
    if not alone:
        _print_costs(results)
    for entry in results.algorithms:
        if entry.audit is None:
            continue
        others = [("before", one) for one in entry.audit.earlier] + [("since", one) for one in entry.audit.later]
        for when, one in others:
            proven = MISSING if one.epsilon_audited is None else f"≥ {show_epsilon(one.epsilon_audited)}"
            line(
                f"{entry.name}, audited {when} (draw {one.draw}): {one.verdict or 'refused'}, ε audited {proven} "
                f"with {one.trials or 0:,} transcripts of each world at {one.confidence:.6g}.",
                style="dim",
            )


def _print_plain(results: Results, entry: AlgorithmResult, *, numbers: bool, counted: bool) -> None:
    """The audit of one algorithm, a term a line; its `numbers`, too, where no table has them; its conditions
    `counted`, where no list has them."""
    reason = "" if entry.audit is None and entry.audit_status == "no claim" else plain_words.why(results, entry)
    terms = [("why", reason)] if reason else []
    if isinstance(audit := entry.audit, AuditResult):
        if counted and (conditions := rests_on(audit)):
            count = plural(len(conditions), "condition")
            terms.append(("rests on", f"{count}, each checked (--verbose lists them)"))
        terms += plain_words.pair(audit)
    if numbers:
        _print_terms(plain_words.epsilon_rows(entry))
    _print_terms(terms)


def _extent(audit: AuditResult, *, stated: bool) -> list[str]:
    """The δ of the epsilons, unless it is `stated` with a claim, and how much of the claim is proven of the pair."""
    found = list[str]()
    if audit.epsilon_claimed is None or not stated:
        found.append(f"All epsilons are at δ = {show(audit.claim.delta)}.")
    if audit.proven_share is not None and audit.verdict != "proven":  # which is of an upper end
        found.append(f"Proven of the pair: at least {audit.proven_of_claim}.")
    return [" ".join(found)] if found else []


def _print_terms(rows: Sequence[tuple[str, ...]]) -> None:
    """Terms beside what is said of them; on a narrow terminal, before it."""
    if console.width < NARROW:
        for term, *rest in rows:
            text = f"[dim]{escape(term)}:[/] {escape(', '.join(rest))}"
            console.print(Padding(text, (0, 0, 0, 2)), highlight=False)
        return
    grid = Table(box=None, padding=(0, 1, 0, 0), show_header=False)
    grid.add_column(style="dim", no_wrap=True, min_width=_TERM)
    for k in range(1, len(rows[0]) if rows else 1):
        grid.add_column(overflow="fold", no_wrap=k + 1 < len(rows[0]))
    for term, *rest in rows:
        grid.add_row(f"  {term}", *map(escape, rest))
    console.print(grid, highlight=False)


def _print_costs(results: Results) -> None:
    """Costs of each accuracy that was reached, and a sentence about those that were not."""
    rows = curves.rows(results.algorithms)
    if all(accuracy is None for _, accuracy, _ in rows):
        return
    reached = [row for row in rows if any(value is not None for value in row[2])]
    if reached:
        keys = [key for key, _, _ in curves.COLUMNS]
        names = [escape(row[0]) if k == 0 or reached[k - 1][0] != row[0] else "" for k, row in enumerate(reached)]
        columns = [
            Column("algorithm", names, at_least=24),
            Column("accuracy", [show(accuracy) for _, accuracy, _ in reached], right=True, whole=True),
        ]
        for key, (head, spared) in _COSTS.items():
            amounts = [values[keys.index(key)] for _, _, values in reached]
            cells = [MISSING if v is None else f"{v:,}" if isinstance(v, int) else f"{v:,.4g}" for v in amounts]
            columns.append(Column(head, cells, right=True, whole=True, spared=spared))
        console.print(fitted(columns, console))
        measure = results.scenario.measures.measure.replace("_", " ")
        line(
            f"What it took until the {measure} had come down to an accuracy to stay. Θ: the most rounds, or "
            "activations, of one agent (PLF or LCI in the papers); closed: rounds, or activations of all agents; "
            "bytes: of all packets sent; queries: gradients and proximal steps of all agents; seconds: of "
            "virtual time."
        )
    missed: list[str] = []
    for name in dict.fromkeys(name for name, _, _ in rows):
        some = [show(one) for who, one, values in rows if who == name and values.count(None) == len(values)]
        none = not any(who == name for who, _, _ in reached)
        missed += [f"{name} ({'none' if none else ', '.join(some)})"] if none or some else []
    if missed:
        line(f"Accuracies not reached: {'; '.join(missed)}.")


def _print_steps(results: Results, folder: Path) -> None:
    """What to try next; of variants, the commands that show the transcripts which break a claim."""
    steps = plain_words.all_steps(results, folder)
    for variant in results.variants or ():
        for one in variant.algorithms:
            if one.witness is not None:
                step = plain_words.see(one.epsilon_claimed, folder / variant.name / one.witness)
                steps.append(replace(step, words=f"{variant.name}, {one.name}: {step.words}"))
    if steps:
        options = any(step.command.startswith("-") for step in steps)
        head = f"What to do next{' (options: of the same command)' * options}"
        console.print()
        print_steps(head, ((step.words, step.command) for step in steps))


def _print_variants(variants: Sequence[VariantResult]) -> None:
    """A row for each variant and algorithm, and each error."""
    rows = [(variant.name, one) for variant in variants for one in variant.algorithms]
    entries = [one for _, one in rows]
    columns = [
        Column("variant", [escape(name) for name, _ in rows], at_least=_NAME),
        Column("algorithm", [escape(one.name) for one in entries], at_least=_NAME),
        Column("final error", [show(one.final) for one in entries], right=True, whole=True, spared=2),
        *epsilon_columns(entries),
        Column("gradient error", [show(one.gradient_error) for one in entries], right=True, whole=True, spared=1),
        Column("verdict", [coloured(one) for one in entries], whole=True),
    ]
    console.print(fitted(columns, console))
    for variant in variants:
        if variant.status not in ("complete", "interrupted", "not reached"):
            words = f"{variant.name}: {variant.status}: {variant.error}".removeprefix(": ")
            problems.say(f"[bold red]{escape(words)}[/]")


# ── attacks on a recorded transcript ────────────────────────────────────────────────────────────────────
def print_recorded_attack(reports: Sequence[AttackReport]) -> None:
    """A block for each algorithm: its gradients, its records, and the rest."""
    for one in reports:
        console.print(f"\n[bold]{escape(one.algorithm)}[/]", highlight=False)
        if one.refused:
            line(f"  {one.refused}")
            continue
        several = "first replica" if one.replicas == 1 else f"{one.replicas} replicas"
        print_place(f"  {plural(one.rows or 0, 'row')} captured ({several}):", one.transcript)
        if one.gradients is not None:
            line(f"  {_gradients(one.gradients)}")
            if one.gradients.estimates is not None and one.gradients.estimated:
                print_place("  Estimates:", one.gradients.estimates)
        if one.truth is not None:
            why = one.truth.why_not
            if why == "not asked for":
                why = "the truth is not in a transcript (--score simulates it again from the seed)"
            if one.truth.remade:
                again = f"was simulated again from the seed, in {one.truth.seconds:.1f} s, with the same messages"
                line(f"  Scored: the truth {again}.")
            else:
                line(f"  Not scored: {why}.")
        if one.reconstructions is not None:
            _print_records(one.reconstructions)
        others = [*one.sentences, *(found.sentence for found in (one.membership, one.property) if found is not None)]
        if (loss := one.loss) is not None:
            others.append(loss.sentence or f"No exact loss: {loss.refused}")
        for text in others:
            line(f"  {text}")


def _gradients(found: KeptGradients) -> str:
    if found.refused:
        return f"No gradient was inferred: {found.refused}"
    if found.scores is None:
        if not found.estimated:
            return "No gradient is estimated: the messages captured are too few to tell one of any agent."
        silent = found.inferred.count(0)
        of = f", of {plural(silent, 'agent')} none" if silent else ""
        return f"{plural(found.estimated, 'gradient')} estimated, {found.exact:,} of them exactly{of}."
    return " ".join(gradients(found.scores, "eavesdropper"))


def _print_records(found: KeptRecords) -> None:
    rows: list[tuple[str, ...]] = []
    refused: list[str] = []
    for one in found.attacks:
        if one.refused:
            refused.append(f"{one.attack}: refused: {one.refused}")
            continue
        own = ", ".join(f"{count} × {name}" for name, count in (one.seen or {}).items())
        verdict = one.verdict or (f"by itself: {own}" if own else "not scored")
        hits = MISSING if one.success is None else f"{one.success.count} of {one.success.of}"
        rows.append((escape(one.attack), escape(verdict), show(one.skill), show(one.mse), hits))
    if rows:
        heads = (("attack on records", 0), ("verdict", 0), ("skill", 3), ("MSE", 1), ("rebuilt", 2))
        columns = [
            Column(head, cells, right=head in ("skill", "MSE"), whole=rank > 0, spared=rank)
            for (head, rank), cells in zip(heads, zip(*rows, strict=True), strict=True)
        ]
        console.print(fitted(columns, console))
    for text in [*refused, *filter(None, [found.sentence])]:
        line(f"  {text}")
    if found.records:
        print_place("  Records:", found.records)
