"""Sessions: a compiled function of structured arguments, and what a session does around it.

The arguments are dictionaries, dataclasses, named tuples, lists in lists, keywords and defaults. Between
two calls a key comes or goes, numbers change their type, two arguments become one memory, options of a
group change, a model is copied, pickled, loaded, frozen, cast or taught a hook, threads call, loaders and
generators go on. Runs and comparisons are those of `programs`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import programs

NEEDS_TORCH = True
KNOWN = programs.KNOWN
run, smaller = programs.run, programs.smaller

PRELUDE = """\
import collections
import copy
import dataclasses
import functools
import io
import math
import pickle
import threading
from typing import Any
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler, random_split
g = torch.Generator().manual_seed({seed})
torch.manual_seed({seed})
log = []
settings = {{"scale": 1.5, "flag": True, "name": "a", "stack": [1, 2]}}
Pair = collections.namedtuple("Pair", "first second")
@dataclasses.dataclass
class Batch:
    x: Any
    y: Any = None
    weight: float = 1.0
class Net(nn.Module):
    rate = 0.5
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(4, 4)
        self.two = {layer}
        self.three = nn.Linear(4, 3)
        self.register_buffer("seen", torch.zeros(4))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.extra = nn.ParameterList([nn.Parameter(torch.ones(4)), nn.Parameter(torch.zeros(4))])
        self.calls = 0
        self.memory = None
    def forward(self, x, gate=None, *, power=1):
        self.calls += 1
        {forward}
        h = self.two(self.one(x) * self.extra[0] + self.extra[1])
        if gate is not None:
            h = h * gate
        return self.three(h) ** power
net = Net()
opt = {optimizer}
"""
LAYERS = """
nn.ReLU()
nn.Sequential(nn.Tanh(), nn.Linear(4, 4), nn.Dropout(0.2))
nn.LayerNorm(4)
nn.BatchNorm1d(4)
nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))
nn.Identity()
nn.GroupNorm(2, 4)
nn.PReLU(4)
nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})["tanh"]
""".strip().splitlines()
FORWARDS = """
pass
self.seen.mul_(0.9).add_(x.detach().mean(0) * 0.1)
self.count += 1
self.memory = x.detach().mean() if self.memory is None else self.memory * 0.5 + x.detach().mean()
self.seen = self.seen + x.detach().sum(0)
x = x + self.seen if self.training else x - self.seen
log.append(self.calls)
x = x * self.rate
""".strip().splitlines()
OPTIMIZERS = """
torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
torch.optim.SGD([{"params": net.one.parameters(), "lr": 0.1}, {"params": net.three.parameters()}], lr=0.01)
torch.optim.Adam(net.parameters(), lr=0.01)
torch.optim.AdamW([{"params": [net.extra[0]], "weight_decay": 0.0}, {"params": net.one.parameters()}], lr=0.01)
torch.optim.RMSprop(net.parameters(), lr=0.01, momentum=0.5)
torch.optim.Adagrad(net.parameters(), lr=0.05)
torch.optim.NAdam(net.parameters(), lr=0.01)
torch.optim.Adam(net.parameters(), lr=torch.tensor(0.01), amsgrad=True)
""".strip().splitlines()
# ways to hand over: the parameters of `program`, what it reads the tensor and the other values from
SIGNATURES: dict[str, tuple[str, str]] = {
    "batch": ("x, y = batch['x'], batch.get('y')", "{{'x': {x}, 'y': {y}}}"),
    "batch ": ("x, y = batch.x, batch.y\nx = x * batch.weight", "Batch({x}, {y}, {k})"),
    "batch  ": ("x, y = batch.first, batch.second", "Pair({x}, {y})"),
    "batch   ": ("x, y = batch[0][0], batch[1]", "[[{x}, {k}], {y}]"),
    "batch    ": ("(x, *rest), y = batch\nx = x + len(rest)", "(({x}, {k}, 'n'), {y})"),
    "x, y=None, *, k=2": ("x = x * k", "{x}, {y}, k={k}"),
    "x, *rest, **more": ("y = rest[0] if rest else more.get('y')\nx = x + len(more)", "{x}, y={y}, k={k}"),
    "x, y, k=None": ("x = x if k is None else x / (1 + abs(k))", "y={y}, x={x}, k={k}"),
    "batch     ": ("x = batch.pop('x')\ny = batch.setdefault('y', None)\nbatch['z'] = x.detach() * 2",
                   "dict(x={x}, y={y})"),
    "batch      ": ("x = sum(b['x'] for b in batch) / len(batch)\ny = batch[-1]['y']",
                    "[{{'x': {x}, 'y': {y}}}, {{'x': {x}, 'y': None}}]"),
}  # fmt: skip
TENSORS = """
torch.randn(5, 4, generator=g)
torch.randn(3, 4, generator=g)
torch.randn(5, 4, generator=g)
torch.randn(4, 5, generator=g).t()
torch.randn(5, 8, generator=g)[:, ::2]
torch.randn(5, 4, generator=g).double()
torch.randn(1, 4, generator=g).expand(5, 4)
torch.randn(5, 4, generator=g, requires_grad=True)
held
held
held[:3]
torch.ones(1, 4)
torch.arange(20.).reshape(5, 4).requires_grad_()
net.one.weight
net.extra[0].expand(5, 4)
next(loader)[0]
""".strip().splitlines()
OTHERS = """
None
0
2
True
0.5
torch.tensor(2.0)
torch.randn(5, 4, generator=g)
held
torch.tensor([0, 1, 2, 1, 0])
'name'
torch.ones(4, requires_grad=True)
settings
math.pi
""".strip().splitlines()
NUMBERS = "1 2 0.5 True -1.5 3 0 1.0 settings['scale'] len(log)".split()
BODY = """
h = net(x)
h = net(x, power=2)
h = net(x, gate=torch.sigmoid(x.detach()[:, :4]))
h = torch.func.functional_call(net, {n: p * 1.1 for n, p in net.named_parameters()}, (x,))
h = torch.func.functional_call(net, (dict(net.named_parameters()), dict(net.named_buffers())), (x,))
h = torch.func.vmap(lambda row: net.three(row) * row.sum())(x)
h = torch.func.vmap(torch.func.grad(lambda row: net.one(row).sin().sum()))(x)[:, :3]
h = torch.func.jvp(lambda v: net.three(v).tanh(), (x,), (torch.ones_like(x),))[1]
h = torch.func.vjp(lambda v: net.three(v).exp(), x)[1](torch.ones(x.shape[0], 3))[0]
h = torch.func.jacrev(lambda v: net.one(v).tanh().sum(0))(x).sum(0)
h = torch.utils.checkpoint.checkpoint(net, x, use_reentrant=False)
h = h * y if isinstance(y, (int, float)) and not isinstance(y, bool) else h
h = h + y.sum() if isinstance(y, torch.Tensor) else h
h = h + (y[:, :3] if isinstance(y, torch.Tensor) and y.dim() == 2 and len(y) == len(h) else 0)
loss = F.cross_entropy(h, y) if isinstance(y, torch.Tensor) and y.dtype == torch.int64 else h.square().mean()
loss = h.float().logsumexp(-1).mean() if settings['flag'] else h.float().mean()
loss = (h.sin() * settings['scale']).sum()
loss = loss + sum(p.norm() for p in net.parameters() if p.requires_grad)
loss.backward()
loss.backward(retain_graph=True)
loss.backward(create_graph=False, inputs=[net.three.weight])
grads = torch.autograd.grad(loss, list(net.three.parameters()), allow_unused=True, retain_graph=True)
inner, = torch.autograd.grad(loss, h, create_graph=True)\\ninner.square().sum().backward()
opt.step()
opt.zero_grad()
opt.zero_grad(set_to_none=False)
nn.utils.clip_grad_norm_(net.parameters(), 0.5)
nn.utils.clip_grad_value_(net.parameters(), 0.1)
norm = nn.utils.get_total_norm([p.grad for p in net.parameters() if p.grad is not None])\\nlog.append(float(norm))
v = h[1:]\\nwith torch.no_grad():\\n    v[:, 0] = 1.0
w = h.view(-1)[:4]\\nw.mul_(2)
with torch.no_grad():\\n    u = h.t()\\n    u[0].zero_()
h = h.clone()\\nh[0].neg_()\\nh.select(1, 0).add_(x[:, 0].detach())
parts = h.chunk(2)\\nh = torch.cat([p * i for i, p in enumerate(parts)])
h.register_hook(lambda q: q * 2)
h.register_hook(lambda q: q.clamp(-0.1, 0.1))
handle = h.register_hook(lambda q: q + 1)\\nhandle.remove()
h.retain_grad()
x = F.dropout(x, 0.3, training=net.training)
noise = torch.randn(x.shape)\\nx = x + noise
keep = torch.rand(x.shape[0]) > 0.3\\nx = x[keep]
order = torch.randperm(x.shape[0])\\nx = x[order]
state = torch.get_rng_state()\\nx = x + torch.rand(1)\\ntorch.set_rng_state(state)
x = x.float() if x.dtype == torch.float64 else x
x = x.detach().requires_grad_()
x = x.mul_(1.5) if x.is_leaf and not x.requires_grad and x.is_contiguous() else x * 1.5
if x.sum() > 0:\\n    x = x - 1
if x.shape[0] > 4 and not x.requires_grad:\\n    x = x[:4]
while x.abs().max() > 3:\\n    x = x / 2
for i, row in enumerate(x):\\n    if i < 2:\\n        log.append(row.sum().item())
try:\\n    h = net(x[:, :3])\\nexcept RuntimeError as error:\\n    log.append(type(error).__name__)
with torch.autocast('cpu', dtype=torch.bfloat16):\\n    h = net.one(x)\\nh = h.float()[:, :3]
with torch.no_grad():\\n    for p in net.extra:\\n        p.mul_(0.9)
net.extra[1].data.add_(0.1)
settings['scale'] = settings['scale'] * 0.9
settings['last'] = x.detach().mean()
settings['stack'].append(x.shape[0])
log.append((x.dtype, tuple(x.shape)))
net.rate = net.rate + 0.1
net.memory = x.detach()[0]
held.mul_(0.9)
held[0] = 1.0
total = functools.reduce(torch.add, [x, x, x.detach()])\\nx = total / 3
mean, variance = torch.var_mean(x, dim=0, correction=0)\\nx = (x - mean) / (variance + 1).sqrt()
best = x.topk(2, dim=1)\\nx = x + best.values.sum()
for group in opt.param_groups:\\n    group['lr'] = group['lr'] * 0.9
net.three.bias.grad = torch.ones(3)
net.train(not net.training)
""".strip().splitlines()
RETURNS = """
return h
return h, loss
return {'h': h, 'x': x, 'again': h}
return Pair(h, x)
return [h.detach(), loss.item(), x]
return x, x.view(-1) if x.is_contiguous() else x.t()
return loss, net.seen, net.memory
return Batch(h, loss).x, y
return [p.grad for p in net.parameters()]
return
return h, grads
""".strip().splitlines()
EVENTS = """
net.eval()
net.train()
net.one.requires_grad_(False)
net.one.requires_grad_(True)
net.extra[0].requires_grad_(False)
opt.param_groups[0]['lr'] = 0.02
opt.param_groups[-1]['weight_decay'] = 0.1
opt.param_groups[0]['momentum'] = 0.5
opt.add_param_group({'params': [nn.Parameter(torch.ones(2))], 'lr': 0.5})
opt.state.clear()
opt.load_state_dict(copy.deepcopy(opt.state_dict()))
opt = copy.deepcopy(opt)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net = copy.deepcopy(net)
net.load_state_dict({k: v * 0.5 for k, v in net.state_dict().items()})
saved = io.BytesIO(); torch.save(net.state_dict(), saved); saved.seek(0); net.load_state_dict(torch.load(saved))
net.load_state_dict(net.state_dict(), assign=True)
other = Net(); other.load_state_dict(net.state_dict(), strict=False)
net.double(); net.float()
net.double()
net.zero_grad()
net.one.weight.data = net.one.weight.data * 2
net.one.weight.data.zero_()
net.one.weight = nn.Parameter(torch.randn(4, 4, generator=g))
net.one.weight = net.extra[0].new_ones(4, 4).requires_grad_() if False else net.one.weight
net.three.weight.grad = None
net.two = nn.Tanh()
net.three = nn.Linear(4, 3, bias=False)
net.extra.append(nn.Parameter(torch.ones(1)))
net.calls = 0
net.memory = None
Net.rate = 2.0
net.rate = 3
net.seen.zero_()
net.register_buffer('seen', torch.ones(4))
hook = net.one.register_forward_hook(lambda m, a, r: r * 2)
hook = net.three.register_forward_pre_hook(lambda m, a: (a[0] + 1,))
hook.remove()
hook = net.register_full_backward_hook(lambda m, a, b: log.append(b[0].sum().item()))
hook = net.extra[0].register_hook(lambda q: q * 3)
hook = net.three.bias.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.sum().item()))
settings['flag'] = not settings['flag']
settings['scale'] = 2
settings['scale'] = torch.tensor(0.5)
settings = dict(settings)
settings.pop('last', None)
del settings['name']
held = held * 2
held = torch.randn(5, 4, generator=g)
held.requires_grad_(True)
held = held.detach()
held.resize_(3, 4)
held = held.t().contiguous().t()
held.fill_(0.3)
log.clear()
torch.manual_seed(3)
g.manual_seed(5)
torch.set_grad_enabled(False)
torch.set_grad_enabled(True)
torch.set_default_dtype(torch.float64)
torch.set_default_dtype(torch.float32)
loader = iter(DataLoader(TensorDataset(torch.randn(10, 4, generator=g), torch.arange(10)), batch_size=5, shuffle=True, generator=g))
loader = iter(DataLoader([(torch.full((4,), float(i)), i) for i in range(12)], batch_size=4, drop_last=True, shuffle=True))
loader = iter(DataLoader(TensorDataset(held), batch_size=2))
first, second = random_split(range(8), [5, 3], generator=g)
picked = list(WeightedRandomSampler([0.1, 0.9, 0.5], 4, generator=g))
average = torch.optim.swa_utils.AveragedModel(net)
pickled = pickle.loads(pickle.dumps(settings))
grads = [p.grad for p in net.parameters()]
""".strip().splitlines()
CALLS = """
r{n} = program({a})
r{n} = program({a})
r{n} = program({a})
r{n} = program({a})
with torch.no_grad(): r{n} = program({a})
with torch.inference_mode(): r{n} = program({a})
with torch.autocast('cpu', dtype=torch.bfloat16): r{n} = program({a})
with torch.enable_grad(): r{n} = program({a})
with torch.random.fork_rng(): r{n} = program({a})
r{n} = functools.partial(program)({a})
box = []; one = threading.Thread(target=lambda: box.append(program({a}))); one.start(); one.join()
r{n} = [program({a}) for _ in range(3)]
r{n} = program({a}); (r{n} if isinstance(r{n}, torch.Tensor) else torch.zeros((), requires_grad=True)).sum().backward()
""".strip().splitlines()


def draw(r: Any) -> dict[str, Any]:
    """A session as the lines of a program."""
    seed = r.randrange(1000)
    optimizer, layer, forward = (r.choice(c) for c in (OPTIMIZERS, LAYERS, FORWARDS))
    lines = PRELUDE.format(seed=seed, layer=layer, forward=forward, optimizer=optimizer)
    made = lines.splitlines()
    made.append("held = torch.randn(5, 4, generator=g)")
    made.append(
        "loader = iter([(torch.randn(5, 4, generator=g),), (torch.randn(2, 4, generator=g),)])"
    )
    signature = r.choice(list(SIGNATURES))
    reads, hands = SIGNATURES[signature]
    made.append(f"def program({signature.rstrip()}):")
    body = [*reads.split("\n"), "h, loss, grads = x[:, :3], x.float().mean(), None"]
    for _ in range(r.randrange(0, 3)):
        body += r.choice(BODY).replace("\\n", "\n").split("\n")
    # most of what follows wants these
    body += r.choice((BODY[0], BODY[0], BODY[1], BODY[3], BODY[10])).split("\n")
    for _ in range(r.randrange(0, 5)):
        body += r.choice(BODY).replace("\\n", "\n").split("\n")
    if r.random() < 0.7:
        body += ["loss = h.float().square().mean()"]
        if r.random() < 0.7:
            body += ["opt.zero_grad()", "loss.backward()", "opt.step()"]
    for _ in range(r.randrange(0, 3)):
        body += r.choice(BODY).replace("\\n", "\n").split("\n")
    made += [f"    {line}" for line in (*body, r.choice(RETURNS))]
    tensor, other, number = r.choice(TENSORS), r.choice(OTHERS), r.choice(NUMBERS)
    for n in range(r.randrange(3, 9)):
        for _ in range(r.choice((0, 0, 1, 1, 2))):
            made.append(r.choice(EVENTS))
        if r.random() < 0.3:
            tensor = r.choice(TENSORS)
        if r.random() < 0.3:
            other = r.choice(OTHERS)
        if r.random() < 0.4:
            number = r.choice(NUMBERS)
        call = CALLS[0] if r.random() < 0.7 else r.choice(CALLS)
        made.append(call.format(n=n, a=hands.format(x=tensor, y=other, k=number)))
    return {"program": made}
