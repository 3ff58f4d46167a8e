"""Laws of the ADMM family under noise: duals that sum to zero, Walkman's token, inner problems solved."""

import numpy as np
import pytest

from netsim.algorithms import IcAdmm, RwAdmm, rw_admm
from netsim.network.links import LinkLaw
from tests.netsim.algorithms.admm_family import (
    AGENTS,
    DIMENSION,
    GRAPHS,
    MEMBERS,
    PENALTY,
    drawn_noise,
    in_rounds,
    noisy,
    problem_of,
    sent_by,
    tapped,
)
from tests.worlds import ROUGH


class TestDuals:
    """Read off each agent's optimality condition, under noise, they sum to zero in every round."""

    rounds = 25

    def sums(self, run, graph):
        """S_i at the beginning of each round, (rounds, n, d)."""
        sent = np.concatenate([np.zeros((1, AGENTS, DIMENSION)), in_rounds(run)])
        near = [list(graph.neighbors(i)) for i in range(AGENTS)]
        return np.array([[len(near[i]) * x[i] + x[near[i]].sum(axis=0) for i in range(AGENTS)] for x in sent])

    def asked(self, run):
        queries = [[(q.point[0], q.gradient[0]) for q in own] for own in run.truth.queries]
        return np.array(queries).transpose(2, 1, 0, 3)

    def judge(self, duals):
        assert np.abs(duals).max() > 0.1
        assert np.abs(duals.sum(axis=1)).max() < 1e-12 * np.abs(duals).max() * AGENTS

    @pytest.mark.parametrize("name", ["pvp", "everybody", "dvp", "r_admm", "mr_admm"])
    @pytest.mark.parametrize("graph", ["ring", "geometric"])
    def test_of_exact_rounds(self, name, graph):
        """∇f_i(x⁺) + b + 2λ_i + 2ηd_i x⁺ − ηS_i = 0."""
        problem, topology, member = problem_of("logistic"), GRAPHS[graph], MEMBERS[name]
        rounds = member.share * self.rounds
        run = tapped(problem, topology, noisy(member.make(problem, rounds), 1.0, 1.0))
        x, gradient = self.asked(run)
        b = {"pvp": 0.0, "everybody": 0.0, "dvp": 2.0}.get(name, 1.0) * drawn_noise(run, member, self.rounds)
        eta = np.full((self.rounds, AGENTS, 1), PENALTY)
        if name == "mr_admm":
            algorithm = run.simulation.algorithm
            eta = np.array([[[algorithm.eta(i, t)] for i in range(AGENTS)] for t in range(self.rounds)])
        degree = np.array(topology.degrees)[None, :, None]
        sums = self.sums(run, topology)[: rounds : member.share]
        self.judge((eta * sums - 2 * eta * degree * x - gradient - b) / 2)

    @pytest.mark.parametrize("graph", ["ring", "geometric"])
    def test_of_ic_admm(self, graph):
        problem, topology = problem_of("logistic"), GRAPHS[graph]
        run = tapped(problem, topology, noisy(IcAdmm(self.rounds, PENALTY, problem.smoothness), 1.0, 1.0))
        x, gradient = self.asked(run)
        gamma = problem.smoothness + 2 * PENALTY * np.array(topology.degrees)[None, :, None]
        sums = self.sums(run, topology)[: self.rounds - 1]
        self.judge(problem.smoothness * x[:-1] - gradient[:-1] + PENALTY * sums - gamma * x[1:])

    def test_of_dp_admm(self):
        problem, algorithm = problem_of("logistic"), MEMBERS["dp_admm"].make(problem_of("logistic"), self.rounds)
        run = tapped(problem, GRAPHS["star"], noisy(algorithm, 1.0, 1.0))
        released, gradient = self.asked(run)
        noise = drawn_noise(run, MEMBERS["dp_admm"], self.rounds)
        w = released[1:] - noise[:-1]
        center = np.concatenate([np.zeros((1, DIMENSION)), in_rounds(run)[:, 0]])[: self.rounds - 1, None]
        c, step = 0.5 + problem.smoothness, 1 / problem.smoothness
        self.judge(c * w - released[:-1] / step - 0.5 * center + gradient[:-1])

    @pytest.mark.parametrize("links", [LinkLaw(), ROUGH], ids=["ideal", "rough"])
    @pytest.mark.parametrize("graph", ["ring", "geometric"])
    def test_of_a_walk(self, graph, links, monkeypatch):
        """Read where they are kept, after the last agent was confirmed."""
        states = []

        class Seen(rw_admm._State):
            def __init__(self, *args):
                super().__init__(*args)
                states.append(self)

        monkeypatch.setattr(rw_admm, "_State", Seen)
        algorithm = noisy(RwAdmm(PENALTY, activations=101), 1.0, 1.0)
        run = tapped(problem_of("logistic"), GRAPHS[graph], algorithm, links=links)
        assert sum(run.activations) == 101
        self.judge(np.array([[state.dual[0] for state in states]]))


def test_walkmans_token_is_the_mean_of_what_agents_hold_and_all_noise():
    """u⁺ = mean_i(y_i − z_i/β) + Σ w of the activations before; a proximal step tells y⁺ and z⁺ = ∇f_i(y⁺)."""
    problem = problem_of("logistic")
    member = MEMBERS["walkman_prox"]
    run = tapped(problem, GRAPHS["geometric"], noisy(member.make(problem, 60), 0.3, 1.0))
    noise, beta = drawn_noise(run, member), run.simulation.algorithm.penalty
    held, asked = np.zeros((AGENTS, DIMENSION)), [iter(own) for own in run.truth.queries]
    for k, (i, released) in enumerate(sent_by(run)):
        query = next(asked[i])
        held[i] = query.point[0] - query.gradient[0] / beta
        np.testing.assert_allclose(released, held.mean(axis=0) + noise[: k + 1].sum(axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["pvp", "rw_admm"])
def test_inner_problems_with_l1_meet_their_tolerance(name):
    """Logistic + ridge + ℓ1: −(∇f(x) + (x − v)/s) is a subgradient of r at x to 1e-11, where v follows from what was
    sent before."""
    problem = problem_of("sparse")
    run = tapped(problem, GRAPHS["ring"], MEMBERS[name].make(problem, 40 if name == "pvp" else 200))
    weight, zeros = problem.regularizer.weight, 0
    zero, neighbors = np.zeros(DIMENSION), GRAPHS["ring"].neighbors
    states = {i: [zero, zero, dict.fromkeys(neighbors(i), zero)] for i in range(AGENTS)}
    sent = sent_by(run)
    for start in range(0, len(sent), AGENTS if name == "pvp" else 1):
        batch = sent[start : start + (AGENTS if name == "pvp" else 1)]
        for i, x in batch:
            dual, own, heard = states[i]
            force = 2 * dual + PENALTY * sum(2 * x - own - other for other in heard.values())
            slope = -(problem.objectives[i].gradient(x[None])[0] + force)
            off = np.where(x != 0, slope - weight * np.sign(x), np.maximum(np.abs(slope) - weight, 0))
            assert np.abs(off).max() < 1e-11
            zeros += int(np.sum(x == 0))
        values = dict(batch)
        touched = {tuple(sorted((i, j))) for i in values for j in states[i][2]}
        for i, x in values.items():
            states[i][1] = x
            for j in states[i][2]:
                states[j][2][i] = x
        for i, j in touched:
            apart = PENALTY / 2 * (states[i][1] - states[j][1])
            states[i][0], states[j][0] = states[i][0] + apart, states[j][0] - apart
    assert zeros > 0
