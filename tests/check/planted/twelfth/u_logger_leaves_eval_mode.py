"""A graph network; the trainer calls evaluate inside of the step to log a smooth accuracy."""

import torch
from torch import nn


class GCN(nn.Module):
    def __init__(self, d_in, d_hid, d_out, adj):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(d_in, d_hid), nn.Linear(d_hid, d_out)
        self.drop = nn.Dropout(0.5)
        deg = adj.sum(1)
        self.register_buffer("adj", adj / (deg[:, None] * deg[None, :]).sqrt())

    def forward(self, x):
        x = torch.relu(self.adj @ self.lin1(x))
        return self.adj @ self.lin2(self.drop(x))


class Logger:
    def __init__(self, model, every):
        self.model, self.every = model, every

    def __call__(self, step, x, y, mask):
        if step % self.every:
            return
        self.model.eval()  # BUG train-in-eval-mode
        with torch.no_grad():
            acc = (self.model(x).argmax(1) == y)[mask].float().mean()
        print(f"{step}: {acc.item():.2f}")


torch.manual_seed(68)
n = 90
y = torch.arange(3).repeat(n // 3)
adj = ((y[:, None] == y[None, :]) & (torch.rand(n, n) < 0.15)).float()
adj = ((adj + adj.T + torch.eye(n)) > 0).float()
x = torch.eye(3)[y] + torch.randn(n, 3)
train = torch.rand(n) < 0.4
model = GCN(3, 16, 3, adj)
log = Logger(model, 10)
opt = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
model.train()  # BUG train-in-eval-mode
for step in range(40):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(x)[train], y[train])  # BUG train-in-eval-mode
    loss.backward()
    opt.step()
    log(step, x, y, ~train)
