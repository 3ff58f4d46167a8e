"""Topology: graphs by name or from a file, mixing weights, spectra."""

from netsim.topology.builders import (
    BUILDERS,
    balanced_tree,
    barabasi_albert,
    complete,
    erdos_renyi,
    from_edges,
    from_file,
    from_graph,
    grid,
    hypercube,
    path,
    random_geometric,
    random_regular,
    random_tree,
    ring,
    star,
    torus,
    watts_strogatz,
)
from netsim.topology.graph import DENSE_AGENTS, Graph, Places, Topology
from netsim.topology.weights import RULES, Rule, Weights, metropolis

BUILDERS["file"] = from_file

__all__ = [
    "BUILDERS",
    "DENSE_AGENTS",
    "RULES",
    "Graph",
    "Places",
    "Rule",
    "Topology",
    "Weights",
    "balanced_tree",
    "barabasi_albert",
    "complete",
    "erdos_renyi",
    "from_edges",
    "from_file",
    "from_graph",
    "grid",
    "hypercube",
    "metropolis",
    "path",
    "random_geometric",
    "random_regular",
    "random_tree",
    "ring",
    "star",
    "torus",
    "watts_strogatz",
]
