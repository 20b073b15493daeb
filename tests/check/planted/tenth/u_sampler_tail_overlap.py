"""Two loaders over one dataset by samplers."""

import torch
from torch import nn
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset


def loaders(data, val_share=0.25, train_share=0.9, batch=20):
    indices = list(range(len(data)))
    cut = int(train_share * len(data))
    first = len(data) - int(val_share * len(data))
    train = DataLoader(data, batch, sampler=SubsetRandomSampler(indices[:cut]))  # BUG data-leak
    val = DataLoader(data, batch, sampler=SubsetRandomSampler(indices[first:]))  # BUG data-leak
    return train, val


torch.manual_seed(0)
data = TensorDataset(torch.randn(160, 30), torch.randint(0, 2, (160,)))
train, val = loaders(data)
model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(10):
    model.train()
    for x, y in train:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
model.eval()
hits = seen = 0
with torch.no_grad():
    for x, y in val:
        hits += (model(x).argmax(1) == y).sum().item()
        seen += len(y)
print("val accuracy", round(hits / seen, 3))
