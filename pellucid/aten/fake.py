"""Fake tensors, which have no data and stand for tensors on a device. Shapes, dtypes and strides
are computed, but values are not.

An operator on fake tensors runs on meta tensors, so the shape rules of the records determine the
result. An operator without such a rule runs on zeros.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import dtypes
from ..api import overriding
from ..api.create.construct import WithoutData
from ..arrays.meta import MetaArray
from ..core.public import FUNCTIONS
from ..core.tensor import Parameter, Tensor, make_tensor
from ..devices import Size
from . import dispatch, level
from .modes import TorchDispatchMode
from .overload import OpOverload, Tag, ops

aten: Any = ops.aten


class UnsupportedFakeTensorException(RuntimeError):
    """Something that fake tensors cannot stand for."""


class DynamicOutputShapeException(RuntimeError):
    """An operator whose result's shape depends on values."""

    def __init__(self, func: Any) -> None:
        super().__init__(func)
        self.func = func


class DataDependentOutputException(RuntimeError):
    """An operator whose result is a value."""

    def __init__(self, func: Any) -> None:
        super().__init__(func)
        self.func = func


class UnsupportedOperatorException(RuntimeError):
    """An operator that cannot run without data."""

    def __init__(self, func: Any) -> None:
        super().__init__(func)
        self.func = func


class FakeTensor(Tensor):
    """A tensor without data that says it is on a device; made by a `FakeTensorMode`."""

    fake_mode: FakeTensorMode
    fake_device: dtypes.device
    constant: Tensor | None
    # the shape with symbols for dynamic sizes, in exported graphs
    symbolic: tuple[Any, ...] | None = None
    __torch_function__ = overriding.disabled

    @property
    def shape(self) -> Any:
        """The size of each dimension."""
        return Tensor.shape.fget(self) if self.symbolic is None else Size(self.symbolic)  # type: ignore[attr-defined]

    @property
    def device(self) -> dtypes.device:
        """The device that it stands for."""
        return self.fake_device

    @property
    def is_meta(self) -> bool:
        """Whether it stands for a meta tensor."""
        return self.fake_device.type == "meta"

    @classmethod
    def __torch_dispatch__(
        cls, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """The operator under the mode of the arguments."""
        known = next(t for t in dispatch.leaves(args, kwargs or {}) if isinstance(t, FakeTensor))
        return known.fake_mode.run(func, args, kwargs or {})

    @staticmethod
    def from_tensor(t: Tensor, fake_mode: FakeTensorMode) -> FakeTensor:
        """As `FakeTensorMode.from_tensor`."""
        return fake_mode.from_tensor(t)

    def tolist(self) -> Any:
        """Not supported: there are no values."""
        raise DataDependentOutputException(aten._local_scalar_dense.default)

    def unique(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: how many values there are depends on them."""
        raise DynamicOutputShapeException(aten._unique2.default)

    def __deepcopy__(self, memo: Any) -> FakeTensor:
        made = self.fake_mode._made(_meta(self), self.fake_device)
        made._rg = self._rg
        memo[id(self)] = made
        return made

    def __repr__(self, **_: Any) -> str:
        parts = ["..."]
        if self.fake_device.type != "cpu":
            parts.append(f"device='{self.fake_device}'")
        parts.append(f"size={tuple(self._array.shape)}")
        kind = dtypes.BY_NUMPY[self._array.dtype]
        if kind is not dtypes.get_default_dtype():
            parts.append(f"dtype={kind}")
        node = self.grad_fn
        if node is not None:
            parts.append(f"grad_fn=<{node.name()}>")
        elif self._rg:
            parts.append("requires_grad=True")
        shown = f"FakeTensor({', '.join(parts)})"
        return f"Parameter({shown})" if self.__dict__.get("_is_param") else shown

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)


def _meta(t: Any) -> Tensor:
    """Return a meta tensor with the same shape, dtype and strides."""
    made: Tensor = make_tensor(MetaArray(t._array.shape, t._array.dtype, t._array.strides))
    return made


class FakeTensorMode(TorchDispatchMode):
    """Context manager in which operators run without data: factories make fake tensors, and
    operators on them fake results.

    Args:
        allow_fallback_kernels: operators without a shape rule run on zeros; otherwise they are
            refused.
        allow_non_fake_inputs: ordinary tensors may meet fake ones.
        shape_env, static_shapes: kept; shapes are numbers here.

    >>> import pellucid as torch
    >>> with FakeTensorMode():
    ...     torch.nn.Linear(3, 4)(torch.ones(2, 3))
    FakeTensor(..., size=(2, 4), grad_fn=<AddmmBackward0>)
    """

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: Any = None,
        static_shapes: bool | None = None,
        export: bool = False,
    ) -> None:
        super().__init__()
        self.allow_fallback_kernels, self.allow_non_fake_inputs = (
            allow_fallback_kernels,
            allow_non_fake_inputs,
        )
        self.shape_env, self.static_shapes = (
            shape_env,
            True if static_shapes is None else static_shapes,
        )

    @classmethod
    def is_infra_mode(cls) -> bool:
        """It is one of the library's own."""
        return True

    def from_tensor(
        self,
        tensor: Tensor,
        *,
        static_shapes: bool | None = None,
        source: Any = None,
        symbolic_context: Any = None,
        trace: bool = True,
    ) -> FakeTensor:
        """The fake tensor that stands for a tensor: the same one each time."""
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return tensor
        known = _of(self, tensor)
        if known is None:
            known = self._made(_meta(tensor), tensor.device)
            known._rg = tensor._rg
            if isinstance(tensor, Parameter):
                known.__dict__["_is_param"] = True
            tensor.__dict__.setdefault("_fakes", []).append((weakref.ref(self), known))
        elif tensor._node is None:
            known._rg = tensor._rg
        return known

    def fake_tensor_converter(self, tensor: Tensor) -> FakeTensor:
        """As `from_tensor`."""
        return self.from_tensor(tensor)

    def _made(self, meta: Tensor, where: dtypes.device) -> FakeTensor:
        array = WithoutData(meta._array.shape, meta._array.dtype, meta._array.strides)
        array.device = where
        t: FakeTensor = make_tensor(array, FakeTensor)
        t.fake_mode, t.constant = self, None
        t.fake_device = (
            dtypes.device(where.type, 0) if where.type == "cuda" and where.index is None else where
        )
        level.live(t)
        return t

    def __torch_dispatch__(
        self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return self.run(func, args, kwargs or {})

    def run(self, func: OpOverload, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run an operator without data."""
        tensors = [t for t in dispatch.leaves(args, kwargs) if isinstance(t, Tensor)]
        for t in tensors:
            if isinstance(t, FakeTensor) and t.fake_mode is not self:
                raise AssertionError(
                    f"Mixing fake modes NYI x.fake_mode={t.fake_mode} vs self={self}"
                )
        if func._opname in ("lift_fresh", "lift") and not isinstance(tensors[0], FakeTensor):
            made = self.from_tensor(tensors[0])
            made.constant = tensors[0]
            return made
        if (
            func is aten._local_scalar_dense.default
            and isinstance(tensors[0], FakeTensor)
            and tensors[0].constant is not None
        ):
            return tensors[0].constant.item()
        if any(not isinstance(t, FakeTensor) for t in tensors):
            if not self.allow_non_fake_inputs:
                shown = ", ".join(map(_shown, args))
                raise AssertionError(
                    "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with 'allow_non_fake_inputs'. Found in "
                    f"{func}({shown})"
                )
            args, kwargs = _mapped(self.from_tensor, args), _mapped(self.from_tensor, kwargs)
            tensors = [t for t in dispatch.leaves(args, kwargs) if isinstance(t, Tensor)]
        self._refuse(func, args)
        where = self._place(func, tensors, kwargs)
        given, named = _mapped(_meta, args), _mapped(_meta, kwargs)
        if "device" in named or not tensors:
            named = (
                {**named, "device": dtypes.device("meta")}
                if any(a.name == "device" for a in func._schema.arguments)
                else named
            )
        with dispatch.only(()):
            made = self._computed(func, given, named)
        if func._schema.is_mutable:
            return self._written(func, args, kwargs, given, named, made, where)
        return _mapped(lambda t: self._made(t, where), made)

    def _refuse(self, func: OpOverload, args: Any) -> None:
        if Tag.data_dependent_output in func.tags:
            raise DataDependentOutputException(func)
        if Tag.dynamic_output_shape in func.tags:
            masks = func._opname != "index" or any(
                i is not None and i._array.dtype.kind == "b" for i in args[1]
            )
            if masks:
                raise DynamicOutputShapeException(
                    aten.nonzero.default if func._opname in ("index", "masked_select") else func
                )
        if func._opname == "index" and any(
            i is not None and i._array.dtype.kind == "b" for i in args[1]
        ):
            raise DynamicOutputShapeException(aten.nonzero.default)

    def _place(self, func: OpOverload, tensors: list[Any], kwargs: dict[str, Any]) -> dtypes.device:
        """Return the device of the results: that given to a factory, else that of the arguments,
        where CPU scalars do not count.
        """
        wanted = kwargs.get("device")
        if wanted is not None:
            return wanted if isinstance(wanted, dtypes.device) else dtypes.device(wanted)
        found: Any = None
        scalar = True
        for t in tensors:
            small = t._array.ndim == 0 and t.fake_device.type == "cpu"
            if found is None or (scalar and not small):
                found, scalar = t.fake_device, small
            elif not small and t.fake_device != found:
                raise FakeTensorDeviceMismatchError(
                    f"Expected all tensors to be on the same device, but found at least two devices, {found} and {t.fake_device}!"
                )
        return dtypes.device("cpu") if found is None else found

    def _computed(self, func: OpOverload, args: Any, kwargs: dict[str, Any]) -> Any:
        try:
            return func._below(*args, **kwargs)
        except (TypeError, NotImplementedError, AttributeError) as error:
            tensors = [t for t in dispatch.leaves(args, kwargs) if isinstance(t, Tensor)]
            if (
                not self.allow_fallback_kernels
                or not tensors
                or sum(t._array.size for t in tensors) > 1 << 24
            ):
                raise UnsupportedOperatorException(func) from error
        zeros = FUNCTIONS["torch"]["zeros"]
        made = func._below(
            *_mapped(
                lambda t: zeros(tuple(t._array.shape), dtype=dtypes.BY_NUMPY[t._array.dtype]), args
            ),
            **_mapped(
                lambda t: zeros(tuple(t._array.shape), dtype=dtypes.BY_NUMPY[t._array.dtype]),
                {k: v for k, v in kwargs.items() if k != "device"},
            ),
        )
        return _mapped(_meta, made)

    def _written(
        self,
        func: OpOverload,
        args: Any,
        kwargs: Any,
        given: Any,
        named: Any,
        made: Any,
        where: dtypes.device,
    ) -> Any:
        """Return the results of an operator that writes: the arguments that it wrote to."""
        arguments = func._schema.arguments
        before = dict(zip([a.name for a in arguments], args, strict=False)) | kwargs
        written = [
            before[a.name]
            for a in arguments
            if a.is_write and isinstance(before.get(a.name), FakeTensor)
        ]
        for t in written:
            t.constant = None
        after = made if isinstance(made, (tuple, list)) else (made,)
        returned = iter(written)
        results = []
        for info, value in zip(func._schema.returns, after, strict=False):
            writes = info.alias_info is not None and info.alias_info.is_write
            results.append(
                next(returned)
                if writes
                else self._made(value, where)
                if isinstance(value, Tensor)
                else value
            )
        return tuple(results) if len(func._schema.returns) > 1 else results[0] if results else None


class FakeTensorDeviceMismatchError(RuntimeError):
    """Fake tensors of two devices met."""


def _of(mode: FakeTensorMode, tensor: Tensor) -> FakeTensor | None:
    return next(
        (fake for owner, fake in tensor.__dict__.get("_fakes", ()) if owner() is mode), None
    )


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply the function to every tensor in nested lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        return type(value)([_mapped(function, v) for v in value])
    if isinstance(value, dict):
        return {k: _mapped(function, v) for k, v in value.items()}
    return value


def _shown(value: Any) -> str:
    if isinstance(value, Tensor) and not isinstance(value, FakeTensor):
        contents = (
            repr(value.item()).replace(".0", ".")
            if value._array.size == 1 and not value._array.ndim
            else "[...]"
        )
        return f"tensor({contents}, size={tuple(value._array.shape)}{', requires_grad=True' if value._rg else ''})"
    return repr(value)


@contextmanager
def unset_fake_temporarily() -> Iterator[FakeTensorMode | None]:
    """Inside the block fake modes are not active."""
    modes = dispatch.thread.modes
    known = next((m for m in reversed(modes) if isinstance(m, FakeTensorMode)), None)
    with dispatch.only(tuple([m for m in modes if not isinstance(m, FakeTensorMode)])):
        yield known


def is_fake(x: Any) -> bool:
    """Whether a tensor is a fake one."""
    return isinstance(x, FakeTensor)


def maybe_get_fake_mode(t: Any) -> FakeTensorMode | None:
    """The mode of a fake tensor; None for others."""
    return t.fake_mode if isinstance(t, FakeTensor) else None
