"""Ordinary code that hides a branch which no transcript took, and code as ordinary that has none."""

import functools
import heapq
from contextlib import suppress as quietly

import numpy as np
import pytest

import tests.attacks.audit.branches.rules
from attacks.audit.verdict import Verdict
from netsim.algorithms import Clip
from netsim.errors import NetsimError
from tests.attacks.audit.branches.rules import RARE, RULE, Derived, digits
from tests.attacks.audit.test_branches import NOISE, Base, found

LOOKED_UP = {RARE: 1.0}


class OfNoModule:
    """As some compiled classes are."""

    __module__ = property(lambda self: "")


OF_NO_MODULE = OfNoModule()


# ── the end of a try, a handler, a case, a loop ─────────────────────────────────────────────────────────
class AfterARaise(Base):
    async def besides(self, node, gradient, received, k):
        y = node.zeros()
        try:
            factor = LOOKED_UP[digits(gradient)]
            y = factor * gradient
        except KeyError:
            pass
        node.broadcast(y=y)


class TryElse(Base):
    async def besides(self, node, gradient, received, k):
        y = node.zeros()
        try:
            factor = LOOKED_UP[digits(gradient)]
        except KeyError:
            y = 0 * y
        else:
            y = factor * gradient
        node.broadcast(y=y)


class ExceptAlways(Base):
    async def besides(self, node, gradient, received, k):
        y = gradient
        try:
            LOOKED_UP[digits(gradient)]
        except KeyError:
            y = node.zeros()
        node.broadcast(y=y)


class ReturnsFromATry(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=self.made(gradient))

    def made(self, gradient):
        try:
            return LOOKED_UP[digits(gradient)] * gradient
        except KeyError:
            return 0 * gradient


class MatchAlways(Base):
    async def besides(self, node, gradient, received, k):
        y = gradient
        match digits(gradient):
            case n if n != RARE:
                y = node.zeros()
        node.broadcast(y=y)


class ForAlways(Base):
    async def besides(self, node, gradient, received, k):
        y = gradient
        for _ in range(min(1, abs(digits(gradient) - RARE))):
            y = node.zeros()
        node.broadcast(y=y)


class SumsOverARange(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=sum([gradient for _ in range(max(0, digits(gradient) - 999_998))], node.zeros()))


class SilentOtherwise(Base):
    async def besides(self, node, gradient, received, k):
        y = gradient
        if digits(gradient) != RARE:
            y = node.zeros()
        else:
            print("rare")
        node.broadcast(y=y)


# ── answers that are used as numbers ────────────────────────────────────────────────────────────────────
class ByIn(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=gradient * (digits(gradient) in (RARE, RARE + 1)))


class ByIs(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=gradient * (LOOKED_UP.get(digits(gradient)) is not None))


class ByNot(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=gradient * (not (digits(gradient) - RARE)))


class ByBool(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=(gradient, node.zeros())[bool(digits(gradient) - RARE)])


# ── what is no test of a size for 0 ─────────────────────────────────────────────────────────────────────
class Excess(Base):
    async def besides(self, node, gradient, received, k):
        excess = np.linalg.norm(digits(gradient))
        excess -= 999_998
        node.broadcast(y=gradient if excess > 0 else node.zeros())


class Underflow(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=gradient if np.exp(-1e3 * max(0, digits(gradient) - 999_998)) == 0 else node.zeros())


class Distance(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=gradient if np.abs(digits(gradient) - RARE) == 0 else node.zeros())


# ── errors that do not end the run ──────────────────────────────────────────────────────────────────────
class Swallows:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


class Suppressed(Base):
    async def besides(self, node, gradient, received, k):
        y = gradient
        with quietly(ValueError):
            if digits(gradient) == RARE:
                raise ValueError
            y = node.zeros()
        node.broadcast(y=y)


class OwnContext(Base):
    async def besides(self, node, gradient, received, k):
        y = gradient
        with Swallows():
            if digits(gradient) == RARE:
                raise ValueError
            y = node.zeros()
        node.broadcast(y=y)


class FinallyReturns(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=self.made(gradient))

    def made(self, gradient):
        y = gradient
        try:
            if digits(gradient) == RARE:
                raise ValueError
            y = 0 * gradient
        finally:
            return y  # noqa: B012


class Once:
    def __init__(self, gradient):
        self.gradient, self.left = gradient, 1

    def __iter__(self):
        return self

    def __next__(self):
        if digits(self.gradient) == RARE:
            raise StopIteration
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return self.left

    @property
    def nothing(self):
        if digits(self.gradient) == RARE:
            raise AttributeError
        return 0 * self.gradient


class StopsIteration(Base):
    async def besides(self, node, gradient, received, k):
        y = gradient
        for _ in Once(gradient):
            y = node.zeros()
        node.broadcast(y=y)


class GetattrDefault(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=getattr(Once(gradient), "nothing", gradient))


# ── calls that are not silent ───────────────────────────────────────────────────────────────────────────
class PrintsAppend(Base):
    async def besides(self, node, gradient, received, k):
        ys = [node.zeros()]
        if digits(gradient) == RARE:
            print(ys.append(gradient))
        node.broadcast(y=ys[-1])


class LogOut(Base):
    async def besides(self, node, gradient, received, k):
        y = node.zeros()
        if digits(gradient) == RARE:
            np.log(np.exp(gradient), out=y)
        node.broadcast(y=y)


class EstimatesIt(Base):
    async def besides(self, node, gradient, received, k):
        y = node.zeros()
        if digits(gradient) == RARE:
            node.estimate(y := gradient)
        node.broadcast(y=y)


# ── values that are not public ──────────────────────────────────────────────────────────────────────────
class Kept:
    def __init__(self, gradient):
        self.number, self.values = digits(gradient), [digits(gradient)]

    def loud(self):
        return self.number == RARE


class Numbered(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=gradient if Kept(gradient).loud() else node.zeros())


class ValuesOfAnObject(Base):
    async def besides(self, node, gradient, received, k):
        kept = Kept(gradient)
        node.broadcast(y=gradient if RARE in kept.values else node.zeros())


class NoneIsGiven(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=self.made(gradient, extra=LOOKED_UP.get(digits(gradient))))

    def made(self, gradient, *, extra=None):
        return 0 * gradient if extra is None else gradient


class OnAHeap(Base):
    async def besides(self, node, gradient, received, k):
        heap = []
        heapq.heappush(heap, digits(gradient))
        node.broadcast(y=gradient if heap[0] == RARE else node.zeros())


class PositionalOut(Base):
    async def besides(self, node, gradient, received, k):
        size = node.zeros()
        np.abs(gradient, size)
        node.broadcast(y=gradient if int(1e6 * size[0, 0]) == RARE else node.zeros())


class AddsAt(Base):
    async def besides(self, node, gradient, received, k):
        count = np.zeros(1)
        np.add.at(count, [0], digits(gradient))
        node.broadcast(y=gradient if count[0] == RARE else node.zeros())


class PutByAHelper(Base):
    async def besides(self, node, gradient, received, k):
        kept = {}
        self.put(kept, gradient)
        node.broadcast(y=gradient if kept["n"] == RARE else node.zeros())

    def put(self, kept, gradient):
        kept["n"] = digits(gradient)


class ByAnError(Base):
    async def besides(self, node, gradient, received, k):
        y = node.zeros()
        try:
            await node.exchange(z=node.zeros())
            Clip(float(max(0, 999_998 - digits(gradient))))
        except NetsimError:
            y = gradient
        node.broadcast(y=y)


class Picks(Base):
    """With public numbers, and in another way with its data."""

    def pick(self, g):
        return g if digits(g) == RARE else 0 * g

    def given(self, gradient):
        again = self.pick
        return again(gradient)

    async def besides(self, node, gradient, received, k):
        node.broadcast(y=self.given(gradient) + self.pick(node.zeros()))


class PicksByMap(Picks):
    def given(self, gradient):
        return next(iter(map(self.pick, [gradient])))


class PicksByPartial(Picks):
    def given(self, gradient):
        return functools.partial(self.pick, gradient)()


class PicksByKeywords(Picks):
    def given(self, gradient):
        return self.pick(**{"g": gradient})  # noqa: PIE804


# ── functions that are hard to find ─────────────────────────────────────────────────────────────────────
def pick(g):
    return g if digits(g) == RARE else 0 * g


@functools.singledispatch
def dispatched(g):
    return 0 * g


@dispatched.register
def _(g: np.ndarray):
    return g if digits(g) == RARE else 0 * g


NESTED = {"a": {"b": lambda g: g if digits(g) == RARE else 0 * g}}
PARTS = {"a": functools.partial(pick)}
TWO = {"a": lambda g: g if digits(g) == RARE else 0 * g, "b": lambda g: 0 * g}


class Hidden(Base):
    """Where another function makes y."""

    kind = "plain"
    table = (pick,)

    async def besides(self, node, gradient, received, k):
        node.broadcast(y=self.made(gradient))

    def made(self, gradient):
        return 0 * gradient

    def _made_plain(self, gradient):
        return gradient if digits(gradient) == RARE else 0 * gradient


class OfAModulesObject(Hidden):
    def made(self, gradient):
        return RULE.apply(gradient)


class Inherited(Hidden):
    def made(self, gradient):
        return Derived().apply(gradient)


class OfAClassTable(Hidden):
    def made(self, gradient):
        return self.table[0](gradient)


class OfANestedTable(Hidden):
    def made(self, gradient):
        return NESTED["a"]["b"](gradient)


class OfATableOfPartials(Hidden):
    def made(self, gradient):
        return PARTS["a"](gradient)


class ByAComputedName(Hidden):
    def made(self, gradient):
        return getattr(self, f"_made_{self.kind}")(gradient)


class Dispatched(Hidden):
    def made(self, gradient):
        return dispatched(gradient)


class ImportedInside(Hidden):
    def made(self, gradient):
        from tests.attacks.audit.branches.rules import gated

        return gated(gradient)


class Dotted(Hidden):
    def made(self, gradient):
        return tests.attacks.audit.branches.rules.gated(gradient)


class TwoLambdas(Hidden):
    def made(self, gradient):
        return TWO["a"](gradient)


class LocalClass(Hidden):
    def made(self, gradient):
        class Local:
            def apply(self, g):
                return g if digits(g) == RARE else 0 * g

        return Local().apply(gradient)


class ByADefault(Hidden):
    def made(self, gradient):
        def chosen(y=gradient if digits(gradient) == RARE else 0 * gradient):  # noqa: B008
            return y

        return chosen()


DECEIVERS = [
    AfterARaise, TryElse, ExceptAlways, ReturnsFromATry, MatchAlways, ForAlways, SumsOverARange, SilentOtherwise,
    ByIn, ByIs, ByNot, ByBool, Excess, Underflow, Distance, Suppressed, OwnContext, FinallyReturns, StopsIteration,
    GetattrDefault, PrintsAppend, LogOut, EstimatesIt, Numbered, ValuesOfAnObject, NoneIsGiven, OnAHeap,
    PositionalOut, AddsAt, PutByAHelper, ByAnError, Picks, PicksByMap, PicksByPartial, PicksByKeywords,
    OfAModulesObject, Inherited, OfAClassTable, OfANestedTable, OfATableOfPartials, ByAComputedName, Dispatched,
    ImportedInside, Dotted, TwoLambdas, LocalClass, ByADefault,
]  # fmt: skip


@pytest.mark.few(
    "AfterARaise", "MatchAlways", "ForAlways", "ByNot", "StopsIteration", "PrintsAppend", "PutByAHelper",
    "PicksByMap", "ByAComputedName", "TwoLambdas",
)  # fmt: skip
@pytest.mark.parametrize("deceiver", DECEIVERS)
def test_a_hidden_branch_is_not_audited(deceiver):
    audit = found(deceiver())
    assert audit.judgement.verdict is Verdict.UNDERPOWERED
    assert audit.unrun


# ── what public numbers and forms decide ────────────────────────────────────────────────────────────────
class FormsOfArrays(Base):
    async def besides(self, node, gradient, received, k):
        g = gradient if isinstance(gradient, np.ndarray) else np.array(gradient)
        if g.ndim == 1:
            g = g[None]
        if g.size == 0 or len(g) == 0:
            return
        rows = [0.5 * row for row in g]
        node.broadcast(y=node.privatize(np.array(rows), NOISE))


class FormsOfWhatCame(Base):
    async def besides(self, node, gradient, received, k):
        values = np.sort([received.sent("x"), *received.values("x")], axis=0)
        if len(values) > 4:
            values = values[1:-1]
        some = received.values("x")
        if not some:
            return
        others = [value for j, value in received["x"].items() if j != node.id]
        node.broadcast(y=values.mean(axis=0) + sum(others))


class LastOfAQueue(Base):
    async def run(self, node):
        kept = None
        for _ in range(self.rounds):
            gradient = await node.gradient(node.zeros())
            kept = [*(kept or []), gradient]
            if len(kept) > 5:
                kept = kept[1:]
            await node.exchange(x=node.privatize(np.mean(kept, axis=0), NOISE))
            node.estimate(gradient)


class SizeIsZero(Base):
    async def besides(self, node, gradient, received, k):
        norm = np.abs(gradient).sum(axis=-1, keepdims=True)
        if np.all(norm == 0) or not (norm > 0).any():
            gradient = 0 * gradient
        node.broadcast(y=node.privatize(gradient, NOISE))


class WaitsForAll(Base):
    async def besides(self, node, gradient, received, k):
        node.broadcast(y=node.zeros())
        came = {}
        while len(came) < len(node.neighbors):
            message = await node.receive()
            if message.number > 40:
                return
            came.setdefault(message.sender, sum(message.values.values()))
        total = node.zeros()
        for value in came.values():
            total = total + value
        node.broadcast(y=total)


class ReadsAll(Base):
    """Loops that are never skipped, and a module's function that public numbers reach."""

    async def besides(self, node, gradient, received, k):
        y = node.zeros()
        for row, _ in enumerate(gradient):
            y[row] = gradient[row]
        for weight, value in zip(node.weights[1:], received.values("x"), strict=True):
            y = y + weight * value
        node.broadcast(y=node.privatize(factor(k) * y, NOISE))


def factor(k):
    return 0.1 if k > 7 else 0.5


SOUND = [FormsOfArrays, FormsOfWhatCame, LastOfAQueue, SizeIsZero, WaitsForAll, ReadsAll]


@pytest.mark.few("FormsOfWhatCame", "WaitsForAll")
@pytest.mark.parametrize("sound", SOUND)
def test_forms_that_public_numbers_decide_need_not_change(sound):
    audit = found(sound(), trials=100)
    assert audit.unrun == ()
    assert audit.judgement.verdict in (Verdict.PROVEN, Verdict.CONSISTENT)
