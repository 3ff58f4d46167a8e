"""Committed witnesses, the checker's reasons, and an algorithm of one's own to alter: for tests of the checker."""

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from netsim.algorithms.mixing import LaplaceInRounds
from netsim.mechanisms import Laplace

check = pytest.importorskip("attacks.audit.check_witness", reason="needs python-flint or mpmath: the extra `proof`")
ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "docs" / "witnesses").glob("*.json"))


def read(name):
    return json.loads((ROOT / "docs" / "witnesses" / f"{name}.json").read_text(encoding="utf-8"))


def why(tree, source=None):
    """Why nothing is proven, one line."""
    with pytest.raises(check.Unproven) as error:
        check.prove(tree, source)
    assert str(error.value).isprintable()
    return str(error.value)


def put(place, value):
    """An edit: what is at that place is this value, or what this function makes of it."""
    *above, last = (int(key) if key.isdigit() else key for key in place.split("."))

    def change(tree):
        for key in above:
            tree = tree[key]
        tree[last] = value(tree[last]) if callable(value) else value

    return change


def times(factor):
    return lambda value: [one * factor for one in value] if isinstance(value, list) else value * factor


def runs(tree, kind):
    """The file's algorithm is this class with its parameters, and the code in which it is found."""
    own = tree["proof"]["algorithm"]
    parameters = {name: own[name] for name in ("rounds", "step", "scale_x", "scale_y", "ratio")}
    tree["proof"]["algorithm"] = {"class": f"anywhere:{kind.__name__}", **parameters}
    return SimpleNamespace(**{kind.__name__: kind})


@dataclass(frozen=True)
class Honest(LaplaceInRounds):
    """DiaDSP, without a claim."""

    step: float
    scale_x: float
    scale_y: float
    ratio: float

    async def run(self, node):
        x = node.zeros()
        gradient = y = await node.gradient(x)
        for k in range(self.rounds):
            law_x, law_y = Laplace(self.scale_x * self.ratio**k), Laplace(self.scale_y * self.ratio**k)
            y = self.meddled(node, x, y)
            noisy_x, noisy_y = node.privatize(x, law_x), node.privatize(y, law_y)
            noisy_y = self.sent(noisy_y)
            received = await node.exchange(x=noisy_x, y=noisy_y)
            x = received.mix("x") - self.step * y
            before, gradient = gradient, await node.gradient(x)
            y = received.mix("y") + gradient - before
            node.estimate(x)

    def meddled(self, node, x, y):
        return y

    def sent(self, noisy):
        return noisy


def gradient_at_zero(tree):
    own = tree["proof"]["objective"]
    return -np.array(own["answers"]) @ np.array(own["features"]) / own["mass"]
