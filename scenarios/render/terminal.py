"""Terminal output shared by every command: consoles, exit codes, errors, and sentences that fit the width."""

import errno
import os
import re
import shlex
import shutil
import sys
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import replace
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import IO, Any, NoReturn, cast

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.segment import Segment
from rich.text import Text

from netsim.errors import NetsimError, ScenarioError, brief, meant, short, together
from netsim.files import not_written
from netsim.memory import allowed, shown
from scenarios.files.folders import PAGE

_ALGORITHM = re.compile(r"algorithms(?:\[|\.)(\d+)\]?\.?(.*)")
_AGENT = re.compile(r"\b([Aa]gent) (\d+)\b(?! \()")


def named(text: str, names: Sequence[str], write: Callable[[str], str] = str) -> str:
    """A text in which "agent 3" is "agent 3 (Lima)"; the same text where agents have numbers alone."""

    def beside(found: re.Match[str]) -> str:
        agent = int(found[2])
        return f"{found[0]} ({write(names[agent])})" if agent < len(names) else found[0]

    return _AGENT.sub(beside, text) if names else text


DONE, REFUTED, WRONG_INPUT, UNDECIDED, FAILED, INTERRUPTED = 0, 1, 2, 3, 70, 130

NARROW = 60
"""Columns of a terminal below which a row of a table that has no room is a list, and terms stand before texts."""

FINISHED = "The folder holds this very run, finished: nothing was run. --replace runs it again."

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
"""A disk, a quota or a file at its limit, or nothing to write to: no defect of anybody's code."""
_NOT_ALLOWED = (errno.EACCES, errno.EPERM)
"""Somebody else's files: no defect either."""


_FILLING = re.compile(r" +(?=\n)")

_HELD, _NARROW_HELD = "\ue000", "\ue001"
"""Blanks at which no line ends, until they are written: a plain one, and a narrow one."""
_UNIT = re.compile(
    r"(?<=\d) (?=(?:[%×]|[kMGT]?B|bytes?|[mµn]?s|min|h)(?!\w))"
    r"|(?<=\d) (?=to \d)|(?<=\d to) (?=\d)"
    r"|(?<=\d) (?=… [\d∞])|(?<=\d …) (?=[\d∞])"
    r"|(?<=\(\d) (?=[a-z]{1,12}\))"
    r"|(?<=[εδ]) (?=[≥≤] \d)|(?<=[=≥≤×]) (?=[−-]?[\d∞])"
    r"|(?<=\S) (?=· )|(?<=·) (?=\S{1,8}(?!\S))"
)
"""Blanks between a number and its unit, what it is counted by or the sign before it, and around the point between an
algorithm and its run."""
_WHOSE = re.compile(r"(?<!\S)(\S{1,16}) (?== [−-]?[\d∞])|(?<![^\s(])([A-Z][a-z]+|[Ee]qs?\.|agent|round) (?=\d)")
"""Short names, and the blanks between them and a number or its sign: "replicas = 50", "Corollary 1"."""


def held(text: str) -> str:
    """A text whose numbers stay beside their units and names: "100 %", "δ = 0.001"."""
    text = _WHOSE.sub(lambda found: (found[1] or found[2]) + _HELD, text)
    return _UNIT.sub(_HELD, text).replace("\u202f", _NARROW_HELD)


def _freed(text: str) -> str:
    """The text of `held` with blanks again."""
    return text.replace(_HELD, " ").replace(_NARROW_HELD, "\u202f")


class _Console(Console):
    """A reader who has seen enough (`| head`) ends the output, not the run, and is no finding. The error of one that
    takes no more (a full disk) says which output it is."""

    agents: Sequence[str] = ()
    """The agents' names, within `naming`."""

    @contextmanager
    def naming(self, agents: Sequence[str]) -> Generator[None]:
        """Within, texts have the agents' names, where a file gives them some, behind the numbers."""
        before, self.agents = self.agents, agents
        try:
            yield
        finally:
            self.agents = before

    def print(self, *args: Any, **options: Any) -> None:
        shown = [named(one, self.agents, escape) if isinstance(one, str) else one for one in args]
        with self.errors_named():
            super().print(*shown, **options)

    def say(self, text: str, *, markup: bool = True, style: str | None = None) -> None:
        """A sentence, in as many lines as it takes on a terminal, or where COLUMNS says how wide a reader's lines
        are; for a program or a file in one."""
        known = named(text, self.agents, escape if markup else str)
        shown = self.render_str(known, markup=markup, highlight=False)
        reader = self.has_reader
        self.print(in_parts(shown, self.width) if reader else shown, style=style, soft_wrap=not reader)

    @property
    def has_reader(self) -> bool:
        """Whether lines are read as wide as they are: on a terminal, or where COLUMNS says how wide it is."""
        return self.is_terminal or "COLUMNS" in os.environ

    def render_str(self, text: str, *args: Any, **options: Any) -> Text:
        """A text in which a number and its unit are in one line."""
        return super().render_str(held(text), *args, **options)

    def _render_buffer(self, buffer: "Iterable[Segment]") -> str:
        """Without the blanks that fill lines up: a program that reads them wants none."""
        text = _freed(super()._render_buffer(buffer))
        return text if self.is_terminal else _FILLING.sub("", text)

    @contextmanager
    def errors_named(self) -> Generator[None]:
        """An `OSError` that knows no file is of this output."""
        try:
            yield
        except OSError as error:
            if error.filename is None and error.errno is not None:
                error.filename = "standard error" if self.stderr else "standard output"
            raise

    def on_broken_pipe(self) -> None:
        self.quiet = True
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), self.file.fileno())


console = _Console(emoji=False)  # the name of a file may hold :x:
problems = _Console(stderr=True, emoji=False)
_WHATEVER = cast("IO[str]", None)
"""What the standard output is at the time."""


@contextmanager
def prints_apart() -> Generator[None]:
    """Within, what somebody's own code prints, here and in processes that begin here, goes to the standard error:
    a document of `--json` stays one, and results are not lost among thousands of lines."""
    before = sys.stdout
    before.flush()
    if not _is(before, 1) or not _is(sys.stderr, 2):  # a test's, or a notebook's
        console.file = before
        try:
            with redirect_stdout(sys.stderr):
                yield
        finally:
            console.file = _WHATEVER
        return
    place = os.dup(1)
    own = open(place, "w", encoding=before.encoding, errors=before.errors)  # noqa: SIM115
    console.file = own
    os.dup2(2, 1)
    try:
        yield
    finally:
        before.flush()
        console.file = _WHATEVER
        os.dup2(place, 1)
        with suppress(OSError):  # every line was flushed: what a full disk did not take has been said
            own.close()


def _is(stream: IO[str], descriptor: int) -> bool:
    """Whether a stream is written to this descriptor of the process."""
    try:
        return isinstance(stream, TextIOWrapper) and stream.fileno() == descriptor
    except OSError:
        return False


def apart(as_json: bool) -> _Console:
    """The console for people: apart from the document that `--json` prints."""
    return problems if as_json else console


def of_progress(as_json: bool = False) -> _Console:
    """The console for how far it is: that for people, or the one of errors where only that is a terminal."""
    return problems if problems.is_terminal and not console.is_terminal else apart(as_json)


def write(text: str) -> None:
    """A text on the standard output as it is, with a line end: no colours, nothing wrapped or cut."""
    try:
        with console.errors_named():
            console.file.write(text + "\n")
            console.file.flush()
    except BrokenPipeError:
        console.on_broken_pipe()


def write_document(value: object) -> None:
    """The JSON document of `--json`; infinities and NaN are the texts "inf", "-inf", "nan"."""
    from scenarios.results.base import as_json

    write(as_json(value))


def write_result(found: object) -> None:
    """The same of a result, a frozen dataclass."""
    from scenarios.results.tree import plain

    write_document(plain(found))


_LEAD = re.compile(r" *(?:[•-] )?")
"""Before the words of a sentence: blanks, and the mark of a list."""
PARTS = re.compile(r"(?<=[./:_\[])(?=[^\W\d_])|(?<=,)(?=\w)")
"""Places within a word where it may be broken, which are in no number."""


_APART = re.compile(r"(?<=\S) {3,}(?=\S)")
"""Blanks between a formula and its number in a margin."""


def line(text: str, *, style: str | None = None, whole: bool = False) -> None:
    """A plain sentence on the standard output, in lines as wide as the terminal, or of 80 letters for a file or a
    program, all indented alike; `whole`, to copy from, in one."""
    _sentence(console, text, style, whole)


def print_place(head: str, what: object, *, to: _Console | None = None) -> None:
    """A head, and behind it a path or a command to copy, which is never broken: where a reader's line has no room for
    both, on a line of its own."""
    to, shown = to or console, visible(str(what))
    if to.has_reader and cell_len(f"{head} {shown}") > to.width:
        _sentence(to, head)
        head = " " * (_lead(head) + 1)
    to.print(f"{escape(head)} [bold]{escape(shown)}[/]", highlight=False, soft_wrap=True)


def _lead(text: str) -> int:
    """How many letters come before the words of a sentence."""
    lead = _LEAD.match(text)
    return 0 if lead is None else len(lead[0])


def _sentence(to: _Console, text: str, style: str | None = None, whole: bool = False) -> None:
    hang = _lead(text)
    if whole or not hang:
        to.print(text, style=style, highlight=False, markup=False, soft_wrap=whole)
        return
    width = max(1, to.width - hang)
    lines = in_parts(Text(held(named(text[hang:], to.agents))), width).wrap(to, width)
    for k, one in enumerate(lines):
        one.rstrip()
        to.print(Text(text[:hang] if k == 0 else " " * hang) + one, style=style, soft_wrap=True)


_TERM = re.compile(r"(?P<lead> *(?:- |\d+\. |(?<=  )\S+ {2,})?)(?P<words>.*)")
"""A line of a documentation: its lead, which is blanks, the mark of a list, or an indented term, and its words."""


def reflowed(text: str, before: str = "") -> list[str]:
    """A documentation in lines as wide as the console: sentences go on at their own indentation; other lines that are
    indented, as formulas are, stay as they are where there is room."""
    lines, block = list[str](), ""
    for one in [*text.splitlines(), ""]:
        known, found = _TERM.fullmatch(block), _TERM.fullmatch(one)
        assert known is not None
        assert found is not None
        goes_on = block and one.strip() and len(found["lead"]) == len(known["lead"]) and not found["lead"].strip()
        if goes_on and (known["lead"].strip() or not found["lead"]):
            block += f" {found['words']}"
            continue
        lines += _filled(known["lead"], known["words"], before) if block else []
        block = one
        if not one.strip():
            lines.append("")
    return lines[:-1]


def _filled(lead: str, words: str, before: str) -> list[str]:
    first, width = before + lead, max(40, console.width)
    if not lead or lead.strip():
        return _hanging(words, first, " " * len(first), width)
    if len(first + words) <= width:
        return [first + words]
    return _hanging(_APART.sub("  ", words), first, first + "    ", width)  # a formula, and its number in a margin


def _hanging(words: str, first: str, others: str, width: int) -> list[str]:
    """Words in lines that begin with `first`, and all but the first with `others`; no word is broken."""
    lines = wrap(
        held(words), width, initial_indent=first, subsequent_indent=others, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return [_freed(one) for one in lines]


def entry(name: str, text: str) -> list[str]:
    """A name and what is said of it, in lines as wide as the console."""
    return _hanging(text, f"  {name}  ", " " * (len(name) + 4), max(40, console.width))


def placed(head: str, what: str) -> list[str]:
    """A head, and what is to be copied whole: beside it where there is room, else below it."""
    lines = [f"{head} {what}"]
    if cell_len(lines[0]) > console.width:
        lines = [*reflowed(head), f"  {what}"]
    return lines


def remark(text: str) -> None:
    """A plain sentence on the standard error, so that JSON stays JSON."""
    if text:
        problems.say(text, markup=False)


def visible(text: str, lines: str = "\n\t") -> str:
    """Somebody else's text, with escapes for what acts on a terminal: colours that hide, text from right to left;
    and line ends, where a text of several `lines` is not meant."""
    return "".join(c if c.isprintable() or c in lines else c.encode("unicode_escape").decode() for c in text)


def interpreter() -> str:
    """The running Python as one calls it here: `python` where a shell finds it by that, else by its place."""
    return _called("python", Path(sys.executable))


def program() -> str:
    """This command as one calls it here: `netsim` where a shell finds it by that, else as it was called."""
    own = Path(sys.argv[0])
    if (own.parent.name, own.name) == ("netsim", "__main__.py"):
        return f"{interpreter()} -m netsim"
    return _called("netsim", own) if own.name == "netsim" else "netsim"


def _called_here(command: str) -> str:
    """A command line with this command as one calls it here."""
    return re.sub("^netsim ", lambda _: f"{program()} ", command)


def _called(name: str, own: Path) -> str:
    own, found = own.absolute(), shutil.which(name)
    if found is not None and Path(found).absolute() == own:
        return name
    return shlex.quote(str(own.relative_to(Path.cwd()) if own.is_relative_to(Path.cwd()) else own))


def print_steps(head: str, steps: Iterable[tuple[str, str]]) -> None:
    """What to do next: each step in words, and its command, if any, on a line of its own, to copy."""
    line(head, style="bold")
    for words, step in steps:
        line(f"  {words}{':' * bool(step)}")
        if step:
            line(f"    {_called_here(step)}", style="bold", whole=True)


def print_page(folder: Path, *, verbose: bool = True) -> None:
    """The place of a run's page; not `verbose`: and how to see here what it has."""
    console.print()
    print_place("Report:", folder / PAGE)
    if not verbose:
        line("It opens in a browser and has all that was found. Here --verbose prints it.")


def interrupted(kept: str, command: str, *, anew: bool = False) -> None:
    """What a Ctrl-C left, and the command that continues, or begins `anew` where nothing of its work can be used."""
    problems.print(f"[yellow]Interrupted: {kept}.[/]")
    how = "Begin anew" if anew else "Continue"
    print_place(f"{how} with:", _called_here(command), to=problems)


def leave_if_stopped(error: BaseException | None) -> None:
    """End here and now where a Ctrl-C is behind an error: an extension module that was just being loaded makes an
    ImportError of it. Such a module must not be asked anything any more, not even to clean up."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            for console_ in (console, problems):
                console_.file.flush()
            os._exit(INTERRUPTED)
        error = error.__cause__ or error.__context__


def fail(
    error: Exception,
    folder: Path | None = None,
    *,
    status: int | None = None,
    said: str | None = None,
    options: Mapping[str, str] | None = None,
    as_json: bool = False,
) -> NoReturn:
    """Print what is wrong and where the folder is that holds what was done, and end with the exit status.

    `status`: in place of wrong input (2) or failed (70). `said`: in place of the error's own words. `options`: the
    option's name by a field's name. With `as_json` the standard output gets a document with the `error`, too.
    """
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        error = ScenarioError("path", error.filename, "longer than a name of a file can be", "a shorter one")
    if isinstance(error, NetsimError):
        _add_place(error)
    if isinstance(error, ScenarioError) and options is not None:
        named = [replace(one, field=options.get(one.field, one.field)) for one in error.each()]
        error = together(named)
    if isinstance(error, ImportError | SystemError):
        leave_if_stopped(error)
    code = status or (WRONG_INPUT if isinstance(error, ScenarioError) else FAILED)
    if "coroutine" in str(error):  # Python would say of it, after the last line, that it was not awaited
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    kept: dict[str, object] = {}
    page: Path | None = None
    if folder is not None and (folder / PAGE).exists():
        kept, page = {"folder": str(folder)}, folder / PAGE
    print_error(error, said=said, page=page)
    if as_json:
        write_document({"exit_status": code, "exit_reason": said or str(error), "error": _as_plain(error)} | kept)
    raise typer.Exit(code)


def cannot_write(error: OSError, out: object, *, as_json: bool) -> NoReturn:
    """`fail` with what is wrong with the folder of `--out`; the error again where the output itself takes no more."""
    if error.filename == "standard output":
        raise error
    fail(ScenarioError("--out", str(out), not_written(error), "a folder to write to"), as_json=as_json)


def print_error(error: Exception, before: str = "", *, said: str | None = None, page: Path | None = None) -> None:
    """Print an error with its notes, a hint last; a defect, which netsim does not raise on purpose, with its
    traceback, from the user's own code on where it came through that. `page`: of what was done until then."""
    full = isinstance(error, OSError) and error.errno in _NO_ROOM
    closed = isinstance(error, OSError) and error.errno in _NOT_ALLOWED and error.filename is not None
    if isinstance(error, NetsimError):
        _add_place(error)
    elif not isinstance(error, MemoryError) and not full and not closed:
        from scenarios.schema.own_code import own_frames  # needs what algorithms need

        if frames := own_frames(error):
            lines = "".join(traceback.format_list(frames))
            problems.print(f"In your code:\n{escape(lines)}", highlight=False, soft_wrap=True, end="")
        else:
            traceback.print_exception(error)
    if page is not None:
        print_place("What was done until then:", page, to=problems)
    words = [(kind_of(error), brief(str(error)) if said is None else said)]
    if said is None and isinstance(error, ScenarioError):
        words = [(kind_of(one), one.sentence(as_file=True)) for one in error.each()]
    if said is None and isinstance(error, AttributeError):
        words = [(kind, text + meant(error.name or "", dir(error.obj))) for kind, text in words]
    lines = [f"{escape(before)}[bold red]{kind}[/]: {escape(visible(one))}" for kind, one in words]
    if isinstance(error, MemoryError):
        lines.append(f"it takes more than the {shown(allowed())} that are allowed here: less of it, or --memory")
    if isinstance(error, OSError) and error.errno == errno.EROFS:
        lines.append("the file system is read-only: nothing can be written there; write elsewhere")
    elif full:
        lines.append("what was written before is kept; make room, and give the same command again")
    lines += map(escape, getattr(error, "__notes__", []))
    if len(words) > 1:
        lines.append(f"{len(words)} mistakes")
    for line in lines:
        problems.say(line)


USAGE = "UsageError"
"""What the wrong use of a command is called: no such command or option, or a value that an option does not take."""
_OPTION = re.compile(r"--|-o$")
"""How the field of a mistake in an option begins; that of one in a scenario's field that is set is -o FIELD."""


def kind_of(error: Exception) -> str:
    """What an error is called before its sentence: its class, or `USAGE` where all that is wrong is in options."""
    usage = isinstance(error, ScenarioError) and all(_OPTION.match(one.field) for one in error.each())
    return USAGE if usage else type(error).__name__


def _add_place(error: NetsimError) -> None:
    """Name the user's line that an error came through, where code of theirs was loaded at all."""
    if (own_code := sys.modules.get("scenarios.schema.own_code")) is not None:
        own_code.add_place(error)


def _as_plain(error: Exception) -> dict[str, object]:
    """An error for machines: `type`, `message`, and of a `ScenarioError` all `mistakes`, each with where it is and
    what is allowed."""
    plain: dict[str, object] = {"type": kind_of(error), "message": brief(str(error))}
    if isinstance(error, ScenarioError):
        names = ("file", "line", "field", "value", "problem", "allowed")
        mistakes = [{name: getattr(one, name) for name in names} for one in error.each()]
        for one in mistakes:
            one["value"] = short(one["value"])
            one |= {name: brief(value) for name, value in one.items() if isinstance(value, str) and name != "file"}
        plain["mistakes"] = mistakes
    return plain


def in_parts(text: Text, width: int) -> Text:
    """A text whose words that are longer than a column go on in the next line where a part of them ends."""
    ends: list[int] = []
    for word in re.finditer(r"\S+", text.plain):
        begin = word.start()
        cuts = [*(found.start() for found in PARTS.finditer(text.plain, *word.span())), word.end()]
        for cut, after in pairwise(cuts):
            if cell_len(text.plain[begin:after]) > width:
                ends.append(cut)
                begin = cut
    return Text("\n", style=text.style).join(text.divide(ends)) if ends else text


def leaves(fields: Sequence[str], algorithms: Sequence[str] = ()) -> list[str]:
    """Dotted fields by their last part, with so many before it as tell them apart; those of one of several
    `algorithms` with its name: rounds of private descent."""
    words = list(fields)
    for k, field in enumerate(fields):
        index, own = of_algorithm(field)
        if own and index is not None and index < len(algorithms) > 1:
            words[k] = f"{own} of {algorithms[index]}"
    others = iter(_last_parts([field for field, word in zip(fields, words, strict=True) if field == word]))
    return [next(others) if field == word else word for field, word in zip(fields, words, strict=True)]


def of_algorithm(field: str) -> tuple[int | None, str]:
    """The number of the algorithm that a dotted field belongs to, and its path within; None for any other field."""
    found = _ALGORITHM.fullmatch(field)
    return (int(found[1]), found[2]) if found else (None, field)


def _last_parts(fields: Sequence[str]) -> list[str]:
    parts = [field.split(".") for field in fields]
    lengths = [1] * len(fields)
    while True:
        named = [".".join(one[-n:]) for one, n in zip(parts, lengths, strict=True)]
        double = [k for k, name in enumerate(named) if named.count(name) > 1 and lengths[k] < len(parts[k])]
        if not double:
            return named
        for k in double:
            lengths[k] += 1
