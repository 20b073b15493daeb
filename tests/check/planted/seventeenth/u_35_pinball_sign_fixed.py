import torch
import torch.nn as nn

torch.manual_seed(34)
QUANTILES = (0.1, 0.5, 0.9)


class QuantileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, len(QUANTILES)))

    def forward(self, x):
        return self.net(x)


def pinball(pred, y):
    losses = []
    for i, q in enumerate(QUANTILES):
        error = y - pred[:, i]
        losses.append(torch.max(q * error, (q - 1) * error))
    return torch.stack(losses).sum(0).mean()


model = QuantileNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    x = torch.rand(128, 3)
    y = x.sum(1) + (0.2 + x[:, 0]) * torch.randn(128)
    loss = pinball(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        pred = model(x).detach()
        print(step, loss.item(), [(y < pred[:, i]).float().mean().item() for i in range(3)])
