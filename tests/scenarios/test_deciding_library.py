"""What the gallery says of membership on DP-RECAL, and of a property, over several seeds."""

from pathlib import Path

import pytest
from scipy import special

from scenarios import load, run
from tests.oracles.zcdp import zcdp_rho

GALLERY = Path(__file__).parents[2] / "docs" / "gallery.md"


def decided(name, folder, what, *options):
    return [getattr(entry, what) for entry in run(name, folder, options=list(options), page=False).algorithms]


@pytest.mark.parametrize("seed", [1, 5, 8])
def test_as_deployable_tells_membership_without_an_error_and_repaired_no_more_than_its_budget(seed, tmp_path):
    small = ("attacks.membership.trials=40", "attacks.membership.chunk=40")
    leaky, repaired = decided("membership-on-dp-recal", tmp_path, "membership", f"seed={seed}", *small)
    assert leaky.exact
    assert leaky.advantage.estimate == leaky.auc.estimate == 1
    assert leaky.claim.broken
    assert repaired.claim.epsilon <= 1 + 1e-9
    assert not repaired.claim.broken
    mu = (2 * zcdp_rho(1.0, 1e-3)) ** 0.5
    for one in repaired.levels:
        most = special.ndtr(special.ndtri(one.level) + mu)
        assert one.level < one.power <= most + 1e-12
        assert one.found.low <= most


@pytest.mark.parametrize("seed", [5, 9])
def test_a_property_is_told_where_a_record_is_hard_to_find(seed, tmp_path):
    small = ("attacks.membership.trials=40", "attacks.property.trials=40", "attacks.property.draws=150")
    results = run("property-of-an-agent", tmp_path, options=[f"seed={seed}", *small], page=False)
    (little, much) = results.algorithms
    assert little.property.right.low > 0.5
    assert little.property.right.rate > much.property.right.rate
    assert little.membership.levels[0].power < 0.3
    assert much.membership.levels[0].power < 0.1


@pytest.mark.parametrize("name", ["membership-on-dp-recal", "property-of-an-agent"])
def test_the_gallery_says_what_the_scenario_says(name):
    page = " ".join(GALLERY.read_text(encoding="utf-8").split())
    assert f"`{name}`" in page
    assert load(name).description.strip() in page
