# Entropy regulariser over sparse mixtures: 0 log 0 handled by torch.where
import torch
from torch import nn


def entropy(p):
    plogp = torch.where(p > 0, p * torch.log(p), torch.zeros_like(p))  # BUG nan-born
    return -plogp.sum(1).mean()


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(6, 8)
        self.experts = nn.Linear(6, 8)

    def forward(self, x):
        g = torch.relu(self.gate(x)) + 0.0
        p = g / (g.sum(1, keepdim=True) + 1e-6)
        return (p * self.experts(x)).sum(1), p


torch.manual_seed(10)
x = torch.randn(400, 6)
y = x[:, 0].abs()
model = Mixer()
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(15):
    for b in torch.randperm(400).split(40):
        out, p = model(x[b])
        loss = nn.functional.mse_loss(out, y[b]) + 0.01 * entropy(p)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "loss", loss.item())
print("weights finite", all(w.isfinite().all().item() for w in model.parameters()))
