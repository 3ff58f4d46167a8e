"""A folder that a reviewer runs offline: scenario, code, data, pinned versions, and what is expected of them."""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import cast

from netsim.errors import ScenarioError
from netsim.files import read_json
from netsim.problems.data import FACTS, stored
from netsim.problems.data.cache import folder as data_folder
from scenarios.files.document import as_yaml
from scenarios.files.folders import RESULTS
from scenarios.files.models import as_mappings
from scenarios.results.base import write_text
from scenarios.results.tree import Results
from scenarios.schema.own_code import OURS, sources
from scenarios.stages import artifact_run

_README = """\
# {title}

The scenario, its code and data, and netsim {version}, to be run again without a network:

    python -m pip install -r requirements.txt   # Python {python}; the only step that needs a network
    python run.py

`run.py` runs scenario.yaml into results/ (a page: results/report.html) and compares every verdict and number with
expected.json. Exit status 0: every verdict is the expected one.
"""


def write_artifact(results: Results, run: Path, folder: Path) -> None:
    """The artifact of a finished run, whose folder is `run`. You get a `ScenarioError` for a folder that is not
    empty, and for a run that did not end."""
    if results.status != "complete":
        raise ScenarioError("folder", str(run), f"its run is {results.status}", "a run that is complete")
    if folder.exists() and any(folder.iterdir()):
        raise ScenarioError("--out", str(folder), "not empty", "a new folder")
    (folder / "files").mkdir(parents=True)
    tree = as_mappings(results.scenario)
    _take(tree, folder / "files")
    write_text(folder / "scenario.yaml", as_yaml(tree))
    for name in OURS:
        place = Path(str(import_module(name).__file__)).parent
        shutil.copytree(place, folder / "code" / name, ignore=shutil.ignore_patterns("__pycache__"))
    own = distribution("netsim-lab")
    about = folder / "code" / f"netsim_lab-{own.version}.dist-info"
    about.mkdir()
    for name in ("METADATA", "entry_points.txt"):
        write_text(about / name, own.read_text(name) or "")
    _data(tree, folder / "data")
    pinned = sorted(dict(_pinned("netsim-lab", set())).items())
    write_text(folder / "requirements.txt", "\n".join(f"{name}=={number}" for name, number in pinned))
    expected = artifact_run.summary(read_json(run / RESULTS))
    write_text(folder / "expected.json", json.dumps(expected, indent=1, ensure_ascii=False))
    shutil.copyfile(artifact_run.__file__, folder / "run.py")
    python = ".".join(map(str, sys.version_info[:3]))
    text = _README.format(title=results.title or results.name, version=own.version, python=python)
    write_text(folder / "README.md", text)


def _take(tree: object, files: Path) -> None:
    """Copy the files that a scenario names, with what code imports, and name the copies: each in a folder of its own,
    for others may have the same name."""
    if isinstance(tree, list):
        for one in cast("list[object]", tree):
            _take(one, files)
    elif isinstance(tree, dict):
        known = cast("dict[str, object]", tree)
        for key, value in known.items():
            where, colon, name = str(value).rpartition(":") if isinstance(value, str) else ("", "", "")
            file = Path(where if where.endswith(".py") else str(value))
            if key != "path" or not isinstance(value, str) or not file.is_file():
                _take(value, files)
                continue
            each = sources(file.absolute(), file.read_bytes()) if file.suffix == ".py" else {file: file.read_bytes()}
            place = files / str(sum(1 for _ in files.iterdir()))
            for one, text in each.items():
                at = place / (one.relative_to(file.absolute().parent) if file.suffix == ".py" else one.name)
                at.parent.mkdir(parents=True, exist_ok=True)
                at.write_bytes(text)
            known[key] = f"files/{place.name}/{file.name}{colon + name if where.endswith('.py') else ''}"


def _data(tree: object, folder: Path) -> None:
    """Copy the files of the named data sets that are kept in the data folder."""
    folder.mkdir()
    for name in _names(tree):
        for part in stored(name) if name in FACTS else ():
            for file in part.files if part.present else ():
                at = folder / file.relative_to(data_folder())
                at.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, at)


def _names(tree: object) -> Iterator[str]:
    if isinstance(tree, list):
        for one in cast("list[object]", tree):
            yield from _names(one)
    elif isinstance(tree, dict):
        for key, value in cast("dict[str, object]", tree).items():
            if key == "name" and isinstance(value, str):
                yield value
            yield from _names(value)


def _pinned(name: str, seen: set[str]) -> Iterator[tuple[str, str]]:
    """Every distribution that one needs, with the version that is installed; extras are left."""
    for line in distribution(name).requires or ():
        needed = re.split(r"[\s;<>=!~\[(]", line, maxsplit=1)[0]
        if "extra ==" in line or needed.lower() in seen:
            continue
        seen.add(needed.lower())
        try:
            found = distribution(needed)
        except PackageNotFoundError:  # of another system or Python
            continue
        yield found.metadata["Name"], found.version
        yield from _pinned(needed, seen)
