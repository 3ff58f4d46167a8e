"""Loss breakdown and ε over time of each audited algorithm: figures and table rows."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from scenarios.render.page.charts import HEIGHT, WIDTH
from scenarios.render.page.drawing import BLUE, INK, ORANGE, PAPER, VERMILLION, Scale, canvas, inline
from scenarios.results.loss_breakdown import moment
from scenarios.results.numbers import MISSING, count, items, number, numbers, part, percent, show

Result = Mapping[str, Any]
ROWS = 12
"""Releases and links in a table, the dearest."""
BARS = 120
"""Activations with a bar each, at most."""


def loss_breakdowns(ordered: Sequence[Result]) -> list[dict[str, Any]]:
    """What the template needs of each algorithm whose loss was taken apart."""
    judged = [a for a in ordered if a["audit"].get("breakdown")]
    return [_loss_breakdown(a, f"anatomy-{k}") for k, a in enumerate(judged)]


def _loss_breakdown(algorithm: Result, prefix: str) -> dict[str, Any]:
    audit, time = algorithm["audit"], part(algorithm, "over_time")
    broken = part(audit, "breakdown")
    parts = _rows(broken)
    return {
        "name": algorithm.get("name", ""),
        "unit": str(time.get("unit") or "activations"),
        "over_time": over_time(time, f"{prefix}-time") if _drawable(time) else None,
        "notes": _notes(time),
        "bars": bars(broken, f"{prefix}-bars") if _known(items(broken, "activations")) else None,
        "witness": audit.get("witness"),
        "parts": parts,
        "gammas": any(row["gamma"] != MISSING for row in parts),
        "agent": broken.get("agent"),
        "transcripts": count(broken.get("transcripts")),
        "left_out": max(0, int(part(broken, "counts").get("releases") or 0) - ROWS),
        "uncovered": [_uncovered(one) for one in items(audit, "uncovered_fields")],
        "averages": _averages(audit, broken),
    }


# ── ε over time ─────────────────────────────────────────────────────────────────────────────────────────
def over_time(time: Result, prefix: str) -> Markup:
    """Claimed, exact and audited ε by activation, the region where ε means nothing, and the first violation."""
    claimed, measured, audited = (part(time, key) for key in ("claimed", "exact", "audited"))
    lines = numbers(claimed.get("epsilon")), numbers(measured.get("estimate")), numbers(audited.get("epsilon"))
    lower = numbers(measured.get("lower"))
    level = number(time.get("vacuous_above"))
    scale = Scale.over([v for values in (*lines, lower) for v in values])
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        plot: Any = axes
        bottom, top = scale.limits
        pad = 0.04 * (scale.high - scale.low)
        vacuous = min(scale.at(level), scale.high) if scale.has_infinity else scale.at(level)
        if vacuous < top:
            start = max(vacuous, bottom - pad)
            plot.axhspan(start, top + pad, color=INK, alpha=0.09, linewidth=0)
            plot.text(0.99, start, f"ε > {show(level)}: vacuous", transform=plot.get_yaxis_transform(),
                      ha="right", va="bottom", fontsize=10, style="italic")  # fmt: skip
        at = numbers(measured.get("count"))
        ends = [scale.at(v) for v in lower], [scale.at(v) for v in lines[1]]
        plot.fill_between(at, *ends, color=BLUE, alpha=0.2, linewidth=0)
        plot.plot(numbers(claimed.get("count")), [scale.at(v) for v in lines[0]], color=INK, linestyle=(0, (7, 3)))
        plot.plot(at, ends[1], color=BLUE, marker="o", markersize=4.5, markevery=max(1, len(at) // 12))
        face: Any = {"linestyle": "none", "marker": "s", "markersize": 5.5, "markerfacecolor": PAPER}
        plot.plot(numbers(audited.get("count")), [scale.at(v) for v in lines[2]], color=ORANGE, **face)
        _violation(plot, time, scale)
        if scale.has_infinity:
            plot.axhline(scale.high, color=INK, alpha=0.35, linestyle=(0, (1, 3)), linewidth=1)
        plot.set_ylim(bottom - pad, top + pad)
        scale.dress(plot.yaxis)
        plot.grid(axis="y")
        _whole(plot)
        plot.set_xlabel("rounds" if time.get("unit") == "rounds" else "activations of one agent (PLF)")
        plot.set_ylabel("ε by then")
        last = "; ".join(
            f"{name} {show(values[-1]) if values else MISSING}"
            for name, values in zip(("claimed", "exact", "audited at least"), lines, strict=True)
        )
        return inline(figure, prefix, f"The three epsilons by {time.get('unit')}. At the end: {last}.")


def _whole(plot: Any) -> None:
    """Ticks of a horizontal axis that counts: at whole numbers alone."""
    from matplotlib.ticker import MaxNLocator

    plot.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))


def _violation(plot: Any, time: Result, scale: Scale) -> None:
    """A cross where the exact ε is first proven to be above the claim, and a line where the claim ends."""
    k = number(time.get("exceeds_from"))
    if not math.isnan(k):
        height = scale.at(number(part(time, "exceeds").get("exact")))
        plot.axvline(k, color=VERMILLION, linewidth=1, alpha=0.7)
        plot.plot([k], [height], "X", color=VERMILLION, markersize=10, markeredgewidth=0)
    k = number(time.get("undefined_from"))
    if not math.isnan(k):
        plot.axvline(k, color=INK, linewidth=1, alpha=0.5, linestyle=(0, (2, 2)))


def _drawable(time: Result) -> bool:
    """Whether there is a curve of more than a point."""
    return max((len(numbers(part(time, key).get("count"))) for key in ("claimed", "exact")), default=0) > 1


def _notes(time: Result) -> list[str]:
    if not time:
        return []
    level = show(time.get("vacuous_above"))
    exact, claimed = (show(part(time, "exceeds").get(key)) for key in ("exact", "claimed"))
    told = [
        ("exceeds_from", f"the exact ε is first proven to be above the claim: {exact}, not {claimed}"),
        ("claimed_vacuous_from", f"the claim is above {level} from there on: it promises nothing"),
        ("exact_vacuous_from", f"the exact ε of the pair, as estimated, is above {level} from there on"),
        ("proven_vacuous_from", f"its proven lower end is above {level} from there on"),
        ("undefined_from", f"the claim is undefined from there on: {time.get('condition')}"),
    ]
    found = [(moment(time, time[key]), words) for key, words in told if time.get(key) is not None]
    return [f"{when[0].upper()}{when[1:]}: {words}." for when, words in found]


# ── parts ───────────────────────────────────────────────────────────────────────────────────────────────
def bars(broken: Result, prefix: str) -> Markup:
    """The price of each activation: mean over transcripts, and a line from the least to the most."""
    rows = _known(items(broken, "activations"))[:BARS]
    at = [number(row["activation"]) for row in rows]
    least, mean, most = ([number(row["price"][k]) for row in rows] for k in range(3))
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        plot: Any = axes
        plot.bar(at, mean, width=0.8, color=BLUE, alpha=0.75, linewidth=0)
        ends = [(k, a, b) for k, a, b in zip(at, least, most, strict=True) if b > a and math.isfinite(b)]
        for k, a, b in ends:
            plot.plot([k, k], [a, b], color=INK, linewidth=1.4)
        _whole(plot)
        plot.set_xlabel("activations of the audited agent")
        plot.set_ylabel("price of its releases")
        plot.yaxis.set_major_formatter(_release_cost_at)
        plot.grid(axis="y")
        dearest = max(zip(mean, at, strict=True))
        return inline(
            figure, prefix,
            f"Price by activation. The dearest is activation {count(dearest[1])}, at {show(dearest[0])} on average.",
        )  # fmt: skip


def _release_cost_at(value: float, _: object) -> str:
    return show(value)


def _known(rows: Sequence[Result]) -> list[Result]:
    """Those with a price that is a number."""
    return [row for row in rows if math.isfinite(number(row["price"][1]))]


def _rows(broken: Result) -> list[dict[str, Any]]:
    """Rows of the table: all, each link, and the dearest releases."""
    releases = items(broken, "releases")
    order = sorted(range(len(releases)), key=lambda k: (-_release_cost(releases[k]), k))[:ROWS]
    links = sorted(items(broken, "links"), key=lambda row: -_release_cost(row))[:ROWS]
    if not releases:
        return []
    rows = [_row("All that was released", broken.get("total") or {})]
    rows += [_row(f"Link {row['link'][0]} → {row['link'][1]}", row) for row in links]
    if broken.get("hidden"):
        rows.append(_row("Not on the wire as released", broken["hidden"]))
    return [*rows, *(_row(_named(releases[k]), releases[k]) for k in sorted(order))]


def _row(label: str, row: Result) -> dict[str, Any]:
    price, step = numbers(row.get("price")), numbers(row.get("step"))
    where = part(row, "where")
    return {
        "label": label,
        "law": _law(where) if where else "",
        "count": count(row.get("count")),
        "price": _release_cost_of(price),
        "size": show(row.get("step_size")),
        "most": show(step[2]) if step else MISSING,
        "gamma": _interval(row.get("gamma")),
    }


def _release_cost_of(price: list[float]) -> str:
    """Mean, and the ends where they show."""
    least, mean, most = (show(v) for v in price or [math.nan] * 3)
    return mean if least == mean == most else f"{mean} ({least} to {most})"


def _named(row: Result) -> str:
    where = part(row, "where")
    if not where:
        return f"Release {row['release']} (not the same in all transcripts)"
    if not where["carriers"]:
        inside = where.get("inside")
        out = f"inside “{inside['name']}” of {inside['kind']} {inside['number']}" if inside else "not on the wire"
        return f"Activation {where['activation']}: release {row['release']}, {out}"
    first = where["carriers"][0]
    to = ", ".join(map(str, first["receivers"]))
    return f"Activation {where['activation']}: “{first['name']}” to {to}"


def _law(where: Result) -> str:
    low, high = numbers(where["scale"])
    return f"{where['mechanism']}, {show(low)}" + (f" to {show(high)}" if high > low else "")


def _release_cost(row: Result) -> float:
    value = number(row["price"][1])
    return -1.0 if math.isnan(value) else value


def _uncovered(one: Result) -> dict[str, Any]:
    where = f"“{one['name']}”" if one["name"] else "which messages there are"
    return {
        "name": where,
        "first": f"activation {count(one['activation'])}",
        "path": one["path"],
        "messages": count(one["messages"]),
        "difference": show(one["difference"]),
        "share": percent(one["share"]),
        "reason": one["reason"] + (" (for who knows what is not on the wire)" if one.get("granted") else ""),
    }


# ── average against worst case ──────────────────────────────────────────────────────────────────────────
def _averages(audit: Result, broken: Result) -> list[dict[str, str]]:
    """γ measured, by quadrature and by formula: of all, and of the dearest releases."""
    total = part(audit, "average_case")
    found = [("All releases of a transcript", total)] if total.get("gamma_measured") else []
    rows = [row for row in items(broken, "releases") if part(row, "average").get("gamma_measured")]
    dearest = sorted(rows, key=lambda row: -_release_cost(row))[: ROWS // 2]
    found += [(_named(row), part(row, "average")) for row in sorted(dearest, key=lambda row: row["release"])]
    return [_average(label, one) for label, one in found]


def _interval(ends: Any) -> str:
    if not ends:
        return MISSING
    low, middle, high = numbers(ends)
    return f"{show(middle)} ({show(low)} to {show(high)})"


def _average(label: str, one: Result) -> dict[str, str]:
    return {
        "label": label,
        "worst": show(one["worst"]),
        "measured": _interval(one["gamma_measured"]),
        "computed": show(one["gamma_computed"], 4),
        "formula": show(one["gamma_formula"], 4),
        "transcripts": count(one["transcripts"]),
    }
