"""Lesson on a program of the reader's own: run as one agent over TCP, captured, inverted, and judged by replay."""

import shlex
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from attacks.audit.conformance import Conformance, UnknownCoins, conformance
from attacks.closed_form.descent import through_differences
from attacks.replay import replay
from netsim.adversary import Adversary, AdversaryView
from netsim.algorithms import PrivateGradientDescent
from netsim.arrays import Array
from netsim.errors import NetsimError
from netsim.readers.deployed.capture import Packet, packets
from netsim.readers.deployed.deploy import Deployment, deploy
from netsim.readers.deployed.relay import capture_path
from netsim.simulation import Run
from netsim.transcript.frames import HEAD, HELLO, NAMES
from netsim.transcript.message import HEADER_BYTES
from scenarios.build.experiment import Experiment
from scenarios.lab.live import planned

AGENTS, AGENT, DIMENSION, ROUNDS = 4, 2, 3, 30
"""`AGENT` is the one whose place the program takes."""
SCALES = (0.0003, 0.003, 0.03, 0.3)
SCALE = 0.3
"""Of the noise, at first."""
SECONDS = 10.0
"""So long nothing may happen before a run is given up."""
PROGRAM = Path(__file__).with_name("mine.py.txt").read_text(encoding="utf-8")
"""The program of docs/tap-your-own.md."""
FAITHFUL, FORGETS, STEPS = "does as published", "forgets the noise", "takes twice the step"
_DRAWN = "SCALE * (random.expovariate(1) - random.expovariate(1))"
CHANGES: Mapping[str, tuple[str, str]] = {
    FAITHFUL: ("", ""),
    FORGETS: (_DRAWN, "0.0"),
    "adds half the noise": (_DRAWN, f"{_DRAWN} / 2"),
    "adds the same noise in every round": ("    sent = [", "    random.seed(1)\n    sent = ["),
    STEPS: (" 0.1, 0.5, ", " 0.2, 0.5, "),
}
"""What an author may have done: what stands in the program, and what in its place."""


def source(change: str, scale: float) -> str:
    """The program with one of the changes. Its noise is the same whenever it runs, so that all see the same."""
    old, new = CHANGES[change]
    text = PROGRAM.replace(old, new, 1) if old else PROGRAM
    return text.replace("else 0.3", f"else {scale:g}").replace("zlib\n", "zlib\n\nrandom.seed(4)\n", 1)


def _scenario(scale: float) -> dict[str, object]:
    """The scenario, in the words of its file: that of docs/tap-your-own.md, with this noise."""
    algorithm = {"kind": "private_gradient_descent", "rounds": ROUNDS, "step": 0.1, "scale": scale}
    data = {"name": "synthetic", "kind": "regression", "records": 40, "dimension": DIMENSION}
    return {
        "name": "mine",
        "seed": 5,
        "problem": {"kind": "ridge", "data": data, "ridge": 0.5},
        "topology": {"kind": "ring", "agents": AGENTS},
        "adversary": {"links": "all"},
        "algorithms": [algorithm | {"clip": {"bound": 1.0, "norm": "l1"}}],
        "replicas": 1,
    }


class _Inferred(NamedTuple):
    """An agent's gradients as they follow from the capture: how many, and their median relative error."""

    agent: int
    gradients: int
    error: float


@dataclass(frozen=True)
class _Tapped:
    """One run with the program in agent 2's place, and its capture."""

    experiment: Experiment
    run: Run
    packets: tuple[Packet, ...]

    @property
    def view(self) -> AdversaryView:
        """What the eavesdropper has: the transcript that was rebuilt from the captured packets alone."""
        return self.run.views[0]

    def listed(self) -> list[dict[str, object]]:
        """The packets that carry anything, in order, each as what it is."""
        words = {NAMES: "names of values", HELLO: "greeting", 0: "exchange"}
        found: list[dict[str, object]] = []
        for one in self.packets:
            if len(one.data) < HEADER_BYTES:
                continue
            _, _, kind, number, _ = HEAD.unpack_from(one.data)
            body = one.data[HEADER_BYTES:]
            x = np.frombuffer(body) if kind & 0xFF == 0 else ()
            line: dict[str, object] = {"second": round(one.time, 4), "from": one.sender, "to": one.receiver}
            line |= {"frame": words[kind & 0xFF], "number": number if len(x) else "", "bytes": len(one.data)}
            found.append(line | {"x": ", ".join(f"{v:+.3f}" for v in x)})
        return found

    @cached_property
    def inferred(self) -> list[_Inferred]:
        """What follows of each agent's gradients; each is compared with the agent's own, clipped, at that point.

        You need the data of all agents for the comparison, and for nothing else.
        """
        clip = cast(PrivateGradientDescent, self.view.public.algorithm).clip
        assert clip is not None
        found: list[_Inferred] = []
        estimates = through_differences(self.view)
        for agent, objective in enumerate(self.experiment.problem.objectives):
            own = [one for one in estimates if one.agent == agent]
            truths = [clip(objective.gradient(one.point)) for one in own]
            off = [
                float(np.linalg.norm(one.gradient - truth) / np.linalg.norm(truth))
                for one, truth in zip(own, truths, strict=True)
            ]
            found.append(_Inferred(agent, len(own), float(np.median(off))))
        return found

    @cached_property
    def finding(self) -> Conformance:
        """Whether the program follows, by replay of the public code with agent 2's data."""
        return conformance(self.run.views[1], AGENT, self.experiment.problem.objectives[AGENT])

    @cached_property
    def noise(self) -> tuple[list[float], list[float]]:
        """What the program added, as the replay finds it, in ascending order; and what Laplace noise of that scale is
        expected to be there."""
        objective = self.experiment.problem.objectives[AGENT]
        releases = replay(self.run.views[1], AGENT, objective, UnknownCoins()).releases
        added: Array = np.sort(np.concatenate([np.ravel(one.observed - one.value) for one in releases]))
        scale = float(np.max(releases[0].scale))
        share = (np.arange(added.size) + 0.5) / added.size
        expected = -scale * np.sign(share - 0.5) * np.log(1 - 2 * np.abs(share - 0.5))
        return added.tolist(), expected.tolist()


def tapped(text: str, scale: float) -> _Tapped | str:
    """Run the program in agent 2's place, tap all links, read the capture; a sentence where it cannot be run."""
    if not text.strip():
        return "There is no program."
    return _tapped(text, scale)


@lru_cache(64)
def _tapped(text: str, scale: float) -> _Tapped | str:
    experiment = planned(_scenario(scale))
    simulation = experiment.subjects[0].simulation
    door = Adversary("door", links=(), nodes=(AGENT,))
    simulation = replace(simulation, adversaries=(*simulation.adversaries, door))
    with tempfile.TemporaryDirectory(prefix="netsim-lab-") as name:
        folder = Path(name)
        (folder / "mine.py").write_text(text, encoding="utf-8")
        program = shlex.join([sys.executable, "-I", str(folder / "mine.py")])
        try:
            run = deploy(simulation, folder / "run", Deployment(outside={AGENT: program}, patience=SECONDS))
        except NetsimError as error:
            return str(error).partition("; its log")[0]
        captured = tuple(packets(capture_path(folder / "run", simulation.adversaries[0])))
    return _Tapped(experiment, run, captured)


def published(change: str, scale: float) -> _Tapped:
    """A run of the program with one of the changes."""
    found = tapped(source(change, scale), scale)
    assert isinstance(found, _Tapped), found
    return found
