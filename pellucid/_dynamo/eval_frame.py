"""The class of compiled modules, where libraries look for it."""

from ..compiler import OptimizedModule

__all__ = ["OptimizedModule", "is_dynamo_supported"]


def is_dynamo_supported() -> bool:
    """True: `torch.compile` is there."""
    return True
