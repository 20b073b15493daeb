"""The array namespace on NumPy (seam 1). Forward rules call these functions as `xp.name(...)`.

Names and meanings are NumPy's; what NumPy lacks is defined here or in the modules imported at the end, with generated kernels
where NumPy is slow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import *  # noqa: F403 (the namespace is NumPy's, plus what follows)
from numpy import asarray, ndarray

from .numpy_extra import *  # noqa: F403

name = "numpy"


def __getattr__(attribute: str) -> Any:
    try:
        return getattr(np, attribute)
    except AttributeError:
        raise AttributeError(f"the array namespace has no function {attribute!r}") from None


def as_array(value: Any) -> ndarray:
    """An ndarray for a NumPy scalar or array (ufuncs on 0-d arrays return scalars)."""
    return value if type(value) is ndarray else asarray(value)
