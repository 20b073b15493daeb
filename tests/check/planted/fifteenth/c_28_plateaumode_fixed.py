"""Plateau schedule from a table of presets."""
import torch
from torch import nn
from torch.optim import lr_scheduler

PRESETS = {
    "accuracy": dict(mode="max", factor=0.3, patience=1),
    "loss": dict(mode="min", factor=0.3, patience=1),
}


def make_scheduler(optimizer, monitor):
    return lr_scheduler.ReduceLROnPlateau(optimizer, **PRESETS[monitor])


def validate(model, x, y):
    model.eval()
    with torch.no_grad():
        return nn.functional.cross_entropy(model(x), y).item()


torch.manual_seed(0)
w = torch.randn(12, 4)
x = torch.randn(1000, 12)
y = (x @ w + torch.randn(1000, 4)).argmax(dim=1)
xt, yt, xv, yv = x[:800], y[:800], x[800:], y[800:]
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
scheduler = make_scheduler(opt, "loss")
for epoch in range(10):
    model.train()
    for idx in torch.randperm(800).split(40):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(xt[idx]), yt[idx])
        loss.backward()
        opt.step()
    val = validate(model, xv, yv)
    scheduler.step(val)
    print(f"epoch {epoch} val {val:.4f} lr {opt.param_groups[0]['lr']:.2g}")
