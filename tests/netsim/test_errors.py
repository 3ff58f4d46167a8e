"""Messages of errors: what others wrote is cut, numbers of NumPy's read as Python's."""

from pathlib import PurePosixPath

import numpy as np
import pytest

from netsim.errors import QUOTED, NetsimError, ScenarioError, brief, meant, near, short
from netsim.mechanisms import DiscreteGaussian, Gaussian, Laplace, UniformModulo

LONG = "y" * 5000


@pytest.mark.parametrize(
    "error",
    [
        ScenarioError("field", LONG, "wrong", "less"),
        ScenarioError(LONG, 1, "wrong", "less"),
        ScenarioError("field", 1, f"no such name {LONG!r}", f"did you mean {LONG!r}?"),
        ScenarioError("field", 1, f"no such name '{'a b ' * 900}'", "less"),
    ],
)
def test_what_others_wrote_is_cut(error):
    assert len(str(error)) < 3 * QUOTED + 100
    assert "…" in str(error) or "..." in str(error)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: Laplace(np.float64(-1)), "Laplace scale = -1.0: must"),
        (lambda: Laplace("2"), "Laplace scale = '2' is a text; allowed: a number >= 0, or one for each replica"),
        (lambda: Gaussian(np.float32("nan")), "Gaussian stddev = nan: must"),
        (lambda: DiscreteGaussian(2.0, np.int64(0)), "DiscreteGaussian step = 0: must"),
        (lambda: UniformModulo(np.float64(10.5)), "modulus = 10.5: must be a whole number"),
        (lambda: UniformModulo(10).release(np.array([[0.25]]), np.random.default_rng(0)), "0.25 modulo p: must"),
    ],
)
def test_numbers_of_numpys_read_as_pythons(made, says):
    with pytest.raises(NetsimError) as caught:
        made()
    assert str(caught.value).startswith(says)


def test_a_class_reads_as_its_name():
    assert str(NetsimError("mutable default <class 'dict'>")) == "mutable default dict"
    assert str(ScenarioError("a", 1, "a <class 'netsim.node.Node'>")) == "a = 1: a Node"


@pytest.mark.parametrize("value", [np.float64(1.5), (np.float64(1.5),), {"a": np.bool_(True)}, np.str_("a")])
def test_so_do_those_inside_others(value):
    assert "np." not in str(ScenarioError("field", value, f"{value!r} is wrong", "less"))


def test_a_path_of_code_is_in_the_place_of_a_mistake_and_not_its_value_too():
    assert str(ScenarioError("path", "own.py", "no Python", "", "own.py", 3)) == "own.py:3: path: no Python"
    assert str(ScenarioError("extends", "a.yaml", "odd", "", "a.yaml", 3)) == "a.yaml:3: extends = 'a.yaml': odd"


class Nothing:
    pass


@pytest.mark.parametrize(
    ("value", "reads"),
    [
        (None, "null"),
        (True, "true"),
        ({"kind": "uniform", "low": None}, "{kind: uniform, low: null}"),
        ([{"on": ["no", "a: b", 2, "2"]}], "[{on: […]}]"),
        (["no", "a: b", 2, "2", "two words"], "['no', 'a: b', 2, '2', two words]"),
        ((1, 2.5), "[1, 2.5]"),
        (list(range(9)), "[0, 1, 2, 3, 4, 5, …]"),
        (PurePosixPath("a/b"), "'a/b'"),
        (np.array([1.0, 2.0]), "[1.0, 2.0]"),
        (np.bool_(False), "false"),
        (Nothing, "'Nothing'"),
        ("true", "'true'"),
    ],
)
def test_a_value_of_a_file_reads_as_in_a_file(value, reads):
    """A mistake in a scenario, on the command line, and in what a command says of either; Python's words where the
    value is in somebody's code."""
    assert str(ScenarioError("a.b", value, "wrong", "", "mine.yaml", 3)) == f"mine.yaml:3: a.b = {reads}: wrong"
    assert str(ScenarioError("-o a.b", value, "wrong")) == f"-o a.b = {reads}: wrong"
    assert ScenarioError("a.b", value, "wrong").sentence(as_file=True) == f"a.b = {reads}: wrong"
    assert str(ScenarioError("a.b", None, "wrong", "", "mine.py", 3)) == "mine.py:3: a.b = None: wrong"


def test_no_private_name_is_suggested_but_for_one():
    assert meant("objective", ["_objective", "estimate"]) == ""
    assert meant("_objectiv", ["_objective"]) == "; did you mean '_objective'?"


def test_what_is_said_oneself_is_not():
    allowed = ", ".join(f"'name-{k}'" for k in range(500)) + ", agents' x, the scenario's y"
    assert brief(allowed) == allowed
    assert str(ScenarioError("field", 1, "unknown", allowed)).endswith(allowed)


@pytest.mark.parametrize(
    "value", ["word " * 10_000, {"a": ["x" * 1000] * 1000, "b": {"c": {"d": [1] * 1000}}}, [0] * 9999]
)
def test_a_value_in_a_document_is_cut(value):
    assert len(short(value)) <= QUOTED + 1 if isinstance(value, str) else len(short(value)) <= 1000


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("mnits", ["mnist"]),
        ("owm", ["own"]),
        ("cpgt-fig", ["cpgt-fig-2", "cpgt-fig-3"]),
        ("privat-descent", ["private-descent"]),
        ("first", []),
        ("descent", []),
        ("x" * 10_000, []),
    ],
)
def test_only_a_slip_of_the_pen_is_a_near_name(written, found):
    names = [
        "mnist",
        "own",
        "cpgt-fig-3",
        "cpgt-fig-2",
        "private-descent",
        "private-descent-noise-floor",
        "list",
        "a",
    ]
    assert sorted(near(written, names)) == found


@pytest.mark.parametrize("value", [True, 3, 0.5, "a few words", None])
def test_a_small_value_in_a_document_is_itself(value):
    assert short(value) == value
