import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler, random_split

torch.manual_seed(6)
y = (torch.rand(600) < 0.12).long()
x = torch.randn(600, 8) + 0.9 * y[:, None]
data = TensorDataset(x, y)
train_set, val_set = random_split(data, [480, 120])
counts = torch.bincount(y)
weights = (1.0 / counts)[y[train_set.indices]]
sampler = WeightedRandomSampler(weights, len(train_set))
train = DataLoader(train_set, batch_size=32, sampler=sampler)
val = DataLoader(val_set, batch_size=120)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    for xb, yb in train:
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        for xb, yb in val:
            found = model(xb).argmax(1)
            recall = (found[yb == 1] == 1).float().mean().item()
    print(f"epoch {epoch} recall {recall:.3f}")
