# Gated pooling over padded sets; the gate is masked in place
import torch
from torch import nn


class GatedPool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gate = nn.Linear(d, 1)
        self.out = nn.Linear(d, 1)

    def forward(self, x, mask):
        g = torch.sigmoid(self.gate(x)).squeeze(-1)
        g[~mask] = 0.0  # BUG inplace-breaks-backward
        w = g / g.sum(1, keepdim=True)
        return self.out((w.unsqueeze(-1) * x).sum(1)).squeeze(1)


torch.manual_seed(0)
lengths = torch.randint(2, 9, (400,))
mask = torch.arange(8) < lengths.unsqueeze(1)
x = torch.randn(400, 8, 5) * mask.unsqueeze(-1)
y = x[:, :, 0].sum(1) / lengths
model = GatedPool(5)
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(10):
    for b in torch.randperm(400).split(40):
        loss = nn.functional.mse_loss(model(x[b], mask[b]), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, "mse", loss.item())
