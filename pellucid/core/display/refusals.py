"""PyTorch's error messages for hooks, for writes and `out=`, and for the use of custom Functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...arrays import numpy_cpu
from ...dtypes import can_cast
from ...errors import (
    ArgumentTypeError,
    DtypeError,
    GraphError,
    OperationError,
    ShapeError,
    other_dtype,
    type_name,
)
from ...shapes import broadcast_shapes, check_as_strided, text
from ..bind import OPERANDS, common_dtype
from ..modes import local
from ..primitive import PRIMITIVES
from ..tensor import FAST_TYPES, Tensor, make_tensor

VIEW_OVERWRITTEN = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one Tensor. This is "
    "not supported by the current autograd engine. You should either make sure the input is not a view (using .clone() for example) or make "
    "your Function only return one Tensor (potentially splitting it into two Functions: one doing the inplace that returns a single Tensor "
    "and a second one that does the other operations). You can ask on the forum https://discuss.pytorch.org/ if you need help to do this "
    "change."
)
NO_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be passed to "
    "ctx.mark_dirty()."
)
SHARED = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. Please "
    "clone() the tensor before performing the operation."
)
_FORWARD = "Trying to use forward AD with {0} that does not support it because it "
OUT = _FORWARD.format("{0}_out") + "is an out= function"
NO_TANGENT = (
    _FORWARD
    + "has not been implemented yet.\nPlease file an issue to PyTorch at https://github.com/pytorch/pytorch/issues/new?"
    "template=feature-request.yml so that we can prioritize its implementation."
)


def answered(hook: Any, got: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Check and return the gradients after a node's hook: its result `got`, or `values` if it
    returned None.
    """
    if got is None:
        return values
    if not isinstance(got, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type_name(got)}'")
    name = getattr(hook, "__name__", "unknown")
    if len(got) != len(values):
        raise OperationError(
            f"hook '{name}' has returned an incorrect number of values (got {len(got)}, but expected {len(values)})"
        )
    for old, new in zip(values, got, strict=True):
        if new is not None and not isinstance(new, Tensor):
            raise TypeError(f"expected Variable, but hook returned '{type_name(new)}'")
        if old is not None and new is not None and new._array.shape != old._array.shape:
            raise OperationError(f"hook '{name}' has changed the size of value")
    return got


def replacement(hook: Any, got: Any, g: Any) -> Any:
    """Check and return the gradient that a tensor hook returned in place of `g`."""
    name = getattr(hook, "__name__", "unknown")
    if g is None:
        raise OperationError("can't replace a None gradient with a non-None value")
    if not isinstance(got, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type_name(got)}'")
    if got.dtype is not g.dtype:
        was, new = [f"torch.{t.dtype.scalar_type_name}Tensor" for t in (g, got)]
        raise OperationError(f"hook '{name}' has changed the type of value (was {was} got {new})")
    if got._array.shape != g._array.shape:
        raise OperationError(f"hook '{name}' has changed the size of value")
    return got


def within(g: Any, chain: tuple[tuple[Any, ...], ...]) -> Any:
    """Check that the part of a base that `chain` shows lies within its gradient `g`, and return
    `g`. `as_strided` of a base that does not fill its storage can reach outside.
    """
    op, params, _ = chain[0]
    if op.name == "as_strided":
        held = 1 + sum((n - 1) * step for n, step in zip(g.shape, params["geometry"], strict=True))
        check_as_strided(params["size"], params["stride"], params["shift"], held, g.dtype.itemsize)
    return g


class OutRule(NamedTuple):
    """What a function requires of `out=`."""

    text: str = ""  # the error for another dtype: "same", "found", or the function's own text
    any_dtype: bool = False
    apart: bool = False  # `out` must not share memory with the arguments at all
    only: str = (
        ""  # calls with "numbers", those without ("tensors"), or with "several" results, alone
    )
    cast: bool = False  # any dtype that the result can be cast to
    real: bool = False  # but not a complex dtype for a real result
    uncast: str = ""  # the error for a dtype that the result cannot be cast to, if it differs
    # how to write into another shape: in "rows" of memory, in rows if it is "full", or "silent"
    grown: str = ""


@functools.cache
def out_rules(kind: str | tuple[str, ...]) -> tuple[OutRule, ...]:
    """Parse the rules that a function declares for `out=`: one for all results, or one for each.

    "cast: TEXT" accepts every dtype that the result can be cast to; "real: TEXT" excludes complex
    dtypes for real results. "castable: FUNCTION" and "castable: FUNCTION WHAT" are like "cast",
    with the message of most decompositions. Any other text requires the result's own dtype
    (`errors.other_dtype`). "TEXT // " in front is the message for dtypes that the result cannot be
    cast to.

    Prefixes restrict the rule: "numbers: " to calls with a number, "tensors: " to calls without
    one, "several: " to calls with several results. "apart: " forbids shared memory. The first
    prefix says what happens to an `out` of another shape: "rows: " lays it out in rows ("full: "
    only if it has elements), "silent: " resizes it without a warning.

    >>> out_rules("apart: same")[0].apart, out_rules("cast: no")[0].text
    (True, 'no')
    """
    rules = []
    for asked in kind if isinstance(kind, tuple) else (kind,):
        grown = next((w for w in ("rows", "full", "silent") if asked.startswith(f"{w}: ")), "")
        asked = asked.removeprefix(f"{grown}: ")
        first = asked.removeprefix("apart").removeprefix(": ")
        only = next(
            (w for w in ("several", "numbers", "tensors") if first.startswith(f"{w}: ")), ""
        )
        uncast, _, text = first.removeprefix(f"{only}: ").rpartition(" // ")
        word, _, rest = text.partition(": ")
        cast = word in ("cast", "castable", "real")
        if word == "castable":
            own, _, what = rest.partition(" ")
            what = what or "{part}"
            rest = f"{own}: Expected {what} to be safely castable from {{wanted}} dtype, but got {what} with dtype {{given}}"
        rules.append(
            OutRule(
                rest if cast else text,
                text in ("", "True", "computes"),
                first != asked,
                only,
                cast,
                word == "real",
                uncast,
                grown,
            )
        )
    return tuple(rules)


# Called with the function's name, `out` and the arguments of each call with `out=`; they raise where
# the function has no such form.
WITHOUT_OUT: list[Callable[[str, Any, tuple[Any, ...]], None]] = []


def has_out(name: str, target: Any, args: tuple[Any, ...]) -> None:
    """Raise where the function takes no `out=` with these arguments."""
    for check in WITHOUT_OUT:
        check(name, target, args)


def wrapped(target: Any, name: str, args: tuple[Any, ...]) -> Any:
    """The value of `out=`. For functions that accept numbers as tensors, a number is wrapped."""
    if target is not None:
        has_out(name, target, args)
    if isinstance(target, (int, float, complex)):
        return make_tensor(np.array(target))
    return target


class Asked(str):
    """A rule for `out=` together with functions that calls with `out=` run before they compute.

    Args:
        rule: see `out_rules`.
        check: from `out`, the arguments by place and those by name to the keywords to add.
        form: what computes the result of such a call; the function itself where it is not given.
    """

    check: Callable[[Tensor, tuple[Any, ...], dict[str, Any]], dict[str, Any]] | None
    form: Callable[..., Any]

    def __new__(
        cls,
        rule: str,
        check: Callable[..., dict[str, Any]] | None = None,
        form: Callable[..., Any] | None = None,
    ) -> Asked:
        made = super().__new__(cls, rule)
        made.check = check
        if form is not None:
            made.form = form
        return made


def in_dtype(
    target: Tensor, args: tuple[Any, ...], given: dict[str, Any], kind: Any, name: str
) -> dict[str, Any]:
    """The keywords of a call with `out=`. Some functions compute in the dtype of `out`; a different
    `dtype=` is an error.
    """
    if isinstance(kind, Asked) and kind.check is not None:
        outside_graphs(name, target, *args)
        given = kind.check(target, args, given) | given
    dtype = given.get("dtype")
    if dtype not in (None, target.dtype):
        raise other_dtype(dtype, target.dtype, name)
    return {"dtype": target.dtype, **given} if kind == "computes" else given


def check_outs(
    name: str, rules: tuple[OutRule, ...], target: Any, result: Any, given: Any = ()
) -> None:
    """Raise PyTorch's error for an `out=` tensor whose dtype differs from the result's, or cannot
    hold it.

    Args:
        rules: what the function asks, one for all results or one for each.
        given: the call's arguments.
    """
    if isinstance(target, Tensor) and isinstance(result, Tensor):
        if target._array.shape != result._array.shape:
            if rules[0].apart:
                _check_grown(target, result, given)
            if rules[0].grown:
                _grow(target, result, rules[0].grown)
        if target.dtype is result.dtype:
            return  # most calls
    only = rules[0].only
    if (only == "several" and isinstance(target, Tensor)) or (
        only in ("numbers", "tensors")
        and (only == "numbers") is not any(isinstance(x, (int, float)) for x in given)
    ):
        return
    if isinstance(target, Tensor):
        if not isinstance(result, Tensor):
            raise ArgumentTypeError(
                f"{name}(): argument 'out' must be tuple of Tensors, not Tensor"
            )
        target, result = (target,), (result,)
    elif len(target) != len(result):
        raise ArgumentTypeError(f"expected tuple of {len(result)} elements but got {len(target)}")
    fields = getattr(result, "_fields", ("result",) * len(result))
    every = rules if len(rules) == len(result) else rules * len(result)
    for one, made, field, rule in zip(target, result, fields, every, strict=True):
        if not isinstance(one, Tensor) or one.dtype == made.dtype or rule.any_dtype:
            continue
        if (
            not rule.cast
            or (rule.real and one.dtype.is_complex)
            or not can_cast(made.dtype, one.dtype)
        ):
            text = rule.text if can_cast(made.dtype, one.dtype) else rule.uncast or rule.text
            raise other_dtype(made.dtype, one.dtype, name, text, field)
    for one, made, rule in zip(target, result, every, strict=True):
        if rule.grown and isinstance(one, Tensor) and one._array.shape != made._array.shape:
            _grow(one, made, rule.grown)


def _grow(target: Tensor, result: Tensor, way: str) -> None:
    """Prepare writing a result into an `out=` of another shape."""
    if way == "rows" or way == "full" and target._array.size:
        result._array = np.ascontiguousarray(result._array)
    elif way == "silent" and can_cast(result.dtype, target.dtype):
        target._array = numpy_cpu.resized(target._array, result._array.shape, result._array)


def _check_grown(target: Tensor, result: Tensor, given: Any) -> None:
    """Raise PyTorch's error if `out` would overlap an argument after growing to the result's size."""
    grown = numpy_cpu.resized(target._array, result._array.shape, result._array)
    for x in given:
        if isinstance(x, Tensor) and numpy_cpu.overlaps(grown, x._array, True):
            raise OperationError(SHARED)


def outside_graphs(name: str, *values: Any) -> None:
    """Raise PyTorch's error for tensors that require a gradient in a call with `out=`."""
    if local.grad and any(getattr(x, "_rg", False) for x in values):
        raise GraphError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad.",
            op=name,
        )


def check_castable(t: Tensor, name: str, args: tuple[Any, ...]) -> None:
    """Raise PyTorch's error if the dtype of the computation cannot be written to `t`. PyTorch
    raises it before the error that there is no kernel for that dtype.
    """
    op = PRIMITIVES.get(name)
    promotes = op is not None and op.elementwise and op.promote in ("common", "float")
    if promotes and all(isinstance(value, OPERANDS) for value in args):
        sizes = [value._array.shape for value in args if isinstance(value, Tensor)]
        made = broadcast_shapes(*sizes)
        if made != t._array.shape and any(value is t for value in args):
            raise ShapeError(
                f"output with shape {text(t._array.shape)} doesn't match the broadcast shape {text(made)}",
                op=name,
            ) from None
        common = common_dtype(args)
        if not can_cast(common, t.dtype):
            raise DtypeError(
                f"result type {common.scalar_type_name} can't be cast to the desired output type "
                f"{t.dtype.scalar_type_name}",
                op=name,
            ) from None


def unclear_rule(cls: Any) -> str:
    """The message of `vmap` for a Function without a rule, or with two."""
    what = (
        "has both generate_vmap_rule=True and an overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the "
        "overridden vmap staticmethod to avoid ambiguity."
        if cls.generate_vmap_rule
        else "does not have vmap support. Please override and implement the vmap staticmethod or set generate_vmap_rule=True."
    )
    return (
        f"You tried to vmap over {cls.__name__}, but it {what} For more details, please see "
        "https://pytorch.org/docs/main/notes/extending.func.html"
    )


def only_tensors(args: tuple[Any, ...], refusal: str) -> tuple[Any, ...]:
    """Check that all arguments of a ctx method are tensors, and return them."""
    others = [type(t).__name__ for t in args if not isinstance(t, Tensor)]
    if others:
        raise GraphError(refusal, notes=[f"given: {', '.join(others)}"])
    return args


def bound(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> inspect.BoundArguments:
    """The arguments bound to the parameters of a Function's `forward`, or PyTorch's TypeError."""
    try:
        return inspect.signature(forward).bind(*args, **kwargs)
    except TypeError as error:
        text = str(error).replace("multiple values", "got multiple values")
        raise ArgumentTypeError(f"forward() {text}") from None


def classless(g: Any) -> Any:
    """A gradient given by the user, without its Tensor subclass: gradients never have one."""
    own = type(g) not in FAST_TYPES and type(getattr(g, "_array", None)) is np.ndarray
    own = own and g._interpreter is None and getattr(type(g), "_keeps_type", True)
    return g.as_subclass(Tensor) if own else g
