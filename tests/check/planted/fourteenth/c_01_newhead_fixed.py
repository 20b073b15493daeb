import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F


class SmallNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        )
        self.fc = nn.Linear(64, num_classes)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


def make_data(n, n_cls, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, n_cls, (n,), generator=g)
    x = torch.randn(n, 1, 12, 12, generator=g) * 0.6
    for i in range(n):
        k = int(y[i])
        x[i, 0, (k % 3) * 4:(k % 3) * 4 + 4, (k // 3) * 4:(k // 3) * 4 + 4] += 1.5
    return x, y


def adapt(model, n_cls):
    """Swap the classifier for the downstream task, keep the features fixed."""
    for p in model.features.parameters():
        p.requires_grad = False
    model.fc = nn.Linear(model.fc.in_features, n_cls)
    return model


def fit(model, opt, x, y, epochs, bs):
    model.train()
    for ep in range(epochs):
        perm = torch.randperm(len(x))
        total = 0.0
        for i in range(0, len(x), bs):
            idx = perm[i:i + bs]
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
    return total / len(x)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--bs", type=int, default=32)
    args = ap.parse_args()
    torch.manual_seed(0)

    model = SmallNet(9)
    x0, y0 = make_data(600, 9, seed=1)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    print("pretrain loss", fit(model, opt, x0, y0, args.epochs, args.bs))

    x1, y1 = make_data(400, 5, seed=2)
    model = adapt(model, 5)
    ft_opt = torch.optim.Adam(model.fc.parameters(), lr=args.lr)
    print("finetune loss", fit(model, ft_opt, x1, y1, args.epochs, args.bs))

    model.eval()
    xt, yt = make_data(200, 5, seed=3)
    with torch.no_grad():
        acc = (model(xt).argmax(1) == yt).float().mean().item()
    print(f"final test acc {acc:.3f}")


if __name__ == "__main__":
    main()
