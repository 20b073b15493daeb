"""What an operator does apart from computing: results without data, gradients, `vmap`, autocast, modes."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..aten import dispatch as _dispatch
from ..aten import overload as _overload
from ..aten.annotations import infer_schema as infer_schema
from ..core.function import Function
from ..core.tensor import Tensor
from .operators import Library, _found, impl


def register_kernel(
    op: Any, device_types: Any, func: Any = None, /, *, lib: Library | None = None
) -> Any:
    """Register the function that computes an operator on one or more kinds of devices (None: on all).

    Without `func`, this is a decorator. `custom_op` registers the decorated function already; use this
    for an additional device.

    >>> import pellucid as torch
    >>> @torch.library.custom_op("docs_kernels::square", mutates_args=(), device_types="cuda")
    ... def square(x: torch.Tensor) -> torch.Tensor:
    ...     return x * x
    >>> @torch.library.register_kernel("docs_kernels::square", "cpu")
    ... def _(x):
    ...     return x.pow(2)
    >>> square(torch.tensor([3.0]))
    tensor([9.])
    """
    kinds = ("default",) if device_types is None else device_types
    return impl(op, kinds, func, lib=lib)


def register_autograd(
    op: Any,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Any = None,
    lib: Library | None = None,
) -> None:
    """Register the gradient of an operator.

    Args:
        op: its name, or what `custom_op` returned.
        backward: `backward(ctx, *grads)` returns a gradient, or None, for each argument.
        setup_context: `setup_context(ctx, inputs, output)` keeps what backward needs; with
            keyword-only arguments in the schema, it also takes `keyword_only_inputs`.

    Raises:
        RuntimeError: the operator writes to its arguments.

    >>> import pellucid as torch
    >>> @torch.library.custom_op("docs::cube", mutates_args=())
    ... def cube(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.from_numpy(x.numpy() ** 3)
    >>> def keep(ctx, inputs, output):
    ...     ctx.save_for_backward(*inputs)
    >>> def gradient(ctx, g):
    ...     x, = ctx.saved_tensors
    ...     return 3 * x ** 2 * g
    >>> torch.library.register_autograd("docs::cube", gradient, setup_context=keep)
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> cube(x).backward()
    >>> x.grad
    tensor([12.])
    """
    found = _found(op)
    if found._schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {op} with schema {found._schema}. Please create a functional "
            "operator and register an autograd formula for that."
        )
    rules = _rules(found)
    rules["backward"], rules["setup_context"] = backward, setup_context
    _differentiable(found)


def register_vmap(op: Any, func: Any = None, /, *, lib: Library | None = None) -> Any:
    """Register how `vmap` runs an operator on a batch. Without `func`, this is a decorator.

    Args:
        op: the operator's name, its overload, or the definition that `custom_op` returned.
        func: `func(info, in_dims, *args)` returns the results and their batch dimensions. `info.batch_size` is the
            size of the batch; `in_dims` has each argument's batch dimension, or None.

    An operator without such a rule runs once for each sample.

    >>> import pellucid as torch
    >>> @torch.library.custom_op("docs_vmap::row_sum", mutates_args=())
    ... def row_sum(x: torch.Tensor) -> torch.Tensor:
    ...     return x.sum(-1)
    >>> @torch.library.register_vmap("docs_vmap::row_sum")
    ... def _(info, in_dims, x):
    ...     return row_sum(x.movedim(in_dims[0], 0)), 0
    >>> torch.vmap(row_sum)(torch.ones(2, 3))
    tensor([3., 3.])
    """

    def register(function: Callable[..., Any]) -> None:
        found = _found(op)
        _rules(found)["vmap"] = function
        _differentiable(found)

    return register if func is None else register(func)


def register_autocast(
    op: Any, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None
) -> None:
    """Register the dtype to which `autocast` casts an operator's floating-point arguments on a device.

    Args:
        op: the operator's name, its overload, or the definition that `custom_op` returned.
        device_type: "cpu" or "cuda".
        cast_inputs: the dtype.

    >>> import pellucid as torch
    >>> @torch.library.custom_op("docs_cast::same", mutates_args=())
    ... def same(x: torch.Tensor) -> torch.Tensor:
    ...     return x.clone()
    >>> torch.library.register_autocast("docs_cast::same", "cpu", torch.bfloat16)
    >>> with torch.autocast("cpu"):
    ...     print(same(torch.ones(2)).dtype)
    torch.bfloat16
    """
    from ..amp.autocast_mode import autocast, is_autocast_enabled

    found = _found(op)

    def cast(*args: Any, **kwargs: Any) -> Any:
        def convert(x: Any) -> Any:
            return (
                x.to(cast_inputs)
                if isinstance(x, Tensor) and x.is_floating_point() and x.dtype != dtypes.float64
                else x
            )

        with autocast(device_type, enabled=False):
            return found(
                *[convert(x) for x in args], **{name: convert(x) for name, x in kwargs.items()}
            )

    cast.applies = lambda: is_autocast_enabled(device_type)  # type: ignore[attr-defined]
    found.py_kernels["Autocast"] = cast


def register_torch_dispatch(
    op: Any, torch_dispatch_class: Any, func: Any = None, /, *, lib: Library | None = None
) -> Any:
    """Register what a mode or a tensor subclass with `__torch_dispatch__` does with an operator.

    Args:
        op: the operator's name, its overload, or the definition that `custom_op` returned.
        torch_dispatch_class: the mode or the subclass, exactly: classes derived from it are not affected.
        func: called as `func(mode or class, func, types, args, kwargs)` instead of `__torch_dispatch__`.
            Without it, this is a decorator.

    >>> import pellucid as torch
    >>> from pellucid.utils._python_dispatch import TorchDispatchMode
    >>> class Count(TorchDispatchMode):
    ...     calls = 0
    >>> @torch.library.custom_op("docs_mode::double", mutates_args=())
    ... def double(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> @torch.library.register_torch_dispatch("docs_mode::double", Count)
    ... def _(mode, func, types, args, kwargs):
    ...     mode.calls += 1
    ...     return func(*args, **kwargs)
    >>> x = torch.ones(1)
    >>> with Count() as count:
    ...     y = double(double(x))
    >>> y, count.calls
    (tensor([4.]), 2)
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _found(op).py_kernels[torch_dispatch_class] = function
        return function

    return register if func is None else register(func)


def _rules(op: _overload.OpOverload) -> dict[str, Any]:
    rules: dict[str, Any] = vars(op).setdefault("_python_rules", {})
    return rules


def _differentiable(op: _overload.OpOverload) -> None:
    """Let an operator run as an autograd.Function made from its rules."""
    rules = _rules(op)
    schema = op._schema
    keywords = [a.name for a in schema.arguments if a.kwarg_only]
    name = f"GeneratedBackwardFor_{op._namespace}_{op._opname}_{op._overloadname}"

    def forward(*args: Any) -> Any:
        places = args[: len(args) - len(keywords)]
        named = dict(zip(keywords, args[len(places) :], strict=True))
        if not _dispatch.takes(places, named):
            return op._below(*places, **named)
        with _dispatch.passed_autograd():
            return _dispatch.handled(op, places, named)

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        if rules.get("setup_context") is None:
            return
        if keywords:
            places = inputs[: len(inputs) - len(keywords)]
            only = dict(zip(keywords, inputs[len(places) :], strict=True))
            rules["setup_context"](ctx=ctx, inputs=places, keyword_only_inputs=only, output=output)
        else:
            rules["setup_context"](ctx=ctx, inputs=inputs, output=output)

    def backward(ctx: Any, *grads: Any) -> Any:
        if rules.get("backward") is None:
            raise RuntimeError(
                f"Trying to backward through {op} but no autograd formula was registered. Please use register_autograd to add one."
            )
        made = rules["backward"](ctx, *grads)
        made = made if isinstance(made, tuple) else (made,)
        return (*made, *[None] * (len(schema.arguments) - len(made)))

    body: dict[str, Any] = {
        "forward": staticmethod(forward),
        "setup_context": staticmethod(setup_context),
        "backward": staticmethod(backward),
        "__module__": __name__,
    }
    if rules.get("vmap") is None:
        body["generate_vmap_rule"] = True  # sample by sample
    else:
        body["vmap"] = staticmethod(
            lambda info, in_dims, *args: rules["vmap"](info, in_dims, *args)
        )
    function: Any = types.new_class(name, (Function,), exec_body=lambda space: space.update(body))

    def run(*args: Any, **kwargs: Any) -> Any:
        return function.apply(*_overload.bound(schema, args, kwargs))

    op.py_kernels["Autograd"] = run
