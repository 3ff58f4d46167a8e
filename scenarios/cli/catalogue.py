"""Commands `netsim list`, `show` and `schema`: all that netsim knows by name, a first scenario of each algorithm, and
the JSON Schemas of its files."""

import importlib
import inspect
import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args, get_origin

import typer
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from netsim.errors import ScenarioError, meant
from scenarios.cli.data import print_sets, sets
from scenarios.cli.options import YAML, AsJson, Settings, Subject, command, given, taken
from scenarios.files.folders import written
from scenarios.render.tables import print_below
from scenarios.render.terminal import (
    console,
    entry,
    placed,
    print_place,
    reflowed,
    write,
    write_document,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from netsim.algorithms import Algorithm
    from netsim.claims import Claim
    from scenarios.schema.load import Kind as FileKind

Kind = StrEnum(
    "Kind", ["scenarios", "algorithms", "attacks", "problems", "data", "topologies", "codecs", "faults", "ledger"]
)
_HEADS = {
    "algorithms": ("kind", "description", "claim"),
    "attacks": ("attack", "needs", "source"),
    "problems": ("kind", "loss of an agent"),
    "topologies": ("kind", "description"),
    "codecs": ("kind", "description"),
    "faults": ("fault", "lesson"),
    "ledger": ("entry", "algorithms"),
}
"""Heads of the columns of a list; scenarios and data sets are printed in forms of their own."""
_RELEASES = 20
_VALUES: Mapping[str, object] = {
    "rounds": 40,
    "per_agent": _RELEASES,
    "ratio": 0.95,
    "clip": {"bound": 1.0},
    "domain": {"kind": "ball", "radius": 10.0},
    "low": 0.0,
    "high": 1.0,
}
"""Values in a starter for fields that have to be given, or without which a walk does not end."""
NOISE = ("scale", "scale_x", "scale_y", "scale_w", "scale_e", "scale_v", "stddev")
"""Fields for the amount of noise; default: 0."""
_PROBLEMS = {
    "logistic": "mean of log(1 + exp(−b aᵀx)), two classes",
    "ridge": "mean of (aᵀx − b)²/2, with an ℓ2 penalty",
    "lasso": "mean of (aᵀx − b)²/2, with an ℓ1 term",
    "nonconvex_logistic": "logistic, with a bounded penalty that is not convex",
    "poisson": "mean of e^{aᵀx} − b aᵀx, of counts, with means below a given rate",
    "sensors": "sum of (aᵀx − b)² of sensors that measure one point",
    "softmax": "mean of −log p_b, p = softmax(Wa + w), two classes or more",
    "mlp": "the same of a dense network: not convex, no smoothness, no proximal map",
}


_TITLE = 24
"""Columns that each text beside a name should have."""


_BEGIN = "to begin with"
FIRST = (
    "private-descent", "eavesdropper-on-dp-recal", "lossy-tap", "curious-neighbor", "images-from-dp-recal",
    "membership-on-dp-recal", "one-budget", "price-of-a-view", "man-in-the-middle", "fault-reused-seed",
)  # fmt: skip
"""Scenarios that stand first in the list: a run, taps, what is learned, what it costs, what goes wrong."""


@command("list", "netsim list", "netsim list algorithms")
def _list(
    kind: Annotated[
        Kind | None, taken(help="What to list. Default: the scenarios (with --json: everything).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the scenarios, algorithms, attacks, problems, data sets, … that come with netsim.

    Exit status: 0 done, 2 wrong input.
    """
    from scenarios.files.library import shipped

    if as_json:
        wanted = [str(one) for one in Kind if kind in (None, one)]
        write_document({name: [row.plain for row in _rows(name)] for name in wanted})
        return
    chosen = kind or Kind.scenarios
    if chosen == Kind.data:
        print_sets()
    elif chosen == Kind.scenarios:  # names and titles, read from the files: nothing is built for that
        found = shipped()
        width = max(len(one.name) for one in found)
        found.sort(key=lambda one: FIRST.index(one.name) if one.name in FIRST else len(FIRST))
        for group, members in groupby(found, key=lambda one: _BEGIN if one.name in FIRST else one.group):
            several = [(one, f" [dim]({len(one.variants)} variants)[/]" if one.variants else "") for one in members]
            rows = [(one.name, escape(one.title) + note) for one, note in several]
            _print_group(group[:1].upper() + group[1:], rows, width)
        console.print(
            "Run one with [bold]netsim run NAME[/], read it with [bold]netsim show NAME[/].", highlight=False
        )
    else:
        listed = list(_rows(chosen))
        width = max(len(row.cells[0]) for row in listed)
        for group, some in groupby(listed, key=lambda row: row.group):
            _print_group(group, [[*map(escape, row.cells)] for row in some], width, _HEADS[chosen])
    others = ", ".join(str(one) for one in Kind if one != chosen)
    console.print(f"\n[bold]netsim list KIND[/] also lists: {others}.", highlight=False)


def _print_group(name: str, rows: Sequence[Sequence[str]], width: int, heads: Sequence[str] = ()) -> None:
    """Rows of marked-up cells below their heads, if any, the first column `width` wide; where the others would have
    little room, below it, each after its head where there are several."""
    if name:
        console.print(f"[bold cyan]{escape(name)}[/]", highlight=False)
    others = len(rows[0]) - 1
    if width + others * _TITLE > console.width:
        marks = [f"[dim]{head}:[/] " if others > 1 else "" for head in heads[1:]] or [""] * others
        for first, *cells in rows:
            print_below(first, [mark + cell for mark, cell in zip(marks, cells, strict=True)], console)
        console.print()
        return
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=bool(heads))
    for k, head in enumerate(heads or [""] * (others + 1)):
        table.add_column(head, no_wrap=k == 0, style=None if k else "bold", min_width=None if k else width)
    for row in rows:
        table.add_row(*row)
    console.print(Padding(table, (0, 0, 1, 2)) if name else table, highlight=False)


@command("show", "netsim show lossy-tap", "netsim show lossy-tap --resolved", "netsim show dp_recal")
def _show(
    name: Subject,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Print a scenario with every default, and without `extends`.")
    ] = False,
    option: Settings = None,
) -> None:
    """Print a scenario, to start one of your own, or describe an algorithm: its update, parameters, and claim.

    A shipped scenario is printed as it is written, with its variants in a comment at the end. A file that extends
    another is printed with the fields that it takes from there.

    Exit status: 0 done, 2 wrong input.
    """
    from scenarios.files.library import library

    if name in library() or Path(name).is_file() or "/" in name or name.endswith(YAML):
        text = _scenario(name, resolved, option or [])
    else:
        text = _algorithm(name)
    write(text.rstrip("\n"))


def _scenario(name: str, resolved: bool, settings: list[str]) -> str:
    """A shipped scenario; or a file as it is, and where it extends another, with all that it takes from there."""
    from scenarios.files.document import Fields, place_of
    from scenarios.files.library import EXTENDS, library, plain_tree, variant_names
    from scenarios.files.models import dump
    from scenarios.schema.load import MARK, load_scenario, schema_line, with_schema_line

    if resolved or settings:
        note = f"# {name}{''.join(f' -o {shlex.quote(one)}' for one in settings)}, with every default.\n"
        return schema_line() + note + dump(load_scenario(name, settings).scenario, full=True)
    if name in library():
        text, names = library()[name], variant_names(plain_tree(name))
        text = with_schema_line(text) if text.startswith(MARK) else text  # it holds wherever the text is written to
        return text + (f"# {len(names)} variants: {', '.join(names)}\n" if names else "")
    located = load_scenario(name)
    if EXTENDS not in located.tree:
        return Path(name).read_text(encoding="utf-8-sig")

    def own(tree: Any, before: str = "") -> Iterator[str]:
        """The fields that stand in this file, as dotted paths; of a mapping that it says in part, those in it."""
        for key, value in tree.items():
            if isinstance(value, Fields) and any(place.file != name for place in value.places.values()):
                yield from own(value, f"{before}{key}.")
            elif key != EXTENDS and (place := place_of(tree, key)) is not None and place.file == name:
                yield f"{before}{key}"

    base = located.tree[EXTENDS]
    note = (
        f"# {name} extends {base}: all that it comes to, without what is at its default.\n"
        f"# The file itself says: {', '.join(own(located.tree)) or 'nothing else'}. The rest is from {base}.\n"
    )
    return schema_line() + note + dump(located.scenario)


def _algorithm(kind: str) -> str:
    from scenarios.files.library import library

    known = models()
    if kind not in known:
        hint = meant(kind.lower(), [*library(), *known])
        allowed = "a path, a scenario of `netsim list`, or an algorithm of `netsim list algorithms`"
        raise ScenarioError("name", kind, f"no shipped scenario, no file, and no algorithm{hint}", allowed)
    model = known[kind]
    algorithm, claim = _built(kind)
    lines = [*placed(model.model_fields["name"].get_default() or kind, f"(kind: {kind})"), ""]
    described = "" if algorithm is None else _about(type(algorithm))
    lines += [*reflowed(described), ""] if described else []
    said = {" ".join(one.split()) for one in described.split("\n\n")}
    paragraphs = inspect.cleandoc(model.__doc__ or "").split("\n\n")
    about = reflowed("\n\n".join(one for one in paragraphs if " ".join(one.split()) not in said), "  ")
    lines += ["In a scenario", "", *about, *[""] * bool(about)]
    parameters = list(_parameters(model))
    width = max(len(name) for name, _, _ in parameters)
    for name, required, default in parameters:
        said = "required" if required else json.dumps(default, ensure_ascii=False)
        lines += entry(f"{name:<{width}}", said)
    lines += ["", *reflowed(f"Claim: {'none' if claim is None else f'{claim.source} ({claim.norm})'}")]
    if algorithm is not None:
        names = _inversions(algorithm)
        lines += reflowed(f"Attacks on its gradients, in this order: {', '.join(names)}") if names else []
        lines += placed("Code:", f"{type(algorithm).__module__}.{type(algorithm).__name__}")
        lines += placed("Start with:", f"netsim new mine --algorithm {kind}")
    return "\n".join(lines)


# ── algorithms and their starters ───────────────────────────────────────────────────────────────────────
def models() -> "dict[str, type[BaseModel]]":
    """Every algorithm's model by the `kind` of a scenario, by name."""
    from scenarios.schema.own import AlgorithmSpec

    return dict(sorted(_kinds(AlgorithmSpec), key=lambda pair: pair[0]))


def starter(kind: str) -> dict[str, object]:
    """The fields of a scenario that runs such an algorithm, with noise where it takes some."""
    fields = models()[kind].model_fields
    found: dict[str, object] = {"kind": kind}
    for name, one in fields.items():
        if name != "kind" and name in _VALUES and (one.is_required() or name in ("per_agent", "clip")):
            found[name] = _VALUES[name]
        elif name != "kind" and one.is_required() and get_origin(one.annotation) is Literal:
            found[name] = get_args(one.annotation)[0]
    if "target" in fields:
        return found | {"target": {"epsilon": 4.0}}
    return found | {name: 1.0 for name in NOISE if name in fields and not fields[name].get_default()}


@cache
def _built(kind: str) -> "tuple[Algorithm | None, Claim | None]":
    """The algorithm as its starter makes it, on a small complete graph, and its claim; None for code of one's own."""
    from netsim.claims import Adjacency
    from netsim.problems import build, load
    from netsim.topology import complete
    from scenarios.schema.algorithms import Ground

    model = models()[kind]
    if "path" in model.model_fields:
        return None, None
    data = load("synthetic", records=12, dimension=2, norm_bound=1.0)
    adjacency = Adjacency(1.0, "a gradient that moves by a constant vector", 0.0, constant=True)
    ground = Ground(build("logistic", data.split(4), ridge=0.5), complete(4), adjacency)
    spec: Any = model.model_validate({name: value for name, value in starter(kind).items() if name != "target"})
    algorithm = spec.build(ground)
    releases = algorithm.horizon or _RELEASES
    return algorithm, algorithm.claim(adjacency, ground.setting(releases), spec.delta or 0.0)


# ── rows of lists ───────────────────────────────────────────────────────────────────────────────────────
class _Row(NamedTuple):
    """A line of a list: its fields for machines, its cells for people, and the heading that it stands under."""

    plain: dict[str, object]
    cells: tuple[str, ...] = ()
    group: str = ""


def _rows(kind: str) -> Iterator[_Row]:
    """The rows of a list. A scenario has `data_present`: None where a variant names other data."""
    from netsim.algorithms.planted_faults import FAULTS
    from scenarios.files.library import shipped
    from scenarios.results.tree import plain
    from scenarios.schema.world import MessageSpec, TopologySpec

    match kind:
        case "scenarios":
            here = {one.name: one.present for one in sets()}
            yield from (_Row({**asdict(one), "data_present": here.get(one.data or "digits")}) for one in shipped())
        case "data":
            yield from (_Row(plain(one)) for one in sets())
        case "algorithms":
            yield from _algorithm_rows()
        case "attacks":
            yield from _attack_rows()
        case "problems":
            yield from (_Row({"name": name, "loss": loss}, (name, loss)) for name, loss in _PROBLEMS.items())
        case "faults":
            for one in FAULTS:
                fields = {"name": one.__name__, "what": _first(one.__doc__), "lesson": one.lesson}
                yield _Row({**fields}, (one.__name__, one.lesson))
        case "ledger":
            from scenarios.certificate.ledger import ENTRIES

            for one in ENTRIES:
                scenario = one.located.scenario
                names = [algorithm.name for algorithm in scenario.algorithms]
                fields = {"name": one.name, "title": scenario.title, "algorithms": names}
                yield _Row({**fields}, (one.name, "; ".join(names)))
        case _:
            union = TopologySpec if kind == "topologies" else MessageSpec.model_fields["codec"].annotation
            for name, model in _kinds(union):
                what, parameters = _first(model.__doc__), [field for field in model.model_fields if field != "kind"]
                yield _Row({"name": name, "what": what, "parameters": parameters}, (name, what))


def _algorithm_rows() -> Iterator[_Row]:
    """Every `kind` of a scenario; class and module are null for code of one's own."""
    for kind, model in models().items():
        parameters = [dict(zip(("name", "required", "default"), one, strict=True)) for one in _parameters(model)]
        found: dict[str, object] = {"name": kind, "kind": kind, "title": model.model_fields["name"].get_default()}
        found |= {"parameters": parameters, "class": None, "module": None, "update": _first(model.__doc__)}
        found |= {"claim": None, "attacks": []}
        algorithm, claim = _built(kind)
        if algorithm is not None:
            found |= {"class": type(algorithm).__name__, "module": type(algorithm).__module__}
            found |= {"update": _first(_about(type(algorithm))), "attacks": _inversions(algorithm)}
        if claim is not None:
            found["claim"] = {"source": claim.source, "norm": claim.norm}
        yield _Row(found, (kind, str(found["update"]), "none" if claim is None else claim.source))


def _attack_rows() -> Iterator[_Row]:
    """On gradients, by inversions; then on records (the kinds of `attacks.reconstruct`) and on facts (membership and
    properties), by their words in a scenario."""
    from attacks.inference import inversions_of
    from attacks.reconstruction.informed import PropertyInference
    from attacks.reconstruction.membership import Membership
    from scenarios.schema.attacks import KINDS as RECORDS

    def row(on: str, name: str, kind: str | None, what: str, needs: list[str], source: str, tried: object) -> _Row:
        fields: dict[str, object] = {"name": name, "kind": kind, "on": on, "what": what, "needs": needs}
        cells = (kind or name, ", ".join(needs) or "nothing else", source)
        return _Row(fields | {"source": source, "algorithms": tried}, cells, f"On {on}")

    tried: dict[Callable[..., object], list[str]] = {}
    for kind in models():
        if (algorithm := _built(kind)[0]) is not None:
            for inversion in inversions_of(algorithm):
                tried.setdefault(inversion, []).append(kind)
    most = max(map(len, tried.values()))
    for inversion, kinds in sorted(tried.items(), key=lambda pair: -len(pair[1])):
        needs = "messages that are affine in the gradients" if len(kinds) == most else f"one of {', '.join(kinds)}"
        yield row("gradients", inversion.__name__, None, _first(_about(inversion)), [needs], "this project", kinds)
    facts = {"membership": Membership(), "property": PropertyInference({})}
    for kind, one in ({kind: made() for kind, made in RECORDS.items()} | facts).items():
        words = {
            f"a {' or '.join(one.needs.models)} model": one.needs.models,
            "one record an agent": one.needs.one_record,
            f"{one.needs.rounds} gradients": one.needs.rounds > 1,
            "the law of the noise": one.needs.law,
            "public labels": one.needs.labels,
            "a prior from public records": one.needs.prior,
            "images": one.needs.image,
            "all records but one": one.needs.others,
        }
        needed = [text for text, there in words.items() if there]
        on = "records" if kind in RECORDS else "facts"
        yield row(on, one.name, kind, _first(_about(type(one))), needed, one.source, None)


def _inversions(algorithm: "Algorithm") -> list[str]:
    """Inversions that are tried on it, in this order."""
    from attacks.inference import inversions_of

    return [one.__name__ for one in inversions_of(algorithm)]


def _parameters(model: "type[BaseModel]") -> Iterator[tuple[str, bool, Any]]:
    """Name, whether it has to be given, and default (else None) of every field but kind and name."""
    for name, one in model.model_fields.items():
        if name not in ("kind", "name"):
            value: Any = None if one.is_required() else one.get_default(call_default_factory=True)
            yield name, one.is_required(), value.model_dump() if hasattr(value, "model_dump") else value


def _kinds(annotation: Any) -> "Iterator[tuple[str, type[BaseModel]]]":
    """The models of a union, each by the words of its `kind`."""
    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from ((kind, annotation) for kind in get_args(annotation.model_fields["kind"].annotation))
    for argument in get_args(annotation):
        yield from _kinds(argument)


def _about(made: Any) -> str:
    """The documentation of the module that has an algorithm or an attack; or of a module with several, its own and
    then, without the first paragraph, the module's, which is of all."""
    module = importlib.import_module(made.__module__)
    shared = inspect.cleandoc(module.__doc__ or "")
    if not isinstance(made, type) or sum(_is_listed(one, module.__name__) for one in vars(module).values()) < 2:
        return shared
    return "\n\n".join(filter(None, (inspect.getdoc(made), shared.partition("\n\n")[2])))


def _is_listed(one: Any, module: str) -> bool:
    """Whether this is an algorithm, or an attack with its needs, of the module; faults have a list of their own."""
    public = isinstance(one, type) and one.__module__ == module and not one.__name__.startswith("_")
    algorithm = hasattr(one, "horizon") and not hasattr(one, "lesson") and not inspect.isabstract(one)
    return public and (hasattr(one, "needs") or algorithm)


def _first(text: str | None) -> str:
    """The first sentence, in one line."""
    return " ".join((text or "").split("\n\n")[0].split()).partition(". ")[0].removesuffix(".")


# ── schemas ─────────────────────────────────────────────────────────────────────────────────────────────
@command("schema", "netsim schema --out scenario.schema.json")
def _schema(
    what: Annotated[
        Literal["scenario", "sweep", "results"],
        typer.Argument(help="Whose schema: a file's, or that of results.json."),
    ] = "scenario",
    sweep: Annotated[bool, typer.Option("--sweep", help="The same as WHAT sweep.")] = False,
    out: Annotated[
        Path | None, given(help="Write it to this file, and print the line that a scenario names it by.")
    ] = None,
    where: Annotated[
        bool, typer.Option("--where", help="Print the path of the installed schema file, for an editor's settings.")
    ] = False,
) -> None:
    """Print the JSON Schema of a scenario file or a sweep file, by which editors complete and check files, or of
    results.json.

    A file names its schema in its first line, as every shipped file does, and everything that `netsim show` prints.

    Exit status: 0 done, 2 wrong input.
    """
    from scenarios.schema.load import MARK, schema_file

    name: FileKind | None = None if what == "results" else "sweep" if sweep else what
    if where and name is not None:
        write(str(schema_file(name)))
        return
    text = _schema_text(name)
    if out is None:
        write(text.removesuffix("\n"))
        return
    with written(out) as draft:
        draft.write_text(text, encoding="utf-8")
    if name is not None:
        print_place("First line of a file beside it:", f"{MARK}{out.name}")


def _schema_text(kind: "FileKind | None") -> str:
    """The schema of such a file; None: that of results.json."""
    from scenarios.results.tree import schema as results_schema
    from scenarios.schema import json_schema
    from scenarios.sweep.points import json_schema as sweep_schema

    found = results_schema() if kind is None else sweep_schema() if kind == "sweep" else json_schema()
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"
