"""YAML 1.2 as mappings, lists and values that know their file and line; nothing in a file can run anything.

Scalars are those of the core schema: `1e-5`, `1E-5` and `.5` are numbers; `yes`, `on`, dates and `1_000` are text. A
number with a leading zero is refused, for YAML 1.1 read it as octal. Anchors, aliases and merge keys are resolved.
"""

import re
from collections.abc import Iterator
from io import StringIO
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from netsim.errors import ScenarioError, together
from scenarios.tree import Entries, Fields, Place, plain

MOST = 1_000_000
"""Values of a file, aliases spelled out: more would be a file that means to fill the memory."""
NULL = re.compile(r"|~|null|Null|NULL")
TRUE, FALSE = re.compile(r"true|True|TRUE"), re.compile(r"false|False|FALSE")
INTEGER = re.compile(r"[-+]?[0-9]+")
OCTAL, HEX = re.compile(r"0o[0-7]+"), re.compile(r"0x[0-9a-fA-F]+")
REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
INFINITE, UNDEFINED = re.compile(r"[-+]?\.(inf|Inf|INF)"), re.compile(r"\.(nan|NaN|NAN)")
ZERO_FIRST = re.compile(r"[-+]?0[0-9]+")
STANDARD = "tag:yaml.org,2002:"
TAB = "a tab, where only spaces may be", "use spaces: YAML is indented with spaces, two a level, never with tabs"
DEEPER = (
    "wrong indentation: this line is indented deeper than the line above, which has a value already",
    "fields of one mapping begin in the same column",
)
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
    """What a scalar without quotes is: None, a truth value, a number, or text."""
    if NULL.fullmatch(text):
        return None
    if TRUE.fullmatch(text) or FALSE.fullmatch(text):
        return text[0] in "tT"
    if INTEGER.fullmatch(text):
        return int(text)
    if OCTAL.fullmatch(text) or HEX.fullmatch(text):
        return int(text, 0)
    if REAL.fullmatch(text) or INFINITE.fullmatch(text) or UNDEFINED.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text


def read_yaml(text: str, file: str) -> Any:
    """What a file says: `Fields`, `Entries` or a value; None where it is empty.

    You get a `ScenarioError` with file and line for what is not YAML 1.2 (the first place), and for all fields that
    are written twice, tags, and numbers that are read differently by different versions of YAML.
    """
    try:
        node: Any = cast(Any, YAML(typ="safe", pure=True)).compose(StringIO(text))
    except ReaderError as error:
        line = text.count("\n", 0, int(cast(Any, error).position)) + 1
        raise ScenarioError("file", file, "holds characters that are no text", "text in UTF-8", file, line) from error
    except MarkedYAMLError as error:
        raise _not_yaml(error, file, text.splitlines()) from error
    except YAMLError as error:
        raise ScenarioError("file", file, f"not valid YAML: {error}", "YAML 1.2", file, 1) from error
    reader = _Reader(file)
    try:
        found = None if node is None else reader.read(node, "")
    except RecursionError as error:
        raise ScenarioError("file", file, "an anchor that holds itself, or is too deep", "", file, 1) from error
    if reader.mistakes:
        raise together(reader.mistakes)
    return found


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
    elif problem.startswith("expected '<document start>'"):
        first = next(k for k, one in enumerate(lines) if one.strip() and not one.lstrip().startswith("#"))
        if lines[first].startswith(" "):
            (said, allowed), line = INDENTED, first + 1
    if "end of stream" in problem and start is not None:
        line = start.line + 1
    if match := re.match(r"expected ',' or '([\]}])', but got", problem):
        said, allowed = f"not closed by {match[1]}, or a comma is missing", f"a comma or {match[1]}"
        line = start.line + 1 if start is not None else line
    elif problem.startswith("expected <block end>"):
        said = "wrong indentation: this line belongs neither to what is above nor to what is around it"
        allowed = "fields of one mapping, and entries of one list, begin in the same column"
    elif match := re.match(r"found undefined alias '(.*)'", problem):
        said, allowed = f"there is no anchor &{match[1]} above", "an alias (*NAME) of an anchor (&NAME) above it"
    why = f"not valid YAML: {said or problem}"
    return ScenarioError("file", file, why, allowed, file, line)


def _is(node: Any, kind: type[Any]) -> bool:
    """Whether a node of the composer, which has no types, is of this kind."""
    return isinstance(node, kind)


class _Reader:
    def __init__(self, file: str) -> None:
        self.file, self.mistakes, self.left = file, list[ScenarioError](), MOST
        self.around: list[int] = []

    def read(self, node: Any, path: str) -> Any:
        self.left -= 1
        if self.left < 0:
            raise ScenarioError("file", self.file, f"more than {MOST:,} values", "fewer aliases", self.file, 1)
        if _is(node, ScalarNode):
            return self._scalar(node, path)
        if id(node) in self.around:
            self._wrong(node, path, None, "an alias of what it is in", "an anchor that is closed before its alias")
            return None
        self._refuse_tag(node, path)
        self.around.append(id(node))
        found = self._mapping(node, path) if _is(node, MappingNode) else self._list(node, path)
        self.around.pop()
        return found

    def _list(self, node: Any, path: str) -> Entries:
        found = Entries()
        for index, child in enumerate(cast("list[Any]", node.value)):
            found.append(self.read(child, f"{path}[{index}]"))
            found.places[index] = self._place(child)
        return found

    def _mapping(self, node: Any, path: str) -> Fields:
        found, merged = Fields(), list[Any]()
        for key, child in cast("list[tuple[Any, Any]]", node.value):
            if _is(key, ScalarNode) and key.value == "<<" and key.style is None:
                merged += self._merged(child, path)
                continue
            name, inner = self._key(key, path)
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

    def _key(self, node: Any, path: str) -> tuple[str, str]:
        """A field's name, and its path; numbers and words that are no text are the text that is written."""
        if not _is(node, ScalarNode):
            self._wrong(node, path or "file", None, "a field's name is text", "FIELD: VALUE")
            return "?", path
        name = str(node.value)
        return name, f"{path}.{name}".lstrip(".")

    def _merged(self, node: Any, path: str) -> Iterator[Fields]:
        children: list[Any] = node.value if _is(node, SequenceNode) else [node]
        for child in children:
            found = self.read(child, path)
            if isinstance(found, Fields):
                yield found
            else:
                self._wrong(
                    child, f"{path}.<<".lstrip("."), found, "merges what is no mapping", "an alias of a mapping"
                )

    def _scalar(self, node: Any, path: str) -> Any:
        text = str(node.value)
        self._refuse_tag(node, path)
        if node.style is not None:
            return text
        if ZERO_FIRST.fullmatch(text):
            eight = set(text) <= set("-+01234567")
            other = f"{int(text, 8)} in YAML 1.1, " if eight else ""
            why = f"a number with a leading zero ({other}{int(text)} in YAML 1.2)"
            self._wrong(node, path, text, why, f"{int(text)}" + (f", or {int(text, 8)}" if eight else ""))
        return plain_scalar(text)

    def _refuse_tag(self, node: Any, path: str) -> None:
        tag = str(node.tag)
        core = tag.removeprefix(STANDARD)
        known = ("str", "int", "float", "bool", "null", "map", "seq", "timestamp", "merge")
        if tag.startswith(STANDARD) and core in known:
            return
        shown = "!!" + core if tag.startswith(STANDARD) else tag
        self._wrong(node, path, shown, "tags are not read: nothing in a file is run", "the value without a tag")

    def _wrong(self, node: Any, field: str, value: object, problem: str, allowed: str) -> None:
        place = self._place(node)
        self.mistakes.append(ScenarioError(field or "file", value, problem, allowed, place.file, place.line))

    def _place(self, node: Any) -> Place:
        return Place(self.file, int(node.start_mark.line) + 1)
