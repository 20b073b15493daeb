import torch
import torch.nn as nn


class UncertaintyWeighted(nn.Module):
    """Kendall-style weighting of several regression tasks."""

    def __init__(self, n_tasks):
        super().__init__()
        self.log_var = nn.Parameter(torch.zeros(n_tasks))  # BUG param-not-in-optimizer

    def forward(self, pred, target):
        per_task = (pred - target).pow(2).mean(dim=0)
        return (per_task * torch.exp(-self.log_var) + self.log_var).mean()


class Predictor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 2))

    def forward(self, x):
        return self.net(x)


def data(n):
    x = torch.randn(n, 8)
    precise = 0.1 * torch.sin(2 * x[:, 0]) + 0.05 * x[:, 1]
    noisy = 3 * x[:, 2] + 4 * torch.randn(n)
    return x, torch.stack([precise, noisy], dim=1)


def main():
    torch.manual_seed(48)
    x, y = data(1200)
    x_val, y_val = data(300)
    model = Predictor()
    criterion = UncertaintyWeighted(2)  # BUG param-not-in-optimizer
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)  # BUG param-not-in-optimizer
    for epoch in range(20):
        model.train()
        for idx in torch.randperm(1200).split(40):
            optimizer.zero_grad()
            loss = criterion(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        if epoch % 4 == 3:
            model.eval()
            with torch.no_grad():
                mse = (model(x_val) - y_val).pow(2).mean(dim=0).tolist()
            weights = torch.exp(-criterion.log_var.detach()).tolist()
            print(f"epoch {epoch + 1} mse {mse[0]:.5f} {mse[1]:.3f} weights {weights[0]:.2f} {weights[1]:.2f}")


if __name__ == "__main__":
    main()
