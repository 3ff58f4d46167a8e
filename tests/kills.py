"""Commands killed at random moments (−9) and given again: `python -m tests.kills 100`.

A command that was killed and is given again ends as the one that nobody disturbed: with the same status, the same
files and the same bytes in each, without a traceback, a draft or a lock that is left. No file of these has a time of
day or a duration, except `seconds` of the truth that an attack makes again. What is lost is work; the second command
says in a line what it goes on with, or begins anew.
"""

import argparse
import math
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tests.fuzz import print_faults, warm

SCENARIO = """\
name: small
seed: 5
replicas: 2
problem: {kind: logistic, data: {name: synthetic, norm_bound: 1.0, records: 40, dimension: 2}}
topology: {kind: ring, agents: 4}
links: {delay: {kind: uniform, low: 0.01, high: 0.03}, loss: 0.1, reliable: true}
adversary: {links: all}
algorithms:
  - {kind: private_gradient_descent, name: mine, rounds: 3, clip: {bound: 1.0}, scale: {epsilon: 4.0}}
  - {kind: planted_fault, fault: second_message, rounds: 3, name: second}
attacks: {gradients: true, reconstruct: [{kind: posterior}]}
audit: {agent: 1, adjacency: {change: 1.0, direction: even}, trials: 100, chunk: 50}
"""
SWEEP = """\
scenario: scenario.yaml
grid: {links.loss: [0.0, 0.2]}
keep: true
"""
VARIANTS = SCENARIO + "variants: [{name: clear, set: {links.loss: 0.0}}, {name: lossy, set: {links.loss: 0.2}}]\n"


@dataclass(frozen=True)
class Case:
    """A command, and those that make what it starts from."""

    words: str
    before: Sequence[str] = ()


KEPT = Path("results/kills")
"""Folders of what went wrong."""
CASES: Mapping[str, Sequence[Case]] = {
    "run": (Case("run scenario.yaml --out out --jobs {jobs}"), Case("run variants.yaml --out out --jobs {jobs}")),
    "audit": (
        Case("audit scenario.yaml --out out --jobs {jobs}"),
        Case("audit out --jobs {jobs}", ("run scenario.yaml --out out -o audit=null --jobs 1",)),
    ),
    "sweep": (Case("sweep sweep.yaml --out out --jobs {jobs}"),),
    "attack": (
        Case("attack out", ("run scenario.yaml --out out -o audit=null --jobs 1",)),
        Case("attack scenario.yaml --out out"),
    ),
}


@dataclass(frozen=True)
class Ended:
    """A command that has ended: its status (negative: the signal), its words, its seconds."""

    status: int
    words: str
    seconds: float


def netsim(words: str, folder: Path, kill_after: float = math.inf, alone: bool = False) -> Ended:
    """The command in a process group of its own, which is killed after so many seconds; `alone`: its first process
    only. What all commands load is loaded before."""
    said = folder.parent / "words"
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        _command(words, folder, said)
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() - begun >= kill_after:
            (os.kill if alone else os.killpg)(child, signal.SIGKILL)
            ended = os.waitpid(child, 0)
            break
        time.sleep(0.002)
    took = time.monotonic() - begun
    return Ended(os.waitstatus_to_exitcode(ended[1]), said.read_text(encoding="utf-8"), took)


def _command(words: str, folder: Path, said: Path) -> NoReturn:
    status = 99
    try:
        os.setsid()
        os.chdir(folder)
        (folder.parent / "tmp").mkdir(exist_ok=True)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder.parent / "tmp")
        sink = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(sink, 1), os.dup2(sink, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        from scenarios.cli.app import main
        from scenarios.render import terminal

        terminal.console.file, terminal.problems.file = sys.stdout, sys.stderr
        sys.argv = ["netsim", *words.split()]
        main()
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(status)


def tree(folder: Path) -> dict[str, bytes]:
    """Bytes by name, of all files; durations are left out."""
    files = {str(one.relative_to(folder)): one for one in sorted(folder.rglob("*")) if not one.is_dir()}
    found = {name: one.read_bytes() for name, one in files.items()}
    durations = re.compile(rb'"seconds": [0-9.e+-]+')
    return {
        name: durations.sub(b"", data) if Path(name).name.startswith("attack-") else data
        for name, data in found.items()
    }


def prepared(folder: Path, case: Case) -> None:
    folder.mkdir(parents=True)
    texts = {"scenario.yaml": SCENARIO, "variants.yaml": VARIANTS, "sweep.yaml": SWEEP}
    for name, text in texts.items():
        (folder / name).write_text(text)
    for words in case.before:
        done = netsim(words, folder)
        assert done.status in (0, 1), done.words


def faults(expected: Ended, files: Mapping[str, bytes], ended: Ended, found: Mapping[str, bytes]) -> list[str]:
    """What is wrong with a command that was given again."""
    wrong = [] if ended.status == expected.status else [f"status {ended.status}, not {expected.status}"]
    wrong += ["traceback"] if "Traceback" in ended.words else []
    wrong += [f"left: {name}" for name in found.keys() - files.keys()]
    wrong += [f"missing: {name}" for name in files.keys() - found.keys()]
    return wrong + [f"other bytes: {name}" for name in files.keys() & found.keys() if files[name] != found[name]]


@dataclass
class Undisturbed:
    """A case as nobody disturbs it: what it starts from, and how it ends."""

    start: Path
    ended: Ended
    files: dict[str, bytes]

    @classmethod
    def of(cls, case: Case, base: Path, words: str) -> "Undisturbed":
        start, folder = base / "start", base / "whole"
        prepared(start, case)
        shutil.copytree(start, folder)
        ended = netsim(words, folder)
        assert ended.status in (0, 1), ended.words
        return cls(start, ended, tree(folder))


def main() -> None:
    ask = argparse.ArgumentParser(description="Commands killed at random moments, and given again.")
    ask.add_argument("count", type=int, help="kills, of all commands together")
    ask.add_argument("seed", type=int, nargs="?", default=0)
    ask.add_argument("--only", type=int, help="this kill alone; its folder is kept")
    ask.add_argument("--command", choices=list(CASES), help="this command alone")
    given = ask.parse_args()
    warm()
    base = Path(tempfile.mkdtemp(prefix="kills-"))
    whole: dict[str, Undisturbed] = {}
    found: dict[str, list[int]] = {}
    killed: dict[str, int] = {}
    for k in range(given.count):
        if given.only not in (None, k):
            continue
        rng = random.Random(f"{given.seed}/{k}")
        command = given.command or list(CASES)[k % len(CASES)]
        case = rng.choice(CASES[command])
        words = case.words.format(jobs=rng.choice((1, 1, 1, 2)))
        share, alone = rng.random(), rng.random() < 0.2
        if words not in whole:
            whole[words] = Undisturbed.of(case, base / str(len(whole)), words)
            print(f"{words}: {whole[words].ended.seconds:.1f} s undisturbed", flush=True)
        own = whole[words]
        folder = base / "case" / "here"
        while True:  # until it is killed before its end
            shutil.rmtree(folder.parent, ignore_errors=True)
            shutil.copytree(own.start, folder)
            moment = share * own.ended.seconds
            first = netsim(words, folder, moment, alone)
            if first.status == -signal.SIGKILL:
                break
            share *= 0.9
        killed[command] = killed.get(command, 0) + 1
        left = len(tree(folder)) - len(tree(own.start))
        second = netsim(words, folder)
        if share * own.ended.seconds < second.seconds < own.ended.seconds:  # a faster machine than then
            own.ended = second if second.status == own.ended.status else own.ended
        wrong = faults(own.ended, own.files, second, tree(folder))
        who = "its first process alone" if alone else "all its processes"
        how = f"{who} killed after {moment:.2f} s, {left} files left"
        print(f"{k} {words}: {how}: {'; '.join(wrong[:5]) or 'same'}", flush=True)
        for one in wrong:
            found.setdefault(re.sub(r"[0-9a-f]{32}", "*", one), []).append(k)
        if wrong:
            print(second.words[-1500:])
        if wrong or given.only is not None:
            shutil.copytree(folder, KEPT / f"{given.seed}-{k}", dirs_exist_ok=True)
    shutil.rmtree(base)
    print(f"{sum(killed.values())} kills, seed {given.seed}: {killed}")
    print_faults(found)


if __name__ == "__main__":
    main()
