"""MLP with functional dropout in a shared helper."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def dense(x, layer, p=0.3, training=True):
    return F.dropout(F.relu(layer(x)), p, training=training)


class Net(nn.Module):
    def __init__(self, d, classes):
        super().__init__()
        self.a = nn.Linear(d, 64)
        self.b = nn.Linear(64, 64)
        self.out = nn.Linear(64, classes)

    def forward(self, x):
        x = dense(x, self.a, training=self.training)
        x = dense(x, self.b, training=self.training)
        return self.out(x)


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    logits = model(x)
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


torch.manual_seed(4)
centers = torch.randn(6, 12)
y = torch.randint(0, 6, (1000,))
x = centers[y] + 0.8 * torch.randn(1000, 12)
xtr, ytr, xva, yva = x[:800], y[:800], x[800:], y[800:]
model = Net(12, 6)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    model.train()
    for idx in torch.randperm(800).split(40):
        opt.zero_grad()
        F.cross_entropy(model(xtr[idx]), ytr[idx]).backward()
        opt.step()
    print(epoch, *evaluate(model, xva, yva))
