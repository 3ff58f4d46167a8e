"""Command `netsim views`: what every agent learns of every other, exactly."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from netsim.errors import AttackError, NetsimError, ScenarioError
from scenarios.cli.options import AsJson, Scenario, Settings, bounded, command, given
from scenarios.render import terminal

if TYPE_CHECKING:
    from scenarios.build.experiment import Experiment, Subject
    from scenarios.results.views import ViewPrices

MOST_COLUMNS = 12
"""Agents up to which the table of pairs has numbers; of more it has shades."""
SHADES = "·░▒▓█"
"""Of ε from the least to the largest, on a scale of decades; ∞ has its own sign."""


@command("views", "netsim views price-of-a-view", "netsim views price-of-a-view --listener 3 --out results/views")
def _views(
    scenario: Scenario,
    algorithm: Annotated[str | None, given(metavar="NAME", help="The algorithm. Default: the first.")] = None,
    listener: Annotated[int | None, bounded(0, None, help="Show the network as this agent sees it.")] = None,
    victim: Annotated[
        int | None, bounded(0, None, help="Whose data a coalition is after. Default: audit.agent, or agent 0.")
    ] = None,
    coalition: Annotated[
        int, bounded(0, None, help="Size of the coalition that is searched; 0: none.", show_default=True)
    ] = 2,
    out: Annotated[Path | None, given(help="Folder for pairs.csv, pairs.parquet and the figures (SVG).")] = None,
    option: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the exact ε of every ordered pair of agents: what a listener, honest but curious, learns of a victim.

    One run is simulated and no audit made. ε is over all pairs of the scenario's adjacency, at the algorithm's δ, or
    at 0.001 where it claims at 0. It needs Gaussian noise, and data that enter once (gossip after noise) or quadratic
    objectives (problem.kind: ridge, audit.adjacency: {change: 1}). Elsewhere (clipped gradients, other losses) ε is
    between 0 and the bound at the victim's door, where there is one.

    Exit status: 0 done, 1 a claim of a pair or of the coalition does not hold, 2 wrong input, or views that have no
    such price.
    """
    from attacks.audit.verdict import BROKEN
    from scenarios.cli.progress import Bars
    from scenarios.schema.load import load_scenario
    from scenarios.schema.scenario import ViewsSpec
    from scenarios.stages.audit import price_views
    from scenarios.stages.runner import checked

    try:
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
        experiment = checked(load_scenario(scenario, option or []), part=True)
        subject = experiment.subjects[0] if algorithm is None else experiment.subject(algorithm)
        n, audit = experiment.topology.agents, experiment.scenario.audit
        after = victim if victim is not None else (audit.agent if audit else None) or 0
        for name, agent in (("--listener", listener), ("--victim", after)):
            if agent is not None and agent >= n:
                raise ScenarioError(name, agent, "no such agent", f"0 to {n - 1}")
        spec = ViewsSpec(exact=["pairs"], coalition=coalition or None)
        with Bars(terminal.problems) as bars:
            bars.begin(f"{subject.spec.name}: exact ε of views", 1)
            try:
                found, _ = price_views(
                    subject.simulation, spec, after, experiment.adjacency, subject.delta, progress=bars
                )
            except AttackError as error:
                raise _unpriced(experiment, subject, error) from error
    except NetsimError as error:
        terminal.fail(error, status=terminal.WRONG_INPUT, options={"algorithm": "--algorithm"}, as_json=as_json)
    except OSError as error:
        terminal.cannot_write(error, out, as_json=as_json)
    assert found.pairs is not None
    if as_json:
        terminal.write_result(found)
    else:
        claim = subject.simulation.claim(experiment.adjacency, 1, subject.delta)
        _print(found, subject, listener, pure=claim is not None and claim.delta == 0)
    if out is not None:
        _write(found, experiment, listener, out)
        terminal.apart(as_json).print(f"In {out}: pairs.csv, pairs.parquet, figures", highlight=False)
    broken = found.pairs.refuted or any(one.verdict in BROKEN for one in found.views)
    raise typer.Exit(terminal.REFUTED if broken else terminal.DONE)


def _unpriced(experiment: "Experiment", subject: "Subject", error: AttackError) -> ScenarioError:
    """The error of an algorithm whose views have no price, and what would have one."""
    noisy = [repr(one.spec.name) for one in experiment.subjects if one.simulation.algorithm.noisy]
    here = f" (here {' or '.join(noisy)})" if noisy and not subject.simulation.algorithm.noisy else ""
    allowed = (
        f"an algorithm with noise{here}, on quadratic objectives (problem.kind: ridge, audit.adjacency: "
        "{change: 1}), with clipped gradients, or gossip; `netsim views price-of-a-view` has one"
    )
    return ScenarioError("--algorithm", subject.spec.name, f"has no price of its views: {error}", allowed)


def _print(found: "ViewPrices", subject: "Subject", listener: int | None, *, pure: bool) -> None:
    from scenarios.render.sentences import by_hops, searched
    from scenarios.results.numbers import between, show

    pairs, name = found.pairs, subject.spec.name
    assert pairs is not None
    n = len(pairs.upper)
    terminal.line(f"{name}: ε at δ = {show(found.delta)} of each victim (row) at each listener (column)")
    if pure:
        why = "The algorithm claims at δ = 0, where a Gaussian view has no ε"
        terminal.line(f"{why}: taken is {show(found.delta)}. At δ = 0 ε is no less.", soft_wrap=False)
    if found.unbounded is not None:
        terminal.line(f"Nothing bounds all pairs: {found.unbounded}.")
    if n <= MOST_COLUMNS:
        table = Table(box=None, padding=(0, 1))
        for head in ("", *map(str, range(n))):
            table.add_column(head, justify="right")
        for u, (low, high) in enumerate(zip(pairs.lower, pairs.upper, strict=True)):
            cells = ("" if u == v else between((low[v], high[v])) for v in range(n))
            table.add_row(f"[bold]{u}[/]", *cells)
        terminal.console.print(table)
    else:
        shade = _shades([e for row in pairs.upper for e in row])
        for u, row in enumerate(pairs.upper):
            text = "".join(" " if u == v else shade(e) for v, e in enumerate(row))
            terminal.console.print(f"{u:4} {text}", highlight=False, no_wrap=True, crop=True)
    table = Table("hops", "pairs", "least ε", "median", "largest", box=None, padding=(0, 2))
    for hops, some in by_hops(pairs):
        table.add_row(str(hops), f"{len(some):,}", *map(between, (some[0], some[len(some) // 2], some[-1])))
    terminal.console.print(table)
    for one in found.views:
        words = f"{one.name.capitalize()} learns of agent {found.agent}: ε = {between(one.all_pairs or one.pair)}"
        terminal.line(words if one.refused is None else f"{words} ({one.refused})")
    for text in searched(found):
        terminal.line(text)
    if listener is not None:
        terminal.line(f"What agent {listener} learns, by distance:")
        table = Table("hops", "agent: ε", box=None, padding=(0, 2))
        for hops in sorted(set(pairs.hops[listener]) - {0}):
            there = [u for u in range(n) if pairs.hops[listener][u] == hops]
            ends = (f"{u}: {between((pairs.lower[u][listener], pairs.upper[u][listener]))}" for u in there)
            table.add_row(str(hops), "   ".join(ends))
        terminal.console.print(table)
    for text in ("It rests on:", *(f"• {one}" for one in found.conditions)):
        terminal.line(text, soft_wrap=False)


def _shades(values: list[float]) -> Callable[[float], str]:
    """A sign for each ε: by its place between the least and the largest, on a scale of decades."""
    logs = [math.log10(e) for e in values if 0 < e < math.inf]
    low, high = min(logs, default=0.0), max(logs, default=1.0)

    def sign(epsilon: float) -> str:
        if math.isnan(epsilon):
            return "?"
        if math.isinf(epsilon):
            return "∞"
        place = 0.0 if epsilon <= 0 or high == low else (math.log10(epsilon) - low) / (high - low)
        return SHADES[min(len(SHADES) - 1, int(place * len(SHADES)))]

    return sign


def _write(found: "ViewPrices", experiment: "Experiment", listener: int | None, folder: Path) -> None:
    """The matrix as tables, and the figures of the page as files."""
    from scenarios.render.page.export import save
    from scenarios.render.page.plan import by_distance, exposure, heat_map
    from scenarios.results.header import network
    from scenarios.results.tables import write_pairs

    pairs = found.pairs
    assert pairs is not None
    write_pairs(found, folder)
    charts = {"pairs": heat_map(pairs, "pairs"), "distance": by_distance(pairs, "distance")}
    if listener is not None:
        column = [row[listener] for row in pairs.upper]
        charts["listener"] = exposure(network(experiment), column, listener, "listener", listens=True)
    for name, chart in charts.items():
        save(chart, chart.drawing, [folder / f"{name}.svg"], 300, 5.0)
