"""Command `netsim attack`: attacks on a recorded transcript."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from netsim.errors import NetsimError, ScenarioError
from scenarios.render.terminal import DONE, INTERRUPTED, apart, console, fail, problems, write_document

if TYPE_CHECKING:
    from scenarios.build.experiment import Experiment, Subject
    from scenarios.schema import Scenario
    from scenarios.schema.attacks import RebuildModel

Results = dict[str, Any]
GRADIENTS = "gradients"
OTHERS = ("traffic", "membership", "property")
"""Attacks that rebuild nothing, by the words of a scenario."""
WHAT = typer.Argument(
    metavar="WHAT",
    help="A results folder; a transcript (FILE.parquet, with --scenario); a scenario's YAML file, or the name of a "
    "shipped one, which is simulated first.",
    show_default=False,
)
ATTACK = typer.Option(
    "--attack",
    metavar="NAME",
    help="gradients, or an attack on records: dlg, idlg, inverting_gradients, grad_inversion, posterior, row_space, "
    "one_record, informed, … (docs/reconstruction.md); traffic (times and sizes alone), membership, property; as "
    "often as you like. If not given: gradients, and what the scenario names.",
    show_default=False,
)


def attack(
    what: Annotated[str, WHAT],
    attack: Annotated[list[str] | None, ATTACK] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of several algorithms this one (name or slug).", show_default=False),
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(help="Of which scenario a transcript is: a YAML file, or a shipped name.", show_default=False),
    ] = None,
    score: Annotated[
        bool | None,
        typer.Option(
            "--score/--no-score",
            help="Make the truth again from the seed, and score by it; by default of a folder, not of a file.",
            show_default=False,
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("-o", "--option", metavar="FIELD=VALUE", help="Set a field of a scenario.", show_default=False),
    ] = None,
    variant: Annotated[
        str | None, typer.Option(help="Of a folder with variants this one.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to write; if not given, beside the transcript.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="What was found as JSON.")] = False,
) -> None:
    """Attack what an eavesdropper recorded: infer the agents' gradients, and from these their data.

    netsim attack FOLDER

    reads the transcript that a run kept, and runs nothing again: an attack has what was heard and what everybody
    knows (the algorithm, its parameters, the graph). Estimates are written to the folder as estimates-SLUG.parquet,
    rebuilt records as records-SLUG.parquet, for pandas, polars or duckdb.

    How good they are, only the truth tells. It is in no transcript: the seed makes the run again, and where this
    sends the transcript's very messages, the estimates are scored by it. --no-score leaves that out.

    netsim attack heard.parquet --scenario mine.yaml

    attacks a transcript from elsewhere: estimates without scores.

    Exit status: 0 done, whatever was found, 2 wrong input, 70 failed, 130 interrupted.
    """
    order = _Order(what, attack or [], algorithm, scenario, score, option or [], variant, out, as_json)
    try:
        order.run()
    except KeyboardInterrupt:
        problems.print("[yellow]Interrupted: what was written until then is there.[/]")
        raise typer.Exit(INTERRUPTED) from None
    except ScenarioError as error:  # nothing was done; of a folder WHAT is meant, of a scenario the one of --out
        of = {"folder": "--out"} if out is not None and not Path(what).is_dir() else None
        fail(error, options=of, as_json=as_json)
    except NetsimError as error:
        fail(error, out, as_json=as_json)
    except typer.Exit:
        raise
    except Exception as error:  # a defect: told in full
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

    def run(self) -> None:
        place = Path(self.what)
        specs = chosen(self.attacks)
        if place.is_dir():
            self._refuse(scenario=self.scenario, option=self.options)
            self._tell(self._folder(place, specs))
        elif place.suffix in (".parquet", ".spool"):
            self._refuse(variant=self.variant)
            self._tell([self._file(place, specs)])
        elif place.parent != Path() and place.suffix not in (".yaml", ".yml") and not place.exists():
            allowed = "a results folder, a transcript (.parquet, .spool), a YAML file or a shipped scenario"
            raise ScenarioError("WHAT", self.what, "no such folder or file", allowed)
        else:
            self._refuse(scenario=self.scenario)
            self._simulated(specs)

    # ── a results folder ────────────────────────────────────────────────────────────────────────────────
    def _folder(self, folder: Path, specs: "Sequence[RebuildModel] | None") -> list[Results]:
        from scenarios.results.folder import RunFolder, parts_of

        told: list[Results] = []
        for place in parts_of(folder, self.variant):
            kept = RunFolder.open(place)
            for remark in kept.remarks():
                self._said.print(remark, style="dim", highlight=False, markup=False, soft_wrap=True)
            entries = kept.entries(self.algorithm)
            experiment = kept.experiment()
            told += [self._entry(experiment, place, entry, specs) for entry in entries]
        return told

    def _entry(
        self, experiment: "Experiment", place: Path, entry: Results, specs: "Sequence[RebuildModel] | None"
    ) -> Results:
        from scenarios.results.folder import subject_of

        subject, slug = subject_of(experiment, entry), entry["slug"]
        files = {name: place / f"{name}-{slug}.parquet" for name in ("transcript", "second")}
        asked = experiment.scenario.attacks.reconstruct if specs is None else specs
        head: Results = {"folder": str(place), "algorithm": entry["name"], "slug": slug}
        if not files["transcript"].is_file():
            return head | {"refused": "its transcript is not in the folder"}
        return head | self._attacked(experiment, subject, files, list(asked), slug, place, self.score is not False)

    # ── a transcript alone ──────────────────────────────────────────────────────────────────────────────
    def _file(self, file: Path, specs: "Sequence[RebuildModel] | None") -> Results:
        from scenarios.build.experiment import Experiment
        from scenarios.results.entries import slug
        from scenarios.schema.load import load_scenario

        if self.scenario is None:
            why = "missing: what everybody knows of a run is in its scenario"
            raise ScenarioError("--scenario", None, why, "a YAML file, or a shipped name")
        located = load_scenario(self.scenario, self.options)
        try:
            experiment = Experiment.of(located.scenario)
        except ScenarioError as error:
            raise located.locate(error) from None
        names = {one.spec.name: one for one in experiment.subjects}
        wanted = {name for name in names if self.algorithm in (None, name, slug(name, ()))}
        if len(wanted) != 1:
            why = "several algorithms: choose one" if self.algorithm is None else "not in the scenario"
            raise ScenarioError("--algorithm", self.algorithm, why, ", ".join(names))
        name = wanted.pop()
        files = {"transcript": file, "second": Path()}
        head: Results = {"folder": str(file.parent), "algorithm": name, "slug": slug(name, ())}
        return head | self._attacked(
            experiment, names[name], files, list(specs or []), head["slug"], file.parent, bool(self.score)
        )

    # ── a scenario ──────────────────────────────────────────────────────────────────────────────────────
    def _simulated(self, specs: "Sequence[RebuildModel] | None") -> None:
        """Run it without its audit, and attack what was kept."""
        from scenarios.cli.progress import Bars
        from scenarios.schema.load import load_scenario
        from scenarios.stages.study import run_study

        settings = [*self.options, "audit=null", "reproduces=null", "figures=[]"]
        if specs is not None:
            named = [spec.model_dump(mode="json", exclude_unset=True) | {"kind": spec.kind} for spec in specs]
            settings += [f"attacks.reconstruct={json.dumps(named)}", "attacks.images=false"]
            settings += [f"attacks.traffic={json.dumps('traffic' in self.attacks)}"]
        located = load_scenario(self.what, settings)
        name = located.scenario.name
        folder = self.out or Path("results") / name / datetime.now().strftime("%Y%m%d-%H%M%S")
        self._said.print(f"[bold]{escape(located.scenario.title or name)}[/]")
        with Bars(self._said) as bars:
            results = run_study(located, folder, command=f"netsim attack {self.what}", progress=bars)
        if results["status"] == "interrupted":
            raise KeyboardInterrupt
        self._tell(replace(self, out=None)._folder(folder, specs), folder)

    # ── what is done ────────────────────────────────────────────────────────────────────────────────────
    def _attacked(
        self,
        experiment: "Experiment",
        subject: "Subject",
        files: dict[str, Path],
        specs: "list[RebuildModel]",
        slug: str,
        place: Path,
        score: bool,
    ) -> Results:
        from scenarios.cli.progress import Bars
        from scenarios.results.files import write_json
        from scenarios.stages.recorded_attack import Attacked, inferred_from_recording

        others = chosen_inference(self.attacks, experiment.scenario)
        folder = self.out or place
        folder.mkdir(parents=True, exist_ok=True)
        with Bars(self._said) as bars:
            all_of_it = Attacked.of_all(experiment, subject, files["transcript"], score, bars)
            told: Results = {"transcript": str(files["transcript"]), "rows": len(all_of_it.transcript)}
            told["replicas"] = all_of_it.transcript.replicas
            told["gradients"] = all_of_it.gradients(folder / f"estimates-{slug}.parquet")
            told["truth"] = all_of_it.told.get("truth")
            told["reconstructions"] = None
            told["traffic_analysis"] = all_of_it.traffic() if "traffic" in others else None
            few = subject.attacked is not None and files["second"].is_file()
            one = Attacked.of_few(experiment, subject, files["second"], score, bars) if few else all_of_it
            if specs:
                told["reconstructions"] = one.records(specs, folder / f"records-{slug}.parquet")
                told["reconstructions"] |= {"transcript": str(one.file), "truth": one.told.get("truth")}
            told |= inferred_from_recording(one, others)
        write_json(folder / f"attack-{slug}.json", told)
        return told

    # ── what is said ────────────────────────────────────────────────────────────────────────────────────
    @property
    def _said(self) -> Console:
        return apart(self.as_json)

    def _tell(self, told: list[Results], folder: Path | None = None) -> None:
        from scenarios.render.verdicts import print_recorded_attack

        if self.as_json:
            write_document({"folder": None if folder is None else str(folder), "algorithms": told})
        else:
            print_recorded_attack(told)
            if folder is not None:
                console.print(f"\nReport: [bold]{escape(str(folder / 'report.html'))}[/]", soft_wrap=True)
        raise typer.Exit(DONE)

    def _refuse(self, **given: object) -> None:
        of = {
            "scenario": ("--scenario", "it says of which scenario a transcript is", "only with FILE.parquet"),
            "option": ("-o", "a folder has its scenario", "only with a scenario"),
            "variant": ("--variant", "a transcript has no variants", "only with a folder"),
        }
        for name, value in given.items():
            if value:
                field, why, allowed = of[name]
                raise ScenarioError(field, value, why, allowed)


def chosen_inference(names: Sequence[str], scenario: "Scenario") -> list[str]:
    """Which attacks that rebuild nothing are wanted: those named, else what the scenario asks for. You get a
    `ScenarioError` for a property of a scenario that has no hypotheses."""
    asked = scenario.attacks
    if not names:
        return [name for name in OTHERS if getattr(asked, name)]
    if "property" in names and asked.property is None:
        why = "the scenario names no hypotheses to choose between"
        raise ScenarioError("--attack", "property", why, "a scenario with attacks: {property: {hypotheses: …}}")
    return [name for name in OTHERS if name in names]


def chosen(names: Sequence[str]) -> "list[RebuildModel] | None":
    """The attacks on records of these names, with their own parameters; None where none is named, empty where it is
    gradients alone. You get a `ScenarioError` for one that there is not."""
    import difflib

    from pydantic import TypeAdapter, ValidationError

    from scenarios.schema.attacks import RebuildSpec, kinds

    if not names:
        return None
    adapter: TypeAdapter[Any] = TypeAdapter(RebuildSpec)
    found: list[RebuildModel] = []
    for name in dict.fromkeys(one.replace("-", "_") for one in names):
        if name in (GRADIENTS, *OTHERS):
            continue
        try:
            found.append(adapter.validate_python({"kind": name}))
        except ValidationError:
            there = [GRADIENTS, *OTHERS, *kinds()]
            near = difflib.get_close_matches(name, there, n=1)
            why = "no such attack" + (f"; did you mean {near[0]!r}?" if near else "")
            raise ScenarioError("--attack", name, why, ", ".join(there)) from None
    return found
