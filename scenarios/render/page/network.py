"""Interactive network of the page: agents, links, taps, traffic of the links, and how well agents are inferred."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from markupsafe import Markup

from scenarios.render.page import playback
from scenarios.render.page.drawing import Entry
from scenarios.render.page.plan import Marks
from scenarios.render.sentences import Finding, stopped_early
from scenarios.results.attacks import ImageOfAgent, ImageResult, LeakageOfAgent
from scenarios.results.numbers import MISSING, count, percent, show
from scenarios.results.run import LinkLoads, Timeline
from scenarios.results.tree import AlgorithmResult, NetworkResult, Results

_WIDTH, _MARGIN = 480.0, 34.0  # of the drawing, in its own units
_FEW = 40
"""Up to so many agents are drawn large."""
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
T = TypeVar("T", LeakageOfAgent, ImageOfAgent)


@dataclass(frozen=True)
class _Link:
    """A link of the drawing."""

    ends: tuple[int, int]
    at: tuple[float, float, float, float]
    middle: Point
    beside: Point
    """Where the mark of an active adversary is."""
    tap: str | None
    recorded: bool
    intercepted: bool
    label: str


@dataclass(frozen=True)
class _Agent:
    """An agent of the drawing."""

    id: int
    x: float
    y: float
    insider: bool
    held: bool
    label: str


@dataclass(frozen=True)
class _Table:
    """A table: head, rows whose first cell names them, and the number of rows left out."""

    name: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int
    by_link: bool = True


@dataclass(frozen=True)
class _Play:
    """An algorithm whose packets are played."""

    name: str
    breaks: str | None
    how: str | None
    stopped: str | None
    dates: str | None
    rows: tuple[playback.Packet | None, ...]


@dataclass(frozen=True)
class _Scene:
    """Everything of the drawing, in its units, y downwards."""

    width: float
    height: float
    small: bool
    radius: int
    links: tuple[_Link, ...]
    agents: tuple[_Agent, ...]
    disc: tuple[float, float, float] | None
    missed: str | None
    label: str
    key: tuple[Entry, ...]
    caption: str
    tables: tuple[_Table, ...]
    people: _Table | None
    measures: Mapping[str, str]
    skills: Mapping[str, str]
    plays: tuple[_Play, ...] = ()
    captured: tuple[str, ...] = ()
    data: Markup | None = None
    """For the script; None where there is nothing for one to do."""
    script: playback.Script | None = None


def scene(results: Results, ordered: Sequence[Finding]) -> _Scene | None:
    """The network with all that was carried over it; None without a network."""
    net = results.network
    if net is None or not net.positions:
        return None
    entries = [one.entry for one in ordered]
    found = _drawn(results, net, entries)
    played = [(a, a.timeline, one) for a in entries if a.timeline and (one := playback.encoded(a)) is not None]
    if not played:
        return found
    breaks = [timeline.break_ for _, timeline, _ in played]
    data = {
        "algorithms": [
            one | {"links": _widths(a.links, found), "agents": _rings(a, len(found.agents))} for a, _, one in played
        ],
        "start": max(
            range(len(played)), key=lambda k: 0 if (b := breaks[k]) is None else 1 + (b.claimed is not None)
        ),
    }  # fmt: skip
    return replace(
        found,
        plays=tuple(_play(a, timeline, one) for a, timeline, one in played),
        captured=tuple(playback.captured([timeline for _, timeline, _ in played])),
        data=playback.embedded(data),
        script=playback.script("timeline.js"),
    )


def _play(entry: AlgorithmResult, timeline: Timeline, one: Mapping[str, object]) -> _Play:
    broken = timeline.break_
    return _Play(
        entry.name,
        broken and playback.broken_in_words(broken),
        broken and playback.how(broken),
        stopped_early(entry),
        ("rounds" if one["u"] is None else "walk") if one["m"] else None,
        tuple(playback.rows(timeline)),
    )


# ── the drawing ─────────────────────────────────────────────────────────────────────────────────────────
def _drawn(results: Results, net: NetworkResult, entries: Sequence[AlgorithmResult]) -> _Scene:
    marks, across = Marks.of(net), _WIDTH - 2 * _MARGIN
    everything = [*net.positions, *([net.disc.at] if net.disc else [])]
    low, high = (end(y for _, y in everything) for end in (min, max))
    left = min(x for x, _ in everything)
    scale = across / max(1.0, max(x for x, _ in everything) - left)

    def place(point: Point) -> Point:
        return round(_MARGIN + (point[0] - left) * scale, 1), round(_MARGIN + (high - point[1]) * scale, 1)

    places, small, missed = list(map(place, net.positions)), len(net.positions) > _FEW, _missed(results)
    skills = {"error": any(a.leakage and a.leakage.by_agent for a in entries)}
    skills |= {"share": skills["error"], "skill": any(isinstance(a.images, ImageResult) for a in entries)}
    return _Scene(
        width=_WIDTH,
        height=round(2 * _MARGIN + (high - low) * scale, 1),
        small=small,
        radius=8 if small else 14,
        links=tuple(_link(marks, (min(link), max(link)), places, missed) for link in sorted(marks.links, key=sorted)),
        agents=tuple(_agent(marks, i, *point) for i, point in enumerate(places)),
        disc=None if net.disc is None else (*place(net.disc.at), round(net.disc.range * scale, 1)),
        missed=percent(missed) if missed else None,
        label=marks.sentence(len(places)),
        key=marks.key,
        caption=_caption(net),
        tables=tuple(_table(a.name, a.links, marks) for a in entries if a.links is not None),
        people=_people(entries),
        measures=_MEASURES,
        skills={key: words for key, words in _SKILLS.items() if skills[key]},
    )


def _missed(results: Results) -> float:
    """The share of packets that link taps miss."""
    return float(results.scenario.adversary.capture_loss or 0.0)


def _caption(net: NetworkResult) -> str:
    """The network and its adversary in numbers."""
    marks, agents = Marks.of(net), len(net.positions)
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


def _link(marks: Marks, ends: tuple[int, int], places: Sequence[Point], missed: float) -> _Link:
    (a, b), link = ends, frozenset(ends)
    (x0, y0), (x1, y1) = places[a], places[b]
    tapped, at_end = link in marks.tapped, link in marks.at_ends
    words = [f"Link {a}–{b}"]
    words += ["tapped" + (f", {percent(missed)} of packets missed" if missed else "")] * tapped
    words += ["recorded at one of its ends"] * at_end
    words += ["neighbors" if marks.on_radio else "not recorded"] * (not tapped and not at_end)
    words += ["encrypted"] * (link in marks.sealed) + ["active adversary in the middle"] * (link in marks.intercepted)
    return _Link(
        ends, (x0, y0, x1, y1), (round((x0 + x1) / 2, 1), round((y0 + y1) / 2, 1)),
        (round(x0 + 0.32 * (x1 - x0), 1), round(y0 + 0.32 * (y1 - y0), 1)),
        ("sealed" if link in marks.sealed else "lossy" if missed else "open") if tapped else None,
        tapped or at_end, link in marks.intercepted, ", ".join(words),
    )  # fmt: skip


def _agent(marks: Marks, i: int, x: float, y: float) -> _Agent:
    words = [f"Agent {i}"]
    words += ["honest but curious"] * (i in marks.insiders) + ["tapped at its door"] * (i in marks.doors)
    words += ["its transmissions are recorded"] * (marks.on_radio and i in marks.transmitters)
    return _Agent(i, x, y, i in marks.insiders, marks.held(i), ", ".join(words))


# ── what the script shows ───────────────────────────────────────────────────────────────────────────────
def _widths(links: LinkLoads | None, found: _Scene) -> dict[str, object]:
    """What each link of the scene carried, in its order; by sender where there are many links."""
    by_link = links is not None and links.by == "link"
    keys: Sequence[object] = () if links is None else (links.between if by_link else links.sender) or ()
    row: dict[object, int] = {key: k for k, key in enumerate(keys)}
    wanted: list[object] = [link.ends for link in found.links] if by_link else list(range(len(found.agents)))
    names = ("packets", "bytes", "lost", "repeated", "acknowledgements", "delay")
    columns = {name: [getattr(links, name)[row[key]] if key in row else None for key in wanted] for name in names}
    return {"by": "link" if by_link else "sender", **columns}


def _rings(entry: AlgorithmResult, agents: int) -> dict[str, object]:
    """How well each agent is inferred: from 0 to 1 for its ring, None where nobody tried, and in words."""
    found: dict[str, object] = {}
    if entry.leakage and entry.leakage.by_agent:
        rows = _by_agent(entry.leakage.by_agent)
        found["error"] = [_by_error(rows.get(i)) for i in range(agents)]
        found["share"] = [_by_share(rows.get(i)) for i in range(agents)]
    if isinstance(entry.images, ImageResult):
        images = _by_agent(entry.images.agents)
        found["skill"] = [_by_skill(images.get(i)) for i in range(agents)]
    return found


def _by_agent(rows: Sequence[T]) -> dict[int, T]:
    return {row.agent: row for row in rows}


def _by_error(row: LeakageOfAgent | None) -> tuple[float | None, str]:
    if row is None or row.error is None or math.isnan(row.error):
        return None, "no gradient of it could be inferred"
    level = 1.0 if row.error <= 0 else min(max(math.log10(row.error) / _KNOWN, 0.0), 1.0)
    return round(level, 3), f"median error of its inferred gradients {show(row.error)}"


def _by_share(row: LeakageOfAgent | None) -> tuple[float | None, str]:
    if row is None:
        return None, "it computed no gradient"
    return round(row.identifiable, 3), f"{percent(row.identifiable)} of its gradients could be inferred"


def _by_skill(row: ImageOfAgent | None) -> tuple[float | None, str]:
    if row is None or math.isnan(row.skill):
        return None, "no image of it was rebuilt"
    return round(min(max(row.skill, 0.0), 1.0), 3), f"its image was rebuilt with skill {show(row.skill)}"


# ── in tables ───────────────────────────────────────────────────────────────────────────────────────────
def _table(name: str, links: LinkLoads, marks: Marks) -> _Table:
    """Traffic of the links, those with most bytes where there are many."""
    by_link = links.by == "link"
    order = sorted(range(len(links.bytes)), key=lambda k: -links.bytes[k])[:_ROWS]
    heads = ("Link" if by_link else "Sender", "Tap", "Packets", "Bytes", "Lost", "Repeated", "Mean delay")
    rows = tuple(_row(links, k, marks) for k in sorted(order))
    return _Table(name, heads, rows, len(links.bytes) - len(order), by_link)


def _row(links: LinkLoads, k: int, marks: Marks) -> tuple[str, ...]:
    if links.between is not None:
        a, b = links.between[k]
        name, tap = f"{a}–{b}", _tap(marks, frozenset((a, b)))
    else:
        agent = (links.sender or ())[k]
        name, tap = f"agent {agent}", "recorded" if agent in marks.transmitters | marks.doors else MISSING
    share = percent(links.lost[k] / links.packets[k]) if links.packets[k] else MISSING
    wait = MISSING if links.delay[k] is None else f"{show(links.delay[k])} s"
    return name, tap, count(links.packets[k]), count(links.bytes[k]), share, count(links.repeated[k]), wait


def _tap(marks: Marks, link: frozenset[int]) -> str:
    if link in marks.tapped:
        return "tapped, encrypted" if link in marks.sealed else "tapped"
    return "recorded at an end" if link in marks.at_ends else MISSING


def _people(entries: Sequence[AlgorithmResult]) -> _Table | None:
    """How well each agent is inferred, a column an algorithm."""
    known = [(a.name, _by_agent(a.leakage.by_agent)) for a in entries if a.leakage and a.leakage.by_agent]
    agents = sorted({agent for _, rows in known for agent in rows})
    if not agents:
        return None
    rows = tuple((str(agent), *(_leak(rows.get(agent)) for _, rows in known)) for agent in agents[:_ROWS])
    return _Table("", ("Agent", *(name for name, _ in known)), rows, max(0, len(agents) - _ROWS))


def _leak(row: LeakageOfAgent | None) -> str:
    return MISSING if row is None else f"{show(row.error)} ({percent(row.identifiable)})"
