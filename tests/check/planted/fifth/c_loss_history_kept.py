# Word-count regression.
import torch
from torch import nn

torch.manual_seed(10)
counts = torch.poisson(torch.full((640, 50), 1.5))
target = (counts[:, :10].sum(1) - counts[:, 10:20].sum(1)) / 10
net = nn.Sequential(nn.Linear(50, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)

history = []
for epoch in range(30):
    total = 0.0
    for idx in torch.randperm(640).split(64):
        pred = net(counts[idx]).squeeze(1)
        loss = nn.functional.mse_loss(pred, target[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss * len(idx)  # BUG memory-growth
    history.append(total / 640)  # BUG memory-growth
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1}: {history[-1]:.4f}")
print("loss curve points still holding a graph:", sum(getattr(h, 'grad_fn', None) is not None for h in history))
print("drop", round(float(history[0] - history[-1]), 3))
