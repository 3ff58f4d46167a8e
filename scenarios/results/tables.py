# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""Results as Parquet tables, for pandas, polars and duckdb: algorithms, attacks, estimates, rebuilt records."""

import csv
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import permutations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow
from pyarrow import parquet

from attacks.inference import GradientEstimate
from attacks.reconstruction.verdict import seen
from netsim.truth import Truth
from scenarios.files.folders import whole
from scenarios.results import curves
from scenarios.results.attacked import Rebuilt, headline
from scenarios.results.attacks import GradientResult, MembershipResult, PropertyResult, Success
from scenarios.results.base import Rate
from scenarios.results.curves import NotMeasuredError
from scenarios.results.findings import judged
from scenarios.results.tree import Results
from scenarios.results.views import ViewPrices

Cell: TypeAlias = str | int | float | bool | list[float] | None
Row: TypeAlias = dict[str, Cell]
Columns: TypeAlias = Mapping[str, tuple[Any, str]]
"""Column → its Arrow type, and what it means."""
WHOLE, NUMBER, LIST, TEXT = pyarrow.int64(), pyarrow.float64(), pyarrow.list_(pyarrow.float64()), pyarrow.string()
ALGORITHMS, ATTACKS = "algorithms.parquet", "attacks.parquet"
VARIANT: Columns = {"variant": (TEXT, "its name; null where the scenario has no variants")}
COLUMNS: Columns = {
    "algorithm": (TEXT, "its name; null where the run did not get to one"),
    "unit": (TEXT, "rounds, or activations of a walk"),
    "count": (WHOLE, "how many of these there were"),
    "final_error": (NUMBER, "relative error at the end, median over replicas"),
    "epsilon_claimed": (NUMBER, "by the paper's formula, at the end; null where nothing is claimed"),
    "delta": (NUMBER, "of the claim; null where nothing was audited"),
    "epsilon_exact_lower": (NUMBER, "of the audit's pair: proven to be at least this"),
    "epsilon_exact_upper": (NUMBER, "and at most this"),
    "epsilon_audited": (NUMBER, "lower bound by the distinguishing game"),
    "verdict": (TEXT, "of the audit; null where none was requested"),
    "gradient_error": (NUMBER, "of inferred gradients, median; null where none were inferred"),
    "identifiable": (NUMBER, "share of the agents' queries with an estimate, however good"),
    "learned": (NUMBER, "share of them with an estimate that is better than guessing"),
    "image_skill": (NUMBER, "of images rebuilt by attacks.images, mean over agents; null without them"),
    "best_attack": (TEXT, "that of attacks.reconstruct with the highest skill; null without one"),
    "best_skill": (NUMBER, "its skill: 1 − MSE/MSE of the best guess without a transcript, median"),
    "packets": (WHOLE, "on the air, acknowledgements and repeats too"),
    "bytes": (WHOLE, "of these"),
    "time": (NUMBER, "virtual seconds of the run"),
}
"""Of a row for an algorithm: columns with their types and meanings."""
ATTACK_COLUMNS: Columns = {
    "algorithm": (TEXT, "whose transcript it read"),
    "attack": (TEXT, "its name in the scenario"),
    "kind": (TEXT, "which attack it is"),
    "inversion": (TEXT, "of gradients: strongest (inferred here), or published"),
    "verdict": (TEXT, "the most frequent one; null where it could not be run"),
    "refused": (TEXT, "why it could not be run, else null"),
    "skill": (NUMBER, "1 − MSE/MSE of the best guess without a transcript, median"),
    "mse": (NUMBER, "mean square error of the records, median"),
    "psnr": (NUMBER, "dB of the declared range, median"),
    "ssim": (NUMBER, "of images, median"),
    "success_rate": (
        NUMBER,
        "how often all records of an agent were rebuilt to the distance; of membership, how often the record was "
        "found at the level nearest to 5 %; of a property, how often the right one was named",
    ),
    "success_low": (NUMBER, "lower end of its interval (Clopper-Pearson)"),
    "success_high": (NUMBER, "upper end"),
    "guess_rate": (NUMBER, "the same of the best guess without a transcript"),
    "advantage": (NUMBER, "of membership: found less false alarms where the score is above 0, else null"),
    "advantage_low": (NUMBER, "lower end of its interval"),
    "advantage_high": (NUMBER, "upper end"),
}
"""Of a row for an attack on records, or for one that decides."""


def write(found: Sequence[Row], columns: Columns, path: Path, first: Mapping[str, object] | None = None) -> None:
    """Rows as Parquet: the columns `first`, then these; each carries its meaning as metadata. Whole or not at all."""
    fields = [pyarrow.field(name, kind, metadata={"meaning": words}) for name, (kind, words) in columns.items()]
    arrays = [pyarrow.array([row.get(field.name) for row in found], field.type) for field in fields]
    before: Any = dict(first or {})
    named = [pyarrow.field(name, one.type) for name, one in before.items()]
    table = pyarrow.Table.from_arrays([*before.values(), *arrays], schema=pyarrow.schema([*named, *fields]))
    with whole(path) as draft:
        parquet.write_table(table, draft, compression="zstd")


def stored_plainly(path: Path) -> None:
    """Rewrite a Parquet file without dictionaries and compression: its size follows from its rows' shapes alone."""
    table = parquet.read_table(path)
    parquet.write_table(table, path, use_dictionary=False, compression="none")


def write_tables(runs: Mapping[str | None, Results], folder: Path) -> None:
    """Tables of algorithms, attacks and pairs of agents, each where there is a row for it, by variant."""
    kinds = (ALGORITHMS, COLUMNS, algorithm_rows), (ATTACKS, ATTACK_COLUMNS, attack_rows)
    for name, columns, rows in (*kinds, (f"{PAIRS}.parquet", PAIR_COLUMNS, _all_pairs)):
        found: list[Row] = [{"variant": variant} | row for variant, results in runs.items() for row in rows(results)]
        if found:
            write(found, {**VARIANT, **columns}, folder / name)


PAIRS = "pairs"
PAIR_COLUMNS: Columns = {
    "algorithm": (TEXT, "its name"),
    "victim": (WHOLE, "whose data"),
    "listener": (WHOLE, "who learns, honest but curious"),
    "hops": (WHOLE, "between them; −1: no path"),
    "epsilon_lower": (NUMBER, "over all pairs of the adjacency: at least this; NaN: not bounded"),
    "epsilon_upper": (NUMBER, "and at most this"),
    "epsilon_claimed": (NUMBER, "of this pair of agents; null where nothing is claimed of pairs"),
}
"""Of a row for an ordered pair of agents."""


def write_pairs(found: ViewPrices, folder: Path) -> None:
    """pairs.parquet and pairs.csv in `folder`."""
    rows = _pair_rows("", found)
    columns = {name: one for name, one in PAIR_COLUMNS.items() if name != "algorithm"}
    write(rows, columns, folder / f"{PAIRS}.parquet")
    with whole(folder / f"{PAIRS}.csv") as draft, draft.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(columns), extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)


def _pair_rows(name: str, found: ViewPrices) -> list[Row]:
    """A row for each ordered pair of agents, with the keys of `PAIR_COLUMNS`."""
    pairs = found.pairs
    if pairs is None:
        return []
    rows: list[Row] = []
    for u, v in permutations(range(len(pairs.upper)), 2):
        claimed = math.nan if pairs.claimed is None else pairs.claimed[u][v]
        row: Row = {"algorithm": name, "victim": u, "listener": v, "hops": pairs.hops[u][v]}
        row |= {"epsilon_lower": pairs.lower[u][v], "epsilon_upper": pairs.upper[u][v]}
        rows.append(row | {"epsilon_claimed": None if math.isnan(claimed) else claimed})
    return rows


def _all_pairs(results: Results) -> list[Row]:
    priced = [(one.name, one.prices) for one in results.algorithms if isinstance(one.prices, ViewPrices)]
    return [row for name, found in priced for row in _pair_rows(name, found)]


def algorithm_rows(results: Results) -> list[Row]:
    """A row for each algorithm of a run's results, with the keys of `COLUMNS`."""
    rows: list[Row] = []
    for entry in results.algorithms:
        row: Row = {**dict.fromkeys(COLUMNS), "algorithm": entry.name}
        if entry.budget and entry.budget.epsilon:
            row["epsilon_claimed"] = entry.budget.epsilon[-1]
        if (curve := entry.convergence) is not None:
            row |= {"unit": curve.unit, "count": curve.count[-1] if curve.count else None}
        if (run := entry.run) is not None:
            row |= {
                "packets": run.traffic.get("packets_sent"),
                "bytes": run.traffic.get("bytes_sent"),
                "time": run.time,
            }
            if not run.stopped and curve is not None:
                row["final_error"] = curve.final
        if (audit := judged(entry)) is not None:
            row |= {"delta": audit.claim.delta, "epsilon_audited": audit.epsilon_audited, "verdict": audit.verdict}
            if (exact := audit.epsilon_exact) is not None:
                row |= {"epsilon_exact_lower": exact.lower, "epsilon_exact_upper": exact.upper}
        if isinstance(entry.gradients, GradientResult):
            row["gradient_error"] = entry.gradients.median
            if entry.gradients.learned is not None and entry.gradients.queries:
                row["learned"] = entry.gradients.learned / entry.gradients.queries
        for measure in ("identifiable", "image_skill"):
            with suppress(NotMeasuredError):
                row[measure] = curves.leakage_at_end(entry, measure)
        attacks = () if entry.reconstructions is None else entry.reconstructions.attacks
        if scored := [one for one in attacks if one.skill is not None]:
            best = max(scored, key=lambda one: one.skill or 0.0)
            row |= {"best_attack": best.attack, "best_skill": best.skill}
        rows.append(row)
    return rows


def attack_rows(results: Results) -> list[Row]:
    """A row for each attack of `attacks.reconstruct`, for membership and for a property, on each algorithm, with the
    keys of `ATTACK_COLUMNS`."""
    rows: list[Row] = []
    names = ("attack", "kind", "inversion", "verdict", "refused", "skill", "mse", "psnr", "ssim")
    for entry in results.algorithms:
        for one in () if entry.reconstructions is None else entry.reconstructions.attacks:
            row: Row = {"algorithm": entry.name} | {name: getattr(one, name) for name in names}
            rows.append(row | _success(one.success, None if one.success is None else one.success.guess))
        for name, found in (("membership", entry.membership), ("property", entry.property)):
            if found is None:
                continue
            row = {"algorithm": entry.name, "attack": name, "kind": name}
            row |= {"inversion": found.inversion, "refused": found.refused}
            if isinstance(found, MembershipResult):
                level, advantage = headline(found.levels), found.advantage
                row |= _success(level.found, level.level) | {
                    "advantage": advantage.estimate,
                    "advantage_low": advantage.low,
                    "advantage_high": advantage.high,
                }
            elif isinstance(found, PropertyResult):
                row |= _success(found.right, found.guess)
            rows.append(row)
    return rows


def _success(rate: Success | Rate | None, guess: float | None) -> Row:
    if rate is None:
        return {}
    return {"success_rate": rate.rate, "success_low": rate.low, "success_high": rate.high, "guess_rate": guess}


# ── estimates and records ───────────────────────────────────────────────────────────────────────────────
GRADIENT_COLUMNS: Columns = {
    "agent": (WHOLE, "whose gradient"),
    "query": (WHOLE, "which one: the agent's gradient queries are counted from 0"),
    "replica": (WHOLE, "draw of the noise, from 0"),
    "stddev": (NUMBER, "standard deviation of a coordinate's error, the same for all; 0: exact up to rounding"),
    "point": (LIST, "where the gradient was computed, one number a coordinate"),
    "gradient": (LIST, "the estimate, one number a coordinate"),
    "error": (NUMBER, "‖estimate − gradient‖/max(1, ‖gradient‖); null without the truth"),
}
RECORD_COLUMNS: Columns = {
    "attack": (TEXT, "its name"),
    "agent": (WHOLE, "whose record"),
    "record": (WHOLE, "from 0, in no order that means anything"),
    "replica": (WHOLE, "draw of the noise, from 0"),
    "features": (LIST, "the record as it was rebuilt"),
    "label": (NUMBER, "its likeliest label"),
    "spread": (LIST, "standard deviation of each feature, where the attack has a posterior; else null"),
    "objective": (NUMBER, "the attacker's own, by which it chose; lower is better"),
    "converged": (pyarrow.bool_(), "whether its optimizer says so"),
    "seen": (TEXT, "the attacker's own verdict, without the truth"),
    "open": (TEXT, "what the evidence cannot determine, whatever the attack; else empty"),
}


def write_estimates(path: Path, found: Sequence[GradientEstimate], truth: Truth | None) -> None:
    """One row for each estimate and replica. A gradient without a row is not identifiable from the transcript."""
    rows: list[Row] = []
    for one in found:
        for r, gradient in enumerate(one.gradient):
            error = None
            if truth is not None:
                real = truth.queries[one.agent][one.query].gradient[r]
                error = float(np.linalg.norm(gradient - real) / max(1.0, float(np.linalg.norm(real))))
            rows.append(
                {
                    "agent": one.agent,
                    "query": one.query,
                    "replica": r,
                    "stddev": float(one.stddev),
                    "point": one.point[r].tolist(),
                    "gradient": gradient.tolist(),
                    "error": error,
                }
            )
    write(rows, GRADIENT_COLUMNS, path)


def write_records(path: Path, rebuilt: Sequence[Rebuilt]) -> None:
    """One row for each record, attack and replica; no file where nothing was rebuilt."""
    path.unlink(missing_ok=True)
    rows: list[Row] = []
    for attack, case, found in rebuilt:
        words, labels = seen(case, found).names, found.labels(case.known.model)
        rows += [
            {
                "attack": attack,
                "agent": found.agent,
                "record": m,
                "replica": r,
                "features": found.features[r, m].tolist(),
                "label": float(labels[r, m]),
                "spread": None if found.spread is None else found.spread[r, m].tolist(),
                "objective": float(found.objective[r]),
                "converged": bool(found.converged[r]),
                "seen": words[r],
                "open": found.open,
            }
            for r in range(len(found.features))
            for m in range(found.features.shape[1])
        ]
    if rows:
        write(rows, RECORD_COLUMNS, path)
