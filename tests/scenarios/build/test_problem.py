"""What a scenario says of its problem and data reaches the run; adjacent objectives; prints of data; priors."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from attacks.reconstruction import Case, Known
from attacks.reconstruction.posterior import PosteriorMode
from netsim.claims import Adjacency
from netsim.errors import ScenarioError
from netsim.models import Linear
from netsim.problems import (
    Bent,
    Dataset,
    FromFunctions,
    FusedLasso,
    LeastSquares,
    LogisticLoss,
    NonconvexLogistic,
    PoissonLoss,
    Tilted,
    build,
    least_squares,
    load,
)
from scenarios.build import problem as problems
from scenarios.build.experiment import Experiment
from scenarios.build.problem import Ownership, change_of, changed, check_adjacent, data_print, farthest, prior_of
from scenarios.render.page.report import page
from scenarios.results.header import header
from scenarios.results.tree import ProblemResult
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from tests.attacks.noisy import noisy_evidence, white_noise
from tests.netsim.problems.data import written
from tests.worlds import refusal

HEAD = """\
name: small
seed: 5
topology: {kind: ring, agents: 6}
algorithms:
  - {kind: recal, name: plain, activations: 30}
problem:
"""


def experiment(lines: str, head: str = HEAD) -> Experiment:
    indented = "".join(f"  {line}\n" for line in lines.strip().splitlines())
    return Experiment.of(parse(head + indented, "small.yaml").scenario)


def refused(lines: str, head: str = HEAD) -> ScenarioError:
    return refusal(experiment, lines, head)


def test_the_sensors_need_no_more_than_their_name() -> None:
    built = experiment("kind: sensors")
    assert (built.dataset.name, built.problem.dimension, built.problem.ridge) == ("sensors", 10, 0.0)
    for f in built.problem.objectives:
        assert isinstance(f, LeastSquares)
        assert (f.records, f.divisor) == (6, 36.0)
    assert built.problem.optimum().residual <= 1e-12


def test_a_nonconvex_loss_has_no_ridge_unless_it_is_given() -> None:
    built = experiment("kind: nonconvex_logistic\ndata: {name: synthetic, records: 300}")
    first = built.problem.objectives[0]
    assert isinstance(first, NonconvexLogistic)
    assert (first.weight, first.shape, first.ridge) == (0.001, 1.0, 0.0)
    other = experiment("kind: nonconvex_logistic\nridge: 0.2\nnonconvex_weight: 0.3\nnonconvex_shape: 2.0")
    first = other.problem.objectives[0]
    assert isinstance(first, NonconvexLogistic)
    assert (first.weight, first.shape, first.ridge) == (0.3, 2.0, 0.2)
    assert experiment("kind: logistic").problem.ridge == 1.0


def test_the_problem_of_dpp2_in_one_file() -> None:
    head = HEAD.replace("agents: 6", "agents: 50")
    built = experiment("kind: nonconvex_logistic\ndata: {name: synthetic, records: 10000}\nsmoothness: 5.03", head)
    assert {f.records for f in built.problem.objectives} == {200}
    assert built.problem.smoothness == pytest.approx(5.03, rel=1e-12)
    assert facts_of(built).optimum_is_stationary_only
    assert "Residual at a stationary point" in page(header(built, ""))


def facts_of(built: Experiment) -> ProblemResult:
    found = header(built, "netsim run small.yaml").problem
    assert found is not None
    return found


def test_an_audit_of_a_nonconvex_loss_replaces_a_record_of_it(tmp_path: Path) -> None:
    head = HEAD.replace(
        "  - {kind: recal, name: plain, activations: 30}",
        "  - {kind: dp_recal, name: told, reading: sent_state, per_agent: 4, ratio: 1.05}",
    ).replace("problem:", "audit: {agent: 1, trials: 200, chunk: 100}\nproblem:")
    lines = "kind: nonconvex_logistic\ndata: {name: digits, norm_bound: 4.0}\nnonconvex_weight: 0.1"
    built = experiment(lines, head)
    assert built.pair is not None
    own, other = built.pair.hypotheses
    assert isinstance(own, NonconvexLogistic)
    assert isinstance(other, NonconvexLogistic)
    assert (other.weight, other.shape) == (0.1, 1.0)
    assert 0 < own.gradient_difference_bound(other) <= built.adjacency.gradient_change
    text = head + "".join(f"  {line}\n" for line in lines.splitlines())
    results = run_scenario(parse(text, "small.yaml"), tmp_path, command="netsim run small.yaml")
    assert results.algorithms[0].audit_status == "done"


@pytest.mark.parametrize(
    ("split", "check"),
    [
        ("{kind: equal}", lambda parts: max(map(len, parts)) - min(map(len, parts)) <= 1),
        ("{kind: dirichlet, concentration: 0.1}", lambda parts: max(map(len, parts)) > 2 * min(map(len, parts))),
        ("{kind: label}", lambda parts: all(len(set(labels)) == 1 for labels in parts)),
    ],
)
def test_a_split_is_named_in_the_file(split: str, check) -> None:
    built = experiment(f"data: {{name: digits}}\nsplit: {split}")
    parts = [f.labels for f in built.problem.objectives]
    assert check(parts)
    assert sum(map(len, parts)) == 360
    assert facts_of(built).records_per_agent == tuple(len(part) for part in parts)


def test_without_a_split_nothing_has_changed() -> None:
    expected = build("logistic", load("digits").split(6, seed=5), 1.0)
    for found, wanted in zip(experiment("kind: logistic").problem.objectives, expected.objectives, strict=True):
        assert np.array_equal(found.features, wanted.features)


def test_a_smoothness_scales_data_range_and_adjacency_alike() -> None:
    plain, scaled = experiment("ridge: 0.5"), experiment("ridge: 0.5\nsmoothness: 2.5")
    held = np.concatenate([f.features for f in scaled.problem.objectives])
    factor = held.max()
    assert factor != 1
    assert scaled.dataset.value_range == (0.0, factor)
    assert scaled.problem.smoothness == pytest.approx(2.5, rel=1e-12)
    assert np.array_equal(scaled.dataset.features, plain.dataset.features * factor)
    assert scaled.adjacency.gradient_change == pytest.approx(plain.adjacency.gradient_change * factor, rel=1e-12)


@pytest.mark.parametrize(
    ("lines", "field", "said"),
    [
        ("data: {name: digits, norm_bound: 4.0}\nsmoothness: 5.0", "problem.smoothness", "norm_bound"),
        ("ridge: 3.0\nsmoothness: 2.0", "problem.smoothness", "a number > 3"),
        ("split: {kind: dirichlet}", "problem.split.concentration", "missing"),
        ("split: {kind: by_label}", "problem.split.kind", "label"),
        ("kind: sensors\nsplit: {kind: label}", "problem.split.kind", "real targets have no classes"),
        ("data: {name: csv, path: nowhere.csv}", "problem.data.path", "no such file"),
        ("kind: sensors\ndivisor: 0.0", "problem.divisor", "> 0"),
    ],
)
def test_what_does_not_fit_is_named(lines: str, field: str, said: str) -> None:
    error = refused(lines)
    assert error.field == field
    assert said in str(error)


def test_a_set_that_is_not_there_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETSIM_DATA", str(tmp_path))
    error = refused("data: {name: mnist}")
    assert error.field == "problem.data.name"
    assert str(tmp_path) in str(error)
    assert "download: true" in str(error)


def test_a_set_of_the_data_folder_runs_and_its_note_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETSIM_DATA", str(tmp_path))
    files = {"adult.data": written.ADULT.encode(), "adult.test": written.ADULT_TEST.encode()}
    written.write(tmp_path / "adult", files)
    built = experiment("data: {name: adult, part: test}", HEAD.replace("ring, agents: 6", "path, agents: 2"))
    shown = page(header(built, ""))
    assert "dropped" in shown.partition("Note on the data")[2].partition("</dd>")[0]
    assert "2 records, the test part" in shown
    assert "Note on the data" not in page(header(experiment("kind: logistic"), ""))


def test_a_csv_file_runs(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{'yes' if a + b > 0 else 'no'}" for a, b in rng.normal(size=(30, 2))]
    path.write_text("a,b,answer\n" + "\n".join(rows) + "\n")
    built = experiment(f"data: {{name: csv, path: {path}, label: answer, classes: ['no', 'yes']}}")
    assert (built.dataset.name, built.dataset.records, built.dataset.dimension) == ("mine.csv", 30, 2)
    assert (built.problem.optimum().point > 0).all()


def test_the_farthest_pair_is_found_among_the_longest_rows_where_there_are_too_many() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(60, 3)), rng.normal(size=(90, 3))
    a[17], b[44] = [9.0, 0, 0], [-9.0, 0, 0]
    assert farthest(a, b) == (17, 44, 5400)
    assert farthest(a, b, most=100)[:2] == (17, 44)
    assert farthest(a, b, most=100)[2] <= 100
    assert farthest(a[:1], b, most=10)[:2] == (0, int(np.argmax(np.linalg.norm(b - a[0], axis=1))))


def test_gradient_changes_of_two_kinds_are_not_compared() -> None:
    parts = load("digits").split(2)
    plain, bent = (build(kind, parts).objectives[0] for kind in ("logistic", "nonconvex_logistic"))
    assert problems.gradient_change(plain, bent) == np.inf
    assert problems.gradient_change(bent, bent) == 0


def test_a_regularizer_in_place_of_an_l1() -> None:
    lines = "data: {name: synthetic, records: 60}\nregularizer: {kind: fused_lasso, l1: 0.1, variation: 0.2}"
    assert experiment(lines).problem.regularizer == FusedLasso(0.1, 0.2)
    error = refused(f"{lines}\nl1: 0.1")
    assert (error.field, error.allowed) == ("problem.regularizer", "one of the two")
    assert refused(lines.replace("0.2", "-0.2")).field == "problem.regularizer.variation"


def test_counts_have_a_poisson_loss() -> None:
    lines = "kind: poisson\ndata: {name: synthetic, records: 60, kind: counts}\nridge: 0.1\nlargest_rate: 9"
    (loss, *_) = experiment(lines).problem.objectives
    assert isinstance(loss, PoissonLoss)
    assert (loss.ridge, loss.largest_rate) == (0.1, 9.0)
    assert refused(lines.replace("largest_rate: 9", "")).field == "problem.largest_rate"
    assert refused(lines.replace(", kind: counts", "")).field == "problem.counts"


class TestAssumedBound:
    """problem.gradient_bound: c of a record where least squares have none."""

    TEXT = """
name: assumed
topology: {kind: ring, agents: 4}
problem: {kind: ridge, data: {name: breast_cancer, unit: true}, gradient_bound: 3.0}
algorithms:
  - {kind: dp_recal, per_agent: 6, ratio: 1.1, noise: {epsilon: 2.0}}
  - {kind: nids, rounds: 6, noise: gaussian, scale: {kind: geometric, first: 1, ratio: 0.9}, target: {epsilon: 2.0}}
"""

    def test_two_gradients_differ_by_twice_the_bound_over_the_records_and_noise_meets_the_target(self):
        experiment = Experiment.of(parse(self.TEXT).scenario)
        fewest = min(f.records for f in experiment.problem.objectives)
        assert experiment.adjacency.gradient_change == pytest.approx(6.0 / fewest)
        assert experiment.adjacency.relation.endswith("each record's gradient assumed to be at most 3 in ℓ2")
        for subject in experiment.subjects:
            claim = subject.simulation.claim(experiment.adjacency, 6, 1e-3)
            assert claim.epsilon == pytest.approx(2.0, rel=1e-9)
        scale = experiment.subjects[1].simulation.algorithm.scale
        assert scale(3) / scale(2) == pytest.approx(0.9)

    def test_without_it_no_noise_can_be_made(self):
        with pytest.raises(ScenarioError, match="no bound on one record's gradient"):
            Experiment.of(parse(self.TEXT.replace(", gradient_bound: 3.0", "")).scenario)


# ── adjacent objectives ──────────────────────────────────────────────────────────────────────────────
RNG = np.random.default_rng(4)
FEATURES, LABELS = RNG.standard_normal((6, 3)), np.array([1.0, -1, 1, 1, -1, -1])
OWN = LogisticLoss(FEATURES, LABELS, 0.1)
OTHERS = {
    "a constant move": Tilted(OWN, np.array([0.1, -0.0, 1e-300])),
    "a bend": Bent(OWN, np.array([0.1, 0.0, 0.2]), 0.3, -1.0),
    "a record": OWN.with_record(2, np.array([1.0, 0.1, -3.0]), -1.0), "all labels": replace(OWN, labels=-LABELS),
    "more records": replace(OWN, features=np.repeat(FEATURES, 2, axis=0), labels=np.repeat(LABELS, 2)), "itself": OWN,
}  # fmt: skip


@pytest.mark.parametrize("other", OTHERS)
def test_read_it_is_the_same_function_to_the_last_bit(other):
    told = json.loads(json.dumps(change_of(OWN, OTHERS[other]), allow_nan=False))
    x = RNG.standard_normal((4, 3))
    read = changed(OWN, told)
    assert type(read) is type(OTHERS[other])
    assert np.array_equal(read.gradient(x), OTHERS[other].gradient(x))
    assert change_of(OWN, read) == change_of(OWN, OTHERS[other]) or other in ("a constant move", "a bend")


def test_only_what_differs_is_stored():
    told = change_of(OWN, OTHERS["a record"])
    assert told == {"records": {"features": {"rows": [2], "values": [[1.0, 0.1, -3.0]]},
                                "labels": {"rows": [2], "values": [-1.0]}}}  # fmt: skip
    assert change_of(OWN, OWN) == {"records": {}}


def test_another_kind_of_objective_or_another_parameter_is_refused():
    with pytest.raises(ScenarioError, match="no change of the agent's own objective"):
        change_of(OWN, LeastSquares(FEATURES, LABELS))
    with pytest.raises(ScenarioError, match="another parameter"):
        change_of(OWN, replace(OWN, ridge=0.2))


@pytest.mark.parametrize(
    "told",
    [
        {}, {"records": 3}, {"records": {"features": {"rows": [9], "values": [[0.0, 0.0, 0.0]]}}},
        {"records": {"features": {"rows": [1, 2], "values": [[0.0, 0.0, 0.0]]}}},
        {"records": {"features": {"rows": ["a"], "values": [[0.0, 0.0, 0.0]]}}},
        {"records": {"features": {"rows": [1], "values": [["x", 0.0, 0.0]]}}},
        {"records": {"ridge": {"rows": None, "values": [[1.0], [2.0, 3.0]]}}}, {"moved": "Problem"},
        {"moved": "Tilted"}, {"moved": "Tilted", "slope": [1.0, 2.0]},
        {"moved": "Tilted", "slope": [1.0, 2.0, 3.0], "size": 1.0},
    ],
)  # fmt: skip
def test_what_tells_of_no_objective_is_refused(told):
    with pytest.raises(ScenarioError):
        changed(OWN, told)


def test_who_is_too_far_is_not_adjacent():
    """By hand: a move of norm 5; one record of six, sup = max(‖z‖, ‖z'‖, ‖z − z'‖)/6; all, the two largest norms."""
    moved = Tilted(OWN, np.array([3.0, 0.0, 4.0]))
    z, new = LABELS[2] * FEATURES[2], -np.array([1.0, 0.1, -3.0])
    record = max(map(np.linalg.norm, (z, new, z - new))) / 6
    everything = 2 * max(map(np.linalg.norm, FEATURES))
    for other, size in ((moved, 5.0), (OTHERS["a record"], record), (OTHERS["all labels"], everything)):
        check_adjacent(OWN, other, Adjacency(size, ""))
        check_adjacent(OWN, other, Adjacency(math.inf, ""))
        with pytest.raises(ScenarioError, match="not adjacent"):
            check_adjacent(OWN, other, Adjacency(0.999 * size, ""))
        check_adjacent(OWN, other, Adjacency(2 * size, "", fewest=3))  # of more records each weighs less
        with pytest.raises(ScenarioError, match="not adjacent"):
            check_adjacent(OWN, other, Adjacency(1.999 * size, "", fewest=3))
    curved = NonconvexLogistic(FEATURES, LABELS)
    check_adjacent(curved, curved.with_record(0, FEATURES[0], LABELS[0]), Adjacency(0.0, ""))
    with pytest.raises(ScenarioError, match="not adjacent"):
        check_adjacent(LeastSquares(FEATURES, LABELS), LeastSquares(FEATURES, -LABELS), Adjacency(1e9, ""))


def test_a_move_is_measured_in_the_norm_of_the_adjacency():
    """By hand: (3, 0, −4) has norms 7, 5 and 4."""
    slope = np.array([3.0, 0.0, -4.0])
    for norm, size in {"l1": 7.0, "l2": 5.0, "linf": 4.0}.items():
        for other in (Tilted(OWN, slope), Bent(OWN, slope, 0.3)):
            check_adjacent(OWN, other, Adjacency.within(size, norm, 3, "", curvature=0.3))
            with pytest.raises(ScenarioError, match="not adjacent"):
                check_adjacent(OWN, other, Adjacency.within(0.999 * size, norm, 3, "", curvature=0.3))


def test_who_is_bent_too_much_is_not_adjacent():
    for allowed in (0.29, None):
        with pytest.raises(ScenarioError, match="Hessian"):
            check_adjacent(OWN, OTHERS["a bend"], Adjacency.within(1.0, "l2", 3, "", curvature=allowed))


# ── the print of data with functions among them ──────────────────────────────────────────────────────
TEXT = """
import numpy as np
from functools import partial
from netsim.problems import FromFunctions
from scenarios.build.problem import data_print

CENTER = np.arange(3.0)

def made(scale):
    def slope(x, gain=2.0):
        return scale * helped(x, gain)
    return FromFunctions(lambda x: float(scale * (x @ x)), slope, 3, 4.0, bending=partial(bend, 2.0))

def helped(x, gain):
    return gain * (x - CENTER)

def bend(a, x):
    return a * np.eye(3) if x[0] not in {1.5, 2.5, 3.5} else bend(a, x + 1)

print(data_print([made(1.0)]), data_print([made(1.0 + 2**-50)]))
"""


def printed(text, salt):
    environment = {"PYTHONHASHSEED": str(salt), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment, check=True)
    return done.stdout.split()


def test_two_processes_print_functions_alike_and_every_change_is_another_print():
    one, other = printed(TEXT, 1)
    assert [one, other] == printed(TEXT, 2)
    changes = [("gain=2.0", "gain=2.5"), ("x - CENTER", "x + CENTER"), ("np.arange(3.0)", "np.arange(3.0) + 1e-9")]
    changes += [("bend, 2.0", "bend, 2.25"), ("a * np.eye(3)", "a + np.eye(3)"), ("float(scale *", "float(2 *")]
    found = {one, other} | {printed(TEXT.replace(*change), 1)[0] for change in changes}
    assert len(found) == 2 + len(changes)


class Pull:
    def __init__(self, by):
        self.by = by

    def value(self, x):
        return float(self.by @ x)

    def __call__(self, x):
        return self.by


def test_methods_objects_and_partial_functions_are_told_by_what_they_hold():
    def with_slope(slope):
        return data_print([FromFunctions(Pull(np.ones(3)).value, slope, 3, 1.0)])

    by = np.arange(3.0)
    slopes = [Pull(by), Pull(by + 1e-9), Pull(by).__call__, partial(Pull.__call__, Pull(by)), np.sign, np.abs]
    assert len({with_slope(one) for one in slopes}) == len(slopes)
    assert with_slope(Pull(by)) == with_slope(Pull(by.copy()))


def test_what_cannot_be_told_from_another_is_refused():
    with open(__file__) as file, pytest.raises(ScenarioError, match="TextIOWrapper, which cannot be told"):
        data_print([FromFunctions(lambda x: float(file.read()), np.sign, 3, 1.0)])


# ── the prior of records that nobody holds ───────────────────────────────────────────────────────────
def test_the_prior_of_a_regression_knows_the_law_of_targets():
    rng = np.random.default_rng(0)
    width, count, rounds, replicas = 8, 600, 10, 40
    features = rng.uniform(0, 1, (count, width))
    targets = 3 + features @ rng.standard_normal(width) + 0.3 * rng.standard_normal(count)
    data = Dataset("own", features, targets)
    prior = prior_of(data.take(list(range(2, count))), least_squares([data]))
    assert prior.target == pytest.approx((np.mean(targets[2:]), np.var(targets[2:])), rel=1e-3)
    assert prior.labels == (pytest.approx(np.mean(targets[2:])),)
    points = 0.3 * rng.standard_normal((rounds, replicas, width))
    model, known = Linear(width), Known(Linear(width), 1, prior=prior, value_range=(0.0, 1.0))
    noise = white_noise(0.1, rounds, width)
    evidence = noisy_evidence(model, points, features[:1], model.targets(targets[:1]), noise, "gaussian", rng)
    found = PosteriorMode().reconstruct([Case(evidence, known)], rng)[0]
    error = np.mean((found.features - features[0]) ** 2)
    assert error < 0.1 * np.mean((prior.overall - features[0]) ** 2)


SIGNS, NUMBERS = (-1.0, 1.0), (0.0, 1.0)


@pytest.mark.parametrize(("kind", "labels"), [("logistic", SIGNS), ("softmax", NUMBERS), ("mlp", NUMBERS)])
def test_two_classes_are_counted_as_the_model_counts_them(kind, labels):
    rng = np.random.default_rng(0)
    data = Dataset("own", rng.uniform(0, 1, (60, 3)), np.resize([-1.0, 1.0], 60))
    problem = build(kind, [data])
    prior = prior_of(data.take(list(range(2, 60))), problem)
    assert prior.labels == labels
    assert prior.target is None
    holding = Ownership((data.take([0, 1]), data.take([2, 3])), problem, prior)
    assert tuple(holding.labels(0)) == labels
    assert tuple(build(kind, holding.parts).objectives[0].labels) == labels


TWO = """\
name: two
seed: 3
problem: {kind: softmax, data: {name: digits, classes: [0, 1]}, ridge: 0.1}
topology: {kind: ring, agents: 4}
algorithms:
  - {kind: recal, name: plain, step: 0.05, per_agent: 8}
attacks:
  gradients: false
  holding: 3
  reconstruct:
    - {kind: informed, name: told all but one, then: softmax_record}
"""


def test_who_is_told_all_records_but_one_of_two_classes_rebuilds_it(tmp_path):
    """The others' gradients are subtracted: with their labels counted otherwise nothing is left that explains one."""
    (entry,) = run_scenario(parse(TWO), tmp_path).algorithms
    (informed,) = entry.reconstructions.attacks
    assert "record 2" not in (tmp_path / "report.html").read_text()
    assert informed.success.rate == 1.0
