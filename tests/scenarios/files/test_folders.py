"""Files that are whole or not there, and folders that one command at a time writes to."""

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from netsim.errors import ScenarioError
from netsim.files import draft_of
from scenarios.files.folders import LOCK, held, whole
from tests.scenarios.command import cli

HOLD = """
import sys, time
from pathlib import Path
from scenarios.files.folders import held
with held(Path(sys.argv[1]), "netsim run mine.yaml"):
    print("held", flush=True)
    time.sleep(60)
"""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no locks of this kind")


def holder(folder: Path) -> subprocess.Popen:
    child = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def test_a_folder_that_somebody_writes_to_is_refused_until_that_has_ended_or_was_killed(tmp_path):
    with holder(tmp_path) as child:
        who = rf"netsim run mine\.yaml \(process {child.pid}, since \d{{4}}-"
        with pytest.raises(ScenarioError, match=who), held(tmp_path):
            pass
        cli("run", "private-descent", "--out", tmp_path, ends=2)
        assert [one.name for one in tmp_path.iterdir()] == [LOCK]
        child.send_signal(signal.SIGKILL)
    with held(tmp_path):
        assert (tmp_path / LOCK).exists()
    assert not any(tmp_path.iterdir())


def test_a_lock_that_is_a_link_writes_over_no_file(tmp_path):
    """Somebody who hands on a folder may have set it there."""
    kept, folder = tmp_path / "kept", tmp_path / "folder"
    kept.write_text("precious")
    folder.mkdir()
    (folder / LOCK).symlink_to(kept)
    with held(folder):
        assert kept.read_text() == "precious"
    assert kept.read_text() == "precious"


def test_of_many_that_come_and_go_one_at_a_time_is_in(tmp_path):
    code = HOLD.split("with held")[0] + (
        "for _ in range(200):\n"
        "    try:\n"
        "        with held(Path(sys.argv[1])):\n"
        "            here = Path(sys.argv[1]) / 'here'\n"
        "            here.touch(exist_ok=False)\n"
        "            here.unlink()\n"
        "    except FileExistsError:\n"
        "        sys.exit(3)\n"
        "    except Exception as error:\n"
        "        assert 'is being written' in str(error), error\n"
    )
    children = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(3)]
    assert [child.wait() for child in children] == [0, 0, 0]


def test_a_lock_that_goes_while_it_is_looked_at_is_taken_anew(tmp_path, monkeypatch):
    """Of three that come and go the second may remove its lock between two looks of the third."""
    looks, look = [], os.path.samestat

    def gone_once(*stats: os.stat_result) -> bool:
        looks.append(stats)
        if len(looks) == 1:
            raise FileNotFoundError
        return look(*stats)

    monkeypatch.setattr(os.path, "samestat", gone_once)
    with held(tmp_path):
        assert "process" in (tmp_path / LOCK).read_text()
        with pytest.raises(ScenarioError, match="is being written"), held(tmp_path):
            pass


def test_a_file_is_whole_or_not_there(tmp_path):
    path = tmp_path / "one"
    with whole(path) as draft:
        draft.write_text("first")
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(OSError, match="No space") as found, whole(path):
        raise full
    assert found.value.filename == str(path)
    assert [one.name for one in tmp_path.iterdir()] == ["one"]
    assert path.read_text() == "first"


def limited() -> None:
    """Files of 60 kB at most, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))


@pytest.mark.slow
def test_a_full_disk_is_one_line_with_the_path_and_no_half_of_a_file(tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "scenarios.cli.app", "run", "private-descent", "--out", str(out)]
    quiet = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    found = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited, env=quiet)
    assert found.returncode == 70, found.stderr
    assert "Traceback" not in found.stderr
    (line,) = [one for one in found.stderr.splitlines() if "File too large" in one]
    assert str(out) in line
    assert not list(out.rglob("*.part"))
    assert not (out / LOCK).exists()


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_asked_to_end_keeps_what_it_had(tmp_path, stop):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "scenarios.cli.app", "run", "private-descent", "--out", str(out)]
    child = subprocess.Popen([*command, "-o", "audit.trials=20000", "--jobs", "1"], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (out / "results.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    child.send_signal(stop)
    _, said = child.communicate(timeout=120)
    assert child.returncode == 130, said
    assert "Continue with: netsim run" in said
    assert '"status": "interrupted"' in (out / "results.json").read_text()


def test_drafts_of_a_command_that_was_killed_are_removed_by_the_next_one_alone(tmp_path):
    """In the folders that it names, folders too; who shares one leaves the drafts of others that are in."""
    inside = tmp_path / "points"
    inside.mkdir()

    def left() -> list[Path]:
        drafts = [draft_of(tmp_path / "table"), draft_of(inside / "0.json")]
        for one in drafts:
            one.touch()
        drafts.append(draft_of(tmp_path / "000000"))
        drafts[-1].mkdir()
        (drafts[-1] / "results.json").touch()
        return drafts

    mine = inside / "mine.part"
    mine.touch()
    old = left()
    with held(tmp_path, shared=True, drafts=(tmp_path, inside)):
        assert not any(one.exists() for one in old)
        others = left()
        with held(tmp_path, shared=True, drafts=(tmp_path, inside)):
            assert all(one.exists() for one in others)
        with pytest.raises(ScenarioError, match="is being written"), held(tmp_path, drafts=(tmp_path, inside)):
            pass
        assert all(one.exists() for one in others)
    with held(tmp_path, drafts=(tmp_path, inside)):
        assert sorted(tmp_path.rglob("*")) == [tmp_path / LOCK, inside, mine]
    assert sorted(tmp_path.rglob("*")) == [inside, mine]
