"""How often any attack at all can rebuild a record if an algorithm's claim holds: the bound beside a success rate.

The bound is of one guess at one record that is drawn from the prior. A success rate here is of a few agents with
fixed records, dealt by class: an interval above the bound is a reason to audit the claim, and no proof against it.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from attacks.score.rero import approximate_bound, simulated_kappa
from netsim.claims import Claim
from netsim.run import Run
from scenarios.describe import Results
from scenarios.experiment import Experiment, Subject, adjacency_of
from scenarios.schema.scenario import GradientChange

MOST = 1000
"""Public records that the prior's rate of success is estimated from."""
CONFIDENCE = 0.95
Bound = Callable[[float, float], "Results | None"]
"""From a distance, and the lower end of a success rate."""


def bound_of(experiment: Experiment, subject: Subject, run: Run) -> Bound:
    """The bound of the claim that this algorithm makes for the whole attacked run; None where there is no finite
    claim about a replaced record, and where agents hold several: a matching then gives as many guesses, and κ counts
    one.

    κ is the largest rate of the best guess of who has no transcript, over the public records of each class and over
    all of them; of each the upper confidence end is taken, at a level divided by how many there are.
    """
    claim = _claim(experiment, subject, run)

    @cache
    def kappa(distance: float) -> float:
        assert experiment.holding is not None
        assert experiment.holding.prior is not None
        groups = list(experiment.holding.prior.records.values())
        rng = np.random.default_rng(experiment.scenario.seed)
        each = [*groups, np.concatenate(groups)] if len(groups) > 1 else groups
        level = 1 - (1 - CONFIDENCE) / len(each)
        drawn = [rows[rng.permutation(len(rows))[:MOST]] for rows in each]
        return max(simulated_kappa(rows, distance, level).upper if len(rows) >= 4 else 1.0 for rows in drawn)

    def bound(distance: float, lower: float) -> Results | None:
        if claim is None or claim.epsilon is None:
            return None
        most = approximate_bound(kappa(distance), claim.epsilon, claim.delta)
        return {
            "bound": most,
            "kappa": kappa(distance),
            "epsilon": claim.epsilon,
            "delta": claim.delta,
            "above": lower > most,
        }

    return bound


def _claim(experiment: Experiment, subject: Subject, run: Run) -> Claim | None:
    scenario, holding = experiment.scenario, experiment.holding
    if holding is None or holding.records != 1 or subject.attacked is None:
        return None
    if scenario.audit is not None and isinstance(scenario.audit.adjacency, GradientChange):
        return None  # a claim about a change of the gradient, and not about a record
    adjacency = adjacency_of(scenario, experiment.dataset, holding.problem)
    return subject.attacked.claim(adjacency, run.largest_activations, subject.delta)
