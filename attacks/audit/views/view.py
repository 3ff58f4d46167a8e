# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (networkx ships no types)
"""Points of view on one network, ordered by what they know: a link, a node, a coalition, everything."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import networkx as nx

from netsim.adversary import Adversary
from netsim.arrays import Mask
from netsim.errors import AttackError

Kind = Literal["link", "transmitter", "door", "node", "coalition", "outside"]
Order: TypeAlias = Any
"""A `networkx.DiGraph` on names of views (networkx ships no types)."""


@dataclass(frozen=True)
class View:
    """One adversary, by name. `knows` names what it hears or is: a view whose `knows` is a part of another's is
    contained in it, if what was recorded agrees (`hasse`), and all that it can tell the other one can tell too.

    `taps` says in words where it sits; `links` and `agents` where to draw it.
    """

    name: str
    kind: Kind
    adversary: Adversary
    knows: frozenset[str]
    taps: str
    links: tuple[tuple[int, int], ...] = ()
    agents: tuple[int, ...] = ()

    def within(self, other: "View") -> bool:
        """Whether the other one knows all that this one knows, and more."""
        return self.knows < other.knows


def checked(views: Sequence[View]) -> tuple[View, ...]:
    """You get an `AttackError` for no view, and for two of one name."""
    names = [view.name for view in views]
    if not names:
        raise AttackError("no view to look from")
    for name in names:
        if names.count(name) > 1:
            raise AttackError(f"two views are called {name!r}")
    return tuple(views)


def hasse(views: Sequence[View], recorded: Mask | None = None) -> Order:
    """The order of inclusion: an edge from each view to the next larger ones, those with nothing in between.

    `recorded[k, m]`, (views, views): whether the m-th view recorded every value that the k-th one did. Where it did
    not, a message that never got there, there is no inclusion, whatever the views are said to know.
    """
    graph: Any = nx.DiGraph()
    for view in views:
        graph.add_node(view.name, kind=view.kind)
    for k, one in enumerate(views):
        for m, other in enumerate(views):
            if one.within(other) and (recorded is None or recorded[k, m]):
                graph.add_edge(one.name, other.name)
    reduced: Any = nx.transitive_reduction(graph)
    reduced.add_nodes_from(graph.nodes(data=True))
    return reduced


def contained(order: Order, name: str) -> frozenset[str]:
    """All views that a view contains."""
    smaller: set[str] = nx.ancestors(order, name)
    return frozenset(smaller)
