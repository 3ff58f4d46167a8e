"""Command `netsim audit`."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from netsim.errors import NetsimError, ScenarioError, together
from scenarios.cli.options import complete_run, complete_variant, dated_folder, refuse, repeated
from scenarios.render.terminal import (
    DONE,
    FAILED,
    INTERRUPTED,
    apart,
    console,
    fail,
    interrupted,
    line,
    print_page,
    write_result,
)

if TYPE_CHECKING:
    from scenarios.results.audit import AuditResult
    from scenarios.results.folder import RunFolder
    from scenarios.results.tree import AlgorithmResult, Results
    from scenarios.schema import Scenario
    from scenarios.schema.load import Located

Game = StrEnum("Game", ["anytime", "classifier", "links", "nodes", "coalitions", "views"])
_Value = float | int | str | bool
TARGET = typer.Argument(
    metavar="WHAT",
    help="FILE.py:CLASS (or PACKAGE.MODULE:CLASS), an algorithm of your own; a results folder; a scenario's YAML "
    "file; or the name of a shipped scenario.",
    show_default=False,
    autocompletion=complete_run,
)
SETTING = typer.Option(
    "-o",
    "--option",
    metavar="NAME=VALUE",
    help="For an algorithm of your own: a parameter (-o rounds=20) or a field of the scenario (-o topology=complete "
    "-o agents=8 -o data=digits -o links.loss=0.1). For a scenario: a field. Repeatable.",
    show_default=False,
)
EPSILON = typer.Option(
    min=0,
    help="The ε that you claim of a whole run of your algorithm, between worlds that differ in one record of one "
    "agent, or as given by -o audit.adjacency=agent (all its labels) or "
    "-o 'audit.adjacency={change: 1, norm: l1}' (a change of its gradient).",
    show_default=False,
)
GAMES = typer.Option(
    "--games",
    help="Also play: anytime, a game that ends the audit as soon as it has refuted the claim; classifier, a game "
    "with a trained score; links, nodes, coalitions, or views (all three): the points of view from which the claim "
    "is refuted.",
    show_default=False,
)
OUT = typer.Option(
    help="The results folder: new, empty, or an earlier one of the same name, which is replaced. Default: "
    "results/NAME/DATE-TIME.",
    show_default=False,
)


def audit(
    what: Annotated[str, TARGET],
    option: Annotated[list[str] | None, SETTING] = None,
    epsilon: Annotated[float | None, EPSILON] = None,
    delta: Annotated[
        float | None, typer.Option(min=0, max=0.999, help="The δ of that claim. Default: 0.", show_default=False)
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=50, help="Transcripts of each world. Default: 2000.", show_default=False)
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(min=0.5, max=0.999999, help="Joint confidence level. Default: 0.95.", show_default=False),
    ] = None,
    games: Annotated[list[Game] | None, GAMES] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Audit only this algorithm (name or slug).", show_default=False),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(help="Audit only this variant.", show_default=False, autocompletion=complete_variant),
    ] = None,
    out: Annotated[Path | None, OUT] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Make another audit in a folder that already has one.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="Processes that share the simulations; -1: one per core.")] = -1,
    as_json: Annotated[bool, typer.Option("--json", help="Print verdicts and the three epsilons as JSON.")] = False,
) -> None:
    """Audit a privacy claim, and nothing else: is it true?

    Simulates two worlds that differ in one agent's private data, replays the agent's own code on what was sent, plays
    the game of distinguishing the worlds, and gives a verdict with three epsilons: claimed, exact, audited.

    netsim audit mine.py:Mine -o rounds=20 -o scale=0.5 --epsilon 1

    audits an algorithm of your own (this runs the code in mine.py) without a scenario. The claim is --epsilon, or
    that of its claim(); without either, the audit computes the cost alone.

    netsim audit FOLDER

    continues an audit that was interrupted, and only then adds transcripts. A finished audit has been read:
    --trials, --confidence, --games or --again make a new one, with noise of its own, and both are reported. Audits of
    a folder share their error: the n-th new one at --confidence C is made at 1 - (1 - C)/(n(n + 1)), so that with the
    first, at 1 - a, all hold together at C - a at least, however many there are. A refutation is final: later audits
    do not withdraw it. No audit is made that would bring the joint confidence below 0.5, nor one of code that was
    changed.

    Exit status: 0 done, 1 an algorithm is refuted or unprotected (unless the scenario marks it `baseline: true`),
    2 wrong input, 70 failed, or an audit could not judge, 130 interrupted (the same command, with the folder,
    continues).
    """
    settings = _settings(trials, confidence, games or [])
    claim = None if epsilon is None and delta is None else (epsilon, delta or 0.0)
    order = _Order(what, option or [], claim, settings, algorithm, variant, out, again, jobs, as_json)
    try:
        order.run()
    except ScenarioError as error:
        fail(order.in_command_words(error), as_json=as_json)
    except NetsimError as error:
        fail(error, order.out, as_json=as_json)
    except typer.Exit:
        raise
    except Exception as error:  # a defect, or the algorithm's own: with its traceback, and no finding about a claim
        fail(error, order.out, as_json=as_json)


def _settings(trials: int | None, confidence: float | None, games: Sequence[Game]) -> dict[str, _Value]:
    """The fields of `audit` that were given."""
    found: dict[str, _Value | None] = {"trials": trials, "confidence": confidence}
    for game in games:
        match str(game):
            case "anytime":
                found["stop"] = "refuted"
            case "classifier":
                found["classifier"] = True
            case other:
                found["views"] = "all" if other == "views" else other
    return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True)
class _Order:
    """The options of the command line."""

    what: str
    options: list[str]
    claim: tuple[float | None, float] | None
    settings: Mapping[str, _Value]
    algorithm: str | None
    variant: str | None
    out: Path | None
    again: bool
    jobs: int
    as_json: bool

    def run(self) -> None:
        from scenarios.files.library import library
        from scenarios.schema.own_code import is_own

        if self.jobs == 0 or self.jobs < -1:
            raise ScenarioError("--jobs", self.jobs, "not a number of processes", "-1 (one per core), or >= 1")
        if self.what not in library() and is_own(self.what):
            self._own()
        elif Path(self.what).is_dir():
            self._folder(Path(self.what))
        else:
            self._scenario()

    def _own(self) -> None:
        """Audit an algorithm of the user's own."""
        from scenarios.cli.own_scenario import scenario_of

        there_is_one = "there is one algorithm"
        refuse("--variant", self.variant, "an algorithm of your own has no variants", "a scenario, or a folder")
        refuse("--again", self.again, "there is no audit yet to make another of", "a results folder")
        refuse("--algorithm", self.algorithm, there_is_one, "a scenario, or a folder")
        scenario = scenario_of(self.what, [*self.options, *self._fields()], self.claim)
        self._simulate(scenario, scenario)

    def _fields(self) -> list[str]:
        return [f"audit.{name}={json.dumps(value).strip(chr(34))}" for name, value in self.settings.items()]

    def _scenario(self) -> None:
        from scenarios.build.variants import alone
        from scenarios.schema.load import load_scenario

        self._refuse_claim()
        refuse("--again", self.again, "there is no audit yet to make another of", "a results folder")
        located = load_scenario(self.what, self.options)
        located = load_scenario(self.what, [*self.options, *self._only_audit(located.scenario)])
        located = located if self.variant is None else alone(located, self.variant)
        self._simulate(located, located.scenario)

    def _refuse_claim(self) -> None:
        refuse("--epsilon", self.claim, "only for an algorithm of your own", "FILE.py:CLASS")

    def _only_audit(self, scenario: "Scenario") -> list[str]:
        """Settings that leave only the audit of a scenario."""
        from scenarios.results.header import slug

        found = ["attacks={gradients: false}", "replicas=1", "reproduces=null", "figures=[]"]
        if scenario.audit is None:
            found.append("audit={}")
        if self.algorithm is not None:
            slugs = {slug(spec.name, ()): spec for spec in scenario.algorithms}
            chosen = [spec for name, spec in slugs.items() if self.algorithm in (spec.name, name)]
            if not chosen:
                raise ScenarioError("--algorithm", self.algorithm, "not in the scenario", ", ".join(slugs))
            kept = [spec.model_dump(mode="json", exclude_unset=True) | {"kind": spec.kind} for spec in chosen]
            found.append(f"algorithms={json.dumps(kept)}")
        return found + self._fields()

    def _simulate(self, source: "Scenario | Located", scenario: "Scenario") -> None:
        from scenarios.cli.progress import Bars
        from scenarios.stages.reaudit import remark
        from scenarios.stages.study import run_study

        folder = self.out or dated_folder(scenario.name)
        apart(self.as_json).print(f"[bold]{escape(scenario.title or scenario.name)}[/]")
        if found := remark(folder, scenario):
            self._remark(found)
        with Bars(apart(self.as_json)) as bars:
            results = run_study(source, folder, command=self.command, progress=bars, jobs=self.jobs)
        self._end(results, folder)

    def _folder(self, folder: Path) -> None:
        """Continue the audits of a results folder, or make new ones."""
        from scenarios.results.folder import RunFolder, is_results, parts_of, read_results
        from scenarios.stages.reaudit import refresh

        self._refuse_claim()
        refuse("--out", self.out, "an audit of a folder stays in it", "no --out")
        refuse(
            "-o", self.options, "a folder has its scenario: another one is another run",
            "--trials, --confidence, --games",
        )  # fmt: skip
        if not is_results(folder):
            raise ScenarioError("folder", str(folder), "no results folder: it has no manifest.json", "one of a run")
        places = parts_of(folder, self.variant)
        try:
            for place in places:
                if len(places) > 1:
                    apart(self.as_json).print(f"[bold]{escape(place.name)}[/]")
                self._reaudit(RunFolder.open(place))
        finally:  # what was done before an interruption is reported over all variants, too
            if places != [folder]:
                refresh(folder)
        shown = places[0] if places != [folder] and self.variant is not None else folder
        self._end(read_results(shown), shown)

    def _reaudit(self, kept: "RunFolder") -> None:
        from scenarios.cli.progress import Bars
        from scenarios.stages.reaudit import Reaudit

        for remark in kept.remarks():
            self._remark(remark)
        try:
            with Bars(apart(self.as_json)) as bars:
                audits = Reaudit(kept, self.settings, bars, self._remark, self.again, self.jobs)
                audits.run(self.algorithm)
        except KeyboardInterrupt:
            interrupted("what the audit has seen is kept", self.command)
            raise typer.Exit(INTERRUPTED) from None

    @property
    def command(self) -> str:
        """The command line that repeats this one."""
        words: list[str] = []
        if self.claim is not None:
            epsilon, delta = self.claim
            words += [f"--epsilon {epsilon}"] if epsilon is not None else []
            words += [f"--delta {delta}"] if delta else []
        games = {"stop": "anytime", "classifier": "classifier", "views": str(self.settings.get("views"))}
        for name, value in self.settings.items():
            game = games.get(name, "").replace("all", "views")
            words.append(f"--games {game}" if game else f"--{name} {value}")
        chosen = {"--algorithm": self.algorithm, "--variant": self.variant}
        words += [f"{name} {shlex.quote(value)}" for name, value in chosen.items() if value is not None]
        return " ".join([repeated("netsim audit", self.what, self.options), *words, *["--again"] * self.again])

    def _remark(self, sentence: str) -> None:
        apart(self.as_json).print(sentence, style="dim", highlight=False, markup=False, soft_wrap=True)

    def _end(self, results: "Results", folder: Path) -> None:
        """Print what was found; the exit status is 70 where an audit could not judge and nothing else decides."""
        from scenarios.cli.json_output import document

        found = document(results, folder)
        refused = [row.name for row in found.algorithms if row.audit_status == "refused"]
        if found.exit_status == DONE and refused:
            found = replace(found, exit_status=FAILED, exit_reason=f"not judged: {', '.join(refused)}")
        if self.as_json:
            write_result(found)
        else:
            _print(results, folder)
        if found.exit_status == INTERRUPTED:
            same = self.command if Path(self.what).is_dir() else f"{self.command} --out {shlex.quote(str(folder))}"
            interrupted("the folder holds what was done until then", same)
        raise typer.Exit(found.exit_status)

    def in_command_words(self, error: ScenarioError) -> ScenarioError:
        """The error with the names of options for fields."""
        from scenarios.cli.own_scenario import in_command_words
        from scenarios.schema.own_code import is_own

        options = {"folder": "--out" if self.out is not None else "folder", "jobs": "--jobs"}
        options |= {f"{sign}audit.{name}": f"--{name}" for name in self.settings for sign in ("", "-o ")}
        error = together([replace(one, field=options.get(one.field, one.field)) for one in error.each()])
        return in_command_words(error) if is_own(self.what) else error


def _print(results: "Results", folder: Path) -> None:
    from scenarios.render.verdicts import print_results
    from scenarios.results.audit import AuditResult

    print_results(results, folder)
    for entry in results.algorithms:
        if isinstance(entry.audit, AuditResult):
            line(_terms(entry, entry.audit))
            if entry.kind == "python" and entry.audit.verdict == "undefined":
                console.print("To test a number: [bold]--epsilon E[/], or write its claim().", highlight=False)
    print_page(folder)


def _terms(entry: "AlgorithmResult", audit: "AuditResult") -> str:
    """The terms of a claim: adjacent worlds, change of a gradient, δ, and the pair."""
    from scenarios.results.numbers import show
    from scenarios.schema.own import BY_HAND

    claim = audit.claim
    stated = "" if claim.norm == BY_HAND else f"; the claim is stated in {claim.norm}"
    other = " Other worlds: -o audit.adjacency=agent; another agent: -o audit.agent=2."
    return (
        f"{entry.name} is tested at its ε between worlds that differ so: {claim.adjacency} (the gradient by "
        f"{show(claim.gradient_change)} at most, in ℓ2{stated}), at δ = {show(claim.delta)}. Pair examined: "
        f"{audit.pair}.{other if entry.kind == 'python' else ''}"
    )
