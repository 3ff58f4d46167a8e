"""Noise: what `Node.privatize` adds, and the density by which a reader explains what it saw.

A mechanism is frozen data. `release` draws, `log_density` prices: log p(observed | value), summed over the
coordinates, one number per replica. Both work on arrays of shape (replicas, dimension); a scale is a float or
an array that broadcasts against that shape (one scale per replica makes a sweep one run).

With scale 0 nothing is added and nothing is protected: `noiseless` is true and readers treat the value as sent
in the clear.
"""

from netsim.mechanisms.gaussian import Gaussian, gaussian_log_mass
from netsim.mechanisms.laplace import Laplace, laplace_log_mass
from netsim.mechanisms.protocol import IntervalMechanism, Mechanism, Scale

__all__ = [
    "Gaussian",
    "IntervalMechanism",
    "Laplace",
    "Mechanism",
    "Scale",
    "gaussian_log_mass",
    "laplace_log_mass",
]
