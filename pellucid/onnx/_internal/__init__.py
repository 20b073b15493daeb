"""`torch.onnx._internal`: where libraries look for classes that moved."""

from . import exporter as exporter
