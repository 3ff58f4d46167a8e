"""Rows count what happened, and a repetition depends on its number alone."""

import pytest

from netsim.randomness import Streams
from scenarios.certificate.rows import Outcome, Rate, Row, cases, repeated

CASE = next(case for case in cases() if case.part == "game")


def test_a_repetition_depends_on_its_number_alone():
    together = repeated(CASE, 3, 0, 8)
    assert together == repeated(CASE, 3, 0, 5) + repeated(CASE, 3, 5, 8)
    assert together != repeated(CASE, 4, 0, 8)
    assert CASE.once(6, Streams(3).child("certificate", CASE.part, CASE.name, 6)) == together[6]


def test_a_row_counts_marks_takes_medians_and_keeps_the_first_repetitions():
    outcomes = [Outcome(frozenset({"a"}), {"x": float(k) if k else None}) for k in range(5)]
    outcomes += [Outcome(frozenset(), {})]
    row = Row.of(CASE, outcomes)
    assert (row.repetitions, row.counts, row.medians) == (6, {"a": 5}, {"x": 2.5})
    assert row.first == tuple(outcomes[:4])
    assert row.rate("a") == Rate(5, 6)
    assert row.rate("never") == Rate(0, 6)
    assert Row.from_json(row.as_json()) == row


@pytest.mark.parametrize(("count", "exceeds"), [(50, False), (60, False), (80, True)])
def test_a_rate_exceeds_a_nominal_one_where_its_whole_interval_does(count, exceeds):
    """Of 1,000 trials at 5 %, a binomial count of 68 or less is not unusual: 0.5 % are above."""
    assert Rate(count, 1000).exceeds(0.05) == exceeds
    assert Rate(count, 1000) + Rate(1, 10) == Rate(count + 1, 1010)
