# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (networkx ships no types)
"""Topology: graphs by name, from networkx, or from a file (GraphML, or one link per line).

Each takes the rule or the matrix of its `weights`. A name and a seed are the graph that networkx's generator of that
name makes of them. Shapes, random regular, Erdős–Rényi and geometric graphs are made as arrays, which takes a million
agents seconds; the other random graphs come from networkx itself, in memory of objects while they are drawn.
"""

import csv
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import isfinite, log, pi, sqrt
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, cast
from xml.etree.ElementTree import ParseError

import numpy as np
from annotated_types import Ge, Gt, Le
from numpy.typing import NDArray

from netsim.arguments import checked
from netsim.arrays import Array
from netsim.errors import ScenarioError, what
from netsim.files import MOST_BYTES, read_text, unreadable
from netsim.topology.graph import (
    DENSE_AGENTS,
    RULES,
    Graph,
    Places,
    Rule,
    Sparse,
    Topology,
    Weights,
    linked,
    networkx,
)

__all__ = [
    "BUILDERS",
    "DENSE_AGENTS",
    "RULES",
    "Graph",
    "Places",
    "Rule",
    "Sparse",
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
    "path",
    "random_geometric",
    "random_regular",
    "random_tree",
    "ring",
    "star",
    "torus",
    "watts_strogatz",
]

Ends: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Both ends of every link, (m,) each."""

_METROPOLIS = "metropolis"
_EVERY_PAIR = 5_000
"""Below this many agents an Erdős–Rényi graph tosses a coin for every pair; from it on it skips to the links."""
_DRAWS = 1_000
"""So often a graph with a given number of links is drawn until it is connected."""
_BLOCK = 65_536
"""How many random numbers are drawn at once where it is not known how many it takes."""
LINKS = 5_000_000
"""More links than this are refused before they are drawn."""

_MOST_AGENTS = 1_000_000
MANY = 1_000
"""More rows, columns, levels, children or neighbors than this are a slip of the keyboard."""

_Agents = Annotated[int, Ge(2), Le(_MOST_AGENTS), "How many agents."]
_ThreeAgents = Annotated[int, Ge(3), Le(_MOST_AGENTS), "How many agents."]
Rows = Annotated[int, Ge(1), Le(MANY), "How many rows."]
Columns = Annotated[int, Ge(1), Le(MANY), "How many columns."]
_ThreeRows = Annotated[int, Ge(3), Le(MANY), "How many rows."]
_ThreeColumns = Annotated[int, Ge(3), Le(MANY), "How many columns."]
Dimension = Annotated[int, Ge(1), Le(16), "There are 2^dimension agents."]
_Branching = Annotated[int, Ge(1), Le(MANY), "How many children an agent has."]
_Height = Annotated[int, Ge(1), Le(MANY), "How many levels lie below the root."]
_Degree = Annotated[int, Ge(1), Le(MANY), "How many neighbors an agent has."]
_Nearest = Annotated[int, Ge(2), Le(MANY), "How many of the closest agents each is linked to at first; even."]
_Attach = Annotated[int, Ge(1), Le(MANY), "How many others a new agent is linked to."]
_Chance = Annotated[
    float | None, Gt(0), Le(1), "The probability of each edge; none: `links` says how many there are."
]
_Links = Annotated[int | None, Ge(1), Le(LINKS), "How many links, in place of a probability."]
_Rewiring = Annotated[float, Ge(0), Le(1), "The probability that a link is rewired."]
_Radius = Annotated[float, Gt(0), "How far agents reach that are neighbors, in a square of side 1."]
Seed = Annotated[int, Ge(0), "The seed of the draw."]


# ── regular shapes ──────────────────────────────────────────────────────────────────────────────────────


@checked
def ring(agents: _ThreeAgents, *, weights: Weights = _METROPOLIS) -> Topology:
    """Agent i is linked to i − 1 and i + 1 (modulo n)."""
    _at_least(3, agents=agents)
    every = np.arange(agents)
    return Topology(linked(agents, every, (every + 1) % agents), f"ring of {agents}", weights)


@checked
def complete(agents: _Agents, *, weights: Weights = _METROPOLIS) -> Topology:
    """Every agent is linked to every other."""
    _at_least(2, agents=agents)
    _affordable("agents", agents, agents * (agents - 1) / 2)
    return Topology(linked(agents, *np.triu_indices(agents, 1)), f"complete graph of {agents}", weights)


@checked
def path(agents: _Agents, *, weights: Weights = _METROPOLIS) -> Topology:
    """A line: agent i is at (i, 0) and is linked to i ± 1."""
    _at_least(2, agents=agents)
    return _sheet(f"path of {agents}", 1, agents, weights, periodic=False)


@checked
def star(agents: _Agents, *, weights: Weights = _METROPOLIS) -> Topology:
    """Agent 0 is linked to all others, and they only to it."""
    _at_least(2, agents=agents)
    others = np.arange(1, agents)
    return Topology(linked(agents, np.zeros_like(others), others), f"star of {agents}", weights)


@checked
def grid(rows: Rows, columns: Columns, *, weights: Weights = _METROPOLIS) -> Topology:
    """A sheet: agent r·columns + c is in row r and column c, at (c, r), linked to those above, below and beside."""
    _at_least(1, rows=rows)
    _at_least(1 if rows > 1 else 2, columns=columns)
    return _sheet(f"grid of {rows} × {columns}", rows, columns, weights, periodic=False)


@checked
def torus(rows: _ThreeRows, columns: _ThreeColumns, *, weights: Weights = _METROPOLIS) -> Topology:
    """A grid whose opposite sides touch: every agent has four neighbors. Its places are the grid's, unwrapped."""
    _at_least(3, rows=rows, columns=columns)
    return _sheet(f"torus of {rows} × {columns}", rows, columns, weights, periodic=True)


@checked
def hypercube(dimension: Dimension, *, weights: Weights = _METROPOLIS) -> Topology:
    """2^dimension agents; two are neighbors where their numbers differ in one binary digit."""
    _at_least(1, dimension=dimension)
    _affordable("dimension", dimension, dimension * 2.0 ** (min(dimension, 1000) - 1))
    every, digits = np.arange(2**dimension), 1 << np.arange(dimension)
    graph = linked(len(every), np.repeat(every, dimension), (every[:, None] ^ digits).ravel())
    return Topology(graph, f"hypercube of dimension {dimension}", weights)


@checked
def balanced_tree(branching: _Branching, height: _Height, *, weights: Weights = _METROPOLIS) -> Topology:
    """Agent 0 is the root; every agent above the last of `height` levels has `branching` children."""
    _at_least(1, branching=branching, height=height)
    _affordable("height", height, float(branching) ** min(height, 64))
    others = np.arange(1, sum(branching**level for level in range(height + 1)))
    graph = linked(len(others) + 1, (others - 1) // branching, others)
    return Topology(graph, f"tree of height {height}, {branching} children each", weights)


# ── random graphs ───────────────────────────────────────────────────────────────────────────────────────


@checked
def random_tree(agents: _Agents, seed: Seed = 0, *, weights: Weights = _METROPOLIS) -> Topology:
    """Each of the n^(n−2) trees on n numbered agents with the same probability."""
    _at_least(2, agents=agents)
    graph = networkx().random_labeled_tree(agents, seed=_seed(seed))
    return Topology(graph, f"random tree of {agents}, seed {seed}", weights)


@checked
def random_regular(agents: _Agents, degree: _Degree, seed: Seed = 0, *, weights: Weights = _METROPOLIS) -> Topology:
    """Every agent has `degree` neighbors; close to uniform among such graphs (Kim, Vu 2003)."""
    _at_least(2, agents=agents)
    _at_least(1, degree=degree)
    if degree >= agents:
        raise ScenarioError("degree", degree, "more neighbors than there are other agents", f"<= {agents - 1}")
    if agents * degree % 2:
        raise ScenarioError("degree", degree, f"{agents} × {degree} ends of links are odd", "an even product")
    _affordable("degree", degree, agents * degree / 2)
    graph = linked(agents, *_regular(agents, degree, random.Random(_seed(seed))))
    name = f"random {degree}-regular graph of {agents}, seed {seed}"
    return _drawn(graph, name, weights, "a degree of 3 or more" if degree < 3 else "")


@checked
def erdos_renyi(
    agents: _Agents,
    probability: _Chance = None,
    seed: Seed = 0,
    links: _Links = None,
    *,
    weights: Weights = _METROPOLIS,
) -> Topology:
    """Every edge independently with `probability`; or so many `links`, each connected graph with them alike.

    From 5,000 agents on the draw takes time in proportion to the links (Batagelj, Brandes 2005). With `links` it is
    repeated until the graph is connected.
    """
    _at_least(2, agents=agents)
    if (probability is None) == (links is None):
        raise ScenarioError("probability", probability, "one of the two says how many links", "probability, or links")
    if links is not None:
        return _with_links(agents, links, seed, weights)
    if probability is None or not 0 < probability <= 1:
        raise ScenarioError("probability", probability, "no probability of an edge", "0 < probability <= 1")
    _affordable("probability", probability, probability * agents * (agents - 1) / 2)
    draw = _every_pair if agents < _EVERY_PAIR else _skipping
    graph = linked(agents, *draw(agents, probability, random.Random(_seed(seed))))
    name = f"Erdős–Rényi graph of {agents}, p = {probability:g}, seed {seed}"
    return _drawn(graph, name, weights, f"a probability well above ln(n)/n = {log(agents) / agents:.3g}")


def _with_links(agents: int, links: int, seed: int, weights: Weights) -> Topology:
    """Uniform among the connected graphs with so many links."""
    if not agents - 1 <= links <= agents * (agents - 1) // 2:
        allowed = f"{agents - 1} … {agents * (agents - 1) // 2}"
        raise ScenarioError("links", links, f"no connected graph of {agents} agents has so many", allowed)
    draws = random.Random(_seed(seed))
    graph = networkx().gnm_random_graph(agents, links, seed=draws)
    for _ in range(_DRAWS):
        if networkx().is_connected(graph):
            break
        graph = networkx().gnm_random_graph(agents, links, seed=draws)
    name = f"Erdős–Rényi graph of {agents}, {links} links, seed {seed}"
    return _drawn(graph, name, weights, f"links well above n ln(n)/2 = {agents * log(agents) / 2:.3g}")


@checked
def watts_strogatz(
    agents: _ThreeAgents, nearest: _Nearest, probability: _Rewiring, seed: Seed = 0, *, weights: Weights = _METROPOLIS
) -> Topology:
    """A ring of links from each agent to its `nearest` (even) closest, each link rewired with `probability`."""
    _at_least(3, agents=agents)
    if nearest < 2 or nearest % 2 or nearest >= agents:
        raise ScenarioError("nearest", nearest, "half of them sit on each side", f"even, 2 … {agents - 1}")
    if not 0 <= probability <= 1:
        raise ScenarioError("probability", probability, "a rewiring probability", "0 <= probability <= 1")
    _affordable("nearest", nearest, agents * nearest / 2)
    graph = networkx().watts_strogatz_graph(agents, nearest, probability, seed=_seed(seed))
    name = f"Watts–Strogatz graph of {agents}, k = {nearest}, p = {probability:g}, seed {seed}"
    return _drawn(graph, name, weights, "more nearest, or a smaller probability")


@checked
def barabasi_albert(agents: _Agents, attach: _Attach, seed: Seed = 0, *, weights: Weights = _METROPOLIS) -> Topology:
    """Grown from a star: each new agent is linked to `attach` others, popular ones more likely. Always connected."""
    _at_least(2, agents=agents)
    if not 1 <= attach < agents:
        raise ScenarioError("attach", attach, "links of each new agent", f"1 … {agents - 1}")
    _affordable("attach", attach, agents * attach)
    graph = networkx().barabasi_albert_graph(agents, attach, seed=_seed(seed))
    return Topology(graph, f"Barabási–Albert graph of {agents}, m = {attach}, seed {seed}", weights)


@checked
def random_geometric(agents: _Agents, radius: _Radius, seed: Seed = 0, *, weights: Weights = _METROPOLIS) -> Topology:
    """Agents uniform in the unit square, an edge up to distance `radius`."""
    _at_least(2, agents=agents)
    if not radius > 0:
        raise ScenarioError("radius", radius, "a distance in the unit square", "> 0")
    _affordable("radius", radius, min(1.0, pi * radius**2) * agents * (agents - 1) / 2)
    places = _uniform(random.Random(_seed(seed)))(2 * agents).reshape(-1, 2)
    from scipy.spatial import cKDTree  # takes its time to load

    graph = linked(agents, *cKDTree(places).query_pairs(radius, output_type="ndarray").T)
    name = f"random geometric graph of {agents}, radius {radius:g}, seed {seed}"
    threshold = sqrt(log(agents) / (pi * agents))
    return _drawn(graph, name, weights, f"a radius well above √(ln(n)/πn) = {threshold:.3g}", places)


# ── given graphs ────────────────────────────────────────────────────────────────────────────────────────


@checked
def from_edges(agents: _Agents, edges: Iterable[tuple[int, int]], *, weights: Weights = _METROPOLIS) -> Topology:
    """The graph with exactly these undirected edges, each of them once."""
    _at_least(2, agents=agents)
    try:
        ends = np.array(edges if isinstance(edges, np.ndarray) else list(edges))
    except ValueError:
        raise ScenarioError("edges", edges, "some have more ends than others", "pairs of ints") from None
    if ends.size and ends.shape[1:] != (2,):
        raise ScenarioError("edges", ends[0].tolist(), "not the two ends of an edge", "pairs of ints")
    ends = ends.reshape(-1, 2)
    if ends.size and ends.dtype.kind not in "iu":
        raise ScenarioError("edges", ends[0].tolist(), "not numbers of agents", "pairs of ints")
    for index in np.flatnonzero(((ends < 0) | (ends >= agents)).any(axis=1))[:1].tolist():
        shown = ends[index].tolist()
        raise ScenarioError(f"edges[{index}]", shown, "an agent that is not there", f"0 … {agents - 1}")
    _, first, which = np.unique(np.sort(ends, axis=1), axis=0, return_index=True, return_inverse=True)
    for index in np.flatnonzero(first[which.ravel()] != np.arange(len(ends)))[:1].tolist():
        why = f"the same edge as edges[{first[which.ravel()[index]]}]: it has no direction"
        raise ScenarioError(f"edges[{index}]", ends[index].tolist(), why, "every edge once")
    graph = linked(agents, *ends.astype(np.int64).T)
    count = (graph.nnz + np.count_nonzero(graph.diagonal())) // 2
    return Topology(graph, f"graph of {agents} with {count} edges", weights)


@checked
def from_graph(graph: Graph, name: str = "graph", *, weights: Weights = _METROPOLIS) -> Topology:
    """Any undirected networkx graph: its node names become the labels.

    Nodes named 0 … n−1 keep their numbers; others are numbered in the graph's order. Parallel edges are one. Where
    every node has the numbers `x` and `y`, they are the agents' places.
    """
    if not isinstance(cast("object", graph), networkx().Graph):
        raise ScenarioError("graph", graph, what(graph), "a networkx.Graph")
    if graph.is_directed():
        raise ScenarioError("graph", type(graph).__name__, "it is directed", "an undirected graph")
    names = [str(node) for node in graph]
    by_number = set(names) == set(map(str, range(len(names))))
    order = sorted(graph, key=lambda node: int(str(node))) if by_number else list(graph)
    number = {node: i for i, node in enumerate(order)}
    ends = np.array([(number[a], number[b]) for a, b in graph.edges()], dtype=np.int64).reshape(-1, 2)
    plain = linked(len(order), *ends.T)
    places = [(graph.nodes[node].get("x"), graph.nodes[node].get("y")) for node in order]
    marked = all(
        isinstance(v, int | float) and not isinstance(v, bool) and isfinite(v) for place in places for v in place
    )
    return Topology(plain, name, weights, [str(node) for node in order], places if marked else None)


def _at_least(bound: int, **sizes: int) -> None:
    for name, value in sizes.items():
        if value < bound:
            raise ScenarioError(name, value, "too few", f">= {bound}")


def _affordable(name: str, value: float, links: float) -> None:
    if links > LINKS:
        raise ScenarioError(name, value, f"about {links:,.0f} links", f"up to {LINKS:,} links")


def _seed(seed: int) -> int:
    if seed < 0:
        raise ScenarioError("seed", seed, "no seed", ">= 0")
    return seed


def _sheet(name: str, rows: int, columns: int, weights: Weights, *, periodic: bool) -> Topology:
    """Agents row by row, each at (column, row)."""
    n = rows * columns
    every = np.arange(n)
    row, column = np.divmod(every, columns)
    below, beside = (row + 1) % rows * columns + column, row * columns + (column + 1) % columns
    down, right = (every, every) if periodic else (every[row + 1 < rows], every[column + 1 < columns])
    graph = linked(n, np.concatenate((down, right)), np.concatenate((below[down], beside[right])))
    return Topology(graph, name, weights, positions=np.column_stack((column, row)))


def _uniform(draws: random.Random) -> Callable[[int], Array]:
    """The next numbers of `draws.random()`, so many at once."""
    _, state, _ = draws.getstate()
    twister = np.random.RandomState()
    twister.set_state(("MT19937", np.array(state[:-1], dtype=np.uint32), state[-1], 0, 0.0))
    return twister.random_sample


def _regular(agents: int, degree: int, draws: random.Random) -> Ends:
    """Links of a random regular graph, by the draws of `networkx.random_regular_graph`: ends
    are paired at random, and those of loops and of links that are there are paired again; or all of them, where
    those that are left cannot be."""
    while True:
        stubs, keys = list(range(agents)) * degree, np.empty(0, dtype=np.int64)
        while stubs:
            draws.shuffle(stubs)
            ends = np.sort(np.array(stubs, dtype=np.int64).reshape(-1, 2), axis=1)
            key = ends[:, 0] * agents + ends[:, 1]
            order = np.argsort(key, kind="stable")
            fresh, rising = np.empty(len(key), dtype=bool), key[order]
            fresh[order] = np.concatenate(([True], rising[1:] != rising[:-1]))
            place = np.searchsorted(keys, key)
            fresh &= (ends[:, 0] != ends[:, 1]) & (np.append(keys, -1)[place] != key)
            left = Counter(ends[~fresh].ravel().tolist())
            keys = np.sort(np.concatenate((keys, key[fresh])), kind="stable")
            if not _goes_on(list(left), agents, keys):
                break
            stubs = list(left.elements())
        else:
            return np.divmod(keys, agents)


def _goes_on(left: list[int], agents: int, keys: NDArray[np.int64]) -> bool:
    """Whether networkx finds two agents with free ends that have no link, or no free end at all. Its inner loop goes
    on with the smaller of the two, so that it may pass over a pair: another answer would be another graph."""
    spans = np.searchsorted(keys, np.add.outer(np.array(left, dtype=np.int64) * agents, (0, agents)))
    there = {key for first, last in spans.tolist() for key in keys[first:last].tolist()}
    for s1 in left:
        for s2 in left:
            if s1 == s2:
                break
            s1, s2 = min(s1, s2), max(s1, s2)
            if s1 * agents + s2 not in there:
                return True
    return not left


def _every_pair(agents: int, probability: float, draws: random.Random) -> Ends:
    """Links of `networkx.gnp_random_graph`: a toss for every pair in order."""
    i, j = np.triu_indices(agents, 1)
    chosen = np.flatnonzero(_uniform(draws)(len(i)) < probability)
    return i[chosen], j[chosen]


def _skipping(agents: int, probability: float, draws: random.Random) -> Ends:
    """Links of `networkx.fast_gnp_random_graph`: pairs (0, 1), (0, 2), (1, 2), (0, 3), … are passed over in geometric
    numbers. Logarithms are those of `math`, of which NumPy's may differ in the last bit."""
    uniform, scale, last = _uniform(draws), log(1.0 - probability), agents * (agents - 1) // 2
    found, at = [np.empty(0, dtype=np.int64)], -1
    while scale and at < last:
        skipped = [min(1 + int(log(one) / scale), last) for one in (1.0 - uniform(_BLOCK)).tolist()]
        found.append(at + np.cumsum(np.array(skipped, dtype=np.int64)))
        at = int(found[-1][-1])
    pairs = np.concatenate(found)
    pairs = pairs[pairs < last]
    larger = ((1 + np.sqrt(1 + 8 * pairs)) / 2).astype(np.int64)
    larger -= larger * (larger - 1) // 2 > pairs
    larger += larger * (larger + 1) // 2 <= pairs
    return pairs - larger * (larger - 1) // 2, larger


def _drawn(graph: Graph, name: str, weights: Weights, remedy: str, places: Array | None = None) -> Topology:
    """A random graph; where it is disconnected the error says what would connect it."""
    try:
        return Topology(graph, name, weights, positions=places)
    except ScenarioError as error:
        if error.field != "topology":
            raise
        raise replace(error, allowed="another seed" + (f", or {remedy}" if remedy else "")) from None


Format = Literal["auto", "graphml", "edges", "csv"]
_FORMATS: dict[Format, tuple[str, ...]] = {
    "graphml": (".graphml", ".xml"), "edges": (".edges", ".edgelist", ".txt"), "csv": (".csv", ".tsv")
}  # fmt: skip
"""What "auto" takes a file for, by the end of its name."""


@checked
def from_file(path: str | Path, format: Format = "auto", *, weights: Weights = _METROPOLIS) -> Topology:  # noqa: A002
    """The graph of a file; the names of its nodes become the labels.

    "graphml": undirected; the numbers `x` and `y` of the nodes, where all have them, are their places, and other
    attributes are ignored. "edges": two names a line, separated by blanks; what follows a #, and further columns of
    numbers or attributes in braces, are ignored. "csv": the same with a comma, a semicolon or a tab between them, so
    that names may have blanks; a first row whose names are in no other row is a header, and all further columns are
    ignored. Nodes named 0 … n−1 keep their numbers; others are numbered in the order of the file. A relative `path`
    starts at the working directory. You get a `ScenarioError` for a file that cannot be read, with its line where one
    is at fault.
    """
    source = Path(path)
    ending = source.suffix.lower()
    chosen = next((f for f, ends in _FORMATS.items() if ending in ends), None) if format == "auto" else format
    if chosen is None:
        raise ScenarioError(
            "format", format, f"the name {source.name!r} does not say what it is", "graphml, edges, csv"
        )
    try:
        text = read_text(source, MOST_BYTES)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    graph = networkx().Graph()
    if chosen == "graphml":
        try:
            graph = networkx().parse_graphml(text)
        except (networkx().NetworkXError, ParseError, KeyError, ValueError) as error:
            raise ScenarioError("path", str(path), f"not valid GraphML: {error}", "GraphML") from error
    else:
        for number, words in _columns(text) if chosen == "csv" else _words(text):
            if len(words) < 2 or not (words[0] and words[1]):
                line = text.splitlines()[number - 1].strip()
                raise ScenarioError("path", str(path), f"line {number}: {line!r} is no link", "two names")
            if chosen == "edges" and (surplus := _surplus(words[2:])):
                why = f"line {number}: {surplus!r} after the two names of a link"
                raise ScenarioError("path", str(path), why, "two names; numbers, or attributes in braces, after them")
            if words[0] == words[1]:
                why = f"line {number}: {words[0]!r} twice: an agent is not its own neighbor"
                raise ScenarioError("path", str(path), why, "two names in each line")
            graph.add_edge(words[0], words[1])
    if not graph:
        raise ScenarioError("path", str(path), "has no link", "two names a line, or GraphML")
    if graph.is_directed():
        raise ScenarioError("path", str(path), "the graph is directed", 'edgedefault="undirected"')
    return from_graph(graph, f"graph of {source.name}", weights=weights)


def _words(text: str) -> Iterator[tuple[int, list[str]]]:
    """Lines with their numbers, split at blanks, without comments and what is empty."""
    for number, line in enumerate(text.splitlines(), start=1):
        if words := line.partition("#")[0].split():
            yield number, words


def _surplus(words: list[str]) -> str:
    """What stands after a link and is neither numbers nor attributes in braces; "" where nothing does."""
    rest = " ".join(words)
    return "" if re.fullmatch(r"\{.*\}|[-+.\deE ]*", rest) else rest


def _columns(text: str) -> list[tuple[int, list[str]]]:
    """Rows of a CSV file, with the numbers of their lines, without its header."""
    first = text.partition("\n")[0]
    reader = csv.reader(text.splitlines(keepends=True), delimiter=next((one for one in ",;\t" if one in first), ","))
    rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(map(str.strip, row))]
    rows = [(number, row) for number, row in rows if not row[0].startswith("#")]
    others = {name for _, row in rows[1:] for name in row[:2]}
    return rows[1:] if others and not others & set(rows[0][1][:2]) else rows


_SHAPES = (ring, complete, path, star, grid, torus, hypercube, balanced_tree)
_DRAWN = (random_tree, random_regular, erdos_renyi, watts_strogatz, barabasi_albert, random_geometric)
_GIVEN: dict[str, Callable[..., Topology]] = {"edges": from_edges, "file": from_file}
BUILDERS = {build.__name__: build for build in (*_SHAPES, *_DRAWN)} | _GIVEN
