"""The section on rebuilt records: a table of attacks for each algorithm, and what they rebuilt side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from scenarios.report import defences
from scenarios.report.formats import MISSING, fixed, items, number, part, show

Result = Mapping[str, Any]
MARKS = {
    defences.RECOVERED: ("bad", "✕"),
    defences.PARTLY: ("bad", "◐"),
    defences.DEFENDED: ("good", "✓"),
    defences.OPEN: ("open", "?"),
    defences.FAILED: ("open", "?"),
}
"""How a verdict is marked: a recovered record is the finding."""
PICTURED = 4
"""Agents whose records are pictured at once; the others are behind a summary."""
INVERSIONS = {"strongest": "as inferred here", "published": "as the paper infers"}
MEANINGS = [
    (
        "recovered",
        "The record that is rebuilt is the agent's: within the distance of success, and with a skill of at least 0.9 "
        "against the best guess without the transcript.",
    ),
    (
        "recovered in part",
        "It is nearer to the agent's than a guess, with a skill above 0.1, and not recovered.",
    ),
    (
        "defended",
        "It explains the gradients as well as the true record does, is no nearer to it than a guess, and the "
        "gradients have noise: that hides the record from this attack.",
    ),
    (
        "not identifiable",
        "The gradients do not determine the record, or the attack does not: another one explains them too, "
        "and no noise has to hide anything. This is no defence.",
    ),
    (
        "failed to optimize",
        "It does not explain the gradients as the true record does, or did not arrive: another attack may do better. "
        "This protects nobody.",
    ),
]


def reconstructed(subjects: Sequence[Result]) -> dict[str, Any]:
    """For each algorithm whose records were attacked a section, in the order of the page; what its words mean, and
    whose the attacks are."""
    found = [(a, part(a, "reconstructions")) for a in subjects]
    attacked = [(a, own) for a, own in found if items(own, "attacks")]
    attacks = [one for _, own in attacked for one in items(own, "attacks")]
    used = {word for one in attacks for word in part(one, "verdicts")}
    return {
        "reconstructions": [section(a) for a, _ in attacked],
        "attack_words": [(word, *MARKS[word], text) for word, text in MEANINGS if word in used],
        "attack_sources": list(dict.fromkeys((one["attack"], one.get("source")) for one in attacks)),
    }


def section(entry: Result) -> dict[str, Any]:
    """What was rebuilt of one algorithm's agents, as the page shows it."""
    found = part(entry, "reconstructions")
    attacks = items(found, "attacks")
    pictures = _pictures(found, attacks) if found.get("image") else []
    return {
        "name": entry["name"],
        "sentence": found.get("sentence"),
        "weak": defences.only_against_weak(attacks),
        "rows": [_row(one) for one in attacks],
        "refused": [one for one in attacks if one.get("refused")],
        "bounded": any(part(one, "success").get("bound") for one in attacks),
        "pictures": pictures[:PICTURED],
        "more": pictures[PICTURED:],
        "columns": [str(one["attack"]) for one in attacks if one.get("agents")],
        "shape": found.get("shape"),
        "range": found.get("range"),
        "what": _what(found),
        "distance": show(found.get("distance")),
    }


def _what(found: Result) -> str:
    held = int(number(found.get("holding")))
    records = "one record" if held == 1 else f"{held} records"
    return f"each agent holds {records}"


def _row(one: Result) -> dict[str, Any]:
    success, verdict = part(one, "success"), str(one.get("verdict") or "refused")
    bound = part(success, "bound")
    mark, symbol = MARKS.get(verdict, ("none", "–"))
    if verdict == defences.DEFENDED and not defences.clearly(one, verdict):
        mark, symbol = MARKS[defences.OPEN]  # half of the time is no defence
    return {
        "attack": one["attack"],
        "source": one.get("source"),
        "given": f"{INVERSIONS[one['inversion']]}; {_given(one)}",
        "verdict": verdict if one.get("refused") else defences.shares(one),
        "missing": defences.missing(one),
        "mark": mark,
        "symbol": symbol,
        "cells": [
            fixed(one.get("psnr"), 1),
            fixed(one.get("ssim")) if one.get("ssim") is not None else MISSING,
            fixed(one.get("skill")) if one.get("skill") is not None else MISSING,
            f"{fixed(success['rate'])} [{fixed(success['low'])}, {fixed(success['high'])}]" if success else MISSING,
            fixed(success.get("guess")) if success.get("guess") is not None else MISSING,
            show(bound.get("bound")) if bound else MISSING,
            fixed(one.get("label_accuracy"), 2) if one.get("label_accuracy") is not None else MISSING,
        ],
        "over": bool(bound.get("above")),
        "refused": one.get("refused"),
    }


def _given(one: Result) -> str:
    told = {
        "all": "all gradients",
        "first": "the first one",
        "last": "the last one",
        "clearest": "the one with the least noise",
    }
    return told[str(one["rounds"])] + ("; labels told" if one.get("labels") == "public" else "")


def _pictures(found: Result, attacks: Sequence[Result]) -> list[dict[str, Any]]:
    """For each agent and record the original, what each attack makes of it, and the prior's guess; who is told the
    others rebuilds the first alone."""
    rows: list[dict[str, Any]] = []
    for original in items(found, "originals"):
        found_of = [(str(one["attack"]), own) for one in attacks for own in _of(one, original["agent"])]
        for index, record in enumerate(original["records"]):
            shown = [(name, own) for name, own in found_of if index < len(own["rebuilt"])]
            if found_of and not shown:
                continue
            tiles = [("original", record, "")]
            tiles += [(name, own["rebuilt"][index], _caption(own)) for name, own in shown]
            if shown:
                tiles.append(("the prior's guess", shown[-1][1]["guess"][index], ""))
            which = f", record {index + 1}" if len(original["records"]) > 1 else ""
            rows.append({"agent": f"Agent {original['agent']}{which}", "tiles": tiles})
    return rows


def _of(one: Result, agent: int) -> list[Any]:
    return [own for own in items(one, "agents") if own["agent"] == agent and own.get("rebuilt")]


def _caption(own: Result) -> str:
    return f"{fixed(own['psnr'], 1)} dB" if own.get("psnr") is not None else f"skill {fixed(own.get('skill'))}"
