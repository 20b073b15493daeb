"""Operators of aten that are building blocks of PyTorch's functions and have no public name.

A function has the operator's name, with the overload's after two underscores where overloads
differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import dtypes
from ...core.primitive import TENSORS as F
from ...core.public import FUNCTIONS
from ...core.tape import titled
from ...core.tensor import Tensor, version_of
from ...core.transforms.whole import in_one_node
from ..computed import N, T, gradients

L: Any = FUNCTIONS["linalg"]


# ---- conversions and what is known of a tensor --------------------------------------------------
def _cast(kind: dtypes.dtype) -> Callable[..., Tensor]:
    return lambda self, non_blocking=False: self.to(kind)


def named(scope: dict[str, Any], **functions: Callable[..., Any]) -> None:
    """Add generated functions to a module, under the names of operators."""
    for name, function in functions.items():
        function.__name__, function.__module__ = name, scope["__name__"]
        scope[name] = function


named(
    globals(),
    _cast_Byte=_cast(dtypes.uint8),
    _cast_Char=_cast(dtypes.int8),
    _cast_Double=_cast(dtypes.float64),
    _cast_Float=_cast(dtypes.float32),
    _cast_Half=_cast(dtypes.float16),
    _cast_Int=_cast(dtypes.int32),
    _cast_Long=_cast(dtypes.int64),
    _cast_Short=_cast(dtypes.int16),
)


def _version(self: Tensor) -> int:
    return version_of(self).count


def is_leaf(self: Tensor) -> bool:
    return self.is_leaf


def retains_grad(self: Tensor) -> bool:
    return self.retains_grad


def output_nr(self: Tensor) -> int:
    return self.output_nr


def data(self: Tensor) -> Tensor:
    return self.data


def set_data(self: Tensor, new_data: Tensor) -> None:
    self.data = new_data


def _backward(
    self: Tensor,
    inputs: Any,
    gradient: Any = None,
    retain_graph: Any = None,
    create_graph: bool = False,
) -> None:
    self.backward(gradient, retain_graph, create_graph, inputs=inputs or None)


def can_cast(from_: Any, to: Any) -> bool:
    return dtypes.can_cast(from_, to)


def sym_is_contiguous(self: Tensor, memory_format: Any = dtypes.contiguous_format) -> bool:
    return self.is_contiguous(memory_format=memory_format)


def _is_zerotensor(self: Tensor) -> bool:
    return False


def _has_compatible_shallow_copy_type(self: Tensor, from_: Tensor) -> bool:
    return self.layout == from_.layout


def _has_same_storage_numel(self: Tensor, other: Tensor) -> bool:
    return bool(self.untyped_storage().nbytes() == other.untyped_storage().nbytes())


def _new_zeros_with_same_feature_meta(
    self: Tensor, other: Tensor, *, self_num_batch_dims: int = 0
) -> Tensor:
    return T.zeros([*self.shape[:self_num_batch_dims], *other.shape], dtype=other.dtype)


def _shape_as_tensor(self: Tensor) -> Tensor:
    return T.tensor(list(self.shape), dtype=dtypes.int64)


def _dim_arange(like: Tensor, dim: int) -> Tensor:
    return T.arange(like.shape[dim])


def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    return self.pin_memory()


def _is_all_true(self: Tensor) -> Tensor:
    return T._is_all_true(self)


def _is_any_true(self: Tensor) -> Tensor:
    return T._is_any_true(self)


# ---- views and copies -----------------------------------------------------------------------------
def _conj(self: Tensor) -> Tensor:
    return T.conj(self)


def _conj_physical(self: Tensor) -> Tensor:
    return T.conj_physical(self)


def _neg_view(self: Tensor) -> Tensor:
    return T.neg(self)


def _fw_primal(self: Tensor, level: int) -> Tensor:
    return F.alias(self)


def matrix_H(self: Tensor) -> Tensor:  # noqa: N802 (PyTorch's name)
    return self.H


def _lazy_clone(self: Tensor) -> Tensor:
    return T.clone(self)


def _reshape_copy(self: Tensor, size: Sequence[int]) -> Tensor:
    return T.clone(T.reshape(self, list(size)))


def _reshape_from_tensor(self: Tensor, shape: Tensor) -> Tensor:
    return T.reshape(self, shape.tolist())


def _resize_output(self: Tensor, size: Sequence[int], device: Any) -> Tensor:
    return T.clone(self).resize_(*size)


def _stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    return T.stack(list(tensors), dim)


def _chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Each tensor in chunks of one size, filled up with zeros, which are then put side by side."""
    parts = []
    for t in tensors:
        size = -(-t.shape[dim] // num_chunks)
        missing = size * num_chunks - t.shape[dim]
        pad = [0, 0] * (t.ndim - 1 - dim) + [0, missing]
        full = N.pad(t, pad) if missing else t
        parts.append(full.reshape(*t.shape[:dim], num_chunks, -1))
    return T.cat(parts, dim + 1)


def flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    return T.cat([t.contiguous().view(-1) for t in tensors])


def unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
    parts = T.split(flat, [t.numel() for t in tensors])
    return [p.view(t.shape) for p, t in zip(parts, tensors, strict=True)]


def nonzero_numpy(self: Tensor) -> list[Tensor]:
    return list(T.nonzero(self, as_tuple=True))


def _pad_enum(self: Tensor, pad: Sequence[int], mode: int, value: float | None = None) -> Tensor:
    name = ("reflect", "replicate", "circular", "constant")[mode]
    return N.pad(self, list(pad), name, value)


def _pad_circular(self: Tensor, pad: Sequence[int]) -> Tensor:
    return N.pad(self, list(pad), "circular")


def pad_sequence(
    sequences: Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    longest = max(t.shape[0] for t in sequences)
    rows = []
    for t in sequences:
        missing = longest - t.shape[0]
        sides = [0, missing] if padding_side == "right" else [missing, 0]
        rows.append(N.pad(t, [0, 0] * (t.ndim - 1) + sides, value=padding_value))
    return T.stack(rows, 0 if batch_first else 1)


def _pack_padded_sequence(
    input: Tensor, lengths: Tensor, batch_first: bool
) -> tuple[Tensor, Tensor]:
    steps = input.transpose(0, 1) if batch_first else input
    sizes = lengths.tolist()
    counts = [sum(n > t for n in sizes) for t in range(max(sizes))]
    rows = T.cat([steps[t, :count] for t, count in enumerate(counts)])
    return rows, T.tensor(counts, dtype=dtypes.int64)


def _pack_padded_sequence_backward(
    grad: Tensor, input_size: Sequence[int], batch_sizes: Tensor, batch_first: bool
) -> Tensor:
    shape = list(input_size)
    if batch_first:
        shape[:2] = shape[1], shape[0]
    made, at = T.zeros(shape, dtype=grad.dtype), 0
    for t, count in enumerate(batch_sizes.tolist()):
        made[t, :count] = grad[at : at + count]
        at += count
    return made.transpose(0, 1) if batch_first else made


def _pad_packed_sequence(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: Any, total_length: int
) -> tuple[Tensor, Tensor]:
    counts = batch_sizes.tolist()
    steps, at = [], 0
    for count in counts:
        part = data[at : at + count]
        pad = [0, 0] * (data.ndim - 1) + [0, counts[0] - count]
        steps.append(N.pad(part, pad, value=padding_value))
        at += count
    made = T.stack(steps)
    if total_length > len(counts):
        pad = [0, 0] * (made.ndim - 1) + [0, total_length - len(counts)]
        made = N.pad(made, pad, value=padding_value)
    lengths = T.tensor([sum(c > k for c in counts) for k in range(counts[0])], dtype=dtypes.int64)
    return made.transpose(0, 1) if batch_first else made, lengths


# ---- indices -----------------------------------------------------------------------------------
def _places(indices: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([slice(None) if i is None else i for i in indices])


def _unsafe_index(self: Tensor, indices: Sequence[Any]) -> Tensor:
    return titled(self[_places(indices)], "UnsafeIndex")


def _unsafe_index_put(
    self: Tensor, indices: Sequence[Any], values: Tensor, accumulate: bool = False
) -> Tensor:
    return titled(T.index_put(self, tuple(indices), values, accumulate), "UnsafeIndexPut")


def _index_put_impl_(
    self: Tensor,
    indices: Sequence[Any],
    values: Tensor,
    accumulate: bool = False,
    unsafe: bool = False,
) -> Tensor:
    return self.index_put_(tuple(indices), values, accumulate)


def _index_put_impl(
    self: Tensor,
    indices: Sequence[Any],
    values: Tensor,
    accumulate: bool = False,
    unsafe: bool = False,
) -> Tensor:
    return T.index_put(self, tuple(indices), values, accumulate)


def _unsafe_masked_index(self: Tensor, mask: Tensor, indices: Sequence[Any], fill: Any) -> Tensor:
    """Elements at `indices` where the mask is true, and `fill` elsewhere, where indices may lie
    anywhere.
    """
    title, words = "UnsafeMaskedIndex", _words(indices)
    return in_one_node(
        title,
        "self",
        f"{' '.join(words)} mask",
        _picked,
        lambda: words,
        self=self,
        mask=mask,
        indices=indices,
        fill=fill,
    )


def _words(indices: Sequence[Any]) -> dict[str, Any]:
    """Indices by words, for hooks of saved tensors."""
    return {f"index{k}": i._array for k, i in enumerate(indices) if i is not None}


def _picked(self: Tensor, mask: Tensor, indices: Sequence[Any], fill: Any) -> Tensor:
    made = self[_places(_inside(self, indices))].masked_fill(T.logical_not(mask), fill)
    return titled(made, "UnsafeMaskedIndex", of=(self,))


def _unsafe_masked_index_put_accumulate(
    self: Tensor, mask: Tensor, indices: Sequence[Any], values: Tensor
) -> Tensor:
    words = _words(indices)
    return in_one_node(
        "UnsafeMaskedIndexPutAccumulate",
        "self values",
        f"{' '.join(words)} mask",
        _placed,
        lambda: words,
        self=self,
        mask=mask,
        indices=indices,
        values=values,
    )


def _placed(self: Tensor, mask: Tensor, indices: Sequence[Any], values: Tensor) -> Tensor:
    kept = values.masked_fill(T.logical_not(mask), 0)
    made = T.index_put(self, tuple(_inside(self, indices)), kept, True)
    return titled(made, "UnsafeMaskedIndexPutAccumulate", of=(self, values))


def _inside(self: Tensor, indices: Sequence[Any]) -> list[Any]:
    """The indices, kept within the sizes."""
    return [
        i if i is None else i.clamp(-self.shape[d], self.shape[d] - 1)
        for d, i in enumerate(indices)
    ]


def index_select_backward(
    grad: Tensor, self_sizes: Sequence[int], dim: int, index: Tensor
) -> Tensor:
    return T.index_add(T.zeros(list(self_sizes), dtype=grad.dtype), dim, index, grad)


def masked_select_backward(grad: Tensor, input: Tensor, mask: Tensor) -> Tensor:
    shape = T.broadcast_shapes(input.shape, mask.shape)
    spread = T.zeros(shape, dtype=grad.dtype).masked_scatter(mask.expand(shape), grad)
    return spread.sum_to_size(input.shape)


def masked_scatter_backward(grad_output: Tensor, mask: Tensor, sizes: Sequence[int]) -> Tensor:
    found = grad_output.masked_select(mask)
    missing = math.prod(sizes) - found.numel()
    return N.pad(found, [0, missing]).view(list(sizes)) if missing > 0 else found.view(list(sizes))


def cummaxmin_backward(grad: Tensor, input: Tensor, indices: Tensor, dim: int) -> Tensor:
    return T.scatter_add(T.zeros_like(input), dim, indices, grad)


def cumprod_backward(grad: Tensor, input: Tensor, dim: int, output: Tensor) -> Tensor:
    return one(lambda x: T.cumprod(x, dim), input, grad)


def _unique(
    self: Tensor, sorted: bool = True, return_inverse: bool = False
) -> tuple[Tensor, Tensor]:
    return _unique2(self, sorted, return_inverse)[:2]


def _unique2(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    return _three(T.unique(self, sorted, return_inverse, return_counts), return_inverse)


def unique_dim(
    self: Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Always with inverse and counts, as PyTorch's."""
    return T.unique(self, sorted, True, True, dim)


def unique_dim_consecutive(
    self: Tensor, dim: int, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    return T.unique_consecutive(self, True, True, dim)


def _three(made: Any, inverse: bool) -> tuple[Tensor, Tensor, Tensor]:
    nothing = T.empty(0, dtype=dtypes.int64)
    if isinstance(made, Tensor):
        return made, nothing, nothing
    if len(made) == 3:
        return made
    return (*made, nothing) if inverse else (made[0], nothing, made[1])


# ---- gradients of one argument -------------------------------------------------------------------
def one(function: Callable[..., Tensor], x: Tensor, g: Tensor) -> Tensor:
    made = gradients(function, [x], g)[0]
    assert made is not None
    return made


def pair(function: Callable[..., Tensor], x: Any, y: Any, g: Tensor) -> tuple[Any, Any]:
    first, second = gradients(function, [x, y], g)
    return first, second


def matrix_exp_backward(self: Tensor, grad: Tensor) -> Tensor:
    return one(L["matrix_exp"], self, grad)


def infinitely_differentiable_gelu_backward(grad: Tensor, self: Tensor) -> Tensor:
    density = T.exp(self * self * -0.5) * (0.5 * math.sqrt(2) * 2 / math.sqrt(math.pi) * 0.5)
    return grad * (0.5 * (1 + T.erf(self * math.sqrt(0.5))) + self * density)


def affine_grid_generator_backward(
    grad: Tensor, size: Sequence[int], align_corners: bool
) -> Tensor:
    n = len(size) - 2
    theta = T.zeros(size[0], n, n + 1, dtype=grad.dtype)
    return one(lambda t: N.affine_grid(t, list(size), align_corners), theta, grad)


def _cdist_forward(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None) -> Tensor:
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist")
    mode = modes[compute_mode or 0] if (compute_mode or 0) < 2 else "donot_use_mm_for_euclid_dist"
    return T.cdist(x1, x2, p, mode)


def _cdist_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor) -> Tensor:
    mode = "donot_use_mm_for_euclid_dist"
    return one(lambda x: T.cdist(x, x2, p, mode), x1, grad)


def _euclidean_dist(x1: Tensor, x2: Tensor) -> Tensor:
    return T.cdist(x1, x2, 2.0, "use_mm_for_euclid_dist")


def _pdist_forward(self: Tensor, p: float = 2.0) -> Tensor:
    return N.pdist(self, p)


def _pdist_backward(grad: Tensor, self: Tensor, p: float, pdist: Tensor) -> Tensor:
    return one(lambda x: N.pdist(x, p), self, grad)


def _prelu_kernel(self: Tensor, weight: Tensor) -> Tensor:
    return titled(T.where(self > 0, self, weight * self), "PreluKernel", of=(self, weight))


def _prelu_kernel_backward(grad_output: Tensor, self: Tensor, weight: Tensor) -> tuple[Any, Any]:
    positive = self > 0
    zero = T.zeros((), dtype=self.dtype)
    return (
        T.where(positive, grad_output, weight * grad_output),
        T.where(positive, zero, self * grad_output),
    )


def _ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """Each sample's loss; the table of partial sums is not kept."""
    loss = N.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, "none", zero_infinity
    )
    return loss, T.empty(0, dtype=log_probs.dtype)


def _ctc_loss_backward(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    neg_log_likelihood: Tensor,
    log_alpha: Tensor,
    blank: int,
    zero_infinity: bool = False,
) -> Tensor:
    rest = (targets, input_lengths, target_lengths, blank, zero_infinity)
    return one(lambda x: _ctc_loss(x, *rest)[0], log_probs, grad)


def _masked_softmax_backward(
    grad_output: Tensor, output: Tensor, mask: Tensor, dim: int | None = None
) -> Tensor:
    d = -1 if dim is None else dim
    open_ = output.masked_fill(mask, 0)
    g = grad_output.masked_fill(mask, 0)
    return (open_ * (g - (g * open_).sum(d, keepdim=True))).masked_fill(mask, 0)


def _fractional(n: int) -> Callable[..., Tensor]:
    def function(
        grad_output: Tensor, self: Tensor, kernel_size: Any, output_size: Any, indices: Tensor
    ) -> Tensor:
        """Each gradient goes where the maximum was."""
        lead = self.shape[: self.ndim - n]
        flat = T.zeros(*lead, math.prod(self.shape[self.ndim - n :]), dtype=self.dtype)
        at, g = indices.reshape(*lead, -1), grad_output.reshape(*lead, -1)
        return T.scatter_add(flat, -1, at, g).view(self.shape)

    return function


named(
    globals(),
    fractional_max_pool2d_backward=_fractional(2),
    fractional_max_pool3d_backward=_fractional(3),
)


def _segment_reduce_backward(
    grad: Tensor,
    output: Tensor,
    data: Tensor,
    reduce: str,
    *,
    lengths: Any = None,
    offsets: Any = None,
    axis: int = 0,
    initial: Any = None,
) -> Tensor:
    def function(x: Tensor) -> Tensor:
        return T.segment_reduce(
            x, reduce, lengths=lengths, offsets=offsets, axis=axis, initial=initial, unsafe=True
        )

    return one(function, data, grad)


def glu_jvp(glu: Tensor, x: Tensor, dx: Tensor, dim: int) -> Tensor:
    half = x.shape[dim] // 2
    gate = T.sigmoid(x.narrow(dim, half, half))
    return dx.narrow(dim, 0, half) * gate + glu * (1 - gate) * dx.narrow(dim, half, half)


def glu_backward_jvp(
    grad_x: Tensor, grad_glu: Tensor, x: Tensor, dgrad_glu: Tensor, dx: Tensor, dim: int
) -> Tensor:
    half = x.shape[dim] // 2
    a, b = x.narrow(dim, 0, half), x.narrow(dim, half, half)
    da, db = dx.narrow(dim, 0, half), dx.narrow(dim, half, half)
    gate = T.sigmoid(b)
    slope = gate * (1 - gate)
    first = dgrad_glu * gate + grad_glu * slope * db
    curve = slope * (1 - 2 * gate) * db
    second = dgrad_glu * a * slope + grad_glu * (da * slope + a * curve)
    return T.cat([first, second], dim)


def rrelu_with_noise(
    self: Tensor,
    noise: Tensor,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    if not training:
        return N.leaky_relu(self, (lower + upper) / 2)
    slopes = T.empty_like(self).uniform_(lower, upper, generator=generator)
    slopes = T.where(self <= 0, slopes, T.ones_like(self)).detach()
    noise.copy_(slopes)
    return self * slopes


def rrelu_with_noise_(self: Tensor, noise: Tensor, *rest: Any, **named: Any) -> Tensor:
    return self.copy_(rrelu_with_noise(self, noise, *rest, **named))


def rrelu_with_noise_functional(
    self: Tensor, noise: Tensor, *rest: Any, **named: Any
) -> tuple[Tensor, Tensor]:
    drawn = T.clone(noise)
    return rrelu_with_noise(self, drawn, *rest, **named), drawn


def rrelu_with_noise_backward(
    grad_output: Tensor,
    self: Tensor,
    noise: Tensor,
    lower: float,
    upper: float,
    training: bool,
    self_is_result: bool,
) -> Tensor:
    if training and upper - lower > 1e-6:
        return grad_output * noise
    return T.where(self > 0, grad_output, grad_output * ((lower + upper) / 2))


def multilabel_margin_loss_forward(
    self: Tensor, target: Tensor, reduction: int
) -> tuple[Tensor, Tensor]:
    rows, wanted = T.atleast_2d(self), T.atleast_2d(target)
    named = T.cumprod((wanted >= 0).to(dtypes.int64), 1).to(dtypes.bool_)
    marks = T.zeros(rows.shape, dtype=dtypes.int64)
    marks = marks.scatter_add(1, wanted.clamp(min=0), named.to(dtypes.int64))
    marks = (marks > 0).to(self.dtype).view(self.shape)
    words = ("none", "mean", "sum")
    return N.multilabel_margin_loss(self, target, reduction=words[reduction]), marks
