"""The one array type: float64, shape (replicas, dimension) unless a docstring says otherwise."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
"""Float64 values; the leading axis is the replica, the last one the coordinate."""
Mask: TypeAlias = NDArray[np.bool_]
"""Which replicas, or which coordinates."""
