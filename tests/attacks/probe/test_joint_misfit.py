"""What refutes a wrong assumption: every equation counts, also one without a coefficient or with hardly any noise."""

from dataclasses import dataclass

import numpy as np
import pytest

from attacks.probe import Basis, Constant, RandomWalk, probe_network
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, Dpp2, GradientTracking
from netsim.mechanisms import Gaussian
from netsim.node import Node
from netsim.schedules import Constant as Step
from netsim.schedules import Geometric
from tests.attacks.probe.scripted import drawn, run_script

SCALES = [(1.0, 1e-3), (100.0, 1e-5), (1.0, 1e-10), (1e-10, 1.0)]
CASES = [
    *((make, Constant(), scales) for make in ("DIGing", "DPP2") for scales in SCALES),
    *((make, model, SCALES[-1]) for make in ("DIGing", "DPP2") for model in (Basis(1, 2), RandomWalk(1e-4))),
]


@dataclass(frozen=True)
class Echoed(Algorithm):
    """What is sent holds no gradient after the first round; the same hidden noise is in two fields."""

    spread: float = 0.1
    rounds: int = 6

    async def run(self, node: Node) -> None:
        before = node.zeros()
        for _ in range(self.rounds):
            now = await node.gradient(before)
            noise = node.privatize(node.zeros(), Gaussian(self.spread))
            await node.exchange(one=now - before + noise, two=2.0 * noise)
            before = now
            node.estimate(now)


def found(algorithm, *, constant, assumption=None, replicas=1):
    scripts = drawn(4, algorithm.rounds + 1, constant=constant)
    run = run_script(scripts, topology.path(4), algorithm, Adversary(), replicas=replicas)
    return probe_network(run.views[0], gradients=assumption or Constant())


def test_equations_without_a_coefficient_count_in_the_residual():
    """In DIGing constant gradients cancel out of everything that is sent after the first y."""
    assert found(GradientTracking(12, 0.02), constant=True).residual < 1e-13
    assert found(GradientTracking(12, 0.02), constant=False).residual > 1e-2


def test_equations_without_a_coefficient_count_in_the_misfit():
    noisy = GradientTracking(12, 0.02, Step(0.01), Step(0.01))
    right, wrong = (found(noisy, constant=constant, replicas=30) for constant in (True, False))
    assert right.degrees == wrong.degrees == right.equations - 4
    assert right.misfit == pytest.approx(1, abs=0.2)
    assert wrong.misfit > 100


def test_noise_that_equations_without_a_coefficient_share_cancels():
    right, wrong = (found(Echoed(), constant=constant) for constant in (True, False))
    assert right.residual < 1e-13
    assert wrong.residual > 1e-2


MAKE = {
    "DIGing": lambda x, y: GradientTracking(12, 0.02, Step(x), Step(y)),
    "DPP2": lambda x, y: Dpp2(12, step=0.1, beta=0.02, rho=0.5, scale_w=Step(x), scale_e=Step(y)),
}


@pytest.mark.few(1)
@pytest.mark.parametrize(("make", "assumption", "scales"), CASES, ids=repr)
def test_each_equation_is_judged_by_its_own_noise(make, assumption, scales):
    """However much larger that of others is: a wrong assumption does not hide behind it, and a right one passes."""
    right = found(MAKE[make](*scales), constant=True, assumption=assumption, replicas=30)
    assert 0.3 < right.misfit < 1.2
    assert right.residual < 1e-11
    wrong = found(MAKE[make](*scales), constant=False, assumption=assumption)
    assert wrong.misfit > 100
    assert np.isclose(wrong.degrees, right.degrees, rtol=0.02)


def test_rounding_that_exceeds_a_row_s_noise_refutes_nothing():
    """Noise that falls to 1e-15 of the first, hidden and shared: an estimate magnifies what rounding makes of it."""
    noisy = GradientTracking(40, 0.02, Geometric(1.0, 0.6), Geometric(1e-6, 0.6))
    scripts = drawn(10, 41, constant=True)
    run = run_script(scripts, topology.path(10), noisy, Adversary(insiders=(0,)), replicas=5)
    right = probe_network(run.views[0], gradients=Constant())
    assert 0.3 < right.misfit < 1.5
    assert right.residual < 1e-10
