"""Prototype classifier: class means are accumulated over an epoch under autocast."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 6))

    def forward(self, x):
        return self.net(x)


def class_means(model, x, y, n_cls, bs=16):
    sums, counts = None, torch.zeros(n_cls)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for xb, yb in zip(x.split(bs), y.split(bs)):
            z = model(xb)
            if sums is None:
                sums = torch.zeros(n_cls, z.shape[1], dtype=z.dtype)  # BUG device-dtype-mixed
            sums.index_add_(0, yb, z)  # BUG device-dtype-mixed
            counts += torch.bincount(yb, minlength=n_cls)
    return sums.float() / counts[:, None]


torch.manual_seed(0)
centers = torch.randn(4, 8)
y = torch.randint(0, 4, (3200,))
x = centers[y] + torch.randn(3200, 8)
model = Embed()
head = nn.Linear(6, 4)
opt = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=5e-3)
for step in range(120):
    idx = torch.randint(0, 2400, (64,))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = head(model(x[idx]))
    loss = F.cross_entropy(out.float(), y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
means = class_means(model, x[:2400], y[:2400], 4)
with torch.no_grad():
    exact = torch.stack([model(x[:2400][y[:2400] == k]).mean(0) for k in range(4)])
    acc = (torch.cdist(model(x[2400:]), means).argmin(1) == y[2400:]).float().mean()
print("error of the means", (means - exact).abs().max().item(), "acc", acc.item())
