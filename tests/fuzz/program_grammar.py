"""What random programs are made of: statements with places in them, filled for the values that the
program has at that line.

A template is Python with places in braces. A place is filled with the name of a variable, a number,
an index, a dtype ...; the methods of `Fill` say how. Most are filled for the first tensor that the
statement names, so that shapes often fit.
"""

from __future__ import annotations

import random
import re
from typing import Any

PRELUDE = """\
import contextlib
import copy
import functools
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

twice = lambda t: t * 2
g = torch.Generator().manual_seed({seed})
log = []
state = {{"n": 0, "mean": torch.zeros(4), "scale": 1.5}}
"""

FUNCTIONS = {
    "Square": """\
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return 2 * x * grad
""",
    "Step": """\
class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return (x > 0).to(x.dtype)
    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.k, None
""",
    "Pair": """\
class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * 2, x * y
    @staticmethod
    def backward(ctx, first, second):
        x, y = ctx.saved_tensors
        return (first * 2 + second * y).sum_to_size(x.shape), (second * x).sum_to_size(y.shape) if ctx.needs_input_grad[1] else None
""",
    "Double": """\
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)
    @staticmethod
    def backward(ctx, grad):
        return grad * 2
""",
    "Three": """\
class Three(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y, places = x * 3, x.argsort(-1, stable=True) if x.dim() else x.long()
        ctx.mark_non_differentiable(places)
        ctx.save_for_backward(x, y)
        return y, places, x.sin()
    @staticmethod
    def backward(ctx, first, second, third):
        x, y = ctx.saved_tensors
        return first * 3 + third * x.cos() + 0 * y
""",
    "Lazy": """\
class Lazy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        return x + 1, y.clone()
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, first, second):
        log.append((first is None, second is None))
        return first, second
""",
    "Halves": """\
class Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.flatten()[::2].clone(), x.flatten()[1::2].clone()
    @staticmethod
    def backward(ctx, even, odd):
        whole = even.new_zeros(ctx.shape).flatten()
        whole[::2], whole[1::2] = even, odd
        return whole.view(ctx.shape)
""",
    "pieces": """\
def pieces(t, count):
    seen = 0
    try:
        for i in range(count):
            seen = seen + i
            yield t * i + seen
    finally:
        log.append(seen)
""",
    "adder": """\
def adder(start, held=[0]):
    total = start
    def add(t):
        nonlocal total
        total = total + t
        held[0] += 1
        return total * held[0]
    return add
""",
    "scaled": """\
@contextlib.contextmanager
def scaled(name, k):
    before = state[name]
    state[name] = before * k
    try:
        yield state[name]
    finally:
        state[name] = before
""",
}

BLOCK = """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.full((4,), 0.5))
        self.register_buffer("seen", torch.zeros(4))
        self.calls = 0
    def forward(self, x):
        self.calls += 1
        if self.training:
            self.seen = 0.9 * self.seen + 0.1 * x.detach().reshape(-1, 4).mean(0)
        return x + self.scale * torch.tanh(self.inner(x))
"""

MODULES = [  # the constructor, and an input that fits
    ("nn.Linear(4, 3)", "torch.randn(2, 4, generator=g)"),
    ("nn.Linear(4, 4, bias=False)", "torch.randn(3, 4, generator=g)"),
    ("nn.Bilinear(4, 4, 2)", None),
    (
        "nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))",
        "torch.randn(3, 4, generator=g)",
    ),
    (
        "nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Dropout(0.3))",
        "torch.randn(3, 4, generator=g)",
    ),
    ("nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])", None),
    ("nn.LayerNorm(4)", "torch.randn(2, 3, 4, generator=g)"),
    ("nn.LayerNorm((3, 4))", "torch.randn(2, 3, 4, generator=g)"),
    ("nn.RMSNorm(4)", "torch.randn(2, 3, 4, generator=g)"),
    ("nn.BatchNorm1d(4)", "torch.randn(3, 4, generator=g)"),
    ("nn.BatchNorm1d(3, momentum=None)", "torch.randn(2, 3, 4, generator=g)"),
    ("nn.BatchNorm2d(3)", "torch.randn(2, 3, 4, 4, generator=g)"),
    (
        "nn.InstanceNorm1d(3, affine=True, track_running_stats=True)",
        "torch.randn(2, 3, 4, generator=g)",
    ),
    ("nn.GroupNorm(2, 4)", "torch.randn(3, 4, generator=g)"),
    ("nn.Conv1d(3, 2, 2)", "torch.randn(2, 3, 4, generator=g)"),
    ("nn.Conv2d(3, 2, 3, padding=1)", "torch.randn(2, 3, 4, 4, generator=g)"),
    (
        "nn.Conv2d(3, 3, 2, groups=3, stride=2, padding_mode='circular', padding=1)",
        "torch.randn(2, 3, 4, 4, generator=g)",
    ),
    ("nn.ConvTranspose1d(3, 2, 2, stride=2)", "torch.randn(2, 3, 4, generator=g)"),
    ("nn.Dropout(0.5)", "torch.randn(2, 3, 4, generator=g)"),
    ("nn.AlphaDropout(0.2)", "torch.randn(2, 3, 4, generator=g)"),
    ("nn.Dropout1d(0.4)", "torch.randn(2, 3, 4, generator=g)"),
    ("nn.PReLU()", "torch.randn(2, 3, 4, generator=g)"),
    ("nn.PReLU(3)", "torch.randn(2, 3, 4, generator=g)"),
    ("nn.Embedding(5, 4)", "torch.tensor([[0, 4], [1, 1]])"),
    ("nn.Embedding(5, 4, padding_idx=1, max_norm=1.0)", "torch.tensor([[0, 4], [1, 1]])"),
    ("nn.EmbeddingBag(5, 4, mode='mean')", "torch.tensor([[0, 4], [1, 1]])"),
    ("nn.RNN(4, 3, batch_first=True)", "torch.randn(2, 3, 4, generator=g)"),
    ("nn.GRU(4, 3, bidirectional=True)", "torch.randn(2, 3, 4, generator=g)"),
    ("nn.LSTM(4, 3, num_layers=2, dropout=0.2)", "torch.randn(2, 3, 4, generator=g)"),
    ("nn.LSTMCell(4, 3)", "torch.randn(2, 4, generator=g)"),
    ("nn.GRUCell(4, 4)", "torch.randn(2, 4, generator=g)"),
    ("nn.RNNCell(4, 4, nonlinearity='relu')", "torch.randn(2, 4, generator=g)"),
    ("nn.ParameterList([torch.ones(4), torch.zeros(4)])", None),
    ("nn.MultiheadAttention(4, 2, batch_first=True)", None),
    (
        "nn.TransformerEncoderLayer(4, 2, 8, dropout=0.1, batch_first=True)",
        "torch.randn(2, 3, 4, generator=g)",
    ),
    ("nn.MaxPool1d(2)", "torch.randn(2, 3, 4, generator=g)"),
    ("nn.AdaptiveAvgPool2d((2, 1))", "torch.randn(2, 3, 4, 4, generator=g)"),
    ("nn.Flatten()", "torch.randn(2, 3, 4, generator=g)"),
    ("nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))", "torch.randn(2, 4, generator=g)"),
    ("nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3))", "torch.randn(2, 4, generator=g)"),
    ("Block()", "torch.randn(2, 4, generator=g)"),
]

OPTIMIZERS = [
    "torch.optim.SGD({ps}, lr=0.1)",
    "torch.optim.SGD({ps}, lr=0.05, momentum=0.9, weight_decay=0.01)",
    "torch.optim.SGD({ps}, lr=0.05, momentum=0.9, nesterov=True)",
    "torch.optim.Adam({ps}, lr=0.01)",
    "torch.optim.Adam({ps}, lr=0.01, amsgrad=True, weight_decay=0.1)",
    "torch.optim.AdamW({ps}, lr=0.01)",
    "torch.optim.RMSprop({ps}, lr=0.01, momentum=0.5, centered=True)",
    "torch.optim.Adagrad({ps}, lr=0.1)",
    "torch.optim.Adadelta({ps})",
    "torch.optim.Adamax({ps})",
    "torch.optim.NAdam({ps})",
    "torch.optim.RAdam({ps})",
    "torch.optim.ASGD({ps})",
    "torch.optim.Rprop({ps})",
]
SCHEDULES = [
    "torch.optim.lr_scheduler.StepLR({o}, 2, gamma=0.5)",
    "torch.optim.lr_scheduler.CosineAnnealingLR({o}, 5)",
    "torch.optim.lr_scheduler.ExponentialLR({o}, 0.9)",
    "torch.optim.lr_scheduler.LambdaLR({o}, lambda epoch: 0.5 ** epoch)",
    "torch.optim.lr_scheduler.LinearLR({o}, total_iters=3)",
    "torch.optim.lr_scheduler.OneCycleLR({o}, 0.1, total_steps=50, cycle_momentum=False)",
]

VIEWS = """
{x}.transpose({d}, {d}) | {x}.t() | {x}.mT | {x}.T | {x}.permute({perm}) | {x}.movedim({d}, {d}) | {x}.swapaxes({d}, {d})
{x}.unsqueeze({d}) | {x}.squeeze() | {x}.squeeze({d}) | {x}.view(-1) | {x}.view({shape}) | {x}.reshape({shape}) | {x}.reshape(-1)
{x}.flatten() | {x}.flatten({d}, {d}) | {x}.unflatten({d}, (-1, {j})) | {x}.expand(2, *{1}.shape) | {x}.expand_as({y})
{x}.broadcast_to((2, *{1}.shape)) | {x}.narrow({d}, {j}, {j}) | {x}.select({d}, {j}) | {x}[{ix}] | {x}[{ix}] | {x}[{ix}] | {x}.diagonal()
{x}.diagonal({j}, {d}, {d}) | {x}.unfold({d}, {j}, {j}) | {x}.chunk({j}, {d})[0] | {x}.chunk(2, {d})[-1] | {x}.split({j}, {d})[-1]
{x}.unbind({d})[{j}] | {x}.unbind({d})[-1] | {x}.tensor_split({j}, {d})[0] | {x}.as_strided({strided}) | {x}.view_as({s}) | {x}.real
torch.view_as_real({c}) | torch.view_as_complex({x}) | {c}.imag | {c}.real | {x}.detach() | {x}.data | {x}.view(torch.int32) | {x}.contiguous()
{x}.view(torch.uint8) | {x}.positive() | {x}.to({x}.dtype) | {x}.ravel() | torch.atleast_2d({x})
torch.broadcast_tensors({x}, {y})[1] | torch.hsplit({x}, 2)[0] | {x}.requires_grad_() | {x}.alias_copy() | {x}.swapdims(0, -1) | {x}.unsafe_chunk(2)[0]
{x}.unflatten(-1, (2, -1)).transpose(-1, -2) | {x}.reshape(*{1}.shape[:-1], -1, 2).transpose(-1, -2).flatten(-2) | {x}[..., None].expand(*{1}.shape, 2) | {x}.squeeze(0).unsqueeze(-1) | {x}.view({1}.shape)[None][..., 0]
{x}.movedim(0, -1).flatten(0) | {x}.as_strided({1}.shape, {1}.stride()) | {x}[1:][::2] | {x}.mT[1:].mT | {x}.unbind(0)[0].view(-1) | {x}.flatten().view({shape})[:1] | {x}.split([1, {1}.shape[0] - 1])[1][..., :2]
"""

RESULTS = """
{f}.exp() | {f}.sin() | torch.tanh({f}) | {f}.sigmoid() | {f}.relu() | {x}.abs() | {x}.neg() | -{x} | {x}.sign() | {f}.sqrt() | {f}.log1p()
{f}.rsqrt() | {f}.reciprocal() | {x}.square() | {f}.erf() | {f}.floor() | {f}.round() | {f}.trunc() | {f}.frac() | {f}.expm1() | {f}.atan()
F.gelu({f}) | F.silu({f}) | F.softplus({f}) | F.elu({f}) | F.leaky_relu({f}) | F.hardtanh({f}) | F.selu({f}) | F.hardswish({f}) | F.mish({f})
{x} + {y} | {x} - {y} | {x} * {y} | {x} / {y} | {x} // {y} | {x} % {y} | {f} ** 2 | {f} ** {k} | {x} * {k} | {x} + {k} | {k} - {x} | {k} / {x}
{x} == {y} | {x} > {y} | {x} <= {k} | {b} & {b} | {b} | ~{b} | torch.where({b}, {x}, {y}) | torch.where({x} > {k}, {x}, {k}) | torch.maximum({x}, {y})
torch.minimum({x}, {y}) | torch.fmod({x}, {y}) | torch.atan2({f}, {f}) | torch.add({x}, {y}, alpha={k}) | torch.sub({x}, {y}, alpha={k})
torch.addcmul({x}, {y}, {y}, value={k}) | torch.addcdiv({f}, {f}, {f}, value={k}) | torch.lerp({x}, {y}, {k}) | torch.hypot({f}, {f}) | {x}.clamp({k})
{x}.clamp(-1, 1) | {x}.clamp(max={y}) | {x}.sum() | {x}.sum({d}) | {x}.sum({d}, keepdim=True) | {x}.mean() | {f}.mean({d}) | {x}.prod()
{x}.prod({d}) | {x}.max() | {x}.min() | {x}.max({d}) | {x}.min({d}).values | {x}.amax({d}) | {x}.amin() | {x}.argmax({d}) | {x}.argmin() | {f}.var()
{f}.var({d}, unbiased=False) | {f}.std({d}) | {f}.norm() | {f}.norm(1, {d}) | {x}.any() | {x}.all({d}) | {f}.logsumexp({d}) | {x}.count_nonzero()
{x}.cumsum({d}) | {x}.cumprod({d}) | {x}.cummax({d}) | {f}.logcumsumexp({d}) | {f}.softmax({d}) | {f}.log_softmax({d}) | {x}.median() | {f}.quantile(0.5)
{x}.sort({d}) | {x}.sort(dim={d}, descending=True, stable=True).values | {x}.argsort(dim={d}, stable=True) | {x}.topk({j}) | {x}.kthvalue({j}) | {x}.unique()
{x}.diff() | {x}.flip({d}) | {x}.flip(0) | {x}.roll({j}, {d}) | {x}.rot90() | {x}.tril({j}) | {x}.triu({j}) | {x}.repeat(2, 1) | {x}.tile({j})
{x}.repeat_interleave({j}, {d}) | torch.cat([{x}, {s}], {d}) | torch.stack([{x}, {s}], {d}) | torch.cat([{x}, {x}.flip({d})], {d}) | torch.outer({x}, {y})
{x} @ {y} | {x} @ {x}.mT | {x}.mT @ {x} | torch.matmul({x}, {y}) | torch.bmm({x}, {x}.mT) | torch.einsum('ij,kj->ik', {x}, {y}) | {x}.dot({y})
torch.einsum('...i,...i->...', {x}, {y}) | torch.kron({x}, {y}) | torch.addmm({x}, {x}, {x}.mT) | torch.baddbmm({x}, {x}, {y}) | torch.cdist({f}, {f})
torch.tensordot({x}, {x}, dims=1) | torch.linalg.vector_norm({f}, 2, {d}) | F.normalize({f}, dim={d}) | F.layer_norm({f}, {1}.shape[-1:]) | F.one_hot({i}.abs() % 4, 4)
F.layer_norm({f}, {1}.shape) | F.pad({x}, (1, 1)) | F.pad({f}, (1, 0), mode='replicate') | F.dropout({f}, 0.3) | F.linear({f}, {f}) | F.glu({f}) | F.unfold({f}, 2)
F.conv1d({f}, {f}) | F.conv2d({f}, {f}, padding=1) | F.avg_pool1d({f}, 2) | F.max_pool1d({f}, 2) | F.max_pool2d({f}, 2, return_indices=True) | F.interpolate({f}, scale_factor=2)
F.adaptive_avg_pool1d({f}, 2) | F.scaled_dot_product_attention({f}, {f}, {f}) | F.batch_norm({f}, None, None, training=True) | F.group_norm({f}, 2) | F.instance_norm({f})
F.embedding({i} % 3, {f}) | {x}.gather({d}, {i}) | {x}.index_select({d}, {ids}) | {x}.take({ids}) | torch.take_along_dim({x}, {x}.argsort(dim={d}), {d}) | {x}.masked_select({b})
{x}.masked_fill({b}, {k}) | {x}.masked_fill({x} > {k}, {k}) | {x}.scatter({d}, {zeros}, {k}) | {x}.scatter_add({d}, {zeros}, {x}) | {x}.index_add({d}, {ids}, {x})
{x}.index_fill({d}, {ids}, {k}) | {x}.index_copy({d}, {ids}, {x}) | {x}.index_put(({ids},), {x}[:1]) | {x}.nonzero() | {x}.clone() | {x}.clone().copy_({y})
{x}.to({dt}) | {x}.double() | {x}.float() | {x}.half() | {x}.bfloat16() | {x}.long() | {x}.bool() | {x}.int() | {x}.type_as({y}) | {x}.new_zeros({size})
torch.zeros_like({x}) | torch.ones_like({f}, requires_grad=True) | torch.full_like({x}, {k}) | {x}.new_full({size}, {k}) | {x}.new_tensor([{k}, 2]) | {x}.nan_to_num()
torch.rand({size}, generator=g) | torch.randn({size}, generator=g) | torch.randint(0, 5, {size}, generator=g) | torch.arange({j}, {j} + 3) | torch.bernoulli(torch.full({size}, 0.4), generator=g)
torch.randperm(4, generator=g) | torch.rand_like({f}) | torch.randn({size}) | torch.tensor([{k}, 1.5]) | torch.eye(3) | torch.linspace(0, 1, 4) | torch.full({size}, {k})
torch.zeros({size}, dtype={dt}) | torch.ones({size}, requires_grad=True) | torch.tensor({k}) | torch.empty({size}).fill_({k}) | torch.multinomial({f}.softmax(-1), 1, generator=g)
torch.complex({f}, {f}) | torch.polar({f}.abs(), {f}) | {c} * {c} | {c}.abs() | {c}.angle() | {c} @ {c}.mH | torch.fft.fft({x}) | torch.fft.rfft({f}) | torch.fft.ifft({x}).real
torch.linalg.inv({f} @ {1}.mT + 3 * torch.eye({1}.shape[-2])) | torch.linalg.det({f}) | torch.linalg.solve({f}, {f}) | torch.linalg.cholesky({f} @ {1}.mT + 3 * torch.eye({1}.shape[-2])) | torch.trace({x})
F.mse_loss({f}, {f}) | F.l1_loss({f}, {s}) | F.smooth_l1_loss({f}, {s}) | F.huber_loss({f}, {s}, reduction='none') | F.cross_entropy({f}, {f}.argmax(1)) | F.cross_entropy({f}, {f}.softmax(1))
F.nll_loss({f}.log_softmax(1), {f}.argmin(1)) | F.binary_cross_entropy_with_logits({f}, {f}.sigmoid()) | F.binary_cross_entropy({f}.sigmoid(), ({f} > 0).float()) | F.kl_div({f}.log_softmax(-1), {f}.softmax(-1))
F.cosine_similarity({f}, {f}, dim={d}) | F.cosine_embedding_loss({f}, {f}, torch.ones({1}.shape[0])) | F.triplet_margin_loss({f}, {f}, {f}) | F.gaussian_nll_loss({f}, {f}, {f}.abs() + 0.1) | F.margin_ranking_loss({f}, {f}, {f}.sign())
torch.bincount({i}.flatten().abs() % 100) | torch.histc({f}, 4) | torch.searchsorted({x}.flatten().sort().values, {x}) | torch.bucketize({x}, torch.tensor([-1., 0., 1.])) | torch.meshgrid({x}, {x}, indexing='ij')[0] | torch.cross({x}, {y}, dim=-1)
torch.logical_and({x}, {y}) | torch.isclose({f}, {f}) | torch.bitwise_xor({i}, {i}) | {i} << 1 | {i} // 3 | {i} % 3 | {i} / 2 | {i}.float().mean() | torch.gcd({i}, {i}) | {x}.clip(-1, 1)
torch.nn.utils.parameters_to_vector([{r}, {r}]) | torch.block_diag({x}, {y}) | torch.cartesian_prod({x}, {x}) | torch.combinations({x}) | torch.trapezoid({f}) | torch.logaddexp({f}, {f}) | torch.copysign({f}, {f}) | {f}.xlogy({f})
Square.apply({f}) | Step.apply({f}, {k}) | Pair.apply({f}, {f}) | Pair.apply({f}, {f})[1] | Double.apply({f}.clone()) | Double.apply({n})
checkpoint(lambda t: {u}, {f}, use_reentrant=False) | checkpoint(lambda t: {u}, {r}, use_reentrant=True) | torch.func.grad(lambda t: ({u}).sum())({f}.detach()) | torch.func.vmap(lambda t: {u})({x}) | torch.func.jvp(lambda t: {u}, ({f}.detach(),), (torch.ones_like({1}).detach(),)) | {x}.conj() * 1 | {c}.mH.clone() | {c}.adjoint() + 0
torch.func.vjp(lambda t: {u}, {f}.detach())[0] | torch.func.vmap(torch.func.grad(lambda t: ({u}).sum()))({f}.detach()) | torch.func.vmap(lambda s, t: s + {u}, in_dims=(0, None))({x}, {x}) | torch.func.jacrev(lambda t: {u})({f}.detach()) | torch.func.hessian(lambda t: ({u}).sum())({f}.detach())
torch.func.vmap(lambda t: {u}, in_dims={d}, out_dims={d})({x}) | torch.func.grad_and_value(lambda t: ({u}).sum())({f}.detach()) | torch.autograd.functional.jacobian(lambda t: {u}, {f}) | torch.vmap(lambda t: t[{j}:])({x})
torch.where({x} > 1, {x} * 2, torch.where({x} < {k}, -{x}, {s})) | torch.where({x} > {k}, {x}, {s}).where({b}, {y}) | torch.where({b})[0] | {x}.where({x} > {k}, {k}) | {x}.masked_fill({x}.isnan(), 0) | torch.full_like({f}, float("-inf")).where({x} > 0, {f}).softmax(-1)
{x}.scatter_reduce({d}, {zeros}, {x}, "amax") | {x}.scatter_reduce({d}, {zeros}, {x}, "mean", include_self=False) | {x}.scatter_reduce({d}, {zeros}, {x}, "prod") | {x}.scatter_reduce({d}, {zeros}, {x}, "sum") | {x}.index_reduce({d}, {ids}, {x}, "amin")
{x}.gather({d}, {x}.argsort(dim={d}, stable=True)) | {x}.gather({d}, {x}.argmax({d}, keepdim=True)) | {x}.sort(dim={d}, stable=True)[0].gather({d}, {x}.argsort(dim={d}, stable=True).argsort(dim={d}, stable=True)) | {x}[{x}[..., 0].argsort(stable=True)] | {x}.topk(1, {d})[0] * {x}
F.cross_entropy({f}, {f}.argmax(1), weight=torch.arange(1.0, {1}.shape[1] + 1), ignore_index=1) | F.cross_entropy({f}, {f}.argmax(1), label_smoothing=0.1, reduction="none") | F.cross_entropy({f}, {f}.argmin(1), ignore_index=0, reduction="sum") | F.nll_loss({f}.log_softmax(1), {f}.argmax(1), weight=torch.arange(1.0, {1}.shape[1] + 1), reduction="none")
F.binary_cross_entropy_with_logits({f}, ({f} > 0).to({1}.dtype), weight={1}.detach().abs(), pos_weight=torch.tensor(2.0)) | F.multi_margin_loss({f}, {f}.argmin(1)) | F.soft_margin_loss({f}, {f}.sign()) | F.poisson_nll_loss({f}, {f}.abs().detach()) | F.hinge_embedding_loss({f}, {f}.sign().detach(), reduction="sum")
({c} * {c}.conj()).real | {c}.exp() | torch.view_as_real({c}).sum(-1) | torch.view_as_complex(torch.stack([{f}, {f}], -1)) | torch.fft.irfft(torch.fft.rfft({f})) | {c}.abs().square() | torch.fft.fft2({f}).real | {c}.sgn() | {c} / ({c}.abs() + 1) | {c}.real * {c}.imag | torch.complex({f}, {f}).sum({d})
{x}.to(torch.float64, copy=True) | {x}.type(torch.float32) | {x}.to({y}) | copy.deepcopy({x}) | copy.copy({x}) * 1 | {x}.double().float() | ({x} > {k}).to({1}.dtype) * {x} | {x}.detach().clone().requires_grad_() | {x}.float().to({dt}) | torch.as_tensor({x}, dtype=torch.float64) | torch.nan_to_num({f} / {f}.detach().relu())
Three.apply({f}) | Three.apply({f})[0] | sum(t.sum() for t in Three.apply({f}) if t.is_floating_point()) | Lazy.apply({f}, {f})[1] | Lazy.apply({f}, {f}) | Halves.apply({f}) | Halves.apply({f})[0] * {f} | F.linear({f}, {f}, {f}[..., 0]) | torch.func.grad(lambda t: F.mse_loss(t, {f}.detach()))({1}.detach())
functools.reduce(torch.add, {x}.unbind(0)) | torch.stack([{x}[i] * i for i in range({1}.shape[0])]) | torch.cat([t.flatten() for t in {x}.split(1)]) | torch.stack({x}.unbind(-1), 0) | sum(t.square().sum() for t in {x}.chunk(2)) | {x}[:, None] - {x}[None] | {x}[torch.arange({1}.shape[0]), {x}.argmax(-1)] | torch.einsum("...i,...j->...ij", {f}, {f})
torch.addmm({f}[:1], {1}, {1}.mT, beta=0.5, alpha={k}) | {f}.cumsum(0).flip(0).cumsum(0) | torch.linalg.norm({f}, dim={d}, keepdim=True) * {f} | {f} / {f}.norm(dim=-1, keepdim=True).clamp(min=1e-6) | ({f} - {f}.mean({d}, keepdim=True)) / ({f}.std({d}, keepdim=True) + 1e-5) | F.softmax({f}.masked_fill({f} < 0, -9.0), -1) @ {1}.mT
"""

UNARY = """
t * 2 | t.sin() | t.tanh() * t | t.sum() | t ** 2 | t.transpose(0, -1) | t.exp().sum(-1) | t.cumsum(0) | t[0] | t.clone().mul_(2) | t.softmax(-1) | t.mean()
t.relu() | t @ t | (t * t).sum(-1, keepdim=True) | (t.flip(0) if t.dim() else t) | torch.where(t > 0, t, -t) | (t.reshape(-1) if t.numel() else t) | t.float().sigmoid() | t.unsqueeze(0) | t.max() * t | t.detach() * t
torch.cat([t, t]) | F.dropout(t, 0.2) | t.sort().values | t.norm() | t[..., 0] | t.expand(2, *t.shape) | t.abs().sqrt() | t - t.mean(-1, keepdim=True) | t * torch.ones(4)
"""

WRITES = """
{n}.add_({y}) | {n}.mul_({k}) | {n}.sub_({y}, alpha={k}) | {n}.div_({k}) | {n}.copy_({y}) | {n}.zero_() | {n}.fill_({k}) | {n}.neg_() | {n}.abs_() | {n}.sin_() | {n}.exp_()
{n}.sigmoid_() | {n}.tanh_() | {n}.relu_() | F.relu({n}, inplace=True) | {n}.clamp_(-1, 1) | {n}.clamp_({k}) | {n}.square_() | {n}.sqrt_() | {n}.pow_(2) | {n}.lerp_({y}, 0.5)
{n}.addcmul_({y}, {y}, value={k}) | {n}.addcdiv_({y}, {y}) | {n}.masked_fill_({b}, {k}) | {n}.masked_fill_({n} > {k}, {k}) | {n}.index_add_({d}, {ids}, {x}) | {n}.index_fill_({d}, {ids}, {k})
{n}.index_copy_({d}, {ids}, {x}) | {n}.scatter_({d}, {zeros}, {k}) | {n}.scatter_add_({d}, {zeros}, {y}) | {n}.index_put_(({ids},), {y}, accumulate=True) | {n}.masked_scatter_({b}, {y})
{n}[{ix}] = {k} | {n}[{ix}] = {k} | {n}[{ix}] = {y} | {n}[{ix}] = {x} | {n}[{ix}] += {k} | {n}[{ix}] *= {k} | {n}[{ix}] -= {y} | {n}[{ix}] /= 2 | {n}[{ix}].add_({k}) | {n}[{ix}].mul_({y})
{n}[{ix}][{ix}] = {k} | {n} += {k} | {n} *= {y} | {n} -= {y} | {n} /= {k} | {n} **= 2 | {n} //= 2 | {n} %= 3 | {n} += {x} | {n}.transpose({d}, {d}).add_({y}) | {n}.mT.mul_({k})
{n}.t_() | {n}.transpose_({d}, {d}) | {n}.unsqueeze_({d}) | {n}.squeeze_() | {n}.resize_({shape}).fill_({k}) | {n}.requires_grad_() | {n}.detach_() | {n}.fill_diagonal_({k}) | {n}.diagonal().add_({k})
{n}.view(-1)[{j}] = {k} | {n}.view(-1).mul_({k}) | {n}.unsqueeze(0).add_({k}) | {n}.select({d}, 0).copy_({y}) | {n}.narrow({d}, 0, 1).zero_() | {n}.chunk(2, {d})[0].mul_({k}) | {n}.unbind({d})[0].add_({k})
{n}.unfold({d}, 1, 1).add_({k}) | {n}.as_strided({strided}).add_({k}) | {n}.expand({1}.shape).mul_({k}) | {n}.real.mul_({k}) | {n}.detach().mul_({k}) | {n}.data.add_({k}) | {n}.data = {s}
{n}.uniform_(generator=g) | {n}.normal_(generator=g) | {n}.bernoulli_(0.5, generator=g) | {n}.random_(0, 5, generator=g) | {n}.exponential_(generator=g) | {n}.cumsum_({d}) | {n}.tril_() | {n}.triu_(1)
torch.add({x}, {y}, out={n}) | torch.mul({x}, {k}, out={n}) | torch.sum({x}, {d}, out={n}) | torch.matmul({x}, {y}, out={n}) | torch.exp({x}, out={n}) | torch.cat([{x}, {x}], out={n}) | torch.sin({n}, out={n})
torch.where({x} > 0, {x}, {y}, out={n}) | torch.clamp({x}, -1, 1, out={n}) | torch.cumsum({x}, {d}, out={n}) | torch.stack([{x}, {x}], out={n}) | torch.abs({x}, out={n}) | {n}.swapaxes_(0, -1)
{n}.add_({1}) | {n}.add_({1}.mT) | {n}.mul_({1}.flip(0)) | {n}[1:] = {1}[:-1] | {n}[:-1] += {1}[1:] | {n}.copy_({1}.clone()) | {n}.view(-1)[1:].copy_({1}.view(-1)[:-1].clone()) | {n}.index_add_(0, {ids}, {1})
nn.init.normal_({n}, generator=g) | nn.init.constant_({n}, {k}) | nn.init.zeros_({n}) | torch.nn.utils.clip_grad_norm_([{p}], 0.5) | {n}.map_({s}, lambda a, b: a + b)
{n}.addmm_({x}.clone(), {y}.clone()) | {n}.baddbmm_({x}.clone(), {y}.clone()) | {n}.logical_not_() | {n}.floor_divide_(2) | {n}.remainder_(3) | {n}.nan_to_num_()
{n}[1:][:, :2].mul_({k}) | {n}[..., 0][1:] = {k} | {n}[{n} > {k}] *= -1 | {n}[{x} > 0] = {x}[{x} > 0] | {n}[[0, -1]] = {n}[[-1, 0]] | {n}[torch.arange({1}.shape[0]), 0] += 1 | {n}.index_put_(({n} > {k}).nonzero(as_tuple=True), torch.tensor({k})) | {n}.scatter_reduce_({d}, {zeros}, {y}, "amax")
{n}.view(-1).index_fill_(0, {ids}, {k}) | {n}.set_({x}.clone()) | {n}.data.copy_({y}) | {n}.swapaxes(0, -1)[0] = {k} | {n}[None][0].add_({k}) | {n}.split(1)[0].zero_() | for part in {n}.unbind(0):\\n    part.mul_(2) | for part in {n}.chunk(2):\\n    part.add_(1) | {n}[1:][1:].fill_({k}) | {n}.mT[0].copy_({n}.mT[-1]) | {n}[:1] += {n}[1:2]
with torch.no_grad():\\n    {n}[{ix}] = {k} | with torch.no_grad():\\n    {n}.copy_({y}) | with torch.no_grad():\\n    {n}.view(-1)[:1].mul_({k}) | {n}.scatter_({d}, {zeros}, {y}) | {n}.scatter_({d}, {zeros}, {y}, reduce="multiply") | {n}.index_reduce_({d}, {ids}, {x}, "mean") | {n}.where({n} > 0, {k}).mul_({k}) | {n}[..., ::2] -= {n}[..., 1:2] | torch.where({x} > {k}, {x}, {y}, out={n})
"""

GRADIENTS = """
{L}.backward() | {L}.backward() | {L}.backward(retain_graph=True) | {L}.backward() | ({L} + {L}).backward() | {r}.backward(torch.ones_like({1})) | {r}.sum().backward()
{r}.register_hook(lambda grad: grad * 2) | {r}.register_hook(lambda grad: log.append(grad.sum().item())) | {r}.retain_grad() | {p}.register_post_accumulate_grad_hook(lambda q: q.grad.mul_(0.5) and None)
{p}.grad = None | {p}.grad.zero_() | {p}.grad.mul_({k}) | {p}.grad = torch.ones_like({p}) | {L}.backward(inputs=[{p}]) | {L}.backward(create_graph=True) | torch.autograd.backward([{L}, {L}])
with torch.no_grad():\\n    {p} -= 0.1 * {p}.grad | with torch.no_grad():\\n    {p}.add_({p}.grad, alpha=-0.1) | {p}.data -= 0.1 * {p}.grad | with torch.no_grad():\\n    {p}.mul_({k}) | {p}.requires_grad_({bool})
{r}.register_hook(lambda grad: grad.clamp(-0.5, 0.5)) | {r}.register_hook(lambda grad: grad.clone().fill_(0.5)) | {r}.register_hook(lambda grad: torch.zeros_like(grad)) | for _ in range(2):\\n    {L}.backward(retain_graph=True) | torch.autograd.grad({L}, {p}, create_graph=True)[0].square().sum().backward() | {p}.grad = {p}.grad * 2 if {p}.grad is not None else None
torch.nn.utils.clip_grad_value_([{p}], 0.1) | {r}.register_hook(lambda grad: grad.t() if grad.dim() == 2 and grad.shape[0] == grad.shape[1] else None) | {r}.grad_fn.register_hook(lambda inputs, outputs: log.append(len(inputs))) | {r}.grad_fn.register_prehook(lambda outputs: tuple(t * 2 for t in outputs if t is not None)) | {p}.grad.add_({p}.detach())
"""

GRADIENT_RESULTS = """
torch.autograd.grad({L}, {r})[0] | torch.autograd.grad({L}, [{r}, {r}], allow_unused=True) | torch.autograd.grad({L}, {p}, create_graph=True)[0] | torch.autograd.grad({L}, {r}, create_graph=True)[0]
torch.autograd.grad({r}.sum(), {r}, retain_graph=True, allow_unused=True)[0] | torch.autograd.grad({r}, {p}, torch.ones_like({1}), materialize_grads=True)[0] | {p}.grad | {p}.grad.clone()
torch.autograd.grad(torch.autograd.grad({L}, {p}, create_graph=True)[0].sum(), {p})[0] | torch.autograd.grad({L}, {p}, retain_graph=True)[0] * 2 | torch.autograd.grad([{L}, {L}], [{p}])[0]
"""

NUMBERS = """
{x}.sum().item() | float({x}.abs().max()) | {x}.shape[{d}] | {x}.numel() // 2 | {x}.tolist() | len({x}) | int({i}.sum()) | bool(({x} > 0).any()) | {x}.dim() | {x}.max().item() * 2 | {x}.stride() | {x}.is_contiguous()
{x}.requires_grad | {x}.dtype | {x}.flatten()[0].item() | {x}.size(0) * 2 | math.sqrt({x}.numel()) | {x}.argmax().item() | {f}.mean().detach().item() + 1 | {x}.storage_offset() | {x}.is_leaf | {x}.grad_fn is None
int({x}.shape[0] > 2) | state["n"] | len(log) | {x}.element_size() | round(float({f}.sum()), 1) | torch.equal({x}, {y}) | torch.allclose({f}, {f}) | str({x}.dtype) | {x}.data_ptr() == {x}.data_ptr() | {x}._base is None | ({x} > 0).sum().item()
"""

SIDE_EFFECTS = """
log.append({x}.sum().item()) | log.append({x}.detach()) | log.append({x}.shape) | log.append(str({x}.dtype)) | state["n"] += 1 | state["last"] = {x}.detach().clone() | state["mean"] = 0.9 * state["mean"] + 0.1 * {x}.detach().mean()
state["mean"].mul_(0.5) | state["scale"] = float({x}.abs().sum()) | {v} = state["mean"] + 1 | {v} = {x} * state["scale"] | {v} = {x} + state["n"] | torch.manual_seed({j}) | del {x} | log.clear()
{v} = state.get("last", {x}) | {v} = {x} * len(log) | {v} = [{x}, {y}] | {v} = {{"a": {x}, "b": ({y}, {k})}} | {v} = sum([{x}, {x}, {k}]) | {v} = copy.deepcopy({x}.detach()) | {v}, {v} = {y}, {x} | state["n"] = {x}.dim() + state["n"]
{v} = [t * 2 for t in {x}] | {v} = torch.stack([t.sum() for t in {x}]) | {v} = {x} if {x}.dim() > 1 else {y} | {v} = max({x}.shape) * {x} | {v} = (lambda t: {u})({x}) | {v} = {{key: t + 1 for key, t in state.items() if isinstance(t, int)}}
{v} = sum(pieces({x}, {j})) | {v} = next(pieces({x}, {j})) | {v} = list(pieces({x}, 2))[-1] | {v} = adder({x})({k}) | add = adder({k})\n{v} = add({x}) + add(1) | {v} = functools.reduce(lambda s, t: s + t, pieces({x}, 2)) | {v} = twice({x}) | {v} = twice({x}) | twice = lambda t: t * {k}
{v} = torch.stack([*map(twice, {x})]) | {v} = dict(zip("ab", ({x}, {y})))["a"] | first, *rest = {x}, {y}, {x}\n{v} = first | {v} = state["mean"] * {x}.detach().mean() | state["mean"] = {x} | state["mean"] = {x}.detach() | state["same"] = state["mean"]
"""

BLOCKS = """
if {x}.sum() > {k}: | if {x}.shape[0] > {j}: | if state["n"] % 2 == 0: | if {x}.requires_grad: | if float({x}.abs().max()) < 2: | if torch.is_grad_enabled(): | if ({x} > {k}).any(): | if flag:
for _ in range({j}): | for i in range(2): | with torch.no_grad(): | with torch.enable_grad(): | with torch.set_grad_enabled({bool}): | with torch.no_grad(): | with torch.inference_mode(): | for t in {x}: | for t in {x}.split(1): | for t in ({x}, {y}):
with torch.autocast("cpu", dtype=torch.bfloat16): | if {x}.dim() == 2 and {x}.is_floating_point(): | while state["n"] < {j}:\\n    state["n"] += 1 | with torch.autograd.graph.save_on_cpu(): | with torch.random.fork_rng(): | if {x}.isfinite().all():
with scaled("scale", {k}): | with scaled("mean", {k}): | for t in pieces({x}, 2): | for t in reversed(({x}, {y})):
"""

MODULE_USES = """
{v} = {m}({mx}) | {v} = {m}({mx}) | {v} = {m}({mx}) | {v} = {m}({mx}) | {v} = {m}({mx}) * {k} | {v} = F.linear({f}, {m}.weight) | {v} = {m}.weight | {v} = list({m}.parameters())[0] | {m}.eval() | {m}.train()
{v} = sum(p.sum() for p in {m}.parameters()) | {m}.zero_grad() | {m}.requires_grad_({bool}) | {v} = torch.func.functional_call({m}, dict({m}.named_parameters()), ({mx},)) | {v} = copy.deepcopy({m})({mx})
{m}.load_state_dict({m}.state_dict()) | {v} = checkpoint({m}, {mx}, use_reentrant=False) | {v} = {m}({mx})[0] | with torch.no_grad():\\n    {v} = {m}({mx}) | {v} = {m}({mx}, {mx}) | {v} = {m}({mx}, {mx}, {mx})
{v} = {m}[0]({f}) | {m}.weight.data.mul_(0.9) | {v} = torch.func.vmap({m})({mx}) | {v} = {m}.training | {v} = [p.grad for p in {m}.parameters()] | {v} = {m}.running_mean + 1 | {v} = {m}.state_dict() | {m}.weight.grad = None
{m}.load_state_dict(copy.deepcopy({m}.state_dict())) | {m}.register_buffer("seen", torch.ones(4)) | {v} = copy.deepcopy({m})\\n{v}.load_state_dict({m}.state_dict()) | {v} = nn.utils.parameters_to_vector({m}.parameters()) | nn.utils.vector_to_parameters(nn.utils.parameters_to_vector({m}.parameters()).detach() * 0.5, {m}.parameters()) | {m}.seen = {m}.seen * 2
with torch.no_grad():\\n    for q in {m}.parameters():\\n        q.mul_(0.9) | {v} = torch.func.functional_call({m}, {{key: held * 2 for key, held in {m}.named_parameters()}}, ({mx},)) | for q in {m}.parameters():\\n    q.grad = torch.ones_like(q) | {v} = [held.clone() for held in {m}.state_dict().values()] | {m}.apply(lambda mod: mod.train(False)) | {m}.to(torch.float64).to(torch.float32)
{v} = {m}({mx}).square().mean()\\n{v}.backward() | {v} = torch.autograd.grad({m}({mx}).sum(), list({m}.parameters()), allow_unused=True) | {v} = {m}({mx}.detach().clone()) | {m}.num_batches_tracked.zero_() | {m}.reset_running_stats() | {v} = sum({m}({mx}).sum() for _ in range(2)) | {m}.bias.data = {m}.bias.data.clone() | {m}.weight.requires_grad_(False)
"""

OPTIMIZER_USES = """
{o}.zero_grad() | {o}.step() | {o}.step() | {o}.zero_grad(set_to_none=False) | {o}.param_groups[0]["lr"] *= 0.5 | {v} = {o}.param_groups[0]["lr"] | {o}.load_state_dict({o}.state_dict())
{o}.zero_grad()\\n{L}.backward()\\n{o}.step() | {o}.zero_grad()\\n{L}.backward()\\n{o}.step() | {L}.backward()\\n{o}.step()\\n{o}.zero_grad() | {o}.step(lambda: {L}) | {sch}.step() | {v} = {sch}.get_last_lr()
{o}.zero_grad()\\n{v} = {m}({mx})\\n{L}.backward()\\n{o}.step()\\n{sch}.step() | {o}.zero_grad()\\n{v} = {m}({mx})\\n{L}.backward()\\n{o}.step() | {o}.zero_grad()\\n{L}.backward()\\ntorch.nn.utils.clip_grad_norm_([{p}, {p}], 1.0)\\n{o}.step()
{o}.param_groups[0]["weight_decay"] = 0.1 | for group in {o}.param_groups:\\n    group["lr"] *= 0.9 | {o}.state.clear() | {o}.param_groups[0]["maximize"] = True | {v} = len({o}.state) | for _ in range(2):\\n    ({L} / 2).backward()\\n{o}.step()\\n{o}.zero_grad() | {v} = [q.grad is None for q in {o}.param_groups[0]["params"]] | {v} = copy.deepcopy({o}.state_dict())\\n{o}.load_state_dict({v})
"""

BETWEEN = """
{p}.requires_grad_({bool}) | {p}.grad = None | with torch.no_grad():\\n    {p}.add_(1) | {p}.data.mul_(2) | torch.set_default_dtype({fdt}) | torch.set_grad_enabled({bool}) | state["n"] += 1 | state["scale"] = {k} | flag = {bool}
{m}.eval() | {m}.train() | {m}.double() | {m}.requires_grad_({bool}) | {m}.weight = nn.Parameter({m}.weight.detach() * 2) | {m} = copy.deepcopy({m}) | {m}.load_state_dict({{key: held * 0.5 for key, held in {m}.state_dict().items()}})
{o}.param_groups[0]["lr"] = 0.5 | {o}.load_state_dict(copy.deepcopy({o}.state_dict())) | state["mean"] = torch.ones(4) | state["mean"] = torch.ones(4).double() | log.clear() | g.manual_seed(5) | torch.manual_seed(3) | {p} = {p}.detach().clone().requires_grad_()
{p}.register_hook(lambda grad: grad + 1) | {m}.register_forward_hook(lambda mod, args, out: None) | {m}.register_forward_pre_hook(lambda mod, args: None) | {p}.grad = torch.ones_like({p}) | {p} = {p}.detach().double().requires_grad_()
{m}.zero_grad() | {o}.zero_grad() | del state["last"] | {p}.register_post_accumulate_grad_hook(lambda q: log.append(q.grad.sum().item())) | torch.use_deterministic_algorithms({bool}) | {o}.add_param_group({{"params": [torch.zeros(2, requires_grad=True)]}})
{m}.register_full_backward_hook(lambda mod, gi, go: log.append(go[0].sum().item())) | {m}.register_forward_hook(lambda mod, args, out: out * 2)
{p} = {p} | {p} = {p}.detach().requires_grad_() | state["mean"] = {p}.detach() | state["mean"] = {p} | {p}.data = {p}.data.clone() | {p}.data = {p}.detach() | {p}.grad = {p}.detach() | {m}.weight = {m}.weight | {p}.data = {p}.data.mT.contiguous().mT
twice = lambda t: t * 3 | twice = lambda t: t + {p} | {o}.register_step_post_hook(lambda *given: log.append("step")) | {o}.register_step_pre_hook(lambda *given: None)
{m}.register_forward_hook(lambda mod, args, out: log.append(mod.training)) | handle = {m}.register_forward_pre_hook(lambda mod, args: tuple(t * 2 if torch.is_tensor(t) and t.is_floating_point() else t for t in args)) | handle.remove()
{o}.param_groups[0]["weight_decay"] = 0.05 | {o}.add_param_group({{"params": [{p}.detach().clone().requires_grad_()], "lr": 0.5}}) | {m}.register_buffer("seen", torch.full((4,), 2.0)) | {m} = copy.deepcopy({m}).train({bool}) | {m}.load_state_dict(copy.deepcopy({m}.state_dict())) | {p}.register_hook(lambda grad: grad.clamp(max=0.1)) | {m}.float()
with torch.no_grad():\\n    {p}[:1] = 0 | with torch.no_grad():\\n    {p}.copy_({p} * 0.5) | {m}.weight.data = {m}.weight.data.double().float() | {m}.register_forward_hook(lambda mod, args, out: (out[0] * 0.5, *out[1:]) if isinstance(out, tuple) else out * 0.5) | {m}.register_full_backward_pre_hook(lambda mod, grads: tuple(t * 2 for t in grads if t is not None))
"""

USES = """
{R}[0].sum().backward() | {R}[-1].sum().backward() | {R}[0].add_(1) | {R}[0][0] = 0 | with torch.no_grad():\\n    {R}[0].mul_(2) | ({R}[0] * {R}[-1]).sum().backward() | {R}[0].detach().zero_() | {R}[-1].mul_(3)
gradient = torch.autograd.grad({R}[0].sum(), {p}, allow_unused=True) | {R}[0].backward(torch.ones_like({R}[0])) | {R}[0].register_hook(lambda grad: grad * 2) | sum(t.float().sum() for t in {R} if isinstance(t, torch.Tensor)).backward()
"""

DTYPES = (
    ["float32"] * 10
    + ["float64"] * 3
    + [
        "float16",
        "bfloat16",
        "complex64",
        "complex128",
        "int64",
        "int64",
        "int32",
        "int16",
        "uint8",
        "int8",
        "bool",
    ]
)
SIZES = [
    (4,),
    (3, 4),
    (2, 3, 4),
    (4, 4),
    (1, 4),
    (3, 1),
    (2, 3, 4, 4),
    (1,),
    (),
    (3,),
    (5, 4),
    (2, 2),
    (6,),
    (2, 1, 3),
    (0, 4),
    (17, 5),
]
NUMBERS_USED = ["0.5", "2", "-1.5", "1", "0", "0.25", "3", "-2", "True", "1.0", "0.1"]


def table(text: str) -> list[str]:
    """The templates of a table: one in each cell, lines joined by a written \\n."""
    return [
        cell.strip().replace("\\n", "\n")
        for line in text.strip().splitlines()
        for cell in line.split(" | ")
    ]


UNARIES = table(UNARY)


class Fill:
    """Fills the places of templates for the values that a program has so far."""

    def __init__(self, choose: random.Random, values: dict[str, Any], torch: Any) -> None:
        self.choose, self.values, self.torch = choose, values, torch
        self.names: list[str] = []  # tensors and what holds them, the newest last
        self.parameters: list[str] = []
        self.modules: dict[str, str | None] = {}
        self.optimizers: list[str] = []
        self.schedules: list[str] = []
        self.results: list[str] = []
        self.made = 0
        self.first = ""

    def __call__(self, template: str) -> str:
        self.first = ""
        text = re.sub(r"\{\{|\}\}|\{(\w+)\}", self._place, template)
        return text

    def _place(self, match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        if match[1] == "1":
            return self.first
        found = getattr(self, f"place_{match[1]}")()
        if not self.first and match[1] in ("x", "f", "n", "r", "c", "i", "p"):
            self.first = found
        return found

    def tensors(self) -> list[str]:
        return [name for name in self.names if isinstance(self.values.get(name), self.torch.Tensor)]

    def of(self, good: Any) -> str | None:
        """A tensor for which `good` holds, new ones more often."""
        fitting = [name for name in self.tensors() if _fits(good, self.values[name])]
        if not fitting:
            return None
        return fitting[max(self.choose.randrange(len(fitting)) for _ in range(2))]

    @property
    def value(self) -> Any:
        """What the first tensor of the statement is."""
        found = self.values.get(self.first.removesuffix(".float()"))
        return found if isinstance(found, self.torch.Tensor) else self.torch.zeros(3, 4)

    def place_x(self) -> str:
        return self.of(lambda t: True) or "torch.ones(3, 4)"

    def place_f(self) -> str:
        same = self.choose.random() < 0.7
        if self.first and same:
            shape, dtype = self.value.shape, self.value.dtype
            found = self.of(
                lambda t: t.is_floating_point() and t.dtype == dtype and t.shape == shape
            )
            if found:
                return found
        found = self.of(lambda t: t.is_floating_point())
        return found if found and self.choose.random() < 0.97 else f"{self.place_x()}.float()"

    def place_r(self) -> str:
        return self.of(lambda t: t.requires_grad) or self.place_p()

    def place_c(self) -> str:
        return (
            self.of(lambda t: t.is_complex())
            or f"torch.complex({(name := self.place_f())}, {name})"
        )

    def place_i(self) -> str:
        return (
            self.of(lambda t: t.dtype in (self.torch.int64, self.torch.int32))
            or f"{self.place_x()}.long()"
        )

    def place_b(self) -> str:
        shape = self.value.shape if self.first else None
        found = self.of(
            lambda t: t.dtype == self.torch.bool and (shape is None or t.shape == shape)
        )
        return (
            found
            if found and self.choose.random() < 0.6
            else f"({self.first or self.place_x()} > {self.place_k()})"
        )

    def place_n(self) -> str:
        loose = self.choose.random() < 0.06
        return (
            self.of(lambda t: loose or not (t.requires_grad and t.is_leaf)) or "torch.zeros(3, 4)"
        )

    def place_s(self) -> str:
        shape = self.value.shape
        return self.of(lambda t: t.shape == shape) or f"torch.ones_like({self.first})"

    def place_y(self) -> str:
        if self.choose.random() < 0.1:
            return self.place_x()
        if self.choose.random() < 0.1:
            return self.place_k()

        def fits(other: Any) -> bool:
            shape = tuple(self.value.shape)
            pairs = zip(reversed(other.shape), reversed(shape), strict=False)
            return len(other.shape) <= len(shape) and all(a in (b, 1) for a, b in pairs)

        return self.of(fits) or self.place_k()

    def place_p(self) -> str:
        return self.choose.choice(self.parameters)

    def place_d(self) -> str:
        count = max(self.value.dim(), 1)
        return str(
            self.choose.choice([0, -1, *range(-count, count)]) if self.choose.random() < 0.98 else 5
        )

    def place_j(self) -> str:
        return str(self.choose.choice([0, 1, 1, 1, 2, 2, 3, -1]))

    def place_k(self) -> str:
        number = self.of(lambda t: t.dim() == 0) if self.choose.random() < 0.05 else None
        return number or (
            "k"
            if self.choose.random() < 0.15 and "k" in self.values
            else self.choose.choice(NUMBERS_USED)
        )

    def place_bool(self) -> str:
        return self.choose.choice(["True", "False"])

    def place_v(self) -> str:
        self.made += 1
        return f"v{self.made}"

    def place_dt(self) -> str:
        return f"torch.{self.choose.choice(DTYPES)}"

    def place_fdt(self) -> str:
        return self.choose.choice(["torch.float64", "torch.float32"])

    def place_size(self) -> str:
        size = (
            tuple(self.value.shape)
            if self.first and self.choose.random() < 0.5
            else self.choose.choice(SIZES)
        )
        return str(tuple(size))

    def place_shape(self) -> str:
        count = self.value.numel()
        if not count:
            return str(tuple(self.value.shape))
        shape = []
        while count > 1 and len(shape) < 3:
            part = self.choose.choice([d for d in range(1, count + 1) if count % d == 0])
            shape.append(part)
            count //= part
        return str(tuple([*shape, count] if count > 1 or not shape else shape))

    def place_perm(self) -> str:
        order = list(range(self.value.dim()))
        self.choose.shuffle(order)
        return ", ".join(map(str, order)) or "()"

    def place_strided(self) -> str:
        count = max(self.value.numel(), 1)
        first, second = self.choose.randint(1, 3), self.choose.randint(1, 3)
        strides = self.choose.choice([(1, first), (second, 1), (1, 1), (0, 1), (second, first)])
        return f"({first}, {second}), {strides}, {self.choose.choice([0, 0, 1, count // 2])}"

    def place_ids(self) -> str:
        size = max([1, *self.value.shape[:1]])
        return f"torch.tensor({[self.choose.randrange(-size if self.choose.random() < 0.1 else 0, size) for _ in range(self.choose.randint(1, 3))]})"

    def place_zeros(self) -> str:
        return f"torch.zeros_like({self.first}, dtype=torch.long)"

    def place_u(self) -> str:
        return self.choose.choice(UNARIES)

    def place_L(self) -> str:
        names = [
            self.of(lambda t: t.requires_grad) or self.place_p()
            for _ in range(self.choose.choice([1, 1, 2]))
        ]
        parts = []
        for name in names:
            value = self.values.get(name)
            real = (
                f"{name}.abs()"
                if isinstance(value, self.torch.Tensor) and value.is_complex()
                else f"{name}.float()"
            )
            parts.append(self.choice_of_loss(real))
        return "(" + " + ".join(parts) + ")"

    def choice_of_loss(self, name: str) -> str:
        return self.choose.choice(
            [
                f"{name}.square().mean()",
                f"{name}.sum()",
                f"({name} * {name}.detach()).sum()",
                f"{name}.sin().sum()",
            ]
        )

    def place_m(self) -> str:
        if not self.modules:
            raise LookupError
        self.module = self.choose.choice(list(self.modules))
        return self.module

    def place_mx(self) -> str:
        example = self.modules.get(getattr(self, "module", ""), None)
        wanted = self.values.get(f"example of {getattr(self, 'module', '')}")
        found = None
        if wanted is not None:
            found = self.of(
                lambda t: (
                    t.dim() == wanted.dim()
                    and t.dtype == wanted.dtype
                    and t.shape[1:] == wanted.shape[1:]
                )
            )
        return found or (example if example and self.choose.random() < 0.9 else self.place_f())

    def place_o(self) -> str:
        if not self.optimizers:
            raise LookupError
        return self.choose.choice(self.optimizers)

    def place_sch(self) -> str:
        if not self.schedules:
            raise LookupError
        return self.choose.choice(self.schedules)

    def place_R(self) -> str:
        return self.results[-1]

    def place_ix(self) -> str:
        parts = []
        mask = False
        if self.value.dim() and self.choose.random() < 0.1:
            return (
                f"{self.first} > {self.choose.choice(NUMBERS_USED)}"
                if self.choose.random() < 0.7
                else f"{self.first}.argmax(0)"
            )
        for size in self.value.shape[: self.choose.randint(1, 3)]:
            kind = self.choose.choice("iissssssttlmN.")
            if kind == "i":
                parts.append(str(self.choose.randrange(-size, size) if size else 0))
            elif kind == "s":
                parts.append(
                    self.choose.choice([":", "1:", ":-1", "::2", "0:1", "-2:", "1:3", "5:", "1::2"])
                )
            elif kind == "t":
                shape = self.choose.choice([1, 2, 3])
                rows = [self.choose.randrange(-size, size) if size else 0 for _ in range(shape)]
                parts.append(f"torch.tensor({rows if self.choose.random() < 0.8 else [rows]})")
            elif kind == "l":
                parts.append(
                    str([self.choose.randrange(-size, size) if size else 0 for _ in range(2)])
                )
            elif kind == "m" and not mask:
                mask = True
                parts.append(
                    f"torch.tensor({[self.choose.random() < 0.6 for _ in range(size)]}, dtype=torch.bool)"
                )
            elif kind == "N":
                parts.extend(["None", ":"])
            elif kind == "." and "..." not in parts:
                parts.append("...")
            else:
                parts.append(":")
        return ", ".join(parts) or "..."


def _fits(good: Any, value: Any) -> bool:
    """`good(value)`; a view that a write to its base has outdated fits nowhere where that is asked."""
    try:
        return bool(good(value))
    except RuntimeError:
        return False
