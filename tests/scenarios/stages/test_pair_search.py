"""A scenario's search finds a pair at least as bad as the default one, on transcripts of its own; and says so."""

import math
from dataclasses import replace

import numpy as np
import pytest

from attacks.audit.loss.comparison import compare_worlds
from attacks.audit.pair import FIRST_CHUNK, estimated, worst
from attacks.audit.verdict import Verdict
from netsim.errors import ScenarioError
from netsim.problems import Bent
from scenarios.build.duration import Silent
from scenarios.build.experiment import Experiment
from scenarios.files.library import library
from scenarios.render.page.report import page
from scenarios.results.audit import BOTH_MOVED
from scenarios.schema.load import parse
from scenarios.stages import worst_pair
from scenarios.stages.worlds import AuditOptions, audited, worlds
from scenarios.stages.worst_pair import pair_for
from tests.scenarios.filled import tree
from tests.scenarios.small import SMALL

EQ_23 = library()["cpgt-eq-23"].split("variants:", 1)[0]
CHANGE = "{change: 1.0, direction: even}"
FAR_OUT = """
name: far-out
problem: {kind: ridge, data: {name: synthetic, kind: regression, records: 100, dimension: 1}, ridge: 0.5}
topology: {kind: ring, agents: 5}
algorithms: [{kind: laplacian_consensus, rounds: 20, fed: 0.9, scale: {kind: geometric, first: 2.0, ratio: 0.5}}]
attacks: {gradients: false}
audit: {adjacency: {change: 1.0}, trials: 50}
"""
DIGITS = SMALL.replace("images: true", "images: false, gradients: false")


def experiment(text, *changes):
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return Experiment.of(parse(text, "here").scenario)


def searching(text, candidates, transcripts, *changes):
    spec = f"search: {{candidates: {candidates}, transcripts: {transcripts}}}, trials:"
    return experiment(text, ("trials:", spec), *changes)


def activations(subject):
    return getattr(subject.simulation.algorithm, "rounds", None) or subject.simulation.algorithm.horizon


def claim_of(subject, made):
    return subject.simulation.claim(made.adjacency, activations(subject), subject.delta)


def found_in(made, subject):
    claim = claim_of(subject, made)
    pair, found = pair_for(made, subject, claim, activations(subject), Silent())
    return pair, found, claim


def costs(made, subject, pair, delta, chunk, transcripts=4):
    """What pairs cost on the same transcripts."""
    agent = pair.agent
    sample = worlds(subject.simulation, agent, pair.hypotheses[1], transcripts)(0, chunk)
    return estimated(compare_worlds(sample, agent, *pair.hypotheses), delta)[0]


@pytest.mark.slow
def test_of_cpgt_it_finds_by_itself_what_breaks_eq_23():
    made = searching(EQ_23, 60, 1)
    assert [subject.spec.name for subject in made.subjects] == ["DiaDSP", "CPGT"]
    for subject in made.subjects:
        pair, found, claim = found_in(made, subject)
        slope = np.abs(pair.hypotheses[1].slope)
        np.testing.assert_allclose(slope, slope[0], rtol=1e-5)  # the search may have moved it
        assert 2.8 < found.winner.epsilon / claim.epsilon < 10**0.5
        even = costs(made, subject, made.pair, 0.0, 0)
        assert found.winner.epsilon > even > 2.8  # signs that the agent's own data suggest cost more than even ones
        assert costs(made, subject, pair, 0.0, 0) == pytest.approx(found.winner.epsilon, rel=1e-6)
        assert "(the worst of " in pair.description


@pytest.mark.slow
def test_a_change_in_l1_is_worst_in_a_coordinate_and_that_breaks_eq_23_a_little():
    rows = ("divisor: 180", "divisor: 120"), ("records: 180", "records: 120")
    made = searching(EQ_23, 60, 1, (CHANGE, "{change: 1.0, norm: l1}"), *rows)
    pair, found, claim = found_in(made, made.subjects[0])
    assert np.count_nonzero(pair.hypotheses[1].slope) == 1
    assert 1 < found.winner.epsilon / claim.epsilon < 1 / made.subjects[0].spec.ratio


@pytest.fixture(scope="module")
def digits():
    return searching(DIGITS, 60, 8)


@pytest.mark.slow
def test_the_record_that_it_finds_is_worse_than_the_farthest_one_and_a_constant_change_is_worse_still(digits):
    printed = digits.subjects[2]
    pair, found, claim = found_in(digits, printed)
    farthest = costs(digits, printed, digits.pair, claim.delta, FIRST_CHUNK, 8)
    record = max(one.epsilon for one in found.families if one.name != BOTH_MOVED)
    assert 1.05 * farthest < record < found.winner.epsilon < claim.epsilon
    zero, other = pair.hypotheses
    change = np.linalg.norm(other.slope - zero.slope)
    np.testing.assert_allclose(change, claim.adjacency.gradient_change)
    assert zero.record == other.record is not None


def test_an_agents_data_may_be_changed_for_worse_than_other_labels():
    made = searching(DIGITS, 40, 8, ("agent: 1,", "agent: 1, adjacency: agent,"))
    printed = made.subjects[2]
    pair, found, claim = found_in(made, printed)
    flipped = costs(made, printed, made.pair, claim.delta, FIRST_CHUNK, 8)
    assert 1.5 * flipped < found.winner.epsilon < claim.epsilon
    assert pair.hypotheses[1].records == pair.hypotheses[0].records


def test_an_uncovered_message_is_found_with_the_first_pair(digits):
    _, found, _ = found_in(digits, digits.subjects[1])
    assert found.winner.epsilon == float("inf")
    assert found.candidates == 1


@pytest.mark.slow
def test_what_it_tried_is_in_results_and_on_the_page(digits):
    _, found, _ = found_in(digits, digits.subjects[2])
    assert found.candidates == sum(family.candidates for family in found.families) <= found.budget
    assert found.budget == 60 + sum(one.candidates for one in found.families if one.name == BOTH_MOVED)
    assert found.transcripts == 8
    assert found.winner.description in found.sentence
    bare = tree({"algorithms": [{"name": "leaky", "audit": {"verdict": "consistent"}}]})
    (entry,) = bare.algorithms
    shown = page(replace(bare, algorithms=(replace(entry, audit=replace(entry.audit, search=found)),)))
    assert "The search for the worst pair" in shown
    assert all(family.best.split(",", 1)[0] in shown for family in found.families)
    assert "The search for the worst pair" not in page(bare)


# ── the adjacency of a change that varies with x, or is known in another norm ───────────────────────────
def test_a_bound_in_another_norm_reaches_every_formula():
    l2, linf = (experiment(EQ_23, (CHANGE, f"{{change: 1.0, norm: {norm}}}")) for norm in ("l2", "linf"))
    assert linf.adjacency.gradient_change == pytest.approx(10**0.5)
    scales = [made.subjects[0].simulation.algorithm.scale_x for made in (l2, linf)]
    assert scales[1] == pytest.approx(10**0.5 * scales[0], rel=1e-9)
    assert "in ℓ∞" in linf.adjacency.relation
    assert l2.adjacency.relation == "the gradient of one agent moved by a constant vector of at most 1 in ℓ2"
    assert l2.adjacency == replace(experiment(EQ_23).adjacency)


GIVEN = ("target: {epsilon: 1.0}", "scale_x: 0.5\n    scale_y: 2.0")
VARYING = (CHANGE, "{change: 1.0, constant: false}")


def test_a_change_that_varies_bends_the_objective_and_has_no_claim_by_eq_23():
    made = experiment(EQ_23, VARYING, GIVEN)
    own, other = made.pair.hypotheses
    assert isinstance(other, Bent)
    assert other.curvature == pytest.approx(0.1 * made.problem.smoothness)
    assert (made.adjacency.curvature_change, made.adjacency.bending) == (other.curvature, other.curvature)
    assert "Assumption 4" in claim_of(made.subjects[0], made).failed_conditions[0]
    x = np.random.default_rng(0).standard_normal((50, 10))
    assert np.max(np.linalg.norm(other.gradient(x) - own.gradient(x), axis=1)) <= 1


def test_claims_are_computed_with_a_smoothness_that_holds_for_both():
    made = experiment(EQ_23, VARYING, GIVEN)
    simulation = made.subjects[0].simulation
    asked = []
    algorithm = simulation.algorithm

    class Asking(type(algorithm)):
        def claim(self, adjacency, setting, delta):
            asked.append(max(setting.smoothness))
            return super().claim(adjacency, setting, delta)

    replace(simulation, algorithm=Asking(**vars(algorithm))).claim(made.adjacency, 5, 0.0)
    assert asked == [pytest.approx(1.1 * made.problem.smoothness)]
    assert asked[0] >= made.pair.hypotheses[1].smoothness


@pytest.mark.slow
def test_a_search_among_changes_that_vary_stays_within_the_bound():
    made = searching(EQ_23, 20, 1, VARYING, GIVEN)
    pair, _, _ = found_in(made, made.subjects[0])
    own, other = pair.hypotheses
    x = 30 * np.random.default_rng(0).standard_normal((500, 10))
    moved = np.linalg.norm(other.gradient(x) - own.gradient(x), axis=1)
    assert np.max(moved) <= 1 + 1e-9
    assert other.smoothness <= own.smoothness + made.adjacency.bending


@pytest.mark.parametrize(
    ("field", "adjacency"),
    [
        ("audit.adjacency.curvature", "{change: 1.0, curvature: 0.1}"),
        ("audit.adjacency.curvature", "{change: 1.0, constant: false, curvature: 0}"),
        ("audit.adjacency.norm", "{change: 1.0, norm: l3}"),
        ("audit.adjacency.change", "{change: -1.0, norm: l1}"),
        ("audit.search.candidates", "{change: 1.0}, search: {candidates: 0}"),
    ],
)
def test_what_does_not_fit_is_refused_before_time_0(field, adjacency):
    with pytest.raises(ScenarioError) as refused:
        experiment(EQ_23, (CHANGE, adjacency))
    assert refused.value.field == field
    assert refused.value.allowed


DESCENT = """\
name: descent
problem: {kind: sensors, divisor: 180, data: {name: sensors, records: 180, dimension: 10}}
topology: {kind: complete, agents: 6}
algorithms: [{kind: private_gradient_descent, name: d, rounds: 3, step: STEP, scale: 1.0}]
audit: {adjacency: {change: 1.0, constant: false, curvature: 5.0}, trials: 100}
"""


def test_a_bend_that_leaves_an_algorithm_outside_its_conditions_is_refused():
    largest = experiment(DESCENT.replace("STEP", "0.001")).problem.smoothness
    with pytest.raises(ScenarioError, match="outside its conditions") as refused:
        experiment(DESCENT.replace("STEP", f"{0.99 / largest:.6f}"))
    assert refused.value.field == "audit.adjacency.curvature"


@pytest.mark.slow
def test_the_audit_of_what_was_found_refutes_with_other_transcripts(tmp_path):
    """The search's estimate is the audit's exact ε: all transcripts cost the same."""
    made = searching(EQ_23, 20, 1, ("trials: 1000, chunk: 500", "trials: 60, chunk: 60"))
    subject = made.subjects[0]
    pair, printed, claim = found_in(made, subject)
    found = audited(AuditOptions(made.scenario, subject, pair, claim), tmp_path / "seen", None, 1)
    assert found.judgement.verdict is Verdict.REFUTED
    assert found.epsilon_exact == pytest.approx(printed.winner.epsilon, rel=1e-6)
    assert found.pair.description.endswith("searched)")


def test_without_a_search_the_pair_is_the_default_one():
    made = experiment(EQ_23)
    subject = made.subjects[0]
    pair, found = pair_for(made, subject, claim_of(subject, made), 30, Silent())
    assert (replace(pair, change_used=None), found) == (made.pair, None)
    assert pair.change_used == pytest.approx(1.0)


FEWER = ("trials: 1000, chunk: 500", "trials: 60, chunk: 60, agent: 0"), ("rounds: 30", "rounds: 6")


def test_of_pairs_that_cost_the_same_the_one_that_is_audited_stands_for_its_family(monkeypatch):
    """Two searches whose winners differ by rounding alone: the first one's is audited, and is in the table."""
    seen = []

    def twice(found):
        winner = found[0].winner
        other = replace(winner.candidate, description="another pair")
        again = replace(winner, candidate=other, epsilon=winner.epsilon * (1 + 1e-9))
        own = [one for one in found[0].families if one.name == winner.candidate.family]
        seen.append(own[0].name)
        return worst([found[0], replace(found[0], winner=again, families=(replace(own[0], worst=again),))])

    monkeypatch.setattr(worst_pair, "worst", twice)
    made = searching(EQ_23, 20, 1, *FEWER)
    pair, found, _ = found_in(made, made.subjects[0])
    (family,) = [one for one in found.families if one.name == seen[0]]
    assert family.best == found.winner.description != "another pair"
    assert found.sentence.startswith(f"{family.best}: ")
    assert family.epsilon == found.winner.epsilon
    assert pair.description.startswith(family.best)


def test_the_sentence_of_a_search_names_the_stated_pair_where_none_that_was_tried_costs_more(monkeypatch):
    made = searching(EQ_23, 20, 1, *FEWER)
    monkeypatch.setattr(worst_pair, "_aimed", lambda _, pair: 7.25 if pair is made.pair else 1.0)
    pair, found, _ = found_in(made, made.subjects[0])
    assert found.sentence.startswith(f"{made.pair.description}: under noise that is aimed at the other world")
    assert "7.25" in found.sentence
    assert pair.description == found.winner.description == made.pair.description


def test_what_the_search_alone_has_seen_unprotected_is_not_called_consistent(monkeypatch):
    """A gate so rare that the audit's transcripts have none: whoever searched has seen one."""

    def unprotected(found):
        at, together = worst(found)
        return at, replace(together, winner=replace(together.winner, epsilon=math.inf))

    made = searching(EQ_23, 20, 1, *FEWER)
    subject = made.subjects[0]
    pair, searched, claim = found_in(made, subject)
    claim = replace(claim, epsilon=1.5 * searched.winner.epsilon)
    for bare in (False, True):
        if bare:
            monkeypatch.setattr(worst_pair, "worst", unprotected)
            pair, _, _ = found_in(made, subject)
        found = audited(AuditOptions(made.scenario, subject, pair, claim), None, None, 1)
        assert (found.judgement.verdict is Verdict.CONSISTENT) == (not bare)
        assert ("The search for the pair saw an unprotected message" in found.judgement.reason) == bare


def test_a_pair_far_out_costs_no_more_for_its_rounding():
    """Numbers of 10⁵ beside noise of 10⁻⁵: a pair that costs more by less than a millionth costs the same."""
    made = experiment(FAR_OUT)
    pair, found, claim = found_in(made, made.subjects[0])
    assert found.winner.epsilon == pytest.approx(claim.epsilon, rel=1e-6)
    assert found.winner.family != BOTH_MOVED
    assert "both worlds" not in pair.description
