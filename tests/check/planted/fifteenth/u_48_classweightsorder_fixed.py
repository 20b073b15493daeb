"""Imbalanced classification with inverse-frequency class weights."""
from collections import Counter

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def inverse_frequency(labels):
    counts = Counter(labels.tolist())
    total = sum(counts.values())
    weights = [total / (len(counts) * counts[k]) for k in sorted(counts)]
    return torch.tensor(weights)


def imbalanced(n, probs, centers):
    y = torch.multinomial(torch.tensor(probs), n, replacement=True)
    return centers[y] + torch.randn(n, centers.size(1)), y


def per_class_recall(pred, y, k):
    return [round((pred[y == c] == c).float().mean().item(), 3) for c in range(k)]


def main():
    torch.manual_seed(0)
    centers = torch.randn(3, 8)
    x, y = imbalanced(1000, [0.1, 0.2, 0.7], centers)
    loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 3))
    criterion = nn.CrossEntropyLoss(weight=inverse_frequency(y))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(4):
        total = 0.0
        for xb, yb in loader:
            opt.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            opt.step()
            total += loss.item()
        print(epoch, total / len(loader))
    with torch.no_grad():
        print(per_class_recall(model(x).argmax(1), y, 3))


main()
