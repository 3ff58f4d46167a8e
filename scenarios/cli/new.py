"""Command `netsim new`: a commented scenario, or an algorithm with its claim and audit, to start from."""

import ast
import importlib.util
import keyword
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Annotated, get_args

import typer
from rich.markup import escape

from netsim.errors import ScenarioError, meant
from scenarios.cli.catalogue import NOISE, models, starter
from scenarios.cli.options import Algorithm, Base, command, taken
from scenarios.files.folders import whole
from scenarios.render.terminal import console, fail, interpreter, print_steps

_TEMPLATES = resources.files("scenarios") / "cli" / "templates"
_DEFAULT = "private_gradient_descent"
_CLAIMED = {"epsilon": 2.0}
"""The claim of a starter whose scale can be given by it; an audit of some hundred transcripts can test it."""


@command("new", "netsim new first", "netsim new lossier --from lossy-tap", "netsim new my-descent --python")
def _new(
    name: Annotated[str, taken(help="Its name: small letters, digits, hyphens.")],
    base: Base = None,
    algorithm: Algorithm = None,
    python: Annotated[
        bool,
        typer.Option(
            "--python", help="Write an algorithm of your own, in Python, and a script that audits its claim."
        ),
    ] = False,
) -> None:
    """Write a first version of a scenario, or with --python of an algorithm of your own, that runs as it is.

    Nothing is ever overwritten. Exit status: 0 done, 2 wrong input, or a file that exists.
    """
    from scenarios.files.library import library

    try:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
            raise ScenarioError("NAME", name, "not a name", "small letters, digits and hyphens, such as my-network")
        without = "one of the two"
        if python and base is not None:
            raise ScenarioError("--from", base, "with --python there is no scenario to extend", without)
        if python and algorithm is not None:
            raise ScenarioError("--algorithm", algorithm, "with --python the algorithm is your own", without)
        if base is not None and algorithm is not None:
            raise ScenarioError("--algorithm", algorithm, "with --from the algorithms are the base's", without)
        if python:
            files = _code(name)
        else:
            files = {f"{name}.yaml": _extending(name, base) if base else _own(name, algorithm or _DEFAULT)}
        if not python and name in library():
            words = f"another name; `netsim new my-{name} --from {name}` extends it"
            raise ScenarioError("NAME", name, "a shipped scenario has this name", words)
        for file in files:
            if Path(file).exists():
                raise ScenarioError("NAME", name, f"{file} is there already", "another name: nothing is overwritten")
        for file, text in files.items():
            with whole(Path(file)) as draft:
                draft.write_text(text, encoding="utf-8")
    except OSError as error:
        fail(ScenarioError("NAME", name, f"cannot be written ({error})", "a folder that can be written"))
    for file in files:
        console.print(f"Wrote [bold]{escape(file)}[/]", highlight=False)
    first, *others = files
    steps = [("Check it, without running it", f"netsim check {first}"), ("Run it", f"netsim run {first}")]
    if python:
        steps = [
            ("Put your algorithm there", f"edit {first}"),
            ("Audit its claim", f"netsim audit {first}"),
            ("The same, step by step in Python", f"{interpreter()} {others[0]}"),
        ]
    print_steps("Next", steps)


# ── a scenario ──────────────────────────────────────────────────────────────────────────────────────────
def _extending(name: str, base: str) -> str:
    """A file that extends another, with the fields that one might want to say."""
    from scenarios.files.library import library
    from scenarios.schema.load import load_scenario, schema_line

    scenario = load_scenario(base).scenario
    there = base if base in library() else str(Path(base))
    title = f"{scenario.title or scenario.name}, changed"
    agents = f"{{agents: {getattr(scenario.topology, 'agents', 8)}}}"
    audit = "" if scenario.audit is None else f"# audit: {{trials: {scenario.audit.trials}}}\n"
    return f"""\
{schema_line()}# What this file does not say is as in {there}; `netsim show {name}.yaml` prints all that it comes to.
extends: {there}
name: {name}
title: '{title.replace("'", "''")}'
seed: {scenario.seed + 1}

# Say here what is different. Mappings are merged field by field; lists are replaced as a whole.
# topology: {agents}
# links: {{loss: 0.05, reliable: true}}
# adversary: {{links: all, capture_loss: 0.1}}
{audit}"""


def _own(name: str, kind: str) -> str:
    """A scenario of its own, on the first graph on which the algorithm can be run."""
    from scenarios.schema.load import parse
    from scenarios.stages.runner import checked

    known = [one for one, model in models().items() if "path" not in model.model_fields]
    if kind not in known:
        raise ScenarioError("--algorithm", kind, f"no algorithm{meant(kind, known)}", ", ".join(known))
    refusals: list[ScenarioError] = []
    for fields, graph in product(_attempts(kind), ("ring", "star", "complete")):
        text = _scenario(name, kind, graph, fields)
        try:
            checked(parse(text, f"{name}.yaml"))
        except ScenarioError as error:
            refusals.append(error)
        else:
            return text
    raise refusals[0]


def _attempts(kind: str) -> Iterator[Mapping[str, object]]:
    """With noise for a claimed ε; the starter; with fewer rounds; and with noise given outright where none can be
    found for a claimed ε."""
    from scenarios.schema.algorithms import PureTarget

    fields, known = starter(kind), models()[kind].model_fields
    if "scale" in known and "clip" in fields and PureTarget in get_args(known["scale"].annotation):
        yield {**fields, "scale": _CLAIMED}
    yield fields
    yield {**fields, **({"rounds": 3} if "rounds" in fields else {})}
    if "target" in fields:
        outright = {name: 1.0 for name in NOISE if name in known}
        yield {**{name: value for name, value in fields.items() if name != "target"}, **outright}


def _scenario(name: str, kind: str, graph: str, fields: Mapping[str, object]) -> str:
    from scenarios.files.document import setting
    from scenarios.schema.load import schema_line

    lines: list[str] = []
    for key, value in fields.items():
        text = setting(value)
        note = "   # how much noise: the claimed ε falls as it grows" if key in NOISE else ""
        if isinstance(value, Mapping) and "epsilon" in value:
            note = "   # the noise at which the theorem claims this ε; smaller: more noise"
        lines += [f"    {key}: {text}{note}"] if key != "kind" else []
    words = {"NAME": name, "KIND": kind, "GRAPH": graph, "PARAMETERS": "\n".join(lines)}
    return schema_line() + _filled((_TEMPLATES / "scenario.yaml.txt").read_text(encoding="utf-8"), words)


def _filled(text: str, words: Mapping[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(f"__{word}__", value)
    return text


# ── an algorithm ────────────────────────────────────────────────────────────────────────────────────────
def _code(name: str) -> dict[str, str]:
    """A module with an algorithm and its claim, and a script that audits it."""
    module = name.replace("-", "_")
    module = module if module.isidentifier() else f"my_{module}"
    words = {"MODULE": module, "CLASS": "".join(part.capitalize() for part in module.split("_"))}
    named = {f"{module}.py": "algorithm.py.txt", f"audit_{module}.py": "audit.py.txt"}
    files = {file: (_TEMPLATES / template).read_text(encoding="utf-8") for file, template in named.items()}
    if why := _not_free(module, words["CLASS"], files.values()):
        raise ScenarioError("NAME", name, why, f"another name, such as my-{name}")
    return {file: _filled(text, words) for file, text in files.items()}


def _not_free(module: str, named: str, templates: Iterable[str]) -> str:
    """Why a module and a class cannot have these names; empty where they can."""
    if keyword.iskeyword(module) or keyword.iskeyword(named):
        return "a word of Python itself"
    imports = [one for text in templates for one in ast.walk(ast.parse(text)) if isinstance(one, ast.ImportFrom)]
    if named in {alias.name for one in imports for alias in one.names}:
        return f"the class would be {named}, a name that its file imports"
    spec = importlib.util.find_spec(module)
    places = [] if spec is None else [spec.origin] if spec.origin else list(spec.submodule_search_locations or [])
    elsewhere = spec is not None and not all(Path(one).absolute().parent == Path.cwd() for one in places)
    if module in sys.stdlib_module_names or elsewhere:
        return f"{module}.py would be imported in place of the module {module}"
    return ""
