"""The calendar of what is to happen, in one heap and in pages."""

import asyncio
import math
import random

import pytest

from netsim import calendar, clock
from netsim.clock import VirtualEnvironment, VirtualLoop


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
    monkeypatch.setattr(calendar, "PAGES_ABOVE", 16)
    monkeypatch.setattr(calendar, "PAGE", 4)
    assert crowd(times) == one_heap


def test_a_large_heap_is_spread_over_pages_and_nothing_is_lost():
    environment = VirtualEnvironment()
    came: list[float] = []
    for number in range(3 * calendar.PAGE):
        environment.call_at(number / 1000, came.append, number / 1000)
    environment.spread()
    assert environment.paged
    assert len(environment._queue) < 2 * calendar.PAGE
    assert environment.size() == 3 * calendar.PAGE
    environment.keep(lambda entry: entry[4] != 1.0)
    assert environment.size() == 3 * calendar.PAGE - 1
    environment.run(until=5.0)
    assert environment.peek() == 5.001
    environment.run()
    assert came == [number / 1000 for number in range(3 * calendar.PAGE) if number != 1000]
    assert (environment.peek(), environment.size()) == (math.inf, 0)
    for number in range(2 * calendar.PAGE):
        environment.call_at(10.0 + number, came.append, 0.0)
    environment.keep(lambda _: False)
    assert (environment.peek(), environment.size()) == (math.inf, 0)
