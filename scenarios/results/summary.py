# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""Tables of results for pandas, polars and duckdb: one row an algorithm, and one a reconstruction attack."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow
from pyarrow import parquet

from scenarios.results import former_curves as leaks
from scenarios.results.former_curves import NotMeasuredError
from scenarios.results.former_inference import headline
from scenarios.results.numbers import items, number, numbers, part

Row = dict[str, Any]
Columns = Mapping[str, tuple[Any, str]]
"""Column → its Arrow type, and what it means."""
ALGORITHMS, ATTACKS = "algorithms.parquet", "attacks.parquet"
VARIANT: Columns = {"variant": (pyarrow.string(), "its name; null where the scenario has no variants")}
COLUMNS: Columns = {
    "algorithm": (pyarrow.string(), "its name; null where the run did not get to one"),
    "unit": (pyarrow.string(), "rounds, or activations of a walk"),
    "count": (pyarrow.int64(), "how many of these there were"),
    "final_error": (pyarrow.float64(), "relative error at the end, median over replicas"),
    "epsilon_claimed": (pyarrow.float64(), "by the paper's formula, at the end; null where nothing is claimed"),
    "delta": (pyarrow.float64(), "of the claim; null where nothing was audited"),
    "epsilon_exact_lower": (pyarrow.float64(), "of the audit's pair: proven to be at least this"),
    "epsilon_exact_upper": (pyarrow.float64(), "and at most this"),
    "epsilon_audited": (pyarrow.float64(), "lower bound by the distinguishing game"),
    "verdict": (pyarrow.string(), "of the audit; null where none was asked"),
    "gradient_error": (pyarrow.float64(), "of inferred gradients, median; null where none were inferred"),
    "identifiable": (pyarrow.float64(), "share of the agents' queries with an estimate"),
    "image_skill": (pyarrow.float64(), "of images rebuilt by attacks.images, mean over agents; null without them"),
    "best_attack": (pyarrow.string(), "that of attacks.reconstruct with the highest skill; null without one"),
    "best_skill": (pyarrow.float64(), "its skill: 1 − MSE/MSE of the best guess without a transcript, median"),
    "packets": (pyarrow.int64(), "on the air, acknowledgements and repeats too"),
    "bytes": (pyarrow.int64(), "of these"),
    "time": (pyarrow.float64(), "virtual seconds of the run"),
}
"""Of a row for an algorithm: columns with their types and meanings."""
ATTACK_COLUMNS: Columns = {
    "algorithm": (pyarrow.string(), "whose transcript it read"),
    "attack": (pyarrow.string(), "its name in the scenario"),
    "kind": (pyarrow.string(), "which attack it is"),
    "inversion": (pyarrow.string(), "of gradients: strongest (inferred here), or published"),
    "verdict": (pyarrow.string(), "the most frequent one; null where it could not be run"),
    "refused": (pyarrow.string(), "why it could not be run, else null"),
    "skill": (pyarrow.float64(), "1 − MSE/MSE of the best guess without a transcript, median"),
    "mse": (pyarrow.float64(), "mean square error of the records, median"),
    "psnr": (pyarrow.float64(), "dB of the declared range, median"),
    "ssim": (pyarrow.float64(), "of images, median"),
    "success_rate": (
        pyarrow.float64(),
        "how often all records of an agent were rebuilt to the distance; of membership, how often the record was "
        "found at the level nearest to 5 %; of a property, how often the right one was named",
    ),
    "success_low": (pyarrow.float64(), "lower end of its interval (Clopper-Pearson)"),
    "success_high": (pyarrow.float64(), "upper end"),
    "guess_rate": (pyarrow.float64(), "the same of the best guess without a transcript"),
    "advantage": (pyarrow.float64(), "of membership: found less false alarms where the score is above 0, else null"),
    "advantage_low": (pyarrow.float64(), "lower end of its interval"),
    "advantage_high": (pyarrow.float64(), "upper end"),
}
"""Of a row for an attack on records, or for one that decides."""


def algorithm_rows(results: Mapping[str, Any]) -> list[Row]:
    """A row for each algorithm of a run's results, with the keys of `COLUMNS`."""
    return [_algorithm(entry) for entry in items(results, "algorithms")]


def attack_rows(results: Mapping[str, Any]) -> list[Row]:
    """A row for each attack of `attacks.reconstruct`, for membership and for a property, on each algorithm, with the
    keys of `ATTACK_COLUMNS`."""
    return [row for entry in items(results, "algorithms") for row in _attacks(entry)]


def _attacks(entry: Mapping[str, Any]) -> list[Row]:
    rows = [_attack(entry, one) for one in items(part(entry, "reconstructions"), "attacks")]
    return rows + [_decided(entry, name) for name in ("membership", "property") if entry.get(name)]


def write(found: Sequence[Row], columns: Columns, path: Path, first: Mapping[str, Any] | None = None) -> None:
    """Rows as Parquet: the columns `first`, then these; each carries its meaning as metadata. Whole or not at all."""
    fields = [pyarrow.field(name, kind, metadata={"meaning": words}) for name, (kind, words) in columns.items()]
    arrays = [pyarrow.array([row.get(field.name) for row in found], field.type) for field in fields]
    before = dict(first or {})
    named = [pyarrow.field(name, one.type) for name, one in before.items()]
    table = pyarrow.Table.from_arrays([*before.values(), *arrays], schema=pyarrow.schema([*named, *fields]))
    draft = path.with_name(f"{path.name}.{uuid4().hex}.part")  # of this process alone: shares end at the same time
    try:
        parquet.write_table(table, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_tables(runs: Mapping[Any, Mapping[str, Any]], folder: Path) -> None:
    """`folder`/algorithms.parquet and attacks.parquet, each where there is a row for it, by variant."""
    for name, columns, rows in ((ALGORITHMS, COLUMNS, algorithm_rows), (ATTACKS, ATTACK_COLUMNS, attack_rows)):
        found = [{"variant": variant} | row for variant, results in runs.items() for row in rows(results)]
        if found:
            write(found, {**VARIANT, **columns}, folder / name)


def _algorithm(entry: Mapping[str, Any]) -> Row:
    audit, run, convergence = part(entry, "audit"), part(entry, "run"), part(entry, "convergence")
    counts, traffic = numbers(convergence.get("count")), part(run, "traffic")
    exact, best = part(audit, "epsilon_exact"), _best(entry)
    return {
        "algorithm": entry.get("name"),
        "unit": convergence.get("unit"),
        "count": int(counts[-1]) if counts else None,
        "final_error": None if run.get("stopped") else _number(convergence.get("final")),
        "epsilon_claimed": _claimed(entry),
        "delta": _number(part(audit, "claim").get("delta")),
        "epsilon_exact_lower": _number(exact.get("lower")),
        "epsilon_exact_upper": _number(exact.get("upper")),
        "epsilon_audited": _number(audit.get("epsilon_audited")),
        "verdict": audit.get("verdict"),
        "gradient_error": _leak(entry, "gradient_error"),
        "identifiable": _leak(entry, "identifiable"),
        "image_skill": _leak(entry, "image_skill"),
        "best_attack": best.get("attack"),
        "best_skill": _number(best.get("skill")),
        "packets": traffic.get("packets_sent"),
        "bytes": traffic.get("bytes_sent"),
        "time": _number(run.get("time")),
    }


def _attack(entry: Mapping[str, Any], one: Mapping[str, Any]) -> Row:
    success = part(one, "success")
    return {
        "algorithm": entry.get("name"),
        **{key: one.get(key) for key in ("attack", "kind", "inversion", "verdict", "refused")},
        **{key: _number(one.get(key)) for key in ("skill", "mse", "psnr", "ssim")},
        "success_rate": _number(success.get("rate")),
        "success_low": _number(success.get("low")),
        "success_high": _number(success.get("high")),
        "guess_rate": _number(success.get("guess")),
    }


def _decided(entry: Mapping[str, Any], name: str) -> Row:
    """Of an attack that decides."""
    found = part(entry, name)
    rate, guess = part(found, "right"), found.get("guess")
    if levels := items(found, "levels"):
        level = headline(levels)
        rate, guess = level["found"], level["level"]
    advantage = part(found, "advantage")
    return {
        "algorithm": entry.get("name"),
        "attack": name,
        "kind": name,
        **{key: found.get(key) for key in ("inversion", "refused")},
        "success_rate": _number(rate.get("rate")),
        "success_low": _number(rate.get("low")),
        "success_high": _number(rate.get("high")),
        "guess_rate": _number(guess),
        "advantage": _number(advantage.get("estimate")),
        "advantage_low": _number(advantage.get("low")),
        "advantage_high": _number(advantage.get("high")),
    }


def _best(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attack with the highest skill; nothing where none has one."""
    found = [one for one in items(part(entry, "reconstructions"), "attacks") if _number(one.get("skill")) is not None]
    return max(found, key=lambda one: number(one["skill"]), default={})


def _claimed(entry: Mapping[str, Any]) -> float | None:
    """At the end of the run; None where a condition fails there, also if there was a number before."""
    spent = numbers(part(entry, "budget").get("epsilon"))
    return None if not spent or math.isnan(spent[-1]) else spent[-1]


def _leak(entry: Mapping[str, Any], measure: str) -> float | None:
    try:
        return leaks.leakage_at_end(entry, measure)
    except NotMeasuredError:
        return None


def _number(value: Any) -> float | None:
    return None if value is None else number(value)
