"""What Linux does for a deployment in place of relays: network namespaces, and capture by packet sockets.

*Namespaces.* One for each agent: its own interface and address, all on one bridge of this machine. Nothing leaves the
machine: the bridge has no other port, and a namespace no route but to the bridge. It takes root and `ip` of iproute2;
everything is taken away again at the end. Where a run is killed, `ip netns delete NAME` and `ip link delete NAME` do
it by hand; the names begin with `netsim-` and `nsb`.

*Capture.* What a packet socket (AF_PACKET) shows of agents that talk to each other directly. No relay lies in a link,
so that its law is that of the machine: its own TCP with its own packets and retransmissions, which taps see with the
kernel's times. Each agent has an address of its own, by which its packets are known: on the loopback device, or in
its namespace. Packets go into the same files as the relay's, and the way back is the same. It takes the right to
capture (CAP_NET_RAW), which `may_capture` asks for.
"""

import asyncio
import contextlib
import ctypes
import os
import secrets
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

from netsim.errors import SimulationError
from netsim.network.network import Edge
from netsim.readers.deployed.capture import ACK, SYN, TCP, CaptureFile, Parcel
from netsim.readers.deployed.relay import link_taps
from netsim.simulation import Simulation
from netsim.transcript.message import Capture, Message

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


def may_make_namespaces() -> bool:
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


# ── capture ─────────────────────────────────────────────────────────────────────────────────────────────
EVERYTHING, IP, PACKET, STATISTICS, TIMESTAMP = 0x0003, 0x0800, 263, 6, 35
"""From <linux/if_ether.h>, <linux/if_packet.h> and <asm/socket.h>: numbers that the `socket` module does not have."""
FORCED_BUFFER = 33
BUFFER = 1 << 26
"""Bytes of packets that wait to be read, at most."""
MOST = 1 << 17
_Put = Callable[[Capture], object]


def may_capture() -> bool:
    """Whether this process may capture."""
    with contextlib.suppress(AttributeError, OSError):
        socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0).close()
        return True
    return False


class Sniffer:
    """All taps on links of a deployment that has no relay; it writes until `close`. What passes a door is written by
    the agent's own process, since no packet says when the agent takes it."""

    def __init__(
        self,
        simulation: Simulation,
        folder: Path,
        addresses: Sequence[str],
        port: Callable[[int], int],
        speed: float,
    ) -> None:
        """Agents by their `addresses`; at which `port` one listens is asked when somebody dials it."""
        self._loop, self._speed, self._port = asyncio.get_running_loop(), speed, port
        self._agents = {socket.inet_aton(address): i for i, address in enumerate(addresses)}
        self._files: dict[Edge, list[CaptureFile]] = {}
        self._taps: dict[Edge, list[_Put]] = {}
        self._all = list[CaptureFile]()
        for _, tap, file, edges in link_taps(simulation, folder):
            self._all.append(file)
            for edge in edges:
                self._files.setdefault(edge, []).append(file)
                self._taps.setdefault(edge, []).append(tap.receiver(file.capture))
        self._lives = dict[Edge, int]()
        self._known = dict[tuple[int, int, bytes], tuple[int, int]]()
        """Of each way of a connection of this run, by its ends and ports: its life, and the first sequence number."""
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(EVERYTHING))
        self._socket.setblocking(False)
        for option in (FORCED_BUFFER, socket.SO_RCVBUF):
            with contextlib.suppress(OSError):  # the first is for who administers the network alone
                self._socket.setsockopt(socket.SOL_SOCKET, option, BUFFER)
                break
        self._socket.setsockopt(socket.SOL_SOCKET, TIMESTAMP, 1)
        self._loop.add_reader(self._socket, self._read)

    def _read(self) -> None:
        """Everything that waits."""
        with contextlib.suppress(BlockingIOError):
            while True:
                data, ancillary, _, place = self._socket.recvmsg(MOST, 128)
                if place[1] != IP or place[2] == socket.PACKET_OUTGOING:  # that comes in somewhere here, too
                    continue
                seconds, nanoseconds = struct.unpack_from("@ll", ancillary[0][2])
                ago = time.time() - seconds - nanoseconds * 1e-9
                self._packet(data, self._loop.time() - ago * self._speed)

    def _packet(self, data: bytes, when: float) -> None:
        sender, receiver = self._agents.get(data[12:16]), self._agents.get(data[16:20])
        if sender is None or receiver is None or data[9] != TCP:
            return
        edge, length = (min(sender, receiver), max(sender, receiver)), int.from_bytes(data[2:4]) or len(data)
        header = data[(data[0] & 0xF) * 4 : length]
        ports, sequence, flags = header[:4], int.from_bytes(header[4:8]), header[13]
        body = header[(header[12] >> 4) * 4 :]
        way = sender, receiver, ports
        if flags & SYN:
            back = self._known.get((receiver, sender, ports[2:] + ports[:2]))
            if not flags & ACK and int.from_bytes(ports[2:]) == self._port(receiver):
                self._lives[edge] = life = self._lives.get(edge, 0) + 1
                self._known[way] = life, sequence + 1
                for file in self._files.get(edge, ()):
                    file.opened(sender, receiver, when, life)
            elif flags & ACK and back is not None:
                self._known[way] = back[0], sequence + 1
        elif body and way in self._known:
            life, first = self._known[way]
            at = (sequence - first) & 0xFFFFFFFF
            message = Message(sender, "direct", at, {}, len(body))
            for put in self._taps.get(edge, ()):
                put((when, sender, receiver, Parcel(message, body, at, life)))

    def close(self) -> None:
        """What was sent until now is written. You get a `SimulationError` where the kernel had to drop packets."""
        self._loop.remove_reader(self._socket)
        self._read()
        seen, dropped = struct.unpack("@II", self._socket.getsockopt(PACKET, STATISTICS, 8))
        self._socket.close()
        for file in self._all:
            file.close()
        if dropped:
            raise SimulationError(
                f"the kernel dropped {dropped:,} of {seen:,} packets before they were captured: the transcript has "
                "gaps; capture by relays, or raise net.core.rmem_max"
            )
