"""The joint probe on runs of the simulator: coalitions, taps on some links, lost captures, noise, and two oracles."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from attacks.estimates import Evidence
from attacks.inference import evidence as evidence_of
from attacks.inference import probed, through_network
from attacks.probe import EXACT, Constant, RandomWalk, probe_network
from attacks.score import score_gradients
from netsim import topology
from netsim.adversary import Adversary, Around, RandomShare
from netsim.algorithms import Algorithm, DiaDSP, Dpp2, Extra, GradientTracking, Nids, PrivateGradientDescent
from netsim.mechanisms import Gaussian
from netsim.network.radio import Radio
from netsim.node import Node
from netsim.schedules import Constant as Step
from netsim.schedules import Geometric
from netsim.transcript import Transcript
from tests.attacks.probe.joint_worlds import (
    EDGE,
    NEIGHBORS,
    SOME,
    Noisy,
    Proximal,
    Shifted,
    Summed,
    estimates_in,
    evidence_in,
    ran,
    step,
)
from tests.attacks.probe.scripted import drawn, given, run_script, within_bounds, worst
from tests.worlds import ROUGH


def chi_square(found, run) -> list[float]:
    """Where Σ errorᵀ covariance⁻¹ error falls in its law, for each agent that is seen."""
    truth, places = given(run), []
    for i, queries in found.seen.items():
        kept = list(queries)
        error = found.agents[i].gradients[kept] - truth[i][kept]
        for c in range(error.shape[-1]):
            stated = found.covariance(i, i)[np.ix_(kept, kept)][..., c]
            sizes_, axes = np.linalg.eigh(stated)
            noisy = sizes_ > 1e-12 * sizes_[-1]
            whitened = (axes[:, noisy].T @ error[..., c]) / np.sqrt(sizes_[noisy])[:, None]
            places.append(float(stats.chi2.cdf(np.sum(whitened**2), whitened.size)))
    return places


class TestWithoutNoise:
    """Everything that is called identifiable is recovered, within the bound that is stated."""

    @pytest.mark.few(4)
    @pytest.mark.parametrize("adversary", [SOME, NEIGHBORS, EDGE, Adversary("all")], ids=lambda a: a.name)
    @pytest.mark.parametrize("algorithm", [
        PrivateGradientDescent(8, step(0.05)), GradientTracking(8, 0.02), GradientTracking(6, 0.02, variant="atc"),
        Extra(8, 0.1), Nids(8, 0.1), Dpp2(6, 0.1, 0.02, 0.5, Geometric(0.9, 0.9)), Proximal(),
    ], ids=lambda a: type(a).__name__)  # fmt: skip
    def test_what_is_identifiable_is_recovered(self, algorithm, adversary):
        run = ran(algorithm, adversary)
        found = probe_network(run.views[0])
        sums, truth = found.functionals(), given(run)
        assert found.seen or sums  # one link tells of NIDS sums alone
        assert worst(found, run) < 1e-8
        assert within_bounds(found, run)
        assert all(np.abs(each.of(truth) - each.estimate).max() <= each.rounding for each in sums)
        assert found.residual < 1e-12

    def test_slow_and_lossy_links_change_nothing(self):
        """Agents that wait for all do the same whatever the delays: only what is heard counts."""
        algorithm = PrivateGradientDescent(8, step(0.05))
        plain, rough = (probe_network(ran(algorithm, Adversary(links=RandomShare(0.5, seed=4)), links=laws).views[0])
                        for laws in (ran(algorithm).simulation.network.links, ROUGH))  # fmt: skip
        assert rough.seen == plain.seen
        for i in plain.agents:
            np.testing.assert_array_equal(rough.agents[i].gradients, plain.agents[i].gradients)

    def test_points_are_known_where_they_say_so_and_estimates_are_scored(self):
        run = ran(GradientTracking(8, 0.02))
        found = probe_network(run.views[0])
        for i, victim in found.agents.items():
            located = victim.located
            points = np.array([q.point for q in run.truth.queries[i]])
            np.testing.assert_allclose(found.agents[i].points[located], points[located], atol=1e-9)
        assert not all(np.all(victim.located) for victim in found.agents.values())
        estimates = through_network(run.views[0])
        score = score_gradients(estimates, run.truth)
        assert score.estimated == len(estimates) > 8
        assert score.worst < 1e-8

    def test_a_tap_that_came_late_leaves_the_gradients_before_it_open(self):
        """From its first row on it hears all: of what was before, the sums that are still in the states."""
        run = ran(PrivateGradientDescent(8, step(0.05)), Adversary())
        full = run.views[0]
        rows = tuple(r for r in full.transcript if r.number >= 3)
        found = probe_network(replace(full, transcript=Transcript(rows, full.replicas)))
        assert set(found.seen.values()) == {(3, 4, 5, 6)}
        assert worst(found, run) < 1e-10
        truth = given(run)
        for each in found.functionals():
            assert {t for _, t, _ in each.terms} <= {0, 1, 2}
            assert np.abs(each.of(truth) - each.estimate).max() <= each.rounding
        assert len(found.functionals()) == run.simulation.topology.agents

    def test_what_drowns_in_rounding_is_not_called_identifiable(self):
        """Steps that shrink a hundredfold: in the end a gradient moves x by less than its last digit."""
        run = run_script(
            drawn(5, 10), topology.ring(5), PrivateGradientDescent(10, Geometric(0.1, 0.01)), Adversary()
        )
        found = probe_network(run.views[0])
        truth = given(run)
        assert within_bounds(found, run)
        assert worst(found, run) < 1e-2
        for victim in found.agents.values():
            assert victim.drowned[8]
            assert not victim.drowned[:5].any()
        errors = [np.abs(p.gradients[8] - truth[i][8]).max() for i, p in found.agents.items()]
        assert max(errors) > 0.1  # the ninth is hardly more than rounding

    def test_radio(self):
        """A transmission that is heard is one message for all neighbors."""
        adversary = Adversary(links=Around((0, 1, 2)))
        run = ran(PrivateGradientDescent(6, step(0.05)), adversary, graph=topology.path(5), medium=Radio())
        found = probe_network(run.views[0])
        assert {i: len(q) for i, q in found.seen.items()} == {0: 5, 1: 5, 2: 1}
        assert worst(found, run) < 1e-10

    def test_evidence_for_reconstructions(self):
        run = ran(PrivateGradientDescent(8, step(0.05)), Adversary())
        evidence = evidence_of(run.views[0], jointly=True)
        assert [e.agent for e in evidence] == list(range(8))
        assert all(isinstance(e, Evidence) and e.exact and e.rounds == 7 and e.hidden == 1 for e in evidence)
        np.testing.assert_allclose(evidence[3].gradients, given(run)[3][:7], atol=1e-12)


class TestWithNoise:
    @pytest.mark.few(1)
    @pytest.mark.parametrize("adversary", [SOME, NEIGHBORS, EDGE, Adversary("all")], ids=lambda a: a.name)
    @pytest.mark.parametrize("algorithm", [Noisy(6, 0.3), Summed(6, 0.3), Proximal(0.2)],
                             ids=lambda a: type(a).__name__)  # fmt: skip
    def test_errors_have_the_covariance_that_is_stated(self, algorithm, adversary):
        run = ran(algorithm, adversary, replicas=200)
        found = probe_network(run.views[0])
        assert {victim.law[t] for victim in found.agents.values() for t in victim.seen} == {"gaussian"}
        places = chi_square(found, run)
        assert places
        assert min(places) > 1e-4 / len(places)
        assert max(places) < 1 - 1e-4 / len(places)
        assert found.degrees == pytest.approx(0, abs=1e-6) or found.misfit == pytest.approx(1, abs=0.2)

    def test_a_random_walk_makes_errors_smaller_and_states_them_rightly(self):
        """Gradients that do walk: the posterior covariance is that of the errors, and smaller than without."""
        agents, queries, replicas = 5, 6, 300
        rng = np.random.default_rng(7)
        steps = 0.2 * rng.standard_normal((agents, queries, replicas, 2))
        steps[:, 0] *= 5.0
        graph = topology.ring(agents)
        scripts, adversary = list(np.cumsum(steps, axis=1)), Adversary(links=((0, 1), (2, 3)))
        run = run_script(scripts, graph, Noisy(queries, 0.3), adversary, replicas=replicas)
        free, walking = probe_network(run.views[0]), probe_network(run.views[0], gradients=RandomWalk(0.2, start=1.0))
        assert walking.identified == walking.queries > free.identified
        for i, queries_seen in free.seen.items():
            kept = list(queries_seen)
            assert np.all(walking.agents[i].stddev[kept] < free.agents[i].stddev[kept])
        places = chi_square(walking, run)
        assert 1e-4 / len(places) < min(places)
        assert max(places) < 1 - 1e-4 / len(places)

    def test_a_wrong_assumption_is_refuted_by_the_misfit(self):
        def misfit(constant: bool) -> float:
            scripts = drawn(6, 10, constant=constant)
            run = run_script(scripts, topology.ring(6), Noisy(10, 0.02), Adversary(), replicas=20)
            return probe_network(run.views[0], gradients=Constant()).misfit

        assert misfit(True) == pytest.approx(1, abs=0.1)
        assert misfit(False) > 100

    def test_a_release_that_is_missed_and_sent_again_is_known_where_it_was_missed(self):
        """Agents tell the same noisy value twice; the first is never heard."""

        @dataclass(frozen=True)
        class Twice(Algorithm):
            rounds: int = 5

            async def run(self, node: Node) -> None:
                x = node.zeros()
                for _ in range(self.rounds):
                    told = node.privatize(x, Gaussian(0.3))
                    mixed = (await node.exchange(x=told)).mix("x")
                    await node.exchange(again=told)
                    x = mixed - 0.5 * await node.gradient(x)
                    node.estimate(x)

        view = ran(Twice(), Adversary()).views[0]
        rows = tuple(r for r in view.transcript if "again" in r.values)
        both, second = probe_network(view), probe_network(replace(view, transcript=Transcript(rows, 1)))
        assert second.seen == both.seen
        for i in both.seen:
            np.testing.assert_allclose(second.agents[i].stddev[:4], both.agents[i].stddev[:4], rtol=1e-9)
            np.testing.assert_allclose(second.agents[i].gradients[:4], both.agents[i].gradients[:4], atol=1e-9)


class TestAgainstTheProbeOfOneAgent:
    @pytest.mark.few(2)
    @pytest.mark.parametrize("algorithm", [
        Noisy(6, 0.3), Summed(6, 0.3), Proximal(0.2), Shifted(), Shifted(hidden=True),
        GradientTracking(6, 0.02), DiaDSP(20, 0.02, 1.0, 1.0, 0.4),
    ], ids=lambda a: type(a).__name__)  # fmt: skip
    def test_the_same_estimates_and_the_same_covariance(self, algorithm):
        run = ran(algorithm, Adversary("door", links=(), nodes=(1,)), replicas=3)
        alone, together = probed(run.views[0], 1), probe_network(run.views[0]).agents[1]
        kept = np.flatnonzero(alone.identifiable)
        assert kept.size
        assert np.array_equal(kept, np.flatnonzero(together.identifiable[: len(alone.identifiable)]))
        np.testing.assert_allclose(together.gradients[kept], alone.gradients[kept], rtol=1e-7, atol=1e-8)
        both = np.ix_(kept, kept)
        np.testing.assert_allclose(together.covariance[both], alone.covariance[both], rtol=1e-7, atol=1e-14)
        np.testing.assert_allclose(together.points[kept], alone.points[kept], atol=1e-9)


def test_nobody_is_seen_where_nothing_was_heard():
    run = ran(PrivateGradientDescent(4, step(0.05)), Adversary(links=()))
    found = probe_network(run.views[0])
    assert found.identified == found.rank == 0
    assert evidence_in(found) == []
    assert {row.hops for row in found.visibility()} == {None}


def test_arrays_that_fit_the_runs_own_dimension_only():
    """Each coordinate has a factor of its own: maps of their own, and found all the same."""

    @dataclass(frozen=True)
    class Scaled(Algorithm):
        rounds: int = 4

        async def run(self, node: Node) -> None:
            x, factors = node.zeros(), np.array([1.0, 2.0, 3.0, 4.0])
            for _ in range(self.rounds):
                heard = await node.exchange(x=x)
                x = heard.mix("x") - factors * await node.gradient(x)
                node.estimate(x)

    run = ran(Scaled())
    found = probe_network(run.views[0])
    assert found.seen
    assert worst(found, run) < 1e-8


def from_the_end():
    """A path of 20 from an insider at its end: what is farther away is less exact."""
    end = Adversary(insiders=(0,))
    return run_script(drawn(20, 40, constant=True), topology.path(20), PrivateGradientDescent(40, Step(0.05)), end)


def test_rounding_goes_with_the_evidence_and_counts_in_the_deviation_of_estimates():
    run = from_the_end()
    found, truth = probe_network(run.views[0], gradients=Constant()), given(run)
    evidence = {e.agent: e for e in evidence_in(found)}
    for i, one in evidence.items():
        known = list(one.queries)
        assert one.rounding is not None
        np.testing.assert_array_equal(one.rounding, found.agents[i].rounding[known])
        assert np.all(np.abs(one.gradients - truth[i][known]).max(axis=(1, 2)) <= one.rounding)
    assert evidence[1].exact
    assert not evidence[19].exact
    found = probe_network(run.views[0], gradients=Constant())
    estimates = estimates_in(found)
    for each in estimates:
        rounding = found.agents[each.agent].rounding[each.query]
        exact = rounding <= EXACT * np.max(np.abs(each.gradient))
        assert each.stddev == (0.0 if exact else rounding)
    assert {each.stddev > 0 for each in estimates} == {True, False}
    far = [each for each in estimates if each.agent == 19]
    assert not Evidence.of(far).exact


def test_noise_above_rounding_is_stated_as_it_is():
    noisy = PrivateGradientDescent(6, Step(0.5), Geometric(0.2, 0.5))
    found = probe_network(run_script(drawn(5, 6), topology.ring(5), noisy, Adversary()).views[0])
    assert found.seen
    for each in estimates_in(found):
        victim = found.agents[each.agent]
        assert each.stddev == np.sqrt(np.mean(victim.stddev[each.query] ** 2)) > victim.rounding[each.query]
    assert not any(e.exact for e in evidence_in(found))
