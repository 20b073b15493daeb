import torch
import torch.nn as nn


class MixerBlock(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.norm_a = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm_f = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.norm_a(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        x = x + self.ff(self.norm_f(x))
        return x


class SetRegressor(nn.Module):
    """Predicts for every element its distance to the largest element of the set."""

    def __init__(self, dim=32, depth=2):
        super().__init__()
        self.embed = nn.Linear(1, dim)
        self.blocks = nn.Sequential(*(MixerBlock(dim) for _ in range(depth)))
        self.readout = nn.Linear(dim, 1)

    def forward(self, x):
        return self.readout(self.blocks(self.embed(x))).squeeze(-1)


def sets(n, size=6):
    values = torch.rand(n, size) * 2 - 1
    return values.unsqueeze(-1), values.max(dim=1, keepdim=True).values - values


def main():
    torch.manual_seed(86)
    x, y = sets(1500)
    x_val, y_val = sets(300)
    model, criterion = SetRegressor(), nn.MSELoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(6):
        model.train()
        for idx in torch.randperm(1500).split(50):
            optimizer.zero_grad()
            criterion(model(x[idx]), y[idx]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            print(f"epoch {epoch} val mse {criterion(model(x_val), y_val).item():.5f}")


if __name__ == "__main__":
    main()
