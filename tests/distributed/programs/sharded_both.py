"""Tensor parallel blocks inside `fully_shard` on a mesh of two dimensions (2 x 2 with four ranks): the
same training as one process with the whole batch, and checkpoints that go on bit for bit.
"""

import sys

import pellucid as torch
import pellucid.distributed as dist
import pellucid.distributed.checkpoint as dcp
from pellucid import nn
from pellucid.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_state_dict,
)
from pellucid.distributed.device_mesh import init_device_mesh
from pellucid.distributed.fsdp import fully_shard
from pellucid.distributed.tensor import DTensor, Replicate
from pellucid.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

F = torch.nn.functional
WORDS, WIDTH, HEADS, LENGTH = 32, 16, 4, 8


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (
            w(x).view(b, t, -1, WIDTH // HEADS).transpose(1, 2) for w in (self.wq, self.wk, self.wv)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).contiguous().view(b, t, -1))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.w1 = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.w2 = nn.Linear(4 * WIDTH, WIDTH, bias=False)
        self.w3 = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        y = self.norm2(x)
        return x + self.w2(F.silu(self.w1(y)) * self.w3(y))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(2))
        self.norm, self.output = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, x):
        h = self.words(x) + self.places(torch.arange(x.shape[1]))
        for layer in self.layers:
            h = layer(h)
        return self.output(self.norm(h))


def made(seed):
    torch.manual_seed(seed)
    return Model()


def spread(model, mesh):
    """Tensor parallel along "tp", fully sharded along "dp"."""
    plan = {"words": RowwiseParallel(input_layouts=Replicate())}
    plan |= {"output": ColwiseParallel(output_layouts=Replicate())}
    parallelize_module(model, mesh["tp"], plan)
    for layer in model.layers:
        of_block = {f"attention.w{k}": ColwiseParallel() for k in "qkv"}
        of_block |= {"w1": ColwiseParallel(), "w3": ColwiseParallel()}
        of_block |= {"attention.wo": RowwiseParallel(), "w2": RowwiseParallel()}
        parallelize_module(layer, mesh["tp"], of_block)
        fully_shard(layer, mesh=mesh["dp"])
    return fully_shard(model, mesh=mesh["dp"])


def step(model, optimizer, x, y):
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    loss.backward()
    norm = torch.sqrt(
        sum(
            (p.grad.full_tensor() if isinstance(p.grad, DTensor) else p.grad).square().sum()
            for p in model.parameters()
        )
    )
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach(), norm


def compare(mesh, folder):
    g = torch.Generator().manual_seed(5)
    at, parts = mesh.get_local_rank("dp"), mesh["dp"].size()

    def batch():
        return tuple(torch.randint(0, WORDS, (8, LENGTH), generator=g) for _ in range(2))

    def share(pair):
        return tuple(t.chunk(parts)[at] for t in pair)

    one, many = made(0), spread(made(0), mesh)
    of_one, of_many = (torch.optim.AdamW(m.parameters(), lr=1e-2) for m in (one, many))
    for _ in range(3):
        pair = batch()
        alone, norm = step(one, of_one, *pair)
        mine, norm_of_many = step(many, of_many, *share(pair))
        dist.all_reduce(mine)
        assert abs(mine / size - alone) < 1e-12, (mine / size, alone)
        assert abs(norm - norm_of_many) < 1e-12, (norm, norm_of_many)
    for (name, p), q in zip(one.named_parameters(), many.parameters(), strict=True):
        assert (p - q.full_tensor()).abs().max() < 1e-10, (name, q.placements)

    of_model, of_optimizer = get_state_dict(many, of_many)
    dcp.save({"model": of_model, "optimizer": of_optimizer}, checkpoint_id=folder)
    again = spread(made(7), mesh)
    of_again = torch.optim.AdamW(again.parameters(), lr=1e-2)
    of_model, of_optimizer = get_state_dict(again, of_again)
    state = {"model": of_model, "optimizer": of_optimizer}
    dcp.load(state, checkpoint_id=folder)
    set_state_dict(
        again, of_again, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
    )
    pair = share(batch())
    assert torch.equal(step(many, of_many, *pair)[0], step(again, of_again, *pair)[0])
    for p, q in zip(many.parameters(), again.parameters(), strict=True):
        assert torch.equal(p.to_local(), q.to_local())
    whole = get_model_state_dict(
        many, options=StateDictOptions(full_state_dict=True, cpu_offload=True)
    )
    if rank == 0:
        Model().load_state_dict(whole)


torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
size, rank = dist.get_world_size(), dist.get_rank()
for n in {2: (1, 2), 4: (2,)}[size]:
    mesh = init_device_mesh("cpu", (size // n, n), mesh_dim_names=("dp", "tp"))
    compare(mesh, f"{sys.argv[1]}/{n}")
print("all well")
dist.destroy_process_group()
