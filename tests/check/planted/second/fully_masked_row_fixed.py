"""Attention pooling over user histories, some of which are empty."""
import torch
from torch import nn


class HistoryModel(nn.Module):
    def __init__(self, n_items=40, d=16):
        super().__init__()
        self.item = nn.Embedding(n_items + 1, d, padding_idx=0)
        self.query = nn.Parameter(torch.randn(d) / d ** 0.5)
        self.out = nn.Linear(d, 2)

    def forward(self, hist):
        e = self.item(hist)
        score = e @ self.query
        mask = hist == 0
        w = torch.softmax(score.masked_fill(mask, -1e9), dim=1).masked_fill(mask, 0.0)
        return self.out((w.unsqueeze(-1) * e).sum(1))


def users(n):
    hist = torch.randint(1, 41, (n, 8))
    length = torch.randint(0, 9, (n, 1))
    hist = hist * (torch.arange(8) < length)
    y = ((hist > 20).sum(1) > (length.squeeze(1) / 2)).long()
    return hist, y


torch.manual_seed(0)
net = HistoryModel()
opt = torch.optim.Adam(net.parameters(), lr=8e-3)
for step in range(200):
    hist, y = users(64)
    loss = nn.functional.cross_entropy(net(hist), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    hist, y = users(400)
    print("loss", loss.item(), "acc", (net(hist).argmax(1) == y).float().mean().item())
