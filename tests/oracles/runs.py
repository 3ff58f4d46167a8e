"""Every oracle of whole rounds on one problem and graph, by name: what the laws are checked on.

A run takes the problem, the graph's 0/1 matrix, a number of rounds, and `draw`, a function of a shape that
gives the noise ((rounds, n, d) or (rounds, d), None: no noise). It returns the estimates that should agree with
the optimum at the end, and the duals whose sum over agents should stay zero, shape (any, n, d).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.oracles import cpgt as compressed
from tests.oracles.d_admm import d_admm
from tests.oracles.dp_admm import dp_admm
from tests.oracles.dpp2 import dpp2
from tests.oracles.extra import extra, pg_extra
from tests.oracles.gradient_tracking import adapt_then_combine, diging
from tests.oracles.ic_admm import ic_admm
from tests.oracles.nids import exact_diffusion, nids
from tests.oracles.ppdc import ppdc
from tests.oracles.quadratics import Quadratics, metropolis, walk
from tests.oracles.r_admm import mr_admm, r_admm
from tests.oracles.random_aggregators import random_penalty_admm
from tests.oracles.rw_admm import rw_admm
from tests.oracles.shapes import Array
from tests.oracles.walkman import walkman_gradient, walkman_prox

Draw = Callable[[tuple[int, ...]], Array | None]


class Case(NamedTuple):
    rounds: int
    run: Callable[[Quadratics, Array, int, Draw], tuple[Array, Array | None]]


def _extra(problem, A, rounds, draw):
    W = metropolis(A)
    step = 0.9 * (1 + np.linalg.eigvalsh(W)[0]) / problem.largest
    history = extra(problem.gradients, W, step, _zeros(problem), rounds, draw(_shape(problem, rounds)))
    return history["x"][-1], history["dual"]


def _pg_extra(problem, A, rounds, draw):
    W = metropolis(A)
    step = 0.9 * (1 + np.linalg.eigvalsh(W)[0]) / problem.largest
    noise = draw(_shape(problem, rounds))
    history = pg_extra(problem.gradients, problem.prox, W, step, _zeros(problem), rounds, noise)
    return history["x"][-1], history["dual"]


def _nids(problem, A, rounds, draw):
    noise = draw(_shape(problem, rounds))
    step = 1.8 / problem.largest
    history = nids(problem.gradients, problem.prox, metropolis(A), step, _zeros(problem), rounds, noise)
    return history["x"][-1], history["dual"]


def _exact_diffusion(problem, A, rounds, draw):
    noise = draw(_shape(problem, rounds))
    history = exact_diffusion(problem.gradients, metropolis(A), 1.8 / problem.largest, _zeros(problem), rounds, noise)
    return history["x"][-1], history["dual"]


def _diging(problem, A, rounds, draw):
    noise = draw(_shape(problem, rounds))
    return diging(problem.gradients, metropolis(A), 0.08, _zeros(problem), rounds, noise)["x"][-1], None


def _atc(problem, A, rounds, draw):
    noise = draw(_shape(problem, rounds))
    history = adapt_then_combine(problem.gradients, metropolis(A), 0.2, _zeros(problem), rounds, noise)
    return history["x"][-1], None


def _cpgt(compress):
    def run(problem, A, rounds, draw):
        shape = _shape(problem, rounds)
        dither = np.random.default_rng(8).uniform(size=(2, *shape))
        history = compressed.cpgt(
            *(problem.gradients, metropolis(A), 0.05, 0.2, compress, _zeros(problem), rounds, draw(shape)),
            dither_x=dither[0],
            dither_y=dither[1],
        )
        return history["x"][-1], None

    return run


def _ppdc(problem, A, rounds, draw):
    noise = draw(_shape(problem, rounds))
    history = ppdc(problem.gradients, A, 0.1, 1.0, 1.0, _zeros(problem), rounds, noise)
    return history["x"][-1], history["v"]


def _dpp2(problem, A, rounds, draw):
    shape = _shape(problem, rounds)
    P = np.eye(len(A)) - metropolis(A)
    etas = np.random.default_rng(6).uniform(size=rounds)
    history = dpp2(problem.gradients, P, 0.3, 0.15, 4.0, etas, _zeros(problem), draw(shape), draw(shape))
    return history["x"][-1], history["q"]


def _ic_admm(problem, A, rounds, draw):
    noise = draw(_shape(problem, rounds))
    history = ic_admm(problem.gradients, problem.prox, A, 0.3, problem.largest, _zeros(problem)[0], rounds, noise)
    return history["x"][-1], history["dual"]


def _d_admm(where):
    def run(problem, A, rounds, draw):
        noise = {where: draw(_shape(problem, rounds))}
        history = d_admm(problem.exacts, A, 0.5, _zeros(problem)[0], rounds, **noise)
        return history["x"][-1], history["dual"]

    return run


def _dp_admm(problem, A, rounds, draw):
    noise = draw(_shape(problem, rounds))
    steps = [1 / problem.largest] * rounds
    history = dp_admm(problem.gradients, problem.prox, 1.0, steps, _zeros(problem)[0], noise)
    return history["center"][-1], history["dual"]


def _r_admm(problem, A, rounds, draw):
    noise = draw(_shape(problem, rounds // 2))
    history = r_admm(problem.exacts, A, 0.5, problem.largest, _zeros(problem)[0], rounds // 2, noise)
    return history["x"][-1], history["dual"]


def _mr_admm(problem, A, rounds, draw):
    n = len(A)
    penalties = np.minimum(0.5 * 1.01 ** np.arange(rounds // 2)[:, None] * np.linspace(1, 1.5, n), 2)
    noise = draw(_shape(problem, rounds // 2))
    history = mr_admm(problem.exacts, A, penalties, 0.5, problem.largest, _zeros(problem)[0], noise)
    return history["x"][-1], history["dual"]


def _rw_admm(problem, A, rounds, draw):
    noise = draw(_shape(problem, rounds))
    history = rw_admm(problem.exacts, A, 0.5, walk(A, rounds, 3), _zeros(problem)[0], noise)
    return history["x"][-1], history["dual"]


def _walkman(version):
    def run(problem, A, rounds, draw):
        route, d = walk(A, rounds, 3), problem.b.shape[1]
        if version == "prox":
            history = walkman_prox(problem.bare_exacts, problem.prox, route, problem.largest, d, draw((rounds, d)))
        else:
            beta = 2 * problem.largest
            history = walkman_gradient(problem.gradients, problem.prox, route, beta, d, draw((rounds, d)))
        return history["x"][-1], None

    return run


def _algorithm_1(problem, A, rounds, draw):
    shape = _shape(problem, rounds)
    thetas = np.random.default_rng(5).uniform(size=shape)
    history = random_penalty_admm(problem.gradients, A, thetas, 10.0, 0.5, _zeros(problem)[0], draw(shape))
    return history["x"][-1], history["dual"]


def _shape(problem, rounds):
    return (rounds, *problem.b.shape)


def _zeros(problem):
    return np.zeros(problem.b.shape)


CASES = {
    "extra": Case(600, _extra),
    "pg_extra": Case(600, _pg_extra),
    "nids": Case(600, _nids),
    "exact_diffusion": Case(600, _exact_diffusion),
    "diging": Case(600, _diging),
    "adapt_then_combine": Case(600, _atc),
    "cpgt_top_1": Case(1500, _cpgt(compressed.top(1))),
    "cpgt_2_bits": Case(1500, _cpgt(compressed.b_bit(2))),
    "ppdc": Case(800, _ppdc),
    "dpp2": Case(700, _dpp2),
    "ic_admm": Case(600, _ic_admm),
    "d_admm_pvp": Case(400, _d_admm("noise_primal")),
    "d_admm_dvp": Case(400, _d_admm("noise_dual")),
    "dp_admm": Case(400, _dp_admm),
    "r_admm": Case(400, _r_admm),
    "mr_admm": Case(500, _mr_admm),
    "rw_admm": Case(1500, _rw_admm),
    "walkman_prox": Case(1500, _walkman("prox")),
    "walkman_gradient": Case(2500, _walkman("gradient")),
    "algorithm_1": Case(800, _algorithm_1),
}

WITH_DUALS = [
    *("extra", "pg_extra", "nids", "exact_diffusion", "ppdc", "dpp2", "ic_admm", "d_admm_pvp", "d_admm_dvp"),
    *("dp_admm", "r_admm", "mr_admm", "rw_admm", "algorithm_1"),
]
WITH_L1 = ["pg_extra", "nids", "ic_admm", "d_admm_pvp", "dp_admm", "rw_admm", "walkman_prox", "walkman_gradient"]
STAR_ONLY = ["dp_admm"]
