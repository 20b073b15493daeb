"""Adam for sparse gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.sparse.array import SparseArray
from ..core.tensor import Tensor
from ..errors import OperationError
from ._arrays import ArrayOptimizer, zeros
from .adam import check_betas
from .optimizer import check, check_lr, to_number

__all__ = ["SparseAdam"]


class SparseAdam(ArrayOptimizer):
    """Adam for sparse gradients: only updates the rows (and their moments) that the gradient
    contains.

    Gradients are sparse, as those of `nn.Embedding(sparse=True)`; parameters are dense.

    Args:
        params: an iterable of parameters, or of dictionaries: groups with their own options.
        lr: learning rate, above 0. Default: 1e-3.
        betas: decay of the mean of gradients, and of their squares. Default: (0.9, 0.999).
        eps: added to the denominator, above 0. Default: 1e-8.
        maximize: maximize the objective instead of minimizing it. Default: False.

    Raises:
        ValueError: a sparse parameter; an option out of range.
        RuntimeError: in `step`, a dense gradient.

    Example:
        >>> import pellucid as torch
        >>> table = torch.nn.Embedding(10, 3, sparse=True)
        >>> optimizer = torch.optim.SparseAdam(table.parameters())
        >>> table(torch.tensor([1, 4])).sum().backward()
        >>> optimizer.step()
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        check(0.0 < to_number(lr), f"Invalid learning rate: {lr}")
        check(0.0 < eps, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        params = list(params) if not isinstance(params, Tensor) else params
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        sparse = [
            [k, place]
            for k, group in enumerate(
                [params]
                if params and not isinstance(params[0], dict)
                else [g["params"] for g in params]
            )
            for place, p in enumerate([group] if isinstance(group, Tensor) else group)
            if isinstance(p, Tensor) and type(p._array) is SparseArray
        ]
        check(
            not sparse,
            f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors",
        )

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = 0
        state["exp_avg"] = zeros(p)
        state["exp_avg_sq"] = zeros(p)

    def _update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        raise OperationError(
            "SparseAdam does not support dense gradients, please consider Adam instead"
        )

    def _sparse_update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        state["step"] += 1
        step, g = state["step"], g.coalesce()
        if not g.nnz:
            return
        rows, part = g.index(), g.values
        mean, square = state["exp_avg"]._array[rows], state["exp_avg_sq"]._array[rows]
        mean += (part - mean) * (1 - beta1)
        square += (part * part - square) * (1 - beta2)
        state["exp_avg"]._array[rows], state["exp_avg_sq"]._array[rows] = mean, square
        size = to_number(group["lr"]) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        self._add_sparse(p, g.like(mean / (np.sqrt(square) + group["eps"])), -size)
