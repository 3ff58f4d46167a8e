"""Runs under a codec: what is sent is encoded once, weighs what it says, and nothing else changes."""

import functools

import numpy as np
import pytest

from netsim.algorithms import Algorithm, Clip, PrivateGradientDescent, Recal
from netsim.codecs import (
    Codec,
    Dither,
    Encoder,
    FixedPoint,
    Float16,
    Float32,
    Float64,
    Quantizer,
    RandomK,
    ScaledSign,
    TopK,
)
from netsim.errors import ScenarioError, TranscriptError
from netsim.randomness import Streams, dither_of
from netsim.schedules import Constant
from netsim.transcript.pcapng import export
from netsim.transcript.stored import StreamedTranscript
from tests.netsim.transcript.test_pcapng import frames_of, header_of
from tests.worlds import ROUGH, coins, synthetic_problem, tapped_ring

CODECS = [
    Float32(), Float16(), FixedPoint(10, 2.0), FixedPoint(5, 2.0, "stochastic"), TopK(2), RandomK(2), Quantizer(3),
    ScaledSign(),
]  # fmt: skip


def descent(rounds=8, scale=0.3) -> PrivateGradientDescent:
    return PrivateGradientDescent(rounds, Constant(0.3), Constant(scale), Clip(0.5))


def ring(algorithm, **options):
    return tapped_ring(synthetic_problem(), algorithm, **options)


class Same(Codec):
    """Changes nothing, but is not known to."""

    def size(self, dimension):
        return 8 * dimension

    def encode(self, value, dither=None):
        return value + 0.0

    def pack(self, vector):
        return vector.tobytes()

    def unpack(self, data, dimension):
        return np.frombuffer(data)


@pytest.mark.parametrize("algorithm", [descent(), Recal(0.3, activations=60)], ids=["descent", "walk"])
def test_float64_changes_no_bit_of_a_run(algorithm):
    """Nor does a codec that goes the long way round and changes nothing."""
    plain, named, round_about = (
        ring(algorithm, links=ROUGH, replicas=3, seed=4, **options).run()
        for options in ({}, {"codec": Float64(), "header_bytes": 20}, {"codec": Same()})
    )
    rows = plain.views[0].transcript.records
    for run in (named, round_about):
        assert run.traffic == plain.traffic
        assert run.time == plain.time
        others = run.views[0].transcript.records
        assert [row[:-1] for row in others] == [row[:-1] for row in rows]
        for row, other in zip(rows, others, strict=True):
            assert list(row.values) == list(other.values)
            assert all(row.values[n].tobytes() == other.values[n].tobytes() for n in row.values)


def test_a_run_in_float32_is_a_naive_loop_that_rounds_what_it_sends():
    problem, rounds = synthetic_problem(), 30
    run = ring(descent(rounds, scale=0.0), codec=Float32()).run()
    topology, clip = run.simulation.topology, Clip(0.5)
    x = [np.zeros((1, 6)) for _ in range(5)]
    sent = []
    for _ in range(rounds):
        decoded = [v.astype(np.float32).astype(np.float64) for v in x]
        sent.append(decoded)
        x = [
            topology.row(i) @ np.stack([decoded[i], *(decoded[j] for j in topology.neighbors(i))], axis=1)
            - 0.3 * clip(problem.objectives[i].gradient(x[i]))
            for i in range(5)
        ]
    heard = [row for row in run.views[0].transcript if row.place == "link"]
    assert len(heard) == rounds * 10
    for row in heard:
        np.testing.assert_array_equal(row.values["x"], sent[row.number][row.sender])
    exact = ring(descent(rounds, scale=0.0)).run().views[0].transcript.records
    assert not np.array_equal(sent[-1][exact[-1].sender], exact[-1].values["x"])


class Tells(Algorithm):
    """Checks that what it told is what the others decode, and mixes it."""

    async def run(self, node):
        rng = np.random.default_rng(node.id)
        for _ in range(5):
            x = rng.normal(size=(node.replicas, node.dimension))
            heard = await node.exchange(b=x, a=-x)
            terms = zip(node.weights, [heard.sent("b"), *heard.values("b")], strict=True)
            assert np.array_equal(heard.mix("b"), functools.reduce(np.add, [weight * term for weight, term in terms]))
            assert not heard.sent("a").flags.writeable
            back = await node.exchange(**{f"x{j}": v for j, v in (heard["b"] | {node.id: x}).items()})
            for echo in back[f"x{node.id}"].values():
                assert np.array_equal(echo, heard.sent("b"))
            node.estimate(heard.mix("b"))


@pytest.mark.parametrize("codec", [Float32(), Float16(), FixedPoint(10, 9.0)], ids=repr)
def test_what_i_told_is_what_the_others_have(codec):
    """On three agents everybody echoes what everybody sent; rounding twice is rounding once."""
    tapped_ring(synthetic_problem(agents=3), Tells(), codec=codec, replicas=4).run()


@pytest.mark.few(9)
@pytest.mark.parametrize("codec", CODECS, ids=repr)
@pytest.mark.parametrize("algorithm", [descent(), Recal(0.3, activations=60)], ids=["descent", "walk"])
def test_sizes_and_bytes_of_a_run(codec, algorithm, tmp_path):
    run = ring(algorithm, links=ROUGH, replicas=2, codec=codec, header_bytes=28).run()
    rows = [row for row in run.views[0].transcript if row.place == "link"]
    for row in rows:
        assert row.size == (20 if row.kind == "ack" else 28 + len(row.values) * codec.size(6))
    export(rows, tmp_path / "a.pcapng", replica=1, codec=codec, header_bytes=28)
    for row, frame in zip(rows, frames_of(tmp_path / "a.pcapng"), strict=True):
        assert len(frame.payload) == row.size
        if row.kind == "ack":
            continue
        assert header_of(frame.payload)[4] == row.size - 28
        assert not any(frame.payload[20:28])
        for index, name in enumerate(sorted(row.values)):
            data = frame.payload[28 + index * codec.size(6) :][: codec.size(6)]
            np.testing.assert_array_equal(codec.unpack(data, 6), row.values[name][1])


def test_a_header_may_be_shorter_than_what_it_would_say(tmp_path):
    run = ring(descent(), codec=ScaledSign(), header_bytes=3).run()
    rows = [row for row in run.views[0].transcript if row.place == "link"]
    assert {row.size for row in rows} == {3 + 8 + 1}
    export(rows, tmp_path / "a.pcapng", codec=ScaledSign(), header_bytes=3)
    assert all(len(frame.payload) == 12 for frame in frames_of(tmp_path / "a.pcapng"))


def test_the_wrong_codec_is_refused_at_export(tmp_path):
    run = ring(descent(), codec=Float32()).run()
    transcript = run.views[0].transcript
    with pytest.raises(TranscriptError, match="values of 48 bytes by Float64"):
        export(transcript, tmp_path / "a.pcapng")
    exact = ring(descent()).run().views[0].transcript
    rows = [row._replace(size=20 + 24) for row in exact]
    with pytest.raises(TranscriptError, match=r"'x' at 0 s is nothing that Float32\(\) can have made"):
        export(rows, tmp_path / "a.pcapng", codec=Float32())


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_the_same_seed_gives_the_same_transcript_and_chunks_differ(codec, tmp_path):
    one, two, other = (
        ring(descent(), codec=codec, replicas=2, chunk=chunk, **options).run().views[0].transcript.records
        for chunk, options in ((0, {}), (0, {"spool": tmp_path}), (1, {}))
    )
    values = [[row.values["x"].tobytes() for row in rows] for rows in (one, two, other)]
    assert values[0] == values[1] != values[2]
    spooled = StreamedTranscript.open(tmp_path / "ears.spool")
    assert [row.size for row in spooled] == [row.size for row in one]


def test_a_random_codec_disturbs_no_other_stream():
    """The noise and the coins are those of the run without it."""
    plain = ring(descent()).run()
    dithered = ring(descent(), codec=FixedPoint(12, 50.0, "stochastic")).run()
    first = [run.truth.releases[2][0] for run in (plain, dithered)]
    np.testing.assert_array_equal(*first)
    walks = [ring(Recal(0.3, activations=50), codec=codec).run() for codec in (Float64(), RandomK(3))]
    assert walks[0].activations == walks[1].activations
    assert coins(walks[0], 1).random() == coins(walks[1], 1).random()


def test_each_value_has_a_draw_in_the_order_of_names():
    codec = FixedPoint(3, 1.0, "stochastic")
    dither = Dither(lambda: dither_of(Streams(3), 0, 2), 4)
    first, second = (draw for draw, _ in zip(dither.draws(5), range(2), strict=False))
    values = {"b": np.full((4, 5), 0.1), "a": np.full((4, 5), -0.2)}
    decoded = Encoder(codec, 5, dither)(values)
    assert list(decoded) == ["b", "a"]
    np.testing.assert_array_equal(decoded["a"], codec.encode(values["a"], first))
    np.testing.assert_array_equal(decoded["b"], codec.encode(values["b"], second))
    alone = Encoder(codec, 5, dither.part(slice(2, 3)))({name: value[2:3] for name, value in values.items()})
    np.testing.assert_array_equal(alone["b"], decoded["b"][2:3])
    with pytest.raises(TranscriptError, match="give the agent's dither"):
        Encoder(codec, 5)


@pytest.mark.parametrize("size", [-1, 2.0, True])
def test_a_header_is_a_whole_number_of_bytes(size):
    with pytest.raises(ScenarioError, match="header_bytes"):
        ring(descent(), header_bytes=size)
