"""`scenarios.audit` audits an object, as the command audits a file, and shows itself in a notebook."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import netsim
import scenarios
from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.inference import through_probe
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm
from netsim.claims import Claim, Clip
from netsim.errors import AttackError, DeadlockError, PrivacyError, ScenarioError
from netsim.mechanisms import Gaussian, Laplace
from netsim.node import Node, choose, subset
from netsim.problems import load, logistic
from netsim.simulation import Simulation
from netsim.topology import ring
from scenarios.build.duration import Silent
from scenarios.build.experiment import Experiment
from scenarios.render.page.report import figures
from scenarios.render.terminal import INTERRUPTED
from scenarios.results.tree import dumps
from scenarios.schema import Ring
from scenarios.schema.load import load_scenario
from scenarios.schema.own import claiming
from scenarios.stages import notebook, study
from tests.scenarios.command import cli
from tests.scenarios.own_algorithm import MINE
from tests.scenarios.small import TINY


@dataclass(frozen=True)
class Mine(Algorithm):
    rounds: int = 4
    scale: float = 2.0
    sensitivity: float = 2.0

    step = 0.1

    def released(self, node, gradient):
        return node.privatize(Clip(1.0)(gradient), Laplace(self.scale))

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            g = self.released(node, await node.gradient(x))
            x = x - self.step * (await node.exchange(g=g)).mix("g")
            node.estimate(x)

    def claim(self, adjacency, setting, delta):
        return Claim(self.rounds * self.sensitivity / self.scale, 0.0, "<theorem>", adjacency, "l1")


@dataclass(frozen=True)
class Roots(Mine):
    """Its numbers are NumPy's."""

    def claim(self, adjacency, setting, delta):
        stated = super().claim(adjacency, setting, delta)
        return replace(stated, epsilon=np.sqrt(stated.epsilon**2), delta=np.float64(0), source=np.str_("mine"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "claim", "verdict"),
    [
        (Mine(), None, "proven"),
        (Mine(sensitivity=1.0), None, "refuted"),
        (Mine(), 3.9, "refuted"),
        (Mine(), np.float64(4.0), "proven"),
        (Roots(), None, "proven"),
    ],
)
def test_an_object_is_audited(algorithm, claim, verdict):
    found = scenarios.audit(algorithm, claim, trials=50)
    assert (found.verdict, found.audit.epsilon_claimed) == (
        verdict,
        claim or (4.0 if verdict == "proven" else 2.0),
    )
    assert found.audit.epsilon_exact.lower == pytest.approx(4.0, rel=1e-4)
    assert found.audit.change_used > 0.99
    shown = found._repr_html_()
    assert verdict in shown
    assert "<theorem>" not in shown  # text is escaped
    assert str(found).startswith(f"{type(algorithm).__name__}: {verdict}. {found.audit.reason[:1].upper()}")
    assert "Exact ε of the pair" not in str(found)  # it is in a row of its own


@dataclass(frozen=True)
class WithHorizon(Mine):
    @property
    def horizon(self):
        return self.rounds


def test_what_is_wrong_is_said_before_anything_runs():
    for algorithm, options, says in (
        (Mine, {}, "is the class; allowed: an object"),
        (3, {}, "algorithm = 3: is no algorithm"),
        (Mine(), {"trials": 3}, "trials = 3: out of range; allowed: 50 … "),
        (Mine(), {"claim": (1.0, 0.0, 0.0)}, "not a claim; allowed: ε, or "),
        (Mine(), {"seed": -1}, "seed = -1: out of range"),
        (Mine(), {"jobs": 0}, "jobs = 0: not a number of processes"),
        (Mine(), {"jobs": "all"}, "jobs = 'all': not a number of processes"),
        (Mine(), {"claim": "1"}, "claim = '1': not a claim; allowed: ε, or (ε, δ), of a whole run, such as 1.0 or"),
        (Mine(), {"claim": {"epsilon": 1.0}}, "claim = {'epsilon': 1.0}: not a claim"),
        (
            Mine(rounds=0),
            {},
            "algorithm.rounds = 0: an agent of Mine is never active: nothing is sent; allowed: >= 1",
        ),
        (Mine(rounds="4"), {}, "algorithm.rounds = '4': not an integer"),
        (WithHorizon(rounds="4"), {}, "algorithm.rounds = '4': not an integer; allowed: an integer"),
        (Mine(), {"claim": "rounds=5"}, "rounds = 5: a parameter of the algorithm; allowed: Mine(rounds=5)"),
        (Mine(scale="x"), {}, "algorithm.scale = 'x': is a text; allowed: a number"),
        (
            Mine(scale=0.0),
            {},
            "claim() = 'Mine': ZeroDivisionError: float division by zero (with scale = 0.0); allowed: a netsim.",
        ),
    ):
        with pytest.raises(ScenarioError) as caught:
            scenarios.audit(algorithm, **options)
        assert says in str(caught.value)
    with pytest.raises(ScenarioError, match="options = 3: is an int; allowed: a text FIELD=VALUE"):
        scenarios.audit(Mine(), 1.0, 3)
    with pytest.raises(
        ScenarioError, match=r"delta = 1e-05: part of the claim, .*netsim.audit\(Mine\(rounds=20\), \(1.0, 1e-5\)\)"
    ):
        scenarios.audit(Mine(), 1.0, delta=1e-5)
    with pytest.raises(ScenarioError, match="trial = 50: no argument of an audit; did you mean 'trials'"):
        scenarios.audit(Mine(), 1.0, trial=50)
    with pytest.raises(ScenarioError, match=r"^topology\.agnts = 4: unknown field; did you mean 'agents'"):
        scenarios.audit(Mine(), 1.0, "topology.agnts=4")
    with pytest.raises(ScenarioError, match="found = 3: is an int; allowed: a run, as of Simulation"):
        scenarios.plot(3)
    with pytest.raises(ScenarioError, match="scenario = 3: is an int; allowed: a text, or a Path"):
        scenarios.run(3)
    with pytest.raises(ScenarioError, match=r"claims = 1.0: no argument of an audit; did you mean 'claim'"):
        scenarios.audit(Mine(), claims=1.0)
    with pytest.raises(ScenarioError, match="audit = None: is what is to be done here"):
        scenarios.audit(Mine(), 1.0, "audit=null")


CALLS = {
    "a text of options": (lambda: scenarios.run(TINY, options="seed=3"), "is a text; did you mean ['seed=3']?"),
    "a number of options": (lambda: scenarios.run(TINY, options=[3]), "options[0] = 3: is an int; allowed: a text"),
    "one option": (lambda: scenarios.run(TINY, option=["seed=3"]), "no argument of run; did you mean 'options'?"),
    "a text for a truth": (lambda: scenarios.run(TINY, page="no"), "page = 'no': is a text; allowed: True or False"),
    "a folder of a long name": (lambda: scenarios.run(TINY, "x" * 300), "no place of a file or folder (File"),
    "a folder of no name": (lambda: scenarios.run(TINY, "a\0b"), "folder = 'a\\x00b': no file can be called that"),
    "an empty folder": (lambda: scenarios.run(TINY, ""), "folder = '': is empty"),
    "a home of nobody": (lambda: scenarios.run(TINY, "~nobody-at-all/x"), "no file can be called that"),
    "settings as a text": (lambda: load_scenario("x", "seed=3"), "settings = 'seed=3': is a text; did you mean ["),
    "nothing to load": (lambda: scenarios.load(None), "source = None: there is no value; allowed: a text, or a Path"),
    "an empty name": (lambda: scenarios.load(""), "scenario = '': is empty"),
    "options by name": (lambda: scenarios.load(TINY, options=["seed=3"]), "load(…, 'seed=3'): without a name"),
    "a field by name": (lambda: scenarios.load(TINY, seed=3), "no argument of load; allowed: source, *options"),
    "a text to dump": (lambda: scenarios.dump("tiny"), "scenario = 'tiny': is a text; allowed: a Scenario"),
    "a title": (lambda: scenarios.plot(None, tilte="x"), "tilte = 'x': no argument of plot; did you mean 'title'?"),
    "a value without its name": (lambda: Ring(5), "a value without the name of its field; allowed: Ring(agents=…"),
    "a problem of one's own": (lambda: scenarios.audit(Mine(), problem=1), "docs/audit-your-own.md, In Python"),
    "a text for a claim": (lambda: scenarios.audit(Mine(), "one"), "claim = 'one': not a claim; allowed: ε, or"),
    "a claim below 0": (
        lambda: scenarios.audit(Mine(), -1.0),
        "claim = -1.0: out of range; allowed: ε >= 0, and δ from 0 to less than 1",
    ),
    "a δ of 1": (
        lambda: scenarios.audit(Mine(), (1.0, 1.0)),
        "claim = (1.0, 1.0): out of range; allowed: ε >= 0, and δ from 0 to less than 1",
    ),
    "a claim beside its δ": (
        lambda: scenarios.audit(Mine(), 1.0, 1e-5),
        "options = 1e-05: is a number: δ is part of the claim; allowed: (1.0, 1e-05) as the second argument",
    ),
    "a word for progress": (
        lambda: scenarios.audit(Mine(), 1.0, progress="no"), "progress = 'no': is a text; allowed: True or False"
    ),
    "an option of the command line": (
        lambda: scenarios.audit(Mine(), 1.0, "-o agents=5"), "; did you mean 'agents=5'?; allowed: FIELD=VALUE, such"
    ),
    "a dict of options": (
        lambda: scenarios.load(TINY, {"links.loss": 0.2}), "options[0] = {'links.loss': 0.2}: is a dict; allowed: a",
    ),
    "a field without a value": (lambda: scenarios.audit(Mine(), "agents="), "there is no value after the sign"),
    "a field that is none": (lambda: scenarios.audit(Mine(), "agnts=3"), "agnts = 3: unknown field"),
    "a setting by name": (
        lambda: scenarios.load(TINY).with_options(options="seed=3"), "with_options(…, 'seed=3'): without a name",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_call_is_a_scenario_error_before_anything_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, says = CALLS[name]
    with pytest.raises(ScenarioError) as caught:
        call()
    assert says in str(caught.value)
    assert not [*tmp_path.iterdir()]


def test_a_folder_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert scenarios.run(TINY, "~/one", options=["audit=null"], page=False).status == "complete"
    Path("tiny.yaml").write_text(TINY)
    cli("run", "tiny.yaml", "-o", "audit=null", "--out=~/two", ends=0)
    assert [(tmp_path / one / "results.json").is_file() for one in ("one", "two")] == [True, True]


def test_a_name_that_is_not_there_can_be_compared_with_those_that_are():
    with pytest.raises(AttributeError) as caught:
        _ = scenarios.runn
    assert (caught.value.name, caught.value.obj) == ("runn", scenarios)


def test_finished_results_are_replaced_on_request_only(tmp_path):
    """As by the command: the same run is there already, another seed is refused."""
    bare = ["audit=null"]
    first = scenarios.run(TINY, tmp_path, options=bare, page=False)
    written = (tmp_path / "results.json").stat().st_mtime_ns
    again = scenarios.run(TINY, tmp_path, options=bare, page=False)
    assert (repr(again), (tmp_path / "results.json").stat().st_mtime_ns) == (repr(first), written)
    with pytest.raises(ScenarioError, match="with seed 0; allowed: another folder, or replace=True"):
        scenarios.run(TINY, tmp_path, options=[*bare, "seed=3"], page=False)
    assert scenarios.run(TINY, tmp_path, options=[*bare, "seed=3"], page=False, replace=True).seed == 3


@dataclass(frozen=True)
class Diverges(Algorithm):
    """Its second message is no number."""

    async def run(self, node):
        x = node.zeros()
        for _ in range(3):
            x = np.nan * (await node.exchange(x=node.privatize(x, Laplace(1.0)))).mix("x")
            node.estimate(x)


@dataclass(frozen=True)
class Overflows(Algorithm):
    """Numbers that are finite, and whose squares are not."""

    rounds: int = 3

    async def run(self, node):
        x = node.zeros()
        for _ in range(3):
            gradient = Clip(1.0, "l1")(await node.gradient(x))
            x = (await node.exchange(x=node.privatize(x, Laplace(1.0)))).mix("x") - 1e200 * gradient
            node.estimate(x)


@dataclass(frozen=True)
class FarAway(Mine):
    """What it sends is clipped, and x is not."""

    step = 1e200


@dataclass(frozen=True)
class FarAtLast(Algorithm):
    """Its last message has numbers whose squares are none."""

    async def run(self, node):
        x = node.zeros()
        for _ in range(2):
            x = -1e200 * (await node.exchange(x=node.privatize(x, Laplace(1.0)))).mix("x")
            node.estimate(await node.gradient(x))


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_run_that_diverges_names_the_message():
    with pytest.raises(PrivacyError, match=r"the run diverges: in round 1 x is more than 1e\+50 times as far from"):
        scenarios.audit(FarAway(), 1.0, trials=50)
    with pytest.raises(PrivacyError, match=r"the run diverges: 'x' in exchange message 1 of .* A smaller step"):
        scenarios.audit(FarAtLast(), 1.0, trials=50)
    with pytest.raises(PrivacyError, match=r"'x' in exchange message 1 of .* is of the order of 10¹⁵⁴ or abo"):
        scenarios.audit(Overflows(), 1.0, trials=50)
    with pytest.raises(PrivacyError, match=r"the code makes NaN: 'x' in exchange message 1 of agent \d, at t=0 s"):
        scenarios.audit(Diverges(), 1.0, trials=50)


class ByHand(Mine):
    """Not made by its fields."""

    def __init__(self, twice):
        super().__init__(rounds=2 * twice)


def test_who_waits_forever_for_a_lost_packet_is_told_what_mends_it():
    with pytest.raises(DeadlockError) as error:
        scenarios.audit(Mine(rounds=9), 1.0, "links.loss=0.5", "links.reliable=false", trials=50)
    assert error.value.__notes__[-1].startswith("links.reliable is false: a packet that is lost or rejected is not")


def test_an_object_is_audited_as_it_was_made():
    assert claiming(ByHand(3), 1.0, 0.0).horizon == 6


@dataclass(frozen=True)
class Composed(Mine):
    """Four releases of what is clipped to 1 under Gaussian noise, which compose to μ = 4/scale."""

    def released(self, node, gradient):
        return node.privatize(Clip(1.0)(gradient), Gaussian(self.scale))


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("claimed", "verdict"), [(1.8, "refuted"), (2.0 + 1e-9, "proven")])
def test_a_tenth_too_little_is_found_at_a_small_delta_with_500_transcripts(claimed, verdict, seed):
    """δ = 10⁻⁵ is far below 1/500: noise is tilted, and the mean of weighted losses is bounded. Of the true ε an
    estimate may be a little above it: its interval reaches below, and the bound over all pairs is no more."""
    delta = 1e-5
    mu = brentq(lambda mu: gaussian_epsilon(mu, delta) - 2.0, 0.1, 2.0)
    found = scenarios.audit(Composed(scale=4 / mu), (claimed, delta), "audit.agent=0", trials=500, seed=seed)
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("arguments", "agents", "links"),
    [
        (("agents=4",), 4, 4),
        ((None, "topology=complete", "agents=4"), 4, 6),
        (("data={name: synthetic, records: 12, dimension: 2}", "topology=path"), 5, 4),
        (("data.records=10", "topology.agents=3"), 3, 3),
    ],
)
def test_fields_are_set_by_the_command_s_short_names_and_in_the_claim_s_place(
    monkeypatch, tmp_path, arguments, agents, links
):
    worlds = []

    def stop(experiment, *_):
        worlds.append(experiment.subjects[0].simulation.topology)
        raise KeyboardInterrupt

    monkeypatch.setattr(notebook, "audited_pair", stop)
    with pytest.raises(KeyboardInterrupt):
        scenarios.audit(Mine(), *arguments)
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.setattr(study, "run_study", lambda scenario, *_, **__: stop(Experiment.of(scenario)))
    settings = [word for one in ("rounds=2", *arguments) if one for word in ("-o", one)]
    cli("audit", f"{tmp_path / 'mine.py'}", *settings, ends=INTERRUPTED)
    assert [(one.agents, one.links) for one in worlds] == 2 * [(agents, links)]


@pytest.mark.slow
def test_options_are_those_of_the_command():
    found = scenarios.audit(Mine(), None, "topology.kind=complete", "audit.agent=3", "audit.search=null", trials=50)
    assert "agent 3" in found.audit.pair
    assert found.audit.search is None
    with pytest.raises(ScenarioError, match="agnts"):
        scenarios.audit(Mine(), None, "topology.agnts=4")


def test_views_that_are_requested_are_there_and_are_told():
    options = ("audit.search=null", "audit.views=links", "audit.adjacency={change: 1.0}")
    found = scenarios.audit(Mine(), None, *options, trials=50)
    assert {one.kind for one in found.views.views} == {"link"}
    words = f"The claim is refuted for none of {len(found.views.views)} views."
    for shown in (str(found), found._repr_html_()):
        assert words in shown
        assert "Exact ε at" not in shown
    assert found.prices is None


@dataclass(frozen=True)
class Batch(Algorithm):
    """The gradient of two records of eight that nobody knows."""

    async def run(self, node):
        gradient = await node.gradient(node.zeros(), subset(node.coins, node.records, 2))
        node.broadcast(x=node.privatize(gradient, Laplace(0.5)))
        node.estimate(gradient)


@dataclass(frozen=True)
class BatchInside(Algorithm):
    """The same, where what is released goes out with a secret sign."""

    async def run(self, node):
        gradient = await node.gradient(node.zeros(), subset(node.coins, node.records, 2))
        node.broadcast(x=choose(node.coins, (-0.3, 0.3)) * node.privatize(gradient, Laplace(0.5)))
        node.estimate(gradient)


def test_why_secret_coins_of_a_release_inside_a_number_have_no_price_is_said_of_the_code():
    found = scenarios.audit(BatchInside(), 0.1, "audit.search=null", trials=50)
    assert found.verdict == "underpowered"
    assert found.audit.unpriced.startswith("what `privatize` returned is sent inside another number, of which it")
    assert "-o audit.coins=known" in found.audit.reason


@pytest.mark.slow
def test_private_coins_are_priced_known_and_secret():
    """A change of one record is in a batch at a quarter of the tosses. Who knows it loses s, who does not at most
    ln(3/4 + e^s/4), and less where the other batches have other gradients."""
    for coins, verdict in (("secret", "consistent"), ("known", "refuted")):
        found = scenarios.audit(Batch(), 0.8, f"audit.coins={coins}", trials=50)
        both = found.audit.secret_coins
        assert (both.histories, both.unlisted, found.audit.claim.coins) == (28, None, coins)
        s, lost = both.known[0], both.secret[0]
        most = np.log(0.75 + 0.25 * np.exp(s))
        assert most / 2 < lost <= most
        assert found.audit.epsilon_exact.lower == (lost if coins == "secret" else pytest.approx(s, rel=1e-6))
        assert found.verdict == verdict
        for shown in (str(found), found._repr_html_()):
            assert f"for a listener who does not know them, ε of the pair is between {lost:.4g} and ∞" in shown


def test_an_audit_draws_its_epsilons():
    found = scenarios.audit(Mine(), 3.9, "audit.agent=0", trials=50)
    drawn = found.plot()
    assert "Mine: refuted; claimed 3.9" in drawn.drawing.words
    assert "Mine" in drawn._repr_html_()
    assert "refuted" in repr(found)


class Together(Algorithm):
    """A norm of all replicas at once."""

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        node.broadcast(x=node.privatize(gradient / max(1.0, np.linalg.norm(gradient)), Laplace(2.0)))
        node.estimate(gradient)


class WhereItIsLarge(Algorithm):
    """A release that is sent only where the gradient is large."""

    async def run(self, node):
        x = node.zeros()
        for _ in range(3):
            gradient = await node.gradient(x)
            released = node.privatize(gradient, Laplace(2.0))
            if np.abs(gradient).sum() > 0.4:
                node.broadcast(g=released)
            x = x - 0.1 * released
            node.estimate(x)


def test_code_that_decides_for_all_transcripts_is_audited_one_at_a_time_as_the_error_says():
    """A chunk of one is not enough where a pair is searched for."""
    for options in ((), ("audit.chunk=1",), ("audit.search=null",)):
        with pytest.raises(PrivacyError, match=r"pair: 'audit\.chunk=1', 'audit\.search=null'$"):
            scenarios.audit(Together(), 2.0, *options, trials=50)
    for algorithm in (Together(), WhereItIsLarge()):
        audited = scenarios.audit(algorithm, 2.0, "audit.chunk=1", "audit.search=null", trials=50)
        assert audited.audit.trials == 50


# ── figures ─────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return scenarios.run(scenarios.load(TINY), tmp_path_factory.mktemp("r") / "run", page=False)


def test_a_figure_is_chosen_by_its_title(results):
    titles = [one.title for one in figures(results)]
    assert [scenarios.plot(results, one).title for one in titles] == titles
    assert scenarios.plot(results).title == titles[0]
    with pytest.raises(ScenarioError, match="Does it converge"):
        scenarios.plot(results, "Does it converge")


def test_results_and_their_audit_are_one_line(results):
    (entry,) = results.algorithms
    assert repr(results).startswith(f"Results(name: tiny, status: complete, seed: 0, mine: {entry.audit.verdict}: ")
    for shown in (repr(results), results._repr_html_(), repr(entry), entry._repr_html_()):
        assert len(shown) < 1500
        for word in ("ε claimed", "ε exact", "ε audited"):
            assert word in shown
    assert "folder: " in repr(results)
    assert "_folder" not in dumps(results)
    assert f"verdict: {entry.audit.verdict}" in repr(entry.audit)
    assert entry.audit.verdict in results._repr_html_()


@dataclass(frozen=True)
class NoNumbers(Mine):
    """What it sends are no numbers."""

    def released(self, node, gradient):
        return np.nan * super().released(node, gradient)


def test_messages_that_are_no_numbers_are_named_and_no_trials_advised():
    with pytest.raises(PrivacyError, match=r"the code makes NaN: 'g' in exchange message 0 of agent \d, at t=0 s"):
        scenarios.audit(NoNumbers(), 1.0, "audit.search=null", trials=50)


@dataclass(frozen=True)
class Bare(Mine):
    """Nothing protects what it sends."""

    def released(self, node, gradient):
        return gradient


def test_the_answer_says_what_to_do_next_and_nothing_of_what_is_not_known():
    shown = scenarios.audit(Bare(), 1.0, "audit.search=null", trials=50)
    assert shown.verdict == "unprotected"
    for text in (str(shown), shown._repr_html_()):
        assert "None" not in text
        assert "Add noise to 'g', or do not send it" in unescape(text)
    undecided = scenarios.audit(Mine(), 5.0, "audit.search=null", trials=50)
    assert "'audit.adjacency=agent'" in str(undecided)
    assert "<li>" in undecided._repr_html_()


def test_a_long_audit_says_how_long_it_takes_and_how_far_it_is(monkeypatch, capsys):
    def audited(**options):
        scenarios.audit(Mine(), None, "audit.search=null", trials=50, **options)
        return capsys.readouterr()

    assert audited() == ("", "")  # done before anybody wonders
    monkeypatch.setattr("scenarios.stages.notebook.LONG", 0.0)
    out, said = audited()
    assert not out
    assert said.strip().startswith("About ")
    assert "· Mine: auditing" in said
    assert audited(progress=False) == ("", "")


@dataclass(frozen=True)
class Batches(Algorithm):
    asked: Callable[[Node], int]

    async def run(self, node):
        g = Clip(1.0, "l1")(await node.gradient(node.zeros(), [self.asked(node)]))
        node.broadcast(x=node.privatize(g, Laplace(2.0)))
        node.estimate(g)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "asked", [lambda node: choose(node.coins, range(8)), lambda node: int(8 * node.coins.random())]
)
def test_where_reading_histories_takes_long_their_share_is_shown(monkeypatch, asked):
    """Of those that are listed, and of those that are drawn where there is no list."""
    begun, steps = list[tuple[str, int]](), list[int]()
    monkeypatch.setattr(Silent, "begin", lambda _, *stage: (begun.append(stage), steps.clear()))
    monkeypatch.setattr(Silent, "advance", lambda _, more: steps.append(more))
    monkeypatch.setattr("scenarios.build.duration.QUIET", 0.0)
    monkeypatch.setattr("attacks.audit.loss.secret_coins._MOST_DRAWN", 64)
    scenarios.audit(Batches(asked), 1.0, "audit.search=null", trials=50, progress=False)
    assert begun[-1] == ("Batches: reading histories of private coins, in percent", 100)
    assert len(steps) > 10
    assert sum(steps) == 100


@dataclass(frozen=True)
class Half:
    """A mechanism that cannot price what it releases."""

    noiseless: bool = False

    def release(self, value, rng):
        return value + rng.normal(size=value.shape)


@dataclass(frozen=True)
class WithHalf(Algorithm):
    async def run(self, node):
        x = node.zeros()
        for _ in range(3):
            got = await node.exchange(x=node.privatize(x, Half()))
            x = got.mix("x") - 0.1 * await node.gradient(x)


def test_a_mechanism_that_only_releases_is_refused_by_who_prices_it():
    """An audit, and an attack that inverts; a run asks for its noise alone."""
    says = "agent 0 privatizes with what is a Half; it has no log_density, quantiles, variance; allowed: a"
    with pytest.raises(PrivacyError, match=re.escape(says)):
        netsim.audit(WithHalf(), 1.0, trials=50)
    problem = logistic(load("synthetic", records=20, dimension=3, seed=3).split(4), ridge=0.5)
    found = Simulation(problem, ring(4), WithHalf(), adversaries=(Adversary("all", links="all"),)).run()
    with pytest.raises(AttackError, match=re.escape(says)):
        through_probe(found.views[0])


@dataclass(frozen=True)
class Band(Algorithm):
    """A secret record of four where a public noisy number lies in a band, else the mean of all: rounded, so that no
    histories are priced."""

    async def run(self, node):
        one = choose(node.coins, range(4))
        public = node.privatize(node.zeros(), Laplace(1.0))
        node.broadcast(s=public)
        each = [np.clip(await node.gradient(node.zeros(), [k]), -1, 1) for k in range(4)]
        g = np.where((public > 2.0) & (public < 3.0), each[one], sum(each) / 4)
        node.broadcast(x=node.privatize(g, Laplace(1.0)))
        node.estimate(g)

    def claim(self, adjacency, setting, delta):
        return Claim(1.003 * float(np.log(0.75 + 0.25 * np.exp(2))), 0.0, "by hand", adjacency, "l1")


def test_coins_that_hide_something_seldom_are_not_taken_for_coins_that_hide_nothing():
    options = "data.dimension=1", "data.records=20", "messages.codec={kind: float32}"
    found = scenarios.audit(Band(), None, *options, trials=300, progress=False)
    assert found.verdict == "underpowered"
    assert "Their histories are not priced" in found.audit.reason


@dataclass(frozen=True)
class SeldomClear(Algorithm):
    """Nothing is sent, but for the gradient itself at one toss in fifty."""

    async def run(self, node):
        g = np.clip(await node.gradient(node.zeros()), -1, 1)
        if choose(node.coins, range(50)) == 0:
            node.broadcast(x=g)
        node.estimate(g)


def test_who_hardly_ever_sends_anything_is_audited():
    found = scenarios.audit(SeldomClear(), 3.0, "data.dimension=1", "data.records=10", trials=300, progress=False)
    assert found.verdict == "unprotected"
