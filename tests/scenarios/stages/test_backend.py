"""`backend: torch` in a scenario: the run is PyTorch's to the tolerance, audits NumPy's, or it is refused by name."""

from importlib.util import find_spec

import numpy as np
import pytest

from netsim.errors import ScenarioError, install
from netsim.node import Computed
from netsim.readers.torch_gradients import TOLERANCE, device
from scenarios.schema.load import parse
from scenarios.stages.runner import checked, run_scenario

NETWORK = """
name: network
topology: {kind: ring, agents: 4}
links: {reliable: false, delay: {kind: constant, seconds: 1.0}}
problem: {kind: mlp, hidden: [4], data: {name: synthetic, records: 40, dimension: 3}}
algorithms:
  - {kind: private_gradient_descent, name: noisy, rounds: 4, step: 0.1, scale: 0.3}
"""
there = pytest.mark.skipif(find_spec("torch") is None, reason=f"PyTorch is not installed: {install('torch')}")


@there
def test_a_run_is_pytorch_s_and_its_audit_numpy_s(tmp_path):
    audit = "audit: {agent: 1, trials: 50, chunk: 50, adjacency: {change: 0.5, direction: even}}\n"
    one = run_scenario(parse(NETWORK + "backend: torch\n" + audit), tmp_path / "torch")
    other = run_scenario(parse(NETWORK), tmp_path / "numpy")
    (mine,), (its,) = one.algorithms, other.algorithms
    assert mine.run.computed == Computed("stacked", None, "torch", device())
    assert its.run.computed.backend == "numpy"
    assert mine.audit.computed.backend == "numpy"
    assert (mine.timeline, mine.links) == (None, None)
    assert (mine.run.traffic, mine.run.time, mine.run.queries) == (its.run.traffic, its.run.time, its.run.queries)
    np.testing.assert_allclose(mine.convergence.median, its.convergence.median, rtol=TOLERANCE)
    for name in ("report.html", "transcript-noisy.parquet"):
        assert (tmp_path / "torch" / name).is_file()


@there
@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("links: {loss: 0.1}", "links lose packets"),
        ("links: {}", "links acknowledge packets"),
        ("attacks: {traffic: true}", "packet log"),
        ("problem: {kind: logistic, data: {name: synthetic, records: 40, dimension: 3}}", "not of a LogisticLoss"),
    ],
)
def test_what_is_refused_is_refused_before_time_0(lines, why):
    key = lines.split(":")[0]
    kept = [line for line in NETWORK.splitlines() if not line.startswith(key + ":")]
    with pytest.raises(ScenarioError, match=why) as refused:
        checked(parse("\n".join([*kept, lines, "backend: torch", ""])))
    assert refused.value.field == "backend"
