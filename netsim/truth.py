"""Truth of a run, private to its agents: objectives, the points they queried, and the gradients they received.

It is opened in one room, `attacks.score`, where estimates meet it; an import rule says so. Nothing that an
adversary is handed refers to anything in here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from netsim.adversary import Query
from netsim.arrays import Array
from netsim.problems import Problem
from netsim.randomness import EdgeNoise


@dataclass
class Truth:
    """The private side of one run. `queries[i][k]` is agent i's k-th gradient query.

    `releases[i]` are the outputs of its `privatize` and `split` calls in order, its own shares left out; `edges` is
    the noise from seeds that neighbors share.
    """

    problem: Problem
    queries: Sequence[Sequence[Query]] = ()
    releases: Sequence[Sequence[Array]] = ()
    edges: EdgeNoise | None = None
