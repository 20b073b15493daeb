"""Views of distributed tensors, and writes to either: what one shows, the other has. Random programs
against whole tensors, then cases by name.
"""

import random
import sys

import pellucid as torch
import pellucid.distributed as dist
from pellucid.distributed.device_mesh import init_device_mesh
from pellucid.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

PROGRAMS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
meshes = [init_device_mesh("cpu", s) for s in [(size,), (2, 2) if size == 4 else (1, size)]]


def spread(x, mesh, *placements):
    return distribute_tensor(x.clone(), mesh, list(placements), src_data_rank=None)


# ---- random programs ---------------------------------------------------------------------------
def a_view(r, x):
    n = x.ndim
    if not n:
        return lambda t: t.view(1)
    d = r.randrange(n)
    s = x.shape[d]
    i, low = r.randrange(s), r.randrange(s)
    order = r.sample(range(n), n)
    ways = [
        lambda t: t.select(d, i - s),
        lambda t: t.narrow(d, low, s - low),
        lambda t: t[(slice(None),) * d + (slice(low, None, 2),)],
        lambda t: t.permute(order),
        lambda t: t.unsqueeze(d),
        lambda t: t.squeeze(),
        lambda t: t.chunk(2, d)[0],
        lambda t: t.unbind(d)[i],
        lambda t: t.detach(),
        lambda t: t[...],
    ]
    if x.is_contiguous():
        ways.append(lambda t: t.view(-1))
    if n > 1:
        ways.append(lambda t: t.diagonal(0, 0, 1))
    if s > 1:
        ways.append(lambda t: t.split([1, s - 1], d)[1])
    return r.choice(ways)


def a_write(r, x, live):
    n, c = x.ndim, r.choice([-1.5, 0.5, 2.0])
    d = r.randrange(n) if n else 0
    same = r.choice([o for o in live if o[0].shape == x.shape])
    ways = [
        lambda t, k: t.zero_(),
        lambda t, k: t.fill_(c),
        lambda t, k: t.mul_(c).sin_(),
        lambda t, k: t.copy_(same[k].clone()),
        lambda t, k: t.add_(same[k].clone()),
        lambda t, k: t.__setitem__(Ellipsis, c),
        lambda t, k: t.masked_fill_(t > 0, c),
        lambda t, k: torch.mul(t.clone(), c, out=t),
    ]
    if n:
        i = r.randrange(x.shape[d])
        ways += [
            lambda t, k: t.__setitem__((slice(None),) * d + (i,), c),
            lambda t, k: t.cumsum_(d),
            lambda t, k: t.__setitem__(t > 0.3, c),
        ]
    if n > 1:
        ways.append(lambda t, k: t.tril_())
    return r.choice(ways)


def program(seed):
    r = random.Random(seed)
    mesh = meshes[seed % 2]
    n = r.choice([1, 2, 2, 3])
    torch.manual_seed(seed)
    x = torch.randn([r.randrange(1, 7) for _ in range(n)], dtype=torch.float64)
    placements = [
        r.choice([Replicate()] + [Shard(d) for d in range(n)] * 2) for _ in range(mesh.ndim)
    ]
    live = [(x, spread(x, mesh, *placements))]
    for _ in range(r.randrange(3, 14)):
        whole, parts = r.choice(live)
        what = r.random()
        if what < 0.4:
            view = a_view(r, whole)
            live.append((view(whole), view(parts)))
            assert live[-1][0].shape == live[-1][1].shape, seed
        elif what < 0.75:
            write = a_write(r, whole, live)
            write(whole, 0)
            write(parts, 1)
        else:
            assert torch.allclose((parts * 1).full_tensor(), whole), seed
    for whole, parts in live:
        assert torch.allclose(parts.full_tensor(), whole), seed


for seed in range(PROGRAMS):
    program(seed)

# ---- by name -----------------------------------------------------------------------------------
mesh = meshes[0]
x = torch.arange(12.0).reshape(4, 3)

d = spread(x, mesh, Shard(0))
first = d[0]
assert first.zero_() is first
assert d.full_tensor()[0].sum() == 0 and torch.equal(d.full_tensor()[1:], x[1:])
d.add_(1)
assert torch.equal(first.full_tensor(), torch.ones(3))
assert torch.equal(first.to_local(), torch.ones(3))
flat = d.view(-1)
flat[5] = 7.0
assert d.full_tensor()[1, 2] == 7

# what consists of terms, written through an operator that gathers
terms = DTensor.from_local(x.clone() if rank == 0 else x * 0, mesh, [Partial()])
terms.cumsum_(1)
assert torch.equal(terms.full_tensor(), x.cumsum(1)) and terms.placements == (Partial(),)

# an optimizer's step is a write, too
p = torch.nn.Parameter(spread(x, mesh, Shard(0)))
row = p.detach()[1]
p.sum().backward()
torch.optim.SGD([p], lr=1.0).step()
assert torch.equal(row.full_tensor(), x[1] - 1)

# tensors that become views of themselves
d = spread(x, mesh, Shard(0))
row = d[0]
assert d.t_() is d and d.shape == (3, 4) and d.placements == (Shard(1),)
assert torch.equal(d.full_tensor(), x.T)
assert torch.equal(d.unsqueeze_(0).full_tensor(), x.T[None])
assert torch.equal(d.squeeze_(0).swapaxes_(0, 1).full_tensor(), x)
d.zero_()
assert row.full_tensor().sum() == 0
a = spread(x, mesh, Shard(0)).requires_grad_()
y = a * 2
y.transpose_(0, 1)
(y * y).sum().backward()
assert torch.equal(a.grad.full_tensor(), 8 * x)
for change in (lambda t: t.resize_(2, 2), lambda t: t.set_(t)):
    try:
        change(d)
    except NotImplementedError as error:
        assert "of a distributed tensor (DTensor) is not supported" in str(error)
    else:
        raise AssertionError("shapes of parts changed")

# data
d = spread(x, mesh, Shard(0))
d.data.mul_(2)
assert torch.equal(d.full_tensor(), 2 * x) and d._version == 0
d.data = spread(x[:2], mesh, Shard(1))
assert d.shape == (2, 3) and torch.equal(d.full_tensor(), x[:2]) and d.placements == (Shard(1),)
try:
    d.data = x
except RuntimeError as error:
    assert "incompatible tensor type" in str(error)
else:
    raise AssertionError("a plain tensor became the data of a distributed one")

# writes are counted, over all views, and backward looks at them
d = spread(x, mesh, Shard(0))
d[0].zero_()
assert d._version == d[1]._version == d.detach()._version == 1
y = spread(x, mesh, Shard(0)).requires_grad_() * 1
z = y.exp()
with torch.no_grad():
    z[0].zero_()
try:
    z.sum().backward()
except RuntimeError as error:
    assert "has been modified by an inplace operation" in str(error)
else:
    raise AssertionError("a gradient from values that were overwritten")
print("all well")
dist.destroy_process_group()
