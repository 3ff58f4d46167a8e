"""Names that an algorithm's class has from its base, and that no parameter may take.

They are those of the base itself: a method stays a method, and what is a property there may be a field with a default
of the same type, such as `horizon: int = 10`.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import Field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, get_type_hints

from netsim.arguments import expect
from netsim.errors import ScenarioError, together
from netsim.files import text_of


@cache
def check_names(kind: type, base: type) -> None:
    """Raise a `ScenarioError`, with file and line, for what hides a method or a property of the base in a class."""
    if wrong := list(_hidden(kind, base)):
        raise together(wrong)


def _hidden(kind: type, base: type) -> Iterator[ScenarioError]:
    fields: dict[str, Field[Any]] = getattr(kind, "__dataclass_fields__", {})
    for name, there in vars(base).items():
        own, field = inspect.getattr_static(kind, name), fields.get(name)
        if name.startswith("__") or (own is there and field is None):
            continue
        instead = "another name"
        if isinstance(there, property):
            problem, values = _in_place_of_property(there, own, name)
            instead = f"{values}, or {instead}" if values and not inspect.isfunction(own) else instead
        else:
            problem = inspect.isfunction(there) and (field is not None or not callable(getattr(kind, name)))
            problem = "()" if problem else None
        if problem is not None:
            wrong = isinstance(there, property) and inspect.isfunction(own)
            why = f"hides {base.__name__}.{name}{problem}"
            allowed = "@property above it" if wrong else instead
            if isinstance(own, property) and own is not there:
                own, allowed = f"@property {name}", f"def {name}(…), without @property"
            value = own if field is None or own is not there else field.type
            value = f"def {name}" if inspect.isfunction(own) and own is not there else value
            yield ScenarioError(f"{kind.__name__}.{name}", value, why, allowed, *_written(kind, name))


def _in_place_of_property(there: property, own: object, name: str) -> tuple[str | None, str]:
    """Why a class's own attribute, or field, cannot stand for a property, and what can; None where it can."""
    if own is there:
        return ", a property, and has no default", "a default"
    if isinstance(own, property | cached_property):
        return None, ""
    hint = get_type_hints(there.fget)["return"]
    try:
        expect(own, name, hint)
    except ScenarioError as error:
        return f", a property that is {error.allowed}", error.allowed
    return None, ""


def _written(kind: type, name: str) -> tuple[str | None, int | None]:
    """File and line where a class, or one that it inherits from, gives a name its value; (None, None) where no file
    says so."""
    for one in kind.__mro__:
        if name not in vars(one) and name not in inspect.get_annotations(one):
            continue
        own = [inspect.unwrap(value) for value in vars(one).values() if inspect.isfunction(value)]
        files = [value.__code__.co_filename for value in own if inspect.isfunction(value)]
        of_module = getattr(sys.modules.get(one.__module__), "__file__", None) or ""
        file = next((file for file in files if not file.startswith("<string>")), of_module)
        try:
            body = ast.parse(text_of(file)).body
        except SyntaxError:
            body = []
        if not body:
            return None, None
        for path in one.__qualname__.replace(".<locals>", "").split("."):
            named = [node.body for node in body if isinstance(node, _NAMED) and node.name == path]
            body = named[0] if named else []
        line = next((node.lineno for node in body if name in _names(node)), None)
        return Path(file).name, line
    return None, None


_NAMED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _names(node: ast.stmt) -> set[str]:
    """The names to which a statement of a class gives a value."""
    if isinstance(node, _NAMED):
        return {node.name}
    annotated = [node.target] if isinstance(node, ast.AnnAssign) else []
    targets = node.targets if isinstance(node, ast.Assign) else annotated
    return {one.id for one in targets if isinstance(one, ast.Name)}
