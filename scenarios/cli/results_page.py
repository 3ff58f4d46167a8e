"""Reference page of a results folder, derived from its types: `python -m scenarios.cli.results_page`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from types import NoneType
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from netsim import metrics
from netsim.transcript.message import COLUMNS
from netsim.transcript.stored import SPOOLED, VALUES
from scenarios.cli.json_output import Document
from scenarios.files.models import places
from scenarios.results import base, tables
from scenarios.results.attacked import AttackReport, AttackReports
from scenarios.results.base import Setting
from scenarios.results.findings import ComparisonResult
from scenarios.results.tree import Manifest, Results
from scenarios.schema.reference import either, place_of, plain_stars, section
from scenarios.schema.scenario import Scenario
from scenarios.schema.spec import field_texts
from scenarios.stages.witness import WitnessFile

Kind = type[Any]
MAPPINGS = (dict, Mapping)
HEAD = """\
# Results reference

Every key of the JSON documents and every column of the tables that netsim writes. Start with
[a results folder](results.md), which says what is in which file. This page is written by
`python -m scenarios.cli.results_page`; `netsim schema results` prints `results.json` as JSON Schema.

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
TABLES: tuple[tuple[str, str, tables.Columns], ...] = (
    ("algorithms.parquet", "A row for each algorithm of all variants.", {**tables.VARIANT, **tables.COLUMNS}),
    ("attacks.parquet", "A row for each attack on records, for membership and for a property.",
     {**tables.VARIANT, **tables.ATTACK_COLUMNS}),
    ("pairs.parquet", "A row for each ordered pair of agents, where pairs were priced.",
     {**tables.VARIANT, **tables.PAIR_COLUMNS}),
    ("estimates-ALGORITHM.parquet", "A row for each estimate and replica. A query without a row is not identifiable.",
     tables.GRADIENT_COLUMNS),
    ("records-ALGORITHM.parquet", "A row for each record, attack and replica.", tables.RECORD_COLUMNS),
)  # fmt: skip
OTHERS: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    ("transcript-ALGORITHM.parquet", "Rows are in order of time. How many replicas there are is in the file's "
     "metadata, under `replicas`.", {**COLUMNS, **VALUES}),
    ("NAME.spool", "An Arrow IPC stream of a transcript in order of arrival, batches of links' rows, then doors'. It "
     "has the columns above and, in place of `value.NAME`, two more.", SPOOLED),
    ("metrics-ALGORITHM.parquet", "A row for each estimate.", {**metrics.COLUMNS, **metrics.MEASURED}),
    ("Measures", "x is the mean x̄ of the agents' estimates in a round, or in a walk the estimate just closed; "
     "consensus in a walk is that of the latest estimates of all agents that have closed one.", metrics.DEFINITIONS),
)  # fmt: skip


def page() -> str:
    """The page as text."""
    seen: dict[Kind, str] = {}
    parts = [HEAD]
    for name, about, root in DOCUMENTS:
        found = list(described(root, seen))
        seen |= {kind: f"`{path}`" + ("" if root is Results else f" of `{name}`") for path, kind in found}
        parts.append(section(f"## {name}", about or root.__doc__ or "", HEADS, _rows(root, seen)))
        parts += [_section(path, kind, seen) for path, kind in found]
    for name, about, columns in TABLES:
        rows = [(f"`{one}`", f"`{sort}`", _escaped(words)) for one, (sort, words) in columns.items()]
        parts.append(section(f"## {name}", about, ("column", "value", "meaning"), rows))
    for name, about, meanings in OTHERS:
        rows = [(f"`{one}`", _escaped(words)) for one, words in meanings.items()]
        parts.append(section(f"## {name}", about, ("name", "meaning"), rows))
    return "\n".join(parts)


HEADS = ("key", "value", "meaning")


def _section(path: str, kind: Kind, seen: Mapping[Kind, str]) -> str:
    refused = ", refused" * kind.__name__.endswith("Refused")
    return section(f"### `{path}`{refused}", kind.__doc__ or "", HEADS, _rows(kind, seen))


def _rows(kind: Kind, seen: Mapping[Kind, str]) -> Iterator[tuple[str, str, str]]:
    texts = field_texts(kind)

    def refer(annotation: Any) -> str | None:
        if annotation is NoneType:
            return "`null`"
        if annotation in (Setting, object):
            return "any value"
        if get_origin(annotation) in MAPPINGS:
            inner = either(get_args(annotation)[1], refer)
            return "mapping" if inner in ("", "any value") else f"mapping of names to {inner}"
        if annotation is Scenario:
            return "[scenario](scenario-reference.md)"
        if annotation in seen:
            return f"mapping, see {seen[annotation]}"
        return f"`{place_of(annotation)}` of a scenario" if annotation in _SPECS else None

    for name, key, annotation in keys(kind):
        yield f"`{key}`", either(annotation, refer), _escaped(texts[name])


def _escaped(text: str) -> str:
    """A text in a cell of a table: no bars, and stars of optima are no emphasis."""
    return plain_stars(text).replace("|", "\\|")


_SPECS = frozenset(model for _, model in places(Scenario))


def keys(kind: Kind) -> Iterator[tuple[str, str, Any]]:
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
    for _, key, annotation in keys(kind):
        yield from ((path + key + marks, one) for marks, one in _kinds(annotation, ""))


def _kinds(annotation: Any, marks: str) -> Iterator[tuple[str, Kind]]:
    """The result types of an annotation, and the marks of lists and mappings around each."""
    if isinstance(annotation, type) and annotation not in _SPECS and _is_kind(annotation):
        yield marks, annotation
    origin = get_origin(annotation)
    more = "[]" if origin is tuple else ".NAME" if origin in MAPPINGS else ""
    for argument in get_args(annotation):
        yield from _kinds(argument, marks + more)


def _is_kind(annotation: type) -> bool:
    return is_dataclass(annotation) or issubclass(annotation, BaseModel)


if __name__ == "__main__":
    print(page(), end="")
