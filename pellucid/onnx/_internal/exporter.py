"""`torch.onnx._internal.exporter`."""

from ..program import ONNXProgram as ONNXProgram
