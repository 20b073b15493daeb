"""DataParallel. A CPU is one device, so the module itself runs on it."""

from __future__ import annotations

from typing import Any

from ...errors import hinted
from ..modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Calls `module` unchanged: without several GPUs there is nothing to split a batch over.

    Names in the `state_dict` begin with "module.", as in PyTorch.

    >>> import pellucid as torch
    >>> model = torch.nn.DataParallel(torch.nn.Linear(2, 3))  # no accelerators: runs the module
    >>> model(torch.ones(4, 2)).shape
    torch.Size([4, 3])
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """`module(*inputs, **module_kwargs)`: there is nothing to divide a batch among.

    >>> import pellucid as torch
    >>> torch.nn.parallel.data_parallel(torch.nn.ReLU(), torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    if device_ids is not None:
        raise hinted(
            RuntimeError("device type could not be determined"),
            "there is no accelerator to name: leave device_ids out",
        )
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))
