# One network makes the weights of another
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(108)
task = torch.randn(64, 3)
target = nn.Linear(4, 1)
names = {name: p.shape for name, p in target.named_parameters()}
size = sum(s.numel() for s in names.values())
hyper = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, size))
optimizer = torch.optim.Adam(hyper.parameters(), lr=3e-3)
for step in range(40):
    t = task[torch.randint(0, 64, ())]
    flat = hyper(t)
    weights, at = {}, 0
    for name, shape in names.items():
        weights[name] = flat[at:at + shape.numel()].view(shape)
        at += shape.numel()
    x = torch.randn(16, 4)
    y = (x[:, :3] * t).sum(1, keepdim=True)
    loss = nn.functional.mse_loss(functional_call(target, weights, (x,)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
