import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)


class ResidualBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, 2 * width)
        self.outer = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.outer(F.silu(self.inner(self.norm(x))))


class ResidualMLP(nn.Module):
    def __init__(self, in_dim, width=24, depth=5):
        super().__init__()
        self.stem = nn.Linear(in_dim, width)
        self.blocks = nn.Sequential(*[ResidualBlock(width) for _ in range(depth)])
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x))).squeeze(-1)


def friedman(n):
    x = torch.rand(n, 10)
    y = 10 * torch.sin(3.1416 * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    y = y + 10 * x[:, 3] + 5 * x[:, 4] + 0.5 * torch.randn(n)
    return 2 * x - 1, (y - 14.4) / 5.0


x, y = friedman(1000)
x_test, y_test = friedman(250)
model = ResidualMLP(10)
print("a stack of", len(model.blocks), "residual blocks")
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)

for step in range(150):
    idx = torch.randint(0, len(x), (64,))
    loss = F.mse_loss(model(x[idx]), y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        print(f"step {step + 1} train mse {loss.item():.4f}")

with torch.no_grad():
    print("test mse", F.mse_loss(model(x_test), y_test).item())
