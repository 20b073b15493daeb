import torch
import torch.nn as nn
import torch.nn.functional as F


class Residual(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.up, self.down = nn.Linear(d, h), nn.Linear(h, d)
        self.norm = nn.LayerNorm(d)

    def forward(self, x):
        return x + self.down(F.silu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, d_in=8, d=32, h=64, out=1, depth=2):
        super().__init__()
        self.inp = nn.Linear(d_in, d)
        self.blocks = nn.ModuleList(Residual(d, h) for _ in range(depth))
        self.out = nn.Linear(d, out)
        self.apply(self._init)
        for blk in self.blocks:
            nn.init.zeros_(blk.down.weight)

    @staticmethod
    def _init(m):
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
            nn.init.zeros_(m.bias)
        elif isinstance(m, nn.LayerNorm):
            nn.init.ones_(m.weight)
            nn.init.zeros_(m.bias)

    def forward(self, x):
        x = self.inp(x)
        for blk in self.blocks:
            x = blk(x)
        return self.out(x).squeeze(-1)


def friedman(n, gen):
    x = torch.rand(n, 8, generator=gen)
    y = 10 * torch.sin(3.14159 * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x, (y - 14.4) / 5.0


def main():
    gen = torch.Generator().manual_seed(9)
    torch.manual_seed(9)
    x, y = friedman(600, gen)
    xv, yv = friedman(200, gen)
    model = Model()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(40):
        for idx in torch.randperm(len(x)).split(60):
            loss = F.mse_loss(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        if epoch % 10 == 0:
            with torch.no_grad():
                print(epoch, loss.item(), F.mse_loss(model(xv), yv).item())
    with torch.no_grad():
        print(f"final val mse {F.mse_loss(model(xv), yv).item():.4f}")


main()
