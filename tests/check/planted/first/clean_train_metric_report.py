"""Report training and validation accuracy after each epoch."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


@torch.no_grad()
def accuracy(model, ds):
    was = model.training
    model.eval()
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in DataLoader(ds, 128))
    model.train(was)
    return hits / len(ds)


torch.manual_seed(0)
x = torch.randn(500, 20)
y = (x[:, 0] + 0.7 * torch.randn(500) > 0).long()
train, val = random_split(TensorDataset(x, y), [400, 100], generator=torch.Generator().manual_seed(0))
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 2))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    for xb, yb in DataLoader(train, 40, shuffle=True):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
    gap = accuracy(model, train), accuracy(model, val)
print("train acc %.3f val acc %.3f" % gap)
