"""A loss taken apart in one pass over samples that are read from disk, with little kept of each."""

import numpy as np

from attacks.audit import loss_breakdown as module
from attacks.audit.loss.exact import combine
from attacks.audit.loss.wire_fields import pooled
from attacks.audit.loss_breakdown import loss_breakdown
from netsim.algorithms.planted_faults import SentBefore
from tests.attacks.audit.test_loss_breakdown import REPLICAS, dpp2, samples


def taken_apart(parts):
    exact = combine(parts[::2], 0.0, 0.95), combine(parts[1::2], 0.0, 0.95)
    return loss_breakdown(1, iter(parts), exact, 0.0, 0.95, np.random.default_rng(0))


def test_one_pass_is_enough_and_every_sample_counts():
    parts = samples(SentBefore(rounds=3, step=0.2, scale=0.8, bound=0.5), chunks=3)
    found = taken_apart(parts)
    assert found.breakdown.transcripts == 6 * REPLICAS
    assert found.uncovered == pooled((p.details.uncovered, p.replicas) for p in parts)
    assert found.uncovered[0].told == found.uncovered[0].transcripts == 6 * REPLICAS
    assert found.average.transcripts == sum(p.details.averages.shape[2] for p in parts)


def test_averages_are_kept_of_the_first_samples_only(monkeypatch):
    parts = samples(dpp2(), chunks=3)
    monkeypatch.setattr(module, "AVERAGED", parts[0].details.averages.size + 1)
    found = taken_apart(parts)
    assert found.average.transcripts == 2 * parts[0].details.averages.shape[2]
    assert found.breakdown.transcripts == 6 * REPLICAS
    assert len(found.averages) == len(found.breakdown.releases) == 16
