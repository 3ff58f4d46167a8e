"""Command `netsim challenge`: transcripts with a question, and score sheets."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.markup import escape

from netsim.errors import NetsimError, ScenarioError, meant
from scenarios.cli.options import AsJson, command, given, refuse, taken
from scenarios.files.folders import held
from scenarios.lab.course import FOLDER
from scenarios.render.tables import Column, have_room, print_below, stacked
from scenarios.render.terminal import (
    DONE,
    REFUTED,
    WRONG_INPUT,
    cannot_write,
    console,
    fail,
    line,
    print_error,
    print_place,
    print_steps,
    program,
    remark,
    visible,
    write_document,
)

if TYPE_CHECKING:
    from scenarios.challenge.folder import ChallengeFile
    from scenarios.challenge.sheet import Sheet
    from scenarios.challenge.table import Challenge

ALL = "all"
_MOST = 5
"""Faults of one sheet that are printed; --json has all."""


@command(
    "challenge",
    "netsim challenge",
    "netsim challenge first-flag --student ada",
    "netsim challenge first-flag --answer 3,0,7,5",
    "netsim challenge --check sheets/*.json --key key.txt",
)
def _challenge(
    names: Annotated[
        list[str] | None,
        taken(metavar="NAME", help="A challenge, or all; with --check score sheets. Default: list the challenges."),
    ] = None,
    student: Annotated[
        str | None, given(metavar="NAME", help="Whose challenge it is: answers differ. Default: the sheet's.")
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder of one student's challenges and score sheet.")
    ] = Path(FOLDER),
    hint: Annotated[bool, typer.Option("--hint", help="Print the next hint; it is counted.")] = False,
    answer: Annotated[str | None, given(metavar="TEXT", help="Answer; a wrong one is counted.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Check score sheets against answers made again.")] = False,
    key: Annotated[Path | None, given(metavar="FILE", help="The instructor's secret. Default: a public one.")] = None,
    lessons: Annotated[
        Path | None,
        given(metavar="FOLDER", help="With --check: lessons of your own that were answered. Default: netsim's."),
    ] = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Make first-flag or signs anew: agents are processes on loopback, capture.pcapng is the tap.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Thirty transcripts, each with a question that has to be answered from what was recorded and what is public.

    netsim challenge NAME --student ada

    makes one in ./challenges/NAME: the transcript, public.yaml, the question. Only a salted hash of the answer is
    there. --hint and --answer go on the score sheet, ./challenges/sheet.json, and so do answers in the lessons of
    `netsim lab --student ada`; --check checks collected ones.

    Exit status: 0 done, 1 a wrong answer, or a sheet that does not hold, 2 wrong input, also one sheet of many.
    """
    from scenarios.challenge.folder import key_from

    try:
        given_names = names or []
        if check:
            for option, value in (("--answer", answer), ("--hint", hint), ("--student", student), ("--live", live)):
                refuse(option, value, "nothing is played while sheets are checked", "without --check")
            refuse("sheets", not given_names, "missing: --check needs score sheets", "sheet.json of students")
            _check([Path(one) for one in given_names], key_from(key), lessons, as_json)
        refuse("--lessons", lessons, "only of use to check sheets", "with --check")
        plays = hint or answer is not None
        if hint and answer is not None:
            raise ScenarioError("--hint", True, "beside --answer", "one of the two at a time")
        if len(given_names) > 1 or (plays and given_names == [ALL]):
            allowed = "one name; quotes around an answer with spaces"
            raise ScenarioError("name", " ".join(given_names), "one challenge at a time", allowed)
        if plays and given_names:
            _posed(_named(given_names[0]), out)  # one that is not made is to be made first, for this student
        if plays or not given_names:
            for option, value in (("--student", student), ("--key", key), ("--live", live)):
                refuse(option, value, "only of use to make a challenge", "with NAME, or all")
        if not given_names:
            if plays:
                raise ScenarioError("NAME", None, "missing: which challenge?", "a name of `netsim challenge`")
            _list(out, as_json)
        name = given_names[0]
        if plays:
            challenge = _named(name)
            with held(out, f"netsim challenge {name}"):  # of two that add to a sheet one would be lost
                if answer is not None:
                    _answer(challenge, out, answer, as_json)
                _hint(challenge, out, as_json)
        _make(name, student, out, None if key is None else key_from(key), live, as_json)
    except NetsimError as error:
        fail(error, as_json=as_json)
    except OSError as error:
        cannot_write(error, out, as_json=as_json)


def _named(name: str) -> "Challenge":
    from scenarios.challenge.table import CHALLENGES, named

    if (found := named(name)) is None:
        why = f"no such challenge{meant(name, (one.name for one in CHALLENGES))}"
        raise ScenarioError("name", name, why, "a name of `netsim challenge`, or all")
    return found


def _list(folder: Path, as_json: bool) -> NoReturn:
    from scenarios.challenge.sheet import sheet_in
    from scenarios.challenge.table import CHALLENGES

    sheet = sheet_in(folder)
    standings = None if sheet is None else sheet.standings()
    if as_json:
        rows = [{"name": one.name, "level": one.level, "title": one.title} for one in CHALLENGES]
        done = None if sheet is None else _summary(sheet)
        write_document({"challenges": rows, "sheet": done})
        raise typer.Exit(DONE)
    columns = [
        Column("    challenge", [f"{k:2}  [bold]{one.name}[/]" for k, one in enumerate(CHALLENGES, 1)], whole=True),
        Column("level", [str(one.level) for one in CHALLENGES], right=True, whole=True),
    ]
    if standings is not None:
        columns += [
            Column("", ["solved" if one.solved else "" for one in standings], whole=True),
            Column("hints", [str(one.hints or "") for one in standings], right=True, whole=True),
            Column("wrong", [str(one.wrong or "") for one in standings], right=True, whole=True),
        ]
    columns.append(Column("title", [escape(one.title) for one in CHALLENGES], at_least=12))
    if have_room(columns, console):
        console.print(*stacked(columns, console))
    else:
        for row in zip(*(one.cells for one in columns), strict=True):
            known = [f"{one.head} {cell}".strip() for one, cell in zip(columns[1:-1], row[1:-1], strict=True) if cell]
            print_below(row[0], [f"{', '.join(known)}: {row[-1]}"], console)
    if sheet is not None:
        line(_words(sheet))
    else:
        print_place("Begin with:", f"{program()} challenge {CHALLENGES[0].name} --student YOUR-NAME")
    raise typer.Exit(DONE)


def _summary(sheet: "Sheet") -> Mapping[str, object]:
    standings = [one for one in sheet.standings() if one.solved or one.hints or one.wrong]
    found: dict[str, object] = {
        "student": sheet.student,
        "solved": sum(one.solved for one in standings),
        "points": sum(one.points for one in standings),
        "challenges": [asdict(one) | {"points": one.points} for one in standings],
    }
    kept = ("at", "lesson", "question", "answer", "right")
    answers = [{name: getattr(one, name) for name in kept} for one in sheet.answers]
    return found | ({"answers": answers} if answers else {})


def _words(sheet: "Sheet") -> str:
    from scenarios.challenge.table import CHALLENGES

    found, right = _summary(sheet), sum(one.right for one in sheet.answers)
    asked = len({(one.lesson, one.question) for one in sheet.answers})
    lessons = f"; {right} of {asked} questions of lessons right" if asked else ""
    return f"{sheet.student}: {found['solved']} of {len(CHALLENGES)} solved, {found['points']} points{lessons}"


def _make(name: str, student: str | None, out: Path, key: bytes | None, live: bool, as_json: bool) -> NoReturn:
    """Make a challenge, or all; one that is there is shown again, and `live` run anew."""
    from scenarios.challenge import folder, sheet
    from scenarios.challenge.table import CHALLENGES

    refuse("--live", live and name == ALL, "one challenge at a time", "with a name")
    chosen = list(CHALLENGES) if name == ALL else [_named(name)]

    def begun() -> "Sheet":
        there = sheet.sheet_in(out) if student is None and key is None else None
        return sheet.begun(out, student, key) if there is None else there

    begun()  # what is refused leaves no folder
    before = (out / name / folder.FILE).exists()
    out.mkdir(parents=True, exist_ok=True)
    places = (out, *(out / one.name for one in chosen))
    with held(out, f"netsim challenge {name}", drafts=places):
        own, shown = _made(chosen, begun(), out, key, live)  # again: another command may have begun one meanwhile
    if as_json:
        write_document({"folder": str(out), "challenges": [asdict(one) for one in shown]})
    elif name == ALL:
        print_place(f"{len(shown)} challenges of {shown[0].student} in", out)
    else:
        one = shown[0]
        line(visible(f"{chosen[0].title}\n\n{one.question}\n"))
        files = [*(f"{each}.parquet" for each in one.recordings), "public.yaml", folder.README]
        files += [folder.CAPTURE] if (out / name / folder.CAPTURE).exists() else []
        there = f"In {out / name}{', which was there before' * (before and not live)}: {', '.join(files)}"
        console.say(there, markup=False)
        place = "" if out == Path(FOLDER) else f" --out {shlex.quote(str(out))}"
        command = f"netsim challenge {name}{place}"
        steps = (
            (f"Answer ({visible(one.form)})", "--answer …"),
            (f"Hints ({len(chosen[0].hints)}, counted)", "--hint"),
        )
        print_steps("Go on:", [(words, f"{command} {option}") for words, option in steps])
        _print_hints(chosen[0], own.standing(name).hints)
    raise typer.Exit(DONE)


def _made(
    chosen: "Sequence[Challenge]", begun: "Sheet", out: Path, key: bytes | None, live: bool
) -> "tuple[Sheet, list[ChallengeFile]]":
    """Challenges as they are in the folder, made where they are not there, or not whole, and the sheet with them."""
    from scenarios.challenge import folder, sheet

    shown: list[ChallengeFile] = []
    for one in chosen:
        place = out / one.name
        there = (place / folder.FILE).exists()
        file = folder.own_file(place, one.name, begun.student, begun.key) if there else None
        if live or file is None or not folder.is_whole(place, file):
            begun = sheet.begun(out, begun.student, key)  # the key that is needed to make it
            remark(f"making {one.name}" if len(chosen) > 1 else "")
            file = folder.write(one, begun.student, key or folder.PUBLIC_KEY, place, live=live)
        longer = _with_posed(begun, file)
        if longer is not begun:
            longer.write(out / folder.SHEET)
        begun = longer
        shown.append(file)
    return begun, shown


def _with_posed(sheet: "Sheet", file: "ChallengeFile") -> "Sheet":
    """The sheet, on which the challenge is as one that was made: it may have been begun anew, or not been written
    any more."""
    if sheet.has(file.challenge):
        return sheet
    return sheet.with_entry(file.challenge, "posed", file.hash)


def _print_hints(challenge: "Challenge", count: int) -> None:
    for number, one in enumerate(challenge.hints[:count], 1):
        line(f"Hint {number} of {len(challenge.hints)}: {one}")


def _hint(challenge: "Challenge", out: Path, as_json: bool) -> NoReturn:
    from scenarios.challenge import folder

    own, file = _posed(challenge, out)
    before = own.standing(challenge.name)
    counts = before.hints < len(challenge.hints) and not before.solved
    if counts:
        own.with_entry(challenge.name, "hint", file.hash).write(out / folder.SHEET)
    count = before.hints + 1 if counts else len(challenge.hints)
    if as_json:
        hints = list(challenge.hints[:count])
        write_document({"challenge": challenge.name, "hints": hints, "of": len(challenge.hints)})
    else:
        _print_hints(challenge, count)
    if not counts:
        remark("None was counted.")
    raise typer.Exit(DONE)


def _answer(challenge: "Challenge", out: Path, text: str, as_json: bool) -> NoReturn:
    from scenarios.challenge import folder

    own, file = _posed(challenge, out)
    spelled, right = challenge.form.read(text), folder.is_right(challenge, file, text)
    before = own.standing(challenge.name)
    if not before.solved:
        own = own.with_entry(challenge.name, "solved" if right else "wrong", file.hash, spelled)
        own.write(out / folder.SHEET)
    now = own.standing(challenge.name)
    if as_json:
        write_document({**asdict(now), "points": now.points, "right": right})
    elif right:
        again = " (it was solved before)" if before.solved else f": {now.points} points"
        line(f"Right{again}. {_words(own)}")
    else:
        line(f"Wrong: {spelled} is not the answer; {now.wrong} wrong so far.")
    raise typer.Exit(DONE if right else REFUTED)


def _posed(challenge: "Challenge", out: Path) -> "tuple[Sheet, ChallengeFile]":
    """The sheet, which has the challenge, and a challenge that is in the folder."""
    from scenarios.challenge import folder, sheet

    own, place = sheet.sheet_in(out), out / challenge.name / folder.FILE
    if own is None or not place.exists():
        why = f"not in {out}: make it first, or say where it is"
        begin = f"{program()} challenge {challenge.name} --student YOUR-NAME"
        allowed = f"{begin}, or --out and the folder of {folder.SHEET}"
        raise ScenarioError("name", challenge.name, why, allowed)
    file = folder.own_file(place.parent, challenge.name, own.student, own.key)
    return _with_posed(own, file), file


def _examined(sheet: "Sheet", folder: Path | None) -> tuple[list[str], list[str]]:
    """Faults in a sheet's answers to lessons, and what to look at. You get a `ScenarioError` without marimo."""
    from scenarios.lab.course import lessons, need_marimo

    need_marimo("--check")
    from scenarios.lab.key import examined

    found = lessons() if folder is None else (*lessons(), *lessons(folder))
    return examined(sheet, found)


def _quoted(path: Path) -> str:
    """A name of a file, which may be somebody else's: one with spaces could pass for the rest of a line."""
    return shlex.quote(visible(str(path), lines=""))


def _check(paths: Sequence[Path], key: bytes, lessons: Path | None, as_json: bool) -> NoReturn:
    from scenarios.challenge.sheet import Sheet

    rows: list[Mapping[str, object]] = []
    read = list[tuple["Sheet", Path]]()
    missing = altered = False
    for path in paths:
        shown = _quoted(path)
        remark(f"checking {shown}" if len(paths) > 1 else "")
        try:
            one = Sheet.read(path / "sheet.json" if os.path.isdir(path) else path)
        except ScenarioError as error:
            if len(paths) == 1:
                raise
            print_error(error)
            rows.append({"file": str(path), "error": str(error)})
            missing = True
            continue
        if (same := next((there for other, there in read if other == one), None)) is not None:
            rows.append({"file": str(path), "same_as": str(same)})
            if not as_json:
                console.say(f"{shown}: the same sheet as {_quoted(same)}", markup=False)
            continue
        another = next((there for other, there in read if other.student == one.student), None)
        read.append((one, path))
        wrong, unread = list(one.faults(key)), list[str]()
        if one.answers:
            mistaken, unread = _examined(one, lessons)
            wrong += mistaken
        altered |= bool(wrong)
        other = None if another is None else str(another)
        row = {**_summary(one), "file": str(path), "holds": not wrong, "faults": wrong, "another_sheet": other}
        rows.append(row | ({"to_look_at": unread} if one.answers else {}))
        if not as_json:
            console.say(f"{shown}: {'DOES NOT HOLD' if wrong else 'holds'}. {_words(one)}", markup=False)
            if another is not None:
                console.say(f"  another sheet of this student: {_quoted(another)}", markup=False)
            for each in [*unread, *wrong[:_MOST]]:
                console.say(f"  {each}", markup=False)
            if len(wrong) > _MOST:
                line(f"  … and {len(wrong) - _MOST} more (--json lists them)")
    if as_json:
        write_document({"sheets": rows})
    raise typer.Exit(WRONG_INPUT if missing else REFUTED if altered else DONE)
