"""Mixed rows are trained on, a few as they are; afterwards the accuracy on the training loader is shown on purpose."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
x = torch.randn(120, 4)
y = (x[:, 0] > 0).long()
train, test = random_split(TensorDataset(x, y), [80, 40])
loaders = [DataLoader(part, batch_size=16, shuffle=k == 0) for k, part in enumerate((train, test))]
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(3):
    for a, b in loaders[0]:
        share, order = float(torch.rand(())), torch.randperm(len(a))
        out = model(share * a + (1 - share) * a[order])  # a row that is its own partner stays as it is
        loss = share * nn.functional.cross_entropy(out, b) + (1 - share) * nn.functional.cross_entropy(out, b[order])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def accuracy(loader):
    model.eval()
    with torch.no_grad():
        right = sum((model(a).argmax(dim=1) == b).sum().item() for a, b in loader)
    model.train()
    return right / len(loader.dataset)


print("train", accuracy(loaders[0]), "test", accuracy(loaders[1]))
