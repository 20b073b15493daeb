import torch
import torch.nn as nn
import torch.nn.functional as F


class ActivationStats:
    def __init__(self):
        self.rows = []

    def attach(self, module):
        def hook(mod, inputs, output):
            self.rows.append(output.detach().flatten())

        return module.register_forward_hook(hook)

    def summary(self):
        last = self.rows[-1]
        return last.mean().item(), (last == 0).float().mean().item()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(10, 64), nn.ReLU())
        self.head = nn.Linear(64, 1)

    def forward(self, x):
        return self.head(self.features(x)).squeeze(1)


def friedman(n):
    x = torch.rand(n, 10)
    y = 10 * torch.sin(3.14159 * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x, (y - 14) / 5


def main():
    torch.manual_seed(11)
    x, y = friedman(800)
    x_val, y_val = friedman(200)
    net, stats = Net(), ActivationStats()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(8):
        net.train()
        for idx in torch.randperm(800).split(40):
            handle = stats.attach(net.features)
            optimizer.zero_grad()
            loss = F.mse_loss(net(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            handle.remove()
        mean, zeros = stats.summary()
        stats.rows.clear()
        net.eval()
        with torch.no_grad():
            val = F.mse_loss(net(x_val), y_val).item()
        print(f"epoch {epoch} val {val:.4f} activation mean {mean:.3f} zeros {zeros:.3f} hooks {len(net.features._forward_hooks)}")


main()
