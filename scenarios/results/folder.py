"""Results folder of a finished run, opened again: its scenario and its results."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from netsim.errors import ScenarioError, did_you_mean, near
from netsim.files import read_text
from scenarios.build.experiment import Experiment
from scenarios.files.folders import MANIFEST, PAGE, RESULTS, SWEEP, SWEPT
from scenarios.files.library import library, no_variant
from scenarios.results.header import chosen, problem_facts, versions
from scenarios.results.tree import AlgorithmResult, Manifest, Results, loads, loads_manifest, save
from scenarios.schema import Scenario
from scenarios.schema.own import PythonSpec


def is_results(folder: Path) -> bool:
    """Whether this is a folder that a run began."""
    return folder.is_dir() and (folder / MANIFEST).is_file()


def no_results(folder: Path, field: str = "folder") -> ScenarioError:
    """The error of what should be a results folder, and is none."""
    allowed = "a folder that `netsim run`, `audit` or `sweep` left"
    if (folder / SWEEP).is_file():
        why, allowed = "is a sweep's", f"a folder of one run; `netsim report {folder}` shows the sweep"
    elif folder.is_dir():
        inside = [one.parent.name for one in sorted(folder.glob(f"*/{RESULTS}"))]
        lacks = RESULTS if not (folder / RESULTS).is_file() else MANIFEST
        lacks = SWEEP if (folder / SWEPT).exists() else lacks
        there = f"its {lacks} is a folder" if (folder / lacks).is_dir() else f"it has no {lacks}"
        why = f"no results folder: {there}"
        allowed = f"a folder in it: {', '.join(inside[:5])}" if inside else allowed
    elif folder.exists():
        why = "is a file, and no results folder"
        allowed += f"; a scenario is run first: `netsim run {folder}`" if folder.suffix in (".yaml", ".yml") else ""
    else:
        beside = folder.parent.iterdir() if folder.parent.is_dir() else ()
        why = "no such folder" + did_you_mean(near(folder.name, [one.name for one in beside if one.is_dir()], 1))
        allowed += f"; a scenario is run first: `netsim run {folder}`" if str(folder) in library() else ""
    return ScenarioError(field, str(folder), why, allowed)


def read_results(folder: Path | str) -> Results:
    """The tree in results.json. You get a `ScenarioError` where it is not there, or of another version."""
    file = Path(folder) / RESULTS
    return loads(_text(file), str(file))


def read_manifest(folder: Path | str) -> Manifest:
    """The tree in manifest.json. Errors as those of `read_results`."""
    file = Path(folder) / MANIFEST
    return loads_manifest(_text(file), str(file))


def standing(folder: Path, scenario: Scenario, verb: str, way: str = "--replace") -> Results | None:
    """Finished results of the very same scenario, code and versions that `netsim VERB` left in the folder: to run it
    again would give the same numbers. None where nothing is lost by a new run: an empty folder, an interrupted run.

    You get a `ScenarioError` where a new run would replace other finished results, which names the `way` to do
    so, and for a file.
    """
    if folder.is_file():
        raise ScenarioError("folder", str(folder), "is a file", "a folder to write to")
    for name in (MANIFEST, RESULTS, PAGE):
        if (folder / name).is_dir():
            raise _kept(folder, f"has a folder {name}, where a file is written", "its removal")
    if not (folder / RESULTS).is_file():
        return None
    try:
        found, resolved = read_results(folder), read_manifest(folder).resolved
    except ScenarioError as error:
        which = replace(error, allowed="").sentence()
        raise _kept(folder, f"holds results that cannot be read here: {which}", way) from None
    if found.name != scenario.name:
        return None  # `prepare` refuses another scenario's folder, whatever its state
    then = {one.get("name"): one.get("sha256") for one in resolved}
    others = {
        f"seed {found.seed}": found.seed != scenario.seed,
        "other fields": found.scenario.model_copy(update={"seed": scenario.seed}) != scenario,
        "other code": any(then.get(spec.name, spec.code) != spec.code for spec in scenario.algorithms),
        "other versions": found.versions != versions(),
        f"`netsim {verb}`, which another run does not repeat": verb == "deploy",
        "another command": bool(found.command) and found.command.split()[1:2] != [verb],
        "files that have changed since": _newer(scenario.model_dump(mode="json"), (folder / RESULTS).stat().st_mtime),
    }
    apart = ", ".join(words for words, whether in others.items() if whether)
    if found.status != "complete" and (not apart or found.variants is None):
        return None
    if apart:
        raise _kept(folder, f"holds finished results of {scenario.name}, with {apart}", way)
    return found


def _kept(folder: Path, why: str, way: str) -> ScenarioError:
    return ScenarioError("folder", str(folder), why, f"another folder, or {way}")


def _newer(tree: object, when: float) -> bool:
    """Whether a file that a scenario names (data, a graph, a trace) was written later than this."""
    if isinstance(tree, dict):
        fields = cast("dict[str, object]", tree)
        named = [Path(one) for key, one in fields.items() if key in ("path", "file") and isinstance(one, str)]
        return any(one.is_file() and one.stat().st_mtime > when for one in named) or _newer([*fields.values()], when)
    return isinstance(tree, list) and any(_newer(one, when) for one in cast("list[object]", tree))


def parts_of(folder: Path, variant: str | None = None) -> list[Path]:
    """The folders of single runs: this one, or those of a study's variants that were begun.

    You get a `ScenarioError` for a folder that no run left, and for a variant that is not there.
    """
    if not is_results(folder):
        raise no_results(folder)
    there = {one.name: one for one in sorted(folder.iterdir()) if is_results(one)}
    several = bool(read_results(folder).variants) if (folder / RESULTS).is_file() else bool(there)
    if variant is not None:
        if variant not in there:
            raise no_variant(variant, [*there])
        return [there[variant]]
    return list(there.values()) if several else [folder]


@dataclass
class RunFolder:
    """A results folder of one run."""

    folder: Path
    manifest: Manifest
    results: Results
    scenario: Scenario

    @classmethod
    def open(cls, folder: Path) -> "RunFolder":
        """You get a `ScenarioError` for a folder that cannot be read."""
        manifest = read_manifest(folder)
        return cls(folder, manifest, read_results(folder), _placed(manifest))

    def experiment(self, scenario: Scenario | None = None) -> Experiment:
        """Everything built anew, from the same seed; of the folder's scenario, or of one with other options.

        You get a `ScenarioError` where the agents hold other data here than when the folder was written.
        """
        experiment = Experiment.of(self.scenario if scenario is None else scenario)
        then = self.manifest.problem
        for name, value in () if then is None else problem_facts(experiment.problem).items():
            before = getattr(then, name)
            close = isinstance(value, float) and math.isclose(value, before, rel_tol=1e-9)
            if value != before and not close:
                why = "the agents hold other data here than when the folder was written"
                raise ScenarioError(f"problem.{name}", value, why, str(before))
        return experiment

    def entries(self, algorithm: str | None = None) -> list[AlgorithmResult]:
        """Results of each algorithm, or of the one of this slug or name.

        You get a `ScenarioError` for one that is not there.
        """
        found = list(self.results.algorithms)
        if algorithm is None:
            return found
        wanted = chosen(algorithm, {entry.slug: entry.name for entry in found}, "not in the folder")
        return [entry for entry in found if entry.slug == wanted]

    def remarks(self) -> list[str]:
        """Differences from when the folder was written: versions, and code that is not netsim's own."""
        here = versions()
        others = [
            f"{name} {version}" for name, version in self.manifest.versions.items() if here.get(name) != version
        ]
        found = [f"The folder was written with {', '.join(others)}."] if others else []
        for spec in self.scenario.algorithms:
            if spec.code is not None and self._code(spec.name) not in (None, spec.code):
                found.append(f"The code of {spec.name} is another one than when the folder was written.")
        return found

    def check_code(self, name: str) -> None:
        """A `ScenarioError` where an algorithm's code is another one than when the folder was written: an audit of
        the new code does not belong beside transcripts, witnesses and verdicts of the old."""
        then = self._code(name)
        spec = next(one for one in self.scenario.algorithms if one.name == name)
        if then is None or spec.code in (None, then):
            return
        path = spec.path if isinstance(spec, PythonSpec) else name
        why = f"the code of {name} is another one than when the folder was written: a new audit is not of the same"
        raise ScenarioError("folder", str(self.folder), why, f"another folder: netsim audit {path} --out OTHER")

    def _code(self, name: str) -> object:
        """SHA-256 of the code of an algorithm of one's own, as it was."""
        return next((one.get("sha256") for one in self.manifest.resolved if one.get("name") == name), None)

    def put(self, entry: AlgorithmResult) -> None:
        """Replace the results of an algorithm; `save` writes them."""
        algorithms = tuple(entry if one.slug == entry.slug else one for one in self.results.algorithms)
        self.results = replace(self.results, algorithms=algorithms)

    def save(self) -> None:
        """Write the results."""
        save(self.folder, self.results)


def _placed(manifest: Manifest) -> Scenario:
    """The scenario with code of one's own where it was, if it is not where the path leads from here."""
    where = {one.get("name"): one.get("file") for one in manifest.resolved}
    algorithms = list(manifest.scenario.algorithms)
    for k, spec in enumerate(algorithms):
        file = where.get(spec.name)
        if not isinstance(spec, PythonSpec) or not file:
            continue
        path, _, name = spec.path.rpartition(":") if not spec.path.endswith(".py") else (spec.path, "", "")
        if path.endswith(".py") and not Path(path).is_file():
            algorithms[k] = spec.model_copy(update={"path": f"{file}:{name}" if name else file})
    return manifest.scenario.model_copy(update={"algorithms": algorithms})


def _text(path: Path) -> str:
    if not path.is_file():
        raise no_results(path.parent)
    try:
        return read_text(path)
    except (OSError, ValueError) as error:
        why = f"cannot be read ({getattr(error, 'strerror', None) or error})"
        allowed = "what `netsim run` wrote there, or netsim run again"
        raise ScenarioError("file", str(path), why, allowed, str(path)) from None
