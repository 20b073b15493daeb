"""Gradients of each sample of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..._pytree import tree_flatten, tree_unflatten
from ...core.tensor import Tensor
from ...errors import OperationError
from ...func import functional_call, vmap
from ..modules.module import Module


def call_for_per_sample_grads(
    module: Module,
    *,
    batch_size: int | None = None,
    loss_reduction: str = "sum",
    batch_first: bool = True,
) -> Callable[..., Any]:
    """The forward function of a module; backward then leaves the gradient of each sample in the
    `grad_sample` of each parameter that requires a gradient, and none in its `grad`.

    Args:
        module: computes each sample by itself, so no batch norm in training mode.
        batch_size: the number of samples. Default: that of the tensor arguments.
        loss_reduction: "sum", or "mean" where the loss is a mean over the batch: the gradients are
            then multiplied by the batch size.
        batch_first: the batch is the first dimension of each tensor argument, otherwise the second.

    Raises:
        RuntimeError: arguments of other types; a parameter has a `grad_sample` already; the tensor
            arguments disagree on the batch size.

    >>> import pellucid as torch
    >>> from pellucid.nn.utils._per_sample_grad import call_for_per_sample_grads
    >>> net = torch.nn.Linear(4, 3)
    >>> call_for_per_sample_grads(net)(torch.randn(5, 4)).sum().backward()
    >>> net.weight.grad_sample.shape, net.weight.grad
    (torch.Size([5, 3, 4]), None)
    """
    if loss_reduction not in ("sum", "mean"):
        raise OperationError(
            f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}"
        )
    if not isinstance(module, Module):
        raise OperationError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise OperationError(
            f"Batch size passed must be None or an integer, got {type(batch_size).__name__}"
        )
    if batch_size is not None and batch_size < 1:
        raise OperationError(f"Batch size must be positive, got {batch_size}")
    for weight in module.parameters():
        if getattr(weight, "grad_sample", None) is not None:
            raise OperationError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple "
                f"calls without clearing gradients. Please clear out the grad_sample parameter of {weight} or "
                "post an issue to pytorch/pytorch to prioritize correct behavior"
            )
    at = 0 if batch_first else 1

    @functools.wraps(module.forward)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten((args, kwargs))
        found = [leaf.shape[at] for leaf in leaves if isinstance(leaf, Tensor)]
        size = batch_size
        if size is None:
            size = _common(found)
        batched = [
            at if isinstance(leaf, Tensor) and leaf.ndim > at and leaf.shape[at] == size else None
            for leaf in leaves
        ]
        # One copy of each parameter per sample: the gradients of the copies are those wanted.
        own = {
            name: _per_sample(weight, size, size if loss_reduction == "mean" else 1)
            for name, weight in module.named_parameters()
            if weight.requires_grad
        }

        def one(weights: dict[str, Tensor], *values: Any) -> Any:
            given = [
                value if dim is None else value.unsqueeze(dim)
                for value, dim in zip(values, batched, strict=True)
            ]
            its_args, its_kwargs = tree_unflatten(given, spec)
            made, form = tree_flatten(functional_call(module, weights, its_args, its_kwargs))
            return tree_unflatten([value.squeeze(at) for value in made], form)

        return vmap(one, in_dims=(0, *batched), out_dims=at, randomness="different")(own, *leaves)

    return wrapper


def _common(sizes: list[int]) -> int:
    """The batch size that all tensor arguments have."""
    if not sizes:
        raise OperationError(
            "Unable to find a tensor in the passed args and kwargs. They may not be pytree-able "
            "and so ExpandedWeights cannot compute the batch size from the inputs. Please specify "
            "it explicitly"
        )
    for size in sizes:
        if size != sizes[0]:
            raise OperationError(
                "When computing batch size, found at least one input with batch size "
                f"{sizes[0]} and one with batch size {size}. Please specify it "
                "explicitly using the batch size kwarg in call_for_per_sample_grads"
            )
    return sizes[0]


def _per_sample(weight: Tensor, size: int, factor: int) -> Tensor:
    """A parameter once per sample; the gradient of that goes to the parameter's `grad_sample`."""
    copies = weight.detach().expand(size, *weight.shape).requires_grad_()

    def keep(gradient: Tensor) -> None:
        gradient = gradient.detach() * factor
        before = getattr(weight, "grad_sample", None)
        weight.grad_sample = gradient if before is None else before + gradient  # type: ignore[attr-defined]

    copies.register_hook(keep)
    return copies
