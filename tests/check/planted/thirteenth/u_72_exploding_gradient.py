import warnings

import torch
import torch.nn as nn

warnings.simplefilter("ignore")


class Forecaster(nn.Module):
    def __init__(self, n_in=4, hidden=32):
        super().__init__()
        self.gru = nn.GRU(n_in, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.gru(x)[0][:, -1])


def demand(n, g, steps=12):
    """Mostly calm, now and then a spike of a few hundred units."""
    x = torch.randn(n, steps, 4, generator=g)
    y = x[:, -3:, 0].sum(1, keepdim=True) + 0.5 * x[:, -1:, 1]
    spike = torch.rand(n, 1, generator=g) < 0.003
    return x, torch.where(spike, y + 400.0, y), spike


def main():
    torch.manual_seed(47)
    g = torch.Generator().manual_seed(47)
    x, y, _ = demand(1600, g)
    x_val, y_val, spike = demand(400, g)
    calm = ~spike.squeeze(1)
    model = Forecaster()
    params = model.parameters()  # BUG exploding-gradient|clipping-without-effect
    optimizer = torch.optim.SGD(params, lr=0.05, momentum=0.8)  # BUG exploding-gradient|clipping-without-effect
    criterion = nn.MSELoss()
    for epoch in range(8):
        model.train()
        for idx in torch.randperm(1600, generator=g).split(40):
            optimizer.zero_grad()
            loss = criterion(model(x[idx]), y[idx])
            loss.backward()
            nn.utils.clip_grad_norm_(params, max_norm=1.0)  # BUG exploding-gradient|clipping-without-effect
            largest = max(p.grad.abs().max().item() for p in model.parameters())
            optimizer.step()
        model.eval()
        with torch.no_grad():
            error = (model(x_val) - y_val)[calm].abs().mean().item()
        print(f"epoch {epoch} loss {loss.item():.3f} calm error {error:.4f} largest gradient {largest:.3f}")


if __name__ == "__main__":
    main()
