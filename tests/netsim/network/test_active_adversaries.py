"""Meddlers as data: what they may say, and what is refused before time 0."""

import math
from dataclasses import replace

import numpy as np
import pytest

from netsim.adversary import Adversary, Around
from netsim.algorithms import PrivateGradientDescent
from netsim.codecs import Float32, Quantizer
from netsim.errors import ScenarioError, SimulationError
from netsim.network.active_adversaries import (
    ActiveAdversary,
    AddGaussian,
    Alter,
    Delay,
    Drop,
    FlipSign,
    InterceptionReport,
    Replay,
    ScaleBy,
    SetTo,
)
from netsim.network.laws import UniformDelay
from netsim.network.links import LinkLaw
from netsim.problems import load, logistic
from netsim.schedules import Constant
from netsim.settings import NetworkSettings
from netsim.simulation import Simulation
from netsim.topology import ring
from netsim.transcript.pcapng import export
from tests.netsim.network.intercepted import descending
from tests.worlds import refusal

RING = ring(5)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Drop(1.5), "probability"), (lambda: Drop(math.nan), "probability"), (lambda: Delay(-1.0), "seconds"),
        (lambda: Delay(math.inf), "seconds"), (lambda: Delay(1.0, -0.1), "probability"),
        (lambda: Replay(-1.0), "after"), (lambda: Replay(copies=0), "copies"),
        (lambda: Replay(probability=2.0), "probability"), (lambda: Alter(FlipSign(), 1.1), "probability"),
        (lambda: Alter("noise"), "how"), (lambda: Alter(FlipSign(), fields=()), "fields"),
        (lambda: AddGaussian(-1.0), "stddev"), (lambda: AddGaussian(math.inf), "stddev"),
        (lambda: ScaleBy(math.nan), "factor"), (lambda: SetTo(math.inf), "value"),
        (lambda: ActiveAdversary("m", "all", ()), "actions"),
        (lambda: ActiveAdversary("m", "all", (FlipSign(),)), "actions[0]"),
        (lambda: ActiveAdversary("m", "all", (Drop(),), start=-1.0), "start"),
        (lambda: ActiveAdversary("m", "all", (Drop(),), start=2.0, end=2.0), "end"),
        (lambda: ActiveAdversary("m", "all", (Drop(),), end=math.nan), "end"),
        (lambda: ActiveAdversary("m", "all", (Drop(),), directed=True), "directed"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(make, field):
    assert refusal(make).field == field


@pytest.mark.parametrize(
    ("active_adversaries", "links", "field"),
    [
        ((ActiveAdversary("m", ((0, 2),), (Drop(),)),), LinkLaw(), "active_adversaries[0].links[0]"),
        ((ActiveAdversary("m", Around((9,)), (Drop(),)),), LinkLaw(), "active_adversaries[0].links.around[0]"),
        (
            (ActiveAdversary("m", "all", (Drop(),)), ActiveAdversary("m", "all", (Drop(),))), LinkLaw(),
            "active_adversaries[1].name",
        ),
        (
            (ActiveAdversary("m", "all", (Drop(0.1), Alter(FlipSign()))),), LinkLaw(encrypted=True),
            "active_adversaries[0].actions[1]",
        ),
    ],
)  # fmt: skip
def test_a_simulation_refuses_what_does_not_fit_it(active_adversaries, links, field):
    assert refusal(descending, links, active_adversaries=active_adversaries).field == field


def test_who_reads_nothing_alters_nothing():
    """One encrypted link among its own is enough to refuse; off that link it may alter."""
    laws = {(0, 1): LinkLaw(encrypted=True)}
    with pytest.raises(ScenarioError, match="0 → 1 is encrypted"):
        descending(link_laws=laws, active_adversaries=(ActiveAdversary("m", "all", (Alter(FlipSign()),)),))
    descending(
        link_laws=laws, active_adversaries=(ActiveAdversary("m", ((1, 0),), (Alter(FlipSign()),), directed=True),)
    )


def test_where_it_sits():
    assert ActiveAdversary("m", "all", (Drop(),)).tampered(RING) == {
        e for i, j in RING.edges for e in ((i, j), (j, i))
    }
    assert ActiveAdversary("m", ((1, 0),), (Drop(),)).tampered(RING) == {(0, 1), (1, 0)}
    assert ActiveAdversary("m", ((1, 0),), (Drop(),), directed=True).tampered(RING) == {(1, 0)}
    assert ActiveAdversary("m", Around((2,)), (Drop(),)).tampered(RING) == {(1, 2), (2, 1), (2, 3), (3, 2)}


@pytest.mark.parametrize(
    ("meddler", "bare", "tagged"),
    [
        (ActiveAdversary("m", "all", (Drop(0.1),)), False, False),
        (ActiveAdversary("m", "all", (Drop(),)), True, True),
        (ActiveAdversary("m", "all", (Alter(FlipSign()),)), False, True),
        (ActiveAdversary("m", "all", (Drop(),), end=9.0), False, False),
        (ActiveAdversary("m", "all", (Delay(9.0), Replay())), False, False),
    ],
)
def test_only_who_drops_or_alters_without_end_may_cut_a_link_for_good(meddler, bare, tagged):
    assert (meddler.may_cut(tagged=False), meddler.may_cut(tagged=True)) == (bare, tagged)


class TestAlterations:
    values = {"x": np.array([[1.0, -2.0], [0.0, 4.0]]), "y": np.array([[5.0, 5.0], [5.0, 5.0]])}  # noqa: RUF012

    def after(self, how, fields=None):
        return Alter(how, fields=fields).rewritten(self.values, np.random.default_rng(1))

    @pytest.mark.parametrize(
        ("how", "expected"),
        [
            (FlipSign(), [[-1, 2], [0, -4]]), (ScaleBy(3.0), [[3, -6], [0, 12]]), (SetTo(7.0), [[7, 7], [7, 7]]),
            (AddGaussian(0.0), [[1, -2], [0, 4]]), (lambda values: {"x": values["x"] + 1}, [[2, -1], [1, 5]]),
        ],
    )  # fmt: skip
    def test_they_do_what_they_say_to_the_named_field_only(self, how, expected):
        after = self.after(how, ("x", "absent"))
        np.testing.assert_array_equal(after["x"], expected)
        assert after["y"] is self.values["y"]
        assert not after["x"].flags.writeable
        assert not np.signbit(after["x"][after["x"] == 0]).any()  # the wire carries no sign of a zero

    def test_gaussian_noise_has_its_deviation(self):
        value = {"x": np.zeros((1, 40_000))}
        noise = Alter(AddGaussian(3.0)).rewritten(value, np.random.default_rng(1))["x"]
        assert abs(noise.std() - 3.0) < 0.06  # ten standard deviations of the estimate

    @pytest.mark.parametrize(
        "how",
        [
            lambda values: {"x": values["x"]},
            lambda values: values | {"z": values["x"]},
            lambda values: {name: value[:1] for name, value in values.items()},
            lambda values: {name: value.astype(np.float32) for name, value in values.items()},
            lambda values: {name: value.tolist() for name, value in values.items()},
        ],
    )
    def test_a_function_that_changes_more_than_values_is_an_error(self, how):
        with pytest.raises(SimulationError, match="gave back"):
            self.after(how)


def test_a_delay_may_be_a_number_or_a_law():
    assert Delay(2).law.mean() == 2
    assert Delay(UniformDelay(0.0, 1.0)).law.mean() == 0.5


def outside_model(reports: tuple[InterceptionReport, ...]) -> str | None:
    return replace(descending().run(), interceptions=reports).outside_model


def test_the_line_says_who_did_what_and_where():
    assert outside_model(()) is None
    one = InterceptionReport("mallory", ((0, 1), (1, 0)), dropped=3, delayed=0, replayed=2, altered=1200, rejected=4)
    assert outside_model((one,)) == (
        "outside the paper's threat model: an active adversary meddled with link 0–1 (mallory: dropped 3, delayed 0, "
        "replayed 2, altered 1,200; receivers rejected 4)"
    )
    many = InterceptionReport("eve", tuple(e for i in range(9) for e in ((i, i + 1), (i + 1, i))), 0, 0, 0, 0, 0)
    assert "links 0–1, 1–2, 2–3, 3–4, 4–5, 5–6 and 3 more (" in outside_model((one, many))


def test_the_line_says_which_way_and_when():
    late = InterceptionReport("eve", ((0, 2),), 1, 0, 0, 0, 0, start=0.1, end=0.8)
    assert "link 0 → 2 only (eve from 0.1 s to 0.8 s: dropped 1," in outside_model((late,))
    assert "(eve from 0.1 s on: dropped" in outside_model((replace(late, end=math.inf),))
    back = InterceptionReport("bob", ((2, 0), (1, 0)), 0, 0, 0, 0, 0, end=2.5)
    assert "link 0–2 (eve: " in outside_model((replace(late, links=((0, 2), (2, 0)), start=0.0, end=math.inf),))
    assert "links 1 → 0 only, 2 → 0 only (bob to 2.5 s: dropped 0" in outside_model((back,))


# ── under codecs ────────────────────────────────────────────────────────────────────────────────────────
def test_what_is_altered_goes_on_as_the_codec_would_have_said_it(tmp_path):
    noisy = ActiveAdversary("mallory", "all", (Alter(AddGaussian(0.3)),))
    problem = logistic(load("digits").split(4), ridge=1.0)
    run = Simulation(
        problem, ring(4), PrivateGradientDescent(6, Constant(0.1)),
        NetworkSettings(codec=Float32(), active_adversaries=(noisy,)),
        adversaries=(Adversary(links=(), nodes=(0, 1, 2, 3)),),
    ).run()  # fmt: skip
    received = [row for row in run.views[0].transcript if row.event == "received"]
    sent = {(row.sender, row.number): row.values["x"] for row in run.views[0].transcript if row.event == "sent"}
    assert run.interceptions[0].altered == len(received) > 0
    for row in received:
        value = row.values["x"]
        assert np.array_equal(value, value.astype(np.float32).astype(np.float64))
        assert not np.array_equal(value, sent[row.sender, row.number])
    assert export(received, tmp_path / "a.pcapng", place="node", codec=Float32()) == len(received)


def test_nobody_alters_what_a_codec_draws():
    noisy = ActiveAdversary("mallory", "all", (Drop(0.1), Alter(AddGaussian(0.3))))
    with pytest.raises(ScenarioError, match=r"active_adversaries\[0\].actions\[1\].*no draws"):
        Simulation(
            logistic(load("digits").split(4), ridge=1.0), ring(4), PrivateGradientDescent(6, Constant(0.1)),
            NetworkSettings(codec=Quantizer(), active_adversaries=(noisy,)),
        )  # fmt: skip
