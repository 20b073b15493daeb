"""Moving a module's parameters and buffers to another dtype or device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from ... import dtypes
from ...api.sharing import swap_tensors
from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, UnsupportedError, type_name
from ..parameter import Parameter, is_lazy


def parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """(dtype, device, memory format) of a call of `to`.

    Raises:
        TypeError: arguments that it does not take.
    """
    kind, where = kwargs.pop("dtype", None), kwargs.pop("device", None)
    layout = kwargs.pop("memory_format", None)
    kwargs.pop("non_blocking", None)
    tensor = kwargs.pop("tensor", None)
    if kwargs:
        raise ArgumentTypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    rest, flagged = list(args), False  # flags come after a dtype only
    if rest and isinstance(rest[0], Tensor):
        tensor = rest.pop(0)
    elif rest and dtypes.is_dtype(rest[0]):
        kind = rest.pop(0)
    elif rest:
        where = rest.pop(0)
        flagged = len(rest) > 0 and rest[0] is not None and not dtypes.is_dtype(rest[0])
        kind = rest.pop(0) if rest and not flagged else kind
    if flagged or (rest and not isinstance(rest[0], bool)):
        raise ArgumentTypeError(
            f"to() received an invalid combination of arguments - got ({', '.join(map(type_name, args))}), but expected one of:\n"
            " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, torch.memory_format "
            "memory_format = None)\n"
            " * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n"
            " * (Tensor tensor, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n"
        )
    if tensor is not None:
        kind, where = tensor.dtype, tensor.device
    if isinstance(where, int):
        where = dtypes.device(where)
    return dtypes.check_dtype(kind, "to"), where, layout


class _Replacing:
    """The settings of `torch.__future__`: what becomes of a parameter that is converted."""

    overwrite = False  # a new Parameter takes its place
    swap = False  # it is the same object, with what a new Parameter holds


replacing = _Replacing()


class ConvertMixin:
    """`to`, `float`, `double`, ... of Module."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    children: Callable[[], Any]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace every parameter, gradient and buffer by `fn` of it; parameters stay the same
        objects on one device.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        for key, param in self._parameters.items():
            if param is None:
                continue
            with no_grad():
                fresh = fn(param)
                grad = None if param._grad is None else fn(param._grad)
            if is_lazy(param):
                param._array = fresh._array
            elif replacing.swap:
                fresh = Parameter(fresh, param.requires_grad)
                fresh._grad = grad
                param._grad = None
                swap_tensors(param, fresh)
            elif fresh.device == param.device and not replacing.overwrite:
                param.data = fresh
                if grad is not None and grad is not param._grad:
                    if param._grad.is_sparse:
                        param._grad = grad
                    else:
                        param._grad.data = grad
            else:
                replaced = Parameter(fresh, param.requires_grad)
                replaced._grad = grad
                self._parameters[key] = replaced
        for key, buffer in self._buffers.items():
            if buffer is None:
                continue
            fresh = fn(buffer)
            if is_lazy(buffer):
                buffer._array = fresh._array
            else:
                self._buffers[key] = fresh
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert the parameters and buffers in place, and return the module: `to(dtype)`,
        `to(device, dtype)` or `to(tensor)`. Integer buffers keep their dtype.

        Raises:
            TypeError: a dtype that is neither floating point nor complex.
        """
        kind, where, layout = parse_to(args, kwargs)
        if kind is not None and not (kind.is_floating_point or kind.is_complex):
            raise ArgumentTypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={kind}"
            )

        def convert(t: Any) -> Any:
            wanted = kind if t.is_floating_point() or t.is_complex() else None
            try:
                if layout is not None and not is_lazy(t) and t.dim() in (4, 5):
                    return t.to(where, wanted, memory_format=layout)
                return t.to(where, wanted)
            except NotImplementedError as error:
                if str(error).startswith("Cannot copy out of meta tensor; no data!"):
                    raise UnsupportedError(
                        "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                        "torch.nn.Module.to() when moving module from meta to a different device."
                    ) from None
                raise

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Give parameters and buffers new memory on a device, with undefined values."""
        return self._apply(lambda t: t.new_empty(t.shape, device=device), recurse=recurse)

    def _to_floating(self, kind: dtypes.dtype) -> Self:
        return self._apply(lambda t: t.to(kind) if t.is_floating_point() else t)

    def float(self) -> Self:
        """Cast floating-point parameters and buffers to float32."""
        return self._to_floating(dtypes.float32)

    def double(self) -> Self:
        """Cast floating-point parameters and buffers to float64."""
        return self._to_floating(dtypes.float64)

    def half(self) -> Self:
        """Cast floating-point parameters and buffers to float16."""
        return self._to_floating(dtypes.float16)

    def bfloat16(self) -> Self:
        """Cast floating-point parameters and buffers to bfloat16."""
        return self._to_floating(dtypes.bfloat16)

    def type(self, dst_type: Any) -> Self:
        """Cast all parameters and buffers to `dst_type`."""
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self) -> Self:
        """The module itself: it is on the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Not supported: Pellucid computes on the CPU, so the tensors raise an error."""
        return self._apply(lambda t: t.cuda(device))
