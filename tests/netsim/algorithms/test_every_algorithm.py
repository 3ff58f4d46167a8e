"""What holds of every algorithm that there is: one without an example here fails this file."""

import math
import pickle
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from attacks.inference import infer, inversions_of, probed, through_probe
from attacks.replay import replay
from attacks.score import score_gradients
from netsim.codecs import Dither
from netsim.errors import PrivacyError, TranscriptError
from netsim.network.laws import UniformDelay
from netsim.network.links import LinkLaw
from netsim.problems import Problem
from netsim.randomness import Streams, dither_of
from netsim.topology import from_edges
from tests.netsim.algorithms.every import ADJACENCY, DOOR, EXAMPLES, exported, kinds
from tests.worlds import ROUGH, coins

RANDOM_ITSELF = ("random_penalty_admm", "grouped_descent", "neighbor_range")
"""Their scale says how much Laplace noise there is beside what is random in any case."""
WITHOUT_NOISE = ("recal",)
DRAWS = {"batch", "secret_sharing"}
TWICE = LinkLaw(UniformDelay(0.0, 1.0), duplication=0.3, reordering=True)


def received(run):
    """How often each direct message came in at the tapped door; of an exchange every copy does."""
    rows = (row for row in run.views[0].transcript if row.event == "received" and row.kind == "direct")
    return Counter((row.sender, row.number) for row in rows)


def same_bits(ours, theirs):
    """What was asked, answered, released and estimated, agent by agent."""
    for a, b in zip(ours.truth.queries, theirs.truth.queries, strict=True):
        np.testing.assert_array_equal([q.point for q in a], [q.point for q in b])
        np.testing.assert_array_equal([q.gradient for q in a], [q.gradient for q in b])
    for a, b in zip(ours.truth.releases, theirs.truth.releases, strict=True):
        np.testing.assert_array_equal(np.array(a), np.array(b))
    for agent in range(len(ours.truth.queries)):
        mine, other = (errors_of(run, agent) for run in (ours, theirs))
        np.testing.assert_array_equal(mine, other)


def errors_of(run, agent):
    """Its estimates, in its own order."""
    return run.metrics.relative_errors()[np.array(run.metrics.agents) == agent]


def test_every_algorithm_and_every_kind_has_an_example():
    assert exported() == {type(example.algorithm()) for example in EXAMPLES.values()}
    assert kinds() - {"planted_fault", "python"} == {example.fields["kind"] for example in EXAMPLES.values()}


@pytest.mark.parametrize("name", EXAMPLES)
class TestEvery:
    @pytest.mark.few(13)
    def test_rough_links_change_no_bit(self, name):
        """Nor do those that deliver twice, and out of order: a message that comes twice is one message."""
        ideal, rough, twice = (
            EXAMPLES[name].simulation(replicas=2, **links).run() for links in ({}, {"links": ROUGH}, {"links": TWICE})
        )
        assert rough.traffic["packets_lost"] > 5
        assert twice.traffic["packets_duplicated"] > 5
        same_bits(rough, ideal)
        same_bits(twice, ideal)
        assert received(twice) == received(ideal)

    def test_the_truth_reproduces_every_message(self, name):
        """From the wire where every release is on it, and else with what was released; and each replica by itself."""
        run = EXAMPLES[name].simulation(replicas=2, links=ROUGH).run()
        objective = run.simulation.problem.objectives[DOOR]
        drawn = Dither(lambda: dither_of(Streams(0), 0, DOOR), 2) if run.simulation.wire_codec.random else None
        law = run.truth.edges.known(DOOR)  # of noise from shared seeds
        given = [replace(run.views[0], shared={} if law is None else {DOOR: law}), DOOR, objective]
        if EXAMPLES[name].hidden:
            with pytest.raises(TranscriptError, match="grant the replay its value"):
                replay(*given, coins(run, DOOR), None, drawn)
        granted = run.truth.releases[DOOR] if EXAMPLES[name].hidden else None
        found = replay(*given, coins(run, DOOR), granted, drawn)
        assert found.identical
        assert len(found.sendings) == sum(row.event == "sent" for row in run.views[0].at_node(DOOR)) > 0
        assert len(found.releases) == len(run.truth.releases[DOOR])
        if granted is None and law is None and drawn is None:
            alone = replace(run.views[0], transcript=run.views[0].transcript.replica(1))
            assert replay(alone, DOOR, objective, coins(run, DOOR)).identical

    @pytest.mark.few(14)
    def test_its_probe_errs_as_it_says_with_noise(self, name):
        """Σ of the squared errors in units of the stated covariance: one for each number that was estimated."""
        if EXAMPLES[name].refused:
            pytest.skip("no probe")
        run = EXAMPLES[name].simulation(seed=3).run()
        found = probed(run.views[0], DOOR)
        kept = found.identifiable
        error = (found.gradients - np.array([q.gradient for q in run.truth.queries[DOOR]]))[kept, 0]
        lengths = [
            error[:, c] @ np.linalg.pinv(found.covariance[np.ix_(kept, kept)][..., c], rcond=1e-9) @ error[:, c]
            for c in range(error.shape[1])
        ]
        noises = [np.linalg.matrix_rank(found.covariance[np.ix_(kept, kept)][..., c], rtol=1e-9) for c in range(4)]
        assert 0.3 * np.sum(noises) <= np.sum(lengths) < 3 * np.sum(noises) + 1e-9

    @pytest.mark.few(28)
    def test_scale_0_is_the_algorithm_without_noise_to_the_last_bit(self, name):
        example = EXAMPLES[name]
        noisy, plain = example.algorithm(), example.algorithm(noisy=False)
        if name in WITHOUT_NOISE:
            assert not noisy.noisy
            with pytest.raises(PrivacyError, match=f"{type(noisy).__name__} has no noise to scale"):
                noisy.scaled(0.0)
            return
        quiet = noisy.scaled(0.0)
        assert noisy.noisy
        assert plain.noisy == quiet.noisy == (name in RANDOM_ITSELF)
        first, second = (example.simulation(algorithm=a, replicas=2).run() for a in (quiet, plain))
        same_bits(first, second)
        if name not in RANDOM_ITSELF and example.refused == "":
            assert not any(first.truth.releases)
            np.testing.assert_array_equal(*np.swapaxes(first.metrics.relative_errors(), 0, 1))

    def test_names_of_agents_do_not_matter(self, name):
        """Relabelled, without noise and coins: the same points to rounding, each at its agent."""
        example, order = (
            EXAMPLES[name],
            np.array([0, 3, 5, 1, 4, 2]),
        )  # agent i becomes order[i]; a star keeps its hub
        here = example.simulation(noisy=False)
        if (
            name in RANDOM_ITSELF
            or here.algorithm.stopping().walks
            or here.wire_codec.random
            or DRAWS & {*name.split()}
        ):
            pytest.skip("draws from streams that have the agents' names")
        there = Problem(tuple(here.problem.objectives[i] for i in np.argsort(order)))
        graph = from_edges(len(order), [(int(order[i]), int(order[j])) for i, j in here.topology.edges])
        first, second = here.run(), replace(here, problem=there, topology=graph).run()
        for agent, moved in enumerate(order):
            pairs = zip(first.truth.queries[agent], second.truth.queries[moved], strict=True)
            np.testing.assert_allclose(*np.array([(a.point, b.point) for a, b in pairs]).swapaxes(0, 1), atol=1e-10)

    def test_calibration_is_the_claim_backwards(self, name):
        """And there is no claim without noise, nor where a gradient's change has no bound."""
        simulation = EXAMPLES[name].simulation()
        algorithm, setting = simulation.algorithm, simulation.setting(8)
        claim = algorithm.claim(ADJACENCY, setting, 1e-3)
        if claim is None or claim.epsilon is None:
            with pytest.raises(PrivacyError, match=r"nothing is claimed|the claim is undefined|no noise"):
                algorithm.calibrated(7.0, 1e-3, ADJACENCY, setting)
            return
        calibrated = algorithm.calibrated(7.0, 1e-3, ADJACENCY, setting)
        assert calibrated.claim(ADJACENCY, setting, 1e-3).epsilon == pytest.approx(7.0, rel=1e-9)
        unbounded = algorithm.claim(replace(ADJACENCY, gradient_change=math.inf), setting, 1e-3)
        silent = algorithm.scaled(0.0).claim(ADJACENCY, setting, 1e-3)
        assert unbounded.epsilon is None
        assert silent is None or silent.epsilon is None  # some claim nothing without noise
        assert any("bound" in why for why in unbounded.failed_conditions)
        if silent is not None:
            assert any("noise" in why or "scale 0" in why or " = 0" in why for why in silent.failed_conditions)

    def test_it_travels_as_data_and_speaks_in_one_sentence(self, name):
        for noisy in (True, False):
            algorithm = EXAMPLES[name].algorithm(noisy)
            assert pickle.loads(pickle.dumps(algorithm)) == algorithm
            summary = algorithm.summary
            assert summary.endswith(".")
            assert summary[0].isupper()
            assert ". " not in summary
            assert "\n" not in summary

    @pytest.mark.few(3)
    def test_what_is_said_to_be_exact_reaches_the_optimum_and_nothing_else_does(self, name):
        example = EXAMPLES[name]
        algorithm = example.algorithm(noisy=False, **example.enough)
        run = example.simulation(algorithm=algorithm, private="nothing").run()
        last = max(errors_of(run, agent)[-1, 0] for agent in range(run.simulation.topology.agents))
        assert last < 1e-6 if example.exact else 1e-4 < last < 10


def test_own_inversions_find_what_a_probe_finds():
    """On runs without noise, of the algorithms that have one: exact, and no gradient that a probe does not find.

    Where a compressor or a random penalty is left, the errors are no larger than said; a probe refuses the first.
    Of exchanges whose noise is on the wire they are the probe's own with noise, too, and as exact.
    """
    for name, example in EXAMPLES.items():
        if inversions_of(example.algorithm())[0] is through_probe:
            continue
        run = example.simulation(noisy=False).run()
        own = [e for e in infer(run.views[0]) if e.agent == DOOR]
        exact = [e for e in own if e.stddev == 0]
        assert not exact or score_gradients(exact, run.truth).worst < 1e-8
        for e in own:
            error = e.gradient - run.truth.queries[DOOR][e.query].gradient
            assert np.sqrt(np.mean(error**2)) < 1e-8 + 3 * e.stddev
        if "compressor" in example.fields:
            continue
        assert len(exact) == len(own) or name in RANDOM_ITSELF
        assert {e.query for e in own} <= set(np.flatnonzero(probed(run.views[0], DOOR).identifiable).tolist()), name
        if name in ("diadsp", "cpgt", "dpp2", "private_gradient_descent"):
            view = example.simulation(replicas=2).run().views[0]
            there = {e.query: e for e in through_probe(view) if e.agent == DOOR}
            own = [e for e in infer(view) if e.agent == DOOR]
            assert [e.query for e in own] == list(there)
            for e in own:
                np.testing.assert_allclose(e.gradient, there[e.query].gradient, atol=1e-8)
                assert e.stddev == pytest.approx(there[e.query].stddev, rel=1e-6)
