"""Timeline of a run: what links carried, and the packets chosen for playback."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NamedTuple, cast

from attacks.audit.verdict import exceeds
from netsim.adversary import Adversary
from netsim.network.network import downs
from netsim.randomness import Streams
from netsim.simulation import Run
from netsim.transcript.packet_log import LinkCount, PacketFate, PacketKey, PacketLog
from netsim.transcript.record import EVERYBODY

BEFORE_BREAK = 0.3
"""Of the packets around the break, the share before it."""


class Window(NamedTuple):
    """Passages without a gap, why these, and how many before them are left out."""

    why: str
    passages: list[PacketFate]
    left_out: int


class _Span(NamedTuple):
    """Packets from one to before another, by how many were before them, and why these."""

    why: str
    begin: int
    end: int


class _Part(NamedTuple):
    """Packets without a gap, in order of time, and how many were before them."""

    begin: int
    passages: list[PacketFate]

    @property
    def end(self) -> int:
        return self.begin + len(self.passages)


@dataclass(frozen=True)
class Known:
    """What diaries kept of a run of `total` packets: all, or its beginning, its end, and what they looked for."""

    total: int
    parts: tuple[_Part, ...]

    @classmethod
    def of(cls, diary: PacketLog, again: PacketLog | None = None) -> "Known":
        """`again`: the diary of the same run once more, which was asked to look for a message."""
        first, last = len(diary.head), diary.total - len(diary.tail)
        parts = [_Part(0, sorted(diary.head, key=_start)), _Part(last, sorted(diary.tail, key=_start))]
        if again is not None:
            begin, end = max(again.begins, first), min(again.begins + len(again.middle), last)
            middle = again.middle[begin - again.begins : max(begin, end) - again.begins]
            parts.insert(1, _Part(begin, sorted(middle, key=_start)))
        return cls(diary.total, tuple(_without_gaps(part for part in parts if part.passages)))

    @property
    def every(self) -> list[PacketFate]:
        """All of them, in order."""
        return [passage for part in self.parts for passage in part.passages]

    @property
    def all_there(self) -> bool:
        """Whether nothing of the run is left out."""
        return len(self.every) == self.total

    def place(self, message: PacketKey) -> int | None:
        """How many packets were before the first that carries a message; None where it is not known."""
        return next((p.begin + k for p in self.parts for k, one in enumerate(p.passages) if _is(one, message)), None)

    def windows(self, message: PacketKey | None, most: int) -> list[Window]:
        """At most so many packets, those around a message among them if it is known."""
        if self.total <= most:
            return [Window("everything", self.every, 0)]
        wanted = [("the beginning", 0, int(0.75 * most)), ("the end", self.total - most // 4, most // 4)]
        place = None if message is None else self.place(message)
        if place is not None and place > most // 2:
            around = int(0.4 * most)
            begin = place - int(BEFORE_BREAK * around)
            last = ("the end", self.total - most // 5, most // 5)
            wanted = [("the beginning", 0, around), ("around the break", begin, around), last]
        windows: list[Window] = []
        before = 0
        for why, begin, end in _joined(self._clipped(*one, place) for one in wanted):
            windows.append(Window(why, self._between(begin, end), begin - before))
            before = end
        return windows

    def _clipped(self, why: str, begin: int, size: int, place: int | None) -> _Span:
        """As much of so many packets as is in one part: in that of the message, if it is among them."""
        end = begin + size
        holding = [part for part in self.parts if place is not None and part.begin <= place < part.end]
        near = holding if place is not None and begin <= place < end else self.parts
        part = max(near, key=lambda part: min(end, part.end) - max(begin, part.begin))
        return _Span(why, max(begin, part.begin), min(end, part.end))

    def _between(self, begin: int, end: int) -> list[PacketFate]:
        return [p for first, part in self.parts for p in part[max(0, begin - first) : max(0, end - first)]]


def _without_gaps(parts: Iterable[_Part]) -> list[_Part]:
    """Parts that touch are one."""
    found: list[_Part] = []
    for part in parts:
        if found and found[-1].end == part.begin:
            before = found.pop()
            part = _Part(before.begin, before.passages + part.passages)
        found.append(part)
    return found


def _joined(spans: Iterable[_Span]) -> Sequence[_Span]:
    """Without those that are in one before them; those that touch as one."""
    found: list[_Span] = []
    for span in spans:
        if not found or span.begin > found[-1].end:
            found.append(span)
            continue
        before = found.pop()
        why = before.why if span.why in before.why else f"{before.why}, {span.why}"
        found.append(_Span(why, before.begin, max(before.end, span.end)))
    return found


def _is(passage: PacketFate, wanted: PacketKey) -> bool:
    """Whether a packet is the first attempt to carry a message."""
    return (passage.sender, passage.kind, passage.number) == wanted and passage.attempt == 0


def _start(passage: PacketFate) -> float:
    return passage.start


Results = dict[str, Any]
EVENTS, LEAST = 1_200, 250
"""Packets of all algorithms of a scenario together, and of each one at least."""
LINKS = 200
"""A network with more links is told by agent: what each of them sent."""
DOWN = 200
"""Downtimes that are told."""
DIGITS = 10
"""Significant digits of times."""


class Chronicle:
    """Of one run and its diary. `results` may be asked before the audit and after it.

    A diary of a long run keeps no packets of its middle, and only the audit knows which message breaks the claim.
    Where that is in the middle, `sought` names it, and the diary of the same run once more, which was asked to look
    for it, is given to `look`.
    """

    def __init__(self, run: Run, diary: PacketLog, algorithms: int = 1) -> None:
        self.run, self.diary = run, diary
        self.most = max(LEAST, EVENTS // algorithms)
        self._ears = _Captures(run)
        self._known = Known.of(diary)

    def sought(self, entry: Mapping[str, Any]) -> PacketKey | None:
        """The message that breaks the claim, where this run may have sent it and its diary has let it go."""
        broken = self._break(_part(entry, "audit"))
        if broken is None or self._known.all_there or self._known.place(message := _message(broken)) is not None:
            return None
        return message

    def look(self, again: PacketLog) -> None:
        """Take over what the diary of the same run, made again, has of its middle."""
        self._known = Known.of(self.diary, again)

    def results(self, entry: Mapping[str, Any]) -> Results:
        """`links` and `timeline` of an algorithm whose results so far are these."""
        broken = self._break(_part(entry, "audit"))
        windows = self._known.windows(None if broken is None else _message(broken), self.most)
        chosen = [passage for window in windows for passage in window.passages]
        return {
            "links": self._links(),
            "timeline": {
                "packets": self.diary.total,
                "ended": _time(self.diary.ended),
                "windows": [
                    {"why": w.why, "packets": len(w.passages), "left_out_before": w.left_out} for w in windows
                ],
                **self._columns(chosen),
                "down": self._down(),
                "break": broken,
                "budget": self._budget(entry),
            },
        }

    # ── what links carried ──────────────────────────────────────────────────────────────────────────
    def _links(self) -> Results:
        """By link, both ways together; by sender where there are many links."""
        edges = self.run.simulation.topology.edges
        by_link = len(edges) <= LINKS
        groups: dict[tuple[int, ...], list[LinkCount]] = defaultdict(list)
        for (i, j), count in sorted(self.diary.links.items()):
            groups[(min(i, j), max(i, j)) if by_link else (i,)].append(count)
        rows = [_carried(counts) for counts in groups.values()]
        where = {"between": [list(key) for key in groups]} if by_link else {"sender": [key[0] for key in groups]}
        names = rows[0] if rows else {}
        return {"by": "link" if by_link else "sender", **where} | {
            name: [row[name] for row in rows] for name in names
        }

    # ── the packets ─────────────────────────────────────────────────────────────────────────────────
    def _columns(self, chosen: Sequence[PacketFate]) -> Results:
        ended = self.diary.ended
        return {
            "sent": [_time(p.start) for p in chosen],
            "arrived": [None if p.end is None or p.end > ended else _time(p.end) for p in chosen],
            "sender": [p.sender for p in chosen],
            "receiver": [p.receiver for p in chosen],
            "kind": [p.kind for p in chosen],
            "number": [p.number for p in chosen],
            "attempt": [p.attempt for p in chosen],
            "copy": [index for index, p in enumerate(chosen) if p.copy],
            "bytes": [p.size for p in chosen],
            "activation": [p.activation for p in chosen],
            "fate": [_fate(p, ended) for p in chosen],
            "heard": [self._ears.hear(p, ended) for p in chosen],
        }

    def _down(self) -> list[Results]:
        """When agents were down, in order, up to the end of the run."""
        simulation, found = self.run.simulation, list[Results]()
        for agent, law in sorted(simulation.timing.downtimes.items()):
            flips = downs(agent, law.outages, Streams(simulation.seed))
            times = list(
                takewhile(lambda t: t < self.diary.ended, (t for _, t in zip(range(DOWN), flips, strict=False)))
            )
            for k in range(0, len(times), 2):
                until = _time(times[k + 1]) if k + 1 < len(times) else None
                found.append({"agent": agent, "from": _time(times[k]), "until": until})
        return sorted(found, key=lambda one: one["from"])[:DOWN]

    # ── the claim ───────────────────────────────────────────────────────────────────────────────────
    def _break(self, audit: Mapping[str, Any]) -> Results | None:
        """The first message that breaks the claim: one that no noise covers, or that of the release by which the
        exact loss is proven to be above it. Of the audited agent; as it went on the air in this run, if it did."""
        agent = _agent(audit)
        if agent is None or audit.get("first_violation") is None:
            return None
        activation = int(audit["first_violation"])
        broken: Results = {"agent": agent, "activation": activation, "claimed": _part(audit, "claim").get("epsilon")}
        broken |= {"release": None, "field": None, "epsilon": math.inf, "why": "uncovered"}
        if audit.get("uncovered") is None:
            release, level = _over(audit)
            broken |= {"release": release, "epsilon": level, "why": "loss"}
            first = _carrier(audit, release) or self._first(agent, activation)
        else:
            first = _bare(audit, activation) or self._first(agent, activation)
        if first is None:
            return None
        broken |= first
        wanted = agent, first["kind"], first["number"]
        sent = [p for p in self._known.every if (p.sender, p.kind, p.number) == wanted]
        return broken | {
            "to": sorted({p.receiver for p in sent}) or first.get("to", []),
            "time": _time(sent[0].start) if sent else None,
        }

    def _first(self, agent: int, activation: int) -> Results | None:
        """The first message of an agent's activation."""
        first = self.diary.begun.get((agent, activation))
        return None if first is None else {"kind": first.kind, "number": first.number}

    def _budget(self, entry: Mapping[str, Any]) -> Results | None:
        """The exact ε of what the audited agent had released, from the first message of each activation on."""
        audit, curve = _part(entry, "audit"), _part(_part(entry, "over_time"), "exact")
        agent = _agent(audit)
        if agent is None or not curve:
            return None
        rows = [
            (self.diary.begun[agent, k].start, k, level)
            for k, level in zip(curve["count"], curve["estimate"], strict=True)
            if (agent, k) in self.diary.begun
        ]
        return {
            "agent": agent,
            "claimed": _part(audit, "claim").get("epsilon"),
            "time": [_time(t) for t, _, _ in rows],
            "activation": [k for _, k, _ in rows],
            "epsilon": [level for _, _, level in rows],
        }


class _Captures:
    """What an adversary's taps, and its people, made of each packet."""

    def __init__(self, run: Run) -> None:
        simulation = run.simulation
        adversary = simulation.adversaries[0] if simulation.adversaries else Adversary(links=())
        self._radio = simulation.network.medium != "links"
        self._doors = frozenset(adversary.doors)
        topology = simulation.topology
        self._on_links: frozenset[tuple[int, int]] = frozenset() if self._radio else adversary.tapped(topology)
        self._transmitters: frozenset[int] = adversary.transmitters(topology) if self._radio else frozenset()
        self._sealed = (
            {edge: law.encrypted for edge, law in simulation.network.link_laws.items()},
            simulation.network.links.encrypted,
        )
        self._caught = _caught(run) if adversary.capture_loss else None

    def hear(self, passage: PacketFate, ended: float) -> str:
        """ "yes"; "sealed": its size and time; "missed": a tap sat there; "no"."""
        edge = passage.sender, passage.receiver
        if passage.sender in self._doors and passage.kind != "ack":
            return "yes"
        arrived = passage.end is not None and passage.end <= ended
        if passage.receiver in self._doors and arrived and passage.kind != "ack":
            return "yes"
        if passage.dropped or not (edge in self._on_links or passage.sender in self._transmitters):
            return "no"
        laws, usual = self._sealed
        if laws.get(edge, usual):
            return "sealed" if self._caught is None or self._keys(passage, True) & self._caught else "missed"
        return "yes" if self._caught is None or self._keys(passage, False) & self._caught else "missed"

    def _keys(self, p: PacketFate, sealed: bool) -> set[tuple[object, ...]]:
        """What a row of the transcript that is this packet would say."""
        to = EVERYBODY if self._radio else p.receiver
        if sealed:
            return {(p.sender, r, "sealed", p.size, p.start) for r in {p.receiver, to}}
        return {(p.sender, r, p.kind, p.number, p.sequence, p.attempt) for r in {p.receiver, to}}


def _caught(run: Run) -> set[tuple[object, ...]]:
    """Of every row that a link tap recorded, what tells it from others."""
    caught: set[tuple[object, ...]] = set()
    for r in run.views[0].transcript:
        if r.event == "air" and r.kind == "sealed":
            caught.add((r.sender, r.receiver, "sealed", r.size, r.time))
        elif r.event == "air":
            caught.add((r.sender, r.receiver, r.kind, r.number, r.sequence, r.attempt))
    return caught


def _carried(counts: Sequence[LinkCount]) -> Results:
    def total(name: str) -> int:
        return sum(getattr(count, name) for count in counts)

    arrived = total("arrived")
    return {
        "packets": total("packets"),
        "bytes": total("bytes"),
        "lost": total("lost") + total("dropped"),
        "repeated": total("repeated"),
        "acknowledgements": total("acknowledgements"),
        "delay": _time(sum(count.seconds for count in counts) / arrived) if arrived else None,
    }


def _fate(passage: PacketFate, ended: float) -> str:
    if passage.dropped:
        return "dropped"
    if passage.end is None:
        return "lost"
    return "arrived" if passage.end <= ended else "on the way"


def _message(broken: Mapping[str, Any]) -> PacketKey:
    return broken["agent"], broken["kind"], broken["number"]


def _agent(audit: Mapping[str, Any]) -> int | None:
    """Whose releases the audit looked at."""
    agent = _part(audit, "breakdown").get("agent")
    return None if agent is None else int(agent)


def _bare(audit: Mapping[str, Any], activation: int) -> Results | None:
    """The first message that no noise covers."""
    fields = [f for f in _list(audit, "uncovered_fields") if not f["granted"] and f["activation"] == activation]
    first = min(fields, key=lambda f: f["message"], default=None)
    if first is None:
        return None
    to = [link[1] for link in first["links"]]
    return {"kind": first["kind"], "number": first["number"], "field": first["name"] or None, "to": to}


def _over(audit: Mapping[str, Any]) -> tuple[int | None, float]:
    """The first release by which the exact ε is proven to be above the claim, and its estimate; from 0."""
    claimed = float(_part(audit, "claim").get("epsilon") or 0.0)
    over = (
        (level.get("release"), float(level["estimate"]))
        for level in _list(audit, "growth")
        if exceeds(float(level["lower"]), claimed)
    )
    return next(over, (None, math.nan))


def _carrier(audit: Mapping[str, Any], release: int | None) -> Results | None:
    """The message that carries a release, where that is told."""
    for row in _list(_part(audit, "breakdown"), "releases"):
        carriers = row["where"]["carriers"]
        if row["release"] == release and carriers:
            first = carriers[0]
            return {
                "kind": first["kind"],
                "number": first["number"],
                "field": first["name"],
                "to": first["receivers"],
            }
    return None


def _time(seconds: float) -> float:
    """To `DIGITS` digits; finite."""
    return float(f"{seconds:.{DIGITS}g}")


def _part(results: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part: object = results.get(key)
    return cast("Mapping[str, Any]", part) if isinstance(part, Mapping) else {}


def _list(results: Mapping[str, Any], key: str) -> list[Any]:
    return cast("list[Any]", results.get(key) or [])
