"""The pair that is audited where coins are secret costs what the worst one costs, by a count of all histories."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats

from attacks.audit.loss.secret_coins import price_of_secret
from scenarios.build.duration import Silent
from scenarios.build.experiment import Experiment
from scenarios.schema.scenario import Scenario
from scenarios.stages import hidden_values
from scenarios.stages.coin_kinds import CoinKinds
from scenarios.stages.secret_pair import audited_pair
from scenarios.stages.worlds import AuditOptions, audited, holding, worlds

RECORDS, CLIP, SCALE = 8, 1.0, 2.0
CODE = """
from dataclasses import dataclass

from netsim.algorithms import Algorithm, Clip
from netsim.mechanisms import Laplace
from netsim.node import choose, subset


@dataclass(frozen=True)
class {name}(Algorithm):
    rounds: int = {rounds}
    scale: float = {scale}

    async def run(self, node):
        x, coins = node.zeros(), node.coins
{before}
        for t in range(self.rounds):
            g = node.zeros()
            for k, weight in {asked}:
                g = g + weight * Clip({clip}, "l1")(await node.gradient(x, [k]))
            x = (await node.exchange(x=node.privatize(g, Laplace(self.scale)))).mix("x")
            node.estimate(x)
"""


def weights(*asked):
    """How much each record counts, where these are asked, (record, weight)."""
    found = np.zeros(RECORDS)
    for record, weight in asked:
        found[record] += weight
    return found


def each(*ways):
    """Histories of the same chance."""
    return [(1 / len(ways), way) for way in ways]


def worst(histories):
    """ε of the worst pair: of which record differs, and on which side of its clip each other record is. Along one
    coordinate, and far out, a history adds p e^(Σ weight · gradient/scale) to the density."""
    chances, counts = np.array([p for p, _ in histories]), np.array([one for _, one in histories])
    found = 0.0
    for sides in itertools.product((-CLIP, CLIP), repeat=RECORDS):
        there = chances * np.exp(counts @ np.array(sides) / SCALE)
        for record in np.flatnonzero(np.array(sides) > 0):
            here = there * np.exp(-2 * CLIP * counts[:, record] / SCALE)
            found = max(found, math.log(np.sum(there) / np.sum(here)))
    return found


ONES = [weights((k, 1)) for k in range(RECORDS)]
ODDS = [0.4] + [0.6 / 7] * 7
ALGORITHMS = {
    "OneOfAll": ("", "[(choose(coins, range(node.records)), 1)]", 1, each(*ONES)),
    "Reused": ("k = choose(coins, range(8))", "[(k, 1)]", 3, each(*(3 * one for one in ONES))),
    "TwoDraws": (
        "",
        "[(choose(coins, range(8)), 1), (choose(coins, range(8)), 1)]",
        1,
        each(*(one + other for one in ONES for other in ONES)),
    ),
    "Neighbors": (
        "k = int(coins.integers(7))",
        "[(k, 1), (k + 1, 1)]",
        1,
        each(*(weights((k, 1), (k + 1, 1)) for k in range(7))),
    ),
    "Window": (
        "k = int(coins.integers(6))",
        "[(k, 1), (k + 1, 1), (k + 2, 1)]",
        1,
        each(*(weights((k, 1), (k + 1, 1), (k + 2, 1)) for k in range(6))),
    ),
    "Odds": ("k = int(coins.choice(8, p=[0.4] + [0.6 / 7] * 7))", "[(k, 1)]", 1, list(zip(ODDS, ONES, strict=True))),
    "OneCountsMore": (
        "k = int(coins.integers(8))",
        "[(k, 3 if k == 5 else 1)]",
        1,
        each(*(weights((k, 3 if k == 5 else 1)) for k in range(8))),
    ),
    "ByPlace": (
        "i, j = subset(coins, 8, 2)",
        "[(i, 2), (j, 1)]",
        1,
        each(*(weights((i, 2), (j, 1)) for i, j in itertools.combinations(range(8), 2))),
    ),
}


BY_HAND = """
from dataclasses import dataclass

import numpy as np

from netsim.algorithms import Algorithm
from netsim.mechanisms import Laplace
from netsim.node import choose, subset


@dataclass(frozen=True)
class {name}(Algorithm):
    rounds: int = 1

    async def run(self, node):
        coins, made, x = node.coins, [], node.zeros()

        async def asked(k):
            return np.clip(await node.gradient(x, [k]), -1.0, 1.0)

{body}
        node.broadcast(**{{f"x{{k}}": node.privatize(g, Laplace(scale)) for k, (g, scale) in enumerate(made)}})
        node.estimate(x)
"""
"""Code that does more than to add clipped gradients, of one coordinate: by name what it does, the scales of its
noise, and for each history its probability and what it releases of the gradients, clipped (records,)."""
SIGNS = -1.0, 1.0
TRIPLES = (0, 1, 4), (2, 3, 4), (0, 3, 4), (1, 2, 4)
OTHER_CODE = {
    "SecretSign": (
        """
        g = await asked(choose(coins, range(4)))
        made = [(g, 2.0), (choose(coins, (-1.0, 1.0)) * g, 0.8)]
        """,
        (2.0, 0.8),
        [(1 / 8, lambda g, k=k, sign=sign: (g[k], sign * g[k])) for k in range(4) for sign in SIGNS],
    ),
    "ClippedSum": (
        """
        some, first = list(subset(coins, 6, 3)), choose(coins, range(3))
        total = node.zeros()
        for k in some[first:] + some[:first]:
            total = total + await asked(k)
        made = [(np.clip(total, -1.0, 1.0), 0.5)]
        """,
        (0.5,),
        [
            (1 / 20, lambda g, some=list(some): (np.clip(sum(g[some]), -1, 1),))
            for some in itertools.combinations(range(6), 3)
        ],
    ),
    "SecondLargest": (
        """
        some = np.stack([await asked(k) for k in subset(coins, 6, 4)])
        made = [(np.sort(some, axis=0)[-2], 1.0)]
        """,
        (1.0,),
        [
            (1 / 15, lambda g, some=list(some): (np.sort(g[some])[-2],))
            for some in itertools.combinations(range(6), 4)
        ],
    ),
    "MedianAndOne": (
        """
        made = [(await asked(choose(coins, range(5))), 4.0)]
        some = [(0, 1, 4), (2, 3, 4), (0, 3, 4), (1, 2, 4)][choose(coins, range(4))]
        made += [(np.median(np.stack([await asked(k) for k in some]), axis=0), 1.0)]
        """,
        (4.0, 1.0),
        [(1 / 20, lambda g, k=k, some=list(some): (g[k], np.median(g[some]))) for k in range(5) for some in TRIPLES],
    ),
    "FallsAgain": (
        """
        g = await node.gradient(x, [choose(coins, range(6))])
        made = [(2 * g / (1 + g**2), 2.0)]
        """,
        (2.0,),
        [(1 / 6, lambda g, k=k: (g[k],)) for k in range(6)],
    ),
    "OnceOrTwice": (
        """
        made = [(await asked(choose(coins, range(6))), 2.0)] * choose(coins, (1, 2))
        """,
        (2.0, 2.0),
        [(1 / 12, lambda g, k=k, times=times: (g[k],) * times) for k in range(6) for times in (1, 2)],
    ),
    "TwiceOrNothing": (
        """
        made = [(await asked(choose(coins, range(6))), 2.0) for _ in range(choose(coins, (0, 2)))]
        """,
        (2.0, 2.0),
        [(1 / 72, lambda g, one=one, two=two: (g[one], g[two])) for one in range(6) for two in range(6)],
    ),
    "AlikeAmongOthers": (
        """
        i, j = choose(coins, [(0, 1), (0, 2), (1, 2)])
        one, two = await asked(i), await asked(j)
        made = [(choose(coins, (-1.0, 1.0)) * one, 1.0), (np.clip(one + two, -1.0, 1.0), 0.5)]
        """,
        (1.0, 0.5),
        [
            (1 / 6, lambda g, i=i, j=j, sign=sign: (sign * g[i], np.clip(g[i] + g[j], -1, 1)))
            for i, j in [(0, 1), (0, 2), (1, 2)]
            for sign in SIGNS
        ],
    ),
    "MedianAtTwo": (
        """
        some = np.stack([await asked(k) for k in subset(coins, 6 if node.id != 2 else 4, 3)])
        made = [(np.median(some, axis=0), 2.0)]
        """,
        (2.0,),
        [(1 / 4, lambda g, some=list(some): (np.median(g[some]),)) for some in itertools.combinations(range(4), 3)],
    ),
    "MedianAtZero": (
        """
        if node.id == 0:
            some = np.stack([await asked(k) for k in range(5)])
            made = [(choose(coins, (-1.0, 1.0)) * np.median(some, axis=0), 0.6)]
        else:
            made = [(await asked(choose(coins, range(8))) * choose(coins, (0, 0, 0, 1)), 0.5)]
        """,
        (0.6,),
        [(1 / 2, lambda g, sign=sign: (sign * np.median(g[:5]),)) for sign in SIGNS],
    ),
    "AgentTwo": (
        """
        made = [(await asked(choose(coins, range(8 if node.id != 2 else 2))), 2.0)]
        """,
        (2.0,),
        [(1 / 2, lambda g, k=k: (g[k],)) for k in range(2)],
    ),
}

OF_ONE_AGENT = "AgentTwo", "MedianAtTwo", "MedianAtZero"


def worst_of(scales, histories, records):
    """ε of the worst pair where each gradient, clipped, is −1, 0 or 1: a mixture of Laplace laws is most likely,
    relative to another, where one of its numbers bends, or far out. How many there are is seen."""
    kinds = {}
    for one in histories:
        kinds.setdefault(len(one[1](np.zeros(records))), []).append(one)
    if len(kinds) > 1:
        return max(worst_of(scales[:count], some, records) for count, some in kinds.items())
    logs, found = np.log([chance for chance, _ in histories]), 0.0
    for others in itertools.product((-1.0, 0.0, 1.0), repeat=records):
        for record in np.flatnonzero(np.array(others) == 0.0):  # the same for whatever is there
            worlds = [np.where(np.arange(records) == record, end, others) for end in (-1.0, 0.0, 1.0)]
            means = np.array([[made(world) for _, made in histories] for world in worlds])  # world, history, number
            each = [np.unique(means[..., k]) for k in range(len(scales))]
            points = np.array([*itertools.product(*each)])
            far = np.sum(np.abs(points[:, None, None] - means) / scales, axis=-1)
            densities = np.logaddexp.reduce(logs - far, axis=-1)
            found = max(found, float(np.max(np.ptp(densities, axis=1))))
    return found


def code_of(name):
    before, asked, rounds, _ = ALGORITHMS[name]
    return CODE.format(name=name, before=f"        {before}", asked=asked, rounds=rounds, scale=SCALE, clip=CLIP)


def made(folder, name, code=None, records=3 * RECORDS, claimed=1.0, dimension=4, delta=0.0, **audit):
    path = folder / "mine.py"
    path.write_text(code or code_of(name))
    stated = {} if claimed is None else {"claim": {"epsilon": claimed, "delta": delta}}
    tree = {
        "name": "own",
        "problem": {"kind": "logistic", "ridge": 0.5}
        | {"data": {"name": "synthetic", "records": records, "dimension": dimension, "seed": 3, "norm_bound": 1.0}},
        "topology": {"kind": "complete", "agents": 3},
        "algorithms": [{"kind": "python", "path": f"{path}:{name}"} | stated],
        "attacks": {"gradients": False},
        "audit": {"trials": 50, "search": {"candidates": 8, "transcripts": 4}} | audit,
    }
    experiment = Experiment.of(Scenario.model_validate(tree))
    return experiment, experiment.subjects[0]


UNCLIPPED = """
import math
from dataclasses import dataclass

from netsim.algorithms import Algorithm
from netsim.claims import Claim
from netsim.mechanisms import Laplace
from netsim.node import choose


@dataclass(frozen=True)
class Unclipped(Algorithm):
    rounds: int = 1

    async def run(self, node):
        g = await node.gradient(node.zeros(), [choose(node.coins, range(8))])
        await node.exchange(x=node.privatize(g, Laplace(2.0)))
        node.estimate(g)

    def claim(self, adjacency, setting, delta):
        cost = 8 * adjacency.in_norm("l1", setting.dimension) / 2.0
        return Claim(math.log(7 / 8 + math.exp(cost) / 8), 0.0, "amplified", adjacency, "l1")
"""


def searched(experiment, subject, rounds, of_any=True):
    """The pair, and what it costs at least for who does not know the coins."""
    pair, epsilon = found(experiment, subject, rounds, of_any)
    assert pair.of_all_records
    return pair, epsilon


def found(experiment, subject, rounds=1, of_any=True):
    """As `searched`, of any pair."""
    claim = subject.simulation.claim(experiment.adjacency, rounds, 0.0)
    pair, search = audited_pair(experiment, subject, claim, rounds, Silent())
    assert pair.any_change is search.winner.any_change is of_any
    assert pair.description.startswith(search.winner.description)
    zero, other = pair.hypotheses
    simulate = worlds(holding(subject.simulation, pair.agent, zero), pair.agent, other, 1)
    return pair, price_of_secret(simulate, pair.agent, pair.hypotheses, 0.0, 0.95).epsilon.lower


@pytest.mark.few(4)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_pair_costs_most_of_all_for_who_does_not_know_the_coins(tmp_path, name):
    rounds, histories = ALGORITHMS[name][2:]
    _, epsilon = searched(*made(tmp_path, name, agent=0), rounds)
    np.testing.assert_allclose(epsilon, worst(histories), rtol=1e-4)


@pytest.mark.few(5)
@pytest.mark.parametrize("name", OTHER_CODE)
def test_code_that_does_more_than_to_add_costs_what_it_costs_at_all_histories_together(tmp_path, name):
    body, scales, histories = OTHER_CODE[name]
    code, agent = BY_HAND.format(name=name, body=body.strip("\n")), None if name in OF_ONE_AGENT else 0
    _, epsilon = searched(*made(tmp_path, name, code, dimension=1, agent=agent), 1)
    truth = worst_of(scales, histories, 6)
    np.testing.assert_allclose(epsilon, truth, rtol=0.06 if name == "SecretSign" else 1e-4)  # seen among noisy points


def test_the_pair_is_of_the_agent_with_the_fewest_records(tmp_path):
    """Of agents with 7, 7 and 6 records: of those each is asked most often."""
    experiment, subject = made(tmp_path, "OneOfAll", records=20)
    pair, epsilon = searched(experiment, subject, 1)
    assert experiment.problem.records[pair.agent] == 6
    np.testing.assert_allclose(epsilon, math.log(5 / 6 + math.exp(2 * CLIP / SCALE) / 6), rtol=1e-4)


def test_kinds_of_an_agents_coins_are_found_once(tmp_path, monkeypatch):
    experiment, subject = made(tmp_path, "OneOfAll")
    looked, of = list[int](), CoinKinds.of
    monkeypatch.setattr(CoinKinds, "of", lambda simulation, agent: looked.append(agent) or of(simulation, agent))
    claim = subject.simulation.claim(experiment.adjacency, 1, 0.0)
    audited_pair(experiment, subject, claim, 1, Silent())
    assert sorted(looked) == [0, 1, 2]


WHOLE = {
    "agent": {"adjacency": "agent", "agent": 0},
    "change": {"adjacency": {"change": 2.0, "norm": "l1"}, "agent": 0},
    "one record": {"records": 3},
}
"""Where all of a gradient may differ: no other record hides what one does."""


@pytest.mark.parametrize("options", WHOLE)
def test_all_of_a_gradient_costs_what_it_costs_at_all_histories_together(tmp_path, options):
    """Opposite answers cost most at each toss, and look alike where their sign is tossed."""
    body = """
        g = np.clip(await node.gradient(x), -1.0, 1.0)
        made = [(g, 4.0), (np.maximum(choose(coins, (-1.0, 1.0)) * g, 0.0), 0.5)]
"""
    code = BY_HAND.format(name="OneSide", body=body.strip("\n"))
    experiment, subject = made(tmp_path, "OneSide", code, dimension=1, **WHOLE[options])
    pair, epsilon = found(experiment, subject, of_any=options != "change")
    truth = worst_of((4.0, 0.5), [(1 / 2, lambda g, s=s: (g[0], max(s * g[0], 0.0))) for s in SIGNS], 1)
    np.testing.assert_allclose(epsilon, truth, rtol=1e-4)
    assert pair.change_used == pytest.approx(0.5 if options == "change" else 1.0)


def test_a_stated_change_costs_most_about_a_large_gradient(tmp_path):
    """An answer or nothing: where the answer is large, it is seen which, and all of the change."""
    body = "        g = await node.gradient(x)\n        made = [(choose(coins, (0.0, 1.0)) * g, 1.0)]"
    code = BY_HAND.format(name="OnOff", body=body)
    change = {"adjacency": {"change": 1.0, "norm": "l1"}, "agent": 0}
    pair, epsilon = found(*made(tmp_path, "OnOff", code, dimension=1, **change), of_any=False)
    np.testing.assert_allclose(epsilon, 1.0, rtol=1e-4)
    assert pair.change_used <= 1 + 1e-9
    one, two = (world.gradient(np.zeros((1, 1)))[0] for world in pair.hypotheses)
    assert np.sum(np.abs(two - one)) <= 1 + 1e-9


@pytest.mark.parametrize("name", ["Seldom", "Mixed"])
def test_the_gradient_goes_along_the_coordinate_that_costs_most(tmp_path, name):
    """At one toss all cost the same, be they chosen seldom or their signs tossed."""
    matrix, truth = {
        "Seldom": ("np.diag(np.eye(3)[choose(coins, (2, 2, 2, 1))])", math.log((3 * math.e + 1) / (3 / math.e + 1))),
        "Mixed": ("np.diag([*choose(coins, [(1.0, 0.0), (-1.0, 0.0)]), 1.0])", 2.0),
    }[name]
    body = f"""
        g = await node.gradient(x)
        g = g / np.maximum(1.0, np.sum(np.abs(g), axis=-1, keepdims=True))
        made = [(g @ {matrix}, 1.0)]
"""
    code = BY_HAND.format(name=name, body=body.strip("\n"))
    _, epsilon = searched(*made(tmp_path, name, code, dimension=3, agent=0), 1)
    np.testing.assert_allclose(epsilon, truth, rtol=1e-4)


APART = {
    "Announced": (
        """
        sign = choose(coins, (-1.0, 1.0))
        node.broadcast(sign=x + sign)
        made = [(sign * np.tanh(await node.gradient(x)), 1.0)]
        """,
        2.0,
    ),
    "RareSign": (
        """
        g = await node.gradient(x)
        rare = choose(coins, range(30)) == 7
        node.broadcast(**{"rare" if rare else "often": x})
        sign = choose(coins, (-1.0, 1.0)) if rare else 1.0
        made = [(sign * np.clip(g, -1.0, 1.0), 0.5)] if rare else [(np.clip(g, -1.0, 1.0), 20.0)] * 3
        """,
        2.0,
    ),
    "OtherReceiver": (
        """
        g, to = np.clip(await node.gradient(x), -1.0, 1.0), choose(coins, (0, 1))
        node.send(node.neighbors[to], hello=x)
        made = [(g, 6.0)] if to == 1 else [(choose(coins, (-1.0, 1.0)) * g, 0.5)]
        """,
        2.0,
    ),
}
"""Code of whose histories some are seen apart by more than by what they release; and what the worst pair costs."""


@pytest.mark.parametrize("name", APART)
def test_a_pair_costs_most_in_the_histories_that_are_seen_apart(tmp_path, name):
    body, truth = APART[name]
    code = BY_HAND.format(name=name, body=body.strip("\n"))
    _, epsilon = found(*made(tmp_path, name, code, dimension=1, agent=0, adjacency="agent"))
    np.testing.assert_allclose(epsilon, truth, rtol=1e-4)


GAUSSIAN = {
    "KindsTogether": (
        """
        g = g / np.maximum(1.0, np.linalg.norm(g, axis=-1, keepdims=True))
        right = 0
        for _ in range(2):
            to = choose(coins, (0, 1))
            right += to
            node.send(node.neighbors[to], x=node.privatize(g * np.array([[1.0, 0.0]]), Gaussian(2.1757)))
        made = [(g * np.array([[0.0, float(right == 2)]]), 1.1765)]
        """,
        0.1,
        "l2",
        [(3 / 4, [np.diag([0.65, 0.0])]), (1 / 4, [np.diag([0.65, 0.85])])],
    ),
    "SignAndCoordinate": (
        """
        g = np.clip(g, -1.0, 1.0)
        made = [(choose(coins, (-1.0, 1.0)) * g * np.eye(2)[choose(coins, (0, 1))], 0.5)]
        """,
        0.02,
        "l∞",
        [(1.0, [2 * sign * np.diag(one) for sign in SIGNS for one in np.eye(2)])],
    ),
}
"""Code with Gaussian noise of a gradient of two coordinates, clipped in a norm; its δ, and for each kind of messages
its probability and by which matrices, of the same chance, its releases are of the gradient, in deviations."""


def gaussian_epsilon(kinds, pair, delta):
    """ε(δ) of two gradients (2,), by an integral over all that is seen."""
    axis = np.linspace(-8.0, 8.0, 81)
    seen = np.stack(np.meshgrid(axis, axis), axis=-1)

    def law(one):
        far = [[np.sum((seen - matrix @ one) ** 2, axis=-1) for matrix in some] for _, some in kinds]
        each = [chance * np.mean(np.exp(-np.array(k) / 2), axis=0) for (chance, _), k in zip(kinds, far, strict=True)]
        return np.ravel(each) * 0.2**2 / (2 * math.pi)

    laws, low, high = [law(one) for one in pair], 0.0, 10.0
    for _ in range(20):
        epsilon = (low + high) / 2
        over = max(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)) for p, q in (laws, laws[::-1]))
        low, high = (epsilon, high) if over > delta else (low, epsilon)
    return high


@pytest.mark.parametrize("name", GAUSSIAN)
def test_with_gaussian_noise_all_that_is_seen_counts_together(tmp_path, name):
    body, delta, norm, kinds = GAUSSIAN[name]
    code = BY_HAND.format(name=name, body="        g = await node.gradient(x)" + body.rstrip())
    code = code.replace("Laplace", "Gaussian")
    experiment, subject = made(tmp_path, name, code, dimension=2, agent=0, adjacency="agent", delta=delta)
    claim = subject.simulation.claim(experiment.adjacency, 1, delta)
    pair, _ = audited_pair(experiment, subject, claim, 1, Silent())
    some = np.array([*itertools.product((-1.0, 0.0, 1.0), repeat=2)])
    clipped = [one.gradient(np.zeros((1, 2)))[0] for one in pair.hypotheses]
    clipped = [np.clip(one, -1, 1) if norm == "l∞" else one / max(1.0, np.linalg.norm(one)) for one in clipped]
    if norm == "l2":
        some /= np.maximum(1.0, np.linalg.norm(some, axis=1, keepdims=True))
    truth = max(gaussian_epsilon(kinds, two, delta) for two in itertools.combinations(some, 2))
    assert gaussian_epsilon(kinds, clipped, delta) >= 0.97 * truth


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_at_a_delta_the_pair_costs_most_in_a_way_of_mixing_that_few_transcripts_need_have(tmp_path, side):
    """One of eight records where a public number has a sign, else a fifth of their mean: that one hides least among
    others at an end of its own, for which all of the mean is the same."""
    body = f"""
        one, public = choose(coins, range(8)), node.privatize(x, Laplace(1.0))
        node.broadcast(public=public)
        each = [await asked(k) for k in range(8)]
        made = [(np.where({side} * public > 0.0, each[one], sum(each) / 40), 0.4)]
"""
    code = BY_HAND.format(name="Signed", body=body.strip("\n"))
    experiment, subject = made(tmp_path, "Signed", code, dimension=1, agent=0, delta=0.02)
    claim = subject.simulation.claim(experiment.adjacency, 1, 0.02)
    pair, _ = audited_pair(experiment, subject, claim, 1, Silent())
    ends = [
        {float(np.clip(one.batch([k]).gradient(np.zeros((1, 1))).item(), -1.0, 1.0)) for k in range(8)}
        for one in pair.hypotheses
    ]
    assert sorted(map(len, ends)) == [1, 2]
    assert {*ends[0], *ends[1]} == {-1.0, 1.0}


@pytest.mark.parametrize(("delta", "numbers"), [(0.01, 1), (0.01, 2), (0.1, 2)])
def test_gaussian_noise_of_several_scales_is_a_mixture_of_laws_of_several_widths(delta, numbers):
    """At one of two tosses a number of 1 or −1, at the other one nothing, with half the noise; and a number that
    shows the noise alone. By quadrature."""
    values, units = np.zeros((2, 2, numbers)), np.full((2, 2, numbers), 0.5)
    values[0, :, 0], units[1] = SIGNS, 0.25
    mixture = hidden_values._Mixture(np.log([0.5, 0.5]), values, units, gaussian=True, share=1.0)
    found = hidden_values.HiddenValues({"all": mixture}, listed=True).costs(np.array([[0, 1]]), delta)[0]
    axes = [np.linspace(-5.0, 5.0, 2001), np.linspace(-3.0, 3.0, 601)][:numbers]
    seen = np.meshgrid(*axes, indexing="ij")
    cell = math.prod(axis[1] - axis[0] for axis in axes)

    def law(sign):
        tosses = ((0.5, (sign, 0.0)), (0.25, (0.0, 0.0)))
        each = (math.prod(stats.norm.pdf(x, m, s) for x, m in zip(seen, means, strict=False)) for s, means in tosses)
        return 0.5 * cell * sum(each)

    one, two = map(law, SIGNS)
    truth = optimize.brentq(lambda epsilon: np.sum(np.maximum(one - np.exp(epsilon) * two, 0.0)) - delta, 0.0, 40.0)
    assert found == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize(("hops", "doubted"), [(2, False), (7, True)])
def test_a_pair_is_doubted_where_coins_send_in_more_ways_than_are_looked_at(tmp_path, hops, doubted):
    body = f"""
        left = 0
        for _ in range({hops}):
            to = choose(coins, (0, 1))
            left += to
            node.send(node.neighbors[to], hello=x)
        made = [(np.clip(await node.gradient(x), -1.0, 1.0), 1.0 + left)]
    """
    code = BY_HAND.format(name="Hops", body=body.strip("\n"))
    pair, _ = found(*made(tmp_path, "Hops", code, dimension=1, agent=0, adjacency="agent", coins="known"))
    assert (pair.doubt is not None and "more ways to send messages" in pair.doubt) is doubted


GATED = """
        one, p = choose(coins, range(4)), node.privatize(x, Laplace(1.0))
        node.broadcast(p=p)
        each = [await asked(k) for k in range(4)]
        made = [(np.where({gate}, each[one], sum(each) / 16), 0.25)]
"""
"""Code that releases one of four records where its public noise is so, else a quarter of their mean."""


@pytest.mark.parametrize(("gate", "claimed"), [("p > 4.0", 4.2), ("p > 0.0", 4.2), ("p > 4.0", 6.7)])
def test_a_pair_costs_most_where_numbers_are_released_that_the_run_has_not(tmp_path, gate, claimed):
    code = BY_HAND.format(name="Gated", body=GATED.format(gate=gate).strip("\n"))
    experiment, subject = made(tmp_path, "Gated", code, dimension=1, claimed=claimed, agent=0)
    claim = subject.simulation.claim(experiment.adjacency, 1, 0.0)
    pair, _ = audited_pair(experiment, subject, claim, 1, Silent())
    truth = worst_of((0.25,), [(1 / 4, lambda g, k=k: (g[k],)) for k in range(4)], 4)
    costs = f"Where agent 0 receives other numbers than in this run, a pair costs ε = {truth:.4g}:"
    assert pair.doubt is None if truth < claimed else pair.doubt.startswith(costs)


def mixed():
    """Code whose gradients are mixed so that most of what is released is of one direction, which is no coordinate."""
    turned = np.linalg.qr(np.random.default_rng(11).standard_normal((4, 4)))[0]
    matrix = 1.5 * np.outer(turned[0], turned[1]) + 0.05 * np.eye(4)
    most = max(np.linalg.norm(matrix @ np.array(signs)) for signs in itertools.product(SIGNS, repeat=4))
    code = UNCLIPPED.replace("import math", "import math\n\nimport numpy as np")
    code = code.replace("privatize(g,", f"privatize(g @ np.array({matrix.tolist()}),")
    return code.replace('adjacency.in_norm("l1", setting.dimension)', f"adjacency.gradient_change * {float(most)}")


@pytest.mark.parametrize("code", [UNCLIPPED, mixed()], ids=["Coordinates", "HiddenDirection"])
def test_where_data_are_bounded_the_others_are_moved_as_far_as_the_record(tmp_path, code):
    experiment, subject = made(tmp_path, "Unclipped", code, claimed=None, agent=0)
    _, epsilon = searched(experiment, subject, 1, of_any=False)
    claim = subject.simulation.claim(experiment.adjacency, 1, 0.0)
    np.testing.assert_allclose(epsilon, claim.epsilon, rtol=1e-4)


def test_a_true_claim_is_consistent_of_what_is_seldom_sent(tmp_path):
    """As its coins fall first, the agent sends nothing."""
    code = BY_HAND.format(name="Seldom", body="        made = [(await asked(choose(coins, range(8))), 1.0)]")
    sent = "        node.broadcast"
    code = code.replace(sent, f"        if choose(coins, range(8)) == 0:\n    {sent}")
    true = 1.01 * math.log(7 / 8 + math.exp(2) / 8)
    experiment, subject = made(tmp_path, "Seldom", code, dimension=1, agent=0, claimed=true)
    claim = subject.simulation.claim(experiment.adjacency, 1, 0.0)
    pair, _ = audited_pair(experiment, subject, claim, 1, Silent())
    judged = audited(AuditOptions(experiment.scenario, subject, pair, claim), None, None, 1).judgement
    assert judged.verdict.value == "consistent", judged.reason


def test_a_pair_that_a_message_without_noise_tells_apart_stays(tmp_path):
    code = code_of("OneOfAll").replace("node.estimate(x)", "node.broadcast(g=g)\n            node.estimate(x)")
    experiment, subject = made(tmp_path, "OneOfAll", code, agent=0)
    claim = subject.simulation.claim(experiment.adjacency, 1, 0.0)
    pair, search = audited_pair(experiment, subject, claim, 1, Silent())
    assert math.isinf(search.winner.epsilon)
    assert "as others are" not in pair.description


@pytest.mark.parametrize(("claimed", "doubted"), [(0.5, True), (1.01, False)])
def test_a_claim_that_counts_on_secret_coins_is_doubted_where_others_are_too_many_to_be_moved(
    tmp_path, claimed, doubted
):
    """What holds for who knows the coins does not count on them."""
    code = code_of("OneOfAll").replace("range(node.records)", "range(4)")
    experiment, subject = made(tmp_path, "OneOfAll", code, records=3003, claimed=claimed, agent=0)
    claim = subject.simulation.claim(experiment.adjacency, 1, 0.0)
    pair, _ = audited_pair(experiment, subject, claim, 1, Silent())
    assert (pair.doubt is not None and "more than 1,000 records" in pair.doubt) is doubted


STUBBORN = {
    "Refuses": """
        g = await node.gradient(x, [choose(coins, range(8))])
        assert choose(coins, range(8)) or np.all(np.abs(g) < 1e3), "no such data"
        made = [(np.clip(g, -1.0, 1.0), 2.0)]
""",
    "NotANumber": """
        g = await node.gradient(x, [choose(coins, range(8))])
        tossed = choose(coins, range(8))
        made = [(np.clip(g, -1.0, 1.0) if tossed else np.exp(g) / (1.0 + np.exp(g)), 2.0)]
""",
}


@pytest.mark.parametrize("name", STUBBORN)
def test_a_pair_stays_where_the_code_fails_on_others_or_nobody_knows_what_it_costs(tmp_path, name):
    code = BY_HAND.format(name=name, body=STUBBORN[name].strip("\n"))
    experiment, subject = made(tmp_path, name, code, dimension=1, agent=0)
    claim = subject.simulation.claim(experiment.adjacency, 1, 0.0)
    pair, search = audited_pair(experiment, subject, claim, 1, Silent())
    assert search.winner.any_change
    assert "as others are" not in pair.description
