"""NumPy's errors are ignored, as in a reading."""

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _ignored() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield
