"""The joint probe against a linear system written by hand, and more taps against fewer."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given as drawn_from
from hypothesis import settings
from hypothesis import strategies as st

from attacks.probe import probe_network
from netsim import topology
from netsim.adversary import Adversary, AdversaryView
from netsim.algorithms import GradientTracking, PrivateGradientDescent
from netsim.transcript import Transcript
from tests.attacks.probe.joint_worlds import step
from tests.attacks.probe.scripted import drawn, run_script


def by_hand(W: np.ndarray, rounds: int, tracking: bool, heard: set[tuple[int, int]]) -> int:
    """How many gradients the messages (agent, round) determine: states as matrices of all gradients, and their rank.

    Descent: x⁺ = W x − ηg. Tracking: x⁺ = W x − αy, y⁺ = W y + g⁺ − g, y = g at first; both x and y are sent.
    """
    n = len(W)
    queries = rounds + tracking
    gradient = [np.kron(np.eye(queries)[t], np.eye(n)).reshape(n, queries * n) for t in range(queries)]
    x = np.zeros((n, queries * n))
    y = gradient[0]
    rows = []
    for k in range(rounds):
        for i in range(n):
            if (i, k) in heard:
                rows += [x[i], y[i]] if tracking else [x[i]]
        if tracking:
            x, y = W @ x - 0.1 * y, W @ y + gradient[k + 1] - gradient[k]
        else:
            x = W @ x - 0.1 * gradient[k]
    C = np.array(rows).reshape(-1, queries * n)
    rank = np.linalg.matrix_rank(C, tol=1e-9)
    return sum(np.linalg.matrix_rank(np.vstack([C, e]), tol=1e-9) == rank for e in np.eye(queries * n))


FULL: dict[tuple[int, bool], AdversaryView] = {}
SMALL = [topology.path(4), topology.ring(5), topology.star(4), topology.erdos_renyi(5, 0.6, seed=1)]


def everything(which: int, tracking: bool) -> AdversaryView:
    """All links of a small graph, tapped; run once."""
    if (which, tracking) not in FULL:
        algorithm = GradientTracking(4, 0.1) if tracking else PrivateGradientDescent(5, step(0.1))
        graph = SMALL[which]
        FULL[which, tracking] = run_script(drawn(graph.agents, 6), graph, algorithm, Adversary()).views[0]
    return FULL[which, tracking]


class TestAgainstAHandWrittenSystem:
    @pytest.mark.slow
    @settings(max_examples=25, deadline=None)
    @drawn_from(st.integers(0, len(SMALL) - 1), st.booleans(), st.integers(0, 2**32 - 1), st.floats(0.1, 0.9))
    def test_the_count_is_the_oracles_and_more_taps_never_see_less(self, which, tracking, seed, share):
        view = everything(which, tracking)
        rng = np.random.default_rng(seed)
        order = rng.random(len(view.transcript))
        W = np.array(SMALL[which].weights)
        counts = []
        for kept in (share / 2, share, (1 + share) / 2):
            rows = tuple(r for r, at in zip(view.transcript, order, strict=True) if at < kept)
            found = probe_network(replace(view, transcript=Transcript(rows, 1)))
            heard = {(r.sender, r.number) for r in rows}
            assert found.identified == by_hand(W, 4 if tracking else 5, tracking, heard)
            assert found.rank == found.identified + len(found.functionals())
            counts.append(found.identified)
        assert counts == sorted(counts)
