"""From gradients to data, one attack a file."""

from attacks.reconstruction.single_record import Prior, Reconstruction, reconstruct_single

__all__ = ["Prior", "Reconstruction", "reconstruct_single"]
