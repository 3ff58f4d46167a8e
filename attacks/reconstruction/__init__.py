"""Reconstruction of data from gradients, one attack a file."""

from attacks.estimates import Evidence
from attacks.reconstruction.attack import Attack, Case, Known, Needs, Prior, Reconstruction, check_all

__all__ = ["Attack", "Case", "Evidence", "Known", "Needs", "Prior", "Reconstruction", "check_all"]
