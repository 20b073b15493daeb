"""Names of `torch.onnx.utils`: the parts of PyTorch's older exporter that tools import."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._names import ASKED_BY_TOOLS
from ..nn.modules.module import Module
from .program import TrainingMode
from .program import export as export
from .symbolic_helper import refusing
from .symbolic_helper import register_custom_op_symbolic as register_custom_op_symbolic
from .symbolic_helper import unregister_custom_op_symbolic as unregister_custom_op_symbolic


def is_in_onnx_export() -> bool:
    """False: a model runs during the export as it always does."""
    return False


@contextmanager
def select_model_mode_for_export(model: Any, mode: TrainingMode) -> Iterator[None]:
    """Inside of the block the model is in the mode that an export wants: evaluation, unless `mode`
    is TRAINING or PRESERVE.

    >>> import pellucid as torch
    >>> model = torch.nn.Dropout()
    >>> with torch.onnx.utils.select_model_mode_for_export(model, torch.onnx.TrainingMode.EVAL):
    ...     print(model.training)
    False
    >>> model.training
    True
    """
    parts = list(model.modules()) if isinstance(model, Module) else []
    before = [part.training for part in parts]
    if parts and mode is not TrainingMode.PRESERVE:
        model.train(mode is TrainingMode.TRAINING)
    try:
        yield
    finally:
        for part, training in zip(parts, before, strict=True):
            part.training = training


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith(ASKED_BY_TOOLS):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return refusing("utils", name)
