"""`netsim trace`: a transcript asked afterwards. Who sent what to whom when, from a results folder or a file.

Nothing is loaded: rows are read until enough are shown; a summary reads times, agents, kinds and sizes only.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from netsim.errors import NetsimError, ScenarioError, TranscriptError
from netsim.selection import Selection
from netsim.spool import SpooledTranscript
from netsim.transcript import EVERYBODY, Place
from scenarios.places import MANIFEST

if TYPE_CHECKING:
    from scenarios.schema.messages import MessageSpec

NAMED = 20
"""Agents that a message lists."""
ALL = "`transcript.replicas: all` in the scenario keeps them all"


@dataclass(frozen=True)
class Traced:
    """A transcript on disk and, where there is one, the manifest of its results folder."""

    rows: SpooledTranscript
    manifest: dict[str, Any] | None

    @classmethod
    def open(cls, place: Path, algorithm: str | None = None) -> "Traced":
        """A results folder (and which algorithm of it), a folder of spools, a Parquet file or a spool.

        You get a `ScenarioError` for an algorithm that is not there, a `TranscriptError` where one has to be chosen,
        and for a file that is no transcript.
        """
        file = _chosen(place, algorithm) if place.is_dir() else place
        if file is place and algorithm is not None:
            raise TranscriptError(f"{place}: one transcript already; --algorithm chooses among those of a folder")
        return cls(SpooledTranscript.open(file), _manifest(file))

    @property
    def agents(self) -> int | None:
        """How many there were, where the manifest says so."""
        try:
            return None if self.manifest is None else int(self.manifest["problem"]["agents"])
        except (KeyError, TypeError, ValueError):
            return None

    def messages(self) -> "MessageSpec":
        """Codec and header of the run; without a manifest, the default ones.

        You get a `TranscriptError` for a manifest that says what no scenario can.
        """
        from pydantic import ValidationError

        from scenarios.schema.messages import MessageSpec  # takes its time to load

        try:
            scenario: dict[str, Any] = {} if self.manifest is None else self.manifest["scenario"]
            return MessageSpec.model_validate(scenario.get("messages", {}))
        except (KeyError, AttributeError, ValidationError):
            raise TranscriptError(f"{MANIFEST} of {self.rows.path}: its scenario has no messages to go by") from None

    def has_replica(self, index: int) -> None:
        """You get a `ScenarioError` where the transcript lacks it, with what would keep it."""
        if index < self.rows.replicas:
            return
        allowed = f"0 … {self.rows.replicas - 1}"
        if self.rows.replicas == 1 and self._replicas() != 1:
            allowed += f"; {ALL}"
        raise ScenarioError("--replica", index, "the transcript has no such replica", allowed)

    def _replicas(self) -> Any:
        try:
            return None if self.manifest is None else self.manifest["scenario"]["replicas"]
        except (KeyError, TypeError):
            return None

    def check(self, chosen: SpooledTranscript, by: Selection) -> str:
        """Why no row was chosen, if that is so and can be said; else "".

        You get a `ScenarioError` for an agent that was not there. Where no manifest says who was there, only if no
        row was chosen: who was heard is then looked for.
        """
        if self.agents is not None:
            _present(by, range(self.agents))
        if _any(chosen):
            return ""
        heard = Heard.of(self.rows)
        if self.agents is None:
            _present(by, sorted(heard.agents))
        return heard.without(by)

    def export(self, rows: SpooledTranscript, path: Path, replica: int, place: Place | None) -> int:
        """Write what was heard on links, or at this place, for Wireshark; returns how many packets.

        You get a `ScenarioError` for a file that cannot be written, a `TranscriptError` where all was heard at doors
        and these were not asked for, and for rows that are not of these messages.
        """
        from netsim.pcapng import export

        if place is None and _any(rows.select(place="node")) and not _any(rows.select(place="link")):
            raise TranscriptError("--pcapng: none of these rows was heard on a link; --place node exports the others")
        spec = self.messages()
        packets = (row for row in rows if row.event != "closed")
        options: dict[str, Any] = {"codec": spec.codec.build(), "header_bytes": spec.header}
        try:
            return export(packets, path, replica=replica, place=place or "link", **options)
        except OSError as error:
            why = error.strerror or str(error)
            raise ScenarioError("--pcapng", str(path), f"cannot be written ({why})", "a file to write to") from None
        except TranscriptError as error:
            if self.manifest is not None:
                raise
            raise TranscriptError(
                f"{error}. No {MANIFEST} beside {self.rows.path} says how its messages were sent, so this took them "
                "for float64 with a header of 20 bytes; trace it in its results folder"
            ) from None


# ── what is there ───────────────────────────────────────────────────────────────────────────────────────


def _chosen(place: Path, algorithm: str | None) -> Path:
    found = transcripts(place)
    if not found:
        raise TranscriptError(f"{place}: holds no transcript; give a results folder, a .parquet or a .spool file")
    if algorithm is None:
        if len(found) > 1:
            raise TranscriptError(f"{place}: several transcripts; choose one with --algorithm: {', '.join(found)}")
        return next(iter(found.values()))
    if algorithm not in found:
        raise ScenarioError("--algorithm", algorithm, "no transcript of it", ", ".join(found))
    return found[algorithm]


def transcripts(folder: Path) -> dict[str, Path]:
    """The transcripts of a results folder by the slug of their algorithm: files, and spools that have no file.

    Of several spools of one algorithm each is called SLUG.NAME, after its adversary. In a folder that has none of
    these, the spools that lie in it by their names; one alone in transcript-SLUG by its slug.
    """
    found = {path.stem.removeprefix("transcript-"): path for path in folder.glob("transcript-*.parquet")}
    for inner in folder.glob("transcript-*/"):
        slug, spools = inner.name.removeprefix("transcript-"), sorted(inner.glob("*.spool"))
        if slug not in found:
            found |= {slug if len(spools) == 1 else f"{slug}.{path.stem}": path for path in spools}
    spools, name = sorted(folder.glob("*.spool")), folder.resolve().name
    if not found and len(spools) == 1 and name.startswith("transcript-"):
        return {name.removeprefix("transcript-"): spools[0]}
    return dict(sorted(found.items())) or {path.stem: path for path in spools}


def _manifest(file: Path) -> dict[str, Any] | None:
    """Of the results folder a transcript lies in; a spool's is one further up."""
    folder = file.resolve().parent
    spooled = file.suffix == ".spool" and folder.name.startswith("transcript-")
    for one in (folder, folder.parent) if spooled else (folder,):
        try:
            manifest: Any = json.loads((one / MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(manifest, dict):
            return manifest  # pyright: ignore[reportUnknownVariableType]
    return None


def refused(error: NetsimError, place: Path) -> str:
    """Why a place cannot be traced, with what would do."""
    if isinstance(error, TranscriptError) and not place.exists():
        return f"{place}: no such file or folder"
    if isinstance(error, TranscriptError) and place.name.startswith("metrics-") and place.suffix == ".parquet":
        other = place.name.replace("metrics", "transcript", 1)
        return f"{place}: the metrics of a run, not what was heard; that is in {other}"
    return str(error)


# ── what was asked ──────────────────────────────────────────────────────────────────────────────────────


def selection(asked: Selection) -> Selection:
    """The same, checked. You get a `ScenarioError` for times and numbers that no row can have."""
    for name, time in (("--since", asked.since), ("--until", asked.until)):
        if math.isnan(time):
            raise ScenarioError(name, time, "not a time", "virtual seconds")
    if asked.until <= asked.since:
        raise ScenarioError("--until", asked.until, f"not after --since = {asked.since:g}", "later times")
    for number in asked.numbers or ():
        if number < -1:
            raise ScenarioError("--number", number, "messages count from 0", "0 or more; -1: without a number")
    return asked


def _present(by: Selection, there: Iterable[int]) -> None:
    known = list(there)
    for name, agents, others in (("--from", by.senders, ()), ("--to", by.receivers, (EVERYBODY,))):
        for agent in sorted(agents or ()):
            if agent not in known and agent not in others:
                raise ScenarioError(name, agent, "no such agent", _listed(known))


def _listed(agents: list[int]) -> str:
    if len(agents) > 2 and agents == list(range(len(agents))):
        return f"0 … {agents[-1]}"
    names = ["all (-1)" if agent == EVERYBODY else str(agent) for agent in agents[:NAMED]]
    return ", ".join(names) + (", …" if len(agents) > NAMED else "") or "none: nothing was heard"


def _any(rows: SpooledTranscript) -> bool:
    return next((True for part in rows.columns() if len(part["time"])), False)


@dataclass
class Heard:
    """What a whole transcript has: who sent to whom, at which places, of which kinds, from when to when."""

    links: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    places: set[str] = field(default_factory=set[str])
    kinds: set[str] = field(default_factory=set[str])
    first: float = math.inf
    last: float = -math.inf

    @classmethod
    def of(cls, rows: SpooledTranscript) -> "Heard":
        """In bounded memory; values are not read."""
        heard = cls()
        for part in rows.columns():
            if len(part["time"]):
                pairs = np.unique(np.stack([part["sender"], part["receiver"]]), axis=1)
                heard.links.update(zip(*pairs.tolist(), strict=True))
                heard.places.update(part["place"].tolist())
                heard.kinds.update(part["kind"].tolist())
                heard.first = min(heard.first, float(part["time"].min()))
                heard.last = max(heard.last, float(part["time"].max()))
        return heard

    @property
    def agents(self) -> set[int]:
        """Who sent or was sent something."""
        return {agent for link in self.links for agent in link} - {EVERYBODY}

    def without(self, by: Selection) -> str:
        """Which of what was asked there is nowhere in the transcript, in a sentence; "" where each is somewhere."""
        if not self.links:
            return "The transcript has no rows."
        if by.places is not None and not by.places & self.places:
            where = "on links" if "link" in by.places else "at doors: no tap sat at an agent, or nothing passed"
            return f"Nothing was heard {where}."
        if by.kinds is not None and not by.kinds & self.kinds:
            return f"The transcript has no such kind; it has {', '.join(sorted(self.kinds))}."
        if by.since > self.last or by.until <= self.first:
            return f"The transcript has no such times; it goes from {self.first:.6g} to {self.last:.6g} s."
        return self._who(by) or "Each of what was asked is in the transcript, but not together."

    def _who(self, by: Selection) -> str:
        sends = {i: sorted(j for one, j in self.links if one == i) for i in sorted(by.senders or ())}
        gets = {j: sorted(i for i, one in self.links if one == j) for j in sorted(by.receivers or ())}
        if any((by.senders is None or i in by.senders) and (by.receivers is None or j in by.receivers)
               for i, j in self.links):  # fmt: skip
            return ""
        told = [
            f"{i} was heard sending to {_listed(to)}" if to else f"{i} was never heard" for i, to in sends.items()
        ]
        if not sends:
            told = [f"nothing for {j} was heard" if not of else f"{j} heard {_listed(of)}" for j, of in gets.items()]
        return f"The transcript has no such link: {'; '.join(told[:3])}."
