"""How a command joins `netsim`, groups of its help, usage errors as JSON; arguments and options that commands share,
and what shells complete for them. Fast, because nothing is built."""

import errno
import inspect
import json
import math
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from difflib import get_close_matches
from functools import cache, partial, wraps
from glob import escape, glob
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias, cast

import typer
from rich import markup
from typer.core import TyperCommand, TyperGroup

from netsim.errors import ScenarioError, near, together
from netsim.files import path_of
from netsim.memory import check_jobs, limited
from scenarios.cli.narrow_help import NarrowHelp
from scenarios.files.folders import MANIFEST
from scenarios.render.terminal import (
    INTERRUPTED,
    USAGE,
    WRONG_INPUT,
    fail,
    print_place,
    prints_apart,
    problems,
    program,
    write_document,
)

if TYPE_CHECKING:
    from pydantic import JsonValue

GROUPS = {
    "First steps": ("list", "show", "run", "new", "audit"),
    "Experiments": ("attack", "views", "check", "sweep", "deploy", "lab", "challenge", "data"),
    "Results": ("trace", "report", "compare", "witness", "artifact"),
    "More": ("papers", "ledger", "certificate", "schema"),
}
"""Groups of the help with their commands, in this order."""
RUNS_CODE = ("run", "deploy", "check", "audit", "attack", "views", "sweep", "witness", "artifact")
"""Commands that run the files that a scenario names under `kind: python`; `check --no-code` does not."""
_USAGE: type[Exception] = typer.BadParameter.__mro__[1]
"""The error of a missing argument, an unknown option or a value of a wrong type, whichever click typer has."""


class _Group(NarrowHelp, TyperGroup):
    """All commands. With `--json` a mistake of usage is also a document on the standard output, like every other
    error; the message for people and the exit status (2) stay as they are."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  typer's own name
        return [name for names in GROUPS.values() for name in names]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note whether `--json` is among the arguments, before any is parsed."""
        ctx.meta["netsim.json"], ctx.meta["netsim.words"] = "--json" in args, list(args)
        try:
            return super().parse_args(ctx, args)
        except _USAGE as error:
            if _is_help(error):
                raise
            _misused(error, ctx)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except ScenarioError as error:  # where a command has nothing to add to it
            fail(error, as_json=bool(ctx.meta.get("netsim.json")))
        except KeyboardInterrupt:  # where a command has nothing to say of what it leaves
            problems.print("[yellow]Interrupted.[/]")
            sys.exit(INTERRUPTED)
        except _USAGE as error:
            if _is_help(error):
                raise
            _misused(error, ctx)


def _is_help(error: Exception) -> bool:
    """Whether nothing was asked for: the error is the help."""
    return type(error).__name__ == "NoArgsIsHelpError"


_LINE = "command line"
"""The field of a mistake of no option and no argument."""


def _misused(error: Exception, ctx: Any) -> NoReturn:
    """Print a mistake of usage as every other one is, with where to read on, and end."""
    mistake: Any = error
    parameter = getattr(error, "param", None)
    if parameter is None:
        field = str(getattr(error, "option_name", None) or _LINE)
    else:
        field = _called(parameter)
        if parameter.param_type_name != "option":
            mistake.param_hint = field  # in capitals, as everywhere
    message = str(mistake.message).replace("Value error, ", "")
    hint = _near(str(mistake.message)) or _whole(message, parameter, mistake.ctx or ctx)
    hint = hint or _as_option(mistake) or _as_setting(error, ctx.meta["netsim.words"])
    hint = hint or (_in_parts(ctx.meta["netsim.words"]) if "extra argument" in message else "")
    mistake.message = _no_number(message, parameter, ctx.meta["netsim.words"]) + hint
    why = str(mistake.format_message())
    problems.say(f"[bold red]{USAGE}[/]: {markup.escape(why)}")
    command = ctx if getattr(error, "ctx", None) is None else mistake.ctx
    called = command.command_path.removeprefix(command.find_root().command_path)
    print_place("Its options and an example:", f"{program()}{called} --help", to=problems)
    if ctx.meta.get("netsim.json"):
        one = {"file": None, "line": None, "field": field, "value": None, "problem": why, "allowed": ""}
        described = {"type": USAGE, "message": why, "mistakes": [one]}
        write_document({"exit_status": WRONG_INPUT, "exit_reason": why, "error": described})
    raise typer.Exit(WRONG_INPUT)


class _Command(NarrowHelp, TyperCommand):
    """One command. What no file can be called is an error of the option that has it, before anything else is done."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The arguments in capitals, as in the help below it and in the docs."""
        return [re.sub(r"[{}]", "", one).upper().replace("...", "…") for one in super().collect_usage_pieces(ctx)]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """A mistake that knows no command is of this one: an option without its value."""
        try:
            return super().parse_args(ctx, args)
        except _USAGE as error:
            mistake: Any = error
            mistake.ctx = mistake.ctx or ctx
            raise

    def invoke(self, ctx: Any) -> Any:
        words: list[str] = ctx.meta["netsim.words"]
        wrong: list[ScenarioError] = ctx.meta.get(_WRONG, [])
        for one in self.params:
            name, value = _called(one), ctx.params.get(str(one.name))
            if isinstance(value, Path):
                try:
                    if f"{name}=" in words or (name, "") in pairwise(words):
                        raise ScenarioError(name, "", "is empty", "the name of a file or a folder; . is this one")
                    ctx.params[str(one.name)] = path_of(value, name)
                except ScenarioError as error:
                    wrong.append(error)
        for one in self.params:
            if len(values := _values_of(one, words)) > 1:
                why = "is given several times"
                wrong.append(ScenarioError(_called(one), " and ".join(values), why, "one value"))
        if wrong:
            raise together(wrong)
        given: list[tuple[str, Any]] = [(_called(one), ctx.params.get(one.name)) for one in self.params]
        try:
            return super().invoke(ctx)
        except OSError as error:  # a text that is looked for as a file
            if error.errno not in _NO_NAMES:
                raise
            place = str(error.filename)
            texts = ((name, str(one)) for name, value in given for one in _each(value))
            name = next((name for name, text in texts if text and text in place), "path")
            why = f"no place of a file or folder ({error.strerror})"
            raise ScenarioError(name, place, why, "another name") from None


_WRONG = "netsim.wrong"
"""The key of the mistakes in values of options, of a command that is being read."""


def _note(context: typer.Context, error: ScenarioError) -> None:
    """Keep a mistake until all options are read, so that all are raised together."""
    context.meta.setdefault(_WRONG, []).append(error)


def _values_of(parameter: Any, words: Sequence[str]) -> list[str]:
    """All values of an option that takes one, as they are given."""
    if parameter.param_type_name != "option" or parameter.multiple or parameter.is_flag:
        return []
    found = [after for before, after in pairwise(words) if before in parameter.opts]
    parts = (one.partition("=") for one in words)
    return found + [value for name, equals, value in parts if equals and name in parameter.opts]


def _each(value: object) -> Sequence[object]:
    """The values of an argument that may be given several times."""
    return cast("list[object]", value) if isinstance(value, list) else [value]


_NO_NAMES = (errno.ENAMETOOLONG, errno.ELOOP)


def _called(parameter: Any) -> str:
    """An option or an argument as the help has it."""
    if parameter.param_type_name != "option":
        return parameter.metavar or parameter.name.upper()
    return max(parameter.opts, key=len)


def _near(message: str) -> str:
    """The nearest of the choices that a message lists, where a value is none of them."""
    value, apart, listed = message.partition(" is not one of ")
    written = value.removeprefix("Value error, ").strip("'").lower()
    found = get_close_matches(written, re.findall(r"'(.*?)'", listed), n=1)
    return f" Did you mean {found[0]!r}?" if apart and found else ""


def _as_option(mistake: Any) -> str:
    """The options of a command that an unknown one is a slip of the pen from, the nearest first."""
    options: Sequence[str] = getattr(mistake, "possibilities", None) or ()
    if options:
        mistake.possibilities = None  # which may only look like it
    if found := near(str(getattr(mistake, "option_name", "")), options):
        return f". Did you mean {' or '.join(found)}?"
    return ""


def _as_setting(error: Exception, words: Sequence[str]) -> str:
    """How a field or a parameter is set, where an option that a command has not is one, or may be one of code."""
    context: Any = getattr(error, "ctx", None)
    name = str(getattr(error, "option_name", "")).lstrip("-").replace("-", "_")
    if (
        context is None
        or not hasattr(error, "possibilities")
        or not any("-o" in one.opts for one in context.command.params)
    ):
        return ""
    known = name in _field_names(_schema()) or any(".py" in one or ":" in one for one in words)
    return f". A field of the scenario, or a parameter, is set by -o {name}=VALUE" if known else ""


def _field_names(node: "JsonValue | _Node") -> set[str]:
    """Names of all fields in a part of the schema."""
    inner = list(node.values()) if isinstance(node, Mapping) else node if isinstance(node, list) else []
    return set(_inside(node, "properties") if isinstance(node, Mapping) else ()).union(*map(_field_names, inner))


def _in_parts(words: Sequence[str]) -> str:
    """How a setting is written that the shell handed over in several words; "" where none was."""
    for name, (before, after) in zip(words, pairwise(words[1:]), strict=False):
        whole = re.sub(r" *= *", "=", " ".join(words[words.index(before, 1) :]).partition(" -")[0], count=1)
        if name in ("-o", "--option") and (("=" not in before and after[:1] == "=") or before.endswith("=")):
            return f". No blanks around =: -o {shlex.quote(whole)}"
        if name in ("-o", "--option") and any(before.count(a) > before.count(b) for a, b in ("{}", "[]")):
            return f". A value with blanks is put in quotes: -o {shlex.quote(whole)}"
    return ""


def _whole(message: str, option: Any, context: Any) -> str:
    """The whole number that a value such as 1e3 is to be, or what is allowed where the option does not take that."""
    with suppress(ValueError, OverflowError):
        words: list[str] = context.meta["netsim.words"]
        if "valid integer" in message and (number := float(_given(option, words))).is_integer():
            context.meta[_WRONG] = wrong = list[ScenarioError]()
            if option.callback is not None:
                option.callback(context, option, int(number))
            return f". Allowed: {wrong[0].allowed}" if wrong else f". Did you mean {int(number)}?"
    return ""


def _no_number(message: str, option: Any, words: Sequence[str]) -> str:
    """A message with the value, where it is that this is no number; else as it is."""
    match = re.fullmatch(r"Input should be a valid (integer|number), unable to parse .*", message)
    if match is None or not (value := _given(option, words)):
        return message
    point = value.replace(",", ".")
    hint = f". Did you mean {point}?" if match[1] == "number" and re.fullmatch(r"-?\d+,\d+", value) else ""
    return f"{value!r} is no {'whole ' * (match[1] == 'integer')}number{hint}"


def _given(option: Any, words: Sequence[str]) -> str:
    """The value of an option as the command line has it; "" where it is not there."""
    for word, after in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if option is not None and name in option.opts:
            return value if equals else after
    return ""


LIMITED = (*RUNS_CODE, "trace", "report", "compare", "certificate")
"""Commands that take `--memory`."""


def _limited(function: Callable[..., None]) -> Callable[..., None]:
    """The same command with the option `--memory`."""

    @wraps(function)
    def inside(*args: Any, memory: str | None = None, **options: Any) -> None:
        with limited(memory):
            function(*args, **options)

    kind = Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            show_default=False,
            help="Memory that may be used, such as 40GB. Default: what is free, and at least half of the machine's.",
        ),
    ]
    signature = inspect.signature(function, eval_str=True)
    memory = inspect.Parameter("memory", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
    made: Any = inside
    made.__signature__ = signature.replace(parameters=[*signature.parameters.values(), memory])
    made.__annotations__ = {**inspect.get_annotations(function, eval_str=True), "memory": kind}
    return inside


app = typer.Typer(
    cls=_Group,
    help="A laboratory for private decentralized optimization: simulate, eavesdrop, invert, audit.",
    epilog="Begin with: netsim list; then: netsim run private-descent. Every command's --help has an example.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def command(name: str, *examples: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command: its docstring is the help, in which a line break is one only between paragraphs."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        text = inspect.cleandoc(function.__doc__ or "")
        flowed = "\n\n".join(" ".join(one.split()) for one in text.split("\n\n"))
        end = "\n\n".join(["Example:" if len(examples) == 1 else "Examples:", *examples])
        panel = next(group for group, names in GROUPS.items() if name in names)
        shown = prints_apart()(function) if name in RUNS_CODE else function
        shown = _limited(shown) if name in LIMITED else shown
        return app.command(name, cls=_Command, rich_help_panel=panel, help=flowed, epilog=end)(shown)

    return register


_Node: TypeAlias = Mapping[str, "JsonValue"]
_Offer: TypeAlias = tuple[str, str]
"""A completion and its description."""
YAML = (".yaml", ".yml")
_SCHEMA = Path(__file__).parents[1] / "schema" / "scenario.schema.json"
_VALUES = ("number", "integer", "string", "boolean")
_MOST = 40
"""Results folders offered at most."""


# ── completions ─────────────────────────────────────────────────────────────────────────────────────────
def _scenarios(incomplete: str) -> list[_Offer]:
    """Shipped scenarios with their titles, YAML files, and folders on the way to others."""
    from scenarios.files.library import library  # needs a parser of YAML, which takes its time to load

    title = re.compile(r"^title: *(.*)$", re.MULTILINE)
    found = {name: title.search(text) for name, text in library().items()}
    titles = {name: one[1].strip("\"'") if one else "" for name, one in found.items()}
    there = [Path(one) for one in sorted(glob(f"{escape(incomplete)}*"))]
    files = [f"{one}/" if one.is_dir() else str(one) for one in there if one.is_dir() or one.suffix in YAML]
    return [one for one in titles.items() if one[0].startswith(incomplete)] + [(one, "") for one in files]


def _algorithms(incomplete: str) -> list[_Offer]:
    """Kinds of algorithms with the first sentences of their descriptions."""
    union = _forms(_inside(_schema(), "properties", "algorithms", "items"))
    found = {str(kind): str(form.get("description", "")) for form in union for kind in _words(form, "kind")}
    summaries = ((kind, " ".join(text.split()).partition(". ")[0]) for kind, text in sorted(found.items()))
    return [one for one in summaries if one[0].startswith(incomplete)]


def _data_sets(incomplete: str) -> list[str]:
    forms = _forms(_inside(_schema(), "$defs", "ProblemSpec", "properties", "data"))
    fetched = [form for form in forms if "download" in _inside(form, "properties")]
    return [str(name) for form in fetched for name in _words(form, "name") if str(name).startswith(incomplete)]


def _results(incomplete: str) -> list[str]:
    """Results folders, the latest first; where none fits, the shell offers files."""
    found = [one for depth in ("*", "*/*", "*/*/*") for one in Path("results").glob(f"{depth}/{MANIFEST}")]
    latest = sorted(found, key=lambda one: one.stat().st_mtime, reverse=True)[:_MOST]
    return [str(one.parent) for one in latest if str(one).startswith(incomplete)]


def _subjects(incomplete: str) -> list[_Offer]:
    return _scenarios(incomplete) + _algorithms(incomplete)


def _runs(incomplete: str) -> list[_Offer]:
    return _scenarios(incomplete) + [(one, "") for one in _results(incomplete)]


def _variants(context: typer.Context, incomplete: str) -> list[str]:
    from scenarios.files.library import variant_names

    return [name for name in variant_names(_tree(context)) if name.startswith(incomplete)]


def _settings(context: typer.Context, incomplete: str) -> list[str]:
    """FIELD=VALUE: one level of fields at a time, and the values of a field that has a list of them."""
    tree = _tree(context)
    path, equals, value = incomplete.partition("=")
    if equals:
        return [f"{path}={one}" for one in _values(tree, path) if one.startswith(value)]
    start = re.match(r"(.*[.\]])?", path)
    offered = [one for one in _level(tree, start[0] if start and start[0] else "") if one.startswith(path)]
    while len(offered) == 1 and not offered[0].endswith("="):
        offered = list(_level(tree, offered[0]))
    if len(offered) == 1:  # a second one, so that the shell puts no space after the sign
        offered += [offered[0] + one for one in _values(tree, offered[0].removesuffix("="))] or [offered[0] + "…"]
    return offered


# ── fields of the schema ────────────────────────────────────────────────────────────────────────────────
@cache
def _schema() -> _Node:
    return json.loads(_SCHEMA.read_text(encoding="utf-8"))


def _tree(context: typer.Context) -> _Node:
    """The scenario on the command line; empty where there is none that can be read."""
    from scenarios.files.library import library, plain_tree

    words = map(str, (*context.params.values(), *context.args))  # an option without its value leaves words unparsed
    given = next((word for word in words if word in library() or word.endswith(YAML)), "")
    try:
        return plain_tree(given)
    except (OSError, ValueError, ScenarioError):
        return {}


def _inside(node: "JsonValue | _Node", *keys: str) -> _Node:
    """The mapping at some keys; empty where there is none."""
    for key in keys:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node if isinstance(node, Mapping) else {}


def _words(form: _Node, *field: str) -> "list[JsonValue]":
    """The only values that a form may have, or its field."""
    node = _inside(form, *(key for name in field for key in ("properties", name)))
    listed = node.get("enum", [])
    return [node["const"]] if "const" in node else listed if isinstance(listed, list) else []


def _forms(node: _Node, given: "JsonValue | _Node" = None) -> list[_Node]:
    """The alternatives of a node, references resolved; of several kinds the given one alone."""
    if "$ref" in node:
        return _forms(_inside(_schema(), "$defs", str(node["$ref"]).rpartition("/")[2]), given)
    several = node.get("oneOf") or node.get("anyOf")
    if not isinstance(several, list):
        return [node]
    found = [form for one in several if isinstance(one, Mapping) for form in _forms(one, given)]
    tags = [(tag, given[tag]) for tag in ("kind", "name") if isinstance(given, Mapping) and tag in given]
    return [form for form in found if any(word in _words(form, tag) for tag, word in tags)] or found


def _at(tree: _Node, path: str) -> "tuple[list[_Node], JsonValue | _Node]":
    """The forms of a place, and what the scenario has there."""
    forms: list[_Node] = [_schema()]
    given: JsonValue | _Node = tree
    for key in re.findall(r"[^.\[\]]+", path):
        if key.isdigit():
            entries = cast("list[JsonValue]", given) if isinstance(given, list) else []
            given = entries[int(key)] if int(key) < len(entries) else None
            inner = [_inside(form, "items") for form in forms]
        else:
            given = given.get(key) if isinstance(given, Mapping) else None
            inner = [_inside(form, "properties", key) for form in forms]
        forms = [form for one in inner if one for form in _forms(one, given)]
    return forms, given


def _level(tree: _Node, prefix: str) -> Iterator[str]:
    """The paths one level below: `links.` has more below it, `links.loss=` is a field."""
    before = prefix if not prefix or prefix.endswith(".") else f"{prefix}."
    for name in dict.fromkeys(name for form in _at(tree, before)[0] for name in _inside(form, "properties")):
        forms, given = _at(tree, f"{before}{name}")
        plain = any("const" in form or "enum" in form or form.get("type") in _VALUES for form in forms)
        if any("items" in form for form in forms):
            yield from (f"{before}{name}[{k}]" for k in range(len(given) if isinstance(given, list) else 0))
            yield f"{before}{name}="
        elif any("properties" in form for form in forms) and (isinstance(given, Mapping) or not plain):
            yield f"{before}{name}."
        else:
            yield f"{before}{name}="


def _values(tree: _Node, path: str) -> list[str]:
    """The words or truth values that a field may have, or its default."""
    forms = _at(tree, path)[0]
    words = [word for form in forms for word in _words(form)]
    if any(form.get("type") == "boolean" for form in forms):
        words += [True, False]
    parent, _, name = path.rpartition(".")
    defaults = [_inside(form, "properties", name).get("default") for form in _at(tree, parent)[0]]
    words = words or [one for one in defaults if one is not None][:1]
    return [word if isinstance(word, str) else json.dumps(word) for word in words]


# ── arguments and options ───────────────────────────────────────────────────────────────────────────────
given = partial(typer.Option, show_default=False)
"""An option whose help says itself what holds without it."""
taken = partial(typer.Argument, show_default=False)
of_folder = partial(taken, autocompletion=_results)
of_run = partial(taken, metavar="WHAT", autocompletion=_runs)
of_variant = partial(given, autocompletion=_variants)
Scenario = Annotated[
    str, typer.Argument(help="A YAML file, or the name of a shipped scenario.", autocompletion=_scenarios)
]
Base = Annotated[
    str | None,
    given(
        "--from",
        metavar="SCENARIO",
        autocompletion=_scenarios,
        help="A shipped scenario, or a file, to extend: the new file has only the differences.",
    ),
]
OfTranscript = Annotated[
    str | None, given(help="The scenario of a transcript: a YAML file, or a shipped name.", autocompletion=_scenarios)
]
Subject = Annotated[
    str, taken(help="A shipped scenario, a YAML file, or the kind of an algorithm.", autocompletion=_subjects)
]
DataSet = Annotated[str, taken(help="A data set of `netsim data list`.", autocompletion=_data_sets)]
Algorithm = Annotated[
    str | None,
    given(
        metavar="KIND",
        autocompletion=_algorithms,
        help="The kind of the algorithm. Default: private_gradient_descent.",
    ),
]


def last(settings: list[str] | None) -> list[str] | None:
    """Settings as they are. Where two are of one field the last one counts, and that is said."""
    if not settings:
        return settings
    from scenarios.files.document import keys_of  # needs a parser of YAML, which takes its time to load
    from scenarios.render.terminal import remark

    found: dict[tuple[int | str, ...], str] = {}
    for path, equals, value in (one.partition("=") for one in settings):
        keys, now = tuple(keys_of(path)), value.strip()
        if equals and found.get(keys, now) != now:
            remark(f"-o {path.strip()} is set twice: {now!r} counts, and not {found[keys]!r}.")
        found[keys] = now
    return settings


Settings = Annotated[
    list[str] | None,
    given(
        "-o",
        "--option",
        metavar="FIELD=VALUE",
        help="Set a field of the scenario: -o links.loss=0.2 -o algorithms[0].rounds=50; repeatable.",
        autocompletion=_settings,
        callback=last,
    ),
]
Variant = Annotated[str | None, of_variant(help="Run only this variant of the scenario.")]
Out = Annotated[
    Path | None,
    given(
        help="The results folder: new, empty, or of a run of this scenario that was interrupted or failed, which is "
        "replaced; a finished one is replaced with --replace only. Default: results/NAME/DATE-TIME.",
        autocompletion=_results,
    ),
]
Replace = Annotated[
    bool, typer.Option("--replace", help="Replace finished results of this scenario in the folder --out.")
]


def bounded(least: float, most: float | None, *names: str, **options: Any) -> Any:
    """An option for numbers >= `least`, and <= `most` where there is one. Its help says so, and so does the error
    of another number, before anything else is looked at."""
    allowed = f">= {least:g}" if most is None else f"{least:.6g} … {most:.6g}"

    def check(context: typer.Context, parameter: typer.CallbackParam, value: "float | list[float] | None") -> Any:
        for one in value if isinstance(value, list) else [] if value is None else [value]:
            if not least <= one <= (math.inf if most is None else most):
                share = most is not None and one >= 5 and least <= one / 100 <= most <= 1
                why = f"out of range; did you mean {one / 100:g}?" if share else "out of range"
                _note(context, ScenarioError(max(parameter.opts, key=len), one, why, allowed))
        return value

    words = f"{options.pop('help')} Allowed: {allowed}."
    options.setdefault("show_default", False)
    return typer.Option(*names, callback=check, help=words, **options)


def _some(context: typer.Context, jobs: int) -> int:
    try:
        check_jobs(jobs, "--jobs")
    except ScenarioError as error:
        _note(context, error)
    return jobs


processes = partial(typer.Option, callback=_some)
Jobs = Annotated[int, processes(help="Processes that share an audit's simulations; -1: one per core.")]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Exit with 3 unless every algorithm but baselines is proven, or consistent: a gate that lets nothing "
        "through of which too little is known.",
    ),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", help="Print all that was checked, too: conditions, the search, the games.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document; all else goes to the standard error.")]


# ── what commands that run something have in common ─────────────────────────────────────────────────────
def repeated(verb: str, scenario: str, settings: list[str], variant: str | None = None) -> str:
    """The command line that repeats a command."""
    chosen = [] if variant is None else [f"--variant {shlex.quote(variant)}"]
    return " ".join([verb, shlex.quote(scenario), *(f"-o {shlex.quote(one)}" for one in settings), *chosen])


def refuse(option: str, given: object, why: str, allowed: str) -> None:
    """Raise a `ScenarioError` for an option that is given where it has no meaning."""
    if given:
        raise ScenarioError(option, given, why, allowed)


def dated_folder(name: str, before: str = "") -> Path:
    """results/NAME/DATE-TIME: where results go unless a folder is given."""
    return Path("results") / name / datetime.now().strftime(f"{before}%Y%m%d-%H%M%S")
