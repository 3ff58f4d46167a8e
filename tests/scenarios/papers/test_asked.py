"""What checks find in a long run is what its full record says, however thin its curves are."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario

ACCURACIES, AFTER = (0.07, 3.3e-3), (29, 333)
TEXT = """
name: long
topology: {kind: ring, agents: 4}
problem: {kind: ridge, data: {name: synthetic, kind: regression, records: 60, dimension: 3}}
algorithms:
  - {kind: recal, name: walk, activations: 5000}
  - {kind: extra, name: rounds, rounds: 900}
attacks: {gradients: false}
measures: {every: EVERY}
reproduces:
  paper: P
  item: T
  shows: something
  checks:
"""
CHECKS = [
    *({"measure": "plf_to", "accuracy": one} for one in ACCURACIES),
    *({"measure": "messages_to", "accuracy": one} for one in ACCURACIES),
    *({"measure": "error_after", "after": one} for one in AFTER),
    {"measure": "slope", "start": 7, "end": 555, "floor": 1e-300},
    {"measure": "plf_to", "accuracy": 0.07, "curve": "mean_error"},
    {"measure": "error_after", "after": 333, "curve": "mean_error"},
    {"measure": "error_after", "after": 320, "curve": "mean_error"},
    {"measure": "slope", "end": 333, "curve": "mean_error"},
]
pytestmark = pytest.mark.usefixtures("undrawn")


def lines(of):
    fields = [", ".join(f"{key}: {value}" for key, value in check.items()) for check in CHECKS]
    return "".join(f"    - {{says: so, of: {of}, above: -9, {one}}}\n" for one in fields)


def asked(folder, every):
    results = run_scenario(parse(TEXT.replace("EVERY", every) + lines("walk") + lines("rounds")), folder)
    return {entry.name: entry.measures.exact for entry in results.algorithms}, results


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("long")
    return *asked(folder, "16"), folder


def record(folder, name):
    """The median error at every activation, the messages sent by then, and who was active."""
    table = pq.read_table(folder / f"metrics-{name}.parquet").to_pydict()
    return np.array(table["error_median"]), np.array(table["messages"]), np.array(table["agent"])


def stays(errors, accuracy):
    return next(k for k in range(1, len(errors) + 1) if np.all(errors[k - 1 :] <= accuracy))


@pytest.mark.slow
def test_the_numbers_are_those_of_the_full_record(ran):
    noted, _, folder = ran
    errors, _, agents = record(folder, "walk")
    walk = noted["walk"]
    for accuracy in ACCURACIES:
        row = next(r for r in walk.to_accuracy if (r.curve, r.accuracy) == ("relative_error", accuracy))
        count = stays(errors, accuracy)
        assert row.low == row.high
        assert row.low.count == count
        assert row.low.plf == np.bincount(agents[:count]).max()
    after = {(r.curve, r.after): r.median for r in walk.after}
    assert [after["relative_error", k] for k in AFTER] == [errors[k - 1] for k in AFTER]
    [slope] = [r.slope for r in walk.slopes]
    assert slope == pytest.approx(np.polyfit(np.arange(7, 556), np.log10(errors[6:555]), 1)[0], rel=1e-9)


@pytest.mark.slow
def test_the_report_says_the_same_numbers(ran):
    noted, results, _ = ran
    answers = [check.answers[0].found for check in results.reproduction.checks]
    for number, name in enumerate(("walk", "rounds")):
        own = answers[number * len(CHECKS) :]
        row = next(r for r in noted[name].to_accuracy if r.accuracy == 0.07)
        assert own[0] == f"{row.low.plf:g}"
        assert own[2] == f"{row.low.messages:g}"


@pytest.mark.slow
def test_what_is_not_known_everywhere_is_enclosed_or_undecided(ran, tmp_path):
    """The same run, its mean error known at every round (or activation), has the numbers between the ends."""
    noted, results, _ = ran
    full, _ = asked(tmp_path / "full", "1")
    for name in noted:
        wide, exact = (next(r for r in one[name].to_accuracy if r.curve == "mean_error") for one in (noted, full))
        assert exact.low == exact.high
        assert wide.low.plf <= exact.low.plf <= wide.high.plf
        assert wide.low.count < wide.high.count
        after = [{(r.curve, r.after): r.median for r in one[name].after} for one in (noted, full)]
        assert ("mean_error", 333) not in after[0]
        assert after[0]["mean_error", 320] == after[1]["mean_error", 320]
        assert [len(one[name].slopes) for one in (noted, full)] == [1, 2]
    blocked = [c.answers[0].reason for c in results.reproduction.checks if c.criterion.startswith("mean error")]
    assert blocked[0] == "walk: the curve is not known at 333 (`measures: {every: 1}` knows it everywhere)"
    assert results.reproduction.outcome == "cannot be run"
