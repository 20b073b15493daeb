"""Distributed tensors against whole ones: layouts, operators, gradients, tensor parallel models."""

import itertools
import math
import os
import sys

import pellucid as torch
import pellucid.distributed as dist
from pellucid import nn
from pellucid.distributed.device_mesh import DeviceMesh, init_device_mesh
from pellucid.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    empty,
    full,
    ones,
    rand,
    randn,
    zeros,
)
from pellucid.distributed.tensor.experimental import implicit_replication, local_map
from pellucid.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from pellucid.nn import functional as F

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
thorough = "," in os.environ.get("PELLUCID_TEST_RANKS", "")
generator = torch.Generator().manual_seed(0)


def values(*shape):
    return torch.randn(shape, generator=generator)


def raises(kind, text, function):
    try:
        function()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"{kind.__name__} was not raised")


def all_layouts(shape, mesh):
    """Every layout of a tensor on a mesh, of which one in which terms are to be added."""
    one = [Replicate(), *[Shard(d) for d in range(len(shape))]]
    return list(itertools.product(one, repeat=mesh.ndim))


def meshes():
    yield init_device_mesh("cpu", (size,))
    if size == 4:
        yield init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))


def the_mesh():
    mesh = init_device_mesh("cpu", (size,), mesh_dim_names=("x",))
    assert (
        mesh.shape == (size,)
        and mesh.ndim == 1
        and mesh.size() == size
        and mesh.get_local_rank() == rank
    )
    assert (
        mesh.get_coordinate() == (rank,)
        and mesh["x"] is mesh
        and mesh.get_group("x") is dist.group.WORLD
    )
    assert mesh.mesh.tolist() == list(range(size)) and mesh == init_device_mesh(
        "cpu", (size,), mesh_dim_names=("x",)
    )
    assert repr(mesh) == f"DeviceMesh((x={size}), 'cpu', stride=(1,))"
    raises(
        RuntimeError,
        "Cannot slice a DeviceMesh without mesh_dim_names!",
        lambda: init_device_mesh("cpu", (size,))["x"],
    )
    raises(
        KeyError,
        "Invalid mesh_dim_names ('y',) specified. Valid mesh_dim_names are ['x'].",
        lambda: mesh["y"],
    )
    raises(
        RuntimeError, f"found {size + 1} ranks!", lambda: DeviceMesh("cpu", list(range(size + 1)))
    )
    raises(
        RuntimeError,
        "Each mesh_dim_name must be unique",
        lambda: init_device_mesh("cpu", (1, size), mesh_dim_names=("x", "x")),
    )
    turned = DeviceMesh("cpu", list(range(size))[::-1])
    assert turned.get_local_rank() == size - 1 - rank == turned.get_coordinate()[0]
    t = distribute_tensor(torch.arange(2 * size), turned, [Shard(0)])
    assert t.to_local().tolist() == [2 * (size - 1 - rank), 2 * (size - 1 - rank) + 1]
    assert t.full_tensor().tolist() == list(range(2 * size))
    two = init_device_mesh("cpu", (1, size), mesh_dim_names=("one", "all"))
    assert (
        two["all"].get_group() is two.get_group(1)
        and two["all"].get_group().size() == size
        and two["one"].size() == 1
    )
    raises(RuntimeError, "dimensions", two.get_group)
    flat = two["one", "all"]._flatten("flat")
    assert flat.size() == size and two["flat"] is flat and two.get_local_rank("all") == rank
    again = DeviceMesh.from_group(dist.group.WORLD, "cpu")
    assert again.get_group() is dist.group.WORLD
    if size == 4:
        square = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        assert dist.get_process_group_ranks(square.get_group("tp")) == [
            rank // 2 * 2,
            rank // 2 * 2 + 1,
        ]
        assert square["dp"].mesh.tolist() == [
            rank % 2,
            rank % 2 + 2,
        ] and square.get_coordinate() == (rank // 2, rank % 2)
        part = DeviceMesh("cpu", [1, 3])
        t = distribute_tensor(torch.arange(4.0), part, [Shard(0)])
        assert t.to_local().tolist() == {1: [0.0, 1.0], 3: [2.0, 3.0]}.get(rank, [])
        assert (t + t).shape == (4,)


def the_layouts():
    for mesh in meshes():
        for shape in (
            ((5, 3), (1, 7), (size * 2, size), (0, 3)) if thorough else ((5, 3), (1, 2), (0, 3))
        ):
            x = values(*shape)
            made = {p: distribute_tensor(x, mesh, p) for p in all_layouts(shape, mesh)}
            for p, t in made.items():
                assert (
                    t.placements == p
                    and tuple(t.shape) == shape
                    and torch.equal(t.full_tensor(), x)
                ), (shape, p)
                for q in made:
                    moved = t.redistribute(placements=q)
                    assert moved.placements == q and torch.equal(
                        moved.to_local(), made[q].to_local()
                    ), (shape, p, q)
    mesh = init_device_mesh("cpu", (size,))
    for op, expected in (
        ("sum", sum(range(1, size + 1))),
        ("max", size),
        ("min", 1),
        ("avg", (size + 1) / 2),
    ):
        terms = DTensor.from_local(torch.full((5, 2), rank + 1.0), mesh, [Partial(op)])
        assert torch.equal(terms.full_tensor(), torch.full((5, 2), float(expected)))
        cut = terms.redistribute(placements=[Shard(0)])
        assert torch.equal(cut.full_tensor(), torch.full((5, 2), float(expected)))
    raises(
        RuntimeError,
        "redistributing to Partial is for internal use only!",
        lambda: cut.redistribute(placements=[Partial()]),
    )
    raises(
        ValueError,
        "must have the same length as `device_mesh.ndim`",
        lambda: distribute_tensor(values(2), mesh, [Shard(0)] * 2),
    )
    raises(RuntimeError, "got mixed torch.Tensor and DTensor", lambda: cut + values(5, 2))
    with implicit_replication():
        assert torch.equal(
            (cut + torch.ones(5, 2)).full_tensor(), torch.full((5, 2), expected + 1.0)
        )
    # without a rule of its own: the argument is gathered, the results are replicated
    square = values(4, 4)
    q, r = torch.linalg.qr(distribute_tensor(square, mesh, [Shard(0)]))
    assert q.placements == r.placements == (Replicate(),)
    assert torch.allclose((q @ r).full_tensor(), square, atol=1e-5)
    torch.manual_seed(3)
    expected = torch.randn(5, 3), torch.rand(4)
    torch.manual_seed(3)
    made = randn(5, 3, device_mesh=mesh, placements=[Shard(0)]), rand((4,), device_mesh=mesh)
    assert all(torch.equal(a.full_tensor(), b) for a, b in zip(made, expected, strict=True))
    for made, value in (
        (zeros(3, 2, device_mesh=mesh), 0),
        (ones(3, device_mesh=mesh, placements=[Shard(0)]), 1),
        (full((2, 2), 7.0, device_mesh=mesh), 7),
    ):
        assert (made.full_tensor() == value).all()
    assert empty(5, device_mesh=mesh, placements=[Shard(-1)]).placements == (Shard(0),)
    with mesh:
        assert zeros(2).device_mesh is mesh


OPERATORS = {
    "arithmetic": (lambda x, y: x * y + x / (y.abs() + 1) - 2 * y, [(5, 4), (5, 4)]),
    "broadcast": (lambda x, y: (x + y).sin() * y, [(5, 4), (4,)]),
    "broadcast ones": (lambda x, y: x * y - y, [(5, 4), (5, 1)]),
    "pointwise": (
        lambda x: F.gelu(x) + F.silu(x) + x.sigmoid() * x.tanh() + F.relu(x) + F.softplus(x),
        [(5, 3)],
    ),
    "comparison": (lambda x: torch.where(x > 0, x, x * 2).clamp(-1, 1), [(5, 3)]),
    "masked": (lambda x: x.masked_fill(x < 0, 3.0), [(5, 3)]),
    "matmul": (lambda x, w: x @ w, [(5, 4), (4, 3)]),
    "batched": (lambda x, w: torch.matmul(x, w), [(3, 5, 4), (3, 4, 2)]),
    "linear": (lambda x, w, b: F.linear(x, w, b), [(5, 4), (3, 4), (3,)]),
    "linear of three": (lambda x, w, b: F.linear(x, w, b), [(4, 5, 4), (6, 4), (6,)]),
    "sum": (lambda x: x.sum(0) * 2 + x.sum(), [(5, 4)]),
    "mean": (lambda x: x.mean(1, keepdim=True) + x.mean(), [(5, 4)]),
    "extremes": (lambda x: x.amax(0) + x.amin(0) + x.max() - x.min(), [(5, 4)]),
    "max along": (lambda x: x.max(1).values + x.min(1)[0], [(5, 4)]),
    "norms": (
        lambda x: torch.linalg.vector_norm(x) + torch.linalg.vector_norm(x, 1) + x.norm(),
        [(5, 4)],
    ),
    "variance": (lambda x: x.var(0) + x.std(1).sum(), [(5, 4)]),
    "prod": (lambda x: x.detach().prod(0) * x.sum(), [(5, 3)]),
    "softmax": (lambda x: x.softmax(-1) * x.log_softmax(0), [(5, 4)]),
    "cumsum": (lambda x: x.cumsum(0) + x.flip(0), [(5, 4)]),
    "layer norm": (lambda x, w, b: F.layer_norm(x, (6,), w, b), [(3, 5, 6), (6,), (6,)]),
    "rms norm": (lambda x, w: F.rms_norm(x, (6,), w), [(5, 6), (6,)]),
    "view": (lambda x: x.view(4, 6, 2).transpose(0, 1).reshape(6, 8).permute(1, 0), [(4, 12)]),
    "flatten": (lambda x: x.flatten(0, 1).unsqueeze(1).squeeze(1) * 3, [(4, 5, 2)]),
    "heads": (
        lambda x: x.view(2, 4, 2, 3).transpose(1, 2).contiguous().view(2, 2, 12),
        [(2, 4, 6)],
    ),
    "expand": (lambda x: x.unsqueeze(0).expand(3, -1, -1) * 2, [(5, 4)]),
    "split": (
        lambda x: (
            torch.cat([p * k for k, p in enumerate(x.split(2, 1))], 1)
            + torch.stack(x.chunk(2, 0)).sum()
        ),
        [(4, 6)],
    ),
    "slice": (
        lambda x: x[1:4, ::2] * x[0, :2] + x.select(1, 1).sum() + x[..., -1:].sum(),
        [(5, 4)],
    ),
    "unbind": (lambda x: x.unbind(1)[1] + x.unbind(1)[0], [(5, 2)]),
    "triangles": (lambda x: x.tril() + x.triu(1), [(4, 4)]),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        [(2, 4, 5, 3)] * 3,
    ),
    "convolution": (
        lambda x, w, b: F.conv2d(x, w, b, padding=1),
        [(4, 2, 5, 5), (3, 2, 3, 3), (3,)],
    ),
    "pooling": (lambda x: F.max_pool2d(x, 2).sum(1) + F.avg_pool2d(x, 2).sum(1), [(4, 2, 4, 4)]),
    "loss": (lambda x, y: F.mse_loss(x, y) + F.l1_loss(x, y, reduction="sum"), [(5, 4), (5, 4)]),
    "where": (
        lambda x, y: torch.where(x > y, x, y) + torch.maximum(x, y).lerp(x, 0.3),
        [(5, 4), (5, 4)],
    ),
    "copies": (
        lambda x: (
            x.clone().detach() * x
            + x.to(torch.float64).sum()
            + torch.zeros_like(x)
            + torch.ones_like(x)
        ),
        [(5, 4)],
    ),
}


def the_operators():
    """Results and gradients of every layout against the whole tensors'."""
    count = 0
    for mesh in meshes():
        for name, (function, shapes) in OPERATORS.items():
            wholes = [values(*s).requires_grad_() for s in shapes]
            expected = function(*wholes)
            seed = values(*expected.shape)
            grads = torch.autograd.grad((expected * seed).sum(), wholes)
            layouts = list(itertools.product(*[all_layouts(s, mesh) for s in shapes]))
            if not thorough and len(layouts) > 2:
                layouts = layouts[1 :: len(layouts) // 2]
            elif len(layouts) > 24:
                layouts = layouts[:: len(layouts) // 24]
            for chosen in layouts:
                given = [
                    distribute_tensor(w.detach(), mesh, p).requires_grad_()
                    for w, p in zip(wholes, chosen, strict=True)
                ]
                made = function(*given)
                assert isinstance(made, DTensor) and made.shape == expected.shape, (name, chosen)
                close(made.full_tensor(), expected, name, chosen)
                (made * distribute_tensor(seed, mesh)).sum().backward()
                for t, g in zip(given, grads, strict=True):
                    assert isinstance(t.grad, DTensor) and t.grad.shape == t.shape
                    close(t.grad.full_tensor(), g, name, chosen)
                count += 1
    return count


def close(a, b, *about):
    worst = (a - b).abs().max().item() if a.numel() else 0
    assert worst < 2e-5, (worst, about)


def the_losses_and_indices():
    mesh = init_device_mesh("cpu", (size,))
    target = torch.randint(0, 5, (7,), generator=generator)
    target[2] = -100
    weight = values(5).abs()
    for reduction, w in (
        itertools.product(("mean", "sum", "none"), (None, weight))
        if thorough
        else (("mean", weight), ("none", None))
    ):
        x = values(7, 5).requires_grad_()
        expected = F.cross_entropy(x, target, w, reduction=reduction, label_smoothing=0.0)
        expected.sum().backward()
        for p in (Replicate(), Shard(0), Shard(1)):
            t = distribute_tensor(x.detach(), mesh, [p]).requires_grad_()
            other = None if w is None else distribute_tensor(w, mesh)
            made = F.cross_entropy(
                t,
                distribute_tensor(target, mesh, [Shard(0) if p == Shard(0) else Replicate()]),
                other,
                reduction=reduction,
            )
            close(made.full_tensor(), expected, reduction, p)
            made.sum().backward()
            close(t.grad.full_tensor(), x.grad, reduction, p)
        t = distribute_tensor(x.detach(), mesh, [Shard(1)]).requires_grad_()
        with loss_parallel():
            made = F.cross_entropy(
                t,
                distribute_tensor(target, mesh),
                None if w is None else distribute_tensor(w, mesh),
                reduction=reduction,
            )
            close(made.full_tensor(), expected, reduction, "parallel")
            made.sum().backward()
        assert t.grad.placements == (Shard(1),)
        close(t.grad.full_tensor(), x.grad, reduction, "parallel")
    table, index = values(5, 4).requires_grad_(), torch.randint(0, 5, (3, 2), generator=generator)
    expected = F.embedding(index, table)
    seed = values(3, 2, 4)
    (expected * seed).sum().backward()
    for p, q in itertools.product(
        (Replicate(), Shard(0), Shard(1)), (Replicate(), Shard(0), Shard(1))
    ):
        t = distribute_tensor(table.detach(), mesh, [p]).requires_grad_()
        made = F.embedding(distribute_tensor(index, mesh, [q]), t)
        close(made.full_tensor(), expected, p, q)
        (made * distribute_tensor(seed, mesh)).sum().backward()
        close(t.grad.full_tensor(), table.grad, p, q)
        rows = distribute_tensor(table.detach(), mesh, [p])[
            distribute_tensor(index[:, 0], mesh, [Replicate()])
        ]
        close(rows.full_tensor(), table.detach()[index[:, 0]], p)
        picked = distribute_tensor(table.detach(), mesh, [p]).gather(
            1, distribute_tensor(index[:, :1].repeat(2, 1)[:5] % 4, mesh)
        )
        close(picked.full_tensor(), table.detach().gather(1, index[:, :1].repeat(2, 1)[:5] % 4), p)
    raises(
        IndexError,
        "index out of range in self",
        lambda: F.embedding(
            distribute_tensor(index + 9, mesh), distribute_tensor(table.detach(), mesh, [Shard(0)])
        ),
    )
    assert distribute_tensor(torch.tensor(3.5), mesh).item() == 3.5
    assert distribute_tensor(torch.ones(5), mesh, [Shard(0)]).sum().item() == 5.0
    for p in (Replicate(), Shard(0), Shard(1)):
        torch.manual_seed(5)
        expected = F.dropout(torch.ones(5, 4), 0.5)
        torch.manual_seed(5)
        assert torch.equal(
            F.dropout(distribute_tensor(torch.ones(5, 4), mesh, [p]), 0.5).full_tensor(), expected
        )
        torch.manual_seed(5)
        expected = torch.empty(5, 4).normal_()
        torch.manual_seed(5)
        t = distribute_tensor(torch.zeros(5, 4), mesh, [p])
        assert (
            t.normal_() is t
            and torch.equal(t.full_tensor(), expected)
            and torch.equal(t, distribute_tensor(expected, mesh, [p]))
        )


def the_graph():
    """from_local and to_local join a graph; gradients of gradients; in place; copies."""
    mesh = init_device_mesh("cpu", (size,))
    x = torch.full((2, 3), rank + 1.0, requires_grad=True)
    t = DTensor.from_local(x, mesh, [Shard(0)])
    assert t.shape == (2 * size, 3)
    (t.to_local() * 2).sum().backward()
    assert torch.equal(x.grad, torch.full((2, 3), 2.0))
    x.grad = None
    terms = DTensor.from_local(x, mesh, [Partial()]).redistribute(placements=[Replicate()])
    (terms.to_local() ** 2).sum().backward()
    assert torch.equal(x.grad, torch.full((2, 3), 2.0 * sum(range(1, size + 1))))
    w = distribute_tensor(values(5, 3), mesh, [Shard(0)]).requires_grad_()
    (first,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
    first.sum().backward()
    close(w.grad.full_tensor(), 6 * w.detach().full_tensor(), "second")
    with torch.no_grad():
        before = w.full_tensor().clone()
        w.mul_(2).add_(distribute_tensor(torch.ones(5, 3), mesh)).sub_(w.grad, alpha=0.5)
        close(w.full_tensor(), before * 2 + 1 - 0.5 * w.grad.full_tensor(), "in place")
        w.zero_()
        assert not w.full_tensor().any()
    assert w.is_leaf and w.detach().placements == w.placements and w.t().placements == (Shard(1),)
    import copy

    twin = copy.deepcopy(w)
    assert twin is not w and twin.placements == w.placements and twin.to_local() is not w.to_local()
    assert repr(w.detach()).startswith(
        "DTensor(local_tensor="
    ) and "placements=(Shard(dim=0),)" in repr(w)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.w1, self.w2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        h = self.ln1(x)
        q, k, v = (f(h) for f in (self.q, self.k, self.v))
        q, k, v = (t.view(t.shape[0], t.shape[1], -1, 4).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        x = x + self.o(y.contiguous().view(y.shape[0], y.shape[1], -1))
        return x + self.w2(F.gelu(self.w1(self.ln2(x))))


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.emb, self.norm, self.head = (
            nn.Embedding(13, width),
            nn.LayerNorm(width),
            nn.Linear(width, 14),
        )
        self.layers = nn.ModuleList([Block(width) for _ in range(2)])

    def forward(self, x):
        h = self.emb(x)
        for layer in self.layers:
            h = layer(h)
        return self.head(self.norm(h))


def the_gradients():
    """Of what is chosen along a dimension, and of what is written in place; numbers of a tensor in
    the graph.
    """

    def in_place(x):
        y = x * 1
        y *= 2
        y.mul_(y).add_(x)
        return y.exp_()

    mesh = init_device_mesh("cpu", (size,))
    whole = values(5, 3)
    for function in (
        lambda x: x.sort(0).values ** 2,
        lambda x: x.sort(1).values ** 2,
        lambda x: x.topk(2, 1).values,
        lambda x: x.max(0).values,
        lambda x: x.min(1, keepdim=True).values,
        lambda x: x.median(1).values,
        lambda x: x.logsumexp(0),
        lambda x: x.logsumexp(1),
        in_place,
    ):
        for layout in (Replicate(), Shard(0), Shard(1)):
            plain, x = (
                whole.clone().requires_grad_(),
                distribute_tensor(whole, mesh, [layout]).requires_grad_(),
            )
            expected, made = function(plain).sum(), function(x).sum()
            for number in (made.item(), float(made)):
                assert math.isclose(number, expected.item(), rel_tol=1e-6, abs_tol=1e-4)
            expected.backward()
            made.backward()
            close(x.grad.full_tensor(), plain.grad, layout)


def plan(sequence, parallel_loss):
    along = Shard(1) if sequence else Replicate()
    made = {"emb": RowwiseParallel(input_layouts=Replicate(), output_layouts=along)}
    for name in ("q", "k", "v", "w1"):
        made[f"layers.*.{name}"] = ColwiseParallel(input_layouts=along)
    for name in ("o", "w2"):
        made[f"layers.*.{name}"] = RowwiseParallel(output_layouts=along)
    if sequence:
        made |= dict.fromkeys(("layers.*.ln1", "layers.*.ln2", "norm"), SequenceParallel())
    last = Shard(-1) if parallel_loss else Replicate()
    made["head"] = ColwiseParallel(
        input_layouts=along, output_layouts=last, use_local_output=not parallel_loss
    )
    return made


def the_parallel_model(optimizer, **options):
    """A transformer, tensor parallel, step by step as one process trains it."""
    mesh = init_device_mesh("cpu", (size,))
    variants = list(itertools.product((False, True), (False, True)))
    for sequence, parallel_loss in variants if thorough else [(optimizer is torch.optim.SGD,) * 2]:
        torch.manual_seed(0)
        model, whole = Model(4 * size), Model(4 * size)
        whole.load_state_dict(model.state_dict())
        parallelize_module(model, mesh, plan(sequence, parallel_loss))
        assert model.layers[0].w2.weight.placements == (Shard(1),) and isinstance(
            model.layers[0].w2.weight, nn.Parameter
        )
        steps = optimizer(whole.parameters(), **options), optimizer(model.parameters(), **options)
        for step in range(4 if thorough else 2):
            draw = torch.Generator().manual_seed(step)
            x, y = (torch.randint(0, 13, (3, 4 * size), generator=draw) for _ in range(2))
            expected = F.cross_entropy(whole(x).flatten(0, 1), y.flatten())
            expected.backward()
            if parallel_loss:
                with loss_parallel():
                    loss = F.cross_entropy(
                        model(x).flatten(0, 1), distribute_tensor(y.flatten(), mesh)
                    )
                    loss.backward()
                loss = loss.full_tensor()
            else:
                loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
                loss.backward()
            assert abs(loss.item() - expected.item()) < 1e-6 * abs(expected.item()) + 5e-7, (
                step,
                loss,
                expected,
            )
            norms = [nn.utils.clip_grad_norm_(m.parameters(), 0.5) for m in (whole, model)]
            norms = [n.full_tensor() if isinstance(n, DTensor) else n for n in norms]
            close(norms[0], norms[1], "norm")
            for s in steps:
                s.step()
                s.zero_grad()
        for (name, a), b in zip(whole.named_parameters(), model.parameters(), strict=True):
            b = b.full_tensor() if isinstance(b, DTensor) else b
            close(a, b, name) if optimizer is torch.optim.SGD else None
            copies = [torch.empty_like(b) for _ in range(size)]
            dist.all_gather(copies, b.detach().contiguous())
            assert all(torch.equal(c, copies[0]) for c in copies), name  # bit for bit


def the_module():
    """distribute_module, and the styles that prepare inputs and outputs."""
    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(1)
    layer = nn.Linear(3, 5)
    x = values(4, 3)
    expected = layer(x)
    shard = {"weight": Shard(0), "bias": Shard(0)}

    def cut(name, module, mesh):
        for key, param in list(module.named_parameters(recurse=False)):
            module.register_parameter(
                key, nn.Parameter(distribute_tensor(param, mesh, [shard[key]]))
            )

    made = distribute_module(
        layer,
        mesh,
        cut,
        lambda m, i, mesh: (distribute_tensor(i[0], mesh),),
        lambda m, o, mesh: o.full_tensor(),
    )
    close(made(x), expected, "module")
    raises(
        RuntimeError,
        "distribute_module should only be called once",
        lambda: distribute_module(layer, mesh),
    )

    class Add(nn.Module):
        def forward(self, x, *, y):
            assert (
                isinstance(x, DTensor) and x.placements == (Replicate(),) and isinstance(y, DTensor)
            )
            return x + y

    style = PrepareModuleInput(
        input_layouts=(Shard(0),),
        desired_input_layouts=(Replicate(),),
        input_kwarg_layouts={"y": Replicate()},
        desired_input_kwarg_layouts={"y": Shard(0)},
    )
    module = parallelize_module(Add(), mesh, style)
    parallelize_module(
        module,
        mesh,
        PrepareModuleOutput(output_layouts=Shard(0), desired_output_layouts=Replicate()),
    )
    made = module(torch.full((1, 2), float(rank)), y=torch.ones(size, 2))
    assert made.tolist() == [[k + 1.0] * 2 for k in range(size)]
    raises(
        NotImplementedError,
        "ColwiseParallel currently only support nn.Linear and nn.Embedding!",
        lambda: parallelize_module(nn.ReLU(), mesh, ColwiseParallel()),
    )


def the_strides():
    """Shapes and strides of whole tensors and of shards, with data and without."""
    mesh = init_device_mesh("cpu", (size,))
    for device in ("cpu", "meta"):
        a = torch.empty(4, 2 * size, device=device)
        for cut, other in ((0, 1), (1, 0)):
            x = distribute_tensor(a.t(), mesh, [Shard(cut)])
            assert x.stride() == (1, 2 * size) and x.is_meta == (device == "meta")
            part = tuple(n // size if d == other else n for d, n in enumerate(a.shape))
            made = (
                distribute_tensor(a, mesh, [Shard(other)]).t() + 1
                if a.shape[other] % size == 0
                else x
            )
            if made is not x:
                assert made.stride() == (1, 2 * size) and made.placements == (Shard(cut),)
                assert made.to_local().stride() == (1, part[1]), (made.to_local().stride(), part)
                assert torch.zeros_like(made).stride() == (1, 2 * size)
            moved = x.redistribute(mesh, [Shard(other)]).redistribute(mesh, [Replicate()])
            assert moved.to_local().shape == x.shape and moved.device.type == device
        local = torch.empty(3, 4, device=device).t()
        assert DTensor.from_local(local, mesh, [Shard(0)]).stride() == (1, 4 * size)
        assert DTensor.from_local(local, mesh, [Shard(1)]).stride() == (1, 4)


def the_functions():
    """Coalesced collectives, and those that return new tensors."""
    from pellucid.distributed import _functional_collectives as functions
    from pellucid.distributed.distributed_c10d import _coalescing_manager

    total, mine = sum(range(1, size + 1)), rank + 1.0
    tensors = [torch.full((k,), mine) for k in (1, 3, 0)]
    with _coalescing_manager() as works:
        for t in tensors:
            dist.all_reduce(t)
    assert len(works.works) == 3 and all((t == total).all() for t in tensors)
    gathered = [torch.empty(size * 2), torch.empty(size)]
    with _coalescing_manager(async_ops=True) as works:
        dist.all_gather_into_tensor(gathered[0], torch.full((2,), mine))
        dist.all_gather_into_tensor(gathered[1], torch.full((1,), mine))
    works.wait()
    assert gathered[1].tolist() == [k + 1.0 for k in range(size)] and gathered[0].sum() == 2 * total

    def mixed():
        with _coalescing_manager():
            dist.all_reduce(torch.ones(1))
            dist.all_gather_into_tensor(torch.empty(size), torch.ones(1))

    raises(RuntimeError, "requires all collectives to be the same type", mixed)
    tensors = [torch.full((2,), mine), torch.full((1,), mine)]
    assert dist.all_reduce_coalesced(tensors) is None and tensors[1].item() == total
    assert (
        dist.all_reduce_coalesced([torch.full((2,), mine)], async_op=True).wait()[0].tolist()
        == [total] * 2
    )
    lists = [[torch.empty(2), torch.empty(1)] for _ in range(size)]
    dist.all_gather_coalesced(lists, [torch.full((2,), mine), torch.full((1,), -mine)])
    assert [of_rank[1].item() for of_rank in lists] == [-k - 1.0 for k in range(size)]
    raises(
        RuntimeError,
        "not safe to split any process groups",
        lambda: dist.split_group(split_ranks=[[0]]),
    )
    mesh = init_device_mesh("cpu", (size,))
    product = local_map(
        lambda a, b: a @ b,
        out_placements=[Partial()],
        in_placements=([Shard(1)], [Shard(0)]),
        device_mesh=mesh,
    )
    a, b = values(3, 4), values(4, 2)
    cut = distribute_tensor(a, mesh, [Shard(1)]), distribute_tensor(b, mesh, [Shard(0)])
    assert torch.allclose(product(*cut).full_tensor(), a @ b, atol=1e-6)
    raises(ValueError, "mismatched placements", lambda: product(cut[1], cut[0]))
    x = torch.full((size, 2), mine, requires_grad=True)
    assert (functions.all_reduce(x.detach(), "sum", mesh) == total).all() and (
        functions.broadcast(x.detach(), 0, mesh) == 1
    ).all()
    assert functions.all_gather_tensor(x.detach(), 1, (mesh, 0)).shape == (size, 2 * size)
    assert functions.wait_tensor(
        functions.reduce_scatter_tensor(x.detach(), "avg", 0, mesh)
    ).tolist() == [[total / size] * 2]
    functions.all_gather_tensor_autograd(x, 0, mesh).sum().backward()
    assert (x.grad == size).all()
    sent = functions.all_to_all_single(x.detach(), None, None, mesh)
    assert sent[:, 0].tolist() == [k + 1.0 for k in range(size)]


the_mesh()
the_functions()
the_strides()
the_layouts()
operators = the_operators()
the_losses_and_indices()
the_graph()
the_gradients()
the_module()
the_parallel_model(torch.optim.SGD, lr=0.1, momentum=0.9)
the_parallel_model(torch.optim.AdamW, lr=1e-2)
print("all well", operators)
sys.stdout.flush()
dist.destroy_process_group()
