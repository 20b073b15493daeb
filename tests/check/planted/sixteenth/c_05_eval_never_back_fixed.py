import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)


class Trainer:
    def __init__(self, model, train_dl, test_dl, lr=5e-3):
        self.model = model
        self.train_dl, self.test_dl = train_dl, test_dl
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss = nn.CrossEntropyLoss()

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        ok = sum((self.model(x).argmax(1) == y).sum().item() for x, y in self.test_dl)
        return ok / len(self.test_dl.dataset)

    def fit(self, epochs):
        for ep in range(epochs):
            self.model.train()
            total = 0.0
            for x, y in self.train_dl:
                self.opt.zero_grad()
                loss = self.loss(self.model(x), y)
                loss.backward()
                self.opt.step()
                total += loss.item()
            print(ep, "loss", round(total / len(self.train_dl), 4), "acc", self.evaluate(),
                  "bn batches", self.model[1].num_batches_tracked.item())


def data(n):
    x = 4 + 3 * torch.randn(n, 12)
    return TensorDataset(x, ((x[:, 0] - x[:, 1]) > 0).long())


net = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 2))
Trainer(net, DataLoader(data(500), 50, shuffle=True), DataLoader(data(200), 100)).fit(5)
