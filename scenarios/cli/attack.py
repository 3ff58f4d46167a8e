"""Commands on what a listener learns: `netsim attack` from a transcript, `netsim views` exactly, of every agent."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.markup import escape
from rich.table import Table

from netsim.errors import AttackError, NetsimError, ScenarioError, TranscriptError, meant
from scenarios.cli.options import (
    AsJson,
    OfTranscript,
    Scenario,
    Settings,
    bounded,
    command,
    dated_folder,
    given,
    last,
    of_run,
    of_variant,
    refuse,
)
from scenarios.render import terminal
from scenarios.render.tables import Column, stacked
from scenarios.render.terminal import (
    DONE,
    INTERRUPTED,
    WRONG_INPUT,
    apart,
    fail,
    of_progress,
    print_page,
    problems,
    write_result,
)

if TYPE_CHECKING:
    from scenarios.build.experiment import Experiment, Subject
    from scenarios.results.attacked import AttackReport
    from scenarios.results.views import ViewPrices
    from scenarios.schema import Scenario as ScenarioModel
    from scenarios.schema.attacks import RebuildModel
    from scenarios.schema.load import Located

_GRADIENTS = "gradients"
_OTHERS, _LOSS = ("traffic", "membership", "property"), "loss"
"""Attacks that rebuild nothing, by the words of a scenario, and the exact loss of what was recorded."""
_TAKEN = (
    "a results folder, a transcript (.parquet, .spool, .csv, .tsv, .jsonl, .ndjson, .pcapng), a YAML file or a "
    "shipped scenario"
)
_MAPPED = (".csv", ".tsv", ".jsonl", ".ndjson")
_IMPORTED = (*_MAPPED, ".pcapng")
"""`netsim.transcript.imported.ENDINGS`, which takes its time to load."""


@command(
    "attack",
    "netsim attack results/lossy",
    "netsim attack results/lossy --attack posterior --attack dlg",
    "netsim attack captured.parquet --scenario mine.yaml",
    "netsim attack captured.csv --scenario mine.yaml --column sender=src --column x=w",
)
def _attack(
    what: Annotated[
        str,
        of_run(
            help="A results folder; a transcript (.parquet, .csv, .jsonl or .pcapng, with --scenario); a scenario's "
            "YAML file, or the name of a shipped one, which is simulated first."
        ),
    ],
    attack: Annotated[
        list[str] | None,
        given(
            metavar="NAME",
            help="gradients, or an attack on records: dlg, idlg, inverting_gradients, grad_inversion, posterior, "
            "row_space, one_record, informed, … (docs/reconstruction.md); traffic (times and sizes alone), "
            "membership, property; loss (the exact loss between the worlds of the scenario's audit). Repeatable. "
            "Default: gradients, and the attacks that the scenario names.",
        ),
    ] = None,
    algorithm: Annotated[str | None, given(metavar="NAME", help="Attack only this algorithm (name or slug).")] = None,
    scenario: OfTranscript = None,
    column: Annotated[
        list[str] | None,
        given(
            metavar="NAME=COLUMN",
            help="Of a .csv or .jsonl file: which column holds the sender, receiver, time, kind, number, or a value "
            "that messages carry. Repeatable.",
        ),
    ] = None,
    score: Annotated[
        bool | None,
        given(
            "--score/--no-score",
            help="Simulate the truth again from the seed, and score by it. Default: for a folder, not a file.",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        given("-o", "--option", metavar="FIELD=VALUE", help="Set a field of a scenario.", callback=last),
    ] = None,
    variant: Annotated[str | None, of_variant(help="Attack only this variant of a folder.")] = None,
    out: Annotated[Path | None, given(help="Where to write. Default: beside the transcript.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print findings as JSON.")] = False,
) -> None:
    """Attack what an eavesdropper recorded: infer the agents' gradients, and from these their data.

    netsim attack FOLDER

    reads the transcript that a run kept, and simulates nothing: an attack has what was recorded and what is public
    (the algorithm, its parameters, the graph). Estimates are written to the folder as estimates-SLUG.parquet, rebuilt
    records as records-SLUG.parquet, for pandas, polars or duckdb.

    Scores need the truth, which is in no transcript: the run is simulated again from its seed, and where it sends the
    very messages of the transcript, the estimates are scored by it. --no-score leaves that out.

    netsim attack captured.parquet --scenario mine.yaml

    attacks a transcript from elsewhere: estimates without scores. A .csv, .jsonl or .pcapng file is written as such a
    transcript first, FILE-imported.parquet.

    Exit status: 0 done, whatever was found, 2 wrong input, 70 failed, 130 interrupted.
    """
    try:
        _Order(
            what, attack or [], algorithm, scenario, score, option or [], variant, out, as_json, column or []
        ).run()
    except KeyboardInterrupt:
        problems.print("[yellow]Interrupted: what was written until then is there.[/]")
        raise typer.Exit(INTERRUPTED) from None
    except ScenarioError as error:  # "folder" is WHAT where it is one, --out of a scenario
        of = {"folder": "--out"} if out is not None and not Path(what).is_dir() else None
        if error.field == "scenario" and error.value == what and error.problem.startswith("no such file"):
            why = error.problem.replace("file", "folder or file", 1)
            error = replace(error, field="WHAT", problem=why, allowed=f"{_TAKEN} (`netsim list`)")
        fail(error, options=of, as_json=as_json)
    except TranscriptError as error:  # a file that is damaged, or no transcript
        fail(error, status=WRONG_INPUT, as_json=as_json)
    except typer.Exit:
        raise
    except Exception as error:  # of a run; or a defect, with its traceback
        fail(error, out, as_json=as_json)


@dataclass(frozen=True)
class _Order:
    what: str
    attacks: Sequence[str]
    algorithm: str | None
    scenario: str | None
    score: bool | None
    options: Sequence[str]
    variant: str | None
    out: Path | None
    as_json: bool
    columns: Sequence[str]

    def run(self) -> NoReturn:
        place = Path(self.what)
        specs = self._on_records()
        if place.is_dir():
            self._refuse_scenario()
            self._refuse_columns()
            refuse("-o", self.options, "a folder has its scenario", "only with a scenario")
            self._end(self._folder(place, specs))
        if place.suffix in (".parquet", ".spool", *_IMPORTED):
            refuse("--variant", self.variant, "a transcript has no variants", "only with a folder")
            self._end([self._file(place, specs or [])])
        if place.parent != Path() and place.suffix not in (".yaml", ".yml") and not place.exists():
            raise ScenarioError("WHAT", self.what, "no such folder or file", _TAKEN)
        if place.is_file() and self.scenario is not None and place.suffix not in (".yaml", ".yml"):
            raise ScenarioError("WHAT", self.what, "no transcript, by its ending", _TAKEN)
        self._refuse_scenario()
        self._refuse_columns()
        self._simulate(specs)

    def _refuse_scenario(self) -> None:
        allowed = f"only with a file of an ending of these: .parquet, .spool, {', '.join(_IMPORTED)}"
        refuse("--scenario", self.scenario, "names the scenario of a transcript", allowed)

    def _refuse_columns(self) -> None:
        why = "names a column of a text file"
        refuse(
            "--column", " ".join(self.columns), why, f"only with a file of an ending of these: {', '.join(_MAPPED)}"
        )

    def _on_records(self) -> "list[RebuildModel] | None":
        """The attacks on records that were named, with their default parameters; None where no attack is named, empty
        where none of them is on records. You get a `ScenarioError` for an unknown name."""
        from pydantic import TypeAdapter, ValidationError

        from scenarios.schema.attacks import REBUILDING, RebuildModel, RebuildSpec

        if not self.attacks:
            return None
        adapter: TypeAdapter[RebuildModel] = TypeAdapter(RebuildSpec)
        found: list[RebuildModel] = []
        for name in dict.fromkeys(one.replace("-", "_") for one in self.attacks):
            try:
                found += [] if name in (_GRADIENTS, _LOSS, *_OTHERS) else [adapter.validate_python({"kind": name})]
            except ValidationError:
                there = [_GRADIENTS, _LOSS, *_OTHERS, *REBUILDING]
                why = f"no such attack{meant(name, there)}"
                raise ScenarioError("--attack", name, why, ", ".join(there)) from None
        return found

    def _folder(self, folder: Path, specs: "Sequence[RebuildModel] | None") -> "list[AttackReport]":
        from scenarios.results.attacked import AttackReport
        from scenarios.results.folder import RunFolder, parts_of

        reports: list[AttackReport] = []
        for place in parts_of(folder, self.variant):
            kept = RunFolder.open(place)
            for remark in kept.remarks():
                apart(self.as_json).say(remark, style="dim", markup=False)
            entries, experiment = kept.entries(self.algorithm), kept.experiment()
            wanted = experiment.scenario.attacks.reconstruct if specs is None else specs
            for entry in entries:
                file, second = (place / f"{name}-{entry.slug}.parquet" for name in ("transcript", "second"))
                if file.exists():
                    subject = experiment.subject(entry.name)
                    few = second if subject.attacked is not None and second.is_file() else None
                    reports.append(self._attack(experiment, subject, entry.slug, file, few, wanted))
                else:
                    why = "its transcript is not in the folder"
                    one = AttackReport(folder=str(place), algorithm=entry.name, slug=entry.slug, refused=why)
                    reports.append(one)
        if all(one.transcript is None for one in reports):
            names = ", ".join(f"transcript-{one.slug}.parquet" for one in reports)
            why = f"it has no transcript, which would be {names}" if reports else "no algorithm was begun there"
            raise ScenarioError(
                "folder", str(folder), why, "a folder of `netsim run` as it was left, or netsim run again"
            )
        return reports

    def _file(self, file: Path, specs: "Sequence[RebuildModel]") -> "AttackReport":
        from scenarios.build.experiment import Experiment
        from scenarios.results.header import chosen, slugs
        from scenarios.schema.load import load_scenario

        if self.scenario is None:
            why = "missing: a transcript does not have what is public of a run (the algorithm, the graph)"
            raise ScenarioError("--scenario", None, why, "the run's YAML file, or a shipped name")
        located = load_scenario(self.scenario, self.options)
        try:
            experiment = Experiment.of(located.scenario)
        except ScenarioError as error:
            raise located.locate(error) from None
        names = slugs(one.spec.name for one in experiment.subjects)
        if self.algorithm is None and len(names) == 1:
            wanted = next(iter(names))
        else:
            why = "missing: whose transcript it is" if self.algorithm is None else "not in the scenario"
            wanted = chosen(self.algorithm, names, why)
        subject = experiment.subject(names[wanted])
        return self._attack(experiment, subject, wanted, self._imported(file, subject), None, specs)

    def _imported(self, file: Path, subject: "Subject") -> Path:
        """A transcript from elsewhere, checked; a file of another format is written as one."""
        from netsim.transcript.stored import write_records
        from scenarios.files.folders import check_writable, whole
        from scenarios.stages.foreign import read_foreign

        if file.suffix not in _MAPPED:
            self._refuse_columns()
        columns = dict[str, str]()
        for one in self.columns:
            name, equals, column = one.partition("=")
            if not (name and equals and column):
                raise ScenarioError("--column", one, "no such pair", "NAME=COLUMN, such as sender=src")
            if name in columns:
                raise ScenarioError(
                    "--column", one, f"{name!r} has a column already", f"{name}={columns[name]} alone"
                )
            columns[name] = column
        rows = read_foreign(file, columns, subject.simulation).records
        if file.suffix not in _IMPORTED:
            return file
        replicas = next((len(value) for row in rows for value in row.values.values()), 1)
        made = (self.out or file.parent) / f"{file.stem}-imported.parquet"
        check_writable(made.parent)
        with whole(made) as draft:
            write_records(rows, replicas, draft)
        return made

    def _simulate(self, specs: "Sequence[RebuildModel] | None") -> NoReturn:
        """Run a scenario without its audit, and attack what it kept."""
        from scenarios.render.progress import Bars
        from scenarios.schema.load import load_scenario
        from scenarios.stages.study import run_study

        settings = [*self.options, "audit=null", "reproduces=null", "figures=[]"]
        if specs is not None:
            named = [spec.model_dump(mode="json", exclude_unset=True) | {"kind": spec.kind} for spec in specs]
            settings += [f"attacks.reconstruct={json.dumps(named)}", "attacks.images=false"]
            settings += [f"attacks.traffic={json.dumps('traffic' in self.attacks)}"]
        located = load_scenario(self.what, settings)
        self._check_named(located)
        name = located.scenario.name
        folder = self.out or dated_folder(name)
        apart(self.as_json).print(f"[bold]{escape(located.scenario.title or name)}[/]")
        with Bars(of_progress(self.as_json)) as bars:
            results = run_study(located, folder, command=f"netsim attack {self.what}", progress=bars)
        if results.status == "interrupted":
            raise KeyboardInterrupt
        self._end(replace(self, out=None)._folder(folder, specs), folder)

    def _check_named(self, located: "Located") -> None:
        """A `ScenarioError` for an algorithm, a variant or an attack that the scenario has not, before it is run."""
        from scenarios.files.library import no_variant
        from scenarios.results.header import chosen, slugs
        from scenarios.schema.load import expanded

        variants = {one.name: one.located.scenario for one in expanded(located)}
        if self.variant is not None and self.variant not in variants:
            raise no_variant(self.variant, [*variants])
        for scenario in variants.values() or [located.scenario]:
            self._check_property(scenario)
            if self.algorithm is not None:
                chosen(self.algorithm, slugs(one.name for one in scenario.algorithms))

    def _check_property(self, scenario: "ScenarioModel") -> None:
        if "property" in self.attacks and scenario.attacks.property is None:
            why = "the scenario names no hypotheses to choose between"
            raise ScenarioError("--attack", "property", why, "a scenario with attacks: {property: {hypotheses: …}}")

    def _attack(
        self,
        experiment: "Experiment",
        subject: "Subject",
        slug: str,
        file: Path,
        second: Path | None,
        specs: "Sequence[RebuildModel]",
    ) -> "AttackReport":
        """Attack a transcript, and that of the run with few records an agent where there is one. Only a folder's are
        scored unless --score says so."""
        from scenarios.files.folders import check_writable, held
        from scenarios.render.progress import Bars
        from scenarios.results.base import write_text
        from scenarios.results.folder import is_results
        from scenarios.results.tree import dumps
        from scenarios.stages.recorded_attack import attack_recording

        wanted = experiment.scenario.attacks
        self._check_property(experiment.scenario)
        names = [one for one in _OTHERS if (one in self.attacks if self.attacks else getattr(wanted, one))]
        names += [_LOSS] * (_LOSS in self.attacks)
        score = self.scenario is None if self.score is None else self.score
        folder = self.out or file.parent
        check_writable(folder)
        with held(folder, f"netsim attack {self.what}", drafts=(folder,) if is_results(folder) else ()):
            with Bars(of_progress(self.as_json)) as bars:
                report = attack_recording(experiment, subject, file, second, specs, names, folder, slug, score, bars)
            write_text(folder / f"attack-{slug}.json", dumps(report))
        return report

    def _end(self, reports: "list[AttackReport]", folder: Path | None = None) -> NoReturn:
        from scenarios.render.verdicts import print_recorded_attack
        from scenarios.results.attacked import AttackReports

        if self.as_json:
            write_result(AttackReports(folder=None if folder is None else str(folder), algorithms=tuple(reports)))
        else:
            print_recorded_attack(reports)
            if folder is not None:
                print_page(folder)
        raise typer.Exit(DONE)


# ── views ────────────────────────────────────────────────────────────────────────────────────────────────
MOST_COLUMNS = 12
"""Agents up to which the table of pairs has numbers; of more it has shades."""
SHADES = "·░▒▓█"
"""Of ε from the least to the largest, on a scale of decades; ∞ has its own sign."""


@command("views", "netsim views price-of-a-view", "netsim views price-of-a-view --listener 3 --out results/views")
def _views(
    scenario: Scenario,
    algorithm: Annotated[
        str | None, given(metavar="NAME", help="The algorithm (name or slug). Default: the first with noise.")
    ] = None,
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
    objectives (problem.kind: ridge, audit.adjacency: {change: 1}). Elsewhere (clipped gradients, other losses) no
    listener has an ε of its own: what is printed is the bound for who sees all that an agent sends, if any.

    Exit status: 0 done, 1 a claim of a pair or of the coalition does not hold, 2 wrong input, or views that have no
    such price.
    """
    from attacks.audit.verdict import BROKEN
    from scenarios.render.progress import Bars
    from scenarios.results.header import chosen, slugs
    from scenarios.schema.load import load_scenario
    from scenarios.schema.scenario import ViewsSpec
    from scenarios.stages.audit import price_views
    from scenarios.stages.runner import checked

    try:
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
        experiment = checked(load_scenario(scenario, option or []), part=True)
        priced = [one for one in experiment.subjects if one.simulation.algorithm.noisy] or experiment.subjects
        names = slugs(one.spec.name for one in experiment.subjects)
        subject = priced[0] if algorithm is None else experiment.subject(names[chosen(algorithm, names)])
        named = "algorithms" if algorithm is None else "--algorithm"
        n, audit = experiment.topology.agents, experiment.scenario.audit
        after = victim if victim is not None else (audit.agent if audit else None) or 0
        for name, agent in (("--listener", listener), ("--victim", after)):
            if agent is not None and agent >= n:
                raise ScenarioError(name, agent, "no such agent", f"0 to {n - 1}")
        if coalition >= n:
            raise ScenarioError("--coalition", coalition, "no such coalition", f"0 to {n - 1}")
        if not subject.simulation.algorithm.noisy:  # a run of it may take its time
            raise _unpriced(experiment, subject, AttackError("nothing has noise"), named)
        spec = ViewsSpec(exact=["pairs"], coalition=coalition or None)
        with Bars(terminal.problems) as bars:
            bars.begin(f"{subject.spec.name}: exact ε of views", 1)
            try:
                found, _ = price_views(
                    subject.simulation, spec, after, experiment.adjacency, subject.price_delta, progress=bars
                )
            except AttackError as error:
                raise _unpriced(experiment, subject, error, named) from error
    except NetsimError as error:
        terminal.fail(error, status=terminal.WRONG_INPUT, as_json=as_json)
    except OSError as error:
        terminal.cannot_write(error, out, as_json=as_json)
    assert found.pairs is not None
    if as_json:
        terminal.write_result(found)
    else:
        claim = subject.simulation.claim(experiment.adjacency, 1, subject.delta)
        pure = claim is not None and claim.delta == 0
        _print(found, subject, listener, pure=pure, needed=_needed(found, experiment))
    if out is not None:
        _write(found, experiment, listener, out)
        terminal.apart(as_json).print(f"In {out}: pairs.csv, pairs.parquet, figures", highlight=False)
    broken = found.pairs.refuted or any(one.verdict in BROKEN for one in found.views)
    raise typer.Exit(terminal.REFUTED if broken else terminal.DONE)


def _unpriced(experiment: "Experiment", subject: "Subject", error: AttackError, field: str) -> ScenarioError:
    """The error of an algorithm whose views have no price, and what would have one; `field` named it."""
    noisy = [repr(one.spec.name) for one in experiment.subjects if one.simulation.algorithm.noisy]
    here = f" (here {' or '.join(noisy)})" if noisy and not subject.simulation.algorithm.noisy else ""
    allowed = (
        f"an algorithm with noise{here}, on quadratic objectives (problem.kind: ridge, audit.adjacency: "
        "{change: 1}), with clipped gradients, or gossip; `netsim views price-of-a-view` has one"
    )
    return ScenarioError(field, subject.spec.name, f"has no price of its views: {error}", allowed)


def _needed(found: "ViewPrices", experiment: "Experiment") -> list[str]:
    """What an exact price of each view takes, and is not there."""
    from scenarios.schema.scenario import GradientChange

    rests, audit = " ".join(found.conditions), experiment.scenario.audit
    quadratic = experiment.scenario.problem.kind in ("ridge", "lasso")
    stated = audit is not None and isinstance(audit.adjacency, GradientChange)
    return [
        *["Gaussian noise"] * ("Gaussian noise of its own" not in rests),
        *["gradients that are not clipped"] * ("its gradients, clipped" in rests),
        *["quadratic objectives (-o problem.kind=ridge)"] * (not quadratic),
        *["a stated change (-o 'audit.adjacency={change: 1}')"] * (not stated),
    ]


def _print(
    found: "ViewPrices", subject: "Subject", listener: int | None, *, pure: bool, needed: Sequence[str]
) -> None:
    from scenarios.render.sentences import by_hops, searched
    from scenarios.results.numbers import between, show, show_epsilon

    pairs, name = found.pairs, subject.spec.name
    assert pairs is not None
    n = len(pairs.upper)
    if (most := _by_victim(pairs)) is None:
        terminal.line(f"{name}: ε at δ = {show(found.delta)} of each victim (row) at each listener (column)")
    else:
        why = found.conditions[0].partition(": ")[2]
        terminal.line(f"{name}: no listener has an exact ε of its own, at δ = {show(found.delta)}: {why}.")
    if pure:
        why = "The algorithm claims at δ = 0, where a Gaussian view has no ε"
        terminal.line(f"{why}: taken is {show(found.delta)}. At δ = 0 ε is no less.")
    if found.unbounded is not None:
        terminal.line(f"Nothing bounds all pairs: {found.unbounded}.")
    if found.unpriced_code is not None:
        terminal.line(found.unpriced_code)
    if most is not None:
        _print_bounds(found, most, needed)
        return
    if n <= MOST_COLUMNS:
        cells = [
            ["" if u == v else between((pairs.lower[u][v], pairs.upper[u][v])) for u in range(n)] for v in range(n)
        ]
        _print_columns(("", *map(str, range(n))), ([f"[bold]{u}[/]" for u in range(n)], *cells))
    else:
        shade = _shades([e for row in pairs.upper for e in row])
        for u, row in enumerate(pairs.upper):
            text = "".join(" " if u == v else shade(e) for v, e in enumerate(row))
            terminal.console.print(f"{u:4} {text}", highlight=False, no_wrap=True, crop=True)
    far = [
        (str(hops), f"{len(some):,}", *map(between, (some[0], some[len(some) // 2], some[-1])))
        for hops, some in by_hops(pairs)
    ]
    _print_columns(("hops", "pairs", "least ε", "median", "largest"), list(zip(*far, strict=True)))
    for one in found.views:
        words = f"{one.name.capitalize()} learns of agent {found.agent}: ε = {between(one.all_pairs or one.pair)}"
        terminal.line(words if one.refused is None else f"{words} ({one.refused})")
    for text in searched(found):
        terminal.line(text)
    if listener is not None:
        terminal.line(f"What agent {listener} learns, by distance:")
        claimed = pairs.claimed or ()
        broken = {u: f" (> {show_epsilon(claimed[u][v])})" for u, v in pairs.refuted if v == listener}
        table = Table("hops", f"agent: ε{' (> what is claimed)' * bool(broken)}", box=None, padding=(0, 2))
        for hops in sorted(set(pairs.hops[listener]) - {0}):
            there = [u for u in range(n) if pairs.hops[listener][u] == hops]
            ends = (
                f"{u}: {between((pairs.lower[u][listener], pairs.upper[u][listener]))}{broken.get(u, '')}"
                for u in there
            )
            table.add_row(str(hops), "   ".join(ends))
        terminal.console.print(table)
    for text in ("It rests on:", *(f"• {one}" for one in found.conditions)):
        terminal.line(text)


def _print_columns(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    columns = [Column(*one, right=True, whole=True) for one in zip(heads, cells, strict=True)]
    for table in stacked(columns, terminal.console):
        terminal.console.print(table)


def _by_victim(pairs: "ViewPrices.PairPrices") -> list[float] | None:
    """The bound of each victim, where that is all that is known of its listeners: a matrix would repeat it."""
    n, rows = len(pairs.upper), zip(pairs.lower, pairs.upper, strict=True)
    found = [{(low[v], high[v]) for v in range(n) if v != u} for u, (low, high) in enumerate(rows)]
    if n < 2 or any(len(ends) > 1 or any(low > 0 for low, _ in ends) for ends in found):
        return None
    return [high for ends in found for _, high in ends]


def _print_bounds(found: "ViewPrices", most: list[float], needed: Sequence[str]) -> None:
    """What anybody learns at most, why nothing more is known, and what is `needed` for a price of each view."""
    from scenarios.results.numbers import show_epsilon

    same = len(set(map(str, most))) == 1
    each = (
        f"ε ≤ {show_epsilon(most[0])} for every agent's data"
        if same
        else "; ".join(
            ("no bound" if math.isnan(one) else f"ε ≤ {show_epsilon(one)}") + f" for agent {u}'s data"
            for u, one in enumerate(most)
        )
    )
    ways = "; or ".join([*([", ".join(needed)] if needed else []), "gossip after noise"])
    for text in (
        f"A bound holds even for someone who sees everything that an agent sends: {each}.",
        f"To get an exact ε of each pair: {ways}. An example: netsim views price-of-a-view",
        "It rests on:",
        *(f"• {one}" for one in found.conditions[1:]),
    ):
        terminal.line(text)


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
        chart.save(folder / f"{name}.svg", 5.0)
