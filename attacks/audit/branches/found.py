"""Branches in an algorithm's own code that private data, coins, noise or messages decide, and what they decide about.

A branch is any question that is asked while code runs: the test of an `if`, a `while`, a conditional expression or
a comprehension, each part of an `and` or `or`, a comparison (`not`, `bool`, `all`) whose answer is used as a number
or a mask, whether there is anything to loop over, which `case` is run, and whether a `try` came to its end. All are
asked; which of them count is read after it is known which functions ran. A question that public numbers decide is
left out (`levels`), and so are the ways of a branch that change nothing (`harmless`).
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from attacks.audit.branches.code import FunctionNode, Own, OwnCode, functions_in, name_of
from attacks.audit.branches.facts import Level
from attacks.audit.branches.harmless import Harmless, Kind
from attacks.audit.branches.levels import Levels
from attacks.audit.branches.sizes import sign_of_size

TOOK = "__netsim_took__"
"""Name by which code that is watched reports."""
VALUE, MASK, ITEMS, NO = range(4)
"""How an answer is noted: by whether a value is true, by what a mask has, by whether there is anything, or as no."""
_LONG = 60
"""Characters of a test that are shown."""
_MASKS = frozenset([
    "greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "logical_and", "logical_or",
    "logical_not", "isclose", "isin", "bool", "bool_", "all", "any", "isnan", "isfinite", "isinf", "gt", "lt", "ge",
    "le", "eq", "ne", "not_", "truth", "contains", "signbit", "allclose", "array_equal", "isinstance", "hasattr",
    "callable", "__gt__",
    "__lt__", "__ge__", "__le__", "__eq__", "__ne__", "__contains__", "__bool__", "startswith", "endswith",
])  # fmt: skip
"""Functions whose value is a mask, or yes or no."""
_Beside = tuple[ast.expr, bool]
"""What decides beside a question, and its answer where the question counts."""
_SIMPLE = (
    ast.Name, ast.Attribute, ast.Constant, ast.Compare, ast.UnaryOp, ast.BoolOp, ast.expr_context, ast.cmpop,
    ast.unaryop, ast.boolop,
)  # fmt: skip
"""What may be evaluated once more."""
_JUMPS = ast.Return | ast.Break | ast.Continue


class _Way(NamedTuple):
    """One way of a branch: the lines that are run on it, from first to last, or `skipped`: none of their own."""

    first: int
    last: int
    skipped: bool = False


_Ways = tuple[_Way | None, _Way | None]
_NONE: _Ways = (None, None)


@dataclass(frozen=True)
class Branch:
    """A branch: `ways[answer]` by whether the answer is true; None for one that need not be looked at. `of_form`:
    where all that was asked is whether something is empty, public numbers decide."""

    file: str
    line: int
    test: str
    ways: tuple[_Way | None, _Way | None]
    of_form: bool = False

    @property
    def where(self) -> str:
        """The name of its file."""
        return Path(self.file).name


def instrumented(code: OwnCode) -> int:
    """How many questions own code asks, functions first, that are asked whether they ran; the trees of its files are
    changed, and report all to `TOOK`."""
    finder = _Finder(code, None, None)
    asked = len(finder.find())
    for tree in code.trees.values():
        ast.fix_missing_locations(finder.reports.visit(tree))
    return asked


def find_branches(code: OwnCode, ran: Sequence[bool]) -> tuple[Branch, ...]:
    """Branches of own code, as they are numbered where it is instrumented; `ran`: which of its functions did."""
    units, inside = list[Own](), set[FunctionNode]()
    for own, did in zip(code.functions, ran, strict=True):
        if did and own.node not in inside:
            units.append(own)
            inside |= set(functions_in(own.node))
    levels = Levels(code, units)
    return tuple(_Finder(code, levels, Harmless(code, levels, units)).find())


class _Reports(ast.NodeTransformer):
    """Puts calls of `TOOK` around expressions, and before and after statements."""

    def __init__(self) -> None:
        self.entered: dict[FunctionNode, int] = {}
        self.asked: dict[tuple[ast.expr, int], tuple[int, list[_Beside]]] = {}
        """Expressions, each with how its answer is noted: the number of the branch, and what decides beside it."""
        self.reached: dict[ast.stmt, list[tuple[int, bool]]] = {}
        """Statements: the numbers of branches, and the answers that they have been given where it is reached."""
        self.done: dict[ast.stmt, list[int]] = {}
        """`try` statements, and what leaves their bodies: branches that are answered no where these end."""
        self.unmatched: dict[ast.Match, list[int]] = {}

    def visit(self, node: ast.AST) -> Any:
        """The node, and what reports."""
        self.generic_visit(node)
        if isinstance(node, ast.expr):
            out: ast.expr = node
            for kind in (MASK, VALUE, ITEMS):
                if (node, kind) in self.asked:
                    number, beside = self.asked[node, kind]
                    out = ast.copy_location(_call(number, beside, out, kind), node)
            if isinstance(node, ast.Lambda):
                entered = _call(self.entered[node], [], ast.Constant(value=True), VALUE)
                node.body = ast.copy_location(ast.IfExp(entered, node.body, ast.Constant(None)), node.body)
            return out
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            node.body.insert(int(text), _noted(self.entered[node], True, first))
        return self._statement(node) if isinstance(node, ast.stmt) else node

    def _statement(self, node: ast.stmt) -> Any:
        done = self.done.get(node, [])
        before = [_noted(number, answer, node) for number, answer in self.reached.get(node, [])]
        if isinstance(node, ast.Try | ast.TryStar):
            node.body += [_noted(number, False, node.body[-1]) for number in done]
        elif isinstance(node, ast.Return) and node.value is not None:
            for number in done:
                node.value = ast.copy_location(_call(number, [], node.value, NO), node.value)
        else:
            before += [_noted(number, False, node) for number in done]
        if isinstance(node, ast.Match) and node in self.unmatched:
            calls: list[ast.stmt] = [_noted(number, False, node) for number in self.unmatched[node]]
            node.cases.append(ast.match_case(ast.copy_location(ast.MatchAs(), node.cases[-1].pattern), None, calls))
        return [*before, node] if before else node


class _Finder:
    """Finds the branches of own code; without `levels` all that there may be, and how they report."""

    def __init__(self, code: OwnCode, levels: Levels | None, harmless: Harmless | None) -> None:
        self.code, self.levels, self.harmless = code, levels, harmless
        self.branches, self.reports = list[Branch](), _Reports()
        self._all: Levels | None = None

    def find(self) -> list[Branch]:
        """All of them, in order."""
        for own in self.code.functions:
            self.own = own
            self.reports.entered[own.node] = self._note(own.node, "", _NONE)
        for own in self.code.functions:
            self.own, node = own, own.node
            if isinstance(node, ast.Lambda):
                self._value(node.body)
            else:
                self._block(node.body)
        return self.branches

    @property
    def _counts(self) -> bool:
        return self.levels is not None and self.levels.know(self.own.node)

    def _level(self, e: ast.expr) -> Level:
        return Level.PRIVATE if self.levels is None or not self._counts else self.levels.of(e, self.own.node).value

    def _form(self, e: ast.expr) -> Level:
        return Level.PRIVATE if self.levels is None or not self._counts else self.levels.of(e, self.own.node).form

    def _kind(self, body: list[ast.stmt], level: Level) -> Kind:
        return Kind.COUNTS if self.harmless is None or not self._counts else self.harmless.kind(body, level, self.own)

    def _note(self, at: ast.AST, test: str, ways: _Ways, of_form: bool = False) -> int:
        test = " ".join(test.split())
        test = test if len(test) <= _LONG else f"{test[: _LONG - 1]}…"
        self.branches.append(Branch(self.own.file, getattr(at, "lineno", 0), test, ways, of_form))
        return len(self.branches) - 1

    def _ways(self, body: list[ast.stmt], other: list[ast.stmt], level: Level) -> _Ways:
        """Ways of a test of this level: no, on which the other body is run, and yes."""
        if not self._counts or level is Level.PUBLIC:
            return _NONE
        kinds = self._kind(body, level), self._kind(other, level)
        if Kind.FAILS in kinds:
            return _NONE
        yes, no = (_lines(b) if kind is Kind.COUNTS else None for b, kind in zip((body, other), kinds, strict=True))
        if kinds[0] is Kind.SILENT and no is not None:
            yes = no._replace(skipped=True)
        elif kinds[1] is Kind.SILENT and yes is not None:
            no = yes._replace(skipped=True)
        return no, yes

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
                self._items(s.iter, self._ways(s.body, s.orelse, self._form(s.iter)))
            case ast.With() | ast.AsyncWith():
                for item in s.items:
                    self._value(item.context_expr)
            case ast.Try() | ast.TryStar():
                self._tried(s)
            case ast.Match():
                self._matched(s, block)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for one in (*s.decorator_list, *s.args.defaults, *(k for k in s.args.kw_defaults if k is not None)):
                    self._value(one)
                return
            case ast.Raise():
                for one in (s.exc, s.cause):
                    if one is not None:
                        self._value(one, counts=self._kind([s], Level.PRIVATE) is not Kind.FAILS)
            case ast.Assert():
                ends = self.harmless is None or self.harmless.assertions
                self._choice(s.test, s, counts=not ends)
            case ast.AnnAssign():
                if s.value is not None:
                    self._value(s.value)
            case _:
                for one in ast.iter_child_nodes(s):
                    if isinstance(one, ast.expr):
                        self._value(one)
                    elif isinstance(one, ast.keyword):
                        self._value(one.value)
        if isinstance(s, ast.While | ast.For | ast.AsyncFor):
            self._past(s, block)
        for body in _blocks(s):
            self._block(body)

    def _tested(self, s: ast.If | ast.While, block: list[ast.stmt]) -> None:
        """Branches of a test that decides whether a body is run."""
        other = s.orelse
        if isinstance(s, ast.While) or isinstance(s.body[-1], _JUMPS):
            other = [*s.orelse, *_after(s, block)]
        no, yes = self._ways(s.body, other, self._level(s.test))
        self._inner(s.test, counts=(no, yes) != _NONE)
        for leaf, turned, beside in _leaves(s.test):
            either = (yes or no, yes or no)
            self._ask(leaf, either if turned is None else (yes, no) if turned else (no, yes), beside)

    def _tried(self, s: ast.Try | ast.TryStar) -> None:
        """Whether each handler is run, or the body comes to its end."""
        for handler in s.handlers:
            level = Level.PRIVATE
            if self.levels is not None and self._counts and isinstance(s, ast.Try):
                level = self.levels.of_try(s, handler, self.own.node)
            what = "" if handler.type is None else f" {ast.unparse(handler.type)}"
            no, yes = self._ways(handler.body, [*s.body, *s.orelse], level)
            if no is not None:  # the first statement may have run
                rest = [*s.body[1:], *s.orelse]
                no = _lines(rest) if rest else _lines(s.body)._replace(skipped=True)
            number = self._note(handler, f"except{what}", (no, yes))
            self.reports.reached.setdefault(handler.body[0], []).append((number, True))
            for one in (s, *_exits(s.body)):
                self.reports.done.setdefault(one, []).append(number)

    def _matched(self, s: ast.Match, block: list[ast.stmt]) -> None:
        """Which case is run."""
        self._value(s.subject)
        numbers, level = list[int](), self._level(s.subject)
        for k, case in enumerate(s.cases):
            for number in numbers:
                self.reports.reached.setdefault(case.body[0], []).append((number, False))
            if case.guard is not None:
                level = max(level, self._level(case.guard))
                self._inner(case.guard)
            elif isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:  # what is left
                return
            other = [one for later in s.cases[k + 1 :] for one in later.body]
            if isinstance(case.body[-1], _JUMPS):
                other += _after(s, block)
            ways = self._ways(case.body, other, level)
            numbers.append(self._note(case.pattern, f"case {ast.unparse(case.pattern)}", ways))
            self.reports.reached.setdefault(case.body[0], []).append((numbers[-1], True))
        self.reports.unmatched[s] = numbers

    def _past(self, s: ast.While | ast.For | ast.AsyncFor, block: list[ast.stmt]) -> None:
        """What comes after a loop that something may end which is not public."""
        after = _after(s, block)
        endless = isinstance(s, ast.While) and isinstance(s.test, ast.Constant)
        breaks = any(isinstance(one, ast.Break) for one in ast.walk(s))
        if endless and breaks and after:
            way = _lines(after) if self._counts and self._kind(after, Level.PRIVATE) is Kind.COUNTS else None
            number = self._note(after[0], "the end of the loop before them", (None, way))
            self.reports.reached.setdefault(after[0], []).append((number, True))
            self.reports.reached.setdefault(s, []).append((number, False))

    # ── questions ───────────────────────────────────────────────────────────────────────────────────────
    def _ask(self, leaf: ast.expr, ways: _Ways, beside: Iterable[_Beside]) -> None:
        """A question of a test, unless public numbers decide it; where those `beside` decide, it does not count."""
        public = self._level(leaf) is Level.PUBLIC or self._sign(leaf)
        number = self._note(leaf, ast.unparse(leaf), _NONE if public else ways, self._form(leaf) is Level.PUBLIC)
        self.reports.asked[leaf, VALUE] = number, self._public(beside)

    def _sign(self, e: ast.expr) -> bool:
        return self.levels is not None and self._counts and sign_of_size(e, self.own, self.code, self.levels)

    def _public(self, beside: Iterable[_Beside]) -> list[_Beside]:
        """Those that public numbers decide, where code is instrumented: whatever of it runs."""
        if self.levels is not None:
            return []
        some = [(e, wanted) for e, wanted in beside if all(isinstance(part, _SIMPLE) for part in ast.walk(e))]
        if some and self._all is None:
            self._all = Levels(self.code, _outer(self.code.functions))
        return [
            (e, wanted) for e, wanted in some
            if self._all is not None and self._all.of(e, self.own.node).value is Level.PUBLIC
        ]  # fmt: skip

    def _items(self, e: ast.expr, ways: _Ways) -> None:
        """Whether there is anything to loop over."""
        self.reports.asked[e, ITEMS] = self._note(e, f"for … in {ast.unparse(e)}", ways), []

    def _inner(self, test: ast.expr, *, counts: bool = True) -> None:
        """Branches inside the parts of a test; whether all or some of a mask are true is the test itself."""
        for leaf, *_ in _leaves(test):
            if isinstance(
                leaf, ast.IfExp | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda
            ):
                self._value(leaf, counts=counts)
                continue
            for one in ast.iter_child_nodes(leaf):
                if isinstance(one, ast.expr | ast.keyword):
                    self._value(one.value if isinstance(one, ast.keyword) else one, masks=False, counts=counts)

    def _value(
        self, e: ast.expr, *, masks: bool = True, beside: tuple[_Beside, ...] = (), counts: bool = True
    ) -> None:
        """Branches in an expression whose value is used; in `masks` of numbers, too."""
        if isinstance(e, ast.Call) and counts and self._counts and self.harmless is not None:
            counts = not self.harmless.silent_call(e, self.own)
        match e:
            case ast.Lambda():
                for one in (*e.args.defaults, *(k for k in e.args.kw_defaults if k is not None)):
                    self._value(one, counts=counts)
                return
            case ast.IfExp():
                self._choice(e.test, e, counts=counts)
                self._value(e.body, counts=counts)
                self._value(e.orelse, counts=counts)
                return
            case ast.BoolOp():
                for one in e.values[:-1]:
                    self._choice(one, e, counts=counts)
                self._value(e.values[-1], counts=counts)
                return
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                for part in e.generators:
                    self._value(part.iter, counts=counts)
                    way = _whole(e) if counts and self._counts and self._form(part.iter) > Level.PUBLIC else None
                    self._items(part.iter, (way, way))
                    for test in part.ifs:
                        self._choice(test, e, counts=counts)
                for one in (e.key, e.value) if isinstance(e, ast.DictComp) else (e.elt,):
                    self._value(one, counts=counts)
                return
            case ast.Compare() | ast.BinOp() | ast.Call() | ast.UnaryOp() if masks and _is_mask(e):
                if isinstance(e, ast.BinOp):
                    beside = (*beside, *((one, not isinstance(e.op, ast.BitOr)) for one in (e.left, e.right)))
                left_out = not counts or not self._counts or self._level(e) is Level.PUBLIC or self._sign(e)
                way = None if left_out else _whole(e)
                self.reports.asked[e, MASK] = self._note(e, ast.unparse(e), (way, way)), self._public(beside)
            case _:
                pass
        for one in ast.iter_child_nodes(e):
            if isinstance(one, ast.expr):
                self._value(one, masks=masks, beside=beside, counts=counts)
            elif isinstance(one, ast.keyword):
                self._value(one.value, masks=masks, counts=counts)

    def _choice(self, test: ast.expr, whole: ast.expr | ast.stmt, *, counts: bool = True) -> None:
        """Branches of a test that decides which value an expression has."""
        self._inner(test, counts=counts)
        way = _whole(whole) if counts and self._counts else None
        for leaf, _, beside in _leaves(test):
            self._ask(leaf, (way, way), beside)


def _outer(functions: Sequence[Own]) -> list[Own]:
    inside = {inner for own in functions for inner in functions_in(own.node) if inner is not own.node}
    return [own for own in functions if own.node not in inside]


def _call(number: int, beside: list[_Beside], value: ast.expr, kind: int) -> ast.Call:
    pairs: list[ast.expr] = [ast.Tuple([deepcopy(e), ast.Constant(wanted)], ast.Load()) for e, wanted in beside]
    return ast.Call(ast.Name(TOOK, ast.Load()), [ast.Constant(number), value, ast.Constant(kind), *pairs], [])


def _noted(number: int, answer: bool, at: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Expr(_call(number, [], ast.Constant(answer), VALUE)), at)


def _lines(body: list[ast.stmt]) -> _Way:
    return _Way(body[0].lineno, max(one.end_lineno or one.lineno for one in body)) if body else _Way(0, 0)


def _whole(e: ast.expr | ast.stmt) -> _Way:
    return _Way(e.lineno, e.end_lineno or e.lineno, skipped=True)


def _blocks(s: ast.AST) -> Iterable[list[ast.stmt]]:
    """Bodies of a statement, in order."""
    for _, part in ast.iter_fields(s):
        for one in cast("list[ast.AST]", part) if isinstance(part, list) else ():
            if isinstance(one, ast.stmt):
                yield cast("list[ast.stmt]", part)
                break
            if isinstance(one, ast.ExceptHandler | ast.match_case):
                yield one.body


def _exits(body: Sequence[ast.AST]) -> Iterator[ast.stmt]:
    """What leaves a body before its end, but for errors."""
    for one in body:
        if isinstance(one, _JUMPS):
            yield one
        elif not isinstance(one, FunctionNode | ast.ClassDef):
            inner = [
                n for n in ast.iter_child_nodes(one) if isinstance(n, ast.stmt | ast.ExceptHandler | ast.match_case)
            ]
            yield from _exits(inner)


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


def _is_mask(e: ast.Compare | ast.BinOp | ast.Call | ast.UnaryOp) -> bool:
    if isinstance(e, ast.Call):
        return name_of(e.func) in _MASKS
    if isinstance(e, ast.UnaryOp):
        return isinstance(e.op, ast.Not | ast.Invert)
    if isinstance(e, ast.Compare):
        return True
    if isinstance(e.op, ast.BitAnd | ast.BitOr):
        return True
    return isinstance(e.op, ast.Mult) and all(
        isinstance(one, ast.Compare) or (isinstance(one, ast.BinOp) and _is_mask(one)) for one in (e.left, e.right)
    )
