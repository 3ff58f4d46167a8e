"""What the page says in words: who comes first, the headline, what is missing."""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from scenarios.findings import (
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
from scenarios.report.formats import MISSING, items, number, part, show
from scenarios.sentences import stopped_early

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
    skills = [number(one.get("skill")) for one in items(parts["images"], "agents")]
    shown["median_skill"] = median(skills) if skills else math.nan
    inferred = part(shown, "gradients")
    shown["learned_nothing"] = number(inferred.get("median")) >= number(inferred.get("baseline"))
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
        {show(100 * number(audit.get("confidence"))) for audit in audits} - {MISSING},
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
