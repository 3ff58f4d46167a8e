"""Power cases: planted faults that an audit must catch, and how small a fault it finds."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from attacks.audit.audit import AuditResult, audit
from attacks.audit.verdict import Verdict
from netsim.algorithms import Setting
from netsim.algorithms.planted_faults import FAULTS, Fault, OneScalar, ReusedSeed, SecondMessage, SentBefore
from netsim.arrays import Array
from netsim.claims import Adjacency, Claim
from netsim.errors import PrivacyError
from netsim.mechanisms import Gaussian, Laplace, Mechanism
from netsim.node import Node
from netsim.problems.objective import direction
from netsim.randomness import Streams
from scenarios.certificate import worlds as laws
from scenarios.certificate.false_alarms import BROKEN, Outcome, refusal
from scenarios.certificate.worlds import (
    BOUND,
    DELTA,
    DIMENSION,
    ROUNDS,
    STEEP,
    STEP,
    Auditor,
    World,
    of_gallery,
    turned,
)

PLANTED, SUBTLE = "planted", "subtle"
BUDGETS = (20, 100, 400)
"""Transcripts of each world."""
LARGER_BUDGETS = (100, 300, 1000)
SCALE = 0.8
"""Of the gallery's faults: they claim 0.75, `SecondMessage` 1, `WrongClip` 1.7 at δ = 0.001."""
EPSILON = 1.0
"""ε claimed of noise that is a little too small."""
BARE: dict[type[Fault], str] = {OneScalar: "x", SentBefore: "monitored", ReusedSeed: "x", SecondMessage: "z"}
"""Faults that leave a message which no noise covers, and its field."""
CAUGHT, NAMED, BY_GAME = "caught", "named", "caught by the game alone"
VIOLATION, TIGHTNESS = "first violating release", "exact, of the claim"
Law = Literal["Laplace", "Gaussian"]
LAWS: tuple[Law, ...] = ("Laplace", "Gaussian")
FACTORS = (0.98, 0.95, 0.9, 0.8, 0.5)
"""Noise, as a share of the noise that the claim needs."""
HIDDEN_FACTORS = (1.05, 0.95, 0.9, 0.8)
"""Noise drawn, of the noise that the code declares."""


@dataclass(frozen=True)
class FaultCase:
    """One planted fault, audited again and again with so many transcripts."""

    fault: type[Fault]
    trials: int
    auditor: Auditor = audit
    part: str = PLANTED

    @property
    def name(self) -> str:
        return f"{self.fault.__name__}, {self.trials} transcripts"

    def once(self, repetition: int, streams: Streams) -> Outcome:  # noqa: ARG002
        world = of_gallery(self.fault, SCALE, sound=False)
        try:
            found = world.audited(self.trials, streams, self.auditor)
        except PrivacyError as error:
            return Outcome(frozenset({refusal(error)}), {})
        field = BARE.get(self.fault)
        marks = _caught(found) | ({NAMED} if _named(found, field) else set[str]())
        return Outcome(frozenset(marks), {VIOLATION: _activation(found), TIGHTNESS: _of_claim(found)})


def _named(found: AuditResult, field: str | None) -> bool:
    """Whether the message in the clear is named; or, where all have noise, none is, and the claim is refuted."""
    if field is None:
        return found.judgement.verdict is Verdict.REFUTED and found.uncovered is None
    return found.judgement.verdict is Verdict.UNPROTECTED and f"sends {field!r}" in str(found.uncovered)


def _caught(found: AuditResult) -> set[str]:
    claimed = found.claim.epsilon
    assert claimed is not None
    marks = {CAUGHT} if found.judgement.verdict in BROKEN else set[str]()
    return marks | ({BY_GAME} if found.epsilon_audited > claimed else set[str]())


def _activation(found: AuditResult) -> float | None:
    return None if found.first_violation is None else float(found.first_violation)


def _of_claim(found: AuditResult) -> float | None:
    """ε_exact over the claim; None where ε is infinite."""
    assert found.claim.epsilon is not None
    ratio = found.epsilon_exact / found.claim.epsilon
    return round(ratio, 4) if math.isfinite(ratio) else None


@dataclass(frozen=True)
class _MisdrawnLaplace(Laplace):
    """Declares b and draws with `drawn`·b."""

    drawn: float = 1.0

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        return Laplace(self.scale * self.drawn).release(value, rng)


@dataclass(frozen=True)
class _MisdrawnGaussian(Gaussian):
    """Declares σ and draws with `drawn`·σ."""

    drawn: float = 1.0

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        return Gaussian(self.stddev * self.drawn).release(value, rng)


@dataclass(frozen=True)
class _LessNoise(Fault):
    """Noise `declared` times as large as claimed, or drawn `drawn` times as large as the code declares.

    Laplace noise as in the gallery, or Gaussian noise of deviation `scale`; both claim ε = `EPSILON`.
    """

    lesson = "A small fault asks for many transcripts, and for the right tool."
    law: Law = "Laplace"
    declared: float = 1.0
    drawn: float = 1.0

    def mechanism(self) -> Mechanism:
        size = self.scale * self.declared
        if self.drawn != 1:
            misdrawn = _MisdrawnLaplace if self.law == "Laplace" else _MisdrawnGaussian
            return misdrawn(size, self.drawn)
        return Laplace(size) if self.law == "Laplace" else Gaussian(size)

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            received = await node.exchange(x=node.privatize(x, self.mechanism()))
            x = await self.moved(node, received.mix("x"), x)
            node.estimate(x)

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        if self.law == "Laplace":
            return super().claim(adjacency, setting, delta)
        return Claim(EPSILON, DELTA, "the exact ε of Gaussian releases", adjacency, "ℓ2")


@dataclass(frozen=True)
class SubtleCase:
    """Noise a little too small, declared so or not, audited again and again with so many transcripts."""

    law: Law
    declared: float
    drawn: float
    trials: int
    auditor: Auditor = audit
    part: str = SUBTLE

    @property
    def name(self) -> str:
        what = f"declared {self.declared}" if self.drawn == 1 else f"drawn {self.drawn}"
        return f"{self.law}, {what}, {self.trials} transcripts"

    def world(self) -> World:
        releases, moved = ROUNDS - 1, 2 * BOUND * STEP
        laplace = releases * moved / EPSILON
        gaussian = math.sqrt(releases) * moved / laws.gaussian_mu(EPSILON, DELTA)
        algorithm = _LessNoise(
            rounds=ROUNDS,
            step=STEP,
            scale=laplace if self.law == "Laplace" else gaussian,
            bound=BOUND,
            law=self.law,
            declared=self.declared,
            drawn=self.drawn,
        )
        slope = STEEP * direction("coordinate", DIMENSION)
        return turned(algorithm, (slope, -slope), None, math.nan)

    def once(self, repetition: int, streams: Streams) -> Outcome:  # noqa: ARG002
        try:
            found = self.world().audited(self.trials, streams, self.auditor)
        except PrivacyError as error:
            return Outcome(frozenset({refusal(error)}), {})
        return Outcome(frozenset(_caught(found)), {TIGHTNESS: _of_claim(found)})


def planted_cases() -> list[FaultCase]:
    return [FaultCase(fault, trials) for fault in FAULTS for trials in BUDGETS]


def subtle_cases() -> list[SubtleCase]:
    """Each law and size at each budget: what is declared too small, then what is drawn otherwise than declared."""
    sizes = [(factor, 1.0) for factor in FACTORS] + [(1.0, factor) for factor in HIDDEN_FACTORS]
    return [
        SubtleCase(law, declared, drawn, trials)
        for law in LAWS
        for declared, drawn in sizes
        for trials in LARGER_BUDGETS
    ]
