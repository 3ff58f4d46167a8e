"""Scores of what was inferred: gradients, stated covariances against the errors, membership and properties,
and what traffic analysis found.

*Membership and properties*: false alarms, powers, ROC, and what a privacy claim allows.

Scores of the candidate in transcripts of both worlds come in; rates come with Clopper-Pearson intervals. The area
under the ROC is the share of pairs (in, out) in the right order, ties by half, with Hoeffding's interval for U
statistics, AUC ± √(ln(2/α)/2n), n the smaller sample, which holds for every law (Hoeffding 1963, section 5).

The *advantage* is power less false alarms of the rule "in where the score is above 0", which is the best one where
the score is the exact log likelihood ratio: it is then the total variation between the two worlds' transcripts. Its
interval is of both rates at once.

(ε, δ)-DP for this pair of worlds allows at most (Kairouz, Oh, Viswanath 2015)

    power at level α       min(e^ε α + δ, 1 − e^{−ε}(1 − δ − α), 1)   (`approximate_bound`)
    advantage              (e^ε − 1 + 2δ)/(e^ε + 1)
    right one of k         (e^ε + (k − 1)δ)/(e^ε + k − 1), all k equally likely and pairwise adjacent

The last one: P(j|j) ≤ e^ε P(j|i) + δ for all i ≠ j, summed over both.
"""

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from attacks.audit.accounting.intervals import Interval, clopper_pearson
from attacks.estimates import Evidence, GradientEstimate, check_estimates, check_number, check_shape
from attacks.reconstruction.attack import Whitener
from attacks.reconstruction.informed import Choice
from attacks.reconstruction.membership import Decision
from attacks.score.robustness import approximate_bound
from attacks.traffic.packets import Amount, Sealed, same
from netsim.adversary import Edge
from netsim.arguments import checked
from netsim.arrays import Array
from netsim.errors import ScenarioError
from netsim.randomness import Streams
from netsim.simulation import Run
from netsim.transcript.packet_log import PacketLog
from netsim.truth import Truth

CURVE = 100
"""Points of a ROC that are kept, at most."""


# ── gradients ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class GradientScore:
    """Quality of the inferred private gradients.

    `errors[k]` is ‖estimate − gradient‖/max(1, ‖gradient‖) of estimate k, (estimates, replicas), and `times[k]`
    the virtual time of the query; `estimated` of `asked` queries have an estimate at all; `queries[k]` counts
    those of its agent, from 0. `hidden[i]` counts
    agent i's queries without one. `baseline` is the median error of who infers nothing: of the gradient of the
    public quadratic term alone, at the true point.
    """

    errors: Array
    times: Array
    agents: tuple[int, ...]
    estimated: int
    asked: int
    queries: tuple[int, ...]
    hidden: tuple[int, ...]
    baseline: float

    @property
    def worst(self) -> float:
        """The largest error of any estimate."""
        return float(np.max(self.errors)) if self.errors.size else float("inf")

    @property
    def median(self) -> float:
        """The median error."""
        return float(np.median(self.errors)) if self.errors.size else float("inf")


@checked
def score_gradients(
    estimates: Sequence[GradientEstimate], truth: Truth, insiders: Container[int] = ()
) -> GradientScore:
    """Compare every estimate with the gradient its agent got at that query. No estimate is expected of `insiders`.

    You get a `ScenarioError` for an estimate of no query of the run, of another shape than that query's gradient,
    or that is no number though every gradient of the run is one, and for two of one query.
    """
    _check_of_run(estimates, truth)
    errors: list[Array] = []
    times: list[float] = []
    found = [0] * len(truth.queries)
    baseline: list[Array] = []
    for estimate in estimates:
        query = truth.queries[estimate.agent][estimate.query]
        errors.append(_error(estimate.gradient, query.gradient))
        baseline.append(_error(truth.problem.ridge * query.point, query.gradient))
        times.append(query.time)
        found[estimate.agent] += 1
    asked = [0 if i in insiders else len(queries) for i, queries in enumerate(truth.queries)]
    return GradientScore(
        np.array(errors),
        np.array(times),
        tuple(e.agent for e in estimates),
        len(estimates),
        sum(asked),
        tuple(e.query for e in estimates),
        tuple(a - f for a, f in zip(asked, found, strict=True)),
        float(np.median(baseline)) if baseline else float("nan"),
    )


def _check_of_run(estimates: Sequence[GradientEstimate], truth: Truth) -> None:
    """Raise a `ScenarioError` for what cannot be an estimate of this run's gradients."""
    check_estimates(estimates)
    for k, one in enumerate(estimates):
        where = f"estimates[{k}]"
        check_number(f"{where}.agent", one.agent, len(truth.queries), "agents")
        check_number(f"{where}.query", one.query, len(truth.queries[one.agent]), f"queries of agent {one.agent}")
        shape = truth.queries[one.agent][one.query].gradient.shape
        check_shape(f"{where}.gradient", one.gradient, "(replicas, dimension)", shape)
    lost = [k for k, one in enumerate(estimates) if np.isnan(one.gradient).any()]
    if lost and all(np.isfinite(query.gradient).all() for queries in truth.queries for query in queries):
        one = estimates[lost[0]]
        why = f"is no number, in the estimate of query {one.query} of agent {one.agent}"
        raise ScenarioError(f"estimates[{lost[0]}].gradient", math.nan, why, "numbers; leave out what is not known")


def _error(estimate: Array, gradient: Array) -> Array:
    """‖estimate − gradient‖/max(1, ‖gradient‖), (replicas,)."""
    scale = np.maximum(1.0, np.linalg.norm(gradient, axis=-1))
    return np.linalg.norm(estimate - gradient, axis=-1) / scale


_VARIANCE_OF_SQUARES = {"gaussian": 2.0, "laplace": 5.0}
"""Var z² of a variable of variance 1."""


@dataclass(frozen=True)
class _Calibration:
    """Whether the errors of one agent's estimates are as large as was stated.

    `statistics` (replicas,): Σ of the squared whitened errors of what is noisy, whose mean is `degrees` where the
    covariance is right, each square having this `variance`; `exact_error` (replicas,): the largest error of a round
    that was stated to be exact, relative to max(1, ‖gradient‖).
    """

    agent: int
    statistics: Array
    degrees: int
    exact_error: Array
    variance: float = 2.0

    @property
    def ratio(self) -> float:
        """Mean squared error over its stated value: 1 where it is right, 4 where errors are twice as large."""
        return float(np.mean(self.statistics)) / self.degrees if self.degrees else float("nan")

    @property
    def p_value(self) -> float:
        """Two-sided, of the covariance being right: χ² for Gaussian errors, else the normal law of so large a sum."""
        total, degrees = float(np.sum(self.statistics)), self.degrees * self.statistics.size
        if not degrees:
            return float("nan")
        if self.variance == _VARIANCE_OF_SQUARES["gaussian"]:
            return 2 * min(float(special.chdtr(degrees, total)), float(special.chdtrc(degrees, total)))
        return 2 * float(special.ndtr(-abs(total - degrees) / math.sqrt(self.variance * degrees)))


def calibration(evidence: Evidence, truth: Truth) -> _Calibration:
    """χ² of the evidence's own covariance against its errors, round by round exact or noisy.

    With errors that are correlated between rounds and not Gaussian the p-value is that of uncorrelated ones: near.
    Where the law is not known it is taken for Gaussian.
    """
    gradients = np.array([truth.queries[evidence.agent][k].gradient for k in evidence.queries])
    errors = evidence.gradients - gradients
    noisy = np.any(evidence.stddev > 0, axis=-1)
    scale = np.maximum(1.0, np.max(np.linalg.norm(gradients, axis=-1), axis=0))
    exact = np.max(np.abs(errors[~noisy]), axis=(0, -1), initial=0.0) / scale
    statistics: Array = np.zeros(evidence.replicas)
    degrees = int(np.sum(noisy)) * errors.shape[-1]
    if degrees:
        whitener = Whitener.of(evidence.only(np.flatnonzero(noisy).tolist()))
        statistics = np.einsum("trd->r", whitener(errors[noisy]) ** 2)
    return _Calibration(evidence.agent, statistics, degrees, exact, _VARIANCE_OF_SQUARES[evidence.law or "gaussian"])


# ── membership ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _AtLevel:
    """Rates at one level of false alarms: the `power` that the law of the score promises, and what was counted."""

    level: float
    power: float
    found: Interval
    alarms: Interval
    count: tuple[int, int]
    """Number of decisions "in", of those that are in and of those that are not."""

    @classmethod
    def of(cls, level: float, inside: Sequence[Decision], out: Sequence[Decision], confidence: float) -> "_AtLevel":
        power = float(np.mean(np.concatenate([one.power(level)[:, 0] for one in inside])))
        decided = [np.concatenate([one.accepted(level)[:, 0] for one in own]) for own in (inside, out)]
        found, alarms = (clopper_pearson(int(np.sum(own)), own.size, confidence) for own in decided)
        return cls(level, power, found, alarms, (int(np.sum(decided[0])), int(np.sum(decided[1]))))


@dataclass(frozen=True)
class _MembershipScore:
    """The game's rates. `roc`: false alarms and powers, (2, points), of the scores against one threshold for all."""

    trials: tuple[int, int]
    levels: tuple[_AtLevel, ...]
    advantage: Interval
    auc: Interval
    roc: Array


def score_membership(
    inside: Sequence[Decision], out: Sequence[Decision], levels: Sequence[float], confidence: float
) -> _MembershipScore:
    """Decisions of transcripts in which the first candidate is in, and of such in which it is not."""
    here, there = (np.concatenate([one.scores[:, 0] for one in own]) for own in (inside, out))
    half = 1 - (1 - confidence) / 2  # both rates at once
    found, alarms = (clopper_pearson(int(np.sum(own > 0)), own.size, half) for own in (here, there))
    low, high = found.lower - alarms.upper, found.upper - alarms.lower
    order = np.sort(there)
    below = np.searchsorted(order, here, "left") + np.searchsorted(order, here, "right")
    area = float(np.mean(below)) / 2 / there.size
    away = math.sqrt(math.log(2 / (1 - confidence)) / (2 * min(here.size, there.size)))
    thresholds = np.unique(np.concatenate([here, there]))[::-1]  # all of them, thinned, from (0, 0) to (1, 1)
    chosen = np.unique(np.linspace(0, thresholds.size - 1, min(thresholds.size, CURVE)).astype(int))
    points = np.array([[np.count_nonzero(own >= t) / own.size for t in thresholds[chosen]] for own in (there, here)])
    return _MembershipScore(
        (here.size, there.size),
        tuple(_AtLevel.of(level, inside, out, confidence) for level in levels),
        Interval(low, found.estimate - alarms.estimate, high, confidence),
        Interval(max(area - away, 0.0), area, min(area + away, 1.0), confidence),
        np.concatenate([np.zeros((2, 1)), points], axis=1),
    )


# ── what a claim allows ─────────────────────────────────────────────────────────────────────────────────


def allowed_advantage(epsilon: float, delta: float) -> float:
    """(e^ε − 1 + 2δ)/(e^ε + 1), at most 1."""
    return min(math.tanh(epsilon / 2) + 2 * delta / (math.exp(min(epsilon, 700.0)) + 1), 1.0)


def allowed_right(hypotheses: int, epsilon: float, delta: float) -> float:
    """Largest rate at which the right one of k equally likely hypotheses can be named."""
    grown = math.exp(-epsilon)
    return min((1 + (hypotheses - 1) * delta * grown) / (1 + (hypotheses - 1) * grown), 1.0)


def of_group(size: int, epsilon: float, delta: float) -> tuple[float, float]:
    """(ε, δ) for data sets that are `size` adjacent steps apart: (kε, δ·Σ_{i<k} e^{iε}), δ at most 1."""
    if delta == 0:
        return size * epsilon, 0.0
    with np.errstate(over="ignore"):
        total = delta * float(np.sum(np.exp(epsilon * np.arange(size))))
    return size * epsilon, min(total, 1.0)


def breaks(score: _MembershipScore, epsilon: float, delta: float, confidence: float) -> bool:
    """Whether the rates at some level prove the claim false, all levels together at this confidence.

    Either side of the test may prove it: power above what its false alarms allow, or the same of the complements.
    """
    each = 1 - (1 - confidence) / (2 * len(score.levels))
    for one in score.levels:
        (here, there), (n, m) = one.count, score.trials
        found, alarms = clopper_pearson(here, n, each), clopper_pearson(there, m, each)
        if found.lower > approximate_bound(alarms.upper, epsilon, delta):
            return True
    return False


# ── properties ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _PropertyScore:
    """Rate at which the likeliest hypothesis was the `right` one, and the posterior's mean probability of its choice,
    `stated`.

    `confusion` (hypotheses, hypotheses): by the true one and the one named. `bits`: the mean of log2(posterior of the
    true one · k), what was learned beyond equal chances; negative where the posterior misleads.
    """

    right: Interval
    count: int
    trials: int
    stated: float
    bits: float
    confusion: Array


def score_property(choices: Sequence[Choice], true: Sequence[int], confidence: float) -> _PropertyScore:
    """Choices of transcripts, with one replica or more, and which hypothesis was true in each."""
    posterior = np.concatenate([one.log_posterior for one in choices])
    truth = np.repeat(np.array(true, dtype=np.int64), [len(one.log_posterior) for one in choices])
    named, hypotheses = np.argmax(posterior, axis=1), posterior.shape[1]
    confusion = np.zeros((hypotheses, hypotheses))
    np.add.at(confusion, (truth, named), 1)
    right = int(np.sum(named == truth))
    decided: Array = np.exp(np.max(posterior, axis=1))
    bits: Array = (posterior[np.arange(truth.size), truth] + math.log(hypotheses)) / math.log(2)
    return _PropertyScore(
        clopper_pearson(right, truth.size, confidence),
        right,
        truth.size,
        float(np.mean(decided)),
        float(np.mean(bits)),
        confusion,
    )


# ── traffic ──────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Covered:
    """Coverage of intervals: of `asked` numbers, `estimated` have an interval with two ends, `held` of those hold the
    truth, `exact` are points; `error` is the mean distance of the best guesses from the truth, None where there are
    none; `baseline` that of who has no tap, for the same numbers."""

    asked: int
    estimated: int
    held: int
    exact: int
    error: float | None
    baseline: float | None


@dataclass(frozen=True)
class TrafficScore:
    """`activations`, `computing` (seconds), `repeated` and `lost` (packets): how well numbers are known.

    `events_found` of `events` activations have an event of their agent at their time; `events_wrong` are none's.
    `guessed`: the share of the activations whose agent is right for who names the one with most neighbors always;
    in rounds, where everybody acts, None. `pairs` of agents whose mean times differ, `ranked` of them, `rightly` of
    these.
    `slowest`: the agent whose mean time is largest. `dimension`: the true one.
    """

    activations: Covered
    events: int
    events_found: int
    events_wrong: int
    guessed: float | None
    computing: Covered
    pairs: int
    ranked: int
    rightly: int
    slowest: int | None
    repeated: Covered
    lost: Covered
    dimension: int


def score_traffic(found: Sealed, run: Run, log: PacketLog) -> TrafficScore:
    """Compare with the packet log of the run, and with the computing times that its agents drew."""
    truth = computing_times(run)
    count = len(run.activations)
    matched = 0  # events that are an activation's: each agent's, in order
    begun: dict[int, list[float]] = {}
    for (agent, _), passage in sorted(log.begun.items()):
        begun.setdefault(agent, []).append(passage.start)
    for own in begun.values():
        own.sort(reverse=True)
    for time, agent in found.activity.events:
        left = begun.get(agent, [])
        while left and left[-1] < time and not same(left[-1], time):
            left.pop()
        if left and same(left[-1], time):
            left.pop()
            matched += 1
    walk = run.simulation.algorithm.stopping().walks
    degrees = run.simulation.topology.degrees
    likely = max(range(count), key=lambda i: degrees[i])
    total, ways = sum(run.activations), sum(degrees)
    guesses = [total * d / ways for d in degrees] if walk else [float(run.simulation.algorithm.horizon or 0)] * count
    known = [k for k, one in enumerate(truth) if one is not None]
    times = [truth[k] or 0.0 for k in known]
    mean = sum(times) / len(times) if times else 0.0
    most = max(times, default=0.0)
    slowest = known[times.index(most)] if times.count(most) == 1 else None
    pairs = {
        (i, j) for i, one in zip(known, times, strict=True) for j, two in zip(known, times, strict=True) if one > two
    }
    ranked, links = found.computing.slower, found.links
    return TrafficScore(
        _covered(found.activity.counts, list(run.activations), guesses),
        len(log.begun),
        matched,
        len(found.activity.events) - matched,
        run.activations[likely] / max(total, 1) if walk else None,
        _covered([found.computing.means[k] for k in known], times, [mean] * len(times)),
        len(pairs),
        len(ranked),
        len(ranked & pairs),
        slowest,
        _of_links(links.repeated, {edge: one.repeated for edge, one in log.links.items()}),
        _of_links(links.lost, {edge: one.lost for edge, one in log.links.items()}),
        run.simulation.problem.dimension,
    )


def computing_times(run: Run) -> list[float | None]:
    """The mean seconds that a query really took each agent: its stream's draws, again. None without queries."""
    streams, means = Streams(run.simulation.seed), list[float | None]()
    for agent, queries in enumerate(run.queries):
        law, rng = run.simulation.timing.compute_law(agent), streams.plain("agent", agent, "compute")
        drawn = [0.0 if law is None else law.draw(rng) for _ in range(queries)]
        means.append(sum(drawn) / queries if queries else None)
    return means


def _covered(found: Sequence[Amount | None], truth: Sequence[float], guesses: Sequence[float]) -> Covered:
    known = [(one, true, guess) for one, true, guess in zip(found, truth, guesses, strict=True) if one is not None]
    bounded = [(one, true) for one, true, _ in known if one.high < float("inf")]
    guessed = [(one.value, true, guess) for one, true, guess in known if one.value is not None]
    return Covered(
        len(truth),
        len(bounded),
        sum(one.holds(true) for one, true in bounded),
        sum(one.exact for one, _ in bounded),
        sum(abs(value - true) for value, true, _ in guessed) / len(guessed) if guessed else None,
        sum(abs(guess - true) for _, true, guess in guessed) / len(guessed) if guessed else None,
    )


def _of_links(found: Mapping[Edge, Amount], truth: Mapping[Edge, int]) -> Covered:
    """Coverage for links; without a tap the guess is that nothing was lost, and so nothing repeated."""
    links = sorted(truth)
    return _covered([found.get(edge) for edge in links], [truth[edge] for edge in links], [0.0] * len(links))
