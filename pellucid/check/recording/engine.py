"""The two engines that programs are watched on: Pellucid itself, and PyTorch where it is installed.

The recorder speaks to both through PyTorch's interface. What differs, facts of a tensor that are
read thousands of times a second and places inside the library, is here.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import numpy as np

from ...api import overriding
from ...core.display.assigned import place
from ...core.modes import local
from ...core.tape import count
from ...core.tensor import Tensor, version_of
from ...dtypes import BY_NUMPY
from .signatures import PROPERTIES, SILENT


def _folder(module: Any) -> str:
    return os.path.dirname(os.path.abspath(module.__file__)) + os.sep


class PellucidEngine:
    """Pellucid: facts are read from the tensors' own slots."""

    name = "pellucid"
    Tensor: Any = Tensor

    def __init__(self) -> None:
        self.torch: Any = sys.modules[__name__.partition(".")[0]]
        self.recorder: Any = None
        self.iterator_class = importlib.import_module(
            ".data.loading.iterators", self.torch.__name__
        )._BaseDataLoaderIter
        self.root = _folder(self.torch)
        # frames between a call and the function mode
        self.machinery = frozenset({overriding.__file__})

    def facts(self, t: Any) -> tuple[tuple[int, ...], Any, bool, bool, int]:
        """(shape, dtype, requires_grad, is_leaf, version)."""
        array = t._array
        return array.shape, array.dtype, t._rg, t._node is None, self.version(t)

    def version(self, t: Any) -> int:
        """The write counter."""
        if t._x is not None and t._x.get("inference"):
            return 0
        return version_of(t).count  # made now if need be: from here on writes are counted

    def started(self) -> None:
        """While a function mode is active Tensor's methods and properties ask it. Those that tell
        nothing need not.
        """
        for name, original in overriding._saved.items():
            if isinstance(original, property):
                if name not in PROPERTIES and name != "grad":
                    asking = vars(Tensor)[name]
                    place(
                        Tensor,
                        name,
                        property(original.fget, asking.fset, original.fdel, original.__doc__),
                    )
            elif name in SILENT:
                place(Tensor, name, original)

    def raw(self) -> None:
        """A context manager in which no function mode is asked, or None where facts are read past
        them anyway.
        """
        return None

    def requires_grad(self, t: Any) -> bool:
        """Whether operations on the tensor are recorded for backward."""
        return t._rg

    def dtype_name(self, kind: Any) -> str:
        """ "float32" and so on."""
        return BY_NUMPY[kind].name

    def grad(self, t: Any) -> Any:
        """`.grad`, without the warning for other tensors than leaves."""
        return t._grad

    def base(self, t: Any) -> Any:
        """The tensor that this one is a view of, or None."""
        return None if t._view is None else t._view.base

    def array(self, t: Any) -> Any:
        """The elements as a NumPy array, low precision as float32; None without data."""
        array = t._array
        if type(array) is not np.ndarray:
            return None
        return array.astype(np.float32) if array.dtype.kind == "V" else array

    def grad_enabled(self) -> bool:
        """Whether operations are recorded now."""
        return local.grad

    def position(self) -> int:
        """A number that grows by one with each call, and with each operation that is recorded for
        backward.
        """
        return count()

    def below(self, mode: Any) -> Any:
        """The function modes that are active besides `mode`, which is the innermost; else None.
        With None: all that are active.
        """
        modes = local.function_modes
        if mode is None:
            return modes
        return modes[:-1] if modes and modes[-1] is mode else None


class TorchEngine:
    """PyTorch, as it is installed."""

    name = "torch"

    def __init__(self) -> None:
        self.torch: Any = importlib.import_module("torch")
        if self.torch.__name__ != "torch":
            raise ImportError("in this process `import torch` already means Pellucid")
        self.Tensor: Any = self.torch.Tensor
        self.recorder: Any = None
        self.iterator_class = importlib.import_module(
            "torch.utils.data.dataloader"
        )._BaseDataLoaderIter
        self.root = _folder(self.torch)
        self.machinery = frozenset(
            os.path.join(self.root, name) for name in ("overrides.py", "_tensor.py")
        )
        self.grad_enabled = self.torch.is_grad_enabled
        self.raw = self.torch._C.DisableTorchFunction  # no function mode is asked inside
        self._names: dict[Any, str] = {}
        self._calls = 0

    def facts(self, t: Any) -> tuple[tuple[int, ...], Any, bool, bool, int]:
        """(shape, dtype, requires_grad, is_leaf, version)."""
        try:
            wants, leaf = t.requires_grad, t.is_leaf
        except RuntimeError:  # a view whose place in the graph PyTorch refuses to work out
            wants, leaf = True, False
        return tuple(t.shape), t.dtype, wants, leaf, self.version(t)

    def version(self, t: Any) -> int:
        """The write counter."""
        return 0 if t.is_inference() else t._version

    def started(self) -> None:
        """Nothing is to be done when a function mode has begun."""

    def position(self) -> int:
        """A number that grows by one with each call, and with each operation that is recorded for
        backward.
        """
        self._calls += 1
        return self._calls + self.torch.autograd._get_sequence_nr()

    def below(self, mode: Any) -> Any:
        """The function modes that are active besides `mode`, which is the innermost; else None.
        With None: all that are active.
        """
        modes = tuple(self.torch.overrides._get_current_function_mode_stack())
        if mode is None:
            return modes
        return modes[:-1] if modes and modes[-1] is mode else None

    def requires_grad(self, t: Any) -> bool:
        """Whether operations on the tensor are recorded for backward."""
        try:
            return t.requires_grad
        except RuntimeError:
            return True

    def dtype_name(self, kind: Any) -> str:
        """ "float32" and so on."""
        name = self._names.get(kind)
        if name is None:
            name = self._names[kind] = str(kind).removeprefix("torch.")
        return name

    def grad(self, t: Any) -> Any:
        """`.grad`, without the warning for other tensors than leaves."""
        return t.grad if t.is_leaf or t.retains_grad else None

    def base(self, t: Any) -> Any:
        """The tensor that this one is a view of, or None."""
        return t._base

    def array(self, t: Any) -> Any:
        """The elements as a NumPy array, low precision as float32; None without data."""
        t = t.detach()
        if t.device.type == "meta" or t.is_sparse or t.layout != self.torch.strided:
            return None
        if t.dtype not in _NUMPY:
            t = t.float()
        # By DLPack: `numpy()` would forbid the program to resize the tensor later, as observers of
        # torch.ao.quantization do.
        return np.from_dlpack(t.cpu().resolve_conj().resolve_neg())


class _NumpyDtypes:
    """Which of PyTorch's dtypes NumPy has."""

    _known = {
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "bool",
        "complex64",
        "complex128",
    }

    def __contains__(self, dtype: Any) -> bool:
        return str(dtype).removeprefix("torch.") in self._known


_NUMPY = _NumpyDtypes()


def load_engine(name: str) -> Any:
    """The engine of that name.

    Raises:
        ImportError: PyTorch is not installed, or is Pellucid in this process.
        ValueError: there is no such engine.
    """
    if name == "pellucid":
        return PellucidEngine()
    if name == "torch":
        return TorchEngine()
    raise ValueError(f"engine must be 'pellucid' or 'torch', not {name!r}")
