"""Numbers of the page in rows."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from scenarios.render.page.plan import Marks
from scenarios.results.numbers import MISSING, count, exact, fixed, items, number, numbers, part, percent, show

Result = Mapping[str, Any]
MOST_AGENTS, MOST_GROUPS = 8, 4
"""Agents whose hidden gradients are listed one by one, and kinds of agents that are told apart beyond."""
_TRAFFIC = {
    "packets_sent": "Packets sent",
    "packets_delivered": "Packets delivered",
    "packets_lost": "Packets lost",
    "bytes_sent": "Bytes sent",
    "bytes_delivered": "Bytes delivered",
    "bytes_lost": "Bytes lost",
    "bytes_in_flight": "Bytes in flight",
}


@dataclass(frozen=True)
class Line:
    """A row: what it is, how to read it, and a cell for each algorithm; `same` if one cell speaks for all."""

    label: str
    hint: str
    cells: tuple[str, ...]
    strong: bool = False

    @property
    def same(self) -> bool:
        return not self.strong and len(set(self.cells)) == 1 and len(self.cells) > 1


@dataclass(frozen=True)
class Group:
    """Rows under one heading."""

    title: str
    lines: tuple[Line, ...]


# ── the evidence of the audits ──────────────────────────────────────────────────────────────────────────
def evidence(judged: Sequence[Result]) -> list[Group]:
    """The table beside the picture of the three epsilons."""
    audits = [a["audit"] for a in judged]
    learned = any(a.get("classifier") or a.get("classifier_refused") for a in audits)

    def line(label: str, hint: str, cell: Callable[[Result], str], strong: bool = False) -> Line:
        return Line(label, hint, tuple(cell(audit) for audit in audits), strong)

    return [
        Group(
            "The three epsilons",
            (
                line("ε claimed", "by the formula", lambda a: show(a.get("epsilon_claimed"), 4), True),
                line("ε exact", "of the pair examined", _exact, True),
                line("ε audited", "proved from below", lambda a: _bound(a.get("epsilon_audited")), True),
            ),
        ),
        Group(
            "What is claimed",
            (
                line("Source", "", lambda a: _text(_claim(a).get("source"))),
                line("δ", "", lambda a: show(_claim(a).get("delta"))),
                line("Adjacency", "which worlds count as adjacent", lambda a: _text(_claim(a).get("adjacency"))),
                line("Change of the gradient", "at most, between adjacent worlds", _change),
                line(
                    "Failed conditions",
                    "of the formula",
                    lambda a: "; ".join(items(_claim(a), "failed_conditions")) or "none",
                ),
            ),
        ),
        Group(
            "What the mechanism gives",
            (
                line("Pair examined", "", lambda a: _text(a.get("pair"))),
                line("Activations examined", "of the audited agent", lambda a: count(a.get("activations"))),
                line("How ε exact was found", "", _method),
                line("Message no noise covers", "", _uncovered),
                line("Not judged", "noise below the rounding of the values", _unjudged),
                line("First violating activation", "of the audited agent", lambda a: _activation(a)),
                line("Witness", "a transcript, for netsim witness", lambda a: _text(a.get("witness"))),
            ),
        ),
        Group(
            "What the game proved",
            (
                line(
                    "Transcripts",
                    "of each world; some choose the thresholds, the others are the trials",
                    lambda a: count(a.get("trials")),
                ),
                line("Confidence", "of all that is said, together", lambda a: _confidence(a.get("confidence"))),
                Line("Before it started", "what it could find", tuple(_planned(a) for a in judged)),
                line("White box", "sees the exact loss", lambda a: _game(a.get("white_box"), None)),
                line(
                    "Black box",
                    "sees what the taps give",
                    lambda a: _game(a.get("black_box"), a.get("black_box_refused")),
                ),
                *([line("Black box, trained", "a classifier that is shown the links", _trained)] if learned else []),
                line("Anytime game", "the exact loss, coin by coin", _anytime),
            ),
        ),
        Group(
            "Self-checks",
            (
                line("Mean of e⁻ᴸ", "L: the loss; at most 1 but for sampling; from each world", _mean),
                line("Noise follows its law", "p-value; from each world", _law),
            ),
        ),
    ]


def _claim(audit: Result) -> Result:
    return part(audit, "claim")


def _text(value: Any, absent: str = MISSING) -> str:
    return str(value) if value else absent


def _exact(audit: Result) -> str:
    epsilon = part(audit, "epsilon_exact")
    low, middle, high = (show(epsilon.get(k), 4) for k in ("lower", "estimate", "upper"))
    text = exact(epsilon, 4)
    if low == high or text == f"≥ {low}" == f"≥ {middle}":
        return text
    return f"{text} (the sample's estimate: {middle})" if text == f"≥ {low}" else f"{text} ({low} to {high})"


def _bound(value: Any) -> str:
    return MISSING if number(value) != number(value) else f"≥ {show(value, 4)}"


def _change(audit: Result) -> str:
    claim = _claim(audit)
    return f"{show(claim.get('gradient_change'), 4)} in ℓ2; the claim is stated in {_text(claim.get('norm'))}"


def _method(audit: Result) -> str:
    epsilon = part(audit, "epsilon_exact")
    if not epsilon:
        return MISSING
    if number(epsilon.get("lower")) == float("inf"):
        return "the transcripts of the two worlds tell them apart with certainty"
    closed = math.isfinite(number(epsilon.get("upper")))
    if epsilon.get("by_formula"):
        how = "the estimate is by a formula, from the noise of the releases"
        if not closed and number(_claim(audit).get("delta")) == 0:
            how += "; at δ = 0 the upper end stays open, for what was never seen may cost more"
    else:
        how = "from below by sampled losses, from above " + ("by a bound on the cost" if closed else "not at all")
    more = "; an upper bound, for some noise is not on the wire verbatim"
    return how + (more if epsilon.get("upper_bound_only") else "")


def _uncovered(audit: Result) -> str:
    if audit.get("uncovered"):
        return str(audit["uncovered"])
    rare = [f"{leak['message']}: in {show(leak['share'], 2)} of the transcripts" for leak in items(audit, "leaks")]
    return "\n".join(rare) or "none found"


def _unjudged(audit: Result) -> str:
    first = audit.get("not_judged_from")
    return "nothing" if first is None else f"from activation {count(first)} on"


def _activation(audit: Result) -> str:
    return "none" if audit.get("first_violation") is None else count(audit["first_violation"])


def _confidence(value: Any) -> str:
    return MISSING if number(value) != number(value) else show(value, 4)


def _game(game: Result | None, refused: str | None) -> str:
    if not game:
        return f"not played: {refused}" if refused else "not played"
    return (
        f"ε ≥ {show(game.get('epsilon_audited'), 4)}\n"
        f"{count(game.get('correct'))} of {count(game.get('guesses'))} guesses right, "
        f"in {count(game.get('trials'))} trials\n"
        f"P(right) ≥ {fixed(game.get('accuracy_lower'), 4)}\n"
        f"could prove {show(game.get('ceiling'), 4)} at most\n"
        f"confidence {_confidence(game.get('confidence'))}"
    )


def _planned(judged: Result) -> str:
    plan = part(judged, "plan")
    return _text(plan.get("warning") or plan.get("summary"))


def _anytime(audit: Result) -> str:
    game = part(audit, "anytime")
    if not game:
        return MISSING
    if game.get("stopped"):
        return f"{game['sentence']} It ended the audit."
    by_itself = "" if game.get("counts") else " By itself at this level; the verdict does not use it."
    return f"{game['sentence']}{by_itself}"


def _trained(audit: Result) -> str:
    game: Result | None = audit.get("classifier")
    told = _game(game, audit.get("classifier_refused"))
    return f"{told}\n{game.get('model')}, taught by {count(game.get('taught'))} of each world" if game else told


def _mean(audit: Result) -> str:
    return _checked(part(audit, "checks"), "mean_exp_minus_loss", "mean_passed", 4)


def _law(audit: Result) -> str:
    return _checked(part(audit, "checks"), "noise_law_p", "noise_law_passed", 2)


def _checked(checks: Result, name: str, passed: str, digits: int) -> str:
    """The numbers of a self-check, one for each direction, each with whether it passed, where that is known."""
    words = {True: " ✓ passed", False: " ✗ failed"}
    values, marks = numbers(checks.get(name)), items(checks, passed)
    told = [words.get(mark, "") for mark in marks] if len(marks) == len(values) else [""] * len(values)
    return ", ".join(f"{show(v, digits)}{mark}" for v, mark in zip(values, told, strict=True)) or MISSING


# ── the runs ────────────────────────────────────────────────────────────────────────────────────────────
def runs(ordered: Sequence[Result]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The algorithms that ran, and rows: convergence, time and traffic of each; traffic that never was has no row."""
    ran = [a for a in ordered if a["run"] or a["convergence"]]
    counted = [part(a["run"], "traffic") for a in ran]
    keys = [
        k for k in dict.fromkeys(k for one in counted for k in one) if k in _TRAFFIC or any(c.get(k) for c in counted)
    ]
    rows = [
        ("Final relative error", [show(a["convergence"].get("final")) for a in ran]),
        ("Replicas", [count(a["convergence"].get("replicas")) for a in ran]),
        ("Θ", [count(a["run"].get("largest_activations")) for a in ran]),
        ("Virtual time, s", [show(a["run"].get("time"), 4) for a in ran]),
    ]
    for key in keys:
        name = _TRAFFIC.get(key, key.replace("_", " ").capitalize())
        rows.append((name, [count(one.get(key)) for one in counted]))
    if any(a.get("rejected") for a in ran):
        rows.append(("Packets rejected", [count(a.get("rejected") or 0) for a in ran]))
    return [str(a["name"]) for a in ran], rows if ran else []


def hidden(gradients: Result) -> str:
    """How many gradients of each agent stayed hidden, shortly where all agree or there are many agents.

    An agent that is asked for none, an insider, has a dash.
    """
    each = _hidden(gradients)
    told = [h for h, _ in each if h is not None]
    if len(told) > 1 and len(set(told)) == 1:
        return f"{count(told[0])} each" + (f" ({_agents(len(told))})" if len(told) < len(each) else "")
    if len(each) <= MOST_AGENTS:
        return ", ".join(MISSING if h is None else count(h) for h, _ in each) or MISSING
    groups = Counter("all" if h == asked else "none" if h == 0 else count(h) for h, asked in each if h is not None)
    if len(groups) <= MOST_GROUPS:
        return "; ".join(f"{word}: {_agents(n)}" for word, n in groups.items())
    return f"{count(min(told))} to {count(max(told))}, median {show(median(told))}"


def hidden_in_full(gradients: Result) -> str:
    """The same agent by agent, where `hidden` is a summary; else empty."""
    each = _hidden(gradients)
    if len(each) <= MOST_AGENTS:
        return ""
    return ", ".join(f"agent {i}: {MISSING if h is None else count(h)}" for i, (h, _) in enumerate(each))


def _hidden(gradients: Result) -> list[tuple[int | None, int | None]]:
    """For each agent how many stayed hidden of how many; None where that is not known, or nothing was asked."""
    counts = [int(value) for value in numbers(gradients.get("hidden"))]
    inferred = [int(value) for value in numbers(gradients.get("inferred"))]
    if len(inferred) != len(counts):
        return [(h, None) for h in counts]
    return [(h if h + f else None, h + f) for h, f in zip(counts, inferred, strict=True)]


def _agents(number_of: int) -> str:
    return f"{count(number_of)} agent{'s' * (number_of != 1)}"


# ── the setting ─────────────────────────────────────────────────────────────────────────────────────────
def problem_facts(problem: Result) -> list[tuple[str, str]]:
    """The problem as pairs of term and value."""
    if not problem:
        return []
    shares = [int(v) for v in numbers(problem.get("records_per_agent")) if v == v]
    each = f", {min(shares)} to {max(shares)} per agent" if shares else ""
    if shares and min(shares) == max(shares):
        each = f", {shares[0]} per agent"
    if problem.get("held_out"):
        each += f"; {count(problem['held_out'])} more held out"
    curvature = f"{show(problem.get('smoothness'))} / {show(problem.get('strong_convexity'))}"
    held_out = ", the test part" if problem.get("part") == "test" else ""
    note = [("Note on the data", _text(problem["note"]))] if problem.get("note") else []
    stationary = "a stationary point" if problem.get("optimum_is_stationary_only") else "the optimum"
    return [
        ("Problem", _text(problem.get("kind")).replace("_", " ")),
        ("Data", f"{_text(problem.get('data'))}, {count(problem.get('records'))} records{held_out}{each}"),
        *note,
        ("Agents, dimension", f"{count(problem.get('agents'))}, {count(problem.get('dimension'))}"),
        ("Smoothness / strong convexity", curvature),
        (f"Residual at {stationary}", show(problem.get("optimum_residual"))),
    ]


def network_facts(net: Result) -> dict[str, Any]:
    """What the caption of the network says, its legend, and its settings as pairs of term and texts."""
    marks, place = Marks.of(net), part(net, "eavesdropper")
    settings: dict[str, list[str]] = {}
    for term, text in items(net, "settings"):
        settings.setdefault(str(term), []).append(str(text))
    tapped, links, agents = len(marks.tapped), len(marks.links), len(items(net, "positions"))
    return {
        "name": _text(net.get("name"), "network"),
        "agents": count(agents),
        "links": count(links),
        "tapped": count(tapped),
        "share": percent(tapped / links) if links else MISSING,
        "radio": marks.on_radio,
        "heard": count(len(marks.heard)),
        "heard_share": percent(len(marks.heard) / max(1, agents)),
        "at_ends": len(marks.at_ends),
        "meddled": len(marks.meddled),
        "sealed": bool(marks.sealed),
        "nodes": ", ".join(map(str, sorted(marks.doors))),
        "insiders": ", ".join(map(str, sorted(marks.insiders))),
        "place": ", ".join(show(value) for value in items(place, "at")),
        "range": show(place.get("range")),
        "gap": show(net.get("spectral_gap")),
        "legend": marks.legend,
        "settings": list(settings.items()),
    }
