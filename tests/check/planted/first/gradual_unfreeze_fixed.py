"""Transfer learning in two phases: train the head first, then the whole network."""
import torch
from torch import nn

CFG = {"phase1": 3, "phase2": 6, "lr_head": 5e-3, "lr_body": 2e-3, "batch": 40}


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 8, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(8, 16, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten())

    def forward(self, x):
        return self.conv(x)


def waves(n):
    """three kinds of waves with random phase"""
    kind = torch.randint(0, 3, (n,))
    t = torch.linspace(0, 1, 64)
    freq = torch.tensor([2.0, 4.0, 7.0])[kind]
    x = torch.sin(6.283 * (freq[:, None] * t + torch.rand(n, 1))) + 0.3 * torch.randn(n, 64)
    return x.unsqueeze(1), kind


def set_trainable(module, flag):
    module.requires_grad_(flag)


def fit(model, opt, x, y, epochs):
    for _ in range(epochs):
        for idx in torch.randperm(len(x)).split(CFG["batch"]):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            opt.step()
    return loss.item()


torch.manual_seed(2)
model = nn.Sequential(Body(), nn.Linear(16, 3))
body, head = model
xtr, ytr = waves(600)
xva, yva = waves(300)
for p in body.parameters():
    p.requires_grad = False
opt = torch.optim.Adam(head.parameters(), lr=CFG["lr_head"])
print("phase 1 loss", fit(model, opt, xtr, ytr, CFG["phase1"]))
set_trainable(body, True)
opt = torch.optim.Adam([
    {"params": body.parameters(), "lr": CFG["lr_body"]},
    {"params": head.parameters(), "lr": CFG["lr_head"]},
])
print("phase 2 loss", fit(model, opt, xtr, ytr, CFG["phase2"]))
with torch.no_grad():
    print("val acc", (model(xva).argmax(1) == yva).float().mean().item())
