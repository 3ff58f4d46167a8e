"""Small encrypted networks, run and analysed."""

from attacks.score import score_traffic
from attacks.traffic import analysed
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import PrivateGradientDescent, Recal
from netsim.network.laws import ExponentialDelay, UniformDelay
from netsim.network.links import LinkLaw
from netsim.schedules import Constant
from netsim.transcript.packet_log import PacketLog
from tests.worlds import simulated, synthetic_problem

DELAY = UniformDelay(0.01, 0.03)
SEALED = LinkLaw(DELAY, encrypted=True)
ACKNOWLEDGED = LinkLaw(DELAY, encrypted=True, reliable=True)
LOSSY = LinkLaw(DELAY, encrypted=True, reliable=True, loss=0.2)
EARS = Adversary(links="all")
MISSING = Adversary(links="all", capture_loss=0.1)
WALK = Recal(0.2, 200)
ROUNDS = PrivateGradientDescent(40, Constant(0.1))
PROBLEM = synthetic_problem()
SLOW = 2


def listened(algorithm, law, adversary=EARS, **options):
    """What was found, the score, the run, and its diary; agent `SLOW` computes ten times as long as the others."""
    options = {"compute": ExponentialDelay(0.02), "compute_laws": {SLOW: ExponentialDelay(0.2)}, "seed": 3} | options
    graph = options.pop("graph", topology.ring(PROBLEM.agents))
    diary = PacketLog()
    run = simulated(PROBLEM, graph, algorithm, law, adversaries=(adversary,), **options).run(packet_log=diary)
    found = analysed(run.views[0])
    return found, score_traffic(found, run, diary), run, diary
