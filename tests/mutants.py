"""Mutants: one small change each in code that verdicts rest on; a change that no test notices is printed.

`make mutants` takes a seeded sample of each file. The tests that mirror its folder, and the laws named here, run once
to learn who calls what for how long; a mutant meets the tests that call its function, the file's own and the quick
ones first. Outcomes are kept in results/mutants: another run goes on where the last was stopped, and tries survivors
again once their tests have changed. Each is to be killed by a better test, or has its line in docs/mutants.md.
The tree is copied first, and a mutant exists in the memory of its own process alone.
"""

import argparse
import ast
import copy
import hashlib
import importlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "results" / "mutants"
LAWS: dict[str, list[str]] = {
    "netsim/clock.py": ["tests/netsim/test_running.py"],
    "netsim/network": ["tests/netsim/test_simulation.py"],
    "attacks/replay": [
        "tests/netsim/network/test_exchange_policy.py",
        "tests/attacks/audit/loss/test_perturbed_objectives.py",
    ],
    "attacks/score": ["tests/attacks/test_inference.py", "tests/attacks/traffic/test_rounds.py"],
    "attacks/audit/games": [],
    "attacks/audit/loss": [],
    "attacks/audit/accounting": [],
}
"""What is mutated, and the tests beyond its mirror that hold its laws."""
LONG = (
    "tests/attacks/audit/accounting/test_tilting.py::test_misses_no_more_often_than_it_may",
    "tests/attacks/audit/accounting/test_intervals.py::test_mean_interval_covers",
)
"""Tests that are not worth their seconds here."""
LOADED = (
    "hypothesis networkx numpy pyarrow.parquet pydantic pytest pytest_asyncio.plugin scipy.optimize scipy.stats "
    "simpy sklearn.linear_model"
)
"""Imported once, before the processes of mutants fork."""
UNTRACKED = {".git", ".venv", ".hypothesis", ".pytest_cache", "results", "site"}
"""What is not copied of the root's folder."""
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.Mod: ast.Mult,
    ast.FloorDiv: ast.Div, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.USub: ast.UAdd,
}  # fmt: skip
SYMMETRIC = {"max", "min", "maximum", "minimum", "isinstance", "cast", "array_equal"}
"""Functions of two arguments that may change places, or never may."""
SILENT = {"annotation", "returns", "decorator_list", "bases", "exc", "type_params"}
"""Fields of the syntax that hold types, or an error's words: not mutated."""


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Mutants of one node, without those of what is inside it."""
    new = copy.copy(node)
    match new:
        case ast.Compare(ops=[op]) if type(op) in SWAPS:
            new.ops = [SWAPS[type(op)]()]
            yield new
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op) | ast.UnaryOp(op=op) if type(op) in SWAPS:
            new.op = SWAPS[type(op)]()
            yield new
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1 if isinstance(value, int) or not value else 2 * value)
        case ast.Return(value=ast.AST() as value) if not isinstance(value, ast.Constant):
            boolean = isinstance(value, ast.Compare | ast.BoolOp | ast.UnaryOp)
            yield ast.Return(ast.UnaryOp(ast.Not(), value) if boolean else ast.Constant(None))
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare):
            new.test = test.operand if isinstance(test, ast.UnaryOp) else ast.UnaryOp(ast.Not(), test)
            yield new
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, second, *rest]):
            if name not in SYMMETRIC and not any(isinstance(one, ast.Starred) for one in (first, second)):
                new.args = [second, first, *rest]
                yield new
    match node:
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Raise() | ast.Break() | ast.Continue():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()


def mutants(path: str) -> Iterator[tuple[str, str, ast.AST]]:
    """Each mutant's name, its function, and the syntax tree of its file, valid until the next is asked for."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    count: Counter[str] = Counter()

    def inside(node: ast.AST, scope: str, function: str) -> Iterator[tuple[str, str, ast.AST]]:
        if isinstance(node, FUNCTIONS | ast.ClassDef):
            scope = f"{scope}.{node.name}".lstrip(".")
            function = scope if isinstance(node, FUNCTIONS) else ""
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"):
            return
        for field, value in ast.iter_fields(node):
            for place, child in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(child, ast.AST) or field in SILENT:
                    continue
                for new in changes(child):
                    if isinstance(new, ast.BinOp) and isinstance(new.op, ast.BitAnd) and not (scope and values(new)):
                        continue  # a union of types
                    put(node, field, place, new)
                    name = f"{path} {scope or '(module)'}: `{first_line(child)}` → `{first_line(new)}`"
                    count[name] += 1
                    yield name if count[name] == 1 else f"{name} ({count[name]})", function, tree
                    put(node, field, place, child)
                yield from inside(child, scope, function)

    yield from inside(tree, "", "")


def values(node: ast.BinOp) -> bool:
    """Whether neither side is None, as it is in types alone."""
    return not any(isinstance(side, ast.Constant) and side.value is None for side in (node.left, node.right))


def put(node: ast.AST, field: str, place: int, child: ast.AST) -> None:
    if isinstance(holder := getattr(node, field), list):
        holder[place] = child
    else:
        setattr(node, field, child)


def first_line(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0][:100]


class Mutant(NamedTuple):
    where: str  # a key of LAWS
    path: str
    name: str
    function: str  # of the file; empty where classes and modules are made
    source: str


class Seen(NamedTuple):
    """One test without any mutant: its seconds of CPU, and which functions of the mutated package were called."""

    test: str
    seconds: float
    called: list[str]


def sample(where: str, each: int, seed: int) -> Iterator[Mutant]:
    """Mutants of every file of a package, drawn by the seed and the file's name."""
    for file in files_of(ROOT / where):
        path = str(file.relative_to(ROOT))
        names = [name for name, _, _ in mutants(path)]
        drawn = set(random.Random(f"{seed} {path}").sample(names, min(each, len(names))))
        yield from (Mutant(where, path, name, function and f"{path} {function}", ast.unparse(tree))
                    for name, function, tree in mutants(path) if name in drawn)  # fmt: skip


def files_of(where: Path, pattern: str = "*.py") -> list[Path]:
    return sorted(where.rglob(pattern)) if where.is_dir() else [where]


def tests_of(where: str) -> list[str]:
    mirror = ROOT / "tests" / (where if (ROOT / where).is_dir() else os.path.join(*os.path.split(where)))
    mirror = mirror if mirror.is_dir() else mirror.with_name(f"test_{mirror.name}")
    return [*(str(file.relative_to(ROOT)) for file in files_of(mirror, "test_*.py")), *LAWS[where]]


def digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def forked(copied: Path, seconds: float, task: Callable[[], str]) -> str:
    """What a task returned in a process of its own in the copied tree; "no end" beyond its seconds of CPU."""
    start, answer = time.monotonic(), copied.parent / "answer"
    answer.write_text("no end")
    if not (child := os.fork()):
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(1, 2)
        os.chdir(copied)
        sys.path[:0], sys.dont_write_bytecode = [str(copied)], False
        os.environ |= {"PYTHONPATH": str(copied), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
        try:
            answer.write_text(task())
        except BaseException as error:
            answer.write_text(repr(error))
        finally:
            os._exit(0)  # what the parent process cleans up is not the child's
    while not os.waitpid(child, os.WNOHANG)[0]:
        time.sleep(0.02)
        if time.monotonic() > start + 10 * seconds:  # waits without end, or on a busy machine
            os.killpg(child, signal.SIGKILL)
    return answer.read_text()


def pytest_run(files: list[str], plugin: object) -> int:
    import hypothesis
    import pytest

    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutants", deadline=None, derandomize=True, database=None, phases=phases)
    hypothesis.settings.load_profile("mutants")
    options = [
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "pytest_asyncio.plugin",
        "--assert=plain",  # or pytest would load a `…_test.py` of ours by a loader of its own
        "--tb=no",
        "-m",
        "not docs and not browser",
    ]
    return pytest.main([*options, *(f"--deselect={test}" for test in LONG), *files], plugins=[plugin])


def learned(copied: Path, where: str, file: str) -> list[Seen]:
    """What each test of a file calls, kept until its file or the package changes."""
    sources = [source.read_text() for source in files_of(copied / where)]
    kept = KEPT / f"{digest(where, file, (copied / file).read_text(), *sources)}.json"
    if not kept.exists():
        found = forked(copied, 900, lambda: json.dumps(run_and_learn(copied, where, file)))
        if not found.startswith("["):
            raise SystemExit(f"{file} fails without a mutant: {found}")
        print(f"{file}: {len(json.loads(found))} tests, {sum(one[1] for one in json.loads(found)):.1f} s", flush=True)
        kept.write_text(found)
    return [Seen(*one) for one in json.loads(kept.read_text())]


def run_and_learn(copied: Path, where: str, file: str) -> list[Seen]:
    import builtins

    import pytest

    found: list[Seen] = []
    shared: set[str] = set()  # called by imports and fixtures: by any of the tests, perhaps
    now = shared

    class Watch:
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
            nonlocal now
            now, start = set(), time.process_time()
            yield
            found.append(Seen(item.nodeid, time.process_time() - start, sorted(now)))
            now = shared

    vars(builtins)["called"] = lambda function: now.add(function)
    compiled({str(path): watched(str(path.relative_to(copied))) for path in files_of(copied / where)})
    assert pytest_run([file], Watch()) == 0
    return [one._replace(called=sorted({*one.called, *shared})) for one in found]


def watched(path: str) -> ast.AST:
    """The syntax tree of a file whose functions say that they are called."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))

    def inside(node: ast.AST, scope: str) -> None:
        if isinstance(node, FUNCTIONS | ast.ClassDef):
            scope = f"{scope}.{node.name}".lstrip(".")
        for child in ast.iter_child_nodes(node):
            inside(child, scope)
        if isinstance(node, FUNCTIONS):
            at = int(ast.get_docstring(node) is not None)
            node.body[at:at] = ast.parse(f"called({f'{path} {scope}'!r})").body

    inside(tree, "")
    return ast.fix_missing_locations(tree)


def compiled(sources: Mapping[str, str | ast.AST]) -> None:
    """From now on imports compile these sources, by their paths, in place of what is in the files."""
    plain = SourceFileLoader.get_code
    SourceFileLoader.get_code = lambda self, name: (  # type: ignore[method-assign]
        compile(sources[self.path], self.path, "exec") if self.path in sources else plain(self, name))  # fmt: skip


def outcome(mutant: Mutant, path: str, order: list[str]) -> str:
    """The first test that failed, or "survived"."""
    import pytest

    failed: list[str] = []

    class Watch:
        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            items[:] = sorted(
                (item for item in items if item.nodeid in order), key=lambda item: order.index(item.nodeid)
            )

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            failed.extend([report.nodeid] if report.failed else [])

    compiled({path: mutant.source})
    status = pytest_run(list(dict.fromkeys(test.partition("::")[0] for test in order)), Watch())
    return "survived" if status == 0 else (failed or ["no import"])[0]


def work(left: list[Mutant], budget: float) -> None:
    """Try mutants one after another; every outcome is a line of the file of outcomes at once."""
    for name in LOADED.split():
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder) / "tree"
        shutil.copytree(
            ROOT, copied, ignore=lambda at, names: [one for one in names if at == str(ROOT) and one in UNTRACKED]
        )
        for mutant in left:
            own = "/".join(("tests", os.path.dirname(mutant.path), f"test_{os.path.basename(mutant.path)}::"))
            seen = [one for file in tests_of(mutant.where) for one in learned(copied, mutant.where, file)
                    if not mutant.function or mutant.function in one.called]  # fmt: skip
            order, seconds = [], 0.0
            for one in sorted(seen, key=lambda one: (not one.test.startswith(own), one.seconds)):
                if seconds + one.seconds < budget:
                    order.append(one.test)
                    seconds += one.seconds
            start = time.monotonic()
            task = partial(outcome, mutant, str(copied / mutant.path), order)
            found = forked(copied, 5 + 2 * seconds, task) if order else "survived"
            line = {"name": mutant.name, "key": key_of(mutant, found, copied), "found": found}
            with (KEPT / "outcomes.jsonl").open("a", encoding="utf-8") as kept:
                kept.write(json.dumps(line, ensure_ascii=False) + "\n")
            print(f"{time.monotonic() - start:5.1f} s  {mutant.name}: {found} of {len(order)}", flush=True)


def key_of(mutant: Mutant, found: str, root: Path = ROOT) -> str:
    """An outcome holds for this source; that a mutant survived, for the text of its tests as well."""
    tests = [(root / file).read_text() for file in tests_of(mutant.where) if found == "survived"]
    return digest(mutant.source, *tests)


def outcomes(chosen: list[Mutant]) -> dict[str, str]:
    """What was found before, of mutants whose source (and tests, of survivors) are as they were."""
    kept = KEPT / "outcomes.jsonl"
    lines = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()] if kept.exists() else []
    last = {line["name"]: line for line in lines}
    return {one.name: last[one.name]["found"] for one in chosen
            if one.name in last and last[one.name]["key"] == key_of(one, last[one.name]["found"])}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=10, help="mutants of a file")
    parser.add_argument("--budget", type=float, default=8, help="seconds of tests for a mutant")
    parser.add_argument("--list", action="store_true", help="try none; show what was found")
    parser.add_argument("where", nargs="*", default=list(LAWS), metavar="WHERE", help=f"any of {', '.join(LAWS)}")
    options = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    chosen = [mutant for where in options.where for mutant in sample(where, options.each, options.seed)]
    known = outcomes(chosen)
    if not options.list:
        work([mutant for mutant in chosen if mutant.name not in known], options.budget)
    known = outcomes(chosen)
    explained = (ROOT / "docs" / "mutants.md").read_text(encoding="utf-8")
    kinds = ("killed", "explained", "survived", "not tried")
    rows: dict[str, Counter[str]] = {where: Counter() for where in [*options.where, "all"]}
    survivors: list[str] = []
    for one in chosen:
        found = known.get(one.name, "not tried")
        kind = "explained" if found == "survived" and f"- {one.name}: " in explained else found
        survivors += [one.name] if kind == "survived" else []
        for row in (one.where, "all"):
            rows[row][kind if kind in kinds else "killed"] += 1
    print("| mutants of | sampled |", " | ".join(kinds), "|\n|---|---|" + "---|" * len(kinds))
    for where, row in rows.items():
        print(f"| {where} | {row.total()} |", " | ".join(str(row[kind]) for kind in kinds), "|")
    raise SystemExit("\n".join(survivors) or 0)


if __name__ == "__main__":
    main()
