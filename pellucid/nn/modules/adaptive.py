"""Adaptive softmax, for a very large number of classes with very different frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ...core.tensor import Tensor
from ...errors import ArgumentValueError, OperationError
from .. import functional as F
from .._functions import T
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    """Log-probabilities of the targets, and their negative mean."""

    output: Tensor
    loss: Tensor


_ASMoutput.__name__ = "ASMoutput"


class AdaptiveLogSoftmaxWithLoss(Module):
    """Softmax over many classes: frequent classes in a head, rarer ones in clusters of decreasing
    width.

    The head has the frequent classes and one entry for each cluster; a cluster is computed only for
    the samples whose class is in it.

    Args:
        in_features: width of the input.
        n_classes: number of classes, sorted by frequency: class 0 is the most frequent one.
        cutoffs: the classes at which the clusters begin, ascending, between 1 and n_classes - 1.
        div_value: each cluster is this many times narrower than the one before. Default: 4.
        head_bias: whether the head has a bias. Default: False.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Call it as `layer(input, target)`. `log_prob(input)` gives all log-probabilities,
    `predict(input)` the most probable classes.

    Shape:
        input: `(N, in_features)` or `(in_features,)`.
        target: class indices, int64, `(N,)` or `()`.
        result: a named tuple of `output`, the log-probabilities of the targets, `(N,)` or `()`, and
            `loss`, their negative mean.

    Raises:
        ValueError: cutoffs that are not ascending or out of range.
        RuntimeError: targets out of range, or shapes that do not fit.

    Source: Grave et al., "Efficient softmax approximation for GPUs", 2016.

    Example:
        >>> import pellucid as torch
        >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(64, 20, cutoffs=[4, 10])
        >>> layer(torch.ones(3, 64), torch.tensor([0, 5, 19])).output.shape
        torch.Size([3])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ArgumentValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(cutoffs)
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or len(set(cutoffs)) != len(cutoffs)
            or any(int(c) != c for c in cutoffs)
        ):
            raise ArgumentValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 "
                "and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **kwargs)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // (div_value ** (i + 1)))
            classes = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, **kwargs),
                    Linear(width, classes, bias=False, **kwargs),
                )
            )

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        self.head.reset_parameters()
        tail: Any = self.tail
        for first, second in tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """Log-probabilities of the targets and the mean loss; (N, in_features) and (N,), or one
        sample.
        """
        if target_.ndim > 1:
            raise OperationError("0D or 1D target tensor expected, multi-target not supported")
        if target_.ndim == 1:
            if input_.shape[0] != target_.shape[0]:
                raise OperationError(
                    "Input and target should have the same size in the batch dimension."
                )
            if input_.ndim != 2:
                raise OperationError(
                    f"1D target tensor expects 2D input tensors, but found inputs with size {input_.shape}"
                )
        elif input_.ndim != 1:
            raise OperationError(
                f"0D target tensor expects 1D input tensors, but found inputs with size {input_.shape}"
            )
        batched = target_.ndim == 1
        x: Any = input_ if batched else input_.unsqueeze(0)
        target: Any = target_ if batched else target_.unsqueeze(0)
        bounds = [0, *self.cutoffs]
        if target.numel() and (int(target.min()) < 0 or int(target.max()) >= self.n_classes):
            raise OperationError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                f"{target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(x), dim=1)
        # In the head, a class of a cluster is represented by its cluster.
        place = target.clone()
        output = T.zeros(target.shape[0], dtype=head.dtype)
        for i, (low, high) in enumerate(pairwise(bounds[1:])):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            scores = F.log_softmax(self.tail[i](x.index_select(0, rows)), dim=1)
            chosen = scores.gather(1, (target.index_select(0, rows) - low).unsqueeze(1)).squeeze(1)
            output = output.index_copy(0, rows, chosen)
            place[rows] = self.shortlist_size + i
        output = output + head.gather(1, place.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _full(self, x: Any, head_output: Any) -> Any:
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(tail(x), dim=1) + cluster)
        return T.cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """Log-probabilities of all classes: (N, n_classes)."""
        return self._full(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each sample; tails are computed only where they may win."""
        head = self.head(input)
        output = T.argmax(head, dim=1)
        rare = output >= self.shortlist_size
        if not rare.any():
            return output
        if rare.all():
            return T.argmax(self._full(input, head), dim=1)
        output[rare] = T.argmax(self._full(input[rare], head[rare]), dim=1)
        return output
