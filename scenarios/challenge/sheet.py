"""A student's score sheet: what became of each challenge, and the answers in lessons of the lab.

It is a chain of entries that an instructor collects and checks. Each entry has a hash of itself and all before it,
and the sheet a seal of the last one: a sheet that was edited by hand shows it, and nothing is added to it any more.
Who computes hashes can forge the chain, but no right answer: those are compared with ones made again, challenges from
the key, answers in a lesson by the lesson itself (`scenarios.lab.key`).
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

import netsim
from netsim.errors import ScenarioError
from scenarios.challenge.folder import (
    FILE,
    PUBLIC_KEY,
    SHEET,
    answer_of,
    check_name,
    fingerprint,
    own_file,
    posed,
    read_file,
    salted,
)
from scenarios.challenge.table import CHALLENGES, named
from scenarios.results.base import Result, as_json, write_text

Event = Literal["posed", "hint", "wrong", "solved"]
A_LEVEL, A_HINT, A_WRONG = 10, 2, 1
"""Points of a challenge by level, less for each hint and each wrong answer; at least one a level."""


class Entry(Result):
    """One thing that happened; `hash` is that of the challenge's answer."""

    at: str
    challenge: str
    event: Event
    answer: str | None = None
    hash: str
    link: str


class Answer(Result):
    """An answer in a lesson: `question` is its name in the notebook, `settings` the values of the lesson's widgets
    then. No `answer`: the settings are the answer."""

    at: str
    lesson: str
    question: str
    answer: str | None
    right: bool
    settings: Mapping[str, JsonValue]
    link: str


class _Standing(Result):
    """How far a student is with one challenge."""

    challenge: str
    level: int
    solved: bool
    hints: int
    wrong: int

    @property
    def points(self) -> int:
        lost = A_HINT * self.hints + A_WRONG * self.wrong
        return max(A_LEVEL * self.level - lost, self.level) if self.solved else 0


class Sheet(Result):
    """Entries of one student; `key` is the fingerprint of the key that made the challenges, `version` that of the
    netsim with which the sheet was begun."""

    student: str
    version: str
    key: str
    entries: tuple[Entry | Answer, ...] = ()
    seal: str = ""

    @classmethod
    def of(cls, student: str, key: bytes) -> "Sheet":
        """An empty sheet."""
        one = cls(student=student, version=netsim.__version__, key=fingerprint(key))
        return replace(one, seal=one.sealed())

    @classmethod
    def read(cls, path: Path) -> "Sheet":
        """You get a `ScenarioError` for a file that is no sheet."""
        found = read_file(cls, path, "sheet")
        names = [name for one in found.entries for name in _names(one)]
        for one in (found.student, found.version, *names):
            check_name(one, str(path))  # they are printed
        return found

    def write(self, path: Path) -> None:
        write_text(path, as_json(asdict(self)))

    def with_entry(self, challenge: str, event: Event, hashed: str, answer: str | None = None) -> "Sheet":
        return self._with(Entry(at=_now(), challenge=challenge, event=event, answer=answer, hash=hashed, link=""))

    def with_answer(
        self, lesson: str, question: str, answer: str | None, right: bool, settings: Mapping[str, JsonValue]
    ) -> "Sheet":
        """Also with an answer in a lesson. A question that was answered right is done; the same wrong answer twice in
        a row, which a slider that was moved may have had checked again, is one."""
        before = [one for one in self.answers if (one.lesson, one.question) == (lesson, question)]
        if any(one.right for one in before) or (before and not right and before[-1].answer == answer):
            return self
        one = Answer(
            at=_now(), lesson=lesson, question=question, answer=answer, right=right, settings=settings, link=""
        )
        return self._with(one)

    def _with(self, entry: Entry | Answer) -> "Sheet":
        entry = replace(entry, link=self._link(self._last(len(self.entries)), entry))
        longer = replace(self, entries=(*self.entries, entry))
        return replace(longer, seal=longer.sealed())

    @property
    def answers(self) -> list[Answer]:
        """Answers in lessons, in order of time."""
        return [one for one in self.entries if isinstance(one, Answer)]

    def sealed(self) -> str:
        return _hash("seal", self._last(len(self.entries)), len(self.entries))

    def _last(self, count: int) -> str:
        return self.entries[count - 1].link if count else _hash("sheet", self.student, self.version, self.key)

    def _link(self, before: str, entry: Entry | Answer) -> str:
        return _hash(before, {name: value for name, value in asdict(entry).items() if name != "link"})

    def has(self, challenge: str) -> bool:
        """Whether the challenge was made."""
        return any(isinstance(one, Entry) and one.challenge == challenge for one in self.entries)

    def standing(self, challenge: str) -> _Standing:
        """You get a `StopIteration` for a challenge that is none."""
        level = next(one.level for one in CHALLENGES if one.name == challenge)
        own = [one.event for one in self.entries if isinstance(one, Entry) and one.challenge == challenge]
        return _Standing(
            challenge=challenge,
            level=level,
            solved="solved" in own,
            hints=own.count("hint"),
            wrong=own.count("wrong"),
        )

    def standings(self) -> list[_Standing]:
        """Of all challenges, in their order."""
        return [self.standing(one.name) for one in CHALLENGES]

    def faults(self, key: bytes) -> Iterator[str]:
        """What is wrong with it, a sentence each; solved challenges are made again from the key. Answers in lessons
        are checked where the lessons are."""
        if self.key != fingerprint(key):
            of = "the public key" if self.key == fingerprint(PUBLIC_KEY) else "another key"
            yield f"its challenges were made with {of}"
            return
        yield from self.alterations()
        if self.version != netsim.__version__:
            yield f"it is of netsim {self.version}, and this is {netsim.__version__}, which may make other challenges"
        before = set[tuple[str, str]]()
        for number, one in enumerate(self.entries):
            if isinstance(one, Answer):
                continue
            challenge, twice = named(one.challenge), (one.challenge, "solved") in before
            before.add((one.challenge, one.event))
            if challenge is None:
                yield f"entry {number + 1}: there is no challenge {one.challenge!r}"
            elif (one.challenge, "posed") not in before:
                yield f"entry {number + 1}: {one.challenge} was not made before it was played"
            elif one.event == "solved" and twice:
                yield f"entry {number + 1}: {one.challenge} was solved before"
            elif one.event == "solved":
                made = posed(challenge, self.student, key)
                if one.hash != salted(challenge, made, self.student, key)[1]:
                    yield f"entry {number + 1}: {one.challenge} is not this student's"
                elif one.answer != answer_of(challenge, made):
                    yield f"entry {number + 1}: {one.challenge} is not solved by {one.answer!r:.60}"

    def alterations(self) -> Iterator[str]:
        """What was edited by hand, a sentence each; none where the chain and the seal are right."""
        for number, one in enumerate(self.entries):
            if one.link != self._link(self._last(number), one):
                yield f"entry {number + 1} ({', '.join(_names(one))}) or the one before it was altered"
        if self.seal != self.sealed():
            yield "entries at its end were altered or removed"


def _names(one: Entry | Answer) -> tuple[str, ...]:
    """What an entry is of; it is printed."""
    return (one.lesson, one.question) if isinstance(one, Answer) else (one.challenge, one.event)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _hash(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def sheet_in(folder: Path) -> Sheet | None:
    """The sheet of a folder; None where there is none yet. You get a `ScenarioError` for one that was edited: sealed
    anew with another entry it would pass for right."""
    if not (folder / SHEET).exists():
        return None
    found = Sheet.read(folder / SHEET)
    if (fault := next(found.alterations(), None)) is not None:
        raise ScenarioError("sheet", str(folder / SHEET), fault, "the sheet as netsim wrote it")
    return found


def begun(folder: Path, student: str | None, key: bytes | None) -> Sheet:
    """The sheet of a folder, or a new one. You get a `ScenarioError` where it, or a challenge that is there without
    a sheet, is of another student or key."""
    there = joined(folder, student)
    if there is None:
        if not student:
            raise ScenarioError("--student", student, "missing: every student has answers of their own", "a name")
        check_name(student, "--student")
        new = Sheet.of(student, key or PUBLIC_KEY)
        for one in CHALLENGES:
            if (folder / one.name / FILE).exists():
                own_file(folder / one.name, one.name, new.student, new.key)
        return new
    if there.key != fingerprint(key or PUBLIC_KEY):
        why = "the challenges of this folder were made with another key"
        allowed = "the instructor's --key; who has the folder already needs none to answer"
        raise ScenarioError("--key", None if key is None else "…", why, allowed)
    return there


def joined(folder: Path, student: str | None) -> Sheet | None:
    """The sheet that is in a folder, whoever's key made it. You get a `ScenarioError` for another student's."""
    there = sheet_in(folder)
    if there is not None and student not in (None, there.student):
        why = f"{folder} is of student {there.student!r}"
        raise ScenarioError("--student", student, why, "another folder: --out FOLDER")
    return there
