"""When an agent acts: at ticks of a clock of its own, and while it is not down.

Without either, an agent acts whenever its messages let it: rounds, or a token that walks.
"""

import asyncio
import math
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal

from netsim.errors import ScenarioError
from netsim.outages import Outages, Switch


@dataclass(frozen=True)
class PoissonClock:
    """Each agent begins its rounds (or activations) at ticks of its own Poisson clock, `rate` ticks per second.

    A round that is still under way at a tick misses that tick. Clocks have no memory, so the wait from the end of a
    round to the next tick is exponential of mean 1/rate. A token that arrives is worked on from the next tick on.
    """

    rate: float

    def __post_init__(self) -> None:
        if not 0 < self.rate < math.inf:
            raise ScenarioError("rate", self.rate, "ticks per second", "> 0 and finite")

    def wait(self, rng: random.Random) -> float:
        """Seconds to the next tick."""
        return rng.expovariate(self.rate)


@dataclass(frozen=True)
class Downtime:
    """When an agent is down, and what that does to it. While it is down all its links are: what is under way is lost.

    `effect`: "offline", it goes on by itself; "restart_with_state", it stands still and goes on where it was (work
    under way when it went down is done when it comes back); "restart_without_state", its code is stopped and begins
    anew when it comes back, with none of its variables. What its transport keeps survives: the numbers of its
    messages, what it had not read, what was not acknowledged. Once an agent has ended, and all that are left began
    anew or are down for good, the run is over.
    """

    outages: Outages
    effect: Literal["offline", "restart_with_state", "restart_without_state"] = "restart_with_state"


class Activity:
    """One agent's turns: `tick` draws the seconds to its clock's next tick, `down` says when it stands still."""

    def __init__(self, tick: Callable[[], float] | None, down: Switch | None) -> None:
        self._tick, self._down = tick, down
        self._between = True

    async def turn(self) -> None:
        """Wait until the agent may act: between rounds, for its clock's next tick."""
        if self._between and self._tick is not None:
            await asyncio.sleep(self._tick())
        self._between = False
        await self.up()

    async def up(self) -> None:
        """Wait while the agent is down."""
        if self._down is None:
            return
        loop = asyncio.get_running_loop()
        while self._down.is_down(loop.time()):
            future: asyncio.Future[None] = loop.create_future()
            loop.call_at(self._down.next_change(loop.time()), _settle, future)
            await future

    async def lives(self, live: Callable[[], Coroutine[Any, Any, None]], begin_anew: Callable[[], None]) -> None:
        """Run `live()` to its end; whenever the agent goes down it is stopped, and begun anew when it is back."""
        assert self._down is not None
        loop = asyncio.get_running_loop()
        while True:
            await self.up()
            life = _Life(loop.create_task(live()))
            down = loop.call_at(self._down.next_change(loop.time()), life.stop)
            try:
                await asyncio.wait({life.task})
            finally:
                down.cancel()
                life.task.cancel()
            if not life.stopped:
                life.task.result()
                return
            self.closed()
            begin_anew()

    def closed(self) -> None:
        """The agent has closed a round or an activation, or begins anew."""
        self._between = True

    def is_gone(self, now: float) -> bool:
        """Whether the agent is down for good."""
        return self._down is not None and self._down.is_down(now) and self._down.next_change(now) == math.inf


class _Life:
    """One run of an agent's code, from its start until it ends or is stopped."""

    def __init__(self, task: "asyncio.Task[None]") -> None:
        self.task, self.stopped = task, False

    def stop(self) -> None:
        """Not if it has ended."""
        self.stopped = self.task.cancel()


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
