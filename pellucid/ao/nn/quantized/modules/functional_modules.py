"""Arithmetic as modules, so that its results can be observed and have a scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....core.public import FUNCTIONS
from .....nn.modules.linear import Identity
from .....nn.modules.module import Module
from .utils import activation_parameters, number, operators, scalar


class FloatFunctional(Module):
    """Arithmetic as methods: `add`, `mul`, `cat` and others, each of them the operation itself.

    >>> import pellucid as torch
    >>> torch.ao.nn.quantized.FloatFunctional().add_relu(torch.tensor([1.0]), torch.tensor([-3.0]))
    tensor([0.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process: Any = Identity()

    def forward(self, x: Any) -> Any:
        raise RuntimeError(
            "FloatFunctional is not intended to use the 'forward'. Please use the underlying operation"
        )

    def add(self, x: Any, y: Any) -> Any:
        """x + y."""
        return self.activation_post_process(x + y)

    def add_scalar(self, x: Any, y: Any) -> Any:
        """x + y, not observed."""
        return x + y

    def mul(self, x: Any, y: Any) -> Any:
        """x * y."""
        return self.activation_post_process(x * y)

    def mul_scalar(self, x: Any, y: Any) -> Any:
        """x * y, not observed."""
        return x * y

    def cat(self, x: Any, dim: int = 0) -> Any:
        """The tensors one after the other along a dimension."""
        return self.activation_post_process(FUNCTIONS["torch"]["cat"](x, dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        """relu(x + y)."""
        return self.activation_post_process(FUNCTIONS["torch"]["relu"](x + y))

    def matmul(self, x: Any, y: Any) -> Any:
        """x @ y."""
        return self.activation_post_process(x @ y)


class FXFloatFunctional(FloatFunctional):
    """As `FloatFunctional`, whose results nothing observes."""

    def __init__(self) -> None:
        Module.__init__(self)
        object.__setattr__(self, "activation_post_process", lambda x: x)


class QFunctional(Module):
    """Arithmetic of quantized tensors, with the scale and the zero point of its results.

    Attributes:
        scale, zero_point: of results.
    """

    def __init__(self) -> None:
        super().__init__()
        self.scale: Any = 1.0
        self.zero_point: Any = 0
        self.activation_post_process = Identity()

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = scalar(self.scale)
        destination[prefix + "zero_point"] = scalar(self.zero_point, np.int64)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        self.scale = float(number(state_dict.pop(prefix + "scale")))
        self.zero_point = int(number(state_dict.pop(prefix + "zero_point")))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    def _get_name(self) -> str:
        return "QFunctional"

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def forward(self, x: Any) -> Any:
        raise RuntimeError(
            "Functional is not intended to use the 'forward'. Please use the underlying operation"
        )

    def add(self, x: Any, y: Any) -> Any:
        """x + y."""
        return self.activation_post_process(operators.add(x, y, self.scale, self.zero_point))

    def add_scalar(self, x: Any, y: Any) -> Any:
        """x + y."""
        return self.activation_post_process(operators.add_scalar(x, y))

    def mul(self, x: Any, y: Any) -> Any:
        """x * y."""
        return self.activation_post_process(operators.mul(x, y, self.scale, self.zero_point))

    def mul_scalar(self, x: Any, y: Any) -> Any:
        """x * y."""
        return self.activation_post_process(operators.mul_scalar(x, y))

    def cat(self, x: Any, dim: int = 0) -> Any:
        """The tensors one after the other along a dimension."""
        return self.activation_post_process(operators.cat(x, dim, self.scale, self.zero_point))

    def add_relu(self, x: Any, y: Any) -> Any:
        """relu(x + y)."""
        return self.activation_post_process(operators.add_relu(x, y, self.scale, self.zero_point))

    def matmul(self, x: Any, y: Any) -> Any:
        """x @ y."""
        return operators.matmul(x, y, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of a `FloatFunctional` that was prepared."""
        made = cls()
        made.scale, made.zero_point = activation_parameters(mod)
        return made
