"""Timeline of a run: what links carried, and the packets chosen for playback."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple, cast

from attacks.audit.verdict import exceeds
from netsim.adversary import Adversary
from netsim.network.network import downs
from netsim.randomness import Streams
from netsim.simulation import Run
from netsim.transcript.message import Kind
from netsim.transcript.packet_log import LinkCount, PacketFate, PacketKey, PacketLog
from netsim.transcript.record import EVERYBODY
from scenarios.results import run as results
from scenarios.results.audit import AuditResult
from scenarios.results.base import Counts
from scenarios.results.run import BudgetInTime, Captured, ClaimBreak, Downtime, Fate, LinkLoads, Timeline
from scenarios.results.tree import AlgorithmResult

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
    def of(cls, packet_log: PacketLog, again: PacketLog | None = None) -> "Known":
        """`again`: the packet log of the same run once more, which was asked to look for a message."""
        first, last = len(packet_log.head), packet_log.total - len(packet_log.tail)
        parts = [_Part(0, sorted(packet_log.head, key=_start)), _Part(last, sorted(packet_log.tail, key=_start))]
        if again is not None:
            begin, end = max(again.begins, first), min(again.begins + len(again.middle), last)
            middle = again.middle[begin - again.begins : max(begin, end) - again.begins]
            parts.insert(1, _Part(begin, sorted(middle, key=_start)))
        return cls(packet_log.total, tuple(_without_gaps(part for part in parts if part.passages)))

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


EVENTS, LEAST = 1_200, 250
"""Packets of all algorithms of a scenario together, and of each one at least."""
LINKS = 200
"""A network with more links is summed by agent: the packets that each of them sent."""
DOWN = 200
"""Downtimes that are kept."""
DIGITS = 10
"""Significant digits of times."""


class Chronicle:
    """Links and timeline of one run with its packet log, before its audit or after it.

    The log of a long run keeps no packets of its middle, and only the audit knows which message breaks the claim.
    Where that is in the middle, `sought` names it, and a log of the same run made again, around that message, is
    given to `look`.
    """

    def __init__(self, run: Run, packet_log: PacketLog, algorithms: int = 1) -> None:
        self.run, self.packet_log = run, packet_log
        self.most = max(LEAST, EVENTS // algorithms)
        self._captures = _Captures(run)
        self._known = Known.of(packet_log)

    def sought(self, entry: AlgorithmResult) -> PacketKey | None:
        """The message that breaks the claim, where this run may have sent it and its log does not keep it."""
        broken = self._break(entry)
        if broken is None or self._known.all_there or self._known.place(message := _message(broken)) is not None:
            return None
        return message

    def look(self, again: PacketLog) -> None:
        """Take over the middle of the log of the same run, made again."""
        self._known = Known.of(self.packet_log, again)

    def timeline(self, entry: AlgorithmResult) -> Timeline:
        """The packets to be played, and the message by which an algorithm's audit found its claim broken."""
        broken = self._break(entry)
        windows = self._known.windows(None if broken is None else _message(broken), self.most)
        chosen = [passage for window in windows for passage in window.passages]
        ended = self.packet_log.ended
        return Timeline(
            packets=self.packet_log.total,
            ended=_time(ended),
            windows=tuple(
                results.Window(why=window.why, packets=len(window.passages), left_out_before=window.left_out)
                for window in windows
            ),
            sent=tuple(_time(p.start) for p in chosen),
            arrived=tuple(None if p.end is None or p.end > ended else _time(p.end) for p in chosen),
            sender=tuple(p.sender for p in chosen),
            receiver=tuple(p.receiver for p in chosen),
            kind=tuple(p.kind for p in chosen),
            number=tuple(p.number for p in chosen),
            attempt=tuple(p.attempt for p in chosen),
            copy=tuple(index for index, p in enumerate(chosen) if p.copy),
            bytes=tuple(p.size for p in chosen),
            activation=tuple(p.activation for p in chosen),
            fate=tuple(_fate(p, ended) for p in chosen),
            captured=tuple(self._captures.of(p, ended) for p in chosen),
            down=tuple(self._down()),
            break_=broken,
            budget=self._budget(entry),
        )

    def links(self) -> LinkLoads:
        """Traffic by link, both ways together; by sender where there are many links."""
        by_link = len(self.run.simulation.topology.edges) <= LINKS
        groups: dict[tuple[int, ...], list[LinkCount]] = defaultdict(list)
        for (i, j), count in sorted(self.packet_log.links.items()):
            groups[(min(i, j), max(i, j)) if by_link else (i,)].append(count)
        loads = groups.values()

        def total(name: str) -> Counts:
            return tuple(sum(getattr(count, name) for count in counts) for counts in loads)

        return LinkLoads(
            by="link" if by_link else "sender",
            between=tuple((key[0], key[1]) for key in groups) if by_link else None,
            sender=None if by_link else tuple(key[0] for key in groups),
            packets=total("packets"),
            bytes=total("bytes"),
            lost=tuple(lost + dropped for lost, dropped in zip(total("lost"), total("dropped"), strict=True)),
            repeated=total("repeated"),
            acknowledgements=total("acknowledgements"),
            delay=tuple(map(_mean_delay, loads)),
        )

    def _down(self) -> list[Downtime]:
        """Downtimes of agents, in order, up to the end of the run."""
        simulation, found = self.run.simulation, list[Downtime]()
        for agent, law in sorted(simulation.timing.downtimes.items()):
            flips = downs(agent, law.outages, Streams(simulation.seed))
            times = list(
                takewhile(lambda t: t < self.packet_log.ended, (t for _, t in zip(range(DOWN), flips, strict=False)))
            )
            for k in range(0, len(times), 2):
                until = _time(times[k + 1]) if k + 1 < len(times) else None
                found.append(Downtime(agent=agent, start=_time(times[k]), until=until))
        return sorted(found, key=lambda one: one.start)[:DOWN]

    # ── the claim ───────────────────────────────────────────────────────────────────────────────────
    def _break(self, entry: AlgorithmResult) -> ClaimBreak | None:
        """The first message that breaks the claim: one that no noise protects, or that of the release by which the
        exact loss is proven to be above it. Of the audited agent; as it went on the air in this run, if it did."""
        audit = entry.audit
        if not isinstance(audit, AuditResult) or (activation := audit.first_violation) is None:
            return None
        agent, release, epsilon = audit.loss_breakdown.agent, None, math.inf
        if audit.unprotected is None:
            release, epsilon = _excess(audit)
            carrier = _carrier(audit, release)
        else:
            carrier = _unprotected(audit, activation)
        if carrier is None and (first := self.packet_log.begun.get((agent, activation))) is not None:
            carrier = _Carrier(first.kind, first.number)
        if carrier is None:
            return None
        wanted = agent, carrier.kind, carrier.number
        sent = [p for p in self._known.every if (p.sender, p.kind, p.number) == wanted]
        return ClaimBreak(
            agent=agent,
            activation=activation,
            claimed=audit.claim.epsilon,
            release=release,
            field=carrier.field,
            epsilon=epsilon,
            why="loss" if audit.unprotected is None else "unprotected",
            kind=carrier.kind,
            number=carrier.number,
            to=tuple(sorted({p.receiver for p in sent})) or carrier.to,
            time=_time(sent[0].start) if sent else None,
        )

    def _budget(self, entry: AlgorithmResult) -> BudgetInTime | None:
        """The exact ε of all that the audited agent had released, from the first message of each activation on."""
        audit, curves = entry.audit, entry.over_time
        if not isinstance(audit, AuditResult) or curves is None:
            return None
        agent, begun = audit.loss_breakdown.agent, self.packet_log.begun
        rows = [
            (_time(begun[agent, k].start), k, level)
            for k, level in zip(curves.exact.count, curves.exact.estimate, strict=True)
            if (agent, k) in begun
        ]
        return BudgetInTime(
            agent=agent,
            claimed=audit.claim.epsilon,
            time=tuple(time for time, _, _ in rows),
            activation=tuple(k for _, k, _ in rows),
            epsilon=tuple(level for _, _, level in rows),
        )


class _Captures:
    """Which packets an adversary's taps and insiders recorded."""

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

    def of(self, passage: PacketFate, ended: float) -> Captured:
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


def _mean_delay(counts: Sequence[LinkCount]) -> float | None:
    arrived = sum(count.arrived for count in counts)
    return _time(sum(count.seconds for count in counts) / arrived) if arrived else None


def _fate(passage: PacketFate, ended: float) -> Fate:
    if passage.dropped:
        return "dropped"
    if passage.end is None:
        return "lost"
    return "arrived" if passage.end <= ended else "on the way"


def _message(broken: ClaimBreak) -> PacketKey:
    return broken.agent, cast("Kind", broken.kind), broken.number


class _Carrier(NamedTuple):
    """A message that carries a release or a field."""

    kind: str
    number: int
    field: str | None = None
    to: tuple[int, ...] = ()


def _unprotected(audit: AuditResult, activation: int) -> _Carrier | None:
    """The first message of an activation that no noise protects."""
    fields = [f for f in audit.unprotected_fields if not f.granted and f.activation == activation]
    first = min(fields, key=lambda f: f.message, default=None)
    if first is None:
        return None
    return _Carrier(first.kind, first.number, first.name or None, tuple(link[1] for link in first.links))


def _excess(audit: AuditResult) -> tuple[int | None, float]:
    """The first release by which the exact ε is proven to be above the claim, from 0, and its estimate."""
    claimed = audit.claim.epsilon or 0.0
    over = ((level.release, level.estimate) for level in audit.growth if exceeds(level.lower, claimed))
    return next(over, (None, math.nan))


def _carrier(audit: AuditResult, release: int | None) -> _Carrier | None:
    """The message that carries a release, where that is known."""
    for row in audit.loss_breakdown.releases:
        if row.release == release and row.where is not None and row.where.carriers:
            first = row.where.carriers[0]
            return _Carrier(first.kind, first.number, first.name, tuple(first.receivers))
    return None


def _time(seconds: float) -> float:
    """To `DIGITS` digits; finite."""
    return float(f"{seconds:.{DIGITS}g}")
