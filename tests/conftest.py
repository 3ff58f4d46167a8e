"""What `make test` leaves to `make test-all`, Hypothesis without a clock, and output that nobody reads."""

import os
from collections import Counter

import pytest
from hypothesis import settings

os.environ.pop("COLUMNS", None)  # pytest's own processes have 80, as if somebody read there

if settings.default is not None and settings.default.deadline is not None:  # nothing is timed in tests
    settings.register_profile("untimed", deadline=None)
    settings.load_profile("untimed")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow the cases that `few` does not keep; it has the ids of those it does, or how many come first."""
    seen: Counter[str] = Counter()
    for item in items:
        if (few := item.get_closest_marker("few")) is not None:
            test, _, case = item.nodeid.partition("[")
            seen[test] += 1
            first = any(isinstance(number, int) and seen[test] <= number for number in few.args)
            if not first and case.removesuffix("]") not in few.args:
                item.add_marker(pytest.mark.slow)
