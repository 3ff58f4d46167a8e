"""Prices of views of a scenario: beside the exact loss and the games, in results, in words and on the page."""

import re
from dataclasses import dataclass, replace
from html import unescape

import numpy as np
import pytest

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.pair import Pair
from netsim import topology
from netsim.algorithms import Decor, PrivateGradientDescent
from netsim.claims import Adjacency, Clip
from netsim.errors import AttackError
from netsim.mechanisms import Gaussian
from netsim.node import choose
from netsim.problems import LeastSquares, Problem, Tilted
from netsim.schedules import Constant
from netsim.simulation import Simulation
from scenarios.cli.json_output import ending
from scenarios.render import sentences
from scenarios.render.page.report import figures, page
from scenarios.render.verdicts import print_results
from scenarios.results.audit import AuditResult
from scenarios.results.base import Refused
from scenarios.results.numbers import show_epsilon
from scenarios.results.tree import dumps, loads
from scenarios.results.views import ViewPrices, ViewsResult
from scenarios.schema.load import load_scenario, parse
from scenarios.schema.scenario import ViewsSpec
from scenarios.stages.audit import price_views
from scenarios.stages.study import run_study
from tests.scenarios.small import SMALL

CHANGE = 1.0
MOVED = Adjacency.within(CHANGE, "l2", 1, "the gradient of one agent moved")
EVERYTHING = ViewsSpec(exact=["door", "links", "neighbors", "pairs"], coalition=2)


@dataclass(frozen=True)
class ClaimsOfPairs(PrivateGradientDescent):
    """Claims a share of its whole ε for listeners, less the further away the nearest of them is."""

    share: float = 1.0

    def claim_from(self, standpoint, adjacency, setting, delta):
        assert setting.topology is not None
        hops = min(setting.topology.hops(standpoint.victim)[i] for i in standpoint.listeners)
        whole = self.claim(adjacency, setting, delta)
        epsilon = None if whole.epsilon is None else self.share * whole.epsilon / hops
        return replace(whole, epsilon=epsilon, standpoint=standpoint)


def simulation(share: float = 1.0, state: str = "released", scale: float = 0.5) -> Simulation:
    rng = np.random.default_rng(0)
    problem = Problem(tuple(LeastSquares(rng.standard_normal((2, 1)), rng.standard_normal(2), 0.1) for _ in range(5)))
    step, noise = Constant(0.2), Constant(scale)
    algorithm = ClaimsOfPairs(5, step, noise, state=state, noise="gaussian", share=share)
    return Simulation(problem, topology.path(5), algorithm)


def priced(made: Simulation, spec: ViewsSpec = EVERYTHING) -> ViewPrices:
    f = made.problem.objectives[1]
    pair = Pair(1, (f, Tilted(f, np.array([CHANGE]))), "moved", 1.0)
    return price_views(made, spec, 1, MOVED, 1e-3, pair)[0]


@pytest.mark.slow
def test_a_view_that_no_map_prices_is_bounded_by_its_victims_door() -> None:
    """Clipped, the gradients of neighbors are not linear in what they receive. Each release moves by up to 2C for any
    data, and the bound is above the exact ε of every listener to descent whose gradients move by as much."""
    made = simulation()
    algorithm = replace(made.algorithm, clip=Clip(CHANGE / 2, "l2"))
    found = priced(replace(made, algorithm=algorithm))
    assert found.pairs is not None
    limit = gaussian_epsilon(CHANGE * np.sqrt(algorithm.rounds - 1) * 0.2 / 0.5, 1e-3)
    exact = priced(made).pairs
    assert exact is not None
    others = ~np.eye(5, dtype=bool)
    assert np.array(found.pairs.upper)[others] == pytest.approx(limit, rel=1e-9)
    assert np.all(np.array(exact.upper) <= np.array(found.pairs.upper) * (1 + 1e-9))
    assert not np.any(found.pairs.lower)
    assert all(one.all_pairs == (0.0, pytest.approx(limit, rel=1e-9)) for one in found.views)
    assert found.coalition is None
    assert found.unbounded is None
    assert "no affine function" in found.conditions[0]


@pytest.mark.few(1)
@pytest.mark.parametrize("correlated", [0.0, 20.0])
def test_clipped_decor_is_bounded_by_its_own_noise_whoever_holds_the_shared_seeds(correlated: float) -> None:
    made = simulation()
    decor = Decor(3, Constant(0.1), 4.0, correlated, Clip(1.0, "l2"))
    anything = Adjacency(np.inf, "all data of one agent replaced")
    found, _ = price_views(replace(made, algorithm=decor), ViewsSpec(exact=["door", "pairs"]), 1, anything, 1e-3)
    assert found.pairs is not None
    limit = gaussian_epsilon(2.0 / 4.0 * np.sqrt(3), 1e-3)
    assert np.array(found.pairs.upper)[~np.eye(5, dtype=bool)] == pytest.approx(limit, rel=1e-9)
    assert found.views[0].verdict == ("proven" if correlated == 0 else "underpowered")


def test_where_the_door_has_no_bound_either_both_reasons_are_given() -> None:
    made = simulation()
    decor = Decor(3, Constant(0.1), 0.0, 0.0, Clip(1.0, "l2"))
    with pytest.raises(
        AttackError, match=r"no affine function.* nor is there a bound at the door: nothing has noise"
    ):
        priced(replace(made, algorithm=decor))


def test_every_view_has_its_price_its_claim_and_a_verdict() -> None:
    found = priced(simulation())
    rows = {one.name: one for one in found.views}
    assert list(rows)[:5] == ["door 1", "link 0-1", "link 1-2", "link 2-3", "link 3-4"]
    assert {"node 0", "node 2", "coalition 0+2"} <= rows.keys()
    assert all(one.verdict == "proven" for one in rows.values())
    assert rows["door 1"].pair == pytest.approx(rows["coalition 0+2"].pair, rel=1e-9)
    assert rows["node 2"].pair[1] < rows["door 1"].pair[1]
    assert found.coalition.exhaustive
    assert found.coalition.tried == 6
    assert found.pairs.verdict == "proven"
    assert found.pairs.hops[1] == (1, 0, 1, 2, 3)
    np.testing.assert_allclose(found.pairs.upper[1][2], rows["node 2"].all_pairs[1], rtol=1e-9)


def test_a_price_above_the_claim_of_its_view_refutes_it_with_a_witness_for_that_view() -> None:
    found = priced(simulation(share=0.5))
    rows = {one.name: one for one in found.views}
    assert rows["door 1"].verdict == rows["link 1-2"].verdict == "proven"  # they have the claim of all views
    node = rows["node 2"]
    assert node.verdict == "refuted"
    assert node.epsilon_claimed < node.pair[0]
    assert node.witness.shift > 0
    assert {term.sender for term in node.witness.terms} <= {1, 2, 3}
    assert found.pairs.verdict == "refuted"
    assert (1, 2) in found.pairs.refuted
    excess = [found.pairs.lower[u][v] / found.pairs.claimed[u][v] for u, v in found.pairs.refuted]
    assert excess == sorted(excess, reverse=True)
    u, v = found.pairs.refuted[0]
    proven = gaussian_epsilon(found.pairs.witness.shift / found.pairs.witness.stddev, 1e-3)
    assert found.pairs.claimed[u][v] < proven == pytest.approx(found.pairs.lower[u][v], rel=1e-6)
    words = " ".join(sentences.prices(found))
    assert "Refuted at agent 2, honest but curious" in words
    assert "What is claimed of pairs is refuted" in words


def test_what_is_sent_without_noise_is_unprotected_at_who_receives_it() -> None:
    found = priced(simulation(scale=0.0), ViewsSpec(exact=["neighbors"]))
    for one in found.views:
        assert one.verdict == "unprotected"
        assert one.pair == (np.inf, np.inf)
        assert one.witness.stddev == one.witness.gradient_stddev == 0.0


def test_views_are_asked_for_in_a_word_or_in_full() -> None:
    word = parse(SMALL.replace("trials: 100,", "trials: 100, views: links,"), "small.yaml").scenario.audit
    assert word.seen_from == ViewsSpec(game="links")
    assert not word.seen_from.prices
    assert parse(SMALL, "small.yaml").scenario.audit.seen_from == ViewsSpec()
    full = "trials: 100, views: {exact: [pairs], coalition: 3},"
    found = parse(SMALL.replace("trials: 100,", full), "small.yaml").scenario.audit.seen_from
    assert (found.game, found.exact, found.coalition, found.prices) == ("none", ["pairs"], 3, True)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    located = load_scenario("price-of-a-view", ["audit.trials=200", "topology.agents=4", "problem.data.records=24"])
    return run_study(located, tmp_path_factory.mktemp("run"), jobs=1)


@pytest.mark.slow
def test_the_games_prove_less_than_the_exact_prices_and_the_door_costs_what_the_replay_says(results) -> None:
    entry = results.algorithms[0]
    found, audit = entry.prices, entry.audit
    assert isinstance(found, ViewPrices)
    assert isinstance(audit, AuditResult)
    assert isinstance(entry.views, ViewsResult)
    door = next(one for one in found.views if one.kind == "door")
    assert door.pair[1] == pytest.approx(audit.epsilon_exact.estimate, rel=1e-6)
    played = [one for one in found.views if one.epsilon_audited is not None]
    assert {one.kind for one in played} == {"door", "link", "node", "coalition"}
    assert all(one.epsilon_audited <= one.pair[1] for one in played)
    assert any(one.epsilon_audited > 0 for one in played)
    assert ending(results)[0] == 0


@pytest.mark.slow
def test_results_and_page_have_them(results) -> None:
    again = loads(dumps(results))
    assert again.algorithms[0].prices == results.algorithms[0].prices
    text = page(results)
    assert "The exact ε of every view" in text
    assert "All ordered pairs" in text
    assert "Who learns of agent 0" in text
    ends = results.algorithms[0].audit.epsilon_exact
    why = f"The audit's exact ε of the same door, {show_epsilon(ends.lower)} … {show_epsilon(ends.upper)}, is proven"
    assert why in unescape(text)
    assert any(line.startswith(why) for line in sentences.seen(results.algorithms[0]))
    (entry,) = results.algorithms
    same = replace(entry.audit, epsilon_exact=replace(ends, lower=ends.upper))
    assert sentences.of_the_same_door(replace(entry, audit=same)) == ""
    assert text == page(results)


@pytest.mark.slow
def test_a_priced_view_that_is_refuted_ends_a_run_with_its_status(results) -> None:
    entry = results.algorithms[0]
    rows = tuple(replace(one, verdict="refuted") for one in entry.prices.views)
    other = replace(results, algorithms=(replace(entry, prices=replace(entry.prices, views=rows)),))
    status, reason = ending(other)
    assert status == 1
    assert "is refuted at the audited agent's door" in reason


@pytest.mark.slow
def test_what_has_no_price_says_why(tmp_path) -> None:
    options = ["audit.trials=50", "audit.views={exact: [door]}", "algorithms[0].noise=laplace"]
    found = run_study(load_scenario("price-of-a-view", options), tmp_path, jobs=1).algorithms[0].prices
    assert isinstance(found, ViewPrices)
    assert "laplace" in found.views[0].refused
    assert found.views[0].verdict is None
    assert any("laplace" in line for line in sentences.prices(found))
    assert sentences.prices(Refused(refused="x")) == ["No exact ε of views: x."]
    assert sentences.prices(None) == []


@pytest.mark.slow
def test_sums_over_messages_of_a_pair_are_refuted_and_corrected_ones_are_not(tmp_path, capsys) -> None:
    options = ["audit.trials=50", "topology.agents=14", "problem.data.records=28"]
    command = "netsim run gossip-pairs -o audit.trials=50 -o topology.agents=14 -o problem.data.records=28"
    results = run_study(load_scenario("gossip-pairs", options), tmp_path, jobs=1, command=command)
    averaging, descent = (entry.prices.pairs for entry in results.algorithms)
    assert (averaging.verdict, descent.verdict) == ("refuted", "proven")
    u, v = averaging.refuted[0]
    assert averaging.lower[u][v] > 50 * averaging.claimed[u][v]
    learned = gaussian_epsilon(averaging.witness.shift / averaging.witness.stddev, 1e-5)
    assert learned == pytest.approx(averaging.lower[u][v], rel=1e-6), "one sum of messages shows all of it"
    assert np.allclose(descent.lower, descent.upper, rtol=1e-8), "far and small is no reason not to decide"
    status, reason = ending(results)
    assert status == 1
    assert "refuted for" in reason
    print_results(results, tmp_path)
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(
        r"Averaging: refuted elsewhere\..* It is refuted for \d+ pairs of agents: agent \d learns ε = ", said
    )
    assert len(re.findall(r"learns ε = [\d.]+ of agent \d, where [\d.]+ is claimed", said)) == 1, "said once"
    assert "For who records all that agent 0 sends and receives, ε is at most" in said
    assert "What is claimed of pairs is refuted" not in said
    step = f"{command.replace(' run ', ' views ')} --algorithm averaging --listener {v}"
    assert f"Averaging: see what agent {v} learns of every other agent: {step}" in said
    text = page(results)
    assert step in re.sub(r"</?span>|<wbr>", "", text)
    assert "See “The exact ε of every view”." in text, "which is on this page"
    assert "the page of its run" not in text
    (figure,) = (one for one in figures(results) if one.title == "The three epsilons")
    assert figure.caption[0].startswith("Averaging is refuted elsewhere, which is not in the figure: ")
    assert f"agent {v} learns ε = " in figure.caption[0], "what is wrong is not drawn there"
    assert figure.caption[0].endswith(" See “The exact ε of every view” on the page of its run.")
    assert len(figure.caption) == 2, "nothing of the claim that holds"
    assert "1 of 2 audited privacy claims does not hold: 1 refuted elsewhere" in text
    assert text.count("refuted elsewhere</span>") == 2, "on its card, and among the words that are explained"


@dataclass(frozen=True)
class Gated(ClaimsOfPairs):
    """Sends its gradient in the clear where its state, or one toss of a thousand, says so: never."""

    by: str = "state"

    async def run(self, node):
        x = node.zeros()
        for k in range(self.rounds):
            gradient = await node.gradient(x)
            x = (await node.exchange(x=node.privatize(x - 0.2 * gradient, Gaussian(self.scale(k))))).mix("x")
            if self.by == "state" and np.max(np.abs(x)) > 1e6:
                node.broadcast(y=gradient)
            if self.by == "coins" and choose(node.coins, range(1000)) == 7:
                node.broadcast(y=gradient)
            node.estimate(x)


@pytest.mark.parametrize("by", ["state", "coins"])
def test_a_price_of_code_that_never_ran_says_so_and_proves_nothing(by: str) -> None:
    made = simulation()
    found, twin = (priced(replace(made, algorithm=Gated(**vars(made.algorithm), by=one))) for one in (by, "public"))
    assert twin.pairs is not None
    assert (twin.read_lines, twin.pairs.verdict) == ((), "proven")
    assert any(one.verdict == "proven" for one in twin.views)
    assert found.pairs is not None
    assert found.pairs.upper == twin.pairs.upper
    assert found.pairs.verdict == "underpowered"
    assert not any(one.verdict == "proven" for one in found.views)
    sentence = next(text for text in sentences.prices(found) if "is not audited" in text)
    assert ("private coins (" if by == "coins" else "test_view_prices.py (`if self.by") in sentence
    assert any(sentence in one.reason for one in found.views if one.verdict == "underpowered")
