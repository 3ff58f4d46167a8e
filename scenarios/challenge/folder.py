"""A challenge for one student: made from a key, written to a folder, opened by who solves it.

Everything private is drawn from HMAC-SHA256(key, challenge and student). With the public key, which is used where
none is given, whoever knows the student's name can make the answer again: an honour system. With a key that the
instructor keeps nobody else can. The folder has the salted hash of the answer alone.
"""

import hashlib
import hmac
import json
import re
import shutil
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

import netsim
from netsim.adversary import Adversary, AdversaryView
from netsim.errors import ScenarioError, SimulationError
from netsim.files import check_regular, read_json
from netsim.settings import Recording
from netsim.shown import Shown
from netsim.transcript import Transcript
from netsim.transcript.stored import StreamedTranscript
from scenarios.build.experiment import Experiment
from scenarios.challenge.table import Challenge, named
from scenarios.challenge.worlds import Posed
from scenarios.files.folders import whole
from scenarios.files.models import dump
from scenarios.results.base import Edge, Result, write_text
from scenarios.schema.load import load_scenario
from scenarios.schema.own import PythonSpec

T = TypeVar("T")

PUBLIC_KEY = b"netsim"
"""The key where the instructor gives none."""
SHORTEST = 16
"""Bytes of an instructor's key, at least: less can be guessed."""
WORK = 2**14
"""Cost of a hash of an answer or a key: some 50 ms."""
MOST_BYTES = 1_000_000
"""Of a sheet, a challenge.json, a key."""
ATTEMPTS = 1000
FILE, PUBLIC, README, SHEET = "challenge.json", "public.yaml", "README.md", "sheet.json"
CAPTURE = "capture.pcapng"
"""TCP packets that were tapped, where the challenge was run live."""
LONGEST = 60
_UNSEEN = re.compile("[\u115f\u1160\u034f\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Letters and marks that nobody sees."""


class _RecordingFile(Result):
    """One transcript of the folder: whose algorithm of public.yaml it is of, and the tapped links where they are not
    those of public.yaml."""

    algorithm: str
    links: tuple[Edge, ...] | None = None


class ChallengeFile(Result):
    """challenge.json: all of a challenge but its answer; `key` is the fingerprint of the key that made it, `version`
    that of netsim. `files`: SHA-256 of what it is solved from, by name."""

    challenge: str
    version: str
    student: str
    key: str
    question: str
    form: str
    salt: str
    hash: str
    recordings: Mapping[str, _RecordingFile]
    files: Mapping[str, str]


def key_from(path: Path | None) -> bytes:
    """The instructor's key. You get a `ScenarioError` for a file that cannot be read or is too short."""
    if path is None:
        return PUBLIC_KEY
    try:
        check_regular(path, MOST_BYTES)
        key = path.read_bytes().strip()
    except OSError as error:
        raise ScenarioError(
            "--key", str(path), f"cannot be read ({error.strerror})", "a file with a secret"
        ) from None
    if len(key) < SHORTEST:
        raise ScenarioError("--key", str(path), f"{len(key)} bytes can be guessed", f">= {SHORTEST} bytes, random")
    return _slow(key, b"netsim challenge key")  # its fingerprint is in every folder, and could be searched


def _slow(secret: bytes, salt: bytes) -> bytes:
    """A salted scrypt hash."""
    return hashlib.scrypt(secret, salt=salt, n=WORK, r=8, p=1, dklen=32)


def _digest(answer: str, salt: str) -> str:
    """A salted hash in hex digits: trying all answers is slower than looking."""
    return _slow(answer.encode(), bytes.fromhex(salt)).hex()


def _secret(key: bytes, challenge: str, student: str, purpose: str) -> bytes:
    return hmac.digest(key, json.dumps([challenge, student, purpose]).encode(), "sha256")


def posed(challenge: Challenge, student: str, key: bytes) -> Posed:
    """The challenge for a student, answer included. PRIVATE."""
    for attempt in range(ATTEMPTS):
        seed = int.from_bytes(_secret(key, challenge.name, student, f"world {attempt}"))
        if (found := challenge.build(np.random.default_rng(seed))) is not None:
            return found
    raise SimulationError(f"{challenge.name}: none of {ATTEMPTS} worlds has a clear answer")


def answer_of(challenge: Challenge, one: Posed) -> str:
    """The right answer in its one spelling. PRIVATE."""
    return challenge.form.read(",".join(one.answer))


def salted(challenge: Challenge, one: Posed, student: str, key: bytes) -> tuple[str, str]:
    """Salt and hash of the right answer; both are in the folder."""
    salt = _secret(key, challenge.name, student, "salt")[:16].hex()
    return salt, _digest(answer_of(challenge, one), salt)


def fingerprint(key: bytes) -> str:
    """A short hash that tells keys apart."""
    return hashlib.sha256(b"netsim challenge key" + key).hexdigest()[:12]


def write(challenge: Challenge, student: str, key: bytes, folder: Path, *, live: bool = False) -> ChallengeFile:
    """Make the challenge and write its folder: transcripts, public.yaml, challenge.json, README.md.

    `live`: agents are processes that talk over loopback, capture.pcapng has what was tapped, and the transcript is
    rebuilt from it. You get a `ScenarioError` where the challenge is not one that allows that.
    """
    one = posed(challenge, student, key)
    if live and one.simulation is None:
        raise ScenarioError("--live", challenge.name, "is simulated, and in no other way", "first-flag, signs")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CAPTURE).unlink(missing_ok=True)  # one of an earlier run is not that of this transcript
    if live:
        one = _tapped(one, folder)
    for there in (folder / name for name in (FILE, PUBLIC, README, *(f"{name}.parquet" for name in one.views))):
        if there.exists():
            check_regular(there)  # who writes to a pipe may wait for ever
    recordings: dict[str, _RecordingFile] = {}
    for name, view in one.views.items():
        _record(view.transcript, folder / f"{name}.parquet")
        links = view.adversary.links if isinstance(view.adversary.links, tuple) else None
        several = len(one.views) > 1 and links
        recordings[name] = _RecordingFile(algorithm=one.algorithms[name], links=links if several else None)
    salt, hashed = salted(challenge, one, student, key)
    write_text(folder / PUBLIC, dump(one.public).rstrip())
    found = ChallengeFile(
        challenge=challenge.name,
        version=netsim.__version__,
        student=student,
        key=fingerprint(key),
        question=challenge.question.format(**one.facts),
        form=str(challenge.form),
        salt=salt,
        hash=hashed,
        recordings=recordings,
        files={name: _hash_of(folder / name) for name in _solved_from(recordings)},
    )
    write_text(folder / FILE, TypeAdapter(ChallengeFile).dump_json(found, indent=1).decode())
    write_text(folder / README, _readme(challenge, found, live))
    return found


def _tapped(one: Posed, folder: Path) -> Posed:
    """The challenge as it is when every agent is a process and its links are TCP on this machine."""
    from netsim.readers.deployed.deploy import deploy
    from netsim.readers.deployed.relay import capture_path

    assert one.simulation is not None
    simulation = replace(one.simulation, recording=Recording(measure=False, private="nothing"))
    with TemporaryDirectory(prefix="netsim-challenge-") as place:
        (view,) = deploy(simulation, Path(place)).views
        with whole(folder / CAPTURE) as draft:
            shutil.copyfile(capture_path(Path(place), view.adversary), draft)
    return replace(one, views=dict.fromkeys(one.views, view))


def _solved_from(recordings: Mapping[str, _RecordingFile]) -> list[str]:
    """Names of the files of a challenge that are no words about it."""
    return [PUBLIC, *(f"{name}.parquet" for name in recordings)]


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _record(transcript: Transcript, path: Path) -> None:
    """Write a transcript so that its file is as large whatever its numbers are: with a dictionary, or compressed, a
    run with fewer distinct numbers (noise used twice, left out, or the same in all coordinates) is a smaller file."""
    from scenarios.results.tables import stored_plainly  # needs pyarrow, which takes its time to load

    with whole(path) as draft:
        transcript.write(draft)
        stored_plainly(draft)


def _readme(challenge: Challenge, made: ChallengeFile, live: bool) -> str:
    files = ", ".join(f"`{name}.parquet`" for name in made.recordings)
    tapped = f"\n- `{CAPTURE}`: the TCP packets that it was made from, for Wireshark or tshark." if live else ""
    return f"""# {challenge.title}

{made.question}

Answer: {made.form}.

- {files}: what the eavesdropper recorded, columns as in docs/results-reference.md.{tapped}
- `{PUBLIC}`: what is public: the published algorithm and its parameters, the graph, the taps, the kind of the
  problem. Its seeds are not those of the run, so its records and noise are others; and agents may not do what is
  published, where the question says so.
- `{FILE}`: question, salt and hash of the answer. The answer itself is in no file.

```python
from scenarios.challenge import opened

view = opened(".").view    # views["NAME"] where there are several
```

    netsim challenge {challenge.name} --answer …      (--hint for a hint, which is counted)

beside the folder `challenges`; where it has another name, with --out and the folder that has {SHEET}."""


def read_file(kind: type[T], path: Path, field: str) -> T:
    """A JSON file of this kind. You get a `ScenarioError` for what is none."""
    try:
        return TypeAdapter(kind).validate_python(read_json(path, MOST_BYTES))
    except OSError as error:
        why = f"cannot be read ({error.strerror or error})"
        raise ScenarioError(field, str(path), why, "a file that netsim wrote") from None
    except ValidationError as error:
        first: Any = error.errors()[0]
        where = ".".join(map(str, first["loc"])).encode("unicode_escape").decode() or "the file"  # keys are theirs
        why = f"{where}: {first['msg'][0].lower()}{first['msg'][1:]}"
        raise ScenarioError(field, str(path), why, "a file that netsim wrote") from None
    except ValueError as error:
        raise ScenarioError(field, str(path), f"invalid JSON: {error}", "a file that netsim wrote") from None


def check_name(student: str, field: str) -> None:
    """You get a `ScenarioError` for a name that could pass for another, or for more of a line of `--check`: letters,
    digits and a few signs, one space at a time, and nothing that looks the same and is not."""
    written = unicodedata.normalize("NFKC", student) == student == student.strip() and "  " not in student
    known = all(c in " .,'’_@+-" or unicodedata.category(c)[0] in "LMN" for c in student) and student
    if not written or not known or len(student) > LONGEST or _UNSEEN.search(student):
        allowed = f"at most {LONGEST} letters and digits, as they are usually written, single spaces, . , ' _ @ + -"
        raise ScenarioError(field, student, "is no plain name", allowed)


def _file_in(folder: Path) -> ChallengeFile:
    """The challenge.json of a challenge's folder. You get a `ScenarioError` for one that netsim did not write so."""
    path = folder / FILE
    found = read_file(ChallengeFile, path, "challenge")
    check_name(found.student, "student")
    for name, value, digits in (("salt", found.salt, 32), ("hash", found.hash, 64)):
        if re.fullmatch(f"[0-9a-f]{{{digits}}}", value) is None:
            raise ScenarioError(
                "challenge", str(path), f"{name}: not {digits} hex digits", "a file that netsim wrote"
            )
    if not found.recordings or not all(re.fullmatch("[a-z-]+", name) for name in found.recordings):
        why = "recordings: none, or not names of transcripts"
        raise ScenarioError("challenge", str(path), why, "a file that netsim wrote")
    return found


def own_file(folder: Path, challenge: str, student: str, key: str) -> ChallengeFile:
    """`_file_in`, of this challenge, student and fingerprint of a key. You get a `ScenarioError` for another's."""
    found = _file_in(folder)
    for what, theirs, ours in (("of challenge", found.challenge, challenge), ("of student", found.student, student)):
        if theirs != ours:
            why = f"is {what} {theirs!r}, not {ours!r}"
            raise ScenarioError("challenge", str(folder / FILE), why, "another folder: --out FOLDER")
    if found.key != key:
        why = "was made with another key"
        raise ScenarioError("challenge", str(folder / FILE), why, "the instructor's --key, or another --out FOLDER")
    return found


def is_whole(folder: Path, file: ChallengeFile) -> bool:
    """Whether all that the challenge is solved from is still there, as it was made."""
    names = _solved_from(file.recordings)
    there = all((folder / name).is_file() for name in (README, *names))
    return there and all(_hash_of(folder / name) == file.files.get(name) for name in names)


@dataclass(frozen=True)
class Opened(Shown):
    """A challenge as who solves it has it: the question, and a view for each transcript. Its hints are counted, and
    not here."""

    challenge: Challenge
    file: ChallengeFile
    views: Mapping[str, AdversaryView]

    __repr__ = Shown.__repr__

    def facts(self) -> dict[str, object]:
        """Which challenge it is, and what there is to read."""
        return {
            "challenge": self.challenge.name,
            "views": ", ".join(self.views),
            "has": "question, views, right(answer)",
        }

    @property
    def view(self) -> AdversaryView:
        """The only view. You get a `ScenarioError` where there are several."""
        if len(self.views) > 1:
            raise ScenarioError("view", self.file.challenge, "several views", f"views[…]: {', '.join(self.views)}")
        return next(iter(self.views.values()))

    @property
    def question(self) -> str:
        return self.file.question

    def right(self, answer: str) -> bool:
        """`is_right` of this challenge."""
        return is_right(self.challenge, self.file, answer)


def is_right(challenge: Challenge, file: ChallengeFile, answer: str) -> bool:
    """Whether the hash of an answer is that of the right one; nothing is counted.

    You get a `ScenarioError` for an answer that is not in the form.
    """
    return hmac.compare_digest(_digest(challenge.form.read(answer), file.salt), file.hash)


def opened(folder: str | Path) -> Opened:
    """A challenge's folder: its question, and what was recorded and is public. No code of the folder is run.

    You get a `ScenarioError` where it is none, or where a file is not the one that was made.
    """
    folder = Path(folder)
    file = _file_in(folder)
    if (challenge := named(file.challenge)) is None:
        raise ScenarioError("challenge", file.challenge, "no such challenge", "the names of `netsim challenge`")
    if not is_whole(folder, file):
        why = "a file is missing, or not as it was made"
        raise ScenarioError("challenge", str(folder), why, f"netsim challenge {challenge.name}: it is made again")
    scenario = load_scenario(folder / PUBLIC).scenario
    if any(isinstance(one, PythonSpec) for one in scenario.algorithms):
        raise ScenarioError("algorithms", "kind: python", "no challenge has code of somebody's own", "…")
    experiment = Experiment.of(scenario)
    views: dict[str, AdversaryView] = {}
    for name, one in file.recordings.items():
        subject = experiment.subject(one.algorithm)
        simulation = subject.attacked or subject.simulation
        adversary = simulation.adversaries[0] if one.links is None else Adversary(name, one.links)
        transcript = Transcript.stored(StreamedTranscript.open(folder / f"{name}.parquet"))
        views[name] = AdversaryView(adversary, transcript, simulation.public())
    return Opened(replace(challenge, hints=()), file, views)
