"""Small image classifier, trained by a Trainer class."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        )
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


class Trainer:
    def __init__(self, model, loader, epochs=3):
        self.model, self.loader, self.epochs = model, loader, epochs
        self.optimizer = self.configure_optimizers()
        self.criterion = nn.CrossEntropyLoss()

    def configure_optimizers(self):
        return torch.optim.SGD(self.model.parameters(), lr=0.05)

    def training_step(self, batch):
        x, y = batch
        return self.criterion(self.model(x), y)

    def fit(self):
        for epoch in range(self.epochs):
            self.optimizer.zero_grad()
            total = 0.0
            for batch in self.loader:
                loss = self.training_step(batch)
                loss.backward()  # BUG missing-zero-grad
                self.optimizer.step()  # BUG missing-zero-grad
                total += loss.item()
            print(f"epoch {epoch} loss {total / len(self.loader):.3f}")


def make_data(n=256):
    y = torch.randint(0, 4, (n,))
    x = torch.randn(n, 1, 12, 12) * 0.5
    for k in range(4):
        x[y == k, :, (k // 2) * 6:(k // 2) * 6 + 6, (k % 2) * 6:(k % 2) * 6 + 6] += 1.0
    return x, y


if __name__ == "__main__":
    torch.manual_seed(1)
    data = TensorDataset(*make_data())
    Trainer(Net(4), DataLoader(data, batch_size=32, shuffle=True)).fit()
