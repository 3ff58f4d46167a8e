"""The recipes of docs/cluster.md, as they stand: on a SLURM and an sshd that the tests start and end."""

import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.scenarios.sweep import slurm
from tests.scenarios.sweep.small import NOISY, SMALL

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "cluster.md").read_text()
SCENARIO = SMALL + NOISY.replace("rounds: 5", "rounds: 40")
SWEEP = "scenario: small.yaml\ngrid: {links.loss: [0.0, 0.2], topology.agents: [3, 5]}\nrepeats: 6\n"
POINTS = 24
pytestmark = [pytest.mark.slow, pytest.mark.cluster]
on_slurm = pytest.mark.skipif(slurm.missing() is not None, reason=f"no SLURM here: {slurm.missing()}")


def block(name: str) -> str:
    """The file of this name on the page."""
    found = re.findall(
        rf"^```text\n((?:#![^\n]*\n)?# {re.escape(name)}\n.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL
    )
    assert len(found) == 1
    return found[0]


def changed(text: str, **changes: str) -> str:
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The table of one process."""
    place = project(tmp_path_factory.mktemp("alone"))
    command = [".venv/bin/netsim", "sweep", "noise.yaml", "--out", "results/noise", "--jobs", "1"]
    subprocess.run(command, cwd=place, check=True, capture_output=True)
    return table(place)


def project(place: Path) -> Path:
    """A folder as the page has it: the sweep's file, and the environment .venv, which is this one."""
    (place / "small.yaml").write_text(SCENARIO)
    (place / "noise.yaml").write_text(SWEEP)
    programs = place / ".venv" / "bin"
    programs.mkdir(parents=True)
    main = "import sys; from scenarios.cli.app import main; sys.argv[0] = 'netsim'; main()"
    for name, how in {"python": '"$@"', "netsim": f'-c "{main}" "$@"'}.items():
        (programs / name).write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" {how}\n')
        (programs / name).chmod(0o755)
    (programs / "activate").write_text(f'export PATH="{programs}:$PATH" PYTHONPATH="{ROOT}"\n')
    return place


def table(place: Path) -> bytes:
    return (place / "results" / "noise" / "sweep.parquet").read_bytes()


def done(place: Path) -> int:
    return len(list((place / "results" / "noise" / "points").glob("*.json")))


@pytest.fixture
def place(tmp_path):
    return project(tmp_path)


@pytest.fixture(scope="module")
def environment():
    with tempfile.TemporaryDirectory(prefix="slurm") as folder:  # short: sockets have short names
        Path(folder).chmod(0o755)
        with slurm.slurm(Path(folder)) as found:
            yield found | {"PYTHONPATH": str(ROOT)}


# ── SLURM ───────────────────────────────────────────────────────────────────────────────────────────────
@on_slurm
def test_an_array_one_of_whose_jobs_is_cancelled_and_repeated(place, environment, alone):
    (place / "array.sh").write_text(changed(block("array.sh"), **{"--array=1-8": "--array=1-3", "_ID/8": "_ID/3"}))
    job = slurm.output(environment, "sbatch", "--parsable", "-D", str(place), str(place / "array.sh")).strip()
    slurm.until(lambda: done(place) >= 1, 180)
    slurm.output(environment, "scancel", f"{job}_3")
    slurm.until(lambda: not slurm.output(environment, "squeue", "-h").strip(), 240)
    log = (place / f"slurm-{job}_1.out").read_text()
    assert "8 of 8 points done" in log
    assert "of the sweep's 24 points" in log
    again = ["sbatch", "--parsable", "--wait", "--array=3", "-D", str(place), str(place / "array.sh")]
    assert slurm.output(environment, *again).strip()
    assert done(place) == POINTS
    assert table(place) == alone


@on_slurm
@pytest.mark.skipif(find_spec("dask_jobqueue") is None, reason="no dask-jobqueue: pip install 'netsim-lab[cluster]'")
def test_workers_that_are_jobs_one_of_which_is_cancelled(place, environment, alone):
    small = {"cores=4, processes=4": "cores=1, processes=1", "16GB": "2GB", "jobs=8": "jobs=2"}
    (place / "on_slurm.py").write_text(changed(block("on_slurm.py"), **small))
    with child(place, environment, "on_slurm.py") as script:
        slurm.until(lambda: done(place) >= 3, 240)
        first = slurm.output(environment, "squeue", "-h", "-o", "%i").split()[0]
        slurm.output(environment, "scancel", first)
        said = script.communicate(timeout=180)
    assert script.returncode == 0, said
    assert f"complete {POINTS} done []" in said[0]
    assert table(place) == alone
    slurm.until(lambda: not slurm.output(environment, "squeue", "-h").strip(), 60)


@contextmanager
def child(place: Path, environment: dict[str, str], *command: str):
    """A script that is ended with the test, whatever comes of it."""
    running = subprocess.Popen(
        [sys.executable, *command], cwd=place, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=slurm.ends_with_parent,
    )  # fmt: skip
    try:
        yield running
    finally:
        running.kill()
        running.wait()


# ── SSH ─────────────────────────────────────────────────────────────────────────────────────────────────
SSHD = slurm.find("sshd")
CONFIGURATION = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
PasswordAuthentication no
UsePAM no
StrictModes no
"""


@contextmanager
def sshd(folder: Path):
    """An sshd that takes one key: its port."""
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    port = slurm.free_port()
    (folder / "conf").write_text(CONFIGURATION.format(folder=folder, port=port))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # where a root's sshd separates its privileges
    running = subprocess.Popen(
        [SSHD, "-D", "-f", str(folder / "conf"), "-E", str(folder / "log")], preexec_fn=slurm.ends_with_parent
    )
    try:
        slurm.until(lambda: (folder / "log").exists() and "listening" in (folder / "log").read_text(), 20)
        yield port
    finally:
        running.terminate()
        running.wait()


@pytest.mark.skipif(SSHD is None, reason="no sshd here")
@pytest.mark.skipif(find_spec("asyncssh") is None, reason="no asyncssh: pip install 'netsim-lab[cluster]'")
def test_workers_by_ssh(place, tmp_path_factory, alone):
    folder = tmp_path_factory.mktemp("sshd")
    core = os.environ.get("OPENBLAS_CORETYPE")
    python = f"env PYTHONPATH={ROOT} {f'OPENBLAS_CORETYPE={core}' if core else ''} {sys.executable}"
    with sshd(folder) as port:
        changes = {
            '["head-node", "node-1", "node-2"]': '["127.0.0.1"] * 3',
            '"port": 22,': f'"port": {port}, "client_keys": [{str(folder / "user")!r}],',
            'str(Path(".venv/bin/python").absolute())': repr(python),
            '"n_workers": 4': '"n_workers": 1',
        }
        (place / "on_ssh.py").write_text(changed(block("on_ssh.py"), **changes))
        with child(place, os.environ | {"PYTHONPATH": str(ROOT)}, "on_ssh.py") as script:
            said = script.communicate(timeout=240)
    assert script.returncode == 0, said
    assert f"complete {POINTS} done []" in said[0]
    assert "last digits may differ" not in said[0]
    assert table(place) == alone


# ── a scheduler file, and one that is killed ────────────────────────────────────────────────────────────
def test_a_scheduler_file_and_a_scheduler_that_is_killed(place):
    pytest.importorskip("distributed")
    given = os.environ | {"PYTHONPATH": str(ROOT)}
    file = ["--scheduler-file", str(place / "cluster.json")]
    dask = "import sys; from dask.__main__ import main; sys.argv[0] = 'dask'; main()"
    command = ["-c", "from scenarios.cli.app import main; main()", "sweep", "noise.yaml", "--out", "results/noise"]
    command += ["--cluster", "cluster.json"]
    head = ["-c", dask, "scheduler", *file, "--port", "0", "--host", "127.0.0.1", "--no-dashboard"]
    worker = ["-c", dask, "worker", *file, "--nworkers", "1", "--nthreads", "1", "--no-dashboard", "--no-nanny"]
    with child(place, given, *head) as scheduler, child(place, given, *worker):
        slurm.until(lambda: (place / "cluster.json").exists(), 60)
        with child(place, given, *command) as sweep:
            slurm.until(lambda: done(place) >= 2, 120)
            scheduler.kill()
            said = sweep.communicate(timeout=240)
    assert sweep.returncode == 130, said
    assert "scheduler" in said[0]
    assert "Continue with: netsim sweep noise.yaml --out results/noise --cluster cluster.json" in said[1]
    assert 2 <= parquet.read_table(place / "results" / "noise" / "sweep.parquet").num_rows < POINTS
