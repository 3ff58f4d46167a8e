"""A certificate fails an auditor with a planted defect, and says why: else its passing would mean little."""

from dataclasses import replace

import pytest

from attacks.audit.games.game import play
from netsim.algorithms.planted_faults import FAULTS
from scenarios.certificate import rows as kinds
from scenarios.certificate.certificate import certify, failures
from tests.scenarios.certificate import sabotaged

BY_NAME = {case.name: case for case in kinds.cases() if isinstance(case, kinds.GameCase)}
LEAKY = BY_NAME["randomized response that leaks with δ"]
RESPONSE = BY_NAME["randomized response"]
(DISCRETE,) = (c for c in kinds.cases() if isinstance(c, kinds.SoundCase) and c.name == "discrete Laplace")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("referee", "case"),
    [
        (sabotaged.on_the_played_trials, LEAKY), (sabotaged.every_part_at_the_whole_error, LEAKY),
        (sabotaged.by_the_rate_itself, RESPONSE), (sabotaged.without_the_sign, LEAKY),
        (sabotaged.without_delta, LEAKY),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)  # fmt: skip
def test_a_sabotaged_game_is_proven_to_err_more_often_than_nominal(referee, case):
    wrong = failures(certify(150, chosen=[replace(case, referee=referee)]))
    assert any(kinds.ALARM in line and case.name in line for line in wrong)


@pytest.mark.slow
def test_our_game_is_not():
    """The same games. One whose error rate is nominal would be accused with probability 0.5 % at most, each time."""
    assert LEAKY.referee is play
    assert failures(certify(150, chosen=[LEAKY, RESPONSE])) == []


@pytest.mark.slow
def test_an_audit_at_less_than_its_confidence_raises_false_alarms():
    """40 audits; discrete Laplace noise: its loss takes few values, and the game proves nearly all of it."""
    case = replace(DISCRETE, auditor=sabotaged.much_less_sure_than_it_says)
    wrong = failures(certify(40, chosen=[case]))
    assert any(kinds.SOUND_ALARM in line and DISCRETE.name in line for line in wrong)


@pytest.mark.slow
def test_an_audit_that_exchanges_the_worlds_is_refused_and_refusals_count():
    found = certify(8, chosen=[replace(DISCRETE, auditor=sabotaged.worlds_exchanged)])
    assert found.rows[0].rate(kinds.SELF_CHECK, kinds.REFUSED).count == 8
    assert failures(found)


@pytest.mark.slow
def test_an_auditor_that_finds_nothing_lets_faults_by():
    cases = [kinds.FaultCase(fault, max(kinds.BUDGETS), sabotaged.blind) for fault in FAULTS[:2]]
    wrong = failures(certify(10, chosen=cases))
    assert [line.split(",")[0] for line in wrong] == [fault.__name__ for fault in FAULTS[:2]]
