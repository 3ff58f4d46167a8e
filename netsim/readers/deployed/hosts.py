"""Where agents run: the places of a deployment over several machines, and the file that starts one agent there.

An agent that no process of this machine forks is started by a command line, by somebody's hand or by `ssh`. It reads
all that it has to know from a file (`sealed`), which is PRIVATE: data, key and secret are in it.
"""

import pickle
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, cast

import cloudpickle  # pyright: ignore[reportMissingTypeStubs]
import numpy as np
from annotated_types import Ge, Le, MinLen

from netsim.errors import ScenarioError

Port = Annotated[int, Ge(1), Le(65535)]
MODULE = "netsim.readers.deployed.agent"
STANDARD_INPUT = "-"
_MAGIC = b"netsim agent 1\n"


@dataclass(frozen=True)
class Place:
    """Where a process listens: others reach it at this address."""

    address: Annotated[str, MinLen(1)]
    """Its host's name or number in the network; of an interface of that host."""
    port: Port
    """The TCP port. The coordinator's relays take those that follow its own, one for each link."""


@dataclass(frozen=True)
class Host(Place):
    """Where one agent runs."""

    host: str | None = None
    """What `ssh` calls the machine (`user@name`, or a name of ~/.ssh/config); none: the machine of the
    coordinator."""


@dataclass(frozen=True)
class Hosts:
    """The machines of one deployment."""

    coordinator: Place
    """Where the coordinator, who runs `netsim deploy`, listens, and its relays."""
    agents: tuple[Host, ...]
    """Where each agent runs, in the order of their numbers."""
    python: Annotated[str, MinLen(1)] = "python3"
    """The Python with netsim on those machines: a path, or a name that their PATH finds."""

    def __post_init__(self) -> None:
        taken = {(self.coordinator.address, self.coordinator.port): "the coordinator"}
        for i, one in enumerate(self.agents):
            if (other := taken.setdefault((one.address, one.port), f"agent {i}")) != f"agent {i}":
                raise ScenarioError(f"agents[{i}].port", one.port, f"{other} listens there", "a port for each")
            if one.host is not None and (not one.host or one.host.startswith("-")):  # an option of ssh
                raise ScenarioError(f"agents[{i}].host", one.host, "no name of a machine", "user@name")

    def command(self, agent: int, file: Path) -> list[str]:
        """The command line, run on the coordinator's machine, that starts an agent where it belongs; of another
        machine with the file on the standard input."""
        host = self.agents[agent].host
        if host is None:
            return [self.python, "-m", MODULE, str(file)]
        remote = shlex.join([self.python, "-m", MODULE, STANDARD_INPUT])
        return ["ssh", "-o", "BatchMode=yes", host, remote]

    def line(self, agent: int, file: Path) -> str:
        """The same for a shell."""
        words = shlex.join(self.command(agent, file))
        return words if self.agents[agent].host is None else f"{words} < {shlex.quote(str(file))}"


def versions() -> str:
    """What an agent's machine has to have alike: an errand is a pickle, and bits are NumPy's."""
    python = ".".join(map(str, sys.version_info[:2]))
    return f"Python {python}, netsim {version('netsim-lab')}, NumPy {np.__version__}"


def sealed(errand: object) -> bytes:
    """An errand as a file has it: its length, and versions before anything that only these read."""
    inner: bytes = cast(Any, cloudpickle).dumps(errand)  # also what `__main__` and files of code have
    body = pickle.dumps((versions(), inner))
    return _MAGIC + len(body).to_bytes(8, "little") + body


def opened(read: Callable[[int], bytes]) -> Any:
    """The errand that comes next. You get an `EOFError` where nothing does, and a `ScenarioError` for what is none,
    or one of other versions."""
    if not (magic := read(len(_MAGIC))):
        raise EOFError
    data = read(int.from_bytes(read(8), "little")) if magic == _MAGIC else b""
    try:
        theirs, body = pickle.loads(data)
    except Exception:
        raise ScenarioError("file", "…", "is no agent's file, or not all of it", "one of netsim deploy") from None
    if theirs != versions():
        raise ScenarioError("versions", versions(), "the bits would be others", f"the coordinator's: {theirs}")
    return pickle.loads(body)
