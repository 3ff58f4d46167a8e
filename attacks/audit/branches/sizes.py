"""Tests of a size for 0: what keeps a division from failing, and is left out."""

import ast
import math
from typing import cast

import numpy as np

from attacks.audit.branches.code import FunctionNode, Own, OwnCode, functions_in, name_of, parameters, stored_in
from attacks.audit.branches.levels import Levels

_SIZES = (np.linalg.norm, np.abs, np.fabs, np.sqrt, np.square, np.var, np.std, math.sqrt, math.fabs, abs)
_SUMS = (sum, max, np.sum, np.max, np.amax, np.mean, np.maximum, np.reshape, np.copy)
_METHODS = frozenset(["sum", "max", "mean", "reshape", "copy"])
_WHOLE = (np.all, np.any, all, any)
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}
_DEEP = 4


def sign_of_size(e: ast.expr, own: Own, code: OwnCode, levels: Levels) -> bool:
    """Whether it asks if a size is 0."""
    return _Sizes(own, code, levels).asked(e)


class _Sizes:
    """Sizes in one function."""

    def __init__(self, own: Own, code: OwnCode, levels: Levels) -> None:
        self._own, self._code, self._levels = own, code, levels
        self._local = stored_in(own.node)

    def asked(self, e: ast.expr) -> bool:
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not | ast.Invert):
            return self.asked(e.operand)
        if isinstance(e, ast.Call) and (of := self._given(e, _WHOLE, frozenset(["all", "any"]))) is not None:
            return self.asked(of)
        if not isinstance(e, ast.Compare) or len(e.ops) != 1:
            return False
        left, right, op = e.left, e.comparators[0], e.ops[0]
        if _is_zero(left):
            left, right, op = right, left, _TURNED.get(type(op), type(op))()
        return _is_zero(right) and isinstance(op, ast.Eq | ast.NotEq | ast.Gt) and self._positive(left, _DEEP)

    def _given(self, e: ast.Call, functions: tuple[object, ...], methods: frozenset[str]) -> ast.expr | None:
        """What one of these functions is given, or whose method is called."""
        value = self._code.value(e.func, self._own, self._local)
        if any(value is one for one in functions):
            return e.args[0] if e.args else None
        if (
            isinstance(e.func, ast.Attribute)
            and e.func.attr in methods
            and self._levels.known(e, self._own.node) is None
        ):
            own = any(one.name == e.func.attr for one in self._code.functions)
            return None if own else e.func.value
        return None

    def _positive(self, e: ast.expr, deep: int) -> bool:
        """Whether an expression, as it is written, is of a number that is not below 0."""
        match e:
            case ast.Call():
                of = self._given(e, _SIZES, frozenset())
                if of is not None:
                    return self._smooth(of, deep)
                of = self._given(e, _SUMS, _METHODS)
                return of is not None and self._positive(of, deep)
            case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=2)):
                return self._smooth(e.left, deep)
            case ast.BinOp(op=ast.Mult() | ast.Add() | ast.Div()):
                if isinstance(e.op, ast.Mult) and ast.dump(e.left) == ast.dump(e.right):
                    return self._smooth(e.left, deep)
                return self._positive(e.left, deep) and self._positive(e.right, deep)
            case ast.Subscript():
                return self._positive(e.value, deep)
            case ast.Name() if deep:
                values = self._values(e.id)
                return bool(values) and all(self._positive(one, deep - 1) for one in values or ())
            case _:
                return False

    def _smooth(self, e: ast.expr, deep: int) -> bool:
        """Whether a size is of data as they are: no whole numbers are made of them, and no number is taken off."""
        for one in ast.walk(e):
            match one:
                case ast.BinOp(op=ast.Mod() | ast.FloorDiv() | ast.BitXor() | ast.BitAnd() | ast.BitOr()):
                    return False
                case ast.BinOp(op=ast.Add() | ast.Sub()):
                    if any(isinstance(part, ast.Constant) for part in (one.left, one.right)):
                        return False
                case ast.Call():
                    name = name_of(one.func)
                    if name in _WHOLE_NUMBERS or any(own.name == name for own in self._code.functions if name):
                        return False
                case ast.Name() if deep and (values := self._values(one.id)):
                    if not all(self._smooth(value, deep - 1) for value in values):
                        return False
                case ast.Compare() | ast.IfExp() | ast.BoolOp():
                    return False
                case _:
                    pass
        return True

    def _values(self, name: str) -> list[ast.expr] | None:
        """All that a name is ever assigned; None: it may be something else, or be changed."""
        values = list[ast.expr]()
        function: FunctionNode = self._own.node
        if any(name in parameters(one) for one in functions_in(function)):
            return None
        simple = set[ast.AST]()
        for one in ast.walk(function):
            if isinstance(one, ast.Assign) and any(_is(t, name) for t in one.targets):
                values.append(one.value)
                simple |= {t for t in one.targets if _is(t, name)}
            elif isinstance(one, ast.AnnAssign) and _is(one.target, name) and one.value is not None:
                values.append(one.value)
                simple.add(one.target)
        for one in ast.walk(function):
            if (
                isinstance(one, ast.Name)
                and one.id == name
                and not isinstance(one.ctx, ast.Load)
                and one not in simple
            ):
                return None
            if isinstance(one, ast.AugAssign | ast.Subscript) and not isinstance(getattr(one, "ctx", None), ast.Load):
                holder = one.target if isinstance(one, ast.AugAssign) else one.value
                if any(_is(cast("ast.expr", n), name) for n in ast.walk(holder)):
                    return None
            if isinstance(one, ast.Call) and self._changes(one, name):
                return None
        return values

    def _changes(self, call: ast.Call, name: str) -> bool:
        library = self._levels.known(call, self._own.node)
        given = [*call.args, *(one.value for one in call.keywords)] if library is None else library.changed(call)
        return any(_is(one, name) for one in given)


_WHOLE_NUMBERS = frozenset(["int", "round", "floor", "ceil", "rint", "trunc", "fix", "mod", "floor_divide", "astype"])


def _is(e: ast.expr, name: str) -> bool:
    return isinstance(e, ast.Name) and e.id == name


def _is_zero(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and not isinstance(e.value, bool) and e.value == 0
