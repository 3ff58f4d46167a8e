# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (joblib ships no types)
"""The same work in several processes, in order, as it gets done."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

from joblib import Parallel, delayed

T = TypeVar("T")


def spread(work: Callable[..., T], tasks: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[T]:
    """work(*task) for each task, in order. `jobs` processes (−1: one per core); with 1, in this one."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="A worker stopped")  # its memory had grown: another one starts
        warnings.filterwarnings("ignore", message=r"\d+ tasks (have|which)")  # who asked has enough
        yield from cast(
            Iterator[T], Parallel(n_jobs=jobs, return_as="generator")(delayed(work)(*task) for task in tasks)
        )
