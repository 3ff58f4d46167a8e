"""`evidence` of every algorithm with an inversion of its own: what `infer` returns, with covariances of its own."""

from dataclasses import replace

import numpy as np
import pytest

from attacks.inference import evidence, infer
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Cpgt, DiaDSP, Dpp2, DPRecal, PrivateGradientDescent, RandomPenaltyAdmm, Recal
from netsim.claims import Clip
from netsim.codecs import TopK
from netsim.errors import AttackError
from netsim.schedules import Constant
from netsim.settings import Recording
from netsim.simulation import Simulation
from tests.worlds import synthetic_problem

FADING = Constant(0.1)
ALGORITHMS = {
    "recal": Recal(0.5, activations=60),
    "as_analysed": DPRecal(0.5, per_agent=8, stddev=0.1, reading="as_analysed"),
    "as_deployable": DPRecal(0.5, per_agent=8, stddev=0.1),
    "fresh_noise": DPRecal(0.5, per_agent=8, stddev=0.1, reading="fresh_noise"),
    "sent_state": DPRecal(0.5, per_agent=8, stddev=0.1, reading="sent_state"),
    "dpp2": Dpp2(8, 0.3, 0.1, 1.0, scale_w=FADING, scale_e=FADING),
    "diadsp": DiaDSP(8, 0.1, 0.1, 0.1, 0.9),
    "cpgt": Cpgt(8, 0.1, 0.1, 0.1, 0.9),
    "cpgt, compressed": Cpgt(8, 0.1, 0.0, 0.0, 0.9, gamma=0.3, compressor=TopK(3)),
    "random_penalty_admm": RandomPenaltyAdmm(8),
    "descent": PrivateGradientDescent(8, Constant(0.3), FADING),
}
CORRELATED = {"fresh_noise", "diadsp", "cpgt"}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_evidence_is_what_was_inferred_with_its_covariance(name):
    problem = synthetic_problem()
    algorithm = replace(ALGORITHMS[name])
    run = Simulation(problem, topology.ring(5), algorithm, adversaries=(Adversary(),), replicas=2).run()
    view = run.views[0]
    estimates = infer(view)
    found = evidence(view)
    assert sum(f.rounds for f in found) == len(estimates) > 20
    off_diagonal = 0.0
    for one in found:
        own = [e for e in estimates if e.agent == one.agent]
        assert one.queries == tuple(e.query for e in own)
        np.testing.assert_array_equal(one.gradients, [e.gradient for e in own])
        np.testing.assert_array_equal(one.points, [e.point for e in own])
        np.testing.assert_allclose(np.sqrt(np.mean(one.stddev**2, axis=1)), [e.stddev for e in own], atol=1e-12)
        first = one.covariance[..., 0]
        np.testing.assert_allclose(first, first.T)
        assert np.linalg.eigvalsh(first).min() > -1e-9 * max(1.0, np.abs(first).max())
        off_diagonal = max(off_diagonal, np.abs(first - np.diag(np.diag(first))).max())
    assert (off_diagonal > 0) == (name in CORRELATED)


def test_what_was_clipped_is_no_evidence_of_a_gradient():
    problem = synthetic_problem()

    def ran(bound, scale):
        algorithm = PrivateGradientDescent(6, Constant(0.3), Constant(scale), clip=Clip(bound, "l2"))
        return Simulation(
            problem, topology.ring(5), algorithm, adversaries=(Adversary(),), recording=Recording(measure=False)
        ).run()

    plain = ran(1e9, 1e-6)
    sizes = np.array([[np.linalg.norm(q.gradient) for q in plain.truth.queries[i][:5]] for i in range(5)])
    for scale in (0.0, 1e-6):
        run = ran(float(np.median(sizes)), scale)
        found = evidence(run.views[0])
        assert sum(one.hidden for one in found) > 0
        for one in found:
            for t, gradient in zip(one.queries, one.gradients, strict=True):
                np.testing.assert_allclose(gradient, run.truth.queries[one.agent][t].gradient, atol=1e-4)
        with pytest.raises(AttackError, match="the clip may have acted on every gradient"):
            evidence(ran(0.5 * float(sizes.min()), scale).views[0])
