"""Levels of expressions: of what they are made of, and of what calls give and change."""

import ast
from collections.abc import Iterable, Mapping
from types import ModuleType

from attacks.audit.branches.code import FunctionNode, name_of, parameters, root_of
from attacks.audit.branches.facts import PRIVATE, PUBLIC, Facts, Level, Of, both, is_list
from attacks.audit.branches.known import ASSIGNS, READS, TAKES, Known, keeps_form, known

_NODE: Mapping[str, Of] = {
    **dict.fromkeys(
        ("id", "agents", "neighbors", "weights", "replicas", "dimension", "records", "regularizer", "zeros"), PUBLIC
    ),
    **dict.fromkeys(("privatize", "exchange", "receive", "send", "broadcast", "estimate"), Of(Level.VIEW)),
    **dict.fromkeys(("gradient", "proximal", "perturbed_proximal", "split", "start"), Of(Level.PRIVATE)),
}
"""What the node gives; all else is private."""
_HEADER = frozenset(["sender", "kind", "number"])
"""Of a message, who sent it and the how manieth it is: public in a run's history."""
_FORM = frozenset(["shape", "ndim", "dtype", "size", "nbytes"])
_FIXED = frozenset([int, float, bool, str, bytes, type(None)])
"""Types of what no call changes."""


class Values:
    """Expressions in one function, below branches of the level `_context`."""

    def __init__(self, facts: Facts, function: FunctionNode) -> None:
        self._all, self._function = facts, function
        self._scope = facts.scopes[function]
        self._context = facts.contexts.get(function, PUBLIC).value

    def _bind(self, target: ast.expr, e: ast.expr) -> Level:
        """Assign what is iterated over; on what it depends how often."""
        of, name = self.of(e), name_of(e.func) if isinstance(e, ast.Call) else ""
        to, given = _parts(target), e.args if isinstance(e, ast.Call) else []
        if name == "enumerate" and len(to) == 2 and given:
            self._assign(to[0], Of(max(of.form, self._all_of(given[1:]).value)))
            self._bind(to[1], given[0])
        elif name == "zip" and len(to) == len(given) and not any(isinstance(one, ast.Starred) for one in given):
            for one, part in zip(to, given, strict=True):
                self._bind(one, part)
        elif name == "items" and len(to) == 2 and isinstance(e, ast.Call) and not self._all.methods("items"):
            self._assign(to[0], Of(of.form))
            self._assign(to[1], of)
        else:
            self._assign(target, of)
        return of.form

    def _assign_value(self, target: ast.expr, value: ast.expr) -> None:
        to, of = _parts(target), _parts(value)
        if to and len(to) == len(of) and not any(isinstance(one, ast.Starred) for one in (*to, *of)):
            for one, part in zip(to, of, strict=True):
                self._assign_value(one, part)
        elif self.is_node(value):
            if isinstance(target, ast.Name):
                self._all.raised(self._scope.nodes, target.id, PRIVATE)
            elif isinstance(target, ast.Attribute):
                self._all.raised(self._all.nodes, target.attr, PRIVATE)
        else:
            self._assign(target, self.of(value))

    def _assign(self, target: ast.expr, of: Of) -> None:
        of |= both(self._context)
        match target:
            case ast.Name():
                self._set(target.id, of)
            case ast.Tuple() | ast.List():
                for one in target.elts:
                    self._assign(one, of)
            case ast.Starred():
                self._assign(target.value, of)
            case ast.Attribute():
                self._all.raised(self._all.attributes, target.attr, of)
                self._put_into(target.value, of)
            case ast.Subscript():
                at = self.of(target.slice).value
                self._put_into(target.value, of | both(at))
            case ast.Call():  # a view of what it was given
                if name_of(target.func) == "vars":
                    self._all.raised(self._all.attributes, "__dict__", of)
                for one in [target.func.value] if isinstance(target.func, ast.Attribute) else target.args:
                    self._put_into(one, of)
            case _:
                pass

    def _put_into(self, e: ast.expr, of: Of) -> None:
        """Something was put into this."""
        root = root_of(e)
        value = self._all.code.value(e, self._scope.own, self._scope.local) if isinstance(e, ast.Attribute) else self
        if type(value) in _FIXED:
            return
        if isinstance(root, ast.Name):
            if root.id in self._scope.nodes:
                return
            if root is e and root.id == "self":
                return
            for inner in self._scope.given.get(root.id, ()):
                self._all.raised(self._all.written, (inner, root.id), of | both(self._context))
        self._assign(e, of)

    def _set(self, name: str, of: Of) -> None:
        of |= both(self._context)
        if name in self._scope.local:
            self._all.raised(self._scope.names, name, of)
        elif of != PUBLIC and not isinstance(self._scope.own.space.get(name), ModuleType):
            self._all.raised(self._all.globals, name, of)

    def is_node(self, e: ast.expr) -> bool:
        """Whether this is the node itself."""
        if isinstance(e, ast.Name):
            return e.id in self._scope.nodes
        return isinstance(e, ast.Attribute) and e.attr in self._all.nodes

    def of(self, e: ast.expr) -> Of:
        """On what the value and its form may depend; what is inside is noted."""
        if self.is_node(e):
            return Of(Level.PRIVATE)
        match e:
            case ast.Constant():
                return PUBLIC
            case ast.Name():
                return self._named(e)
            case ast.Attribute():
                return self._attribute(e)
            case ast.Call():
                return self._call(e)
            case ast.NamedExpr():
                self._assign_value(e.target, e.value)
                return self.of(e.value)
            case ast.Lambda():
                for one in parameters(e):
                    self._set(one, PRIVATE)
                return self._results([e])
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(e)
            case ast.Yield() | ast.YieldFrom():
                if e.value is not None:
                    self.of(e.value)
                return PRIVATE
            case ast.Subscript():
                at = self.of(e.slice).value
                return self.of(e.value) | both(at)
            case ast.Await() | ast.Starred():
                return self.of(e.value)
            case ast.Tuple() | ast.List() | ast.UnaryOp():
                return self._all_of(ast.iter_child_nodes(e))
            case _:
                return self._combined(e)

    def _combined(self, e: ast.expr) -> Of:
        """Of several parts."""
        of = self._all_of(ast.iter_child_nodes(e))
        match e:
            case ast.Compare():
                nothing = all(isinstance(one, ast.Constant) and one.value is None for one in e.comparators)
                if nothing and len(e.ops) == 1:
                    return Of(of.form)
                if self._asks_for_fields(e):
                    return PUBLIC
                if self._asks_for_keys(e):
                    return Of(max(self.of(e.left).value, self.of(e.comparators[0]).form))
                return of
            case ast.BinOp() if isinstance(e.op, ast.Mult):
                numbers = self.of(e.left).value, self.of(e.right).value
                lists = any(is_list(one) or name_of(one) in self._scope.lists for one in (e.left, e.right))
                return Of(of.value, of.value) if lists and Level.PUBLIC not in numbers else of
            case ast.BinOp() if not isinstance(e.op, ast.Mod):
                return of
            case ast.IfExp():
                return of | both(self.truth(e.test))
            case ast.BoolOp() if len(e.values) == 2 and isinstance(e.op, ast.Or) and _is_empty(e.values[1]):
                return of
            case ast.Slice():
                return of
            case ast.Dict():
                keys = self._all_of(one for one in e.keys if one is not None)
                return of | both(keys.value)
            case _:
                return both(of.value)

    def truth(self, e: ast.expr) -> Level:
        """On what it depends whether this is true; of a dict or list, that is its form."""
        of = self.of(e)
        match e:
            case ast.UnaryOp(op=ast.Not()):
                return self.truth(e.operand)
            case ast.BoolOp():
                return max(map(self.truth, e.values))
            case ast.Name():
                values = e.id in self._scope.values and not self._all.methods("values")
                return of.form if values or e.id in self._scope.dicts else of.value
            case ast.Attribute(attr="values") if not self._all.methods("values"):
                message = "values" not in self._all.attributes and self.of(e.value).value <= Level.VIEW
                return of.form if message else of.value
            case ast.Call():
                sized = name_of(e.func) in ("values", "items", "keys") and not self._all.methods(name_of(e.func))
                return of.form if sized else of.value
            case _:
                return of.form if is_list(e) or isinstance(e, ast.Dict | ast.DictComp) else of.value

    def _asks_for_keys(self, e: ast.Compare) -> bool:
        """Whether it asks which keys a dict has."""
        holder, op = e.comparators[0], e.ops[0]
        is_dict = isinstance(holder, ast.Name) and holder.id in self._scope.dicts
        return is_dict and len(e.ops) == 1 and isinstance(op, ast.In | ast.NotIn)

    def _asks_for_fields(self, e: ast.Compare) -> bool:
        """Whether it asks which fields a message has, not what is in them."""
        return "values" not in self._all.attributes and isinstance(e.left, ast.Constant) and all(
            isinstance(one, ast.Attribute) and one.attr == "values" and self.of(one.value).value <= Level.VIEW
            for one in e.comparators
        ) and isinstance(e.left.value, str) and all(isinstance(one, ast.In | ast.NotIn) for one in e.ops)  # fmt: skip

    def _all_of(self, parts: Iterable[ast.AST]) -> Of:
        of = PUBLIC
        for one in parts:
            if isinstance(one, ast.expr):
                of |= self.of(one)
        return of

    def _named(self, e: ast.Name) -> Of:
        of = self._scope.names.get(e.id, PUBLIC)
        if e.id not in self._scope.local:
            of |= self._all.globals.get(e.id, PUBLIC)
        if e.id not in self._all.code.classes:  # it is handed on, for whoever to call
            of |= self._results(self._all.named(self._scope, e.id))
        return of

    def _results(self, functions: Iterable[FunctionNode]) -> Of:
        of = PUBLIC
        for function in functions:
            of |= self._all.results.get(function, PUBLIC)
        return of

    def _attribute(self, e: ast.Attribute) -> Of:
        if self.is_node(e.value):
            return _NODE.get(e.attr, PRIVATE)
        of, put = self.of(e.value), self._all.attributes.get(e.attr)
        if put is None and e.attr in _FORM:
            return Of(of.form)
        if put is None and e.attr in _HEADER and of.value <= Level.VIEW:
            return PUBLIC
        functions = self._all.methods(e.attr) if e.attr not in self._all.code.classes else []
        for function in functions:
            if e.attr in self._all.properties:
                self._all.raised(self._all.contexts, function, both(self._context))
        return of | (put or PUBLIC) | self._all.attributes.get("__dict__", PUBLIC) | self._results(functions)

    def _comprehension(self, e: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Of:
        of = PUBLIC
        for part in e.generators:
            form = self._bind(part.target, part.iter)
            of |= both(max(form, *(self.of(test).value for test in part.ifs), Level.PUBLIC))
        if isinstance(e, ast.DictComp):
            return of | both(self.of(e.key).value) | self.of(e.value)
        return both((of | self.of(e.elt)).value) if isinstance(e, ast.SetComp) else of | self.of(e.elt)

    # ── calls ───────────────────────────────────────────────────────────────────────────────────────────
    def known(self, func: ast.expr) -> Known | None:
        """The function of a library that is called, if it is known."""
        if isinstance(func, ast.Call):  # an object of a class of netsim's
            made = self.known(func.func)
            return made if made is not None and made.netsim else None
        if isinstance(func, ast.Attribute) and name_of(func) == "at":
            return known(self._all.code.value(func.value, self._scope.own, self._scope.local), func)
        own = self._all.owns[self._function]
        value = self._all.code.value(func, own if own.method else self._scope.own, self._scope.local - {"self"})
        return known(value, func)

    def _call(self, e: ast.Call) -> Of:
        func = e.func
        given = [*e.args, *(one.value for one in e.keywords)]
        plain = [one for one in given if not self.is_node(one)]
        of_args = self._all_of(one for one in plain if not isinstance(one, ast.Lambda))
        if isinstance(func, ast.Attribute) and self.is_node(func.value):
            return _NODE.get(func.attr, PRIVATE)
        library, base, targets, sure = self.known(func), PUBLIC, list[FunctionNode](), True
        if isinstance(func, ast.Attribute):
            if not _is_super(func.value):
                base = self.of(func.value)
                sure = isinstance(func.value, ast.Name) and (
                    func.value.id in ("self", "cls") or self._of_module(func.value)
                )
            targets = self._all.methods(func.attr)
            base |= self._all.attributes.get(func.attr, PUBLIC)
        elif isinstance(func, ast.Name):
            base = self._scope.names.get(func.id, PUBLIC)
            targets = self._all.named(self._scope, func.id)
        else:
            base = self.of(func)
        for one in plain:
            if isinstance(one, ast.Lambda):  # which is given what it is given beside, as a key to sort by is
                for name in parameters(one):
                    self._set(name, of_args | base if library is not None else PRIVATE)
                of_args |= self._results([one])
        if library is not None or not targets:
            made = func.id if isinstance(func, ast.Name) else name_of(func)
            if library is None and made in self._all.code.classes:
                return self._made(made, of_args | base)
            return self._elsewhere(e, library, base, of_args, len(plain) < len(given))
        of = base | self._results(targets)
        for function in targets:
            self._given(function, e)
            above = Level.PUBLIC if sure else base.value
            self._all.raised(self._all.contexts, function, both(max(above, self._context)))
            self._after(function, e)
        if name_of(func) in self._all.code.classes:
            return of | self._made(name_of(func), of_args)
        if not sure and isinstance(func, ast.Attribute) and func.attr in TAKES:
            self._put_into(func.value, of_args)
        return of if sure else of | both((base | of_args).value)

    def _made(self, name: str, of: Of) -> Of:
        """An object of an own class: its fields, where no function assigns them."""
        for one in self._all.code.classes[name].body:
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and of != PUBLIC:
                self._all.raised(self._all.attributes, one.target.id, of | both(self._context))
        return of

    def _elsewhere(self, e: ast.Call, library: Known | None, base: Of, of_args: Of, with_node: bool) -> Of:
        """What code gives that is not read; it may change what it is given."""
        func, of = e.func, base | of_args
        if library is not None:
            self._changes(library.changed(e), of)
            if library.builtin and library.name in ASSIGNS and len(e.args) > 1:
                name = e.args[1].value if isinstance(e.args[1], ast.Constant) else "__dict__"
                self._all.raised(self._all.attributes, str(name), of | both(self._context))
            if library.of_form:
                return Of(self._all_of(e.args[:1]).form)
            if library.pairwise(e):
                return Of(of.value, max(of.form, self._all_of(k.value for k in e.keywords if k.arg != "out").value)) \
                    if library.builtin is False and not library.netsim else of  # fmt: skip
            if library.keeps():
                rest = [*e.args[1:], *(k.value for k in e.keywords if k.arg != "out")]
                return Of(of.value, max(self._all_of(e.args[:1]).form, self._all_of(rest).value))
            return both(of.value)
        receiver = func.value if isinstance(func, ast.Attribute) else None
        reads = isinstance(func, ast.Attribute) and func.attr in READS
        given = [*e.args, *(one.value for one in e.keywords)]
        keeps = reads or (isinstance(func, ast.Attribute) and func.attr in TAKES)
        self._changes([] if keeps else [one for one in given if not self.is_node(one)], of)
        self._changes([one.value for one in e.keywords if one.arg == "out"], of)
        if receiver is not None and not reads and not self._of_module(receiver):
            self._put_into(receiver, of_args)
        if with_node:
            return PRIVATE
        if isinstance(func, ast.Attribute) and func.attr in ("gradient", "proximal"):  # of an objective: as its point
            return of
        if isinstance(func, ast.Attribute) and keeps_form(func.attr):
            form = Of(base.form) if func.attr == "keys" else Of(of.value, base.form)
            return form | (PUBLIC if not given else Of(Level.PUBLIC, of_args.value))
        return both(of.value)

    def _of_module(self, e: ast.expr) -> bool:
        value = self._all.code.value(e, self._scope.own, self._scope.local)
        return isinstance(value, ModuleType | type)

    def _changes(self, some: Iterable[ast.expr], of: Of) -> None:
        """A call may have put what it was given into these; a module is no such thing."""
        for one in some:
            itself = isinstance(one, ast.Name) and (one.id == "self" or self._of_module(one))
            if of != PUBLIC and isinstance(one, ast.Name | ast.Attribute | ast.Subscript) and not itself:
                self._put_into(one, of)

    def _pairs(self, function: FunctionNode, call: ast.Call) -> list[tuple[str, ast.expr]]:
        """Parameters of a function, each with what a call gives it, or may."""
        names, a = parameters(function), function.args
        positional = [one.arg for one in (*a.posonlyargs, *a.args)]
        if self._all.owns[function].method and not self._whole(call.func):
            positional, names = positional[1:], names[1:]
        values = [*call.args, *(one.value for one in call.keywords)]
        if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
            return [(name, value) for name in names for value in values]
        rest = a.vararg.arg if a.vararg else None
        at = [positional[k] if k < len(positional) else rest for k in range(len(call.args))]
        keyword = [one.arg if one.arg in names else a.kwarg and a.kwarg.arg for one in call.keywords]
        return [(name, value) for name, value in zip((*at, *keyword), values, strict=True) if name is not None]

    def _whole(self, func: ast.expr) -> bool:
        """Whether a method is called of its class, with its object."""
        return isinstance(func, ast.Attribute) and name_of(func.value) in self._all.code.classes

    def _given(self, function: FunctionNode, call: ast.Call) -> None:
        """Parameters get the levels of what a call gives them."""
        scope = self._all.scopes[function]
        for name, value in self._pairs(function, call):
            if self.is_node(value):
                self._all.raised(scope.nodes, name, PRIVATE)
            elif name not in scope.nodes:
                self._all.raised(scope.names, name, self.of(value))

    def _after(self, function: FunctionNode, call: ast.Call) -> None:
        """What a function put into what it was given."""
        for name, value in self._pairs(function, call):
            if (of := self._all.written.get((function, name))) is not None:
                self._changes([value], of)
        names = parameters(function)
        of = self._all.written.get((function, names[0])) if names and self._all.owns[function].method else None
        if of is not None and isinstance(call.func, ast.Attribute):
            self._changes([call.func.value], of)


def _parts(e: ast.expr) -> list[ast.expr]:
    return e.elts if isinstance(e, ast.Tuple | ast.List) else []


def _is_empty(e: ast.expr) -> bool:
    elements = e.keys if isinstance(e, ast.Dict) else _parts(e)
    return isinstance(e, ast.Dict | ast.Tuple | ast.List) and not elements


def _is_super(e: ast.expr) -> bool:
    return isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "super"
