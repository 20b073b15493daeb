import torch
import torch.nn as nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, d), nn.ReLU())

    def forward(self, x):
        return self.body(x)


class FineTuner(nn.Module):
    def __init__(self, backbone, n_cls):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(32, n_cls)

    def freeze_backbone(self):
        for layer in self.backbone.body:
            layer.requires_grad_(False)

    def forward(self, x):
        return self.head(self.backbone(x))


def task(n, mix, n_cls, noise, seed):
    g = torch.Generator().manual_seed(seed)
    lat = torch.randn(n, 6, generator=g)
    x = lat @ mix + 0.3 * torch.randn(n, 40, generator=g)
    y = (lat[:, 0] > 0).long() + (2 * (lat[:, 1] > 0).long() if n_cls == 4 else 0)
    flip = torch.rand(n, generator=g) < noise
    y[flip] = torch.randint(0, n_cls, (int(flip.sum()),), generator=g)
    return x, y


def fit(model, x, y, lr, epochs, bs=32):
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.Adam(params, lr=lr)
    model.train()
    for _ in range(epochs):
        for idx in torch.randperm(len(x)).split(bs):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    mix = torch.randn(6, 40)
    backbone = Backbone()
    source = FineTuner(backbone, 4)
    print("source loss", fit(source, *task(2000, mix, 4, 0.0, 1), lr=2e-3, epochs=8))

    model = FineTuner(backbone, 2)
    model.freeze_backbone()
    ref = backbone.body[0].weight.detach().clone()
    print("target loss", fit(model, *task(60, mix, 2, 0.3, 2), lr=5e-3, epochs=60))
    model.eval()
    xt, yt = task(1000, mix, 2, 0.0, 3)
    with torch.no_grad():
        acc = (model(xt).argmax(1) == yt).float().mean().item()
    drift = (backbone.body[0].weight - ref).norm().item()
    print(f"final target acc {acc:.3f} backbone drift {drift:.3f}")


main()
