import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class Experiment:
    def __init__(self, seed=0):
        torch.manual_seed(seed)
        x = torch.randn(1280, 10)
        w = torch.randn(10, 4)
        y = torch.tanh(x @ w).argmax(dim=1)
        self.train_loader = DataLoader(TensorDataset(x[:1024], y[:1024]), batch_size=32, shuffle=True)
        self.val = (x[1024:], y[1024:])
        self.model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4))
        self.optimizer = optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.scheduler = optim.lr_scheduler.StepLR(self.optimizer, step_size=3, gamma=0.3)  # BUG lr-absurd
        self.criterion = nn.CrossEntropyLoss()

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()  # BUG lr-absurd
            self.scheduler.step()  # BUG lr-absurd
            total += loss.item() * len(x)
        return total / 1024

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        x, y = self.val
        return (self.model(x).argmax(1) == y).float().mean().item()

    def run(self, epochs=9):
        for epoch in range(epochs):
            loss = self.train_epoch()
            lr = self.optimizer.param_groups[0]["lr"]
            print(f"epoch {epoch} loss {loss:.4f} val acc {self.validate():.3f} next lr {lr:.2e}")


if __name__ == "__main__":
    Experiment().run()
