"""What a view tells of exchanges: what each agent told, and what it took from its neighbors."""

from functools import cached_property

from netsim.adversary import AdversaryView
from netsim.messages import Message, Values
from netsim.patience import Shelf


class Exchanges:
    """All exchanges of a view, as far as they were heard."""

    def __init__(self, view: AdversaryView) -> None:
        self._view = view

    @cached_property
    def told(self) -> dict[tuple[int, int], Values]:
        """What was told, by agent and number of the exchange, from 0: as it was sent, or (at a door) delivered."""
        told: dict[tuple[int, int], Values] = {}
        delivered: dict[tuple[int, int], Values] = {}
        for row in self._view.transcript:
            if row.kind == "exchange" and row.event != "closed":
                known = delivered if row.event == "received" else told
                known.setdefault((row.sender, row.number), row.values)
        return delivered | told

    def taken(self, agent: int) -> dict[int, list[Values]]:
        """What the agent took from its neighbors, in their order, by number; only where all of it is known.

        At the agent's door that is what was delivered. Elsewhere it is what the neighbors told, unless exchanges may
        end without some messages (`netsim.patience`): then nobody else knows.
        """
        at_door = agent in self._view.adversary.doors
        if not self._view.public.patience.endless:
            return self._closed(agent) if at_door else {}
        return self._complete(agent, self._delivered(agent) if at_door else self.told)

    def _delivered(self, agent: int) -> dict[tuple[int, int], Values]:
        delivered: dict[tuple[int, int], Values] = {}
        for row in self._view.at_node(agent):
            if row.kind == "exchange" and row.event == "received":
                delivered.setdefault((row.sender, row.number), row.values)
        return delivered

    def _complete(self, agent: int, told: dict[tuple[int, int], Values]) -> dict[int, list[Values]]:
        neighbors = self._view.public.neighbors[agent]
        numbers = [k for i, k in told if i == neighbors[0]]
        return {k: [told[j, k] for j in neighbors] for k in numbers if all((j, k) in told for j in neighbors)}

    def _closed(self, agent: int) -> dict[int, list[Values]]:
        public = self._view.public
        shelf, taken = Shelf(public.neighbors[agent], public.patience), dict[int, list[Values]]()
        told: Message | None = None
        for row in self._view.at_node(agent):
            if row.kind != "exchange":
                continue
            message = Message(row.sender, row.kind, row.number, row.values)
            if row.event == "sent":
                told = message
            elif row.event == "received":
                shelf.put(message)
            elif told is not None:
                taken[row.number] = [heard.values for heard in shelf.collect(told).values()]
        return taken
