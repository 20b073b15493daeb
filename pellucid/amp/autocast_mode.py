"""Autocast runs matrix products in bfloat16 or float16, losses and factorizations in float32, and
everything else in the dtype of its inputs.

The policy is that of PyTorch's CPU backend. An operation's record names its group (`autocast=` in
`defop`).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..core.display.examples import of_alias
from ..core.interpret import exchange, thread
from ..core.modes import ContextDecorator, local
from ..core.primitive import TENSORS as F
from ..core.primitive import Primitive
from ..core.tensor import Tensor, version_of
from ..devices import device
from ..errors import OperationError, type_name, warn

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_FLOATS = (dtypes.float32, dtypes.bfloat16, dtypes.float16)
# the lower precision of each device type that PyTorch has autocast for
_LOWER = dict.fromkeys(("cpu", "xla", "hpu", "maia"), dtypes.bfloat16)
_LOWER |= dict.fromkeys(("cuda", "xpu", "mps", "mtia", "ipu"), dtypes.float16)


class _Settings(threading.local):
    """What the `set_autocast_*` functions set, per thread."""

    def __init__(self) -> None:
        self.dtypes = {**_LOWER, "hip": dtypes.float16}
        # device types that do not exist here and are said to be enabled
        self.others: set[str] = set()
        self.cache = True
        self.nesting = 0


_settings = _Settings()


class _Policy:
    """The interpreter that casts while autocast is on."""

    __slots__ = ("cache", "dtype", "use_cache")
    role = "autocast"

    def __init__(self, dtype: dtypes.dtype, use_cache: bool) -> None:
        self.dtype = dtype
        self.use_cache = use_cache
        # Parameters cast once inside a block serve every use in it, and share one gradient path.
        self.cache: dict[int, tuple[Tensor, int, Tensor]] = {}

    @property
    def key(self) -> tuple[Any, ...]:
        """What it does, to be compared."""
        return self.dtype, self.use_cache

    def anew(self) -> _Policy:
        """The same, with nothing cast so far."""
        return _Policy(self.dtype, self.use_cache)

    def run(self, below: Any, op: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """An operation in the precision of its group (`core.interpret`)."""
        return below(op, self.cast(op, args), params)

    def cast(self, op: Primitive, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments in the precision of the operation's group."""
        group = op.autocast
        if group is None:
            return args
        tensors = [x for x in args if isinstance(x, Tensor) and x.dtype in _FLOATS]
        if group == "lower":
            target = self.dtype
        elif group == "float32":
            target = dtypes.float32
        else:
            target = self.dtype
            for x in tensors:
                if x.dtype is dtypes.float32:
                    target = dtypes.float32
                    break
                if x.dtype is not target:
                    raise OperationError(
                        "Unexpected floating ScalarType in at::autocast::prioritize"
                    )
        return tuple(
            self.to(x, target) if isinstance(x, Tensor) and x.dtype in _FLOATS else x for x in args
        )

    def widen(self, value: Any) -> Any:
        """A low-precision tensor in float32; anything else as it is."""
        if isinstance(value, Tensor) and value.dtype in (dtypes.bfloat16, dtypes.float16):
            return self.to(value, dtypes.float32)
        return value

    def narrow(self, value: Any) -> Any:
        """A floating-point tensor in the precision of this block, but for doubles; anything else as
        it is.
        """
        return (
            self.to(value, self.dtype)
            if isinstance(value, Tensor) and value.dtype in _FLOATS
            else value
        )

    def to(self, x: Tensor, target: dtypes.dtype) -> Tensor:
        if x.dtype is target:
            return x
        cacheable = (
            self.use_cache and x._node is None and x._rg and target is self.dtype and local.grad
        )
        if cacheable:
            known = self.cache.get(id(x))
            if known is not None and known[0] is x and known[1] == version_of(x).count:
                return known[2]
        result: Tensor = F.cast(x, dtype=target.numpy)
        if cacheable:
            self.cache[id(x)] = (x, version_of(x).count, result)
        return result


class autocast(ContextDecorator):  # noqa: N801 (PyTorch's name)
    """Context manager and decorator: run matrix products, convolutions and attention in a lower
    precision.

    Args:
        device_type: "cpu"; "cuda" warns and does nothing, other devices do nothing, as in a PyTorch
            without them.
        dtype: bfloat16 (the default) or float16.
        enabled: False switches autocast off inside the block.
        cache_enabled: cast each parameter once per block.

    >>> import pellucid as torch
    >>> layer = torch.nn.Linear(4, 2)
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     y = layer(torch.ones(1, 4))
    >>> y.dtype
    torch.bfloat16
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtypes.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device, self._kind = device_type, device(device_type).type
        self.fast_dtype = dtype if dtype is not None else get_autocast_dtype(self._kind)
        if self._kind not in _LOWER:
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        if device_type == "cuda" and enabled:
            warn("CUDA is not available or torch_xla is imported. Disabling autocast.", UserWarning)
            enabled = False
        elif enabled and self.fast_dtype not in (dtypes.bfloat16, dtypes.float16):
            name = device_type.upper()
            warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} Autocast only supports "
                "dtypes of torch.bfloat16, torch.float16 currently.",
                UserWarning,
            )
            enabled = False
        self._enabled = enabled
        self._cache = _settings.cache if cache_enabled is None else cache_enabled
        self._previous: list[Any] = []

    def clone(self) -> autocast:
        """The same context manager once more."""
        return autocast(self.device, self.fast_dtype, self._enabled, self._cache)

    def __enter__(self) -> autocast:
        outer, kind = thread.stack.autocast, self._kind
        self._previous.append((outer, _settings.dtypes[kind], kind in _settings.others))
        _settings.dtypes[kind] = self.fast_dtype  # what blocks inside take if none is given
        if kind != "cpu":
            _switch(kind, self._enabled)
        else:
            policy = _Policy(self.fast_dtype, self._cache) if self._enabled else None
            if policy is not None and outer is not None and outer.dtype is self.fast_dtype:
                policy.cache = outer.cache
            exchange("autocast", policy)
        return self

    def __exit__(self, *exc: object) -> None:
        outer, _settings.dtypes[self._kind], before = self._previous.pop()
        if self._kind != "cpu":
            _switch(self._kind, before)
        exchange("autocast", outer)


def _switch(kind: str, enabled: bool) -> None:
    """Say that autocast is on, or off, for a device type that does not exist here."""
    (_settings.others.add if enabled else _settings.others.discard)(kind)


def is_autocast_available(device_type: str) -> bool:
    """True for the device types that PyTorch has autocast for, whether or not there is such a
    device.

    >>> import pellucid as torch
    >>> torch.amp.is_autocast_available("cpu"), torch.amp.is_autocast_available("meta")
    (True, False)
    """
    if not isinstance(device_type, str):
        raise TypeError(
            f"_is_autocast_available(): argument 'device_type' (position 1) must be str, not {type_name(device_type)}"
        )
    return device(device_type).type in _LOWER


def _known(device_type: str) -> str:
    """The type of a device that autocast can be switched on for."""
    kind: str = device(device_type).type
    if kind not in _LOWER:
        raise RuntimeError(
            "unknown device type for autocast in get_autocast_dispatch_key_from_device_type"
        )
    return kind


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """True inside `autocast`; without an argument the question is about CUDA, as in PyTorch.

    >>> import pellucid as torch
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     print(torch.is_autocast_enabled("cpu"))
    True
    """
    kind = _known("cuda" if device_type is None else device_type)
    return thread.stack.autocast is not None if kind == "cpu" else kind in _settings.others


def set_autocast_enabled(device_type: Any, enabled: Any = None) -> None:
    """Switch autocast on or off for a device type; with one argument, for CUDA. The context manager
    is the usual way.

    Raises:
        TypeError: not a bool. RuntimeError: an unknown device type.

    >>> import pellucid as torch
    >>> torch.set_autocast_enabled("cpu", True)
    >>> (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
    torch.bfloat16
    >>> torch.set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        device_type, enabled, position = "cuda", device_type, 1
    else:
        position = 2
    if not isinstance(enabled, bool):
        raise TypeError(
            f"set_autocast_enabled(): argument 'enabled' (position {position}) must be bool, not {type(enabled).__name__}"
        )
    kind = _known(device_type)
    if kind != "cpu":
        _switch(kind, enabled)
    elif enabled != (thread.stack.autocast is not None):
        exchange("autocast", _Policy(_settings.dtypes["cpu"], _settings.cache) if enabled else None)


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """The lower precision of a device type.

    >>> import pellucid as torch
    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    kind = device(device_type).type
    if thread.stack.autocast is not None and kind == "cpu":
        found: dtypes.dtype = thread.stack.autocast.dtype
        return found
    if kind not in _settings.dtypes:
        raise RuntimeError("unsupported scalarType")
    return _settings.dtypes[kind]


def set_autocast_dtype(device_type: str, dtype: dtypes.dtype) -> None:
    """Set the dtype that `autocast` uses for a device type if none is given.

    Raises:
        TypeError: `dtype` is not a dtype.

    >>> import pellucid as torch
    >>> torch.set_autocast_dtype("cpu", torch.float16)
    >>> with torch.autocast("cpu"):
    ...     print((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)
    torch.float16
    >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(
            f"set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not {type(dtype).__name__}"
        )
    if not isinstance(device_type, str):
        raise TypeError(
            f"set_autocast_dtype(): argument 'device_type' (position 1) must be str, not {type_name(device_type)}"
        )
    kind = device(device_type).type
    _settings.dtypes[kind] = dtype
    if thread.stack.autocast is not None and kind == "cpu":
        exchange("autocast", _Policy(dtype, thread.stack.autocast.use_cache))


def is_autocast_cache_enabled() -> bool:
    """Whether a parameter is cast only once in an `autocast` block.

    >>> import pellucid as torch
    >>> with torch.autocast("cpu", cache_enabled=False):
    ...     print(torch.is_autocast_cache_enabled())
    False
    """
    return (
        _settings.cache if thread.stack.autocast is None else bool(thread.stack.autocast.use_cache)
    )


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether a parameter is cast only once in an `autocast` block.

    >>> import pellucid as torch
    >>> torch.set_autocast_cache_enabled(False)
    >>> torch.is_autocast_cache_enabled()
    False
    >>> torch.set_autocast_cache_enabled(True)
    """
    _settings.cache = enabled
    if thread.stack.autocast is not None:
        thread.stack.autocast.use_cache = enabled


def autocast_increment_nesting() -> int:
    """Enter one more level of `autocast` blocks and return the number of levels. The context manager calls this.

    >>> import pellucid as torch
    >>> torch.autocast_increment_nesting()
    1
    >>> torch.autocast_decrement_nesting()
    0
    """
    _settings.nesting += 1
    return _settings.nesting


def autocast_decrement_nesting() -> int:
    """Leave one level of `autocast` blocks and return the number of levels. The context manager calls this.

    >>> import pellucid as torch
    >>> torch.autocast_increment_nesting()
    1
    >>> torch.autocast_decrement_nesting()
    0
    """
    _settings.nesting -= 1
    return _settings.nesting


def _old_names(kind: str) -> None:
    """The functions of PyTorch's earlier versions for one device type."""

    def enabled() -> bool:
        _deprecated(f"is_autocast_{kind}_enabled()", f"is_autocast_enabled('{kind}')")
        return is_autocast_enabled(kind)

    def set_enabled(enabled: bool) -> None:
        _deprecated(
            f"set_autocast_{kind}_enabled(enabled)", f"set_autocast_enabled('{kind}', enabled)"
        )
        set_autocast_enabled(kind, enabled)

    def dtype() -> dtypes.dtype:
        _deprecated(f"get_autocast_{kind}_dtype()", f"get_autocast_dtype('{device_of[kind]}')")
        return get_autocast_dtype(device_of[kind])

    def set_dtype(dtype: dtypes.dtype) -> None:
        _deprecated(
            f"set_autocast_{kind}_dtype(dtype)", f"set_autocast_dtype('{device_of[kind]}', dtype)"
        )
        set_autocast_dtype(device_of[kind], dtype)

    device_of = {"gpu": "cuda", **{k: k for k in ("cpu", "ipu", "xla")}}
    made = {f"get_autocast_{kind}_dtype": dtype, f"set_autocast_{kind}_dtype": set_dtype}
    if kind != "gpu":
        made |= {
            f"is_autocast_{kind}_enabled": enabled,
            f"set_autocast_{kind}_enabled": set_enabled,
        }
    for name, function in made.items():
        function.__name__ = function.__qualname__ = name
        new = name.replace(f"_{kind}", "")
        function.__doc__ = of_alias(
            f"Deprecated form of `{new}` for the device type {device_of[kind]!r}.",
            globals()[new].__doc__,
        )
        globals()[name] = function


def _deprecated(old: str, new: str) -> None:
    warn(
        f"torch.{old} is deprecated. Please use torch.{new} instead.",
        DeprecationWarning,
    )


for _kind in ("cpu", "gpu", "ipu", "xla"):
    _old_names(_kind)


def custom_fwd(
    fwd: Callable[..., Any] | None = None,
    *,
    device_type: str = "cpu",
    cast_inputs: dtypes.dtype | None = None,
) -> Callable[..., Any]:
    """Decorator for the forward of an `autograd.Function` that is called inside `autocast`.

    Args:
        fwd: the forward. Without it, the decorator is returned.
        device_type: the device of the autocast state. Default: "cpu".
        cast_inputs: a dtype to which floating-point inputs are cast; the forward then runs with autocast switched off. Default:
            None, which only remembers the state for `custom_bwd`.

    >>> import pellucid as torch
    >>> from pellucid.amp import custom_bwd, custom_fwd
    >>> class Exp(torch.autograd.Function):
    ...     @staticmethod
    ...     @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, x):
    ...         y = x.exp()
    ...         ctx.save_for_backward(y)
    ...         return y
    ...     @staticmethod
    ...     @custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         y, = ctx.saved_tensors
    ...         return g * y
    >>> x = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    >>> with torch.autocast("cpu"):
    ...     y = Exp.apply(x)
    >>> y.dtype
    torch.float32
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._fwd_used_autocast = thread.stack.autocast is not None and cast_inputs is None
        ctx._dtype = get_autocast_dtype(device_type)
        if cast_inputs is None or thread.stack.autocast is None:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            cast = [_cast_input(a, cast_inputs) for a in args]
            return fwd(ctx, *cast, **{k: _cast_input(v, cast_inputs) for k, v in kwargs.items()})

    return decorated


def _cast_input(value: Any, dtype: dtypes.dtype) -> Any:
    if isinstance(value, Tensor) and value.dtype in _FLOATS:
        return F.cast(value, dtype=dtype.numpy)
    return value


def custom_bwd(
    bwd: Callable[..., Any] | None = None, *, device_type: str = "cpu"
) -> Callable[..., Any]:
    """Decorator for the backward of an `autograd.Function` whose forward has `custom_fwd`: it runs under the autocast
    state of the forward, although backward is usually called outside the `autocast` block.

    >>> import pellucid as torch
    >>> from pellucid.amp import custom_bwd, custom_fwd
    >>> class Matmul(torch.autograd.Function):
    ...     @staticmethod
    ...     @custom_fwd(device_type="cpu")
    ...     def forward(ctx, a, b):
    ...         ctx.save_for_backward(a, b)
    ...         return a @ b
    ...     @staticmethod
    ...     @custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         a, b = ctx.saved_tensors
    ...         print((g @ b.mT).dtype)
    ...         return g @ b.mT, a.mT @ g
    >>> a = torch.ones(2, 2, requires_grad=True)
    >>> with torch.autocast("cpu"):
    ...     y = Matmul.apply(a, torch.eye(2))
    >>> y.sum().backward()
    torch.bfloat16
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(ctx: Any, *args: Any) -> Any:
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *args)

    return decorated


def _cast(value: Any, device_type: str, dtype: dtypes.dtype) -> Any:
    """Tensors of floats, also inside containers, in another type; float64 and everything else as
    they are.
    """
    if isinstance(value, Tensor):
        eligible = (
            value.is_floating_point()
            and value.device.type == device_type
            and value.dtype is not dtypes.float64
        )
        return value.to(dtype) if eligible else value
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, dict):
        return {
            _cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(v, device_type, dtype) for v in value)
    return value
