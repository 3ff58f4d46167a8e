"""No attack can reach private data through what it is given.

The test walks every object that can be reached from a view by attribute, item, closure, bound method or array
base, and looks for the private objectives, their arrays (or memory shared with them), and the objects that
lead to them. It is shown to find them where they are.
"""

import gc
import types
from dataclasses import replace

import numpy as np
import pytest

from netsim.algorithms import Clip, PrivateGradientDescent, Recal
from netsim.network.network import Network
from netsim.problems import LeastSquares, LogisticLoss, Modelled, Problem, load, mlp, softmax
from netsim.readers.live import LiveNode
from netsim.schedules import Constant
from netsim.truth import Truth
from tests.worlds import READINGS, ROUGH, digits_problem, dp_recal, tapped_ring

PRIVATE_TYPES = (LogisticLoss, LeastSquares, Modelled, Problem, Truth, LiveNode, Network, np.random.Generator)
CODE = (type, types.ModuleType, types.CodeType, types.BuiltinFunctionType)


def reachable(root):
    """Everything a holder of `root` can get at without importing anything."""
    seen, stack = {}, [root]
    while stack:
        item = stack.pop()
        if id(item) in seen or isinstance(item, CODE):
            continue
        seen[id(item)] = item
        if isinstance(item, types.FunctionType):
            stack += [cell.cell_contents for cell in item.__closure__ or ()]
            stack += list(item.__defaults__ or ())
        elif isinstance(item, np.ndarray):
            stack += [item.base] if item.base is not None else []
        else:
            stack += gc.get_referents(item)
    return list(seen.values())


def leaks(view, problem):
    """What of the private side can be reached from a view."""
    items = reachable(view)
    found = [type(item).__name__ for item in items if isinstance(item, PRIVATE_TYPES)]
    secrets = [array for f in problem.objectives for array in (f.features, f.labels)]
    secrets += [f.targets for f in problem.objectives if isinstance(f, Modelled)]
    for item in items:
        if isinstance(item, np.ndarray):
            found += ["shared memory" for secret in secrets if np.shares_memory(item, secret)]
            found += ["a copy" for secret in secrets if np.array_equal(item, secret)]
    return found


def algorithms(problem):
    yield Recal(step=0.2, activations=60)
    yield PrivateGradientDescent(5, Constant(0.1), Constant(0.1), Clip(0.2))
    for reading in READINGS:
        yield dp_recal(problem, reading)


@pytest.mark.few(6)
@pytest.mark.parametrize("index", range(6))
@pytest.mark.parametrize("rough", [False, True])
def test_views_hold_no_private_data(index, rough):
    problem = digits_problem()
    algorithm = list(algorithms(problem))[index]
    options = {"links": ROUGH} if rough else {}
    run = tapped_ring(problem, algorithm, **options).run()
    assert leaks(run.views[0], problem) == []
    len(run.views[0].transcript.records)  # rows made: still nothing
    assert leaks(run.views[0], problem) == []


@pytest.mark.few(1)
@pytest.mark.parametrize("build", [softmax, mlp])
@pytest.mark.parametrize(
    "algorithm", [Recal(step=0.1, activations=40), PrivateGradientDescent(5, Constant(0.05), Constant(0.1))]
)
def test_views_of_public_models_hold_no_private_data(build, algorithm):
    problem = build(load("digits", classes=[0, 1, 2]).split(4), ridge=0.1)
    run = tapped_ring(problem, algorithm).run()
    view = run.views[0]
    assert view.public.model is problem.model
    assert leaks(view, problem) == []
    assert all(f.targets.shape[1] == 3 for f in problem.objectives)  # what a model makes of labels is kept by then
    assert leaks(view, problem) == []
    smuggled = replace(view, public=replace(view.public, model=problem.objectives[0]))
    assert "Modelled" in leaks(smuggled, problem)


def test_the_search_finds_what_is_there():
    """The same search, on a run, on a view with one smuggled reference, and on one with a smuggled array."""
    problem = digits_problem()
    run = tapped_ring(problem, Recal(step=0.2, activations=10)).run()
    assert "Truth" in leaks(run, problem)
    view = run.views[0]

    def closure():
        return problem

    assert "Problem" in leaks(replace(view, public=replace(view.public, algorithm=closure)), problem)
    window = problem.objectives[0].features[:1]
    assert "shared memory" in leaks(replace(view, public=replace(view.public, weights=window)), problem)


def test_what_was_sent_cannot_be_written_to():
    """An attack that writes into a recorded value would rewrite the run."""
    problem = digits_problem()
    run = tapped_ring(problem, Recal(step=0.2, activations=10)).run()
    row = run.views[0].transcript.records[0]
    with pytest.raises(ValueError, match="read-only"):
        row.values["x"][0, 0] = 1.0
