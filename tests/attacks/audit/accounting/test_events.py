"""What `dp_accounting` makes of exported claims and releases, against numbers of ours and closed forms."""

import math

import pytest

from attacks.audit.accounting.products import Product, claimed_event, claimed_loss, product_event
from attacks.audit.accounting.quadrature import product_epsilon
from netsim.claims import Adjacency, Claim
from netsim.errors import PrivacyError

accounting = pytest.importorskip("dp_accounting")


def claim(epsilon, delta=0.0):
    return Claim(epsilon, delta, "Theorem 0", Adjacency(1.0, "one record"), "l1")


def priced(event, delta, count=1):
    accountant = accounting.pld.PLDAccountant(value_discretization_interval=1e-4)
    return accountant.compose(event, count).get_epsilon(delta)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_pure_claim_costs_what_it_says_and_composes_as_randomized_response(epsilon):
    event = claimed_event(claim(epsilon))
    assert priced(event, 0.0) == pytest.approx(epsilon, abs=2e-4)
    assert priced(event, 0.0, 3) == pytest.approx(3 * epsilon, abs=4e-4)
    # of two of them, Kairouz, Oh, Viswanath: δ(ε) = (e^{2ε} − e^{ε'})/(1 + e^ε)² for ε' in [0, 2ε]
    delta = 0.3 * (math.exp(2 * epsilon) - 1) / (1 + math.exp(epsilon)) ** 2
    expected = math.log(math.exp(2 * epsilon) - delta * (1 + math.exp(epsilon)) ** 2)
    assert priced(event, delta, 2) == pytest.approx(expected, abs=1e-3)


def test_claims_without_a_number_protect_nothing():
    assert claimed_event(claim(None)) == accounting.NonPrivateDpEvent()
    assert claimed_event(claim(math.inf)) == accounting.NonPrivateDpEvent()
    assert claimed_event(claim(0.0)) == accounting.NoOpDpEvent()
    with pytest.raises(PrivacyError, match="epsilon"):
        claimed_loss(claim(None))


def test_an_approximate_claim_has_a_loss_and_no_event():
    with pytest.raises(PrivacyError, match="claimed_loss"):
        claimed_event(claim(1.0, 1e-5))
    loss = claimed_loss(claim(1.0, 1e-5))
    assert loss.get_epsilon_for_delta(1e-5) == pytest.approx(1.0, abs=1e-3)
    assert loss.get_epsilon_for_delta(0.0) == math.inf
    assert loss.self_compose(2).get_epsilon_for_delta(2e-5) == pytest.approx(2.0, abs=2e-3)


@pytest.mark.parametrize(
    "product",
    [
        Product(1.3),
        Product(0.0, (0.4,)),
        Product(0.0, (0.4, 0.4, 0.4, 1.1)),
        Product(0.5, (0.7, 0.7, 0.2)),
    ],
)
@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_releases_are_priced_as_here(product, delta):
    assert priced(product_event(product), delta) == pytest.approx(product_epsilon(product, delta), abs=2e-3)


def test_a_claim_and_releases_compose_in_one_accountant():
    both = accounting.ComposedDpEvent([claimed_event(claim(0.5)), product_event(Product(0.0, (0.4,)))])

    def of_laplace(epsilon):
        return 0.0 if epsilon > 0.4 else 1 - math.exp((epsilon - 0.4) / 2)

    for epsilon in (0.2, 0.6, 0.8):  # ±0.5 by the claim, then what Laplace noise of shift 0.4 adds to it
        true = math.exp(0.5) / (1 + math.exp(0.5))
        delta = true * of_laplace(epsilon - 0.5) + (1 - true) * of_laplace(epsilon + 0.5)
        assert priced(both, delta) == pytest.approx(epsilon, abs=1e-3)


def test_nothing_told_and_nothing_covered():
    assert product_event(Product()) == accounting.NoOpDpEvent()
    assert product_event(Product(0.0, (math.inf,))) == accounting.NonPrivateDpEvent()
    assert product_event(Product(math.inf)) == accounting.NonPrivateDpEvent()
