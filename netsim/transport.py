"""How messages are carried, as everybody knows it: the public side of links and media, without their chances."""

from collections.abc import Iterable
from dataclasses import dataclass

from netsim.links import LinkLaw
from netsim.messages import HEADER_BYTES


@dataclass(frozen=True)
class Transport:
    """What a protocol's documents say of the network, and no secret of anybody.

    `header_bytes` of a message; `radio`: one medium for all; `reliable`: acknowledged and sent again, None where only
    some links are. `steady`: whatever an agent sends goes on the air (no outages, no downtimes, no full buffers).
    `queues`: packets may wait before they do. `in_order`: packets of a link do not overtake each other. `alike`: all
    links follow one law. `clock_rate`: ticks per second of the agents' Poisson clocks, None where they have none.
    `copies`: the network may deliver a packet twice, and nobody rejects the copy.
    """

    header_bytes: int = HEADER_BYTES
    radio: bool = False
    reliable: bool | None = False
    steady: bool = True
    queues: bool = False
    in_order: bool = True
    alike: bool = True
    clock_rate: float | None = None
    copies: bool = False

    @classmethod
    def of(
        cls,
        laws: Iterable[LinkLaw],
        *,
        header_bytes: int,
        radio: bool,
        access: bool,
        downtimes: bool,
        clock_rate: float | None,
    ) -> "Transport":
        """Of a network whose links follow these laws; `access`: some agents have access lines of a limited rate."""
        all_laws = list(laws)
        reliable = {law.reliable for law in all_laws}
        return cls(
            header_bytes=header_bytes,
            radio=radio,
            reliable=reliable.pop() if len(reliable) == 1 else None,
            steady=not downtimes and all(law.outages is None and law.buffer is None for law in all_laws),
            queues=access or any(law.bandwidth is not None for law in all_laws),
            in_order=not any(law.reordering for law in all_laws),
            alike=all(law == all_laws[0] for law in all_laws),
            clock_rate=clock_rate,
            copies=any(law.duplication > 0 and not law.tagged for law in all_laws),
        )


PLAIN = Transport()
"""Links that repeat nothing and lose nothing before it is on the air."""
