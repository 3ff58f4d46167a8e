"""Lessons 1 to 3 need nothing that Python in a browser (Pyodide) has not: no thread, process or socket, and no module
that is left out there."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("marimo")
MISSING = ("_multiprocessing", "_posixshmem", "resource", "curses", "_curses", "pwd", "grp")
"""Modules that Python 3.14 of Pyodide 314.0 does not have, of those of a CPython on Linux."""
AS_THERE = """
import hashlib, os, socket, subprocess, sys, threading
import marimo  # has a kernel of its own for Pyodide, which needs none of this

missing = sys.argv[1].split(",")

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def refused(*_, **__):
    raise RuntimeError("there is no such thing in a browser")

for name in list(sys.modules):
    if name in missing or name.partition(".")[0] == "multiprocessing":
        del sys.modules[name]
sys.meta_path.insert(0, Missing())
threading.Thread.start = subprocess.Popen.__init__ = os.fork = socket.socket.connect = socket.socket.bind = refused
del hashlib.scrypt
from scenarios.lab.course import chosen, lessons

print(sorted(k for k in chosen(sys.argv[2], lessons()).run() if k.startswith("question_")))
"""


def run(lesson: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", AS_THERE, ",".join(MISSING), lesson]
    return subprocess.run(words, capture_output=True, text=True, env=os.environ, check=False)


@pytest.mark.few("eavesdropper", "pictures")
@pytest.mark.parametrize("lesson", ["eavesdropper", "pictures", "noise"])
def test_a_lesson_runs_without_what_a_browser_has_not(lesson: str) -> None:
    found = run(lesson)
    assert found.returncode == 0, found.stderr
    assert "question_3" in found.stdout


@pytest.mark.slow
def test_a_lesson_that_opens_sockets_does_not() -> None:
    found = run("tap-your-own")
    assert found.returncode != 0
    assert "no such thing in a browser" in found.stderr
