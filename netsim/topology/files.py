# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (networkx ships no types)
"""Graphs from files: GraphML, or one link per line."""

from pathlib import Path
from typing import Literal
from xml.etree.ElementTree import ParseError

import networkx as nx

from netsim.errors import ScenarioError
from netsim.topology.builders import METROPOLIS, from_graph
from netsim.topology.graph import Graph, Topology
from netsim.topology.weights import Weights

Format = Literal["auto", "graphml", "edges"]
FORMATS: dict[str, Format] = {
    ".graphml": "graphml",
    ".xml": "graphml",
    ".edges": "edges",
    ".edgelist": "edges",
    ".txt": "edges",
}
"""What "auto" takes a file for, by the end of its name."""


def from_file(path: str | Path, format: Format = "auto", *, weights: Weights = METROPOLIS) -> Topology:  # noqa: A002
    """The graph of a file; the names of its nodes become the labels.

    "graphml": undirected; the numbers `x` and `y` of the nodes, where all have them, are their places, and other
    attributes are ignored. "edges": two names a line, separated by blanks; further columns and what follows a # are
    ignored. Nodes named 0 … n−1 keep their numbers; others are numbered in the order of the file. A relative `path`
    starts at the working directory. You get a `ScenarioError` for a file that cannot be read, with its line where
    one is at fault.
    """
    source = Path(path)
    chosen = FORMATS.get(source.suffix.lower()) if format == "auto" else format
    if chosen is None:
        raise ScenarioError("format", format, f"the name {source.name!r} does not say what it is", "graphml, edges")
    graph = _graphml(source) if chosen == "graphml" else _edges(source)
    if graph.is_directed():
        raise ScenarioError("path", str(path), "the graph is directed", 'edgedefault="undirected"')
    return from_graph(graph, f"graph of {source.name}", weights=weights)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = f"no readable file ({error})"
        raise ScenarioError("path", str(path), problem, "a file, from the working directory") from error


def _graphml(path: Path) -> Graph:
    text = _text(path)
    try:
        return nx.parse_graphml(text)
    except (nx.NetworkXError, ParseError, KeyError, ValueError) as error:
        raise ScenarioError("path", str(path), f"not valid GraphML: {error}", "GraphML") from error


def _edges(path: Path) -> Graph:
    graph = nx.Graph()
    for number, line in enumerate(_text(path).splitlines(), start=1):
        words = line.partition("#")[0].split()
        if len(words) == 1:
            raise ScenarioError("path", str(path), f"line {number}: {line.strip()!r} is no link", "two names")
        if words:
            graph.add_edge(words[0], words[1])
    return graph
