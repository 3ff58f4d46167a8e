"""What the terminal says of an algorithm's results, in sentences."""

from collections.abc import Mapping
from typing import Any

from scenarios import findings

Results = dict[str, Any]
REBUILT_SKILL = 0.999


def number(value: object) -> str:
    """Three digits, ∞, or a dash where there is none."""
    if value is None:
        return "–"
    return "∞" if float(str(value)) == float("inf") else f"{float(str(value)):.3g}"


def amount(value: float | None) -> str:
    """A whole number in full, other numbers in four digits, a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def ending(entry: Results) -> str | None:
    """A warning where the run ended far above where it began."""
    if not findings.diverged(entry):
        return None
    convergence: Results = entry["convergence"]
    return f"Diverged: the relative error ends at {number(convergence.get('final'))}."


def traffic(entry: Results) -> str | None:
    """What the run put on the wire, or on the air, in a line."""
    run: Results | None = entry["run"]
    if not run:
        return None
    traffic: Results = run["traffic"]
    packets, size = (traffic.get(key, 0) for key in ("packets_sent", "bytes_sent"))
    sent = f"{packets:,} packets, {size:,} bytes on the wire"
    if "transmissions" in traffic:
        sent = f"{traffic['transmissions']:,} transmissions, {traffic['transmitted_bytes']:,} bytes on the air"
    return f"{sent}, {float(run['time']):.4g} s of virtual time."


def stopped_early(entry: Mapping[str, Any]) -> str | None:
    """That a run failed or was interrupted, and when; None of one that was to its end."""
    run: Mapping[str, Any] = entry.get("run") or {}
    words = {"failed": "failed", "interrupted": "was interrupted"}.get(str(run.get("stopped")))
    if words is None:
        return None
    timeline: Mapping[str, Any] = entry.get("timeline") or {}
    return f"The run {words} at {float(timeline.get('ended', run['time'])):.4g} s of virtual time."


def searched(entry: Results) -> str | None:
    """What was searched for the pair that was audited; None where the pair was given."""
    audit: Results = entry["audit"] or {}
    search: Results | None = audit.get("search")
    return f"Pair: {search['sentence']}." if search else None


def stopped(entry: Results, results: Results) -> str | None:
    """After how many transcripts of each world, of those it was allowed, an audit that may end early ended."""
    audit: Results = entry["audit"] or {}
    anytime: Results = audit.get("anytime") or {}
    if not anytime.get("stopped"):
        return None
    most: int = results["scenario"]["audit"]["trials"]
    return f"The audit ended after {audit['trials']:,} of at most {most:,} transcripts of each world: refuted."


def games(entry: Results) -> str | None:
    """What each game proved, white box and black boxes; None where no classifier was asked for: ε audited says it."""
    audit: Results = entry["audit"] or {}
    if not (audit.get("classifier") or audit.get("classifier_refused")):
        return None
    told = [f"the exact loss proves ε ≥ {number(audit['white_box']['epsilon_audited'])} (white box)"]
    for name, what in (("black_box", "inferred gradients"), ("classifier", "the trained classifier")):
        game, refused = audit.get(name), audit.get(f"{name}_refused")
        if game:
            told.append(f"{what} ε ≥ {number(game['epsilon_audited'])}")
        elif refused:
            told.append(f"{what} nothing ({str(refused).rstrip('.')})")
    return f"Games: {', '.join(told)}."


def gradients(entry: Results | None, who: str) -> str | None:
    """What was inferred, by `who` (`findings.listener`), and how well; or why there was no attack."""
    if not entry:
        return None
    if "refused" in entry:
        return f"No attack on the gradients: {_ended(entry['refused'])}"
    if not entry["estimated"]:
        return f"None of {entry['asked']} private gradients could be inferred {_source(who, 'from what was tapped')}."
    found, source = f"{entry['estimated']} of {entry['asked']} private gradients", _source(who, "from the wire")
    if float(entry["worst"]) < findings.EXACT_GRADIENT:
        return f"{found} recovered {source}, the worst to {number(entry['worst'])}."
    worst = f", the worst {number(entry['worst'])}" if findings.misled(entry) else ""
    return (
        f"{found} estimated {source}, median relative error {number(entry['median'])}{worst} "
        f"({number(entry['baseline'])} for who knows only the public quadratic term)."
    )


def _source(who: str, outside: str) -> str:
    """How who is no mere eavesdropper on links got it."""
    return outside if who == "eavesdropper" else f"by the {who}"


def _ended(reason: object) -> str:
    """A reason as the end of a sentence."""
    return str(reason).rstrip(".") + "."


def images(entry: Results | None) -> str | None:
    """How many images were rebuilt, or why none was."""
    if not entry:
        return None
    if "refused" in entry:
        return f"No image was rebuilt: {_ended(entry['refused'])}"
    skills = [float(agent["skill"]) for agent in entry["agents"]]
    rebuilt = sum(skill > REBUILT_SKILL for skill in skills)
    if rebuilt:
        return f"{rebuilt} of {len(skills)} training images rebuilt."
    best = max(skills)
    than = (
        f"better than the prior's guess by more than {best:.1%}" if best > 0.001 else "better than the prior's guess"
    )
    return f"No training image rebuilt: none is {than}."
