"""Command `netsim audit`."""

import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from netsim.errors import NetsimError, ScenarioError, together
from scenarios.render.terminal import DONE, FAILED, INTERRUPTED, apart, console, fail, problems, write_document

if TYPE_CHECKING:
    from collections.abc import Generator

    from scenarios.cli.progress import Bars
    from scenarios.schema import Scenario
    from scenarios.schema.load import Located

Results = dict[str, Any]
Game = StrEnum("Game", ["anytime", "classifier", "links", "nodes", "coalitions", "views"])
TARGET = typer.Argument(
    metavar="WHAT",
    help="FILE.py:CLASS (or PACKAGE.MODULE:CLASS), an algorithm of your own; a results folder; a scenario's YAML "
    "file; or the name of a shipped scenario.",
    show_default=False,
)
SETTING = typer.Option(
    "-o",
    "--option",
    metavar="NAME=VALUE",
    help="Of an algorithm of your own a parameter (-o rounds=20) or a field of the scenario (-o topology=complete "
    "-o agents=8 -o data=digits -o links.loss=0.1); of a scenario a field. As often as you like.",
    show_default=False,
)
GAMES = typer.Option(
    "--games",
    help="Also play: anytime, a game that ends the audit as soon as it has refuted the claim; classifier, a game "
    "whose score is learned; links, nodes, coalitions, or all of these views: from where the claim is refuted.",
    show_default=False,
)


def audit(
    what: Annotated[str, TARGET],
    option: Annotated[list[str] | None, SETTING] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="The ε that you claim of your algorithm, of its whole run: between worlds that differ in one record "
            "of one agent, or else as -o audit.adjacency=agent (all its labels) or "
            "-o 'audit.adjacency={change: 1, norm: l1}' (a change of its gradient) says.",
            show_default=False,
        ),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(min=0, max=0.999, help="The δ of that claim; 0 if not given.", show_default=False)
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(min=50, help="Transcripts of each world; 2000 if nobody says another.", show_default=False),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(min=0.5, max=0.999999, help="Of all that is said together; 0.95.", show_default=False),
    ] = None,
    games: Annotated[list[Game] | None, GAMES] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of several algorithms this one (name or slug).", show_default=False),
    ] = None,
    variant: Annotated[
        str | None, typer.Option(help="Of a scenario with variants this one.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The results folder, new or empty, or a former one of the same name, which is replaced; if not "
            "given, results/NAME/DATE-TIME.",
            show_default=False,
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Of a folder: make one more audit, though one is there.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="Processes that share the simulations; -1: one per core.")] = -1,
    as_json: Annotated[bool, typer.Option("--json", help="Verdicts and the three epsilons as JSON.")] = False,
) -> None:
    """Audit a privacy claim, and nothing else: is it true?

    Simulates two worlds that differ in one agent's private data, replays the agent's own code on what was sent, plays
    the game of telling the worlds apart, and says a verdict with three epsilons: claimed, exact, audited.

    netsim audit mine.py:Mine -o rounds=20 -o scale=0.5 --epsilon 1

    audits an algorithm of your own (this runs the code in mine.py): no scenario is needed. Without --epsilon it is
    held to what its claim() says; where it says nothing, the audit says what it costs.

    netsim audit FOLDER

    goes on with an audit that was stopped, and only then are transcripts added. One that is done has been read: with
    --trials, --confidence, --games or --again you get a new one, with noise of its own, and both are told. Audits of
    a folder share their error: the n-th new one at --confidence C is made at 1 - (1 - C)/(n(n + 1)), so that with the
    first, at 1 - a, all hold together at C - a at least, however many there are. One that refutes the claim decides:
    later ones take nothing back. None is made that would bring what holds together below 0.5. Code that was changed
    is not audited in the folder of the old.

    Exit status: 0 done, 1 an algorithm is refuted or unprotected (but for one that the scenario marks `baseline:
    true`), 2 wrong input, 70 failed, or an audit could not judge, 130 interrupted (the same command, with the folder,
    goes on).
    """
    order = _Order(what, option or [], _claim(epsilon, delta), _settings(trials, confidence, games or []))
    order = replace(order, algorithm=algorithm, variant=variant, out=out, again=again, jobs=jobs, as_json=as_json)
    try:
        order.run()
    except ScenarioError as error:
        fail(order.worded(error), as_json=as_json)
    except NetsimError as error:
        fail(error, order.out, as_json=as_json)
    except typer.Exit:
        raise
    except Exception as error:  # a defect, or the algorithm's own: told in full, and no finding about a claim
        fail(error, order.out, as_json=as_json)


def _claim(epsilon: float | None, delta: float | None) -> Results | None:
    if epsilon is None and delta is None:
        return None
    return {"epsilon": epsilon, "delta": delta or 0.0, "source": "the command line"}


def _settings(trials: int | None, confidence: float | None, games: Sequence[Game]) -> Results:
    """Fields of `audit`, of what was given."""
    told: Results = {"trials": trials, "confidence": confidence}
    for game in games:
        match str(game):
            case "anytime":
                told["stop"] = "refuted"
            case "classifier":
                told["classifier"] = True
            case other:
                told["views"] = "all" if other == "views" else other
    return {name: value for name, value in told.items() if value is not None}


@dataclass(frozen=True)
class _Order:
    """What was asked on the command line."""

    what: str
    options: Sequence[str]
    claim: Results | None
    settings: Mapping[str, Any]
    algorithm: str | None = None
    variant: str | None = None
    out: Path | None = None
    again: bool = False
    jobs: int = -1
    as_json: bool = False

    def run(self) -> None:
        from scenarios.files.library import library
        from scenarios.results.folder import is_results
        from scenarios.schema.own_code import is_own

        if self.jobs == 0 or self.jobs < -1:
            raise ScenarioError("--jobs", self.jobs, "not a number of processes", "-1 (one per core), or >= 1")
        if self.what not in library() and is_own(self.what):
            self._own()
        elif Path(self.what).is_dir():
            self._folder(Path(self.what), is_results(Path(self.what)))
        else:
            self._scenario()

    # ── an algorithm of somebody's own ──────────────────────────────────────────────────────────────────
    def _own(self) -> None:
        from scenarios.cli.own_scenario import scenario_of

        self._refuse(variant=self.variant, again=self.again, algorithm=self.algorithm)
        given = [f"audit.{name}={_yaml(value)}" for name, value in self.settings.items()]
        scenario = scenario_of(self.what, [*self.options, *given], self.claim)
        self._simulated(scenario, scenario)

    # ── a scenario ──────────────────────────────────────────────────────────────────────────────────────
    def _scenario(self) -> None:
        from scenarios.build.variants import alone
        from scenarios.schema.load import load_scenario

        self._refuse(epsilon=self.claim, again=self.again)
        located = load_scenario(self.what, self.options)
        located = load_scenario(self.what, [*self.options, *self._only(located.scenario)])
        located = located if self.variant is None else alone(located, self.variant)
        self._simulated(located, located.scenario)

    def _only(self, scenario: "Scenario") -> list[str]:
        """Settings that leave of a scenario its audit alone."""
        found = ["attacks={gradients: false}", "replicas=1", "reproduces=null", "figures=[]"]
        if scenario.audit is None:
            found.append("audit={}")
        if self.algorithm is not None:
            chosen = [spec for spec in scenario.algorithms if self.algorithm in (spec.name, _slug(spec.name))]
            if not chosen:
                names = ", ".join(_slug(spec.name) for spec in scenario.algorithms)
                raise ScenarioError("--algorithm", self.algorithm, "not in the scenario", names)
            kept = [spec.model_dump(mode="json", exclude_unset=True) | {"kind": spec.kind} for spec in chosen]
            found.append(f"algorithms={json.dumps(kept)}")
        return found + [f"audit.{name}={_yaml(value)}" for name, value in self.settings.items()]

    def _simulated(self, source: "Scenario | Located", scenario: "Scenario") -> None:
        from scenarios.stages.reaudit import remark
        from scenarios.stages.study import run_study

        folder = self.out or Path("results") / scenario.name / datetime.now().strftime("%Y%m%d-%H%M%S")
        self._said.print(f"[bold]{escape(scenario.title or scenario.name)}[/]")
        if said := remark(folder, scenario):
            self._remark(said)
        with self._bars() as bars:
            results = run_study(source, folder, command=self.command, progress=bars, jobs=self.jobs)
        self._end(results, folder)

    # ── a results folder ────────────────────────────────────────────────────────────────────────────────
    def _folder(self, folder: Path, results: bool) -> None:
        from scenarios.results.folder import RunFolder, parts_of, read_results
        from scenarios.stages.reaudit import refresh

        self._refuse(epsilon=self.claim, out=self.out, option=self.options)
        if not results:
            raise ScenarioError("folder", str(folder), "no results folder: it has no manifest.json", "one of a run")
        places = parts_of(folder, self.variant)
        try:
            for place in places:
                if len(places) > 1:
                    self._said.print(f"[bold]{escape(place.name)}[/]")
                self._again(RunFolder.open(place))
        finally:  # what was done before it was stopped is told over all variants, too
            if places != [folder]:
                refresh(folder)
        if places != [folder]:
            folder = places[0] if self.variant is not None else folder
        self._end(read_results(folder), folder)

    def _again(self, kept: Any) -> None:
        from scenarios.stages.reaudit import Reaudit

        for remark in kept.remarks():
            self._remark(remark)
        try:
            with self._bars() as bars:
                Reaudit(kept, self.settings, bars, self._remark, self.again, self.jobs).run(self.algorithm)
        except KeyboardInterrupt:
            problems.print("[yellow]Interrupted: what the audit has seen is kept.[/]")
            problems.print(f"Go on with: [bold]{escape(self.command)}[/]", highlight=False, soft_wrap=True)
            raise typer.Exit(INTERRUPTED) from None

    # ── what is said ────────────────────────────────────────────────────────────────────────────────────
    @property
    def command(self) -> str:
        """What repeats it."""
        words = ["netsim audit", shlex.quote(self.what), *(f"-o {shlex.quote(one)}" for one in self.options)]
        if self.claim is not None:
            words += [f"--{k} {v}" for k, v in self.claim.items() if k != "source" and v not in (None, 0.0)]
        games = {"stop": "--games anytime", "classifier": "--games classifier"}
        for name, value in self.settings.items():
            views = f"--games {'views' if value == 'all' else value}"
            words.append(games.get(name) or (views if name == "views" else f"--{name} {value}"))
        words += [f"--{k} {shlex.quote(v)}" for k in ("algorithm", "variant") if (v := getattr(self, k)) is not None]
        return " ".join([*words, *(["--again"] if self.again else [])])

    @property
    def _said(self) -> Console:
        """Where everything goes but JSON."""
        return apart(self.as_json)

    @contextmanager
    def _bars(self) -> "Generator[Bars]":
        from scenarios.cli.progress import Bars

        with Bars(self._said) as bars:
            yield bars

    def _remark(self, sentence: str) -> None:
        self._said.print(sentence, style="dim", highlight=False, markup=False, soft_wrap=True)

    def _end(self, results: Results, folder: Path) -> None:
        from scenarios.cli.json_output import verdicts_as_plain

        told = verdicts_as_plain(results, folder)
        refused = [row["name"] for row in told["algorithms"] if row["audit_status"] == "refused"]
        if told["exit_status"] == DONE and refused:
            told |= {"exit_status": FAILED, "exit_reason": f"not judged: {', '.join(refused)}"}
        if self.as_json:
            write_document(told)
        else:
            _print(results, folder)
        if told["exit_status"] == INTERRUPTED:
            problems.print("[yellow]Interrupted: the folder holds what was done until then.[/]")
            again = self.command if Path(self.what).is_dir() else f"{self.command} --out {shlex.quote(str(folder))}"
            problems.print(f"Go on with: [bold]{escape(again)}[/]", highlight=False, soft_wrap=True)
        raise typer.Exit(told["exit_status"])

    def _refuse(self, **given: object) -> None:
        """A `ScenarioError` for an option that means nothing here."""
        of = {
            "epsilon": ("--epsilon", "a claim is given by hand to an algorithm of your own", "FILE.py:CLASS"),
            "again": ("--again", "there is no audit yet to make one more of", "a results folder"),
            "out": ("--out", "an audit of a folder stays in it", "no --out"),
            "option": (
                "-o",
                "a folder has its scenario: another one is another run",
                "--trials, --confidence, --games",
            ),
            "variant": ("--variant", "an algorithm of your own has no variants", "a scenario, or a folder"),
            "algorithm": ("--algorithm", "there is one algorithm", "a scenario, or a folder"),
        }
        for name, value in given.items():
            if value:
                field, why, allowed = of[name]
                raise ScenarioError(field, value, why, allowed)

    def worded(self, error: ScenarioError) -> ScenarioError:
        """The error in the words of the command line."""
        from scenarios.cli.own_scenario import in_command_words
        from scenarios.schema.own_code import is_own

        options = {"folder": "--out" if self.out is not None else "folder", "jobs": "--jobs"}
        options |= {f"{sign}audit.{name}": f"--{name}" for name in self.settings for sign in ("", "-o ")}
        error = together([replace(one, field=options.get(one.field, one.field)) for one in error.each()])
        return in_command_words(error) if is_own(self.what) else error


def _print(results: Results, folder: Path) -> None:
    from scenarios.render.verdicts import print_variants, print_verdicts, print_witnesses

    if "variants" in results:
        print_variants(results)
    else:
        print_verdicts(results)
        _print_earlier(results)
    print_witnesses(results, folder)
    for entry in results.get("algorithms", []):
        audit: Results = entry.get("audit") or {}
        if audit.get("claim"):
            console.print(_held(entry, audit), highlight=False, markup=False, soft_wrap=True)
        if entry["kind"] == "python" and audit.get("verdict") == "undefined":
            console.print("Hold it to a number: [bold]--epsilon E[/], or write its claim().", highlight=False)
    console.print(f"\nReport: [bold]{escape(str(folder / 'report.html'))}[/]", soft_wrap=True)


def _held(entry: Results, audit: Results) -> str:
    """What a claim is held against: which worlds are adjacent, by how much a gradient differs, δ, and the pair."""
    from scenarios.render import sentences
    from scenarios.schema.own import BY_HAND

    claim: Results = audit["claim"]
    stated = "" if claim["norm"] == BY_HAND else f"; the claim is stated in {claim['norm']}"
    how = (
        ""
        if entry["kind"] != "python"
        else " Other worlds: -o audit.adjacency=agent; another agent: -o audit.agent=2."
    )
    return (
        f"{entry['name']} is held to its ε between worlds that differ so: {claim['adjacency']} (the gradient by "
        f"{sentences.number(claim['gradient_change'])} at most, in ℓ2{stated}), at δ = "
        f"{sentences.number(claim['delta'])}. Pair examined: {audit['pair']}.{how}"
    )


def _print_earlier(results: Results) -> None:
    """What audits of the same claim said before."""
    from scenarios.render import sentences

    for entry in results["algorithms"]:
        audit: Results = entry.get("audit") or {}
        others = [("before", one) for one in audit.get("earlier", [])]
        for when, one in others + [("since", one) for one in audit.get("later", [])]:
            said = one["verdict"] or "refused"
            proven = "–" if one["epsilon_audited"] is None else f"≥ {sentences.number(one['epsilon_audited'])}"
            console.print(
                f"{escape(entry['name'])}, audited {when} (draw {one['draw']}): {said}, ε audited {proven} with "
                f"{one['trials'] or 0:,} transcripts at {one['confidence']:.6g}.",
                style="dim", highlight=False, soft_wrap=True,
            )  # fmt: skip


def _slug(name: str) -> str:
    from scenarios.results.entries import slug

    return slug(name, ())


def _yaml(value: object) -> str:
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)
