"""Insurance claims: binary classification with exposure weights per policy."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def policies(n):
    x = torch.randn(n, 8)
    exposure = 0.1 + torch.rand(n)
    risk = 1.5 * x[:, 0] + x[:, 1] * x[:, 2] + 0.5 * exposure
    claim = (risk + 0.5 * torch.randn(n) > 0.3).float()
    return TensorDataset(x, claim, exposure)


class Claims(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(8, 32)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x)))


def weighted_bce(logits, target, weight):
    per_row = F.binary_cross_entropy_with_logits(logits, target.unsqueeze(1), reduction="none")
    return (per_row.squeeze(1) * weight).mean()


loader = DataLoader(policies(768), batch_size=64, shuffle=True)
x_val, claim_val, exposure_val = policies(256).tensors
net = Claims()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(8):
    for x, claim, exposure in loader:
        loss = weighted_bce(net(x), claim, exposure)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        correct = (net(x_val).squeeze(1) > 0).float() == claim_val
        acc = (correct * exposure_val).sum() / exposure_val.sum()
    print(f"epoch {epoch} loss {loss.item():.3f} weighted accuracy {acc.item():.3f}")
