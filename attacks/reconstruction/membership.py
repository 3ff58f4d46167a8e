"""Membership: is this record among an agent's?

Under "in" and "out" the agent's gradient at the known points θ_t is in_t or out_t; with Δ = in − out and the errors'
covariance Σ, for each coordinate between rounds, the exact log likelihood ratio of Gaussian errors is

    Λ = ⟨g̃ − out, Δ⟩_Σ⁻¹ − ½‖Δ‖²_Σ⁻¹,   which for independent errors and out = 0 is Σ_t [⟨g̃_t, g_t⟩ − ½‖g_t‖²]/σ_t²,

and of Laplace errors, independent, Σ (|g̃ − out| − |g̃ − in|)/b. Nobody does better at the same level.

An *informed* attacker knows the other records (`Known.others`), and in and out are known vectors. Thresholds and
power are for the points that were seen. Where a point depends on the noise of an earlier round, as in every descent,
the ratio is still exact, and its law given the points is taken as if they did not depend on it.

One who is *not informed* knows public records of the same kind (`Known.prior`), and no record of the agent. Half of
the public records are learned from, the other half judge:

- *Score.* Two statistics of a candidate's gradients c: the log density of g̃ − c/m as the noisy mean of m − 1
  records of the public population (Gaussian, `informed.BatchLaw`), and the share of c that is outside the span of
  the rounds' g̃, above the noise. At σ ≈ 0 the second recognizes what the Gaussian cannot: with as many rounds as
  records, a member of a linear model lies in the span. A logistic regression weighs them. It is trained on
  transcripts that the attacker simulates with the half to learn from: the Gaussian has seen one quarter of the
  records, batches are of another.
- *False alarms* are calibrated on the records that judge: each is scored as a candidate in the very transcript that
  is attacked, and a candidate is accepted if its score is among the ⌊α(n + 1)⌋ largest of theirs and its own. One
  that is not in, drawn from the same population as they are, has every rank alike: false alarms have probability at
  most α over candidates and public records, whatever the noise and the points are, and however bad the score
  (conformal prediction: Vovk, Gammerman, Shafer 2005). They are not bounded for one candidate that is unlike the
  population.
- *Power* is the share of members that this test accepts in simulated transcripts of batches of records that judge;
  the score was trained on none of these. It is that of a member drawn from the population, not of this candidate.
  Transcripts are runs of the attacker's own (`Membership.runs`); without these, batches are dealt at the points
  that were seen, as if points did not depend on the batch: too much is promised where an agent descends in long
  steps.

What "out" means: *remove*, the mean over the other m − 1 records; *zero out*, their sum over m as before; *replace*,
another record in its place, a known one or (not informed) an unknown one of the population. The score of an attacker
who is not informed ranks candidates within a transcript, and no candidate is in the other world's records: to it they
are all the same.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, Protocol

import numpy as np
from scipy import special

from attacks.audit.accounting.products import ComplexArray, Product
from attacks.estimates import Evidence
from attacks.reconstruction.attack import Case, Known, Needs, Whitener
from attacks.reconstruction.informed import BatchLaw, Population, rows_of
from netsim.arrays import Array, Mask
from netsim.errors import AttackError

SMOOTH = 3e-3
"""Share of the score's standard deviation: atoms of its law are smoothed by so much, for the inversion to
converge."""


SPAN = 10.0
"""In standard deviations: no score is further from its mean, as far as the inversion is concerned."""


NEGLIGIBLE = 1e-12


_BLOCK = 64


class _RatioLaw(Protocol):
    """Law of the scores under both hypotheses; all arrays (replicas, candidates)."""

    def threshold(self, level: float) -> Array:
        """Threshold that a score must exceed, so that false alarms have probability `level`."""
        ...

    def power(self, level: float) -> Array:
        """The probability of being right about what is in, at that level."""
        ...


@dataclass(frozen=True)
class GaussianRatio:
    """N(μ²/2, μ²) where the candidate is in, N(−μ²/2, μ²) where it is not; `mu` (replicas, candidates)."""

    mu: Array

    def threshold(self, level: float) -> Array:
        return -(self.mu**2) / 2 - self.mu * special.ndtri(level)

    def power(self, level: float) -> Array:
        return np.asarray(special.ndtr(special.ndtri(level) + self.mu))


@dataclass(frozen=True)
class ProductRatio:
    """The law of the loss of a product of releases (`audit.accounting.products`) for each score.

    With one to five coordinates the law has atoms, and a level between two of them is met to the mass of one.
    """

    products: tuple[tuple[Product, ...], ...]

    def threshold(self, level: float) -> Array:
        return np.array([[_threshold(product, level) for product in row] for row in self.products])

    def power(self, level: float) -> Array:
        return np.array([[_power(product, level) for product in row] for row in self.products])


@lru_cache(maxsize=4096)  # replicas and trials ask of the same few products
def _power(product: Product, level: float) -> float:
    return upper_tail(product, _threshold(product, level))


@lru_cache(maxsize=4096)
def _threshold(product: Product, level: float) -> float:
    """τ with P(−L > τ) = level: under "out" the score has the law of −L, by the symmetry of the noise."""
    if product.pure == 0:
        return 0.0
    _, mean, variance = product.cumulants(0.0)
    reach = SPAN * math.sqrt(variance)
    low, high = -mean - reach, -mean + reach
    from scipy import optimize  # takes its time to load

    return float(optimize.brentq(lambda t: 1 - upper_tail(product, -t) - level, low, high, xtol=1e-9 * reach))


def upper_tail(product: Product, x: float) -> float:
    """P(L > x) of the loss under "in": ½ + π⁻¹∫ Im[e^{−itx}φ(t)]/t dt (Gil-Pelaez), by midpoints.

    Further than `SPAN` from the mean it is 0 or 1: of one Laplace coordinate that leaves out less than 1e-4.
    """
    if product.pure == 0:
        return float(x < 0)
    t, values, origin = _transform(product)
    if abs(x - origin) > SPAN * math.sqrt(product.cumulants(0.0)[2]):
        return float(x < origin)
    turned = np.imag(values * np.exp(-1j * t * (x - origin)))
    return min(max(0.5 + float(np.sum(turned / t)) * 2 * t[0] / math.pi, 0.0), 1.0)


@lru_cache(maxsize=256)
def _transform(product: Product) -> tuple[Array, ComplexArray, float]:
    """Midpoints t, E[e^{it(L − mean)}] there, smoothed, and the mean."""
    _, mean, variance = product.cumulants(0.0)
    deviation = math.sqrt(variance)
    step = 2 * math.pi / (4 * SPAN * deviation)
    parts: list[Array] = []
    values: list[ComplexArray] = []
    k, block, most = 0, _BLOCK, int(8 / (SMOOTH * deviation) / step)
    while k <= most:
        t: Array = np.asarray((np.arange(k, k + block) + 0.5) * step, dtype=np.float64)
        parts.append(t)
        smooth = np.exp(-((SMOOTH * deviation * t) ** 2) / 2)
        values.append(product.characteristic(0.0, t, mean) * smooth)
        k, block = k + block, 2 * block
        if np.max(np.abs(values[-1])) < NEGLIGIBLE:
            break
    return np.concatenate(parts), np.concatenate(values), mean


@dataclass(frozen=True)
class RankedScores:
    """Scores of `others`, public records that are not in, (replicas, candidates, n), in the transcript attacked.

    `ranks` (members,): in simulated transcripts, how many have at least the score of a member: itself, and of
    `judges` public records that are not in.
    """

    others: Array = field(repr=False)
    ranks: Array = field(repr=False)
    judges: int

    def threshold(self, level: float) -> Array:
        """The ⌈(n + 1)(1 − level)⌉-th smallest: false alarms of one more record have probability at most `level`.

        You get an `AttackError` where there are too few records for the level.
        """
        n = self.others.shape[-1]
        return np.sort(self.others, axis=-1)[..., n - self._largest(level, n)]

    def power(self, level: float) -> Array:
        found = float(np.mean(self.ranks <= self._largest(level, self.judges)))
        return np.full(self.others.shape[:2], found)

    def _largest(self, level: float, n: int) -> int:
        """How many of n + 1 scores are accepted."""
        if math.floor(level * (self.judges + 1) + ROUNDED) < 1:
            raise AttackError(
                f"{self.judges} public records to judge by do not resolve a level of {level:g}: it takes "
                f"{math.ceil(1 / level - ROUNDED) - 1} beside those of a batch"
            )
        return math.floor(level * (n + 1) + ROUNDED)


@dataclass(frozen=True)
class Decision:
    """Decision on each candidate, whether it is in an agent's data.

    `scores` (replicas, candidates): log likelihood ratios, or (not informed) log odds as trained, higher for "in";
    `law`: theirs; `queries`: the estimates that were used.
    """

    attack: str
    agent: int
    scores: Array
    law: _RatioLaw
    queries: tuple[int, ...]

    def accepted(self, level: float) -> Mask:
        """Which candidates are judged to be in, with false alarms at `level`; (replicas, candidates)."""
        return self.scores > self.law.threshold(level)

    def power(self, level: float) -> Array:
        """Probability, by the law, that those that are in are found, (replicas, candidates); where the others are
        unknown, that of any member of the transcripts that the attacker simulated."""
        return self.law.power(level)


Records = tuple[Array, Array]
"""Features (candidates, width) and labels (candidates,)."""
Adjacency = Literal["remove", "zero out", "replace"]


@dataclass(frozen=True)
class Membership:
    """The likelihood ratio of every candidate. `instead` is the one record of a known replacement.

    Where others are unknown, the score is trained on `draws` simulated transcripts, and its power is that in as many
    more. `runs` makes one: the evidence of a run of the attacker's own in which the agent holds these records.
    """

    adjacency: Adjacency = "remove"
    instead: Records | None = None
    draws: int = 200
    runs: Callable[[Records], Evidence] | None = None

    name = "membership"
    source = "Neyman, Pearson 1933; likelihood ratios of noisy gradients as in Nasr et al. 2021"
    needs = Needs(law=True)

    def decide(
        self, cases: Sequence[Case], candidates: Sequence[Records], rng: np.random.Generator
    ) -> list[Decision]:
        """One for each case, about its own candidates. `Known.records` is how many there are with the candidate.

        Where others are unknown, all cases of an agent are transcripts of one algorithm: they share a trained score.
        You get an `AttackError` where the law of the errors is not known; where it is Laplace, the attacker informed,
        and errors are correlated between rounds, so that the covariance does not determine their law; for "replace"
        by whom an informed attacker does not know; without others and without a prior, or with one of too few
        records, or whose classes have other shares than its records, which are then no sample of the population.
        """
        scores: dict[int, _Trained] = {}
        found: list[Decision] = []
        for case, records in zip(cases, candidates, strict=True):
            self.needs.check(self.name, case)
            if case.known.others is not None:
                found.append(self._informed(case, records))
                continue
            agent = case.evidence.agent
            if agent not in scores:
                scores[agent] = self._trained([one for one in cases if one.evidence.agent == agent], rng)
            found.append(self._uninformed(case, records, scores[agent]))
        return found

    def _informed(self, case: Case, records: Records) -> Decision:
        evidence, known = case
        model, points, m = known.model, evidence.points, known.records
        others = known.others_gradients(points)
        if self.adjacency == "replace":
            if self.instead is None:
                raise AttackError("membership by replacement needs the record that is there instead")
            features, labels = self.instead
            out = (others + model.gradient(points, features, model.targets(labels))) / m
        else:
            out = others / (max(m - 1, 1) if self.adjacency == "remove" else m)
        each = zip(records[0], model.targets(records[1]), strict=True)
        differences = [(others + model.gradient(points, a[None], t[None])) / m - out for a, t in each]
        residual = evidence.without(known.penalty) - out
        if evidence.law == "laplace" and not evidence.exact:
            if not evidence.independent or np.any(evidence.stddev == 0):
                raise AttackError(
                    "membership needs Laplace errors that are independent between rounds: their covariance does not "
                    "determine the law of sums of them"
                )
            scale = (evidence.stddev / np.sqrt(2))[:, None]
            sums = [np.einsum("trd->r", (np.abs(residual) - np.abs(residual - d)) / scale) for d in differences]
            products = [
                tuple(Product.laplace(d[:, r], scale[:, 0]) for d in differences) for r in range(evidence.replicas)
            ]
            scores, law = np.array(sums).T, ProductRatio(tuple(products))
        else:
            whitener = Whitener.of(evidence)
            given, white = whitener(residual), [whitener(d) for d in differences]
            squares = np.array([np.einsum("trd,trd->r", d, d) for d in white]).T
            scores = np.array([np.einsum("trd,trd->r", given, d) for d in white]).T - squares / 2
            law = GaussianRatio(np.sqrt(squares))
        return Decision(self.name, evidence.agent, scores, law, evidence.queries)

    def _uninformed(self, case: Case, records: Records, trained: "_Trained") -> Decision:
        candidates = Population(records[0], case.known.model.targets(records[1]), np.ones(len(records[1])))
        shape = case.evidence.replicas, len(records[1])
        odds = np.empty((*shape, 1 + len(trained.judge.weights)))
        for r in range(shape[0]):
            view = _View.of(case, r, trained.learn)
            own, others = (view.statistics(view.given, view.white(one)) for one in (candidates, trained.judge))
            for k in range(shape[1]):
                odds[r, k] = trained.odds(np.concatenate([own[k : k + 1], others]))
        law = RankedScores(odds[..., 1:], trained.ranks, len(trained.judge.weights) - case.known.records)
        return Decision(self.name, case.evidence.agent, odds[..., 0], law, case.evidence.queries)

    def _trained(self, cases: Sequence[Case], rng: np.random.Generator) -> "_Trained":
        """The score for these transcripts, from public records alone, and how it ranks members."""
        known = cases[0].known
        if known.prior is None:
            raise AttackError("membership needs all records but one, or a prior from public records")
        if self.adjacency == "replace" and self.instead is not None:
            raise AttackError("a known replacement needs the other records: without them it is an unknown one")
        population = Population.of(known.prior, known.model)
        if np.ptp(population.weights) > EQUAL * float(np.max(population.weights)):
            raise AttackError("membership needs a prior whose classes have the shares of its public records")
        learn, judge = population.halves()
        quarters = learn.halves()
        if min(len(each.weights) for each in quarters) <= known.records:
            raise AttackError(
                f"{len(population.weights)} public records are too few to learn from for batches of {known.records}: "
                f"it takes {4 * (known.records + 1)}"
            )
        rows: list[Array] = []
        members: list[Mask] = []
        for k in (0, 1):
            for statistics, inside in self._simulated(cases, quarters[k], quarters[1 - k], self.draws // 2, rng):
                rows.append(_standardized(statistics))
                members.append(inside)
        weights, offset = _weighed(np.concatenate(rows), np.concatenate(members))
        trained = _Trained(learn, judge, weights, offset, np.empty(0))
        ranks: list[int] = []
        for statistics, inside in self._simulated(cases, learn, judge, self.draws, rng):
            for member in statistics[inside]:  # one by one: of the transcript attacked, one candidate is asked about
                odds = trained.odds(np.concatenate([member[None], statistics[~inside]]))
                ranks.append(int(np.count_nonzero(odds >= odds[0])))
        return replace(trained, ranks=np.array(ranks, dtype=np.float64))

    def _simulated(
        self, cases: Sequence[Case], learn: Population, pool: Population, count: int, rng: np.random.Generator
    ) -> Iterator[tuple[Array, Mask]]:
        """Statistics (n, 2) of all records of `pool` in transcripts of some of them, and which these are, (n,)."""
        known, n, runs = cases[0].known, len(pool.weights), self.runs
        at = [(case, r) for case in cases[:SEEN] for r in range(min(case.evidence.replicas, SEEN))]
        views = [_View.of(*one, learn) for one in at] if runs is None else []
        gradients = [view.white(pool) for view in views]
        labels = known.model.labels(pool.targets)
        for k in range(count):
            inside = np.zeros(n, np.bool_)
            inside[rng.choice(n, known.records, replace=False)] = True
            if runs is None:
                view, own = views[k % len(at)], gradients[k % len(at)]
                given = np.mean(own[inside], axis=0) + _noise(at[k % len(at)][0].evidence, own.shape[1], rng)
            else:
                view = _View.of(Case(runs((pool.features[inside], labels[inside])), known), 0, learn)
                given, own = view.given, view.white(pool)
            yield view.statistics(given, own), inside


SEEN = 10
"""Cases, and replicas of each, at whose points batches are simulated, at most."""
ROUNDED = 1e-9
EQUAL = 1e-6
LEAST = 1e-14
"""Share of a candidate outside the span that is rounding."""


def _noise(evidence: Evidence, size: int, rng: np.random.Generator) -> Array:
    """Errors in units of the noise: Gaussian, or Laplace where they are independent, and stay so."""
    if evidence.law == "laplace" and evidence.independent:
        return np.asarray(rng.laplace(size=size) / math.sqrt(2), dtype=np.float64)
    return np.asarray(rng.standard_normal(size), dtype=np.float64)


@dataclass(frozen=True)
class _View:
    """One replica of a transcript at its `points`, in units of the noise (`rows`): the gradients `given`, (rounds ·
    dimension,), and the `law` of a record's."""

    known: Known
    points: Array
    rows: Callable[[Array], Array]
    given: Array
    law: BatchLaw

    @classmethod
    def of(cls, case: Case, replica: int, learn: Population) -> "_View":
        evidence, known = case
        rows, points = rows_of(Whitener.of(evidence), replica), evidence.points[:, replica]
        given = rows(evidence.without(known.penalty)[:, replica][:, None])[0]
        law = BatchLaw.of(rows(learn.gradients(known.model, points)), learn.weights)
        return cls(known, points, rows, given, law)

    def white(self, records: Population) -> Array:
        """Gradients of records, (n, rounds · dimension)."""
        return self.rows(records.gradients(self.known.model, self.points))

    def statistics(self, given: Array, own: Array) -> Array:
        """Of records with gradients `own` (n, …): ln of the density of the rest, and of the share outside the rounds'
        span; (n, 2)."""
        m, rounds = self.known.records, len(self.points)
        kept = (m - 1) / m
        density = self.law.log_density(own / m, given - kept * self.law.mean, kept / m)  # the Gaussian is symmetric
        _, sizes, span = np.linalg.svd(given.reshape(rounds, -1), full_matrices=False)
        along = (own.reshape(-1, span.shape[1]) @ span.T).reshape(len(own), rounds, -1)
        whole = np.einsum("np,np->n", own, own)
        within = np.einsum("ntk,k->n", along**2, sizes**2 / (1 + sizes**2))
        outside = (whole - within) / np.where(whole > 0, whole, 1.0)
        return np.stack([density, np.log(np.maximum(outside, LEAST))], axis=1)


@dataclass(frozen=True)
class _Trained:
    """Log odds of "in", `weights` (2,) of standardized statistics and the `offset`. `learn` has the records learned
    from, `judge` those that judge; `ranks` as in `RankedScores`."""

    learn: Population
    judge: Population
    weights: Array
    offset: float
    ranks: Array

    def odds(self, statistics: Array) -> Array:
        """Of all records of one transcript together, (n,)."""
        return np.einsum("nk,k->n", _standardized(statistics), self.weights) + self.offset


def _standardized(statistics: Array) -> Array:
    """Distances from the median, in units of the median distance, on the scale of arsinh: comparable between
    transcripts. All rows are treated alike, so that ranks of records that are not in stay exchangeable."""
    away = statistics - np.median(statistics, axis=0)
    unit = np.median(np.abs(away), axis=0)
    return np.arcsinh(away / np.where(unit > 0, unit, 1.0))


def _weighed(rows: Array, members: Mask) -> tuple[Array, float]:
    """Weights and offset of a logistic regression, members and others with the same weight together."""
    from sklearn import linear_model  # slow to import

    regression: Any = linear_model.LogisticRegression
    fitted = regression(class_weight="balanced").fit(rows, members)
    return np.asarray(fitted.coef_[0], dtype=np.float64), float(fitted.intercept_[0])
