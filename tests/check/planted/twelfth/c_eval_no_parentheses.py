"""A trainer with validation after each epoch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Trainer:
    def __init__(self, model, train_set, val_set, lr=1e-2):
        self.model = model
        self.train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
        self.val_loader = DataLoader(val_set, batch_size=64)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def fit(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            for x, y in self.train_loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), y)
                loss.backward()
                self.optimizer.step()
            print(f"epoch {epoch} val acc {self.validate():.3f}")

    def validate(self):
        self.model.eval  # BUG eval-in-train-mode
        right = total = 0
        with torch.no_grad():
            for x, y in self.val_loader:
                right += (self.model(x).argmax(1) == y).sum().item()  # BUG eval-in-train-mode
                total += len(y)
        return right / total


torch.manual_seed(0)
x = torch.randn(320, 16)
y = (x[:, 0] * x[:, 1] > 0).long()
data = TensorDataset(x, y)
train_set, val_set = random_split(data, [256, 64])
model = nn.Sequential(
    nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 2)
)
Trainer(model, train_set, val_set).fit(4)
