"""A user's own algorithm: its class, its source files and their digest.

Loading runs the user's code.
"""

import ast
import hashlib
import importlib
import inspect
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import accumulate
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, NoReturn, cast

from netsim.algorithms import Algorithm
from netsim.algorithms.names import check_names
from netsim.errors import ScenarioError, meant, near
from netsim.files import check_regular, no_such_file
from netsim.own import field_line, not_imported, syntax
from scenarios.files import CODE_LISTENERS

OURS = ("netsim", "attacks", "scenarios")
_PACKAGES = tuple(Path(__file__).parents[2] / name for name in OURS)
Sources = Mapping[Path, bytes]


def sources(file: Path, text: bytes, package: str = "") -> dict[Path, bytes]:
    """`file` with its `text`, and every file of the user's own that it imports, anywhere in it, and so on. `package`
    is that of the file's module: what relative imports start from."""
    importlib.invalidate_caches()
    found: dict[Path, bytes] = {file: text}
    ahead = [(file, package)]
    while ahead:
        one, inside = ahead.pop()
        for name in _imports(found[one], inside):
            other = _file_of(name, file.parent)
            if other is not None and other not in found and _is_own_file(name, other):
                found[other] = other.read_bytes()
                ahead.append((other, name if other.name == "__init__.py" else name.rpartition(".")[0]))
    return found


def _digest(found: Sources) -> str:
    """SHA-256 of the files' names and texts, wherever they lie."""
    whole = hashlib.sha256()
    for name, text in sorted((file.name, text) for file, text in found.items()):
        whole.update(name.encode() + b"\0" + text + b"\0")
    return whole.hexdigest()


def _is_own_file(name: str, file: Path) -> bool:
    """Whether a module is neither netsim's, nor Python's, nor an installed package's."""
    if name.partition(".")[0] in OURS or file.suffix != ".py":
        return False
    installed = {"site-packages", "dist-packages"} & set(file.parts)
    return not installed and not any(file.is_relative_to(sysconfig.get_path(one)) for one in ("stdlib", "platstdlib"))


def _imports(text: bytes, package: str) -> Iterator[str]:
    """Every module that a text may import: of `from a import b` both a and a.b."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                yield from _prefixes(one.name)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from _prefixes(base)
            yield from (f"{base}.{one.name}" for one in node.names if base)


def _prefixes(name: str) -> Iterator[str]:
    """`a`, `a.b` and `a.b.c` of `a.b.c`; none of a relative name."""
    return accumulate(name.split(".") if name[:1] not in ("", ".") else (), "{}.{}".format)


def _file_of(name: str, folder: Path) -> Path | None:
    """The file of a module, which is not imported for that; None where there is none."""
    there: ModuleType | None = sys.modules.get(name)
    if there is not None:
        file = getattr(there, "__file__", None)
        return Path(file).absolute() if file else None
    where: list[str] | None = [str(folder), *sys.path]
    spec = None
    for before in _prefixes(name):
        spec = None if where is None else _spec_of(before, where)
        where = None if spec is None else list(spec.submodule_search_locations or ()) or None
    return None if spec is None or not spec.origin or not spec.has_location else Path(spec.origin).absolute()


def _spec_of(name: str, where: list[str]) -> ModuleSpec | None:
    """The spec of a module in these folders, of the package above it, which need not be loaded: of one without an
    `__init__.py` Python would look that up by name."""
    return PathFinder.find_spec(name.rpartition(".")[2], where)


FIELD = "algorithm.path"
FORM = "FILE.py:CLASS, or PACKAGE.MODULE:CLASS"
_PRINTS: dict[ModuleType, str] = {}
"""Of every module that was loaded here: the SHA-256 of the code as it was run."""
_CODES: dict[type, str] = {}
"""The same of every class."""
_HELPERS: dict[Path, bytes] = {}
"""Texts of files that modules were loaded with, besides their own."""


@dataclass(frozen=True)
class OwnCode:
    """A class, the file that it is in, and the SHA-256 of that file and of what it imports of the user's own, as they
    were when they were run."""

    algorithm: type[Algorithm]
    file: Path
    sha256: str


def is_own(place: str) -> bool:
    """Whether this names an algorithm's code, and no scenario and no folder: FILE.py, FILE.py:CLASS, MODULE:CLASS."""
    before, _, name = place.rpartition(":")
    if place.endswith(".py") or before.endswith(".py"):
        return True
    return name.isidentifier() and _is_module(before)


def _is_module(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def load(place: str) -> OwnCode:
    """The class that is named FILE.py:CLASS or MODULE:CLASS; without CLASS the only one of a file.

    A relative FILE starts at the working directory. You get a `ScenarioError` of `FIELD` for a file or module that is
    not there or does not run, and for a class that is not there or is no algorithm.
    """
    where, _, name = _apart(place)
    a_file = where.endswith(".py")
    if (name and not name.isidentifier()) or not (a_file or (name and _is_module(where))):
        raise ScenarioError(FIELD, place, "names no class", FORM)
    module = _from_file(place, Path(where)) if a_file else _imported(place, where)
    found = _class_of(place, module, name)
    _CODES[found] = _PRINTS[module]
    return OwnCode(found, Path(str(module.__file__)).absolute(), _PRINTS[module])


def texts(place: str) -> dict[str, str] | None:
    """Names and texts of FILE.py:CLASS, first, and of the user's own files that it imports, as they are now. Names
    are relative to its folder. Nothing is run. None for a MODULE:CLASS, for a file that is not there or is no text,
    and where something that it imports lies elsewhere."""
    where, _, _ = _apart(place)
    if not where.endswith(".py"):
        return None
    file = Path(where).absolute()
    try:
        check_regular(file)
        found = sources(file, file.read_bytes())
        return {one.relative_to(file.parent).as_posix(): text.decode() for one, text in found.items()}
    except (OSError, ValueError):
        return None


def unpacked(place: str, found: Mapping[str, str], folder: Path) -> str:
    """The place of the same class after its texts (`texts`) were written below `folder`.

    You get a `ScenarioError` for a name that leads elsewhere.
    """
    for name, text in found.items():
        path = Path(name)
        if path.is_absolute() or ".." in path.parts or path.suffix != ".py":
            raise ScenarioError("code", name, "no file of Python beside the algorithm", "a relative path to a .py")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", newline="")
    _, colon, name = _apart(place)
    return f"{folder / next(iter(found))}{colon}{name}"


def _apart(place: str) -> tuple[str, str, str]:
    """File or module, a colon and the class; the latter two empty where it names none."""
    where, colon, name = place.rpartition(":")
    return (place, "", "") if not colon or name.endswith(".py") else (where, colon, name)


def code_of(algorithm: Algorithm) -> str | None:
    """The SHA-256 of the code that this algorithm was made from, whatever its file says by now; None for one that was
    not loaded here."""
    return next((_CODES[one] for one in type(algorithm).__mro__ if one in _CODES), None)


# ── modules ─────────────────────────────────────────────────────────────────────────────────────────────


def _from_file(place: str, file: Path) -> ModuleType:
    try:
        check_regular(file)
        text = file.read_bytes()
    except OSError as error:
        raise _unreadable(place, file, error) from None
    try:
        compile(text, str(file), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line, (why, allowed) = getattr(error, "lineno", None) or 1, syntax(error, text)
        raise ScenarioError(FIELD, place, f"no Python: {why}", allowed, str(file), line) from None
    found = sources(file.absolute(), text)
    _forget(found)
    return _run(place, _Texts(file.absolute(), _digest(found), found))


def _unreadable(place: str, file: Path, error: OSError) -> ScenarioError:
    why = no_such_file(file) if isinstance(error, FileNotFoundError) else str(error.strerror)
    found = near(file.stem, (one.stem for one in file.parent.glob("*.py")), 1)
    why += "".join(f"; did you mean '{one}.py'?" for one in found)
    return ScenarioError(FIELD, place, why, FORM)


def absent(place: str) -> ScenarioError | None:
    """The mistake of a FILE.py:CLASS whose file is not there; nothing is run. None for one that is, and a MODULE."""
    where, _, _ = _apart(place)
    if not where.endswith(".py") or Path(where).exists():
        return None
    return _unreadable(place, Path(where), FileNotFoundError())


@dataclass(frozen=True)
class _Texts:
    file: Path
    digest: str
    found: Sources = field(compare=False)


def _forget(found: Sources) -> None:
    """Where a file that others import was changed since it was loaded, none of these is loaded any more."""
    if all(_HELPERS.get(file, text) == text for file, text in found.items()):
        return
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and Path(file).absolute() in _HELPERS:
            del sys.modules[name]
    _HELPERS.clear()
    _run.cache_clear()


class _AsItIs(SourceFileLoader):
    """Keeps no compiled code: another text of the same length and the same second would be taken for the first."""

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        return self.source_to_code(self.get_data(self.path), self.path)


@cache
def _run(place: str, texts: _Texts) -> ModuleType:
    """The file as a module, run once. Its functions and classes go to other processes by value."""
    file = str(texts.file)
    name = f"{Path(file).stem}_{texts.digest[:12]}"
    loader = _AsItIs(name, file)
    spec = spec_from_file_location(name, file, loader=loader)
    if spec is None:
        raise ScenarioError(FIELD, place, "cannot be loaded as Python", FORM)
    module = module_from_spec(spec)
    _reachable(Path(file).parent)
    _announce(place, file)
    sys.modules[name] = module
    writes = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # nor is what it imports from beside it
    try:
        loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise _does_not_run(place, error, file) from error
    finally:
        sys.dont_write_bytecode = writes
    for pickler in ("cloudpickle", "joblib.externals.cloudpickle"):  # older releases of joblib have their own copy
        with suppress(ImportError):
            cast("Any", importlib.import_module(pickler)).register_pickle_by_value(module)
    _HELPERS.update({one: text for one, text in texts.found.items() if one != texts.file})
    _PRINTS[module] = _code_of(module, texts.found)
    return module


def _announce(place: str, what: str) -> None:
    """Say that this code is run now, which from there on ends this process by no call of `os._exit`."""
    for listener in CODE_LISTENERS:
        listener(place, what)
    _keep_running()


@cache
def _keep_running() -> None:
    """In this process `os._exit` raises the `SystemExit` of `sys.exit`: status 0 would say that all is well."""
    leave, process = os._exit, os.getpid()

    def end(status: int) -> NoReturn:
        if os.getpid() == process:
            raise SystemExit(status)
        leave(status)

    os._exit = end


def _imported(place: str, name: str) -> ModuleType:
    _reachable(Path.cwd())
    try:
        if name not in sys.modules:
            _check_found(name)
            if name.partition(".")[0] not in OURS:
                _announce(place, name)
        module = importlib.import_module(name)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
            why = f"no module named {error.name!r} can be imported from {Path.cwd()}"
            raise ScenarioError(FIELD, place, why, FORM) from None
        raise _does_not_run(place, error) from error
    if not getattr(module, "__file__", None):
        raise ScenarioError(FIELD, place, "a module without a file", FORM)
    if module not in _PRINTS:
        file = Path(str(module.__file__)).absolute()
        found = sources(file, file.read_bytes(), module.__package__ or "")
        _PRINTS[module] = _code_of(module, found)
    return module


def _check_found(name: str) -> None:
    """Raise a `ModuleNotFoundError` for a module that is not there, before packages that it would be in are run."""
    inside: list[str] = []
    for one in accumulate(name.split("."), "{}.{}".format):
        spec = _spec_of(one, inside) if "." in one else find_spec(one)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {one!r}", name=one)
        inside = [*(spec.submodule_search_locations or ())]  # of a module that is no package: none


def _does_not_run(place: str, error: BaseException, file: str | None = None) -> ScenarioError:
    """With the last line of the file that was reached, or else with the last line of all."""
    reached = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in reached if frame.filename == file] or list(reached)
    line = own[-1].lineno or 1 if own else 1
    why, allowed, question = f"{type(error).__name__}: {error}", "", ""
    if "non-frozen" in why:
        allowed = "@dataclass(frozen=True) above the class"
    if own and (mutable := re.search(r"mutable default .* for field (\w+)", why)):
        line = field_line(Path(own[-1].filename).read_bytes(), mutable[1], line)
        kind = re.search(r"default (?:<class ')?(\w+)", why)
        allowed = f"a tuple, or field(default_factory={kind[1] if kind else 'list'}) of dataclasses"
    if isinstance(error, NameError) and error.__traceback__ is not None:
        *_, (last, _line) = traceback.walk_tb(error.__traceback__)
        allowed, hint = not_imported(error, last.f_globals)
        question = f"; {hint}" if hint else ""
    at = f" (line {line} of {Path(own[-1].filename).name})" if own else ""
    return ScenarioError(FIELD, place, f"cannot be imported: {why}{at}{question}", allowed)


def _reachable(folder: Path) -> None:
    """What lies beside a file can be imported by it, here and in other processes; a file there that is called as one
    of netsim's packages does not take its place."""
    if str(folder) in sys.path:
        return
    ours = str(Path(__file__).parents[2])
    shadows = any(PathFinder.find_spec(name, [str(folder)]) for name in OURS)
    sys.path.insert(sys.path.index(ours) + 1 if shadows and ours in sys.path else 0, str(folder))


# ── the class ───────────────────────────────────────────────────────────────────────────────────────────


def _class_of(place: str, module: ModuleType, name: str) -> type[Algorithm]:
    there = {own: value for own, value in vars(module).items() if inspect.isclass(value)}
    algorithms = {
        own: value
        for own, value in there.items()
        if issubclass(value, Algorithm) and value.__module__ == module.__name__
    }
    listed = ", ".join(algorithms) or "class NAME(netsim.algorithms.Algorithm)"
    alike = [own for own, value in there.items() if value.__module__ == module.__name__ and hasattr(value, "run")]
    if not name:
        if len(algorithms) != 1:
            many = "several algorithms: name one" if algorithms else "no algorithm in this file"
            many += f": {alike[0]} does not inherit from Algorithm" if alike and not algorithms else ""
            raise ScenarioError(FIELD, place, many, ", ".join(f"{place}:{own}" for own in algorithms) or listed)
        name = next(iter(algorithms))
    found: object = vars(module).get(name)
    if found is None:
        why = f"no class {name!r} in {module.__file__}{meant(name, algorithms)}"
        raise ScenarioError(FIELD, place, why, listed)
    if not (inspect.isclass(found) and issubclass(found, Algorithm)):
        why = f"{name} is no algorithm: it does not inherit from netsim.algorithms.Algorithm"
        raise ScenarioError(FIELD, place, why, listed)
    _check(place, found)
    return found


def _check(place: str, found: type[Algorithm]) -> None:
    """A `ScenarioError` for a class that cannot be run: each with the line to write."""
    name = found.__name__
    if missing := sorted(cast("frozenset[str]", getattr(found, "__abstractmethods__", frozenset[str]()))):
        raise ScenarioError(FIELD, place, f"{name} does not define {', '.join(missing)}", "async def run(self, node)")
    if inspect.isasyncgenfunction(found.run) or inspect.isgeneratorfunction(found.run):
        why = f"{name}.run has a `yield`, and is a generator"
        raise ScenarioError(FIELD, place, why, "async def run(self, node) without a yield; node.estimate(x) tells x")
    if not inspect.iscoroutinefunction(found.run):
        raise ScenarioError(FIELD, place, f"{name}.run is no coroutine", "async def run(self, node)")
    check_names(found, Algorithm)
    annotations: Mapping[str, object] = inspect.get_annotations(found)
    known: Mapping[str, object] = getattr(found, "__dataclass_fields__", {})
    if found.__init__ is Algorithm.__init__ and (bare := [one for one in annotations if one not in known]):
        why = f"{name} has annotations ({', '.join(bare)}) that are no parameters: it is no dataclass"
        raise ScenarioError(FIELD, place, why, "@dataclass(frozen=True) above the class")


# ── which code it was ───────────────────────────────────────────────────────────────────────────────────


def _code_of(module: ModuleType, found: Sources) -> str:
    """SHA-256 of files, and of those in the module's folder or below it of which something is in its globals, and so
    on, however it came by that."""
    file = Path(str(module.__file__)).absolute()
    folder, seen, ahead = file.parent, {module.__name__: file}, [module]
    while ahead:
        for value in list(vars(ahead.pop()).values()):
            name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            other = sys.modules.get(name) if isinstance(name, str) else None
            if other is None or other.__name__ in seen or not (text := getattr(other, "__file__", None)):
                continue
            path = Path(text).absolute()
            if _is_own_file(other.__name__, path) and path.is_relative_to(folder):
                seen[other.__name__] = path
                ahead.append(other)
    return _digest({one: found[one] if one in found else one.read_bytes() for one in {*seen.values(), *found}})


def own_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Where an error came from, from the first line of a file of the user's on that was loaded here; empty for one
    that came through none."""
    frames = traceback.extract_tb(error.__traceback__)
    first = next((k for k, one in enumerate(frames) if _is_loaded(one.filename)), len(frames))
    return frames[first:]


def _own_lines(error: BaseException) -> list[traceback.FrameSummary]:
    """Those of them that are in files of the user's."""
    return [one for one in own_frames(error) if _is_loaded(one.filename)]


def add_place(error: BaseException) -> str:
    """Add the last line of the user's code that an error of netsim's came through, where it does not say one: to a
    `ScenarioError` without a file as its file and line, else as a note, which is returned."""
    origin, own = cast("BaseException | None", error), list[traceback.FrameSummary]()
    while origin is not None and not own:
        own = _own_lines(origin)
        origin = origin.__cause__ or origin.__context__
    if not own:
        return ""
    file, line = Path(own[-1].filename).name, own[-1].lineno
    if any(f"{file}:" in said for said in (str(error), *getattr(error, "__notes__", []))):
        return ""
    if isinstance(error, ScenarioError) and error.file is None and not error.others:
        error.file, error.line = file, line
        return ""
    error.add_note(note := f"In your code: {file}:{line}, in {own[-1].name}: {own[-1].line}")
    return note


def at_work(frame: FrameType | None, algorithm: Algorithm, *, through_node: bool = False) -> str:
    """FILE:LINE where a file of the user's that was loaded here, or that has this algorithm, is at work in this frame
    or one that called it; "" where netsim is, which that file may have called. With `through_node` also where it has
    called netsim."""
    of_run = inspect.unwrap(type(algorithm).run).__code__.co_filename
    for one, line in traceback.walk_stack(frame):
        file = Path(one.f_code.co_filename)
        ours = any(file.is_relative_to(folder) for folder in _PACKAGES)
        if _is_loaded(str(file)) or (not ours and str(file) == of_run):
            return f"{file.name}:{line}, in {one.f_code.co_name}"
        if ours and not through_node:
            break
    return ""


def _is_loaded(file: str) -> bool:
    loaded = {*_HELPERS, *(Path(str(module.__file__)).absolute() for module in _PRINTS)}
    return Path(file).absolute() in loaded
