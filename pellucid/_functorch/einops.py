"""`functorch.einops`: `rearrange` under the name that `functorch` has it by."""

from ..func import rearrange as rearrange

__all__ = ["rearrange"]
