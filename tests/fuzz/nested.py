"""Compiled functions inside other things, and other things inside compiled functions.

A program composes custom autograd functions, transforms, checkpoints, gradients taken within it, complex
numbers that are viewed and written to, sparse products and `out=` that shares memory with operands. It
is called, and differentiated once or twice, batched, linearized or called with other parameters from
outside. Runs and comparisons are those of `programs`: PyTorch, and compiled with eager.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import programs

NEEDS_TORCH = True
KNOWN = programs.KNOWN | {
    "eager accepted RuntimeError expand is unsupported for Sparse": "sparse products are computed sample by sample",
    "compiled error text one of the variables": "a result of a program is not called by the operation that made it",
    "eager accepted RuntimeError Nested forward mode AD": "forward derivatives nest",
    "eager accepted RuntimeError During a grad": "writes to captured tensors that need no gradient are done",
    "eager accepted RuntimeError The differentiated Tensor at index": "autograd.grad() within a transform reaches tensors from outside of it",
    "eager accepted RuntimeError element of tensors": "autograd.grad() within a transform reaches tensors from outside of it",
    "compiled refused RuntimeError torch compile with aot_autograd": "a program has no second derivative, and says so, as PyTorch's has",
}
run, smaller = programs.run, programs.smaller

PRELUDE = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.autograd.forward_ad as fwAD
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from torch.utils.checkpoint import checkpoint
g = torch.Generator().manual_seed({seed})
torch.manual_seed({seed})
log = []
class Scaled(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x, k):
        return x * k
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.k = inputs[1]
        ctx.save_for_backward(inputs[0])
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * ctx.k * x.cos(), None
    @staticmethod
    def jvp(ctx, t, _):
        return t * ctx.k
class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        ctx.mark_non_differentiable(kind := (x > 0))
        return x * y, x + y, kind
    @staticmethod
    def backward(ctx, a, b, _):
        x, y = ctx.saved_tensors
        log.append(ctx.needs_input_grad)
        return (a * y + b) * 2, (a * x + b) if ctx.needs_input_grad[1] else None
class Written(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x
    @staticmethod
    def backward(ctx, g):
        return g * 3
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4, bias=False)
        self.register_buffer("seen", torch.zeros(4))
    def forward(self, x):
        self.seen.lerp_(x.detach().float().reshape(-1, 4).mean(0), 0.25) if self.training else None
        return self.two(self.one(x).tanh())
net = Net()
start = {{k: v.clone() for k, v in net.state_dict().items()}}
p = torch.randn(4, 4, generator=g).requires_grad_()
z = torch.randn(4, 4, generator=g, dtype=torch.complex64)
s = torch.eye(4).to_sparse()
buffer = torch.zeros(3, 4)
inner = torch.compile(lambda t: (t.sin() * t).cumsum(-1))
"""
BODY = """
h = Scaled.apply(h, 3)
h = Scaled.apply(h.T, 2.5).T
h, q, kind = Two.apply(h, h.sin())
h, q, kind = Two.apply(h, p.diagonal().expand(h.shape))
h = Written.apply(h * 1)
h = Written.apply(h.clone()[:, 1:]).sum(1, keepdim=True) + h
h = inner(h)
h = inner(h.detach()) * h
h = vmap(inner)(h)
h = vmap(lambda r: r * r.softmax(0) @ p)(h)
h = vmap(grad(lambda r: (r @ p).sin().sum()))(h)
h = grad(lambda t: (t @ p).cos().sum())(h)
h = jvp(lambda t: t.exp().log1p(), (h,), (torch.ones_like(h),))[1]
h = vjp(lambda t: t @ p, h)[1](h)[0]
h = h @ jacrev(lambda t: t.sin() * t.sum())(h[0])
h = h @ hessian(lambda t: (t ** 3).sum())(h[-1])
h = h @ jacfwd(lambda t: t.cumsum(0))(h[0].detach())
h = checkpoint(lambda t: (t @ p).sin(), h, use_reentrant=False)
h = checkpoint(net, h, use_reentrant=False)
h = functional_call(net, {"one.weight": p}, (h,))
h = functional_call(net, {k: v * 2 for k, v in net.named_parameters()}, (h,))
h = net(h)
d, = torch.autograd.grad((h @ p).sin().sum(), p, create_graph=True); h = h + d[0]
d, = torch.autograd.grad((h @ p).sin().sum(), p); h = h @ d
d = torch.autograd.grad(net(h).square().mean(), list(net.parameters()), create_graph=True); h = h * d[0].norm()
c = torch.complex(h, h.sin()); h = c.abs() + c.angle()
c = torch.view_as_complex(h.reshape(-1, 2, 2)); h = (c * c.conj()).real.reshape(-1, 2).repeat(1, 2)
c = (h + 0j) @ z; c.real.mul_(2); c.imag[0] = 1; h = torch.view_as_real(c)[..., 0]
c = h.to(torch.complex64).clone(); c.real = h.cos(); h = c.exp().real
c = torch.fft.rfft(h); c[..., 0] = 0; h = torch.fft.irfft(c, n=4)
c = (h + 1j * h).conj(); c[0] += 1j; h = c.mH.T.imag
h = torch.polar(h.abs(), h).real
h = torch.sparse.mm(s, h.T).T
h = (s @ h.T).T
h = torch.sparse.mm(s * 2, h.detach().T).T + h
h = h.detach().to_sparse().to_dense() + h
o = h.detach().clone(); torch.add(o, 1, out=o); h = h * o
o = h.detach().clone(); torch.mul(o[:, 1:], 2, out=o[:, 1:]); h = h + o
o = h.detach().clone(); torch.cumsum(o, 1, out=o); h = h + o
o = torch.empty(0); torch.matmul(h.detach(), p.detach(), out=o); h = h + o
torch.add(h.detach()[:1], 1, out=buffer[:1]); h = h + buffer[0]
buffer[0].add_(1); h = h * buffer.sum()
v = h.clone(); v[:, 0] = v[:, 1] * 2; v.T[1].mul_(3); h = v
v = h * 1; v.view(-1)[::2].neg_(); h = v
v = h * 1; a, b = v.split(2, 1); b = b * a; h = torch.cat([b, a], 1)
v = h * 1; a = v.diagonal(); v.add_(1); h = h * a.sum()
with torch.no_grad(): p.mul_(0.9)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t): h = h.sin() * h
with torch.enable_grad(): h = h * p.sum()
h.register_hook(lambda t: t * 2) if h.requires_grad else None
q = h.sum(); q.backward(retain_graph=True) if q.requires_grad else None; h = h + q.detach()
h = F.scaled_dot_product_attention(h[None], h[None], h[None])[0]
h = h.index_add(1, torch.tensor([0, 0, 3]), h[:, :3]).scatter(1, torch.zeros(1, 2, dtype=torch.long), 0.5)
h = torch.where(h > 0, h, h.exp() - 1)
h = h.unfold(1, 2, 1).sum(-1) @ p[:3]
h = torch.linalg.solve(p @ p.T + torch.eye(4), h.T).T
h = h.double().float()
""".strip().splitlines()
ARGUMENTS = """
torch.randn(3, 4, generator=g)
torch.randn(3, 4, generator=g)
torch.randn(5, 4, generator=g)
torch.randn(4, 3, generator=g).T
torch.randn(3, 4, generator=g).requires_grad_()
torch.randn(3, 4, generator=g).requires_grad_() * 1
torch.randn(3, 8, generator=g)[:, ::2]
held
kept
""".strip().splitlines()
EVENTS = """
net.load_state_dict(start)
net.load_state_dict({k: v.clone() for k, v in start.items()}, assign=True)
p = p.detach().clone().requires_grad_()
p.data = p.data.T
p.grad = None
p.requires_grad_(not p.requires_grad)
p.register_hook(lambda t: t * 0.5) if p.requires_grad else None
net.train(not net.training)
net.requires_grad_(False)
net.requires_grad_(True)
net.zero_grad()
kept.grad = None
buffer.zero_()
buffer = torch.ones(3, 4).T.contiguous().T
held = held.detach().requires_grad_(not held.requires_grad)
z = z.conj()
s = (s * 2).coalesce()
handle = net.one.register_forward_hook(lambda m, i, o: o * 2)
handle = net.one.register_full_backward_hook(lambda m, i, o: (i[0] * 2,) if i[0] is not None else None)
inner = torch.compile(lambda t: t.cos() * 2)
""".strip().splitlines()
CALLS = """
r{n} = program({a})
r{n} = program({a})
r{n} = program({a})
r{n} = program({a})
r{n} = program({a}); r{n}.sum().backward() if r{n}.requires_grad else None
r{n} = program({a}); r{n}.sin().sum().backward() if r{n}.requires_grad else None
t{n} = {a}; r{n} = program(t{n}); d{n} = torch.autograd.grad(r{n}.sin().sum(), p, create_graph=True, allow_unused=True)[0]; (d{n} ** 2).sum().backward() if d{n} is not None and d{n}.requires_grad else None
d{n} = torch.autograd.grad(program(kept).sum(), kept, create_graph=True)[0]; e{n} = torch.autograd.grad(d{n}.sin().sum(), kept, allow_unused=True)[0]
r{n} = grad(lambda t: program(t).sin().sum())({a})
r{n} = vjp(program, {a})[0]
r{n} = jvp(program, (held,), (torch.ones_like(held),))
r{n} = vmap(program)(torch.randn(2, 3, 4, generator=g))
r{n} = vmap(grad(lambda t: program(t).sum()))(torch.randn(2, 3, 4, generator=g))
r{n} = jacrev(lambda t: program(t).sum(0))(torch.randn(3, 4, generator=g))
r{n} = hessian(lambda t: program(t).sum())(torch.randn(3, 4, generator=g))
r{n} = torch.autograd.functional.vjp(program, torch.randn(3, 4, generator=g), torch.ones(3, 4))
r{n} = checkpoint(program, kept, use_reentrant=False); r{n}.sum().backward()
r{n} = torch.autograd.grad(program(kept), kept, torch.ones(2, 3, 4), is_grads_batched=True)[0]
with torch.no_grad(): r{n} = program({a})
with torch.autocast("cpu", dtype=torch.bfloat16): r{n} = program({a})
r{n} = program({a}); r{n}.detach().zero_(); r{n}.sum().backward() if r{n}.requires_grad else None
r{n} = program({a}); r{n}.sum().backward(retain_graph=True) if r{n}.requires_grad else None; r{n}.sum().backward() if r{n}.requires_grad else None
r{n} = program(program({a}))
r{n} = functional_call(net, dict(net.named_parameters()), (program({a}),))
with fwAD.dual_level(): r{n} = fwAD.unpack_dual(program(fwAD.make_dual(held, torch.ones_like(held)))).tangent
""".strip().splitlines()


def draw(r: Any) -> dict[str, Any]:
    """A function and its calls as the lines of a program."""
    made = PRELUDE.format(seed=r.randrange(1000)).splitlines()
    made.append("held = torch.randn(3, 4, generator=g)")
    made.append("kept = torch.randn(3, 4, generator=g).requires_grad_()")
    body = ["h = x * 1"]
    for _ in range(r.choice((1, 2, 2, 3, 4))):
        body += r.choice(BODY).split("; ")
    made += ["def program(x):", *(f"    {line}" for line in body), "    return h"]
    tensor, call = r.choice(ARGUMENTS), r.choice(CALLS)
    for n in range(r.randrange(3, 8)):
        if r.random() < 0.35:
            made.append(r.choice(EVENTS))
        if r.random() < 0.3:
            tensor = r.choice(ARGUMENTS)
        if r.random() < 0.5:
            call = r.choice(CALLS)
        made += call.format(n=n, a=tensor).split("; ")
    return {"program": made}
