"""Programs that leave the library: recorded graphs that are stored and run again, and ONNX files."""

from .program import Dim, ExportedProgram, ExportGraphSignature, GraphModule, export
from .storage import load, save

__all__ = [
    "Dim",
    "ExportGraphSignature",
    "ExportedProgram",
    "GraphModule",
    "export",
    "load",
    "save",
]
