"""`torch.sparse.FloatTensor` and similar classes: the constructors from before `sparse_coo_tensor`."""

from __future__ import annotations

from typing import Any

from .. import devices, dtypes
from ..api.create.by_name import TYPE_NAMES
from ..core.tensor import Tensor
from ..errors import warn_once
from ..ops._overloads import native
from ._convert import NAMES
from ._create import sparse_coo_tensor
from ._tensor import SparseTensor, is_sparse, method


class _SparseType(type):
    """`isinstance` asks for layout and dtype, calling makes a tensor of them."""

    tensor_dtype: dtypes.dtype

    def __instancecheck__(cls, obj: Any) -> bool:
        return is_sparse(obj) and obj.is_sparse and obj.dtype is cls.tensor_dtype

    @property
    def dtype(cls) -> dtypes.dtype:
        return cls.tensor_dtype

    @property
    def layout(cls) -> Any:
        return devices.sparse_coo

    @property
    def is_sparse(cls) -> bool:
        return True

    def __repr__(cls) -> str:
        return f"<class 'torch.sparse.{cls.__name__}'>"


def _deprecated(old: str, new: str, device: str = "") -> None:
    warn_once(
        f"torch.sparse.SparseTensor({old}) is deprecated.  Please use torch.sparse_coo_tensor({new}dtype={device})."
    )


def _builder(kind: dtypes.dtype, caller: str) -> Any:
    """What makes a sparse tensor of indices and values, or of sizes."""

    @native("_sparse.new")
    def build(*args: Any, device: Any = None) -> Any:
        if device is not None and (where := devices.device(device)).type != "cpu":
            raise RuntimeError(
                f"legacy constructor expects device type: cpu but device type: {where.type} was passed"
            )
        if args and isinstance(args[0], Tensor):
            taken = "indices, values, " + "shape, " * (len(args) == 3)
            _deprecated(taken + "*, device=", taken, ", device=")
            if len(args) == 2 and args[0].dtype is not dtypes.int64:
                found = args[0].dtype.scalar_type_name
                raise RuntimeError(f"expected scalar type Long but found {found}")
            # PyTorch keeps the values' own type here.
            return sparse_coo_tensor(*args, check_invariants=False)
        if not args:
            _deprecated("", "(0,), ")
            return sparse_coo_tensor(size=(0,), dtype=kind, check_invariants=False)
        _deprecated("shape, *, device=", "shape, ", ", device=")
        size = args[0] if isinstance(args[0], (tuple, list)) else args
        if size is not args and not isinstance(size, devices.Size):
            raise TypeError(
                f"{caller}(sequence) only accepts sizes.  Please use torch.sparse_coo_tensor() "
                "or construct a strided tensor and convert it to sparse via to_sparse."
            )
        return sparse_coo_tensor(size=tuple(size), dtype=kind, check_invariants=False)

    return build


def _type(name: str, kind: dtypes.dtype) -> _SparseType:
    build = _builder(kind, "torch.sparse.SparseTensor")

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        alike = len(args) == 1 and isinstance(args[0], cls)
        return args[0].detach() if alike else build(*args, **kwargs)

    made = _SparseType(
        name, (), {"__new__": new, "tensor_dtype": kind, "__module__": "torch.sparse"}
    )
    made.__doc__ = (
        f"Old name of sparse tensors of {kind!r}: made of indices, values and size, or of sizes."
    )
    return made


_BY_TYPE = {
    kind: _type(name, kind)
    for kind, name in TYPE_NAMES.items()
    if not name.startswith(("UInt", "Bool", "Complex", "Float8"))
}
__all__ = []
for _made in _BY_TYPE.values():
    globals()[_made.__name__] = _made
    __all__.append(_made.__name__)  # noqa: PYI056
_SparseType.__name__ = "tensortype"
_dense_type = Tensor.type


@method("type")
def _type_of(self: Any, dtype: Any = None, non_blocking: bool = False, **_: Any) -> Any:
    if dtype is None:
        if self._array.layout != "coo":
            raise RuntimeError("Unimplemented backend SparseCsrCPU")
        return f"torch.sparse.{TYPE_NAMES[self.dtype]}"
    return _dense_type(self, dtype)


def _new(self: Any, *args: Any, **kwargs: Any) -> Any:
    """A sparse tensor of the same dtype."""
    return _builder(self.dtype, "SparseTensor.new")(*args, **kwargs)


SparseTensor.new = _new  # type: ignore[method-assign]  # its signatures are not those of `Tensor.new`


@method()
def type_as(self: Any, other: Any) -> Any:
    mine, theirs = (NAMES[x._array.layout if is_sparse(x) else "strided"] for x in (self, other))
    if mine != theirs:
        raise RuntimeError(
            f"to(options) doesn't support converting to a different layout, but got self.layout being {mine} and options.layout set as {theirs}"
        )
    return self.to(other.dtype)
