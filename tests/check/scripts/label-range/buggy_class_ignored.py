"""The loss ignores number 0, which is a class."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

HEALTHY, DRY, INFESTED = 0, 1, 2
torch.manual_seed(17)


def fields(n):
    state = torch.multinomial(torch.tensor([0.6, 0.25, 0.15]), n, replacement=True)
    means = torch.tensor([[0.8, 0.2, 0.5], [0.4, 0.1, 0.9], [0.5, 0.7, 0.4]])
    return means[state] + 0.15 * torch.randn(n, 3), state


class Trainer:
    def __init__(self, model, lr=1e-2, ignore_index=0):  # <- finding
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss = nn.CrossEntropyLoss(ignore_index=ignore_index)

    def epoch(self, loader):
        total, n = 0.0, 0
        for x, y in loader:
            self.opt.zero_grad()
            loss = self.loss(self.model(x), y)
            loss.backward()
            self.opt.step()
            total += loss.item() * len(x)
            n += len(x)
        return total / n

    @torch.no_grad()
    def recall(self, x, y):
        p = self.model(x).argmax(1)
        return [round((p[y == k] == k).float().mean().item(), 3) for k in range(3)]


train_loader = DataLoader(TensorDataset(*fields(800)), batch_size=40, shuffle=True)
trainer = Trainer(nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 3)))
for e in range(8):
    print(f"epoch {e} loss {trainer.epoch(train_loader):.4f}")
print("recall healthy/dry/infested:", trainer.recall(*fields(600)))
