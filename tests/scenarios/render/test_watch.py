"""What is shown of a run while it happens: on a terminal above the bars, elsewhere a line now and then."""

import io
import re

import pytest
from rich.console import Console

from scenarios.render.progress import EVERY, Bars, Watcher
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from tests.scenarios.command import cli
from tests.scenarios.small import SMALL

pytestmark = pytest.mark.usefixtures("undrawn")


class Still:
    """A run as it might stand, with an agent that waits."""

    estimates, now, activations = 12, 2.5, (5, 7)

    def __init__(self, packets=1000):
        self.packets = packets

    def traffic(self):
        ends = ("sent", "delivered", "lost", "dropped", "in_flight", "duplicated")
        return {f"{unit}_{end}": self.packets for unit in ("packets", "bytes") for end in ends}

    def waiting(self):
        return tuple(f"agent {i} waits for any message from agent [{i + 1}]" for i in range(5))

    def spooled(self):
        return {"rows": 10, "bytes": 2_000, "in_memory": 7}


def shown(terminal: bool):
    out = io.StringIO()
    clock = [0.0]
    console = Console(file=out, force_terminal=terminal, width=240)
    return Watcher(console, clock=lambda: clock[0]), console, out, clock


def test_a_terminal_shows_everything_above_the_bars():
    watcher, console, out, clock = shown(True)
    run = Still()
    with Bars(console, watcher) as bars:
        bars.begin("walk: running", 100)
        watcher.look(run)
        clock[0], run.packets = 2.0, 5000
        watcher.look(run)
        bars._progress.refresh()
        text = out.getvalue()
        bars.begin("walk: auditing", 100)
        assert watcher.panel is None
    for words in (
        "2.5 s", "12 rounds or activations, 5 … 7 by one agent", "5,000 sent, 5,000 in flight",
        "2,000 per real second",
        "5.0 kB sent, 5.0 kB delivered, 5.0 kB lost", "5 of 2 agents: agent 0 waits for any message from agent [1]",
        "; …", "10 rows on disk (2.0 kB), 7 in memory", "walk: running",
    ):  # fmt: skip
        assert words in text, words


def test_a_narrow_terminal_keeps_every_word():
    console = Console(file=io.StringIO(), force_terminal=True, no_color=True, width=40)
    watcher = Watcher(console)
    watcher.look(Still())
    console.print(watcher.panel)
    lines = re.sub(r"\x1b\[\d*m", "", console.file.getvalue()).splitlines()
    names = ("virtual time", "closed", "packets", "bytes", "waiting", "captured")
    assert tuple(line[:12].strip() for line in lines if line[:12].strip()) == names
    said = " ".join(line[14:].strip() for line in lines)
    for words in ("5 … 7 by one agent", "per virtual second", "1.0 kB dropped", "in memory"):
        assert words in said, words


def test_elsewhere_a_line_every_few_seconds():
    watcher, _, out, clock = shown(False)
    run = Still()
    for tenth in range(3 * int(10 * EVERY) + 1):
        clock[0] = tenth / 10
        watcher.look(run)
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert "t=2.5 s; closed: 12 rounds or activations, 5 … 7 by one agent" in lines[0]
    assert "5 agents wait; 17 rows captured" in lines[0]


def test_rates_are_those_of_the_last_second():
    watcher, _, out, clock = shown(False)
    run = Still(100)
    for clock[0], run.now, run.packets in ((0.0, 1.0, 100), (8.0, 2.0, 300), (10.0, 2.5, 600)):
        watcher.look(run)
    assert "; 25 packets per real second, 200 per virtual second; " in out.getvalue()
    clock[0] = 15.5
    watcher.look(run)
    assert "; 0 packets per real second, 0 per virtual second; " in out.getvalue().splitlines()[-1]


@pytest.mark.slow
def test_a_runner_shows_every_simulation_but_those_of_audits(tmp_path):
    seen = []
    few = SMALL.replace("trials: 100, chunk: 100", "trials: 50, chunk: 50")
    run_scenario(parse(few), tmp_path, watch=lambda running: seen.append((id(running), running.now)), page=False)
    assert len({run for run, _ in seen}) <= 6  # three algorithms, each with a run for the images
    assert len(seen) >= 6


@pytest.mark.slow
def test_the_command_watches(tmp_path, monkeypatch):
    monkeypatch.setattr("scenarios.render.progress.EVERY", 0.0)
    file = tmp_path / "small.yaml"
    file.write_text(SMALL.split("attacks:")[0])
    cli("run", file, "--out", tmp_path / "out", "--watch", ends=0, output="packets per real second")
    alone = cli("run", file, "--out", tmp_path / "alone")
    assert "packets per real second" not in alone.output
    for name in ("plain", "leaky", "told"):
        files = [tmp_path / where / f"transcript-{name}.parquet" for where in ("out", "alone")]
        assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_is_shown_before_anything_runs(terminal):
    watcher, console, out, _ = shown(terminal)
    with Bars(console, watcher):
        pass
    assert "virtual" not in out.getvalue()
