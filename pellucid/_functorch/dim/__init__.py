"""First-class dimensions (`functorch.dim`): objects that name dimensions of tensors. What is indexed
with one is a tensor that carries it; operations line up dimensions by object instead of position.

>>> import pellucid as torch
>>> from pellucid._functorch.dim import dims
>>> i, j, k = dims()
>>> a, b = torch.ones(2, 3), torch.ones(3, 4)
>>> (a[i, k] * b[k, j]).sum(k).order(i, j)
tensor([[3., 3., 3., 3.],
        [3., 3., 3., 3.]])
"""

from __future__ import annotations

from .indexing import index as index
from .joining import cat as cat
from .joining import split as split
from .joining import stack as stack
from .names import dimlists as dimlists
from .names import dims as dims
from .tensors import Dim as Dim
from .tensors import DimensionBindError as DimensionBindError
from .tensors import DimensionMismatchError as DimensionMismatchError
from .tensors import DimList as DimList
from .tensors import Tensor as Tensor
from .tensors import _Tensor as _Tensor
