"""Operations that a compiled step runs in its own native code: nothing in the schedule is a call of
Python, and results, gradients and errors are eager's for other values than the traced ones.
"""

import math

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid.core.streams import mkl as random_mkl
from pellucid.errors import full_text
from pellucid.llvm import target

from .eager_and_compiled import distinct, floats, mask, whole, with_gradients

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no compiler")
SEEDS = (0, 1, 2)


def turned(*shape):
    """Transposed in memory."""
    return lambda g: (
        torch.rand(shape[::-1], generator=g)
        .sub(0.5)
        .permute(*reversed(range(len(shape))))
        .requires_grad_()
    )


def gapped(*shape):
    """Every other element of something larger."""
    return lambda g: (
        torch.rand(*shape[:-1], 2 * shape[-1], generator=g)[..., ::2].detach().requires_grad_()
    )


INDEXING = {
    "gather": (lambda x, i: x.gather(1, i), floats(4, 5), whole(5, 4, 3)),
    "gather of fewer rows": (lambda x, i: x.gather(1, i), floats(4, 5, 3), whole(5, 2, 7, 2)),
    "gather at int32": (
        lambda x, i: x.gather(0, i),
        floats(4, 5),
        whole(4, 6, 5, dtype=torch.int32),
    ),
    "gather of a transposed one": (lambda x, i: x.gather(0, i), turned(4, 5), whole(4, 3, 5)),
    "gather at a transposed index": (lambda x, i: x.gather(1, i.t()), gapped(4, 5), whole(5, 3, 4)),
    "gather of doubles": (
        lambda x, i: x.gather(2, i),
        floats(2, 3, 4, dtype=torch.float64),
        whole(4, 2, 3, 9),
    ),
    "gather of integers": (lambda x, i: x.gather(0, i), whole(99, 5), whole(5, 8)),
    "gather of bools": (lambda x, i: x.gather(0, i), mask(5), whole(5, 8)),
    "gather of halves": (lambda x, i: x.detach().half().gather(0, i), floats(5), whole(5, 8)),
    "gather of a vector of ones": (lambda x, i: x.gather(0, i), floats(1), whole(1, 1)),
    "large gather": (lambda x, i: x.gather(1, i), floats(300, 80), whole(80, 300, 120)),
    "take_along_dim": (lambda x, i: x.take_along_dim(i, 1), floats(3, 4), whole(4, 3, 2, low=-4)),
    "scatter": (
        lambda x, i, s: x.scatter(0, i[:3].unsqueeze(1).expand(3, 4), s),
        floats(6, 4),
        distinct(6, 4),
        floats(3, 4),
    ),
    "scatter of a number": (lambda x, i: x.scatter(1, i, 1.5), floats(5, 4), whole(4, 5, 2)),
    "scatter of part of the source": (
        lambda x, i, s: x.scatter(1, i, s),
        floats(5, 4),
        whole(4, 3, 1),
        floats(4, 3),
    ),
    "scatter_add": (
        lambda x, i, s: x.scatter_add(0, i, s),
        floats(5, 4),
        whole(5, 9, 4),
        floats(9, 4),
    ),
    "scatter_add of turned ones": (
        lambda x, i, s: x.scatter_add(1, i, s),
        turned(5, 4),
        whole(4, 5, 6),
        turned(5, 6),
    ),
    "scatter_add of an expanded index": (
        lambda x, i, s: x.scatter_add(0, i.unsqueeze(1).expand(9, 40), s),
        floats(5, 40),
        whole(5, 9),
        floats(9, 40),
    ),
    "scatter_add of integers": (
        lambda x, i, s: x.scatter_add(0, i, s),
        whole(9, 5),
        whole(5, 7),
        whole(9, 7),
    ),
    "scatter_reduce amax": (
        lambda x, i, s: x.detach().scatter_reduce(0, i, s.detach(), "amax"),
        floats(5),
        whole(5, 9),
        floats(9),
    ),
    "scatter_reduce amin": (
        lambda x, i, s: x.detach().scatter_reduce(1, i, s.detach(), "amin"),
        floats(2, 5),
        whole(5, 2, 9),
        floats(2, 9),
    ),
    "scatter_reduce prod": (
        lambda x, i, s: x.detach().scatter_reduce(0, i, s.detach(), "prod"),
        floats(5),
        whole(5, 9),
        floats(9),
    ),
    "index_select": (lambda x, i: x.index_select(1, i), floats(3, 6, 4), whole(6, 9)),
    "index_select of rows": (lambda x, i: x.index_select(0, i), floats(30, 20), whole(30, 70)),
    "index_add": (
        lambda x, i, s: x.index_add(1, i, s),
        floats(3, 6, 4),
        whole(6, 9),
        floats(3, 9, 4),
    ),
    "index_add_": (
        lambda x, i, s: (x * 1).index_add_(0, i, s),
        floats(5, 2),
        whole(5, 3),
        floats(3, 2),
    ),
    "index_copy": (
        lambda x, i, s: x.index_copy(0, i, s),
        floats(5, 2),
        distinct(5, 3),
        floats(3, 2),
    ),
    "index_fill": (lambda x, i: x.index_fill(0, i, 2.5), floats(5, 2), whole(5, 3, low=-5)),
    "rows": (lambda x, i: x[i], floats(9, 5), whole(9, 4, 3, low=-9)),
    "columns": (lambda x, i: x[:, i], floats(9, 5), whole(5, 7, low=-5)),
    "points": (lambda x, i, j: x[i, j], floats(9, 5), whole(9, 7), whole(5, 7)),
    "points that are broadcast": (
        lambda x, i, j: x[i, j],
        floats(9, 5, 3),
        whole(9, 7, 1),
        whole(5, 2),
    ),
    "points around a slice": (
        lambda x, i, j: x[i, :, j],
        floats(9, 5, 3),
        whole(9, 7),
        whole(3, 7),
    ),
    "points behind a slice": (
        lambda x, i, j: x[:, i, j],
        floats(9, 5, 3),
        whole(5, 7),
        whole(3, 7),
    ),
    "points of a transposed one": (lambda x, i: x[1:, i], turned(9, 5), whole(5, 7)),
    "integers": (lambda x, i: x[i], whole(9, 5), whole(5, 7)),
    "index_put": (lambda x, i, v: x.index_put((i,), v), floats(6, 2), distinct(6, 3), floats(3, 2)),
    "index_put of a row": (
        lambda x, i, v: x.index_put((i,), v),
        floats(6, 2),
        whole(6, 3, low=-6),
        floats(2),
    ),
    "index_put accumulated": (
        lambda x, i, v: x.index_put((i,), v, accumulate=True),
        floats(6),
        whole(6, 14),
        floats(14),
    ),
    "assignment": (lambda x, i, v: _assigned(x, i, v), floats(6, 2), distinct(6, 3), floats(3, 2)),
    "embedding": (lambda i, w: F.embedding(i, w), whole(7, 4), floats(7, 3)),
    "embedding of columns": (lambda i, w: F.embedding(i[:, 1], w), whole(7, 4, 3), floats(7, 3)),
    "embedding of a transposed table": (lambda i, w: F.embedding(i, w), whole(7, 4), turned(7, 3)),
    "embedding at int32": (
        lambda i, w: F.embedding(i, w),
        whole(7, 4, dtype=torch.int32),
        floats(7, 3),
    ),
}


COPIES = {
    "pad": (lambda x: torch.constant_pad_nd(x, (1, 2, 0, 3), 3.5), floats(2, 3)),
    "pad with zeros": (lambda x: F.pad(x, (2, 0)), floats(2, 3, 4)),
    "pad that cuts off": (lambda x: F.pad(x, (-1, 2, 1, -2), value=-1.0), floats(5, 3)),
    "pad that leaves nothing": (lambda x: F.pad(x, (-3, 2), value=2.0), floats(5, 3)),
    "pad of integers": (lambda x: F.pad(x, (1, 1), value=7), whole(9, 2, 3)),
    "pad of bools": (lambda x: F.pad(x, (1, 1), value=True), mask(2, 3)),
    "flip": (lambda x: x.flip(0, 2), floats(2, 3, 4)),
    "flip of a transposed one": (lambda x: x.flip(0), turned(5, 3)),
    "roll": (lambda x: x.roll((1, -2), (0, 2)), floats(2, 3, 5)),
    "roll of all": (lambda x: x.roll(4), floats(2, 3)),
    "repeat": (lambda x: x.repeat(2, 1, 3), floats(4, 3)),
    "repeat of a number": (lambda x: x.repeat(3), floats()),
    "repeat_interleave": (lambda x: x.repeat_interleave(3, dim=1), floats(2, 3, 2)),
    "tril": (lambda x: x.tril(1), floats(2, 4, 5)),
    "triu": (lambda x: x.triu(-1), gapped(4, 5)),
    "triu of bools": (lambda x: x.triu(1), mask(4, 4)),
    "copy in another order": (lambda x: x.transpose(1, 2).reshape(2, 12), floats(2, 3, 4)),
    "diag_embed": (lambda x: x.diag_embed(), floats(3, 4)),
    "diag_embed beside the diagonal": (
        lambda x: (x.diag_embed(-2, 0, 2), x[0].diag(1)),
        turned(3, 4),
    ),
    "diag_embed of integers": (lambda x: x.diag_embed(1), whole(9, 3, 4)),
    "cat": (lambda x, y: torch.cat([x, y, x], 1), floats(2, 3), turned(2, 2)),
    "stack": (lambda x, y: torch.stack([x, y], -1), floats(2, 3), turned(2, 3)),
    "parts": (
        lambda x: tuple(p * 2 for p in x.chunk(3, 1)) + tuple(p * 3 for p in x.split([1, 4], 1)),
        floats(2, 5),
    ),
}
PRODUCTS = {
    "matmul": (lambda x, y: x @ y, floats(4, 5), floats(5, 3)),
    "matmul of a transposed one": (lambda x, y: x @ y.t(), floats(4, 5), floats(3, 5)),
    "batches": (torch.bmm, floats(2, 4, 5), floats(2, 5, 3)),
    "batches of a transposed one": (
        lambda x, y: x @ y.transpose(-1, -2),
        floats(2, 3, 4, 5),
        floats(2, 3, 6, 5),
    ),
    "broadcast batches": (lambda x, y: x @ y, floats(2, 1, 4, 5), floats(3, 5, 2)),
    "batches times a matrix": (lambda x, y: x @ y, floats(2, 4, 5), floats(5, 3)),
    "a matrix times batches": (lambda x, y: x @ y, floats(4, 5), floats(2, 5, 3)),
    "linear of doubles": (
        F.linear,
        *(floats(*s, dtype=torch.float64) for s in ((4, 5), (3, 5), (3,))),
    ),
    "linear of many doubles": (
        F.linear,
        *(floats(*s, dtype=torch.float64) for s in ((2, 30, 50), (40, 50), (40,))),
    ),
    "batches of doubles": (
        torch.bmm,
        floats(2, 40, 30, dtype=torch.float64),
        floats(2, 30, 5, dtype=torch.float64),
    ),
    "doubles times a vector": (
        lambda x, y: x @ y,
        floats(4, 5, dtype=torch.float64),
        floats(5, dtype=torch.float64),
    ),
    "einsum": (lambda x, y: torch.einsum("be,beh->bh", x, y), floats(6, 4), floats(6, 4, 5)),
    "embedding with a row that is padding": (
        lambda i, w: F.embedding(i, w, padding_idx=2),
        whole(7, 4),
        floats(7, 3),
    ),
}


def zeros_too(*shape):
    """Some lines are zeros."""
    return lambda g: (
        torch.rand(shape, generator=g)
        * (torch.rand(shape[0], *(1,) * (len(shape) - 1), generator=g) > 0.5)
    ).requires_grad_()


def infinite_too(*shape):
    return lambda g: torch.where(
        torch.rand(shape, generator=g) > 0.5, -math.inf, torch.rand(shape, generator=g)
    ).requires_grad_()


REDUCTIONS = {
    "norm": (lambda x: x.norm(), floats(3, 4)),
    "norm of rows": (lambda x: x / x.norm(dim=-1, keepdim=True), floats(3, 4)),
    "norm of columns": (lambda x: x.norm(dim=0), floats(3, 4)),
    "norm of zeros": (lambda x: x.norm(dim=-1), zeros_too(9, 2)),
    "how many are true": (
        lambda m: (m.sum(), m.sum(1), m.sum(0, keepdim=True), m[::2].t().sum(1)),
        mask(6, 5),
    ),
    "sum of narrow integers": (
        lambda n: (n.sum(), n.sum((0, 1))),
        whole(9, 6, 5, dtype=torch.int32),
    ),
    "absolute sum": (lambda x: x.norm(1, dim=1), floats(3, 4)),
    "largest": (lambda x: x.detach().norm(math.inf, dim=1), floats(3, 4)),
    **{
        f"norm of order {p}": (
            lambda x, p=p: (x.norm(p), x.norm(p, dim=1), x.norm(p, dim=(0, 2), keepdim=True)),
            zeros_too(4, 3, 2),
        )
        for p in (0, 0.5, 1.5, 3, 4.0, -1.0, math.inf, -math.inf)
    },
    "pdist": (lambda x: F.pdist(x, 3), floats(5, 3)),
    "normalize": (lambda x: F.normalize(x, dim=1), zeros_too(5, 3)),
    "pairwise_distance": (F.pairwise_distance, floats(5, 3), floats(5, 3)),
    "cosine_similarity": (F.cosine_similarity, floats(5, 3), floats(5, 3)),
    "logsumexp": (lambda x: x.logsumexp(1), floats(3, 4)),
    "logsumexp of columns": (lambda x: x.logsumexp(0, keepdim=True), floats(3, 4)),
    "logsumexp of all": (lambda x: x.logsumexp((0, 1, 2)), floats(3, 4, 2)),
    "logsumexp of infinite ones": (lambda x: x.logsumexp(1), infinite_too(9, 2)),
    "softmax of columns": (lambda x: x.softmax(0), floats(3, 4)),
    "softmax of channels": (lambda x: F.softmax(x, 1), floats(2, 3, 4, 5)),
    "log_softmax of channels": (lambda x: F.log_softmax(x, 1), floats(2, 3, 4, 5)),
    "log_softmax of a transposed one": (lambda x: F.log_softmax(x, 1), turned(4, 5)),
    "softmax of doubles": (lambda x: F.softmax(x, 1), floats(4, 5, dtype=torch.float64)),
    "var": (lambda x: x.var(1), floats(3, 4)),
    "std": (lambda x: x.std(dim=0, correction=0), floats(3, 4)),
    "std of equals": (lambda x: x.std(1), zeros_too(9, 2)),
    "max of all": (lambda x: x.detach().max(), floats(3, 4)),
    "min of all": (lambda x: x.detach().min(), floats(3, 4)),
    "prod": (lambda x: x.detach().prod(1), floats(3, 4)),
    "max": (lambda x: x.max() + x.min(), floats(3, 4)),
    "amax": (lambda x: x.amax(1), floats(3, 4)),
    "amax of ties": (lambda x: (x > 0).float().add(x * 0).amax((0, 1)), floats(3, 4)),
    "truth of numbers": (
        lambda x: (x.relu().any(1), x.all(), x.relu().count_nonzero(), x.relu().count_nonzero(1)),
        floats(3, 4),
    ),
    **{
        f"cdist, {p}": (lambda x, y, p=p: torch.cdist(x, y, p), floats(2, 5, 3), gapped(2, 4, 3))
        for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf)
    },
    "cdist of equals": (lambda x: torch.cdist(x, x * 1), zeros_too(9, 2)),
    "cdist of equals, far": (lambda x: torch.cdist(x, x * 1, math.inf), zeros_too(9, 2)),
    "cdist by products": (lambda x, y: torch.cdist(x, y), floats(2, 30, 3), turned(2, 27, 3)),
    "cdist of doubles": (
        lambda x, y: torch.cdist(x, y, 1),
        floats(5, 3, dtype=torch.float64),
        floats(4, 3, dtype=torch.float64),
    ),
    "dot": (torch.dot, floats(9), floats(9)),
    "matrix times vector": (lambda x, y: x @ y, floats(4, 5), floats(5)),
    "vector times matrix": (lambda x, y: x @ y, floats(4), floats(4, 5)),
    "batches times vector": (lambda x, y: x @ y, floats(2, 3, 4, 5), floats(5)),
    "vector times batches": (lambda x, y: x @ y, floats(4), floats(2, 4, 5)),
    "all and any": (lambda m: (m.all(), m.any(1), m.all(0)), mask(3, 4)),
    "sum of integers": (lambda i: (i.sum(), i.sum(1), i.amax(0)), whole(9, 3, 4)),
}


def _assigned(x, i, v):
    x = x * 1
    x[i] = v
    return x


IMAGE = floats(2, 3, 8, 6)
PLACES = floats(2, 4, 5, 2, low=-1.3, high=1.3)
POOLING = {
    "nearest": (lambda x: F.interpolate(x, scale_factor=2), IMAGE),
    "nearest to a size": (lambda x: F.interpolate(x, size=(5, 9), mode="nearest-exact"), IMAGE),
    "bilinear": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), IMAGE),
    "bilinear with corners": (
        lambda x: F.interpolate(x, size=(3, 11), mode="bilinear", align_corners=True),
        IMAGE,
    ),
    "bicubic": (lambda x: F.interpolate(x, size=(13, 4), mode="bicubic"), IMAGE),
    "linear": (lambda x: F.interpolate(x, size=7, mode="linear"), floats(2, 3, 40)),
    "trilinear": (
        lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"),
        floats(1, 2, 3, 4, 5),
    ),
    "interpolate channels last": (
        lambda x: F.interpolate(x.permute(0, 3, 1, 2), scale_factor=2, mode="bilinear"),
        floats(2, 4, 5, 3),
    ),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 4), floats(2, 3, 40)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), IMAGE),
    "avg_pool2d with padding": (lambda x: F.avg_pool2d(x, 3, 2, 1), IMAGE),
    "avg_pool2d without counting padding": (
        lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
        IMAGE,
    ),
    "avg_pool2d of part windows": (
        lambda x: F.avg_pool2d(x, (3, 2), (2, 3), ceil_mode=True, divisor_override=5),
        IMAGE,
    ),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), floats(1, 2, 4, 4, 6)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (4, 3)), IMAGE),
    "adaptive_avg_pool2d to one": (lambda x: F.adaptive_avg_pool2d(x, 1), IMAGE),
    "adaptive_avg_pool2d, unevenly": (lambda x: F.adaptive_avg_pool2d(x, (5, 4)), IMAGE),
    "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 7), floats(2, 3, 40)),
    "max_pool2d with padding": (lambda x: F.max_pool2d(x, 3, 2, 1), IMAGE),
    "max_pool2d with dilation": (lambda x: F.max_pool2d(x, 2, 1, dilation=2), IMAGE),
    "max_pool2d with positions": (lambda x: F.max_pool2d(x, 2, return_indices=True), IMAGE),
    "max_unpool2d": (
        lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, 2, return_indices=True), 2),
        IMAGE,
    ),
    "max_unpool1d of given positions": (
        lambda x, i: F.max_unpool1d(x, i, 2),
        turned(2, 3, 5),
        whole(10, 2, 3, 5),
    ),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (4, 3)), IMAGE),
    "adaptive_max_pool2d to one": (lambda x: F.adaptive_max_pool2d(x.transpose(2, 3), 1), IMAGE),
    "adaptive_max_pool1d, unevenly": (
        lambda x: F.adaptive_max_pool1d(x, 7, return_indices=True),
        floats(2, 3, 40),
    ),
    "adaptive_max_pool3d of doubles": (
        lambda x: F.adaptive_max_pool3d(x, (2, 3, 2)),
        floats(1, 2, 4, 4, 5, dtype=torch.float64),
    ),
    "max_pool1d": (lambda x: F.max_pool1d(x, 3, ceil_mode=True), floats(2, 3, 41)),
    "conv_transpose2d": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1),
        IMAGE,
        floats(3, 4, 4, 4),
    ),
    "unfold": (lambda x: F.unfold(x, 3, padding=1), IMAGE),
    "unfold, apart": (
        lambda x: F.unfold(x, (3, 2), dilation=(1, 2), padding=(4, 3), stride=(2, 3)),
        IMAGE,
    ),
    "unfold of doubles": (
        lambda x: F.unfold(x, 2, stride=2),
        floats(2, 3, 8, 6, dtype=torch.float64),
    ),
    "unfold channels last": (lambda x: F.unfold(x.permute(0, 3, 1, 2), 2), floats(2, 4, 5, 3)),
    "fold": (lambda x: F.fold(x, (6, 5), 3, padding=1), floats(2, 18, 30)),
    "fold, apart": (lambda x: F.fold(x, (7, 9), (3, 2), (2, 1), (1, 0), (2, 3)), turned(2, 12, 9)),
    "fold of doubles": (
        lambda x: F.fold(x, (4, 6), 2, stride=2),
        floats(2, 12, 6, dtype=torch.float64),
    ),
    "windows": (lambda x: x.unfold(1, 3, 2), floats(2, 9, 4)),
    "windows of the last dimension": (lambda x: x.unfold(-1, 4, 1) * 2, gapped(3, 9)),
    "windows of windows": (lambda x: x.unfold(2, 3, 1).unfold(3, 2, 2).amax((-1, -2)), IMAGE),
    "windows of doubles": (lambda x: x.unfold(0, 2, 3), floats(9, 2, dtype=torch.float64)),
    "grid_sample": (lambda x, g: F.grid_sample(x, g, align_corners=False), IMAGE, PLACES),
    "grid_sample of a grid that is an argument alone": (
        lambda x, g: F.grid_sample(x, g.detach(), align_corners=False),
        IMAGE,
        PLACES,
    ),
    "grid_sample, nearest": (
        lambda x, g: F.grid_sample(x, g, "nearest", "border", True),
        IMAGE,
        PLACES,
    ),
    "grid_sample, bicubic": (
        lambda x, g: F.grid_sample(x, g, "bicubic", "reflection", False),
        IMAGE,
        PLACES,
    ),
    "grid_sample of turned ones": (
        lambda x, g: F.grid_sample(
            x.permute(0, 3, 1, 2), g.transpose(1, 2), padding_mode="reflection", align_corners=True
        ),
        floats(2, 8, 6, 3),
        PLACES,
    ),
    "grid_sample of doubles": (
        lambda x, g: F.grid_sample(x, g, padding_mode="border", align_corners=False),
        floats(2, 3, 5, 4, dtype=torch.float64),
        floats(2, 7, 2, 2, dtype=torch.float64),
    ),
    "grid_sample in space": (
        lambda x, g: F.grid_sample(x, g, align_corners=True),
        floats(1, 2, 3, 4, 5),
        floats(1, 2, 3, 2, 3, low=-1.2, high=1.2),
    ),
    "a spatial transformer": (
        lambda x, t: F.grid_sample(
            x, F.affine_grid(t, (2, 3, 4, 7), align_corners=False), align_corners=False
        ),
        IMAGE,
        floats(2, 2, 3),
    ),
    "group_norm": (lambda x, w: F.group_norm(x, 3, w, w), floats(2, 6, 4, 4), floats(6)),
    "instance_norm": (lambda x: F.instance_norm(x), IMAGE),
}
ORDER = {
    "sort": (lambda x: tuple(x.sort(1)), floats(3, 70)),
    "sort of columns, descending": (lambda x: tuple(x.sort(0, descending=True)), floats(30, 4)),
    "sort of a transposed one": (lambda x: tuple(x.sort(0)), turned(5, 4)),
    "argsort": (lambda x: x.argsort(-1), floats(3, 7)),
    "topk": (lambda x: tuple(x.topk(3)), floats(4, 100)),
    "least": (lambda x: tuple(x.topk(2, 0, largest=False)), floats(9, 5)),
    "many": (lambda x: tuple(x.topk(70)), floats(2, 90)),
    "max along": (lambda x: tuple(x.max(1)), floats(3, 40)),
    "max across": (lambda x: tuple(x.max(1, keepdim=True)), floats(3, 7, 20)),
    "min along": (lambda x: tuple(x.min(0)), turned(5, 4)),
    "argmax": (lambda x: (x.argmax(), x.argmax(0), x.argmin(1, keepdim=True)), floats(3, 40)),
    "median": (lambda x: (x.median(), *x.median(1)), floats(3, 40)),
    "median of columns": (lambda x: tuple(x.median(0, keepdim=True)), turned(9, 5)),
    "median of equals": (lambda x: tuple(x.median(1)), zeros_too(5, 8)),
    "nanmedian": (lambda x: tuple((x / (x > 0)).nanmedian(1)), floats(4, 9)),
    "kthvalue": (lambda x: tuple(x.kthvalue(3, 1)), floats(4, 9, 2)),
    "kthvalue of equals": (lambda x: tuple(x.kthvalue(5, 0, keepdim=True)), whole(3, 40, 6)),
    "kthvalue of a transposed one": (lambda x: tuple(x.kthvalue(2, 1)), turned(5, 4, 3)),
    "last of a vector": (lambda x: tuple(x.kthvalue(9)), floats(9)),
    "sort in another order": (lambda x: tuple(x.sort(1, descending=True)), turned(5, 4, 3)),
    "argsort of the middle": (lambda x: x.movedim(0, 1).argsort(0), floats(5, 40, 3)),
    "kthvalue of doubles": (lambda x: tuple(x.kthvalue(7)), floats(4, 9, dtype=torch.float64)),
    "cumsum": (lambda x: x.cumsum(1), floats(3, 40)),
    "cumsum across": (lambda x: x.cumsum(0), floats(5, 20)),
    "cumsum of doubles": (lambda x: x.cumsum(0), floats(5, 20, dtype=torch.float64)),
    "cumsum of integers": (lambda x: (x.cumsum(1), x.t().cumsum(0)), whole(9, 5, 4)),
    "cumsum of a mask": (lambda m: m.cumsum(1) - 1, mask(5, 20)),
    "cumsum of short integers": (lambda i: i.cumsum(0), whole(9, 5, 4, dtype=torch.int32)),
    "searchsorted": (
        lambda x, v: (
            torch.searchsorted(x.sort().values, v),
            torch.searchsorted(x.sort().values, v, right=True),
        ),
        floats(9),
        floats(4, 5),
    ),
    "searchsorted in rows": (
        lambda x, v: torch.searchsorted(x.sort(1).values, v, out_int32=True),
        floats(3, 9),
        turned(3, 5),
    ),
    "searchsorted of doubles": (
        lambda x, v: torch.searchsorted(x.detach().cumsum(0), v),
        floats(9, low=0.0, dtype=torch.float64),
        floats(5, dtype=torch.float64),
    ),
    "bucketize": (
        lambda i: torch.bucketize(i, torch.tensor([1, 3, 3, 5]), right=True),
        whole(7, 4, 3),
    ),
    "cumprod": (lambda x: x.cumprod(1), floats(3, 6)),
    "cummax": (lambda x: tuple(x.cummax(1)), floats(3, 40)),
    "cummin across": (
        lambda x: tuple(x.cummin(0)),
        floats(5, 20, dtype=torch.float64),
    ),
    "cummax of whole numbers": (lambda i: tuple(i.cummax(1)), whole(9, 5, 4)),
    "cumprod of zeros": (lambda x: x.cumprod(0), zeros_too(7, 3)),
}


def lengths(rows, length):
    """True behind each row's end."""
    return lambda g: torch.arange(length) >= torch.randint(1, length + 1, (rows, 1), generator=g)


def offsets(g):
    """Where bags begin; some are empty."""
    return torch.cat(
        [torch.zeros(2, dtype=torch.int64), torch.randint(0, 21, (6,), generator=g).sort().values]
    )


def ctc(reduction="mean", zero_infinity=False, turn=False):
    """CTC of five sequences; lengths are tensors."""

    def loss(x, t, used, n):
        lp = (x.transpose(0, 1) if turn else x).log_softmax(-1)
        return F.ctc_loss(lp, t, used, n, reduction=reduction, zero_infinity=zero_infinity)

    return loss


HEADS = (floats(2, 3, 5, 4), floats(2, 3, 6, 4), floats(2, 3, 6, 4))
LOSSES = {
    "nll_loss": (
        lambda x, t, w: F.nll_loss(x, t, w.detach()),
        floats(4, 3),
        whole(3, 4),
        floats(3, low=0.1),
    ),
    "nll_loss of images": (
        lambda x, t: F.nll_loss(x, t, ignore_index=1),
        floats(2, 3, 4, 5),
        whole(3, 2, 4, 5),
    ),
    "cross_entropy of images": (
        lambda x, t, w: F.cross_entropy(x, t, w.detach(), ignore_index=0),
        floats(2, 3, 4, 5),
        whole(3, 2, 4, 5),
        floats(3, low=0.1),
    ),
    "cross_entropy, smoothed": (
        lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1, ignore_index=2),
        floats(9, 3),
        whole(3, 9),
    ),
    "cross_entropy of a transposed one": (
        lambda x, t: F.cross_entropy(x.t(), t),
        floats(5, 9),
        whole(5, 9),
    ),
    "cross_entropy of probabilities": (
        lambda x, y: F.cross_entropy(x, y.detach().softmax(1)),
        floats(4, 3),
        floats(4, 3),
    ),
    "kl_div": (
        lambda x, y: F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"),
        floats(4, 3),
        floats(4, 3),
    ),
    "binary_cross_entropy": (
        lambda x, y: F.binary_cross_entropy(x, y.detach()),
        floats(4, 3, low=0.1, high=0.9),
        floats(4, 3, low=0, high=1),
    ),
    "with logits, weighted": (
        lambda x, y, w: F.binary_cross_entropy_with_logits(
            x, y.detach(), weight=w.detach(), pos_weight=w.detach()[0] * 2
        ),
        floats(4, 3),
        floats(4, 3, low=0, high=1),
        floats(4, 3, low=0.1),
    ),
    "huber_loss": (F.huber_loss, floats(4, 3), floats(4, 3)),
    "smooth_l1_loss": (lambda x, y: F.smooth_l1_loss(x, y, beta=0.5), floats(4, 3), floats(4, 3)),
    "triplet_margin_loss": (F.triplet_margin_loss, floats(4, 3), floats(4, 3), floats(4, 3)),
    "gaussian_nll_loss": (F.gaussian_nll_loss, floats(3, 4), floats(3, 4), floats(3, 4, low=0)),
    "one_hot": (lambda i: F.one_hot(i, 5), whole(5, 2, 3)),
    "embedding_bag": (
        lambda i, w: F.embedding_bag(i, w, mode="mean"),
        whole(7, 4, 3),
        floats(7, 5),
    ),
    "embedding_bag with offsets": (
        lambda i, w, o: F.embedding_bag(i, w, o, mode="sum"),
        whole(7, 20),
        floats(7, 5),
        offsets,
    ),
    "embedding_bag, mean": (
        lambda i, w, o: F.embedding_bag(i, w, o),
        whole(7, 20),
        floats(7, 5, dtype=torch.float64),
        offsets,
    ),
    "embedding_bag, largest": (
        lambda i, w, o: F.embedding_bag(i, w, o, mode="max"),
        whole(7, 20),
        floats(7, 5),
        offsets,
    ),
    "embedding_bag, weighted": (
        lambda i, w, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s),
        whole(7, 20),
        floats(7, 5),
        offsets,
        floats(20),
    ),
    "embedding_bag without padding": (
        lambda i, w, o: tuple(
            F.embedding_bag(i, w, o, mode=m, padding_idx=2, include_last_offset=True)
            for m in ("mean", "max", "sum")
        ),
        whole(4, 20),
        floats(7, 5),
        offsets,
    ),
    "embedding_bag at columns": (
        lambda i, w, o: F.embedding_bag(i[:, 1], w, o[::2], mode="max"),
        whole(7, 20, 3),
        turned(7, 5),
        offsets,
    ),
    "embedding_bag of rows, largest": (
        lambda i, w: F.embedding_bag(i, w, mode="max", padding_idx=1),
        whole(3, 4, 3),
        floats(7, 5),
    ),
    "ctc_loss": (ctc(), floats(12, 5, 4), whole(4, 5, 3, low=1), whole(13, 5, low=6), whole(4, 5)),
    "ctc_loss, where some are not possible": (
        ctc("none", True, True),
        floats(5, 9, 4),
        whole(4, 5, 6, low=1),
        whole(10, 5),
        whole(7, 5, dtype=torch.int32),
    ),
    "ctc_loss of doubles": (
        ctc("sum"),
        floats(30, 5, 40, dtype=torch.float64),
        whole(40, 5, 9, low=1, dtype=torch.int32),
        whole(31, 5, low=20),
        whole(9, 5),
    ),
    "ctc_loss of targets in one row": (
        lambda x, t: F.ctc_loss(x.log_softmax(2), t, (9, 7, 8), (3, 2, 0)),
        floats(9, 3, 4),
        whole(4, 5, low=1),
    ),
    "ctc_loss of one": (
        lambda x, t: F.ctc_loss(x.log_softmax(1), t, (9,), (3,), blank=3),
        floats(9, 4),
        whole(3, 5),
    ),
    "attention": (F.scaled_dot_product_attention, *HEADS),
    "attention with a mask": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
        *HEADS,
        mask(5, 6),
    ),
    "attention with a mask of keys": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=~m[:, None, None]),
        *HEADS,
        lengths(2, 6),
    ),
    "attention with a bias": (
        lambda q, k, v, b: F.scaled_dot_product_attention(q, k, v, attn_mask=b.detach()),
        *HEADS,
        floats(3, 5, 6),
    ),
    "attention with a bias for queries": (
        lambda q, k, v, b: F.scaled_dot_product_attention(q, k, v, attn_mask=b.detach()),
        *HEADS,
        floats(2, 1, 5, 1),
    ),
    "attention without heads": (
        F.scaled_dot_product_attention,
        floats(2, 5, 4),
        floats(2, 6, 4),
        floats(2, 6, 3),
    ),
    "masked attention without heads": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
        floats(2, 5, 4),
        floats(2, 6, 4),
        floats(2, 6, 3),
        lengths(5, 6),
    ),
    "batch_norm by running statistics": (
        lambda x, m, v: F.batch_norm(x, m.detach(), v.detach(), m, m),
        floats(2, 3, 4, 4),
        floats(3),
        floats(3, low=0.1),
    ),
    "assignment to a part": (
        lambda x, v: _assigned(x, (slice(None), 0), v),
        floats(3, 4),
        floats(3),
    ),
    "assignment of a number to a part": (
        lambda x: _assigned(x, (slice(1, None, 2), ...), 0.5),
        floats(4, 3),
    ),
    "assignment of a number at a mask": (
        lambda x, m: _assigned(x, m, 0.5),
        floats(4, 3),
        mask(4, 3),
    ),
    "assignment of a number at a mask of rows": (
        lambda x, m: _assigned(x, m, 0.5),
        floats(4, 3),
        mask(4),
    ),
    "attention with dropout": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=0.2),
        *HEADS,
    ),
    "attention over what sees nothing": (
        lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, attn_mask=torch.zeros(5, 6, dtype=torch.bool)
        ),
        *HEADS,
    ),
    "normal, checked": (
        lambda x: torch.distributions.Normal(x, x.exp(), validate_args=True).log_prob(x.detach()),
        floats(5, 3),
    ),
    "categorical, checked": (
        lambda x, i: torch.distributions.Categorical(x.softmax(-1), validate_args=True).log_prob(i),
        floats(5, 3),
        whole(3, 5),
    ),
    "bernoulli, checked": (
        lambda x, m: torch.distributions.Bernoulli(x.sigmoid(), validate_args=True).log_prob(
            m.float()
        ),
        floats(5),
        mask(5),
    ),
}
CASES = {**INDEXING, **COPIES, **PRODUCTS, **REDUCTIONS, **POOLING, **ORDER, **LOSSES}


def called(function):
    """(operation, reason) of all that the versions of a compiled function call from Python."""
    runs = [r for version in function.versions for r in version.code.executables]
    return [
        (i.op, item.reason)
        for r in runs
        for item in r.items
        if item.kind == "eager"
        for i in item.instructions
    ]


@pytest.mark.parametrize("name", CASES)
def test_native_and_eager_for_other_values(name):
    f, *makers = CASES[name]
    inputs = [[make(torch.Generator().manual_seed(seed)) for make in makers] for seed in SEEDS]
    compiled = torch.compile(f, fullgraph=True)
    for args in inputs:
        for a, b in zip(*(with_gradients(g, args) for g in (compiled, f)), strict=True):
            if b is None:
                assert a is None or not a.any()
                continue
            assert a.dtype is b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-5)
    assert len(compiled.versions) == 1 and compiled.versions[0].hits == len(SEEDS) - 1
    assert not called(compiled)


@pytest.mark.parametrize(
    "kind", [torch.float32, torch.float64, torch.int64, torch.bfloat16], ids=str
)
def test_equals_and_nan_in_order_are_those_of_eager_execution(kind):
    generator = torch.Generator().manual_seed(4)
    functions = [
        lambda x: tuple(x.permute(2, 0, 1).sort(1)),
        lambda x: tuple(x.transpose(0, 2).sort(0, descending=True)),
        lambda x: tuple(x.sort(dim=-1, stable=True)),
        lambda x: tuple(x.kthvalue(7, 1)),
        lambda x: tuple(x.kthvalue(20, 1, keepdim=True)),
        lambda x: tuple(x.permute(2, 0, 1).kthvalue(1, 2)),
    ]
    for f in functions:
        compiled = torch.compile(f, fullgraph=True)
        for _ in range(3):
            x = torch.randint(0, 4, (3, 40, 5), generator=generator).to(kind)
            if kind.is_floating_point:
                x[torch.rand(x.shape, generator=generator) > 0.9] = float("nan")
                x[torch.rand(x.shape, generator=generator) > 0.9] = -0.0
            for a, b in zip(compiled(x), f(x), strict=True):
                assert a.stride() == b.stride() and a.dtype is b.dtype
                np.testing.assert_array_equal(a.double().numpy(), b.double().numpy())
        assert not called(compiled)


# Functions with positions that they take and ones that they refuse.
REFUSED = {
    "gather": (lambda x, i: x.gather(0, i), (3,), ([0, 1], [0, 3])),
    "gather, negative": (lambda x, i: x.gather(0, i), (3,), ([0, 1], [0, -1])),
    "scatter": (lambda x, i: x.scatter(0, i, 1.0), (3,), ([0, 1], [3, 0])),
    "scatter_add": (lambda x, i: x.scatter_add(0, i, x), (3,), ([0, 1], [7, 0])),
    "index_select": (lambda x, i: x.index_select(0, i), (3,), ([0, 1], [0, 3])),
    "index_add": (lambda x, i: x.index_add(0, i, x[:2]), (3,), ([0, 1], [-1, 0])),
    "index": (lambda x, i: x[i], (3,), ([0, -3], [0, 3])),
    "index, negative": (lambda x, i: x[:, i], (2, 3), ([0, -3], [-4, 0])),
    "second index": (lambda x, i: x[i, i], (5, 3), ([0, -3], [4, 0])),
    "index_put": (lambda x, i: x.index_put((i,), torch.ones(2)), (3,), ([0, 1], [0, 3])),
    "embedding of a transposed table": (
        lambda x, i: F.embedding(i, x.t()),
        (2, 3),
        ([0, 1], [0, 3]),
    ),
    "take_along_dim": (lambda x, i: x.take_along_dim(i, 0), (3,), ([0, -3], [0, 3])),
    "embedding_bag": (lambda x, i: F.embedding_bag(i[:1], x, i), (3, 2), ([0, 1], [1, 1])),
    "embedding_bag of later ones": (
        lambda x, i: F.embedding_bag(i[:1], x, i),
        (3, 2),
        ([0, 1], [0, 2]),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_positions_outside_raise_what_eager_execution_raises(name):
    f, shape, given = REFUSED[name]
    x = torch.arange(float(math.prod(shape))).reshape(shape)
    good, bad = map(torch.tensor, given)
    compiled = torch.compile(f, fullgraph=True)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x, good).numpy(), f(x, good).numpy())
    assert called(compiled) == []
    with pytest.raises((IndexError, RuntimeError)) as expected:
        f(x, bad)
    with pytest.raises(type(expected.value)) as found:
        compiled(x, bad)
    assert str(found.value).splitlines()[0] == str(expected.value).splitlines()[0]
    assert "test_native_items.py" in full_text(found.value)
    np.testing.assert_array_equal(compiled(x, good).numpy(), f(x, good).numpy())


def drawn(f, *args):
    """What three calls of a function that draws random numbers give, and the next number of the
    stream.
    """
    torch.manual_seed(11)
    return [np.array(f(*args).detach().numpy()) for _ in range(3)] + [torch.rand(3).numpy()]


DRAWS = {
    "dropout": lambda x: F.dropout(x, 0.3),
    "dropout of a transposed one": lambda x: F.dropout(x.t(), 0.3),
    "dropout2d": lambda x: F.dropout2d(x.reshape(5, 4, 2, 2), 0.5),
    "bernoulli_": lambda x: torch.empty(3, 7).bernoulli_(0.4) + x[0, 0],
    "bernoulli_ of bools": lambda x: (
        torch.empty(3, 7, dtype=torch.bool).bernoulli_(0.4) & (x[0, 0] < 9)
    ),
    "rand": lambda x: torch.rand(3, 7) + x[0, 0],
    "rand of doubles": lambda x: torch.rand(33, dtype=torch.float64) + x[0, 0],
    "rand_like of a transposed one": lambda x: torch.rand_like(x.t()) + x.t(),
    "randn": lambda x: torch.randn(4, 8) + x[0, 0],
    "randn, not in blocks": lambda x: torch.randn(5, 7) + x[0, 0],
    "normal_": lambda x: torch.empty(20).normal_(2.0, 3.0) + x[0, 0],
    "randint": lambda x: torch.randint(3, 17, (30,)) + x[0, 0].long(),
    "normal of tensors": lambda x: torch.normal(x, x.abs()),
    "normal of a mean": lambda x: torch.normal(x, 0.5),
    "normal of deviations": lambda x: torch.normal(0.5, x.abs()),
    "exponential_": lambda x: torch.empty(5, 7).exponential_(2.0) + x[0, 0],
    "gumbel_softmax": lambda x: F.gumbel_softmax(x, tau=0.5),
    "rsample": lambda x: torch.distributions.Normal(x, x.exp(), validate_args=False).rsample(),
    "multinomial": lambda x: torch.multinomial(x.abs(), 1),
    "multinomial of a vector": lambda x: torch.multinomial(x[2].abs(), 1) + torch.rand(20)[0],
    "multinomial of doubles": lambda x: torch.multinomial(x.double().softmax(-1), 1),
    "multinomial of several": lambda x: torch.multinomial(x.abs(), 7),
    "multinomial of many": lambda x: torch.multinomial(x.abs().repeat(1, 9), 90),
    "multinomial with replacement": lambda x: torch.multinomial(
        x.t().softmax(-1), 40, replacement=True
    ),
    "multinomial of doubles with replacement": lambda x: torch.multinomial(
        x.abs().double(), 9, replacement=True
    ),
    "categorical": lambda x: torch.distributions.Categorical(logits=x, validate_args=False).sample(
        (3,)
    ),
    "uniform_": lambda x: torch.empty(5, 70).uniform_(-0.3, 2.5) + x[0, 0],
    "uniform_, in place of others": lambda x: (x * 1).uniform_(3, 3.0000005) * 1,
    "bernoulli of probabilities": lambda x: torch.bernoulli(x.sigmoid()),
    "bernoulli of doubles": lambda x: torch.bernoulli(x.t().double().sigmoid().contiguous()),
    "bernoulli_ of probabilities": lambda x: (x * 1).bernoulli_(x[0].abs()) + 1,
    "bernoulli of a distribution": lambda x: torch.distributions.Bernoulli(
        logits=x, validate_args=False
    ).sample((2,)),
    "randperm": lambda x: torch.randperm(300) + x[0, 0].long(),
    "randperm of two": lambda x: x[:2][torch.randperm(2)],
    "two generators": lambda x: torch.rand(20, generator=OTHER_STREAM) + torch.rand(20),
}
OTHER_STREAM = torch.Generator()


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_are_those_of_eager_execution(name):
    f, x = DRAWS[name], torch.linspace(-1.0, 1.0, 80).reshape(5, 16)
    compiled = torch.compile(f, fullgraph=True)
    OTHER_STREAM.manual_seed(5)
    expected = drawn(f, x)
    OTHER_STREAM.manual_seed(5)
    for a, b in zip(drawn(compiled, x), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    assert called(compiled) == [] and compiled.versions[0].hits == 2


def test_another_stream_for_bernoulli_numbers_is_another_version():
    f = lambda x: F.dropout(x, 0.5)
    compiled, x = torch.compile(f), torch.ones(60)
    compiled(x), compiled(x)
    for choice in ("mkl", "auto", "mkl"):
        random_mkl.set_vendor_streams(choice)
        try:
            for a, b in zip(drawn(compiled, x), drawn(f, x), strict=True):
                np.testing.assert_array_equal(a, b)
        finally:
            random_mkl.set_vendor_streams("auto")
    assert len(compiled.versions) == 2


def test_a_negative_deviation_is_refused():
    compiled = torch.compile(lambda m, s: torch.normal(m, s), fullgraph=True)
    for _ in range(2):
        compiled(torch.zeros(20), torch.ones(20))
    assert called(compiled) == []
    for bad in (-1.0, float("nan")):
        with pytest.raises(RuntimeError, match="std >= 0.0"):
            compiled(torch.zeros(20), torch.full((20,), bad))


def test_weights_that_are_none_are_refused():
    """Before a number is drawn."""
    for k, replacement in ((1, False), (3, True)):
        compiled = torch.compile(
            lambda w, k=k, r=replacement: torch.multinomial(w, k, r), fullgraph=True
        )
        good = torch.rand(2, 20)
        compiled(good), compiled(good)
        assert called(compiled) == []
        for wrong in (-1.0, math.nan, math.inf, None):
            bad = torch.zeros(2, 20) if wrong is None else good.clone()
            bad[1, 7] = wrong or 0.0
            torch.manual_seed(3)
            with pytest.raises(RuntimeError) as expected:
                torch.multinomial(bad, k, replacement)
            with pytest.raises(RuntimeError) as found:
                compiled(bad)
            assert str(found.value).splitlines()[0] == str(expected.value).splitlines()[0]
            first = torch.rand(1)
            torch.manual_seed(3)
            assert torch.equal(torch.rand(1), first)


def test_alignments_that_are_not_possible_are_refused():
    compiled = torch.compile(F.ctc_loss, fullgraph=True)
    lp, good = (
        torch.rand(7, 2, 4).log_softmax(-1),
        [torch.tensor(v) for v in ([[1, 2], [3, 1]], [7, 6], [2, 1])],
    )
    for _ in range(2):
        assert torch.equal(compiled(lp, *good), F.ctc_loss(lp, *good))
    assert called(compiled) == []
    for place, values in (
        (0, [[1, 4], [3, 1]]),
        (0, [[-1, 2], [3, 1]]),
        (1, [8, 6]),
        (1, [7, -1]),
        (2, [3, 1]),
        (2, [2, -1]),
    ):
        bad = [*good]
        bad[place] = torch.tensor(values)
        with pytest.raises(RuntimeError) as expected:
            F.ctc_loss(lp, *bad)
        with pytest.raises(RuntimeError) as found:
            compiled(lp, *bad)
        assert str(found.value).splitlines()[0] == str(expected.value).splitlines()[0]
    # behind the label of the second sequence, where nobody looks
    bad[0] = torch.tensor([[1, 2], [3, 9]])
    assert torch.equal(compiled(lp, bad[0], *good[1:]), compiled(lp, *good))


def test_explaining_a_step_draws_nothing():
    compiled = torch.compile(lambda x: F.dropout(x, 0.5) + torch.randn(20))
    for _ in range(2):
        compiled(torch.ones(20))
    torch.manual_seed(0)
    first = torch.rand(2).tolist()
    torch.manual_seed(0)
    assert "normal" in str(compiled.explain())
    assert torch.rand(2).tolist() == first


def test_streams_of_several_threads_do_not_mix():
    """Each number of a stream is drawn once, whoever draws it."""
    import threading

    compiled = torch.compile(lambda x: torch.rand(5000) + x)
    zero = torch.zeros(())
    compiled(zero), compiled(zero)
    torch.manual_seed(1)
    expected = torch.rand(80 * 5000).numpy().reshape(80, 5000)
    torch.manual_seed(1)
    made = []

    def work(f):
        for _ in range(40):
            made.append(f())

    threads = [
        threading.Thread(target=work, args=(f,))
        for f in (lambda: compiled(zero), lambda: torch.rand(5000))
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    found = {row.numpy().tobytes() for row in made}
    assert found == {row.tobytes() for row in expected}


def test_explaining_a_call_with_a_class_among_its_arguments():
    compiled = torch.compile(lambda s, x: torch.searchsorted(s, x))
    for _ in range(2):
        compiled(torch.arange(5.0), torch.rand(9))
    assert "int64" in str(compiled.explain())
