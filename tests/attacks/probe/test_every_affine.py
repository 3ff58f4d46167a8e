"""Without noise a probe alone inverts every affine algorithm: one without an entry here fails this file."""

import numpy as np
import pytest
from pydantic import TypeAdapter

from attacks.inference import probed, through_probe
from netsim import topology
from netsim.adversary import Adversary
from netsim.errors import AttackError
from netsim.simulation import Simulation
from scenarios.schema import AlgorithmSpec, Ground
from tests.netsim.algorithms.every import ADJACENCY, AGENTS, EXAMPLES, problem
from tests.worlds import READINGS

GRAPHS = {
    "star": topology.star(AGENTS),
    "random": topology.erdos_renyi(AGENTS, 0.5, seed=2),
    "complete": topology.complete(AGENTS),
}
DOORS = (0, 1)
"""The hub of the star and a leaf."""
NONE: tuple[int, ...] = ()
LAST, FIRST_TWO = (-1,), (0, 1)
AFFINE = {
    # the gradient of the last round moves what would be told in the next one
    **dict.fromkeys(
        [
            "private_gradient_descent", "private_gradient_descent, state: released",
            "private_gradient_descent, with a batch", "dmsp", "extra", "pg_extra", "gradient_tracking", "diadsp",
            "cpgt", "ppdc",
        ],
        LAST,
    ),
    "nids": FIRST_TWO,  # the first message has the sum of the first two, and no other has more of them
    **dict.fromkeys(
        [
            "exact_diffusion", "gradient_tracking, variant: atc", "dpp2", "ic_admm", "d_admm",
            "d_admm, perturbation: dual", "d_admm, perturbation: penalty", "dp_admm", "r_admm", "mr_admm", "rw_admm",
            "rw_admm, activation: everybody",
            "decor", "zip_dl", "muffliato", "muffliato, with momentum", "muffliato_descent", "laplacian_consensus",
            "state_decomposition", "zero_sum_noise", "edge_perturbation", "subspace_perturbation",
            "walkman", "walkman, version: prox", "recal", *(f"dp_recal, reading: {reading}" for reading in READINGS),
        ],
        NONE,
    ),
}  # fmt: skip
"""By example: which queries are hidden, whatever the graph, as the algorithm's equations say."""
RANDOM = {"random_penalty_admm", "grouped_descent", "neighbor_range"}
"""Affine, and never without noise: their weights are random."""
REFUSED = {"cpgt, with a quantizer": "changes what is sent", "secret_sharing": "UniformModulo"}
"""No affine functions of gradients."""
ONLY_ON = {"dp_admm": {"star"}, "grouped_descent": {"complete"}, "secret_sharing": {"complete"}}


def graphs_of(name: str) -> set[str]:
    return ONLY_ON.get(name, {"star", "random"})


def ran(name: str, graph: str, adversary: Adversary):
    longer = {"per_agent": 40} if name.startswith("dp_recal") else {}  # so that the leaf is visited too
    fields = EXAMPLES[name].fields | longer
    spec = TypeAdapter(AlgorithmSpec).validate_python(fields)
    algorithm = spec.build(Ground(problem(), GRAPHS[graph], ADJACENCY))
    return Simulation(problem(), GRAPHS[graph], algorithm, adversaries=(adversary,)).run()


def test_every_example_is_affine_or_says_why_not():
    assert set(EXAMPLES) == {*AFFINE, *RANDOM, *REFUSED}


@pytest.mark.few(8)
@pytest.mark.parametrize(("name", "graph"), [(name, graph) for name in AFFINE for graph in sorted(graphs_of(name))])
def test_a_door_tells_every_gradient_that_theory_says_to_eight_digits(name, graph):
    run = ran(name, graph, Adversary("doors", links=(), nodes=DOORS))
    for agent in DOORS:
        found = probed(run.views[0], agent)
        asked = run.truth.queries[agent]
        hidden = {k % len(asked) for k in AFFINE[name]}
        assert len(found.identifiable) == len(asked)
        assert set(np.flatnonzero(~found.identifiable).tolist()) == hidden
        assert found.rank == len(asked) - (1 if hidden else 0)  # of NIDS's first two the sum is told
        for k in sorted(set(range(len(asked))) - hidden):
            error = np.linalg.norm(found.gradients[k] - asked[k].gradient)
            assert error <= 1e-8 * np.linalg.norm(asked[k].gradient)
            assert np.max(np.abs(found.gradients[k] - asked[k].gradient)) <= found.rounding[k]
            assert found.exact[k]
            np.testing.assert_allclose(found.points[k], asked[k].point, atol=1e-8)
            assert found.located[k]


@pytest.mark.parametrize("name", sorted(RANDOM))
def test_random_weights_leave_an_error_of_the_size_that_is_stated(name):
    """Uniform numbers are never farther from their mean than √3 of their deviations."""
    run = ran(name, sorted(graphs_of(name))[0], Adversary("doors", links=(), nodes=DOORS))
    for agent in DOORS:
        found = probed(run.views[0], agent)
        error = found.gradients - np.array([q.gradient for q in run.truth.queries[agent]])
        kept = found.identifiable
        assert np.all(np.abs(error[kept]) <= 3**0.5 * found.stddev[kept][:, None] + 1e-8)
        noisy = kept & (found.stddev.max(axis=-1) > 1e-9)
        assert {found.law[k] for k in np.flatnonzero(noisy)} <= {None}
        assert not found.exact[noisy].any()


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_not_affine_is_refused_by_name(name):
    graph = sorted(graphs_of(name))[0]
    with pytest.raises(AttackError, match=REFUSED[name]):
        probed(ran(name, graph, Adversary("doors", links=(), nodes=DOORS)).views[0], 0)


TOKENS = [name for name in AFFINE if name.partition(",")[0] in ("recal", "dp_recal", "walkman")]
TO_ONE = {"rw_admm", "zip_dl", "edge_perturbation", "subspace_perturbation"}  # a message for each neighbor
EXCHANGES = sorted({*AFFINE} - {*TOKENS, "dp_admm", *TO_ONE})


@pytest.mark.few(2)
@pytest.mark.parametrize("name", EXCHANGES)
def test_taps_on_all_links_tell_as_much_as_a_door(name):
    run = ran(name, "random", Adversary("ears", "all"))
    estimates = through_probe(run.views[0])
    for agent in range(AGENTS):
        asked = run.truth.queries[agent]
        kept = sorted({*range(len(asked))} - {k % len(asked) for k in AFFINE[name]})
        own = [e for e in estimates if e.agent == agent]
        assert [e.query for e in own] == kept
        for e in own:
            assert e.stddev == 0
            np.testing.assert_allclose(e.gradient, asked[e.query].gradient, rtol=0, atol=1e-9)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", TOKENS)
def test_a_token_in_the_clear_tells_all_gradients_of_all_whole_visits(name):
    run = ran(name, "random", Adversary("ears", "all"))
    estimates = through_probe(run.views[0])
    sent = {(row.sender, row.number) for row in run.views[0].messages()}
    assert {(e.agent, e.query) for e in estimates} == sent
    for e in estimates:
        asked = run.truth.queries[e.agent][e.query]
        assert np.linalg.norm(e.gradient - asked.gradient) <= 1e-8 * np.linalg.norm(asked.gradient)
