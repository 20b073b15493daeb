"""`autograd.grad` in all its forms, over plain and batched tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import reverse
from ..core.bind import wrap
from ..core.primitive import TENSORS as F
from ..core.tensor import Tensor


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
    seeds: tuple[Any, ...]
    if grad_outputs is None:
        seeds = (None,) * len(outputs)
    else:
        seeds = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
    if len(seeds) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(seeds)} gradients")
    results: Any
    if is_grads_batched:
        results = _batched(outputs, inputs, seeds, retain_graph, create_graph, allow_unused)
    else:
        results = reverse.grad(outputs, inputs, seeds, retain_graph, create_graph, allow_unused)
    if materialize_grads:
        results = tuple(wrap(np.zeros_like(x._array)) if r is None else r for r, x in zip(results, inputs, strict=True))
    return tuple(results)


def _batched(
    outputs: tuple[Tensor, ...], inputs: tuple[Tensor, ...], seeds: tuple[Any, ...], retain: bool | None, create: bool, unused: bool
) -> tuple[Tensor | None, ...]:
    """One vector-Jacobian product for each row of the seeds, stacked."""
    rows = next(len(s._array) for s in seeds if s is not None)
    keep = create if retain is None else retain
    columns: list[list[Any]] = [[] for _ in inputs]
    for k in range(rows):
        last = k == rows - 1
        row = tuple(None if s is None else s[k] for s in seeds)  # type: ignore[index]
        for column, g in zip(columns, reverse.grad(outputs, inputs, row, keep or not last, create, unused), strict=True):
            column.append(g)
    return tuple(None if c[0] is None else F.stack(*c, dim=0) for c in columns)
