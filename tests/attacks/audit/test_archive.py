"""An audit that is stopped goes on with what it has seen, and says the same to the last bit."""

import numpy as np
import pytest

from attacks.audit.archive import Archive, Seen
from attacks.audit.loss.aimed import WORST_CASE
from attacks.inference import infer
from netsim.algorithms.planted_faults import FAULTS, SentBefore
from netsim.node import Computed
from scenarios.results.audited import audit_result
from scenarios.stages.worlds import worlds
from tests.attacks import auditing
from tests.attacks.auditing import claim_of, explained, quadratic_world

FAULTY = SentBefore(rounds=3, step=0.2, scale=0.8, bound=0.5)


def judged(simulate, pair, archive=None, jobs=1, attack=None):
    claim = claim_of(1.0, 0.0)
    return auditing.judged(simulate, pair, claim, 200, attack, 3, chunk=50, jobs=jobs, archive=archive)


class Stopped:
    """Simulates, until it was asked so often; then it is interrupted."""

    def __init__(self, simulate, after):
        self.simulate, self.after, self.done = simulate, after, []

    def __call__(self, world, chunk):
        if len(self.done) == self.after:
            raise KeyboardInterrupt
        if chunk < WORST_CASE:
            self.done.append((world, chunk))
        return self.simulate(world, chunk)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_chunk_comes_back_as_it_was(fault, tmp_path):
    one = explained(fault(rounds=3, step=0.2, scale=0.8, bound=0.5))
    archive = Archive.at(tmp_path / "a", "it")
    archive.put(0, 7, Seen(one, {"score": np.arange(20.0)}, {"other": "no reason"}))
    back = archive.get(0, 7)
    for name in ("laws", "sent_in", "dates", "granted_from", "complete", "unreliable_from", "rounded", "computed"):
        assert getattr(back.explained, name) == getattr(one, name)
    for name in ("uncovered", "faint", "inexplicable"):
        assert getattr(back.explained, name) == getattr(one, name)
    assert back.explained.details.released == one.details.released
    assert back.explained.details.uncovered == one.details.uncovered
    np.testing.assert_array_equal(back.explained.details.averages, one.details.averages)
    for name in ("steps", "cost", "leaked", "bare"):
        np.testing.assert_array_equal(getattr(back.explained, name), getattr(one, name))
    for there, here in zip(back.explained.noise, one.noise, strict=True):
        np.testing.assert_array_equal(there, here)
    np.testing.assert_array_equal(back.noted["score"], np.arange(20.0))
    assert back.refused == {"other": "no reason"}
    assert one.computed == Computed("stacked", None)


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 4, 7])
def test_an_audit_that_was_stopped_goes_on(after, tmp_path):
    simulation, pair = quadratic_world(FAULTY)
    simulate = worlds(simulation, 1, pair.hypotheses[1], 50)
    archive = Archive.at(tmp_path / "evidence", "this audit")
    with pytest.raises(KeyboardInterrupt):
        judged(Stopped(simulate, after), pair, archive)
    second = Stopped(simulate, 99)
    found = judged(second, pair, Archive.at(tmp_path / "evidence", "this audit"))
    assert len(second.done) == 8 - after
    through = judged(simulate, pair)
    assert audit_result(found) == audit_result(through)
    assert found.witness == through.witness


@pytest.mark.slow
def test_processes_change_nothing(tmp_path):
    simulation, pair = quadratic_world(FAULTY)
    simulate = worlds(simulation, 1, pair.hypotheses[1], 50)
    alone, shared = judged(simulate, pair, attack=infer), judged(simulate, pair, jobs=2, attack=infer)
    assert audit_result(alone) == audit_result(shared)
    assert alone.witness == shared.witness


@pytest.mark.slow
def test_a_torn_file_is_made_again_and_evidence_of_something_else_is_not_used(tmp_path):
    simulation, pair = quadratic_world(FAULTY)
    simulate = worlds(simulation, 1, pair.hypotheses[1], 50)
    archive = Archive.at(tmp_path / "evidence", "this audit")
    first = judged(simulate, pair, archive)
    torn = sorted(archive.folder.glob("*.npz"))[3]
    torn.write_bytes(torn.read_bytes()[:1000])
    again = Stopped(simulate, 99)
    second = judged(again, pair, archive)
    assert audit_result(second) == audit_result(first)
    assert second.witness == first.witness
    assert len(again.done) == 1
    judged(simulate, pair, Archive.at(tmp_path / "evidence", "this audit"))
    again = Stopped(simulate, 99)
    judged(again, pair, Archive.at(tmp_path / "evidence", "another audit"))
    assert len(again.done) == 8


def kept(folder):
    """An archive with one chunk."""
    archive = Archive.at(folder, "this audit")
    archive.put(0, 0, Seen(explained(FAULTY), {}, {}))
    return archive


def test_the_mark_is_compared_as_bytes_and_written_once(tmp_path):
    archive = kept(tmp_path / "evidence")
    mark = archive.folder / "of.json"
    before = mark.stat().st_mtime_ns
    assert Archive.at(archive.folder, "this audit").sound(0, 0)
    assert mark.stat().st_mtime_ns == before
    mark.write_bytes(b"\xff\xfe\x00")
    assert not Archive.at(archive.folder, "this audit").sound(0, 0)
    assert mark.read_bytes() == b"this audit"
    assert [one.name for one in archive.folder.iterdir()] == ["of.json"]


def test_a_file_in_place_of_the_folder_is_removed(tmp_path):
    (tmp_path / "evidence").write_text("of somebody else")
    assert Archive.at(tmp_path / "evidence", "this audit").folder.is_dir()


def test_an_archive_of_other_members_is_no_chunk(tmp_path):
    archive = kept(tmp_path / "evidence")
    (chunk,) = archive.folder.glob("*.npz")
    np.savez(chunk, a=np.zeros(3))
    assert not archive.sound(0, 0)
