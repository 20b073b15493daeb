"""A new model for each fold, which has its own loaders."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(0)
x = torch.randn(80, 4)
data = TensorDataset(x, (x[:, 0] > 0).long())


def fit(model, loader):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for a, b in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(a), b).backward()
        optimizer.step()


@torch.no_grad()
def score(model, loader):
    return sum((model(a).argmax(1) == b).sum().item() for a, b in loader) / len(loader.dataset)



parts = torch.randperm(80).split(20)
for k, part in enumerate(parts):
    rest = torch.cat([p for j, p in enumerate(parts) if j != k])
    model = nn.Linear(4, 2)
    fit(model, DataLoader(Subset(data, rest.tolist()), batch_size=20, shuffle=True))
    print(k, score(model, DataLoader(Subset(data, part.tolist()), batch_size=20)))
