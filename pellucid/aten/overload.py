"""Operators as objects: `torch.ops.aten.add` holds the overloads of one name,
`torch.ops.aten.add.Tensor` is one of them.

>>> import pellucid as torch
>>> torch.ops.aten.add.Tensor
<OpOverload(op='aten.add', overload='Tensor')>
>>> torch.ops.aten.add.Tensor(torch.ones(2), torch.ones(2))
tensor([2., 2.])
"""

from __future__ import annotations

import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from enum import Enum
from types import FrameType
from typing import Any

from ..api.attach import LENT
from ..core.tensor import Tensor
from ..ops._overloads import IN_PLACE, called
from . import dispatch, kernels
from .schema import LETTERS, FunctionSchema, SchemaType, aten, parse


class Tag(Enum):
    """Properties of operators that are not in their schema, such as being nondeterministic.

    >>> import pellucid as torch
    >>> torch.ops.aten.bernoulli.default.tags
    [<Tag.nondeterministic_seeded: 13>, <Tag.pt2_compliant_tag: 17>]
    """

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19

    def __repr__(self) -> str:
        return f"<Tag.{self.name}: {self.value}>"


class _Below(threading.local):
    # True inside a kernel registered for autograd, which calls the operator again for its value
    autograd = False


below = _Below()

# Shape rules of operators that are not defined yet, by full name.
EARLY: dict[str, Callable[..., Any]] = {}

# Operators that programs have defined, in the form in which `schema.aten()` holds those of aten:
# {namespace: {operator: {overload: (tags, text)}}}.
DEFINED: dict[str, dict[str, dict[str, tuple[list[Tag], str]]]] = {}


def define(namespace: str, text: str, tags: Any = ()) -> OpOverload:
    """Add an operator to a namespace.

    Args:
        namespace: its namespace, such as "mylib".
        text: its schema without the namespace.
        tags: one `Tag`, or several.

    Raises:
        RuntimeError: it is there already.
    """
    schema = parse(f"{namespace}::{text}")
    name = schema.name.partition("::")[2]
    table = DEFINED.setdefault(namespace, {}).setdefault(name, {})
    overload = schema.overload_name or "default"
    if overload in table or namespace == "aten" and overload in aten().get(name, {}):
        raise RuntimeError(
            f"Tried to register an operator ({schema}) with the same name and overload name multiple times."
        )
    table[overload] = ([tags] if isinstance(tags, Tag) else list(tags), text)
    space = getattr(ops, namespace)
    # a packet that was handed out before looks up the new overload when asked
    vars(space).get(name, space)
    made: OpOverload = getattr(getattr(space, name), overload)
    if schema.name in EARLY:
        made.py_kernels["Meta"] = EARLY.pop(schema.name)
    return made


def undefine(namespace: str, name: str, overload: str = "default") -> None:
    """Remove what `define` added."""
    DEFINED.get(namespace, {}).get(name, {}).pop(overload, None)
    packet = vars(getattr(ops, namespace)).get(name)
    if packet is not None:
        vars(packet).pop(overload, None)
        if not DEFINED[namespace][name]:
            vars(getattr(ops, namespace)).pop(name, None)


_AUTOGRAD = ("AutogradCPU", "Autograd")


class OpOverload:
    """One overload of an operator: what `__torch_dispatch__` is handed, and what graphs hold."""

    def __init__(
        self,
        packet: OpOverloadPacket,
        overload: str,
        schema: FunctionSchema,
        tags: list[Tag],
        composite: bool,
    ) -> None:
        self._overloadpacket, self._overloadname, self._schema, self._tags = (
            packet,
            overload,
            schema,
            tags,
        )
        self._name = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
        self._opname = packet.__name__
        self._namespace = self.namespace = schema.name.partition("::")[0]
        self.__name__ = f"{self._opname}.{overload}"
        self.__qualname__ = self._name
        self.__module__ = packet.__module__
        self._composite = composite
        self._defined_in_python = schema.name.partition("::")[2] in DEFINED.get(self.namespace, {})
        # functions that programs have registered, by dispatch key
        self.py_kernels: dict[Any, Callable[..., Any]] = {}
        shared = [a.alias_info for a in schema.arguments if a.alias_info is not None]
        self.is_view = bool(shared) and not any(info.is_write for info in shared)
        self._kernel: Any = None

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """All overloads of the name."""
        return self._overloadpacket

    @property
    def op(self) -> Any:
        """What computes it."""
        return self._compute

    _op = op

    @property
    def tags(self) -> list[Tag]:
        """What is known of it beside the schema."""
        return self._tags

    def name(self) -> str:
        """Its full name: `aten::add.Tensor`."""
        return self._name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        values = bound(self._schema, args, kwargs)
        return dispatch.call(self, *passed(self._schema, values))

    def redispatch(self, keyset: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The operator below those who have seen it."""
        return self(*args, **kwargs)

    def py_impl(self, key: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator: what computes the operator for a dispatch key."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.py_kernels[getattr(key, "name", key)] = function
            return function

        return register

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Whether there is something that computes it for a dispatch key."""
        key = getattr(key, "name", key)
        return key in self.py_kernels or key == "CompositeImplicitAutograd" and self._composite

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """The operator by its parts; NotImplemented for what is not composite."""
        if not self._composite and "CompositeImplicitAutograd" not in self.py_kernels:
            return NotImplemented
        return self._compute(*args, **kwargs)

    def _can_decompose(self) -> bool:
        return self.has_kernel_for_dispatch_key("CompositeImplicitAutograd")

    def _compute(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the results with what is registered for the operator, else with the library."""
        if self.py_kernels:
            cast = self.py_kernels.get("Autocast")
            if cast is not None and cast.applies():  # type: ignore[attr-defined]
                return cast(*args, **kwargs)
            for key in _AUTOGRAD:
                if key in self.py_kernels and not below.autograd:
                    return self.py_kernels[key](*args, **kwargs)
        return self._below(*args, **kwargs)

    def _has_autograd(self) -> bool:
        """Return whether a kernel for autograd is registered."""
        return any(key in self.py_kernels for key in _AUTOGRAD)

    def _past_autograd(self) -> bool:
        """Return whether the registered kernel for autograd is running."""
        return self._has_autograd() and below.autograd

    def _below(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the results below a registered kernel for autograd."""
        if self.py_kernels:
            meta = any(isinstance(x, Tensor) and x.is_meta for x in (*args, *kwargs.values()))
            for key in (
                "Meta" if meta else "CPU",
                "CompositeExplicitAutograd",
                "CompositeImplicitAutograd",
            ):
                if key in self.py_kernels:
                    return self.py_kernels[key](*args, **kwargs)
        if self._kernel is None:
            self._kernel = kernels.of(self, _packet) or kernels.refusing(self)
        return self._results(self._kernel(*args, **kwargs))

    def _known(self) -> bool:
        """Return whether the operator has an implementation."""
        return bool(self.py_kernels) or kernels.of(self, _packet) is not None

    def _results(self, made: Any) -> Any:
        returns = self._schema.returns
        if len(returns) == 1:
            return (
                list(made) if returns[0].type.is_list and isinstance(made, (tuple, list)) else made
            )
        return tuple(made) if isinstance(made, (tuple, list)) else None if not returns else made

    def __repr__(self) -> str:
        return (
            f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"
        )

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __hash__(self) -> int:
        return hash(self._name)

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    def __reduce__(self) -> Any:
        return overload_of, (self._name,)


def _packet(name: str) -> Any:
    """Return the overloads of an operator of aten, or None."""
    return getattr(ops.aten, name, None)


def overload_of(name: str) -> OpOverload:
    """Return the overload of a full name such as `aten::add.Tensor`."""
    namespace, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    found: OpOverload = getattr(getattr(getattr(ops, namespace), packet), overload or "default")
    return found


class OpOverloadPacket:
    """The overloads of one name; called, it takes the first that the arguments fit."""

    def __init__(self, namespace: str, name: str) -> None:
        self.__name__, self._namespace = name, namespace
        self._qualified_op_name = f"{namespace}::{name}"
        self.__module__ = f"torch._ops.{namespace}"
        self._dir: list[str] = []

    def _table(self) -> dict[str, tuple[Any, str]]:
        own = DEFINED.get(self._namespace, {}).get(self.__name__, {})
        return {**aten().get(self.__name__, {}), **own} if self._namespace == "aten" else dict(own)

    def overloads(self) -> list[str]:
        """The names of the overloads; "default" is the one without a name."""
        return list(self._table())

    @property
    def op(self) -> Any:
        """What runs the overload that the arguments fit."""
        return self.__call__

    @property
    def _overload_names(self) -> list[str]:
        return ["" if name == "default" else name for name in self._table()]

    @property
    def _schemas(self) -> dict[str, FunctionSchema]:
        return {
            "" if name == "default" else name: getattr(self, name)._schema for name in self._table()
        }

    def __getattr__(self, name: str) -> OpOverload:
        known = None if name.startswith("__") and name != "__name__" else self._table().get(name)
        if known is None:
            raise AttributeError(
                f"'{self.__dict__.get('__name__')}' object has no attribute '{name}'"
                if name.startswith("__")
                else f"The underlying op of '{self}' has no overload name '{name}'"
            )
        about, text = known
        schema = parse(f"{self._namespace}::{text}")
        if isinstance(about, str):
            tags = [Tag[LETTERS[letter]] for letter in about if letter not in "cj"]
            tags += [Tag.out] if any(a.is_out for a in schema.arguments) else []
            tags += (
                [Tag.inplace]
                if self.__name__.endswith("_") and schema.is_mutable and Tag.out not in tags
                else []
            )
            tags = sorted([*tags, Tag.pt2_compliant_tag], key=lambda tag: tag.value)
        else:
            tags = about
        made = OpOverload(self, name, schema, tags, "c" in about)
        setattr(self, name, made)
        self._dir.append(name)
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._dir)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._resolve(args, kwargs)(*args, **kwargs)

    def _resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpOverload:
        """Return the first overload that the arguments fit."""
        refusals = []
        table = self._table()
        for name in table:
            overload: OpOverload = getattr(self, name)
            try:
                bound(overload._schema, args, kwargs)
            except RuntimeError as error:
                if len(table) == 1:
                    raise
                refusals.append(str(error))
            else:
                return overload
        raise RuntimeError(
            "Overloaded torch operator invoked from Python failed to match any schema:\n"
            + "".join([f"{r}\n\n" for r in refusals])
        )

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"

    def __hash__(self) -> int:
        return hash(self._qualified_op_name)

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self

    def __reduce__(self) -> Any:
        return _packet_of, (self._namespace, self.__name__)


def _packet_of(namespace: str, name: str) -> Any:
    return getattr(getattr(ops, namespace), name)


class OpNamespace(types.ModuleType):
    """The operators of one namespace: `torch.ops.aten`."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self._name = name
        self._dir: list[str] = []

    __file__ = "torch.ops"

    def __iter__(self) -> Iterator[str]:
        return iter(self._dir)

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if (
            name.startswith("__")
            and name.endswith("__")
            and name not in aten()
            or not (
                DEFINED.get(self._name, {}).get(name) or self._name == "aten" and name in aten()
            )
        ):
            raise AttributeError(
                f"'_OpNamespace' '{self._name}' object has no attribute '{name}'", name=name
            )
        packet = OpOverloadPacket(self._name, name)
        setattr(self, name, packet)
        self._dir.append(name)
        return packet


class Ops(types.ModuleType):
    """`torch.ops`: a namespace for each attribute."""

    __file__ = "_ops.py"

    def __init__(self) -> None:
        super().__init__("torch.ops")
        self.loaded_libraries: set[str] = set()
        self._dir: list[str] = []

    def __getattr__(self, name: str) -> OpNamespace:
        if name.startswith("__"):
            raise AttributeError(f"module 'torch.ops' has no attribute '{name}'", name=name)
        space = OpNamespace(name)
        setattr(self, name, space)
        self._dir.append(name)
        return space

    def __iter__(self) -> Iterator[str]:
        return iter(self._dir)

    def import_module(self, module: str) -> None:
        """Import a module of Python that defines operators."""
        import importlib

        importlib.import_module(module)

    def load_library(self, path: str) -> None:
        """Define the operators of a shared library, where this library has its own for them
        (`LENT`).

        Raises:
            OSError: others; they are built against PyTorch itself.
        """
        folder, file = os.path.split(os.fspath(path))
        define = LENT.get(f"{os.path.basename(folder)}/{file.partition('.')[0]}")
        if define is None:
            raise OSError(f"Could not load this library: {path}")
        define()


ops = Ops()


# ---- arguments -------------------------------------------------------------------------------
# operators that accept numbers as tensor arguments
_NUMBERS_TOO = frozenset(
    f"aten::{word}{end}"
    for word in ("add", "sub", "mul", "div", "divide", "multiply", "subtract", "true_divide")
    for end in ("", "_")
) | {"aten::copy_", "aten::floor_divide", "aten::floor_divide_"}


def bound(schema: FunctionSchema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return the values of all arguments of a schema, with defaults filled in.

    Raises:
        RuntimeError: they do not fit it.
    """
    arguments = schema.arguments
    places = [a for a in arguments if not a.kwarg_only]
    given = len(args) + len(kwargs)
    if given > len(arguments) or len(args) > len(places):
        raise RuntimeError(
            f"{schema.name}() expected at most {len(arguments)} argument(s) but received {given} argument(s). Declaration: {schema}"
        )
    values, left = [], dict(kwargs)
    for k, argument in enumerate(arguments):
        if k < len(args) and not argument.kwarg_only:
            value, place = args[k], f"Position: {k}\n"
        elif argument.name in left:
            value, place = left.pop(argument.name), ""
        elif not argument.required:
            values.append(argument.default_value)
            continue
        else:
            raise RuntimeError(
                f"{schema.name}() is missing value for argument '{argument.name}'. Declaration: {schema}"
            )
        kind = argument.type
        if not kind.takes(value) and not (
            schema.name in _NUMBERS_TOO
            and str(kind) == "Tensor"
            and isinstance(value, (bool, int, float, complex))
        ):
            raise RuntimeError(
                f"{schema.name}() Expected a value of type '{kind}' for argument '{argument.name}' but instead found type "
                f"'{type(value).__name__}'.\n{place}Value: {value!r}\nDeclaration: {schema}\nCast error details: {_why(kind, value)}"
            )
        if argument.N is not None and value is not None and not isinstance(value, (list, tuple)):
            value = [value] * argument.N
        values.append(list(value) if isinstance(value, tuple) and kind.is_list else value)
    if left:
        raise RuntimeError(
            f"Unknown keyword argument '{next(iter(left))}' for operator '{schema.name}'. Schema: {schema}"
        )
    return values


def _why(kind: SchemaType, value: Any) -> str:
    if str(kind) == "Tensor":
        return f"Unable to cast {value!s} to Tensor"
    if str(kind) == "number":
        return f"Cannot cast {str(value) if isinstance(value, str) else repr(value)} to number"
    if kind.base == "t":
        return "toIValue() cannot handle converting to type: t"
    return (
        f"Unable to cast Python instance of type {type(value)} to C++ type '?' (#define PYBIND11_DETAILED_ERROR_MESSAGES or compile in "
        "debug mode for details)"
    )


def passed(schema: FunctionSchema, values: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments to pass on. Arguments equal to their defaults are omitted, unless a
    positional one follows.
    """
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    least = 0
    for argument, value in zip(schema.arguments, values, strict=True):
        same = not argument.required and _same(argument.default_value, value)
        if not argument.kwarg_only:
            args.append(value)
            least = least if same else len(args)
        elif not same:
            kwargs[argument.name] = value
    return tuple(args[:least]), kwargs


def _same(default: Any, value: Any) -> bool:
    if default is None or value is None:
        return default is value
    return type(default) is type(value) and not isinstance(value, Tensor) and bool(default == value)


# ---- what is running -------------------------------------------------------------------------
# Python's operators in place that are methods under other names; `&=` and its like have their own.
_OPERATORS = {
    f"__i{sign}__": f"{name}_"
    for sign, name in zip(
        "add sub mul truediv div floordiv mod pow".split(),
        "add sub mul div div floor_divide remainder pow".split(),
        strict=True,
    )
}


def in_place() -> str:
    """The operator in place that the library runs, as `aten::add_.Tensor`: that of the innermost
    public function whose name says that it writes.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        run = called(frame)
        if run is not None:
            name, args, kwargs = run.path.rpartition(".")[2], run.args, run.kwargs
        elif frame.f_code is IN_PLACE:
            found = frame.f_locals
            name, args, kwargs = found["name"], (found["self"], *found["args"]), found["kwargs"]
        else:
            name = ""
        name = _OPERATORS.get(name, name)
        if name.endswith("_") and name in aten():
            return _named(name, args, kwargs)
        frame = frame.f_back
    return "aten::copy_"


def _named(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    packet = getattr(ops.aten, name)
    if name in ("add_", "sub_"):  # a number is a tensor to them, and may come first
        return f"aten::{name}.Tensor"
    try:
        overload = packet._resolve(args, kwargs)
    except RuntimeError:
        overload = getattr(packet, packet.overloads()[0])
    return str(overload._name)
