"""Code that never ran is not audited: rare branches that would leak, and harmless ones that nothing takes."""

import ast
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

from attacks.audit.branches.code import OwnCode
from attacks.audit.branches.facts import Level
from attacks.audit.branches.found import MASK
from attacks.audit.branches.levels import Levels
from attacks.audit.branches.watched import Prepared, Watch, counted, in_words, watching
from attacks.audit.verdict import Verdict
from netsim.algorithms import Algorithm
from netsim.mechanisms import Gaussian
from scenarios.results.audited import audit_result
from scenarios.schema import own_code as owncode
from tests.attacks.auditing import claim_of, judged, quadratic_world

NOISE = Gaussian(1.0)
DEBUG, KINDS = False, ("plain", "loud")


def rare(gradient):
    """Whether the first coordinate, −1/4 or −3/8 in the worlds that are audited, is in a narrow window."""
    return 0.1 < abs(gradient[0, 0]) < 0.1001


@dataclass(frozen=True)
class Base(Algorithm):
    """Sends its gradient at 0 with enough noise, twice; what else it sends is of its kin."""

    rounds: int = 2

    async def run(self, node):
        for k in range(self.rounds):
            gradient = await node.gradient(node.zeros())
            received = await node.exchange(x=node.privatize(gradient, NOISE))
            await self.besides(node, gradient, received, k)
            node.estimate(gradient)

    async def besides(self, node, gradient, received, k):
        del gradient, received, k
        node.broadcast(y=node.zeros())


def found(algorithm, trials=20):
    simulation, pair = quadratic_world(algorithm)
    return judged(simulation, pair, claim_of(3.0, 1e-3), attack=None, trials=trials)


# ── what would leak, if it ever ran ─────────────────────────────────────────────────────────────────────
class Window(Base):
    async def besides(self, node, gradient, received, k):
        if 0.1 < abs(gradient[0, 0]) < 0.1001:
            node.broadcast(y=gradient)


class Magnitude(Base):
    async def besides(self, node, gradient, received, k):
        y = node.zeros()
        if np.linalg.norm(gradient) > 1e15:
            y = gradient
        node.broadcast(y=y)


class InALaterRound(Base):
    async def besides(self, node, gradient, received, k):
        if k == 1 and rare(gradient):
            node.broadcast(y=gradient)


class InAHelper(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=self.made(node, gradient))

    def made(self, node, gradient):
        return gradient if rare(gradient) else node.zeros()


class EarlyReturn(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=rounded(gradient))


def rounded(x):
    if x[0, 0] > 1.0:
        return x
    return 0 * x


class InAnExcept(Base):
    async def besides(self, node, gradient, received, k):
        y = node.zeros()
        try:
            y = y + (0.0, 0.0)[int(4 * abs(gradient[0, 0]))]
        except IndexError:
            y = gradient
        node.broadcast(y=y)


class InAMatch(Base):
    async def besides(self, node, gradient, received, k):
        match int(abs(1000 * gradient[0, 0])):
            case 137:
                node.broadcast(y=gradient)
            case _:
                node.broadcast(y=node.zeros())


class InAComprehension(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=sum([gradient for _ in range(1) if rare(gradient)], node.zeros()))


class Conditional(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=gradient if rare(gradient) else node.zeros())


class AndOr(Base):
    async def besides(self, node, gradient, received, k):
        factor = (rare(gradient) and 1.0) or 0.0
        node.broadcast(y=factor * gradient)


class InAWhile(Base):
    async def besides(self, node, gradient, received, k):
        left = 1
        while left and rare(gradient):
            node.broadcast(y=gradient)
            left = 0


class InAFor(Base):
    async def besides(self, node, gradient, received, k):
        for _ in range(int(abs(gradient[0, 0]))):
            node.broadcast(y=gradient)


class Mask(Base):
    async def besides(self, node, gradient, received, k):
        size = np.abs(gradient)
        node.broadcast(y=np.where((size > 0.1) & (size < 0.1001), gradient, 0.0))


class MaskByAFunction(Base):
    async def besides(self, node, gradient, received, k):
        far = np.zeros(gradient.shape, dtype=bool)
        np.greater(np.abs(gradient), 1e13, out=far)
        state = Helper(node)
        setattr(state, "far", far)  # noqa: B010
        node.broadcast(y=gradient if state.far[0, 0] else node.zeros())


class Factor(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=gradient * (0.1 < abs(gradient[0, 0]) < 0.1001))


class LookedUp(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y={False: node.zeros(), True: gradient}[bool(gradient[0, 0] > 0.5)])


class NoiseWhereItIsSmall(Base):
    """What is never skipped: noise, but for gradients above 10."""

    async def besides(self, node, gradient, received, k):
        y = gradient
        if abs(gradient[0, 0]) < 10:
            y = node.privatize(gradient, NOISE)
        node.broadcast(y=y)


class TailOfTheNoise(Base):
    async def besides(self, node, gradient, received, k):
        noisy = node.privatize(gradient, NOISE)
        node.broadcast(y=noisy)
        if noisy[0, 0] > 7:
            node.broadcast(z=gradient)


class ByWhatItReceived(Base):
    async def besides(self, node, gradient, received, k):
        if np.any(received.sum("x") > 50):
            node.broadcast(y=gradient)


class ByAFlag(Base):
    """Decided before, and far from where it is asked."""

    async def besides(self, node, gradient, received, k):
        state = {"close": bool(gradient[0, 0] > 0.5)}
        node.broadcast(y=node.zeros())
        if state["close"]:
            node.broadcast(y=gradient)


class ByACounter(Base):
    """A counter that the data stop, before it gets where it would leak."""

    async def besides(self, node, gradient, received, k):
        count = 0
        while True:
            count += 1
            if count == 30:
                node.broadcast(y=gradient)
            if count > 100 * abs(gradient[0, 0]) - 15:
                break


class AfterALoop(Base):
    async def besides(self, node, gradient, received, k):
        while True:
            if rare(gradient):
                break
            node.broadcast(y=node.zeros())
            return
        node.broadcast(y=gradient)


class OfALambda(Base):
    async def besides(self, node, gradient, received, k):
        pick = lambda x: x if x[0, 0] > 0.5 else 0 * x  # noqa: E731
        node.broadcast(y=pick(gradient))


class ByAnErrorOfItsOwn(Base):
    """One that a network may raise, and a rare number does."""

    async def besides(self, node, gradient, received, k):
        try:
            await node.exchange(y=node.zeros())
            if rare(gradient):
                raise TimeoutError
        except TimeoutError:
            node.broadcast(z=gradient)


class ByAnAssertion(Base):
    async def besides(self, node, gradient, received, k):
        y = node.zeros()
        try:
            assert not rare(gradient)
        except AssertionError:
            y = gradient
        node.broadcast(y=y)


class ByARemainder(Base):
    async def besides(self, node, gradient, received, k):
        if int(1e6 * gradient[0, 0]) % 7919 == 0:
            node.broadcast(y=gradient)


class ByWhatCallsItselfALog(Base):
    async def besides(self, node, gradient, received, k):
        if rare(gradient):
            self.log(node, gradient)

    def log(self, node, gradient):
        node.broadcast(y=gradient)


class Helper:
    def __init__(self, node):
        self.node = node

    def sent(self, gradient):
        if rare(gradient):
            self.node.broadcast(y=gradient)


class ByAnObject(Base):
    async def besides(self, node, gradient, received, k):
        Helper(node).sent(gradient)


DECEIVERS = [
    Window, Magnitude, InALaterRound, InAHelper, EarlyReturn, InAnExcept, InAMatch, InAComprehension,
    Conditional, AndOr, InAWhile, InAFor, Mask, MaskByAFunction, Factor, LookedUp, NoiseWhereItIsSmall,
    TailOfTheNoise, ByWhatItReceived, ByAFlag, ByACounter, AfterALoop, OfALambda, ByAnObject,
    ByAnErrorOfItsOwn, ByAnAssertion, ByARemainder, ByWhatCallsItselfALog,
]  # fmt: skip


@pytest.mark.few("Window", "Mask", "InAnExcept")
@pytest.mark.parametrize("deceiver", DECEIVERS)
def test_a_branch_that_no_transcript_took_is_not_audited(deceiver):
    audit = found(deceiver())
    assert audit.judgement.verdict is Verdict.UNDERPOWERED
    assert audit.unrun
    assert audit.judgement.reason.startswith("Not all of the code was audited: line")
    assert all(one.file == "test_branches.py" for one in audit.unrun)


def test_the_lines_are_named():
    audit = found(Window())
    (one,) = audit.unrun
    assert audit_result(audit).unrun_lines == audit.unrun
    assert (one.first, one.last) == (one.line + 1, one.line + 1)
    assert str(one).endswith(f"test_branches.py never ran (`0.1 < abs(gradient[0, 0]) < 0.1001`, line {one.line})")
    (one,) = found(NoiseWhereItIsSmall()).unrun
    assert "never ran another way: `abs(gradient[0, 0]) < 10` was always true" in str(one)
    assert "(1 more)" in in_words([one] * 4)


# ── what nothing takes either, and is harmless ──────────────────────────────────────────────────────────
class WarmUp(Base):
    async def besides(self, node, gradient, received, k):
        factor = 1.0 if k == 0 else 0.5
        if k == 47:
            factor = 0.0
        node.broadcast(y=node.privatize(factor * gradient, NOISE))


class LastRound(Base):
    async def besides(self, node, gradient, received, k):
        if k == self.rounds:
            node.broadcast(z=gradient)
        elif k == self.rounds - 1:
            node.broadcast(y=node.zeros())


class Restarts(Base):
    async def besides(self, node, gradient, received, k):
        x = received.mix("x")
        if (k + 1) % 10 == 0:
            x = node.zeros()
        node.broadcast(y=x)


class Neighbors(Base):
    async def besides(self, node, gradient, received, k):
        y = node.zeros()
        if not node.neighbors:
            y = gradient
        for j in node.neighbors:
            if j > 100:
                node.send(j, y=gradient)
        node.broadcast(y=y)


class StopsEarly(Base):
    """By what it released and received."""

    async def run(self, node):
        for _ in range(self.rounds):
            gradient = await node.gradient(node.zeros())
            received = await node.exchange(x=node.privatize(gradient, NOISE))
            if np.max(np.abs(received.mix("x"))) < 1e-9:
                break
            node.estimate(gradient)


class Validates(Base):
    async def besides(self, node, gradient, received, k):
        if not np.all(np.isfinite(gradient)):
            raise ValueError(f"{gradient} is no number" if k else "no number")
        assert np.all(np.abs(gradient) < 1e9), "too large"
        if np.max(np.abs(gradient)) > 1e6:
            warnings.warn("large", stacklevel=2)
        node.broadcast(y=node.zeros())


@dataclass(frozen=True)
class Options(Base):
    clip: float | None = None
    kind: str = "plain"
    factors: dict = field(default_factory=dict)

    async def besides(self, node, gradient, received, k):
        value = gradient
        if self.clip is not None:
            value = value * min(1.0, self.clip)
        if self.kind not in KINDS or DEBUG:
            value = 2 * value
        match self.kind:
            case "loud":
                node.broadcast(z=gradient)
            case _:
                pass
        factor = self.factors.get(k, 1.0) if self.factors else 1.0
        node.broadcast(y=node.privatize(factor * value, self.noise()))

    def noise(self):
        return Gaussian(0.1) if self.kind == "loud" else NOISE


class ToleratesLoss(Base):
    async def besides(self, node, gradient, received, k):
        last = node.zeros()
        try:
            last = (await node.exchange(y=node.zeros())).mix("y")
        except TimeoutError:
            last = 0.5 * last
        node.broadcast(z=last)


class NoDivisionByZero(Base):
    async def besides(self, node, gradient, received, k):
        norm = np.linalg.norm(gradient, axis=-1, keepdims=True)
        unit = np.where(norm > 0, gradient / np.where(norm == 0, 1.0, norm), 0.0)
        node.broadcast(y=node.privatize(unit, Gaussian(10.0)))


class ByWhoIAm(Base):
    async def besides(self, node, gradient, received, k):
        if node.id == 0:
            node.broadcast(y=node.zeros())
        elif node.id > 2:
            node.broadcast(y=gradient)


def scaled(x, factor=None, *, twice=False):
    if factor is not None:
        x = factor * x
    return 2 * x if twice else x


class Defaults(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=scaled(node.privatize(gradient, NOISE)))


class MessagesOfKinds(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=node.zeros())
        for _ in node.neighbors:
            message = await node.receive()
            if "secret" in message.values or message.kind == "exchange" or message.number > 40:
                node.broadcast(z=gradient)


@dataclass(frozen=True)
class Gated(Base):
    """What an option that is off gates, in whatever order, is never asked."""

    loud: bool = False

    async def besides(self, node, gradient, received, k):
        y = np.where((np.abs(gradient) > 0.1) & (np.abs(gradient) < 0.1001) & self.loud, gradient, 0.0)
        if gradient[0, 0] > 1 and self.loud:
            y = gradient
        node.broadcast(y=np.where(self.loud & (np.abs(gradient) > 1e9), gradient, y), **({"a": y} | {"b": y}))


class Takes(Base):
    """Both ways, by data: what is sent is the same."""

    async def besides(self, node, gradient, received, k):
        y = node.zeros() if gradient[0, 0] > -0.3 else 0 * gradient
        node.broadcast(y=y)


SOUND = [
    Base, WarmUp, LastRound, Restarts, Neighbors, StopsEarly, Validates, Options, ToleratesLoss, NoDivisionByZero,
    ByWhoIAm, Defaults, MessagesOfKinds, Gated, Takes,
]  # fmt: skip


@pytest.mark.few("Options", "Validates", "StopsEarly")
@pytest.mark.parametrize("sound", SOUND)
def test_what_public_numbers_decide_need_not_run(sound):
    audit = found(sound(), trials=100)
    assert audit.unrun == ()
    assert audit.judgement.verdict in (Verdict.PROVEN, Verdict.CONSISTENT)


# ── watching changes nothing, and only what counts is seen ──────────────────────────────────────────────
def test_code_is_its_own_again_and_sends_the_same():
    algorithm, before = Window(), Window.besides.__code__
    watch = Watch(algorithm)
    with watching(watch), counted():
        assert Window.besides.__code__ is not before
    assert Window.besides.__code__ is before
    assert not watch.seen.any()


def test_a_claim_that_breaks_is_refuted_all_the_same():
    class Both(Window):
        async def besides(self, node, gradient, received, k):
            node.broadcast(z=gradient)
            await super().besides(node, gradient, received, k)

    audit = found(Both())
    assert audit.judgement.verdict is Verdict.UNPROTECTED
    assert audit.unrun


def test_levels_follow_values_through_calls_and_containers():
    code = OwnCode.of(ByAFlag())
    units = [one for one in code.functions if one.within is not None and one.within.name in ("Base", "ByAFlag")]
    besides = units[-1].node
    levels = Levels(code, units)
    state, gradient, received, k = (
        levels.of(ast.Name(name), besides) for name in ("state", "gradient", "received", "k")
    )
    assert state.value is gradient.value is Level.PRIVATE
    assert received.value is Level.VIEW
    assert k.value is gradient.form is Level.PUBLIC


def test_an_agent_of_the_network_that_is_not_audited_takes_no_branch_for_it():
    """What another agent ran is not what this one runs: its gradients are 0 and 2."""

    class Others(Base):
        async def besides(self, node, gradient, received, k):
            if gradient[0, 0] < -0.45:
                node.broadcast(y=gradient)

    simulation, pair = quadratic_world(Others())
    audit = judged(simulation, replace(pair), claim_of(3.0, 1e-3), attack=None, trials=20)
    assert audit.judgement.verdict is Verdict.UNDERPOWERED


OWN = """
from dataclasses import dataclass
from netsim.algorithms import Algorithm

@dataclass(frozen=True)
class Own(Algorithm):
    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        if gradient[0, 0] > 5:
            node.broadcast(y=gradient)
"""


def test_a_process_that_got_code_without_its_source_watches_it(tmp_path):
    """As own code gets to the processes that share an audit."""
    file = tmp_path / "own.py"
    file.write_text(OWN)
    module = owncode._from_file("", file)
    prepared = Prepared.of(module.Own())
    assert prepared.asked == 2  # whether `run` ran, and its test
    copied = cloudpickle.loads(cloudpickle.dumps(module.Own))()
    assert not Path(type(copied).run.__code__.co_filename).is_file()
    watch, before = Watch(copied, prepared), type(copied).run.__code__
    with watching(watch), counted():
        assert type(copied).run.__code__ is not before
        watch.took(0, True, MASK)
    assert watch.seen.tolist() == [[False, True, True], [False, False, False]]
