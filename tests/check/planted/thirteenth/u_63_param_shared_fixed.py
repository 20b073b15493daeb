import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH = 10
torch.manual_seed(9)


class Residual(nn.Module):
    def __init__(self, dim, mix=None):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mix = mix if mix is not None else nn.Sequential(nn.Linear(dim, dim), nn.PReLU())
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.out(self.mix(self.norm(x)))


class Stack(nn.Module):
    def __init__(self, n_in, depth):
        super().__init__()
        self.inp = nn.Linear(n_in, WIDTH)
        self.blocks = nn.Sequential(*[Residual(WIDTH) for _ in range(depth)])
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, x):
        return self.head(self.blocks(self.inp(x))).squeeze(-1)


def surface(n):
    x = torch.rand(n, 2) * 4 - 2
    return x, torch.sin(2 * x[:, 0]) * x[:, 1] + torch.cos(3 * x[:, 1])


def main():
    x, y = surface(1000)
    x_val, y_val = surface(300)
    model = Stack(2, depth=4)
    print("parameters", sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(12):
        model.train()
        for idx in torch.randperm(1000).split(50):
            optimizer.zero_grad()
            F.mse_loss(model(x[idx]), y[idx]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            print(f"epoch {epoch} val mse {F.mse_loss(model(x_val), y_val).item():.4f}")


main()
