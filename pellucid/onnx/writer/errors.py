"""What `onnx.export` raises, under PyTorch's names."""

from __future__ import annotations


class OnnxExporterError(RuntimeError):
    """The model cannot be written as ONNX; the base class of the exporter's errors.

    >>> import pellucid as torch
    >>> issubclass(torch.onnx.OnnxExporterError, RuntimeError)
    True
    """


class UnsupportedOperatorError(OnnxExporterError):
    """The model uses operations that cannot be expressed in ONNX. The message lists all of them.

    >>> import pellucid as torch
    >>> import io
    >>> class Model(torch.nn.Module):
    ...     def forward(self, x):
    ...         return torch.linalg.svd(x).S
    >>> try:
    ...     torch.onnx.export(Model(), (torch.ones(2, 2),), io.BytesIO())
    ... except torch.onnx.OnnxExporterError as error:
    ...     print(type(error).__name__)
    UnsupportedOperatorError
    """
