"""Mistakes in an attack of one's own: each is refused, with the argument, the value and what is allowed."""

from dataclasses import replace

import numpy as np
import pytest

from attacks.inference import infer, through_probe
from attacks.reconstruction import Case, Evidence, Known, Prior, Reconstruction, check_all
from attacks.reconstruction.one_record import OneRecord
from attacks.score import score_gradients, score_records
from netsim.algorithms import PrivateGradientDescent
from netsim.errors import ScenarioError
from netsim.models import Logistic
from netsim.schedules import Constant
from tests.attacks.score.truths import truth_of
from tests.worlds import digits_problem, tapped_ring


@pytest.fixture(scope="module")
def run():
    algorithm = PrivateGradientDescent(rounds=3, step=Constant(0.1), scale=Constant(0.0))
    return tapped_ring(digits_problem(), algorithm, replicas=2).run()


@pytest.fixture(scope="module")
def estimates(run):
    return infer(run.views[0])


def with_first(**change):
    return lambda given: [given[0]._replace(**change), *given[1:]]


def with_gradient(change):
    return lambda given: [given[0]._replace(gradient=change(given[0].gradient)), *given[1:]]


ESTIMATES = {
    "an estimate twice": (lambda given: given + given, "query 0 of agent 0 is estimated twice: estimates[0]"),
    "a negative agent": (with_first(agent=-1), "estimates[0].agent = -1: is negative; allowed: counted from 0"),
    "no such agent": (with_first(agent=99), "estimates[0].agent = 99: there is no such one; allowed: 0 … 7"),
    "no such query": (with_first(query=99), "estimates[0].query = 99: there is no such one; allowed: 0 … "),
    "no number": (with_gradient(lambda g: g * np.nan), "estimates[0].gradient = nan: is no number"),
    "no replicas": (with_gradient(lambda g: g[0]), "estimates[0].gradient.shape = (64,): does not fit"),
    "one replica of two": (with_gradient(lambda g: g[:1]), "estimates[0].gradient.shape = (1, 64): does not fit"),
    "another dimension": (
        lambda given: [given[0]._replace(point=given[0].point[:, :3], gradient=given[0].gradient[:, :3])],
        "estimates[0].gradient.shape = (2, 3): does not fit; allowed: (replicas, dimension) = (2, 64)",
    ),
    "a list": (with_gradient(lambda g: g.tolist()), "is a list; allowed: an array"),
    "a negative deviation": (with_first(stddev=-1.0), "estimates[0].stddev = -1.0: is no standard deviation"),
    "plain tuples": (lambda given: [tuple(given[0])], "is a tuple; allowed: a GradientEstimate"),
    "one alone": (lambda given: given[0], "estimates[0] = 0: is an int; allowed: a GradientEstimate"),
    "an iterator": (iter, "is a list_iterator; allowed: a tuple (GradientEstimate(…), …)"),
}  # fmt: skip


@pytest.mark.parametrize("case", ESTIMATES)
def test_what_is_no_estimate_of_a_run_is_refused(run, estimates, case):
    made, said = ESTIMATES[case]
    with pytest.raises(ScenarioError) as error:
        score_gradients(made(estimates), run.truth)
    assert said in str(error.value)


def test_arguments_in_the_wrong_order_are_named(run, estimates):
    with pytest.raises(ScenarioError, match=r"estimates = .*: is a Truth; .*\n*truth = .* is a list; allowed"):
        score_gradients(run.truth, estimates)
    with pytest.raises(ScenarioError, match=r"view = .*: is a Truth; allowed: an AdversaryView"):
        infer(run.truth)


def test_what_is_no_number_in_a_run_that_diverges_is_a_result(run, estimates):
    """Infinity less infinity: nobody's mistake."""
    queries = [list(own) for own in run.truth.queries]
    queries[0][1] = queries[0][1]._replace(gradient=np.full_like(queries[0][1].gradient, np.inf))
    nothing = [estimates[0]._replace(gradient=np.full_like(estimates[0].gradient, np.nan))]
    with np.errstate(invalid="ignore"):
        assert np.isnan(score_gradients(nothing, replace(run.truth, queries=queries)).worst)


EVIDENCE = {
    "several agents": (Evidence.of, lambda given: given, "are of several agents; allowed: Evidence.each(estimates)"),
    "one twice": (Evidence.each, lambda given: given + given, "is estimated twice"),
    "shapes that differ": (
        Evidence.of,
        lambda given: [given[0], given[1]._replace(point=given[1].point[:1], gradient=given[1].gradient[:1])],
        "estimates[1].point.shape = (1, 64): does not fit; allowed: that of the others = (2, 64)",
    ),
}


@pytest.mark.parametrize("case", EVIDENCE)
def test_what_is_no_evidence_is_refused(estimates, case):
    made, change, said = EVIDENCE[case]
    with pytest.raises(ScenarioError) as error:
        made(change(estimates))
    assert said in str(error.value)


def prior(width=64):
    return Prior.of(np.zeros((4, width)), np.array([-1.0, 1.0, 1.0, 1.0]))


KNOWLEDGE = {
    "swapped": (lambda _: Prior.of(np.ones(3), np.ones((3, 2))), "features.shape = (3,): does not fit"),
    "too few labels": (lambda _: Prior.of(np.ones((3, 2)), np.ones(2)), "labels.shape = (2,): does not fit"),
    "no record": (lambda _: Prior.of(np.ones((0, 2)), np.ones(0)), "there is no record; allowed: one public record"),
    "too few targets": (lambda _: Prior.of_numbers(np.ones((3, 2)), np.ones(2)), "targets.shape = (2,): does not"),
    "no such agent": (lambda view: Known.of(view.public, 9), "agent = 9: there is no such one; allowed: 0 … 7"),
    "another width": (lambda view: Known.of(view.public, 0, prior(3)), "shape = (3,): does not fit; allowed: one"),
    "a view": (lambda view: Known.of(view, 0), "is an AdversaryView; allowed: a PublicKnowledge"),
    "one case": (
        lambda view: check_all(OneRecord(), Case(Evidence.each(infer(view))[0], Known.of(view.public, 0))),
        "cases[0] = ",
    ),
    "nothing known": (
        lambda view: OneRecord().reconstruct([Case(Evidence.each(infer(view))[0], None)], np.random.default_rng(0)),
        "cases[0].known = None: there is no value; allowed: a Known",
    ),
    "a probe of a list": (lambda view: through_probe([view]), "is a list; allowed: an AdversaryView"),
}  # fmt: skip


@pytest.mark.parametrize("case", KNOWLEDGE)
def test_what_cannot_be_known_is_refused(run, case):
    made, said = KNOWLEDGE[case]
    with pytest.raises(ScenarioError) as error:
        made(run.views[0])
    assert said in str(error.value)


REBUILT = Reconstruction("own", 0, np.zeros((5, 2, 3)), np.zeros((5, 2, 1)), np.zeros(5), np.ones(5, bool), (0,))
RECORDS = {
    "flat": ({"features": np.zeros((5, 6))}, {}, "reconstruction.features.shape = (5, 6): does not fit"),
    "another width": ({"features": np.zeros((5, 2, 4))}, {}, "shape = (5, 2, 4): does not fit"),
    "one replica": ({"features": np.zeros((1, 2, 3))}, {}, "shape = (1, 2, 3): does not fit"),
    "targets": ({"targets": np.zeros((5, 2))}, {}, "targets.shape = (5, 2): does not fit; allowed: (replicas, rec"),
    "no such agent": ({"agent": 9}, {}, "agent = 9: there is no such one; allowed: 0 … 0, for there are 1 agents"),
    "no such query": ({"queries": (0, 7)}, {}, "reconstruction.queries[1] = 7: there is no such one"),
    "another agent's": (
        {},
        {"records": 4},
        "known.records = 4: agent 0 has 2 records: is it what is known of",
    ),
}


@pytest.mark.parametrize("case", RECORDS)
def test_what_are_no_records_of_a_run_is_refused(case):
    change, knowing, said = RECORDS[case]
    truth, known = truth_of(np.eye(2, 3), np.ones(2), np.zeros((1, 5, 3))), Known(Logistic(3), 2)
    score_records(REBUILT, truth, known, np.random.default_rng(0))
    with pytest.raises(ScenarioError) as error:
        score_records(replace(REBUILT, **change), truth, replace(known, **knowing), np.random.default_rng(0))
    assert said in str(error.value)


def test_a_seed_is_no_generator():
    truth = truth_of(np.eye(2, 3), np.ones(2), np.zeros((1, 5, 3)))
    with pytest.raises(ScenarioError, match=r"rng = 1: is an int; allowed: a Generator, such as default_rng"):
        score_records(REBUILT, truth, Known(Logistic(3), 2), 1)
