"""results.json as a dictionary, as a tree: for the comparison of runs."""

from collections.abc import Mapping

from scenarios.results.files import as_json
from scenarios.results.serialize import loads
from scenarios.results.tree import Results


def tree_of(results: Mapping[str, object]) -> Results:
    """The tree of results."""
    return loads(as_json(results))
