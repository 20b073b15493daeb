"""`autograd.grad` in all its forms, over plain and batched tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import reverse
from ..core.bind import wrap
from ..core.primitive import TENSORS as F
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor
from ..core.tracing import constant
from ..core.transforms.batching import Level, batched, level_of, levels, lift, lower, physical
from ..dtypes import BY_NUMPY
from ..errors import GraphError, OperationError, UnsupportedError
from . import edges


def grad(
    outputs: tuple[Tensor, ...],
    inputs: tuple[Tensor, ...],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """See `pellucid.autograd.grad`."""
    seeds = edges.seeds(grad_outputs, len(outputs))
    results: Any
    if is_grads_batched:
        results = _rows(outputs, inputs, seeds, retain_graph, create_graph, allow_unused)
    else:
        results = _differentiate(outputs, inputs, seeds, retain_graph, create_graph, allow_unused)
    if materialize_grads:
        zeros = FUNCTIONS["torch"]["zeros_like"]
        results = tuple(
            zeros(x, requires_grad=create_graph) if r is None else r
            for r, x in zip(results, inputs, strict=True)
        )
    return tuple(results)


def _differentiate(
    outputs: tuple[Tensor, ...],
    inputs: tuple[Tensor, ...],
    seeds: tuple[Any, ...],
    retain: bool | None,
    create: bool,
    unused: bool,
) -> tuple[Tensor | None, ...]:
    """Gradients of tensors that may be batched: each sample has its own, computed on the physical
    tensors.
    """
    level = max((level_of(t) for t in (*outputs, *inputs)), default=0)
    if not level:
        return reverse.grad(outputs, inputs, seeds, retain, create, unused)
    for x in inputs:
        if level_of(x) != level:
            raise UnsupportedError(
                "vmap: autograd.grad with respect to a tensor that is not mapped over; use torch.func.grad, or map over it"
            )
    size = physical(inputs[0])._array.shape[0]
    roots, vectors = [], []
    for k, (out, seed) in enumerate(zip(outputs, seeds, strict=True)):
        if level_of(out) != level:
            continue  # it depends on none of the inputs
        seed = (
            wrap(constant(np.ones((), BY_NUMPY[out._array.dtype].numpy)))
            if seed is None and not out._array.shape
            else seed
        )
        if seed is None:
            raise GraphError(
                "grad can be implicitly created only for scalar outputs", op="backward"
            )
        if seed._array.shape != out._array.shape:
            raise OperationError(
                f"Mismatch in shape: grad_output[{k}] has a shape of torch.Size({list(seed._array.shape)}) and output[{k}] has a "
                f"shape of torch.Size({list(out._array.shape)})."
            )
        roots.append(physical(out))
        vectors.append(lower(seed, level, size))
    if not roots:
        return (None,) * len(inputs)
    gs = _differentiate(
        tuple(roots), tuple(physical(x) for x in inputs), tuple(vectors), retain, create, unused
    )
    return tuple(None if g is None else lift(g, level) for g in gs)


def _rows(
    outputs: tuple[Tensor, ...],
    inputs: tuple[Tensor, ...],
    seeds: tuple[Any, ...],
    retain: bool | None,
    create: bool,
    unused: bool,
) -> tuple[Tensor | None, ...]:
    """One vector-Jacobian product for each row of the seeds, all in one backward on batched
    gradients.
    """
    for k, (out, s) in enumerate(zip(outputs, seeds, strict=False)):
        if s is not None and s._array.shape[1:] != out._array.shape:
            raise OperationError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The sizes of "
                "the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{k}] has a shape of torch.Size({list(s._array.shape[2:])}) and output[{k}] has a shape of "
                f"torch.Size({list(out._array.shape)}). If you only want some tensors in `grad_output` to be considered batched, "
                "consider using vmap."
            )
    rows = next(s._array.shape[0] for s in seeds if s is not None)
    if not rows:  # a row of zeros tells the shapes
        one = tuple(None if s is None else F.sum(s, dim=(0,), keepdim=False) for s in seeds)
        gs = _differentiate(outputs, inputs, one, retain, create, unused)
        empty = {"dim": 0, "start": 0, "end": 0, "step": 1}
        return tuple(None if g is None else F.slice(F.stack(g, dim=0), **empty) for g in gs)
    level = Level(rows, "different")
    levels.stack.append(level)
    try:
        vectors = tuple(None if s is None else batched(s, level.number) for s in seeds)
        gs = _differentiate(outputs, inputs, vectors, retain, create, unused)
    finally:
        levels.stack.pop()
    return tuple(None if g is None else lower(g, level.number, rows) for g in gs)
