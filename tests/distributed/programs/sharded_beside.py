"""The same training, cut over the ranks in several ways, with PyTorch's gloo (`torch`) or Pellucid;
and files that the two exchange.

sharded_beside.py [torch] train | write FOLDER | read FOLDER
"""

import importlib
import os
import sys

arguments = sys.argv[1:]
home = arguments.pop(0) if arguments[0] == "torch" else "pellucid"
torch = importlib.import_module(home)
dist, dcp, optim, fsdp, parallel, tensor, mesh_of = (
    importlib.import_module(f"{home}.distributed{name}")
    for name in (
        "",
        ".checkpoint",
        ".optim",
        ".fsdp",
        ".tensor.parallel",
        ".tensor",
        ".device_mesh",
    )
)
nn, F = torch.nn, torch.nn.functional
Shard, Replicate = tensor.Shard, tensor.Replicate
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = mesh_of.init_device_mesh("cpu", (size,))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = (
            nn.LayerNorm(width),
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.emb, self.head = nn.Embedding(13, width), nn.Linear(width, 13)
        self.layers = nn.ModuleList([Block(width) for _ in range(2)])

    def forward(self, x):
        h = self.emb(x)
        for layer in self.layers:
            h = layer(h)
        return self.head(h)


def trained(name, model, optimizer, part=slice(None)):
    """Print the first and the last loss, and the norm and the sum of the parameters at the end."""
    losses = []
    for step in range(20):
        draw = torch.Generator().manual_seed(step)
        x, y = (torch.randint(0, 13, (4 * size, 4), generator=draw) for _ in range(2))
        loss = F.cross_entropy(model(x[part]).flatten(0, 1), y[part].flatten())
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(total.item() / size)
    norm = norm.full_tensor() if isinstance(norm, tensor.DTensor) else norm
    whole = [p.full_tensor() if isinstance(p, tensor.DTensor) else p for p in model.parameters()]
    print(f"{name} losses: {losses[0]:.6f} {losses[-1]:.6f}")
    print(
        f"{name} end: {norm.item():.6f} {sum(p.double().abs().sum().item() for p in whole) / 1000:.6f}"
    )
    shown = {
        k: (str(p.placements), tuple(p.to_local().shape))
        for k, p in model.named_parameters()
        if isinstance(p, tensor.DTensor)
    }
    print(f"layout of {name}: {shown}")


def built():
    torch.manual_seed(0)
    return Model()


def train():
    own = slice(4 * rank, 4 * rank + 4)
    model = built()
    for layer in model.layers:
        fsdp.fully_shard(layer)
    fsdp.fully_shard(model)
    trained("fully sharded", model, torch.optim.AdamW(model.parameters(), lr=1e-2), own)
    model = built()
    for layer in model.layers:
        fsdp.fully_shard(layer, reshard_after_forward=False)
    fsdp.fully_shard(model)
    trained("momentum", model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), own)
    model = nn.parallel.DistributedDataParallel(built())
    trained(
        "zero",
        model,
        optim.ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=1e-2),
        own,
    )
    model = built()
    plan = {
        "emb": parallel.RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "layers.*.norm": parallel.SequenceParallel(),
        "layers.*.up": parallel.ColwiseParallel(input_layouts=Shard(1)),
        "layers.*.down": parallel.RowwiseParallel(output_layouts=Shard(1)),
        "head": parallel.ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
    }
    if 4 % size == 0:  # a sequence that the ranks divide
        parallel.parallelize_module(model, mesh, plan)
        trained("tensor parallel", model, torch.optim.SGD(model.parameters(), lr=0.1))
    model = built()
    plan = {"layers.*.up": parallel.ColwiseParallel(), "layers.*.down": parallel.RowwiseParallel()}
    parallel.parallelize_module(model, mesh, plan)
    for layer in model.layers:  # plain parameters and distributed ones are clipped apart by PyTorch
        layer.norm.requires_grad_(False)
    model.emb.requires_grad_(False)
    model.head.requires_grad_(False)
    trained("by columns and rows", model, torch.optim.AdamW(model.parameters(), lr=1e-2))


def state(f, way):
    return {
        "model": {
            "cut": tensor.distribute_tensor(
                f(torch.arange(15.0).reshape(5, 3)), mesh, [Shard(way)]
            ),
            "plain": f(torch.ones(3)),
            "half": f(torch.ones(2, dtype=torch.bfloat16)),
            "all": tensor.distribute_tensor(f(torch.arange(4)), mesh, [Replicate()]),
        },
        "step": 7 if f(torch.ones(1)) else 0,
        "groups": [1, {"a": f(torch.ones(2))}],
        "options": {"x": None, "lr": 0.1, "betas": (0.9, 0.99)},
    }


if arguments[0] == "train":
    train()
elif arguments[0] == "write":
    dcp.save(state(lambda t: t, 0), checkpoint_id=arguments[1])
else:
    made, wanted = state(lambda t: t * 0, 1), state(lambda t: t, 1)
    made["options"] = dict.fromkeys(wanted["options"], 0)
    dcp.load(made, checkpoint_id=arguments[1])
    for key in ("cut", "all"):
        assert made["model"][key].full_tensor().equal(wanted["model"][key].full_tensor()), key
    for key in ("plain", "half"):
        assert made["model"][key].equal(wanted["model"][key]), key
    assert (
        made["step"] == 7
        and made["options"] == wanted["options"]
        and made["groups"][1]["a"].equal(torch.ones(2))
    )
    print("the same")
dist.barrier()
dist.destroy_process_group()
if home == "torch":  # a thread of gloo's that is still there makes the end of the process an abort
    sys.stdout.flush()
    os._exit(0)
