import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(35)
rng = np.random.default_rng(35)


class Frames(Dataset):
    """Pairs of video frames; the label says where something moved."""

    def __init__(self, n):
        self.labels = rng.integers(0, 4, n)
        self.a = rng.integers(90, 160, (n, 8, 8)).astype(np.uint8)
        self.b = self.a + rng.integers(-3, 4, (n, 8, 8)).astype(np.int64)
        for i, k in enumerate(self.labels):
            r, c = divmod(int(k), 2)
            self.b[i, 4 * r:4 * r + 4, 4 * c:4 * c + 4] -= 6
        self.b = self.b.astype(np.uint8)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        before, after = torch.from_numpy(self.a[i]), torch.from_numpy(self.b[i])
        diff = (after - before).float() / 255  # BUG device-dtype-mixed
        return diff.unsqueeze(0) * 20, int(self.labels[i])


model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
criterion = nn.CrossEntropyLoss()
loader = DataLoader(Frames(320), batch_size=32, shuffle=True)
for epoch in range(6):
    hits = 0
    for x, y in loader:
        optimizer.zero_grad()
        out = model(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        hits += (out.argmax(1) == y).sum().item()
    print(epoch, loss.item(), hits / 320)
