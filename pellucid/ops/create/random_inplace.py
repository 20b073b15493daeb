"""Methods that fill a tensor with random numbers in place: `uniform_`, `normal_` and their like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.inplace import bump, is_written_directly, write
from ...core.primitive import defop
from ...core.public import METHODS, method
from ...core.streams import distributions as random_distributions
from ...core.streams import fill as random_fill
from ...core.streams import integers as random_integers
from ...core.streams.generator import draw_guards
from ...core.tensor import Tensor
from ...core.transforms.capturing import innermost_maps
from ...core.transforms.drawing import in_place, running
from ...errors import ArgumentTypeError, facts_of
from ...shapes import expand
from .._rules import require_tensor, zero_gradient
from .random import default_generator, pick_generator

_NUMBERS = frozenset((float, int))


def _laid_out_alike(x: np.ndarray) -> np.ndarray:
    """Return new memory with the strides of `x`. The layout decides which number goes where, and
    how normal numbers are drawn.
    """
    if not x.size or x.flags.c_contiguous:
        return np.empty_like(x)
    span = x.itemsize + sum((n - 1) * step for n, step in zip(x.shape, x.strides, strict=True))
    return np.ndarray(x.shape, x.dtype, np.empty(span, np.uint8), 0, x.strides)


refill = defop(
    "refill",
    "input",
    forward=lambda xp, x, *, fill: fill(_laid_out_alike(x)),
    inplace=lambda xp, out, *, fill: fill(out),
    vjp={"input": zero_gradient},
    aval=lambda x, fill: x,
    traits="masks overwrites",
)


def _filled(self: Tensor, name: str, fill: Callable[[np.ndarray], Any]) -> Tensor:
    if draw_guards and innermost_maps():  # who is asked before the function around it
        for guard in draw_guards:
            guard()
    try:
        return write(self, name, refill, (), {"fill": fill})
    except Exception as error:
        # while observers are active, `refill` runs as an operation that adds its name to the error:
        # raise the original error
        raise error if facts_of(error) is None else (error.__context__ or error) from None


def _inplace(
    name: str, doc: str, example: tuple[str, str], fill: Callable[..., Any], **defaults: Any
) -> None:
    """Define a method that fills its tensor. `example` is a call and its result for three elements,
    `defaults` are PyTorch's parameters in order.
    """
    names = list(defaults)

    usual = list(defaults.values())
    # the function below the wrapper that reports to a tracer: a tensor that is written to directly
    # has no tracer
    plain = fill.__wrapped__  # type: ignore[attr-defined]
    needed = usual.count(...)

    def fill_in_place(self: Tensor, *args: Any, generator: Any = None, **kwargs: Any) -> Tensor:
        if draw_guards and (level := running()) is not None:
            options = {"generator": generator, **kwargs}
            return in_place(level, name, lambda t, _: fill_in_place(t, *args, **options), self)
        if not kwargs and generator is None and is_written_directly(self):
            if not args and not needed:
                plain(default_generator, self._array)
                bump(self, name)
                return self
            if needed <= len(args) <= len(names) and _NUMBERS.issuperset(map(type, args)):
                plain(default_generator, self._array, *args)
                bump(self, name)
                return self
        if len(args) > len(names):
            raise ArgumentTypeError(
                f"{name}() takes at most {len(names)} arguments ({len(args)} given)"
            )
        values = [*args, *usual[len(args) :]]
        for key, value in kwargs.items():
            if key not in names[len(args) :]:
                raise ArgumentTypeError(f"{name}() got an unexpected keyword argument '{key}'")
            values[names.index(key)] = value
        if ... in values:
            raise ArgumentTypeError(
                f'{name}() missing 1 required positional arguments: "{names[values.index(...)]}"'
            )
        for position, value in enumerate(values, start=1):
            if isinstance(value, Tensor) and value.ndim:
                raise ArgumentTypeError(
                    f"{name}(): argument '{names[position - 1]}' (position {position}) must be float, not Tensor"
                )
        source = pick_generator(generator)
        require_tensor(self, name)
        return _filled(self, name, lambda array: fill(source, array, *values))

    fill_in_place.__name__ = fill_in_place.__qualname__ = name
    fill_in_place.__doc__ = (
        f"{doc}; returns the tensor.\n\n>>> import pellucid as torch\n>>> _ = torch.manual_seed(0)\n"
        f">>> torch.empty(3).{example[0]}\ntensor({example[1]})\n"
    )
    METHODS[name] = fill_in_place


_inplace(
    "uniform_",
    "Fill with uniform random numbers in [from, to)",
    ("uniform_(0, 1)", "[0.4963, 0.7682, 0.0885]"),
    random_fill.uniform,
    **{"from": 0.0, "to": 1.0},
)
_inplace(
    "normal_",
    "Fill with normal random numbers",
    ("normal_()", "[ 1.5410, -0.2934, -2.1788]"),
    random_fill.normal,
    mean=0.0,
    std=1.0,
)
_inplace(
    "exponential_",
    "Fill with exponential random numbers of rate `lambd`",
    ("exponential_(lambd=1)", "[3.5083, 1.2304, 0.6150]"),
    random_distributions.exponential,
    lambd=1.0,
)
_inplace(
    "cauchy_",
    "Fill with Cauchy random numbers",
    ("cauchy_()", "[10.5977,  0.7648, -0.1283]"),
    random_distributions.cauchy,
    median=0.0,
    sigma=1.0,
)
_inplace(
    "log_normal_",
    "Fill with exponentials of normal random numbers",
    ("log_normal_()", "[5.9263e+01, 1.5116e+00, 3.4819e-02]"),
    random_distributions.log_normal,
    mean=1.0,
    std=2.0,
)
_inplace(
    "geometric_",
    "Fill with geometric random numbers 1, 2, ...",
    ("geometric_(0.5)", "[1., 1., 2.]"),
    random_distributions.geometric,
    p=...,
)


@method()
def random_(self: Tensor, *args: Any, generator: Any = None, **kwargs: Any) -> Tensor:
    """Fill with random integers: `random_()` over the whole range of the dtype, `random_(to)`,
    `random_(from, to)`.

    >>> import pellucid as torch
    >>> bool((torch.empty(10).random_(3) < 3).all())
    True
    """
    if draw_guards and (level := running()) is not None:
        options = {"generator": generator, **kwargs}
        return in_place(level, "random_", lambda t, _: random_(t, *args, **options), self)
    low, high = kwargs.pop("from", None), kwargs.pop("to", None)
    if kwargs or len(args) > 2:
        raise ArgumentTypeError("random_() received an invalid combination of arguments")
    if len(args) == 2:
        low, high = args
    elif len(args) == 1 and low is None:
        low, high = (args[0], high) if high is not None else (0, args[0])
    source = pick_generator(generator)
    return _filled(
        self, "random_", lambda array: random_integers.random_integers(source, array, low, high)
    )


_bernoulli = random_distributions.bernoulli.__wrapped__  # type: ignore[attr-defined]


@method()
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones of probability `p` (a number or a tensor of probabilities) and zeros.

    >>> import pellucid as torch
    >>> torch.empty(2).bernoulli_(1.0)
    tensor([1., 1.])
    """
    if draw_guards and (level := running()) is not None:
        return in_place(
            level, "bernoulli_", lambda t, p: bernoulli_(t, p, generator=generator), self, p
        )
    if type(p) is float and generator is None and is_written_directly(self):
        _bernoulli(default_generator, self._array, p)
        bump(self, "bernoulli_")
        return self
    source = pick_generator(generator)
    if isinstance(p, Tensor) and p._array.shape != self._array.shape:
        expand(p._array.shape, p.stride(), self._array.shape, p.dtype.cpu_name)

    def fill(array: np.ndarray) -> np.ndarray:
        if isinstance(p, Tensor):
            return random_distributions.bernoulli_like(source, p._array, array)
        return random_distributions.bernoulli(source, array, p)

    return _filled(self, "bernoulli_", fill)
