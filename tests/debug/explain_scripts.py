"""Small programs with one mistake each: (cause, what to ask, program). The line to be named ends
with `# here`. What is asked is an expression, with ` --question NAME` after it for another question; None asks
for the exception, and an empty text how models and optimizers are doing.
"""

HEAD = """\
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
"""

NET = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 2)])
        self.head = nn.Linear(2, 1)
    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.head(x)
model = Net()
x, y = torch.randn(16, 4), torch.randn(16, 1)
"""

CASES = {}


def case(cause, expr, text, name=None, head=HEAD):
    number = sum(found == cause for found, _, _ in CASES.values())
    assert f"{cause}-{name}" not in CASES
    CASES[f"{cause}-{name or number}"] = (cause, expr, head + text)


# ---- no-backward ---------------------------------------------------------------------------------
case(
    "no-backward",
    "w.grad",
    """
w = torch.ones(3, requires_grad=True)
loss = (w * 2).sum()  # here
""",
)
case(
    "no-backward",
    "model.layers[0].weight.grad",
    NET
    + """
loss = F.mse_loss(model(x), y)  # here
""",
)
case(
    "no-backward",
    "optimizer.param_groups[0]['params'][1].grad",
    NET
    + """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = [F.mse_loss(model(x), y) for _ in range(3)]  # here
""",
)
case(
    "no-backward",
    "model.head.weight.grad",
    NET
    + """
out = model(x)
grads = torch.autograd.grad(out.sum(), list(model.parameters()))  # here
""",
    name="autograd.grad",
)
case(
    "no-backward",
    "w.grad",
    """
def main():
    w = torch.ones(3, requires_grad=True)
    total = sum(w * k for k in range(3))
    loss = total.sum()  # here
    return loss.item()
main()
""",
    name="in a function",
)

# ---- non-leaf ------------------------------------------------------------------------------------
case(
    "non-leaf",
    "h.grad",
    """
w = torch.ones(3, requires_grad=True)
h = w * 2  # here
h.sum().backward()
""",
)
case(
    "non-leaf",
    "acts[1].grad",
    NET
    + """
acts = []
h = x
for layer in model.layers:
    h = torch.relu(layer(h))  # here
    acts.append(h)
model.head(h).mean().backward()
""",
)
case(
    "non-leaf",
    "w.grad",
    """
w = torch.randn(3, requires_grad=True) * 0.01  # here
loss = (w ** 2).sum()
loss.backward()
""",
    name="scaled weights",
)
case(
    "non-leaf",
    "model.last.grad",
    """
class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
    def forward(self, x):
        self.last = self.fc(x)  # here
        return self.last.sum()
model = Keeps()
model(torch.ones(2, 3)).backward()
""",
)
case(
    "non-leaf",
    "w.grad",
    """
w = torch.ones(3, requires_grad=True).to(torch.float64)  # here
w.sum().backward()
""",
    name="to another dtype",
)

# ---- not-requires-grad ---------------------------------------------------------------------------
case(
    "not-requires-grad",
    "w.grad",
    """
w = torch.ones(3)  # here
b = torch.zeros(3, requires_grad=True)
((w + b) ** 2).sum().backward()
""",
)
case(
    "not-requires-grad",
    "model.layers[0].weight.grad",
    NET
    + """
for p in model.layers[0].parameters():
    p.requires_grad = False  # here
F.mse_loss(model(x), y).backward()
""",
)
case(
    "not-requires-grad",
    "model.head.bias.grad",
    NET
    + """
def freeze(module):
    module.requires_grad_(False)  # here
freeze(model.head)
F.mse_loss(model(x), y).backward()
""",
)
case(
    "not-requires-grad",
    "batch.grad",
    """
w = torch.ones(3, requires_grad=True)
batch = torch.arange(3)  # here
(w * batch).sum().backward()
""",
)

# ---- detached ------------------------------------------------------------------------------------
case(
    "detached",
    "model.layers[0].weight.grad",
    NET
    + """
h = torch.tanh(model.layers[0](x)).detach()  # here
loss = model.head(model.layers[1](h)).mean()
loss.backward()
""",
)
case(
    "detached",
    "model.fc.weight.grad",
    """
class Stops(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.out = nn.Linear(3, 1)
    def features(self, x):
        return self.fc(x).data  # here
    def forward(self, x):
        return self.out(self.features(x))
model = Stops()
model(torch.randn(5, 3)).sum().backward()
""",
)
case(
    "detached",
    "encoder.weight.grad",
    """
encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
def codes(batch):
    return [encoder(row).detach() for row in batch]  # here
for step in range(3):
    batch = torch.randn(6, 4)
    optimizer.zero_grad()
    loss = F.mse_loss(decoder(torch.stack(codes(batch))), batch)
    loss.backward()
    optimizer.step()
""",
)
case(
    "detached",
    "w.grad",
    """
w = torch.ones(3, requires_grad=True)
v = torch.ones(3, requires_grad=True)
state = torch.zeros(3)
for t in range(4):
    state = (state * w).detach()  # here
    state = state + v
state.sum().backward()
""",
)
case(
    "detached",
    "w.grad",
    """
w = torch.ones(3, requires_grad=True)
v = torch.ones(3, requires_grad=True)
h = w * 2
h.detach_()  # here
(h * v).sum().backward()
""",
    name="in place",
)

# ---- no-grad-block -------------------------------------------------------------------------------
case(
    "no-grad-block",
    "model.layers[0].weight.grad",
    NET
    + """
with torch.no_grad():
    h = model.layers[0](x)  # here
model.head(model.layers[1](h)).mean().backward()
""",
)
case(
    "no-grad-block",
    "encoder.bias.grad",
    """
encoder, head = nn.Linear(3, 3), nn.Linear(3, 1)
@torch.no_grad()  # here
def embed(x):
    return encoder(x)
for _ in range(2):
    head(embed(torch.randn(2, 3))).sum().backward()
""",
)
case(
    "no-grad-block",
    "w.grad",
    """
w = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
torch.set_grad_enabled(False)
scale = w.exp()  # here
torch.set_grad_enabled(True)
loss = (scale * b).sum()
loss.backward()
""",
)
case(
    "no-grad-block",
    "model.a.weight.grad",
    """
class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 1)
    def forward(self, x):
        with torch.inference_mode():
            h = self.a(x)  # here
        return self.b(h.clone())
model = Half()
model(torch.randn(4, 3)).mean().backward()
""",
)

# ---- through-number ------------------------------------------------------------------------------
case(
    "through-number",
    "w.grad",
    """
w = torch.full((3,), 1.5, requires_grad=True)
b = torch.ones(3, requires_grad=True)
scale = (w * 2.25).sum().item()  # here
(b * scale).sum().backward()
""",
)
case(
    "through-number",
    "model.layers[0].weight.grad",
    NET
    + """
def norm_of(layer):
    return float(layer.weight.norm())  # here
penalty = sum(norm_of(layer) for layer in model.layers)
loss = model.head.weight.sum() + 0.1 * penalty
loss.backward()
""",
    name="in a function",
)
case(
    "through-number",
    "w.grad",
    """
w = torch.tensor([1.5, 2.5], requires_grad=True)
losses = []
for k in range(3):
    losses.append((w * k).pow(2).sum().item())  # here
total = torch.tensor(losses, requires_grad=True).mean()
total.backward()
""",
    name="list of numbers",
)
case(
    "through-number",
    "w.grad",
    """
w = torch.tensor([1.5, 2.5], requires_grad=True)
bias = torch.zeros(2, requires_grad=True)
row = (w * 3).tolist()  # here
out = torch.tensor([r * 2 + 1 for r in row])
(out * bias + bias).sum().backward()
""",
    name="tolist and a comprehension",
)
case(
    "through-number",
    "self_.gate.grad",
    """
class Holder:
    def __init__(self):
        self.gate = torch.tensor([0.3, 0.4], requires_grad=True)
        self.weight = torch.tensor([1.0, 2.0], requires_grad=True)
    def measure(self):
        self.strength = self.gate.sigmoid().mean().item()  # here
    def loss(self):
        return (self.weight * (1 - self.strength)).sum()
self_ = Holder()
self_.measure()
self_.loss().backward()
""",
    name="attribute",
)
case(
    "through-number",
    "w.grad",
    """
w = torch.tensor([1.5, 2.5], requires_grad=True)
loss = (w ** 2).sum()
loss = torch.tensor(loss.item(), requires_grad=True)  # here
loss.backward()
""",
    name="loss made anew",
)
case(
    "through-number",
    "w.grad",
    """
w = torch.tensor([1.5], requires_grad=True)
v = torch.tensor([2.5], requires_grad=True)
y = math.exp(w)  # here
(v * y).sum().backward()
""",
    name="math function",
)

# ---- through-numpy -------------------------------------------------------------------------------
case(
    "through-numpy",
    "w.grad",
    """
w = torch.tensor([1.5, 2.5], requires_grad=True)
b = torch.ones(2, requires_grad=True)
h = (w * 3).detach().numpy()  # here
h = np.tanh(h)
(torch.from_numpy(h) * b).sum().backward()
""",
)
case(
    "through-numpy",
    "model.layers[0].weight.grad",
    NET
    + """
def features(batch):
    out = model.layers[0](batch)
    return np.maximum(out.detach().cpu().numpy(), 0)  # here
def run(batch):
    f = torch.tensor(features(batch))
    return model.head(model.layers[1](f))
loss = run(x).mean()
loss.backward()
""",
    name="in functions",
)
case(
    "through-numpy",
    "model.fc.weight.grad",
    """
class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.out = nn.Linear(3, 3), nn.Linear(3, 1)
    def forward(self, x):
        h = np.asarray(self.fc(x).detach())  # here
        h = h / np.abs(h).max()
        return self.out(torch.as_tensor(h))
model = Mixed()
for _ in range(2):
    model(torch.randn(4, 3)).mean().backward()
""",
    name="module and loop",
)

# ---- through-integer -----------------------------------------------------------------------------
case(
    "through-integer",
    "model.layers[0].weight.grad",
    NET
    + """
picked = model.layers[0](x).argmax(dim=1)  # here
loss = (picked.float() * model.head.weight.sum()).mean()
loss.backward()
""",
)
case(
    "through-integer",
    "w.grad",
    """
w = torch.randn(5, requires_grad=True)
b = torch.ones(5, requires_grad=True)
def gate(v):
    return (v > 0).float()  # here
(gate(w) * b).sum().backward()
""",
)
case(
    "through-integer",
    "w.grad",
    """
w = torch.tensor([1.2, 2.7], requires_grad=True)
b = torch.ones(2, requires_grad=True)
steps = [(w * k).long() for k in range(3)]  # here
total = sum(s * b for s in steps)
total.sum().backward()
""",
)
case(
    "through-integer",
    "scores.grad",
    """
scores = torch.randn(4, 3, requires_grad=True)
table = nn.Embedding(3, 2)
index = torch.multinomial(scores.softmax(1), 1)  # here
table(index).sum().backward()
""",
)
case(
    "through-integer",
    "w.grad",
    """
w = torch.tensor([1.2, 2.7], requires_grad=True)
loss = (torch.round(w) ** 2).sum()  # here
loss.backward()
""",
    name="round",
)

# ---- not-ancestor --------------------------------------------------------------------------------
case(
    "not-ancestor",
    "w.grad",
    """
w, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
extra = w * 2
(b * 3).sum().backward()  # here
""",
)
case(
    "not-ancestor",
    "model.unused.weight.grad",
    """
class Extra(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(2, 1), nn.Linear(2, 1)  # here
    def forward(self, x):
        return self.used(x)
model = Extra()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(4, 2)).mean()
    loss.backward()
    optimizer.step()
""",
)
case(
    "not-ancestor",
    "old.grad",
    """
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
old = optimizer.param_groups[0]["params"][0]
model.weight = nn.Parameter(torch.zeros(1, 2))
loss = model(torch.ones(3, 2)).sum()  # here
loss.backward()
""",
    name="replaced parameter",
)
case(
    "not-ancestor",
    "model.b.weight.grad",
    """
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 1), nn.Linear(2, 1)
    def forward(self, x):
        return self.a(x), self.b(x)
model = Two()
first, second = model(torch.randn(4, 2))
print(second.mean().item())
first.mean().backward()  # here
""",
    name="logged only",
)

# ---- set-to-none ---------------------------------------------------------------------------------
case(
    "set-to-none",
    "model.head.weight.grad",
    NET
    + """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    F.mse_loss(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()  # here
""",
)
case(
    "set-to-none",
    "w.grad",
    """
w = torch.ones(2, requires_grad=True)
(w * 2).sum().backward()
w.grad = None  # here
""",
)
case(
    "set-to-none",
    "model.layers[1].bias.grad",
    NET
    + """
def finish(m):
    m.zero_grad(set_to_none=True)  # here
F.mse_loss(model(x), y).backward()
finish(model)
""",
)
case(
    "set-to-none",
    "w.grad",
    """
w = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
(w * 2).sum().backward()
optimizer.zero_grad(set_to_none=False)  # here
""",
    name="to zero",
)

# ---- zero gradients ------------------------------------------------------------------------------
case(
    "dead-relu",
    "model[0].weight.grad",
    """
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
with torch.no_grad():
    model[0].bias.fill_(-100.0)  # here
loss = model(torch.randn(16, 4)).mean()
loss.backward()
""",
)
case(
    "dead-relu",
    "model.convs[0].weight.grad",
    """
class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(1, 4, 3), nn.Conv2d(4, 4, 3)])
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        for conv in self.convs:
            x = F.relu(conv(x) - 50)  # here
        return self.fc(x.mean((2, 3)))
model = Cnn()
F.cross_entropy(model(torch.randn(3, 1, 8, 8)), torch.tensor([0, 1, 0])).backward()
""",
)
case(
    "dead-relu",
    "model[6].weight.grad",
    """
layers = []
for k in range(6):
    layers += [nn.Linear(16, 16), nn.ReLU()]
model = nn.Sequential(*layers, nn.Linear(16, 1))
model[4].bias.data.fill_(-30.0)  # here
h = model(torch.rand(8, 16))
h.sum().backward()
""",
    name="weight behind it",
)
case(
    "dead-relu",
    "w.grad",
    """
w = torch.randn(5, requires_grad=True)
out = (w - 100).clamp(min=0)  # here
out.sum().backward()
""",
    name="clamp",
)
case(
    "saturation",
    "model[0].weight.grad",
    """
model = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 1))
x = torch.rand(16, 4) * 1000 + 1000
model[0].weight.data.fill_(1.0)
loss = model(x).mean()  # here
loss.backward()
""",
)
case(
    "saturation",
    "cell.weight_ih.grad",
    """
cell = nn.RNNCell(3, 4)
cell.bias_ih.data.fill_(200.0)
h = torch.zeros(2, 4)
for t in range(5):
    h = torch.tanh(cell(torch.randn(2, 3), h) * 50)  # here
h.sum().backward()
""",
    name="rnn cell",
)
case(
    "saturation",
    "scores.grad",
    """
scores = torch.tensor([[1000.0, 0.0, -1000.0]], requires_grad=True)
values = torch.randn(3, 2)
weights = scores.softmax(-1)  # here
(weights @ values).sum().backward()
""",
    name="softmax",
)
case(
    "saturation",
    "model[0].weight.grad",
    """
model = nn.Sequential(*[m for _ in range(16) for m in (nn.Linear(8, 8), nn.Sigmoid())], nn.Linear(8, 1))
loss = model(torch.randn(32, 8)).pow(2).mean()  # here
loss.backward()
""",
    name="deep sigmoid",
)
case(
    "masked",
    "w.grad",
    """
w = torch.randn(4, requires_grad=True)
mask = torch.zeros(4)
loss = (w * mask * 3).sum()  # here
loss.backward()
""",
)
case(
    "masked",
    "model.layers[0].weight.grad",
    NET
    + """
mask = torch.zeros(16, 1, dtype=torch.bool)
per_row = (model(x) - y) ** 2
loss = per_row.masked_fill(~mask, 0.0).sum()  # here
loss.backward()
""",
)
case(
    "masked",
    "v.grad",
    """
q, v = torch.randn(1, 4, 8, requires_grad=True), torch.randn(1, 4, 8, requires_grad=True)
keep = torch.tensor([True, False, False, False])
def attend(q, v):
    out = torch.where(torch.zeros(1, 4, 8, dtype=torch.bool), v, q)  # here
    return out
attend(q, v).sum().backward()
""",
)
case(
    "masked",
    "model.fc.weight.grad",
    """
class Drops(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.drop = nn.Linear(3, 3), nn.Dropout(p=1.0)
    def forward(self, x):
        return self.drop(self.fc(x))  # here
model = Drops()
model(torch.randn(4, 3)).sum().backward()
""",
    name="dropout",
)
case(
    "times-zero",
    "w.grad",
    """
w = torch.randn(4, requires_grad=True)
loss = (w * 0).sum()  # here
loss.backward()
""",
)
case(
    "times-zero",
    "model.down.weight.grad",
    """
class Adapter(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Linear(6, 2, bias=False), nn.Linear(2, 6, bias=False)
        nn.init.zeros_(self.up.weight)  # here
    def forward(self, x):
        return x + self.up(self.down(x))
model = Adapter()
model(torch.randn(4, 6)).pow(2).sum().backward()
""",
)
case(
    "times-zero",
    "model[0].weight.grad",
    """
model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
for layer in (model[0], model[2]):
    nn.init.zeros_(layer.weight)  # here
for k in range(2):
    model.zero_grad()
    loss = (model(torch.randn(5, 3)) - 1).pow(2).mean()
    loss.backward()
""",
)
case(
    "cancels",
    "logits.grad",
    """
logits = torch.randn(4, 5, requires_grad=True)
loss = logits.softmax(1).sum()  # here
loss.backward()
""",
)

# ---- NaN and Inf ---------------------------------------------------------------------------------
case(
    "nan-forward",
    "loss",
    """
w = torch.tensor([-1.0, 2.0], requires_grad=True)
h = torch.log(w)  # here
loss = (h * 2).sum()
loss.backward()
""",
)
case(
    "nan-forward",
    "model.layers[0].weight.grad",
    NET
    + """
def normalise(v):
    return (v - v.mean(0)) / v.std(0)  # here
x[:, 2] = 3.0
for step in range(2):
    model.zero_grad()
    loss = F.mse_loss(model(normalise(x)), y)
    loss.backward()
""",
    name="constant column",
)
case(
    "nan-forward",
    "w.grad",
    """
w = torch.full((3,), 100.0, requires_grad=True)
e = torch.exp(w)  # here
p = e / e.sum()
p.log().sum().backward()
""",
    name="softmax by hand",
)
case(
    "nan-forward",
    "proj.weight.grad",
    """
proj = nn.Linear(4, 4)
h = proj(torch.randn(2, 3, 4))
scores = h @ h.transpose(1, 2)
mask = torch.ones(3, 3, dtype=torch.bool).tril(-1)
scores = scores.masked_fill(~mask, float("-inf"))
attention = F.softmax(scores, dim=-1)  # here
(attention @ h).sum().backward()
""",
    name="attention row that is masked as a whole",
)
case(
    "nan-forward",
    "loss",
    """
model = nn.Linear(2, 1)
x = torch.tensor([[1.0, float("nan")], [2.0, 3.0]])  # here
out = model(x)
loss = out.mean()
loss.backward()
""",
    name="data",
)
case(
    "nan-backward",
    "w.grad",
    """
w = torch.tensor([0.0, 4.0], requires_grad=True)
loss = torch.sqrt(w).sum()  # here
loss.backward()
""",
)
case(
    "nan-backward",
    "model.layers[0].weight.grad",
    NET
    + """
class Distance(nn.Module):
    def forward(self, a, b):
        return (a - b).pow(2).sum(1).sqrt()  # here
h = model.layers[0](x)
loss = Distance()(h, h).mean()
loss.backward()
""",
    name="distance to itself",
)
case(
    "nan-backward",
    "w.grad",
    """
w = torch.tensor([0.0, 4.0], requires_grad=True)
safe = torch.where(w > 0, w.log(), torch.zeros(2))  # here
safe.sum().backward()
""",
    name="where",
)
case(
    "nan-backward",
    "model.weight",
    """
model = nn.Linear(2, 1, bias=False)
model.weight.data.zero_()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    loss = model.weight.norm() + torch.sqrt((model.weight ** 2).sum())  # here
    loss.backward()
    optimizer.step()
""",
    name="weights became NaN",
)
case(
    "exploded",
    "model[0].weight.grad",
    """
model = nn.Sequential(*[nn.Linear(16, 16) for _ in range(20)])
for layer in model:
    nn.init.normal_(layer.weight, std=2.0)
loss = model(torch.randn(4, 16)).sum()  # here
loss.backward()
""",
)
case(
    "exploded",
    "w.grad",
    """
w = torch.eye(3) * 4
w.requires_grad_()
h = torch.ones(1, 3)
for t in range(30):
    h = h @ w  # here
h.sum().backward()
""",
    name="through time",
)
case(
    "exploded",
    "rnn.weight_hh_l0.grad",
    """
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight_hh_l0 = nn.Parameter(torch.randn(8, 8) * 1.5)
    def forward(self, x):
        h = torch.zeros(x.shape[0], 8)
        for t in range(x.shape[1]):
            h = x[:, t] + F.linear(h, self.weight_hh_l0)  # here
        return h
rnn = Recurrent()
rnn(torch.randn(2, 25, 8)).sum().backward()
""",
    name="recurrent module",
)

# ---- refusals ------------------------------------------------------------------------------------
case(
    "overwritten",
    None,
    """
w = torch.ones(3, requires_grad=True)
y = torch.exp(w)
loss = y.sum()
y += 1  # here
loss.backward()
""",
)
case(
    "overwritten",
    None,
    NET
    + """
def step(batch):
    h = torch.sigmoid(model.layers[0](batch))
    out = model.head(model.layers[1](h))
    h.mul_(2)  # here
    return out.mean()
step(x).backward()
""",
)
case(
    "overwritten",
    None,
    NET
    + """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
first = F.mse_loss(model(x), y)
second = F.l1_loss(model(x), y)
first.backward(retain_graph=True)
optimizer.step()  # here
second.backward()
""",
    name="optimizer step",
)
case(
    "overwritten",
    None,
    """
w = torch.ones(4, requires_grad=True)
a = w * 2
b = a ** 2
for k in range(4):
    a[k] = 0.0  # here
b.sum().backward()
""",
    name="indexed write in a loop",
)
case(
    "graph-freed",
    None,
    """
w = torch.ones(3, requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss.backward()  # here
""",
)
case(
    "graph-freed",
    None,
    """
cell = nn.RNNCell(3, 4)
h = torch.zeros(2, 4)
def train(h):
    h = cell(torch.randn(2, 3), h)  # here
    h.pow(2).sum().backward()
    return h
for k in range(3):
    h = train(h)
""",
)
case(
    "graph-freed",
    None,
    NET
    + """
features = model.layers[0](x)
losses = [(features * k).pow(2).sum() for k in range(2)]
for loss in losses:
    loss.backward()  # here
""",
)
case(
    "nonscalar",
    None,
    """
w = torch.ones(3, requires_grad=True)
(w * 2).backward()  # here
""",
)
case(
    "nonscalar",
    None,
    NET
    + """
def train_step(model, x, y):
    loss = F.mse_loss(model(x), y, reduction="none")
    loss.backward()  # here
train_step(model, x, y)
""",
)
case(
    "nonscalar",
    None,
    NET
    + """
outputs = [model(row) for row in x.split(8)]
torch.cat(outputs).backward()  # here
""",
)
case(
    "leaf-inplace",
    None,
    """
w = torch.ones(3, requires_grad=True)
(w * 2).sum().backward()
w -= 0.1 * w.grad  # here
""",
)
case(
    "leaf-inplace",
    None,
    NET
    + """
def reset(module):
    for p in module.parameters():
        p.zero_()  # here
reset(model)
""",
)
case(
    "leaf-inplace",
    None,
    """
table = torch.zeros(4, 2, requires_grad=True)
for k, row in enumerate([[1.0, 2.0], [3.0, 4.0]]):
    table[k] = torch.tensor(row)  # here
""",
)
case(
    "detached",
    None,
    """
w = torch.ones(3, requires_grad=True)
h = (w * 2).detach()  # here
h.sum().backward()
""",
    name="exception",
)
case(
    "through-number",
    None,
    """
w = torch.tensor([1.5, 2.5], requires_grad=True)
loss = torch.tensor([(w * k).sum().item() for k in range(3)]).mean()  # here
loss.backward()
""",
    name="exception",
)
case(
    "no-grad-block",
    None,
    NET
    + """
with torch.no_grad():
    loss = F.mse_loss(model(x), y)  # here
loss.backward()
""",
    name="exception",
)
case(
    "non-leaf",
    None,
    """
w = torch.ones(3, requires_grad=True)
h = w * 2  # here
h.sum().backward()
print(h.grad.norm())
""",
    name="None is used",
)
case(
    "not-ancestor",
    None,
    NET
    + """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model.extra = nn.Linear(2, 2)
F.mse_loss(model(x), y).backward()  # here
for name, p in model.named_parameters():
    norm = p.grad.norm()
""",
    name="None is used",
)
case(
    "set-to-none",
    None,
    """
w = torch.ones(3, requires_grad=True)
for k in range(2):
    (w * w).sum().backward()
    w.grad = None  # here
    with torch.no_grad():
        w -= 0.1 * w.grad
""",
    name="None is used",
)
case(
    "shape-error",
    None,
    """
a, b = torch.ones(2, 3), torch.ones(4, 3)
c = a @ b  # here
""",
)
case(
    "shape-error",
    None,
    NET
    + """
loss = model(torch.randn(5, 7)).sum()
""".replace("\n", "\n", 1),
    name="in a module",
)
case(
    "dtype-error",
    None,
    """
loss = F.cross_entropy(torch.randn(4, 3), torch.tensor([0.0, 1.0, 2.0, 1.0]))  # here
""",
)
case(
    "index-out-of-range-error",
    None,
    """
table = nn.Embedding(4, 2)  # here
tokens = torch.tensor([1, 4])
out = table(tokens)
""",
)
case(
    "dimension-error",
    None,
    """
x = torch.ones(2, 3)
x.sum(dim=2)  # here
""",
)

# ---- all is well ---------------------------------------------------------------------------------
case(
    "none",
    "model.layers[0].weight.grad",
    NET
    + """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item(), [p.detach().numpy().mean() for p in model.parameters()])
""",
)
case(
    "none",
    "model",
    """
layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
model = nn.Sequential(nn.Embedding(10, 8), nn.TransformerEncoder(layer, 2), nn.Linear(8, 10))
tokens = torch.randint(0, 10, (4, 6))
F.cross_entropy(model(tokens).transpose(1, 2), tokens).backward()
""",
    name="transformer",
)
case(
    "none",
    "model",
    """
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3))
F.cross_entropy(model(torch.randn(8, 1, 8, 8)), torch.randint(0, 3, (8,))).backward()
""",
    name="cnn",
)

# ---- more of them ----------------------------------------------------------------------------------
case(
    "through-number",
    "model.scale.grad",
    """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 1)
        self.scale = nn.Parameter(torch.tensor(2.0))
    def forward(self, x):
        s = float(self.scale)  # here
        return self.fc(x) * s
model = M()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    loss = model(torch.randn(4, 3)).pow(2).mean()
    loss.backward()
    opt.step()
""",
)
case(
    "through-number",
    "model.temp.grad",
    """
class Softer(nn.Module):
    def __init__(self):
        super().__init__()
        self.temp = nn.Parameter(torch.tensor([1.7]))
        self.fc = nn.Linear(3, 2)
    def temperature(self):
        return max(self.temp.item(), 0.1)  # here
    def forward(self, x):
        return self.fc(x) / self.temperature()
model = Softer()
F.cross_entropy(model(torch.randn(4, 3)), torch.tensor([0, 1, 0, 1])).backward()
""",
)
case(
    "through-number",
    "w.grad",
    """
w = torch.tensor([1.5, 2.5], requires_grad=True)
stats = {}
stats["norm"] = w.norm().item()  # here
b = torch.ones(2, requires_grad=True)
loss = (b * stats["norm"]).sum()
loss.backward()
""",
    name="dict",
)
case(
    "through-number",
    "w.grad",
    """
w = torch.tensor([1.5, 2.5, 3.5], requires_grad=True)
b = torch.ones(3, requires_grad=True)
vals = [v.item() * 2 for v in w]  # here
loss = sum(v * x for v, x in zip(vals, b))
loss.backward()
""",
    name="comprehension",
)
case(
    "through-number",
    "params['w'].grad",
    """
params = {"w": torch.tensor([0.5], requires_grad=True), "b": torch.tensor([0.1], requires_grad=True)}
def predict(x):
    return float(params["w"]) * x + params["b"]  # here
loss = ((predict(torch.tensor([1.0, 2.0])) - 3) ** 2).mean()
loss.backward()
""",
    name="dict of params",
)
case(
    "through-number",
    "w.grad",
    """
w = torch.tensor([0.5], requires_grad=True)
v = torch.tensor([0.5], requires_grad=True)
total = 0
for x in torch.arange(4.0):
    total += (w * x).item()  # here
loss = (v * total).sum()
loss.backward()
""",
    name="accumulated",
)
case(
    "through-numpy",
    "net.first.weight.grad",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 1)
    def middle(self, h):
        return np.tanh(h)
    def forward(self, x):
        h = self.first(x)
        h = self.middle(h.detach().numpy())  # here
        return self.second(torch.tensor(h))
net = Net()
opt = torch.optim.Adam(net.parameters())
for x in [torch.randn(2, 3) for _ in range(3)]:
    opt.zero_grad()
    net(x).mean().backward()
    opt.step()
""",
)
case(
    "through-numpy",
    "w.grad",
    """
w = torch.randn(4, requires_grad=True)
b = torch.randn(4, requires_grad=True)
arrays = []
for k in range(2):
    arrays.append((w * k).data.numpy())  # here
stacked = torch.from_numpy(np.stack(arrays))
(stacked * b).sum().backward()
""",
    name="list of arrays",
)
case(
    "through-numpy",
    "model[0].weight.grad",
    """
model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
x = torch.randn(3, 4)
h = torch.tensor(np.clip(model[0](x).detach().cpu().numpy(), -1, 1))  # here
model[1](h).sum().backward()
""",
    name="clip",
)
case(
    "through-integer",
    "model.router.weight.grad",
    """
class Moe(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(4, 2)
        self.experts = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
    def forward(self, x):
        best = self.router(x).argmax(-1)  # here
        return torch.stack([self.experts[int(k)](row) for k, row in zip(best, x)])
model = Moe()
model(torch.randn(3, 4)).sum().backward()
""",
)
case(
    "through-integer",
    "logits.grad",
    """
logits = torch.randn(4, 3, requires_grad=True)
w = torch.randn(3, 2, requires_grad=True)
def choose(l):
    _, index = l.max(1)  # here
    return F.one_hot(index, 3).float()
(choose(logits) @ w).sum().backward()
""",
    name="max index",
)
case(
    "through-integer",
    "t.grad",
    """
t = torch.tensor(0.5, requires_grad=True)
x = torch.rand(10)
w = torch.ones(10, requires_grad=True)
acc = ((x > t).float() * w).mean()  # here
acc.backward()
""",
    name="threshold",
)
case(
    "through-integer",
    "a.grad",
    """
a = torch.tensor([3.7, 2.2], requires_grad=True)
b = torch.ones(2, requires_grad=True)
q = a.to(torch.int8)  # here
(q.float() * b).sum().backward()
""",
    name="quantise",
)
case(
    "detached",
    "encoder.fc.weight.grad",
    """
class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        return self.fc(x)
encoder, head = Enc(), nn.Linear(2, 1)
def step(x):
    z = encoder(x)
    z = torch.tensor(z, requires_grad=True) if False else z.detach().requires_grad_()  # here
    return head(z).sum()
for k in range(2):
    step(torch.randn(3, 4)).backward()
""",
)
case(
    "detached",
    "gen.weight.grad",
    """
gen, disc = nn.Linear(2, 2), nn.Linear(2, 1)
opt_g, opt_d = torch.optim.Adam(gen.parameters()), torch.optim.Adam(disc.parameters())
for k in range(2):
    fake = gen(torch.randn(4, 2))
    opt_g.zero_grad()
    loss = F.binary_cross_entropy_with_logits(disc(fake.detach()), torch.ones(4, 1))  # here
    loss.backward()
    opt_g.step()
""",
    name="gan",
)
case(
    "detached",
    "opt.param_groups[0]['params'][0].grad",
    """
model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
outs = [model[0](torch.randn(1, 2)) for _ in range(3)]
cached = [o.detach() for o in outs]  # here
loss = sum(model[1](c).sum() for c in cached)
loss.backward()
""",
    name="cache",
)
case(
    "no-grad-block",
    "backbone.weight.grad",
    """
backbone, head = nn.Linear(4, 4), nn.Linear(4, 2)
def extract(batch):
    with torch.no_grad():
        feats = [backbone(b) for b in batch]  # here
    return torch.stack(feats)
for k in range(2):
    loss = head(extract(torch.randn(3, 4))).sum()
    loss.backward()
""",
)
case(
    "no-grad-block",
    "model.emb.weight.grad",
    """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.fc = nn.Embedding(5, 3), nn.Linear(3, 1)
    @torch.no_grad()  # here
    def lookup(self, t):
        return self.emb(t)
    def forward(self, t):
        return self.fc(self.lookup(t))
model = M()
model(torch.tensor([1, 2])).sum().backward()
""",
)
case(
    "no-grad-block",
    "w.grad",
    """
w = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
class Switch:
    def __enter__(self):
        self.before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
    def __exit__(self, *a):
        torch.set_grad_enabled(self.before)
with Switch():
    h = w * 3  # here
(h * v).sum().backward()
""",
    name="own context",
)
case(
    "not-ancestor",
    "model.heads[1].weight.grad",
    """
class Multi(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
        self.heads = nn.ModuleList([nn.Linear(3, 1) for _ in range(2)])  # here
    def forward(self, x, k):
        return self.heads[k](self.body(x))
model = Multi()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    out = model(torch.randn(2, 3), 0)
    loss = out.mean()
    loss.backward()
    opt.step()
""",
)
case(
    "not-ancestor",
    "model.bias2.grad",
    """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 1)
        self.bias2 = nn.Parameter(torch.zeros(1))
    def forward(self, x):
        y = self.fc(x)
        y + self.bias2  # here
        return y
model = M()
loss = model(torch.randn(2, 3)).mean()
loss.backward()
""",
    name="result thrown away",
)
case(
    "not-ancestor",
    "layers[0].weight.grad",
    """
layers = [nn.Linear(3, 3) for _ in range(2)]
out = layers[1](torch.randn(2, 3))
out.sum().backward()  # here
print(layers[0](torch.randn(2, 3)).detach().numpy().mean())
""",
    name="used after",
)
case(
    "set-to-none",
    "net.fc.bias.grad",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 1)
    def forward(self, x): return self.fc(x)
net = Net()
def clear(params):
    for p in params:
        p.grad = None  # here
for k in range(2):
    net(torch.randn(2, 3)).sum().backward()
    clear(net.parameters())
""",
)
case(
    "set-to-none",
    "w.grad",
    """
w = torch.ones(2, requires_grad=True)
opt = torch.optim.Adam([w])
for k in range(2):
    (w ** 2).sum().backward()
    opt.step()
    opt.zero_grad(); done = True  # here
""",
)
case(
    "set-to-none",
    "w.grad",
    """
w = torch.ones(2, requires_grad=True)
(w ** 2).sum().backward()
del w.grad  # here
""",
    name="del",
)
case(
    "no-backward",
    "model.layers[0].weight.grad",
    NET
    + """
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for i in range(0, 16, 8):
        out = model(x[i:i+8])
        loss = F.mse_loss(out, y[i:i+8])  # here
        opt.step()
""",
)
case(
    "no-backward",
    "w.grad",
    """
w = torch.ones(2, requires_grad=True)
losses = []
for k in range(3):
    losses.append((w * k).sum())
total = torch.stack(losses).mean()  # here
print(total.item())
""",
)
case(
    "dead-relu",
    "model.fc1.weight.grad",
    """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(4, 16), nn.Linear(16, 16), nn.Linear(16, 1)
    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)
model = M()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
with torch.no_grad(): model.fc2.bias -= 1000  # here
for k in range(3):
    opt.zero_grad()
    loss = (model(torch.rand(8, 4)) - 1).pow(2).mean()
    loss.backward()
    opt.step()
""",
)
case(
    "dead-relu",
    "model.fc3.weight.grad",
    """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc3 = nn.Linear(4, 16), nn.Linear(16, 1)
        self.drop = nn.Dropout(0.1)
    def forward(self, x):
        h = torch.relu(self.fc1(x))
        return self.fc3(self.drop(h))
model = M()
with torch.no_grad(): model.fc1.bias -= 1000  # here
model(torch.rand(8, 4)).mean().backward()
""",
    name="through dropout",
)
case(
    "dead-relu",
    "net[0].weight.grad",
    """
net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 2))
with torch.no_grad():
    net[1].bias.fill_(-50)  # here
F.cross_entropy(net(torch.randn(4, 1, 8, 8)), torch.tensor([0, 1, 0, 1])).backward()
""",
    name="cnn with bn",
)
case(
    "saturation",
    "gate.weight.grad",
    """
gate = nn.Linear(2, 2)
with torch.no_grad(): gate.weight.fill_(500.)
x = torch.ones(3, 2)
vals = torch.randn(3, 2)
out = torch.sigmoid(gate(x)) * vals  # here
out.sum().backward()
""",
)
case(
    "saturation",
    "model.cells[0].weight_hh.grad",
    """
class R(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.ModuleList([nn.Linear(3, 4)])
        self.out = nn.Linear(4, 1)
    def forward(self, x):
        h = torch.tanh(self.cells[0](x) * 1e4 + 1e4)  # here
        return self.out(h)
model = R()
model.cells[0].weight_hh = model.cells[0].weight
model(torch.rand(2, 3)).sum().backward()
""",
)
case(
    "saturation",
    "w.grad",
    """
w = torch.tensor([5.0, 7.0], requires_grad=True)
y = torch.clamp(w, 0.0, 1.0)  # here
y.sum().backward()
""",
    name="clamp",
)
case(
    "masked",
    "w.grad",
    """
w = torch.randn(3, requires_grad=True)
keep = torch.tensor([False, False, False])
y = torch.where(keep, w, torch.tensor(0.0))  # here
y.sum().backward()
""",
)
case(
    "masked",
    "emb.weight.grad",
    """
emb = nn.Embedding(5, 3)
tokens = torch.tensor([[1, 2]])
mask = (tokens == 0).float()  # here
loss = (emb(tokens).sum(-1) * mask).sum()
loss.backward()
""",
)
case(
    "masked",
    "model.weight.grad",
    """
model = nn.Linear(3, 4)
target = torch.full((5,), -100)
loss = F.cross_entropy(model(torch.randn(5, 3)), target, ignore_index=-100, reduction='sum')  # here
loss.backward()
""",
    name="ignore index",
)
case(
    "times-zero",
    "w.grad",
    """
alpha = 0.0
w = torch.randn(3, requires_grad=True)
def penalty(p):
    return alpha * p.pow(2).sum()  # here
for _ in range(2):
    penalty(w).backward()
""",
)
case(
    "times-zero",
    "w.grad",
    """
w = torch.zeros(3, requires_grad=True)
loss = (w ** 2).sum()  # here
loss.backward()
""",
    name="square at zero",
)
case(
    "times-zero",
    "q.weight.grad",
    """
q, k, v = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
with torch.no_grad():
    k.weight.zero_(); k.bias.zero_()
x = torch.randn(2, 3, 4)
att = (q(x) @ k(x).transpose(1, 2)).softmax(-1) @ v(x)  # here
att.sum().backward()
""",
    name="attention",
)
case(
    "nan-forward",
    "loss",
    """
class V(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
    def forward(self, x):
        h = self.fc(x)
        return h / (h - h).sum()  # here
model = V()
loss = model(torch.randn(2, 3)).mean()
""",
)
case(
    "nan-forward",
    "model.fc.weight.grad",
    """
class V(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
    def forward(self, x):
        p = torch.sigmoid(self.fc(x) * 1e4)
        return -(torch.log(p) + torch.log(1 - p)).mean()  # here
model = V()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for k in range(3):
    opt.zero_grad()
    loss = model(torch.randn(4, 3))
    loss.backward()
    opt.step()
""",
)
case(
    "nan-forward",
    "w",
    """
w = torch.tensor([1.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=1e30)
for k in range(5):
    opt.zero_grad()
    loss = (w ** 2).sum()
    loss.backward()
    opt.step()
""",
    name="diverged",
)
case(
    "nan-forward",
    "h",
    """
x = torch.tensor([60000.0, 2.0], dtype=torch.float16)
w = torch.ones(2, dtype=torch.float16, requires_grad=True)
h = x * w * 2  # here
""",
    name="half",
)
case(
    "nan-forward",
    "out",
    """
x = torch.tensor([[0.0, 0.0]], requires_grad=True)
out = x / x.norm(dim=1, keepdim=True)  # here
""",
    name="normalise zero",
)
case(
    "nan-backward",
    "model.weight.grad",
    """
model = nn.Linear(3, 3, bias=False)
with torch.no_grad(): model.weight.zero_()
x = torch.randn(2, 3)
def dist(a, b): return torch.norm(a - b, dim=1) if False else ((a - b) ** 2).sum(1).sqrt()  # here
loss = dist(model(x), torch.zeros(2, 3)).mean()
loss.backward()
""",
)
case(
    "nan-backward",
    "x.grad",
    """
x = torch.tensor([0.0, 1.0], requires_grad=True)
y = x.abs() ** 0.5  # here
for _ in range(1):
    y.sum().backward()
""",
    name="power",
)
case(
    "nan-backward",
    "x.grad",
    """
x = torch.tensor([1.0, 0.5], requires_grad=True)
y = torch.acos(x)  # here
y.sum().backward()
""",
    name="acos",
)
case(
    "exploded",
    "net.layers[0].weight.grad",
    """
class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(4, 4, 3, padding=1) for _ in range(12)])
    def forward(self, x):
        for l in self.layers:
            x = F.relu(l(x))  # here
        return x.mean()
net = Deep()
for p in net.layers: nn.init.uniform_(p.weight, 0.5, 1.0)
net(torch.rand(2, 4, 8, 8)).backward()
""",
)
case(
    "exploded",
    "x.grad",
    """
x = torch.full((4,), 1.1, requires_grad=True)
y = x
for k in range(6):
    y = y * y * 3  # here
y.sum().backward()
""",
)
case(
    "overwritten",
    None,
    """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
    def forward(self, x):
        h = torch.sigmoid(self.fc(x))
        h += 1  # here
        return h * 2
M()(torch.randn(2, 3)).sum().backward()
""",
)
case(
    "overwritten",
    None,
    """
x = torch.randn(3, requires_grad=True)
y = x.tanh()
z = y.view(3)
z[0] = 5.  # here
y.sum().backward()
""",
    name="view",
)
case(
    "graph-freed",
    None,
    """
model = nn.Linear(3, 1)
x = torch.randn(2, 3)
out = model(x).pow(2).sum()
for k in range(2):
    (out * k).backward()  # here
""",
)
case(
    "graph-freed",
    None,
    """
w = torch.randn(3, requires_grad=True)
h = w.exp()
a, b = h.sum(), (h * h).sum()
a.backward()
g = torch.autograd.grad(b, w)  # here
""",
    name="autograd.grad",
)
case(
    "nonscalar",
    None,
    """
def go(ws):
    outs = [w * 2 for w in ws]
    for o in outs:
        o.backward()  # here
go([torch.ones(2, requires_grad=True) for _ in range(2)])
""",
)
case(
    "leaf-inplace",
    None,
    """
w = torch.nn.Parameter(torch.ones(3))
for k in range(2):
    w.data.mul_(2)
    w.mul_(0.5)  # here
""",
)
case(
    "leaf-inplace",
    None,
    """
w = torch.ones(3, 3, requires_grad=True)
w[:, 0].fill_(2.0)  # here
""",
    name="view of leaf",
)
case(
    "non-leaf",
    "hidden['h'].grad",
    """
hidden = {}
model = nn.Linear(3, 2)
def keep(m, i, o):
    hidden['h'] = o
model.register_forward_hook(keep)
out = model(torch.randn(1, 3))  # here
out.sum().backward()
""",
    name="hook",
)
case(
    "not-requires-grad",
    "model.fc1.weight.grad",
    """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(3, 3), nn.Linear(3, 1)
model = M()
for name, p in model.named_parameters():
    if name.startswith('fc1'):
        p.requires_grad_(False)  # here
model.fc2(model.fc1(torch.randn(2, 3))).sum().backward()
""",
)
case(
    "not-requires-grad",
    "model.w.grad",
    """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.randn(3)  # here
        self.b = nn.Parameter(torch.zeros(3))
    def forward(self, x): return x * self.w + self.b
model = M()
model(torch.ones(3)).sum().backward()
""",
    name="plain tensor in a module",
)
case(
    "none",
    "model",
    """
model = nn.LSTM(4, 8, num_layers=2, batch_first=True)
head = nn.Linear(8, 1)
opt = torch.optim.Adam([*model.parameters(), *head.parameters()])
for k in range(3):
    opt.zero_grad()
    out, (h, c) = model(torch.randn(2, 5, 4))
    loss = head(out[:, -1]).pow(2).mean()
    loss.backward()
    opt.step()
""",
)
case(
    "none",
    "model[0].weight.grad",
    """
model = nn.Sequential(*[m for _ in range(5) for m in (nn.Linear(8, 8), nn.ReLU())], nn.Linear(8, 3))
x = torch.randn(32, 8)
with torch.no_grad():
    print(model(x).argmax(1).tolist())
F.cross_entropy(model(x), torch.randint(0, 3, (32,))).backward()
""",
)


case(
    "through-integer",
    "mu.grad",
    """
mu = torch.zeros(3, requires_grad=True)
w = torch.ones(3, requires_grad=True)
for k in range(2):
    d = torch.distributions.Normal(mu, 1.0)
    s = d.sample()  # here
    loss = (s * w).sum()
    loss.backward()
""",
    name="sample of a distribution",
)
case(
    "not-ancestor",
    "w.grad",
    """
w, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
assert (w > 0).all()
if w.sum() > 2:
    scale = 3.0
loss = (b * scale).sum()  # here
loss.backward()
""",
    name="used in a decision only",
)
case(
    "hook",
    "w.grad",
    """
w = torch.ones(3, requires_grad=True)
h = w * 2
h.register_hook(lambda g: g * 0)  # here
h.sum().backward()
""",
)


case(
    "through-number",
    "loss.grad",
    """
w = torch.tensor([1.5, 2.5], requires_grad=True)
loss = (w ** 2).sum().item()  # here
""",
    name="the number itself",
)
case(
    "saturation",
    "w.grad",
    """
w = torch.tensor([-2.0, -2.5], requires_grad=True)
for k in range(2):
    w.grad = None
    out = torch.sigmoid(w * 10)  # here
    out.sum().backward()
""",
    name="nearly zero",
)
case(
    "exploded",
    "net[0].weight.grad",
    """
net = nn.Sequential(*[nn.Linear(8, 8) for _ in range(8)])
for layer in net:
    nn.init.constant_(layer.weight, 0.4)
net(torch.ones(1, 8)).sum().backward()  # here
""",
    name="not yet huge",
)

# ---- and more --------------------------------------------------------------------------------------
case(
    "detached",
    "model.encoder[0].weight.grad",
    """
class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 4), nn.ReLU())
        self.decoder = nn.Sequential(nn.Linear(4, 8))
    def forward(self, x):
        z = self.encoder(x)
        return self.decoder(z.data)  # here
model = AE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32, 8)), batch_size=8)
def train_epoch(model, loader, optimizer):
    total = 0.0
    for (batch,) in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(batch), batch)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)
for epoch in range(2):
    print(epoch, train_epoch(model, data, optimizer))
""",
)
case(
    "through-number",
    "policy.fc.weight.grad",
    """
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, s): return torch.softmax(self.fc(s), -1)
policy, value = Policy(), nn.Linear(4, 1)
def returns(rewards):
    out, g = [], 0.0
    for r in reversed(rewards):
        g = r + 0.9 * g
        out.insert(0, g)
    return torch.tensor(out)
rewards, values = [], []
for t in range(5):
    s = torch.randn(4)
    p = policy(s)
    rewards.append(p.max().item())  # here
    values.append(value(s))
loss = F.mse_loss(torch.cat(values), returns(rewards))
loss.backward()
""",
    name="returns",
)
case(
    "through-integer",
    "policy.weight.grad",
    """
policy = nn.Linear(4, 2)
critic = nn.Linear(4, 1)
s = torch.randn(6, 4)
actions = torch.distributions.Categorical(logits=policy(s)).sample()  # here
adv = critic(s).squeeze(1) * actions.float()
adv.mean().backward()
""",
    name="categorical",
)
case(
    "no-grad-block",
    "model.features.weight.grad",
    """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.features, self.head = nn.Conv2d(1, 2, 3), nn.Linear(2, 2)
    def extract(self, x):
        return self.features(x).mean((2, 3))
    def forward(self, x):
        with torch.no_grad():
            f = self.extract(x)  # here
        return self.head(f)
model = Model()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    F.cross_entropy(model(torch.randn(4, 1, 6, 6)), torch.tensor([0, 1, 0, 1])).backward()
    opt.step()
""",
)
case(
    "not-ancestor",
    "model.pos.grad",
    """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 4)
        self.pos = nn.Parameter(torch.zeros(5, 4))  # here
        self.out = nn.Linear(4, 10)
    def forward(self, t):
        return self.out(self.emb(t))
model = Model()
t = torch.randint(0, 10, (2, 5))
loss = F.cross_entropy(model(t).flatten(0, 1), t.flatten())
loss.backward()
""",
)
case(
    "not-requires-grad",
    "emb.weight.grad",
    """
emb = nn.Embedding.from_pretrained(torch.randn(5, 3))  # here
out = nn.Linear(3, 1)
out(emb(torch.tensor([1, 2]))).sum().backward()
""",
    name="from_pretrained",
)
case(
    "nan-forward",
    "loss",
    """
def focal(logits, y):
    p = torch.softmax(logits, 1)
    return -(y * torch.log(p)).sum()  # here
w = torch.zeros(3, 2, requires_grad=True)
x = torch.tensor([[500.0, 1.0, 1.0]])
for k in range(3):
    with torch.no_grad():
        w += torch.tensor([[1.0, -1.0]] * 3)
    loss = focal(x @ w, torch.tensor([[0.0, 1.0]]))
""",
    name="zero times inf",
)
case(
    "nan-forward",
    "model[0].weight.grad",
    """
model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
def kl(p, q): return (p * (p / q).log()).sum()  # here
p = torch.softmax(model(torch.randn(3, 2)), 0)
kl(torch.relu(p - 0.4), p).backward()
""",
    name="kl",
)
case(
    "nan-backward",
    "model.weight.grad",
    """
model = nn.Linear(3, 3)
def cosine(a, b): return (a * b).sum() / (a.norm() * b.norm() + 1e-8)
def pairwise(x):
    d = (x.unsqueeze(0) - x.unsqueeze(1)).pow(2).sum(-1)
    return d.sqrt()  # here
h = model(torch.randn(4, 3))
pairwise(h).mean().backward()
""",
    name="pairwise",
)
case(
    "dead-relu",
    "net.layers[2].bias.grad",
    """
class Mlp(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])
    def forward(self, x):
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        return self.layers[-1](x)
net = Mlp([4, 16, 16, 16, 1])
with torch.no_grad():
    net.layers[2].bias.fill_(-1e3)  # here
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
for x in torch.randn(3, 8, 4):
    opt.zero_grad()
    loss = (net(x) - 1).pow(2).mean()
    loss.backward()
    opt.step()
""",
)
case(
    "overwritten",
    None,
    NET
    + """
state = torch.zeros(16, 2, requires_grad=True)
buffer = state * 1
total = 0
for layer in range(2):
    total = total + (buffer * buffer).sum()
    buffer[:, layer] = 0.5  # here
total.backward()
""",
    name="buffer",
)
case(
    "graph-freed",
    None,
    """
gru = nn.GRU(3, 4)
h = torch.zeros(1, 2, 4)
opt = torch.optim.SGD(gru.parameters(), lr=0.1)
for step in range(3):
    out, h = gru(torch.randn(5, 2, 3), h)  # here
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    name="gru state",
)
case(
    "graph-freed",
    None,
    """
G, D = nn.Linear(2, 2), nn.Linear(2, 1)
z = torch.randn(3, 2)
fake = G(z)
d_loss = D(fake).tanh().mean()
d_loss.backward()
g_loss = -D(fake).tanh().mean()
g_loss.backward()  # here
""",
    name="gan",
)
case(
    "nonscalar",
    None,
    """
model = nn.Linear(3, 2)
out = model(torch.randn(4, 3))
loss = F.cross_entropy(out, torch.tensor([0, 1, 1, 0]), reduction='none')
loss.backward()  # here
""",
)
case(
    "set-to-none",
    "fc.weight.grad",
    """
fc = nn.Linear(2, 1)
opt = torch.optim.AdamW(fc.parameters())
def train():
    for k in range(3):
        loss = fc(torch.randn(4, 2)).pow(2).mean()
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)  # here
train()
print(fc.weight.grad is None)
""",
)
case(
    "non-leaf",
    "weights[0].grad",
    """
weights = [torch.randn(3, 2, requires_grad=True) * 0.1 for _ in range(2)]  # here
x = torch.randn(4, 3)
sum((x @ w).sum() for w in weights).backward()
""",
)
case(
    "non-leaf",
    "x.grad",
    """
x = torch.ones(3, requires_grad=True)
x = x.view(3, 1)  # here
(x * 2).sum().backward()
""",
    name="view",
)
case(
    "times-zero",
    "model.gate.grad",
    """
class Res(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(3, 3)
        nn.init.zeros_(self.f.weight); nn.init.zeros_(self.f.bias)
        self.gate = nn.Parameter(torch.ones(3))
    def forward(self, x):
        return x + self.gate * self.f(x)  # here
model = Res()
model(torch.randn(2, 3)).pow(2).sum().backward()
""",
)
case(
    "masked",
    "q.weight.grad",
    """
q, emb = nn.Linear(3, 3), torch.randn(2, 4, 3)
lengths = torch.tensor([0, 0])
mask = (torch.arange(4)[None] < lengths[:, None]).unsqueeze(-1).float()  # here
h = q(emb)
pooled = (h * mask).sum(1)
pooled.sum().backward()
""",
    name="lengths",
)

# ---- lines to change -----------------------------------------------------------------------------
case(
    "through-number",
    "w.grad",
    """
w, u = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
parts = [w.sum() * k for k in range(3)]
s = torch.tensor(parts)  # here
(s * u).sum().backward()
""",
    name="list of tensors",
)
case(
    "through-number",
    "m.weight.grad",
    """
m, k = nn.Linear(3, 1), nn.Linear(3, 1)
x = torch.randn(4, 3)
losses = [m(row).pow(2).sum() for row in x]
loss = torch.tensor(losses).mean() + k(x).mean()  # here
loss.backward()
""",
    name="list of losses",
)
case(
    "through-number",
    "m.weight.grad",
    """
m = nn.Linear(3, 1)
out = m(torch.randn(4, 3)).mean()
loss = torch.tensor(out.item(), requires_grad=True)  # here
loss.backward()
""",
    name="made to require a gradient",
)
case(
    "not-requires-grad",
    "net[0].weight.grad",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
for p in net.parameters():
    p.requires_grad = False
for p in net[0].parameters():
    p.require_grad = True  # here
net[1].requires_grad_()
net(torch.randn(2, 3)).sum().backward()
""",
    name="misspelt",
)
case(
    "not-requires-grad",
    "net[0].weight.grad",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
for p in net.parameters():
    p.requires_grad = False
def unfreeze(model):
    for name, p in model.named_parameters():
        if name.startswith("layer0"):  # here
            p.requires_grad = True
    model[1].requires_grad_(True)
unfreeze(net)
net(torch.randn(2, 3)).sum().backward()
""",
    name="condition never true",
)
case(
    "not-requires-grad",
    "net[0].weight.grad",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
for p in net.parameters():
    p.requires_grad = False  # here
net[1].requires_grad_(True)
net(torch.randn(2, 3)).sum().backward()
""",
    name="the head alone is thawed",
)
case(
    "not-requires-grad",
    "model.scale.grad",
    """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.register_buffer("scale", torch.ones(3))  # here
    def forward(self, x): return self.lin(x) * self.scale
model = M()
model(torch.randn(2, 3)).sum().backward()
""",
    name="buffer",
)
case(
    "not-ancestor",
    "model.skip.weight.grad",
    """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.main, self.skip = nn.Linear(3, 3), nn.Linear(3, 3)
    def forward(self, x):
        s = self.skip(x)  # here
        return self.main(x) + x
model = M()
model(torch.randn(2, 3)).sum().backward()
""",
    name="variable never read",
)
case(
    "nan-forward",
    "loss",
    """
x = torch.randn(20, 3)
x[4, 1] = float("nan")  # here
y = x.sum(1)
model = nn.Linear(3, 1)
loss = nn.functional.mse_loss(model(x).squeeze(1), y)
loss.backward()
""",
    name="an assignment to the data",
)
case(
    "dead-relu",
    "net[0].weight.grad",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
with torch.no_grad():
    net[0].weight.zero_()
    net[0].bias.fill_(-1)  # here
x = torch.randn(8, 3)
length = (net(x) ** 2).sum(1).sqrt()
loss = (length - 1).pow(2).mean()
loss.backward()
""",
    name="a NaN that ReLU swallows",
)
case(
    "no-grad-block",
    "encoder.weight.grad",
    """
encoder, head = nn.Linear(5, 5), nn.Linear(5, 1)
@torch.inference_mode(False)
@torch.no_grad()  # here
def embed(x):
    return encoder(x).tanh()
x = torch.randn(7, 5)
loss = head(embed(x)).mean()
loss.backward()
""",
    name="the second decorator",
)
case(
    "no-grad-block",
    "net.weight.grad",
    """
net, head = nn.Linear(5, 5), nn.Linear(5, 1)
def validate(x):
    torch.set_grad_enabled(False)  # here
    return net(x).mean()
validate(torch.randn(3, 5))
y = net(torch.randn(3, 5))
torch.set_grad_enabled(True)
loss = head(y).mean()
loss.backward()
""",
    name="switched off for all that follows",
)
case(
    "nan-forward",
    "loss",
    """
rows = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]], dtype=np.float32)
x = torch.from_numpy(rows)  # here
net = nn.Linear(2, 1)
loss = net(x).mean()
loss.backward()
""",
    name="an array with NaN",
)
case(
    "nan-forward",
    "loss",
    """
from torch.utils.data import DataLoader, TensorDataset
x = torch.rand(64, 4)
x = torch.log(x - 0.01)  # here
y = torch.rand(64, 1)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for a, b in DataLoader(TensorDataset(x, y), batch_size=16):
    loss = nn.functional.mse_loss(net(a), b)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    name="rows of a table",
)
case(
    "nan-forward",
    "loss",
    """
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=5.0)
x = torch.randn(32, 4)
y = x.sum(1, keepdim=True)
for step in range(40):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()  # here
""",
    name="the parameters have grown",
)

# ---- where the values began ----------------------------------------------------------------------
case(
    "times-zero",
    "layer.down.grad",
    """
class Lora(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(6, 4).requires_grad_(False)
        self.down = nn.Parameter(torch.zeros(2, 6))
        self.up = nn.Parameter(torch.zeros(4, 2))  # here
    def forward(self, x):
        return self.base(x) + 2 * (x @ self.down.T) @ self.up.T
layer = Lora()
layer(torch.randn(5, 6)).pow(2).sum().backward()
""",
    name="both of a pair",
)
case(
    "dead-relu",
    "net[0].weight.grad",
    """
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 1, 1))
for m in net:
    if isinstance(m, nn.Conv2d):
        nn.init.normal_(m.weight, std=0.05)
        nn.init.constant_(m.bias, -4.6)  # here
net(torch.randn(4, 1, 8, 8)).pow(2).mean().backward()
""",
    name="a prior for every layer",
)
case(
    "cancels",
    "net.weight.grad",
    """
class Rounded(nn.Linear):
    def forward(self, x):
        q = torch.round(self.weight * 8) / 8
        w = self.weight + (q - self.weight)  # here
        return F.linear(x, w, self.bias)
net = Rounded(4, 2)
net(torch.randn(5, 4)).pow(2).sum().backward()
""",
    name="straight through without detach",
)
case(
    "through-number",
    "penalty",
    """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
penalty = 0.0
for p in net.parameters():
    penalty += p.abs().sum().item()  # here
loss = net(torch.randn(5, 4)).mean() + 1e-3 * penalty
loss.backward()
""",
    name="a sum of numbers",
)
case(
    "through-number",
    "penalty",
    """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
def l1(model):
    return sum(p.abs().sum().item() for p in model.parameters())  # here
penalty = l1(net)
loss = net(torch.randn(5, 4)).mean() + 1e-3 * penalty
loss.backward()
""",
    name="a function that gives numbers",
)
case(
    "overwritten",
    "loss",
    """
rec = nn.Linear(4, 4)
state = torch.zeros(2, 4)
for t in range(3):
    new = torch.tanh(rec(state))
    state += new  # here
loss = state.sum()
loss.backward()
""",
    name="a loss whose backward failed",
)


# ---- the line to change is not the one that raised it --------------------------------------------
TRAIN = """
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss = F.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
case(
    "shape-error",
    None,
    """
model = nn.Sequential(
    nn.Conv2d(1, 2, 3),
    nn.Flatten(),
    nn.Linear(2 * 8 * 8, 3),  # here
)
out = model(torch.randn(4, 1, 8, 8))
""",
    name="a layer of another size",
)
case(
    "shape-error",
    None,
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(8)  # here
    def forward(self, x):
        return self.norm(self.conv(x))
out = Net()(torch.randn(2, 1, 6, 6))
""",
    name="a norm of another size",
)
case(
    "shape-error",
    None,
    """
model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU())
head = nn.Linear(2 * 6 * 6, 3)
features = model(torch.randn(4, 1, 8, 8))
out = head(features)  # here
""",
    name="not flattened",
)
case(
    "shape-error",
    None,
    """
from torch.utils.data import DataLoader, Dataset
class Words(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, k):
        return torch.arange(k + 1), k  # here
for words, label in DataLoader(Words(), batch_size=2):
    print(words)
""",
    name="samples of several lengths",
)
case(
    "dtype-error",
    None,
    """
def load():
    a = np.linspace(0, 1, 12).reshape(4, 3)
    return torch.from_numpy(a)  # here
x = load()
x = (x - x.mean()) / x.std()
out = nn.Linear(3, 1)(x[:2])
""",
    name="data of NumPy",
)
case(
    "dtype-error",
    None,
    """
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, k):
        return np.full(3, k / 2), k  # here
model = nn.Linear(3, 1)
for x, label in DataLoader(Rows(), batch_size=2):
    out = model(x)
""",
    name="samples of NumPy",
)
case(
    "index-out-of-range-error",
    None,
    """
from torch.utils.data import DataLoader, TensorDataset
labels = torch.randint(1, 4, (40,))  # here
x = torch.randn(40, 2)
model = nn.Linear(2, 3)
for a, b in DataLoader(TensorDataset(x, labels), batch_size=20):
    loss = F.cross_entropy(model(a), b)
""",
    name="labels from one",
)
case(
    "index-out-of-range-error",
    None,
    """
labels = torch.arange(12) % 4
model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))  # here
loss = F.cross_entropy(model(torch.randn(12, 2)), labels)
""",
    name="too few scores",
)
case(
    "graph-freed",
    None,
    """
G, D = nn.Linear(2, 2), nn.Linear(2, 1)
opt = torch.optim.SGD(D.parameters(), lr=0.1)
for step in range(2):
    fake = G(torch.randn(3, 2))
    d_loss = D(fake).tanh().mean()  # here
    d_loss.backward()
    opt.step()
    g_loss = -D(fake).tanh().mean()
    g_loss.backward()
""",
    name="an update between",
)
case(
    "graph-freed",
    None,
    """
class Bank:
    def __init__(self):
        self.rows = torch.zeros(6, 2)
    def push(self, z):
        self.rows = torch.cat([z, self.rows])[:6]  # here
net, bank = nn.Linear(3, 2), Bank()
for step in range(3):
    z = net(torch.randn(2, 3)).tanh()
    loss = (z @ bank.rows.t()).exp().mean()
    loss.backward()
    bank.push(z)
""",
    name="a memory",
)
case(
    "graph-kept",
    "log.rows[0] --question alive",
    """
class Log:
    def __init__(self):
        self.rows = []
    def add(self, value):
        self.rows.append(value)  # here
log, model = Log(), nn.Linear(3, 1)
for step in range(3):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    log.add(loss)
""",
    name="stored",
)
case(
    "argument-value-error",
    None,
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(3, 3) for _ in range(2)]  # here
model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
""",
    name="layers in a list",
)
case(
    "argument-value-error",
    None,
    """
model = nn.Linear(3, 1)
params = model.parameters()  # here
print(sum(p.numel() for p in params))
opt = torch.optim.SGD(params, lr=0.1)
""",
    name="an iterator used twice",
)

# ---- weights that stand still --------------------------------------------------------------------
case(
    "rate-zero",
    "",
    NET
    + TRAIN.replace(
        "for step",
        "plan = torch.optim.lr_scheduler.LambdaLR(opt, lambda k: k // 100)  # here\nfor step",
    )
    + "    plan.step()\n",
)
case(
    "no-step",
    "",
    NET
    + TRAIN.replace("    opt.step()\n", "")
    .replace("()\n", "()  # here\n", 2)
    .replace("grad()  # here", "grad()"),
)
case(
    "not-in-optimizer",
    "",
    NET
    + TRAIN.replace("model.parameters(), lr=0.1)", "model.layers.parameters(), lr=0.1)  # here"),
)
case("none", "", NET + TRAIN, name="all is well")
case(
    "no-step",
    "",
    NET + TRAIN.replace("    opt.step()", "    opt.step  # here"),
    name="not called",
)
case(
    "not-in-optimizer",
    "",
    "import copy\n"
    + NET
    + TRAIN.replace(
        "model.parameters(), lr=0.1)", "copy.deepcopy(model).parameters(), lr=0.1)  # here"
    ),
    name="a copy",
)
case(
    "shape-error",
    None,
    """
embed = nn.Embedding(5, 6)
rnn = nn.GRU(4, 8)  # here
out, h = rnn(embed(torch.randint(0, 5, (3, 2))))
""",
    name="a recurrent layer of another size",
)
case(
    "shape-error",
    None,
    """
images = torch.randn(4, 8, 8)
conv = nn.Conv2d(1, 2, 3)
out = conv(images)  # here
""",
    name="no channels",
)

# ---- compiled again and again --------------------------------------------------------------------
case(
    "retraced",
    "step --question compiled",
    """
@torch.compile
def step(x, factor):
    return (x * factor).sum()
for k in range(3):
    step(torch.ones(4), "abc"[k] != "a" and 1 + k)  # here
""",
)

# ---- the statement that ran, the place that keeps it ----------------------------------------------
case(
    "graph-freed",
    None,
    """
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.state = nn.GRU(3, 4), None
    def forward(self, x):
        out, h = self.gru(x, self.state)
        self.state = h  # here
        return out
reader = Reader()
for step in range(2):
    reader(torch.randn(2, 1, 3)).pow(2).mean().backward()
""",
    name="a state in an attribute",
)
case(
    "graph-freed",
    None,
    """
class Player:
    def __init__(self):
        self.cell, self.memory = nn.LSTMCell(3, 4), {}
    def reset(self):
        self.memory["a"] = None
    def act(self, x):
        h, c = self.cell(x, self.memory["a"])
        self.memory["a"] = (h, c)  # here
        return h
player, log = Player(), []
player.reset()
for step in range(2):
    loss = player.act(torch.randn(1, 3)).mean()
    log.append(loss)
    loss.backward()
""",
    name="a state in a dict",
)
case(
    "rate-zero",
    "",
    NET
    + TRAIN.replace(
        "for step",
        """
def factor(step):
    if step < 10:
        return step // 10  # here
    return 0.5
sched = torch.optim.lr_scheduler.LambdaLR(opt, factor)
for step""",
    ).replace("opt.step()", "opt.step(); sched.step()"),
    name="one of two returns",
)
case(
    "no-derivative",
    "w.grad",
    """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        if ctx.needs_input_grad[0]:
            return g * w, None  # here
        return None, g * x
x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
Scale.apply(x, w).sum().backward()
""",
    name="one of two returns of backward",
)
case(
    "graph-kept",
    "losses[0] --question alive",
    """
class Meter:
    def __init__(self):
        self.history = {}
    def update(self, **values):
        for k, v in values.items():
            self.history.setdefault(k, []).append(v)  # here
meter, model = Meter(), nn.Linear(3, 1)
for step in range(3):
    meter.update(loss=model(torch.randn(4, 3)).mean())
losses = meter.history["loss"]
""",
    name="another name of a list",
)
case(
    "graph-kept",
    "history[0] --question alive",
    """
def train(model):
    seen = []
    for step in range(3):
        seen += [model(torch.randn(4, 3)).mean()]  # here
    return model, seen
model, history = train(nn.Linear(3, 1))
""",
    name="a list that a function returned",
)
case(
    "shape-error",
    None,
    """
class Net(nn.Module):
    def __init__(self, width, classes=3):
        super().__init__()
        inner = 2 * width
        self.body = nn.Sequential(nn.Linear(4, inner), nn.Linear(inner, classes))
saved = Net(8).state_dict()
net = Net(16)  # here
net.load_state_dict(saved)
""",
    name="a model of other sizes than its checkpoint",
)
case(
    "shape-error",
    None,
    """
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(4, width)
        self.head = nn.Linear(7, 2)  # here
saved = Net(8).state_dict()
saved["head.weight"] = torch.zeros(2, 8)
net = Net(8)
net.load_state_dict(saved)
""",
    name="a layer of other sizes than its checkpoint",
)
case(
    "no-backward",
    "model.0.weight.grad",
    """
model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
loss = model(torch.ones(1, 2)).sum()  # here
""",
    name="spelt as in a state dict",
)
case(
    "dtype-error",
    None,
    """
from torch.utils.data import DataLoader
rows = [(torch.randn(3), float(k % 2)) for k in range(8)]
def collate(items):
    return torch.stack([x for x, _ in items]), torch.tensor([y for _, y in items])  # here
model = nn.Linear(3, 2)
for x, y in DataLoader(rows, batch_size=4, collate_fn=collate):
    loss = F.cross_entropy(model(x), y)
""",
    name="labels as real numbers",
)


# ---- the line that a person would change: states, rates, names, initial values -------------------
case(
    "graph-freed",
    None,
    """
cell, head = nn.LSTM(3, 4), nn.Linear(4, 1)
def cut_off(state):
    h, c = state
    return h.detach(), c  # here
state = torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)
for _ in range(3):
    state = cut_off(state)
    out, state = cell(torch.randn(5, 2, 3), state)
    head(out).sum().backward()
""",
    "one of two states is detached",
)
case(
    "cancels",
    "policy.weight.grad",
    """
policy = nn.Linear(3, 2)
x, action = torch.randn(8, 3), torch.arange(8) % 2
def log_prob():
    return F.log_softmax(policy(x), 1).gather(1, action[:, None])
old = log_prob()
new = log_prob()
ratio = torch.exp(new - old)  # here
(ratio * 2).mean().backward()
""",
    "a ratio of two equal probabilities",
)
case(
    "rate-zero",
    "",
    """
def build():
    net = nn.Linear(3, 1)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)
def train(steps):
    for _ in range(steps):
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()
model, optimizer = build()
schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, 2)
train(1), schedule.step(), train(1), schedule.step()
kept = optimizer.state_dict()
model, optimizer = build()
optimizer.load_state_dict(kept)  # here
train(4)
""",
    "a resumed optimizer",
)
case(
    "not-requires-grad",
    None,
    """
class Teacher:
    def __init__(self, student):
        self.student = student
        self.teacher = student  # here
        for p in self.teacher.parameters():
            p.requires_grad_(False)
method = Teacher(nn.Linear(3, 2))
target = method.teacher(torch.ones(4, 3)).detach()
F.mse_loss(method.student(torch.zeros(4, 3)), target).backward()
""",
    "a teacher that is the student",
)
case(
    "shape-error",
    None,
    """
class Block(nn.Module):
    def __init__(self, before, after, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(before, after, 3, stride, padding=1)
        self.skip = nn.Identity()
        if stride != 1:  # here
            self.skip = nn.Conv2d(before, after, 1, stride)
    def forward(self, x):
        out = self.conv(x)
        return F.relu(out + self.skip(x))
nn.Sequential(Block(4, 4), Block(4, 8))(torch.ones(1, 4, 6, 6))
""",
    "a way round that does nothing",
)
case(
    "dtype-error",
    None,
    """
def collate(rows):
    out = torch.zeros(len(rows), max(map(len, rows)))  # here
    for k, row in enumerate(rows):
        out[k, : len(row)] = torch.tensor(row)
    return out
embed = nn.Embedding(9, 2)
embed(collate([[1, 2], [3]])).sum().backward()
""",
    "indices put into a tensor of real numbers",
)
case(
    "not-in-optimizer",
    "",
    NET
    + """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # here
model.head = nn.Linear(2, 1)
F.mse_loss(model(x), y).backward()
optimizer.step()
""",
    "a layer replaced afterwards",
)
case(
    "dead-relu",
    "model[0].weight.grad",
    """
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
for p in model[0].parameters():
    nn.init.uniform_(p, -0.2, 0.0)  # here
model(torch.rand(16, 4)).sum().backward()
""",
    "weights below zero",
)
case(
    "no-step",
    "",
    NET
    + """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(3):
    F.mse_loss(model(x), y).backward()
    if (i + 1) % 8 == 0:  # here
        optimizer.step()
        optimizer.zero_grad()
""",
    "a condition that is never true",
)
case(
    "shape-error",
    None,
    """
class Positions(nn.Module):
    def __init__(self, length=4):
        super().__init__()
        self.register_buffer("table", torch.zeros(length, 2))  # here
    def forward(self, x):
        return x + self.table[: x.size(1)]
Positions()(torch.ones(2, 6, 2))
""",
    "a table that is too short",
)
case(
    "exploded",
    "w.grad",
    """
w, x = torch.full((4,), 7.0, requires_grad=True), torch.ones(4)
for _ in range(3):
    x = x * torch.exp(w + 1)  # here
x.pow(2).mean().backward()
""",
    "values that had grown where exp was taken",
)
case(
    "graph-break",
    "step --question compiled",
    """
w = torch.ones(3, requires_grad=True)
@torch.compile
def step(x):
    y = (w * x).sum()
    print(y.item())  # here
    return y * 2
for _ in range(2):
    step(torch.ones(3))
""",
    "a printed value",
)
case(
    "shape-error",
    None,
    """
class Up(nn.Module):
    def __init__(self, below, beside, out):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(below + beside, out, 3, padding=1), nn.ReLU())
    def forward(self, x, skip):
        return self.conv(torch.cat([x, skip], 1))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.before = nn.Conv2d(1, 4, 1)
        self.up = Up(4, 4, 2)  # here
    def forward(self, x):
        h = self.before(x)
        return self.up(h, h[:, :2])
Net()(torch.ones(1, 1, 8, 8))
""",
    "a block that was told other sizes",
)
case(
    "graph-freed",
    None,
    """
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 4)
        self.h = torch.zeros(1, 4)
    def reset(self):
        self.h = torch.zeros_like(self.h)
    def forward(self, x):
        self.h = self.cell(x, self.h)  # here
        return self.h.sum()
memory = Memory()
memory.reset()
for _ in range(2):
    memory(torch.ones(1, 3)).backward()
""",
    "a state that is also reset",
)
case(
    "not-requires-grad",
    None,
    """
net = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))
def points(n):
    return torch.rand(n, 1)  # here
t = points(8)
du = torch.autograd.grad(net(t).sum(), t, create_graph=True)[0]
""",
    "what autograd.grad asks for",
)


# ---- what a container holds, and who put it there ------------------------------------------------
case(
    "memory",
    "replay --question memory",
    """
from collections import deque
class Replay:
    def __init__(self):
        self.frames = deque(maxlen=50)
    def push(self, frame):
        self.frames.append(frame)
replay = Replay()
for _ in range(5):
    batch = torch.randn(64, 16)
    replay.push(batch[0])  # here
""",
    "views-of-an-object",
)
case(
    "memory",
    "firsts --question memory",
    """
firsts = []
for _ in range(5):
    batch = torch.randn(64, 16)
    firsts.append(batch.narrow(0, 0, 1))  # here
""",
    "views-in-a-list",
)
case(
    "memory",
    "masks --question memory",
    """
class Masks(dict):
    def __missing__(self, n):
        self[n] = torch.ones(n, n).triu()  # here
        return self[n]
masks = Masks()
for n in range(10, 20):
    masks[n].sum()
""",
    "class-of-dict",
)
case(
    "graph-kept",
    "pending[0].__defaults__[0] --question alive",
    """
w = torch.ones(3, requires_grad=True)
pending = []
def later(f):
    pending.append(f)
for _ in range(3):
    loss = (w * 2).sum()
    later(lambda loss=loss: loss.item())  # here
held = [f.__defaults__[0] for f in pending]
""",
    "default-of-a-lambda",
)
case(
    "graph-kept",
    "meter.value --question alive",
    """
class Meter:
    value = None
    def update(self, x):
        if self.value is None:
            self.value = x
        else:
            self.value = 0.9 * self.value + 0.1 * x  # here
w = torch.ones(3, requires_grad=True)
meter = Meter()
for _ in range(3):
    meter.update((w * 2).sum())
""",
    "moving-average",
)
case(
    "through-number",
    "total --question depends",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Linear(4, 1)
total = 0.0
for _ in range(3):
    loss = F.mse_loss(model(x), y)
    loss.backward()
    total += loss.item()  # here
""",
    name="a number that was added up",
)
case(
    "through-numpy",
    "feat --question depends",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

enc = nn.Linear(4, 2)
feat = enc(x).detach().numpy()  # here
feat = feat - feat.mean(0)
""",
    name="an array",
)
case(
    "through-numpy",
    "feat --question depends",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

enc = nn.Linear(4, 2)
h = enc(x).detach().numpy()  # here
feat = torch.from_numpy((h - h.mean(0)) / h.std(0))
""",
    name="an array that came back",
)
case(
    "depends",
    "n_tokens --question depends",
    """
tokens = torch.tensor([[1, 2, 0], [3, 0, 0]])
mask = tokens != 0
n_tokens = mask.sum()  # here
""",
    name="counted tokens",
)
case(
    "through-number",
    "model.weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Linear(4, 1)
def l2(m):
    return sum(p.pow(2).sum().item() for p in m.parameters())  # here
pred = model(x)
loss = F.mse_loss(pred, y) + 0.01 * l2(model)
loss.backward()
""",
    name="a term of the loss",
)
case(
    "through-numpy",
    "model.weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Linear(4, 1)
out = model(x)
smooth = np.abs(np.diff(out.detach().numpy(), axis=0)).mean()  # here
loss = F.mse_loss(out, y) + 0.5 * float(smooth)
loss.backward()
""",
    name="a term of the loss",
)
case(
    "through-number",
    "enc.weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

enc, dec = nn.Linear(4, 2), nn.Linear(2, 4)
z = enc(x)
kl = torch.tensor(0.5 * (z ** 2).mean().item())  # here
loss = F.mse_loss(dec(z), x) + kl
loss.backward()
""",
    name="a term made a tensor",
)
case(
    "none",
    "model.weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Linear(4, 1)
run = 0.0
for _ in range(3):
    model.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    run += loss.item()
    loss = run / 3
""",
    name="a mean of losses",
)
case(
    "at-minimum",
    "q.weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

q = nn.Linear(4, 1)
target = q  # here
loss = (q(x) - target(x).detach()).pow(2).mean()
loss.backward()
""",
    name="a second name",
)
case(
    "at-minimum",
    "agent.online.weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

class Agent:
    def __init__(self):
        self.online = nn.Linear(4, 1)
        self.teacher = self.online  # here
    def loss(self, x):
        with torch.no_grad():
            t = self.teacher(x)
        return F.mse_loss(self.online(x), t)
agent = Agent()
agent.loss(x).backward()
""",
    name="a second name in a class",
)
case(
    "at-minimum",
    "net.weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

def train():
    net = nn.Linear(4, 1)
    ema = net  # here
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        with torch.no_grad():
            soft = ema(x)
        loss = F.mse_loss(net(x), soft)
        loss.backward()
        opt.step()
    return net
net = train()
""",
    name="a second name in a function",
)
case(
    "not-requires-grad",
    "student.weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

student = nn.Linear(4, 4)
teacher = student  # here
for p in teacher.parameters():
    p.requires_grad = False
head = nn.Linear(4, 1)
loss = F.mse_loss(head(student(x)), y)
loss.backward()
""",
    name="a second name that says copy",
)
case(
    "not-requires-grad",
    "encoder.weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

class Model(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(4, 1)
    def forward(self, x):
        return self.head(self.encoder(x))
encoder = nn.Linear(4, 4)
model = Model(encoder)
backbone = model.encoder
for p in backbone.parameters():
    p.requires_grad = False  # here
F.mse_loss(model(x), y).backward()
""",
    name="a second name for a part",
)
case(
    "not-ancestor",
    "opt.param_groups[0]['params'][2].grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)
    @property
    def scale(self):
        return nn.Parameter(torch.ones(1))  # here
    def forward(self, x):
        return self.fc(x) * self.scale
m = Scaled()
opt = torch.optim.SGD([*m.parameters(), m.scale], lr=0.1)
for _ in range(3):
    opt.zero_grad()
    F.mse_loss(m(x), y).backward()
    opt.step()
""",
    name="a property that makes a parameter",
)
case(
    "not-ancestor",
    "opt.param_groups[0]['params'][2].grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
    def head(self):
        return nn.Linear(4, 1)  # here
    def forward(self, x):
        return self.head()(torch.relu(self.body(x)))
net = Net()
opt = torch.optim.Adam([*net.body.parameters(), *net.head().parameters()])
for _ in range(2):
    opt.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    opt.step()
""",
    name="a method that makes a layer",
)
case(
    "not-ancestor",
    "opt.param_groups[0]['params'][0].grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Linear(4, 1)
opt = torch.optim.SGD([p.clone().detach().requires_grad_() for p in model.parameters()], lr=0.1)  # here
for _ in range(3):
    opt.zero_grad()
    F.mse_loss(model(x), y).backward()
    opt.step()
""",
    name="copies for an optimizer",
)
case(
    "hook",
    "model[0].weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

def keep_rows(g):
    mask = torch.zeros_like(g)
    return g * mask  # here
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
model[0].weight.register_hook(keep_rows)
F.mse_loss(model(x), y).backward()
""",
    name="of a leaf",
)
case(
    "hook",
    "model[0].weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

def stop(g):
    return torch.zeros_like(g)  # here
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
h = model[0](x)
h.register_hook(stop)
F.mse_loss(model[2](model[1](h)), y).backward()
""",
    name="of a value",
)
case(
    "hook",
    "model[0].weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
def gate(module, grad_in, grad_out):
    return tuple(None if g is None else g * 0.0 for g in grad_in)  # here
model[2].register_full_backward_hook(gate)
F.mse_loss(model(x), y).backward()
""",
    name="of a module",
)
case(
    "hook",
    "model[0].weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
def pre(module, grad_out):
    return (torch.zeros_like(grad_out[0]),)  # here
model[0].register_full_backward_pre_hook(pre)
F.mse_loss(model(x), y).backward()
""",
    name="before a module",
)
case(
    "hook",
    "model[0].weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
def after(p):
    p.grad.mul_(0)  # here
model[0].weight.register_post_accumulate_grad_hook(after)
F.mse_loss(model(x), y).backward()
""",
    name="after accumulation",
)
case(
    "set-to-none",
    "model[0].weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
def fused(p):
    p.data.add_(p.grad, alpha=-0.1)
    p.grad = None  # here
for p in model.parameters():
    p.register_post_accumulate_grad_hook(fused)
F.mse_loss(model(x), y).backward()
""",
    name="by a hook",
)
case(
    "detached",
    "model[0].weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
def record(module, inputs, output):
    return output.detach()  # here
model[1].register_forward_hook(record)
F.mse_loss(model(x), y).backward()
""",
    name="by a forward hook",
)
case(
    "no-create-graph",
    None,
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
xi = x.clone().requires_grad_(True)
g = torch.autograd.grad(critic(xi).sum(), xi)[0]  # here
gp = ((g.norm(2, dim=1) - 1) ** 2).mean()
gp.backward()
""",
    name="a penalty alone",
)
case(
    "no-create-graph",
    "critic[0].weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
def penalty(real):
    xi = real.clone().requires_grad_(True)
    g = torch.autograd.grad(outputs=critic(xi).sum(), inputs=xi)[0]  # here
    return ((g.norm(2, dim=1) - 1) ** 2).mean()
other = nn.Linear(4, 1)
loss = other(x).mean() + 10 * penalty(x)
loss.backward()
""",
    name="a penalty in a sum",
)
case(
    "no-create-graph",
    "gp --question depends",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
xi = x.clone().requires_grad_(True)
(g,) = torch.autograd.grad(critic(xi).sum(), xi)  # here
gp = ((g.norm(2, dim=1) - 1) ** 2).mean()
loss = critic(x).mean() + 10 * gp
loss.backward()
""",
    name="what a penalty is made of",
)
case(
    "exploded",
    "w.grad",
    """
w = torch.full((3,), 1e-7, requires_grad=True)
loss = -torch.log(w).mean()  # here
loss.backward()
""",
    name="logarithm near zero",
)
case(
    "exploded",
    "model[0].weight.grad",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
def relative(pred, target):
    return ((pred - target) / (target.abs() + 1e-9)).pow(2).mean()  # here
y[3] = 0
loss = relative(model(x), y)
loss.backward()
""",
    name="divisor near zero",
)
case(
    "exploded",
    "model.weight.grad",
    """
model = nn.Linear(16, 4)
x, y = torch.randn(8192, 16), torch.randn(8192, 4) + 30
loss = F.mse_loss(model(x), y, reduction="sum")  # here
loss.backward()
""",
    name="a sum of many",
)
case(
    "none",
    "model.weight.grad",
    """
model = nn.Linear(16, 4)
x, y = torch.randn(64, 16), torch.randn(64, 4)
loss = (model(x) - y).pow(2).sum()
loss.backward()
""",
    name="a sum of few",
)
case(
    "graph-freed",
    None,
    """
import functools
x, y = torch.randn(32, 4), torch.randn(32, 1)

emb = nn.Embedding(5, 4)
head = nn.Linear(4, 1)
opt = torch.optim.SGD([*emb.parameters(), *head.parameters()], lr=0.1)
@functools.lru_cache(maxsize=None)  # here
def context(k):
    return emb(torch.tensor([k])).tanh()
for step in range(3):
    opt.zero_grad()
    loss = head(context(1)).pow(2).mean()
    loss.backward()
    opt.step()
""",
    name="lru_cache",
)
case(
    "graph-freed",
    None,
    """
import functools
x, y = torch.randn(32, 4), torch.randn(32, 1)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(4, 1))
    @functools.cached_property  # here
    def weight(self):
        return torch.softmax(self.a, 0)
    def forward(self, x):
        return x @ self.weight
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    name="cached_property",
)
case(
    "graph-freed",
    None,
    """
import functools
x, y = torch.randn(32, 4), torch.randn(32, 1)

class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    def forward(self, x):
        return torch.relu(self.fc(x))
enc, head = Enc(), nn.Linear(4, 1)
@functools.lru_cache(maxsize=8)  # here
def encoded(k):
    return {"h": enc(x[k:k + 8])}
params = [*enc.parameters(), *head.parameters()]
opt = torch.optim.SGD(params, lr=0.1)
for epoch in range(2):
    for k in (0, 8):
        opt.zero_grad()
        loss = F.mse_loss(head(encoded(k)["h"]), y[k:k + 8])
        loss.backward()
        opt.step()
""",
    name="lru_cache of a module",
)
case(
    "graph-freed",
    None,
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

def memoize(fn):
    known = {}
    def call(k):
        if k not in known:
            known[k] = fn(k)
        return known[k]
    return call
w = nn.Parameter(torch.randn(4, 1))
@memoize  # here
def basis(k):
    return (w ** k).softmax(0)
opt = torch.optim.SGD([w], lr=0.1)
for epoch in range(2):
    opt.zero_grad()
    loss = F.mse_loss(x @ basis(2), y)
    loss.backward()
    opt.step()
""",
    name="a decorator of one\\'s own",
)
case(
    "memory",
    "errors --question memory",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Linear(4, 1)
errors = []
def run(x):
    loss = F.mse_loss(model(x), y)
    if loss.item() < 100:
        raise ValueError("bad batch")
    loss.backward()
for k in range(3):
    try:
        run(x)
    except ValueError as e:
        errors.append(e)  # here
""",
    name="tracebacks in a list",
)
case(
    "memory",
    "trainer --question memory",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

class Trainer:
    def __init__(self):
        self.model = nn.Linear(4, 1)
        self.failures = []
    def step(self, x):
        loss = F.mse_loss(self.model(x), y)
        if loss.item() < 100:
            raise RuntimeError("bad batch")
    def fit(self):
        for k in range(3):
            try:
                self.step(x)
            except RuntimeError as error:
                self.failures.append((k, error))  # here
trainer = Trainer()
trainer.fit()
""",
    name="tracebacks in an object",
)
case(
    "graph-kept",
    "model --question alive",
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Linear(4, 1)
errors = []
def step(x):
    out = model(x)
    if out.mean() > -1e9:
        raise ValueError("bad batch")
for k in range(3):
    try:
        step(x)
    except ValueError as e:
        errors.append(e)  # here
""",
    name="a traceback",
)
case(
    "no-grad-block",
    None,
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Linear(4, 1)
def evaluate():
    torch.set_grad_enabled(False)  # here
    if x.shape[0] == 32:
        raise ValueError("no validation data")
    torch.set_grad_enabled(True)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
try:
    evaluate()
except ValueError:
    print("skip")
loss = F.mse_loss(model(x), y)
loss.backward()
""",
    name="left by an error",
)
case(
    "no-grad-block",
    None,
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

import contextlib
model = nn.Linear(4, 1)
@contextlib.contextmanager
def evaluating(m):
    m.eval()
    torch.set_grad_enabled(False)  # here
    yield m
    torch.set_grad_enabled(True)
    m.train()
try:
    with evaluating(model) as m:
        raise ValueError("no validation data")
except ValueError:
    pass
loss = F.mse_loss(model(x), y)
loss.backward()
""",
    name="left by an error in a context manager",
)
case(
    "no-grad-block",
    None,
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Linear(4, 1)
torch.set_grad_enabled(False)  # here
before = F.mse_loss(model(x), y)
loss = F.mse_loss(model(x), y)
loss.backward()
""",
    name="switched off at the top",
)
case(
    "no-grad-block",
    None,
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Linear(4, 1)
guard = torch.no_grad()
guard.__enter__()  # here
val = model(x).mean().item()
loss = F.mse_loss(model(x), y)
loss.backward()
""",
    name="entered by a call",
)
case(
    "no-grad-block",
    None,
    """
x, y = torch.randn(32, 4), torch.randn(32, 1)

model = nn.Linear(4, 1)
def batches():
    with torch.no_grad():  # here
        for k in range(4):
            yield x[k:k + 4], y[k:k + 4]
def features(loader):
    for a, b in loader:
        yield a, b
for a, b in features(batches()):
    loss = F.mse_loss(model(a), b)
    loss.backward()
""",
    name="a generator that yields inside",
)
case(
    "graph-kept",
    "total --question alive",
    """
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
total = 0
for i in range(10):
    x = torch.randn(16, 4)
    loss = net(x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    total = total + loss  # here
print(total / 10)
""",
    name="a sum that grows",
)
case(
    "through-number",
    None,
    """
policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(policy.parameters())
log_probs, rewards = [], []
for t in range(5):
    dist = torch.distributions.Categorical(logits=policy(torch.randn(3)))
    a = dist.sample()
    log_probs.append(dist.log_prob(a).item())  # here
    rewards.append(float(a))
returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
loss = -(torch.tensor(log_probs) * returns).sum()
loss.backward()
""",
    name="log probabilities in a list",
)
case(
    "not-in-optimizer",
    "",
    """
class Experts(nn.Module):
    def __init__(self, n=3):
        super().__init__()
        self.gate = nn.Linear(4, n)
        self.experts = [nn.Linear(4, 4) for _ in range(n)]  # here
    def forward(self, x):
        w = torch.softmax(self.gate(x), -1)
        return sum(w[:, i:i + 1] * e(x) for i, e in enumerate(self.experts))
net = Experts()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(8, 4)
for _ in range(3):
    opt.zero_grad()
    F.mse_loss(net(x), x).backward()
    opt.step()
""",
    name="layers in a plain list",
)
case(
    "graph-freed",
    None,
    """
G, D = nn.Linear(2, 4), nn.Linear(4, 1)
og, od = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
for _ in range(2):
    fake = G(torch.randn(8, 2))
    d_loss = F.softplus(D(fake)).mean() + F.softplus(-D(torch.randn(8, 4))).mean()  # here
    od.zero_grad(); d_loss.backward(); od.step()
    g_loss = F.softplus(-D(fake)).mean()
    og.zero_grad(); g_loss.backward(); og.step()
""",
    name="several statements in a line",
)
case(
    "shape-error",
    None,
    """
class Tagger(nn.Module):
    def __init__(self, vocab, dim, hidden):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(hidden, hidden, batch_first=True)  # here
        self.out = nn.Linear(hidden, 5)
    def forward(self, t):
        h, _ = self.lstm(self.emb(t))
        return self.out(h)
model = Tagger(50, 16, 32)
model(torch.randint(0, 50, (2, 7)))
""",
    name="a recurrent layer in a module",
)

case(
    "at-minimum",
    "student.weight.grad",
    """
student = nn.Linear(6, 4)
class Distiller:
    def __init__(self, net):
        self.net = net
        self.reference = net  # here
    def loss(self, x):
        with torch.no_grad():
            target = self.reference(x).softmax(-1)
        return F.kl_div(self.net(x).log_softmax(-1), target, reduction="batchmean")
d = Distiller(student)
for _ in range(2):
    student.zero_grad()
    d.loss(torch.randn(10, 6)).backward()
""",
    name="a second name and a divergence",
)
case(
    "hook",
    "net[0].weight.grad",
    """
net = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 1))
class Clipper:
    def __init__(self, limit):
        self.limit = limit
    def __call__(self, grad):
        scale = self.limit / (grad.norm() + 1e-6)
        return grad * min(0, scale)  # here
for p in net.parameters():
    p.register_hook(Clipper(1.0))
F.mse_loss(net(torch.randn(8, 5)), torch.randn(8, 1)).backward()
""",
    name="an object as hook",
)
case(
    "no-grad-block",
    None,
    """
net = nn.Linear(3, 1)
training = False
torch.set_grad_enabled(training)  # here
pred = net(torch.randn(4, 3))
training = True
loss = pred.pow(2).mean()
loss.backward()
""",
    name="switched off by a variable",
)
case(
    "exploded",
    "fc.weight.grad",
    """
fc = nn.Linear(3, 1)
counts = torch.randint(0, 5, (40, 1)).float()
income = torch.rand(40, 3) * 40
with torch.no_grad():
    fc.weight.fill_(0.4)
rate = torch.exp(fc(income))  # here
nll = (rate - counts * fc(income)).mean()
nll.backward()
""",
    name="exponential",
)
case(
    "none",
    "policy.weight.grad",
    """
policy = nn.Linear(3, 4)
s = torch.randn(8, 3)
dist = torch.distributions.Categorical(logits=policy(s))
a = dist.sample()
loss = -(dist.log_prob(a) * torch.randn(8)).mean()
loss.backward()
""",
    name="a drawn action",
)
case(
    "no-grad-block",
    "model.enc[0].weight.grad",
    """
X = torch.randn(256, 8)
W = torch.randn(8, 3)
Y = (X @ W).argmax(1)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(8, 32), nn.Tanh())
        self.head = nn.Linear(32, 3)
    @torch.no_grad()  # here
    def encode(self, x):
        return self.enc(x)
    def forward(self, x):
        return self.head(self.encode(x))
model = Model()
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
for epoch in range(3):
    for i in range(0, 256, 32):
        loss = F.cross_entropy(model(X[i:i + 32]), Y[i:i + 32])
        opt.zero_grad(); loss.backward(); opt.step()
""",
    name="a decorated part of a trained model",
)
case(
    "nan-backward",
    "net.emb.weight.grad",
    """
X = torch.randn(128, 6)
X[:, 4] = 0.0
Y = X[:, :1] * 2
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Linear(6, 6, bias=False)
        with torch.no_grad():
            self.emb.weight.copy_(torch.eye(6))
        self.out = nn.Linear(6, 1)
    def forward(self, x):
        h = self.emb(x)
        h = h - h.mean(0)
        h = h / (h.pow(2).mean(0).sqrt() + 1e-6)  # here
        return self.out(h)
net = Scale()
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
for i in range(0, 128, 32):
    loss = F.mse_loss(net(X[i:i + 32]), Y[i:i + 32])
    opt.zero_grad(); loss.backward(); opt.step()
    if not torch.isfinite(net.emb.weight).all():
        break
""",
    name="a column of zeros is scaled",
)
case(
    "detached",
    "net[0].weight.grad",
    """
X = torch.randn(256, 8)
T = X[:, :2].sum(1, keepdim=True) + 0.05 * torch.randn(256, 1)

from torch.func import functional_call
net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
meta = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(20):
    xs, ts = X[:128], T[:128]
    weights = {k: v.detach().requires_grad_() for k, v in net.named_parameters()}  # here
    inner = F.mse_loss(functional_call(net, weights, (xs,)), ts)
    grads = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
    fast = {k: w - 0.1 * g for (k, w), g in zip(weights.items(), grads)}
    outer = F.mse_loss(functional_call(net, fast, (X[128:],)), T[128:])
    meta.zero_grad(); outer.backward(); meta.step()
""",
    name="weights of an inner loop",
)
case(
    "through-number",
    "net.log_t.grad",
    """
class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(6, 16)
        self.log_t = nn.Parameter(torch.tensor(2.0))
    def forward(self, x, y):
        x, y = F.normalize(self.a(x), dim=1), F.normalize(self.b(y), dim=1)
        return x @ y.T * math.exp(self.log_t)  # here
net = Clip()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
g = torch.Generator().manual_seed(0)
for it in range(30):
    z = torch.randn(24, 6, generator=g)
    x = torch.cat([z, torch.randn(24, 2, generator=g)], 1)
    logits = net(x, z)
    labels = torch.arange(24)
    loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2
    opt.zero_grad(); loss.backward(); opt.step()
""",
    name="math.exp of a temperature",
)
case(
    "through-number",
    "net[0].weight.grad",
    """
X = torch.randn(256, 8)
T = X[:, :2].sum(1, keepdim=True) + 0.05 * torch.randn(256, 1)

net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
bias = nn.Parameter(torch.zeros(1))
opt = torch.optim.SGD([*net.parameters(), bias], lr=0.05)
for epoch in range(4):
    for i in range(0, 256, 32):
        out = net(X[i:i + 32]) + bias
        parts = {"fit": F.mse_loss(out, T[i:i + 32]), "size": sum(p.pow(2).sum() for p in net.parameters())}
        parts = {k: round(float(v), 4) for k, v in parts.items()}  # here
        loss = parts["fit"] + 1e-3 * parts["size"] + 0.0 * bias.sum()
        opt.zero_grad(); loss.backward(); opt.step()
""",
    name="terms rounded for the log",
)
case(
    "not-requires-grad",
    "net.head.weight.grad",
    """
X = torch.randn(256, 8)
W = torch.randn(8, 3)
Y = (X @ W).argmax(1)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(8, 32)
        self.neck = nn.Linear(32, 32)
        self.head = nn.Linear(32, 3)
    def forward(self, x):
        return self.head(torch.relu(self.neck(torch.relu(self.backbone(x)))))
net = Net()
for name, p in net.named_parameters():
    if "backbone" or "stem" in name:
        p.requires_grad = False  # here
scale = nn.Parameter(torch.ones(1))
opt = torch.optim.Adam([*net.parameters(), scale], lr=1e-2)
for epoch in range(4):
    for i in range(0, 256, 32):
        loss = F.cross_entropy(net(X[i:i + 32]) * scale, Y[i:i + 32])
        opt.zero_grad(); loss.backward(); opt.step()
""",
    name="a condition that is always true",
)
case(
    "detached",
    "G[0].weight.grad",
    """
G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
og, od = torch.optim.Adam(G.parameters(), lr=2e-4), torch.optim.Adam(D.parameters(), lr=2e-4)
bce = nn.BCEWithLogitsLoss()
for it in range(30):
    real = torch.randn(32, 2) + 2
    fake = G(torch.randn(32, 8)).detach()  # here
    d = bce(D(real), torch.ones(32, 1)) + bce(D(fake), torch.zeros(32, 1))
    od.zero_grad(); d.backward(); od.step()
    g = bce(D(fake), torch.ones(32, 1))
    og.zero_grad(); g.backward(); og.step()
""",
    name="one sample for both networks",
)
case(
    "through-number",
    "pi[0].weight.grad",
    """
pi = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
opt = torch.optim.Adam(pi.parameters(), lr=1e-2)
rng = np.random.default_rng(0)
baseline = nn.Parameter(torch.zeros(1))
opt.add_param_group({"params": [baseline]})
for episode in range(20):
    logps, rewards = [], []
    s = torch.randn(4)
    for t in range(10):
        p = pi(s).softmax(-1)
        a = rng.choice(3, p=p.detach().numpy().astype("float64") / p.detach().numpy().astype("float64").sum())
        logps.append(math.log(p[a].item()))  # here
        rewards.append(float(s[a]))
        s = torch.randn(4)
    G = torch.tensor(np.cumsum(rewards[::-1])[::-1].copy(), dtype=torch.float32)
    adv = G - baseline
    loss = -(torch.tensor(logps) * adv.detach()).mean() + adv.pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    name="logarithms of numbers",
)
case(
    "overwritten",
    None,
    """
series = torch.sin(torch.arange(0, 400) * 0.1)
lstm, head = nn.LSTM(1, 16, batch_first=True), nn.Linear(16, 1)
opt = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=1e-2)
state = None
for i in range(0, 380, 10):
    x, y = series[i:i + 10].reshape(1, 10, 1), series[i + 1:i + 11].reshape(1, 10, 1)
    out, state = lstm(x, state)
    loss = F.mse_loss(head(out), y)
    opt.zero_grad(); loss.backward(retain_graph=True); opt.step()
    state = (state[0].detach(), state[1])  # here
""",
    name="one of two states is detached after the step",
)
case(
    "rate-zero",
    "",
    """
X = torch.randn(256, 8)
W = torch.randn(8, 3)
Y = (X @ W).argmax(1)

net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
warm = 16
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(s // warm, 1))  # here
for epoch in range(2):
    for i in range(0, 256, 32):
        loss = F.cross_entropy(net(X[i:i + 32]), Y[i:i + 32])
        opt.zero_grad(); loss.backward(); opt.step(); sched.step()
""",
    name="whole numbers of a warmup",
)
case(
    "overwritten",
    None,
    """
wx, wh, head = nn.Linear(4, 16), nn.Linear(16, 16, bias=False), nn.Linear(16, 1)
opt = torch.optim.Adam([*wx.parameters(), *wh.parameters(), *head.parameters()], lr=1e-2)
x = torch.randn(64, 10, 4)
y = x.sum((1, 2))[:, None]
for epoch in range(3):
    h = torch.zeros(64, 16)
    for t in range(10):
        h = torch.tanh(wx(x[:, t]) + wh(h))
        h.mul_(0.9)  # here
    loss = F.mse_loss(head(h), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    name="a state decays in place",
)
case(
    "non-leaf",
    "net.alpha.grad",
    """
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.alpha = nn.Parameter(torch.zeros(8, dtype=torch.float64)).float()  # here
    def forward(self, x):
        return x + torch.tanh(self.alpha) * self.fc(x)
X = torch.randn(256, 8)
Y = X * 1.5 + 0.1
net = Gate()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for i in range(0, 256, 32):
        loss = F.mse_loss(net(X[i:i + 32]), Y[i:i + 32])
        opt.zero_grad(); loss.backward(retain_graph=True); opt.step()
""",
    name="a cast in the constructor",
)
