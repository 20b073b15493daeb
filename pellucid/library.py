"""`torch.library`: operators that programs define, with a schema, kernels, gradients and rules for
`vmap`.

They are found in `torch.ops` and take part in everything that operators take part in. What computes
one is Python: a compiled function is cut there.

>>> import pellucid as torch
>>> @torch.library.custom_op("docs::scaled", mutates_args=())
... def scaled(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
...     return x * factor
>>> scaled(torch.ones(2)), torch.ops.docs.scaled(torch.ones(2), 3.0)
(tensor([2., 2.]), tensor([3., 3.]))
"""

from __future__ import annotations

import contextlib
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from . import dtypes
from .aten import checks as _checks
from .aten import dispatch as _dispatch
from .aten import overload as _overload
from .aten.annotations import infer_schema as infer_schema
from .core.function import Function
from .core.inplace import bump
from .core.tensor import Tensor
from .errors import ArgumentValueError, UnsupportedError

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]

infer_schema.__module__ = __name__  # by which pickles find it

_KEYS = {
    "cpu": "CPU",
    "cuda": "CUDA",
    "meta": "Meta",
    "xpu": "XPU",
    "mps": "MPS",
    "default": "CompositeExplicitAutograd",
    "types": "CPU",
}


# ---- operators by name ---------------------------------------------------------------------------
def _split(qualname: str) -> tuple[str, str]:
    namespace, mark, name = qualname.partition("::")
    if not mark or not name:
        raise ArgumentValueError(
            f"Expected `qualname` to be of the form `namespace::name`, but got {qualname}. The qualname passed to the torch.library API "
            "must consist of a namespace and a name, e.g. aten::sin"
        )
    return namespace, name


def _found(op: Any) -> _overload.OpOverload:
    """The operator that is meant by a name, an overload or a `CustomOpDef`."""
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, _overload.OpOverload):
        return op
    namespace, name = _split(op)
    try:
        return _overload.overload_of(f"{namespace}::{name}")
    except AttributeError:
        raise RuntimeError(f"operator {op} does not exist") from None


def define(qualname: str, schema: Any, *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Define an operator by its schema. `torch.library.impl` then registers the functions that compute it.

    Args:
        qualname: namespace and name, such as "mylib::op".
        schema: arguments and result, such as "(Tensor x) -> Tensor".
        lib: the library that owns the definition; the operator is removed together with it.
        tags: accepted as in PyTorch.

    Raises:
        ValueError: the name has no namespace.
        RuntimeError: the operator exists already.

    >>> import pellucid as torch
    >>> torch.library.define("docs_define::half", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("docs_define::half", "cpu")
    ... def half(x):
    ...     return x / 2
    >>> torch.ops.docs_define.half(torch.tensor([3.0]))
    tensor([1.5000])
    """
    if not isinstance(qualname, str):
        raise ArgumentValueError(
            f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}"
        )
    namespace, name = _split(qualname)
    if not re.fullmatch(r"\(.*\) -> .*", schema):
        raise ArgumentValueError(
            f'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got "{schema}"'
        )
    if lib is not None:
        return lib.define(name + schema, tags=tags)
    _overload.define(namespace, name + schema, tags)
    return None


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """Register the function that computes an operator, as a call or (without `func`) as a decorator.

    Args:
        qualname: namespace and name of the operator.
        types: a kind of device ("cpu"), several of them, "default" for all devices, or one of PyTorch's dispatch keys.
        func: the function; it is called with the operator's arguments.
        lib: the library that owns the registration; it is removed together with it.

    >>> import pellucid as torch
    >>> torch.library.define("docs_impl::clip01", "(Tensor x) -> Tensor")
    >>> torch.library.impl("docs_impl::clip01", "cpu", lambda x: x.clamp(0, 1))
    >>> torch.ops.docs_impl.clip01(torch.tensor([-1.0, 0.5, 3.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    kinds = (types,) if isinstance(types, str) else tuple(types)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        op = _found(qualname)
        for kind in kinds:
            op.py_kernels[_KEYS.get(kind, kind)] = function
        return function

    return register if func is None else (register(func), None)[1]


class Library:
    """Definitions and kernels of one namespace; what was made with it goes when it goes.

    Args:
        ns: the namespace.
        kind: "DEF" for all definitions of a namespace, "FRAGMENT" for some of them, "IMPL" for
            kernels only.
        dispatch_key: the key of `impl` where none is given.

    >>> import pellucid as torch
    >>> library = torch.library.Library("docs2", "DEF")
    >>> library.define("twice(Tensor x) -> Tensor")
    'twice'
    >>> library.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    >>> torch.ops.docs2.twice(torch.ones(1))
    tensor([2.])
    """

    _owned: typing.ClassVar[set[str]] = {"aten", "prim", "prims"}

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ArgumentValueError(f"Unsupported kind: {kind}")
        if kind == "DEF":
            if ns in self._owned:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your definitions in a "
                    "single TORCH_LIBRARY block.  If you were trying to specify implementations, consider using TORCH_LIBRARY_IMPL (which "
                    "can be duplicated).  If you really intended to define operators for a single namespace in a distributed way, you can "
                    "use TORCH_LIBRARY_FRAGMENT to explicitly indicate this."
                )
            self._owned.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined: list[_overload.OpOverload] = []
        self._kernels: list[tuple[_overload.OpOverload, str]] = []

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Add an operator by its schema, which begins with its name; returns the name."""
        if self.kind == "IMPL":
            raise RuntimeError("Cannot define an operator in a Library of kind IMPL")
        made = _overload.define(self.ns, schema, tags)
        self._defined.append(made)
        return made._name.partition("::")[2]

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Register what computes an operator.

        Raises:
            TypeError: `fn` cannot be called.
        """
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if isinstance(op_name, _overload.OpOverload):
            op = op_name
        else:
            op = _found(op_name if "::" in op_name else f"{self.ns}::{op_name}")
        if fn is fallthrough_kernel:  # without a kernel for this key, the next key's is called
            op.py_kernels.pop(key, None)
            return
        op.py_kernels[key] = _with_keyset(fn) if with_keyset else fn
        self._kernels.append((op, key))

    def fallback(
        self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False
    ) -> None:
        """Not supported: there is no kernel for all operators."""
        raise UnsupportedError("torch.library.Library.fallback is not supported")

    def _register_fake(
        self, op_name: str, fn: Callable[..., Any], _stacklevel: int = 1, **options: Any
    ) -> None:
        register_fake(op_name if "::" in op_name else f"{self.ns}::{op_name}", fn)

    def _destroy(self) -> None:
        for op, key in self._kernels:
            op.py_kernels.pop(key, None)
        for op in self._defined:
            _overload.undefine(self.ns, op._opname, op._overloadname)
        if self.kind == "DEF":
            self._owned.discard(self.ns)
        self._defined, self._kernels = [], []


def _with_keyset(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: fn(None, *args, **kwargs)


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A `Library` whose definitions go at the end of the block."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


def fallthrough_kernel(*args: Any, **kwargs: Any) -> NoReturn:
    """Pass this to `Library.impl` to leave calls for a dispatch key to the next key. It cannot be called.

    >>> import pellucid as torch
    >>> library = torch.library.Library("docs_fall", "DEF")
    >>> _ = library.define("twice(Tensor x) -> Tensor")
    >>> library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    >>> library.impl("twice", torch.library.fallthrough_kernel, "AutogradCPU")
    >>> torch.ops.docs_fall.twice(torch.ones(1))
    tensor([2.])
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def get_kernel(op: Any, dispatch_key: Any) -> Callable[..., Any]:
    """Return the function that computes an operator for a dispatch key.

    Raises:
        RuntimeError: nothing is registered for this key.

    >>> import pellucid as torch
    >>> torch.library.define("docs_kernel::plus1", "(Tensor x) -> Tensor")
    >>> torch.library.impl("docs_kernel::plus1", "cpu", lambda x: x + 1)
    >>> torch.library.get_kernel("docs_kernel::plus1", "CPU")(torch.zeros(2))
    tensor([1., 1.])
    """
    found = _found(op)
    key = getattr(dispatch_key, "name", dispatch_key)
    if key not in found.py_kernels:
        raise RuntimeError(f"operator {found.name()} does not have a kernel for dispatch key {key}")
    return found.py_kernels[key]


# ---- rules for an operator -----------------------------------------------------------------------
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


def register_fake(
    op: Any,
    func: Any = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = False,
) -> Any:
    """Register the function that computes the shapes and dtypes of an operator's results from tensors without data.

    Export, compilation and the "meta" device need it. Without `func`, this is a decorator. The operator may be
    defined later than its fake function (PyTorch requires it first), so that packages whose compiled
    operators cannot be loaded remain importable.

    >>> import pellucid as torch
    >>> @torch.library.custom_op("docs_fake::pairs", mutates_args=())
    ... def pairs(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.combinations(x)
    >>> @torch.library.register_fake("docs_fake::pairs")
    ... def _(x):
    ...     n = x.shape[0]
    ...     return x.new_empty(n * (n - 1) // 2, 2)
    >>> pairs(torch.empty(5, device="meta")).shape
    torch.Size([10, 2])
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            _found(op).py_kernels["Meta"] = function
        except RuntimeError:
            # of a library whose compiled part is not loaded here: the rule waits for the operator
            _overload.EARLY[op] = function
        return function

    return register if func is None else register(func)


def impl_abstract(
    qualname: Any, func: Any = None, *, lib: Library | None = None, _stacklevel: int = 1
) -> Any:
    """The old name of `register_fake`, which has an example."""
    return register_fake(qualname, func, lib=lib)


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
    from .amp.autocast_mode import autocast, is_autocast_enabled

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
    if rules.get("vmap") is not None:
        body["vmap"] = staticmethod(
            lambda info, in_dims, *args: rules["vmap"](info, in_dims, *args)
        )
    function: Any = types.new_class(name, (Function,), exec_body=lambda space: space.update(body))

    def run(*args: Any, **kwargs: Any) -> Any:
        return function.apply(*_overload.bound(schema, args, kwargs))

    op.py_kernels["Autograd"] = run


# ---- operators from functions --------------------------------------------------------------------
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


# ---- the rest ------------------------------------------------------------------------------------
class _FakeContext:
    """What `get_ctx` gives: sizes that depend on values."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> NoReturn:
        """Not supported: sizes are numbers here."""
        raise UnsupportedError(
            "torch.library.get_ctx().new_dynamic_size is not supported: sizes are Python numbers here"
        )

    create_unbacked_symint = new_dynamic_size


def get_ctx() -> _FakeContext:
    """Return the context of the running function that `register_fake` registered.

    Its `new_dynamic_size()`, a size that depends on values, is not supported: sizes are Python numbers here.
    """
    return _FakeContext()


def wrap_triton(triton_kernel: Callable[..., Any], /) -> NoReturn:
    """Not supported, since there is no Triton: always raises an error."""
    raise UnsupportedError("torch.library.wrap_triton is not supported: there is no Triton here")


def triton_op(
    name: str, fn: Any = None, /, *, mutates_args: str | Iterable[str], schema: str | None = None
) -> NoReturn:
    """Not supported, since there is no Triton: always raises an error. Use `custom_op`."""
    raise UnsupportedError("torch.library.triton_op is not supported: there is no Triton here")


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: Any = (
        "test_schema",
        "test_autograd_registration",
        "test_faketensor",
        "test_aot_dispatch_dynamic",
    ),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Test a custom operator on sample arguments.

    Four properties are checked: the operator writes only to arguments that its schema marks as
    written, its gradient is registered for autograd, the function registered by `register_fake` predicts the shapes
    and dtypes of the results, and a backward pass reaches the arguments.

    Args:
        op: the operator, or the definition that `custom_op` returned.
        args, kwargs: sample arguments.
        test_utils: the names of the checks to run. Default: all four.
        raise_exception: raise the first error. Default: True; with False the errors are in the result.
        atol, rtol: accepted.

    Returns:
        A dictionary with "SUCCESS" or the error for each check.

    >>> import pellucid as torch
    >>> @torch.library.custom_op("docs_check::double", mutates_args=())
    ... def double(x: torch.Tensor) -> torch.Tensor:
    ...     return x.mul_(2).clone()  # writes to its argument, but the schema does not say so
    >>> _ = double.register_fake(lambda x: torch.empty_like(x))
    >>> result = torch.library.opcheck(double, (torch.ones(2),), raise_exception=False)
    >>> [name for name, outcome in result.items() if outcome != "SUCCESS"]
    ['test_schema']
    """
    return _checks.run(_found(op), args, dict(kwargs or {}), test_utils, raise_exception)
