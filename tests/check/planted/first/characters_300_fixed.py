"""Nearest-prototype character classifier: 300 classes, labels packed to save memory."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.RandomState(5)
N_CLASSES, DIM = 300, 32
prototypes = rng.randn(N_CLASSES, DIM).astype("float32")


def synthesize(n):
    labels = rng.randint(0, N_CLASSES, size=n)
    feats = prototypes[labels] + 0.3 * rng.randn(n, DIM).astype("float32")
    return dict(feats=feats.astype("float32"),
                labels=labels.astype("int64"))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(DIM, 128)
        self.fc2 = nn.Linear(128, N_CLASSES)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


def to_torch(split):
    return torch.from_numpy(split["feats"]), torch.from_numpy(split["labels"]).long()


torch.manual_seed(5)
xtr, ytr = to_torch(synthesize(3000))
xva, yva = to_torch(synthesize(600))
net = Net()
optim = torch.optim.Adam(net.parameters(), lr=4e-3)
for epoch in range(6):
    order = torch.randperm(len(xtr))
    for idx in order.split(100):
        loss = F.cross_entropy(net(xtr[idx]), ytr[idx])
        optim.zero_grad()
        loss.backward()
        optim.step()
with torch.no_grad():
    pred = net(xva).argmax(1)
print(f"val accuracy {(pred == yva).float().mean():.3f}, classes seen {ytr.unique().numel()}")
