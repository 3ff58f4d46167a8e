"""The stacked reader's run is the live reader's to the last bit, or it is refused by name and run live."""

import gc
import pickle
import random
import sys
import tracemalloc
from dataclasses import dataclass, replace
from types import FunctionType, ModuleType

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, PrivateGradientDescent
from netsim.codecs import Float16, Quantizer, TopK
from netsim.errors import ScenarioError
from netsim.mechanisms import Gaussian
from netsim.network.laws import ConstantDelay, ExponentialDelay, UniformDelay
from netsim.network.links import AccessLaw, ExchangePolicy, LinkLaw
from netsim.node import Node
from netsim.problems import LeastSquares, LogisticLoss, Problem, build, load
from netsim.problems.problem import stacked_gradients
from netsim.readers.live import PoissonClock
from netsim.readers.stacked import NotStackableError, run_stacked
from netsim.schedules import Constant
from netsim.settings import NetworkSettings, Recording
from netsim.simulation import Run, Simulation
from tests.netsim.algorithms.every import AGENTS, EXAMPLES, GRAPHS, problem
from tests.worlds import changed

RING = topology.ring(AGENTS)
EDGES = [edge for i, j in RING.edges for edge in ((i, j), (j, i))]
BY_LINK = random.Random(4)
STRAGGLER = {2: ConstantDelay(3.0)}
NETWORKS = {
    "ideal": {},
    "one delay": {"links": LinkLaw(ConstantDelay(0.5))},
    "two delays": {"link_laws": {edge: LinkLaw(ConstantDelay(BY_LINK.choice((0.0, 1.0, 2.0)))) for edge in EDGES}},
    "delays by link": {"link_laws": {edge: LinkLaw(ConstantDelay(BY_LINK.random())) for edge in EDGES}},
    "random delays": {"links": LinkLaw(UniformDelay(0.1, 2.0))},
    "overtaking": {"links": LinkLaw(ExponentialDelay(1.0), reordering=True)},
    "a queue": {"links": LinkLaw(UniformDelay(0.0, 1.0), bandwidth=50.0)},
    "sealed": {"links": LinkLaw(ConstantDelay(1.0), encrypted=True)},
    "tagged by some": {"link_laws": {(0, 1): LinkLaw(authenticated=True), (1, 0): LinkLaw(encrypted=True)}},
    "computing": {"compute": UniformDelay(0.5, 1.5)},
    "a straggler": {"links": LinkLaw(ConstantDelay(1.0)), "compute_laws": STRAGGLER},
    "steps of one second": {"links": LinkLaw(ConstantDelay(1.0)), "compute": ConstantDelay(1.0)},
}
EARS = {
    "none": (),
    "all": (Adversary(),),
    "some": (
        Adversary("missing", ((0, 1), (3, 4)), capture_loss=0.3, clock_error=0.2, start=0.5),
        Adversary("doors", (), nodes=(0, 1, 2)),
        Adversary("inside", insiders=(4,)),
    ),
}


def rows(run: Run) -> list[list[tuple]]:
    return [[(*r[:-1], *((n, v.tobytes()) for n, v in r.values.items())) for r in v.transcript] for v in run.views]


def same(one: Run, other: Run) -> None:
    """All that two runs have, bit for bit."""
    assert rows(one) == rows(other)
    assert [len(v.transcript) for v in one.views] == [len(v.transcript) for v in other.views]
    facts = ("activations", "time", "traffic", "queries", "interrupted", "tossed", "rejected", "interceptions")
    for fact in facts:
        assert getattr(one, fact) == getattr(other, fact), fact
    for mine, its in zip(one.views, other.views, strict=True):
        assert {i: released(s.releases) for i, s in mine.inside.items()} == {
            i: released(s.releases) for i, s in its.inside.items()
        }
    assert (one.metrics is None) == (other.metrics is None)
    if one.metrics is not None and other.metrics is not None:
        assert one.metrics.times == other.metrics.times
        assert one.metrics.agents == other.metrics.agents
        assert one.metrics.ledger == other.metrics.ledger
        assert one.metrics.relative_errors().tobytes() == other.metrics.relative_errors().tobytes()
        assert [points(p) for p in one.metrics.points()] == [points(p) for p in other.metrics.points()]
    assert (one.truth is None) == (other.truth is None)
    if one.truth is not None and other.truth is not None:
        for mine, its in zip(one.truth.queries, other.truth.queries, strict=True):
            assert [asked(q) for q in mine] == [asked(q) for q in its]
        assert [released(r) for r in one.truth.releases] == [released(r) for r in other.truth.releases]


def released(values) -> list[bytes]:
    return [value.tobytes() for value in values]


def asked(query) -> tuple:
    return query.time, query.point.tobytes(), query.gradient.tobytes()


def points(point) -> tuple:
    own = () if point.own is None else (point.own.total.tobytes(), point.own.squares.tobytes())
    return point.count, point.at, point.answer.tobytes(), point.mean_error.tobytes(), point.consensus.tobytes(), own


def both(simulation: Simulation) -> tuple[Run, Run]:
    return replace(simulation, reader="stacked").run(), replace(simulation, reader="live").run()


def world(algorithm: Algorithm, graph=RING, ears: str = "all", here: Problem | None = None, **fields) -> Simulation:
    made = Simulation(here or problem(), graph, algorithm, adversaries=EARS[ears], replicas=2, seed=5)
    return changed(made, **fields)


STACKABLE = [
    name for name, example in EXAMPLES.items()
    if vars(type(example.algorithm())).get("stackable") and "batch" not in name
]  # fmt: skip


@pytest.mark.few(12)
@pytest.mark.parametrize("name", STACKABLE)
@pytest.mark.parametrize("noisy", [True, False])
def test_every_stackable_algorithm_is_the_live_reader_s_to_the_last_bit(name, noisy):
    example = EXAMPLES[name]
    for replicas, ears in ((1, "all"), (3, "some")):
        simulation = world(example.algorithm(noisy), GRAPHS[example.graph], ears, own_gradients=True)
        same(*both(replace(simulation, replicas=replicas)))


@pytest.mark.few(8)
@pytest.mark.parametrize("law", sorted(NETWORKS))
@pytest.mark.parametrize("ears", sorted(EARS))
def test_every_network_is_the_live_reader_s_to_the_last_bit(law, ears):
    for name in ("extra", "dpp2", "nids"):
        same(*both(world(EXAMPLES[name].algorithm(), ears=ears, **NETWORKS[law])))


@pytest.mark.parametrize("graph", [topology.star(7), topology.erdos_renyi(9, 0.4, seed=1), topology.path(8)])
def test_agents_with_unlike_numbers_of_neighbors_and_records(graph):
    data = load("synthetic", kind="regression", records=8 * graph.agents + 3, dimension=3, seed=1)
    for kind in ("ridge", "sensors"):
        here = build(kind, data.split(graph.agents), ridge=0.1 if kind == "ridge" else 0.0)
        for law in ("ideal", "random delays", "computing"):
            same(*both(world(EXAMPLES["dmsp"].algorithm(), graph, here=here, **NETWORKS[law])))


def test_single_numbers_codecs_and_other_losses():
    data = load("digits", norm_bound=1.0)
    for kind in ("logistic", "nonconvex_logistic"):
        here = build(kind, data.split(AGENTS), ridge=0.1)
        same(*both(world(EXAMPLES["extra"].algorithm(step=0.1), here=here)))
        for codec in (Float16(), TopK(3), Quantizer(4)):
            same(*both(world(EXAMPLES["private_gradient_descent"].algorithm(step=0.1), here=here, codec=codec)))
    single = load("synthetic", kind="regression", records=5 * AGENTS, dimension=1, seed=1)
    for replicas in (1, 2):
        lone = world(EXAMPLES["nids"].algorithm(), here=build("ridge", single.split(AGENTS), ridge=0.1))
        same(*both(replace(lone, replicas=replicas)))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_networks_drawn_at_random(seed):
    """Small whole delays and computing times, so that moments coincide in every way."""
    draw = random.Random(seed)
    graph = draw.choice([RING, topology.path(5), topology.star(6), topology.complete(4)])
    n = graph.agents
    data = load("synthetic", kind="regression", records=2 * n, dimension=2, seed=1)
    laws = {
        edge: LinkLaw(ConstantDelay(float(draw.choice((0, 0, 1, 2)))), encrypted=draw.random() < 0.2)
        for i, j in graph.edges
        for edge in ((i, j), (j, i))
        if draw.random() < 0.8
    }
    computes = {i: ConstantDelay(float(draw.choice((1, 1, 2)))) for i in range(n) if draw.random() < 0.4}
    doors = Adversary("doors", (), nodes=tuple(draw.sample(range(n), 2)), insiders=(draw.randrange(n),))
    name = draw.choice(["extra", "ppdc", "gradient_tracking, variant: atc", "diadsp"])
    algorithm = EXAMPLES[name].algorithm(step=0.01)
    simulation = Simulation(
        build("ridge", data.split(n), ridge=0.1), graph, algorithm, adversaries=(Adversary(), doors), seed=seed
    )
    same(*both(changed(simulation, link_laws=laws, compute_laws=computes)))


# ── refused ─────────────────────────────────────────────────────────────────────────────────────────
class Branches(PrivateGradientDescent):
    """Sends twice as much from round 7 on, if its number is 2."""

    stackable = True

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for k in range(self.rounds):
            received = await node.exchange(x=2 * x if k >= 7 and node.id == 2 else x)
            x = received.mix("x") - 0.1 * await node.gradient(x)
            node.estimate(x)


class Silent(Branches):
    """The same, and does not say that it is stackable: that is not inherited."""


REFUSED = {
    "an agent's number": (Branches(9, Constant(0.1)), {}),
    "does not say": (Silent(9, Constant(0.1)), {}),
    "private coins": (EXAMPLES["private_gradient_descent, with a batch"].algorithm(), {}),
    "one agent after the other": (EXAMPLES["recal"].algorithm(), {}),
    "lose packets": (EXAMPLES["extra"].algorithm(), {"links": LinkLaw(loss=0.1, reliable=True)}),
    "acknowledge": (EXAMPLES["extra"].algorithm(), {"links": LinkLaw(reliable=True)}),
    "repeat packets": (EXAMPLES["extra"].algorithm(), {"links": LinkLaw(duplication=0.1)}),
    "access lines": (EXAMPLES["extra"].algorithm(), {"access": AccessLaw(uplink=100.0)}),
    "clocks": (EXAMPLES["extra"].algorithm(), {"activation": PoissonClock(1.0)}),
    "deadline": (EXAMPLES["extra"].algorithm(), {"exchange_policy": ExchangePolicy(deadline=5.0)}),
    "takes no time": (EXAMPLES["extra"].algorithm(), {"compute": ConstantDelay(0.0)}),
}


@pytest.mark.parametrize("why", sorted(REFUSED))
def test_what_differs_between_agents_is_refused_by_name_and_run_live(why):
    algorithm, fields = REFUSED[why]
    simulation = world(algorithm, **fields)
    with pytest.raises(NotStackableError, match=why):
        run_stacked(simulation)
    with pytest.raises(ScenarioError, match=why):
        replace(simulation, reader="stacked").run()
    run = simulation.run()
    assert why in run.unstacked
    same(run, replace(simulation, reader="live").run())


def test_neighbors_that_are_counted_have_to_be_equally_many():
    algorithm = EXAMPLES["ic_admm"].algorithm()
    same(*both(world(algorithm)))
    star = world(algorithm, GRAPHS["star"]).run()
    assert "unlike numbers" in star.unstacked
    assert world(algorithm).run().unstacked is None


def test_factors_by_agent_are_refused_and_equal_ones_are_not():
    even = EXAMPLES["diadsp"].algorithm()
    assert world(even).run().unstacked is None
    uneven = replace(even, agent_scale_x=tuple(1.0 + i for i in range(AGENTS)))
    assert "number" in world(uneven).run().unstacked


def test_who_watches_has_the_live_reader_and_it_can_be_asked_for():
    simulation = world(EXAMPLES["extra"].algorithm())
    assert simulation.run(lambda running: None).unstacked == "somebody watches it"
    assert replace(simulation, reader="live").run().unstacked == "the live reader was asked for"


class Broken(PrivateGradientDescent):
    """Fails in round 3 of its own accord."""

    stackable = True

    async def run(self, node: Node) -> None:
        for k in range(self.rounds):
            await node.exchange(x=node.zeros())
            node.estimate(node.zeros() / (k < 3 or [][0]))


def test_an_error_is_the_live_reader_s():
    with pytest.raises(IndexError) as caught:
        world(Broken(5, Constant(0.1))).run()
    assert any("in agent " in note for note in caught.value.__notes__)


class Wild(PrivateGradientDescent):
    """Ascends, in steps that are too long."""

    stackable = True

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            x = (await node.exchange(x=x)).mix("x") + 10 * await node.gradient(x)
            node.estimate(x)


def test_a_run_that_diverges_is_a_result():
    wild = world(Wild(400, Constant(0.1)))
    same(*both(wild))
    assert not np.isfinite(wild.run().metrics.relative_errors()[-1]).all()


# ── moments that coincide ───────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Pattern(PrivateGradientDescent):
    """Queries (g), exchanges (e, f) and estimates (n) in any order."""

    pattern: str = "ge"
    stackable = True

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            for do in self.pattern:
                if do == "g":
                    x = x - 0.01 * await node.gradient(x)
                elif do == "e":
                    x = (await node.exchange(x=x)).mix("x")
                elif do == "f":
                    await node.exchange(a=x, b=2 * x)
                else:
                    node.estimate(x)
            node.estimate(x)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_any_pattern_of_queries_and_exchanges_at_moments_that_coincide(seed):
    draw = random.Random(seed)
    graph = draw.choice(
        [topology.ring(3), topology.ring(8), topology.path(6), topology.star(6), topology.complete(4)]
    )
    n, delays = graph.agents, draw.choice([(0,), (0, 1), (0, 0, 1, 2), (0, 0.5, 1)])
    laws = {
        edge: LinkLaw(ConstantDelay(float(draw.choice(delays))), bandwidth=draw.choice([None, None, 36.0]))
        for i, j in graph.edges
        for edge in ((i, j), (j, i))
    }
    seconds = draw.choice([(1,), (1, 2), (0.5, 1, 2), (1e-30, 1)])
    computes = {i: ConstantDelay(float(draw.choice(seconds))) for i in range(n) if draw.random() < 0.5}
    pattern = "".join(draw.choice("ggeeefn") for _ in range(draw.randrange(1, 6)))
    data = load("synthetic", kind="regression", records=2 * n, dimension=2, seed=1)
    here = build("ridge", data.split(n), ridge=0.1)
    doors = Adversary("doors", (), nodes=tuple(draw.sample(range(n), 2)))
    algorithm = Pattern(8, Constant(0.1), pattern=pattern)
    simulation = Simulation(here, graph, algorithm, adversaries=(Adversary(), doors), seed=seed)
    same(*both(changed(simulation, link_laws=laws, compute_laws=computes)))


@pytest.mark.slow
def test_very_many_steps_at_one_moment():
    """Comparing moments by what caused them would go as deep as there are steps."""
    algorithm = Pattern(1, Constant(0.1), pattern="g" + "e" * 1500)
    same(*both(world(algorithm, topology.ring(AGENTS), compute=ConstantDelay(1.0))))


# ── what else two runs have in common ───────────────────────────────────────────────────────────────
@pytest.mark.few(1)
@pytest.mark.parametrize("seeds", ["anew", "once"])
@pytest.mark.parametrize("law", ["ideal", "random delays", "a straggler", "two delays"])
def test_what_a_listener_knows_of_shared_noise(law, seeds):
    algorithm = replace(EXAMPLES["decor"].algorithm(), seeds=seeds)
    for measure in (True, False):
        stacked, live = both(world(algorithm, ears="none", measure=measure, **NETWORKS[law]))
        for agent in range(AGENTS):
            for holders in ((), (0, 3)):
                mine, its = (run.truth.edges.known(agent, holders) for run in (stacked, live))
                assert mine.mean.tobytes() == its.mean.tobytes()
                assert mine.covariance.tobytes() == its.covariance.tobytes()


@dataclass(frozen=True)
class Misdrawn(Gaussian):
    """Declares σ and draws a hundredth of it."""

    def release(self, value, rng):
        return Gaussian(self.stddev / 100).release(value, rng)


@dataclass(frozen=True)
class Noisy(PrivateGradientDescent):
    """Sends noise of any law."""

    law: Gaussian = Misdrawn(1.0)
    stackable = True

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            x = (await node.exchange(x=node.privatize(x, self.law))).mix("x")
            node.estimate(x)


def test_laws_of_noise_that_draw_in_a_way_of_their_own():
    """A subclass's release, and one deviation for each coordinate where there are as many as rows."""
    by_coordinate = Gaussian(np.arange(1.0, 5.0))
    for law, graph, replicas in ((Misdrawn(1.0), RING, 2), (by_coordinate, topology.complete(4), 1)):
        data = load("synthetic", kind="regression", records=2 * graph.agents, dimension=4, seed=1)
        here = build("ridge", data.split(graph.agents), ridge=0.1)
        same(*both(replace(world(Noisy(5, Constant(0.1), law=law), graph, here=here), replicas=replicas)))


def test_a_run_can_be_pickled_and_nobody_writes_into_its_views():
    run = world(EXAMPLES["extra"].algorithm(), ears="some").run()
    assert run.unstacked is None
    same(pickle.loads(pickle.dumps(run)), run)
    with pytest.raises(ValueError, match="read-only"):
        run.views[1].transcript.records[0].values["x"][:] = 0


def arrays_within(*roots: object) -> list[np.ndarray]:
    """All that can be reached, down to what other arrays are views of."""
    found, seen, todo = [], set(), list(roots)
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, type | ModuleType):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            found.append(one)
            todo.append(one.base)
        elif isinstance(one, FunctionType):
            todo += [cell.cell_contents for cell in one.__closure__ or ()]
        else:
            todo += gc.get_referents(one)
    return found


def test_an_adversary_is_handed_nothing_that_it_has_not_seen():
    """Neither an insider's neighbors' queries, nor what was sealed, nor what others heard."""
    ears = (
        Adversary("sealed", ((0, 1),)), Adversary("clear", ((2, 3),)), Adversary("inside", (), insiders=(4,)),
    )  # fmt: skip
    laws = {(0, 1): LinkLaw(encrypted=True), (1, 0): LinkLaw(encrypted=True)}
    for private in ("everything", "releases", "nothing"):
        simulation = world(EXAMPLES["private_gradient_descent"].algorithm(), link_laws=laws, private=private)
        run = replace(simulation, adversaries=ears).run()
        assert run.unstacked is None
        sealed, clear, inside = run.views
        heard = [
            [one.shape[0] for one in arrays_within(v.transcript) if one.ndim == 3 and one.size] for v in run.views
        ]
        assert not heard[0]
        assert set(heard[1]) == {2}
        assert set(heard[2]) == {3}
        assert sealed.transcript.records[0].kind == "sealed"
        assert clear.transcript.records[0].values["x"].shape == (2, 4)
        states = arrays_within([s.queries for s in inside.inside.values()], inside.inside[4].releases)
        assert states
        assert all(one.shape == (2, 4) for one in states)


# ── Ctrl-C ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.few("ideal")
@pytest.mark.parametrize("law", ["ideal", "random delays", "steps of one second"])
def test_a_run_that_is_interrupted_anywhere_has_what_was_until_then(law):
    simulation = world(Pattern(3, Constant(0.1), pattern="ge"), ears="some", own_gradients=True, **NETWORKS[law])
    simulation, whole = replace(simulation, reader="stacked"), simulation.run()
    ended = 0
    for line in range(1, 2000, 7):
        run = interrupted(simulation, line)
        if not run.interrupted:
            break
        ended += 1
        for mine, its in zip(rows(run), rows(whole), strict=True):
            assert set(mine) <= set(its)
        assert [len(v.transcript) for v in run.views] == [len(v.transcript.records) for v in run.views]
        assert len(run.metrics.times) == len(run.metrics.errors) == AGENTS * run.activations[0]
        counts = [(p.count, p.answer.tobytes()) for p in run.metrics.points()]
        assert counts == [(p.count, p.answer.tobytes()) for p in whole.metrics.points()][: len(counts)]
    assert ended > 20


def interrupted(simulation: Simulation, line: int) -> Run:
    """The run in which Ctrl-C comes at so many lines of the reader's code, while the algorithm runs."""
    left = line

    def each(frame, event, _):
        nonlocal left
        left -= event == "line"
        if not left:
            sys.settrace(None)
            raise KeyboardInterrupt
        return each

    def called(frame, event, argument):
        code, within = frame.f_code, frame.f_back
        while within is not None and within.f_code is not Pattern.run.__code__:
            within = within.f_back
        ours = code.co_filename.endswith(("stacked.py", "stacked_network.py", "metrics.py"))
        return each if within is not None and ours else None

    before = sys.gettrace()
    sys.settrace(called)
    try:
        return simulation.run()
    finally:
        sys.settrace(before)


# ── very many agents ────────────────────────────────────────────────────────────────────────────────────
MANY = 20_000


@pytest.fixture(scope="module")
def crowd() -> topology.Topology:
    return topology.random_regular(MANY, 8, seed=1)


def gossip(graph: topology.Topology, *ears: Adversary, private="nothing") -> Simulation:
    least = LeastSquares(np.eye(1, 3), np.ones(1), 1.0)
    algorithm = PrivateGradientDescent(3, Constant(0.1))
    quiet = Recording(measure=False, private=private)
    links = NetworkSettings(LinkLaw(ConstantDelay(1.0)))
    return Simulation(Problem((least,) * graph.agents), graph, algorithm, links, ears, recording=quiet)


def test_a_run_of_very_many_agents_makes_no_graph_and_no_object_for_an_agent_or_a_link(monkeypatch, crowd):
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a networkx graph, or a search for an eigenvalue")

    monkeypatch.setattr(nx.Graph, "__init__", refused)
    monkeypatch.setattr(topology.Topology, "least_eigenvalue", property(refused))
    graph = topology.Topology(crowd.adjacency)
    ears = Adversary("link", ((7, graph.neighbors(7)[0]),)), Adversary("door", (), nodes=(3,))
    for reader in ("auto", "stacked"):
        run = replace(gossip(graph, *ears, Adversary("inside", insiders=(5,))), reader=reader).run()
        assert run.unstacked is None
        assert run.traffic["packets_delivered"] == 3 * 8 * MANY
        assert [len(view.transcript) for view in run.views] == [2 * 3, 3 * 9, 3 * 9]
        assert run.views[0].public.neighbors[3] == graph.neighbors(3)
        made = {"edges", "graph", "labels"} & vars(graph).keys()
        assert not made
        assert len(graph._near) <= 4
    tracemalloc.start()
    gossip(graph).run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_400 * MANY  # bytes: 175 for each link of an agent


def test_few_taps_among_many_links_hear_what_the_live_reader_s_hear():
    graph = topology.random_regular(60, 4, seed=2)
    some = [(i, graph.neighbors(i)[k % 4]) for k, i in enumerate(range(0, 60, 7))]
    ears = Adversary("links", tuple(some), clock_error=0.1), Adversary("doors", (), nodes=(9, 50, 33))
    for law in ("ideal", "delays by link", "random delays", "computing"):
        fields = dict(NETWORKS[law])
        if "link_laws" in fields:
            laws = {edge: LinkLaw(ConstantDelay(BY_LINK.random())) for edge in graph.edges}
            fields["link_laws"] = laws | {(j, i): law for (i, j), law in laws.items()}
        same(*both(changed(gossip(graph, *ears, Adversary("inside", insiders=(5,)), private="everything"), **fields)))


def test_what_agents_share_is_computed_once(monkeypatch):
    asked = list[int]()

    class Counted(LeastSquares):
        @property
        def smoothness(self) -> float:
            asked.append(id(self))
            return super().smoothness

    one, other = (Counted(np.eye(2, 3), np.full(2, value), 1.0) for value in (1.0, 2.0))
    plain = LeastSquares(np.eye(2, 3), np.full(2, 3.0), 1.0)
    mixed = [plain, one, plain, other, LogisticLoss(np.eye(2, 3), np.array([1.0, -1.0]), 0.1), plain, one]
    here = Problem(tuple(mixed))
    assert here.of_each(lambda f: f.smoothness) == tuple(f.smoothness for f in mixed)
    asked.clear()
    here.of_each(lambda f: f.smoothness)
    assert sorted(asked) == sorted([id(one), id(other)])
    x = np.random.default_rng(3).normal(size=(7, 2, 3))
    assert (
        stacked_gradients(mixed)(x).tobytes()
        == np.array([f.gradient(v) for f, v in zip(mixed, x, strict=True)]).tobytes()
    )
    v = x[0]
    assert here.mean_gradient(v).tobytes() == (sum((f.gradient(v) for f in mixed), np.zeros_like(v)) / 7).tobytes()
