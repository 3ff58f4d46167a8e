"""A scenario that attacks all agents as one linear system sees further than taps reach."""

import pytest

from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario

SCENARIO = """\
name: jointly
seed: 3
problem: {kind: logistic, data: {name: synthetic, records: 40, dimension: 2}}
topology: {kind: path, agents: 7}
adversary: {links: [], nodes: [1, 5]}
algorithms:
  - {kind: gradient_tracking, rounds: 10, step: 0.02}
attacks: {victims: VICTIMS}
"""


def inferred(tmp_path, victims: str):
    scenario = parse(SCENARIO.replace("VICTIMS", victims), "jointly.yaml")
    (entry,) = run_scenario(scenario, tmp_path / victims, command="netsim run jointly.yaml").algorithms
    return entry.gradients


def test_agents_behind_the_taps_are_seen_jointly_only(tmp_path):
    """Tracking sends two linked values a round: what two doors see determines the agent in between, too."""
    alone, jointly = (inferred(tmp_path, victims) for victims in ("one_by_one", "jointly"))
    assert alone.attack == "attacks.inference.through_probe"
    assert jointly.attack == "attacks.inference.through_network"
    assert alone.inferred[3] == 0  # nobody observed what it sent
    assert min(jointly.inferred) >= 8  # all but the last ones of 11, which no message had time to tell
    assert jointly.estimated > alone.estimated
    assert jointly.worst < 1e-8


def test_another_word_is_refused_with_the_allowed_ones():
    with pytest.raises(Exception, match=r"victims.*one_by_one.*jointly"):
        parse(SCENARIO.replace("VICTIMS", "together"), "jointly.yaml")
