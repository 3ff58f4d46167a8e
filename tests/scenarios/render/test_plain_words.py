"""An audit for a first reader: short and plain at every width, the same in terminal and page, and what to do next."""

import io
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from attacks.audit.verdict import BROKEN, cause, judge
from netsim.claims import BY_HAND
from scenarios.cli import json_output
from scenarios.render import plain_words, sentences, terminal, verdicts
from scenarios.render.page.report import page
from scenarios.results import findings
from scenarios.results.audit import BOTH_MOVED, AuditRefused, AuditResult, NoWitness, NoWitnessCause, change_option
from scenarios.results.base import Refused
from scenarios.results.budgets import OverTime
from tests.scenarios.filled import filled, tree
from tests.scenarios.render.page.test_report import Page, alone, sample

JARGON = ("affine", "door", "answers", "proven share", "white box", "1e-05", "packets")
"""Words that only netsim's own readers know, and what is no part of an audit."""
BOUND = {"epsilon": 0.9, "conditions": ["what it sends is affine", "answers are clipped"]}


def of_verdict(verdict: str, **audit: Any) -> Any:
    """Results of one algorithm of the reader's own with this verdict."""
    results = alone(3)
    (entry,) = results["algorithms"]
    entry |= {"kind": "python"}
    entry["audit"] |= {"verdict": verdict, "pair": "record 3 of agent 2 replaced by record 1 of agent 0"} | audit
    return tree(results)


@pytest.fixture
def printed(monkeypatch):
    def printed(results: Any, width: int, **options: Any) -> str:
        out = io.StringIO()
        console = type(terminal.console)(file=out, width=width)
        monkeypatch.setattr(verdicts, "console", console)
        monkeypatch.setattr(terminal, "console", console)
        monkeypatch.setenv("COLUMNS", str(width))  # there is a reader
        verdicts.print_results(results, Path("out"), **options)
        return out.getvalue()

    return printed


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("verdict", ["refuted", "proven", "consistent", "underpowered", "unprotected", "no claim"])
def test_an_audit_is_short_and_plain_and_all_of_it_is_behind_an_option(printed, verdict, width):
    results = of_verdict(verdict, bound=BOUND, witness="witness-mine.json" if verdict in BROKEN else None)
    text = printed(results, width, alone=True)
    lines, flat = text.splitlines(), " ".join(text.split())
    assert len(lines) <= (48 if width == 40 else 34)
    assert max(len(one) for one in lines if not one.startswith("    ")) <= width  # commands are to be copied
    assert not [one for one in JARGON if one in flat]
    said = plain_words.says(results.algorithms[0])
    for words in (
        said,
        "ε claimed",
        "ε exact",
        "ε audited",
        "computed: ",
        "measured: ",
        "The audit's listener records",
    ):
        assert words in flat
    for words in ("Record 3 of agent 2 replaced", "one record of one agent replaced", "What to do next"):
        assert words.lower() in flat.lower()
    details = printed(results, width, alone=True, verbose=True)
    assert len(details) > len(text)
    assert ("answers are clipped" in " ".join(details.split())) is (verdict in ("refuted", "proven"))


@pytest.mark.parametrize(("norm", "says"), [(BY_HAND, True), ("ℓ1", False)])
def test_a_vacuous_claim_of_the_command_line_says_how_its_cost_is_bounded(norm, says):
    results = of_verdict("vacuous")
    (entry,) = results.algorithms
    claim = replace(entry.audit.claim, norm=norm)
    entry = replace(entry, audit=replace(entry.audit, claim=claim))
    steps = [one.words for one in plain_words.all_steps(replace(results, algorithms=(entry,)))]
    assert any("Leave --epsilon out" in one for one in steps) is says


def test_a_game_that_proves_nothing_says_what_it_could_prove(printed):
    game = {"trials": 50, "correct": 24, "guesses": 49, "accuracy_lower": 0.3, "confidence": 0.95}
    for epsilon, says in ((0.0, True), (0.4, False)):
        played = {"white_box": game | {"epsilon_audited": epsilon, "ceiling": 2.44}, "epsilon_audited": epsilon}
        flat = " ".join(printed(of_verdict("consistent", **played), 80, alone=True).split())
        assert ("(nothing here; they can prove 2.44 at most)" in flat) is says


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("verdict", ["refuted", "proven", "consistent", "vacuous"])
def test_all_of_it_says_nothing_twice(printed, verdict, width):
    given: Any = {
        "epsilon_claimed": 1.0,
        "delta": 1e-5,
        "exact_lower": 1.25,
        "exact_upper": 1.25,
        "change_used": 0.72,
    }
    reason = judge(**given).reason
    results = of_verdict(verdict, bound=BOUND, reason=reason, change_used=0.72)
    flat = " ".join(printed(results, width, alone=True, verbose=True).split())
    for words in (cause(reason), "Exact ε of the pair: 1.25.", "ecord 3 of agent 2 replaced", "pair uses", "72 %"):
        assert flat.replace("\u202f", " ").count(words.replace("\u202f", " ")) == 1, words


@pytest.mark.parametrize("verdict", ["refuted", "consistent", "underpowered", "unprotected", "no claim"])
def test_page_and_terminal_say_the_same_steps(printed, verdict):
    results = of_verdict(verdict, bound=BOUND, witness="witness-mine.json")
    steps, there = plain_words.all_steps(results), Page(page(results)).text
    text = " ".join(printed(results, 200, alone=True).split())
    assert len(steps) >= 2
    for step in steps:
        assert step.words in there
        assert step.words in text
        assert step.command in there
    assert "netsim witness out/witness-mine.json" in text
    for words in ("witness-mine.json --trust-code", "With --trust-code it prints the code"):
        assert words in there  # the folder of the page has none of the code
    assert plain_words.says(results.algorithms[0]) in there


def test_a_step_of_some_algorithms_names_them():
    results = tree(sample())
    words = [one.words for one in plain_words.all_steps(results)]
    assert any(one.startswith("DP-RECAL, as analysed, DP-RECAL, as deployable: add noise") for one in words) or any(
        one.startswith("DP-RECAL, as analysed: add noise") for one in words
    )
    assert len(words) == len(set(words))


def test_a_baseline_is_told_nothing():
    results = of_verdict("unprotected")
    (entry,) = results.algorithms
    assert plain_words.all_steps(results)
    assert not plain_words.all_steps(replace(results, algorithms=(replace(entry, baseline=True),)))


def test_a_refuted_claim_is_told_what_would_hold():
    (step,) = [
        one
        for one in plain_words.all_steps(of_verdict("refuted", bound=BOUND | {"epsilon": 1.2341}))
        if "Claim" in one.words
    ]
    assert "ε = 1.235 would hold" in step.words  # never below the bound


def words_of(verdict: str, **audit: Any) -> str:
    """The steps of these results in words, as one text."""
    return "; ".join(one.words for one in plain_words.all_steps(of_verdict(verdict, **audit)))


def release(mechanism: str, **place: Any) -> dict[str, Any]:
    return {"where": {"mechanism": mechanism, "scale": [1.0, 1.0]} | place}


def test_a_refuted_claim_without_a_bound_is_told_what_is_known():
    words = words_of("refuted", epsilon_exact={"lower": 13.641}, epsilon_audited=2.0)
    assert "Claim what is true: at least ε = 13.64; or use more noise" in words


@pytest.mark.parametrize(
    ("claim", "mechanism", "says", "command"),
    [
        (
            {"norm": BY_HAND}, "Gaussian",
            "Gaussian noise has no finite ε at δ = 0: state a δ, such as 1e-5 (the audit then computes ε), or use L",
            "--epsilon 1 --delta 1e-5",
        ),
        ({"norm": "ℓ2"}, "Gaussian", "Gaussian noise has no finite ε at δ = 0: claim a δ above 0, such as 1e-5", ""),
        ({"norm": "ℓ1"}, "Laplace", "What is sent has no finite ε at δ = 0: claim a δ above 0", ""),
        ({"delta": 1e-5}, "Laplace", "No ε holds at this δ: state a larger δ, or give each number noise", ""),
    ],
)  # fmt: skip
def test_where_no_epsilon_holds_neither_more_nor_noise_is_advised(claim, mechanism, says, command):
    results = of_verdict(
        "refuted",
        epsilon_claimed=1.0,
        epsilon_exact={"lower": "inf"},
        claim={"delta": 0.0} | claim,
        loss_breakdown={"releases": [release(mechanism)]},
    )
    (step,) = plain_words.all_steps(results)
    assert says in step.words
    assert step.command == command
    assert "laim more" not in step.words
    assert "more noise" not in step.words


@pytest.mark.parametrize(
    ("kind", "condition", "says", "command"),
    [
        ("diadsp", "no clipping: g has no bound", "Clip the gradients", "clip={bound: 1.0, norm: l1}'"),
        ("python", "no clipping: g has no bound", "here no clipping: g has no bound", ""),
        ("dpp2", "q < 1 fails: q = 1.2", "within the conditions of the formula; here q < 1 fails: q = 1.2", ""),
    ],
)  # fmt: skip
def test_a_claim_that_is_undefined_names_its_condition_and_the_option(kind, condition, says, command):
    results = of_verdict("undefined", claim={"norm": "ℓ1", "failed_conditions": [condition]})
    (entry,) = results.algorithms
    step = plain_words.all_steps(replace(results, algorithms=(replace(entry, kind=kind),)))[0]
    assert says in step.words
    assert step.command == (f"-o 'algorithms[0].{command}" if command else "")


def test_a_claim_that_a_run_breaks_by_diverging_is_not_to_be_raised_first():
    results = of_verdict("refuted", epsilon_exact={"lower": 1.7e10})
    (entry,) = results.algorithms
    grown = replace(entry, convergence=replace(entry.convergence, median=(1.0, 1e9)))
    assert "the run diverges" in plain_words.all_steps(replace(results, algorithms=(grown,)))[0].words
    assert "the run diverges" not in plain_words.all_steps(results)[0].words


def test_what_is_sent_inside_a_number_is_to_be_sent_as_it_is_or_its_coins_known():
    """More transcripts would price no history of coins."""
    audit = {"unpriced": "what `privatize` returned is sent inside another number", "claim": {"coins": "secret"}}
    place = {"carriers": [], "inside": {"name": "x"}}
    results = of_verdict(
        "underpowered",
        reason="It is priced only for who knows the coins (-o audit.coins=known)",
        loss_breakdown={"releases": [release("Laplace", **place)]},
        **audit,
    )
    first, second, *others = plain_words.all_steps(results)
    assert first.command == "-o audit.coins=known"
    assert "await node.exchange(x=sent). Then coins that are secret can be priced" in second.words
    assert not [one for one in others if "Record more" in one.words or "more pairs" in one.words]


@pytest.mark.parametrize(
    ("reason", "first"),
    [
        (f"State the change that the theorem allows, such as {change_option(0.25)}.", change_option(0.25)),
        ("It says little: try more pairs of data sets.", "-o 'audit.search={candidates: 200, transcripts: 32}'"),
        ("It says little: try more transcripts, more pairs of data sets.", "-o audit.trials="),
    ],
)
@pytest.mark.parametrize("kind", ["python", "private_gradient_descent"])
def test_what_the_reason_names_stands_first(reason, first, kind):
    results = of_verdict("underpowered", reason=reason, claim={"gradient_change": 0.25}, trials=200)
    (entry,) = results.algorithms
    steps = plain_words.all_steps(replace(results, algorithms=(replace(entry, kind=kind),)))
    assert steps[0].command.startswith(first)


@pytest.mark.parametrize(
    ("cause", "granted", "says"),
    [
        ("value", False, "Add noise to 'x', or do not send it"),
        ("too little noise", False, "Give every number of 'x' noise of its own: noise that other messages have too"),
        ("too little noise", True, "Add noise to 'other', or do not send it"),  # of who knows more than the wire
    ],
)
def test_noise_that_is_used_twice_is_to_be_drawn_afresh(cause, granted, says):
    fields = [{"name": "x", "cause": cause, "granted": granted}]
    fields += [{"name": "other", "cause": "value"}] if granted else []
    assert says in words_of("unprotected", unprotected_fields=fields)


def test_a_mask_that_data_choose_is_no_lack_of_fresh_noise():
    words = words_of("unprotected", unprotected_fields=[{"name": "g", "cause": "too little noise"}])
    assert "left out where private data say so (a mask, a choice) hides nothing" in words


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ("ux", "Add noise to 'u' and 'x', or do not send them"),
        ("xxu", "Add noise to 'x' and 'u', or do not send them"),
        ("uxz", "Add noise to 'u', 'x' and 'z', or do not send them"),
    ],
)
def test_every_field_without_noise_is_named_once(names, says):
    fields = [{"name": name, "cause": "value", "granted": False} for name in names]
    hidden = [{"name": "h", "cause": "value", "granted": True}]  # only for who knows more than the wire
    assert says in words_of("unprotected", unprotected_fields=fields + hidden)


@pytest.mark.parametrize(("activations", "rounds"), [(20, 2), (2, 1)])
def test_coins_with_too_many_histories_are_to_be_fewer(activations, rounds):
    """More transcripts would list none of them."""
    coins = {"unlisted": "its private coins have more than 4,096 histories"}
    options: Any = {"secret_coins": coins, "activations": activations, "claim": {"coins": "secret"}}
    words = words_of("underpowered", **options)
    commands = [one.command for one in plain_words.all_steps(of_verdict("underpowered", **options))]
    assert "-o audit.coins=known" in commands
    assert "fewer records or rounds, so that the histories of its private coins can be listed" in words
    assert f"-o 'algorithms[0].parameters.rounds={rounds}'" in commands
    audited = replace(of_verdict("underpowered", **options), command="netsim audit mine.py:Mine")
    assert f"-o rounds={rounds}" in [one.command for one in plain_words.all_steps(audited)]
    (entry,) = audited.algorithms
    shipped = replace(audited, algorithms=(replace(entry, kind="private_gradient_descent"),))
    assert f"-o 'algorithms[0].rounds={rounds}'" in [one.command for one in plain_words.all_steps(shipped)]
    assert "Record more runs" not in words
    words = words_of("underpowered", **options | {"claim": {"coins": "known"}})  # who knows them needs no list
    assert "can be listed" not in words
    assert "Try more pairs" in words


@pytest.mark.parametrize(
    ("whole", "partial", "words"),
    [
        (9, 7, "above 1 from activation 9 on; from activation 7 on above what is claimed of a run that ends there "
               "(0.8, claimed 0.7)"),
        (9, 9, "above 1 from activation 9 on"),
        (9, None, "above 1 from activation 9 on"),
        (None, 7, "from activation 7 on above what is claimed of a run that ends there (0.8, claimed 0.7)"),
        (None, None, None),
    ],
)  # fmt: skip
def test_above_the_claim_and_above_that_of_a_run_that_ends_there_are_told_apart(printed, whole, partial, words):
    results = of_verdict("refuted", epsilon_claimed=1.0, first_violation=whole)
    time = filled(
        OverTime,
        {
            "unit": "activations",
            "exceeds_from": partial,
            "exceeds": None if partial is None else {"exact": 0.8, "claimed": 0.7},
        },
    )
    results = replace(results, algorithms=tuple(replace(one, over_time=time) for one in results.algorithms))
    why = plain_words.why(results, results.algorithms[0])
    assert why.endswith(f"The exact ε is {words}.") if words else "The exact ε is" not in why
    text = " ".join(printed(results, 80, verbose=True).split())
    assert text.count("run that ends there") == (words or "").count("run that ends there")


def test_where_nothing_bounds_a_change_more_pairs_help_nobody():
    search: Any = {"candidates": 36, "unbounded": True}
    assert "Try more pairs" in words_of("underpowered", search=search | {"unbounded": False})
    assert "Try more pairs" not in words_of("underpowered", search=search)


@pytest.mark.parametrize("granted", [False, True])
def test_noise_inside_what_is_sent_is_to_be_in_all_of_it(granted):
    place = {"carriers": [], "inside": {"name": "y"}}
    breakdown = {"releases": [release("Gaussian", **place)]}
    results = of_verdict("consistent", loss_breakdown=breakdown)
    (entry,) = results.algorithms
    ends = replace(entry.audit.epsilon_exact, upper_bound_only=granted)
    entry = replace(entry, audit=replace(entry.audit, epsilon_exact=ends))
    first = plain_words.all_steps(replace(results, algorithms=(entry,)))[0].words
    assert ("node.exchange(y=sent). Then ε can be exact" in first) is granted


@pytest.mark.parametrize(
    ("verdict", "laws", "norm", "said"),
    [
        ("refuted", ["Laplace"], "ℓ2", "Laplace noise protects changes in ℓ1; the claim counts them in ℓ2."),
        ("refuted", ["UniformLaplace", "Laplace"], "l2", "Laplace noise protects changes in ℓ1"),
        ("refuted", ["Gaussian"], "linf", "Gaussian noise protects changes in ℓ2; the claim counts them in ℓ∞."),
        ("refuted", ["Gaussian"], "l1", ""),  # ‖v‖₂ ≤ ‖v‖₁: such a claim errs on the safe side
        ("refuted", ["Laplace"], "ℓ1", ""),
        ("refuted", ["Laplace", "Gaussian"], "ℓ2", ""),
        ("consistent", ["Laplace"], "ℓ2", ""),
    ],
)
def test_noise_of_another_norm_is_named_where_a_claim_is_false(verdict, laws, norm, said):
    audit = {"claim": {"norm": norm}, "loss_breakdown": {"releases": [release(one) for one in laws]}}
    results = of_verdict(verdict, **audit)
    why = plain_words.why(results, results.algorithms[0])
    assert ("noise protects changes" in why) is bool(said)
    assert said in why


@pytest.mark.parametrize("cause", get_args(NoWitnessCause))
def test_a_broken_claim_without_a_witness_says_why(cause):
    """In the terminal, on the page and as JSON, in one sentence."""
    none = NoWitness.of(cause)
    results = of_verdict("refuted", witness=None, no_witness={"cause": cause, "sentence": none.sentence})
    assert re.fullmatch(r"There is no witness file: [^.]+\.", none.sentence)
    assert none.sentence in plain_words.why(results, results.algorithms[0])
    assert Page(page(results)).text.count(none.sentence) == 2  # the card, and the evidence
    assert json_output.document(results, Path("out")).algorithms[0].no_witness == none


@pytest.mark.parametrize("clipped", [True, False])
def test_a_probe_behind_a_clip_does_not_contradict_a_bound(clipped):
    """What is sent is affine in the clipped gradients, and not in the gradients."""
    what = "its gradients, clipped" if clipped else "its gradients or proximal points"
    results = of_verdict(
        "proven", bound={"epsilon": 0.9, "conditions": [f"what it sends is an affine function of {what}"]}
    )
    refused = Refused(
        refused="what agent 0 sends as 'x' is no affine function of its gradients: a probe cannot invert it."
    )
    entry = replace(results.algorithms[0], gradients=refused)
    said = " ".join(sentences.ran(results, entry))
    assert ("'x' shows gradients only after a clip: a probe cannot invert it." in said) is clipped
    assert ("is no affine function" in said) is not clipped


@pytest.mark.parametrize("verdict", ["refuted", "unprotected"])
def test_where_a_message_itself_tells_no_noise_is_advised(verdict):
    line = {"file": "when.py", "line": 18, "code": "if g > 1:"}
    fields = [{"name": "", "cause": "other message"}]
    words = words_of(verdict, unprotected_fields=fields, read_lines=[line], epsilon_exact={"lower": 3.968})
    assert "send the same messages at the same times whatever its data are (" in words
    assert "when.py" in words
    assert "more noise" not in words
    assert "Add noise" not in words


def test_what_is_not_audited_says_what_to_do():
    results = of_verdict("refuted")
    refused = AuditRefused(refused="its code decides for all. Audit one: -o audit.chunk=1 -o audit.search=null")
    entry = replace(results.algorithms[0], audit=refused)
    steps = plain_words.all_steps(replace(results, algorithms=(entry,)))
    assert [one.command for one in steps] == ["", "-o audit.chunk=1 -o audit.search=null"]


def test_a_search_that_ended_at_a_leak_says_nothing_of_bounds():
    winner = {"description": "record 1 replaced", "epsilon": "inf"}
    audit = of_verdict("unprotected", pair="record 1 replaced; no bound was seen", search={"winner": winner})
    shown = dict(plain_words.pair(audit.algorithms[0].audit))
    assert shown["data sets"].startswith("Record 1 replaced (nothing costs more")


@pytest.mark.parametrize(
    ("adjacency", "whole"), [("record", True), ("agent", False), ({"change": 2.0, "norm": "l1"}, False)]
)
def test_more_data_are_to_differ_only_where_a_record_does(adjacency, whole):
    results = alone(3)
    results["algorithms"][0] |= {"kind": "python"}
    results["algorithms"][0]["audit"] |= {"verdict": "consistent"}
    results["scenario"] = results["scenario"] | {"audit": {"adjacency": adjacency}}
    words = [one.command for one in plain_words.all_steps(tree(results))]
    assert ("-o audit.adjacency=agent" in words) is whole


def test_an_agent_that_is_advised_is_there():
    found = of_verdict("consistent")
    steps = [re.fullmatch(r"-o audit.agent=(\d+)", one.command) for one in plain_words.all_steps(found)]
    (other,) = [int(one[1]) for one in steps if one]
    assert 0 <= other < found.problem.agents


BUDGET = {"epsilon": [0.5, 1.5], "source": "Theorem 1"}


def test_a_claim_that_was_not_audited_is_shown(printed):
    results = alone(3)
    refused = {"refused": "the run diverges"}
    results["algorithms"][0] |= {"audit": refused, "audit_status": "refused", "budget": BUDGET}
    found = tree(results)
    assert findings.claimed(found.algorithms[0]) == 1.5
    for width, number in ((40, ": 1.5,"), (80, " 1.5 ")):
        assert f"The claim ε = 1.5 was not audited. ε claimed{number}" in " ".join(printed(found, width).split())
    assert verdicts.epsilon_columns(found.algorithms)[0].cells == ["1.5"]
    assert re.search(r"1\.5\s*</dd>", page(found))


@pytest.mark.parametrize("broken", [True, False])
def test_a_claim_that_membership_breaks_is_not_called_untested(monkeypatch, broken):
    monkeypatch.setattr(findings, "membership_breaks_claim", lambda entry: broken)
    results = alone(3)
    results["algorithms"][0] |= {"audit": None, "audit_status": "not requested", "budget": BUDGET}
    said = plain_words.says(tree(results).algorithms[0])
    more = ", but membership is inferred better than it allows" * broken
    assert said == f"The claim ε = 1.5 was not audited{more}."
    assert said in page(tree(results)).replace("\u00a0", " ")


def test_a_run_without_claim_and_audit_says_once_that_nothing_was_tested():
    results = alone(3)
    results["algorithms"][0] |= {"audit": None, "audit_status": "not requested", "budget": None}
    text = page(tree(results))
    assert "This scenario asks for no audit." in text
    assert '<p class="says">' not in text


def test_where_nothing_was_audited_the_headline_is_what_an_attack_found(monkeypatch, printed):
    results = alone(0)
    results["algorithms"][0] |= {"audit": None, "audit_status": "not requested", "budget": None}
    found = results["algorithms"][0]["gradients"] | {"worst": 1e-13, "median": 1e-14, "estimated": 40, "queries": 40}
    results["algorithms"][0] |= {"gradients": found, "images": None}
    said = "40 of 40 private gradients recovered. No privacy claim was audited."
    assert f"{said}</h2>" in page(tree(results))
    assert said in " ".join(printed(tree(results), 80).split())
    assert '<p class="loot found">' in page(tree(results))
    results["algorithms"][0]["gradients"] |= {"worst": 30.0, "median": 20.0}
    assert sentences.headline(sentences.Finding.ranked(tree(results))).startswith("No private gradient is learned.")
    monkeypatch.setattr(findings, "membership_breaks_claim", lambda entry: True)
    (one,) = sentences.Finding.ranked(tree(results))
    assert (one.word, one.mark) == ("refuted by an attack", "bad")
    assert sentences.headline([one]).startswith("Membership is inferred better than the claim allows: RECAL.")


@pytest.mark.parametrize("upper", [1.25, float("inf")])
def test_the_cause_is_the_reason_without_what_stands_beside_it(upper):
    options: Any = {"epsilon_claimed": 1.0, "delta": 1e-5, "exact_lower": 1.25, "exact_upper": upper}
    judged = judge(**options)
    assert cause(judged.reason) == "ε is at least 1.25, above the claimed ε = 1 at δ = 10⁻⁵."
    assert "Exact ε of the pair" in judged.reason
    open_above = judge(**options | {"epsilon_claimed": 1.3, "exact_estimate": 1.25, "change_used": 0.9})
    assert "Exact ε" not in cause(open_above.reason)
    assert cause(open_above.reason).endswith("may cost more.") is (upper > 2)


@pytest.mark.parametrize(
    ("delta", "norm", "default"), [(1e-3, "ℓ2", True), (1e-5, "ℓ2", False), (1e-3, "no norm of its own", False)]
)
def test_a_delta_that_nobody_named_is_called_the_default(delta, norm, default):
    found = of_verdict("consistent", epsilon_claimed=1.0, claim={"delta": delta, "norm": norm})
    assert plain_words.epsilon_rows(found.algorithms[0])[0][2].endswith(", the default") is default


def test_the_transcripts_of_an_audit_are_counted_of_each_world_as_the_option_counts_them():
    """A game's guesses are of both worlds, and fewer than twice as many: some transcripts choose the thresholds."""
    entry = of_verdict("consistent", epsilon_claimed=1.0, trials=2000, white_box={"trials": 3812}).algorithms[0]
    (_, _, audited) = plain_words.epsilon_rows(entry)
    assert audited[2] == "measured: what guessing which data set it was proves, from 2,000 transcripts of each"


@pytest.mark.parametrize("verdict", ["unprotected", "refuted", "no claim"])
def test_a_baseline_is_called_one_on_its_card_and_in_the_terminal(printed, verdict):
    results, words = of_verdict(verdict), "A baseline, to compare the others with."
    marked = replace(results, algorithms=tuple(replace(one, baseline=True) for one in results.algorithms))
    for found, there in ((results, 0), (marked, 1)):
        assert " ".join(printed(found, 80).split()).count(words) == there
        assert Page(page(found)).text.count(words) == there


def test_no_claim_that_is_not_there_is_spoken_of():
    results = of_verdict("unprotected", epsilon_claimed=None)
    assert plain_words.says(results.algorithms[0]) == "Private data leaves in a message without noise: ε is ∞."
    assert isinstance(results.algorithms[0].audit, AuditResult)
    silent = replace(
        results.algorithms[0], audit=filled(AuditResult, {"verdict": "no claim", "epsilon_claimed": None})
    )
    assert "nothing is claimed" in plain_words.epsilon_rows(silent)[0]


def test_an_interrupted_run_names_what_was_not_begun(printed):
    results = of_verdict("proven")
    reached = results.algorithms[0]
    spec = results.scenario.algorithms[0].model_copy(update={"name": "second"})
    scenario = results.scenario.model_copy(update={"algorithms": [*results.scenario.algorithms, spec]})
    text = printed(replace(results, status="interrupted", scenario=scenario), 80)
    assert "Not done\n" in text
    assert "\n  second: not begun\n" in text
    assert "Not done" not in printed(replace(results, scenario=scenario), 80)
    cut = replace(reached, audit=None, audit_status="not reached")
    assert plain_words.why(results, cut) == ""
    assert plain_words.says(cut) == "The run ended before this audit."


@pytest.mark.parametrize(
    ("share", "said"), [(0.553, "55\u202f%"), (0.004, "less than 1\u202f%"), (1.0, "100\u202f%")]
)
def test_a_share_of_the_change_is_one_number_wherever_it_stands(share, said):
    """In the reason of a verdict, and beside the pair."""
    measured = judge(epsilon_claimed=1.0, delta=0.0, audited=None, exact_lower=0.9, change_used=share).reason
    assert f"the pair uses {said} of the change that it allows" in measured
    results = of_verdict("consistent", change_used=share)
    audit = results.algorithms[0].audit
    (_, allowed) = plain_words.pair(audit)
    assert f"this pair uses {said} of that" in allowed[1]
    assert ("at the points where the run asked for gradients" in allowed[1]) is (share < 1)
    assert said.replace("\u202f", " ") in Page(page(results)).text


@pytest.mark.parametrize(
    ("change", "said"),
    [(10.0, " (a gradient by 10 at most, in ℓ2, as data are bounded)"), (math.inf, "")],
)
def test_what_bounds_the_change_that_is_allowed_is_said_beside_it(change, said):
    """Beside the reason of a claim that the algorithm itself bounds no gradient."""
    claim = {"adjacency": "all data of one agent replaced", "gradient_change": change}
    assert filled(AuditResult, {"claim": claim}).allowed == f"all data of one agent replaced{said}"


@pytest.mark.parametrize("any_change", [False, True])
def test_a_pair_that_moves_a_gradient_says_why_it_speaks_of_a_claim_for_records(any_change):
    """And what the records themselves cost; of a claim of any data that is no question."""
    both = {"name": BOTH_MOVED, "candidates": 3, "best": "a gradient moved", "epsilon": 1.4}
    records = [{"name": "drawn", "candidates": 5, "best": "record 1", "epsilon": one} for one in (0.125, 0.25)]
    winner = {"family": BOTH_MOVED, "description": "a gradient moved", "epsilon": 1.4, "any_change": any_change}
    search = {"winner": winner, "families": [both, *records], "unbounded": False}
    audit = filled(AuditResult, {"search": search, "claim": {"stated_adjacency": "one record replaced"}})
    (_, (_, allowed)) = plain_words.pair(audit)
    said = "The claim is stated for one record replaced; its formula asks no more of it"
    assert (said in allowed) is not any_change
    assert ("none of 10 pairs that were tried costs more than 0.25, by estimate" in allowed) is not any_change
