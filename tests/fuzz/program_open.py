"""What PyTorch leaves open: circumstances of a program in which a difference is nobody's fault,
each with its reason.

Where a program differs from PyTorch it is run once more, eagerly, with the functions below watched.
What was met excuses the kinds of differences that are named beside it, and no others.
"""

from __future__ import annotations

import contextlib
import importlib
import math
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import program_runs as runs

# reason: the kinds of differences that it explains, as they begin
REASONS = {
    "views from before requires_grad_() want gradients in PyTorch and drop them": (
        "requires_grad",
        "is_leaf",
        "gradient",
        "accepted RuntimeError element of tensors",
        "accepted RuntimeError a view of a leaf",
        "refused RuntimeError element of tensors",
        "refused RuntimeError One of the differentiated",
    ),
    "memory that resize_() adds is not initialised": ("value", "number", "gradient value"),
    "out= resized an operand before it was read": ("value", "number", "gradient value", "accepted"),
    "which leaves have their gradients when backward raises is not said": ("gradient", "shape"),
    "logical_not_() and kin write past PyTorch's graph, so that its gradients are of what was there before": (
        "refused RuntimeError a leaf",
        "refused RuntimeError a view",
        "gradient value",
        "value",
    ),
    "take_along_dim() reads outside of the tensor where the index has more elements along another dimension": (
        "refused",
    ),
    "PyTorch normalises nothing without a look at the sizes of the parameters": (
        "refused RuntimeError weight",
        "refused RuntimeError running",
    ),
    "under vmap PyTorch counts dimensions that a sample has not": (
        "accepted IndexError Dimension out of range",
    ),
    "of one element along a dimension the step to a next one counts in PyTorch, so that the same elements overlap in part": (
        "accepted RuntimeError unsupported operation some",
    ),
    "views to which a write to their base gave a gradient are leaves in PyTorch until somebody asks": (
        "accepted RuntimeError a leaf Variable",
    ),
    "autograd.grad() takes the gradients of samples under vmap": (
        "accepted RuntimeError element of tensors",
        "error class RuntimeError element of tensors",
    ),
    "a tensor whose .data got another shape or type keeps gradients and an optimizer's state of the one before, and PyTorch a shape that gradients must have": (
        "accepted RuntimeError Function",
        "accepted RuntimeError invalid gradient",
        "accepted RuntimeError result type",
        "refused ValueError could not broadcast",
    ),
    "kron() multiplies in PyTorch what no write counter watches": (
        "refused RuntimeError one of the variables needed",
    ),
    "masked_scatter_() of a tensor by itself reads in PyTorch what it has overwritten": (
        "value",
        "number",
        "gradient value",
        "accepted",
        "refused",
    ),
    "PyTorch counts the writes to what detach() gives of a tensor of inference mode": (
        "refused RuntimeError Inplace update",
        "refused RuntimeError Inference tensors do not",
    ),
    "one label in a list for one row of scores is refused late in PyTorch": (
        "accepted RuntimeError size mismatch got input target",
        "accepted RuntimeError output with shape",
    ),
}
(
    LATE,
    GROWN,
    OPERAND,
    HALF,
    LOGICAL,
    OUTSIDE,
    NOTHING,
    MAPPED,
    STEP,
    STALE,
    SAMPLES,
    DATA,
    KRON,
    ITSELF,
    COUNTED,
    LABEL,
) = REASONS
RAISED = (HALF, OUTSIDE)  # met where the function raises


def met(text: str) -> list[str]:
    """The circumstances that a program meets."""
    found: dict[str, None] = {}
    with contextlib.ExitStack() as stack:
        for target, name, watch in _watches():
            known = getattr(target, name)
            watched = (
                property(known.fget, _watched(known.fset, watch, found))
                if isinstance(known, property)
                else _watched(known, watch, found)
            )
            stack.enter_context(mock.patch.object(target, name, watched))
        runs.execute(text, "pellucid")
    return list(found)


def excused(kind: str, text: str) -> str | None:
    """The reason that explains a difference of this kind, if the program has one."""
    return next((why for why in met(text) if kind.startswith(REASONS[why])), None)


def _watched(
    function: Callable[..., Any], watch: Callable[..., str | None], found: dict[str, None]
) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        why = watch(*args, **kwargs)
        if why is not None and why not in RAISED:
            found[why] = None
        try:
            return function(*args, **kwargs)
        except Exception:
            if why in RAISED:
                found[why] = None
            raise

    return call


def _watches() -> Iterator[tuple[Any, str, Callable[..., str | None]]]:
    tensor = importlib.import_module("pellucid.core.tensor")
    public = importlib.import_module("pellucid.core.public")
    reverse = importlib.import_module("pellucid.core.reverse")

    def late(x: Any, value: Any = True, *more: Any) -> str | None:
        views = () if x._ver is None else x._ver.views or ()
        return (
            LATE
            if any(
                (v := ref()) is not None and v._view.base is x and v._rg != value for ref in views
            )
            else None
        )

    def grown(x: Any, *sizes: Any, **named: Any) -> str | None:
        shape = sizes[0] if sizes and isinstance(sizes[0], (tuple, list)) else sizes
        return GROWN if math.prod(shape) > x.numel() else None

    operands: list[Any] = []

    def read(out: Any, arguments: Any, *rest: Any) -> None:
        operands[:] = [
            x
            for given in arguments
            for x in (given if isinstance(given, (list, tuple)) else (given,))
        ]

    def written(out: Any, result: Any, *rest: Any) -> str | None:
        if (
            isinstance(out, tensor.Tensor)
            and out.shape != result.shape
            and any(out is x for x in operands)
        ):
            return OPERAND
        return None

    numpy_cpu = importlib.import_module("pellucid.arrays.numpy_cpu")

    def same(a: Any, b: Any, exact: bool = False) -> str | None:
        arrays = all(hasattr(x, "strides") for x in (a, b))
        alike = arrays and numpy_cpu.address(a) == numpy_cpu.address(b)
        return STEP if alike and numpy_cpu._steps(a) == numpy_cpu._steps(b) else None

    yield numpy_cpu, "overlaps", same
    inplace = importlib.import_module("pellucid.core.inplace")
    yield inplace, "reattach", lambda view: STALE if view._node is None else None
    transforms = importlib.import_module("pellucid.api.transforms")

    def mapped(outputs: Any, *more: Any) -> str | None:
        return SAMPLES if any(transforms.level_of(x) for x in outputs) else None

    yield transforms, "_differentiate", mapped
    for name in ("logical_not_", "logical_and_", "logical_or_", "logical_xor_"):
        yield tensor.Tensor, name, lambda x, *others: LOGICAL if x.requires_grad else None
    yield importlib.import_module("pellucid.api.gradients"), "set_requires_grad", late
    yield tensor, "set_requires_grad", late
    yield tensor.Tensor, "resize_", grown

    def given(x: Any, value: Any) -> str | None:
        alike = getattr(value, "shape", None) == x.shape and value.dtype is x.dtype
        return None if alike else DATA

    yield tensor.Tensor, "data", given

    def counted(x: Any, *more: Any) -> str | None:
        return COUNTED if x.is_inference() else None

    yield tensor.Tensor, "detach", counted

    def itself(x: Any, mask: Any, source: Any) -> str | None:
        return ITSELF if np.may_share_memory(x._array, source._array) else None

    yield tensor.Tensor, "masked_scatter_", itself
    yield importlib.import_module("pellucid"), "kron", lambda *args, **named: KRON
    for name in ("cross_entropy", "nll_loss"):
        yield (
            importlib.import_module("pellucid.nn.functional"),
            name,
            lambda x, target, *args, **named: LABEL if x.ndim == target.ndim == 1 else None,
        )
    yield public, "check_out", read
    yield public, "into", written
    yield reverse, "backward", lambda *args, **named: HALF
    package, functional = (
        importlib.import_module("pellucid"),
        importlib.import_module("pellucid.nn.functional"),
    )
    yield package, "take_along_dim", lambda *args, **named: OUTSIDE
    for name in ("batch_norm", "instance_norm"):
        yield functional, name, lambda x, *args, **named: None if x.numel() else NOTHING
    for space in (package, importlib.import_module("pellucid.func")):
        yield space, "vmap", lambda *args, **named: MAPPED
