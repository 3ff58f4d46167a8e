"""Laws against probability theory, traces against their files, and one error for each thing that cannot be."""

import gc
import itertools
import math
import pickle
import random
import weakref
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from netsim.network.laws import (
    Bernoulli,
    ConstantDelay,
    ExponentialDelay,
    GilbertElliott,
    LognormalDelay,
    TraceDelay,
    TraceLoss,
    TraceOutages,
    UniformDelay,
)
from tests.netsim.network.intercepted import FALSE_ALARM
from tests.worlds import refusal

BEYOND = stats.norm.isf(FALSE_ALARM / 2)
"""Standard errors that a mean strays with that probability."""
DELAYS = (0.5, 0.125, 0.0, 3.0, 0.25)
FATES = (1, 1, 0, 1, 0, 0, 0)


def lines(values):
    return "".join(f"{value}\n" for value in values)


# ── delay ───────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("law", "stddev"),
    [
        (ConstantDelay(0.25), 0.0), (UniformDelay(0.5, 2.0), 1.5 / math.sqrt(12)),
        (LognormalDelay(0.1, 0.4), 0.1 * math.exp(0.08) * math.sqrt(math.expm1(0.16))),
        (LognormalDelay(2.0, 0.0), 0.0), (ExponentialDelay(0.3), 0.3), (ExponentialDelay(0.3, least=2.0), 0.3),
    ],
)  # fmt: skip
def test_drawn_delays_have_the_mean_that_the_law_says(law, stddev):
    """By the central limit theorem; the skews are small over 100,000 draws."""
    count, rng = 100_000, random.Random(1)
    mean = math.fsum(law.draw(rng) for _ in range(count)) / count
    assert abs(mean - law.mean()) <= BEYOND * stddev / math.sqrt(count) + 1e-12


@pytest.mark.parametrize(
    ("law", "theory"),
    [
        (UniformDelay(0.5, 2.0), stats.uniform(0.5, 1.5)), (LognormalDelay(0.1, 0.4), stats.lognorm(0.4, scale=0.1)),
        (ExponentialDelay(0.3), stats.expon(scale=0.3)), (ExponentialDelay(0.3, least=2.0), stats.expon(2.0, 0.3)),
    ],
)  # fmt: skip
def test_drawn_delays_follow_their_law(law, theory):
    """Kolmogorov–Smirnov, and against a law 10 % wider, which the test must refuse."""
    rng = random.Random(2)
    drawn = [law.draw(rng) for _ in range(50_000)]
    assert stats.kstest(drawn, theory.cdf).pvalue > FALSE_ALARM
    low = theory.support()[0]
    assert stats.kstest([low + 1.1 * (delay - low) for delay in drawn], theory.cdf).pvalue < FALSE_ALARM


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: ConstantDelay(-1.0), "seconds"), (lambda: ConstantDelay(math.inf), "seconds"),
        (lambda: ConstantDelay(math.nan), "seconds"), (lambda: UniformDelay(-0.1, 1.0), "low"),
        (lambda: UniformDelay(2.0, 1.0), "high"), (lambda: UniformDelay(1.0, math.inf), "high"),
        (lambda: LognormalDelay(0.0, 1.0), "median"), (lambda: LognormalDelay(1.0, -1.0), "sigma"),
        (lambda: ExponentialDelay(0.0), "mean_excess"), (lambda: ExponentialDelay(math.inf), "mean_excess"),
        (lambda: ExponentialDelay(math.nan), "mean_excess"), (lambda: ExponentialDelay(1.0, -0.1), "least"),
        (lambda: ExponentialDelay(1.0, math.inf), "least"), (lambda: Bernoulli(-0.1), "probability"),
        (lambda: Bernoulli(1.0), "probability"), (lambda: Bernoulli(math.nan), "probability"),
        (lambda: GilbertElliott(-0.1, 0.5), "good_to_bad"), (lambda: GilbertElliott(1.1, 0.5), "good_to_bad"),
        (lambda: GilbertElliott(math.nan, 0.5), "good_to_bad"), (lambda: GilbertElliott(0.5, 0.0), "bad_to_good"),
        (lambda: GilbertElliott(0.5, 1.1), "bad_to_good"),
        (lambda: GilbertElliott(0.5, 0.5, loss_good=1.0), "loss_good"),
        (lambda: GilbertElliott(0.5, 0.5, loss_good=-0.1), "loss_good"),
        (lambda: GilbertElliott(0.5, 0.5, loss_bad=1.1), "loss_bad"),
        (lambda: GilbertElliott(0.5, 0.5, loss_bad=math.nan), "loss_bad"),
    ],
)  # fmt: skip
def test_a_law_that_cannot_be_is_a_scenario_error(make, field):
    error = refusal(make)
    assert error.field == field
    assert error.allowed


# ── loss ────────────────────────────────────────────────────────────────────────────────────────────────
def fates(law, count, seed=0):
    lost = law.process(random.Random(seed))
    return np.fromiter((lost(float(packet)) for packet in range(count)), bool, count)


def rate_stderr(law, count):
    """Of the share of `count` packets: covariance at lag k is π_G π_B (loss_bad − loss_good)² (1 − P − p)ᵏ."""
    rate, bad = law.rate(), law.good_to_bad / (law.good_to_bad + law.bad_to_good)
    memory = 1 - law.good_to_bad - law.bad_to_good
    covariances = bad * (1 - bad) * (law.loss_bad - law.loss_good) ** 2 * memory / (1 - memory)
    return math.sqrt((rate * (1 - rate) + 2 * covariances) / count)


def run_lengths(flags):
    """The lengths of the runs of True, without a last one that is cut short."""
    ends = np.flatnonzero(np.diff(np.concatenate(([False], flags)).astype(int)))
    return (ends[1::2] - ends[::2][: len(ends[1::2])]).tolist()


def geometric_pvalue(lengths, success):
    """Chi-square against P(n) = success · (1 − success)^(n − 1), the tail in one bin that expects at least 20."""
    law = stats.geom(success)
    last = max(n for n in range(1, 1_000) if len(lengths) * law.sf(n) >= 20)
    seen = Counter(min(length, last + 1) for length in lengths)
    shares = [*law.pmf(np.arange(1, last + 1)), law.sf(last)]
    return stats.chisquare([seen[n] for n in range(1, last + 2)], len(lengths) * np.array(shares)).pvalue


def test_bernoulli_is_one_comparison_of_one_draw():
    lost, twin = Bernoulli(0.3).process(random.Random(6)), random.Random(6)
    assert [lost(0.0) for _ in range(1_000)] == [twin.random() < 0.3 for _ in range(1_000)]
    assert Bernoulli(0.3).rate() == 0.3


GILBERT = GilbertElliott(0.05, 0.25)
ELLIOTT = GilbertElliott(0.1, 0.3, loss_good=0.05, loss_bad=0.6)


@pytest.mark.parametrize(
    ("law", "rate"),
    [
        (GILBERT, 0.05 / 0.3), (ELLIOTT, 0.75 * 0.05 + 0.25 * 0.6),
        (GilbertElliott(0.0, 0.5, loss_good=0.125), 0.125), (GilbertElliott(1.0, 1.0), 0.5),
        (GilbertElliott(0.5, 0.5, loss_good=0.9, loss_bad=0.0), 0.45),
    ],
)  # fmt: skip
def test_gilbert_elliott_loses_its_share_of_the_packets(law, rate):
    """Rates worked out by hand; central limit theorem for the chain, plus the odd packet of a strict alternation."""
    count = 200_000
    assert law.rate() == pytest.approx(rate, rel=1e-12)
    assert abs(fates(law, count, seed=9).mean() - rate) <= BEYOND * rate_stderr(law, count) + 1 / count


def test_gilbert_bursts_and_gaps_are_geometric():
    """Where the bad state loses everything and the good one nothing, a run of losses is a stay in the bad state."""
    lost = fates(GILBERT, 300_000, seed=10)
    bursts, gaps = run_lengths(lost), run_lengths(~lost)
    assert geometric_pvalue(bursts, GILBERT.bad_to_good) > FALSE_ALARM
    assert geometric_pvalue(gaps, GILBERT.good_to_bad) > FALSE_ALARM
    assert geometric_pvalue(bursts, 1.1 * GILBERT.bad_to_good) < FALSE_ALARM  # the test can tell
    stderr = math.sqrt(1 - GILBERT.bad_to_good) / GILBERT.bad_to_good / math.sqrt(len(bursts))
    assert abs(np.mean(bursts) - 1 / GILBERT.bad_to_good) <= BEYOND * stderr


@pytest.mark.parametrize("law", [GILBERT, ELLIOTT], ids=["gilbert", "elliott"])
def test_a_process_is_stationary_from_its_first_packet(law):
    """Chi-square on the fates of the first three packets of 40,000 processes, against π D P D P D 1 by matrices."""
    count, rng = 40_000, random.Random(11)
    chain = np.array([[1 - law.good_to_bad, law.good_to_bad], [law.bad_to_good, 1 - law.bad_to_good]])
    loss = np.array([law.loss_good, law.loss_bad])
    start = np.linalg.matrix_power(chain, 10_000)[0]
    seen = Counter()
    for _ in range(count):
        lost = law.process(rng)
        seen[lost(0.0), lost(0.0), lost(0.0)] += 1
    theory = {}
    for word in itertools.product((False, True), repeat=3):
        first, second, third = (np.diag(loss if fate else 1 - loss) for fate in word)
        theory[word] = count * float(start @ first @ chain @ second @ chain @ third @ np.ones(2))
    assert min(theory.values()) > 20
    assert stats.chisquare([seen[word] for word in theory], list(theory.values())).pvalue > FALSE_ALARM


def test_the_first_losses_are_pinned():
    """Golden: they may change only with a new major version, for every stored result changes with them."""
    assert "".join(str(int(lost)) for lost in fates(ELLIOTT, 40)) == "0000000000000000010010000010100000000000"


def test_processes_of_one_law_keep_their_states_apart():
    alone = fates(GILBERT, 200, seed=14)
    one, other = GILBERT.process(random.Random(14)), GILBERT.process(random.Random(15))
    together = []
    for packet in range(200):
        together.append(one(float(packet)))
        other(float(packet))
    assert together == alone.tolist()


def test_the_time_of_a_packet_changes_nothing():
    early, late = GILBERT.process(random.Random(16)), GILBERT.process(random.Random(16))
    assert [early(0.0) for _ in range(500)] == [late(1e9 * packet) for packet in range(500)]


# ── traces ──────────────────────────────────────────────────────────────────────────────────────────────
def rotations(values):
    return [values[start:] + values[:start] for start in range(len(values))]


def test_a_trace_is_replayed_in_order_and_over_and_over(trace):
    delay, rng = TraceDelay(trace(lines(DELAYS), "delay.csv")), random.Random(0)
    loss = TraceLoss(trace(lines(FATES), "loss.csv"))
    assert delay.delays == DELAYS
    assert {type(fate) for fate in loss.fates} == {bool}
    drawn = tuple(delay.draw(rng) for _ in range(3 * len(DELAYS)))
    for found, held in ((drawn, DELAYS), (tuple(fates(loss, 3 * len(FATES)).tolist()), FATES)):
        assert found[: len(held)] in rotations(held)
        assert found == 3 * found[: len(held)]
    assert (delay.mean(), loss.rate()) == (3.875 / 5, 3 / 7)


def test_wires_start_a_trace_anywhere(trace):
    """Chi-square: each of the five first delays, and of the seven first states, is equally likely."""
    delay, loss = TraceDelay(trace(lines(DELAYS), "delay.csv")), TraceLoss(trace(lines(FATES), "loss.csv"))
    firsts = Counter(delay.draw(random.Random(seed)) for seed in range(5_000))
    assert stats.chisquare([firsts[value] for value in DELAYS]).pvalue > FALSE_ALARM
    words = Counter(tuple(fates(loss, 7, seed).tolist()) for seed in range(7_000))
    assert stats.chisquare([words[word] for word in rotations(FATES)]).pvalue > FALSE_ALARM


def test_a_replay_draws_from_its_rng_once(trace):
    law, rng, twin = TraceDelay(trace(lines(DELAYS))), random.Random(17), random.Random(17)
    law.draw(rng)
    twin.randrange(len(DELAYS))
    assert rng.getstate() == twin.getstate()
    for _ in range(20):
        law.draw(rng)
    assert rng.getstate() == twin.getstate()


def test_each_rng_replays_each_trace_for_itself(trace):
    one, other = TraceDelay(trace(lines(DELAYS), "a.csv")), TraceDelay(trace(lines(range(10, 17)), "b.csv"))
    alone = random.Random(18)
    expected = [one.draw(alone) for _ in range(30)]
    rng, disturbing = random.Random(18), random.Random(19)
    drawn = []
    for _ in range(30):
        drawn.append(one.draw(rng))
        one.draw(disturbing)
        other.draw(rng)
    assert drawn == expected


def test_a_pickled_trace_needs_its_file_no_more(trace):
    path = trace(lines(DELAYS))
    law, rng = TraceDelay(path), random.Random(20)
    law.draw(rng)
    path.unlink()
    copy = pickle.loads(pickle.dumps(law))
    assert copy == law
    assert hash(copy) == hash(law)
    assert copy.delays == DELAYS


def test_traces_of_other_delays_are_unequal_even_under_one_name(trace):
    law = TraceDelay(trace(lines(DELAYS)))
    assert TraceDelay(trace(lines(DELAYS))) == law
    assert TraceDelay(trace(lines(DELAYS[1:]))) != law


@pytest.mark.parametrize(("law", "row"), [(TraceDelay, "0.25"), (TraceLoss, "0"), (TraceOutages, "{0},{0}.5")])
def test_a_trace_is_written_as_its_file_not_as_all_that_is_in_it(trace, law, row):
    path = trace("\n".join(row.format(number) for number in range(1000)))
    assert repr(law(path)) == f"{law.__name__}(file={path!r})"


@pytest.mark.slow
def test_a_trace_forgets_an_rng_that_is_gone(trace):
    law, rng = TraceDelay(trace(lines(DELAYS))), random.Random(21)
    law.draw(rng)
    gone = weakref.ref(rng)
    del rng
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "text",
    [
        "0.5\n1e-1\n2", "delay\n0.5\n0.1\n2.0\n", "\ufeffdelay\n0.5\n0.1\n2.0\n", "0.5\r\n0.1\r\n2.0\r\n",
        "\n 0.5 \n\n0.1\n2.0\n\n",
    ],
    ids=["plain", "headed", "byte order mark", "carriage returns", "blank lines"],
)  # fmt: skip
def test_a_trace_may_be_written_in_any_of_these_ways(trace, text):
    assert TraceDelay(trace(text)).delays == (0.5, 0.1, 2.0)


@pytest.mark.parametrize(
    ("law", "text", "field", "value", "line"),
    [
        (TraceDelay, "0.5\nslow\n", "delay", "slow", 2), (TraceDelay, "delay\n0.5\n\n-0.25\n", "delay", -0.25, 4),
        (TraceDelay, "0.5\ninf\n", "delay", math.inf, 2), (TraceDelay, "0.5\n0.5\ndelay\n", "delay", "delay", 3),
        (TraceDelay, "rtt\n0.5\n", "delay", "rtt", 1), (TraceDelay, "0.5,0.5\n", "delay", "0.5,0.5", 1),
        (TraceLoss, "0\n1\n2\n", "lost", 2.0, 3), (TraceLoss, "0\n0.5\n", "lost", 0.5, 2),
        (TraceLoss, "0\nyes\n", "lost", "yes", 2), (TraceOutages, "1,1\n", "down,up", (1.0, 1.0), 1),
        (TraceOutages, "down,up\n1,2\n\n1.5,3\n", "down,up", (1.5, 3.0), 4),
        (TraceOutages, "-1,1\n", "down,up", (-1.0, 1.0), 1), (TraceOutages, "1,2\n3\n", "down,up", "3", 2),
        (TraceOutages, "1,2\n3,late\n", "up", "late", 2), (TraceOutages, "up,down\n1,2\n", "down", "up", 1),
    ],
)  # fmt: skip
def test_a_wrong_line_is_named_with_its_file_its_value_and_what_is_allowed(trace, law, text, field, value, line):
    path = trace(text)
    error = refusal(lambda: law(path))
    assert (error.field, error.value, error.file, error.line) == (field, value, str(path), line)
    assert error.allowed
    assert {TraceDelay: "seconds >= 0", TraceLoss: "0 or 1"}.get(law, "") in error.allowed
    shown = list(value) if isinstance(value, tuple) else value
    assert str(error).startswith(f"{path}:{line}: {field} = {shown!r}: ")


def test_a_delay_that_is_no_number_at_all_is_refused(trace):
    path = trace("0.5\nnan\n")
    error = refusal(lambda: TraceDelay(path))
    assert error.line == 2
    assert math.isnan(error.value)


@pytest.mark.parametrize("law", [TraceDelay, TraceLoss, TraceOutages])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "no rows"), (b"\n\n", "no rows"), (b"HEADER\n", "no rows"), (b"0\n\xff\n", "cannot be read"),
        (None, "cannot be read"),
    ],
)  # fmt: skip
def test_a_file_without_a_trace_is_refused(trace, tmp_path, law, text, problem):
    header = {TraceDelay: b"delay", TraceLoss: b"lost", TraceOutages: b"down,up"}[law]
    path = tmp_path / "missing.csv" if text is None else trace(text.replace(b"HEADER", header))
    error = refusal(lambda: law(path))
    assert (error.field, error.value) == ("file", str(path))
    assert problem in error.problem


def test_a_trace_that_loses_every_packet_is_refused(trace):
    path = trace("1\n1\n")
    error = refusal(lambda: TraceLoss(path))
    assert (error.field, error.allowed) == ("file", "at least one 0")
