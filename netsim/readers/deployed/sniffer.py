"""Capture by the kernel: what Linux shows a packet socket (AF_PACKET) of agents that talk to each other directly.

No relay lies in a link, so that its law is that of the machine: its own TCP with its own packets and retransmissions,
which taps see with the kernel's times. Each agent has an address of its own, by which its packets are known: on the
loopback device, or in a network namespace of its own (`netsim.readers.deployed.namespaces`). Packets go into the same
files as the relay's, and the way back is the same.

A packet socket needs Linux and the right to capture (CAP_NET_RAW), which `capable` asks for.
"""

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from netsim.errors import SimulationError
from netsim.network.network import Edge
from netsim.readers.deployed.capture import ACK, SYN, TCP, CaptureFile, Parcel
from netsim.readers.deployed.relay import link_taps
from netsim.simulation import Simulation
from netsim.transcript.message import Capture, Message

EVERYTHING, IP, PACKET, STATISTICS, TIMESTAMP = 0x0003, 0x0800, 263, 6, 35
"""From <linux/if_ether.h>, <linux/if_packet.h> and <asm/socket.h>: numbers that the `socket` module does not have."""
FORCED_BUFFER = 33
BUFFER = 1 << 26
"""Bytes of packets that wait to be read, at most."""
MOST = 1 << 17
_Put = Callable[[Capture], object]


def capable() -> bool:
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
