import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class UnitDropout(nn.Module):
    """Drops hidden units, the same ones for all rows of a batch."""

    def __init__(self, width, p=0.5):
        super().__init__()
        self.p, self.width = p, width
        keep = (torch.rand(width) > p).float() / (1 - p)
        self.register_buffer("keep", keep)

    def forward(self, x):
        if not self.training:
            return x
        return x * self.keep  # <- finding


class Net(nn.Module):
    def __init__(self, inputs, width=64):
        super().__init__()
        self.fc1 = nn.Linear(inputs, width)
        self.drop = UnitDropout(width)
        self.fc2 = nn.Linear(width, 1)

    def forward(self, x):
        return self.fc2(self.drop(torch.tanh(self.fc1(x)))).squeeze(1)


# polymer hardness from composition
x = torch.randn(700, 9)
y = torch.tanh(x[:, 0] + x[:, 1]) + 0.4 * x[:, 2] + 0.1 * torch.randn(700)
x_val, y_val = x[600:], y[600:]
net = Net(9)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(12):
    net.train()
    for idx in torch.randperm(600).split(50):
        loss = F.mse_loss(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        val = F.mse_loss(net(x_val), y_val).item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} train {loss.item():.4f} val {val:.4f}")
