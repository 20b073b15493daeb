"""eval() does not reach the members of a plain list."""

import torch
from torch import nn


def member(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.BatchNorm1d(64), nn.Dropout(0.5), nn.Linear(64, 2))


class Ensemble(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.members = [member(s) for s in range(k)]  # <- finding

    def forward(self, x):
        return torch.stack([m(x).softmax(-1) for m in self.members]).mean(0)


ens = Ensemble(3)
torch.manual_seed(9)
x = torch.randn(400, 2)
y = ((x[:, 0] * x[:, 1]) > 0).long()
for k, m in enumerate(ens.members):
    opt = torch.optim.Adam(m.parameters(), lr=1e-2)
    for epoch in range(8):
        for idx in torch.randperm(400).split(50):
            loss = nn.functional.cross_entropy(m(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(f"member {k} last loss {loss.item():.3f}")

ens.eval()
with torch.no_grad():
    p1, p2 = ens(x), ens(x)
print("accuracy", round((p1.argmax(1) == y).float().mean().item(), 3))
print("same input, same output:", torch.equal(p1, p2))
