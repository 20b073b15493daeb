"""Types and modes that take over functions (`torch.overrides`)."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any

from .api import attach, overriding
from .core.tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch",
    "get_default_nowrap_functions", "get_ignored_functions", "get_overridable_functions",
    "get_testing_overrides", "handle_torch_function", "has_torch_function",
    "is_tensor_like", "is_tensor_method_or_property", "resolve_name",
    "wrap_torch_function",
]  # fmt: skip

DisableTorchFunctionSubclass = overriding.DisableTorchFunctionSubclass
DisableTorchFunction = overriding.DisableTorchFunction


class TorchFunctionMode:
    """Context manager whose `__torch_function__` is called in place of every public function and
    method inside the block.

    >>> import pellucid as torch
    >>> class Log(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     _ = torch.ones(2).exp()
    ones
    exp
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        overriding.enter_mode(self)
        return self

    def __exit__(self, *exc: object) -> None:
        overriding.exit_mode(self)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing: it calls each function as it is. Derive from it to define `__torch_function__`.

    >>> import pellucid as torch
    >>> class Names(torch.overrides.BaseTorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return super().__torch_function__(func, types, args, kwargs)
    >>> with Names():
    ...     _ = torch.add(torch.ones(1), 1).exp()
    ones
    add
    exp
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _len_torch_function_stack() -> int:
    """How many modes are entered."""
    return len(overriding.local.function_modes)


def _get_current_function_mode() -> Any:
    """The innermost mode that is entered, or None."""
    modes = overriding.local.function_modes
    return modes[-1] if modes else None


def _get_current_function_mode_stack() -> list[Any]:
    """All modes that are entered, the outermost first."""
    return list(overriding.local.function_modes)


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments, or a mode, takes over functions.

    >>> import pellucid as torch
    >>> torch.overrides.has_torch_function((torch.ones(1),))
    False
    """
    if not isinstance(relevant_args, Iterable):
        raise TypeError("expected a sequence")
    return overriding.concerns(relevant_args)


def has_torch_function_unary(arg: Any) -> bool:
    """`has_torch_function((arg,))`."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function(args)`."""
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Call a function through the `__torch_function__` of its arguments' types. Libraries call this in functions that other
    types may override.

    Args:
        public_api: the function that was called.
        relevant_args: the arguments whose types are asked, in their order.
        args, kwargs: all arguments of the call.

    Raises:
        TypeError: all types returned NotImplemented.

    >>> import pellucid as torch
    >>> class Meters:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return f"{func.__name__} of meters"
    >>> def area(side):
    ...     if torch.overrides.has_torch_function((side,)):
    ...         return torch.overrides.handle_torch_function(area, (side,), side)
    ...     return side * side
    >>> area(3), area(Meters())
    (9, 'area of meters')
    """
    return overriding.handle(public_api, relevant_args, args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Decorator: let types with `__torch_function__` override the decorated function.

    Args:
        dispatcher: called with the function's arguments; returns those whose types are asked.

    >>> import pellucid as torch
    >>> class Meters:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return f"{func.__name__} of meters"
    >>> @torch.overrides.wrap_torch_function(lambda side: (side,))
    ... def area(side):
    ...     return side * side
    >>> area(3), area(Meters())
    (9, 'area of meters')
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """True for a tensor and for what defines `__torch_function__`.

    >>> import pellucid as torch
    >>> torch.overrides.is_tensor_like(torch.ones(1)), torch.overrides.is_tensor_like(3)
    (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """True for a method of Tensor and for the getter of a property.

    >>> import pellucid as torch
    >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add)
    True
    """
    if getattr(func, "__name__", "") == "__get__":
        return True
    return any(func is value for value in vars(Tensor).values())


def get_default_nowrap_functions() -> set[Any]:
    """Return the getters of Tensor whose results `Tensor.__torch_function__` does not convert to the subclass: those of `grad` and
    `grad_fn`.

    >>> import pellucid as torch
    >>> torch.Tensor.grad.__get__ in torch.overrides.get_default_nowrap_functions()
    True
    """
    return {vars(Tensor)[name].__get__ for name in ("grad", "grad_fn") if name in vars(Tensor)}


def _is_overridable(name: str, value: Any, ignored: set[Any]) -> bool:
    """Whether a name in a namespace is that of a function for `__torch_function__`: neither a class,
    nor a constant, nor private, nor a function that writes to its argument.
    """
    public = not (name.startswith("_") or name.endswith("_") or name[0].isupper())
    return public and callable(value) and value not in ignored


def get_overridable_functions() -> dict[Any, list[Any]]:
    """The public functions and methods that can be taken over, by the module or class that has
    them.

    >>> import pellucid as torch
    >>> table = torch.overrides.get_overridable_functions()
    >>> torch.add in table[torch], torch.Tensor.add in table[torch.Tensor], torch.is_tensor in table[torch]
    (True, True, False)
    """
    ignored = get_ignored_functions()
    found = {
        _space(space): [f for name, f in table.items() if _is_overridable(name, f, ignored)]
        for space, table in attach.FUNCTIONS.items()
    }
    methods = []
    for name, value in vars(Tensor).items():
        if isinstance(value, property):
            methods.append(value.__get__)
        elif (
            callable(value)
            and value not in ignored
            and name not in ("__dict__", "__weakref__", "__slots__")
        ):
            methods.append(value)
    found[Tensor] = methods
    return found


# What PyTorch never hands to `__torch_function__`, by namespace.
_IGNORED = {
    "torch": (
        "arange as_tensor asarray autocast_decrement_nesting autocast_increment_nesting bartlett_window blackman_window broadcast_shapes can_cast "
        "clear_autocast_cache compile empty empty_permuted empty_strided enable_grad export eye finfo from_file from_numpy frombuffer full "
        "are_deterministic_algorithms_enabled get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype "
        "get_autocast_xla_dtype get_default_device get_default_dtype get_deterministic_debug_mode get_device_module "
        "get_float32_matmul_precision get_num_interop_threads get_num_threads get_rng_state hamming_window hann_window iinfo inference_mode "
        "initial_seed is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled "
        "is_autocast_ipu_enabled is_autocast_xla_enabled is_deterministic_algorithms_warn_only_enabled is_grad_enabled "
        "is_inference_mode_enabled is_storage is_tensor is_vulkan_available is_warn_always_enabled kaiser_window linspace load logspace "
        "manual_seed no_grad normal ones promote_types rand randint randint_like randn randn_like rand_like randperm range result_type save "
        "scalar_tensor seed set_anomaly_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled "
        "set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype set_autocast_ipu_dtype set_autocast_ipu_enabled "
        "set_autocast_xla_dtype set_autocast_xla_enabled set_default_device set_default_tensor_type set_deterministic_debug_mode "
        "set_float32_matmul_precision set_flush_denormal set_grad_enabled set_num_interop_threads set_num_threads set_printoptions "
        "set_rng_state set_warn_always sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor "
        "sparse_csr_tensor sym_constrain_range tensor tril_indices triu_indices typename use_deterministic_algorithms vander vmap zeros"
    ),
    "nn.functional": "boolean_dispatch handle_torch_function hardsigmoid hardswish sigmoid tanh upsample upsample_bilinear upsample_nearest",
    "nn.init": "calculate_gain constant dirac eye kaiming_normal kaiming_uniform normal orthogonal sparse uniform xavier_normal xavier_uniform",
    "fft": "fftfreq rfftfreq",
    "Tensor": (
        "__delattr__ __delitem__ __dir__ __getattribute__ __hash__ __init__ __init_subclass__ __iter__ __new__ __setattr__ __subclasshook__ "
        "__torch_function__ _make_subclass _make_wrapper_subclass _typed_storage as_subclass new new_empty new_empty_strided new_full new_ones "
        "new_tensor new_zeros reinforce stride to_padded_tensor to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr unflatten"
    ),
}


def _space(name: str) -> Any:
    """The namespace by its name below torch; "torch" is the package."""
    found: Any = sys.modules[__name__.partition(".")[0]]
    for part in name.split(".") if name != "torch" else ():
        found = getattr(found, part)
    return found


@functools.cache
def get_ignored_functions() -> set[Any]:
    """The functions and methods that are never handed to `__torch_function__`.

    >>> import pellucid as torch
    >>> torch.is_tensor in torch.overrides.get_ignored_functions()
    True
    >>> torch.add in torch.overrides.get_ignored_functions()
    False
    """
    found = set()
    for space, names in _IGNORED.items():
        holder = _space(space)
        found |= {getattr(holder, name) for name in names.split() if hasattr(holder, name)}
    return found


def _result_of_tests(function: Callable[..., Any]) -> Callable[..., int]:
    """A function of the same arguments whose result is -1."""

    def stub(*args: Any, **kwargs: Any) -> int:
        return -1

    with contextlib.suppress(ValueError, TypeError):
        stub.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return stub


@functools.cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., int]]:
    """For every function and method that can be taken over, a function of the same arguments that
    returns -1.

    >>> import inspect
    >>> import pellucid as torch
    >>> stub = torch.overrides.get_testing_overrides()[torch.mm]
    >>> stub(torch.ones(1, 1), torch.ones(1, 1)), "mat2" in inspect.signature(stub).parameters
    (-1, True)
    """
    return {
        function: _result_of_tests(function)
        for table in get_overridable_functions().values()
        for function in table
    }


def resolve_name(f: Any) -> str | None:
    """The public name of a function or method, such as `torch.Tensor.add`; None for another.

    >>> import pellucid as torch
    >>> torch.overrides.resolve_name(torch.Tensor.add)
    'torch.Tensor.add'
    """
    if getattr(f, "__name__", "") == "__get__":
        owner = f.__self__
        return next(
            (f"torch.Tensor.{k}.__get__" for k, v in vars(Tensor).items() if v is owner), None
        )
    for space, table in attach.FUNCTIONS.items():
        for name, value in table.items():
            if f == value:
                return f"torch.{name}" if space == "torch" else f"torch.{space}.{name}"
    return next((f"torch.Tensor.{k}" for k, v in vars(Tensor).items() if v is f), None)


class enable_reentrant_dispatch:  # noqa: N801 (PyTorch's name)
    """Return a context manager that changes nothing: a `__torch_dispatch__` may call operators at any time here.

    >>> import pellucid as torch
    >>> with torch.overrides.enable_reentrant_dispatch():
    ...     print(torch.ones(2).sum())
    tensor(2.)
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass
