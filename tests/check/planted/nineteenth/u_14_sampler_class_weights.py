"""Imbalanced classes with a weighted sampler."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


class Module(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(9, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))
        self.loss = nn.CrossEntropyLoss()

    def training_step(self, batch):
        x, y = batch
        return self.loss(self.net(x), y)

    @torch.no_grad()
    def validation_step(self, batch):
        x, y = batch
        return (self.net(x).argmax(1) == y).float().mean().item()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=5e-3)


class DataModule:
    def __init__(self, n=480):
        y = torch.multinomial(torch.tensor([0.8, 0.15, 0.05]), n, replacement=True)
        x = torch.randn(n, 9)
        x[torch.arange(n), y] += 1.5
        self.train = TensorDataset(x[:400], y[:400])
        self.val = TensorDataset(x[400:], y[400:])

    def train_dataloader(self):
        labels = self.train.tensors[1]
        counts = torch.bincount(labels, minlength=3)
        weights = 1.0 / counts.float()
        sampler = WeightedRandomSampler(weights, num_samples=len(labels))  # BUG sampler-weights
        return DataLoader(self.train, batch_size=40, sampler=sampler)  # BUG sampler-weights

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=80)


def fit(module, data, epochs=5):
    opt = module.configure_optimizers()
    for epoch in range(epochs):
        module.train()
        for batch in data.train_dataloader():
            opt.zero_grad()
            loss = module.training_step(batch)
            loss.backward()
            opt.step()
        module.eval()
        print(epoch, loss.item(), [module.validation_step(b) for b in data.val_dataloader()])


torch.manual_seed(0)
fit(Module(), DataModule())
