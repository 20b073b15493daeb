"""Classifier on tabular data with a small trainer class and overridable hooks."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, optimizer, criterion):
        self.model = model
        self.optimizer = optimizer
        self.criterion = criterion
        self.losses = []

    def after_batch(self, loss):
        self.optimizer.zero_grad()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            for xb, yb in loader:
                loss = self.criterion(self.model(xb), yb)
                loss.backward()
                self.optimizer.step()
                self.after_batch(loss)
            print(f"epoch {epoch}: {sum(self.losses[-len(loader):]) / len(loader):.4f}")


class LoggingTrainer(Trainer):
    def after_batch(self, loss):
        super().after_batch(loss)
        self.losses.append(loss.item())


def main():
    torch.manual_seed(7)
    x = torch.randn(800, 12)
    w = torch.randn(12, 3)
    y = (x @ w + 0.3 * torch.randn(800, 3)).argmax(dim=1)
    loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 3))
    trainer = LoggingTrainer(model, torch.optim.SGD(model.parameters(), lr=0.05), nn.CrossEntropyLoss())
    trainer.fit(loader, 4)
    model.eval()
    with torch.no_grad():
        print("accuracy", (model(x).argmax(1) == y).float().mean().item())


main()
