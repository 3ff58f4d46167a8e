"""What times and sizes alone give away, in sentences and as rows of the report."""

import math
from collections.abc import Sequence
from typing import Any

Results = dict[str, Any]
ROUNDING = 1e-9
NOBODY = "nobody's computing is certainly slower than another's"


# ── in words ────────────────────────────────────────────────────────────────────────────────────────────


def sentences(found: Results | None) -> list[str]:
    """What is told in the terminal: two sentences at most."""
    if not found:
        return []
    if found["refused"]:
        return [f"No traffic analysis: {_ended(found['refused'])}"]
    known = [who_when(found)] if found["activity"]["found"] or found["activity"]["wrong"] else []
    known += [] if found["computing"]["refused"] else [slower(found)]
    told = [f"Times and sizes alone tell: {'; '.join([*known, dimension(found)])}."]
    if why := found["activity"]["refused"]:
        all_of_it = "All of who acted when" if known else "Who acted when"
        told.append(f"{all_of_it} is not identifiable: {_ended(why)}")
    return told


def who_when(found: Results) -> str:
    """Who acted when."""
    activity = found["activity"]
    if activity["asked"] is None:
        return f"who acted when, {activity['found']:,} activations"
    wrong = f", {activity['wrong']:,} wrong" if activity["wrong"] else ""
    guess = "" if activity["guessed"] is None else f" (a guess without the tap: {activity['guessed']:.0%})"
    return f"who acted when, {activity['found']:,} of {activity['asked']:,} activations{wrong}{guess}"


def slower(found: Results) -> str:
    """Who computes slowest, or how many pairs are told apart."""
    work = found["computing"]
    if work["truth"] is None:
        return _slower_unscored(work)
    if not any(work["truth"]):
        return "that computing takes no time" if _none_takes_time(work) else "no order of computing times"
    if work["slowest"] is not None:
        right = "" if work["slowest"] == work["slowest_truth"] else " (wrongly)"
        return f"agent {work['slowest']} computes slowest{right}"
    if not work["ranked"]:
        return NOBODY
    wrong = f", {work['ranked'] - work['rightly']} wrongly" if work["ranked"] > work["rightly"] else ""
    return f"which of two agents computes slower for {work['ranked']} of {work['pairs']} pairs{wrong}"


def _slower_unscored(work: Results) -> str:
    """The same without the truth."""
    if work["slowest"] is not None:
        return f"agent {work['slowest']} computes slowest"
    if _none_takes_time(work):
        return "that computing takes no time"
    return f"which of two agents computes slower for {work['ranked']} pairs" if work["ranked"] else NOBODY


def _none_takes_time(work: Results) -> bool:
    return all(mean is not None and mean[2] < ROUNDING for mean in work["means"])


def dimension(found: Results) -> str:
    """The dimension."""
    size = found["dimension"]
    if size["refused"]:
        return "not the dimension"
    if size["low"] == size["high"]:
        wrong = "" if size["truth"] in (None, size["low"]) else " (wrongly)"
        return f"dimension {size['low']:,}{wrong}"
    return f"a dimension from {size['low']:,} to {_whole(float(size['high']))}"


def _ended(reason: object) -> str:
    return str(reason).rstrip(".") + "."


def _whole(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:,.0f}"


# ── on the page ─────────────────────────────────────────────────────────────────────────────────────────


def rows(found: Results) -> list[tuple[str, str, str, str]]:
    """What was asked, what was found, the truth or how it was met, and why not more; one row each."""
    activity, work, size = found["activity"], found["computing"], found["dimension"]
    counted = [
        ("Who acted when", f"{activity['found']:,} of {activity['asked']:,} activations",
         f"{activity['wrong']:,} wrong{_guess(activity['guessed'])}",
         activity["refused"] or ""),
        ("Activations of each agent", _met(activity["score"]), _error(activity["score"]),
         "" if activity["guessed"] is not None else "rounds are public: the tap adds nothing"),
        ("Seconds to compute", "–" if work["refused"] else f"{_met(work['score'])}, {work['kind']}",
         _error(work["score"]), work["refused"] or _why_bounded(work)),
        ("Who computes slower", f"{work['ranked']:,} of {work['pairs']:,} pairs", f"{work['rightly']:,} rightly", ""),
    ]  # fmt: skip
    for name, key in (("Repeated packets", "repeated"), ("Lost packets", "lost")):
        one = found[key]
        told = "–" if one["total"] is None else _interval(one["total"])
        truth = "" if one["total"] is None else f"truth {one['total_truth']:,}"
        open_end = (
            "the last packets may be on their way, and acknowledgements be lost unnoticed" if key == "lost" else ""
        )
        counted.append((name, told, truth, one["refused"] or open_end))
    told = "–" if size["refused"] else _interval([size["low"], None, size["high"]])
    return [*counted, ("Dimension", told, f"truth {size['truth']:,}", size["refused"] or "")]


def _guess(share: float | None) -> str:
    return "" if share is None else f"; a guess: {share:.0%}"


def _why_bounded(work: Results) -> str:
    return {
        "bounded": "a gap between packets holds a message's travel, or its wait, too",
        "estimated": "the mean wait for the public clock is subtracted",
    }.get(work["kind"], "")


def _met(score: Results) -> str:
    exact = f", {score['exact']} exactly" if score["exact"] else ""
    return f"{score['held']} of {score['estimated']} intervals hold the truth{exact}" if score["estimated"] else "–"


def _error(score: Results) -> str:
    if score["error"] is None:
        return ""
    error = score["error"] if score["error"] > ROUNDING else 0
    return f"off by {error:.3g} in the mean; a guess: {score['baseline']:.3g}"


def _interval(amount: Sequence[float | None]) -> str:
    low, value, high = amount
    low, high = float(low or 0), math.inf if high is None else float(high)
    if low == high:
        return _whole(low)
    between = f"{_whole(low)} … {_whole(high)}"
    return between if value is None else f"{_whole(value)} ({between})"
