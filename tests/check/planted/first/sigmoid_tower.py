"""Parity-like classification with a configurable deep network."""
import torch
import torch.nn as nn

ACTS = {"relu": nn.ReLU, "sigmoid": nn.Sigmoid, "gelu": nn.GELU}
CONFIG = dict(
    width=48,
    depth=10,
    act="sigmoid",  # BUG vanishing-gradient
    lr=2e-3,
    steps=250,
)


class DeepNet(nn.Module):
    def __init__(self, n_in, n_out, width, depth, act):
        super().__init__()
        Act = ACTS[act]
        dims = [n_in] + [width] * depth
        self.hidden = nn.Sequential(*[
            nn.Sequential(nn.Linear(a, b), Act()) for a, b in zip(dims, dims[1:])
        ])
        self.head = nn.Linear(width, n_out)
        for block in self.hidden:
            nn.init.kaiming_normal_(block[0].weight, nonlinearity="relu")
            nn.init.zeros_(block[0].bias)

    def forward(self, x):
        return self.head(self.hidden(x))


def quadrant_data(n):
    x = torch.rand(n, 2) * 2 - 1
    return x, ((x[:, 0] > 0) ^ (x[:, 1] > 0)).long()


def main(cfg):
    torch.manual_seed(0)
    net = DeepNet(2, 2, cfg["width"], cfg["depth"], cfg["act"])
    opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
    xv, yv = quadrant_data(400)
    for step in range(cfg["steps"]):
        x, y = quadrant_data(64)
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        acc = (net(xv).argmax(1) == yv).float().mean().item()
    print(f"loss {loss.item():.3f} val acc {acc:.3f}")


main(CONFIG)
