"""Adjacent objectives written and read: the same gradients to the last bit; what is not adjacent is refused."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from netsim.claims import Adjacency
from netsim.errors import ScenarioError
from netsim.problems import Bent, LeastSquares, LogisticLoss, NonconvexLogistic, Tilted
from scenarios.build.problem import change_of, changed, check_adjacent

RNG = np.random.default_rng(4)
FEATURES, LABELS = RNG.standard_normal((6, 3)), np.array([1.0, -1, 1, 1, -1, -1])
OWN = LogisticLoss(FEATURES, LABELS, 0.1)
OTHERS = {
    "a constant move": Tilted(OWN, np.array([0.1, -0.0, 1e-300])),
    "a bend": Bent(OWN, np.array([0.1, 0.0, 0.2]), 0.3, -1.0),
    "a record": OWN.with_record(2, np.array([1.0, 0.1, -3.0]), -1.0),
    "all labels": replace(OWN, labels=-LABELS),
    "more records": replace(OWN, features=np.repeat(FEATURES, 2, axis=0), labels=np.repeat(LABELS, 2)),
    "itself": OWN,
}


@pytest.mark.parametrize("other", OTHERS)
def test_read_it_is_the_same_function_to_the_last_bit(other):
    told = json.loads(json.dumps(change_of(OWN, OTHERS[other]), allow_nan=False))
    x = RNG.standard_normal((4, 3))
    read = changed(OWN, told)
    assert type(read) is type(OTHERS[other])
    assert np.array_equal(read.gradient(x), OTHERS[other].gradient(x))
    assert change_of(OWN, read) == change_of(OWN, OTHERS[other]) or other in ("a constant move", "a bend")


def test_only_what_differs_is_stored():
    told = change_of(OWN, OTHERS["a record"])
    assert told == {"records": {"features": {"rows": [2], "values": [[1.0, 0.1, -3.0]]},
                                "labels": {"rows": [2], "values": [-1.0]}}}  # fmt: skip
    assert change_of(OWN, OWN) == {"records": {}}


def test_another_kind_of_objective_or_another_parameter_is_refused():
    with pytest.raises(ScenarioError, match="no change of the agent's own objective"):
        change_of(OWN, LeastSquares(FEATURES, LABELS))
    with pytest.raises(ScenarioError, match="another parameter"):
        change_of(OWN, replace(OWN, ridge=0.2))


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"records": 3},
        {"records": {"features": {"rows": [9], "values": [[0.0, 0.0, 0.0]]}}},
        {"records": {"features": {"rows": [1, 2], "values": [[0.0, 0.0, 0.0]]}}},
        {"records": {"features": {"rows": ["a"], "values": [[0.0, 0.0, 0.0]]}}},
        {"records": {"features": {"rows": [1], "values": [["x", 0.0, 0.0]]}}},
        {"records": {"ridge": {"rows": None, "values": [[1.0], [2.0, 3.0]]}}},
        {"moved": "Problem"},
        {"moved": "Tilted"},
        {"moved": "Tilted", "slope": [1.0, 2.0]},
        {"moved": "Tilted", "slope": [1.0, 2.0, 3.0], "size": 1.0},
    ],
)
def test_what_tells_of_no_objective_is_refused(told):
    with pytest.raises(ScenarioError):
        changed(OWN, told)


def test_who_is_too_far_is_not_adjacent():
    """By hand: a move of norm 5; one record of six, sup = max(‖z‖, ‖z'‖, ‖z − z'‖)/6; all, the two largest norms."""
    moved = Tilted(OWN, np.array([3.0, 0.0, 4.0]))
    z, new = LABELS[2] * FEATURES[2], -np.array([1.0, 0.1, -3.0])
    record = max(map(np.linalg.norm, (z, new, z - new))) / 6
    everything = 2 * max(map(np.linalg.norm, FEATURES))
    for other, size in ((moved, 5.0), (OTHERS["a record"], record), (OTHERS["all labels"], everything)):
        check_adjacent(OWN, other, Adjacency(size, ""))
        check_adjacent(OWN, other, Adjacency(math.inf, ""))
        with pytest.raises(ScenarioError, match="not adjacent"):
            check_adjacent(OWN, other, Adjacency(0.999 * size, ""))
    curved = NonconvexLogistic(FEATURES, LABELS)
    check_adjacent(curved, curved.with_record(0, FEATURES[0], LABELS[0]), Adjacency(0.0, ""))
    with pytest.raises(ScenarioError, match="not adjacent"):
        check_adjacent(LeastSquares(FEATURES, LABELS), LeastSquares(FEATURES, -LABELS), Adjacency(1e9, ""))


def test_a_move_is_measured_in_the_norm_of_the_adjacency():
    """By hand: (3, 0, −4) has norms 7, 5 and 4."""
    slope = np.array([3.0, 0.0, -4.0])
    for norm, size in {"l1": 7.0, "l2": 5.0, "linf": 4.0}.items():
        for other in (Tilted(OWN, slope), Bent(OWN, slope, 0.3)):
            check_adjacent(OWN, other, Adjacency.within(size, norm, 3, "", curvature=0.3))
            with pytest.raises(ScenarioError, match="not adjacent"):
                check_adjacent(OWN, other, Adjacency.within(0.999 * size, norm, 3, "", curvature=0.3))


def test_who_is_bent_too_much_is_not_adjacent():
    for allowed in (0.29, None):
        with pytest.raises(ScenarioError, match="Hessian"):
            check_adjacent(OWN, OTHERS["a bend"], Adjacency.within(1.0, "l2", 3, "", curvature=allowed))
