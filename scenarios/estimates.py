# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""What attacks found, as Parquet files for pandas, polars and duckdb; docs/results.md has the columns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attacks.gradients import GradientEstimate
from attacks.reconstruction.attack import Case, Reconstruction
from attacks.reconstruction.verdict import seen
from netsim.truth import Truth

GRADIENT_COLUMNS = {
    "agent": "whose gradient",
    "query": "which one: the agent's gradient queries are counted from 0",
    "replica": "draw of the noise, from 0",
    "stddev": "standard deviation of a coordinate's error, the same for all; 0: exact up to rounding",
    "point": "where the gradient was asked for, one number a coordinate",
    "gradient": "the estimate, one number a coordinate",
    "error": "‖estimate − gradient‖/max(1, ‖gradient‖); null without the truth",
}
RECORD_COLUMNS = {
    "attack": "its name",
    "agent": "whose record",
    "record": "from 0, in no order that means anything",
    "replica": "draw of the noise, from 0",
    "features": "the record as it was rebuilt",
    "label": "its likeliest label",
    "spread": "standard deviation of each feature, where the attack has a posterior; else null",
    "objective": "the attacker's own, by which it chose; lower is better",
    "converged": "whether its optimizer says so",
    "seen": "the attacker's own verdict, without the truth",
    "open": "what the evidence cannot determine, whatever the attack; else empty",
}


class Rebuilt(NamedTuple):
    """What one attack made of one agent."""

    attack: str
    case: Case
    found: Reconstruction


def write_estimates(path: Path, found: Sequence[GradientEstimate], truth: Truth | None) -> None:
    """One row for each estimate and replica. A gradient without a row is not identifiable from what was heard."""
    rows = [_gradient(one, r, truth) for one in found for r in range(len(one.gradient))]
    _write(path, rows, list(GRADIENT_COLUMNS), {"agent", "query", "replica"}, {"point", "gradient"}, set())


def _gradient(one: GradientEstimate, r: int, truth: Truth | None) -> dict[str, Any]:
    error = None
    if truth is not None:
        real = truth.queries[one.agent][one.query].gradient[r]
        error = float(np.linalg.norm(one.gradient[r] - real) / max(1.0, float(np.linalg.norm(real))))
    told = {"agent": one.agent, "query": one.query, "replica": r, "stddev": float(one.stddev), "error": error}
    return told | {"point": one.point[r].tolist(), "gradient": one.gradient[r].tolist()}


def write_records(path: Path, found: Sequence[Rebuilt]) -> None:
    """One row for each record, attack and replica; no file where nothing was rebuilt."""
    path.unlink(missing_ok=True)
    rows = [row for one in found for row in _records(one)]
    if rows:
        _write(
            path, rows, list(RECORD_COLUMNS), {"agent", "record", "replica"}, {"features", "spread"},
            {"attack", "seen", "open"},
        )  # fmt: skip


def _records(one: Rebuilt) -> list[dict[str, Any]]:
    attack, case, found = one
    words, labels = seen(case, found).names, found.labels(case.known.model)
    return [
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


def _write(
    path: Path, rows: Sequence[dict[str, Any]], names: list[str], whole: set[str], lists: set[str], texts: set[str]
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def kind(name: str) -> Any:
        if name in whole:
            return pa.int64()
        if name in lists:
            return pa.list_(pa.float64())
        return pa.bool_() if name == "converged" else pa.string() if name in texts else pa.float64()

    columns = {name: pa.array([row[name] for row in rows], type=kind(name)) for name in names}
    draft = path.with_name(path.name + ".part")
    pq.write_table(pa.table(columns), draft, compression="zstd")
    draft.replace(path)
