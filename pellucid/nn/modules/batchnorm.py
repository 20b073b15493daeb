"""Batch normalization, and what instance normalization shares with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...core.modes import no_grad
from ...core.tensor import Tensor, make_tensor
from ...errors import ArgumentValueError
from .. import functional as F
from .. import init
from .._functions import T
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Parameters, running statistics and loading of both kinds of normalization."""

    _version = 2
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = Parameter(T.empty(num_features, device=device, dtype=dtype))
            self.register_parameter(
                "bias",
                Parameter(T.empty(num_features, device=device, dtype=dtype)) if bias else None,
            )
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)
        if track_running_stats:
            self.register_buffer("running_mean", T.zeros(num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", T.ones(num_features, device=device, dtype=dtype))
            self.register_buffer(
                "num_batches_tracked", T.tensor(0, dtype=dtypes.int64, device=device)
            )
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batches seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the statistics; weight 1, bias 0."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        """Refuse an input with the wrong number of dimensions; defined by the subclass."""
        raise NotImplementedError(f"{type(self).__name__} does not say which inputs it takes")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        key = prefix + "num_batches_tracked"
        old = local_metadata.get("version")
        if (old is None or old < 2) and self.track_running_stats and key not in state_dict:
            # Files from before this buffer existed.
            own = self.num_batches_tracked
            state_dict[key] = (
                own if own is not None and not own.is_meta else make_tensor(np.zeros((), np.int64))
            )
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        training = self.training
        mean, var = self.running_mean, self.running_var
        if training and self.track_running_stats and self.num_batches_tracked is not None:
            counter = self.num_batches_tracked
            counter.add_(1)
            if self.momentum is None:  # a plain mean over all batches
                factor = 1.0 / float(counter)
        batch_statistics = training or (mean is None and var is None)
        if training and not self.track_running_stats:
            mean = var = None
        return F.batch_norm(
            input, mean, var, self.weight, self.bias, batch_statistics, factor, self.eps
        )


def _refuse_dims(input: Tensor, *allowed: int) -> None:
    if input.ndim not in allowed:
        raise ArgumentValueError(
            f"expected {' or '.join(f'{n}D' for n in allowed)} input (got {input.ndim}D input)"
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalization of (N, C) or (N, C, L): zero mean and unit variance for each channel,
    then a learned scale and shift.

    For each channel, with mean and variance over all other dimensions

        y = (x - mean) / sqrt(var + eps) * weight + bias

    In training mode, mean and variance are those of the batch (the variance divided by the count,
    without correction), and the running statistics move towards them:
    `running = (1 - momentum) * running + momentum * batch`, with the unbiased variance. In
    evaluation mode (`eval()`), the running statistics are used and stay as they are.

    Args:
        num_features: number of channels, C.
        eps: added to the variance, so that the division is safe. Default: 1e-5.
        momentum: share of the new batch in the running statistics; None: plain mean over all
            batches. Default: 0.1.
        affine: whether to learn scale and shift. Default: True.
        track_running_stats: whether to keep running statistics. Without them evaluation mode uses
            those of the batch, too. Default: True.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.
        bias: whether to learn the shift, where `affine` is set. Default: True.

    Shape:
        input: `(N, C)` or `(N, C, L)`.
        result: as the input.

    Attributes:
        weight, bias: scale and shift, `(C,)`, initially 1 and 0; None with affine=False.
        running_mean, running_var: buffers `(C,)`, initially 0 and 1; None with
            track_running_stats=False.
        num_batches_tracked: int64 buffer, the number of batches seen in training mode.

    Raises:
        ValueError: the input's number of dimensions is neither 2 nor 3; in training mode, a channel
            has only one value.
        RuntimeError: the input does not have C channels.

    Source: Ioffe, Szegedy, "Batch normalization: accelerating deep network training by reducing
    internal covariate shift", 2015.

    Example:
        >>> import pellucid as torch
        >>> norm = torch.nn.BatchNorm1d(3)
        >>> norm(torch.ones(4, 3)).shape, norm.running_mean
        (torch.Size([4, 3]), tensor([0.1000, 0.1000, 0.1000]))
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _refuse_dims(input, 2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of (N, C, H, W): zero mean and unit variance for each channel, then a
    learned scale and shift.

    For each channel, with mean and variance over all other dimensions

        y = (x - mean) / sqrt(var + eps) * weight + bias

    In training mode, mean and variance are those of the batch (the variance divided by the count,
    without correction), and the running statistics move towards them:
    `running = (1 - momentum) * running + momentum * batch`, with the unbiased variance. In
    evaluation mode (`eval()`), the running statistics are used and stay as they are.

    Args:
        num_features: number of channels, C.
        eps: added to the variance, so that the division is safe. Default: 1e-5.
        momentum: share of the new batch in the running statistics; None: plain mean over all
            batches. Default: 0.1.
        affine: whether to learn scale and shift. Default: True.
        track_running_stats: whether to keep running statistics. Without them evaluation mode uses
            those of the batch, too. Default: True.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.
        bias: whether to learn the shift, where `affine` is set. Default: True.

    Shape:
        input: `(N, C, H, W)`.
        result: as the input.

    Attributes:
        weight, bias: scale and shift, `(C,)`, initially 1 and 0; None with affine=False.
        running_mean, running_var: buffers `(C,)`, initially 0 and 1; None with
            track_running_stats=False.
        num_batches_tracked: int64 buffer, the number of batches seen in training mode.

    Raises:
        ValueError: the input's number of dimensions is not 4; in training mode, a channel has only
            one value.
        RuntimeError: the input does not have C channels.

    Source: Ioffe, Szegedy, "Batch normalization: accelerating deep network training by reducing
    internal covariate shift", 2015.

    Example:
        >>> import pellucid as torch
        >>> norm = torch.nn.BatchNorm2d(3)
        >>> norm(torch.ones(4, 3, 2, 2)).shape, norm.running_mean
        (torch.Size([4, 3, 2, 2]), tensor([0.1000, 0.1000, 0.1000]))
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _refuse_dims(input, 4)


class BatchNorm3d(_BatchNorm):
    """Batch normalization of (N, C, D, H, W): zero mean and unit variance for each channel, then a
    learned scale and shift.

    For each channel, with mean and variance over all other dimensions

        y = (x - mean) / sqrt(var + eps) * weight + bias

    In training mode, mean and variance are those of the batch (the variance divided by the count,
    without correction), and the running statistics move towards them:
    `running = (1 - momentum) * running + momentum * batch`, with the unbiased variance. In
    evaluation mode (`eval()`), the running statistics are used and stay as they are.

    Args:
        num_features: number of channels, C.
        eps: added to the variance, so that the division is safe. Default: 1e-5.
        momentum: share of the new batch in the running statistics; None: plain mean over all
            batches. Default: 0.1.
        affine: whether to learn scale and shift. Default: True.
        track_running_stats: whether to keep running statistics. Without them evaluation mode uses
            those of the batch, too. Default: True.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.
        bias: whether to learn the shift, where `affine` is set. Default: True.

    Shape:
        input: `(N, C, D, H, W)`.
        result: as the input.

    Attributes:
        weight, bias: scale and shift, `(C,)`, initially 1 and 0; None with affine=False.
        running_mean, running_var: buffers `(C,)`, initially 0 and 1; None with
            track_running_stats=False.
        num_batches_tracked: int64 buffer, the number of batches seen in training mode.

    Raises:
        ValueError: the input's number of dimensions is not 5; in training mode, a channel has only
            one value.
        RuntimeError: the input does not have C channels.

    Source: Ioffe, Szegedy, "Batch normalization: accelerating deep network training by reducing
    internal covariate shift", 2015.

    Example:
        >>> import pellucid as torch
        >>> norm = torch.nn.BatchNorm3d(3)
        >>> norm(torch.ones(4, 3, 2, 2, 2)).shape, norm.running_mean
        (torch.Size([4, 3, 2, 2, 2]), tensor([0.1000, 0.1000, 0.1000]))
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _refuse_dims(input, 5)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization of (N, C, ...) with the mean and variance over the batches of all ranks.

    Without a process group, in evaluation, and for a group of one rank it is ordinary batch
    normalization. The batches may differ in size. Gradients flow through the statistics to all
    ranks; every rank has to call forward and backward as often as the others.

    Args:
        num_features: number of channels, C.
        eps: added to the variance. Default: 1e-5.
        momentum: share of the new batch in the running statistics; None: plain mean over all
            batches. Default: 0.1.
        affine: whether to learn scale and shift. Default: True.
        track_running_stats: whether to keep running statistics. Default: True.
        process_group: the ranks that share their statistics; None: all of them.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.
        bias: whether to learn the shift, where `affine` is set. Default: True.

    Shape:
        input: `(N, C, ...)`, with at least two dimensions.
        result: as the input.

    Raises:
        ValueError: the input has fewer than two dimensions.

    Source: Peng et al., "MegDet: a large mini-batch object detector", 2018.

    Example:
        >>> import pellucid as torch
        >>> net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8))
        >>> type(torch.nn.SyncBatchNorm.convert_sync_batchnorm(net)[1]).__name__
        'SyncBatchNorm'
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ArgumentValueError(f"expected at least 2D input (got {input.ndim}D input)")

    def forward(self, input: Tensor) -> Tensor:
        from ... import distributed as dist

        statistics = self.training or (self.running_mean is None and self.running_var is None)
        if (
            not (statistics and dist.is_initialized())
            or dist.get_world_size(self.process_group) == 1
        ):
            return super().forward(input)
        self._check_input_dim(input)
        x: Any = input
        axes = [0, *range(2, x.ndim)]
        over = [1, -1, *[1] * (x.ndim - 2)]
        # In float32 at least, and in two steps: the difference of a mean square and a squared mean
        # would lose digits.
        wide = x.float() if x.dtype in (dtypes.float16, dtypes.bfloat16) else x
        count = T.tensor([x.numel() / max(x.shape[1], 1)], dtype=dtypes.float64)
        dist.all_reduce(count, group=self.process_group)
        n = float(count)
        mean = dist.nn.all_reduce(wide.sum(axes), group=self.process_group) / n
        centered = wide - mean.reshape(over)
        var = dist.nn.all_reduce((centered * centered).sum(axes), group=self.process_group) / n
        if self.training and self.track_running_stats:
            with no_grad():
                self.num_batches_tracked.add_(1)
                share = (
                    1.0 / float(self.num_batches_tracked)
                    if self.momentum is None
                    else self.momentum
                )
                self.running_mean.mul_(1 - share).add_(
                    mean.to(self.running_mean.dtype), alpha=share
                )
                self.running_var.mul_(1 - share).add_(
                    (var * (n / max(n - 1, 1))).to(self.running_var.dtype), alpha=share
                )
        result = centered * (var + self.eps).rsqrt().reshape(over)
        if self.weight is not None:
            result = result * self.weight.reshape(over)
        if self.bias is not None:
            result = result + self.bias.reshape(over)
        return result.to(x.dtype)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with all its batch normalizations replaced by SyncBatchNorm."""
        result = module
        if isinstance(module, _BatchNorm):
            made = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
            )
            if module.affine:
                made.weight, made.bias = module.weight, module.bias
            made.running_mean, made.running_var = module.running_mean, module.running_var
            made.num_batches_tracked = module.num_batches_tracked
            made.training = module.training
            result = made
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


class _LazyNormBase(LazyModuleMixin):
    """A normalization whose `num_features` is that of the first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False)
        self.affine: Any = affine
        self.track_running_stats: Any = track_running_stats
        me: Any = self
        if affine:
            me.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                me.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            me.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            me.running_var = UninitializedBuffer(device=device, dtype=dtype)
            me.num_batches_tracked = make_tensor(np.zeros((), np.int64))

    def reset_parameters(self) -> None:
        """Nothing before the first call; afterwards as in the ordinary module."""
        if not self.has_uninitialized_params() and self.num_features != 0:  # type: ignore[attr-defined]
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor) -> None:
        """Take the number of channels from the input."""
        if not self.has_uninitialized_params():
            return
        me: Any = self
        me.num_features = input.shape[1]
        if self.affine:
            me.weight.materialize((me.num_features,))
            if me.bias is not None:
                me.bias.materialize((me.num_features,))
        if self.track_running_stats:
            me.running_mean.materialize((me.num_features,))
            me.running_var.materialize((me.num_features,))
        me.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """BatchNorm1d whose `num_features` is inferred at the first call.

    Until then parameters and buffers have no shape. The first call creates them from dimension 1 of
    the input, and the module becomes a BatchNorm1d.

    Args:
        eps, momentum, affine, track_running_stats: as in BatchNorm1d; here both `affine` and
            `track_running_stats` are True by default.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.
        bias: whether to learn the shift, where `affine` is set. Default: True.

    Example:
        >>> import pellucid as torch
        >>> norm = torch.nn.LazyBatchNorm1d()
        >>> norm(torch.ones(2, 4, 5)).shape, norm.num_features
        (torch.Size([2, 4, 5]), 4)
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """BatchNorm2d whose `num_features` is inferred at the first call.

    Until then parameters and buffers have no shape. The first call creates them from dimension 1 of
    the input, and the module becomes a BatchNorm2d.

    Args:
        eps, momentum, affine, track_running_stats: as in BatchNorm2d; here both `affine` and
            `track_running_stats` are True by default.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.
        bias: whether to learn the shift, where `affine` is set. Default: True.

    Example:
        >>> import pellucid as torch
        >>> norm = torch.nn.LazyBatchNorm2d()
        >>> norm(torch.ones(2, 4, 5, 5)).shape, norm.num_features
        (torch.Size([2, 4, 5, 5]), 4)
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """BatchNorm3d whose `num_features` is inferred at the first call.

    Until then parameters and buffers have no shape. The first call creates them from dimension 1 of
    the input, and the module becomes a BatchNorm3d.

    Args:
        eps, momentum, affine, track_running_stats: as in BatchNorm3d; here both `affine` and
            `track_running_stats` are True by default.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.
        bias: whether to learn the shift, where `affine` is set. Default: True.

    Example:
        >>> import pellucid as torch
        >>> norm = torch.nn.LazyBatchNorm3d()
        >>> norm(torch.ones(2, 4, 5, 5, 5)).shape, norm.num_features
        (torch.Size([2, 4, 5, 5, 5]), 4)
    """

    cls_to_become = BatchNorm3d
