"""Branches in an algorithm's own code that private data, coins, noise or messages decide, and what they decide about.

A branch is any question that is asked while code runs: the test of an `if`, a `while`, a conditional expression or a
comprehension, each part of an `and` or `or`, a comparison whose answer is used as a number or a mask, and whether the
body of a loop, a `case` or an `except` is run. A question that public numbers decide is left out (`levels`), and so
are the ways of a branch that change nothing: `raise`, prints, `node.estimate`, or an early end that only what is seen
decides.
"""

import ast
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from attacks.audit.branches.code import FunctionNode, Own, OwnCode, functions_in
from attacks.audit.branches.harmless import Harmless, jumps, name_of
from attacks.audit.branches.levels import Level, Levels

TOOK = "__netsim_took__"
"""Name by which code that is watched reports."""
_LONG = 60
"""Characters of a test that are shown."""
_MASKS = frozenset([
    "greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "logical_and", "logical_or",
    "isclose", "isin",
])  # fmt: skip
"""Functions whose value is a mask."""
_POSITIVE = frozenset(["norm", "length", "abs", "absolute", "fabs", "sqrt", "square", "exp", "var", "std"])
_SUMS = frozenset(["sum", "max", "mean", "maximum", "reshape", "copy"])
_Beside = tuple[ast.expr, bool]
"""What decides beside a question, and its answer where the question counts."""
_SIMPLE = (
    ast.Name, ast.Attribute, ast.Constant, ast.Compare, ast.UnaryOp, ast.BoolOp, ast.expr_context, ast.cmpop,
    ast.unaryop, ast.boolop,
)  # fmt: skip
"""What may be evaluated once more."""


class Way(NamedTuple):
    """One way of a branch: the lines that are run on it, from first to last, or `skipped`: none of their own."""

    first: int
    last: int
    skipped: bool = False


@dataclass(frozen=True)
class Branch:
    """A branch: `ways[answer]` by whether the answer is true; None for one that need not be looked at."""

    file: str
    line: int
    test: str
    ways: tuple[Way | None, Way | None]

    @property
    def where(self) -> str:
        """The name of its file."""
        return Path(self.file).name


@dataclass(eq=False)
class _Wrapped:
    """What reports a branch, by number: an expression, or the start of a body and what comes before it."""

    expressions: dict[ast.expr, tuple[int, list[_Beside]]]
    masks: dict[ast.expr, tuple[int, list[_Beside]]]
    bodies: list[tuple[list[ast.stmt], int, bool]]


class Found(NamedTuple):
    """Branches, in order, and the trees of their files, in which they report to `TOOK`."""

    branches: tuple[Branch, ...]
    code: OwnCode

    @classmethod
    def of(cls, code: OwnCode) -> "Found":
        """Those of own code; its trees are changed."""
        levels, harmless, branches = Levels(code), Harmless(code), list[Branch]()
        wrapped = _Wrapped({}, {}, [])
        inside = {inner for own in code.functions for inner in functions_in(own.node) if inner is not own.node}
        for own in sorted(code.functions, key=lambda one: (one.file, one.node.lineno, one.node.col_offset)):
            if own.node not in inside:
                _Finder(levels, harmless, own, branches, wrapped).find()
        for body, number, answer in wrapped.bodies:
            report = ast.Expr(_call(number, [], ast.Constant(answer), mask=False))
            body.insert(0, ast.fix_missing_locations(ast.copy_location(report, body[0])))
        for tree in code.trees.values() if branches else ():
            _Wrapper(wrapped).visit(tree)
            ast.fix_missing_locations(tree)
        return cls(tuple(branches), code)


class _Finder:
    """Finds the branches of one function."""

    def __init__(
        self, levels: Levels, harmless: Harmless, own: Own, branches: list[Branch], wrapped: _Wrapped
    ) -> None:
        self._levels, self._silence, self._own = levels, harmless, own
        self._branches, self._wrapped = branches, wrapped

    def find(self) -> None:
        """Note all of them."""
        node = self._own.node
        if isinstance(node, ast.Lambda):
            self._value(node.body)
        else:
            self._block(node.body)

    def _level(self, e: ast.expr) -> Level:
        return self._levels.of(e, self._own.node)

    def _harmless(self, body: list[ast.stmt], level: Level) -> bool:
        return self._silence.body(body, level, self._own)

    def _note(self, at: ast.AST, test: str, ways: tuple[Way | None, Way | None]) -> int | None:
        if ways == (None, None):
            return None
        test = " ".join(test.split())
        test = test if len(test) <= _LONG else f"{test[: _LONG - 1]}…"
        self._branches.append(Branch(self._own.file, getattr(at, "lineno", 0), test, ways))
        return len(self._branches) - 1

    # ── statements ──────────────────────────────────────────────────────────────────────────────────────
    def _block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement, body)

    def _statement(self, s: ast.stmt, block: list[ast.stmt]) -> None:
        match s:
            case ast.If():
                self._tested(s, block)
                self._block(s.body)
                self._block(s.orelse)
            case ast.While():
                self._tested(s, block)
                self._past(s, block)
                self._block(s.body)
                self._block(s.orelse)
            case ast.For() | ast.AsyncFor():
                self._value(s.iter)
                if (level := self._level(s.iter)) > Level.PUBLIC and not self._harmless(s.body, level):
                    number = self._note(s, f"for … in {ast.unparse(s.iter)}", (None, _lines(s.body)))
                    self._bodies(number, block, s, s.body)
                self._past(s, block)
                self._block(s.body)
                self._block(s.orelse)
            case ast.With() | ast.AsyncWith():
                for item in s.items:
                    self._value(item.context_expr)
                self._block(s.body)
            case ast.Try() | ast.TryStar():
                self._try(s)
            case ast.Match():
                self._match(s, block)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._block(s.body)
            case ast.Assert() if not self._silence.assertions:
                self._choice(s.test, s)
            case ast.Raise() | ast.Assert():
                pass
            case _ if self._silence.silent(s):
                pass
            case _:
                for one in ast.iter_child_nodes(s):
                    if isinstance(one, ast.expr):
                        self._value(one)

    def _tested(self, s: ast.If | ast.While, block: list[ast.stmt]) -> None:
        """Branches of a test that decides whether a body is run."""
        level = self._level(s.test)
        if level is Level.PUBLIC or any(self._silence.ends(one, self._own) for one in (s.body, s.orelse)):
            return
        other = s.orelse
        if isinstance(s, ast.While) or jumps(s.body[-1]):
            other = [*s.orelse, *_after(s, block)]
        yes = None if self._harmless(s.body, level) else _lines(s.body)
        if other:
            no = None if self._harmless(other, level) else _lines(other)
        else:
            no = None if yes is None else yes._replace(skipped=True)
        if yes is None and no is None:
            return
        self._inner(s.test)
        for leaf, turned, beside in _leaves(s.test):
            both = (yes or no, yes or no) if turned is None else (yes, no) if turned else (no, yes)
            self._ask(leaf, both, beside)

    def _ask(self, leaf: ast.expr, ways: tuple[Way | None, Way | None], beside: Iterable[_Beside]) -> None:
        """A question of a test, unless public numbers decide it; where those `beside` decide, it does not count."""
        if self._level(leaf) > Level.PUBLIC and not _sign_of_size(leaf, self._own.node):
            number = self._note(leaf, ast.unparse(leaf), ways)
            if number is not None:
                self._wrapped.expressions[leaf] = number, self._public(beside)

    def _public(self, beside: Iterable[_Beside]) -> list[_Beside]:
        return [
            (e, wanted)
            for e, wanted in beside
            if all(isinstance(part, _SIMPLE) for part in ast.walk(e)) and self._level(e) is Level.PUBLIC
        ]

    def _past(self, s: ast.While | ast.For | ast.AsyncFor, block: list[ast.stmt]) -> None:
        """What comes after a loop that something may end which is not public."""
        after = _after(s, block)
        endless = isinstance(s, ast.While) and isinstance(s.test, ast.Constant)
        breaks = any(isinstance(one, ast.Break) for one in ast.walk(s))
        if endless and breaks and not self._harmless(after, Level.PRIVATE):
            number = self._note(after[0], "the end of the loop before them", (None, _lines(after)))
            self._bodies(number, block, s, _At(block, after[0]))

    def _inner(self, test: ast.expr) -> None:
        """Branches inside the parts of a test; whether all or some of a mask are true is the test itself."""
        for leaf, *_ in _leaves(test):
            for one in ast.iter_child_nodes(leaf):
                if isinstance(one, ast.expr):
                    self._value(one, masks=False)

    def _try(self, s: ast.Try | ast.TryStar) -> None:
        for handler in s.handlers:
            level = Level.PRIVATE
            if isinstance(s, ast.Try):
                level = self._levels.of_try(s, handler, self._own.node)
            if level is Level.PUBLIC or self._harmless(handler.body, level):
                continue
            what = "" if handler.type is None else f" {ast.unparse(handler.type)}"
            number = self._note(handler, f"except{what}", (None, _lines(handler.body)))
            self._bodies(number, s.body, s.body[0], handler.body)
        for part in (s.body, *(handler.body for handler in s.handlers), s.orelse, s.finalbody):
            self._block(part)

    def _match(self, s: ast.Match, block: list[ast.stmt]) -> None:
        level = self._level(s.subject)
        self._value(s.subject)
        for case in s.cases:
            guard = Level.PUBLIC if case.guard is None else self._level(case.guard)
            if max(level, guard) > Level.PUBLIC and not self._harmless(case.body, max(level, guard)):
                number = self._note(case.pattern, f"case {ast.unparse(case.pattern)}", (None, _lines(case.body)))
                self._bodies(number, block, s, case.body)
        for case in s.cases:
            self._block(case.body)

    def _bodies(self, number: int | None, block: list[ast.stmt], before: ast.stmt, body: list[ast.stmt]) -> None:
        """A body reports that it is run, and what comes before it that it may have been."""
        if number is None:
            return
        self._wrapped.bodies.append((body, number, True))
        self._wrapped.bodies.append((_At(block, before), number, False))

    # ── expressions ─────────────────────────────────────────────────────────────────────────────────────
    def _value(self, e: ast.expr, *, masks: bool = True, beside: tuple[_Beside, ...] = ()) -> None:
        """Branches in an expression whose value is used; in `masks` of numbers, too."""
        if isinstance(e, ast.Call) and self._silence.silent_call(e):
            return
        match e:
            case ast.IfExp():
                self._choice(e.test, e)
                self._value(e.body)
                self._value(e.orelse)
                return
            case ast.BoolOp():
                for one in e.values[:-1]:
                    self._choice(one, e)
                self._value(e.values[-1])
                return
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                for part in e.generators:
                    self._value(part.iter)
                    for test in part.ifs:
                        self._choice(test, e)
                for one in (e.key, e.value) if isinstance(e, ast.DictComp) else (e.elt,):
                    self._value(one)
                return
            case ast.Compare() | ast.BinOp() | ast.Call() if masks and _is_mask(e) and self._level(e) > Level.PUBLIC:
                if isinstance(e, ast.BinOp):
                    beside = (*beside, *((one, not isinstance(e.op, ast.BitOr)) for one in (e.left, e.right)))
                if not _sign_of_size(e, self._own.node):
                    way = Way(e.lineno, e.end_lineno or e.lineno, skipped=True)
                    if (number := self._note(e, ast.unparse(e), (way, way))) is not None:
                        self._wrapped.masks[e] = number, self._public(beside)
            case _:
                pass
        for one in ast.iter_child_nodes(e):
            if isinstance(one, ast.expr):
                self._value(one, masks=masks, beside=beside)
            elif isinstance(one, ast.keyword):
                self._value(one.value, masks=masks)

    def _choice(self, test: ast.expr, whole: ast.expr | ast.stmt) -> None:
        """Branches of a test that decides which value an expression has."""
        self._inner(test)
        way = Way(whole.lineno, whole.end_lineno or whole.lineno, skipped=True)
        for leaf, _, beside in _leaves(test):
            self._ask(leaf, (way, way), beside)


class _At(list[ast.stmt]):
    """A place in a block, before one of its statements."""

    def __init__(self, block: list[ast.stmt], before: ast.stmt) -> None:
        super().__init__([before])
        self._block, self._before = block, before

    def insert(self, index: object, one: ast.stmt) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Put a statement there."""
        del index
        self._block.insert(next(k for k, s in enumerate(self._block) if s is self._before), one)


class _Wrapper(ast.NodeTransformer):
    """Puts calls of `TOOK` around expressions."""

    def __init__(self, wrapped: _Wrapped) -> None:
        self._wrapped = wrapped

    def visit(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node, ast.expr):
            return node
        out: ast.expr = node
        for numbers, mask in ((self._wrapped.masks, True), (self._wrapped.expressions, False)):
            if node in numbers:
                out = ast.copy_location(_call(*numbers[node], out, mask=mask), node)
        return out


def _call(number: int, beside: list[_Beside], value: ast.expr, *, mask: bool) -> ast.Call:
    pairs: list[ast.expr] = [ast.Tuple([deepcopy(e), ast.Constant(wanted)], ast.Load()) for e, wanted in beside]
    return ast.Call(ast.Name(TOOK, ast.Load()), [ast.Constant(number), value, ast.Constant(mask), *pairs], [])


def _lines(body: list[ast.stmt]) -> Way:
    return Way(body[0].lineno, max(one.end_lineno or one.lineno for one in body)) if body else Way(0, 0)


def _after(s: ast.stmt, block: list[ast.stmt]) -> list[ast.stmt]:
    return block[next(k for k, one in enumerate(block) if one is s) + 1 :]


def _leaves(
    test: ast.expr, turned: bool | None = False, beside: tuple[_Beside, ...] = ()
) -> Iterable[tuple[ast.expr, bool | None, tuple[_Beside, ...]]]:
    """The questions of a test, whether their answers are turned (None: others decide as well), and those others."""
    if isinstance(test, ast.BoolOp):
        for one in test.values:
            others = tuple((e, isinstance(test.op, ast.And)) for e in test.values if e is not one)
            yield from ((leaf, None, more) for leaf, _, more in _leaves(one, None, (*beside, *others)))
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from (
            (leaf, None if way is None else not way, more)
            for leaf, way, more in _leaves(test.operand, turned, beside)
        )
    else:
        yield test, turned, beside


def _is_mask(e: ast.Compare | ast.BinOp | ast.Call) -> bool:
    if isinstance(e, ast.Call):
        return name_of(e.func) in _MASKS
    if isinstance(e, ast.Compare):
        return all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE | ast.Eq | ast.NotEq) for op in e.ops)
    if isinstance(e.op, ast.BitAnd | ast.BitOr):
        return True
    return isinstance(e.op, ast.Mult) and all(
        isinstance(one, ast.Compare) or (isinstance(one, ast.BinOp) and _is_mask(one)) for one in (e.left, e.right)
    )


def _sign_of_size(e: ast.expr, function: FunctionNode) -> bool:
    """Whether it asks if a size is 0: what keeps a division from failing."""
    if not isinstance(e, ast.Compare) or len(e.ops) != 1:
        return False
    left, right, op = e.left, e.comparators[0], e.ops[0]
    if _is_zero(left):
        left, right, op = right, left, _TURNED.get(type(op), type(op))()
    if not _is_zero(right):
        return False
    return isinstance(op, ast.Eq | ast.NotEq | ast.Gt) and _positive(left, function, 4)


_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}


def _is_zero(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and not isinstance(e.value, bool) and e.value == 0


def _positive(e: ast.expr, function: FunctionNode, deep: int) -> bool:
    """Whether an expression, as it is written, is of a number that is not below 0."""
    match e:
        case ast.Call():
            if name_of(e.func) in _POSITIVE:
                return True
            of = e.args[:1] or ([e.func.value] if isinstance(e.func, ast.Attribute) else [])
            return name_of(e.func) in _SUMS and bool(of) and _positive(of[0], function, deep)
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=2)):
            return True
        case ast.BinOp(op=ast.Mult() | ast.Add() | ast.Div()):
            same = isinstance(e.op, ast.Mult) and ast.dump(e.left) == ast.dump(e.right)
            return same or (_positive(e.left, function, deep) and _positive(e.right, function, deep))
        case ast.Subscript():
            return _positive(e.value, function, deep)
        case ast.Name() if deep:
            values = [
                one.value
                for one in ast.walk(function)
                if isinstance(one, ast.Assign) and any(isinstance(t, ast.Name) and t.id == e.id for t in one.targets)
            ]
            return bool(values) and all(_positive(one, function, deep - 1) for one in values)
        case _:
            return False
