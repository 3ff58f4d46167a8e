"""The timeline for the page's script: packets by knots of time, and where each knot is while it plays."""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from scenarios.report.formats import items, number, part, show

Result = Mapping[str, Any]
Knot = tuple[float, int]
"""Virtual seconds, and which beat of that moment: what takes no time still comes one after the other."""
KINDS = ("exchange", "direct", "ack")
HEARD, SEALED, MISSED, REPEAT, LOST, AWAY, DROPPED, COPY, BREAK = (1 << k for k in range(9))
"""Marks of a packet: the tap heard it, its size and time only, or missed it; it is a repetition; it was lost on its
way, is on its way when the run ends, or found no room; a link delivered it twice; it breaks the claim."""
MARKS = {
    "yes": HEARD, "sealed": SEALED, "missed": MISSED, "no": 0,
    "arrived": 0, "lost": LOST, "on the way": AWAY, "dropped": DROPPED,
}  # fmt: skip
SHORTEST, LONGEST, APART = 0.05, 3.0, 1.5
"""Of a step between two knots, in flights of a packet as they usually are; and between two windows."""
FIRST, AROUND = 6, 4
"""Packets of the table: so many of the beginning, and before and after the one that breaks the claim."""
FATES = {"lost": "lost", "on the way": "on its way when the run ended", "dropped": "dropped: the buffer was full"}
EARS = {"yes": "heard", "sealed": "size and time", "missed": "missed", "no": "–"}


def encoded(entry: Result) -> dict[str, Any] | None:
    """Of one algorithm; None where it has no packets to play."""
    told = part(entry, "timeline")
    if not items(told, "sent"):
        return None
    times, places, start, end, bounds = _played(told)
    return {
        "name": str(entry.get("name")),
        "packets": told["packets"],
        "t": times,
        "p": places,
        "a": start,
        "b": end,
        "s": items(told, "sender"),
        "r": items(told, "receiver"),
        "k": [KINDS.index(kind) if kind in KINDS else 0 for kind in items(told, "kind")],
        "n": items(told, "number"),
        "y": items(told, "attempt"),
        "z": items(told, "bytes"),
        "v": items(told, "activation"),
        "f": _marks(told),
        "w": bounds,
        "d": [[one["agent"], one["from"], one["until"]] for one in items(told, "down")],
        "break": _broken(told),
        "budget": _budget(told),
    }


def rows(entry: Result) -> list[list[Any]]:
    """The table of the first packets and of those around the break; an empty row where some are left out."""
    told = part(entry, "timeline")
    count, marks = len(items(told, "sent")), _marks(told)
    hit = next((k for k, mark in enumerate(marks) if mark & BREAK), None)
    chosen = set(range(min(FIRST, count)))
    if hit is not None:
        chosen |= set(range(max(0, hit - AROUND), min(count, hit + AROUND + 1)))
    table: list[list[Any]] = []
    before = -1
    for k in sorted(chosen):
        if k > before + 1:
            table.append([])
        table.append(_row(told, k, bool(marks[k] & BREAK)))
        before = k
    return table


def broken_in_words(entry: Result) -> str | None:
    """Which message breaks the claim, when, and by how much; None where none is known."""
    told = part(part(entry, "timeline"), "break")
    if not told:
        return None
    to = ", ".join(map(str, told["to"]))
    when = "" if told["time"] is None else f" at {show(told['time'])} s"
    what = f"its {told['kind']} {told['number']}"
    if told["field"]:
        what = f"{told['field']!r} in {what}"
    release = "" if told["release"] is None else f", release {told['release'] + 1}"
    cause = "no noise covers it" if told["why"] == "uncovered" else f"ε is then {show(told['epsilon'])}"
    return (
        f"agent {told['agent']}, activation {told['activation']}{release}{when}: {what} to {to}; {cause}, against "
        f"{show(told['claimed'])} claimed"
    )


def windows_in_words(entry: Result) -> str:
    """Which packets are played, and how many are not."""
    told = part(entry, "timeline")
    windows, total = items(told, "windows"), int(number(told.get("packets")))
    shown = sum(int(w["packets"]) for w in windows)
    if shown == total:
        return f"All {total:,} packets of the run are here."
    parts = " and ".join(f"{int(w['packets']):,} ({w['why']})" for w in windows)
    return f"Of {total:,} packets {parts} are here; {total - shown:,} are left out."


# ── packets and knots ───────────────────────────────────────────────────────────────────────────────────
def _played(told: Result) -> tuple[list[float], list[float], list[int], list[int], list[list[Any]]]:
    """Times and places of all knots, the knots at which packets start and end (−1: never), and of each window its
    first and last packet, why it is there, and how many before it are left out."""
    sent, arrived = items(told, "sent"), items(told, "arrived")
    senders, receivers = items(told, "sender"), items(told, "receiver")
    times, places = list[float](), list[float]()
    start, end, bounds = list[int](), list[int](), list[list[Any]]()
    first = 0
    for window in items(told, "windows"):
        last = first + int(window["packets"])
        pairs = _knots(sent[first:last], arrived[first:last], senders[first:last], receivers[first:last])
        flights = [e[0] - s[0] for s, e in pairs if e is not None and e[0] > s[0]]
        known = sorted({knot for pair in pairs for knot in pair if knot is not None})
        index = {knot: len(times) + k for k, knot in enumerate(known)}
        origin = places[-1] + APART + 1 if places else 0.0
        times += [t for t, _ in known]
        places += [round(origin + p, 3) for p in _places(known, median(flights) if flights else 1.0)]
        start += [index[s] for s, _ in pairs]
        end += [-1 if e is None else index[e] for _, e in pairs]
        bounds.append([first, last - 1, window["why"], window["left_out_before"]])
        first = last
    return times, places, start, end, bounds


def _knots(
    sent: Sequence[float], arrived: Sequence[float | None], senders: Sequence[int], receivers: Sequence[int]
) -> list[tuple[Knot, Knot | None]]:
    """When each packet starts and ends. Beats of one moment count as Lamport's clocks do."""
    ready: dict[int, Knot] = {}
    pairs: list[tuple[Knot, Knot | None]] = []
    for s, e, sender, receiver in zip(sent, arrived, senders, receivers, strict=True):
        beat = ready[sender][1] if sender in ready and ready[sender][0] == s else 0
        if e is None or e > s:
            pairs.append(((s, beat), None if e is None else (e, 0)))
            continue
        there = (s, beat + 1)
        ready[receiver] = max(ready.get(receiver, there), there)
        pairs.append(((s, beat), there))
    return pairs


def _places(knots: Iterable[Knot], flight: float) -> list[float]:
    """Where knots are while they play: a usual flight is 1, a long wait is shortened."""
    places, at, before = list[float](), 0.0, None
    for knot in knots:
        if before is not None:
            gap = knot[0] - before[0]
            at += min(max(math.log2(1 + gap / flight), SHORTEST), LONGEST) if gap > 0 else 1.0
        places.append(at)
        before = knot
    return places


def _marks(told: Result) -> list[int]:
    broken = part(told, "break")
    wanted = (broken.get("agent"), broken.get("kind"), broken.get("number"))
    copies = set(items(told, "copy"))
    marks: list[int] = []
    columns = (items(told, name) for name in ("sender", "kind", "number", "attempt", "fate", "heard"))
    for k, (sender, kind, count, attempt, fate, heard) in enumerate(zip(*columns, strict=True)):
        mark = MARKS[fate] | MARKS[heard] | (REPEAT if attempt and kind != "ack" else 0)
        mark |= COPY if k in copies else 0
        marks.append(mark | (BREAK if broken and (sender, kind, count) == wanted and not attempt else 0))
    return marks


def _broken(told: Result) -> dict[str, Any] | None:
    broken = part(told, "break")
    if not broken:
        return None
    words = {name: broken[name] for name in ("agent", "activation", "kind", "number", "why")}
    release = None if broken["release"] is None else broken["release"] + 1
    return words | {"release": release, "time": broken["time"]}


def _budget(told: Result) -> dict[str, Any] | None:
    """ε as text too: the script does not format numbers of this kind."""
    budget = part(told, "budget")
    if not items(budget, "time"):
        return None
    levels, claimed = [number(v) for v in items(budget, "epsilon")], number(budget.get("claimed"))
    return {
        "agent": budget["agent"],
        "t": items(budget, "time"),
        "v": items(budget, "activation"),
        "e": [show(v) for v in levels],
        "share": [_share(v, claimed) for v in levels],
        "claimed": None if math.isnan(claimed) else show(claimed),
    }


def _share(level: float, claimed: float) -> float | None:
    """Of the claim; −1 is infinitely much of it."""
    if math.isnan(claimed) or claimed <= 0 or math.isnan(level):
        return None
    return -1.0 if math.isinf(level) else round(level / claimed, 4)


def _row(told: Result, k: int, breaks: bool) -> list[Any]:
    def of(name: str) -> Any:
        return told[name][k]

    what = "acknowledgement" if of("kind") == "ack" else f"{of('kind')} {of('number')}"
    what += f", attempt {of('attempt') + 1}" if of("attempt") else ""
    fate = FATES.get(of("fate")) or show(of("arrived"))
    return [show(of("sent")), fate, f"{of('sender')} → {of('receiver')}", what, of("bytes"), EARS[of("heard")], breaks]
