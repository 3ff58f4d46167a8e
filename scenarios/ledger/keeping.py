"""Results of entries on disk: what is there, whether it is still of this code, and running what is not.

FOLDER/NAME is a results folder like any other. Beside its results.json stands ledger.json: what the results were
computed from, as one fingerprint, and how long each algorithm took. It is written last, so an entry that was
interrupted has none, and is taken up again.
"""

import hashlib
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scenarios import describe
from scenarios.auditing import program
from scenarios.describe import Results
from scenarios.jsonfile import write_json
from scenarios.ledger.catalogue import Entry
from scenarios.places import RESULTS
from scenarios.study import COMPLETE, run_study
from scenarios.telling import Progress, Silent

NOTE = "ledger.json"


@dataclass(frozen=True)
class Kept:
    """An entry's results, and the seconds that each of its algorithms took, by name."""

    results: Results
    seconds: dict[str, float]


def fingerprint(entry: Entry) -> str:
    """Of what an entry's results depend on: its text, the versions, and every line of code."""
    versions = json.dumps(describe.versions(), sort_keys=True)
    return hashlib.sha256(f"{entry.text}\0{versions}\0{program()}".encode()).hexdigest()


def kept(entry: Entry, folder: Path) -> Kept | None:
    """The entry's results in `folder`, if they are complete and of this text and code; else None."""
    note, results = _read(folder / entry.name / NOTE), _read(folder / entry.name / RESULTS)
    if note.get("fingerprint") != fingerprint(entry) or results.get("status") != COMPLETE:
        return None
    return Kept(results, note["seconds"])


def run_entry(entry: Entry, folder: Path, *, progress: Progress | None = None, jobs: int = 1) -> Kept:
    """Run an entry into `folder`/NAME as `netsim run` does, whatever is there.

    Raises what `scenarios.study.run_study` does, and a `KeyboardInterrupt` where it was interrupted.
    """
    place = folder / entry.name
    (place / NOTE).unlink(missing_ok=True)
    clock = _Clock(progress or Silent(), [one.name for one in entry.located.scenario.algorithms])
    results = run_study(entry.located, place, command=f"netsim ledger {entry.name}", progress=clock, jobs=jobs)
    clock.stop()
    if results["status"] != COMPLETE:
        raise KeyboardInterrupt
    write_json(place / NOTE, {"fingerprint": fingerprint(entry), "seconds": clock.seconds})
    found = kept(entry, folder)  # read again: what is printed now and what is printed later are the same
    assert found is not None
    return found


def _read(path: Path) -> dict[str, Any]:
    """A JSON file; empty where it is missing or was cut off."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


@dataclass
class _Clock:
    """Passes progress on, and adds up the real seconds of the stages of each algorithm: "NAME: …"."""

    progress: Progress
    names: list[str]
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    _of: str | None = None
    _since: float = 0.0

    def begin(self, stage: str, total: int) -> None:
        self.stop()
        self._of = next((name for name in self.names if stage.startswith(f"{name}: ")), None)
        self._since = time.monotonic()
        self.progress.begin(stage, total)

    def advance(self, steps: int) -> None:
        self.progress.advance(steps)

    def say(self, sentence: str) -> None:
        self.progress.say(sentence)

    def stop(self) -> None:
        """The last stage is over."""
        if self._of is not None:
            self.seconds[self._of] = self.seconds.get(self._of, 0.0) + time.monotonic() - self._since
        self._of = None
