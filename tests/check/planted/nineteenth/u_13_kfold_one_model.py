"""Five-fold cross-validation of a small regressor."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def folds(n, k, gen):
    order = torch.randperm(n, generator=gen)
    parts = order.chunk(k)
    for i in range(k):
        train = torch.cat([p for j, p in enumerate(parts) if j != i])
        yield train.tolist(), parts[i].tolist()


def build():
    return nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))


def run_fold(model, optimizer, train, valid, epochs=3):
    for _ in range(epochs):
        model.train()
        for x, y in train:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        errors = [nn.functional.mse_loss(model(x), y, reduction="sum").item() for x, y in valid]  # BUG data-leak
    return sum(errors) / len(valid.dataset)


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    x = torch.randn(250, 6)
    y = (x[:, :1] * x[:, 1:2]).abs() + 0.1 * torch.randn(250, 1)
    data = TensorDataset(x, y)
    scores = []
    model = build()  # BUG data-leak
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)  # BUG data-leak
    for train_idx, valid_idx in folds(len(data), 5, gen):
        train = DataLoader(Subset(data, train_idx), batch_size=25, shuffle=True)
        valid = DataLoader(Subset(data, valid_idx), batch_size=50)  # BUG data-leak
        scores.append(run_fold(model, optimizer, train, valid))  # BUG data-leak
        print(len(scores), scores[-1])
    print("mean", sum(scores) / len(scores))


if __name__ == "__main__":
    main()
