"""Train a classifier with an activation monitor on a hidden layer."""
import torch
import torch.nn as nn


class Monitor:
    """collects statistics of a layer's output through a hook"""

    def __init__(self, module):
        self.outputs = []
        module.register_forward_hook(self.record)

    def record(self, module, args, out):
        self.outputs.append(out.detach().clone())  # BUG memory-growth

    def summary(self):
        return torch.cat(self.outputs).mean().item()


def data(n):
    x = torch.randn(n, 64)
    return x, (x[:, :8].sum(1) > 0).long()


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 2))
    monitor = Monitor(model[1])
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(300):
        x, y = data(128)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("mean activation", monitor.summary())
    with torch.no_grad():
        x, y = data(500)
        print("acc", (model(x).argmax(1) == y).float().mean().item())


main()
