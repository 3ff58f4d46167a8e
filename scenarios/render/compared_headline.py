"""The finding of a comparison in a few sentences: what is not whole, and in which verdicts and errors runs differ."""

from collections.abc import Sequence
from dataclasses import replace

from scenarios.render.compared_runs import Run, redrawn
from scenarios.render.comparison import COSTS, ONE_REPLICA, Comparison, Subject, algorithm, length, other_length
from scenarios.render.sentences import ATTACKED, NOT_AUDITED, Finding, apart, headline, stopped_early, tally, word
from scenarios.results import findings
from scenarios.results.audit import AuditRefused, AuditResult
from scenarios.results.base import as_json
from scenarios.results.numbers import plural, show

_MOST = 3
"""Algorithms that are named one by one."""
_SLIGHT, _MULTIPLE = 0.03, 3.0
"""A change of a cost that is no news, and a ratio from which on it is no percentage."""


def compared_headline(comparison: Comparison) -> str:
    """The finding: first what is not there, then how the verdicts lie to each other, then what was not audited."""
    return " ".join(
        filter(
            None,
            (
                *(_unfinished(run) for run in comparison.runs if run.results.status != "complete"),
                _problems(comparison) or ("" if comparison.pairs else "The runs have no algorithm in common."),
                _the_same(comparison) or _verdicts(comparison),
                _not_audited(comparison),
                _errors(comparison),
                _draws(comparison),
                *_costs(comparison),
            ),
        )
    )


def _findings(subjects: Sequence[Subject]) -> list[Finding]:
    return [Finding(replace(one.entry, name=one.label)) for one in subjects]


def _unfinished(run: Run) -> str:
    """That a run is not whole, and which of its algorithms are not done, or how many."""
    names = [one.name for one in run.results.scenario.algorithms]
    if run.slugs is not None:
        names = [entry.name for entry in run.entries]
    whole = [
        entry.name
        for entry in run.entries
        if word(entry) not in ("not reached", findings.INTERRUPTED) and stopped_early(entry) is None
    ]
    left = [name for name in names if name not in whole]
    many = f": {len(left)} of its {plural(len(names), 'algorithm')} {'is' if len(left) == 1 else 'are'} not done"
    named = f" ({'; '.join(left)})" if len(left) <= _MOST else ""
    return f"{run.label} is {run.results.status}{many + named if left else ''}."


def _problems(comparison: Comparison) -> str:
    solved = [run for run in comparison.runs if run.results.problem is not None]
    kinds: list[Run] = []
    for run in solved:
        if not any((one.posed, one.split) == (run.posed, run.split) or redrawn(one, run) for one in kinds):
            kinds.append(run)
    if len(kinds) < 2:
        return ""
    if len(kinds) == len(solved):
        return "The runs solve different problems: their errors are not comparable."
    return "Not all runs solve one problem: errors of different problems are not comparable."


def _groups(comparison: Comparison) -> list[list[Subject]]:
    """Each base with those that are set beside it."""
    groups: dict[str, list[Subject]] = {}
    for base, other in comparison.pairs:
        groups.setdefault(base.label, [base]).append(other)
    return list(groups.values())


def _the_same(comparison: Comparison) -> str:
    """A sentence where runs differ in no field: whether their numbers do."""
    whole = all(run.results.status == "complete" for run in comparison.runs)
    if len(comparison.runs) < 2 or comparison.differences or comparison.unrecorded or not whole:
        return ""
    groups = _groups(comparison)
    if sum(map(len, groups)) < len(comparison.subjects):
        return ""
    numbers = [{as_json(replace(algorithm(one), label="", run="")) for one in group} for group in groups]
    if any(len(alike) > 1 for alike in numbers):
        return f"No field differs, and yet some numbers do. {_verdicts(comparison)}"
    words = tally([word(group[0].entry) for group in groups])
    return f"The runs are the same in every field and every number. Verdicts: {words}."


def _verdicts(comparison: Comparison) -> str:
    """How verdicts of one algorithm lie to each other, and those of one run alone; where nothing is set beside
    another, or all are of one run, the finding as of a single run."""
    judged = [[one for one in group if findings.verdict(one.entry)] for group in _groups(comparison)]
    judged = [group for group in judged if len(group) > 1]
    every = _findings(comparison.subjects)
    if len(comparison.runs) == 1:
        return headline(every)
    if not judged:
        runs = [run for run in comparison.runs if any(map(findings.verdict, run.entries))]
        return " ".join(map(_of_one, runs)) if 0 < len(runs) <= _MOST else headline(every)
    differ = [group for group in judged if len({word(one.entry) for one in group}) > 1]
    alike = [word(group[0].entry) for group in judged if group not in differ]
    said = [f"{_one_by_one(group)}." for group in differ[:_MOST]]
    if len(differ) > _MOST:
        said.append(f"{plural(len(differ) - _MOST, 'more verdict')} differ{'s' * (len(differ) == _MOST + 1)}.")
    if alike:
        one = len(alike) == 1
        which = f"The other verdict{'' if one else 's'}" if differ else f"The verdict{'' if one else 's'}"
        words = alike[0] if one else tally(alike)
        said.append(f"{which} {'is' if one else 'are'} the same in {_where(comparison, judged)}: {words}.")
    beside = [one.label for group in judged for one in group]
    alone = [one for one in comparison.subjects if one.label not in beside and findings.verdict(one.entry)]
    if alone:
        named = "; ".join(f"{one.label} ({word(one.entry)})" for one in alone)
        words = named if len(alone) <= _MOST else tally([word(one.entry) for one in alone])
        said.append(f"Audited in one run alone: {words}.")
    return " ".join([*said, *apart(every)])


def _of_one(run: Run) -> str:
    """The finding of one run, behind its label."""
    said = headline([Finding(entry) for entry in run.entries])
    return f"{run.label}: {said[:1].lower()}{said[1:]}"


def _where(comparison: Comparison, judged: Sequence[Sequence[Subject]]) -> str:
    """The runs that all of these groups have a verdict in."""
    runs = {tuple(one.run.label for one in group) for group in judged}
    labels = next(iter(runs))
    if len(runs) > 1 or len(labels) > _MOST:
        return "all runs that have one"
    return "both runs" if len(labels) == len(comparison.runs) == 2 else _and(labels)


def _one_by_one(group: Sequence[Subject]) -> str:
    """The verdict of each of a group: those of one algorithm by their runs."""
    words: dict[str, list[Subject]] = {}
    for one in group:
        words.setdefault(word(one.entry), []).append(one)
    if len({one.entry.name for one in group}) == 1:
        runs = (f"{verdict} in {_and([one.run.label for one in some])}" for verdict, some in words.items())
        return f"{group[0].entry.name} is {_and(list(runs))}{_examined(group)}"
    return ", ".join(
        f"{_and([one.label for one in some])} {'is' if len(some) == 1 else 'are'} {verdict}"
        for verdict, some in words.items()
    )


def _examined(group: Sequence[Subject]) -> str:
    """How often the audited agents of one algorithm were active, where these are not as many times: ε grows with
    them."""
    audits = [(one.run.label, one.entry.audit) for one in group if isinstance(one.entry.audit, AuditResult)]
    times = [(label, audit.activations) for label, audit in audits]
    if len({count for _, count in times}) < 2:
        return ""
    each = [f"{'once' if count == 1 else f'{count:,} times'} in {label}" for label, count in times]
    return f" (the audited agent was active {_and(each)})"


def _not_audited(comparison: Comparison) -> str:
    """Runs, and algorithms of others, that were not audited, where something was."""
    if not any(findings.verdict(one.entry) for one in comparison.subjects):
        return ""
    left = [one for one in comparison.subjects if word(one.entry) in (NOT_AUDITED, ATTACKED)]
    done = {one.run.label for one in comparison.subjects if findings.verdict(one.entry)}
    refused = {one.run.label for one in left if isinstance(one.entry.audit, AuditRefused)}
    names = list(
        dict.fromkeys(
            run if (run := one.run.label) not in done | refused and len(comparison.runs) > 1 else one.label
            for one in left
        )
    )
    if len(names) > _MOST:
        return f"{len(names)} were not audited."
    return f"{_and(names)} {'was' if len(names) == 1 else 'were'} not audited." if names else ""


def _errors(comparison: Comparison) -> str:
    """How many final errors are told apart from those of their bases, where both solved the same."""
    found = [
        one.final_error
        for one in comparison.against
        if one.final_error is not None and one.other not in comparison.redrawn
    ]
    if comparison.against and all(one.final_error is not None and one.final_error.same for one in comparison.against):
        alone = len(comparison.subjects) > len({one.label for pair in comparison.pairs for one in pair})
        both = "both" if len(comparison.runs) == 2 else "several"
        of = f" of the {len(comparison.against)} in {both} runs" if alone else ""
        return "" if _the_same(comparison) else f"No final error{of} differs."
    differ = [one for one in found if one.told_apart]
    if not differ:
        return ""
    if len(found) == 1:
        (one,) = [one for one in comparison.against if one.final_error is differ[0]]
        return f"The final error of {one.other} is {show(differ[0].estimate, 3)} × that of {one.base}, beyond noise."
    if len(comparison.runs) == 1:
        base = comparison.against[0].base
        return f"Final errors that differ from that of {base} beyond noise: {len(differ)} of {len(found)}."
    return f"{len(differ)} of {len(found)} final errors {'differs' if len(differ) == 1 else 'differ'} beyond noise."


def _draws(comparison: Comparison) -> str:
    """Where seeds split the data in other ways: how many errors differ beyond noise, and by that, and for how many
    algorithms a run had another length."""
    redrawn = [one for one in comparison.against if one.other in comparison.redrawn]
    if not redrawn:
        return ""
    found = [one.final_error for one in redrawn if one.final_error is not None]
    single = sum(one.why.get("final_error") == ONE_REPLICA for one in redrawn)
    differ = sum(one.told_apart for one in found)
    said = "The seeds split the data in other ways, and errors differ by that, too"
    if found:
        said += f". {differ} of {plural(len(found), 'final error')} differ{'s' * (differ == 1)} beyond noise"
    if single:
        more = f"; {single} more" if found else f". {plural(single, 'final error')}"
        said += f"{more} {'has' if single == 1 else 'have'} one replica, too few to tell"
    pairs = [pair for pair in comparison.pairs if pair[1].label in comparison.redrawn]
    other = [pair for pair in pairs if other_length(*pair)]
    if not other:
        return f"{said}."
    lengths = {tuple(map(length, pair)) for pair in other}
    which = f" ({' against '.join(next(iter(lengths)))})" if len(lengths) == 1 else ""
    return f"{said}. {len(other)} of {plural(len(pairs), 'algorithm')} ran for another length{which}."


def _costs(comparison: Comparison) -> list[str]:
    """By how much costs of each later run are above those of its base, or below, where that is news: with one seed,
    and of runs that went to their ends."""
    runs: dict[str, list[dict[str, float]]] = {}
    for (base, other), costs in zip(comparison.pairs, comparison.costs, strict=True):
        ran = (one.entry.run is not None and one.entry.run.stopped is None for one in (base, other))
        if base.run is not other.run and base.run.results.seed == other.run.results.seed and all(ran):
            runs.setdefault(other.run.label, []).append(costs)
    said: list[str] = []
    for label, each in runs.items():
        words = [_change(what, [one[name] for one in each if name in one]) for name, what in COSTS.items()]
        if changes := [one for one in words if one]:
            said.append(f"In {label} {_and(changes)}.")
    if len(said) > _MOST:
        return [f"Bytes sent or virtual time differ in {len(said)} runs."]
    return said


def _change(what: str, ratios: Sequence[float]) -> str:
    """How a cost changes in all algorithms that it changes of; empty where that is slight."""
    news = [one for one in ratios if abs(one - 1) > _SLIGHT]
    if not news:
        return ""
    low, high = min(news), max(news)
    verb = "are" if what.startswith("bytes") else "is"
    of = f" for {len(news)} of {len(ratios)} algorithms" if len(news) < len(ratios) else ""
    if high > _MULTIPLE or low < 1 / _MULTIPLE:
        ends = list(dict.fromkeys((show(low, 2), show(high, 2))))
        return f"{what} {verb} {' to '.join(ends)} × as before{of}"
    if low < 1 < high:
        return f"{what} {verb} between {100 * (1 - low):.0f} % down and {100 * (high - 1):.0f} % up{of}"
    ends = list(dict.fromkeys(f"{100 * abs(one - 1):.0f}" for one in sorted((low, high), key=lambda v: abs(v - 1))))
    return f"{what} {verb} {'up' if low > 1 else 'down'} {' to '.join(ends)} %{of}"


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
