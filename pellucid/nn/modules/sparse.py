"""Lookup tables: Embedding and EmbeddingBag."""

from __future__ import annotations

from typing import Any

from ...core.modes import no_grad
from ...core.tensor import Tensor
from .. import functional as F
from .. import init
from .._functions import T
from ..parameter import Parameter
from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


def _position(padding_idx: int | None, rows: int) -> int | None:
    if padding_idx is None:
        return None
    if padding_idx > 0:
        assert padding_idx < rows, "Padding_idx must be within num_embeddings"
    elif padding_idx < 0:
        assert padding_idx >= -rows, "Padding_idx must be within num_embeddings"
        return rows + padding_idx
    return padding_idx


class _Table(Module):
    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    weight: Any

    def _make(self, _weight: Tensor | None, _freeze: bool, device: Any, dtype: Any) -> None:
        if _weight is None:
            shape = (self.num_embeddings, self.embedding_dim)
            self.weight = Parameter(
                T.empty(shape, device=device, dtype=dtype), requires_grad=not _freeze
            )
            self.reset_parameters()
        else:
            assert list(_weight.shape) == [self.num_embeddings, self.embedding_dim], (
                "Shape of weight does not match num_embeddings and embedding_dim"
            )
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    def reset_parameters(self) -> None:
        """Draw new initial values: standard normal, zero at `padding_idx`."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """A lookup table: maps integers of any shape to rows of a learned matrix.

    Args:
        num_embeddings: number of rows; indices are 0 to num_embeddings - 1.
        embedding_dim: size of a row.
        padding_idx: a row that gets no gradient and starts as zeros; negative numbers count from
            the end. Default: None.
        max_norm: rows that are looked up are scaled down to this norm, in place; None: no bound.
            Default: None.
        norm_type: the p of that norm. Default: 2.
        scale_grad_by_freq: whether to divide each row's gradient by the number of times it was
            looked up. Default: False.
        sparse: whether the weight's gradient is a sparse tensor of the rows that were looked up.
            Use an optimizer that supports them: SGD, Adagrad or SparseAdam. Default: False.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Shape:
        input: indices of any shape `(*)`, int32 or int64.
        result: `(*, embedding_dim)`.

    Attributes:
        weight: `(num_embeddings, embedding_dim)`, initially standard normal.

    Raises:
        IndexError: an index out of range.
        AssertionError: `padding_idx` out of range.

    `Embedding.from_pretrained(matrix)` makes a table of given rows.

    Example:
        >>> import pellucid as torch
        >>> table = torch.nn.Embedding(10, 3, padding_idx=0)
        >>> table(torch.tensor([[1, 2, 4], [5, 9, 0]])).shape
        torch.Size([2, 3, 3])
        >>> table(torch.tensor(0))
        tensor([0., 0., 0.], grad_fn=<EmbeddingBackward0>)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _position(padding_idx, num_embeddings)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._make(_weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        if self.sparse:
            text += ", sparse=True"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Any:
        """A table with given rows, which are not trained when `freeze`."""
        assert embeddings.ndim == 2, "Embeddings parameter is expected to be 2-dimensional"
        rows, columns = embeddings.shape
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            embeddings,
            freeze,
        )


class EmbeddingBag(_Table):
    """Looks up rows of a table and reduces each bag of them to its sum, mean or maximum.

    It gives what Embedding and a reduction give, without the tensor of all rows between them.

    Args:
        num_embeddings: number of rows; indices are 0 to num_embeddings - 1.
        embedding_dim: size of a row.
        max_norm: rows that are looked up are scaled down to this norm, in place; None: no bound.
            Default: None.
        norm_type: the p of that norm. Default: 2.
        scale_grad_by_freq: whether to divide each row's gradient by the number of times it was
            looked up. Not with "max". Default: False.
        mode: "sum", "mean" or "max". Default: "mean".
        sparse: whether the weight's gradient is a sparse tensor of the rows that were looked up.
            Not with "max". Default: False.
        include_last_offset: whether the last offset is the end of the last bag. Default: False.
        padding_idx: a row that gets no gradient and is left out of the bags. Default: None.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Call it as `layer(input, offsets, per_sample_weights)`; the weights are for "sum" only.

    Shape:
        input: `(B, N)`, B bags of N indices, or `(N,)` with the starts of the bags in `offsets`;
            int32 or int64.
        offsets: `(B,)`; `(B + 1,)` with `include_last_offset`.
        per_sample_weights: as the input.
        result: `(B, embedding_dim)`; an empty bag gives zeros.

    Attributes:
        weight: `(num_embeddings, embedding_dim)`, initially standard normal.

    Raises:
        ValueError: an unknown mode; offsets with a 2-d input, or none with a 1-d one.

    `EmbeddingBag.from_pretrained(matrix)` makes a table of given rows.

    Example:
        >>> import pellucid as torch
        >>> bags = torch.nn.EmbeddingBag.from_pretrained(torch.eye(3), mode="sum")
        >>> bags(torch.tensor([0, 1, 2, 2]), torch.tensor([0, 2]))
        tensor([[1., 1., 0.],
                [0., 0., 2.]])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = _position(padding_idx, num_embeddings)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._make(_weight, False, device, dtype)

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        text += f", mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Any:
        """A table with given rows, which are not trained when `freeze`."""
        assert embeddings.ndim == 2, "Embeddings parameter is expected to be 2-dimensional"
        rows, columns = embeddings.shape
        made = cls(
            rows,
            columns,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        made.weight.requires_grad = not freeze
        return made
