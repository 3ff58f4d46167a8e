"""Noise: what `Node.privatize` adds, and the density by which a reader explains what it saw.

A mechanism is frozen data. `release` draws, `log_density` prices: log p(observed | value), summed over the
coordinates, one number per replica. Both work on arrays of shape (replicas, dimension); a scale is a float or
an array that broadcasts against that shape (one scale per replica makes a sweep one run).

With scale 0 nothing is added and nothing is protected: `noiseless` is true and readers treat the value as sent
in the clear.

`Laplace` and `Gaussian` are the continuous laws; `DiscreteLaplace` and `DiscreteGaussian` live on a grid;
`UniformLaplace` is the mixture that random weights make; `UniformModulo` makes additive secret shares.
"""

from netsim.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace, UniformModulo
from netsim.mechanisms.mechanism import (
    DiscreteMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    OffCenter,
    Releasing,
    Scale,
    UniformLaplace,
    average_ratio,
    average_supremum_ratio,
    gaussian_average_loss,
    laplace_average_loss,
    mixture_average_loss,
    released,
)

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DiscreteMechanism",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "OffCenter",
    "Releasing",
    "Scale",
    "UniformLaplace",
    "UniformModulo",
    "average_ratio",
    "average_supremum_ratio",
    "gaussian_average_loss",
    "laplace_average_loss",
    "mixture_average_loss",
    "released",
]
