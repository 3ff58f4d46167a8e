"""Small runs of the algorithms that mix, and their oracles, for several tests."""

import numpy as np

from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Cpgt, DiaDSP, ExactDiffusion, Extra, GradientTracking, Nids, PgExtra, Ppdc
from netsim.codecs import Quantizer, TopK
from netsim.problems import build, load
from netsim.randomness import Streams, coins_of, dither_of, noise_of
from netsim.schedules import Geometric
from tests.oracles import cpgt as compressed
from tests.oracles.extra import pg_extra
from tests.oracles.gradient_tracking import adapt_then_combine, diging
from tests.oracles.nids import exact_diffusion, nids
from tests.oracles.ppdc import ppdc
from tests.worlds import simulated

AGENTS, DIMENSION = 6, 4
GRAPHS = {
    "ring": topology.ring(AGENTS),
    "complete": topology.complete(AGENTS),
    "geometric": topology.random_geometric(AGENTS, 0.55, 2),
}
SCALE, SCALE_2 = Geometric(0.3, 0.97), Geometric(0.2, 0.95)
OWN = {
    "agent_scale_x": (1.0, 2.0, 0.5, 1.0, 3.0, 1.5), "agent_scale_y": (2.0, 1.0, 1.0, 0.3, 1.0, 0.7),
    "agent_ratio": (1.0, 0.95, 1.02, 1.0, 0.85, 0.98), "start": 1.0,
}  # fmt: skip
"""Each agent's own noise, and a start that is drawn."""
ALGORITHMS = {
    "extra": lambda rounds: Extra(rounds, 0.4, scale=SCALE),
    "pg_extra": lambda rounds: PgExtra(rounds, 0.4, scale=SCALE),
    "nids": lambda rounds: Nids(rounds, 1.0, scale=SCALE),
    "exact_diffusion": lambda rounds: ExactDiffusion(rounds, 1.0, scale=SCALE),
    "diging": lambda rounds: GradientTracking(rounds, 0.1, SCALE, SCALE_2),
    "atc": lambda rounds: GradientTracking(rounds, 0.3, SCALE, SCALE_2, "atc"),
    "diadsp": lambda rounds: DiaDSP(rounds, 0.1, 0.3, 0.2, 0.95),
    "cpgt": lambda rounds: Cpgt(rounds, 0.1, 0.3, 0.2, 0.95, 0.8),
    "cpgt_top": lambda rounds: Cpgt(rounds, 0.05, 0.3, 0.2, 0.95, 0.3, TopK(2)),
    "cpgt_bits": lambda rounds: Cpgt(rounds, 0.05, 0.3, 0.2, 0.95, 0.3, Quantizer(3)),
    "diadsp_own": lambda rounds: DiaDSP(rounds, 0.1, 0.3, 0.2, 0.95, **OWN),
    "cpgt_bits_own": lambda rounds: Cpgt(rounds, 0.05, 0.3, 0.2, 0.95, 0.3, Quantizer(3), **OWN),
    "ppdc": lambda rounds: Ppdc(rounds, 0.1, 1.1, 0.9, SCALE, SCALE_2),
    "ppdc_mixing": lambda rounds: Ppdc(rounds, 0.01, 65.0, 5.0, SCALE, SCALE_2, matrix="mixing"),
}
"""Each with noise; `scaled(0.0)` is without."""
SENT = {"nids": ("s",), "exact_diffusion": ("phi",)} | dict.fromkeys(
    ("extra", "pg_extra", "ppdc", "ppdc_mixing"), ("x",)
)
"""The fields of a round's messages; of the others x and y."""
COMPRESSORS = {"cpgt_top": compressed.top(2), "cpgt_bits": compressed.b_bit(3)}
COMPRESSORS |= {"cpgt_bits_own": compressed.b_bit(3)}


def problem(kind="ridge", l1=0.0, agents=AGENTS):
    data = load(
        "synthetic", **({"kind": "regression"} if kind != "logistic" else {}), records=8 * agents,
        dimension=DIMENSION, seed=3,
    )  # fmt: skip
    return build(kind, data.split(agents), ridge=0.5, l1=l1)


def simulate(problem, graph, algorithm, *, doors=(1,), **options):
    """On a named graph, every link tapped, and a tap at some doors."""
    adversary = Adversary("ears", "all", nodes=tuple(doors))
    return simulated(problem, GRAPHS[graph], algorithm, adversaries=(adversary,), **options).run()


def noises(run):
    """What was added in each round's `privatize` calls, (calls, rounds, n, replicas, d), redrawn from the streams."""
    algorithm, n = run.simulation.algorithm, run.simulation.topology.agents
    if hasattr(algorithm, "noise_x"):
        scales = [[own(i) for i in range(n)] for own in (algorithm.noise_x, algorithm.noise_y)]
    else:
        scales = [[getattr(algorithm, name)] * n for name in algorithm.noise_fields]
    shape = (run.simulation.replicas, run.simulation.problem.dimension)
    added = np.zeros((len(scales), algorithm.rounds, n, *shape))
    streams = [noise_of(Streams(run.simulation.seed), 0, i) for i in range(n)]
    for k in range(algorithm.rounds):
        for i in range(n):
            for call, scale in enumerate(scales):
                if scale[i](k) > 0:
                    added[call, k, i] = scale[i](k) * streams[i].laplace(size=shape)
    return added


def dithers(run):
    """The uniform numbers of x and of y in each round, (2, rounds, n, replicas, d)."""
    simulation = run.simulation
    n, shape = simulation.topology.agents, (simulation.replicas, simulation.problem.dimension)
    streams = [dither_of(Streams(simulation.seed), 0, i) for i in range(n)]
    drawn = [[[s.random(shape) for s in streams] for _ in range(2)] for _ in range(simulation.algorithm.rounds)]
    return np.swapaxes(np.array(drawn), 0, 1)


def sent(run, name):
    """What every agent sent under this name, (rounds, n, replicas, d)."""
    rows = run.views[0].transcript.on_links()
    told = {(row.sender, row.number): row.values[name] for row in rows if name in row.values}
    numbers = sorted({number for _, number in told})
    return np.array([[told[i, k] for i in range(run.simulation.topology.agents)] for k in numbers])


def points(run):
    """The x of all gradient queries, (queries, n, replicas, d), and the answers."""
    asked = run.truth.queries
    x = np.array([[query.point for query in queries] for queries in asked])
    g = np.array([[query.gradient for query in queries] for queries in asked])
    return np.swapaxes(x, 0, 1), np.swapaxes(g, 0, 1)


def gradients(problem):
    """∇f_i of one point, for an oracle."""
    return [lambda x, f=f: f.gradient(x[None])[0] for f in problem.objectives]


def by_oracle(name, run, replica=0):
    """The history of the oracle of this name, with the run's noise in one replica."""
    simulation = run.simulation
    problem, algorithm, W = simulation.problem, simulation.algorithm, simulation.topology.weights
    slopes = gradients(problem)
    start = np.zeros((problem.agents, problem.dimension))
    if width := getattr(algorithm, "start", 0.0):
        streams = Streams(simulation.seed)
        start = width * np.array([coins_of(streams, i).random(problem.dimension) for i in range(problem.agents)])
    noise = noises(run)[:, :, :, replica]
    step, rounds = algorithm.step, algorithm.rounds

    def prox(v, step):
        return problem.regularizer.proximal(v[None], step)[0]

    if name == "exact_diffusion":
        return exact_diffusion(slopes, W, step, start, rounds, noise[0])
    if name in ("extra", "pg_extra", "nids"):
        return (nids if name == "nids" else pg_extra)(slopes, prox, W, step, start, rounds, noise[0])
    if name.startswith("ppdc"):  # whose L is I − W where links weigh as much as W says
        links = W - np.diag(np.diag(W)) if algorithm.matrix == "mixing" else simulation.topology.adjacency.toarray()
        return ppdc(slopes, links, step, algorithm.gamma, algorithm.omega, start, rounds, *noise)
    if name.startswith("cpgt"):
        dither = 1 - dithers(run)[:, :, :, replica]  # the codec rounds t up where u < t − ⌊t⌋, as ⌊t + 1 − u⌋ does
        compress = COMPRESSORS.get(name, compressed.identity)
        return compressed.cpgt(slopes, W, step, algorithm.gamma, compress, start, rounds, *noise, *dither)
    oracle = adapt_then_combine if name == "atc" else diging  # DiaDSP is DIGing with noise that decays
    return oracle(slopes, W, step, start, rounds, *noise)


def shifted(problem, push):
    """The point where Σ ∇f_i = push, by Newton's method."""
    x = np.zeros(problem.dimension)
    for _ in range(50):
        gradient = sum(f.gradient(x[None])[0] for f in problem.objectives) - push
        x = x - np.linalg.solve(sum(f.hessian(x) for f in problem.objectives), gradient)
    return x


def last(run):
    """Every agent's x of the last round that a gradient was asked at."""
    return points(run)[0][-1, :, 0]
