import torch
from torch import nn

# retain_graph is needed: two losses share a trunk and are sent back one after the other
torch.manual_seed(11)
trunk = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
cls, reg = nn.Linear(32, 2), nn.Linear(32, 1)
params = [*trunk.parameters(), *cls.parameters(), *reg.parameters()]
opt = torch.optim.Adam(params, lr=0.01)
x = torch.randn(400, 6)
yc = (x[:, 0] > 0).long()
yr = x[:, 1:2] * 2

history = []
for epoch in range(15):
    for b in torch.randperm(400).split(50):
        h = trunk(x[b])
        opt.zero_grad()
        lc = nn.functional.cross_entropy(cls(h), yc[b])
        lr = nn.functional.mse_loss(reg(h), yr[b])
        lc.backward(retain_graph=True)
        lr.backward()
        opt.step()
    history.append((lc.item(), lr.item()))
for e in range(0, 15, 5):
    print("epoch", e, "losses", history[e])
