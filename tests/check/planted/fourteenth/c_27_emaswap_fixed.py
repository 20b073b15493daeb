import copy
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelEMA:
    def __init__(self, model, decay=0.98):
        self.module = copy.deepcopy(model).eval()
        for p in self.module.parameters():
            p.requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.module.parameters(), model.parameters()):
            e.lerp_(p, 1 - self.decay)
        for e, b in zip(self.module.buffers(), model.buffers()):
            e.copy_(b)


class Net(nn.Module):
    def __init__(self, d=12):
        super().__init__()
        self.bn = nn.BatchNorm1d(d)
        self.f = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, 3))

    def forward(self, x):
        return self.f(self.bn(x))


def blobs(n, w, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g)
    y = (x @ w + 1.2 * torch.randn(n, 3, generator=g)).argmax(1)
    return x, y


def nll(m, x, y):
    with torch.no_grad():
        return F.cross_entropy(m(x), y).item()


def main():
    torch.manual_seed(0)
    w = torch.randn(12, 3)
    x, y = blobs(2000, w, 1)
    xv, yv = blobs(1000, w, 2)
    model = Net()
    ema = ModelEMA(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for ep in range(5):
        model.train()
        for idx in torch.randperm(len(x)).split(16):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            ema.update(model)
        model.eval()
        print(f"epoch {ep} raw {nll(model, xv, yv):.4f} ema {nll(ema.module, xv, yv):.4f}")
    print(f"final ema val nll {nll(ema.module, xv, yv):.4f}")


main()
