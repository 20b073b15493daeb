"""Transforms of functions, hooks, checkpoints and threads over compositions of functions, against
PyTorch.

A program composes two functions of a table, perhaps with a write in place between them, and
differentiates, batches or runs the result in one of many ways. What it leaves is compared as in
`programs`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import program_runs as runs
import programs

NEEDS_TORCH = True
KNOWN: dict[str, str] = {
    "don't yet support saved t": "PyTorch has no hooks on saved tensors under transforms",
    "accepted RuntimeError view size is not compatible": "under vmap PyTorch views the whole batch; here each sample has the view",
    "NYI Functionalize rule": "PyTorch cannot do it yet",
    "accepted IndexError Dimension out of range": "under vmap PyTorch counts dimensions that a sample has not",
    "accepted RuntimeError one of the variables": "an operation keeps a copy of what it overwrites of its own operands",
}
HEAD = """import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
from torch.func import vmap, grad, jvp, vjp, jacrev, jacfwd, hessian, functionalize, linearize
torch.manual_seed({seed})
W = torch.randn(4, 4, dtype=torch.float64)
class Sq(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x * x
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
    @staticmethod
    def backward(ctx, g):
        return 3 * g * ctx.saved_tensors[0]
    @staticmethod
    def jvp(ctx, t):
        return 3 * t * ctx.saved_tensors[0]
class Vw(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x.view(x.shape)
    @staticmethod
    def setup_context(ctx, inputs, output):
        pass
    @staticmethod
    def backward(ctx, g):
        return g * 2
    @staticmethod
    def jvp(ctx, t):
        return t.view(t.shape)
checkpointed = lambda t: checkpoint(lambda u: (u.sin() * u).cos(), t, use_reentrant=False)
x = torch.randn({shape}, dtype=torch.float64)
t0 = torch.randn({shape}, dtype=torch.float64)
"""
FUNCTIONS = [
    "lambda t: t.sin()",
    "lambda t: (t * t).cumsum(-1)",
    "lambda t: t.softmax(-1)",
    "lambda t: t @ W",
    "lambda t: t.sort(-1)[0]",
    "lambda t: t.roll(1, -1) * t",
    "lambda t: t.clone().mul_(2)",
    "lambda t: torch.where(t > 0, t, -t * 2)",
    "lambda t: t.reshape(-1)",
    "lambda t: t.exp().log1p()",
    "lambda t: t[..., ::2]",
    "lambda t: torch.stack([t, t * 2], -1).flatten(-2)",
    "lambda t: t.unfold(-1, 2, 1).sum(-1)",
    "lambda t: F.layer_norm(t, t.shape[-1:])",
    "lambda t: t.diff(dim=-1)",
    "lambda t: t.logcumsumexp(-1)",
    "lambda t: t.prod(-1, keepdim=True) + t",
    "lambda t: t.cumprod(-1)",
    "lambda t: t.std(-1, keepdim=True) * t",
    "lambda t: t.tril() if t.dim() > 1 else t.flip(0)",
    "lambda t: t.expand(3, *t.shape).sum(0)",
    "lambda t: F.pad(t, (1, 2))",
    "lambda t: t.index_select(-1, torch.tensor([0, 2, 1, 0]))",
    "lambda t: t.gather(-1, t.argsort(-1))",
    "lambda t: t.masked_fill(t > 0.5, 0.)",
    "lambda t: t.index_put((torch.tensor([0]),), t[:1] * 3)",
    "lambda t: torch.cat([t, t.sin()], -1)",
    "lambda t: t.amax(-1, keepdim=True) - t",
    "lambda t: F.gelu(t)",
    "lambda t: t.norm(dim=-1, keepdim=True) * t",
    "lambda t: torch.einsum('...i,...j->...', t, t)",
    "lambda t: t.view_as(t).t() if t.dim() == 2 else t.view(t.shape)",
    "lambda t: t.scatter_add(-1, torch.zeros(t.shape, dtype=torch.long), t)",
    "lambda t: t.to(torch.float32).double()",
    "lambda t: t.detach() * t",
    "lambda t: t.var(-1)",
    "lambda t: t.median(-1)[0]",
    "lambda t: torch.linalg.norm(t)",
    "lambda t: t.erf() + t.sigmoid().log()",
    "Sq.apply",
    "lambda t: Sq.apply(t * 2) + t",
    "checkpointed",
    "Vw.apply",
    "lambda t: (t.real if t.is_complex() else t).abs().sqrt()",
    "lambda t: F.dropout(t, 0.0)",
    "lambda t: t.mT if t.dim() > 1 else t",
    "lambda t: t.squeeze().unsqueeze(0)",
    "lambda t: F.conv1d(t.reshape(1, 1, -1), torch.ones(1, 1, 2, dtype=t.dtype)).flatten()",
    "lambda t: F.cross_entropy(t.reshape(1, -1), torch.tensor([1]), reduction='none')",
]
USES = [
    "y = h(x)",
    "y = vmap(h)(x)",
    "y = vmap(h, in_dims=1, out_dims=-1)(x)",
    "y = vmap(vmap(h))(x)",
    "y = grad(s)(x)",
    "y = vmap(grad(s))(x)",
    "y = jvp(h, (x,), (t0,))",
    "y = vmap(lambda a, b: jvp(h, (a,), (b,)))(x, t0)",
    "o, p = vjp(h, x)\ny = [o, p(torch.ones_like(o))]",
    "y = jacrev(h)(x[0])",
    "y = jacfwd(h)(x[0])",
    "y = hessian(s)(x[0])",
    "y = grad(lambda t: grad(s)(t).pow(2).sum())(x)",
    "y = jvp(grad(s), (x,), (t0,))",
    "y = vmap(jacrev(h))(x)",
    "y = vmap(jacfwd(h), chunk_size=2)(x)",
    "y = functionalize(h)(x)",
    "y = linearize(h, x)[1](t0)",
    "y = vmap(h, in_dims=-1)(x)",
    "y = torch.autograd.functional.jacobian(h, x[0])",
    "y = torch.autograd.functional.hvp(s, x[0], t0[0])",
    "y = torch.autograd.functional.vhp(s, x[0], t0[0])",
    "y = torch.autograd.functional.jvp(h, x[0], t0[0], strict=False)",
    "y = jacrev(jacfwd(s))(x[0])",
    "y = grad(s)(x.t() if x.dim() == 2 else x)",
    "x.requires_grad_()\ny = h(x)\ny.retain_grad()\nlog = []\nhd = y.register_hook(lambda q: q * 2)\nx.register_hook(lambda q: log.append(q.sum().item()))\ny.sin().sum().backward(retain_graph=True)\nhd.remove()\ny.sin().sum().backward()",
    "x.requires_grad_()\nz = x * 1\nz.register_hook(lambda q: q * 2)\ny = h(z)\nz.mul_(3)\nw = z.sum() + y.sum()\nw.backward(retain_graph=True)\nw.backward()",
    "x.requires_grad_()\ny = h(x)\nd, = torch.autograd.grad(y.sin().sum(), x, create_graph=True)\ne = torch.autograd.grad(d.pow(2).sum(), x, allow_unused=True) if d.requires_grad else None",
    "x.requires_grad_()\ny = h(x)\nd = torch.autograd.grad(y, x, torch.ones(2, *y.shape, dtype=y.dtype), is_grads_batched=True)",
    "import threading\nx.requires_grad_()\ny = [h(x) for _ in range(4)]\nts = [threading.Thread(target=lambda k=k: y[k].sin().sum().backward()) for k in range(4)]\nfor q in ts: q.start()\nfor q in ts: q.join()\ndel ts, q",
    "x.requires_grad_()\nwith torch.autograd.graph.saved_tensors_hooks(lambda q: q.numpy().copy() if not q.requires_grad else q.detach().numpy().copy(), lambda q: torch.from_numpy(q)):\n    y = h(x)\ny.sin().sum().backward()",
    "x.requires_grad_()\ny = checkpoint(h, x, use_reentrant=True)\ny.sin().sum().backward()",
    "x.requires_grad_()\ny = checkpoint(lambda a: checkpoint(h, a * 2, use_reentrant=False), x, use_reentrant=False)\ny.sin().sum().backward()",
    "y = vmap(lambda a: vmap(lambda b: h(a * b[..., :1] if b.dim() else a * b))(t0))(x)",
    "import torch.autograd.forward_ad as fwAD\nwith fwAD.dual_level():\n    d = h(fwAD.make_dual(x, t0))\n    y = tuple(fwAD.unpack_dual(d))\ndel d",
    "x.requires_grad_()\nwith torch.no_grad():\n    y = h(x)\ny2 = h(x)\ny2.detach_() if y2.grad_fn and not y2._is_view() else None",
    "x.requires_grad_()\ny = h(x)\nn = []\ny.grad_fn.register_hook(lambda gi, go: n.append(len(go))) if y.grad_fn else None\ny.grad_fn.register_prehook(lambda go: (go[0] * 2,)) if y.grad_fn else None\ny.sum().backward(inputs=[x]) if y.requires_grad else None",
]
WRITES = [
    "def h(t):\n    u = t.clone()\n    u[..., 0] = f(u).sum()\n    return g(u)",
    "def h(t):\n    u = f(t) * 1\n    u.view(-1)[0].mul_(2)\n    return g(u)",
]


def draw(random: Any) -> dict[str, Any]:
    head = HEAD.format(seed=random.randrange(20), shape=random.choice(["3, 4", "2, 3, 4", "4, 4"]))
    body = [
        f"f = {random.choice(FUNCTIONS)}",
        f"g = {random.choice(FUNCTIONS)}",
        "h = lambda t: g(f(t))",
    ]
    if random.random() < 0.35:
        body.append(random.choice(WRITES))
    body += ["s = lambda t: h(t).sin().sum()", random.choice(USES), "del checkpointed"]
    return {"head": head, "body": body}


def run(case: dict[str, Any]) -> str | None:
    text = case["head"] + "\n".join(case["body"]) + "\n"
    wanted = programs.by_torch(text)
    if wanted is None:
        return None
    failure = runs.judge(text, wanted, runs.execute(text, "pellucid"), "eager", programs.SKIP_EAGER)
    return None if failure is None else f"{failure}\n" + "\n".join(case["body"])


def smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for k, line in enumerate(case["body"]):
        if line.startswith("def h"):
            yield {**case, "body": [*case["body"][:k], *case["body"][k + 1 :]]}
        if line[:4] in ("f = ", "g = ") and line[4:] != "lambda t: t.sin()":
            yield {
                **case,
                "body": [*case["body"][:k], line[:4] + "lambda t: t.sin()", *case["body"][k + 1 :]],
            }
