"""Agents as processes, many times: `python -m tests.deployed twins`, `kills 100`, `frames 10000`.

`twins`: each shipped algorithm that can be deployed, in the clear and under TLS, has the gradients, releases,
estimates and messages of its simulation, to the last bit. `kills`: agents killed at random moments of runs, most with
restarts; each run is its simulation to the last bit or an error that names who died, and its captures can be read.
`frames`: what comes from a neighbor is damaged; the agent goes on or its run ends with an error that names the
neighbor, nothing else is raised, and no more is kept than a frame.
"""

import argparse
import asyncio
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import numpy as np

from netsim.adversary import Adversary
from netsim.codecs import FLOAT64
from netsim.errors import ProtocolError, ScenarioError
from netsim.network.links import WAIT_FOR_ALL, LinkLaw
from netsim.readers.deployed.capture import rebuilt
from netsim.readers.deployed.deploy import DeployedRunning, Deployment, DeploymentError, deploy
from netsim.readers.deployed.ends import GREETING, RUN_BYTES, Connection, Home
from netsim.readers.deployed.settings import checked
from netsim.settings import NetworkSettings
from netsim.simulation import Simulation
from netsim.transcript.frames import HELLO, MOST_NAMES, Layouts, encoded, head, named
from netsim.transcript.message import HEADER_BYTES, Message
from tests.netsim.algorithms.every import EXAMPLES
from tests.netsim.readers.test_deployed import SLOW, assert_same, at_doors, killing

KEPT = Path("results/deployed")
"""Folders of what went wrong."""


# ── twins ───────────────────────────────────────────────────────────────────────────────────────────────
def twins(count: int, rng: random.Random) -> Counter[str]:
    found = Counter[str]()
    names = list(EXAMPLES)
    rng.shuffle(names)
    for name in names:
        if found["the same in the clear"] == count:
            break
        simulation = EXAMPLES[name].simulation()
        doors = Adversary("doors", "all", nodes=tuple(range(simulation.topology.agents)))
        try:
            checked(simulation, Deployment())
        except ScenarioError as error:
            found["not to be deployed"] += 1
            print(f"{name}: {error}", flush=True)
            continue
        sealed = NetworkSettings(links=LinkLaw(encrypted=True), codec=simulation.network.codec)
        for how, one in (
            ("in the clear", replace(simulation, adversaries=(doors,))),
            ("under TLS", replace(simulation, adversaries=(doors,), network=sealed)),
        ):
            found[f"the same {how}" if attempt(f"{name} {how}", partial(same, one)) else "wrong"] += 1
    return found


def same(simulation: Simulation, folder: Path) -> None:
    run, simulated = deploy(simulation, folder), simulation.run()
    assert_same(replace(run, views=()), replace(simulated, views=()))
    assert at_doors(run) == at_doors(simulated)


def attempt(name: str, work: Callable[[Path], None]) -> bool:
    """Whether it went as it has to; if not the folder is kept."""
    folder = Path(tempfile.mkdtemp(prefix="deployed-"))
    begun = time.monotonic()
    try:
        work(folder)
    except Exception as error:
        KEPT.mkdir(parents=True, exist_ok=True)
        shutil.copytree(folder, KEPT / name.replace(" ", "-").replace(",", ""), dirs_exist_ok=True)
        print(f"{name}: {type(error).__name__}: {error}"[:2000], flush=True)
        return False
    finally:
        shutil.rmtree(folder)
    print(f"{name}: as it has to be, {time.monotonic() - begun:.1f} s", flush=True)
    return True


# ── kills ───────────────────────────────────────────────────────────────────────────────────────────────
KILLED = (
    "walkman", "extra", "dp_recal, reading: as_deployable", "private_gradient_descent", "cpgt, with a quantizer",
)  # fmt: skip


def kills(count: int, rng: random.Random) -> Counter[str]:
    found = Counter[str]()
    for k in range(count):
        name, restart, deaths = rng.choice(KILLED), rng.random() < 0.8, 1 + (rng.random() < 0.3)
        simulation = replace(EXAMPLES[name].simulation(), timing=SLOW)
        whole = sum(simulation.run().activations)
        moments = [(rng.randrange(simulation.topology.agents), rng.randrange(whole)) for _ in range(deaths)]
        case = Killed(simulation, restart, tuple(moments), found)
        words = f"{k} {name}, {whole} estimates, agents killed after: {moments}, restarts: {restart}"
        found["wrong"] += not attempt(words, case.run)
    return found


@dataclass(frozen=True)
class Killed:
    """A run, and which agents die after how many estimates of all."""

    simulation: Simulation
    restart: bool
    moments: tuple[tuple[int, int], ...]
    found: Counter[str]

    def run(self, folder: Path) -> None:
        watches = [killing(agent, partial(self.due, moment)) for agent, moment in self.moments]
        settings = Deployment(restart=self.restart, speed=4, patience=30)
        try:
            run = deploy(self.simulation, folder, settings, lambda running: [one(running) for one in watches])
        except DeploymentError as error:
            named = any(f"agent {agent} was killed by SIGKILL" in str(error) for agent, _ in self.moments)
            if self.restart or not named:
                raise
            self.found["ended with the name of who died"] += 1
        else:
            assert_same(run, self.simulation.run())
            self.found["the same bits"] += 1
        for capture in folder.glob("capture-*.pcapng"):
            rebuilt(capture, self.simulation.public(), Layouts())

    @staticmethod
    def due(moment: int, running: DeployedRunning) -> bool:
        return running.estimates >= moment


# ── frames ──────────────────────────────────────────────────────────────────────────────────────────────
SENDER, RECEIVER, DIMENSION, RUN = 3, 5, 7, bytes(range(RUN_BYTES))


def frames(count: int, rng: random.Random) -> Counter[str]:
    return asyncio.run(_frames(count, rng))


async def _frames(count: int, rng: random.Random) -> Counter[str]:
    found, said = Counter[str](), Counter[str]()
    for k in range(count):
        try:
            ended = fed(damaged(stream(rng), rng), rng)
        except Exception as error:
            print(f"{k}: {type(error).__name__}: {error}")
            ended = "wrong"
        found[ended.partition(": ")[0]] += 1
        said[re.sub(r"-?[0-9][0-9,a-f]*", "*", ended.partition(": ")[2])[:40]] += 1
    print("\n".join(f"  {many:6} {words}" for words, many in said.most_common() if words))
    return found


def fed(data: bytes, rng: random.Random) -> str:
    """What comes of these bytes of a stream, in pieces as they may come."""
    refused = list[str]()
    home = Home(RECEIVER, (SENDER, 9), RUN, DIMENSION, FLOAT64, WAIT_FOR_ALL, refused=refused.append)
    connection, transport = Connection(home), Mock()
    transport.get_extra_info.return_value = None
    connection.connection_made(transport)
    while data and not transport.abort.called:
        piece = data[: rng.choice((1, 7, 20, 100, 4096))]
        data = data[len(piece) :]
        home.buffer[: len(piece)] = piece
        connection.buffer_updated(len(piece))
        kept = len(connection._begun) + (0 if connection._reader is None else connection._reader.held)
        assert kept <= HEADER_BYTES + MOST_NAMES + 4096, f"{kept} bytes are kept"
    connection.connection_lost(None)
    if home.failed.done():
        error = home.failed.exception()
        assert isinstance(error, ProtocolError), repr(error)
        assert transport.abort.called
        before, whom, what = str(error).partition(f"agent {SENDER} sent agent {RECEIVER} ")
        assert (before, bool(whom)) == ("", True), error
        return f"ended with the sender's name: {what}"
    assert len(refused) == transport.abort.call_count
    return "turned away" if refused else "went on"


def stream(rng: random.Random) -> list[bytes]:
    """What a neighbor sends: its greeting, names, and some messages."""
    codec, draws = FLOAT64, np.random.default_rng(rng.randrange(2**32))
    body = GREETING.pack(RUN, 0, 0)
    layouts = [("x",), ("u", "x"), ()]
    sent = [head(SENDER, RECEIVER, HELLO, 0, len(body)) + body]
    sent += [named(SENDER, RECEIVER, names) for names in layouts]
    for number in range(rng.randrange(1, 12)):
        values = {name: draws.normal(size=(1, DIMENSION)) for name in rng.choice(layouts)}
        sent.append(encoded(Message(SENDER, rng.choice(("exchange", "direct")), number, values), RECEIVER, codec))
    return sent


def damaged(sent: list[bytes], rng: random.Random) -> bytes:
    """The stream with some things wrong: bits, words of headers, frames cut, twice, or in another order."""
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(sent))
        frame = bytearray(sent[at])
        match rng.randrange(7):
            case 0 if frame:
                frame[rng.randrange(len(frame))] ^= 1 << rng.randrange(8)
            case 1 if len(frame) >= 20:
                word = 4 * rng.randrange(5)
                odd = rng.choice((0, 1, 2**31 - 1, 2**31, 2**32 - 1, rng.randrange(2**32)))
                frame[word : word + 4] = odd.to_bytes(4, "little")
            case 2:
                del frame[rng.randrange(len(frame) + 1) :]
            case 3:
                frame += rng.randbytes(rng.randrange(1, 300))
            case 4:
                frame *= 2
            case 5:
                other = rng.randrange(len(sent))
                frame, sent[other] = bytearray(sent[other]), bytes(frame)
            case _:
                frame = bytearray(rng.randbytes(rng.randrange(1, 300)))
        sent[at] = bytes(frame)
    return b"".join(sent)


KINDS: Mapping[str, tuple[Callable[[int, random.Random], Counter[str]], int]] = {
    "twins": (twins, 10_000), "kills": (kills, 100), "frames": (frames, 10_000),
}  # fmt: skip


def main() -> None:
    ask = argparse.ArgumentParser(description="Agents as processes, many times.")
    ask.add_argument("kind", choices=KINDS)
    ask.add_argument("count", type=int, nargs="?")
    ask.add_argument("seed", type=int, nargs="?", default=0)
    given = ask.parse_args()
    work, usual = KINDS[given.kind]
    found = work(given.count or usual, random.Random(given.seed))
    print(f"{given.kind}, seed {given.seed}: " + "; ".join(f"{many:,} {what}" for what, many in found.items()))
    sys.exit(found["wrong"] > 0)


if __name__ == "__main__":
    main()
