import torch
import torch.nn as nn
import torch.nn.functional as F


class Corruption:
    """Blanks a share of the inputs and adds noise, reproducibly."""

    def __init__(self, rate, sigma, seed):
        self.rate, self.sigma, self.seed = rate, sigma, seed

    def __call__(self, x):  # BUG same-mask
        generator = torch.Generator().manual_seed(self.seed)  # BUG same-mask
        keep = torch.rand(x.shape, generator=generator) > self.rate  # BUG same-mask
        noise = torch.randn(x.shape, generator=generator) * self.sigma  # BUG same-mask
        return (x + noise) * keep


class DenoisingAE(nn.Module):
    def __init__(self, n=32, code=12):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(n, 96), nn.ReLU(), nn.Linear(96, code))
        self.decode = nn.Sequential(nn.Linear(code, 96), nn.ReLU(), nn.Linear(96, n))

    def forward(self, x):
        return self.decode(self.encode(x))


def signals(n, g, length=32):
    t = torch.linspace(0, 1, length)
    freq, phase = torch.rand(n, 1, generator=g) * 3 + 1, torch.rand(n, 1, generator=g) * 6.28
    return torch.sin(6.28 * freq * t + phase)


def main():
    torch.manual_seed(37)
    g = torch.Generator().manual_seed(37)
    x, x_val = signals(64, g), signals(200, g)
    noisy_val = Corruption(0.3, 0.3, seed=1234)(x_val)
    corrupt = Corruption(0.3, 0.3, seed=5)  # BUG same-mask
    model = DenoisingAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(1000):
        model.train()
        optimizer.zero_grad()
        loss = F.mse_loss(model(corrupt(x)), x)  # BUG same-mask
        loss.backward()
        optimizer.step()
        if step % 200 == 199:
            model.eval()
            with torch.no_grad():
                val = F.mse_loss(model(noisy_val), x_val).item()
            print(f"step {step + 1} train {loss.item():.4f} val {val:.4f}")


if __name__ == "__main__":
    main()
