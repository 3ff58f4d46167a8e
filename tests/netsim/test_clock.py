"""The virtual clock: asyncio's vocabulary in simulated seconds, on SimPy's one heap."""

import asyncio
import contextlib
import functools
import gc
import math
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import traceback
import weakref

import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim import clock
from netsim.clock import VirtualEnvironment, VirtualLoop, Wait, until
from netsim.errors import DeadlockError, StalledError, UnsupportedError
from tests.worlds import interrupted


def now() -> float:
    return asyncio.get_running_loop().time()


def environment() -> VirtualEnvironment:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop.environment


def virtual(test):
    """A test that runs in virtual time."""
    return functools.wraps(test)(lambda **given: clock.run(test(**given)))


def python(script: str, **variables: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | variables, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


# ── asyncio in virtual time ─────────────────────────────────────────────────────────────────────────────
@virtual
async def test_sleep_takes_simulated_seconds_and_returns_its_result():
    assert (now(), await asyncio.sleep(86_400.5, "slept"), now()) == (0.0, "slept", 86_400.5)


def test_tasks_interleave_in_order_of_time_and_then_of_creation():
    log = []

    async def agent(name, period):
        for _ in range(3):
            await asyncio.sleep(period)
            log.append((now(), name))

    async def main():
        await asyncio.gather(agent("a", 2.0), agent("b", 3.0), agent("c", 2.0))

    clock.run(main())
    assert log == [
        (2.0, "a"), (2.0, "c"), (3.0, "b"), (4.0, "a"), (4.0, "c"), (6.0, "b"), (6.0, "a"), (6.0, "c"), (9.0, "b"),
    ]  # fmt: skip


def test_a_failing_task_cancels_its_group_at_that_instant():
    cancelled = []

    async def sleeper():
        try:
            await asyncio.sleep(100)
        finally:
            cancelled.append(now())

    async def failing():
        await asyncio.sleep(3)
        raise ValueError("mine")

    async def main():
        async with asyncio.TaskGroup() as group:
            group.create_task(sleeper())
            group.create_task(failing())

    with pytest.raises(ExceptionGroup) as caught:
        clock.run(main())
    assert caught.group_contains(ValueError, match="mine")
    assert cancelled == [3.0]


@virtual
async def test_timeout_and_wait_for_fire_at_their_deadline():
    times = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(2.5):
            await asyncio.sleep(10)
    times.append(now())
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.sleep(10), 1.5)
    times.append(now())
    async with asyncio.timeout(5):
        await asyncio.sleep(4)
    assert [*times, now()] == [2.5, 4.0, 8.0]


@pytest.mark.parametrize("late", [0.0, math.ulp(4.0)])
@pytest.mark.parametrize("armed_first", ["timer", "message"])
def test_a_message_exactly_at_a_deadline_beats_the_timeout(late, armed_first):
    async def main():
        arrived = asyncio.get_running_loop().create_future()

        def send():
            environment().call_at(4.0 + late, arrived.set_result, "message")

        if armed_first == "message":
            send()
        try:
            async with asyncio.timeout(4.0):
                if armed_first == "timer":
                    asyncio.get_running_loop().call_soon(send)
                return await arrived
        except TimeoutError:
            arrived.cancel()
            return "timeout"

    async def guarded():
        result = await main()
        environment()._queue.clear()  # the message that is too late has nobody to go to
        return result

    assert clock.run(guarded()) == ("timeout" if late else "message")


@virtual
async def test_calls_of_one_instant_keep_their_order_and_precede_late_calls_and_timers():
    log = []
    asyncio.get_running_loop().call_at(1.0, log.append, "timer")
    environment().timer(1.0, log.append, "late")
    environment().call_at(1.0, log.append, "first")
    environment().call_at(1.0, log.append, "second")
    await asyncio.sleep(2)
    assert log == ["first", "second", "timer", "late"]


@virtual
async def test_a_timer_in_the_past_fires_now():
    await asyncio.sleep(5)
    fired = []
    asyncio.get_running_loop().call_at(1.0, lambda: fired.append(now()))
    await asyncio.sleep(1)
    assert fired == [5.0]


def test_cancelled_timers_do_not_move_the_clock():
    loop = VirtualLoop()

    async def main():
        handle = asyncio.get_running_loop().call_later(1_000.0, lambda: None)
        await asyncio.sleep(1)
        handle.cancel()
        await asyncio.Event().wait()

    with pytest.raises(DeadlockError, match="t=1 s"):
        clock.run(main(), loop=loop)
    assert loop.time() == 1.0
    assert loop.cancelled_timers == 0


def test_cancelled_timers_are_compacted():
    loop = VirtualLoop()
    largest = 0

    async def main():
        nonlocal largest
        for _ in range(20 * clock.COMPACT_ABOVE):
            async with asyncio.timeout(1e9):
                await asyncio.sleep(0)
            largest = max(largest, len(loop.environment._queue))
        timers = [entry[3] for entry in loop.environment._queue]
        dead = sum(timer.cancelled() for timer in timers if isinstance(timer, asyncio.TimerHandle))
        assert dead == loop.cancelled_timers
        await asyncio.sleep(1)

    clock.run(main(), loop=loop)
    assert loop.time() == 1.0
    assert clock.COMPACT_ABOVE // 2 < largest <= clock.COMPACT_ABOVE + 2


def test_compaction_keeps_the_order_of_what_is_left():
    async def main():
        loop, fired = asyncio.get_running_loop(), []
        kept = {}
        for i in range(4 * clock.COMPACT_ABOVE):
            handle = loop.call_at(float(1 + (i * 7919) % 1000), fired.append, i)
            if i % 16:
                handle.cancel()
            else:
                kept[i] = handle.when()
        environment().call_at(3.5, fired.append, "message")
        kept["message"] = 3.5
        await asyncio.sleep(2000)
        return fired, sorted(kept, key=kept.__getitem__)

    fired, expected = clock.run(main())
    assert fired == expected


def test_sleep_forever_is_no_event():
    loop = VirtualLoop()

    async def main():
        forever = asyncio.create_task(asyncio.sleep(math.inf))
        await asyncio.sleep(2)
        assert not loop.environment._queue
        await forever

    with pytest.raises(DeadlockError, match="t=2 s"):
        clock.run(main(), loop=loop)


def test_a_sleep_of_nan_seconds_is_an_error():
    with pytest.raises(ValueError, match=r"NaN|nan"):
        clock.run(asyncio.sleep(math.nan))


# ── SimPy beside coroutines ─────────────────────────────────────────────────────────────────────────────
@virtual
async def test_a_resource_is_shared_by_a_process_and_a_coroutine():
    env, log = environment(), []
    resource = simpy.Resource(env, capacity=1)

    def process():
        with resource.request() as request:
            yield request
            log.append(("process has it", env.now))
            yield env.timeout(4)

    env.process(process())
    await asyncio.sleep(1)
    with resource.request() as request:
        await until(request)
        log.append(("coroutine has it", env.now))
    assert log == [("process has it", 0.0), ("coroutine has it", 4.0)]


@virtual
async def test_until_returns_the_value_of_a_process_even_after_it_ended():
    env = environment()

    def process():
        yield env.timeout(3)
        return "value"

    running = env.process(process())
    first = await until(running)
    assert (first, await until(running), now()) == ("value", "value", 3.0)


def test_until_raises_the_failure_of_a_process():
    async def main():
        env = environment()

        def process():
            yield env.timeout(3)
            raise ValueError("inside the process")

        try:
            await until(env.process(process()))
        except ValueError as error:
            return str(error), now()

    assert clock.run(main()) == ("inside the process", 3.0)


def test_a_process_that_nobody_awaits_ends_the_run_when_it_fails():
    async def main():
        env = environment()

        def process():
            yield env.timeout(3)
            raise ValueError("unretrieved")

        env.process(process())
        await asyncio.sleep(10)

    with pytest.raises(ValueError, match="unretrieved"):
        clock.run(main())


@virtual
async def test_a_coroutine_may_give_up_on_an_event():
    late = environment().timeout(5, "late")
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(until(late), 2)
    gave_up = now()
    await asyncio.sleep(10)
    assert (gave_up, late.processed) == (2.0, True)


def test_the_environment_runs_alone_without_a_loop():
    env, log = VirtualEnvironment(), []
    env.call_at(2.0, log.append, "call")
    env.timeout(1.0).callbacks.append(lambda event: log.append("event"))
    env.run()
    assert (log, env.now) == (["event", "call"], 2.0)


def test_what_has_passed_at_an_instant_is_known_inside_an_urgent_event_of_simpy_too():
    env, seen = VirtualEnvironment(), []
    before = next(env.numbers)
    urgent = env.event()
    urgent._ok, urgent._value = True, None
    urgent.callbacks.append(lambda _: seen.append((env.has_passed(0.0, before), env.has_passed(0.0, after))))
    env.schedule(urgent, priority=simpy.events.URGENT)
    after = next(env.numbers)
    env.run()
    assert seen == [(True, False)]


# ── what virtual time does not have ─────────────────────────────────────────────────────────────────────
async def _with_socket(use):
    with socket.socket() as real:
        real.setblocking(False)
        await use(asyncio.get_running_loop(), real)


REFUSED = {
    "asyncio.to_thread": lambda: asyncio.to_thread(int),
    "run_in_executor": lambda: asyncio.get_running_loop().run_in_executor(None, int),
    "set_default_executor": lambda: asyncio.get_running_loop().set_default_executor(None),
    "getaddrinfo": lambda: asyncio.get_running_loop().getaddrinfo("localhost", 80),
    "getnameinfo": lambda: asyncio.get_running_loop().getnameinfo(("127.0.0.1", 80)),
    "create_connection": lambda: asyncio.open_connection("localhost", 80),
    "create_server": lambda: asyncio.start_server(lambda r, w: None, "localhost", 0),
    "create_datagram_endpoint": lambda: asyncio.get_running_loop().create_datagram_endpoint(asyncio.DatagramProtocol),
    "create_unix_connection": lambda: asyncio.open_unix_connection("/nowhere"),
    "create_unix_server": lambda: asyncio.start_unix_server(lambda r, w: None, "/nowhere"),
    "connect_accepted_socket": lambda: asyncio.get_running_loop().connect_accepted_socket(asyncio.Protocol, None),
    "start_tls": lambda: asyncio.get_running_loop().start_tls(None, None, None),
    "sock_recv": lambda: _with_socket(lambda loop, real: loop.sock_recv(real, 1)),
    "sock_recv_into": lambda: _with_socket(lambda loop, real: loop.sock_recv_into(real, bytearray(1))),
    "sock_recvfrom": lambda: _with_socket(lambda loop, real: loop.sock_recvfrom(real, 1)),
    "sock_recvfrom_into": lambda: _with_socket(lambda loop, real: loop.sock_recvfrom_into(real, bytearray(1))),
    "sock_sendall": lambda: _with_socket(lambda loop, real: loop.sock_sendall(real, b"x")),
    "sock_sendto": lambda: _with_socket(lambda loop, real: loop.sock_sendto(real, b"x", ("127.0.0.1", 9))),
    "sock_connect": lambda: _with_socket(lambda loop, real: loop.sock_connect(real, ("127.0.0.1", 9))),
    "sock_accept": lambda: _with_socket(lambda loop, real: loop.sock_accept(real)),
    "sock_sendfile": lambda: _with_socket(lambda loop, real: loop.sock_sendfile(real, None)),
    "sendfile": lambda: asyncio.get_running_loop().sendfile(None, None),
    "add_reader": lambda: asyncio.get_running_loop().add_reader(0, print),
    "add_writer": lambda: asyncio.get_running_loop().add_writer(0, print),
    "remove_reader": lambda: asyncio.get_running_loop().remove_reader(0),
    "remove_writer": lambda: asyncio.get_running_loop().remove_writer(0),
    "connect_read_pipe": lambda: asyncio.get_running_loop().connect_read_pipe(asyncio.Protocol, sys.stdin),
    "connect_write_pipe": lambda: asyncio.get_running_loop().connect_write_pipe(asyncio.Protocol, sys.stdout),
    "create_subprocess_exec": lambda: asyncio.create_subprocess_exec("true"),
    "create_subprocess_shell": lambda: asyncio.create_subprocess_shell("true"),
    "add_signal_handler": lambda: asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print),
    "remove_signal_handler": lambda: asyncio.get_running_loop().remove_signal_handler(signal.SIGUSR1),
    "env.run": lambda: environment().run(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_virtual_time_does_not_have_is_refused_by_name(name):
    async def main():
        result = REFUSED[name]()
        if asyncio.iscoroutine(result) or asyncio.isfuture(result):
            await result

    with pytest.raises(UnsupportedError) as caught:
        clock.run(main())
    assert name in str(caught.value)


def test_a_call_from_another_thread_is_refused_by_name_and_from_the_own_thread_is_not():
    async def main():
        loop, caught, calls = asyncio.get_running_loop(), [], []

        def foreign():
            try:
                loop.call_soon_threadsafe(calls.append, "foreign")
            except UnsupportedError as error:
                caught.append(str(error))

        thread = threading.Thread(target=foreign)
        thread.start()
        thread.join()
        loop.call_soon_threadsafe(calls.append, "own")
        await asyncio.sleep(0)
        return caught, calls

    caught, calls = clock.run(main())
    assert len(caught) == 1
    assert "call_soon_threadsafe from another thread" in caught[0]
    assert calls == ["own"]


# ── runs that end badly ─────────────────────────────────────────────────────────────────────────────────
def test_nothing_left_to_happen_is_a_deadlock_that_says_when_and_who():
    loop = VirtualLoop()
    loop.on_idle = lambda: "agent 3 waits for the moon"

    async def main():
        await asyncio.sleep(1.25)
        await asyncio.Event().wait()

    with pytest.raises(DeadlockError, match=r"t=1\.25 s, and agent 3 waits for the moon"):
        clock.run(main(), loop=loop)
    assert loop.is_closed()


def test_on_idle_may_make_something_happen():
    loop = VirtualLoop()

    async def main():
        event = asyncio.Event()

        def cure():
            event.set()
            return "cured"

        loop.on_idle = cure
        await event.wait()
        return "done"

    assert clock.run(main(), loop=loop) == "done"


def test_an_endless_sleep_of_zero_is_stalled_and_still_cleans_up():
    loop, cleaned = VirtualLoop(), []
    loop.callbacks_per_instant = 1_000

    async def main():
        await asyncio.sleep(3)
        try:
            while True:
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(2)
            cleaned.append(now())

    with pytest.raises(StalledError, match=r"t=3 s.*sleep\(0\)") as caught:
        clock.run(main(), loop=loop)
    assert cleaned == [5.0]
    assert not hasattr(caught.value, "__notes__")


def test_many_callbacks_at_different_instants_are_not_stalled():
    loop = VirtualLoop()
    loop.callbacks_per_instant = 100

    async def main():
        for _ in range(20):
            for _ in range(40):
                await asyncio.sleep(0)
            await asyncio.sleep(1e-9)
        return "done"

    assert clock.run(main(), loop=loop) == "done"


@pytest.mark.parametrize("who", ["messages", "a process of SimPy"])
def test_events_without_end_at_one_instant_are_stalled(who):
    loop = VirtualLoop()
    loop.steps_per_instant = 1_000

    async def main():
        def spin(env):
            while True:
                yield env.timeout(0)

        if who != "messages":
            environment().process(spin(environment()))
            await asyncio.sleep(1)
        while True:
            arrived = asyncio.get_running_loop().create_future()
            environment().call_at(environment().now, arrived.set_result, None)
            await arrived

    with pytest.raises(StalledError, match=r"events at t=0 s.*time cannot advance"):
        clock.run(main(), loop=loop)


def test_an_error_ends_the_run_with_its_own_traceback():
    async def broken_agent():
        await asyncio.sleep(1)
        raise ZeroDivisionError("in the agent")

    async def main():
        async with asyncio.TaskGroup() as group:
            group.create_task(broken_agent())

    with pytest.raises(ExceptionGroup) as caught:
        clock.run(main())
    (error,) = caught.value.exceptions
    assert [frame.name for frame in traceback.extract_tb(error.__traceback__)] == ["broken_agent"]
    with pytest.raises(ZeroDivisionError) as alone:
        clock.run(broken_agent())
    assert traceback.extract_tb(alone.value.__traceback__)[-1].name == "broken_agent"


@pytest.mark.parametrize("while_shutting_down", ["raises", "waits for nothing"])
def test_an_error_at_shutdown_is_a_note_on_the_first_error(while_shutting_down):
    async def background():
        try:
            await asyncio.sleep(100)
        finally:
            if while_shutting_down == "raises":
                raise ValueError("second")
            await asyncio.Event().wait()

    async def main():
        task = asyncio.create_task(background())
        await asyncio.sleep(1)
        raise KeyError("first", task)

    with pytest.raises(KeyError, match="first") as caught:
        clock.run(main())
    (note,) = caught.value.__notes__
    assert note.startswith("while shutting down: ")
    assert ("ValueError('second')" if while_shutting_down == "raises" else "DeadlockError") in note


def test_an_awaiting_finally_still_runs_in_virtual_time_at_shutdown():
    cleaned = []

    async def background():
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(2)
            cleaned.append(now())

    async def main():
        task = asyncio.create_task(background())
        await asyncio.sleep(1)
        return task.done()

    assert clock.run(main()) is False
    assert cleaned == [3.0]


@virtual
async def test_unretrieved_are_the_errors_that_nobody_asked_for_in_the_order_of_their_tasks():
    async def failing(name, seconds):
        await asyncio.sleep(seconds)
        raise ValueError(name)

    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(failing(name, seconds)) for name, seconds in [("a", 2), ("b", 1), ("asked", 1)]]
    tasks += [loop.create_task(asyncio.sleep(seconds)) for seconds in (1, 9, 9)]
    tasks[-1].cancel()
    await asyncio.sleep(3)
    assert str(tasks[2].exception()) == "asked"
    found = [str(error) for error in loop.unretrieved()]
    assert (found, loop.unretrieved()) == (["a", "b"], [])


def test_a_closed_loop_takes_no_more_callbacks():
    loop = VirtualLoop()
    loop.close()
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_soon(int)


INTERRUPTED = """
import asyncio
from netsim import clock
cleaned = []
async def background():
    try:
        while True:
            await asyncio.sleep(1)
    finally:
        cleaned.append(True)
async def main():
    task = asyncio.create_task(background())
    await asyncio.sleep(10)
    print("ready", flush=True)
    while True:
        await asyncio.sleep(1)
try:
    clock.run(main())
except KeyboardInterrupt:
    print("interrupted", cleaned)
"""


def test_ctrl_c_ends_a_long_run():
    assert interrupted(INTERRUPTED) == "interrupted [True]\n"


# ── inside another loop ─────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("fails", [False, True])
def test_a_run_inside_a_running_loop_leaves_the_outer_loop_as_it_was(fails):
    async def inner():
        assert isinstance(asyncio.get_running_loop(), VirtualLoop)
        await asyncio.sleep(1e6)
        if fails:
            raise ValueError("inner")
        return now()

    async def outer():
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        neighbor = asyncio.create_task(asyncio.sleep(0, "neighbor"))
        if fails:
            with pytest.raises(ValueError, match="inner"):
                clock.run(inner())
        else:
            assert clock.run(inner()) == 1e6
        assert asyncio.get_running_loop() is loop
        assert asyncio.current_task() is task
        assert await neighbor == "neighbor"
        return await asyncio.sleep(0, "outer")

    assert asyncio.run(outer()) == "outer"


def test_a_run_inside_a_plain_callback_of_a_running_loop():
    async def outer():
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        times = []

        async def inner():
            await asyncio.sleep(50)
            return now()

        def callback():
            times.append(clock.run(inner()))
            done.set()

        loop.call_soon(callback)
        await done.wait()
        return times

    assert asyncio.run(outer()) == [50.0]


@pytest.mark.slow
def test_a_run_inside_a_notebook():
    nbformat = pytest.importorskip("nbformat", reason="the notebook test needs nbclient and ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="the notebook test needs nbclient and ipykernel")
    pytest.importorskip("ipykernel", reason="the notebook test needs nbclient and ipykernel")
    cells = [
        "import asyncio\nfrom netsim import clock\nasync def main():\n    await asyncio.sleep(3600)\n"
        "    return asyncio.get_running_loop().time()\nprint(clock.run(main()))",
        "await asyncio.sleep(0)\nprint(asyncio.current_task() is not None, clock.run(main()))",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    printed = [output["text"] for cell in notebook.cells for output in cell["outputs"]]
    assert printed == ["3600.0\n", "True 3600.0\n"]


# ── the same order in every process and in every run ────────────────────────────────────────────────────
CANCELLATION_ORDER = """
import asyncio, sys
from netsim import clock
def order():
    log = []
    async def agent(i):
        try:
            await asyncio.sleep(10)
        finally:
            log.append(i)
    async def main():
        async with asyncio.TaskGroup() as group:
            for i in range(23):
                group.create_task(agent(i))
            await asyncio.sleep(1)
            raise RuntimeError
    try:
        clock.run(main())
    except* RuntimeError:
        pass
    return log
litter = [bytearray(hash(str(i)) % 4096) for i in range(1000)]
print([order() for _ in range(3)])
"""


def test_cancellation_order_depends_neither_on_the_process_nor_on_what_ran_before():
    (printed,) = {python(CANCELLATION_ORDER, PYTHONHASHSEED=seed) for seed in ("1", "2", "3")}
    first, second, third = eval(printed)
    assert sorted(first) == list(range(23))
    assert first == second == third


def test_debug_mode_names_a_callback_that_takes_real_time(caplog):
    loop = VirtualLoop()
    loop.slow_callback_duration = 0.0  # every callback is slow

    async def main():
        await asyncio.sleep(1)

    with caplog.at_level("WARNING", logger="netsim.clock"):
        clock.run(main(), loop=loop, debug=True)
    assert "virtual time stood still" in caplog.text


# ── pages ───────────────────────────────────────────────────────────────────────────────────────────────
def test_what_lived_before_a_run_is_the_collectors_again_after_it():
    assert gc.get_freeze_count() <= clock.FROZEN_BY_PYTHON

    async def frozen() -> int:
        return gc.get_freeze_count()

    assert clock.run(frozen()) > 1000 + clock.FROZEN_BY_PYTHON
    assert gc.get_freeze_count() == 0


def test_what_runs_leave_behind_is_collected_before_it_is_much(monkeypatch):
    """A loop of audits in a notebook makes thousands of runs, whose parts refer to each other."""
    monkeypatch.setattr(clock, "MOST_LEFT", 1000)
    left = list[weakref.ref[list[object]]]()

    class Ring(list[object]):
        pass

    async def parts() -> None:
        ring = Ring()
        ring.extend([[ring] for _ in range(300)])
        left.append(weakref.ref(ring))

    for _ in range(16):
        clock.run(parts())
    assert 0 < sum(ring() is not None for ring in left) < 8


def test_who_never_ends_is_named_by_the_error_and_not_again_by_the_collector(caplog):
    async def stubborn() -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.get_running_loop().create_future()

    async def main() -> None:
        task = asyncio.create_task(stubborn(), name="stubborn")
        await asyncio.sleep(1)
        assert not task.done()

    with pytest.raises(DeadlockError):
        clock.run(main())
    gc.collect()
    assert "destroyed" not in caplog.text


# ── pages of the future ─────────────────────────────────────────────────────────────────────────────────
def crowd(times: list[float]) -> list[tuple[float, int]]:
    """Calls at these times, each followed by one that it makes itself; timers and SimPy's events among them."""
    environment = VirtualEnvironment()
    loop, log = VirtualLoop(environment), []

    def again(number: int) -> None:
        log.append((environment.now, number))
        if number >= 0:
            environment.call_at(environment.now + times[number], again, -1 - number)

    async def main() -> None:
        for number, when in enumerate(times):
            if number % 7 == 0:
                loop.call_at(when, again, number)
            elif number % 7 == 1:
                environment.timer(when, again, number)
            elif number % 7 == 2:
                environment.timeout(when).callbacks.append(lambda _, number=number: again(number))
            else:
                environment.call_at(when, again, number)
        await asyncio.sleep(3 * max(times))

    clock.run(main(), loop=loop)
    return log


@pytest.mark.parametrize("spread", [0.0, 1e-12, 1.0, 1e9])
def test_a_future_in_pages_comes_in_the_same_order(monkeypatch, spread):
    rng = random.Random(3)
    times = [1.0 + spread * rng.random() ** 4 for _ in range(500)] + [1.0] * 50 + [2e9]
    one_heap = crowd(times)
    assert len(one_heap) == 2 * len(times)
    monkeypatch.setattr(clock, "PAGES_ABOVE", 16)
    monkeypatch.setattr(clock, "PAGE", 4)
    assert crowd(times) == one_heap


def test_a_large_heap_is_spread_over_pages_and_nothing_is_lost():
    environment = VirtualEnvironment()
    came: list[float] = []
    for number in range(3 * clock.PAGE):
        environment.call_at(number / 1000, came.append, number / 1000)
    environment.spread()
    assert environment.paged
    assert len(environment._queue) < 2 * clock.PAGE
    assert environment.size() == 3 * clock.PAGE
    environment.keep(lambda entry: entry[4] != 1.0)
    assert environment.size() == 3 * clock.PAGE - 1
    environment.run(until=5.0)
    assert environment.peek() == 5.001
    environment.run()
    assert came == [number / 1000 for number in range(3 * clock.PAGE) if number != 1000]
    assert (environment.peek(), environment.size()) == (math.inf, 0)
    for number in range(2 * clock.PAGE):
        environment.call_at(10.0 + number, came.append, 0.0)
    environment.keep(lambda _: False)
    assert (environment.peek(), environment.size()) == (math.inf, 0)


# ── waits ───────────────────────────────────────────────────────────────────────────────────────────────
class FutureWait:
    """What `Wait` does, by futures."""

    def __init__(self, loop):
        self.loop, self.over = loop, False
        self.again()

    def again(self):
        self.future, self.over = self.loop.create_future(), False

    def set(self):
        if not self.future.done():
            self.future.set_result(None)

    def __await__(self):
        yield from self.future.__await__()
        self.over = True


AGENTS = 3
CALLS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.5, 1.0, 2.0]),
        st.lists(st.tuples(st.sampled_from(["set", "soon", "cancel"]), st.integers(0, AGENTS - 1)), max_size=4),
    ),
    max_size=8,
)


def log_of(kind, calls, reactions, patience):
    """Who goes on and when: agents that wait time and again, calls that set, cancel, and have others called soon.

    An agent that goes on for the n-th time does what `reactions` say of n, in its own step.
    """
    log = []

    async def main():
        loop = asyncio.get_running_loop()
        waits, turns, tasks = {}, dict.fromkeys(range(AGENTS), 0), {}

        def act(what, who):
            if what == "soon":
                loop.call_soon(log.append, (now(), "soon", who))
            elif what == "cancel":
                tasks[who].cancel()
            elif who in waits:
                waits[who].set()

        async def agent(me):
            while True:
                wait = waits.get(me)
                if wait is not None and wait.over:
                    wait.again()
                else:
                    wait = waits[me] = kind(loop)
                try:
                    async with asyncio.timeout(patience):
                        await wait
                    log.append((now(), "on", me))
                except TimeoutError:
                    log.append((now(), "late", me))
                    if now() > 5:
                        return
                except asyncio.CancelledError:
                    log.append((now(), "cancelled", me))
                    raise
                turns[me] += 1
                for what, who in reactions.get((me, turns[me]), ()):
                    act(what, who)

        def call(actions):
            for what, who in actions:
                act(what, who)
            log.append((now(), "called"))

        for delay, actions in calls:
            environment().call_at(delay, call, actions)
        tasks |= {me: loop.create_task(agent(me)) for me in range(AGENTS)}
        await asyncio.gather(*tasks.values(), return_exceptions=True)

    clock.run(main())
    return log


@settings(max_examples=150, deadline=None)
@given(
    CALLS,
    st.dictionaries(
        st.tuples(st.integers(0, AGENTS - 1), st.integers(1, 3)),
        st.lists(st.tuples(st.sampled_from(["set", "soon", "cancel"]), st.integers(0, AGENTS - 1)), max_size=3),
        max_size=4,
    ),
    st.sampled_from([1.0, 1.5, 4.0]),
)
def test_coroutines_go_on_from_waits_in_the_order_of_futures(calls, reactions, patience):
    assert log_of(Wait, calls, reactions, patience) == log_of(FutureWait, calls, reactions, patience)


def test_an_error_in_the_call_that_set_it_does_not_keep_a_coroutine_waiting():
    ended = []

    async def main():
        wait = Wait(asyncio.get_running_loop())

        def fail(_):
            wait.set()
            raise ArithmeticError("in the call")

        environment().call_at(1.0, fail, None)
        try:
            await wait
        finally:
            ended.append(wait.done)

    with pytest.raises(ArithmeticError, match="in the call"):
        clock.run(main())
    assert ended == [True]


def test_what_sets_a_wait_when_nothing_is_left_to_happen_is_no_deadlock():
    loop = VirtualLoop()

    async def main():
        wait = Wait(loop)
        loop.on_idle = lambda: wait.set() or ""
        await wait
        return "on"

    assert clock.run(main(), loop=loop) == "on"
