"""Interactive network of the page: agents, links, taps, traffic, leakage, and the packets that its script plays."""

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from markupsafe import Markup

from scenarios.render.page.plan import FEW, Marks
from scenarios.render.sentences import Finding, stopped_early
from scenarios.results.attacks import ImageResult
from scenarios.results.audit import AuditResult
from scenarios.results.curves import step
from scenarios.results.numbers import MISSING, at_least, count, known, percent, show, show_epsilon
from scenarios.results.run import LinkLoads, Timeline
from scenarios.results.tree import AlgorithmResult, NetworkResult, Results

_WIDTH, _MARGIN = 480.0, 34.0  # of the drawing, in its own units
ROWS = 60
"""Of a table; of more the rest is in results.json."""
_MEASURES = {"bytes": "load in bytes", "loss": "loss", "delay": "mean delay", "repeated": "repetitions"}
_SKILLS = {
    "error": "error of its inferred gradients",
    "share": "share of its gradients estimated",
    "skill": "its image",
}
_KNOWN = -6.0
"""The ring is full where a gradient is known to this power of ten."""
_Point = tuple[float, float]
_Ends = tuple[int, int]
_Knot = tuple[float, int]
"""Virtual seconds, and which beat of that moment: what takes no time still comes one after the other."""
_KINDS = ("exchange", "direct", "ack")
CAPTURED, SEALED, MISSED, REPEAT, LOST, AWAY, DROPPED, COPY, BREAK = (1 << k for k in range(9))
"""Marks of a packet: captured by the tap, by size and time only, or missed; a repetition; lost on its way, on its way
when the run ends, or dropped; delivered twice by a link; breaking the claim."""
_MARKS = {
    "yes": CAPTURED, "sealed": SEALED, "missed": MISSED, "no": 0,
    "arrived": 0, "lost": LOST, "on the way": AWAY, "dropped": DROPPED,
}  # fmt: skip
_UNTAPPED = "not recorded"
_DIGITS = 7
"""Significant digits of the page's times."""
_SHORTEST, _LONGEST, _APART = 0.05, 3.0, 1.5
"""Of a step between two knots, in flights of a packet as they usually are; and between two windows."""
_FIRST, _AROUND = 6, 4
"""Packets of the table: so many of the beginning, and before and after the one that breaks the claim."""
_COUNTED = "A packet is a message, repetition or acknowledgement to one receiver; a radio transmission is several."


def scene(results: Results, ordered: Sequence[Finding]) -> dict[str, object] | None:
    """The network with all that was carried over it, and its packets to play; None without a network."""
    net = results.network
    if net is None or not net.positions:
        return None
    entries = [one.entry for one in ordered]
    marks = Marks.of(net)
    links = [(min(link), max(link)) for link in sorted(marks.links, key=sorted)]
    found = _drawn(results, net, marks, links) | {
        "loads": [
            (a.name, a.links, rows, [_tap(a.links, marks, k) for k in rows])
            for a in entries
            if a.links is not None
            for rows in [_busiest(a.links)]
        ],
        "leaks": [(a.name, {row.agent: row for row in a.leakage.by_agent}) for a in entries if a.leakage],
        "measures": _MEASURES,
        "skills": {key: words for key, words in _SKILLS.items() if any(key in _rings(a, 0) for a in entries)},
    }
    played = [(a, a.timeline, one) for a in entries if a.timeline and (one := _encoded(a)) is not None]
    if not played:
        return found
    script = Path(__file__).with_name("timeline.js").read_text(encoding="utf-8")
    assert "</script" not in script.lower()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    agents, breaks = len(net.positions), [timeline.break_ for _, timeline, _ in played]
    algorithms = [
        one | {"links": _widths(a.links, links, agents), "agents": _rings(a, agents)} for a, _, one in played
    ]
    starts = [0 if one is None else 1 + (one.claimed is not None) for one in breaks]
    data = json.dumps(
        {"algorithms": algorithms, "start": starts.index(max(starts))},
        ensure_ascii=False, separators=(",", ":"), allow_nan=False,
    )  # fmt: skip
    for letter, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):  # no text of it can end the tag
        data = data.replace(letter, code)
    return found | {
        "plays": [_tabulated(a, timeline, one) for a, timeline, one in played],
        "captured": {one for _, timeline, _ in played for one in timeline.captured},
        "data": Markup(data),
        "script": {"text": Markup(script), "hash": f"sha256-{digest}"},  # as a Content-Security-Policy has it
    }


# ── the drawing ─────────────────────────────────────────────────────────────────────────────────────────
def _drawn(results: Results, net: NetworkResult, marks: Marks, links: Sequence[_Ends]) -> dict[str, object]:
    """Links and agents in the units of the drawing, y downwards."""
    everything = [*net.positions, *([net.disc.at] if net.disc else [])]
    low, high = (end(y for _, y in everything) for end in (min, max))
    left = min(x for x, _ in everything)
    scale = (_WIDTH - 2 * _MARGIN) / max(1.0, max(x for x, _ in everything) - left)

    def place(point: _Point) -> _Point:
        return round(_MARGIN + (point[0] - left) * scale, 1), round(_MARGIN + (high - point[1]) * scale, 1)

    places, small = list(map(place, net.positions)), len(net.positions) > FEW
    missed = float(results.scenario.adversary.capture_loss or 0.0)
    return {
        "width": _WIDTH,
        "height": round(2 * _MARGIN + (high - low) * scale, 1),
        "small": small,
        "radius": 8 if small else 14,
        "marks": marks,
        "links": [(a, b, frozenset((a, b)), *places[a], *places[b]) for a, b in links],
        "agents": places,
        "disc": None if net.disc is None else (*place(net.disc.at), round(net.disc.range * scale, 1)),
        "missed": percent(missed) if missed else None,
        "label": marks.sentence(len(places)),
        "key": marks.key,
        "caption": _caption(net, marks),
    }


def _caption(net: NetworkResult, marks: Marks) -> str:
    """The network and its adversary in numbers."""
    agents = len(net.positions)
    links, tapped = len(marks.links), len(marks.tapped)
    words = f"{net.name}, on radio" if marks.on_radio else net.name
    if marks.on_radio:
        share = percent(len(marks.transmitters) / max(1, agents))
        words += f": {count(agents)} agents, {len(marks.transmitters)} of them recorded ({share})"
        words += "; what is encrypted is recorded and cannot be read" if marks.sealed else ""
    else:
        share = percent(tapped / links) if links else MISSING
        words += f": {count(agents)} agents, {count(links)} links, {count(tapped)} tapped ({share})"
        words += f", {len(marks.at_ends)} more recorded at one of their ends" if marks.at_ends else ""
        words += f", {len(marks.intercepted)} with an active adversary" if marks.intercepted else ""
    if (spy := net.eavesdropper) is not None:
        words += f"; the eavesdropper (▼) is at ({', '.join(map(show, spy.at))}), its range is {show(spy.range)}"
    if marks.doors:
        words += f"; agents tapped at their doors: {', '.join(map(str, sorted(marks.doors)))}"
    if marks.insiders:
        words += f"; honest but curious agents (squares): {', '.join(map(str, sorted(marks.insiders)))}"
    return f"{words}. Spectral gap {show(net.spectral_gap)}."


# ── what the script shows ───────────────────────────────────────────────────────────────────────────────
def _widths(loads: LinkLoads | None, links: Sequence[_Ends], agents: int) -> dict[str, object]:
    """What each of the links carried, in their order; by sender where there are many links."""
    by_link = loads is not None and loads.by == "link"
    keys: Sequence[object] = () if loads is None else (loads.between if by_link else loads.sender) or ()
    row: dict[object, int] = {key: k for k, key in enumerate(keys)}
    wanted: Sequence[object] = links if by_link else range(agents)
    names = ("packets", "bytes", "lost", "repeated", "acknowledgements", "delay")
    columns = {name: [getattr(loads, name)[row[key]] if key in row else None for key in wanted] for name in names}
    return {"by": "link" if by_link else "sender", **columns}


def _rings(entry: AlgorithmResult, agents: int) -> dict[str, object]:
    """How well each agent is inferred: from 0 to 1 for its ring, None where nobody tried, and in words."""
    found: dict[str, list[tuple[float | None, str]]] = {}
    if entry.leakage and entry.leakage.by_agent:
        rows = {row.agent: row for row in entry.leakage.by_agent}
        found = {"error": [], "share": []}
        for row in map(rows.get, range(agents)):
            level, words = None, "no gradient of it could be inferred"
            if row is not None and row.error is not None and not math.isnan(row.error):
                level = 1.0 if row.error <= 0 else min(max(math.log10(row.error) / _KNOWN, 0.0), 1.0)
                level, words = round(level, 3), f"median error of its inferred gradients {show(row.error)}"
            found["error"].append((level, words))
            level, words = None, "it computed no gradient"
            if row is not None:
                level = round(row.identifiable, 3)
                words = f"{percent(row.identifiable)} of its gradients have an estimate"
            found["share"].append((level, words))
    if isinstance(entry.images, ImageResult):
        skills = {row.agent: row.skill for row in entry.images.agents if not math.isnan(row.skill)}
        found["skill"] = [
            (round(min(max(skills[i], 0.0), 1.0), 3), f"its image was rebuilt with skill {show(skills[i])}")
            if i in skills else (None, "no image of it was rebuilt")
            for i in range(agents)
        ]  # fmt: skip
    return dict(found)


def _busiest(loads: LinkLoads) -> list[int]:
    """Rows of the links, or senders, with most bytes, in their order."""
    return sorted(sorted(range(len(loads.bytes)), key=lambda k: -loads.bytes[k])[:ROWS])


def _tap(loads: LinkLoads, marks: Marks, row: int) -> str:
    """How a link, or a sender, is recorded."""
    if loads.sender is not None:
        return "recorded" if loads.sender[row] in {*marks.transmitters, *marks.doors} else _UNTAPPED
    link = frozenset((loads.between or ())[row])
    if link in marks.tapped:
        return "tapped, encrypted" if link in marks.sealed else "tapped"
    return "recorded at an end" if link in marks.at_ends else _UNTAPPED


# ── packets to play ─────────────────────────────────────────────────────────────────────────────────────
def _encoded(entry: AlgorithmResult) -> dict[str, object] | None:
    """One algorithm's packets as the script reads them; None where it has none to play."""
    timeline = entry.timeline
    if timeline is None or not timeline.sent:
        return None
    played, broken = _played(timeline), timeline.break_
    there, total = sum(w.packets for w in timeline.windows), timeline.packets
    before = f"{line} " if (line := stopped_early(entry)) else ""
    said = f"{before}All {count(total)} packets {'until then' if before else 'of the run'} are here. {_COUNTED}"
    if there < total:
        parts = " and ".join(f"{count(w.packets)} ({w.why})" for w in timeline.windows)
        said = f"{before}Of {count(total)} packets {parts} are here; {count(total - there)} are left out. {_COUNTED}"
    marked = broken and {
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
    return {
        "name": entry.name,
        "t": played.times,
        "p": played.places,
        "a": played.start,
        "b": played.end,
        "s": timeline.sender,
        "r": timeline.receiver,
        "k": [_KINDS.index(kind) if kind in _KINDS else 0 for kind in timeline.kind],
        "n": timeline.number,
        "y": timeline.attempt,
        "f": _marks(timeline),
        "w": played.bounds,
        "m": _dates(entry, timeline, played),
        "u": _walker(entry),
        "said": said,
        "d": [[one.agent, one.start, one.until] for one in timeline.down],
        "break": marked,
        "budget": _budget(timeline, played),
    }


def _tabulated(entry: AlgorithmResult, timeline: Timeline, played: Mapping[str, object]) -> dict[str, object]:
    """The same for the page's own text: the break in words, and a table of the first packets and those around it."""
    broken = timeline.break_
    return {
        "name": entry.name,
        "breaks": broken and _broken_in_words(broken, step(entry)),
        "how": broken and _how(broken),
        "stopped": stopped_early(entry),
        "dates": ("rounds" if played["u"] is None else "walk") if played["m"] else None,
        "timeline": timeline,
        "chosen": (chosen := _chosen(timeline)),
        "left": timeline.packets - len(chosen) - sum(left for _, _, left in chosen),
        "slug": entry.slug,
        "recorded": bool({"yes", "sealed"} & set(timeline.captured)),
    }


def _chosen(timeline: Timeline) -> list[tuple[int, bool, int]]:
    """Packets of the table: each with whether it breaks the claim, and how many of the run stand between the one
    before and it."""
    marks = _marks(timeline)
    place = [
        sum(one.left_out_before + one.packets for one in timeline.windows[:k]) + one.left_out_before + within
        for k, one in enumerate(timeline.windows)
        for within in range(one.packets)
    ]  # of each packet, in the run
    chosen = set(range(min(_FIRST, len(marks))))
    hit = next((k for k, mark in enumerate(marks) if mark & BREAK), None)
    if hit is not None:
        chosen |= set(range(max(0, hit - _AROUND), min(len(marks), hit + _AROUND + 1)))
    before, found = -1, list[tuple[int, bool, int]]()
    for k in sorted(chosen):
        found.append((k, bool(marks[k] & BREAK), place[k] - before - 1))
        before = place[k]
    return found


def _broken_in_words(broken: Timeline.ClaimBreak, step: str) -> str:
    """The message that breaks the claim, when, and by how much."""
    when = "" if broken.time is None else f" at {show(broken.time)} s"
    what = f"{broken.kind}{' message' * (broken.kind == 'direct')} {broken.number}"
    if broken.field:
        what = f"{broken.field!r} in its {what}"
    release = "" if broken.release is None else f", release {broken.release + 1}"
    cause = "no noise protects it, ε = ∞"
    if broken.why != "unprotected":
        cause = f"the exact ε so far is then {at_least(broken.epsilon)}"
    claimed = "" if broken.claimed is None else f", against {show_epsilon(broken.claimed)} claimed"
    where = f"gent {broken.agent}, {step} {broken.activation}{release}{when}"
    where = f"A{where}" if broken.claimed is None else f"{_how(broken).capitalize()}: a{where}"
    return f"{where}, sends {what} to {', '.join(map(str, broken.to))}; {cause}{claimed}"


def _how(broken: Timeline.ClaimBreak) -> str:
    """The effect of that message."""
    return "no noise protects it" if broken.claimed is None else "breaks the claim"


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


def _knots(timeline: Timeline, first: int, last: int) -> list[tuple[_Knot, _Knot | None]]:
    """When each packet starts and ends. Of one moment a packet comes a beat after those that its sender waited for:
    in an exchange the neighbors' messages of the one before, else all that it had; an acknowledgement after the
    newest message that it may be of, and nothing waits for it."""
    ready: dict[tuple[int, int | None], _Knot] = {}
    carried: dict[tuple[int, int], _Knot] = {}
    pairs: list[tuple[_Knot, _Knot | None]] = []
    columns = (timeline.sent, timeline.arrived, timeline.sender, timeline.receiver, timeline.kind, timeline.number)
    for s, e, sender, receiver, kind, number in list(zip(*columns, strict=True))[first:last]:
        key = number if kind == "exchange" else None
        awaited = ready.get((sender, None if key is None else key - 1), (s, 0))
        if kind == "ack":
            awaited = carried.get((receiver, sender), awaited)
        beat = awaited[1] if awaited[0] == s else 0
        there = (s, beat + 1) if e is not None and e <= s else None
        if there is None:
            pairs.append(((s, beat), None if e is None else (e, 0)))
            continue
        if kind != "ack":
            carried[sender, receiver] = there
            for end in {(receiver, key), (receiver, None)}:
                ready[end] = max(ready.get(end, there), there)
        pairs.append(((s, beat), there))
    return pairs


def _places(knots: Iterable[_Knot], flight: float) -> list[float]:
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


def _budget(timeline: Timeline, played: _Played) -> Mapping[str, object] | None:
    """Where each activation's ε begins to hold: at its first packet, or at its time where that is left out. ε is
    text: the script does not format numbers of this kind."""
    budget = timeline.budget
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
        "e": ["∞" if math.isinf(v) else at_least(v) for v in budget.epsilon],
        "share": [v and (-1.0 if math.isinf(v) else round(v, 4)) for v in shares],  # −1: infinitely much of the claim
        "claimed": None if budget.claimed is None else show_epsilon(budget.claimed),
    }
