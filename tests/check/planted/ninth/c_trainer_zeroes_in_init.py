"""Predict the fuel consumption of cars with a small Trainer class."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, loader, lr=1e-2):
        self.model = model
        self.loader = loader
        self.criterion = nn.MSELoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.optimizer.zero_grad()

    def train_step(self, inputs, targets):
        predictions = self.model(inputs)
        loss = self.criterion(predictions, targets)
        loss.backward()  # BUG missing-zero-grad
        self.optimizer.step()
        return loss.item()

    def fit(self, epochs):
        for epoch in range(epochs):
            total = 0.0
            for inputs, targets in self.loader:
                total += self.train_step(inputs, targets) * len(inputs)
            print(f"epoch {epoch}: {total / len(self.loader.dataset):.4f}")


torch.manual_seed(0)
features = torch.randn(320, 7)
consumption = (features @ torch.tensor([0.4, -1.0, 0.2, 0.0, 0.7, 0.1, -0.3]) + 0.05 * torch.randn(320)).unsqueeze(1)
loader = DataLoader(TensorDataset(features, consumption), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 1))
Trainer(model, loader).fit(5)
