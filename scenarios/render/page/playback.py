"""Playback of packets in the page: its script, its policy, and the positions at each knot of time."""

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from markupsafe import Markup

from scenarios.render.sentences import stopped_early
from scenarios.results.audit import AuditResult
from scenarios.results.numbers import count, known, show
from scenarios.results.run import Timeline
from scenarios.results.tree import AlgorithmResult

Knot = tuple[float, int]
"""Virtual seconds, and which beat of that moment: what takes no time still comes one after the other."""
KINDS = ("exchange", "direct", "ack")
CAPTURED, SEALED, MISSED, REPEAT, LOST, AWAY, DROPPED, COPY, BREAK = (1 << k for k in range(9))
"""Marks of a packet: captured by the tap, by size and time only, or missed; a repetition; lost on its way, on its way
when the run ends, or dropped; delivered twice by a link; breaking the claim."""
_MARKS = {
    "yes": CAPTURED, "sealed": SEALED, "missed": MISSED, "no": 0,
    "arrived": 0, "lost": LOST, "on the way": AWAY, "dropped": DROPPED,
}  # fmt: skip
_DIGITS = 7
"""Significant digits of the page's times."""
_SHORTEST, _LONGEST, _APART = 0.05, 3.0, 1.5
"""Of a step between two knots, in flights of a packet as they usually are; and between two windows."""
_FIRST, _AROUND = 6, 4
"""Packets of the table: so many of the beginning, and before and after the one that breaks the claim."""
_COUNTED = "A packet is a message, repetition or acknowledgement to one receiver; a radio transmission is several."
_FATES = {"lost": "lost", "on the way": "on its way when the run ended", "dropped": "dropped: the buffer was full"}
_TAP = {"yes": "captured", "sealed": "size and time", "missed": "missed", "no": "–"}


def script(name: str) -> dict[str, str]:
    """The text of a script that lies beside this file, which must not contain its own end tag, and its hash as a
    Content-Security-Policy has it."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    assert "</script" not in text.lower()
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest())
    return {"text": Markup(text), "hash": f"sha256-{digest.decode()}"}


def embedded(data: object) -> Markup:
    """Data as JSON inside a `<script type="application/json">`: no text of it can end the tag."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(letter, code)
    return Markup(text)


def encoded(entry: AlgorithmResult) -> dict[str, object] | None:
    """One algorithm's packets as the script reads them; None where it has none to play."""
    timeline = entry.timeline
    if timeline is None or not timeline.sent:
        return None
    played = _played(timeline)
    return {
        "name": entry.name,
        "t": played.times,
        "p": played.places,
        "a": played.start,
        "b": played.end,
        "s": timeline.sender,
        "r": timeline.receiver,
        "k": [KINDS.index(kind) if kind in KINDS else 0 for kind in timeline.kind],
        "n": timeline.number,
        "y": timeline.attempt,
        "f": _marks(timeline),
        "w": played.bounds,
        "m": _dates(entry, timeline, played),
        "u": _walker(entry),
        "said": _windows_in_words(entry, timeline),
        "d": [[one.agent, one.start, one.until] for one in timeline.down],
        "break": _broken(timeline.break_),
        "budget": _budget(timeline, timeline.budget, played),
    }


def tabulated(entry: AlgorithmResult, timeline: Timeline, played: Mapping[str, object]) -> dict[str, object]:
    """The same for the page's own text: the break in words, and a table of the first packets and those around it."""
    broken = timeline.break_
    return {
        "name": entry.name,
        "breaks": broken and _broken_in_words(broken),
        "how": broken and _how(broken),
        "stopped": stopped_early(entry),
        "dates": ("rounds" if played["u"] is None else "walk") if played["m"] else None,
        "rows": _rows(timeline),
    }


def _rows(timeline: Timeline) -> list[dict[str, object] | None]:
    """Packets of the table; None where some are left out between."""
    marks = _marks(timeline)
    chosen = set(range(min(_FIRST, len(marks))))
    hit = next((k for k, mark in enumerate(marks) if mark & BREAK), None)
    if hit is not None:
        chosen |= set(range(max(0, hit - _AROUND), min(len(marks), hit + _AROUND + 1)))
    table: list[dict[str, object] | None] = []
    for k in sorted(chosen):
        table += [None] if k and k - 1 not in chosen else []
        kind, attempt = timeline.kind[k], timeline.attempt[k]
        what = "acknowledgement" if kind == "ack" else f"{kind} {timeline.number[k]}"
        table.append(
            {
                "sent": show(timeline.sent[k]),
                "there": _FATES.get(timeline.fate[k]) or show(timeline.arrived[k]),
                "ends": f"{timeline.sender[k]} → {timeline.receiver[k]}",
                "what": what + (f", attempt {attempt + 1}" if attempt else ""),
                "bytes": timeline.bytes[k],
                "tap": _TAP[timeline.captured[k]],
                "breaks": bool(marks[k] & BREAK),
            }
        )
    return table


def _broken_in_words(broken: Timeline.ClaimBreak) -> str:
    """The message that breaks the claim, when, and by how much."""
    when = "" if broken.time is None else f" at {show(broken.time)} s"
    what = f"{broken.kind} {broken.number}"
    if broken.field:
        what = f"{broken.field!r} in its {what}"
    release = "" if broken.release is None else f", release {broken.release + 1}"
    cause = "no noise protects it, ε = ∞" if broken.why == "unprotected" else f"ε is then {show(broken.epsilon)}"
    claimed = "" if broken.claimed is None else f", against {show(broken.claimed)} claimed"
    where = f"agent {broken.agent}, activation {broken.activation}{release}{when}"
    return f"{_how(broken).capitalize()}: {where}, sends {what} to {', '.join(map(str, broken.to))}; {cause}{claimed}"


def _how(broken: Timeline.ClaimBreak) -> str:
    """The effect of that message."""
    return "no noise protects it" if broken.claimed is None else "breaks the claim"


def _windows_in_words(entry: AlgorithmResult, timeline: Timeline) -> str:
    """Which packets are played, and how many are not."""
    shown, total = sum(w.packets for w in timeline.windows), timeline.packets
    before = f"{line} " if (line := stopped_early(entry)) else ""
    if shown == total:
        return f"{before}All {count(total)} packets {'until then' if before else 'of the run'} are here. {_COUNTED}"
    parts = " and ".join(f"{count(w.packets)} ({w.why})" for w in timeline.windows)
    return f"{before}Of {count(total)} packets {parts} are here; {count(total - shown)} are left out. {_COUNTED}"


# ── packets and knots ───────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class _Played:
    """Times and places of all knots, the knots at which packets start and end (−1: never), and of each window its
    first and last packet, why it is there, and how many before it are left out."""

    times: list[float]
    places: list[float]
    start: list[int]
    end: list[int]
    bounds: list[list[object]]


def _played(timeline: Timeline) -> _Played:
    found = _Played([], [], [], [], [])
    first = 0
    for window in timeline.windows:
        last = first + window.packets
        pairs = _knots(timeline, first, last)
        flights = [e[0] - s[0] for s, e in pairs if e is not None and e[0] > s[0]]
        knots = sorted({knot for pair in pairs for knot in pair if knot is not None})
        index = {knot: len(found.times) + k for k, knot in enumerate(knots)}
        origin = found.places[-1] + _APART + 1 if found.places else 0.0
        found.times.extend(float(f"{t:.{_DIGITS}g}") for t, _ in knots)
        found.places.extend(round(origin + p, 2) for p in _places(knots, median(flights) if flights else 1.0))
        found.start.extend(index[s] for s, _ in pairs)
        found.end.extend(-1 if e is None else index[e] for _, e in pairs)
        found.bounds.append([first, last - 1, window.why, window.left_out_before])
        first = last
    return found


def _knots(timeline: Timeline, first: int, last: int) -> list[tuple[Knot, Knot | None]]:
    """When each packet starts and ends. Of one moment a packet comes a beat after those that its sender waited for:
    in an exchange the neighbors' messages of the one before, else all that it had."""
    ready: dict[tuple[int, int | None], Knot] = {}
    pairs: list[tuple[Knot, Knot | None]] = []
    columns = (timeline.sent, timeline.arrived, timeline.sender, timeline.receiver, timeline.kind, timeline.number)
    for s, e, sender, receiver, kind, number in list(zip(*columns, strict=True))[first:last]:
        key = number if kind == "exchange" else None
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
            at += min(max(math.log2(1 + gap / flight), _SHORTEST), _LONGEST) if gap > 0 else 1.0
        places.append(at)
        before = knot
    return places


def _marks(timeline: Timeline) -> list[int]:
    broken, copies = timeline.break_, set(timeline.copy)
    wanted = broken and (broken.agent, broken.kind, broken.number)
    marks: list[int] = []
    columns = (
        timeline.sender, timeline.kind, timeline.number, timeline.attempt, timeline.fate, timeline.captured
    )  # fmt: skip
    for k, (sender, kind, number, attempt, fate, captured) in enumerate(zip(*columns, strict=True)):
        mark = _MARKS[fate] | _MARKS[captured] | (REPEAT if attempt and kind != "ack" else 0)
        mark |= COPY if k in copies else 0
        marks.append(mark | (BREAK if (sender, kind, number) == wanted and not attempt else 0))
    return marks


# ── rounds and activations ──────────────────────────────────────────────────────────────────────────────
def _walker(entry: AlgorithmResult) -> int | None:
    """The audited agent, whose activations are counted; None in rounds, and without an audit."""
    rounds = entry.convergence is not None and entry.convergence.unit == "rounds"
    return entry.audit.loss_breakdown.agent if isinstance(entry.audit, AuditResult) and not rounds else None


def _dates(entry: AlgorithmResult, timeline: Timeline, played: _Played) -> list[list[float]]:
    """Where on the axis a round begins: with the first message that anybody sends in it; of a walk the activations of
    the audited agent. Its place, its number, and 1; or 0 where a window begins in the middle of it."""
    agent, rounds = _walker(entry), entry.convergence is not None and entry.convergence.unit == "rounds"
    if not rounds and agent is None:
        return []
    found, first, newest = list[list[float]](), 0, 0
    for window in timeline.windows:
        last, whole = first + window.packets, not window.left_out_before
        for k in range(first, last):
            date = timeline.activation[k]
            if timeline.kind[k] == "ack" or timeline.attempt[k] or date is None or date <= newest:
                continue
            if rounds or timeline.sender[k] == agent:
                found.append([played.places[played.start[k]], date, int(whole)])
                newest, whole = date, True
        first = last
    return found


def _broken(broken: Timeline.ClaimBreak | None) -> dict[str, object] | None:
    if broken is None:
        return None
    return {
        "agent": broken.agent,
        "activation": broken.activation,
        "kind": broken.kind,
        "number": broken.number,
        "why": broken.why,
        "release": None if broken.release is None else broken.release + 1,
        "time": broken.time,
        "says": _how(broken),
        "claimed": broken.claimed is not None,
    }


def _budget(timeline: Timeline, budget: Timeline.BudgetInTime | None, played: _Played) -> Mapping[str, object] | None:
    """Where each activation's ε begins to hold: at its first packet, or at its time where that is left out. ε is
    text: the script does not format numbers of this kind."""
    if budget is None or not budget.time:
        return None
    first: dict[int | None, float] = {}
    columns = zip(timeline.sender, timeline.activation, timeline.attempt, played.start, strict=True)
    for sender, activation, attempt, knot in columns:
        if sender == budget.agent and not attempt:
            first.setdefault(activation, played.places[knot])
    knots, claimed = list(zip(played.places, played.times, strict=True)), known(budget.claimed)
    shares = [v / claimed if claimed > 0 and not math.isnan(v) else None for v in budget.epsilon]
    at = [
        first[k] if k in first else next((p for p, when in knots if when >= t), None)
        for k, t in zip(budget.activation, budget.time, strict=True)
    ]
    return {
        "agent": budget.agent,
        "p": at,
        "v": budget.activation,
        "e": [show(v) for v in budget.epsilon],
        "share": [v and (-1.0 if math.isinf(v) else round(v, 4)) for v in shares],  # −1: infinitely much of the claim
        "claimed": None if budget.claimed is None else show(budget.claimed),
    }
