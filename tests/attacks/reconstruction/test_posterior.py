"""The posterior's mode meets its Bayes bound, and the best match of the gradients does not."""

from dataclasses import replace

import numpy as np
import pytest

from attacks.reconstruction import Case, Known, Prior
from attacks.reconstruction.attack import misfit
from attacks.reconstruction.map_estimate import Product, Weighted, objective
from attacks.reconstruction.posterior import PosteriorBatch, PosteriorMean, PosteriorMode, PureMatching
from attacks.reconstruction.record_hypotheses import Hypotheses
from netsim.errors import AttackError
from netsim.models import Linear, Logistic, Penalty, Softmax
from tests.attacks.noisy import noisy_evidence, white_noise
from tests.attacks.reconstruction.records import case_of

RNG = np.random.default_rng
WIDTH = 30


def law(model, rng, apart=1.0):
    """A prior of known means and variances, with its labels' shares."""
    labels = model.classes or (-1.0, 1.0)
    mean = {label: apart * rng.uniform(0, 1, model.width) for label in labels}
    variance = {label: rng.uniform(0.02, 0.2, model.width) for label in labels}
    if not model.classes:  # then the pooled law is the law
        mean[-1.0], variance[-1.0] = mean[1.0], variance[1.0]
    return Prior(mean, variance, {label: 1 / len(labels) for label in labels})


def world(model, replicas, rounds, stddev, scale, seed=0, m=1, prior=None, **noise):
    """Records drawn from the prior, random points of a given scale, noisy gradients."""
    rng = RNG(seed)
    prior = prior or law(model, rng)
    kinds = rng.choice(list(prior.mean), (replicas, m))
    labels = kinds if model.classes else rng.standard_normal((replicas, m))
    features = np.array([
        [prior.mean[b] + np.sqrt(prior.variance[b]) * rng.standard_normal(model.width) for b in row] for row in kinds
    ])  # fmt: skip
    points = scale * rng.standard_normal((rounds, replicas, model.dimension))
    case = case_of(
        model, features, labels, points, penalty=Penalty(0.2), stddev=stddev, rng=rng, known={"prior": prior}, **noise
    )
    return case, features, labels, prior


def one(attack, case):
    return attack.reconstruct([case], RNG(0))[0]


@pytest.mark.few(1)
@pytest.mark.parametrize(("model", "stddev"), [(Logistic(WIDTH), 0.5), (Softmax(WIDTH, 3, False), 0.1)])
def test_where_the_posterior_is_gaussian_it_meets_the_bayes_bound(model, stddev):
    """θ = 0: slopes do not depend on the record. The bound is computed here, from slopes and variances alone."""
    case, features, labels, prior = world(model, 1000, 4, stddev, 0.0)
    found = one(PosteriorMode(), case)
    slope = np.array([0.5]) if model.name == "logistic" else np.array([2 / 3, 1 / 3, 1 / 3])
    received = np.array([[prior.variance[b] for b in row] for row in labels])
    bound = np.mean(1 / (1 / received + 4 * np.sum(slope**2) / stddev**2))
    sure = found.labels(model) == labels
    assert sure.mean() > 0.95
    error = np.mean((found.features - features)[sure] ** 2)
    assert error == pytest.approx(bound, rel=0.05)
    assert np.mean(found.spread**2) == pytest.approx(bound, rel=0.05)
    matched = one(PureMatching(), case)
    sign = np.where(matched.labels(model) == labels, 1.0, -1.0)[..., None] if model.name == "logistic" else 1.0
    expected = stddev**2 / (4 * np.sum(slope**2))
    error = np.mean((sign * matched.features - features) ** 2)
    if model.name == "logistic":  # it knows no label: the sign is the test's own, and only features are compared
        assert error == pytest.approx(expected, rel=0.05)
    assert error > (1.15 if stddev == 0.5 else 1.03) * bound


@pytest.mark.few(1)
@pytest.mark.parametrize("model", [Linear(WIDTH), Logistic(WIDTH), Softmax(WIDTH, 4)])
def test_near_it_too_within_15_percent(model):
    """Random points: slopes depend on the record. The bound is the mean posterior variance (of van Trees' kind)."""
    case, features, _, _ = world(model, 600, 6, 0.3, 0.3)
    found = one(PosteriorMode(), case)
    error, bound = np.mean((found.features - features) ** 2), np.mean(found.spread**2)
    assert error == pytest.approx(bound, rel=0.15)
    matched = one(PureMatching(), case)
    errors = [np.mean((sign * matched.features - features) ** 2, axis=(1, 2)) for sign in (1, -1)]
    assert np.mean(np.minimum(*errors)) > 1.15 * bound  # with an oracle's help for the sign


def test_a_label_of_small_variances_has_no_head_start():
    """Densities are higher where a label's records are alike; what counts is the width that is left."""
    model, rng = Logistic(WIDTH), RNG(0)
    mean = {b: rng.uniform(0, 1, WIDTH) for b in (-1.0, 1.0)}
    prior = Prior(mean, {-1.0: np.full(WIDTH, 1e-1), 1.0: np.full(WIDTH, 1e-4)}, {-1.0: 0.5, 1.0: 0.5})
    for stddev in (0.3, 1.0):
        case, _, labels, _ = world(model, 200, 10, stddev, 0.2, prior=prior)
        assert np.mean(one(PosteriorMode(), case).labels(model) == labels) > 0.99


def test_where_the_label_is_open_the_mean_over_labels_is_the_better_guess():
    """Noise that hides the label: the mode bets on one, and the mean is no worse than the mean of all records."""
    model = Logistic(WIDTH)
    case, features, labels, prior = world(model, 400, 3, 6.0, 0.2)
    mode, mean = (one(attack, case) for attack in (PosteriorMode(), PosteriorMean()))
    errors = [np.mean((found.features - features) ** 2) for found in (mode, mean)]
    assert np.mean(mode.labels(model) == labels) < 0.9
    assert errors[1] < 0.9 * errors[0]
    assert errors[1] < 1.05 * np.mean((prior.overall - features) ** 2)
    assert np.mean(mean.spread**2) == pytest.approx(errors[1], rel=0.15)
    clear = world(model, 20, 3, 0.05, 0.2)[0]
    np.testing.assert_allclose(one(PosteriorMean(), clear).features, one(PosteriorMode(), clear).features, atol=1e-9)


def test_pure_matching_matches_better_and_is_worse():
    case, features, _, _ = world(Softmax(WIDTH, 4), 100, 3, 1.0, 0.2)
    mode, match = (one(attack, case) for attack in (PosteriorMode(), PureMatching()))
    assert np.mean(misfit(case, match.features, match.targets).squared) < np.mean(
        misfit(case, mode.features, mode.targets).squared
    )
    assert np.mean((match.features - features) ** 2) > 3 * np.mean((mode.features - features) ** 2)


def test_without_information_it_is_the_priors_mean_and_with_much_the_record():
    model = Logistic(WIDTH)
    case, features, labels, prior = world(model, 50, 5, 1e4, 0.3)
    found = one(PosteriorMode(), case)
    guess = np.array([[prior.mean[b] for b in row] for row in found.labels(model)])
    np.testing.assert_allclose(found.features, guess, atol=1e-3)
    assert np.mean(found.spread**2) == pytest.approx(np.mean(list(prior.variance.values())), rel=0.1)
    case, features, labels, _ = world(model, 50, 5, 1e-5, 0.3)
    found = one(PosteriorMode(), case)
    np.testing.assert_array_equal(found.labels(model), labels)
    np.testing.assert_allclose(found.features, features, atol=1e-3)


@pytest.mark.parametrize("model", [Linear(5, 0.7), Logistic(5), Softmax(5, 3), Softmax(5, 3, False)])
@pytest.mark.parametrize("own", [False, True])
def test_derivatives_and_the_two_forms_agree(model, own):
    """J from residuals, J from products, and central differences; covariances full, of all coordinates or each."""
    rng = RNG(1)
    root = rng.standard_normal((model.dimension if own else 1, 4, 4))
    roots = np.broadcast_to(root, (model.dimension, 4, 4))
    case, _, _, _ = world(model, 3, 4, 0.0, 0.5, roots=roots)
    product = Product.of([case])
    hypotheses = Hypotheses.of(product, case.known)
    j = objective(product, hypotheses.targets, hypotheses.prior)
    x = hypotheses.prior.mean + product.free * rng.standard_normal((3, hypotheses.choices, product.entries))
    d = product.free * rng.standard_normal(x.shape)
    here = j.at(x)
    ahead, behind = j.at(x + 1e-6 * d).value, j.at(x - 1e-6 * d).value
    np.testing.assert_allclose(np.sum(here.gradient * d, axis=-1), (ahead - behind) / 2e-6, rtol=1e-5)
    assert isinstance(j, Weighted) == own
    slow = product._replace(own=np.repeat(product.between[:1], model.dimension, axis=0) if not own else product.own)
    other = Weighted(slow, hypotheses.targets[:, None], hypotheses.prior).at(x)
    np.testing.assert_allclose(here.value, other.value, rtol=1e-10)
    np.testing.assert_allclose(here.product(d), other.product(d), rtol=1e-8, atol=1e-8)


def test_deviations_are_those_of_the_full_matrix():
    """The square roots of the inverse Gauss-Newton matrix's diagonal, formed column by column."""
    for model in (Linear(5, 0.7), Logistic(5), Softmax(5, 3)):
        for rounds in (2, 5, 12):
            case, _, _, _ = world(model, 2, rounds, 0.3, 0.5)
            found = one(PosteriorMode(), case)
            product = Product.of([case])
            hypotheses = Hypotheses.of(product, case.known)
            j = objective(product, hypotheses.targets, hypotheses.prior)
            x = hypotheses.prior.mean + np.zeros((2, hypotheses.choices, product.entries))
            x[..., :5] = found.features
            if model.name == "linear":
                x[..., 5:] = found.targets
            place, free = j.at(x), np.flatnonzero(product.free)
            columns = [place.product(np.broadcast_to(np.eye(product.entries)[k], x.shape))[..., free] for k in free]
            inverse = np.linalg.inv(np.moveaxis(np.array(columns), 0, -1))
            labels = found.labels(model)[:, 0]
            k = np.array([list(model.classes).index(b) for b in labels]) if model.classes else np.zeros(2, int)
            full = np.sqrt(np.einsum("rss->rs", inverse[np.arange(2), k]))[:, :5]
            np.testing.assert_allclose(found.spread[:, 0], full, rtol=1e-5)


def test_laplace_noise_is_taken_as_such():
    """At θ = 0 and with a weak prior the mode is near a median of 15 rounds, better than the mean by about √2."""
    model = Logistic(WIDTH)
    prior = Prior(
        {b: np.full(WIDTH, 0.5) for b in (-1.0, 1.0)},
        {b: np.full(WIDTH, 25.0) for b in (-1.0, 1.0)},
        {-1.0: 0.5, 1.0: 0.5},
    )
    case, features, labels, _ = world(model, 100, 15, 0.5, 0.0, prior=prior, law="laplace")
    right, wrong = one(PosteriorMode(), case), one(PosteriorMode(), case._replace(evidence=case.evidence.__class__(
        **{**vars(case.evidence), "law": "gaussian"})))  # fmt: skip

    def error(found):
        sign = np.where(found.labels(model) == labels, 1.0, -1.0)[..., None]
        return np.mean((sign * found.features - features) ** 2)

    assert error(right) < 0.8 * error(wrong)
    median = np.median(np.where(labels[None] > 0, -2.0, 2.0) * case.evidence.without(case.known.penalty), axis=0)
    assert error(right) == pytest.approx(np.mean((median - features[:, 0]) ** 2), rel=0.1)


def test_public_labels_are_used():
    model = Softmax(WIDTH, 4)
    case, _, labels, _ = world(model, 1, 1, 3.0, 0.2)
    received = case._replace(known=replace(case.known, labels=labels[0]))
    assert one(PosteriorMode(), received).labels(model)[0] == labels[0]


def test_many_agents_at_once_are_each_by_itself():
    """To the last bit, with agents of other numbers of rounds between them."""
    model, rng = Logistic(WIDTH), RNG(0)
    prior = law(model, rng)
    cases = [world(model, 2, 3 + k % 2, 0.1 * (1 + k), 0.3, k, prior=prior)[0] for k in range(6)]
    together = PosteriorMode().reconstruct(cases, rng)
    for case, found in zip(cases, together, strict=True):
        alone = one(PosteriorMode(), case)
        np.testing.assert_array_equal(found.features, alone.features)
        np.testing.assert_array_equal(found.spread, alone.spread)
    whole, e = together[0], cases[0].evidence
    row = e.__class__(0, e.queries, e.points[:, 1:], e.gradients[:, 1:], e.covariance)
    np.testing.assert_array_equal(
        one(PosteriorMode(), cases[0]._replace(evidence=row)).features[0], whole.features[1]
    )


@pytest.mark.few("model0")
@pytest.mark.parametrize("model", [Linear(12), Logistic(12), Softmax(12, 3)])
def test_small_batches(model):
    """Two records: nearer than the prior's mean of each, and explained as noise explains them."""
    case, features, labels, prior = world(model, 12, 8, 0.02, 0.7, m=2)
    found = one(PosteriorBatch(), case)
    swapped = found.features[:, ::-1]
    nearer = [np.mean((f - features) ** 2, axis=(1, 2)) for f in (found.features, swapped)]
    guess = np.mean([np.mean(v) for v in prior.variance.values()])
    assert np.median(np.minimum(*nearer)) < 0.5 * guess
    fit = misfit(case, found.features, found.targets)
    assert np.all(np.abs(fit.squared - fit.degrees) < 6 * np.sqrt(2 * fit.degrees))
    if model.classes:
        assert np.mean(np.sort(found.labels(model), axis=1) == np.sort(labels, axis=1)) > 0.9


def test_refusals():
    model = Logistic(WIDTH)
    case, _, _, _ = world(model, 1, 2, 0.1, 0.3)
    without = case._replace(known=case.known.__class__(model, 1))
    with pytest.raises(AttackError, match="a prior from public records"):
        one(PosteriorMode(), without)
    many = world(Softmax(4, 10), 1, 2, 0.1, 0.3, m=8)[0]
    with pytest.raises(AttackError, match="labels that are public"):
        one(PosteriorBatch(), many)
    lawless = case._replace(evidence=case.evidence.__class__(**{**vars(case.evidence), "law": None}))
    with pytest.raises(AttackError, match="law of the noise"):
        one(PosteriorMode(), lawless)


@pytest.mark.few("0.55-2-1")
@pytest.mark.parametrize(("share", "m", "likeliest"), [(0.55, 2, 1), (0.55, 4, 2)])
def test_strong_noise_leaves_the_likeliest_number_of_each_label(share, m, likeliest):
    """Binomial: (−, +) of share 0.55 has probability 0.495, (−, −) only 0.3025."""
    width, model = 4, Logistic(4)
    rng = np.random.default_rng(0)
    count = int(1000 * share)
    centers = np.repeat([[0.8, 0, 0.1, 0.1], [0, 0.8, 0.1, 0.1]], [count, 1000 - count], axis=0)
    labels = np.repeat([-1.0, 1.0], [count, 1000 - count])
    pool = centers + 0.1 * rng.standard_normal(centers.shape)
    points = rng.standard_normal((6, 4, width))
    noise = white_noise(30.0, 6, width)
    records = pool[:m]
    evidence = noisy_evidence(model, points, records, model.targets(labels[:m]), noise, "gaussian", rng)
    found = PosteriorBatch().reconstruct([Case(evidence, Known(model, m, prior=Prior.of(pool, labels)))], rng)[0]
    assert np.all(np.sum(found.labels(model) > 0, axis=1) == likeliest)


SIZE = 16


@pytest.mark.parametrize("stddev", [0.0, 1e-9, 1e-8, 1e-4])
@pytest.mark.parametrize("attack", [PosteriorMode(), PosteriorMean()])
def test_a_record_of_least_squares_from_nearly_exact_gradients(attack, stddev):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        pool = rng.uniform(0, 1, (200, SIZE))
        prior = Prior.of(pool, np.where(rng.random(200) < 0.5, -1.0, 1.0))
        record, model = rng.uniform(0, 1, (1, SIZE)), Linear(SIZE)
        points = rng.standard_normal((6, 6, SIZE))
        noise = white_noise(stddev, 6, SIZE)
        evidence = noisy_evidence(model, points, record, model.targets(np.ones(1)), noise, "gaussian", rng)
        known = Known(model, 1, prior=prior, value_range=(0.0, 1.0))
        found = attack.reconstruct([Case(evidence, known)], rng)[0]
        assert np.max(np.abs(found.features - record)) < 0.01
        assert np.all(np.isfinite(found.spread))
        assert np.all(found.spread < 0.01)
