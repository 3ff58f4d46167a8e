"""Membership: is this record among an agent's?

Under "in" and "out" the agent's gradient at the known points θ_t is in_t or out_t; with Δ = in − out and the errors'
covariance Σ, for each coordinate between rounds, the exact log likelihood ratio of Gaussian errors is

    Λ = ⟨g̃ − out, Δ⟩_Σ⁻¹ − ½‖Δ‖²_Σ⁻¹,   which for independent errors and out = 0 is Σ_t [⟨g̃_t, g_t⟩ − ½‖g_t‖²]/σ_t²,

and of Laplace errors, independent, Σ (|g̃ − out| − |g̃ − in|)/b. Nobody does better at the same level.

An *informed* attacker knows the other records (`Known.others`), and in and out are known vectors. Else the others are
unknown draws of the public population (`populations`): both hypotheses are Gaussians of means and covariances, errors
of any law are taken for Gaussian, and thresholds are made by simulation from records that the fit has not seen.

Thresholds and power are for the points that were seen. Where a point depends on the noise of an earlier round, as
in every descent, the ratio is still exact, and its law given the points is taken as if they did not depend on it.

What "out" means: *remove*, the mean over the other m − 1 records; *zero out*, their sum over m as before; *replace*,
another record in its place, a known one or (not informed) an unknown one of the population.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from attacks.audit.accounting.products import Product
from attacks.reconstruction.attack import Case, Known, Needs
from attacks.reconstruction.informed import independent, sum_of_others
from attacks.reconstruction.likelihood_ratio import Decision, GaussianRatio, ProductRatio, SampledRatio
from attacks.reconstruction.populations import BatchLaw, Population, rows_of
from attacks.reconstruction.residuals import Whitener
from netsim.arrays import Array
from netsim.errors import AttackError

Records = tuple[Array, Array]
"""Features (candidates, width) and labels (candidates,)."""
Adjacency = Literal["remove", "zero out", "replace"]


@dataclass(frozen=True)
class Membership:
    """The likelihood ratio of every candidate. `instead` is the one record of a known replacement; `draws`: simulated
    transcripts for each threshold, where others are unknown."""

    adjacency: Adjacency = "remove"
    instead: Records | None = None
    draws: int = 1000

    @property
    def name(self) -> str:
        return "membership"

    @property
    def source(self) -> str:
        return "Neyman, Pearson 1933; likelihood ratios of noisy gradients as in Nasr et al. 2021"

    @property
    def needs(self) -> Needs:
        return Needs(law=True)

    def decide(
        self, cases: Sequence[Case], candidates: Sequence[Records], rng: np.random.Generator
    ) -> list[Decision]:
        """One for each case, about its own candidates. `Known.records` is how many there are with the candidate.

        You get an `AttackError` where the law of the errors is not known; where it is Laplace, the attacker informed,
        and errors are correlated between rounds, so that the covariance does not tell their law; for "replace" by
        whom an informed attacker does not know; and without others and without a prior.
        """
        found: list[Decision] = []
        for case, records in zip(cases, candidates, strict=True):
            self.needs.check(self.name, case)
            informed = case.known.others is not None
            found.append(self._informed(case, records) if informed else self._uninformed(case, records, rng))
        return found

    def _informed(self, case: Case, records: Records) -> Decision:
        evidence, known = case
        given = evidence.without(known.penalty)
        out = self._out(known, evidence.points)
        differences = [one - out for one in _with_each(known, evidence.points, records)]
        if evidence.law == "laplace" and not evidence.exact:
            scores, law = _laplace(case, given - out, differences)
        else:
            scores, law = _gaussian(case, given - out, differences)
        return Decision(self.name, evidence.agent, scores, law, evidence.queries)

    def _out(self, known: Known, points: Array) -> Array:
        """The gradient without the candidate, (rounds, replicas, dimension)."""
        others = sum_of_others(known, points)
        if self.adjacency == "replace":
            if self.instead is None:
                raise AttackError("membership by replacement needs the record that is there instead")
            features, labels = self.instead
            return (others + known.model.gradient(points, features, known.model.targets(labels))) / known.records
        return others / (max(known.records - 1, 1) if self.adjacency == "remove" else known.records)

    def _uninformed(self, case: Case, records: Records, rng: np.random.Generator) -> Decision:
        known, evidence = case.known, case.evidence
        if known.prior is None:
            raise AttackError("membership needs all records but one, or a prior from public records")
        if self.adjacency == "replace" and self.instead is not None:
            raise AttackError("a known replacement needs the other records: without them it is an unknown one")
        population = Population.of(known.prior, known.model)
        each = [self._replica(case, population, records, r, rng) for r in range(evidence.replicas)]
        law = SampledRatio(np.array([out for _, out, _ in each]), np.array([inside for _, _, inside in each]))
        scores = np.array([score for score, _, _ in each])
        return Decision(self.name, evidence.agent, scores, law, evidence.queries)

    def _replica(
        self, case: Case, population: Population, records: Records, replica: int, rng: np.random.Generator
    ) -> tuple[Array, Array, Array]:
        """Scores (candidates,), and of simulated transcripts (candidates, draws): out, inside."""
        evidence, known = case
        m, points = known.records, evidence.points[:, replica]
        white = rows_of(Whitener.of(evidence), replica)
        (fitted, judged), model = population.halves(), known.model
        law = BatchLaw.of(white(fitted.gradients(model, points)), fitted.weights)
        given = white(evidence.without(known.penalty)[:, replica][:, None])[0]
        candidate = Population(records[0], model.targets(records[1]), np.ones(len(records[1])))
        own = white(candidate.gradients(model, points)) / m
        kept, left = (m - 1) / m, {"remove": m - 1, "zero out": m - 1, "replace": m}[self.adjacency]
        scale = kept if self.adjacency == "zero out" else float(left > 0)
        spread_out = scale**2 / max(left, 1)
        spread_in = kept / m

        def ratio(values: Array, one: Array) -> Array:
            inside = law.log_density(values, kept * law.mean + one, spread_in)
            return inside - law.log_density(values, scale * law.mean, spread_out)

        fresh = white(judged.gradients(model, points))
        noise = rng.standard_normal((2, self.draws, given.size))
        out = scale * judged.draw(fresh, self.draws, left, rng) + noise[0]
        inside = kept * judged.draw(fresh, self.draws, m - 1, rng) + noise[1]
        return (
            np.array([ratio(given, one) for one in own]),
            np.array([ratio(out, one) for one in own]),
            np.array([ratio(inside + one, one) for one in own]),
        )


def _with_each(known: Known, points: Array, records: Records) -> list[Array]:
    """The gradient with each candidate, (rounds, replicas, dimension)."""
    others = sum_of_others(known, points)
    targets = known.model.targets(records[1])
    return [
        (others + known.model.gradient(points, record[None], target[None])) / known.records
        for record, target in zip(records[0], targets, strict=True)
    ]


def _gaussian(case: Case, residual: Array, differences: list[Array]) -> tuple[Array, GaussianRatio]:
    whitener = Whitener.of(case.evidence)
    seen = whitener(residual)
    white = [whitener(each) for each in differences]
    squares = np.array([np.einsum("trd,trd->r", each, each) for each in white]).T
    scores = np.array([np.einsum("trd,trd->r", seen, each) for each in white]).T - squares / 2
    return scores, GaussianRatio(np.sqrt(squares))


def _laplace(case: Case, residual: Array, differences: list[Array]) -> tuple[Array, ProductRatio]:
    evidence = case.evidence
    if not independent(evidence) or np.any(evidence.stddev == 0):
        raise AttackError(
            "membership needs Laplace errors that are independent between rounds: their covariance does not tell the "
            "law of sums of them"
        )
    scale = (evidence.stddev / np.sqrt(2))[:, None]
    scores = np.array(
        [np.einsum("trd->r", (np.abs(residual) - np.abs(residual - each)) / scale) for each in differences]
    ).T
    products = tuple(
        tuple(Product.laplace(each[:, r], scale[:, 0]) for each in differences) for r in range(evidence.replicas)
    )
    return scores, ProductRatio(products)
