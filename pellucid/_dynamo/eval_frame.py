"""The class of compiled modules, where libraries look for it."""

from ..compiler import OptimizedModule

__all__ = ["OptimizedModule"]
