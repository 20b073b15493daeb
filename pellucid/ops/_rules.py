"""Rules and helpers that families of operations share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from operator import index
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from numpy import ndarray

from ..arrays import numpy_cpu
from ..arrays.native import fused
from ..core import reverse as engine
from ..core.display.refusals import Asked
from ..core.interpret import playing, thread
from ..core.modes import enable_grad, local, state
from ..core.primitive import TENSORS
from ..core.public import FUNCTIONS, METHODS
from ..core.tensor import FAST_TYPES, Tensor, make_tensor
from ..errors import ArgumentTypeError, facts_of, forwards, type_name, warn, warn_once
from ..ir.formula import FORMULAS, Formula
from ..shapes.dims import numbers


def as_index(value: Any) -> int:
    """A whole number, from an int, a NumPy integer or a tensor of one.

    Raises:
        TypeError: anything else; what PyTorch calls it depends on the function, whose words
            `api.messages` finds.
    """
    try:
        return index(value)
    except TypeError as error:
        if facts_of(error) is not None or not hasattr(type(value), "__index__"):
            raise ArgumentTypeError(str(error)) from None
        raise


def require_tensor(value: Any, function: str, argument: str = "input", position: int = 1) -> Tensor:
    """The value, or PyTorch's TypeError when it is not a Tensor."""
    if not isinstance(value, Tensor):
        raise ArgumentTypeError(
            f"{function}(): argument '{argument}' (position {position}) must be Tensor, not {type_name(value)}"
        )
    return value


def before_writing(name: str, check: Callable[..., None]) -> None:
    """Have the method `name` that writes into its tensor call `check` first, with its arguments."""
    form = METHODS[name]

    @functools.wraps(form)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if isinstance(self, Tensor):
            check(self, *args, **kwargs)
        return cast(Tensor, form(self, *args, **kwargs))

    METHODS[name] = FUNCTIONS["torch"][name] = method


def checked_tensors(values: Sequence[Any], argument: int = 0) -> Sequence[Tensor]:
    """The values, or PyTorch's TypeError for the first that is not a Tensor.

    Args:
        argument: the position of the sequence among the function's arguments, which the text names.
    """
    for k, x in enumerate(values):
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(
                f"expected Tensor as element {k} in argument {argument}, but got {type_name(x)}"
            )
    return values


def asked_for(attribute: str, *values: Any) -> None:
    """Python's AttributeError for the first value that is not a Tensor: PyTorch's functions in
    Python fail where they ask for `attribute`.
    """
    for value in values:
        if not isinstance(value, Tensor):
            asked = getattr(value, attribute)
            if attribute in ("size", "dim"):
                # PyTorch calls this attribute: `size` of a NumPy array is a number, which fails
                asked()


def is_plain(x: Tensor) -> bool:
    """True for a plain tensor with data, while nobody watches."""
    return type(x) in FAST_TYPES and not state.slow and type(x._array) is ndarray


def is_direct(x: Tensor) -> bool:
    """True for a plain tensor with data that wants no gradient, while nobody watches: what is made
    of it needs no record.
    """
    return (
        type(x) in FAST_TYPES
        and not state.slow
        and type(x._array) is ndarray
        and not (x._rg and local.grad)
    )


def mismatch(function: str, *values: Any) -> Exception:
    """PyTorch's error for arguments that no overload takes, to be raised."""
    names = ", ".join("Tensor" if isinstance(v, Tensor) else type_name(v) for v in values)
    return ArgumentTypeError(
        f"{function}() received an invalid combination of arguments - got ({names}), but expected one of:"
    )


def overloads(tensors: str, number: str, at: int = 1) -> Callable[[Any], Any]:
    """The `variant` of an operation whose node PyTorch calls otherwise, and gives no edge, where
    argument `at` is a number.
    """

    def variant(node: Any) -> Any:
        if node.plan.needs[at] is not None:
            return tensors
        return number, tuple([k for k in range(len(node.inputs)) if k != at])

    return variant


def filling(name: str, at: int) -> Callable[[Any], Any]:
    """The `variant` of a fill, whose value is a number unless it wants a gradient."""

    def variant(node: Any) -> Any:
        places = tuple([k for k in range(len(node.inputs)) if k not in (1, at)])
        if node.inputs[at] is None:
            return f"{name}Backward0", places
        return f"{name}Backward1", (*places, at)

    return variant


def zero_gradient(F: Any, input_shape: tuple[int, ...], input_dtype: Any) -> Any:
    """The gradient rule of step functions: zeros, whatever the incoming gradient is."""
    return F.full(shape=input_shape, value=0, dtype=input_dtype)


def fused_gradient(
    name: str, slope: Callable[..., Any], saves: str = "input", numbers: tuple[str, ...] = ()
) -> Callable[..., Any]:
    """The gradient rule `slope(F, g, value, **numbers)` of the operation `name`, of many float32 as
    one kernel.

    `saves` is "input" or "out": which value it takes. The kernel's formula is the rule itself,
    under the name `<name>_backward`.
    """
    kernel = name + "_backward"
    FORMULAS[kernel] = Formula(slope, names=(("g", "x"), numbers))

    def with_numbers(F: Any, g: Any, input: Any, params: dict[str, Any]) -> Any:
        run = fused(kernel, g, input) if F.raw and type(g) is ndarray else None
        return (
            slope(F, g, input, **params)
            if run is None
            else run(g, input, *[params[n] for n in numbers])
        )

    def of_input(F: Any, g: Any, input: Any) -> Any:
        run = fused(kernel, g, input) if F.raw and type(g) is ndarray else None
        return slope(F, g, input) if run is None else run(g, input)

    def of_out(F: Any, g: Any, out: Any) -> Any:
        run = fused(kernel, g, out) if F.raw and type(g) is ndarray else None
        return slope(F, g, out) if run is None else run(g, out)

    return with_numbers if numbers else of_out if saves == "out" else of_input


def keyword(named: dict[str, Any], function: str, *names: str) -> Any:
    """The value of the one keyword, among `names`, that a call may use instead of a positional
    argument.
    """
    for name in names:
        if name in named:
            value = named.pop(name)
            break
    else:
        value = None
    if named:
        raise ArgumentTypeError(
            f"{function}() got an unexpected keyword argument '{next(iter(named))}'"
        )
    return value


P = ParamSpec("P")
R = TypeVar("R")


def full_precision(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator for losses, factorizations and others: under autocast they take float32, as
    PyTorch's do.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        policy = thread.stack.autocast
        if policy is None:
            return function(*args, **kwargs)
        return function(*map(policy.widen, args), **{k: policy.widen(v) for k, v in kwargs.items()})

    forwards(wrapper)
    return wrapper


def aged(rule: str, text: str, form: Callable[..., Any], always: bool = False) -> Asked:
    """What a function that PyTorch wants to remove asks of `out=`: with it, the call warns by itself,
    once or each time, and not as calls without it do.

    Args:
        rule: as in `Asked`.
        form: computes the result, and does not warn of its age.
    """

    @functools.wraps(form)
    def written(*args: Any, **kwargs: Any) -> Any:
        if always:
            warn(text)
        else:
            warn_once(text, kind=f"out=: {text}")
        return form(*args, **kwargs)

    return Asked(rule, form=written)


def at_full_precision(value: Any) -> Any:
    """The argument of a function that takes float32 under autocast, as PyTorch's does."""
    policy = thread.stack.autocast
    return value if policy is None else policy.widen(value)


def _of_samples(*args: Any) -> bool:
    """Return whether one of the arguments is mapped by `vmap`."""
    from ..core.transforms.batching import level_of

    return any(isinstance(x, Tensor) and level_of(x) for x in args)


def low_precision(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator for products that check their arguments' dtypes: under autocast they take its
    precision. Of a batch of `vmap`, that is left to what they are made of.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        policy = thread.stack.autocast
        if policy is None or _of_samples(*args, *kwargs.values()):
            return function(*args, **kwargs)
        return function(
            *map(policy.narrow, args), **{k: policy.narrow(v) for k, v in kwargs.items()}
        )

    forwards(wrapper)
    return wrapper


def low_precision_alone(function: Callable[P, R]) -> Callable[P, R]:
    """As `low_precision`, but not on a batch of `vmap`: PyTorch's batched form of such a function is
    an operator that autocast does not know.
    """
    lower = low_precision(function)

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        if thread.stack.autocast is None:
            return function(*args, **kwargs)
        if not _of_samples(*args, *kwargs.values()):
            return lower(*args, **kwargs)
        with playing("autocast", None):
            return function(*args, **kwargs)

    forwards(wrapper)
    return wrapper


def past_autocast(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator for what PyTorch computes as one operator, or writes into a result, and autocast does
    not know: what it is made of here (a `cat`) is not asked.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        if thread.stack.autocast is None:
            return function(*args, **kwargs)
        with playing("autocast", None):
            return function(*args, **kwargs)

    forwards(wrapper)
    return wrapper


_INT = frozenset((int,))


def per_dimension(value: Any, n: int) -> tuple[int, ...]:
    """A size for each of `n` dimensions, given as one number or as a sequence (of one or of n)."""
    if type(value) is int:
        return (value,) * n
    if type(value) is tuple and len(value) == n and _INT.issuperset(map(type, value)):
        return value
    value = tuple(int(v) for v in numbers(value))
    return value * n if len(value) == 1 else value


def differentiated(function: Any, g: Any, args: tuple[Any, ...], needs: Any) -> tuple[Any, ...]:
    """Gradients of a function of Tensors by running it once more and differentiating its
    operations: for rules under `create_graph`.
    """
    create, role = local.grad, local.role
    with enable_grad():
        # Use aliases, so that the gradient of one argument does not flow on through its history to
        # another argument.
        fresh: list[Any] = [None if t is None else TENSORS.alias(t) for t in args]
        wanted = [t for t, need in zip(fresh, needs, strict=True) if need]
        for t in wanted:
            t._rg = True  # in forward mode the arguments may be outside of a graph
        results = function(*fresh)
    if isinstance(results, Tensor):
        results, g = (results,), (g,)
    made = iter(engine.grad(results, wanted, g, create_graph=create))
    local.role = role
    return tuple([next(made) if need else None for need in needs])


# ---- rules on raw arrays and on tensors
def on_host(F: Any, function: Callable[..., Any], *args: Any) -> Any:
    """What native code makes of a rule's arrays; those of another library go to the host and back."""
    return function(*args) if F.xp is numpy_cpu else F.xp.from_host(function(*F.xp.to_host(args)))


def constant(F: Any, array: Any) -> Any:
    """An array that no gradient flows to, as the rule's namespace needs it."""
    return F.constant(array) if F.raw else make_tensor(np.asarray(array))


def values(F: Any, x: Any) -> Any:
    """The array behind a rule's operand."""
    return x if F.raw else x._array


def library(F: Any) -> Any:
    """The array namespace that `values` of a rule's operands belong to."""
    return F.xp if F.raw else numpy_cpu
