import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def mixup(x, y, alpha=0.4):
    lam = float(np.random.beta(alpha, 1.0))
    partner = torch.randperm(len(x))
    mixed = lam * x + (1 - lam) * x[partner]
    return mixed, y, y[partner], lam


class MixupTrainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.ce = nn.CrossEntropyLoss()

    def train_epoch(self, loader):
        self.model.train()
        for x, y in loader:
            mixed, ya, yb, lam = mixup(x, y)
            logits = self.model(mixed)
            loss = (1 - lam) * self.ce(logits, ya) + lam * self.ce(logits, yb)  # <- finding
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def score(self, x, y):
        self.model.eval()
        return (self.model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(134)
np.random.seed(134)
means = torch.randn(4, 8) * 1.5
y = torch.randint(0, 4, (600,))
x = means[y] + torch.randn(600, 8)
trainer = MixupTrainer(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)), 3e-3)
loader = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True)
for epoch in range(6):
    trainer.train_epoch(loader)
    print(epoch, trainer.score(x[400:], y[400:]))
