"""PyTorch's names for the nodes of in-place functions, where they differ from those of the
out-of-place functions.
"""

from __future__ import annotations

from typing import Any

from ..tape import named_type, titled
from ..tensor import OutputSlot

_NAMES = {
    **{f"{name}_": f"{name.capitalize()}Backward1" for name in ("acosh", "asinh", "atanh")},
    **{f"arc{name}_": f"A{name}Backward1" for name in ("cosh", "sinh", "tanh")},
    "bernoulli_": "BernoulliBackward2",
    "cauchy_": "CauchyBackward0",
    "celu_": "CeluBackward1",
    "elu_": "EluBackward1",
    "exponential_": "ExponentialBackward0",
    "fill_diagonal_": "CopySlices",
    "geometric_": "GeometricBackward0",
    "leaky_relu_": "LeakyReluBackward1",
    "log_normal_": "LogNormalBackward0",
    "normal_": "NormalBackward0",
    "polygamma_": "PolygammaBackward1",
    "random_": "RandomBackward0",
    "rrelu_": "RreluWithNoiseBackward1",
    "selu_": "EluBackward1",
    "threshold_": "ThresholdBackward1",
    "uniform_": "UniformBackward0",
}


def named(node: Any, name: str) -> Any:
    """Give the node recorded by the in-place function `name` its name in PyTorch; returns the node
    (None if there is none).
    """
    title = _NAMES.get(name)
    if node is not None and title is not None:
        node.__class__ = named_type(title)
    if type(node) is not OutputSlot and node is not None:
        node.extra()["writes"] = name
    return node


def regenerated(fresh: Any, base: Any) -> Any:
    """The node of a view that was recomputed after a write to its base. PyTorch recomputes it as
    `as_strided` of the base, so it has that name.
    """
    return titled(fresh, "AsStridedBackward0", of=(base,))._node
