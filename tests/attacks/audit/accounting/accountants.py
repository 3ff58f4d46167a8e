"""Mixes of releases, and what `dp_accounting` says of them."""

from functools import cache, reduce

import numpy as np

from attacks.audit.accounting.products import Product

_rng = np.random.default_rng(20)
SPACING = 1e-3
"""Of the losses that the accountant discretizes to. Its pessimistic values, by connected dots, are upper bounds."""
mixes = {
    "500 mixed": Product.gaussian(_rng.exponential(0.12, 250), 1.0)
    * Product.laplace(_rng.choice([0.02, 0.05, 0.1, 0.2], 250), 1.0),
    "500 large": Product.gaussian(_rng.exponential(0.7, 250), 1.0)
    * Product.laplace(_rng.choice([0.1, 0.4, 0.8, 1.5], 250), 1.0),
    "500 Laplace": Product.laplace(_rng.choice([0.5, 1.0, 1.2], 500), 1.0),
    "10 dimensions of 20": Product.gaussian(_rng.normal(0, 0.1, (10, 10)), 1.0)
    * Product.laplace(np.tile(_rng.choice([0.05, 0.1, 0.3], (10, 1)), (1, 10)), 1.0),
    "gauss and laplace": Product(1.0, (5.0,)),
    "three Laplace": Product(0.0, (1.0, 0.5, 0.2)),
    "one Laplace": Product(0.0, (1.5,)),
    "one Gaussian": Product(4.0),
    "tiny": Product(1e-14, (1e-7, 1e-8)),
}


def distribution(product: Product, spacing: float = SPACING):
    """The privacy loss distribution of a product, pessimistic."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    options = {"value_discretization_interval": spacing}
    parts = [pld.from_gaussian_mechanism(1 / product.mu, **options)] if product.mu else []
    for shift, count in zip(*product.levels, strict=True):
        parts.append(pld.from_laplace_mechanism(1 / shift, **options).self_compose(int(count)))
    return reduce(lambda one, two: one.compose(two), parts)


@cache
def accountant(name: str):
    """The privacy loss distribution of a mix."""
    return distribution(mixes[name])
