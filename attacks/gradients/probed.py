"""Every gradient that what was heard around an agent determines, by probing its own code (`attacks.probe`).

At a tapped door the record is the agent's own. On links an eavesdropper puts it together as far as it goes
(`attacks.gradients.heard`): for algorithms that only exchange and wait for everybody, and for tokens that walk. What
was not heard becomes an unknown beside the gradients, and costs those that it hides.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from attacks.gradients.baton import GradientEstimate, check_lossless
from attacks.gradients.evidence import Evidence
from attacks.gradients.heard import Surroundings
from attacks.probe import Assumption, Free, Prior, Probed, probe, probe_network
from attacks.replay.recorded import Recording
from netsim.adversary import AdversaryView
from netsim.errors import AttackError
from netsim.transcript import Record

FREE = Free()


def through_probe(view: AdversaryView) -> list[GradientEstimate]:
    """One estimate for each identifiable query of every agent that was heard; agent by agent, in order.

    `stddev` is the root mean square over the coordinates; where rounding alone may be more than a small share of the
    gradient, it is counted in. You get an `AttackError` where nothing was heard that a probe can use, a codec changes
    what is sent, or the messages are no affine function of the gradients.
    """
    heard = heard_by(view)
    return [estimate for agent, rows in heard.items() for estimate in estimates_of(probed(view, agent, rows))]


def heard_by(view: AdversaryView) -> dict[int, tuple[Record, ...]]:
    """What was heard around every agent that was, and that needs to be inferred, by agent.

    You get an `AttackError` where it is nothing that a probe can use.
    """
    around = Surroundings(view)
    agents = sorted(set(range(view.public.agents)) - view.inside.keys() - view.public.forgetful)
    heard = {agent: rows for agent in agents if (rows := around.rows(agent))}
    if not heard:
        raise AttackError(
            "from what was heard a probe cannot put together what any agent got and sent: of algorithms that send to "
            "single agents (other than one token) it needs a tap at a door, of exchanges that end without some "
            "messages too, and of others a message of the agent"
        )
    return heard


def probed(
    view: AdversaryView,
    agent: int,
    rows: tuple[Record, ...] | None = None,
    prior: Prior | None = None,
    laplace: Literal["blue", "ml"] = "blue",
) -> Probed:
    """All that a probe tells of one agent, also which of its gradients are not identifiable.

    `rows`: the record at its door, if it is known already; `prior` and `laplace` as in `attacks.probe.probe`. You get
    an `AttackError` where nothing was heard of the agent that a probe can use, where it may begin anew, and where the
    probe refuses.
    """
    check_lossless(view)
    if agent in view.public.forgetful:
        raise AttackError(f"agent {agent} may begin anew without its state: when is not known")
    chosen = rows_of(view, agent) if rows is None else rows
    if not chosen:
        raise AttackError(f"nothing was heard of agent {agent} that a probe can use")
    recording = Recording(view.public, agent, chosen, view.replicas, np.random.default_rng(0))
    return probe(recording, prior=prior, laplace=laplace)


def rows_of(view: AdversaryView, agent: int) -> tuple[Record, ...]:
    """The record at the agent's door, put together as far as it goes with gaps marked; empty where it cannot be."""
    return Surroundings(view).rows(agent)


def through_network(view: AdversaryView, gradients: Assumption = FREE) -> list[GradientEstimate]:
    """One estimate for each identifiable query at a known point, by one probe of all agents that are no insiders:
    what one agent received and nobody observed is what another one's code has made of its gradients.

    `gradients`: what is assumed of them. You get an `AttackError` where `attacks.probe.probe_network` refuses.
    """
    found = probe_network(view, gradients=gradients)
    return [one for victim in found.agents.values() for one in estimates_of(victim, victim.usable)]


def evidence_through_network(view: AdversaryView, gradients: Assumption = FREE) -> list[Evidence]:
    """The same, one for each agent with an identifiable gradient at a known point."""
    found = probe_network(view, gradients=gradients)
    return [Evidence.probed(victim) for victim in found.agents.values() if victim.usable]


def estimates_of(found: Probed, queries: Sequence[int] | None = None) -> list[GradientEstimate]:
    """One for each identifiable gradient, or for these `queries`; `stddev` is the root mean square over the
    coordinates, 0 where it is exact; rounding is counted in where it is larger."""
    stddev = np.sqrt(np.mean(found.stddev**2, axis=-1))
    exact = found.exact
    silent = stddev <= found.rounding
    stddev = np.where(exact, 0.0, np.where(silent, np.hypot(stddev, found.rounding), stddev))
    return [
        GradientEstimate(found.agent, t, found.points[t], found.gradients[t], float(stddev[t]))
        for t in (found.seen if queries is None else queries)
    ]
