"""Commands that run scenarios: `netsim run` and `netsim check`, `netsim sweep`, and `netsim deploy` with its agents
here, on other machines, in containers, and programs in their place."""

import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.markup import escape

from netsim.errors import ScenarioError, install
from scenarios.cli.options import (
    AsJson,
    Jobs,
    Out,
    Replace,
    Scenario,
    Settings,
    Strict,
    Variant,
    Verbose,
    bounded,
    command,
    dated_folder,
    given,
    processes,
    refuse,
    repeated,
)
from scenarios.files.folders import SWEPT
from scenarios.render import terminal
from scenarios.render.terminal import DONE, FAILED, INTERRUPTED, console, fail, interrupted, problems, remark

if TYPE_CHECKING:
    from netsim.readers.deployed.deploy import Deployment
    from scenarios.build.experiment import Experiment
    from scenarios.sweep.run import SweepReport


@command("run", "netsim run lossy-tap --out results/lossy", "netsim run private-descent -o audit.trials=100 --json")
def _run(
    scenario: Scenario,
    out: Out = None,
    jobs: Jobs = -1,
    option: Settings = None,
    variant: Variant = None,
    replace: Replace = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show time, packets, bytes and waiting agents while simulations run.")
    ] = False,
    strict: Strict = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Run a scenario: simulate, tap, invert, audit, and write a folder with a report to look at.

    Finished results are not replaced without --replace: of the very same scenario they are shown again, for a run
    would repeat them; of another seed, or other fields, code or versions it is an error.

    Exit status: 0 done, 1 a claim does not hold, 2 wrong input, 3 no claim is refuted, and with --strict one is not
    proven or consistent, 70 failed, or an audit could not judge, 130 interrupted (docs/commands.md has the table).
    """
    _carry_out("run", scenario, out, jobs, option or [], variant, replace, watch, strict, verbose, as_json)


def _carry_out(
    word: str,
    scenario: str,
    out: Path | None,
    jobs: int,
    settings: list[str],
    variant: str | None,
    replace: bool,
    watch: bool,
    strict: bool,
    verbose: bool,
    as_json: bool,
    deployed: "Deployment | None" = None,
) -> None:
    """Run a scenario, one way or the other, and print what came of it; or what a finished run of it left there."""
    from scenarios.schema.load import alone, load_scenario

    apart_from_json, folder = terminal.apart(as_json), out
    again = repeated(f"netsim {word}", scenario, settings, variant)
    try:
        located = load_scenario(scenario, settings)
        located = located if variant is None else alone(located, variant)
        # What runs it takes its time to load: a mistake in the file is told before.
        from scenarios.cli.json_output import document, ending
        from scenarios.render.progress import Bars, Watcher
        from scenarios.render.verdicts import print_results
        from scenarios.stages.study import finished, run_study

        shown = terminal.of_progress(as_json)
        watcher = Watcher(shown) if watch else None
        folder = out or dated_folder(located.scenario.name)
        apart_from_json.print(f"[bold]{escape(located.scenario.title or located.scenario.name)}[/]")
        look = None if watcher is None else watcher.look
        results = None if replace else finished(folder, located.scenario, word.partition(" ")[0], again)
        if results is not None:
            terminal.remark(terminal.FINISHED)
        with Bars(shown, watcher) as bars:
            results = results or run_study(
                located, folder, command=again, progress=bars, watch=look, jobs=jobs, deployed=deployed
            )
    except ScenarioError as error:
        named = {
            name: f"--{name.replace('_', '-')}" for name in ("agents_on", "ssh", "outside", "kernel", "namespaces")
        }
        terminal.fail(error, options={"folder": "--out"} | named, as_json=as_json)
    except Exception as error:  # of a run; or a defect, or an algorithm's own: no finding about a claim
        terminal.fail(error, folder, as_json=as_json)
    if as_json:
        terminal.write_result(document(results, folder, strict))
    else:
        print_results(results, folder, verbose=verbose)
        terminal.print_page(folder, verbose=verbose)
    if results.status == "interrupted":
        terminal.interrupted("the folder holds what was done until then", f"{again} --out {shlex.quote(str(folder))}")
    raise typer.Exit(ending(results, strict)[0])


@command("check", "netsim check private-descent -o links.loss=0.2")
def _check(
    scenario: Scenario,
    option: Settings = None,
    no_code: Annotated[
        bool,
        typer.Option("--no-code", help="Run no file that the scenario names: of one that names any, only fields."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a scenario without running it: everything that can be known before time 0.

    Code that the scenario names (`kind: python`) is imported for that, which runs it; --no-code checks no more of
    such a scenario than its fields.

    Exit status: 0 it can be run, 2 wrong input, or data that are not on this machine.
    """
    from scenarios.schema.load import load_scenario

    located = load_scenario(scenario, option or [])
    # What builds it takes its time to load: a mistake in the file is told before.
    from scenarios.render.progress import Bars
    from scenarios.stages.study import own_files, planned

    with Bars(terminal.problems, lines=False) as bars:
        named = own_files(located) if no_code else []
        plan = None if named else planned(located, bars)
    if plan is None:
        if as_json:
            found = {"exit_status": terminal.DONE, "name": located.scenario.name, "file": located.file}
            terminal.write_document(found | {"not_run": named})
        else:
            terminal.line(f"{located.scenario.name}: its fields fit; code that was not run: {', '.join(named)}")
        raise typer.Exit(terminal.DONE)
    first, spec, names = plan.first, located.scenario, [variant.name for variant in plan.variants]
    status = terminal.DONE if first is not None else terminal.WRONG_INPUT
    undefined = () if first is None else tuple(_undefined(first))
    waits = "" if first is None else _waits(first)
    for name, why in plan.absent.items():
        terminal.remark(f"{name}: {why}".removeprefix(": "))
    if as_json:
        found: dict[str, object] = {"exit_status": status, "name": spec.name, "title": spec.title}
        found |= {"file": located.file, "can_be_run": first is not None, "variants": names}
        found["absent"] = dict(plan.absent)
        if first is not None:  # what follows is of the first that can be run
            found |= {"topology": first.topology.name, "agents": first.topology.agents}
            found |= {"data": first.dataset.name, "records": first.dataset.records}
            found["dimension"] = first.problem.dimension
            found["estimates"] = [
                {"of": what, "seconds": one.seconds, "bytes": one.memory} for what, one in plan.costs.items()
            ]
            found["algorithms"] = [{"name": s.spec.name, "kind": s.spec.kind} for s in first.subjects]
            found["undefined_claims"] = [one.as_plain() for one in undefined]
            found["waits_forever"] = waits or None
        terminal.write_document(found)
    elif first is not None:
        several = f"{len(names)} variants ({', '.join(names)}); the first: " if names else ""
        algorithms = f"{len(first.subjects)} algorithm{'s' * (len(first.subjects) > 1)}"
        terminal.line(
            f"{spec.name}: can be run: {several}{algorithms} on a {first.topology.name}, "
            f"{first.dataset.records} records. {plan.ahead}"
        )
    for one in (*filter(None, [waits]), *undefined):
        terminal.remark(str(one))
    raise typer.Exit(status)


def _waits(experiment: "Experiment") -> str:
    """Who may wait forever for a packet that is lost, and the remedy: at an exchange without a deadline, or at
    `node.receive`, which has none; "" where nobody does."""
    waits = experiment.scenario.waits_forever
    if not waits or experiment.scenario.exchange.deadline is None:
        return waits
    from netsim.own import receives_at

    found = {one.spec.name: receives_at(one.simulation.algorithm) for one in experiment.subjects}
    places = ", ".join(f"{name} ({place})" for name, place in found.items() if place)
    return f"{waits} node.receive has no deadline; with it waits: {places}." if places else ""


@dataclass(frozen=True)
class _Undefined:
    """A claim that an audit would find undefined: why, and an option that mends it, or ""."""

    algorithm: str
    delta: float
    conditions: tuple[str, ...]
    remedy: str

    def __str__(self) -> str:
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{self.algorithm}: its claim will be undefined: {'; '.join(self.conditions)}{remedy}"

    def as_plain(self) -> dict[str, object]:
        """For other programs."""
        plain: dict[str, object] = {"algorithm": self.algorithm, "epsilon": None, "delta": self.delta}
        return plain | {"failed_conditions": list(self.conditions), "remedy": self.remedy or None}


def _undefined(experiment: "Experiment") -> Iterator[_Undefined]:
    """Each claim that an audit would find undefined, with its conditions and what to do."""
    if experiment.scenario.audit is None:
        return
    from netsim.claims import UNCLAIMED
    from scenarios.results.findings import clip_option

    for place, subject in enumerate(experiment.subjects):
        simulation = subject.simulation
        claim = simulation.claim(experiment.adjacency, simulation.algorithm.horizon or 1, subject.delta)
        failed = () if claim is None else tuple(one for one in claim.failed_conditions if one != UNCLAIMED)
        if claim is not None and failed:
            remedy = clip_option(subject.spec.kind, failed, claim.norm, place)
            yield _Undefined(subject.spec.name, claim.delta, failed, remedy or "")


# ── sweep ────────────────────────────────────────────────────────────────────────────────────────────────
HEADS = {
    "final_error": "final error", "epsilon_claimed": "ε claimed", "epsilon_exact_lower": "ε exact ≥",
    "verdict": "verdict", "gradient_error": "gradient error",
}  # fmt: skip
"""Columns of results, with their heads."""
_GUESS = "*"
"""Behind the error of gradients of which none is known better than by guessing."""
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
    from scenarios.files.library import library, read_text, setting_of
    from scenarios.sweep.points import Shard, base_of, load_sweep

    try:
        share = None if shard is None else Shard.read(shard)
        if share is not None and out is None:
            raise ScenarioError("--shard", shard, "needs the folder that all shares have in common", "--out FOLDER")
        text = library()[file] if file in library() and not Path(file).exists() else read_text(Path(file))
        spec = load_sweep(text, file, option or [])
        for path, value in map(setting_of, option or []):
            if path in spec.grid or path in spec.random:
                raise ScenarioError(f"-o {path}", value, "the sweep varies it", "a field that it does not vary")
        base = base_of(spec, file, option or [])
        # What runs it takes its time to load: a mistake in a file is told before.
        from scenarios.render.progress import Bars
        from scenarios.sweep.run import run_sweep

        for words in spec.remarks():
            remark(words)
        folder = out or dated_folder(base.scenario.name, "sweep-")
        chosen = {"--jobs": None if jobs == -1 else str(jobs), "--cluster": cluster, "--shard": shard}
        again = f"{repeated('netsim sweep', file, option or [])} --out {shlex.quote(str(folder))}"
        on = "".join(f" {name} {shlex.quote(value)}" for name, value in chosen.items() if value is not None)
        client = None if cluster is None else _client(cluster)
        try:
            with Bars(terminal.of_progress()) as bars, client or nullcontext():
                found = run_sweep(
                    spec, base, folder, jobs=jobs, client=client, shard=share, command=again, progress=bars
                )
        except KeyboardInterrupt:  # while points are checked
            kept = "the folder has the points that were done" if folder.is_dir() else "no point was run yet"
            interrupted(kept, again + on)
            raise typer.Exit(INTERRUPTED) from None
    except ScenarioError as error:
        fail(error, options={"shard": "--shard", "folder": "--out"})
    _print(found, [*spec.grid, *spec.random], [one.name for one in base.scenario.algorithms])
    for one in [one for one in found.results if one.point in found.failed][:MOST]:
        problems.print(f"[bold red]point {one.point} failed[/]: {escape(str(one.error))}", highlight=False)
    if found.there:
        from scenarios.render.page.sweep import unchanging
        from scenarios.sweep.folder import swept

        for words in unchanging(swept(folder)):
            terminal.line(words)
        console.print()
        terminal.print_place("Table:", folder / SWEPT)
        terminal.print_place("Its page:", f"{terminal.program()} report {shlex.quote(str(folder))}")
    if share is not None:
        of_all = f"{found.all} point{'s' * (found.all > 1)}"
        console.print(f"It has {found.there} of the sweep's {of_all}", highlight=False)
        if found.there < found.all:
            words = "The others come with the other shares; whatever is missing then, with:"
            terminal.print_place(words, again)
    if found.status == "interrupted":
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
    from scenarios.files.document import setting
    from scenarios.render.plain_words import COLUMNS
    from scenarios.render.tables import Column, have_room, stacked
    from scenarios.render.terminal import leaves
    from scenarios.results.numbers import MISSING, show, show_epsilon

    ordered = sorted(found.results, key=lambda one: one.point)
    rows = [{**dict(_inside(one.fields)), **row} for one in ordered for row in one.rows]
    given = [_inside({name: one.fields[name] for name in varied}) for one in ordered]
    fields = list(dict.fromkeys(path for one in given for path, _ in one))
    several = list(dict.fromkeys(row.get("algorithm") for row in rows))
    shown = [name for name in HEADS if any(row.get(name) is not None for row in rows)]

    def cell(value: object, name: str = "") -> str:
        if isinstance(value, float):
            return show_epsilon(value) if name.startswith("epsilon") else show(value)
        return MISSING if value is None else escape(setting(value))

    fields += ["seed"] if len({str(row.get("seed")) for row in rows}) > 1 else []
    heads = list(zip(fields, leaves(fields, algorithms), strict=True))
    heads = [one for one in heads if len({cell(row.get(one[0])) for row in rows}) > 1] or heads[:1]
    more = 0
    for algorithm in several:  # a table each: a line for each point, or for those that are alike
        every = [row for row in rows if row.get("algorithm") == algorithm]
        theirs, alike = list(heads), list[str]()
        for field in heads:
            rest = [name for name, _ in theirs if name != field[0]]
            first_of = {tuple(cell(row.get(name)) for name in rest): row for row in reversed(every)}
            measured_of = {tuple(cell(row.get(name), name) for name in (*rest, *shown)) for row in every}
            if len(measured_of) == len(first_of) < len(every):  # whatever its value is
                theirs.remove(field)
                alike.append(field[1])
                every = [*first_of.values()][::-1]
        own = every[: MOST // len(several)]
        more += len(every) - len(own)

        def column(name: str, head: str, own: list[dict[str, object]] = own, **how: Any) -> Column:
            numbers = all(isinstance(row.get(name), int | float | None) for row in own)
            cells = [cell(row.get(name), name) for row in own]
            if name == "gradient_error":
                cells = [f"{one}{_GUESS * (row.get('learned') == 0)}" for one, row in zip(cells, own, strict=True)]
            return Column(head, cells, right=numbers, **how)

        first, varied_ones = column("point", "point", whole=True), [column(name, head) for name, head in theirs]
        measured = {name: column(name, HEADS[name], whole=True) for name in shown}
        columns = [first, *varied_ones, *measured.values()]
        if "verdict" in measured and not have_room(columns, console):  # it stays beside the fields
            verdict = measured.pop("verdict")
            beside = [*varied_ones, verdict]
            beside = beside if have_room([first, *beside], console) else [verdict, *varied_ones]
            columns = [first, *beside, *measured.values()]
        if len(several) > 1:
            terminal.line(str(algorithm), style="bold")
        for table in stacked(columns, console):
            console.print(table)
        if alike:
            terminal.line(
                f"The same at every value of {' and of '.join(alike)}; the first point is named.", style="dim"
            )
    if more > 0:
        console.print(f"{more} more rows are in the table.")
    meanings = [f"{HEADS[name]}: {COLUMNS[name]}" for name in shown if name in COLUMNS]
    meanings += [f"{_GUESS} no better than guessing"] * any(row.get("learned") == 0 for row in rows)
    for words in meanings:
        terminal.line(f"{words}.", style="dim")
    console.print(f"{found.complete} of {found.points} point{'s' * (found.points > 1)} done", highlight=False)


def _inside(fields: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The fields and their values, a mapping's each by itself."""
    for name, value in fields.items():
        if isinstance(value, Mapping):
            inner = cast("Mapping[str, object]", value)
            yield from _inside({f"{name}.{key}": one for key, one in inner.items()})
        else:
            yield name, value


# ── deploy ───────────────────────────────────────────────────────────────────────────────────────────────
PORT, FOLDER, HOSTS = 7000, "/work", "/hosts.yaml"
"""Where everybody listens in a container of his own, and has the folder of the command, and the file of hosts."""


@command(
    "deploy",
    "netsim deploy eavesdropper-on-dp-recal",
    "netsim deploy private-descent --tls --out results/sealed",
    "netsim deploy lossy-tap --speed 10",
    "netsim deploy private-descent --agents-on hosts.yaml --ssh",
)
def _deploy(
    scenario: Scenario,
    out: Out = None,
    jobs: Jobs = -1,
    option: Settings = None,
    variant: Variant = None,
    replace: Replace = False,
    tls: Annotated[
        bool | None,
        typer.Option("--tls/--clear", help="Links are TLS 1.3, or in the clear. Default: as the scenario's links."),
    ] = None,
    speed: Annotated[float, bounded(1e-3, 1e3, help="Scenario seconds in a real second.")] = 1.0,
    restart: Annotated[bool, typer.Option("--restart", help="Start an agent that dies anew.")] = False,
    patience: Annotated[float, bounded(1.0, None, help="Real seconds in which something has to happen.")] = 30.0,
    agents_on: Annotated[
        Path | None,
        given("--agents-on", metavar="HOSTS.yaml", help="Where agents run; their command lines are printed."),
    ] = None,
    ssh: Annotated[bool, typer.Option("--ssh", help="Start the agents on other hosts by ssh.")] = False,
    outside: Annotated[
        list[str] | None,
        given("--outside", metavar="AGENT=PROGRAM", help="Run this program in the place of an agent; repeatable."),
    ] = None,
    kernel: Annotated[
        bool, typer.Option("--kernel", help="Capture by a packet socket of the kernel, without relays.")
    ] = False,
    namespaces: Annotated[
        bool, typer.Option("--namespaces", help="Give every agent a network namespace of its own (Linux, root).")
    ] = False,
    compose: Annotated[
        Path | None,
        given("--compose", metavar="FILE", help="Write a compose file with a service for each agent; run nothing."),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show time, packets and waiting agents.")] = False,
    strict: Strict = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Run a scenario with a process for every agent: they talk over TCP on this machine, and taps capture packets.

    A relay on each link that is tapped, or whose law is not that of bare loopback, carries out the law in real time.
    The transcript is rebuilt from the captured packets and goes to the same attacks as that of `netsim run`, into the
    same kind of folder; captures and logs of agents are in deployed-ALGORITHM/. `replicas` is 1. Audits are
    simulated. Other machines, containers, and programs of your own as agents: docs/deploy.md, docs/tap-your-own.md.

    Exit status: 0 done; the others are those of `netsim run`, and 1 also where a program in an agent's place does not
    follow the algorithm, 3 where that cannot be said.
    """
    from netsim.readers.deployed.deploy import Deployment
    from scenarios.schema.load import load_hosts

    settings, folder = ["replicas=1", *(option or [])], out
    said = {"--tls": tls is True, "--clear": tls is False, "--restart": restart}
    said |= {"--kernel": kernel, "--namespaces": namespaces}
    said |= {f"--speed {speed:g}": speed != 1, f"--patience {patience:g}": patience != 30}
    said |= {f"--agents-on {shlex.quote(str(agents_on))}": agents_on is not None, "--ssh": ssh}
    said |= {f"--outside {shlex.quote(one)}": True for one in outside or []}
    word = " ".join(["deploy", *(flag for flag, whether in said.items() if whether)])
    try:
        deployed = Deployment(
            tls=tls,
            speed=speed,
            restart=restart,
            patience=patience,
            hosts=None if agents_on is None else load_hosts(agents_on),
            ssh=ssh,
            outside=dict(map(_place_taken, outside or [])),
            kernel=kernel,
            namespaces=namespaces,
            announce=lambda line: terminal.apart(as_json).print(line, soft_wrap=True, highlight=False, markup=False),
        )
        if compose is not None:
            others = {"--agents-on": agents_on, "--ssh": ssh, "--outside": outside}
            for name, what in {**others, "--kernel": kernel, "--namespaces": namespaces}.items():
                refuse(name, what, "in a compose file every agent is a service", f"without {name}")
            _write_compose(compose, folder, word, scenario, settings, variant, deployed, as_json)
            return
    except ScenarioError as error:
        terminal.fail(error, options={"agents_on": "--agents-on", "ssh": "--ssh"}, as_json=as_json)
    _carry_out(word, scenario, out, jobs, settings, variant, replace, watch, strict, verbose, as_json, deployed)


def _place_taken(text: str) -> tuple[int, str]:
    """AGENT=PROGRAM."""
    agent, apart, program = text.partition("=")
    if not apart or not agent.strip().isdecimal():
        raise ScenarioError(
            "--outside", text, "says no agent and program", "AGENT=PROGRAM, such as '2=python3 mine.py'"
        )
    return int(agent), program


# ── containers ──────────────────────────────────────────────────────────────────────────────────────────
def _write_compose(
    file: Path,
    out: Path | None,
    word: str,
    scenario: str,
    settings: list[str],
    variant: str | None,
    deployed: "Deployment",
    as_json: bool,
) -> None:
    """The compose file of a scenario that can be deployed, and how it is used."""
    from netsim.readers.deployed.deploy import checked as checked_deployment
    from netsim.readers.deployed.hosts import Host, Hosts, Place, versions
    from scenarios.files.document import as_yaml
    from scenarios.files.folders import written
    from scenarios.results.header import slug
    from scenarios.schema.load import alone, load_scenario
    from scenarios.stages.outputs import DEPLOYED
    from scenarios.stages.runner import checked

    located = load_scenario(scenario, settings)
    located = located if variant is None else alone(located, variant)
    subject, *others = checked(located).subjects
    if others:
        names = ", ".join(one.spec.name for one in (subject, *others))
        raise ScenarioError("algorithms", names, "the services are those of one algorithm", "a scenario with one")
    if (path := Path(located.file)).is_file() and not path.resolve().is_relative_to(Path.cwd()):
        raise ScenarioError("scenario", str(path), "containers see this folder alone", "a file below it")
    simulation, folder = subject.simulation, out or dated_folder(located.scenario.name)
    agents = tuple(Host(f"agent-{i}", PORT) for i in range(simulation.topology.agents))
    hosts = Hosts(Place("coordinator", PORT), agents)
    checked_deployment(simulation, replace(deployed, hosts=hosts))
    begin = [*shlex.split(repeated(f"netsim {word}", scenario, settings, variant)), "--out", str(folder)]
    files = [folder / f"{DEPLOYED}{slug(subject.spec.name, ())}" / f"agent-{i}.errand" for i in range(len(agents))]
    every: dict[str, object] = {
        "image": f"${{NETSIM_IMAGE:?an image that has {versions()}}}",
        "user": f"{os.getuid()}:{os.getgid()}",
        "working_dir": FOLDER,
        "volumes": [{"type": "bind", "source": _plain([str(Path.cwd())])[0], "target": FOLDER}],
    }
    services: dict[str, object] = {
        "coordinator": {
            **every,
            "command": _plain([*begin, "--agents-on", HOSTS]),
            "configs": [{"source": "hosts", "target": HOSTS}],
            "healthcheck": {"test": _plain(["CMD", "test", "-s", str(files[-1])]), "interval": "1s", "retries": 600},
        }
    }
    for i, agent in enumerate(agents):
        ready = {"coordinator": {"condition": "service_healthy"}}
        services[agent.address] = {**every, "command": _plain(hosts.command(i, files[i])), "depends_on": ready}
    tree = {"services": services, "configs": {"hosts": {"content": as_yaml(asdict(hosts))}}}
    with written(file, "--compose") as draft:
        draft.write_text(as_yaml(tree), encoding="utf-8")
    if as_json:
        terminal.write_document({"exit_status": terminal.DONE, "file": str(file), "services": [*services]})
    else:
        terminal.line(f"{len(services)} services; run them: NETSIM_IMAGE=… docker compose -f {file} up")


def _plain(words: list[str]) -> list[str]:
    """Words in which compose replaces nothing."""
    return [word.replace("$", "$$") for word in words]
