"""The exam fails auditors that accuse the sound, and gives no marks to one that never accuses."""

import importlib
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attacks.audit.games.game import play
from benchmarks import exam_adapters as adapters
from benchmarks.exam_page import Exam, page
from netsim.errors import PrivacyError, ScenarioError
from netsim.randomness import Streams
from scenarios.certificate import exam, rows
from scenarios.certificate.exam import Candidate, alarms, examine, failed, questions

DOCS = Path(__file__).parents[3] / "docs"
GAMES, SOUND, PLANTED = (
    [q for q in questions() if q.part == part] for part in (exam.GAMES, exam.SOUND, exam.PLANTED)
)
RESPONSE = GAMES[0]
(ONE_SCALAR,) = (question for question in PLANTED if question.name == "OneScalar")


def always_zero(zero, one, *, delta, confidence, rng):
    """Never accuses."""
    return 0.0


def without_doubt(zero, one, *, delta, confidence, rng):
    """The share of hits over the share of false alarms, in place of bounds of both."""
    hits, false = np.mean(one > 0), np.mean(zero > 0)
    return math.log((hits - delta) / false) if hits > delta else 0.0


def on_what_it_has_seen(zero, one, *, delta, confidence, rng):
    """Thresholds are chosen on the very samples that are played."""
    seen = zero[:, 0], one[:, 0]
    return play(*seen, delta=delta, confidence=confidence, rng=rng, chosen_on=seen).epsilon_audited


def test_an_auditor_that_forgets_its_doubt_is_caught():
    (mark,) = examine([Candidate("cheat", without_doubt)], 60, asked=[RESPONSE])
    assert mark.above > 15
    assert failed([mark]) == [mark]


def test_an_auditor_that_peeks_proves_more_than_ours():
    both = [Candidate("peeks", on_what_it_has_seen), exam.OWN[0]]
    peeks, ours = examine(both, 60, asked=[GAMES[1]])
    assert peeks.tightness > ours.tightness


def test_who_always_answers_zero_has_no_power():
    marks = examine([Candidate("silent", always_zero)], 8, asked=[RESPONSE, ONE_SCALAR])
    assert [(one.above, one.half, one.tightness, one.unanswered) for one in marks] == [(0, 0, 0.0, 0)] * 2
    assert failed(marks) == []


def test_our_game_is_sound_and_has_power():
    """A rate that is nominal would be accused with probability 0.5 % at most."""
    game, _ = exam.OWN
    marks = examine([game], 100, asked=[RESPONSE, ONE_SCALAR])
    assert failed(marks) == []
    assert marks[0].half == 100
    assert marks[1].above == marks[1].repetitions


def test_samples_depend_on_neither_auditor_nor_company():
    alone = examine([exam.OWN[0]], 3, asked=[RESPONSE])
    company = examine([Candidate("silent", always_zero), exam.OWN[0]], 3, asked=[RESPONSE])
    assert replace(alone[0], seconds=0) == replace(company[1], seconds=0)
    assert alone[0].first != examine([exam.OWN[0]], 3, asked=[RESPONSE], seed=1)[0].first


def test_an_auditor_cannot_change_what_others_get():
    def spoils(zero, one, **_):
        zero[:] = one[:] = 0.0
        return 0.0

    alone = examine([exam.OWN[0]], 2, asked=[RESPONSE])
    assert examine([Candidate("spoils", spoils), exam.OWN[0]], 2, asked=[RESPONSE])[1].first == alone[0].first


def test_who_does_not_answer_is_neither_right_nor_wrong():
    def refuses(zero, one, *, delta, **_):
        if delta > 0:
            raise PrivacyError("δ = 0 only")
        return math.inf

    pure, approximate = GAMES[0], next(question for question in GAMES if question.name == "Gaussian at δ")
    one, other = examine([Candidate("refuses", refuses)], 4, asked=[pure, approximate])
    assert (one.above, one.answered) == (4, 4)
    assert (other.above, other.answered, other.first) == (0, 0, (None,) * 4)
    assert alarms([other]).count == 0


def test_nan_is_no_answer():
    with pytest.raises(PrivacyError, match="answers NaN"):
        examine([Candidate("no number", lambda *_, **__: math.nan)], 1, asked=[RESPONSE])


@pytest.mark.parametrize("settings", [{"repetitions": 0}, {"samples": 10}])
def test_wrong_numbers_are_refused(settings):
    with pytest.raises(ScenarioError):
        examine(exam.OWN, **settings)


def test_the_mechanisms_are_the_certificates():
    assert [question.name for question in GAMES] == list(rows.GAMES)
    assert [question.name for question in SOUND] == [c.name for c in rows.cases() if c.part == rows.SOUND_PART]
    faults = {c.name.split(",")[0] for c in rows.cases() if c.part == rows.PLANTED}
    assert faults == {question.name for question in PLANTED[: len(faults)]}


@pytest.mark.parametrize("question", [SOUND[0], SOUND[-1], ONE_SCALAR], ids=lambda question: question.name)
def test_outputs_are_numbers_that_differ_and_scores_are_one_column(question):
    samples = question.draw(0, 200, Streams(0))
    assert samples.zero.shape == samples.one.shape
    assert np.all(np.ptp(np.concatenate([samples.zero, samples.one]), axis=0) > 0)
    scored = samples.scored(np.random.default_rng(0))
    assert scored.zero.shape == scored.one.shape == (200 - round(exam.TAUGHT * 200), 1)


def test_no_last_bit_gives_a_world_away():
    """In doubles the loss of Laplace noise has its own roundings in each world."""
    samples = GAMES[1].draw(0, 2000, Streams(0))
    least = samples.zero.min()
    assert np.all(samples.zero[samples.zero < 0.999 * least] == least)
    assert np.all(samples.one[samples.one < 0.999 * least] == least)


# ── other people's auditors ─────────────────────────────────────────────────────────────────────────────
def test_a_library_that_is_not_there_is_named_with_the_reason(monkeypatch, tmp_path):
    def absent(name, *_):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", absent)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    found, versions, missing = adapters.all_of({"dpsniper": tmp_path})
    assert found == []
    assert versions == {}
    assert list(missing) == ["jax-privacy", "privacy-estimates", "dp_auditorium", "dpsniper"]
    assert "pip install jax-privacy (No module named" in missing["jax-privacy"]
    assert "--dp-sniper takes a checkout of eth-sri/dp-sniper" in missing["dpsniper"]


@pytest.mark.parametrize("library", ["jax_privacy", "privacy_estimates"])
def test_adapters_of_installed_libraries_answer(library):
    try:
        candidates = getattr(adapters, library)()
    except adapters.MissingError as why:
        pytest.skip(str(why))
    for mark in examine(candidates, 4, asked=[RESPONSE, GAMES[1]]):
        assert mark.answered == mark.repetitions
        assert 0.3 < mark.tightness < 1.2, mark


# ── the page ────────────────────────────────────────────────────────────────────────────────────────────
EXAM = Exam.from_json((DOCS / "exam.json").read_text(encoding="utf-8"))


def test_the_page_is_what_the_numbers_say():
    assert (DOCS / "exam.md").read_text(encoding="utf-8") == page(EXAM), "run: python -m benchmarks.exam --page …"
    assert Exam.from_json(EXAM.as_json()) == EXAM


def test_netsims_own_games_hold():
    ours = [one for one in EXAM.marks if one.auditor.startswith("netsim")]
    assert {one.question for one in ours} == {question.name for question in questions()}
    assert failed(ours) == []
    assert all(one.repetitions >= 1000 for one in ours if one.auditor == "netsim, game" and one.part == exam.GAMES)


@pytest.mark.slow
def test_the_numbers_are_what_our_games_answer():
    stored = {(one.auditor, one.part, one.question): one for one in EXAM.marks}
    for mark in examine(exam.OWN, 2, asked=[*GAMES, SOUND[0], ONE_SCALAR], samples=EXAM.samples, seed=EXAM.seed):
        kept = stored[mark.auditor, mark.part, mark.question].first
        assert mark.first == kept[: len(mark.first)], mark.question
