"""Document that `--json` prints, and the exit status with its reason."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from scenarios.papers import figures as reproduction
from scenarios.render.terminal import DONE, FAILED, INTERRUPTED, REFUTED
from scenarios.results import former_findings as findings
from scenarios.results.files import PAGE, RESULTS

Result = Mapping[str, Any]
Plain = dict[str, Any]


@dataclass(frozen=True)
class Ending:
    """The exit status of a command that ran a scenario, and why, in a sentence."""

    status: int
    reason: str


def ending(results: Result) -> Ending:
    """How `netsim run` and `netsim audit` end: the first that holds of interrupted (130), failed (70), an algorithm
    that is refuted or unprotected and no baseline, or a paper's finding that was found otherwise (1), done (0)."""
    if results.get("status") == "interrupted":
        return Ending(INTERRUPTED, "interrupted: the folder has what was done until then")
    if results.get("status") == "failed":
        return Ending(FAILED, _failed(results))
    failing = [
        (
            findings.has_claim(entry) or findings.membership_breaks_claim(entry),
            f"{f'{variant}: ' if variant else ''}{_how(entry)}",
        )
        for variant, entry in _entries(results)
        if findings.decides_failure(entry)
    ]
    broken, bare = ([words for claimed, words in failing if claimed is which] for which in (True, False))
    reasons = [f"a claim does not hold: {', '.join(broken)}"] if broken else []
    reasons += [f"nothing is claimed, and nothing is protected: {', '.join(bare)}"] if bare else []
    if reproduction.differs(results):
        found: Result = results["reproduction"]
        reasons.append(f"{found['item']} of {found['paper']} differs")
    if reasons:
        return Ending(REFUTED, "; ".join(reasons))
    return Ending(DONE, "done: nothing but baselines is refuted or unprotected")


def _how(entry: Result) -> str:
    """How an algorithm fails."""
    if findings.verdict(entry) in findings.BROKEN:
        return f"{entry['name']} is {findings.verdict(entry)}"
    return f"membership is told better than the claim of {entry['name']} allows"


def verdicts_as_plain(results: Result, folder: Path) -> Plain:
    """The document of a run whose results are these, in this folder, from which those of variants are read."""
    end, variants = ending(results), cast("list[Plain]", results.get("variants") or [])
    rows = [row(entry, folder) for entry in results.get("algorithms", [])]
    for variant in variants:
        place = folder / variant["name"]
        rows += [row(entry, place, variant["name"]) for entry in _full(variant, place)]
    return {
        "command": results.get("command", ""),
        "name": results["name"],
        "title": results.get("title", ""),
        "status": results["status"],
        "exit_status": end.status,
        "exit_reason": end.reason,
        "error": results.get("error"),
        "folder": str(folder),
        "report": str(folder / PAGE),
        "results": str(folder / RESULTS),
        "seed": results.get("seed"),
        "versions": results.get("versions"),
        "reproduction": results.get("reproduction"),
        "variants": [_variant(one, folder) for one in variants],
        "algorithms": rows,
    }


def row(entry: Result, folder: Path, variant: str | None = None) -> Plain:
    """One algorithm: its verdict and the three epsilons.

    `epsilon_claimed` is None where no number is claimed. `epsilon_exact` goes from `lower` to `upper`, with an
    `estimate`; of `epsilon_audited` the `lower` end is proven at `confidence`, and nothing is known above it. Both
    are None without an audit, and the claim is then that of the budget, of which `adjacency` and `norm` are not kept.
    Where a folder was audited more than once, `verdict` is that of all its audits, and the numbers are those of the
    one that decides; it and all before it hold at once with probability `together`, and `earlier` and `later` sum up
    the others. Without others these are None and empty.
    """
    audit, budget = _part(entry, "audit"), _part(entry, "budget")
    claim, exact, audited = _part(audit, "claim"), _part(audit, "epsilon_exact"), audit.get("epsilon_audited")
    spent: list[Any] = budget.get("epsilon") or []
    return {
        "variant": variant,
        "name": entry["name"],
        "kind": entry.get("kind"),
        "baseline": bool(entry.get("baseline")),
        "audit_status": findings.audit_status(entry),
        "verdict": findings.verdict(entry),
        "claim_broken": findings.claim_is_broken(entry),
        "reason": findings.sentence(entry),
        "epsilon_claimed": audit["epsilon_claimed"] if claim else spent[-1] if spent else None,
        "epsilon_exact": {key: exact[key] for key in ("lower", "estimate", "upper")} if exact else None,
        "epsilon_audited": None if audited is None else _above(audited, audit["confidence"]),
        "delta": claim.get("delta", budget.get("delta")),
        "theorem": claim.get("source", budget.get("source")),
        "adjacency": claim.get("adjacency"),
        "norm": claim.get("norm"),
        "gradient_change": claim.get("gradient_change"),
        "failed_conditions": list(claim.get("failed_conditions", budget.get("failed_conditions")) or ()),
        "together": audit.get("together"),
        "earlier": list(audit.get("earlier") or ()),
        "later": list(audit.get("later") or ()),
        "pair": audit.get("pair"),
        "first_violation": audit.get("first_violation"),
        "outside_model": findings.outside_model(entry),
        "membership": entry.get("membership"),
        "property": entry.get("property"),
        "witness": str(folder / audit["witness"]) if audit.get("witness") else None,
        "folder": str(folder),
        "report": str(folder / PAGE),
    }


def _above(lower: float, confidence: float) -> Plain:
    return {"lower": lower, "upper": math.inf, "confidence": confidence}


def _variant(variant: Result, folder: Path) -> Plain:
    place = folder / variant["name"]
    told = {key: variant.get(key) for key in ("name", "fields", "status", "error")}
    there = variant.get("report") is not None
    return told | {"folder": str(place) if there else None, "report": str(place / PAGE) if there else None}


def _full(variant: Result, place: Path) -> list[Result]:
    """A variant's algorithms with all that its own folder has of them, or else as they are summed up."""
    if not variant.get("algorithms"):
        return []
    try:
        kept: Result = json.loads((place / RESULTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return list(variant["algorithms"])
    return list(kept["algorithms"])


def _entries(results: Result) -> Iterator[tuple[str, Result]]:
    """Every algorithm that was begun, with its variant's name."""
    for entry in results.get("algorithms", []):
        yield "", entry
    for variant in results.get("variants", []):
        for entry in variant["algorithms"]:
            yield variant["name"], entry


def _failed(results: Result) -> str:
    if error := results.get("error"):
        return f"failed: {error['type']}: {error['message']}"
    lost = [one["name"] for one in results.get("variants", []) if one["status"] == "failed"]
    return f"failed: {', '.join(lost)}"


def _part(of: Result, key: str) -> Result:
    part: Any = of.get(key)
    return cast(Result, part) if isinstance(part, Mapping) else {}
