import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


def grade(score, levels):
    return (score.long() * levels).clamp(max=levels - 1)  # <- finding


x = torch.rand(128, 5)
score = x.mean(1)
y = grade((score - score.min()) / (score.max() - score.min()), 4)
model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 4))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(4):
    for idx in torch.randperm(128).split(32):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
