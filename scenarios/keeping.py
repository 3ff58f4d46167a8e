"""A run's transcripts in the results folder: a spool while it runs, a Parquet file when it is over."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from netsim.adversary import AdversaryView
from netsim.errors import DeadlockError, TranscriptError
from netsim.simulation import Simulation
from netsim.transcript import Transcript
from scenarios.schema import TranscriptSpec

TOLD = ("time", "sender", "receiver", "kind", "number", "attempt")
SHOWN = 3
"""Rows that are told when a run has ended because agents wait."""


@dataclass(frozen=True)
class Keeper:
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
        self._remove()
        return simulation if self.spec.spool == "none" else replace(simulation, spool=self.spools)

    def keep(self, views: tuple[AdversaryView, ...]) -> None:
        """Write every adversary's Parquet file, in bounded memory where there is a spool."""
        for view in views:
            self._write(view.transcript, view.adversary.name)

    @property
    def second(self) -> Path:
        """The Parquet file of what the first adversary hears in the run in which records are to be rebuilt."""
        return self.folder / f"second-{self.slug}.parquet"

    def keep_second(self, view: AdversaryView) -> None:
        """Write that file."""
        self._save(view.transcript, self.second)

    def rescue(self) -> None:
        """The Parquet files of a run that failed, from its spools. A spool that cannot be read is left as it is."""
        from netsim.spool import SpooledTranscript  # needs pyarrow, which takes its time to load

        for name in self.names:
            spool = self.spools / f"{name}.spool"
            if spool.exists():
                try:
                    self._write(Transcript.stored(SpooledTranscript.open(spool)), name)
                except (TranscriptError, OSError):
                    continue

    def end(self) -> None:
        """Remove the spools, unless they are to be kept or a file is missing."""
        if self.spec.spool == "temporary" and all(self.file(name).exists() for name in self.names):
            self._remove()

    def _write(self, transcript: Transcript, name: str) -> None:
        self._save(transcript, self.file(name))

    def _save(self, transcript: Transcript, path: Path) -> None:
        draft = path.with_name(path.name + ".part")
        try:
            (transcript if self.spec.replicas == "all" else transcript.replica(0)).write(draft)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)

    def _remove(self) -> None:
        if self.spools.is_dir():
            for spool in self.spools.glob("*.spool"):
                spool.unlink()
            if not any(self.spools.iterdir()):
                self.spools.rmdir()

    def last_words(self, error: DeadlockError) -> list[str]:
        """What was last heard from or for the agents that an error says wait, if there is a file: a line a row."""
        from netsim.spool import SpooledTranscript

        path = self.file(self.names[0])
        agents = [int(agent) for agent in re.findall(r"agent (\d+) waits", str(error))]
        if not agents or not path.exists():
            return []
        kept: list[tuple[float, int, int, str, int, int]] = []
        for rows in SpooledTranscript.open(path).columns():
            chosen = np.flatnonzero(np.isin(rows["sender"], agents) | np.isin(rows["receiver"], agents))[-SHOWN:]
            named = [
                rows[name][chosen].tolist() for name in ("time", "sender", "receiver", "kind", "number", "attempt")
            ]
            kept = [*kept, *zip(*named, strict=True)][-SHOWN:]
        return [
            f"last heard: t={time:g} s, {sender} → {receiver}, {kind} {number}, attempt {attempt}"
            for time, sender, receiver, kind, number, attempt in kept
        ]
