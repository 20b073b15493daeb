import io
import torch
import torch.nn as nn
import torch.nn.functional as F


class InputNorm(nn.Module):
    """Standardises features with statistics measured once on the training set."""

    def __init__(self, d):
        super().__init__()
        self.mean = torch.zeros(d)  # BUG state-not-saved
        self.std = torch.ones(d)  # BUG state-not-saved

    def fit(self, x):
        self.mean = x.mean(0)
        self.std = x.std(0).clamp_min(1e-6)

    def forward(self, x):
        return (x - self.mean) / self.std


class Regressor(nn.Module):
    def __init__(self, d=5):
        super().__init__()
        self.norm = InputNorm(d)
        self.net = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(self.norm(x)).squeeze(-1)


def sensor_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    z = torch.randn(n, 5, generator=g)
    scale = torch.tensor([1.0, 30.0, 0.1, 200.0, 5.0])
    shift = torch.tensor([0.0, 100.0, 2.0, -50.0, 7.0])
    y = z[:, 0] - z[:, 1] + z[:, 2] * z[:, 3] + 0.1 * torch.randn(n, generator=g)
    return z * scale + shift, y


def fit(model, x, y, epochs=30):
    model.norm.fit(x)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(epochs):
        for idx in torch.randperm(len(x)).split(50):
            loss = F.mse_loss(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    x, y = sensor_data(600, 1)
    model = Regressor()
    print("train loss", fit(model, x, y))
    blob = io.BytesIO()
    torch.save(model.state_dict(), blob)
    blob.seek(0)

    served = Regressor()
    served.load_state_dict(torch.load(blob, weights_only=True))
    served.eval()
    xt, yt = sensor_data(200, 2)
    with torch.no_grad():
        print(f"final served mse {F.mse_loss(served(xt), yt).item():.3f}")


main()
