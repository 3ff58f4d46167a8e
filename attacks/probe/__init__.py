"""The probe reader: an algorithm's own code tells how its messages depend on its private gradients."""

from attacks.probe.probe import Probed, probe

__all__ = ["Probed", "probe"]
