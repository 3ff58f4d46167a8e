"""Random encrypted networks, drawn by a seed, and what a traffic analysis states of them that is not so."""

import random
from dataclasses import dataclass, field

from attacks.score import computing_times, score_traffic
from attacks.traffic import Sealed, analysed
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, DPRecal, GradientTracking, PrivateGradientDescent, Recal
from netsim.errors import AttackError
from netsim.network.laws import ConstantDelay, ExponentialDelay, LognormalDelay, UniformDelay
from netsim.network.links import LinkLaw
from netsim.schedules import Constant
from netsim.settings import NetworkSettings, Timing
from netsim.simulation import Run, Simulation
from netsim.transcript.packet_log import PacketLog
from tests.worlds import synthetic_problem

PROBLEMS = {agents: synthetic_problem(agents, 6, 4) for agents in range(2, 7)}
COMPUTES = (
    None, ConstantDelay(0.01), ConstantDelay(0.02), ConstantDelay(0.05), ExponentialDelay(0.01),
    ExponentialDelay(0.05), UniformDelay(0.0, 0.05),
)  # fmt: skip
DELAYS = (
    ConstantDelay(0.0), ConstantDelay(0.01), ConstantDelay(0.02), UniformDelay(0.0, 0.05), UniformDelay(0.01, 0.03),
    ExponentialDelay(0.02), LognormalDelay(0.02, 1.0),
)  # fmt: skip
TIMEOUTS = (None, None, 0.01, 0.02, 0.04, 0.05, 0.1)
"""Seconds: shorter than a packet travels, equal to what computing takes, and longer than there and back."""


@dataclass(frozen=True)
class Faults:
    """Statements that are wrong (`certain`), and of the ones that hold at 95 % how many missed of how many."""

    certain: list[str] = field(default_factory=list)
    chances: list[bool] = field(default_factory=list)


def drawn(seed: int) -> Simulation:
    """A network, an algorithm and a tap; the same of a seed every time."""
    rng = random.Random(seed)
    agents = rng.randint(2, 6)
    problem = PROBLEMS[agents]
    law = LinkLaw(
        rng.choice(DELAYS), loss=rng.choice((0.0, 0.0, 0.1, 0.3, 0.6)),
        bandwidth=rng.choice((None, None, None, 1e4, 1e5)), reliable=rng.random() < 0.85,
        timeout=rng.choice(TIMEOUTS), duplication=rng.choice((0.0, 0.0, 0.3)), reordering=rng.random() < 0.1,
        encrypted=rng.random() < 0.6,
    )  # fmt: skip
    if not law.reliable:
        law = LinkLaw(law.delay, bandwidth=law.bandwidth, encrypted=True)
    links = "all" if rng.random() < 0.85 else ((0, 1),)
    tap = Adversary(
        links=links, capture_loss=rng.choice((0.0, 0.0, 0.0, 0.1, 0.4)), start=rng.choice((0.0,) * 6 + (0.1,))
    )
    compute = rng.choice(COMPUTES)
    return Simulation(
        problem, _graph(rng, agents), _algorithm(rng), NetworkSettings(law), adversaries=(tap,), seed=seed,
        timing=Timing(compute=compute, compute_laws={0: ExponentialDelay(0.2)} if rng.random() < 0.3 else {}),
    )  # fmt: skip


def degenerate(seed: int) -> Simulation:
    """Times that coincide: constant ones, of which the timeout is a small multiple or none."""
    rng = random.Random(seed)
    agents = rng.randint(2, 6)
    timeout = rng.choice((0.01, 0.02, 0.03, 0.05, None))
    law = LinkLaw(
        ConstantDelay(rng.choice((0.0, 0.0, 0.01, 0.02))), loss=rng.choice((0.05, 0.1, 0.3, 0.6)), reliable=True,
        timeout=timeout, encrypted=True,
    )  # fmt: skip
    compute = rng.choice((None, ConstantDelay(0.01), ConstantDelay(0.02), ConstantDelay(timeout or 0.001)))
    kind = rng.randrange(4)
    rounds = rng.choice((1, 2, 3, 5, 20, 100))
    algorithm = Recal(0.2, rng.choice((3, 10, 60))) if kind == 0 else PrivateGradientDescent(rounds, Constant(0.1))
    if kind == 1:
        algorithm = GradientTracking(min(rounds, 20), 0.05)
    return Simulation(
        PROBLEMS[agents], _graph(rng, agents), algorithm, NetworkSettings(law), adversaries=(Adversary(links="all"),),
        seed=seed,
        timing=Timing(compute=compute, compute_laws={0: ExponentialDelay(0.2)} if rng.random() < 0.1 else {}),
    )  # fmt: skip


def _graph(rng: random.Random, agents: int) -> topology.Topology:
    if agents < 3:
        return topology.path(agents)
    builders = (topology.ring, topology.complete, topology.path, topology.star)
    return rng.choice(builders)(agents)


def _algorithm(rng: random.Random) -> Algorithm:
    kind = rng.randrange(5)
    if kind == 0:
        return Recal(0.2, rng.choice((3, 10, 60)))
    if kind == 1:
        return DPRecal(0.2, per_agent=rng.choice((1, 3, 10)), stddev=0.1)
    if kind == 4:
        return GradientTracking(rng.choice((2, 10)), 0.05)
    return PrivateGradientDescent(rng.choice((1, 2, 5, 20)), Constant(0.1))


def analysed_world(simulation: Simulation) -> tuple[Sealed | None, Run, PacketLog]:
    """The run, its diary, and what was found; None where all was refused."""
    diary = PacketLog()
    run = simulation.run(packet_log=diary)
    try:
        return analysed(run.views[0]), run, diary
    except AttackError:
        return None, run, diary


def faults(found: Sealed, run: Run, diary: PacketLog) -> Faults:
    """What was said against what was."""
    wrong = Faults()
    adversary = run.views[0].adversary
    sure = not adversary.capture_loss
    score = score_traffic(found, run, diary)
    if score.events_wrong:
        wrong.certain.append(f"events wrong {score.events_wrong}")
    if found.activity.complete and score.events_found < score.events:
        wrong.certain.append("complete, and is not")
    if any(b[0] < a[0] for a, b in zip(found.activity.events, found.activity.events[1:], strict=False)):
        wrong.certain.append("events out of order")
    for i, one in enumerate(found.activity.counts):
        _check(wrong, f"count {i}", one, run.activations[i], sure)
    truth = computing_times(run)
    for i, one in enumerate(found.computing.means):
        if one is not None and truth[i] is not None:
            _check(wrong, f"computing ({found.computing.kind}) {i}", one, truth[i], False)
    for i, j in found.computing.slower:
        if (truth[i] or 0.0) <= (truth[j] or 0.0):
            wrong.chances.append(False)
    for name, counts in (("repeated", found.links.repeated), ("lost", found.links.lost)):
        for edge, one in counts.items():
            true = getattr(diary.links[edge], name)
            _check(wrong, f"{name} {edge}", one, true, sure or name == "lost")
    if not found.dimension.refused and not found.dimension.low <= score.dimension <= found.dimension.high:
        wrong.certain.append("dimension")
    return wrong


def _check(wrong: Faults, what: str, one, true: float, sure: bool) -> None:
    crossed = one.low > one.high or one.low < 0 or (one.value is not None and not one.low <= one.value <= one.high)
    if crossed:
        wrong.certain.append(f"{what}: {tuple(one)} is no interval")
    elif not one.holds(true) and (sure or one.exact):
        wrong.certain.append(f"{what}: {tuple(one)}, true {true}")
    elif not sure and not one.exact:
        wrong.chances.append(one.holds(true))
