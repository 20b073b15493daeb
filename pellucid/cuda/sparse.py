"""`torch.cuda.sparse`: classes of sparse tensors on a device, of which no tensor here is one."""

from __future__ import annotations

from ..core.tensor import Tensor as _Tensor
from ..errors import no_cuda as _no_cuda


class _OnDevice(type):
    """Classes by PyTorch's names: `isinstance` is false, calling one raises PyTorch's error."""

    def __call__(cls, *args: object, **kwargs: object) -> _Tensor:
        raise _no_cuda()


for _kind in "BFloat16 Byte Char Double Float Half Int Long Short".split():
    globals()[f"{_kind}Tensor"] = _OnDevice(f"{_kind}Tensor", (), {"__module__": __name__})
