import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Adam


class Backbone(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.fc = nn.Linear(32, n_classes)

    def forward(self, x):
        return self.fc(self.features(x))


def task(n, classes, seed):
    g = torch.Generator().manual_seed(seed)
    proto = torch.randn(classes, 12, generator=g)
    y = torch.randint(0, classes, (n,), generator=g)
    return proto[y] + 0.8 * torch.randn(n, 12, generator=g), y


def fit(model, optimizer, x, y, epochs):
    for _ in range(epochs):
        model.train()
        for idx in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
    return loss.item()


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(dim=1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    model = Backbone(n_classes=10)
    x, y = task(640, 10, seed=1)
    print("pretraining loss", round(fit(model, Adam(model.parameters(), lr=3e-3), x, y, 4), 4))

    # move to a new task with 4 classes: features fixed, head trained
    x, y = task(480, 4, seed=2)
    for p in model.features.parameters():
        p.requires_grad_(False)
    model.fc = nn.Linear(32, 4)
    optimizer = Adam(model.fc.parameters(), lr=1e-2)
    for round_ in range(4):
        loss = fit(model, optimizer, x[:384], y[:384], 2)
        print(f"round {round_} loss {loss:.4f} accuracy {accuracy(model, x[384:], y[384:]):.3f}")


if __name__ == "__main__":
    main()
