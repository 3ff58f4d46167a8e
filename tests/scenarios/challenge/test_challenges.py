"""Challenges: each is solved by its reference solution, differs between students, and has nothing private in it."""

import hashlib
import json
import math
import os
import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from netsim.errors import ScenarioError
from netsim.files import draft_of
from netsim.readers.deployed.capture import packets
from scenarios.challenge.folder import PUBLIC_KEY, answer_of, key_from, opened, posed, write
from scenarios.challenge.sheet import A_LEVEL, Entry, Sheet
from scenarios.challenge.table import CHALLENGES, Form, named
from scenarios.files.folders import held
from tests.scenarios.challenge.solutions import SOLUTIONS, solved
from tests.scenarios.command import cli

KEY = b"the instructor's own"
OWN_TAPS = ("one-door", "verdicts", "budgets")
"""Challenges whose public part is the student's own: where the tap sits, in which order algorithms come."""
NOT_AS_PUBLISHED = {
    "no-noise", "scalar-noise", "shared-seed", "half-noise", "reused-noise", "fading-noise", "bare-rounds", "law",
    "true-epsilon", "verdicts", "budgets",
}  # fmt: skip
"""Challenges in which agents run something else; in the others the published algorithm is theirs, steps included."""


@pytest.fixture(scope="module", autouse=True)
def _hashed_quickly():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scenarios.challenge.folder.WORK", 2)
        yield


@pytest.mark.parametrize("challenge", CHALLENGES, ids=lambda one: one.name)
def test_a_reference_solution_solves_it_for_two_students_from_their_folders_alone(challenge, tmp_path):
    answers, publics = list[str](), set[str]()
    for student in ("ada", "emmy"):
        folder = tmp_path / student
        file = write(challenge, student, KEY, folder)
        found = opened(folder)
        answer = solved(found)
        assert found.right(answer)
        answers.append(challenge.form.read(answer))
        assert set(file.recordings) == {one.stem for one in folder.glob("*.parquet")}
        assert {one.name for one in folder.iterdir() if one.suffix != ".parquet"} == {
            "README.md", "challenge.json", "public.yaml",
        }  # fmt: skip
        publics.add((folder / "public.yaml").read_text())
    assert answers[0] != answers[1]
    ada = opened(tmp_path / "ada")
    assert not ada.right(answers[1])
    run, public = posed(challenge, "ada", KEY).views, ada.views
    same = all(run[name].public.algorithm == public[name].public.algorithm for name in public)
    assert same == (challenge.name not in NOT_AS_PUBLISHED)
    if challenge.name not in OWN_TAPS:  # so no seed of a student's run is in it
        assert len(publics) == 1
    assert not any("seed:" in text for text in publics)


def test_thirty_in_order_of_difficulty_and_none_can_be_guessed():
    assert len({one.name for one in CHALLENGES}) == 30
    assert [one.level for one in CHALLENGES] == sorted(one.level for one in CHALLENGES)
    assert min(one.form.answers for one in CHALLENGES) >= 100
    assert all(one.hints for one in CHALLENGES)
    assert SOLUTIONS.keys() == {one.name for one in CHALLENGES}


@pytest.mark.parametrize("rule", ["any", "distinct", "set", "walk"])
def test_a_form_counts_the_answers_that_it_reads(rule):
    form = Form(("a", "b", "c", "d"), 3, rule)
    read = set[str]()
    for words in product(form.words, repeat=3):
        try:
            read.add(form.read(", ".join(words)))
        except ScenarioError:
            continue
    assert len(read) == form.answers


def test_a_form_reads_words_of_one_letter_without_commas_and_refuses_the_rest():
    form = Form(("p", "n"), 4)
    assert form.read("PNNP") == form.read("p n;n,p") == "p,n,n,p"
    for text in ("", "pnn", "pnnpp", "pnnx", "p,n,n"):
        with pytest.raises(ScenarioError, match="not counted"):
            form.read(text)


def test_a_form_reads_lists_as_python_and_numpy_print_them():
    form = Form(tuple(map(str, range(12))), 4, "distinct")
    for text in ("[4 10 9 0]", "[ 4 10  9  0]", "04,010,09,00", "[4. 10. 9. 0.]", "array([4, 10, 9, 0])"):
        assert form.read(text) == "4,10,9,0"
    assert form.read(str([np.int64(k) for k in (4, 10, 9, 0)])) == "4,10,9,0"
    for text in (
        "{4, 10, 9, 0}",
        "4.0, 10.0, 9.00, 0.",
        "array([4, 10, 9, 0], dtype=int64)",
        "numpy.array([4,10,9,0])",
    ):
        assert form.read(text) == "4,10,9,0"
    for text in ("4.5, 10, 9, 0", "-4, 10, 9, 0", "4, 10, 9, 0.01"):
        with pytest.raises(ScenarioError):
            form.read(text)
    with pytest.raises(ScenarioError):
        form.read("0" * 100_000 + "x")  # in no time
    words = np.array(["p", "n", "n"])
    assert Form(("p", "n"), 3).read(str(words)) == Form(("p", "n"), 3).read(repr(words)) == "p,n,n"
    assert Form(("0", "1"), 4).read("0011") == "0,0,1,1"


@pytest.mark.parametrize("name", ["signs", "shares", "labels", "walk", "true-epsilon", "listeners", "stragglers"])
def test_no_answer_is_likelier_than_its_form_says(name):
    """40 students: fewer than four share an answer, and each word comes about as often as any other.

    A fourth has probability below 0.1 % with 256 answers or more, and 1 % with 220; six deviations below 1e-8.
    """
    challenge = named(name)
    assert challenge is not None
    answers = [answer_of(challenge, posed(challenge, f"student {k}", KEY)) for k in range(40)]
    assert max(Counter(answers).values()) < 4
    words = Counter(word for one in answers for word in one.split(","))
    expected, form = sum(words.values()) / len(challenge.form.words), challenge.form
    room = 6 * math.sqrt(expected * (1 - 1 / len(form.words))) * (2 if form.rule == "walk" else 1)
    assert all(abs(words[word] - expected) < room for word in form.words)


@pytest.mark.parametrize("name", ["verdicts", "budgets"])
def test_runs_share_no_noise(name):
    """First messages are noise: those of one size differ, and no two are multiples of one another."""
    views = posed(named(name), "ada", KEY).views
    first = [next(iter(view.transcript.records[0].values.values()))[:, -1] for view in views.values()]
    assert len(first) == 8
    for one, other in combinations(first, 2):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = one / other
        assert not np.allclose(ratio, ratio[0])


def test_the_size_of_a_recording_does_not_tell_the_answer(tmp_path):
    """Of recordings of one layout no size differs: an algorithm's sound twin has that of the faulty one."""
    sizes: dict[str, set[int]] = {}
    for student in ("ada", "emmy", "grace"):
        for name in ("budgets", "verdicts"):
            folder = tmp_path / student / name
            write(named(name), student, KEY, folder)
            for recording, view in opened(folder).views.items():
                kind = type(view.public.algorithm).__name__
                sizes.setdefault(kind, set()).add((folder / f"{recording}.parquet").stat().st_size)
    assert len(sizes) == 9
    assert {kind: max(found) - min(found) for kind, found in sizes.items()} == dict.fromkeys(sizes, 0)


# ── the command ─────────────────────────────────────────────────────────────────────────────────────────
def netsim(*words, exit_status=0):
    done = cli("challenge", *words, ends=exit_status)
    return done.output


def document(*words, exit_status=0):
    done = cli("challenge", *words, "--json", ends=exit_status)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A folder in which the first flag was solved after a hint and a wrong answer, and the second not."""
    folder = tmp_path_factory.mktemp("course")
    assert "there before" not in netsim("first-flag", "--student", "ada", "--out", folder)
    assert "first-flag, which was there before: transcript.parquet" in netsim("first-flag", "--out", folder)
    assert "Hint 1 of 3" in netsim("first-flag", "--hint", "--out", folder)
    right = solved(opened(folder / "first-flag"))
    wrong = ",".join(reversed(right.split(",")))
    refused = netsim("first-flag", "--answer", wrong, "--out", folder, exit_status=1)
    assert refused == f"Wrong: {wrong} is not the answer; 1 wrong so far.\n"
    malformed = netsim("first-flag", "--answer", "7", "--out", folder, exit_status=2)
    assert malformed.count("\n") == 1
    assert "4 of 0, …, 11, in order, with commas" in malformed
    assert netsim("first-flag", "--answer", right, "--out", folder).startswith("Right: 7 points")
    assert "solved before" in netsim("first-flag", "--answer", right, "--out", folder)
    netsim("no-noise", "--out", folder)
    return folder


def test_a_narrow_list_has_the_title_of_each_below_its_name(course, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    lines = netsim("--out", course).splitlines()
    assert max(map(len, lines)) <= 40
    assert {"level", "hints", "wrong"} <= set(" ".join(lines).split())
    assert len([line for line in lines if line.startswith("    level ")]) == len(CHALLENGES)


def test_a_student_s_way_is_on_the_sheet(course):
    sheet = Sheet.read(course / "sheet.json")
    assert [one.event for one in sheet.entries] == ["posed", "hint", "wrong", "solved", "posed"]
    first, second, *_ = sheet.standings()
    assert (first.solved, first.hints, first.wrong, first.points) == (True, 1, 1, A_LEVEL - 3)
    assert (second.solved, second.points) == (False, 0)
    listed = netsim("--out", course)
    assert "ada: 1 of 30 solved, 7 points" in listed
    assert listed.count("solved") == 2
    assert document("--out", course)["sheet"]["points"] == 7


def test_a_sheet_that_holds(course, monkeypatch):
    said = netsim("--check", course / "sheet.json", course)
    assert f"{course / 'sheet.json'}: holds. ada: 1 of 30 solved, 7 points" in said.replace("\n", "")
    found = document("--check", course)["sheets"][0]
    assert (found["holds"], found["faults"]) == (True, [])
    monkeypatch.setenv("COLUMNS", "40")
    assert max(map(len, netsim("--check", course / "sheet.json").splitlines())) <= 40


def test_one_sheet_that_cannot_be_read_does_not_keep_the_others_from_being_checked(course, tmp_path):
    (tmp_path / "bad.json").write_text("{")
    sheets = (tmp_path / "bad.json", course / "sheet.json", course)
    said = netsim("--check", *sheets, exit_status=2)
    assert ": holds. ada: 1 of 30" in said
    assert f"{course}: the same sheet as {course / 'sheet.json'}" in said
    found = document("--check", *sheets, exit_status=2)["sheets"]
    assert [sorted(one.keys() & {"error", "faults", "same_as"}) for one in found] == [
        ["error"], ["faults"], ["same_as"],
    ]  # fmt: skip


def rewritten(sheet, entries):
    """The sheet with these entries, every link and the seal computed anew, as a forger would."""
    new = Sheet.of(sheet.student, PUBLIC_KEY)
    for one in entries:
        new = new.with_entry(one.challenge, one.event, one.hash, one.answer)
    return new


def without(number):
    return lambda tree: tree["entries"].pop(number)


ALTERED = {
    "the name": lambda tree: tree.update(student="eve"), "the hint": without(1), "a wrong answer": without(2),
    "the end": without(-1), "a time": lambda tree: tree["entries"][0].update(at="2020-01-01T00:00:00+00:00"),
    "an answer": lambda tree: tree["entries"][3].update(answer="0,1,2,3"),
    "an event": lambda tree: tree["entries"][2].update(event="solved"),
    "the order": lambda tree: tree["entries"].reverse(),
}  # fmt: skip


@pytest.mark.parametrize("how", ALTERED)
def test_a_sheet_altered_by_hand_is_noticed(course, tmp_path, how):
    tree = json.loads((course / "sheet.json").read_text())
    ALTERED[how](tree)
    (tmp_path / "sheet.json").write_text(json.dumps(tree))
    assert "DOES NOT HOLD" in netsim("--check", tmp_path / "sheet.json", exit_status=1)


def test_who_forges_the_chain_still_needs_the_answer(course, tmp_path):
    sheet = Sheet.read(course / "sheet.json")
    claimed = replace(sheet.entries[-1], event="solved", answer="0,1,2")
    other = write(CHALLENGES[1], "emmy", PUBLIC_KEY, tmp_path / "other")
    foreign = Entry(at="", challenge="no-noise", event="solved", answer="0,1,2", hash=other.hash, link="")
    unknown = replace(claimed, challenge="none", event="posed")
    for entry, why in ((claimed, "is not solved by"), (foreign, "is not this student's"), (unknown, "no challenge")):
        rewritten(sheet, [*sheet.entries, entry]).write(tmp_path / "sheet.json")
        assert why in netsim("--check", tmp_path / "sheet.json", exit_status=1)


def test_an_instructor_s_key_makes_other_answers_and_is_needed_to_check(tmp_path):
    key, folder = tmp_path / "key.txt", tmp_path / "ada"
    key.write_text("eighteen and more bytes\n")
    netsim("shared-seed", "--student", "ada", "--out", folder, "--key", key)
    file = opened(folder / "shared-seed")
    answer = solved(file)
    challenge = named("shared-seed")
    assert challenge is not None
    assert answer_of(challenge, posed(challenge, "ada", key_from(key))) == challenge.form.read(answer)
    netsim("shared-seed", "--answer", answer, "--out", folder)
    assert "holds" in netsim("--check", folder, "--key", key)
    assert "another key" in netsim("--check", folder, exit_status=1)
    assert "another key" in netsim("walk", "--out", folder, exit_status=2)
    assert key.read_text().strip() not in "".join(
        one.read_text() for one in folder.rglob("*") if one.suffix in (".json", ".yaml", ".md")
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["first-flog", "--student", "ada"], "did you mean 'first-flag'?"), (["first-flag"], "--student"),
        (["first-flag", "--answer", "1,2,3,4"], "make it first"), (["first-flag", "--hint"], "make it first"),
        (["first-flag", "--student", "ada", "--answer", "1"], "make it first"),
        (["first-flag", "walk"], "one challenge at a time"),
        (["first-flag", "--answer", "1", "2", "3", "4"], "quotes around an answer"),
        (["all", "--hint"], "one challenge at a time"), (["--answer", "1"], "which challenge?"),
        (["walk", "--hint", "--answer", "1"], "one of the two"), (["--student", "ada"], "to make a challenge"),
        (["walk", "--hint", "--student", "ada"], "make it first"),
        (["--check", "no.json", "--answer", "1"], "without --check"), (["--check"], "needs score sheets"),
        (["--check", "absent.json"], "cannot be read"), (["--check", "no.json"], "a file that netsim wrote"),
        (["--check", "--key", "no.json", "no.json"], "can be guessed"),
        (["--check", "--key", "absent", "no.json"], "cannot be read"),
    ],
)  # fmt: skip
def test_mistakes_get_one_line(tmp_path, monkeypatch, words, why):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "no.json").write_text("{}")
    said = netsim(*words, exit_status=2)
    assert why in said
    assert said.count("\n") == 1


def test_what_a_killed_command_left_is_removed(course):
    drafts = [draft_of(course / "sheet.json"), draft_of(course / "no-noise" / "README.md")]
    for one in drafts:
        one.touch()
    netsim("no-noise", "--out", course)
    assert not any(one.exists() for one in drafts)


def test_files_that_are_gone_are_made_again_and_nothing_is_counted(course):
    before, file = (course / "sheet.json").read_bytes(), course / "no-noise" / "challenge.json"
    kept = file.read_bytes()
    file.unlink()
    netsim("no-noise", "--out", course)
    assert (file.read_bytes(), (course / "sheet.json").read_bytes()) == (kept, before)


def test_another_student_needs_another_folder(course):
    assert "is of student 'ada'" in netsim("walk", "--student", "emmy", "--out", course, exit_status=2)


@pytest.fixture
def made(tmp_path):
    netsim("no-noise", "--student", "ada", "--out", tmp_path)
    return tmp_path


def contents(folder):
    return {one: one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def test_without_its_sheet_a_challenge_is_never_made_over(made):
    (made / "sheet.json").unlink()
    before, key = contents(made), made.parent / "key.txt"
    key.write_text("eighteen and more bytes")
    for name in ("no-noise", "walk"):
        for words, why in ((("emmy",), "of student 'ada', not 'emmy'"), (("ada", "--key", key), "another key")):
            said = netsim(name, "--out", made, "--student", *words, exit_status=2)
            assert why in said
            assert said.count("\n") == 1
    assert contents(made) == before
    netsim("no-noise", "--out", made, "--student", "ada")
    assert [one.event for one in Sheet.read(made / "sheet.json").entries] == ["posed"]
    assert {path: kept for path, kept in contents(made).items() if path in before} == before


@pytest.mark.parametrize("name", ["public.yaml", "transcript.parquet", "README.md"])
@pytest.mark.parametrize("how", ["gone", "empty", "altered"])
def test_a_folder_with_a_file_gone_or_altered_is_made_again(made, name, how):
    before, file = contents(made), made / "no-noise" / name
    match how:
        case "gone":
            file.unlink()
        case "empty" if name != "README.md":
            file.write_bytes(b"")
        case "altered" if name != "README.md":
            file.write_bytes(before[file].replace(b"1", b"2"))
            with pytest.raises(ScenarioError, match="not as it was made"):
                opened(made / "no-noise")
    netsim("no-noise", "--out", made)
    assert contents(made) == before


def test_code_of_somebody_s_own_is_never_run(made):
    """Somebody who makes a folder can make its hashes fit."""
    folder, said = made / "no-noise", made / "said"
    (folder / "mine.py").write_text(f"open({str(said)!r}, 'w')")
    public = (folder / "public.yaml").read_text()
    (folder / "public.yaml").write_text(
        re.sub(r"- \{kind: private_gradient_descent.*\}", "- {kind: python, path: 'mine.py:Mine'}", public)
    )
    file = json.loads((folder / "challenge.json").read_text())
    file["files"]["public.yaml"] = hashlib.sha256((folder / "public.yaml").read_bytes()).hexdigest()
    (folder / "challenge.json").write_text(json.dumps(file))
    with pytest.raises(ScenarioError, match="somebody's own"):
        opened(folder)
    assert not said.exists()


def test_hints_are_not_what_is_opened(made):
    assert opened(made / "no-noise").challenge.hints == ()
    shown = repr(opened(made / "no-noise"))
    assert shown.startswith("Opened(challenge: no-noise, views: ")
    assert len(shown) < 200


def test_nothing_is_added_to_a_sheet_that_was_edited(made):
    """Sealed anew it would pass for right."""
    netsim("no-noise", "--hint", "--out", made)
    for change in (without(1), lambda tree: tree.update(entries=[]), lambda tree: tree.update(seal="")):
        kept = (made / "sheet.json").read_bytes()
        tree = json.loads(kept)
        change(tree)
        (made / "sheet.json").write_text(json.dumps(tree))
        before = contents(made)
        for words in (("--answer", "1,2,3"), ("--hint",), ()):
            said = netsim("no-noise", *words, "--out", made, exit_status=2)
            assert said.count("\n") == 1
            assert "altered" in said
        assert contents(made) == before
        (made / "sheet.json").write_bytes(kept)


def test_what_was_never_made_or_solved_twice_does_not_hold(course, tmp_path):
    sheet = Sheet.read(course / "sheet.json")
    for entries, why in ((sheet.entries[1:], "was not made"), ((*sheet.entries, sheet.entries[3]), "solved before")):
        rewritten(sheet, entries).write(tmp_path / "sheet.json")
        assert why in netsim("--check", tmp_path / "sheet.json", exit_status=1)


def test_a_sheet_of_another_version_says_so(course, tmp_path):
    replace(Sheet.read(course / "sheet.json"), version="0.0.1").write(tmp_path / "sheet.json")
    assert "of netsim 0.0.1, and this is" in netsim("--check", tmp_path / "sheet.json", exit_status=1)


def test_no_name_of_a_file_forges_a_line(course, tmp_path):
    forged = tmp_path / "a\nzoe: 30 of 30 solved\x1b[2K.json"
    forged.write_bytes((course / "sheet.json").read_bytes())
    said = netsim("--check", forged, course)
    assert "\\nzoe" in said
    assert not any(row.startswith("zoe") for row in said.splitlines())
    assert "\x1b" not in said


def test_no_word_of_a_sheet_forges_a_line(course, tmp_path):
    forged, tree = (
        "0.1\nzoe.json: holds. zoe: 30 of 30 solved\x1b[2K",
        json.loads((course / "sheet.json").read_text()),
    )
    for change in ({"version": forged}, {forged: 1}):
        (tmp_path / "sheet.json").write_text(json.dumps(tree | change))
        said = netsim("--check", tmp_path / "sheet.json", exit_status=2)
        assert said.count("\n") == 1
        assert "\x1b" not in said


def test_a_name_of_a_file_that_reads_like_a_verdict_is_in_quotes(course, tmp_path):
    forged = tmp_path / "zoe.json: holds. zoe: 30 of 30 solved"
    forged.write_bytes((course / "sheet.json").read_bytes().replace(b"hint", b"wrong"))
    assert netsim("--check", forged, exit_status=1).startswith(f"'{forged}': DOES NOT HOLD. ada")


def test_faults_of_one_sheet_leave_the_others_in_sight(course, tmp_path):
    tree = json.loads((course / "sheet.json").read_text())
    tree["entries"] *= 500
    (tmp_path / "sheet.json").write_text(json.dumps(tree))
    said = netsim("--check", tmp_path, course, exit_status=1)
    assert said.count("\n") < 15
    assert "more (--json" in said
    assert len(document("--check", tmp_path, exit_status=1)["sheets"][0]["faults"]) > 900


def test_a_name_that_is_none_does_not_keep_the_others_from_being_checked(course):
    said = netsim("--check", "a" * 300, course, exit_status=2)
    assert "File name too long" in said
    assert ": holds. ada" in said


def test_a_file_too_large_does_not_keep_the_others_from_being_checked(course, tmp_path):
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(2**32)
    said = netsim("--check", tmp_path / "large.json", course, exit_status=2)
    assert "4,294,967,296 bytes" in said
    assert ": holds. ada" in said
    assert "bytes" in netsim("--check", course, "--key", tmp_path / "large.json", exit_status=2)


def test_two_sheets_of_one_student_are_named(course, tmp_path):
    sheet = Sheet.read(course / "sheet.json")
    rewritten(sheet, sheet.entries[:1]).write(tmp_path / "sheet.json")
    said = netsim("--check", course, tmp_path / "sheet.json")
    assert f"another sheet of this student: {course}" in said.replace("\n", "")
    rows = document("--check", course, tmp_path / "sheet.json")["sheets"]
    assert [one["another_sheet"] for one in rows] == [None, str(course)]


def test_two_commands_do_not_write_to_one_sheet(made):
    before = contents(made)
    with held(made, "netsim challenge all"):
        for words in (("--hint",), ("--answer", "1,2,3"), ()):
            said = netsim("no-noise", *words, "--out", made, exit_status=2)
            assert "is being written by netsim challenge all" in said
    assert contents(made) == before


def test_of_two_students_who_begin_at_once_in_one_folder_the_second_is_refused(tmp_path, monkeypatch):
    @contextmanager
    def late(folder, command, **_options):
        Sheet.of("ada", PUBLIC_KEY).write(folder / "sheet.json")
        with held(folder, command):
            yield

    monkeypatch.setattr("scenarios.cli.challenge.held", late)
    assert "is of student 'ada'" in netsim("walk", "--student", "emmy", "--out", tmp_path, exit_status=2)
    assert not (tmp_path / "walk").exists()


def test_on_a_sheet_that_was_begun_anew_what_is_there_still_was_made(made):
    netsim("walk", "--out", made)
    (made / "sheet.json").unlink()
    netsim("walk", "--student", "ada", "--out", made)
    netsim("no-noise", "--answer", "1,2,3", "--out", made, exit_status=1)
    assert [one.event for one in Sheet.read(made / "sheet.json").entries] == ["posed", "posed", "wrong"]
    assert ": holds" in netsim("--check", made)


def test_hints_that_were_counted_are_shown_again_for_nothing(made):
    assert "Hint 1" not in " ".join(netsim("no-noise", "--out", made).split())
    netsim("no-noise", "--hint", "--out", made)
    before = (made / "sheet.json").read_bytes()
    assert f"Hint 1 of 1: {named('no-noise').hints[0]}" in " ".join(netsim("no-noise", "--out", made).split())
    assert (made / "sheet.json").read_bytes() == before


@pytest.mark.parametrize("name", ["README.md", "public.yaml", "transcript.parquet"])
def test_nothing_is_written_to_a_pipe(made, name):
    (made / "no-noise" / name).unlink()
    os.mkfifo(made / "no-noise" / name)
    assert "a pipe or a device" in netsim("no-noise", "--out", made, exit_status=2)


def test_a_hint_after_the_solution_costs_nothing(made):
    netsim("no-noise", "--answer", solved(opened(made / "no-noise")), "--out", made)
    before = (made / "sheet.json").read_bytes()
    assert "None was counted" in netsim("no-noise", "--hint", "--out", made)
    assert (made / "sheet.json").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"salt": "no hex"}, "hex digits"), ({"hash": "é" * 64}, "hex digits"), ({"recordings": {}}, "recordings"),
        ({"student": "emmy"}, "of student 'emmy'"), ({"challenge": "walk"}, "of challenge 'walk'"),
        ({"key": "0" * 12}, "another key"),
    ],
)  # fmt: skip
def test_a_challenge_file_that_is_another_s_or_damaged_gets_one_line(made, change, why):
    file = made / "no-noise" / "challenge.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    for words in ((), ("--hint",), ("--answer", "1,2,3")):
        said = netsim("no-noise", *words, "--out", made, exit_status=2)
        assert why in said
        assert said.count("\n") == 1


@pytest.mark.parametrize(
    "name",
    ["ada\neve: 30 of 30 solved", "ada\x1b[2K", "\udcff", " ", "eve: 30 of 30".ljust(80) + "ada", " ada", "ada ",
     "ad\u3164a", "ada\ufe0f", "\u115fada", "e\u0301va", "[b]ada", "a" * 61],
)  # fmt: skip
def test_a_name_that_could_pass_for_more_or_for_another_is_refused(tmp_path, name):
    said = netsim("no-noise", "--student", name, "--out", tmp_path / "new", exit_status=2)
    assert said.count("\n") == 1
    assert not (tmp_path / "new").exists()
    (tmp_path / "sheet.json").write_text(json.dumps({"student": name, "version": "0", "key": "0" * 12}))
    said = netsim("--check", tmp_path / "sheet.json", exit_status=2)
    assert said.count("\n") == 1


@pytest.mark.few("first-flag")
@pytest.mark.parametrize("name", ["first-flag", "signs"])
def test_a_challenge_that_is_run_live_has_the_tapped_packets_and_the_same_answer(name, tmp_path):
    """Agents are processes on loopback; what was on the wire is what the simulated run has there, to the last bit."""
    simulated, live = tmp_path / "simulated", tmp_path / "live"
    netsim(name, "--student", "ada", "--out", simulated)
    assert "capture.pcapng" in netsim(name, "--student", "ada", "--out", live, "--live")
    one, other = (opened(folder / name) for folder in (simulated, live))
    answer = solved(other)
    assert other.right(answer)
    assert (one.file.hash, solved(one)) == (other.file.hash, answer)
    sent = [sorted(_values(each.view)) for each in (one, other)]
    assert sent[0] == sent[1]
    carried = b"".join(packet.data for packet in packets(live / name / "capture.pcapng"))
    assert all(values in carried for *_, values in sent[1])
    assert "capture.pcapng" in (live / name / "README.md").read_text()
    netsim(name, "--out", live, "--answer", answer)
    netsim("--check", live)
    (live / name / "transcript.parquet").unlink()
    assert "capture.pcapng" not in netsim(name, "--out", live), "it was simulated: the packets were another run's"


def _values(view):
    return [
        (one.sender, one.receiver, one.number, name, values.tobytes())
        for one in view.messages()
        for name, values in one.values.items()
    ]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["walk", "--student", "ada", "--live"], "is simulated, and in no other way"),
        (["all", "--student", "ada", "--live"], "one challenge at a time"),
        (["first-flag", "--hint", "--live"], "netsim challenge first-flag --student"),
        (["--check", "sheet.json", "--live"], "nothing is played"),
    ],
)
def test_only_some_challenges_are_run_live(tmp_path, words, why):
    assert why in netsim(*words, "--out", tmp_path / "course", exit_status=2)
    assert not (tmp_path / "course" / "walk").exists()
