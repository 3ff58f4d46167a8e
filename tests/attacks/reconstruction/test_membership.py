"""Membership: power is what its formula says, at every level, and false alarms are at the level."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, special

from attacks.audit.accounting.intervals import clopper_pearson
from attacks.audit.accounting.products import Product, product_delta
from attacks.closed_form.descent import through_differences
from attacks.inference import Evidence, infer
from attacks.reconstruction import Case, Known, Prior
from attacks.reconstruction.informed import BatchLaw, Population
from attacks.reconstruction.membership import Membership, ProductRatio, RankedScores, upper_tail
from netsim.adversary import Adversary
from netsim.algorithms import PrivateGradientDescent
from netsim.errors import AttackError
from netsim.models import Linear, Logistic, Penalty, Softmax
from netsim.problems import load, logistic
from netsim.schedules import Constant
from netsim.simulation import Simulation
from netsim.topology import ring
from tests.attacks.noisy import correlated, noisy_evidence, white_noise
from tests.oracles.zcdp import zcdp_rho
from tests.worlds import DELTA, digits_problem, dp_recal, tapped_ring

LEVELS = (0.5, 0.1, 0.01)
SURE = 1 - 1e-4
"""Confidence of one interval; about 80 are looked at: the tests fail by chance with probability below 0.01, and the
seed is fixed."""


def world(model, law, adjacency, *, m=4, rounds=3, replicas=4000, seed=0, size=1.0):
    """Evidence with a candidate in and out at the same points in all replicas, and who knows the others.

    The noise is such that the candidate's gradients are about `size` standard deviations.
    """
    rng = np.random.default_rng(seed)
    points = np.repeat(rng.standard_normal((rounds, 1, model.dimension)) / 3, replicas, axis=1)
    features = rng.standard_normal((m, model.width))
    labels = rng.choice(model.classes, m) if model.classes else rng.standard_normal(m)
    instead = (rng.standard_normal((1, model.width)), labels[:1])
    own = model.gradient(points[:, 0], features[:1], model.targets(labels[:1]))
    shape = (float(np.linalg.norm(own)) / m / size, rounds, model.dimension)
    noise = correlated(*shape, rng) if law == "gaussian" else white_noise(*shape)
    penalty = Penalty(0.3, 0.1)
    known = Known(model, m, penalty, others=(features[1:], labels[1:]))
    attack = Membership(adjacency, instead if adjacency == "replace" else None)

    def case(inside):
        if inside:
            rows, told, factor = features, labels, 1.0
        elif adjacency == "replace":
            rows, told, factor = np.concatenate([instead[0], features[1:]]), labels, 1.0
        else:
            rows, told, factor = features[1:], labels[1:], 1.0 if adjacency == "remove" else (m - 1) / m
        found = noisy_evidence(model, points, rows, model.targets(told), noise, law, rng)
        exact = model.gradient(points, rows, model.targets(told))
        return Case(
            replace(found, gradients=found.gradients + (factor - 1) * exact + penalty.gradient(points)), known
        )

    return attack, case, (features[:1], labels[:1])


MODELS = Linear(4), Logistic(5), Softmax(3, 3)
ADJACENCIES = "remove", "zero out", "replace"


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("law", "model", "adjacency"),
    [
        *(("gaussian", model, adjacency) for model in MODELS for adjacency in ADJACENCIES),
        *(("laplace", model, adjacency) for model, adjacency in zip(MODELS, ADJACENCIES, strict=True)),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_power_equals_its_formula_and_false_alarms_the_level(law, model, adjacency):
    """The law sees only the distance that model and adjacency make: three pairs are enough for the slow one."""
    draws = 4000 if law == "gaussian" else 1500
    attack, case, candidate = world(model, law, adjacency, replicas=draws)
    rng = np.random.default_rng(1)
    inside, out = (attack.decide([case(where)], [candidate], rng)[0] for where in (True, False))
    for level in LEVELS:
        promised = inside.power(level)
        assert np.ptp(promised) < 1e-9  # the same points in every replica
        right, wrong = (int(np.sum(decision.accepted(level))) for decision in (inside, out))
        assert float(promised[0, 0]) in clopper_pearson(right, draws, SURE)
        assert level in clopper_pearson(wrong, draws, SURE)
        assert level < float(promised[0, 0]) < 1


def test_gaussian_ratio_is_that_of_the_densities():
    """An independent oracle: ln N(g; in, Σ) − ln N(g; out, Σ) by full matrices; and the formula of METHODS at out =
    0.
    """
    attack, case, candidate = world(Logistic(3), "gaussian", "remove", replicas=3, m=2)
    one = case(True)
    scores = attack.decide([one], [candidate], np.random.default_rng(0))[0].scores
    known, evidence = one.known, one.evidence
    model = known.model
    both = (np.concatenate([candidate[0], known.others[0]]), np.concatenate([candidate[1], known.others[1]]))
    given = evidence.without(known.penalty)
    means = [model.gradient(evidence.points, rows, model.targets(told)) for rows, told in (both, known.others)]
    for r in range(3):
        total = 0.0
        for c in range(3):
            for sign, mean in zip((-0.5, 0.5), means, strict=True):
                residual = (given - mean)[:, r, c]
                total += sign * residual @ np.linalg.solve(evidence.covariance[..., c], residual)
        assert scores[r, 0] == pytest.approx(total, rel=1e-8)


def test_with_nobody_else_it_is_the_plain_correlation():
    """Σ_t [⟨g̃_t, g_t⟩ − ½‖g_t‖²]/σ_t²."""
    rng = np.random.default_rng(4)
    model, points = Logistic(4), rng.standard_normal((5, 2, 4))
    record, label = rng.standard_normal((1, 4)), np.array([1.0])
    evidence = noisy_evidence(model, points, record, model.targets(label), white_noise(0.7, 5, 4), "gaussian", rng)
    known = Known(model, 1, others=(np.empty((0, 4)), np.empty(0)))
    found = Membership("zero out").decide([Case(evidence, known)], [(record, label)], rng)[0]
    own = model.gradient(points, record, model.targets(label))
    expected = np.sum(evidence.gradients * own - own**2 / 2, axis=(0, 2)) / 0.49
    np.testing.assert_allclose(found.scores[:, 0], expected, rtol=1e-10)


@pytest.mark.few("shifts0")
@pytest.mark.parametrize("shifts", [(0.4,) * 8, (2.0, 1.5, 1.0, 0.7, 0.5, 0.3, 0.2, 0.1), (0.05,) * 300, (3.0,) * 12])
def test_law_of_laplace_ratios_is_the_dual_of_its_privacy_curve(shifts):
    """Power at α is min over ε of δ(ε) + e^ε α, over ε of both signs: another quadrature, of another integrand."""
    product = Product(0.0, shifts)
    law = ProductRatio(((product,),))
    reach = min(product.pure, 4.5 * np.sqrt(product.cumulants(0.0)[2]))
    epsilons = np.linspace(-reach, reach, 41)[1:-1]
    half = np.array([product_delta(product, e) for e in epsilons[19:]])
    deltas = np.concatenate([half[:0:-1], half])
    deltas = np.where(epsilons >= 0, deltas, 1 - np.exp(epsilons) * (1 - deltas))  # by symmetry of the pair
    for level in LEVELS:
        envelope = float(np.min(deltas + np.exp(epsilons) * level))
        assert float(law.power(level)[0, 0]) == pytest.approx(min(envelope, 1.0), abs=3e-3)


def test_differences_far_above_the_noise_are_always_found():
    """Shifts of 50 scales: the two laws are 100 deviations apart."""
    law = ProductRatio(((Product(0.0, (50.0,) * 12),),))
    assert float(law.power(0.01)[0, 0]) == 1
    assert -600 < float(law.threshold(0.01)[0, 0]) < -500


def test_tail_of_two_coordinates_by_direct_convolution():
    """P(L > x) of two Laplace coordinates, atoms and all, by integrating over the first noise."""
    a, b = 1.3, 0.6

    def above(s, x):  # P(|y − s| − |y| > x), which is s for y <= 0 and falls to −s
        return 1.0 if x < -s else 0.0 if x >= s else 1 - 0.5 * np.exp(-(s - x) / 2)

    for x in (-1.5, -0.4, 0.2, 0.9, 1.6):
        inner, _ = integrate.quad(
            lambda y, x=x: 0.5 * np.exp(-y) * above(b, x - (abs(y - a) - y)), 0, 60, points=[a], limit=400
        )
        exact = 0.5 * above(b, x - a) + inner
        assert upper_tail(Product(0.0, (a, b)), x) == pytest.approx(exact, abs=2e-3)


ROUNDS, BATCH, STEP = 6, 5, 0.5


def alone(model, features, labels, stddev, rng):
    """Descent by one agent on what it sends, in steps as long as they may be: its points follow its own records."""
    x, points, gradients = np.zeros((1, model.dimension)), [], []
    for _ in range(ROUNDS):
        points.append(x)
        gradients.append(model.gradient(x, features, model.targets(labels)))
        gradients[-1] = gradients[-1] + stddev * rng.standard_normal(x.shape)
        x = x - STEP * gradients[-1] + 0.02 * rng.standard_normal(x.shape)
    covariance = white_noise(stddev, ROUNDS, model.dimension)
    return Evidence(0, tuple(range(ROUNDS)), np.array(points), np.array(gradients), covariance)


class Pools:
    """Games of an attacker with 180 public records about members and others of records that it has not, on two
    partitions of the data: (decisions on members, on others, their powers); one transcript each, with its case."""

    def __init__(self, data, model, stddev, games=100):
        rng, self.members, self.others, self.power, self.cases = np.random.default_rng(0), [], [], [], []
        for _ in range(2):
            rows = rng.permutation(data.records)
            public, held = rows[:180], rows[180:]
            prior = Prior.of(data.features[public], data.labels[public])

            def made(features, labels):
                return alone(model, features, labels, stddev, rng)

            attack = Membership("replace", runs=lambda own, made=made: made(*own))
            cases, candidates = [], []
            for _ in range(games):
                own = rng.choice(held, BATCH + 1, replace=False)
                evidence = made(data.features[own[1:]], data.labels[own[1:]])
                cases.append(Case(evidence, Known(model, BATCH, prior=prior)))
                candidates.append((data.features[own[:2]], data.labels[own[:2]]))  # the first is not in
            found = attack.decide(cases, candidates, rng)
            self.others += [one.accepted(LEVELS[1])[0, 0] for one in found]
            self.members += [one.accepted(LEVELS[1])[0, 1] for one in found]
            self.power.append(found[0].power(LEVELS[1])[0, 0])
            self.cases += zip(cases, candidates, strict=True)


@pytest.fixture(scope="module")
def least_squares():
    data = load("breast_cancer")
    return {stddev: Pools(data, Linear(data.features.shape[1]), stddev) for stddev in (0.0, 0.1)}


@pytest.fixture(scope="module")
def digits():
    return {stddev: Pools(load("digits", norm_bound=4.0), Logistic(64), stddev) for stddev in (0.0, 0.02)}


@pytest.mark.slow
@pytest.mark.parametrize(("what", "stddev"), [("digits", 0.0), ("digits", 0.02), ("least_squares", 0.0),
                                              ("least_squares", 0.1)])  # fmt: skip
def test_power_without_others_is_that_on_records_of_another_pool(what, stddev, request):
    """200 games: false alarms are at most at the level, and as many members are found as is stated. The interval of
    what is found also has to hold what is stated, of 2 · 90 judging records: chance fails it in about 1 of 500."""
    played = request.getfixturevalue(what)[stddev]
    assert clopper_pearson(int(np.sum(played.others)), 200, SURE).lower <= LEVELS[1]
    assert float(np.mean(played.power)) in clopper_pearson(int(np.sum(played.members)), 200, SURE)


def test_without_noise_the_trained_score_finds_what_the_gaussian_does_not(least_squares):
    """The Gaussian of the records learned from, ranked alike, is the score without the rounds' span: it finds less
    than three quarters of what is found, and of 200 games that is not chance."""
    played, gaussian = least_squares[0.0], []
    for (evidence, known), (features, labels) in played.cases:
        model, m = known.model, known.records
        learn, judge = Population.of(known.prior, model).halves()
        unit = 1e-9 * np.max(np.abs(evidence.gradients))

        def rows(population, points=evidence.points[:, 0], model=model, unit=unit):
            return np.moveaxis(population.gradients(model, points), 0, 1).reshape(len(population.weights), -1) / unit

        law = BatchLaw.of(rows(learn), learn.weights)
        own = np.concatenate([rows(Population(features[1:], model.targets(labels[1:]), np.ones(1))), rows(judge)])
        kept = (m - 1) / m
        density = law.log_density(evidence.gradients.reshape(-1) / unit - own / m, kept * law.mean, kept / m)
        gaussian.append(np.sum(density >= density[0]) <= LEVELS[1] * len(density))
    assert np.mean(played.members) > 0.95
    assert clopper_pearson(int(np.sum(gaussian)), 200, SURE).upper < 0.75


@pytest.mark.parametrize(("judges", "batch"), [(99, 4), (90, 10), (20, 1)])
def test_of_exchangeable_scores_no_more_than_the_level_are_accepted(judges, batch):
    """Every rank of a candidate that is not in is alike: the share of the ranks that are accepted, exactly."""
    scores = np.arange(judges + 1.0)
    others = np.array([np.delete(scores, k) for k in range(judges + 1)])
    law = RankedScores(others[None], np.arange(1.0, judges - batch + 2), judges - batch)
    for level in (0.06, 0.1, 0.5):
        accepted = float(np.mean(scores > law.threshold(level)[0]))
        assert level - 1 / (judges + 1) < accepted <= level + 1e-12
        assert law.power(level)[0, 0] <= level + 1e-12  # of members that rank as others do
    with pytest.raises(AttackError, match="do not resolve a level"):
        law.threshold(1 / (judges - batch + 2))


def descent(scale, replicas, leave_out):
    """Two digits' classes on a ring, released states with Laplace noise; agent 0 with or without its first record."""
    data = load("digits", norm_bound=4.0)
    parts = list(data.split(5, seed=0))
    parts = [part.take(np.arange(6)) for part in parts]
    mine = parts[0]
    if leave_out:
        parts[0] = mine.take(np.arange(1, 6))
    algorithm = PrivateGradientDescent(6, Constant(0.1), Constant(scale), state="released")
    problem = logistic(parts, ridge=0.1)
    run = Simulation(problem, ring(5), algorithm, adversaries=(Adversary(),), replicas=replicas, seed=3).run()
    view = run.views[0]
    evidence = Evidence.of([e for e in through_differences(view) if e.agent == 0], "laplace")
    known = replace(Known.of(view.public, 0), records=6, others=(mine.features[1:], mine.labels[1:]))
    return Case(evidence, known), (mine.features[:1], mine.labels[:1])


@pytest.mark.few(1)
@pytest.mark.parametrize(("scale", "low", "high"), [(0.01, 0.9, 1.0), (10.0, 0.0, 0.25)])
def test_from_a_tapped_run(scale, low, high):
    """With little noise the record is found, with much at chance; and the law foretells how often, run by run."""
    replicas, level = 40, 0.1
    rng = np.random.default_rng(0)
    inside = Membership().decide(*zip(descent(scale, replicas, False), strict=False), rng)[0]
    out = Membership().decide(*zip(descent(scale, replicas, True), strict=False), rng)[0]
    right, wrong = (float(np.mean(each.accepted(level))) for each in (inside, out))
    assert low <= right <= high
    assert level in clopper_pearson(round(wrong * replicas), replicas, SURE)
    assert float(np.mean(inside.power(level))) in clopper_pearson(round(right * replicas), replicas, SURE)


def token(reading, replicas, replaced):
    """DP-RECAL at ε = 1 on one digit per agent; agent 0 with its own record or another one."""
    problem = digits_problem(records=1)
    mine, spare = problem.objectives[0], load("digits", norm_bound=4.0)
    other = (spare.features[200:201], spare.labels[200:201])
    if replaced:
        problem = problem.replace(0, mine.with_record(0, other[0][0], float(other[1][0])))
    run = tapped_ring(problem, dp_recal(problem, reading), replicas=replicas).run()
    evidence = Evidence.of([e for e in infer(run.views[0]) if e.agent == 0])
    known = replace(Known.of(run.views[0].public, 0), others=(np.empty((0, 64)), np.empty(0)))
    return Membership("replace", other), Case(evidence, known), (mine.features, mine.labels)


def test_from_dp_recal_as_published_and_as_repaired():
    """The reading that is not covered tells every record; the repaired one at most what its budget allows."""
    level, replicas, rng = 0.1, 200, np.random.default_rng(0)
    for inside in (True, False):
        attack, case, candidate = token("as_deployable", 1, not inside)
        assert case.evidence.exact
        assert bool(attack.decide([case], [candidate], rng)[0].accepted(level)[0, 0]) == inside
    attack, case, candidate = token("sent_state", replicas, False)
    decision = attack.decide([case], [candidate], rng)[0]
    found = clopper_pearson(int(np.sum(decision.accepted(level))), replicas, SURE)
    most = special.ndtr(special.ndtri(level) + np.sqrt(2 * zcdp_rho(1.0, DELTA)))
    assert np.max(decision.power(level)) <= most + 1e-12
    assert found.lower <= most
    assert float(np.mean(decision.power(level))) in found


def test_refusals():
    attack, case, candidate = world(Logistic(3), "gaussian", "remove", replicas=2)
    one, rng = case(True), np.random.default_rng(0)
    with pytest.raises(AttackError, match="the law of the noise"):
        attack.decide([Case(replace(one.evidence, law=None), one.known)], [candidate], rng)
    with pytest.raises(AttackError, match="independent between rounds"):
        attack.decide([Case(replace(one.evidence, law="laplace"), one.known)], [candidate], rng)
    with pytest.raises(AttackError, match="there instead"):
        Membership("replace").decide([one], [candidate], rng)
    with pytest.raises(AttackError, match="or a prior"):
        attack.decide([Case(one.evidence, replace(one.known, others=None))], [candidate], rng)
    prior = Prior.of(np.ones((40, 3)), np.repeat([-1.0, 1.0], 20))
    for wrong, why in ((prior, "too few to learn from"), (replace(prior, share={-1.0: 0.9, 1.0: 0.1}), "the shares")):
        with pytest.raises(AttackError, match=why):
            attack.decide([Case(one.evidence, Known(Logistic(3), 20, prior=wrong))], [candidate], rng)
