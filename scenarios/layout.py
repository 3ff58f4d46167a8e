"""Where the report draws agents: where they are, if the scenario's eavesdropper or radio has to do with places."""

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

from netsim.adversary import Adversary
from netsim.arrays import Array
from netsim.topology import Topology
from netsim.wiretaps import Within


def drawn(topology: Topology, adversary: Adversary, on_radio: bool, seed: int) -> dict[str, Any]:
    """`positions` of the agents in the unit square, and the eavesdropper's `disc` among them, or None."""
    places, rule = topology.positions, adversary.links
    if places is None or not (on_radio or isinstance(rule, Within)):
        return {"positions": _pattern(topology, seed).tolist(), "disc": None}
    corner, side = places.min(axis=0), float(np.max(np.ptp(places, axis=0))) or 1.0
    disc = None
    if isinstance(rule, Within):
        disc = {"at": ((np.array(rule.at) - corner) / side).tolist(), "range": rule.range / side}
    return {"positions": ((places - corner) / side).tolist(), "disc": disc}


def _pattern(topology: Topology, seed: int) -> Array:
    """A circle, or for many agents what springs make of the graph; each axis fills the unit square."""
    place: Mapping[int, Array] = (
        nx.circular_layout(topology.graph) if topology.agents <= 40 else nx.spring_layout(topology.graph, seed=seed)
    )
    points = np.array([place[i] for i in range(topology.agents)])
    return (points - points.min(axis=0)) / np.maximum(np.ptp(points, axis=0), 1e-9)
