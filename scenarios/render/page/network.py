"""Interactive network of the page: agents, links, taps, traffic of the links, and how well agents are inferred."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scenarios.render.page import playback
from scenarios.render.page.plan import FEW, Marks
from scenarios.render.sentences import Finding
from scenarios.results.attacks import ImageResult
from scenarios.results.numbers import MISSING, count, percent, show
from scenarios.results.run import LinkLoads
from scenarios.results.tree import AlgorithmResult, NetworkResult, Results

_WIDTH, _MARGIN = 480.0, 34.0  # of the drawing, in its own units
_ROWS = 60
"""Of a table; of more the rest is in results.json."""
_MEASURES = {"bytes": "load in bytes", "loss": "loss", "delay": "mean delay", "repeated": "repetitions"}
_SKILLS = {
    "error": "error of its inferred gradients",
    "share": "share of its gradients inferred",
    "skill": "its image",
}
_KNOWN = -6.0
"""The ring is full where a gradient is known to this power of ten."""
Point = tuple[float, float]
Ends = tuple[int, int]


@dataclass(frozen=True)
class _Table:
    """A table: head, rows whose first cell names them, and the number of rows left out."""

    name: str
    heads: Sequence[str]
    rows: Sequence[tuple[str, ...]]
    left_out: int
    by_link: bool = True


def scene(results: Results, ordered: Sequence[Finding]) -> dict[str, object] | None:
    """The network with all that was carried over it, and its packets to play; None without a network."""
    net = results.network
    if net is None or not net.positions:
        return None
    entries = [one.entry for one in ordered]
    marks = Marks.of(net)
    links = [(min(link), max(link)) for link in sorted(marks.links, key=sorted)]
    found = _drawn(results, net, marks, links) | {
        "tables": [_table(a.name, a.links, marks) for a in entries if a.links is not None],
        "people": _people(entries),
        "measures": _MEASURES,
        "skills": {key: words for key, words in _SKILLS.items() if any(key in _rings(a, 0) for a in entries)},
    }
    played = [(a, a.timeline, one) for a in entries if a.timeline and (one := playback.encoded(a)) is not None]
    if not played:
        return found
    agents, breaks = len(net.positions), [timeline.break_ for _, timeline, _ in played]
    algorithms = [
        one | {"links": _widths(a.links, links, agents), "agents": _rings(a, agents)} for a, _, one in played
    ]
    starts = [0 if one is None else 1 + (one.claimed is not None) for one in breaks]
    return found | {
        "plays": [playback.tabulated(a, timeline, one) for a, timeline, one in played],
        "captured": {one for _, timeline, _ in played for one in timeline.captured},
        "data": playback.embedded({"algorithms": algorithms, "start": starts.index(max(starts))}),
        "script": playback.script("timeline.js"),
    }


# ── the drawing ─────────────────────────────────────────────────────────────────────────────────────────
def _drawn(results: Results, net: NetworkResult, marks: Marks, links: Sequence[Ends]) -> dict[str, object]:
    """Links and agents in the units of the drawing, y downwards."""
    everything = [*net.positions, *([net.disc.at] if net.disc else [])]
    low, high = (end(y for _, y in everything) for end in (min, max))
    left = min(x for x, _ in everything)
    scale = (_WIDTH - 2 * _MARGIN) / max(1.0, max(x for x, _ in everything) - left)

    def place(point: Point) -> Point:
        return round(_MARGIN + (point[0] - left) * scale, 1), round(_MARGIN + (high - point[1]) * scale, 1)

    places, small = list(map(place, net.positions)), len(net.positions) > FEW
    missed = float(results.scenario.adversary.capture_loss or 0.0)
    return {
        "width": _WIDTH,
        "height": round(2 * _MARGIN + (high - low) * scale, 1),
        "small": small,
        "radius": 8 if small else 14,
        "links": [_link(marks, ends, places, missed) for ends in links],
        "agents": [_agent(marks, i, point) for i, point in enumerate(places)],
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


def _link(marks: Marks, ends: Ends, places: Sequence[Point], missed: float) -> dict[str, object]:
    (a, b), link = ends, frozenset(ends)
    (x0, y0), (x1, y1) = places[a], places[b]
    tapped, at_end = link in marks.tapped, link in marks.at_ends
    words = [f"Link {a}–{b}"]
    words += ["tapped" + (f", {percent(missed)} of packets missed" if missed else "")] * tapped
    words += ["recorded at one of its ends"] * at_end
    words += ["neighbors" if marks.on_radio else "not recorded"] * (not tapped and not at_end)
    words += ["encrypted"] * (link in marks.sealed) + ["active adversary in the middle"] * (link in marks.intercepted)
    return {
        "at": (x0, y0, x1, y1),
        "middle": (round((x0 + x1) / 2, 1), round((y0 + y1) / 2, 1)),
        "beside": (round(x0 + 0.32 * (x1 - x0), 1), round(y0 + 0.32 * (y1 - y0), 1)),  # of an active adversary
        "tap": ("sealed" if link in marks.sealed else "lossy" if missed else "open") if tapped else None,
        "recorded": tapped or at_end,
        "intercepted": link in marks.intercepted,
        "label": ", ".join(words),
    }


def _agent(marks: Marks, i: int, place: Point) -> dict[str, object]:
    words = [f"Agent {i}"]
    words += ["honest but curious"] * (i in marks.insiders) + ["tapped at its door"] * (i in marks.doors)
    words += ["its transmissions are recorded"] * (marks.on_radio and i in marks.transmitters)
    marked: dict[str, object] = {"insider": i in marks.insiders, "held": marks.held(i), "label": ", ".join(words)}
    return marked | {"id": i, "x": place[0], "y": place[1]}


# ── what the script shows ───────────────────────────────────────────────────────────────────────────────
def _widths(loads: LinkLoads | None, links: Sequence[Ends], agents: int) -> dict[str, object]:
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
                words = f"{percent(row.identifiable)} of its gradients could be inferred"
            found["share"].append((level, words))
    if isinstance(entry.images, ImageResult):
        skills = {row.agent: row.skill for row in entry.images.agents if not math.isnan(row.skill)}
        found["skill"] = [
            (round(min(max(skills[i], 0.0), 1.0), 3), f"its image was rebuilt with skill {show(skills[i])}")
            if i in skills else (None, "no image of it was rebuilt")
            for i in range(agents)
        ]  # fmt: skip
    return dict(found)


# ── in tables ───────────────────────────────────────────────────────────────────────────────────────────
def _table(name: str, loads: LinkLoads, marks: Marks) -> _Table:
    """Traffic of the links, those with most bytes where there are many."""
    by_link, rows = loads.by == "link", list[tuple[str, ...]]()
    order = sorted(range(len(loads.bytes)), key=lambda k: -loads.bytes[k])[:_ROWS]
    for k in sorted(order):
        if loads.between is not None:
            (a, b), link = loads.between[k], frozenset(loads.between[k])
            row, tap = f"{a}–{b}", "recorded at an end" if link in marks.at_ends else MISSING
            if link in marks.tapped:
                tap = "tapped, encrypted" if link in marks.sealed else "tapped"
        else:
            agent = (loads.sender or ())[k]
            row, tap = f"agent {agent}", "recorded" if agent in marks.transmitters | marks.doors else MISSING
        share = percent(loads.lost[k] / loads.packets[k]) if loads.packets[k] else MISSING
        wait = MISSING if loads.delay[k] is None else f"{show(loads.delay[k])} s"
        numbers = count(loads.packets[k]), count(loads.bytes[k]), share, count(loads.repeated[k]), wait
        rows.append((row, tap, *numbers))
    heads = ("Link" if by_link else "Sender", "Tap", "Packets", "Bytes", "Lost", "Repeated", "Mean delay")
    return _Table(name, heads, rows, len(loads.bytes) - len(order), by_link)


def _people(entries: Sequence[AlgorithmResult]) -> _Table | None:
    """How well each agent is inferred, a column an algorithm."""
    known: list[tuple[str, Mapping[int, str]]] = []
    for a in entries:
        if a.leakage and (rows := a.leakage.by_agent):
            known.append((a.name, {row.agent: f"{show(row.error)} ({percent(row.identifiable)})" for row in rows}))
    agents = sorted({agent for _, rows in known for agent in rows})
    if not agents:
        return None
    rows = [(str(agent), *(rows.get(agent, MISSING) for _, rows in known)) for agent in agents[:_ROWS]]
    return _Table("", ("Agent", *(name for name, _ in known)), rows, max(0, len(agents) - _ROWS))
