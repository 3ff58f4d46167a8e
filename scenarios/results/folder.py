"""Results folder of a finished run, opened again: its scenario and its results."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from netsim.errors import ScenarioError
from scenarios.build.experiment import Experiment, Subject
from scenarios.results import entries as describe
from scenarios.results.entries import Results
from scenarios.results.files import MANIFEST, RESULTS, write_json
from scenarios.schema import Scenario
from scenarios.schema.load import validated
from scenarios.schema.own import PythonSpec

AS_WRITTEN = ("scenario", "name", "title", "description", "command", "fields", "versions")
"""Keys under which a text "inf" is a text."""
NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def is_results(folder: Path) -> bool:
    """Whether this is a folder that a run began."""
    return folder.is_dir() and (folder / MANIFEST).is_file()


def read_results(folder: Path) -> Results:
    """What results.json holds, infinities and NaN as numbers. You get a `ScenarioError` where it is not there."""
    return cast(Results, as_numbers(_json(folder / RESULTS)))


def as_numbers(tree: Any, key: str = "") -> Any:
    """The texts "inf", "-inf" and "nan" as numbers again, but for what is a name or a scenario."""
    if key in AS_WRITTEN:
        return tree
    if isinstance(tree, Mapping):
        return {name: as_numbers(value, name) for name, value in cast("Mapping[str, Any]", tree).items()}
    if isinstance(tree, list):
        return [as_numbers(value) for value in cast("list[Any]", tree)]
    return NUMBERS.get(tree, tree) if isinstance(tree, str) else tree


def parts_of(folder: Path, variant: str | None = None) -> list[Path]:
    """The folders of single runs: this one, or those of a study's variants that were begun.

    You get a `ScenarioError` for a folder that no run left, and for a variant that is not there.
    """
    if not is_results(folder):
        allowed = "a folder that `netsim run` or `netsim audit` left"
        raise ScenarioError("folder", str(folder), f"no results folder: it has no {MANIFEST}", allowed)
    there = {one.name: one for one in sorted(folder.iterdir()) if is_results(one)}
    several = bool(read_results(folder).get("variants")) if (folder / RESULTS).is_file() else bool(there)
    if variant is not None:
        if variant not in there:
            raise ScenarioError("--variant", variant, "no such variant in the folder", ", ".join(there) or "none")
        return [there[variant]]
    return list(there.values()) if several else [folder]


@dataclass
class RunFolder:
    """A results folder of one run."""

    folder: Path
    manifest: Results
    results: Results
    scenario: Scenario

    @classmethod
    def open(cls, folder: Path) -> "RunFolder":
        """You get a `ScenarioError` for a folder that cannot be read."""
        manifest = _json(folder / MANIFEST)
        if not isinstance(manifest.get("scenario"), Mapping):
            raise ScenarioError(MANIFEST, str(folder), "names no scenario", "what `netsim run` wrote")
        scenario = validated(manifest["scenario"], str(folder / MANIFEST)).scenario
        return cls(folder, manifest, read_results(folder), _placed(scenario, manifest))

    def experiment(self, scenario: Scenario | None = None) -> Experiment:
        """Everything built anew, from the same seed; of the folder's scenario, or of one that asks other questions.

        You get a `ScenarioError` where the agents hold other data here than when the folder was written.
        """
        experiment = Experiment.of(self.scenario if scenario is None else scenario)
        here = describe.problem_facts(experiment.problem)
        then: Results = self.manifest.get("problem") or {}
        for name, value in here.items():
            if name in then and not _alike(value, as_numbers(then[name])):
                why = "the agents hold other data here than when the folder was written"
                raise ScenarioError(f"problem.{name}", value, why, str(then[name]))
        return experiment

    def entries(self, algorithm: str | None = None) -> list[Results]:
        """What the results say of each algorithm, or of the one of this slug or name.

        You get a `ScenarioError` for one that is not there.
        """
        found: list[Results] = self.results.get("algorithms", [])
        if algorithm is None:
            return found
        chosen = [entry for entry in found if algorithm in (entry["slug"], entry["name"])]
        if not chosen:
            slugs = ", ".join(entry["slug"] for entry in found) or "none: no algorithm was begun"
            raise ScenarioError("--algorithm", algorithm, "not in the folder", slugs)
        return chosen

    def remarks(self) -> list[str]:
        """What is other than when the folder was written: versions, and code that is not netsim's own."""
        here = describe.versions()
        then: dict[str, str] = self.manifest.get("versions") or {}
        others = [f"{name} {version}" for name, version in then.items() if here.get(name) != version]
        found = [f"The folder was written with {', '.join(others)}."] if others else []
        resolved: list[Results] = self.manifest.get("resolved") or []
        codes = {one.get("name"): one.get("sha256") for one in resolved}
        for spec in self.scenario.algorithms:
            if spec.code is not None and codes.get(spec.name) not in (None, spec.code):
                found.append(f"The code of {spec.name} is another one than when the folder was written.")
        return found

    def check_code(self, name: str) -> None:
        """A `ScenarioError` where an algorithm's code is another one than when the folder was written: an audit of
        the new code does not belong beside transcripts, witnesses and verdicts of the old."""
        resolved: list[Results] = self.manifest.get("resolved") or []
        then = next((one.get("sha256") for one in resolved if one.get("name") == name), None)
        spec = next(one for one in self.scenario.algorithms if one.name == name)
        if then is None or spec.code in (None, then):
            return
        path = spec.path if isinstance(spec, PythonSpec) else name
        why = f"the code of {name} is another one than when the folder was written: a new audit is not of the same"
        raise ScenarioError("folder", str(self.folder), why, f"another folder: netsim audit {path} --out OTHER")

    def save(self) -> None:
        """Write the results."""
        write_json(self.folder / RESULTS, self.results)


def subject_of(experiment: Experiment, entry: Results) -> Subject:
    """The algorithm of an entry."""
    return next(one for one in experiment.subjects if one.spec.name == entry["name"])


def _placed(scenario: Scenario, manifest: Results) -> Scenario:
    """With the code of algorithms of somebody's own where it was, if it is not where the path leads from here."""
    resolved: list[Results] = manifest.get("resolved") or []
    where = {one.get("name"): one.get("file") for one in resolved}
    algorithms: list[Any] = list(scenario.algorithms)
    for k, spec in enumerate(algorithms):
        file = where.get(spec.name)
        if not isinstance(spec, PythonSpec) or not file:
            continue
        path, _, name = spec.path.rpartition(":") if not spec.path.endswith(".py") else (spec.path, "", "")
        if path.endswith(".py") and not Path(path).is_file():
            algorithms[k] = spec.model_copy(update={"path": f"{file}:{name}" if name else file})
    return scenario.model_copy(update={"algorithms": algorithms})


def _alike(here: Any, then: Any) -> bool:
    if isinstance(here, float) and isinstance(then, int | float):
        return here == then or math.isclose(here, then, rel_tol=1e-9)
    return here == then


def _json(path: Path) -> Results:
    try:
        tree: object = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError("folder", str(path), f"cannot be read ({error.strerror or error})") from None
    except ValueError as error:
        raise ScenarioError("folder", str(path), f"no JSON ({error})", "what `netsim run` wrote") from None
    if not isinstance(tree, dict):
        raise ScenarioError("folder", str(path), "no results", "what `netsim run` wrote")
    return cast(Results, tree)
