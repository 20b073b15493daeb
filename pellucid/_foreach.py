"""`torch._foreach_*` applies one operation to each tensor of a list. Optimizers of other libraries
use it.

>>> import pellucid as torch
>>> torch._foreach_add([torch.ones(1), torch.zeros(1)], 2.0)
(tensor([3.]), tensor([2.]))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .core.public import FUNCTIONS, METHODS
from .core.tensor import Tensor
from .errors import OperationError

_UNARY = (
    "abs acos asin atan ceil clone cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid "
    "sign sin sinh sqrt tan tanh trunc"
).split()
_BINARY = "add sub mul div maximum minimum clamp_min clamp_max pow".split()


def _others(tensors: Sequence[Tensor], other: Any) -> list[Any]:
    """The second argument of each tensor: its own, or the one for all.

    Raises:
        RuntimeError: lists of two lengths.
    """
    if not isinstance(other, (list, tuple)):
        return [other] * len(tensors)
    if len(other) != len(tensors):
        kind = "list" if other and isinstance(other[0], Tensor) else "scalar list"
        if kind == "list":
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(other)}"
            )
        raise RuntimeError(
            f"Tensor list must have same number of elements as scalar list, got {len(tensors)} and {len(other)}"
        )
    return list(other)


def _checked(tensors: Any) -> Sequence[Tensor]:
    if len(tensors) == 0:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return tensors


def _unary(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    function, method = FUNCTIONS["torch"][name], METHODS.get(f"{name}_")

    def new(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return tuple([function(x) for x in _checked(self)])

    def written(self: Sequence[Tensor]) -> None:
        assert method is not None
        for x in _checked(self):
            method(x)

    return new, written


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    function = FUNCTIONS["torch"][name]
    method = METHODS.get(f"{name}_")

    def apply(x: Any, other: Any, options: dict[str, Any]) -> Tensor:
        if name in ("maximum", "minimum") and not isinstance(other, Tensor):
            limit = "min" if name == "maximum" else "max"
            return x.clamp(**{limit: other})
        return function(x, other, **options)

    def new(
        self: Any,
        other: Any = None,
        *,
        scalar: Any = None,
        scalars: Any = None,
        exponent: Any = None,
        **options: Any,
    ) -> Any:
        given = next(x for x in (other, scalar, scalars, exponent) if x is not None)
        if not isinstance(self, (list, tuple)):  # pow(number, tensors)
            return tuple([function(self, x) for x in _checked(given)])
        return tuple(
            [
                apply(x, y, options)
                for x, y in zip(_checked(self), _others(self, given), strict=True)
            ]
        )

    def written(
        self: Any,
        other: Any = None,
        *,
        scalar: Any = None,
        scalars: Any = None,
        exponent: Any = None,
        **options: Any,
    ) -> None:
        given = next(x for x in (other, scalar, scalars, exponent) if x is not None)
        for x, y in zip(_checked(self), _others(self, given), strict=True):
            if method is None:
                x.copy_(apply(x, y, options))
            else:
                method(x, y, **options)

    return new, written


def _addc(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    function, method = FUNCTIONS["torch"][name], METHODS[f"{name}_"]

    def values(self: Any, value: Any, scalars: Any) -> list[Any]:
        given = value if scalars is None else scalars
        return (
            given.tolist()
            if isinstance(given, Tensor) and given.dim() == 1
            else _others(self, given)
        )

    def new(
        self: Any, tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None
    ) -> tuple[Tensor, ...]:
        rows = zip(_checked(self), tensor1, tensor2, values(self, value, scalars), strict=True)
        return tuple([function(x, a, b, value=v) for x, a, b, v in rows])

    def written(
        self: Any, tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None
    ) -> None:
        for x, a, b, v in zip(
            _checked(self), tensor1, tensor2, values(self, value, scalars), strict=True
        ):
            method(x, a, b, value=v)

    return new, written


def _foreach_lerp(
    self: Any, tensors1: Any, weights: Any = None, *, weight: Any = None
) -> tuple[Tensor, ...]:
    """`lerp` of each pair, with a weight for each pair or one for all."""
    given = weight if weights is None else weights
    return tuple(
        [
            x.lerp(y, w)
            for x, y, w in zip(_checked(self), tensors1, _others(self, given), strict=True)
        ]
    )


def _foreach_lerp_(self: Any, tensors1: Any, weights: Any = None, *, weight: Any = None) -> None:
    """`lerp_` of each pair, with a weight for each pair or one for all."""
    given = weight if weights is None else weights
    for x, y, w in zip(_checked(self), tensors1, _others(self, given), strict=True):
        x.lerp_(y, w)


def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The norm of each tensor's elements."""
    norm = FUNCTIONS["linalg"]["vector_norm"]
    return tuple([norm(x, ord, dtype=dtype) for x in _checked(self)])


def _foreach_max(self: Any) -> tuple[Tensor, ...]:
    """The largest element of each tensor."""
    return tuple([x.max() for x in _checked(self)])


def _foreach_zero_(self: Any) -> None:
    """Zeros in each tensor."""
    for x in _checked(self):
        x.zero_()


def _foreach_copy_(self: Any, src: Any, non_blocking: bool = False) -> None:
    """Copy each tensor of the second list into that of the first."""
    if len(self) != len(src):
        raise RuntimeError(
            f"Tensor lists must have the same number of tensors, got {len(self)} and {len(src)}"
        )
    for x, y in zip(_checked(self), src, strict=True):
        x.copy_(y)


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Devices on which PyTorch prefers to update lists of tensors."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Devices on which PyTorch has fused optimizers."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Split lists into groups by the device and dtype of the first list's tensors.

    Returns:
        dict: from (device, dtype) to the lists of that group (empty lists stay empty) and, with
        `with_indices`, the positions of its tensors.

    Raises:
        RuntimeError: no list, an empty first list, a first list with None, lists of two lengths.
    """
    for wrong, what in (
        (not tensorlistlist, "!nested_tensorlist.empty()"),
        (not (tensorlistlist and tensorlistlist[0]), "!nested_tensorlist[0].empty()"),
        (
            any(column and len(column) != len(tensorlistlist[0]) for column in tensorlistlist),
            (
                "std::all_of( nested_tensorlist.cbegin(), nested_tensorlist.cend(), "
                "[&](const auto& tensorlist) -> bool { return tensorlist.size() == num_tensors || "
                "tensorlist.size() == 0; })"
            ),
        ),
    ):
        if wrong:
            raise OperationError(
                f"Expected {what} to be true, but got false.  (Could this error message be "
                "improved?  If so, please report an enhancement request to PyTorch.)"
            )
    places: dict[Any, list[int]] = {}
    for k, x in enumerate(tensorlistlist[0]):
        if x is None:
            raise OperationError(
                "Tensors of the first list of nested Tensor lists are supposed to be defined "
                f"but the {k}-th Tensor is not."
            )
        places.setdefault((x.device, x.dtype), []).append(k)
    return {
        kind: (
            [[column[k] for k in these] if column else [] for column in tensorlistlist],
            these if with_indices else [],
        )
        for kind, these in places.items()
    }


def _publish() -> None:
    made = [(_UNARY, _unary), (_BINARY, _binary), (["addcmul", "addcdiv"], _addc)]
    for names, make in made:
        for name in names:
            for end, function in zip(("", "_"), make(name), strict=True):
                if end and name == "clone":
                    continue
                function.__name__ = function.__qualname__ = f"_foreach_{name}{end}"
                function.__doc__ = f"`{name}{end}` of each tensor."
                globals()[function.__name__] = function


_publish()
