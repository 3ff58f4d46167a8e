# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportAttributeAccessIssue=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportAssignmentType=false
# pyright: reportIncompatibleMethodOverride=false
# The loop is a subclass of asyncio's own and of SimPy's: it works with what they keep to themselves.
"""Virtual time: an asyncio event loop that lives on a SimPy environment's one heap.

When no callback is ready, the loop takes the next entry from SimPy's heap, and that is the only way
time moves. Three things share the heap, ordered by (time, priority, sequence):

- SimPy's own events, so `Resource`, `Store` and processes work beside coroutines;
- timers of asyncio (`sleep`, `timeout`, `call_later`);
- calls, bare tuples `(time, priority, sequence, callback, argument)`, which is what a message in flight is.

At equal times a message is delivered before a timer fires: what arrives exactly at a deadline is in time.
There is no wall clock, no socket, no thread; a request for one is an `UnsupportedError`.

A heap of very many entries spends its time waiting for memory. From `PAGES_ABOVE` entries on it keeps only the first
page of the future, a stretch of time of about `PAGE` entries; later ones lie unsorted in pages of their own until the
heap is empty. The order in which entries come is the same.

Sharp edges: `time.sleep` in an agent is invisible to virtual time (``debug=True`` names slow callbacks by the
wall clock); `asyncio.as_completed` over bare coroutines and a user's own sets of strings iterate in an order
that Python does not fix between processes.
"""

import asyncio
import gc
import itertools
import logging
import math
import sys
import time
from asyncio import events
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context, copy_context
from heapq import heapify, heappop, heappush
from threading import get_ident
from typing import Any, NoReturn, TypeVar, cast

import simpy
from simpy.core import SimTime

from netsim.errors import DeadlockError, SimulationError, StalledError, UnsupportedError
from netsim.interrupts import cancelled_by_interrupts

T = TypeVar("T")

DELIVERY = 0
"""Priority of calls: as urgent as SimPy's URGENT."""
_TIMER = 2
"""Priority of asyncio's timers: after everything else at the same instant."""

PAGES_ABOVE = 1 << 15
"""Entries on the heap from which on the later ones are kept in pages."""
PAGE = 1 << 11
"""Entries that a page is meant to hold."""
_LAST_PAGE = 1 << 60
_ONCE = itertools.repeat
CHECK_EVERY = 1 << 16
COMPACT_ABOVE = 256
_logger = logging.getLogger("netsim.clock")


class Timer:
    """A call that can be taken back; once cancelled it does not move the clock."""

    __slots__ = ("argument", "callback", "cancelled")

    def __init__(self, callback: Callable[[Any], object], argument: object) -> None:
        self.callback, self.argument = callback, argument
        self.cancelled = False


class VirtualEnvironment(simpy.Environment):
    """A SimPy environment whose one heap, paged when it is large, also carries bare calls and asyncio timers.

    An entry is a tuple that begins (time, priority, sequence).
    """

    _queue: list[Any]
    now: float = 0.0  # a plain attribute: SimPy's is a property, and this is read for every message
    """Virtual seconds."""

    @property
    def _now(self) -> float:
        """SimPy's own name of it."""
        return self.now

    @_now.setter
    def _now(self, time: float) -> None:
        self.now = time

    def __init__(self, initial_time: SimTime = 0.0) -> None:
        super().__init__(initial_time)
        self.owner: VirtualLoop | None = None
        self.paged = False
        self._pages: dict[int, list[Any]] = {}
        self._numbers: list[int] = []  # a heap: which pages there are
        self._first = 0  # the page that is on the heap
        self._pages_per_second = 0.0
        self._later = 0  # entries on other pages
        self.pages_above = PAGES_ABOVE
        self.horizon = -1
        """Calls of this instant with a number up to it have been made."""

    def put(self, entry: tuple[Any, ...]) -> None:
        """Put an entry where it belongs, its time first: on the heap, or in a later page."""
        if self.paged and (number := self._page_of(entry)) > self._first:
            page = self._pages.get(number)
            if page is None:
                self._pages[number] = [entry]
                heappush(self._numbers, number)
            else:
                page.append(entry)
            self._later += 1
        else:
            heappush(self._queue, entry)

    def _page_of(self, entry: tuple[Any, ...]) -> int:
        """Never falls as time grows, so entries of different pages are in order."""
        place = entry[0] * self._pages_per_second
        return int(place) if place < _LAST_PAGE else _LAST_PAGE

    def turn_page(self) -> bool:
        """Get the next page on the empty heap; False if there is none."""
        while self._numbers:
            self._first = heappop(self._numbers)
            self._queue[:] = self._pages.pop(self._first)
            if self._queue:  # `keep` may have emptied it
                self._later -= len(self._queue)
                heapify(self._queue)
                return True
        return False

    def spread(self) -> None:
        """Leave on the heap what comes first, now that it is too large."""
        queue = self._queue
        entries = [*queue, *(entry for page in self._pages.values() for entry in page)]
        times = sorted(entry[0] for entry in queue)
        half = times[len(times) // 2] - times[0]
        if half <= 0:  # most come at once
            self.pages_above *= 2
            return
        self._pages_per_second = min(len(queue) / (2 * half * PAGE), _LAST_PAGE)
        self._pages.clear()
        self._numbers.clear()
        queue.clear()
        self.paged, self._later = True, 0
        self._first = min(map(self._page_of, entries))
        for entry in entries:
            self.put(entry)
        self.pages_above = max(PAGES_ABOVE, 2 * len(queue))

    def keep(self, wanted: Callable[[Any], bool]) -> None:
        """Drop the entries that are not wanted; the heap stays the same list."""
        for entries in (self._queue, *self._pages.values()):
            entries[:] = filter(wanted, entries)
        heapify(self._queue)
        self._later = sum(map(len, self._pages.values()))

    def size(self) -> int:
        """How many entries are to come."""
        return len(self._queue) + self._later

    def call_at(self, when: float, callback: Callable[[Any], object], argument: object) -> None:
        """Call `callback(argument)` at virtual time `when` (seconds), before timers of the same instant."""
        entry = (when, DELIVERY, next(self._eid), callback, argument)
        if self.paged:
            self.put(entry)
        else:  # this runs once per message
            heappush(self._queue, entry)

    def call_as(self, when: float, number: int, callback: Callable[[Any], object], argument: object) -> None:
        """Like `call_at`, in the place of a call of this sequence number, which nobody else takes."""
        self.put((when, DELIVERY, number, callback, argument))

    def pass_to(self, when: float) -> None:
        """Time goes on to `when`, if that is later, and past all calls there: nothing is left that would happen."""
        self.now, self.horizon = max(self.now, when), next(self._eid)

    @property
    def numbers(self) -> Iterator[int]:
        """The next sequence numbers; who takes one may make its call later (`call_as`), or not at all."""
        return self._eid

    def has_passed(self, when: float, number: int) -> bool:
        """Whether a call at `when` with this sequence number has been made, or would have been.

        Calls of an instant come before all else in it, by their numbers; those that what else happens in it makes
        have larger ones.
        """
        return when < self.now or (when == self.now and number <= self.horizon)

    def timer(self, when: float, callback: Callable[[Any], object], argument: object) -> Timer:
        """Like `call_at`, but after every delivery of the same instant, and can be cancelled."""
        timer = Timer(callback, argument)
        self.put((when, _TIMER, next(self._eid), timer))
        return timer

    def schedule(self, event: simpy.Event, priority: Any = simpy.events.NORMAL, delay: SimTime = 0) -> None:
        """SimPy's own entries."""
        self.put((self.now + delay, priority, next(self._eid), event))

    def peek(self) -> SimTime:
        """The time of the next entry; infinite if there is none."""
        if not self._queue and not self.turn_page():
            return math.inf
        return self._queue[0][0]

    def step(self) -> None:
        """Process one entry of the heap, whatever its kind; cancelled timers do not move the clock."""
        if not self._queue and not self.turn_page():
            raise simpy.core.EmptySchedule
        entry = heappop(self._queue)
        if len(entry) == 5:
            self.now, _, self.horizon = entry[:3]
            entry[3](entry[4])
        else:
            self.dispatch(entry)

    def dispatch(self, entry: tuple[float, int, int, Any]) -> None:
        """Do what an entry that is no call asks for: fire a timer, or run an event's callbacks."""
        item = entry[3]
        urgent = entry[1] == DELIVERY  # SimPy's urgent events are among the calls, by their numbers
        self.horizon = entry[2] if urgent else next(self._eid)  # all calls of this instant that there were
        if isinstance(item, asyncio.TimerHandle):
            owner = self.owner
            assert owner is not None, "only a VirtualLoop puts timers on the heap"
            item._scheduled = False
            if item.cancelled():
                owner.cancelled_timers -= 1
            else:
                self.now = entry[0]
                owner._ready.append(item)
        elif isinstance(item, Timer):
            if not item.cancelled:
                self.now = entry[0]
                item.callback(item.argument)
        else:
            self.now = entry[0]
            callbacks, item.callbacks = item.callbacks, None
            for callback in callbacks:
                callback(item)
            if not item.ok and not item.defused:
                raise item.value

    def run(self, until: Any = None) -> Any:
        """SimPy's `run`, refused while agents run on this environment: they already move its time."""
        if self.owner is not None and self.owner.is_running():
            raise UnsupportedError("env.run() from inside an agent: time already runs; await until(event) instead")
        return super().run(until)


class _NumberedTask(asyncio.Task[T]):
    """A task whose hash is its creation number: sets of tasks iterate alike in every run."""

    __slots__ = ("_number",)

    def __init__(self, *args: Any, loop: "VirtualLoop", **kwargs: Any) -> None:
        self._number = next(loop.task_numbers)
        super().__init__(*args, loop=loop, **kwargs)

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


class _Handle(asyncio.Handle):
    """A callback that is ready, made for every wake-up of an agent: without what asyncio keeps for debugging."""

    __slots__ = ()

    def __init__(
        self, callback: Callable[..., object], args: tuple[Any, ...], loop: "VirtualLoop", context: Context | None
    ) -> None:
        self._callback, self._args, self._loop = callback, args, loop
        self._context = copy_context() if context is None else context
        self._cancelled, self._repr, self._source_traceback = False, None, None


class Wait:
    """What one coroutine awaits, as it would a future: whoever sets it has the coroutine go on.

    In virtual time the coroutine goes on as soon as the call that set it returns, without the handle and the turn of
    the loop that a future needs for it: half the time, the same order. It may be used again once it is `over`.
    """

    __slots__ = ("_asyncio_future_blocking", "_cancelled", "_loop", "_virtual", "context", "done", "over", "wakeup")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._virtual = loop, loop if isinstance(loop, VirtualLoop) else None
        self._asyncio_future_blocking = self._cancelled = False
        self.wakeup: Any = None
        self.context: Any = None
        self.done = False
        """Whether it was set or cancelled."""
        self.over = False
        """Whether the coroutine has gone on."""

    def again(self) -> None:
        """From now on it is as if new."""
        self.done = self.over = False
        self.wakeup = None

    def set(self) -> None:
        """What the coroutine waits for is here."""
        if not self.done:
            self.done = True
            if self.wakeup is not None:
                loop = self._virtual
                if loop is not None and loop._advancing and loop._next is None and not loop._ready:
                    loop._next = self
                else:
                    self.go_on_in_turn()

    def go_on_in_turn(self) -> None:
        """As a future has it: after what is ready now."""
        self._loop.call_soon(self.wakeup, self, context=self.context)

    def __await__(self) -> Any:  # every agent holds one while it waits, and a generator takes four times as much
        self.over = done = self.done
        self._asyncio_future_blocking = not done
        return _ONCE(self, 0 if done else 1)

    # What a task asks of a future.
    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def add_done_callback(self, wakeup: Callable[[Any], object], *, context: Context) -> None:
        self.wakeup, self.context = wakeup, context

    def cancel(self, msg: object = None) -> bool:  # noqa: ARG002 - as a task calls it
        if self.done:
            return False
        self.done = self._cancelled = True
        self.go_on_in_turn()
        return True

    def result(self) -> None:  # a task asks for it as its coroutine goes on
        if self._cancelled:
            raise asyncio.CancelledError
        self.over = True


def _refused(what: str) -> Callable[..., NoReturn]:
    def refuse(*_args: object, **_kwargs: object) -> NoReturn:
        raise UnsupportedError(
            f"{what}: agents run in virtual time, which has no threads, sockets, files or processes"
        )

    return refuse


class VirtualLoop(asyncio.BaseEventLoop):
    """An asyncio loop whose `time()` is its environment's `now`, in simulated seconds.

    `on_idle` is called when nothing is left to happen; it may make something happen, or return a sentence
    that says who waits for what. Without a cure the loop raises `DeadlockError`. Before, time goes on to `last`: when
    the last of what needs no entry on the heap happens, −∞ for nothing.
    """

    _ready: Any  # asyncio's own deque of handles

    def __init__(self, environment: VirtualEnvironment | None = None) -> None:
        super().__init__()
        self.environment = environment if environment is not None else VirtualEnvironment()
        self.environment.owner = self
        self.on_idle: Callable[[], str] = lambda: "no agent has registered what it waits for"
        self.last: Callable[[], float] = lambda: -math.inf
        self.cancelled_timers = 0
        self.task_numbers = itertools.count()
        self.tasks: list[_NumberedTask[Any]] = []
        """Those that go on, those that failed, and some that have ended."""
        self._many = 64
        self.callbacks_per_instant, self.steps_per_instant = 20_000_000, 50_000_000
        self._callbacks = self._steps = 0
        self._instant = -math.inf
        self.checks_wakes = False
        """Whether `_check_instant` is called whenever a coroutine has gone on."""
        self._advancing = False
        self._next: Wait | None = None
        """Who goes on as soon as the call at hand returns."""
        self._set = self.create_future()
        self._set.set_result(None)

        def numbered(_loop: object, coro: Any, **kwargs: Any) -> "_NumberedTask[Any]":
            task = _NumberedTask(coro, loop=self, **kwargs)
            self.tasks.append(task)
            if len(self.tasks) > self._many:  # whatever has ended well is let go of
                self._let_go([one for one in self.tasks if one.done() and not one._log_traceback])
                self.tasks = [one for one in self.tasks if not one.done() or one._log_traceback]
                self._many = max(64, 2 * len(self.tasks))
            return task

        self.set_task_factory(numbered)

    def _let_go(self, tasks: list["_NumberedTask[Any]"]) -> None:
        """Take tasks from asyncio's one set of all loops' tasks: there the numbers of this run's would collide with
        those of every run before it that the garbage collector has not come to."""
        for task in tasks:
            asyncio.tasks._unregister_task(task)

    # ── time ────────────────────────────────────────────────────────────────────────────────────────
    def time(self) -> float:
        """Virtual seconds since the start."""
        return self.environment.now

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Asyncio's `call_at` on the environment's heap. An infinite time is never; NaN is an error."""
        self._check_closed()
        if math.isnan(when):
            raise ValueError("a timer at NaN: the delay that was requested is not a number")
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        if when < math.inf:
            environment = self.environment
            due = max(when, environment.now)
            environment.put((due, _TIMER, next(environment._eid), handle))
            handle._scheduled = True
        return handle

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Asyncio's `call_soon`."""
        if self._debug or self._closed:
            return super().call_soon(callback, *args, context=context)
        handle = _Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        if not handle._scheduled:
            return
        self.cancelled_timers += 1
        environment = self.environment
        if self.cancelled_timers > COMPACT_ABOVE and 2 * self.cancelled_timers > environment.size():
            environment.keep(lambda e: not (isinstance(e[3], asyncio.TimerHandle) and e[3].cancelled()))
            self.cancelled_timers = 1  # `handle` itself: asyncio marks it after this call

    # ── the loop ────────────────────────────────────────────────────────────────────────────────────
    def _run_once(self) -> None:
        ready = self._ready
        if not ready and not self._stopping:
            self._advance()
        count = len(ready)
        if self._debug:
            for _ in range(count):
                handle = ready.popleft()
                if handle._cancelled:
                    continue
                began = time.perf_counter()
                handle._run()
                if (took := time.perf_counter() - began) >= self.slow_callback_duration:
                    _logger.warning("%r took %.3f s of real time (virtual time stood still)", handle, took)
        else:
            for _ in range(count):
                handle = ready.popleft()
                if not handle._cancelled:
                    handle._run()
        self._callbacks += count
        if self._callbacks > self.callbacks_per_instant:
            spent, self._callbacks = self._callbacks, 0  # what shuts down starts afresh
            raise StalledError(
                f"{spent:,} callbacks at t={self.time():g} s without a message or a timer: an agent "
                "spins (an endless `sleep(0)`, say) and time cannot advance"
            )

    def _advance(self) -> None:
        """Take entries from the heap until a callback is ready: the only place where time moves."""
        self._advancing = not self._debug
        try:
            self._take()
        finally:
            self._advancing = False
            if self._next is not None:  # an error was faster
                self._next.go_on_in_turn()
                self._next = None

    def _take(self) -> None:
        environment, ready = self.environment, self._ready
        queue = environment._queue
        self._callbacks = 0
        steps = 0
        if len(queue) > environment.pages_above:
            environment.spread()
        while not ready:
            if not queue and not environment.turn_page():
                environment.pass_to(self.last())
                waiting = self.on_idle()
                if not ready and self._next is None:
                    raise DeadlockError(f"nothing is left to happen at t={self.time():g} s, and {waiting}")
                return
            steps += 1
            if steps == CHECK_EVERY:
                self._check_instant(steps)
                steps = 0
            entry = heappop(queue)
            if len(entry) == 5:  # a call: here, not in `step`, for speed
                environment.now, environment.horizon = entry[0], entry[2]
                entry[3](entry[4])
            else:
                environment.dispatch(entry)
            if self._next is not None:
                while (following := self._next) is not None:  # a coroutine that goes on may have others go on
                    self._next = None
                    following.over = True
                    following.context.run(following.wakeup, self._set)  # of its own futures a task asks nothing
                    steps += 1
                if self._stopping:
                    break
                if self.checks_wakes:
                    self._check_instant(steps)
                    steps = 0
                if len(queue) > environment.pages_above:
                    environment.spread()
        self._check_instant(steps)

    def _check_instant(self, steps: int) -> None:
        """Count what happened without time moving; too much of it is an error."""
        now = self.environment.now
        if now > self._instant:
            self._instant, self._steps = now, 0
        self._steps += steps
        if self._steps > self.steps_per_instant:
            raise StalledError(f"{self._steps:,} events at t={now:g} s: time cannot advance")

    def unretrieved(self) -> list[BaseException]:
        """Exceptions of finished tasks that nobody has retrieved, in order of the tasks' creation."""
        failed = [task for task in self.tasks if task.done() and not task.cancelled() and task._log_traceback]
        return [cast(BaseException, task.exception()) for task in sorted(failed, key=hash)]

    # ── what virtual time does not have ─────────────────────────────────────────────────────────────
    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """`call_soon` from the loop's own thread (a signal handler, say); refused from any other."""
        if self._thread_id is not None and self._thread_id != get_ident():
            raise UnsupportedError("call_soon_threadsafe from another thread: virtual time has one thread")
        return self.call_soon(callback, *args, context=context)

    def _write_to_self(self) -> None:
        """Nobody sleeps in a selector, so nobody has to be woken."""

    run_in_executor = _refused("run_in_executor or asyncio.to_thread (a thread)")
    set_default_executor = _refused("set_default_executor (threads)")
    getaddrinfo = _refused("getaddrinfo (the real network)")
    getnameinfo = _refused("getnameinfo (the real network)")
    create_connection = _refused("create_connection (a socket)")
    create_server = _refused("create_server (a socket)")
    create_datagram_endpoint = _refused("create_datagram_endpoint (a socket)")
    create_unix_connection = _refused("create_unix_connection (a socket)")
    create_unix_server = _refused("create_unix_server (a socket)")
    connect_accepted_socket = _refused("connect_accepted_socket (a socket)")
    start_tls = _refused("start_tls (a socket)")
    sock_recv = _refused("sock_recv (a socket)")
    sock_recv_into = _refused("sock_recv_into (a socket)")
    sock_recvfrom_into = _refused("sock_recvfrom_into (a socket)")
    sock_recvfrom = _refused("sock_recvfrom (a socket)")
    sock_sendall = _refused("sock_sendall (a socket)")
    sock_sendto = _refused("sock_sendto (a socket)")
    sock_connect = _refused("sock_connect (a socket)")
    sock_accept = _refused("sock_accept (a socket)")
    sock_sendfile = _refused("sock_sendfile (a file)")
    sendfile = _refused("sendfile (a file)")
    add_reader = _refused("add_reader (a file descriptor)")
    add_writer = _refused("add_writer (a file descriptor)")
    remove_reader = _refused("remove_reader (a file descriptor)")
    remove_writer = _refused("remove_writer (a file descriptor)")
    connect_read_pipe = _refused("connect_read_pipe (a file)")
    connect_write_pipe = _refused("connect_write_pipe (a file)")
    subprocess_exec = _refused("create_subprocess_exec (a process)")
    subprocess_shell = _refused("create_subprocess_shell (a process)")
    add_signal_handler = _refused("add_signal_handler (a signal)")
    remove_signal_handler = _refused("remove_signal_handler (a signal)")


async def until(event: simpy.Event) -> Any:
    """Await a SimPy event from a coroutine; returns its value or raises its failure."""
    future = asyncio.get_running_loop().create_future()

    def settle(settled: simpy.Event) -> None:
        if future.done():
            return
        if settled.ok:
            future.set_result(settled.value)
        else:
            settled.defused = True
            future.set_exception(cast(BaseException, settled.value))

    if event.processed:
        settle(event)
    else:
        event.callbacks.append(settle)
    return await future


async def first_failure(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Wait until all have ended or one has failed: `asyncio.wait` without its set, and with one context for all."""
    over, left = asyncio.get_running_loop().create_future(), len(tasks)

    def ended(task: asyncio.Task[Any]) -> None:
        nonlocal left
        left -= 1
        failed = not task.cancelled() and task.exception() is not None
        if (failed or not left) and not over.done():
            over.set_result(None)

    context = copy_context()
    for task in tasks:
        task.add_done_callback(ended, context=context)
    await over


def run(main: Coroutine[Any, Any, T], *, loop: VirtualLoop | None = None, debug: bool | None = None) -> T:
    """Run a coroutine in virtual time and return its result; works inside a notebook's running loop.

    The first error is the one that is raised: what goes wrong while the rest shuts down is added to it as a
    note. Ctrl-C cancels the main task, then raises `KeyboardInterrupt`; it also ends an agent that never waits.
    """
    own = loop if loop is not None else VirtualLoop()
    with outer_loop_hidden(), _old_objects_set_aside():
        runner = asyncio.Runner(loop_factory=lambda: own, debug=debug)
        try:
            task = runner.get_loop().create_task(main)
            with cancelled_by_interrupts(task, own):
                result = own.run_until_complete(task)
        except BaseException as first:
            _close(runner, own, first)
            raise
        _close(runner, own, None)
        return result


def _close(runner: asyncio.Runner, loop: VirtualLoop, first: BaseException | None) -> None:
    loop.on_idle = lambda: "agents that were cancelled still wait"

    def failed(own: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if first is None or (second := context.get("exception")) is None:
            own.default_exception_handler(context)
        else:
            first.add_note(f"while shutting down: {second!r}")

    loop.set_exception_handler(failed)
    try:
        runner.close()
    except (SimulationError, Exception) as second:
        if first is None:
            raise
        first.add_note(f"while shutting down: {second!r}")
    finally:
        if not loop.is_closed():
            loop.close()
        loop._let_go(loop.tasks)
        for task in loop.tasks:
            task._log_destroy_pending = False  # the error says who never ends; the collector need not, in a later run
        loop.tasks = [task for task in loop.tasks if task.done()]  # what never ends is not kept


@contextmanager
def outer_loop_hidden() -> Generator[None]:
    """Let a loop run inside another one's callback, as a notebook cell needs it."""
    outer = events._get_running_loop()
    if outer is None:
        yield
        return
    task = asyncio.current_task(outer)
    if task is not None:
        asyncio.tasks._leave_task(outer, task)
    events._set_running_loop(None)
    try:
        yield
    finally:
        events._set_running_loop(outer)
        if task is not None:
            asyncio.tasks._enter_task(outer, task)


FROZEN_BY_PYTHON = gc.get_freeze_count() if sys.version_info[:2] == (3, 12) else 0
"""Objects that the interpreter itself has set aside: some hundreds in 3.12, none in others."""


MOST_LEFT = 500_000
"""Objects that runs may leave behind before the collector comes: some 80 MB, and some hundred small runs."""
_left = 0
"""Objects that runs have left behind since it came."""


@contextmanager
def _old_objects_set_aside() -> Generator[None]:
    """The collector leaves what is there before the run alone, a large network say; nothing if others froze it.

    The parts of a simulation refer to each other in a ring, which only the collector frees. Freezing resets the
    counts by which Python calls it, so that it would never come between runs: it is called here.
    """
    global _left
    if gc.get_freeze_count() > FROZEN_BY_PYTHON:
        yield
        return
    if _left > MOST_LEFT:
        gc.collect()
        _left = 0
    gc.freeze()
    try:
        yield
    finally:
        young, collections, _ = gc.get_count()
        _left += young + collections * gc.get_threshold()[0]
        gc.unfreeze()
