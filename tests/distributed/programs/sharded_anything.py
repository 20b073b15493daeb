"""Operators of many kinds on distributed tensors, in every layout: values and gradients of the
whole tensor, whether the operator has a rule of its own or gathers its arguments.
"""

import itertools

import pellucid as torch
import pellucid.distributed as dist
from pellucid.distributed.device_mesh import init_device_mesh
from pellucid.distributed.tensor import DTensor, Partial, Replicate, Shard

F = torch.nn.functional
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (size,))
torch.manual_seed(0)
x = torch.randn(5, 6, dtype=torch.float64)
square = torch.randn(4, 4, dtype=torch.float64)
positive = square @ square.T + torch.eye(4, dtype=torch.float64)
row = torch.randn(2, 4, 6, dtype=torch.float64)
image = torch.randn(2, 4, 6, 6, dtype=torch.float64)
places = torch.tensor([1, 0, 2])
share = x.sigmoid()

CASES = {
    "cdist": (lambda a, b: torch.cdist(a, b), x, x * 2),
    "clamp": (torch.clamp, x, x - 1, x + 0.5),
    "combinations": (torch.combinations, x[0]),
    "cholesky": (torch.linalg.cholesky, positive),
    "det": (torch.linalg.det, torch.stack([square, positive])),
    "inverse": (torch.linalg.inv, square),
    "svd values": (torch.linalg.svdvals, x),
    "pinv": (torch.linalg.pinv, x),
    "quantile": (lambda a: torch.quantile(a, 0.3, dim=1), x),
    "prod": (torch.prod, x),
    "std_mean": (lambda a: torch.std_mean(a, 1), x),
    "cumprod": (lambda a: torch.cumprod(a, 0), x),
    "fft": (lambda a: torch.fft.rfft(a, dim=0).abs(), x),
    "masked_select": (lambda a: torch.masked_select(a, a > 0), x),
    "nonzero": (torch.nonzero, x),
    "index with a mask": (lambda a: a[a > 0], x),
    "index_fill": (lambda a: a.index_fill(0, replicated(places), 2.0), x),
    "scatter_reduce": (lambda a: a.scatter_reduce(0, replicated(places)[:, None], a, "amax"), x),
    "slice_scatter": (lambda a, b: torch.slice_scatter(a, b, 0, 1, 3), x, x[:2] * 3),
    "unfold": (lambda a: a.unfold(0, 2, 1), x),
    "allclose": (torch.allclose, x, x),
    "isclose": (torch.isclose, x, x),
    "cross entropy of shares": (F.binary_cross_entropy, share, share.flip(0)),
    "cross entropy of logits": (F.binary_cross_entropy_with_logits, x, share),
    "gaussian loss": (F.gaussian_nll_loss, x, x * 2, share),
    "conv_transpose2d": (F.conv_transpose2d, image, image[:, :, :2, :2].transpose(0, 1)),
    "conv1d": (F.conv1d, row, row[:, :, :3]),
    "avg_pool1d": (lambda a: F.avg_pool1d(a, 2), row),
    "max_pool1d": (lambda a: F.max_pool1d(a, 2), row),
    "pixel_shuffle": (lambda a: F.pixel_shuffle(a, 2), image),
    "interpolate": (lambda a: F.interpolate(a, scale_factor=2), image),
    "dropout2d": (lambda a: F.dropout2d(a, 0.5), image),
    "group_norm": (lambda a: F.group_norm(a, 2), image),
    "batch_norm": (lambda a: F.batch_norm(a, None, None, training=True), image),
    "rounded terms": (lambda a: (a * 3).to(torch.int64), x),
}


def replicated(t):
    return DTensor.from_local(t, mesh, [Replicate()]) if distributed else t


def laid(t, placement):
    """The whole tensor in a layout; as terms where it is `Partial`."""
    if isinstance(placement, Shard):
        parts = list(t.chunk(size, placement.dim))
        empty = t.narrow(placement.dim, 0, 0)
        local = parts[rank] if rank < len(parts) else empty
    elif isinstance(placement, Partial):
        # of halves, so that the sum of the terms is exact
        local = t / 2 if rank < 2 else torch.zeros_like(t)
        local = t.clone() if size == 1 else local
    else:
        local = t
    made = DTensor.from_local(
        local.contiguous(), mesh, [placement], shape=t.shape, stride=t.stride()
    )
    return made.detach().requires_grad_()


def outcome(function, tensors):
    """Results and gradients, whole."""
    torch.manual_seed(3)
    made = function(*tensors)
    made = list(made) if isinstance(made, (tuple, list)) else [made]
    made = [m.full_tensor() if isinstance(m, DTensor) else m for m in made]
    loss = sum(
        (m * torch.arange(m.numel(), dtype=m.dtype).cos().reshape(m.shape)).sum()
        for m in made
        if isinstance(m, torch.Tensor) and m.requires_grad
    )
    if not isinstance(loss, torch.Tensor):
        return made
    grads = torch.autograd.grad(loss, tensors, allow_unused=True)
    return made + [g.full_tensor() if isinstance(g, DTensor) else g for g in grads]


count = 0
for name, (function, *tensors) in CASES.items():
    tensors = [t.contiguous() for t in tensors]
    distributed = False
    expected = outcome(function, [t.clone().requires_grad_() for t in tensors])
    distributed = True
    layouts = [[Replicate(), Partial(), *map(Shard, range(t.ndim))] for t in tensors]
    layouts = list(itertools.product(*layouts))
    for layout in layouts[:: max(1, len(layouts) // 6)]:
        got = outcome(function, [laid(t, p) for t, p in zip(tensors, layout, strict=True)])
        assert len(got) == len(expected), (name, layout)
        for a, b in zip(expected, got, strict=True):
            if not isinstance(a, torch.Tensor):
                assert a == b, (name, layout, a, b)
                continue
            assert a.dtype == b.dtype and a.shape == b.shape, (name, layout, a, b)
            assert torch.allclose(a, b, rtol=1e-9, atol=1e-9), (name, layout, a, b)
        count += 1

# An operator without a rule writes to what was gathered, and that is put back.
for layout in (Replicate(), Shard(0), Shard(1), Partial()):
    whole = laid(x, layout).detach()
    given = x.index_fill(0, places, 1.0)
    assert torch.allclose(whole.index_fill_(0, replicated(places), 1.0).full_tensor(), given)
    assert whole.placements == (layout,)
for t in (laid(x, Shard(0)).detach(), laid(x, Partial()).detach()):
    try:
        t.resize_as_(replicated(x[:2]))
    except NotImplementedError as error:
        assert "aten.resize_as_.default of a distributed tensor (DTensor)" in str(error)
    else:
        raise AssertionError("an operator that resizes wrote to a part")
# A list of one result, no elements at all, and one of two arguments that is a number.
for layout in (Replicate(), Shard(0), Shard(1), Partial()):
    given = laid(x, layout).detach().requires_grad_()
    (only,) = torch.split(given, 5)
    (only * 3).sum().backward()
    assert torch.equal(given.grad.full_tensor(), torch.full_like(x, 3.0)), layout
    torch.manual_seed(3)
    drawn = torch.normal(1.0, laid(x.abs(), layout).detach()).full_tensor()
    torch.manual_seed(3)
    assert torch.allclose(drawn, torch.normal(1.0, x.abs())), layout
nothing = replicated(x[:0]).requires_grad_()
weight = replicated(torch.ones(6, dtype=torch.float64)).requires_grad_()
F.group_norm(nothing, 2, weight, weight).sum().backward()
assert nothing.grad.shape == (0, 6) and weight.grad.full_tensor().sum() == 0
none = replicated(x[:0, 0]).requires_grad_()
F.batch_norm(none, none.detach(), none.detach(), training=True).sum().backward()
assert none.grad.shape == (0,)
# The program's own plain tensors are not taken for distributed ones.
try:
    laid(x, Shard(0)) + x
except RuntimeError as error:
    assert "got mixed torch.Tensor and DTensor" in str(error)
else:
    raise AssertionError("a plain tensor was taken for a distributed one")
assert count > 150, count
print("all well", count)
dist.destroy_process_group()
