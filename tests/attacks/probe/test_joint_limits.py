"""Tokens, orders that nobody saw, and what a joint probe refuses."""

from dataclasses import dataclass, replace

import pytest

from attacks.probe import Constant, RandomWalk, probe_network
from attacks.probe import mapping as sizes
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, DpAdmm, PrivateGradientDescent, Recal, Walkman
from netsim.errors import AttackError, ScenarioError
from netsim.network.laws import UniformDelay
from netsim.network.links import ExchangePolicy, LinkLaw
from netsim.node import Node
from netsim.transcript import Transcript
from tests.attacks.probe.joint_worlds import GRAPH, Proximal, ran, step
from tests.attacks.probe.scripted import worst


class TestTokens:
    @pytest.mark.parametrize("algorithm", [Walkman(4.0, activations=40), Recal(0.2, activations=40)],
                             ids=lambda a: type(a).__name__)  # fmt: skip
    @pytest.mark.parametrize("adversary", [Adversary(), Adversary(insiders=(2,), links="all")])
    def test_a_token_whose_way_was_seen_tells_what_it_tells_the_probe_of_one(self, algorithm, adversary):
        run = ran(algorithm, adversary, graph=topology.ring(5))
        found = probe_network(run.views[0])
        assert found.identified >= 40 - 5 - 15 * bool(adversary.insiders)
        assert worst(found, run) < 1e-8

    def test_a_token_whose_way_was_not_seen(self):
        run = ran(Walkman(4.0, activations=40), Adversary(links=((0, 1),)), graph=topology.ring(5))
        with pytest.raises(AttackError, match="was not observed, and its coins are private"):
            probe_network(run.views[0])


class TestOrders:
    """Of messages to single agents: seen at doors, or of no consequence."""

    STAR = topology.star(5)

    def test_a_hub_that_sums_what_comes_in_any_order(self):
        """Nobody saw in which order the hub of DP-ADMM got its messages: it sums them all."""
        run = ran(DpAdmm(5, 2.0, step(0.5)), Adversary(), graph=self.STAR)
        found = probe_network(run.views[0])
        assert len(found.seen) == 5
        assert worst(found, run) < 1e-8

    def test_with_a_tap_at_its_door_the_order_is_known(self):
        run = ran(InOrder(), Adversary(links=(), nodes=(0,)), graph=self.STAR, links=LinkLaw(UniformDelay(0.0, 1.0)))
        found = probe_network(run.views[0])
        assert found.identified == found.queries == 5
        assert worst(found, run) < 1e-12
        blind = replace(run.views[0], adversary=Adversary())
        rows = tuple(r._replace(place="link", event="air") for r in run.views[0].transcript if r.event == "sent")
        with pytest.raises(AttackError, match="that nobody saw"):
            probe_network(replace(blind, transcript=Transcript(rows, 1)))


class InOrder(Algorithm):
    """The hub tells a sum in which the first to come counts most."""

    async def run(self, node: Node) -> None:
        gradient = await node.gradient(node.zeros())
        if node.id:
            node.send(0, g=gradient)
            return
        for _ in node.neighbors:
            gradient = 0.5 * gradient + (await node.receive()).values["g"]
        node.broadcast(sum=gradient)


class TestRefusals:
    @pytest.mark.parametrize("links", [(GRAPH.edges[2],), "all"])
    def test_messages_that_came_in_an_order_that_nobody_saw_and_that_matters(self, links):
        class Gossip(Algorithm):
            async def run(self, node: Node) -> None:
                node.broadcast(x=await node.gradient(node.zeros()))
                first = await node.receive()
                await node.exchange(first=first.values["x"])

        run = ran(Gossip(), Adversary(links=links))
        with pytest.raises(AttackError, match=r"depends on .* an order in which messages .* that nobody saw"):
            probe_network(run.views[0])

    def test_what_private_coins_decide(self):
        @dataclass(frozen=True)
        class Lazy(Algorithm):
            rounds: int = 5

            async def run(self, node: Node) -> None:
                x = node.zeros()
                for _ in range(self.rounds):
                    heard = await node.exchange(x=x)
                    if node.coins.random() < 0.5:
                        x = heard.mix("x") - 0.1 * await node.gradient(x)
                    node.estimate(x)

        with pytest.raises(AttackError, match="depends on private coins"):
            probe_network(ran(Lazy(), Adversary()).views[0])

    def test_exchanges_with_a_deadline(self):
        run = ran(PrivateGradientDescent(4, step(0.05)), exchange_policy=ExchangePolicy(0.5))
        with pytest.raises(AttackError, match="exchanges may end without some messages"):
            probe_network(run.views[0])

    def test_a_message_that_somebody_altered(self):
        """Seen with two contents: as it went on the air, and as it was delivered."""
        view = ran(PrivateGradientDescent(4, step(0.05)), Adversary(nodes=(1,))).views[0]
        rows = list(view.transcript)
        place = next(k for k, r in enumerate(rows) if r.event == "received" and r.number == 2)
        rows[place] = rows[place]._replace(values={"x": rows[place].values["x"] + 1.0})
        with pytest.raises(AttackError, match=r"exchange message 2 of agent \d was seen with two contents"):
            probe_network(replace(view, transcript=Transcript(rows, 1)))

    def test_combinations_of_what_was_assumed(self):
        found = probe_network(ran(PrivateGradientDescent(4, step(0.05))).views[0], gradients=Constant())
        with pytest.raises(AttackError, match="leave the assumption out"):
            found.functionals()

    def test_a_code_that_is_not_the_one_that_ran(self):
        view = ran(PrivateGradientDescent(4, step(0.05))).views[0]
        other = replace(view, public=replace(view.public, algorithm=Proximal(rounds=2)))
        with pytest.raises(AttackError, match="code sends other messages than were recorded: private data decide"):
            probe_network(other)

    def test_what_would_not_fit_in_memory_is_named_with_its_size(self, monkeypatch):
        view = ran(PrivateGradientDescent(6, step(0.05))).views[0]
        monkeypatch.setattr(sizes, "LIMIT", 1e3)
        with pytest.raises(AttackError, match=r"would need \d+\.\d GB"):
            probe_network(view)

    @pytest.mark.parametrize("bad", [{"stddev": 0.0}, {"stddev": 1.0, "start": -1.0}])
    def test_a_random_walk_that_does_not_walk(self, bad):
        with pytest.raises(ScenarioError):
            RandomWalk(**bad)
