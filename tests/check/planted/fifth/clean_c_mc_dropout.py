"""Uncertainty by MC dropout: dropout stays on at prediction on purpose, averaged over passes."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(-2, 2, 240).unsqueeze(1)
y = torch.sin(2 * x) + 0.05 * torch.randn_like(x)
net = nn.Sequential(nn.Linear(1, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(),
                    nn.Dropout(0.1), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
net.train()
for it in range(300):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()


def enable_dropout(m):
    for mod in m.modules():
        if isinstance(mod, nn.Dropout):
            mod.train()


net.eval()
enable_dropout(net)
grid = torch.tensor([[-1.0], [0.0], [1.0], [4.0]])
with torch.no_grad():
    draws = torch.stack([net(grid) for _ in range(60)])
print("mean", draws.mean(0).squeeze(1).tolist())
print("std ", draws.std(0).squeeze(1).tolist(), "(the last lies outside of the data)")
net.eval()
with torch.no_grad():
    print("deterministic mse", nn.functional.mse_loss(net(x), y).item())
