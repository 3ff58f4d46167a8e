"""Laws of the three ways to deal records out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.errors import ScenarioError
from netsim.problems import Dataset, load
from tests.worlds import refusal

ways = st.one_of(
    st.just({"by": "equal"}),
    st.just({"by": "label"}),
    st.floats(1e-3, 1e6).map(lambda c: {"by": "dirichlet", "concentration": c}),
)


def numbered(*sizes: int) -> Dataset:
    """As many records of each class, in order; two classes are −1 and 1."""
    classes = [-1.0, 1.0] if len(sizes) == 2 else np.arange(float(len(sizes)))
    count = None if len(sizes) == 2 else len(sizes)
    return Dataset("numbered", np.arange(float(sum(sizes)))[:, None], np.repeat(classes, sizes), class_count=count)


SIZES = st.tuples(st.integers(0, 40), st.integers(0, 40)) | st.lists(st.integers(1, 20), min_size=3, max_size=6)


@given(way=ways, sizes=SIZES, agents=st.integers(1, 20), seed=st.integers(0, 9))
@settings(max_examples=200, deadline=None)
def test_every_split_is_a_partition_by_its_own_rule_and_nobody_goes_empty_handed(way, sizes, agents, seed) -> None:
    if not sum(sizes):
        return
    data, classes = numbered(*sizes), [size for size in sizes if size]
    if agents > data.records:
        with pytest.raises(ScenarioError, match="agents"):
            data.split(agents, seed, **way)
        return
    parts, again = data.split(agents, seed, **way), data.split(agents, seed, **way)
    assert len(parts) == agents
    assert min(part.records for part in parts) >= 1
    assert sorted(np.concatenate([part.features[:, 0] for part in parts])) == list(range(data.records))
    for part, same in zip(parts, again, strict=True):
        assert np.array_equal(part.features, same.features)
        assert (np.diff(part.features[:, 0]) > 0).all()
        assert np.array_equal(part.labels, data.labels[part.features[:, 0].astype(int)])
        assert part.class_count == data.class_count
    held = np.array([[np.sum(part.labels == label) for part in parts] for label in np.unique(data.labels)])
    if way["by"] == "equal":
        assert np.ptp(held, axis=1).max() <= 1
        assert len(classes) > 2 or np.ptp(held.sum(axis=0)) <= 1
    if way["by"] == "label" and agents >= len(classes):
        assert ((held > 0).sum(axis=0) == 1).all()  # every agent holds one class
        assert all(np.ptp(share[share > 0]) <= 1 for share in held)
    elif way["by"] == "label":
        assert ((held > 0).sum(axis=1) == 1).all()  # every class has one agent


def test_by_label_agents_are_shared_out_by_the_size_of_a_class() -> None:
    parts = numbered(75, 25).split(8, by="label")
    assert sum(part.labels[0] == -1 for part in parts) == 6
    orders = {tuple(part.labels[0] for part in numbered(50, 50).split(8, seed, by="label")) for seed in range(5)}
    assert len(orders) > 1  # the seed draws who holds which


def test_one_class_or_one_agent_is_dealt_by_label_as_equally_as_can_be() -> None:
    assert [part.records for part in numbered(0, 10).split(4, by="label")] == [3, 3, 2, 2]
    (whole,) = numbered(4, 4).split(1, by="label")
    assert whole.records == 8


def skew(concentration: float) -> tuple[float, float]:
    """The largest agent's part of all records, and the mean over agents of the larger class's part, over seeds."""
    largest, purity = [], []
    for seed in range(20):
        parts = numbered(200, 200).split(8, seed, by="dirichlet", concentration=concentration)
        largest.append(max(part.records for part in parts) / 400)
        purity.append(np.mean([max((part.labels == 1).mean(), (part.labels == -1).mean()) for part in parts]))
    return float(np.mean(largest)), float(np.mean(purity))


def test_a_small_concentration_is_skewed_and_a_large_one_equal() -> None:
    skews = [skew(concentration) for concentration in (0.05, 1.0, 100.0, 1e8)]
    assert skews == sorted(skews, reverse=True)
    assert sorted((p for _, p in skews), reverse=True) == [p for _, p in skews]
    assert skews[0][0] > 0.4
    assert skews[0][1] > 0.9
    assert skews[-1] == pytest.approx((1 / 8, 1 / 2), abs=0.01)


@pytest.mark.parametrize("seed", range(5))
def test_an_endless_concentration_gives_equal_shares_of_each_class(seed: int) -> None:
    parts = numbered(101, 57).split(6, seed, by="dirichlet", concentration=1e12)
    for label in (-1.0, 1.0):
        counts = [int((part.labels == label).sum()) for part in parts]
        assert max(counts) - min(counts) <= 1


@pytest.mark.slow
def test_the_shares_are_those_of_the_dirichlet_law() -> None:
    """A share of Dir(c, …, c) over n agents has mean 1/n and variance (1/n)(1 − 1/n)/(nc + 1)."""
    n, c = 4, 0.7
    shares = np.array(
        [
            [part.records / 2000 for part in numbered(0, 2000).split(n, seed, by="dirichlet", concentration=c)]
            for seed in range(1500)
        ]
    )
    np.testing.assert_allclose(shares.mean(axis=0), 1 / n, atol=0.02)
    np.testing.assert_allclose(shares.var(axis=0), (1 / n) * (1 - 1 / n) / (n * c + 1), rtol=0.12)


def test_real_targets_are_one_class_to_dirichlet_and_none_by_label() -> None:
    data = load("synthetic", records=60, dimension=2, kind="regression")
    parts = data.split(5, by="dirichlet", concentration=0.3)
    assert sum(part.records for part in parts) == 60
    assert len({part.records for part in parts}) > 2
    with pytest.raises(ScenarioError, match="real targets have no classes"):
        data.split(5, by="label")


@pytest.mark.parametrize(
    ("way", "field"),
    [
        ({"by": "dirichlet"}, "concentration"), ({"by": "dirichlet", "concentration": 0.0}, "concentration"),
        ({"by": "dirichlet", "concentration": np.inf}, "concentration"),
        ({"by": "equal", "concentration": 1.0}, "concentration"), ({"by": "labels"}, "by"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(way: dict, field: str) -> None:
    assert refusal(numbered(5, 5).split, 2, **way).field == field
