"""Spam filter over word counts."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

WORDS = 40


def mails(n):
    spam = (torch.rand(n) < 0.5).float()
    rate = torch.full((n, WORDS), 0.4)
    rate[:, :6] += 0.9 * spam.unsqueeze(1)
    rate[:, 6:12] += 0.7 * (1 - spam).unsqueeze(1)
    return torch.log1p(torch.poisson(rate)), spam


def fit(model, loader, epochs=10):
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.5)  # <- finding
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x).squeeze(1), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        print(f"epoch {epoch}: {total / len(loader.dataset):.4f}")


def main():
    torch.manual_seed(7)
    x, y = mails(400)
    model = nn.Sequential(nn.Linear(WORDS, 32), nn.ReLU(), nn.Linear(32, 1))
    fit(model, DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True))
    with torch.no_grad():
        print("accuracy", ((model(x).squeeze(1) > 0).float() == y).float().mean().item())


if __name__ == "__main__":
    main()
