"""The section on attacks that decide: membership with its ROC and what the claim allows, and properties."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from attacks.score.decisions import allowed_power
from scenarios.report.decisions import ABSENT, VACUOUS, interval, percent, rate
from scenarios.report.figures import HEIGHT, WIDTH
from scenarios.report.formats import fixed, items, number, numbers, part, show
from scenarios.report.series import Series
from scenarios.report.svg import INK, canvas, inline, series

Result = Mapping[str, Any]
Shown = Sequence[tuple[Result, Series]]
LARGE = 6.0
"""What an ε from here on allows hugs the figure's frame."""


def decided(shown: Shown) -> dict[str, Any]:
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
