"""Memory that may be asked for: how it is written, what is refused, and the limit."""

import subprocess
import sys

import pytest

from netsim import memory
from netsim.errors import ScenarioError


@pytest.mark.parametrize(
    ("text", "count"), [("40GB", 40e9), ("500 MB", 5e8), ("0.5tb", 5e11), ("2e9", 2e9), ("1GiB", 1e9), ("7", 7)]
)
def test_amounts(text, count):
    assert memory.parsed(text) == count


@pytest.mark.parametrize("text", ["", "x", "-1GB", "0", "1e99GB", "9" * 40, "1 GB more", "nan", "inf"])
def test_what_is_no_amount(text):
    with pytest.raises(ScenarioError, match="no amount of memory"):
        memory.parsed(text)


@pytest.mark.parametrize(
    ("count", "text"), [(74e9, "74 GB"), (3.14e6, "3.1 MB"), (999.6e9, "1.0 TB"), (2e20, "200,000 PB")]
)
def test_in_words(count, text):
    assert memory.shown(count) == text


def test_more_than_is_allowed_is_refused_with_what_would_do(monkeypatch):
    monkeypatch.setenv(memory.VARIABLE, "1000000000")
    memory.check_memory(1e9, "records", 5)
    with pytest.raises(
        ScenarioError, match=r"records = 5: asks for about 2.0 GB .* 1.0 GB here: less of it, or --memory 2.5GB"
    ):
        memory.check_memory(2e9, "records", 5)


def test_a_limit_that_leaves_no_room_for_libraries_is_refused():
    with (
        pytest.raises(ScenarioError, match=r"--memory = '40': .* take; did you mean '40GB'\?; allowed: 600 MB"),
        memory.limited("40"),
    ):
        pass
    with (
        pytest.raises(ScenarioError, match=r"--memory = .1KB.: less than Python .* take; allowed: 600 MB or more"),
        memory.limited("1KB"),
    ):
        pass


@pytest.mark.slow
def test_the_limit_holds_within_and_nowhere_else():
    code = (
        "import numpy as np\nfrom netsim import memory\n"
        "try:\n    with memory.limited('1GB'):\n        assert memory.allowed() == 10**9\n"
        "        np.ones(2 * 10**8)\n"
        "except MemoryError:\n    print('refused')\nprint(memory.allowed() > 10**9, np.ones(2 * 10**8).sum() > 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == ("refused\nTrue True\n" if sys.platform == "linux" else done.stdout), done.stderr
