"""Conformance: a program that follows the algorithm passes, and one that does not is named with the reason."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from attacks.audit.conformance import Conformance, conformance
from attacks.audit.loss.noise_check import ALPHA
from netsim.adversary import Adversary
from netsim.algorithms import Extra, PrivateGradientDescent
from netsim.claims import Clip
from netsim.mechanisms import Laplace
from netsim.node import Node
from netsim.randomness import Streams, coins_of
from netsim.schedules import Constant
from netsim.simulation import Simulation
from netsim.transcript import Transcript
from tests.netsim.algorithms.every import DOOR, EXAMPLES

PUBLISHED = PrivateGradientDescent(20, Constant(0.1), Constant(0.3), Clip(1.0))


def judged(public: Simulation, ran: Simulation | None = None, *, known: bool = True) -> Conformance:
    """Of one agent of a run, when everybody ran the algorithm of `ran`, and that of `public` was published. `known`:
    whether its coins are."""
    view = (ran or public).run().views[0]
    view = replace(view, public=replace(view.public, algorithm=public.algorithm))
    coins = coins_of(Streams(public.seed), DOOR) if known else None
    return conformance(view, DOOR, public.problem.objectives[DOOR], coins)


@dataclass(frozen=True)
class Mine(PrivateGradientDescent):
    """Somebody else's, for whom `wrong` is what differs."""

    wrong: str = ""

    async def run(self, node: Node) -> None:
        x, again = node.zeros(), None
        for k in range(self.rounds):
            scale = {"no noise": 0.0, "half": 0.15, "late": 0.3 * (k < 10)}.get(self.wrong, 0.3)
            sent = node.privatize(x, Laplace(scale))
            if self.wrong == "repeated":
                again = sent - x if again is None else again
                sent = x + again
            names = {"y": sent} if self.wrong == "name" else {"x": sent}
            received = await node.exchange(**names)
            step = 5.0 if self.wrong == "step" else self.step(k)
            x = received.mix(*names) - step * self.clip(await node.gradient(x))
            node.estimate(x)


def simulation(algorithm, seed=5) -> Simulation:
    ears = Adversary("ears", "all", nodes=(DOOR,))
    return replace(
        EXAMPLES["private_gradient_descent"].simulation(), algorithm=algorithm, seed=seed, adversaries=(ears,)
    )


def test_who_follows_passes_and_its_p_values_are_no_lower_than_chance():
    found = [judged(simulation(PUBLISHED, seed), simulation(Mine(**vars(PUBLISHED)), seed)) for seed in range(40)]
    assert all(one.follows for one in found)
    assert {one.messages for one in found} == {20}
    assert np.median([one.p_value for one in found]) > 0.1
    assert all(one.p_value >= ALPHA for one in found)


@pytest.mark.parametrize("name", [name for name, one in EXAMPLES.items() if not one.hidden])
@pytest.mark.parametrize("noisy", [False, True])
def test_every_algorithm_follows_itself(name, noisy):
    """Whether or not its private coins are known."""
    for known in (True, False):
        found = judged(EXAMPLES[name].simulation(noisy), known=known)
        assert found.follows in (True, None), found
        if found.follows is None:
            assert "cannot be replayed" in found.reason or ("private coins" in found.reason and not known)


def test_a_receiver_that_coins_choose_is_seen_and_tells_nothing_else():
    """A baton goes to any neighbor: that is the algorithm's; to an agent that is none of the options it is not."""
    assert judged(EXAMPLES["walkman"].simulation(), known=False).follows
    astray = EXAMPLES["walkman"].simulation().run().views[0]
    rows = list(astray.transcript)
    k = next(k for k, row in enumerate(rows) if row.event == "sent" and row.sender == DOOR)
    rows[k] = rows[k]._replace(receiver=4)
    objective = EXAMPLES["walkman"].simulation().problem.objectives[DOOR]
    found = conformance(replace(astray, transcript=Transcript(rows, 1)), DOOR, objective)
    assert found.follows is False
    assert "to agent 0 or 2, not to agent 4" in found.reason


BATCHES = replace(PUBLISHED, batch=2)


@pytest.mark.parametrize(("wrong", "follows"), [("", None), ("step", None), ("name", False)])
def test_where_unknown_coins_decide_nothing_is_said_but_of_what_came_before(wrong, follows):
    """Batches of records are drawn after the first message, whose names are known and whose noise is."""
    own = {name: value for name, value in vars(BATCHES).items() if name != "batch"}
    ran = simulation(Mine(**own, wrong=wrong)) if wrong else simulation(BATCHES, seed=6)
    found = judged(simulation(BATCHES), ran, known=False)
    assert found.follows is follows, found
    if follows is None:
        assert "private coins, which nobody else knows; the 1 sent before" in found.reason
        assert found.noise_numbers == 4


def test_who_follows_with_coins_of_its_own_is_not_accused():
    """Without noise every value differs from that of other coins."""
    silent = replace(BATCHES, scale=Constant(0.0))
    public, ran = simulation(silent), simulation(silent, seed=6)
    assert judged(public, ran).follows is False, "as if its coins were the run's"
    assert judged(public, ran, known=False).follows is None


WRONG = {
    "no noise": "there is no noise", "half": "another law", "late": "another law", "repeated": "another law",
    "step": "another law", "name": "the algorithm sends 'x' in exchange message 0, not 'y'",
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_who_deviates_is_named_with_the_reason(wrong):
    found = judged(simulation(PUBLISHED), simulation(Mine(**vars(PUBLISHED), wrong=wrong)))
    assert found.follows is False
    assert WRONG[wrong] in found.reason


def test_what_data_add_in_another_size_is_found_from_the_size_that_is_stated_on():
    """As the step has it, which is in no noise law; a little less than stated is not found every time."""
    public = PrivateGradientDescent(60, Constant(0.05), Constant(0.1), Clip(1.0))
    faithful = judged(simulation(public))
    assert faithful.follows
    assert 1.5 < faithful.detects < 6
    assert f"added {faithful.detects:.3g} times as much" in faithful.reason
    stated = replace(public, step=Constant(0.05 * faithful.detects))
    found = [judged(simulation(public, seed), simulation(stated, seed)) for seed in range(6)]
    assert sum(one.follows is False for one in found) >= 4  # binomial: fewer with probability 0.002
    assert any("has another size than the algorithm's" in one.reason for one in found)


def test_what_no_noise_protects_is_compared_value_by_value():
    """Another step is seen in the first message that has it; the last bits of a sum are nobody's fault."""
    other = judged(simulation(Extra(8, 0.05)), simulation(Extra(8, 0.0500001)))
    assert other.follows is False
    assert other.reason.startswith("message 1: 'x' is off by")


def test_without_a_tap_at_the_door_nothing_is_said():
    view = simulation(PUBLISHED).run().views[0]
    objectives = simulation(PUBLISHED).problem.objectives
    found = conformance(view, DOOR + 1, objectives[DOOR + 1], coins_of(Streams(5), DOOR + 1))
    assert found.follows is None
    assert "no tap sat at agent" in found.reason
