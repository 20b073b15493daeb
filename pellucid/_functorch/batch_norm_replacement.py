"""`torch._functorch.batch_norm_replacement`: batch normalizations without running statistics."""

from __future__ import annotations

from ..func import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from ..nn import Module
from ..nn.modules.batchnorm import _BatchNorm


def batch_norm_without_running_stats(module: Module) -> None:
    """A batch normalization takes the statistics of its batch from now on; other modules stay as
    they are.
    """
    if isinstance(module, _BatchNorm):
        replace_all_batch_norm_modules_(module)
