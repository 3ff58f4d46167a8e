"""Truths of one agent, made by hand."""

import numpy as np

from netsim.adversary import Query
from netsim.problems import LeastSquares, LogisticLoss, Problem
from netsim.truth import Truth


def truth_of(features, labels, points, regression=False):
    """An agent 0 with these records, who asked at `points` (rounds, replicas, dimension)."""
    objective = (LeastSquares if regression else LogisticLoss)(features, labels)
    queries = [
        Query(float(k), point, objective.gradient(np.ascontiguousarray(point))) for k, point in enumerate(points)
    ]
    return Truth(Problem((objective,), name="by hand"), [queries], [[]])
