"""Results as netsim 0.1 wrote them, with the keys of today: goes when every stage returns its part of the tree."""

from collections.abc import Mapping
from typing import Any

from scenarios.results.files import as_json
from scenarios.results.serialize import loads
from scenarios.results.tree import SCHEMA_VERSION, Results

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
