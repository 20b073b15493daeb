import torch
from torch import nn


def count(params):
    return sum(p.numel() for p in params)


torch.manual_seed(11)
trunk = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
head = nn.Linear(32, 3)
trunk_params = trunk.parameters()  # BUG param-not-in-optimizer
head_params = head.parameters()  # BUG param-not-in-optimizer
print("trunk", count(trunk_params), "parameters; head", count(head_params))
opt = torch.optim.SGD([
    {"params": trunk_params, "lr": 0.05},
    {"params": head_params, "lr": 0.2},
], lr=0.1, momentum=0.9)

x = torch.randn(600, 10)
y = (x @ torch.randn(10, 3)).argmax(1)
for epoch in range(10):
    for b in torch.randperm(600).split(60):
        loss = nn.functional.cross_entropy(head(trunk(x[b])), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 3 == 0:
        print("epoch", epoch, "loss", round(loss.item(), 4))
print("accuracy", (head(trunk(x)).argmax(1) == y).float().mean().item())
