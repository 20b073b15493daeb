"""Multi-label tagging with positive class weights."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Tagger(nn.Module):
    def __init__(self, d_in, n_tags, width=48):
        super().__init__()
        self.h = nn.Linear(d_in, width)
        self.o = nn.Linear(width, n_tags)

    def forward(self, x):
        logits = self.o(F.gelu(self.h(x)))
        return logits


def batch(n, w):
    x = torch.randn(n, 10)
    return x, (x @ w > 1.0).float()


def step_fn(model, opt, pos_weight, x, y):
    opt.zero_grad()
    loss = F.binary_cross_entropy_with_logits(model(x), y, pos_weight=pos_weight)
    loss.backward()
    opt.step()
    return loss.item()


torch.manual_seed(3)
w = torch.randn(10, 7)
w = w / w.norm(dim=0)
model = Tagger(10, 7)
opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
pw = torch.full((7,), 3.0)
hist = [step_fn(model, opt, pw, *batch(64, w)) for _ in range(250)]
with torch.no_grad():
    x, y = batch(500, w)
    acc = ((model(x) > 0) == (y > 0.5)).float().mean()
print(f"loss {sum(hist[-20:]) / 20:.3f} tag accuracy {acc:.3f}")
