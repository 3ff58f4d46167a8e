"""Command `netsim audit`: of a user's own algorithm, of a results folder, or of a scenario."""

import json
import shlex
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.markup import escape

from netsim.errors import ScenarioError, meant, together
from scenarios.cli.options import (
    Replace,
    Strict,
    Verbose,
    bounded,
    command,
    dated_folder,
    given,
    last,
    of_run,
    of_variant,
    processes,
    refuse,
    repeated,
)
from scenarios.render import terminal

if TYPE_CHECKING:
    from scenarios.results.folder import RunFolder
    from scenarios.results.tree import Results
    from scenarios.schema import Scenario
    from scenarios.schema.load import Located
    from scenarios.schema.own_code import OwnCode

_Game = StrEnum("_Game", ["anytime", "classifier", "links", "nodes", "coalitions", "views"])


@command(
    "audit",
    "netsim audit mine.py:Mine -o rounds=20 -o scale=0.5 --epsilon 1",
    "netsim audit private-descent",
    "netsim audit results/mine --trials 10000",
)
def _audit(
    what: Annotated[
        str,
        of_run(
            help="FILE.py:CLASS (or PACKAGE.MODULE:CLASS), an algorithm of your own; a results folder; a scenario's "
            "YAML file; or the name of a shipped scenario."
        ),
    ],
    option: Annotated[
        list[str] | None,
        given(
            "-o",
            "--option",
            metavar="NAME=VALUE",
            help="For an algorithm of your own: a parameter (-o rounds=20) or a field of the scenario "
            "(-o topology=complete -o agents=8 -o data=digits -o links.loss=0.1). For a scenario: a field. "
            "Repeatable.",
            callback=last,
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        bounded(
            0,
            None,
            help="The ε that you claim of a whole run of your algorithm, between worlds that differ in one record of "
            "one agent, or as given by -o audit.adjacency=agent (all its labels) or "
            "-o 'audit.adjacency={change: 1, norm: l1}' (a change of its gradient).",
        ),
    ] = None,
    delta: Annotated[
        float | None,
        bounded(
            0,
            0.999,
            help="The δ of that claim (default: 0), or that `claim()` is handed (default: 0.001).",
        ),
    ] = None,
    trials: Annotated[int | None, bounded(50, None, help="Transcripts of each world. Default: 2000.")] = None,
    confidence: Annotated[
        float | None, bounded(0.5, 0.999999, help="Joint confidence level, such as 0.99. Default: 0.95.")
    ] = None,
    games: Annotated[
        list[_Game] | None,
        given(
            metavar="GAME",
            help="Also play: anytime, a game that ends the audit as soon as it has refuted the claim; classifier, a "
            "game with a trained score; links, nodes, coalitions, or views (all three): the points of view from "
            "which the claim is refuted.",
        ),
    ] = None,
    algorithm: Annotated[str | None, given(metavar="NAME", help="Audit only this algorithm (name or slug).")] = None,
    variant: Annotated[str | None, of_variant(help="Audit only this variant.")] = None,
    out: Annotated[
        Path | None,
        given(
            help="The results folder: new, empty, or of an audit of this name that was interrupted or failed, which "
            "is replaced; a finished one is replaced with --replace only. Default: results/NAME/DATE-TIME."
        ),
    ] = None,
    replacing: Replace = False,
    again: Annotated[
        bool, typer.Option("--again", help="Make another audit in a folder that already has one.")
    ] = False,
    jobs: Annotated[int, processes(help="Processes that share the simulations; -1: one per core.")] = -1,
    strict: Strict = False,
    verbose: Verbose = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print verdicts and the three epsilons as JSON.")] = False,
) -> None:
    """Audit a privacy claim, and nothing else: is it true?

    Simulates two worlds that differ in one agent's private data, replays the agent's own code on what was sent, plays
    the game of distinguishing the worlds, and gives a verdict with three epsilons: claimed, exact, audited.

    netsim audit mine.py:Mine -o rounds=20 -o scale=0.5 --epsilon 1

    audits an algorithm of your own (this runs the code in mine.py) without a scenario. The claim is --epsilon, or
    that of its claim(); without either, the audit computes the cost alone.

    netsim audit FOLDER

    continues an audit that was interrupted, and only then adds transcripts. A finished audit has been read: --trials,
    --confidence, --games or --again make a new one, with noise of its own, and both are reported. Audits of a folder
    share their error: the n-th new one at --confidence C is made at 1 - (1 - C)/(n(n + 1)), so that with the first,
    at 1 - a, all hold together at C - a at least, however many there are. Shown is the one with the most transcripts
    (of several, the newest), whatever its number: the largest ε of several would hold at their joint confidence only.
    A refutation is final: later audits do not withdraw it. No audit is made that would bring the joint confidence
    below 0.5, nor one of code that was changed.

    Exit status: 0 done, 1 a claim does not hold, 2 wrong input, 3 no claim is refuted, and with --strict one is not
    proven or consistent, 70 failed, or an audit could not judge, 130 interrupted (the same command, with the folder,
    continues; docs/commands.md has the table).
    """
    settings: dict[str, float | str | bool] = {} if trials is None else {"trials": trials}
    settings |= {} if confidence is None else {"confidence": confidence}
    for game in games or []:
        match str(game):
            case "anytime":
                settings["stop"] = "refuted"
            case "classifier":
                settings["classifier"] = True
            case other:
                settings["views"] = "all" if other == "views" else other
    claim = None if epsilon is None and delta is None else (epsilon, delta)
    order = _Order(
        what, option or [], claim, settings, algorithm, variant, out, replacing, again, jobs, strict, verbose, as_json
    )
    try:
        order.run()
    except ScenarioError as error:
        terminal.fail(order.in_command_words(error), as_json=as_json)
    except typer.Exit:
        raise
    except Exception as error:
        terminal.fail(error, as_json=as_json)


@dataclass(frozen=True)
class _Order:
    what: str
    options: list[str]
    claim: tuple[float | None, float | None] | None
    settings: Mapping[str, float | str | bool]
    algorithm: str | None
    variant: str | None
    out: Path | None
    replacing: bool
    again: bool
    jobs: int
    strict: bool
    verbose: bool
    as_json: bool

    def run(self) -> NoReturn:
        from scenarios.files.library import library
        from scenarios.schema.own_code import is_own

        fields = [f"audit.{name}={json.dumps(value).strip(chr(34))}" for name, value in self.settings.items()]
        for name, value in self.settings.items():
            for one in self.options:
                twice = one.partition("=")[0].strip() == f"audit.{name}"
                refuse(f"--{name}", value if twice else None, f"beside -o {one}", "one of the two")
        none_yet = "there is no audit yet to make another of"
        if self.what not in library() and is_own(self.what):
            elsewhere = "a scenario, or a folder"
            refuse("--variant", self.variant, "an algorithm of your own has no variants", elsewhere)
            refuse("--again", self.again, none_yet, "a results folder")
            refuse("--algorithm", self.algorithm, "there is one algorithm", elsewhere)
            scenario = _around(self.what, [*self.options, *fields], self.claim)
            self._simulate(scenario, scenario)
        for name, value in zip(("--epsilon", "--delta"), self.claim or (), strict=False):
            refuse(name, value, "only for an algorithm of your own", self._own_code())
        if Path(self.what).is_dir():
            self._folder(Path(self.what))
        refuse("--again", self.again, none_yet, "a results folder")
        self._scenario(fields)

    def _own_code(self) -> str:
        """The code that a results folder is of, as `netsim audit` takes it."""
        from scenarios.results.folder import is_results, read_manifest
        from scenarios.schema.own import PythonSpec

        if not is_results(Path(self.what)):
            return "FILE.py:CLASS"
        own = [one for one in read_manifest(Path(self.what)).scenario.algorithms if isinstance(one, PythonSpec)]
        return f"its code: netsim audit {shlex.quote(own[0].path)}" if len(own) == 1 else "FILE.py:CLASS"

    def _scenario(self, fields: list[str]) -> NoReturn:
        """Audit a scenario, and do nothing else that it asks for."""
        from scenarios.results.header import chosen, slugs
        from scenarios.schema.load import alone, load_scenario

        scenario = load_scenario(self.what, self.options).scenario
        settings = [*self.options, "attacks={gradients: false}", "replicas=1", "reproduces=null", "figures=[]"]
        settings += ["audit={}"] if scenario.audit is None else []
        if self.algorithm is not None:
            names = slugs(spec.name for spec in scenario.algorithms)
            name = names[chosen(self.algorithm, names)]
            wanted = [spec for spec in scenario.algorithms if spec.name == name]
            kept = [spec.model_dump(mode="json", exclude_unset=True) | {"kind": spec.kind} for spec in wanted]
            settings.append(f"algorithms={json.dumps(kept)}")
        located = load_scenario(self.what, settings + fields)
        located = located if self.variant is None else alone(located, self.variant)
        self._simulate(located, located.scenario)

    def _simulate(self, source: "Scenario | Located", scenario: "Scenario") -> NoReturn:
        from scenarios.render.progress import Bars
        from scenarios.stages.reaudit import remark
        from scenarios.stages.study import finished, run_study

        folder = self.out or dated_folder(scenario.name)
        terminal.apart(self.as_json).print(f"[bold]{escape(scenario.title or scenario.name)}[/]")
        there = None if self.replacing else finished(folder, scenario, "audit", self.command)
        if there is not None:
            self._remark(terminal.FINISHED)
            self._end(there, folder)
        if found := remark(folder, scenario):
            self._remark(found)
        try:
            with Bars(terminal.of_progress(self.as_json)) as bars:
                results = run_study(source, folder, command=self.command, progress=bars, jobs=self.jobs)
        except (ScenarioError, typer.Exit):
            raise
        except Exception as error:  # of a run; or a defect, or the algorithm's own: no finding about a claim
            terminal.fail(error, folder, as_json=self.as_json)
        self._end(results, folder)

    def _folder(self, folder: Path) -> NoReturn:
        """Continue the audits of a results folder, or make new ones."""
        from scenarios.files.folders import held
        from scenarios.results.folder import RunFolder, is_results, no_results, parts_of, read_results
        from scenarios.stages.study import refresh

        refuse("--out", self.out, "an audit of a folder stays in it", "no --out")
        refuse("--replace", self.replacing, "an audit of a folder keeps what is there", "--again")
        why = "a folder has its scenario: another one is another run"
        refuse("-o", self.options, why, "--trials, --confidence, --games")
        if not is_results(folder):
            raise no_results(folder)
        places = parts_of(folder, self.variant)
        for place in dict.fromkeys((folder, *places)):
            read_results(place)  # what is damaged is said before anything is audited
        try:
            for place in places:
                if len(places) > 1:
                    terminal.apart(self.as_json).print(f"[bold]{escape(place.name)}[/]")
                with held(place, self.command, drafts=(place,)):
                    self._reaudit(RunFolder.open(place))
        finally:  # what was done before an interruption is reported over all variants, too
            if places != [folder]:
                with held(folder, self.command, drafts=(folder,)):
                    refresh(folder)
        shown = places[0] if places != [folder] and self.variant is not None else folder
        self._end(read_results(shown), shown)

    def _reaudit(self, kept: "RunFolder") -> None:
        from scenarios.render.progress import Bars
        from scenarios.stages.reaudit import Reaudit

        for remark in kept.remarks():
            self._remark(remark)
        try:
            with Bars(terminal.of_progress(self.as_json)) as bars:
                audits = Reaudit(kept, self.settings, bars, self._remark, self.again, self.jobs)
                audits.run(self.algorithm)
        except KeyboardInterrupt:
            terminal.interrupted("what the audit has seen is kept", self.command)
            raise typer.Exit(terminal.INTERRUPTED) from None

    @property
    def command(self) -> str:
        words: list[str] = []
        if self.claim is not None:
            epsilon, delta = self.claim
            words += [f"--epsilon {epsilon}"] if epsilon is not None else []
            words += [f"--delta {delta}"] if delta is not None else []
        games = {"stop": "anytime", "classifier": "classifier", "views": str(self.settings.get("views"))}
        for name, value in self.settings.items():
            game = games.get(name, "").replace("all", "views")
            words.append(f"--games {game}" if game else f"--{name} {value}")
        chosen = {"--algorithm": self.algorithm, "--variant": self.variant}
        words += [f"{name} {shlex.quote(value)}" for name, value in chosen.items() if value is not None]
        return " ".join(
            [
                repeated("netsim audit", self.what, self.options),
                *words,
                *["--again"] * self.again,
                *["--strict"] * self.strict,
            ]
        )

    def _remark(self, sentence: str) -> None:
        terminal.apart(self.as_json).say(sentence, style="dim", markup=False)

    def _end(self, results: "Results", folder: Path) -> NoReturn:
        """Print what was found."""
        from scenarios.cli.json_output import document
        from scenarios.render.verdicts import print_results

        found = document(results, folder, self.strict)
        if self.as_json:
            terminal.write_result(found)
        else:
            print_results(results, folder, verbose=self.verbose, alone=True)
            terminal.print_page(folder, verbose=self.verbose)
        if found.exit_status == terminal.INTERRUPTED:
            same = self.command if Path(self.what).is_dir() else f"{self.command} --out {shlex.quote(str(folder))}"
            anew = all(one.run is not None and one.run.stopped is not None for one in results.algorithms)
            terminal.interrupted("the folder holds what was done until then", same, anew=anew)
        raise typer.Exit(found.exit_status)

    def in_command_words(self, error: ScenarioError) -> ScenarioError:
        """The error with the names of options for fields."""
        from scenarios.schema.own_code import is_own

        options = {"folder": "--out" if self.out is not None else "folder"}
        options |= {f"{sign}audit.{name}": f"--{name}" for name in self.settings for sign in ("", "-o ")}
        options |= {f"algorithms[0].claim.{name}": f"--{name}" for name in ("epsilon", "delta")}
        error = together([replace(one, field=options.get(one.field, one.field)) for one in error.each()])
        if error.field == "scenario" and error.problem.startswith("no such file"):
            words = (
                "FILE.py:CLASS, a results folder, a YAML file, or a name of `netsim list`, such as private-descent"
            )
            error = replace(
                error, field="WHAT", problem=error.problem.replace("file", "file or folder", 1), allowed=words
            )
        if not is_own(self.what):
            return error
        each = _in_command_words(error).each()
        return together([replace(one, field=_as_typed(one.field, self.options)) for one in each])


# ── a scenario around an algorithm of one's own ─────────────────────────────────────────────────────────
_Fields = dict[str, Any]


def _around(place: str, settings: list[str], claim: tuple[float | None, float | None] | None) -> "Scenario":
    """The scenario that audits the algorithm of FILE.py:CLASS: five agents on a ring with synthetic data.

    A setting NAME=VALUE is a parameter of the class where it has one of that name, a field of the scenario where not;
    `topology`, `agents`, `problem` and `data` are short for a kind or a name.

    You get a `ScenarioError` for a class that cannot be loaded, and for a name that is neither.
    """
    from scenarios.files.library import setting_of
    from scenarios.results.header import slug
    from scenarios.schema import own_code
    from scenarios.schema.load import validated
    from scenarios.stages.notebook import WORLD

    try:
        found = own_code.load(place)
    except ScenarioError as error:
        raise _in_command_words(error) from None
    name = found.algorithm.__name__
    algorithm: _Fields = {"kind": "python", "path": place, "name": name, "parameters": {}}
    if claim is not None:
        algorithm["claim"] = {"epsilon": claim[0], "delta": claim[1], "source": "the command line"}
    tree = {"name": slug(name, ()), "title": f"{name}, audited", "algorithms": [algorithm], **deepcopy(WORLD)}
    wrong: list[ScenarioError] = []
    for setting in settings:
        try:
            _put(tree, *setting_of(setting, "NAME=VALUE, such as rounds=20"), found)
        except ScenarioError as error:
            wrong.append(error)
    return validated(tree, "", (), wrong).scenario


def _put(tree: _Fields, name: str, value: Any, found: "OwnCode") -> None:
    from scenarios.files.document import keys_of, put
    from scenarios.schema import Scenario
    from scenarios.schema import own as parameters
    from scenarios.stages.notebook import SHORT, in_full

    known, fields = parameters.names(found.algorithm), Scenario.model_fields
    first = str(keys_of(name)[0]) if keys_of(name) else name
    if first in known:
        put(tree["algorithms"][0]["parameters"], name, value)
    elif first not in fields and first not in SHORT:
        hint = meant(first, [*known, *fields, *SHORT])
        why = f"neither a parameter of {found.algorithm.__name__} nor a field of a scenario{hint}"
        others = "or topology, agents, problem, data, links, adversary, audit, seed, …"
        raise ScenarioError(f"-o {name}", value, why, f"{parameters.signature(found.algorithm)}; {others}")
    else:
        put(tree, *in_full(name, value))


def _in_command_words(error: ScenarioError) -> ScenarioError:
    """An error of such a scenario in the words of the command line."""
    found: list[ScenarioError] = []
    for one in error.each():
        field = one.field
        for inner in ("algorithms[0].parameters.", "algorithm.parameters."):
            field = f"-o {field.removeprefix(inner)}" if field.startswith(inner) else field
        field = "algorithm" if field in ("algorithm.path", "algorithms[0].path") else field
        file, at = (None, None) if one.file == "" else (one.file, one.line)
        found.append(ScenarioError(field, one.value, one.problem, one.allowed, file, at))
    return together(found)


def _as_typed(field: str, settings: Sequence[str]) -> str:
    """A field of such a scenario by the option that set it, the last where several did; as it is where none did."""
    from scenarios.files.document import keys_of
    from scenarios.stages.notebook import in_full

    for setting in reversed(settings):
        name, _, text = setting.partition("=")
        path, _ = in_full(name.strip(), text)
        keys, wanted = keys_of(path), keys_of(field)
        if keys and wanted[: len(keys)] == keys:
            return f"-o {name.strip()}{field[len(path) :] if text.lstrip().startswith('{') else ''}"
    return field
