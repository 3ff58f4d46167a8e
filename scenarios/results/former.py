"""Results as netsim 0.1 wrote them, with the keys of today: goes when every stage returns its part of the tree."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from scenarios.results.attacked import AttackReport
from scenarios.results.audit import Audit, AuditResult
from scenarios.results.files import as_json
from scenarios.results.run import Timeline
from scenarios.results.serialize import loads
from scenarios.results.tree import SCHEMA_VERSION, AlgorithmResult, NetworkResult, Results

AUDIT = {
    "uncovered": "unprotected",
    "uncovered_fields": "unprotected_fields",
    "breakdown": "loss_breakdown",
    "anytime": "sequential_test",
    "together": "joint_confidence",
    "asked": "options",
}
PART = {"price": "cost", "price_unknown": "cost_unknown"}
STATUS = {"not asked": "not requested"}


def converted(old: Mapping[str, Any]) -> dict[str, Any]:
    """The same results with the keys of `scenarios.results.tree`."""
    found = dict(old) | {
        "schema_version": SCHEMA_VERSION,
        "algorithms": [_entry(e) for e in old.get("algorithms", [])],
    }
    if network := old.get("network"):
        found["network"] = _renamed(network, {"heard": "tapped_transmitters", "meddled": "intercepted"})
    if reproduction := old.get("reproduction"):
        checks = [_renamed(c, {"says": "statement", "asks": "criterion"}) for c in reproduction["checks"]]
        found["reproduction"] = reproduction | {"checks": checks}
    if "variants" in old:
        found["variants"] = [_variant(one) for one in old["variants"]]
    return found


def _renamed(old: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in old.items()}


def _variant(old: Mapping[str, Any]) -> dict[str, Any]:
    return dict(old) | {"algorithms": [_summary(one) for one in old["algorithms"]]}


def _summary(old: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(old) | {"audit_status": STATUS.get(old["audit_status"], old["audit_status"])}
    if old["membership"] is not None:
        found["membership"] = {"claim": old["membership"]["claim"] or None}
    return found


def _entry(old: Mapping[str, Any]) -> dict[str, Any]:
    found = _renamed(old, {"meddling": "active_adversaries"})
    found["audit_status"] = STATUS.get(found["audit_status"], found["audit_status"])
    if found["measures"]:
        found["measures"] = _renamed(found["measures"], {"asked": "exact"})
    if found["gradients"]:
        found["gradients"] = _renamed(found["gradients"], {"asked": "queries"})
    if found["leakage"]:
        agents = [_renamed(one, {"asked": "queries"}) for one in found["leakage"]["by_agent"]]
        found["leakage"] = found["leakage"] | {"by_agent": agents}
    if found["timeline"]:
        found["timeline"] = _timeline(found["timeline"])
    if found["traffic_analysis"] and not found["traffic_analysis"]["refused"]:
        found["traffic_analysis"] = _traffic(found["traffic_analysis"])
    if found["property"]:
        found["property"] = _renamed(found["property"], {"said": "mean_posterior"})
    if found["audit"]:
        found["audit"] = _audit(found["audit"])
    return found


def _timeline(old: Mapping[str, Any]) -> dict[str, Any]:
    found = _renamed(old, {"heard": "captured"})
    if (broken := found["break"]) and broken["why"] == "uncovered":
        found["break"] = broken | {"why": "unprotected"}
    return found


def _traffic(old: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(old)
    for name in ("activity", "computing", "repeated", "lost"):
        part = _renamed(found[name], {"asked": "activations"})
        found[name] = part | {"score": part["score"] and _renamed(part["score"], {"asked": "numbers"})}
    return found


def _audit(old: Mapping[str, Any]) -> dict[str, Any]:
    found = _renamed(old, AUDIT)
    for key in ("earlier", "later"):
        if key in found:
            found[key] = [_renamed(one, AUDIT) for one in found[key]]
    if "verdict" not in found:
        return found
    found["sequential_test"] = _renamed(found["sequential_test"], {"spoken": "guesses", "right": "correct"})
    found["unprotected_fields"] = [_renamed(one, {"told": "distinguishing"}) for one in found["unprotected_fields"]]
    if found["classifier"]:
        found["classifier"] = _renamed(found["classifier"], {"taught": "training"})
    if loss := found["average_loss"]:
        found["average_loss"] = loss | {"confidence": found["confidence"]}
    parts = dict(found["loss_breakdown"])
    for key in ("releases", "activations", "links"):
        parts[key] = [_renamed(one, PART) for one in parts[key]]
    for key in ("hidden", "total"):
        parts[key] = parts[key] and _renamed(parts[key], PART)
    return found | {"loss_breakdown": parts}


def tree_of(old: Mapping[str, Any] | Results) -> Results:
    """Results of stages that still return dictionaries, or of either version of results.json, as the tree."""
    if isinstance(old, Results):
        return old
    return loads(as_json(old if old.get("schema_version") == SCHEMA_VERSION else converted(old)))


# ── and back: parts that are typed already, in entries that still are dictionaries ──────────────────────
def plain(part: object) -> Any:
    """A part of the tree as the dictionary of its fields."""
    return TypeAdapter(type(part)).dump_python(part, by_alias=True, mode="json")


def of_audit(audit: Audit) -> dict[str, Any]:
    """An audit with the keys of netsim 0.1."""
    found: dict[str, Any] = plain(audit)
    for key in ("joint_confidence", "options", "besides", "search", "earlier", "later", "confidence"):
        if found.get(key) in (None, [], ()):
            found.pop(key, None)
    if isinstance(audit, AuditResult):
        test = found["sequential_test"]
        found["sequential_test"] = _renamed(test, {"guesses": "spoken", "correct": "right"})
        found["unprotected_fields"] = [_renamed(o, {"distinguishing": "told"}) for o in found["unprotected_fields"]]
        if found["classifier"]:
            found["classifier"] = _renamed(found["classifier"], {"training": "taught"})
        if found["average_loss"]:
            found["average_loss"].pop("confidence")
        cost = {new: old for old, new in PART.items()}
        parts = found["loss_breakdown"]
        for key in ("releases", "activations", "links"):
            parts[key] = [_renamed(one, cost) for one in parts[key]]
        for key in ("hidden", "total"):
            parts[key] = parts[key] and _renamed(parts[key], cost)
    back = {new: old for old, new in AUDIT.items()}
    for key in ("earlier", "later"):
        if key in found:
            found[key] = [_renamed(one, back) for one in found[key]]
    return _renamed(found, back)


def algorithm_of(entry: Mapping[str, Any]) -> AlgorithmResult:
    """An entry as its part of the tree."""
    return TypeAdapter(AlgorithmResult).validate_python(json.loads(as_json(_entry(entry))))


def of_timeline(timeline: Timeline | None) -> dict[str, Any] | None:
    """A timeline with the keys of netsim 0.1."""
    if timeline is None:
        return None
    found = _renamed(plain(timeline), {"captured": "heard"})
    if found["break"] and found["break"]["why"] == "unprotected":
        found["break"] |= {"why": "uncovered"}
    return found


def timeline_of(timeline: Mapping[str, Any]) -> Timeline:
    """A timeline as its part of the tree."""
    return TypeAdapter(Timeline).validate_python(json.loads(as_json(_timeline(timeline))))


def judged(entry: AlgorithmResult) -> dict[str, Any]:
    """What an audit adds to an entry."""
    return {
        "plan": entry.plan and plain(entry.plan),
        "audit": entry.audit and of_audit(entry.audit),
        "audit_status": {new: old for old, new in STATUS.items()}.get(entry.audit_status, entry.audit_status),
        "over_time": entry.over_time and plain(entry.over_time),
        "views": entry.views and plain(entry.views),
    }


def report_of(old: Mapping[str, Any]) -> AttackReport:
    """Findings of attacks on a kept transcript, of stages that still return dictionaries."""
    found = dict(old)
    found["gradients"] = _renamed(found["gradients"], {"asked": "queries"})
    if traffic := found["traffic_analysis"]:
        found["sentences"] = traffic["sentences"]
        traffic = {key: value for key, value in traffic.items() if key != "sentences"}
        found["traffic_analysis"] = traffic if traffic["refused"] else _traffic(traffic)
    if membership := found["membership"]:
        lists = {key: [_renamed(one, {"said": "accepted"}) for one in membership.get(key, ())]
                 for key in ("levels", "agents")}  # fmt: skip
        found["membership"] = membership | lists
    return TypeAdapter(AttackReport).validate_python(found)


def network_of(old: Mapping[str, Any] | NetworkResult) -> NetworkResult:
    """The network of a run alone."""
    if isinstance(old, NetworkResult):
        return old
    return TypeAdapter(NetworkResult).validate_python(
        _renamed(old, {"heard": "tapped_transmitters", "meddled": "intercepted"})
    )
