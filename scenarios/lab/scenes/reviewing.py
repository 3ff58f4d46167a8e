"""Theorem 3 of DPP² as a reviewer takes it apart: its words, its adjacency, what each release costs, two counts."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from netsim.claims import Adjacency, length
from netsim.problems.objective import direction as unit_vector
from scenarios.lab.live import REMEMBERED, planned, results
from scenarios.papers.items import Item, chosen
from scenarios.results.audit import AuditResult

ITEM = "dpp2-theorem-3"
Direction = Literal["even", "random", "coordinate"]
DIRECTIONS: tuple[Direction, ...] = ("even", "random", "coordinate")
STEPS = (0.1, 0.03, 0.01, 0.001)
"""α of the slider: the paper's own, and shorter ones."""
CHANGE, RATIO, SMOOTHNESS, DIMENSION, AGENT, SEED = 0.3, 0.9, 5.03, 10, 0, 1
"""δ, r, M̄ and d; u_w = u_e = 1."""
NORM = 5.0
"""A bound on the length of a record, where one is set."""


def item() -> Item:
    """The theorem among the papers' items: its place, its words, its conditions, and what came of it."""
    (paper,) = chosen([ITEM])
    (found,) = paper.items
    return found


def paper() -> str:
    """Authors, title, year."""
    return chosen([ITEM])[0].paper


def _words(rounds: int, step: float, direction: Direction | None) -> dict[str, object]:
    """As in the shipped scenario of the theorem, with fewer trials: what is exact here does not depend on them."""
    noise = {"kind": "geometric", "first": 1.0, "ratio": RATIO}
    algorithm = {"kind": "dpp2", "rounds": rounds, "step": step, "beta": step / 2, "rho": 10}
    data = {"name": "synthetic", "records": 600, "dimension": DIMENSION, "noise": 1.0}
    own = {"norm_bound": NORM} if direction is None else {}
    problem = {"kind": "nonconvex_logistic", "nonconvex_weight": 0.001, "nonconvex_shape": 1.0, "data": data | own}
    change = "record" if direction is None else {"change": CHANGE, "direction": direction}
    return {
        "name": "a-reviewers-hour",
        "seed": SEED,
        "problem": problem | ({} if own else {"smoothness": SMOOTHNESS}),
        "topology": {"kind": "complete", "agents": 3},
        "links": {"reliable": False},
        "algorithms": [algorithm | {"scale_w": noise, "scale_e": noise}],
        "attacks": {"gradients": False},
        "audit": {"agent": AGENT, "adjacency": change, "trials": 100, "chunk": 50},
    }


@lru_cache(REMEMBERED)
def theorem(terms: int, step: float) -> float:
    """The right side of Theorem 3 with K = `terms`, as netsim computes it: its `rounds` are K + 1, Algorithm 1's."""
    experiment = planned(_words(terms + 1, step, "even"))
    (subject,) = experiment.subjects
    claim = subject.simulation.claim(experiment.adjacency, terms + 1, 0.0)
    assert claim is not None
    assert claim.epsilon is not None
    return claim.epsilon


def by_record(norm_bound: bool) -> tuple[Adjacency, int]:
    """What one replaced record may do to an agent's gradient, with records of length `NORM` at most or of any, and
    the agent's number of records."""
    words = _words(2, STEPS[0], None)
    if not norm_bound:
        words = _words(2, STEPS[0], "even") | {"audit": {"adjacency": "record"}}
    experiment = planned(words)
    return experiment.adjacency, experiment.problem.records[AGENT]


@dataclass(frozen=True)
class Reviewed:
    """An audit of `rounds` rounds, against the theorem by both counts of K."""

    rounds: int
    step: float
    direction: Direction

    @property
    def audit(self) -> AuditResult:
        """Its verdict is that of the claim by Algorithm 1's count."""
        found = results(_words(self.rounds, self.step, self.direction)).algorithms[0].audit
        assert isinstance(found, AuditResult)
        return found

    @property
    def exact(self) -> float:
        """ε of this pair that is lost for certain."""
        return self.audit.epsilon_exact.lower

    @property
    def by_loop(self) -> float:
        """The claim where rounds are k = 0, …, K."""
        return theorem(self.rounds - 1, self.step)

    @property
    def by_table(self) -> float:
        """The claim where K is the number of iterations."""
        return theorem(self.rounds, self.step)

    @property
    def releases(self) -> list[tuple[str, float, float]]:
        """Every release in order: its name, what it adds, and ε so far. In a round y goes out first, then z."""
        rows, before = list[tuple[str, float, float]](), 0.0
        for level in self.audit.growth:
            assert level.release is not None
            name = f"{'yz'[level.release % 2]} of k = {level.release // 2}"
            rows.append((name, level.lower - before, level.lower))
            before = level.lower
        return rows

    @property
    def costly(self) -> list[str]:
        """Releases that add anything."""
        return [name for name, cost, _ in self.releases if cost > 1e-9]


def lengths(direction: Direction) -> tuple[float, float]:
    """‖Δ‖₁ and ‖Δ‖₂ of the change of the gradient."""
    change = CHANGE * unit_vector(direction, DIMENSION, SEED)
    return float(length(change, "l1")), float(length(change, "l2"))
