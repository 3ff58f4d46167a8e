"""Every gradient that an agent's exchanges determine, by probing its own code (`attacks.probe`).

At a tapped door the record is the agent's own. On links an eavesdropper puts it together: what the agent told, and
what its neighbors told it, for algorithms that only exchange and wait for everybody; of Walkman's token, what it
said when it came and when it left. It ends where something was missed.
"""

from collections.abc import Iterator

import numpy as np

from attacks.gradients.baton import NOBODY, GradientEstimate, check_lossless, unbroken_visits
from attacks.gradients.exchanges import Exchanges
from attacks.probe import Probed, probe
from attacks.replay.recorded import Recording
from netsim.adversary import AdversaryView
from netsim.algorithms import Walkman
from netsim.errors import AttackError
from netsim.messages import Kind, Values
from netsim.transcript import EVERYBODY, Event, Record


def through_probe(view: AdversaryView) -> list[GradientEstimate]:
    """One estimate for each identifiable query of every agent that was heard; agent by agent, in order.

    `stddev` is the root mean square over the coordinates. You get an `AttackError` where nothing was heard that a
    probe can use, a codec changes what is sent, or the messages are no affine function of the gradients.
    """
    agents = sorted(set(range(view.public.agents)) - view.inside.keys() - view.public.forgetful)
    heard = {agent: rows for agent in agents if (rows := rows_of(view, agent))}
    if not heard:
        raise AttackError(
            "from what was heard a probe cannot put together what any agent got and sent (of messages to single "
            "agents only Walkman's token tells): it needs a tap at a door, or all links around one that exchanges"
        )
    return [estimate for agent, rows in heard.items() for estimate in _identified(probed(view, agent, rows))]


def probed(view: AdversaryView, agent: int, rows: tuple[Record, ...] | None = None) -> Probed:
    """All that a probe tells of one agent, also which of its gradients are not identifiable, and why not."""
    check_lossless(view)
    chosen = rows_of(view, agent) if rows is None else rows
    if not chosen:
        raise AttackError(f"nothing was heard of agent {agent} that a probe can use")
    return probe(Recording(view.public, agent, chosen, view.replicas, np.random.default_rng(0)))


def rows_of(view: AdversaryView, agent: int) -> tuple[Record, ...]:
    """The record at the agent's door: as it was recorded, or put together from links; empty where it cannot be."""
    if agent in view.adversary.doors:
        return view.at_node(agent)
    if isinstance(view.public.algorithm, Walkman):
        return tuple(_walked(view, agent, view.public.algorithm.first))
    if not view.public.patience.endless or any(row.kind == "direct" for row in view.transcript):
        return ()
    return tuple(_exchanged(view, agent))


def _exchanged(view: AdversaryView, agent: int) -> Iterator[Record]:
    exchanges = Exchanges(view)
    taken = exchanges.taken(agent)
    for number in range(len(taken) + 1):
        if (agent, number) not in exchanges.told:
            return
        yield _row("sent", agent, EVERYBODY, "exchange", number, exchanges.told[agent, number])
        if number not in taken:
            return
        for j, values in zip(view.public.neighbors[agent], taken[number], strict=True):
            yield _row("received", j, agent, "exchange", number, values)


def _walked(view: AdversaryView, agent: int, first: int) -> Iterator[Record]:
    """Who gave the agent its token, and whom it gave it to, the algorithm does not ask."""
    for visit in unbroken_visits(view, first, "u"):
        if visit.agent == agent:
            if visit.number > 0 or agent != first:
                yield _row("received", NOBODY, agent, "direct", visit.number, visit.incoming)
            yield _row("sent", agent, NOBODY, "direct", visit.number, visit.outgoing)


def _row(event: Event, sender: int, receiver: int, kind: Kind, number: int, values: Values) -> Record:
    return Record(0.0, "node", event, sender, receiver, kind, number, -1, 0, 0, values)


def _identified(found: Probed) -> list[GradientEstimate]:
    stddev = np.sqrt(np.mean(found.stddev**2, axis=-1))
    return [
        GradientEstimate(found.agent, t, found.points[t], found.gradients[t], float(stddev[t]))
        for t in np.flatnonzero(found.identifiable).tolist()
    ]
