"""Tensors without data that stand for tensors on a device (`torch._subclasses.fake_tensor`)."""

from typing import Any

from ..aten.fake import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorDeviceMismatchError,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
    is_fake,
    maybe_get_fake_mode,
    unset_fake_temporarily,
)
from ..core.tensor import Tensor

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorDeviceMismatchError",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
    "is_fake",
    "maybe_get_fake_mode",
    "unset_fake_temporarily",
]


class FakeTensorConverter:
    """What turns tensors into fake ones: the mode does, without a table of its own."""

    def __init__(self, *, copy_data: bool = False, export: bool = False) -> None:
        self.export = export

    def from_real_tensor(self, fake_mode: FakeTensorMode, t: Tensor, **kwargs: Any) -> Any:
        """The fake tensor that stands for `t`."""
        return fake_mode.from_tensor(t)

    def from_meta_and_device(
        self, fake_mode: FakeTensorMode, t: Tensor, device: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """The fake tensor of a tensor without data, on a device."""
        return FakeTensor(fake_mode, t, device)


def _is_tensor_constructor(func: Any) -> bool:
    """Whether an operator makes a tensor of no other: its schema has no tensor among the arguments
    and gives one.
    """
    schema = func._schema
    return not any("Tensor" in str(a.type) for a in schema.arguments) and [
        str(r.type) for r in schema.returns
    ] == ["Tensor"]
