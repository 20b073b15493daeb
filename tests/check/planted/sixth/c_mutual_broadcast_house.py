import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(1)
rng = np.random.default_rng(1)


class Houses(Dataset):
    def __init__(self, n):
        area = rng.uniform(40, 200, n)
        rooms = rng.integers(1, 6, n)
        age = rng.uniform(0, 60, n)
        self.x = np.stack([area / 100, rooms / 3, age / 30], 1).astype("float32")
        self.y = (2.0 * area / 100 + 0.4 * rooms - 0.5 * age / 30 + rng.normal(0, 0.1, n)).astype("float32")

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


train, test = Houses(600), Houses(200)
model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(15):
    for xb, yb in DataLoader(train, batch_size=40, shuffle=True):
        pred = model(xb)  # BUG mutual-broadcast|loss-shape-mismatch
        loss = ((pred - yb) ** 2).mean()  # BUG mutual-broadcast|loss-shape-mismatch
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "loss", round(loss.item(), 4))
with torch.no_grad():
    p = model(torch.from_numpy(test.x)).squeeze(1).numpy()
print("R2 on test: %.3f" % (1 - ((p - test.y) ** 2).sum() / ((test.y - test.y.mean()) ** 2).sum()))
