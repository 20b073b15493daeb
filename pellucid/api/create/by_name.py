"""Dtypes by the names of the old classes of tensors: `"torch.FloatTensor"`."""

from __future__ import annotations

from typing import Any, cast

from ... import dtypes
from ...core.tensor import Tensor
from ...errors import CUDA_HINT, ArgumentTypeError, ArgumentValueError, hinted

TYPE_NAMES = {kind: f"{kind.scalar_type_name}Tensor" for kind in dtypes.ALL}


def of_type(kind: Any) -> dtypes.dtype:
    """The dtype of a class of tensors, or of its name. The layout that it stands for is not asked."""
    if isinstance(kind, type):
        name = kind.__name__
        if kind is Tensor:
            return dtypes.get_default_dtype()
        if hasattr(kind, "tensor_dtype"):
            return cast(dtypes.dtype, kind.tensor_dtype)
        if getattr(kind, "is_cuda", False) is True:
            raise no_cuda_library()
    elif isinstance(kind, (str, bytes)):
        name = kind if isinstance(kind, str) else kind.decode()
        if name == "torch.Tensor":
            return dtypes.get_default_dtype()
        if name.startswith("torch.cuda."):
            raise no_cuda_library()
        plain = name.replace("torch.sparse.", "torch.", 1)
        for dtype, own in TYPE_NAMES.items():
            if plain == f"torch.{own}":
                return dtype
    else:
        raise ArgumentTypeError("dtype must be a type, str, or dtype object")
    raise ArgumentValueError(f"invalid type: '{name}'")


def no_cuda_type(kind: type) -> Exception:
    """PyTorch's error where a class of tensors on such a device is called."""
    where = kind.__module__.partition(".")[2]
    return hinted(
        TypeError(
            f"type torch.{where}.{kind.__name__} not available. Torch not compiled with CUDA enabled."
        ),
        CUDA_HINT,
    )


def no_cuda_library() -> Exception:
    """PyTorch's error where a tensor is converted to such a type."""
    return hinted(
        RuntimeError(
            "Cannot initialize CUDA without ATen_cuda library. PyTorch splits its backend into two shared libraries: a CPU library and "
            "a CUDA library; this error has occurred because you are trying to use some CUDA functionality, but the CUDA library has "
            "not been loaded by the dynamic linker for some reason.  The CUDA library MUST be loaded, EVEN IF you don't directly use "
            "any symbols from the CUDA library! One common culprit is a lack of -Wl,--no-as-needed in your link arguments; many "
            "dynamic linkers will delete dynamic library dependencies if you don't depend on any of their symbols.  You can check if "
            "this has occurred by using ldd on your binary to see if there is a dependency on *_cuda.so library."
        ),
        CUDA_HINT,
    )
