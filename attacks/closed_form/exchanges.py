"""Exchanges in a view: what each agent sent and took, and one agent's record in its code's order, gaps marked.

At a tapped door the record is the agent's own. On links an eavesdropper puts it together: what the agent sent and
what its neighbors sent it, for algorithms that only exchange and wait for everybody, and for tokens that walk. What
was not observed (lost at the tap, on a link that nobody taps, before the tap began) is a gap up to the last message
of the agent that was observed (`attacks.replay.recorded.gap`).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from attacks.closed_form.token_walk import NOBODY, walked
from attacks.closed_form.token_ways import Agreed, Id
from attacks.replay.recorded import gap
from netsim.adversary import AdversaryView
from netsim.algorithms import DPRecal, Recal, Walkman
from netsim.errors import AttackError
from netsim.network.links import Shelf
from netsim.transcript.message import EVERYBODY, Event, Kind, Message, Record, Values


class Exchanges:
    """All exchanges of a view, as far as they were observed."""

    def __init__(self, view: AdversaryView) -> None:
        self._view = view
        self.agents = sorted(set(range(view.public.agents)) - view.inside.keys() - view.public.forgetful)
        """Those of which something may be inferred: no insiders, and none that may begin anew."""

    @cached_property
    def sent(self) -> dict[tuple[int, int], Values]:
        """Values by agent and number of the exchange, from 0: as it was sent, or (at a door) delivered."""
        sent: dict[tuple[int, int], Values] = {}
        delivered: dict[tuple[int, int], Values] = {}
        for row in self._view.transcript:
            if row.kind == "exchange" and row.event != "closed":
                known = delivered if row.event == "received" else sent
                known.setdefault((row.sender, row.number), row.values)
        return delivered | sent

    def taken(self, agent: int) -> dict[int, list[Values]]:
        """Values that the agent took from its neighbors, in their order, by number; only where all of them are known.

        At the agent's door that is what was delivered. Elsewhere it is what the neighbors sent, unless exchanges may
        end without some messages (`netsim.network.links`): then nobody else knows.
        """
        at_door, sent = agent in self._view.adversary.doors, dict[tuple[int, int], Values]()
        if not self._view.public.exchange_policy.endless:
            return self._closed(agent) if at_door else {}
        for row in self._view.at_node(agent) if at_door else ():
            if row.kind == "exchange" and row.event == "received":
                sent.setdefault((row.sender, row.number), row.values)
        sent = sent if at_door else self.sent
        neighbors = self._view.public.neighbors[agent]
        numbers = [k for i, k in sent if i == neighbors[0]]
        return {k: [sent[j, k] for j in neighbors] for k in numbers if all((j, k) in sent for j in neighbors)}

    def _closed(self, agent: int) -> dict[int, list[Values]]:
        public = self._view.public
        shelf, taken = Shelf(public.neighbors[agent], public.exchange_policy), dict[int, list[Values]]()
        own: Message | None = None
        for row in self._view.at_node(agent):
            if row.kind != "exchange":
                continue
            message = Message(row.sender, row.kind, row.number, row.values)
            if row.event == "sent":
                own = message
            elif row.event == "received":
                shelf.put(message)
            elif own is not None:
                taken[row.number] = [one.values for one in shelf.collect(own)]
        return taken


TOKENS = Walkman | Recal | DPRecal
"""Algorithms of one token: an agent sends one message for each that it gets, in the order of visits."""


class Surroundings:
    """Records at the agents' doors, put together from a view."""

    def __init__(self, view: AdversaryView) -> None:
        self._view = view
        self._exchanges = Exchanges(view)

    def rows(self, agent: int) -> tuple[Record, ...]:
        """The record at the agent's door, as far as it can be put together; empty where it cannot be.

        You get an `AttackError` where a door's record does not begin with the agent's first message, and neither
        exchanges alone nor a token's visits show what may have passed before.
        """
        if agent in self._view.adversary.doors:
            return self._at_door(agent)
        if isinstance(self._view.public.algorithm, TOKENS):
            heard, way = self._walk
            sent = {row.number: row for row in heard.values() if row.sender == agent}
            brought = {k: heard[token] for (i, k), token in way.came.items() if i == agent and token in heard}
            return tuple(self._visits(agent, brought, sent))
        directs = any(row.kind == "direct" for row in self._view.transcript)
        if directs or not self._view.public.exchange_policy.endless:
            return ()
        return tuple(self._exchanged(agent))

    def _at_door(self, agent: int) -> tuple[Record, ...]:
        rows = self._view.at_node(agent)
        numbers: dict[Kind, list[int]] = {}
        for row in rows:
            if row.event == "sent":
                numbers.setdefault(row.kind, []).append(row.number)
        if all(found == list(range(len(found))) for found in numbers.values()):
            return rows
        algorithm = self._view.public.algorithm
        if isinstance(algorithm, TOKENS):
            sent = {row.number: row for row in rows if row.event == "sent"}
            return tuple(self._visits(agent, _taken(rows, 0 if agent == algorithm.first else -1), sent))
        if not self._view.public.exchange_policy.endless or "direct" in numbers:
            raise AttackError(
                f"the record at agent {agent}'s door begins after its first message: what came before, and when, its "
                "later messages do not show"
            )
        return tuple(self._exchanged(agent))

    # ── exchanges ───────────────────────────────────────────────────────────────────────────────────
    def _exchanged(self, agent: int) -> Iterator[Record]:
        sent, neighbors = self._exchanges.sent, self._view.public.neighbors[agent]
        last = max((number for i, number in sent if i == agent), default=-1)
        for number in range(last + 1):
            if (agent, number) in sent:
                yield _row("sent", agent, EVERYBODY, "exchange", number, sent[agent, number])
            else:
                yield gap("sent", agent, EVERYBODY, "exchange", number)
            for j in neighbors:
                if (j, number) in sent:
                    yield _row("received", j, agent, "exchange", number, sent[j, number])

    # ── tokens ──────────────────────────────────────────────────────────────────────────────────────
    @cached_property
    def _walk(self) -> tuple[dict[Id, Record], Agreed]:
        algorithm = self._view.public.algorithm
        assert isinstance(algorithm, TOKENS)
        return walked(self._view, algorithm.first)

    def _visits(self, agent: int, taken: Mapping[int, Record], sent: Mapping[int, Record]) -> Iterator[Record]:
        """Yield the visits; the algorithm does not depend on who gave the agent its token, and whom it gave it to."""
        algorithm = self._view.public.algorithm
        assert isinstance(algorithm, TOKENS)
        names = next((tuple(row.values) for row in sent.values()), ())
        starts = agent == algorithm.first
        for visit in range(max(sent, default=-1) + 1):
            if visit in taken:
                yield _row("received", NOBODY, agent, "direct", visit, taken[visit].values)
            elif visit > 0 or not starts:
                yield gap("received", NOBODY, agent, "direct", visit, names)
            if visit in sent:
                yield _row("sent", agent, NOBODY, "direct", visit, sent[visit].values)
            else:
                yield gap("sent", agent, NOBODY, "direct", visit)


def _taken(rows: Sequence[Record], last: int) -> dict[int, Record]:
    """The token of each visit, as far as it is sure, at a door whose record begins late; `last`: the number of the
    visit before the first that a token brings.

    Between what the agent sent as its m-th message and as its n-th it took n − m tokens. So many that were observed
    are all of them; fewer are the last ones.
    """
    taken: dict[int, Record] = {}
    waiting: list[Record] = []
    for row in rows:
        if row.event == "received":
            waiting.append(row)
        elif row.event == "sent":
            if len(waiting) <= row.number - last:
                taken |= {row.number - back: token for back, token in enumerate(reversed(waiting))}
            waiting, last = [], row.number
    return taken


def _row(event: Event, sender: int, receiver: int, kind: Kind, number: int, values: Values) -> Record:
    return Record(0.0, "node", event, sender, receiver, kind, number, -1, 0, 0, values)
