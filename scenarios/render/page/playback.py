"""Playback of packets in the page: its script, its policy, and the positions at each knot of time."""

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from markupsafe import Markup

from scenarios.render.former_sentences import stopped_early
from scenarios.results.numbers import items, number, part, show


class Script(NamedTuple):
    """The text between the tags, and its hash as a Content-Security-Policy has it."""

    text: Markup
    hash: str


def script(name: str) -> Script:
    """A script that lies beside this file. You get an `AssertionError` for one that would end its own tag."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    assert "</script" not in text.lower()
    digest = hashlib.sha256(text.encode()).digest()
    return Script(Markup(text), f"sha256-{base64.b64encode(digest).decode()}")


def embedded(data: Any) -> Markup:
    """Data as JSON inside a `<script type="application/json">`: no text of it can end the tag."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(letter, code)
    return Markup(text)


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
DIGITS = 7
"""Significant digits of the page's times."""
SHORTEST, LONGEST, APART = 0.05, 3.0, 1.5
"""Of a step between two knots, in flights of a packet as they usually are; and between two windows."""
FIRST, AROUND = 6, 4
"""Packets of the table: so many of the beginning, and before and after the one that breaks the claim."""
COUNTED = "A packet is a message, repetition or acknowledgement to one receiver; a radio transmission is several."
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
        "t": times,
        "p": places,
        "a": start,
        "b": end,
        "s": items(told, "sender"),
        "r": items(told, "receiver"),
        "k": [KINDS.index(kind) if kind in KINDS else 0 for kind in items(told, "kind")],
        "n": items(told, "number"),
        "y": items(told, "attempt"),
        "f": _marks(told),
        "w": bounds,
        "m": _dates(entry, places, start),
        "u": None if _in_rounds(entry) else _audited(entry),
        "said": windows_in_words(entry),
        "d": [[one["agent"], one["from"], one["until"]] for one in items(told, "down")],
        "break": _broken(told),
        "budget": _budget(told, times, places, start),
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
    what = f"{told['kind']} {told['number']}"
    if told["field"]:
        what = f"{told['field']!r} in its {what}"
    release = "" if told["release"] is None else f", release {told['release'] + 1}"
    cause = "no noise covers it, ε = ∞" if told["why"] == "uncovered" else f"ε is then {show(told['epsilon'])}"
    claimed = "" if told["claimed"] is None else f", against {show(told['claimed'])} claimed"
    where = f"agent {told['agent']}, activation {told['activation']}{release}{when}"
    return f"{_how(told).capitalize()}: {where}, sends {what} to {to}; {cause}{claimed}"


def _how(broken: Result) -> str:
    """What that message does."""
    return "no noise covers it" if broken["claimed"] is None else "breaks the claim"


def windows_in_words(entry: Result) -> str:
    """Which packets are played, and how many are not."""
    told = part(entry, "timeline")
    windows, total = items(told, "windows"), int(number(told.get("packets")))
    shown = sum(int(w["packets"]) for w in windows)
    before = f"{line} " if (line := stopped_early(entry)) else ""
    if shown == total:
        whose = "until then" if before else "of the run"
        return f"{before}All {total:,} packets {whose} are here. {COUNTED}"
    parts = " and ".join(f"{int(w['packets']):,} ({w['why']})" for w in windows)
    return f"{before}Of {total:,} packets {parts} are here; {total - shown:,} are left out. {COUNTED}"


# ── packets and knots ───────────────────────────────────────────────────────────────────────────────────
def _played(told: Result) -> tuple[list[float], list[float], list[int], list[int], list[list[Any]]]:
    """Times and places of all knots, the knots at which packets start and end (−1: never), and of each window its
    first and last packet, why it is there, and how many before it are left out."""
    times, places = list[float](), list[float]()
    start, end, bounds = list[int](), list[int](), list[list[Any]]()
    first = 0
    for window in items(told, "windows"):
        last = first + int(window["packets"])
        pairs = _knots(told, first, last)
        flights = [e[0] - s[0] for s, e in pairs if e is not None and e[0] > s[0]]
        known = sorted({knot for pair in pairs for knot in pair if knot is not None})
        index = {knot: len(times) + k for k, knot in enumerate(known)}
        origin = places[-1] + APART + 1 if places else 0.0
        times += [float(f"{t:.{DIGITS}g}") for t, _ in known]
        places += [round(origin + p, 2) for p in _places(known, median(flights) if flights else 1.0)]
        start += [index[s] for s, _ in pairs]
        end += [-1 if e is None else index[e] for _, e in pairs]
        bounds.append([first, last - 1, window["why"], window["left_out_before"]])
        first = last
    return times, places, start, end, bounds


def _knots(told: Result, first: int, last: int) -> list[tuple[Knot, Knot | None]]:
    """When each packet starts and ends. Of one moment a packet comes a beat after those that its sender waited for:
    in an exchange the neighbors' messages of the one before, else all that it had."""
    ready: dict[tuple[int, int | None], Knot] = {}
    pairs: list[tuple[Knot, Knot | None]] = []
    names = ("sent", "arrived", "sender", "receiver", "kind", "number")
    for s, e, sender, receiver, kind, count in zip(*(items(told, n)[first:last] for n in names), strict=True):
        key = count if kind == "exchange" else None
        awaited = ready.get((sender, None if key is None else key - 1), (s, 0))
        beat = awaited[1] if awaited[0] == s else 0
        if e is None or e > s:
            pairs.append(((s, beat), None if e is None else (e, 0)))
            continue
        there = (s, beat + 1)
        for end in {(receiver, key), (receiver, None)}:
            ready[end] = max(ready.get(end, there), there)
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


# ── rounds and activations ──────────────────────────────────────────────────────────────────────────────
def _in_rounds(entry: Result) -> bool:
    return part(entry, "convergence").get("unit") == "rounds"


def _audited(entry: Result) -> int | None:
    """Whose releases the audit looked at."""
    agent = part(part(entry, "audit"), "breakdown").get("agent")
    return None if agent is None else int(agent)


def _dates(entry: Result, places: Sequence[float], start: Sequence[int]) -> list[list[float]]:
    """Where on the axis a round begins: with the first message that anybody sends in it; of a walk the activations of
    the audited agent. Its place, its number, and 1; or 0 where a window begins in the middle of it."""
    told, agent = part(entry, "timeline"), _audited(entry)
    if not _in_rounds(entry) and agent is None:
        return []
    columns = [items(told, name) for name in ("sender", "kind", "attempt", "activation")]
    found, first, newest = list[list[float]](), 0, 0
    for window in items(told, "windows"):
        last, whole = first + int(window["packets"]), not window["left_out_before"]
        for k in range(first, last):
            sender, kind, attempt, date = (column[k] for column in columns)
            if kind == "ack" or attempt or date <= newest or (sender != agent and not _in_rounds(entry)):
                continue
            found.append([places[start[k]], date, int(whole)])
            newest, whole = date, True
        first = last
    return found


def _broken(told: Result) -> dict[str, Any] | None:
    broken = part(told, "break")
    if not broken:
        return None
    words = {name: broken[name] for name in ("agent", "activation", "kind", "number", "why")}
    release = None if broken["release"] is None else broken["release"] + 1
    return words | {
        "release": release,
        "time": broken["time"],
        "says": _how(broken),
        "claimed": broken["claimed"] is not None,
    }


def _budget(
    told: Result, times: Sequence[float], places: Sequence[float], start: Sequence[int]
) -> dict[str, Any] | None:
    """Where each activation's ε begins to hold: at its first packet, or at its time where that is left out. ε is
    text: the script does not format numbers of this kind."""
    budget = part(told, "budget")
    if not items(budget, "time"):
        return None
    levels, claimed = [number(v) for v in items(budget, "epsilon")], number(budget.get("claimed"))
    first: dict[int, float] = {}
    columns = zip(items(told, "sender"), items(told, "activation"), items(told, "attempt"), start, strict=True)
    for sender, activation, attempt, knot in columns:
        if sender == budget["agent"] and not attempt:
            first.setdefault(activation, places[knot])
    at = [
        first[k] if k in first else next((p for p, when in zip(places, times, strict=True) if when >= t), None)
        for k, t in zip(items(budget, "activation"), items(budget, "time"), strict=True)
    ]
    return {
        "agent": budget["agent"],
        "p": at,
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
    return [
        show(of("sent")),
        fate,
        f"{of('sender')} → {of('receiver')}",
        what,
        of("bytes"),
        EARS[of("heard")],
        breaks,
    ]
