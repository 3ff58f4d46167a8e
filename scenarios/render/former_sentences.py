"""Sentences about results, shared by terminal and page: headline, terms, cautions, traffic analysis."""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from scenarios.results.former_findings import (
    NO_CLAIM,
    NOT_REACHED,
    audit_status,
    caution,
    claim_is_broken,
    deadline_note,
    diverged,
    drowned,
    has_claim,
    misled,
    outside_model,
    sentence,
    verdict,
)
from scenarios.results.numbers import MISSING, items, part, show
from scenarios.results.numbers import number as numbers_number

Results = dict[str, Any]
REBUILT_SKILL = 0.999


def number(value: object) -> str:
    """Three digits, ∞, or a dash where there is none."""
    if value is None:
        return "–"
    return "∞" if float(str(value)) == float("inf") else f"{float(str(value)):.3g}"


def stopped_early(entry: Mapping[str, Any]) -> str | None:
    """That a run failed or was interrupted, and when; None of one that was to its end."""
    run: Mapping[str, Any] = entry.get("run") or {}
    words = {"failed": "failed", "interrupted": "was interrupted"}.get(str(run.get("stopped")))
    if words is None:
        return None
    timeline: Mapping[str, Any] = entry.get("timeline") or {}
    return f"The run {words} at {float(timeline.get('ended', run['time'])):.4g} s of virtual time."


Result = Mapping[str, Any]
NOT_AUDITED = "not audited"
_PARTS = ("convergence", "run", "gradients", "images", "reconstructions", "audit")
_MARKS = {  # strongest finding first: (severity class, what the word means)
    "unprotected": (
        "bad",
        "A message on the wire is a deterministic function of private data: no noise covers it and ε is "
        "infinite, whatever was claimed.",
    ),
    "refuted": ("bad", "The exact ε, or a lower bound proved by a game, is above the claimed ε."),
    "undefined": ("open", "There is no claimed number to test: the formula's own conditions fail here."),
    "vacuous": ("open", "The claim may hold, but it is so large that it promises nothing."),
    "underpowered": ("open", "Nothing that was done could have refuted the claim: no conclusion."),
    "consistent": (
        "good",
        "Nothing measured exceeds the claim. This is not a proof: another pair of adjacent worlds may do worse.",
    ),
    NOT_AUDITED: ("none", "Nothing was tested; the reason is given."),
    NOT_REACHED: ("none", "The run ended before this algorithm was audited."),
    NO_CLAIM: ("none", "The algorithm promises no privacy, so there is no claim to test."),
}
_SYMBOLS = {"bad": "✕", "open": "?", "good": "✓", "none": "–"}


def subjects(results: Result) -> list[dict[str, Any]]:
    """The algorithms, strongest finding first, every part a mapping, with `word`, `mark` and `sentence` to show."""
    order = list(_MARKS)
    entries = [subject(a) | {"deadline": deadline_note(results, a)} for a in items(results, "algorithms")]
    return sorted(entries, key=lambda a: order.index(a["word"]) if a["word"] in order else -1)


def word(entry: Result) -> str:
    """The verdict of an algorithm, or why it has none."""
    status = audit_status(entry)
    return verdict(entry) or (status if status in (NO_CLAIM, NOT_REACHED) else NOT_AUDITED)


def subject(algorithm: Result) -> dict[str, Any]:
    """One algorithm as the templates show it: every part a mapping, with `word`, `mark` and `sentence`."""
    kind = _MARKS.get(word(algorithm), ("open", ""))[0]
    parts = {name: part(algorithm, name) for name in _PARTS}
    shown = {"name": "unnamed", "kind": "", "summary": ""} | dict(algorithm) | parts
    skills = [numbers_number(one.get("skill")) for one in items(parts["images"], "agents")]
    shown["median_skill"] = median(skills) if skills else math.nan
    inferred = part(shown, "gradients")
    shown["learned_nothing"] = numbers_number(inferred.get("median")) >= numbers_number(inferred.get("baseline"))
    shown |= {"misled": misled(inferred), "drowned": drowned(algorithm), "diverged": diverged(algorithm)}
    said = {"word": word(algorithm), "sentence": sentence(algorithm), "mark": kind, "symbol": _SYMBOLS[kind]}
    return shown | said | {"caution": caution(algorithm)}


def headline(ordered: Sequence[Result]) -> str:
    """The finding in a sentence or two; only what was claimed counts as a claim."""
    judged = [a for a in ordered if verdict(a) and outside_model(a) is None]
    claims = [a for a in judged if has_claim(a)]
    silent = _tally([a["word"] for a in judged if not has_claim(a)])
    besides = f" Audited without a claimed number: {silent}." if silent else ""
    beyond = _tally([a["word"] for a in ordered if verdict(a) and outside_model(a) is not None])
    if beyond:
        besides += f" Outside the papers' threat model, with an active adversary on the links: {beyond}."
    false = [str(a["name"]) for a in ordered if part(part(a, "membership"), "claim").get("broken")]
    if false:
        besides += f" Membership is told better than the claim allows: {', '.join(false)}."
    if not claims:
        return f"No privacy claim was audited{' in its own threat model' if beyond else ''}.{besides}"
    broken = [a["word"] for a in claims if claim_is_broken(a)]
    others = [a["word"] for a in claims if not claim_is_broken(a)]
    total = f"{len(claims)} audited privacy claim{'s' * (len(claims) > 1)}"
    if not broken:
        return f"Of {total}, none was shown to be false: {_tally(others)}.{besides}"
    verb = "does" if len(broken) == 1 else "do"
    rest = f" The other{'s' * (len(others) > 1)}: {_tally(others)}." if others else ""
    return f"{len(broken)} of {total} {verb} not hold: {_tally(broken)}.{rest}{besides}"


def terms(ordered: Sequence[Result]) -> str:
    """Under which δ, adjacency and confidence the epsilons are; what differs between algorithms has no word here."""
    audits = [a["audit"] for a in ordered if a["audit"].get("verdict")]
    deltas, worlds, levels = (
        {show(part(audit, "claim").get("delta")) for audit in audits} - {MISSING},
        {str(part(audit, "claim").get("adjacency") or "") for audit in audits} - {""},
        {show(100 * numbers_number(audit.get("confidence"))) for audit in audits} - {MISSING},
    )
    said = [f"δ = {one}" for one in deltas] if len(deltas) == 1 else []
    said += [f"adjacent: {one}" for one in worlds] if len(worlds) == 1 else []
    told = f"{'; '.join(said)}." if said else ""
    if len(levels) == 1:
        told += f" What is proven of one audit holds at {levels.pop()}\u202f% confidence, all together."
    return told.strip()


def _tally(words: Sequence[str]) -> str:
    return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))


def meanings(ordered: Sequence[Result]) -> list[tuple[str, str, str]]:
    """The verdict words on this page: (word, severity class, meaning)."""
    used = {a["word"] for a in ordered}
    return [(word, kind, meaning) for word, (kind, meaning) in _MARKS.items() if word in used]


def meaning(word: str) -> str:
    """What a verdict, or the word in its place, means."""
    return _MARKS[word][1]


def missing(results: Result) -> list[str]:
    """What an unfinished scenario still owes: whole algorithms, and the parts of the last one it reached."""
    if results.get("status", "complete") == "complete":
        return []
    algorithms = items(results, "algorithms")
    scenario = part(results, "scenario")
    asked = part(scenario, "attacks")
    owed = {"gradients": asked.get("gradients", True), "images": asked.get("images", True)}
    owed["reconstructions"] = bool(asked.get("reconstruct"))
    lines: list[str] = []
    if algorithms:
        owed["audit"] = audit_status(algorithms[-1]) == NOT_REACHED
        absent = [p for p in _PARTS if not algorithms[-1].get(p) and owed.get(p, True)]
        if (early := stopped_early(algorithms[-1])) is not None:
            absent.insert(0, f"the rest of the run, which {early[8:-1]}")
        if absent:
            lines.append(f"{algorithms[-1].get('name', 'unnamed')}: {', '.join(absent)}")
    reached = {a.get("name") for a in algorithms}
    planned = [str(a.get("name", "unnamed")) for a in items(scenario, "algorithms")]
    return lines + [f"{name}: everything" for name in planned if name not in reached]


ROUNDING = 1e-9
NOBODY = "nobody's computing is certainly slower than another's"


# ── in words ────────────────────────────────────────────────────────────────────────────────────────────


def traffic_sentences(found: Results | None) -> list[str]:
    """What is told in the terminal: two sentences at most."""
    if not found:
        return []
    if found["refused"]:
        return [f"No traffic analysis: {_traffic_ended(found['refused'])}"]
    known = [who_when(found)] if found["activity"]["found"] or found["activity"]["wrong"] else []
    known += [] if found["computing"]["refused"] else [slower(found)]
    told = [f"Times and sizes alone tell: {'; '.join([*known, dimension(found)])}."]
    if why := found["activity"]["refused"]:
        all_of_it = "All of who acted when" if known else "Who acted when"
        told.append(f"{all_of_it} is not identifiable: {_traffic_ended(why)}")
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


def _traffic_ended(reason: object) -> str:
    return str(reason).rstrip(".") + "."


def _whole(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:,.0f}"


# ── on the page ─────────────────────────────────────────────────────────────────────────────────────────


def traffic_rows(found: Results) -> list[tuple[str, str, str, str]]:
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
