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
from typing import Any, NamedTuple, cast

from attacks.audit.branches.code import FunctionNode, Own, OwnCode, functions_in
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
_SILENT = frozenset(["print", "warn", "debug", "info", "warning", "error", "exception", "log", "estimate"])
"""Calls that tell whoever runs the code, and no agent."""
_PORT = frozenset(
    ["send", "broadcast", "exchange", "receive", "privatize", "split", "gradient", "proximal", "perturbed_proximal"]
)
_JUMPS = ast.Return | ast.Break | ast.Continue


class _Way(NamedTuple):
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
    ways: tuple[_Way | None, _Way | None]

    @property
    def where(self) -> str:
        """The name of its file."""
        return Path(self.file).name


def find_branches(code: OwnCode) -> tuple[Branch, ...]:
    """Branches of own code, in order; the trees of its files are changed, and report them to `TOOK`."""
    levels, harmless, branches = Levels(code), _Harmless(code), list[Branch]()
    reports = _Reports()
    inside = {inner for own in code.functions for inner in functions_in(own.node) if inner is not own.node}
    for own in sorted(code.functions, key=lambda one: (one.file, one.node.lineno, one.node.col_offset)):
        if own.node not in inside:
            _Finder(levels, harmless, own, branches, reports).find()
    for tree in code.trees.values() if branches else ():
        ast.fix_missing_locations(reports.visit(tree))
    return tuple(branches)


class _Reports(ast.NodeTransformer):
    """Puts calls of `TOOK` around expressions, and before statements."""

    def __init__(self) -> None:
        self.asked: dict[tuple[ast.expr, bool], tuple[int, list[_Beside]]] = {}
        """Expressions, as masks or not: the number of the branch, and what decides beside it."""
        self.reached: dict[ast.stmt, list[tuple[int, bool]]] = {}
        """Statements: the numbers of branches, and the answers that they have been given where it is reached."""

    def visit(self, node: ast.AST) -> Any:
        """The node, and what reports."""
        self.generic_visit(node)
        if isinstance(node, ast.expr):
            out: ast.expr = node
            for mask in (True, False):
                if (node, mask) in self.asked:
                    out = ast.copy_location(_call(*self.asked[node, mask], out, mask=mask), node)
            return out
        if isinstance(node, ast.stmt) and node in self.reached:
            calls = [_call(number, [], ast.Constant(answer), mask=False) for number, answer in self.reached[node]]
            return [*(ast.copy_location(ast.Expr(call), node) for call in calls), node]
        return node


@dataclass
class _Finder:
    """Finds the branches of one function."""

    levels: Levels
    harmless: "_Harmless"
    own: Own
    branches: list[Branch]
    reports: _Reports

    def find(self) -> None:
        """Note all of them."""
        node = self.own.node
        if isinstance(node, ast.Lambda):
            self._value(node.body)
        else:
            self._block(node.body)

    def _level(self, e: ast.expr) -> Level:
        return self.levels.of(e, self.own.node)

    def _harmless(self, body: list[ast.stmt], level: Level) -> bool:
        return self.harmless.body(body, level, self.own)

    def _note(self, at: ast.AST, test: str, ways: tuple[_Way | None, _Way | None]) -> int:
        test = " ".join(test.split())
        test = test if len(test) <= _LONG else f"{test[: _LONG - 1]}…"
        self.branches.append(Branch(self.own.file, getattr(at, "lineno", 0), test, ways))
        return len(self.branches) - 1

    # ── statements ──────────────────────────────────────────────────────────────────────────────────────
    def _block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement, body)

    def _statement(self, s: ast.stmt, block: list[ast.stmt]) -> None:
        match s:
            case ast.If() | ast.While():
                self._tested(s, block)
            case ast.For() | ast.AsyncFor():
                self._value(s.iter)
                self._way(s, f"for … in {ast.unparse(s.iter)}", self._level(s.iter), s.body, s)
            case ast.With() | ast.AsyncWith():
                for item in s.items:
                    self._value(item.context_expr)
            case ast.Try() | ast.TryStar():
                for handler in s.handlers:
                    level = Level.PRIVATE
                    if isinstance(s, ast.Try):
                        level = self.levels.of_try(s, handler, self.own.node)
                    what = "" if handler.type is None else f" {ast.unparse(handler.type)}"
                    self._way(handler, f"except{what}", level, handler.body, s.body[0])
            case ast.Match():
                self._value(s.subject)
                for case in s.cases:
                    level = max(self._level(one) for one in (s.subject, case.guard) if one is not None)
                    self._way(case.pattern, f"case {ast.unparse(case.pattern)}", level, case.body, s)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Raise():
                pass
            case ast.Assert():
                if not self.harmless.assertions:
                    self._choice(s.test, s)
            case _ if self.harmless.silent(s):
                pass
            case _:
                for one in ast.iter_child_nodes(s):
                    if isinstance(one, ast.expr):
                        self._value(one)
        if isinstance(s, ast.While | ast.For | ast.AsyncFor):
            self._past(s, block)
        for body in () if isinstance(s, ast.ClassDef) else _blocks(s):
            self._block(body)

    def _way(self, at: ast.AST, test: str, level: Level, body: list[ast.stmt], before: ast.stmt) -> None:
        """A body that a question of this level decides reports that it is run; what is before it, that it may be."""
        if level > Level.PUBLIC and not self._harmless(body, level):
            number = self._note(at, test, (None, _lines(body)))
            self.reports.reached.setdefault(body[0], []).append((number, True))
            self.reports.reached.setdefault(before, []).append((number, False))

    def _tested(self, s: ast.If | ast.While, block: list[ast.stmt]) -> None:
        """Branches of a test that decides whether a body is run."""
        level = self._level(s.test)
        if level is Level.PUBLIC or any(self.harmless.ends(one, self.own) for one in (s.body, s.orelse)):
            return
        other = s.orelse
        if isinstance(s, ast.While) or isinstance(s.body[-1], _JUMPS):
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

    def _ask(self, leaf: ast.expr, ways: tuple[_Way | None, _Way | None], beside: Iterable[_Beside]) -> None:
        """A question of a test, unless public numbers decide it; where those `beside` decide, it does not count."""
        if self._level(leaf) > Level.PUBLIC and not _sign_of_size(leaf, self.own.node):
            self.reports.asked[leaf, False] = self._note(leaf, ast.unparse(leaf), ways), self._public(beside)

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
        if endless and breaks and after:
            self._way(after[0], "the end of the loop before them", Level.PRIVATE, after, s)

    def _inner(self, test: ast.expr) -> None:
        """Branches inside the parts of a test; whether all or some of a mask are true is the test itself."""
        for leaf, *_ in _leaves(test):
            for one in ast.iter_child_nodes(leaf):
                if isinstance(one, ast.expr):
                    self._value(one, masks=False)

    # ── expressions ─────────────────────────────────────────────────────────────────────────────────────
    def _value(self, e: ast.expr, *, masks: bool = True, beside: tuple[_Beside, ...] = ()) -> None:
        """Branches in an expression whose value is used; in `masks` of numbers, too."""
        if isinstance(e, ast.Call) and self.harmless.silent_call(e):
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
                if not _sign_of_size(e, self.own.node):
                    way = _Way(e.lineno, e.end_lineno or e.lineno, skipped=True)
                    self.reports.asked[e, True] = self._note(e, ast.unparse(e), (way, way)), self._public(beside)
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
        way = _Way(whole.lineno, whole.end_lineno or whole.lineno, skipped=True)
        for leaf, _, beside in _leaves(test):
            self._ask(leaf, (way, way), beside)


class _Harmless:
    """Statements that change nothing of what is sent: a way of a branch that has no others need not be taken."""

    def __init__(self, code: OwnCode) -> None:
        self._own = {name for one in code.functions for name in one.names}
        self._caught: list[tuple[ast.expr | None, Own]] = []
        self._procedures = set[ast.AST]()
        for own in code.functions:
            nodes = list(ast.walk(own.node))
            if not any(isinstance(n, ast.Return) and not _nothing(n) for n in nodes):
                self._procedures.add(own.node)
            for n in nodes:
                if isinstance(n, ast.ExceptHandler) and not isinstance(n.body[-1], ast.Raise):
                    self._caught += [
                        (one, own) for one in (n.type.elts if isinstance(n.type, ast.Tuple) else [n.type])
                    ]
                elif isinstance(n, ast.Call) and _name_of(n.func) == "suppress":
                    self._caught += [(one, own) for one in n.args]

    def body(self, body: list[ast.stmt], level: Level, own: Own) -> bool:
        """Whether nothing that is sent is another for this body's being run, or not; a test of this level decides."""
        return all(self._statement(s, level, own) for s in body)

    def ends(self, body: list[ast.stmt], own: Own) -> bool:
        """Whether a body does nothing but end the run with an error."""
        last = body[-1] if body else None
        return isinstance(last, ast.Raise) and all(self._statement(s, Level.PRIVATE, own) for s in body)

    def silent(self, s: ast.stmt) -> bool:
        """Whether a statement says something to nobody but who runs it."""
        if not isinstance(s, ast.Expr):
            return isinstance(s, ast.Pass)
        return isinstance(s.value, ast.Constant) or (isinstance(s.value, ast.Call) and self.silent_call(s.value))

    def silent_call(self, e: ast.Call) -> bool:
        """The same of a call."""
        inside = (_name_of(n.func) for n in ast.walk(e) if isinstance(n, ast.Call) and n is not e)
        name = _name_of(e.func)
        return name in _SILENT and name not in self._own and not any(n in _PORT or n in self._own for n in inside)

    @property
    def assertions(self) -> bool:
        """Whether an assertion that fails ends the run."""
        return not self._may_be_caught(AssertionError)

    def _statement(self, s: ast.stmt, level: Level, own: Own) -> bool:
        match s:
            case ast.Raise():
                error = s.exc.func if isinstance(s.exc, ast.Call) else s.exc
                return error is None or not self._may_be_caught(_class(error, own))
            case ast.Assert():
                return self.assertions
            case ast.Import() | ast.ImportFrom():
                return True
            case ast.Break() | ast.Continue():
                return level <= Level.VIEW
            case ast.Return():
                return _nothing(s) and level <= Level.VIEW and own.node in self._procedures
            case ast.If():
                return self.body(s.body, level, own) and self.body(s.orelse, level, own)
            case ast.For() | ast.While() | ast.With():
                return self.body(s.body, level, own)
            case _:
                return self.silent(s)

    def _may_be_caught(self, error: type[BaseException] | None) -> bool:
        """Whether own code goes on after such an error; None: one that is not known."""
        for one, where in self._caught:
            kind = None if one is None else _class(one, where)
            if kind is None or error is None or issubclass(error, kind):
                return True
        return False


def _call(number: int, beside: list[_Beside], value: ast.expr, *, mask: bool) -> ast.Call:
    pairs: list[ast.expr] = [ast.Tuple([deepcopy(e), ast.Constant(wanted)], ast.Load()) for e, wanted in beside]
    return ast.Call(ast.Name(TOOK, ast.Load()), [ast.Constant(number), value, ast.Constant(mask), *pairs], [])


def _lines(body: list[ast.stmt]) -> _Way:
    return _Way(body[0].lineno, max(one.end_lineno or one.lineno for one in body)) if body else _Way(0, 0)


def _blocks(s: ast.AST) -> Iterable[list[ast.stmt]]:
    """Bodies of a statement, in order."""
    for _, part in ast.iter_fields(s):
        for one in cast("list[ast.AST]", part) if isinstance(part, list) else ():
            if isinstance(one, ast.stmt):
                yield cast("list[ast.stmt]", part)
                break
            if isinstance(one, ast.ExceptHandler | ast.match_case):
                yield one.body


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
        return _name_of(e.func) in _MASKS
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
            if _name_of(e.func) in _POSITIVE:
                return True
            of = e.args[:1] or ([e.func.value] if isinstance(e.func, ast.Attribute) else [])
            return _name_of(e.func) in _SUMS and bool(of) and _positive(of[0], function, deep)
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


def _name_of(e: ast.expr) -> str:
    """The last name of what is called."""
    return e.attr if isinstance(e, ast.Attribute) else e.id if isinstance(e, ast.Name) else ""


def _nothing(s: ast.Return) -> bool:
    return s.value is None or (isinstance(s.value, ast.Constant) and s.value.value is None)


def _class(e: ast.expr, own: Own) -> type[BaseException] | None:
    """The class of errors that an expression names; None: not known."""
    found: object = None
    if isinstance(e, ast.Name):
        found = own.value(e.id)
    elif isinstance(e, ast.Attribute) and isinstance(e.value, ast.Name):
        found = cast("object", getattr(own.value(e.value.id), e.attr, None))
    known = isinstance(found, type) and issubclass(cast("type[object]", found), BaseException)
    return cast("type[BaseException]", found) if known else None
