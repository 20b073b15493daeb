"""`torch.onnx`: models as ONNX files, and ONNX files as models."""

from __future__ import annotations

import enum

from pellucid.onnx.writer import OnnxExporterError, UnsupportedOperatorError, supported_operations

from . import operators as operators
from . import utils as utils
from .module import OnnxModule, load, supported_operators
from .program import ONNXProgram, TrainingMode, export
from .symbolic_helper import (
    TensorProtoDataType,
    register_custom_op_symbolic,
    unregister_custom_op_symbolic,
)

__all__ = [
    "ONNXProgram",
    "OnnxExporterError",
    "OnnxModule",
    "OperatorExportTypes",
    "TensorProtoDataType",
    "TrainingMode",
    "UnsupportedOperatorError",
    "export",
    "is_in_onnx_export",
    "load",
    "register_custom_op_symbolic",
    "supported_operations",
    "supported_operators",
    "unregister_custom_op_symbolic",
]


class OperatorExportTypes(enum.Enum):
    """What PyTorch's older exporter did with operators that ONNX does not have. Accepted in arguments only.

    >>> import pellucid as torch
    >>> [kind.name for kind in torch.onnx.OperatorExportTypes]
    ['ONNX', 'ONNX_ATEN', 'ONNX_ATEN_FALLBACK', 'ONNX_FALLTHROUGH']
    """

    ONNX, ONNX_ATEN, ONNX_ATEN_FALLBACK, ONNX_FALLTHROUGH = range(4)


def is_in_onnx_export() -> bool:
    """False: a model runs during the export as it always does.

    >>> import pellucid as torch
    >>> torch.onnx.is_in_onnx_export()
    False
    """
    return False
