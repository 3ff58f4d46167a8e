"""Timeline of a run: what links carried, and the packets chosen for playback."""

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import islice, takewhile
from typing import NamedTuple, cast

from attacks.audit.verdict import exceeds
from netsim.adversary import Adversary
from netsim.network.network import downs
from netsim.randomness import Streams
from netsim.settings import Recording
from netsim.simulation import Run, Simulation
from netsim.transcript.message import EVERYBODY, Kind
from netsim.transcript.packet_log import LinkCount, PacketFate, PacketKey, PacketLog
from scenarios.build.duration import Progress, simulated
from scenarios.results.audit import AuditResult
from scenarios.results.base import Counts
from scenarios.results.run import Captured, LinkLoads, Timeline
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
_AS_LOGGED = ("sender", "receiver", "kind", "number", "attempt", "activation")
"""Columns of the timeline that are those of the packet log."""


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


class Chronicle:
    """Links and timeline of one run with its packet log, before its audit or after it.

    The log of a long run keeps no packets of its middle, and only the audit knows which message breaks the claim.
    """

    def __init__(self, run: Run, packet_log: PacketLog, algorithms: int = 1) -> None:
        self.run, self.packet_log = run, packet_log
        self.most = max(LEAST, EVENTS // algorithms)
        self._captured = _captures(run, packet_log.ended)
        self._known = _Known(packet_log)

    def audited(self, entry: AlgorithmResult, simulation: Simulation, stage: str, progress: Progress) -> Timeline:
        """The timeline after the audit. Where the log does not keep the message that breaks the claim, the same
        packets are made once more for those around it."""
        broken, complete = self._break(entry), len(self._known.every) == self._known.total
        if broken is not None and not complete and self._known.place(message := _message(broken)) is None:
            again, recording = PacketLog(0, 0, message), Recording(measure=False, private="nothing")
            simulated(replace(simulation, recording=recording, adversaries=()), stage, progress, again)
            self._known = _Known(self.packet_log, again)
        return self.timeline(entry)

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
                Timeline.Window(why=window.why, packets=len(window.packets), left_out_before=window.begin - end)
                for window, end in zip(windows, before, strict=False)
            ),
            sent=tuple(_time(p.start) for p in chosen),
            arrived=tuple(None if p.end is None or p.end > ended else _time(p.end) for p in chosen),
            copy=tuple(index for index, p in enumerate(chosen) if p.copy),
            bytes=tuple(p.size for p in chosen),
            fate=tuple(
                "dropped" if p.dropped else "lost" if p.end is None else "arrived" if p.end <= ended else "on the way"
                for p in chosen
            ),
            captured=tuple(self._captured(p) for p in chosen),
            down=tuple(self._down()),
            break_=broken,
            budget=self._budget(entry),
            **{name: tuple(getattr(p, name) for p in chosen) for name in _AS_LOGGED},
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

    def _down(self) -> list[Timeline.Downtime]:
        """Downtimes of agents, in order, up to the end of the run."""
        simulation, found = self.run.simulation, list[Timeline.Downtime]()
        for agent, law in sorted(simulation.timing.downtimes.items()):
            flips = downs(agent, law.outages, Streams(simulation.seed))
            times = list(takewhile(lambda t: t < self.packet_log.ended, islice(flips, DOWN)))
            for k in range(0, len(times), 2):
                until = _time(times[k + 1]) if k + 1 < len(times) else None
                found.append(Timeline.Downtime(agent=agent, start=_time(times[k]), until=until))
        return sorted(found, key=lambda one: one.start)[:DOWN]

    # ── the claim ───────────────────────────────────────────────────────────────────────────────────
    def _break(self, entry: AlgorithmResult) -> Timeline.ClaimBreak | None:
        """The first message that breaks the claim: one that no noise protects, or that of the release by which the
        exact loss is proven to be above it. Of the audited agent; as it went on the air in this run, if it did."""
        audit = entry.audit
        if not isinstance(audit, AuditResult) or (activation := audit.first_violation) is None:
            return None
        agent, release, epsilon = audit.loss_breakdown.agent, None, math.inf
        carrier: tuple[str, int, str | None, Counts] | None = None  # kind, number, field, receivers
        if audit.unprotected is not None:  # the first message of the activation that no noise protects
            fields = [f for f in audit.unprotected_fields if not f.granted and f.activation == activation]
            if fields:
                field = min(fields, key=lambda f: f.message)
                carrier = field.kind, field.number, field.name or None, tuple(link[1] for link in field.links)
        else:  # that of the first release by which the exact ε is proven to be above the claim
            claimed = audit.claim.epsilon or 0.0
            release = next((level.release for level in audit.growth if exceeds(level.lower, claimed)), None)
            levels = (level.lower for level in audit.growth if level.activation == activation)
            epsilon = min(max(levels, default=math.nan), _most(audit))
            for row in audit.loss_breakdown.releases:
                if row.release == release and row.where is not None and row.where.carriers:
                    one = row.where.carriers[0]
                    carrier = one.kind, one.number, one.name, tuple(one.receivers)
                    break
        if carrier is None and (first := self.packet_log.begun.get((agent, activation))) is not None:
            carrier = first.kind, first.number, None, ()
        if carrier is None:
            return None
        kind, number, name, to = carrier
        sent = [p for p in self._known.every if (p.sender, p.kind, p.number) == (agent, kind, number)]
        return Timeline.ClaimBreak(
            agent=agent,
            activation=activation,
            claimed=audit.claim.epsilon,
            release=release,
            field=name,
            epsilon=epsilon,
            why="loss" if audit.unprotected is None else "unprotected",
            kind=kind,
            number=number,
            to=tuple(sorted({p.receiver for p in sent})) or to,
            time=_time(sent[0].start) if sent else None,
        )

    def _budget(self, entry: AlgorithmResult) -> Timeline.BudgetInTime | None:
        """The proven ε of all that the audited agent had released, from the first message of each activation on."""
        audit, curves = entry.audit, entry.over_time
        if not isinstance(audit, AuditResult) or curves is None:
            return None
        agent, begun = audit.loss_breakdown.agent, self.packet_log.begun
        rows = [
            (_time(begun[agent, k].start), k, min(level, _most(audit)))
            for k, level in zip(curves.exact.count, curves.exact.lower, strict=True)
            if (agent, k) in begun
        ]
        return Timeline.BudgetInTime(
            agent=agent,
            claimed=audit.claim.epsilon,
            time=tuple(time for time, _, _ in rows),
            activation=tuple(k for _, k, _ in rows),
            epsilon=tuple(level for _, _, level in rows),
        )


def _most(audit: AuditResult) -> float:
    """The proven ε of the whole run, above which none of a part of it is shown: each part's holds by itself alone. ∞
    where a part alone is proven to break the claim."""
    whole = audit.epsilon_exact.lower
    alone = audit.first_violation is not None and not exceeds(whole, audit.claim.epsilon or 0.0)
    return math.inf if alone else whole


def _captures(run: Run, ended: float) -> Callable[[PacketFate], Captured]:
    """Which packets an adversary's taps and insiders recorded: "yes"; "sealed": size and time; "missed": a tap sat
    there; "no"."""
    simulation, topology = run.simulation, run.simulation.topology
    adversary = simulation.adversaries[0] if simulation.adversaries else Adversary(links=())
    radio, doors = simulation.network.medium != "links", frozenset(adversary.doors)
    on_links: frozenset[tuple[int, int]] = frozenset() if radio else adversary.tapped(topology)
    transmitters: frozenset[int] = adversary.transmitters(topology) if radio else frozenset()
    laws, usual = simulation.network.link_laws, simulation.network.links
    # What distinguishes each row that a link tap recorded from others, where taps miss some.
    caught: set[tuple[object, ...]] | None = None
    if adversary.capture_loss:
        caught = {
            (r.sender, r.receiver, "sealed", r.size, r.time)
            if r.kind == "sealed"
            else (r.sender, r.receiver, r.kind, r.number, r.sequence, r.attempt)
            for r in run.views[0].transcript
            if r.event == "air"
        }

    def captured(p: PacketFate) -> Captured:
        arrived = p.end is not None and p.end <= ended
        if (p.sender in doors or (p.receiver in doors and arrived)) and p.kind != "ack":
            return "yes"
        edge = p.sender, p.receiver
        if p.dropped or not (edge in on_links or p.sender in transmitters):
            return "no"
        sealed = laws.get(edge, usual).encrypted
        said = ("sealed", p.size, p.start) if sealed else (p.kind, p.number, p.sequence, p.attempt)
        receivers = {p.receiver, EVERYBODY if radio else p.receiver}
        if caught is not None and caught.isdisjoint((p.sender, receiver, *said) for receiver in receivers):
            return "missed"
        return "sealed" if sealed else "yes"

    return captured


def _message(broken: Timeline.ClaimBreak) -> PacketKey:
    return broken.agent, cast("Kind", broken.kind), broken.number


def _time(seconds: float) -> float:
    """To `DIGITS` digits; finite."""
    return float(f"{seconds:.{DIGITS}g}")
