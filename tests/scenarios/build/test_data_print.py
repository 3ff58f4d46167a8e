"""The print of data with functions among them: the same in every process, another one for another function."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from netsim.errors import ScenarioError
from netsim.problems import FromFunctions
from scenarios.build.problem import data_print

TEXT = """
import numpy as np
from functools import partial
from netsim.problems import FromFunctions
from scenarios.build.problem import data_print

CENTER = np.arange(3.0)

def made(scale):
    def slope(x, gain=2.0):
        return scale * helped(x, gain)
    return FromFunctions(lambda x: float(scale * (x @ x)), slope, 3, 4.0, bending=partial(bend, 2.0))

def helped(x, gain):
    return gain * (x - CENTER)

def bend(a, x):
    return a * np.eye(3) if x[0] not in {1.5, 2.5, 3.5} else bend(a, x + 1)

print(data_print([made(1.0)]), data_print([made(1.0 + 2**-50)]))
"""


def printed(text, salt):
    environment = {"PYTHONHASHSEED": str(salt), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment, check=True)
    return done.stdout.split()


def test_two_processes_print_functions_alike_and_every_change_is_another_print():
    one, other = printed(TEXT, 1)
    assert [one, other] == printed(TEXT, 2)
    changes = [("gain=2.0", "gain=2.5"), ("x - CENTER", "x + CENTER"), ("np.arange(3.0)", "np.arange(3.0) + 1e-9")]
    changes += [("bend, 2.0", "bend, 2.25"), ("a * np.eye(3)", "a + np.eye(3)"), ("float(scale *", "float(2 *")]
    found = {one, other} | {printed(TEXT.replace(*change), 1)[0] for change in changes}
    assert len(found) == 2 + len(changes)


class Pull:
    def __init__(self, by):
        self.by = by

    def value(self, x):
        return float(self.by @ x)

    def __call__(self, x):
        return self.by


def test_methods_objects_and_partial_functions_are_told_by_what_they_hold():
    def with_slope(slope):
        return data_print([FromFunctions(Pull(np.ones(3)).value, slope, 3, 1.0)])

    by = np.arange(3.0)
    slopes = [Pull(by), Pull(by + 1e-9), Pull(by).__call__, partial(Pull.__call__, Pull(by)), np.sign, np.abs]
    assert len({with_slope(one) for one in slopes}) == len(slopes)
    assert with_slope(Pull(by)) == with_slope(Pull(by.copy()))


def test_what_cannot_be_told_from_another_is_refused():
    with open(__file__) as file, pytest.raises(ScenarioError, match="TextIOWrapper, which cannot be told"):
        data_print([FromFunctions(lambda x: float(file.read()), np.sign, 3, 1.0)])
