"""The published attacks: what they recover without noise, what stays open, and that noise beats them.

Clipping is public: what it may have changed is refused by whoever reads lengths.
"""

from dataclasses import replace

import numpy as np
import pytest

from attacks.estimates import Evidence
from attacks.inference import infer
from attacks.reconstruction import Case, Known, Prior
from attacks.reconstruction.attack import misfit
from attacks.reconstruction.gradient_inversion import (
    DLG,
    IDLG,
    GradInversion,
    InvertingGradients,
    labels_by_lowest,
    labels_by_sign,
)
from attacks.reconstruction.one_record import LogisticRecord
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import PrivateGradientDescent
from netsim.claims import Clip
from netsim.errors import AttackError
from netsim.models import MLP, Linear, Logistic, Penalty, Softmax
from netsim.models.lenet import LeNet
from netsim.problems import load, softmax
from netsim.simulation import Simulation
from scenarios.schema.attacks import KINDS
from tests.attacks.noisy import noisy_evidence, white_noise
from tests.attacks.reconstruction.matchings import DIGITS, digits, psnr, secret

IMAGE = {"value_range": (0.0, 1.0), "image_shape": (8, 8)}
NETWORKS = [Softmax(64, 10), MLP((64, 32, 10)), MLP((64, 32, 10), "tanh"), MLP((64, 64, 10), "relu")]


def attacked(attack, *held, seed=0):
    return attack.reconstruct([h.case for h in held], np.random.default_rng(seed))


@pytest.mark.few(3)
@pytest.mark.parametrize("model", NETWORKS, ids=str)
@pytest.mark.parametrize("attack", [DLG(), IDLG()], ids=["dlg", "idlg"])
def test_one_image_is_recovered_without_noise(model, attack):
    """Of several agents at once, behind a public ridge: features to 1e-5 at least, and the label."""
    ridge = Penalty(ridge=0.5)
    held = [secret(model, *digits(c), seed=c, agent=c, penalty=ridge, value_range=(0.0, 1.0)) for c in (1, 4, 8)]
    for answer, truth in zip(attacked(attack, *held), held, strict=True):
        assert psnr(answer.features, truth.features) > 100
        assert answer.labels(model)[0] == truth.labels
        assert answer.converged.all()
        assert answer.objective[0] < 1e-12
        assert answer.open == ""
        assert answer.queries == (3,)


@pytest.mark.parametrize("attack", [DLG(snapshots=9), IDLG(snapshots=9)], ids=["dlg", "idlg"])
def test_iterates_lead_from_the_start_to_the_answer(attack):
    """In every replica of every case; nothing else changes."""
    held = [secret(Softmax(64, 10), *digits(c), seed=c, agent=c, replicas=2) for c in (1, 4)]
    plain = attacked(replace(attack, snapshots=0), *held)
    for answer, before, truth in zip(attacked(attack, *held), plain, held, strict=True):
        assert before.way is None
        np.testing.assert_array_equal(answer.features, before.features)
        way = answer.way
        assert (way.iterations[0], way.iterations[-1]) == (0, attack.optimizer.iterations)
        assert way.features.shape == (2, len(way.iterations), 1, 64)
        np.testing.assert_allclose(way.features[:, -1], answer.features, atol=1e-12)
        assert psnr(way.features[:, 0], truth.features) < 20 < psnr(way.features[:, -1], truth.features)
        assert np.abs(way.features[:, 0]).max() < 6 * attack.spread


def test_replicas_and_unlike_cases_keep_their_places():
    models = [Softmax(64, 10), MLP((64, 32, 10)), Softmax(64, 10)]
    held = [secret(m, *digits(k + 2), seed=k, agent=k, replicas=k + 1) for k, m in enumerate(models)]
    for k, answer in enumerate(attacked(DLG(), *held)):
        assert answer.agent == k
        assert answer.features.shape == (k + 1, 1, 64)
        assert psnr(answer.features, held[k].features) > 100
        assert list(answer.labels(models[k])[:, 0]) == [k + 2] * (k + 1)


@pytest.mark.parametrize("model", [Softmax(64, 10), MLP((64, 64, 10))], ids=str)
def test_three_images_of_one_gradient(model):
    held = secret(model, *digits(2, 3, 7), seed=1)
    (answer,) = attacked(DLG(), held)
    assert psnr(answer.features, held.features) > 80
    assert sorted(answer.labels(model)[0]) == [2, 3, 7]


def test_public_labels_are_used():
    """Two images of the same class, which no rule tells."""
    model = MLP((64, 64, 10))
    features, labels = (np.concatenate(p) for p in zip(digits(5), digits(5, skip=1), strict=True))
    held = secret(model, features, labels)
    received = held._replace(case=Case(held.case.evidence, replace(held.case.known, labels=labels)))
    (answer,) = attacked(DLG(), received)
    assert psnr(answer.features, features) > 50
    assert list(answer.labels(model)[0]) == [5, 5]


def test_the_restart_is_chosen_by_the_attackers_objective():
    """Eight starts: the answer has the lowest misfit of what each start alone ends with."""
    held = secret(Softmax(64, 10), *digits(6), seed=4)
    unraced = replace(DLG().optimizer, iterations=15)
    answer = attacked(DLG(restarts=8, optimizer=unraced), held)[0]
    assert not answer.converged[0]
    one = attacked(DLG(restarts=1, optimizer=unraced), held)[0]
    assert answer.objective[0] <= one.objective[0]
    again = attacked(DLG(restarts=8, optimizer=unraced), held)[0]
    assert np.array_equal(answer.features, again.features)


def test_one_logistic_record_is_not_told_by_one_gradient():
    """DLG finds a record with exactly this gradient, and it is another one; it says that there are such. Three
    gradients leave the sign alone open, of features and label together, and so it is found."""
    model = Logistic(64)
    held = secret(model, digits(3)[0], np.array([1.0]), seed=2, rounds=3)
    (answer,) = attacked(DLG(), held)
    evidence = held.case.evidence
    round_ = evidence.queries.index(answer.queries[0])
    other = model.gradient(evidence.points[round_, 0], answer.features[0], answer.targets[0])
    np.testing.assert_allclose(other, evidence.gradients[round_, 0], atol=1e-8)
    assert psnr(answer.features, held.features) < 40
    assert "do not determine 1 direction" in answer.open
    (joint,) = attacked(DLG(rounds=3), held)
    assert joint.open == "each record may as well have the other sign, and with it the other target"
    assert len(joint.queries) == 3
    sign = np.sign(joint.features.sum())
    assert psnr(sign * joint.features, held.features) > 80
    assert joint.labels(model)[0, 0] == sign


def test_two_logistic_records_with_one_gradient_are_counted():
    """Where the margin is positive, two records of one label have the same gradient: iDLG says so."""
    model, record = Logistic(64), digits(3)[0]
    held = secret(model, record, np.array([1.0]), seed=2, value_range=(0.0, 1.0))
    y = 0.1 * record[0]  # zᵀy > 0, so hᵀy < 0
    gradient = model.gradient(y, record, model.targets(np.array([1.0])))
    evidence = Evidence(0, (0,), y[None, None], gradient[None, None], np.zeros((1, 1, 64)))
    (answer,) = attacked(IDLG(), held._replace(case=Case(evidence, held.case.known)))
    assert "2 records with this label have this gradient" in answer.open
    assert answer.labels(model)[0, 0] == 1
    (alone,) = attacked(IDLG(), held._replace(case=Case(replace(evidence, points=-evidence.points), held.case.known)))
    assert alone.open == ""


@pytest.mark.few("idlg")
@pytest.mark.parametrize("name", ["dlg", "idlg"])
def test_pure_matching_is_beaten_by_the_prior_under_noise(name):
    """A straw man, shipped and shown: at noise half as large as the gradient's largest entries it is worse than
    saying the mean of other people's images, in every one of ten replicas; with a thousandth of it, it is not."""
    model = Softmax(64, 10)
    noisy, quiet = (secret(model, *digits(3), replicas=10, stddev=s, value_range=(0.0, 1.0)) for s in (0.5, 0.0005))
    answer, better = attacked(replace(KINDS[name](), restarts=2), noisy, quiet)
    prior = Prior.of(DIGITS.features[200:], DIGITS.labels[200:])
    guess = float(np.mean((prior.overall - noisy.features[0]) ** 2))
    errors, small = (np.mean((a.features[:, 0] - noisy.features[0]) ** 2, axis=-1) for a in (answer, better))
    assert errors.min() > guess
    assert np.mean(errors) > 2 * guess
    assert small.max() < 0.01 * guess
    assert answer.objective.min() > 0.1


def test_the_rule_of_signs():
    """Exact gradients of different classes tell all labels; equal classes and noise are noticed."""
    model = MLP((64, 32, 10))
    held = secret(model, *digits(0, 4, 9))
    wanted = held.case.evidence.gradients.swapaxes(0, 1)
    labels, sound = labels_by_sign(held.case.known, wanted, np.zeros_like(wanted[:, 0]))
    assert sound.all()
    assert list(labels[0]) == [0, 4, 9]
    assert list(labels_by_lowest(held.case.known, wanted, 3)[0]) == [0, 4, 9]
    twice = secret(model, *(np.concatenate(p) for p in zip(digits(5), digits(5, skip=1), strict=True)))
    equal = twice.case.evidence.gradients.swapaxes(0, 1)
    assert not labels_by_sign(twice.case.known, equal, np.zeros_like(equal[:, 0]))[1].any()
    noisy = secret(Softmax(64, 10), *digits(3), stddev=1.0, replicas=5)
    assert "the label is a guess in" in attacked(IDLG(), noisy)[0].open


@pytest.mark.parametrize("model", [Softmax(16, 4), Softmax(16, 4, intercept=False), Logistic(16)])
@pytest.mark.parametrize("stddev", [1e-3, 0.02, 0.2, 1.0])
def test_labels_that_noise_may_have_told_are_not_called_sound(model, stddev):
    rng = np.random.default_rng(0)
    pairs = 4000
    records, labels = rng.uniform(0, 1, (pairs, 1, 16)), rng.choice(model.classes, (pairs, 1))
    gradients = model.gradient(0.3 * rng.standard_normal((pairs, model.dimension)), records, model.targets(labels))
    heard = gradients + stddev * rng.standard_normal(gradients.shape)
    received, sound = labels_by_sign(
        Known(model, 1, value_range=(0.0, 1.0)), heard[:, None], np.full_like(heard, stddev)
    )
    assert not np.any(sound & (received != labels)[:, 0])
    assert stddev > 1e-3 or np.mean(sound) > 0.95


@pytest.mark.few(1)
@pytest.mark.parametrize("model", [Softmax(64, 10), MLP((64, 64, 10), "relu")], ids=str)
@pytest.mark.parametrize(
    "attack",
    [InvertingGradients(variation=1e-3, iterations=1000, restarts=2), GradInversion(iterations=1000, seeds=3)],
    ids=["inverting_gradients", "grad_inversion"],
)
def test_images_are_recovered_with_their_priors(model, attack):
    """Two images of one gradient, their labels read off it."""
    held = secret(model, *digits(2, 7), seed=1, **IMAGE)
    (answer,) = attacked(attack, held)
    assert psnr(answer.features, held.features) > 35
    assert list(answer.labels(model)[0]) == [2, 7]
    assert answer.features.min() >= 0
    assert answer.features.max() <= 1
    assert ("no batch norm" in answer.open) == (attack.name == "grad_inversion")


def test_colour_images_and_soft_labels():
    """Two images of the same class, in colour: no rule tells their labels, so Inverting Gradients moves them too."""
    rng, model = np.random.default_rng(0), Softmax(48, 4)
    features = np.repeat(np.repeat(rng.random((2, 2, 2, 3)), 2, axis=1), 2, axis=2).reshape(2, 48)
    held = secret(model, features, np.array([1.0, 1.0]), value_range=(0.0, 1.0), image_shape=(4, 4, 3))
    attack = InvertingGradients(variation=1e-3, iterations=800, restarts=3)
    (answer,) = attacked(attack, held)
    assert answer.objective[0] < 0.01
    assert answer.targets.min() > 0
    np.testing.assert_allclose(answer.targets.sum(axis=-1), 1)
    one = secret(model, features[:1], np.array([2.0]), value_range=(0.0, 1.0), image_shape=(4, 4, 3))
    assert psnr(attacked(attack, one)[0].features, features[:1]) > 35


def test_what_is_not_granted_is_refused():
    images = digits(1, 2)
    plain = Softmax(64, 10, intercept=False)
    tanh = MLP((64, 8, 10), "tanh")
    for attack, held, why in [
        (IDLG(), secret(Softmax(64, 10), *images), "idlg needs one record, and agent 0 has 2"),
        (IDLG(), secret(plain, *digits(1)), "an intercept or activations that are not negative"),
        (IDLG(), secret(Linear(64), *digits(1)), "a cross-entropy, and the loss of a linear model is none"),
        (DLG(rounds=2), secret(plain, *images), "2 estimates, and there are 1"),
        (InvertingGradients(), secret(plain, *images), "records that are images"),
        (GradInversion(), secret(tanh, *images, **IMAGE), "not negative before the last layer"),
        (GradInversion(), secret(Logistic(64), images[0], np.ones(2), **IMAGE), "needs several classes"),
        (GradInversion(), secret(Softmax(64, 2), images[0][[0, 1, 1]], np.zeros(3), **IMAGE), "3 are more than 2"),
    ]:
        with pytest.raises(AttackError, match=why):
            attacked(attack, held)


def test_the_catalogue_has_them_by_their_names():
    assert {"dlg", "idlg", "inverting_gradients", "grad_inversion"} <= set(KINDS)
    assert all(made().source for made in KINDS.values())


def of_lenet(model, features, labels, seed):
    """A case of LeNet at parameters as they are published, and its truth."""
    held = secret(model, features, labels)
    points = model.drawn(np.random.default_rng(seed))[None, None]
    gradients = model.gradient(points, held.features, model.targets(held.labels))
    evidence = replace(held.case.evidence, points=points, gradients=gradients)
    return held._replace(case=Case(evidence, held.case.known))


@pytest.mark.parametrize("attack", [DLG(restarts=1), IDLG(restarts=1)], ids=["dlg", "idlg"])
def test_lenet_gives_its_image_away(attack):
    """The published attack's own network, of 8×8 images."""
    model = LeNet((8, 8), 10)
    held = of_lenet(model, *digits(5), seed=3)
    (answer,) = attacked(attack, held)
    assert psnr(answer.features, held.features) > 100
    assert answer.labels(model)[0] == 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_lenet_gives_a_batch_of_four_away(seed):
    """More than the 300 steps of the authors' code; of one start."""
    model = LeNet((8, 8), 10)
    held = of_lenet(model, *digits(1, 3, 5, 8, skip=seed), seed=seed)
    (answer,) = attacked(DLG(restarts=1), held)
    assert psnr(answer.features, held.features) > 90
    assert sorted(answer.labels(model)[0]) == [1, 3, 5, 8]


def test_from_a_tapped_network_to_images():
    """Private gradient descent without noise, every link tapped: an image of every agent."""
    data = load("digits", classes=tuple(range(10)))
    parts = [data.take(np.array([k])) for k in (3, 4, 5, 6)]
    problem = softmax(parts, ridge=0.1)
    algorithm = PrivateGradientDescent(step=lambda k: 0.05, scale=lambda k: 0.0, rounds=4)
    run = Simulation(problem, topology.ring(4), algorithm, adversaries=(Adversary("ears", "all"),)).run()
    view = run.views[0]
    estimates = infer(view)
    cases = [Case(Evidence.of([e for e in estimates if e.agent == i]), Known.of(view.public, i)) for i in range(4)]
    for i, answer in enumerate(DLG().reconstruct(cases, np.random.default_rng(0))):
        assert psnr(answer.features, parts[i].features) > 80
        assert answer.labels(cases[i].known.model)[0, 0] == parts[i].labels[0]


WIDTH, ROUNDS, REPLICAS = 9, 3, 200
MODEL = Logistic(WIDTH)
RNG = np.random.default_rng(0)
RECORD = RNG.uniform(0.2, 1, (1, WIDTH))
KNOWN = Known(MODEL, 1, value_range=(0.0, 1.0), image_shape=(3, 3))


def clipped(clip, stddev=0.0, scale=0.3):
    rng = np.random.default_rng(1)
    points = scale * rng.standard_normal((ROUNDS, REPLICAS, WIDTH))
    noise = white_noise(stddev, ROUNDS, WIDTH)
    exact = noisy_evidence(MODEL, points, RECORD, MODEL.targets(np.ones(1)), 0 * noise, "gaussian", rng)
    gradients = clip(exact.gradients) + stddev * rng.standard_normal(exact.gradients.shape)
    return Case(replace(exact, gradients=gradients, covariance=noise), replace(KNOWN, clip=clip))


def largest(norm):
    order = {"l1": 1, "l2": 2, "linf": np.inf}[norm]
    return float(np.max(np.linalg.norm(clipped(Clip(1e9)).evidence.gradients, order, axis=-1)))


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@pytest.mark.parametrize("stddev", [0.0, 1e-3])
def test_only_a_clip_that_cannot_have_acted_is_let_pass(norm, stddev):
    low, high = Clip(0.99 * largest(norm), norm), Clip(1.5 * largest(norm), norm)
    with pytest.raises(AttackError, match=r"the algorithm clips them to a norm \(l"):
        LogisticRecord().reconstruct([clipped(low, stddev)], RNG)
    found = LogisticRecord().reconstruct([clipped(high, stddev)], RNG)[0]
    assert np.max(np.abs(found.features - RECORD)) < 1e-8 + 50 * stddev


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_every_replica_that_was_clipped_is_refused(norm):
    """Noise takes the norm of a clipped gradient below its bound, but not by several deviations."""
    case = clipped(Clip(0.05, norm), 0.003)
    for r in range(REPLICAS):
        one = case.evidence.gradients[:, r : r + 1]
        with pytest.raises(AttackError, match="the algorithm clips them"):
            LogisticRecord.needs.check("record", Case(replace(case.evidence, gradients=one), case.known))


def test_clipped_gradients_are_explained_by_the_true_record_and_their_directions_are_read():
    case = clipped(Clip(0.05))
    InvertingGradients().needs.check("cosine", case)
    with pytest.raises(AttackError, match="the algorithm clips them"):
        InvertingGradients().needs.check("cosine", Case(case.evidence, replace(case.known, penalty=Penalty(0.1))))
    features = np.repeat(RECORD[None], REPLICAS, axis=0)
    targets = np.ones((REPLICAS, 1, 1))
    assert np.max(misfit(case, features, targets).relative) < 1e-12
