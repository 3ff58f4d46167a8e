"""Memory and processes that may be asked for: checked before anything is allocated, and held to."""

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from netsim.errors import ScenarioError, did_you_mean

try:
    import resource
except ImportError:  # a system without it has no limits
    resource = None

VARIABLE = "NETSIM_MEMORY"
"""Environment variable with the memory that is allowed, in bytes: processes that are started have it too."""
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_CONTROL_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNKNOWN = 8 * 10**9
"""Of a system that does not say what it has."""


def allowed() -> int:
    """Bytes that may be asked for: what `NETSIM_MEMORY` says, or what the machine has free, and at least half of what
    it has."""
    text = os.environ.get(VARIABLE, "")
    if text:
        return parsed(text)
    found = {line.split(":")[0]: line for line in _text("/proc/meminfo").splitlines()}
    total, free = (
        1024 * int(found[name].split()[1]) if name in found else 0 for name in ("MemTotal", "MemAvailable")
    )
    limits = [int(text) for text in map(_text, _CONTROL_GROUPS) if text.isdigit()]
    return min([max(free, total // 2) or _UNKNOWN, *limits])


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


LEAST = 600_000_000
"""Bytes without which libraries cannot be loaded, and end the process with words of their own."""


def parsed(text: str) -> int:
    """Bytes of a text such as 40GB, 500M or 2e9. You get a `ScenarioError` for any other."""
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?(?:e[0-9]{1,2})?)\s*([kmgt]?)i?b?", text.strip().lower())
    found = round(float(match[1]) * UNITS[match[2]]) if match is not None else 0
    if not 0 < found < 2**62:
        raise ScenarioError("--memory", text, "no amount of memory", "such as 800MB, 40GB, 0.5TB")
    return found


def shown(count: float) -> str:
    """Bytes in words: 74 GB."""
    for unit in ("kB", "MB", "GB", "TB", "PB"):
        count /= 1000
        if count < 999.5 or unit == "PB":
            return f"{count:,.{1 if count < 9.95 else 0}f} {unit}"
    raise AssertionError


def check_memory(count: float, field: str, value: object, remedy: str = "less of it") -> None:
    """Raise a `ScenarioError` at this field where it asks for more bytes than are allowed."""
    if count > (most := allowed()):
        why = f"asks for about {shown(count)} of memory"
        enough = shown(1.25 * count).replace(" ", "")
        raise ScenarioError(field, value, why, f"{shown(most)} here: {remedy}, or --memory {enough}")


def check_jobs(jobs: int, field: str = "jobs") -> None:
    """Raise a `ScenarioError` for what is no number of processes."""
    if not isinstance(cast("object", jobs), int) or jobs == 0 or jobs < -1:
        raise ScenarioError(field, jobs, "not a number of processes", "-1 (one per core), or >= 1")


@contextmanager
def limited(text: str | None) -> Generator[None]:
    """Within, this process and those that it starts may have so much (40GB; None: as `allowed` says), and get a
    `MemoryError` beyond it, before the machine is full."""
    before = os.environ.get(VARIABLE)
    if text is not None and parsed(text) < LEAST:
        hint = did_you_mean([f"{text}GB"] if text.isdigit() and len(text) <= len("1000") else [])
        why = f"less than Python and its libraries take{hint}"
        raise ScenarioError("--memory", text, why, f"{shown(LEAST)} or more")
    if text is not None:
        os.environ[VARIABLE] = str(parsed(text))
    former = None if resource is None else resource.getrlimit(resource.RLIMIT_DATA)
    try:
        if resource is not None and former is not None:
            soft, hard = former
            fits = [one for one in (allowed(), soft, hard) if one != resource.RLIM_INFINITY]
            resource.setrlimit(resource.RLIMIT_DATA, (min(fits), hard))
        yield
    finally:
        if resource is not None and former is not None:
            resource.setrlimit(resource.RLIMIT_DATA, former)
        if text is not None:
            os.environ.pop(VARIABLE)
            if before is not None:
                os.environ[VARIABLE] = before
