"""Exceptions that netsim raises on purpose: one small tree, and the remedy when an optional extra is missing."""

import difflib
import inspect
import re
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath


class _Written(reprlib.Repr):
    """Values in brief, as a file has them: YAML, or JSON, whose texts are never `bare`."""

    bare = True

    def repr_str(self, x: str, level: int) -> str:
        cut = x if len(x) <= self.maxstring else f"{x[: self.maxstring // 2]}…{x[-self.maxstring // 3 :]}"
        return (
            cut
            if self.bare and level < self.maxlevel and _BARE.fullmatch(cut) and cut.lower() not in _NO_TEXT
            else repr(cut)
        )

    def repr_dict(self, x: "dict[object, object]", level: int) -> str:
        if level <= 0 < len(x):
            return "{…}"
        few = [f"{key if self.bare else repr(key)}: {self.repr1(x[key], level - 1)}" for key in [*x][: self.maxdict]]
        return "{" + ", ".join(few + ["…"] * (len(x) > len(few))) + "}"

    def repr_list(self, x: "Sequence[object]", level: int) -> str:
        if level <= 0 < len(x):
            return "[…]"
        few = [self.repr1(one, level - 1) for one in x[: self.maxlist]]
        return "[" + ", ".join(few + ["…"] * (len(x) > len(few))) + "]"

    def repr_tuple(self, x: "tuple[object, ...]", level: int) -> str:
        return self.repr_list(x, level)

    def repr_bool(self, x: bool, level: int) -> str:  # noqa: ARG002
        return str(x).lower()

    def repr_NoneType(self, x: None, level: int) -> str:  # noqa: ARG002, N802
        return "null"

    def repr_instance(self, x: object, level: int) -> str:
        if (text := _readable(x)) is not x:
            return self.repr1(text, level)
        return super().repr_instance(x, level)


_BARE = re.compile(r"[^\W\d](?:[\w.\-/ ]*[\w.\-/])?")
_NO_TEXT = ("true", "false", "null", "yes", "no", "on", "off")
"""Words that are no text in a file, or were none in older ones."""


def _readable(value: object) -> object:
    """A path as text, a class by its name, arrays and numbers of NumPy's as plain ones; any other value as it is."""
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, type):
        return value.__name__
    return getattr(value, "tolist", lambda: value)()


_SHORT, _WRITTEN, _JSON, _WHOLE = reprlib.Repr(), _Written(), _Written(), _Written()
_JSON.bare = False
for _one in (_SHORT, _WRITTEN, _JSON):
    _one.maxlevel, _one.maxstring, _one.maxother = 2, 80, 80
_WHOLE.maxlevel, _WHOLE.maxdict, _WHOLE.maxlist, _WHOLE.maxstring, _WHOLE.maxother = 50, *4 * (10**6,)
QUOTED = 200
"""Characters of somebody else's text that an error repeats at most."""
_QUOTATION = rf"(?<![^\s=(\[:,])(?P<quote>['\"])(?:(?!(?P=quote)).){{{QUOTED},}}(?P=quote)"
_LONG = re.compile(rf"{_QUOTATION}|[^\s'\"]{{{QUOTED + 1},}}", re.DOTALL)
"""A quotation, or a word, that is longer."""
_OF_NUMPY = re.compile(r"\bnp\.(?:(?:float|int|uint|complex|bool|str|longdouble)\d*_?\(([^()]*)\)|(True|False)_\b)")
"""A number or text as NumPy writes it: np.float64(0.5)."""


_CLASS = re.compile(r"<class '(?:[^'.]*\.)*([^'.]*)'>")


def brief(text: str) -> str:
    """A message with texts in quotes, and words without a space, cut at `QUOTED` characters."""
    return _LONG.sub(lambda found: found[0][: QUOTED + 1] + "…", text)


def pythons(text: str) -> str:
    """A message in which a number of NumPy's is written as Python's, and a class by its name."""
    text = _CLASS.sub(r"\1", text) if "<class" in text else text
    return _OF_NUMPY.sub(r"\1\2", text) if "np." in text else text


def written(value: object, *, whole: bool = False, file: str = "") -> str:
    """A value, in brief or `whole`, as a `file` of YAML has it, or of JSON: true, null, {kind: uniform}, [1, 2]; text
    alone is in quotes."""
    brief_ = _JSON if file.endswith((".json", ".jsonl")) else _WRITTEN
    return pythons((_WHOLE if whole else brief_).repr(_readable(value)))


def short(value: object) -> bool | int | float | str | None:
    """A value as a document has it that repeats little of somebody else's: a long text or a tree in brief."""
    if isinstance(value, str):
        return value if len(value) <= QUOTED else value[:QUOTED] + "…"
    return value if isinstance(value, bool | int | float | None) else written(value)


def meant(written: str, known: Iterable[str]) -> str:
    """The end of a message about a name that is none of these: the nearest, if one is near. Names that begin with _
    are nobody's business who did not write one."""
    public = [one for one in known if written.startswith("_") or not one.startswith("_")]
    return did_you_mean(difflib.get_close_matches(written, public, n=1))


def did_you_mean(names: Sequence[str]) -> str:
    """The end of a message that asks for one of these; nothing where there are none."""
    return f"; did you mean {' or '.join(map(repr, names))}?" if names else ""


def near(written: str, names: Iterable[str], most: int = 3) -> list[str]:
    """The names that are a slip of the pen from what was written, the nearest first, or that begin with it: names of
    files and data sets, of which one that only looks like it is another thing."""
    wanted, found = written.lower(), list[tuple[float, str]]()
    for name in names:
        few = max(1, min(len(wanted), len(name)) // 5)
        if abs(len(wanted) - len(name)) <= few < len(name) and (apart := _slips(wanted, name.lower())) <= few:
            found.append((apart, name))
        elif len(wanted) > 3 and name.lower().startswith(wanted):
            found.append((len(name), name))
    return [name for _, name in sorted(found)[:most]]


def _slips(one: str, other: str) -> int:
    """Letters left out, put in, changed, or swapped with the next, between two texts."""
    before, last = list[int](), list(range(len(other) + 1))
    for i, a in enumerate(one):
        row = [i + 1]
        for j, b in enumerate(other):
            row.append(min(last[j + 1] + 1, row[j] + 1, last[j] + (a != b)))
            if i and j and (a, one[i - 1]) == (other[j - 1], b):
                row[-1] = min(row[-1], before[j - 1] + 1)
        before, last = last, row
    return last[-1]


def what(value: object) -> str:
    """What a value is, in words, for a message that says what was to be in its place."""
    if value is None:
        return "there is no value"
    if inspect.iscoroutine(value):
        return "is a coroutine: is an `await` missing?"
    if isinstance(value, type):
        return f"is the class {value.__name__}, and no object of it"
    if inspect.isroutine(value):
        return f"is the function {getattr(value, '__name__', '')}"
    name = type(value).__name__
    return f"is {a_or_an({'bool': 'truth value', 'str': 'text'}.get(name, name))}"


def a_or_an(noun: str) -> str:
    """A noun with its article."""
    return f"{'an' if noun[0] in 'AEIOaeio' else 'a'} {noun}"


class NetsimError(Exception):
    """The root: catch this to catch everything netsim raises on purpose. Numbers of NumPy's read as Python's."""

    def __str__(self) -> str:
        return pythons(super().__str__())


@dataclass(eq=False)
class ScenarioError(NetsimError):
    """Bad input. You do *not* get this once time has started: that is a `SimulationError`.

    `field` is a dotted path such as ``algorithm.step``; `file` and `line` (1-based) are filled in by
    whoever read the value from a file. `others`: further mistakes of the same input, stated with it.
    """

    field: str
    value: object
    problem: str
    allowed: str = ""
    file: str | None = None
    line: int | None = None
    others: "tuple[ScenarioError, ...]" = ()

    def __str__(self) -> str:
        return "\n".join(one.sentence() for one in self.each())

    def sentence(self, *, as_file: bool = False) -> str:
        """This one mistake, in a line; its value as the file or the command line has it in which it stands; in no
        file `as_file`, or as Python has it."""
        place = f"{self.file}{'' if self.line is None else f':{self.line}'}: " if self.file else ""
        said = brief(pythons(f"{self.problem}; allowed: {self.allowed}" if self.allowed else self.problem))
        if place and self.field == "file" and self.value == self.file:
            return f"{place}{said}"
        absent = self.value is None and self.problem.startswith("missing")
        absent = absent or (self.value is True and self.field.startswith("--"))  # an option that has no value
        code = bool(self.file and self.file.endswith(".py"))
        absent = absent or (code and isinstance(self.value, str) and self.value == self.file)  # it is in the place
        as_file = not code if self.file else as_file or self.field.startswith("-")
        value = written(self.value, file=self.file or "") if as_file else pythons(_SHORT.repr(_readable(self.value)))
        return f"{place}{brief(self.field)}{'' if absent else f' = {value}'}: {said}"

    def each(self) -> "tuple[ScenarioError, ...]":
        """This mistake and all others that were found with it, each by itself."""
        return (replace(self, others=()), *self.others) if self.others else (self,)

    def under(self, prefix: str) -> "ScenarioError":
        """The same error, its fields seen from one level further out."""
        field = f"{prefix}.{self.field}" if self.field else prefix
        return replace(self, field=field, others=tuple(one.under(prefix) for one in self.others))


def together(errors: "Sequence[ScenarioError]") -> ScenarioError:
    """One error that states all of these, at least one, in their order; it has the first one's field and place."""
    first, *others = [one for error in errors for one in error.each()]
    return replace(first, others=tuple(others))


@dataclass(eq=False)
class AbsentDataError(ScenarioError):
    """The input is right, but its data set is not on this machine: what was requested cannot be run here.

    You get a plain `ScenarioError` for a data set that nobody has.
    """


class SimulationError(NetsimError):
    """The run could not go on. Wrong input is a `ScenarioError`, and comes earlier."""


def not_an_exit(error: BaseException) -> BaseException:
    """A `SystemExit` of somebody's own code as a `SimulationError`, with its traceback: `sys.exit()` there ends the
    run, and not the process. Any other error as it is."""
    if not isinstance(error, SystemExit):
        return error
    found = SimulationError(f"the algorithm's code wants to end the process: SystemExit({error.code!r})")
    return found.with_traceback(error.__traceback__)


class DeadlockError(SimulationError):
    """Nothing is left to happen while agents wait. An agent that never yields is a `StalledError`."""


class StalledError(SimulationError):
    """Callbacks or queries without end. Agents that wait for what never comes are a `DeadlockError`."""

    @classmethod
    def of_queries(cls, agent: int, most: float) -> "StalledError":
        """The error to raise where an agent asks more often than it may."""
        return cls(f"agent {agent} queried its objective {most:,} times: does a loop of its code end at these data?")


class UnsupportedError(SimulationError):
    """A thread, socket, file or process was requested of the virtual clock, which has none."""


class ProtocolError(SimulationError):
    """An algorithm used the port against its rules (wrong shape, unknown neighbor, NaN scale)."""


class PrivacyError(NetsimError):
    """A mechanism, a claim or an audit cannot give what was requested.

    Its arguments are the reason and, where other settings of a scenario are a remedy, each of these as FIELD=VALUE.
    """

    def __str__(self) -> str:
        reason, *remedy = self.args or ("",)
        return pythons(f"{reason}: {' '.join(f'-o {one}' for one in remedy)}" if remedy else str(reason))


class AttackError(NetsimError):
    """An attack needs what its view does not grant. One that tries and recovers nothing returns a result."""


class TranscriptError(NetsimError):
    """A transcript lacks what was requested of it."""


def install(extra: str = "") -> str:
    """The commands that bring netsim, or an extra (a name under `optional-dependencies`), in a clone and without."""
    of = f"[{extra}]" if extra else ""
    return f"""pip install -e ".{of}" in a clone of netsim, or pip install "netsim-lab{of}\""""
