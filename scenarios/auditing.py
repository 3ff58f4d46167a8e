"""A scenario's audit of one algorithm: both worlds, the attack, and a folder with what was seen until then."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import cast

from attacks import gradients
from attacks.audit.archive import Archive
from attacks.audit.audit import Audit, Pair, Simulate, audit
from attacks.audit.games.anytime import MOST_EPSILON
from attacks.audit.games.power import Plan
from attacks.audit.loss.aimed import AIMED, TRANSCRIPTS, aimed
from attacks.audit.loss.explain import Sample
from attacks.audit.pairs.search import FIRST_CHUNK
from netsim.adversary import Adversary
from netsim.claims import Claim
from netsim.codecs import Dither
from netsim.errors import PrivacyError
from netsim.problems import Objective
from netsim.randomness import NoiseThrough, Streams, coins_of, dither_of
from netsim.simulation import Simulation
from netsim.wiretaps import Around
from scenarios import describe, owncode
from scenarios.dataprint import data_print
from scenarios.experiment import Subject
from scenarios.schema import Scenario

CHUNKS = 2**20
"""The chunks of an audit are fewer: so many are set apart for each draw."""


@dataclass(frozen=True)
class Asked:
    """What is to be audited: one algorithm of a scenario, its claim and its pair."""

    scenario: Scenario
    subject: Subject
    pair: Pair
    claim: Claim

    @property
    def plan(self) -> Plan | None:
        """What the game of all `trials` can find, before it starts; None where no number is claimed that a game could
        test."""
        spec, epsilon = self.scenario.audit, self.claim.epsilon
        assert spec is not None
        if epsilon is None or not epsilon < MOST_EPSILON or self.claim.delta >= 1:
            return None
        parts = 3 + spec.classifier  # the exact loss and two games
        if spec.stop == "refuted":  # the anytime game has a part, and the others are right at both their times
            parts = 2 * (parts + 1)
        confidence = 1 - (1 - spec.confidence) / parts
        return Plan.of_transcripts(spec.trials, epsilon, self.claim.delta, confidence)

    @property
    def fingerprint(self) -> str:
        """Of everything that decides what is simulated: the scenario, both worlds' data, the pair, the program and
        what it is run with."""
        audit = self.scenario.audit
        assert audit is not None
        scenario = self.scenario.model_copy(update={"audit": audit.model_copy(update={"trials": 50})})
        told = {
            "scenario": scenario.model_dump(mode="json"),
            "algorithm": self.subject.spec.name,
            "pair": self.pair.description,
            "data": data_print([*self.subject.simulation.problem.objectives, *self.pair.hypotheses]),
            "program": program(),
            "versions": describe.versions(),
            "together": audit.together,
        }
        if (own := owncode.code_of(self.subject.simulation.algorithm)) is not None:
            told["own"] = own
        return json.dumps(told, sort_keys=True)


def audited(asked: Asked, folder: Path, progress: Callable[[int], None], jobs: int) -> Audit:
    """Audit it. What is seen is kept in `folder` until the audit is done; what is there already is not seen again."""
    spec, simulation = asked.scenario.audit, asked.subject.simulation
    assert spec is not None
    archive = Archive.at(folder, asked.fingerprint)
    try:
        found = audit(
            worlds(simulation, spec.agent, cast(Objective, asked.pair.hypotheses[1]), spec.together, spec.draw),
            asked.pair,
            asked.claim,
            trials=spec.trials,
            chunk=spec.together,
            confidence=spec.confidence,
            rng=Streams(simulation.seed).generator("audit", asked.subject.spec.name, *drawn(spec.draw)),
            infer=gradients.infer,
            progress=progress,
            jobs=jobs,
            archive=archive,
            stop=spec.stop == "refuted",
            train=spec.classifier,
        )
    except PrivacyError:
        archive.remove()
        raise
    archive.remove()
    return found


def drawn(draw: int) -> tuple[int, ...]:
    """What the name of a random stream ends with: nothing for the first draw."""
    return (draw,) if draw else ()


def number_of(world: int, index: int, draw: int = 0) -> int:
    """The simulation's number of a chunk of a world: every draw has chunks, and so noise, of its own."""
    return 1 + 2 * (index + (draw * CHUNKS if index < FIRST_CHUNK else 0)) + world


def worlds(simulation: Simulation, agent: int, other: Objective, chunk: int, draw: int = 0) -> Simulate:
    """How to simulate both worlds of an audit: as the simulation is, and with `agent` holding `other`.

    An auditor taps the agent's door and its links; on radio it hears the agent and its neighbors. Every (world,
    index) has noise of its own. In the chunk `AIMED` the agent's noise points away from the other world.
    """
    near = () if simulation.medium == "links" else simulation.topology.neighbors(agent)
    auditor = Adversary("auditor", Around((agent, *near)), nodes=(agent,))
    base = replace(simulation, adversaries=(auditor,), measure=False, record="releases", spool=None)
    return _Worlds(base, agent, (simulation.problem.objectives[agent], other), chunk, draw)


@dataclass(frozen=True)
class _Worlds:
    simulation: Simulation
    agent: int
    objectives: tuple[Objective, Objective]
    chunk: int
    draw: int = 0

    def __call__(self, world: int, index: int) -> Sample:
        if index != AIMED:
            return self._sample(world, index, self.chunk)
        true, other = self.objectives[world], self.objectives[1 - world]
        return aimed(partial(self._sample, world, index), self.agent, true, other, min(self.chunk, TRANSCRIPTS))

    def _sample(self, world: int, index: int, replicas: int, noise: NoiseThrough | None = None) -> Sample:
        chunk = number_of(world, index, self.draw)
        run = replace(
            self.simulation,
            problem=self.simulation.problem.replace(self.agent, self.objectives[world]),
            replicas=replicas,
            chunk=chunk,
            noise_through={} if noise is None else {self.agent: noise},
        ).run()
        if run.interrupted:
            raise KeyboardInterrupt
        assert run.truth is not None
        streams = Streams(self.simulation.seed)
        dither = Dither(partial(dither_of, streams, chunk, self.agent), replicas)
        return Sample(run.views[0], partial(coins_of, streams, self.agent), run.truth.releases[self.agent], dither)


@cache
def program() -> str:
    """SHA-256 of netsim's own source files: another program may simulate something else."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for package in ("netsim", "attacks", "scenarios"):
        for file in sorted((root / package).rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
