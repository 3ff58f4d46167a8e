"""What private coins drew that becomes records of a batch, and nothing else.

Which records a query is about decides nothing else, so to look at their numbers is no question, if these go nowhere
but into a batch: `await node.gradient(x, [int(k)])`, or a name that is only handed on as one.
"""

import ast
from collections.abc import Mapping
from inspect import currentframe
from types import FrameType
from typing import Any

import numpy as np

from attacks.audit.followed import questions
from attacks.audit.followed.arrays import Followed, Noted
from attacks.audit.followed.kinds import SEEN
from attacks.audit.followed.lines import asking, call_at, parents_in
from attacks.audit.followed.operands import kind_of, plain_index
from attacks.replay.recorded import RecordedNode
from netsim.arrays import Array
from netsim.own import is_own

_MAKERS = (int, list, sorted, tuple)
"""Functions that make records of records."""
_OPENS = frozenset(["dir", "eval", "exec", "globals", "locals", "vars"])
"""Functions to which all names of a frame are open."""
_SPLIT = frozenset([np.split, np.array_split])
_COMPARED = frozenset([np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal])


class Drawn(Followed):
    """An array that private coins drew, and parts of it, as long as nothing is written into them."""

    __slots__ = ("_first", "_whole")

    def __init__(self, value: Array, noted: Noted, of: "Drawn | None" = None) -> None:
        super().__init__(value, SEEN, noted, None if of is None else of._cell)
        self._whole = self._numbers if of is None else of._whole
        self._first = self._numbers.copy() if of is None else of._first

    @property
    def untouched(self) -> bool:
        """Whether it is still what was drawn."""
        return self._kind == SEEN and np.array_equal(self._whole, self._first)

    def _view(self, value: Array) -> Followed:
        if not self.untouched:
            return super()._view(value)
        return Drawn(value, self._noted, self if np.may_share_memory(value, self._numbers) else None)

    def __getitem__(self, at: Any) -> Followed:
        found = super().__getitem__(at)
        known = self.untouched and plain_index(at)[1] is None
        return Drawn(found._numbers, self._noted) if known and type(found) is not Drawn else found

    def _read(self, how: str) -> Array:
        return self._numbers if self._only_records else super()._read(how)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **named: Any) -> Any:
        plain = [one._numbers for one in inputs if type(one) is Drawn and one.untouched]
        known = ufunc in _COMPARED and len(plain) == len(inputs) and not (out or named) and self._only_records
        found = getattr(ufunc, method)(*plain) if known else None
        return super().__array_ufunc__(ufunc, method, *inputs, out=out, **named) if found is None else found

    def __array_function__(self, function: Any, types: Any, args: Any, named: Any) -> Any:
        known = function in _SPLIT and args[:1] and args[0] is self and self.untouched
        if not known or named or any(kind_of(one).followed for one in args[1:]):
            return super().__array_function__(function, types, args, named)
        return [self._view(part) for part in function(self._numbers, *args[1:])]

    @property
    def _only_records(self) -> bool:
        return self.untouched and only_records(asking(currentframe()))


def only_records(frame: FrameType | None) -> bool:
    """Whether what a frame looks at now becomes records of batches, and nothing else."""
    around = None if frame is None else questions.function_of(frame)
    if frame is None or around is None or not is_own(frame.f_code.co_filename):
        return False
    call = call_at(frame.f_code, frame.f_lasti)
    return call is not None and _Flow(parents_in(frame.f_code.co_filename), around).makes_records(call)


class _Flow:
    """Where values go in a function, as far as its text says."""

    def __init__(self, parents: Mapping[ast.AST, ast.AST], frame: FrameType) -> None:
        self._parents, self._frame, self._known = parents, frame, set[tuple[ast.AST, str, bool]]()

    def makes_records(self, call: ast.Call, whole: bool = False) -> bool:
        """Whether a call hands on records, or makes some of records, that only go into batches; `whole`: all of them
        into one, for they are in order, and one at a place in it is not like the others."""
        match call:
            case ast.Call(func=ast.Name() as name, args=[_], keywords=[]):
                made = questions.found(name, self._frame)
                return any(made is one for one in _MAKERS) and self._goes(call, whole or made is sorted)
            case ast.Call(func=ast.Attribute(attr="tolist"), args=[], keywords=[]):
                return self._goes(call, whole)
            case _:
                return False

    def _goes(self, node: ast.AST, whole: bool) -> bool:
        """Whether a value goes into batches alone."""
        match parent := self._parents.get(node):
            case ast.Call() if node in parent.args:
                return self._asks(parent, node) or self._is_len(parent) or self.makes_records(parent, whole)
            case ast.keyword(arg="batch"):
                call = self._parents.get(parent)
                return isinstance(call, ast.Call) and self._is_port(call.func)
            case ast.Attribute(attr="tolist"):
                call = self._parents.get(parent)
                return isinstance(call, ast.Call) and call.func is parent and self.makes_records(call, whole)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                return self._all_go(name, self._function(parent), whole)
            case None:
                return False
            case _:
                return not whole and self._part_goes(node, parent)

    def _part_goes(self, node: ast.AST, parent: ast.AST) -> bool:
        """The same of one of several records, or of what has some as parts."""
        match parent:
            case ast.List(ctx=ast.Load()) | ast.Tuple(ctx=ast.Load()):
                return self._goes(parent, False)
            case ast.Subscript(value=of, ctx=ast.Load()) if of is node:
                return self._goes(parent, False)
            case ast.ListComp(elt=elt, generators=loops) if elt is node:
                return all(not loop.ifs for loop in loops) and self._goes(parent, False)
            case ast.comprehension(target=ast.Name(id=name), iter=of, ifs=[]) if of is node:
                return self._all_go(name, self._parents[parent], False)
            case ast.For(target=ast.Name(id=name), iter=of) if of is node:
                return self._all_go(name, self._function(parent), False)
            case _:
                return False

    def _all_go(self, name: str, within: ast.AST | None, whole: bool) -> bool:
        """Whether a name goes nowhere else within a function or comprehension."""
        if within is None or (within, name, whole) in self._known:
            return within is not None
        self._known.add((within, name, whole))
        for one in ast.walk(within):
            if isinstance(one, ast.Global | ast.Nonlocal) or (isinstance(one, ast.Name) and one.id in _OPENS):
                return False
            loaded = isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)
            if loaded and not self._goes(one, whole):
                return False
        return True

    def _function(self, node: ast.AST) -> ast.AST | None:
        above = self._parents.get(node)
        while above is not None and not isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef):
            above = None if isinstance(above, ast.ClassDef) else self._parents.get(above)
        return above

    def _asks(self, call: ast.Call, node: ast.AST) -> bool:
        return call.args[1:] == [node] and self._is_port(call.func)

    def _is_port(self, function: ast.expr) -> bool:
        """Whether it is the port's `gradient`."""
        if not isinstance(function, ast.Attribute) or function.attr != "gradient":
            return False
        port = questions.found(function.value, self._frame)
        return isinstance(port, RecordedNode) and "gradient" not in vars(port)

    def _is_len(self, call: ast.Call) -> bool:
        return isinstance(call.func, ast.Name) and questions.found(call.func, self._frame) is len
