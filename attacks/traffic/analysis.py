"""From a view to all that its times and sizes tell."""

from collections import defaultdict
from collections.abc import Sequence

from attacks.traffic import carried, computing, sizes
from attacks.traffic.carried import Sendings
from attacks.traffic.found import Computing, Edge, Sealed
from attacks.traffic.overheard import Overheard
from attacks.traffic.protocol import Protocol, read
from attacks.traffic.rounds import Exchanged, exchanged
from attacks.traffic.walk import Move, walked
from netsim.adversary import AdversaryView
from netsim.errors import AttackError


def analysed(view: AdversaryView) -> Sealed:
    """You get an `AttackError` where no link was heard, where agents may begin anew and count anew, and for a
    protocol that is neither one token that walks nor exchanges in rounds."""
    if view.public.forgetful:
        raise AttackError("agents may be stopped and begin anew: how many messages each of them sends is not public")
    protocol = read(view.public)
    heard = Overheard.of(view, protocol)
    if protocol.walk:
        return _of_walk(view, protocol, heard)
    found = exchanged(heard, protocol, endless=view.public.patience.endless)
    messages = dict.fromkeys(heard.links, len(protocol.told))
    return Sealed(
        heard.packets,
        found.activity,
        _rounds_computing(view, protocol, heard, found.times),
        carried.carried(heard, messages, _told(heard, found, endless=view.public.patience.endless)),
        sizes.dimension(heard, protocol, view.public.codec),
    )


def _told(heard: Overheard, found: Exchanged, *, endless: bool) -> Sendings:
    """An agent tells all neighbors at once, and where exchanges wait for all of them no run ends before the last
    message arrived."""
    times = {link: own for link in heard.links if (own := found.times[link[0]]) is not None}
    return Sendings(times, {link: own[-1] for link, own in times.items()} if endless else {}, found.timeouts)


def _passed(moves: Sequence[Move], timeouts: frozenset[float] | None) -> Sendings:
    """Who passes a token on had it; the last one may not have arrived."""
    times: dict[Edge, list[float]] = defaultdict(list)
    followed: dict[Edge, float] = {}
    for k, (time, sender, receiver) in enumerate(moves):
        times[sender, receiver].append(time)
        if k + 1 < len(moves):
            followed[sender, receiver] = time
    return Sendings(times, followed, timeouts)


def _of_walk(view: AdversaryView, protocol: Protocol, heard: Overheard) -> Sealed:
    found = walked(heard, protocol.first, view.public.algorithm.stopping())
    messages: dict[Edge, int] | None = None
    if found.complete:
        messages = dict.fromkeys(heard.links, 0)
        for _, sender, receiver in found.moves:
            messages[sender, receiver] += 1
        work = computing.of_walk(heard, protocol, found.moves)
    else:
        work = _no_work(heard, "where visits may have been missed, a gap may hold several of them")
    return Sealed(
        heard.packets,
        found.activity,
        work,
        carried.carried(heard, messages, _passed(found.moves, found.timeouts)),
        sizes.dimension(heard, protocol, view.public.codec),
    )


def _rounds_computing(
    view: AdversaryView, protocol: Protocol, heard: Overheard, times: tuple[tuple[float, ...] | None, ...]
) -> Computing:
    if not view.public.patience.endless:
        return _no_work(heard, "exchanges end at a deadline: what an agent waited for is not known")
    if all(own is None for own in times):
        return _no_work(heard, "when exchanges began is not known")
    if heard.transport.reliable and not heard.whole:
        return _no_work(heard, "the tap missed packets: which acknowledgement tells of which arrival is not known")
    return computing.of_rounds(heard, protocol, times)


def _no_work(heard: Overheard, why: str) -> Computing:
    agents = len(heard.neighbors)
    return Computing((None,) * agents, "bounded", (0,) * agents, refused=why)
