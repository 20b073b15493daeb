import argparse

import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.lin1 = nn.Linear(dim, 2 * dim)
        self.lin2 = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.lin2(torch.nn.functional.gelu(self.lin1(self.norm(x))))


class ResMLP(nn.Module):
    def __init__(self, n_in, dim, depth):
        super().__init__()
        self.stem = nn.Linear(n_in, dim)
        self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:  # BUG param-unused
            out = block(x)  # BUG param-unused
        return self.head(out).squeeze(-1)  # BUG param-unused


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--dim", type=int, default=24)
    parser.add_argument("--epochs", type=int, default=10)
    args = parser.parse_args()

    torch.manual_seed(1234)
    x = torch.rand(1200, 3) * 4 - 2
    y = torch.sin(3 * x[:, 0]) * torch.cos(2 * x[:, 1]) + 0.3 * x[:, 2] ** 2
    x_train, y_train, x_test, y_test = x[:1000], y[:1000], x[1000:], y[1000:]
    model = ResMLP(3, args.dim, args.depth)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-4)
    loss_fn = nn.MSELoss()
    for epoch in range(1, args.epochs + 1):
        model.train()
        for idx in torch.randperm(1000).split(50):
            opt.zero_grad()
            loss_fn(model(x_train[idx]), y_train[idx]).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            print(f"epoch {epoch} test mse {loss_fn(model(x_test), y_test).item():.4f}")


if __name__ == "__main__":
    main()
