"""Timeline of a run: what links carried, and the packets chosen for playback."""

import math
from collections import defaultdict
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple, cast

from attacks.audit.verdict import exceeds
from netsim.adversary import Adversary
from netsim.network.network import downs
from netsim.randomness import Streams
from netsim.settings import Recording
from netsim.simulation import Run, Simulation
from netsim.transcript.message import Kind
from netsim.transcript.packet_log import LinkCount, PacketFate, PacketKey, PacketLog
from netsim.transcript.record import EVERYBODY
from scenarios.build.progress import Progress, simulated
from scenarios.results.audit import AuditResult
from scenarios.results.base import Counts
from scenarios.results.run import BudgetInTime, Captured, ClaimBreak, Downtime, Fate, LinkLoads, Timeline, Window
from scenarios.results.tree import AlgorithmResult

EVENTS, LEAST = 1_200, 250
"""Packets of all algorithms of a scenario together, and of each one at least."""
LINKS = 200
"""A network with more links is summed by agent: the packets that each of them sent."""
DOWN = 200
"""Downtimes that are kept."""
BEFORE_BREAK = 0.3
"""Of the packets around the break, the share before it."""
DIGITS = 10
"""Significant digits of times."""


class _Window(NamedTuple):
    """Packets without a gap, in order of time; how many of the run were before them, and why these."""

    begin: int
    packets: list[PacketFate]
    why: str = ""

    @property
    def end(self) -> int:
        return self.begin + len(self.packets)


class _Known:
    """What packet logs kept of a run of `total` packets: all, or its beginning, its end, and what was looked for."""

    def __init__(self, log: PacketLog, again: PacketLog | None = None) -> None:
        """`again`: the packet log of the same run once more, which was to look for a message."""
        first, last = len(log.head), log.total - len(log.tail)
        kept = [(0, log.head), (last, log.tail)]
        if again is not None:
            begin, end = max(again.begins, first), min(again.begins + len(again.middle), last)
            kept.insert(1, (begin, again.middle[begin - again.begins : max(begin, end) - again.begins]))
        self.total = log.total
        self.parts: list[_Window] = []  # that do not touch
        for begin, packets in kept:
            own = sorted(packets, key=lambda packet: packet.start)
            if own and self.parts and self.parts[-1].end == begin:
                before = self.parts.pop()
                begin, own = before.begin, before.packets + own
            if own:
                self.parts.append(_Window(begin, own))
        self.every = [packet for part in self.parts for packet in part.packets]

    def place(self, message: PacketKey) -> int | None:
        """How many packets were before the first attempt to carry a message; None where it is not known."""
        for part in self.parts:
            for k, one in enumerate(part.packets):
                if one.attempt == 0 and (one.sender, one.kind, one.number) == message:
                    return part.begin + k
        return None

    def windows(self, message: PacketKey | None, most: int) -> list[_Window]:
        """At most so many packets, those around a message among them if it is known."""
        if self.total <= most:
            return [_Window(0, self.every, "everything")]
        wanted = [("the beginning", 0, int(0.75 * most)), ("the end", self.total - most // 4, most // 4)]
        place = None if message is None else self.place(message)
        if place is not None and place > most // 2:
            around = int(0.4 * most)
            begin = place - int(BEFORE_BREAK * around)
            last = ("the end", self.total - most // 5, most // 5)
            wanted = [("the beginning", 0, around), ("around the break", begin, around), last]
        spans: list[tuple[str, int, int]] = []
        for why, begin, size in wanted:
            end = begin + size
            # As much of it as is in one part: in that of the message, if it is among them.
            holding = [part for part in self.parts if place is not None and part.begin <= place < part.end]
            near = holding if place is not None and begin <= place < end else self.parts
            part = max(near, key=lambda part: min(end, part.end) - max(begin, part.begin))
            begin, end = max(begin, part.begin), min(end, part.end)
            if spans and begin <= spans[-1][2]:  # they touch, and are one
                former, begin, before = spans.pop()
                why, end = former if why in former else f"{former}, {why}", max(before, end)
            spans.append((why, begin, end))
        return [
            _Window(begin, [p for at, own, _ in self.parts for p in own[max(0, begin - at) : max(0, end - at)]], why)
            for why, begin, end in spans
        ]


def packets_around(message: PacketKey, simulation: Simulation, stage: str, progress: Progress) -> PacketLog:
    """The same packets once more, for those around a message that the first log does not keep."""
    log = PacketLog(0, 0, message)
    recording = Recording(measure=False, private="nothing")
    simulated(replace(simulation, recording=recording, adversaries=()), stage, progress, log)
    return log


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
        self._known = _Known(packet_log)

    def sought(self, entry: AlgorithmResult) -> PacketKey | None:
        """The message that breaks the claim, where this run may have sent it and its log does not keep it."""
        broken = self._break(entry)
        if broken is None or len(self._known.every) == self._known.total:
            return None
        return message if self._known.place(message := _message(broken)) is None else None

    def look(self, again: PacketLog) -> None:
        """Take over the middle of the log of the same run, made again."""
        self._known = _Known(self.packet_log, again)

    def timeline(self, entry: AlgorithmResult) -> Timeline:
        """The packets to be played, and the message by which an algorithm's audit found its claim broken."""
        broken = self._break(entry)
        windows = self._known.windows(None if broken is None else _message(broken), self.most)
        chosen = [packet for window in windows for packet in window.packets]
        before = [0, *(window.end for window in windows)]
        ended = self.packet_log.ended
        return Timeline(
            packets=self.packet_log.total,
            ended=_time(ended),
            windows=tuple(
                Window(why=window.why, packets=len(window.packets), left_out_before=window.begin - end)
                for window, end in zip(windows, before, strict=False)
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
            delay=tuple(
                _time(sum(count.seconds for count in counts) / arrived)
                if (arrived := sum(count.arrived for count in counts))
                else None
                for counts in loads
            ),
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
        carrier: _Carrier | None = None
        if audit.unprotected is not None:  # the first message of the activation that no noise protects
            fields = [f for f in audit.unprotected_fields if not f.granted and f.activation == activation]
            if fields:
                field = min(fields, key=lambda f: f.message)
                to = tuple(link[1] for link in field.links)
                carrier = _Carrier(field.kind, field.number, field.name or None, to)
        else:  # that of the first release by which the exact ε is proven to be above the claim
            claimed = audit.claim.epsilon or 0.0
            over = ((level.release, level.estimate) for level in audit.growth if exceeds(level.lower, claimed))
            release, epsilon = next(over, (None, math.nan))
            for row in audit.loss_breakdown.releases:
                if row.release == release and row.where is not None and row.where.carriers:
                    sent_in = row.where.carriers[0]
                    to = tuple(sent_in.receivers)
                    carrier = _Carrier(sent_in.kind, sent_in.number, sent_in.name, to)
                    break
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
        # What tells each row that a link tap recorded from others, where taps miss some.
        self._caught: set[tuple[object, ...]] | None = None
        if adversary.capture_loss:
            self._caught = {
                (r.sender, r.receiver, "sealed", r.size, r.time)
                if r.kind == "sealed"
                else (r.sender, r.receiver, r.kind, r.number, r.sequence, r.attempt)
                for r in run.views[0].transcript
                if r.event == "air"
            }

    def of(self, passage: PacketFate, ended: float) -> Captured:
        """ "yes"; "sealed": its size and time; "missed": a tap sat there; "no"."""
        edge = passage.sender, passage.receiver
        arrived = passage.end is not None and passage.end <= ended
        at_door = passage.sender in self._doors or (passage.receiver in self._doors and arrived)
        if at_door and passage.kind != "ack":
            return "yes"
        if passage.dropped or not (edge in self._on_links or passage.sender in self._transmitters):
            return "no"
        laws, usual = self._sealed
        sealed = laws.get(edge, usual)
        if self._caught is not None and not self._keys(passage, sealed) & self._caught:
            return "missed"
        return "sealed" if sealed else "yes"

    def _keys(self, p: PacketFate, sealed: bool) -> set[tuple[object, ...]]:
        """What a row of the transcript that is this packet would say."""
        to = EVERYBODY if self._radio else p.receiver
        if sealed:
            return {(p.sender, r, "sealed", p.size, p.start) for r in {p.receiver, to}}
        return {(p.sender, r, p.kind, p.number, p.sequence, p.attempt) for r in {p.receiver, to}}


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


def _time(seconds: float) -> float:
    """To `DIGITS` digits; finite."""
    return float(f"{seconds:.{DIGITS}g}")
