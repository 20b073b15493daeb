"""The steps of `vmap` under the names of `torch._functorch.vmap`, for libraries that bring their
own containers.

A level is the number of a running `vmap`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._C._functorch import _add_batch_dim as _add_batch_dim
from .._C._functorch import _remove_batch_dim as _remove_batch_dim
from .._pytree import TreeSpec as Spec
from .._pytree import _broadcast_to_and_flatten as _broadcast_to_and_flatten
from .._pytree import tree_flatten as tree_flatten
from .._pytree import tree_unflatten as tree_unflatten
from ..core.tensor import Tensor as Tensor
from ..core.transforms import batching as _batching
from ..core.transforms.batching import Level
from ..func import vmap as vmap
from ..func.vmap import CONTAINERS, _inputs, _running
from ..func.vmap import _name as _get_name


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None
) -> Any:
    """All samples of a result, the batch in `out_dim`; None: the result as it is."""
    if out_dim is None:
        if isinstance(batched_output, Tensor) and _batching.level_of(batched_output) == vmap_level:
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. Did you mean to set out_dims= to None "
            "for output?"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _process_batched_inputs(
    in_dims: Any, args: tuple[Any, ...], func: Callable[..., Any]
) -> tuple[int, list[Any], list[Any], Spec]:
    """(batch size, dimensions of the leaves, leaves, structure of the arguments)."""
    return _inputs(func, in_dims, args)


def _create_batched_inputs(
    flat_in_dims: list[Any], flat_args: list[Any], vmap_level: int, args_spec: Spec
) -> Any:
    """The arguments with one sample in the place of each batch."""
    made = [
        leaf if dim is None else _add_batch_dim(leaf, dim, vmap_level)
        for dim, leaf in zip(flat_in_dims, flat_args, strict=True)
    ]
    return tree_unflatten(made, args_spec)


def _unwrap_batched(
    batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Callable[..., Any]
) -> Any:
    """The results with all samples."""
    leaves, spec = tree_flatten(batched_outputs)
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({_get_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of outputs."
        )
    name = _get_name(func)
    return tree_unflatten(
        [
            _maybe_remove_batch_dim(name, x, vmap_level, batch_size, d)
            for x, d in zip(leaves, dims, strict=True)
        ],
        spec,
    )


_OWN = (_process_batched_inputs, _create_batched_inputs, _unwrap_batched)


def _by_replaced_steps(
    func: Callable[..., Any],
    in_dims: Any,
    out_dims: Any,
    randomness: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """The whole call by steps that a library has put in the place of those above, where its
    containers are among the arguments.
    """
    if (_process_batched_inputs, _create_batched_inputs, _unwrap_batched) == _OWN:
        return NotImplemented
    size, dims, leaves, spec = _process_batched_inputs(in_dims, args, func)
    if all(
        isinstance(leaf, Tensor) or next(iter(tree_flatten(leaf)[0]), None) is leaf
        for leaf in leaves
    ):
        return NotImplemented
    level = Level(size, randomness)
    with _running(level):
        made = func(*_create_batched_inputs(dims, leaves, level.number, spec), **kwargs)
        return _unwrap_batched(made, out_dims, level.number, size, func)


CONTAINERS.append(_by_replaced_steps)


def restore_vmap(
    func: Callable[..., Any], in_dims: Any, batch_size: int, randomness: str
) -> Callable[..., tuple[Any, Any]]:
    """The function mapped over dimensions of its arguments, without the checks of `vmap`.

    Returns:
        A function that returns the results and, in the same structure, where the batch is in each
        of them; None in what does not differ from sample to sample.
    """

    def mapped(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        leaves, spec = tree_flatten(args)
        dims = _broadcast_to_and_flatten(in_dims, spec)
        assert dims is not None
        level = Level(batch_size, randomness)
        with _running(level):
            inputs = [
                x if d is None else _add_batch_dim(x, d, level.number)
                for x, d in zip(leaves, dims, strict=True)
            ]
            found = func(*tree_unflatten(inputs, spec), **kwargs)
            outputs, out_spec = tree_flatten(found)
            if not outputs:
                return found, ()
            # an argument returned as it came keeps its place of the batch
            known = {id(i): (x, d) for i, x, d in zip(inputs, leaves, dims, strict=True)}
            parts = [known.get(id(o)) or _parts(o, level) for o in outputs]
        return (
            tree_unflatten([value for value, _ in parts], out_spec),
            tree_unflatten([dim for _, dim in parts], out_spec),
        )

    return mapped


def _parts(x: Any, level: Level) -> tuple[Any, int | None]:
    value, found = _batching.unwrap(x, level.number, level.size)
    return value, 0 if found else None
