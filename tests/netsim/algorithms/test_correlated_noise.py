"""DECOR and Zip-DL: their oracles, what cancels, the accountant of the released code, and the law of shares."""

import math
from dataclasses import replace

import numpy as np
import pytest

from attacks.probe import message_map
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, Clip, Decor, Setting, ZipDL
from netsim.arrays import Array
from netsim.claims import Adjacency
from netsim.errors import ProtocolError
from netsim.mechanisms import Gaussian, Laplace
from netsim.node import Node
from netsim.problems import LeastSquares, Problem
from netsim.randomness import Streams, noise_of
from netsim.schedules import Constant
from netsim.settings import Recording
from netsim.simulation import Run, Simulation
from tests.oracles.correlated_noise import decor, zip_dl
from tests.oracles.shapes import Gradient

N, D, ROUNDS, STEP, SEED = 5, 3, 6, 0.2, 11
RNG = np.random.default_rng(2)
PROBLEM = Problem(tuple(LeastSquares(RNG.standard_normal((4, D)), RNG.standard_normal(4)) for _ in range(N)))
GRAPHS = (topology.ring(N), topology.star(N), topology.complete(N))
ANY = Adjacency(math.inf, "all data of one agent replaced")


def run_of(graph: topology.Topology, algorithm: Algorithm, problem: Problem = PROBLEM, replicas: int = 1) -> Run:
    tap = Adversary("everything", links="all")
    return Simulation(problem, graph, algorithm, adversaries=(tap,), seed=SEED, replicas=replicas).run()


def gradients() -> list[Gradient]:
    def of(agent: int) -> Gradient:
        return lambda x: PROBLEM.objectives[agent].gradient(x[None])[0]

    return [of(i) for i in range(N)]


def sent(run: Run, kind: str) -> dict[tuple[int, int, int], Array]:
    rows = [r for r in run.views[0].transcript if r.kind == kind]
    return {(r.sender, r.number, r.receiver): value for r in rows for value in r.values.values()}


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.name)
@pytest.mark.parametrize("seeds", ["anew", "once"])
def test_decor_is_its_oracle(graph: topology.Topology, seeds: str) -> None:
    own, shared, streams = 0.3, 1.7, Streams(SEED)
    run = run_of(graph, Decor(ROUNDS, Constant(STEP), own, shared, seeds="once" if seeds == "once" else "anew"))
    noise = [noise_of(streams, 0, i) for i in range(N)]
    xi = -own * np.array([[noise[i].standard_normal((1, D))[0] for i in range(N)] for _ in range(ROUNDS)])
    z: dict[tuple[int, int], Array] = {}
    for i, j in graph.edges:
        drawn = [
            streams.generator("edge", i, j, "noise", 0, k)
            for k in ((0,) * ROUNDS if seeds == "once" else range(ROUNDS))
        ]
        z[i, j] = -shared * np.array([one.standard_normal((1, D))[0] for one in drawn])
    _, expected = decor(gradients(), graph.weights, STEP, xi, z)
    for (i, t, _), value in sent(run, "exchange").items():
        np.testing.assert_allclose(value[0], expected[t, i], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.name)
def test_zip_dl_is_its_oracle(graph: topology.Topology) -> None:
    """Noise is read off the messages of the oracle's own run, share by share; the states that follow agree."""
    run = run_of(graph, ZipDL(ROUNDS, Constant(STEP), 1.5))
    messages = sent(run, "direct")
    noise, x = np.zeros((ROUNDS, N, N, D)), np.zeros((ROUNDS + 1, N, D))
    for t in range(ROUNDS):
        for a in range(N):
            half = x[t, a] - STEP * gradients()[a](x[t, a])
            for k, v in enumerate(graph.neighbors(a)):
                noise[t, a, v] = messages[a, t * len(graph.neighbors(a)) + k, v][0] - half
        x = np.concatenate([zip_dl(gradients(), graph.weights, STEP, noise[: t + 1])[0], x[t + 2 :]])
    _, expected = zip_dl(gradients(), graph.weights, STEP, noise)
    for (a, number, v), value in messages.items():
        np.testing.assert_allclose(value[0], expected[number // len(graph.neighbors(a)), a, v], rtol=1e-9, atol=1e-9)
    assert run.metrics is not None
    total = np.mean(x[-1], axis=0)  # Corollary 3.2: the mean over agents moves by gradients alone
    before = np.mean([x[-2, a] - STEP * gradients()[a](x[-2, a]) for a in range(N)], axis=0)
    np.testing.assert_allclose(total, before, rtol=1e-9, atol=1e-9)


def setting(n: int) -> Setting:
    return Setting(n, 10, (1.0,) * n, topology=topology.ring(n))


@pytest.mark.parametrize(
    ("sigma", "cor", "one", "epsilon"),
    [
        (19.88407227653099, 126.0, 0.0004673573255629589, 10.314984520752644),
        (20.912558773592938, 94.0, 0.0005354197027949463, 11.1637192164128),
        (22.96953176771683, 94.0, 0.0004787248702487594, 10.459689394937765),
    ],
)
def test_the_claim_is_the_released_accountant(sigma: float, cor: float, one: float, epsilon: float) -> None:
    """elfirdoussilab1/DECOR, result_gridsearch_ring_Corr_epsilon_10.csv: 16 agents, clip 1, 3,500 rounds, δ = 1e-5.

    The file's name says 10: `find_sigma_cor` (utils/plotting.py, line 274) takes ε₁ up to 1e-4 above its target.
    """
    algorithm = Decor(3500, Constant(0.001668), sigma, cor, Clip(1.0, "l2"))
    claimed = algorithm.claim(ANY, setting(16), 1e-5).epsilon
    assert claimed == pytest.approx(epsilon, rel=1e-9)
    eigenvalues = sigma**2 + cor**2 * (2 - 2 * np.cos(2 * np.pi * np.arange(16) / 16))  # of a circulant matrix
    assert 2 * np.mean(1 / eigenvalues) == pytest.approx(one, rel=1e-9)


def test_the_claim_needs_its_conditions() -> None:
    sound = Decor(4, Constant(0.1), 1.0, 2.0, Clip(1.0, "l2"))
    at = setting(6)
    base = sound.claim(ANY, at, 1e-5).epsilon
    assert base is not None
    more = replace(sound, colluders=(1, 5)).claim(ANY, at, 1e-5).epsilon  # agent 0 by itself: σ alone
    assert more == pytest.approx(4 * 2.0 + 2 * math.sqrt(4 * 2.0 * math.log(1e5)))
    assert more is not None
    assert base < more
    for broken, delta in ((replace(sound, clip=None), 1e-5), (replace(sound, stddev=0.0), 1e-5), (sound, 0.0)):
        assert broken.claim(ANY, at, delta).epsilon is None


def test_shares_have_the_law_of_the_paper() -> None:
    """Remark 3.4: in a closed neighborhood of k, weights equal, a share has variance (k − 1)/k γ²ς², and by Lemma 3.1
    noises sum to zero."""
    graph, sigma = topology.complete(4), 3.0
    run = run_of(graph, ZipDL(1, Constant(STEP), sigma), Problem(PROBLEM.objectives[:4]))
    found = message_map(run.views[0]).found
    noise = found.noise[0].toarray() * found.stddev[:, 0]
    covariance = noise[:3] @ noise[:3].T
    expected = (STEP * sigma) ** 2 * (np.eye(4) - 1 / 4)[:3, :3]
    np.testing.assert_allclose(covariance, expected, rtol=1e-12, atol=1e-15)


def test_a_view_of_dependent_messages_loses_more_than_the_sum_of_its_messages() -> None:
    """(13) of Appendix B.2 bounds what a node sees by Σ over rounds and neighbors of what each message loses alone.

    Shares of one state to d − 1 colluding neighbors (Remark 5.10): alone they lose d/(γς)² in all, together
    d(d − 1)/(γς)².
    """
    graph, sigma = topology.complete(4), 3.0
    coalition = Adversary("all neighbors", insiders=(1, 2, 3))
    everything = Adversary("everything", links="all")
    quiet = Recording(measure=False, private="nothing")
    problem = Problem(PROBLEM.objectives[:4])
    run = Simulation(
        problem, graph, ZipDL(1, Constant(STEP), sigma), adversaries=(coalition, everything), recording=quiet
    ).run()
    design, noise, _ = message_map(run.views[1]).seen_by(run.views[0])
    heard = design[:, 0] != 0
    joint = design[heard, 0] @ np.linalg.inv(noise[heard] @ noise[heard].T) @ design[heard, 0]
    alone = np.sum(design[heard, 0] ** 2 / np.sum(noise[heard] ** 2, axis=1))
    assert joint == pytest.approx(4 * 3 / sigma**2, rel=1e-9)
    assert alone == pytest.approx(4 / sigma**2, rel=1e-9)


class _Wrong(Algorithm):
    async def run(self, node: Node) -> None:
        await node.exchange(x=node.privatize(node.zeros(), Laplace(1.0), Gaussian(1.0)))


def test_shared_noise_goes_with_gaussian_noise() -> None:
    with pytest.raises(ProtocolError, match="Gaussian"):
        run_of(GRAPHS[0], _Wrong())
