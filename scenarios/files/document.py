"""YAML 1.2 as mappings, lists and values that know their file and line; fields by dotted path. And written again.

Nothing in a file can run anything.
"""

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from io import StringIO
from typing import Any, NamedTuple, cast

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from netsim.errors import ScenarioError, did_you_mean, meant, together, written

WIDE = 110
"""Columns of a line, as far as texts and numbers let it."""
BARE = re.compile(r"[^\W_]")
"""How a text begins that may stand without quotes."""
OLD_TRUTHS = ("yes", "no", "on", "off")
"""Texts that older versions of YAML read as truth values."""
PATH = re.compile(r"[^.\[\]]+(?:\.[^.\[\]]+|\[[^.\[\]]+\])*")
"""A dotted path of a field, with the entries of lists in brackets."""
Key = str | int
Tree = Mapping[str, Any]
"""Fields of a file, or of a mapping in it."""


class Place(NamedTuple):
    """A line of a file, from 1."""

    file: str
    line: int


class Fields(dict[str, Any]):
    """A mapping of a file; `places` says where each key stands, as far as it stands in a file."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[Key, Place] = {}


class _Entries(list[Any]):
    """A list of a file; `places` says where each entry begins."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[Key, Place] = {}


def plain(tree: Any) -> Any:
    """The same as Python's own mappings and lists."""
    if isinstance(tree, Mapping):
        return {str(k): plain(v) for k, v in cast("Mapping[Any, Any]", tree).items()}
    if isinstance(tree, list):
        return [plain(v) for v in cast("list[Any]", tree)]
    return tree


def place_of(node: Any, key: Key) -> Place | None:
    """Place of a key or an entry; None for one that is in no file."""
    places: dict[Key, Place] = getattr(node, "places", {})
    return places.get(key)


def keys_of(field: str) -> list[Key]:
    """The keys and list indices of a dotted path."""
    return [int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", field)]


def dotted(keys: Sequence[Key]) -> str:
    """The path of these keys and indices."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".")


OF_PATH = re.compile(r"no path of a field|there is no |\S+ is (no entry of the list|a list)")
"""How the problem of a path begins that is none or leads nowhere, whatever the value."""


def put(tree: Any, path: str, value: Any, place: Place | None = None) -> None:
    """Set the field at a dotted path, as though it stood at that place; new mappings where none is.

    `[*]` stands for every entry of a list: `algorithms[*].rounds`. You get a `ScenarioError` for a path that is none,
    or leads nowhere.
    """
    keys = keys_of(path)
    if not PATH.fullmatch(path) or not keys or isinstance(keys[0], int):
        near = did_you_mean([dotted(keys)] if keys and isinstance(keys[0], str) else [])
        form = "such as topology.agents, algorithms[0].step"
        raise ScenarioError(path or "set", value, f"no path of a field{near}", form)
    around, every, _ = path.partition("[*]")
    if every:
        entries: Any = tree
        for depth, key in enumerate(keys := keys_of(around)):
            entries = _inside(entries, key, path, keys[: depth + 1], value, new=True)
        for index in range(len(cast("list[Any]", entries)) if isinstance(entries, list) else 1):
            put(tree, path.replace("[*]", f"[{index}]", 1), value, place)
        return
    node = tree
    for depth, key in enumerate(keys[:-1]):
        if isinstance(key, str) and isinstance(node, Mapping) and key not in node:
            if isinstance(keys[depth + 1], int):
                near = meant(key, map(str, cast("Tree", node)))
                raise ScenarioError(
                    path, value, f"there is no list {dotted(keys[: depth + 1])}{near}", "a path in the file"
                )
            _set(node, key, Fields(), place)
        node = _inside(node, key, path, keys[: depth + 1], value)
    _inside(node, keys[-1], path, keys, value, new=True)
    _set(node, keys[-1], copy.deepcopy(value), place)


def _inside(node: Any, key: Key, path: str, keys: Sequence[Key], value: Any, new: bool = False) -> Any:
    """Value at a key; `new`: it need not be there."""
    where, around = dotted(keys), dotted(keys[:-1])
    if isinstance(node, list):
        entries = cast("list[Any]", node)
        length = len(entries)
        if isinstance(key, int) and key < length:
            return entries[key]
        last = f" … {around}[{length - 1}]" if length > 1 else ""
        allowed = f"{around}[0]{last}" if length else f"{around}: [...]"
        names = [cast("Tree", one).get("name") if isinstance(one, Mapping) else None for one in entries]
        which = did_you_mean([f"{around}[{names.index(key)}]"]) if key in names else ": say which entry"
        why = f"{where} is no entry of the list" if isinstance(key, int) else f"{around} is a list{which}"
        raise ScenarioError(path, value, why, allowed)
    if isinstance(node, Mapping) and isinstance(key, str):
        return cast("Tree", node).get(key) if new else cast("Tree", node)[key]
    kind = (
        "a mapping, and no list" if isinstance(node, Mapping) else "no mapping" if isinstance(key, str) else "no list"
    )
    raise ScenarioError(path, value, f"there is no {where}: {around} is {kind}", "a path in the file")


def _set(node: Any, key: Key, value: Any, place: Place | None) -> None:
    node[key] = value
    places: dict[Key, Place] = getattr(node, "places", {})
    if place is None:
        places.pop(key, None)
    else:
        places[key] = place


MOST = 1_000_000
"""Values of a file, aliases spelled out: more would be a file that means to fill the memory."""
TRUTHS = dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
CONSTANTS = dict.fromkeys(("", "~", "null", "Null", "NULL")) | TRUTHS
INTEGER, BASED = re.compile(r"[-+]?[0-9]+"), re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
DIGITS = 300
"""A whole number with more is none that anything can be computed with."""
HALF = re.compile("[\ud800-\udfff]")
ZERO_FIRST = re.compile(r"[-+]?0[0-9]+")
DEEP = re.compile(r"(?:[\[{]\s*){50}")
"""So many openings in a row: no file that is meant has them, and the scanner takes the square of their number."""
STANDARD = "tag:yaml.org,2002:"
KNOWN = ("str", "int", "float", "bool", "null", "map", "seq", "timestamp", "merge")
"""Tags of YAML's own."""
TAB = "a tab, where only spaces may be", "use spaces: YAML is indented with spaces, two a level, never with tabs"
DEEPER = (
    "wrong indentation: this line is indented deeper than the line above, which has a value already",
    "fields of one mapping begin in the same column",
)
NO_SPACE = re.compile(r"\s*(?:- +)?([A-Za-z_]\w*)(?::|\s*(=)\s*)(\S.*)")
INDENTED = "wrong indentation: the fields of a file begin in the first column", "no spaces before them"
WORDS = {
    "but found another document": ("a second document begins here", "one document: no line of --- or ..."),
    "mapping values are not allowed here": ("a second colon in one line", "text with a colon and a space in quotes"),
    "could not find expected ':'": ("neither a field nor a part of one", "FIELD: VALUE, with a colon and a space"),
    "found unexpected end of stream": ("a quotation mark is opened and never closed", "a closing quotation mark"),
    "found character '@' that cannot start any token": ("text cannot begin with @", "the text in quotes"),
    "found character '`' that cannot start any token": ("text cannot begin with `", "the text in quotes"),
    "found character '%' that cannot start any token": ("text cannot begin with %", "the text in quotes"),
}


def plain_scalar(text: str) -> Any:
    """Value of a scalar without quotes: None, a truth value, a number, or text."""
    if text in CONSTANTS:
        return CONSTANTS[text]
    if INTEGER.fullmatch(text) or BASED.fullmatch(text):
        return int(text, 0 if BASED.fullmatch(text) else 10)
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan")) if REAL.fullmatch(text) else text


def read_yaml(text: str, file: str) -> Any:
    """Parse YAML: `Fields`, a list or a value; None for an empty file.

    You get a `ScenarioError` with file and line for what is not YAML 1.2 (the first place), and for all fields that
    are written twice, tags, and numbers that are read differently by different versions of YAML.
    """
    if DEEP.search(text):
        raise ScenarioError("file", file, "lists or mappings too deep within each other", "", file, 1)
    try:
        node = _composed(text)
    except ReaderError as error:
        line = text.count("\n", 0, int(cast("Any", error).position)) + 1
        raise ScenarioError("file", file, "holds characters that are no text", "text in UTF-8", file, line) from error
    except MarkedYAMLError as error:
        raise _not_yaml(error, file, text.splitlines()) from error
    except YAMLError as error:
        raise ScenarioError("file", file, f"not valid YAML: {error}", "YAML 1.2", file, 1) from error
    except RecursionError:
        raise ScenarioError("file", file, "lists or mappings too deep within each other", "", file, 1) from None
    reader = _Reader(file)
    try:
        found = None if node is None else reader.read(node, "")
    except RecursionError as error:
        raise ScenarioError("file", file, "an anchor that holds itself, or is too deep", "", file, 1) from error
    if reader.mistakes:
        raise together(reader.mistakes)
    return found


@lru_cache(maxsize=128)  # a command reads the same text several times, in a tenth of a second each
def _composed(text: str) -> Any:
    """The nodes of a text, None for an empty one; who reads them changes nothing of them."""
    return cast("Any", YAML(typ="safe", pure=True)).compose(StringIO(text))


def _not_yaml(error: MarkedYAMLError, file: str, lines: list[str]) -> ScenarioError:
    found: Any = error
    problem, mark = str(found.problem), found.problem_mark or found.context_mark
    start = found.context_mark
    line = mark.line + 1 if mark else 1
    said, allowed = WORDS.get(problem, ("", "YAML 1.2"))
    if "\\t" in problem or "tab character" in problem:
        said, allowed = TAB
    elif problem.startswith("mapping values are not") and lines[line - 1][: mark.column].count(":") == 0:
        said, allowed = DEEPER
        if line > 1 and (match := NO_SPACE.fullmatch(lines[line - 2])):
            said = f"no {'colon' if match[2] == '=' else 'space'} after {match[1]!r}"
            line, allowed = line - 1, f"{match[1]}: {match[3]}"
    elif problem.startswith("expected '<document start>'"):
        first = next(k for k, one in enumerate(lines) if one.strip() and not one.lstrip().startswith("#"))
        if lines[first].startswith(" "):
            (said, allowed), line = INDENTED, first + 1
    if "end of stream" in problem and start is not None:
        line = start.line + 1
    if match := re.match(r"expected ',' or '([\]}])', but got", problem):
        said, allowed = f"not closed by {match[1]}, or a comma is missing", f"a comma or {match[1]}"
        line = start.line + 1 if start is not None else line
        if joined := re.search(r"([\w.]+):[\[{]", lines[line - 1]):
            said, allowed = f"no space after the colon of {joined[1]!r}", f"{joined[1]}: …"
        if match[1] == "}" and (key := re.search(r"[\w.]+\[\d+\][\w.\[\]]*(?=\s*:)", lines[line - 1])):
            said, allowed = "[ ] in a name within { }", f"the name in quotes: '{key[0]}'"
    elif problem.startswith("expected <block end>"):
        said = "wrong indentation: this line belongs neither to what is above nor to what is around it"
        allowed = "fields of one mapping, and entries of one list, begin in the same column"
    elif match := re.match(r"found undefined alias '(.*)'", problem):
        anchors = re.findall(r"(?<!\S)&([\w-]+)", "\n".join(lines[:line]))
        said = f"there is no anchor &{match[1]} above{meant(match[1], anchors)}"
        allowed = "an alias (*NAME) of an anchor (&NAME) above it; a text with a * in quotes"
    elif problem.startswith("expected alphabetic or numeric character"):
        said, allowed = "a * or & without a name", "text in quotes; or an alias (*NAME) of an anchor (&NAME) above it"
    return ScenarioError("file", file, f"not valid YAML: {said or problem}", allowed, file, line)


class _Reader:
    def __init__(self, file: str) -> None:
        self.file, self.mistakes, self.left = file, list[ScenarioError](), MOST
        self.around: list[int] = []

    def read(self, node: Any, path: str) -> Any:
        self.left -= 1
        if self.left < 0:
            raise ScenarioError("file", self.file, f"more than {MOST:,} values", "fewer aliases", self.file, 1)
        if node.id == "scalar":
            return self._scalar(node, path)
        if id(node) in self.around:
            self._wrong(node, path, None, "an alias of what it is in", "an anchor that is closed before its alias")
            return None
        self._refuse_tag(node, path)
        self.around.append(id(node))
        if node.id == "mapping":
            found = self._mapping(node, path)
        else:
            found = _Entries()
            for index, child in enumerate(cast("list[Any]", node.value)):
                found.append(self.read(child, f"{path}[{index}]"))
                found.places[index] = self._place(child)
        self.around.pop()
        return found

    def _mapping(self, node: Any, path: str) -> Fields:
        found, merged = Fields(), list[Any]()
        for key, child in cast("list[tuple[Any, Any]]", node.value):
            if key.id == "scalar" and key.value == "<<" and key.style is None:
                merged += self._merged(child, path)
                continue
            # numbers and words that are no text are the text that is written
            name, inner = (str(key.value), f"{path}.{key.value}".lstrip(".")) if key.id == "scalar" else ("?", path)
            if key.id != "scalar":
                self._wrong(key, path or "file", None, "a field's name is text", "FIELD: VALUE")
            elif self._is_half(key, path, name):
                continue
            if name in found:
                first = found.places[name].line
                value = plain(self.read(child, inner))
                self._wrong(key, inner, value, f"written twice, first in line {first}", "each field once")
                continue
            found[name], found.places[name] = self.read(child, inner), self._place(key)
        for base in merged:
            for name, value in base.items():
                if name not in found:
                    found[name], found.places[name] = value, base.places[name]
        return found

    def _merged(self, node: Any, path: str) -> Iterator[Fields]:
        children: list[Any] = node.value if node.id == "sequence" else [node]
        for child in children:
            if isinstance(found := self.read(child, path), Fields):
                yield found
            else:
                inner = f"{path}.<<".lstrip(".")
                self._wrong(child, inner, found, "merges what is no mapping", "an alias of a mapping")

    def _scalar(self, node: Any, path: str) -> Any:
        text = str(node.value)
        self._refuse_tag(node, path)
        if node.style is not None:
            return None if self._is_half(node, path, text) else text
        if len(text) > DIGITS and (INTEGER.fullmatch(text) or BASED.fullmatch(text)):
            self._wrong(node, path, text, "a number of too many digits", f"{DIGITS} digits; or text in quotes")
            return None
        if ZERO_FIRST.fullmatch(text):
            eight = set(text) <= set("-+01234567")
            other = f"{int(text, 8)} in YAML 1.1, " if eight else ""
            why = f"a number with a leading zero ({other}{int(text)} in YAML 1.2)"
            self._wrong(node, path, text, why, f"{int(text)}" + (f", or {int(text, 8)}" if eight else ""))
        return plain_scalar(text)

    def _is_half(self, node: Any, path: str, text: str) -> bool:
        """Whether it has half of a character, as "\\ud800" is, which no file can hold."""
        if half := HALF.search(text):
            self._wrong(node, path, text, f"half of a character, {half[0]!r}", "whole characters")
        return half is not None

    def _refuse_tag(self, node: Any, path: str) -> None:
        tag = str(node.tag).replace(STANDARD, "!!", 1)
        if tag.removeprefix("!!") not in KNOWN or not tag.startswith("!!"):
            self._wrong(node, path, tag, "tags are not read: nothing in a file is run", "the value without a tag")

    def _wrong(self, node: Any, field: str, value: object, problem: str, allowed: str) -> None:
        place = self._place(node)
        self.mistakes.append(ScenarioError(field or "file", value, problem, allowed, place.file, place.line))

    def _place(self, node: Any) -> Place:
        return Place(self.file, int(node.start_mark.line) + 1)


# ── written ─────────────────────────────────────────────────────────────────────────────────────────────
def setting(value: object) -> str:
    """A value of a scenario as its file has it: {name: mnist, records: 100}, [1, 2], true, null; text as it is."""
    return value if isinstance(value, str) else written(value, whole=True)


def as_yaml(tree: Tree) -> str:
    """YAML of mappings and lists, in their order; what acts on a terminal is an escape."""
    yaml: Any = cast("Any", YAML)()
    yaml.Representer = _Representer
    yaml.width, yaml.allow_unicode = WIDE, True
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = StringIO()
    yaml.dump(_node(tree, 0), stream)
    # what acts on a terminal stands in double quotes alone, where it is an escape
    return "".join(one if one.isprintable() or one == "\n" else f"\\U{ord(one):08x}" for one in stream.getvalue())


class _Representer(RoundTripRepresenter):
    """Null as a word: ruamel leaves the place empty."""


def _null(representer: Any, _: None) -> Any:
    return representer.represent_scalar("tag:yaml.org,2002:null", "null")


cast("Any", _Representer).add_representer(type(None), _null)


def _node(value: Any, depth: int) -> Any:
    """The same with a style: in one line where that is short, but for the file itself."""
    if isinstance(value, Mapping):
        fields = cast("Tree", value).items()
        node: Any = CommentedMap((_scalar(key), _node(one, depth + 1)) for key, one in fields)
    elif isinstance(value, list):
        node = CommentedSeq(_node(one, depth + 1) for one in cast("list[Any]", value))
    else:
        return _scalar(value)
    short = 2 * depth + len(str(cast("Any", value))) <= WIDE
    numbers = isinstance(value, list) and not any(isinstance(one, Mapping | list) for one in cast("list[Any]", value))
    if depth and (short or numbers) and not _deep(cast("Any", value)):
        node.fa.set_flow_style()
    return node


def _deep(value: Any) -> bool:
    """Whether a value is better read over several lines: a list of mappings, or a mapping with one inside of one."""
    if isinstance(value, list):
        return any(isinstance(one, Mapping) for one in cast("list[Any]", value))
    inner = [*cast("Tree", value).values()] if isinstance(value, Mapping) else []
    return any(_deep(one) or (isinstance(one, Mapping) and len(inner) > 1) for one in inner)


def _scalar(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    # ruamel leaves ?0 bare in a flow mapping, where it is the key 0
    bare = BARE.match(value) is not None and value.isprintable() and value.lower() not in OLD_TRUTHS
    return value if bare else DoubleQuotedScalarString(value)
