"""A perceptron, a residual network and a GPT for 100 steps: ranks with their parts of each batch
against one process with all of it.

Prints the first and last loss of each. Runs with PyTorch, too (`torch`); with Pellucid, eager and
as compiled steps.
"""

import math
import os
import sys

if "torch" in sys.argv:
    import torch
else:
    import pellucid

    torch = pellucid.interop.as_torch()
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

STEPS = 100


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.a, self.b = nn.Conv2d(n, n, 3, padding=1), nn.Conv2d(n, n, 3, padding=1)

    def forward(self, x):
        return torch.relu(x + self.b(torch.relu(self.a(x))))


class CausalSelfAttention(nn.Module):
    """As minGPT has it."""

    def __init__(self, n_embd, n_head, block_size):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.register_buffer(
            "bias",
            torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size),
        )
        self.n_head, self.n_embd = n_head, n_embd

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k, q, v = (z.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for z in (k, q, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = F.softmax(att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf")), dim=-1)
        return self.c_proj((att @ v).transpose(1, 2).contiguous().view(B, T, C))


class GPT(nn.Module):
    def __init__(self, vocab_size=30, n_embd=24, n_head=3, n_layer=2, block_size=12):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.h = nn.ModuleList(
            [
                nn.ModuleDict(
                    {
                        "ln_1": nn.LayerNorm(n_embd),
                        "attn": CausalSelfAttention(n_embd, n_head, block_size),
                        "ln_2": nn.LayerNorm(n_embd),
                        "mlp": nn.Sequential(
                            nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd)
                        ),
                    }
                )
                for _ in range(n_layer)
            ]
        )
        self.ln_f, self.lm_head = nn.LayerNorm(n_embd), nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for block in self.h:
            x = x + block["attn"](block["ln_1"](x))
            x = x + block["mlp"](block["ln_2"](x))
        return self.lm_head(self.ln_f(x)).flatten(0, 1)


def example(name):
    """(model, optimizer of parameters, batch of a step)."""
    torch.manual_seed(3)
    if name == "digits":
        model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
        return (
            model,
            lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
            lambda g: (torch.rand(16, 64, generator=g), 10),
        )
    if name == "residual":
        model = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            Block(8),
            nn.MaxPool2d(2),
            Block(8),
            nn.Flatten(),
            nn.Linear(128, 10),
        )
        return (
            model,
            lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
            lambda g: (torch.rand(8, 1, 8, 8, generator=g), 10),
        )
    words = lambda g: (torch.randint(0, 30, (8, 12), generator=g), None)
    return GPT(), lambda p: torch.optim.AdamW(p, lr=1e-3, betas=(0.9, 0.95), eps=1e-5), words


def train(name, part=None, compiled=False):
    """Losses of the whole batch."""
    model, make, batch = example(name)
    size = 1 if part is None else dist.get_world_size()
    if part is not None:
        model = DDP(model, bucket_cap_mb=0.02)
    optimizer = make(model.parameters())

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y.flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    function = torch.compile(step, fullgraph=True) if compiled else step
    losses = []
    for k in range(STEPS):
        x, classes = batch(torch.Generator().manual_seed(k))
        y = x.roll(-1, 1) if classes is None else (x.flatten(1)[:, :classes] * 3).argmax(1)
        if part is not None:
            x, y = x.chunk(size)[part], y.chunk(size)[part]
        loss = function(x, y).double()
        if part is not None:
            dist.all_reduce(loss)
        losses.append(loss.item() / size)
    if part is not None:
        flat = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
        others = [torch.empty_like(flat) for _ in range(size)]
        dist.all_gather(others, flat)
        assert all(torch.equal(flat, other) for other in others), f"{name}: replicas differ"
    return losses


dist.init_process_group("gloo")
for name in ("digits", "residual", "gpt"):
    alone = train(name)
    for compiled in (False,) if "torch" in sys.argv else (False, True):
        losses = train(name, dist.get_rank(), compiled)
        worst = max(abs(a - b) / a for a, b in zip(alone, losses))
        assert worst < 1e-6, (name, compiled, worst)
        if dist.get_rank() == 0:
            print(
                f"{name}{' compiled' * compiled}: {losses[0]:.6f} {losses[-1]:.6f}, {worst:.1e} from one process",
                flush=True,
            )
dist.destroy_process_group()
if "torch" in sys.argv:
    os._exit(0)  # PyTorch's threads of gloo now and then abort a process that ends in the usual way
