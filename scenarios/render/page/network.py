"""Interactive network of the page: agents, links, listeners, what links carried, how well agents are inferred."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scenarios.render.former_sentences import stopped_early
from scenarios.render.page import playback as timeline
from scenarios.render.page.plan import Marks
from scenarios.render.page.playback import embedded, script
from scenarios.results.numbers import count, items, number, part, percent, show

Result = Mapping[str, Any]
WIDTH, MARGIN = 480.0, 34.0  # of the drawing, in its own units
FEW = 40
"""Up to so many agents are drawn large."""
ROWS = 60
"""Of a table; of more the rest is in results.json."""
MEASURES = {"bytes": "load in bytes", "loss": "loss", "delay": "mean delay", "repeated": "repetitions"}
SKILLS = {
    "error": "error of its inferred gradients",
    "share": "share of its gradients inferred",
    "skill": "its image",
}
NOTHING: dict[str, Any] = {"scene": None, "data": None, "script": None, "plays": [], "dates": set[str](), "ears": []}
KNOWN = -6.0
"""The ring is full where a gradient is known to this power of ten."""


def stage(results: Result, ordered: Sequence[Result]) -> dict[str, Any]:
    """`scene`, what the templates draw (None without a network), `plays` and `data`, what the script gets: the
    algorithms whose packets are known. `script` is None where there is nothing for one to do."""
    net = part(results, "network")
    if not net.get("positions"):
        return NOTHING
    scene = _scene(net, _missed(results))
    played = [(a, one) for a in ordered if (one := timeline.encoded(a)) is not None]
    carried = [a for a in ordered if part(a, "links")]
    scene["tables"] = list(_tables(carried, net))
    scene["measures"], scene["skills"] = MEASURES, _skills(ordered)
    scene["people"] = _people(ordered)
    if not played:
        return NOTHING | {"scene": scene}
    data = {
        "algorithms": [one | {"links": _widths(a, scene), "agents": _rings(a, scene)} for a, one in played],
        "start": max(range(len(played)), key=lambda k: _interest(played[k][1]["break"])),
    }
    plays: list[dict[str, Any]] = [
        {
            "name": a.get("name"),
            "breaks": timeline.broken_in_words(a),
            "stopped": stopped_early(a),
            "dates": ("rounds" if one["u"] is None else "walk") if one["m"] else None,
            "how": one["break"] and one["break"]["says"],
            "rows": timeline.rows(a),
        }
        for a, one in played
    ]
    return {
        "scene": scene,
        "data": embedded(data),
        "script": script("timeline.js"),
        "plays": plays,
        "dates": {one["dates"] for one in plays},
        "ears": sorted({ear for a, _ in played for ear in items(part(a, "timeline"), "heard")}),
    }


def _interest(broken: Result | None) -> int:
    """Which algorithm is shown first: one whose claim breaks, else one that has an uncovered message."""
    return 0 if not broken else 1 + bool(broken["claimed"])


# ── the drawing ─────────────────────────────────────────────────────────────────────────────────────────
def _scene(net: Result, missed: float) -> dict[str, Any]:
    """Where everything is, in the drawing's units, y downwards."""
    marks, across = Marks.of(net), WIDTH - 2 * MARGIN
    points = [(number(x), number(y)) for x, y in items(net, "positions")]
    disc = part(net, "disc")
    reach = [tuple(map(number, items(disc, "at")))] if disc else []
    low = min(y for _, y in [*points, *reach])
    high = max(y for _, y in [*points, *reach])
    left = min(x for x, _ in [*points, *reach])
    wide = max(1.0, max(x for x, _ in [*points, *reach]) - left)
    scale = across / wide

    def place(x: float, y: float) -> tuple[float, float]:
        return round(MARGIN + (x - left) * scale, 1), round(MARGIN + (high - y) * scale, 1)

    places = [place(*point) for point in points]
    small = len(points) > FEW
    return {
        "width": WIDTH,
        "height": round(2 * MARGIN + (high - low) * scale, 1),
        "small": small,
        "radius": 8 if small else 14,
        "links": [_link(marks, sorted(link), places, missed) for link in sorted(marks.links, key=sorted)],
        "agents": [_agent(marks, i, *places[i], 8 if small else 14) for i in range(len(places))],
        "disc": None if not disc else [*place(*reach[0]), round(number(disc["range"]) * scale, 1)],
        "radio": marks.on_radio,
        "missed": percent(missed) if missed else None,
        "label": _label(marks, len(places)),
        "legend": marks.legend,
    }


def _label(marks: Marks, agents: int) -> str:
    if marks.on_radio:
        return f"Network of {agents} agents with radios, {len(marks.heard)} of them heard."
    label = f"Network of {agents} agents and {len(marks.links)} links, {len(marks.tapped)} of them tapped."
    if marks.at_ends:
        label += f" {len(marks.at_ends)} are heard by an agent or at a door at their ends."
    return label + (f" Somebody is in the middle of {len(marks.meddled)}." if marks.meddled else "")


def _link(marks: Marks, ends: Sequence[int], places: Sequence[tuple[float, float]], missed: float) -> dict[str, Any]:
    link = frozenset(ends)
    (x0, y0), (x1, y1) = (places[i] for i in ends)
    tapped = link in marks.tapped
    words = [f"Link {ends[0]}–{ends[1]}"]
    if tapped:
        words.append("tapped" + (f", {percent(missed)} of packets missed" if missed else ""))
    if link in marks.at_ends:
        words.append("heard at one of its ends")
    if not tapped and link not in marks.at_ends:
        words.append("neighbors" if marks.on_radio else "nobody hears it")
    words += ["encrypted"] * (link in marks.sealed) + ["somebody in the middle"] * (link in marks.meddled)
    look = "sealed" if link in marks.sealed else "lossy" if missed else "open"
    return {
        "ends": ends,
        "at": [x0, y0, x1, y1],
        "middle": [round((x0 + x1) / 2, 1), round((y0 + y1) / 2, 1)],
        "beside": [round(x0 + 0.32 * (x1 - x0), 1), round(y0 + 0.32 * (y1 - y0), 1)],
        "tap": look if tapped else None,
        "heard": tapped or link in marks.at_ends,
        "meddled": link in marks.meddled,
        "label": ", ".join(words),
    }


def _agent(marks: Marks, i: int, x: float, y: float, radius: float) -> dict[str, Any]:
    words = [f"Agent {i}"]
    words += ["honest but curious"] * (i in marks.insiders) + ["listened to at its door"] * (i in marks.doors)
    words += ["its transmissions are heard"] * (marks.on_radio and i in marks.heard)
    held = i in marks.insiders or i in marks.doors or (marks.on_radio and i in marks.heard)
    return {
        "id": i,
        "x": x,
        "y": y,
        "insider": i in marks.insiders,
        "held": held,
        "round": round(2 * math.pi * (radius + 4), 2),
        "label": ", ".join(words),
    }


def _missed(results: Result) -> float:
    """The share of packets that link taps miss."""
    missed = number(part(part(results, "scenario"), "adversary").get("capture_loss"))
    return 0.0 if math.isnan(missed) else missed


# ── what the script shows ───────────────────────────────────────────────────────────────────────────────
def _widths(entry: Result, scene: Result) -> dict[str, Any]:
    """Of each link of the scene, in its order, what it carried; by sender where there are many links."""
    links = part(entry, "links")
    by_link = links.get("by") == "link"
    keys: list[Any] = [tuple(ends) for ends in items(links, "between")] if by_link else items(links, "sender")
    row = {key: k for k, key in enumerate(keys)}
    wanted: list[Any] = [tuple(link["ends"]) for link in scene["links"]]
    if not by_link:
        wanted = list(range(len(scene["agents"])))
    order = [row.get(key) for key in wanted]

    def column(name: str) -> list[Any]:
        values = items(links, name)
        return [None if k is None else values[k] for k in order]

    names = ("packets", "bytes", "lost", "repeated", "acknowledgements", "delay")
    return {"by": "link" if by_link else "sender"} | {name: column(name) for name in names}


def _rings(entry: Result, scene: Result) -> dict[str, Any]:
    """Of each agent how well it is inferred: between 0 and 1 for its ring, None where nobody tried, and in words."""
    found: dict[str, Any] = {}
    rows = {int(row["agent"]): row for row in items(part(entry, "leakage"), "by_agent")}
    images = {int(row["agent"]): row for row in items(part(entry, "images"), "agents")}
    agents = range(len(scene["agents"]))
    if rows:
        found["error"] = [_by_error(rows.get(i)) for i in agents]
        found["share"] = [_by_share(rows.get(i)) for i in agents]
    if images:
        found["skill"] = [_by_skill(images.get(i)) for i in agents]
    return found


def _by_error(row: Result | None) -> list[Any]:
    error = math.nan if row is None else number(row["error"])
    if math.isnan(error):
        return [None, "no gradient of it could be inferred"]
    level = 1.0 if error <= 0 else min(max(math.log10(error) / KNOWN, 0.0), 1.0)
    return [round(level, 3), f"median error of its inferred gradients {show(error)}"]


def _by_share(row: Result | None) -> list[Any]:
    share = math.nan if row is None else number(row["identifiable"])
    if math.isnan(share):
        return [None, "it asked for no gradient"]
    return [round(share, 3), f"{percent(share)} of its gradients could be inferred"]


def _by_skill(row: Result | None) -> list[Any]:
    skill = math.nan if row is None else number(row["skill"])
    if math.isnan(skill):
        return [None, "no image of it was rebuilt"]
    return [round(min(max(skill, 0.0), 1.0), 3), f"its image was rebuilt with skill {show(skill)}"]


def _skills(ordered: Sequence[Result]) -> dict[str, str]:
    """The choices for the rings: what some algorithm has."""
    given = [bool(items(part(a, "leakage"), "by_agent")) for a in ordered]
    images = [bool(items(part(a, "images"), "agents")) for a in ordered]
    return {k: words for k, words in SKILLS.items() if any(images if k == "skill" else given)}


# ── in tables ───────────────────────────────────────────────────────────────────────────────────────────
def _tables(carried: Sequence[Result], net: Result) -> Iterator[dict[str, Any]]:
    """Of each algorithm what links carried, those with most bytes where there are many."""
    marks = Marks.of(net)
    for entry in carried:
        links = part(entry, "links")
        by_link = links.get("by") == "link"
        keys = [tuple(k) if by_link else k for k in items(links, "between" if by_link else "sender")]
        order = sorted(range(len(keys)), key=lambda k: -items(links, "bytes")[k])[:ROWS]
        yield {
            "name": entry.get("name"),
            "by_link": by_link,
            "left_out": len(keys) - len(order),
            "rows": [_row(links, keys[k], k, marks) for k in sorted(order)],
        }


def _row(links: Result, key: Any, k: int, marks: Marks) -> list[Any]:
    packets, lost, delay = links["packets"][k], links["lost"][k], number(links["delay"][k])
    if links.get("by") == "link":
        said, name = _listened(marks, frozenset((int(key[0]), int(key[1])))), f"{key[0]}–{key[1]}"
    else:
        said, name = "heard" if key in marks.heard or key in marks.doors else "–", f"agent {key}"
    share = percent(lost / packets) if packets else "–"
    wait = "–" if math.isnan(delay) else f"{show(delay)} s"
    return [name, said, *(count(links[n][k]) for n in ("packets", "bytes")), share, count(links["repeated"][k]), wait]


def _listened(marks: Marks, link: frozenset[int]) -> str:
    if link in marks.tapped:
        return "tapped, encrypted" if link in marks.sealed else "tapped"
    return "heard at an end" if link in marks.at_ends else "–"


def _people(ordered: Sequence[Result]) -> dict[str, Any] | None:
    """How well each agent is inferred, a column an algorithm and choice."""
    heads, columns = list[str](), list[dict[int, str]]()
    for entry in ordered:
        rows = items(part(entry, "leakage"), "by_agent")
        if rows:
            heads.append(str(entry.get("name")))
            columns.append(
                {int(r["agent"]): f"{show(r['error'])} ({percent(number(r['identifiable']))})" for r in rows}
            )
    if not columns:
        return None
    agents = sorted({agent for column in columns for agent in column})
    shown = agents[:ROWS]
    rows = [[agent, *(column.get(agent, "–") for column in columns)] for agent in shown]
    return {"heads": heads, "rows": rows, "left_out": len(agents) - len(shown)}
