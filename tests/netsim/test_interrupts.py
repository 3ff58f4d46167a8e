"""Of several signals that stop a command only the first is one, until its processes have ended."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest

from attacks.audit.pair import spread
from netsim import interrupts
from netsim.algorithms import Algorithm
from netsim.interrupts import STOPS, never_lost, stopped_once
from netsim.topology import ring
from tests.worlds import regression_problem, simulated


@pytest.fixture(autouse=True)
def heard():
    """Ctrl-C as a program begins with it, whatever blocks of other tests are still held."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def _stop_twice(program):
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.raise_signal(signal.SIGINT)
        assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_the_second_of_two_is_ignored_also_by_a_program_started_then():
    before = [signal.getsignal(number) for number in STOPS]
    ended = "import signal; signal.raise_signal(signal.SIGINT)"
    with pytest.raises(KeyboardInterrupt), stopped_once():
        _stop_twice(ended)
    assert [signal.getsignal(number) for number in STOPS] == before


def test_another_one_afterwards_stops_again():
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), stopped_once():
            signal.raise_signal(signal.SIGINT)


def test_what_is_ignored_stays_so():
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stopped_once():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, former)


def test_a_generator_closed_early_leaves_the_handlers_as_they_were():
    before = [signal.getsignal(number) for number in STOPS]
    results = spread(abs, [(-1,), (-2,)], 1)
    assert next(results) == 1
    results.close()
    assert [signal.getsignal(number) for number in STOPS] == before


@pytest.mark.parametrize("seconds", [0.05, 0.0], ids=["a moment later", "while it is still being lost"])
def test_one_that_lands_in_a_destructor_comes_again(monkeypatch, seconds):
    monkeypatch.setattr(interrupts, "_AGAIN", seconds)

    class Interrupted:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    def lose(interrupted):
        del interrupted
        for _ in range(1000):
            time.sleep(0.01)

    before = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt), never_lost():
        lose(Interrupted())
    assert sys.unraisablehook is before


def test_another_error_in_a_destructor_is_told_as_before(capsys, monkeypatch):
    class Broken:
        def __del__(self):
            raise ValueError("mine")

    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    with never_lost():
        broken = Broken()
        del broken
    assert "ValueError: mine" in capsys.readouterr().err


def test_blocks_may_end_in_any_order():
    before = [signal.getsignal(number) for number in STOPS]

    def held():
        with stopped_once():
            yield

    first, second = held(), held()
    next(first), next(second)
    first.close()
    assert [signal.getsignal(number) for number in STOPS] != before
    second.close()
    assert [signal.getsignal(number) for number in STOPS] == before


def _spins():
    while True:
        pass


def _spins_on_whatever_comes():
    for _ in range(3):
        with suppress(BaseException):
            _spins()


@dataclass(frozen=True)
class NeverWaits(Algorithm):
    """After a first round, which it closes, it is at work without an end; Ctrl-C comes then."""

    work: Callable[[], None] = _spins
    rounds: int = 2

    async def run(self, node):
        await node.exchange(x=node.zeros())
        node.estimate(node.zeros())
        if node.id == 1:
            threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT]).start()
            self.work()


@pytest.mark.parametrize("work", [_spins, _spins_on_whatever_comes, lambda: time.sleep(20)])
def test_one_is_enough_for_an_agent_that_never_waits_and_what_there_is_is_kept(monkeypatch, work):
    monkeypatch.setattr(interrupts, "_UNHEARD", 0.05)
    before = signal.getsignal(signal.SIGINT)
    begun = time.monotonic()
    run = simulated(regression_problem(), ring(5), NeverWaits(work)).run()
    assert time.monotonic() - begun < 15
    assert run.interrupted
    assert run.activations[1] == 1
    assert signal.getsignal(signal.SIGINT) is before
