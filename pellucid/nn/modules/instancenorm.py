"""Instance normalization (see batchnorm, with which it shares its code)."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ...errors import ArgumentValueError, warn
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase, _refuse_dims

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    _dims = 0

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _check_input_dim(self, input: Tensor) -> None:
        _refuse_dims(input, self._get_no_batch_dim(), self._get_no_batch_dim() + 1)

    def _get_no_batch_dim(self) -> int:
        """The number of dimensions of a sample without a batch; code that derives from these
        classes overrides it.
        """
        return self._dims + 1

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        at = input.ndim - self._get_no_batch_dim()
        if input.shape[at] != self.num_features:
            text = f"expected input's size at dim={at} to match num_features ({self.num_features}), but got: {input.shape[at]}."
            if self.affine:
                raise ArgumentValueError(text)
            warn(
                f"input's size at dim={at} does not match num_features. You can silence this warning by not passing in num_features, "
                "which is not used because affine=False",
            )
        batch = input.unsqueeze(0) if at == 0 else input
        out = F.instance_norm(
            batch,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )
        return out.squeeze(0) if at == 0 else out

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
        version = local_metadata.get("version")
        if version is None and not self.track_running_stats:
            stale = [
                prefix + n for n in ("running_mean", "running_var") if prefix + n in state_dict
            ]
            if stale:
                names = " and ".join(f'"{k}"' for k in stale)
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {type(self).__name__} with track_running_stats=False. If state_dict "
                    "is a checkpoint saved before 0.4.0, this may be expected because InstanceNorm does not track running stats by "
                    "default since 0.4.0. Please remove these keys from state_dict."
                )
                for key in stale:
                    state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of (N, C, L) or (C, L): zero mean and unit variance per channel and
    sample.

    For each channel of each sample, with mean and variance over its spatial dimensions

        y = (x - mean) / sqrt(var + eps) * weight + bias

    where the variance is divided by the count, without correction. Training and evaluation mode do
    the same, unless running statistics are kept: then evaluation mode uses those.

    Args:
        num_features: number of channels, C.
        eps: added to the variance. Default: 1e-5.
        momentum: share of the new batch in the running statistics. Default: 0.1.
        affine: whether to learn scale and shift. Default: False.
        track_running_stats: whether to keep running statistics and use them in evaluation mode.
            Default: False.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.
        bias: whether to learn the shift, where `affine` is set. Default: True.

    Shape:
        input: `(N, C, L)` or `(C, L)`.
        result: as the input.

    Attributes:
        weight, bias: scale and shift, `(C,)`, initially 1 and 0; None with affine=False.
        running_mean, running_var: buffers `(C,)`; None with track_running_stats=False.

    Raises:
        ValueError: a wrong number of dimensions; with `affine`, a wrong number of channels; one
            spatial element in training mode.

    Source: Ulyanov, Vedaldi, Lempitsky, "Instance normalization: the missing ingredient for fast
    stylization", 2016.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.InstanceNorm1d(3)(torch.ones(2, 3, 5)).shape
        torch.Size([2, 3, 5])
    """

    _dims = 1


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of (N, C, H, W) or (C, H, W): zero mean and unit variance per channel
    and sample.

    For each channel of each sample, with mean and variance over its spatial dimensions

        y = (x - mean) / sqrt(var + eps) * weight + bias

    where the variance is divided by the count, without correction. Training and evaluation mode do
    the same, unless running statistics are kept: then evaluation mode uses those.

    Args:
        num_features: number of channels, C.
        eps: added to the variance. Default: 1e-5.
        momentum: share of the new batch in the running statistics. Default: 0.1.
        affine: whether to learn scale and shift. Default: False.
        track_running_stats: whether to keep running statistics and use them in evaluation mode.
            Default: False.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.
        bias: whether to learn the shift, where `affine` is set. Default: True.

    Shape:
        input: `(N, C, H, W)` or `(C, H, W)`.
        result: as the input.

    Attributes:
        weight, bias: scale and shift, `(C,)`, initially 1 and 0; None with affine=False.
        running_mean, running_var: buffers `(C,)`; None with track_running_stats=False.

    Raises:
        ValueError: a wrong number of dimensions; with `affine`, a wrong number of channels; one
            spatial element in training mode.

    Source: Ulyanov, Vedaldi, Lempitsky, "Instance normalization: the missing ingredient for fast
    stylization", 2016.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.InstanceNorm2d(3)(torch.ones(2, 3, 5, 5)).shape
        torch.Size([2, 3, 5, 5])
    """

    _dims = 2


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of (N, C, D, H, W) or (C, D, H, W): zero mean and unit variance per
    channel and sample.

    For each channel of each sample, with mean and variance over its spatial dimensions

        y = (x - mean) / sqrt(var + eps) * weight + bias

    where the variance is divided by the count, without correction. Training and evaluation mode do
    the same, unless running statistics are kept: then evaluation mode uses those.

    Args:
        num_features: number of channels, C.
        eps: added to the variance. Default: 1e-5.
        momentum: share of the new batch in the running statistics. Default: 0.1.
        affine: whether to learn scale and shift. Default: False.
        track_running_stats: whether to keep running statistics and use them in evaluation mode.
            Default: False.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.
        bias: whether to learn the shift, where `affine` is set. Default: True.

    Shape:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        result: as the input.

    Attributes:
        weight, bias: scale and shift, `(C,)`, initially 1 and 0; None with affine=False.
        running_mean, running_var: buffers `(C,)`; None with track_running_stats=False.

    Raises:
        ValueError: a wrong number of dimensions; with `affine`, a wrong number of channels; one
            spatial element in training mode.

    Source: Ulyanov, Vedaldi, Lempitsky, "Instance normalization: the missing ingredient for fast
    stylization", 2016.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.InstanceNorm3d(3)(torch.ones(2, 3, 5, 5, 5)).shape
        torch.Size([2, 3, 5, 5, 5])
    """

    _dims = 3


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """InstanceNorm1d whose `num_features` is inferred at the first call.

    Until then parameters and buffers have no shape. The first call creates them from dimension 1 of
    the input, and the module becomes a InstanceNorm1d.

    Args:
        eps, momentum, affine, track_running_stats: as in InstanceNorm1d; here both `affine` and
            `track_running_stats` are True by default.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.
        bias: whether to learn the shift, where `affine` is set. Default: True.

    Example:
        >>> import pellucid as torch
        >>> norm = torch.nn.LazyInstanceNorm1d()
        >>> norm(torch.ones(2, 4, 5)).shape, norm.num_features
        (torch.Size([2, 4, 5]), 4)
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """InstanceNorm2d whose `num_features` is inferred at the first call.

    Until then parameters and buffers have no shape. The first call creates them from dimension 1 of
    the input, and the module becomes a InstanceNorm2d.

    Args:
        eps, momentum, affine, track_running_stats: as in InstanceNorm2d; here both `affine` and
            `track_running_stats` are True by default.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.
        bias: whether to learn the shift, where `affine` is set. Default: True.

    Example:
        >>> import pellucid as torch
        >>> norm = torch.nn.LazyInstanceNorm2d()
        >>> norm(torch.ones(2, 4, 5, 5)).shape, norm.num_features
        (torch.Size([2, 4, 5, 5]), 4)
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """InstanceNorm3d whose `num_features` is inferred at the first call.

    Until then parameters and buffers have no shape. The first call creates them from dimension 1 of
    the input, and the module becomes a InstanceNorm3d.

    Args:
        eps, momentum, affine, track_running_stats: as in InstanceNorm3d; here both `affine` and
            `track_running_stats` are True by default.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.
        bias: whether to learn the shift, where `affine` is set. Default: True.

    Example:
        >>> import pellucid as torch
        >>> norm = torch.nn.LazyInstanceNorm3d()
        >>> norm(torch.ones(2, 4, 5, 5, 5)).shape, norm.num_features
        (torch.Size([2, 4, 5, 5, 5]), 4)
    """

    cls_to_become = InstanceNorm3d
