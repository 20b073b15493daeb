"""Attention over the hidden states of a GRU for event detection."""
import torch
import torch.nn as nn


class AttentiveGRU(nn.Module):
    def __init__(self, n_in=2, d=20, n_cls=3):
        super().__init__()
        self.gru = nn.GRU(n_in, d, batch_first=True)
        self.energy = nn.Linear(d, 1)
        self.norm = nn.LayerNorm(d)
        self.fc = nn.Linear(d, n_cls)

    def forward(self, x):
        h, _ = self.gru(x)
        e = self.energy(torch.tanh(h))
        alpha = torch.softmax(e, dim=1)
        ctx = torch.sum(alpha * h, dim=1)
        return self.fc(self.norm(ctx))


def events(n, T=20):
    y = torch.randint(0, 3, (n,))
    x = 0.4 * torch.randn(n, T, 2)
    pos = torch.randint(0, T - 2, (n,))
    shape = torch.tensor([[2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    x[torch.arange(n), pos] += shape[y]
    return x, y


torch.manual_seed(0)
net = AttentiveGRU()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(120):
    x, y = events(32)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = events(300)
    print("acc", (net(x).argmax(1) == y).float().mean().item())
