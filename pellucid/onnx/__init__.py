"""`torch.onnx`: models as ONNX files, and ONNX files as models."""

from __future__ import annotations

from pellucid.export.onnx import OnnxExporterError, UnsupportedOperatorError, supported_operations

from .module import OnnxModule, load, supported_operators
from .program import ONNXProgram, TrainingMode, export

__all__ = [
    "ONNXProgram",
    "OnnxExporterError",
    "OnnxModule",
    "TrainingMode",
    "UnsupportedOperatorError",
    "export",
    "is_in_onnx_export",
    "load",
    "supported_operations",
    "supported_operators",
]


def is_in_onnx_export() -> bool:
    """False: a model runs during the export as it always does.

    >>> import pellucid as torch
    >>> torch.onnx.is_in_onnx_export()
    False
    """
    return False
