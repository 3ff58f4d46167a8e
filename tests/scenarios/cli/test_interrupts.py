"""A Ctrl-C while something is being loaded ends a command as a Ctrl-C, whatever the module makes of it."""

import signal
import subprocess
import sys

import pytest

LOADING = """
import sys
import scenarios.cli.app as cli
def loading():
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as error:
        raise ImportError("initialization failed") from error
"""
WAYS = {
    "in a command": LOADING
    + """
from scenarios.render.terminal import fail
@cli.app.command("torn")
def torn():
    try:
        loading()
    except Exception as error:
        fail(error)
sys.argv = ["netsim", "torn"]
cli.main()
""",
    "outside of one": LOADING
    + """
cli.app = loading
cli.main()
""",
    "before there are commands": """
import sys
class Torn:
    def find_spec(self, name, path=None, target=None):
        if name == "scenarios.cli.app":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Torn())
from scenarios.entry import main
main()
""",
}


@pytest.mark.few(1)
@pytest.mark.parametrize("way", WAYS)
def test_it_is_130_without_a_traceback(way):
    done = subprocess.run([sys.executable, "-c", WAYS[way]], capture_output=True, text=True)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_that_only_came_after_one_is_an_error():
    code = (
        "import scenarios.cli.app as cli\ndef app():\n    raise ImportError('no such thing')\n"
        "cli.app = app\ncli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 70
    assert "no such thing" in done.stderr


@pytest.mark.parametrize(
    ("before", "says"),
    [
        ("", "mine.py:2 is being imported: does this loop end? ("),
        ("import time; sys.meta_path.insert(0, type('Slow', (), {'find_spec': slow}))", "netsim loads its libraries"),
    ],
    ids=["code of the user's", "netsim's own"],
)
def test_what_takes_long_to_load_is_named_and_ends_with_a_ctrl_c(before, says, tmp_path):
    (tmp_path / "mine.py").write_text("# a loop\nwhile True: pass\n")
    code = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests in the background ignores it
def slow(name, path=None, target=None):
    while name == "netsim.simulation":
        time.sleep(0.01)
{before}
from scenarios import entry
entry.QUIET = 0.4
sys.argv = ["netsim", "audit", "mine.py:Mine"]
entry.main()
"""
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            while says not in (line := process.stderr.readline()):
                assert line
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        finally:
            process.kill()
