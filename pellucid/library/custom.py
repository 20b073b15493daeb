"""Operators from Python functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ..aten import overload as _overload
from ..aten.annotations import infer_schema as infer_schema
from ..core.inplace import bump
from ..core.tensor import Tensor
from .operators import _KEYS, _split, register_fake
from .rules import (
    _differentiable,
    _rules,
    register_autocast,
    register_autograd,
    register_torch_dispatch,
    register_vmap,
)


class CustomOpDef:
    """An operator defined by `custom_op`, with methods that register its rules. Call it like a function.

    >>> import pellucid as torch
    >>> @torch.library.custom_op("docs_def::scale", mutates_args=())
    ... def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    ...     return x * factor
    >>> _ = scale.register_fake(lambda x, factor: torch.empty_like(x))
    >>> scale(torch.ones(2), 3.0), scale(torch.empty(2, device="meta"), 3.0).device
    (tensor([3., 3.]), device(type='meta'))
    """

    def __init__(
        self, namespace: str, name: str, schema: str, fn: Callable[..., Any], tags: Any = ()
    ) -> None:
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._opoverload = _overload.define(namespace, name + schema, tags)
        self._written = [
            (k, a)
            for k, a in enumerate(self._opoverload._schema.arguments)
            if a.alias_info is not None and a.alias_info.is_write
        ]
        self.__name__ = name
        self._kernel_off: set[str] = set()
        self._opoverload.py_kernels["Meta"] = self._no_fake
        if not self._written:
            _differentiable(self._opoverload)
            _rules(self._opoverload)["backward"] = None

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def _no_fake(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            f"There was no fake impl registered for {self}. This is necessary for torch.compile/export/fx tracing to work. Please use "
            f"`{self._init_fn.__name__}.register_fake` to add an fake impl."
        )

    def register_kernel(self, device_types: Any, fn: Any = None, /) -> Any:
        """Register what computes it on kinds of devices; None: on all. Without `fn`, a decorator."""
        kinds = (
            ("default",)
            if device_types is None
            else (device_types,)
            if isinstance(device_types, str)
            else tuple(device_types)
        )

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            for kind in kinds:
                self._opoverload.py_kernels[_KEYS.get(kind, kind)] = self._checked(function)
            return function

        return register if fn is None else register(fn)

    def _checked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel whose results must be new tensors, and whose writes are counted."""

        def kernel(*args: Any, **kwargs: Any) -> Any:
            values = _overload.bound(self._opoverload._schema, args, kwargs)
            made = function(*args, **kwargs)
            for k, _ in self._written:
                for t in (values[k],) if isinstance(values[k], Tensor) else values[k] or ():
                    bump(t, self._name)
            given = {
                id(t._array)
                for v in values
                for t in (v if isinstance(v, (list, tuple)) else (v,))
                if isinstance(t, Tensor)
            }
            for t in made if isinstance(made, (list, tuple)) else (made,):
                if isinstance(t, Tensor) and id(t._array) in given:
                    raise RuntimeError(
                        f"{self._name} (with implementation in {inspect.getmodule(self._init_fn)}): The output of this custom operator (1) "
                        "must not also be an input to this custom operator and (2) may not alias any inputs to this custom operator or "
                        "other returns. The most common way to trigger this error is if we have y = custom_op(x) and y and x are the same "
                        "Tensor. Please instead return a clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the "
                        "custom operator to not return y."
                    )
            return made

        return kernel

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register what says the shapes and dtypes of the results, on tensors without data."""
        register_fake(self, fn)
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Any = None
    ) -> None:
        """Register the gradient: see `torch.library.register_autograd`."""
        register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func: Any = None) -> Any:
        """Register how `vmap` runs it: see `torch.library.register_vmap`."""
        return register_vmap(self, func)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Register the dtype of arguments inside of `autocast`."""
        register_autocast(self, device_type, cast_inputs)

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Any = None, /) -> Any:
        """Register what a class with `__torch_dispatch__` does with it."""
        return register_torch_dispatch(self, torch_dispatch_class, fn)


def custom_op(
    name: str,
    fn: Any = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Define an operator by a Python function. Without `fn`, this is a decorator.

    Args:
        name: namespace and name, such as "mylib::op".
        mutates_args: the names of the arguments that the function writes to, or "unknown".
        device_types: the kinds of devices that the function is for. Default: None, all of them.
        schema: the operator's schema without its name. Default: None, inferred from the annotations.

    Raises:
        ValueError: the name has no namespace, or there is no schema for the annotations.
        RuntimeError: there is such an operator already.

    >>> import pellucid as torch
    >>> from pellucid.library import custom_op
    >>> @custom_op("docs::double", mutates_args=())
    ... def double(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> torch.ops.docs.double(torch.ones(2))
    tensor([2., 2.])
    """

    def register(function: Callable[..., Any]) -> CustomOpDef:
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        made = CustomOpDef(*_split(name), text, function, tags or ())
        made.register_kernel(device_types, function)
        return made

    return register if fn is None else register(fn)
