"""What an algorithm's own claim allows attacks that decide; where it says nothing of these worlds, why.

A claim is about adjacent data sets of one agent. With a record removed, zeroed out or replaced, the agent's gradient
moves by no more than where any record is replaced by any other, which claims about records are computed for. All
records of an agent are as many steps of that kind as it holds: group privacy (`attacks.score.decisions.of_group`).
"""

import math
from dataclasses import dataclass

from attacks.score.decisions import of_group
from netsim.claims import Claim
from scenarios.describe import Results
from scenarios.experiment import Experiment, Subject, adjacency_of
from scenarios.schema.scenario import GradientChange


@dataclass(frozen=True)
class Allowance:
    """ε and δ for the pair of worlds that is played, or `why_not`; `claim` is what they are computed from."""

    epsilon: float | None
    delta: float
    claim: Claim | None
    steps: int = 1
    why_not: str = ""

    def described(self) -> Results:
        """As results have it. `steps`: how many adjacent data sets lie between the worlds."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta if self.epsilon is not None else None,
            "source": None if self.claim is None else self.claim.source,
            "adjacency": None if self.claim is None else self.claim.adjacency.relation,
            "steps": self.steps,
            "why_not": self.why_not or None,
        }


def allowance(experiment: Experiment, subject: Subject, activations: int, records: int = 1) -> Allowance:
    """Of worlds that differ in so many records of one agent, after so many activations (Θ) of the attacked run."""
    scenario, holding = experiment.scenario, experiment.holding
    if scenario.meddlers:
        return _none("no claim is about a run with an active adversary")
    if scenario.audit is not None and isinstance(scenario.audit.adjacency, GradientChange):
        return _none("the claim is about a change of the gradient here, and not about a record")
    if holding is None or subject.attacked is None:
        return _none("agents hold other records than in a run that is attacked")
    claim = subject.attacked.claim(
        adjacency_of(scenario, experiment.dataset, holding.problem), activations, subject.delta
    )
    if claim is None:
        return _none("no privacy is claimed")
    if claim.epsilon is None:
        return _none(f"the claim's own conditions fail: {'; '.join(claim.failed_conditions)}", claim)
    if not math.isfinite(claim.epsilon):
        return _none("the claimed ε is infinite", claim)
    steps = 1 if scenario.audit is not None and scenario.audit.adjacency == "agent" else records
    epsilon, delta = of_group(steps, claim.epsilon, claim.delta)
    return Allowance(epsilon, delta, claim, steps)


def _none(why: str, claim: Claim | None = None) -> Allowance:
    return Allowance(None, 0.0, claim, 1, why)
