"""Stateful GRU over a long series: the hidden state is carried on and detached between the windows on purpose."""
import torch
from torch import nn

torch.manual_seed(12)
t = torch.arange(1201).float()
series = torch.sin(0.15 * t) * torch.cos(0.031 * t) + 0.02 * torch.randn(1201)
rnn = nn.GRU(1, 20, batch_first=True)
head = nn.Linear(20, 1)
params = [*rnn.parameters(), *head.parameters()]
opt = torch.optim.Adam(params, lr=1e-2)
WIN = 25
for epoch in range(4):
    h, total = None, 0.0
    for s in range(0, 1000, WIN):
        x = series[s:s + WIN].view(1, WIN, 1)
        y = series[s + 1:s + WIN + 1].view(1, WIN, 1)
        out, h = rnn(x, h)
        loss = nn.functional.mse_loss(head(out), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        h = h.detach()
        total += loss.item()
    print(f"epoch {epoch} mse {total / (1000 // WIN):.5f}")
with torch.no_grad():
    out, _ = rnn(series[1000:1200].view(1, 200, 1), h)
    err = nn.functional.mse_loss(head(out).flatten(), series[1001:1201])
print("test mse", round(err.item(), 5), "variance", round(series[1001:].var().item(), 5))
