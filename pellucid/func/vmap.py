"""`vmap` turns a function of one sample into a function of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._pytree import TreeSpec, _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from ..core.modes import local
from ..core.primitive import TENSORS as F
from ..core.streams import generator as random
from ..core.tensor import Tensor, make_tensor
from ..core.transforms import batching
from ..core.transforms.batching import (
    Level,
    NeedsLoop,
    batched,
    draw_guard,
    level_of,
    levels,
    to_front,
    unwrap,
)


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that maps `func` over a dimension of its tensor arguments.

    Args:
        func: takes and returns tensors, in nested containers if need be.
        in_dims: the dimension to map over, for all inputs or in the structure of the inputs; None
            for those that every call gets whole.
        out_dims: where the mapped dimension stands in the outputs.
        randomness: "error" refuses random operations, "same" draws once for all samples,
            "different" for each one.
        chunk_size: samples computed together; all of them when None.

    Raises:
        ValueError: arguments that cannot be mapped. RuntimeError: data-dependent control flow,
            in-place writes to what is not mapped.

    >>> import pellucid as torch
    >>> torch.func.vmap(torch.dot)(torch.ones(3, 5), torch.ones(3, 5))
    tensor([5., 5., 5.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        for container in CONTAINERS:
            result = container(func, in_dims, out_dims, randomness, args, kwargs)
            if result is not NotImplemented:
                return result
        size, dims, leaves, spec = _inputs(func, in_dims, args)
        if kwargs:
            extra, extra_spec = tree_flatten(kwargs)
            tensors = [isinstance(x, Tensor) for x in extra]
            dims = dims + [0 if t else None for t in tensors]
            if any(
                t and x._array.shape[:1] != (size,) for x, t in zip(extra, tensors, strict=True)
            ):
                sizes = [
                    size,
                    *[x._array.shape[0] for x, t in zip(extra, tensors, strict=True) if t],
                ]
                raise ValueError(
                    f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension"
                )
            leaves = leaves + extra
            spec = TreeSpec(tuple, None, [spec, extra_spec])

            def call(both: Any) -> Any:
                return func(*both[0], **both[1])
        else:

            def call(both: Any) -> Any:
                return func(*both)

        step = size if chunk_size is None else chunk_size
        if step >= size:
            return _mapped(func, call, size, dims, leaves, spec, out_dims, randomness)
        moved = [x if d is None else to_front(x, d) for x, d in zip(leaves, dims, strict=True)]
        dims = [None if d is None else 0 for d in dims]
        parts, places = [], None
        shared = random.default_generator.snapshot() if randomness == "same" else None
        for start in range(0, size, step):
            if shared is not None:
                random.Generator.set_state(random.default_generator, shared)
            count = min(step, size - start)
            chunk = [
                x if d is None else F.slice(x, dim=0, start=start, end=start + count, step=1)
                for x, d in zip(moved, dims, strict=True)
            ]
            result = _mapped(func, call, count, dims, chunk, spec, out_dims, randomness)
            flat, out_spec = tree_flatten(result)
            places = _broadcast_to_and_flatten(out_dims, out_spec)
            parts.append(flat)
        assert places is not None
        joined = [
            c[0] if d is None else F.cat(*c, dim=d % c[0]._array.ndim)
            for c, d in zip(zip(*parts, strict=True), places, strict=True)
        ]
        return tree_unflatten(joined, out_spec)

    return wrapped


# Asked first: libraries whose containers batch themselves; the result of the whole call, or
# NotImplemented (`_functorch/vmap.py`).
CONTAINERS: list[Callable[..., Any]] = []


def _name(func: Any) -> str:
    return getattr(func, "__name__", None) or repr(func)


def _inputs(
    func: Any, in_dims: Any, args: tuple[Any, ...]
) -> tuple[int, list[Any], list[Any], TreeSpec]:
    """(batch size, dimension of each leaf, leaves, structure), with PyTorch's refusals."""
    name = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{name}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function "
            "with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{name}in_dims is not compatible with the structure of `inputs`. in_dims has structure {tree_flatten(in_dims)[1]} but inputs "
            f"has structure {spec}."
        )
    for k, (x, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(
                f"{name}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(x, Tensor):
            raise ValueError(
                f"{name}Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor arguments, "
                "please use None as the respective in_dim"
            )
        ndim = x._array.ndim
        if not -ndim <= dim < ndim:
            raise ValueError(
                f"{name}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {ndim} so expected in_dim to "
                f"satisfy -{ndim} <= in_dim < {ndim}."
            )
        dims[k] = dim % ndim
    sizes = [x._array.shape[d] for x, d in zip(leaves, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(s != sizes[0] for s in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension"
        )
    return sizes[0], dims, leaves, spec


def _mapped(
    func: Any,
    call: Callable[[Any], Any],
    size: int,
    dims: list[Any],
    leaves: list[Any],
    spec: TreeSpec,
    out_dims: Any,
    randomness: str,
) -> Any:
    """Run the function once on Batched tensors; sample by sample when something in it has no
    batched form.
    """
    fronts = [x if d is None else to_front(x, d) for x, d in zip(leaves, dims, strict=True)]
    stream = random.default_generator
    state = None if randomness == "error" else stream.snapshot()
    level = Level(size, randomness)
    try:
        with _running(level):
            result = call(
                tree_unflatten(
                    [
                        x if d is None else batched(x, level.number)
                        for x, d in zip(fronts, dims, strict=True)
                    ],
                    spec,
                )
            )
            out, out_spec = tree_flatten(result)
            places = _places(func, out_dims, out, out_spec)
            return tree_unflatten(
                [_result(func, x, d, level) for x, d in zip(out, places, strict=True)], out_spec
            )
    except NeedsLoop:
        pass
    level = Level(size, randomness)
    level.looping = True
    rows = []
    for k in range(size or 1):
        if (
            state is not None
            and (randomness == "same" or k == 0)
            and state.tobytes() != stream.snapshot().tobytes()
        ):
            random.Generator.set_state(stream, state)
        sample = [
            x if d is None else F.select(x, dim=0, index=k) if size else _imagined(x)
            for x, d in zip(fronts, dims, strict=True)
        ]
        with _running(level):
            out, out_spec = tree_flatten(call(tree_unflatten(sample, spec)))
        rows.append(out)
    places = _places(func, out_dims, rows[0], out_spec)
    stacked = []
    for column, dim in zip(zip(*rows, strict=True), places, strict=True):
        if dim is None:
            stacked.append(column[0])
            continue
        _check_output(func, column[0])
        dim %= column[0]._array.ndim + 1
        whole = F.stack(*column, dim=dim)
        stacked.append(whole if size else F.slice(whole, dim=dim, start=0, end=0, step=1))
    return tree_unflatten(stacked, out_spec)


def _imagined(x: Tensor) -> Tensor:
    """A sample of none, from which the shapes of the results follow: zeros, but for matrices that
    may have to have an inverse.
    """
    a = x._array
    sample: Tensor = F.cast(F.sum(x, dim=(0,), keepdim=False), dtype=a.dtype)
    if a.ndim < 3 or a.shape[-1] != a.shape[-2] or a.dtype.kind not in "fc":
        return sample
    return F.add(sample, make_tensor(np.eye(a.shape[-1], dtype=a.dtype)))


class _running:  # noqa: N801
    """A level on the stack, and the guard of random draws in place."""

    def __init__(self, level: Level) -> None:
        self.level = level

    def __enter__(self) -> None:
        levels.stack.append(self.level)
        local.transforms += 1
        random.draw_guards.append(draw_guard)

    def __exit__(self, *exc: object) -> None:
        levels.stack.pop()
        local.transforms -= 1
        random.draw_guards.remove(draw_guard)


def _places(func: Any, out_dims: Any, out: list[Any], spec: TreeSpec) -> list[Any]:
    name = f"vmap({_name(func)}, ..., out_dims={out_dims})"
    if not all(d is None or isinstance(d, int) for d in tree_flatten(out_dims)[0]):
        raise ValueError(
            f"{name}: `out_dims` must be an int, None or a python collection of ints representing where in the outputs the vmapped "
            "dimension should appear."
        )
    if spec.is_leaf() and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    places = _broadcast_to_and_flatten(out_dims, spec)
    if places is None:
        raise ValueError(
            f"{name}(<inputs>): out_dims is not compatible with the structure of `outputs`. out_dims has structure "
            f"{tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return places


def _check_output(func: Any, x: Any) -> None:
    if not isinstance(x, Tensor):
        raise ValueError(
            f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(x)}. Did you mean to set out_dims= to "
            "None for output?"
        )


def _result(func: Any, x: Any, dim: int | None, level: Level) -> Any:
    """An output with the batch dimension where it is wanted."""
    if dim is None:
        if level_of(x) == level.number:
            raise ValueError(
                f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when out_dim is None"
            )
        return x
    _check_output(func, x)
    value, is_batched = unwrap(x, level.number, level.size)
    if not is_batched:
        value = batching.spread(value, level.size)
    ndim = value._array.ndim
    if not -ndim <= dim < ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})"
        )
    dim %= ndim
    if dim == 0:
        return value
    order = list(range(1, ndim))
    order.insert(dim, 0)
    return F.permute(value, dims=tuple(order))
