"""Operators by name: defining them and registering what computes them."""

from __future__ import annotations

import contextlib
import re
import typing
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ..aten import overload as _overload
from ..aten.annotations import infer_schema as infer_schema
from ..errors import ArgumentValueError, UnsupportedError

_KEYS = {
    "cpu": "CPU",
    "cuda": "CUDA",
    "meta": "Meta",
    "xpu": "XPU",
    "mps": "MPS",
    "default": "CompositeExplicitAutograd",
    "types": "CPU",
}


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
    if hasattr(op, "_opoverload"):
        known: _overload.OpOverload = op._opoverload
        return known
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
    """The old name of `register_fake`, which has an example.

    >>> import pellucid as torch
    >>> @torch.library.custom_op("mylib::tripled", mutates_args=())
    ... def tripled(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 3
    >>> @torch.library.impl_abstract("mylib::tripled")
    ... def _(x):
    ...     return torch.empty_like(x)
    >>> tripled(torch.ones(2, 3, device="meta")).shape
    torch.Size([2, 3])
    """
    return register_fake(qualname, func, lib=lib)
