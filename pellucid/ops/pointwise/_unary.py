"""Helpers that record and publish most operations of one or two tensors, each with one call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.bind import NUMBERS, common_dtype
from ...core.display import refusals
from ...core.inplace import check_out, inplace_form, into
from ...core.primitive import Primitive, Rule, defop
from ...core.public import FUNCTIONS, METHODS
from ...core.tensor import Tensor
from ...errors import DtypeError, UnsupportedError, other_dtype
from ...ir.formula import Formula
from ...shapes import broadcast_shapes
from .._rules import mismatch, require_tensor
from .._samples import REAL, Domain, elementwise
from ._direct import direct_form

OUT = "        out: a tensor for the result. Default: None, a new tensor.\n"


def document(
    function: Any, doc: str, example: str, shows: str, arguments: str = "", returns: str = ""
) -> None:
    """A docstring of one sentence, arguments and result if they are given, and an example."""
    if arguments:
        doc += f"\n\n    Args:\n        {arguments}\n\n    Returns:\n        {returns}."
    text = f"{doc}\n\n    >>> import pellucid as torch\n    >>> {example}\n"
    function.__doc__ = text + "".join(f"    {line}\n" for line in shows.splitlines())


def kinds(promote: str | None, complex: bool) -> str:
    """What is said of the dtypes that an operation takes, for its docstring."""
    said = ["real or complex"] if complex else []
    said += ["integers and bools become the default float dtype"] if promote == "float" else []
    return "".join(f"; {words}" for words in said) + "."


def publish(
    op: Primitive,
    call: Callable[..., Any],
    function: Callable[..., Any],
    *,
    names: str,
    namespace: str,
    methods: str | None,
    inplace: bool,
    numbers: bool = False,
    written: Callable[..., Any] | None = None,
) -> None:
    """Register `function` (with `out=`) in a namespace and `call` as methods, with in-place forms
    of them, or of `written`.
    """
    own = names.split()
    function.__name__ = function.__qualname__ = call.__name__ = call.__qualname__ = own[0]
    call.__doc__ = (function.__doc__ or "").replace(OUT, "")
    if written is not None:
        written.__name__, written.__doc__ = call.__name__, call.__doc__
    for space in namespace.split():
        for name in own:
            FUNCTIONS.setdefault(space, {})[name] = function
    for name in own if methods == "=" else (methods or "").split():
        METHODS[name] = call
        if inplace:
            form = inplace_form(written or call, name + "_")
            if isinstance(op.numpy_forward, np.ufunc) and op.promote != "compare":
                form = direct_form(
                    form, op.numpy_forward, name + "_", (float, int) if numbers else ()
                )
            METHODS[name + "_"] = form
            FUNCTIONS.setdefault("torch", {})[name + "_"] = form


def real(*arrays: Any, **_: Any) -> None:
    """A record's `check`: there is nothing for complex numbers."""
    if any(a.dtype.kind in "cW" if hasattr(a, "dtype") else type(a) is complex for a in arrays):
        raise TypeError("ufunc not supported for complex numbers")


def without_halves(call: Callable[..., Any], kernel: str) -> Callable[..., Any]:
    """The caller of an operation that PyTorch has no kernel of for complex numbers and floats of
    two bytes.
    """

    @functools.wraps(call)
    def run(*args: Any, **kwargs: Any) -> Any:
        if all(isinstance(x, (Tensor, *NUMBERS)) for x in args):
            kind = common_dtype(args)
            broadcast_shapes(*[x._array.shape for x in args if isinstance(x, Tensor)])
            if kind.is_complex or kind.is_floating_point and kind.itemsize == 2:
                raise UnsupportedError(
                    f"\"{kernel}\" not implemented for '{kind.scalar_type_name}'"
                )
        return call(*args, **kwargs)

    run.__dict__.pop("positional", None)  # the attribute of `call`, which does not check `state`
    return run


def unary(
    names: str,
    forward: Rule | str | Formula,
    vjp: Rule | None = None,
    *,
    doc: str,
    example: str,
    shows: str = "",
    promote: str | None = "float",
    namespace: str = "torch",
    methods: str | None = "=",
    inplace: bool = True,
    own_out: bool = False,
    takes_out: bool = True,
    bool_out: bool = False,
    jvp: Any = "elementwise",
    op_name: str = "",
    domain: Domain = REAL,
    complex: bool = False,
    halves: bool = True,
    written: Callable[..., Any] | None = None,
    **fields: Any,
) -> Primitive:
    """Record an element-wise operation on one tensor and publish it.

    Args:
        names: public names, the first being the record's.
        forward, promote, jvp, fields: as for `defop`; a formula as `forward` is the one that the
            forward rule follows from.
        vjp: the gradient rule for the input.
        doc, example, shows: docstring: a sentence, an expression, and what it prints.
        namespace, methods, inplace: where it is published, as for `public`.
        own_out: `out=` must have the result's dtype.
        takes_out, bool_out: is there `out=`, and must it be of bools?
        domain, complex: where its samples lie, and whether it takes complex numbers.
        halves: are floats of two bytes taken?
        written: what the in-place methods write, if it is not what the operation gives.
    """
    if isinstance(forward, Formula):
        fields["formula"] = forward
    op = defop(
        op_name or names.split()[0],
        "input",
        forward=None if isinstance(forward, Formula) else forward,
        vjp=None if vjp is None else {"input": vjp},
        jvp=None if vjp is None else jvp,
        promote=promote,
        elementwise=True,
        samples=elementwise(domain, complex=complex),
        **fields,
    )
    call: Callable[..., Any] = op.call if halves else without_halves(op.call, f"{op.name}_cpu")

    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        if out is None:
            return call(input)
        refusals.has_out(function.__name__, out, (input,))
        check_out(out, (input,))
        try:
            made = call(input)
        except NotImplementedError as error:
            # There is no kernel for the dtype. Other refusals by the operation come first.
            if isinstance(out, Tensor) and str(error).startswith('"'):
                if own_out and out.dtype is not input.dtype:
                    raise other_dtype(input.dtype, out.dtype, op.name, "found") from None
                refusals.check_castable(out, op.name, (input,))
            raise
        if bool_out and isinstance(out, Tensor) and out.dtype is not made.dtype:
            raise DtypeError(f"{op.name} does not support non-boolean outputs.")
        kept = made.dtype.is_complex == input.dtype.is_complex  # else the result is converted
        if own_out and kept and isinstance(out, Tensor) and out.dtype is not made.dtype:
            raise other_dtype(made.dtype, out.dtype, op.name, "found")
        return into(out, made, op.name)

    function.positional = call  # type: ignore[attr-defined]
    if not takes_out:

        def function(input: Tensor) -> Tensor:  # type: ignore[misc]
            return call(input)

    document(
        function,
        doc,
        example,
        shows,
        f"input: any shape{kinds(promote, complex)}" + ("\n" + OUT.rstrip() if takes_out else ""),
        "a bool tensor of the shape of `input`" if bool_out else "a tensor of the shape of `input`",
    )
    publish(
        op,
        call,
        function,
        names=names,
        namespace=namespace,
        methods=methods,
        inplace=inplace,
        written=written,
    )
    return op


def binary(
    names: str,
    forward: Rule | str,
    vjp: dict[str, Rule] | None = None,
    *,
    doc: str,
    example: str,
    shows: str = "",
    promote: str | None = "common",
    namespace: str = "torch",
    methods: str | None = "=",
    inplace: bool = True,
    numbers: str = "",
    args: str = "input other",
    op_name: str = "",
    domains: tuple[Domain, Domain] = (REAL, REAL),
    complex: bool = False,
    constant: tuple[int, ...] = (),
    halves: bool = True,
    **fields: Any,
) -> Primitive:
    """Record an element-wise operation on two tensors and publish it.

    Args:
        numbers: which arguments may be Python numbers: "", "other", "input other".
        domains, complex, constant: as for `elementwise`. The others are as for `unary`.
    """
    op = defop(
        op_name or names.split()[0],
        args,
        forward=forward,
        vjp=vjp,
        promote=promote,
        elementwise=True,
        samples=elementwise(*domains, complex=complex, constant=constant),
        **fields,
    )
    raw: Callable[..., Any] = op.call if halves else without_halves(op.call, f"{op.name}_cpu")
    first, second = args.split()
    title = names.split()[0]
    first_may, second_may = first in numbers.split(), second in numbers.split()

    if first_may and second_may:

        def call(x: Any, y: Any) -> Any:
            if not (
                isinstance(x, Tensor) and (isinstance(y, Tensor) or isinstance(y, NUMBERS))
            ) and not (isinstance(y, Tensor) and isinstance(x, NUMBERS)):
                raise mismatch(title, x, y)
            return raw(x, y)
    elif second_may:

        def call(x: Any, y: Any) -> Any:
            if not isinstance(x, Tensor) or not (isinstance(y, Tensor) or isinstance(y, NUMBERS)):
                raise mismatch(title, x, y)
            return raw(x, y)

    else:

        def call(x: Any, y: Any) -> Any:
            if not (isinstance(x, Tensor) and isinstance(y, Tensor)):
                require_tensor(x, title, first)
                require_tensor(y, title, second, 2)
            return raw(x, y)

    def function(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        if out is None:
            return call(input, other)
        refusals.has_out(function.__name__, out, (input, other))
        check_out(out, (input, other))
        try:
            made = call(input, other)
        except NotImplementedError:
            if isinstance(out, Tensor):
                refusals.check_castable(out, op.name, (input, other))
            raise
        return into(out, made, title)

    function.positional = call  # type: ignore[attr-defined]
    method = call
    if (first, second) == ("input", "other"):

        def method(self: Tensor, other: Any) -> Tensor:  # type: ignore[misc]
            return call(self, other)

    may = " or ".join(f"`{name}`" for name in (first, second) if name in numbers.split())
    document(
        function,
        doc,
        example,
        shows,
        f"{first}, {second}: tensors whose shapes broadcast{kinds(promote, complex)}"
        + (f" {may} may be a number." if may else "")
        + ("\n" + OUT.rstrip()),
        "a tensor of the broadcast shape; its dtype "
        + ("is bool" if promote == "compare" else "follows from type promotion"),
    )
    publish(
        op,
        method,
        function,
        names=names,
        namespace=namespace,
        methods=methods,
        inplace=inplace,
        numbers=second_may,
    )
    return op
