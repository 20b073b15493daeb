"""The operators that ONNX files are run with, one file per family."""
