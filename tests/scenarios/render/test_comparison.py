"""Runs beside each other: which fields differ, what cannot be compared, and what is told of the difference."""

import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from netsim.errors import ScenarioError
from netsim.shown import MISSING, show_epsilon
from scenarios.render import comparison as compared
from scenarios.render import sentences
from scenarios.render.compared_headline import compared_headline
from scenarios.render.compared_runs import Run, read_runs
from scenarios.render.comparison import Comparison
from scenarios.render.differing import ABSENT, _differing
from scenarios.render.page import charts, several
from scenarios.render.page.several import against_words, comparison_page
from scenarios.render.ratios import ratio, replicas_needed
from scenarios.render.verdicts import epsilon_columns
from scenarios.results.base import as_json
from scenarios.results.tree import dumps, loads
from scenarios.results.views import ViewPrices
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from tests.scenarios.command import cli
from tests.scenarios.own_algorithm import MINE
from tests.scenarios.pair import TEXT
from tests.scenarios.render.page.test_report import Page

AUDIT = "algorithms__1__audit__"
ENDS = ("by_formula", "upper_bound_only")


def changed(run: Run, label: str, **parts) -> Run:
    """The same run under another name, with other fields at dotted paths."""
    results = json.loads(dumps(run.results))
    for path, value in parts.items():
        *where, last = path.split("__")
        node = results
        for key in where:
            node = node[int(key)] if key.isdigit() else node[key]
        node[last] = value
    return Run(run.folder, label, loads(as_json(results)), run.slugs)


def audited_with(where: str, value) -> dict[str, object]:
    """The field of an audit, and where it is stated of a claim, what was audited, too."""
    used = where.replace("stated_adjacency", "adjacency").replace("stated_change", "gradient_change")
    return {where: value, used: value}


class OwnRun(Run):
    """A run whose second algorithm has code of somebody's own."""

    @property
    def specs(self):
        return [one | {"path": "own.py:Noisy"} for one in super().specs]


def test_a_column_in_which_no_run_has_anything_is_left_out_with_its_meaning(pair):
    run = read_runs([str(pair[0])])[0]
    bare = {f"algorithms__{k}__{part}": None for k in (0, 1) for part in ("gradients", "audit")}
    subjects = Comparison([changed(run, "one", **bare), changed(run, "two", **bare)]).subjects
    found = several.run_table(subjects, brief=True)
    assert list(found) == ["Final error", "Most activations", "Messages", "Bytes sent", "Virtual time, s"]
    assert "Error of these" not in several.run_meanings(found)
    assert [one.head for one in epsilon_columns([one.entry for one in subjects])] == ["ε claimed"]
    text = comparison_page(Comparison([changed(run, "scale-0.1", **bare), changed(run, "scale-0.2", **bare)]))
    heads = dict(
        re.findall(r'aria-label="(Verdicts|Ratios with intervals)".*?<thead><tr>(.*?)</tr>', text, re.DOTALL)
    )
    assert re.sub("(<[^>]*>)+", "|", heads["Verdicts"]) == "|Algorithm|Verdict|ε claimed|δ|"
    assert (
        re.sub("(<[^>]*>)+", "|", heads["Ratios with intervals"])
        == "|Algorithm|Final relative error|Bytes sent|Virtual time|"
    )
    assert 'noisy · <b class="whole">scale-0.2</b><span>against noisy · <b class="whole">scale-0.1</b>' in text
    full = Comparison([run, changed(run, "other")]).subjects
    assert list(several.run_table(full))[1:4] == ["Replicas", "Gradients estimated", "Error of these"]
    assert several.run_meanings(several.run_table(full)).count("Error of these: ") == 1
    assert len(epsilon_columns([one.entry for one in full])) == 3


@pytest.mark.parametrize(
    ("median", "baseline", "guessed"),
    [(26.1, None, True), (1.0, 2.0, True), (0.5, 0.4, True), (0.5, None, False), (0.5, 0.6, False)],
)
def test_estimates_that_are_guesses_are_called_so_as_in_the_report(pair, median, baseline, guessed):
    (run,) = read_runs([str(pair[0])])
    parts = {"worst": 99.0, "median": median, "baseline": baseline}
    runs = [changed(run, "other", **{f"algorithms__1__gradients__{name}": one for name, one in parts.items()})]
    (one,) = [one for one in Comparison(runs).subjects if one.entry.name == "noisy"]
    assert sentences.gradients(one.entry.gradients, "eavesdropper")[0].startswith("No gradient learned") == guessed
    (cell,) = several.run_table([one])["Error of these"]
    assert cell.endswith(", no better than guessing") == guessed
    brief = several.run_table([one], brief=True)
    assert brief["Error of these"][0].endswith(" *") == guessed
    assert ("*: no better than guessing" in several.run_meanings(brief)) == guessed


def test_curves_have_a_colour_an_algorithm_and_a_dash_a_run_and_those_that_coincide_are_named(pair):
    (run,) = read_runs([str(pair[0])])
    both = Comparison([run, changed(run, "other")])
    looks = several._looks(both.subjects)
    assert [one.colour for one in looks[::2]] == [one.colour for one in looks[1::2]]
    assert [one.line["linestyle"] for one in looks[:2]] == [one.line["linestyle"] for one in looks[2:]]
    assert len({one.colour for one in looks}) == len({str(one.line["linestyle"]) for one in looks}) == 2
    alone = several._looks(Comparison([replace(one, slugs=("plain",)) for one in both.runs]).subjects)
    assert len({one.colour for one in alone}) == 2
    text = comparison_page(both)
    assert "Drawn one over the other for every algorithm: calm; other." in text
    assert "No run was finished" not in text
    one = {"algorithms__0__convergence__median": [0.5 + k for k in range(len(run.entries[0].convergence.median))]}
    text = comparison_page(Comparison([run, changed(run, "other", **one)]))
    assert "Drawn one over the other: noisy · calm; noisy · other." in text
    assert "Drawn one over the other" not in comparison_page(Comparison([run]))


def test_a_claim_grows_as_on_the_page_of_its_run(pair):
    (run,) = read_runs([str(pair[0])])
    noisy = run.entries[1]
    claimed = noisy.over_time.claimed
    assert charts._claimed(noisy, noisy.audit) == (tuple(claimed.count), tuple(claimed.epsilon))
    assert len({*claimed.epsilon}) > 1
    whole = replace(noisy, over_time=None)
    assert charts._claimed(whole, noisy.audit) == ((noisy.audit.activations,), (noisy.audit.epsilon_claimed,))
    assert "Fine dots: the claim of a run that ends there." in comparison_page(
        Comparison([run, changed(run, "other")])
    )


def test_a_claim_whose_audit_was_interrupted_has_its_delta(pair):
    (run,) = read_runs([str(pair[0])])
    parts = {"algorithms__1__audit": None, "algorithms__1__audit_status": "interrupted"}
    found = Comparison([run, changed(run, "other", **parts)])
    assert [cells[3] for cells in map(several._verdict_cells, found.subjects)] == [MISSING, MISSING, "0", "0"]
    assert found.result().algorithms[-1].delta == 0


def test_verdicts_are_counted_strongest_first():
    assert sentences.tally(["proven", "vacuous", "unprotected", "proven"]) == "1 unprotected, 1 vacuous, 2 proven"


def test_a_field_that_differs_is_the_only_one_told(pair):
    found = Comparison(read_runs([str(folder) for folder in pair])).differences
    assert [(d.field, d.values) for d in found] == [("algorithms[noisy].scale", (0.2, 1.0))]


def test_the_same_run_twice_differs_in_nothing_and_by_nothing(pair, tmp_path):
    shutil.copytree(pair[0], tmp_path / "again")
    comparison = Comparison(read_runs([str(pair[0]), str(tmp_path / "again")]))
    assert comparison.differences == []
    assert comparison.cautions == []
    assert comparison.certainty == []
    for one in comparison.against:
        assert all(
            r is not None and r.estimate == 1 and not r.told_apart for r in (one.final_error, one.gradient_error)
        )
        assert one.epsilon_exact in (None, "equal")


def test_five_times_the_noise_is_told_apart_by_pairs(pair):
    comparison = Comparison(read_runs([str(folder) for folder in pair]))
    noisy = next(one for one in comparison.against if one.other.startswith("noisy"))
    found = noisy.final_error
    assert found is not None
    assert found.paired
    assert found.told_apart
    assert 1 < found.low < found.estimate < found.high
    finals = [json.loads((f / "results.json").read_text())["algorithms"][1]["convergence"]["finals"] for f in pair]
    quotients = sorted(b / a for a, b in zip(*finals, strict=True))
    assert quotients[0] <= found.low
    assert found.estimate == pytest.approx((quotients[5] + quotients[6]) / 2)


def test_of_numbers_that_are_the_same_no_interval_is_explained(pair):
    run = read_runs([str(pair[0])])[0]
    text = comparison_page(Comparison([run, changed(run, "other")]))
    assert "the same in every replica" in text
    assert "order statistics" not in text
    assert "Exact ε: smaller" not in text
    assert ">Replicas</th>" not in text.partition("Ratios, with intervals")[2].partition("</table>")[0]
    assert "order statistics" in comparison_page(Comparison(read_runs([str(folder) for folder in pair])))


def test_replicas_of_another_seed_are_no_pairs(pair):
    runs = read_runs([str(folder) for folder in pair])
    other = changed(runs[1], "other", seed=6)
    found = Comparison([runs[0], other]).against[1].final_error
    assert found is not None
    assert not found.paired
    paired = Comparison(runs).against[1].final_error
    assert found.low < paired.low
    assert paired.high < found.high


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        ("problem__smoothness", 9.0, "Not the same objective"),
        ("problem__data", "another", "Not the same objective"),
        ("scenario__problem__ridge", 3.0, "Not the same objective (calm; other, by problem.ridge): errors are"),
        (f"{AUDIT}claim__delta", 0.01, "Not the same δ (0: noisy · calm; 0.01: noisy · other)"),
        (f"{AUDIT}claim__stated_adjacency", "any",
         "Not the same adjacency (one record of one agent replaced: noisy · calm; any: noisy · other): their "
         "epsilons bound different changes."),
        (f"{AUDIT}claim__norm", "ℓ7", "Not the same norm of the claim"),
        (f"{AUDIT}claim__stated_change", 77.0,
         "Not the same change of the gradient (∞ in ℓ2: noisy · calm; 77 in ℓ2: noisy · other): the more"),
        ("algorithms__1__measures__measure", "mean_error",
         "Not the same accuracy's measure (relative error: calm, plain · other; mean error: noisy · other)"),
        (f"{AUDIT}trials", 5, "Not the same number of transcripts of each world (80: noisy · calm; 5: noisy"),
        (f"{AUDIT}confidence", 0.9, "Not the same confidence of the audit (0.95: noisy · calm; 0.9"),
        (f"{AUDIT}activations", 3,
         "Not the same number of activations of the audited agent (8: noisy · calm; 3: noisy · other): ε can only"),
        (f"{AUDIT}loss_breakdown__agent", 3, "Not the same audited agent (1: noisy · calm; 3: noisy"),
        (f"{AUDIT}pair", "two records", "Not the same audited pair"),
        ("status", "interrupted",
         "other is interrupted: what it has not done is missing here. Continue it with `netsim run small.yaml --out"),
        ("status", "failed", "other is failed: what it has not done is missing here."),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_said(pair, where, value, said):
    run = read_runs([str(pair[0])])[0]
    comparison = Comparison([run, changed(run, "other", **audited_with(where, value))])
    assert any(line.startswith(said) for line in comparison.cautions), comparison.cautions
    if where.startswith(AUDIT):  # of another algorithm, which is not compared with it, it is no matter
        both = [json.loads(dumps(run.results))["algorithms"][1]["audit"], "done"]
        parts = dict(zip(("algorithms__0__audit", "algorithms__0__audit_status"), both, strict=True))
        first, second = changed(run, "calm", **parts), changed(run, "other", **parts)
        path = audited_with(where.replace("__1__", "__0__"), value)
        alike = Comparison([changed(first, "calm", **path), changed(second, "other", **path)])
        assert alike.cautions == []
    if "objective" in said:
        assert all(one.final_error is one.gradient_error is None for one in comparison.against)
        assert comparison.against[0].why["final_error"] == "not the same objective"


def test_an_algorithm_of_no_other_run_shares_the_axis_too(pair):
    run = read_runs([str(pair[0])])[0]
    alone = {"algorithms__1__slug": "stranger", "algorithms__1__name": "stranger", f"{AUDIT}claim__delta": 0.01}
    comparison = Comparison([run, changed(run, "again"), changed(run, "third", **alone)])
    said = (
        "Not the same δ (0: noisy · calm, noisy · again; 0.01: stranger · third): an ε at one δ is none at another."
    )
    assert said in comparison.cautions, comparison.cautions


def test_what_a_run_has_not_done_is_no_difference_of_scenarios(pair):
    run = read_runs([str(pair[0])])[0]
    begun = replace(run, label="other", results=replace(run.results, algorithms=run.results.algorithms[:1]))
    assert Comparison([run, begun]).differences == []


def test_algorithms_of_one_run_are_no_reason_for_caution(pair):
    run = read_runs([str(pair[0])])[0]
    noisy = run.results.algorithms[1]
    twin = replace(noisy, name="twin", slug="twin", audit=replace(noisy.audit, pair="another"))
    whole = replace(run, label="whole", results=replace(run.results, algorithms=(noisy, twin)))
    begun = replace(run, label="begun", results=replace(run.results, algorithms=(replace(noisy, audit=None),)))
    assert Comparison([whole, begun]).cautions == ["In no other run, so that nothing is set beside it: twin · whole."]


def test_a_pair_is_no_reason_for_caution_where_no_number_is_withheld(pair):
    run = read_runs([str(pair[0])])[0]
    noisy = run.results.algorithms[1]
    twin = replace(noisy, name="twin", slug="twin", audit=replace(noisy.audit, pair="another"))
    more = replace(noisy, audit=replace(noisy.audit, trials=5))

    def of(label, *algorithms):
        return replace(run, label=label, results=replace(run.results, algorithms=algorithms))

    trials, alone = Comparison([of("whole", noisy, twin), of("begun", more)]).cautions
    assert trials.startswith(
        "Not the same number of transcripts of each world (80: noisy · whole; 5: noisy · begun):"
    )
    assert alone.startswith("In no other run, so that nothing is set beside it: twin · whole.")
    (said,) = Comparison([of("one", noisy, twin), of("other", noisy, replace(twin, audit=noisy.audit))]).cautions
    pairs = f"another: twin · one; {compared._SEARCHED.sub('', noisy.audit.pair)}: twin · other"
    assert said == f"Not the same audited pair ({pairs}): an exact ε is that of its pair."
    ends = replace(noisy.audit.epsilon_exact, lower=math.inf, estimate=math.inf, upper=math.inf)
    endless = [
        replace(one, audit=replace(one.audit, epsilon_exact=ends)) for one in (noisy, replace(twin, slug="noisy"))
    ]
    assert Comparison([of("one", endless[0]), of("other", endless[1])]).cautions == []


def test_another_audited_agent_is_said_once_for_all_algorithms(pair):
    run = read_runs([str(pair[0])])[0]
    noisy = run.results.algorithms[1]
    both = replace(run, results=replace(run.results, algorithms=(noisy, replace(noisy, name="twin", slug="twin"))))
    agents = {f"algorithms__{k}__audit__loss_breakdown__agent": 3 for k in (0, 1)}
    (said,) = Comparison([both, changed(both, "other", **agents)]).cautions
    assert said.startswith("Not the same audited agent (1: calm; 3: other): each")


def test_audited_agents_that_were_not_active_as_often_are_said_wherever_their_epsilons_are(pair):
    run = read_runs([str(pair[0])])[0]
    ends = {"lower": 1e6, "estimate": 1e6, "upper": 1e6, "by_formula": False, "upper_bound_only": False}
    once = {f"{AUDIT}activations": 1, f"{AUDIT}epsilon_exact": ends}
    growth = json.loads(dumps(run.results))["algorithms"][1]["audit"]["growth"][:1]
    found = Comparison([run, changed(run, "other", **once, **{f"{AUDIT}growth": growth})])
    words = against_words(found.against[1])["epsilon_exact"]
    assert words == "larger, proven, but after 1 activation of the audited agent, not 8"
    assert several.run_table(found.subjects)["Audited agent's"] == [MISSING, MISSING, "8", "1"]
    text = comparison_page(found)
    assert "A single point at 1: the audited agent was active once (other)." in text
    drawn = re.search(r'data-figure="budget".*?</svg>', text, re.DOTALL)
    assert drawn is not None
    curve = re.search(
        rf'<g class="s s{len(found.subjects) - 1}">(?!<defs><path id="budget-m[^>]*z"/></defs>).*?</g>',
        drawn[0],
        re.DOTALL,
    )
    assert curve is not None
    assert "<use" in curve[0]
    alike = Comparison([run, changed(run, "other")])
    assert "Audited agent's" not in several.run_table(alike.subjects)
    assert "single point" not in comparison_page(alike)


def test_a_claim_over_time_is_drawn_as_no_run_is(pair):
    run = read_runs([str(pair[0])])[0]
    looks = several._looks(Comparison([changed(run, str(k)) for k in range(4)]).subjects)
    assert charts._CLAIM["linestyle"] not in [one.line["linestyle"] for one in looks]


def test_algorithms_that_are_in_no_other_run_are_not_listed_one_by_one(pair):
    run = read_runs([str(pair[0])])[0]
    many = tuple(replace(run.results.algorithms[0], name=f"own {k}", slug=f"own-{k}") for k in range(3))
    first = replace(run, label="first", results=replace(run.results, algorithms=many))
    alone = "In no other run, so that nothing is set beside it: all 3 of first."
    assert alone in Comparison([run, replace(run, label="again"), first]).cautions
    said = "None of the 5 algorithms is in two runs, so that nothing is set beside another."
    assert said in Comparison([run, first]).cautions


def test_the_first_run_that_has_an_algorithm_is_its_base(pair):
    run = read_runs([str(pair[0])])[0]
    names = {f"algorithms__{k}__{field}": f"other-{k}" for k in (0, 1) for field in ("slug", "name")}
    comparison = Comparison([changed(run, "first", **names), run, changed(run, "third")])
    assert [(one.base, one.other) for one in comparison.against] == [
        ("plain · calm", "plain · third"),
        ("noisy · calm", "noisy · third"),
    ]
    alone = "In no other run, so that nothing is set beside it: other-0 · first, other-1 · first."
    assert alone in comparison.cautions


def test_what_is_claimed_is_there_without_an_audit(pair):
    run = read_runs([str(pair[0])])[0]
    other = changed(run, "other", algorithms__1__audit=None, algorithms__1__audit_status="not requested")
    found = Comparison([run, other])
    first, last = [one.epsilon_claimed for one in found.result().algorithms if one.label.startswith("noisy")]
    assert first == last is not None
    cell = rf'noisy · other(?:(?!</tr>).)*ε claimed[^<]*">{re.escape(show_epsilon(last))}<'
    assert re.search(cell, comparison_page(found), re.DOTALL)


def test_epsilons_are_apart_at_what_both_audits_are_sure_of(pair):
    run = read_runs([str(pair[0])])[0]
    ends = {"lower": 1e6, "estimate": 1e6, "upper": "inf", "by_formula": False, "upper_bound_only": False}
    above = changed(run, "above", **{f"{AUDIT}epsilon_exact": ends, f"{AUDIT}confidence": 0.9})
    calm = changed(run, "calm", **{f"{AUDIT}epsilon_exact": ends | {"lower": 0.1, "estimate": 0.2, "upper": 0.3}})
    comparison = Comparison([calm, above])
    remark = comparison.against[1]
    assert (remark.epsilon_exact, remark.epsilon_exact_confidence) == ("above", 1.0)  # at δ = 0 ends take none
    assert against_words(remark)["epsilon_exact"] == "larger, proven"
    assert not any(line.startswith("Of exact ε") for line in comparison.certainty)
    sampled = Comparison([changed(one, one.label, **{f"{AUDIT}claim__delta": 1e-3}) for one in (calm, above)])
    assert sampled.against[1].epsilon_exact_confidence == pytest.approx(0.85)
    assert against_words(sampled.against[1])["epsilon_exact"] == "larger, proven at 85\u202f% (both audits)"
    assert any(line.startswith("Of exact ε: one audit is right at 90 % or 95 %, and") for line in sampled.certainty)
    back = Comparison([above, calm])
    assert back.against[1].epsilon_exact == "below"
    for field, value, why in (
        ("claim__delta", 0.01, "δ"),
        ("claim__stated_adjacency", "any", "adjacency"),
        ("claim__norm", "ℓ7", "norm of the claim"),
        ("claim__stated_change", 77.0, "change of the gradient"),
        ("loss_breakdown__agent", 3, "audited agent"),
        ("pair", "two records", "audited pair"),
    ):
        one = Comparison([calm, changed(above, "other", **audited_with(AUDIT + field, value))]).against[1]
        assert one.epsilon_exact is None
        assert one.why["epsilon_exact"] == f"not the same {why}"
        assert against_words(one)["epsilon_exact"] == f"– (not the same {why})"


@pytest.mark.parametrize("places", [(2.000000000000009, 2.000000000000014), (2.000000000000014, 2.000000000000009)])
def test_epsilons_that_differ_by_rounding_are_not_told_apart(pair, places):
    run = read_runs([str(pair[0])])[0]
    runs = [
        changed(run, label, **{f"{AUDIT}epsilon_exact": ends})
        for label, at in zip(("one", "other"), places, strict=True)
        for ends in [dict.fromkeys(("lower", "estimate", "upper"), at) | dict.fromkeys(ENDS, False)]
    ]
    found = Comparison(runs).against[1]
    assert (found.epsilon_exact, found.epsilon_exact_confidence) == ("equal", 1.0)
    assert against_words(found)["epsilon_exact"] == "the same"


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ((2.0, math.inf), (2.5, math.inf), "no proven difference"),
        ((math.inf, math.inf), (math.inf, math.inf), "both are infinite"),
        ((2.0, math.inf), (math.inf, math.inf), "no proven difference"),
        ((2.0, 3.0), (math.inf, math.inf), "larger, proven"),
        ((2.0, 3.0), (2.0, 3.0), "the same"),
        ((2.0, 3.0), (2.0, 3.1), "no proven difference"),
        ((3.0, 3.0), (3.0, 3.0), "the same"),
    ],
)
def test_what_is_said_of_two_exact_epsilons(pair, first, second, words):
    run = read_runs([str(pair[0])])[0]
    runs = [
        changed(run, label, **{f"{AUDIT}epsilon_exact": ends | dict.fromkeys(ENDS, False)})
        for label, (low, high) in (("one", first), ("other", second))
        for ends in [{"lower": str(low), "estimate": str(low), "upper": str(high)}]
    ]
    assert against_words(Comparison(runs).against[1])["epsilon_exact"] == words
    elsewhere = [runs[0], changed(runs[1], "other", **{f"{AUDIT}pair": "two records"})]
    there = against_words(Comparison(elsewhere).against[1])["epsilon_exact"]
    assert there == (words if words == "both are infinite" else "– (not the same audited pair)")


def test_how_many_pairs_were_searched_makes_no_other_pair(pair):
    run = read_runs([str(pair[0])])[0]
    runs = [
        changed(run, f"of {count}", **{f"{AUDIT}pair": f"labels flipped (the worst of {count} searched); any change"})
        for count in ("31", "1,037")
    ]
    comparison = Comparison(runs)
    assert comparison.cautions == []
    assert "epsilon_exact" not in comparison.against[1].why


def test_a_wider_pair_is_no_other_adjacency(pair):
    run = read_runs([str(pair[0])])[0]
    wider = json.loads(dumps(run.results))["algorithms"][1]["audit"]["claim"]
    assert wider["adjacency"].startswith("any data in place of ")
    assert wider["gradient_change"] == "inf"
    stated = {"adjacency": wider["stated_adjacency"], "gradient_change": wider["stated_change"]}
    none = {"stated_adjacency": None, "stated_change": None}
    plain = changed(run, "calm", **{f"{AUDIT}claim": wider | stated | none})
    for of, cautions in (({}, 1), (none, 2)):  # without: the claim is of this adjacency itself
        parts = {f"{AUDIT}claim": wider | of, f"{AUDIT}pair": "two others"}
        comparison = Comparison([plain, changed(run, "other", **parts)])
        assert len(comparison.cautions) == cautions, comparison.cautions
        assert comparison.cautions[-1].startswith("Not the same audited pair")
    assert comparison.result().algorithms[-1].adjacency == wider["adjacency"]


def test_claims_stated_in_two_ways_and_audited_in_one_are_compared(pair):
    run = read_runs([str(pair[0])])[0]
    stated = {f"{AUDIT}claim__stated_adjacency": "one record replaced", f"{AUDIT}claim__stated_change": 0.5}
    found = Comparison([run, changed(run, "other", **stated)])
    assert found.cautions == []
    assert "epsilon_exact" not in found.against[1].why


def test_another_seed_is_another_split_of_the_same_data(pair):
    run = read_runs([str(pair[0])])[0]
    parts = {"problem__smoothness": 9.0, "seed": 6, "scenario__seed": 6}
    found = Comparison([run, changed(run, "same"), changed(run, "other", **parts)])
    (said,) = found.cautions
    assert said.startswith("Not the same split of the data (calm, same; other): the seed draws which agent holds")
    assert "one seed, and more <code>replicas</code>," in comparison_page(found)
    ratios = {one.other: one.final_error for one in found.against}
    assert not ratios["noisy · other"].paired
    assert ratios["noisy · same"].same
    assert against_words(found.against[2])["final_error"] == "the same in every replica"
    (said,) = Comparison(
        [run, changed(run, "other", **(parts | {"problem__agents": 7, "problem__kind": "svm"}))]
    ).cautions
    facts = "calm: logistic, 5 agents; other: svm, 7 agents"
    assert said == f"Not the same objective ({facts}): errors are relative to different optima."


def test_audits_again_and_other_code_are_said(pair, tmp_path):
    other = dict.fromkeys(("trials", "verdict", "reason", "refused", "epsilon_exact", "epsilon_audited"))
    other |= dict.fromkeys(("first_violation", "joint_confidence", "options", "witness")) | {
        "draw": 0,
        "confidence": 1,
    }
    earlier = {"algorithms__1__audit__earlier": [other], "algorithms__1__audit__joint_confidence": 0.9}
    run = read_runs([str(pair[0])])[0]
    said = Comparison([run, changed(run, "again", **earlier)]).cautions
    words = "was audited 1 time before: its numbers are of the last audit, and all its audits hold together at 90 %."
    assert said == [f"noisy · again {words}"]
    results = read_runs([str(pair[0])])[0].results
    runs = [
        OwnRun(tmp_path, name, results, resolved={"noisy": {"sha256": code}})
        for name, code in (("one", "a" * 64), ("two", "b" * 64))
    ]
    remark = "Not the same code of own.py:Noisy (aaaaaaaa: noisy · one; bbbbbbbb: noisy · two)"
    assert [line.startswith(remark) for line in Comparison(runs).cautions] == [True]
    same = OwnRun(runs[1].folder, "two", runs[1].results, resolved=runs[0].resolved)
    assert Comparison([runs[0], same]).cautions == []


def test_errors_that_are_no_numbers_have_no_ratio(pair):
    run = read_runs([str(pair[0])])[0]
    other = changed(run, "other", algorithms__1__convergence__finals=["inf"] * 12)
    older = changed(run, "older", algorithms__0__convergence__finals=[])
    found = {one.other: one.why for one in Comparison([run, other, older]).against}
    assert found["noisy · other"]["final_error"] == "an error is no number"
    assert found["plain · older"]["final_error"] == "nothing was run of plain · older"
    bare = changed(run, "bare", **{f"algorithms__{k}__gradients": None for k in (0, 1)})
    for runs, words in (
        ([bare, run], "nothing was estimated of noisy · bare"),
        ([run, bare], "nothing was estimated of noisy · bare"),
        ([bare, replace(bare, label="again")], "nothing was estimated"),
    ):
        assert Comparison(runs).against[1].why["gradient_error"] == words


def test_from_where_a_claim_is_refuted_stands_in_the_table_of_verdicts(pair, tmp_path, monkeypatch):
    lower, claimed = ((math.nan, 0.7), (0.1, math.nan)), ((math.nan, 0.009), (0.2, math.nan))
    pairs = ViewPrices.PairPrices(
        lower=lower, upper=lower, hops=((0, 1), (1, 0)), claimed=claimed, verdict="refuted", refuted=((0, 1),),
        witness=None,
    )  # fmt: skip
    prices = ViewPrices(
        agent=0, pair="one", delta=1e-5, adjacency="any", gradient_change=1.0, conditions=(), unbounded=None,
        views=(), coalition=None, pairs=pairs,
    )  # fmt: skip
    folder = shutil.copytree(pair[0], tmp_path / "run")
    (run,) = read_runs([str(folder)])
    noisy = replace(run.results.algorithms[1], prices=prices)
    (folder / "results.json").write_text(dumps(replace(run.results, algorithms=(run.results.algorithms[0], noisy))))
    monkeypatch.chdir(tmp_path)
    said = " ".join(cli("compare", str(folder), ends=0).stdout.split())
    assert " noisy: refuted for 1 pair of agents: agent 1 learns ε = 0.7" in said
    assert (
        '<th scope="row">noisy<span>refuted for 1 pair of agents</span></th><td class="text short" data'
        in Path("comparison.html").read_text()
    )


def test_closed_sections_say_what_is_in_them(pair):
    run = read_runs([str(pair[0])])[0]
    text = comparison_page(Comparison([run, changed(run, "other", seed=6)]))
    closed = dict(re.findall(r'<h2 id="(\w+)-title">[^<]*</h2><span>([^<]+)</span></summary>', text))
    assert closed.keys() == {"curves", "progress", "repeat"}
    assert closed["curves"].startswith("plain · calm: final relative error ")
    assert closed["repeat"] == "seeds 5, 6"


@pytest.mark.parametrize("paired", [True, False])
def test_too_few_replicas_for_an_interval_say_how_many_it_takes(paired):
    few = ratio([1.0, 2.0], [1.0, 2.0], paired=paired, confidence=0.95)
    least = replicas_needed(few)
    known = [ratio([1.0] * n, [2.0] * n, paired=paired, confidence=0.95).low for n in (least - 1, least)]
    assert math.isnan(few.low)
    assert [math.isnan(low) for low in known] == [True, False]


@pytest.mark.parametrize(
    ("first", "second", "noise", "words", "needed"),
    [
        ([2.0], [2.5], (False, False), "1.25 × (no noise in it)", ""),
        ([2.0], [2.0], (False, False), "the same", ""),
        ([2.0], [2.0002], (False, False), "1.0001 × (no noise in it)", ""),
        ([2.0], [2.0 + 1e-9], (False, False), "the same to 6 digits", ""),
        ([2.0], [1e-16], (False, False), "– (that of two is 0 but for rounding)", ""),
        ([0.0], [2.0], (False, False), "– (that of one is 0 but for rounding)", ""),
        ([2.0], [9.69e-11], (False, False), "4.84 × 10⁻¹¹ × (no noise in it)", ""),
        ([1e-16] * 12, [3e-14] * 12, (True, True), "– (both are 0 but for rounding)", ""),
        ([2e-16], [2e-16], (False, False), "the same", ""),
        ([2.0], [4.0] * 12, (False, True), "2 × [2, 2]", ""),
        ([4.0] * 12, [2.0], (True, False), "0.5 × [0.5, 0.5]", ""),
        ([2.0], [2.5], (True, True), "1.25 × (too few replicas)", "An interval takes 7 replicas of each."),
        ([2.0], [2.5, 3.0], (False, True), "1.38 × (too few replicas)", "An interval takes 8 replicas of each."),
    ],
)
def test_a_number_without_noise_is_its_own_interval(pair, first, second, noise, words, needed):
    run = replace(read_runs([str(pair[0])])[0], slugs=("noisy",))
    runs = [
        changed(run, label, algorithms__1__convergence__finals=finals, algorithms__1__noise=noisy)
        for label, finals, noisy in zip(("one", "two"), (first, second), noise, strict=True)
    ]
    comparison = Comparison(runs)
    assert against_words(comparison.against[0])["final_error"] == words
    assert comparison.replicas_needed == needed
    bold = several._against(comparison, comparison.against[0], {})["cells"][0][1]
    assert bool(bold) == (words[0].isdigit() and "few" not in words)


@pytest.mark.parametrize(("seed", "bold"), [(5, True), (6, False)])
def test_nothing_is_bold_between_two_splits_of_the_data(pair, seed, bold):
    run = replace(read_runs([str(pair[0])])[0], slugs=("noisy",))
    parts = {"algorithms__1__convergence__finals": [9.0 + k for k in range(12)], "seed": seed}
    parts |= {"problem__smoothness": 9.0} if seed == 6 else {}
    comparison = Comparison([changed(run, "one"), changed(run, "other", **parts)])
    assert comparison.against[0].final_error.told_apart
    text = comparison_page(comparison)
    assert ("and is in bold" in text) == ("×" in "".join(re.findall(r"<td[^>]*><b>([^<]*)", text))) == bold


def test_one_number_of_each_split_is_called_so(pair):
    run = replace(read_runs([str(pair[0])])[0], slugs=("plain",))
    parts = {"algorithms__0__convergence__finals": [9.0], "seed": 6, "problem__smoothness": 9.0}
    one = changed(run, "one", algorithms__0__convergence__finals=[6.0])
    comparison = Comparison([one, changed(run, "other", **parts)])
    assert ">– (one replica, and two splits of the data)<" in comparison_page(comparison)
    assert comparison.against[0].final_error is None
    said = "The seeds split the data in other ways, and errors differ by that, too. 1 final error has one "
    said += "replica, too few to tell."
    assert said in compared_headline(comparison)


def test_the_top_says_how_many_errors_differ_between_splits_and_for_how_many_lengths(pair):
    (run,) = read_runs([str(pair[0])])
    parts = {"seed": 6, "problem__smoothness": 9.0}
    with_length = {"algorithms__0__convergence__count": list(range(27, 67))}
    said = "The seeds split the data in other ways, and errors differ by that, too. 0 of 1 final error differ beyond"
    assert said in (plain := compared_headline(Comparison([run, changed(run, "other", **parts)])))
    assert "length" not in plain
    comparison = Comparison([run, changed(run, "other", **parts, **with_length)])
    assert "1 of 2 algorithms ran for another length (40 activations against 66 activations)." in compared_headline(
        comparison
    )
    said = "Not the same length (40 activations: plain · calm; 66 activations: plain · other): errors that fall or"
    assert any(line.startswith(said) for line in comparison.cautions)


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        ((1.02, 1.02), ""), ((1.24, 1.25), "In other bytes sent are up 24 to 25 %."),
        ((1.24, 1.0), "In other bytes sent are up 24 % for 1 of 2 algorithms."),
        ((0.9, 0.9), "In other bytes sent are down 10 %."),
        ((0.9, 1.5), "In other bytes sent are between 10 % down and 50 % up."),
        ((1.5, 4.0), "In other bytes sent are 1.5 to 4 × as before."),
    ],
)  # fmt: skip
def test_costs_that_differ_are_in_the_finding_and_in_the_tables(pair, tmp_path, factors, said):
    (run,) = read_runs([str(pair[0])])
    folders = []
    for label, each in (("calm", (1.0, 1.0)), ("other", factors)):
        spent = {
            f"algorithms__{k}__measures__costs__bytes": [round(100_000 * one)] * len(entry.measures.costs.bytes)
            for k, (entry, one) in enumerate(zip(run.entries, each, strict=True))
        }
        folders.append(shutil.copytree(pair[0], tmp_path / label))
        (folders[-1] / "results.json").write_text(dumps(changed(run, label, **spent).results))
    comparison = Comparison(read_runs(list(map(str, folders))))
    found = compared_headline(comparison)
    assert re.findall(r"In other.*", found) == [said] * bool(said)
    assert comparison.costs == [pytest.approx({"bytes": one, "time": 1.0}) for one in factors]
    shown = " ".join(cli("compare", *map(str, folders), "--out", str(tmp_path / "c.html"), ends=0).stdout.split())
    assert "virtual time: the same" in shown
    assert f"bytes sent: {factors[1]:g} ×" in shown or factors[1] == 1
    assert "virtual time, s" in shown
    assert ("2 × means twice" in shown) == (factors != (1.0, 1.0))
    text = (tmp_path / "c.html").read_text()
    assert f'data-head="Bytes sent">{"the same" if factors[1] == 1 else f"{factors[1]:g} ×"}<' in text
    in_the_open = text.partition('id="curves"')[0]
    assert "How they end, and what they cost" in in_the_open
    assert "How they end" not in text.partition('id="curves"')[2]


def test_two_guesses_have_no_ratio(pair):
    run = replace(read_runs([str(pair[0])])[0], slugs=("noisy",))

    def guess(label, median):
        scores = {"median": median, "baseline": 0.2, "by_replica": [median + k / 100 for k in range(12)]}
        return changed(run, label, **{f"algorithms__1__gradients__{name}": one for name, one in scores.items()})

    why = [Comparison([guess("one", 20.0), guess("other", at)]).against[0].why for at in (26.0, 0.1)]
    assert [one.get("gradient_error") for one in why] == ["those of both are no better than guessing", None]
    same = Comparison([guess("one", 20.0), guess("other", 20.0)]).against[0]
    assert against_words(same)["gradient_error"] == "the same in every replica"


def test_how_many_replicas_intervals_take_is_said_once(pair):
    (run,) = read_runs([str(pair[0])])
    calm, few = (
        {f"algorithms__{k}__convergence__finals": [one, 2 * one, 3 * one] for k in (0, 1)} for one in (1.0, 2.0)
    )
    comparison = Comparison([changed(run, "calm", **calm), changed(run, "few", **few)])
    assert comparison.replicas_needed == "An interval takes 8 replicas of each."
    assert [against_words(one)["final_error"] for one in comparison.against] == ["2 × (too few replicas)"] * 2
    assert comparison_page(comparison).count("An interval takes") == 1


def test_algorithms_of_one_folder_and_one_of_each(pair):
    alone = read_runs([f"{pair[0]}:plain", f"{pair[1]}:noisy"])
    comparison = Comparison(alone)
    assert [one.label for one in comparison.subjects] == ["plain · calm", "noisy · loud"]
    fields = {d.field: d.values for d in comparison.differences}
    assert fields["algorithm.kind"] == ("recal", "private_gradient_descent")
    assert fields["algorithm.activations"][1] is ABSENT
    assert fields["algorithm.scale"] == (ABSENT, 1.0)
    assert "of algorithms of two kinds" in comparison_page(comparison)
    assert not fields.keys() & {"algorithm.per_agent", "algorithm.batch", "algorithm.noise"}  # at their defaults
    within = Comparison(read_runs([f"{pair[0]}:plain", f"{pair[0]}:noisy"]))
    assert len(within.runs) == 1
    assert [(one.base, one.other) for one in within.against] == [("plain", "noisy")]
    assert {d.field: d.values for d in within.differences} == {  # but for the names, as from two folders
        field: values if field != "algorithm.scale" else (ABSENT, 0.2)
        for field, values in fields.items()
        if field != "algorithm.name"
    }
    page = comparison_page(within)
    assert re.search(r'Field</th><th scope="col">plain</th><th scope="col">noisy</th>', page)
    assert "Every field of the algorithms that" in page


def without_audit(*places: int) -> dict[str, object]:
    parts = {"audit": None, "audit_status": "not requested"}
    return {f"algorithms__{k}__{name}": value for k in places for name, value in parts.items()}


OTHER_NAMES = {f"algorithms__{k}__{field}": f"own-{k}" for k in (0, 1) for field in ("slug", "name")}


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({}, "The runs are the same in every field and every number. Verdicts: 1 proven, 1 no claim."),
        ({"seed": 6, "scenario__seed": 6}, "The verdict is the same in both runs: proven."),
        ({f"{AUDIT}verdict": "consistent"},
         "No field differs, and yet some numbers do. noisy is proven in calm and consistent in other."),
        (without_audit(0, 1) | {"scenario__audit": None}, "other was not audited."),
        ({"status": "interrupted", "algorithms__1__audit": None, "algorithms__1__audit_status": "not reached"},
         "other is interrupted: 1 of its 2 algorithms is not done (noisy)."),
        ({f"{AUDIT}verdict": "consistent", f"{AUDIT}activations": 3},
         "consistent in other (the audited agent was active 8 times in calm and 3 times in other)."),
        ({"algorithms__1__convergence__finals": [900.0 + k for k in range(12)]} | without_audit(0),
         "1 of 2 final errors differs beyond noise."),
        (OTHER_NAMES, "The runs have no algorithm in common."),
        (OTHER_NAMES | {"problem__data": "another"},
         "The runs solve different problems: their errors are not comparable. calm: the audited privacy claim holds"),
    ],
)  # fmt: skip
def test_the_first_sentence_says_what_came_of_it(pair, tmp_path, parts, said):
    run = read_runs([str(pair[0])])[0]
    assert [sentences.word(one) for one in run.entries] == ["no claim", "proven"]
    comparison = Comparison([run, replace(changed(run, "other", **parts), resolved=run.resolved)])
    found = compared_headline(comparison)
    assert said in found
    assert f'<p class="headline">{found}</p>' in comparison_page(comparison).replace("\u202f", " ")


def test_the_first_sentence_of_three_runs_names_those_that_it_is_of(pair):
    run = read_runs([str(pair[0])])[0]
    third = changed(run, "third", scenario__audit=None, **without_audit(0, 1))
    found = compared_headline(Comparison([run, changed(run, "other", scenario__seed=6), third]))
    assert found == (
        "The verdict is the same in calm and other: proven. third was not audited. No final error differs."
    )
    found = compared_headline(Comparison([run, third]))
    assert found == ("calm: the audited privacy claim holds: proven. third was not audited. No final error differs.")
    errors = {"algorithms__1__convergence__finals": [9.0 + k for k in range(12)]}
    other = changed(run, "other", seed=6, scenario__seed=6, problem__smoothness=9.0, **errors)
    assert "by that, too. 1 of 1 final error differs beyond noise; 1 more" in compared_headline(
        Comparison([run, other, third])
    )
    own = {"algorithms__1__slug": "own", "algorithms__1__name": "own"} | without_audit(0)
    found = compared_headline(Comparison([run, changed(run, "other", **errors), changed(run, "third", **own)]))
    assert "Audited in one run alone: own · third (proven). plain · third was not audited." in found
    assert found.endswith("1 of 3 final errors differs beyond noise.")
    found = compared_headline(Comparison([run, changed(run, "third", **own)]))
    assert found.endswith("No final error of the 1 in both runs differs.")


def test_a_page_stands_for_its_folder_and_the_document_has_the_finding(pair, tmp_path):
    folders = [Path(shutil.copytree(one, tmp_path / one.name)) for one in pair]
    (folders[0] / "report.html").touch()
    found = json.loads(cli("compare", folders[0] / "report.html", folders[1], "--json", ends=0).stdout)
    assert found["headline"] == compared_headline(Comparison(read_runs([str(folder) for folder in pair])))
    assert found["against"][1]["audited_activations"] == [8, 8]


def test_one_final_error_has_its_size_at_the_top(pair):
    run = replace(read_runs([str(pair[0])])[0], slugs=("noisy",))
    finals = [{"algorithms__1__convergence__finals": [at * (50 + k) for k in range(12)]} for at in (1.0, 3.0)]
    found = compared_headline(Comparison([changed(run, "one", **finals[0]), changed(run, "two", **finals[1])]))
    assert "The final error of two is 3 × that of one, beyond noise." in found


def test_a_row_of_a_comparison_has_one_number_of_digits(pair):
    (run,) = read_runs([str(pair[1])])
    one = Comparison([run]).subjects[-1]
    interval = replace(one.entry.audit.epsilon_exact, lower=1.23456, upper=1.23456)
    audit = replace(one.entry.audit, epsilon_claimed=0.123456, epsilon_exact=interval, epsilon_audited=1.23456)
    cells = several._verdict_cells(replace(one, entry=replace(one.entry, audit=audit)))
    assert cells[:3] == ["0.1235", "1.235", "≥ 1.235"]


def test_variants_of_a_study_are_runs(study):
    comparison = Comparison(read_runs([str(study)]))
    assert len(comparison.runs) == 2
    assert [d.field for d in comparison.differences] == ["topology.agents", "algorithms[plain].step (computed)"]
    assert any("objective" in line for line in comparison.cautions)


@pytest.mark.parametrize(
    ("places", "said"),
    [
        (["nowhere"], "no such folder"), (["{calm}"], None),
        (["{calm}:plain"], "one algorithm of one run has nothing beside it"),
        (["{calm}:other", "{loud}"], "no such algorithm there; allowed: plain, noisy"),
        (["{calm}", "{calm}"], "calm: named twice; a run, or an algorithm of it, is compared once$"),
        (["{calm}", "{loud}", "{calm}:plain"], "plain: the same as .*calm, or a part of it; a run"),
        (["{calm}:plain", "{calm}:noisy", "{calm}/../calm:plain"], "the same as .*calm:plain, or a part of it"),
        (["{page}", "{loud}"], "page.html' *: is a page; give its folder; allowed"),
        (["{broken}", "{loud}"], "not JSON"), (["{foreign}", "{loud}"], "results.json"),
    ],
)  # fmt: skip
def test_places_that_cannot_be_read_are_named(pair, tmp_path, places, said):
    for name, text in (("broken", "{"), ("foreign", "{}")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_text(text)
    (tmp_path / "page.html").touch()
    where = {
        "page": tmp_path / "page.html",
        "calm": pair[0],
        "loud": pair[1],
        "broken": tmp_path / "broken",
        "foreign": tmp_path / "foreign",
    }
    asked = [place.format(**where) for place in places]
    if said is None:
        assert len(read_runs(asked)) == 1
        return
    with pytest.raises(ScenarioError, match=said):
        read_runs(asked)


@pytest.mark.slow
def test_the_page_is_whole_and_the_same_each_time(pair):
    comparison = Comparison(read_runs([str(folder) for folder in pair]))
    text = comparison_page(comparison)
    assert text == comparison_page(Comparison(read_runs([str(folder) for folder in pair])))
    assert f"Written by netsim-lab {comparison.runs[0].results.versions['netsim-lab']}." in text
    read = Page(text)
    assert len(read.ids) == len(set(read.ids))
    assert set(read.references) <= set(read.ids)
    assert read.unlabelled == []
    assert "script" not in read.tags
    assert {"verdicts", "epsilons", "differences", "sure", "curves", "repeat"} <= set(read.ids)
    for words in ("algorithms[noisy].scale", "paired, replica by replica", "netsim run small.yaml"):
        assert words in read.text
    assert len(text) < 500_000


@pytest.mark.slow
def test_names_are_escaped(pair):
    run = read_runs([str(pair[0])])[0]
    text = comparison_page(
        Comparison([run, changed(run, "<b>x</b>", algorithms__0__name="<script>alert(1)</script>")])
    )
    assert "<script" not in text
    assert "<b>x</b>" not in text


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_names_and_verdicts_stay_together_and_no_two_lines_are_blank(pair, tmp_path, monkeypatch, columns):
    monkeypatch.chdir(tmp_path)
    places = [str(shutil.copytree(one, tmp_path / one.name)) for one in pair]
    places.append(str(shutil.copytree(pair[0], tmp_path / "calm-with-a-longer-name")))
    said = cli("compare", *places, ends=0, env={"COLUMNS": str(columns)}).stdout
    assert "\n\n\n" not in re.sub(" +\n", "\n", said)
    lines = said.splitlines()
    assert max(map(len, lines)) <= columns
    if columns >= 80:
        assert [line.split() for line in lines if " verdict  " in line] == [
            ["algorithm", "verdict", "ε", "claimed", "ε", "exact", "ε", "audited"]
        ]
        assert len([line for line in lines if " noisy " in line and " · " in line and "≥" in line]) == 3
    assert "δ = 0." in said


@pytest.mark.slow
def test_the_command_writes_a_page_and_prints_tables_or_json(pair, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    places = [str(folder) for folder in pair]
    cli("compare", *places, ends=0, output="algorithms[noisy].scale")
    assert Path("comparison.html").exists()
    narrow = cli("compare", *places, ends=0, env={"COLUMNS": "40"}).stdout.splitlines()
    assert len([line for line in narrow if line.startswith("    verdict: ")]) == 4  # a list for each, no table
    assert not [line for line in narrow if line.split() == ["algorithm", "verdict"]]
    asked = cli("compare", *places, "--json")
    found = json.loads(asked.stdout)
    assert set(found) == {"headline", "runs", "cautions", "differences", "algorithms", "confidence", "against"}
    assert found["differences"] == [{"field": "algorithms[noisy].scale", "values": [0.2, 1.0]}]
    assert [one["slug"] for one in found["algorithms"]] == ["plain", "plain", "noisy", "noisy"]
    assert found["against"][1]["final_error"]["paired"]
    Path("comparison.html").unlink()
    cli("compare", *places, "--json")
    assert not Path("comparison.html").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["nowhere"], ["{calm}", "{loud}", "--out", "x.txt"], ["{calm}", "{loud}", "--out", "no/x.html"],
        ["{calm}", "{loud}", "--out", "/proc/x.html"],
    ],
)  # fmt: skip
def test_wrong_input_is_two(pair, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    asked = [one.format(calm=pair[0], loud=pair[1]) for one in arguments]
    cli("compare", *asked, ends=2)


def test_ratios_are_none_or_numbers(pair):
    for one in Comparison(read_runs([str(folder) for folder in pair])).result().against:
        for name in ("final_error", "gradient_error"):
            found = getattr(one, name)
            assert (found is None) == (name in one.why)
            assert found is None or math.isfinite(found.estimate)


def own_run(folder, default, name="mine.py"):
    """An own algorithm whose noise is a default of its class, no field of the scenario."""
    code = folder / name
    folder.mkdir()
    code.write_text(MINE.replace("Constant(0.5)", f"Constant({default})"))
    text = (
        TEXT.partition("algorithms:")[0]
        + f"""\
algorithms:
  - {{kind: python, name: mine, path: "{code}:TwoExchanges", parameters: {{rounds: 3}}}}
attacks: {{images: false}}
"""
    )
    run_scenario(parse(text, "own.yaml"), folder / "out", page=False)
    return folder / "out"


@pytest.mark.slow
def test_what_an_own_class_sets_and_its_code_are_compared(tmp_path):
    quiet, loud = own_run(tmp_path / "a", 0.5), own_run(tmp_path / "b", 2.0)
    comparison = Comparison(read_runs([f"{quiet}", f"{loud}"]))
    found = {one.field: one.values for one in comparison.differences}
    assert found["algorithm.parameters.scale.value"] == (0.5, 2.0)
    assert len(set(found["algorithm.code (SHA-256)"])) == 2
    assert comparison.unrecorded == []
    (loud / "manifest.json").unlink()
    comparison = Comparison(read_runs([f"{quiet}", f"{loud}"]))
    assert [one.partition(" · ")[0] for one in comparison.unrecorded] == ["mine"]
    assert "nothing else differs" not in comparison_page(comparison)


def test_an_algorithm_that_a_run_has_not_is_one_row(pair):
    runs = read_runs([str(pair[0]), f"{pair[1]}:plain"])
    found = [(one.field, one.values) for one in Comparison(runs).differences]
    assert found == [("algorithms[noisy]", ("private_gradient_descent", ABSENT))]
    three = Comparison([*runs, changed(runs[0], "third", scenario__algorithms__1__scale=3.0)]).differences
    assert [(one.field, one.values) for one in three] == [
        ("algorithms[noisy].scale", (0.2, ABSENT, 3.0)),
        ("algorithms[noisy]", ("private_gradient_descent", ABSENT, "private_gradient_descent")),
    ]


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ({"claim": None}, {"claim": {"epsilon": 1, "delta": 0}}, {"claim": (None, {"epsilon": 1, "delta": 0})}),
        (
            {"seed": 1},
            {"seed": 1, "claim": {"epsilon": 1, "delta": 0}},
            {"claim": (ABSENT, {"epsilon": 1, "delta": 0})},
        ),
        ({"claim": {"epsilon": 1, "delta": 0}}, {"claim": {"epsilon": 2, "delta": 0}}, {"claim.epsilon": (1, 2)}),
        ({"a": [{"name": "x", "b": 1}]}, {"a": [{"name": "x", "b": True}]}, {"a[x].b": (1, True)}),
        ({"a": [1, 2]}, {"a": [1, 3]}, {"a": ([1, 2], [1, 3])}),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 1}}}, {}),
    ],
)
def test_a_mapping_that_one_side_lacks_is_one_row(first, second, found):
    assert {one.field: one.values for one in _differing("", [first, second])} == found


def test_a_mapping_that_one_side_lacks_is_without_defaults_and_a_group_is_no_difference(pair):
    run = read_runs([str(pair[0])])[0]
    other = changed(run, "other", scenario__audit=None, scenario__group="others")
    found = Comparison([run, other]).differences
    assert [(one.field, one.values) for one in found] == [("audit", ({"agent": 1, "trials": 80, "chunk": 80}, None))]
    found = Comparison([run, changed(run, "other", scenario__audit__search=None)]).differences
    assert [(one.field, one.values) for one in found] == [
        ("audit.search", ({"candidates": 24, "transcripts": 8}, None))
    ]


def test_mappings_of_two_kinds_are_one_value_and_many_fields_are_closed(pair):
    run = read_runs([str(pair[0])])[0]
    other = changed(run, "other", scenario__problem__data={"name": "digits"}, scenario__topology__kind="complete")
    comparison = Comparison([run, other])
    synthetic = {"name": "synthetic", "kind": "classification", "records": 40, "dimension": 3}
    assert {one.field: one.values for one in comparison.differences} == {
        "problem.data": (synthetic, {"name": "digits"}),
        "topology.kind": ("ring", "complete"),
    }
    assert "2 fields</summary>" not in comparison_page(comparison)
    many = {f"scenario__audit__{name}": 70 + k for k, name in enumerate(("agent", "trials", "chunk", "draw"))}
    many |= {f"scenario__attacks__{name}": True for name in ("images", "traffic")}
    many |= {f"scenario__outputs__{name}": False for name in ("metrics", "tables")}
    many |= {"scenario__problem__ridge": 3.0, "scenario__problem__l1": 1.0, "scenario__links__loss": 0.5}
    many |= {"scenario__seed": 4, "scenario__replicas": 4}
    assert "13 fields</summary>" in comparison_page(Comparison([run, changed(run, "other", **many)]))


@pytest.mark.slow
def test_what_was_asked_stands_before_what_came_of_it(pair, tmp_path):
    places = [str(folder) for folder in pair]
    text = comparison_page(Comparison(read_runs([*places, str(shutil.copytree(pair[0], tmp_path / "again"))])))
    places += ["--out", str(tmp_path / "c.html")]
    for shown, order in (
        (text, ('id="differences"', 'id="verdicts"', 'id="sure"', 'id="repeat"')),
        (
            cli("compare", *places, ends=0).stdout,
            ("algorithms[noisy].scale", " verdict  ", "loud against noisy · calm"),
        ),
    ):
        at = [shown.find(one) for one in order]
        assert -1 not in at
        assert at == sorted(at)


def test_the_same_class_by_its_file_alone_is_no_difference(tmp_path):
    one, two = own_run(tmp_path / "a", 0.5), tmp_path / "b"
    shutil.copytree(one, two)
    text = (two / "results.json").read_text()
    (two / "results.json").write_text(text.replace("mine.py:TwoExchanges", "mine.py"))
    assert text != (two / "results.json").read_text()
    assert Comparison(read_runs([str(one), str(two)])).differences == []


@pytest.mark.parametrize(
    ("facts", "error", "words"),
    [
        ({"smoothness": 1.0, "strong_convexity": 1.0}, 1e-12, "5 × 10⁻¹³ ×"),
        ({"smoothness": 1e3, "strong_convexity": 1.0}, 1e-12, "– (that of two is 0 but for rounding)"),
        ({"smoothness": 1.0, "strong_convexity": 0.0}, 1e-12, "5 × 10⁻¹³ ×"),
        ({"smoothness": "inf", "strong_convexity": 1.0}, 1e-12, "5 × 10⁻¹³ ×"),
        ({"smoothness": 1.0, "strong_convexity": 1.0, "optimum_residual": 1e-6}, 1e-7, "– (that of two is 0"),
    ],
)
def test_rounding_is_that_of_the_problem(pair, facts, error, words):
    run = replace(read_runs([str(pair[0])])[0], slugs=("noisy",))
    parts = {f"problem__{name}": value for name, value in facts.items()}
    runs = [
        changed(run, label, algorithms__1__convergence__finals=[final], algorithms__1__noise=False, **parts)
        for label, final in (("one", 2.0), ("two", error))
    ]
    assert against_words(Comparison(runs).against[0])["final_error"].startswith(words)


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ((1e-7, 1e-15), "those of both are recovered"), ((1e-15, 0.3), "those of one are recovered"),
        ((0.3, 1e-15), "those of two are recovered"),
    ],
)  # fmt: skip
def test_gradients_that_are_recovered_have_no_ratio(pair, errors, words):
    run = replace(read_runs([str(pair[0])])[0], slugs=("noisy",))
    runs = [
        changed(run, label, algorithms__1__gradients__by_replica=[error] * 12)
        for label, error in zip(("one", "two"), errors, strict=True)
    ]
    assert Comparison(runs).against[0].why["gradient_error"] == words


def resolved(run, label, **parameters):
    """The run with these parameters of its noisy descent in its manifest."""
    known = run.resolved["noisy"] | {"name": "noisy"} | parameters
    return replace(run, label=label, resolved=run.resolved | {"noisy": known})


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        ((0.2153359, 0.2273859), ["0.2153", "0.2274"]), ((0.1, 0.1 + 1e-15), None),
        ((0.1000001, 0.1), ["0.1000001", "0.1"]), (({"kind": "constant", "value": 1.5}, 2.5), ["1.5", "2.5"]),
        ((None, 0.1), ["none", "0.1"]), ((1e6, None), ["1,000,000", "none"]),
    ],
)  # fmt: skip
def test_parameters_that_runs_made_of_the_same_fields_are_listed(pair, values, cells):
    (run,) = read_runs([str(pair[0])])
    both = [resolved(run, label, step=value) for label, value in zip(("one", "two"), values, strict=True)]
    found = Comparison([*both, replace(run, label="without", slugs=("plain",))])
    listed = [one for one in found.differences if one.field != "algorithms[noisy]"]
    assert [one.field for one in listed] == ["algorithms[noisy].step (computed)"] * (cells is not None)
    for one in listed:
        assert several.difference_cells(one) == [*cells, MISSING]
    assert ("Computed: parameters" in comparison_page(found)) == (cells is not None)


def test_one_value_of_several_algorithms_is_said_once(pair):
    (run,) = read_runs([str(pair[0])])

    def stepped(label, **steps):
        made = {name: run.resolved[name] | {"name": name, "step": step} for name, step in steps.items()}
        return replace(run, label=label, resolved=made)

    found = Comparison([stepped("one", plain=0.21, noisy=0.21), stepped("two", plain=0.22, noisy=0.22)])
    assert several.difference_rows(found) == [("algorithms[*].step (computed)", ["0.21", "0.22"])]
    assert comparison_page(found).count("(computed)") == 1
    assert len(found.differences) == 2
    apart = Comparison([stepped("one", plain=0.21, noisy=0.23), stepped("two", plain=0.22, noisy=0.22)])
    assert several.difference_rows(apart) == [
        ("algorithms[plain].step (computed)", ["0.21", "0.22"]),
        ("algorithms[noisy].step (computed)", ["0.23", "0.22"]),
    ]


def test_a_parameter_whose_field_differs_is_not_listed_twice(pair):
    fields = [one.field for one in Comparison(read_runs([str(folder) for folder in pair])).differences]
    assert fields == ["algorithms[noisy].scale"]


@pytest.mark.browser
def test_a_field_of_a_name_with_a_hyphen_is_one_line(chromium, pair, tmp_path):
    (run,) = read_runs([str(pair[0])])
    names = {"algorithms__1__name": "DP-x, as sent", "scenario__algorithms__1__name": "DP-x, as sent"}
    runs = [changed(run, f"scale {k}", scenario__algorithms__1__scale=k, **names) for k in (0.2, 0.4)]
    (tmp_path / "page.html").write_text(comparison_page(Comparison(runs)), encoding="utf-8")
    with chromium.open(tmp_path / "page.html", width=1280) as one:
        there = "document.querySelector('#differences tbody th')"
        assert one.evaluate(f"{there}.innerText") == "algorithms[DP-x, as sent].scale"
        assert one.evaluate(f"getComputedStyle({there}.querySelector('code > span')).display") == "inline-block"
