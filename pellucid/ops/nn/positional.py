"""Network operations whose argument order in `torch.name` differs from that in
`torch.nn.functional.name`.

Every argument is positional and required, as in PyTorch's operator table. Reductions and modes are
given as numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...arrays.halves import HALVES
from ...core.inplace import inplace_form
from ...core.primitive import TENSORS as F
from ...core.public import FUNCTIONS, public
from ...core.tape import named_type, titled
from ...core.tensor import Tensor
from ...core.transforms.arranging import together
from ...core.transforms.whole import one_node
from ...errors import DtypeError, OperationError, ShapeError, UnsupportedError
from ...shapes import broadcast_shapes
from .._rules import require_tensor
from . import conv as nn_conv
from . import dropout as nn_dropout
from . import embedding as nn_embedding
from . import grid as nn_grid
from . import linear as nn_linear
from .loss._reduction import numbered, reduce_loss
from .loss.binary import binary_cross_entropy_with_logits
from .loss.distance import cosine_embedding_loss, triplet_margin_loss
from .loss.likelihood import kl_div, poisson_nll_loss
from .loss.margin import hinge_embedding_loss, ranked
from .norm.batch import batch_norm
from .norm.group import group_norm
from .norm.instance import instance_norm
from .norm.layer import layer_norm
from .pool.adaptive import adaptive_max_pool1d

Maybe = Tensor | None
_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


# ---- normalization ----------------------------------------------------------------------------
@public(names="batch_norm")
def _batch_norm(
    input: Tensor,
    weight: Maybe,
    bias: Maybe,
    running_mean: Maybe,
    running_var: Maybe,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`nn.functional.batch_norm`, weight and bias first.

    >>> import pellucid as torch
    >>> x = torch.tensor([[1.0], [3.0]])
    >>> torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    return batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@public(names="instance_norm")
def _instance_norm(
    input: Tensor,
    weight: Maybe,
    bias: Maybe,
    running_mean: Maybe,
    running_var: Maybe,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`nn.functional.instance_norm`, weight and bias first.

    >>> import pellucid as torch
    >>> x = torch.tensor([[[1.0, 3.0]]])
    >>> torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False)
    tensor([[[-1.0000,  1.0000]]])
    """
    return instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


@public(names="layer_norm")
def _layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Maybe = None,
    bias: Maybe = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """`nn.functional.layer_norm`; `cudnn_enable` changes nothing.

    >>> import pellucid as torch
    >>> torch.layer_norm(torch.tensor([1.0, 3.0]), (2,))
    tensor([-1.0000,  1.0000])
    """
    return layer_norm(input, normalized_shape, weight, bias, eps)


def _statistics(
    x: Any, dims: Any, eps: float, keepdim: bool, *parameters: Maybe
) -> tuple[Tensor, Tensor]:
    """Return mean and reciprocal standard deviation over `dims`. Two-byte numbers are computed in
    float32, and the results stay float32 if a parameter has another dtype.
    """
    half = x._array.dtype in HALVES
    wide = x.float() if half else x
    mean = wide.mean(dims, keepdim)
    rstd = (wide.var(dims, correction=0, keepdim=keepdim) + eps).rsqrt()
    if half and _statistics_like(x, parameters) is x:
        return mean.to(x.dtype), rstd.to(x.dtype)
    return mean, rstd


def _statistics_like(x: Tensor, parameters: tuple[Maybe, ...]) -> Tensor:
    """Return the tensor of the statistics' dtype: `x`, or the first parameter of another one."""
    return next((p for p in parameters if p is not None and p.dtype is not x.dtype), x)


@public(out=True)
def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Maybe, bias: Maybe, eps: float
) -> Any:
    """`layer_norm` with the means and reciprocal standard deviations it used; those are outside of
    the graph.

    >>> import pellucid as torch
    >>> out, mean, rstd = torch.native_layer_norm(torch.tensor([[1.0, 3.0]]), [2], None, None, 0.0)
    >>> mean, rstd
    (tensor([[2.]]), tensor([[1.]]))
    """
    out = layer_norm(input, normalized_shape, weight, bias, eps)
    dims = tuple(range(-len(normalized_shape), 0))
    return (out, *_statistics(input.detach(), dims, eps, True, weight, bias))


def _check_groups(x: Tensor, weight: Maybe, n: int, channels: int, size: int) -> None:
    """Check the numbers that describe the shape, as PyTorch's kernel does."""
    if weight is not None and weight.numel() != channels:
        raise OperationError(
            "Expected weight to be a vector of size equal to the number of channels in input, but got weight of shape "
            f"{list(weight.shape)} and input of shape {list(x.shape)}"
        )
    if n < 0:
        raise OperationError(f"Trying to create tensor with negative dimension {n}: [{n}, 1]")
    if x.numel() != n * channels * size:
        raise OperationError(
            "Expected X.numel() == N * C * HxW to be true, but got false.  (Could this error message be improved?  If so, please report an "
            "enhancement request to PyTorch.)"
        )


@public(out=True)
@one_node("NativeGroupNorm", "input weight bias", "input weight out1 out2")
def native_group_norm(
    input: Tensor, weight: Maybe, bias: Maybe, N: int, C: int, HxW: int, group: int, eps: float
) -> Any:
    """`group_norm` with the means and reciprocal standard deviations, `(N, group)`, that it used.

    >>> import pellucid as torch
    >>> x = torch.tensor([[1.0, 3.0]])
    >>> torch.native_group_norm(x, None, None, 1, 2, 1, 1, 1e-5)
    (tensor([[-1.0000,  1.0000]]), tensor([[2.]]), tensor([[1.0000]]))
    """
    _check_groups(input, weight, N, C, HxW)
    out = group_norm(input, group, weight, bias, eps)
    found = _statistics(input.reshape(N, group, C // group * HxW), -1, eps, False, weight, bias)
    keeps = {"input": input, "weight": weight, "result1": found[0], "result2": found[1]}
    sizes = {"N": N, "C": C, "HxW": HxW, "group": group, "eps": eps}
    return together((out, *found), "NativeGroupNorm", input, weight, bias, keeps=keeps, **sizes)


@public(out="expected scalar type {wanted} but found {given}")
def native_batch_norm(
    input: Tensor,
    weight: Maybe,
    bias: Maybe,
    running_mean: Maybe,
    running_var: Maybe,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """`batch_norm` with the means and reciprocal standard deviations of the batch, which are empty
    without `training`.

    >>> import pellucid as torch
    >>> x = torch.tensor([[1.0], [3.0]])
    >>> out, mean, rstd = torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    >>> mean, rstd
    (tensor([2.]), tensor([1.0000]))
    """
    out = batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    parameters = (weight, bias, running_mean, running_var)
    if not training:
        like = _statistics_like(input, parameters)
        return out, like.new_empty(0), like.new_empty(0)
    dims = [d for d in range(input.ndim) if d != 1]
    return (out, *_statistics(input.detach(), dims, eps, False, *parameters))


# ---- dropout ----------------------------------------------------------------------------------
@public()
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.alpha_dropout` with all arguments given.

    >>> import pellucid as torch
    >>> torch.alpha_dropout(torch.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    nn_dropout.check_probability(p)
    return nn_dropout.alpha_dropout(input, p, train)


@public()
def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place `alpha_dropout`.

    >>> import pellucid as torch
    >>> torch.alpha_dropout_(torch.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    nn_dropout.check_probability(p)
    return nn_dropout.alpha_dropout(input, p, train, True)


@public()
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.feature_alpha_dropout` with all arguments given.

    >>> import pellucid as torch
    >>> torch.feature_alpha_dropout(torch.ones(1, 2), 0.5, False)
    tensor([[1., 1.]])
    """
    nn_dropout.check_probability(p)
    return nn_dropout.feature_alpha_dropout(input, p, train)


@public()
def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place `feature_alpha_dropout`.

    >>> import pellucid as torch
    >>> torch.feature_alpha_dropout_(torch.ones(1, 2), 0.5, False)
    tensor([[1., 1.]])
    """
    nn_dropout.check_probability(p)
    return nn_dropout.feature_alpha_dropout(input, p, train, True)


@public()
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Zero whole channels, `input[n, c]`, with probability `p`, and scale the others by
    `1 / (1 - p)`.

    Raises:
        RuntimeError: an input of fewer than two dimensions; a probability outside [0, 1].

    >>> import pellucid as torch
    >>> generator = torch.manual_seed(0)
    >>> torch.feature_dropout(torch.ones(1, 3, 2), 0.5, True)
    tensor([[[0., 0.],
             [0., 0.],
             [2., 2.]]])
    """
    nn_dropout.check_probability(p)
    return nn_dropout._feature("feature_dropout", input, p, train, False)


@public()
def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place `feature_dropout`.

    >>> import pellucid as torch
    >>> torch.feature_dropout_(torch.ones(1, 2, 2), 1.0, True)
    tensor([[[0., 0.],
             [0., 0.]]])
    """
    nn_dropout.check_probability(p)
    return nn_dropout._feature("feature_dropout", input, p, train, True)


@public(out=True)
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Dropout with the mask, bool, of the elements that stayed.

    >>> import pellucid as torch
    >>> torch.native_dropout(torch.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
    x: Any = require_tensor(input, "native_dropout")
    if train is False or not x.numel():
        return x.clone(), x.new_ones(x.shape, dtype=dtypes.bool_)
    if not 0 <= p <= 1:
        raise OperationError(f"bernoulli_ expects p to be in [0, 1], but got p={1 - p:g}")
    nn_dropout.check_kind(x)
    x = nn_dropout.drawing.apart(x)
    mask = FUNCTIONS["torch"]["empty_like"](x).bernoulli_(1 - p).to(dtypes.bool_)
    return _natively(x, mask, 0.0 if p == 1 else 1 / (1 - p)), mask


@one_node("NativeDropout", "x", "mask")
def _natively(x: Any, mask: Tensor, scale: float) -> Tensor:
    return titled(x * mask * scale, "NativeDropout", of=(x,))


# ---- embeddings, products, losses ---------------------------------------------------------------
@public(names="embedding")
def _embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """`nn.functional.embedding`, the weight first; a negative `padding_idx` is none.

    >>> import pellucid as torch
    >>> torch.embedding(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1, 0]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    row = padding_idx if padding_idx >= 0 else None
    return nn_embedding.embedding(
        indices, weight, row, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse
    )


public(names="bilinear")(nn_linear.bilinear)


# ---- losses -----------------------------------------------------------------------------------
# `reduction` is 0 for none, 1 for the mean, 2 for the sum. PyTorch's signatures show 1 as the default; left out, it is 0.
@public(names="binary_cross_entropy_with_logits")
def _bce_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Maybe = None,
    pos_weight: Maybe = None,
    reduction: int = 0,
) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits`; `reduction` is a number.

    >>> import pellucid as torch
    >>> torch.binary_cross_entropy_with_logits(torch.zeros(2), torch.ones(2), reduction=1)
    tensor(0.6931)
    """
    a, b = target._array.shape, input._array.shape
    if a != b:
        made = broadcast_shapes(a, b)
        if made != a:  # PyTorch writes into a tensor of the target's shape
            raise ShapeError(
                f"output with shape {list(a)} doesn't match the broadcast shape {list(made)}"
            )
        input = input.expand(a)
    return binary_cross_entropy_with_logits(
        input, target, weight, reduction=numbered(reduction), pos_weight=pos_weight
    )


@public(names="poisson_nll_loss")
def _poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """`nn.functional.poisson_nll_loss`; `reduction` is a number.

    >>> import pellucid as torch
    >>> torch.poisson_nll_loss(torch.tensor([0.0]), torch.tensor([2.0]), True, False, 1e-8, 1)
    tensor(1.)
    """
    return poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=numbered(reduction))


@public(names="kl_div")
def _kl_div(
    input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False
) -> Tensor:
    """`nn.functional.kl_div`; `reduction` is a number.

    >>> import pellucid as torch
    >>> torch.kl_div(torch.tensor([0.5, 0.5]).log(), torch.tensor([1.0, 0.0]), 2)
    tensor(0.6931)
    """
    single = kl_div(input, target, reduction="none", log_target=log_target)
    return reduce_loss(single, numbered(reduction))


@public(names="margin_ranking_loss")
def _margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.margin_ranking_loss`; `reduction` is a number.

    >>> import pellucid as torch
    >>> a, b = torch.tensor([1.0]), torch.tensor([2.0])
    >>> torch.margin_ranking_loss(a, b, torch.tensor([1.0]))
    tensor([1.])
    """
    return ranked(input1, input2, target, margin, numbered(reduction))


@public(names="hinge_embedding_loss")
def _hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.hinge_embedding_loss`; `reduction` is a number.

    >>> import pellucid as torch
    >>> torch.hinge_embedding_loss(torch.tensor([0.2, 0.4]), torch.tensor([1.0, -1.0]))
    tensor([0.2000, 0.6000])
    """
    return hinge_embedding_loss(input, target, margin, reduction=numbered(reduction))


@public(names="cosine_embedding_loss")
def _cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.cosine_embedding_loss`; `reduction` is a number.

    >>> import pellucid as torch
    >>> a, b = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    >>> torch.cosine_embedding_loss(a, b, torch.tensor([1.0]))
    tensor([1.])
    """
    return cosine_embedding_loss(input1, input2, target, margin, reduction=numbered(reduction))


@public(names="triplet_margin_loss")
def _triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """`nn.functional.triplet_margin_loss`; `reduction` is a number.

    >>> import pellucid as torch
    >>> a, near, far = torch.tensor([[0.0]]), torch.tensor([[0.5]]), torch.tensor([[0.75]])
    >>> torch.triplet_margin_loss(a, near, far)
    tensor([0.7500])
    """
    return triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=numbered(reduction)
    )


# ---- pools ------------------------------------------------------------------------------------
# ---- functions that PyTorch's own modules call -----------------------------------------------
def _sum_relu(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """`relu(input + alpha * other)`."""
    made: Tensor = FUNCTIONS["torch"]["add"](input, other, alpha=alpha)
    return made.clamp(min=0)


public(names="_add_relu", out=True)(_sum_relu)
FUNCTIONS["torch"]["_add_relu_"] = inplace_form(_sum_relu, "_add_relu_")


@public(names="_softmax", out=True)
def _softmax(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """`softmax` along `dim`."""
    return _straight("softmax", input, dim, half_to_float)


@public(names="_log_softmax", out=True)
def _log_softmax(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """`log_softmax` along `dim`."""
    return _straight("log_softmax", input, dim, half_to_float)


def _straight(name: str, input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    if half_to_float:
        raise OperationError("softmax with half to float conversion is not supported on CPU")
    made: Tensor = FUNCTIONS["torch"][name](input, dim)
    return made


@public(names="_masked_softmax")
def _masked_softmax(
    input: Tensor, mask: Tensor, dim: int | None = None, mask_type: int | None = None
) -> Tensor:
    """The softmax along `dim` (the last one) of what `mask` leaves; 0 where it is true.

    Args:
        mask_type: what the mask stands for: 0 `(L, L)` of an attention, 1 `(B, L)` of its keys, 2
            (the default) each element.
    """
    x = require_tensor(input, "_masked_softmax")
    if require_tensor(mask, "_masked_softmax", "mask", 2).dtype is not dtypes.bool_:
        raise OperationError("Mask should be a boolean tensor")
    kind = 2 if mask_type is None else mask_type
    shapes = {
        0: (x.shape[-1:] * 2, "(L, L)"),
        1: ((x.shape[0], x.shape[-1]), "(B, L)"),
        2: (x.shape, ""),
    }
    if kind not in shapes:
        raise OperationError(
            "Mask Type should be 0 (src_mask) or 1 (src_key_padding_mask), or 2 (default_mask)"
        )
    wanted, text = shapes[kind]
    if tuple(mask.shape) != tuple(wanted):
        raise OperationError(
            f"For mask_type == {kind} mask shape should {'be ' + text if text else 'match input shape'}"
        )
    if kind == 1:
        mask = mask.reshape((mask.shape[0], *(1,) * (x.ndim - 2), mask.shape[1]))
    hidden = x.masked_fill(mask, -float("inf")) if not x.dtype.is_integral else x
    return titled(hidden.softmax(-1 if dim is None else dim), "MaskedSoftmax")


@public(names="adaptive_max_pool1d")
def _adaptive_max_pool1d(input: Tensor, output_size: Any) -> Any:
    """The maxima of `nn.functional.adaptive_max_pool1d` and their positions.

    >>> import pellucid as torch
    >>> torch.adaptive_max_pool1d(torch.tensor([[1.0, 5.0, 2.0, 4.0]]), 2)
    (tensor([[5., 4.]]), tensor([[1, 3]]))
    """
    return adaptive_max_pool1d(input, output_size, return_indices=True)


# ---- convolution, grids -----------------------------------------------------------------------
@public()
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Maybe,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """Convolution, or its transpose, over as many dimensions as `weight` has after its first two.

    Raises:
        RuntimeError: the weight has not 3, 4 or 5 dimensions.

    >>> import pellucid as torch
    >>> x, w = torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2)
    >>> torch.convolution(x, w, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1)
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    n = require_tensor(weight, "convolution", "weight", 2).ndim - 2
    if n not in (1, 2, 3):
        raise OperationError("weight should have at least three dimensions")
    if transposed:
        function: Any = (
            nn_conv.conv_transpose1d,
            nn_conv.conv_transpose2d,
            nn_conv.conv_transpose3d,
        )[n - 1]
        return function(input, weight, bias, stride, padding, output_padding, groups, dilation)
    function = (nn_conv.conv1d, nn_conv.conv2d, nn_conv.conv3d)[n - 1]
    return function(input, weight, bias, stride, padding, dilation, groups)


@public()
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """`nn.functional.affine_grid` with all arguments given.

    >>> import pellucid as torch
    >>> theta = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> torch.affine_grid_generator(theta, (1, 1, 2, 2), True).shape
    torch.Size([1, 2, 2, 2])
    """
    if len(size) not in (4, 5):
        raise OperationError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    if require_tensor(theta, "affine_grid_generator", "theta").dtype is dtypes.bool_:
        raise UnsupportedError("\"linspace_cpu\" not implemented for 'Bool'")
    shape = theta._array.shape
    if len(shape) == 3 and (shape[0], shape[2]) != (size[0], len(size) - 1):
        raise ShapeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{size[0]}, {len(size) - 1}] but got: "
            f"[{shape[0]}, {shape[2]}]."
        )
    if theta.dtype.is_integral:
        return nn_grid.whole_grid(theta, size, align_corners)
    return nn_grid.affine_grid(theta, size, align_corners)


@public(names="grid_sampler grid_sampler_2d grid_sampler_3d")
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`nn.functional.grid_sample`; the modes are 0 bilinear, 1 nearest, 2 bicubic, and 0 zeros, 1
    border, 2 reflection.

    Raises:
        RuntimeError: another mode, for which PyTorch returns whatever lies in memory.

    >>> import pellucid as torch
    >>> image = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> torch.grid_sampler(image, torch.zeros(1, 1, 1, 2), 0, 0, True)
    tensor([[[[2.5000]]]])
    """
    if interpolation_mode not in range(len(_MODES)) or padding_mode not in range(len(_PADDINGS)):
        raise OperationError(
            "grid_sampler(): expected interpolation_mode and padding_mode to be 0, 1 or 2, but got "
            f"{interpolation_mode} and {padding_mode}"
        )
    require_tensor(input, "grid_sampler")
    mode, padding = _MODES[interpolation_mode], _PADDINGS[padding_mode]
    return nn_grid.grid_sample(input, grid, mode, padding, align_corners)


# ---- recurrent cells ----------------------------------------------------------------------------
def _check_cell(
    gates: int, input: Any, states: Sequence[Any], w_ih: Any, w_hh: Any, late: bool = False
) -> None:
    """Refuse sizes that do not fit each other; with `late`, those of the weights come last."""
    hidden = w_hh.size(1)
    if gates == 1 and w_ih.size(0) != hidden:
        raise OperationError(
            f"weight_ih first dim must be 1 * hidden_size = {hidden}, but got {w_ih.size(0)}"
        )
    if input.size(1) != w_ih.size(1):
        raise OperationError(
            f"input has inconsistent input_size: got {input.size(1)} expected {w_ih.size(1)}"
        )
    for check in ("states", "weights") if late else ("weights", "states"):
        for k, state in enumerate(states if check == "states" else ()):
            if input.size(0) != state.size(0):
                raise OperationError(
                    f"Input batch size {input.size(0)} doesn't match hidden{k} batch size {state.size(0)}"
                )
            if state.size(1) != hidden:
                raise OperationError(
                    f"hidden{k} has inconsistent hidden_size: got {state.size(1)}, expected {hidden}"
                )
        for name, weight in (("ih", w_ih), ("hh", w_hh)) if check == "weights" else ():
            if weight.size(0) != gates * hidden:
                raise OperationError(
                    f"weight_{name} first dim must be {gates} * hidden_size = {gates * hidden}, but got {weight.size(0)}"
                )


def gates_of(x: Any, count: int) -> tuple[Any, ...]:
    """The parts of gates that are stacked; the node has the name of what PyTorch splits with."""
    parts: tuple[Any, ...] = x.chunk(count, -1)
    node = getattr(getattr(parts[0], "_node", None), "node", None)
    if node is not None:
        node.__class__ = named_type("UnsafeSplitBackward0")
    return parts


@public()
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Maybe = None,
    b_hh: Maybe = None,
) -> tuple[Tensor, Tensor]:
    """Hidden state and cell after one step of an LSTM from `hx = (h, c)`; the gates are stacked as
    input, forget, cell, output.

    Source: Hochreiter, Schmidhuber, "Long Short-Term Memory", 1997, with the forget gate of Gers et
    al., 2000.

    >>> import pellucid as torch
    >>> x, h, c = torch.ones(1, 3), torch.zeros(1, 2), torch.zeros(1, 2)
    >>> h, c = torch.lstm_cell(x, (h, c), torch.zeros(8, 3), torch.zeros(8, 2))
    >>> h, c
    (tensor([[0., 0.]]), tensor([[0., 0.]]))
    """
    if len(hx) != 2:
        raise OperationError("lstm_cell expects two hidden states")
    _check_cell(4, input, hx, w_ih, w_hh)
    from_x, from_h = nn_linear.linear(input, w_ih, b_ih), nn_linear.linear(hx[0], w_hh, b_hh)
    i, f, g, o = gates_of(from_h + from_x, 4)
    c = F.sigmoid(f) * hx[1] + F.sigmoid(i) * F.tanh(g)
    return F.sigmoid(o) * F.tanh(c), c


@public()
def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Maybe = None, b_hh: Maybe = None
) -> Tensor:
    """The state after one step of a GRU; the gates are stacked as reset, update, new. Source: Cho
    et al., 2014.

    >>> import pellucid as torch
    >>> x, h = torch.ones(1, 3), torch.ones(1, 2)
    >>> torch.gru_cell(x, h, torch.zeros(6, 3), torch.zeros(6, 2))
    tensor([[0.5000, 0.5000]])
    """
    _check_cell(3, input, [hx], w_ih, w_hh, late=True)
    r_x, z_x, n_x = gates_of(nn_linear.linear(input, w_ih, b_ih), 3)
    r_h, z_h, n_h = gates_of(nn_linear.linear(hx, w_hh, b_hh), 3)
    z = F.sigmoid(z_h + z_x)
    new = F.tanh(n_x + n_h * F.sigmoid(r_h + r_x))
    return (hx - new) * z + new


@public()
def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Maybe = None, b_hh: Maybe = None
) -> Tensor:
    """The state after one step of a recurrent network with tanh. Source: Elman, 1990.

    >>> import pellucid as torch
    >>> x, h = torch.ones(1, 1), torch.zeros(1, 1)
    >>> torch.rnn_tanh_cell(x, h, torch.ones(1, 1), torch.ones(1, 1))
    tensor([[0.7616]])
    """
    _check_cell(1, input, [hx], w_ih, w_hh)
    from_x, from_h = nn_linear.linear(input, w_ih, b_ih), nn_linear.linear(hx, w_hh, b_hh)
    return F.tanh(from_h + from_x)


@public()
def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Maybe = None, b_hh: Maybe = None
) -> Tensor:
    """The state after one step of a recurrent network with ReLU.

    >>> import pellucid as torch
    >>> x, h = torch.ones(1, 1), torch.ones(1, 1)
    >>> torch.rnn_relu_cell(x, h, torch.ones(1, 1), torch.ones(1, 1))
    tensor([[2.]])
    """
    _check_cell(1, input, [hx], w_ih, w_hh)
    from_x, from_h = nn_linear.linear(input, w_ih, b_ih), nn_linear.linear(hx, w_hh, b_hh)
    total: Any = from_h + from_x
    return total.relu()


@public(namespace="torch nn.functional", out=True)
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolution over time of `(time, batch, channels)`.

    Args:
        input: `(T, B, C_in)`.
        weight: `(width, C_in, C_out)`.
        bias: `(C_out,)`.
        pad: zeros at both ends of the time.

    Returns:
        `(T + 2 * pad - width + 1, B, C_out)`.

    Raises:
        RuntimeError: other numbers of dimensions.

    >>> import pellucid as torch
    >>> x, w = torch.ones(4, 1, 2), torch.ones(3, 2, 5)  # (time, batch, channels), (width, in, out)
    >>> torch.conv_tbc(x, w, torch.zeros(5)).shape
    torch.Size([2, 1, 5])
    """
    x: Any = require_tensor(input, "conv_tbc")
    w: Any = require_tensor(weight, "conv_tbc", "weight", 2)
    if x.ndim != 3:
        raise OperationError("Input must have 3 dims: time, batch, in_channel")
    if w.ndim != 3:
        raise OperationError(
            "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."
        )
    if require_tensor(bias, "conv_tbc", "bias", 3).ndim != 1:
        raise OperationError("Bias must be 1-D")
    if x.shape[2] != w.shape[1]:
        raise ShapeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if bias.shape[0] != w.shape[2]:
        raise ShapeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    if x.dtype is not w.dtype:
        raise DtypeError(
            f"self and mat2 must have the same dtype, but got {x.dtype.scalar_type_name} and "
            f"{w.dtype.scalar_type_name}"
        )
    if pad < 0:  # negative padding cuts off steps at both ends
        steps = x.shape[0] + 2 * pad - w.shape[0] + 1
        if steps < 0:
            raise ShapeError(
                f"Trying to create tensor with negative dimension {steps}: [{steps}, {x.shape[1]}, {w.shape[2]}]"
            )
        x, pad = x[-pad : x.shape[0] + pad], 0
        if not steps:
            return F.cast(bias, dtype=x._array.dtype).expand(0, x.shape[1], w.shape[2]).clone()
    made = nn_conv.conv1d(x.permute(1, 2, 0), w.permute(2, 1, 0), bias.to(x.dtype), padding=pad)
    return made.permute(2, 0, 1).contiguous()
