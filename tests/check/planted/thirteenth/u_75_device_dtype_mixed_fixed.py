import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class WeightAverage:
    """Exponential moving average of the weights, for evaluation."""

    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = copy.deepcopy(model).eval()
        for p in self.shadow.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for avg, live in zip(self.shadow.parameters(), model.parameters()):
            avg.mul_(self.decay).add_(live, alpha=1 - self.decay)

    @torch.no_grad()
    def predict(self, x):
        return self.shadow(x)


def regression(n, g):
    x = torch.randn(n, 8, generator=g)
    y = 2 * x[:, :1] - x[:, 1:2] + x[:, 2:3] * x[:, 3:4]
    return x, y + 0.1 * torch.randn(n, 1, generator=g)


def main():
    torch.manual_seed(53)
    g = torch.Generator().manual_seed(53)
    x, y = regression(1500, g)
    x_val, y_val = regression(300, g)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    average = WeightAverage(model, decay=0.999)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(60):
        model.train()
        for idx in torch.randperm(1500, generator=g).split(30):
            optimizer.zero_grad()
            F.mse_loss(model(x[idx]), y[idx]).backward()
            optimizer.step()
            average.update(model)
        if epoch % 10 == 9:
            model.eval()
            with torch.no_grad():
                live = F.mse_loss(model(x_val), y_val).item()
            print(f"epoch {epoch + 1} live {live:.4f} averaged {F.mse_loss(average.predict(x_val), y_val).item():.4f}")


if __name__ == "__main__":
    main()
