"""`torch.onnx`: models as ONNX files."""

from __future__ import annotations

import enum

from .export.onnx import OnnxExporterError, UnsupportedOperatorError, export, supported_operations
from .export.onnx.load import OnnxModule, load

__all__ = [
    "OnnxExporterError",
    "OnnxModule",
    "TrainingMode",
    "UnsupportedOperatorError",
    "export",
    "is_in_onnx_export",
    "load",
    "supported_operations",
]


class TrainingMode(enum.Enum):
    """In which mode a model is exported; only EVAL is supported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


def is_in_onnx_export() -> bool:
    """False: a model runs during the export as it always does.

    >>> import pellucid as torch
    >>> torch.onnx.is_in_onnx_export()
    False
    """
    return False
