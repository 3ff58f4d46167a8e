"""Reference pages of the docs, from models and docstrings: `python -m scenarios.cli.reference PAGE`, of algorithms,
commands, results or scenario."""

import importlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.main import get_command

from netsim import metrics
from netsim.transcript.message import COLUMNS
from netsim.transcript.stored import SPOOLED, VALUES
from scenarios.cli.app import app
from scenarios.cli.catalogue import models
from scenarios.cli.json_output import Document
from scenarios.cli.options import GROUPS, RUNS_CODE
from scenarios.files.models import as_mappings, places, tag_field
from scenarios.results import base, tables
from scenarios.results.attacked import AttackReport, AttackReports
from scenarios.results.base import Setting
from scenarios.results.findings import ComparisonResult
from scenarios.results.tree import Manifest, Results
from scenarios.schema.scenario import Scenario
from scenarios.schema.spec import field_texts, meaning, tag_of
from scenarios.stages.witness_file import WitnessFile
from scenarios.sweep.points import Sweep

Kind = type[Any]
Model = type[BaseModel]
Refer = Callable[[Any], str | None]

# ── scenario ────────────────────────────────────────────────────────────────────────────────────────────
_SCENARIO = """\
# Scenario reference

Every field of a scenario file, and of [a sweep's](#a-sweeps-file). `netsim check FILE` says whether a file can be
run, `netsim schema` prints the same as JSON Schema, and `netsim show NAME` prints a whole scenario to start from.
This page is written by `python -m scenarios.cli.reference scenario`.
"""
_BOUNDS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}


def _scenario() -> str:
    """The page of all fields of a scenario."""
    sweep = (_model(where, model, "A sweep's file") for where, model in places(Sweep))
    return "\n".join([_SCENARIO, *(_model(where, model) for where, model in places(Scenario)), *sweep])


def _model(where: str, model: Model, file: str = "The file") -> str:
    tag = tag_of(model)
    of_file = "" if file == "The file" else f"{file}: "
    title = (f"{of_file}`{where}`" if where else file) + (f", `{tag[0]}: {tag[1]}`" if tag else "")
    rows = [
        (f"`{name}`", _either(field.annotation, _refer, field.metadata), _default(model, field), meaning(model, name))
        for name, field in sorted(model.model_fields.items(), key=lambda item: item[0] != (tag or " ")[0])
    ]
    return _table(f"## {title}", model.__doc__ or "", ("field", "value", "default", "meaning"), rows)


def _table(title: str, about: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A heading, a text and, where there are rows, a table."""
    lines, rows = [title, "", inspect.cleandoc(about), ""], list(rows)
    if rows:
        lines += [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines, ""])


def _plain_stars(text: str) -> str:
    """Markdown in which the star of an optimum is no emphasis."""
    return re.sub(r"\b([fFwx2])\*(?!\w)", r"\1\\*", text)


@cache
def _place_of(model: Model) -> str:
    """The path under which the page describes a model."""
    return {one: path for root in (Sweep, Scenario) for path, one in places(root)}[model]


def _refer(annotation: Any) -> str | None:
    if annotation is NoneType:
        return ""
    if get_origin(annotation) is dict:
        inside = _either(get_args(annotation)[1], _refer)
        return f"mapping of dotted fields{f', of each {inside}' if inside not in ('', 'any value') else ''}"
    if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return None
    tag = tag_of(annotation)
    return f"a `{tag[0]}` of `{_place_of(annotation)}`" if tag else f"mapping, see `{_place_of(annotation)}`"


def _either(annotation: Any, refer: Refer, bounds: Iterable[Any] = ()) -> str:
    """What may stand in a place, with its bounds; `refer`: words for a part of an annotation, if it has some."""
    return " or ".join(dict.fromkeys(filter(None, _forms(annotation, refer, bounds))))


def _forms(annotation: Any, refer: Refer, bounds: Iterable[Any]) -> Iterator[str]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if (words := refer(annotation)) is not None:
        yield words
    elif origin is Annotated:
        base, *more = arguments
        inner = [part for one in more for part in (one.metadata if isinstance(one, FieldInfo) else [one])]
        yield from _forms(base, refer, [*bounds, *inner])
    elif origin is Literal:
        yield ", ".join(f"`{word}`" for word in arguments)
    elif origin is list or (origin is tuple and arguments[1:] == (...,)):
        entries = [f"at least {b.min_length}" for b in bounds if getattr(b, "min_length", None)]
        yield "; ".join([f"list of {_either(arguments[0], refer)}", *entries])
    elif origin is tuple:
        yield f"[{', '.join(_either(one, refer) for one in arguments)}]"
    elif annotation is Any:
        yield "any value"
    elif annotation in (int, float, str, bool):
        signs = [f"{sign} {getattr(b, name):,}" for b in bounds for name, sign in _BOUNDS.items() if hasattr(b, name)]
        signs += [f"like `{b.pattern}`" for b in bounds if getattr(b, "pattern", None)]
        kind = {int: "whole number", float: "number", str: "text", bool: "`true`, `false`"}[annotation]
        yield f"{kind} {', '.join(signs)}" if signs else kind
    else:
        for argument in arguments:
            yield from _forms(argument, refer, bounds)


def _default(model: Model, field: FieldInfo) -> str:
    tag = tag_field(model)
    if field.is_required() or (tag is not None and field is model.model_fields[tag]):
        return "required"
    value: Any = field.get_default(call_default_factory=True)
    if value is None:
        return "none"
    if isinstance(value, BaseModel):
        return f"`{json.dumps(words, ensure_ascii=False)}`" if (words := as_mappings(value)) else "its defaults"
    return f"`{json.dumps(value, ensure_ascii=False)}`" if value != "" else "empty"


# ── commands ────────────────────────────────────────────────────────────────────────────────────────────
_COMMANDS = """\
# Commands

The help of every command. A scenario is a YAML file, or the name of a shipped scenario. `netsim --install-completion`
makes your shell complete names, fields and folders. This page is written by
`python -m scenarios.cli.reference commands`.

| exit status of `run` and `audit` | meaning |
|---|---|
| 0 | done: no claim was shown not to hold, and every check of a paper agrees |
| 1 | an algorithm is refuted or unprotected, whether or not it claims a number, or membership is inferred better \
than its claim allows; or a paper's finding differs; or a program in an agent's place does not follow the algorithm. \
An algorithm marked `baseline: true` decides nothing |
| 2 | wrong input: the message has file, line, field, value, and what is allowed; nothing was run |
| 3 | no 1, but of a program in an agent's place it cannot be said whether it follows the algorithm; with `--strict` \
also where an algorithm without `baseline: true` is neither *proven* nor *consistent*: *underpowered*, *vacuous*, \
*undefined*, without a claim or an audit, or met by an active adversary |
| 70 | the run, or a variant, failed midway (an error of netsim or of an algorithm, and no finding), or an audit \
could not judge |
| 130 | interrupted by Ctrl-C: the same command with its folder continues |

The other commands use the same numbers, and say below which.

## Whose code a command runs

A scenario, or a results folder that has one, may name files of Python (`kind: python`). Whoever runs such a scenario
runs these files, with all that they may do on the machine: read them before you run a stranger's. Nothing else in a
scenario, a witness, a transcript or a results folder runs anything. A file `agent-I.errand`, which
`deploy --agents-on` makes for a run, is code to whoever starts an agent with it: take one from nobody.

| command | files that the scenario names |
|---|---|
| {runs} | are run, after a line on the standard error that names each, unless the command line names it itself |
| `check --no-code` | are not run: of a scenario that names any, only the fields are checked |
| `lab FILE` | is a notebook, which is run |
| `deploy --outside AGENT=PROGRAM` | are run, and so is the program that the option names |
| {looks} | are not run |
"""


def _commands() -> str:
    """The page of the command line."""
    looks = sorted({name for names in GROUPS.values() for name in names} - {*RUNS_CODE, "lab"})
    listed = [", ".join(f"`{name}`" for name in names) for names in (sorted(RUNS_CODE), looks)]
    head = _COMMANDS.replace("{runs}", listed[0]).replace("{looks}", listed[1])
    return "\n".join([head, *(_command(words, command) for words, command in _leaves((), get_command(app)))])


def _leaves(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that can be run, in alphabetical order, with the words that call it."""
    inner: Any = getattr(command, "commands", {})
    if not inner:
        yield words, command
    for name in sorted(inner):
        if not inner[name].hidden:
            yield from _leaves((*words, name), inner[name])


def _command(words: tuple[str, ...], command: Any) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    usage = " ".join(["netsim", *words, *(["[OPTIONS]"] if options else []), *map(_place, arguments)])
    examples = [line for line in (command.epilog or "").splitlines() if line.startswith("netsim ")]
    block = "\n".join([usage, *([""] if examples else []), *examples])
    plain = re.sub(r"[\b\f]\n?", "", inspect.cleandoc(command.help or "")).strip()  # marks for the terminal
    prose = [_code(one) if one.startswith("netsim ") else one for one in plain.split("\n\n")]
    lines = [f"## `{' '.join(words)}`", "", "\n\n".join(prose), "", _code(block), ""]
    rows = [(f"`{_place(one)}`", one.help or "", "") for one in arguments]
    for one in options:
        names = ", ".join(f"`{name}`" for name in [*one.opts, *one.secondary_opts])
        names += "" if one.is_flag else f" {one.metavar or one.name.upper()}"
        value = one.default
        none = one.is_flag or value is None or callable(value) or type(value).__name__ == "Sentinel"
        rows.append((names, one.help or "", "required" if one.required else "" if none else f"`{value}`"))
    if rows:
        lines += ["| | | default |", "|---|---|---|"]
        lines += [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    return "\n".join([*lines, ""])


def _place(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper())
    name = f"{name}…" if argument.nargs == -1 else name
    return name if argument.required else f"[{name}]"


def _code(text: str) -> str:
    return f"```text\n{text}\n```"


def _cell(text: str) -> str:
    """A cell of a table: one line, no bars, no markup of rich."""
    return re.sub(r"\[/?(?:bold|dim|italic)?\]", "", " ".join(text.split())).replace("|", "\\|")


# ── algorithms ──────────────────────────────────────────────────────────────────────────────────────────
_ALGORITHMS = """\
# Algorithms reference

Every algorithm as its file in `netsim/algorithms/` has it: update, source and how sure its reading is, conditions,
claim, and what is true of the claim. Start with [the algorithms](algorithms.md); fields of a scenario are in
[Scenario reference](scenario-reference.md), audits in [the ledger](ledger.md). `netsim show KIND` prints one. This
page is written by `python -m scenarios.cli.reference algorithms`.

The agents minimize Σ_i f_i(x) + n·r(x). W is the mixing matrix, L_i the Lipschitz constant of ∇f_i, L the largest, x̃
what an agent sent of x, its noise included, x⁺ the next x. Numbers in the margin are lines of the source.
"""
_OWN = ("python", "planted_fault")
"""Kinds without a published algorithm: code of one's own, and the faults of the gallery."""


def _algorithms() -> str:
    """The page of all algorithms."""
    found: dict[str, dict[str, type[Any]]] = {}
    for kind, model in models().items():
        of: Any = getattr(model, "of", None)
        if kind not in _OWN:
            found.setdefault(of.__module__, {})[kind] = of
    return "\n".join([_ALGORITHMS, *(_section_of(module, kinds) for module, kinds in sorted(found.items()))])


def _section_of(module: str, kinds: dict[str, type[Any]]) -> str:
    """What a file says of itself, and then each of its classes."""
    lines = ["## " + ", ".join(f"`{kind}`" for kind in kinds), "", _markdown(importlib.import_module(module).__doc__)]
    for kind, of in kinds.items():
        lines += ["", f"### `{of.__name__}`, kind `{kind}`", "", _markdown(inspect.getdoc(of))]
    return "\n".join([*lines, ""])


def _markdown(docstring: str | None) -> str:
    """A docstring whose blocks are indented by four, outside of which no star is an emphasis."""
    return "\n".join(_blocks(inspect.cleandoc(docstring or "").splitlines()))


def _blocks(lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.startswith("    ") else _plain_stars(line)


# ── results ─────────────────────────────────────────────────────────────────────────────────────────────
_MAPPINGS = (dict, Mapping)
_RESULTS = """\
# Results reference

Every key of the JSON documents and every column of the tables that netsim writes. Start with
[a results folder](results.md), which says what is in which file. This page is written by
`python -m scenarios.cli.reference results`; `netsim schema results` prints `results.json` as JSON Schema.

A part that was not requested or not reached is null. An infinite number is the text "inf" or "-inf" in JSON, and one
that is not defined "nan"; Parquet has the number itself. Whatever stands in several places is described at the first.
"""
DOCUMENTS: tuple[tuple[str, str, Kind], ...] = (
    ("results.json", "", Results),
    ("manifest.json", "", Manifest),
    ("netsim run --json", "Of `netsim audit --json` too. Wrong input and a failed run give a document with "
     "`exit_status`, `exit_reason` and the `error` (`type`, `message`), and of wrong input all `mistakes`: `file`, "
     "`line`, `field`, `value`, `problem`, `allowed`.", Document),
    ("attack-ALGORITHM.json", "", AttackReport),
    ("netsim attack --json", "", AttackReports),
    ("netsim compare --json", "", ComparisonResult),
    ("witness-ALGORITHM.json", "", WitnessFile),
)  # fmt: skip
_TABLES: tuple[tuple[str, str, tables.Columns], ...] = (
    ("algorithms.parquet", "A row for each algorithm of all variants.", {**tables.VARIANT, **tables.COLUMNS}),
    ("attacks.parquet", "A row for each attack on records, for membership and for a property.",
     {**tables.VARIANT, **tables.ATTACK_COLUMNS}),
    ("pairs.parquet", "A row for each ordered pair of agents, where pairs were priced.",
     {**tables.VARIANT, **tables.PAIR_COLUMNS}),
    ("estimates-ALGORITHM.parquet", "A row for each estimate and replica. A query without a row is not identifiable.",
     tables.GRADIENT_COLUMNS),
    ("records-ALGORITHM.parquet", "A row for each record, attack and replica.", tables.RECORD_COLUMNS),
)  # fmt: skip
_OTHERS: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    ("transcript-ALGORITHM.parquet", "Rows are in order of time. How many replicas there are is in the file's "
     "metadata, under `replicas`.", {**COLUMNS, **VALUES}),
    ("NAME.spool", "An Arrow IPC stream of a transcript in order of arrival, batches of links' rows, then doors'. It "
     "has the columns above and, in place of `value.NAME`, two more.", SPOOLED),
    ("metrics-ALGORITHM.parquet", "A row for each estimate.", {**metrics.COLUMNS, **metrics.MEASURED}),
    ("Measures", "x is the mean x̄ of the agents' estimates in a round, or in a walk the estimate just closed; "
     "consensus in a walk is that of the latest estimates of all agents that have closed one.", metrics.DEFINITIONS),
)  # fmt: skip


def _results() -> str:
    """The page of all keys and columns of a results folder."""
    seen: dict[Kind, str] = {}
    parts = [_RESULTS]
    for name, about, root in DOCUMENTS:
        found = list(described(root, seen))
        seen |= {kind: f"`{path}`" + ("" if root is Results else f" of `{name}`") for path, kind in found}
        parts.append(_table(f"## {name}", about or root.__doc__ or "", _HEADS, _rows(root, seen)))
        parts += [_keys(path, kind, seen) for path, kind in found]
    for name, about, columns in _TABLES:
        rows = [(f"`{one}`", f"`{sort}`", _escaped(words)) for one, (sort, words) in columns.items()]
        parts.append(_table(f"## {name}", about, ("column", "value", "meaning"), rows))
    for name, about, meanings in _OTHERS:
        rows = [(f"`{one}`", _escaped(words)) for one, words in meanings.items()]
        parts.append(_table(f"## {name}", about, ("name", "meaning"), rows))
    return "\n".join(parts)


_HEADS = ("key", "value", "meaning")


def _keys(path: str, kind: Kind, seen: Mapping[Kind, str]) -> str:
    refused = ", refused" * kind.__name__.endswith("Refused")
    return _table(f"### `{path}`{refused}", kind.__doc__ or "", _HEADS, _rows(kind, seen))


def _rows(kind: Kind, seen: Mapping[Kind, str]) -> Iterator[tuple[str, str, str]]:
    texts = field_texts(kind)

    def refer(annotation: Any) -> str | None:
        if annotation is NoneType:
            return "`null`"
        if annotation in (Setting, object):
            return "any value"
        if get_origin(annotation) in _MAPPINGS:
            inner = _either(get_args(annotation)[1], refer)
            return "mapping" if inner in ("", "any value") else f"mapping of names to {inner}"
        if annotation is Scenario:
            return "[scenario](scenario-reference.md)"
        if annotation in seen:
            return f"mapping, see {seen[annotation]}"
        return f"`{_place_of(annotation)}` of a scenario" if annotation in _SPECS else None

    for name, key, annotation in _fields(kind):
        yield f"`{key}`", _either(annotation, refer), _escaped(texts[name])


def _escaped(text: str) -> str:
    """A text in a cell of a table: no bars, and stars of optima are no emphasis."""
    return _plain_stars(text).replace("|", "\\|")


_SPECS = frozenset(model for _, model in places(Scenario))


def _fields(kind: Kind) -> Iterator[tuple[str, str, Any]]:
    """Of each field of a type its name, its key in the file, and its annotation."""
    if issubclass(kind, BaseModel):
        return ((name, name, field.annotation) for name, field in kind.model_fields.items())
    return base.keys(kind)


def described(root: Kind, seen: Iterable[Kind] = ()) -> Iterator[tuple[str, Kind]]:
    """Every type in one, once, but for those `seen`, and the path at which a document first holds it."""
    known = {root, *seen}
    ahead = list(_inner("", root))
    while ahead:
        path, one = ahead.pop(0)
        if one not in known:
            known.add(one)
            yield path, one
            ahead[:0] = _inner(path + ".", one)


def _inner(path: str, kind: Kind) -> Iterator[tuple[str, Kind]]:
    for _, key, annotation in _fields(kind):
        yield from ((path + key + marks, one) for marks, one in _kinds(annotation, ""))


def _kinds(annotation: Any, marks: str) -> Iterator[tuple[str, Kind]]:
    """The result types of an annotation, and the marks of lists and mappings around each."""
    if isinstance(annotation, type) and annotation not in _SPECS and _is_kind(annotation):
        yield marks, annotation
    origin = get_origin(annotation)
    more = "[]" if origin is tuple else ".NAME" if origin in _MAPPINGS else ""
    for argument in get_args(annotation):
        yield from _kinds(argument, marks + more)


def _is_kind(annotation: type) -> bool:
    return is_dataclass(annotation) or issubclass(annotation, BaseModel)


PAGES = {"algorithms": _algorithms, "commands": _commands, "results": _results, "scenario": _scenario}

if __name__ == "__main__":
    if sys.argv[1:2] not in [[name] for name in PAGES]:
        sys.exit(f"which page: {', '.join(PAGES)}?")
    print(PAGES[sys.argv[1]](), end="")
