import torch
import torch.nn as nn
import torch.nn.functional as F


class FeatureNoise:
    """Gaussian noise on a hidden layer while training; strength decays with the epoch."""

    def __init__(self, std):
        self.std = std

    def __call__(self, module, inputs, output):
        if module.training:
            return output + self.std * torch.randn_like(output)


class Net(nn.Module):
    def __init__(self, d=20, h=64, n=5):
        super().__init__()
        self.fc1 = nn.Linear(d, h)
        self.fc2 = nn.Linear(h, h)
        self.out = nn.Linear(h, n)

    def forward(self, x):
        return self.out(F.relu(self.fc2(F.relu(self.fc1(x)))))


def train_epoch(model, x, y, opt, noise_std):
    model.train()
    handle = model.fc1.register_forward_hook(FeatureNoise(noise_std))
    total = 0.0
    for idx in torch.randperm(len(x)).split(100):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    handle.remove()
    return total / len(x)


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def make(n, W, gen):
    x = torch.randn(n, 20, generator=gen)
    return x, torch.tanh(x @ W[0]).matmul(W[1]).argmax(1)


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    W = torch.randn(20, 8, generator=gen), torch.randn(8, 5, generator=gen)
    x, y = make(2400, W, gen)
    xv, yv = make(400, W, gen)
    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(18):
        std = 1.0 * 0.93 ** epoch
        tl = train_epoch(model, x, y, opt, std)
        if epoch % 6 == 0:
            vl, va = evaluate(model, xv, yv)
            print(f"epoch {epoch} std {std:.2f} train {tl:.3f} val {vl:.3f} acc {va:.3f}")
    vl, va = evaluate(model, xv, yv)
    print(f"final train {tl:.3f} val loss {vl:.3f} acc {va:.3f}")


main()
