"""Sections on attacks: reconstructed records side by side, membership with its ROC, and properties."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from attacks.score.inference import allowed_power
from scenarios.render.page.charts import HEIGHT, WIDTH
from scenarios.render.page.drawing import INK, Series, canvas, inline, series
from scenarios.results import former_reconstructions as defences
from scenarios.results.former_inference import ABSENT, VACUOUS, interval, percent, rate
from scenarios.results.numbers import MISSING, fixed, items, number, numbers, part, show

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


Shown = Sequence[tuple[Result, Series]]
LARGE = 6.0
"""What an ε from here on allows hugs the figure's frame."""


def inference_section(shown: Shown) -> dict[str, Any]:
    """What the template needs: both tables, the ROC with the algorithms it shows, and who was refused."""
    member = [(a, look) for a, look in shown if part(a, "membership")]
    like = [a for a, _ in shown if part(a, "property")]
    played = [(a, look) for a, look in member if a["membership"].get("roc")]
    return {
        "membership": {
            "about": _about(member[0][0]["membership"]) if member else "",
            "rows": [row for a, _ in played for row in _levels(a)],
            "refused": [(a["name"], a["membership"]["refused"]) for a, _ in member if a["membership"].get("refused")],
            "sentences": [(a["name"], a["membership"].get("sentence")) for a, _ in played],
            "roc": roc(played, "roc") if played else None,
            "played": played,
            "confidence": _narrow(member[0][0]["membership"]["confidence"]) if member else "",
            "single": any(a["membership"]["trials"] == 1 for a, _ in played),
            "bordered": borders(played),
            "whose": len(borders(played)) > 0 and borders(played)[0][2] != INK,
            "allowed": any(_tells(one.get("allowed")) for a, _ in played for one in a["membership"]["levels"]),
            "silent": [(a["name"], a["membership"]["claim"]["why_not"]) for a, _ in played if _why(a)],
            "broken": [a["name"] for a, _ in played if a["membership"]["claim"].get("broken")],
        },
        "property": {
            "rows": [_property(a) for a in like if a["property"].get("right")],
            "refused": [(a["name"], a["property"]["refused"]) for a in like if a["property"].get("refused")],
            "allowed": any(_tells(a["property"]["right"].get("allowed")) for a in like if a["property"].get("right")),
            "hypotheses": items(like[0]["property"], "hypotheses") if like else [],
            "about": like[0]["property"] if like else {},
        },
    }


def _narrow(share: Any) -> str:
    """In percent, with a space at which no line ends."""
    return percent(share).replace(" ", "\u202f")


def _why(a: Result) -> Any:
    return part(a["membership"], "claim").get("why_not")


def _tells(allowed: Any) -> bool:
    return number(allowed) < VACUOUS


def _about(found: Result) -> str:
    held = int(number(found["holding"]))
    others = "knows all other records of the agent" if found.get("informed") else "knows no record of the agent"
    if found.get("informed") and held == 1:
        others = "knows which record that may be"
    return (
        f"Agent {found['agent']} holds {held} record{'s' * (held > 1)}. In one world a certain record is there, in "
        f"the other {ABSENT[str(found['adjacency'])]}; the attacker {others}."
    )


def _levels(a: Result) -> list[dict[str, Any]]:
    found = a["membership"]
    return [
        {
            "name": a["name"] if k == 0 else "",
            "of": len(found["levels"]),
            "cells": [
                percent(one["level"]), rate(one["found"]), percent(one["power"]), rate(one["alarms"]),
                percent(one["allowed"]) if _tells(one.get("allowed")) else "–",
            ],
            "whole": _whole(found) if k == 0 else None,
            "over": bool(part(found, "claim").get("broken")),
        }
        for k, one in enumerate(found["levels"])
    ]  # fmt: skip


def _whole(found: Result) -> list[str]:
    pair = (found["advantage"], found["auc"])
    return [fixed(one["estimate"]) if found["trials"] == 1 else interval(one) for one in pair]


def _property(a: Result) -> dict[str, Any]:
    found = a["property"]
    names = [str(one["name"]) for one in found["hypotheses"]]
    return {
        "name": a["name"],
        "cells": [
            rate(found["right"]), percent(found["guess"]), percent(found["said"]), fixed(found["bits"], 2),
            percent(found["right"]["allowed"]) if _tells(found["right"].get("allowed")) else "–",
        ],
        "confusion": [
            (name, [f"{int(n)}" for n in counts]) for name, counts in zip(names, found["confusion"], strict=True)
        ],
        "named": names,
    }  # fmt: skip


def roc(shown: Shown, prefix: str) -> Markup:
    """Found against false alarms, each level with its intervals, and the border of what the claim allows."""
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        plot: Any = axes
        plot.plot([0, 1], [0, 1], color=INK, alpha=0.5, linewidth=1, linestyle=(0, (2, 2)))
        for a, look in shown:
            found = a["membership"]
            x, y = (numbers(found["roc"][key]) for key in ("alarms", "found"))
            plot.plot(x, y, **look.line, **series(look.index))
            _crosses(plot, found, look)
        for epsilon, delta, colour in borders(shown):
            _border(plot, epsilon, delta, colour)
        plot.set_xlim(-0.01, 1.01)
        plot.set_ylim(-0.01, 1.01)
        plot.grid()
        plot.set_xlabel("false alarms")
        plot.set_ylabel("found")
        areas = "; ".join(f"{a.get('name')}: {show(a['membership']['auc']['estimate'])}" for a, _ in shown)
        return inline(figure, prefix, f"Membership: found against false alarms. Area under the curve, {areas}.")


def _crosses(plot: Any, found: Result, look: Series) -> None:
    for one in items(found, "levels"):
        x, y = one["alarms"], one["found"]
        style: Any = {"color": look.colour, "linewidth": 1, **series(look.index)}
        plot.plot([number(x["low"]), number(x["high"])], [number(y["rate"])] * 2, **style)
        plot.plot([number(x["rate"])] * 2, [number(y["low"]), number(y["high"])], **style)
        marker: Any = {"marker": look.marker, "markersize": 5.5, "color": look.colour, "linestyle": "none"}
        plot.plot([number(x["rate"])], [number(y["rate"])], **marker, **series(look.index))


def borders(shown: Shown) -> list[tuple[float, float, str]]:
    """ε, δ and colour of each border: in ink where all algorithms claim the same, else in that of its own, so that
    nobody is measured by what another one claims. One that is no more than the figure's frame is left out."""
    claims = [(part(a["membership"], "claim"), look) for a, look in shown]
    found = {(number(c.get("epsilon")), number(c.get("delta"))): look for c, look in claims}
    return [(*pair, INK if len(found) == 1 else look.colour) for pair, look in found.items() if pair[0] < LARGE]


def _border(plot: Any, epsilon: float, delta: float, colour: str) -> None:
    """Above it the claim does not hold."""
    x = np.linspace(0, 1, 201)
    y = [allowed_power(float(one), epsilon, delta) for one in x]
    plot.plot(x, y, color=colour, linewidth=1.2, linestyle=(0, (7, 3)), alpha=0.8)
