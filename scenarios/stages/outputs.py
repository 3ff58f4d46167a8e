"""Files that a run writes beside results.json: transcripts, tables, page and figures; the removal of old ones.

And the artifact of a run, a folder that a reviewer runs offline: scenario, code, data, pinned versions, and what is
expected of them.
"""

import json
import re
import shutil
import sys
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, cast

import numpy as np

from attacks.audit.archive import MARK
from netsim.adversary import AdversaryView
from netsim.errors import DeadlockError, ScenarioError, TranscriptError
from netsim.files import read_json
from netsim.problems.data import FACTS, stored
from netsim.problems.data.cache import folder as data_folder
from netsim.simulation import Simulation
from netsim.transcript import Transcript
from scenarios.build.duration import Progress
from scenarios.files.document import as_yaml
from scenarios.files.folders import PAGE, RESULTS, check_new, remove_drafts, whole
from scenarios.files.models import as_mappings
from scenarios.results.base import write_text
from scenarios.results.tree import Results
from scenarios.schema.own_code import OURS, sources
from scenarios.schema.scenario import TranscriptSpec
from scenarios.stages import artifact_run

SHOWN = 3
"""Rows that are shown when a run has ended because agents wait."""
LEFT = 100_000
"""Rows of a run that somebody ended from which on they stay in their spool: a Parquet file of them takes seconds."""


@dataclass(frozen=True)
class TranscriptFiles:
    """Of one algorithm: spools are FOLDER/transcript-SLUG/NAME.spool, files FOLDER/transcript-SLUG.parquet.

    The first adversary's file has that name, another one's transcript-SLUG.NAME.parquet. A file is written whole or
    not at all, and no spool is removed before its file is there.
    """

    folder: Path
    slug: str
    spec: TranscriptSpec
    names: tuple[str, ...]

    @property
    def spools(self) -> Path:
        """The folder of what is written while the run goes on."""
        return self.folder / f"transcript-{self.slug}"

    def file(self, name: str) -> Path:
        """An adversary's Parquet file."""
        rest = "" if name == self.names[0] else f".{name}"
        return self.folder / f"transcript-{self.slug}{rest}.parquet"

    def begin(self, simulation: Simulation) -> Simulation:
        """The simulation with its spool; what a former run left under these names is removed."""
        for name in self.names:
            self.file(name).unlink(missing_ok=True)
        self.second.unlink(missing_ok=True)
        _remove_spools(self.spools)
        if self.spec.spool == "none":
            return simulation
        return replace(simulation, recording=replace(simulation.recording, spool=self.spools))

    @property
    def second(self) -> Path:
        """The Parquet file of the first adversary's transcript of the run in which records are to be rebuilt."""
        return self.folder / f"second-{self.slug}.parquet"

    def keep(self, view: AdversaryView, *, second: bool = False) -> None:
        """Write an adversary's Parquet file, in bounded memory where there is a spool."""
        self._save(view.transcript, self.second if second else self.file(view.adversary.name))

    def leave(self, view: AdversaryView) -> str:
        """The spool of a run that somebody waits to end, if its Parquet file would take long: then that is not
        written. "" where it takes a moment."""
        spool = self.spools / f"{view.adversary.name}.spool"
        return str(spool) if len(view.transcript) > LEFT and spool.exists() else ""

    def rescue(self) -> None:
        """The Parquet files of a run that failed, from its spools. A spool that cannot be read is left as it is."""
        from netsim.transcript.stored import StreamedTranscript  # needs pyarrow, which takes its time to load

        for name in self.names:
            spool = self.spools / f"{name}.spool"
            if spool.exists():
                try:
                    self._save(Transcript.stored(StreamedTranscript.open(spool)), self.file(name))
                except (TranscriptError, OSError):
                    continue

    def end(self) -> None:
        """Remove the spools, unless they are to be kept or a file is missing."""
        if self.spec.spool == "temporary" and all(self.file(name).exists() for name in self.names):
            _remove_spools(self.spools)

    def _save(self, transcript: Transcript, path: Path) -> None:
        with whole(path) as draft:
            (transcript if self.spec.replicas == "all" else transcript.replica(0)).write(draft)

    def last_words(self, error: DeadlockError) -> list[str]:
        """The last rows from or for the agents that an error says wait, if there is a file: a line a row."""
        from netsim.transcript.stored import StreamedTranscript

        path = self.file(self.names[0])
        agents = [int(agent) for agent in re.findall(r"agent (\d+) waits", str(error))]
        if not agents or not path.exists():
            return []
        kept: list[tuple[float, int, int, str, int, int]] = []
        for rows in StreamedTranscript.open(path).columns():
            chosen = np.flatnonzero(np.isin(rows["sender"], agents) | np.isin(rows["receiver"], agents))[-SHOWN:]
            named = [
                rows[name][chosen].tolist() for name in ("time", "sender", "receiver", "kind", "number", "attempt")
            ]
            kept = [*kept, *zip(*named, strict=True)][-SHOWN:]
        return [
            f"last recorded: t={time:g} s, {sender} → {receiver}, {kind}"
            + (f" {number}, attempt {attempt}" if number >= 0 else "")  # an acknowledgement has none
            for time, sender, receiver, kind, number, attempt in kept
        ]


DEPLOYED = "deployed-"
"""What a folder of captures and logs begins with; the slug of the algorithm follows."""
AT_DOORS = "outside"
"""The tap at the doors of outside programs."""
FIGURES, FIGURE_LIST = "figures", "figures.json"


def write_outputs(results: Results, runs: Mapping[str | None, Results], folder: Path, progress: Progress) -> None:
    """The tables of `runs` (by variant), the page of `results`, and its figures."""
    from scenarios.render.page.report import figures, render  # needs matplotlib, which takes its time to load

    outputs = results.scenario.outputs
    if outputs.tables:
        from scenarios.results.tables import write_tables  # needs pyarrow, which takes its time to load

        write_tables(runs, folder)
    progress.begin("writing the report", 1)
    render(results, folder / PAGE)
    progress.advance(1)
    if outputs.figures:
        from scenarios.render.page.export import export_figures

        export_figures(
            figures(results),
            folder / FIGURES,
            formats=outputs.figures,
            dpi=outputs.dpi,
            width=outputs.width,
            progress=progress,
        )


def is_behind(folder: Path) -> bool:
    """Whether the page is older than the results, or not there: a command was killed between the two."""
    page = folder / PAGE
    return not page.is_file() or page.stat().st_mtime_ns < (folder / RESULTS).stat().st_mtime_ns


def complete(results: Results, folder: Path, progress: Progress) -> None:
    """Write what comes after results.json where a command was killed between the two."""
    if is_behind(folder):
        write_outputs(results, {None: results}, folder, progress)


FILES = (
    "witness-*.json", "audit-*.json", "attack-*.json", "metrics-*.parquet", "transcript-*.parquet",
    "second-*.parquet", "estimates-*.parquet", "records-*.parquet", "algorithms.parquet", "attacks.parquet",
    "pairs.parquet",
)  # fmt: skip


def clear(folder: Path, slugs: Container[str] = ()) -> None:
    """Remove a former run's witnesses, audits, metrics and transcripts, each of which the next run writes anew,
    drafts of one that was killed, and what audits of a stopped run have seen, except that of algorithms whose
    `slugs` are named: their audits go on with it, if it is of the same."""
    remove_drafts(folder)
    for file in [one for pattern in FILES for one in folder.glob(pattern)]:
        if file.is_file():
            file.unlink()
    _clear_figures(folder / FIGURES)
    for spools in folder.glob("transcript-*/"):
        _remove_spools(spools)
    for captures in folder.glob(f"{DEPLOYED}*/"):
        shutil.rmtree(captures)
    clear_evidence(folder, slugs)


def clear_evidence(folder: Path, slugs: Container[str] = ()) -> None:
    """Remove what audits have seen, except those of algorithms whose `slugs` are named."""
    for evidence in folder.glob("audit-*/"):
        if evidence.name.removeprefix("audit-") not in slugs and (evidence / MARK).is_file():
            shutil.rmtree(evidence)


def _clear_figures(place: Path) -> None:
    """Remove the figures that a former run wrote, and nothing else there."""
    try:
        listed: Any = read_json(place / FIGURE_LIST)
        names = [name for one in listed for name in (f"{one['name']}.txt", *one["files"])]
    except (OSError, ValueError, KeyError, TypeError):
        return
    for name in [*names, FIGURE_LIST]:
        (place / Path(name).name).unlink(missing_ok=True)
    if not any(place.iterdir()):
        place.rmdir()


def _remove_spools(folder: Path) -> None:
    for spool in folder.glob("*.spool"):
        spool.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


# ── the artifact ────────────────────────────────────────────────────────────────────────────────────────
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
    check_new(folder)
    (folder / "files").mkdir()
    tree = as_mappings(results.scenario)
    take_files(tree, folder / "files")
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


def take_files(tree: object, files: Path) -> None:
    """Copy the files that a scenario names, with what code imports, and name the copies: each in a folder of its own,
    for others may have the same name."""
    if isinstance(tree, list):
        for one in cast("list[object]", tree):
            take_files(one, files)
    elif isinstance(tree, dict):
        known = cast("dict[str, object]", tree)
        for key, value in known.items():
            where, colon, name = str(value).rpartition(":") if isinstance(value, str) else ("", "", "")
            file = Path(where if where.endswith(".py") else str(value))
            if key != "path" or not isinstance(value, str) or not file.is_file():
                take_files(value, files)
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
