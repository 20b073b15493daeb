import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)


class Trainer:
    def __init__(self, model, optimizer, criterion):
        self.model = model
        self.optimizer = optimizer
        self.criterion = criterion

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            seen, running = 0, 0.0
            for features, price in loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(features), price)
                loss.backward()
                self.optimizer.step()
                running += loss.item() * len(features)
                seen += len(features)
            print(f"epoch {epoch}: train mse {running / seen:.4f}")

    @torch.no_grad()
    def score(self, features, price):
        self.model.eval()
        return self.criterion(self.model(features), price).item()


def houses(n):
    x = torch.randn(n, 6)
    w = torch.tensor([1.5, -0.7, 0.3, 0.0, 2.0, -1.1])
    y = x @ w + 0.5 * torch.sin(2 * x[:, 0]) + 0.1 * torch.randn(n)
    return x, y.unsqueeze(1)


if __name__ == "__main__":
    x, y = houses(1000)
    train, (x_val, y_val) = TensorDataset(x[:800], y[:800]), (x[800:], y[800:])
    net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    trainer = Trainer(net, torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9), nn.MSELoss())
    trainer.fit(DataLoader(train, batch_size=32, shuffle=True), epochs=8)
    print(f"validation mse {trainer.score(x_val, y_val):.4f}")
