"""What `onnx.export` raises, under PyTorch's names."""

from __future__ import annotations


class OnnxExporterError(RuntimeError):
    """The model cannot be written as ONNX."""


class UnsupportedOperatorError(OnnxExporterError):
    """The model uses operations that have no translation to ONNX; the message lists all of them."""
