"""Random tensors: creation functions, in-place fills, sampling, and the generator as users see it.

The numbers are made by `core.streams.generator*`; here are PyTorch's signatures around them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...arrays.meta import MetaArray
from ...arrays.numpy_cpu import NAMESPACES
from ...core import observe
from ...core.bind import wrap
from ...core.inplace import into
from ...core.modes import local, state
from ...core.primitive import TENSORS as F
from ...core.primitive import Primitive, defop
from ...core.public import FUNCTIONS, METHODS, public
from ...core.streams import distributions as random_distributions
from ...core.streams import fill as random_fill
from ...core.streams import generator as random
from ...core.streams import integers as random_integers
from ...core.streams import reject as random_reject
from ...core.streams.generator import draw_guards
from ...core.tape import titled
from ...core.tensor import Tensor, make_tensor
from ...core.transforms import drawing
from ...core.transforms.drawing import running
from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DtypeError,
    OperationError,
    type_name,
)
from ...shapes import broadcast_shapes
from .._rules import require_tensor, zero_gradient
from ._factory import build, check_device, check_memory, deliver, fresh, sizes, want_gradient
from .basic import empty_like

Fill = Callable[[random.Generator, Any, Any], Any]


# ---- the generator ----------------------------------------------------------------------------
class Generator(random.Generator):
    """A stream of random numbers, equal to PyTorch's CPU generator of the same seed.

    Args:
        device: only "cpu", which None means too.

    >>> import pellucid as torch
    >>> torch.Generator().manual_seed(0).initial_seed()
    0
    """

    __slots__ = ()
    __module__ = "pellucid"

    def __init__(self, device: Any = "cpu") -> None:
        super().__init__(dtypes.device("cpu" if device is None else device))

    def get_state(self) -> Any:
        """The state as a uint8 tensor of 5056 bytes."""
        return make_tensor(super().get_state())

    def set_state(self, new_state: Any) -> Generator:  # type: ignore[override]
        """Continue from a state of `get_state`; returns the generator."""
        if not isinstance(new_state, Tensor):
            raise ArgumentTypeError(f"expected a torch.ByteTensor, but got {type_name(new_state)}")
        super().set_state(new_state._array)
        return self

    def clone_state(self) -> Generator:
        """A new generator that continues from this one's state on its own."""
        clone = Generator(self.device)
        clone.set_state(self.get_state())
        return clone

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.device, super().get_state())


def _restore(device: Any, state: np.ndarray) -> Generator:
    generator = Generator(device)
    random.Generator.set_state(generator, state)
    return generator


# The engine's default generator becomes one with the public methods, which take tensors.
default_generator = random.default_generator
default_generator.__class__ = Generator
default_generator.device = dtypes.device("cpu")
FUNCTIONS["torch"].update(Generator=Generator, default_generator=default_generator)


@public()
def manual_seed(seed: int) -> Any:
    """Seed the default generator and return it. With the same seed, the numbers are those of PyTorch on a CPU.

    >>> import pellucid as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    return random.manual_seed(seed)


@public()
def seed() -> int:
    """Seed the default generator from the operating system's entropy; returns the seed.

    >>> import pellucid as torch
    >>> seed = torch.seed()
    >>> seed == torch.initial_seed()
    True
    """
    return random.seed()


@public()
def initial_seed() -> int:
    """The default generator's seed.

    >>> import pellucid as torch
    >>> generator = torch.manual_seed(7)
    >>> torch.initial_seed()
    7
    """
    return random.initial_seed()


@public()
def get_rng_state() -> Tensor:
    """The default generator's state, a uint8 tensor.

    >>> import pellucid as torch
    >>> state = torch.get_rng_state()
    >>> a = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(a, torch.rand(2))
    True
    """
    return default_generator.get_state()


@public()
def set_rng_state(new_state: Tensor) -> None:
    """Continue from a state of `get_rng_state`.

    >>> import pellucid as torch
    >>> generator = torch.manual_seed(0)
    >>> state = torch.get_rng_state()
    >>> first = torch.rand(1)
    >>> torch.set_rng_state(state)
    >>> torch.equal(torch.rand(1), first)
    True
    """
    default_generator.set_state(new_state)


def pick_generator(generator: Any) -> random.Generator:
    if generator is None:
        return default_generator
    if not isinstance(generator, random.Generator):
        raise ArgumentTypeError(
            f"argument 'generator' must be torch.Generator, not {type_name(generator)}"
        )
    return generator


# ---- new random tensors -----------------------------------------------------------------------
def _built(
    name: str,
    shape: tuple[int, ...],
    kind: dtypes.dtype,
    device: Any,
    requires_grad: bool,
    fill: Callable[[tuple[int, ...], Any], Any],
    out: Tensor | None,
    given: Any,
) -> Tensor:
    """The new tensor of a factory, or one for each sample of a `vmap`."""
    level = running() if draw_guards else None
    if level is None:
        return deliver(build(shape, kind, device, requires_grad, fill), out, name, given)

    def make(whole: tuple[int, ...]) -> Tensor:
        return _built(name, whole, kind, device, requires_grad, fill, None, given)

    return drawing.created(level, make, shape, out)


def _maker(name: str, fill: Callable[..., Any], doc: str) -> None:
    def usual(shape: tuple[int, ...], kind: Any) -> np.ndarray:
        draw = fill if state.slow or len(NAMESPACES) > 1 else plain
        made: np.ndarray = draw(default_generator, shape, 0.0, 1.0, kind)
        return made

    # the function below the wrapper that reports to a tracer
    plain = fill.__wrapped__  # type: ignore[attr-defined]

    def make(
        *size: Any,
        generator: Any = None,
        names: None = None,
        out: Tensor | None = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **kwargs: Any,
    ) -> Tensor:
        # the everyday call
        if (
            size
            and not kwargs
            and generator is out is layout is device is local.device is None
            and (dtype is None or type(dtype) is dtypes.dtype)
            and not pin_memory
            and not draw_guards
        ):
            made = fresh(usual, sizes(size, name), (dtype or dtypes.get_default_dtype()).numpy)
            return want_gradient(made) if requires_grad else made
        if "size" in kwargs and not size:
            size = (kwargs.pop("size"),)
        if kwargs:
            raise ArgumentTypeError(
                f"{name}() got an unexpected keyword argument '{next(iter(kwargs))}'"
            )
        check_memory(layout, pin_memory)
        given = dtypes.check_dtype(dtype, name)
        kind = given or (out.dtype if out is not None else dtypes.get_default_dtype())
        source = pick_generator(generator)
        return _built(
            name,
            sizes(size, name),
            kind,
            device,
            requires_grad,
            lambda shape, k: fill(source, shape, 0.0, 1.0, k),
            out,
            given,
        )

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""{doc}.

    Args:
        size: the sizes, as numbers or as one sequence.
        generator: the source of random numbers. Default: the global one.
        dtype: a floating-point or complex dtype. Default: the default dtype.

    >>> import pellucid as torch
    >>> torch.{name}(2, 3).shape
    torch.Size([2, 3])
    """
    public()(make)

    def like(
        input: Tensor,
        *,
        generator: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: Any = dtypes.preserve_format,
    ) -> Tensor:
        if (
            generator is dtype is layout is device is None
            and memory_format is dtypes.preserve_format
            and type(input) is Tensor
            and not pin_memory
            and not draw_guards
        ):
            a = input._array
            if type(a) is np.ndarray and a.flags.c_contiguous:  # the everyday call
                made = make_tensor(fill(default_generator, a.shape, 0.0, 1.0, a.dtype))
                return want_gradient(made) if requires_grad else made
        options = {
            "dtype": dtype,
            "layout": layout,
            "device": device,
            "memory_format": memory_format,
            "pin_memory": pin_memory,
        }
        return _like(
            input,
            options,
            pick_generator(generator),
            lambda g, a, k: fill(g, a, 0.0, 1.0, k),
            requires_grad,
        )

    like.__name__ = like.__qualname__ = f"{name}_like"
    like.__doc__ = f"""{doc}, with the shape, dtype and device of `input`.

    Args:
        input: any shape, a floating-point or complex dtype.
        generator: the source of random numbers. Default: the global one.
        dtype, device: other ones than those of `input`. Default: None.
        requires_grad: record operations on the result. Default: False.

    >>> import pellucid as torch
    >>> torch.{name}_like(torch.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    public()(like)


def _like(
    input: Tensor,
    options: dict[str, Any],
    generator: random.Generator,
    fill: Fill,
    requires_grad: bool,
) -> Tensor:
    level = running() if draw_guards else None
    if level is not None:
        return drawing.alike(
            level, lambda x: _like(x, options, generator, fill, requires_grad), input
        )
    result = empty_like(input, **options)
    if type(result._array) is not MetaArray:
        fill(generator, result._array, result._array.dtype)
    return want_gradient(result) if requires_grad else result


_maker("rand", random_fill.uniform, "Uniform random numbers in [0, 1)")
_maker("randn", random_fill.normal, "Normal random numbers with mean 0 and variance 1")


def _bounds(
    args: tuple[Any, ...], kwargs: dict[str, Any], name: str, fixed: int
) -> tuple[int, int, Any]:
    """Return `low` (0 if left out), `high`, and the argument that follows them."""
    names = ["low", "high", "size"] if fixed else ["low", "high"]
    values = list(args)
    if len(values) + sum(n in kwargs for n in names) < len(names) and "low" not in kwargs:
        values.insert(0, 0)
    given = dict(zip(names, values, strict=False)) | {
        n: kwargs.pop(n) for n in names if n in kwargs
    }
    if kwargs or len(given) != len(names) or len(values) > len(names):
        raise ArgumentTypeError(f"{name}() received an invalid combination of arguments")
    for n in ("high", "low") if name == "randint_like" else ():
        if isinstance(given[n], Tensor) and given[n]._array.ndim:
            raise OperationError(f"{n} must be a scalar tensor and on CPU")
    low, high = (_whole(given[n], name, n) for n in ("low", "high"))
    return low, high, given.get("size")


def _whole(value: Any, name: str, argument: str) -> int:
    if isinstance(value, Tensor):
        return int(value)
    if isinstance(value, (bool, float)) or not hasattr(value, "__index__"):
        raise ArgumentTypeError(
            f"{name}(): argument '{argument}' must be int, not {type_name(value)}"
        )
    return int(value)


_INT64 = np.dtype(np.int64)
# the function below the wrapper that reports to a tracer
_plain_randint = random_integers.randint.__wrapped__  # type: ignore[attr-defined]


@public()
def randint(
    *args: Any,
    generator: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    **kwargs: Any,
) -> Tensor:
    """Random integers in [low, high), called as `randint(high, size)` or `randint(low, high,
    size)`.

    Args:
        low: the smallest integer. Default: 0.
        high: one above the largest integer.
        size: the shape.
        generator: the source of random numbers. Default: the global one.
        dtype: the dtype. Default: int64.

    Raises:
        RuntimeError: no integer lies in [low, high).

    >>> import pellucid as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.randint(0, 10, (4,))
    tensor([4, 9, 3, 0])
    """
    if (
        not kwargs
        and len(args) > 1
        and generator is out is layout is device is local.device is None
        and (dtype is None or type(dtype) is dtypes.dtype)
        and not requires_grad
        and not pin_memory
        and not draw_guards
    ):
        low, high, size = (
            (0, *args) if len(args) == 2 else args if len(args) == 3 else (None, None, None)
        )
        if type(low) is type(high) is int and type(size) in (tuple, list):  # the everyday call
            watched = state.slow or len(NAMESPACES) > 1
            draw = random_integers.randint if watched else _plain_randint
            kind = _INT64 if dtype is None else dtype.numpy
            numbers = draw(default_generator, sizes((size,), "randint"), low, high, kind)
            if not watched:
                return wrap(numbers)
            return deliver(make_tensor(numbers), None, "randint")
    low, high, size = _bounds(args, kwargs, "randint", 1)
    check_memory(layout, pin_memory)
    if not isinstance(size, (tuple, list)):
        raise ArgumentTypeError(
            f"randint(): argument 'size' must be tuple of ints, not {type_name(size)}"
        )
    given = dtypes.check_dtype(dtype, "randint")
    kind = given or (out.dtype if out is not None else dtypes.int64)
    source = pick_generator(generator)
    return _built(
        "randint",
        sizes((size,), "randint"),
        kind,
        device,
        requires_grad,
        lambda s, k: random_integers.randint(source, s, low, high, k),
        out,
        given,
    )


@public()
def randint_like(
    input: Tensor,
    *args: Any,
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = dtypes.preserve_format,
    **kwargs: Any,
) -> Tensor:
    """Random integers with the shape, dtype and device of `input`, called as
    `randint_like(input, high)` or `randint_like(input, low, high)`.

    Args:
        input: any shape and dtype.
        low: the smallest integer. Default: 0.
        high: one above the largest integer.
        generator: the source of random numbers. Default: the global one.
        dtype, device: other ones than those of `input`. Default: None.

    >>> import pellucid as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.randint_like(torch.zeros(4), 10)
    tensor([4., 9., 3., 0.])
    """
    low, high, _ = _bounds(args, kwargs, "randint_like", 0)
    options = {
        "dtype": dtype,
        "layout": layout,
        "device": device,
        "memory_format": memory_format,
        "pin_memory": pin_memory,
    }
    return _like(
        input,
        options,
        pick_generator(generator),
        lambda g, a, k: random_integers.randint(g, a, low, high),
        requires_grad,
    )


@public()
def randperm(
    n: int,
    *,
    generator: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A random permutation of the numbers 0 to n-1.

    Args:
        n: how many numbers.
        generator: the source of random numbers. Default: the global one.
        dtype: the dtype. Default: int64.

    >>> import pellucid as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.randperm(4)
    tensor([0, 1, 3, 2])
    """
    check_memory(layout, pin_memory)
    given = dtypes.check_dtype(dtype, "randperm")
    kind = given or (out.dtype if out is not None else dtypes.int64)
    source = pick_generator(generator)
    count = _whole(n, "randperm", "n")
    level = running() if draw_guards else None
    if level is not None:
        options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
        return drawing.one_by_one(
            level,
            lambda: randperm(count, generator=generator, requires_grad=requires_grad, **options),
            out,
        )
    if check_device(device).type == "meta":
        return build((count,), kind, device, requires_grad, np.empty)
    result = build(
        (max(count, 0),),
        kind,
        device,
        requires_grad,
        lambda s, k: random_integers.randperm(source, count, k),
    )
    return deliver(result, out, "randperm", given)


# ---- sampling ---------------------------------------------------------------------------------
@public()
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Normal random numbers; `mean` and `std` are numbers with a `size`, or at least one of them is
    a tensor.

    Raises:
        RuntimeError: a negative standard deviation.

    >>> import pellucid as torch
    >>> torch.normal(torch.zeros(3), 1.0).shape
    torch.Size([3])
    """
    source = pick_generator(generator)
    if size is None:
        if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
            raise ArgumentTypeError(
                "normal() received an invalid combination of arguments - got (float, float), but expected a size"
            )
        if isinstance(mean, Tensor) and isinstance(std, Tensor):
            empty = 0 in broadcast_shapes(mean._array.shape, std._array.shape)
            if empty and mean.dtype is dtypes.bool_ and not std.dtype.is_complex:
                kind = std.dtype if std.dtype.is_floating_point else dtypes.get_default_dtype()
                raise DtypeError(
                    f"result type {kind.scalar_type_name} can't be cast to the desired output type Bool"
                )
        elif isinstance(mean, Tensor) and isinstance(out, Tensor):
            broadcast_shapes(mean._array.shape, out._array.shape)
        if draw_guards and (level := running()) is not None:
            options = {"generator": generator, "out": out}
            return drawing.from_parameters(level, normal, (mean, std), options)
        m, s = (x._array if isinstance(x, Tensor) else x for x in (mean, std))
        values = random_fill.normal_like(source, m, s, None if out is None else out.dtype.numpy)
        made = make_tensor(values)
        given = [x for x in (mean, std) if isinstance(x, Tensor)]
        for parameter in given:
            if parameter._rg or state.slow:
                made = sample_op.call(parameter, made)
        overload = 3 if len(given) == 2 else 1 if isinstance(mean, Tensor) else 2
        titled(made, f"NormalBackward{overload}", of=tuple(given))
        made = _drawn("normal", (mean, std), made)
        return made if out is None else into(out, made, "normal")
    check_memory(layout, pin_memory)
    kind = dtypes.check_dtype(dtype, "normal") or (
        out.dtype if out is not None else dtypes.get_default_dtype()
    )
    m, s = float(mean), float(std)

    def fill(shape: Any, k: Any) -> Any:
        return random_fill.normal(source, shape, m, s, k)

    shape, asked = sizes((size,), "normal"), dtypes.check_dtype(dtype, "normal")
    return _built("normal", shape, kind, device, requires_grad, fill, out, asked)


@public()
def bernoulli(
    input: Tensor, p: Any = None, *, generator: Any = None, out: Tensor | None = None
) -> Tensor:
    """Draw ones and zeros, with the probabilities in `input`.

    Args:
        input: the probability of a one for each element of the result.
        p: one probability for all elements, instead of `input`. Default: None.
        generator: the source of random numbers. Default: the global one.

    >>> import pellucid as torch
    >>> torch.bernoulli(torch.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    a = require_tensor(input, "bernoulli")._array
    if draw_guards and (level := running()) is not None:
        options = {"generator": generator, "out": out}
        return drawing.from_parameters(level, bernoulli, (input, p), options)
    source = pick_generator(generator)
    if type(a) is MetaArray:
        return empty_like(input)
    if p is None:
        kind = None if out is None else out.dtype.numpy
        values = random_distributions.bernoulli_like(source, a, dtype=kind)
    elif isinstance(p, Tensor) and p._array.ndim:
        raise ArgumentTypeError("bernoulli(): argument 'p' (position 2) must be float, not Tensor")
    else:
        values = random_distributions.bernoulli(source, a.shape, float(p), a.dtype)
    return deliver(sampled(input, values, "Bernoulli"), out, "bernoulli")


METHODS["bernoulli"] = bernoulli


@public(methods="=")
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn with the weights in a vector, or in each row of a matrix.

    Args:
        input: weights, not negative and not all zero; they need not sum to 1.
        num_samples: how many indices to draw for each row.
        replacement: whether an index may be drawn twice.

    >>> import pellucid as torch
    >>> torch.multinomial(torch.tensor([0.0, 1.0]), 1)
    tensor([1])
    """
    a = require_tensor(input, "multinomial")._array
    if type(a) is MetaArray:
        return build((*a.shape[:-1], num_samples), dtypes.int64, "meta", False, np.empty)
    if out is not None and out.dtype is not dtypes.int64:
        raise DtypeError(f"multinomial expects Long tensor out, got: {out.dtype.scalar_type_name}")
    if draw_guards and (level := running()) is not None:
        options = {"generator": generator, "out": out}
        return drawing.from_parameters(level, _all_rows, (input, num_samples, replacement), options)
    result = make_tensor(
        random_distributions.multinomial(pick_generator(generator), a, num_samples, replacement)
    )
    return deliver(_drawn("multinomial", (input,), result), out, "multinomial")


def _all_rows(input: Tensor, *args: Any, **options: Any) -> Tensor:
    """`multinomial` for each row of several matrices."""
    shape = tuple(input.shape)
    if len(shape) < 3:
        return multinomial(input, *args, **options)
    flat = multinomial(F.reshape(input, shape=(-1, shape[-1])), *args, **options)
    return F.reshape(flat, shape=(*shape[:-1], -1))


def _drawn(name: str, inputs: tuple[Any, ...], result: Tensor) -> Tensor:
    """Return `result`, after reporting it to observers as drawn from `inputs`; it is not a recorded
    operation.
    """
    if observe.observers:
        told = Primitive(
            name=name, args=("input", "other"), grad_name=name.capitalize(), title=name
        )
        observe.notify("operation", told, inputs, {}, result)
    return result


@public()
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Poisson random numbers with the rates in `input`.

    >>> import pellucid as torch
    >>> torch.poisson(torch.zeros(2))
    tensor([0., 0.])
    """
    a = require_tensor(input, "poisson")._array
    if draw_guards and (level := running()) is not None:
        return drawing.from_parameters(level, poisson, (input, generator), {})
    return sampled(input, random_reject.poisson(pick_generator(generator), a), "Poisson")


@public()
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Numbers of successes in `count` trials of probability `prob`.

    >>> import pellucid as torch
    >>> torch.binomial(torch.tensor([5.0]), torch.tensor([1.0]))
    tensor([5.])
    """
    a = require_tensor(count, "binomial", "count")._array
    b = require_tensor(prob, "binomial", "prob", 2)._array
    for name, t in (("count", count), ("prob", prob)):
        if not t.dtype.is_floating_point:
            raise ArgumentValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {t.dtype.scalar_type_name}"
            )
    broadcast_shapes(a.shape, b.shape)
    if draw_guards and (level := running()) is not None:
        return drawing.from_parameters(level, binomial, (count, prob, generator), {})
    return sampled(count, random_reject.binomial(pick_generator(generator), a, b), "Binomial")


sample_op = defop(
    "sample",
    "input values",
    forward=lambda xp, x, values: values,
    vjp={"input": zero_gradient, "values": lambda g: g},
    jvp=lambda F, values_shape, values_dtype: F.full(
        shape=values_shape, value=0, dtype=values_dtype
    ),
    aval=lambda x, values: values,
    traits="steps",
)


def sampled(input: Tensor, values: np.ndarray, title: str) -> Tensor:
    """Random values drawn from the parameters `input`: part of the graph, with a gradient and a
    tangent of zero, as in PyTorch.
    """
    made = make_tensor(np.asarray(values))
    if not (input._rg or state.slow) or made._array.shape != input._array.shape:
        return made
    return titled(sample_op.call(input, made), title, of=(input,))
