"""Exchanges in a view: what each agent sent and took, and one agent's record in its code's order, gaps marked.

At a tapped door the record is the agent's own. On links an eavesdropper puts it together: what the agent sent and
what its neighbors sent it, for algorithms that only exchange and wait for everybody, and for tokens that walk. What
was not observed (lost at the tap, on a link that nobody taps, before the tap began) is a gap up to the last message
of the agent that was observed (`attacks.replay.recorded.gap`).
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from operator import attrgetter

from attacks.closed_form.token_walk import NOBODY
from attacks.replay.recorded import gap
from netsim.adversary import AdversaryView
from netsim.algorithms import DPRecal, Recal, Walkman
from netsim.errors import AttackError
from netsim.network.links import Shelf
from netsim.transcript.message import Kind, Message, Values
from netsim.transcript.record import EVERYBODY, Event, Record


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
                taken[row.number] = [one.values for one in shelf.collect(own).values()]
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
            sent = {row.number: row for row in self._messages if row.sender == agent}
            return tuple(self._visits(agent, self._placed, sent))
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
        if isinstance(self._view.public.algorithm, TOKENS):
            sent = {row.number: row for row in rows if row.event == "sent"}
            return tuple(self._visits(agent, [row for row in rows if row.event != "closed"], sent))
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
    def _messages(self) -> tuple[Record, ...]:
        return tuple(row for row in self._view.messages() if row.kind == "direct")

    @cached_property
    def _placed(self) -> list[Record]:
        """The messages whose place in the order of all is known.

        It is not by clocks that err; nor where a tap that loses packets observed only the repetition of one, nor
        between links and doors at one time.
        """
        adversary = self._view.adversary
        if adversary.clock_error:
            return []
        groups = (list(group) for _, group in groupby(self._messages, key=attrgetter("time")))
        sure = [row for group in groups if len({row.place for row in group}) == 1 for row in group]
        return [row for row in sure if row.attempt == 0 or adversary.capture_loss == 0]

    def _visits(self, agent: int, placed: Sequence[Record], sent: dict[int, Record]) -> Iterator[Record]:
        """Yield the visits; the algorithm does not depend on who gave the agent its token, and whom it gave it to."""
        algorithm = self._view.public.algorithm
        assert isinstance(algorithm, TOKENS)
        names = next((tuple(row.values) for row in sent.values()), ())
        starts = agent == algorithm.first
        # a first holder that begins anew sends out another token: then no order of packets on links shows which one
        # an agent had, and only its own door does
        several = algorithm.first in self._view.public.forgetful and agent not in self._view.adversary.doors
        taken = {} if several else self._taken(agent, placed, starts)
        for visit in range(max(sent, default=-1) + 1):
            if visit in taken:
                yield _row("received", NOBODY, agent, "direct", visit, taken[visit].values)
            elif visit > 0 or not starts:
                yield gap("received", NOBODY, agent, "direct", visit, names)
            if visit in sent:
                yield _row("sent", agent, NOBODY, "direct", visit, sent[visit].values)
            else:
                yield gap("sent", agent, NOBODY, "direct", visit)

    def _taken(self, agent: int, placed: Sequence[Record], starts: bool) -> dict[int, Record]:
        """The token of each visit, as far as it is sure.

        Between what the agent sent as its m-th message and as its n-th it took n − m tokens. So many that were
        observed are all of them; fewer are the last ones, where nothing since the first that was observed can have
        been missed.
        """
        taken: dict[int, Record] = {}
        waiting: list[Record] = []
        last, complete = 0 if starts else -1, self._complete(agent)
        for row in placed:
            if row.receiver == agent:
                waiting.append(row)
            elif row.sender == agent:
                if len(waiting) == row.number - last or (complete and len(waiting) < row.number - last):
                    taken |= {row.number - back: token for back, token in enumerate(reversed(waiting))}
                waiting, last = [], row.number
        return taken

    def _complete(self, agent: int) -> bool:
        """Whether all that passes the agent is observed, from when on it is."""
        adversary, neighbors = self._view.adversary, self._view.public.neighbors[agent]
        if agent in adversary.doors or set(neighbors) <= self._view.inside.keys():
            return True
        links = adversary.links
        whole = links == "all" or (links is None and not adversary.insiders)
        if isinstance(links, tuple):
            whole = all((agent, j) in links or (j, agent) in links for j in neighbors)
        return whole and adversary.capture_loss == 0


def _row(event: Event, sender: int, receiver: int, kind: Kind, number: int, values: Values) -> Record:
    return Record(0.0, "node", event, sender, receiver, kind, number, -1, 0, 0, values)
