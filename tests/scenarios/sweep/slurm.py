"""A SLURM of one node for a test: munged, slurmctld and slurmd of this user, in a folder of their own.

Nothing of a SLURM that the machine may already have is used or changed; no job goes to its queue.
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1
ReturnToService=2
KillWait=5
MailProg=/bin/true
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=64000 State=UNKNOWN
PartitionName=short Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str | None:
    """Why no SLURM can be started here, or None."""
    absent = [name for name in NEEDED if find(name) is None]
    return f"no {', '.join(absent)}" if absent else None


def ends_with_parent() -> None:
    """In a child: SIGTERM when the test is killed and cannot end it (Linux)."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def find(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """The environment in which sbatch and its like mean this SLURM; it is gone afterwards, with its jobs."""
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o600)
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    settings = {"host": socket.gethostname().split(".")[0], "user": user, "folder": folder}
    settings |= {"controller": free_port(), "node": free_port()}
    (folder / "slurm.conf").write_text(CONFIGURATION.format(**settings))
    environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}
    files = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    munge = [f"--{option}={folder}/munge.{ending}" for option, ending in files.items()]
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command in (["munged", "--force", "--foreground", *munge], ["slurmctld", "-D"], ["slurmd", "-D"]):
            program = [find(command[0]) or command[0], *command[1:]]
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            running.append(
                subprocess.Popen(
                    program, env=environment, start_new_session=True, preexec_fn=ends_with_parent, **quiet
                )
            )
            if command[0] == "munged":
                until(lambda: (folder / "munge.socket").exists(), 20)
        until(lambda: "idle" in output(environment, "sinfo", "-h", "-o", "%T"), 60)
        yield environment
    finally:
        output(environment, "scancel", "-u", user)
        until(lambda: not output(environment, "squeue", "-h").strip(), 30, must=False)
        for one in reversed(running):
            one.send_signal(signal.SIGTERM)
        for one in reversed(running):
            try:
                one.wait(20)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()


def output(environment: dict[str, str], *command: str) -> str:
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout


def until(true, seconds: float, must: bool = True) -> None:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            assert not must, "it did not come to pass in time"
            return
        time.sleep(0.1)
