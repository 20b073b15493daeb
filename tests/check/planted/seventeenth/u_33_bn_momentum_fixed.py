import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(32)
MOMENTUM = 0.01


class Block(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.conv = nn.Conv1d(c_in, c_out, 3, padding=1)
        self.bn = nn.BatchNorm1d(c_out, momentum=MOMENTUM)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))


model = nn.Sequential(Block(2, 16), Block(16, 16), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def signals(n):
    y = torch.randint(0, 3, (n,))
    t = torch.arange(32) / 32
    gain = torch.exp(torch.randn(1))
    x = torch.stack([torch.sin(6.28 * (y[:, None] + 1) * t), torch.cos(6.28 * (y[:, None] + 1) * t)], 1)
    return gain * x + 0.5 * torch.randn(n, 2, 32), y


x_val, y_val = signals(300)
for step in range(200):
    model.train()
    x, y = signals(8)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        model.eval()
        with torch.no_grad():
            out = model(x_val)
        print(step, loss.item(), F.cross_entropy(out, y_val).item(), (out.argmax(1) == y_val).float().mean().item())
