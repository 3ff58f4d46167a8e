"""The dimension of what is sent, from the bytes: header and tag are public, and so is what the codec makes of d.

PublicKnowledge says the dimension too; it is not looked at here.
"""

import math

from attacks.traffic.found import Dimension
from attacks.traffic.overheard import Overheard
from attacks.traffic.protocol import Protocol
from netsim.codecs import Codec

LARGEST = 2**48


def dimension(heard: Overheard, protocol: Protocol, codec: Codec) -> Dimension:
    """Every dimension for which sealed messages have the sizes that were heard."""
    if not heard.sizes:
        return Dimension(refused="no message was heard sealed: in the clear the values themselves say it")
    if heard.unclear is not None:
        return Dimension(refused=heard.unclear)
    if len(heard.sizes) != len(protocol.vectors):
        return Dimension(refused="messages of other sizes were heard than the protocol has")
    payloads = {
        count: size - heard.transport.header_bytes for count, size in zip(protocol.vectors, heard.sizes, strict=True)
    }
    low, high = 1, float("inf")
    for count, payload in payloads.items():
        if not count:
            continue
        least = _first(codec, count, payload)
        after = _first(codec, count, payload + 1)
        if least == after:
            return Dimension(
                payloads=payloads, refused=f"no vector takes {payload} bytes: the header is not as public"
            )
        low, high = max(low, least), min(high, math.inf if after > LARGEST else after - 1)
    return Dimension(low, high, payloads)


def _first(codec: Codec, count: int, payload: int) -> int:
    """The least dimension of which so many vectors take at least so many bytes."""
    low, high = 1, LARGEST + 1
    while low < high:
        middle = (low + high) // 2
        if count * codec.size(middle) >= payload:
            high = middle
        else:
            low = middle + 1
    return low
