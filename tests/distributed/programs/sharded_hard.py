"""fully_shard alone (nothing else of the sharded package is imported) with modules that are hard on
it.

Frozen and unused parameters, a block that is used twice, a weight used without its gradient, a
result that is a view and changed in place, and both kinds of recomputation.
"""

import pellucid as torch
import pellucid.distributed as dist
from pellucid import nn
from pellucid.distributed.fsdp import fully_shard
from pellucid.utils.checkpoint import checkpoint

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.frozen, self.unused = nn.Linear(6, 6), nn.Linear(2, 2)
        self.frozen.requires_grad_(False)
        self.a, self.b = nn.Linear(6, 3, bias=False), nn.Linear(3, 6, bias=False)

    def forward(self, x):
        h = self.frozen(x) + self.b(self.a(x))
        return (h * self.frozen.weight.detach().sum()).view(-1, 6)


class Model(nn.Module):
    def __init__(self, recompute):
        super().__init__()
        self.blocks, self.recompute = nn.ModuleList([Block() for _ in range(3)]), recompute

    def forward(self, x):
        for block in self.blocks:
            if self.recompute is None:
                y = block(x)
                y += 1.0
            else:
                y = checkpoint(block, x, use_reentrant=self.recompute)
            x = torch.tanh(y)
        return {"out": [torch.tanh(self.blocks[0](x))]}


for recompute in (None, False, True):
    models = []
    for _ in range(2):
        torch.manual_seed(0)
        models.append(Model(recompute))
    whole, model = models
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    x = torch.randn(2 * size, 6, generator=torch.Generator().manual_seed(1))
    inputs = x.clone().requires_grad_(), x[2 * rank : 2 * rank + 2].clone().requires_grad_()
    for _ in range(2):
        for each, given in zip((whole, model), inputs, strict=True):
            (each(given)["out"][0] ** 2).mean().backward()
    for (key, a), b in zip(whole.named_parameters(), model.parameters(), strict=True):
        assert (a.grad is None) == (b.grad is None), key
        assert a.grad is None or (a.grad - b.grad.full_tensor()).abs().max() < 1e-6, (
            recompute,
            key,
        )
    assert (inputs[0].grad[2 * rank : 2 * rank + 2] - inputs[1].grad / size).abs().max() < 1e-6, (
        recompute
    )
print("all well")
dist.destroy_process_group()
