"""Shape assertions, and contracts whose dimension names apply to all arguments and results of a
call.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import config
from ..core import source
from ..core.tensor import Tensor
from ..errors import ContractError
from ._dims import Bindings, Mismatch, Spec, parse

__all__ = [
    "Bool",
    "Complex",
    "Float",
    "Int",
    "Shaped",
    "contracts_enabled",
    "enable_contracts",
    "expect_close",
    "expect_shape",
    "shape_str",
    "shapes",
]


# ---- assertions ------------------------------------------------------------------------------
def expect_shape(
    t: Any, shape: str | Sequence[Any], dims: dict[str, int] | None = None
) -> dict[str, int]:
    """Assert the shape of a tensor and return the sizes of the named dimensions.

    Args:
        t: anything with a `shape`.
        shape: per dimension an int, a name (the same name means the same size), None for any size;
            `...` for any number of dimensions. As text: `"B T 3"`, with arithmetic such as `2*D`.
        dims: sizes of names that are known already; new names are added to it, so that one dict
            serves several checks.

    Raises:
        AssertionError: the shape is another one; the message has both.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> debug.expect_shape(torch.zeros(4, 1), (4, 1))
    {}
    >>> debug.expect_shape(torch.zeros(2, 5, 3), ("B", ..., 3))
    {'B': 2}
    >>> debug.expect_shape(torch.zeros(4), (4, 1))
    Traceback (most recent call last):
    AssertionError: expected shape (4, 1), got (4,)
      in expect_shape at <doctest ...
      hint: ...
    """
    spec = parse(shape)
    found = _shape_of(t)
    known = {} if dims is None else dims
    bound = Bindings()
    for name, size in known.items():
        bound.sizes[name] = (size, "known before")
    try:
        bound.match(spec, found, "the tensor")
        bound.finish()
    except Mismatch as wrong:
        raise ContractError(
            f"expected shape {spec.text}, got {_tuple(found)}", op="expect_shape",
            source=source.describe(source.capture(2)), notes=wrong.lines, hint=_repair(spec, found),
        ) from None  # fmt: skip
    known.update({name: size for name, (size, _) in bound.sizes.items() if isinstance(size, int)})
    return {name: size for name, (size, _) in bound.sizes.items() if isinstance(size, int)}


def _repair(spec: Spec, found: tuple[int, ...]) -> str | None:
    """The reshaping that turns the found shape into the wanted one, when the sizes leave exactly
    one.
    """
    wanted = spec.fixed()
    if wanted is None or wanted == found:
        return None
    if sorted(wanted) == sorted(found) and len(set(wanted)) == len(wanted):
        return f"permute{tuple(found.index(size) for size in wanted)} gives this shape; view or reshape would mix up the values"
    for axis in range(len(wanted)):
        if (
            len(wanted) == len(found) + 1
            and wanted[axis] == 1
            and wanted[:axis] + wanted[axis + 1 :] == found
        ):
            return f"unsqueeze({axis}) gives this shape"
    for axis in range(len(found)):
        if (
            len(found) == len(wanted) + 1
            and found[axis] == 1
            and found[:axis] + found[axis + 1 :] == wanted
        ):
            return f"squeeze({axis}) gives this shape"
    if (
        len(wanted) == 2
        and len(found) > 2
        and wanted[0] == found[0]
        and wanted[1] == int(np.prod(found[1:]))
    ):
        return "flatten(1) gives this shape"
    return None


def _shape_of(t: Any) -> tuple[int, ...]:
    shape = getattr(t, "shape", None)
    if shape is None or callable(shape):
        raise ContractError(f"expected a tensor, got {type(t).__name__}", op="expect_shape")
    return tuple(int(n) for n in shape)


def _tuple(shape: Sequence[int]) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def _array(x: Any) -> np.ndarray:
    if isinstance(x, Tensor):
        return np.asarray(x._array)
    if hasattr(x, "detach"):  # a tensor of another library
        return np.asarray(x.detach().cpu())
    return np.asarray(x)


def expect_close(
    a: Any, b: Any, atol: float = 1e-6, rtol: float = 1e-5, equal_nan: bool = False
) -> None:
    """Assert that two tensors have equal shapes and `|a - b| <= atol + rtol * |b|` everywhere;
    gradients are not tracked.

    Raises:
        AssertionError: naming the worst element, both values, and how many differ.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> debug.expect_close(torch.tensor([1.0, 2.0]), [1.0, 2.0])
    """
    x, y = _array(a), _array(b)
    where = {"op": "expect_close", "source": source.describe(source.capture(2))}
    if x.shape != y.shape:
        raise ContractError(
            f"expected equal shapes, got {_tuple(x.shape)} and {_tuple(y.shape)}", **where
        )
    if not x.size:
        return
    kind = np.complex128 if "c" in (x.dtype.kind, y.dtype.kind) else np.float64
    if x.dtype.kind in "iub" and y.dtype.kind in "iub":
        kind = np.object_ if "uint64" in (x.dtype.name, y.dtype.name) else np.int64
    wide, other = x.astype(kind), y.astype(kind)
    with np.errstate(all="ignore"):
        gap = np.abs(wide - other)
        close = wide == other
        near = gap <= atol + rtol * np.abs(other)
        if kind in (np.float64, np.complex128):
            near &= np.isfinite(wide) & np.isfinite(other)
            if equal_nan:
                near |= np.isnan(wide) & np.isnan(other)
        close = close | near
    close = np.asarray(close, bool)
    if close.all():
        return
    ranked = np.where(
        close, -1.0, np.where(np.isnan(np.asarray(gap, float)), np.inf, np.asarray(gap, float))
    )
    worst = np.unravel_index(int(np.argmax(ranked)), x.shape)
    index = ", ".join(map(str, map(int, worst)))
    raise ContractError(
        f"values differ: {int((~close).sum())} of {x.size} elements are not close (atol={atol:g}, rtol={rtol:g})",
        notes=[
            f"worst at [{index}]: {x[worst]} and {y[worst]}, apart by {float(np.asarray(gap)[worst]):g}"
        ],
        **where,
    )


def shape_str(t: Any) -> str:
    """Shape, dtype and device of a tensor on one line.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> debug.shape_str(torch.zeros(2, 3))
    'shape=(2, 3), dtype=torch.float32, device=cpu'
    """
    if not hasattr(t, "shape") or not hasattr(t, "dtype"):
        return f"{type(t).__name__} (not a tensor)"
    return f"shape={_tuple(tuple(t.shape))}, dtype={t.dtype}, device={getattr(t, 'device', 'cpu')}"


# ---- contracts -------------------------------------------------------------------------------
def enable_contracts(on: bool = True) -> None:
    """Switch all `@shapes` contracts on or off, those of decorated functions included (also
    `PELLUCID_CONTRACTS=0`).

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> debug.enable_contracts(False)
    >>> debug.contracts_enabled()
    False
    >>> debug.enable_contracts(True)
    """
    config.contracts = bool(on)


def contracts_enabled() -> bool:
    """True while `@shapes` contracts are checked.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> debug.contracts_enabled()
    True
    """
    return bool(config.contracts)


class _Annotated:
    """What `Float[Tensor, "B D"]` makes: read by `@shapes`, with the attributes that jaxtyping's
    annotations have.
    """

    def __init__(
        self, kind: str, dtypes: tuple[str, ...] | None, array_type: Any, dim_str: str
    ) -> None:
        self.kind, self.dtypes, self.array_type, self.dim_str = kind, dtypes, array_type, dim_str

    def __call__(self) -> None:  # typing.get_type_hints wants annotations to be callable
        raise TypeError(f"{self!r} is an annotation")

    def __or__(self, other: Any) -> Any:
        return typing.Union[typing.Annotated[Any, self], other]  # noqa: UP007  (evaluated at run time)

    def __repr__(self) -> str:
        return f'{self.kind}[{getattr(self.array_type, "__name__", self.array_type)}, "{self.dim_str}"]'


class _Kind:
    """A family of element types to be subscripted: `Float[Tensor, "B D"]`."""

    def __init__(self, name: str, dtypes: tuple[str, ...] | None, doc: str) -> None:
        self.name, self.dtypes, self.__doc__ = name, dtypes, doc

    def __getitem__(self, item: Any) -> _Annotated:
        if not (isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], str)):
            raise TypeError(f'write {self.name}[Tensor, "B D"]')
        if "{" not in item[1]:
            parse(item[1])
        return _Annotated(self.name, self.dtypes, *item)

    def __repr__(self) -> str:
        return f"debug.{self.name}"


_COMMON = frozenset(
    {
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    }
)
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
Float = _Kind("Float", _FLOATS, "Annotation for floating point tensors.")
Int = _Kind("Int", _INTS, "Annotation for integer tensors.")
Bool = _Kind("Bool", ("bool",), "Annotation for bool tensors.")
Complex = _Kind("Complex", ("complex64", "complex128"), "Annotation for complex tensors.")
Shaped = _Kind("Shaped", None, "Annotation for tensors of any element type.")


class _Want:
    """What a contract says of one value: a shape (or the text of one with `{expressions}` in it),
    an element type, whether None is allowed; or a tuple of wants, a want for each item, several of
    which one must hold."""

    def __init__(
        self,
        spec: Spec | None = None,
        dtypes: Any = None,
        optional: bool = False,
        parts: tuple[Any, ...] = (),
    ) -> None:
        self.spec, self.dtypes, self.optional, self.parts = spec, dtypes, optional, parts
        self.template: str | None = None
        self.each: _Want | None = None
        self.either: tuple[_Want, ...] = ()

    def text(self) -> str:
        """The shape as it is written."""
        return self.template or (self.spec.text if self.spec is not None else "...")


def _from_annotation(hint: Any) -> _Want | None:
    """A want read from an annotation: ours, jaxtyping's (known by its `dim_str`), and lists,
    tuples, dicts and unions of them.
    """
    if isinstance(getattr(hint, "dim_str", None), str):
        names = getattr(hint, "dtypes", None)
        names = (
            tuple(names)
            if isinstance(names, (list, tuple)) and all(isinstance(n, str) for n in names)
            else None
        )
        if "{" in hint.dim_str:
            want = _Want(None, names)
            want.template = hint.dim_str
            return want
        return _Want(parse(hint.dim_str), names)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        found = [_from_annotation(note) for note in hint.__metadata__]
        return next((want for want in found if want is not None), None)
    if origin is tuple and Ellipsis not in arguments:
        parts = tuple(_from_annotation(a) for a in arguments)
        return _Want(parts=parts) if any(p is not None for p in parts) else None
    if origin in (list, tuple, set, Sequence, Iterable, dict, Mapping) and arguments:
        inner = _from_annotation(arguments[-1 if origin in (dict, Mapping) else 0])
        return None if inner is None else _for_each(inner)
    if origin in (typing.Union, types.UnionType):
        wants = [_from_annotation(a) for a in arguments if a is not type(None)]
        if not wants or any(want is None for want in wants):  # something else is allowed as well
            return None
        chosen = wants[0] if len(wants) == 1 else _Want()
        assert chosen is not None
        chosen.either = (
            tuple(want for want in wants if want is not None) if len(wants) > 1 else chosen.either
        )
        chosen.optional = chosen.optional or type(None) in arguments
        return chosen
    return None


def _for_each(want: _Want) -> _Want:
    outer = _Want()
    outer.each = want
    return outer


def _check(want: _Want, value: Any, label: str, bound: Bindings, given: Mapping[str, Any]) -> None:
    if value is None and want.optional:
        return
    if want.either:
        _check_either(want, value, label, bound, given)
        return
    if want.each is not None:
        if not isinstance(value, Iterable) or isinstance(value, Tensor):
            raise Mismatch(f"{label} should hold several tensors, got {type(value).__name__}", [])
        for key, one in value.items() if isinstance(value, Mapping) else enumerate(value):
            _check(want.each, one, f"{label}[{key!r}]", bound, given)
        return
    if want.parts:
        if not isinstance(value, (tuple, list)) or len(value) != len(want.parts):
            got = (
                f"{len(value)} values" if isinstance(value, (tuple, list)) else type(value).__name__
            )
            raise Mismatch(f"{label} should be {len(want.parts)} values, got {got}", [])
        for k, (part, one) in enumerate(zip(want.parts, value, strict=True)):
            if part is not None:
                _check(part, one, f"{label}[{k}]", bound, given)
        return
    spec = want.spec
    if want.template is not None:  # as in an f-string, over the arguments of the call
        spec = parse(eval("f" + repr(want.template), {}, dict(given)))
    assert spec is not None
    shape = getattr(value, "shape", None)
    if shape is None or callable(shape):
        raise Mismatch(
            f"{label} should be a tensor of shape {spec.text}, got {type(value).__name__}", []
        )
    if want.dtypes is not None:
        name = str(value.dtype).removeprefix("torch.")
        if name not in want.dtypes and name.rstrip("_") not in want.dtypes:
            known = [n for n in want.dtypes if n in _COMMON] or want.dtypes
            raise Mismatch(f"{label} should have a dtype among {', '.join(known)}, got {name}", [])
    bound.match(spec, tuple(int(n) for n in shape), label)


def _check_either(
    want: _Want, value: Any, label: str, bound: Bindings, given: Mapping[str, Any]
) -> None:
    """One of several wants must hold; only what that one binds is kept."""
    failed: list[Mismatch] = []
    for one in want.either:
        trial = bound.copy()
        try:
            _check(one, value, label, trial, given)
        except Mismatch as wrong:
            failed.append(wrong)
            continue
        bound.take(trial)
        return
    choices = " or ".join(one.text() for one in want.either)
    raise Mismatch(f"{label} fits none of {choices}: {failed[-1].sentence}", failed[-1].lines)


def _split(text: str) -> list[str]:
    """Parts between the commas that stand outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]


class Contract:
    """What one function's arguments and results must be."""

    def __init__(self, fn: Callable[..., Any], text: str | None) -> None:
        self.fn, self.text = fn, text
        self.signature = inspect.signature(fn)
        self.arguments: dict[str, _Want] = {}
        self.result: _Want | None = None
        self.ready = text is not None
        if text is not None:
            self._read(text)

    def _read(self, text: str) -> None:
        left, arrow, right = text.partition("->")
        names = [
            n
            for n, p in self.signature.parameters.items()
            if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
        ]
        if names and names[0] in ("self", "cls"):
            names = names[1:]
        parts = _split(left) if left.strip() else []
        position = 0
        for part in parts:
            name, colon, spec = part.rpartition(":")
            name = name.strip()
            if not colon:
                if position >= len(names):
                    raise ValueError(
                        f"{self._name()} has {len(names)} parameters, its contract {text!r} has {len(parts)} shapes"
                    )
                name = names[position]
                position += 1
            elif name not in names:
                raise ValueError(
                    f"{self._name()} has no parameter {name!r}, which its contract {text!r} names"
                )
            if spec.strip() == "-":  # not checked
                continue
            self.arguments[name] = _Want(
                parse(spec), optional=self.signature.parameters[name].default is None
            )
        if arrow:
            wants = [None if p.strip() == "-" else _Want(parse(p)) for p in _split(right)]
            self.result = wants[0] if len(wants) == 1 else _Want(parts=tuple(wants))

    def _from_hints(self) -> None:
        hints = typing.get_type_hints(self.fn, include_extras=True)
        for name, hint in hints.items():
            want = _from_annotation(hint)
            if want is None:
                continue
            if name == "return":
                self.result = want
            else:
                several = self.signature.parameters[name].kind in (
                    inspect.Parameter.VAR_POSITIONAL,
                    inspect.Parameter.VAR_KEYWORD,
                )
                self.arguments[name] = _for_each(want) if several else want
        if not self.arguments and self.result is None:
            raise TypeError(f"@shapes: {self._name()} has no annotation with a shape")
        self.ready = True

    def _name(self) -> str:
        return self.fn.__qualname__

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not self.ready:
            self._from_hints()
        try:
            given = self.signature.bind(*args, **kwargs)
        except TypeError:
            return self.fn(*args, **kwargs)  # which raises Python's own message
        given.apply_defaults()
        bound = Bindings()
        try:
            for name, want in self.arguments.items():
                _check(want, given.arguments[name], f"argument {name!r}", bound, given.arguments)
        except Mismatch as wrong:
            raise self._error(wrong) from None
        result = self.fn(*args, **kwargs)
        try:
            if self.result is not None:
                _check(self.result, result, "the result", bound, given.arguments)
            bound.finish()
        except Mismatch as wrong:
            raise self._error(wrong) from None
        return result

    def _error(self, wrong: Mismatch) -> Exception:
        code = inspect.unwrap(self.fn).__code__
        declared = f"the contract{' ' + repr(self.text) if self.text else ''} is declared at {code.co_filename}:{code.co_firstlineno}"
        return ContractError(
            f"{self._name()}: {wrong.sentence}",
            op=self._name(),
            source=source.describe(source.capture(3)),
            notes=[*wrong.lines, declared],
        )


def shapes(contract: str | Callable[..., Any] | None = None) -> Any:
    """Decorator: a contract on the shapes of a function's arguments and results.

    Args:
        contract: a shape for each parameter in order (`self` aside), `->`, the shapes of the
            results: `"B T D, D -> B T"`. A name stands for one size through the whole call. `2*D`,
            `T-1`: arithmetic; `3`: that size; `_`: any size; `...` or `*name`: any number of
            dimensions; `()`: no dimension; `#B`: that size or 1; `-`: this value is not checked;
            `x: B D`: the parameter called x. Left out, the annotations are read
            (`Float[Tensor, "B D"]`: ours or jaxtyping's).

    Raises:
        AssertionError: when called with, or returning, other shapes; names the dimension, both
            sizes and where each came from.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> @debug.shapes("B T D, D -> B T")
    ... def score(x, w):
    ...     return x @ w
    >>> score(torch.zeros(2, 5, 3), torch.zeros(3)).shape
    torch.Size([2, 5])
    >>> score(torch.zeros(2, 5, 3), torch.zeros(4))
    Traceback (most recent call last):
    AssertionError: score: dimension D is 3 and 4
      ...
    """

    def decorate(fn: Callable[..., Any], text: str | None) -> Callable[..., Any]:
        held = Contract(fn, text)

        @functools.wraps(fn)
        def checked(*args: Any, **kwargs: Any) -> Any:
            if not config.contracts:
                return fn(*args, **kwargs)
            return held.call(args, kwargs)

        checked.contract = held  # type: ignore[attr-defined]
        return checked

    if callable(contract):
        return decorate(contract, None)
    return lambda fn: decorate(fn, contract)
