"""How tensors are printed, under the names of `torch._tensor_str`. Classes that print themselves
are made of these parts.
"""

from __future__ import annotations

import numpy as np

from .api.display import _repr
from .core.display.formatting import OPTIONS as PRINT_OPTS
from .core.display.formatting import _body, _join
from .core.display.formatting import get_printoptions as get_printoptions
from .core.display.formatting import printoptions as printoptions
from .core.display.formatting import set_printoptions as set_printoptions
from .core.modes import no_grad
from .core.tensor import Tensor

__all__ = ["PRINT_OPTS", "get_printoptions", "printoptions", "set_printoptions"]


def _tensor_str(self: Tensor, indent: int) -> str:
    """The elements in brackets, `[]` where there are none; `indent` is the column of the first
    bracket.

    >>> import pellucid as torch
    >>> _tensor_str(torch.tensor([[1.0, 2.5], [3.0, 4.0]]), 1)
    '[[1.0000, 2.5000],\\n  [3.0000, 4.0000]]'
    """
    with no_grad():
        return (
            _body(self.detach().resolve_conj()._array, indent, np.asarray) if self.numel() else "[]"
        )


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """The text with `, suffix` for each of them and a bracket that closes, in lines of the width of
    the print options.

    >>> _add_suffixes("ab([1]", ["x=1"], 3, False)
    'ab([1], x=1)'
    """
    return _join(tensor_str, suffixes, indent, force_newline)


def _str_intern(inp: Tensor, *, tensor_contents: str | None = None) -> str:
    """What a tensor prints as, whatever its class says of itself; `tensor_contents` stands in the
    place of its elements.
    """
    return _repr(inp, tensor_contents=tensor_contents)


def _str(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """As `_str_intern`, while nothing is recorded."""
    with no_grad():
        return _str_intern(self, tensor_contents=tensor_contents)
