"""Argument checks that several losses share."""

from __future__ import annotations

from .... import dtypes
from ....core.tensor import Tensor
from ....dtypes import can_cast
from ....errors import DtypeError, UnsupportedError, warn
from ....shapes import broadcast_shapes
from ..._rules import asked_for, require_tensor


def has_log_sigmoid(input: Tensor) -> None:
    """Refuse what PyTorch's losses of logits find no logarithm of a sigmoid for."""
    if not input.dtype.is_floating_point:
        raise no_kernel("log_sigmoid_cpu", input.dtype)


def no_kernel(kernel: str, kind: dtypes.dtype) -> Exception:
    """The refusal of numbers that PyTorch's kernel of this name does not take."""
    return UnsupportedError(
        f"\"{kernel}\" not implemented for '{kind.scalar_type_name}'",
        hint="convert first: x.float()",
    )


def check_pair(name: str, input: Tensor, target: Tensor) -> None:
    """Tensors of shapes that broadcast; a difference is warned about as PyTorch does."""
    asked_for("size", target, input)
    x, t = (
        require_tensor(input, name)._array.shape,
        require_tensor(target, name, "target", 2)._array.shape,
    )
    if x == t:
        return
    warn(
        f"Using a target size (torch.Size({list(t)})) that is different to the input size (torch.Size({list(x)})). This will likely lead "
        "to incorrect results due to broadcasting. Please ensure they have the same size.",
        UserWarning,
    )
    broadcast_shapes(x, t)


def held_by(own: dtypes.dtype, kind: dtypes.dtype, name: str = "") -> None:
    """Refuse to write results of type `kind` into a tensor of type `own`, which is called `name` in
    the error.
    """
    if not can_cast(kind, own):
        name = name or own.scalar_type_name
        raise DtypeError(
            f"result type {kind.scalar_type_name} can't be cast to the desired output type {name}"
        )
