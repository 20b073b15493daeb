"""Truncated BPTT over a long series with a stateful LSTM, then a streaming validation."""
import torch
from torch import nn


class Stateful(nn.Module):
    def __init__(self, d=12):
        super().__init__()
        self.lstm = nn.LSTM(1, d, batch_first=True)
        self.out = nn.Linear(d, 1)

    def forward(self, x, state):
        h, state = self.lstm(x, state)
        return self.out(h), state


def series(b=8, n=401):
    t = torch.arange(n) * 0.3
    ph = torch.rand(b, 1) * 6.28
    return torch.sin(t + ph).unsqueeze(-1)


def validate(net, s, win=4):
    state, preds = None, []
    for i in range(0, s.shape[1] - 1, win):
        with torch.no_grad():
            pred, state = net(s[:, i:i + win], state)
        preds.append(pred)
    return (torch.cat(preds, 1) - s[:, 1:]).pow(2).mean().item()


torch.manual_seed(0)
net = Stateful()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
train, val = series(), series()
win = 10
for epoch in range(4):
    state = None
    for i in range(0, 400, win):
        x, y = train[:, i:i + win], train[:, i + 1:i + win + 1]
        if state is not None:
            state = tuple(z.detach() for z in state)
        pred, state = net(x, state)
        loss = (pred - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} train {loss.item():.4f} val {validate(net, val):.4f}")
