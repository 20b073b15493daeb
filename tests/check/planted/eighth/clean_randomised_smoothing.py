# Randomised smoothing: noise is added at test time on purpose, votes are counted
import torch
from torch import nn

torch.manual_seed(9)
x = torch.randn(300, 8)
y = (x[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(4):
    for rows in torch.randperm(240).split(40):
        noisy = x[rows] + 0.25 * torch.randn(len(rows), 8)
        opt.zero_grad()
        nn.functional.cross_entropy(net(noisy), y[rows]).backward()
        opt.step()
net.eval()
votes = torch.zeros(60, 2)
with torch.no_grad():
    for _ in range(20):
        choice = net(x[240:] + 0.25 * torch.randn(60, 8)).argmax(1)
        votes[torch.arange(60), choice] += 1
print((votes.argmax(1) == y[240:]).float().mean().item())
