"""A network namespace for each agent: its own interface and address, all on one bridge of this machine.

Nothing leaves the machine: the bridge has no other port, and a namespace no route but to the bridge. It takes Linux,
root, and `ip` of iproute2; everything is taken away again at the end. Where a run is killed, `ip netns delete NAME`
and `ip link delete NAME` do it by hand; the names begin with `netsim-` and `nsb`.
"""

import contextlib
import ctypes
import os
import secrets
import socket
import subprocess
from collections.abc import Generator

from netsim.errors import SimulationError

NETWORK = "10.77.0.0"
"""The network that agents and coordinator are hosts of."""
LOOPBACK = "127.1.0.0"
"""And that of agents without namespaces, where each needs an address of its own."""
PREFIX, HOSTS = 16, (1 << 16) - 3
_NEW_NETWORK = 0x40000000
_FOLDER = "/var/run/netns"


def address_of(agent: int, network: str = NETWORK) -> str:
    """An agent's own address: host number i + 2 of the network. −1: the coordinator's."""
    return socket.inet_ntoa((int.from_bytes(socket.inet_aton(network)) + agent + 2).to_bytes(4))


def possible() -> bool:
    """Whether this process may make network namespaces: tried with one."""
    name = f"netsim-{secrets.token_hex(3)}"
    try:
        _ip(f"netns add {name}")
        _ip(f"netns delete {name}")
    except SimulationError:
        return False
    return True


@contextlib.contextmanager
def namespaces(agents: int) -> Generator[tuple[str, ...]]:
    """The names of namespaces, one for each agent, while this lasts; the coordinator reaches them by the bridge.

    You get a `SimulationError` with the words of `ip` where it cannot be done, as where the network is in use.
    """
    mark = secrets.token_hex(3)
    bridge, names = f"nsb{mark}", tuple(f"netsim-{mark}-{i}" for i in range(agents))
    ends = [f"nsv{mark}{i:x}" for i in range(agents)]
    taken = _ip(f"-o address show to {NETWORK}/{PREFIX}")
    if taken.strip():
        raise SimulationError(f"the network {NETWORK}/{PREFIX} is in use: {taken.split()[1]}")
    try:
        _ip(f"link add {bridge} type bridge")
        _ip(f"address add {address_of(-1)}/{PREFIX} dev {bridge}")
        _ip(f"link set {bridge} up")
        for i, (name, here) in enumerate(zip(names, ends, strict=True)):
            _ip(f"netns add {name}")
            _ip(f"link add {here} type veth peer name eth0 netns {name}")
            _ip(f"link set {here} master {bridge} up")
            _ip(f"-n {name} address add {address_of(i)}/{PREFIX} dev eth0")
            _ip(f"-n {name} link set eth0 up")
            _ip(f"-n {name} link set lo up")
        yield names
    finally:
        away = [f"link delete {one}" for one in (*ends, bridge)]  # the kernel takes its time with a namespace's own
        for command in (*away, *(f"netns delete {name}" for name in names)):
            with contextlib.suppress(SimulationError):  # it was not made, or is gone
                _ip(command)


def enter(name: str) -> None:
    """This process, of one thread, goes on in that namespace."""
    with open(f"{_FOLDER}/{name}", "rb") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _NEW_NETWORK):
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error), name)


def _ip(words: str) -> str:
    try:
        done = subprocess.run(["ip", *words.split()], capture_output=True, text=True, check=False)
    except OSError as error:
        raise SimulationError(f"ip {words}: {error.strerror}") from None
    if done.returncode:
        raise SimulationError(f"ip {words}: {done.stderr.strip() or done.returncode}")
    return done.stdout
