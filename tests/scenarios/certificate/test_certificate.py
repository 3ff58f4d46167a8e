"""A small certificate holds, and the committed page is what the command writes."""

from dataclasses import replace
from pathlib import Path

import pytest

from attacks.audit.verdict import Verdict
from netsim.algorithms.planted_faults import FAULTS, L1L2MixUp, WrongClip
from netsim.errors import ScenarioError
from netsim.randomness import Streams
from scenarios.certificate import certificate as module
from scenarios.certificate import rows as kinds
from scenarios.certificate.certificate import Certificate, cases, certify, failures, page, promises, times
from scenarios.certificate.rows import repeated
from scenarios.certificate.worlds import SOUND

DOCS = Path(__file__).parents[3] / "docs"
WRITTEN = (DOCS / "certificate.json").read_text(encoding="utf-8")
SOUND_CASES, GAME_CASES = ([case for case in cases() if case.part == part] for part in ("sound", "game"))
CERTIFICATE = Certificate.from_json(WRITTEN)
REMEDY = "run the command at the top of docs/certificate.md"
REPEATED = {kinds.SOUND_PART: 1, kinds.GAME_PART: 4, kinds.PLANTED: 1, kinds.SUBTLE: 1}
"""Of every row that is repeated here, the first so many repetitions."""


def cheap(case):
    """Sound mechanisms, games, faults with the fewest transcripts; Gaussian noise a little too small takes long."""
    few = getattr(case, "trials", 0) == {kinds.PLANTED: 20, kinds.SUBTLE: 100}.get(case.part)
    return case.part in (kinds.SOUND_PART, "game") or (few and "Gaussian, declared" not in case.name)


def test_the_page_is_what_the_numbers_say():
    assert (DOCS / "certificate.md").read_text(encoding="utf-8") == page(CERTIFICATE), REMEDY
    assert CERTIFICATE.as_json() == WRITTEN
    assert failures(CERTIFICATE) == []


def test_what_too_few_repetitions_leave_open_is_said():
    """A rate may be up to its interval's upper end, and where that is above the nominal value it is not excluded."""
    rates = [one.rate.interval.upper > one.nominal for one in promises(CERTIFICATE)]
    said = " ".join(page(CERTIFICATE).split())
    assert 0 < sum(rates) < len(rates)
    assert "**It holds**" not in said
    assert f"**Not contradicted**: of {len(rates)} rates" in said
    assert f"The other {sum(rates)} have too few repetitions to exclude more" in said
    closed = tuple(row for row in CERTIFICATE.part("game") if row.rate(kinds.ALARM).interval.upper < 0.05)
    assert closed
    assert "**It holds**: of " in page(replace(CERTIFICATE, rows=closed))


def test_every_case_has_its_row_and_its_repetitions():
    rows = [(row.part, row.name) for row in CERTIFICATE.rows]
    assert rows == [(case.part, case.name) for case in cases()], REMEDY
    assert all(row.repetitions >= times(row.part, CERTIFICATE.repetitions) for row in CERTIFICATE.rows)
    assert sum(row.repetitions for row in CERTIFICATE.part(kinds.SOUND_PART)) >= 1000
    assert len(set(rows)) == len(rows)


@pytest.mark.slow
def test_the_numbers_are_what_the_cases_give():
    """The first repetitions of every sound mechanism and game, and of each fault where it is cheap."""
    for case, row in zip(cases(), CERTIFICATE.rows, strict=True):
        if cheap(case):
            again = repeated(case, CERTIFICATE.seed, 0, REPEATED[case.part])
            assert tuple(again) == row.first[: REPEATED[case.part]], f"{case.name}: {REMEDY}"


def test_the_claims_are_tight():
    """A loose claim would hide false alarms: what is audited spends all that is claimed."""
    rows = {row.name: row for row in CERTIFICATE.part(kinds.SOUND_PART)}
    assert list(rows) == list(SOUND)
    for name, row in rows.items():
        sampled = name in ("Laplace at δ", "discrete Gaussian")
        assert row.medians[kinds.EXACTLY] == pytest.approx(1.0, abs=0.1 if sampled else 1e-3), name


@pytest.mark.slow
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in (L1L2MixUp, WrongClip)])
def test_a_twin_spends_its_claim_and_no_more(fault):
    """A claim a thousandth below the truth is refuted, so that the true one is as tight as can be. (The largest loss
    of `L1L2MixUp` is rare, and that of Gaussian noise unbounded.)"""
    world = SOUND[f"{fault.__name__}, sound"](2.0)
    assert world.truth == world.claim.epsilon == pytest.approx(2.0)
    assert world.audited(100, Streams(0)).judgement.verdict in (Verdict.CONSISTENT, Verdict.PROVEN)
    lower = replace(world, claim=replace(world.claim, epsilon=2.0 * 0.999))
    assert lower.audited(100, Streams(0)).judgement.verdict is Verdict.REFUTED


@pytest.mark.slow
def test_processes_change_nothing():
    chosen = [*GAME_CASES[:2], SOUND_CASES[10]]
    assert certify(8, chosen=chosen, jobs=2).as_json() == certify(8, chosen=chosen).as_json()


@pytest.fixture
def small_steps(monkeypatch):
    """Steps of a few repetitions, and medians of a few."""
    monkeypatch.setattr(kinds, "MEDIANS", 8)
    monkeypatch.setattr(module, "STEP", 4)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_certificate_goes_on_where_it_was_interrupted(small_steps, stop):
    """What is kept, step by step, is a certificate, and nothing in it is done again."""
    chosen, kept, done = GAME_CASES[:2], list[Certificate](), list[int]()

    def interrupted(certificate):
        kept.append(Certificate.from_json(certificate.as_json()))
        if len(kept) == stop:
            raise KeyboardInterrupt

    whole = certify(18, chosen=chosen)
    with pytest.raises(KeyboardInterrupt):
        certify(18, chosen=chosen, keep=interrupted)
    assert kept[-1].as_json() == certify(8 + 4 * (stop - 1), chosen=chosen).as_json()
    assert certify(18, chosen=chosen, begun=kept[-1], progress=done.append).as_json() == whole.as_json()
    assert sum(done) == sum(times("game", 18) - row.repetitions for row in kept[-1].rows)


def test_rows_that_are_missing_or_too_short_for_their_medians_are_begun_anew(small_steps):
    chosen = GAME_CASES[:2]
    whole = certify(6, chosen=chosen)
    first = repeated(chosen[0], 0, 0, 3)
    begun = Certificate(6, 0, (kinds.Row.of(chosen[0], first),))
    assert certify(6, chosen=chosen, begun=begun).as_json() == whole.as_json()


def test_a_certificate_of_another_seed_is_not_gone_on_with():
    with pytest.raises(ScenarioError, match="seed"):
        certify(1, seed=1, chosen=GAME_CASES[:1], begun=Certificate(1, 0, ()))
